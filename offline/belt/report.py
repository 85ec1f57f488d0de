"""Report of a belt drive's check: real-time against full model, the sources' figures with our runs, as HTML.

Figures follow Ntarladima, Pieber and Gerstmayr (2023), Figs. 6-24, and Kubas (2017), Figs. 10-17.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from rtcvt.belt.unit import BeltUnit
from rtcvt.html import COLOURS, figure, number, percent, table, text
from rtcvt.look import GREY, LINE
from rtcvt.offline import pictures
from rtcvt.offline.belt import mass_on_friction, sheave_on_cable, studies
from rtcvt.offline.belt.results import Result
from rtcvt.offline.belt.runs import full_model
from rtcvt.offline.belt.verification import SOURCE, UNITS, Comparison, SignalError, Verification, capstan_curve
from rtcvt.offline.pictures import compared, drawing, thin, under

Array = NDArray[np.float64]
Lines = Sequence[tuple[str, Array, Array]]  # label, x, y

_SHOWN = {"rad/s": "rad/s", "N": "N", "N.m": "N·m"}


def report_page(v: Verification, estimated: str = "") -> str:
    """The report as a self-contained HTML page. Figures and tables whose runs are missing are left out.

    `estimated` is the table of contact constants that the unit's file lacks.
    """
    title = f"{v.unit.name}: real-time against full model"
    parts = [
        _verdict(v),
        _cards(v),
        _layout(v.unit),
        _glance(v, estimated),
        under(
            "errors",
            "Real-time against full model",
            _method(v),
            _errors(v.comparisons),
            _discretisation(v),
            *(_comparison(c, k) for k, c in enumerate(v.comparisons, 1)),
        ),
        _drawn(v),
    ]
    if v.quotes:
        parts.append(under("source", f"{SOURCE[v.unit.name]}: printed and ours", _quotes(v)))
    if v.studies:
        parts.append(under("contact", "Figures 6, 7 and 10 of the source", _bristles(), _pressed()))
        parts.append(under("figures", "Figures 12 to 24 of the source", *_ancf_figures(v)))
        parts.append(under("studies", "Parameter studies in numbers", *_studies(v)))
    elif v.unit.name in SOURCE:
        parts.append(under("figures", "Figures 10 to 17 of the source", *_kubas_figures(v), always=True))
    return pictures.report(title, v.unit.description, parts)


# --- summary


def _verdict(v: Verification) -> str:
    every = (*v.comparisons, *v.drawn)
    count = sum(len(c.errors) for c in every)
    cases = f"{len(every)} load cases"
    return pictures.verdict(
        [text(f) for f in v.failures],
        f"all {count} errors on {cases} are within their limits.",
        f"{len(v.failures)} of {count} errors on {cases} exceed their limits.",
    )


def _cards(v: Verification) -> str:
    shown = []
    for kind in UNITS:
        rows = [(e.smooth, e.name, c.title) for c in (*v.comparisons, *v.drawn) for e in c.errors if e.kind == kind]
        if rows:
            nrms, name, title = max(rows)
            shown.append((percent(nrms), f"largest RMS error of a {kind}: {name}, {title}"))
    cost = max(c.real_time_us for c in v.comparisons)
    step = v.unit.step
    shown.append((f"{number(cost, 3)} µs", f"per step of {number(1e3 * step)} ms: {number(1e6 * step / cost, 3)} times "
                  "faster than real time"))  # fmt: skip
    if v.quotes:
        good = sum(q.holds is True for q in v.quotes)
        shown.append((f"{good} of {len(v.quotes)}", f"numbers and statements of {SOURCE[v.unit.name]} agree"))
    return pictures.cards(shown)


def _glance(v: Verification, estimated: str) -> str:
    unit = v.unit
    model = full_model(unit)
    if model == "ancf":
        assert unit.ancf is not None
        m = unit.ancf
        mesh = f"ANCF, {m.elements} elements of {m.segments} segments, step {number(1e6 * m.step)} µs"
    else:
        assert unit.elements is not None
        mesh = f"{unit.elements.elements} rigid elements, for the comparison twice as many"
    path = unit.path()
    rows = [
        ("full model", mesh),
        *([("contact constants", "estimated: " + text(", ".join(estimated.splitlines()[1:])))] if estimated else []),
        ("belt", f"{number(path.length)} m, EA = {number(unit.belt.EA)} N"),
        ("pretension", f"{number(unit.belt.pretension)} N"),
        *((text(n), f"radius {number(1e3 * p.radius)} mm, wrap {number(np.degrees(path.wrap[i]))}°, moved by "
           + {"torque": "a torque", "speed": "a given speed", "none": "the belt"}[p.flange])
          for i, (n, p) in enumerate(unit.pulleys.items())),
    ]  # fmt: skip
    return table(("", ""), rows)


def _layout(unit: BeltUnit) -> str:
    path = unit.path()
    with drawing(1, 1, 3.0, "layout") as (grid, shown):
        ax = grid[0, 0]
        line = path.at(np.linspace(0.0, path.length, 600))[0]
        ax.plot(*line.T, color=COLOURS[0], lw=1.6)
        for i, name in enumerate(unit.pulleys):
            a = np.linspace(0.0, 2.0 * np.pi, 90)
            (x, y), r = path.center[i], path.radius[i]
            ax.fill(x + r * np.cos(a), y + r * np.sin(a), color=LINE, lw=0)
            ax.text(x, y, name, ha="center", va="center", fontsize=8.5)
        start, end = path.at(np.array([0.45, 0.55]) * path.span[0])[0]
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": COLOURS[0], "lw": 1.6})
        ax.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    return shown("Taut belt and pulleys. The arrow points along the order in which the belt visits them.")


def _method(v: Verification) -> str:
    ripple = (
        " Elements of finite length make all signals ripple as they run on: given is the error of the means over the "
        "passage of one element and, in brackets, the error with the ripple and the ripple itself [%]."
        if full_model(v.unit) == "elements"
        else ""
    )
    return (
        "<p>RMS of the difference, relative to the signal's largest value in the full model, over all samples of 1 ms "
        "from the start at rest. No parameter of the real-time model is fitted to these runs; its mesh may be. "
        f"Allowed: speeds 1 %, tensions and torques 3 %.{ripple}</p>\n"
    )


def _drawn(v: Verification) -> str:
    """Errors on drawn layouts and load cases, with a figure of each."""
    if not v.drawn:
        return ""
    first = len(v.comparisons) + 1
    return under(
        "drawn",
        f"Layouts and load cases drawn by seed {v.seed}",
        "<p>Around the unit; nothing was tuned on them. Allowed: speeds 1 %, tensions 3 %, torques 5 %; in overload "
        "2, 5 and 10 %.</p>\n",
        _errors(v.drawn, first),
        *(_comparison(c, k) for k, c in enumerate(v.drawn, first)),
    )


def _errors(comparisons: Sequence[Comparison], first: int = 1) -> str:
    """Tables of errors and of costs; `first` is the number of the first case in the report."""

    def cell(e: SignalError) -> str:
        shown = percent(e.smooth)
        if e.ripple > 0.0:
            shown += f" ({100.0 * e.nrms:.1f}; {100.0 * e.ripple:.1f})"
        return shown if e.smooth <= e.limit else pictures.mark(False, shown)

    cases = {f"case-{k}": (c.title, c.errors) for k, c in enumerate(comparisons, first)}
    cost = [(text(c.title), number(float(c.full.time[-1])), number(c.full.cost, 3), number(c.real_time_us, 3),
             "" if c.full.strayed is None else percent(c.full.strayed)) for c in comparisons]  # fmt: skip
    lost = "energy of the full run unaccounted for, of the work put in"
    costs = ("load case", "machine time [s]", "full run [s, wall clock]", "real-time step [µs]", lost)
    return pictures.error_matrix(cases, cell) + table(costs, cost, (1, 2, 3, 4))


def _discretisation(v: Verification) -> str:
    if not v.discretisation:
        return ""
    assert v.unit.elements is not None
    n = v.unit.elements.elements
    rows = [(f"<code>{text(name)}</code>", percent(e)) for name, e in v.discretisation.items()]
    return (
        f"<p>Change by {2 * n} elements from the unit's {n}, {text(v.comparisons[0].title)}, means over the passage of "
        "an element:</p>\n" + table(("signal", "RMS"), rows, (1,))
    )


def _comparison(c: Comparison, k: int) -> str:
    kinds = {e.name: e.kind for e in c.errors}
    columns = [[n for n in c.pairs if kinds[n] == kind] for kind in ("speed", "tension", "torque")]
    rows = max(len(column) for column in columns)
    with drawing(rows, 3, 1.35, f"case-{k}") as (grid, shown):
        for j, names in enumerate(columns):
            for i in range(rows):
                ax = grid[i, j]
                if i >= len(names):
                    ax.set_visible(False)
                    continue
                full, fast = c.pairs[names[i]]
                time = c.full.time[: full.size]
                compared(ax, time, full, fast)
                ax.set(title=names[i], ylabel=_SHOWN[UNITS[kinds[names[i]]]])
                ax.tick_params(labelbottom=i == len(names) - 1)
            grid[len(names) - 1, j].set_xlabel("time [s]")
    about = c.full.case.scenario.description
    return (
        f'<h3 id="case-{k}">{text(c.title)}</h3>\n'
        + (f"<p>{text(about)}</p>\n" if about else "")
        + shown("Full model (blue) and real-time model (red, dashed).")
    )


def _quotes(v: Verification) -> str:
    said = {None: "", True: pictures.mark(True, "agrees"), False: pictures.mark(False, "differs")}
    rows = [(text(q.scenario), text(q.name), text(q.printed), text(q.ours), said[q.holds]) for q in v.quotes]
    return table(("section", "", "printed", "ours", ""), rows)


# --- figures of the sources


def _panels(
    prefix: str, tall: float, panels: Sequence[tuple[str, str, str, Lines]], zones: Sequence[float] = ()
) -> str:
    """One panel below the other: title, axes' labels, lines."""
    with drawing(len(panels), 1, tall, prefix) as (grid, shown):
        for ax, (title, across, up, lines) in zip(grid[:, 0], panels, strict=True):
            _panel(ax, title, across, up, lines, zones)
    return shown()


