"""Mesh of a sheave: quadrilaterals that meet node to node over rings, disc and ribs."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skfem import MeshQuad

from rtcvt.offline.sheave.profile import Profile

Array = NDArray[np.float64]

BODY, RIBS = 0, 1  # material of a quadrilateral
SAME_LINE = 1e-9  # [m] distance below which two lines of the mesh are the same


class Mesh(NamedTuple):
    """Quadrilaterals, their materials, and the vertices of the flank from the hub to the rim."""

    quads: MeshQuad
    kind: NDArray[np.intp]
    flank: NDArray[np.intp]


def _lines(places: set[float], size: float) -> Array:
    """Places and lines between them, at most `size` apart."""
    marks = sorted(places)
    marks = [a for a, b in pairwise([*marks, np.inf]) if b - a > SAME_LINE]
    pieces = [np.linspace(a, b, max(1, int(np.ceil((b - a) / size - SAME_LINE))) + 1)[:-1] for a, b in pairwise(marks)]
    return np.concatenate([*pieces, marks[-1:]])


def _within(lines: Array, low: float, high: float) -> Array:
    return lines[(lines > low - SAME_LINE) & (lines < high + SAME_LINE)]


def mesh(profile: Profile, tan_d: float, size: float) -> Mesh:
    """Mesh of a sheave.

    Parameters
    ----------
    profile : Profile
        Section of the sheave.
    tan_d : float
        Tangent of the flank's angle.
    size : float
        Largest side of a quadrilateral [m].

    Raises
    ------
    ValueError
        The disc is not on the last ring.
    """
    hub = profile.rings[-1]
    root = hub.r[1]
    foot = (root * tan_d, root * tan_d + float(profile.thickness(np.array(root))))
    if not hub.z[0] <= foot[0] + SAME_LINE and foot[1] <= hub.z[1] + SAME_LINE:
        raise ValueError(f"disc: from z = {1e3 * foot[0]:.3g} to {1e3 * foot[1]:.3g} mm within the last ring's z")
    places = {z for ring in profile.rings for z in ring.z} | set(foot)
    places |= {z for s in profile.supports for z in s.z}
    if profile.reaction.on != "back":
        places |= set(profile.reaction.span)
    z_lines = _lines(places, size)
    blocks: list[tuple[Array, Array, int]] = []  # corners' r and z on a grid, and the material
    for ring in profile.rings:
        r = _lines(set(ring.r), size)
        blocks.append((*np.meshgrid(r, _within(z_lines, *ring.z), indexing="ij"), BODY))
    marks = {r for r, _ in profile.disc} | set(profile.ribs.r if profile.ribs else ())
    marks |= set(profile.reaction.span) if profile.reaction.on == "back" else set()
    r = _lines(marks, size)
    rows = (_within(z_lines, *foot) - foot[0]) / (foot[1] - foot[0])
    back = r * tan_d + profile.thickness(r)
    front = r[:, None] * tan_d
    blocks.append((np.repeat(r[:, None], len(rows), 1), front + rows * (back[:, None] - front), BODY))
    if profile.ribs:
        on = (r > profile.ribs.r[0] - SAME_LINE) & (r < profile.ribs.r[1] + SAME_LINE)
        rows = np.linspace(0.0, profile.ribs.height, max(1, int(np.ceil(profile.ribs.height / size))) + 1)
        blocks.append((np.repeat(r[on, None], len(rows), 1), back[on, None] + rows, RIBS))

    points, quads, kind = [], [], []
    count = 0
    for R, Z, filling in blocks:
        number = count + np.arange(R.size).reshape(R.shape)
        corners = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
        quads.append(np.stack([c.ravel() for c in corners]))
        points.append(np.stack([R.ravel(), Z.ravel()]))
        kind.append(np.full(quads[-1].shape[1], filling))
        count += R.size
    p = np.concatenate(points, axis=1)
    _, first, same = np.unique(np.round(p / SAME_LINE).astype(np.int64), axis=1, return_index=True, return_inverse=True)
    p = p[:, first]
    t = np.asarray(same).ravel()[np.concatenate(quads, axis=1)]
    flank = np.flatnonzero((np.abs(p[1] - p[0] * tan_d) < 10.0 * SAME_LINE) & (p[0] > root - SAME_LINE))
    return Mesh(MeshQuad(p, t), np.concatenate(kind), flank[np.argsort(p[0, flank])])
