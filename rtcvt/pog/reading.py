"""Unit files of gear systems: read and checked."""

from collections.abc import Callable, Mapping
from typing import Any

from rtcvt.errors import InputError
from rtcvt.pog.radii import axis_sign, carrier_of, check_radii
from rtcvt.pog.spin import traction_contacts
from rtcvt.pog.unit import GearSystem, Traction
from rtcvt.unitfile import UnitFile

_MAX_ELEMENTS = 30  # whose pieces make one number


def read_gear_system(file: UnitFile) -> GearSystem:
    """Validate a unit file.

    Raises
    ------
    InputError
        Not a valid unit.
    """
    unit = file.parse(GearSystem)
    _check_references(unit)
    _check_elements(unit)
    _check_shift(unit)
    check_radii(unit)
    if unit.traction is not None:
        _check_traction(unit, unit.traction)
    return unit


def _check_references(unit: GearSystem) -> None:
    """Names that point to other sections exist and fit together."""
    gears = unit.gears

    def require(condition: bool, key: str, value: object, allowed: str) -> None:
        if not condition:
            raise InputError(unit.source, key, value, allowed)

    def is_one_of(key: str, value: str, known: Mapping[str, Any], kind: str) -> None:
        require(value in known, key, value, f"one of the {kind}: {', '.join(known) or 'none'}")

    if len(unit.variables) > 1:
        raise InputError(unit.source, "variables", list(unit.variables), "at most one moving variable")
    clash = set(unit.variables) & set(unit.parameters)
    require(not clash, "variables", next(iter(clash), None), "a name that is not also a parameter")
    for reserved in ("pi", "sin", "cos", "tan", "sqrt"):
        require(reserved not in {**unit.parameters, **unit.variables}, "parameters", reserved, "another name")
    for key, p in unit.parameters.items():
        radius = p.unit == "m" and (key == "r" or key.startswith("r_"))
        allowed = "a radius above 0 m; a length that may be negative has a name that does not begin with r_"
        require(not radius or p.value > 0.0, f"parameters.{key}", p.value, allowed)
    for key, gear in gears.items():
        if gear.carrier is not None:
            at = f"gears.{key}.carrier"
            is_one_of(at, gear.carrier, gears, "gears")
            require(gear.carrier != key, at, gear.carrier, "another gear")
            require(gears[gear.carrier].carrier is None, at, gear.carrier, "a gear that is not itself carried")
    for section, couples in (("contacts", unit.contacts), ("frictions", unit.frictions)):
        for key, couple in couples.items():
            at = f"{section}.{key}.between"
            for gear_name in couple.between:
                is_one_of(at, gear_name, gears, "gears")
            require(couple.between[0] != couple.between[1], at, list(couple.between), "two different gears")
    for i, gear_name in enumerate(unit.rigid.independent):
        is_one_of("rigid.independent", gear_name, gears, "gears")
        require(gear_name not in unit.rigid.independent[:i], "rigid.independent", gear_name, "each gear once")
    sprung: set[str] = set()
    for key, port in unit.ports.items():
        is_one_of(f"ports.{key}.gear", port.gear, gears, "gears")
        free = key not in ("gear", "contact", "friction", "geometry", "control", "storage", "loss")
        require(free, f"ports.{key}", key, "a name that is not a group of variables")
        if port.spring is not None:
            require(port.gear not in sprung, f"ports.{key}.gear", port.gear, "a gear without another port's spring")
            sprung.add(port.gear)
            given = port.flange if "flange" in port.model_fields_set else "speed"
            require(given == "speed", f"ports.{key}.flange", port.flange, "speed, as the port has a spring")
            allowed = f"a gear in rigid.independent: {', '.join(unit.rigid.independent)}"
            require(port.gear in unit.rigid.independent, f"ports.{key}.gear", port.gear, allowed)
        else:
            require(port.w_start == 0.0, f"ports.{key}.w_start", port.w_start, "only with a spring")
    _check_controller(unit, require, is_one_of)
    seen: set[str] = set()
    for scenario in unit.scenario:
        require(scenario.name not in seen, "scenario.name", scenario.name, "a name that is used once")
        seen.add(scenario.name)


