"""A belt drive as a real-time `Model`; equations in `kernels`, places in `layout`."""

from collections.abc import Iterable

import numpy as np

from rtcvt.belt import kernels, layout
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.pog.flange import coupling

__all__ = ["build_belt"]

_KINDS = {"torque": layout.TORQUE, "speed": layout.SPEED, "none": layout.IDLER}
_SOFTEST = 1e-6  # least stiffness and damping of a coupling, by their defaults
_TINY = 1e-9  # least value of what must be above zero


def build_belt(unit: BeltUnit, fidelity: Fidelity = "hybrid", substeps: int | None = None) -> Model:
    """The hybrid or the rigid model of a belt drive.

    Parameters
    ----------
    unit : BeltUnit
        With a ``hybrid`` table.
    fidelity : {"hybrid", "rigid"}
        Spans with their own tension and creep on the pulleys, or one speed of the whole belt.
    substeps : int, optional
        Instead of the unit's own.

    Raises
    ------
    InputError
        The fidelity is neither, or the unit has no ``hybrid`` table.
    """
    if fidelity not in ("hybrid", "rigid"):
        raise InputError(unit.source, "model", fidelity, "hybrid or rigid")
    if unit.hybrid is None:
        raise InputError(unit.source, "hybrid", None, "a table with the friction coefficient mu of the real-time model")
    path, pulleys = unit.path(), list(unit.pulleys.values())
    n, faces = len(pulleys), unit.hybrid.cells + 1
    coupled = [name for name, p in unit.pulleys.items() if p.flange == "speed"]
    states = _states(unit, fidelity, faces, coupled)
    variables: list[Variable] = []
    p = [0.0] * layout.HEADER_SIZE

    def tunable(name: str, value: float, si: str, text: str, minimum: float | None = None, shown: str = "") -> None:
        p.append(value)
        nominal = abs(value) or None
        variables.append(
            Variable(name, "parameter", len(p) - 1, si, text, value, minimum, None, nominal, shown or None)
        )

    p[layout.P_BELT] = len(p)
    belt = unit.belt
    tunable("belt.EA", belt.EA, "N", "longitudinal stiffness of the belt", _TINY, "kN")
    tunable("belt.m", belt.mass, "kg/m", "mass of the belt per length without load", 0.0)
    tunable("belt.D", belt.damping, "N.s", "damping of strain", 0.0)
    tunable("belt.T_0", belt.pretension, "N", "tension of the whole belt at the start", _TINY)
    tunable("belt.v_start", 0.0, "m/s", "speed of the belt at the start, in the order of the pulleys")
    rows = (
        (layout.P_J, "J", "kg.m2", "moment of inertia of pulley", _TINY, [q.inertia for q in pulleys]),
        (layout.P_B, "b", "N.m.s/rad", "viscous friction of pulley", 0.0, [q.friction for q in pulleys]),
        (layout.P_MU, "mu", "1", "friction coefficient of the belt on pulley", 1e-3, [unit.hybrid.mu] * n),
    )
    for entry, key, si, text, least, values in rows:
        p[entry] = len(p)
        for name, value in zip(unit.pulleys, values, strict=True):
            tunable(f"{name}.{key}", value, si, f"{text} {name}", least)
    p[layout.P_COUPLING] = len(p)
    stretch = path.length / unit.rest_length()
    mass = belt.mass * path.length / stretch + sum(q.inertia / r**2 for q, r in zip(pulleys, path.radius, strict=True))
    for name in coupled:
        radius = path.radius[list(unit.pulleys).index(name)]
        c, d = coupling(float(mass * radius**2), unit.step)
        about = f"between flange {name} and its pulley"
        tunable(f"{name}.c", c, "N.m/rad", f"stiffness of each of the two springs {about}", c * _SOFTEST)
        tunable(f"{name}.d", d, "N.m.s/rad", f"damper in series with one of the springs {about}", d * _SOFTEST)

    p[layout.GEOMETRY] = len(p)
    for i in range(n):
        p += [path.sigma[i], path.radius[i], path.wrap[i], path.span[i], *path.direction[i]]
    p[layout.FLANGE] = len(p)
    free = 0
    for name, q in unit.pulleys.items():
        p += [_KINDS[q.flange], free, coupled.index(name) if name in coupled else 0]
        free += q.flange != "none"
    p[layout.LOAD] = len(p)
    place = len(p) + 2 * n
    for q in pulleys:
        points = len(q.load.w) if q.load else 0
        p += [place, points]
        place += 2 * points
    for q in pulleys:
        if q.load:
            p += [v for point in zip(q.load.w, q.load.tau, strict=True) for v in point]

    signals = list(_signals(unit, coupled))
    n_y = sum(v.causality == "output" for v in signals)
    for entry, number in (
        (layout.N, n),
        (layout.FACES, faces),
        (layout.RIGID, fidelity == "rigid"),
        (layout.N_X, len(states)),
        (layout.N_U, free),
        (layout.N_Y, n_y),
        (layout.INTERNAL_STEP, unit.step / (substeps or unit.hybrid.substeps)),
        (layout.X_COUPLING, len(states) - 2 * len(coupled)),
    ):
        p[entry] = float(number)
    n_work = _write_work(p, n, n * faces, len(states), n_y)
    return Model(
        name=unit.name,
        description=unit.description,
        fidelity=fidelity,
        variables=(*variables, *signals),
        states=states,
        p=np.array(p, dtype=float),
        n_work=n_work,
        step_size=unit.step,
        initialise=kernels.initialise,
        derivative=kernels.derivative,
        jacobian=kernels.jacobian,
        output=kernels.output,
        step=kernels.step,
        source=unit.text,
    )


