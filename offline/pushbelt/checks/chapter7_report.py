"""Report on chapter 7 of Cebulla 2014: statements of the source and results of our model, as one HTML page.

Figures are drawn over the belt coordinate (primary arc, push span, secondary arc, slack span), each section with the
same width. Lines are means over one revolution, thin grey lines are those of one element on its way.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.html import COLOURS, number, percent, table, text
from rtcvt.kind import Checked, Progress
from rtcvt.look import GREY, METAL
from rtcvt.offline.pictures import cards, drawing, mark, over_sections, report, under, verdict
from rtcvt.offline.pushbelt.checks import cases
from rtcvt.offline.pushbelt.checks.chapter7 import (
    AGREEMENT_RTOL,
    OTHERS,
    REFINED,
    STEADY_RTOL,
    Finding,
    Verification,
    band,
    discretisation,
    verify,
)
from rtcvt.offline.pushbelt.checks.signatures import PRIMARY, PUSH, SECONDARY, push_force, section
from rtcvt.offline.pushbelt.planar.model import LOSSES
from rtcvt.offline.pushbelt.run.profiles import BINS, FORCES, Steady, force
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.quantity import to_si
from rtcvt.variator.layout import SECTIONS

Array = NDArray[np.float64]

_C = np.concatenate([k + (np.arange(BINS) + 0.5) / BINS for k in range(4)])
_GOOD = {"agrees": True, "opposite": False, "differs": False}
_SHOWN = {"m": ("um", "µm"), "N2": ("N2", "N²"), "N.m": ("N.m", "N·m")}


def check(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Chapter 7 of Cebulla 2014 with the full model."""
    report: Path = given["report"]
    result = verify(parameters, report.with_name(f"{report.stem}_runs"), progress=progress)
    lines: list[Any] = [
        f"{what} of {result.chapter.source}: "
        + ", ".join(f"{n} {verdict} ({firm} firmly)" for verdict, (n, firm) in result.count(kind).items() if n)
        for kind, what in (("number", "printed numbers"), ("sign", "signs and ranges"), ("cost", "costs of a step"))
    ]
    if not result.of_source:
        lines.append(OTHERS)
    if known := cases.on_record(parameters.name):
        lines.append(cases.table(known))
    return Checked(report_page(result), result.figures(), lines, result.failures)


def report_page(v: Verification) -> str:
    """The report as a self-contained HTML page. Figures and tables whose runs are missing are left out."""
    title = f"{v.parameters.name}: chapter 7 of Cebulla 2014"
    others = "" if v.of_source else f"<p><strong>{text(OTHERS)}</strong></p>\n"
    parts = [
        _verdict(v),
        others,
        _summary(v),
        under(
            "numbers",
            "Printed numbers",
            f"<p>Mean of {v.chapter.starts} starts that differ by a disturbance; the mean of as many others, on "
            "another machine, is within ± u in 19 of 20 cases. A verdict is firm if it is the same for all "
            f"values within u. A number agrees within {percent(AGREEMENT_RTOL)}. "
            "The source regularises friction of the flanks at a speed that it does not print; here it is "
            f"{1e3 * v.parameters.contacts.friction.v_mu:g} mm/s.</p>\n",
            _signatures(v, "number"),
        ),
        under(
            "signatures",
            "Signs and ranges",
            "<p>With two runs, the quantity is that of the first less that of the second; with several, the least of "
            "the result of each, or its change from the one before. "
            "A sign is not resolved if the quantity is smaller than u."
            "</p>\n",
            _signatures(v, "sign"),
        ),
        under(
            "forces",
            "Element contact forces, Figs. 7.2 to 7.4, 7.11 to 7.16, 7.18",
            *(_forces(v, *group) for group in _GROUPS),
        ),
        under("thrust", "Thrust ratio over torque ratio, Table 7.2 and Fig. 7.5", _thrust(v)),
        under("spiral", "Spiral running, Table 7.3, Figs. 7.6, 7.7 and 7.17", _spiral(v)),
        under("taper", "Tapered elements and their number, Figs. 7.8 to 7.10", _endplay(v)),
        under("cost", "Cost of a step", _signatures(v, "cost"), _cost(v)),
        under("convergence", "Convergence", _convergence(v)),
        under("runs", "Runs: steady state, energy, momentum", _runs(v)),
    ]
    return report(title, v.parameters.description, parts)


