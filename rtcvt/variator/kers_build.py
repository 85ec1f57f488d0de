"""A pushbelt variator with flywheel and torque controller as a real-time model: `kers` around `build`."""

import math
from dataclasses import replace

import numpy as np

from rtcvt.control import kers as law
from rtcvt.control import limits
from rtcvt.model import Coupling, Fidelity, Model
from rtcvt.table import Table, require_keys
from rtcvt.variator import kernels, kers
from rtcvt.variator.build import build_variator
from rtcvt.variator.layout import CYLINDERS, NOT_OF_KERS, Y_PEAKS, D, Given, KersD, KersP, KersU, KersX, KersY, P, Y
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.unit import Flanges, Variator

_RENAMED = {"secondary.w": "speed of the secondary pulley", "primary.tau": "torque into the variator at the primary"}


def variator_inside(unit: Variator) -> Variator:
    """The variator of a unit with a controller, with the flywheel included in the secondary pulley.

    Raises
    ------
    InputError
        A parameter is missing.
    """
    values = unit.values()
    own = {place.row.name: place.row for place in KersP}
    require_keys(unit.source, values.keys() & own, own)
    inner = {name: value for name, value in values.items() if name not in own}
    inner |= {"primary.w_start": values["shaft.i"] * values["shaft.w_start"], "ratio.T": 1.0}
    inner |= {"clamp.control": Given.RATIO, **{place.row.name: 0.0 for place in CYLINDERS}}
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
    table = Table()
    for place in KersP:
        table.add("parameter", place, values[place.row.name])
    of_law = {  # place in p or -1, constant
        limits.THETA_MIN: (-1.0, 0.5 * math.pi - model.data[D.PHI_MAX]),
        limits.THETA_MAX: (-1.0, 0.5 * math.pi - model.data[D.PHI_MIN]),
    }
    places = {
        limits.RATE_MAX: KersP.RATE_MAX, limits.LIMIT_TIME: KersP.LIMIT_TIME, law.K_THETA: KersP.K_THETA,
        law.K_W: KersP.K_W, law.TAU_FILTER: KersP.TAU_FILTER, law.W_MAX: KersP.W_MAX, law.OMEGA_0: KersP.OMEGA_0,
    }  # fmt: skip
    of_law |= {number: (place, 0.0) for number, place in places.items()}
    of_variator = [(-1.0, value) for value in model.p.tolist()]
    kept = set(P) - {P.J_O, P.B_O, P.C_I, P.D_I, *NOT_OF_KERS}
    for v in model.select("parameter"):
        if v.index in kept:
            of_variator[v.index] = (table.take(v), 0.0)
    table.add("input", KersU.W, values["shaft.w_start"])
    table.add("input", KersU.TAU, 0.0)
    for v in model.select("output"):
        table.take(v, description=_RENAMED.get(v.name, v.description))
    table.each("output", KersY)
    for v in model.states:
        table.take(v)
    table.each("state", KersX)
    n_x, n_y = table.size("state"), table.size("output")
    header, at = np.zeros(len(KersD)), len(model.data)
    header[KersD.N_ALL], header[KersD.N_Y_ALL], header[KersD.AT_WORK] = n_x, n_y, model.n_work
    header[KersD.OF_LAW] = at + len(header)
    header[KersD.OF_VARIATOR] = header[KersD.OF_LAW] + 2 * len(of_law)
    header[KersD.SIZES] = header[KersD.OF_VARIATOR] + 2 * len(of_variator)
    tables = [of_law[k] for k in range(len(of_law))], of_variator, [v.nominal or 1.0 for v in table.states]
    data = np.concatenate([model.data, header, *(np.ravel(table) for table in tables)])
    data[D.KERS] = at
    tasks = kers.kers_linearise, kers.kers_port, kers.kers_flange, kernels.coupled_piece
    limits_of = Y.OUTSIDE.row.name, KersY.SATURATED.row.name
    others = Y.DISTANCE.row.name, *(v.name for v in model.select("output")[Y_PEAKS:])
    return replace(
        model, name=unit.name, description=unit.description, variables=table.variables, states=table.states, p=table.p,
        data=data, n_work=model.n_work + kers.W_NEW_Y + n_y, initialise=kers.kers_initialise,
        derivative=kers.kers_derivative, coupling=Coupling(*tasks, limits_of, kers.kers_brief, others),
        output=kers.kers_output, step=kers.kers_step, prepares=True, source=unit.text,
    )  # fmt: skip
