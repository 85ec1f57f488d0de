"""Pieces of HTML about a gear system, and the page inside its FMU; texts are in ``pieces.html`` and ``page.html``.

The numbers of the equations are those of Tebaldi and Zanasi 2022.
"""

from collections.abc import Iterable, Mapping, Sequence

from rtcvt.html import ErrorRow, figure, macro, matrix, number, quantity, render, table, text
from rtcvt.look import variable
from rtcvt.model import Fidelity, Model
from rtcvt.pog.diagram import gear_colours, unit_diagram
from rtcvt.pog.system import matrices
from rtcvt.pog.unit import GearSystem


def schematic(unit: GearSystem, values: Mapping[str, float]) -> str:
    """The unit's diagram; `values` are parameters by full name [SI]."""
    return figure(
        unit_diagram(unit, values=values),
        "Kinematic scheme with radii to scale; gears on parallel axes are side by side.",
    )


def machine(unit: GearSystem, values: Mapping[str, float] | None = None) -> str:
    """Gears, contacts, relative frictions, ports and geometry as tables.

    Parameters
    ----------
    unit : GearSystem
        The machine.
    values : mapping, optional
        Parameters by full name [SI] instead of the unit's own.
    """
    given = values or {}
    colours = gear_colours(unit)

    def gear_cell(name: str) -> str:
        return f'<span class="chip" style="background:{variable(colours[name])}"></span><b>{text(name)}</b>'

    gears = [
        (
            gear_cell(name), text(gear.description),
            quantity(given.get(f"gear.{name}.J", gear.inertia), "kg.m2"),
            quantity(given.get(f"gear.{name}.b", gear.friction), "N.m.s/rad"),
            text(gear.carrier or ""), quantity(gear.w_max, "rad/s", "rpm"),
        )
        for name, gear in unit.gears.items()
    ]  # fmt: skip
    contacts = [
        (
            f"<b>{text(name)}</b>", f"from {text(c.between[0])} to {text(c.between[1])}",
            quantity(given.get(f"contact.{name}.K", c.stiffness), "N/m", "kN/m"),
            quantity(given.get(f"contact.{name}.d", c.damping), "N.s/m"),
            f"<code>{text(c.point[0])}</code>, <code>{text(c.point[1])}</code>",
        )
        for name, c in unit.contacts.items()
    ]  # fmt: skip
    frictions = [
        (f"<b>{text(name)}</b>", f"{text(f.between[0])} and {text(f.between[1])}",
         quantity(given.get(f"friction.{name}.b", f.coefficient), "N.m.s/rad"))
        for name, f in unit.frictions.items()
    ]  # fmt: skip
    ports = [
        (
            f"<b>{text(name)}</b>", text(port.description), gear_cell(port.gear),
            f"<code>{text(name)}.{'w' if port.speed_in else 'tau'}</code>",
            f"<code>{text(name)}.{'tau' if port.speed_in else 'w'}</code>",
            quantity(given.get(f"{name}.K", port.spring) if port.spring is not None else None, "N.m/rad"),
            quantity(port.tau_max, "N.m"),
        )
        for name, port in unit.ports.items()
    ]  # fmt: skip
    geometry = [
        (f"<code>{text(name)}</code>",
         quantity(given.get(f"geometry.{name}", p.value), p.unit, {"m": "mm", "rad": "deg"}.get(p.unit)),
         text(p.description))
        for name, p in unit.parameters.items()
    ]  # fmt: skip
    geometry += [
        (f"<code>{text(name)}</code>",
         f"{number(v.min)} … {number(v.max)} rad, at most {number(v.rate_max)} rad/s", text(v.description))
        for name, v in unit.variables.items()
    ]  # fmt: skip
    shown = (
        ("Gears", ("gear", "", "inertia", "viscous friction", "carried by", "rated speed"), gears, (2, 3, 5)),
        ("Contacts", ("contact", "positive force", "stiffness", "damping", "point (x, y)"), contacts, (2, 3)),
        ("Relative frictions", ("friction", "between", "coefficient"), frictions, (2,)),
        ("Ports", ("port", "", "gear", "in", "out", "torsional spring", "rated torque"), ports, (5, 6)),
        ("Geometry", ("name", "value", ""), geometry, (1,)),
    )
    cells = (f"<div>\n<h3>{title}</h3>\n{table(head, rows, n)}</div>\n" for title, head, rows, n in shown if rows)
    return '<div class="columns">\n' + "".join(cells) + "</div>\n"


