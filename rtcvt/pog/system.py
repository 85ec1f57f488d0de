"""A unit as a real-time `Model`, and the matrices of the theory at a tilt.

`build_model` writes the unit into one parameter vector (see `layout`): Algorithm 1 gives each entry of R as an
expression, and the expressions become one tape of instructions with common parts computed once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtcvt.control import kers, limits, position
from rtcvt.errors import InputError
from rtcvt.expression import Expression
from rtcvt.integrators import RK4, ROSENBROCK
from rtcvt.model import Fidelity, Instance, Model, Variable
from rtcvt.pog import kernels, layout
from rtcvt.pog.flange import coupling, with_flanges
from rtcvt.pog.friction import friction_signs
from rtcvt.pog.radii import radii_matrix
from rtcvt.unitfile import Port, Unit

__all__ = ["Matrices", "build_model", "matrices"]

Matrix = NDArray[np.float64]
_FIDELITIES = ("rigid", "full")

_OPERATIONS = {
    "+": layout.ADD,
    "-": layout.SUB,
    "*": layout.MUL,
    "/": layout.DIV,
    "neg": layout.NEG,
    "sin": layout.SIN,
    "cos": layout.COS,
    "sqrt": layout.SQRT,
}
_NO_LIMIT = 1e9  # [rad/s], for a storage gear without a rated speed
_STANDSTILL = 1.0  # omega_0 of the controller [rad/s]
_GRID = 41  # tilts at which the rank is checked
_SOFTEST = 1e-6  # least stiffness and damping of a coupling, by their defaults


class _Parameters:
    """The parameter vector while it is written: header, tables, tunable parameters."""

    def __init__(self) -> None:
        self.values = [0.0] * layout.HEADER_SIZE
        self.variables: list[Variable] = []

    def table(self, entry: int, values: list[float]) -> None:
        """Append a table and note its place in the header."""
        self.values[entry] = len(self.values)
        self.values += values

    def tunable(
        self,
        name: str,
        value: float,
        unit: str,
        description: str,
        minimum: float | None = None,
        maximum: float | None = None,
        display_unit: str | None = None,
    ) -> int:
        """Append a parameter of the variable table; returns its place."""
        self.values.append(value)
        place = len(self.values) - 1
        self.variables.append(
            Variable(
                name, "parameter", place, unit, description, value, minimum, maximum, abs(value) or None, display_unit
            )
        )
        return place


def build_model(unit: Unit, fidelity: Fidelity, substeps: int | None = None) -> Model:
    """The rigid or the full elastic model of a gear system.

    Parameters
    ----------
    unit : Unit
        A gear system.
    fidelity : {"rigid", "full"}
        Eqs. (9)-(11) or eq. (2).
    substeps : int, optional
        Instead of the unit's own.

    Raises
    ------
    InputError
        The fidelity is neither, the geometry is not feasible (Remark 2), or the full model has a gear without inertia.
    """
    if fidelity not in _FIDELITIES:
        raise InputError(unit.source, "model", fidelity, " or ".join(_FIDELITIES))
    gears, contacts = list(unit.gears), list(unit.contacts)
    n_J, n_K, n_1 = len(gears), len(contacts), len(unit.rigid.independent)
    if n_J - n_K != n_1:
        raise InputError(
            unit.source,
            "rigid.independent",
            list(unit.rigid.independent),
            f"{n_J} gears and {n_K} contacts leave {n_J - n_K} independent speeds (Remark 2: more gears than contacts)",
        )
    if fidelity == "full":
        for name, gear in unit.gears.items():
            if gear.inertia == 0.0:
                raise InputError(unit.source, f"gears.{name}.inertia", 0.0, "above 0 in the full model")
    springs = [(name, k) for name, port in unit.ports.items() for k in range(_springs(port))]
    ports = list(unit.ports)
    control = layout.KERS if unit.controller.kers else layout.POSITION if unit.controller.position else 0
    states = _states(unit, fidelity)

    signals = _signals(unit)
    p = _Parameters()
    for entry, value in (
        (layout.N_J, n_J),
        (layout.N_K, n_K),
        (layout.N_1, n_1),
        (layout.N_S, len(springs)),
        (layout.N_PORT, len(unit.ports)),
        (layout.N_FRICTION, len(unit.frictions)),
        (layout.N_X, len(states)),
        (layout.N_Y, sum(v.causality == "output" for v in signals)),
        (layout.FULL, fidelity == "full"),
        (layout.MOVING, unit.moving is not None),
        (layout.CONTROL, control),
        (layout.METHOD, RK4 if unit.solver.method == "rk4" else ROSENBROCK),
        (layout.INTERNAL_STEP, unit.solver.step / (substeps or unit.solver.substeps)),
        (layout.X_SPRING, n_J + n_K if fidelity == "full" else n_1),
        (layout.X_THETA, len(states) - 1 - (control == layout.KERS)),
        (layout.X_POWER, len(states) - 1),
    ):
        p.values[entry] = float(value)
    places = _tunables(p, unit, fidelity)
    n_register = _write_tape(p, unit, places)
    independent = list(unit.rigid.independent)
    order = [g for g in gears if g not in independent] + independent
    p.table(layout.ORDER, [float(gears.index(g)) for g in order])
    signs = friction_signs(unit)
    p.table(
        layout.FRICTION,
        [
            v
            for name, f in unit.frictions.items()
            for v in (gears.index(f.between[0]), gears.index(f.between[1]), signs[name], places[f"friction.{name}.b"])
        ],
    )
    first = 0
    rows: list[float] = []
    for port in unit.ports.values():
        rows += [gears.index(port.gear), first, _springs(port)]
        first += _springs(port)
    p.table(layout.PORT, rows)
    p.table(
        layout.SPRING,
        [
            v
            for name, k in springs
            for v in (
                ports.index(name),
                places[f"{name}.c" if unit.ports[name].coupled else f"{name}.K"],
                places[f"{name}.d"] if k == 1 else -1,
            )
        ],
    )
    if unit.controller.kers:
        p.values[layout.OWN_PORT] = ports.index(unit.controller.kers.port)
        p.values[layout.X_OWN] = gears.index(unit.ports[unit.controller.kers.port].gear) if fidelity == "full" else 0
    p.table(layout.START, [float(places[f"{g}|start"]) for g in independent])
    n_work = _write_work(p, n_J, n_K, n_1, len(states), n_register)

    model = Model(
        name=unit.name,
        description=unit.description,
        fidelity=fidelity,
        variables=(*p.variables, *signals),
        states=states,
        p=np.array(p.values, dtype=float),
        n_work=n_work,
        step_size=unit.solver.step,
        initialise=kernels.initialise,
        derivative=kernels.derivative,
        jacobian=kernels.jacobian,
        output=kernels.output,
        step=kernels.step,
        source=unit.text,
    )
    _check_feasible(unit, model)
    return model


def _springs(port: Port) -> int:
    """How many springs there are between a port and its gear, see `rtcvt.pog.flange`."""
    return 2 if port.coupled else 1 if port.spring is not None else 0


def _coupled_inertias(unit: Unit) -> dict[str, float]:
    """Least inertia [kg.m2] of the rigid model at each port with a coupling, see `rtcvt.pog.flange`."""
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


def _states(unit: Unit, fidelity: Fidelity) -> tuple[tuple[str, str], ...]:
    if fidelity == "full":
        states = [(f"gear.{g}.w", "rad/s") for g in unit.gears] + [(f"contact.{c}.F", "N") for c in unit.contacts]
    else:
        states = [(f"gear.{g}.w", "rad/s") for g in unit.rigid.independent]
    for name, port in unit.ports.items():
        names = [f"{name}.tau_1", f"{name}.tau_2"] if port.coupled else [f"{name}.tau"] * _springs(port)
        states += [(n, "N.m") for n in names]
    if unit.moving:
        states.append((f"control.{unit.moving}", "rad"))
    if unit.controller.kers:
        states.append(("control.power", "W"))
    return tuple(states)


def _tunables(p: _Parameters, unit: Unit, fidelity: Fidelity) -> dict[str, int]:
    """Write the tunable parameters; returns their places, and those of the start speeds as ``GEAR|start``."""
    places: dict[str, int] = {}

    def add(name: str, *row: object, **limits: object) -> int:
        places[name] = p.tunable(name, *row, **limits)  # type: ignore[arg-type]
        return places[name]

    for name, parameter in unit.parameters.items():
        display = {"m": "mm", "rad": "deg"}.get(parameter.unit)
        add(
            f"geometry.{name}",
            parameter.value,
            parameter.unit,
            parameter.description or f"geometry: {name}",
            0.0 if parameter.unit == "m" and parameter.value >= 0.0 else None,
            display_unit=display,
        )
    for entry, key, unit_of, text in (
        (layout.P_J, "J", "kg.m2", "moment of inertia"),
        (layout.P_B, "b", "N.m.s/rad", "viscous friction"),
    ):
        p.values[entry] = len(p.values)
        for name, gear in unit.gears.items():
            about = f" ({gear.description})" if gear.description else ""
            add(
                f"gear.{name}.{key}",
                gear.inertia if key == "J" else gear.friction,
                unit_of,
                f"{text} of gear {name}{about}",
                0.0,
            )
    if fidelity == "full":
        for entry, key, unit_of, text in (
            (layout.P_K, "K", "N/m", "tangential stiffness"),
            (layout.P_D, "d", "N.s/m", "damping"),
        ):
            p.values[entry] = len(p.values)
            for name, contact in unit.contacts.items():
                add(
                    f"contact.{name}.{key}",
                    contact.stiffness if key == "K" else contact.damping,
                    unit_of,
                    f"{text} of the contact of {' and '.join(contact.between)}",
                    0.0,
                )
    for name, friction in unit.frictions.items():
        add(
            f"friction.{name}.b",
            friction.coefficient,
            "N.m.s/rad",
            f"relative friction between {' and '.join(friction.between)}",
            0.0,
        )
    for name, port in unit.ports.items():
        if port.spring is not None:
            add(
                f"{name}.K",
                port.spring,
                "N.m/rad",
                f"torsional stiffness between port {name} and gear {port.gear}",
                0.0,
            )
            places[f"{port.gear}|start"] = add(
                f"{name}.w_start", port.w_start, "rad/s", f"start speed of port {name}", display_unit="rpm"
            )
    for name, inertia in _coupled_inertias(unit).items():
        c, d = coupling(inertia, unit.solver.step)
        about = f"between flange {name} and gear {unit.ports[name].gear}"
        add(f"{name}.c", c, "N.m/rad", f"stiffness of each of the two springs {about}", c * _SOFTEST)
        add(f"{name}.d", d, "N.m.s/rad", f"damper in series with one of the springs {about}", d * _SOFTEST)
    for gear_name in unit.rigid.independent:
        if f"{gear_name}|start" not in places:
            places[f"{gear_name}|start"] = add(
                f"gear.{gear_name}.w_start", 0.0, "rad/s", f"start speed of gear {gear_name}", display_unit="rpm"
            )
    if unit.moving:
        _control_block(p, unit, add)
    return places


def _control_block(p: _Parameters, unit: Unit, add: object) -> None:
    """Write the controller's block: limits, its own tunable parameters, and the start of the moving variable."""
    assert unit.moving is not None
    assert callable(add)
    variable = unit.variables[unit.moving]
    settings, position_settings = unit.controller.kers, unit.controller.position
    limit_time = settings.limit_time if settings else position_settings.limit_time if position_settings else 0.0
    slowest = max(limit_time, p.values[layout.INTERNAL_STEP])  # a stop must not be overrun within one step
    p.table(layout.P_CONTROL, [variable.min, variable.max, variable.rate_max, slowest])
    assert (limits.THETA_MIN, limits.THETA_MAX, limits.RATE_MAX, limits.LIMIT_TIME) == (0, 1, 2, 3)
    if settings is not None:
        assert (kers.K_THETA, kers.K_W, kers.TAU_FILTER, kers.W_MAX, kers.OMEGA_0, kers.STORAGE) == (4, 5, 6, 7, 8, 9)
        add("control.K_theta", settings.K_theta, "rad/(s.N.m)", "integral gain from torque error to tilt rate", 0.0)
        add("control.K_w", settings.K_w, "N.m.s/rad", "gain on the speed difference across the port's spring", 0.0)
        add(
            "control.tau_filter",
            settings.tau_filter,
            "s",
            "time constant of the filtered derivative of the energy",
            1e-6,
        )
        w_max = unit.gears[settings.storage].w_max
        p.values += [w_max or _NO_LIMIT, _STANDSTILL, float(list(unit.gears).index(settings.storage))]
    elif position_settings is not None:
        assert position.TIME_CONSTANT == 4
        add("control.time_constant", position_settings.time_constant, "s", "time constant of the actuator", 1e-6)
    p.values[layout.P_THETA_START] = add(
        f"control.{unit.moving}_start",
        variable.start,
        "rad",
        f"start of {unit.moving}",
        variable.min,
        variable.max,
        display_unit="deg",
    )


