"""Report of a reduction as one self-contained HTML page: laws against their data, modes, and errors."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.html import COLOURS, number, percent, table, text
from rtcvt.look import GREY, RIGID
from rtcvt.offline.pictures import cards, drawing, note_right, over_sections, report, under
from rtcvt.offline.pushbelt.run.snapshots import CELLS
from rtcvt.offline.pushbelt.run.windows import F_REF
from rtcvt.offline.variator.fields import KEPT
from rtcvt.offline.variator.pod import modes_for, projection_error, stacked
from rtcvt.offline.variator.reduction import Reduction, figures_of
from rtcvt.recording import write_text
from rtcvt.variator.capacity import capacity

Array = NDArray[np.float64]
NEAR = 0.25  # of the logarithm of the ratio: states that show where a law has data
_SHOWN = ("flank_normal", "flank_longitudinal", "flank_radial", "push", "ring_normal", "tension")
_LABEL = {
    "zeta": "thrust ratio", "k": "shift coefficient k", "e": "elastic speed loss e", "c": "creep c",
    "lambda": "loss λ", "thrust": "thrust ratio", "slip": "speed loss", "efficiency": "efficiency",
    "shift": "shift rate", "repeat.thrust": "thrust ratio, scatter of the full model",
    "repeat.slip": "speed loss, scatter of the full model",
}  # fmt: skip


def write_reduction_report(reduction: Reduction, heldout: Mapping[str, float], path: Path) -> None:
    """Write the report; `heldout`: the errors on other runs, if any.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    write_text(path, reduction_page(reduction, heldout))


def reduction_page(reduction: Reduction, heldout: Mapping[str, float]) -> str:
    """The report as a page."""
    found = figures_of(reduction)
    title = f"{reduction.model.name}: reduction of a campaign"
    lead = f"{found['runs']} runs, {found['windows']} windows. "
    lead += "Cross-validated errors are those of runs that had no part in the weights."
    parts = [
        _cards(found, heldout),
        under("laws", "Laws", _laws(found), _law_pictures(reduction, found["laws"]), _shift_pictures(reduction)),
        under("fields", "Fields", _fields(reduction, found), _mode_pictures(reduction), _field_pictures(reduction)),
        under("heldout", "Held-out runs", _heldout(heldout) if heldout else ""),
        under(
            "left-out", "Left out", table(("", "data"), [(text(k), str(v)) for k, v in found["dropped"].items()], (1,))
        ),
    ]
    return report(title, lead, parts)


def _cards(found: Mapping[str, dict[str, dict[str, float]]], heldout: Mapping[str, float]) -> str:
    shown = [
        (percent(found["laws"]["zeta"]["rms"]), "thrust ratio, cross-validated RMS"),
        (percent(found["fields"]["flank_normal"]["error"]), "flank normal force, cross-validated RMS over its largest"),
    ]
    for key, what in (("thrust", "thrust ratio, RMS"), ("slip", "speed loss, RMS"), ("efficiency", "efficiency, RMS")):
        if f"{key}.rms" in heldout:
            absolute = "" if key == "thrust" else " (absolute)"
            shown.append((percent(heldout[f"{key}.rms"]), f"{what} on held-out runs{absolute}"))
    return cards(shown)


def _laws(found: Mapping[str, dict[str, dict[str, float]]]) -> str:
    rows = [
        (
            f"{text(_LABEL.get(k, k))}",
            str(e["data"]),
            *(number(e[a], 3) if a in e else "" for a in ("rms", "median", "max", "noise", "table")),
        )
        for k, e in found["laws"].items()
    ]
    about = "<p>Errors of the natural logarithm, so relative; of e the errors themselves.</p>\n"
    return (
        table(("law", "data", "RMS", "median", "largest", "noise of the fit", "the table misses"), rows, range(1, 7))
        + about
    )


