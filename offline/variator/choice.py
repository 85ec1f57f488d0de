"""Choice of further runs of a campaign, where a law is most uncertain, until its error is small enough.

Candidates are `CANDIDATES` further operating points of the plan's space, the same ones at each call, named
``chosen-000`` and so on: chosen runs are continued after an interruption. A Gaussian process (`process`) of the settled
states predicts them with the covariance K, and its spread s (`spread`) is the size of the errors there, which near
fronts is several times that by distances. With both, C_mn = K_mn s_m s_n/sqrt(V_m V_n) with V = diag(K) + noise^2, the
candidate with the largest variance is chosen. If the laws are wanted at the operating points of a recording
(`points_of`), the run n is chosen that reduces the variances at these m most, by ``sum_m C_mn^2/(C_nn + noise^2)``
(Cohn, Ghahramani and Jordan 1996, section 3). The information of a chosen run is subtracted, which needs no result; and
so on, for `BATCH` runs or a twentieth of the existing ones. One of `EVEN` is not chosen but the next candidate in
order.

The expected error over the plan's space, of which the candidates are a sample, or over the wanted points is the root
mean square of s there, times the ratio of the cross-validated errors of the evenly drawn runs to their s: s is fitted
to shares of the errors, and a few large errors dominate a mean square (`calibration`).
"""

import logging
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.prepare import geometry_of
from rtcvt.offline.pushbelt.run.schedule import Point, Run
from rtcvt.offline.pushbelt.run.windows import F_REF
from rtcvt.offline.pushbelt.unit.parameters import Parameters, belt, sheaves
from rtcvt.offline.variator.alignment import MAX_SPEED_LOSS, Samples, load_samples
from rtcvt.offline.variator.campaign import Campaign, run_campaign
from rtcvt.offline.variator.laws import certainty, folds, places_of, ranges_of, usable
from rtcvt.offline.variator.plan import RANGES, Plan, Points, Space, names_of, runs_of
from rtcvt.offline.variator.process import Process, fit, posterior
from rtcvt.offline.variator.spread import spread
from rtcvt.recording import read_recording
from rtcvt.variator.capacity import capacity
from rtcvt.variator.regression import SMALL_SPEED_LOSS

_log = logging.getLogger("rtcvt")

Array = NDArray[np.float64]

CANDIDATES = 400
BATCH = 12
EVEN = 4  # one of so many candidates is never chosen, but run in its turn
MIN_STATES = 20  # settled states that a process needs
NAME = "chosen"
QUANTITIES = ("thrust ratio", "slip")
MAX_POINTS = 400  # largest number of wanted points
MIN_V = 0.5  # speed of the belt [m/s] below which points of a recording are left out


class Target(NamedTuple):
    """A quantity of `QUANTITIES`, and the error that is wanted: of the thrust ratio relative."""

    quantity: str
    error: float


def target_of(text: str) -> Target:
    """The target of a text such as ``thrust ratio 2 %``.

    Raises
    ------
    InputError
        Another quantity, or no percentage above 0.
    """
    found = re.fullmatch(r"\s*(.+?)\s+(\d+(?:\.\d*)?|\.\d+)\s*(?:%|points)\s*", text)
    if found is None or found[1] not in QUANTITIES or not float(found[2]) > 0.0:
        raise InputError("--until", "", text, " or ".join(f"'{q} 2 %'" for q in QUANTITIES))
    return Target(found[1], float(found[2]) / 100.0)


def with_candidates(plan: Plan) -> Plan:
    """The plan with its candidates: they settle and branch as its points do, over the whole space."""
    if plan.twin or NAME in [plan.points.name, *(p.name for p in plan.refine), *(t.name for t in plan.transient)]:
        raise InputError(plan.source, "", None, f"a plan without twins, and without runs named {NAME}, for --until")
    p = plan.points
    more = Points(name=NAME, number=CANDIDATES, force_factors=p.force_factors, settle=p.settle, mean=p.mean,
                  duration=p.duration, lead=p.lead, approach=p.approach)  # fmt: skip
    return plan.model_copy(update={"refine": (*plan.refine, more)})


