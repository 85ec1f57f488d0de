"""Square-root Kalman filter around the step of a unit as real-time kernels.

The state z has drifting parameters and inputs q, then the states x of the unit; S is lower triangular and ``S S'`` the
covariance. A step of the unit gives ``F(z, v)`` and its outputs ``G(z, v)``, where v is white noise of inputs with
standard deviations r_v. One step of the filter is

1. **Prediction.** Rows of z and of all outputs of interest form one vector ``w = (F, G)``. Its factor has the columns
   ``W_j = (w(z + a s_j) - w(z))/a`` along the columns s_j of S, and the same along each noise v: one step of the unit
   for each column, with no Jacobian and no product of matrices. For a = 1 this is the first-order filter of Norgaard,
   Poulsen and Ravn 2000; small a give the extended Kalman filter. A column below the share `NEGLECTED` of every
   standard deviation, as of a state that follows others at once, is kept as it is.
2. **Correction.** Measured values one by one (Joseph's form of the update, Bierman, *Factorization Methods for Discrete
   Sequential Estimation*, 1977, ch. II): with f the row of the value in W and r its standard deviation::

       alpha = f f' + r^2,   K = beta W f'/alpha
       w <- w + K (measured - w_k),   W <- [W - K f, K r]

   Outputs and v are rows of W, so their standard deviations follow without more work. The shares beta are 1 or less,
   where the laws err in a way that does not average out, and where the derivative changes with the estimate: either
   would let a full filter know a quantity too well (partial-update Schmidt-Kalman filter of Brink 2017). The covariance
   of z is right for any beta; outputs have the deviations of a full step.
3. **Walk.** With the random walks ``[W_z, diag(rate sqrt(h))]`` is reduced to the lower triangle S by Householder's
   reflections. A drifting quantity returns to its start value q_0, so that without measurements its deviation is that
   at the start, sigma: ``q <- q_0 + c (q - q_0)`` with ``c = exp(-h rate^2/(2 sigma^2))`` in the prediction, and the
   walk is ``sigma sqrt(1 - c^2)``, which is rate sqrt(h) in short times (Gauss-Markov process).

**Innovation test.** ``(measured - w_k)^2/alpha`` are independent and have the mean 1. In a window of n values their sum
is compared with the 99.9 % quantile of chi2 by Wilson and Hilferty 1931, ``n (1 - 2/(9 n) + 3.09 sqrt(2/(9 n)))^3``.

Standard deviations grow up to a largest one. `part_initialise`, `part_output` and `part_step` are those of the unit.
"""

import math

from rtcvt.kernel import FAILED, OK, kernel
from rtcvt.model.accessors import row
from rtcvt.model.places import end_of, entry
from rtcvt.model.stepping import enter, leave
from rtcvt.numerics.elementary import clip, exp
from rtcvt.observer.layout import WINDOW_SIZE, D, Drift, Noise, Own, Scale, Window, Y

MOVE = 1e-2  # a: share of a standard deviation by which the unit is moved
PREPARE, EVALUATE, ADVANCE = 0, 1, 2  # what `run` does
QUANTILE = 3.09  # of the normal distribution, 99.9 %


# --- unit -------------------------------------------------------------------------------------------------------------


@kernel
def part_initialise(p, data, u, x, work):
    """Of the unit."""
    return OK


@kernel
def part_output(t, x, u, p, data, y, work):
    """Of the unit."""


@kernel
def part_step(t, h, x, u, p, data, y, work):
    """Of the unit."""
    return OK


# --- filter -----------------------------------------------------------------------------------------------------------


@kernel
def at(i, j, n_z):
    """Place in the state of an entry of the factor, j <= i."""
    return n_z + int(0.5 * i * (i + 1)) + j


@kernel
def run(what, t, h, data, work):
    """`PREPARE`, `EVALUATE` or `ADVANCE` the unit at the place of `place_at`; returns its status."""
    own_p = work[entry(D.W_P, data) : end_of(D.W_P, data)]
    own_u = work[entry(D.W_U, data) : end_of(D.W_U, data)]
    own_x = work[entry(D.W_X, data) : end_of(D.W_X, data)]
    own_start = work[entry(D.W_START, data) : end_of(D.W_START, data)]
    own_y = work[entry(D.W_Y, data) : end_of(D.W_Y, data)]
    own_work = work[entry(D.W_PART, data) : end_of(D.W_PART, data)]
    own_data = data[entry(D.DATA, data) : end_of(D.DATA, data)]
    if what == PREPARE:
        return part_initialise(own_p, own_data, own_u, own_start, own_work)
    if what == ADVANCE:
        return part_step(t, h, own_x, own_u, own_p, own_data, own_y, own_work)
    part_output(t, own_x, own_u, own_p, own_data, own_y, own_work)
    return OK


