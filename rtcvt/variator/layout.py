"""Table of a variator: its constants, variables, states, and the quantities that its kernels keep at a state.

State vectors, each followed by two torques of the coupling (`rtcvt.model.coupling`) per flange whose speed is given::

    hybrid  [omega_I, v, omega_O, S_I, S_O, phi, T_f, y_f]
    rigid   [omega_I, phi, T_f, y_f]
"""

from rtcvt.table import LOSS, POWER, STORED, TOO_COARSE, Places, Row, Rows

TINY = 1e-9  # least value of a quantity that must be above zero
FLANGES = ("primary", "secondary")
SECTIONS = ("primary arc", "push span", "secondary arc", "slack span")
N_SECTIONS = len(SECTIONS)


class D(Places):
    """Header of the constants."""

    HYBRID = "1: hybrid model, 0: rigid"
    N_X = "states"
    N_Y = "outputs"
    SPEED_I = "1 if the input of the primary's flange is a speed"
    SPEED_O = "1 if the secondary's does"
    INTERNAL_STEP = "largest internal step [s]"
    N_PEAKS = "peaks of contact forces"
    N_FIELDS = "fields that come out"
    ACROSS = "place in y: forces across the belt, 0: none"
    UNCERTAIN = "place in y: uncertainty"
    BANDS = "bands of it: of the laws, then of the belt's parameters; 0: unknown"
    FLANK_PEAK = "place in y: peak of the flank normal force"
    PHI = "place in work: scratch of the laws"
    N_SCRATCH = "its size"
    PEAK_LIST = "table: a `Term` of each peak"
    FIELD_LIST = "table: a `Term` of each field"
    LAWS = "table: `rtcvt.variator.regression`, laws and peaks"
    FIELD_TABLE = "table: fields"
    SIZES = "table: typical value of each state"
    KERS = "table: header of the controller, `rtcvt.variator.kers`"
    PHI_MIN = "angle phi at the lower end stop [rad]"
    PHI_MAX = "at the upper one"
    D_A = "centre distance [m]"
    LENGTH = "of the belt [m]"
    H_OFF = "distance of neutral fibre and rocking edge [m]"
    TAN_D = "tan(delta_0)"
    COS_D = "cos(delta_0)"
    MU = "friction coefficient of the flanks"
    M_STAR = "mass per length for kappa [kg/m]"
    M_B = "mass of the belt [kg]"
    F_REF = "clamping force of the laws [N]"
    XI_MAX = "torque ratio at the capacity"
    SLIDE = "A of the shift rate of a belt that slides on the primary"
    STRETCH = "stretch of the rings by force [m/N]"


class Given(Places):
    """Values of the parameter clamp.control."""

    FORCE = "both forces"
    PRESSURE = "both pressures"
    RATIO = "the ratio and the secondary's force"


class Term(Places):
    """Units of a field: its dimensionless value times F_CO over the length of the path, F_CO, or STRETCH F_CO."""

    PER_LENGTH = "N/m"
    WHOLE = "N"
    OFFSET = "m"


