"""Tasks of the commands for gear systems."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from rtcvt.errors import AsInputError, InputError
from rtcvt.html import ErrorRow
from rtcvt.kind import Shown, cell
from rtcvt.model import Instance
from rtcvt.pog.diagram import unit_diagram
from rtcvt.pog.shift import ShiftGear, shift_table
from rtcvt.pog.system import build_model, matrices
from rtcvt.pog.toroid import over_tilt, tilts_of, with_settings
from rtcvt.pog.unit import GearSystem
from rtcvt.quantity import to_si
from rtcvt.scenario import apply_parameters

Settings = Mapping[str, float | str]


def picture(unit: GearSystem, values: Mapping[str, float]) -> str:
    """Kinematic scheme (SVG) with parameters by full name [SI]."""
    return unit_diagram(unit, values=values)


def show(unit: GearSystem, given: Mapping[str, Any]) -> Shown:
    """Sets and matrices at a place of the moving variable."""
    unit, settings = with_settings(unit, given["settings"])
    instance = build_model(unit, "rigid").instantiate()
    apply_parameters(instance, settings, "--set")
    tilt = _tilt(unit, given["at"])
    m = matrices(instance, tilt)
    if not all(np.all(np.isfinite(matrix)) for matrix in vars(m).values()):
        allowed = "parameters with finite matrices: these make a radius zero"
        raise InputError("--set", "", [f"{k}={v}" for k, v in given["settings"].items()], allowed)
    gears, springs, independent = list(unit.gears), list(unit.contacts), list(unit.rigid.independent)
    frictions = ["".join(f.between) for f in unit.frictions.values()]
    shown = [
        ("R", m.R, springs, gears, "radii matrix [m]"),
        ("Q1", m.Q1, gears, independent, "speeds from the independent ones"),
        ("B_delta_omega", m.B_delta_omega, gears, gears, "relative friction [N.m.s/rad]"),
        ("L1", m.L1, independent, independent, "inertia of the rigid model [kg.m2]"),
        ("N1", m.N1, independent, independent, f"per rad/s of {unit.moving} [kg.m2]" if unit.moving else "[kg.m2]"),
        ("A1", m.A1, independent, independent, "damping of the rigid model, negative [N.m.s/rad]"),
        ("B1", m.B1, independent, gears, "torques on the independent speeds"),
    ]
    data: dict[str, Any] = {"unit": unit.name, "gears": gears, "springs": springs, "frictions": frictions}
    data |= {"independent": independent, "at": {unit.moving: tilt} if unit.moving else {}}
    data |= {name: matrix.tolist() for name, matrix, *_ in shown}
    where = f" at {unit.moving} = {tilt:g} rad" if unit.moving else ""
    lines: list[Any] = [f"[bold]{unit.name}[/]{where}" + (f": {escape(unit.description)}" if unit.description else "")]
    for text, names in (("gears N_J", gears), ("springs N_K", springs), ("frictions N_B", frictions)):
        lines.append(f"{text} = {{{', '.join(names)}}}, n = {len(names)}")
    for name, matrix, rows, columns, text in shown:
        lines.append(f"\n[bold]{name}[/]  {escape(text)}")
        table = Table("", *columns, box=None)
        for row, values in zip(rows, matrix, strict=True):
            table.add_row(f"[bold]{row}[/]", *(cell(v) for v in values))
        lines.append(table)
    if unit.shift:
        _show_shift(unit, shift_table(unit, m.R), data, lines)
    if unit.traction:
        _show_traction(unit, instance, data, lines)
    return Shown(data, lines)


def _show_traction(unit: GearSystem, instance: Instance, data: dict[str, Any], lines: list[Any]) -> None:
    """Add what contacts with traction are over the tilt, at the largest end load."""
    assert unit.traction is not None
    rows = over_tilt(unit, instance, tilts_of(unit, 5))
    load, area = unit.traction.end_load_max, unit.traction.piston_area
    data["traction"] = {"end_load": load, "contacts": [row._asdict() for row in rows]}
    lines.append(
        f"\n[bold]Traction[/]  {load / 1e3:g} kN of end load, no creep; torque: the largest on the disc, all rollers;"
    )
    lines.append("reaction: with it, of the piston that holds a roller")
    if area is not None:
        data["traction"]["piston_pressure"] = load / area
        lines.append(f"pressure of the end load's piston, {1e4 * area:g} cm2: {1e-5 * load / area:.4g} bar")
    if unit.traction.by_reaction:
        lines.append("held: traction over normal force by the areas of the pistons")
    head = ("radius mm", "a mm", "b mm", "pressure GPa", "spin rad/s", "disc rad/s", "torque N.m", "reaction kN",
            *(["held"] if unit.traction.by_reaction else []))  # fmt: skip
    table = Table("tilt rad", "contact", *head, box=None)
    for row in rows:
        places = *(1e3 * v for v in (row.radius, row.a, row.b)), 1e-9 * row.pressure, row.spin, row.speed
        numbers = *places, row.torque, 1e-3 * row.reaction, row.held
        table.add_row(f"{row.theta:.2f}", f"[bold]{row.contact}[/]", *(f"{v:.4g}" for v in numbers if v is not None))
    lines.append(table)


def _show_shift(unit: GearSystem, rows: list[ShiftGear], data: dict[str, Any], lines: list[Any]) -> None:
    """Add the shift table: ratios and steps, torques of the elements, speeds of the gears."""
    assert unit.shift is not None

    def told(value: float | None) -> float | None:
        return value if value is not None and np.isfinite(value) else None

    steps = [None, *(one.ratio / two.ratio for one, two in pairwise(rows))]
    data["shift"] = [
        {"gear": r.name, "elements": list(r.elements), "ratio": r.ratio, "step": step}
        | {"efficiency": told(r.efficiency), "coast_efficiency": told(r.coast)}
        | {"torques": {n: told(v) for n, v in r.torques.items()}, "speeds": {n: told(v) for n, v in r.speeds.items()}}
        for r, step in zip(rows, steps, strict=True)
    ]
    elements = [*unit.clutches, *unit.brakes]
    lines.append(f"\n[bold]Gears[/]  {unit.shift.input} to {unit.shift.output}; torques for 1 N.m at the input")
    losses = ("efficiency", "coasting") if unit.lossy else ()
    table = Table("gear", "ratio", "step", *losses, *elements, box=None)
    for r, step in zip(rows, steps, strict=True):
        lost = [_share(v) for v in (r.efficiency, r.coast)] if losses else []
        torques = [_known(r.torques[e]) if e in r.torques else "" for e in elements]
        table.add_row(f"[bold]{escape(r.name)}[/]", cell(r.ratio), "" if step is None else cell(step), *lost, *torques)
    lines.append(table)
    lines.append("\n[bold]Speeds[/]  for 1 rad/s at the input")
    table = Table("gear", *unit.gears, box=None)
    for r in rows:
        table.add_row(f"[bold]{escape(r.name)}[/]", *(_known(v) for v in r.speeds.values()))
    lines.append(table)


def _known(value: float) -> str:
    return cell(0.0 if abs(value) < 1e-12 else value) if np.isfinite(value) else "free"


def _share(value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return ""
    return f"{value:.2%}" if value > 0.0 else "locks"


def _tilt(unit: GearSystem, at: Settings) -> float:
    """Where the moving variable is [rad]."""
    place = unit.variables[unit.moving].start if unit.moving else 0.0
    for key, value in at.items():
        if key != unit.moving:
            raise InputError("--at", key, value, f"the moving variable: {unit.moving or 'this unit has none'}")
        variable = unit.variables[key]
        with AsInputError(ValueError, "--at", key, value, str):
            place = to_si(value, "rad")
        if not variable.min <= place <= variable.max:
            raise InputError("--at", key, value, f"an angle from {variable.min:g} to {variable.max:g} rad")
    return place


def errors(unit: GearSystem, fidelity: str, settings: Settings, found: dict[str, Any]) -> list[ErrorRow]:
    """The check's errors of this model for the page; those of the hybrid model are of its traction."""
    if found["parameters"] != shared_settings(unit, settings):
        raise InputError("--figures", "parameters", found["parameters"], "a check with the same --set")
    if fidelity == "hybrid":
        rows = found.get("traction", ())
        return [ErrorRow(*(e[k] for k in ("scenario", "signal", "unit", "nrms", "limit", "peak"))) for e in rows]
    return [
        ErrorRow(s["name"], e["signal"], e["unit"], float(e["nrms"]), float(e["limit"]), float(e["peak"]))
        for s in found["scenarios"]
        for e in s["errors"]
    ]


def shared_settings(unit: GearSystem, settings: Settings) -> dict[str, float | str]:
    """Parameters that both models have: not those of the couplings, which depend on the causality that is exported."""
    couplings = {f"{name}.{key}" for name in unit.ports for key in "cd"}
    return {name: value for name, value in settings.items() if name not in couplings}
