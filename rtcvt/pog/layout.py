"""Where things are in the buffers of a gear system: one kernel serves every unit because the unit is data.

The parameter vector ``p`` begins with the header below: sizes and places in ``x``, then the places of the tables in
``p`` and of the scratch blocks in ``work``. State vectors::

    full   [omega (n_J), F (n_K), tau of springs at the ports (n_S), theta, P]
    rigid  [x1 (n_1),             tau of springs at the ports (n_S), theta, P]

with theta only if the geometry moves and the filtered power P only under KERS control. Inputs: one per port, then
one of the controller. Outputs: one per port; stored energy and loss of each coupling; the controller's (tau_est, theta,
saturated, or theta, saturated); stored energy; omega; F.

A port whose speed is prescribed has springs between its flange and its gear: one if it is a shaft of the unit file,
two, the second of them with a damper in series, if they are the coupling of `rtcvt.pog.flange`."""

# instructions of the tape that computes R: register <- operation(first, second)
CONSTANT, THETA, ADD, SUB, MUL, DIV, NEG, SIN, COS, SQRT = range(10)

# kinds of control
NO_CONTROL, POSITION, KERS = range(3)

# the header: places of its entries in p
N_J = 0  # gears
N_K = 1  # contacts
N_1 = 2  # independent speeds
N_S = 3  # springs at the ports
N_PORT = 4
N_FRICTION = 5
N_X = 6  # states
N_Y = 7  # outputs
FULL = 8  # 1: full model, 0: rigid
MOVING = 9  # 1 if the geometry moves
CONTROL = 10
METHOD = 11
INTERNAL_STEP = 12  # largest internal step [s]
# places in x
X_SPRING = 13  # torque of the first spring
X_THETA = 14
X_POWER = 15
X_OWN = 16  # speed of the controlled port's gear
OWN_PORT = 17  # number of the controlled port
# tables in p
TAPE = 18  # operation, first, second
TAPE_FIXED = 19  # instructions that do not depend on theta come first: how many
TAPE_END = 20  # all instructions: how many
ENTRY = 21  # row, column, register of each entry of R that is not zero
ENTRY_FIXED = 22
ENTRY_END = 23
FRICTION = 24  # i, j, sign, place of the coefficient in p
PORT = 25  # gear, number of its first spring, how many
SPRING = 26  # port, place of the stiffness, place of the damping of a damper in series or -1
ORDER = 27  # gears: dependent ones first, independent ones last
START = 28  # places of the independent start speeds in p
P_J = 29  # inertias
P_B = 30  # frictions
P_K = 31  # contact stiffnesses
P_D = 32  # contact dampings
P_CONTROL = 33  # block of the controller
P_THETA_START = 34
# blocks in work
W_REGISTER = 35  # value, first and second derivative to theta of each register
W_R = 36  # R, R': each n_K x n_J
W_Q = 37  # Q1, Q1', Q1'': each n_J x n_1
W_RD = 38  # LU of the dependent columns of R, n_K x n_K
W_RD_PIVOT = 39
W_L = 40  # L1 and, behind it, its LU: each n_1 x n_1
W_L_PIVOT = 41
W_M = 42  # Q1' J dQ1/dtheta and its derivative to theta: each n_1 x n_1
W_A = 43  # A1 and its derivative to theta: each n_1 x n_1
W_THETA = 44  # the tilt at which all of these hold, and up to which derivative
W_CONTROL = 45  # command for theta', see rtcvt.control.limits
W_TAU = 46  # torques on the gears, n_J
W_OMEGA = 47  # speeds of the gears, n_J
W_V = 48  # scratch, n_J
W_C = 49  # scratch, n_J
W_SAVED = 50  # state before a communication step, n_x; new outputs, n_y
W_STEP = 51  # state before an internal step; stage state; scratch; f; 4 stages; solution; pivots; Jacobian; matrix
HEADER_SIZE = 52