def _law_pictures(r: Reduction, errors: Mapping[str, Mapping[str, float]]) -> str:
    """Each law over the torque ratio: data, and the law along lines of constant ratio."""
    s, settled = r.samples, r.samples.phase == 0
    xi, i = s.point[settled, 1], s.point[settled, 0]
    v = s.values
    line = np.linspace(-0.9, 0.95, 200)
    with drawing(2, 2, 2.6, "laws") as (grid, shown):
        panels = [
            ("thrust ratio", v["thrust"][settled], lambda e: e["zeta"], "zeta"),
            ("speed loss, %", 100.0 * v["slip"][settled], lambda e: 100.0 * (e["e"] + e["c"] * line), "e"),
            ("loss over F_O v, %", 100.0 * v["loss"][settled], None, None),
            ("largest flank normal force over F_O, times length", r.laws["peak.flank_normal"].data[settled],
             lambda e: e["peak.flank_normal"], "peak.flank_normal"),
        ]  # fmt: skip
        for ax, (name, data, law, band) in zip(grid.ravel(), panels, strict=True):
            dots = ax.scatter(xi, data, c=np.log2(i), cmap="viridis", s=9, vmin=-1.2, vmax=1.2)
            for ratio, level in ((0.6, -0.74), (1.0, 0.0), (1.8, 0.85)):
                z = np.column_stack([np.full(200, ratio), line, np.full(200, 0.02), np.full(200, 1.5), np.ones(200)])
                e = r.model.evaluate(z)
                if law is None:
                    carried = capacity(r.model.constants["mu"], np.cos(r.model.constants["delta_0"]))
                    values = 100.0 * (e["lambda"] + carried * e["c"] * line**2)
                else:
                    values = law(e)
                colour, near = dots.cmap((level + 1.2) / 2.4), xi[np.abs(np.log(i / ratio)) < NEAR]
                within = (line >= np.min(near, initial=0.0)) & (line <= np.max(near, initial=0.0))
                ax.plot(line, values, color=colour, lw=1.0, alpha=0.3)
                ax.plot(line, np.where(within, values, np.nan), color=colour, lw=1.6, label=f"law, i = {ratio:g}")
                if band is not None:
                    rms, own = errors[band]["rms"], band == "e"  # the others: of the logarithm
                    low, high = (values + k * 100.0 * rms if own else values * np.exp(k * rms) for k in (-1.0, 1.0))
                    ax.fill_between(line, low, high, where=within, color=colour, alpha=0.15, lw=0.0)
            ax.set_title(name)
            low, high = np.quantile(data[np.isfinite(data)], (0.015, 0.985))
            ax.set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
        grid[0, 0].legend()
        for ax in grid[-1]:
            ax.set_xlabel("torque ratio")
    return shown("Settled states (dots, coloured by ratio: dark 0.45, light 2.4) and the laws at i = 0.6, 1 and "
                  "1.8, 15 kN, kappa = 0.02 (lines, pale where no state has about their ratio; bands: the "
                  "cross-validated RMS error).")  # fmt: skip


def _shift_pictures(r: Reduction) -> str:
    s, q = r.samples, r.laws["k"]
    y, x = r.y[q.rows], s.values["x"][q.rows]
    f = s.point[q.rows, 3]
    crossed = np.exp(q.crossed) * f * (y - 1.0)
    with drawing(1, 2, 2.9, "shift", shared=False) as (grid, shown):
        a, b = grid[0]
        top = float(np.quantile(np.abs(x), 0.97)) * 1e3
        a.scatter(y, x / f * 1e3, c=s.point[q.rows, 1], cmap="coolwarm", s=6)
        a.set(xlabel="y = F_I/F_eq", title="shift rate by f, 1e-3")
        a.set_ylim(-top, top)
        b.plot([-top, top], [-top, top], color=RIGID, lw=0.9)
        b.scatter(x * 1e3, crossed * 1e3, s=6, color=COLOURS[0])
        b.set_xlim(-top, top)
        b.set_ylim(-top, top)
        b.set(xlabel="shift rate of the full model, 1e-3", title="cross-validated")
    return shown(f"Shift rate (dr_I/dt)/(omega_I r_I); left by f = F_O/{F_REF / 1e3:g} kN, coloured by torque "
                  "ratio (blue overrun, red drive).")  # fmt: skip


