"""Modes of a projected ring from the file of a run: snapshots -> fields fixed in space -> POD -> `projected`.

The last revolution of the run with all frames. Sections are taken at right angles to the chords, so that the ring may
be any; a mode then has no shear, whose waves would limit the step. The modes are those of the deviation from the path
at the start, along which the snapshots do not slide (`transport.followed`). They serve the operating point of the run
only, since which places bend depends on the ratio.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.ring import cosserat, ring_set
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.projected import Projected, projected, smooth
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.windows import belt_of
from rtcvt.offline.pushbelt.unit.initial import Start
from rtcvt.offline.rods import reduction, transport
from rtcvt.offline.rods.planar import mass

Array = NDArray[np.float64]


def trained(R: Cosserat, start: Start, path: Path, modes: int) -> Projected:
    """A rod on the modes of the run in a file; errors as `fields`, or fewer frames than modes."""
    q_0, _, Q = fields(R, start, path)
    m = mass(cosserat.planar(R))
    V = reduction.basis(Q, q_0, m, modes)
    return projected(R, q_0, V, q_0 + (Q[:: max(1, len(Q) // 4)] - q_0) * m @ V @ V.T)


def fields(R: Cosserat, start: Start, path: Path) -> tuple[Array, Array, Array]:
    """Coordinates (n,) on the path of a start, those of a run in a file (n_s, n), and at places fixed in space.

    Raises
    ------
    InputError
        No file of a run with elements and ring, or one of another ring.
    """
    with open_run(path) as file:
        if "ring/position" not in file:
            raise InputError(path, "ring/position", None, "a run that observes elements")
        if (belt := belt_of(file))["N_B"] != R.N_B or belt["EA"] != R.EA:
            raise InputError(path, "N_B", belt["N_B"], f"a run of this ring, of {R.N_B} pieces")
        n, frame = int(np.sum(file["phase"][()] == 0)), float(file.attrs["plot_step"])
        place, v = file["ring/position"][:n], np.linalg.norm(file["ring/velocity"][:n], axis=-1).mean(axis=1)
        last = slice(-round(float(file.attrs["revolution"]) / frame), None)
    flat, q_0 = cosserat.planar(R), smooth(R, ring_set.placed(R, start)[0].reshape(1, -1))[0]
    q, way = _sections(place[last]), np.cumsum(v)[last] * frame
    turns = q_0[2::3].mean() + R.turn * way / (R.N_B * R.l) - q[:, 2::3].mean(axis=1)
    q[:, 2::3] += 2.0 * np.pi * np.round(turns / (2.0 * np.pi))[:, None]
    return q_0, q, smooth(R, transport.shifted(flat, q, transport.followed(flat, q, way, q_0)))


def _sections(place: Array) -> Array:
    """Coordinates (n_s, 3 N_B) of a rod through the nodes (n_s, N_B, 2), its sections at right angles to the chords."""
    ahead = np.roll(place, -1, axis=1) - place
    angle = np.unwrap(np.arctan2(ahead[..., 1:], ahead[..., :1]), axis=1)
    return np.concatenate([place, angle], axis=2).reshape(len(place), -1)