def _panel(ax: Axes, title: str, across: str, up: str, lines: Lines, zones: Sequence[float]) -> None:
    for z in zones:
        ax.axvline(z, color=GREY, lw=0.8)
    for k, (label, x, y) in enumerate(lines):
        ax.plot(x, y, color=COLOURS[k % len(COLOURS)], lw=1.2, label=label or None, zorder=3 - 0.1 * k)
    ax.set(title=title, ylabel=up, xlabel=across)
    if len(lines) > 1:
        pictures.names_beside(ax)


def _field(r: Result, group: str, name: str, at: int = -1) -> tuple[Array, Array]:
    s = r.fields["belt.v_s" if name == "belt.v" else f"{group}.s"][at]
    values = r.fields[name][at]
    return s, np.where(values == 0.0, np.nan, values) if group == "contact" else values


_S = "arc length [m]: tight span, P2, slack span, P1"


def _along(found: dict[str, Result] | Any, group: str, name: str, factor: float = 1.0, at: int = -1) -> Lines:
    return [(label, x, factor * y) for label, r in found.items() for x, y in [_field(r, group, name, at)]]


def _bristles() -> str:
    times, found = mass_on_friction.compared()
    shown = (("displacement", "m"), ("velocity", "m/s"), ("friction", "N"))
    panels = [
        (f"Figs. 6 and 7: {about}", "time [s]", up, [(k, *thin(times, x[i])) for k, x in found.items()])
        for i, (about, up) in enumerate(shown)
    ]
    return figure(_panels("fig6", 1.7, panels), "A mass on friction, drawn by a spring: LuGre's model and bristles.")


