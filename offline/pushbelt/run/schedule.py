"""Definition of a run of the full model: start, model and steps, phases, observers.

Start. A `Case` of the unit file gives the boundary values over time. A `Point` is an operating point with its groove
fixed by an end stop: with radii r' at the rocking edges and the load torque M_O,

    i = r'_O/r'_I,    xi = M_O cos(delta_0)/(2 mu F_O r'_O)

Where the push force changes strands the belt has more than one settled state: a point may be approached from another
load, which acts for `HELD` revolutions and changes to that of the point until `APPROACH`.

Phases. The settling is phase 0. Under a case it is the whole run. At a point the force of the end stop, averaged over
the last revolutions, is the clamping force F_I,eq of a constant ratio. Then each branch starts from the settled state
without the end stop, changes within its ramp to the forces y_I F_I,eq and y_O F_O and to the load of xi, and stays
there: several short branches give the shift rate over y_I, a long one is a transient. A branch ends where the ratio
reaches its limits; a phase ends at growing slip, and a settling that ends so has no branches.

Times. A revolution is that of the belt at the start. A frame lasts `plot_step`, or a revolution divided by `frames`; a
step is a whole part of a frame.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from rtcvt.offline.pushbelt.contact.sheave import Load

Model = Literal["hybrid", "spatial", "mirrored"]
Law = Literal["coupled", "decoupled"]
Contact = Literal["unilateral", "bilateral"]
Scheme = Literal["explicit", "multirate", "set-valued"]
COMPLETE, LIMIT, LEFT, RUNAWAY = 0, 1, 2, 3
ENDS = ("complete", "limit of the ratio", "belt left its place", "slip ran away")
HELD, APPROACH = 2.0, 3.0  # revolutions
KICK = 1e-3  # m/s, standard deviation in x and y
OBSERVED = ("elements", "fields", "profiles")


@dataclass(frozen=True)
class Settings:
    """Model and steps. None: the value of unit and case, and for the step that of the scheme.

    N_E: modelled elements for N_E0 real ones; N_B: ring nodes; taper t_T - t_R of a real element [m]; model:
    `hybrid`, `spatial`, or `mirrored`, the spatial belt between four loose sheaves; before: revolutions of the hybrid
    model at the first boundary values that a run starts from, on the mesh of before_N_E and before_N_B, None: the same;
    law, contact: see `planar.model.Model`;
    flank_points: 1 simplified, 2 extended flank contact; step [s], at most; load: load of the secondary, None: that
    of the unit.
    """

    N_E: int | None = None
    N_E0: int | None = None
    N_B: int | None = None
    taper: float | None = None
    model: Model = "hybrid"
    before: float = 0.0
    before_N_E: int | None = None
    before_N_B: int | None = None
    law: Law = "coupled"
    contact: Contact = "unilateral"
    flank_points: int = 1
    scheme: Scheme = "explicit"
    step: float | None = None
    load: Load | None = None


@dataclass(frozen=True)
class Case:
    """A case of the unit file; row: number of its load torque; rise: revolutions in which the load rises from zero;
    seed: other than 0, the elements start with velocities that `KICK` has changed at random."""

    case: str
    row: int = 0
    rise: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Point:
    """An operating point held by an end stop: ratio at the rocking edges, omega_I [rad/s], torque ratio, F_O [N].

    begin: xi from which the load comes, for xi other than 0; None: xi itself.
    """

    ratio: float
    omega_I: float
    xi: float
    F_O: float
    begin: float | None = None


@dataclass(frozen=True)
class Branch:
    """A phase that starts from the settled state.

    y_I, y_O: clamping forces at its end, divided by F_I,eq and by F_O; xi: load torque at its end, divided by the
    largest that F_O of the settled state can carry; ramp: revolutions in which forces and load change; lead:
    revolutions at its begin that the means leave out; duration: revolutions of the whole branch, ramp and lead
    included.
    """

    y_I: float
    y_O: float
    xi: float
    ramp: float
    lead: float
    duration: float


@dataclass(frozen=True)
class Run:
    """A run.

    settle: length of the settling [revolutions], or duration [s]; mean: revolutions of a window of the settling, None:
    the time in which the belt passes once, counted (`windows`); settle_at_most: longest settling [revolutions] of a
    point whose thrust ratio drifts (`windows.drifts`), 0: as long as any; branches, of a point only; longest [s] of
    them; limits of the ratio in them; frames per revolution, or plot_step [s]; observe: which of `OBSERVED` the file
    keeps.
    """

    name: str
    start: Case | Point
    settings: Settings = Settings()
    settle: float = 0.0
    duration: float | None = None
    mean: float | None = None
    settle_at_most: float = 0.0
    branches: tuple[Branch, ...] = ()
    longest: float | None = None
    limits: tuple[float, float] = (0.0, 1e9)
    frames: int = 48
    plot_step: float | None = None
    observe: tuple[str, ...] = ("fields",)


class Clock(NamedTuple):
    """Time of a revolution at the start, step and plot step [s], steps of a plot step, longest branch [s]."""

    revolution: float
    step: float
    plot_step: float
    steps: int
    longest: float | None

    def frames(self, revolutions: float) -> int:
        """Frames in so many revolutions."""
        return max(1, round(revolutions * self.revolution / self.plot_step))

    def frames_in(self, branch: Branch) -> int:
        """Frames of a branch."""
        n = self.frames(branch.duration)
        return n if self.longest is None else max(1, min(n, int(self.longest / self.plot_step)))


def as_json(run: Run) -> str:
    """A run as text."""
    return json.dumps(asdict(run))


def from_json(text: str) -> Run:
    """A run from text."""
    data: dict[str, Any] = json.loads(text)
    settings = data["settings"]
    damper = settings.pop("damper", None)  # of files before there were loads
    load = Load(d=damper[0], J=damper[1]) if damper else settings.get("load")
    return Run(
        **data
        | {
            "start": Case(**data["start"]) if "case" in data["start"] else Point(**data["start"]),
            "settings": Settings(**settings | {"load": None if load is None else Load(*load)}),
            "branches": tuple(Branch(**b) for b in data["branches"]),
            "limits": tuple(data["limits"]),
            "observe": tuple(data["observe"]),
        }
    )
