"""Table of a network: places of the numbers of its parts.

State vector: states of the parts with connected flanges; twists of the shafts; the unknowns of the nodes, that is the
torque into each flange that gives its speed, then the speed of each node that is not ground; states of the other parts.
Parameters, constants and outputs are those of the parts, one after another; then those of the shafts and outputs at the
flanges. Inputs of the parts are in ``work``, since some of them are inputs of the network, others come from a node or a
signal.
"""

from rtcvt.model import Books
from rtcvt.table import STORED, Places, Row, Rows


class D(Places):
    """Header of the constants."""

    PARTS = "parts"
    COUPLED = "those with connected flanges, which come first"
    N_D = "their states and those of the shafts"
    N_Z = "these and the unknowns of the nodes"
    N_X = "states"
    N_U = "inputs"
    N_Y = "outputs"
    N_Y_PARTS = "outputs of the parts"
    N_IN = "inputs of the parts"
    INTERNAL_STEP = "largest internal step [s]"
    PART = "table: `Part` of each"
    ENDS = "connected flanges"
    END = "table: `End` of each"
    SHAFTS = "shafts"
    SHAFT = "table: `Shaft` of each"
    N_MASSLESS = "nodes whose flanges all have a speed as input"
    MASSLESS = "table: places of their speeds in the state vector"
    INPUT = "table: place in work of the part's input, for each input"
    OPS = "operations that carry the signals"
    OP = "table: `Op`, two places: output and place in work, or part and 1 if its costly outputs come later"
    SCALE = "table: typical value of each state of the block, and of each equation"
    COARSES = "outputs that report a step that is too coarse"
    COARSE = "table: their places, the last one that of the network"
    LIMITS = "Boolean outputs that report a limit"
    LIMIT = "table: their places"
    W_IN = "inputs of the parts", lambda d: d.N_IN
    W_PARTS = "scratch of the parts", lambda d: d.N_PARTS_WORK
    N_PARTS_WORK = "scratch of the parts: size"
    W_Y = "new outputs", lambda d: d.N_Y
    W_SAVED = "state before a communication step", lambda d: d.N_X
    W_KNOWN = "time, states and inputs at which the signals are carried", lambda d: 1 + d.N_X + d.N_IN
    W_HELD = "inputs of the parts before an internal step", lambda d: d.N_IN
    W_START = "states of the block before an internal step", lambda d: d.N_Z
    W_DX = "rates, and residuals at the nodes", lambda d: d.N_X
    W_PIECE = "pieces at the start", lambda d: d.PARTS
    W_K = "three increments", lambda d: 3 * d.N_Z
    W_JAC = "df/dx of the parts", lambda d: d.N_JAC
    N_JAC = "its size"
    W_ENDS = "row and column of each flange", lambda d: d.N_ENDS
    N_ENDS = "their size"
    W_FACTORS = "factored matrices of the parts", lambda d: d.N_FACTORS
    N_FACTORS = "their size"
    W_BORDER = "derivative of the border", lambda d: d.N_B * d.N_B
    N_B = "twists of the shafts and unknowns of the nodes"
    W_PIVOT = "pivots of the border", lambda d: d.N_B
    W_COARSE = "1 if an internal step is too coarse", lambda d: 1
    W_SIZE = "size of the torques at a node", lambda d: 1
    W_FREE = "whether the speed of such a node has no bearing on its torques", lambda d: d.N_MASSLESS


class Part(Places):
    """A part."""

    KERNELS = "which of the network's kernels"
    X = "place of its states"
    N_X = "how many"
    IN = "place in work: its inputs"
    N_IN = "how many"
    P = "place of its parameters"
    N_P = "how many"
    DATA = "place of its constants"
    N_DATA = "how many"
    Y = "place of its outputs"
    N_Y = "how many"
    WORK = "place in work: its scratch"
    N_WORK = "how much"
    JAC = "place in work: its df/dx"
    N_JAC = "its size"
    FACTORS = "place in work: memory of `rtcvt.numerics.linalg.core_lu`"


class End(Places):
    """A connected flange."""

    PART = "its part"
    K = "its input"
    Y = "its output"
    SIGN = "torque into the part by the input, for a torque as input; 0 for a speed as input"
    Z = "place of its torque in the state vector, for a flange with a torque as input"
    W = "place of its node's speed in the state vector, or -1 at ground"
    ROW = "place in work: how its output follows from the states of its part; then how these follow from its input"


class Shaft(Places):
    """A shaft, a spring with a damper."""

    X = "place of its twist"
    A = "place of the speed of its first node in the state vector, or -1 at ground"
    B = "of its second node"
    P = "place of its stiffness; its damping follows"


class Op(Places):
    """Operations that a signal needs."""

    OUTPUT = "outputs of a part"
    CHEAP_OUTPUT = "outputs of a part but the costly ones, whose turn comes at the end of a step"
    LAST = "the same, at the end of a step only: no signal begins there"
    COPY = "from an output to an input"


class ShaftP(Rows):
    """Parameters of a shaft."""

    K = Row("{shaft}.K", "N.m/rad", "stiffness of shaft {shaft}", 1e-9)
    D = Row("{shaft}.d", "N.m.s/rad", "damping of shaft {shaft}", 0.0, tunable=True)


class ShaftX(Rows):
    """States of a shaft."""

    PHI = Row("{shaft}.phi", "rad", "twist of shaft {shaft}", nominal=0.1)


class ShaftY(Rows):
    """Outputs of a shaft."""

    TAU = Row("{shaft}.tau", "N.m", "torque of shaft {shaft}, into it at its first end", nominal=100.0)
    PHI = Row("{shaft}.phi", "rad", "twist of shaft {shaft}", nominal=0.1)
    E = Row("{shaft}.E", "J", "energy stored in shaft {shaft}", 0.0, nominal=10.0, books=STORED)
    LOSS = Row("{shaft}.loss", "W", "power lost in shaft {shaft}", 0.0, nominal=10.0, books=Books.LOSS)


N_SHAFT_Y = len(ShaftY)