_GROUPS = (
    ("OD", ("OD", "OD-bilateral", "OD-decoupled"), "Figs. 7.2, 7.11, 7.13, 7.14"),
    ("MED, xi = 0.65", ("MED-3", "MED-bilateral"), "Fig. 7.3"),
    ("LOW, ratio 1.9", ("LOW-Honda", "LOW-Honda-bilateral", "LOW-Honda-decoupled"), "Fig. 7.4"),
    ("LOW, ratio 2.25", ("LOW", "LOW-bilateral", "LOW-decoupled"), "Figs. 7.12, 7.15, 7.16"),
    ("OD, secondary speed given", ("OD-speed",), "Fig. 7.18"),
    ("OD, taper", ("OD", "OD-taper5", "OD-taper8"), "Fig. 7.9, left"),
    ("LOW, taper", ("LOW", "LOW-taper5", "LOW-taper8"), "Fig. 7.9, right"),
)


# --- summary


def _verdict(v: Verification) -> str:
    passed = f"energy and momentum balance of all {sum(map(len, v.starts.values()))} runs."
    said = verdict([text(f) for f in v.failures], passed, f"{len(v.failures)} of the proofs on the runs fail.")
    if v.unsteady:
        said += f"<p>Thrust ratio changes by more than {percent(STEADY_RTOL)} between the last two revolutions: "
        said += f"{text(', '.join(v.unsteady))}.</p>\n"
    return said


def _summary(v: Verification) -> str:
    shown = []
    for kind, what in (("number", "printed numbers"), ("sign", "signs and ranges")):
        count = v.count(kind)
        total = sum(n for n, _ in count.values())
        n, firm = count["agrees"]
        shown.append((f"{n} of {total}", f"{what} agree, {firm} of them firmly"))
        others = ", ".join(f"{n} {verdict} ({firm})" for verdict, (n, firm) in count.items() if verdict != "agrees")
        shown.append((str(total - n), f"{what} do not: {others}"))
    errors = discretisation(v)
    if errors:
        worst = max(errors, key=lambda name: errors[name][1])
        shown.append((percent(errors[worst][1]), f"discretisation error of the thrust ratio at most: {worst}"))
    return cards(shown)


def _expected(f: Finding) -> str:
    s = f.signature
    if s.value is not None:
        return f"{number(s.value, 5)} {_unit(f.unit)}"
    if s.sign is not None:
        return "above 0" if s.sign == "positive" else "below 0"
    assert s.range is not None
    return f"{number(s.range[0])} to {number(s.range[1])}"


def _unit(unit: str) -> str:
    return "" if unit == "1" else _SHOWN.get(unit, (unit, unit))[1]


def _in(value: float, unit: str) -> str:
    shown = _SHOWN.get(unit, (unit, unit))[0]
    return number(value if shown == unit else value / to_si(f"1 {shown}", unit), 4)


def _signatures(v: Verification, kind: str) -> str:
    rows: list[Sequence[str]] = []
    chapter = ""
    for f in (f for f in v.findings if f.signature.kind == kind):
        if f.signature.section.split(",")[0] != chapter:
            chapter = f.signature.section.split(",")[0]
            rows.append((f"<b>Section {text(chapter)}</b>",))
        place = f.signature.section.partition(", ")[2]
        name = f"{text(f.signature.about)}<br/><span class='muted'>{text(f.signature.quantity)}: "
        between = {"difference": " − ", "each": ", ", "steps": " → "}[f.signature.of]
        name += f"{text(between.join(f.signature.runs))}</span>"
        ours = f"{_in(f.value, f.unit)} {_unit(f.unit)}"
        said = mark(_GOOD.get(f.verdict), f.text) + (", firm" if f.firm else "")
        rows.append((text(place), name, _expected(f), ours, _in(f.u, f.unit), said))
    return table(("", "source", "expected", "ours", "u", "verdict"), rows, (2, 3, 4)) if rows else ""


# --- figures


def _present(v: Verification, names: Sequence[str]) -> list[tuple[str, Steady]]:
    return [(name, v.steady[name]) for name in names if name in v.steady]


