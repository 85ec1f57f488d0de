"""The module path of rtcvt's command and of all processes that rtcvt starts: the current folder is not on it.

Python puts the script's folder, or the current one with ``-m`` and ``-c``, first on ``sys.path``: a file ``random.py``
that lies there would be run in place of Python's own. An empty entry of PYTHONPATH and ``.`` mean the current folder as
well, whichever that is, and are dropped; a folder that PYTHONPATH names in full stays. This module imports nothing that
Python has not loaded before, since it acts before all other imports.
"""

import os
import sys

_left = False


def is_command() -> bool:
    """Whether this process was started as ``rtcvt`` or ``python -m rtcvt``, and not as a script that imports rtcvt."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name == "-m":  # until Python has found the module
        return "-m" in sys.orig_argv and sys.orig_argv[sys.orig_argv.index("-m") + 1].split(".")[0] == "rtcvt"
    return name in ("rtcvt", "rtcvt.exe", "rtcvt-script.py")


def environment() -> dict[str, str]:
    """Environment of this process for a child that has no current folder on its module path."""
    found = dict(os.environ) | {"PYTHONSAFEPATH": "1"}
    if "PYTHONPATH" in found:
        found["PYTHONPATH"] = os.pathsep.join(p for p in found["PYTHONPATH"].split(os.pathsep) if not _is_current(p))
        if not found["PYTHONPATH"]:
            del found["PYTHONPATH"]  # an empty one is the current folder on some systems
    return found


def leave_current_folder() -> None:
    """Remove the current folder, and that of the script, from the module path of this process, which is a command of
    rtcvt, and of its children."""
    global _left
    if _left:
        return
    _left, here = True, _here()
    script = os.path.realpath(sys.argv[0]) if sys.argv else ""
    if not sys.flags.safe_path and sys.path[:1] and sys.path[0] in ("", here, script, os.path.dirname(script)):
        del sys.path[0]
    given, safe = os.environ.get("PYTHONPATH", ""), environment()
    kept = safe.get("PYTHONPATH", "").split(os.pathsep)
    if given and any(map(_is_current, given.split(os.pathsep))) and here not in map(os.path.normpath, kept):
        sys.path[:] = [p for p in sys.path if p not in ("", here)]
    os.environ.pop("PYTHONPATH", None)
    os.environ.update(safe)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _is_current(entry: str) -> bool:
    """Whether an entry of PYTHONPATH is the current folder, whichever that is: empty, ``.`` and the like."""
    return os.path.normpath(entry or ".") == "."
