"""Parameter studies of the ANCF belt drive (Ntarladima, Pieber and Gerstmayr 2023, section 4, Figs. 14-23).

    python -m offline.beltdrive.studies two_pulley_belt elements -o runs

runs the cases of one study, one HDF5 file each (see `drive.record`), and prints their figures at the end. Cases whose
file is complete are not run again, so that an interrupted study goes on where it was. A study changes one thing of the
unit; contact damping goes with k_c and bristle viscosity with the root of mu_k, as in the paper.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import h5py
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from offline.beltdrive.drive import Drive, Run, build, record, simulate, spans
from rtcvt.belt.unit import AncfModel, BeltUnit, load_belt_unit
from rtcvt.errors import InputError
from rtcvt.unitfile import Scenario

__all__ = ["STUDIES", "Case", "cases", "figures", "run_case", "run_study"]


@dataclass(frozen=True)
class Case:
    """One case: changes of the unit's ``ancf`` table and arguments of `drive.build`."""

    label: str
    ancf: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def _with_k_c(m: AncfModel, f: float) -> dict[str, float]:
    return {"k_c": f * m.k_c, "d_c": f * m.d_c}


def _with_mu_k(m: AncfModel, f: float) -> dict[str, float]:
    return {"mu_k": f * m.mu_k, "mu_v": f**0.5 * m.mu_v}


STUDIES = ("elements", "step", "segments", "mu", "k_c", "mu_k", "scheme", "normals")


def cases(unit: BeltUnit, study: str) -> list[Case]:
    """The cases of a study.

    Raises
    ------
    InputError
        There is no such study, or the unit has no ``ancf`` table.
    """
    m = unit.ancf
    if m is None:
        raise InputError(unit.source, "ancf", None, "a table with contact and mesh of the ANCF belt")
    if study == "elements":
        return [Case(f"{n} elements", settings={"elements": n}) for n in (60, 120, 240, 480)]
    if study == "step":
        return [Case(f"step {h * 1e6:g} us", settings={"step": h}) for h in (1e-5, 2e-5, 5e-5, 1e-4)]
    if study == "segments":
        return [Case(f"{n} segments", settings={"segments": n}) for n in (2, 4, 8)]
    if study == "mu":
        return [Case(f"mu {mu:g}", {"mu": mu}) for mu in (m.mu, 2.0 * m.mu)]
    if study == "k_c":
        return [Case(f"k_c {f * m.k_c:.0e}", _with_k_c(m, f)) for f in (0.1, 1.0)]
    if study == "mu_k":
        return [Case(f"mu_k {f * m.mu_k:.0e}", _with_mu_k(m, f)) for f in (0.1, 1.0)]
    if study == "scheme":
        return [Case(f"scheme {s}", settings={"scheme": s}) for s in "abc"]
    if study == "normals":
        return [
            Case(f"normals of {'points' if p else 'segments'}", settings={"point_normals": p}) for p in (False, True)
        ]
    raise InputError("study", "", study, f"one of {', '.join(STUDIES)}")


def run_case(unit: BeltUnit, case: Case, scenario: Scenario, report: Any = lambda _: None) -> Run:
    """Build and simulate one case."""
    assert unit.ancf is not None
    changed = unit.model_copy(update={"ancf": unit.ancf.model_copy(update=case.ancf)})
    drive: Drive = build(changed, **case.settings)
    return simulate(drive, scenario, report=report)


def figures(run: Run) -> dict[str, float]:
    """Speeds, torques, tensions and creep at the end, for the table of a study.

    Creep is (v_max - v_min)/v_max over the spans; ``from strain`` takes the stretches instead of the speeds.
    """
    names, c = list(run.drive.unit.pulleys), run.drive.cable
    values = {}
    for i, name in enumerate(names):
        values[f"{name}.w [rad/s]"] = float(run.turning[-1, i, 1])
        values[f"{name}.tau [N.m]"] = float(run.turning[-1, i, 2])
    means = spans(run)
    T, v = means.tension[-1], abs(means.velocity[-1])
    for i, name in enumerate(names):
        values[f"F after {name} [N]"] = float(T[i])
    values["creep"] = float((v.max() - v.min()) / v.max())
    values["from strain"] = float((T.max() - T.min()) / (T.max() + c.EA * (1.0 + c.eps_ref)))
    return values


@contextmanager
def _progress(label: str, duration: float) -> Iterator[Any]:
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.2f} s"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=duration)
        yield lambda t: progress.update(task, completed=t)


def _complete(file: Path) -> bool:
    if not file.exists():
        return False
    with h5py.File(file, "r") as f:
        return bool(f.attrs["complete"])


def run_study(unit: BeltUnit, study: str, folder: Path) -> list[Path]:
    """Run the cases of a study with the unit's first scenario; the files. Stops after an interrupted case.

    Raises
    ------
    InputError
        See `cases`; a unit without scenario; a folder that cannot be written.
    """
    if not unit.scenario:
        raise InputError(unit.source, "scenario", None, "at least one scenario")
    scenario = unit.scenario[0]
    table, files = Table(title=f"{unit.name}: {study}"), []
    for number, case in enumerate(cases(unit, study)):
        file = folder / f"{unit.name} {case.label}.h5".replace(" ", "_")
        files.append(file)
        if _complete(file):
            Console(stderr=True).print(f"{file}: complete already")
            continue
        with _progress(case.label, scenario.duration) as report:
            run = run_case(unit, case, scenario, report)
        record(run, file, scenario)
        if not table.columns:
            table.add_column("case")
            for key in figures(run):
                table.add_column(key, justify="right")
        table.add_row(case.label, *(f"{v:.5g}" for v in figures(run).values()))
        if not run.complete:
            Console(stderr=True).print(f"{file}: partial, {number + 1} of {len(cases(unit, study))} cases begun")
            break
    Console().print(table)
    return files


def main(
    unit: Annotated[str, typer.Argument(help="a belt drive's file, or a shipped one")],
    study: Annotated[str, typer.Argument(help=f"one of {', '.join(STUDIES)}")],
    output: Annotated[Path, typer.Option("--output", "-o", help="folder of the results")] = Path(),
) -> None:
    """Run one parameter study of an ANCF belt drive."""
    try:
        run_study(load_belt_unit(unit), study, output)
    except InputError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


if __name__ == "__main__":
    typer.run(main)
