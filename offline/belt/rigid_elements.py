"""Belt drive as a belt of rigid elements (Kubas 2017): rest, runs, results. `element_forces` has the equations.

Runs take the linearly implicit steps of `rosenbrock`. The source takes explicit ones (Runge-Kutta-Fehlberg; here, to
compare, RK45), which cannot exceed about 3.7 over the fastest rate of decay, 3 mu N/(2 m dv) where an element sticks:
their duration grows with 1/dv.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import splu

from rtcvt.belt.patches import belt_shares, patch_rows
from rtcvt.belt.unit import BeltUnit, ElementModel
from rtcvt.errors import InputError
from rtcvt.offline.belt import rosenbrock
from rtcvt.offline.belt.element_forces import ENERGIES, Drive, Feed, Scratch, rates, scratch, spring, stored_energy
from rtcvt.offline.belt.friction import Sliding
from rtcvt.offline.belt.run_input import driven, recording_of
from rtcvt.offline.belt.shafts import shafts
from rtcvt.processes import caught
from rtcvt.recording import Recording, Signal, write_recording
from rtcvt.scenario import Scenario, Table, sample_inputs

Array = NDArray[np.float64]

STORED = ("kinetic", "joints", "contacts", "height", "springs")


def _elements(unit: BeltUnit) -> ElementModel:
    if unit.elements is None:
        raise InputError(unit.source, "elements", None, "the table [elements] of the model of rigid elements")
    return unit.elements


def _drive(unit: BeltUnit, length: float) -> Drive:
    """Constants for elements of that length [m]."""
    e, belt = _elements(unit), unit.belt
    pulleys, own = list(unit.pulleys.values()), unit.decouplers
    alone = {"friction": 0.0, "load": None}  # bearing and load are the shaft's
    turning = [p.model_copy(update=alone) if i in own else p for i, p in enumerate(pulleys)]
    turning += [pulleys[i].model_copy(update={"inertia": q.inertia}) for i, q in own.items()]
    loads = [p.load for p in turning]
    counts = [0 if load is None else len(load.w) for load in loads]
    slides, patches = unit.hybrid.sliding if unit.hybrid else None, patch_rows(unit)
    m = belt.mass * length
    return Drive(
        n=e.elements,
        l=length,
        m=m,
        I_z=m * length**2 / 12.0,
        c_wzd=belt.EA / length**e.stretch_exponent,
        e_wzd=e.stretch_exponent,
        b_wzd=belt.damping / length,
        c_skr=belt.EI / length**e.bending_exponent,
        e_skr=e.bending_exponent,
        b_skr=belt.bending_damping / length,
        turn=2.0 * np.pi if unit.winding == "anticlockwise" else -2.0 * np.pi,
        g=e.gravity,
        c_1=e.c_1,
        c_2=e.c_2,
        b=e.b,
        p_max=e.p_max,
        mu=Sliding(
            np.array([*unit.friction_of(e.mu), *(0.0 for _ in own)]),
            np.array(slides.v if slides else (), dtype=float),
            np.array(slides.share if slides else (), dtype=float),
            patches[patches[:, 0] >= 0.0],
            belt_shares(patches, e.elements),
        ),
        dv=e.dv,
        P_k=np.array([p.center for p in turning]),
        r_k=np.array([*unit.line_radius, *(0.0 for _ in own)]),
        I_k=np.array([p.inertia for p in turning]),
        d_k=np.array([p.friction for p in turning]),
        speed=np.array([p.flange == "speed" for p in turning]),
        load_w=np.array([w for load in loads if load for w in load.w], dtype=float),
        load_tau=np.array([tau for load in loads if load for tau in load.tau], dtype=float),
        load_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        shafts=shafts(unit),
    )


def at_rest(unit: BeltUnit) -> tuple[Drive, Array]:
    """Constants and state of the belt at rest: equilibrium without friction, free spans at the pretension.

    The elements' length follows from the pretension. The equilibrium is a zero of the forces, found by Newton's method
    with a proximal term (the belt may lie anywhere round the loop, so that the stiffness is nearly singular).

    Raises
    ------
    InputError
        The unit has no table [elements], or a pulley that no element would touch.
    ArithmeticError
        No equilibrium was found.
    """
    path, n, k = unit.path(), _elements(unit).elements, len(unit.pulleys) + len(unit.decouplers)
    wrapped = path.radius * path.wrap
    if wrapped.min() < 2.0 * path.length / n:
        name = list(unit.pulleys)[int(np.argmin(wrapped))]
        least = int(np.ceil(2.0 * path.length / wrapped.min()))
        raise InputError(unit.source, "elements.elements", n, f"at least {least}, for two on the wrap of {name}")
    T, e = unit.belt.pretension, _elements(unit).stretch_exponent
    strain = (T / unit.belt.EA) ** (1.0 / e) if T > 0.0 else 0.0
    d = _drive(unit, path.length / (1.0 + strain) / n)
    stiff = e * T / (strain * d.l) if strain > 0.0 else d.c_wzd
    point, tangent, _ = path.at((np.arange(n) + 0.5) * path.length / n)
    y = np.zeros(6 * n + 2 * k + len(ENERGIES))
    y[: 3 * n] = np.concatenate([point[:, 0], point[:, 1], np.unwrap(np.arctan2(tangent[:, 1], tangent[:, 0]))])
    tension = np.inf
    for _ in range(20):
        w = _settle(d, y, stiff)
        free = ~(w.N > 0.0).any(axis=0)
        tension = float(np.mean(w.F[free & np.roll(free, 1)]))
        if abs(tension - T) <= 1e-7 * T:
            break
        d = _drive(unit, d.l + (tension - T) / stiff)
    else:
        raise ArithmeticError(f"no belt at rest was found: {tension:g} N in the spans")
    return d, y


def _settle(d: Drive, y: Array, stiff: float) -> Scratch:
    """Move the elements of state `y` to their equilibrium without friction; the forces there.

    `stiff` is the stiffness of a joint at the pretension [N/m].
    """
    n, k = d.n, len(d.r_k)
    o = 3 * n + k
    still = d._replace(mu=d.mu._replace(mu=0.0 * d.mu.mu))
    w, dy, feed = scratch(d), np.empty_like(y), Feed(0.0, np.zeros(k), np.zeros(k))
    inertia = np.repeat([d.m, d.m, d.I_z], n)
    y[o:] = 0.0

    def force(q: Array) -> Array:
        z = y.copy()
        z[: 3 * n] = q
        rates(0.0, z, dy, still, feed, w)
        return inertia * dy[o : o + 3 * n]

    def energy(q: Array) -> float:
        z = y.copy()
        z[: 3 * n] = q
        return float(sum(stored_energy(z, d)))

    # Elements that are three or more apart share no force: their columns are differenced together.
    ring = np.arange(n)
    colour = np.where(ring < n - n % 3, ring % 3, 3 + ring % 3)
    steps = np.repeat([1e-9, 1e-9, 1e-9 / d.l], n)
    length = np.repeat([1.0, 1.0, d.l], n)
    q = y[: 3 * n].copy()
    f, shift = force(q), 1e-4 * stiff
    for _ in range(400):
        size = np.abs(f / length).max()
        if size <= 1e-9 * stiff * d.l:
            break
        entries = []
        for column in range(3):
            for same in np.unique(colour):
                of = ring[colour == same]
                e = np.zeros(3 * n)
                e[column * n + of] = steps[column * n]
                difference = (force(q + e) - force(q - e)) / (2.0 * steps[column * n])
                for row in range(3):
                    for offset in (-1, 0, 1):
                        at = row * n + (of + offset) % n
                        entries.append(np.stack([-difference[at], at, column * n + of]))
        value, i, j = np.hstack(entries)
        stiffness = sparse.csc_matrix((value, (i.astype(int), j.astype(int))), shape=(3 * n, 3 * n))
        here = energy(q)
        while True:
            step = splu((stiffness + sparse.diags(shift * length**2)).tocsc()).solve(f)
            step *= min(1.0, 0.1 * d.l / np.abs(step * length).max())
            if energy(q + step) <= here * (1.0 + 1e-14) or shift > stiff:
                break
            shift *= 4.0
        q += step
        f, shift = force(q), max(0.1 * shift, 1e-9 * stiff)
    else:
        raise ArithmeticError(f"the belt did not come to rest: {size:g} N left")
    y[: 3 * n] = q
    force(q)
    return w


@dataclass(frozen=True)
class Run:
    """States over time.

    Attributes
    ----------
    drive : Drive
        Constants.
    time : (m,) array
        [s].
    state : (m, 6 n + 2 n_k + 8) array
        See `rates`.
    complete : bool
        Whether the scenario's end was reached.
    step : float
        Size for the next step [s].
    accepted, rejected : int
        Steps.
    """

    drive: Drive
    time: Array
    state: Array
    complete: bool
    step: float
    accepted: int
    rejected: int


def simulate(
    unit: BeltUnit,
    scenario: Scenario,
    interval: float = 1e-3,
    start: Run | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Run:
    """Run a scenario from rest, or continue an interrupted run.

    Inputs are linear between the times of their tables; other signals are sampled at the output times. An interrupt
    (Ctrl-C) ends the run early: the run until then is returned, marked as not complete.

    Parameters
    ----------
    unit : BeltUnit
    scenario : Scenario
        Inputs ``NAME.tau`` [N m] or ``NAME.w`` [rad/s] by the pulleys' flange.
    interval : float
        Between output times [s].
    start : Run, optional
        An interrupted run of the same unit, scenario and interval.
    progress : callable, optional
        Called with the time reached and the end [s].

    Raises
    ------
    InputError
        See `at_rest` and `rtcvt.scenario.sample_inputs`.
    ArithmeticError
        No equilibrium, or no step that is small enough.
    """
    times: Array = interval * np.arange(np.floor(scenario.duration / interval + 1e-9) + 1.0, dtype=np.float64)
    knots, table = scenario_inputs(unit, scenario, times)
    if start is None:
        d, y = at_rest(unit)
        h, accepted, rejected, done = 1e-9, 0, 0, 1
        _speeds(y, d)[d.speed] = table[0, d.speed]
        first = y[None, :]
    else:
        d, y, first = start.drive, start.state[-1].copy(), start.state
        h, accepted, rejected, done = start.step, start.accepted, start.rejected, start.time.size
        if done > times.size:
            allowed = f"at least {start.time[-1]:g} s, which are done"
            raise InputError(f"scenario '{scenario.name}'", "duration", scenario.duration, allowed)
    tolerance, explicit = _elements(unit).tolerance, _elements(unit).method == "RK45"
    if explicit and unit.decouplers:
        raise InputError(unit.source, "elements.method", "RK45", "rosenbrock, with a decoupler")
    states = np.empty((times.size, y.size))
    states[:done] = first
    scale, w, memory, trial = _scale(d), scratch(d), np.empty((8, y.size)), np.empty_like(y)
    W = rosenbrock.matrices(d.n, len(d.r_k))
    cuts = np.union1d(np.append(times[::10], times[-1]), knots)
    cuts = cuts[(cuts > times[done - 1]) & (cuts <= times[-1])]
    t = float(times[done - 1])
    try:
        for cut in cuts:
            i = min(int(np.searchsorted(knots, t, side="right")) - 1, knots.size - 2)
            feed = Feed(knots[i], table[i], (table[i + 1] - table[i]) / (knots[i + 1] - knots[i]))
            ahead = done + int(np.searchsorted(times[done:], cut, side="right"))
            wanted, found = times[done:ahead], states[done:ahead]
            if explicit:
                yes, no = _explicit(t, cut, y, tolerance, scale, wanted, found, d, feed, w)
            else:
                h, yes, no = rosenbrock.integrate(
                    t, cut, y, h, tolerance, scale, wanted, found, d, feed, w, W, memory, trial
                )
            if h == 0.0:
                raise ArithmeticError(f"{unit.name}: no step is small enough after {t:g} s")
            t, done, accepted, rejected = float(cut), ahead, accepted + yes, rejected + no
            if progress is not None:
                progress(t, float(times[-1]))
    except KeyboardInterrupt:
        caught()
    return Run(d, times[:done], states[:done], done == times.size, h, accepted, rejected)


def _explicit(
    t: float, end: float, y: Array, tolerance: float, scale: Array, times: Array, states: Array, d: Drive, feed: Feed,
    w: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """As `rosenbrock.integrate` by SciPy's RK45; evaluations of the forces, by six, and 0."""

    def f(at: float, state: Array) -> Array:
        dy = np.empty_like(state)
        rates(at, state, dy, d, feed, w)
        return dy

    allowed = np.where(scale > 0.0, tolerance * scale, np.inf)
    asked = np.append(times[times < end - 1e-12], end)
    found = solve_ivp(f, (t, end), y, t_eval=asked, rtol=tolerance, atol=allowed)
    if not found.success:
        raise ArithmeticError(f"no step is small enough after {t:g} s")
    states[:] = found.y.T[: len(states)]
    y[:] = found.y[:, -1]
    return found.nfev // 6, 0