def _signals(unit: Unit) -> list[Variable]:
    """Inputs and outputs in the order of the layout."""
    inputs: list[Variable] = []
    outputs: list[Variable] = []

    def speed(name: str, text: str, w_max: float | None, output: bool = True, start: float | None = None) -> None:
        kind, rows = ("output", outputs) if output else ("input", inputs)
        low = None if w_max is None else -w_max
        rows.append(Variable(name, kind, len(rows), "rad/s", text, start, low, w_max, w_max or 100.0, "rpm"))  # type: ignore[arg-type]

    def torque(name: str, text: str, tau_max: float | None, output: bool = True, start: float | None = None) -> None:
        kind, rows = ("output", outputs) if output else ("input", inputs)
        low = None if tau_max is None else -tau_max
        rows.append(Variable(name, kind, len(rows), "N.m", text, start, low, tau_max, tau_max or 100.0))  # type: ignore[arg-type]

    for name, port in unit.ports.items():
        about = f" ({port.description})" if port.description else ""
        w_max = unit.gears[port.gear].w_max
        if port.coupled:
            text = f"speed of flange {name}{about}"
            speed(f"{name}.w", text, w_max, output=False, start=0.0)
            torque(f"{name}.tau", f"torque into the unit at flange {name}{about}: tau w is power in", port.tau_max)
        elif port.spring is None:
            torque(f"{name}.tau", f"torque into the unit at port {name}{about}", port.tau_max, output=False, start=0.0)
            speed(f"{name}.w", f"speed of port {name}{about}", w_max)
        else:
            speed(f"{name}.w", f"speed of the shaft at port {name}{about}", w_max, output=False, start=port.w_start)
            torque(f"{name}.tau", f"torque into the unit at port {name}{about}", port.tau_max)
    for name, port in unit.ports.items():
        if port.coupled:
            for key, unit_of, text in (("E", "J", "energy stored in"), ("loss", "W", "power lost in")):
                text = f"{text} the coupling at flange {name}"
                outputs.append(Variable(f"{name}.{key}", "output", len(outputs), unit_of, text, None, 0.0, nominal=1.0))
    if unit.moving:
        theta = unit.variables[unit.moving]
        about = theta.description or unit.moving
        if unit.controller.kers:
            tau_max = unit.ports[unit.controller.kers.port].tau_max
            torque("control.tau_des", "demanded torque into the unit", tau_max, output=False, start=0.0)
            torque("control.tau_est", "estimated torque into the unit", None)
        else:
            inputs.append(
                Variable(
                    f"control.{unit.moving}_des",
                    "input",
                    len(inputs),
                    "rad",
                    f"set point of {about}",
                    theta.start,
                    theta.min,
                    theta.max,
                    max(-theta.min, theta.max),
                    "deg",
                )
            )
        outputs.append(
            Variable(
                f"control.{unit.moving}",
                "output",
                len(outputs),
                "rad",
                about,
                None,
                theta.min,
                theta.max,
                max(-theta.min, theta.max),
                "deg",
            )
        )
        outputs.append(
            Variable(
                "control.saturated",
                "output",
                len(outputs),
                "1",
                "a limit of tilt, tilt rate or storage speed overrides the controller",
                boolean=True,
            )
        )
    outputs.append(
        Variable(
            "storage.E", "output", len(outputs), "J", "energy stored in gears and contacts", None, 0.0, None, 1e3, "kJ"
        )
    )
    for name, gear in unit.gears.items():
        about = f" ({gear.description})" if gear.description else ""
        speed(f"gear.{name}.w", f"speed of gear {name}{about}", gear.w_max)
    for name, contact in unit.contacts.items():
        i, j = contact.between
        outputs.append(
            Variable(
                f"contact.{name}.F",
                "output",
                len(outputs),
                "N",
                f"tangential force from {i} to {j}",
                nominal=1e3,
                display_unit="kN",
            )
        )
    return [*inputs, *outputs]


