"""The documentation page inside the FMU of a variator: equations, range of validity, errors, pictures of the laws."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtcvt.control import limits
from rtcvt.diagram import xml_text as text
from rtcvt.documentation import ErrorRow, error_table, figure, number, page, prose, quantity, table, variable_tables
from rtcvt.model import Model
from rtcvt.variator import kernels, kers
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced_model import LAWS, ReducedModel, counted, read_reduced
from rtcvt.variator.unit import FLANGES, Variator

__all__ = ["line_plot", "variator_page"]

Array = NDArray[np.float64]

COLOURS = ("#1d4ed8", "#c2410c", "#2f855a", "#7c3aed", "#9f1239")
_COORDINATES = {
    "i": "ratio r'<sub>O</sub>/r'<sub>I</sub>",
    "xi": "torque ratio, + drive, − overrun",
    "kappa": "inertia of the belt, m* v²/F<sub>CO</sub>",
    "f": "secondary clamping force by F<sub>ref</sub>",
    "y": "primary clamping force by that of balance",
}


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
        What the check against the full model found.
    reduced : ReducedModel, optional
        The laws, instead of those that the unit names.
    """
    laws = reduced or read_reduced(reduced_path(unit))
    kind = f"{model.fidelity.capitalize()} model"
    modules = [kernels] if unit.controller is None else [kers, limits, kernels]
    parts = [
        f"<h1>{text(unit.name)}</h1>\n",
        f'<p class="lead">{text(unit.description)}</p>\n',
        f"<p>{kind}, {len(model.states)} states, {len(model.select('input'))} inputs, "
        f"{len(model.select('output'))} outputs, step {quantity(model.step_size, 's', 'ms')}.</p>\n",
        "<h2>How to use it</h2>\n",
        _use(model, unit),
        "<h2>Variables</h2>\n",
        variable_tables(model),
        "<h2>Equations</h2>\n",
        *(prose(m.__doc__ or "") for m in modules),
        "<h2>Laws and their range</h2>\n",
        _range(laws),
        _pictures(laws),
        "<h2>Accuracy</h2>\n",
        _accuracy(laws, errors),
        f"<h2>Unit file</h2>\n<pre><code>{text(unit.text)}</code></pre>\n",
    ]
    return page(f"{unit.name}: {kind.lower()}", "".join(parts))


def _use(model: Model, unit: Variator) -> str:
    steps = (
        f"The unit runs at a fixed step of {quantity(model.step_size, 's', 'ms')} inside; a longer communication step "
        "is divided into equal ones. Inputs are held over a communication step; those of a native unit move, if the "
        "importing tool gives their derivatives."
    )
    flags = (
        "<code>status.extrapolating</code> is true where the operating point is outside the data: the laws then stay "
        "as they are at its border. <code>status.macro_slip</code> is true while the belt slides as a whole, by over "
        "5 % of its speed or at the capacity of a pulley; "
        "<code>status.limited</code> while an end stop or a limit of the force is active. The energy balance "
        "holds in all cases."
    )
    refused = "A step is refused, and the state left as it was, if an input is not finite or no finite state follows."
    if unit.controller == "kers":
        points = [
            steps,
            "The shaft takes a speed and returns a torque through a spring: <code>shaft.tau</code> counts into the "
            "unit, so it is positive while the flywheel is charged. The controller makes it follow "
            "<code>control.tau_des</code> by shifting, and clamps as hard as the torque needs.",
            "The unit starts at the shaft speed <code>shaft.w_start</code>: give it what <code>shaft.w</code> begins "
            "with, or the first step is a shock.",
            "<code>control.saturated</code> is true while a limit overrides the demand: ratio, flywheel's speed, "
            "clamping force, or the torque that this can carry, <code>control.tau_max</code>. A feasible demand is "
            "followed again at once.",
            "The variator cannot take the shaft to standstill beside a turning flywheel: a clutch has to.",
            flags,
            refused,
        ]
        return "<ul>\n" + "".join(f"<li>{p}</li>\n" for p in points) + "</ul>\n"
    speeds = [f"<code>{name}</code>" for name in FLANGES if name in unit.flanges.speeds()]
    if speeds:
        flanges = f"Flange {' and '.join(speeds)} takes a speed and returns a torque through a stiff coupling."
    else:
        flanges = "Each flange takes a torque and returns a speed."
    points = [
        steps,
        f"{flanges} Torques count into the unit: power into the unit is positive.",
        "<code>clamp.control</code> chooses what is given: 0 both clamping forces, 1 both pressures, 2 the ratio and "
        "the secondary's force; the other inputs are then ignored. With a given ratio the primary's force follows from "
        "the law of shifting, between <code>clamp.y_min</code> and <code>clamp.y_max</code> times that of balance.",
        flags,
        refused,
    ]
    return "<ul>\n" + "".join(f"<li>{p}</li>\n" for p in points) + "</ul>\n"


