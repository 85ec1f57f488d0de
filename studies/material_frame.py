"""Number of modes of fields in material coordinates, as in Cebulla 2014, section 6.3, and on the grid fixed in space.

    python -m studies.material_frame FOLDER    # of the runs of a campaign

A belt circulates: in material coordinates each node passes all places, and a field that is stationary in space moves
there. Snapshots are the frames of the settled window of a run that stored its elements and ring:

    material   (6.125): positions of the ring's nodes; forces on the elements; forces between neighbours
    space      the same quantities on the cells of `snapshots`
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.run.reading import open_run, run_of
from rtcvt.offline.pushbelt.run.snapshots import push_force
from rtcvt.offline.pushbelt.run.windows import SLIPPING, STEADY, frames_of, summary
from rtcvt.offline.variator.pod import modes_for, pod

Array = NDArray[np.float64]
_FIELDS = ("ring_offset", "flank_normal", "flank_longitudinal", "flank_radial", "push", "tension")


class Comparison(NamedTuple):
    """A run, or ``all`` together: snapshots, and by field the singular values in material and space-fixed frame."""

    name: str
    snapshots: int
    material: dict[str, Array]
    space: dict[str, Array]

    def modes(self, field: str, energy: float = 0.999) -> tuple[int, int]:
        """Modes for a share of the energy, material and space-fixed."""
        return modes_for(self.material[field], energy), modes_for(self.space[field], energy)


def compare_frames(files: Iterable[Path]) -> list[Comparison]:
    """Singular values of each run in `files` that kept its elements and does not slip, and of all of these together.

    Forces are divided by the clamping force F_O where runs are put together.
    """
    found: list[Comparison] = []
    everything: tuple[dict[str, list[Array]], dict[str, list[Array]]] = ({}, {})
    for path in sorted(files):
        with open_run(path) as file:
            run = run_of(file)
            if "elements" not in run.observe or not abs(summary(file)["slip"][STEADY]) < SLIPPING:
                continue
            rows, F_O = frames_of(file, STEADY), float(summary(file)["F_O"][STEADY])
            flank, n = file["elements/flank"][rows].astype(float), rows.stop - rows.start
            material = {
                "ring_offset": file["ring/position"][rows].reshape(n, -1),
                "flank_normal": flank[..., 0],
                "flank_longitudinal": flank[..., 1],
                "flank_radial": flank[..., 2],
                "push": push_force(file["elements/joint"][rows].astype(float)),
                "tension": file["ring/tension"][rows].astype(float),
            }
            space = {k: file[f"fields/{k}"][rows].astype(float) for k in _FIELDS}
        sigmas: list[dict[str, Array]] = []
        for kept, fields in zip(everything, (material, space), strict=True):
            sigmas.append({k: pod(X).sigma for k, X in fields.items()})
            for k, X in fields.items():
                kept.setdefault(k, []).append(X if k == "ring_offset" else X / F_O)
        found.append(Comparison(run.name, n, *sigmas))
    if found:
        both = [{k: pod(np.concatenate(X)).sigma for k, X in kept.items()} for kept in everything]
        found.append(Comparison("all", sum(c.snapshots for c in found), *both))
    return found


def main(folder: Path) -> None:
    """Print the modes for 99.9 % of the energy, material frame / fixed in space."""
    print("run", "snapshots", *_FIELDS, sep=" | ")
    for c in compare_frames(folder.glob("*.h5")):
        print(c.name, c.snapshots, *("{} / {}".format(*c.modes(k)) for k in _FIELDS), sep=" | ")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
