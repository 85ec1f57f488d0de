"""Plan of a calibration, a TOML file: unknown parameters with priors, runs, fitted and held-out observables, points.

A parameter is x = above + (median - above) exp(spread z), z standard normal. `PARAMETERS` defines x and sets it in a
unit. An observable is a quantity of one run, or of the first run less that of the second; its `error` is the standard
deviation of measurement, scatter and errors of the model (discrepancy), as a share of the printed value. Held-out
observables are never fitted.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.checks.chapter7 import ChapterRun
from rtcvt.offline.pushbelt.contact.friction import V_MU
from rtcvt.offline.pushbelt.run.schedule import Scheme
from rtcvt.offline.pushbelt.unit.parameters import Parameters, drawn_sheaves, influence_numbers, sheaves
from rtcvt.offline.variator.plan import planned, shipped_in
from rtcvt.unitfile import Record, quantity_in

if TYPE_CHECKING:
    from rtcvt.offline.sheave.pulley import Drawn

Array = NDArray[np.float64]
Quantity = Literal["thrust ratio", "speed ratio", "torque", "slip", "loss"]


def _contact(name: str) -> Callable[[Parameters, Any], Parameters]:
    def put(p: Parameters, x: Any) -> Parameters:
        return p.model_copy(update={"contacts": p.contacts.model_copy(update={name: x})})

    return put


def _friction(p: Parameters, **values: float) -> Parameters:
    return _contact("friction")(p, p.contacts.friction.model_copy(update=values))


def _pulleys(p: Parameters, **values: Any) -> Parameters:
    return p.model_copy(update={"pulleys": p.pulleys.model_copy(update=values)})


def _compliance(p: Parameters, x: float) -> Parameters:
    return _pulleys(p, multiplier=p.pulleys.multiplier * x)


PIVOT = 0.9  # of r_max: where `radial_exponent` turns the compliance
DEGREE = 8  # of all polynomials, so that kernels have one type
THICKNESS = (0.7, 1.0, 1.4)  # of the discs, at which finite elements are solved


def _exponent(p: Parameters, x: float) -> Parameters:
    """c_rad(r) = c (r/r_p)^x as a polynomial, with the value of before at the pivot r_p."""
    s = p.pulleys
    r_p = PIVOT * s.r_max
    r = s.r_min + 0.5 * (s.r_max - s.r_min) * (1.0 - np.cos(np.linspace(0.0, np.pi, 60)))
    c = influence_numbers(sheaves(p), r_p).sum() / s.multiplier
    a = np.linalg.lstsq(np.vander(r / r_p, DEGREE + 1, increasing=True), (r / r_p) ** x, rcond=None)[0]
    return _pulleys(p, a=tuple((c * a / r_p ** np.arange(DEGREE + 1)).tolist()))


def _rows_of(r: Array, C: Array) -> tuple[tuple[float, ...], ...]:
    """Polynomials of the fourth degree through influence numbers (K, n) at radii (n,), relative errors even."""
    rows = [np.polyfit(r / r[-1], c, 4, w=1.0 / c)[::-1] / r[-1] ** np.arange(5) for c in C]
    return tuple(tuple([*row.tolist(), *[0.0] * (DEGREE - 4)]) for row in rows)


def _thickness(p: Parameters, x: float) -> Parameters:
    """Discs of the drawn sheaves x times as thick: a parabola in log x through three solutions."""
    at = [_discs(p, k) for k in THICKNESS]
    logs = np.log([found.mean[: p.sheaves.harmonics + 1] for found in at])  # type: ignore[union-attr]
    through = np.linalg.inv(np.vander(np.log(THICKNESS), 3)) @ logs.reshape(3, -1)
    C = np.exp(np.vander([np.log(x)], 3) @ through).reshape(logs.shape[1:])
    return _pulleys(p, a=_rows_of(at[0].r, C), A=())


def _discs(p: Parameters, scale: float) -> "Drawn":
    drawing = p.sheaves
    if drawing is None:
        raise InputError(p.source, "sheaves", None, "tables loose and fixed, for the parameters thickness and guide")
    discs = {
        name: profile.model_copy(update={"disc": tuple((r, t * scale) for r, t in profile.disc)})
        for name, profile in (("loose", drawing.loose), ("fixed", drawing.fixed))
    }
    return drawn_sheaves(p.model_copy(update={"sheaves": drawing.model_copy(update=discs)}))


def _guide(p: Parameters, x: float) -> Parameters:
    """The springs of the loose sheave's guide x times as stiff: its tilt changes, its bending does not."""
    found = _discs(p, 1.0)
    s = sheaves(p)
    C = np.array([influence_numbers(s, r) for r in found.r]).T / s.multiplier
    C[1] += 0.5 * np.diagonal(found.loose.tilt) * (1.0 / x - 1.0)
    return _pulleys(p, a=_rows_of(found.r, C), A=())


