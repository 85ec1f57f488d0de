"""Unit files of drives and their control, and their real-time models.

Equations are in `kernels`, `control`, `shifting`, `converter`, `electric` and `battery`.

All parameters of the kind are given in the file; ``torque``, ``fuel`` and the like name tables, CSV files in the same
folder or shipped ones (`rtcvt.engine.grid`), ``box`` the unit with the shift table that the control uses. Bare numbers
are SI, strings have their unit.
"""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rtcvt.engine import battery, control, converter, electric, kernels, shifting
from rtcvt.engine.grid import Grid, lookup, read_curves, read_grid
from rtcvt.engine.kernels import P
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.model import Model
from rtcvt.part import Part, built, table_of
from rtcvt.table import Constants
from rtcvt.unitfile import UnitFile, find_unit

LINE_POINTS = 41  # of the line of least fuel
SPEEDS = "a table whose speeds are above zero"
FileName = Annotated[str, Field(min_length=1)]
KINDS: dict[str, Any] = {
    "engine": kernels,
    "cvt_control": control,
    "shift_control": shifting,
    "torque_converter": converter,
    "electric_drive": electric,
}
DEFAULTS = {  # parameters that a file may leave out: no rest, no starter, no torque over the crank angle; no pair
    "engine": {"tau_c": 0.0, "tau_starter": 0.0, "w_starter": 40.0, "T_starter": 0.05,
               "n": 2.0, "a": 0.0, "tau_k": 0.0, "J_2": 0.0},
    "battery": {"R_1": 0.0, "T_1": 1.0},
}  # fmt: skip
NAMED = {  # files that a unit file of each kind names
    "engine": ("torque", "fuel"),
    "cvt_control": ("torque", "fuel"),
    "shift_control": ("torque", "up", "down", "box"),
    "torque_converter": ("curves",),
    "electric_drive": ("loss",),
}


class Engine(Part):
    """A unit file of one of these kinds."""

    kind: Literal["engine", "cvt_control", "shift_control", "torque_converter", "electric_drive"]
    torque: FileName | None = None  # table over speed and pedal
    fuel: FileName | None = None  # table over speed and torque
    loss: FileName | None = None  # table of an electric machine over speed and torque
    battery: FileName | None = None  # table of its battery over the state of charge, instead of U_e, U_f and R
    up: FileName | None = None  # tables over gear and demand: speeds of the vehicle above which it shifts up
    down: FileName | None = None  # tables of the speeds below which it shifts down
    curves: FileName | None = None  # capacity and torque ratio of a converter over its speed ratio
    box: FileName | None = None  # unit with the shift table, a shipped one or a file in this folder
    strategy: Literal["constant", "economy", "sport", "map"] | None = None  # of the control's ratio
    map: FileName | None = None  # of a map: engine speed over secondary speed and demanded torque


def read(file: UnitFile) -> Engine:
    """Validate the unit file of a drive or of its control.

    Raises
    ------
    InputError
        Not a valid one.
    """
    unit = file.parse(Engine)
    for key in dict.fromkeys(key for keys in NAMED.values() for key in keys):
        named = key in NAMED[unit.kind]
        if (getattr(unit, key) is not None) != named:
            allowed = "the name of a table or a unit" if named else f"no such key in a unit of kind {unit.kind}"
            raise InputError(unit.source, key, getattr(unit, key), allowed)
    if unit.battery is not None and unit.kind != "electric_drive":
        raise InputError(unit.source, "battery", unit.battery, f"no such key in a unit of kind {unit.kind}")
    if (unit.map is None and unit.strategy == "map") or (unit.map is not None and unit.kind != "cvt_control"):
        raise InputError(unit.source, "map", unit.map, "the name of a table in a control whose strategy may be 'map'")
    return unit


