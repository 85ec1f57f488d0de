"""Set-valued force laws in proximal form.

A force law ``-g in N_C(lam)``, with the normal cone of the convex set ``C`` of admissible forces, is satisfied if and
only if

    lam = prox_C(lam - r g)        for one, and then for every, r > 0,

which turns contact into a root or fixed-point problem. ``g`` is a gap [m] or a gap velocity [m/s], ``lam`` the
force [N] or impulse [N s] conjugate to it, and ``r`` scales one to the other.

Sources: Cebulla 2014, eqs. (2.31)-(2.38); Leine and Nijmeijer 2004, chapter 5.
"""

import math

from rtcvt.offline.nonsmooth.compiled import compiled


@compiled
def prox_unilateral(x):
    """Nearest non-negative number: the Signorini condition ``0 <= g, 0 <= lam, g lam = 0``, eq. (2.36b).

    Parameters
    ----------
    x : float
        ``lam - r g`` [N].

    Returns
    -------
    float
        Normal force, zero when the contact is open [N].
    """
    return x if x > 0.0 else 0.0


@compiled
def prox_lower(x, lower):
    """Nearest number that is at least `lower` [N]: eq. (2.36b) at 0, eq. (2.37b) at minus infinity.

    A positive bound is the least impulse that Poisson's law returns in the expansion of an impact.
    """
    return x if x > lower else lower


@compiled
def prox_segment(x, radius):
    """Nearest number of ``[-radius, radius]``: planar Coulomb friction with ``radius = mu |lam_N|``, eq. (2.38b).

    Parameters
    ----------
    x : float
        ``lam_T - r g_T_dot`` [N].
    radius : float
        Largest friction force, not negative [N].

    Returns
    -------
    float
        Friction force [N].
    """
    if x > radius:
        return radius
    if x < -radius:
        return -radius
    return x


@compiled
def prox_disc(x_1, x_2, radius):
    """Nearest point of a disc: spatial Coulomb friction with ``radius = mu |lam_N|``, eq. (2.38b).

    Inside the disc the contact sticks; on its edge it slips against the force.

    Parameters
    ----------
    x_1, x_2 : float
        Components of ``lam_T - r g_T_dot`` [N].
    radius : float
        Largest friction force, not negative [N].

    Returns
    -------
    tuple of float
        Friction force [N].
    """
    length = math.hypot(x_1, x_2)
    if length <= radius:
        return x_1, x_2
    return x_1 * (radius / length), x_2 * (radius / length)
