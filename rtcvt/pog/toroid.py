"""Contacts that transmit by traction over the tilt of their rollers: ellipse, pressure, spin, and what they carry."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.model import Instance
from rtcvt.pog.layout import TRACTION_P
from rtcvt.pog.spin import Spin, traction_contacts
from rtcvt.pog.system import build_model, matrices
from rtcvt.pog.unit import GearSystem
from rtcvt.scenario import apply_parameters

Array = NDArray[np.float64]
Contacts = Callable[[list[Spin], Array, Array, Array, Array, Array], tuple[Array, Array, Array]]

CREEP = np.geomspace(1e-4, 0.2, 60)  # in which the largest traction is looked for
SPEED = 100.0  # of the first contact's disc, if the unit starts at rest [rad/s]


class Place(NamedTuple):
    """A contact at a tilt, without creep; `torque` is the largest by traction on its disc, of all rollers.

    With this torque a piston holds each roller by `reaction`, against the tractions of its two contacts. Where these
    pistons have the end load's pressure, `held` is the traction over normal force that they leave.
    """

    theta: float  # [rad]
    contact: str
    speed: float  # of the disc [rad/s]
    radius: float  # of the disc [m]
    a: float  # half axis along the rolling direction [m]
    b: float  # across
    pressure: float  # largest [Pa]
    spin: float  # [rad/s]
    torque: float  # [N.m]
    reaction: float  # [N]
    held: float | None


def tilts_of(unit: GearSystem, count: int) -> Array:
    """So many places over the range of the moving variable [rad]; 0 of a unit without one."""
    moving = unit.variables[unit.moving] if unit.moving else None
    return np.linspace(moving.min, moving.max, count) if moving else np.zeros(1)


def table_contacts(unit: GearSystem) -> Contacts:
    """Forces [N], moments [N.m] and Lambda of contacts by the table of the hybrid model.

    The law gets the contacts, the radii of their discs [m], normal forces [N], rolling speeds and speeds of creep [m/s]
    and spins [rad/s], each of shape (n,).
    """
    from rtcvt.traction.law import LAMBDA, M, contact_law, law_numbers  # whose table takes what reads HDF5
    from rtcvt.traction.size import LAW_SIZE

    assert unit.traction is not None
    fluid = unit.traction.fluid.fluid
    first = traction_contacts(unit)[0]
    data, out = np.array(law_numbers(first.drawing, fluid, *first.radii)), np.zeros(LAW_SIZE)

    def law(spins: list[Spin], r: Array, N: Array, u: Array, v: Array, sigma: Array) -> tuple[Array, Array, Array]:
        found = np.empty((3, len(r)))
        for k in range(len(r)):
            contact_law(0, v[k], sigma[k], u[k], r[k], N[k], fluid.Lambda, 0, data, out)
            found[:, k] = out[0], out[M], out[LAMBDA]
        return found[0], found[1], found[2]

    return law


def with_settings(unit: GearSystem, settings: Mapping[str, float | str]) -> tuple[GearSystem, dict[str, float | str]]:
    """The unit with the parameters of its traction that are set, and the settings that its other models have, too.

    Raises
    ------
    InputError
        A parameter that it does not have, of another unit or out of range.
    """
    others = {name: value for name, value in settings.items() if not name.startswith("traction.")}
    if unit.traction is None or len(others) == len(settings):
        return unit, dict(settings)
    one = build_model(unit, "hybrid").instantiate()
    apply_parameters(one, {name: value for name, value in settings.items() if name not in others}, "--set")
    found = {key: one.get(row.name) for key, row in TRACTION_P.items()}
    fluid = unit.traction.fluid.model_copy(update={"limit": found.pop("limit")})
    return unit.model_copy(update={"traction": unit.traction.model_copy(update=found | {"fluid": fluid})}), others


def over_tilt(unit: GearSystem, instance: Instance, tilts: Array) -> list[Place]:
    """The contacts with traction at each tilt [rad] under the largest end load, with the speeds the unit starts with.

    `instance` is of the unit's rigid model; its parameters count.
    """
    settings = unit.traction
    assert settings is not None
    own = {n: p.model_copy(update={"value": instance.get(f"geometry.{n}")}) for n, p in unit.parameters.items()}
    unit = unit.model_copy(update={"parameters": own})
    instance.initialise()
    start = np.array([instance.get(f"gear.{name}.w") for name in unit.rigid.independent])
    spins, law, gears = traction_contacts(unit), table_contacts(unit), list(unit.gears)
    found = []
    for theta in tilts:
        omega = matrices(instance, float(theta)).Q1 @ (start if start.any() else np.ones(len(start)))
        first = omega[gears.index(spins[0].disc)]
        omega = omega if start.any() or not first else omega * (SPEED / first)
        for spin in spins:
            r, r_c, S, S_c = spin.at(unit, float(theta))
            disc, roller = (float(omega[gears.index(g)]) for g in (spin.disc, spin.roller))
            u, sigma = 0.5 * (r * disc - r_c * roller), S * disc + S_c * roller
            N = settings.end_load_max / (settings.rollers * abs(S))
            n = np.ones(len(CREEP))
            F = law([], abs(r) * n, N * n, u * n, CREEP * abs(u), sigma * n)[0]
            torque = settings.rollers * settings.cavities * float(F.max()) * abs(r)
            both = sum(s.roller == spin.roller for s in spins)
            held = settings.rollers * abs(S) / (settings.by_reaction * both) if settings.by_reaction else None
            place = disc, abs(r), *spin.drawing.ellipse(abs(r), N), sigma
            found.append(Place(float(theta), spin.contact, *place, torque, both * float(F.max()), held))
    return found
