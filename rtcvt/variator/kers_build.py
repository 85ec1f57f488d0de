"""A pushbelt variator with flywheel and torque controller as a real-time model: `kers` around `build`."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rtcvt.control.limits import RATE_MAX, THETA_MAX, THETA_MIN
from rtcvt.errors import InputError
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.variator import kers, layout
from rtcvt.variator.build import build_variator
from rtcvt.variator.reduced_model import ReducedModel
from rtcvt.variator.unit import CYLINDERS, KERS_LAW, KERS_PARAMETERS, NOT_OF_KERS, Flanges, Row, Variator

__all__ = ["build_kers", "variator_inside"]

_OUTPUTS = (  # in the order of `kers`, behind those of the variator
    Row("shaft.tau", "N.m", "torque into the unit at the shaft: tau w is power in", None, None, 100.0),
    Row("control.tau_est", "N.m", "estimated torque at the shaft", None, None, 100.0),
    Row("control.tau_max", "N.m", "torque at the shaft that the clamping forces can carry", 0.0, None, 100.0),
    Row("control.theta", "rad", "tilt of the belt's spans, sin(theta) = (r_I - r_O)/d_A", None, None, 0.1, "deg"),
    Row("control.saturated", "1", "a limit of the controller is active"),
    Row("flywheel.w", "rad/s", "speed of the flywheel", None, None, 1e3, "rpm"),
)
_STATES = (
    ("control.rho", "rad/s"),
    ("clamp.F_O", "N"),
    ("control.power", "W"),
    ("control.w_t", "rad/s"),
    ("control.tau_d", "N.m"),
)
_RENAMED = {"secondary.w": "speed of the secondary pulley", "primary.tau": "torque into the variator at the primary"}


def variator_inside(unit: Variator) -> Variator:
    """The variator of a unit with a controller, whose flywheel counts into the secondary pulley.

    Raises
    ------
    InputError
        A parameter is missing.
    """
    values = unit.values()
    for row in KERS_PARAMETERS + KERS_LAW:
        if row.name not in values:
            text = f"this key is required: {row.text} [{row.unit}]"
            raise InputError(unit.source, f"parameters.{row.name}", None, text)
    own = {row.name for row in KERS_PARAMETERS + KERS_LAW}
    inner = {name: value for name, value in values.items() if name not in own}
    inner |= {"primary.w_start": values["shaft.i"] * values["shaft.w_start"], "ratio.T": 1.0}
    inner |= {"clamp.control": layout.RATIO, **dict.fromkeys(CYLINDERS, 0.0)}
    for key in ("J", "b"):
        whole = values[f"secondary.{key}"] + values["flywheel.i"] ** 2 * values[f"flywheel.{key}"]
        inner[f"secondary.{key}"] = whole
    flanges = Flanges(primary="speed")
    return unit.model_copy(update={"controller": None, "flanges": flanges, "parameters": inner, "scenario": ()})


def build_kers(
    unit: Variator, fidelity: Fidelity, substeps: int | None = None, reduced: ReducedModel | None = None
) -> Model:
    """The real-time model of a variator with flywheel and torque controller.

    Parameters and errors are those of `rtcvt.variator.build.build_variator`.
    """
    values = unit.values()
    model = build_variator(variator_inside(unit), fidelity, substeps, reduced)
    inner = model.p
    n_x, n_y = len(model.states), len(model.select("output"))
    at = len(inner)
    p = np.concatenate([inner, np.zeros(kers.KERS_BLOCK)])
    p[layout.KERS] = at
    p[at + kers.N_ALL], p[at + kers.N_Y_ALL] = n_x + kers.N_OWN, n_y + kers.N_Y_OWN
    p[at + kers.AT_WORK] = model.n_work
    law = at + kers.LAW
    p[law + THETA_MIN] = 0.5 * math.pi - inner[layout.PHI_MAX]
    p[law + THETA_MAX] = 0.5 * math.pi - inner[layout.PHI_MIN]
    variables = [*_kept(model)]
    for place, row in enumerate(KERS_PARAMETERS, at + kers.N_I):
        p[place] = values[row.name]
        variables.append(_parameter(row, place, values[row.name]))
    for place, row in enumerate(KERS_LAW, law + RATE_MAX):
        p[place] = values[row.name]
        variables.append(_parameter(row, place, values[row.name]))
    start = values["shaft.w_start"]
    variables += [
        Variable("shaft.w", "input", kers.U_W, "rad/s", "speed of the shaft", start, nominal=100.0, display_unit="rpm"),
        Variable("control.tau_des", "input", kers.U_TAU, "N.m", "demanded torque into the unit", 0.0, nominal=100.0),
    ]
    variables += [v for v in model.variables if v.causality == "output"]
    for place, row in enumerate(_OUTPUTS, n_y):
        boolean = row.name == "control.saturated"
        variables.append(
            Variable(row.name, "output", place, row.unit, row.text, None, row.minimum, row.maximum, row.nominal,
                     row.display, boolean)
        )  # fmt: skip
    names = {v.name: k for k, v in enumerate(variables)}
    for name, text in _RENAMED.items():
        variables[names[name]] = replace(variables[names[name]], description=text)
    return replace(
        model,
        name=unit.name,
        description=unit.description,
        variables=tuple(variables),
        states=(*model.states, *_STATES),
        p=p,
        n_work=model.n_work + kers.W_NEW_Y + n_y + kers.N_Y_OWN,
        initialise=kers.kers_initialise,
        derivative=kers.kers_derivative,
        jacobian=kers.kers_jacobian,
        output=kers.kers_output,
        step=kers.kers_step,
        source=unit.text,
    )


def _kept(model: Model) -> Iterator[Variable]:
    """Parameters of the variator that remain: those of its shafts, gears and cylinders are the unit's."""
    own = {row.name for row in KERS_PARAMETERS} | {*NOT_OF_KERS, "primary.c", "primary.d"}
    return (v for v in model.variables if v.causality == "parameter" and v.name not in own)


def _parameter(row: Row, place: int, value: float) -> Variable:
    nominal = row.nominal or abs(value) or None
    return Variable(
        row.name, "parameter", place, row.unit, row.text, value, row.minimum, row.maximum, nominal, row.display
    )