@kernel
def place_at(j, size, h, x, u, p, data, work):
    """Parameters, inputs and states of the unit at the estimate, moved by `size` along column `j` of the factor.

    Drifting quantities are those after a return of `h` [s].
    """
    w_p = entry(D.W_P, data)
    w_u = entry(D.W_U, data)
    n_z = entry(D.N_Z, data)
    n_q = entry(D.DRIFTING, data)
    for i in range(entry(D.N_P, data)):
        work[w_p + i] = p[i]
    for i in range(entry(D.N_FREE, data)):
        work[w_u + entry(entry(D.FREE, data) + i, data)] = u[i]
    for i in range(n_z):
        value = x[i]
        c = 1.0
        if i < n_q:
            c = kept(i, h, data)
            value = clip(value, data[drift(i, data) + Drift.LOW], data[drift(i, data) + Drift.HIGH])
            value = start_of(i, p, data) + c * (value - start_of(i, p, data))
        if j <= i:
            value += size * c * x[at(i, j, n_z)]
        work[place_of(i, data)] = value
    if j >= n_z:
        work[noisy(j - n_z, data)] += size * data[noise(j - n_z, data) + Noise.DEVIATION]


noise = row("noise", D.NOISE, Noise)  # place of the record of a noisy input
own = row("own", D.OWN, Own)  # place of the model's own standard deviation of an estimated output
scale = row("scale", D.SCALES, Scale)  # place of what is not known of a drifting quantity or a state
drift = row("drift", D.DRIFT, Drift)  # place of the record of a drifting quantity


@kernel
def noisy(k, data):
    """Place in work of a noisy input."""
    return entry(D.W_U, data) + entry(noise(k, data) + Noise.PLACE, data)


@kernel
def place_of(i, data):
    """Place in work of row `i`: a drifting quantity, a state or an output of the unit."""
    n_z = entry(D.N_Z, data)
    n_q = entry(D.DRIFTING, data)
    if i >= n_z:
        return entry(D.W_Y, data) + entry(entry(D.OUTPUTS, data) + i - n_z, data)
    if i >= n_q:
        return entry(D.W_X, data) + i - n_q
    first = entry(D.W_P, data) if i < entry(D.PARAMETERS, data) else entry(D.W_U, data)
    return first + entry(drift(i, data) + Drift.PLACE, data)


@kernel
def moved(what, j, size, t, h, x, u, p, data, work):
    """Run the unit from a moved place, after a preparation where a parameter differs from that of the run before."""
    place_at(j, size, h, x, u, p, data, work)
    if what == EVALUATE:  # with the noise as it was estimated
        for k in range(entry(D.NOISY, data)):
            work[noisy(k, data)] += x[at(entry(D.N_Z, data), entry(D.N_ESTIMATES, data) + k, entry(D.N_Z, data))]
    changed = data[D.PREPARES] == 1.0 and j <= entry(D.PARAMETERS, data)
    if changed and run(PREPARE, t, h, data, work) == FAILED:
        return FAILED
    return run(what, t, h, data, work)


@kernel
def predict(what, t, h, x, u, p, data, work):
    """Values and factor of w after a step, or of the outputs at once; returns the unit's status."""
    n_z = entry(D.N_Z, data)
    columns = entry(D.N_COLUMNS, data)
    w_s = entry(D.W_S, data)
    w_value = entry(D.W_VALUE, data)
    status = moved(what, 0, 0.0, t, h, x, u, p, data, work)
    if status == FAILED:
        return FAILED
    for i in range(entry(D.N_ROWS, data)):
        work[w_value + i] = work[place_of(i, data)]
    for i in range(entry(D.N_ALL, data) * columns):
        work[w_s + i] = 0.0
    for k in range(entry(D.NOISY, data)):
        row = entry(D.N_ROWS, data) + k
        work[w_value + row] = 0.0
        work[w_s + row * columns + n_z + k] = data[noise(k, data) + Noise.DEVIATION]
    for j in range(n_z + entry(D.NOISY, data)):
        size = MOVE
        good = FAILED
        if counts(j, x, data):
            good = moved(what, j, size, t, h, x, u, p, data, work)
            if good == FAILED:  # the other way
                size = -MOVE
                good = moved(what, j, size, t, h, x, u, p, data, work)
        if good != FAILED:
            for i in range(entry(D.N_ROWS, data)):
                work[w_s + i * columns + j] = (work[place_of(i, data)] - work[w_value + i]) / size
        else:  # as if this part of the state stood still
            for i in range(j, n_z):
                work[w_s + i * columns + j] = x[at(i, j, n_z)]
    return status


