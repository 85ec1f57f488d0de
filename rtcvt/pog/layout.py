"""Where things are in the buffers of a gear system: one kernel serves every unit because the unit is data.

The parameter vector ``p`` begins with the header below: sizes, then the places of the tables in ``p`` and of the
scratch blocks in ``work``. State vectors::

    full   [omega (n_J), F (n_K), tau of spring ports (n_S), theta, P]
    rigid  [x1 (n_1),             tau of spring ports (n_S), theta, P]

with theta only if the geometry moves and the filtered power P only under KERS control. Inputs: one per port, then
one of the controller. Outputs: one per port; the controller's (tau_est, theta, saturated, or theta, saturated); stored
energy; omega; F."""

# instructions of the tape that computes R: register <- operation(first, second)
CONSTANT, THETA, ADD, SUB, MUL, DIV, NEG, SIN, COS, SQRT = range(10)

# kinds of control
NO_CONTROL, POSITION, KERS = range(3)

# the header: places of its entries in p
N_J = 0  # gears
N_K = 1  # contacts
N_1 = 2  # independent speeds
N_S = 3  # ports with a spring
N_PORT = 4
N_FRICTION = 5
N_X = 6  # states
N_Y = 7  # outputs
FULL = 8  # 1: full model, 0: rigid
MOVING = 9  # 1 if the geometry moves
CONTROL = 10
METHOD = 11
INTERNAL_STEP = 12  # largest internal step [s]
# tables in p
TAPE = 13  # operation, first, second
TAPE_FIXED = 14  # instructions that do not depend on theta come first: how many
TAPE_END = 15  # all instructions: how many
ENTRY = 16  # row, column, register of each entry of R that is not zero
ENTRY_FIXED = 17
ENTRY_END = 18
FRICTION = 19  # i, j, sign, place of the coefficient in p
PORT = 20  # gear, number among the springs or -1, place of the stiffness in p
ORDER = 21  # gears: dependent ones first, independent ones last
START = 22  # places of the independent start speeds in p
P_J = 23  # inertias
P_B = 24  # frictions
P_K = 25  # contact stiffnesses
P_D = 26  # contact dampings
P_CONTROL = 27  # block of the controller
P_THETA_START = 28
# blocks in work
W_REGISTER = 29  # value, first and second derivative to theta of each register
W_R = 30  # R, R', R'': each n_K x n_J
W_Q = 31  # Q1, Q1', Q1'': each n_J x n_1
W_B = 32  # B_J, n_J x n_J
W_RD = 33  # LU of the dependent columns of R, n_K x n_K
W_RD_PIVOT = 34
W_L = 35  # L1 and, behind it, its LU: each n_1 x n_1
W_L_PIVOT = 36
W_M = 37  # Q1' J dQ1/dtheta and its derivative to theta: each n_1 x n_1
W_A = 38  # A1 and its derivative to theta: each n_1 x n_1
W_THETA = 39  # the tilt at which all of these hold
W_CONTROL = 40  # command for theta', see rtcvt.control.limits
W_TAU = 41  # torques on the gears, n_J
W_OMEGA = 42  # speeds of the gears, n_J
W_V = 43  # scratch, n_J
W_C = 44  # scratch, n_J
W_SAVED = 45  # state before a communication step, n_x; new outputs, n_y
W_STEP = 46  # state before an internal step; stage state; scratch; f; 4 stages; solution; pivots; Jacobian; matrix
HEADER_SIZE = 47
