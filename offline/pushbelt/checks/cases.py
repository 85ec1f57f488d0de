"""The source's own cases (Cebulla 2014, chapter 7) in all models of a belt.

For each case: measured or printed values, the steady theory, the full model, planar and spatial, under the load of the
unit file, and the real-time unit made from it. Runs of the full model are those of a campaign: operating points held
by an end stop, at the ratio of the rocking edges that belongs to i_r of the neutral fibre. Their results are shipped as
JSON, made by

    python -m rtcvt.offline.pushbelt.checks.cases UNIT FOLDER

The speed ratio omega_I/omega_O is i/(1 - slip).
"""

import json
import sys
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from rtcvt.files import read_json
from rtcvt.offline.pushbelt.run.prepare import start_of
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, Point, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.windows import summary
from rtcvt.offline.pushbelt.theory import at_case
from rtcvt.offline.pushbelt.unit.parameters import Parameters, belt, load_parameters, sheaves
from rtcvt.recording import write_text

CASES = (("LOW", 0), ("LOW-Honda", 0), ("MED", 3), ("OD", 0), ("OD-KpKs", 3))
PRINTED = {"LOW": 1.18, "LOW-Honda": 1.2929, "OD": 1.4854}  # thrust ratios of Tables 7.4 and 7.5
MEASURED = ("LOW", "LOW-Honda")  # the speed ratio i_s of the others is "approximately" i_r
MODELS = ("theory", "planar", "spatial", "unit")
TURNS = {"planar": (20.0, 10.0, 0.0), "spatial": (14.0, 6.0, 4.0)}  # settling, mean, hybrid ones before: revolutions
STEP = {"planar": 2e-6, "spatial": 1.75e-6}  # [s]
_KEYS = ("ratio", "omega_I", "F_O", "M_O", "slip", "thrust_ratio")
Case = dict[str, Any]


def runs(parameters: Parameters) -> Iterator[tuple[str, str, Run]]:
    """Case, model (``planar``, ``spatial``) and run, for all of `CASES`."""
    b, s = belt(parameters), sheaves(parameters)
    for name, row in CASES:
        at, _ = at_case(parameters, name, row, coupled=True)
        omega_I, F_O = float(at.omega_I), float(at.F_O)
        xi = 1e-6 * float(at.M_O) / start_of(b, s, Point(at.ratio, omega_I, 1e-6, F_O))[1]
        for model, (settle, mean, before) in TURNS.items():
            spatial = model == "spatial"
            settings = Settings(
                scheme="multirate", step=STEP[model], model="spatial" if spatial else "hybrid",
                before=before, flank_points=1 + spatial,
            )  # fmt: skip
            point = Point(at.ratio, omega_I, xi, F_O)
            yield name, model, Run(f"{name}-{model}", point, settings, settle=settle - before, mean=0.5 * mean)


def make(parameters: Parameters, folder: Path) -> dict[str, Case]:
    """Results of theory and full model by case and model [SI]; runs that are in the folder are not repeated."""
    found: dict[str, Case] = {name: {} for name, _ in CASES}
    for name, row in CASES:
        at, of_theory = at_case(parameters, name, row, coupled=True)
        case = parameters.get_case(name)
        found[name] |= {"i_s": case.i_s if name in MEASURED else None, "printed": PRINTED.get(name)}
        found[name]["theory"] = {"ratio": at.ratio, "slip": of_theory.slip, "thrust_ratio": of_theory.thrust_ratio}
    folder.mkdir(parents=True, exist_ok=True)
    for name, model, run in runs(parameters):
        path = folder / f"{run.name}.h5"
        if not path.exists() and simulate(parameters, run, path, parameters.text, resume=True).ended != COMPLETE:
            continue
        with open_run(path) as file:
            values = summary(file)
        both = {key: float(np.mean(values[key][:2])) for key in _KEYS}  # the last two windows
        found[name][model] = both
        print(run.name, both, flush=True)
    return found


def table(found: Mapping[str, Case]) -> Table:
    """Slip [%], speed and thrust ratio by case and model."""
    shown = Table("case", "", "given", *MODELS, title="The source's cases", title_justify="left")
    for name, case in found.items():
        models = [case.get(model) for model in MODELS]
        for about, given, of in (
            ("slip", "", lambda m: f"{100.0 * m['slip']:.2f} %"),
            ("speed ratio", case["i_s"] or "", lambda m: f"{m['ratio'] / (1.0 - m['slip']):.3f}"),
            ("thrust ratio", case["printed"] or "", lambda m: f"{m['thrust_ratio']:.3f}"),
        ):
            shown.add_row(
                name if about == "slip" else "", about, str(given), *("" if m is None else of(m) for m in models)
            )
    return shown


def on_record(name: str) -> dict[str, Case]:
    """The shipped results of a belt by its name, as `make` returns them; empty if there are none."""
    path = Path(str(resources.files("rtcvt"))) / "reduced" / f"{name}_cases.json"
    return read_json(path, "the source's cases") if path.is_file() else {}


if __name__ == "__main__":
    p = load_parameters(sys.argv[1])
    write_text(Path(f"{p.name}_cases.json"), json.dumps(make(p, Path(sys.argv[2])), indent=1) + "\n")
