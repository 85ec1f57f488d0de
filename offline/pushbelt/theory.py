"""The steady theory at a case of a unit file: its point, its figures and its page; its tasks for the commands."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.html import COLOURS, number, page
from rtcvt.html import table as html_table
from rtcvt.kind import Progress, Run, Shown, cell
from rtcvt.offline.pictures import drawing
from rtcvt.offline.pushbelt.steady import COLUMNS, Point, Steady, mean, steady
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import FORCE, RATE, TORQUE, Boundary, Parameters, belt, boundary_at, sheaves
from rtcvt.quantity import to_si
from rtcvt.recording import require_page, require_writable, write_text

# of the thrust ratio, 75 settled points of the campaign, torque ratio above 0.15
ACCURACY = "its thrust ratio differs from the full model's by 3 % in the median, 5 % RMS"

_PANELS = (  # title, unit, factor, columns by label
    ("normal force of a flank", "kN/rad", 1e-3, {"n": ""}),
    ("friction over normal force", "1", 1.0, {"f/n": "along", "rho": "outwards"}),
    ("push force and tension", "N", 1.0, {"P": "push", "T": "tension"}),
    ("slip", "mm/s", 1e3, {"s": "flank, along", "u": "flank, outwards", "s_R": "saddle on ring"}),
    ("radius off its mean", "um", 1e6, {"r": ""}),
)


def at_case(parameters: Parameters, case: str, row: int, coupled: bool) -> tuple[Point, Steady]:
    """The steady state of a case, at its start.

    Raises
    ------
    InputError
        The case gives something else than the primary's speed, the secondary's force and torque, and the ratio.
    NoSteadyStateError
        None was found.
    """
    chosen = parameters.get_case(case)
    N = chosen.N_E0 or parameters.element.N_E0
    b = belt(parameters, N_E=N, N_E0=N)
    at = Boundary(*boundary_at(chosen, np.array([0.0]), row)[0])
    if (at.mode_I, at.value_I, at.mode_O, at.mode_load) != (RATE, 0.0, FORCE, TORQUE):
        allowed = "inputs rate_I = 0, F_CO and M_O, for the steady theory"
        raise InputError(parameters.source, f"case.{case}.inputs", ", ".join(chosen.inputs), allowed)
    ratio = chosen.i_s
    if chosen.i_r is not None:
        start = closure(b.l_R, b.d_A, chosen.i_r)
        ratio = (start.r_O - b.h_off) / (start.r_I - b.h_off)
    if ratio is None:
        raise InputError(parameters.source, f"case.{case}", None, "i_r or i_s, for the steady theory")
    point = Point(at.omega_I, at.value_O, ratio, at.value_load)
    return point, steady(b, sheaves(parameters) if coupled else None, point)


def figures(point: Point, found: Steady) -> dict[str, Any]:
    """Figures for ``--json``."""
    return {
        "thrust_ratio": found.thrust_ratio,
        "slip": found.slip,
        "v_mu_m_s": found.v_mu,
        "clamping_force_N": found.F,
        "speed_rad_s": found.omega,
        "shaft_torque_Nm": [-found.M[0], -found.M[1]],
        "radius_of_the_rocking_edges_m": found.radii,
        "loss_W": found.loss,
        "losses_W": found.losses,
        "given": vars(point),
        "fields": {
            name: {column: arc[:, k].tolist() for k, column in enumerate(COLUMNS)}
            for name, arc in zip(("primary", "secondary"), found.arcs, strict=True)
        },
    }


def summary(title: str, found: Steady) -> list[Any]:
    """Printed lines and tables."""
    table = Table("", "primary", "secondary", title=escape(title))
    table.add_row("clamping force \\[N]", *map(cell, found.F))
    table.add_row("speed \\[rad/s]", *map(cell, found.omega))
    table.add_row("shaft torque \\[N.m]", *(cell(-M) for M in found.M))
    table.add_row("mean push force \\[N]", *(cell(mean(arc, "P")) for arc in found.arcs))
    losses = ", ".join(f"{name} {watts:.1f}" for name, watts in found.losses.items())
    said = f"thrust ratio {found.thrust_ratio:.4f}, slip {100.0 * found.slip:.2f} %, loss {found.loss:.1f} W: {losses}"
    return [table, said, f"at v_mu = {1e3 * found.v_mu:.3g} mm/s", ACCURACY]


def _draw(found: Steady, axes: Any) -> None:
    for k, arc in enumerate(found.arcs):
        columns = dict(zip(COLUMNS, arc.T, strict=True))
        columns["f/n"] = columns["f"] / columns["n"]
        columns["r"] = columns["r"] - mean(arc, "r")
        for ax, (title, unit, factor, names) in zip(axes[:, k], _PANELS, strict=True):
            for (name, label), colour in zip(names.items(), COLOURS, strict=False):
                ax.plot(np.rad2deg(columns["theta"]), factor * columns[name], color=colour, label=label or None)
            ax.set_title(f"{title} [{unit}]")
            if len(names) > 1:
                ax.legend()
        axes[-1, k].set_xlabel(f"angle on the {('primary', 'secondary')[k]} from the entry [deg]")


def report_page(title: str, found: Steady) -> str:
    """The page, HTML: fields over the two arcs, and the losses."""
    with drawing(len(_PANELS), 2, 1.5, "f", shared=False) as (axes, shown):
        _draw(found, axes)
    drawn = shown("Fields over the arcs, per radian of arc; primary left.")
    rows = [[name, number(watts)] for name, watts in (*found.losses.items(), ("both shafts", found.loss))]
    return page(title, "\n".join([drawn, html_table(["power", "W"], rows, numbers=[1])]))


def _refuse_unused(given: Mapping[str, Any], task: str, *used: str) -> None:
    """Refuse options other than those of the steady theory."""
    from rtcvt.offline.pushbelt.kind import KIND

    options, takes = getattr(KIND, task).options, getattr(KIND, task).takes
    defaults = {o.name: to_si(o.default, o.unit) if o.unit and o.default else o.default for o in options}
    for name, usual in (defaults | dict.fromkeys(takes)).items():
        if name not in (*used, "model", "output", "figures") and given.get(name, usual) != usual:
            raise InputError(f"--{name.replace('_', '-')}", "", given[name], "no value with --model theory")


def show(parameters: Parameters, given: Mapping[str, Any]) -> Shown:
    """The steady theory at a case of a pushbelt."""
    _refuse_unused(given, "show", "case", "row")
    case = parameters.get_case(given["case"]).name
    point, found = at_case(parameters, case, given["row"], coupled=True)
    data = {"unit": parameters.name, "case": case, "row": given["row"], **figures(point, found)}
    return Shown(data, summary(f"{parameters.name}, {case}: steady theory", found))


def simulate(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Run:
    """The steady theory at a case, and a page of its fields."""
    _refuse_unused(given, "full", "case", "row", "law")
    case = parameters.get_case(given["case"]).name
    path = given["output"] or Path(f"{parameters.name}_{case}.html")
    require_page(path, given["figures"])
    require_writable(path, given["figures"])
    point, found = at_case(parameters, case, given["row"], given["law"] == "coupled")
    title = f"{parameters.name}, {case}: steady theory"
    write_text(path, report_page(title, found))
    known = {"unit": parameters.name, "case": case, "row": given["row"], "status": "complete", "law": given["law"]}
    return Run(path, known | figures(point, found), summary(title, found))
