"""Modes of a projected ring from the file of a run: snapshots -> fields fixed in space -> POD -> `projected`.

The snapshots are all frames of the last revolution of the run. Sections are taken at right angles to the chords, so
that the run may have any ring; a mode then has no shear, whose waves would limit the step. The modes are those of the
deviation from the path at the start, along which the snapshots do not slide (`transport.followed`). They are valid at
the operating point of the run only, since the places that bend depend on the ratio.
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
    """The rod `R` on `modes` modes of the run in the file `path`; `start` is that of the run to be made.

    Raises
    ------
    InputError
        As of `fields`, or the run has fewer frames than modes.
    """
    q_0, _, Q = fields(R, start, path)
    m = mass(cosserat.planar(R))
    V = reduction.basis(Q, q_0, m, modes)
    return projected(R, q_0, V, q_0 + (Q[:: max(1, len(Q) // 4)] - q_0) * m @ V @ V.T)


def fields(R: Cosserat, start: Start, path: Path) -> tuple[Array, Array, Array]:
    """Coordinates [m, rad] of a rod: on the path of a start (n,), in a run (n_s, n), and fixed in space (n_s, n).

    Raises
    ------
    InputError
        The file is not that of a run with elements and ring, or its ring has other pieces or another EA.
    """
    with open_run(path) as file:
        if "ring/position" not in file:
            raise InputError(path, "ring/position", None, "a run that observes elements")
        if (belt := belt_of(file))["N_B"] != R.N_B or belt["EA"] != R.EA:
            raise InputError(path, "N_B", belt["N_B"], f"a run with {R.N_B} pieces, EA = {R.EA:g} N")
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
