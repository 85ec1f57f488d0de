"""A belt drive's unit file as ANCF belt with sheave contact: build, bring to rest, simulate, evaluate, record.

The unit measures the belt on its length without load. The reference of the model is the taut line at rest, as in the
paper: with the stretch lam (taut length by length without load) of that line

    EA_r = lam EA,  EI_r = lam EI,  damping also,  mass_r = mass/lam,  eps_ref = 1/lam - 1

Contact constants are per area of the taut belt; a segment has the area width * L/n_s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.geometry import BeltPath
from rtcvt.belt.patches import belt_shares, patch_rows
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.offline.belt.ancf import Cable, axial_force, cable, shape
from rtcvt.offline.belt.audit import ALLOWED, STORED, WORKS, book, columns, strayed
from rtcvt.offline.belt.friction import place_friction, sliding
from rtcvt.offline.belt.motion import N_COUNT, Motion, Numerics, Sheaves, Work, equilibrium, march, motion, work
from rtcvt.offline.belt.run_input import driven, recording_of
from rtcvt.offline.belt.shafts import shafts
from rtcvt.offline.belt.sheave import Contact, segment_forces, standing
from rtcvt.offline.belt.tensioner import arms, place_arms
from rtcvt.processes import caught
from rtcvt.recording import Recording, Signal, write_recording
from rtcvt.scenario import Scenario, sample_inputs

Array = NDArray[np.float64]

CHUNK_SAMPLES = 20  # samples between two signs of life
COUNTS = ("steps", "discontinuous iterations", "Newton iterations", "matrices", "not switched out", "in parts")


@dataclass(frozen=True)
class Drive:
    """A drive at rest, ready to run."""

    unit: BeltUnit
    path: BeltPath
    cable: Cable
    contact: Contact
    sheaves: Sheaves
    rest: Motion
    step: float  # [s]
    rest_residual: float  # largest force or moment that is left at rest [N, N m]


@dataclass(frozen=True)
class Run:
    """Results of a simulation, sampled over time.

    Attributes
    ----------
    time : (S,) array
        [s], from 0.
    q, v : (S, n, 4) arrays
        Positions [m] and slopes of the nodes, and their rates.
    turning : (S, m, 4) array
        Angle [rad], speed [rad/s], external torque and torque of the belt [N m] of each pulley. Where a kink of a given
        speed makes the constraint's torque alternate from step to step (see `motion`), the third alternates, too.
    carried : (S, k, 4) array
        Angle [rad], speed [rad/s], acceleration [rad/s^2] and dry friction [N m] of each arm; then speed [rad/s] and
        acceleration [rad/s^2] of each shaft after a decoupler, twist [rad] of its spring and its rate [rad/s].
    stress : (S, n, n_s, 4) array
        Tangential and normal stress [N/m^2], bristle stretch while sticking and gap [m] of each segment.
    energy : (S, 17) array
        `audit.STORED` and `audit.WORKS` [J].
    counts : dict
        Steps, discontinuous iterations, Newton iterations, matrices, steps accepted at the largest number, steps made
        in parts.
    complete : bool
        False: interrupted, the end is missing.
    last : Motion
        State at the end, from which the run can continue.
    """

    drive: Drive
    time: Array
    q: Array
    v: Array
    turning: Array
    carried: Array
    stress: NDArray[np.float32]
    energy: Array
    counts: dict[str, int]
    complete: bool
    last: Motion


@dataclass(frozen=True)
class SpanValues:
    """Means over the middle half of each span, (S, spans) [N] and [m/s]; span i leaves pulley i."""

    tension: Array
    velocity: Array


def contact_area(unit: BeltUnit, path: BeltPath, elements: int, segments: int) -> float:
    """Area [m^2] of a segment."""
    return unit.belt.width * path.length / (elements * segments)


def build(
    unit: BeltUnit, *, elements: int | None = None, segments: int | None = None, step: float | None = None
) -> Drive:
    """The drive in static equilibrium without friction.

    Parameters
    ----------
    unit : BeltUnit
        With an ``ancf`` table.
    elements, segments, step
        Other mesh and step [s] than the unit's.

    Raises
    ------
    InputError
        The unit has no ``ancf`` table.
    ArithmeticError
        No static equilibrium was found.
    """
    if unit.ancf is None:
        raise InputError(unit.source, "ancf", None, "a table with contact and mesh of the ANCF belt")
    model, belt, path = unit.ancf, unit.belt, unit.path()
    n, n_s = elements or model.elements, segments or model.segments
    L = path.length / n
    lam = path.length / unit.rest_length()
    elastic = lam * belt.EA, lam * belt.EI, belt.mass / lam, lam * belt.damping, lam * belt.bending_damping
    element = cable(L, *elastic, 1.0 / lam - 1.0, model.gravity, model.scheme)
    area = contact_area(unit, path, n, n_s)
    S, dS, _ = shape(np.linspace(0.0, L, n_s + 1), L)
    pulleys, sheaves = list(unit.pulleys.values()), _sheaves(unit)
    speed, by_angle, arm = standing(len(pulleys))
    arm[sheaves.arms.sheave] = np.sum(sheaves.free >= 0) + np.arange(sheaves.arms.sheave.size)
    slides = unit.hybrid.sliding if unit.hybrid else None
    rows = patch_rows(unit)
    patches = rows[rows[:, 0] >= 0.0], belt_shares(rows, n * n_s)
    mu, law = sliding(unit.friction_of(model.mu), *((slides.v, slides.share) if slides else ((), ())), *patches)
    center, radius = np.array([p.center for p in pulleys]), np.array([p.radius for p in pulleys])
    normal = model.k_c * area, model.d_c * area, model.hysteresis * area
    shear = mu, model.mu_k * area, model.mu_v * area
    contact = Contact(
        center, radius, 0.5 * belt.height * path.sigma, S, dS, L / n_s, *normal, *shear, model.point_normals, law,
        speed, by_angle, arm,
    )  # fmt: skip
    r, t, _ = path.at(L * np.arange(n, dtype=np.float64))
    arms_, shafts_ = sheaves.arms.sheave.size, sheaves.shafts.sheave.size
    rest = motion(np.hstack([r, t]), len(pulleys), n_s, arms_, shafts_, mu.shape[1])
    residual = equilibrium(element, contact, sheaves, rest, _work(rest, sheaves))
    return Drive(unit, path, element, contact, sheaves, rest, step or model.step, residual)


def _sheaves(unit: BeltUnit) -> Sheaves:
    pulleys = list(unit.pulleys.values())
    moved = np.array([p.flange != "speed" for p in pulleys])
    loads = np.array([len(p.load.w) if p.load else 0 for p in pulleys], dtype=np.int64)
    w, tau = np.zeros((len(pulleys), max(2, loads.max()))), np.zeros((len(pulleys), max(2, loads.max())))
    for i, p in enumerate(pulleys):
        if p.load:
            w[i, : loads[i]], tau[i, : loads[i]] = p.load.w, p.load.tau
    return Sheaves(
        np.array([p.inertia for p in pulleys]), np.array([p.friction for p in pulleys]),
        np.where(moved, np.cumsum(moved) - 1, -1).astype(np.int64), w, tau, loads, arms(unit), shafts(unit),
    )  # fmt: skip


def _work(x: Motion, s: Sheaves) -> Work:
    m, n, n_s, _ = x.contact.shape
    free, directions = int(np.sum(s.free >= 0)), x.sliding.shape[1]
    return work(n, m, free, n_s, s.arms.sheave.size, s.shafts.sheave.size, directions)


def _inputs(unit: BeltUnit, scenario: Scenario, time: Array) -> tuple[Array, Array]:
    """Given speeds and torques of all pulleys, (len(time), m)."""
    places, table = driven(unit)
    u = sample_inputs(table, scenario, time)
    w, tau = np.zeros((2, time.size, len(unit.pulleys)))
    for i, v in zip(places, table.variables, strict=True):
        (w if v.unit == "rad/s" else tau)[:, i] = u[:, v.index]
    return w, tau


def simulate(
    drive: Drive,
    scenario: Scenario,
    *,
    sample: float = 1e-3,
    numerics: Numerics | None = None,
    report: Callable[[float], None] = lambda _: None,
    start: Run | None = None,
) -> Run:
    """Run a scenario from rest, or continue a run of the same drive and scenario.

    Parameters
    ----------
    sample : float
        Time between samples [s], a multiple of the step.
    numerics : Numerics, optional
        Other tolerances; its step replaces the drive's.
    report : callable
        Called with the simulated time [s], some times in a second of machine time.
    start : Run, optional
        An interrupted run; it must end with a whole block of samples to continue with the same bits.

    Returns
    -------
    Run
        Not complete after a KeyboardInterrupt: the run until then.

    Raises
    ------
    InputError
        A sample time that is not a multiple of the step, or bad inputs.
    ArithmeticError
        Newton's method failed; the message has the time.
    """
    numerics = numerics or Numerics(drive.step)
    h = numerics.h
    every = round(sample / h)
    if every < 1 or abs(every * h - sample) > 1e-9 * sample:
        raise InputError(drive.unit.source, "sample", sample, f"a multiple of the step of {h:g} s")
    x = Motion(*(part.copy() for part in (drive.rest if start is None else start.last)))
    m, n, n_s, _ = x.contact.shape
    samples = round(scenario.duration / sample)
    q, v = np.empty((samples + 1, n, 4)), np.empty((samples + 1, n, 4))
    turning, stress = np.zeros((samples + 1, m, 4)), np.zeros((samples + 1, n, n_s, 4), dtype=np.float32)
    energy = np.zeros((samples + 1, len(STORED) + len(WORKS)))
    carried = np.zeros((samples + 1, x.arms.shape[0] + x.shafts.shape[0], 4))
    center, mu = drive.contact.center.copy(), drive.contact.mu.copy()
    contact = drive.contact._replace(center=center, speed=np.zeros((m, 2)), mu=mu)
    place_arms(drive.sheaves.arms, x.arms, contact)
    place_friction(contact.sliding, x.sliding, x.phi, contact.mu)
    scratch, count = _work(x, drive.sheaves), np.zeros(N_COUNT, dtype=np.int64)
    area = contact_area(drive.unit, drive.path, n, n_s)
    per_segment = np.array([1.0 / area, 1.0 / area, 1.0, 1.0])
    block = np.empty((CHUNK_SAMPLES, m, n, n_s, 4))
    if start is None:
        segment_forces(contact, x, scratch.contact[0], block[0])
        carried[0] = np.concatenate([x.arms, x.shafts])
        q[0], v[0], stress[0] = x.q, x.v, block[0].sum(axis=0) * per_segment
        book(drive.cable, contact, drive.sheaves, x, 0.0, scratch.account, scratch.contact[0])
        energy[0, : len(STORED)] = scratch.account.stored
        done = 0
    else:
        done = start.time.size - 1
        if done > samples:
            allowed = f"at least {done * sample:g} s, which are done"
            raise InputError(f"scenario '{scenario.name}'", "duration", scenario.duration, allowed)
        q[: done + 1], v[: done + 1], turning[: done + 1] = start.q, start.v, start.turning
        stress[: done + 1], carried[: done + 1], energy[: done + 1] = start.stress, start.carried, start.energy
        scratch.account.work[:] = energy[done, len(STORED) :]
        count[:] = list(start.counts.values())
    last, complete = x, True
    try:
        while done < samples:
            size = min(CHUNK_SAMPLES, samples - done)
            w, tau = _inputs(drive.unit, scenario, h * (done * every + 1 + np.arange(size * every, dtype=np.float64)))
            part = slice(done + 1, done + 1 + size)
            found = q[part], v[part], turning[part], carried[part], block, energy[part]
            given = drive.cable, contact, drive.sheaves
            steps = march(*given, x, numerics, w, tau, every, *found, scratch, count)
            if steps < size * every:
                at = h * (done * every + steps + 1)
                raise ArithmeticError(f"Newton's method did not converge at t = {at:g} s; try a smaller step")
            stress[part] = block[:size].sum(axis=1) * per_segment
            done += size
            last = Motion(*(part.copy() for part in x))
            report(done * sample)
    except KeyboardInterrupt:
        caught()
        complete = False
    k = slice(0, done + 1)
    counts = dict(zip(COUNTS, count.tolist(), strict=True))
    time: Array = sample * np.arange(done + 1, dtype=np.float64)
    return Run(drive, time, q[k], v[k], turning[k], carried[k], stress[k], energy[k], counts, complete, last)


def spans(run: Run) -> SpanValues:
    """Tension and speed of the belt in the middle half of each span.

    The force is that at starts and middles of elements, the speed at their middles, along the order of the pulleys.
    """
    path, c = run.drive.path, run.drive.cable
    start = axial_force(c, run.q, run.v, 0.0)
    middle = axial_force(c, run.q, run.v, 0.5)
    tension, velocity = [], []
    for i in range(path.span.size):
        inside = [_in_span(path, i, r) for _, _, r in (start, middle)]
        N = sum(np.sum(np.where(w, f[0], 0.0), axis=1) for w, f in zip(inside, (start, middle), strict=True))
        tension.append(N / sum(w.sum(axis=1) for w in inside))
        velocity.append(np.sum(np.where(inside[1], middle[1], 0.0), axis=1) / inside[1].sum(axis=1))
    return SpanValues(np.stack(tension, axis=1), np.stack(velocity, axis=1))


def _in_span(path: BeltPath, i: int, r: Array) -> NDArray[np.bool_]:
    along = (r - path.leaving(i)) @ path.direction[i] / path.span[i]
    across = (r - path.leaving(i)) @ np.array([-path.direction[i][1], path.direction[i][0]])
    return (along >= 0.25) & (along <= 0.75) & (np.abs(across) < 0.2 * path.span[i])


def warnings(run: Run) -> list[str]:
    """Warnings about an energy error of a run, with the remedy; empty if its energy balance is kept."""
    share = strayed(run.energy)
    if share <= ALLOWED:
        return []
    steps, loose = run.counts["steps"], run.counts["not switched out"]
    return [
        f"{share:.1%} of the work put in is unaccounted for (allowed {ALLOWED:.1%}), and the contact of "
        f"{loose} of {steps} steps did not settle: where wraps slip, forces alternate from step to step; "
        f"use a step below {run.drive.step:g} s"
    ]


def signals(run: Run) -> dict[str, Signal]:
    """All results over time: pulleys, spans (A_B from A to B), and the fields of the belt as arrays."""
    unit, means = run.drive.unit, spans(run)
    found: dict[str, Signal] = {}
    names = list(unit.pulleys)
    for i, name in enumerate(names):
        for k, (key, si, text) in enumerate(_PULLEY):
            found[f"{name}.{key}"] = Signal(run.turning[:, i, k], si, text)
    for k, i in enumerate(unit.arms):
        for m, (key, si, text) in enumerate(_ARM):
            found[f"{names[i]}.{key}"] = Signal(run.carried[:, k, m], si, text)
    for k, i in enumerate(unit.decouplers, len(unit.arms)):
        given = unit.decouplers[i]
        for m, (key, si, text) in enumerate(_SHAFT):
            found[f"{names[i]}.{key}"] = Signal(run.carried[:, k, m], si, text)
        M = given.stiffness * run.carried[:, k, 2] + given.damping * run.carried[:, k, 3]
        found[f"{names[i]}.M_decoupler"] = Signal(M, "N.m", "torque of the decoupler")
    for i, span in enumerate(unit.spans):
        found[f"{span}.F"] = Signal(means.tension[:, i], "N", "tension in the middle half of the span")
        found[f"{span}.v"] = Signal(means.velocity[:, i], "m/s", "belt speed there, in the order of the pulleys")
    found["belt.q"] = Signal(run.q, "1", "nodes: x [m], y [m], slopes")
    found["belt.v"] = Signal(run.v, "1/s", "rates of belt.q")
    for k, key in enumerate(columns()):
        found[key] = Signal(run.energy[:, k], "J", _ENERGY[key.split(".")[1]])
    for k, (key, si, text) in enumerate(_SEGMENT):
        found[f"contact.{key}"] = Signal(run.stress[..., k].astype(np.float64), si, text)
    return found


_PULLEY = (
    ("phi", "rad", "angle"),
    ("w", "rad/s", "speed"),
    ("tau", "N.m", "external torque"),
    ("M", "N.m", "torque of the belt on the pulley"),
)
_ARM = (
    ("theta", "rad", "angle of the arm from its drawn place"),
    ("w_arm", "rad/s", "speed of the arm"),
    ("a_arm", "rad/s2", "acceleration of the arm"),
    ("M_friction", "N.m", "dry friction torque of the arm"),
)
_SHAFT = (
    ("w_shaft", "rad/s", "speed of the shaft after the decoupler"),
    ("a_shaft", "rad/s2", "acceleration of this shaft"),
    ("twist", "rad", "by which the spring of the decoupler is wound up"),
    ("twist_rate", "rad/s", "its rate"),
)
_SEGMENT = (
    ("q_t", "N/m2", "tangential stress"),
    ("q_n", "N/m2", "normal stress"),
    ("slip", "m", "bristle"),
    ("gap", "m", ""),
)
_ENERGY = dict.fromkeys(WORKS, "lost since the start") | {
    "stored": "stored",
    "input": "work of the torques that drive pulleys, since the start",
    "output": "work that pulleys do against their torques, since the start",
}


def _state(drive: Drive) -> list[str]:
    """Parts of Motion that are not among the signals."""
    return ["a", "alpha", "contact"] + (["sliding"] if drive.contact.sliding.v.size else [])


def record(run: Run, file: Path, scenario: Scenario) -> None:
    """Write a run to HDF5, from which `read_run` continues it; ``complete`` is false if it was interrupted.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    unit = run.drive.unit
    assert unit.ancf is not None
    attributes = {
        "model": "ancf", "scenario": scenario.model_dump_json(), "settings": unit.ancf.model_dump_json(),
        "complete": run.complete, "step": run.drive.step, "element_length": run.drive.cable.L,
        **{f"count {key}": value for key, value in run.counts.items()},
    }  # fmt: skip
    found = signals(run)
    for key in _state(run.drive):
        found[f"state.{key}"] = Signal(getattr(run.last, key), "1", "at the end, SI units")
    write_recording(file, Recording(run.time, found, attributes, unit.text), "belt drive, full model")