def _speeds(y: Array, d: Drive) -> Array:
    """View of the pulleys' speeds (n_k,) [rad/s] in a state."""
    o = 3 * d.n + len(d.r_k)
    return y[o + 3 * d.n : 2 * o]


def scenario_inputs(unit: BeltUnit, scenario: Scenario, times: Array) -> tuple[Array, Array]:
    """Times (m,) [s], m >= 2, and inputs (m, n_k) between which they are linear; the time of a jump occurs twice."""
    at = {i: len(unit.pulleys) + m for m, i in enumerate(unit.decouplers)}  # the shaft has the flange
    pulleys, table = driven(unit)
    lines = [v for v in scenario.inputs.values() if isinstance(v, Table) and v.interpolation == "linear"]
    knots = np.unique(np.concatenate([[0.0, times[-1]], *(np.array(v.time) for v in lines)]))
    if any(isinstance(v, str | Table) and v not in lines for v in scenario.inputs.values()):
        knots = np.union1d(knots, times)
    jumps = {t for v in lines for t in v.jumps if 0.0 < t < times[-1]}
    for name, v in scenario.inputs.items():
        if name.endswith(".w") and isinstance(v, Table) and v.jumps:
            raise InputError(f"scenario '{scenario.name}'", f"inputs.{name}", v.jumps[0], "a speed without a jump")
    knots = np.sort(np.append(knots, list(jumps)))
    given = np.zeros((knots.size, len(unit.pulleys) + len(at)))
    given[:, [at.get(i, i) for i in pulleys]] = sample_inputs(table, scenario, knots)
    return knots, given


