"""Real-time kernels of a law: they execute a list of operations from the constants of the unit.

A law is a controller in discrete time. With inputs u, states x and the interval h between two samples::

    y_k = g(t_k, x_k, u_k),        x_(k+1) = f(t_k, h, x_k, u_k)

Without a sample time each internal step is a sample, and the outputs follow the inputs at once. With a sample time T
the outputs are constant between the samples: a sample is made at the start and then at the first internal step that
begins at least T after the one before, on average each T. `derivative` is ``(x_(k+1) - x_k)/h``.

The registers in ``work`` are time and interval, parameters, inputs, states, constants, and one for the result of each
operation. Operations that follow from parameters alone are executed by `initialise`.
"""

import math

from rtcvt.engine.grid import lookup
from rtcvt.kernel import FAILED, OK, kernel
from rtcvt.model.places import entry
from rtcvt.model.stepping import HUGE, enter, leave
from rtcvt.numerics.elementary import cos, exp, log, sin
from rtcvt.table import Places

DUE = 1e-6  # share of the sample time below which a sample is due


class Op(Places):
    """Operations on the registers a, b and c."""

    ADD = "a + b"
    SUBTRACT = "a - b"
    MULTIPLY = "a b"
    DIVIDE = "a/b"
    SMALLER = "smaller of a and b"
    LARGER = "larger of a and b"
    BELOW = "1 if a < b, else 0"
    AT_MOST = "1 if a <= b, else 0"
    CHOOSE = "b if a is above 1/2, else c"
    LOOKUP = "the table at place c of the constants at a and b"
    NEGATE = "-a"
    ROOT = "square root of a"
    SINE = "sin a"
    COSINE = "cos a"
    EXPONENTIAL = "exp a"
    LOGARITHM = "ln a"


class Instruction(Places):
    """An operation in the constants."""

    OP = "operation"
    A = "register"
    B = "register"
    C = "register, or the place of a table"


class D(Places):
    """Header of the constants."""

    INTERNAL_STEP = "largest internal step [s]"
    SAMPLE = "sample time [s], 0 without"
    N_P = "parameters"
    N_U = "inputs"
    N_S = "states of the law"
    N_X = "all states: with a sample time the held outputs and the time to the next sample, too"
    N_Y = "outputs"
    N_START = "operations that follow from parameters alone"
    N_VALUES = "these and the operations of the outputs"
    N_CODE = "all operations"
    CODE = "table: operations"
    N_CONSTANTS = "constants"
    CONSTANTS = "table: constants"
    START = "table: registers of the start values"
    NEXT = "table: registers of the next states"
    OUTPUT = "table: registers of the outputs"
    TIME = "register of the time; that of the interval follows"
    PARAMETERS = "first register of the parameters"
    INPUTS = "of the inputs"
    STATES = "of the states"
    NUMBERS = "of the constants"
    RESULTS = "of the results"
    REGISTERS = "registers", lambda d: d.RESULTS + d.N_CODE + d.N_S  # the latter for laws in Python
    SAVED = "states before a step", lambda d: d.N_X
    NEW = "outputs of a step", lambda d: d.N_Y
    FOLLOWING = "next states", lambda d: d.N_S


@kernel
def instruction(k, part, data):
    """Place of a part of operation `k`."""
    return entry(D.CODE, data) + k * 4 + part


@kernel
def register(table, i, data):
    """Register at place `i` of a table."""
    return entry(entry(table, data) + i, data)


@kernel
def execute(first, last, data, r):
    """Operations from `first` up to, not including, `last`."""
    result = entry(D.RESULTS, data)
    for k in range(first, last):
        op = entry(instruction(k, Instruction.OP, data), data)
        a = r[entry(instruction(k, Instruction.A, data), data)]
        b = r[entry(instruction(k, Instruction.B, data), data)]
        c = entry(instruction(k, Instruction.C, data), data)
        value = 0.0
        if op == Op.ADD:
            value = a + b
        elif op == Op.SUBTRACT:
            value = a - b
        elif op == Op.MULTIPLY:
            value = a * b
        elif op == Op.DIVIDE:
            value = a / b
        elif op == Op.SMALLER:
            value = a if a < b else b
        elif op == Op.LARGER:
            value = a if a > b else b
        elif op == Op.BELOW:
            value = 1.0 if a < b else 0.0
        elif op == Op.AT_MOST:
            value = 1.0 if a <= b else 0.0
        elif op == Op.CHOOSE:
            value = b if a > 0.5 else r[c]
        elif op == Op.LOOKUP:
            value = lookup(data, c, a, b)
        elif op == Op.NEGATE:
            value = -a
        elif op == Op.ROOT:
            value = math.sqrt(a)
        elif op == Op.SINE:
            value = sin(a)
        elif op == Op.COSINE:
            value = cos(a)
        elif op == Op.EXPONENTIAL:
            value = exp(a)
        else:
            value = log(a)
        r[result + k] = value


@kernel
def load(t, h, x, u, data, r):
    """Write time, interval, inputs and states to their registers."""
    r[entry(D.TIME, data)] = t
    r[entry(D.TIME, data) + 1] = h
    for i in range(entry(D.N_U, data)):
        r[entry(D.INPUTS, data) + i] = u[i]
    for i in range(entry(D.N_S, data)):
        r[entry(D.STATES, data) + i] = x[i]


