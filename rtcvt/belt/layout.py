"""Where a belt drive keeps its numbers: places in p, x and y, and in the scratch array.

Pulleys count in the order in which the belt visits them. The belt is a ring of cells: span 0, the cells of wrap 1,
span 1, ..., the cells of wrap 0, that is `FACES` cells from one span to the next. Face g lies between cells g and
g + 1, on the pulley after span ``g // FACES``. State vectors::

    hybrid  [l (N FACES), omega (N), q,  tau_1 and tau_2 of each coupling]
    rigid   [v,                          tau_1 and tau_2 of each coupling]

The lengths come first, as elimination then fills little of the step's matrix. Outputs: one of each flange; belt speed,
stored energy, four losses; tension of each span; five of each pulley; three of each coupling.
"""

# the header: sizes, then places of tables in p and of blocks in work
N = 0  # pulleys
FACES = 1  # of each wrap
RIGID = 2  # 1: rigid model, 0: hybrid
N_X = 3
N_U = 4
N_Y = 5
INTERNAL_STEP = 6  # largest internal step [s]
X_COUPLING = 7  # first state of the couplings
GEOMETRY = 8  # see below
FLANGE = 9  # kind, input, number of its coupling
LOAD = 10  # place of its first point, how many points: speed and torque
P_BELT = 11  # see below
P_J = 12  # inertias
P_B = 13  # frictions
P_MU = 14  # friction coefficients
P_COUPLING = 15  # stiffness and damping of each
W_LENGTH = 16  # of the cells, stretched
W_INERTIA = 17  # pulleys with their share of the belt
W_KAPPA = 18  # limits of wraps: exp(mu beta) - 1, then of their faces
W_CELL = 19  # lambda, T, dT/dl, T_hat, dT_hat/dl: a block of each
W_FACE = 20  # q, s, dq/dV, dq/dl of both cells, dq/dq_m, ds/dl of both cells, ds/dq_m: a block of each
W_SLIDE = 25  # -1, 0 or 1 of each face
W_MEAN = 26  # mean sliding speed over a step, ds/dl of both cells and ds/dq_m at its start, 4 stages: a block of each
W_GATE = 21  # use, gate, its derivative to l of both spans and to q: a block of each
W_TENSION = 22  # of the spans
W_SAVED = 23  # state before a communication step, new outputs
W_STEP = 24  # state before an internal step; stage state; f; 4 stages; solution; pivots; Jacobian; matrix
HEADER_SIZE = 27

# kinds of flanges
TORQUE, SPEED, IDLER = range(3)

# a pulley's row of GEOMETRY: sense of its wrap, radius, wrap, length and direction of the span behind it
SIGMA, RADIUS, BETA, SPAN, T_X, T_Y = range(6)
ROW = 6

# parameters of the belt from P_BELT on
EA, M, D, T_0, V_START = range(5)

# outputs behind those of the flanges
Y_V, Y_E, Y_CREEP, Y_SPAN, Y_FRICTION, Y_LOAD = range(6)
Y_TENSION = 6
# of a pulley, behind the tensions
Y_SLIP, Y_USE, Y_F_X, Y_F_Y, Y_N = range(5)
Y_PULLEY = 5
# of a coupling, behind the pulleys
Y_W, Y_COUPLING_E, Y_COUPLING_LOSS = range(3)
Y_COUPLING = 3
