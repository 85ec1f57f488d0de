"""Studies of the pushbelt: python -m studies.pushbelt NAME

energy       unaccounted energy over a revolution, both schemes, with and without load
schemes      thrust ratio, tension and peaks of the two schemes and of half their steps, MED and LOW, five revolutions
ensemble     the same in OD, over independent starts; explicit also with joints damped eightfold
points       thrust ratio, slip and losses of the two schemes at fast belts and at slow ones next to macro-slip
sensitivity  thrust ratio of OD and LOW over one parameter
v_mu FILE    thrust ratio, slip and losses at ten points of the operating range over the speed below which friction of
             the flanks is regularised; FILE has a line for each run; the same command continues from it
steps        thrust ratio of OD, MED and LOW over the step, both schemes
threads      cost of dividing work of a few microseconds between two threads
decoupled UNIT   thrust ratio of OD and LOW by the decoupled law with c_el of the coupled law's mean penetration
stops        MED, OD and LOW between two end stops, with the primary's torque that a run with its speed has
modes        MED, the ring on modes of a run (ring.rod = "projected") and the full rod: singular values, errors, cost
noise [N]    LOW, scatter and orders of bearing forces, planar and spatial, Coulomb and Stribeck, N starts each (4)
"""

import json
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit, prange, set_num_threads
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.bearings import bearing_forces, passing_orders
from rtcvt.offline.pushbelt.contact.friction import CoulombTable, StribeckTable
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.planar.model import Frames, Model, State
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.cosserat import balanced, planar
from rtcvt.offline.pushbelt.run.prepare import prepare, ring_steps, start_of
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import Case, Point, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.snapshots import snapshots
from rtcvt.offline.pushbelt.run.training import fields
from rtcvt.offline.pushbelt.run.windows import STEADY, summary
from rtcvt.offline.pushbelt.unit.initial import Start, start_state
from rtcvt.offline.pushbelt.unit.parameters import (
    FORCE,
    RATE,
    TORQUE,
    Belt,
    Boundary,
    Parameters,
    Sheaves,
    belt,
    boundary_at,
    influence_numbers,
    load_parameters,
    sheaves,
)
from rtcvt.offline.rods.planar import mass

UNIT = load_parameters("pushbelt_24mm")
PLOT = 1e-4
SCHEMES = {"explicit": (hybrid.run, 100), "multirate": (partial(hybrid.run, n_R=2), 40)}
COLUMNS = "thrust, speed ratio, tension, peaks of flank, push, saddle (I, O), losses"


def set_out(b: Belt, s: Sheaves, begin: Start, **options: Any) -> tuple[Model, State, int]:
    """Model with these options, state at the start, plot steps of a revolution."""
    m = hybrid.model(b, s, **options)
    q_R, u_R = ring_set.placed(m.ring, begin)
    v = np.hypot(begin.u[:, 0], begin.u[:, 1]).mean()
    x = hybrid.state(*begin._replace(q_R=q_R, u_R=u_R)[:7], n_k=len(s.A) - 1)
    return m, x, round(b.N_E * b.t_R / v / PLOT)


def start(case: str, row: int, **changes: Any) -> tuple[Model, State, NDArray[np.float64], int]:
    """Model, state at the start, boundary values of a plot step, plot steps of a revolution; `changes` of the belt."""
    c = UNIT.get_case(case)
    b, s = belt(UNIT, N_E0=c.N_E0, N_E=220, N_B=changes.pop("N_B", None)), sheaves(UNIT)
    s = s._replace(multiplier=s.multiplier * changes.pop("compliance", 1.0))
    b = b._replace(**changes)
    first, values = boundary_at(c, np.array([0.0, 1.0]), row)
    m, x, revolution = set_out(b, s, start_state(b, s, Boundary(*first), c.i_r))
    return m, x, values, revolution


def go(scheme: str, m: Model, x: State, values: NDArray[np.float64], frames: int, finer: int = 1) -> Frames:
    """So many plot steps, at the step of the scheme divided by `finer`."""
    run, steps = SCHEMES[scheme]
    out, done = run(m, x, np.broadcast_to(values, (frames + 1, 7)), finer * steps, PLOT / (finer * steps))
    assert done == frames
    return out


def copy(x: State) -> State:
    return State(*(a.copy("K") for a in x))


def thrust_ratio(out: Frames) -> float:
    force = out.pulley[:, :, 1].mean(axis=0)
    return float(force[0] / force[1])


