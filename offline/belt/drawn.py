"""Random variants of a belt drive and random load cases, by a seed. Nothing was tuned on them.

A layout has every centre moved by up to a tenth of the mean distance of neighbouring pulleys (and an arm's pivot with
it), radii times 0.85 to 1.15, inertias times 0.6 to 1.6 and pretension times 0.85 to 1.2, each uniform; draws whose
belt does not fit, or would wrap a pulley by less than 20 degrees, are drawn again.

Load cases are scaled by friction. The two spans of a wrap have 2 T in sum, so that its capacity is ::

    M_i = 2 T r_i tanh(mu_i beta_i/2)

The driving pulley, the first whose speed is given, or else the first that a torque moves, has a given speed; J
is the inertia of the others referred to it, M_d its capacity. The largest speed w is that at which bearings and loads
need 0.3 of M_i at any pulley and of M_d, and inertia m v^2 a fifth of the pretension, at most 350 rad/s. With uniform
shares:

- engine order: 0.25 to 0.5 w that pulsates twice a turn by at most 5 %, with 0.2 to 0.6 of M_d by inertia;
- load step: 0.4 to 1 w, 0.3 to 0.6 of M_i at a pulley within 10 ms, for 0.15 s;
- overload: 0.3 to 0.6 w, 1.2 to 1.6 M_i for at most 0.1 s and half of the pulley's speed;
- reversal: from 0.25 to 0.5 w to the same speed backwards.

Speeds rise and reverse within the time in which inertia needs 0.3 to 0.6 of M_d, or 0.2 s.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt.reading import require_arms
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.offline.belt.results import Case, Progress, Result, result, result_file
from rtcvt.offline.belt.runs import changed
from rtcvt.scenario import Scenario, Table

Array = NDArray[np.float64]
Input = Table | str

LAYOUTS = 3
LIMITS = {"speed": 0.01, "tension": 0.03, "torque": 0.05}
OVERLOAD = {"speed": 0.02, "tension": 0.05, "torque": 0.10}
MAX_SPEED = 350.0  # [rad/s]
_MIN_WRAP = np.radians(20.0)
_STEP_PARTS = (1, 2, 4)  # of the full model's step, where its Newton's method fails


@dataclass(frozen=True)
class Drawn:
    """A load case of a drawn layout, and the errors that the real-time model may have."""

    case: Case
    limits: Mapping[str, float]


def layouts(unit: BeltUnit, seed: int) -> Iterator[BeltUnit]:
    """Random variants of a unit with a belt that fits; the iterator does not end."""
    rng = np.random.default_rng(seed)
    center = np.array([p.center for p in unit.pulleys.values()])
    reach = 0.1 * float(np.mean(np.hypot(*(np.roll(center, -1, axis=0) - center).T)))
    while True:
        pulleys = {}
        for name, p in unit.pulleys.items():
            x, y = np.array(p.center) + rng.uniform(-reach, reach, 2)
            changes = {"center": (float(x), float(y)), "radius": p.radius * float(rng.uniform(0.85, 1.15))}
            if p.arm is not None:
                pivot = np.array(p.arm.pivot) + np.array([x, y]) - np.array(p.center)
                changes["arm"] = p.arm.model_copy(update={"pivot": (float(pivot[0]), float(pivot[1]))})
            pulleys[name] = p.model_copy(update=changes | {"inertia": p.inertia * float(rng.uniform(0.6, 1.6))})
        belt = unit.belt.model_copy(update={"pretension": unit.belt.pretension * float(rng.uniform(0.85, 1.2))})
        drawn = unit.model_copy(update={"pulleys": pulleys, "belt": belt})
        try:
            fits = bool(drawn.path().wrap.min() > _MIN_WRAP)
            require_arms(drawn)
        except InputError:
            fits = False
        if fits:
            yield drawn


def cases(unit: BeltUnit, seed: int) -> list[Drawn]:
    """All load cases of `LAYOUTS` random layouts, each with its limits of error.

    Raises
    ------
    InputError
        The unit has no ``ancf`` table, or only idlers.
    """
    found = []
    for k, drawn in enumerate(islice(layouts(unit, seed), LAYOUTS)):
        rng = np.random.default_rng([seed, k])
        load = _Loads(drawn)
        for name, scenario in load.scenarios(rng).items():
            case = Case(f"drawn {seed}.{k + 1} {name}", load.unit, scenario)
            found.append(Drawn(case, OVERLOAD if name == "overload" else LIMITS))
    return found


def run(case: Case, folder: Path, progress: Progress | None = None) -> Result:
    """Result of a case's full model, with smaller steps where Newton's method fails; read from `folder` if it is there.

    Raises
    ------
    ArithmeticError
        Newton's method also fails with a quarter of the unit's step.
    """
    assert case.unit.ancf is not None
    step = case.unit.ancf.step
    tried = [replace(case, unit=changed(case.unit, step=step / parts)) for parts in _STEP_PARTS]
    tried = [c for c in tried if result_file(c, folder).exists()] or tried
    for c in tried:
        try:
            return replace(result(c, folder, progress), case=case)
        except ArithmeticError:
            if c is tried[-1]:
                raise
    raise AssertionError


class _Loads:
    """Capacities of a drive, and scenarios scaled by these."""

    def __init__(self, unit: BeltUnit) -> None:
        if unit.ancf is None:
            raise InputError(unit.source, "ancf", None, "a table with contact and mesh of the ANCF belt")
        given = [n for kind in ("speed", "torque") for n, p in unit.pulleys.items() if p.flange == kind]
        if not given:
            raise InputError(unit.source, "pulleys", None, "a pulley with a given speed or torque")
        driver = unit.pulleys[given[0]].model_copy(update={"flange": "speed"})
        self.unit = unit.model_copy(update={"pulleys": unit.pulleys | {given[0]: driver}})
        self.names, self.driver = list(unit.pulleys), given[0]
        self.loaded = [n for n, p in self.unit.pulleys.items() if p.flange == "torque"]
        path, d, pulleys = unit.path(), self.names.index(given[0]), list(unit.pulleys.values())
        self.sense = path.sigma
        self.ratio = path.radius[d] / path.radius  # speeds by that of the driving pulley
        mu = np.array(unit.friction_of(unit.ancf.mu))
        self.holds = 2.0 * unit.belt.pretension * path.radius * np.tanh(0.5 * mu * path.wrap)
        J = np.array([p.inertia + (p.decoupler.inertia if p.decoupler else 0.0) for p in pulleys])
        self.inertia = J
        self.J = float(np.sum(np.delete(J * self.ratio**2, d)))
        self.J += unit.belt.mass * path.length * float(path.radius[d]) ** 2
        self.d = d
        self.fastest = self._fastest(float(path.radius[d]))

    def _taken(self, w: float) -> Array:
        """Torque [N.m] of bearing and load against each pulley, the driving one at `w` [rad/s]."""
        taken = []
        for p, sense, ratio in zip(self.unit.pulleys.values(), self.sense, self.ratio, strict=True):
            own = float(sense * ratio * w)
            load = float(np.interp(own, p.load.w, p.load.tau)) if p.load else 0.0
            taken.append(p.friction * abs(own) - np.sign(own) * load)
        return np.array(taken)

    def _fastest(self, radius: float) -> float:
        for w in np.linspace(MAX_SPEED, 0.0, 351)[:-1]:
            taken = self._taken(float(w))
            through = float(np.sum(np.delete(taken * self.ratio, self.d)))
            lifts = self.unit.belt.mass * (w * radius) ** 2 > 0.2 * self.unit.belt.pretension
            others = np.delete(taken / self.holds, self.d)
            if not lifts and through < 0.3 * self.holds[self.d] and others.max(initial=0.0) < 0.3:
                return float(w)
        raise InputError(self.unit.source, "pulleys", self.names, "friction and loads that the belt carries at 1 rad/s")

    def _ramp(self, w: float, rng: np.random.Generator) -> float:
        """Time [s] in which a speed changes by `w`, smoothly."""
        return max(0.2, 1.5 * self.J * w / (float(rng.uniform(0.3, 0.6)) * float(self.holds[self.d])))

    def _speed(self, time: list[float], w: list[float]) -> Table:
        forward = float(self.sense[self.d])
        return Table(time=tuple(time), value=tuple(forward * x for x in w), interpolation="smooth")

    def scenarios(self, rng: np.random.Generator) -> dict[str, Scenario]:
        """Scenarios by name; load step and overload only if the unit has a pulley with a given torque."""
        found = {"engine order": self._order(rng)}
        if self.loaded:
            found |= {"load step": self._step(rng), "overload": self._overload(rng)}
        return found | {"reversal": self._reversal(rng)}

    def _scenario(self, name: str, about: str, duration: float, **inputs: Input) -> Scenario:
        given = {self.driver + ".w": inputs["w"]} | {k: v for k, v in inputs.items() if k != "w"}
        return Scenario(name=name, description=about, duration=round(duration, 3), inputs=given)

    def _order(self, rng: np.random.Generator) -> Scenario:
        w = float(rng.uniform(0.25, 0.5)) * self.fastest
        up = self._ramp(w, rng)
        share = float(rng.uniform(0.2, 0.6)) * float(self.holds[self.d]) / (2.0 * self.J * w * w)
        share = min(0.05, share)
        speed = f"engine_order({self.sense[self.d] * w:.9g}*min(t/{up:.9g}, 1), 2, {share:.9g})"
        about = f"{w:.3g} rad/s that pulsate by {100.0 * share:.2g} % twice a turn, {w / np.pi:.3g} Hz"
        return self._scenario("engine order", about, up + max(0.4, 3.0 * np.pi / w), w=speed)

    def _step(self, rng: np.random.Generator) -> Scenario:
        w = float(rng.uniform(0.4, 1.0)) * self.fastest
        up, (name, i) = self._ramp(w, rng), self._draw(rng)
        least = min(float(self.holds[i]), float(self.holds[self.d] / self.ratio[i]))
        tau = float(rng.uniform(0.3, 0.6)) * least - float(self._taken(w)[i])
        on = up + 0.1
        load = Table(
            time=(on, on + 0.01, on + 0.16, on + 0.17), value=tuple(-float(self.sense[i]) * x for x in (0, tau, tau, 0))
        )
        about = f"{w:.3g} rad/s, {tau:.3g} N.m against {name}"
        return self._scenario("load step", about, on + 0.3, w=self._speed([0.0, up], [0.0, w]), **{f"{name}.tau": load})

    def _overload(self, rng: np.random.Generator) -> Scenario:
        w = float(rng.uniform(0.3, 0.6)) * self.fastest
        up, (name, i) = self._ramp(w, rng), self._draw(rng)
        tau = float(rng.uniform(1.2, 1.6) * self.holds[i])
        slows = 0.5 * w * float(self.ratio[i] * self.inertia[i])
        on = up + 0.1
        off = on + 0.01 + min(0.1, slows / (tau - float(self.holds[i])))
        load = Table(
            time=(on, on + 0.01, off, off + 0.01), value=tuple(-float(self.sense[i]) * x for x in (0, tau, tau, 0))
        )
        about = f"{w:.3g} rad/s, {tau:.3g} N.m against {name}, which slips"
        return self._scenario("overload", about, off + 0.2, w=self._speed([0.0, up], [0.0, w]), **{f"{name}.tau": load})

    def _reversal(self, rng: np.random.Generator) -> Scenario:
        w = float(rng.uniform(0.25, 0.5)) * self.fastest
        up, turn = self._ramp(w, rng), self._ramp(2.0 * w, rng)
        times = [0.0, up, up + 0.1, up + 0.1 + turn]
        about = f"from {w:.3g} rad/s to as much backwards"
        return self._scenario("reversal", about, times[-1] + 0.1, w=self._speed(times, [0.0, w, w, -w]))

    def _draw(self, rng: np.random.Generator) -> tuple[str, int]:
        name = self.loaded[int(rng.integers(len(self.loaded)))]
        return name, self.names.index(name)
