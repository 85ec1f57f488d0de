"""The source's own cases (`pushbelt.checks.cases`) in a real-time unit."""

import tomllib
from collections.abc import Collection, Mapping

from rtcvt.offline.pushbelt.checks.cases import Case, on_record
from rtcvt.variator.build import build_variator
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.unit import Variator, belt_alone, with_flange_inputs

SETTLE = 2.0  # [s]


def of_unit(unit: Variator, at: Mapping[str, float]) -> dict[str, float]:
    """Slip and thrust ratio of a real-time unit, its primary at the speed of a run, under its load and force."""
    given = with_flange_inputs(unit, {"primary": "speed", "secondary": "torque"})
    start = {"ratio.start": at["ratio"], "primary.w_start": at["omega_I"]}
    alone = belt_alone(given)  # the torque of the belt is that of the run
    one = build_variator(alone.model_copy(update={"parameters": alone.parameters | start}), "hybrid").instantiate()
    u, y = ({v.name: v.index for v in one.model.select(kind)} for kind in ("input", "output"))
    for name, value in (
        ("primary.w", at["omega_I"]), ("clamp.secondary.F", at["F_O"]), ("ratio.des", at["ratio"]),
        ("secondary.tau", -at["M_O"]),
    ):  # fmt: skip
        one.u[u[name]] = value
    one.initialise()
    for _ in range(round(SETTLE / one.model.step_size)):
        one.step(one.model.step_size)
    names = {"ratio": "ratio.i", "slip": "belt.slip", "thrust_ratio": "thrust.ratio", "macro_slip": "status.macro_slip"}
    return {key: float(one.y[y[name]]) for key, name in names.items()}


def cases_of(unit: Variator, reduced: ReducedModel, only: Collection[str] = ()) -> dict[str, Case]:
    """The cases, or `only` some, of the belt that the laws are made from, with the unit's own results; none of a belt
    of others."""
    found = on_record(str(tomllib.loads(reduced.unit_file).get("name", "")))
    chosen = {name: case for name, case in found.items() if not only or name in only}
    return {name: case | {"unit": of_unit(unit, case["planar"])} for name, case in chosen.items()}