def energy() -> None:
    """Residual over a revolution that follows one revolution of the multirate scheme."""
    cases = [("MED", 0), ("OD", 0), ("OD-SpiRun", 0), ("OD-KpKs", 0), ("LOW-SpiRun", 0), ("LOW", 0), ("MED", 3)]
    for case, row in cases:
        m, x, values, revolution = start(case, row)
        go("multirate", m, x, values, revolution)
        for scheme in SCHEMES:
            y = copy(x)
            go(scheme, m, y, values, 30)
            rest, losses, throughput = hybrid.residual(go(scheme, m, y, values, revolution + 1))
            print(
                f"{case} {row} {scheme}: {rest / throughput:.1e} of the throughput, {rest / losses:.1e} of the losses"
            )


def peaks(m: Model, out: Frames, field: NDArray[np.float64]) -> list[float]:
    """Peak over the azimuth, in cells of 5 degrees, of the time mean of `field` (n, N_E), per pulley."""
    found = []
    for x_p in (m.belt.d_A, 0.0):
        x, y = out.q[..., 0] - x_p, out.q[..., 1]
        on = (np.abs(x) < 0.5 * m.belt.d_A) & (np.hypot(x, y) < m.sheaves.r_max + m.belt.h_S)
        angle = np.digitize(np.arctan2(y, x * (1.0 if x_p else -1.0))[on], np.radians(np.arange(-130, 131, 5)))
        total, count = np.bincount(angle, field[on], 54), np.bincount(angle, minlength=54)
        found.append(float((total[count > 200] / count[count > 200]).max()))
    return found


def quantities(scheme: str, finer: int, m: Model, x: State, values: NDArray[np.float64], n: int) -> list[float]:
    """Thrust ratio, speed ratio, tension, peaks of flank, push and saddle (I, O) and losses over n plot steps."""
    out = go(scheme, m, x, values, n, finer)
    speed = out.sd[:, :, 3].mean(axis=0)
    push = out.joint[..., :3].sum(axis=-1)
    found = [thrust_ratio(out), speed[0] / speed[1], out.tension.mean()]
    found += [p for f in (out.flank[..., 0], push, out.saddle[..., 0]) for p in peaks(m, out, f)]
    return [*found, out.work[:, len(hybrid.INPUTS) :].sum()]


def kicked(x: State, seed: int) -> State:
    """A copy of the state with the elements' velocities changed by 1 mm/s at random."""
    y = copy(x)
    y.u[:, :2] += 1e-3 * np.random.default_rng(seed).standard_normal((len(y.u), 2))
    return y


def schemes() -> None:
    """Five revolutions, after two of settling and one that is left out; the standard error is that of their mean."""
    print("percent of the explicit scheme:", COLUMNS)
    for case, row in (("MED", 2), ("MED", 3), ("LOW", 0)):
        m, x, values, revolution = start(case, row)
        go("explicit", m, x, values, 2 * revolution)
        reference = None
        for scheme, finer, again in (
            ("explicit", 1, False),
            ("explicit", 1, True),
            ("explicit", 2, False),
            ("multirate", 1, False),
            ("multirate", 2, False),
        ):
            y = kicked(x, 1) if again else copy(x)
            table = np.array([quantities(scheme, finer, m, y, values, revolution) for _ in range(6)][1:])
            mean, error = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(table))
            reference = mean if reference is None else reference
            name = f"{case} {row} {scheme} / {finer}{' kicked' if again else ''}"
            print(name, np.round(100 * (mean / reference - 1), 2), "+-", np.round(100 * error / reference, 2))


def ensemble() -> None:
    """OD from eight starts, four revolutions each after two of settling; the standard error is that of the starts."""
    b = belt(UNIT)
    damped = {name: 8.0 * getattr(b, name) for name in ("d_R", "d_T", "d_B", "d_PH")}
    found: dict[str, list[NDArray[np.float64]]] = {}
    for seed in range(8):
        for scheme, finer, changes in (
            ("explicit", 1, {}),
            ("explicit", 2, {}),
            ("explicit", 2, damped),
            ("multirate", 1, {}),
            ("multirate", 2, {}),
        ):
            m, x, values, revolution = start("OD", 0, **changes)
            y = kicked(x, seed)
            go(scheme, m, y, values, 2 * revolution, finer)
            rows = np.array([quantities(scheme, finer, m, y, values, revolution) for _ in range(4)])
            name = f"{scheme} / {finer}{', joints damped eightfold' if changes else ''}"
            found.setdefault(name, []).append(rows.mean(axis=0))
            print(f"{name}, start {seed}:", np.round(rows.mean(axis=0), 4), "push I", np.round(rows[:, 5]), flush=True)
    print("percent of the explicit scheme:", COLUMNS)
    reference = np.mean(found["explicit / 1"], axis=0)
    for name, members in found.items():
        error = np.std(members, axis=0, ddof=1) / np.sqrt(len(members)) / reference
        mean = np.mean(members, axis=0) / reference - 1
        print(name, np.round(100 * mean, 2), "+-", np.round(100 * error, 2))


