"""Report of a variator's check: hybrid and rigid model against held-out runs of the full model, as one HTML page.

Full model coloured, hybrid model red and dashed on top, rigid model grey and dotted.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from rtcvt.html import COLOURS, number, percent, quantity, share_bar, table, text
from rtcvt.look import GREY, INK, RIGID
from rtcvt.offline.pictures import drawing, mark, note_right, over_sections, report, thin, under, verdict
from rtcvt.offline.pushbelt.run.snapshots import CELLS
from rtcvt.offline.pushbelt.run.windows import SLIPPING, STEADY
from rtcvt.offline.pushbelt.unit.parameters import is_belt_of
from rtcvt.offline.variator.check import LOADED, MODELS, Branched, Check, Field, Figure, Settled, nrmse, quadratic

Array = NDArray[np.float64]

MAX_DRAWN_ERROR = 6.0  # multiple of the allowed error: larger errors are drawn there
_HYBRID = RIGID
PARTS = {
    "full": "scatter of the full model itself",
    "laws": "regression of the laws",
    "structure": "structure of the model",
    "inserted": "hybrid model with the full model's own thrust ratio at the start",
    "at its ratio": "hybrid model, scaled to the full model's ratio",
    "projection": "modes that were left out",
}


def report_page(check: Check, planar: Check | None = None) -> str:
    """The report as a self-contained HTML page; `planar`: errors of the planar laws, listed at the end."""
    title = f"{check.about.get('unit', check.heldout.unit)}: hybrid and rigid against full model"
    transient = sum(s.held.transient for s in check.settled)
    others = "" if "runs" in check.about else " that the reduced model was not made from"
    lead = f"{len(check.heldout.runs)} runs of the full model{others}: "
    lead += f"{len(check.settled) - transient} operating points with force steps and {transient} transients."
    parts = [
        _verdict(check),
        f"<p>The full model has errors of its own, which come on top. {_estimates(check)} Both sides are the belt "
        "alone, without bearings, seals and oil (docs/validation.md).</p>\n",
        _unsettled(check),
        under("errors", f"Errors and their parts: {_of(check)}", _errors(check.figures), _strata(check)),
        *(under("planar", f"Errors of {_of(c)}", _errors(c.figures)) for c in (planar,) if c is not None),
        under("states", "Settled states", _states(check.settled)),
        under("steps", "Force steps", _steps([b for b in check.branched if not b.held.transient and not b.slipping])),
        under("transients", "Transients", _transients([b for b in check.branched if b.held.transient])),
        under("fields", "Flank normal force", _fields([f for f in check.fields if not f.slipping])),
        under("runs", "Runs", _runs(check.settled)),
        under("method", "How it was computed", _method(check)),
    ]
    return report(title, lead, parts)


def _estimates(check: Check) -> str:
    """Knowledge of the full model's own parameters."""
    unit = check.heldout.unit
    if is_belt_of(unit, check.heldout.parameters.get("belt", {})):
        return f"Most stiffnesses, dampings and frictions of {text(unit)} are estimates (docs/identification.md)."
    return f"Stiffnesses, dampings and frictions of {text(unit)} that were not measured are estimates."


# --- summary


def _amount(f: Figure, value: float) -> str:
    if not np.isfinite(value):
        return "–"
    return f"{number(100.0 * value, 3)}{'' if f.points else ' %'}"


def _verdict(check: Check) -> str:
    judged = [f for f in check.figures if f.reached is not None]
    missed = [f for f in judged if not f.reached]
    return verdict(
        [_missed(f) for f in missed],
        f"the hybrid model keeps all {len(judged)} limits.",
        f"the hybrid model misses {len(missed)} of {len(judged)} limits.",
    )


def _of(check: Check) -> str:
    what = (
        "shipped model against the spatial belt" if check.belt == "spatial" else "planar laws against the planar belt"
    )
    return f"{what}, {check.runs} runs"


