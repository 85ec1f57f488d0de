"""Table of a gear system: its constants, variables and states. One kernel serves every unit because the unit is data.

State vectors::

    full   [omega (n_J), F (n_K), tau of springs at the ports (n_S), theta, P, phi (n_E), Q (n_E)]
    rigid  [x1 (n_1),             tau of springs at the ports (n_S), theta, P, phi (n_E), Q (n_E)]
    hybrid [omega (n_J), F (those without traction), tau of springs at the ports, theta, P, end load, phi, Q]

with theta only if the geometry moves and the filtered power P only under KERS control; phi and Q are of clutches,
brakes and the like (`rtcvt.pog.elements`); a contact with play has K s in place of F, and z in place of phi. Inputs:
one per port, then one of the controller, then actuations. Outputs: one per port; `CouplingY` of each coupling; the
controller's; stored energy, lost power; omega; F; `ElementY` of each element; `PlayY` of each contact with play.

A port whose speed is prescribed has springs between its flange and its gear: one if it is a shaft of the unit file,
two, the second of them with a damper in series, if they are the coupling of `rtcvt.model.coupling`."""

from rtcvt.control.kers import KERS_SIZE
from rtcvt.control.limits import CONTROL_SIZE
from rtcvt.model import Books
from rtcvt.model.stepping import Block
from rtcvt.table import LOSS, STORED, Places, Row, Rows
from rtcvt.traction.size import LAW_SIZE


class Op(Places):
    """Instructions of the tape that computes R: register <- operation(first, second)."""

    CONSTANT = "from data"
    PARAMETER = "from p"
    THETA = "the moving variable"
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    NEG = "neg"
    SIN = "sin"
    COS = "cos"
    SQRT = "sqrt"


class Control(Places):
    """Kinds of control."""

    NONE = "nothing moves"
    POSITION = "`rtcvt.control.position`"
    KERS = "`rtcvt.control.kers`"


class Element(Places):
    """A clutch, a brake, a dry bearing, the loss of a mesh or its play."""

    A = "its first gear"
    B = "its second gear"
    SIGN = "1 if the axes of the two have the same direction, -1 if opposite ones, 0 if the second is the housing"
    LOW = "least torque over the capacity: -1, or 0 of a one-way clutch"
    HIGH = "largest torque over the capacity: 1 or 0"
    U = "place of its actuation in u, or -1 if it has none"
    P = "place of its capacity in p, or of the contact's efficiency, stiffness and damping after it; or of the play"
    CONTACT = "contact that has this play, or whose force loads the loss; -1 if it has a capacity"
    FORCE = "force of a contact at which it has that efficiency [N]; 0 if always"
    SPEED = "and speed, see `rtcvt.pog.mesh` [m/s]"
    LEAST = "force below which the friction of its teeth does not follow it [N]"