def at_point(
    at: tuple[float, float, float, float], changes: dict[str, Any]
) -> tuple[Model, State, NDArray[np.float64], int]:
    """As `start`, of i, speed of the primary [rpm], xi and F_O [N]."""
    i, rpm, xi, F_O = at
    b, s = belt(UNIT)._replace(**changes), sheaves(UNIT)
    omega_I = rpm * np.pi / 30
    begin, M_O = start_of(b, s, Point(i, omega_I, xi, F_O))
    m, x, revolution = set_out(b, s, begin)
    return m, x, np.array([RATE, 0.0, FORCE, F_O, omega_I, TORQUE, M_O]), revolution


def revolution_of(
    scheme: str, m: Model, x: State, values: NDArray[np.float64], revolution: int, finer: int
) -> list[float]:
    """Thrust ratio, slip and losses [W] over one revolution."""
    out = go(scheme, m, x, values, revolution, finer)
    radius = snapshots(m, out, PLOT / (finer * SCHEMES[scheme][1])).radius - m.belt.h_off
    ratio, speed = np.mean(radius[:, 1] / radius[:, 0]), out.sd[:, :, 3].mean(axis=0)
    loss = out.work[:, len(hybrid.INPUTS) :].sum() / (revolution * PLOT)
    return [thrust_ratio(out), float(1.0 - ratio * speed[1] / speed[0]), float(loss)]


def point(scheme: str, at: tuple[float, float, float, float], finer: int) -> None:
    """Means over five revolutions after twelve, and over three before."""
    m, x, values, revolution = at_point(at, {})
    rows = [revolution_of(scheme, m, x, values, revolution, finer) for _ in range(17)]
    thrust, slip, loss = np.mean(rows[-5:], axis=0)
    before, slid, lost = np.mean(rows[-8:-5], axis=0)
    print(
        f"i {at[0]}, {at[1]} rpm, xi {at[2]}, {at[3] / 1e3:.0f} kN, {scheme} / {finer}: "
        f"thrust ratio {thrust:.4f} ({before:.4f} before), "
        f"slip {slip:.2%} ({slid:.2%}), losses {loss:.1f} W ({lost:.1f})",
        flush=True,
    )


def points() -> None:
    """Fast and slow belts, both schemes, and half the step of the multirate one."""
    for at in (
        (0.47, 6000, 0.3, 15e3),
        (0.6, 4500, -0.2, 12e3),
        (1.0, 6000, 0.4, 15e3),
        (2.0, 6000, 0.4, 20e3),
        (0.6, 1500, 0.5, 12e3),
        (1.8, 1500, 0.5, 20e3),
        (1.6, 900, 0.6, 25e3),
    ):
        for scheme, finer in (("explicit", 1), ("multirate", 1), ("multirate", 2)):
            point(scheme, at, finer)


SPEEDS = (2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5)  # m/s
CHOSEN = SPEEDS[3]
STARTS = 3


POINTS = (
    (0.6, 2000, 0.05, 15e3),
    (1.0, 2000, 0.05, 15e3),
    (2.0, 2500, 0.05, 20e3),
    (0.6, 1500, 0.5, 12e3),
    (1.0, 4000, 0.4, 15e3),
    (2.0, 4000, 0.4, 20e3),
    (0.6, 4000, -0.2, 12e3),
    (1.6, 900, 0.6, 25e3),
    (1.8, 1500, 0.5, 20e3),
    (0.47, 6000, 0.3, 15e3),
)


