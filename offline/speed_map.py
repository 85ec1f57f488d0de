"""Map of a belt drive over its speed: slip, hub loads, losses, and the spans' vibration across, by its hybrid model.

The driving pulley, whose speed pulsates with an engine order, runs up slowly, from the lowest speed, which it keeps for
a window, to the highest, which it keeps for one, too. Windows of equal length along this run give means, and amplitudes
of the tensions and of the arms' angles at each order m (Hann's window h, the shaft's angle phi)::

    x_m = 2 sum h x exp(-i m phi)/sum h

The ends of a span move across as arms carry them and as its tension moves them (`rtcvt.belt.resonance`); from that
follows how far the span swings at each order. An order meets a span where it passes its first frequency.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from numpy.typing import NDArray

from rtcvt.belt.layout import BeltP
from rtcvt.belt.model import build_belt, end_motions
from rtcvt.belt.resonance import bounded_swing
from rtcvt.belt.span_ends import spans
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.html import COLOURS, number, percent, table, text
from rtcvt.look import BAD, GREY, INK
from rtcvt.model import Books
from rtcvt.offline.orders import order_amplitude
from rtcvt.offline.pictures import drawing, names_beside, report
from rtcvt.scenario import Scenario
from rtcvt.simulate import Result, simulate

Array = NDArray[np.float64]

FOG = LinearSegmentedColormap.from_list("fog", [(*to_rgb(GREY), share) for share in (0.0, 1.0)])  # on any paper
START, SETTLE = 1.0, 0.5  # run-up to the lowest speed, and then [s]
MIN_DAMPING = 1e-6  # share of critical damping, and of the tension, of a span at least


@dataclass(frozen=True)
class Meeting:
    """An engine order at the first frequency of a span."""

    span: str
    order: float
    speed: float  # of the driving shaft [rad/s]
    frequency: float  # [Hz]


@dataclass(frozen=True)
class SpeedMap:
    """Results of a drive over the speed of its driving shaft; arrays (windows,) by default."""

    unit: BeltUnit
    orders: tuple[float, ...]
    speed: Array  # without its pulsation [rad/s]
    slip: dict[str, Array]  # of each pulley, share of the belt's speed, mean
    use: dict[str, Array]  # largest
    hub: dict[str, Array]  # load of each pulley [N], largest
    loss: dict[str, Array]  # by kind [W], mean
    tension: dict[str, Array]  # of each span, mean [N]
    frequency: dict[str, Array]  # first one of each span [Hz], mean
    swing: dict[str, Array]  # largest of each span at each order [m], (orders, windows)
    meetings: tuple[Meeting, ...]
    time: Array  # of the run, without its start [s]
    shaft: Array  # speed of the driving shaft there [rad/s]
    traces: dict[str, Array]  # tensions of the spans there [N]
    step: float  # [s]
    share: float  # by which the speed pulsates

    def figures(self) -> dict[str, Any]:
        """All of it in numbers, ready for JSON."""
        found: dict[str, Any] = {"unit": self.unit.name, "driver": self.unit.driver, "orders": list(self.orders)}
        found["speed_rad_s"] = self.speed.tolist()
        for key, name in (("slip", "slip"), ("use", "use"), ("hub_N", "hub"), ("loss_W", "loss"),
                          ("tension_N", "tension"), ("f_1_Hz", "frequency"), ("swing_m", "swing")):  # fmt: skip
            found[key] = {k: v.tolist() for k, v in getattr(self, name).items()}
        return found | {"meetings": [vars(m) for m in self.meetings]}


def speed_map(
    unit: BeltUnit,
    low: float,
    high: float,
    *,
    duration: float = 20.0,
    windows: int = 40,
    share: float = 0.02,
    progress: Callable[[int, int], None] | None = None,
) -> SpeedMap:
    """Run a drive from one speed to another.

    Parameters
    ----------
    unit : BeltUnit
        With a ``hybrid`` table; torques of its flanges are zero, loads of the unit file act.
    low, high : float
        Speeds of the driving shaft [rad/s], without sign.
    duration : float
        Of the run between them [s].
    windows : int
        How many.
    share : float
        By which the speed pulsates, with the first of the unit's orders, or twice a turn.
    progress : callable, optional
        Called with (steps done, steps in all).

    Raises
    ------
    InputError
        Speeds that do not increase from above zero, or windows too short for the orders.
    """
    if not 0.0 < low < high:
        raise InputError("--low", "speed", low, f"above 0 and below --high, {high:g} rad/s")
    driver = unit.driver
    orders = unit.resonance.orders if unit.resonance else (2.0,)
    length = duration / windows
    if length * low * min(orders) < 4.0 * 2.0 * math.pi:
        raise InputError("--time", "time", duration, f"four periods of order {min(orders):g} in each window")
    pulley = unit.pulleys[driver].model_copy(update={"flange": "speed"})
    unit = unit.model_copy(update={"pulleys": unit.pulleys | {driver: pulley}})
    path, index = unit.path(), list(unit.pulleys).index(driver)
    forward = float(path.sigma[index])
    began = START + SETTLE
    model = build_belt(unit, "hybrid")
    kept = length + model.step_size  # each speed at the ends: all points of its window
    ramp = duration - 2.0 * kept
    rise = f"({forward * (high - low) / ramp!r})*clip(t - {began + kept!r}, 0, {ramp!r})"
    mean = f"({forward * low!r})*min(t/{START!r}, 1) + {rise}"
    scenario = Scenario(
        name="map", duration=began + duration, inputs={f"{driver}.w": f"engine_order({mean}, {orders[0]!r}, {share!r})"}
    )
    run = simulate(model, scenario, progress=progress)
    asked = low + (high - low) / ramp * np.clip(run.time - (began + kept), 0.0, ramp)
    return _evaluated(unit, run, asked, orders, windows, began, share)


def _evaluated(
    unit: BeltUnit, run: Result, asked: Array, orders: tuple[float, ...], windows: int, began: float, share: float
) -> SpeedMap:
    pairs = unit.spans
    after = run.time >= began - 0.5 * run.step
    w = np.abs(run[f"{unit.driver}.w"])[after]
    angle = np.concatenate([[0.0], np.cumsum(0.5 * (w[1:] + w[:-1])) * run.step])
    parts = np.array_split(np.arange(w.size), windows)

    def signal(name: str) -> Array:
        return run[name][after]

    def each(values: Array, take: Any) -> Array:
        return np.array([take(values[part]) for part in parts])

    speed = each(asked[after], np.mean)  # the mean of the speed itself keeps part of its pulsation
    v = each(signal("belt.v"), np.mean)
    losses = [x.name for x in run.model.select("output") if x.books is Books.LOSS]
    tension = {s: each(signal(f"{s}.F"), np.mean) for s in pairs}
    frequency = {s: each(signal(f"{s}.f_1"), np.mean) for s in pairs}
    motions = _ends(unit, run, after)
    swings = {s: np.zeros((len(orders), windows)) for s in pairs}
    given = spans(unit)
    extra = unit.resonance.damping if unit.resonance else 0.0
    for j, s in enumerate(pairs):
        for k, part in enumerate(parts):
            c = math.sqrt(tension[s][k] * (1.0 + tension[s][k] / run.p[BeltP.EA]) / run.p[BeltP.M])
            for m, order in enumerate(orders):
                start, end = (order_amplitude(x[part], angle[part], order) for x in motions[j])
                if frequency[s][k] > 0.0:
                    r = order * speed[k] / (2.0 * math.pi * frequency[s][k])
                    zeta = 2.0 * math.pi * frequency[s][k] * given.delay[j] / float(unit.path().span[j]) + extra
                    L = float(unit.path().span[j])
                    free = tension[s][k] * max(1.0 - (v[k] / c) ** 2, MIN_DAMPING)
                    hardening = 3.0 * math.pi**2 * run.p[BeltP.EA] / (16.0 * free * L * unit.path().length)
                    swings[s][m, k] = bounded_swing(start, end, r, v[k] / c, max(zeta, MIN_DAMPING), hardening, L)
    return SpeedMap(
        unit, orders, speed, {n: each(signal(f"{n}.slip"), np.mean) / v for n in unit.pulleys},
        {n: each(signal(f"{n}.use"), np.max) for n in unit.pulleys},
        {n: each(np.hypot(signal(f"{n}.F_x"), signal(f"{n}.F_y")), np.max) for n in unit.pulleys},
        {x[5:]: each(signal(x), np.mean) for x in losses}, tension, frequency, swings,
        meetings(pairs, orders, speed, frequency), run.time[after] - began, w, {s: signal(f"{s}.F") for s in pairs},
        run.step, share,
    )  # fmt: skip


def _ends(unit: BeltUnit, run: Result, after: Any) -> list[tuple[Array, Array]]:
    """Lateral motion of the two ends of each span [m] over the run, by the normal to the left of its direction."""
    names = list(unit.pulleys)
    n = len(names)
    by_tension, by_arm = end_motions(unit, unit.path(), spans(unit))
    found = []
    for j in range(n):
        i = (j + 1) % n
        T = run[f"{names[j]}_{names[i]}.F"][after]
        ends = [by_tension[j, end] * T for end in range(2)]
        for end, k in enumerate((j, i)):
            if k in unit.arms:
                ends[end] = ends[end] + by_arm[j, end] * run[f"{names[k]}.theta"][after]
        found.append((ends[0], ends[1]))
    return found


def meetings(
    pairs: Iterable[str], orders: tuple[float, ...], speed: Array, frequency: dict[str, Array]
) -> tuple[Meeting, ...]:
    """Where orders pass first frequencies, in the order of speeds."""
    found = []
    for s in pairs:
        for order in orders:
            above = order * speed / (2.0 * math.pi) - frequency[s]
            for k in np.flatnonzero(np.sign(above[1:]) * np.sign(above[:-1]) < 0.0).tolist():
                share = above[k] / (above[k] - above[k + 1])
                w = float(speed[k] + share * (speed[k + 1] - speed[k]))
                found.append(Meeting(s, order, w, order * w / (2.0 * math.pi)))
    return tuple(sorted(found, key=lambda m: m.speed))


# --- page


def map_page(found: SpeedMap) -> str:
    """The map as a self-contained HTML page."""
    rpm = found.speed * 30.0 / math.pi
    title = f"{found.unit.name}: map over speed"
    loudest = max(found.traces, key=lambda s: float(np.ptp(found.traces[s])))
    rows = [
        (f"<code>{text(m.span)}</code>", number(m.order), number(m.speed * 30.0 / math.pi), number(m.frequency))
        for m in found.meetings
    ]
    swings = {
        f"{s} × {order:g}": 1e3 * values[m] for s, values in found.swing.items() for m, order in enumerate(found.orders)
    }
    largest = sorted(swings, key=lambda k: -float(swings[k].max()))[: len(COLOURS)]
    pictures = (
        ("swing", "Swing of the spans", "mm", {k: swings[k] for k in largest},
         "Largest swing of spans across themselves, by the motion of their ends, × engine order, with the tension by "
         "which large swings stretch the belt: that of a run-up."),
        ("slip", "Slip", "%", {k: 100.0 * v for k, v in found.slip.items()},
         "Speed of the belt where it leaves a pulley, less that of the rim, by the belt's."),
        ("use", "Use of friction", "share of the limit", found.use,
         "Largest force on a pulley by the limit of friction. From 1 on it slips: each m/s of that adds 0.1 %, "
         "times the tension at rest by that of the slack side without inertia, and a step within which tensions change "
         "much up to 4 %."),
        ("hub", "Hub loads", "N", found.hub, "Largest force of the belt on each pulley."),
        ("loss", "Losses", "W", found.loss, "Mean losses by kind; load: the machines."),
    )  # fmt: skip
    parts = [
        f"<p>Hybrid model, speed of {text(found.unit.driver)} from {number(rpm[0])} to {number(rpm[-1])} rpm within "
        f"{number(float(found.time[-1]))} s. It pulsates by {percent(found.share)} at order {number(found.orders[0])}, "
        "an assumption that <code>--share</code> changes. Loads are those of the unit file, not of scenarios.</p>\n",
        _campbell(found, loudest, f"Order analysis: spectrum of the tension of the span {text(loudest)} (strong: "
               "large, by its own maximum, 60 dB), engine orders (dashed), first frequencies of the spans across."),
        _waterfall(found, loudest, "The spectra as lines, raised by their speed; 60 dB are a tenth of the height."),
        table(("span", "engine order", "at [rpm]", "its first frequency [Hz]"), rows, (1, 2, 3)),
        *(_lines(key, head, unit, rpm, lines, about) for key, head, unit, lines, about in pictures),
    ]  # fmt: skip
    return report(title, found.unit.description, parts)


def _spectra(found: SpeedMap, span: str) -> tuple[Array, Array]:
    """Frequencies [Hz] and levels of a span's tension [dB by the largest], (windows, frequencies), at least -60."""
    parts = np.array_split(np.arange(found.time.size), found.speed.size)
    size = min(part.size for part in parts)
    window = np.hanning(size)
    spectra = np.array(
        [np.abs(np.fft.rfft((x - x.mean()) * window)) for x in (found.traces[span][p[:size]] for p in parts)]
    )
    level = 20.0 * np.log10(np.maximum(spectra / spectra.max(), 1e-3))
    return np.fft.rfftfreq(size, found.step).astype(np.float64), level


