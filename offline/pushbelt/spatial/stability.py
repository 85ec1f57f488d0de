"""Largest stable step of the flanks of spatial elements.

Normal forces of the flanks are those of place and velocity before the step (`flank`). A spring c with a damper d, at a
point of inverse mass W, is stable with steps dt while

    c dt^2 + 2 d dt < 4/W

W is largest for an element that rolls while it moves laterally, pressed by both sheaves: 1070 /kg for a 24 mm element,
and up to a fifth more with the loose sheave under all its points. For the radial motion, the only one of the hybrid
model, a flank acts by sin(delta_0) only, 17 /kg. A flank's damper, given as a fraction of the critical one of the
radial motion, therefore limits the step of the spatial model, for any steps of the rings.

In the multirate scheme ring tracking of slope k acts on the ring a quarter of a step late. A ring of the mass m by
element that swings on a span, where no saddle rubs, then grows with the rate k dt/(8 m).
"""

import numpy as np

from rtcvt.offline.pushbelt.contact.flank import face
from rtcvt.offline.pushbelt.spatial.element import Body
from rtcvt.offline.pushbelt.spatial.tracking import Tracking
from rtcvt.offline.pushbelt.unit.parameters import Belt, Sheaves

POINTS = 2  # of a flank
LARGEST_GROWTH = 50.0  # of a ring's swing on a span [1/s]


def mobility(belt: Belt, body: Body, sheaves: Sheaves) -> float:
    """Inverse mass [1/kg] against the normal forces of all points of an element, wherever on their arcs, and the most
    that a loose sheave under half the belt adds."""
    inverse = 1.0 / np.array([body.m, body.m, body.m, body.Theta_x, body.Theta_y, body.Theta_z])

    def pressed(rise: float) -> float:
        up = rise / belt.r_F - belt.sin_d
        y, z = belt.y_P - belt.h_S + rise, belt.z_P + belt.r_F * (np.sqrt(1.0 - up * up) - belt.cos_d)
        sides = [sigma for sigma in (1.0, -1.0) for _ in range(POINTS)]
        normals = [(0.0, belt.sin_d, -sigma * belt.cos_d) for sigma in sides]
        arms = [(face(belt, k % POINTS, POINTS), y, sigma * z) for k, sigma in enumerate(sides)]
        G = np.hstack([normals, np.cross(arms, normals)])
        return float(np.linalg.eigvalsh(G * inverse @ G.T)[-1])

    element = max(pressed(y - belt.y_P) for y in (belt.y_F0, belt.y_P, belt.y_F1))
    tilt = (sheaves.r_max / belt.cos_d) ** 2 / (2.0 * sheaves.Theta_t)
    return element + 0.5 * POINTS * body.N_E * max(belt.cos_d**2 / sheaves.m, tilt)


def largest_step(belt: Belt, body: Body, sheaves: Sheaves) -> float:
    """Largest stable step [s] of elements and sheaves by springs and dampers of the flanks."""
    c, d = belt.c_el / (POINTS * belt.cos_d), belt.d_el / (POINTS * belt.cos_d**2)
    return float((np.sqrt(d * d + 4.0 * c / mobility(belt, body, sheaves)) - d) / c)


def largest_tracked_step(belt: Belt, law: Tracking) -> float:
    """Largest step [s] of the multirate scheme by ring tracking around the middle of the saddle."""
    m = 0.5 * belt.rhoA * belt.l_R / belt.N_E
    return 8.0 * m * LARGEST_GROWTH / -law.slope_2 if law.slope_2 < 0.0 else np.inf
