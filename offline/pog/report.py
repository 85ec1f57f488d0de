"""Report of a check: how far the rigid model is from the full one, as one self-contained HTML page.

The figures follow Figs. 6, 10 and 11 of Tebaldi and Zanasi 2022: every speed and contact force in stacked panels over
one time axis, the full model coloured, the rigid model red and dashed on top.
"""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from rtcvt.environment import now
from rtcvt.html import error_table, figure, number, percent, quantity, table, text
from rtcvt.kernel import SATURATED
from rtcvt.look import AMBER, COLOURS, INK, RIGID, SHADE, variable
from rtcvt.offline import pictures
from rtcvt.offline.pictures import note_right
from rtcvt.offline.pog.check import Check, ScenarioCheck
from rtcvt.offline.toroidal.charts import tilt_figure
from rtcvt.offline.toroidal.drive import Drive
from rtcvt.pog.diagram import gear_colours
from rtcvt.pog.page import equations, machine, schematic, sets, system_matrices
from rtcvt.pog.unit import GearSystem
from rtcvt.quantity import to_si
from rtcvt.recording import revision
from rtcvt.scenario import Table
from rtcvt.simulate import Result

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Curve:
    """One line of a panel, in the unit of the plot."""

    values: Array
    label: str
    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class _Panel:
    """One diagram of a stack."""

    title: str
    unit: str
    curves: tuple[_Curve, ...]
    about: str = ""


def report_page(check: Check) -> str:
    """The report as a self-contained HTML page."""
    unit = check.unit
    rigid = check.scenarios[0].rigid
    values = {v.name: rigid.parameter(v.name) for v in rigid.model.select("parameter")}
    full = check.scenarios[0].full
    values |= {v.name: full.parameter(v.name) for v in full.model.select("parameter")}
    links = [(f"scenario-{k}", s.scenario.name) for k, s in enumerate(check.scenarios, 1)]
    parts = [
        _verdict(check),
        _cards(check),
        "<nav>" + "".join(
            f'<a href="#{anchor}">{text(name)}</a>'
            for anchor, name in [("errors", "Errors"), *links, *([("traction", "Traction")] if check.traction else []),
                                 ("machine", "Machine"), ("equations", "Equations"),
                                 ("dynamics", "Modes, cost, energy"), ("method", "How it was computed")]
        ) + "</nav>\n",
        '<div class="columns">\n',
        schematic(unit, values),
        _glance(check),
        "</div>\n",
        pictures.under("errors", "Errors", _errors(check)),
        *(_scenario(s, unit, k) for k, s in enumerate(check.scenarios, 1)),
        pictures.under("traction", "Traction", _traction(check)),
        pictures.under("machine", "Machine", machine(unit, values)),
        pictures.under("equations", "Equations and matrices", equations(unit),
                       system_matrices(unit, rigid.model, values)),
        pictures.under("dynamics", "Modes, cost, energy", _dynamics(check)),
        pictures.under("method", "How it was computed", _method(check)),
    ]  # fmt: skip
    return pictures.report(f"{unit.name}: rigid against full model", unit.description, parts)


def _traction(check: Check) -> str:
    """The hybrid model, if the unit transmits by traction: errors of its table, contacts over the tilt, runs."""
    if not check.traction:
        return ""
    instance = check.scenarios[0].rigid.model.instantiate()
    instance.p[:] = check.scenarios[0].rigid.p
    return (
        "<p>Traction of the hybrid model, by its table, against traction that is integrated over the ellipse, at "
        "loads, creep and spin that the table was not made from:</p>\n"
        + error_table(check.traction) + tilt_figure(check.unit, instance)
        + "".join(_drive(d, k) for k, d in enumerate(check.drives))
    )  # fmt: skip


