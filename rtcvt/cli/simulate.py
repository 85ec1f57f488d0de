"""``rtcvt simulate``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.belt import simulate_belt
from rtcvt.cli.console import (
    Fidelity,
    Json,
    Model,
    ScenarioName,
    Settings,
    Substeps,
    UnitName,
    assignments,
    chosen_scenario,
    command,
    kind_of,
    metres,
    number,
    out,
    progress_bar,
    refuse_given,
    say,
    seconds,
    write_figures,
)
from rtcvt.cli.pushbelt import simulate_pushbelt

BELTS = ("duration", "elements", "resume")  # full models of belt drives and pushbelts
PUSHBELT = ("case", "row", "nodes", "law", "contact", "flank_points", "taper", "scheme", "plot_step")


def pushbelt_option(*names: str, **about: Any) -> Any:
    """An option that only units of kind pushbelt take."""
    return typer.Option(*names, rich_help_panel="Options of pushbelt units", **about)


def belt_option(*names: str, **about: Any) -> Any:
    """An option of the full models of belt drives and pushbelts."""
    return typer.Option(*names, rich_help_panel="Options of full models of belts: kinds belt and pushbelt", **about)


@command
def simulate(
    context: typer.Context,
    unit: UnitName,
    model: Model = None,
    scenario: ScenarioName = None,
    step: Annotated[
        str | None,
        typer.Option(
            help='Communication step, e.g. "1 ms"; of full models of belts the integration step. Default: the unit\'s.'
        ),
    ] = None,
    substeps: Substeps = None,
    settings: Settings = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Recording (HDF5).")] = None,
    figures: Json = None,
    case: Annotated[str | None, pushbelt_option(metavar="NAME", help="Operating point of the unit file.")] = None,
    row: Annotated[int, pushbelt_option(min=0, help="Number of the load torque in the case's row.")] = 0,
    nodes: Annotated[int | None, pushbelt_option(min=1, help="Nodes of the ring; default: the unit's.")] = None,
    law: Annotated[
        str, pushbelt_option(help="Sheaves yield together under all elements (coupled), or decoupled.")
    ] = "coupled",
    contact: Annotated[str, pushbelt_option(help="Of elements and ring: unilateral or bilateral.")] = "unilateral",
    flank_points: Annotated[
        int, pushbelt_option(help="Contact points of a flank: 1 (simplified contact) or 2 (extended contact).")
    ] = 1,
    taper: Annotated[str | None, pushbelt_option(metavar="LENGTH", help='Of an element, e.g. "5 um".')] = None,
    scheme: Annotated[str, pushbelt_option(help="explicit (step 1 us) or multirate (2.5 us).")] = "explicit",
    plot_step: Annotated[str, pushbelt_option(help="Time from one recorded frame to the next.")] = "0.1 ms",
    duration: Annotated[
        str | None, belt_option(help="Machine time; default: the scenario's, of a pushbelt 0.1 s.")
    ] = None,
    elements: Annotated[int | None, belt_option(min=1, help="Modelled elements; default: the unit's.")] = None,
    resume: Annotated[
        bool, belt_option("--resume", help="Go on with the run that the file holds, if there is one.")
    ] = False,
) -> None:
    """Simulate a unit over one of its scenarios, by default the first.

    A unit of kind pushbelt runs its full model on one of its cases instead and takes the options of the second list.
    Its file grows while it runs, as FILE.partial. Ctrl-C ends the run and keeps it; what was killed goes on with
    --resume, which also extends a run to a longer duration.

    A unit of kind belt with --model full runs the model of its table: the ANCF belt or the belt of rigid elements. The
    file is written every minute, at Ctrl-C and at the end; --resume goes on. --step and --elements change the mesh.

    [bold]JSON keys:[/] unit, model, scenario, step_s, steps, duration_s, saturated_share (of the steps in which a limit
    was active), step_cost_us (median, p99), signals: by name unit, final, min, max, rms.

    [bold]JSON keys of a pushbelt:[/] unit, case, row and the other settings (s, m); M_O [N.m], frames, time_s, status;
    means over the last fifth of the run, for the primary and the secondary pulley: thrust_ratio, clamping_force_N,
    speed_rad_s, shaft_torque_Nm (driving +), speed_ratio, radius_m (of the ring); tension_N (smallest, largest along
    the belt), push_N (largest); residual_of_losses and residual_of_throughput of the energy balance; computed_frames,
    wall_s of this call and step_cost_us, the median of its steps without start and files.

    [bold]JSON keys of a belt's full model:[/] unit, model (ancf or elements), scenario, status, time_s, frames; means
    over the last fifth: by pulley speed_rad_s and belt_torque_Nm (of the belt on the pulley), by span tension_N;
    elements, steps; of rigid elements rejected, input_J and unaccounted_J (energy); computed_s and wall_s of this call.
    """
    if kind_of(unit) == "pushbelt":
        refuse_given(context, "model", "scenario", "substeps", "settings")
        run: dict[str, Any] = {"case": case, "row": row, "N_E": elements, "N_B": nodes}
        run |= {"law": law, "contact": contact, "flank_points": flank_points, "scheme": scheme}
        run |= {"duration": seconds("--duration", duration or "0.1 s"), "plot_step": seconds("--plot-step", plot_step)}
        run |= {"step": None if step is None else seconds("--step", step), "taper": metres("--taper", taper)}
        simulate_pushbelt(unit, run, output, figures, resume)
        return
    refuse_given(context, *PUSHBELT)
    if kind_of(unit) == "belt" and model is Fidelity.full:
        refuse_given(context, "substeps", "settings")
        change = {"elements": elements, "step": None if step is None else seconds("--step", step)}
        length = None if duration is None else seconds("--duration", duration)
        simulate_belt(unit, scenario, change, length, output, figures, resume)
        return
    refuse_given(context, *BELTS)
    from rtcvt.build import build_any, load_any
    from rtcvt.recording import Recording, Signal, require_writable, write_recording
    from rtcvt.simulate import simulate as run_simulation

    loaded = load_any(unit)
    chosen = chosen_scenario(loaded, scenario)
    built = build_any(loaded, model.value if model else None, substeps)
    h = None if step is None else seconds("--step", step)
    require_writable(output, figures)
    with progress_bar() as bar:
        result = run_simulation(built, chosen, h, assignments(settings), lambda k, n: bar(chosen.name, k, n))
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
    write_figures(figures, found)
    table = Table(
        "signal",
        "unit",
        "final",
        "min",
        "max",
        "rms",
        title=escape(f"{built.name}, {built.fidelity} model: {chosen.name}"),
    )
    for name, signal in found["signals"].items():
        table.add_row(name, signal["unit"], *(number(signal[k]) for k in ("final", "min", "max", "rms")))
    out.print(table)
    cost = found["step_cost_us"]["median"]
    speed = result.step * 1e6 / cost
    out.print(f"{found['steps']} steps of {result.step:g} s, median {cost:.1f} us: {speed:.0f} times real time")
    if found["saturated_share"] > 0:
        out.print(f"a limit was active in {found['saturated_share']:.1%} of the steps")
    if output is not None:
        say(f"recording: {output}")
