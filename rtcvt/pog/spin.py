"""Contacts that transmit by traction: their drawing and their spin, from the geometry of the unit.

The roller's axis passes through the centre C of the cavity's circle, so the normal of a contact P is along P - C. With
the unit vector n along it, the bodies turn against each other about the normal by ``sigma = S omega``, ``S_h = n d_h``
of the disc and ``-n d_h`` of the roller, d_h being their directed axes in the plane. S omega is zero where both axes
and the tangent in P meet in one point, the apex. The disc's entry is also the normal force's part along its axis.
"""

from typing import NamedTuple

import numpy as np

from rtcvt.errors import InputError
from rtcvt.files.expression import Expression
from rtcvt.pog.normal_form import normal_form
from rtcvt.pog.radii import axis_of, direction, radii_matrix, signed_distance
from rtcvt.pog.unit import GearSystem
from rtcvt.traction.contact import Drawing

_PLACES = 33  # of the moving variable, at which the geometry is looked at


class Spin(NamedTuple):
    """A contact of a disc and a roller: entries of S, radius of the disc and of the roller, as expressions."""

    contact: str
    disc: str
    roller: str
    S: dict[str, Expression]  # by gear, where not identically zero
    R: dict[str, Expression]  # row of the radii matrix [m]
    drawing: Drawing
    radii: tuple[float, float]  # least and largest radius of the disc over the range of the moving variable [m]

    def at(self, unit: GearSystem, theta: float) -> tuple[float, float, float, float]:
        """Entries of R [m] of disc and roller, and of S of the two, at the moving variable [rad]."""
        values = unit.own_values | ({unit.moving: theta} if unit.moving else {})
        r, r_c = (float(self.R[g].evaluate(values)) for g in (self.disc, self.roller))
        S, S_c = (float(self.S[g].evaluate(values)) if g in self.S else 0.0 for g in (self.disc, self.roller))
        return r, r_c, S, S_c


def traction_contacts(unit: GearSystem) -> list[Spin]:
    """The contacts of the unit's ``traction`` with their geometry.

    Raises
    ------
    InputError
        They are not a disc's and a roller's with one cavity, or the crown does not fit into it.
    """
    if unit.traction is None:
        return []
    key, found = "traction.contacts", []
    R = radii_matrix(unit)
    theta = unit.variables[unit.moving] if unit.moving else None
    tilts = np.linspace(theta.min, theta.max, _PLACES) if theta else np.zeros(1)
    values: dict[str, object] = {**unit.own_values, **({unit.moving: tilts} if unit.moving else {})}
    for name in unit.traction.contacts:
        contact = unit.contacts[name]
        disc, roller = contact.between
        point = tuple(unit.coordinate(f"contacts.{name}.point", c) for c in contact.point)
        centre, _ = axis_of(unit, roller)
        n_x, n_y = normal_form(point[0] - centre[0]), normal_form(point[1] - centre[1])
        length = normal_form(n_x * n_x + n_y * n_y).apply("sqrt")
        S = {}
        for gear, sign in ((disc, 1.0), (roller, -1.0)):
            d = direction(unit, gear)
            part = normal_form(n_x * d[0] + n_y * d[1])
            if part.value != 0.0:
                S[gear] = part / length if sign > 0.0 else -(part / length)
        r_0, R_C, r, along = (
            np.broadcast_to(np.abs(e.evaluate(values, np)), tilts.shape)
            for e in (length, signed_distance(axis_of(unit, disc), centre), R[name, disc], S.get(disc, length * length))
        )
        allowed = "contacts of a disc and a roller whose axis passes through the centre of one cavity"
        if np.ptp(r_0) > 1e-6 * r_0.max() or np.ptp(R_C) > 1e-6 * R_C.max() or disc not in S or along.min() < 0.05:
            raise InputError(unit.source, key, name, f"{allowed}, their normals not across the disc's axis")
        drawing = Drawing(float(R_C[0]), float(r_0[0]), unit.traction.crown)
        if not 0.3 * drawing.r_0 < drawing.r_crown < 0.99 * drawing.r_0:
            low, high = 300.0 * drawing.r_0, 990.0 * drawing.r_0
            raise InputError(unit.source, "traction.crown", unit.traction.crown, f"from {low:.4g} to {high:.4g} mm")
        rows = {g: R[name, g] for g in (disc, roller)}
        found.append(Spin(name, disc, roller, S, rows, drawing, (float(r.min()), float(r.max()))))
    return found
