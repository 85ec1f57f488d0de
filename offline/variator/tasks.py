"""The commands ``campaign`` and ``reduce`` for pushbelts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table
from threadpoolctl import threadpool_limits

from rtcvt.errors import InputError
from rtcvt.kind import Campaigned, Progress, Shown, cell
from rtcvt.offline.pushbelt.run.marks import is_run
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator.alignment import MAX_SPEED_LOSS, load_samples
from rtcvt.offline.variator.campaign import INDEX, index, run_campaign, state_of, write_short
from rtcvt.offline.variator.choice import points_of, run_until, target_of
from rtcvt.offline.variator.correction import SPATIAL, correct, load_spatial, spatial_rows
from rtcvt.offline.variator.monotone import monotone_slip
from rtcvt.offline.variator.parametric import with_parameters
from rtcvt.offline.variator.plan import Plan, load_plan, names_of
from rtcvt.offline.variator.reduction import Reduction, errors_on, figures_of
from rtcvt.offline.variator.reduction import reduce as reduction_of
from rtcvt.offline.variator.twins import figures, load_twins
from rtcvt.processes import caught
from rtcvt.recording import require_writable, write_text
from rtcvt.variator.build import find_reduced
from rtcvt.variator.reduced.file import read_reduced, rounded, write_reduced
from rtcvt.variator.reduced.model import UNCERTAIN, ReducedModel

_RANGES = {
    "ratio": "ratio", "thrust_ratio": "thrust ratio F_I/F_O", "xi": "torque ratio", "slip": "speed loss",
    "loss": "loss [W]", "v": "belt speed [m/s]",
}  # fmt: skip
_HELD = {
    "thrust": "thrust ratio", "slip": "slip", "efficiency": "efficiency", "shift": "shift rate",
    "field.flank_normal": "flank normal force",
}  # fmt: skip


def campaign(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Campaigned:
    """Make the missing runs of a plan."""
    plan, text = load_plan(given["plan"])
    folder: Path = given["output"]
    require_writable(given["summary"])
    interrupted = False
    how = {"scheduler": given["scheduler"], "workers": given["workers"], "progress": progress}
    wanted = None if given["until"] is None else target_of(given["until"])
    if given["use"] is not None and wanted is None:
        raise InputError("--use", "", given["use"], "together with --until")
    use = None if given["use"] is None else points_of(Path(given["use"]), parameters, plan.space)
    lines: list[Any] = []
    failures = []
    try:
        if wanted is None:
            state = run_campaign(parameters, parameters.text, plan, text, folder, **how)
        else:
            state, error = run_until(parameters, plan, text, folder, wanted, use, **how)
            over = "the range of the plan" if use is None else "the use"
            lines.append(f"{wanted.quantity}: {100.0 * error:.3g} % expected over {over}")
            if error > wanted.error:
                failures.append(f"{wanted.quantity}: {100.0 * error:.3g} % expected when all candidates were run")
    except KeyboardInterrupt:
        caught()
        interrupted = True
        state = state_of(folder, names_of(plan))
    rows = list(index(folder))
    if given["summary"] is not None:
        write_short(given["summary"], rows)
    steady = [row for row in rows if row.window == "steady" and not row.slipping]
    if steady:
        title = escape(f"{parameters.name}, {plan.name}")
        table = Table("settled, without slipping ones", "least", "largest", title=title)
        for key, label in _RANGES.items():
            values = [row.values[key] for row in steady]
            table.add_row(escape(label), cell(min(values)), cell(max(values)))
        lines.append(table)
    slipping = len({row.run for row in rows if row.slipping})
    if len(plan.twin) == 2 and state.done and not interrupted:
        lines += _compared(folder, plan)
    where = folder / INDEX if (folder / INDEX).exists() else folder
    lines.append(escape(f"{len(state.done)} runs, {slipping} of them with macroscopic slip: {where}"))
    failures += [f"{name}: {reason}" for name, reason in state.failed.items()]
    left = sorted({row.run for row in rows if row.ended == "belt left its place"})
    failures += [f"{name}: the belt left its place in a branch" for name in left]
    return Campaigned(lines, failures, len(state.missing), interrupted)


def _compared(folder: Path, plan: Plan) -> list[Any]:
    """Results of the twins of a plan, which are also written to ``twins.json``."""
    twins = load_twins(folder, plan)
    if not twins.names:
        return []
    found = figures(twins)
    write_text(folder / "twins.json", json.dumps(found, indent=1))
    first, other = plan.model.belt, plan.twin[0].belt
    title = f"{first} less {other}, {found['points']} points"
    table = Table("quantity", "mean", "RMS", "median", "scatter", "above it", title=title, title_justify="left")
    for d in found["differences"]:
        table.add_row(d["quantity"], *(cell(d[k]) for k in ("mean", "rms", "median", "scatter")), str(d["above"]))
    law = Table("law of the difference", "held out, without", "with it", "crossed", title_justify="left")
    for row in found["laws"]:
        law.add_row(row["quantity"], *(cell(row[k]) for k in ("without", "heldout", "crossed")))
    return [table, law] if found["laws"] else [table]


def reduced(
    files: Sequence[Path],
    name: str,
    heldout: Sequence[Path] = (),
    progress: Progress | None = None,
    prior: ReducedModel | None = None,
    spatial: Sequence[Path] = (),
) -> tuple[Reduction, dict[str, Any]]:
    """A reduced model from runs, which carries its errors, and the figures of ``rtcvt reduce --json``.

    Parameters
    ----------
    files : sequence of Path
        The runs.
    name : str
        Of the model.
    heldout : sequence of Path
        Runs of another plan, to measure errors on.
    progress : callable, optional
        See `rtcvt.kind.Progress`.
    prior : ReducedModel, optional
        Of another belt, see `laws.identify`.
    spatial : sequence of Path
        Runs of the spatial belt, which correct the laws: see `correction`.

    Raises
    ------
    InputError
        Too few runs that settle, or runs of different belts.
    """
    samples = load_samples(files, progress, slip=MAX_SPEED_LOSS)
    with threadpool_limits(1):  # the same bits for any number of threads
        found = reduction_of(samples, name, progress=progress, prior=prior)
        errors = errors_on(found.model, load_samples(heldout, progress), found.stack) if heldout else {}
        more = correct(load_spatial(spatial, samples.belt, progress), found.model) if spatial else None
    model, missed = found.model, {}
    if more is not None:
        model = replace(model, correction=more.coefficients, fields=more.fields, deviation=more.deviation)
        model = rounded(replace(model, falling=monotone_slip(model)))
        missed = dict(more.errors)
    figures = figures_of(found) | {"heldout": errors, "spatial": missed}
    kept = {f"crossed.{law}.{k}": e[k] for law, e in figures["laws"].items() for k in ("rms", "median", "max")}
    kept |= {f"table.{law}.rms": e["table"] for law, e in figures["laws"].items() if "table" in e}
    kept |= {f"crossed.field.{field}.rms": e["error"] for field, e in figures["fields"].items()}
    kept |= {f"within.{name}.{k}": e[k] for name, e in figures["uncertainty"].items() for k in ("one", "two")}
    kept |= {f"heldout.{k}": v for k, v in errors.items()} | missed
    return replace(found, model=replace(model, errors=kept)), figures


def reduce(files: Sequence[Path], given: Mapping[str, Any], progress: Progress) -> Shown:
    """Make and write a reduced model, and a report if one is asked for."""
    output, report, calibration = given["output"], given.get("report"), given.get("calibration")
    if calibration is not None and not is_run(files[0]):
        model = with_parameters(read_reduced(files[0]), calibration, progress)
        write_reduced(model, output)
        return Shown(dict(model.errors), _parametric(model))
    path = None if given["prior"] is None else Path(str(given["prior"]))
    prior = None if path is None else read_reduced(find_reduced(path.name, path.parent, "--prior"))
    found, figures = reduced(files, given["name"] or output.stem, given["heldout"], progress, prior, given["spatial"])
    model = found.model if calibration is None else with_parameters(found.model, calibration, progress)
    write_reduced(model, output)
    if report is not None:
        from rtcvt.offline.variator.reduction_report import write_reduction_report

        write_reduction_report(found, figures["heldout"], report)
    laws = Table("output", "data", "RMS", "median", "largest", title="Cross-validated errors", title_justify="left")
    for law, e in figures["laws"].items():
        laws.add_row(escape(law), str(e["data"]), *(f"{e[k]:.4f}" for k in ("rms", "median", "max")))
    fields = Table("field", "modes kept", "these miss", "RMS of the largest", title="Fields", title_justify="left")
    for field, e in figures["fields"].items():
        fields.add_row(escape(field), str(e["kept"]), f"{e['projection']:.2%}", f"{e['error']:.2%}")
    lines = [laws, fields, *(escape(f"left out: {count} {what}") for what, count in found.dropped.items() if count)]
    for key, about in _HELD.items() if figures["heldout"] else ():
        rms, median, most = (figures["heldout"].get(f"{key}.{k}", np.nan) for k in ("rms", "median", "max"))
        lines.append(f"held-out runs, {about}: RMS {rms:.2%}, median {median:.2%}, largest {most:.2%}")
    lines += [_uncertain(figures["uncertainty"], figures["heldout"]), *spatial_table(figures["spatial"])]
    return Shown(figures, lines + _parametric(model))


def _parametric(model: ReducedModel) -> list[str]:
    """Errors of the band of the belt's parameters, if there is one."""
    errors = [f"{name} {e:.2f}" for name in UNCERTAIN if (e := model.errors.get(f"parametric.{name}.rms")) is not None]
    return [f"uncertainty.parameters, error of ln s at left-out points, RMS: {', '.join(errors)}"] if errors else []


def _uncertain(crossed: Mapping[str, Any], heldout: Mapping[str, float]) -> Table:
    """Shares of the errors within one and two standard deviations."""
    shown = Table("uncertainty of", "RMS", "said", "within 1", "within 2", "held out, 1", "2", title_justify="left")
    for name, e in crossed.items():
        others = (f"{heldout[k]:.0%}" if (k := f"within.{name}.{n}") in heldout else "" for n in ("one", "two"))
        shown.add_row(
            escape(name), f"{e['rms']:.4f}", f"{e['said']:.4f}", f"{e['one']:.0%}", f"{e['two']:.0%}", *others
        )
    return shown


def spatial_table(errors: Mapping[str, float]) -> list[Any]:
    """Errors at held-out spatial runs, if there are any."""
    shown = Table(*SPATIAL, title_justify="left")
    for row in spatial_rows(errors):
        shown.add_row(*row)
    return [shown] if shown.row_count else []
