"""A unit as a real-time `Model`, and the matrices of the theory at a tilt.

`build_model` writes the unit into parameters and constants (see `layout`): Algorithm 1 gives each entry of R as an
expression, and the expressions become one tape of instructions with common parts computed once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtcvt.control import kers, limits, position
from rtcvt.errors import InputError
from rtcvt.files.expression import Expression
from rtcvt.model import Coupling, Fidelity, Instance, Model, model_of
from rtcvt.model.coupling import SOFTEST, coupling
from rtcvt.numerics.integrators import RK4, ROSENBROCK
from rtcvt.pog import kernels, layout, places
from rtcvt.pog.elements import DAMPING_TIME, TOOTH_RATE, TWIST_AT_CAPACITY
from rtcvt.pog.flange import with_flanges
from rtcvt.pog.friction import friction_signs
from rtcvt.pog.layout import Control, CouplingY, D, ElementY, Op, PlayY, Reduced
from rtcvt.pog.mesh import least_force, speed_of
from rtcvt.pog.radii import axis_sign, efficiencies, play_width, radii_matrix
from rtcvt.pog.reduction import friction_torques, kinematics
from rtcvt.pog.spin import Spin, traction_contacts
from rtcvt.pog.unit import Element, GearSystem, Port, Variable
from rtcvt.table import TOO_COARSE, Constants, Row, Table

Matrix = NDArray[np.float64]
_FIDELITIES = ("rigid", "hybrid", "full")

_OPERATIONS = {op.text: op for op in Op}
_NO_LIMIT = 1e9  # [rad/s], for a storage gear without a rated speed
_STANDSTILL = 1.0  # omega_0 of the controller [rad/s]
_TILT_POINTS = 41  # tilts at which the rank is checked


def build_model(unit: GearSystem, fidelity: Fidelity, substeps: int | None = None) -> Model:
    """The rigid, the hybrid or the full elastic model of a gear system.

    Parameters
    ----------
    unit : GearSystem
        A gear system.
    fidelity : {"rigid", "hybrid", "full"}
        Eqs. (9)-(11), eq. (2) with traction (`rtcvt.pog.traction`), or eq. (2).
    substeps : int, optional
        Instead of the unit's own.

    Raises
    ------
    InputError
        There is no such model, the geometry is not feasible (Remark 2), or a gear that needs it has no inertia.
    """
    _require_possible(unit, fidelity)
    data, table = Constants(D), Table()
    data[D.N_J], data[D.N_K], data[D.N_1] = len(unit.gears), len(unit.contacts), len(unit.rigid.independent)
    data[D.N_PORT], data[D.N_FRICTION] = len(unit.ports), len(unit.frictions)
    data[D.FULL], data[D.MOVING] = fidelity != "rigid", unit.moving is not None
    spins = traction_contacts(unit) if fidelity == "hybrid" else []
    data[D.N_TRACTION] = len(spins)
    slipping = [spin.contact for spin in spins]
    data.table(D.FORCE, _force_places(unit, slipping))
    data[D.CONTROL] = _control(unit)
    data[D.METHOD] = RK4 if unit.solver.method == "rk4" else ROSENBROCK
    data[D.INTERNAL_STEP] = unit.solver.step / (substeps or unit.solver.substeps)
    places = _parameters(table, data, unit, slipping)
    _inputs(table, data, unit)
    _outputs(table, data, unit)
    _states(table, data, unit, slipping)
    _elements(table, data, unit, places)
    _traction(table, data, unit, spins)
    data[D.N_X], data[D.N_Y], data[D.N_U] = (table.size(kind) for kind in ("state", "output", "input"))
    _write_tape(data, unit, places, spins)
    _write_tables(data, unit, places)
    data.table(D.SIZES, [v.nominal or 1.0 for v in table.states])
    coupled = kernels.coupled_linearise, kernels.coupled_port, kernels.coupled_flange, kernels.coupled_piece
    limits = tuple(v.name for v in table.variables if v.name == layout.LIMITED.name)
    others = tuple(v.name for v in table.variables if v.causality == "output" and v.index >= len(unit.ports))
    model = model_of(
        unit, fidelity, table, kernels, n_work=data.place_blocks(), data=data.array(), step_size=unit.solver.step,
        internal_step=data[D.INTERNAL_STEP], coupling=Coupling(*coupled, limits, kernels.cheap_output, others),
    )  # fmt: skip
    _check_feasible(unit, model)
    return model


def _require_possible(unit: GearSystem, fidelity: str) -> None:
    if fidelity not in _FIDELITIES:
        raise InputError(unit.source, "model", fidelity, " or ".join(_FIDELITIES))
    n_J, n_K, n_1 = len(unit.gears), len(unit.contacts), len(unit.rigid.independent)
    if (left := n_J - n_K) != n_1:
        allowed = f"{n_J} gears and {n_K} contacts leave {left} independent speeds (Remark 2: more gears than contacts)"
        raise InputError(unit.source, "rigid.independent", list(unit.rigid.independent), allowed)
    if fidelity == "hybrid" and unit.traction is None:
        raise InputError(unit.source, "model", fidelity, "rigid or full: this unit has no 'traction'")
    if fidelity != "rigid":
        for name, gear in unit.gears.items():
            if gear.inertia == 0.0:
                raise InputError(unit.source, f"gears.{name}.inertia", 0.0, f"above 0 in the {fidelity} model")


def _control(unit: GearSystem) -> Control:
    if unit.controller.kers:
        return Control.KERS
    return Control.POSITION if unit.controller.position else Control.NONE


def _elements(table: Table, data: Constants, unit: GearSystem, places: Mapping[str, int]) -> None:
    """Clutches, brakes and dry bearings: their actuations, outputs and states, and their table."""
    gears, elements, contacts = list(unit.gears), _elements_of(unit, data), list(unit.contacts)
    plays = {name.removeprefix("play."): k for k, name in enumerate(elements) if name.startswith("play.")}
    data[D.N_E], data[D.N_LOSS] = len(elements), sum(name.startswith("mesh.") for name in elements)
    data[D.N_PLAY] = len(plays)
    fields = [{"name": name, "about": _element_text(name, element)} for name, (element, _) in elements.items()]
    rows: list[float] = []
    for own, (name, (element, (one, other))) in zip(fields, elements.items(), strict=True):
        row: list[float] = [gears.index(one), 0 if other is None else gears.index(other)]
        row += [0 if other is None else axis_sign(unit, one, other), *element.bounds]
        row += [table.add("input", layout.ACTUATION, 0.0, own) if element.actuated else -1]
        group, _, mesh = name.partition(".")
        what = {"mesh": "eta", "play": "play"}.get(group)
        row += [places[f"contact.{mesh}.{what}" if what else f"{name}.C"], contacts.index(mesh) if what else -1]
        oil = unit.contacts[mesh].oil if what == "eta" else None
        row += [0.0, 0.0, 0.0] if oil is None else [max(oil.force, least_force(oil)), speed_of(oil), least_force(oil)]
        rows += row
    data.table(D.ELEMENT, rows)
    data.table(D.PLAY, [float(plays.get(name, -1)) for name in contacts])
    own_plays = [c for c in _contacts(unit) if c["name"] in plays]
    fields = fields[: len(fields) - len(plays)]
    table.each("output", ElementY, fields)
    table.each("output", PlayY, own_plays)
    data[D.X_PHI] = table.each("state", [layout.TWIST], fields)
    table.each("state", [layout.LEAD], own_plays)
    table.each("state", [layout.HEAT], fields)
    table.each("state", [PlayY.HEAT], own_plays)


def _elements_of(unit: GearSystem, data: Constants) -> dict[str, tuple[Element, tuple[str, str | None]]]:
    """Elements of the model: the rigid one has no play."""
    return {name: e for name, e in unit.elements.items() if data[D.FULL] or not name.startswith("play.")}


def _element_text(name: str, element: Element) -> str:
    group, _, own = name.partition(".")
    what = {"bearing": "the dry friction of gear", "mesh": "the loss of contact", "play": "contact"}.get(group)
    what = what or f"one-way {group}" if element.one_way else group
    return f"{what} {own}{_about(element.description)}"


def _write_tables(data: Constants, unit: GearSystem, places: Mapping[str, int]) -> None:
    """Order of the speeds, relative frictions, ports with their springs, and where the start speeds are."""
    gears, ports, independent = list(unit.gears), list(unit.ports), list(unit.rigid.independent)
    order = [g for g in gears if g not in independent] + independent
    data.table(D.ORDER, [gears.index(g) for g in order])
    signs = friction_signs(unit)
    rows: list[float] = []
    for name, f in unit.frictions.items():
        rows += [*(gears.index(g) for g in f.between), signs[name], places[f"friction.{name}.b"]]
    data.table(D.FRICTION, rows)
    rows = []
    springs: list[float] = []
    for name, port in unit.ports.items():
        rows += [gears.index(port.gear), len(springs) // 3, _springs(port)]
        if port.coupled:
            springs += [ports.index(name), places[f"{name}.c"], -1]
            springs += [ports.index(name), places[f"{name}.c"], places[f"{name}.d"]]
        elif port.spring is not None:
            springs += [ports.index(name), places[f"{name}.K"], -1]
    data.table(D.PORT, rows)
    data.table(D.SPRING, springs)
    data[D.N_S] = len(springs) // 3
    if unit.controller.kers:
        data[D.OWN_PORT] = ports.index(unit.controller.kers.port)
        data[D.X_OWN] = gears.index(unit.ports[unit.controller.kers.port].gear) if data[D.FULL] else 0
    data.table(D.START, [places[f"{g}|start"] for g in independent])


def _springs(port: Port) -> int:
    """How many springs there are between a port and its gear, see `rtcvt.model.coupling`."""
    return 2 if port.coupled else 1 if port.spring is not None else 0


def _coupled_inertias(unit: GearSystem) -> dict[str, float]:
    """Least inertia [kg.m2] of the rigid model at each port with a coupling, see `rtcvt.model.coupling`."""
    gears = list(unit.gears)
    coupled = {name: port for name, port in unit.ports.items() if port.coupled}
    if not coupled:
        return {}
    instance = build_model(with_flanges(unit, dict.fromkeys(coupled, "torque")), "rigid").instantiate()
    largest = dict.fromkeys(coupled, 0.0)  # 1/J
    for theta in _tilts(unit):
        m = matrices(instance, theta)
        for name, port in coupled.items():
            Q = m.Q1[gears.index(port.gear)]
            with np.errstate(all="ignore"):
                largest[name] = max(largest[name], float(Q @ np.linalg.pinv(m.L1) @ Q))
    for name, inverse in largest.items():
        if not 0.0 < inverse < np.inf:
            raise InputError(unit.source, f"ports.{name}.flange", "speed", "a port that turns an inertia")
    return {name: 1.0 / inverse for name, inverse in largest.items()}


def _about(description: str) -> str:
    return f" ({description})" if description else ""


def _gears(unit: GearSystem) -> list[dict[str, str]]:
    return [{"name": name, "about": _about(gear.description)} for name, gear in unit.gears.items()]


def _contacts(unit: GearSystem) -> list[dict[str, str]]:
    return [{"name": name, "i": contact.between[0], "j": contact.between[1]} for name, contact in unit.contacts.items()]


def _theta_row(row: Row, variable: Variable) -> Row:
    return row._replace(minimum=variable.min, maximum=variable.max, nominal=max(-variable.min, variable.max))


def _within(row: Row, most: float | None) -> Row:
    """The row with the limit that the unit file gives, of either sign."""
    return row if most is None else row._replace(minimum=-most, maximum=most, nominal=most or row.nominal)


def _force_places(unit: GearSystem, slipping: list[str]) -> list[float]:
    """Of each contact the place of its force in x, or -1 less its number among those with traction."""
    springs = [name for name in unit.contacts if name not in slipping]
    n_J = len(unit.gears)
    return [-1.0 - slipping.index(c) if c in slipping else float(n_J + springs.index(c)) for c in unit.contacts]


def _traction(table: Table, data: Constants, unit: GearSystem, spins: list[Spin]) -> None:
    """Parameters, input, outputs, state and tables of the contacts that transmit by traction."""
    settings = unit.traction
    if not spins or settings is None:
        return
    from rtcvt.traction.law import law_numbers  # its table needs the reader of HDF5

    given = {"limit": settings.fluid.limit, **settings.model_dump(include=set(layout.TRACTION_P))}
    places = [table.add("parameter", row, given[key]) for key, row in layout.TRACTION_P.items()]
    area = settings.piston_area
    load = layout.LOAD if area is None else layout.PRESSURE
    data[D.P_TRACTION], data[D.U_LOAD] = places[0], table.add("input", load, 0.0)
    data[D.PER_INPUT], data[D.BY_REACTION] = area or 1.0, settings.by_reaction
    data[D.Y_TRACTION] = table.each("output", layout.TractionsY)
    contacts = {c["name"]: c for c in _contacts(unit)}
    table.each("output", layout.TractionY, [contacts[spin.contact] for spin in spins])
    data[D.Y_PRESSURE] = -1.0 if area is None else table.add("output", layout.PRESSURE_Y)
    data[D.ROLLERS], data[D.ALL_ROLLERS] = settings.rollers, settings.rollers * settings.cavities
    data[D.BEARING], data[D.CHURNING] = settings.bearing_friction * settings.bearing_radius, settings.churning
    data[D.DEVIATION] = settings.fluid.deviation
    known: dict[object, int] = {}
    rows: list[float] = []
    for spin in spins:
        shape = (spin.drawing, spin.radii)
        if shape not in known:
            known[shape] = len(data.numbers)
            data.numbers += law_numbers(spin.drawing, settings.fluid.fluid, *spin.radii)
        gears = list(unit.gears)
        contact = list(unit.contacts).index(spin.contact)
        rows += [contact, gears.index(spin.disc), gears.index(spin.roller), known[shape]]
    data.table(D.TRACTION, rows)


def _states(table: Table, data: Constants, unit: GearSystem, slipping: list[str]) -> None:
    names = list(unit.gears) if data[D.FULL] else unit.rigid.independent
    for name in names:
        table.add("state", layout.GEAR_SPEED, None, {"name": name, "about": ""})
    if data[D.FULL]:
        table.each("state", [layout.CONTACT_FORCE], [c for c in _contacts(unit) if c["name"] not in slipping])
    data[D.X_SPRING] = table.size("state")
    for name, port in unit.ports.items():
        if port.coupled:
            table.each("state", [layout.COUPLING_TORQUE], [{"name": name, "k": k} for k in (1, 2)])
        elif port.spring is not None:
            table.add("state", layout.SPRING_TORQUE, None, {"name": name})
    if unit.moving:
        variable = unit.variables[unit.moving]
        fields = {"name": unit.moving, "about": variable.description or unit.moving}
        data[D.X_THETA] = table.add("state", _theta_row(layout.THETA, variable), None, fields)
    if unit.controller.kers:
        data[D.X_POWER] = table.add("state", layout.POWER)
    if slipping:
        data[D.X_LOAD] = table.add("state", layout.END_LOAD)


def _parameters(table: Table, data: Constants, unit: GearSystem, slipping: list[str]) -> dict[str, int]:
    """Write the parameters; returns their places by name, and those of the start speeds as ``GEAR|start``."""
    gears, contacts = _gears(unit), _contacts(unit)
    for name, parameter in unit.parameters.items():
        row = layout.GEOMETRY._replace(
            unit=parameter.unit,
            minimum=0.0 if parameter.unit == "m" and parameter.value >= 0.0 else None,
            display={"m": "mm", "rad": "deg"}.get(parameter.unit),
        )
        fields = {"name": name, "about": parameter.description or f"geometry: {name}"}
        table.add("parameter", row, parameter.value, fields)
    data[D.P_J] = table.parameters(layout.GEAR_J, [g.inertia for g in unit.gears.values()], gears)
    data[D.P_B] = table.parameters(layout.GEAR_B, [g.friction for g in unit.gears.values()], gears)
    if data[D.FULL]:
        springs = [c for c in contacts if c["name"] not in slipping]
        given = [unit.contacts[c["name"]] for c in springs]
        data[D.P_K] = table.parameters(layout.CONTACT_K, [c.stiffness for c in given], springs)
        data[D.P_D] = table.parameters(layout.CONTACT_D, [c.damping for c in given], springs)
    for name, friction in unit.frictions.items():
        fields = {"name": name, "i": friction.between[0], "j": friction.between[1]}
        table.add("parameter", layout.FRICTION_B, friction.coefficient, fields)
    eta = efficiencies(unit)
    J = sum(gear.inertia for gear in unit.gears.values()) or 1.0
    for name, (element, _) in _elements_of(unit, data).items():
        assert element.capacity is not None
        if name.startswith("play."):
            fields = next(c for c in contacts if c["name"] == name.removeprefix("play."))
            table.add("parameter", layout.CONTACT_PLAY, play_width(unit, fields["name"]), fields)
            continue
        K = element.stiffness or element.capacity / TWIST_AT_CAPACITY
        d = element.damping or K * DAMPING_TIME
        own = {"name": name, "about": _element_text(name, element)}
        if name.startswith("mesh."):
            contact = name.removeprefix("mesh.")
            i, j = unit.contacts[contact].between
            table.add("parameter", layout.CONTACT_ETA, eta[contact], {"name": contact, "i": i, "j": j})
            K, d = J * TOOTH_RATE**2, 2.0 * J * TOOTH_RATE
        else:
            table.add("parameter", layout.ELEMENT_C, element.capacity, own)
        table.add("parameter", layout.ELEMENT_K, K, own)
        table.add("parameter", layout.ELEMENT_D, d, own)
    start: dict[str, int] = {}
    for name, port in unit.ports.items():
        if port.spring is not None:
            fields = {"name": name, "gear": port.gear}
            table.add("parameter", layout.PORT_K, port.spring, fields)
            start[port.gear] = table.add("parameter", layout.PORT_START, port.w_start, fields)
    for name, inertia in _coupled_inertias(unit).items():
        for row, value in zip((layout.COUPLING_C, layout.COUPLING_D), coupling(inertia, unit.solver.step), strict=True):
            fields = {"name": name, "gear": unit.ports[name].gear}
            table.add("parameter", row._replace(minimum=value * SOFTEST), value, fields)
    for name in unit.rigid.independent:
        if name not in start:
            start[name] = table.add("parameter", layout.GEAR_START, 0.0, {"name": name})
    if unit.moving:
        _control_block(table, data, unit)
    return {v.name: v.index for v in table.variables} | {f"{name}|start": place for name, place in start.items()}


def _control_block(table: Table, data: Constants, unit: GearSystem) -> None:
    """Write the controller's numbers: limits, its own parameters, and the start of the moving variable."""
    assert unit.moving is not None
    variable = unit.variables[unit.moving]
    settings, position_settings = unit.controller.kers, unit.controller.position
    limit_time = settings.limit_time if settings else position_settings.limit_time if position_settings else 0.0
    law = {  # place in p or -1, constant
        limits.THETA_MIN: (-1.0, variable.min),
        limits.THETA_MAX: (-1.0, variable.max),
        limits.RATE_MAX: (-1.0, variable.rate_max),
        limits.LIMIT_TIME: (-1.0, max(limit_time, data[D.INTERNAL_STEP])),  # no stop is overrun within one step
    }
    if settings is not None:
        for number, row, value in (
            (kers.K_THETA, layout.K_THETA, settings.K_theta),
            (kers.K_W, layout.K_W, settings.K_w),
            (kers.TAU_FILTER, layout.TAU_FILTER, settings.tau_filter),
        ):
            law[number] = (table.add("parameter", row, value), 0.0)
        law[kers.W_MAX] = (-1.0, unit.gears[settings.storage].w_max or _NO_LIMIT)
        law[kers.OMEGA_0] = (-1.0, _STANDSTILL)
        data[D.STORAGE] = list(unit.gears).index(settings.storage)
    elif position_settings is not None:
        place = table.add("parameter", layout.TIME_CONSTANT, position_settings.time_constant)
        law[position.TIME_CONSTANT] = (place, 0.0)
    data[D.N_LAW] = len(law)
    data.table(D.LAW, [number for k in range(len(law)) for number in law[k]])
    row = layout.THETA_START._replace(minimum=variable.min, maximum=variable.max)
    data[D.P_THETA_START] = table.add("parameter", row, variable.start, {"name": unit.moving})