@kernel
def counts(j, x, data):
    """Whether a column of the factor has more than the neglected share of a standard deviation, or is noise."""
    n_z = entry(D.N_Z, data)
    for i in range(j, n_z):
        if abs(x[at(i, j, n_z)]) > data[D.NEGLECTED] * x[at(n_z, i, n_z)]:
            return True
    return j >= n_z


@kernel
def kept(i, h, data):
    """c: what is kept of the distance of a drifting quantity from its start value."""
    ratio = data[scale(i, data) + Scale.RATE] / data[scale(i, data) + Scale.DEVIATION]
    return exp(-0.5 * h * ratio * ratio)


@kernel
def start_of(i, p, data):
    """Start value of a drifting quantity."""
    if i < entry(D.PARAMETERS, data):
        return p[entry(drift(i, data) + Drift.PLACE, data)]
    return data[drift(i, data) + Drift.START]


@kernel
def correct(k, value, data, work):
    """Joseph's update by the measured value `k`; returns the square of its normalised innovation."""
    n_z = entry(D.N_Z, data)
    columns = entry(D.N_COLUMNS, data)
    w_s = entry(D.W_S, data)
    w_value = entry(D.W_VALUE, data)
    row = n_z + k
    f = w_s + row * columns
    used = n_z + entry(D.NOISY, data) + k  # later columns are still zero
    r = data[entry(D.DEVIATIONS, data) + k]
    length = norm(f, used, work)
    alpha = length * length + r * r
    innovation = value - work[w_value + row]
    for i in range(entry(D.N_ALL, data)):
        gain = 0.0
        for j in range(used):
            gain += work[w_s + i * columns + j] * work[f + j]
        gain /= alpha
        if i < n_z:
            gain *= data[scale(i, data) + Scale.SHARE]
        work[w_value + i] += gain * innovation
        work[w_s + i * columns + used] = gain * r
        if i != row:
            for j in range(used):
                work[w_s + i * columns + j] -= gain * work[f + j]
    for j in range(used):
        work[f + j] *= r * r / alpha
    return innovation / alpha * innovation


@kernel
def norm(first, n, work):
    """Root of the sum of squares of `n` numbers."""
    total = 0.0
    for j in range(n):
        total += work[first + j] * work[first + j]
    return math.sqrt(total)


@kernel
def walk(h, x, data, work):
    """Add the random walks, and reduce the factor of z to a lower triangle in the state, within its bounds."""
    n_z = entry(D.N_Z, data)
    columns = entry(D.N_COLUMNS, data)
    w_s = entry(D.W_S, data)
    column = n_z + entry(D.NOISY, data) + entry(D.N_MEASURED, data)
    for i in range(n_z):
        if data[scale(i, data) + Scale.RATE] > 0.0:
            work[w_s + i * columns + column] = data[scale(i, data) + Scale.RATE] * math.sqrt(h)
            if i < entry(D.DRIFTING, data):
                c = kept(i, h, data)
                work[w_s + i * columns + column] = data[scale(i, data) + Scale.DEVIATION] * math.sqrt(1.0 - c * c)
            column += 1
    for i in range(n_z):
        v = w_s + i * columns + i
        n = columns - i
        length = norm(v, n, work)
        if length > 0.0:
            diagonal = -length if work[v] > 0.0 else length
            work[v] -= diagonal
            for k in range(i + 1, n_z):
                other = v + (k - i) * columns
                share = 0.0
                for j in range(n):
                    share += work[other + j] * work[v + j]
                share /= -diagonal * work[v]  # half of the square of the reflecting vector
                for j in range(n):
                    work[other + j] -= share * work[v + j]
            work[v] = diagonal
        whole = norm(w_s + i * columns, i + 1, work)
        most = data[scale(i, data) + Scale.WIDEST]
        share = most / whole if whole > most else 1.0
        for j in range(i + 1):
            x[at(i, j, n_z)] = share * work[w_s + i * columns + j]


@kernel
def keep_deviations(x, data, work):
    """Standard deviations of the estimates and the estimated noise, into the state."""
    n_z = entry(D.N_Z, data)
    columns = entry(D.N_COLUMNS, data)
    skipped = entry(D.N_MEASURED, data)
    for i in range(entry(D.N_ESTIMATES, data)):
        row = i if i < n_z else i + skipped
        x[at(n_z, i, n_z)] = norm(entry(D.W_S, data) + row * columns, columns, work)
    for k in range(entry(D.NOISY, data)):
        x[at(n_z, entry(D.N_ESTIMATES, data) + k, n_z)] = work[entry(D.W_VALUE, data) + entry(D.N_ROWS, data) + k]


