"""Commands whose output is a file that they read, also through another file, and the folder in which they are given."""

import os
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from rows import text_of

from rtcvt.offline.variator.plan import shipped_plans
from rtcvt.unitfile import shipped_units

__all__ = ["READ", "build", "link", "state"]

SYSTEM = text_of("units/overwritten_system.toml")
READ = {  # command: the output that is refused, what it is a link to, and what reads this
    "simulate sys.toml --json part.toml": ("part.toml", "part.toml", "sys.toml: components.c.unit"),
    "export sys.toml --no-check -o hard.fmu": ("hard.fmu", "part.toml", "sys.toml: components.c.unit"),
    "ssp sys.toml -o soft.ssp": ("soft.ssp", "part.toml", "sys.toml: components.c.unit"),
    "simulate sys.toml -o fuel.csv": ("fuel.csv", "fuel.csv", "engine.toml: fuel"),
    "simulate engine.toml --json fuel.csv": ("fuel.csv", "fuel.csv", "engine.toml: fuel"),
    "export engine.toml --no-check --backend python -o soft.fmu": ("soft.fmu", "fuel.csv", "engine.toml: fuel"),
    "simulate cycle.toml -o cycle.csv": ("cycle.csv", "cycle.csv", "cycle.toml: cycle"),
    "export cycle.toml --no-check -o soft.fmu": ("soft.fmu", "cycle.csv", "cycle.toml: cycle"),
    "simulate cvt.toml -o red.h5": ("red.h5", "red.h5", "cvt.toml: reduced"),
    "check cvt.toml -o soft.html": ("soft.html", "red.h5", "cvt.toml: reduced"),
    "map cvt.toml --json hard.json": ("hard.json", "cvt.toml", "unit"),
    "reduce runs --prior red.h5 -o hard.h5": ("hard.h5", "red.h5", "--prior"),
    "reduce runs -o new.h5 --report hard.html": ("hard.html", "runs/a.h5", ""),
    "campaign pushbelt_24mm -p plan.toml -o new --summary soft.csv": ("soft.csv", "plan.toml", "--plan"),
    "campaign pushbelt_24mm -p plan.toml -o runs": ("runs/index.csv", "plan.toml", "--plan"),
    "calibrate runs/set.toml -p reproduction -o runs": ("runs/set.toml", "runs/set.toml", "unit"),
    "run x.fmu --can virtual:x --dbc net.dbc --save-dbc soft.dbc": ("soft.dbc", "net.dbc", "--dbc"),
    "run x.fmu --can virtual:x --dbc net.dbc --json hard.json": ("hard.json", "net.dbc", "--dbc"),
    "run x.fmu -o soft.mf4": ("soft.mf4", "x.fmu", "fmu"),
    "run x.fmu --inputs in.csv -o hard.h5": ("hard.h5", "in.csv", "--inputs"),
    "run x.fmu --scenario case.toml --json soft.json": ("soft.json", "case.toml", "--scenario"),
    "simulate part.toml --scenario case.toml -o hard.h5": ("hard.h5", "case.toml", "--scenario"),
    "export part.toml --no-check --cross-check -o new.fmu": ("new_in.csv", "part.toml", "unit"),
    "export part.toml --figures fig.json -o soft.fmu": ("soft.fmu", "fig.json", "--figures"),
    "view red.h5 -o hard.html": ("hard.html", "red.h5", "recording"),
    "plot red.h5 -o soft.png": ("soft.png", "red.h5", "recording"),
}  # fmt: skip


def build(folder: Path) -> None:
    """Put the files there."""
    package, units = files("rtcvt"), {name: path.read_text() for name, path in shipped_units().items()}
    (folder / "runs").mkdir()
    for name, place in (
        ("fuel.csv", "engine/gasoline_80kw_fuel.csv"),
        ("cycle.csv", "cycles/nedc.csv"),
        ("red.h5", "reduced/pushbelt_24mm_belief.h5"),
        ("runs/a.h5", "reduced/pushbelt_24mm_belief.h5"),
    ):
        shutil.copy(str(package / place), folder / name)
    texts = dict.fromkeys(("net.dbc", "x.fmu", "in.csv", "fig.json"), "mine")
    texts |= {
        "sys.toml": SYSTEM,
        "part.toml": units["clutch"],
        "engine.toml": units["engine"].replace('"gasoline_80kw_fuel"', '"fuel.csv"'),
        "cycle.toml": units["nedc"].replace('cycle = "nedc"', 'cycle = "cycle.csv"'),
        "cvt.toml": units["pushbelt_cvt"].replace('"pushbelt_24mm_belief"', '"red.h5"'),
        "runs/set.toml": units["pushbelt_24mm"],
        "plan.toml": shipped_plans()["quick"].read_text(),
        "case.toml": 'duration = "0.01 s"\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)


def link(folder: Path, words: str, how: Callable[[Path, Path], object]) -> None:
    """Make the output a link to the input, if it has another name."""
    output, source, _ = READ[words]
    if output != source:
        how(folder / source, folder / output)


def state(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Contents and inodes of all files."""
    return {p: (p.read_bytes(), os.lstat(p).st_ino) for p in folder.rglob("*") if p.is_file()}
