"""Table of a belt drive: its constants, parameters, states and outputs, and their places in the buffers.

Pulleys are numbered in the order in which the belt visits them. The belt is a ring of cells: span 0, the cells of wrap
1, span 1, ..., the cells of wrap 0, that is `FACES` cells from one span to the next. Face g is between cells g and
g + 1, on the pulley after span ``g // FACES``. State vectors::

    hybrid  [l (N FACES), omega (N), q,  `ArmX` of each arm,  `DecouplerX` of each decoupler,
             `GivenX` of each given speed,  v (N) if friction depends on the sliding speed,
             way of each patch, modes of the spans if they swing across]
    rigid   [v,                          `GivenX` of the given speed]

The lengths come first, as elimination then fills little of the step's matrix. States from `GivenX` on are constant over
an internal step and are not in its matrix. Outputs: one of each flange, `Y`, one of each span, `PulleyY` of each
pulley, the speed of each pulley whose flange's speed is given, `ArmY` of each arm, and the loss of arms if there is
one; `DecouplerY` of each decoupler, and the loss of these; the first frequency of each span, and `ResonanceY` of each
if engine orders are given.
"""

from rtcvt.model.stepping import Block
from rtcvt.table import LOSS, STORED, TINY, Places, Row, Rows


class D(Places):
    """Header of the constants."""

    N = "pulleys"
    FACES = "faces of each wrap"
    RIGID = "1: rigid model, 0: hybrid"
    STANDS = "1: rigid model of a drive with fixed arms that determine the tension"
    N_X = "states"
    N_U = "inputs"
    N_Y = "outputs"
    INTERNAL_STEP = "largest internal step [s]"
    T_REST = "tension of the spans at rest, at which R is linearised [N]"
    X_GIVEN = "place in x: `GivenX` of each given speed; states before it move within an internal step"
    GEOMETRY = "table: `Arc` of each pulley"
    FLANGE = "table: `FlangeD` of each pulley"
    LOAD = "table: place of its first point, how many points for each pulley; points: speed and torque"
    ARMS = "arms of tensioners"
    ARM = "table: `ArmD` of each arm"
    SPAN_ARM = "table: `SpanD` of each span, if there are arms"
    X_ARM = "place in x: `ArmX` of each arm"
    P_ARM = "place in p: `ArmP` of each arm"
    Y_ARM = "place in y: `ArmY` of each arm, the loss of all"
    DECOUPLERS = "decouplers"
    DECOUPLER = "table: `DecouplerD` of each decoupler"
    X_DECOUPLER = "place in x: `DecouplerX` of each decoupler"
    P_DECOUPLER = "place in p: `DecouplerP` of each decoupler"
    Y_DECOUPLER = "place in y: `DecouplerY` of each decoupler, the loss of all"
    ACROSS = "table: `Across` of each span"
    EI = "bending stiffness of the belt [N.m2]"
    D_I = "its damping of bending [N.m2.s]"
    N_ORDERS = "engine orders that are watched"
    ORDERS = "table: these orders"
    DRIVER = "pulley whose turns they count"
    BAND = "share of a span's frequency within which an order meets it"
    Z_0 = "share of critical damping of the spans across, in addition to that of ribs and bending"
    RUNOUT = "amplitude of the spans' ends with an order [m]; 0: not given"
    Y_SWING = "place in y: amplitude of each span, if that of its ends is given"
    Y_FREQUENCY = "place in y: first frequencies of the spans across"
    Y_RESONANCE = "place in y: `ResonanceY` of each span, if there are orders"
    N_SLIDING = "points of friction over the sliding speed; 0: it does not depend on it"
    SLIDING = "table: these speeds [m/s] and shares of friction"
    X_SLIDING = "place in x: sliding speeds that friction depends on"
    PATCHES = "patches of other friction"
    PATCH_OF = "table: pulley of each patch; -1: on the belt"
    PATCH = "table: `PatchD` of each patch and pulley"
    X_PATCH = "place in x: way of each patch"
    MODES = "modes of each span that swings across; 0: none do"
    LATERAL = "table: `Lateral` of each span"
    BELT_LENGTH = "length of the whole belt [m]"
    LATERAL_DAMPING = "share of critical damping of the modes, in addition to that of `Z_0`, ribs and bending"
    X_LATERAL = "place in x: of each span angle of the pulley before it, last tension, and y_k and y_k' of its modes"
    Y_LATERAL = "place in y: displacement of the middle of each span that swings"
    P_J = "place in p: inertias"
    P_B = "place in p: frictions"
    P_MU = "place in p: friction coefficients"
    Y_BELT = "place in y: `Y`"
    Y_TENSION = "place in y: tensions of the spans"
    Y_PULLEY = "place in y: `PulleyY` of each pulley"
    Y_GIVEN = "place in y: speed of each pulley whose flange's speed is given"
    W_CELL = "`Cell` of each cell", lambda d: len(Cell) * d.N * d.FACES
    W_FACE = "`Face` of each face", lambda d: len(Face) * d.N * d.FACES
    W_RIM = "`Rim` at the start and at the end of each span", lambda d: 2 * len(Rim) * d.N
    W_WRAP = "`Wrap` of each pulley", lambda d: len(Wrap) * d.N
    W_SPAN = "`Span` of each span", lambda d: len(Span) * d.N
    W_SLOPE = "slope of R where it was evaluated last", lambda d: 1
    W_BY_ARM = "of each face ds/dtheta of each arm: a block of each", lambda d: d.ARMS * d.N * d.FACES
    W_CLUTCH = "1 or 0 of each decoupler: its clutch is locked", lambda d: d.DECOUPLERS
    W_LATERAL = "modes of a span, and four stages of their rates", lambda d: 12 * d.MODES
    W_SAVED = "state before a communication step, new outputs", lambda d: d.N_X + d.N_Y
    W_STEP = "`rtcvt.model.stepping.Block`", lambda d: Block.JACOBIAN * d.N_X + 2 * d.N_X * d.N_X