class P(Rows):
    """Parameters; those of the couplings are variables only where there is one."""

    J_I = Row("primary.J", "kg.m2", "moment of inertia of the primary pulley with its shaft", TINY)
    B_I = Row("primary.b", "N.m.s/rad", "viscous friction of the primary's bearings", 0.0, tunable=True)
    W_START = Row("primary.w_start", "rad/s", "speed of the primary at the start", None, None, 100.0, "rpm")
    J_O = Row("secondary.J", "kg.m2", "moment of inertia of the secondary pulley with its shaft", TINY)
    B_O = Row("secondary.b", "N.m.s/rad", "viscous friction of the secondary's bearings", 0.0, tunable=True)
    K_BELT = Row("belt.K", "N/m", "stiffness of the belt between a pulley and its middle", 1.0)
    D_BELT = Row("belt.d", "N.s/m", "damping of the belt, in parallel with K", 1e-3, tunable=True)
    V_0 = Row("belt.v_0", "m/s", "regularisation speed of friction: 71 % of its full value there", 1e-4, tunable=True)
    L_POINT = Row("belt.l_point", "m",
        "relaxation length: belt travel over which the operating point follows traction and clamping", 1e-4,
        tunable=True)  # fmt: skip
    I_START = Row("ratio.start", "1", "ratio at the start", TINY)
    T_RATIO = Row("ratio.T", "s", "time constant of the approach to a given ratio", 1e-3, tunable=True)
    T_STOP = Row("ratio.T_stop", "s", "time constant of the approach to an end stop", 2e-3, tunable=True)
    CONTROL = Row("clamp.control", "1", "inputs: both forces, both pressures, or the ratio and the secondary's force",
        0.0, 2.0, choices=("forces", "pressures", "ratio"))  # fmt: skip
    F_SMOOTH = Row("clamp.F_smooth", "N", "smoothing at zero force: F is replaced by (F + sqrt(F^2 + F_smooth^2))/2",
        1e-3, tunable=True)  # fmt: skip
    F_MAX = Row("clamp.F_max", "N", "greatest clamping force of the primary if the ratio is given", 1.0, tunable=True)
    Y_LEAST = Row("clamp.y_min", "1", "least F_CI/F_eq if the ratio is given", 0.1, 1.0, tunable=True)
    Y_MOST = Row("clamp.y_max", "1", "greatest F_CI/F_eq if the ratio is given", 1.0, 10.0, tunable=True)
    A_I = Row("clamp.primary.A", "m2", "piston area of the primary", 0.0, tunable=True)
    C_W_I = Row("clamp.primary.c_w", "N.s2/rad2", "centrifugal force of the primary's oil divided by speed squared",
        0.0, tunable=True)  # fmt: skip
    F_SPRING_I = Row("clamp.primary.F_0", "N", "spring force of the primary at ratio 1", tunable=True)
    K_SPRING_I = Row("clamp.primary.k", "N/m", "stiffness of the primary's spring", 0.0, tunable=True)
    A_O = Row("clamp.secondary.A", "m2", "piston area of the secondary", 0.0, tunable=True)
    C_W_O = Row("clamp.secondary.c_w", "N.s2/rad2", "centrifugal force of the secondary's oil divided by speed squared",
        0.0, tunable=True)  # fmt: skip
    F_SPRING_O = Row("clamp.secondary.F_0", "N", "spring force of the secondary at ratio 1", tunable=True)
    K_SPRING_O = Row("clamp.secondary.k", "N/m", "stiffness of the secondary's spring", 0.0, tunable=True)
    NU = Row("oil.nu", "m2/s", "kinematic viscosity of the oil at its operating temperature", 1e-7, 1.0, tunable=True)
    RHO = Row("oil.rho", "kg/m3", "density of the oil", 0.0, 1e4, tunable=True)
    D_M_I = Row("primary.bearing.d_m", "m", "mean diameter of each of the primary's two bearings", 0.0, 1.0)
    F_0_I = Row("primary.bearing.f_0", "1", "Palmgren's factor f_0, friction torque without load", 0.0, 100.0,
        tunable=True)  # fmt: skip
    F_1_I = Row("primary.bearing.f_1", "1", "Palmgren's factor f_1, friction torque under load", 0.0, 1.0, tunable=True)
    D_S_I = Row("primary.seal.d", "m", "shaft diameter at the seal; 0: no seal", 0.0, 1.0, tunable=True)
    R_S_I = Row("primary.sheave.R", "m", "outer radius of the primary's sheaves", 0.0, 1.0)
    DIP_I = Row("primary.sheave.dip", "1", "fraction of the sheave faces that runs in oil", 0.0, 1.0, tunable=True)
    D_M_O = Row("secondary.bearing.d_m", "m", "mean diameter of each of the secondary's two bearings", 0.0, 1.0)
    F_0_O = Row("secondary.bearing.f_0", "1", "Palmgren's factor f_0, friction torque without load", 0.0, 100.0,
        tunable=True)  # fmt: skip
    F_1_O = Row("secondary.bearing.f_1", "1", "Palmgren's factor f_1, friction torque under load", 0.0, 1.0,
        tunable=True)  # fmt: skip
    D_S_O = Row("secondary.seal.d", "m", "shaft diameter at the seal; 0: no seal", 0.0, 1.0, tunable=True)
    R_S_O = Row("secondary.sheave.R", "m", "outer radius of the secondary's sheaves", 0.0, 1.0)
    DIP_O = Row("secondary.sheave.dip", "1", "fraction of the sheave faces that runs in oil", 0.0, 1.0, tunable=True)
    OFFSET = Row("belt.offset", "m",
        "axial assembly offset of the belt on the primary from that on the secondary at ratio 1", nominal=1e-3,
        display="mm", tunable=True)  # fmt: skip
    YIELD = Row("belt.yield", "m/N", "axial compliance of belt and fixed sheaves under both clamping forces together",
        0.0, nominal=1e-9, tunable=True)  # fmt: skip
    FRICTION = Row("belt.friction", "1", "friction of the flanks as a share of that of the reduced model", 0.1, 10.0,
        tunable=True)  # fmt: skip
    THRUST = Row("belt.thrust", "1", "thrust ratio of equilibrium as a share of that of the reduced model", 0.1, 10.0,
        tunable=True)  # fmt: skip
    SPEED_LOSS = Row("belt.e", "1", "speed loss by change of the running radii, added to that of the reduced model",
        -0.1, 0.1, nominal=1e-3, tunable=True)  # fmt: skip
    C_I = Row("primary.c", "N.m/rad", "stiffness of the coupling between flange primary and its pulley", TINY)
    D_I = Row("primary.d", "N.m.s/rad", "damping of the coupling between flange primary and its pulley", TINY,
        tunable=True)  # fmt: skip
    C_O = Row("secondary.c", "N.m/rad", "stiffness of the coupling between flange secondary and its pulley", TINY)
    D_O = Row("secondary.d", "N.m.s/rad", "damping of the coupling between flange secondary and its pulley", TINY,
        tunable=True)  # fmt: skip


