"""``rtcvt reduce``."""

from pathlib import Path
from typing import Any

import typer

from rtcvt.cli.console import Json, arg, for_kinds, given_to, opt, progress_bar, say, show_lines, write_figures
from rtcvt.errors import InputError
from rtcvt.kind import Shown, load_unit
from rtcvt.unitfile import UnitFile, parse_unit_file


@for_kinds(lambda kind: kind.reduce)
def reduce(
    context: typer.Context,
    campaign: Path = arg(..., metavar="DIR"),
    output: Path = opt("-o", "--output", default=..., metavar="FILE.h5"),
    heldout: Path | None = opt("--held-out", metavar="DIR"),
    prior: Path | None = opt("--prior", metavar="MODEL"),
    spatial: list[Path] | None = opt("--spatial", metavar="DIR"),
    calibration: Path | None = opt("--calibration", metavar="FILE.json"),
    report: Path | None = opt("--report", metavar="FILE.html"),
    name: str | None = opt(),
    figures: Json = None,
    **own: Any,
) -> None:
    """Make a real-time model of a unit from the runs of a campaign.

    It is the second of the two steps: rtcvt campaign runs the full model. Errors are cross-validated: of runs that the
    model has not seen. With --prior laws are found as differences from those of another belt, so that fewer runs do.
    With --spatial the laws of a planar belt become those of the spatial one; some dozens of runs do (plans chosen_24mm
    and spatial_transients).
    With --held-out errors are also measured on runs of another plan, and kept in the file.
    With --calibration the model also knows what the belt's unknown parameters leave open: the posterior of rtcvt
    calibrate, in a steady theory, in minutes. This can be added to an existing model, given instead of DIR.

    Options
    -------
    campaign : Folder of the runs, from rtcvt campaign; with --calibration alone, a reduced model.
    output : The reduced model.
    heldout : Runs of another plan, to measure errors on.
    prior : Of a similar belt, a file or a shipped one: only the difference is found.
    spatial : Runs of the spatial belt, to correct the laws by; may be given several times.
    calibration : calibration.json of rtcvt calibrate: adds uncertainty.parameters.*.
    report : Write a report.
    name : Name of the reduced model; default: that of the file.
    """
    from rtcvt.recording import require_page, require_writable

    alone = calibration is not None and not (heldout or prior or spatial or report or name)
    files = [campaign] if alone and campaign.is_file() else _runs_in(campaign)
    others = [] if heldout is None else _runs_in(heldout, "--held-out")
    across = [run for folder in spatial or () for run in _runs_in(folder, "--spatial")]
    first: dict[str, Path] = {}
    for run in across:
        if first.setdefault(run.name, run) is not run:
            raise InputError("--spatial", "", str(run), f"another name than that of {first[run.name]}")
    task = load_unit(_unit_of(files[0])).task("reduce")
    common = {"output": output, "heldout": others, "prior": prior, "spatial": across, "calibration": calibration,
        "report": report, "name": name}  # fmt: skip
    given = given_to(task, context, common | own, *common, "campaign", "figures")
    require_page(report, figures)
    require_writable(output, report, figures)
    with progress_bar() as bar:
        result: Shown = task.run(files, given, bar)
    write_figures(figures, result.data)
    show_lines(result.lines)
    say(f"reduced model: {output} ({output.stat().st_size / 1e6:.1f} MB)")


def _runs_in(folder: Path, key: str = "campaign") -> list[Path]:
    if not folder.is_dir():
        raise InputError(key, "", str(folder), "a folder of runs, from rtcvt campaign")
    files = sorted(folder.glob("*.h5"))
    if not files:
        raise InputError(key, "", str(folder), "a folder with runs, *.h5")
    return files


def _unit_of(run: Path) -> UnitFile:
    """The unit file inside a run."""
    from rtcvt.files.hdf5 import open_sealed, text_in

    with open_sealed(run, None, "run of a full model") as file:
        return parse_unit_file(text_in(file, "unit_file"), run.name)
