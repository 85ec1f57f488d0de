"""The KERS torque controller on a CAN bus against the same controller inside the unit.

The variator (`toroidal_variator`) runs on the rig, its controller (`kers_ecu`) in a process of its own; they know
each other by the bus only. The whole unit (`toroidal_kers`) with the same demand is simulated too. What differs is
stated next to what must make it differ:

- a tilt that is D late is off by at most D max|theta'|; D is the longest round trip, the longest gap between messages
  and two steps, one for each hold;
- a number on the bus is off by half its quantum.

The torque is that of the tilt's rate, so it is off by what the rate changes in D, and by the jitter of the messages
divided by the time constant of the actuator.

    python examples/controller_on_a_bus.py -o FOLDER

writes the variator's FMU, the bus's database, the recording ``run.mf4``, the figures ``comparison.json`` and the
picture ``comparison.png`` to the folder.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.hil.can_attachment import can_attachment, database_text
from rtcvt.hil.importer import open_fmu
from rtcvt.hil.multicast import free_group
from rtcvt.hil.plot import draw
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.kind import load_unit
from rtcvt.recording import Recording, Signal, replaced_on_success
from rtcvt.scenario import Scenario, get_scenario
from rtcvt.simulate import simulate

DEMAND = "0.45 + 1.5*(1 - cos(2*pi*t/4))"  # [N.m], a smooth charge every 4 s
STEP = 5e-3  # [s]
TIMEOUT = 0.5  # [s], for a machine that others use too
SETTLED = 0.5  # [s] after which the start has decayed
CONTROLLER = Path(__file__).with_name("kers_ecu.py")

Array = NDArray[np.float64]


def compare(tilt: Array, torque: Array, whole_tilt: Array, whole_torque: Array, h: float, bus: Any) -> dict[str, Any]:
    """How far a run on the bus is from the whole unit.

    Parameters
    ----------
    tilt, torque, whole_tilt, whole_torque : array, shape (n + 1,)
        On the bus and of the whole unit [rad], [N.m].
    h : float
        Step [s].
    bus : mapping
        Figures of the bus, see `rtcvt.hil.can_attachment`.

    Returns
    -------
    dict
        ``delay_ms``: ``median`` of the round trip, and ``longest`` (D); ``tilt_rad`` and ``torque_N_m``: ``max`` and
        ``rms`` of the difference, ``largest`` value of the whole unit, ``quantum``; of the tilt also ``in_delay``, what
        it moves in D.
    """
    longest = 1e-3 * (bus["round_trip_ms"]["max"] + bus["gap_ms"]["max"]) + 2.0 * h
    settled = slice(round(SETTLED / h), None)

    def difference(got: Array, wanted: Array, name: str) -> dict[str, float]:
        off = (got - wanted)[settled]
        return {
            "max": float(np.max(np.abs(off))),
            "rms": float(np.sqrt(np.mean(off**2))),
            "largest": float(np.max(np.abs(wanted))),
            "quantum": bus["quanta"][name],
        }

    moved = float(np.max(np.abs(np.gradient(whole_tilt, h)))) * longest
    return {
        "delay_ms": {"median": bus["round_trip_ms"]["median"], "longest": longest * 1e3},
        "tilt_rad": difference(tilt, whole_tilt, "control.theta") | {"in_delay": moved},
        "torque_N_m": difference(torque, whole_torque, "shaft.tau"),
    }


def demonstrate(folder: Path, duration: float = 8.0, channel: str | None = None) -> dict[str, Any]:
    """Run the variator and its controller on the bus, write what the module's text names, and return the figures.

    The bus is a multicast group that nobody on this machine uses, unless a channel is given.

    Returns
    -------
    dict
        ``comparison``, see `compare`; ``rig``, see `rtcvt.hil.rig.Report`; ``ecu``, see `kers_ecu`.

    Raises
    ------
    InputError
        A channel that cannot be opened, or a controller that does not start.
    """
    from rtcvt.fmu.native.export import export_native

    channel = channel or f"udp_multicast:{free_group()}"
    folder.mkdir(parents=True, exist_ok=True)
    scenario = get_scenario(load_unit("toroidal_variator"), "on a bus").model_copy(update={"duration": duration})
    demanded = Scenario(name="demand", duration=duration, inputs={**scenario.inputs, "control.tau_des": DEMAND})
    whole = simulate(load_unit("toroidal_kers").build("rigid"), demanded, STEP)
    unit = export_native(load_unit("toroidal_variator"), "rigid", folder / "toroidal_variator.fmu")
    database, said, output = folder / "bus.dbc", folder / "ecu.json", folder / "run.mf4"
    with open_fmu(unit) as fmu, replaced_on_success(database) as temporary:
        temporary.write_text(database_text(fmu, scenario, STEP), encoding="utf-8")
    words = ["toroidal_kers", "--can", channel, "--dbc", str(database), "--demand", DEMAND, "--json", str(said)]
    ecu = subprocess.Popen([sys.executable, "-P", str(CONTROLLER), *words], stdout=subprocess.PIPE, text=True)
    try:
        assert ecu.stdout is not None
        if ecu.stdout.readline().strip() != "ready":
            raise InputError("--can", "", channel, "an interface on which the controller can be started")
        report = run_rig(unit, STEP, None, scenario, output=output, attach=[can_attachment(channel, database, TIMEOUT)])
    finally:
        ecu.terminate()
        ecu.wait(timeout=30)
    kept = read(output).signals if report.completed else {}
    figures: dict[str, Any] = {"rig": report.figures, "ecu": json.loads(said.read_text(encoding="utf-8"))}
    if kept and report.figures["can"]["round_trip_ms"]:
        tilt, torque = kept["control.theta"].values, kept["shaft.tau"].values
        figures["comparison"] = compare(
            tilt, torque, whole["control.theta"], whole["shaft.tau"], STEP, report.figures["can"]
        )
        shown = {
            "tilt on the bus": Signal(tilt, "rad"),
            "tilt of the whole unit": Signal(whole["control.theta"], "rad"),
            "torque on the bus": Signal(torque, "N.m"),
            "torque of the whole unit": Signal(whole["shaft.tau"], "N.m"),
            "demand": Signal(whole["control.tau_des"], "N.m"),
        }
        draw(Recording(whole.time, shown, {}, ""), folder / "comparison.png", None, "KERS controller on a CAN bus")
    with replaced_on_success(folder / "comparison.json") as temporary:
        temporary.write_text(json.dumps(figures, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return figures


def main() -> None:
    """The command line of the module."""
    parser = argparse.ArgumentParser(description="The controller on a bus.")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/bus"), metavar="FOLDER")
    parser.add_argument("--can", metavar="CHANNEL", help="that two processes share; default: a free multicast group")
    parser.add_argument("--duration", type=float, default=8.0, metavar="SECONDS")
    given = parser.parse_args()
    try:
        figures = demonstrate(given.output, given.duration, given.can)
    except InputError as error:
        sys.exit(f"error: {error}")
    if "comparison" not in figures:
        sys.exit(f"error: {figures['rig']['message'] or 'the controller was not heard on the bus'}")
    found = figures["comparison"]
    delay, tilt, torque = found["delay_ms"], found["tilt_rad"], found["torque_N_m"]
    scale = torque["largest"]
    for line in (
        f"delay: round trip {delay['median']:.1f} ms (median), at most {delay['longest']:.1f} ms with gaps and holds",
        f"tilt: off by {tilt['rms']:.1e} rad (RMS), at most {tilt['max']:.1e} of {tilt['largest']:.3f} rad",
        f"  it moves {tilt['in_delay']:.1e} rad in the longest delay; its quantum is {tilt['quantum']:.1e} rad",
        f"torque: off by {torque['rms'] / scale:.2%} (RMS), at most {torque['max'] / scale:.1%} of {scale:.2f} N.m",
        f"  its quantum is {torque['quantum']:.1e} N.m",
        f"steps with the tilt at its fall-back: {figures['rig']['fallbacks']}; held by the controller: "
        f"{figures['ecu']['held']}",
    ):
        print(line)
    print(f"written to {given.output}: comparison.json, comparison.png, run.mf4, bus.dbc, toroidal_variator.fmu")


if __name__ == "__main__":
    main()