def points_of(path: Path, parameters: Parameters, space: Space) -> Array:
    """Operating points (n, 4) of variators in a recording while their belts run; up to `MAX_POINTS`: i, xi, kappa, f.

    Raises
    ------
    InputError
        No recording, or none of a variator within the `space`.
    """
    recording, b = read_recording(path), belt(parameters)
    found = []
    for name in recording.signals:
        unit = name.removesuffix("belt.T_O")
        if unit != name and f"{unit}thrust.secondary" in recording.signals:
            i, T, v, F = (recording[unit + k] for k in ("ratio.i", "belt.T_O", "belt.v", "thrust.secondary"))
            xi = T * np.sign(v) / capacity(b.mu, np.cos(b.delta_0), F)
            bounds = ((i, space.ratio), (xi, space.torque_ratio), (F, space.clamping_force))
            inside = np.all([(low <= a) & (a <= high) for a, (low, high) in bounds], axis=0) & (np.abs(v) > MIN_V)
            found.append(np.column_stack([i, xi, b.m_star * v**2 / F, F / F_REF])[inside])
    rows = np.vstack(found) if found else np.empty((0, 4))
    if not len(rows):
        raise InputError("--use", "", str(path), "a recording of a variator that runs within the plan's space")
    return rows[np.unique(np.linspace(0, len(rows) - 1, MAX_POINTS).astype(int))]