@kernel
def interval(data):
    """h: time between two samples [s], at most."""
    return data[D.SAMPLE] if data[D.SAMPLE] > 0.0 else data[D.INTERNAL_STEP]


@kernel
def values(t, h, x, u, p, data, y, r):
    """Outputs at a sample."""
    load(t, h, x, u, data, r)
    execute(entry(D.N_START, data), entry(D.N_VALUES, data), data, r)
    for i in range(entry(D.N_Y, data)):
        y[i] = r[register(D.OUTPUT, i, data)]


@kernel
def following(t, h, x, u, p, data, y, new, r):
    """Outputs, and states at the next sample; returns the status."""
    load(t, h, x, u, data, r)
    execute(entry(D.N_START, data), entry(D.N_CODE, data), data, r)
    for i in range(entry(D.N_Y, data)):
        y[i] = r[register(D.OUTPUT, i, data)]
    for i in range(entry(D.N_S, data)):
        new[i] = r[register(D.NEXT, i, data)]
    return OK


@kernel
def begin(p, data, u, x, r):
    """Start state from the start values; returns the status."""
    execute(0, entry(D.N_START, data), data, r)
    for i in range(entry(D.N_S, data)):
        x[i] = r[register(D.START, i, data)]
    return OK


@kernel
def initialise(p, data, u, x, work):
    """Write parameters and constants to their registers, then the start values; fails if one is no number."""
    r = work[entry(D.REGISTERS, data) : entry(D.SAVED, data)]
    for i in range(entry(D.N_P, data)):
        r[entry(D.PARAMETERS, data) + i] = p[i]
    for i in range(entry(D.N_CONSTANTS, data)):
        r[entry(D.NUMBERS, data) + i] = data[entry(D.CONSTANTS, data) + i]
    if begin(p, data, u, x, r) == FAILED:
        return FAILED
    n = entry(D.N_S, data)
    if data[D.SAMPLE] > 0.0:
        values(0.0, data[D.SAMPLE], x, u, p, data, x[n : n + entry(D.N_Y, data)], r)
        x[n + entry(D.N_Y, data)] = 0.0
    for i in range(entry(D.N_X, data)):
        if not abs(x[i]) < HUGE:
            return FAILED
    return OK


@kernel
def derivative(t, x, u, p, data, dx, work):
    """``(x_(k+1) - x_k)/h``; 0 for held outputs."""
    r = work[entry(D.REGISTERS, data) : entry(D.SAVED, data)]
    h = interval(data)
    y = work[entry(D.NEW, data) : entry(D.FOLLOWING, data)]
    new = work[entry(D.FOLLOWING, data) : entry(D.FOLLOWING, data) + entry(D.N_S, data)]
    following(t, h, x, u, p, data, y, new, r)
    for i in range(entry(D.N_X, data)):
        dx[i] = 0.0
    for i in range(entry(D.N_S, data)):
        dx[i] = (new[i] - x[i]) / h


@kernel
def is_due(x, data):
    """Whether a sample is due."""
    if data[D.SAMPLE] > 0.0:
        return x[entry(D.N_S, data) + entry(D.N_Y, data)] <= DUE * data[D.SAMPLE]
    return True


@kernel
def output(t, x, u, p, data, y, work):
    """Outputs: as they are held, or at a sample."""
    if is_due(x, data):
        values(t, interval(data), x, u, p, data, y, work[entry(D.REGISTERS, data) : entry(D.SAVED, data)])
    else:
        for i in range(entry(D.N_Y, data)):
            y[i] = x[entry(D.N_S, data) + i]


@kernel
def advance(t, h, x, u, p, data, work):
    """One internal step in place; returns the status."""
    status = OK
    r = work[entry(D.REGISTERS, data) : entry(D.SAVED, data)]
    n = entry(D.N_S, data)
    new = work[entry(D.FOLLOWING, data) : entry(D.FOLLOWING, data) + n]
    due = n + entry(D.N_Y, data)
    if data[D.SAMPLE] == 0.0:
        status = following(t, h, x, u, p, data, work[entry(D.NEW, data) : entry(D.FOLLOWING, data)], new, r)
        for i in range(n):
            x[i] = new[i]
    else:
        if is_due(x, data):
            status = following(t, data[D.SAMPLE], x, u, p, data, x[n:due], new, r)
            for i in range(n):
                x[i] = new[i]
            x[due] += data[D.SAMPLE]
        x[due] = x[due] - h if x[due] > h else 0.0
    return status


@kernel
def step(t, h, x, u, p, data, y, work):
    """One communication step in the fewest equal internal steps that are not above the law's own."""
    n_x = entry(D.N_X, data)
    n_y = entry(D.N_Y, data)
    saved = work[entry(D.SAVED, data) : entry(D.NEW, data)]
    steps = enter(t, h, data[D.INTERNAL_STEP], entry(D.N_U, data), u, n_x, x, saved)
    if steps == 0:
        return FAILED
    worst = OK
    for k in range(steps):
        status = advance(t + k * (h / steps), h / steps, x, u, p, data, work)
        worst = status if status > worst else worst
    new = work[entry(D.NEW, data) : entry(D.FOLLOWING, data)]
    output(t + h, x, u, p, data, new, work)
    if leave(worst < FAILED, n_x, x, saved, n_y, new, y) == FAILED:
        return FAILED
    return worst
