"""Windows of a belt whose pulleys are exchanged: each run of the full model gives data of a second operating point.

The full model's pulleys are equal. Turned by half a revolution in the plane of the belt, the same motion is that of a
variator with the pulleys' names exchanged. With zeta = F_I/F_O of the window, the torque ratio xi_I of the primary by
F_I, the speed loss s, powers over F_O v, and radii r of the neutral fibre, r' of the rocking edges:

    i -> 1/i,  xi -> -xi_I,  kappa -> kappa/zeta,  f -> f zeta,  zeta -> 1/zeta
    s -> -s/(1 - s),  losses -> losses/zeta,  r_I/r'_I -> r_O/r'_O
    x = (dr_I/dt)/(omega_I r_I) -> (dr_O/dt)/(omega_O r_O),  dr_O/dt = -(pi - phi)/phi dr_I/dt

with half the wrapped angle phi of the secondary, cos(phi) = (r_I - r_O)/d_A. Only points within the range of the data
are used, so that this range stays that of the runs.
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.variator.alignment import Samples
from rtcvt.variator.reduced.coordinates import Coordinate, counted

Array = NDArray[np.float64]


def exchanged(s: Samples) -> Samples:
    """The windows with the pulleys exchanged: point and the values that laws are made from; the rest stays."""
    b, v = s.belt, s.values
    i, xi, kappa, f = s.point.T
    zeta = v["thrust"]
    r_I = b["h_off"] * v["radius"] / (v["radius"] - 1.0)
    r_O = b["h_off"] + i * (r_I - b["h_off"])
    phi = np.arccos(np.clip((r_I - r_O) / b["d_A"], -1.0, 1.0))
    faster = i / (1.0 - v["slip"])  # omega_I/omega_O
    values = {
        "thrust": 1.0 / zeta, "x": -(np.pi - phi) / phi * v["x"] * faster * r_I / r_O,
        "slip": -v["slip"] / (1.0 - v["slip"]), "loss": v["loss"] / zeta, "sliding": v["sliding"] / zeta,
        "radius": r_O / (r_O - b["h_off"]), "xi_I": -xi,
    }  # fmt: skip
    return s._replace(point=np.column_stack([1.0 / i, -v["xi_I"], kappa / zeta, f * zeta]), values=v | values)


def within_range(coordinates: list[Coordinate], shift: tuple[float, float], z: Array) -> NDArray[np.bool_]:
    """Which operating points (n, d) are within the range of as many `coordinates` (n,)."""
    x = counted(shift, z)
    inside = [(x[:, j] >= c.low) & (x[:, j] <= c.high) for j, c in enumerate(coordinates)]
    return np.asarray(np.all(inside, axis=0))