def v_mu(file: str) -> None:
    """Multirate scheme. A point settles for three revolutions at 0.2 mm/s; from there each speed, kicked, for two, and
    means are over three; one start of 0.2 mm/s with half the step."""
    path = Path(file)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: dict[str, list[float]] = dict(json.loads(line) for line in lines)
    runs = [(v, 1, seed) for seed in range(STARTS) for v in SPEEDS]
    runs.append((CHOSEN, 2, 0))
    for finer in (1, 2):
        for at in POINTS:
            missing = [r for r in runs if r[1] == finer and f"{at} {r}" not in found]
            if not missing:
                continue
            m, x, values, revolution = at_point(at, {"v_mu": CHOSEN})
            go("multirate", m, x, values, 3 * revolution)
            for run in missing:
                n = m._replace(friction=m.friction._replace(v_mu=run[0]))
                y = kicked(x, run[2])
                began = time.process_time()
                rows = [revolution_of("multirate", n, y, values, revolution, finer) for _ in range(5)][2:]
                cost = 1e6 * (time.process_time() - began) / (5 * revolution * finer * SCHEMES["multirate"][1])
                found[f"{at} {run}"] = [*np.mean(rows, axis=0).tolist(), cost]
                with path.open("a", encoding="utf-8") as out:
                    out.write(json.dumps([f"{at} {run}", found[f"{at} {run}"]]) + "\n")
    told(found)


def told(found: dict[str, list[float]]) -> None:
    """Thrust ratio, slip and losses of each point over v_mu: mean and standard error of the starts."""
    print("i, rpm, xi, F_O | v_mu [mm/s], step divided by | thrust ratio | slip [%] | losses [W] | step [us]")
    for at in POINTS:
        for finer in (1, 2):
            for v in SPEEDS:
                rows = [found[k] for seed in range(STARTS) if (k := f"{at} {(v, finer, seed)}") in found]
                if rows:
                    mean = np.mean(rows, axis=0)
                    error = np.std(rows, axis=0, ddof=min(1, len(rows) - 1)) / np.sqrt(len(rows))
                    cells = [
                        f"{scale * a:.{n}f} +- {scale * e:.{n}f}"
                        for a, e, scale, n in zip(mean, error, (1, 100, 1), (4, 3, 1), strict=False)
                    ]
                    print(at, "|", 1e3 * v, finer, "|", " | ".join(cells), "|", f"{np.min(rows, axis=0)[3]:.1f}")