class D(Places):
    """Header of the constants."""

    N_J = "gears"
    N_K = "contacts"
    N_1 = "independent speeds"
    N_S = "springs at the ports"
    N_PORT = "ports"
    N_FRICTION = "relative frictions"
    N_E = "elements: clutches, brakes, dry bearings, losses of meshes"
    N_LOSS = "losses of meshes among them"
    N_PLAY = "contacts with play among them, the last ones"
    N_TRACTION = "contacts that transmit by traction, in the hybrid model"
    N_X = "states"
    N_Y = "outputs"
    N_U = "inputs"
    FULL = "1: full or hybrid model, 0: rigid"
    MOVING = "1 if the geometry moves"
    CONTROL = "one of `Control`"
    METHOD = "of `rtcvt.numerics.integrators`"
    INTERNAL_STEP = "largest internal step [s]"
    X_SPRING = "place in x: torque of the first spring"
    X_THETA = "place in x: the moving variable"
    X_POWER = "place in x: filtered power"
    X_LOAD = "place in x: end load"
    X_PHI = "place in x: twist of the first element; heats of all follow"
    X_OWN = "place in x: speed of the controlled port's gear"
    OWN_PORT = "number of the controlled port"
    U_CONTROL = "place in u: the controller's"
    U_LOAD = "place in u: least end load"
    Y_TRACTION = "place in y: `TractionsY`; `TractionY` of each follow"
    Y_PRESSURE = "place in y: pressure of the end load's piston, or -1"
    Y_COUPLING = "place in y: `CouplingY` of each coupling"
    Y_TAU_EST = "place in y: estimated torque, with a KERS"
    Y_THETA = "place in y: the moving variable"
    Y_LIMITED = "place in y: a limit overrides the controller; whether the step is too coarse follows"
    Y_E = "place in y: stored energy; lost power, speeds, contact forces, `ElementY` and `PlayY` of each follow"
    TAPE = "table: `Instruction` of each"
    TAPE_FIXED = "instructions that do not depend on theta come first: how many"
    TAPE_END = "all instructions: how many"
    ENTRY = "table: `Entry` of each entry of R that is not zero"
    ENTRY_FIXED = "entries that do not depend on theta come first: how many"
    ENTRY_END = "all entries: how many"
    FRICTION = "table: `FrictionD` of each"
    ELEMENT = "table: `Element` of each"
    PLAY = "table: of each contact the element that is its play, or -1"
    FORCE = "table: of each contact the place of its force in x, or -1 less its number among those with traction"
    TRACTION = "table: `TractionD` of each"
    ROLLERS = "in a cavity"
    ALL_ROLLERS = "in all"
    PER_INPUT = "end load by the input: area of its piston [m2], or 1"
    BY_REACTION = "end load over the force that holds a roller; 0: without pistons that do"
    BEARING = "arm of the drag of a roller's bearing by its load [m]"
    CHURNING = "drag of a disc by its speed squared [N.m.s2/rad2]"
    DEVIATION = "relative standard deviation of Lambda_0"
    PORT = "table: `PortD` of each"
    SPRING = "table: `SpringD` of each"
    ORDER = "table: gears, dependent ones first, independent ones last"
    START = "table: places of the independent start speeds in p"
    STORAGE = "row of the storage gear in Q1"
    LAW = "table: numbers of the controller: place in p or -1, constant"
    N_LAW = "how many"
    P_J = "place in p: inertias"
    P_B = "place in p: frictions"
    P_K = "place in p: contact stiffnesses"
    P_D = "place in p: contact dampings"
    P_TRACTION = "place in p: `TractionP`"
    P_THETA_START = "place in p: start of the moving variable"
    SIZES = "table: typical value of each state"
    W_REGISTER = "value, first and second derivative to theta of each register", lambda d: 3 * d.TAPE_END
    W_R = "R, R', with the rows of S below: each (n_K + n_T) x n_J", lambda d: 2 * (d.N_K + d.N_TRACTION) * d.N_J
    W_Q = "Q1, Q1', Q1'': each n_J x n_1", lambda d: 3 * d.N_J * d.N_1
    W_RD = "LU of the dependent columns of R, n_K x n_K; its pivots", lambda d: d.N_K * (d.N_K + 1)
    W_REDUCED = "`Reduced`", lambda d: Reduced.PIVOTS * d.N_1 * d.N_1 + d.N_1
    W_THETA = "the tilt at which all of these hold, and up to which derivative", lambda d: 2
    W_LAW = "numbers of the controller, see rtcvt.control.limits.gather", lambda d: KERS_SIZE
    W_CONTROL = "command for theta', see rtcvt.control.limits", lambda d: CONTROL_SIZE
    W_GEAR = "`GearVector`: n_J each", lambda d: len(GearVector) * d.N_J
    W_Z = "change of the state by each element's torque, n_E x n_x, at least one", lambda d: (d.N_E + 1) * d.N_X
    W_RESPONSE = "accelerations of the speeds by 1 N.m of each element, n_E x n_J", lambda d: d.N_E * d.N_J
    W_ELEMENT = "`ElementW` of each element", lambda d: len(ElementW) * d.N_E
    W_LOAD = "contact forces that load losses", lambda d: d.N_K
    W_LOSS = "`LossW` of each loss", lambda d: len(LossW) * d.N_LOSS
    W_BY_TORQUE = (
        "rigid model's forces in lossy meshes by torques on the gears, then by x1",
        lambda d: d.N_LOSS * (d.N_J + d.N_1),
    )
    W_BY_ELEMENT = "G: these forces by the torques of all elements", lambda d: d.N_LOSS * d.N_E
    W_LOSSES = "LU of 1 - c G, n_loss x n_loss; its pivots; torques of losses", lambda d: d.N_LOSS * (d.N_LOSS + 2)
    W_FACTORED = "h of which the matrix in W_STEP is, 0 if of none", lambda d: 1
    W_BOX = "`Box`, of `rtcvt.numerics.complementarity`; its scratch", lambda d: d.N_E * (2 * d.N_E + 2 + Box.MATRIX)
    W_TRACTION = "`TractionW` of each contact with traction", lambda d: (len(TractionW) + LAW_SIZE) * d.N_TRACTION
    W_LOADING = (
        "contact that the end load follows by margin, n_T more by reaction, -1: at a bound; `wanted`",
        lambda d: 2,
    )
    W_SAVED = "state before a communication step, n_x; new outputs, n_y", lambda d: d.N_X + d.N_Y
    W_STEP = "`rtcvt.model.stepping.Block`", lambda d: Block.JACOBIAN * d.N_X + 2 * d.N_X * d.N_X


