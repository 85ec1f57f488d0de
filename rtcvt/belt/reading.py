"""Unit files of belt drives: read and checked against the abilities of the models."""

import numpy as np

from rtcvt.belt.arm_geometry import STOP_MARGIN, lever
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.unitfile import UnitFile


def read_belt_unit(file: UnitFile) -> BeltUnit:
    """Validate the unit file of a belt drive.

    Raises
    ------
    InputError
        A key is missing, unknown or out of its range, or no belt fits around the pulleys.
    """
    unit, source = file.parse(BeltUnit), file.source
    taut = unit.path().length
    unit = _with_arms(unit)
    belt = unit.belt
    if belt.length is not None:
        if not 1.0 < taut / belt.length < 1.2:
            allowed = f"a belt that is taut and stretched by less than a fifth: {taut / 1.2:g} m to {taut:g} m"
            raise InputError(source, "belt.length", belt.length, allowed)
        tight = belt.model_copy(update={"pretension": belt.EA * (taut / belt.length - 1.0)})
        unit = unit.model_copy(update={"belt": tight})
    require_arms(unit)
    require_decouplers(unit)
    if unit.driver not in unit.pulleys:
        raise InputError(source, "resonance.driver", unit.driver, f"one of {', '.join(unit.pulleys)}")
    for name, runout in ({} if unit.lateral is None else unit.lateral.runout).items():
        if name not in unit.pulleys:
            raise InputError(source, "lateral.runout", name, f"one of {', '.join(unit.pulleys)}")
        if runout >= (radius := unit.pulleys[name].radius):
            raise InputError(source, f"lateral.runout.{name}", runout, f"below the pulley's radius, {radius:g} m")
    for k, q in enumerate(unit.patch):
        if q.pulley is not None and q.pulley not in unit.pulleys:
            raise InputError(source, f"patch.{k}.pulley", q.pulley, f"one of {', '.join(unit.pulleys)}")
        if q.stretch is not None and q.stretch[1] - q.stretch[0] > taut:
            raise InputError(source, f"patch.{k}.stretch", q.stretch, f"at most the belt's length, {taut:g} m")
    for reserved in ("belt", "storage", "loss"):
        if reserved in unit.pulleys:
            raise InputError(source, f"pulleys.{reserved}", None, "a name that is not a group of variables")
    keys = {"torque": "tau", "speed": "w"}
    inputs = {f"{n}.{keys[p.flange]}" for n, p in unit.pulleys.items() if p.flange in keys}
    seen: set[str] = set()
    for scenario in unit.scenario:
        if scenario.name in seen:
            raise InputError(source, "scenario.name", scenario.name, "a name that is used once")
        seen.add(scenario.name)
        for key in scenario.inputs:
            if key not in inputs:
                raise InputError(source, f"scenario.inputs.{key}", key, f"one of {', '.join(sorted(inputs))}")
    return unit


def _with_arms(unit: BeltUnit) -> BeltUnit:
    """The unit with the pretension that the preload of an arm gives, if it is this that is given."""
    source, belt = unit.source, unit.belt
    loaded = [(i, arm.preload) for i, arm in unit.arms.items() if arm.preload is not None]
    if ("pretension" in belt.model_fields_set) + (belt.length is not None) + len(loaded) != 1:
        allowed = "either 'pretension' or 'length'" + (" or the preload of one arm" if unit.arms else "")
        raise InputError(source, "belt", None, allowed)
    if not loaded:
        return unit
    ((i, preload),) = loaded
    by_angle = abs(lever(unit, i)[0])
    if not preload < 0.2 * belt.EA * by_angle:
        key = f"pulleys.{list(unit.pulleys)[i]}.arm.preload"
        allowed = f"a torque that tensions the belt by less than EA/5 = {0.2 * belt.EA:g} N"
        raise InputError(source, key, preload, allowed)
    return unit.model_copy(update={"belt": belt.model_copy(update={"pretension": preload / by_angle})})


def require_arms(unit: BeltUnit) -> None:
    """Refuse arms that the models cannot represent.

    Raises
    ------
    InputError
        A driven pulley or two neighbours on arms, an arm that does not tension the belt or is not stable,
        stops between which the belt does not fit, or a belt of rigid elements.
    """
    names, source = list(unit.pulleys), unit.source
    for i, arm in unit.arms.items():
        key, pulley = f"pulleys.{names[i]}.arm", unit.pulleys[names[i]]
        if unit.elements is not None:
            allowed = "no table [elements]: pulleys of that model have fixed centres; use [ancf]"
            raise InputError(source, key, None, allowed)
        if pulley.flange != "none" or pulley.load is not None:
            raise InputError(source, key, None, 'an idler: flange = "none" and no load')
        if len({(i - 1) % len(names), (i + 1) % len(names)} & unit.arms.keys()):
            raise InputError(source, key, None, "neighbours with fixed centres")
        by_angle, bend = lever(unit, i)
        if abs(by_angle) < 0.1 * float(np.hypot(*np.subtract(pulley.center, arm.pivot))):
            raise InputError(source, f"{key}.pivot", arm.pivot, "a pivot about which the arm lengthens the belt's path")
        T = unit.belt.pretension
        if arm.stiffness + bend * T <= 0.0:
            allowed = f"above {-bend * T:g} N.m/rad, or the belt pulls the arm over"
            raise InputError(source, f"{key}.stiffness", arm.stiffness, allowed)
        for end, beyond in zip(arm.stops, (-STOP_MARGIN, STOP_MARGIN), strict=True):
            for angle in np.linspace(0.0, end + beyond, 9)[1:]:
                try:
                    unit.path({i: float(angle)})
                except InputError as error:
                    raise InputError(source, f"{key}.stops", end, f"an angle at which a belt fits: {error}") from None


def require_decouplers(unit: BeltUnit) -> None:
    """Refuse decouplers with which the models cannot do.

    Raises
    ------
    InputError
        One on a pulley whose speed is given or on an arm.
    """
    for i in unit.decouplers:
        name, pulley = list(unit.pulleys.items())[i]
        key = f"pulleys.{name}.decoupler"
        if pulley.flange == "speed":
            raise InputError(unit.source, key, None, 'flange = "torque" or "none": the shaft turns under its torques')
        if pulley.arm is not None:
            raise InputError(unit.source, key, None, "no arm: a pulley on an arm has no shaft")