def read_run(file: Path, drive: Drive, scenario: Scenario) -> Run:
    """The run of this drive and scenario in a file. The scenario's duration may have changed.

    Raises
    ------
    InputError
        Not such a run.
    """
    unit = drive.unit
    assert unit.ancf is not None
    mesh = {"settings": unit.ancf.model_dump_json(), "step": drive.step, "element_length": drive.cable.L}
    recording = recording_of(file, unit, scenario, **mesh)
    about, found = recording.attributes, recording.signals
    if "energy.input" not in found:
        raise InputError(file, "energy.input", None, "a run with its energy, as this version of rtcvt makes them")
    turning = np.stack(
        [np.stack([found[f"{name}.{key}"].values for key, *_ in _PULLEY], axis=-1) for name in unit.pulleys], axis=1
    )
    names = list(unit.pulleys)
    keys = [(i, _ARM) for i in unit.arms] + [(i, _SHAFT) for i in unit.decouplers]
    carried = np.array([[found[f"{names[i]}.{key}"].values for key, *_ in of] for i, of in keys])
    carried = np.moveaxis(carried.reshape(-1, len(_ARM), recording.time.size), -1, 0).copy()
    stress = np.stack([found[f"contact.{key}"].values for key, *_ in _SEGMENT], axis=-1).astype(np.float32)
    energy = np.stack([found[key].values for key in columns()], axis=-1)
    q, v = found["belt.q"].values, found["belt.v"].values
    state = {"sliding": drive.rest.sliding.copy()} | {key: found[f"state.{key}"].values for key in _state(drive)}
    phi, w, tau = (turning[-1, :, k].copy() for k in range(3))
    on_arms, hung = carried[-1, : len(unit.arms)].copy(), carried[-1, len(unit.arms) :].copy()
    motions = state["a"], phi, w, state["alpha"], tau, state["contact"], on_arms, hung, state["sliding"]
    last = Motion(q[-1].copy(), v[-1].copy(), *motions)
    counts = {key: int(about[f"count {key}"]) for key in COUNTS}
    return Run(drive, recording.time, q, v, turning, carried, stress, energy, counts, bool(about["complete"]), last)