N_P = len(P)
OTHER_CYLINDER = P.A_O - P.A_I  # from a parameter of the primary's cylinder to that of the secondary's
OTHER_SHAFT = P.D_M_O - P.D_M_I  # from a parameter of the primary's shaft to that of the secondary's
UNGIVEN = {P.NU: 1e-5, P.RHO: 850.0, **{P(k): 0.0 for k in range(P.D_M_I, P.YIELD + 1)},
           P.FRICTION: 1.0, P.THRUST: 1.0, P.SPEED_LOSS: 0.0}  # fmt: skip  # if a file names none
CYLINDERS = (P.A_I, P.C_W_I, P.F_SPRING_I, P.K_SPRING_I, P.A_O, P.C_W_O, P.F_SPRING_O, P.K_SPRING_O)
COUPLINGS = {"primary": (P.C_I, P.D_I), "secondary": (P.C_O, P.D_O)}


class U(Rows):
    """Inputs; a flange's is its torque or its speed."""

    I = Row("primary.tau", "N.m", "torque into the variator at flange primary", nominal=100.0)  # noqa: E741
    O = Row("secondary.tau", "N.m", "torque into the variator at flange secondary", nominal=100.0)  # noqa: E741
    F_I = Row("clamp.primary.F", "N", "clamping force of the primary, if clamp.control is forces", nominal=1e4,
        display="kN")  # fmt: skip
    F_O = Row("clamp.secondary.F", "N", "clamping force of the secondary, if clamp.control is forces or ratio",
        nominal=1e4, display="kN")  # fmt: skip
    P_I = Row("clamp.primary.p", "Pa", "pressure in the primary's cylinder, if clamp.control is pressures", nominal=1e6,
        display="bar")  # fmt: skip
    P_O = Row("clamp.secondary.p", "Pa", "pressure in the secondary's cylinder, if clamp.control is pressures",
        nominal=1e6, display="bar")  # fmt: skip
    RATIO = Row("ratio.des", "1", "desired ratio, if clamp.control is ratio", nominal=1.0, set_point=True)


N_U = len(U)