def _weights(p: Parameters, first: float, higher: float) -> Parameters:
    A = np.array(p.pulleys.A)
    A[1] *= first
    A[2:] *= higher
    return _pulleys(p, A=tuple((A / A.sum()).tolist()))


def _saddle(p: Parameters, x: float) -> Parameters:
    """The ring keeps its endplay and its play below the ears."""
    rise = x - (p.element.h_P - p.element.h_R)
    element = p.element.model_copy(update={"h_P": p.element.h_P + rise, "h_E": p.element.h_E + rise})
    ring = p.ring.model_copy(update={"l_R": p.ring.l_R + 2.0 * np.pi * rise})
    return p.model_copy(update={"element": element, "ring": ring})


PARAMETERS: dict[str, tuple[Callable[[Parameters, float], Parameters], str]] = {  # in the order of their use
    "thickness": (_thickness, "of the drawn sheaves' discs, times the unit's"),
    "guide": (_guide, "stiffness of the drawn loose sheave's guide, times the unit's"),
    "compliance": (_compliance, "of the sheaves, times the unit's"),
    "radial_exponent": (_exponent, "of the sheaves' compliance over the radius"),
    "first_harmonic": (lambda p, x: _weights(p, x, 1.0), "A_1 to A_0, times the unit's"),
    "higher_harmonics": (lambda p, x: _weights(p, 1.0, x), "A_2 and above to A_0, times the unit's"),
    "saddle_height": (_saddle, "h_P - h_R [m]"),
    "c_el": (_contact("c_el"), "stiffness of an element between its flanks [N/m]"),
    "k_R": (_contact("k_R"), "stiffness of the rocking edge [N/m]"),
    "mu": (lambda p, x: _friction(p, mu=x), "friction of element and sheave"),
    "mu_R": (_contact("mu_R"), "friction of element and ring"),
    "v_mu": (lambda p, x: _friction(p, v_mu=min(max(x, V_MU[0]), V_MU[1])), "slip of the flanks' full friction [m/s]"),
}


class Unknown(Record):
    """A parameter with its prior."""

    name: str
    median: Annotated[float, Field(gt=0.0)]
    spread: Annotated[float, Field(gt=0.0, le=3.0)]
    above: Annotated[float, Field(ge=0.0)] = 0.0

    @model_validator(mode="after")
    def _known(self) -> "Unknown":
        if self.name not in PARAMETERS:
            raise ValueError(f"name: one of {', '.join(PARAMETERS)}")
        if not self.above < self.median:
            raise ValueError("above < median")
        return self

    def value(self, z: Any) -> Any:
        """x of a standard normal z."""
        return self.above + (self.median - self.above) * np.exp(self.spread * z)

    def scaled(self, x: float) -> float:
        """z of a value."""
        return float(np.log((x - self.above) / (self.median - self.above)) / self.spread)


class Observable(Record):
    """A printed value, or the sign of one."""

    about: str
    quantity: Quantity
    runs: tuple[str, ...] = Field(min_length=1, max_length=2)
    value: float | None = None
    sign: Literal["positive", "negative"] | None = None
    error: Annotated[float, Field(gt=0.0)] = 0.05

    @model_validator(mode="after")
    def _one(self) -> "Observable":
        if (self.value is None) == (self.sign is None):
            raise ValueError("exactly one of value and sign")
        return self

    def of(self, found: Mapping[str, Mapping[str, float]]) -> float:
        """Of the results of runs by name and quantity."""
        first, *others = (found[run][self.quantity] for run in self.runs)
        return float(first - sum(others))


