"""The rig's loop as a shared library, compiled once per user.

The C compiler of the machine, or else zig (PyPI ``ziglang``), compiles ``loop.c``; the library stays in the user's
cache folder (``XDG_CACHE_HOME``, by default ``~/.cache``) under a hash of its source and of the command that made it.
"""

import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from rtcvt import processes
from rtcvt.environment import home
from rtcvt.errors import AsInputError, InputError

SOURCE = Path(__file__).with_name("loop.c")
FLAGS = ["-std=c11", "-O2", "-fPIC", "-shared", "-pthread"]


def available() -> bool:
    """Whether the loop can be had: on Linux, with a compiler."""
    return platform.system() == "Linux" and _compiler() is not None


def library() -> Path:
    """The compiled loop, from the cache if it is there.

    Raises
    ------
    InputError
        Not on Linux, no compiler, it fails, or no folder for the library can be written.
    """
    compiler = _compiler()
    if platform.system() != "Linux" or compiler is None:
        raise InputError("--pacing", "", "native", "Linux and a compiler (pip install rtcvt[native]); or 'python'")
    text = SOURCE.read_bytes()
    key = hashlib.sha256(text + repr([compiler, FLAGS, platform.machine()]).encode()).hexdigest()[:16]
    file = _cache() / f"loop-{key}.so"
    if not file.is_file():
        with AsInputError(OSError, "native loop", "", str(file), lambda e: f"a file that can be written: {e.strerror}"):
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=file.parent) as folder:
                made = Path(folder) / file.name
                command = [*compiler, *FLAGS, str(SOURCE), "-o", str(made), "-lm"]
                done = processes.run(command)
                if done.returncode != 0:
                    raise InputError("native loop", "compiler", None, f"it failed:\n{done.stderr.strip()[-2000:]}")
                os.replace(made, file)
    return file


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if Path(given).is_absolute() else home() / ".cache") / "rtcvt"


def _compiler() -> list[str] | None:
    own = shutil.which("cc")  # first, since it is faster
    if own is not None:
        return [own]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-P", "-m", "ziglang", "cc", "-fno-sanitize=undefined"]
    return None
