"""Pictures of a toroidal variator: efficiency over tilt and torque, shear in its contacts, pressure and spin over tilt.

``python -m rtcvt.offline.toroidal.charts UNIT FOLDER`` writes map, contacts and, of a KERS, its root locus as SVG.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.html import COLOURS, number, percent, table, text
from rtcvt.kind import Checked, Progress, load_unit
from rtcvt.look import GREY, INK, RIGID, SHADE
from rtcvt.model import Instance
from rtcvt.offline.pictures import drawing, names_beside, report
from rtcvt.offline.toroidal.ellipse import field
from rtcvt.offline.toroidal.variator import Point, held_point
from rtcvt.pog.spin import Spin, traction_contacts
from rtcvt.pog.toroid import over_tilt, table_contacts, tilts_of
from rtcvt.pog.unit import GearSystem

Array = NDArray[np.float64]

TILTS, TORQUES = 17, 14


@dataclass(frozen=True)
class TiltMap:
    """Operating points over tilt and torque by the table; NaN where the traction does not reach."""

    unit: GearSystem
    spins: list[Spin]
    speed: float  # of the first disc [rad/s]
    tilt: Array  # (n,)
    torque: Array  # of the last disc [N.m], (m,)
    values: dict[str, Array]  # by name, (m, n)
    theta: float  # of the point whose contacts are shown [rad]
    point: Point  # by integration
    by_table: Point

    def figures(self) -> dict[str, Any]:
        """In numbers, ready for JSON."""
        found = {k: [[None if np.isnan(x) else x for x in row] for row in v.tolist()] for k, v in self.values.items()}
        points = (("integrated", self.point), ("by_table", self.by_table))
        told = {name: {k: np.asarray(v).tolist() for k, v in vars(p).items()} for name, p in points}
        axes = {"tilt_rad": self.tilt.tolist(), "torque_Nm": self.torque.tolist()}
        return {"unit": self.unit.name, "speed_rad_s": self.speed, **axes, **found, "theta": self.theta, **told}


def tilt_map(unit: GearSystem, given: Mapping[str, Any], progress: Progress) -> TiltMap:
    """The map, and a point with the tilt and torque that are `given` or in the middle.

    Raises
    ------
    InputError
        No discs that transmit to each other by traction, or a point beyond what it carries.
    """
    spins = traction_contacts(unit)
    if len(spins) < 2:
        raise InputError(unit.source, "traction", None, "a unit with two discs and a roller that transmit by traction")
    assert unit.traction is not None
    tilts = tilts_of(unit, TILTS)
    rows = over_tilt(unit, unit.build("rigid").instantiate(), tilts)
    first, last = ([r for r in rows if r.contact == s.contact] for s in spins[:2])
    speed = given["speed"] or abs(first[0].speed)
    carried = [min(a.torque * abs(a.speed / b.speed), b.torque) for a, b in zip(first, last, strict=True)]
    torques = np.linspace(0.03, 1.0, TORQUES) * float(np.median(carried))
    law, names = table_contacts(unit), ("efficiency", "creep", "pressure", "end_load")
    values = np.full((len(names), len(torques), len(tilts)), np.nan)
    for j, tilt in enumerate(tilts):
        progress(f"{unit.name}: map", j, len(tilts))
        for i, torque in enumerate(torques):
            try:
                p = held_point(unit, float(tilt), speed, torque, law)
            except InputError:
                break  # nor more
            values[:, i, j] = p.efficiency, np.abs(p.creep).max(), p.pressure.max(), p.end_load
    moving = unit.variables[unit.moving] if unit.moving else None
    theta = 0.0 if moving is None else moving.start if given["tilt"] is None else given["tilt"]
    if moving and not moving.min <= theta <= moving.max:
        raise InputError("--tilt", "", theta, f"an angle from {moving.min:g} to {moving.max:g} rad")
    torque = 0.25 * float(torques[-1]) if given["torque"] is None else given["torque"]
    points = (held_point(unit, theta, speed, torque, each) for each in (None, law))
    return TiltMap(unit, spins[:2], speed, tilts, torques, dict(zip(names, values, strict=True)), theta, *points)


def map_tilts(unit: GearSystem, given: Mapping[str, Any], progress: Progress) -> Checked:
    """The map as ``rtcvt map`` gives it."""
    found = tilt_map(unit, given, progress)
    head = (f"{t:.3g} N.m" for t in found.torque[1::3])
    shown = Table("tilt, rad", *head, title="efficiency by torque out", box=None)
    for j in range(0, len(found.tilt), max(1, len(found.tilt) // 8)):
        row = found.values["efficiency"][1::3, j]
        shown.add_row(f"{found.tilt[j]:.2f}", *("slips" if np.isnan(v) else f"{v:.1%}" for v in row))
    return Checked(_page(found), found.figures(), [shown])


def _page(found: TiltMap) -> str:
    points = (found.point, found.by_table)
    rows = [(f"lost by {key} [W]", *(number(getattr(x, f"{key}_loss"), 3) for x in points))
            for key in ("creep", "spin", "bearing", "churning")]  # fmt: skip
    rows += [(f"creep in {s.contact}", *(percent(x.creep[i]) for x in points)) for i, s in enumerate(found.spins)]
    rows += [("efficiency", *(percent(x.efficiency) for x in points))]
    parts = [
        f"<p>Disc {text(found.spins[0].disc)} at {number(found.speed)} rad/s; the end load follows the unit's law. "
        "Contacts, rollers' bearings and oil lose power; gears' bearings do not count. By the hybrid model's table, "
        "the single point also by integration over the ellipses.</p>\n",
        _map_figure(found)("Efficiency, and the largest creep of a contact, over tilt and torque of the last disc. "
                           "Dashed: the allowed pressure. Grey: the contacts slip."),
        _contact_figure(found)("Shear by the discs on one roller, over the largest that the film carries in the "
                               "middle; arrows: its direction. Hatched: the film holds, else it slips. The contact "
                               "rolls upwards, material enters above."),
        table(("", "integrated", "by table"), rows, (1, 2)),
    ]  # fmt: skip
    return report(f"{found.unit.name}: map over tilt and torque", found.unit.description, parts)


def _map_figure(found: TiltMap) -> Callable[..., str]:
    efficiency, creep = (100.0 * found.values[name] for name in ("efficiency", "creep"))
    low = max(50.0, float(np.nanpercentile(efficiency, 5)))
    with drawing(1, 2, 3.4, "map") as (grid, shown):
        for ax, values, title, levels, colours in (
            (grid[0, 0], efficiency, "Efficiency [%]", np.unique(np.round(np.linspace(low, 100.0, 15))), "YlGn"),
            (grid[0, 1], creep, "Largest creep [%]", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0], "YlOrRd"),
        ):
            ax.grid(visible=False)
            ax.set_facecolor(SHADE)
            ax.contourf(found.tilt, found.torque, values, levels, cmap=colours, extend="both")
            lines = ax.contour(found.tilt, found.torque, values, levels, colors=INK, linewidths=0.6)
            ax.clabel(lines, fontsize=7.5)
            assert found.unit.traction is not None
            pressure = found.values["pressure"] / found.unit.traction.p_max
            ax.contour(found.tilt, found.torque, pressure, [1.0], colors=RIGID, linestyles="dashed", linewidths=1.6)
            ax.plot(found.theta, found.point.torque_out, "o", color="white", mec=INK)
            ax.set(title=title, xlabel="tilt [rad]", ylabel="torque of the last disc [N.m]")
    return shown


def _contact_figure(found: TiltMap) -> Callable[..., str]:
    """Shear over both ellipses to one scale."""
    p, settings = found.point, found.unit.traction
    assert settings is not None
    t, shear = field(found.spins[0].drawing, settings.fluid.fluid, p.radius, p.N, p.u, p.creep, p.spin)
    half = 1e3 * 1.15 * float(max(t.a.max(), t.b.max()))
    with drawing(1, 2, 4.6, "contact") as (grid, shown):
        for i, spin in enumerate(found.spins):
            ax: Axes = grid[0, i]
            ax.grid(visible=False)
            along, tau_x, tau_y = shear.xi[:, ::2], shear.tau_x[i, :, ::2], shear.tau_y[i, :, ::2]
            across = np.broadcast_to(shear.eta[:, None], along.shape)
            tau = np.hypot(tau_x, tau_y)
            limit = np.sqrt(np.maximum(0.0, 1.0 - along**2 - across**2))
            X, Y = 1e3 * t.b[i] * across, 1e3 * t.a[i] * along
            filled = ax.contourf(X, Y, tau, np.linspace(0.0, 1.0, 11), cmap="Blues")
            use = tau / np.maximum(limit, 1e-3)
            ax.contourf(X, Y, use, [0.0, 0.999], hatches=["////"], colors="none")
            ax.contour(X, Y, use, [0.999], colors=RIGID, linewidths=1.2)
            arrows = (slice(2, None, 4), slice(2, None, 3))
            ax.quiver(*(v[arrows] for v in (X, Y, tau_y, tau_x)), color=INK, scale=18.0, width=0.003)
            angle = np.linspace(0.0, 2.0 * np.pi, 181)
            ax.plot(1e3 * t.b[i] * np.cos(angle), 1e3 * t.a[i] * np.sin(angle), color=GREY, lw=1.0)
            ax.set(
                xlim=(-half, half), ylim=(-half, half), aspect="equal", xlabel="across [mm]", ylabel="along [mm]",
                title=f"{spin.contact}: {1e-9 * t.p_0[i]:.2f} GPa, creep {100.0 * p.creep[i]:.2f} %",
            )  # fmt: skip
            ax.figure.colorbar(filled, ax=ax, shrink=0.8)
    return shown


def tilt_figure(unit: GearSystem, instance: Instance) -> str:
    """Pressure, half axes, spin and torque over the tilt, see `over_tilt`, for the report of the check."""
    rows = over_tilt(unit, instance, tilts_of(unit, 41))
    if not unit.moving or not unit.traction:
        return ""
    with drawing(4, 1, 1.5, "tilt") as (grid, shown):
        panels = (("Largest pressure", "GPa", 1e-9, ("pressure",)), ("Half axes", "mm", 1e3, ("a", "b")),
                  ("Spin", "rad/s", 1.0, ("spin",)), ("Largest torque", "N·m", 1.0, ("torque",)))  # fmt: skip
        for ax, (title, shown_in, scale, keys) in zip(grid[:, 0], panels, strict=True):
            for k, name in enumerate(unit.traction.contacts):
                own = [row for row in rows if row.contact == name]
                for key, line in zip(keys, ("-", "--"), strict=False):
                    values = [scale * getattr(row, key) for row in own]
                    label = f"{name}, {key}" if len(keys) > 1 else name
                    ax.plot([r.theta for r in own], values, line, color=COLOURS[k % len(COLOURS)], label=label)
            ax.set(title=title, ylabel=shown_in)
            names_beside(ax)
        grid[0, 0].axhline(1e-9 * unit.traction.p_max, color=GREY, lw=1.0, ls=(0, (4, 3)))
        grid[-1, 0].set_xlabel("tilt [rad]")
    load = number(1e-3 * unit.traction.end_load_max)
    return shown(f"Contacts under the largest end load, {load} kN, without creep, with the speeds at the start. "
                 "Half axes: a along the rolling direction, b across. Dashed: allowed pressure.")  # fmt: skip


def locus_figure(unit: GearSystem, torque: float = -2.0, tilts: Sequence[float] = (-0.6, -0.3, 0.0, 0.3, 0.6)) -> str:
    """Root locus of the shaft's oscillation over the gain of the torque controller, under a torque [N.m]."""
    gains = np.geomspace(0.02, 10.0, 60)
    with drawing(1, 1, 3.4, "locus") as (grid, shown):
        ax: Axes = grid[0, 0]
        for tilt, colour in zip(tilts, COLOURS, strict=False):
            one = unit.build("hybrid").instantiate()
            for name, value in (("theta_start", tilt), ("K_theta", 0.2), ("tau_des", torque)):
                one.set(f"control.{name}", value)
            one.initialise()
            for _ in range(150):
                one.step(1e-3)
            error = one.get("control.K_w") * (one.get("shaft.w") - one.get("gear.d.w"))
            one.set(
                "control.tau_des", one.get("control.tau_est") + error
            )  # so that no gain meets the limit of the rate
            path: list[complex] = []
            for gain in gains:
                one.tune("control.K_theta", float(gain))
                poles = np.linalg.eigvals(one.jacobian())
                poles = poles[poles.imag > 300.0]  # above those of tilt and end load [rad/s]
                path.append(min(poles, key=lambda p: abs(p - path[-1]) if path else p.imag))
            at = np.array(path)
            ax.plot(at.real, at.imag, color=colour, label=f"{tilt:g} rad")
            for gain, mark in ((0.2, "o"), (1.0, "s"), (10.0, "^")):
                ax.plot(*(np.interp(gain, gains, v) for v in (at.real, at.imag)), mark, color=colour)
        ax.axvline(0.0, color=GREY, lw=1.0)
        ax.set(xlabel="real part [1/s]", ylabel="imaginary part [rad/s]", title="Poles of the shaft's oscillation")
        names_beside(ax)
    return shown()


if __name__ == "__main__":
    chosen = load_unit(sys.argv[1])
    assert isinstance(chosen, GearSystem)
    drawn = tilt_map(chosen, {"speed": None, "tilt": None, "torque": None}, lambda *_: None)
    made = {"efficiency": _map_figure(drawn)(), "contact": _contact_figure(drawn)()}
    if chosen.controller.kers:
        made["locus"] = locus_figure(chosen)
    for name, shown in made.items():
        svg = shown[shown.index("<svg") : shown.index("</svg>") + len("</svg>")] + "\n"
        Path(sys.argv[2], f"{name}.svg").write_text(svg, encoding="utf-8")
