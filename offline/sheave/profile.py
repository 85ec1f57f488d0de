"""The profile of a sheave in the half plane (r, z), as in a unit file.

z runs along the shaft away from the belt, with 0 at the apex of the cone; the flank is z = r tan(delta_0)::

    z ^   +-----+
      |   | hub |     ________  back: flank + thickness(r)
      |   |     |____/        |
      |   |     |             |
      |   |     '-------------'  flank, pressed by the belt
      |   +-----+
      +---+-----+-------------+--> r
        bore   hub           rim

Rings of constant section (a shaft, a hub) follow each other from the bore outwards; the disc is on the last one. Ribs
on its back are a layer that carries no stress around the shaft.
"""

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from rtcvt.unitfile import Record, quantity_in

Array = NDArray[np.float64]
Place = Annotated[float, quantity_in("m")]
Size = Annotated[float, quantity_in("m", above=0.0)]

HARMONICS = 8  # the largest; local pressing, which higher ones have, belongs to the elements' own stiffness


class Ring(Record):
    """A cylinder around the shaft."""

    r: tuple[Size, Size]  # inner and outer radius
    z: tuple[Place, Place]  # its ends


class Ribs(Record):
    """Radial ribs on the back of the disc."""

    r: tuple[Size, Size]  # from, to
    height: Size  # along the shaft
    share: Annotated[float, Field(gt=0.0, le=1.0)]  # of the circumference that they fill


class Support(Record):
    """Springs on the surface of the innermost ring: ball splines or a guide in the bore, bearings on a shaft."""

    on: Literal["bore", "shaft"]  # its inner or its outer surface
    z: tuple[Place, Place]  # from, to
    lateral: Annotated[float, quantity_in("N/m", above=0.0)]  # force by displacement across the shaft


class Reaction(Record):
    """Area that supports the axial force of the belt, evenly: its mean displacement is the sheave's position."""

    on: Literal["back", "bore", "shaft"]  # the back of the disc, or the inner or outer surface of the first ring
    span: tuple[Place, Place]  # of radii on the back, else of z


class Profile(Record):
    """One sheave."""

    E: Annotated[float, quantity_in("Pa", above=0.0)]  # Young's modulus
    nu: Annotated[float, Field(ge=0.0, lt=0.5)]  # Poisson's ratio
    density: Annotated[float, quantity_in("kg/m3", above=0.0)] = 7850.0  # for its mass and inertia in print
    rings: tuple[Ring, ...] = Field(min_length=1)  # shaft and hub, from the bore outwards
    disc: tuple[tuple[Size, Size], ...] = Field(min_length=2)  # radius, thickness along the shaft; linear between
    ribs: Ribs | None = None  # on the back of the disc
    supports: tuple[Support, ...] = Field(min_length=1)  # springs across the shaft: guide or bearings
    reaction: Reaction  # support of the axial force

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


class Drawing(Record):
    """Profiles of the loose and the fixed sheave, equal on both pulleys."""

    loose: Profile  # sheave that slides on the shaft
    fixed: Profile  # sheave that is one piece with the shaft
    harmonics: Annotated[int, Field(ge=1, le=HARMONICS)] = 4  # of the belt's law
    mesh: Size = 4e-3  # largest side of a finite element
