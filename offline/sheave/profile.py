"""The profile of a sheave in the half plane (r, z), and its mesh.

z runs along the shaft away from the belt, with 0 at the apex of the cone; the flank is z = r tan(delta_0)::

    z ^   +-----+
      |   | hub |     ________  back: flank + thickness(r)
      |   |     |____/        |
      |   |     |             |
      |   |     '-------------'  flank, pressed by the belt
      |   +-----+
      +---+-----+-------------+--> r
        bore   hub           rim

Rings of constant section (a shaft, a hub) follow each other from the bore outwards; the disc stands on the last one.
Ribs on its back count as a layer that carries no stress around the shaft. All parts have one mesh of quadrilaterals,
node to node.
"""

from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from skfem import MeshQuad

from rtcvt.unitfile import Record, quantity_in

__all__ = ["Mesh", "Profile", "Reaction", "Ribs", "Ring", "Support", "mesh"]

Array = NDArray[np.float64]
Place = Annotated[float, quantity_in("m")]
Size = Annotated[float, quantity_in("m", above=0.0)]

BODY, RIBS = 0, 1  # what a quadrilateral is made of
NEAR = 1e-9  # [m] within which two lines of the mesh are one


class Ring(Record):
    """A cylinder around the shaft."""

    r: tuple[Size, Size]  # inner and outer radius
    z: tuple[Place, Place]  # its ends


class Ribs(Record):
    """Radial ribs on the back of the disc."""

    r: tuple[Size, Size]  # from, to
    height: Size
    share: Annotated[float, Field(gt=0.0, le=1.0)]  # of the circumference that they fill


class Support(Record):
    """Springs on the surface of the innermost ring: ball splines or a guide in the bore, bearings on a shaft."""

    on: Literal["bore", "shaft"]  # its inner or its outer surface
    z: tuple[Place, Place]  # from, to
    lateral: Annotated[float, quantity_in("N/m", above=0.0)]  # force by displacement across the shaft


class Reaction(Record):
    """Where the axial force of the belt is taken up, evenly: its mean displacement is the sheave's position."""

    on: Literal["back", "bore", "shaft"]
    span: tuple[Place, Place]  # of radii on the back, else of z


class Profile(Record):
    """One sheave."""

    E: Annotated[float, quantity_in("Pa", above=0.0)]  # Young's modulus
    nu: Annotated[float, Field(ge=0.0, lt=0.5)]  # Poisson's ratio
    rings: tuple[Ring, ...] = Field(min_length=1)
    disc: tuple[tuple[Size, Size], ...] = Field(min_length=2)  # radius, thickness along the shaft; linear between
    ribs: Ribs | None = None
    supports: tuple[Support, ...] = Field(min_length=1)
    reaction: Reaction

    @model_validator(mode="after")
    def _fits(self) -> "Profile":
        for ring in self.rings:
            if not (ring.r[0] < ring.r[1] and ring.z[0] < ring.z[1]):
                raise ValueError("rings: r and z from the smaller to the larger")
        if any(a.r[1] != b.r[0] for a, b in pairwise(self.rings)):
            raise ValueError("rings: each begins where the one before ends")
        radii = [r for r, _ in self.disc]
        if radii[0] != self.rings[-1].r[1] or any(a >= b for a, b in pairwise(radii)):
            raise ValueError("disc: radii grow, from the outer radius of the last ring")
        if self.ribs and not radii[0] < self.ribs.r[0] < self.ribs.r[1] <= radii[-1]:
            raise ValueError("ribs: r within the disc, off the hub")
        first = self.rings[0]
        for support in self.supports:
            if not first.z[0] <= support.z[0] < support.z[1] <= first.z[1]:
                raise ValueError("supports: z within the first ring")
        low, high = self.reaction.span
        within = (radii[0], radii[-1]) if self.reaction.on == "back" else first.z
        if not within[0] <= low < high <= within[1]:
            raise ValueError("reaction: span within the disc (back) or the first ring (bore, shaft)")
        return self

    def thickness(self, r: Array) -> Array:
        """Thickness of the disc along the shaft [m] at radii `r` [m], without ribs."""
        radius, t = np.array(self.disc).T
        return np.interp(r, radius, t)


class Mesh(NamedTuple):
    """Quadrilaterals, what each is made of, and the vertices of the flank from the hub to the rim."""

    quads: MeshQuad
    kind: NDArray[np.intp]
    flank: NDArray[np.intp]


def _lines(places: set[float], size: float) -> Array:
    """Places and lines between them, at most `size` apart."""
    marks = sorted(places)
    marks = [a for a, b in pairwise([*marks, np.inf]) if b - a > NEAR]
    pieces = [np.linspace(a, b, max(1, int(np.ceil((b - a) / size - NEAR))) + 1)[:-1] for a, b in pairwise(marks)]
    return np.concatenate([*pieces, marks[-1:]])


def _within(lines: Array, low: float, high: float) -> Array:
    return lines[(lines > low - NEAR) & (lines < high + NEAR)]


def mesh(profile: Profile, tan_d: float, size: float) -> Mesh:
    """Mesh of a sheave.

    Parameters
    ----------
    profile : Profile
        Its section.
    tan_d : float
        Tangent of the flank's angle.
    size : float
        Largest side of a quadrilateral [m].

    Raises
    ------
    ValueError
        The disc does not stand on the last ring.
    """
    hub = profile.rings[-1]
    root = hub.r[1]
    foot = (root * tan_d, root * tan_d + float(profile.thickness(np.array(root))))
    if not hub.z[0] <= foot[0] + NEAR and foot[1] <= hub.z[1] + NEAR:
        raise ValueError(f"disc: from z = {1e3 * foot[0]:.3g} to {1e3 * foot[1]:.3g} mm within the last ring's z")
    places = {z for ring in profile.rings for z in ring.z} | set(foot)
    places |= {z for s in profile.supports for z in s.z}
    if profile.reaction.on != "back":
        places |= set(profile.reaction.span)
    z_lines = _lines(places, size)
    blocks: list[tuple[Array, Array, int]] = []  # corners' r and z on a grid, and what fills it
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
        on = (r > profile.ribs.r[0] - NEAR) & (r < profile.ribs.r[1] + NEAR)
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
    _, first, same = np.unique(np.round(p / NEAR).astype(np.int64), axis=1, return_index=True, return_inverse=True)
    p = p[:, first]
    t = np.asarray(same).ravel()[np.concatenate(quads, axis=1)]
    on = np.flatnonzero((np.abs(p[1] - p[0] * tan_d) < 10.0 * NEAR) & (p[0] > root - NEAR))
    return Mesh(MeshQuad(p, t), np.concatenate(kind), on[np.argsort(p[0, on])])
