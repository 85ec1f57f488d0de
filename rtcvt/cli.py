"""The command line: ``rtcvt show``, ``simulate``, ``export``, ``ssp``, ``run``, ``plot`` and ``check``.

Errors that the user can mend are printed as one message and end with exit code 2; a failed check ends with 1.
"""

import inspect
import json
import math
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rtcvt import __version__
from rtcvt.errors import InputError

if TYPE_CHECKING:
    from rtcvt.build import AnyUnit
    from rtcvt.documentation import ErrorRow
    from rtcvt.scenario import Fault
    from rtcvt.unitfile import Scenario, Unit
    from rtcvt.vehicle.parts import Part

__all__ = ["app", "main"]

_EXTRAS = {
    "matplotlib": "offline",
    "fmpy": "hil",
    "asammdf": "hil",
    "can": "hil",
    "cantools": "hil",
    "ziglang": "native",
}  # packages that the core does without

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="""Real-time models of gear systems and variators.

    A [bold]unit[/] is a machine described in a TOML file, or one of those that come with rtcvt. \
From it rtcvt makes a full elastic model and a reduced rigid one, simulates both, exports either as an FMI 2.0 unit \
with its controller, runs units against the clock and reports how far the rigid model is from the full one.

    [bold]A first round:[/]

      rtcvt show                        the units that come with rtcvt
      rtcvt show toroidal_kers          sets, radii matrix and reduced matrices
      rtcvt check toroidal_kers         full against rigid model: report.html
      rtcvt export toroidal_kers        toroidal_kers.fmu, for any FMI 2.0 tool
      rtcvt run toroidal_kers.fmu --duration 10    in real time, at a fixed step

    Quantities take units, also on the command line: --set geometry.r_c="30 mm" --step "0.5 ms".
    """,
)
out = Console()
notes = Console(stderr=True)


class Fidelity(StrEnum):
    """Which model of the unit."""

    rigid = "rigid"
    full = "full"


class Backend(StrEnum):
    """What runs inside the FMU."""

    python = "python"
    native = "native"


class Pacing(StrEnum):
    """What keeps the clock."""

    native = "native"
    python = "python"


class Overrun(StrEnum):
    """What follows a step that ended after the next deadline."""

    catch_up = "catch-up"
    skip = "skip"
    stop = "stop"


