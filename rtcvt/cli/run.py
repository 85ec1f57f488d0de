"""``rtcvt run`` and ``rtcvt plot``."""

import re
import zipfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.table import Table

from rtcvt.cli import completion
from rtcvt.cli.console import Json, arg, assignments, command, fail, opt, out, say, say_limits, seconds, write_figures
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import opened_archive

if TYPE_CHECKING:
    from rtcvt.scenario import Fault, Scenario


LATE_US = 200.0  # [us] lateness above which the cause is printed
_UNREADABLE = (OSError, KeyError, ValueError, zipfile.BadZipFile)
MOST_CYCLE = 65.0  # [s] largest cycle time that a database can state


@command
def run(
    fmu: Path = arg(..., metavar="FILE.fmu"),
    step: str | None = opt(),
    duration: str | None = opt(),
    scenario: str | None = opt("--scenario", "-s", metavar="NAME|FILE"),
    inputs: Path | None = opt(metavar="FILE.csv"),
    fast: bool = opt("--fast", default=False),
    pacing: Literal["native", "python"] | None = opt(),
    overrun: Literal["catch-up", "skip", "stop"] = opt(default="catch-up"),
    cpu: int | None = opt(),
    fallbacks: list[str] | None = opt("--fallback", metavar="NAME=VALUE"),
    can: str | None = opt(metavar="CHANNEL"),
    dbc: Path | None = opt(metavar="FILE"),
    save_dbc: Path | None = opt(metavar="FILE"),
    nodes: list[str] | None = opt("--node", metavar="NAME"),
    send: list[str] | None = opt("--send", metavar="NAME[=TIME]"),
    live: int | None = opt(metavar="PORT"),
    xcp: int | None = opt(metavar="PORT"),
    save_a2l: Path | None = opt("--save-a2l", metavar="FILE"),
    isolate: bool = opt("--isolate/--no-isolate", default=True),
    patience: str = opt(default="5 s"),
    can_timeout: str = opt(default="100 ms"),
    output: Path | None = opt("-o", "--output", metavar="FILE"),
    record: list[str] | None = opt("--record", metavar="NAME"),
    logging: bool = opt("--logging/--no-logging", default=True),
    on_recording_error: Literal["stop", "continue"] = opt(default="stop"),
    figures: Json = None,
) -> None:
    """Run an FMU at a fixed step against the wall clock.

    Deadlines are absolute, so the run does not drift. The granted scheduler, memory locking and processor are printed:
    a real-time scheduler needs its privilege (Linux: CAP_SYS_NICE). After a step that is too long the next ones
    follow without waiting until they have caught up (--overrun catch-up), deadlines that have passed are skipped, or
    the run stops. The unit has a process of its own: if it crashes, exits or does not return, the rig sends its
    fall-back outputs, finishes the recording and prints the cause. Exits with code 1 if the run ends early, 2 if its
    recording could not be written; the recording until then is kept; after a kill, too, it is in NAME.part.SUFFIX.

    On a CAN bus (--can) inputs that the scenario does not drive come from the bus; without a good message for the
    time-out they have their fall-back values.

    A scenario file may hold faults: [fault.NAME] with kind (stuck, noise, nan, overload, unit_error; on a bus drop,
    delay, duplicate, corrupt), start, duration, signal or message, and value.

    [bold]JSON keys:[/] fmu, guid, scenario, kind, completed, message, step_s, steps, duration_s (simulated),
    terminated_s (when the unit ended the simulation, else null), wall_s,
    notes (unexpected conditions), warnings (of the FMU),
    misses (steps that ended after the next deadline), step_time_us and lateness_us (start after
    the deadline): median, p99, p99_9, max; environment: scheduler, memory, garbage_collector, system, cpus, governor,
    python; limits: share of the steps by output that reports an active limit; signals: by name unit, final, min,
    max, rms. Keys that do not apply are null. With the native loop also late
    (misses that the machine caused, not long steps), longest_gap_us (between two readings of the clock while the
    loop watched it), woke_late_us (longest delay of a wake-up), latest (the largest
    lateness: at_s and by_steps_us, the part caused by long steps), stolen_ms (by the hypervisor), policy, skipped
    (deadlines), lost (records), starved (steps without new inputs), fallbacks (steps with an input at its
    fall-back), histograms, faults, switched (faults, on the live page: name, from_s, to_s), and environment: cpu,
    pacing; on a bus can: channel, timeout_s, from_bus, quanta (of each variable), tunable, load (of the bus at 500
    kbit/s, 1 is all of it), overloaded (above 70 %), refused (values of parameters), overdue (times that outputs
    fell back on the bus, since a step took too long), scheduler (of its threads), counts (of messages), clamped,
    not_finite and held (values by signal), round_trip_ms, gap_ms (between accepted messages): median, max.

    Options
    -------
    fmu : Any co-simulation FMU of FMI 2.0 or 3.0.
    step : Step, e.g. 1e-3 or "1 ms"; default: the FMU's.
    duration : How long; default: the scenario's, or the FMU's.
    scenario : A scenario of the FMU's unit by name, or a scenario file.
    inputs : Inputs in place of the scenario's: columns time [s],NAME [UNIT],...
    fast : Do not wait for the clock.
    pacing : native: a loop in C (Linux, default there); python: a loop in Python.
    overrun : After a step that ended after the next deadline.
    cpu : Processor for the native loop; default: the last that is free.
    fallbacks : Of an input without a valid value, or an output without a result. Repeatable; default: 0 for torques,
        else the last value.
    can : Outputs to and inputs from a CAN bus: socketcan:can0, udp_multicast:239.74.163.2 or virtual:NAME.
    dbc : The bus's database; default: one made from the variables.
    save_dbc : Write the database that was made, for the other node.
    nodes : Of the database, whose messages the rig sends. Repeatable; default: RIG, or the only one that sends outputs.
    send : Values to send on the bus, by default all: outputs, or messages of a given database, by name or pattern, and
        how often: --send "shaft.*=1 ms" --send "*.w=20 ms". Repeatable; the last that fits counts.
    live : Serve a page of the run on this machine; 0 for any free port.
    xcp : Serve XCP on TCP/IP on this machine, to measure and calibrate.
    save_a2l : With --xcp: write its description, A2L.
    isolate : The unit in a process of its own, or in the rig's.
    patience : After which a unit whose step does not return is killed.
    can_timeout : After which an input without a new bus value falls back.
    output : Recording: FILE.mf4, ASAM MDF 4, or FILE.h5.
    record : A local variable to record, too; * for any. Repeatable.
    logging : Show messages of the unit.
    on_recording_error : When the recording cannot be written, e.g. on a full disk.
    """
    from rtcvt.hil.native.build import available
    from rtcvt.hil.recorder import ENDINGS
    from rtcvt.recording import require_ending, require_writable

    h = None if step is None else seconds("--step", step)
    length = None if duration is None else seconds("--duration", duration)
    require_ending(output, ENDINGS)
    require_writable(output, figures, save_dbc, save_a2l)
    chosen, faults = (None, ()) if scenario is None else _scenario_and_faults(fmu, scenario)
    if inputs is not None:
        from rtcvt.hil.importer import inputs_from
        from rtcvt.scenario import Scenario

        tables = inputs_from(inputs)
        end = next(iter(tables.values())).time[-1]
        chosen = chosen or Scenario(name=inputs.stem, duration=end or length or 1.0)
        chosen = chosen.model_copy(update={"inputs": chosen.inputs | tables})
    native = not fast and (available() if pacing is None else pacing == "native")
    if not native:
        _refuse_given({
            "--overrun": None if overrun == "catch-up" else overrun, "--cpu": cpu, "--fallback": fallbacks or None,
            "--can": can, "--live": live, "--xcp": xcp, "--scenario: fault": faults or None,
            "--on-recording-error": None if on_recording_error == "stop" else on_recording_error,
        })  # fmt: skip
    if can is None and (dbc or save_dbc or nodes or send):
        raise InputError("--dbc", "", str(dbc or save_dbc or nodes or send), "only with --can")
    if xcp is None and save_a2l:
        raise InputError("--save-a2l", "", str(save_a2l), "only with --xcp")
    if native:
        from rtcvt.hil.loop import Policy
        from rtcvt.hil.rig import Rig, run_rig

        policy = Policy[overrun.replace("-", "_").upper()]
        rig = Rig(
            policy, cpu, fallback=numbers(fallbacks, "--fallback"), faults=faults, isolated=isolate,
            patience=seconds("--patience", patience), needs_recording=on_recording_error == "stop", logging=logging,
        )  # fmt: skip
        attach = []
        if can is not None:
            from rtcvt.hil.can_attachment import can_attachment

            attach.append(
                can_attachment(can, dbc, seconds("--can-timeout", can_timeout), save_dbc, nodes or (), _paces(send))
            )
        if live is not None:
            from rtcvt.hil.live import live_page

            attach.append(live_page(live, lambda address: say(f"live page: {address}")))
        if xcp is not None:
            from rtcvt.hil.xcp import xcp_attachment

            attach.append(xcp_attachment(xcp, save_a2l))
        report = run_rig(fmu, h, length, chosen, rig, output, attach, record or ())
        found, message = report.figures, report.message
    else:
        from rtcvt.hil.recorder import write
        from rtcvt.hil.runner import run as run_fmu

        result = run_fmu(fmu, h, length, chosen, fast, record or (), logging)
        if output is not None:
            write(output, result.recording(), result.kind)
        found, message = result.figures(), result.message
    write_figures(figures, found)
    for note in found["notes"]:
        say(f"note: {note}")
    _say_timing(found)
    say_limits(found["limits"])
    _say_faults(found)
    _say_bus(found.get("can", {}))
    if output is not None and output.exists():
        say(f"recording: {output}")
    if message:
        fail(message, {"SIGINT": 130, "recording": 2}.get(re.split(r"\W", message)[0], 1))


