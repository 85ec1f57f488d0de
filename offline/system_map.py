"""Map of a system over the speed of its engine: frequencies and damping of its modes, with the engine's orders.

A scenario is run, and the system linearised (`rtcvt.numerics.linearisation`) at equal intervals: with the gears,
ratios, clutches and loads that occur at these speeds. A mode has the name of the state that takes part in it most. An
order passes a mode where ``m w/(2 pi) - f`` changes its sign from one point to the next; that of a mode with little
damping is a resonance.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.html import COLOURS, number, percent, table, text
from rtcvt.kind import Checked, Progress
from rtcvt.network.file import System
from rtcvt.network.model import build_system
from rtcvt.numerics.linearisation import Mode, linearise
from rtcvt.offline.pictures import drawing, names_beside, report
from rtcvt.offline.speed_map import Meeting, draw_orders, meetings
from rtcvt.scenario import chosen_scenario
from rtcvt.simulate import prepared, stepped

POINTS = 200  # default
ORDERS = (0.5, 1.0, 2.0, 4.0)
LEAST_FREQUENCY = 0.5  # [Hz]
MOST_DAMPING = 0.7  # share of the critical one
HEAD = ("mode", "order", "speed [rpm]", "frequency [Hz]", "damping", "times")


def map_system(system: System, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Modes of a system over the speed of a shaft.

    Raises
    ------
    InputError
        No scenario, no such shaft, or orders that are no numbers above zero.
    """
    model = build_system(system)
    shaft = given["shaft"] or next((f"{n}.crank.w" for n in system.components if f"{n}.crank.w" in model.by_name), None)
    if shaft is None:
        raise InputError("--shaft", "shaft", None, "the name of an output, the speed of a shaft; there is no engine")
    place = model.variable(shaft, "output").index
    try:
        orders = tuple(float(order) for order in given["orders"].split(",")) if given["orders"] else ORDERS
    except ValueError:
        orders = (0.0,)
    if not all(0.0 < order < math.inf for order in orders):
        raise InputError("--orders", "orders", given["orders"], "numbers above zero, separated by commas")
    scenario = chosen_scenario(system, given["scenario"])
    instance, time, u, changes = prepared(model, scenario, model.step_size, None, None)
    every = max(1, (len(time) - 1) // (given["points"] or POINTS))
    at, speed, modes = list[float](), list[float](), list[list[Mode]]()
    for k, rows, _ in stepped(instance, time, u, changes, model.step_size, f"scenario '{scenario.name}'", every):
        at.append(float(time[k + len(rows) - 1]))
        speed.append(abs(float(rows[-1][place])))
        modes.append(linearise(instance).modes())
        progress(scenario.name, k, len(time))
    w = np.array(speed)
    found = _by_state(modes, 1.15 * max(orders) * float(w.max()) / (2.0 * math.pi))
    passed = meetings(list(found), orders, w, {name: f for name, (f, _) in found.items()})
    listed = _listed(passed, w, found)
    lines = Table(*HEAD, box=None)
    for row in listed:
        lines.add_row(*row)
    with drawing(1, 1, 5.0, "orders") as (grid, shown):
        ax = grid[0, 0]
        for i, (name, (f, _)) in enumerate(found.items()):
            there = np.isfinite(f)
            ax.scatter(
                w[there] * 30.0 / math.pi, f[there], 9.0, color=COLOURS[i % len(COLOURS)], marker="o", label=name
            )
        draw_orders(ax, w * 30.0 / math.pi, orders)
        ax.set_ylim(0.0, 1.15 * max([float(np.nanmax(f)) for f, _ in found.values()], default=1.0))
        ax.set(title="Modes and engine orders", xlabel=f"speed of {shaft} [rpm]", ylabel="Hz")
        ax.figure.subplots_adjust(right=0.78)
        names_beside(ax)
    picture = shown("Frequencies of modes at the points of the run, least damped first; engine orders (dashed).")
    parts = [f"<p>Scenario {text(scenario.name)}, linearised at {len(w)} points.</p>\n", picture,
             table(HEAD, [(f"<code>{text(row[0])}</code>", *row[1:]) for row in listed], (1, 2, 3, 4, 5))]  # fmt: skip
    shown_modes = {name: {"frequency_Hz": _plain(f), "damping": _plain(zeta)} for name, (f, zeta) in found.items()}
    figures = {"unit": system.name, "scenario": scenario.name, "orders": list(orders), "time_s": at,
               "speed_rad_s": speed, "modes": shown_modes, "meetings": [vars(m) for m in passed]}  # fmt: skip
    return Checked(report(f"{system.name}: map over speed", system.description, parts), figures, [lines])


def _plain(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(v) for v in values]


def _by_state(modes: list[list[Mode]], top: float) -> dict[str, tuple[Any, Any]]:
    """Frequencies [Hz] and damping over the points, of the least damped mode of each leading state; NaN without one."""
    found: dict[str, tuple[Any, Any]] = {}
    for k, here in enumerate(modes):
        for mode in here:
            vibrates = mode.eigenvalue.imag > 0.0 and mode.damping < MOST_DAMPING
            if vibrates and LEAST_FREQUENCY <= mode.frequency <= top:
                blank = np.full(len(modes), np.nan), np.full(len(modes), np.nan)
                f, zeta = found.setdefault(next(iter(mode.shares)), blank)
                if not mode.damping >= zeta[k]:
                    f[k], zeta[k] = mode.frequency, mode.damping
    return dict(sorted(found.items(), key=lambda item: float(np.nanmin(item[1][1]))))


def _listed(passed: tuple[Meeting, ...], w: Any, found: Mapping[str, tuple[Any, Any]]) -> list[tuple[str, ...]]:
    """The passage with the least damping of each mode and order, and how often there is one."""
    best: dict[tuple[str, float], tuple[float, Meeting, int]] = {}
    for m in passed:
        f, zeta = found[m.span]
        near = int(np.nanargmin(np.abs(f - m.frequency) + np.abs(w - m.speed)))
        damping, kept, times = best.get((m.span, m.order), (math.inf, m, 0))
        least = (float(zeta[near]), m) if zeta[near] < damping else (damping, kept)
        best[m.span, m.order] = *least, times + 1
    return [
        (m.span, f"{m.order:g}", number(m.speed * 30.0 / math.pi), number(m.frequency), percent(damping), str(times))
        for damping, m, times in sorted(best.values(), key=lambda item: item[0])
    ]
