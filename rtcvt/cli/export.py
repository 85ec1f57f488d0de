"""``rtcvt export`` and ``rtcvt ssp``."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rtcvt.cli.console import (
    Model,
    Settings,
    Substeps,
    UnitName,
    assignments,
    command,
    progress_bar,
    say,
)
from rtcvt.errors import InputError

if TYPE_CHECKING:
    from rtcvt.documentation import ErrorRow
    from rtcvt.unitfile import Unit


class Backend(StrEnum):
    """What runs inside the FMU."""

    python = "python"
    native = "native"


@command
def export(
    unit: UnitName,
    model: Model = None,
    backend: Annotated[
        Backend, typer.Option(help="native: machine code; python: needs rtcvt in the importing tool's Python.")
    ] = Backend.native,
    platforms: Annotated[
        list[str] | None,
        typer.Option(
            "--platform",
            metavar="NAME",
            help="Of a native unit: linux64, win64, darwin64, aarch64-linux or aarch64-darwin. Repeatable; "
            "default: this machine's.",
        ),
    ] = None,
    flanges: Annotated[
        list[str] | None,
        typer.Option(
            "--flange",
            metavar="NAME=CAUSALITY",
            help="What goes into a flange: torque (the speed comes out) or speed (the torque comes out). Repeatable; "
            "default: as in the unit file.",
        ),
    ] = None,
    substeps: Substeps = None,
    settings: Settings = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default: UNIT.fmu")] = None,
    checked: Annotated[
        bool, typer.Option("--check/--no-check", help="Put the check's errors into the documentation.")
    ] = True,
    figures: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Errors from an earlier check --json, instead of a new check.")
    ] = None,
) -> None:
    """Export a unit as an FMI 2.0 FMU with documentation inside.

    The native backend makes units for co-simulation and model exchange in machine code, with their C sources and
    reference results inside; it needs the extra 'native'. The first unit for a platform may take a minute, while
    the compiler makes that platform's C library. The python backend makes co-simulation units that run in the importing
    tool's Python.

    The documentation holds the equations, the unit's diagram, all variables and how far the model is from the full one:
    of gear systems on the unit's scenarios, of variators on held-out runs; --no-check skips the runs that this takes.
    --set changes start values. A flange with a given speed turns its gear through a stiff spring and damper, the
    parameters NAME.c and NAME.d.
    """
    from fmu.export import export_python, require_fmu_name
    from fmu.slave import with_start_values
    from rtcvt.belt.page import belt_page
    from rtcvt.belt.unit import BeltUnit
    from rtcvt.build import build_any, choose_flanges, load_any
    from rtcvt.cli.variator import error_rows
    from rtcvt.documentation import documentation_page
    from rtcvt.scenario import parameter_value
    from rtcvt.unitfile import Unit
    from rtcvt.variator.kers_build import variator_inside
    from rtcvt.variator.page import variator_page
    from rtcvt.variator.unit import Variator
    from rtcvt.vehicle.page import part_page
    from rtcvt.vehicle.parts import Part

    loaded = load_any(unit)
    choice = {k: str(v) for k, v in assignments(flanges, "--flange").items()}
    chosen = choose_flanges(loaded, choice, "--flange")
    built = build_any(chosen, model.value if model else None, substeps)
    values = dict(parameter_value(built, k, v, "--set") for k, v in assignments(settings).items())
    path = output or Path(f"{loaded.name}.fmu")
    require_fmu_name(path)
    if platforms and backend is not Backend.native:
        raise InputError("--platform", "", platforms[0], "only with --backend native")
    started = with_start_values(built, values)
    if isinstance(loaded, Unit) and isinstance(chosen, Unit):
        couplings = {f"{name}.{key}" for name, port in chosen.ports.items() if port.coupled for key in "cd"}
        shared = [s for s in settings or [] if s.partition("=")[0].strip() not in couplings]
        rows = _error_rows(loaded, shared, figures) if figures or (checked and loaded.scenario) else None
        page = documentation_page(started, chosen, rows)
    elif isinstance(chosen, Variator):
        inside = chosen if chosen.controller is None else variator_inside(chosen)
        rows = error_rows(inside, built.fidelity, figures) if figures or checked else None
        page = variator_page(started, chosen, rows)
    elif isinstance(chosen, BeltUnit):
        page = belt_page(started, chosen)
    elif isinstance(chosen, Part):
        page = part_page(started, chosen)
    if backend is Backend.native:
        from fmu.native.export import export_native, own_platform

        kinds = "co-simulation and model exchange"
        export_native(chosen, built.fidelity, path, platforms or [own_platform()], substeps, values, page)
    else:
        kinds = "co-simulation"
        export_python(chosen, built.fidelity, path, substeps, values, page)
    say(f"{built.name}, {built.fidelity} model, FMI 2.0 {kinds}: {path} ({path.stat().st_size / 1e3:.0f} kB)")


@command
def ssp(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="A TOML file, or the name of a shipped system.")],
    platforms: Annotated[
        list[str] | None,
        typer.Option("--platform", metavar="NAME", help="As of export. Repeatable; default: this machine's."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Default: SYSTEM.ssp")] = None,
) -> None:
    """Export a system of connected units as an SSP 1.0 archive, with native units inside.

    A system file names its components (a unit, its parameters), their connections ("car.axle.w -> gear.axle.w") and an
    experiment (duration, step). Every importer exchanges the outputs at the communication points, so a system is as
    accurate as its step is small.
    """
    from fmu.native.export import own_platform
    from fmu.ssp import export_ssp, require_ssp_name
    from rtcvt.system import build_system, direct_loop, load_system

    coupled = build_system(load_system(system))
    path = output or Path(f"{coupled.system.name}.ssp")
    require_ssp_name(path)
    export_ssp(coupled, path, platforms or [own_platform()])
    loop = direct_loop(coupled)
    if loop:
        say(f"algebraic loop, which the communication step delays: {' <- '.join(loop)}")
    about = f"{len(coupled.models)} components, {len(coupled.connections)} connections"
    say(f"{coupled.system.name}, SSP 1.0, {about}: {path} ({path.stat().st_size / 1e3:.0f} kB)")


def _error_rows(unit: "Unit", settings: list[str] | None, figures: Path | None) -> "list[ErrorRow]":
    """The check's errors, from a file or from a new check."""
    from rtcvt.documentation import ErrorRow

    found: Any
    if figures is None:
        from offline.check import check_unit

        with progress_bar() as bar:
            found = check_unit(unit, assignments(settings), progress=bar).figures()
    else:
        try:
            found = json.loads(figures.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(figures, "", None, f"a file written by rtcvt check --json ({error})") from None
    try:
        about = (found["unit"], found["parameters"])
        rows = [
            ErrorRow(s["name"], e["signal"], e["unit"], float(e["nrms"]), float(e["limit"]), float(e["peak"]))
            for s in found["scenarios"]
            for e in s["errors"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(figures, "", None, f"a file written by rtcvt check --json (no {error})") from None
    if about != (unit.name, assignments(settings)):
        raise InputError(figures, "unit, parameters", about, f"a check of {unit.name} with the same --set")
    return rows