def _strata(check: Check) -> str:
    names = [*next(iter(check.strata.values()), {})]
    rows = [
        (text(part), str(row["states"]), *(number(100.0 * row[k], 3) for k in names[1:]))
        for part, row in check.strata.items()
    ]
    return table(("settled states of the hybrid model, %", *names), rows, range(1, 1 + len(names))) if rows else ""


def _unsettled(check: Check) -> str:
    if not check.unsettled:
        return ""
    names = ", ".join(check.unsettled)
    return f"<p>Runs of the full model that do not settle, with nothing to compare: {text(names)}.</p>\n"


def _missed(f: Figure) -> str:
    assert f.limit is not None
    unit = " points" if f.points else ""
    run, worst = f.worst["hybrid"]
    return (
        f"{text(f.name)}, {f.statistic}: {_amount(f, f.value['hybrid'])}{unit}, allowed {_amount(f, f.limit)}{unit}; "
        f"mostly: {text(f.cause)}. {f.within[0]} of {f.within[1]} keep the limit by themselves, the worst is "
        f"{text(run)} with {_amount(f, abs(worst))}{unit}"
    )


def _errors(figures: Sequence[Figure]) -> str:
    rows = []
    for f in figures:
        if not np.isfinite([*f.value.values()]).any():
            continue
        unit = " [points]" if f.points else ""
        hybrid = f.value.get("hybrid", np.nan)
        shown, bar = _amount(f, hybrid), ""
        if f.limit is not None and np.isfinite(hybrid):
            shown = shown if f.reached else mark(False, shown)
            bar = share_bar(hybrid / f.limit, bool(f.reached))
        parts = "<br/>".join(f"{text(PARTS[k])}: {_amount(f, v)}" for k, v in f.parts.items() if np.isfinite(v))
        worst = f"{text(f.worst['hybrid'][0])}: {_amount(f, abs(f.worst['hybrid'][1]))}" if "hybrid" in f.worst else ""
        rows.append((
            f"{text(f.name)}{unit}<br/><span class='muted'>{text(f.statistic)} of {f.within[1]}</span>",
            shown, bar, "" if f.limit is None else _amount(f, f.limit), _amount(f, f.value.get("rigid", np.nan)),
            f"<span class='muted'>{parts}</span>", worst,
        ))  # fmt: skip
    parts_of = "parts of the hybrid model's error"
    head = ("", "hybrid", "share of the allowed error", "allowed", "rigid", parts_of, "worst")
    return (
        "<p>The allowed errors are those of the hybrid model; the rigid model has neither slip nor elastic belt. "
        "Parts are measured one by one and do not add up.</p>\n" + table(head, rows, (1, 3, 4))
    )


# --- settled states


