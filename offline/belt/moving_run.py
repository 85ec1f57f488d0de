"""A unit run as a belt that moves across its line: `rtcvt.offline.belt.moving` with pulleys, loads and slip.

Pulley i transfers the force ``f = mu_i P_i g(s/dv)`` along the line, with its normal force P_i, the slip
``s = sigma r w - v`` and Threlfall's smooth sign g (the slip approach of Lorenz and others, who print no law)::

    J w' = tau + tau_load(w) - b w - M,    M = sigma r f

One tension holds the whole belt, so spans differ by no torque, and friction reaches mu P, not Euler's limit. Steps are
those of the Rosenbrock method ROS2 (Verwer, Spee, Blom and Hundsdorfer 1999), of second order whatever its matrix is;
here that of (6) and that of slip, without what couples them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from rtcvt.belt.unit import BeltUnit, MovingModel
from rtcvt.errors import InputError
from rtcvt.kind import Progress
from rtcvt.offline.belt import moving
from rtcvt.offline.belt.rigid_elements import scenario_inputs
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import Scenario
from rtcvt.simulate import number_of_steps

Array = NDArray[np.float64]

GAMMA = 1.0 - 1.0 / np.sqrt(2.0)  # with which ROS2 is L-stable
SAMPLE = 1e-3  # [s]
LIFTED = 0.98  # m v^2 by the tension, from where the belt has left its pulleys
LOSSES = ("bearing", "slip", "belt", "contact")


@dataclass(frozen=True)
class Drive:
    """Equations of a unit; (n,) arrays of its pulleys. A state is q, q', v, and the speeds of the pulleys."""

    unit: BeltUnit
    belt: moving.MovingBelt
    contact: moving.Contact
    start: Array  # state at rest
    mu: Array
    dv: float
    turning: Array  # sigma r [m]
    given: NDArray[np.bool_]  # which speeds are inputs
    J: Array
    b: Array


def build(unit: BeltUnit) -> Drive:
    """Equations of a unit, and its equilibrium with the pretension in the belt.

    Constants of the contact that [moving] does not give are those of [ancf] or [elements].

    Raises
    ------
    InputError
        The unit has a tensioner, a decoupler or a patch, or nothing that gives the contact.
    ArithmeticError
        No equilibrium was found.
    """
    for name, pulley in unit.pulleys.items():
        if pulley.arm is not None or pulley.decoupler is not None:
            what = "arm" if pulley.arm is not None else "decoupler"
            raise InputError(unit.source, f"pulleys.{name}.{what}", None, "none: --model moving has fixed pulleys")
    if unit.patch:
        raise InputError(unit.source, "patch", None, "none: --model moving has one friction of each pulley")
    values, path = unit.moving or MovingModel(), unit.path()
    k, d, mu = values.k, values.d, unit.hybrid.mu if unit.hybrid is not None else None
    if unit.ancf is not None:
        k, d, mu = k or unit.ancf.k_c * unit.belt.width, d or unit.ancf.d_c * unit.belt.width, mu or unit.ancf.mu
    elif unit.elements is not None:
        length = unit.rest_length() / unit.elements.elements
        k, d, mu = k or unit.elements.c_2 / length, d or unit.elements.b / length, mu or unit.elements.mu
    if not k or mu is None:
        raise InputError(unit.source, "moving.k", k, "the contact's stiffness, or a table [ancf] or [elements]")
    functions = values.functions or int(np.clip(np.ceil(path.length / (0.2 * path.radius.min())), 60, 300))
    contact = moving.Contact(k, d or 0.0)
    T = unit.belt.pretension or unit.belt.EA * (path.length / (unit.belt.length or path.length) - 1.0)
    stretch, F_0 = 1.0 + T / unit.belt.EA, T
    basis = moving.spline_basis(path.length, functions)
    for _ in range(20):  # pulleys yield: the line's own tension is larger than that of the belt
        belt = moving.moving_belt(
            path, basis, m=unit.belt.mass / stretch, EA=unit.belt.EA / stretch, EI=unit.belt.EI, F_0=F_0,
            DA=unit.belt.damping / stretch, DI=unit.belt.bending_damping, height=unit.belt.height,
        )  # fmt: skip
        rest = moving.steady(belt, contact)
        if abs(rest.tension[0] - T) < 1e-8 * T:
            break
        F_0 *= T / rest.tension[0]
    else:
        raise ArithmeticError(f"{unit.source}: no equilibrium with a pretension of {T:g} N")
    pulleys = list(unit.pulleys.values())
    start = np.concatenate([rest.q, np.zeros(functions + 1 + len(pulleys))])
    return Drive(
        unit, belt, contact, start, np.array(unit.friction_of(mu)), values.dv, path.sigma * path.radius,
        np.array([p.flange == "speed" for p in pulleys]), np.array([p.inertia for p in pulleys]),
        np.array([p.friction for p in pulleys]),
    )  # fmt: skip