def tables(engine: Engine, heating_value: float | None) -> tuple[Grid, Grid]:
    """Torque [N.m] over speed [rad/s] and pedal, fuel flow [kg/s] over speed and torque, checked.

    Raises
    ------
    InputError
        A table is missing, not a table, or not one of an engine that burns `heating_value` [J/kg], if this is known.
    """
    source = engine.source
    assert engine.fuel is not None
    torque = torque_table(engine)
    fuel = read_grid(source, "fuel", engine.folder, engine.fuel, (("w", "rad/s"), ("tau", "N.m"), ("fuel", "kg/s")))
    _require(fuel.a[0] > 0.0, source, "fuel", engine.fuel, SPEEDS)
    _require(fuel.b[0] == 0.0, source, "fuel", engine.fuel, "torques from 0 on")
    enough = fuel.b[-1] >= torque.values.max()
    _require(enough, source, "fuel", engine.fuel, f"torques up to that of full load, {torque.values.max():g} N.m")
    efficient = heating_value is None or (heating_value * fuel.values > np.outer(fuel.a, fuel.b)).all()
    _require(efficient, source, "fuel", engine.fuel, "an efficiency below 1 at every point, and fuel above zero")
    return torque, fuel


def torque_table(engine: Engine) -> Grid:
    """Torque [N.m] over speed [rad/s] and pedal, checked.

    Raises
    ------
    InputError
        The table is missing, not a table, or not one of an engine.
    """
    source, name = engine.source, engine.torque
    assert name is not None
    torque = read_grid(source, "torque", engine.folder, name, (("w", "rad/s"), ("pedal", "1"), ("tau", "N.m")))
    _require(torque.a[0] > 0.0, source, "torque", name, SPEEDS)
    _require(torque.b[0] == 0.0 and torque.b[-1] == 1.0, source, "torque", name, "pedals from 0 to 1")
    _require((torque.values[:, 0] < 0.0).all(), source, "torque", name, "a torque below zero at pedal 0: drag")
    rising = (np.diff(torque.values, axis=1) >= 0.0).all()
    _require(rising, source, "torque", name, "a torque that does not fall with the pedal")
    return torque


def curves(unit: Engine) -> tuple[Grid, Grid]:
    """Capacity [N.m.s2/rad2] and torque ratio of a converter over its speed ratio, checked.

    Raises
    ------
    InputError
        The table is missing, not a table, or not one of a converter.
    """
    assert unit.curves is not None
    columns = (("nu", "1"), ("capacity", "N.m.s2/rad2"), ("mu", "1"))
    capacity, ratio = read_curves(unit.source, "curves", unit.folder, unit.curves, columns)
    nu, C, mu = capacity.a, capacity.values[:, 0], ratio.values[:, 0]
    fine = np.linspace(0.0, 1.0, 2001)
    _require(nu[0] == 0.0 and nu[-1] == 1.0, unit.source, "curves", unit.curves, "speed ratios from 0 to 1")
    _require((C[:-1] > 0.0).all() and C[-1] == 0.0, unit.source, "curves", unit.curves,
             "capacities above zero, and zero at equal speeds")  # fmt: skip
    lossy = (np.interp(fine, nu, mu) * fine <= 1.0 + 1e-12).all() and (mu >= 1.0).all() and mu[-1] == 1.0
    _require(lossy, unit.source, "curves", unit.curves, "torque ratios from 1 to 1/nu, and 1 at equal speeds")
    return capacity, ratio


def box_of(unit: Engine) -> tuple[list[str], list[float], NDArray[np.float64], list[float]]:
    """Data of its box for a control: names of the elements, ratios, torques of the elements gear by gear, capacities.

    Only forward gears are included, in the order of their ratios. Torques [N.m] are those for 1 N.m at the input, -1
    for an open element.

    Raises
    ------
    InputError
        The box is no gear system with a shift table, or the torque of an element is not determined.
    """
    from rtcvt.pog.radii import radii_at
    from rtcvt.pog.shift import shift_table
    from rtcvt.pog.unit import GearSystem

    assert unit.box is not None
    box = load_unit(find_unit(unit.box, unit.folder, f"{unit.source}: box"))
    if not isinstance(box, GearSystem) or box.shift is None:
        raise InputError(unit.source, "box", unit.box, "a gear system with a shift table")
    gears = sorted((g for g in shift_table(box, radii_at(box)) if g.ratio > 0.0), key=lambda g: -g.ratio)
    every = {**dict.fromkeys(box.clutches, "clutch"), **dict.fromkeys(box.brakes, "brake")}
    held = {**box.clutches, **box.brakes}
    elements = [name for name in every if held[name].actuated]
    torques = np.array([[abs(g.torques[e]) if e in g.elements else -1.0 for e in elements] for g in gears])
    capacities = [held[e].capacity or 0.0 for e in elements]
    good = len(gears) > 1 and np.isfinite(torques).all() and min(capacities, default=0.0) > 0.0
    _require(good, unit.source, "box", unit.box, "a box whose gears determine the torques of elements with a capacity")
    return [f"{every[e]}.{e}" for e in elements], [g.ratio for g in gears], torques, capacities


