"""A car brakes from 100 km/h to a stop and launches again, with a flywheel behind a pushbelt or a toroidal variator.

    python -m offline.variator.event -o event.html

Car, driveline and driver are those of `rtcvt.vehicle`; outputs are exchanged at each millisecond, inputs held between
(`rtcvt.system`). The driver follows a speed over time and asks the KERS first; drive and brakes make up for the rest.

A dog clutch lies between driveline and KERS, since no ratio of these variators brings the shaft to standstill beside a
turning flywheel. It opens where the ratio ends (theta within a fiftieth of the range of either end, or below the
least speed), and closes, not before a second has passed, when the shaft runs as fast as the KERS and the driver asks
for a torque that it can have. While it is open the KERS turns alone: the spring of its shaft unwinds within 5 ms, no
torque is demanded, and the driveline has no load. It never slips; the demand comes up within half a second after it has
closed.

Both units move the same flywheel through the same range of ratios on the same shaft (`toroidal`). Energies are those at
the shaft of the KERS: taken in, given back, and what is left in the store; the power of the clamping forces counts in
the pushbelt's input, as what it takes where it is positive: a cylinder gives nothing back.
"""

import base64
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rtcvt.build import build_any, load_any
from rtcvt.documentation import number, page, table
from rtcvt.errors import InputError
from rtcvt.kernel import FAILED
from rtcvt.model import Instance, Model
from rtcvt.pog.system import build_model
from rtcvt.recording import replaced_on_success, require_writable
from rtcvt.unitfile import load_unit, read_unit
from rtcvt.variator.unit import Variator, load_variator

__all__ = ["Event", "Kers", "pushbelt", "run_event", "toroidal", "write_report"]

Array = NDArray[np.float64]

STEP = 1e-3  # [s]
TOP = 100.0 / 3.6  # [m/s]
RATE = 1.5  # braking and launching [m/s2]
HOLD, STAND, AFTER = 2.0, 4.0, 4.0  # at the top, at rest, at the top again [s]
RAMP = 0.5  # in which the demand comes up after the clutch has closed [s]
UNWOUND = 5e-3  # in which the torque of the shaft's spring falls to 1/e behind an open clutch [s]
LEAST = 30.0 / 3.6  # below, the clutch does not close [m/s]
REST = 1.0  # that the clutch stays open at least [s]
KERS_TORQUE = 750.0  # that the driver asks of the KERS at most, at the wheels [N.m]
DURATION = HOLD + TOP / RATE + STAND + TOP / RATE + AFTER
SIGNALS = ("v", "v_des", "tau", "tau_des", "w", "theta", "E", "clamp", "drive", "brake", "closed", "saturated")
MORE = (
    *("belt.slip", "belt.margin", "ratio.i", "thrust.primary", "thrust.secondary", "status.macro_slip"),
    *("status.extrapolating", "loss.sliding", "loss.belt", "loss.bearing", "loss.shift"),
)


@dataclass(frozen=True)
class Kers:
    """A unit with the ports of a KERS, and where its ratio ends."""

    name: str
    model: Model
    gear: float  # speed of its first state by that of the shaft
    stiffness: float  # of its shaft [N.m/rad]
    low: float  # end of the ratio with the slow flywheel, theta [rad]
    high: float


