"""A car brakes from 100 km/h to a stop and launches again, with a flywheel behind a pushbelt or a toroidal variator.

    python examples/kers_event.py [-o event.html]

``kers_event.toml`` connects cycle, driver, vehicle, driveline, clutch and KERS; here it runs with the hybrid and the
rigid model of the pushbelt, and with those of a toroidal variator that moves the same flywheel through the same ratios
on the same shaft (``toroidal_flywheel.toml``).

Energies are those at the shaft of the KERS: taken in, given back, and what is left in the store; the power of the
clamping forces counts in the pushbelt's input where it is positive, since a cylinder gives nothing back.
"""

import argparse
import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rtcvt.html import number, page, table
from rtcvt.kind import load_unit
from rtcvt.network.file import System
from rtcvt.network.model import component_model
from rtcvt.recording import Recording, replaced_on_success, require_writable
from rtcvt.simulate import simulate

HERE = Path(__file__).parent
TILT = 0.51610616  # of the toroidal variator, to either side [rad]


@dataclass(frozen=True)
class Event:
    """A run of the system with one KERS."""

    name: str
    run: Recording
    system: System

    def __getitem__(self, port: str) -> NDArray[np.float64]:
        return self.run[port]

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Whether the clutch is to be closed, shape (n,)."""
        return self.run["engagement.control.closed"] > 0.5

    @property
    def power(self) -> NDArray[np.float64]:
        """Into the KERS at its shaft [W], shape (n,)."""
        return self.run["kers.shaft.tau"] * self.run["kers.shaft.w"]

    def figures(self) -> dict[str, float]:
        """Energies [J], efficiencies, and the torque's error [N.m] while the clutch is closed."""
        run, t = self.run, self.run.time
        H = t[1]
        car = component_model(self.system, "vehicle").instantiate()
        car.initialise()
        kinetic = car.get("storage.E")
        braking = t < 0.5 * t[-1]  # the profile is its own mirror image
        taken, given = (float(np.sum(self.power[way]) * H) for way in (braking, ~braking))
        E, v, r_w = run["kers.storage.E"], run["vehicle.vehicle.v"], car.get("vehicle.r_w")
        charged, left = float(E[braking].max() - E[0]), float(E[braking][-1] - E[0])
        change = float(E[-1] - E[0])
        error = (run["kers.shaft.tau"] - run["engagement.control.tau_des"])[self.closed]
        clamp = run["kers.clamp.P"] if "kers.clamp.P" in run.signals else np.zeros(1)
        actuation = float(np.sum(clamp[clamp > 0.0]) * H)
        creep, margin = (
            [run[name][self.closed] for name in names if name in run.signals]
            for names in (
                ("kers.belt.slip", "kers.contact.bc.creep", "kers.contact.ac.creep"),
                ("kers.belt.margin", "kers.contact.bc.margin", "kers.contact.ac.margin"),
            )
        )
        if creep:  # the rigid models have none
            grip = {"creep, largest": round(float(np.abs(creep).max()), 9), "margin, least": float(np.min(margin))}
        else:
            grip = {}
        return grip | {
            "kinetic energy of the car at 100 km/h": kinetic,
            "taken at the shaft while braking": taken,
            "more in the store after braking": charged,
            "left in the store before launching": left,
            "given back at the shaft while launching": -given,
            "store at the end against the start": change,
            "actuation": actuation,
            "heat of the clutch": float(run["clutch.clutch.Q"][-1]),
            "brakes": float(np.sum(run["driver.brake.tau"] * v / r_w) * H),
            "drive": float(np.sum(run["driver.drive.tau"] * v / r_w) * H),
            "share recovered": taken / kinetic,
            "efficiency of charging": charged / taken,
            "round-trip efficiency": -given / (taken - change),
            "round-trip efficiency with actuation": -given / (taken - change + actuation),
            "torque error, RMS": float(np.sqrt(np.mean(error**2))),
            "torque error, 99 % below": float(np.quantile(np.abs(error), 0.99)),
        }


def pushbelt(fidelity: str = "hybrid") -> System:
    """The system as it is in its file, with a model of the pushbelt."""
    return changed(load_unit(HERE / "kers_event.toml"), kers={"model": fidelity})


def toroidal(fidelity: str = "hybrid") -> System:
    """The system with a model of the toroidal variator, and the ends of its tilt in driver and controller."""
    system = load_unit(HERE / "kers_event.toml")
    ends = {"driver.theta_low": -0.98 * TILT, "driver.theta_high": 0.98 * TILT, "driver.theta_band": 0.1 * TILT}
    limits = {"control.theta_low": -TILT, "control.theta_high": TILT, "control.d_open": 0.04 * TILT}
    limits["control.d_close"] = 0.1 * TILT
    own = {"control.tau_filter": 0.2} if fidelity == "hybrid" else {}  # with 0.1 ms creep makes the loop oscillate
    return changed(
        system,
        driver={"parameters": system.components["driver"].parameters | ends},
        engagement={"parameters": system.components["engagement"].parameters | limits},
        kers={"unit": "toroidal_flywheel.toml", "model": fidelity, "substeps": 4, "parameters": own},
    )