def _inputs(table: Table, data: Constants, unit: GearSystem) -> None:
    for name, port in unit.ports.items():
        fields = {"name": name, "about": _about(port.description)}
        w_max = unit.gears[port.gear].w_max
        if port.coupled:
            table.add("input", _within(layout.FLANGE_SPEED_IN, w_max), 0.0, fields)
        elif port.spring is None:
            table.add("input", _within(layout.TORQUE_IN, port.tau_max), 0.0, fields)
        else:
            table.add("input", _within(layout.SHAFT_SPEED_IN, w_max), port.w_start, fields)
    if unit.controller.kers:
        demand = _within(layout.DEMAND, unit.ports[unit.controller.kers.port].tau_max)
        data[D.U_CONTROL] = table.add("input", demand, 0.0)
    elif unit.moving:
        theta = unit.variables[unit.moving]
        fields = {"name": unit.moving, "about": theta.description or unit.moving}
        data[D.U_CONTROL] = table.add("input", _theta_row(layout.SET_POINT, theta), theta.start, fields)


def _outputs(table: Table, data: Constants, unit: GearSystem) -> None:
    for name, port in unit.ports.items():
        fields = {"name": name, "about": _about(port.description)}
        w_max = unit.gears[port.gear].w_max
        if port.coupled:
            table.add("output", _within(layout.FLANGE_TORQUE_OUT, port.tau_max), fields=fields)
        elif port.spring is None:
            table.add("output", _within(layout.SPEED_OUT, w_max), fields=fields)
        else:
            table.add("output", _within(layout.TORQUE_IN, port.tau_max), fields=fields)
    coupled = [{"name": name} for name, port in unit.ports.items() if port.coupled]
    data[D.Y_COUPLING] = table.each("output", CouplingY, coupled)
    if unit.controller.kers:
        data[D.Y_TAU_EST] = table.add("output", layout.TAU_EST)
    if unit.moving:
        theta = unit.variables[unit.moving]
        fields = {"name": unit.moving, "about": theta.description or unit.moving}
        data[D.Y_THETA] = table.add("output", _theta_row(layout.THETA, theta), fields=fields)
        data[D.Y_LIMITED] = table.each("output", [layout.LIMITED, TOO_COARSE])
    data[D.Y_E] = table.add("output", layout.ENERGY)
    table.add("output", layout.LOST)
    for fields, gear in zip(_gears(unit), unit.gears.values(), strict=True):
        table.add("output", _within(layout.GEAR_SPEED, gear.w_max), fields=fields)
    table.each("output", [layout.CONTACT_FORCE], _contacts(unit))


