"""Commands whose output is a file that they read, also through another file, and the folder in which they are given."""

import os
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from rows import tables, text_of

from rtcvt.offline.variator.plan import shipped_plans
from rtcvt.unitfile import shipped_units

__all__ = ["READ", "build", "link", "state"]

SYSTEM = text_of("units/overwritten_system.toml")
# command: the output that is refused, what it is a link to, and what reads this
READ = tables("cases/overwriting.toml")
COPIED = READ.pop("copied")


def build(folder: Path) -> None:
    """Put the files there."""
    package, units = files("rtcvt"), {name: path.read_text() for name, path in shipped_units().items()}
    (folder / "runs").mkdir()
    for name, place in COPIED.items():
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
