"""Uncertainty of a variator's outputs from the unknown parameters of its belt, by the steady theory.

The posterior of a calibration's scaled parameters is normal, with mean z and covariance sum_k (1 - g_k) v_k v_k'
(`calibration.inversion`). Two members of each direction, z +- sqrt(1 - g_k) v_k, give the standard deviation of an
output at an operating point (sigma points, Julier and Uhlmann 2004):

    s^2 = sum_k (y_k+ - y_k-)^2/4

Speed, ratio, clamping force and torque are the same for all members. ln s at points of the campaign is a Gaussian
process in the scaled coordinates (`process`), in tables like those of `uncertainty`. Where the mean slips by more than
`SLIPPING` it has no data.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files import read_json
from rtcvt.kind import Progress
from rtcvt.offline.pushbelt.run.windows import SLIPPING
from rtcvt.offline.pushbelt.steady import NoSteadyStateError, Point, family
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import Belt, Parameters, Sheaves, belt, read_parameters, sheaves
from rtcvt.offline.variator.calibration.plan import changed, load_calibration
from rtcvt.offline.variator.process import fit
from rtcvt.offline.variator.uncertainty import SPLINES
from rtcvt.unitfile import parse_unit_file
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.coordinates import counted, grid_of, scaled, unscaled
from rtcvt.variator.reduced.model import UNCERTAIN, ReducedModel
from rtcvt.variator.reduced.splines import grained, splines_through

Array = NDArray[np.float64]

POINTS = 80  # operating points of the theory
STEPS = 250  # of an arc; more change standard deviations by 3 %
LEAST = 0.15  # torque ratio, from zero and from the change of strands, at which the theory knows the push force's sign
SHORTEST = 0.3  # least length of the process, in scaled coordinates: points are few


def members(parameters: Parameters, path: Path) -> list[tuple[Belt, Sheaves]]:
    """Belts of the mean of a calibration's posterior and of two members of each direction, 2 d + 1.

    Raises
    ------
    InputError
        The file is not a calibration's, or its plan is neither a shipped one nor a file ``PLAN.toml`` in its folder.
    """
    found = read_json(path, "a file written by rtcvt calibrate")
    try:
        own = path.with_name(f"{found['plan']}.toml")
        plan, _ = load_calibration(own if own.is_file() else found["plan"])
        names = [p.name for p in plan.parameter]
        mean = np.array([p.scaled(found["parameters"][p.name]["set"]) for p in plan.parameter])
        apart = [np.sqrt(1.0 - d["gain"]) * np.array([d["parameters"][n] for n in names]) for d in found["directions"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(path, "directions", None, "those of a plan, as rtcvt calibrate writes them") from None
    units = (changed(parameters, plan, z) for z in (mean, *(mean + s * d for d in apart for s in (1.0, -1.0))))
    return [(belt(u, N_E=u.element.N_E0, N_E0=u.element.N_E0), sheaves(u)) for u in units]


def points_of(model: ReducedModel) -> Array:
    """Operating points (n, 4) of the campaign that are far from each other, the first in the middle of its range."""
    z = unscaled(model.coordinates[:4], model.shift, model.points)
    left = np.minimum(np.abs(z[:, 1]), np.abs(counted(model.shift, z)[:, 1])) >= LEAST
    t, z = model.points[left], z[left]
    chosen, apart = [int(np.argmin((t**2).sum(axis=1)))], np.full(len(t), np.inf)
    while len(chosen) < min(POINTS, len(t)):
        apart = np.minimum(apart, ((t - t[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(np.argmax(apart)))
    return np.asarray(z[chosen])


def outputs_at(belts: list[tuple[Belt, Sheaves]], z: Array, c: Mapping[str, float]) -> Array:
    """Outputs (n, 4) of n belts at an operating point (4,) of a model with the constants `c`, by `UNCERTAIN`.

    Those of thrust ratio and peak are logarithms. NaN: no steady state like the first's, or that slips as a whole.
    """
    (first, _), (i, xi, kappa, f) = belts[0], z
    F_O, at = f * c["F_ref"], closure(first.l_R, first.d_A, i, first.h_off)
    torque = capacity(c["mu"], np.cos(c["delta_0"])) * xi * F_O * (at.r_O - first.h_off)
    omega_I = np.sqrt(kappa * F_O / c["m_star"]) / (at.r_I - first.h_off)
    found = np.full((len(belts), len(UNCERTAIN)), np.nan)
    with suppress(NoSteadyStateError):
        for row, state in zip(found, family(belts, Point(omega_I, F_O, i, torque), STEPS), strict=True):
            if state is not None:
                through = max(abs(M * w) for M, w in zip(state.M, state.omega, strict=True))
                peak = max(float((arc[:, 2] / arc[:, 1]).max()) for arc in state.arcs)
                row[:] = np.log(state.thrust_ratio), state.slip, 1.0 - state.loss / through, np.log(peak)
            if not abs(found[0, 1]) <= SLIPPING:
                break
    return found


def standard_deviations(found: Array) -> Array:
    """Standard deviations (4,) of outputs (2 d + 1, 4) of mean and members; 0: of the mean alone.

    For a member without outputs stands the mirror image of the other of its pair.
    """
    either = np.stack([found[1::2] - found[0], found[0] - found[2::2]])
    d = np.nansum(either, axis=0) / np.maximum(np.isfinite(either).sum(axis=0), 1)
    return np.asarray(np.sqrt((d**2).sum(axis=0)))


def with_parameters(model: ReducedModel, calibration: Path, progress: Progress) -> ReducedModel:
    """A model with standard deviations from the belt's unknown parameters.

    Parameters
    ----------
    model : ReducedModel
        The model.
    calibration : Path
        ``calibration.json`` of ``rtcvt calibrate``.
    progress : callable
        See `rtcvt.kind.Progress`.

    Raises
    ------
    InputError
        Not a calibration.
    """
    unit = read_parameters(parse_unit_file(model.unit_file, f"unit file in {model.name}"))
    belts, z, s = members(unit, calibration), points_of(model), []
    for k, point in enumerate(z):
        s.append(standard_deviations(outputs_at(belts, point, model.constants)))
        progress("parameters of the belt", k + 1, len(z))
    known = np.min(s, axis=1) > 0.0
    grid = grid_of(model.coordinates, model.shift, SPLINES)
    t, at = (scaled(model.coordinates[:4], model.shift, a) for a in (z[known], grid))
    values, errors = [], {}
    for name, y in zip(UNCERTAIN, np.log(np.array(s)[known]).T, strict=True):
        process, crossed = fit(t, y, np.arange(len(y)), shortest=SHORTEST)
        values.append(process.mean(at))
        errors[f"parametric.{name}.rms"] = float(np.sqrt(np.mean((crossed - y) ** 2)))
    table = splines_through(np.stack(values, axis=1).reshape(*SPLINES, len(UNCERTAIN)))
    return replace(model, parametric=grained(table), errors={**model.errors, **errors})
