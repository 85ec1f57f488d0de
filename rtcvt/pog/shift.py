"""Shift table of a gear system: ratios, torques and efficiency of each gear, from the radii matrix alone.

In a gear some elements are closed. With one row for each contact (of R) and for each closed element (``omega_a =
omega_b``, ``omega_a = 0``) in ``C``,

    C omega = 0,    C' lambda = tau_input + tau_output,

speeds and torques being those of a massless box without losses; lambda are the contact forces and the elements'
torques. Quantities that input and output do not determine are free: the speed of an idle shaft, the shares of two
elements with the same function.

A contact with an efficiency below 1 gives its driven gear that share of the driving gear's torque. The driving gear is
found in the frame of the carrier, where the teeth roll (Mueller, Die Umlaufgetriebe, 2nd ed. 1998, chapter 2.7); the
rest of the torque is the carrier's, or the housing's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.pog.radii import axis_sign, direction, efficiencies
from rtcvt.pog.unit import GearSystem

_SPEED_RTOL = 1e-9  # relative to speeds and torques of order 1

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class ShiftGear:
    """One gear of the box at input speed 1 rad/s and input torque 1 N.m; nan where that does not determine a value."""

    name: str
    elements: tuple[str, ...]  # that hold
    ratio: float  # input speed by output speed
    speeds: dict[str, float]  # by gear
    torques: dict[str, float]  # by element: from a clutch's first gear to its second, on a brake's gear; no losses
    efficiency: float | None  # driven at the input
    coast: float | None  # driven at the output; 0 or less: it locks itself


def shift_table(unit: GearSystem, R: Matrix) -> list[ShiftGear]:
    """Each gear of ``[shift]`` in the file's order.

    Parameters
    ----------
    unit : GearSystem
        With a table ``[shift]``.
    R : array, shape (n_K, n_J)
        Radii matrix [m], see `rtcvt.pog.radii.radii_at`.

    Raises
    ------
    InputError
        The elements of a gear hold input or output, or leave the output's speed free.
    """
    return [_gear(unit, R / np.abs(R).max(initial=1e-300), name) for name in unit.shift.gears] if unit.shift else []


def _gear(unit: GearSystem, R: Matrix, name: str) -> ShiftGear:
    shift, gears = unit.shift, list(unit.gears)
    assert shift is not None
    elements = shift.gears[name]
    e = np.eye(len(gears))
    e_in, e_out = (e[gears.index(unit.ports[port].gear)] for port in (shift.input, shift.output))
    closed = np.array([_row(unit, e, element) for element in elements]).reshape(len(elements), len(gears))
    C = np.vstack([R, closed])

    def require(condition: bool, allowed: str) -> None:
        if not condition:
            raise InputError(unit.source, f"shift.gears.{name}", list(elements), allowed)

    omega, idle, miss = _solve(np.vstack([C, e_in]), np.append(np.zeros(len(C)), 1.0))
    require(miss < _SPEED_RTOL, "elements that let the input turn")
    free = np.abs(idle).max(axis=1, initial=0.0) > _SPEED_RTOL
    out = gears.index(unit.ports[shift.output].gear)
    require(not free[out], "more elements: the output's speed stays free")
    require(abs(omega[out]) > _SPEED_RTOL, "elements that let the output turn")
    forces, shared, _ = _solve(np.column_stack([C.T, -e_out]), e_in)
    open_ = np.abs(shared).max(axis=1, initial=0.0) > _SPEED_RTOL
    torques = np.where(open_, np.nan, forces)[len(R) : -1]
    brakes = np.array([-1.0 if element in unit.brakes else 1.0 for element in elements])
    drive, coast = (_output_torque(unit, R, closed, e_in, e_out, omega, sign) for sign in (1.0, -1.0))
    return ShiftGear(
        name,
        elements,
        1.0 / float(omega[out]),
        dict(zip(gears, np.where(free, np.nan, omega).tolist(), strict=True)),
        dict(zip(elements, (brakes * torques).tolist(), strict=True)),
        None if not unit.lossy else -float(drive * omega[out]),
        None if not unit.lossy else 1.0 / (float(coast * omega[out]) or np.nan),
    )


def _row(unit: GearSystem, e: Matrix, element: str) -> Matrix:
    """The speed across a closed element by the gears' speeds."""
    gears = list(unit.gears)
    if element in unit.brakes:
        row: Matrix = e[gears.index(unit.brakes[element].gear)]
        return row
    one, two = unit.clutches[element].between
    row = e[gears.index(one)] - axis_sign(unit, one, two) * e[gears.index(two)]
    return row


def _solve(A: Matrix, b: Matrix) -> tuple[Matrix, Matrix, float]:
    """Least solution of ``A x = b``, its null space (columns), and the largest residual."""
    x: Matrix = np.asarray(np.linalg.lstsq(A, b, rcond=_SPEED_RTOL)[0], dtype=np.float64)
    _, s, Vt = np.linalg.svd(A)
    rank = int(np.sum(s > _SPEED_RTOL * s.max(initial=0.0)))
    idle: Matrix = Vt[rank:].T
    return x, idle, float(np.abs(A @ x - b).max())


def _output_torque(
    unit: GearSystem, R: Matrix, closed: Matrix, e_in: Matrix, e_out: Matrix, omega: Matrix, torque: float
) -> float:
    """Torque into the box at the output with mesh losses, the input's being `torque`; nan if none is in balance."""
    eta = np.array(list(efficiencies(unit).values()))[:, None]
    radii, rolling, shares = _meshes(unit, R, omega)
    lossy = R
    for _ in range(len(R) + 2):
        x, _, miss = _solve(np.column_stack([np.vstack([lossy, closed]).T, -e_out]), torque * e_in)
        power = x[: len(R), None] * radii * rolling  # from a gear into its contact
        driven = power < -_SPEED_RTOL
        new = R.copy()
        loss = (1.0 - eta) * np.where(driven, radii, 0.0)
        new -= loss
        for k, (carrier, cosines) in shares.items():
            new[k, carrier] += loss[k] @ cosines
        if np.array_equal(new, lossy):
            return float(x[-1]) if miss < _SPEED_RTOL else np.nan
        lossy = new
    return np.nan


def _meshes(unit: GearSystem, R: Matrix, omega: Matrix) -> tuple[Matrix, Matrix, dict[int, tuple[int, Matrix]]]:
    """Of each contact: radii of its two gears, their speeds seen from the carrier, and the carrier.

    With the carrier come the cosines of all axes to its own.
    """
    gears = list(unit.gears)
    at = {n: p.value for n, p in unit.parameters.items()} | {n: v.start for n, v in unit.variables.items()}
    axes = np.array([[c.evaluate(at) for c in direction(unit, g)] for g in gears])
    radii, rolling = np.zeros_like(R), np.zeros_like(R)
    shares: dict[int, tuple[int, Matrix]] = {}
    for k, (name, contact) in enumerate(unit.contacts.items()):
        carriers = {unit.gears[g].carrier for g in contact.between} - {None}
        pair = [gears.index(g) for g in contact.between]
        radii[k, pair] = R[k, pair]
        rolling[k, pair] = omega[pair]
        if carriers:
            carrier = carriers.pop()
            if carriers or carrier is None or carrier in contact.between:
                raise InputError(unit.source, f"contacts.{name}", list(contact.between), "one carrier, for a loss")
            c = gears.index(carrier)
            shares[k] = c, axes @ axes[c]
            rolling[k, pair] -= shares[k][1][pair] * omega[c]
    return radii, rolling, shares
