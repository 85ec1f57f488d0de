"""Parameters of a unit from a recording: least squares with the exact derivatives of `rtcvt.fmu.gradient`.

The unit runs with the recorded inputs, held from each recorded point to the next. The residuals are the outputs less
the recorded ones, at the communication points that are nearest to those of the recording, divided by the standard
deviation of each recorded signal. A trust region (Branch, Coleman and Li 1999) keeps parameters within their ranges.
Standard deviations are those of the linear fit, ``s^2 (J' J)^-1``, with s from the residuals as if these were
independent; they are infinite for parameters that the signals do not determine.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.fmu.gradient import Parameters, Sensitivities, sensitivities
from rtcvt.model import Model
from rtcvt.recording import Recording, optional
from rtcvt.scenario import Scenario, parameter_value

MOST_RUNS = 20
SINGULAR_RTOL = 1e-10  # share of the largest singular value below which a direction is not determined


class Calibration(NamedTuple):
    """Parameters of a unit that fit a recording."""

    values: dict[str, float]  # [SI]
    deviations: dict[str, float]  # standard deviations [SI]
    errors: dict[str, float]  # root mean square residual of each signal over its standard deviation
    runs: int  # of the unit, each with its derivatives
    converged: bool


def calibrate(
    model: Model, recording: Recording, parameters: Parameters, signals: Sequence[str], h: float, runs: int = MOST_RUNS
) -> Calibration:
    """Fit parameters; see the module and `rtcvt.Unit.calibrate`.

    Raises
    ------
    InputError
        An unknown name, a signal that is not in the recording or does not change, or a run that fails at the start.
    """
    if not isinstance(recording, Recording):
        raise InputError("calibrate", "recording", recording, "a recording, such as of simulate or rtcvt.read")
    if not isinstance(runs, int) or runs < 1:
        raise InputError("calibrate", "runs", runs, "a whole number from 1")
    time = recording.time - recording.time[0]
    span, n = float(time[-1]), round(float(time[-1]) / h)
    if not (signals and n > 0):
        raise InputError("calibrate", "signals", None, f"at least one, over more than a step, {h:g} s")
    for name in signals:
        model.variable(name, "output")
    measured = {name: recording[name].astype(float) for name in signals}
    scale = {name: float(np.std(values)) for name, values in measured.items()}
    for name, size in scale.items():
        if not 0.0 < size < np.inf:
            raise InputError("calibrate", name, size, "a recorded signal that is finite and changes")
    places = np.minimum(np.rint(time / h).astype(int), n)
    held = np.maximum(np.searchsorted(time, np.arange(n + 1) * h * (1.0 + 1e-12), side="right") - 1, 0)
    names = [v.name for v in model.select("input") if v.name in recording.signals]
    inputs = {name: recording[name].astype(float)[held] for name in names}
    scenario = Scenario(name="recording", duration=n * h if n * h <= span * (1.0 + 1e-9) else span, inputs={})
    given: dict[str, Any] = dict(parameters) if isinstance(parameters, Mapping) else dict.fromkeys(parameters)
    rows = [model.variable(name, "parameter") for name in given]
    start = np.array([float(model.p[v.index]) if given[v.name] is None
                      else parameter_value(model, v.name, given[v.name], "calibrate")[1] for v in rows])  # fmt: skip
    low = np.array([-np.inf if v.minimum is None else v.minimum for v in rows])
    high = np.array([np.inf if v.maximum is None else v.maximum for v in rows])
    unit = np.array([abs(q) or v.nominal or 1.0 for q, v in zip(start, rows, strict=True)])  # of a parameter
    known: dict[bytes, Sensitivities | None] = {}

    def run(q: NDArray[np.float64]) -> Sensitivities | None:
        key = q.tobytes()
        if key not in known:
            values = dict(zip(given, np.clip(q * unit, low, high).tolist(), strict=True))
            try:
                known[key] = sensitivities(model, scenario, h, values, signals, inputs)
            except InputError:
                if not known:
                    raise
                known[key] = None  # no finite run: the trust region shrinks
        return known[key]

    def residuals(q: NDArray[np.float64]) -> NDArray[np.float64]:
        found = run(q)
        if found is None:
            return np.full(len(places) * len(measured), 1e6)
        return np.concatenate([(found.values[s][places] - measured[s]) / scale[s] for s in measured])

    def slopes(q: NDArray[np.float64]) -> NDArray[np.float64]:
        found = run(q)
        assert found is not None
        return np.concatenate([found.derivatives[s][places] * unit / scale[s] for s in measured])

    best = optional("scipy.optimize").least_squares(
        residuals, start / unit, slopes, (low / unit, high / unit), x_scale="jac", max_nfev=runs, xtol=1e-10,
        ftol=1e-12, gtol=1e-12,
    )  # fmt: skip
    size = np.linalg.norm(best.jac, axis=0)
    _, values, right = np.linalg.svd(best.jac / np.where(size > 0.0, size, 1.0), full_matrices=False)
    noise = np.sqrt(2.0 * best.cost / max(len(best.fun) - len(start), 1))
    loose = np.abs(right.T[:, values <= SINGULAR_RTOL * values[0]]).max(axis=1, initial=0.0) > SINGULAR_RTOL
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1.0 / np.maximum(values, SINGULAR_RTOL * values[0])
        deviations = np.where(loose, np.inf, unit / size * noise * np.linalg.norm(right.T * share, axis=1))
    rms = np.sqrt(np.mean(best.fun.reshape(len(measured), -1) ** 2, axis=1))
    best_of, off = (dict(zip(given, of.tolist(), strict=True)) for of in (best.x * unit, deviations))
    errors = dict(zip(measured, rms.tolist(), strict=True))
    return Calibration(best_of, off, errors, len(known), bool(best.success))
