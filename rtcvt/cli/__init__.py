"""The command line: ``rtcvt show``, ``new``, ``simulate``, ``sweep``, ``export``, ``ssp``, ``run``, ``plot``, ``view``,
``check``, ``map``, ``sheave``, ``campaign``, ``reduce``, ``calibrate`` and ``own``.

A module for each command, registered when it is imported. Errors that the user can correct are printed as one message
and end with exit code 2; a failed check ends with 1.
"""

import inspect
import logging
import os
import sys
from importlib import import_module
from typing import TextIO

import typer
from rich.logging import RichHandler

from rtcvt import __version__
from rtcvt.cli.console import EXTRAS, app, fail, notes, opt, out
from rtcvt.environment import ALLOW, docstring
from rtcvt.errors import InputError

__all__ = ["app", "main"]

_ORDER = "show new simulate sweep export run view check map sheave campaign reduce calibrate own"  # of the help
for _name in _ORDER.split():
    import_module(f"rtcvt.cli.{_name}")


_ALLOW = "Run or compile code that unit files name: laws, sources of FMUs. Only of files you trust."


def _version(asked: bool) -> None:
    if asked:
        out.print(f"rtcvt {__version__}")
        raise typer.Exit


def _options(
    version: bool = opt("--version", help="Print the version.", default=False, callback=_version, is_eager=True),
    allow_code: bool = opt("--allow-code", default=False, help=_ALLOW),
) -> None:
    """Real-time models of gear systems, belt drives and variators.

    A [bold]unit[/] is a machine described in a TOML file, or one of those that come with rtcvt. From it rtcvt makes a
    full model and reduced ones (rigid, or hybrid where a belt creeps), simulates them, exports the
    reduced ones as FMI 2.0 units with their controllers, runs units against the clock and reports how far they are from
    the full model.

    [bold]A first round:[/]

      rtcvt show                        the units that come with rtcvt
      rtcvt show toroidal_kers          sets, radii matrix and reduced matrices
      rtcvt check toroidal_kers         full against rigid model: report.html
      rtcvt export toroidal_kers        toroidal_kers.fmu, for any FMI 2.0 tool
      rtcvt run toroidal_kers.fmu --duration 10    in real time, at a fixed step

    [bold]Belts:[/]

      rtcvt check accessory_5pk         a belt drive: full against hybrid model
      rtcvt simulate pushbelt_cvt       a pushbelt variator in real time
      rtcvt campaign --help             how such a reduced model is made

    Quantities have units, also on the command line: --set geometry.r_c="30 mm" --step "0.5 ms".
    """
    del version
    if allow_code:
        os.environ[ALLOW] = "1"


_about = inspect.cleandoc(docstring(_options)).split("\n\n")
app.callback(help="\n\n".join(p if p.startswith(" ") else " ".join(p.split()) for p in _about))(_options)

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