@dataclass(frozen=True)
class Point:
    """What a state gives: rates (2 N + 1 + n,), forces [N] and torques [N m] of the pulleys, powers of `LOSSES` [W]."""

    rates: Array
    normal: Array
    force: Array
    slope: Array  # of `force` over slip [N s/m]
    load: Array
    load_slope: Array
    power: Array
    yielding: Array  # cosine^2 of the push where belt and pulleys touch, else 0


def evaluate(drive: Drive, y: Array, torque: Array, turned: Array) -> Point:
    """Rates of a state under torques [N m] of the flanges, and the given speeds' rates [rad/s^2]."""
    belt, n = drive.belt, drive.mu.size
    N = (y.size - 1 - n) // 2
    q, rate, v, w = y[:N], y[N : 2 * N], float(y[2 * N]), y[2 * N + 1 :]
    depth, cosine, sine, near = moving.depth_in_pulleys(belt, q)
    pressure, approach = moving.contact_pressure(belt, drive.contact, q, rate, v, depth, cosine, sine)
    normal = np.asarray(np.bincount(near, belt.weight * pressure, minlength=n), dtype=np.float64)
    slip = drive.turning * w - v
    x = np.clip(slip / drive.dv, -1.0, 1.0)
    force = drive.mu * normal * x * (1.5 - 0.5 * x * x)
    slope = drive.mu * normal * 1.5 * (1.0 - x * x) / drive.dv
    moments = drive.turning * force
    q_rates, v_rate = moving.accelerations(belt, q, rate, v, moments, drive.contact)
    load, load_slope = np.zeros(n), np.zeros(n)
    for i, pulley in enumerate(drive.unit.pulleys.values()):
        if pulley.load is not None:
            at, value = np.array(pulley.load.w), np.array(pulley.load.tau)
            k = int(np.clip(np.searchsorted(at, w[i]) - 1, 0, at.size - 2))
            load_slope[i] = (value[k + 1] - value[k]) / (at[k + 1] - at[k])
            load[i] = value[k] + load_slope[i] * (w[i] - at[k])
    w_rates = np.where(drive.given, turned, (torque + load - drive.b * w - moments) / drive.J)
    longer = float((belt.C[2] @ q - belt.K[0]) @ rate)
    bent = belt.DI * float(rate @ (belt.C[4] @ rate + v * (belt.C[5] @ q - belt.K[3])))
    pushed = np.where(pressure > 0.0, (pressure - drive.contact.k * depth) * approach, 0.0)
    power = np.array([
        np.sum(drive.b * w * w), np.sum(force * slip), belt.DA / belt.path.length * longer**2 + bent,
        np.sum(belt.weight * pushed),
    ])  # fmt: skip
    rates = np.concatenate([rate, q_rates, [v_rate], w_rates])
    return Point(rates, normal, force, slope, load, load_slope, power, np.where(pressure > 0.0, cosine**2, 0.0))