def _scale(d: Drive) -> Array:
    """Size of each state by which its error is judged: an element's length, a radian, 1 m/s."""
    n, k, own = d.n, len(d.r_k), d.shafts.sheave.size
    of = np.repeat([d.l, d.l, 1.0, 1.0, 1.0, 1.0, 2.0 / d.l, 1.0, 0.0], [n, n, n, k, n, n, n, k, len(ENERGIES)])
    of[6 * n + k : 6 * n + 2 * k] = 1.0 / np.append(d.r_k[: k - own], d.r_k[d.shafts.sheave])
    return of


def span_tensions(run: Run, unit: BeltUnit) -> Array:
    """Mean axial force (m, n_k) [N] of the joints in the middle half of each span; span i leaves pulley i."""
    path, n = unit.path(), run.drive.n
    force = _forces(run)[0]
    x, y = run.state[:, :n], run.state[:, n : 2 * n]
    joint = 0.5 * np.stack([x + np.roll(x, 1, axis=1), y + np.roll(y, 1, axis=1)], axis=-1)
    result = np.empty((run.time.size, len(path.span)))
    for i, length in enumerate(path.span):
        t = path.direction[i]
        r = joint - path.leaving(i)
        along, across = r @ t, r @ np.array([-t[1], t[0]])
        inside = (abs(along / length - 0.5) < max(0.25, 1.1 * path.length / n / length)) & (
            abs(across) < 0.5 * min(unit.line_radius)
        )
        result[:, i] = np.sum(force * inside, axis=1) / np.sum(inside, axis=1)
    return result


