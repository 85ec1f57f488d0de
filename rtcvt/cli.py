"""The command line: ``rtcvt show``, ``simulate``, ``export``, ``ssp``, ``run`` and ``check``.

Errors that the user can mend are printed as one message and end with exit code 2; a failed check ends with 1.
"""

import inspect
import json
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
    from rtcvt.unitfile import Scenario, Unit
    from rtcvt.vehicle.parts import Part

__all__ = ["app", "main"]

_EXTRAS = {"matplotlib": "offline", "fmpy": "hil", "ziglang": "native"}  # packages that the core does without

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
    """Print a unit's sets and matrices, or list the shipped units. Of a part of a vehicle its variables are printed.

    R is the radii matrix of Algorithm 1, Q1 gives all speeds from the independent ones, L1, N1, A1 and B1 are the
    matrices of the rigid model L1 x1' + N1 x1 = A1 x1 + B1 tau; N1 is per rad/s of the moving variable.

    [bold]JSON keys:[/] unit, gears, springs, frictions, independent; R [m], Q1, B_delta_omega [N.m.s/rad], L1 [kg.m2],
    N1, A1, B1: matrices as lists of rows in the unit's order; at: where the moving variable is.
    """
    from rtcvt.build import load_any
    from rtcvt.pog.system import matrices
    from rtcvt.unitfile import Unit, shipped_units
    from rtcvt.vehicle.parts import KINDS

    if unit is None:
        table = Table("unit", "kind", "description", box=None)
        for kind in ("gear_system", *KINDS):
            for name in shipped_units(kind):
                table.add_row(name, kind, load_any(name).description)
        out.print(table)
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
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Recording (HDF5).")] = None,
    figures: Json = None,
) -> None:
    """Run an FMU at a fixed step against the wall clock.

    Deadlines are absolute, so the run does not drift. It says which scheduler and memory locking it got: a real-time
    scheduler needs the privilege for it (Linux: CAP_SYS_NICE). A step that takes too long delays the next ones, which
    then follow without waiting until they have caught up. Exits with code 1 if the run ends early; what was recorded
    until then is kept.

    [bold]JSON keys:[/] fmu, guid, scenario, kind, completed, message, step_s, steps, duration_s (simulated), wall_s,
    warnings (of the FMU), misses (steps that ended after the next deadline), step_time_us and lateness_us (start after
    the deadline): median, p99, p99_9, max; environment: scheduler, memory, garbage_collector, system, cpus, governor,
    python; signals: by name unit, final, min, max, rms. What does not apply is null.
    """
    from hil.runner import describe
    from hil.runner import run as run_fmu
    from rtcvt.recording import require_writable, write_recording

    chosen = None if scenario is None else _scenario_for(fmu, scenario)
    h = None if step is None else _seconds("--step", step)
    length = None if duration is None else _seconds("--duration", duration)
    require_writable(output, figures)
    result = run_fmu(fmu, h, length, chosen, fast)
    if output is not None:
        write_recording(output, result.recording(), result.kind)
    found = result.figures()
    _write_figures(figures, found)
    _say(f"{result.fmu}: {describe(result.environment)}")
    table = Table("us", "median", "p99", "p99.9", "max", title=f"{found['steps']} steps of {result.step:g} s")
    for key, text in (("step_time_us", "step time"), ("lateness_us", "lateness")):
        if found[key] is not None:
            table.add_row(text, *("" if v is None else f"{v:.1f}" for v in found[key].values()))
    out.print(table)
    if found["misses"] is not None:
        _say(f"deadlines missed: {found['misses']}")
    if output is not None:
        _say(f"recording: {output}")
    if not result.completed:
        _fail(result.message, 130 if result.message.startswith("SIGINT") else 1)


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

    A unit of kind pushbelt is checked against chapter 7 of Cebulla 2014 instead: some sixty runs of the full model, an
    hour on two processors. They are kept in a folder beside the report, so that a stopped check goes on where it was.
    Exits with code 1 if energy or momentum of a run do not balance; what differs from the source is in the report.

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
    notes.print(message, markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def _say(text: str) -> None:
    """Print a line as it is."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


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