class Instruction(Places):
    """An instruction of the tape."""

    OPERATION = "a member of `Op`"
    FIRST = "register, or place of the number"
    SECOND = "register"


class Entry(Places):
    """An entry of R that is not zero."""

    CONTACT = "its row"
    GEAR = "its column"
    REGISTER = "where its value is computed"


class FrictionD(Places):
    """A relative friction."""

    GEAR = "one gear"
    OTHER = "the other gear"
    SIGN = "of the speed of the other gear"
    P = "place of its coefficient in p"


class PortD(Places):
    """A port."""

    GEAR = "its gear"
    FIRST = "number of its first spring"
    SPRINGS = "how many it has: 0, 1, or 2 of a coupling"


class SpringD(Places):
    """A spring at a port."""

    PORT = "its port"
    P_K = "place of its stiffness in p"
    P_D = "place in p of the damping of a damper in series, or -1"


class TractionD(Places):
    """A contact of a disc and a roller that transmits by traction."""

    CONTACT = "its number"
    DISC = "gear"
    ROLLER = "gear"
    NUMBERS = "place of `rtcvt.traction.law.Of`"


class TractionP(Places):
    """Parameters of the traction."""

    LAMBDA = "Lambda_0"
    MARGIN = "of the end load"
    LEAST = "end load [N]"
    MOST = "end load [N]"
    LAG = "of the end load [s]"
    P_MAX = "allowed pressure [Pa]"


class TractionW(Places):
    """Loads of a contact with traction; the results of `rtcvt.traction.law` at the first six follow."""

    V = "speed of creep [m/s]"
    SIGMA = "spin [rad/s]"
    U = "rolling speed [m/s]"
    N = "normal force of a roller [N]"
    R = "radius of the disc [m]"
    LIMIT = "Lambda_0"
    DERIVATIVES = "1 if those of the law are there"
    THERE = "1 if the law was evaluated before"
    BEARING = "drag on the roller [N.m]"


class ElementP(Places):
    """Parameters of an element; a contact with play has its play alone."""

    CAPACITY = "torque capacity [N.m], efficiency of a contact that loses [-], or play [m]"
    K = "stiffness [N.m/rad]"
    D = "damping [N.m.s/rad]"


class Reduced(Places):
    """Matrices of the rigid model, n_1 x n_1 each."""

    L1 = "Q1' J Q1"
    FACTORS = "LU of L1"
    M = "Q1' J dQ1/dtheta, N1 over theta'"
    M_BY_THETA = "its derivative to theta"
    A1 = "-Q1' B_J Q1"
    A1_BY_THETA = "its derivative to theta"
    PIVOTS = "of FACTORS, n_1"