def _write_tape(data: Constants, unit: GearSystem, places: Mapping[str, int], spins: list[Spin]) -> None:
    """Write R's entries, and those of S below, as a tape of instructions.

    Instructions that do not depend on the moving variable come first, each common part once.
    """
    moving = unit.moving or ""
    entries = radii_matrix(unit)
    entries |= {(f"spin {spin.contact}", gear): e for spin in spins for gear, e in spin.S.items()}
    fixed: list[Expression] = []
    varying: list[Expression] = []
    seen: set[Expression] = set()

    def collect(e: Expression) -> None:
        if e in seen:
            return
        seen.add(e)
        for argument in e.args:
            collect(argument)
        (varying if moving in e.names else fixed).append(e)

    for e in entries.values():
        collect(e)
    constants: dict[float, int] = {}
    for e in fixed:
        if e.value is not None and e.value not in constants:
            constants[e.value] = len(data.numbers)
            data.numbers.append(e.value)
    register = {e: k for k, e in enumerate([*fixed, *varying])}
    tape: list[float] = []
    for e in register:
        if e.value is not None:
            tape += [Op.CONSTANT, constants[e.value], 0]
        elif e.op == "name":
            tape += [Op.THETA, 0, 0] if e.leaf == moving else [Op.PARAMETER, places[f"geometry.{e.leaf}"], 0]
        else:
            tape += [_OPERATIONS[e.op], register[e.args[0]], register[e.args[-1]]]
    data.table(D.TAPE, tape)
    data[D.TAPE_FIXED], data[D.TAPE_END] = len(fixed), len(register)
    rows, columns = [*unit.contacts, *(f"spin {spin.contact}" for spin in spins)], list(unit.gears)
    ordered = sorted(entries.items(), key=lambda item: moving in item[1].names)
    data.table(
        D.ENTRY,
        [float(v) for (contact, gear), e in ordered for v in (rows.index(contact), columns.index(gear), register[e])],
    )
    data[D.ENTRY_FIXED] = sum(moving not in e.names for e in entries.values())
    data[D.ENTRY_END] = len(entries)