class OperatingPoint(Record):
    """At which the result predicts: ratio at the rocking edges, speed of the primary, clamping force, and torque.

    The torque is that of `xi` with the unit's mu, the same for all members.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9.-]*$")]
    ratio: Annotated[float, Field(gt=0.0)]
    omega_I: Annotated[float, quantity_in("rad/s", above=0.0)]
    xi: Annotated[float, Field(gt=-1.0, lt=1.0)]
    F_O: Annotated[float, quantity_in("N", above=0.0)]


class CalibrationPlan(Record):
    """A plan."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
    description: str = ""
    seed: Annotated[int, Field(ge=0)] = 0
    members: Annotated[int, Field(ge=3, le=10000)]  # of the prior
    steps: Annotated[int, Field(ge=1, le=20)]  # of Gauss and Newton's method
    scheme: Scheme = "multirate"
    step: Annotated[float, quantity_in("s", above=0.0)] | None = None  # default: the step of the scheme
    N_E: Annotated[int, Field(ge=20, le=2000)] | None = None  # modelled elements, for runs without their own number
    N_B: Annotated[int, Field(ge=12, le=1000)] | None = None  # ring nodes, the same
    settle: Annotated[float, Field(gt=0.0, le=50.0)] = 0.3  # revolutions before the mean
    mean: Annotated[float, Field(gt=0.0, le=50.0)] = 1.0  # revolutions
    predict: Annotated[int, Field(ge=0, le=10000)] = 0  # number of members of the posterior to run, besides its mean
    point_settle: Annotated[float, Field(gt=0.0, le=50.0)] = 3.0  # as settle, at operating points
    point_mean: Annotated[float, Field(gt=0.0, le=50.0)] = 2.0
    parameter: tuple[Unknown, ...] = Field(min_length=1)
    run: tuple[ChapterRun, ...] = Field(min_length=1)
    observable: tuple[Observable, ...] = Field(min_length=1)
    heldout: tuple[Observable, ...] = ()
    point: tuple[OperatingPoint, ...] = ()

    source: Annotated[str, Field(exclude=True)] = ""

    @model_validator(mode="after")
    def _fits(self) -> "CalibrationPlan":
        runs_and_points = [r.name for r in self.run] + [p.name for p in self.point]
        for what, names in (("parameter", [p.name for p in self.parameter]), ("run, point", runs_and_points)):
            if len(names) != len(set(names)):
                raise ValueError(f"{what}: names that are used once")
        if not self.members > len(self.parameter):
            raise ValueError("members: more than there are parameters")
        runs = {r.name for r in self.run}
        for o in (*self.observable, *self.heldout):
            if missing := set(o.runs) - runs:
                raise ValueError(f"'{o.about}': no run '{min(missing)}'")
        if any(o.value is None for o in self.observable):
            raise ValueError("observable: a value; signs are held out")
        return self

    @property
    def fitted(self) -> tuple[str, ...]:
        """Names of the runs that observables need."""
        return tuple(r.name for r in self.run if any(r.name in o.runs for o in self.observable))


def changed(parameters: Parameters, plan: CalibrationPlan, z: Any) -> Parameters:
    """The unit with the parameters of a member z (d,)."""
    values = {unknown.name: float(unknown.value(at)) for unknown, at in zip(plan.parameter, z, strict=True)}
    for name, (put, _) in PARAMETERS.items():
        if name in values:
            parameters = put(parameters, values[name])
    return parameters


def shipped_calibrations() -> dict[str, Path]:
    """Names and files of the plans that come with the package."""
    return shipped_in("variator/calibration")


def load_calibration(name: str | Path) -> tuple[CalibrationPlan, str]:
    """A plan from a file, or a shipped one by name, and its text.

    Raises
    ------
    InputError
        Missing file, not TOML, or not a valid plan; names file, key, value and what is allowed.
    """
    return planned(CalibrationPlan, name, shipped_calibrations())
