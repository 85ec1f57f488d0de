"""``rtcvt reduce``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import Json, command, out, progress_bar, say, write_figures
from rtcvt.errors import InputError


@command
def reduce(
    campaign: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the runs, from rtcvt campaign.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.h5", help="The reduced model.")],
    heldout: Annotated[
        Path | None, typer.Option("--held-out", metavar="DIR", help="Runs of another plan, to measure errors on.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE.html", help="Write a report.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the reduced model; default: that of the file.")] = None,
    figures: Json = None,
) -> None:
    """Make a real-time model of a pushbelt variator from the runs of a campaign.

    It is the second of the two steps: rtcvt campaign runs the full model, rtcvt reduce identifies from its runs, over
    ratio, torque ratio, speed, clamping force and force balance: the thrust ratio, the shift rate, slip, losses, the
    largest contact forces, and all belt fields on a basis from proper orthogonal decomposition.

    Errors are cross-validated: of runs that the regression has not seen. What slips by more than 12 % is left
    out and counted. With --held-out errors are also measured on runs of another plan, and kept in the file.

    [bold]JSON keys:[/] runs, windows, dropped; laws: by name data, rms, median, max of the cross-validated
    error (of the logarithm, but for e), noise; fields: by name modes, kept, projection, error, error_median; heldout:
    errors by their names in docs/reduction.md.
    """
    import numpy as np

    from offline.variator.alignment import USED, load_samples
    from offline.variator.reduction import errors_on, figures_of
    from offline.variator.reduction import reduce as reduced
    from rtcvt.recording import require_writable
    from rtcvt.variator.reduced_model import write_reduced

    files = _runs_in(campaign)
    others = [] if heldout is None else _runs_in(heldout)
    require_writable(output, report, figures)
    with progress_bar() as bar:
        samples = load_samples(files, bar, slip=USED)
        reduction = reduced(samples, name or output.stem, progress=bar)
        errors = errors_on(reduction.model, load_samples(others, bar), reduction.stack) if others else {}
    found = figures_of(reduction) | {"heldout": errors}
    kept = {f"crossed.{law}.{k}": e[k] for law, e in found["laws"].items() for k in ("rms", "median", "max")}
    kept |= {f"crossed.field.{field}.rms": e["error"] for field, e in found["fields"].items()}
    model = replace(reduction.model, errors=kept | {f"heldout.{k}": v for k, v in errors.items()})
    write_reduced(model, output)
    write_figures(figures, found)
    if report is not None:
        from offline.variator.reduction_report import write_reduction_report

        write_reduction_report(replace(reduction, model=model), files, errors, report)
    table = Table("output", "data", "RMS", "median", "largest", title="Cross-validated errors", title_justify="left")
    for law, e in found["laws"].items():
        table.add_row(escape(law), str(e["data"]), *(f"{e[k]:.4f}" for k in ("rms", "median", "max")))
    out.print(table)
    table = Table("field", "modes kept", "these miss", "RMS of the largest", title="Fields", title_justify="left")
    for field, e in found["fields"].items():
        table.add_row(escape(field), str(e["kept"]), f"{e['projection']:.2%}", f"{e['error']:.2%}")
    out.print(table)
    for what, count in reduction.dropped.items():
        if count:
            say(f"left out: {count} {what}")
    if errors:
        for key, about in (
            ("thrust", "thrust ratio"), ("slip", "slip"), ("efficiency", "efficiency"), ("shift", "shift rate"),
            ("field.flank_normal", "flank normal force"),
        ):  # fmt: skip
            shown = [errors.get(f"{key}.{k}", np.nan) for k in ("rms", "median", "max")]
            say(f"held-out runs, {about}: RMS {shown[0]:.2%}, median {shown[1]:.2%}, largest {shown[2]:.2%}")
    say(f"reduced model: {output} ({output.stat().st_size / 1e6:.1f} MB)")


def _runs_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError("campaign", "", str(folder), "a folder of runs, from rtcvt campaign")
    files = sorted(folder.glob("*.h5"))
    if not files:
        raise InputError("campaign", "", str(folder), "a folder that holds runs, *.h5")
    return files