class GearVector(Places):
    """Vectors of n_J numbers."""

    TAU = "torques on the gears [N.m]"
    OMEGA = "their speeds [rad/s]"
    SCRATCH = "free"
    SCRATCH_2 = "free"


class ElementW(Places):
    """Torques of an element."""

    HIGH = "largest torque [N.m]"
    LOW = "least torque [N.m]"
    DW = "dw where elements were loaded last [rad/s]"
    TAU = "torque there [N.m]"
    SIDE = "there: 0 if the faces stick, else the bound at which they carry, 1 or -1; pressed side of a play"
    START_SIDE = "SIDE at the start of an internal step, `HUGE` where a play's differs at a stage"
    START_DW = "dw at the start of an implicit Euler step"
    FREE_DW = "dw at its end without torques of elements"
    FACTORED_SIDE = "SIDE of which the matrix in W_STEP is"
    TWIST = "1/(2/h - dphi'/dphi), negative where no other state follows from phi [s]"
    HEAT_BY_RATE = "change of the heat's rate Q' by that of phi'"
    HEAT_BY_TWIST = "by that of phi"
    HEAT_BY_DW = "by that of dw"


class LossW(Places):
    """A mesh that loses."""

    DRIVING = "c if the gear at which it loses drives it [m]"
    DRIVEN = "c if it is driven [m]"
    SLOPE = "dtau/dF of which the matrix in W_STEP is [m]"
    SLOWING = "dtau/dw of which that is [N.m.s/rad]"
    FACTORED = "c of which the matrix 1 - c G is factored [m]"
    C = "c that is to be [m]"
    F_0 = "force without losses [N]"
    STUCK = "torque if the teeth stuck [N.m]"


class Box(Places):
    """The problem of `rtcvt.numerics.complementarity`: vectors of n_E numbers and a matrix."""

    Q = "right-hand side"
    LOW = "lower bounds"
    HIGH = "upper bounds"
    TAU = "torques"
    SIDE = "sides"
    MATRIX = "n_E x n_E; scratch follows"


# parameters; units, limits and start values of the geometry are the unit file's
GEOMETRY = Row("geometry.{name}", "1", "{about}")
GEAR_J = Row("gear.{name}.J", "kg.m2", "moment of inertia of gear {name}{about}", 0.0)
GEAR_B = Row("gear.{name}.b", "N.m.s/rad", "viscous friction of gear {name}{about}", 0.0, tunable=True)
CONTACT_K = Row("contact.{name}.K", "N/m", "tangential stiffness of the contact of {i} and {j}", 0.0)
CONTACT_D = Row("contact.{name}.d", "N.s/m", "damping of the contact of {i} and {j}", 0.0, tunable=True)
FRICTION_B = Row("friction.{name}.b", "N.m.s/rad", "relative friction between {i} and {j}", 0.0, tunable=True)
PORT_K = Row("{name}.K", "N.m/rad", "torsional stiffness between port {name} and gear {gear}", 0.0)
PORT_START = Row("{name}.w_start", "rad/s", "start speed of port {name}", display="rpm")
COUPLING_C = Row("{name}.c", "N.m/rad", "stiffness of each of the two springs between flange {name} and gear {gear}")
COUPLING_D = Row(
    "{name}.d",
    "N.m.s/rad",
    "damper in series with one of the springs between flange {name} and gear {gear}",
    tunable=True,
)
GEAR_START = Row("gear.{name}.w_start", "rad/s", "start speed of gear {name}", display="rpm")
CONTACT_ETA = Row("contact.{name}.eta", "1", "efficiency of the contact of {i} and {j}, on its carrier", 0.01, 1.0,
                  tunable=True)  # fmt: skip
