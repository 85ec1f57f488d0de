"""Impact laws: impulses of the closed contacts from the velocities before them.

The source leaves them to Brogliato 1999 (Cebulla 2014, section 2.4). Both laws below are set-valued force laws on
velocity level; ``gamma^-`` is the relative velocity before, and ``a`` [m/s] its change by the smooth forces.

Newton, in the form of Moreau 1988, impact and smooth force in one problem:

    gamma^+ = gamma^- + a + G L,    the laws of contact hold for (gamma^+ + e gamma^-, L).

Poisson, as Glocker and Pfeiffer 1995, impact first and smooth force after it, in the order of the reaction measure
``lambda dt + L d eta``, eq. (2.18):

    compression    gamma_C = gamma^- + G L_C,    the laws hold for (gamma_C, L_C)
    expansion      gamma_E = gamma_C + G L_E,    the laws hold for (gamma_E, L_E), normal impulse at least e_N L_C
    smooth         gamma^+ = gamma_E + a + G L_S,    the laws hold for (gamma_S, L_S)

Energy. Without smooth forces Newton's law changes it by at most ``-(1/2) (1 - e) / (1 + e) L' G L <= 0`` if all
coefficients, e_N and e_T, are one number e <= 1. Derivation: ``L'(gamma^+ + e gamma^-) <= 0`` (the normal part is zero
by complementarity, the tangential part dissipates), so ``L' gamma^- <= -L' G L / (1 + e)``, and the change is
``L' gamma^- + (1/2) L' G L``. With different coefficients neither law bounds the energy (Kane and Levinson 1985): see
`energy_change`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.nonsmooth.contact import ContactSolution, contact_problem, newton

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Restitution:
    """Laws of k contacts with d tangential directions.

    Attributes
    ----------
    mu : ndarray, shape (k,)
        Coefficient of friction.
    e_N, e_T : ndarray, shape (k,)
        Normal and tangential coefficient of restitution, 0 to 1.
    bilateral : ndarray of bool, shape (k,)
        Contacts that neither open nor bounce.
    """

    mu: Array
    e_N: Array
    e_T: Array
    bilateral: NDArray[np.bool_]


ImpactLaw = Callable[[Array, Array, Array, Restitution, Array], ContactSolution]


def newton_law(G: Array, before: Array, added: Array, law: Restitution, start: Array) -> ContactSolution:
    """Impulses by Newton's law.

    Parameters
    ----------
    G : ndarray, shape (m, m)
        ``W' M^-1 W``, m = k (1 + d), rows as in `rtcvt.offline.nonsmooth.contact` [1/kg].
    before, added : ndarray, shape (m,)
        Relative velocity before, and its change by smooth forces [m/s].
    law : Restitution
        Laws of the k contacts.
    start : ndarray, shape (m,)
        Guess of the impulses [N s].

    Returns
    -------
    ContactSolution
        Impulses [N s] and relative velocities after them [m/s].

    Raises
    ------
    ConvergenceError
        If the contact problem is not solved.
    """
    d = before.size // max(law.mu.size, 1) - 1
    e = np.repeat(np.where(law.bilateral, 0.0, law.e_T), 1 + d)
    e[:: 1 + d] = np.where(law.bilateral, 0.0, law.e_N)
    solved = newton(contact_problem(G, before + added + e * before, law.mu, _lower(law), _speed(before, added)), start)
    return ContactSolution(solved.L, before + added + G @ solved.L, solved.iterations, solved.residual)


def poisson_law(G: Array, before: Array, added: Array, law: Restitution, start: Array) -> ContactSolution:
    """Impulses by Poisson's law; arguments as in `newton_law`. ``e_T`` is not used: friction returns nothing."""
    d = before.size // max(law.mu.size, 1) - 1
    normal = slice(None, None, 1 + d)
    lower, speed = _lower(law), _speed(before, added)
    compression = newton(contact_problem(G, before, law.mu, lower, speed))
    returned = np.where(law.bilateral, -np.inf, law.e_N * compression.L[normal])
    expansion = newton(contact_problem(G, compression.gamma, law.mu, returned, speed))
    smooth = newton(contact_problem(G, expansion.gamma + added, law.mu, lower, speed), start)
    L, iterations = compression.L + expansion.L + smooth.L, sum(s.iterations for s in (compression, expansion, smooth))
    return ContactSolution(L, smooth.gamma, iterations, max(s.residual for s in (compression, expansion, smooth)))


def energy_change(G: Array, before: Array, L: Array) -> float:
    """Kinetic energy that the impulses `L` add to a system with relative velocities `before` [J]."""
    return float(L @ before + 0.5 * L @ G @ L)


def _speed(before: Array, added: Array) -> float:
    return float(max(np.abs(before).max(initial=0.0), np.abs(added).max(initial=0.0)))


def _lower(law: Restitution) -> Array:
    return np.where(law.bilateral, -np.inf, 0.0)
