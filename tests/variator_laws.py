"""A variator with laws in closed form, for tests: logarithms linear in the scaled ratio, torque ratio and y.

The law of the speed loss is right at the sites of its splines, and at both ends of y. The peaks bend a little: one unit
of these three.
"""

import math
from dataclasses import replace

import numpy as np
from instances import started
from rows import text_of

from rtcvt.unitfile import parse_unit_file
from rtcvt.variator.build import build_variator
from rtcvt.variator.reduced.coordinates import Coordinate, grid_of
from rtcvt.variator.reduced.model import CORRECTIONS, LAWS, UNCERTAIN, Peak, ReducedField, ReducedModel
from rtcvt.variator.reduced.networks import Networks
from rtcvt.variator.reduced.splines import sites, splines_through
from rtcvt.variator.regression import SMALL_SPEED_LOSS
from rtcvt.variator.unit import read_variator, with_flange_inputs

TEXT = text_of("units/variator.toml")
SHAFTS = {"primary__bearing__d_m": 0.06, "primary__bearing__f_0": 2.0, "primary__bearing__f_1": 3e-4,
          "primary__seal__d": 0.04, "primary__sheave__R": 0.07, "primary__sheave__dip": 0.1,
          "secondary__bearing__d_m": 0.05, "secondary__bearing__f_0": 3.0, "secondary__bearing__f_1": 4e-4,
          "secondary__seal__d": 0.03, "secondary__sheave__R": 0.08, "secondary__sheave__dip": 0.2}  # fmt: skip
CONSTANTS = {"d_A": 0.155, "length": 0.6612, "h_off": 1.925e-3, "delta_0": math.radians(11.0), "mu": 0.105,
             "m_star": 1.67, "m_belt": 1.104, "F_ref": 1e4, "K_belt": 2.5e6, "d_belt": 500.0, "xi_max": 0.95,
             "ring_stretch": 1.1e-7}  # fmt: skip
RANGES = {"i": ("bilinear", 1.0, 0.4, 2.5), "xi": ("sigmoid", 0.3, -1.0, 1.0), "kappa": ("bilinear", 0.1, 0.0, 0.5),
          "f": ("bilinear", 1.0, 0.3, 4.0), "y": ("bilinear", 1.0, 0.4, 2.0)}  # fmt: skip


def laws(zeta=(0.25, 0.1, 0.2), k=3e-7, e=0.002, c=0.008, lam=1e-3, slope=0.3, slide=0.3, **constants):
    """A reduced model: ln(zeta) linear with these weights, the other laws grow by `slope` with i, xi and y."""
    first = {"k": math.log(k * CONSTANTS["F_ref"]), "e": math.asinh(e / SMALL_SPEED_LOSS), "c": math.log(c),
        "lambda": math.log(lam)}  # fmt: skip
    coordinates, shift, shape = tuple(Coordinate(name, *a) for name, a in RANGES.items()), (0.1, 0.3), (4, 16, 4, 4)
    t = sites(4)
    plane = t[:, None, None, None] + sites(shape[1])[:, None, None]  # t_1 + t_2
    values = np.zeros((*shape, 2 * len(LAWS)))
    for n, name in enumerate(LAWS):
        part = slope if name != "e" else 0.1 * slope * math.tanh(first["e"])
        values[..., 2 * n] = first[name] + part * plane
        values[..., 2 * n + 1] = part  # of t_5
    xi = grid_of(coordinates, shift, shape)[:, 1].reshape(shape)
    ln_c, asinh_e = (values[..., k : k + 1] + values[..., k + 1 : k + 2] * [-1.0, 1.0] for k in (4, 2))
    ends = np.arcsinh(np.sinh(asinh_e) + np.exp(ln_c) * xi[..., None] / SMALL_SPEED_LOSS)
    values[..., 2:4] = ends @ [[0.5, -0.5], [0.5, 0.5]]
    thrust = zeta[0] + zeta[1] * t[:, None, None, None] + zeta[2] * t[:, None, None] + np.zeros((4, 4, 4, 4))
    first_peaks = {"peak.flank_normal": 2.0, "peak.push": 0.3}
    peaks = tuple(Peak(name, np.array([1.0, math.log(value)])) for name, value in first_peaks.items())
    one_unit = Networks(slope * np.array([[[1.0, 1.0, 0.0, 0.0, 1.0, 0.0]]]), np.array([[[1.0, 0.0]]]))
    units = {"flank_normal": "N/m", "push": "N", "element_offset": "m"}
    modes = np.ones((1, 256))
    fields = [ReducedField(n, u, "", modes, np.array([[0.5]]), np.ones(1)) for n, u in units.items()]
    return ReducedModel(
        "laws", CONSTANTS | constants, coordinates, shift,
        splines_through(thrust), splines_through(values), peaks, tuple(fields), np.zeros((1, 4)), 1.0,
        peak_networks=one_unit, slide=slide,
    )  # fmt: skip


def constant_laws(zeta=1.3, **values):
    """Laws that are the same everywhere."""
    return laws((math.log(zeta), 0.0, 0.0), slope=0.0, **values)


def corrected():
    """`laws` with corrections of all that may be corrected, their uncertainty, and three times that from parameters."""
    rng = np.random.default_rng(4)
    uncertain = np.full((3, 3, 3, 3, len(UNCERTAIN)), np.log([0.02, 1e-3, 5e-3, 0.1]))
    correction, parametric = 0.05 * rng.normal(size=(3, 3, 3, 3, len(CORRECTIONS) + 2)), uncertain + np.log(3.0)
    return replace(laws(), correction=correction, uncertainty=uncertain, parametric=parametric)


def unit(flanges=None, extra=""):
    """The unit; `flanges` as in `with_flange_inputs`, `extra` lines go before its tables."""
    return with_flange_inputs(read_variator(parse_unit_file(extra + TEXT, "variator.toml")), flanges or {})


def instance(fidelity="hybrid", reduced=None, flanges=None, extra="", **values):
    """An instance that is initialised with these values; ``__`` in a name stands for a dot."""
    model = build_variator(unit(flanges, extra), fidelity, reduced=reduced or laws())
    return started(model, {"clamp.primary.F": 13e3, "clamp.secondary.F": 10e3}, **values)