UnitName = Annotated[str, typer.Argument(metavar="UNIT", help="A TOML file, or the name of a shipped unit.")]
Model = Annotated[Fidelity, typer.Option("--model", "-m", help="Reduced rigid model, or full elastic model.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help='A parameter, e.g. geometry.r_c="30 mm" or gear.a.J=0.2. Repeatable.'
    ),
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to FILE, see above.")]
ScenarioName = Annotated[
    str | None,
    typer.Option("--scenario", "-s", metavar="NAME|FILE", help="A scenario of the unit by name, or a scenario file."),
]
Substeps = Annotated[
    int | None, typer.Option(min=1, max=10000, help="Internal steps per unit step; default: the unit's.")
]


_PUSHBELT = ("case", "row", "duration", "elements", "law", "contact", "taper", "scheme", "plot_step", "resume")


def _pushbelt(*names: str, **about: Any) -> Any:
    """An option that only units of kind pushbelt take."""
    return typer.Option(*names, rich_help_panel="Options of pushbelt units", **about)


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command whose help is its docstring, paragraph by paragraph."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(p.split()) for p in paragraphs)
    text = text.replace("[", r"\[").replace(r"\[bold]", "[bold]").replace(r"\[/]", "[/]")  # units are no markup
    return app.command(help=text)(function)


def _version(asked: bool) -> None:
    if asked:
        out.print(f"rtcvt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


@_command
def show(
    unit: Annotated[
        str | None, typer.Argument(metavar="[UNIT]", help="A TOML file, or the name of a shipped unit.")
    ] = None,
    settings: Settings = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="KEY=VALUE", help="Where the moving variable is, e.g. theta=0.1."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead, see above.")] = False,
) -> None:
    """Print a unit's sets and matrices, or list the shipped units.

    Of a part of a vehicle its variables are printed, of a belt drive its taut belt, of a pushbelt its numbers and
    cases.

    R is the radii matrix of Algorithm 1, Q1 gives all speeds from the independent ones, L1, N1, A1 and B1 are the
    matrices of the rigid model L1 x1' + N1 x1 = A1 x1 + B1 tau; N1 is per rad/s of the moving variable.

    [bold]JSON keys:[/] unit, gears, springs, frictions, independent; R [m], Q1, B_delta_omega [N.m.s/rad], L1 [kg.m2],
    N1, A1, B1: matrices as lists of rows in the unit's order; at: where the moving variable is.
    """
    from rtcvt.build import load_any
    from rtcvt.pog.system import matrices
    from rtcvt.unitfile import Unit, read_toml, shipped_units
    from rtcvt.vehicle.parts import KINDS

    if unit is None:
        table = Table("unit", "kind", "description", box=None)
        for kind in ("gear_system", *KINDS, "belt", "pushbelt"):
            for name, file in shipped_units(kind).items():
                table.add_row(name, kind, escape(read_toml(file)[0]["description"]))
        out.print(table)
        return
    if _kind(unit) in ("belt", "pushbelt"):
        if settings or at:
            raise InputError("--set" if settings else "--at", "", (settings or at or [""])[0], "only of gear systems")
        (_show_belt if _kind(unit) == "belt" else _show_pushbelt)(unit, as_json)
        return
    loaded = load_any(unit)
    if not isinstance(loaded, Unit):
        _show_part(loaded, as_json)
        return
    instance = _instance(loaded, settings)
    tilt = _tilt(loaded, at)
    m = matrices(instance, tilt)
    if not all(np.all(np.isfinite(matrix)) for matrix in vars(m).values()):
        raise InputError("--set", "", settings, "parameters with finite matrices: these make a radius zero")
    gears, springs, independent = list(loaded.gears), list(loaded.contacts), list(loaded.rigid.independent)
    frictions = ["".join(f.between) for f in loaded.frictions.values()]
    shown = [
        ("R", m.R, springs, gears, "radii matrix [m]"),
        ("Q1", m.Q1, gears, independent, "speeds from the independent ones"),
        ("B_delta_omega", m.B_delta_omega, gears, gears, "relative friction [N.m.s/rad]"),
        ("L1", m.L1, independent, independent, "inertia of the rigid model [kg.m2]"),
        ("N1", m.N1, independent, independent, f"per rad/s of {loaded.moving} [kg.m2]" if loaded.moving else "[kg.m2]"),
        ("A1", m.A1, independent, independent, "damping of the rigid model, negative [N.m.s/rad]"),
        ("B1", m.B1, independent, gears, "torques on the independent speeds"),
    ]
    if as_json:
        data: dict[str, Any] = {"unit": loaded.name, "gears": gears, "springs": springs, "frictions": frictions}
        data |= {"independent": independent, "at": {loaded.moving: tilt} if loaded.moving else {}}
        data |= {name: matrix.tolist() for name, matrix, *_ in shown}
        print(json.dumps(data, indent=2, allow_nan=False))
        return
    where = f" at {loaded.moving} = {tilt:g} rad" if loaded.moving else ""
    out.print(f"[bold]{loaded.name}[/]{where}: {escape(loaded.description)}")
    for text, names in (("gears N_J", gears), ("springs N_K", springs), ("frictions N_B", frictions)):
        out.print(f"{text} = {{{', '.join(names)}}}, n = {len(names)}", highlight=False)
    for name, matrix, rows, columns, text in shown:
        out.print(f"\n[bold]{name}[/]  {escape(text)}", highlight=False)
        table = Table("", *columns, box=None)
        for row, values in zip(rows, matrix, strict=True):
            table.add_row(f"[bold]{row}[/]", *(_number(v) for v in values))
        out.print(table)


def _show_part(part: "Part", as_json: bool) -> None:
    """Variables of a part."""
    from rtcvt.build import build_any

    rows = build_any(part).variables
    if as_json:
        found = {v.name: {k: getattr(v, k) for k in ("causality", "unit", "start", "description")} for v in rows}
        print(json.dumps({"unit": part.name, "kind": part.kind, "variables": found}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{part.name}[/], a {part.kind}: {escape(part.description)}")
    table = Table("name", "causality", "start", "unit", "description", box=None)
    for v in rows:
        start = "" if v.start is None else _number(v.start)
        table.add_row(v.name, v.causality, start, v.unit, escape(v.description))
    out.print(table)


def _show_belt(unit: str, as_json: bool) -> None:
    """Taut belt of a drive: where it leaves each pulley, its wraps and spans."""
    from rtcvt.belt.unit import load_belt_unit

    drive = load_belt_unit(unit)
    path = drive.path()
    rows = [
        {"pulley": name, "side": pulley.side, "radius": float(path.radius[i]), "wrap": float(path.wrap[i]),
         "leaves_at": path.leaving(i).tolist(), "span": float(path.span[i])}
        for i, (name, pulley) in enumerate(drive.pulleys.items())
    ]  # fmt: skip
    found = {"unit": drive.name, "kind": drive.kind, "length": path.length, "rest_length": drive.rest_length()}
    if as_json:
        print(json.dumps({**found, "pulleys": rows}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{drive.name}[/], a belt drive: {escape(drive.description)}")
    out.print(f"belt of {path.length:.6g} m, {drive.rest_length():.6g} m without load, round {drive.winding}")
    table = Table("pulley", "side", "radius, m", "wrap, deg", "leaves at, m", "span to the next, m", box=None)
    for row in rows:
        x, y = row["leaves_at"]
        table.add_row(row["pulley"], row["side"], _number(row["radius"]), f"{math.degrees(row['wrap']):.2f}",
                      f"({_number(x)}, {_number(y)})", _number(row["span"]))  # fmt: skip
    out.print(table)


def _show_pushbelt(unit: str, as_json: bool) -> None:
    """Numbers of a pushbelt as its kernels see them, and its cases."""
    from offline.pushbelt.parameters import belt, load_parameters, sheaves

    parameters = load_parameters(unit)
    groups = {"belt": belt(parameters)._asdict(), "sheaves": sheaves(parameters)._asdict()}
    if as_json:
        cases = {c.name: c.model_dump() for c in parameters.case}
        print(json.dumps({"unit": parameters.name, **groups, "cases": cases}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{parameters.name}[/], a pushbelt: {escape(parameters.description)}")
    for group, values in groups.items():
        out.print(f"\n[bold]{group}[/], SI" + (f", scaled to {values['N_E']} elements" if group == "belt" else ""))
        text = [
            f"{k} = {', '.join(_number(float(x)) for x in v) if isinstance(v, tuple) else _number(float(v))}"
            for k, v in values.items()
        ]
        table = Table(*[""] * 4, box=None, show_header=False)
        for i in range(0, len(text), 4):
            table.add_row(*text[i : i + 4])
        out.print(table)
    table = Table("case", "i_r", "load torques [N.m]", "description", box=None)
    for case in parameters.case:
        table.add_row(case.name, _number(case.i_r), ", ".join(map(_number, case.M_O)), escape(case.description))
    out.print()
    out.print(table)


@_command
def simulate(
    context: typer.Context,
    unit: UnitName,
    model: Model = Fidelity.rigid,
    scenario: ScenarioName = None,
    step: Annotated[str | None, typer.Option(help='Communication step, e.g. "1 ms"; default: the unit\'s.')] = None,
    substeps: Substeps = None,
    settings: Settings = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Recording (HDF5).")] = None,
    figures: Json = None,
    case: Annotated[str | None, _pushbelt(metavar="NAME", help="Operating point of the unit file.")] = None,
    row: Annotated[int, _pushbelt(min=0, help="Number of the load torque in the case's row.")] = 0,
    duration: Annotated[str, _pushbelt(help="Machine time.")] = "0.1 s",
    elements: Annotated[int | None, _pushbelt(min=1, help="Modelled elements; default: the unit's.")] = None,
    law: Annotated[
        str, _pushbelt(help="Sheaves yield together under all elements (coupled), or decoupled.")
    ] = "coupled",
    contact: Annotated[str, _pushbelt(help="Of elements and ring: unilateral or bilateral.")] = "unilateral",
    taper: Annotated[str | None, _pushbelt(metavar="LENGTH", help='Of an element, e.g. "5 um".')] = None,
    scheme: Annotated[str, _pushbelt(help="explicit (step 1 us) or compliant (10 us).")] = "explicit",
    plot_step: Annotated[str, _pushbelt(help="Time from one recorded frame to the next.")] = "0.1 ms",
    resume: Annotated[
        bool, _pushbelt("--resume", help="Go on with the run that the file holds, if there is one.")
    ] = False,
) -> None:
    """Simulate a unit over one of its scenarios, by default the first.

    A unit of kind pushbelt runs its full model on one of its cases instead and takes the options of the second list.
    Its file grows while it runs, as FILE.partial. Ctrl-C ends the run and keeps it; what was killed goes on with
    --resume, which also extends a run to a longer duration.

    [bold]JSON keys:[/] unit, model, scenario, step_s, steps, duration_s, saturated_share (of the steps in which a limit
    was active), step_cost_us (median, p99), signals: by name unit, final, min, max, rms.

    [bold]JSON keys of a pushbelt:[/] unit, case, row and the other settings (s, m); M_O [N.m], frames, time_s, status;
    means over the last fifth of the run, for the primary and the secondary pulley: thrust_ratio, clamping_force_N,
    speed_rad_s, shaft_torque_Nm (driving +), speed_ratio, radius_m (of the ring); tension_N (smallest, largest along
    the belt), push_N (largest); residual_of_losses and residual_of_throughput of the energy balance; computed_frames,
    wall_s and step_cost_us of this call.
    """
    if _kind(unit) == "pushbelt":
        _refuse_given(context, "model", "scenario", "substeps", "settings")
        run: dict[str, Any] = {"case": case, "row": row, "N_E": elements}
        run |= {"law": law, "contact": contact, "scheme": scheme}
        run |= {"duration": _seconds("--duration", duration), "plot_step": _seconds("--plot-step", plot_step)}
        run |= {"step": None if step is None else _seconds("--step", step), "taper": _length("--taper", taper)}
        _simulate_pushbelt(unit, run, output, figures, resume)
        return
    _refuse_given(context, *_PUSHBELT)
    from rtcvt.build import build_any, load_any
    from rtcvt.recording import Recording, Signal, require_writable, write_recording
    from rtcvt.simulate import simulate as run_simulation

    loaded = load_any(unit)
    chosen = _scenario(loaded, scenario)
    built = build_any(loaded, model.value, substeps)
    h = None if step is None else _seconds("--step", step)
    require_writable(output, figures)
    with _progress() as bar:
        result = run_simulation(built, chosen, h, _settings(settings), lambda k, n: bar(chosen.name, k, n))
    if output is not None:
        signals = {
            v.name: Signal(result[v.name], v.unit, v.description)
            for v in built.select("input") + built.select("output")
        }
        signals["status"] = Signal(result.status.astype(float), "1", "of the step: 0 ok, 1 a limit is active")
        about = {"unit": built.name, "model": built.fidelity, "scenario": chosen.name, "step": result.step}
        about["parameters"] = json.dumps({v.name: result.parameter(v.name) for v in built.select("parameter")})
        write_recording(output, Recording(result.time, signals, about, loaded.text), "simulation")
    found = result.figures()
    _write_figures(figures, found)
    table = Table(
        "signal",
        "unit",
        "final",
        "min",
        "max",
        "rms",
        title=escape(f"{built.name}, {model.value} model: {chosen.name}"),
    )
    for name, signal in found["signals"].items():
        table.add_row(name, signal["unit"], *(_number(signal[k]) for k in ("final", "min", "max", "rms")))
    out.print(table)
    cost = found["step_cost_us"]["median"]
    speed = result.step * 1e6 / cost
    out.print(f"{found['steps']} steps of {result.step:g} s, median {cost:.1f} us: {speed:.0f} times real time")
    if found["saturated_share"] > 0:
        out.print(f"a limit of the controller was active in {found['saturated_share']:.1%} of the steps")
    if output is not None:
        _say(f"recording: {output}")


@_command
def export(
    unit: UnitName,
    model: Model = Fidelity.rigid,
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

    The documentation holds the equations, the unit's diagram, all variables and how far the rigid model is from the
    full one on the unit's scenarios; --no-check skips the runs that this takes. --set changes start values. A flange
    with a given speed turns its gear through a stiff spring and damper, the parameters NAME.c and NAME.d.
    """
    from fmu.export import export_python, require_fmu_name
    from fmu.slave import with_start_values
    from rtcvt.build import build_any, load_any
    from rtcvt.documentation import documentation_page
    from rtcvt.pog.flange import with_flanges
    from rtcvt.scenario import parameter_value
    from rtcvt.unitfile import Unit
    from rtcvt.vehicle.page import part_page

    loaded = load_any(unit)
    choice = {k: str(v) for k, v in _settings(flanges, "--flange").items()}
    if choice and not isinstance(loaded, Unit):
        raise InputError("--flange", "", (flanges or [""])[0], "only with a gear system")
    chosen = with_flanges(loaded, choice, "--flange") if isinstance(loaded, Unit) else loaded
    built = build_any(chosen, model.value, substeps)
    values = dict(parameter_value(built, k, v, "--set") for k, v in _settings(settings).items())
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
    elif not isinstance(chosen, Unit):
        page = part_page(started, chosen)
    if backend is Backend.native:
        from fmu.native.export import export_native, own_platform

        kinds = "co-simulation and model exchange"
        export_native(chosen, model.value, path, platforms or [own_platform()], substeps, values, page)
    else:
        kinds = "co-simulation"
        export_python(chosen, model.value, path, substeps, values, page)
    _say(f"{built.name}, {model.value} model, FMI 2.0 {kinds}: {path} ({path.stat().st_size / 1e3:.0f} kB)")


@_command
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
        _say(f"algebraic loop, which the communication step delays: {' <- '.join(loop)}")
    about = f"{len(coupled.models)} components, {len(coupled.connections)} connections"
    _say(f"{coupled.system.name}, SSP 1.0, {about}: {path} ({path.stat().st_size / 1e3:.0f} kB)")


@_command
def run(
    fmu: Annotated[Path, typer.Argument(metavar="FILE.fmu", help="Any FMI 2.0 co-simulation FMU.")],
    step: Annotated[str | None, typer.Option(help='Step, e.g. 1e-3 or "1 ms"; default: the FMU\'s.')] = None,
    duration: Annotated[str | None, typer.Option(help="How long; default: the scenario's, or the FMU's.")] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario", "-s", metavar="NAME|FILE", help="A scenario of the FMU's unit by name, or a scenario file."
        ),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Do not wait for the clock.")] = False,
    pacing: Annotated[
        Pacing | None, typer.Option(help="native: a loop in C (Linux, default there); python: a loop in Python.")
    ] = None,
    overrun: Annotated[Overrun, typer.Option(help="After a step that ended after the next deadline.")] = (
        Overrun.catch_up
    ),
    cpu: Annotated[int | None, typer.Option(help="Processor for the native loop; default: the last one.")] = None,
    fallbacks: Annotated[
        list[str] | None,
        typer.Option(
            "--fallback",
            metavar="NAME=VALUE",
            help="Of an input without a valid value, or an output without a result. Repeatable; default: 0 for "
            "torques, else the last value.",
        ),
    ] = None,
    can: Annotated[
        str | None,
        typer.Option(
            metavar="CHANNEL",
            help="Outputs to and inputs from a CAN bus: socketcan:can0, udp_multicast:239.74.163.2 or virtual:NAME.",
        ),
    ] = None,
    dbc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The bus's database; default: one made from the variables.")
    ] = None,
    save_dbc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the database that was made, for the other side.")
    ] = None,
    live: Annotated[
        int | None, typer.Option(metavar="PORT", help="Serve a page of the run on this machine; 0 for any free port.")
    ] = None,
    can_timeout: Annotated[str, typer.Option(help="How long a value from the bus holds.")] = "100 ms",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Recording: ASAM MDF 4 if FILE ends in .mf4, else HDF5."),
    ] = None,
    figures: Json = None,
) -> None:
    """Run an FMU at a fixed step against the wall clock.

    Deadlines are absolute, so the run does not drift. It says which scheduler, memory locking and processor it got: a
    real-time scheduler needs the privilege for it (Linux: CAP_SYS_NICE). After a step that takes too long the next ones
    follow without waiting until they have caught up (--overrun catch-up), deadlines that have passed are skipped, or
    the run stops. Exits with code 1 if the run ends early; what was recorded until then is kept, at a kill in
    NAME.part.SUFFIX.

    On a CAN bus (--can) inputs that the scenario does not drive come from the bus; without a good message for the
    time-out they take their fall-back.

    A scenario file may hold faults: [fault.NAME] with kind (stuck, noise, nan, overload, unit_error; on a bus drop,
    delay, duplicate, corrupt), start, duration, signal or message, and value.

    [bold]JSON keys:[/] fmu, guid, scenario, kind, completed, message, step_s, steps, duration_s (simulated), wall_s,
    warnings (of the FMU), misses (steps that ended after the next deadline), step_time_us and lateness_us (start after
    the deadline): median, p99, p99_9, max; environment: scheduler, memory, garbage_collector, system, cpus, governor,
    python; signals: by name unit, final, min, max, rms. What does not apply is null. With the native loop also policy,
    skipped (deadlines), lost (records), starved (steps without new inputs), fallbacks (steps with an input at its
    fall-back), histograms, faults, and environment: cpu, pacing; on a bus can: channel, timeout_s, from_bus, quanta (of
    each variable), counts (of messages), round_trip_ms, gap_ms (between messages that were taken): median, max.
    """
    from hil.native.build import available
    from hil.runner import describe
    from rtcvt.recording import require_writable

    h = None if step is None else _seconds("--step", step)
    length = None if duration is None else _seconds("--duration", duration)
    require_writable(output, figures, save_dbc)
    chosen, faults = (None, ()) if scenario is None else _scenario_and_faults(fmu, scenario)
    native = not fast and (available() if pacing is None else pacing is Pacing.native)
    _require_native(native, overrun, cpu, fallbacks, can, live, faults)
    if can is None and (dbc or save_dbc):
        raise InputError("--dbc", "", str(dbc or save_dbc), "only with --can")
    if native:
        from hil.loop import Policy
        from hil.rig import Rig, run_rig

        policy = Policy[overrun.name.upper()]
        rig = Rig(policy, cpu, fallback=_numbers(fallbacks, "--fallback"), faults=faults)
        attach = []
        if can is not None:
            from hil.can_attachment import can_attachment

            attach.append(can_attachment(can, dbc, _seconds("--can-timeout", can_timeout), save_dbc))
        if live is not None:
            from hil.live import live_page

            attach.append(live_page(live, lambda address: _say(f"live page: {address}")))
        report = run_rig(fmu, h, length, chosen, rig, output, attach)
        found, message = report.figures, report.message
    else:
        from hil.recorder import write
        from hil.runner import run as run_fmu

        result = run_fmu(fmu, h, length, chosen, fast)
        if output is not None:
            write(output, result.recording(), result.kind)
        found, message = result.figures(), result.message
    _write_figures(figures, found)
    _say(f"{found['fmu']}: {describe(found['environment'])}")
    table = Table("us", "median", "p99", "p99.9", "max", title=f"{found['steps']} steps of {found['step_s']:g} s")
    for key, text in (("step_time_us", "step time"), ("lateness_us", "lateness")):
        if found[key] is not None:
            table.add_row(text, *("" if v is None else f"{v:.1f}" for v in found[key].values()))
    out.print(table)
    if found["misses"] is not None:
        _say(f"deadlines missed: {found['misses']}")
    for key, text in (
        ("skipped", "deadlines skipped"),
        ("lost", "records lost"),
        ("starved", "steps that had to hold their inputs"),
        ("fallbacks", "steps with an input at its fall-back"),
    ):
        if found.get(key):
            _say(f"{text}: {found[key]}")
    for fault in found.get("faults", ()):
        _say(
            f"fault {fault['name']} ({fault['kind']}): {fault['steps']} steps, {fault['misses']} missed, "
            f"{fault['fallbacks']} with a fall-back, {fault['no_result']} without result; "
            f"undisturbed {fault['recovered_after_s']:g} s after its end"
        )
    bus = found.get("can", {})
    if bus.get("counts"):
        _say(f"bus {bus['channel']}: " + ", ".join(f"{k} {v}" for k, v in bus["counts"].items()))
    for key, text in (("round_trip_ms", "round trip"), ("gap_ms", "between messages")):
        if bus.get(key):
            _say(f"{text}: median {bus[key]['median']:.2f} ms, at most {bus[key]['max']:.2f} ms")
    if output is not None and output.exists():
        _say(f"recording: {output}")
    if message:
        _fail(message, 130 if message.startswith("SIGINT") else 1)


@_command
def plot(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="HDF5 or ASAM MDF 4 (.mf4), also a .part file.")],
    signals: Annotated[
        list[str] | None, typer.Option("--signal", metavar="NAME", help="Only this one. Repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Picture; default: FILE with suffix .png.")
    ] = None,
) -> None:
    """Draw a recording's signals over time, those of one unit in one diagram."""
    from hil.plot import draw
    from hil.recorder import read

    path = output or recording.with_suffix(".png")
    draw(read(recording), path, signals, recording.name)
    _say(f"picture: {path}")


@_command
def check(
    unit: UnitName,
    settings: Settings = None,
    scenario: ScenarioName = None,
    report: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The report.")] = Path("report.html"),
    figures: Json = None,
) -> None:
    """Compare the rigid with the full model on the unit's scenarios and write a report.

    Exits with code 1 if an error exceeds the limit that the unit's scenario sets.

    [bold]JSON keys:[/] unit, revision, parameters (as set), passed, failures, modes (frequency_Hz, damping_ratio of
    the full model), scenarios: name, duration_s, step_s, settled_share (of the samples that count), discretisation
    (change of the full model from a quarter of the step to the step), energy_residual (rigid, full), step_cost_us
    (rigid, full), errors: signal, unit, nrms (RMS error by the largest value), limit (of nrms), peak, transient,
    scale [in the signal's unit].

    A unit of kind pushbelt is checked against chapter 7 of Cebulla 2014 instead: some sixty runs of the full model,
    about ten minutes on two processors. They are kept in a folder beside the report, so that a stopped check goes on
    where it was. Exits with code 1 if energy or momentum of a run do not balance; what differs from the source is in
    the report.

    [bold]JSON keys of a pushbelt:[/] unit, source, failures, unsteady (runs), discretisation (of the thrust ratio, by
    case), signatures: section, about, quantity, runs, expected, value, u (its change from the revolution before), unit,
    verdict; runs: thrust_ratio, drift, torque_N_m, slip, endplay_m (rocking edge, top), energy_J (unaccounted, lost,
    throughput), balance (of each pulley: axial force, torque), step_us; step_us (smallest, spread).
    """
    if _kind(unit) == "pushbelt":
        if settings or scenario is not None:
            option = "--set" if settings else "--scenario"
            raise InputError(option, "", settings or scenario, "no unit of kind pushbelt")
        _check_pushbelt(unit, report, figures)
        return
    from offline.check import check_unit
    from offline.report import write_report
    from rtcvt.recording import require_writable
    from rtcvt.unitfile import load_unit

    if _kind(unit) not in (None, "gear_system"):
        raise InputError(unit, "kind", _kind(unit), "a kind with two models to compare: gear_system or pushbelt")
    loaded = load_unit(unit)
    chosen = None if scenario is None else (_scenario(loaded, scenario),)
    require_writable(report, figures)
    with _progress() as bar:
        result = check_unit(loaded, _settings(settings), chosen, bar)
    write_report(result, report)
    _write_figures(figures, result.figures())
    for s in result.scenarios:
        title = f"{loaded.name}, rigid against full model: {s.scenario.name}"
        table = Table("signal", "RMS error", "allowed", "largest", title=escape(title), title_justify="left")
        for e in s.errors:
            colour = "green" if e.nrms <= e.limit else "red"
            share = f"[{colour}]{e.nrms:.3%}[/]"
            table.add_row(e.name, share, f"{e.limit:.1%}", f"{e.peak:.3g} {e.unit}")
        out.print(table)
    _say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]failed:[/] {escape(failure)}")
    if not result.passed:
        raise typer.Exit(1)


def _check_pushbelt(unit: str, report: Path, figures: Path | None) -> None:
    """Chapter 7 of Cebulla 2014 with the full model."""
    from collections import Counter

    from offline.pushbelt.parameters import load_parameters
    from offline.pushbelt.report import write_report
    from offline.pushbelt.verification import verify
    from rtcvt.recording import require_writable

    parameters = load_parameters(unit)
    require_writable(report, figures)
    with _progress() as bar:
        result = verify(parameters, report.with_name(f"{report.stem}_runs"), progress=bar)
    write_report(result, report)
    _write_figures(figures, result.figures())
    for verdict, count in Counter(f.verdict for f in result.findings).most_common():
        _say(f"{count} signatures of {result.chapter.source}: {verdict}")
    _say(f"report: {report}")
    for failure in result.failures:
        notes.print(f"[red]failed:[/] {escape(failure)}")
    if result.failures:
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the command ``rtcvt``."""
    try:
        app()
    except InputError as error:
        _fail(str(error), 2)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        _fail(f"this command needs {package}: pip install rtcvt[{_EXTRAS[package]}]", 2)
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt) or isinstance(stop.__cause__, KeyboardInterrupt):
            notes.print("interrupted")
        raise


def _fail(message: str, code: int) -> NoReturn:
    notes.print("[red]error:[/] ", end="")
    notes.print(message, markup=False, highlight=False, emoji=False, soft_wrap=True)
    sys.exit(code)


def _say(text: str) -> None:
    """Print a line as it is."""
    out.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.5g}"


def _settings(pairs: list[str] | None, option: str = "--set") -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InputError(option, "", pair, "KEY=VALUE")
        values[key.strip()] = value.strip()
    return values


def _instance(unit: "Unit", settings: list[str] | None) -> Any:
    from rtcvt.pog.system import build_model
    from rtcvt.scenario import apply_parameters

    instance = build_model(unit, "rigid").instantiate()
    apply_parameters(instance, _settings(settings), "--set")
    return instance


def _tilt(unit: "Unit", at: list[str] | None) -> float:
    """Where the moving variable is [rad]."""
    from rtcvt.quantity import to_si

    place = unit.variables[unit.moving].start if unit.moving else 0.0
    for key, value in _settings(at, "--at").items():
        if key != unit.moving:
            raise InputError("--at", key, value, f"the moving variable: {unit.moving or 'this unit has none'}")
        variable = unit.variables[key]
        try:
            place = to_si(value, "rad")
        except ValueError as error:
            raise InputError("--at", key, value, str(error)) from None
        if not variable.min <= place <= variable.max:
            raise InputError("--at", key, value, f"an angle from {variable.min:g} to {variable.max:g} rad")
    return place


def _kind(unit: str) -> str | None:
    """What the unit file says of its kind."""
    from rtcvt.unitfile import find_unit, read_toml

    kind = read_toml(find_unit(unit))[0].get("kind")
    return kind if isinstance(kind, str) else None


def _refuse_given(context: typer.Context, *names: str) -> None:
    """Refuse options that this kind of unit does not take."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            value = context.params[name]
            shown = value.value if isinstance(value, StrEnum) else value
            raise InputError(option, "", shown, f"not with {context.params['unit']}: see --help")


def _simulate_pushbelt(unit: str, run: dict[str, Any], output: Path | None, figures: Path | None, resume: bool) -> None:
    """Full model of a pushbelt on one of its cases."""
    from offline.pushbelt.parameters import load_parameters
    from offline.pushbelt.runs import FAILED, INTERRUPTED, Settings, open_run, simulate
    from offline.pushbelt.runs import figures as of_run
    from rtcvt.recording import require_writable
    from rtcvt.unitfile import find_unit, read_toml

    parameters = load_parameters(unit)
    if run["case"] is None:
        raise InputError("--case", "", None, f"one of {', '.join(c.name for c in parameters.case)}")
    path = output or Path(f"{parameters.name}_{parameters.get_case(run['case']).name}.h5")
    require_writable(path, figures)
    text = read_toml(find_unit(unit))[1]
    with _progress() as bar:
        outcome = simulate(parameters, Settings(**run), path, text, resume=resume, progress=bar)
    with open_run(path) as file:
        found = of_run(file)
    steps = outcome.computed * round(found["plot_step"] / found["step"])
    cost = {"step_cost_us": 1e6 * outcome.wall / steps} if steps else {}
    found |= {"computed_frames": outcome.computed, "wall_s": outcome.wall} | cost
    _write_figures(figures, found)
    title = f"{found['unit']}, {found['case']}: mean of the last fifth of {found['time_s']:g} s"
    table = Table("", "primary", "secondary", title=escape(title))
    for name, label in (
        ("clamping_force_N", "clamping force [N]"),
        ("speed_rad_s", "speed [rad/s]"),
        ("shaft_torque_Nm", "shaft torque [N.m]"),
        ("radius_m", "radius of the ring [m]"),
    ):
        table.add_row(escape(label), *(_number(v) for v in found.get(name, ())))
    out.print(table)
    if "thrust_ratio" in found:
        out.print(f"thrust ratio {found['thrust_ratio']:.4f}, speed ratio {found['speed_ratio']:.4f}", highlight=False)
        residual = f"{found['residual_of_losses']:.1e} of the losses"
        out.print(f"energy that the scheme does not account for: {residual}", highlight=False)
    if steps:
        out.print(f"{steps} steps in {outcome.wall:.1f} s, {cost['step_cost_us']:.1f} us each", highlight=False)
    _say(f"run, {found['status']}: {path} ({path.stat().st_size / 1e6:.0f} MB)")
    if outcome.status == FAILED:
        _fail(f"the belt left its place after {found['time_s']:g} s: a smaller --step, or forces that hold it", 1)
    if outcome.status == INTERRUPTED:
        notes.print("interrupted; --resume goes on")
        sys.exit(130)


def _length(option: str, text: str | None) -> float | None:
    from rtcvt.quantity import to_si

    if text is None:
        return None
    try:
        return to_si(text, "m")
    except ValueError as error:
        raise InputError(option, "", text, str(error)) from None


def _seconds(option: str, text: str) -> float:
    from rtcvt.quantity import to_si

    try:
        value = to_si(text, "s")
    except ValueError as error:
        raise InputError(option, "", text, str(error)) from None
    if value <= 0.0:
        raise InputError(option, "", text, "a time above 0 s")
    return value


def _scenario(unit: "AnyUnit", name: str | None) -> "Scenario":
    from rtcvt.unitfile import load_scenario

    if name is None:
        if not unit.scenario:
            raise InputError(unit.source, "scenario", None, "this unit has no scenario; give a file with --scenario")
        return unit.scenario[0]
    return load_scenario(name) if name.endswith(".toml") else unit.get_scenario(name)


def _scenario_for(fmu: Path, name: str) -> "Scenario":
    """A scenario file, or a scenario of the unit file inside an FMU that rtcvt made."""
    from rtcvt.build import read_any
    from rtcvt.unitfile import load_scenario

    if name.endswith(".toml"):
        return load_scenario(name)
    try:
        with zipfile.ZipFile(fmu) as archive:
            text = archive.read("resources/unit.toml").decode("utf-8")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        raise InputError("--scenario", "", name, f"a TOML file; {fmu} has no unit file with scenarios") from None
    return read_any(text, fmu.name).get_scenario(name)


def _scenario_and_faults(fmu: Path, name: str) -> "tuple[Scenario, tuple[Fault, ...]]":
    """A scenario file with its faults, or a scenario of the unit file inside an FMU."""
    from rtcvt.scenario import load_faults

    return load_faults(Path(name)) if name.endswith(".toml") else (_scenario_for(fmu, name), ())


def _require_native(
    native: bool,
    overrun: Overrun,
    cpu: int | None,
    fallbacks: object,
    can: str | None,
    live: int | None,
    faults: object,
) -> None:
    """Refuse what only the native loop can do when another one runs."""
    for option, given, value in (
        ("--overrun", overrun is not Overrun.catch_up, overrun.value),
        ("--cpu", cpu is not None, cpu),
        ("--fallback", bool(fallbacks), fallbacks),
        ("--can", can is not None, can),
        ("--live", live is not None, live),
        ("--scenario: fault", bool(faults), None),
    ):
        if given and not native:
            raise InputError(option, "", value, "only with --pacing native, without --fast")


def _numbers(pairs: list[str] | None, option: str) -> dict[str, float]:
    values = {}
    for name, text in _settings(pairs, option).items():
        try:
            values[name] = float(text)
        except ValueError:
            raise InputError(option, name, text, "a number in the variable's unit") from None
        if not np.isfinite(values[name]):
            raise InputError(option, name, text, "a finite number")
    return values


def _write_figures(path: Path | None, figures: dict[str, Any]) -> None:
    from rtcvt.recording import replaced_on_success

    if path is not None:
        with replaced_on_success(path) as temporary:
            temporary.write_text(json.dumps(figures, indent=2, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"not for JSON: {value!r}")


def _error_rows(unit: "Unit", settings: list[str] | None, figures: Path | None) -> "list[ErrorRow]":
    """The check's errors, from a file or from a new check."""
    from rtcvt.documentation import ErrorRow

    found: Any
    if figures is None:
        from offline.check import check_unit

        with _progress() as bar:
            found = check_unit(unit, _settings(settings), progress=bar).figures()
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
    if about != (unit.name, _settings(settings)):
        raise InputError(figures, "unit, parameters", about, f"a check of {unit.name} with the same --set")
    return rows


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for long work, on standard error, that leaves nothing behind."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True) as progress:
        task = progress.add_task("")
        yield lambda text, done, total: progress.update(task, description=text, completed=done, total=total)


if __name__ == "__main__":
    main()
