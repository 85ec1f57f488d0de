"""Tables of an observer.

States: the drifting quantities, the states of the unit, the lower triangle of the factor S row by row, the standard
deviations of the estimates without the model's own, the estimated noise of inputs, then `Window`. Inputs: those of the
unit that do not drift, then the measured values. Outputs: estimates, their standard deviations in the same order, then
`Y`. Parameters are the unit's.
"""

from rtcvt.table import Places, Row, Rows


class D(Places):
    """Header of the constants."""

    STEP = "largest internal step of the unit [s]"
    DATA = "place of the unit's constants"
    N_DATA = "their number"
    PREPARES = "1 if the unit's scratch depends on its parameters"
    DRIFTING = "drifting quantities"
    PARAMETERS = "drifting parameters, which come first"
    DRIFT = "table: `Drift` of each"
    N_Z = "drifting quantities and states of the unit"
    SCALES = "table: `Scale` of each of these"
    NOISY = "noisy inputs of the unit"
    NOISE = "table: `Noise` of each"
    N_FREE = "inputs of the unit that do not drift"
    FREE = "table: places of these among the unit's inputs"
    N_MEASURED = "measured outputs"
    N_ROWS = "rows of the factor: N_Z, measured outputs, estimated outputs"
    N_ALL = "these and the noisy inputs"
    OUTPUTS = "table: place among the unit's outputs of each row after N_Z"
    DEVIATIONS = "table: standard deviation of each measured output"
    OWN = "table: `Own` of each estimated output"
    N_COLUMNS = "columns of the factor: N_Z, noisy inputs, measured outputs, walks"
    NEGLECTED = "share of every standard deviation up to which a column of the factor stands still"
    N_ESTIMATES = "estimates: N_Z and estimated outputs"
    SAMPLES = "steps in a window of the innovation test"
    W_P = "parameters of the unit", lambda d: d.N_P
    N_P = "their number"
    W_U = "inputs of the unit", lambda d: d.N_U
    N_U = "their number"
    W_X = "states of the unit", lambda d: d.N_X
    N_X = "their number"
    W_START = "its start state, which preparing it gives", lambda d: d.N_X
    N_START = "their number"
    W_Y = "outputs of the unit", lambda d: d.N_Y
    N_Y = "their number"
    W_PART = "scratch of the unit", lambda d: d.N_PART
    N_PART = "its size"
    W_S = "factor after the step, row by row", lambda d: d.N_ALL * d.N_COLUMNS
    W_VALUE = "values of the rows", lambda d: d.N_ALL
    W_SAVED = "state before the step", lambda d: d.N_OWN_X
    N_OWN_X = "states of the observer"
    W_NEW = "new outputs", lambda d: d.N_OWN_Y
    N_OWN_Y = "outputs of the observer"


class Drift(Places):
    """A drifting quantity."""

    PLACE = "among the unit's parameters or inputs"
    LOW = "least value"
    HIGH = "greatest value"
    START = "of an input; that of a parameter is the parameter"


class Scale(Places):
    """What is not known of a drifting quantity or a state."""

    DEVIATION = "at the start"
    RATE = "of the random walk [1/sqrt(s)]"
    WIDEST = "largest deviation"
    MODEL = "the model's own deviation, constant"
    SHARE = "of a correction that is made"


class Noise(Places):
    """A noisy input."""

    PLACE = "among the unit's inputs"
    DEVIATION = "in each step"


class Own(Places):
    """The model's own standard deviation of an estimated output."""

    PLACE = "among the unit's outputs, or -1"
    FACTOR = "that it is multiplied by"


class Window(Rows):
    """States of the innovation test, the last ones."""

    SUM = Row("innovation.sum", "1", "sum of squares in this window", nominal=1.0)
    STEPS = Row("innovation.steps", "1", "steps in this window", nominal=1.0)
    LAST = Row("innovation.chi2", "1", "mean square in the last window", nominal=1.0)
    FAILED = Row("innovation.failed", "1", "1 if the test failed in the last window", nominal=1.0)


class Y(Rows):
    """Outputs after the estimates and their standard deviations."""

    CHI2 = Row("innovation.chi2", "1", "mean square of the normalised innovations of the last window, about 1", 0.0,
        nominal=1.0)  # fmt: skip
    INCONSISTENT = Row.flag("status.inconsistent", "the measurements contradict the unit: above the 99.9 % quantile")


MEASURED = "measured."
ESTIMATE = "estimate."
DEVIATION = "deviation."
SPREAD = Row("deviation.{name}", "1", "standard deviation of {name} without the model's own", nominal=1.0)
FACTOR = Row("factor[{i},{j}]", "1", "root of the covariance, row of {name}", nominal=1.0)
WINDOW_SIZE = len(Window)
