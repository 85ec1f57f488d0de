"""Environment of the process, each item read in one place: memory, home, date, docstrings, libraries."""

import ast
import inspect
import os
import re
import stat
import textwrap
import warnings
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from rtcvt.errors import InputError

MIN_MEMORY = 768 * 2**20  # [bytes] of address space: libraries alone need 670 MB in some commands
AMPLE_MEMORY = 4096 * 2**20  # [bytes] from which each thread of OpenBLAS has its own buffers
ALLOW = "RTCVT_ALLOW_CODE"  # variable of the environment: 1 permits code of files
LAST_SECOND = 253402300799  # of the year 9999


def require_memory() -> None:
    """Refuse limits of the memory in which libraries do not start: OpenBLAS waits for ever, others end in any way.

    Raises
    ------
    InputError
        A limit is below `MIN_MEMORY`.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    for kind, command in ((resource.RLIMIT_AS, "ulimit -v"), (resource.RLIMIT_DATA, "ulimit -d")):
        limit = resource.getrlimit(kind)[0]
        if limit == resource.RLIM_INFINITY or limit >= AMPLE_MEMORY:
            continue
        if limit < MIN_MEMORY:
            allowed = f"at least {MIN_MEMORY >> 10} kB of memory for a process, or unlimited"
            raise InputError(command, "", limit >> 10, allowed)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def home() -> Path:
    """The user's home, in which libraries keep files. Where there is none that can be written, as in containers, it is
    a folder of this user's below that for temporary files.

    Raises
    ------
    InputError
        Others can write to that folder.
    """
    try:
        found = Path.home()
        if found.is_absolute() and os.access(found, os.W_OK | os.X_OK):
            return found
    except RuntimeError:  # no HOME, and the user is not in the password file
        pass
    user = getattr(os, "geteuid", int)()
    folder = Path(gettempdir()) / f"rtcvt-home-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != user or (about.st_mode & 0o022 and os.name == "posix"):
        raise InputError("HOME", "", os.environ.get("HOME"), f"a folder that can be written; others can write {folder}")
    return folder


def now() -> datetime:
    """The time that files note, in UTC: ``SOURCE_DATE_EPOCH`` if that is set, so that they are the same to the byte
    (https://reproducible-builds.org/specs/source-date-epoch).

    Raises
    ------
    InputError
        ``SOURCE_DATE_EPOCH`` is not a number of seconds.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        return datetime.now(UTC)
    if not re.fullmatch("[0-9]{1,12}", given, re.ASCII) or int(given) > LAST_SECOND:
        raise InputError("SOURCE_DATE_EPOCH", "", given, f"seconds since 1970, a whole number from 0 to {LAST_SECOND}")
    return datetime.fromtimestamp(int(given), UTC)


def docstring(of: Any) -> str:
    """The docstring of a module or function, from its text where Python leaves docstrings out (PYTHONOPTIMIZE=2)."""
    if of.__doc__ is not None:
        return str(of.__doc__)
    tree: Any = ast.parse(textwrap.dedent(inspect.getsource(of)))
    return ast.get_docstring(tree if inspect.ismodule(of) else tree.body[0], clean=False) or ""


def prepare() -> None:
    """Prepare a command before it imports libraries: refuse an environment in which they do not start, set defaults.

    Raises
    ------
    InputError
        See `require_memory`, `home` and `now`.
    """
    require_memory()
    now()
    os.environ["HOME"] = str(home())
    os.environ["MPLBACKEND"] = "agg"  # pictures go to files
    warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)  # else with a traceback in it


def library_that_fails(error: BaseException) -> str:
    """The library that raised an error while it was imported, with the variables that it reads; empty if none did."""
    place = error.__traceback__
    while place is not None:
        name = str(place.tb_frame.f_globals.get("__name__")).partition(".")[0]
        if place.tb_frame.f_code.co_name == "<module>" and name not in ("rtcvt", "__main__"):
            prefix = {"matplotlib": "MPL", "typer": "T"}.get(name, name.upper())
            given = [f"{key}={value}" for key, value in os.environ.items() if key.startswith(prefix)]
            return f"{name}{' with ' if given else ''}{', '.join(given)}"
        place = place.tb_next
    return ""