def _say_timing(found: dict[str, Any]) -> None:
    """Print source of the clock, step times, and steps that were late, lost or without inputs."""
    from rtcvt.hil.runner import describe

    say(f"{found['fmu']}: {describe(found['environment'])}")
    table = Table("us", "median", "p99", "p99.9", "max", title=f"{found['steps']} steps of {found['step_s']:g} s")
    for key, text in (("step_time_us", "step time"), ("lateness_us", "lateness")):
        if found[key] is not None:
            table.add_row(text, *("" if v is None else f"{v:.1f}" for v in found[key].values()))
    out.print(table)
    if found["terminated_s"] is not None:
        say(f"the unit ended the simulation at t = {found['terminated_s']:g} s")
    if found["misses"] is not None:
        say(f"deadlines missed: {found['misses']}")
    if found.get("misses") and "late" in found:
        say(f"of these by the machine, not by long steps: {found['late']}")
    if "latest" in found and (found["lateness_us"]["max"] or 0.0) > LATE_US:
        most, by_steps = found["lateness_us"]["max"], found["latest"]["by_steps_us"]
        stolen = "" if found["stolen_ms"] is None else f"; the hypervisor took {found['stolen_ms']:.0f} ms"
        say(
            f"largest lateness, {most:.0f} us at t = {found['latest']['at_s']:g} s: {by_steps:.0f} us by long steps "
            f"before, {most - by_steps:.0f} us by the machine, which woke the loop up to {found['woke_late_us']:.0f} "
            f"us too late and kept it from the clock for up to {found['longest_gap_us']:.0f} us{stolen}"
        )
    for key, text in (
        ("skipped", "deadlines skipped"),
        ("lost", "records lost"),
        ("starved", "steps that had to hold their inputs"),
        ("fallbacks", "steps with an input at its fall-back"),
    ):
        if found.get(key):
            say(f"{text}: {found[key]}")