CONTACT_PLAY = Row("contact.{name}.play", "m", "play of the contact of {i} and {j}", 1e-9, display="mm")
ELEMENT_C = Row("{name}.C", "N.m", "torque capacity of {about}", 0.0, tunable=True)
ELEMENT_K = Row("{name}.K", "N.m/rad", "torsional stiffness of {about}", 1e-9)
ELEMENT_D = Row("{name}.d", "N.m.s/rad", "damping of {about}, parallel to its stiffness", 1e-9)
K_THETA = Row("control.K_theta", "rad/(s.N.m)", "integral gain from torque error to tilt rate", 0.0, tunable=True)
K_W = Row("control.K_w", "N.m.s/rad", "gain on the speed difference across the port's spring", 0.0, tunable=True)
TAU_FILTER = Row("control.tau_filter", "s", "time constant of the filtered derivative of the energy", 1e-6,
                 tunable=True)  # fmt: skip
TIME_CONSTANT = Row("control.time_constant", "s", "time constant of the actuator", 1e-6, tunable=True)
THETA_START = Row("control.{name}_start", "rad", "start of {name}", display="deg")

TRACTION_P = {  # parameters in the order of `TractionP`, by field of the unit file
    "limit": Row("traction.limit", "1", "largest shear stress of the fluid by pressure, cold", 1e-4, 1.0, tunable=True),
    "margin": Row("traction.margin", "1", "end load over that at full slip; 0: as at the input", 0.0, tunable=True),
    "preload": Row("traction.preload", "N", "least end load", 1e-3, tunable=True),
    "end_load_max": Row("traction.end_load_max", "N", "largest end load", 1e-3, tunable=True),
    "time_constant": Row("traction.time_constant", "s", "time constant of the end load", 1e-6, tunable=True),
    "p_max": Row("traction.p_max", "Pa", "allowed pressure of the contacts", 1e6, tunable=True),
}

# inputs and outputs; limits and nominal values of speeds and torques are the unit file's
TORQUE_IN = Row("{name}.tau", "N.m", "torque into the unit at port {name}{about}", nominal=100.0)
FLANGE_SPEED_IN = Row.speed("{name}.w", "speed of flange {name}{about}")
SHAFT_SPEED_IN = Row.speed("{name}.w", "speed of the shaft at port {name}{about}")
LOAD = Row("traction.end_load_min", "N", "end load that is asked for; the margin may ask for more", 0.0, nominal=1e4)
PRESSURE = Row("traction.pressure_min", "Pa", "pressure of the end load's piston that is asked for", 0.0, nominal=1e6,
               display="bar")  # fmt: skip
PRESSURE_Y = Row("traction.pressure", "Pa", "pressure of the end load's piston", 0.0, nominal=1e6, display="bar")
DEMAND = Row("control.tau_des", "N.m", "demanded torque into the unit", nominal=100.0, set_point=True)
SET_POINT = Row("control.{name}_des", "rad", "set point of {about}", display="deg", set_point=True)
ACTUATION = Row("{name}.u", "1", "actuation of {about}: open at 0, full capacity at 1", 0.0, 1.0, 1.0)
SPEED_OUT = Row.speed("{name}.w", "speed of port {name}{about}")
FLANGE_TORQUE_OUT = Row("{name}.tau", "N.m", "torque into the unit at flange {name}{about}: tau w is power in",
                        nominal=100.0)  # fmt: skip
TAU_EST = Row("control.tau_est", "N.m", "estimated torque into the unit", nominal=100.0)
THETA = Row("control.{name}", "rad", "{about}", display="deg")
LIMITED = Row.flag("control.saturated", "a limit of tilt, tilt rate or storage speed overrides the controller")
LOST = Row("loss.friction", "W", "power lost in friction of gears and contact dampers", 0.0, nominal=100.0, books=LOSS)
ENERGY = Row("storage.E", "J", "energy stored in gears and contacts", 0.0, nominal=1e3, display="kJ", books=STORED)
GEAR_SPEED = Row.speed("gear.{name}.w", "speed of gear {name}{about}")
CONTACT_FORCE = Row("contact.{name}.F", "N", "tangential force from {i} to {j}", nominal=1e3, display="kN")