def _range(laws: ReducedModel) -> str:
    a, b = (number(value) for value in laws.shift)
    zero = {"xi": f", less {a} q/√(q² + {b}²), q = (i − 1)/(i + 1)"}
    rows = [
        (f"<code>{c.name}</code>", _COORDINATES[c.name] + zero.get(c.name, ""), number(c.low), number(c.high))
        for c in laws.coordinates
    ]
    constants = ", ".join(f"{name} = {number(value)}" for name, value in laws.constants.items())
    about = (
        f"<p>Reduced model {text(laws.name)}: thrust ratio and {len(LAWS)} laws, {len(laws.peaks)} peaks, "
        f"{len(laws.fields)} fields with {sum(len(f.modes) for f in laws.fields)} modes, from {len(laws.points)} "
        f"operating points of the full model. The laws are quadratic splines over this range:</p>\n"
    )
    head = ("coordinate", "meaning", "from", "to")
    return about + table(head, rows, (2, 3)) + f'<p class="muted">SI: {text(constants)}</p>\n'


def _accuracy(laws: ReducedModel, errors: Sequence[ErrorRow] | None) -> str:
    parts = []
    if errors is None:
        parts.append("<p>This model was not checked against the full one.</p>\n")
    else:
        parts.append(
            "<p>Against the full model on runs that the reduction has not seen, relative to what the report of the "
            "check names; slip and efficiency in percentage points.</p>\n" + error_table(errors, "error")
        )
    if laws.errors:
        rows = [(f"<code>{text(name)}</code>", number(value)) for name, value in laws.errors.items()]
        parts.append(
            "<p>Errors of the reduction itself. <code>crossed</code>: cross-validated on its own runs, of natural "
            "logarithms but for <code>e</code> and fields; <code>heldout</code>: on other runs, relative, but for slip "
            "and efficiency; <code>repeat</code>: what the full model itself scatters.</p>\n"
            + table(("", "value"), rows, (1,))
        )
    return "".join(parts)


# --- pictures of the laws ---------------------------------------------------------------------------------------------


def _pictures(laws: ReducedModel) -> str:
    """The laws over torque ratio and force ratio for some ratios, in the middle of the other coordinates."""
    ranges = {c.name: (c.low, c.high) for c in laws.coordinates}
    kappa, f = (float(np.sqrt(max(ranges[n][0], 0.02) * ranges[n][1])) for n in ("kappa", "f"))
    ratios = [i for i in (0.5, 0.7, 1.0, 1.5, 2.2) if ranges["i"][0] <= i <= ranges["i"][1]]
    zeros = -counted(laws.shift, np.array([[i, 0.0, kappa, f] for i in ratios]))[:, 1]
    xi = np.linspace(ranges["xi"][0] + zeros.max(), ranges["xi"][1] + zeros.min(), 121)  # within the data for each i
    y = np.linspace(*ranges["y"], 121)

    def at(i: float, torque: Array, force: Array) -> dict[str, Array]:
        n = max(len(torque), len(force))
        points = (
            np.full(n, i),
            np.broadcast_to(torque, n),
            np.full(n, kappa),
            np.full(n, f),
            np.broadcast_to(force, n),
        )
        return laws.evaluate(np.stack(points, axis=-1))

    one = np.ones(1)
    steady = {i: at(i, xi, one) for i in ratios}
    shifting = {i: at(i, 0.5 * one, y) for i in ratios}
    percent = 100.0
    plots = [
        line_plot(xi, {f"i = {i}": s["zeta"] for i, s in steady.items()}, "torque ratio ξ", "thrust ratio ζ"),
        line_plot(
            xi, {f"i = {i}": percent * (s["e"] + s["c"] * xi) for i, s in steady.items()}, "torque ratio ξ", "slip, %"
        ),
        line_plot(
            xi, {f"i = {i}": percent * s["lambda"] for i, s in steady.items()}, "torque ratio ξ", "drag λ, % of F_CO"
        ),
        line_plot(
            y,
            {f"i = {i}": percent * s["k"] * f * (y - 1.0) for i, s in shifting.items()},
            "F_CI/F_eq at ξ = 0.5",
            "shift rate x, %",
        ),
    ]
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
        'style="display:inline-block;font:12px sans-serif" fill="#52606d">'
    ]
    for a in marks[0]:
        if not x_0 - 0.01 * (x_1 - x_0) <= a <= x_1 + 0.01 * (x_1 - x_0):
            continue
        px, py = place(a, y_0)
        parts.append(f'<path d="M{px:.1f} {top}V{py:.1f}" stroke="#e4e7eb"/>')
        parts.append(f'<text x="{px:.1f}" y="{py + 16:.1f}" text-anchor="middle">{number(a, 3)}</text>')
    for b in marks[1]:
        px, py = place(x_0, b)
        parts.append(f'<path d="M{px:.1f} {py:.1f}H{width - right}" stroke="#e4e7eb"/>')
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