def _check_traction(unit: GearSystem, traction: Traction) -> None:
    """Contacts that transmit by traction exist, each once, and are drawn as such; they have neither loss nor play."""
    key, lossy = "traction.contacts", [*unit.lossy, *(name for name, c in unit.contacts.items() if c.play is not None)]
    for i, name in enumerate(traction.contacts):
        if name not in unit.contacts or name in lossy or name in traction.contacts[:i]:
            known = ", ".join(c for c in unit.contacts if c not in lossy)
            raise InputError(unit.source, key, name, f"each once, without loss and play, of the contacts: {known}")
    if unit.solver.method == "rk4":
        raise InputError(unit.source, "solver.method", "rk4", "a linearly implicit method, for the traction")
    traction_contacts(unit)


def _check_elements(unit: GearSystem) -> None:
    """Gears of clutches and brakes exist; clutches join parallel axes; geometry and method allow their law."""

    def require(condition: bool, key: str, value: object, allowed: str) -> None:
        if not condition:
            raise InputError(unit.source, key, value, allowed)

    known = f"one of the gears: {', '.join(unit.gears)}"
    for name, brake in unit.brakes.items():
        require(brake.gear in unit.gears, f"brakes.{name}.gear", brake.gear, known)
        require(name not in unit.clutches, f"brakes.{name}", None, "a name that is not also a clutch")
    for name, clutch in unit.clutches.items():
        key, pair = f"clutches.{name}.between", clutch.between
        for gear in pair:
            require(gear in unit.gears, key, gear, known)
        parallel = pair[0] != pair[1] and axis_sign(unit, *pair) != 0
        require(parallel, key, list(pair), "two gears on parallel axes")
    for name, gear_ in unit.gears.items():
        key = f"gears.{name}.dry_friction"
        if gear_.dry_friction is not None and gear_.carrier is not None:
            require(axis_sign(unit, name, gear_.carrier) != 0, key, gear_.dry_friction, "an axis along its carrier's")
    for name in unit.lossy:
        contact = unit.contacts[name]
        if any(unit.gears[g].carrier for g in contact.between):
            key, pair = f"contacts.{name}", contact.between
            require(carrier_of(unit, contact) is not None, key, list(pair), "one carrier along both axes, for a loss")
    elements = unit.elements
    if elements:
        require(len(elements) <= _MAX_ELEMENTS, "clutches", len(elements), f"at most {_MAX_ELEMENTS} elements")
        key = next(iter(elements))
        fixed = f"a fixed geometry, as there is '{key}'; parts that move may be another unit of a system"
        require(unit.moving is None, "variables", unit.moving, fixed)
        method = unit.solver.method
        require(method == "rosenbrock", "solver.method", method, f"'rosenbrock', as there is '{key}'")


def _check_shift(unit: GearSystem) -> None:
    """Ports and elements of the shift table exist."""
    shift = unit.shift
    if shift is None:
        return

    def one_of(key: str, value: str, known: Mapping[str, Any], kind: str) -> None:
        if value not in known:
            raise InputError(unit.source, key, value, f"one of the {kind}: {', '.join(known) or 'none'}")

    one_of("shift.input", shift.input, unit.ports, "ports")
    one_of("shift.output", shift.output, unit.ports, "ports")
    if unit.ports[shift.input].gear == unit.ports[shift.output].gear:
        raise InputError(unit.source, "shift.output", shift.output, "a port on another gear than the input's")
    for name, elements in shift.gears.items():
        for i, element in enumerate(elements):
            one_of(f"shift.gears.{name}", element, {**unit.clutches, **unit.brakes}, "elements")
            if element in elements[:i]:
                raise InputError(unit.source, f"shift.gears.{name}", element, "each element once")


def _check_controller(unit: GearSystem, require: Callable[..., None], is_one_of: Callable[..., None]) -> None:
    kers, position = unit.controller.kers, unit.controller.position
    if unit.moving is None:
        require(kers is None and position is None, "controller", None, "only with a moving variable in [variables]")
        return
    allowed = "a moving variable needs exactly one of [controller.kers] and [controller.position]"
    require((kers is None) != (position is None), "controller", None, allowed)
    acting = kers or position
    assert acting is not None
    at = f"controller.{'kers' if kers else 'position'}"
    is_one_of(f"{at}.acts_on", acting.acts_on, unit.variables, "variables")
    if kers is not None:
        is_one_of(f"{at}.port", kers.port, unit.ports, "ports")
        is_one_of(f"{at}.storage", kers.storage, unit.gears, "gears")
        port = unit.ports[kers.port]
        require(port.spring is not None, f"{at}.port", kers.port, "a port with a spring")
        independent, allowed = unit.rigid.independent, f"the gear of the controlled port alone: {port.gear}"
        require(independent == (port.gear,), "rigid.independent", list(independent), allowed)
