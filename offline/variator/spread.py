"""Uncertainty of a law: a standard deviation over the operating point, from the errors of cross-validation.

The error of a datum predicted by the others (`process.fit`) contains the error of the regression and the scatter of the
full model. Both change over the operating point by more than the process' own variance does, which depends on distances
alone and not on the slope of the law. So a second process describes the size of the errors,

    s(x) = c exp(mean(x)),    of the data ln(|e| + median|e|/10)

and c is chosen so that as many of the errors are within s and 2 s as for a normal distribution, by a mean of the two in
the logarithm in which the second has three times the weight: errors have long tails where a belt changes sides, and
users rely on 2 s. Causes that are not in the errors add up in their squares: the bands of the parameters, and the
spread of the spatial correction (`together`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.variator.process import Process, fit

Array = NDArray[np.float64]

FLOOR = 0.1  # of the median of the errors
ONE, TWO = 0.6827, 0.9545  # shares of a normal distribution within one and two standard deviations


class Spread(NamedTuple):
    """A process of the logarithm, and the factor c."""

    process: Process
    factor: float

    def at(self, x: Array) -> Array:
        """Standard deviations (m,) at places (m, d)."""
        return np.asarray(self.factor * np.exp(self.process.mean(x)))


def spread(x: Array, e: Array, groups: NDArray[np.int64]) -> tuple[Spread, Array]:
    """The spread of errors e (n,) at places x (n, d), and its value at each group by the errors of the others (n,).

    groups (n,): data of the same number are left out together.
    """
    size = np.abs(e)
    process, crossed = fit(x, np.log(size + FLOOR * float(np.median(size))), groups)
    scaled = size / np.exp(crossed)
    by_others = np.exp(crossed)
    for group in np.unique(groups):
        by_others[groups == group] *= _factor(scaled[groups != group])
    return Spread(process, _factor(scaled)), by_others


def _factor(scaled: Array) -> float:
    one, two = np.quantile(scaled, (ONE, TWO))
    return float(one**0.25 * (0.5 * two) ** 0.75)


def within(e: Array, s: Array | float) -> tuple[float, float]:
    """Shares of errors e (n,) within one and two standard deviations s (n,)."""
    return float(np.mean(np.abs(e) <= s)), float(np.mean(np.abs(e) <= 2.0 * s))


def together(*causes: Array | float) -> Array:
    """Standard deviation of independent causes."""
    return np.asarray(np.sqrt(sum(np.square(s) for s in causes)))