def _drive(d: Drive, k: int) -> str:
    """One scenario by three models, as a whole and where the traction is integrated."""
    torque = [n for n in d.full if n.endswith(".tau")][:1]

    def series(of: Callable[[str], Array], name: str) -> Array:
        if name != "ratio":
            return of(name)
        return np.asarray(np.abs(of(d.discs[-1])) / np.maximum(np.abs(of(d.discs[0])), 1e-3))

    panels = (*((name, name, "N·m") for name in torque), ("ratio", "|ω| of the discs, last by first", "1"),
              ("loss.friction", "lost power", "W"))  # fmt: skip
    window = (d.hybrid.time >= d.time[0]) & (d.hybrid.time <= d.time[-1])
    with pictures.drawing(len(panels), 2, 1.5, f"drive-{k}", shared=False) as (grid, shown):
        for row, (name, title, unit) in zip(grid, panels, strict=True):
            for ax, part in zip(row, (slice(None), window), strict=True):
                time = d.hybrid.time[part]
                pictures.compared(
                    ax, time, series(d.hybrid.__getitem__, name)[part], series(d.rigid.__getitem__, name)[part]
                )
                ax.set(title=title, ylabel=unit)
            row[1].plot(d.time[::4], series(d.full.__getitem__, name)[::4], "o", color=INK, ms=3.0)
            row[0].axvspan(d.time[0], d.time[-1], color=AMBER, lw=0)
        for ax in grid[-1]:
            ax.set_xlabel("time [s]")
    caption = (
        "Hybrid (blue) and rigid model (red, dashed); on the right, where the left is marked, with integrated traction "
        "(points)."
    )
    if any(v.name == "control.K_theta" for v in d.hybrid.model.variables):
        caption += (
            " A broad blue band is an oscillation of the shaft's spring: where contacts creep, the controller's gain "
            "control.K_theta is too high."
        )
    told = "; ".join(f"{text(e.name)} {percent(e.nrms)}" for e in d.errors("rigid"))
    return (
        f"<h3>{text(d.hybrid.scenario.name)}</h3>\n" + shown(caption) + error_table(d.errors())
        + f"<p>RMS errors of the rigid model there: {told}.</p>\n"
    )  # fmt: skip


# --- summary


def _verdict(check: Check) -> str:
    count = len(check.errors)
    scenarios = f"{len(check.scenarios)} scenario{'s' if len(check.scenarios) != 1 else ''}"
    return pictures.verdict(
        [text(f) for f in check.failures],
        f"all {count} errors on {scenarios} are within their limits.{_uncounted(check)}",
        f"{len(check.failures)} of {count} errors on {scenarios} exceed their limits.{_uncounted(check)}",
    )


def _uncounted(check: Check) -> str:
    """The largest difference outside the verdict, and effects that neither model has."""
    share, e, s = max(
        ((e.transient / e.scale, e, s) for s in check.scenarios for e in s.errors), key=lambda row: row[0]
    )
    told = ""
    if share > 0.0:
        told = (
            f" Elastic transients do not count; the largest is {percent(share)} of its signal's largest value "
            f"({text(e.name)}, {text(s.scenario.name)})."
        )
    play = any(c.play is not None for c in check.unit.contacts.values())
    parts, left_out = ("springs, dampers and play", "") if play else ("springs and dampers", "backlash or ")
    return (
        f"{told} The full model is this unit with its {parts}: their values are those of the file. "
        f"Neither model has {left_out}elastic bearings."
    )


def _cards(check: Check) -> str:
    shown = []
    for kind, suffix in (("speed", ".w"), ("contact force", ".F")):
        rows = [(e.nrms, e, s) for s in check.scenarios for e in s.errors if e.name.endswith(suffix)]
        if rows:
            nrms, e, s = max(rows, key=lambda row: row[0])
            shown.append((percent(nrms), f"largest RMS error of a {kind}: {e.name}, {s.scenario.name}"))
    cost = max(s.step_cost["rigid"] for s in check.scenarios)
    step = check.scenarios[0].rigid.step
    shown.append((f"{number(cost, 3)} µs", f"per step of {quantity(step, 's', 'ms')} of the rigid model: "
                  f"{number(1e6 * step / cost, 3)} times faster than real time"))  # fmt: skip
    residual = max(max(s.energy_residual.values()) for s in check.scenarios)
    shown.append((percent(residual), "of the energy throughput is not accounted for, at most"))
    return pictures.cards(shown)