def _pressed() -> str:
    by_segments, reference = sheave_on_cable.convergence()
    with drawing(1, 2, 2.4, "fig10") as (grid, shown):
        for ax, key, up in zip(
            grid[0], ("y", "N"), ("error of the centre's y [m]", "error of the force [N]"), strict=True
        ):
            for k, (segments, found) in enumerate(by_segments.items()):
                errors = [abs(getattr(r, key) - getattr(reference, key)) for r in found]
                ax.loglog(sheave_on_cable.ELEMENTS, errors, "o-", ms=3.5, lw=1.2, color=COLOURS[k], label=f"{segments}")
            ax.set(xlabel="elements", ylabel=up)
        pictures.names_beside(grid[0, 1])
    return shown("Fig. 10: a sheave pressed against a cable, by elements and segments of each, against 128 of 12.")


def _ancf_figures(v: Verification) -> list[str]:
    r = v.comparisons[0].full
    unit, zones = r.case.unit, list(r.case.unit.path().knots[1:-1])
    t = r.time
    elements = v.studies["elements"]
    end = f"{number(float(t[-1]))} s"
    parts = [
        figure(
            _panels("fig12", 2.0, [("Fig. 12: speeds", "time [s]", "rad/s",
                    [(n, *thin(t, r.series[f"{n}.w"])) for n in unit.pulleys])]),
            "Angular velocities of the pulleys.",
        ),
        figure(
            _panels("fig13", 2.0, [("Fig. 13: torque of P1 by number of elements", "time [s]", "N·m",
                    [(k, *thin(x.time, x.series["P1.tau"])) for k, x in elements.items()])]),
            "Torque that drives P1.",
        ),
    ]  # fmt: skip
    named: tuple[tuple[str, str, str, float, str], ...] = (
        ("14", "normal stress", "contact", 1e-3, "contact.q_n"),
        ("15", "axial force", "belt", 1.0, "belt.F"),
        ("16", "axial velocity", "belt", -1.0, "belt.v"),
        ("17", "tangential stress", "contact", 1e-3, "contact.q_t"),
    )
    si = {"contact.q_n": "kN/m²", "contact.q_t": "kN/m²", "belt.F": "N", "belt.v": "m/s"}
    parts += [
        figure(
            _panels(f"fig{fig}", 2.1, [(f"Fig. {fig}: {about} by number of elements", _S, si[name],
                    _along(elements, group, name, factor))], zones),
            f"{about.capitalize()} along the belt at {end}.",
        )
        for fig, about, group, factor, name in named
    ]  # fmt: skip
    for study in ("segments", "mu", "k_c", "mu_k", "normals"):
        panels = [(f"{about} by {study}", _S, si[name], _along(v.studies[study], group, name, factor))
                  for _, about, group, factor, name in named]  # fmt: skip
        source = "Figs. 18 to 21" if study != "normals" else "Section 2.5, second option of normals"
        parts.append(figure(_panels(f"study-{study}", 1.7, panels, zones), f"{source}: influence of {study} at {end}."))
    theory = capstan_curve(r, unit.ancf.mu if unit.ancf else 0.0)
    scheme = _along(v.studies["scheme"], "belt", "belt.F", 1.0, 0)
    parts += [
        figure(
            _panels("fig22", 2.1, [("Fig. 22: axial force by scheme of integration", _S, "N", scheme)], zones),
            f"Axial force at {number(r.case.instants[0])} s.",
        ),
        figure(
            _panels("fig23", 1.7, [(f"Fig. 23: {about}", _S, si[name], [("", *_scaled(r, group, name, factor))])
                    for _, about, group, factor, name in (named[1], named[2])], zones),
            f"Steady state at {end}.",
        ),
        figure(
            _panels("fig24", 2.1, [("Fig. 24: axial force on P1", "arc length [m]", "N",
                    [("ours", theory[0], theory[1]), ("Euler, Eytelwein", theory[0], theory[2])])]),
            "Contact zone of P1 and the capstan formula over the sliding arc; the belt sticks where it runs on.",
        ),
    ]  # fmt: skip
    return parts