def _states(settled: Sequence[Settled]) -> str:
    used = [s for s in settled if abs(s.values["full"]["slip"]) <= SLIPPING]
    if not used:
        return "<p>None.</p>\n"
    xi = np.array([s.values["full"]["xi"] for s in used])

    def of(source: str, key: str) -> Array:
        return np.array([s.values[source].get(key, np.nan) for s in used])

    def against(ax: Axes, error: Callable[[str], Array], limits: Sequence[float], where: NDArray[np.bool_]) -> None:
        for source, colour, marker, size in (
            ("before", GREY, "x", 14), ("laws", COLOURS[0], "o", 20), ("hybrid", _HYBRID, "+", 36),
        ):  # fmt: skip
            label = {"before": "full, window before", "laws": "laws alone"}.get(source, source)
            filled: dict[str, Any] = (
                {"facecolors": "none", "edgecolors": colour} if marker == "o" else {"color": colour}
            )
            ax.scatter(xi[where], error(source)[where], s=size, marker=marker, lw=1.1, label=label, **filled)
        for limit in limits:
            for sign in (-1.0, 1.0):
                ax.axhline(sign * limit, color=INK, lw=0.8, ls=(0, (4, 3)))
        ax.axhline(0.0, color=GREY, lw=0.8)

    everywhere = np.ones(len(used), dtype=bool)
    loaded = np.abs(xi) >= LOADED
    panels: tuple[tuple[str, str, Callable[[str], Array], Sequence[float], NDArray[np.bool_]], ...] = (
        ("thrust ratio, error", "%", lambda k: 100.0 * (of(k, "thrust_ratio") / of("full", "thrust_ratio") - 1.0),
         (2.0, 5.0), everywhere),
        ("slip, error", "points", lambda k: 100.0 * (of(k, "slip") - of("full", "slip")), (0.1,), everywhere),
        ("efficiency, error", "points", lambda k: 100.0 * (of(k, "efficiency") - of("full", "efficiency")), (0.5,),
         loaded),
    )  # fmt: skip
    with drawing(3, 2, 1.75, "states") as (grid, shown):
        for row, (title, unit, error, limits, where) in enumerate(panels):
            key = title.split(",")[0].replace(" ", "_")
            ax = grid[row, 0]
            scale = 1.0 if key == "thrust_ratio" else 100.0
            ax.scatter(xi[where], scale * of("full", key)[where], s=20, color=COLOURS[0], label="full")
            ax.scatter(xi[where], scale * of("hybrid", key)[where], s=36, color=_HYBRID, marker="+", label="hybrid")
            if key != "slip":
                ax.scatter(xi[where], scale * of("rigid", key)[where], s=14, color=GREY, marker=".", label="rigid")
            ax.set(title=title.split(",")[0], ylabel="" if key == "thrust_ratio" else "%")
            against(grid[row, 1], error, limits, where)
            grid[row, 1].set(title=title, ylabel=unit)
            if row == 0:
                for a in grid[0]:
                    a.legend(
                        loc="lower right", bbox_to_anchor=(1.0, 0.97), ncol=3, fontsize=8,
                        columnspacing=0.8, handletextpad=0.1, borderaxespad=0.2,
                    )  # fmt: skip
        for ax in grid[-1]:
            ax.set_xlabel("torque ratio of the secondary")
            ax.tick_params(labelbottom=True)
    return shown(
        "Dashed: allowed errors, for the quadratic mean and, outer lines, for the largest. Errors of more than "
        f"{number(MAX_DRAWN_ERROR)} times that are drawn at the border."
    )  # fmt: skip


# --- force steps and transients


def _steps(branches: Sequence[Branched]) -> str:
    if not branches:
        return "<p>None.</p>\n"
    with drawing(1, 2, 2.9, "steps", shared=False) as (grid, shown):
        for source, colour, marker in (
            ("laws", COLOURS[0], "o"),
            ("hybrid", _HYBRID, "+"),
            ("inserted", COLOURS[2], "x"),
        ):
            full, ours, y = [], [], []
            for b in branches:
                r = b.full["ratio"]
                full.append(100.0 * (r[-1] / r[0] - 1.0))
                own = b.traces[source]["ratio"]
                ours.append(100.0 * (own[-1] / own[0] - 1.0))
                y.append(b.full["F_I"][-1] / b.full["F_I"][0])
            filled: dict[str, Any] = (
                {"facecolors": "none", "edgecolors": colour} if marker == "o" else {"color": colour}
            )
            label = {"laws": "laws along its path", "inserted": "hybrid, its thrust ratio inserted"}.get(source, source)
            grid[0, 0].scatter(full, ours, s=18, marker=marker, lw=1.0, label=label, **filled)
            grid[0, 1].scatter(y, np.array(ours) - np.array(full), s=18, marker=marker, lw=1.0, **filled)
        bounds = [min(full), max(full)]
        grid[0, 0].plot(bounds, bounds, color=GREY, lw=0.8)
        grid[0, 0].set(xlabel="full model [%]", ylabel="reduced [%]", title="change of the ratio in a force step")
        grid[0, 0].legend()
        grid[0, 1].set(xlabel="force factor", ylabel="points", title="error of the change")
        for ax in grid[0]:
            ax.tick_params(labelbottom=True)
    return shown("Each operating point has force steps of about a revolution from its settled state.")


