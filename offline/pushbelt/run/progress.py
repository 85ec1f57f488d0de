"""Progress of a run: the records of its journal, and the file made of them."""

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.run.runfile import Arrays, Journal, Writer, join
from rtcvt.offline.pushbelt.run.schedule import LEFT, RUNAWAY, Clock, Run
from rtcvt.offline.pushbelt.run.windows import write_windows

Array = NDArray[np.float64]


def clamping_of(record: Arrays) -> Array:
    """Clamping forces on the primary [N] of a record (n,)."""
    return np.asarray(record["pulleys/clamping_force"][:, 0])


class Progress:
    """Progress of a run: `ended` by phase, frames of the current phase, clamping forces of the settling."""

    def __init__(self) -> None:
        self.ended: list[int] = []
        self.here = 0
        self.frames = 0
        self.clamping: list[Array] = []
        self.state: Arrays = {}
        self.settled: Arrays = {}

    def take(self, record: Arrays) -> None:
        """Go on by a record of the journal."""
        n, phase, end = len(record["passing"]), int(record["phase"]), int(record["ended"])
        self.here += n
        self.frames += n
        self.state = {k.partition("/")[2]: a for k, a in record.items() if k.startswith("state/")}
        if phase == 0:
            self.clamping.append(clamping_of(record))
            self.settled = self.state
        if end >= 0:
            self.ended.append(end)
            self.here = 0

    def all_ended(self, run: Run) -> list[int]:
        """How each phase ended; a phase that never began as the settling did."""
        stopped = self.ended and self.ended[0] in (LEFT, RUNAWAY)
        missing = 1 + len(run.branches) - len(self.ended) if stopped else 0
        return self.ended + self.ended[:1] * missing


def joined(file: h5py.File, journal: Journal, run: Run, ended: list[int], F_I: float) -> tuple[Writer, Arrays]:
    """Write frames and windows of a run; returns the sums of the profiles."""
    write, seen = join(file, journal, ended)
    revolution, step, plot_step = (float(file.attrs[k]) for k in ("revolution", "step", "plot_step"))
    ticks = Clock(revolution, step, plot_step, round(plot_step / step), run.longest)
    write_windows(file, write, run, ticks, F_I)
    return write, seen