def shift_maps(unit: Engine, gears: int) -> tuple[Grid, Grid]:
    """Read and check the speeds [m/s] over gear and demand above which it shifts up and below which it shifts down.

    Raises
    ------
    InputError
        A table is missing, not valid, has another number of gears, or a gear would be left as soon as it is chosen.
    """
    columns = (("gear", "1"), ("demand", "1"), ("v", "m/s"))
    maps = []
    for key, first in (("up", 1), ("down", 2)):
        name = getattr(unit, key)
        grid = read_grid(unit.source, key, unit.folder, name, columns)
        wanted = list(range(first, first + gears - 1))
        _require(grid.a.tolist() == wanted, unit.source, key, name, f"gears {wanted[0]} to {wanted[-1]}")
        _require(grid.b[0] == 0.0 and grid.b[-1] == 1.0, unit.source, key, name, "demands from 0 to 1")
        maps.append(grid)
    up, down = maps
    _require(up.b.tolist() == down.b.tolist() and (down.values < up.values).all(), unit.source, "down", unit.down,
             "the demands of 'up', and lower speeds")  # fmt: skip
    return up, down


def losses(drive: Engine) -> Grid:
    """Loss [W] of an electric machine over speed [rad/s] and torque [N.m], checked.

    Raises
    ------
    InputError
        The table is missing, not a table, or not one of losses from standstill and no torque on.
    """
    assert drive.loss is not None
    columns = (("w", "rad/s"), ("tau", "N.m"), ("loss", "W"))
    grid = read_grid(drive.source, "loss", drive.folder, drive.loss, columns)
    _require(grid.a[0] == 0.0 and grid.b[0] == 0.0, drive.source, "loss", drive.loss, "speeds and torques from 0 on")
    _require((grid.values >= 0.0).all(), drive.source, "loss", drive.loss, "losses that are not below zero")
    return grid


def cells(drive: Engine) -> tuple[Grid, ...]:
    """Voltage without a current [V] and resistance [ohm] of a battery over its state of charge, checked.

    Raises
    ------
    InputError
        The table is missing, not a table, or not one of a battery from empty to full.
    """
    assert drive.battery is not None
    columns = (("s", "1"), ("U_0", "V"), ("R", "ohm"))
    voltage, resistance = found = read_curves(drive.source, "battery", drive.folder, drive.battery, columns)
    whole = voltage.a[0] == 0.0 and voltage.a[-1] == 1.0
    _require(whole, drive.source, "battery", drive.battery, "states of charge from 0 to 1")
    rising = voltage.values[0, 0] > 0.0 and (np.diff(voltage.values[:, 0]) >= 0.0).all()
    _require(rising, drive.source, "battery", drive.battery, "voltages above zero that do not fall with the charge")
    _require((resistance.values > 0.0).all(), drive.source, "battery", drive.battery, "resistances above zero")
    return found


def _require(good: bool | np.bool_, source: str, key: str, value: object, allowed: str) -> None:
    if not good:
        raise InputError(source, key, value, allowed)


def least_fuel(torque: Grid, fuel: Grid) -> Grid:
    """Speed [rad/s] at which a power [W] needs least fuel, as a table over the power; the second axis is not used.

    The minimum is sought over 400 speeds between the ends of the tables; the speed does not fall with the power.
    """
    w = np.linspace(max(torque.a[0], fuel.a[0]), min(torque.a[-1], fuel.a[-1]), 400)
    most = np.interp(w, torque.a, torque.values[:, -1])
    powers = np.linspace(0.0, float((most * w).max()), LINE_POINTS)
    best, table = [], np.array(fuel.numbers())
    for power in powers:
        able = w[power <= most * w * (1.0 + 1e-12)]
        best.append(able[np.argmin([lookup(table, 0, float(s), float(power / s)) for s in able])])
    line = np.maximum.accumulate(best)
    return Grid(powers, np.array([0.0, 1.0]), np.column_stack([line, line]))


