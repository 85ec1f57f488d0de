"""Tasks of the commands for belt drives."""

import math
from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.html import ErrorRow
from rtcvt.kind import Shown, cell


def show(drive: BeltUnit, given: Mapping[str, Any]) -> Shown:
    """Taut belt of a drive: where it leaves each pulley, its wraps and spans."""
    path = drive.path()
    rows = [
        {"pulley": name, "side": pulley.side, "radius": float(path.radius[i]), "wrap": float(path.wrap[i]),
         "leaves_at": path.leaving(i).tolist(), "span": float(path.span[i])}
        for i, (name, pulley) in enumerate(drive.pulleys.items())
    ]  # fmt: skip
    found = {"unit": drive.name, "kind": drive.kind, "length": path.length, "rest_length": drive.rest_length()}
    table = Table("pulley", "side", "radius, m", "wrap, deg", "leaves at, mm", "span to the next, m", box=None)
    for row in rows:
        x, y = row["leaves_at"]
        table.add_row(row["pulley"], row["side"], cell(row["radius"]), f"{math.degrees(row['wrap']):.2f}",
                      f"({1e3 * x:.1f}, {1e3 * y:.1f})", cell(row["span"]))  # fmt: skip
    title = f"[bold]{drive.name}[/], a belt drive: {escape(drive.description)}"
    about = f"belt of {path.length:.6g} m, {drive.rest_length():.6g} m without load, round {drive.winding}"
    return Shown({**found, "pulleys": rows}, [title, about, table])


def errors(drive: BeltUnit, fidelity: str, settings: Mapping[str, Any], found: dict[str, Any]) -> list[ErrorRow]:
    """The check's errors for the page."""
    if fidelity != "hybrid":
        raise InputError("--figures", "model", fidelity, "hybrid: the check of a belt drive measures no other model")
    if settings:
        raise InputError("--figures", "--set", next(iter(settings)), "none: the check was made with the unit's values")
    units = {"speed": "rad/s", "tension": "N", "torque": "N.m"}
    return [
        ErrorRow(case["name"], e["signal"], units[e["kind"]], float(e["smooth"]), float(e["limit"]), float(e["scale"]))
        for case in (*found["load_cases"], *found.get("drawn_cases", ()))
        for e in case["errors"]
    ]
