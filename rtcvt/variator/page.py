"""The documentation page inside the FMU of a variator: equations, range of validity, errors, pictures of the laws."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.control import limits
from rtcvt.environment import docstring
from rtcvt.files import read_json
from rtcvt.html import ErrorRow, figure, number, render, text
from rtcvt.look import COLOURS, LINE, SOFT
from rtcvt.model import Model
from rtcvt.variator import kernels, kers, shafts
from rtcvt.variator.build import reduced_path
from rtcvt.variator.diagram import variator_diagram
from rtcvt.variator.reduced.coordinates import counted
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.reduced.model import BANDS, LAWS, UNCERTAIN, ReducedModel
from rtcvt.variator.unit import FLANGES, Variator

Array = NDArray[np.float64]

_COORDINATES = {
    "i": "ratio r'<sub>O</sub>/r'<sub>I</sub>",
    "xi": "torque ratio, + drive, − overrun",
    "kappa": "inertia of the belt, m* v²/F<sub>CO</sub>",
    "f": "secondary clamping force by F<sub>ref</sub>",
    "y": "primary clamping force over that of balance",
}


_RATIOS = (0.5, 0.7, 1.0, 1.5, 2.2)
SHIPPED = ("pushbelt_24mm_belief",)  # reduced models whose full model is compared with others in docs/validation.md
_ERRORS = {  # of the reduction, by whether there are other runs
    True: {"thrust": "thrust ratio", "slip": "slip, in points", "efficiency": "efficiency, in points",
        "shift": "shift rate, over its RMS"},
    False: {"zeta": "thrust ratio", "e": "slip, in points", "c": "creep", "lambda": "loss", "k": "shift rate"},
}  # fmt: skip


def variator_page(
    model: Model, unit: Variator, errors: Sequence[ErrorRow] | None = None, reduced: ReducedModel | None = None
) -> str:
    """A self-contained HTML page.

    Parameters
    ----------
    model : Model
        Rigid or hybrid model of `unit`.
    unit : Variator
        The machine.
    errors : sequence of ErrorRow, optional
        Results of the check against the full model.
    reduced : ReducedModel, optional
        The laws, instead of those that the unit names.

    Raises
    ------
    InputError
        There is no reduced model.
    """
    laws = reduced or read_reduced(reduced_path(unit))
    modules = [kernels, shafts] if unit.controller is None else [kers, limits, kernels, shafts]
    return render(
        "rtcvt.variator:page.html", model=model, unit=unit, errors=errors,
        given=[name for name in FLANGES if name in unit.flanges.speeds()], equations=[docstring(m) for m in modules],
        laws=laws, counts=(len(LAWS), sum(len(f.modes) for f in laws.fields)), coordinates=_coordinates(laws),
        constants=", ".join(f"{name} = {number(value)}" for name, value in laws.constants.items()),
        pictures=_pictures(laws), own_errors=_own_errors(laws), bands=_bands(laws),
        picture=variator_diagram(unit, {v.name: float(model.p[v.index]) for v in model.select("parameter")}),
        beyond=laws.beyond(unit.ratio.min, unit.ratio.max),
        shipped=unit.reduced in SHIPPED and not unit.files_beside,
    )  # fmt: skip


def _own_errors(laws: ReducedModel) -> list[tuple[str, ...]]:
    """Errors of the reduction on other runs if there are any, else cross-validated: quantity, RMS, median, largest."""
    other = "heldout.thrust.rms" in laws.errors
    rows: list[tuple[str, ...]] = []
    for key, about in _ERRORS[other].items():
        rows.append((about, *_shares(laws, f"{'heldout' if other else 'crossed'}.{key}")))
    for field in laws.fields:
        name = text(field.name.replace("_", " "))
        of = {"field": f"{name} over the belt, relative to its largest value", "peak": f"largest {name}"}
        for key, about in of.items():
            rows.append((about, *_shares(laws, f"{'heldout' if other else 'crossed'}.{key}.{field.name}")))
    return [row for row in rows if any(row[1:])]


def evidence(unit: Variator) -> dict[str, dict[str, Any]]:
    """Evidence of a variator's reduced model: the range of its data, its own errors, and a calibration's bands."""
    path = reduced_path(unit)
    laws = read_reduced(path)
    found: dict[str, dict[str, Any]] = {
        "rtcvt.range": {f"data: {_COORDINATES[c.name]} ({c.name})": [c.low, c.high] for c in laws.coordinates},
        "rtcvt.reduction": {"reduced model": path.name, **{key: float(e) for key, e in laws.errors.items()}},
    }
    beside = path.with_name(f"{path.stem}_calibration.json")
    if beside.is_file():
        found["rtcvt.bands"] = dict(read_json(beside, "a file written by rtcvt calibrate").get("points", {}))
    return found


def _bands(laws: ReducedModel) -> list[tuple[str, ...]]:
    """Standard deviations of `BANDS` [%, points] by ratio, in the middle of the data; none of a model without both."""
    if not laws.parametric.size:
        return []
    z = np.array([[i, 0.5, *(c.unscaled(0.0) for c in laws.coordinates[2:4]), 1.0] for i in _RATIOS])
    found = laws.evaluate(z)
    pairs = [zip(*(100.0 * found[f"{band}.{name}"] for band in BANDS), strict=True) for name in UNCERTAIN]
    cells = ([f"± {a:.2g}; ± {b:.2g}" for a, b in pair] for pair in pairs)
    return list(zip(map(number, _RATIOS), *cells, strict=True))


def _shares(laws: ReducedModel, key: str) -> tuple[str, str, str]:
    rms, median, largest = (laws.errors.get(f"{key}.{k}") for k in ("rms", "median", "max"))
    return tuple("" if e is None else f"{100.0 * e:.3g} %" for e in (rms, median, largest))  # type: ignore[return-value]


def _coordinates(laws: ReducedModel) -> list[tuple[str, str, str, str]]:
    """Rows of the table of the laws' range."""
    a, b = (number(value) for value in laws.shift)
    zero = {"xi": f", less {a} q/√(q² + {b}²), q = (i − 1)/(i + 1)"}
    return [
        (f"<code>{c.name}</code>", _COORDINATES[c.name] + zero.get(c.name, ""), number(c.low), number(c.high))
        for c in laws.coordinates
    ]