def build(engine: Engine, fidelity: str = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of an engine or of its control.

    Raises
    ------
    InputError
        A parameter is missing, not one of its kind, or out of range; a table is not one of an engine.
    """
    if (engine.kind == "cvt_control") != (engine.strategy is not None):
        allowed = f"one of {', '.join(control.STRATEGIES)}, in a control only"
        raise InputError(engine.source, "strategy", engine.strategy, allowed)
    kind = KINDS[engine.kind]
    if engine.battery is not None:
        kind = battery
    defaults = DEFAULTS.get("battery" if kind is battery else engine.kind, {})
    engine = engine.model_copy(update={"parameters": {**defaults, **engine.parameters}})
    table, data, elements = table_of(engine, kind), Constants(kind.D), list[str]()
    if kind in (electric, battery):
        data.table(electric.D.LOSS, losses(engine).numbers())
        if kind is battery:
            for entry, grid in zip((battery.D.VOLTAGE, battery.D.RESISTANCE), cells(engine), strict=True):
                data.table(entry, grid.numbers())
        p, numbers = np.array(table.p), data.array()
        most = kind.least_power(p, numbers)
        _require(kind.is_strong(p, numbers), engine.source, "parameters.P_max", engine.parameters["P_max"],
                 f"with losses and auxiliaries 10 % below what the battery can give, {most / 1e3:.4g} kW")  # fmt: skip
    elif kind is converter:
        capacity, ratio = curves(engine)
        data.table(converter.D.CAPACITY, capacity.numbers())
        data.table(converter.D.RATIO, ratio.numbers())
    elif kind is shifting:
        elements, ratios, torques, capacities = box_of(engine)
        table.each("output", [shifting.ELEMENT], [{"element": name} for name in elements])
        data.table(shifting.D.TORQUE, torque_table(engine).numbers())
        up, down = shift_maps(engine, len(ratios))
        data.table(shifting.D.UP, up.numbers())
        data.table(shifting.D.DOWN, down.numbers())
        data[shifting.D.N_G], data[shifting.D.N_E] = len(ratios), len(elements)
        data.table(shifting.D.RATIO, ratios)
        data.table(shifting.D.HOLDS, torques.ravel().tolist())
        data.table(shifting.D.CAPACITY, capacities)
    else:
        torque, fuel = tables(engine, table.p[P.H] if kind is kernels else None)
        data.table(kind.D.TORQUE, torque.numbers())
        if kind is kernels:
            data.table(kernels.D.FUEL, fuel.numbers())
            drag = -torque.values[:, 0]
            source, given = engine.source, engine.parameters
            _require(table.p[P.TAU_C] <= drag[0], source, "parameters.tau_c", given["tau_c"],
                     f"at most the drag at the lowest speed of the table, {drag[0]:g} N.m")  # fmt: skip
            _require(table.p[P.J_2] < table.p[P.J], source, "parameters.J_2", given["J_2"], "below J")
            most = fuel.b + table.p[P.A] * (fuel.b + np.interp(fuel.a, torque.a, drag)[:, None])
            _require((table.p[P.H] * fuel.values > fuel.a[:, None] * most).all(), source, "parameters.a", given["a"],
                     "an amplitude at which the power at the crank is below that of the fuel")  # fmt: skip
        else:
            data.table(control.D.LINE, least_fuel(torque, fuel).numbers())
    if engine.strategy is not None:
        columns = (("w_s", "rad/s"), ("tau_drive", "N.m"), ("w", "rad/s"))
        choices: tuple[str, ...] = control.STRATEGIES[:-1]
        if engine.map is not None:
            choices = control.STRATEGIES
            data.table(control.D.MAP, read_grid(engine.source, "map", engine.folder, engine.map, columns).numbers())
        row = control.P.STRATEGY.row._replace(choices=choices)
        table.add("parameter", row, choices.index(engine.strategy))
    return built(engine, kind, substeps, table, data, more_outputs=len(elements))