class CouplingY(Rows):
    """Outputs of a coupling at a port whose speed is prescribed."""

    E = Row("{name}.E", "J", "energy stored in the coupling at flange {name}", 0.0, nominal=1.0, books=STORED)
    LOSS = Row("{name}.loss", "W", "power lost in the coupling at flange {name}", 0.0, nominal=1.0, books=Books.LOSS)


class TractionsY(Rows):
    """Outputs of all contacts with traction."""

    END_LOAD = Row("traction.end_load", "N", "end load of a cavity", 0.0, nominal=1e4, display="kN")
    EFFICIENCY = Row("traction.efficiency", "1", "power out of the rollers by power into them; 1 at rest", 0.0, 1.0)
    CREEP = Row("loss.creep", "W", "power lost in creep of the contacts; part of loss.friction", 0.0, nominal=100.0)
    SPIN = Row("loss.spin", "W", "power lost in spin of the contacts; part of loss.friction", 0.0, nominal=100.0)
    BEARING = Row("loss.roller_bearings", "W", "power lost in the rollers' bearings; part of loss.friction", 0.0,
                  nominal=10.0)  # fmt: skip
    CHURNING = Row("loss.churning", "W", "power lost by discs in oil; part of loss.friction", 0.0, nominal=10.0)
    SLIPS = Row.flag("status.macro_slip", "a contact is beyond the largest traction or within 5 % of it")
    PRESSED = Row.flag("status.over_pressure", "a contact is pressed harder than traction.p_max")


class TractionY(Rows):
    """Outputs of a contact with traction."""

    CREEP = Row("contact.{name}.creep", "1", "creep of {i} against {j}, over the rolling speed", nominal=0.01)
    SPIN = Row("contact.{name}.spin", "rad/s", "spin of {i} against {j} about the normal", nominal=100.0)
    MU = Row("contact.{name}.mu", "1", "traction over normal force of {i} and {j}", nominal=0.05)
    MARGIN = Row("contact.{name}.margin", "1", "share of the traction of {i} and {j} that is left", nominal=0.5)
    DEVIATION = Row("contact.{name}.margin_deviation", "1", "its standard deviation, by the fluid's", 0.0, nominal=0.05)
    PRESSURE = Row("contact.{name}.p_max", "Pa", "largest pressure of {i} and {j}", 0.0, nominal=1e9)


class ElementY(Rows):
    """Outputs of an element."""

    TAU = Row("{name}.tau", "N.m", "torque of {about}", nominal=100.0)
    SLIP = Row.speed("{name}.w_slip", "slip of {about}; exactly zero while it sticks")
    STUCK = Row.flag("{name}.stuck", "{about} sticks")
    HEAT = Row("{name}.Q", "J", "heat of {about} since the start", nominal=1e4, display="kJ", books=LOSS)


class PlayY(Rows):
    """Outputs of a contact with play."""

    S = Row("contact.{name}.s", "m", "travel of the teeth of {i} and {j} from the middle of their play", display="mm")
    HEAT = Row("contact.{name}.Q", "J", "heat of the contact of {i} and {j} since the start", nominal=1.0, books=LOSS)


N_TRACTION_W = len(TractionW)
N_TRACTION = len(TractionY)
N_TRACTIONS = len(TractionsY)
N_COUPLING = len(CouplingY)
N_ELEMENT = len(ElementY)
N_PLAY = len(PlayY)

# states besides speeds, contact forces and theta, which are outputs too
SPRING_TORQUE = Row("{name}.tau", "N.m", "torque of the spring at port {name}", nominal=100.0)
COUPLING_TORQUE = Row("{name}.tau_{k}", "N.m", "torque {k} of the coupling at flange {name}", nominal=100.0)
END_LOAD = Row("traction.F_e", "N", "end load", nominal=1e4)
POWER = Row("control.power", "W", "filtered derivative of the energy", nominal=1e3)
LEAD = Row("contact.{name}.z", "m", "state of the damper of the contact of {i} and {j}", nominal=1e-6)
TWIST = Row("{name}.phi", "rad", "twist of {about}", nominal=1e-4)
HEAT = Row("{name}.Q", "J", "heat of {about} since the start", nominal=1e4)