def _tilts(unit: GearSystem) -> list[float]:
    """The range of the moving variable [rad], or 0 if there is none."""
    if unit.moving is None:
        return [0.0]
    theta = unit.variables[unit.moving]
    return [float(t) for t in np.linspace(theta.min, theta.max, _TILT_POINTS)]


def _check_feasible(unit: GearSystem, model: Model) -> None:
    """Remark 2 over the whole range of the moving variable: R has full rank and the choice of speeds is solvable."""
    instance = model.instantiate()
    rows, columns = list(unit.contacts), list(unit.gears)
    dependent = [i for i, g in enumerate(columns) if g not in unit.rigid.independent]
    for tilt in _tilts(unit):
        where = f" at {unit.moving} = {tilt:.3g} rad" if unit.moving else ""
        R = matrices(instance, tilt).R
        if not np.all(np.isfinite(R)):
            allowed = f"the radii are not finite{where}: look for a division by zero or a root of a negative number"
            raise InputError(unit.source, "contacts", rows, allowed)
        scaled = R / np.maximum(np.abs(R).max(axis=1, initial=0.0, keepdims=True), 1e-300)
        rank = np.linalg.matrix_rank(scaled, tol=1e-9)
        if rank < len(rows):
            allowed = f"R has rank {rank}{where}, not {len(rows)}: the contacts are not independent (Remark 2)"
            raise InputError(unit.source, "contacts", rows, allowed)
        if rows and np.linalg.matrix_rank(scaled[:, dependent], tol=1e-6) < len(rows):
            allowed = f"these speeds do not determine the others{where}; choose others of {', '.join(columns)}"
            raise InputError(unit.source, "rigid.independent", list(unit.rigid.independent), allowed)


