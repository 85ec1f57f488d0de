"""Where the parts of a vehicle keep their numbers: places in p, x, u and y, and in the scratch array."""

# p: structure of the part, then its parameters from P on
KIND = 0  # one of VEHICLE, DRIVELINE, DRIVER, CYCLE
N_X = 1
N_U = 2
N_Y = 3
INTERNAL_STEP = 4  # [s]
POINTS = 5  # of a cycle
SPACING = 6  # of a cycle [s]
P = 7

VEHICLE, DRIVELINE, DRIVER, CYCLE = range(4)

MOST_X = 2
MOST_Y = 9

# longitudinal vehicle: parameters, inputs, states, outputs
M, J_W, R_W, RHO_CW_A, F_R, G, V_0, V_START = range(P, P + 8)
LOAD, DRIVE, BRAKE, SLOPE = range(4)
V, S = range(2)
Y_W, Y_V, Y_S, Y_A, Y_E, Y_F_AERO, Y_F_ROLL, Y_F_GRADE, Y_F_BRAKE = range(9)

# driveline
RATIO, K, D, J, B, MU, W_0, W_START = range(P, P + 8)
AXLE_W, SHAFT_LOAD = range(2)
PHI, W = range(2)
Y_AXLE_TAU, Y_SHAFT_W, Y_SHAFT_E, Y_LOSS = range(4)

# driver
K_P, K_I, T_T, T_F, TAU_DRIVE, TAU_BRAKE, TAU_KERS, I_KERS, V_H, T_H, TAU_HOLD = range(P, P + 11)
THETA_LOW, THETA_HIGH, THETA_BAND, E_FULL, E_BAND = range(P + 11, P + 16)
V_DES, V_IS, AXLE_TAU, THETA, E_KERS = range(5)
Z, A_F = range(2)
Y_DRIVE, Y_BRAKE, Y_KERS = range(3)

# cycle: its table of speeds [m/s] begins at P
DISTANCE = 0
Y_V_DES, Y_S_DES = range(2)

# scratch
W_F = 0  # right-hand side
W_STAGE = W_F + MOST_X
W_K = W_STAGE + MOST_X  # derivatives of the four stages
W_B = W_K + 4 * MOST_X
W_PIVOT = W_B + MOST_X
W_MATRIX = W_PIVOT + MOST_X
W_JAC = W_MATRIX + MOST_X * MOST_X
W_SAVED = W_JAC + MOST_X * MOST_X
W_Y = W_SAVED + MOST_X
N_WORK = W_Y + MOST_Y