def changed(system: System, **components: dict[str, Any]) -> System:
    """The system with other values of some components."""
    new = {name: system.components[name].model_copy(update=values) for name, values in components.items()}
    return system.model_copy(update={"components": system.components | new})


def run_event(name: str, system: System) -> Event:
    """Run the system.

    Raises
    ------
    InputError
        A step has no finite solution.
    """
    return Event(name, simulate(system.build(), system.scenario[0]).recording(), system)


# --- report -----------------------------------------------------------------------------------------------------------


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if any(part in name for part in ("efficiency", "share", "creep", "margin")):
        return f"{100.0 * value:.1f} %"
    if "heat" in name:
        return f"{value:.2f} J"
    return f"{number(value, 3)} N.m" if "torque" in name else f"{value / 1e3:.2f} kJ"


def _picture(events: list[Event]) -> str:
    """Speeds, torques, ratio, energy and clamping over time."""
    plot = Figure(figsize=(11.0, 13.0), layout="constrained")
    FigureCanvasAgg(plot)
    axes: Any = plot.subplots(5, 1, sharex=True)
    axes[0].plot(events[0].run.time, 3.6 * events[0]["cycle.cycle.v"], "k--", lw=0.8, label="wanted")
    for event, colour in zip(events, ("#1d4ed8", "#2f855a", "#c2410c", "#7c3aed"), strict=False):
        t, name = event.run.time, event.name
        axes[0].plot(t, 3.6 * event["vehicle.vehicle.v"], colour, label=name)
        axes[1].plot(t, event["kers.shaft.tau"], colour, lw=1.0, label=name)
        axes[1].plot(t, event["engagement.control.tau_des"], "k--", lw=0.6)
        axes[2].plot(t, event["kers.control.theta"], colour, label=name)
        axes[3].plot(t, event["kers.storage.E"] / 1e3, colour, label=name)
        if "kers.thrust.primary" in event.run.signals:
            axes[4].plot(t, event["kers.thrust.primary"] / 1e3, colour, lw=1.0, label=f"primary: {name}")
            axes[4].plot(t, event["kers.thrust.secondary"] / 1e3, colour, lw=1.0, ls=":", label=f"secondary: {name}")
        elif "kers.traction.end_load" in event.run.signals:
            axes[4].plot(t, event["kers.traction.end_load"] / 1e3, colour, lw=1.0, label=f"end load: {name}")
    names = ("speed, km/h", "torque at the KERS, N.m\n(demanded dashed)", "tilt, rad", "stored, kJ",
             "clamping force, kN")  # fmt: skip
    for ax, name in zip(axes, names, strict=True):
        ax.set_ylabel(name)
        ax.grid(color="#e4e7eb")
        ax.legend(fontsize=8, loc="best")
    axes[-1].set_xlabel("time, s")
    buffer = io.BytesIO()
    plot.savefig(buffer, dpi=80, format="png")
    return f'<p><img alt="event" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"/></p>\n'


def write_report(events: list[Event], path: Path) -> None:
    """Write the comparison as an HTML page."""
    found = [event.figures() for event in events]
    rows = [(name, *(_shown(name, f.get(name)) for f in found)) for name in found[0]]
    head = ("", *(event.name for event in events))
    about = " ".join((__doc__ or "").split("\n\n")[3].split())
    body = f"<h1>Braking from 100 km/h and launching</h1>\n<p>{about}</p>\n"
    body += table(head, rows, tuple(range(1, len(head)))) + _picture(events)
    with replaced_on_success(path) as partial:
        partial.write_text(page("Braking and launching with a KERS", body), encoding="utf-8")


def main() -> None:
    """Run the three variants, print their figures and write the report."""
    parser = argparse.ArgumentParser(description="Brake a car from 100 km/h to a stop and launch it again.")
    parser.add_argument("-o", "--output", type=Path, default=Path("event.html"), help="report (HTML)")
    output = parser.parse_args().output
    require_writable(output)
    variants = {
        f"{machine.__name__}, {fidelity} model": machine(fidelity)
        for machine in (pushbelt, toroidal)
        for fidelity in ("hybrid", "rigid")
    }
    events = [run_event(name, system) for name, system in variants.items()]
    write_report(events, output)
    found = [event.figures() for event in events]
    for name in found[0]:
        print(f"{name:40}", *(f"{_shown(name, f.get(name)):>14}" for f in found))


if __name__ == "__main__":
    main()