def sets(unit: GearSystem) -> str:
    """The ordered sets of eq. (1)."""

    def line(index: str, names: Iterable[str]) -> str:
        listed = list(names)
        inside = ", ".join(f"<var>{text(n)}</var>" for n in listed)
        return (
            f"𝒩<sub><var>{index}</var></sub> = {{{inside}}},&#160; "
            f"<var>n</var><sub><var>{index}</var></sub> = {len(listed)}"
        )

    frictions = ("".join(f.between) for f in unit.frictions.values())
    lines = (line("J", unit.gears), line("K", unit.contacts), line("B", frictions))
    return "".join(f'<p class="math">{x}</p>\n' for x in lines)


def system_matrices(unit: GearSystem, model: Model, values: Mapping[str, float] | None = None) -> str:
    """R, Q1 and the reduced matrices as numbers, the moving variable at its start."""
    instance = model.instantiate()
    for name, value in (values or {}).items():
        if name in model.by_name:
            instance.p[model.by_name[name].index] = value
    start = unit.variables[unit.moving].start if unit.moving else 0.0
    m = matrices(instance, start)
    gears, contacts, independent = list(unit.gears), list(unit.contacts), list(unit.rigid.independent)
    speeds = [f"ω<sub>{text(g)}</sub>" for g in independent]
    where = f" at {'θ' if unit.moving == 'theta' else text(unit.moving)} = {number(start)} rad" if unit.moving else ""
    shown = [
        (f"<b>R</b>{where} [mm]", matrix(m.R, contacts, gears, 1e3)),
        (f"<b>Q</b><sub>1</sub>{where}", matrix(m.Q1, [f"ω<sub>{text(g)}</sub>" for g in gears], speeds)),
        (f"<b>L</b><sub>1</sub>{where} [kg·m²]", matrix(m.L1, independent, speeds)),
        (f"<b>A</b><sub>1</sub>{where} [N·m·s/rad]", matrix(m.A1, independent, speeds)),
    ]
    if unit.moving:
        shown.append((f"<b>N</b><sub>1</sub>{where} [kg·m² per rad/s]", matrix(m.N1, independent, speeds)))
    if unit.frictions:
        shown.append(("<b>B</b><sub>Δω</sub> [N·m·s/rad]", matrix(m.B_delta_omega, gears, gears)))
    cells = (f'<div>\n<h3 class="math">{head}</h3>\n{body}</div>\n' for head, body in shown)
    return '<div class="columns">\n' + "".join(cells) + "</div>\n"


_EQUATIONS = macro("rtcvt.pog:pieces.html", "equations")


def equations(unit: GearSystem, fidelity: Fidelity | None = None) -> str:
    """The model's equations with the numbers of Tebaldi and Zanasi 2022; both models' if no fidelity is given."""
    return _EQUATIONS(unit, fidelity)


def gear_page(model: Model, unit: GearSystem, errors: Sequence[ErrorRow] | None = None) -> str:
    """The page that ships inside an FMU.

    Parameters
    ----------
    model : Model
        Rigid or full model of `unit`.
    unit : GearSystem
        The machine.
    errors : sequence of ErrorRow, optional
        Results of the check of the rigid against the full model.

    Returns
    -------
    str
        A self-contained HTML page.
    """
    values = {v.name: float(model.p[v.index]) for v in model.select("parameter")}
    return render(
        "rtcvt.pog:page.html", model=model, unit=unit, errors=errors, schematic=schematic(unit, values),
        sets=sets(unit), matrices=system_matrices(unit, model),
        worst=max((r.share for r in errors or ()), default=0.0),
    )  # fmt: skip