def _say_faults(found: dict[str, Any]) -> None:
    for fault in found.get("faults", ()):
        after = fault["recovered_after_s"]
        lasts = fault["start"] + fault["duration"] >= found["duration_s"]
        never = "it lasts until the run ends" if lasts else "no undisturbed step after it until the run ends"
        hit = found.get("can", {}).get("counts", {}).get(f"fault {fault['name']}")
        say(
            f"fault {fault['name']} ({fault['kind']}): {fault['steps']} steps, {fault['misses']} missed, "
            f"{fault['fallbacks']} with a fall-back, {fault['no_result']} without result"
            f"{'' if hit is None else f', {hit} messages'}; "
            f"{never if after is None else f'undisturbed {after:g} s after its end'}"
        )
    for fault in found.get("switched", ()):
        until = "the end" if fault["to_s"] is None else f"{fault['to_s']:g} s"
        say(f"fault {fault['name']}, switched on the live page: from {fault['from_s']:g} s to {until}")


def _say_bus(bus: dict[str, Any]) -> None:
    if bus.get("overdue"):
        say(f"outputs at their fall-back on the bus, since a step took too long: {bus['overdue']} times")
    if bus.get("counts"):
        say(f"bus {bus['channel']}: " + ", ".join(f"{k} {v}" for k, v in bus["counts"].items()))
    if bus.get("overloaded"):
        say(
            f"load of the bus at 500 kbit/s: {bus['load']:.0%}, too much: messages come late or are lost; use a "
            "longer step, or choose signals and cycle times with --send"
        )
    for key, text in (
        ("clamped", "clamped to its range"),
        ("not_finite", "not finite, so its message was not sent"),
        ("held", "so the last value is used"),
        ("refused", "refused, out of its range"),
    ):
        for name, count in bus.get(key, {}).items():
            say(f"bus: {name} {text}: {count} times")
    for key, text in (("round_trip_ms", "round trip"), ("gap_ms", "between messages")):
        if bus.get(key):
            say(f"{text}: median {bus[key]['median']:.2f} ms, at most {bus[key]['max']:.2f} ms")