class Cell(Places):
    """A cell of the belt: a span, or a part of a wrap."""

    LENGTH = "length L, stretched [m]"
    STRETCH = "lambda; on a wrap Lambda"
    N = "tension; on a wrap N [N]"
    N_BY_L = "its derivative to the content l [N/m]"
    HAT = "N less inertia [N]"
    HAT_BY_L = "its derivative to l [N/m]"
    RATE = "-d(STRETCH)/dl/STRETCH [1/m]"
    T = "tension [N]"
    LONGER_BY_BEFORE = "d(length)/d(speed) of the pulley before it [m.s/rad]"
    LONGER_BY_AFTER = "of the pulley after it"
    LONGER_BY_T = "-d(length)/dT without strain [m/N]"
    STRETCH_BY_BEFORE = "LONGER_BY_BEFORE over STRETCH at the start of an internal step"
    STRETCH_BY_AFTER = "LONGER_BY_AFTER over STRETCH there"


class Face(Places):
    """A face between two cells."""

    Q = "flow of length without load [m/s]"
    S = "sliding speed [m/s]"
    Q_BY_V = "derivative of Q to the speed of the rim"
    Q_BY_UP = "to the content of the cell before it [1/s]"
    Q_BY_DOWN = "by that of the cell after it"
    Q_BY_FLOW = "to the mean flow"
    S_BY_UP = "derivative of S to the content of the cell before it [1/s]"
    S_BY_DOWN = "by that of the cell after it"
    S_BY_FLOW = "to the mean flow"
    S_BY_KAPPA = "to the limit kappa of the face [m/s]"
    SLIDE = "1: the belt is faster than the rim, -1: slower, 0: it sticks"
    MEAN = "mean of S over an internal step [m/s]"
    START_BY_UP = "S_BY_UP at the start of an internal step"
    START_BY_DOWN = "S_BY_DOWN there"
    START_BY_FLOW = "S_BY_FLOW there"
    WAY_1 = "distance slid: the method's first stage [m]"
    WAY_2 = "second stage"
    WAY_3 = "third stage"
    WAY_4 = "fourth stage"