def _write_tape(p: _Parameters, unit: Unit, places: Mapping[str, int]) -> int:
    """Write R's entries as a tape of instructions; returns the number of registers.

    Instructions that do not depend on the moving variable come first, each common part once.
    """
    moving = unit.moving or ""
    entries = radii_matrix(unit)
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
            p.values.append(e.value)
            constants[e.value] = len(p.values) - 1
    register = {e: k for k, e in enumerate([*fixed, *varying])}
    tape: list[float] = []
    for e in register:
        if e.value is not None:
            tape += [layout.CONSTANT, constants[e.value], 0]
        elif e.op == "name":
            tape += [layout.THETA, 0, 0] if e.leaf == moving else [layout.CONSTANT, places[f"geometry.{e.leaf}"], 0]
        else:
            tape += [_OPERATIONS[e.op], register[e.args[0]], register[e.args[-1]]]
    p.table(layout.TAPE, tape)
    p.values[layout.TAPE_FIXED], p.values[layout.TAPE_END] = len(fixed), len(register)
    rows, columns = list(unit.contacts), list(unit.gears)
    ordered = sorted(entries.items(), key=lambda item: moving in item[1].names)
    p.table(
        layout.ENTRY,
        [float(v) for (contact, gear), e in ordered for v in (rows.index(contact), columns.index(gear), register[e])],
    )
    p.values[layout.ENTRY_FIXED] = sum(moving not in e.names for e in entries.values())
    p.values[layout.ENTRY_END] = len(entries)
    return len(register)


