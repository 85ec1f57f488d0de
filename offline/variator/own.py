"""From the drawing of a pushbelt to its real-time unit and the errors of that unit: ``rtcvt own``.

The steps are those of the commands campaign, reduce and check, in one folder. Runs that have ended are kept, and the
reduced model is made again only if a run is newer. The unit file is written once: changes by the user stay.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rich.table import Table
from scipy.stats import binom

from rtcvt.errors import InputError
from rtcvt.files.toml_edit import edited
from rtcvt.kind import Checked, Progress, load_unit
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator import check_task, tasks
from rtcvt.recording import write_text
from rtcvt.unitfile import read_unit_file
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.unit import Variator

TEMPLATE = "pushbelt_cvt"  # the shipped unit whose pistons, bearings and solver are the first guess
NORMAL = {"one": 0.683, "two": 0.954}  # shares of normal errors within one and two standard deviations
SIGNIFICANCE = 0.01  # of the test that fewer errors than these are within


def own(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Make the missing runs of the plans, reduce, write the unit file, and compare the unit with held-out runs.

    Raises
    ------
    InputError
        A plan does not fit this belt, or there are too few runs to reduce.
    KeyboardInterrupt
        Ctrl-C during a campaign.
    """
    folder: Path = given["output"]
    name = f"{parameters.name}_cvt"
    if name == TEMPLATE:
        raise InputError(parameters.source, "name", parameters.name, f"a name other than {parameters.name}")
    common = {"until": None, "use": None, "summary": None} | {k: given[k] for k in ("scheduler", "workers")}
    runs: dict[str, list[Path]] = {}
    failures: list[str] = []
    for place, option in (("runs", "plan"), ("spatial", "spatial"), ("heldout", "held_out")):
        runs[place] = []
        if given[option] is not None:
            made = tasks.campaign(parameters, common | {"plan": given[option], "output": folder / place}, progress)
            if made.interrupted:
                raise KeyboardInterrupt
            failures += [f"{place}: {text}" for text in made.failures]
            runs[place] = sorted((folder / place).glob("[!.]*.h5"))

    model, unit_path = folder / f"{parameters.name}.h5", folder / f"{name}.toml"
    lines: list[Any] = []
    sources = [path.stat().st_mtime for path in runs["runs"] + runs["spatial"]]
    if not model.exists() or model.stat().st_mtime < max(sources, default=0.0):
        how = {"output": model, "report": folder / "reduction.html", "heldout": (), "name": None}
        lines += tasks.reduce(runs["runs"], how | {"prior": given["prior"], "spatial": runs["spatial"]}, progress).lines
    if not unit_path.exists():
        write_text(unit_path, _unit_text(name, parameters, model))
    options = {"fresh": False, "pool": None, "report": given["report"], "figures": given["figures"]}
    unit = cast(Variator, load_unit(unit_path))
    checked: Checked = check_task.check(unit, options | {"runs": str(folder / "heldout")}, progress)
    table, larger = verdict(checked.figures["coverage"])
    return Checked(checked.page, checked.figures, [*lines, *checked.lines, table], [*failures, *larger])


def verdict(coverage: Mapping[str, Mapping[str, Any]]) -> tuple[Table, list[str]]:
    """Whether errors at held-out states are as large as the unit's outputs ``uncertainty.*`` state.

    They are larger if as few of them within one or two standard deviations have a probability below `SIGNIFICANCE`.
    """
    shown = Table("error of", "states", "within 1 sigma", "within 2", "as stated", title_justify="left")
    larger = []
    for quantity, row in coverage.items():
        n = row["states"]
        chance = [float(binom.cdf(round(row[key] * n), n, share)) for key, share in NORMAL.items()]
        fits = min(chance) >= SIGNIFICANCE
        shown.add_row(quantity, str(n), f"{row['one']:.0%}", f"{row['two']:.0%}", "yes" if fits else "larger")
        if not fits:
            larger.append(f"errors of {quantity} are larger than the unit states: {row['two']:.0%} within 2 sigma")
    return shown, larger


def _unit_text(name: str, parameters: Parameters, model: Path) -> str:
    """The shipped unit's file with the values of this belt, and with end stops within its runs."""
    ratio = next(c for c in read_reduced(model).coordinates if c.name == "i")
    pulleys = parameters.pulleys
    values = {
        "name": name,
        "description": f"Variator with the belt {parameters.name}",
        "reduced": model.name,
        "ratio.min": f"{ratio.low:.4g}",
        "ratio.max": f"{ratio.high:.4g}",
        "parameters.belt.offset": f"{pulleys.alignment_offset:.6g}",
    }
    for side in ("primary", "secondary"):
        values |= {f"parameters.{side}.J": f"{pulleys.J:.6g}", f"parameters.{side}.sheave.R": f"{pulleys.r_max:.6g}"}
    text = edited(read_unit_file(TEMPLATE).text, values, TEMPLATE)
    text = text[text.index("\nname =") + 1 :]
    return f"# Written by rtcvt own. Pistons, bearings and oil are those of {TEMPLATE}: enter your own.\n\n{text}"
