"""An FMU in C that does what no unit should, in the step and the way that its parameters say."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from rows import tables, text_of

sys.path.append(str(Path(__file__).parents[1]))
from archives import unit_of

__all__ = ["DEADLY", "MISDEEDS", "OVERLOAD", "build", "command", "scenario_file"]

SOURCE = Path(__file__).with_name("hostile.c").read_text(encoding="utf-8")
DESCRIPTION = text_of("fmi/hostile.xml")

_TABLES = tables("fmi/misdeeds.toml")
MISDEEDS = {name: number for number, name in enumerate(_TABLES["names"])}
DEADLY = _TABLES["deadly"]


def build(folder: Path) -> Path:
    """The FMU."""
    return unit_of(folder, "hostile", DESCRIPTION)


OVERLOAD = '[fault.slow]\nkind = "overload"\nvalue = "50 s"\nstart = "0.2 s"\nduration = "1 s"\n'


def scenario_file(folder: Path, misdeed: str, seconds: float = 60, fault: str = "") -> Path:
    """A scenario in which the unit misbehaves from 0.3 s on."""
    file = folder / "scenario.toml"
    inputs = f"[inputs]\nu = 1.0\n[parameters]\nmode = {MISDEEDS[misdeed]}\nat = 0.3\n"
    file.write_text(f'duration = "{seconds} s"\n{inputs}{fault}')
    return file


def command(fmu: Path, scenario: Path, path: Path, *words: str, **more: Any) -> subprocess.Popen[str]:
    """``rtcvt run`` with a scenario and a recording."""
    words = ("run", str(fmu), "--scenario", str(scenario), "-o", str(path), *words)
    return subprocess.Popen([sys.executable, "-m", "rtcvt", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **more)  # fmt: skip