def _write_work(p: _Parameters, n_J: int, n_K: int, n_1: int, n_x: int, n_register: int) -> int:
    """Places of the scratch blocks; returns the size of ``work``."""
    sizes = {
        layout.W_REGISTER: 3 * n_register,
        layout.W_R: 2 * n_K * n_J,
        layout.W_Q: 3 * n_J * n_1,
        layout.W_RD: n_K * n_K,
        layout.W_RD_PIVOT: n_K,
        layout.W_L: 2 * n_1 * n_1,
        layout.W_L_PIVOT: n_1,
        layout.W_M: 2 * n_1 * n_1,
        layout.W_A: 2 * n_1 * n_1,
        layout.W_THETA: 2,
        layout.W_CONTROL: limits.CONTROL_SIZE,
        layout.W_TAU: n_J,
        layout.W_OMEGA: n_J,
        layout.W_V: n_J,
        layout.W_C: n_J,
        layout.W_SAVED: n_x + int(p.values[layout.N_Y]),
        layout.W_STEP: 10 * n_x + 2 * n_x * n_x,
    }
    place = 0
    for entry, size in sizes.items():
        p.values[entry] = place
        place += size
    return place


def _tilts(unit: Unit) -> list[float]:
    """The range of the moving variable [rad], or 0 if there is none."""
    if unit.moving is None:
        return [0.0]
    theta = unit.variables[unit.moving]
    return [float(t) for t in np.linspace(theta.min, theta.max, _GRID)]