class Y(Rows):
    """Outputs; a flange's is its speed or its torque. Peaks and fields follow."""

    I = Row("primary.w", "rad/s", "speed of flange primary", nominal=100.0, display="rpm")  # noqa: E741
    O = Row("secondary.w", "rad/s", "speed of flange secondary", nominal=100.0, display="rpm")  # noqa: E741
    RATIO = Row("ratio.i", "1", "geometric ratio r'_O/r'_I of the rocking edges' radii", 0.0, None, 1.0)
    RATE = Row("ratio.rate", "1/s", "rate of ratio.i", None, None, 1.0)
    R_I = Row("radius.primary", "m", "running radius of the neutral fibre on the primary", 0.0, None, 0.05, "mm")
    R_O = Row("radius.secondary", "m", "running radius of the neutral fibre on the secondary", 0.0, None, 0.05, "mm")
    SLIP = Row("belt.slip", "1", "speed loss, 1 - r'_O w_O/(r'_I w_I)", None, None, 0.01, "%")
    V = Row("belt.v", "m/s", "speed of the belt", None, None, 10.0)
    T_I = Row("belt.T_I", "N", "traction from the primary to the belt", None, None, 1e3)
    T_O = Row("belt.T_O", "N", "traction from the belt to the secondary", None, None, 1e3)
    EFFICIENCY = Row("variator.efficiency", "1", "efficiency at the pulleys, power out divided by power in", 0.0, 1.0,
        1.0, "%")  # fmt: skip
    F_CI = Row("thrust.primary", "N", "clamping force on the primary", 0.0, None, 1e4, "kN")
    F_CO = Row("thrust.secondary", "N", "clamping force on the secondary", 0.0, None, 1e4, "kN")
    THRUST = Row("thrust.ratio", "1", "thrust ratio, clamping force of the primary divided by that of the secondary",
        0.0, None, 1.0)  # fmt: skip
    BALANCE = Row("thrust.balance", "1", "thrust ratio of equilibrium, at which the ratio is constant", 0.0, None, 1.0)
    MARGIN = Row("belt.margin", "1",
        "margin to macro-slip: least of 1 - traction/capacity of each pulley and 1 - |speed loss|/5 %", None, None, 1.0,
        "%")  # fmt: skip
    MISALIGNMENT = Row("belt.misalignment", "m",
        "axial misalignment of the belt, place on the primary less that on the secondary", nominal=1e-3,
        display="mm")  # fmt: skip
    PULL = Row("belt.pull", "N", "force of the belt on the shaft of each pulley, towards the other one", 0.0, None, 1e3)
    E = Row("storage.E", "J", "energy of pulleys, belt and couplings", 0.0, None, 1e3, "kJ", books=STORED)
    AXIAL = Row("clamp.P", "W", "power of the clamping forces into the variator", None, None, 100.0, books=POWER)
    SLIDING = Row("loss.sliding", "W", "power lost by creep and macro-slip", 0.0, None, 100.0, books=LOSS)
    DAMPING = Row("loss.damping", "W", "power lost in the belt's damping", 0.0, None, 1.0, books=LOSS)
    BELT = Row("loss.belt", "W", "power lost by all else in the running belt", 0.0, None, 100.0, books=LOSS)
    SHIFT = Row("loss.shift", "W", "power lost by shifting", 0.0, None, 10.0, books=LOSS)
    STOP = Row("loss.stop", "W", "power lost in the end stops", 0.0, None, 10.0, books=LOSS)
    # losses of a shaft, in `rtcvt.variator.shafts`
    BEARING = Row("loss.bearing", "W", "power lost in the bearings", 0.0, None, 10.0, books=LOSS)
    SEAL = Row("loss.seal", "W", "power lost at the seals of the shafts", 0.0, None, 10.0, books=LOSS)
    OIL = Row("loss.oil", "W", "power lost by the drag of oil on the sheaves", 0.0, None, 10.0, books=LOSS)
    # other losses
    COUPLING = Row("loss.coupling", "W", "power lost in the couplings of flanges with given speed", 0.0, None, 1.0,
        books=LOSS)  # fmt: skip
    MACRO = Row.flag("status.macro_slip",
                     "macro-slip: a pulley is at its traction capacity, or the speed loss is above 5 %")  # fmt: skip
    OUTSIDE = Row.flag("status.extrapolating", "the operating point is outside the data of the identified laws")
    END_STOP = Row.flag("status.end_stop", "an end stop of the ratio is active")
    FORCE_LIMITED = Row.flag("status.force_limited", "a limit of the primary's clamping force overrides a given ratio")
    COARSE = TOO_COARSE
    DISTANCE = Row("status.distance", "1",
        "distance to the nearest operating point of the campaign, over their typical spacing", 0.0,
        nominal=1.0)  # fmt: skip