def _scaled(r: Result, group: str, name: str, factor: float) -> tuple[Array, Array]:
    x, y = _field(r, group, name)
    return x, factor * y


def _studies(v: Verification) -> list[str]:
    parts = []
    for study, found in v.studies.items():
        rows = {label: studies.figures(r) for label, r in found.items()}
        head = (study, *next(iter(rows.values())), "wall clock [s]")
        body = [(text(label), *(number(x, 5) for x in row.values()), number(found[label].cost, 3))
                for label, row in rows.items()]  # fmt: skip
        parts.append(table(tuple(text(h) for h in head), body, range(1, len(head))))
    return parts


def _kubas_figures(v: Verification) -> list[str]:
    parts = []
    if "two_pulley_5pk" in v.runs:
        r = v.runs["two_pulley_5pk"]
        parts += [_speeds(r, "Fig. 10"), *(_trace(r, f"Fig. {k}", key) for k, key in enumerate("FNT", 11))]
    if "verification_belt" in v.runs:
        parts.append(_speeds(v.runs["verification_belt"], "Fig. 7"))
    for name in ("accessory_5pk", "mirrored", "mirrored, 120 elements"):
        if name in v.runs:
            r = v.runs[name]
            parts.append(f"<h3>{text(name)}</h3>\n")
            parts += [_speeds(r, "Fig. 15"), _trace(r, "Fig. 16", "N"), _trace(r, "Fig. 17", "F")]
    return parts


def _speeds(r: Result, fig: str) -> str:
    lines = [(n, *thin(r.time, r.series[f"{n}.w"])) for n in r.case.unit.pulleys]
    svg = _panels(f"speeds-{_id(r)}", 2.1, [(f"{fig}: speeds", "time [s]", "rad/s", lines)])
    return figure(svg, "Angular speeds of the pulleys.")


def _trace(r: Result, fig: str, key: str) -> str:
    if "trace.F" not in r.series:
        return ""
    kinds = {"F": "force in the joint before an element", "N": "normal forces on an element"}
    about = kinds.get(key, "friction on an element")
    found = {"": "trace.F"} if key == "F" else {n: f"trace.{n}.{key}" for n in r.case.unit.pulleys}
    lines = [(n, *thin(r.time, r.series[name])) for n, name in found.items()]
    svg = _panels(f"trace-{key}-{_id(r)}", 2.1, [(f"{fig}: {about}", "time [s]", "N", lines)])
    return figure(svg, f"{about.capitalize()} that travels with the belt; the source's element is another one.")


def _id(r: Result) -> str:
    return f"{r.case.unit.name}-{r.case.name}".replace(" ", "-").replace(",", "")
