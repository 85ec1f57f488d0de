"""Belt velocity at the start: Sattler's steady belt with Euler-Eytelwein arcs, Cebulla 2014, section 4.1.

v_0 is the velocity of the undeformed belt, v = (1 + L/EA) v_0 (4.42). On each pulley the belt first sticks and then
creeps over the active arc Phi, the same on both pulleys (4.2), (4.3):

    L(theta) - K = (L_in - K) exp(+-mu* theta),   mu* = mu/sin(delta_0),   K = m* v_0^2 EA/(EA - m* v_0^2)

Upper strand: L_Iin = L_Oout = EA (r_I omega_I/v_0 - 1) (4.23); lower: L_Oin = L_Iout = EA (r_O omega_O/v_0 - 1)
(4.12); so M_O = (r_I omega_I - r_O omega_O) r_O EA/v_0 (4.17), (4.20). Sheave forces (4.19), (4.31), with
lambda = ln[(L_Iin - K)/(L_Oin - K)] = mu* Phi (4.18), (4.30):

    2 tan(delta_0) F_CO = (EA - m* v_0^2) [2 phi L_Oin/EA + M_O/(mu* r_O EA) - (L_Oin - K)/EA Phi] - 2 m* v_0^2 phi
    2 tan(delta_0) F_CI = (EA - m* v_0^2) [2 (pi - phi) L_Iin/EA + M_O/(mu* r_O EA) - (L_Iin - K)/EA Phi]
                          - 2 m* v_0^2 (pi - phi)

Unknown is u = v_0/(r_I omega_I): with m* v_0^2/EA = (r_I omega_I)^2 u^2 m*/EA the equations also hold at standstill.

Where this departs from the printed equations:

- The thesis counts F_CI along its z axis, so (4.26) to (4.33) have it negative. Here both forces press the belt.
- A load that drives (M_O < 0) makes lambda negative: mu* has its sign, Phi stays positive. The thesis has M_O >= 0.
- For loads near slip the starting value (4.22) or (4.33), of M_O = 0, has L_Oin < K, where there is no logarithm, or an
  active arc longer than the wrapped one, where the printed force falls with the strain and has a second root. The
  strain is then raised until the active arc fits; beyond, the force grows with the strain and the root is the only one.
  Without a root there the belt slips, and v_0 is the starting value as in section 4.1.4.
- With both forces given a second root exists: over the load torque F_CI/F_CO has a maximum. The search starts from the
  given ratio and uses (4.40), (4.41) only if that fails; with both speeds given, (4.41) cannot be used, since r_O
  omega_O and r_I omega_I differ by a strain of 1e-4.
- With both speeds given and the ratio from them (section 4.1.4), (4.17) makes M_O zero: the speed settings start
  without load unless the geometric ratio is given.
- `offset`: the radius at which the belt sticks lies that far inside the neutral fibre, whose radii enter the closure
  only. 0 is the thesis; the rocking edge is where flanks and elements meet.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.kinematics import Closure, radius_at_one
from rtcvt.offline.pushbelt.unit.parameters import FORCE, RATE, SPEED, TORQUE, Belt, Boundary

Array = NDArray[np.float64]


class BeltVelocity(NamedTuple):
    """Steady belt; SI units.

    ``v0``: velocity of the undeformed belt; ``L_upper``, ``L_lower``: longitudinal force of the strands (tension less
    push force); ``Phi``: active arc [rad]; ``geometry``: radii of the neutral fibre. ``converged`` is False if v0 is
    the starting value (4.22) or (4.33); a force that is not given is then that without load, Phi may be NaN, and with
    both speeds given the strands are unloaded. ``slips``: the active arc is longer than a wrapped arc.
    """

    v0: float
    omega_I: float
    omega_O: float
    M_O: float
    F_CI: float
    F_CO: float
    L_upper: float
    L_lower: float
    K: float
    Phi: float
    geometry: Closure
    converged: bool
    slips: bool


def speed_of(L: float, v0: float, EA: float) -> float:
    """Velocity [m/s] of the belt under the longitudinal force L [N], (4.42)."""
    return (1.0 + L / EA) * v0


def unloaded_velocity(belt: Belt, force: float, angle: float, r_omega: float) -> float:
    """v_0/(r omega) without load torque from the force on a pulley of wrapped angle 2 `angle`: (4.22), (4.33).

    The positive root of r omega m* v_0^2 + (F tan(delta_0)/angle + EA) v_0 - EA r omega = 0, free of cancellation.
    """
    b = force * belt.tan_d / angle + belt.EA
    return 2.0 * belt.EA / (b + float(np.sqrt(b**2 + 4.0 * belt.EA * belt.m_star * r_omega**2)))


def sheave_forces(belt: Belt, u: Array, rho: Array, phi: Array, r_omega_I: Array) -> tuple[Array, Array, Array]:
    """F_CI, F_CO [N] and the signed active arc [rad], positive if the load brakes: (4.31), (4.19), (4.18).

    Parameters
    ----------
    u, rho : array
        v_0/(r_I omega_I) and r_O omega_O/(r_I omega_I), real or complex.
    phi : array
        Angle of the geometry [rad].
    r_omega_I : array
        r_I omega_I [m/s].
    """
    EA, mu_star = belt.EA, belt.mu / belt.sin_d
    k = belt.m_star * (r_omega_I * u) ** 2 / EA
    up, low = 1.0 / u - 1.0 / (1.0 - k), rho / u - 1.0 / (1.0 - k)  # (L - K)/EA
    arc = np.log(up / low) / mu_star
    sign = np.where(np.real(rho) > 1.0, -1.0, 1.0)
    creep, Phi = sign * (1.0 - rho) / (mu_star * u), sign * arc
    F_CI = (1.0 - k) * (2.0 * (np.pi - phi) * (1.0 / u - 1.0) + creep - up * Phi) - 2.0 * k * (np.pi - phi)
    F_CO = (1.0 - k) * (2.0 * phi * (rho / u - 1.0) + creep - low * Phi) - 2.0 * k * phi
    return 0.5 * EA / belt.tan_d * F_CI, 0.5 * EA / belt.tan_d * F_CO, arc


def belt_velocity(belt: Belt, boundary: Boundary, geometry: Closure, offset: float = 0.0) -> BeltVelocity:
    """Steady velocity and forces of the belt for any of the six settings of Table 4.1, solved as in Table 4.2.

    Parameters
    ----------
    geometry : Closure
        Running radii. If both clamping forces are given the radii follow from them; its length closes the belt, (4.39),
        and its radii serve if there is no solution.
    offset : float
        Distance [m] from the neutral fibre in to where the belt sticks to the pulleys.

    Raises
    ------
    InputError
        Two end stops, a primary that turns backwards, or a clamping force that is not positive.
    """
    _require_possible(boundary)
    both = boundary.mode_I == FORCE and boundary.mode_O == FORCE

    def split(x: Array) -> tuple[Array, Array, Array]:
        """u, r_O, phi of the unknowns."""
        return (x[2], x[0], x[1]) if both else (x[0], np.asarray(geometry.r_O), np.asarray(geometry.phi))

    def forces(x: Array) -> tuple[Array, Array, Array, Array]:
        u, r_O, phi = split(x)
        R_I, R_O = r_O + np.cos(phi) * belt.d_A - offset, r_O - offset
        rho = _speed_ratio(belt, boundary, u, R_I, R_O)
        F_CI, F_CO, arc = sheave_forces(belt, u, rho, phi, R_I * boundary.omega_I)
        return F_CI, F_CO, arc, rho

    def residual(x: Array) -> Array:
        F_CI, F_CO, arc, _ = forces(x)
        r, phi = [], split(x)[2]
        if boundary.mode_I == FORCE:
            r.append(np.where(abs(arc.real) < 2.0 * (np.pi - phi.real), F_CI / boundary.value_I - 1.0, np.nan))
        if boundary.mode_O == FORCE:
            r.append(np.where(abs(arc.real) < 2.0 * phi.real, F_CO / boundary.value_O - 1.0, np.nan))
        if both:
            length = 2.0 * (np.sin(x[1]) * belt.d_A + x[0] * np.pi + np.cos(x[1]) * belt.d_A * (np.pi - x[1]))  # (4.39)
            r.append(length / geometry.length - 1.0)
        return np.array(r)

    given = _start(belt, boundary, geometry.r_O, geometry.phi, offset)
    starts = [given if both else given[2:]]

    with np.errstate(invalid="ignore", divide="ignore"):
        if both:
            # u that fits F_CI at the given radii
            first = _newton_inside(lambda y: residual(np.append(given[:2], y))[:1], given[2:])
            if first is not None:
                starts.insert(0, np.append(given[:2], first))
            r_1 = radius_at_one(geometry.length, belt.d_A)
            starts.append(_start(belt, boundary, r_1, 0.5 * np.pi, offset))  # (4.40), (4.41)
        for start in starts:
            x = _newton_inside(residual, start)
            if x is not None and x[-1] > 0.0 and _is_belt(*split(x)[1:], belt.d_A, offset):
                converged = True
                break
        else:
            x, converged = given if both else given[2:], False
        F_CI, F_CO, arc, rho = (float(f) for f in forces(x))
    u, r_O, phi = (float(value) for value in split(x))
    solved = geometry
    if both and converged:
        solved = Closure(r_O + float(np.cos(phi)) * belt.d_A, r_O, phi, float(np.sin(phi)) * belt.d_A)
    if not converged:  # the forces without load are as the wrapped arcs
        across = (np.pi - geometry.phi) / geometry.phi
        F_CI = boundary.value_I if boundary.mode_I == FORCE else boundary.value_O * across
        F_CO = boundary.value_O if boundary.mode_O == FORCE else boundary.value_I / across
    return _described(belt, boundary, solved, offset, (u, rho, F_CI, F_CO, arc), bool(converged))


def _require_possible(boundary: Boundary) -> None:
    for key, mode, value in (("F_CI", boundary.mode_I, boundary.value_I), ("F_CO", boundary.mode_O, boundary.value_O)):
        if mode == FORCE and value <= 0.0:
            raise InputError("pushbelt", key, value, "a clamping force above 0 N")
    if boundary.omega_I < 0.0 or (boundary.omega_I == 0.0 and boundary.mode_load == SPEED):
        raise InputError("pushbelt", "omega_I", boundary.omega_I, "not negative; above 0 with a secondary speed")

    if boundary.mode_I == RATE and boundary.mode_O == RATE:
        raise InputError("pushbelt", "F_CO", None, "an end stop on one pulley needs a clamping force on the other")


def _described(
    belt: Belt,
    boundary: Boundary,
    geometry: Closure,
    offset: float,
    found: tuple[float, float, float, float, float],
    converged: bool,
) -> BeltVelocity:
    """The belt with the solution `found`: u, rho, F_CI, F_CO and the active arc."""
    u, rho, F_CI, F_CO, arc = found
    phi = geometry.phi
    r_omega = (geometry.r_I - offset) * boundary.omega_I
    k = belt.m_star * (r_omega * u) ** 2 / belt.EA
    omega_O = boundary.value_load if boundary.mode_load == SPEED else rho * r_omega / (geometry.r_O - offset)
    upper, lower = 1.0 / u, rho / u
    if not converged and boundary.mode_load == SPEED:  # the speeds are no ratio of this belt: unloaded
        force, angle = (F_CI, np.pi - phi) if boundary.mode_I == FORCE else (F_CO, phi)
        upper = lower = 1.0 / unloaded_velocity(belt, force, angle, r_omega)
    return BeltVelocity(
        v0=u * r_omega,
        omega_I=boundary.omega_I,
        omega_O=omega_O,
        M_O=(upper - lower) * (geometry.r_O - offset) * belt.EA,
        F_CI=F_CI,
        F_CO=F_CO,
        L_upper=belt.EA * (upper - 1.0),
        L_lower=belt.EA * (lower - 1.0),
        K=belt.EA * k / (1.0 - k),
        Phi=abs(arc),
        geometry=geometry,
        converged=converged,
        slips=not abs(arc) <= min(geometry.wrap_I, geometry.wrap_O),
    )


def _start(belt: Belt, boundary: Boundary, r_O: float, phi: float, offset: float) -> Array:
    """Starting values r_O, phi and u, the last from the case without load torque: (4.33), (4.22)."""
    R_I, R_O = r_O + float(np.cos(phi)) * belt.d_A - offset, r_O - offset
    r_omega_I = R_I * boundary.omega_I
    if boundary.mode_I != FORCE:
        return np.array([r_O, phi, unloaded_velocity(belt, boundary.value_O, phi, r_omega_I)])
    r_omega_O = r_omega_I if boundary.mode_load == TORQUE else R_O * boundary.value_load
    ratio = r_omega_O / r_omega_I if r_omega_I > 0.0 else 1.0
    return np.array([r_O, phi, ratio * unloaded_velocity(belt, boundary.value_I, np.pi - phi, r_omega_O)])


def _speed_ratio(belt: Belt, boundary: Boundary, u: Array, R_I: Array, R_O: Array) -> Array:
    """r_O omega_O/(r_I omega_I): given, or from the load torque (4.20)."""
    if boundary.mode_load == SPEED:
        return R_O * boundary.value_load / (R_I * boundary.omega_I)
    return 1.0 - u * boundary.value_load / (belt.EA * R_O)


def _is_belt(r_O: Array, phi: Array, d_A: float, offset: float) -> bool:
    return bool(0.0 < phi < np.pi and r_O > offset and r_O + np.cos(phi) * d_A > offset)


def _newton_inside(residual: Callable[[Array], Array], x: Array) -> Array | None:
    """Newton's method from `x` with the belt's strain 1/u - 1 raised until the active arcs fit."""
    x = x.copy()
    for _ in range(100):
        if np.all(np.isfinite(residual(x))):
            return _newton(residual, x)
        x[-1] = 1.0 / (1.0 + 1.1 * max(1.0 / x[-1] - 1.0, 1e-6))
    return None


def _newton(residual: Callable[[Array], Array], x: Array) -> Array | None:
    """Root by Newton's method with complex-step derivatives and halved steps; None if there is none to be found."""
    r = residual(x)
    for _ in range(60):
        if not np.all(np.isfinite(r)):
            return None
        if np.max(np.abs(r)) < 1e-12:
            return x
        J = np.empty((len(x), len(x)))
        for j in range(len(x)):
            z = x.astype(complex)
            z[j] += 1e-30j
            J[:, j] = residual(z).imag / 1e-30
        if not np.all(np.isfinite(J)) or np.linalg.cond(J) > 1e14:
            return None
        step = np.linalg.solve(J, r)
        for halvings in range(40):
            trial = x - step * 0.5**halvings
            r_trial = residual(trial)
            if np.all(np.isfinite(r_trial)) and np.max(np.abs(r_trial)) < np.max(np.abs(r)):
                break
        else:  # no descent: rounding, or no root
            return x if np.max(np.abs(r)) < 1e-9 else None
        x, r = trial, r_trial
    return None
