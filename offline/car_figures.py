"""Figures of a car: acceleration, top speed and slopes of runs at full throttle, comfort and shifts of any run.

**Full throttle.** The driver asks for more torque than the drive has, to a speed that no car has. The time to 100 km/h
begins with this demand at standstill, so it contains the delays of drive and control. A speed is held where it rises by
less than 0.02 m/s in 10 s. The greatest slope for a start is one on which the car is faster than 10 km/h within 15 s,
found by bisection to 0.4 %.

**Comfort.** Jerk is the derivative of the acceleration behind a low-pass filter of 10 Hz (Butterworth, second order,
forwards and backwards, so without delay). The vibration dose value has the weighting W_d for horizontal vibration of
a seated person (ISO 2631-1:1997, 6.3.2 and annex A)::

    VDV = (integral of a_w^4 dt)^(1/4),    W_d: f_1 = 0.4 Hz, f_2 = 100 Hz, f_3 = f_4 = 2 Hz, Q_4 = 0.63

A shift lasts as long as the control says by its Boolean output ``shifting``; its jerk counts until 0.5 s later.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from rtcvt.network.file import System
from rtcvt.network.model import unit_of
from rtcvt.scenario import Scenario, apply_parameters, sample_inputs
from rtcvt.simulate import Result, stepped

Array = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
KMH = 1.0 / 3.6
FULL = 1e5  # torque [N.m] and speed [m/s] that no car has
LONGEST = 300.0  # run at full throttle [s]
HELD, LAPSE = 0.02, 10.0  # rise [m/s] in a time [s] below which a speed is held
START, STARTED, FINEST = 15.0, 10.0 * KMH, 0.004  # of a start on a slope: time [s], speed [m/s], step of the slope
SLOPES = (0.06, 0.12)  # on which the top speed is reported
CUT_OFF, AFTER = 10.0, 0.5  # of the jerk [Hz], and time after a shift in which it counts [s]


class Figure(NamedTuple):
    """A figure: its key in JSON, with the SI unit, and how it is told."""

    key: str
    value: float | None  # None: the car cannot
    about: str
    unit: str
    factor: float = 1.0  # from SI

    @property
    def shown(self) -> str:
        """Value with its unit."""
        return "not reached" if self.value is None else f"{self.factor * self.value:.3g} {self.unit}".strip()


# --- full throttle ----------------------------------------------------------------------------------------------------


def performance(system: System, settings: Mapping[str, Any], progress: Progress) -> list[Figure]:
    """Time to 100 km/h, top speed, speeds on slopes, and the greatest slope for a start.

    Parameters
    ----------
    system : System
        A car; without a driver and a vehicle there are no figures.
    settings : mapping
        Other values of parameters.
    progress : callable
        Called with a name and (done, of all).

    Raises
    ------
    InputError
        A step failed.
    """
    names = {unit_of(system, name).kind.removeprefix("tyred_"): name for name in system.components}
    if not {"driver", "vehicle"} <= names.keys():
        return []
    driver, vehicle = names["driver"], names["vehicle"]
    asked, slope = f"{driver}.driver.v_des", f"{vehicle}.road.slope"
    kept = tuple(text for text in system.connect if text.partition("->")[2].strip() != asked)
    model = system.model_copy(update={"connect": kept}).build()
    place = model.variable(f"{vehicle}.vehicle.v", "output").index
    given = {f"{driver}.driver.tau_drive": FULL, **settings}

    def run(on: float, duration: float, done: Callable[[Array], bool]) -> Array:
        """Speeds at full throttle on a slope until `done`."""
        h = model.step_size
        inputs = {asked: FULL} | ({slope: on} if on else {})
        scenario = Scenario(name="full throttle", duration=duration, inputs=inputs)
        time: Array = np.linspace(0.0, round(duration / h) * h, round(duration / h) + 1)
        instance = model.instantiate()
        apply_parameters(instance, given, "full throttle")
        v = np.empty(0)
        for _, rows, _ in stepped(
            instance, time, sample_inputs(model, scenario, time, None), (), h, "full throttle", 500
        ):
            v = np.append(v, rows[:, place])
            if done(v):
                break
        return v

    lapse = round(LAPSE / model.step_size)
    held = lambda v: len(v) > lapse and v[-1] - v[-lapse] < HELD  # noqa: E731
    progress("full throttle", 0, 4)
    v = run(0.0, LONGEST, held)
    reached = np.nonzero(v >= 100.0 * KMH)[0]
    found = [
        Figure("time_0_100_s", float(reached[0] * model.step_size) if len(reached) else None, "0 to 100 km/h", "s"),
        Figure("top_speed_m_s", float(v[-1]), "top speed", "km/h", 3.6),
    ]
    if slope not in model.by_name or model.by_name[slope].causality != "input":
        return found
    for k, on in enumerate(SLOPES, 1):
        progress("full throttle", k, 4)
        v = run(on, LONGEST, held)
        key, about = f"speed_on_{on:.0%}_m_s".replace("%", "_percent"), f"speed held on {on:.0%}"
        found.append(Figure(key, float(v[-1]) if v[-1] > STARTED else None, about, "km/h", 3.6))
    low, high = 0.0, 1.0
    while high - low > FINEST:
        middle = 0.5 * (low + high)
        v = run(middle, START, lambda v: bool(v[-1] > STARTED))
        low, high = (middle, high) if v[-1] > STARTED else (low, middle)
    progress("full throttle", 4, 4)
    return [*found, Figure("start_slope", low, "greatest slope for a start", "%", 100.0)]


# --- comfort ----------------------------------------------------------------------------------------------------------


def weighting(rate: float) -> Array:
    """W_d as a digital filter for samples at `rate` [Hz], in sections of second order."""
    w_1, w_2, w_3, Q_4 = 2.0 * np.pi * 0.4, 2.0 * np.pi * 100.0, 2.0 * np.pi * 2.0, 0.63
    poles = [*np.roots([1.0, np.sqrt(2.0) * w_1, w_1**2]), *np.roots([1.0, w_3 / Q_4, w_3**2])]
    gain = w_3
    if rate > 4.0 * 100.0:  # else there is nothing beyond
        poles += [*np.roots([1.0, np.sqrt(2.0) * w_2, w_2**2])]
        gain *= w_2**2
    sections: Array = signal.zpk2sos(*signal.bilinear_zpk([0.0, 0.0, -w_3], poles, gain, rate))
    return sections


def jerk(a: Array, h: float) -> Array:
    """Jerk [m/s3] of an acceleration [m/s2] at steps of `h` [s]; zero of less than a second."""
    if len(a) * h < 1.0 or h > 0.2 / CUT_OFF:
        return np.zeros(len(a))
    sections = signal.butter(2, CUT_OFF * 2.0 * h, output="sos")
    found: Array = np.gradient(signal.sosfiltfilt(sections, a), h)
    return found


def comfort(run: Result) -> list[Figure]:
    """Greatest jerk, vibration dose value, and what shifts take; of a run of a car."""
    h = run.step
    name = next((v.name for v in run.model.select("output") if v.name.endswith(".vehicle.a")), None)
    if name is None or h > 0.2 / CUT_OFF:
        return []
    a = run[name]
    j = np.abs(jerk(a, h))
    dose = float((np.sum(signal.sosfilt(weighting(1.0 / h), a) ** 4) * h) ** 0.25)
    found = [
        Figure("jerk_m_s3", float(j.max()), "greatest jerk, filtered at 10 Hz", "m/s³"),
        Figure("vdv_m_s1_75", dose, "vibration dose value, W_d", "m/s¹·⁷⁵"),
    ]
    shifting = [v.name for v in run.model.select("output") if v.boolean and v.name.endswith(".shifting")]
    for name in shifting[:1]:
        edges = np.flatnonzero(np.diff(np.concatenate([[0.0], run[name], [0.0]])))
        shifts = [(k, m) for k, m in edges.reshape(-1, 2).tolist() if m < len(a)]
        times = [(m - k) * h for k, m in shifts]
        found.append(Figure("shifts", float(len(shifts)), "shifts", ""))
        if shifts:
            worst = max(float(j[k : m + round(AFTER / h)].max()) for k, m in shifts)
            found += [
                Figure("shift_time_s", float(np.median(times)), "time of a shift, median", "s"),
                Figure("shift_time_max_s", max(times), "time of a shift, longest", "s"),
                Figure("shift_jerk_m_s3", worst, "greatest jerk of a shift", "m/s³"),
            ]
    return found


def told(figures: Sequence[Figure]) -> dict[str, float | None]:
    """Ready for JSON."""
    return {figure.key: figure.value for figure in figures}