STATE_OUTPUTS = {Y.I, Y.O, Y.RATIO, Y.R_I, Y.R_O, Y.V}  # outputs that the state alone gives


Y_PEAKS = len(Y)
SHAFT_LOSSES = tuple(Y)[Y.BEARING : Y.COUPLING]
N_SHAFT_LOSSES = len(SHAFT_LOSSES)
PEAK = Row("peak.{name}", "1", "greatest value around the belt: {about}", nominal=1e3)
FIELD = Row("field.{name}[{k}]", "1", "{about}: {section}, cell {cell} of {cells}", nominal=1e3)
UNCERTAINTY = (  # in the order of `reduced.model.UNCERTAIN`
    Row("uncertainty.thrust_ratio", "1", "standard deviation of thrust.balance", 0.0, None, 0.01),
    Row("uncertainty.slip", "1", "standard deviation of belt.slip", 0.0, None, 1e-3, "%"),
    Row("uncertainty.efficiency", "1", "standard deviation of variator.efficiency", 0.0, None, 0.01, "%"),
    Row("uncertainty.flank_peak", "N/m", "standard deviation of peak.flank_normal", 0.0, None, 1e3),
)
_OF_PARAMETERS = " from the belt's unknown parameters, by the posterior of its calibration"
PARAMETRIC = tuple(
    r._replace(name=r.name.replace(".", ".parameters."), text=r.text + _OF_PARAMETERS) for r in UNCERTAINTY
)
ACROSS = (  # in the order of `reduced.model.CORRECTIONS`
    Row("exit_force.primary", "N", "lateral force of the belt where it leaves the primary", nominal=10.0),
    Row("exit_force.secondary", "N", "lateral force of the belt where it leaves the secondary", nominal=10.0),
    Row("ring.margin", "m", "least distance of ring and pillar", nominal=1e-4, display="mm"),
)

# instead of the rows above where a flange's speed is given
SPEED_IN = Row.speed("{flange}.w", "speed of flange {flange}")
TORQUE_OUT = Row("{flange}.tau", "N.m", "torque into the variator at flange {flange}: tau w is power in", nominal=100.0)

_OMEGA_I = Row("primary.w", "rad/s", "speed of the primary", nominal=100.0)
_PHI = Row("ratio.phi", "rad", "angle phi", nominal=1.0)
_T_F = Row("belt.T_f", "N", "traction of the operating point, delayed", nominal=1e3)
_Y_F = Row("belt.y_f", "1", "force ratio F_CI/F_eq of the operating point, delayed", nominal=1.0)


class X(Rows):
    """States of the hybrid model."""

    OMEGA_I = _OMEGA_I
    V = Row("belt.v", "m/s", "speed of the belt", nominal=10.0)
    OMEGA_O = Row("secondary.w", "rad/s", "speed of the secondary", nominal=100.0)
    S_I = Row("belt.S_I", "N", "spring force at the primary", nominal=1e3)
    S_O = Row("belt.S_O", "N", "spring force at the secondary", nominal=1e3)
    ANGLE = _PHI
    T_F = _T_F
    BALANCE_F = _Y_F


class RigidX(Rows):
    """States of the rigid model, the first as in `X`."""

    OMEGA_I = _OMEGA_I
    ANGLE = _PHI
    T_F = _T_F
    BALANCE_F = _Y_F


COUPLING_TORQUE = Row("{flange}.coupling", "N.m", "torque of the coupling's spring at flange {flange}", nominal=100.0)
COUPLING_D_TORQUE = Row("{flange}.coupling.d", "N.m", "torque of its damper and the spring in series", nominal=100.0)
N_HYBRID, N_RIGID = len(X), len(RigidX)
MOST_X = N_HYBRID + 4