class Wrap(Places):
    """A pulley and the belt on it."""

    INERTIA = "of the pulley with its share of the belt [kg.m2]"
    LIFT = "phi = m V^2 [N]"
    LIFTED = "inertia that is left for the pulley [kg.m2]"
    HELD = "Lambda without the turn of arms"
    HELD_BY_T = "dLambda/dT of its slack side [1/N]"
    KAPPA = "limit exp(Lambda) - 1"
    FACE_KAPPA = "limit of each of its faces"
    KAPPA_BY_TURN = "dKAPPA/dbeta [1/rad]"
    FACE_KAPPA_BY_TURN = "dFACE_KAPPA/dbeta [1/rad]"
    USE = "share of the limit that is used"
    GATE = "g: share of the spans' damping that is left"
    GATE_BY_IN = "its derivative to the content of the span before [1/m]"
    GATE_BY_OUT = "by that of the span after it"
    GATE_BY_FLOW = "to the mean flow [s/m]"
    GATE_BY_KAPPA = "to KAPPA"
    TORQUE = "torque that accelerates the pulley; for a given speed that of its flange [N.m]"


class Span(Places):
    """A span."""

    WAY = "share of R, the extra length at its ends, that its equations allow"
    ITERATE = "Newton's method for its tension: iterate [N]"
    OPEN = "1 while that has not converged"
    RHO_START = "rho at its start"
    RHO_END = "rho at its end"
    RATE = "rate at which its damper stretches [m/s]"
    F_D = "force of its damper [N]"
    TENSION = "output [N]"
    LEVER = "P', derivative of its way to the angle of its arm [m/rad]"
    LEVER_BY_ANGLE = "P'' [m/rad2]"
    TURN = "angle by which its arm turns it [rad]"
    TURN_BY_ANGLE = "its derivative to the arm's angle"
    DECAY = "c_1 of its lateral motion [1/s]"


class Rim(Places):
    """State of a span at its side of a pulley."""

    N = "tension times the share of the radius that is its lever [N]"
    BY_L = "its derivative to the span's content [N/m]"
    HAT = "N less inertia [N]"
    STRETCH = "Lambda"
    RATE = "-dLambda/dl/Lambda [1/m]"


class Flange(Places):
    """Kinds of flanges."""

    TORQUE = "its torque is given"
    SPEED = "its speed is given"
    IDLER = "only the belt moves it"


class FlangeD(Places):
    """A pulley's row of the table of flanges."""

    KIND = "a member of `Flange`"
    INPUT = "place of its input"
    GIVEN = "its number among the given speeds"


class Arc(Places):
    """A pulley's row of the table."""

    SIGMA = "sense of its wrap: 1 anticlockwise, -1 clockwise"
    RADIUS = "radius [m]"
    BETA = "wrap [rad]"
    OFFSET = "distance of the belt's surface from its line, by the radius"
    SPAN = "length of the span after it [m]"
    REACH = "length of belt that stretches with this span [m]"
    OWN = "length of belt that the cells of its wrap share [m]"
    BY_D = "damping of the span after it by the belt's [1/m]"
    RIBS = "its damping by all else [N.s/m]"
    WAY_3 = "extra length R at its ends: factor of (T/T_rest)^(-3/2) [m]"
    WAY_1 = "factor of (T/T_rest)^(-1/2) [m]"
    LIFT = "d(length of its wrap)/d(m V^2) [m/N]"
    RESTS = "length without load by which its wrap has more at rest than running [m]"
    SINK = "g: share by which the radius on which the belt runs falls with each newton of tension, at T_0 [1/N]"
    LESS = "c: by which it falls less further on [1/N2]"
    LAST = "g/(2 c): T - T_0 from which on it falls no more [N]"
    WEIGHT = "of the span's tension in the mean of the rigid model [m]"
    T_X = "direction of this span, x"
    T_Y = "y"


class Across(Places):
    """A span's row of the table for its vibration across."""

    LONGER = "length that its ends add [m]"
    DELAY = "their damping, as a time by length [m.s]"
    OFFSET = "length that it gains by its turn [m/rad]"


