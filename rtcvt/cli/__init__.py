"""The command line: ``rtcvt show``, ``new``, ``simulate``, ``sweep``, ``export``, ``ssp``, ``run``, ``plot``, ``view``,
``check``, ``map``, ``sheave``, ``campaign``, ``reduce``, ``calibrate`` and ``own``.

A module for each command, registered when it is imported. Errors that the user can correct are printed as one message
and end with exit code 2; a failed check ends with 1.
"""

import logging
import os
import sys
from importlib import import_module
from typing import TextIO

import typer
from rich.logging import RichHandler

from rtcvt import __version__
from rtcvt.cli.console import EXTRAS, app, fail, notes, opt, out
from rtcvt.environment import ALLOW
from rtcvt.errors import InputError

__all__ = ["app", "main"]

# in the order of the help
for _name in [
    "show",
    "new",
    "simulate",
    "sweep",
    "export",
    "run",
    "view",
    "check",
    "map",
    "sheave",
    "campaign",
    "reduce",
    "calibrate",
    "own",
]:
    import_module(f"rtcvt.cli.{_name}")


def _version(asked: bool) -> None:
    if asked:
        out.print(f"rtcvt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = opt("Print the version.", "--version", default=False, callback=_version, is_eager=True),
    allow_code: bool = opt(
        "Run or compile code that unit files name: laws, sources of FMUs. Only of files you trust.",
        "--allow-code",
        default=False,
    ),
) -> None:
    del version
    if allow_code:
        os.environ[ALLOW] = "1"


_logger = logging.getLogger("rtcvt")
_logger.addHandler(RichHandler(console=notes, show_time=False, show_level=False, show_path=False))
_logger.setLevel(logging.INFO)


def _discard(stream: TextIO) -> None:
    """Discard the buffer of a stream: Python would try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main() -> None:
    """Entry point of the command ``rtcvt``."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except InputError as error:
        fail(str(error), 2)
    except BrokenPipeError:  # who reads has had enough, as head has
        _discard(sys.stdout)
        sys.exit(1)
    except (OSError, MemoryError) as error:  # full, no rights, a name that is too long
        _discard(sys.stdout)
        what = getattr(error, "strerror", None) or str(error) or "not enough memory"
        fail(f"{getattr(error, 'filename', None) or 'output'}: {what}", 2)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if "pip install" in str(error):
            fail(str(error), 2)
        if package not in EXTRAS:
            raise
        fail(f"this command needs {package}: pip install rtcvt[{EXTRAS[package]}]", 2)
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt) or isinstance(stop.__cause__, KeyboardInterrupt):
            notes.print("interrupted")
        raise
