"""Runge-Kutta-Fehlberg 4(5) for the belt of rigid elements, the scheme of Kubas 2017.

Local extrapolation, step-size control after Gustafsson (1991). Dense output is of fourth order on the same stages and
the next step's first one; its weights solve the order conditions and are once continuously differentiable from step to
step. Explicit steps cannot exceed about 3.7 over the fastest rate of decay. That is 3 mu N/(2 m dv) where an element
sticks: the time of a run grows as 1/dv.
"""

import numpy as np

from rtcvt.offline.beltdrive.compiled import compiled
from rtcvt.offline.beltdrive.element_forces import rates

__all__ = ["integrate"]


@compiled
def _step(t, h, y, k, trial, d, feed, w):
    """One step of Fehlberg's formula from k[0] = f(t, y): k, the new state in `trial`, and k[6] = f there."""
    for i in range(y.size):
        trial[i] = y[i] + h * (k[0, i] / 4.0)
    rates(t + h / 4.0, trial, k[1], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (3.0 / 32.0 * k[0, i] + 9.0 / 32.0 * k[1, i])
    rates(t + 3.0 * h / 8.0, trial, k[2], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (1932.0 * k[0, i] - 7200.0 * k[1, i] + 7296.0 * k[2, i]) / 2197.0
    rates(t + 12.0 * h / 13.0, trial, k[3], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (
            439.0 / 216.0 * k[0, i] - 8.0 * k[1, i] + 3680.0 / 513.0 * k[2, i] - 845.0 / 4104.0 * k[3, i]
        )
    rates(t + h, trial, k[4], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (
            -8.0 / 27.0 * k[0, i]
            + 2.0 * k[1, i]
            - 3544.0 / 2565.0 * k[2, i]
            + 1859.0 / 4104.0 * k[3, i]
            - 11.0 / 40.0 * k[4, i]
        )
    rates(t + 0.5 * h, trial, k[5], d, feed, w)
    for i in range(y.size):
        trial[i] = y[i] + h * (
            16.0 / 135.0 * k[0, i]
            + 6656.0 / 12825.0 * k[2, i]
            + 28561.0 / 56430.0 * k[3, i]
            - 9.0 / 50.0 * k[4, i]
            + 2.0 / 55.0 * k[5, i]
        )
    rates(t + h, trial, k[6], d, feed, w)


@compiled
def _error(h, y, trial, k, tolerance, scale):
    """Largest difference of the two formulas by what is allowed; `scale` 0 leaves a state out."""
    worst = 0.0
    for i in range(y.size):
        if scale[i] > 0.0:
            difference = h * (
                k[0, i] / 360.0
                - 128.0 / 4275.0 * k[2, i]
                - 2197.0 / 75240.0 * k[3, i]
                + k[4, i] / 50.0
                + 2.0 / 55.0 * k[5, i]
            )
            e = abs(difference) / (tolerance * (scale[i] + max(abs(y[i]), abs(trial[i]))))
            if not e < np.inf:
                return np.inf
            worst = max(worst, e)
    return worst


@compiled
def _between(u, h, y, k, out):
    """State at t + u h, 0 <= u <= 1, of fourth order."""
    b6 = 2.0 / 55.0 * u * u * (3.0 - 2.0 * u)
    b1 = u * (1.0 + u * (-19.0 / 8.0 + u * (239.0 / 108.0 - 13.0 / 18.0 * u))) + 11.0 / 144.0 * b6
    b3 = u * u * (1024.0 / 285.0 + u * (-2560.0 / 513.0 + u * 1664.0 / 855.0)) - 704.0 / 855.0 * b6
    b4 = 2197.0 * (u * u * (-1.0 / 456.0 + u * (11.0 / 2052.0 - u / 342.0)) - b6 / 2736.0)
    b5 = u * u * (2.1 + u * (-5.0 + 2.7 * u)) + 0.55 * b6
    b7 = u * u * (1.5 + u * (-4.0 + 2.5 * u))
    for i in range(y.size):
        out[i] = y[i] + h * (b1 * k[0, i] + b3 * k[2, i] + b4 * k[3, i] + b5 * k[4, i] + b6 * k[5, i] + b7 * k[6, i])


@compiled
def integrate(t, t_end, y, h, tolerance, scale, times, states, d, feed, w, k, trial):
    """Integrate to `t_end` with steps of controlled size.

    Parameters
    ----------
    t, t_end : float
        Start and end [s].
    y : (n_y,) array
        State, advanced in place.
    h : float
        Size of the first step [s].
    tolerance : float
        Allowed local error of each state, relative to its `scale` plus its size.
    scale : (n_y,) array
        See `tolerance`; 0 leaves a state out of the error.
    times, states : (m,) and (m, n_y) arrays
        Times in (t, t_end] at which the state is wanted, in order, and these states.
    d, feed, w : Drive, Feed, Scratch
        See `rates`.
    k, trial : (7, n_y) and (n_y,) arrays
        Memory.

    Returns
    -------
    h : float
        Size for the next step [s]; 0 if no step that is small enough was found.
    accepted, rejected : int
        Steps.
    """
    accepted, rejected, wanted = 0, 0, 0
    before = 1.0
    rates(t, y, k[0], d, feed, w)
    while t < t_end:
        last = t + 1.0001 * h >= t_end
        size = t_end - t if last else h
        if size < 1e-15 * max(abs(t_end), 1e-3) and not last:
            return 0.0, accepted, rejected
        _step(t, size, y, k, trial, d, feed, w)
        error = _error(size, y, trial, k, tolerance, scale)
        if not error <= 1.0:
            rejected += 1
            h = size * max(0.2, 0.9 * error**-0.2)
            if h < 1e-16:
                return 0.0, accepted, rejected
            continue
        accepted += 1
        error = max(error, 1e-4)
        factor = min(4.0, max(0.3, 0.9 * error**-0.14 * before**0.08))
        before = error
        h = max(h, size * factor) if last else size * factor
        following = t_end if last else t + size
        while wanted < times.size and times[wanted] <= following:
            _between((times[wanted] - t) / size, size, y, k, states[wanted])
            wanted += 1
        for i in range(y.size):
            y[i] = trial[i]
            k[0, i] = k[6, i]
        t = following
    return h, accepted, rejected