def _forces(run: Run) -> tuple[Array, Array, Array]:
    """Axial forces (m, n) of the joints, normal and friction forces (m, n_k, n) on the elements [N]."""
    d = run.drive
    w, dy, none = scratch(d), np.empty(run.state.shape[1]), Feed(0.0, np.zeros(len(d.r_k)), np.zeros(len(d.r_k)))
    m = run.time.size
    F, N, T = np.empty((m, d.n)), np.empty((m, len(d.r_k), d.n)), np.empty((m, len(d.r_k), d.n))
    for i in range(m):
        rates(run.time[i], run.state[i], dy, d, none, w)
        F[i], N[i], T[i] = w.F, w.N, w.T
    return F, N, T


def signals(run: Run, unit: BeltUnit) -> dict[str, Signal]:
    """All results over time, the fields of the belt as arrays (m, n).

    Speeds and torques by pulley, ``A_B.F`` for the span from A to B, ``belt.F``, ``belt.x`` ... by element (joint i
    lies before element i), ``contact.NAME.N`` and ``.T`` by element, and ``energy.*``.
    """
    d = run.drive
    n, names = d.n, list(unit.pulleys)
    o = 3 * n + len(d.r_k)
    F, N, T = _forces(run)
    found: dict[str, Signal] = {}
    for j, name in enumerate(names):
        found[f"{name}.w"] = Signal(run.state[:, o + 3 * n + j], "rad/s", "speed")
        found[f"{name}.phi"] = Signal(run.state[:, 3 * n + j], "rad", "angle")
        radius = np.hypot(run.state[:, :n] - d.P_k[j, 0], run.state[:, n : 2 * n] - d.P_k[j, 1])
        found[f"{name}.M"] = Signal(-np.sum(T[:, j] * radius, axis=1), "N.m", "torque of the belt on the pulley")
        found[f"contact.{name}.N"] = Signal(N[:, j], "N", "normal force on each element")
        found[f"contact.{name}.T"] = Signal(T[:, j], "N", "friction on each element, anticlockwise about the pulley")
    for m, j in enumerate(unit.decouplers):
        a, held = len(names) + m, np.array([spring(m, y, d) for y in run.state])
        for key, values, si, text in (
            ("w_shaft", run.state[:, o + 3 * n + a], "rad/s", "speed of the shaft after the decoupler"),
            ("phi_clutch", run.state[:, 3 * n + a], "rad", "angle of the spring's end at the clutch"),
            ("twist", held[:, 2], "rad", "by which the spring of the decoupler is wound up"),
            ("M_decoupler", held[:, 5], "N.m", "torque of the decoupler"),
        ):
            found[f"{names[j]}.{key}"] = Signal(values, si, text)
    for j, tension in enumerate(span_tensions(run, unit).T):
        found[f"{names[j]}_{names[(j + 1) % len(names)]}.F"] = Signal(tension, "N", "tension in the middle of the span")
    found["belt.F"] = Signal(F, "N", "axial force of each joint")
    for i, (name, unit_name) in enumerate(_FIELDS):
        at = i % 3 * n + i // 3 * o
        found[f"belt.{name}"] = Signal(run.state[:, at : at + n], unit_name, "of each element")
    for i, name in enumerate(ENERGIES):
        text = "work of the inputs" if i == 0 else "dissipated"
        found[f"energy.{name}"] = Signal(run.state[:, 2 * o + i], "J", text)
    stored = np.array([stored_energy(y, d) for y in run.state])
    for i, name in enumerate(STORED):
        found[f"energy.{name}"] = Signal(stored[:, i], "J", "stored")
    return found


