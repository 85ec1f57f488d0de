"""A belt drive as a real-time `Model`; equations in `kernels` and `arms`, variables in `layout`."""

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt import kernels, layout
from rtcvt.belt.arm_geometry import INTERVALS, bending, lever, nodes, over_angle, preload
from rtcvt.belt.geometry import BeltPath
from rtcvt.belt.layout import ArmP, ArmX, ArmY, BeltP, D, DecouplerP, DecouplerX, DecouplerY, Flange, GivenX, PulleyY, Y
from rtcvt.belt.patches import patch_rows, wrap_rows
from rtcvt.belt.span_ends import Spans, spans
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.model import Coupling, Fidelity, Model, model_of
from rtcvt.table import Constants, Table

Array = NDArray[np.float64]

_KINDS = {"torque": Flange.TORQUE, "speed": Flange.SPEED, "none": Flange.IDLER}


def build_belt(unit: BeltUnit, fidelity: Fidelity = "hybrid", substeps: int | None = None) -> Model:
    """The hybrid or the rigid model of a belt drive.

    Parameters
    ----------
    unit : BeltUnit
        Unit with a ``hybrid`` table.
    fidelity : {"hybrid", "rigid"}
        Spans with their own tension and creep on the pulleys, or one speed of the whole belt, with fixed arms and
        locked decouplers.
    substeps : int, optional
        Internal steps instead of the unit's own.

    Raises
    ------
    InputError
        The fidelity is neither, the unit has no ``hybrid`` table, or too many speeds are given for the rigid model.
    """
    if fidelity not in ("hybrid", "rigid"):
        raise InputError(unit.source, "model", fidelity, "hybrid or rigid")
    hybrid = unit.hybrid
    if hybrid is None:
        raise InputError(unit.source, "hybrid", None, "a table with the friction coefficient mu of the real-time model")
    path, belt = unit.path(), spans(unit)
    given = [name for name, p in unit.pulleys.items() if p.flange == "speed"]
    if fidelity == "rigid" and len(given) > 1:
        allowed = "speed for one pulley at most: in the rigid model all rims have the speed of the belt"
        raise InputError(unit.source, f"pulleys.{given[1]}.flange", "speed", allowed)
    arcs = belt.radius * path.wrap
    weight, stands = path.span + 0.5 * (arcs + np.roll(arcs, -1)), False
    if fidelity == "rigid":
        weight, stands = (_levers(unit), True) if unit.arms else (weight, False)
        unit = _without_joints(unit)
    data = _constants(unit, path, belt, weight, given)
    data[D.STANDS] = stands
    if unit.lateral is not None and fidelity == "hybrid":
        _lateral(data, unit, path, belt)
    data[D.RIGID], data[D.BELT_LENGTH] = fidelity == "rigid", path.length
    if fidelity == "hybrid":
        data[D.PATCHES] = len(unit.patch)
        data.table(D.PATCH_OF, patch_rows(unit)[:, 0].tolist())
        data.table(D.PATCH, wrap_rows(unit, path))
    data[D.T_REST] = belt.tension
    data[D.INTERNAL_STEP] = unit.step / (substeps or hybrid.substeps)
    table = Table()
    _parameters(table, data, unit, belt)
    _signals(table, data, unit, belt, given)
    _states(table, data, unit, belt, given)
    data[D.N], data[D.FACES] = len(unit.pulleys), hybrid.cells + 1
    data[D.N_X], data[D.N_U], data[D.N_Y] = (table.size(kind) for kind in ("state", "input", "output"))
    coupling = Coupling(kernels.coupled_linearise, kernels.port, kernels.flange, kernels.piece)
    sizes = {"n_work": data.place_blocks(), "data": data.array()}
    return model_of(unit, fidelity, table, kernels, **sizes, step_size=unit.step, coupling=coupling)


def _levers(unit: BeltUnit) -> Array:
    """P' of all arms on each span [m], each arm's sense such that it lengthens the belt's way."""
    found = np.zeros(len(unit.pulleys))
    for i in unit.arms:
        for span in over_angle(unit, i):
            found[span.span] += np.sign(lever(unit, i)[0]) * np.interp(0.0, nodes(unit, i), span.lever)
    return found


