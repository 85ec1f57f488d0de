"""What the commands do with units of kind belt."""

import json
import math

from rich.markup import escape
from rich.table import Table

from rtcvt.cli.console import number, out


def show_belt(unit: str, as_json: bool) -> None:
    """Taut belt of a drive: where it leaves each pulley, its wraps and spans."""
    from rtcvt.belt.unit import load_belt_unit

    drive = load_belt_unit(unit)
    path = drive.path()
    rows = [
        {"pulley": name, "side": pulley.side, "radius": float(path.radius[i]), "wrap": float(path.wrap[i]),
         "leaves_at": path.leaving(i).tolist(), "span": float(path.span[i])}
        for i, (name, pulley) in enumerate(drive.pulleys.items())
    ]  # fmt: skip
    found = {"unit": drive.name, "kind": drive.kind, "length": path.length, "rest_length": drive.rest_length()}
    if as_json:
        print(json.dumps({**found, "pulleys": rows}, indent=2, allow_nan=False))
        return
    out.print(f"[bold]{drive.name}[/], a belt drive: {escape(drive.description)}")
    out.print(f"belt of {path.length:.6g} m, {drive.rest_length():.6g} m without load, round {drive.winding}")
    table = Table("pulley", "side", "radius, m", "wrap, deg", "leaves at, m", "span to the next, m", box=None)
    for row in rows:
        x, y = row["leaves_at"]
        table.add_row(row["pulley"], row["side"], number(row["radius"]), f"{math.degrees(row['wrap']):.2f}",
                      f"({number(x)}, {number(y)})", number(row["span"]))  # fmt: skip
    out.print(table)