def steps() -> None:
    """Thrust ratio of a revolution from one start, and its last third."""
    for case, row in (("OD", 0), ("MED", 3), ("LOW", 0)):
        for scheme, number, n_R in (
            ("explicit", 200, 1),
            ("explicit", 100, 1),
            ("multirate", 50, 2),
            ("multirate", 40, 2),
        ):
            m, x, values, revolution = start(case, row)
            out, done = hybrid.run(m, x, np.broadcast_to(values, (revolution + 1, 7)), number, PLOT / number, n_R=n_R)
            assert done == revolution
            late = hybrid.Frames(*[a[2 * revolution // 3 :] for a in out])
            print(
                f"{case} {scheme} {1e6 * PLOT / number:g} us: {thrust_ratio(out):.4f}, {thrust_ratio(late):.4f}",
                flush=True,
            )


def sensitivity() -> None:
    """Thrust ratio of three revolutions, the first 0.3 left out."""
    c_el = belt(UNIT).c_el
    changes: list[dict[str, Any]] = [
        {},
        {"compliance": 2.0},
        {"compliance": 4.0},
        {"compliance": 4.0, "mu": 0.11},
        {"mu": 0.11},
        {"c_el": 2.0 * c_el},
        {"mu_R": 0.02},
        {"mu_R": 0.10},
        {"v_mu": 0.01},
        {"N_B": 52},
    ]
    for change in changes:
        for case in ("OD", "LOW"):
            m, x, values, revolution = start(case, 0, **change)
            go("explicit", m, x, values, round(0.3 * revolution))
            ratios = [thrust_ratio(go("explicit", m, x, values, revolution)) for _ in range(3)]
            print(change, case, np.round(ratios, 4))


@njit(parallel=True)
def divided(a: Any, n: int, repeat: int) -> None:
    for _ in range(repeat):
        for k in prange(2):
            s = 0.0
            for i in range(n):
                s += 1.0 / (1.0 + i + a[k])
            a[k] += 1e-9 * s


@njit
def undivided(a: Any, n: int, repeat: int) -> None:
    for _ in range(repeat):
        for k in range(2):
            s = 0.0
            for i in range(n):
                s += 1.0 / (1.0 + i + a[k])
            a[k] += 1e-9 * s


def threads() -> None:
    """Best and median of 15 times 300 regions."""
    set_num_threads(2)
    for n in (0, 2_500, 10_000, 40_000):
        line = []
        for work in (undivided, divided):
            work(np.zeros(2), n, 2)
            times = []
            for _ in range(15):
                began = time.perf_counter()
                work(np.zeros(2), n, 300)
                times.append((time.perf_counter() - began) / 300 * 1e6)
            line.append(f"{min(times):.1f} us, median {np.median(times):.1f}")
        print(f"one thread {line[0]}; divided {line[1]}")


def same_penetration(unit: Parameters, run: Run) -> list[float]:
    """c_el [N/m] by pulley with which an element sinks into a rigid sheave as far as it does, in the mean over the arc,
    with its own into one that deflects under an even load (`initial.sheaves_at`)."""
    made = prepare(unit, run)
    b, s, g = made.model.belt, sheaves(unit), made.start.steady.geometry
    found = []
    for r, wrap in ((g.r_I, g.wrap_I), (g.r_O, g.wrap_O)):
        C = influence_numbers(s, r - (b.h_P + 0.5 * b.h_ring - b.y_P))
        mean = float(C @ np.sinc(np.arange(len(C)) * wrap / (2.0 * np.pi)) ** 2)
        found.append(b.N_E / b.N_E0 / (1.0 / b.c_el + wrap * (r - b.h_off) / b.t_R * mean))
    return found


def settled(unit: Parameters, run: Run) -> dict[str, float]:
    """Means over the last passage of the belt in a run."""
    with tempfile.TemporaryDirectory() as folder:
        simulate(unit, run, Path(folder) / "run.h5", unit.text)
        with open_run(Path(folder) / "run.h5") as file:
            return {name: float(values[STEADY]) for name, values in summary(file).items()}


def decoupled(name: str) -> None:
    unit = load_parameters(name)
    for case in ("OD", "LOW"):
        run = Run(case, Case(case, seed=1), Settings(law="decoupled"), settle=2.3, plot_step=PLOT)
        each = same_penetration(unit, run)
        for c_el in (unit.contacts.c_el, 2.0 / (1.0 / each[0] + 1.0 / each[1]), *each):
            other = unit.model_copy(update={"contacts": unit.contacts.model_copy(update={"c_el": c_el})})
            print(f"{case}, c_el {c_el:.3g} N/m: thrust ratio {settled(other, run)['thrust_ratio']:.4f}", flush=True)


def stops() -> None:
    for case, row in (("MED", 3), ("OD", 0), ("LOW", 0)):
        run = Run(case, Case(case, row), settle=2.3, plot_step=PLOT)
        a, old = settled(UNIT, run), UNIT.get_case(case)
        inputs = {"rate_I": 0.0, "rate_O": 0.0, "F_CO": a["F_O"], "M_I": -a["M_I"], "omega_O": a["omega_O"]}
        new = old.model_copy(update={"inputs": inputs, "M_O": (), "xi": ()})
        b = settled(UNIT.model_copy(update={"case": (new,)}), replace(run, start=Case(case)))
        print(case, *(f"{k} {a[k]:.5g} -> {b[k]:.5g}" for k in ("omega_I", "F_I", "F_O", "M_O")), flush=True)


def scatter(file: Any, rows: slice) -> list[float]:
    """Standard deviations of the bearing forces [N] (x and y of the primary, x and y of the secondary), of the belt's
    torque on the secondary [N m] and of its part below 200 Hz; amplitudes of the first order of element passing [N]."""
    force, torque = bearing_forces(file, rows), file["pulleys/belt_torque"][rows, 1]
    waves = np.fft.rfft(torque - torque.mean())
    slow = np.fft.irfft(np.where(np.fft.rfftfreq(torque.size, PLOT) < 200.0, waves, 0.0), torque.size)
    return [*force.std(axis=0).ravel(), torque.std(), slow.std(), *passing_orders(file, rows)[1]]


def modes() -> None:
    """MED, 74.58 N m, multirate; means over the last passage of 2.3 revolutions; two starts of the full rod."""
    factor = balanced(belt(UNIT, N_E0=UNIT.get_case("MED").N_E0))
    with tempfile.TemporaryDirectory() as folder:
        for name, changes, seed in (
            ("beam", {}, 0),
            ("full", {"rod": "cosserat"}, 0),
            ("full, kicked", {"rod": "cosserat"}, 1),
            *((f"{n} modes", {"rod": "projected", "modes": n, "snapshots": "full.h5"}, 0) for n in (5, 10, 20, 40)),
        ):
            ring = UNIT.ring.model_copy(update={"rotatory_factor": factor} | changes)
            unit = UNIT.model_copy(update={"ring": ring, "folder": Path(folder)})
            settings = Settings(scheme="multirate")
            run = Run("MED", Case("MED", 3, seed=seed), settings, settle=2.3, plot_step=PLOT, observe=("elements",))
            path = Path(folder) / f"{name}.h5"
            did, made = simulate(unit, run, path, unit.text), prepare(unit, run)
            with open_run(path) as file:
                of = {key: float(values[STEADY]) for key, values in summary(file).items()}
                rows = slice(-round(float(file.attrs["revolution"]) / PLOT), None)
                tension, step = file["ring/tension"][rows], float(file.attrs["step"])
            largest, n = 1e6 * ring_set.largest_step(made.model.ring), ring_steps("multirate", made.model.ring, step)
            print(f"{name}: {n} steps of the ring, of at most {largest:.3g} us, in {1e6 * step:.2f} us;", end=" ")
            print(f"{1e6 * did.step:.1f} us a step; thrust ratio {of['thrust_ratio']:.4f}", end=", ")
            print(f"slip {100 * of['slip']:.3f} %, losses {of['loss']:.1f} W", end=", ")
            print(f"unaccounted {of['unaccounted']:.2f} W", end=", ")
            print(f"tension {tension.mean():.0f} N +- {tension.std(axis=0).mean():.0f} N", flush=True)
            if name == "full":
                q_0, q, Q = fields(made.model.ring, made.start, path)
                root = np.sqrt(mass(planar(made.model.ring)) / mass(planar(made.model.ring))[::3].sum() / len(q))
                for frame, X in (("material", q - q.mean(axis=0)), ("fixed in space", Q - q_0)):
                    share = np.linalg.svd(X * root, compute_uv=False) ** 2
                    left = 1e6 * np.sqrt(np.maximum(share.sum() - np.cumsum(share), 0.0))[[4, 9, 19, 39, 59]]
                    print(
                        f"{frame}: RMS {1e6 * np.sqrt(share.sum()):.4g} um, without 5, 10, 20, 40, 60 modes {left} um"
                    )


def noise(starts: str = "4") -> None:
    """LOW, 0.2 s with the multirate scheme; the last half, mean and standard deviation over the starts."""
    table = {"mu": 0.09, "v_mu": "0.2 mm/s"}
    laws = {
        "Coulomb": CoulombTable(law="coulomb", **table),
        "Stribeck": StribeckTable(law="stribeck", mu_0=0.12, v_S="10 mm/s", **table),
    }
    print("sd of x_I, y_I, x_O, y_O [N], torque, its part below 200 Hz [N.m]; first order of passing, I, O [N]")
    for belt_model in ("hybrid", "spatial"):
        wide = {"model": "spatial", "flank_points": 2, "before": 1.0} if belt_model == "spatial" else {}
        settings = Settings(scheme="multirate", **wide)
        for name, law in laws.items():
            unit = UNIT.model_copy(update={"contacts": UNIT.contacts.model_copy(update={"friction": law})})
            found = []
            for seed in range(1, int(starts) + 1):
                run = Run("LOW", Case("LOW", seed=seed), settings, duration=0.2, plot_step=PLOT, observe=("elements",))
                with tempfile.TemporaryDirectory() as folder:
                    simulate(unit, run, Path(folder) / "run.h5", unit.text)
                    with open_run(Path(folder) / "run.h5") as file:
                        found.append(scatter(file, slice(1000, 2000)))
                print(belt_model, name, seed, np.round(found[-1], 1), flush=True)
            print(
                belt_model, name, np.round(np.mean(found, axis=0), 1), "+-", np.round(np.std(found, axis=0, ddof=1), 1)
            )


if __name__ == "__main__":
    known = (energy, schemes, ensemble, points, sensitivity, v_mu, steps, threads, decoupled, stops, modes, noise)
    studies = {f.__name__: f for f in known}
    studies[sys.argv[1]](*sys.argv[2:])
