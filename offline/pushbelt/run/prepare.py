"""Making of a run: model, state at the start, clock and boundary values.

Run -> requirements.check -> belt, sheaves -> start -> models -> clock -> boundary values -> state
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact import element_element, element_ring
from rtcvt.offline.pushbelt.contact.layers import sliding
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.planar.model import Frames, Model
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.projected import Projected
from rtcvt.offline.pushbelt.ring.ring import ring
from rtcvt.offline.pushbelt.run import requirements
from rtcvt.offline.pushbelt.run.other_mesh import on_other_mesh
from rtcvt.offline.pushbelt.run.runfile import Arrays
from rtcvt.offline.pushbelt.run.schedule import APPROACH, HELD, KICK, Case, Clock, Point, Run, Scheme, Settings
from rtcvt.offline.pushbelt.run.training import trained
from rtcvt.offline.pushbelt.run.windows import edge_ratio
from rtcvt.offline.pushbelt.spatial import joint, stability
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.spatial.start import lift
from rtcvt.offline.pushbelt.unit.initial import Start, running, start_state
from rtcvt.offline.pushbelt.unit.kinematics import Closure
from rtcvt.offline.pushbelt.unit.parameters import (
    DRIVEN,
    FORCE,
    RATE,
    TORQUE,
    Belt,
    Boundary,
    Parameters,
    Sheaves,
    belt,
    boundary_at,
    sheaves,
)
from rtcvt.unitfile import own_file

Array = NDArray[np.float64]

_MAX_STEPS = 1e9
SIDES = ("left", "right")


class Prepared(NamedTuple):
    """A run that is ready to start.

    model: the hybrid model; state: start of the run; start: velocity model of that state; clock; inputs (frames + 1,
    7): boundary values of the settling; M_O: load torque [N m] of the settled state.

    With the spatial model `wide` is that model and `state` is a state of it; observers see the mean of the two sides as
    frames of `model`. first: what runs some revolutions before it (`started`).
    """

    run: Run
    model: Model
    state: hybrid.State | spatial.State
    start: Start
    clock: Clock
    inputs: Array
    M_O: float
    wide: spatial.Model | None = None
    first: "Prepared | None" = None

    @property
    def arrays(self) -> Arrays:
        """The arrays of the state by their names in files."""
        found: Arrays = {}
        parts: Any = self.state._asdict()
        for name, value in parts.items():
            found |= {f"{name}_{k}": a for k, a in value._asdict().items()} if name in SIDES else {name: value}
        return found | ({"modes": self.model.ring.state} if isinstance(self.model.ring, Projected) else {})


def start_of(b: Belt, s: Sheaves, at: Point) -> tuple[Start, float]:
    """Start at an operating point, under its first load, and its load torque [N m].

    Raises
    ------
    InputError
        The belt cannot reach this ratio, or would run off the sheaves.
    """
    boundary, M_O = _begin(b, s, at)
    return start_state(b, s, boundary, at.ratio, b.h_off), M_O


def geometry_of(b: Belt, s: Sheaves, at: Point) -> Closure:
    """Geometry of the belt at a start; errors as `start_of`."""
    return running(b, s, _begin(b, s, at)[0], at.ratio, b.h_off)[0].geometry


def _begin(b: Belt, s: Sheaves, at: Point) -> tuple[Boundary, float]:
    """Boundary values at the start, and the load torque [N m] of the operating point."""
    free = Boundary(RATE, 0.0, FORCE, at.F_O, at.omega_I, TORQUE, 0.0)
    r_O = running(b, s, free, at.ratio, b.h_off)[0].geometry.r_O
    M_O, begin = (load_torque(b, xi, at.F_O, r_O) for xi in (at.xi, at.xi if at.begin is None else at.begin))
    return free._replace(value_load=begin), M_O


def load_torque(b: Belt, xi: float, F_O: float, r_O: float) -> float:
    """Load torque [N m] of the torque ratio xi at the radius `r_O` of the neutral fibre."""
    return 2.0 * xi * b.mu * F_O * (r_O - b.h_off) / b.cos_d


def stepped(scheme: Scheme, ring: Any, step: float) -> Callable[..., tuple[Frames, int]]:
    """`planar.model.run` with as many steps of the ring in each `step` [s] as scheme and ring need."""
    return partial(hybrid.run, n_R=ring_steps(scheme, ring, step))


def ring_steps(scheme: Scheme, ring: Any, step: float) -> int:
    """Steps of the ring in each `step` [s]."""
    least = 1 if isinstance(ring, Projected) else 2
    return max(least, ceil(step / ring_set.largest_step(ring))) if scheme == "multirate" else 1


def largest_step(scheme: Scheme, b: Belt) -> float:
    """Step [s] that suits a scheme."""
    finer = min(1.0, 220.0 / b.N_E, 104.0 / b.N_B)
    most = min(2.5e-6 * finer, element_ring.largest_step(b, ring(b))) if scheme == "multirate" else 1e-6 * finer
    return min(most, element_element.largest_step(b))


def prepare(parameters: Parameters, run: Run) -> Prepared:
    """Model, start, clock and boundary values of a run.

    Raises
    ------
    InputError
        Options that exclude each other (`requirements`), or a run that the unit or the belt does not allow.
    """
    found = requirements.check(parameters, run)
    s, at = run.settings, run.start
    case = parameters.get_case(at.case) if isinstance(at, Case) else None
    b = belt(parameters, N_E=s.N_E, N_E0=s.N_E0 or (case.N_E0 if case else None), N_B=s.N_B, taper=s.taper)
    stiff, coupled = sheaves(parameters), s.law == "coupled"
    start, M_O = _start(parameters, run, b, stiff if coupled else stiff._replace(multiplier=0.0))
    chosen: dict[str, Any] = {"unilateral": s.contact == "unilateral", "coupled": coupled}
    chosen["load"] = load = _load(parameters, s, b, stiff.J, start)
    r, c = parameters.ring, parameters.contacts
    laws: dict[str, Any] = {"friction": c.friction.made()}
    laws["layers"] = None if c.mu_L is None else sliding(b, c.mu_L, c.v_muL)
    m = hybrid.model(b, stiff, **chosen, **laws, ring=r.rod, rotatory=r.rotatory_factor, rigid=s.scheme == "set-valued")
    if r.snapshots is not None:
        path = own_file(parameters.folder, r.snapshots, f"{parameters.source}: ring.snapshots")
        if path is None:
            raise InputError(parameters.source, "ring.snapshots", r.snapshots, "a file of a run next to the unit file")
        try:
            m = m._replace(ring=trained(m.ring, start, path, r.modes))
        except InputError as error:
            _, key, value, allowed = error.parts
            if value != r.modes:
                raise
            raise InputError(parameters.source, f"ring.{key.removeprefix('ring.')}", value, allowed) from None
    wide = None
    if s.model != "hybrid":
        wide = spatial.model(parameters, b, stiff, **chosen, mirrored=s.model == "mirrored")
    q_R, u_R = ring_set.placed(m.ring, start)
    start = start._replace(q_R=q_R, u_R=u_R)
    ticks = _clock(parameters, m, wide, run, start)
    inputs = _inputs(parameters, run, ticks, M_O)
    state = hybrid.state(*start[:7], n_k=len(stiff.A) - 1)
    if load is not None and inputs[0, 5] == TORQUE:  # its shaft is wound up, and turns with the pulley
        state.load[:] = load.far * inputs[0, 6] / load.K if load.K > 0.0 else 0.0, start.sd[1, 3]
    if isinstance(at, Case) and at.seed:
        state.u[:, :2] += KICK * np.random.default_rng(at.seed).standard_normal((b.N_E, 2))
    made = Prepared(run, m, state, start, ticks, inputs, M_O)
    first = made if s.before > 0.0 else None
    if first is not None and found["mesh"] != "its own":
        mesh = replace(s, N_E=s.before_N_E or b.N_E, N_B=s.before_N_B or b.N_B, before_N_E=None, before_N_B=None)
        first = prepare(parameters, replace(run, settings=replace(mesh, model="hybrid", before=0.0, step=None)))
    return made._replace(state=state if wide is None else lift(wide, state), wide=wide, first=first)


def _start(parameters: Parameters, run: Run, b: Belt, s: Sheaves) -> tuple[Start, float]:
    """Start of a run, and its load: a torque [N m], or the secondary's speed [rad/s]."""
    at = run.start
    if isinstance(at, Point):
        return start_of(b, s, at)
    case = parameters.get_case(at.case)
    stops = {"rate_I", "rate_O"} <= set(case.inputs)
    inputs = {key: value for key, value in case.inputs.items() if not (stops and key == "rate_O")}
    begin = case.model_copy(update={"inputs": inputs})
    first = Boundary(*boundary_at(begin, np.array([0.0]), at.row)[0].tolist())
    if first.mode_load == DRIVEN:
        assert case.i_r is not None
        return _driven(b, s, first, case.i_r), first.value_load
    unloaded = first._replace(value_load=0.0) if at.rise > 0.0 else first
    return start_state(b, s, unloaded, case.i_r), first.value_load