class Lateral(Places):
    """A span's row of the table for its modes across, by the normal to the left of its direction."""

    BY_START = "lateral motion of its start by its tension [m/N]"
    BY_END = "of its end"
    ARM_START = "of its start by the angle of an arm [m/rad]"
    ARM_END = "of its end"
    RUNOUT = "of the pulley at its start [m]"


class PatchD(Places):
    """A patch and a wrap, in turns of the belt or of the pulley."""

    FIRST = "start of the patch from that of the wrap, at the start"
    WIDTH = "of the wrap; 0 where the patch is of another pulley"
    LENGTH = "of the patch"
    LESS = "share of the friction that it lacks"


class ArmD(Places):
    """An arm's row of the table."""

    PULLEY = "number of its pulley"
    LOW = "angle of one stop [rad]"
    HIGH = "angle of the other [rad]"
    FIRST = "angle at which the tables of its spans begin [rad]"
    WIDTH = "their interval [rad]"
    INTERVALS = "their intervals"
    BENDS = "torque of the belt's bending on it [N.m]"
    BELT = "inertia of the belt that it moves, by the belt's mass per stretched length [m3]"


class SpanD(Places):
    """A span's row of the table."""

    ARM = "number of the arm that moves one of its ends, or -1"
    TABLE = "place of its table over the angle: P, P', turn and its derivative at each"


class DecouplerD(Places):
    """A decoupler's row of the table."""

    PULLEY = "number of its pulley"
    SENSE = "in which the pulley drives its shaft: 1 anticlockwise, -1 clockwise"


class BeltP(Rows):
    """Parameters of the belt; J, b and mu of the pulleys follow."""

    EA = Row("belt.EA", "N", "longitudinal stiffness of the belt", TINY, display="kN")
    M = Row("belt.m", "kg/m", "mass of the belt per unstretched length", 0.0)
    D = Row("belt.D", "N.s", "damping: force divided by rate of strain", 0.0, tunable=True)
    T_0 = Row("belt.T_0", "N", "tension of the spans of the drive that runs without load", TINY)
    V_START = Row("belt.v_start", "m/s", "speed of the belt at the start, in the order of the pulleys")


class ArmP(Rows):
    """Parameters of an arm."""

    J = Row("{pulley}.arm.J", "kg.m2", "moment of inertia of the arm of {pulley} about its pivot", TINY)
    K = Row("{pulley}.arm.K", "N.m/rad", "stiffness of the arm's spring", TINY)
    M_0 = Row("{pulley}.arm.M_0", "N.m",
              "torque of the arm's spring at the position of the unit file, anticlockwise positive")  # fmt: skip
    C = Row("{pulley}.arm.C", "N.m.s/rad", "viscous friction of the arm", 0.0, tunable=True)
    M_F = Row("{pulley}.arm.M_F", "N.m", "dry friction torque of the arm", 0.0, tunable=True)
    K_F = Row("{pulley}.arm.K_F", "N.m/rad", "stiffness of the arm's dry friction while it sticks", TINY)
    K_S = Row("{pulley}.arm.K_S", "N.m/rad", "stiffness of the arm's end stops", 0.0)
    C_S = Row("{pulley}.arm.C_S", "s/rad", "damping of the arm's end stops: relative rise of their torque per speed",
              0.0)  # fmt: skip


class DecouplerP(Rows):
    """Parameters of a decoupler."""

    J = Row("{pulley}.shaft.J", "kg.m2", "moment of inertia of the shaft after the decoupler of {pulley}", TINY)
    K = Row("{pulley}.decoupler.k", "N.m/rad", "stiffness of the decoupler's spring", TINY)
    C = Row("{pulley}.decoupler.c", "N.m.s/rad", "damping of the decoupler, in parallel with its spring", TINY)
    M_D = Row("{pulley}.decoupler.M_D", "N.m", "drag torque of the decoupler's clutch while the shaft overruns", 0.0,
              tunable=True)  # fmt: skip


PULLEY_J = Row("{pulley}.J", "kg.m2", "moment of inertia of pulley {pulley}", TINY)
PULLEY_B = Row("{pulley}.b", "N.m.s/rad", "viscous friction of pulley {pulley}", 0.0, tunable=True)
PULLEY_MU = Row("{pulley}.mu", "1", "friction coefficient of the belt on pulley {pulley}", 1e-3, tunable=True)

