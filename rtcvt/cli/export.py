"""``rtcvt export`` and ``rtcvt ssp``."""

from pathlib import Path
from typing import Any, Literal, cast

from rtcvt.cli import completion, console
from rtcvt.cli.console import Model, Settings, Substeps, UnitName, arg, command, opt, say
from rtcvt.errors import InputError


@command
def export(
    unit: UnitName,
    model: Model = None,
    backend: Literal["python", "native"] = opt(default="native"),
    fmi: Literal["2", "3"] = opt(default="2"),
    clock: str | None = opt(metavar="INTERVAL"),
    platforms: list[str] | None = opt("--platform", metavar="NAME"),
    flanges: list[str] | None = opt("--flange", metavar="NAME=CAUSALITY"),
    xcp: bool = opt("--xcp", default=False),
    dbc: Path | None = opt(metavar="FILE"),
    save_dbc: Path | None = opt(metavar="FILE"),
    nodes: list[str] | None = opt("--node", metavar="NAME"),
    substeps: Substeps = None,
    settings: Settings = None,
    output: Path | None = opt("-o", "--output", metavar="FILE"),
    checked: bool = opt("--check/--no-check", default=True),
    figures: Path | None = opt(metavar="FILE"),
    cross_check: bool = opt("--cross-check", default=False),
) -> None:
    """Export a unit as an FMU, of FMI 2.0 or 3.0, with documentation inside.

    The native backend makes units for co-simulation and model exchange in machine code, with reference results and
    their C sources inside (those of pushbelt variators are large and come with --platform sources); it needs the extra
    'native'. The first unit for a platform may need a minute, while the compiler builds that platform's C library. The
    python backend makes co-simulation units that run in the importing tool's Python.

    Units of FMI 3.0 have the same bits, and more in their description: belt fields as arrays, terminals for flanges and
    clamping ports, adjoint derivatives, a build description. With --clock they have an input clock: they read the set
    point of their controller (torque, ratio or angle) at a tick of the importer, and keep it until the next.

    The documentation has the equations, the unit's diagram, all variables and the errors against the full model: of
    gear systems on the unit's scenarios, of variators on held-out runs; --no-check skips these runs. --set changes
    start values. A flange with a given speed turns its gear through a stiff spring and damper, the
    parameters NAME.c and NAME.d.

    --cross-check writes the first scenario's results in the form of the FMI Cross-Check.

    Options
    -------
    backend : native: machine code; python: needs rtcvt in the importing tool's Python.
    fmi : Version of FMI: 2.0, or 3.0 with the native backend.
    clock : With --fmi 3: interval of the clock at which the controller reads its set point, e.g. "2 ms".
    platforms : Of a native unit: linux64, win64, darwin64, aarch64-linux, aarch64-darwin, linux32, win32 or sources.
        Repeatable; default: this machine's. wasm alone: a page that runs it, a draft.
    flanges : Input of a flange: torque (the speed is an output) or speed (the torque is an output). Repeatable;
        default: as in the unit file.
    xcp : Allow tools to measure and calibrate in its memory: FMI-LS-XCP, for Linux.
    dbc : With --fmi 3: a node of a CAN network with this database, by FMI-LS-BUS.
    save_dbc : Instead of --dbc: write the rig's own database, and use it.
    nodes : Of the database, as of run. Repeatable.
    output : Default: UNIT.fmu
    checked : Put the check's errors into the documentation.
    figures : Errors from an earlier check --json, instead of a new check.
    cross_check : Write UNIT_ref.opt, UNIT_in.csv and UNIT_ref.csv next to the unit.
    """
    from rtcvt.interface import Unit
    from rtcvt.kind import load_unit
    from rtcvt.recording import require_writable

    choice = {k: str(v) for k, v in console.assignments(flanges, "--flange").items()}
    chosen = load_unit(unit).with_flanges(choice, "--flange")
    given = console.assignments(settings)
    built = chosen.build(cast(Any, model), substeps, given, "--set")
    version: Literal[2, 3] = 3 if fmi == "3" else 2
    if platforms == ["wasm"]:
        from rtcvt.fmu.native.wasm import export_page

        if cross_check or backend != "native":
            raise InputError("--platform", "", "wasm", "without --cross-check, with --backend native")
        path = export_page(built, output or Path(f"{chosen.name}.html"))
        say(f"{built.name}, {built.fidelity} model in a page, a draft: {path} ({path.stat().st_size / 1e3:.0f} kB)")
        return
    if save_dbc is not None:
        from rtcvt.hil.network import write_own_database

        if dbc is not None or fmi != "3":
            raise InputError("--save-dbc", "", str(save_dbc), "with --fmi 3, without --dbc")
        require_writable(save_dbc)
        write_own_database(built, save_dbc)
        dbc = save_dbc
    if nodes and dbc is None:
        raise InputError("--node", "", nodes[0], "only with --dbc")
    if cross_check:
        from rtcvt.fmu.native.reference import cross_check_files, write_cross_check

        if not chosen.scenario:
            raise InputError(chosen.name, "scenario", None, "at least one for --cross-check")
        require_writable(*cross_check_files(output or Path(f"{chosen.name}.fmu")))
    with console.progress_bar() as bar:
        path = Unit(chosen).export(
            output, model=built.fidelity, backend=backend, platforms=platforms or (), parameters=given,
            substeps=substeps, errors=figures or checked, fmi=version,
            clock=None if clock is None else console.seconds("--clock", clock), xcp=xcp, dbc=dbc, nodes=nodes or (),
            progress=bar,
        )  # fmt: skip
    if cross_check:
        write_cross_check(built, chosen.scenario[0], path)
    both = backend == "native" and built.exchangeable and dbc is None
    kinds = "co-simulation and model exchange" if both else "co-simulation"
    say(f"{built.name}, {built.fidelity} model, FMI {version}.0 {kinds}: {path} ({path.stat().st_size / 1e3:.0f} kB)")