def _check_feasible(unit: Unit, model: Model) -> None:
    """Remark 2 over the whole range of the moving variable: R has full rank and the choice of speeds is solvable."""
    instance = model.instantiate()
    rows, columns = list(unit.contacts), list(unit.gears)
    dependent = [i for i, g in enumerate(columns) if g not in unit.rigid.independent]
    for tilt in _tilts(unit):
        where = f" at {unit.moving} = {tilt:.3g} rad" if unit.moving else ""
        R = matrices(instance, tilt).R
        if not np.all(np.isfinite(R)):
            raise InputError(
                unit.source,
                "contacts",
                rows,
                f"the radii are not finite{where}: look for a division by zero in the coordinates",
            )
        scaled = R / np.maximum(np.abs(R).max(axis=1, initial=0.0, keepdims=True), 1e-300)
        if np.linalg.matrix_rank(scaled, tol=1e-9) < len(rows):
            raise InputError(
                unit.source,
                "contacts",
                rows,
                f"R has rank {np.linalg.matrix_rank(scaled, tol=1e-9)}{where}, "
                f"not {len(rows)}: the contacts are not independent (Remark 2)",
            )
        if rows and np.linalg.matrix_rank(scaled[:, dependent], tol=1e-6) < len(rows):
            raise InputError(
                unit.source,
                "rigid.independent",
                list(unit.rigid.independent),
                f"these speeds do not determine the others{where}; choose others of {', '.join(columns)}",
            )