TORQUE_IN = Row("{pulley}.tau", "N.m", "torque into the drive at flange {pulley}{about}: tau w is power in",
                nominal=10.0)  # fmt: skip
SPEED_IN = Row.speed("{pulley}.w", "speed of flange {pulley}{about}, anticlockwise positive")
TORQUE_OUT = Row("{pulley}.tau", "N.m", "torque into the drive at flange {pulley}{about}", nominal=10.0)
SPEED_OUT = Row.speed("{pulley}.w", "speed of pulley {pulley}{about}, anticlockwise positive")
SHAFT_OUT = Row.speed("{pulley}.w", "speed of the shaft after the decoupler of {pulley}{about}, anticlockwise positive")
TENSION = Row("{pulley}_{after}.F", "N", "elastic tension of the span from {pulley} to {after}")


class Y(Rows):
    """Outputs of the whole drive."""

    V = Row("belt.v", "m/s", "speed of the belt in the order of the pulleys", nominal=10.0)
    E = Row("storage.E", "J", "energy stored in pulleys and belt", 0.0, nominal=10.0, display="kJ", books=STORED)
    CREEP = Row("loss.creep", "W", "power lost where the belt creeps and slips on the pulleys", 0.0, nominal=10.0,
                books=LOSS)  # fmt: skip
    SPAN = Row("loss.span", "W", "power lost in the damping of the spans", 0.0, nominal=1.0, books=LOSS)
    FRICTION = Row("loss.friction", "W", "power lost in viscous friction of the pulleys", 0.0, nominal=10.0, books=LOSS)
    LOAD = Row("loss.load", "W", "power of the loads of the unit file", nominal=100.0, books=LOSS)


class PulleyY(Rows):
    """Outputs of a pulley."""

    SLIP = Row("{pulley}.slip", "m/s", "slip: speed of the belt where it leaves {pulley}, less that of the rim",
               nominal=0.1)  # fmt: skip
    USE = Row("{pulley}.use", "1", "utilisation of friction on {pulley}: force divided by capacity; full slip at 1",
              0.0, nominal=1.0)  # fmt: skip
    F_X = Row("{pulley}.F_x", "N", "force of the belt on {pulley}, x component", nominal=1e3)
    F_Y = Row("{pulley}.F_y", "N", "force of the belt on {pulley}, y component", nominal=1e3)
    N = Row("{pulley}.N", "N", "sum of the normal forces between belt and {pulley} along the wrap", nominal=1e3)


GIVEN_SPEED = Row.speed("{pulley}.w_pulley", "speed of pulley {pulley}, anticlockwise positive")


class GivenX(Rows):
    """States of a flange whose speed is given."""

    W = Row("{pulley}.w_in", "rad/s", "speed of flange {pulley} that was given last", nominal=100.0)
    S = Row("{pulley}.slope", "rad/s2", "rate of the speed given for flange {pulley}", nominal=1e3)
    A = Row("{pulley}.a", "rad/s2", "acceleration of pulley {pulley}", nominal=1e3)


class ArmX(Rows):
    """States of an arm."""

    THETA = Row("{pulley}.arm.theta", "rad", "angle of the arm of {pulley} from its position in the unit file",
                nominal=0.1)  # fmt: skip
    W = Row("{pulley}.arm.w", "rad/s", "speed of the arm of {pulley}", nominal=1.0)
    M = Row("{pulley}.arm.M", "N.m", "dry friction torque of the arm of {pulley}", nominal=1.0)


class ArmY(Rows):
    """Outputs of an arm."""

    THETA = Row("{pulley}.theta", "rad", "angle of the arm of {pulley} from its position in the unit file", nominal=0.1,
                display="deg")  # fmt: skip
    W = Row("{pulley}.w_arm", "rad/s", "speed of the arm of {pulley}", nominal=1.0)
    M = Row("{pulley}.M_friction", "N.m", "dry friction torque of the arm of {pulley}", nominal=1.0)
    M_S = Row("{pulley}.M_stop", "N.m", "torque of the end stops on the arm of {pulley}", nominal=1.0)