def _forces(v: Verification, title: str, names: Sequence[str], source: str) -> str:
    runs = _present(v, names)
    if not runs:
        return ""
    with drawing(3, 2, 1.75, f"forces-{title.replace(' ', '-').replace(',', '').replace('=', '')}") as (grid, shown):
        for ax, name in zip(grid.T.ravel(), FORCES, strict=True):
            over_sections(ax, labels=ax in grid[-1])
            ax.axhline(0.0, color=GREY, lw=0.8)
            c, one = runs[0][1].element[:, 0], force(name, runs[0][1].element[:, 1:].T)
            cut = np.flatnonzero(np.diff(c) < -0.5) + 1
            ax.plot(np.insert(c, cut, np.nan), np.insert(one, cut, np.nan), color=METAL, lw=0.7, zorder=1)
            for k, (run, s) in enumerate(runs):
                look = {"color": COLOURS[k], "lw": 1.1 if k else 1.7, "zorder": 3 - 0.1 * k}
                ax.plot(_C, force(name, s.last.profile), label=run, **look)
            ax.set(title=name, ylabel="N")
        grid[0, 1].legend(loc="best", fontsize=8.5)
    caption = (
        f"{title} ({source}). Grey: one element. Normal force and friction on one flank. Longitudinal friction on the "
        "pulley and, of the ring, on the element, positive in the direction of travel; radial friction on the element, "
        "positive outwards."
    )
    return f"<h3>{text(title)}</h3>\n" + shown(caption)


def _thrusts(v: Verification, name: str) -> tuple[float, float | None]:
    """Thrust ratio of a run, mean of its starts, and u if there are several."""
    values = v.values(name, lambda w: w.thrust)
    return float(values.mean()), band(values) if len(values) > 1 else None


def _thrust(v: Verification) -> str:
    rows, series = [], []
    for case in ("OD-KpKs", "MED"):
        c = v.parameters.get_case(case)
        found = [(xi, M, f"{case}-{k}") for k, (xi, M) in enumerate(zip(c.xi, c.M_O, strict=True))]
        kept = [at for at in found if at[2] in v.starts]
        series.append((case, [xi for xi, _, _ in kept], [_thrusts(v, name)[0] for _, _, name in kept]))
        rows += [
            (case, number(xi), number(M), *map(number, _thrusts(v, name)), percent(v.drift(name)),
             percent(float(v.values(name, lambda w: w.slip).mean())))
            for xi, M, name in kept
        ]  # fmt: skip
    if not rows:
        return ""
    with drawing(1, 1, 2.8, "thrust") as (grid, shown):
        ax = grid[0, 0]
        for k, (case, x, y) in enumerate(series):
            ax.plot(x, y, "o-", color=COLOURS[k], label=case, lw=1.4, ms=4)
        ax.set(xlabel="torque ratio", ylabel="thrust ratio")
        ax.legend()
    return (
        "<p>The source prints these curves as figures without numbers and calls the agreement with measurements very "
        "good; there is no number to compare with.</p>\n"
        + shown("Thrust ratio over torque ratio, unilateral, coupled.")
        + table(("case", "torque ratio", "M_O [N·m]", "thrust ratio", "u", "drift", "slip"), rows, (1, 2, 3, 4, 5, 6))
    )


def _spiral(v: Verification) -> str:
    groups = [
        ("OD-SpiRun", [f"OD-SpiRun-{k}" for k in range(4)] + ["OD-SpiRun-0-decoupled", "OD-SpiRun-2-decoupled"]),
        ("LOW-SpiRun", [f"LOW-SpiRun-{k}" for k in range(4)] + ["LOW-SpiRun-2-decoupled"]),
    ]
    parts = []
    for case, names in groups:
        runs = _present(v, names)
        if not runs:
            continue
        xi = v.parameters.get_case(case).xi
        with drawing(1, 2, 2.6, case) as (grid, shown):
            for ax, where, pulley in ((grid[0, 0], PRIMARY, 0), (grid[0, 1], SECONDARY, 1)):
                for name, s in runs:
                    k = int(name.split("-")[2])
                    decoupled = name.endswith("decoupled")
                    angle = np.degrees(s.wrap[pulley]) * (np.arange(BINS) + 0.5) / BINS
                    label = f"xi = {xi[k]:g}" + (", decoupled" if decoupled else "")
                    style = (0, (4, 2)) if decoupled else "-"
                    ax.plot(angle, 1e3 * section(s.last, "ring_height", where), color=COLOURS[k], ls=style, label=label)
                ax.set(title=SECTIONS[where], xlabel="angle from the entry [deg]")
                ax.tick_params(labelbottom=True)
                ax.set_ylabel("radius of the ring's top [mm]")
            grid[0, 0].legend()
            grid[0, 0].set_xlim(auto=True)
        parts.append(shown(f"{case}, unilateral; dashed: decoupled law."))
    return "".join(parts)