class Q(Places):
    """Quantities at a state, at the beginning of work; those of the two tractions are in the same order."""

    SIN = "sin(phi)"
    R_I = "r_I [m]"
    R_O = "r_O [m]"
    DR_I = "its derivative to phi"
    DR_O = "its derivative to phi"
    RP_I = "r'_I [m]"
    RP_O = "r'_O [m]"
    I_G = "i"
    DI_G = "its derivative to phi"
    F_CI = "F_CI [N]"
    F_CO = "F_CO [N]"
    F_EQ = "F_eq [N]"
    XI = "xi"
    OUTSIDE = "how far the operating point is outside the laws' data"
    LAW_K = "k [1/N]; the four laws are in the order of `rtcvt.variator.regression.laws`"
    LAW_E = "e"
    LAW_C = "c"
    LAW_LAMBDA = "lambda"
    PHI_RATE = "phi' [rad/s]"
    RR_I = "r_I' [m/s]"
    TAU_REV = "tau_rev [N.m]"
    P_SHIFT = "P_shift [W]"
    P_STOP = "P_stop [W]"
    AT_STOP = "1 if an end stop of the ratio is active"
    AT_FORCE = "1 if a limit of the clamping force is"
    W_I = "omega_I [rad/s]"
    W_V = "v [m/s]"
    W_O = "omega_O [rad/s]"
    TAU_I = "tau_I [N.m]"
    TAU_O = "tau_O [N.m]"
    DRAG = "lambda F_CO sigma(v) [N]"
    D_DRAG = "its derivative to v"
    RE_I = "r_eI [m]"
    CAP_I = "T_max,I [N]"
    T_I = "T_I [N]"
    E_I = "e_I [m/s]"
    TT_I = "derivative of T_I to S_I"
    TS_I = "of T_I to s_I"
    EF_I = "of e_I to S_I"
    ES_I = "of e_I to s_I"
    SLIP_I = "way in which the belt slides as a whole on the primary, or 0"
    CAP_O = "T_max,O [N]"
    T_O = "T_O [N]"
    E_O = "e_O [m/s]"
    TT_O = "derivative of T_O to S_O"
    TS_O = "of T_O to s_O"
    EF_O = "of e_O to S_O"
    ES_O = "of e_O to s_O"
    SLIP_O = "way in which the belt slides as a whole on the secondary, or 0"
    PULL = "radial load of a shaft [N]"
    DM_I = "derivative by omega_I of the loss torque of the primary's shaft [N.m.s/rad]"
    DM_O = "by omega_O of that of the secondary's shaft"
    BALANCE = "y"
    CREEP = "a [m/(N.s)]"
    FOLLOWING = "rate at which the operating point follows traction and force balance [1/s]"


N_Q = len(Q)
OTHER_SLOPE = Q.DM_O - Q.DM_I
OTHER = Q.CAP_O - Q.CAP_I  # from a quantity of the primary's traction to that of the secondary's

# work after the quantities
W_SHAFTS = N_Q  # torques [N.m] of `SHAFT_LOSSES` on the primary's shaft, then on the secondary's
W_STEP = W_SHAFTS + 2 * N_SHAFT_LOSSES  # four vectors of the step, its matrix, pivots
W_SAVED = W_STEP + 4 * MOST_X + MOST_X * MOST_X + MOST_X
W_ACROSS = W_SAVED + MOST_X  # three vectors of `kernels.step_across`
W_Y = W_ACROSS + 3 * MOST_X  # new outputs; then the scratch of the laws and the cells of a field


# --- with flywheel and controller, see `kers` -------------------------------------------------------------------------


class KersD(Places):
    """Header of the controller's constants, at ``data[KERS]``."""

    N_ALL = "states"
    N_Y_ALL = "outputs"
    AT_WORK = "place in work: the controller's scratch"
    OF_LAW = "table: numbers of the law, see `rtcvt.control.limits.gather`"
    OF_VARIATOR = "table: the same for parameters of the variator"
    SIZES = "table: typical value of each state"


