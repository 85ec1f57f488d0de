"""A car's run on a page: figures, flow of energy, operating points of its engine or machine, its variator over time.

**Ideal variator.** A run is compared with the fuel of the same engine without losses in clutch and variator, without
inertia and with a free ratio: at each moment it gives the power of the variator's secondary, at the speed at which the
engine burns least for it (`rtcvt.engine.unit.least_fuel`). Where the power is not above zero the fuel is cut off; below
1 m/s the engine idles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.engine.grid import Grid
from rtcvt.engine.unit import Engine, least_fuel, losses, tables
from rtcvt.errors import InputError
from rtcvt.html import COLOURS, figure, number, table, text
from rtcvt.html.sankey import sankey
from rtcvt.look import GREY, INK
from rtcvt.model.balance import Balance, balance
from rtcvt.network.file import System
from rtcvt.network.model import unit_of
from rtcvt.offline.car_figures import Figure, comfort, told
from rtcvt.offline.pictures import cards, drawing, names_beside, report, thin, under
from rtcvt.simulate import Result

Array = NDArray[np.float64]
POINTS, DOTS = 20_000, 1000  # of a run that are kept, and drawn on a map
MIN_DRAWN_SHARE = 1e-3  # share of the energy that is drawn
STANDSTILL_SPEED = 1.0  # [m/s] below which an engine with an ideal variator idles
RPM, KMH = 30.0 / np.pi, 3.6
OVER_TIME = (  # diagrams over time: title, unit, factor, ends of the names of the signals
    ("speed", "km/h", KMH, (".vehicle.v", ".cycle.v")),
    ("engine", "rpm", RPM, (".crank.w", ".control.w_des")),
    ("machine", "rpm", RPM, (".shaft.w",)),
    ("ratio", "1", 1.0, (".ratio.i", ".ratio.des")),
    ("slip", "%", 100.0, (".belt.slip",)),
    ("clamping force", "kN", 1e-3, (".thrust.primary", ".thrust.secondary")),
    ("battery", "%", 100.0, (".battery.s",)),
)


@dataclass(frozen=True)
class Drive:
    """Stored results of a run: its balance, a thinned series of its signals, fuel of an ideal variator, figures."""

    label: str
    balance: Balance
    time: Array
    signals: dict[str, Array]
    ideal: float | None  # [l/100 km]
    figures: tuple[Figure, ...] = ()  # comfort of the run, and what was added by `with_figures`

    def with_figures(self, more: Sequence[Figure]) -> "Drive":
        """With further figures, which come first."""
        return replace(self, figures=(*more, *self.figures))

    def told(self) -> dict[str, Any]:
        """Ready for JSON."""
        return self.balance.figures() | {"ideal_l_per_100km": self.ideal, "figures": told(self.figures)}


def drive_of(label: str, run: Result, system: Any) -> Drive:
    """Stored results of a run of a car.

    Raises
    ------
    InputError
        Not a car: there is no vehicle, or no engine and no battery.
    """
    found = balance(run) if isinstance(system, System) else None
    if found is None:
        raise InputError(run.model.name, "kind", getattr(system, "kind", None), "a system with a car and its engine")
    every = max(1, len(run.time) // POINTS)
    names = [v.name for v in (*run.model.select("output"), *run.model.select("input"))]
    ends = [end for *_, some in OVER_TIME for end in some]
    kept = [n for n in names if n.endswith((*ends, ".uncertainty.slip", ".engine.tau", ".machine.tau"))]
    signals = {name: run[name][::every].copy() for name in kept}
    return Drive(label, found, run.time[::every], signals, ideal(run, system), tuple(comfort(run)))


def _part(system: System, kind: str) -> tuple[str, Engine] | None:
    """Name and unit of the component of a kind."""
    for name in system.components:
        unit = unit_of(system, name)
        if unit.kind == kind:
            assert isinstance(unit, Engine)
            return name, unit
    return None


def _at(grid: Grid, a: Array, b: Array) -> Array:
    """The table at many points, that of its ends beyond."""
    from scipy.interpolate import RegularGridInterpolator

    points = np.column_stack([np.clip(a, grid.a[0], grid.a[-1]), np.clip(b, grid.b[0], grid.b[-1])])
    values: Array = RegularGridInterpolator((grid.a, grid.b), grid.values)(points)
    return values


def ideal(run: Result, system: System) -> float | None:
    """Fuel for 100 km [l] with an ideal variator; None of a car without an engine or a variator."""
    engine = _part(system, "engine")
    variators = [v.name for v in run.model.select("output") if v.name.endswith(".secondary.tau")]
    if engine is None or not variators:
        return None
    name, unit = engine
    H, rho = run.parameter(f"{name}.fuel.H"), run.parameter(f"{name}.fuel.rho")
    torque, fuel = tables(unit, H)
    line = least_fuel(torque, fuel)
    power = -run[variators[0]] * run[variators[0].replace(".tau", ".w")]
    v = run[next(n for n in run.model.by_name if n.endswith(".vehicle.v"))]
    w = np.interp(power, line.a, line.values[:, 0])
    flow = np.where(power > 0.0, _at(fuel, w, power / w), 0.0)
    idle = run.parameter(f"{name}.engine.w_idle")
    flow = np.where(v < STANDSTILL_SPEED, np.maximum(flow, _at(fuel, np.array([idle]), np.zeros(1))), flow)
    distance = float(np.trapezoid(v, run.time))
    return float(np.trapezoid(flow, run.time)) / rho * 1e3 / (distance * 1e-5) if distance > 0.0 else None


# --- page -------------------------------------------------------------------------------------------------------------


def page(drives: Sequence[Drive], system: System, scenario: str) -> str:
    """The page of one run, or of several side by side."""
    shown = []
    for d in drives:
        after = f", {d.label}" if len(drives) > 1 else ""
        for of, corrected, unit in zip(
            (d.balance.litres, d.balance.kwh), d.balance.corrected, ("l", "kWh"), strict=True
        ):
            if of is not None:
                shown.append((f"{number(of, 3)} {unit}", f"for 100 km{after}"))
                if number(corrected, 3) != number(of, 3):
                    shown.append((f"{number(corrected, 3)} {unit}", f"for 100 km, corrected for stored energy{after}"))
        shown += [(f"{number(d.ideal, 3)} l", f"with an ideal variator{after}")] if d.ideal is not None else []
        shown += [(text(f.shown), f.about) for f in d.figures] if len(drives) == 1 else []
    worst = max(abs(d.balance.residual) for d in drives)
    parts = [
        cards([*shown, (f"{worst:.1e}", "of the energy is not accounted for")]),
        under("figures", "Figures", _figures(drives) if len(drives) > 1 else ""),
        under(
            "energy", "Where each joule went", _flow(drives[0]) if len(drives) == 1 else _bars(drives), _table(drives)
        ),
        under("points", "Operating points", *(_points(d, system, k) for k, d in enumerate(drives))),
        under("time", "Over time", _over_time(drives)),
    ]
    return report(f"{system.name}: {scenario}", system.description, parts)


def _groups(found: Balance) -> dict[str, float]:
    """Losses [J] by component, those of the road by their cause; stored energy."""
    groups: dict[str, float] = {}
    for name, value in found.losses.items():
        component, _, rest = name.partition(".")
        key = rest.removeprefix("force.") if rest.startswith("force.") else component
        groups[key] = groups.get(key, 0.0) + value
    return {**groups, "stored": found.stored}


def _figures(drives: Sequence[Drive]) -> str:
    """Figures of several runs."""
    rows = list(dict.fromkeys(f.about for d in drives for f in d.figures))
    by_name = [{f.about: text(f.shown) for f in d.figures} for d in drives]
    head = ("", *(text(d.label) for d in drives))
    return table(head, [(text(about), *(of.get(about, "") for of in by_name)) for about in rows], range(1, len(head)))


def _flow(d: Drive) -> str:
    """A Sankey diagram: what comes in, and where it goes by component and cause."""
    groups = _groups(d.balance)
    into = d.balance.sources | {name: -value for name, value in groups.items() if value < 0.0}
    total = sum(into.values())
    if not total > 0.0:
        return ""
    inside, least = f"supplied to {d.label}", MIN_DRAWN_SHARE * total
    flows = [(f"{name} (source)", inside, 1e-6 * value) for name, value in into.items() if value > least]
    flows += [(inside, name, 1e-6 * value) for name, value in groups.items() if value > least]
    shown = sankey(flows, "MJ", f"Flow of energy, {d.label}")
    return figure(shown, "By component; losses of the road by their cause.")


def _bars(drives: Sequence[Drive]) -> str:
    names = list(dict.fromkeys(name for d in drives for name in _groups(d.balance)))
    tall = max(1.4 + 0.4 * len(drives), 0.4 + 0.22 * len(names))  # room for bars and names
    with drawing(1, 1, tall, "energy") as (grid, shown):
        ax = grid[0, 0]
        ax.set_axisbelow(True)
        room = max(0.75, 0.2 + 0.08 * max(len(d.label) for d in drives))  # [in], for these
        ax.figure.subplots_adjust(left=room / ax.figure.get_figwidth())
        for k, d in enumerate(reversed(drives)):
            left, below = 0.0, 0.0
            for j, name in enumerate(names):
                value = _groups(d.balance).get(name, 0.0) * 1e-6
                start = left if value >= 0.0 else below
                label = name if k == 0 else None
                again = "///" if j >= len(COLOURS) else None
                ax.barh(k, value, left=start, color=COLOURS[j % len(COLOURS)], label=label, height=0.6,
                        hatch=again, edgecolor="white", linewidth=0.0)  # fmt: skip
                left, below = (left + value, below) if value >= 0.0 else (left, below + value)
        ax.set_yticks(range(len(drives)), [d.label for d in reversed(drives)])
        ax.grid(visible=False, axis="y")
        ax.set_xlabel("MJ")
        names_beside(ax)
    return shown("Energy supplied, losses by component, air, tyres, slope and brakes, and energy stored.")


def _table(drives: Sequence[Drive]) -> str:
    rows: list[Sequence[str]] = []
    for title, of in (("in", "sources"), ("lost", "losses")):
        rows.append((title,))
        for name in dict.fromkeys(n for d in drives for n in getattr(d.balance, of)):
            rows.append((f"<code>{text(name)}</code>", *_cells(drives, lambda b, n=name, of=of: getattr(b, of).get(n))))
    rows.append(("stored", *_cells(drives, lambda b: b.stored)))
    rows.append(("not accounted for", *_cells(drives, lambda b: b.residual * sum(b.sources.values()))))
    head = ("", *(word for d in drives for word in (f"{d.label} [kJ]", "share")))
    return table(head, rows, range(1, len(head)))


def _cells(drives: Sequence[Drive], of: Any) -> list[str]:
    cells = []
    for d in drives:
        value, into = of(d.balance), sum(d.balance.sources.values())
        cells += ["", ""] if value is None else [number(value * 1e-3), f"{100.0 * value / into:.2f} %" if into else ""]
    return cells


def _points(d: Drive, system: System, k: int) -> str:
    """Where the engine or the machine worked, on its map of efficiency."""
    engine, machine = _part(system, "engine"), _part(system, "electric_drive")
    if engine is not None:
        name, unit = engine
        torque, fuel = tables(unit, None)
        w, tau = fuel.a, fuel.b
        share = np.outer(w, tau) / (float(unit.build().by_name["fuel.H"].start or 0.0) * fuel.values)
        most: tuple[Array, Array] = (torque.a, torque.values[:, -1])
        at = d.signals[f"{name}.crank.w"], d.signals[f"{name}.engine.tau"]
    elif machine is not None:
        name, unit = machine
        grid = losses(unit)
        w, tau = grid.a, grid.b
        out = np.outer(w, tau)
        share = out / (out + grid.values)
        at = d.signals[f"{name}.shaft.w"], np.abs(d.signals[f"{name}.machine.tau"])
        start = {v.name: float(v.start or 0.0) for v in unit.build().select("parameter")}
        most = (w, np.minimum(start["machine.tau_max"], start["machine.P_max"] / np.maximum(w, 1.0)))
    else:
        return ""
    with drawing(1, 1, 3.6, f"points-{k}", shared=False) as (grid_of, shown):
        ax = grid_of[0, 0]
        lines = ax.contour(w * RPM, tau, share.T, levels=(0.1, 0.2, 0.25, 0.3, 0.32, 0.34, 0.36, 0.8, 0.9, 0.94, 0.96),
                           colors=GREY, linewidths=0.7)  # fmt: skip
        ax.clabel(lines, fmt=lambda v: f"{100.0 * v:.0f} %", fontsize=7.5)
        ax.plot(most[0] * RPM, most[1], color=INK, lw=1.4, label="full load")
        if engine is not None:
            line = least_fuel(torque, fuel)
            speed = line.values[1:, 0]
            ax.plot(speed * RPM, line.a[1:] / speed, color=COLOURS[2], lw=1.4, label="least fuel")
        some = slice(None, None, max(1, len(d.time) // DOTS))
        ax.plot(at[0][some] * RPM, at[1][some], ".", color=COLOURS[0], ms=2.5, alpha=0.4, label=d.label)
        ax.set(xlabel="rpm", ylabel="N.m", ylim=(min(0.0, float(at[1].min())), 1.05 * float(most[1].max())))
        names_beside(ax)
    return shown(f"{text(d.label)}: operating points over lines of equal efficiency.")


def _over_time(drives: Sequence[Drive]) -> str:
    rows = [(title, unit, factor, names) for title, unit, factor, ends in OVER_TIME
            if (names := [n for n in drives[0].signals if n.endswith(ends)])]  # fmt: skip
    with drawing(len(rows), 1, 1.5, "time") as (grid, shown):
        for ax, (title, unit, factor, names) in zip(grid[:, 0], rows, strict=True):
            for k, d in enumerate(drives):
                chosen = names if len(drives) == 1 else names[:1]
                for j, name in enumerate(chosen):
                    label, colour = d.label if len(drives) > 1 else name, COLOURS[(k + j) % len(COLOURS)]
                    ax.plot(*thin(d.time, factor * d.signals[name], 400), color=colour, lw=0.9, label=label)
                    band = d.signals.get(name.replace(".belt.slip", ".uncertainty.slip")) if "slip" in name else None
                    if band is not None:  # a standard deviation
                        middle, wide, told = factor * d.signals[name], factor * band, "± its uncertainty"
                        low, high = middle - wide, middle + wide
                        ax.fill_between(d.time, low, high, color=colour, alpha=0.25, lw=0, label=told)
            ax.set(title=title, ylabel="" if unit == "1" else unit)
            names_beside(ax)
        grid[-1, 0].set_xlabel("time [s]")
    return shown("Extremes of each interval." if len(drives[0].time) > 800 else "Signals.")