def _glance(check: Check) -> str:
    """The unit in a few lines, next to its diagram."""
    unit, s = check.unit, check.scenarios[0]
    ports = ", ".join(text(name) + (" (sprung)" if p.speed_in else "") for name, p in unit.ports.items())
    law = "torque (KERS)" if unit.controller.kers else "position" if unit.controller.position else "none"
    rows = [
        ("independent speeds", ", ".join(f"ω<sub>{text(g)}</sub>" for g in unit.rigid.independent)),
        ("ports", ports),
        ("controller", law),
        ("states", f"{len(s.rigid.model.states)} rigid, {len(s.full.model.states)} full"),
        ("real-time step", quantity(s.rigid.step, "s", "ms")),
        ("parameters set", ", ".join(f"{text(k)} = {text(v)}" for k, v in check.parameters.items())),
        ("fastest oscillation", quantity(check.modes[-1][0], "Hz") if check.modes else "none"),
    ]
    return f"<div>\n{sets(unit)}{table(('', ''), [row for row in rows if row[1]])}</div>\n"


def _errors(check: Check) -> str:
    """RMS errors of all signals on all scenarios."""
    about = (
        "<p>RMS of the difference between rigid and full model, relative to the signal's largest value in the full "
        "model, over the samples that count.</p>\n"
    )
    every = [e for s in check.scenarios for e in s.errors]

    def cell(e: Any) -> str:
        return percent(e.nrms) if e.holds else pictures.mark(False, f"{percent(e.nrms)} (allowed: {percent(e.limit)})")

    cases = {f"scenario-{k}": (s.scenario.name, s.errors) for k, s in enumerate(check.scenarios, 1)}
    limits = sorted({(e.limit, "speeds" if e.name.endswith(".w") else "forces") for e in every}, key=lambda r: r[1])
    allowed = "; ".join(f"{kind}: {percent(limit)}" for limit, kind in reversed(limits))
    return about + pictures.error_matrix(cases, cell) + f"<p>Allowed: {allowed}.</p>\n"


# --- scenarios


def _scenario(s: ScenarioCheck, unit: GearSystem, k: int) -> str:
    scenario = s.scenario
    colours = gear_colours(unit)
    speeds = [_compared(s, f"gear.{g}.w", "rpm", gear.description, colours[g]) for g, gear in unit.gears.items()]
    forces = [
        _compared(s, f"contact.{c}.F", "N", f"from {contact.between[0]} to {contact.between[1]}",
                  colours[contact.between[0]])
        for c, contact in unit.contacts.items()
    ]  # fmt: skip
    return "".join((
        f'<h2 id="scenario-{k}">Scenario: {text(scenario.name)}</h2>\n',
        f"<p>{text(scenario.description)}</p>\n" if scenario.description else "",
        _inputs(s),
        _key(bool(np.any(s.full.status == SATURATED))),
        figure(_stack(s, [_overview(s, unit)], f"ports-{k}"), "Ports, controller and stored energy."),
        figure(_stack(s, [speeds, forces], f"signals-{k}"), "Speeds and contact forces."),
        figure(
            _error_plot(s, unit, f"difference-{k}"),
            "Difference between rigid and full model, relative to the signal's largest value in the full model; the "
            "dashed line is the allowed RMS.",
        ),
        error_table(s.errors),
        _transients(s),
    ))  # fmt: skip


def _key(limited: bool) -> str:
    """Meaning of lines and shades."""
    marks = [
        (f"background: {variable(COLOURS[0])}; height: 3px; vertical-align: 3px", "full model"),
        (f"background: repeating-linear-gradient(90deg, {variable(RIGID)} 0 6px, transparent 6px 10px); height: 3px; "
         "vertical-align: 3px", "rigid model"),
        (f"background: {variable(SHADE)}", "does not count: elastic transient"),
    ]  # fmt: skip
    if limited:
        marks.append((f"background: {variable(AMBER)}; height: 5px; vertical-align: 2px", "a limit is active"))
    return '<div class="key">' + "".join(f'<span><i style="{m}"></i>{name}</span>' for m, name in marks) + "</div>\n"