def _endplay(v: Verification) -> str:
    parts = []
    for title, names in (
        ("taper, OD", ("OD", "OD-taper5", "OD-taper8")),
        ("taper, LOW", ("LOW", "LOW-taper5", "LOW-taper8")),
        ("real elements, OD", ("OD-431", "OD", "OD-433")),
    ):
        runs = _present(v, names)
        if not runs:
            continue
        base = runs[0][1].last.endplay[1]
        rows = []
        for name, s in runs:
            edge, top = s.last.endplay
            lengths = number(1e3 * edge, 3), number(1e3 * top, 4), number(1e6 * (top - base), 3)
            push = float(np.mean(push_force(s.last, PUSH)))
            rows.append((name, *lengths, number(push, 3), *map(number, _thrusts(v, name))))
        head = (title, "rocking edge [mm]", "top [mm]", "top, change [µm]", "push force [N]", "thrust ratio", "u")
        parts.append(table(head, rows, range(1, 7)))
    about = (
        "<p>Endplay is the sum of the open gaps at the rocking edges or at the tops; at the tops it includes the angle "
        "between neighbours on the arcs, 2π times the height from rocking edge to top, which does not change.</p>\n"
    )
    return about + "".join(parts) if parts else ""


def _cost(v: Verification) -> str:
    rows = [(name, number(us, 3), number(spread, 2)) for name, (us, spread) in v.step_us.items()]
    return (
        "<p>Processor time of a step, in turn in one process, smallest of seven; the ratios are among the signatures. "
        "The nine times of the hybrid over the spatial model (section 7.1.4) needs the spatial model and is not "
        "measured here.</p>\n" + table(("run", "µs", "spread"), rows, (1, 2))
    )


def _convergence(v: Verification) -> str:
    rows = []
    for name, (k, error) in discretisation(v).items():
        changed = (f"{number(k[key], 5)} ({100.0 * (k[key] / k[''] - 1.0):+.1f} %)" for key in REFINED)
        rows.append((name, number(k[""], 5), *changed, percent(error)))
    refined = ("half step", "52 nodes", "156 nodes", "110 elements", "all elements")
    head = ("thrust ratio", "220, 104, 1 µs", *refined, "error")
    return (
        "<p>220 elements, 104 ring nodes and a step of 1 µs are changed one at a time (156 nodes and all elements with "
        "2/3 of the step). The error is the sum of the changes by the half step, 156 nodes and all elements.</p>\n"
        + (table(head, rows, range(1, 8)) if rows else "")
    )


def _runs(v: Verification) -> str:
    rows = []
    for name, k, s in ((name, k, s) for name, of in v.starts.items() for k, s in enumerate(of)):
        rest, lost, through = s.last.energy
        largest = int(np.argmax(s.last.losses))
        rows.append(
            (
                f"{name}, {k + 1}",
                f"{number(s.last.t1 - s.last.t0, 3)}",
                number(s.last.thrust),
                percent(s.drift),
                number(s.last.torque),
                percent(s.last.slip),
                percent(abs(rest) / through),
                percent(abs(rest) / lost),
                percent(lost / through),
                f"{LOSSES[largest]} {percent(s.last.losses[largest] / lost)}",
                *(number(float(np.max(np.abs(of))), 2) for of in np.hsplit(s.last.balance, 2)),
            )
        )
    head = (
        "run, start", "revolution [s]", "thrust ratio", "drift", "M_O [N·m]", "slip", "energy error / throughput",
        "/ loss", "loss / throughput", "largest loss", "momentum error", "of tilts",
    )  # fmt: skip
    return (
        table(head, rows, (1, 2, 3, 4, 5, 6, 7, 8, 10, 11))
        + "<p>Drift: change of the thrust ratio from the revolution before. Slip: 1 − i ω_O/ω_I with the ratio i at "
        "the rocking edges. Throughput: the larger power of the two shafts. Momentum error: what the "
        "axial forces, torques and tilting moments of a sheave leave over after inertia, damper and guide, relative "
        "to those of the belt; the tilts, which vibrate, are known at plot steps only.</p>\n"
    )