class KersP(Rows):
    """Parameters of the unit; those of the variator that remain follow."""

    N_I = Row("shaft.i", "1", "gear ratio, speed of the primary divided by speed of the shaft", TINY)
    N_F = Row("flywheel.i", "1", "gear ratio, speed of the flywheel divided by speed of the secondary", TINY)
    J_S = Row("secondary.J", "kg.m2", "moment of inertia of the secondary pulley with its shaft", 0.0)
    B_S = Row("secondary.b", "N.m.s/rad", "viscous friction of the secondary's bearings", 0.0, tunable=True)
    J_F = Row("flywheel.J", "kg.m2", "moment of inertia of the flywheel", TINY)
    B_F = Row("flywheel.b", "N.m.s/rad", "viscous friction of the flywheel", 0.0, tunable=True)
    K_D = Row("shaft.K", "N.m/rad", "stiffness between shaft and primary, at the shaft", TINY)
    D_D = Row("shaft.d", "N.m.s/rad", "damping between shaft and primary, in series with an equal stiffness", TINY,
        tunable=True)  # fmt: skip
    W_T_START = Row("shaft.w_start", "rad/s", "speed of the shaft at the start", None, None, 100.0, "rpm")
    SAFETY = Row("clamp.S", "1", "safety factor of the clamping forces against slip", 1.0, tunable=True)
    RESERVE = Row("clamp.Y", "1", "reserve factor of the primary's clamping force for shifting", 1.0, tunable=True)
    F_LOW = Row("clamp.F_low", "N", "least clamping force that the controller sets", 1.0, tunable=True)
    T_A = Row("control.T_a", "s", "time constant of the clamping forces", 1e-3, tunable=True)
    T_D = Row("control.T_d", "s", "time constant of the shaft's acceleration", 1e-3, tunable=True)
    RATE_MAX = Row("control.rate_max", "rad/s", "largest rate of theta", TINY, tunable=True)
    LIMIT_TIME = Row("control.limit_time", "s", "time constant of the approach to a limit", 1e-3, tunable=True)
    K_THETA = Row("control.K_theta", "rad/(s.N.m)", "gain from torque to rate", 0.0, tunable=True)
    K_W = Row("control.K_w", "N.m.s/rad", "gain from speed to torque", 0.0, tunable=True)
    TAU_FILTER = Row("control.tau_filter", "s", "time constant of the estimated torque", 1e-4, tunable=True)
    W_MAX = Row("flywheel.w_max", "rad/s", "largest speed of the flywheel", TINY, None, None, "rpm", tunable=True)
    OMEGA_0 = Row("control.w_0", "rad/s", "speed of the shaft below which the controller fades out", 1e-3, tunable=True)


class KersU(Rows):
    """Inputs."""

    W = Row.speed("shaft.w", "speed of the shaft")
    TAU = Row("control.tau_des", "N.m", "demanded torque into the unit", nominal=100.0, set_point=True)


class KersX(Rows):
    """States after the variator's."""

    RHO = Row("control.rho", "rad/s", "rate of theta that the clamping forces cause", nominal=0.1)
    FORCE_O = Row("clamp.F_O", "N", "clamping force of the secondary", nominal=1e4)
    POWER = Row("control.power", "W", "filtered derivative of the energy", nominal=1e3)
    SHAFT = Row("control.w_t", "rad/s", "speed of the shaft, filtered", nominal=100.0)
    DEMAND = Row("control.tau_d", "N.m", "demand, filtered", nominal=100.0)


class KersY(Rows):
    """Outputs after the variator's."""

    TAU = Row("shaft.tau", "N.m", "torque into the unit at the shaft: tau w is power in", None, None, 100.0)
    TAU_EST = Row("control.tau_est", "N.m", "estimated torque at the shaft", None, None, 100.0)
    TAU_MAX = Row("control.tau_max", "N.m", "torque capacity at the shaft with the present clamping forces", 0.0, None,
        100.0)  # fmt: skip
    THETA = Row("control.theta", "rad", "tilt of the belt's spans, sin(theta) = (r_I - r_O)/d_A", None, None, 0.1,
        "deg")  # fmt: skip
    SATURATED = Row.flag("control.saturated", "a limit of the controller is active")
    TORQUE_LIMITED = Row.flag("control.limited.torque", "the torque is limited by the clamping forces")
    RATE_LIMITED = Row.flag("control.limited.rate", "the rate of theta is at its largest")
    RATIO_LIMITED = Row.flag("control.limited.ratio", "the controller approaches an end of the ratio")
    SPEED_LIMITED = Row.flag("control.limited.flywheel", "the flywheel's largest speed limits the rate")
    W_F = Row("flywheel.w", "rad/s", "speed of the flywheel", None, None, 1e3, "rpm")


N_KERS_U, N_KERS_X = len(KersU), len(KersX)
NOT_OF_KERS = (P.W_START, P.T_RATIO, P.CONTROL, *CYLINDERS)  # parameters that a controller sets itself
