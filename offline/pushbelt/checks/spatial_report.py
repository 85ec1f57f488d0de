"""Report on the spatial belt against the hybrid one, as one HTML page; its contents are described in
`checks.spatial`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rtcvt.html import COLOURS, number, percent, table, text
from rtcvt.kind import Checked, Progress
from rtcvt.offline.pictures import cards, drawing, limit_table, mark, over_sections, report, under, verdict
from rtcvt.offline.pushbelt.checks.spatial import (
    ENDS,
    OFFSETS,
    PLANAR,
    POINT,
    RATIOS,
    Across,
    Phenomenon,
    Result,
    mean_profile,
    verify,
)
from rtcvt.offline.pushbelt.run.profiles import BINS, FORCES
from rtcvt.offline.pushbelt.unit.parameters import Parameters

_CELLS = np.arange(96) / 24 + 1 / 48
_SCALE = {"m": (1e6, "µm"), "N.m": (1.0, "N·m"), "N2": (1.0, "N²"), "1": (1.0, "")}


def check(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Checked:
    """The spatial belt against the hybrid one."""
    report: Path = given["report"]
    result = verify(parameters, report.with_name(f"{report.stem}_runs"), progress=progress)
    lines = [f"{n} {quantities}" for n, quantities in _counts(result)]
    lines += [f"{c.about}: {c.value:.3g} {c.unit}" for c in result.claims if not c.needed]
    return Checked(report_page(result), result.figures(), lines, result.failures)


def _counts(v: Result) -> list[tuple[str, str]]:
    """How many planar quantities of each belt have each verdict."""
    counts = Counter((p.group.rpartition("-")[2], p.verdict) for p in v.phenomena)
    return [(str(n), f"planar quantities, {belt} belt: {said}") for (belt, said), n in counts.items()]


def report_page(v: Result) -> str:
    """The report as a self-contained HTML page. Tables and figures whose runs are missing are left out."""
    title = f"{v.parameters.name}: the spatial belt against the hybrid one"
    at = f"primary {POINT['omega_I']:g} rad/s, torque ratio {POINT['xi']:g}, secondary {POINT['F_O']:g} N"
    parts = [
        _verdict(v),
        _claims(v),
        under("line", "In line: between mirrored sheaves", _groups(v, "mirrored"), _growth(v), always=True),
        under(
            "planar",
            "Planar phenomena: between loose and fixed sheaves, crosswise",
            "<p>Means of the last two of four revolutions. Hybrid: two runs from steps that differ by 2.5 %; their "
            "scatter is the range of their four revolutions. A quantity agrees if the spatial belt differs by no more."
            "</p>\n",
            _groups(v, "spatial"),
            *(_forces(v, name) for name in PLANAR),
        ),
        under("alignment", "Out of line", f"<p>Ratio held, {at}; the last of four revolutions.</p>\n", _alignment(v)),
        under("rings", "Rings: tracking, left and right", _rings(v)),
        under("cost", "Cost of a step", _cost(v)),
        under("runs", "Energy", _energy(v)),
    ]
    return report(title, v.parameters.description, parts)


def _verdict(v: Result) -> str:
    failed = f"{len(v.failures)} requirements of runs are violated."
    return verdict([text(f) for f in v.failures], f"equality in line, energy of all {len(v.energy)} runs.", failed)


def _claims(v: Result) -> str:
    return cards(_counts(v)) + limit_table(c for c in v.claims if c.scenario != "energy")


def _groups(v: Result, belt: str) -> str:
    parts = []
    for name in PLANAR:
        found = [p for p in v.phenomena if p.group == f"{name}-{belt}"]
        if not found:
            continue
        agree = sum(p.verdict == "agrees" for p in found)
        parts.append(f"<h3>{text(name)}: {text(PLANAR[name][4])}; {agree} of {len(found)} agree</h3>\n")
        parts.append(
            table(("", "hybrid", "spatial", "difference", "scatter", ""), [_row(p) for p in found], (1, 2, 3, 4))
        )
        rows = [(text(force), percent(d), percent(own)) for force, (d, own) in v.profiles(name, belt).items()]
        head = ("profile, RMS over its largest value", "spatial from hybrid", "hybrid from kicked")
        parts.append(table(head, rows, (1, 2)))
    return "".join(parts)


def _row(p: Phenomenon) -> Sequence[str]:
    scale, unit = _SCALE.get(p.unit, (1.0, p.unit))
    values = (p.hybrid, p.spatial, p.spatial - p.hybrid, p.scatter)
    shown = [number(scale * x) for x in values]
    return (
        text(f"{p.quantity} {unit and f'[{unit}]'}"),
        *shown,
        mark({"agrees": True, "differs": False}.get(p.verdict), p.verdict),
    )


def _growth(v: Result) -> str:
    if not v.growth:
        return ""
    rows = [(number(1e3 * t), f"{yaw:.1e}") for t, yaw in zip(v.growth["time"], v.growth["yaw"], strict=True)]
    return (
        "<p>A disturbance of 1e-9 m and 1e-7 rad across the plane: it grows in the slack strand, where elements are "
        "loose, until the play of the rings bounds it; planar disturbances of the hybrid belt grow equally.</p>\n"
        + table(("time [ms]", "RMS of yaw [rad]"), rows, (0, 1))
    )


def _forces(v: Result, name: str) -> str:
    runs = [(s, v.steady[f"{name}-{s}"]) for s in ("hybrid", "kicked", "spatial") if f"{name}-{s}" in v.steady]
    if len(runs) < 3:
        return ""
    place = (np.arange(4 * BINS) + 0.5) / BINS
    with drawing(3, 2, 1.75, f"forces-{name}") as (grid, shown):
        for ax, force in zip(grid.ravel(), FORCES, strict=True):
            over_sections(ax)
            for (label, s), colour in zip(runs, (COLOURS[0], "#9fb8d6", COLOURS[1]), strict=True):
                ax.plot(place, mean_profile(force, (s,)), color=colour, label=label, lw=1.3)
            ax.set(title=force, ylabel="N")
        grid[0, 1].legend(loc="best", fontsize=8.5)
    return shown(f"{name}: contact forces of an element, on one flank, mean of two revolutions.")


def _alignment(v: Result) -> str:
    parts = []
    for ratio in RATIOS:
        runs = [(c, v.across[k]) for c in OFFSETS if (k := f"{ratio:g}-{1e3 * c:+.2f}mm") in v.across]
        if not runs:
            continue
        rows = [(number(1e3 * c, 3), *_point_row(a)) for c, a in runs]
        natural = v.across.get(f"{ratio:g}-natural-free")
        about = "" if natural is None else f"; as built the belt is {1e3 * natural.place:.2f} mm out of line"
        parts.append(f"<h3>Ratio {ratio:g}{about}</h3>\n")
        head = ("wanted [mm]", "found [mm]", f"force [N] at {', '.join(ENDS)}", "99 % of it [N]", "yaw there [mrad]",
                "thrust ratio", "losses [W]", "efficiency")  # fmt: skip
        parts.append(table(head, rows, (0, 1, 5, 6, 7)))
        with drawing(3, 1, 1.6, f"across-{ratio:g}".replace(".", "_")) as (grid, shown):
            titles = ("lateral force of the two flanks [N]", "yaw [mrad]", "z [mm]")
            for ax, title, row, scale in zip(grid[:, 0], titles, range(3), (1.0, 1e3, 1e3), strict=True):
                over_sections(ax)
                for colour, (c, a) in zip(COLOURS, runs, strict=False):
                    ax.plot(_CELLS, scale * a.cells[row], color=colour, label=f"{1e3 * c:+.2f} mm", lw=1.2)
                ax.set_ylabel(title, fontsize=8)
            grid[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8.5)
        parts.append(shown(f"Ratio {ratio:g}: belt on the primary against the secondary."))
    return "".join(parts)


def _point_row(a: Across) -> Sequence[str]:
    lists = (", ".join(number(x, 3) for x in values) for values in (a.force, a.peak, 1e3 * a.yaw))
    return number(1e3 * a.place, 3), *lists, number(a.thrust), number(a.loss, 3), percent(a.efficiency)


def _rings(v: Result) -> str:
    rows = []
    for name, a in v.across.items():
        sides = [
            f"{number(1e3 * a.room[k, 0], 3)}, {number(1e3 * a.room[k, 1], 3)}, {number(a.pillar[k], 3)}, "
            f"{number(a.hold[k], 3)}, {number(a.press[k], 4)}, {number(a.rub[k], 3)}"
            for k in range(2)
        ]
        rows.append((text(name), *sides))
    what = "room to pillar, to sheave [mm], largest force of pillar, of tracking, mean of saddle, RMS of friction [N]"
    return (
        f"<p>Each side: {what}. A negative room: the ring overlaps. Free: without tracking; natural: offset as built."
        "</p>\n" + table(("ratio, place", "left", "right"), rows)
    )


def _cost(v: Result) -> str:
    rows = [(text(name), number(us, 3)) for name, us in v.cost.items()]
    about = (
        "<p>Processor time of a step with two contact points on a flank, in turn in one process, smallest of seven.</p>"
    )
    return about + "\n" + table(("", "µs"), rows, (1,)) if rows else ""


def _energy(v: Result) -> str:
    return limit_table(c for c in v.claims if c.scenario == "energy")