def _inputs(s: ScenarioCheck) -> str:
    """Inputs of the scenario, in words and numbers."""
    rows: list[Sequence[str]] = []
    for name, signal in s.scenario.inputs.items():
        unit = s.rigid.model.by_name[name].unit
        if isinstance(signal, Table):
            points = "; ".join(f"{number(t)} s: {text(v) if isinstance(v, str) else number(v)}"
                               for t, v in zip(signal.time, signal.value, strict=True))  # fmt: skip
            shown = f"{signal.interpolation} through {points}"
        else:
            shown = text(signal) if isinstance(signal, str) else number(signal)
        rows.append((f"<code>{text(name)}</code>", shown, "" if unit == "1" else text(unit.replace(".", "·"))))
    for name, value in s.scenario.parameters.items():
        rows.append(
            (f"<code>{text(name)}</code>", text(value) if isinstance(value, str) else number(value), "parameter")
        )
    share = float(np.mean(s.settled))
    about = (
        f"<p>{quantity(s.scenario.duration, 's')} at {quantity(s.rigid.step, 's', 'ms')} steps; {percent(share)} of "
        f"the samples count, those later than {quantity(s.scenario.settle, 's')} after the start and after each moment "
        "at which a limit becomes active or inactive.</p>\n"
    )
    return about + (table(("input", "signal", "unit"), rows) if rows else "")


def _transients(s: ScenarioCheck) -> str:
    """Largest differences where they do not count."""
    if not any(e.transient > 0.0 for e in s.errors):
        return ""
    worst = max(s.errors, key=lambda e: e.transient / e.scale)
    return (f"<p>The elastic transients that do not count are up to {percent(worst.transient / worst.scale)} of the "
            f"signal's largest value ({text(worst.name)}, {quantity(worst.transient, worst.unit)}). A step as long "
            f"as the rigid model's changes the full model by {percent(s.discretisation)} at most.</p>\n")  # fmt: skip


def _series(result: Result, name: str, shown: str) -> Array:
    """Values of a signal in the unit that is shown."""
    return result[name] / to_si(f"1 {shown}", result.model.by_name[name].unit)


def _compared(s: ScenarioCheck, name: str, shown: str, about: str, colour: str) -> _Panel:
    """One signal of the two models; forces in kN where they are large."""
    if shown == "N" and float(np.max(np.abs(s.full[name]))) >= 5e3:
        shown = "kN"
    full, rigid = (_series(r, name, shown) for r in (s.full, s.rigid))
    return _Panel(name, shown, (_Curve(full, "", colour), _Curve(rigid, "", RIGID, True)), about)


def _overview(s: ScenarioCheck, unit: GearSystem) -> list[_Panel]:
    """Shaft speeds, torques, moving variable and energy, as in Fig. 10."""
    known = s.rigid.model.by_name
    blue, green = COLOURS[0], COLOURS[2]

    def pair(name: str, shown: str, colour: str) -> list[_Curve]:
        found = [_Curve(_series(s.full, name, shown), name, colour)]
        if known[name].causality == "output":
            found.append(_Curve(_series(s.rigid, name, shown), "", RIGID, True))
        return found

    colours = gear_colours(unit)
    speeds, torques = [], []
    for name, port in unit.ports.items():
        colour = blue if port.speed_in else colours[port.gear]
        speeds += pair(f"{name}.w", "rpm", colour)
        if port.speed_in:
            speeds += pair(f"gear.{port.gear}.w", "rpm", green)
        torques += pair(f"{name}.tau", "N.m", colour)
    if "control.tau_des" in known:
        torques.append(_Curve(s.full["control.tau_est"], "control.tau_est", green))
        torques.append(_Curve(s.full["control.tau_des"], "control.tau_des", INK, True))
    panels = [_Panel("speeds", "rpm", tuple(speeds)), _Panel("torques into the unit", "N·m", tuple(torques))]
    if unit.moving:
        name = f"control.{unit.moving}"
        curves = pair(name, "deg", blue)
        if f"{name}_des" in known:
            curves.append(_Curve(_series(s.full, f"{name}_des", "deg"), f"{name}_des", INK, True))
        panels.append(_Panel(unit.variables[unit.moving].description or name, "deg", tuple(curves)))
    largest = float(np.max(np.abs(s.full["storage.E"])))
    shown = "kJ" if largest >= 2e3 else "J"
    panels.append(_Panel("stored energy", shown, tuple(pair("storage.E", shown, blue))))
    return panels