@dataclass(frozen=True)
class Event:
    """Signals over time in SI units; those in `MORE` only where the unit has them."""

    kers: Kers
    time: Array
    values: dict[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def figures(self) -> dict[str, float]:
        """Energies [J], efficiencies, and the torque's error [N.m] while the clutch is closed."""
        power = self["tau"] * self["w"]
        half = HOLD + TOP / RATE + 0.5 * STAND  # between braking and launching
        braking, closed = self.time < half, self["closed"] > 0.5
        taken, given = (float(np.sum(power[way]) * STEP) for way in (braking, ~braking))
        start, full, end = (float(self["E"][k]) for k in (0, round(half / STEP), -1))
        error = (self["tau"] - self["tau_des"])[closed]
        clamp = self["clamp"]
        actuation = float(np.sum(clamp[clamp > 0.0]) * STEP)
        mass = (1400.0 + 4.0 / 0.3**2) / 2.0
        returned = -given
        return {
            "kinetic energy of the car at 100 km/h": mass * TOP**2,
            "taken at the shaft while braking": taken,
            "more in the store after braking": float(self["E"][braking].max() - start),
            "left in the store before launching": full - start,
            "given back at the shaft while launching": returned,
            "store at the end against the start": end - start,
            "actuation": actuation,
            "brakes": float(np.sum(self["brake"] * self["v"] / 0.3) * STEP),
            "drive": float(np.sum(self["drive"] * self["v"] / 0.3) * STEP),
            "share recovered": taken / (mass * TOP**2),
            "efficiency of charging": float(self["E"][braking].max() - start) / taken,
            "round-trip efficiency": returned / (taken + start - end),
            "round-trip efficiency with actuation": returned / (taken + start - end + actuation),
            "torque error, RMS": float(np.sqrt(np.mean(error**2))),
            "torque error, 99 % below": float(np.quantile(np.abs(error), 0.99)),
        }


def pushbelt(fidelity: str = "hybrid") -> Kers:
    """The KERS with a pushbelt as shipped."""
    unit: Variator = load_variator("pushbelt_kers")
    model = build_any(unit, fidelity)  # type: ignore[arg-type]
    one = model.instantiate()
    ends = []
    for ratio in (unit.ratio.max, unit.ratio.min):
        one.set("ratio.start", ratio)
        one.initialise()
        ends.append(one.get("control.theta"))
    start = 0.98 * unit.ratio.max
    model = _started(model, {"ratio.start": start, "shaft.w_start": TOP / 0.3 * 5.0})
    values = unit.values()
    return Kers(f"pushbelt, {fidelity} model", model, values["shaft.i"], values["shaft.K"], ends[0], ends[1])


def toroidal() -> Kers:
    """The toroidal KERS with the pushbelt's flywheel, geared to the same ratios on the same shaft.

    The disc a stands for the pushbelt's secondary with the flywheel behind its gear. With ``s = (r_c/r_b1) sin(theta)``
    the ratio is ``omega_a/omega_d = r_d/r_b2 (1 + s)/(1 - s)``; r_d makes its middle that of the pushbelt, and theta
    ends where the pushbelt's ratio does.
    """
    values = load_variator("pushbelt_kers").values()
    ratio = load_variator("pushbelt_kers").ratio
    unit = load_unit("toroidal_kers")
    least, most = values["shaft.i"] / ratio.max, values["shaft.i"] / ratio.min
    span = math.sqrt(most / least)
    theta = math.asin((span - 1.0) / (span + 1.0) * 34.3 / 27.5)
    text = unit.text.replace('w_max = "3000 rpm"', f"w_max = {values['flywheel.w_max'] / values['flywheel.i']!r}")
    text = text.replace("start = 0.0, min = -0.9, max", f"start = {-0.98 * theta!r}, min = {-theta!r}, max")
    text = text.replace("max = 0.9", f"max = {theta!r}")
    model = build_model(read_unit(text, unit.source), "rigid", 4)
    J = values["secondary.J"] + values["flywheel.i"] ** 2 * values["flywheel.J"]
    settings = {"geometry.r_d": 51.5e-3 * math.sqrt(least * most), "gear.a.J": J, "shaft.K": values["shaft.K"],
                "control.K_theta": 0.2, "shaft.w_start": TOP / 0.3 * 5.0}  # fmt: skip
    return Kers("toroidal, rigid model", _started(model, settings), 1.0, values["shaft.K"], -theta, theta)


def _started(model: Model, settings: dict[str, float]) -> Model:
    """The model with other parameters."""
    one = model.instantiate()
    for name, value in settings.items():
        one.set(name, value)
    return replace(model, p=one.p)


def speed(t: float) -> float:
    """Speed that is wanted [m/s]; its corners are rounded over half a second."""
    corners = [HOLD, HOLD + TOP / RATE, HOLD + TOP / RATE + STAND, HOLD + 2.0 * TOP / RATE + STAND]
    changes = [-RATE, RATE, RATE, -RATE]
    v = TOP
    for corner, change in zip(corners, changes, strict=True):
        s = min(max((t - corner + 0.25) / 0.5, 0.0), 1.0)
        v += change * (0.25 * s * s + max(t - corner - 0.25, 0.0))
    return max(v, 0.0)


def run_event(kers: Kers) -> Event:
    """Run the event.

    Raises
    ------
    InputError
        A step has no finite solution.
    """
    parts: dict[str, Instance] = {n: build_any(load_any(n)).instantiate() for n in ("vehicle", "driveline", "driver")}
    unit = kers.model.instantiate()
    car, line, driver = parts["vehicle"], parts["driveline"], parts["driver"]
    car.set("vehicle.v_start", TOP)
    line.set("driveline.w_start", TOP / 0.3 * 5.0)
    span = kers.high - kers.low
    settings = {"tau_kers": KERS_TORQUE, "tau_drive": 2500.0, "E_full": 1e9, "theta_low": kers.low + 0.01 * span}
    settings |= {"theta_high": kers.high - 0.01 * span, "theta_band": 0.05 * span}
    for name, value in settings.items():
        driver.set(f"driver.{name}", value)
    unit.set("shaft.w", TOP / 0.3 * 5.0)
    driver.set("driver.v", TOP)
    driver.set("driver.v_des", TOP)
    for instance in (*parts.values(), unit):
        instance.initialise()
    more = tuple(name for name in MORE if name in kers.model.by_name)
    has_clamp = "clamp.P" in kers.model.by_name
    n = round(DURATION / STEP)
    rows = np.empty((n + 1, len(SIGNALS) + len(more)))
    closed, since = True, RAMP  # since it closed, or opened (negative) [s]
    for k in range(n + 1):
        v, theta = car.get("vehicle.v"), unit.get("control.theta")
        own = float(unit.x[0]) / kers.gear
        wish = driver.get("kers.tau_des")
        shaft = line.get("shaft.w")
        if closed:
            ends = (theta > kers.high - 0.02 * span and wish >= 0.0) or (theta < kers.low + 0.02 * span and wish <= 0.0)
            closed = not ((ends and k > round(HOLD / STEP)) or v < LEAST)
        else:
            room = theta > kers.low + 0.05 * span if wish < 0.0 else theta < kers.high - 0.05 * span
            closed = v > LEAST and room and abs(wish) > 1.0 and abs(shaft - own) < 1.0 and -since > REST
        since = max(since, 0.0) + STEP if closed else min(since, 0.0) - STEP
        demand = wish * min(max(since / RAMP, 0.0), 1.0)
        tau = unit.get("shaft.tau")
        if not closed:
            shaft, tau = own - tau / (kers.stiffness * UNWOUND), 0.0
        unit.set("shaft.w", shaft)
        unit.set("control.tau_des", demand)
        line.set("shaft.load", tau)
        line.set("axle.w", car.get("axle.w"))
        car.set("axle.load", line.get("axle.tau"))
        car.set("drive.tau", driver.get("drive.tau"))
        car.set("brake.tau", driver.get("brake.tau"))
        for name, value in (("v", v), ("v_des", speed(k * STEP)), ("theta", theta), ("tau_axle", line.get("axle.tau"))):
            driver.set(f"driver.{name}", value)
        driver.set("driver.E", unit.get("storage.E"))
        rows[k] = [
            v, speed(k * STEP), tau, demand, shaft, theta, unit.get("storage.E"), unit.get("clamp.P") if has_clamp
            else 0.0, driver.get("drive.tau"), driver.get("brake.tau"), float(closed), unit.get("control.saturated"),
            *(unit.get(name) for name in more),
        ]  # fmt: skip
        for name, instance in (*parts.items(), (kers.name, unit)):
            if instance.step(STEP) == FAILED:
                raise InputError("event", f"step at t = {k * STEP:g} s", None, f"{name} has no finite solution")
    time = np.arange(n + 1, dtype=np.float64) * np.float64(STEP)
    return Event(kers, time, dict(zip((*SIGNALS, *more), rows.T, strict=True)))


# --- report -----------------------------------------------------------------------------------------------------------


def _shown(name: str, value: float) -> str:
    if "efficiency" in name or "share" in name:
        return f"{100.0 * value:.1f} %"
    return f"{number(value, 3)} N.m" if "torque" in name else f"{value / 1e3:.2f} kJ"


def _picture(events: list[Event]) -> str:
    """Speeds, torques, ratio, energy and clamping over time."""
    plot = Figure(figsize=(11.0, 13.0), layout="constrained")
    FigureCanvasAgg(plot)
    axes: Any = plot.subplots(5, 1, sharex=True)
    colours = ("#1d4ed8", "#2f855a", "#c2410c")
    axes[0].plot(events[0].time, 3.6 * events[0]["v_des"], "k--", lw=0.8, label="wanted")
    for event, colour in zip(events, colours, strict=False):
        t, name = event.time, event.kers.name
        axes[0].plot(t, 3.6 * event["v"], colour, label=name)
        axes[1].plot(t, event["tau"], colour, lw=1.0, label=name)
        axes[1].plot(t, event["tau_des"], "k--", lw=0.6)
        part = (event["theta"] - event.kers.low) / (event.kers.high - event.kers.low)
        axes[2].plot(t, 100.0 * part, colour, label=name)
        axes[3].plot(t, event["E"] / 1e3, colour, label=name)
        if "thrust.primary" in event.values:
            axes[4].plot(t, event["thrust.primary"] / 1e3, colour, lw=1.0, label=f"primary: {name}")
            axes[4].plot(t, event["thrust.secondary"] / 1e3, colour, lw=1.0, ls=":", label=f"secondary: {name}")
    names = ("speed, km/h", "torque at the shaft, N.m\n(demanded dashed)", "tilt, % of its range", "stored, kJ",
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
    rows = [(name, *(_shown(name, f[name]) for f in found)) for name in found[0]]
    head = ("", *(event.kers.name for event in events))
    about = " ".join((__doc__ or "").split("\n\n")[2].replace("`", "").split())
    columns = tuple(range(1, len(head)))
    shown = table(head, rows, columns) + _picture(events)
    body = f"<h1>Braking from 100 km/h and launching</h1>\n<p>{about}</p>\n{shown}"
    with replaced_on_success(path) as partial:
        partial.write_text(page("Braking and launching with a KERS", body), encoding="utf-8")


def main(output: Annotated[Path, typer.Option("--output", "-o", help="report (HTML)")] = Path("event.html")) -> None:
    """Brake a car from 100 km/h and launch it again, with a pushbelt and with a toroidal variator."""
    require_writable(output)
    events = [run_event(kers) for kers in (pushbelt("hybrid"), pushbelt("rigid"), toroidal())]
    write_report(events, output)
    found = [event.figures() for event in events]
    for name in found[0]:
        typer.echo(f"{name:42s}" + "".join(f"{_shown(name, f[name]):>16s}" for f in found))


if __name__ == "__main__":
    typer.run(main)
