"""The page of ``rtcvt sheave``: profiles with their meshes, influence numbers, the groove under an arc of belt."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.html import COLOURS, table
from rtcvt.look import INK, RIGID
from rtcvt.offline.pictures import drawing, report
from rtcvt.offline.sheave.influence import Influence
from rtcvt.offline.sheave.mesh import mesh
from rtcvt.offline.sheave.profile import Drawing
from rtcvt.offline.sheave.pulley import Drawn

Array = NDArray[np.float64]

FORCE = 20e3  # [N] that presses the arc in the picture
WRAP = np.pi


def groove(sheave: Influence, index: int, theta: Array) -> Array:
    """Deflection [m] at angles [rad] from the middle of a half turn at radius no. `index`, evenly under `FORCE`."""
    k = np.arange(len(sheave.C))
    weight = sheave.at_radius[:, index] * FORCE * np.sinc(k * WRAP / (2.0 * np.pi))
    return np.cos(theta[:, None] * k) @ weight


def report_page(name: str, drawn: Drawing, found: Drawn, tan_d: float, used: tuple[Array, Array] | None) -> str:
    """The page, HTML; `used` are radii [m] and c_rad [m/N] of the numbers that the unit file gives instead."""
    with drawing(1, 2, 3.6, "s", shared=False) as (axes, sections):
        _draw_sections(drawn, tan_d, axes[0])
    with drawing(1, 2, 3.2, "c", shared=False) as (axes, compliance):
        _draw_compliance(found, used, *axes[0])
    body = (
        sections("Sections with their finite elements; supports in red, mm."),
        compliance(
            "Left: C_k(r, r), mean of two sheaves, and the polynomials of the belt model (dashed). Right: how far a "
            "sheave opens along the shaft under a half turn of belt of 20 kN."
        ),
        _numbers(found),
    )
    lead = "Finite elements of their drawing: how far they open along the shaft under the belt."
    return report(f"Sheaves of {name}", lead, body)


def _draw_sections(drawn: Drawing, tan_d: float, axes: Any) -> None:
    for ax, title, profile in zip(axes, ("loose", "fixed"), (drawn.loose, drawn.fixed), strict=True):
        grid = mesh(profile, tan_d, drawn.mesh).quads
        corners = grid.p[:, grid.t]  # (2, 4, quads)
        ring = np.concatenate([corners, corners[:, :1], np.full_like(corners[:, :1], np.nan)], axis=1)
        z, r = 1e3 * ring[1].T.ravel(), 1e3 * ring[0].T.ravel()
        ax.plot(z, r, color=INK, linewidth=0.4)
        for support in profile.supports:
            at = profile.rings[0].r[support.on == "shaft"]
            ax.plot([1e3 * x for x in support.z], [1e3 * at] * 2, color=RIGID, linewidth=4.0, solid_capstyle="butt")
        ax.set(title=title, xlabel="along the shaft [mm]", ylabel="radius [mm]", aspect="equal")


def _draw_compliance(found: Drawn, used: tuple[Array, Array] | None, left: Any, right: Any) -> None:
    for k, (row, polynomial) in enumerate(zip(found.mean, found.a, strict=False)):
        colour = COLOURS[k % len(COLOURS)]
        left.plot(1e3 * found.r, 1e9 * row, ".", color=colour, label=f"k = {k}")
        fine = np.linspace(found.r[0], found.r[-1], 80)
        left.plot(1e3 * fine, 1e9 * np.polyval(polynomial[::-1], fine), "--", color=colour)
    left.plot(1e3 * found.r, 1e9 * found.mean.sum(0), color=INK, label="sum")
    if used is not None:
        left.plot(1e3 * used[0], 1e9 * used[1], color=RIGID, label="numbers of the file")
    left.set(xlabel="radius [mm]", ylabel="compliance [nm/N]")
    left.legend()
    theta = np.linspace(-np.pi, np.pi, 181)
    for sheave, name in ((found.loose, "loose"), (found.fixed, "fixed")):
        for index, style in ((1, ":"), (len(found.r) // 2, "-"), (len(found.r) - 2, "--")):
            color = COLOURS[name == "loose"]
            label = f"{name}, {1e3 * found.r[index]:.0f} mm"
            right.plot(np.rad2deg(theta), 1e6 * groove(sheave, index, theta), style, color=color, label=label)
    right.set(xlabel="angle from the middle of the arc [deg]", ylabel="deflection [µm]", xticks=range(-180, 181, 90))
    right.legend()


def _numbers(found: Drawn) -> str:
    rows = [[f"k = {k}", *(f"{1e9 * c:.3f}" for c in row)] for k, row in enumerate(found.mean)]
    return table(
        ["C_k(r, r) [nm/N]", *(f"{1e3 * r:.1f} mm" for r in found.r)], rows, numbers=range(1, len(found.r) + 1)
    )


def figures(found: Drawn) -> dict[str, Any]:
    """Figures for ``--json``."""
    kinds = {"loose": found.loose, "fixed": found.fixed}
    return {
        "r_m": found.r.tolist(),
        "C_m_per_N": {name: s.at_radius.tolist() for name, s in kinds.items()},
        "tilt_m_per_N": {name: np.diag(s.tilt).tolist() for name, s in kinds.items()},
        "c_t_N_m": {name: s.c_t for name, s in kinds.items()},
        "m_kg": {name: s.m for name, s in kinds.items()},
        "J_kg_m2": {name: s.J for name, s in kinds.items()},
        "a": [list(row) for row in found.a],
        "separable": {"a": list(found.separable.a), "A": list(found.separable.A), "left": found.separable.left},
        "compliance": list(found.compliance),
    }