# --- figures


def _stack(s: ScenarioCheck, columns: Sequence[Sequence[_Panel]], prefix: str) -> str:
    """Columns of panels over one time axis; `prefix` as for `inline_svg`."""
    columns = [c for c in columns if c]
    rows = max(len(c) for c in columns)
    tall = 1.55 if len(columns) == 1 else 1.3
    with pictures.drawing(rows, len(columns), tall, prefix) as (grid, shown):
        for j, panels in enumerate(columns):
            for i in range(rows):
                ax = grid[i][j]
                if i >= len(panels):
                    ax.set_axis_off()
                    continue
                _draw(ax, s, panels[i])
                if i == len(panels) - 1:
                    ax.set_xlabel("time [s]")
                    ax.tick_params(labelbottom=True)
        grid[0][0].set_xlim(s.full.time[0], s.full.time[-1])
        grid[0, 0].figure.align_ylabels()
    return shown()


def _draw(ax: Axes, s: ScenarioCheck, panel: _Panel) -> None:
    _prepare(ax, s, panel.title)
    for curve in panel.curves:
        t, v = pictures.thin(s.full.time, curve.values)
        if not curve.dashed:
            look: dict[str, Any] = {"lw": 1.9, "ls": "-", "zorder": 2}
        elif curve.colour == RIGID:
            look = {"lw": 1.1, "ls": (0, (4, 3)), "zorder": 3}
        else:  # a demand
            look = {"lw": 1.1, "ls": (0, (1.5, 1.5)), "zorder": 4}
        ax.plot(t, v, color=curve.colour, label=curve.label or None, **look)
    values = np.concatenate([c.values for c in panel.curves])
    low, high = float(values.min()), float(values.max())
    room = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    ax.set_ylim(low - 0.08 * room, high + 0.12 * room)
    for start, end in _runs(s.full.status == SATURATED):
        ax.axvspan(s.full.time[start], s.full.time[end], 0.955, 1.0, color=AMBER, lw=0, zorder=5)
    if panel.about:
        note_right(ax, panel.about)
    ax.set_ylabel(panel.unit)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    if sum(bool(c.label) for c in panel.curves) > 1:
        pictures.names_beside(ax)


def _prepare(ax: Axes, s: ScenarioCheck, title: str) -> None:
    """Title, and a shade over the samples that do not count."""
    for start, end in _runs(~s.settled):
        ax.axvspan(s.full.time[start], s.full.time[end], color=SHADE, lw=0, zorder=0)
    ax.set_title(title)


def _error_plot(s: ScenarioCheck, unit: GearSystem, prefix: str) -> str:
    """Normalised differences of all speeds and all forces over time."""
    colours = gear_colours(unit)
    kinds = [("speeds", ".w"), ("contact forces", ".F")]
    kinds = [(title, suffix) for title, suffix in kinds if any(e.name.endswith(suffix) for e in s.errors)]
    with pictures.drawing(len(kinds), 1, 1.9, prefix) as (grid, shown):
        for ax, (title, suffix) in zip(grid[:, 0], kinds, strict=True):
            _prepare(ax, s, title)
            chosen = [e for e in s.errors if e.name.endswith(suffix)]
            limit = chosen[0].limit
            for i, e in enumerate(chosen):
                t, v = _envelope(s.full.time, np.abs(s.rigid[e.name] - s.full[e.name]) / e.scale)
                name = e.name.split(".")[1]
                ax.plot(t, np.maximum(v, 1e-9), color=colours.get(name, COLOURS[i % len(COLOURS)]), lw=1.2, label=name)
            ax.axhline(limit, color=INK, lw=1.0, ls=(0, (4, 3)))
            ax.set_yscale("log")
            largest = max(max(e.transient, e.peak) / e.scale for e in chosen)
            ax.set_ylim(limit / 3e3, 2.0 * max(largest, 3.0 * limit))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100.0 * share:.6g} %"))
            pictures.names_beside(ax)
        grid[-1, 0].set_xlabel("time [s]")
        grid[0, 0].set_xlim(s.full.time[0], s.full.time[-1])
    return shown()