def _driven(b: Belt, s: Sheaves, first: Boundary, ratio: float) -> Start:
    """Start with the primary's torque and the secondary's speed: that of the load torque and the primary's speed which
    lead to them without losses on the belt's radii."""
    loaded = first._replace(omega_I=ratio * first.value_load, mode_load=TORQUE, value_load=ratio * first.omega_I)
    for _ in range(3):
        start = start_state(b, s, loaded, ratio)
        omega = loaded.omega_I * first.value_load / float(start.sd[1, 3])
        edge = float(edge_ratio(np.array([start.steady.geometry[:2]]), b._asdict())[0])
        loaded = loaded._replace(omega_I=omega, value_load=edge * first.omega_I)
    return start


def _load(parameters: Parameters, s: Settings, b: Belt, J_O: float, start: Start) -> Load | None:
    """The load of the secondary: that of the settings, else the unit's."""
    if s.load is not None or parameters.load is None:
        return s.load
    capacity = load_torque(b, 1.0, start.steady.F_CO, start.steady.geometry.r_O)
    return parameters.load.at(J_O, capacity, float(start.sd[1, 3]))


def _inputs(parameters: Parameters, run: Run, ticks: Clock, M_O: float) -> Array:
    """Boundary values (frames + 1, 7) of the settling."""
    at, source = run.start, requirements.source_of(run)
    if run.duration is None:
        n = ticks.frames(max(run.settle + (at.rise if isinstance(at, Case) else 0.0), run.settle_at_most))
    else:
        total = ticks.steps * run.duration / ticks.plot_step
        _require(source, run, "duration", total <= _MAX_STEPS, f"at most {_MAX_STEPS:g} steps; these are {total:g}")
        n = _whole(run.duration / ticks.plot_step, source, run, "duration", f"a multiple of {ticks.plot_step:g} s")
    if isinstance(at, Point):
        inputs = np.tile([RATE, 0.0, FORCE, at.F_O, at.omega_I, TORQUE, M_O], (n + 1, 1))
        if at.begin is not None:
            inputs[:, 6] *= np.interp(np.arange(n + 1) / run.frames, (HELD, APPROACH), (at.begin / at.xi, 1.0))
        return inputs
    grid: Array = np.arange(n + 1.0) * ticks.plot_step
    inputs = boundary_at(parameters.get_case(at.case), grid, at.row)
    if at.rise > 0.0:
        inputs[:, 6] *= np.minimum(1.0, grid / (at.rise * ticks.revolution))
    return inputs