def _spans(unit: BeltUnit) -> list[tuple[str, str]]:
    """The pulleys at the ends of each span."""
    names = list(unit.pulleys)
    return list(zip(names, names[1:] + names[:1], strict=True))


def _states(unit: BeltUnit, fidelity: Fidelity, faces: int, coupled: list[str]) -> tuple[tuple[str, str], ...]:
    states = [("belt.v", "m/s")]
    if fidelity == "hybrid":
        states = []
        for name, after in _spans(unit):
            states.append((f"{name}_{after}.l", "m"))
            states += [(f"{after}.l_{k}", "m") for k in range(1, faces)]
        states += [(f"{name}.w", "rad/s") for name in unit.pulleys]
        states.append(("belt.q", "m/s"))
    states += [(f"{name}.tau_{k}", "N.m") for name in coupled for k in (1, 2)]
    return tuple(states)


def _signals(unit: BeltUnit, coupled: list[str]) -> Iterable[Variable]:
    """Inputs and outputs, in the order of `layout`."""
    inputs = 0
    for name, q in unit.pulleys.items():
        about = f" ({q.description})" if q.description else ""
        if q.flange == "torque":
            text = f"torque into the drive at flange {name}{about}: tau w is power in"
            yield Variable(f"{name}.tau", "input", inputs, "N.m", text, 0.0, nominal=10.0)
        elif q.flange == "speed":
            text = f"speed of flange {name}{about}, anticlockwise positive"
            yield Variable(f"{name}.w", "input", inputs, "rad/s", text, 0.0, nominal=100.0, display_unit="rpm")
        inputs += q.flange != "none"
    rows: list[tuple[str, str, str, float | None, float | None]] = []
    for name, q in unit.pulleys.items():
        about = f" ({q.description})" if q.description else ""
        if q.flange == "speed":
            rows.append((f"{name}.tau", "N.m", f"torque into the drive at flange {name}{about}", None, 10.0))
        else:
            rows.append((f"{name}.w", "rad/s", f"speed of pulley {name}{about}, anticlockwise positive", None, 100.0))
    rows += [
        ("belt.v", "m/s", "speed of the belt in the order of the pulleys", None, 10.0),
        ("storage.E", "J", "energy stored in pulleys and belt", 0.0, 10.0),
        ("loss.creep", "W", "power lost where the belt creeps and slips on the pulleys", 0.0, 10.0),
        ("loss.span", "W", "power lost in the damping of the spans", 0.0, 1.0),
        ("loss.friction", "W", "power lost in the viscous friction of the pulleys", 0.0, 10.0),
        ("loss.load", "W", "power that the loads of the unit file take", None, 100.0),
    ]
    for a, b in _spans(unit):
        rows.append((f"{a}_{b}.F", "N", f"elastic tension of the span from {a} to {b}", None, unit.belt.pretension))
    for name in unit.pulleys:
        rows += [
            (f"{name}.slip", "m/s", f"speed of the belt where it leaves {name}, less that of the rim", None, 0.1),
            (f"{name}.use", "1", f"force on {name} by what friction holds; from 1 on it slips", 0.0, 1.0),
            (f"{name}.F_x", "N", f"force of the belt on {name}, x", None, 1e3),
            (f"{name}.F_y", "N", f"force of the belt on {name}, y", None, 1e3),
            (f"{name}.N", "N", f"sum of the normal forces between belt and {name} along the wrap", None, 1e3),
        ]  # fmt: skip
    for name in coupled:
        rows += [
            (f"{name}.w_pulley", "rad/s", f"speed of pulley {name}, anticlockwise positive", None, 100.0),
            (f"{name}.E", "J", f"energy stored in the coupling at flange {name}", 0.0, 1.0),
            (f"{name}.loss", "W", f"power lost in the coupling at flange {name}", 0.0, 1.0),
        ]
    for k, (name, si, text, least, nominal) in enumerate(rows):
        shown = {"rad/s": "rpm", "J": "kJ"}.get(si) if nominal != 1.0 else None
        yield Variable(name, "output", k, si, text, None, least, None, nominal, shown)


def _write_work(p: list[float], n: int, count: int, n_x: int, n_y: int) -> int:
    """Places of the scratch blocks; returns the size of ``work``."""
    place = 0
    for entry, size in (
        (layout.W_LENGTH, count),
        (layout.W_INERTIA, n),
        (layout.W_KAPPA, 2 * n),
        (layout.W_CELL, 5 * count),
        (layout.W_FACE, 9 * count),
        (layout.W_SLIDE, count),
        (layout.W_MEAN, 8 * count),
        (layout.W_GATE, 5 * n),
        (layout.W_TENSION, n),
        (layout.W_SAVED, n_x + n_y),
        (layout.W_STEP, 9 * n_x + 2 * n_x * n_x),
    ):
        p[entry] = float(place)
        place += size
    return place