@kernel
def test_innovations(total, x, data):
    """Add a step's squares of innovations to the window; at its end the outcome is renewed."""
    w = entry(D.N_OWN_X, data) - WINDOW_SIZE
    x[w + Window.SUM] += total
    x[w + Window.STEPS] += 1.0
    if x[w + Window.STEPS] >= data[D.SAMPLES]:
        n = x[w + Window.STEPS] * data[D.N_MEASURED]
        root = 1.0 - 2.0 / (9.0 * n) + QUANTILE * math.sqrt(2.0 / (9.0 * n))
        x[w + Window.LAST] = x[w + Window.SUM] / n
        x[w + Window.FAILED] = 1.0 if x[w + Window.LAST] > root * root * root else 0.0
        x[w + Window.SUM] = 0.0
        x[w + Window.STEPS] = 0.0


# --- contract ---------------------------------------------------------------------------------------------------------


@kernel
def initialise(p, data, u, x, work):
    """Start state of the unit; the drifting quantities at their start values, with their deviations."""
    n_z = entry(D.N_Z, data)
    n_q = entry(D.DRIFTING, data)
    for i in range(entry(D.N_OWN_X, data)):
        x[i] = 0.0
    for i in range(n_q):
        x[i] = start_of(i, p, data)
    place_at(0, 0.0, 0.0, x, u, p, data, work)
    if run(PREPARE, 0.0, 0.0, data, work) == FAILED:
        return FAILED
    for i in range(n_q, n_z):
        x[i] = work[entry(D.W_START, data) + i - n_q]
    for i in range(n_z):
        x[at(i, i, n_z)] = data[scale(i, data) + Scale.DEVIATION]
    status = predict(EVALUATE, 0.0, 0.0, x, u, p, data, work)
    keep_deviations(x, data, work)
    return status


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Zero: only a step changes the state."""
    for i in range(entry(D.N_OWN_X, data)):
        dx[i] = 0.0


@kernel
def output(t, x, u, p, data, y, work):
    """Estimates at a state, their deviations as of the last step, and the outcome of the test."""
    n_z = entry(D.N_Z, data)
    n = entry(D.N_ESTIMATES, data)
    moved(EVALUATE, 0, 0.0, t, 0.0, x, u, p, data, work)
    for i in range(n):
        y[i] = work[place_of(i if i < n_z else i + entry(D.N_MEASURED, data), data)]
        known = 0.0
        if i < n_z:
            known = data[scale(i, data) + Scale.MODEL]
        elif data[own(i - n_z, data) + Own.PLACE] >= 0.0:
            known = work[entry(D.W_Y, data) + entry(own(i - n_z, data) + Own.PLACE, data)]
            known *= data[own(i - n_z, data) + Own.FACTOR]
        y[n + i] = math.sqrt(x[at(n_z, i, n_z)] * x[at(n_z, i, n_z)] + known * known)
    w = entry(D.N_OWN_X, data) - WINDOW_SIZE
    y[2 * n + Y.CHI2] = x[w + Window.LAST]
    y[2 * n + Y.INCONSISTENT] = x[w + Window.FAILED]


@kernel
def step(t, h, x, u, p, data, y, work):
    """Prediction and correction of one communication step."""
    n_x = entry(D.N_OWN_X, data)
    n_y = entry(D.N_OWN_Y, data)
    n_measured = entry(D.N_MEASURED, data)
    free = entry(D.N_FREE, data)
    saved = work[entry(D.W_SAVED, data) : end_of(D.W_SAVED, data)]
    new = work[entry(D.W_NEW, data) : end_of(D.W_NEW, data)]
    if enter(t, h, data[D.STEP], free + n_measured, u, n_x, x, saved) == 0:
        return FAILED
    status = predict(ADVANCE, t, h, x, u, p, data, work)
    if status == FAILED:
        return FAILED
    total = 0.0
    for k in range(n_measured):
        total += correct(k, u[free + k], data, work)
    for i in range(entry(D.N_Z, data)):
        x[i] = work[entry(D.W_VALUE, data) + i]
        if i < entry(D.DRIFTING, data):
            x[i] = clip(x[i], data[drift(i, data) + Drift.LOW], data[drift(i, data) + Drift.HIGH])
    keep_deviations(x, data, work)
    test_innovations(total, x, data)
    walk(h, x, data, work)
    output(t + h, x, u, p, data, new, work)
    good = leave(True, n_x, x, saved, n_y, new, y)
    return status if good == OK else FAILED
