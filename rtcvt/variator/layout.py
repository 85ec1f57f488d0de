"""Where things are in the buffers of a variator: places in p, x, u and y, and in the scratch array.

State vectors, each followed by two torques of the coupling (`rtcvt.pog.flange`) per flange whose speed is given::

    hybrid  [omega_I, v, omega_O, S_I, S_O, phi, T_f, y_f]
    rigid   [omega_I, phi, T_f, y_f]
"""

# p: structure
HYBRID = 0  # 1: hybrid model, 0: rigid
N_X = 1
N_Y = 2
SPEED_I = 3  # 1 if the flange takes a speed
SPEED_O = 4
INTERNAL_STEP = 5  # largest internal step [s]
LAWS = 6  # place of the reduced model's table in p, see `rtcvt.variator.regression`
PHI = 7  # place of its scratch in work
N_SCRATCH = 8
N_PEAKS = 9  # peaks that it has: outputs behind the four laws
PEAK_LIST = 10  # place of their terms in p
N_FIELDS = 11  # fields that come out
FIELD_LIST = 12  # place of their terms in p
FIELD_TABLE = 13  # place of the fields' table in p
PHI_MIN = 14  # angles at the end stops [rad]
PHI_MAX = 15
# p: constants of belt and sheaves, from the reduced model
D_A, LENGTH, H_OFF, TAN_D, COS_D, MU, M_STAR, M_B, F_REF, XI_MAX, STRETCH = range(16, 27)
# p: parameters of the unit
J_I, B_I, W_START, J_O, B_O, K_BELT, D_BELT, V_0, L_POINT = range(27, 36)
I_START, T_RATIO, T_STOP, CONTROL, F_MIN, F_MAX, Y_LEAST, Y_MOST = range(36, 44)
A_I, C_W_I, F_SPRING_I, K_SPRING_I, A_O, C_W_O, F_SPRING_O, K_SPRING_O = range(44, 52)
C_I, D_I, C_O, D_O = range(52, 56)  # couplings at the flanges
KERS = 56  # place of the KERS controller's block in p, see `kers`
TABLES = 57  # the first table begins here

FORCE, PRESSURE, RATIO = range(3)  # kinds of CONTROL
PER_LENGTH, WHOLE, OFFSET = range(3)  # terms of a field: times length/F_CO, by F_CO, by STRETCH F_CO
SECTIONS = 4

# x
OMEGA_I = 0
V, OMEGA_O, S_I, S_O, ANGLE, T_F, BALANCE_F = range(1, 8)  # hybrid
N_HYBRID = 8
ANGLE_RIGID, T_F_RIGID, BALANCE_F_RIGID = range(1, 4)
N_RIGID = 4
MOST_X = N_HYBRID + 4

# u
U_I, U_O, U_F_I, U_F_O, U_P_I, U_P_O, U_RATIO = range(7)
N_U = 7

# y
Y_I, Y_O, Y_RATIO, Y_RATE, Y_R_I, Y_R_O, Y_SLIP, Y_V, Y_T_I, Y_T_O, Y_EFFICIENCY = range(11)
Y_F_CI, Y_F_CO, Y_THRUST, Y_BALANCE, Y_MARGIN, Y_E, Y_AXIAL = range(11, 18)
Y_SLIDING, Y_DAMPING, Y_BELT, Y_SHIFT, Y_STOP, Y_BEARING, Y_COUPLING = range(18, 25)
Y_MACRO, Y_OUTSIDE, Y_LIMITED, Y_DISTANCE = range(25, 29)
Y_PEAKS = 29  # then the fields

# work: quantities at a state
R_I, R_O, DR_I, DR_O, RP_I, RP_O, I_G, DI_G = range(8)  # radii, rocking edges, ratio, with derivatives to phi
F_CI, F_CO, F_EQ, XI, OUTSIDE, LAW_K, LAW_E, LAW_C, LAW_LAMBDA = range(8, 17)  # clamping and laws
PHI_RATE, RR_I, TAU_REV, P_SHIFT, P_STOP, AT_LIMIT = range(17, 23)  # shifting
W_I, W_V, W_O, TAU_I, TAU_O, DRAG, D_DRAG, RE_I = range(23, 31)  # speeds, torques at the flanges, drag, R_I
CAP_I, T_I, E_I, TT_I, TS_I, EF_I, ES_I, SLIP_I = range(31, 39)  # traction at the primary: see `kernels.traction`
CAP_O, T_O, E_O, TT_O, TS_O, EF_O, ES_O, SLIP_O = range(39, 47)
BALANCE = 47  # y = F_CI/F_EQ
CREEP = 48  # a: speed lost by creep by traction
N_Q = 49

# work: scratch
W_STEP = N_Q  # four vectors of the step, its matrix, pivots
W_SAVED = W_STEP + 4 * MOST_X + MOST_X * MOST_X + MOST_X
W_ACROSS = W_SAVED + MOST_X  # three vectors of `kernels.step_across`
W_Y = W_ACROSS + 3 * MOST_X  # new outputs; then the scratch of the laws and the cells of a field
