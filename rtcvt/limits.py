"""A number that a check has found, with its limit: the record of all checks and reports."""

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class Limited:
    """A number and its limit. Records of a check with further columns inherit from it.

    Parameters
    ----------
    scenario : str
        The scenario, load case, run or section of a source that the number belongs to; empty if there is only one.
    name : str
        The signal, or a sentence that describes the number.
    unit : str
        Of value and limit; "1" for a fraction.
    value : float
    limit : float or None
        The largest value that is allowed; None without a limit.
    needed : bool
        Whether the check fails if the limit is exceeded; else the excess is only reported.
    """

    scenario: str
    name: str
    unit: str
    value: float
    limit: float | None = None
    _: KW_ONLY
    needed: bool = True

    @property
    def holds(self) -> bool | None:
        """Whether the value is within its limit: None without a limit. A value that is not a number is not."""
        return None if self.limit is None else bool(self.value <= self.limit)

    @property
    def about(self) -> str:
        """Scenario and name in one."""
        return f"{self.scenario}: {self.name}" if self.scenario else self.name

    @property
    def share(self) -> float:
        """The value as a share of its limit; not a number without a limit."""
        if self.limit is None:
            return math.nan
        return self.value / self.limit if self.limit else 0.0 if self.value <= 0.0 else math.inf

    @property
    def failure(self) -> str:
        """One line with the value and the exceeded limit."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{self.about}: {self.value:.3g}{unit}, allowed {self.limit:.3g}"


@dataclass(frozen=True)
class ErrorRow(Limited):
    """Error of one signal of a model in one scenario: `value` is the RMS error relative to `scale`.

    `unit` is that of peak, scale and transient.
    """

    limit: float = math.nan
    peak: float = math.nan  # largest error that counts
    scale: float = math.nan  # largest value of the signal
    transient: float = math.nan  # largest error that does not count

    @property
    def nrms(self) -> float:
        """The value."""
        return self.value

    @property
    def failure(self) -> str:
        """One line with the signal and its error."""
        return f"scenario '{self.scenario}': {self.name} is off by {self.value:.3g}, allowed {self.limit:.3g}"


def failures(rows: Iterable[Limited]) -> tuple[str, ...]:
    """The failure of each needed row that exceeds its limit."""
    return tuple(row.failure for row in rows if row.needed and row.holds is False)