def _without_joints(unit: BeltUnit) -> BeltUnit:
    """The unit with its arms at rest and its decouplers locked."""
    pulleys = {}
    for name, q in unit.pulleys.items():
        more = q.decoupler.inertia if q.decoupler else 0.0
        pulleys[name] = q.model_copy(update={"arm": None, "decoupler": None, "inertia": q.inertia + more})
    return unit.model_copy(update={"pulleys": pulleys})


def _named(unit: BeltUnit) -> list[dict[str, str]]:
    """Fields of each pulley: its name, the next one, and its description."""
    names = list(unit.pulleys)
    about = (f" ({q.description})" if q.description else "" for q in unit.pulleys.values())
    return [dict(pulley=p, after=q, about=a) for p, q, a in zip(names, names[1:] + names[:1], about, strict=True)]


def _constants(unit: BeltUnit, path: BeltPath, belt: Spans, weight: Array, given: list[str]) -> Constants:
    """Tables of the pulleys."""
    data = Constants(D)
    rows = zip(
        path.sigma, belt.radius, path.wrap, 0.5 * unit.belt.height / path.radius, path.span, belt.length, belt.wrap,
        belt.by_damping, belt.damping, *belt.way.T, belt.lift, belt.rests, belt.sink, belt.less,
        np.divide(belt.sink, 2.0 * belt.less, out=np.full(belt.sink.size, np.finfo(float).max), where=belt.less > 0.0),
        weight, *path.direction.T, strict=True,
    )  # fmt: skip
    data.table(D.GEOMETRY, [number for row in rows for number in row])
    flanges: list[float] = []
    inputs = 0
    for name, q in unit.pulleys.items():
        flanges += [_KINDS[q.flange], inputs, given.index(name) if name in given else 0]
        inputs += q.flange != "none"
    data.table(D.FLANGE, flanges)
    place = len(data.numbers) + 2 * len(unit.pulleys)
    heads: list[float] = []
    points: list[float] = []
    for q in unit.pulleys.values():
        own = [v for point in zip(q.load.w, q.load.tau, strict=True) for v in point] if q.load else []
        heads += [place + len(points), len(own) // 2]
        points += own
    data.table(D.LOAD, heads + points)
    _arms(data, unit, path)
    _resonance(data, unit, path, belt)
    sliding = unit.hybrid.sliding if unit.hybrid else None
    if sliding is not None:
        data[D.N_SLIDING] = len(sliding.v)
        data.table(D.SLIDING, [number for point in zip(sliding.v, sliding.share, strict=True) for number in point])
    data[D.DECOUPLERS] = len(unit.decouplers)
    turns = {"anticlockwise": 1.0, "clockwise": -1.0}
    data.table(D.DECOUPLER, [v for i, q in unit.decouplers.items() for v in (i, turns[q.direction])])
    return data


def _resonance(data: Constants, unit: BeltUnit, path: BeltPath, belt: Spans) -> None:
    """Write the constants of the spans' lateral vibration."""
    turned = path.sigma * path.radius
    rows = zip(belt.longer, belt.delay, np.roll(turned, -1) - turned, strict=True)
    data.table(D.ACROSS, [number for row in rows for number in row])
    data[D.EI], data[D.D_I] = unit.belt.EI, unit.belt.bending_damping
    watched = unit.resonance
    if watched is not None:
        data[D.N_ORDERS] = len(watched.orders)
        data.table(D.ORDERS, watched.orders)
        data[D.DRIVER] = list(unit.pulleys).index(unit.driver)
        data[D.BAND], data[D.Z_0] = watched.band, watched.damping
        data[D.RUNOUT] = watched.runout or 0.0


def end_motions(unit: BeltUnit, path: BeltPath, belt: Spans) -> tuple[Array, Array]:
    """Motion (spans, 2) of start and end of each span to its left, by its tension [m/N] and by an arm [m/rad]."""
    by_tension, by_arm = np.zeros((2, path.span.size, 2))
    pulleys = list(unit.pulleys.values())
    for j, t in enumerate(path.direction):
        for end, i in enumerate((j, (j + 1) % path.span.size)):
            by_tension[j, end] = -path.sigma[i] * belt.outwards[j, end]
            arm = pulleys[i].arm
            if arm is not None:
                x, y = np.subtract(pulleys[i].center, arm.pivot)
                by_arm[j, end] = t[1] * y + t[0] * x
    return by_tension, by_arm


def _lateral(data: Constants, unit: BeltUnit, path: BeltPath, belt: Spans) -> None:
    """Write the constants of spans that swing across."""
    lateral = unit.lateral
    assert lateral is not None
    data[D.MODES], data[D.LATERAL_DAMPING] = lateral.modes, lateral.damping
    runout = [lateral.runout.get(name, 0.0) for name in unit.pulleys]
    data.table(D.LATERAL, np.column_stack([*end_motions(unit, path, belt), runout]).ravel().tolist())


def _arms(data: Constants, unit: BeltUnit, path: BeltPath) -> None:
    """Tables of the arms over their angles."""
    data[D.ARMS] = len(unit.arms)
    if not unit.arms:
        return
    arms: list[float] = []
    n = len(unit.pulleys)
    of_span = {j: (-1.0, 0.0) for j in range(n)}
    tables: list[float] = []
    first = len(data.numbers) + len(unit.arms) * len(layout.ArmD) + 2 * n
    for m, (i, arm) in enumerate(unit.arms.items()):
        angle = nodes(unit, i)
        moved = 0.0
        for span in over_angle(unit, i):
            of_span[span.span] = (m, first + len(tables))
            tables += np.stack([span.way, span.lever, span.turn, span.by_angle], axis=-1).ravel().tolist()
            across = np.interp(0.0, angle, span.by_angle) * path.span[span.span]
            moved += float(across**2 * path.span[span.span] / 3.0)
        pivot = np.hypot(*np.subtract(list(unit.pulleys.values())[i].center, arm.pivot))
        moved += float(pivot**2 * path.radius[i] * path.wrap[i])
        arms += [i, *arm.stops, angle[0], (angle[-1] - angle[0]) / INTERVALS, INTERVALS, bending(unit, i), moved]
    data.table(D.ARM, arms)
    data.table(D.SPAN_ARM, [v for j in range(n) for v in of_span[j]])
    data.numbers += tables


def _parameters(table: Table, data: Constants, unit: BeltUnit, belt: Spans) -> None:
    pulleys, named = list(unit.pulleys.values()), _named(unit)
    assert unit.hybrid is not None
    values = {BeltP.EA: unit.belt.EA, BeltP.M: unit.belt.mass, BeltP.D: unit.belt.damping, BeltP.T_0: belt.tension}
    values[BeltP.V_START] = 0.0
    for row in BeltP:
        table.add("parameter", row, values[row])
    data[D.P_J] = table.parameters(layout.PULLEY_J, [q.inertia for q in pulleys], named)
    data[D.P_B] = table.parameters(layout.PULLEY_B, [q.friction for q in pulleys], named)
    data[D.P_MU] = table.parameters(layout.PULLEY_MU, unit.friction, named)
    data[D.P_ARM] = table.size("parameter")
    for i, arm in unit.arms.items():
        values_of_arm = {
            ArmP.J: arm.inertia, ArmP.K: arm.stiffness, ArmP.M_0: preload(unit, i), ArmP.C: arm.damping,
            ArmP.M_F: arm.friction, ArmP.K_F: arm.friction_stiffness, ArmP.K_S: arm.stop_stiffness,
            ArmP.C_S: arm.stop_damping,
        }  # fmt: skip
        for constant in ArmP:
            table.add("parameter", constant, values_of_arm[constant], named[i])
    data[D.P_DECOUPLER] = table.size("parameter")
    for i, q in unit.decouplers.items():
        values_of = {DecouplerP.J: q.inertia, DecouplerP.K: q.stiffness, DecouplerP.C: q.damping}
        values_of[DecouplerP.M_D] = q.drag
        for place in DecouplerP:
            table.add("parameter", place, values_of[place], named[i])


def _signals(table: Table, data: Constants, unit: BeltUnit, belt: Spans, given: list[str]) -> None:
    """Inputs and outputs."""
    named, flanges = _named(unit), [q.flange for q in unit.pulleys.values()]
    for fields, flange in zip(named, flanges, strict=True):
        if flange != "none":
            table.add("input", layout.SPEED_IN if flange == "speed" else layout.TORQUE_IN, 0.0, fields)
    for i, (fields, flange) in enumerate(zip(named, flanges, strict=True)):
        out = layout.SHAFT_OUT if i in unit.decouplers else layout.SPEED_OUT
        table.add("output", layout.TORQUE_OUT if flange == "speed" else out, fields=fields)
    data[D.Y_BELT] = table.each("output", Y)
    data[D.Y_TENSION] = table.each("output", [layout.TENSION._replace(nominal=belt.tension)], named)
    data[D.Y_PULLEY] = table.each("output", PulleyY, named)
    data[D.Y_GIVEN] = table.each("output", [layout.GIVEN_SPEED], [{"pulley": name} for name in given])
    data[D.Y_ARM] = table.each("output", ArmY, [named[i] for i in unit.arms])
    if unit.arms:
        table.add("output", layout.ARM_LOSS)
    data[D.Y_DECOUPLER] = table.each("output", DecouplerY, [named[i] for i in unit.decouplers])
    if unit.decouplers:
        table.add("output", layout.DECOUPLER_LOSS)
    data[D.Y_FREQUENCY] = table.each("output", [layout.FREQUENCY], named)
    data[D.Y_RESONANCE] = table.each("output", layout.ResonanceY, named if unit.resonance else [])
    runs_out = unit.resonance is not None and unit.resonance.runout is not None
    data[D.Y_SWING] = table.each("output", [layout.SWING], named if runs_out else [])
    data[D.Y_LATERAL] = table.each("output", [layout.DISPLACEMENT], named if data[D.MODES] else [])


def _states(table: Table, data: Constants, unit: BeltUnit, belt: Spans, given: list[str]) -> None:
    if data[D.RIGID]:
        table.add("state", layout.BELT_SPEED)
    else:
        assert unit.hybrid is not None
        cells = unit.hybrid.cells
        for i, fields in enumerate(_named(unit)):
            table.add("state", layout.SPAN_LENGTH, None, fields, belt.length[i])
            wrap = belt.wrap[i - len(belt.wrap) + 1]
            for k in range(1, cells + 1):
                table.add("state", layout.CELL_LENGTH, None, fields | {"k": k}, wrap / cells)
        table.each("state", [layout.PULLEY_SPEED], _named(unit))
        table.add("state", layout.FLOW)
    data[D.X_ARM] = table.each("state", ArmX, [_named(unit)[i] for i in unit.arms])
    data[D.X_DECOUPLER] = table.each("state", DecouplerX, [_named(unit)[i] for i in unit.decouplers])
    data[D.X_GIVEN] = table.each("state", GivenX, [{"pulley": name} for name in given])
    some = data[D.N_SLIDING] > 0 and not data[D.RIGID]
    data[D.X_SLIDING] = table.each("state", [layout.SLIDING_SPEED], _named(unit) if some else [])
    data[D.X_PATCH] = table.each("state", [layout.PATCH_WAY], [{"k": k} for k in range(len(unit.patch))])
    data[D.X_LATERAL] = table.size("state")
    if unit.lateral is not None and data[D.MODES]:
        numbers = range(1, unit.lateral.modes + 1)
        for fields in _named(unit):
            table.add("state", layout.TURNED, None, fields)
            table.add("state", layout.LAST_TENSION, None, fields)
            for row in (layout.MODE, layout.MODE_RATE):
                for k in numbers:
                    table.add("state", row, None, fields | {"k": str(k)})