@command
def ssp(
    system: str = arg(..., metavar="SYSTEM", autocompletion=completion.systems),
    platforms: list[str] | None = opt("--platform", metavar="NAME"),
    version: Literal["1", "2"] = opt("--ssp", default="1"),
    output: Path | None = opt("-o", "--output", metavar="FILE"),
) -> None:
    """Export a system as an SSP archive, with a native unit for each component inside.

    Every importer exchanges the outputs at the communication points and keeps inputs constant in between: such a system
    is as accurate as its step is small, and stable up to a step that is printed. One unit, rtcvt export, is solved as a
    whole.

    Options
    -------
    system : A TOML file, or the name of a shipped system.
    platforms : As of export. Repeatable; default: this machine's.
    version : Version of SSP: 1.0 with units of FMI 2.0, or 2.0 with units of FMI 3.0.
    output : Default: SYSTEM.ssp
    """
    from rtcvt.fmu.native.compiler import own_platform
    from rtcvt.fmu.ssp import export_ssp, require_ssp_name
    from rtcvt.kind import load_unit
    from rtcvt.network.held import parts_of, stable_step

    unit = load_unit(system)
    parts = parts_of(unit)
    path = output or Path(f"{unit.name}.ssp")
    require_ssp_name(path)
    export_ssp(parts, path, platforms or [own_platform()], 1 if version == "1" else 2)
    counts = {"component": len(parts.models), "connection": len(parts.connections)}
    about = ", ".join(f"{number} {what}{'s' * (number != 1)}" for what, number in counts.items())
    say(f"{unit.name}, SSP {version}.0, {about}: {path} ({path.stat().st_size / 1e3:.0f} kB)")
    stable = stable_step(parts)
    if stable < float("inf"):
        say(f"in a host with constant inputs over a step its flanges are stable up to a step of {1e3 * stable:.2g} ms")