def started(made: Prepared) -> Prepared:
    """The prepared run after the revolutions of the hybrid model at its start, perhaps on another mesh.

    Raises
    ------
    InputError
        The belt leaves its place in them.
    """
    first = made.first
    if first is None:
        return made
    s, ticks, state = made.run.settings, first.clock, first.state
    assert isinstance(state, hybrid.State)
    held = np.tile(first.inputs[0], (ticks.frames(s.before) + 1, 1))
    run = stepped(s.scheme, first.model.ring, ticks.step)
    _, valid = run(first.model, state, held, ticks.steps, ticks.step, s.flank_points)
    there = valid == len(held) - 1
    _require(requirements.source_of(made.run), s, "before", there, "a start at which the belt stays in its place")
    if first.model is not made.model:
        state = on_other_mesh(first.model, state, made.model, made.start)
    return made._replace(state=state if made.wide is None else lift(made.wide, state), first=None)


def _require(source: str, of: Any, key: str, fits: bool, allowed: str) -> None:
    if not fits:
        raise InputError(source, key, getattr(of, key), allowed)


def _whole(ratio: float, source: str, of: Any, key: str, allowed: str) -> int:
    n = round(min(ratio, _MAX_STEPS))
    _require(source, of, key, n >= 1 and abs(ratio - n) <= 1e-6 * n, allowed)
    return n


