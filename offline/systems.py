"""The check of a system: rigid models of its components against their finer ones."""

from collections.abc import Mapping
from typing import Any

from rtcvt.errors import InputError
from rtcvt.html import error_table, text
from rtcvt.kind import Checked, Progress
from rtcvt.limits import ErrorRow, failures
from rtcvt.network.file import System
from rtcvt.network.model import build_system, unit_of
from rtcvt.offline.pictures import report, under, verdict
from rtcvt.offline.signal_errors import printed_errors, settled, signal_errors, told
from rtcvt.scenario import chosen_scenario
from rtcvt.simulate import Result, require_fitting, simulate


def check(unit: System, given: Mapping[str, Any], progress: Progress) -> Checked:
    """The system with rigid models of its components against that with their other ones, at connected flanges.

    Raises
    ------
    InputError
        No component has both, or no scenario fits.
    """
    finer = {}
    for name in unit.components:
        offered = unit_of(unit, name).models
        if "rigid" in offered and len(offered) > 1:
            finer[name] = next(m for m in offered if m != "rigid")
    if not finer:
        raise InputError(unit.source, "components", list(unit.components), "a component with a rigid and another model")
    scenarios = unit.scenario if given["scenario"] is None else (chosen_scenario(unit, given["scenario"]),)
    if not scenarios:
        raise InputError(unit.source, "scenario", None, "at least one [[scenario]] to check")
    settings = given["settings"]
    models = [build_system(_with_models(unit, chosen)) for chosen in (dict.fromkeys(finer, "rigid"), finer)]
    for model in models:
        require_fitting(model, scenarios, settings)
    rows: list[ErrorRow] = []
    lines: list[Any] = []
    for s in scenarios:
        runs = []
        for model, label in zip(models, ("rigid", "finer"), strict=True):

            def note(k: int, n: int, about: str = f"{s.name}: {label} models") -> None:
                progress(about, k, n)

            runs.append(simulate(model, s, parameters=settings, progress=note))
        own = _errors(*runs)
        rows += own
        title = f"{unit.name}, rigid models against {', '.join(f'{n}: {m}' for n, m in finer.items())}: {s.name}"
        lines.append(printed_errors(title, own))
    failed = failures(rows)
    told_of = ", ".join(f"{name} ({model})" for name, model in finer.items())
    page = report(
        f"{unit.name}: rigid against finer models",
        unit.description,
        (
            verdict([text(f) for f in failed], "All errors are within their limits.", "Errors exceed their limits."),
            under("errors", "Errors", f"<p>At connected flanges, against {text(told_of)}.</p>\n", error_table(rows)),
        ),
    )
    figures = {"unit": unit.name, "against": finer, "parameters": dict(settings), "passed": not failed}
    figures |= {"failures": failed, "errors": [told(e) for e in rows]}
    return Checked(page, figures, lines, failed)


def _with_models(unit: System, chosen: Mapping[str, str]) -> System:
    """The system with these models of components."""
    changed = {name: unit.components[name].model_copy(update={"model": model}) for name, model in chosen.items()}
    return unit.model_copy(update={"components": {**unit.components, **changed}})


def _errors(rigid: Result, finer: Result) -> list[ErrorRow]:
    """Errors of the speeds and torques at connected flanges, where `settled` of the start and of clutches."""
    scenario = finer.scenario
    counted = settled(scenario.settle, rigid, finer)
    known = {s.name for s in finer.model.states} & {v.name for v in rigid.model.select("output")}
    found: list[ErrorRow] = []
    for quantity, limit in ((".w", scenario.limits.speed), (".tau", scenario.limits.force)):
        names = sorted(n for n in known if n.endswith(quantity) and n.count(".") == 2)
        found += signal_errors(rigid, finer, names, limit, counted)
    return found