# --- pictures of the laws ---------------------------------------------------------------------------------------------


def _pictures(laws: ReducedModel) -> str:
    """The laws over torque ratio and force ratio for some ratios, in the middle of the other coordinates."""
    ranges = {c.name: (c.low, c.high) for c in laws.coordinates}
    kappa, f = (float(np.sqrt(max(ranges[n][0], 0.02) * ranges[n][1])) for n in ("kappa", "f"))
    ratios = [i for i in _RATIOS if ranges["i"][0] <= i <= ranges["i"][1]]
    zeros = -counted(laws.shift, np.array([[i, 0.0, kappa, f] for i in ratios]))[:, 1]
    xi = np.linspace(ranges["xi"][0] + zeros.max(), ranges["xi"][1] + zeros.min(), 121)  # within the data for each i
    y = np.linspace(*ranges["y"], 121)

    def at(i: float, torque: Array, force: Array) -> dict[str, Array]:
        return laws.evaluate(np.stack(np.broadcast_arrays(i, torque, kappa, f, force), axis=-1))

    one = np.ones(1)
    steady = {i: at(i, xi, one) for i in ratios}
    shifting = {i: at(i, 0.5 * one, y) for i in ratios}
    settled: dict[str, Callable[[dict[str, Array]], Array]] = {"thrust ratio ζ": lambda s: s["zeta"],
        "slip, %": lambda s: 100.0 * (s["e"] + s["c"] * xi),
        "drag λ, % of F_CO": lambda s: 100.0 * s["lambda"]}  # fmt: skip
    over_xi = {up: {f"i = {i}": of(s) for i, s in steady.items()} for up, of in settled.items()}
    plots = [line_plot(xi, lines, "torque ratio ξ", up) for up, lines in over_xi.items()]
    rates = {f"i = {i}": 100.0 * s["k"] * f * (y - 1.0) for i, s in shifting.items()}
    plots.append(line_plot(y, rates, "F_CI/F_eq at ξ = 0.5", "shift rate x, %"))
    caption = f"The laws at κ = {number(kappa, 2)} and f = {number(f, 2)}; without shifting, but for the last."
    pictures = figure("\n".join(plots), caption)
    shown = [field for field in laws.fields if field.name in ("flank_normal", "push", "flank_radial", "tension")]
    if not shown:
        return pictures
    F = laws.constants["F_ref"]
    points = np.array([[i, 0.5, kappa, f, 1.0] for i in ratios])
    plots = []
    for field in shown:
        values = laws.field(field.name, points)
        place = (np.arange(values.shape[1]) + 0.5) / (values.shape[1] / 4.0)
        unit, scale = ("kN", F / 1e3) if field.unit == "N" else ("kN/m", 4e-3 * F / laws.constants["length"])
        name = f"{field.name.replace('_', ' ')}, {unit}"
        curves = {f"i = {i}": scale * v for i, v in zip(ratios, values, strict=True)}
        plots.append(line_plot(place, curves, "arcs 0-1 primary, 2-3 secondary; spans between", name))
    caption = (
        f"Contact forces along the belt at ξ = 0.5 and F<sub>CO</sub> = {number(F / 1e3)} kN, without shifting; forces "
        "per length for sections of the mean length."
    )
    return pictures + figure("\n".join(plots), caption)