class DecouplerX(Rows):
    """States of a decoupler."""

    W = Row("{pulley}.shaft.w", "rad/s", "speed of the shaft after the decoupler of {pulley}", nominal=100.0)
    TWIST = Row("{pulley}.decoupler.twist", "rad", "twist of the spring of the decoupler of {pulley}", nominal=0.1)


class DecouplerY(Rows):
    """Outputs of a decoupler."""

    W = Row.speed("{pulley}.w_pulley", "speed of pulley {pulley}, anticlockwise positive")
    TWIST = Row("{pulley}.twist", "rad", "twist of the spring of the decoupler of {pulley}", nominal=0.1, display="deg")
    M = Row("{pulley}.M_decoupler", "N.m", "torque of the decoupler of {pulley}, positive where the pulley drives",
            nominal=10.0)  # fmt: skip


FREQUENCY = Row("{pulley}_{after}.f_1", "Hz", "first transverse natural frequency of the span from {pulley} to {after}",
                0.0, nominal=100.0)  # fmt: skip


class ResonanceY(Rows):
    """Outputs of a span that engine orders may meet."""

    ORDER = Row(
        "{pulley}_{after}.order", "1", "engine order in resonance with the first transverse mode of the span; 0: none",
        0.0, nominal=1.0,
    )  # fmt: skip
    GAIN = Row(
        "{pulley}_{after}.gain", "1",
        "transverse amplitude of the span divided by that of its end that moves with an order",
        1.0, nominal=1.0,
    )  # fmt: skip


SWING = Row("{pulley}_{after}.swing", "m", "transverse amplitude of the span where its ends have the run-out", 0.0,
            nominal=1e-3, display="mm")  # fmt: skip
DISPLACEMENT = Row(
    "{pulley}_{after}.x", "m", "lateral displacement of the middle of the span, to the left of its direction", 0.0,
    nominal=1e-3, display="mm",
)  # fmt: skip
DECOUPLER_LOSS = Row("loss.decoupler", "W", "power lost in dampers and clutches of the decouplers", 0.0, nominal=1.0,
                     books=LOSS)  # fmt: skip
ARM_LOSS = Row("loss.arm", "W", "power lost in friction and end stops of the tensioner arms", 0.0, nominal=1.0,
               books=LOSS)  # fmt: skip

N_GIVEN, N_RIM, N_RESONANCE, N_PATCH = len(GivenX), len(Rim), len(ResonanceY), len(PatchD)
N_ARM_Y, N_DECOUPLER_Y = len(ArmY), len(DecouplerY)

SLIDING_SPEED = Row("{pulley}.v_slide", "m/s", "sliding speed that the friction coefficient on {pulley} depends on",
                    0.0, nominal=1.0)  # fmt: skip
PATCH_WAY = Row("patch.{k}.way", "1", "way of patch {k}, in turns of the belt or of its pulley", nominal=1.0)
TURNED = Row("{pulley}.turned", "rad", "angle of pulley {pulley}", 0.0, nominal=1.0)
LAST_TENSION = Row("{pulley}_{after}.T_last", "N", "tension of the span after the last step", 0.0, nominal=1e3)
MODE = Row("{pulley}_{after}.y_{k}", "m", "displacement of mode {k} of the span across", 0.0, nominal=1e-3)
MODE_RATE = Row("{pulley}_{after}.y_rate_{k}", "m/s", "speed of mode {k} of the span across", 0.0, nominal=1.0)
SPAN_LENGTH = Row("{pulley}_{after}.l", "m", "unstretched length of the span from {pulley} to {after}")
CELL_LENGTH = Row("{after}.l_{k}", "m", "unstretched length of cell {k} on {after}")
PULLEY_SPEED = Row("{pulley}.w", "rad/s", "speed of pulley {pulley}", nominal=100.0)
FLOW = Row("belt.q", "m/s", "mean flow of unstretched belt length", nominal=10.0)
BELT_SPEED = Row("belt.v", "m/s", "speed of the belt", nominal=10.0)
