"""``rtcvt show``."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from rtcvt.cli.belt import show_belt
from rtcvt.cli.console import Settings, assignments, command, kind_of, number, out
from rtcvt.cli.pushbelt import show_pushbelt
from rtcvt.errors import InputError

if TYPE_CHECKING:
    from rtcvt.unitfile import Unit
    from rtcvt.variator.unit import Variator
    from rtcvt.vehicle.parts import Part


@command
def show(
    unit: Annotated[
        str | None, typer.Argument(metavar="[UNIT]", help="A TOML file, or the name of a shipped unit.")
    ] = None,
    settings: Settings = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="KEY=VALUE", help="Where the moving variable is, e.g. theta=0.1."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead, see above.")] = False,
) -> None:
    """Print a unit's sets and matrices, or list the shipped units.

    Of a variator or a part of a vehicle its variables are printed, of a belt drive its taut belt, of a pushbelt its
    numbers and cases.

    R is the radii matrix of Algorithm 1, Q1 gives all speeds from the independent ones, L1, N1, A1 and B1 are the
    matrices of the rigid model L1 x1' + N1 x1 = A1 x1 + B1 tau; N1 is per rad/s of the moving variable.

    [bold]JSON keys:[/] unit, gears, springs, frictions, independent; R [m], Q1, B_delta_omega [N.m.s/rad], L1 [kg.m2],
    N1, A1, B1: matrices as lists of rows in the unit's order; at: where the moving variable is.
    """
    from rtcvt.build import load_any
    from rtcvt.pog.system import matrices
    from rtcvt.unitfile import Unit, read_toml, shipped_units
    from rtcvt.variator.unit import Variator
    from rtcvt.vehicle.parts import KINDS, Part

    if unit is None:
        table = Table("unit", "kind", "description", box=None)
        for kind in ("gear_system", "variator", *KINDS, "belt", "pushbelt"):
            for name, file in shipped_units(kind).items():
                table.add_row(name, kind, escape(read_toml(file)[0]["description"]))
        out.print(table)
        return
    if kind_of(unit) in ("belt", "pushbelt"):
        if settings or at:
            raise InputError("--set" if settings else "--at", "", (settings or at or [""])[0], "only of gear systems")
        (show_belt if kind_of(unit) == "belt" else show_pushbelt)(unit, as_json)
        return
    loaded = load_any(unit)
    if isinstance(loaded, Part | Variator):
        _show_part(loaded, as_json)
        return
    assert isinstance(loaded, Unit)  # belts are shown above
    instance = _instance(loaded, settings)
    tilt = _tilt(loaded, at)
    m = matrices(instance, tilt)
    if not all(np.all(np.isfinite(matrix)) for matrix in vars(m).values()):
        raise InputError("--set", "", settings, "parameters with finite matrices: these make a radius zero")
    gears, springs, independent = list(loaded.gears), list(loaded.contacts), list(loaded.rigid.independent)
    frictions = ["".join(f.between) for f in loaded.frictions.values()]
    shown = [
        ("R", m.R, springs, gears, "radii matrix [m]"),
        ("Q1", m.Q1, gears, independent, "speeds from the independent ones"),
        ("B_delta_omega", m.B_delta_omega, gears, gears, "relative friction [N.m.s/rad]"),
        ("L1", m.L1, independent, independent, "inertia of the rigid model [kg.m2]"),
        ("N1", m.N1, independent, independent, f"per rad/s of {loaded.moving} [kg.m2]" if loaded.moving else "[kg.m2]"),
        ("A1", m.A1, independent, independent, "damping of the rigid model, negative [N.m.s/rad]"),
        ("B1", m.B1, independent, gears, "torques on the independent speeds"),
    ]
    if as_json:
        data: dict[str, Any] = {"unit": loaded.name, "gears": gears, "springs": springs, "frictions": frictions}
        data |= {"independent": independent, "at": {loaded.moving: tilt} if loaded.moving else {}}
        data |= {name: matrix.tolist() for name, matrix, *_ in shown}
        print(json.dumps(data, indent=2, allow_nan=False))
        return
    where = f" at {loaded.moving} = {tilt:g} rad" if loaded.moving else ""
    out.print(f"[bold]{loaded.name}[/]{where}: {escape(loaded.description)}")
    for text, names in (("gears N_J", gears), ("springs N_K", springs), ("frictions N_B", frictions)):
        out.print(f"{text} = {{{', '.join(names)}}}, n = {len(names)}", highlight=False)
    for name, matrix, rows, columns, text in shown:
        out.print(f"\n[bold]{name}[/]  {escape(text)}", highlight=False)
        table = Table("", *columns, box=None)
        for row, values in zip(rows, matrix, strict=True):
            table.add_row(f"[bold]{row}[/]", *(number(v) for v in values))
        out.print(table)


def _show_part(part: "Part | Variator", as_json: bool) -> None:
    """Variables of a unit without matrices."""
    from rtcvt.build import build_any

    rows = build_any(part).variables
    if as_json:
        found = {v.name: {k: getattr(v, k) for k in ("causality", "unit", "start", "description")} for v in rows}
        print(json.dumps({"unit": part.name, "kind": part.kind, "variables": found}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{part.name}[/], a {part.kind}: {escape(part.description)}")
    table = Table("name", "causality", "start", "unit", "description", box=None)
    for v in rows:
        start = "" if v.start is None else number(v.start)
        table.add_row(v.name, v.causality, start, v.unit, escape(v.description))
    out.print(table)


def _instance(unit: "Unit", settings: list[str] | None) -> Any:
    from rtcvt.pog.system import build_model
    from rtcvt.scenario import apply_parameters

    instance = build_model(unit, "rigid").instantiate()
    apply_parameters(instance, assignments(settings), "--set")
    return instance


def _tilt(unit: "Unit", at: list[str] | None) -> float:
    """Where the moving variable is [rad]."""
    from rtcvt.quantity import to_si

    place = unit.variables[unit.moving].start if unit.moving else 0.0
    for key, value in assignments(at, "--at").items():
        if key != unit.moving:
            raise InputError("--at", key, value, f"the moving variable: {unit.moving or 'this unit has none'}")
        variable = unit.variables[key]
        try:
            place = to_si(value, "rad")
        except ValueError as error:
            raise InputError("--at", key, value, str(error)) from None
        if not variable.min <= place <= variable.max:
            raise InputError("--at", key, value, f"an angle from {variable.min:g} to {variable.max:g} rad")
    return place