def _transients(branches: Sequence[Branched]) -> str:
    if not branches:
        return "<p>None.</p>\n"
    panels = (("ratio", "ratio", "", 1.0), ("secondary speed", "omega_O", "rpm", 30.0 / np.pi),
              ("primary torque", "tau_I", "N·m", 1.0))  # fmt: skip
    parts = []
    rows = []
    for b in branches:
        full = b.full
        time = full["time"]
        held = b.held
        with drawing(2, 2, 1.45, held.run.name) as (grid, shown):
            grid[0, 0].figure.subplots_adjust(wspace=0.32)  # two scales in between
            ax = grid[0, 0]
            for key, label, colour in (("F_I", "F_I", COLOURS[0]), ("F_O", "F_O", COLOURS[1])):
                ax.plot(time, 1e-3 * full[key], color=colour, label=label, lw=1.5)
            ax.set_ylabel("kN")
            load = ax.twinx()
            load.plot(time, full["tau_O"], color=GREY, lw=1.2, ls=(0, (1, 1)))
            load.grid(visible=False)
            ax.set_title("given")
            note_right(ax, "right, dotted: load torque [N·m]")
            ax.legend()
            for ax, (title, key, unit, factor) in zip((grid[0, 1], grid[1, 0], grid[1, 1]), panels, strict=True):
                for source, values, look in (
                    ("full", full[key], {"color": COLOURS[0], "lw": 1.9}),
                    ("rigid", b.traces["rigid"][key], {"color": GREY, "lw": 1.1, "ls": (0, (1, 1))}),
                    ("hybrid", b.traces["hybrid"][key], {"color": _HYBRID, "lw": 1.1, "ls": (0, (4, 3))}),
                ):
                    t, v = thin(time, factor * values, 150)
                    ax.plot(t, v, label=source, **look)
                ax.set(title=title, ylabel=unit)
            grid[0, 1].legend()
            for ax in grid[-1]:
                ax.set_xlabel("time [s]")
                ax.tick_params(labelbottom=True)
        own = [nrmse(b.traces["hybrid"][key], full[key]) for _, key, _, _ in panels]
        torque = quadratic(b.traces["hybrid"]["tau_I"] - full["tau_I"])
        at = {k: float(values[STEADY]) for k, values in held.summary.items()}
        outside = float(np.mean(b.traces["hybrid"]["outside"] > 0.5))
        said = ["full model slips macroscopically: not counted"] if b.slipping else []
        said += [f"{percent(outside)} of the time outside the data"] if outside > 0.0 else []
        rows.append((text(held.run.name), *(percent(e) for e in own), number(torque, 2), "; ".join(said)))
        parts.append(shown(
            f"{text(held.run.name)}: ratio {number(at['ratio'], 3)}, {number(at['omega_I'] * 30.0 / np.pi, 4)} rpm, "
            f"torque ratio {number(at['xi'], 2)}, {number(1e-3 * at['F_O'], 3)} kN at the start."
        ))  # fmt: skip
    head = ("hybrid, RMS error by RMS", *(title for title, *_ in panels), "error of the torque [N·m]", "")
    return table(head, rows, (1, 2, 3, 4)) + "".join(parts)


# --- fields


