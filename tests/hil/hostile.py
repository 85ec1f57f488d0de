"""An FMU in C that does what no unit should, in the step and the way that its parameters say."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from rows import text_of

sys.path.append(str(Path(__file__).parents[1]))
from archives import unit_of

__all__ = ["DEADLY", "MISDEEDS", "OVERLOAD", "build", "command", "scenario_file"]

SOURCE = Path(__file__).with_name("hostile.c").read_text(encoding="utf-8")
DESCRIPTION = text_of("fmi/hostile.xml")

_NAMES = (
    "nothing", "segfault", "abort", "bus_error", "overflow", "divide", "illegal", "exit", "exit_at_once", "killed",
    "memory", "hang", "sleep", "not_a_number", "infinite", "status_7", "status_minus_1", "at_start", "at_end",
    "hang_at_end", "terminates", "ones", "zeros", "threes", "random", "forks", "leaves", "stopped",
)  # fmt: skip
MISDEEDS = {name: number for number, name in enumerate(_NAMES)}
DEADLY = {  # what the rig should say
    "segfault": "SIGSEGV", "abort": "SIGABRT", "bus_error": "SIGBUS", "overflow": "SIGSEGV", "divide": "SIGFPE",
    "illegal": "SIGILL", "exit": "exit()", "exit_at_once": "with code 0", "killed": "SIGKILL", "memory": "SIGSEGV",
}  # fmt: skip


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