def step(drive: Drive, y: Array, first: Point, h: float, torque: Array, turned: Array) -> tuple[Array, Array]:
    """State after a step of `h` [s] from the `first` point, with the torque at its end, and the predicted one."""
    belt, n, g = drive.belt, drive.mu.size, GAMMA * h
    N = (y.size - 1 - n) // 2
    q, v = y[:N], float(y[2 * N])
    gradient = belt.C[2] @ q - belt.K[0]
    touching = (belt.w[0] * (belt.weight * first.yielding)[:, None]).T @ belt.w[0]
    F = belt.F_0 + belt.EA * moving.elongation(belt, q) / belt.path.length
    outer = np.outer(gradient, gradient) / belt.path.length
    K = (F - belt.m * v * v) * belt.C[2] + belt.EI * belt.C[4] + belt.DI * v * belt.C[5] + belt.EA * outer
    K += drive.contact.k * touching
    D = 2.0 * belt.m * v * belt.C[1] + belt.DI * belt.C[4] + belt.DA * outer + drive.contact.c * touching
    M = belt.m * belt.C[0]
    lateral = lu_factor(M + g * D + g * g * K, check_finite=False)
    slips = np.zeros((n + 1, n + 1))
    mass = belt.m * belt.path.length
    slips[0, 0], slips[0, 1:] = -first.slope.sum() / mass, first.slope * drive.turning / mass
    slips[1:, 0] = drive.turning * first.slope / drive.J
    slips[1:, 1:] = np.diag((first.load_slope - drive.b - drive.turning**2 * first.slope) / drive.J)
    slips[1:][drive.given] = 0.0
    along = lu_factor(np.eye(n + 1) - g * slips, check_finite=False)

    def solved(r: Array) -> Array:
        fast = lu_solve(lateral, M @ r[N : 2 * N] - g * (K @ r[:N]), check_finite=False)
        return np.concatenate([r[:N] + g * fast, fast, lu_solve(along, r[2 * N :], check_finite=False)])

    one = solved(first.rates)
    predicted = y + h * one
    two = solved(evaluate(drive, predicted, torque, turned).rates - 2.0 * one)
    return y + h * (1.5 * one + 0.5 * two), predicted