def run_until(
    parameters: Parameters, plan: Plan, text: str, folder: Path, target: Target, use: Array | None = None, **how: Any
) -> tuple[Campaign, float]:
    """Run a plan, then chosen runs, until the `target` is met or no candidate is left.

    Parameters
    ----------
    parameters, plan, text, folder
        See `campaign.run_campaign`, as for all of `how`.
    use : (n, 4) array, optional
        Operating points at which the laws are wanted; by default the plan's space.

    Returns
    -------
    Campaign, float : the state, including chosen runs, and the expected error
    """
    larger, progress = with_candidates(plan), how.get("progress")
    every = []
    for run in runs_of(larger, parameters):
        every.append(run)
        if progress is not None:
            progress(f"{plan.name}: drawing candidates", len(every), len(names_of(larger)))
    candidates = [run for run in every if run.name.startswith(f"{NAME}-")]
    points = operating_points(candidates, parameters)
    wanted = {*names_of(plan), *(r.name for r in candidates if _begun(folder, r.name))}
    failed: dict[str, str] = {}
    while True:
        now = [run for run in every if run.name in wanted and run.name not in failed]
        state = run_campaign(parameters, parameters.text, plan, text, folder, runs=now, **how)
        failed |= state.failed
        left = np.array([run.name not in wanted for run in candidates])
        samples = load_samples([folder / f"{name}.h5" for name in state.done], slip=MAX_SPEED_LOSS)
        number = min(max(BATCH, len(state.done) // 20), int(left.sum()))
        in_turn = [p.name for p in (larger.points,) if p.least_load == 0.0 and not any(getattr(p, k) for k in RANGES)]
        error, which = _next(samples, points, use, left, number, target.quantity, tuple(in_turn))
        _log.info(f"{plan.name}: {target.quantity}, {100.0 * error:.3g} % expected after {len(state.done)} runs")
        if error <= target.error or not left.any():
            return state._replace(failed=failed), error
        wanted |= {candidates[k].name for k in which}


def _begun(folder: Path, name: str) -> bool:
    return any((folder / f"{name}.{ending}").exists() for ending in ("h5", "h5.partial"))


def operating_points(runs: list[Run], parameters: Parameters) -> Array:
    """Operating points (n, 4) of runs: i, xi, kappa, f."""
    b, s = belt(parameters), sheaves(parameters)
    found = []
    for run in runs:
        at = run.start
        assert isinstance(at, Point)
        v = at.omega_I * (geometry_of(b, s, at).r_I - b.h_off)
        found.append((at.ratio, at.xi, b.m_star * v**2 / at.F_O, at.F_O / F_REF))
    return np.array(found)


def _next(
    samples: Samples,
    points: Array,
    use: Array | None,
    left: NDArray[np.bool_],
    number: int,
    quantity: str,
    even: tuple[str, ...],
) -> tuple[float, list[int]]:
    """Expected error at the `use`, or over the candidates `points`, and which of these to run next; `even`: groups of
    runs that were drawn over the whole space."""
    s = samples.of(usable(samples))
    settled = np.flatnonzero(s.phase == 0)
    in_turn = np.arange(len(left)) % EVEN == EVEN - 1
    if len(settled) < MIN_STATES:
        return np.inf, np.flatnonzero(left)[:number].tolist()
    process, places, size, (errors, spreads) = expected(
        s, settled, points if use is None else np.vstack([points, use]), quantity
    )
    wanted = None if use is None else (places[len(points) :], size[len(points) :])
    drawn = np.array([_drawn_evenly(s.names[k], even) for k in s.run[settled]])
    error = float(np.sqrt(np.mean((size if wanted is None else wanted[1]) ** 2))) * calibration(
        errors[drawn], spreads[drawn]
    )
    lined = np.flatnonzero(left & in_turn)[: -(-number // EVEN)].tolist()
    rows = np.flatnonzero(left & ~in_turn)
    chosen = rows[choose(process, (places[rows], size[rows]), wanted, min(number - len(lined), len(rows)))].tolist()
    return error, [*chosen, *lined]


def _drawn_evenly(name: str, even: tuple[str, ...]) -> bool:
    group, _, number = name.rpartition("-")
    return group in even or (group == NAME and int(number) % EVEN == EVEN - 1)


def calibration(e: Array, s: Array) -> float:
    """Root mean square of errors by that of their standard deviations, 1 without any."""
    return float(np.sqrt(np.mean(e**2) / np.mean(s**2))) if len(e) else 1.0


def expected(
    s: Samples, settled: NDArray[np.int64], points: Array, quantity: str
) -> tuple[Process, Array, Array, tuple[Array, Array]]:
    """Process of a quantity of `settled` states, places (m, d) and spread (m,) of the `points` (m, 4), and
    cross-validated errors of the states with their spread."""
    z = s.point[settled]
    coordinates = ranges_of(np.vstack([z, points]))
    length = float(s.values["loop"][settled].mean())
    places, model = places_of(coordinates, z, length, s.belt)
    of_points, _ = places_of(coordinates, points, length, s.belt)
    group, slip = folds(s)[s.run[settled]], s.values["slip"][settled]
    if quantity == "slip":
        process, crossed = fit(places, np.arcsinh(slip / SMALL_SPEED_LOSS), group)
        errors = SMALL_SPEED_LOSS * np.sinh(crossed) - slip
    else:
        data = np.log(s.values["thrust"][settled]) - model
        process, crossed = fit(places, data, group, certainty(s, settled))
        errors = crossed - data
    of_errors, by_others = spread(places, errors, group)
    return process, of_points, of_errors.at(of_points), (errors, by_others)


def choose(
    process: Process, candidates: tuple[Array, Array], use: tuple[Array, Array] | None, number: int
) -> list[int]:
    """Which candidates to run next, the most telling first; they and the use, if there is one, are places (m, d) and
    spreads (m,)."""
    m = len(candidates[0])
    places, size = candidates if use is None else (np.concatenate(p) for p in zip(candidates, use, strict=True))
    K = posterior(process, places)
    by = size / np.sqrt(np.diag(K) + process.noise**2)
    K *= np.outer(by, by)
    noise = (0.5 * float(np.median(candidates[1]))) ** 2
    chosen: list[int] = []
    for _ in range(number):
        own = np.diag(K)[:m]
        gain = own.copy() if use is None else np.sum(K[m:, :m] ** 2, axis=0) / (own + noise)
        gain[chosen] = -1.0
        j = int(np.argmax(gain))
        chosen.append(j)
        K -= np.outer(K[:, j], K[j]) / (K[j, j] + noise)
    return chosen