def _fields(fields: Sequence[Field]) -> str:
    if not fields:
        return "<p>None.</p>\n"
    order = sorted(fields, key=lambda f: nrmse(f.fields["hybrid"], f.fields["full"]))
    chosen = [order[k] for k in np.unique(np.linspace(0, len(order) - 1, min(6, len(order))).astype(int))]
    place = (np.arange(4 * CELLS) + 0.5) / CELLS
    with drawing((len(chosen) + 1) // 2, 2, 1.75, "flank-normal") as (grid, shown):
        for ax, f in zip(grid.ravel(), chosen, strict=False):
            ax.plot(place, 1e-3 * f.fields["full"], color=COLOURS[0], lw=1.7, label="full")
            ax.plot(place, 1e-3 * f.fields["laws"], color=COLOURS[2], lw=0.9, label="regression")
            ax.plot(place, 1e-3 * f.fields["hybrid"], color=_HYBRID, lw=1.1, ls=(0, (4, 3)), label="hybrid")
            point = f.passage.point
            ax.set_title(f"{f.held.run.name}: i = {point['ratio']:.2f}, xi = {point['xi']:.2f}", fontsize=9)
            error = nrmse(f.fields["hybrid"], f.fields["full"])
            note_right(ax, f"{100.0 * error:.1f} %")
            ax.set_ylabel("kN/m")
            over_sections(ax, labels=f in chosen[-2:])
        grid[0, 0].legend()
        for ax in grid.ravel()[len(chosen) :]:
            ax.set_axis_off()
    return shown(
        f"Normal force on one flank per length of belt, mean of a passage. Of {len(fields)} passages, from the one "
        "with the smallest to the one with the largest error."
    )  # fmt: skip


# --- tables


def _runs(settled: Sequence[Settled]) -> str:
    rows = []
    for s in settled:
        v, omega_I, F_O = s.values, *(float(s.held.summary[k][STEADY]) for k in ("omega_I", "F_O"))
        slips = np.abs(s.held.summary["slip"]) > SLIPPING
        said = ["full model slips"] if slips[STEADY] else []
        said += [f"slips in {slips[2:].sum()} of {len(slips) - 2} branches"] if slips[2:].any() else []
        said += ["hybrid slips"] if v["hybrid"].get("macro_slip") else []
        said += ["outside the data"] if v["hybrid"].get("outside") else []
        rows.append((
            text(s.held.run.name), number(v["full"]["ratio"], 3), number(omega_I * 30.0 / np.pi, 4),
            number(v["full"]["xi"], 2), number(1e-3 * F_O, 3),
            *(number(v[k]["thrust_ratio"], 4) for k in ("full", "hybrid", "rigid")),
            *(number(100.0 * v[k]["slip"], 3) for k in ("full", "hybrid")),
            *(number(100.0 * v[k]["efficiency"], 4) for k in ("full", "hybrid", "rigid")),
            ", ".join(said),
        ))  # fmt: skip
    head = (
        "run", "ratio", "rpm", "torque ratio", "F_O [kN]", "thrust ratio, full", "hybrid", "rigid", "slip [%], full",
        "hybrid", "efficiency [%], full", "hybrid", "rigid", "",
    )  # fmt: skip
    return table(head, rows, range(1, 13))


def _method(check: Check) -> str:
    a = check.heldout.attributes
    rows = [(text(k), text(str(v))) for k, v in check.about.items() if k != "unit" and v is not None]
    rows += [
        ("held-out runs", f"made {text(str(a.get('created', '')))}, revision {text(str(a.get('revision', '')))}"),
        ("step of the reduced models", quantity(check.step, "s", "ms")),
        ("models", text(", ".join(MODELS))),
    ]
    return (
        "<p>All models get the full model's boundary values: speed of the primary, clamping forces, load torque. While "
        "it settles the full model's primary is at its end stop; the reduced models keep the same ratio by their "
        "ratio control, and their force is the one of a constant ratio. Settled states are means over "
        "whole revolutions. "
        "Transients are compared by the RMS of the difference over the RMS of the full model's signal; since a ratio "
        "never comes near zero, its error is also given relative to how far it moved, and that of the primary torque, "
        "which may be near zero, relative to its capacity, the largest torque by the clamping of the secondary. The "
        "flank normal force is compared cell by cell, 64 on each arc. Efficiency is compared where the torque ratio is "
        f"at least {number(LOADED)}; below, next to no power is carried. States in which the full model slips by more "
        f"than {percent(SLIPPING)} are listed only.</p>\n" + table(("", ""), rows) + f"<h3>Plan of the runs</h3>\n<pre>"
        f"{text(check.heldout.plan)}</pre>\n"
    )