def simulate(drive: Drive, scenario: Scenario, h: float | None, progress: Progress) -> Recording:
    """Run over a scenario from rest, sampled at `SAMPLE`.

    Signals: by pulley ``.w``, ``.M`` (of the belt on it), ``.N`` and ``.slip``; by span ``A_B.x`` (lateral displacement
    of its middle); ``belt.v``, ``belt.F``; ``belt.w`` (m, k) at k equal steps of the taut line; ``energy.*``.

    Raises
    ------
    InputError
        The scenario does not fit the unit.
    ArithmeticError
        The belt runs as fast as waves in it, which lifts it off its pulleys; or the motion grew without bound: a
        smaller step is needed.
    """
    unit, belt, n = drive.unit, drive.belt, drive.mu.size
    h = h or (unit.moving or MovingModel()).step
    samples = number_of_steps(max(scenario.duration, SAMPLE), SAMPLE, f"scenario '{scenario.name}'")
    inner = max(1, round(SAMPLE / h))
    h = SAMPLE / inner
    times: Array = h * np.arange(samples * inner + 1, dtype=float)
    knots, values = scenario_inputs(unit, scenario, times)
    inputs = np.stack([np.interp(times, knots, column) for column in values.T], axis=1)
    torques, speeds = np.where(drive.given, 0.0, inputs), np.where(drive.given, inputs, 0.0)
    turned = np.diff(speeds, axis=0, append=speeds[-1:]) / h
    N = (drive.start.size - 1 - n) // 2
    places = belt.path.length * np.arange(N) / N
    shapes = moving.spline_basis(belt.path.length, N).values(places, 0)
    middle = 0.5 * (belt.path.knots[:-1:2] + belt.path.knots[1::2])
    across = moving.spline_basis(belt.path.length, N).values(middle, 0)

    y = drive.start.copy()
    y[2 * N + 1 :][drive.given] = speeds[0][drive.given]
    point = evaluate(drive, y, torques[0], turned[0])
    work, lost, rows = 0.0, np.zeros(len(LOSSES)), []

    def put_in(p: Point, k: int) -> float:
        w = y[2 * N + 1 :]
        flange = np.where(drive.given, drive.turning * p.force + drive.b * w - p.load + drive.J * turned[k], torques[k])
        return float(np.sum((flange + p.load) * w))

    for k in range(samples * inner + 1):
        if k % inner == 0:
            q, rate, v, w = y[:N], y[N : 2 * N], float(y[2 * N]), y[2 * N + 1 :]
            F = belt.F_0 + (belt.EA * moving.elongation(belt, q) + belt.DA * float((belt.C[2] @ q - belt.K[0]) @ rate)
                            ) / belt.path.length  # fmt: skip
            stored = moving.energy(belt, q, rate, v, drive.contact) + 0.5 * float(np.sum(drive.J * w * w))
            rows.append(np.concatenate([
                w, -drive.turning * point.force, point.normal, drive.turning * w - v, across @ q,
                [v, F, stored, work], lost, shapes @ q,
            ]))  # fmt: skip
            progress(scenario.name, k // inner, samples)
        if k == samples * inner:
            break
        before = put_in(point, k)
        lost += 0.5 * h * point.power
        y, _ = step(drive, y, point, h, torques[k + 1], turned[k])
        y[2 * N + 1 :][drive.given] = speeds[k + 1][drive.given]
        point = evaluate(drive, y, torques[k + 1], turned[min(k + 1, samples * inner - 1)])
        if not np.isfinite(point.rates).all():
            raise ArithmeticError(f"{unit.source}: the motion has no bound at {times[k]:g} s; take a smaller --step")
        F = belt.F_0 + belt.EA * moving.elongation(belt, y[:N]) / belt.path.length
        if belt.m * y[2 * N] ** 2 > LIFTED * F:
            raise ArithmeticError(
                f"{unit.source}: at {times[k]:g} s the belt runs at {abs(y[2 * N]):.4g} m/s, as fast as waves in it at "
                f"its tension of {F:.4g} N: inertia lifts it off its pulleys; more pretension or less speed"
            )
        work += 0.5 * h * (before + put_in(point, k))
        lost += 0.5 * h * point.power
    return _recording(unit, scenario, h, np.array(rows))


def _recording(unit: BeltUnit, scenario: Scenario, h: float, table: Array) -> Recording:
    names = list(unit.pulleys)
    columns = [
        *((f"{n}.w", "rad/s", "speed") for n in names), *((f"{n}.M", "N.m", "torque of the belt") for n in names),
        *((f"{n}.N", "N", "normal force") for n in names), *((f"{n}.slip", "m/s", "of the rim") for n in names),
        *((f"{s}.x", "m", "lateral displacement in the middle of the span") for s in unit.spans),
        ("belt.v", "m/s", "transport speed"), ("belt.F", "N", "tension"), ("energy.stored", "J", ""),
        ("energy.input", "J", "work of flanges and loads"), *((f"energy.{k}", "J", "dissipated") for k in LOSSES),
    ]  # fmt: skip
    found = {name: Signal(table[:, i], si, text) for i, (name, si, text) in enumerate(columns)}
    found["belt.w"] = Signal(table[:, len(columns) :], "m", "lateral displacement at equal steps of the taut line")
    about: dict[str, Any] = {"model": "moving", "unit": unit.name, "scenario": scenario.model_dump_json(), "step": h}
    return Recording(np.asarray(SAMPLE * np.arange(table.shape[0]), dtype=np.float64), found, about, unit.text)


def figures(unit: BeltUnit, scenario: Scenario, run: Recording, wall: float) -> dict[str, Any]:
    """The run in numbers; means are over its last fifth."""
    late = run.time >= 0.8 * run.time[-1]
    mean = {name: float(s.values[late].mean()) for name, s in run.signals.items()}
    names = list(unit.pulleys)
    moved = {s[:-2]: float(np.ptp(run.signals[s].values[late])) / 2.0 for s in run.signals if s.endswith(".x")}
    stored = run.signals["energy.stored"].values
    work = float(run.signals["energy.input"].values[-1])
    lost = sum(float(run.signals[f"energy.{k}"].values[-1]) for k in LOSSES)
    return {
        "unit": unit.name, "model": "moving", "scenario": scenario.name, "status": "complete",
        "time_s": float(run.time[-1]), "frames": int(run.time.size),
        "speed_rad_s": {n: mean[f"{n}.w"] for n in names}, "belt_torque_Nm": {n: mean[f"{n}.M"] for n in names},
        "normal_N": {n: mean[f"{n}.N"] for n in names}, "tension_N": mean["belt.F"], "v_m_s": mean["belt.v"],
        "amplitude_m": moved, "functions": run.signals["belt.w"].values.shape[1], "input_J": work,
        "unaccounted_J": float(stored[-1] - stored[0]) - work + lost, "computed_s": float(run.time[-1]), "wall_s": wall,
    }  # fmt: skip