def _envelope(time: Array, values: Array, intervals: int = pictures.INTERVALS) -> tuple[Array, Array]:
    """Largest value of each interval."""
    size = max(1, len(values) // intervals)
    n = len(values) // size * size
    return time[:n:size], values[:n].reshape(-1, size).max(axis=1)


def _runs(active: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last sample of each run of true values."""
    change = np.flatnonzero(np.diff(np.concatenate(([0], active.astype(np.int8), [0]))))
    return [(int(a), int(min(b, len(active) - 1))) for a, b in zip(change[::2], change[1::2], strict=True)]


# --- numbers


def _dynamics(check: Check) -> str:
    modes = [
        (f"{k}", number(f, 4), number(d, 3), f"{number(1.0 / (2.0 * np.pi * f * d) * 1e3, 3)}" if d > 0 else "")
        for k, (f, d) in enumerate(check.modes, 1)
    ]
    cost, energy = [], []
    for s in check.scenarios:
        step = s.rigid.step
        for kind in ("rigid", "full"):
            us = s.step_cost[kind]
            cost.append((text(s.scenario.name), kind, number(us, 3), number(1e6 * step / us, 3)))
        energy.append((text(s.scenario.name), *(percent(s.energy_residual[kind]) for kind in ("rigid", "full"))))
    return (
        '<div class="columns">\n<div>\n<h3>Oscillations of the full model</h3>\n'
        + (table(("", "frequency [Hz]", "damping ratio", "decay time [ms]"), modes, (1, 2, 3)) if modes
           else "<p>None: every mode of the full model is overdamped.</p>\n")
        + "</div>\n<div>\n<h3>Wall-clock time of a step, median</h3>\n"
        + table(("scenario", "model", "µs", "real-time factor"), cost, (2, 3))
        + "</div>\n<div>\n<h3>Energy that is not accounted for</h3>\n"
        + table(("scenario", "rigid", "full"), energy, (1, 2))
        + "</div>\n</div>\n"
    )  # fmt: skip


def _method(check: Check) -> str:
    s = check.scenarios[0]
    method = check.unit.solver.method
    made = now().strftime("%Y-%m-%d %H:%M UTC")
    rows = [
        ("made", made),
        ("revision", text(revision())),
        ("rigid model", f"{len(s.rigid.model.states)} states, {method}, step {quantity(s.rigid.step, 's', 'ms')}, "
         f"{check.unit.solver.substeps} internal"),
        ("full model", f"{len(s.full.model.states)} states, {method}, same communication step, divided further"),
        ("computer", text(f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, Python "
                          f"{platform.python_version()}, numpy {np.__version__}")),
    ]  # fmt: skip
    return (
        "<p>Both models run over the same scenarios with the same inputs, held over each communication step: the rigid "
        "model as it runs in real time, the full model with a fraction of that step as the reference. The error of a "
        "signal is RMS(rigid − full)/max|full| over the samples at which the elastic transient has decayed: a rigid "
        "model has none. A signal that hardly moves is measured against a hundredth of the largest signal of its kind. "
        "The energy that is not accounted for is |E(T) − E(0) − ∫ power in + ∫ losses|, relative to the energy that "
        "went in and out and was lost. Step times include the call from Python.</p>\n" + table(("", ""), rows)
    )
