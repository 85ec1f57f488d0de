"""Completion in the shell: units, scenarios, parameters, signals, plans (``rtcvt --install-completion``)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer

from rtcvt.errors import InputError
from rtcvt.lazily import lazily


def _beginning(names: Iterable[str], incomplete: str) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))


def _files(incomplete: str, *suffixes: str) -> Iterator[str]:
    """Files and folders that a path may go on with."""
    with suppress(OSError):
        for path in sorted(Path().glob(f"{incomplete}*")):
            if path.is_dir():
                yield f"{path}/"
            elif path.suffix in suffixes:
                yield str(path)


def _given(ctx: typer.Context, name: str) -> str:
    """The argument of a command; it is not parsed yet if the line ends after an option."""
    return str(ctx.params.get(name) or ctx.args[0])


def _shipped(names: str, *kinds: str) -> Callable[[str], list[str]]:
    """Completion by what comes along, ``names(*kinds)``, and by TOML files."""

    def complete(incomplete: str) -> list[str]:
        with suppress(ModuleNotFoundError):
            return [*_beginning(lazily(names)(*kinds), incomplete), *_files(incomplete, ".toml")]
        return []

    return complete


units = _shipped("rtcvt.unitfile:shipped_units")
systems = _shipped("rtcvt.unitfile:shipped_units", "system")
calibrations = _shipped("rtcvt.offline.variator.calibration.plan:shipped_calibrations")
plans = _shipped("rtcvt.offline.variator.plan:shipped_plans")


def scenarios(ctx: typer.Context, incomplete: str) -> list[str]:
    """Scenarios of the unit on the command line, and scenario files."""
    found: list[str] = []
    with suppress(InputError, IndexError):
        from rtcvt.kind import load_unit

        found = [s.name for s in load_unit(_given(ctx, "unit")).scenario]
    return [*_beginning(found, incomplete), *_files(incomplete, ".toml")]


def parameters(ctx: typer.Context, incomplete: str) -> list[str]:
    """``NAME=`` of the parameters of the unit on the command line."""
    with suppress(InputError, IndexError):
        from rtcvt.kind import load_unit

        rows = load_unit(_given(ctx, "unit")).build().select("parameter")
        return list(_beginning((f"{v.name}=" for v in rows), incomplete))
    return []


def signals(ctx: typer.Context, incomplete: str) -> list[str]:
    """Signals of the recording on the command line."""
    with suppress(InputError, IndexError):
        from rtcvt.interface import read

        return list(_beginning(read(_given(ctx, "recording")).names, incomplete))
    return []