@command
def plot(
    recording: Path = arg(..., metavar="FILE"),
    signals: list[str] | None = opt("--signal", metavar="NAME", autocompletion=completion.signals),
    output: Path | None = opt("-o", "--output", metavar="FILE"),
) -> None:
    """Draw a recording's signals over time, those of one unit in one diagram, belt fields as maps.

    For a run of the full pushbelt the picture shows the contact forces over the belt, as in its source, and the pulleys
    over time; with --signal, signals over time. Injected faults are shaded. For a sweep it shows lines over one
    parameter, maps over two, else parallel coordinates.

    Options
    -------
    recording : HDF5 or ASAM MDF 4 (.mf4), also a .part or .partial file.
    signals : Only this one. Repeatable.
    output : Picture; default: FILE with suffix .png.
    """
    from rtcvt.hil.plot import draw, require_picture, save
    from rtcvt.hil.recorder import read
    from rtcvt.kind import kinds
    from rtcvt.look import RC
    from rtcvt.recording import optional
    from rtcvt.sweep_picture import picture

    path = output or recording.parent / f"{recording.stem}.png"
    require_picture(path)
    of_kinds: list[Any] = [kind.picture for kind in kinds() if kind.picture is not None and not signals]
    with optional("matplotlib").rc_context(RC):
        drawn = (of(recording) for of in (partial(picture, patterns=signals), *of_kinds))
        figure = next((figure for figure in drawn if figure is not None), None)
        if figure is not None:
            save(figure, path)
            say(f"picture: {path}")
            return
    found = (kind.recording(recording) for kind in kinds() if kind.recording is not None)
    draw(next((of for of in found if of is not None), None) or read(recording), path, signals, recording.name)
    say(f"picture: {path}")


def _scenario_for(fmu: Path, name: str) -> "Scenario":
    """A scenario file, or a scenario of the unit file inside an FMU that rtcvt made."""
    from rtcvt.kind import load_unit
    from rtcvt.scenario import get_scenario, load_scenario
    from rtcvt.unitfile import parse_unit_file

    if name.endswith(".toml"):
        return load_scenario(name)
    allowed = f"a TOML file; {fmu} has no unit file with scenarios"
    readable = AsInputError(_UNREADABLE, "--scenario", "", name, allowed, passing=InputError)
    with readable, opened_archive(fmu) as file, zipfile.ZipFile(file) as archive:
        text = archive.read("resources/unit.toml").decode("utf-8")
        maker = re.search(rb'generationTool="([^"]{1,40})"', archive.read("modelDescription.xml"))
    try:
        unit = load_unit(parse_unit_file(text, fmu.name))
    except InputError as error:
        by = maker[1].decode(errors="replace") if maker else "another tool"
        told = f"{error.parts[3]}; the FMU was made by {by}: export it again with rtcvt export"
        raise InputError(*error.parts[:3], told) from None
    return get_scenario(unit, name)


def _scenario_and_faults(fmu: Path, name: str) -> "tuple[Scenario, tuple[Fault, ...]]":
    """A scenario file with its faults, or a scenario of the unit file inside an FMU."""
    from rtcvt.scenario import load_faults

    return load_faults(Path(name)) if name.endswith(".toml") else (_scenario_for(fmu, name), ())


def _refuse_given(options: dict[str, Any]) -> None:
    """Refuse options of the native loop, since another loop runs."""
    for option, value in options.items():
        if value is not None:
            shown = None if isinstance(value, tuple) else value  # no faults
            raise InputError(option, "", shown, "only with --pacing native, without --fast")


def _paces(texts: list[str] | None) -> dict[str, float | None]:
    """Patterns ``NAME[=TIME]`` of ``--send``, and cycle times [s]."""
    paces: dict[str, float | None] = {}
    for text in texts or ():
        name, told, time = text.partition("=")
        pace = paces[name] = seconds("--send", time) if told else None
        if pace is not None and not 1e-3 <= pace <= MOST_CYCLE:
            raise InputError("--send", name, time, f"a time from 1 ms to {MOST_CYCLE:g} s")
    return paces


def numbers(pairs: list[str] | None, option: str) -> dict[str, float]:
    """Texts ``NAME=NUMBER`` of an option as numbers, each in its variable's unit; `InputError` for any other."""
    values = {}
    for name, text in assignments(pairs, option).items():
        with AsInputError(ValueError, option, name, text, "a number in the variable's unit"):
            values[name] = float(str(text) if str(text).isascii() else "")
        if not np.isfinite(values[name]):
            raise InputError(option, name, text, "a finite number")
    return values
