"""Errors of the hybrid model's table against the integrated traction, at its own loads and tilts.

Random contacts over the range of the unit, of which the table was not built: tilt, end load, speed, creep and the spin
that tilt and speed give. Operating points with the creep that a torque needs, and their losses.
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.html import ErrorRow
from rtcvt.offline.toroidal.ellipse import traction
from rtcvt.offline.toroidal.variator import operating_point
from rtcvt.pog.spin import traction_contacts
from rtcvt.pog.toroid import table_contacts
from rtcvt.pog.unit import GearSystem

Array = NDArray[np.float64]

POINTS, OPERATING = 300, 6
FORCE_LIMIT, MOMENT_LIMIT, POINT_LIMIT = 0.02, 0.02, 0.05


def traction_errors(unit: GearSystem) -> tuple[ErrorRow, ...]:
    """Errors of the table: of forces and moments in contacts, and of creep and losses at operating points."""
    settings = unit.traction
    assert settings is not None
    rng = np.random.default_rng(7)
    spin = traction_contacts(unit)[0]
    variable = unit.variables[unit.moving] if unit.moving else None
    tilt = rng.uniform(variable.min, variable.max, POINTS) if variable else np.zeros(POINTS)
    places = np.array([spin.at(unit, float(t)) for t in tilt])
    end_load = np.exp(rng.uniform(np.log(settings.preload), np.log(settings.end_load_max), POINTS))
    r, N = np.abs(places[:, 0]), end_load / (settings.rollers * np.abs(places[:, 2]))
    u, s = np.exp(rng.uniform(np.log(0.5), np.log(20.0), POINTS)), np.exp(rng.uniform(-7.0, -3.0, POINTS))
    omega = places[:, 2] * u / places[:, 0] - places[:, 3] * u / places[:, 1]
    full = traction(spin.drawing, settings.fluid.fluid, r, N, u, s, omega)
    F, moment, _ = table_contacts(unit)([], r, N, u, s * u, omega)
    size = full.Lambda * N

    def row(name: str, unit_: str, error: Array, limit: float) -> ErrorRow:
        nrms = float(np.sqrt(np.mean(error**2)))
        return ErrorRow("traction by table", name, unit_, nrms, limit, float(np.abs(error).max()))

    rows = [
        row("force over limit", "1", (F - full.F) / size, FORCE_LIMIT),
        row("moment over limit", "1", (moment - full.M) / (size * np.hypot(full.a, full.b) / 5.0**0.5), MOMENT_LIMIT),
    ]
    creep, lost = [], []
    shares, margins = rng.uniform(0.2, 0.6, OPERATING), rng.uniform(1.4, 2.5, OPERATING)
    laws = (None, table_contacts(unit))
    for theta, share, margin in zip(tilt[:OPERATING], shares, margins, strict=True):
        load = settings.end_load_max * share
        torque = share * load * settings.fluid.limit * settings.cavities * spin.drawing.R_C / margin
        try:
            one, two = (operating_point(unit, float(theta), load, 40.0, torque, law) for law in laws)
        except InputError:
            continue  # beyond the capacity at this tilt
        creep.append((two.creep.sum() - one.creep.sum()) / np.abs(one.creep).sum())
        lost.append((two.efficiency - one.efficiency) / (1.0 - one.efficiency))
    if creep:
        rows.append(row("creep at a torque, relative", "1", np.array(creep), POINT_LIMIT))
        rows.append(row("share of power lost, relative", "1", np.array(lost), POINT_LIMIT))
    return tuple(rows)