@dataclass(frozen=True)
class Matrices:
    """The matrices of eqs. (2), (9) and (10) at a tilt, in the unit's order of gears and contacts.

    Shapes: R (n_K, n_J) [m]; Q1 (n_J, n_1); dQ1 (n_J, n_1), its derivative to theta; J and B_J (n_J, n_J)
    [kg.m2], [N.m.s/rad]; B_delta_omega in the same unit; L1, N1, A1 (n_1, n_1); B1 (n_1, n_J). N1 is per rad/s of the
    moving variable."""

    R: Matrix
    dR: Matrix
    Q1: Matrix
    dQ1: Matrix
    J: Matrix
    B_J: Matrix
    B_delta_omega: Matrix
    L1: Matrix
    N1: Matrix
    A1: Matrix
    B1: Matrix


def matrices(instance: Instance, theta: float = 0.0) -> Matrices:
    """Matrices that the kernels use at `theta` [rad], with the instance's parameters."""
    p, data, work = instance.p, instance.model.data, instance.work
    kernels.prepare(p, data, work)
    kinematics(2, theta, p, data, work)
    n_J, n_K, n_1 = places.gears(data), places.contacts(data), places.independents(data)

    def block(start: int, rows: int, columns: int) -> Matrix:
        return work[start : start + rows * columns].reshape(rows, columns).copy()

    J = np.diag([places.inertia(i, p, data) for i in range(n_J)])
    B_J = np.empty((n_J, n_J))
    for column, speed in zip(B_J.T, np.eye(n_J), strict=True):
        torque = np.empty(n_J)
        friction_torques(speed, 1, p, data, torque)
        column[:] = torque
    Q1 = block(places.gear_row(0, 0, data), n_J, n_1)
    return Matrices(
        R=block(places.contact_row(0, 0, data), n_K, n_J), dR=block(places.contact_row(1, 0, data), n_K, n_J), Q1=Q1,
        dQ1=block(places.gear_row(1, 0, data), n_J, n_1), J=J, B_J=B_J,
        B_delta_omega=B_J - np.diag([places.bearing(i, p, data) for i in range(n_J)]),
        L1=block(places.reduced(Reduced.L1, data), n_1, n_1), N1=block(places.reduced(Reduced.M, data), n_1, n_1),
        A1=block(places.reduced(Reduced.A1, data), n_1, n_1), B1=Q1.T,
    )  # fmt: skip