def _fields(r: Reduction, found: Mapping[str, dict[str, dict[str, float]]]) -> str:
    s = r.samples
    rows = []
    for name in KEPT:
        e = found["fields"][name]
        sigma = r.fields.bases[name].sigma
        rows.append((
            f"<code>{name}</code>", *(str(modes_for(sigma, a)) for a in (0.99, 0.999, 0.9999)), str(e["kept"]),
            percent(e["projection"]), percent(e["error"]), percent(e["error_median"]),
        ))  # fmt: skip
    basis, scale = r.stack
    rows.append((
        "all stacked", *(str(modes_for(basis.sigma, a)) for a in (0.99, 0.999, 0.9999)), str(len(basis.modes)),
        percent(projection_error(basis, stacked(s.fields, scale))), "", "",
    ))  # fmt: skip
    head = ("field", "99 %", "99.9 %", "99.99 %", "kept", "projection", "error", "median")
    return table(head, rows, range(1, 8)) + (
        "<p>Modes for a share of the energy of all time-averaged snapshots; kept: those that the operating point "
        "predicts. Projection: the error of these, relative to the norm of all snapshots. Error: cross-"
        "validated RMS over the belt by the field's largest magnitude, RMS and median over all windows.</p>\n"
    )


def _mode_pictures(r: Reduction) -> str:
    with drawing(1, 2, 3.0, "modes", shared=False) as (grid, shown):
        a, b = grid[0]
        for n, name in enumerate(_SHOWN):
            sigma = r.fields.bases[name].sigma[:60]  # fewer than 60 if there are few runs
            places = np.arange(1, 1 + len(sigma))
            a.semilogy(places, sigma / sigma[0], color=COLOURS[n % len(COLOURS)], lw=1.3, label=name)
        sigma = r.stack[0].sigma[:60]
        places = np.arange(1, 1 + len(sigma))
        a.semilogy(places, sigma / sigma[0], color=GREY, lw=1.3, ls="--", label="all stacked")
        a.yaxis.set_major_formatter("{x:g}")  # that of a logarithmic axis is TeX
        a.legend(fontsize=7)
        a.set(title="singular values", xlabel="mode")
        for k, mode in enumerate(r.fields.bases["flank_normal"].modes[:4]):
            b.plot(_places(), mode, color=COLOURS[k % len(COLOURS)], lw=1.3, label=f"{k + 1}")
        b.legend(fontsize=7)
        b.set_title("first modes of the flank normal force")
        over_sections(b)
    return shown("Singular values by the first one, and modes on the four sections.")


def _field_pictures(r: Reduction) -> str:
    """Fields of three windows: full model, and cross-validated reduced one."""
    s = r.samples
    settled = np.flatnonzero(s.phase == 0)
    wanted = ((0.6, 0.6), (1.0, -0.4), (1.9, 0.5))
    distance = [np.abs(np.log(s.point[settled, 0] / i)) + np.abs(s.point[settled, 1] - xi) for i, xi in wanted]
    chosen = [int(settled[np.argmin(d)]) for d in distance]
    with drawing(len(_SHOWN), len(chosen), 1.5, "examples") as (grid, shown):
        for row, name in zip(grid, _SHOWN, strict=True):
            for ax, n in zip(row, chosen, strict=True):
                ax.plot(_places(), s.fields[name][n], color=COLOURS[0], lw=1.6)
                ax.plot(_places(), r.fields.crossed[name][n], color=RIGID, lw=1.0, ls=(0, (4, 3)))
                over_sections(ax, labels=row is grid[-1])
                if ax is row[0]:
                    ax.set_title(name)
        for ax, n in zip(grid[0], chosen, strict=True):
            i, xi, _, f = s.point[n]
            note_right(ax, f"i = {i:.2f}, xi = {xi:.2f}, {f * F_REF / 1e3:.0f} kN")
    return shown(
        "Settled fields, over F_O: full model, and dashed the prediction by cross-validation from the other runs."
    )


def _places() -> Array:
    return (np.arange(4 * CELLS) + 0.5) / CELLS


def _heldout(errors: Mapping[str, float]) -> str:
    names = list(dict.fromkeys(k.rpartition(".")[0] for k in errors if k.endswith(".rms")))
    rows = [(text(_LABEL.get(k, k)), *(percent(errors[f"{k}.{a}"]) for a in ("rms", "median", "max"))) for k in names]
    return (
        f"<p>{errors['windows']:g} windows, {errors['settled']:g} of them settled, {percent(errors['inside'])} within "
        "the range of the campaign. Thrust ratio relative; speed loss and efficiency absolute; shift rate over the RMS "
        "of all; fields by their largest magnitude.</p>\n"
    ) + table(("", "RMS", "median", "largest"), rows, (1, 2, 3))