@dataclass(frozen=True)
class Matrices:
    """The matrices of eqs. (2), (9) and (10) at a tilt, in the unit's order of gears and contacts.

    Shapes: R (n_K, n_J) [m]; Q1 (n_J, n_1); dQ1 (n_J, n_1), its derivative to theta; J and B_J (n_J, n_J)
    [kg.m2], [N.m.s/rad]; B_delta_omega likewise; L1, N1, A1 (n_1, n_1); B1 (n_1, n_J). N1 is per rad/s of the
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
    p, work = instance.p, instance.work
    kernels.prepare(p, work)
    kernels.kinematics(2, theta, p, work)
    n_J, n_K, n_1 = (int(p[i]) for i in (layout.N_J, layout.N_K, layout.N_1))

    def block(entry: int, rows: int, columns: int, number: int = 0) -> Matrix:
        start = int(p[entry]) + number * rows * columns
        return work[start : start + rows * columns].reshape(rows, columns).copy()

    J = np.diag(p[int(p[layout.P_J]) :][:n_J])
    B_J = np.empty((n_J, n_J))
    for column, speed in zip(B_J.T, np.eye(n_J), strict=True):
        torque = np.empty(n_J)
        kernels.friction_torques(speed, 1, p, torque)
        column[:] = torque
    Q1 = block(layout.W_Q, n_J, n_1)
    return Matrices(
        R=block(layout.W_R, n_K, n_J),
        dR=block(layout.W_R, n_K, n_J, 1),
        Q1=Q1,
        dQ1=block(layout.W_Q, n_J, n_1, 1),
        J=J,
        B_J=B_J,
        B_delta_omega=B_J - np.diag(p[int(p[layout.P_B]) :][:n_J]),
        L1=block(layout.W_L, n_1, n_1),
        N1=block(layout.W_M, n_1, n_1),
        A1=block(layout.W_A, n_1, n_1),
        B1=Q1.T,
    )
