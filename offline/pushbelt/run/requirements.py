"""Allowed values of the options of a run, alone and in combination.

A row of `TABLE` names an option and the values that are allowed, always or only `when` other options have given values.
Its message, the table of the documentation and the tests come from this row. An option belongs to the run, its start or
its settings (`schedule`), or to a table of the unit file.

In addition to the options two properties of a case are used: ``load_torques``, one or a row of them, and ``secondary``,
whose torque or speed is given.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run import schedule
from rtcvt.offline.pushbelt.run.schedule import OBSERVED, Case, Contact, Law, Run, Scheme
from rtcvt.offline.pushbelt.unit.parameters import Parameters


class Range(NamedTuple):
    """Numbers from `least` to `most`; `inside`: without these two. None, the default of an option, is allowed too."""

    least: float
    most: float
    inside: bool = False

    def __contains__(self, value: Any) -> bool:
        if value is None:
            return True
        return self.least < value < self.most if self.inside else bool(self.least <= value <= self.most)


class Requirement(NamedTuple):
    """Allowed values of the option `key` of `owner`, or `words` for them, `when` other options have these values."""

    owner: str
    key: str
    allowed: Range | tuple[Any, ...]
    words: str = ""
    when: Mapping[str, tuple[Any, ...]] = {}
    because: str = ""

    def admits(self, value: Any) -> bool:
        """Whether the value is allowed; of several, as in ``observe``, each."""
        several = isinstance(value, tuple) and value not in self.allowed
        return all(v in self.allowed for v in value) if several else value in self.allowed

    @property
    def condition(self) -> str:
        """Its condition in words; empty: always."""
        return " and ".join(f"{key} {_or(values)}" for key, values in self.when.items())

    @property
    def text(self) -> str:
        """Allowed values, condition and reason."""
        said = self.words or _or(self.allowed)
        with_ = f" with {self.condition}" if self.when else ""
        return said + with_ + (f": {self.because}" if self.because else "")


def _or(values: Any) -> str:
    return " or ".join("none" if v in (None, ()) else str(v) for v in values)


_TIME = Range(0.0, float("inf"), inside=True)
_SPATIAL = ("spatial", "mirrored")
TABLE = (
    Requirement("run", "duration", _TIME, "a time above 0 s"),
    Requirement("run", "plot_step", _TIME, "a time above 0 s"),
    Requirement("run", "observe", OBSERVED, f"some of {', '.join(OBSERVED)}"),
    Requirement("run", "branches", ((),), when={"start": ("case",)}, because="they follow a point that has settled"),
    Requirement("run", "branches", ((),), when={"mean": (None,)}, because="their forces depend on its mean"),
    Requirement("settings", "step", _TIME, "a time above 0 s"),
    Requirement("settings", "N_E", Range(20, 2000), "20 to 2000"),
    Requirement("settings", "N_B", Range(12, 1000), "12 to 1000"),
    Requirement("settings", "taper", Range(0.0, 1e-4), "0 to 100 um"),
    Requirement("settings", "model", get_args(schedule.Model)),
    Requirement("settings", "law", get_args(Law)),
    Requirement("settings", "contact", get_args(Contact)),
    Requirement("settings", "scheme", get_args(Scheme)),
    Requirement("settings", "flank_points", (1, 2)),
    Requirement("settings", "contact", ("unilateral",), when={"scheme": ("set-valued",)}),
    Requirement("settings", "model", ("hybrid",), when={"scheme": ("set-valued",)}),
    Requirement("ring", "rod", ("rcm",), when={"scheme": ("set-valued",)}),
    Requirement(
        "contacts", "mu_L", (None,), when={"scheme": ("set-valued",)}, because="its rings have no layers that slide"
    ),
    Requirement(
        "ring", "rod", ("rcm", "cosserat"), when={"model": _SPATIAL}, because="modes are of a planar ring"
    ),
    Requirement("contacts", "mu_L", (None,), when={"model": _SPATIAL}, because="its ring sets have plane sections"),
    Requirement(
        "settings", "flank_points", (2,), when={"model": _SPATIAL},
        because="about one fixed point on each flank an element would roll freely",
    ),
    Requirement(
        "settings", "contact", ("unilateral",), when={"model": _SPATIAL, "scheme": ("multirate",)},
        because="saddles that pull need the explicit scheme",
    ),
    Requirement(
        "spatial", "crown", (0.0,), "0, a flat saddle,", when={"model": _SPATIAL, "scheme": ("multirate",)},
        because="a ring that rolls on a crown needs the explicit scheme",
    ),
    Requirement("settings", "before", Range(0.0, 20.0), "0 to 20 revolutions", when={"model": _SPATIAL}),
    Requirement("settings", "before", Range(0.0, 20.0), "0 to 20 revolutions", when={"mesh": ("another",)}),
    Requirement(
        "settings", "before", (0.0,), when={"model": ("hybrid",), "mesh": ("its own",)},
        because="it needs no start from its own model and mesh",
    ),
    Requirement("settings", "before_N_E", Range(20, 2000), "20 to 2000"),
    Requirement("settings", "before_N_B", Range(12, 1000), "12 to 1000"),
    Requirement("start", "row", (0,), when={"load_torques": ("one",)}),
    Requirement("start", "rise", (0.0,), when={"secondary": ("speed",)}, because="no load rises where speed is given"),
    Requirement("start", "seed", Range(0, float("inf")), "0 or more"),
    *(
        Requirement("settings", key, (None,), when={"before": ("none",)}, because="it is of revolutions `before`")
        for key in ("before_N_E", "before_N_B")
    ),
)  # fmt: skip


def facts(parameters: Parameters, run: Run) -> dict[str, Any]:
    """Values that a `Requirement` may depend on, by name."""
    s, at = run.settings, run.start
    found = {"scheme": s.scheme, "model": s.model, "rod": parameters.ring.rod, "mean": run.mean, "start": "point"}
    found["before"] = "none" if s.before == 0.0 else "some"
    found["mesh"] = "its own" if s.before_N_E is None and s.before_N_B is None else "another"
    if isinstance(at, Case):
        case = parameters.get_case(at.case)
        speed = "omega_O" in case.inputs
        found |= {"start": "case", "load_torques": "row" if case.M_O else "one"}
        found |= {"secondary": "speed" if speed else "torque"}
    return found


def holds(when: Mapping[str, tuple[Any, ...]], found: Mapping[str, Any]) -> bool:
    """Whether all conditions are met by `facts`."""
    return all(key in found and found[key] in values for key, values in when.items())


def source_of(run: Run) -> str:
    """Name of a run in messages."""
    return f"case {run.start.case}" if isinstance(run.start, Case) else f"run {run.name}"


def check(parameters: Parameters, run: Run) -> dict[str, Any]:
    """Refuse options of a run, or of its unit, that do not go together; its `facts`.

    Raises
    ------
    InputError
        The first that is not as `TABLE` has it.
    """
    found = facts(parameters, run)
    owners: dict[str, Any] = {"run": run, "settings": run.settings, "start": run.start}
    for r in TABLE:
        of_unit = r.owner not in owners
        owner = getattr(parameters, r.owner) if of_unit else owners[r.owner]
        if holds(r.when, found) and hasattr(owner, r.key) and not r.admits(value := getattr(owner, r.key)):
            source, key = (parameters.source, f"{r.owner}.{r.key}") if of_unit else (source_of(run), r.key)
            raise InputError(source, key, value, r.text)
    return found


def as_markdown() -> str:
    """`TABLE` for the documentation."""
    lines = ["| option | of | allowed | with | why |", "|---|---|---|---|---|"]
    for r in TABLE:
        lines.append(f"| `{r.key}` | {r.owner} | {r.words or _or(r.allowed)} | {r.condition} | {r.because} |")
    return "\n".join(lines)