def line_plot(x: Array, curves: dict[str, Array], across: str, up: str) -> str:
    """Curves over one abscissa as an SVG picture, with a legend."""
    width, height, left, bottom, top, right = 430, 280, 58, 42, 12, 92
    values = np.concatenate([np.ravel(c) for c in curves.values()])
    x_0, x_1 = float(x.min()), float(x.max())
    marks = _ticks(x_0, x_1), _ticks(float(values.min()), float(values.max()))
    y_0, y_1 = marks[1][0], marks[1][-1]

    def place(a: Array | float, b: Array | float) -> tuple[Array, Array]:
        return (
            np.asarray(left + (np.asarray(a) - x_0) / (x_1 - x_0) * (width - left - right)),
            np.asarray(height - bottom - (np.asarray(b) - y_0) / (y_1 - y_0) * (height - bottom - top)),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="display:inline-block;font:12px sans-serif" fill="{SOFT}" role="img" '
        f'aria-label="{text(up)} over {text(across)}">'
    ]
    for a in marks[0]:
        if not x_0 - 0.01 * (x_1 - x_0) <= a <= x_1 + 0.01 * (x_1 - x_0):
            continue
        px, py = place(a, y_0)
        parts.append(f'<path d="M{px:.1f} {top}V{py:.1f}" stroke="{LINE}"/>')
        parts.append(f'<text x="{px:.1f}" y="{py + 16:.1f}" text-anchor="middle">{number(a, 3)}</text>')
    for b in marks[1]:
        px, py = place(x_0, b)
        parts.append(f'<path d="M{px:.1f} {py:.1f}H{width - right}" stroke="{LINE}"/>')
        parts.append(f'<text x="{px - 6:.1f}" y="{py + 4:.1f}" text-anchor="end">{number(b, 3)}</text>')
    middle = 0.5 * (left + width - right)
    parts.append(f'<text x="{middle}" y="{height - 6}" text-anchor="middle">{text(across)}</text>')
    level = 0.5 * (top + height - bottom)
    parts.append(f'<text transform="translate(13 {level}) rotate(-90)" text-anchor="middle">{text(up)}</text>')
    for k, (name, curve) in enumerate(curves.items()):
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(*place(x, curve), strict=True))
        colour = COLOURS[k % len(COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        row = top + 14 + 18 * k
        parts.append(f'<path d="M{width - right + 8} {row - 4}h18" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{width - right + 31}" y="{row}">{text(name)}</text>')
    return "".join([*parts, "</svg>"])


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers that cover a range."""
    if not high > low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    raw = (high - low) / 5.0
    power = 10.0 ** np.floor(np.log10(raw))
    step = float(next(m for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= raw) * power)
    return [float(step * k) for k in range(int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9)) + 1)]


def errors(unit: Variator, fidelity: str, settings: Mapping[str, float | str], found: dict[str, Any]) -> list[ErrorRow]:
    """Results of the check for one model, for the page."""
    scenario = f"{found['runs']} held-out runs of the full model"
    rows = []
    for f in found["figures"]:
        if f["limit"] is not None and fidelity in f["worst"]:
            value, worst = float(f["value"][fidelity]), abs(float(f["worst"][fidelity]["value"]))
            row = ErrorRow(scenario, f"{f['name']}, {f['statistic']}", "%", value, float(f["limit"]), 100.0 * worst)
            rows.append(row)
    return rows