_FIELDS = (("x", "m"), ("y", "m"), ("phi", "rad"), ("vx", "m/s"), ("vy", "m/s"), ("omega", "rad/s"))


def write_run(path: Path, run: Run, unit: BeltUnit, scenario: Scenario) -> None:
    """Write a run to HDF5, from which `read_run` continues it; ``complete`` is false if it was interrupted.

    Raises
    ------
    InputError
        The file cannot be written; no partial file remains.
    """
    about = {
        "model": "elements", "scenario": scenario.model_dump_json(), "settings": _elements(unit).model_dump_json(),
        "complete": run.complete, "element_length": run.drive.l, "step": run.step, "accepted": run.accepted,
        "rejected": run.rejected,
    }  # fmt: skip
    write_recording(path, Recording(run.time, signals(run, unit), about, unit.text), "belt drive, full model")


def read_run(path: Path, unit: BeltUnit, scenario: Scenario) -> Run:
    """The run of this unit and scenario in a file. The scenario's duration may have changed.

    Raises
    ------
    InputError
        Not such a run.
    """
    recording = recording_of(path, unit, scenario, settings=_elements(unit).model_dump_json())
    names, about, found = list(unit.pulleys), recording.attributes, recording.signals
    if f"energy.{ENERGIES[-1]}" not in found:
        raise InputError(path, f"energy.{ENERGIES[-1]}", None, "a run of this version of rtcvt")
    place = [found[f"belt.{name}"].values for name, _ in _FIELDS]
    own = [names[i] for i in unit.decouplers]
    angle = [found[s].values[:, None] for s in (*(f"{x}.phi" for x in names), *(f"{x}.phi_clutch" for x in own))]
    speed = [found[s].values[:, None] for s in (*(f"{x}.w" for x in names), *(f"{x}.w_shaft" for x in own))]
    energy = [found[f"energy.{name}"].values[:, None] for name in ENERGIES]
    state = np.hstack([*place[:3], *angle, *place[3:], *speed, *energy])
    d = _drive(unit, float(about["element_length"]))
    step, counts = float(about["step"]), (int(about["accepted"]), int(about["rejected"]))
    return Run(d, recording.time, state, bool(about["complete"]), step, *counts)