def _waterfall(found: SpeedMap, span: str, caption: str) -> str:
    """The spectra of `_campbell` as lines, the slowest at the bottom."""
    frequencies, level = _spectra(found, span)
    rpm = found.speed * 30.0 / math.pi
    shown_to = frequencies <= 1.15 * max(float(f.max()) for f in found.frequency.values())
    with drawing(1, 1, 4.2, "waterfall") as (grid, shown):
        ax = grid[0, 0]
        for speed, line in zip(rpm, level[:, shown_to], strict=True):
            height = speed + 0.1 * np.ptp(rpm) * (1.0 + line / 60.0)
            ax.plot(frequencies[shown_to], height, color=COLOURS[0], lw=0.9, label=f"{speed:.0f} rpm")
        ax.set(title=f"Waterfall of {span}", xlabel="frequency [Hz]", ylabel="speed of the driving shaft [rpm]")
    return shown(caption)


def _campbell(found: SpeedMap, span: str, caption: str) -> str:
    """Spectrum of a span's tension over the speed, with orders and first frequencies."""
    frequencies, level = _spectra(found, span)
    rpm = found.speed * 30.0 / math.pi
    top = min(1.15 * max(float(f.max()) for f in found.frequency.values()), float(frequencies[-1]))
    with drawing(1, 1, 4.2, "orders") as (grid, shown):
        ax = grid[0, 0]
        ax.grid(visible=False)
        box = (float(rpm[0]), float(rpm[-1]), 0.0, float(frequencies[-1]))
        ax.imshow(level.T, origin="lower", aspect="auto", extent=box, cmap=FOG, interpolation="nearest")
        draw_orders(ax, rpm, found.orders)
        for k, (name, f) in enumerate(found.frequency.items()):
            ax.plot(rpm, f, color=COLOURS[k % len(COLOURS)], lw=1.6, label=name)
        for m in found.meetings:
            ax.plot(m.speed * 30.0 / math.pi, m.frequency, "o", color=BAD, ms=5.0)
        ax.set_xlim(rpm[0], rpm[-1])
        ax.set_ylim(0.0, top)
        _named(ax, f"Order analysis of {span}", "Hz")
    return shown(caption)


def draw_orders(ax: Axes, rpm: Array, orders: Iterable[float]) -> None:
    """Engine orders over the speed, dashed."""
    ends = np.array([rpm.min(), rpm.max()])
    for order in orders:
        ax.plot(ends, order * ends / 60.0, color=INK, lw=1.0, ls=(0, (5, 3)), label=f"order {order:g}")


def _lines(key: str, head: str, unit: str, rpm: Array, lines: dict[str, Array], caption: str) -> str:
    with drawing(1, 1, 2.3, key) as (grid, shown):
        ax = grid[0, 0]
        for k, (name, values) in enumerate(lines.items()):
            ax.plot(rpm, values, color=COLOURS[k % len(COLOURS)], lw=1.4, label=name)
        _named(ax, head, unit)
    return shown(caption)


def _named(ax: Axes, head: str, unit: str) -> None:
    """Title, labels, and room for names of spans and orders."""
    ax.figure.subplots_adjust(right=0.81)
    ax.set(title=head, xlabel="speed of the driving shaft [rpm]", ylabel=unit)
    names_beside(ax)
