"""Operating points of a toroidal variator with the traction of each contact: creep, spin, losses, efficiency.

The input disc turns at omega_i; the roller's speed and the output disc's follow from the balance of torques,

    n (F_k R_kc + M_k S_kc summed over both contacts) + T_B = 0,    n (F_o R_oo + M_o S_oo) + T_churning = T_o,

with R and S of `rtcvt.pog.spin` and n rollers in all. T_B is the drag of the roller's bearings, by the load that they
carry: the normal forces' part along the roller's axis, and both tractions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from rtcvt.errors import InputError
from rtcvt.offline.toroidal.ellipse import traction
from rtcvt.pog.spin import Spin, traction_contacts
from rtcvt.pog.toroid import Contacts
from rtcvt.pog.unit import GearSystem

Array = NDArray[np.float64]

MIN_PEAK_CREEP, MAX_PEAK_CREEP = 0.02, 0.1  # between which a contact's traction is largest


@dataclass(frozen=True)
class Point:
    """An operating point; arrays are by contact, input first."""

    end_load: float  # [N]
    radius: Array  # of the disc [m]
    N: Array  # normal force of a roller [N]
    u: Array  # rolling speed [m/s]
    creep: Array  # over the rolling speed, positive where the disc is faster
    spin: Array  # [rad/s]
    Lambda: Array  # of the film as warm as it is
    coefficient: Array  # traction over normal force
    share: Array  # of the capacity of the cold fluid
    reaction: float  # of the piston that holds a roller against both tractions [N]
    pressure: Array  # largest [Pa]
    creep_loss: float  # [W]
    spin_loss: float
    bearing_loss: float
    churning_loss: float
    torque_in: float  # [N.m]
    torque_out: float
    speed_out: float  # [rad/s]
    efficiency: float


def full_contacts(unit: GearSystem) -> Contacts:
    """Traction of the contacts by integration over their ellipses."""
    assert unit.traction is not None
    fluid = unit.traction.fluid.fluid

    def law(spins: list[Spin], r: Array, N: Array, u: Array, v: Array, sigma: Array) -> tuple[Array, Array, Array]:
        found = traction(spins[0].drawing, fluid, r, N, np.abs(u), v / np.abs(u), sigma)
        return found.F, found.M, found.Lambda

    return law


def operating_point(
    unit: GearSystem, theta: float, end_load: float, omega_in: float, torque_out: float, law: Contacts | None = None
) -> Point:
    """The point at a tilt [rad], an end load [N], the first contact's disc turning at omega_in [rad/s].

    `torque_out` [N.m] is the torque out of the second contact's disc; `law` is the full one by default. All cavities
    are equal.

    Raises
    ------
    InputError
        The traction does not reach.
    """
    assert unit.traction is not None
    t, spins = unit.traction, traction_contacts(unit)[:2]
    n = t.rollers * t.cavities
    rows = np.array([s.at(unit, theta) for s in spins])
    R, R_c, S, S_c = rows.T
    N = end_load / (t.rollers * np.abs(S))
    law = law or full_contacts(unit)
    drag = t.bearing_friction * t.bearing_radius

    def state(x: Array) -> tuple[Any, ...]:
        omega_c = -R[0] * omega_in / R_c[0] * (1.0 - x[0])
        omega_o = -R_c[1] * omega_c / R[1] * (1.0 - x[1])
        omega = np.array([omega_in, omega_o])
        v, sigma = R * omega + R_c * omega_c, S * omega + S_c * omega_c
        u = 0.5 * (R * omega - R_c * omega_c)
        F, M, Lambda = law(spins, np.abs(R), N, u, v, sigma)
        bearing = n * drag * float(np.sum(N * np.abs(S_c) + np.abs(F))) * np.sign(omega_c)
        churning = t.churning * omega * np.abs(omega)
        return v, sigma, u, F, M, bearing, n * (F * R + M * S), omega, omega_c, churning, Lambda

    def misses(x: Array) -> Array:
        _, _, _, F, M, bearing, torque, _, _, churning, _ = state(x)
        roller = n * float(np.sum(F * R_c + M * S_c)) + bearing
        out = torque[1] + churning[1] + torque_out
        return np.array([roller / abs(R_c[0]), out / abs(R[1])]) / (n * N[0])

    sign = float(np.sign(torque_out * R[1] * R[0] * omega_in)) or 1.0
    x = np.full(2, MAX_PEAK_CREEP)
    for start in (0.5, 0.1, 0.02, 2.0):  # beyond the largest traction there are solutions, too, that are not stable
        found = root(lambda x: misses(1e-2 * x), -start * sign * np.ones(2), tol=1e-12).x * 1e-2
        if np.all(np.abs(misses(found)) < 1e-7) and np.abs(found).max() < np.abs(x).max():
            x = found
        if np.abs(x).max() < MIN_PEAK_CREEP:
            break
    if np.abs(x).max() == MAX_PEAK_CREEP:
        allowed = f"less than traction carries at {theta:g} rad with an end load of {end_load:g} N"
        raise InputError(unit.source, "torque out", torque_out, allowed)
    v, sigma, u, F, M, bearing, torque, omega, omega_c, churning, Lambda = state(x)
    into = float(torque[0] + churning[0])
    out = -float(torque[1] + churning[1])
    through = into * omega_in
    pressure = np.array([s.drawing.ellipse(abs(r), f).p_0 for s, r, f in zip(spins, R, N, strict=True)])
    losses = float(n * np.sum(F * v)), float(n * np.sum(M * sigma)), float(bearing * omega_c)
    efficiency = out * float(omega[1]) / through if through else 0.0
    return Point(
        end_load, np.abs(R), N, np.abs(u), v / np.abs(u), sigma, Lambda, F / N, F / N / t.fluid.limit,
        abs(float(np.sum(F))), pressure, *losses, float(np.sum(churning * omega)), into, out, float(omega[1]),
        efficiency,
    )  # fmt: skip


def held_point(
    unit: GearSystem, theta: float, omega_in: float, torque_out: float, law: Contacts | None = None
) -> Point:
    """The `operating_point` at the end load that the unit's margin, or the pistons of its rollers, ask for, within its
    least and largest one."""
    assert unit.traction is not None
    t = unit.traction
    r, _, S, _ = np.abs([spin.at(unit, theta) for spin in traction_contacts(unit)[:2]]).T
    F = 1.3 * abs(torque_out) / (r[1] * t.cavities)  # of a cavity's rollers; losses and heat add less
    asked = max(t.margin * F * S.max() / t.fluid.limit, t.by_reaction * 2.0 * F / t.rollers)
    for _ in range(30):
        load = min(max(asked, t.preload), t.end_load_max)
        point = operating_point(unit, theta, load, omega_in, torque_out, law)
        asked = t.margin * load * float(np.max(np.abs(point.coefficient) / point.Lambda))
        asked = max(asked, t.by_reaction * point.reaction)
        if abs(min(max(asked, t.preload), t.end_load_max) - load) < 1e-6 * load:
            break
    return point