class _StepLimit(NamedTuple):
    """The largest stable step [s] of a model `when` options have these values, and the cause of the limit."""

    when: Mapping[str, tuple[Any, ...]]
    bound: Callable[[Model, Any], float]
    because: str


_STEP_LIMITS = (
    _StepLimit(
        {"scheme": ("explicit",), "rod": ("cosserat", "projected")},
        lambda m, wide: ring_set.largest_step(m.ring),
        "the limit of the rod, except with scheme multirate",
    ),
    _StepLimit(
        {"scheme": ("multirate",), "rod": ("rcm",)},
        lambda m, wide: element_ring.largest_step(m.belt, m.ring),
        "the limit of saddles on so few elements or so many pieces of the ring (N_E, N_B)",
    ),
    _StepLimit(
        {"scheme": ("multirate",)},
        lambda m, wide: element_element.largest_step(m.belt),
        "the limit of joints as stiff as contacts.k_R and k_T",
    ),
    _StepLimit(
        {"model": ("spatial", "mirrored")},
        lambda m, wide: stability.largest_step(m.belt, wide.body, wide.sheaves),
        "the limit of flanks with this contacts.flank_damping",
    ),
    _StepLimit(
        {"model": ("spatial", "mirrored")},
        lambda m, wide: joint.largest_step(wide.joint, wide.body.Theta_y),
        "the limit of joints as stiff as contacts.k_R",
    ),
    _StepLimit(
        {"scheme": ("multirate",), "model": ("spatial", "mirrored")},
        lambda m, wide: stability.largest_tracked_step(m.belt, wide.guides[0].tracking),
        "the limit of tracking as stiff as spatial.tracking, which scheme explicit has not",
    ),
)


def _clock(parameters: Parameters, m: Model, wide: spatial.Model | None, run: Run, start: Start) -> Clock:
    """Revolution at the start, and a stable step of the model."""
    b, v = m.belt, float(np.mean(np.hypot(start.u[:, 0], start.u[:, 1])))
    s, source, found = run.settings, requirements.source_of(run), requirements.facts(parameters, run)
    revolution = b.N_E * b.t_R / v
    plot_step = revolution / run.frames if run.plot_step is None else run.plot_step
    bound = np.inf
    for limit in _STEP_LIMITS:
        if requirements.holds(limit.when, found):
            most = limit.bound(m, wide)
            _require(source, s, "step", s.step is None or s.step <= most, f"at most {most:.3g} s: {limit.because}")
            bound = min(bound, most)
    if run.plot_step is not None and s.step is not None:
        steps = _whole(plot_step / s.step, source, s, "step", f"a whole part of the plot step, {plot_step:g} s")
    else:
        largest = s.step or min(largest_step(s.scheme, b), bound)
        steps = int(np.ceil(plot_step / largest * (1.0 - (0.0 if s.step else 1e-9))))
    return Clock(revolution, plot_step / steps, plot_step, steps, run.longest)


def lengths(made: Prepared) -> list[int]:
    """Frames of each phase, if none ends early or settles longer."""
    first = made.clock.frames(made.run.settle) if made.run.settle_at_most > 0.0 else len(made.inputs) - 1
    return [first, *(made.clock.frames_in(b) for b in made.run.branches)]


def steps_of(made: Prepared) -> int:
    """How many steps a run has, if no phase ends early."""
    return made.clock.steps * sum(lengths(made))
