"""A variator's unit file as a real-time model: parameters, tables of the laws, variables."""

import math
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from rtcvt.errors import InputError
from rtcvt.model import Coupling, Fidelity, Model, model_of
from rtcvt.model.coupling import coupling
from rtcvt.table import Constants, Table, require_keys
from rtcvt.unitfile import ending, own_file
from rtcvt.variator import kernels, layout
from rtcvt.variator.layout import COUPLINGS, FLANGES, D, P, Q, RigidX, Term, U, X, Y
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.reduced.model import ReducedField, ReducedModel
from rtcvt.variator.reduced.tables import field_table, law_table, scratch
from rtcvt.variator.regression import ALIGNED
from rtcvt.variator.unit import Variator

HELD, RESERVE = 100.0, 2.0  # torque [N.m] that the inputs' start values hold, and how much more they could
_TERMS = {term.text: term for term in Term}  # of a field by its unit


def build_variator(
    unit: Variator, fidelity: Fidelity, substeps: int | None = None, reduced: ReducedModel | None = None
) -> Model:
    """The real-time model of a variator.

    Parameters
    ----------
    unit : Variator
        The machine.
    fidelity : {"rigid", "hybrid"}
        Which model.
    substeps : int, optional
        Internal steps per step instead of the unit's own.
    reduced : ReducedModel, optional
        The laws, instead of those that the unit names.

    Raises
    ------
    InputError
        There is no such model, no reduced model, a parameter is missing, or the belt cannot have these ratios.
    """
    if fidelity not in ("hybrid", "rigid"):
        raise InputError(unit.source, "model", fidelity, "'rigid' or 'hybrid'")
    if unit.solver.method != "rosenbrock":
        raise InputError(unit.source, "solver.method", unit.solver.method, "'rosenbrock'")
    laws = reduced or read_reduced(reduced_path(unit))
    data, table = Constants(D), Table()
    data[D.HYBRID] = fidelity == "hybrid"
    data[D.SPEED_I], data[D.SPEED_O] = (name in unit.flanges.speeds() for name in FLANGES)
    data[D.INTERNAL_STEP] = unit.solver.step / (substeps or unit.solver.substeps)
    c = laws.constants
    data[D.D_A], data[D.LENGTH], data[D.H_OFF] = c["d_A"], c["length"], c["h_off"]
    data[D.TAN_D], data[D.COS_D] = math.tan(c["delta_0"]), math.cos(c["delta_0"])
    data[D.MU], data[D.M_STAR], data[D.M_B] = c["mu"], c["m_star"], c["m_belt"]
    data[D.F_REF], data[D.XI_MAX], data[D.STRETCH] = c["F_ref"], c["xi_max"], c["ring_stretch"]
    data[D.SLIDE] = laws.slide
    data[D.PHI_MIN], data[D.PHI_MAX] = (_angle(unit, data, name) for name in ("min", "max"))
    ungiven = {place.row.name: value for place, value in layout.UNGIVEN.items()}
    values = ungiven | {"belt.K": 2.0 * c["K_belt"], "belt.d": 2.0 * c["d_belt"]} | unit.values()
    start = values.get("ratio.start", 1.0)
    if not unit.ratio.min <= start <= unit.ratio.max:
        raise InputError(unit.source, "parameters.ratio.start", start, "a ratio between ratio.min and ratio.max")
    _parameters(table, data, unit, values)
    begin = _clamped(table, data, start) | {U.RATIO: start}
    for row in U:
        speed = row.row.name.removesuffix(".tau") if row in (U.I, U.O) else ""
        if speed in unit.flanges.speeds():
            table.add("input", layout.SPEED_IN, 0.0, {"flange": speed})
        else:
            table.add("input", row, begin.get(row, 0.0))
    peaks, fields = _peaks(laws), _chosen_fields(unit, laws)
    _outputs(table, unit, peaks, fields)
    if laws.correction.size:
        data[D.ACROSS] = table.size("output")
        table.each("output", layout.ACROSS)
    if laws.uncertainty.size and "flank_normal" in peaks:
        data[D.UNCERTAIN], data[D.BANDS] = table.size("output"), 1 + bool(laws.parametric.size)
        data[D.FLANK_PEAK] = layout.Y_PEAKS + list(peaks).index("flank_normal")
        table.each("output", layout.UNCERTAINTY + layout.PARAMETRIC * bool(laws.parametric.size))
    table.each("state", X if fidelity == "hybrid" else RigidX)
    coupled = [{"flange": name} for name in unit.flanges.speeds()]
    table.each("state", [layout.COUPLING_TORQUE, layout.COUPLING_D_TORQUE], coupled)
    data.table(D.PEAK_LIST, [_TERMS[unit_of] for unit_of in peaks.values()])
    data.table(D.FIELD_LIST, [_TERMS[field.unit] for field in fields])
    data.fill(ALIGNED)
    data.table(D.LAWS, law_table(laws).tolist())
    data.table(D.SIZES, [v.nominal or 1.0 for v in table.states])
    data.table(D.FIELD_TABLE, field_table(replace(laws, fields=fields)).tolist() if fields else ())
    data[D.N_PEAKS], data[D.N_FIELDS] = len(peaks), len(fields)
    data[D.N_X], data[D.N_Y] = table.size("state"), table.size("output")
    data[D.PHI], data[D.N_SCRATCH] = layout.W_Y + data[D.N_Y], scratch(laws)
    outputs = [v.name for v in table.variables if v.causality == "output"]
    tasks = kernels.linearise, kernels.port, kernels.flange, kernels.coupled_piece
    limits = tuple(place.row.name for place in (Y.OUTSIDE, Y.END_STOP, Y.FORCE_LIMITED))
    others = tuple(name for k, name in enumerate(outputs) if k not in layout.STATE_OUTPUTS)
    return model_of(
        unit, fidelity, table, kernels, data=data.array(), n_work=layout.W_Y + table.size("output") + scratch(laws),
        step_size=unit.solver.step, internal_step=data[D.INTERNAL_STEP],
        coupling=Coupling(*tasks, limits, kernels.brief, others, kernels.again), prepares=False,
    )  # fmt: skip


def reduced_path(unit: Variator) -> Path:
    """File of the reduced model of a unit: a file in its folder, or a shipped one.

    Raises
    ------
    InputError
        The file does not exist.
    """
    return find_reduced(unit.reduced, unit.folder, unit.source, "reduced")


def find_reduced(name: str, folder: Path, source: str, key: str = "") -> Path:
    """File of a reduced model in a folder, or of a shipped one; errors are about the `key` in `source`."""
    own = own_file(folder, name, f"{source}: {key}" if key else source)
    if own is not None:
        return own
    shipped_in = Path(str(resources.files("rtcvt"))) / "reduced"
    shipped = {
        f.stem: f for f in sorted(shipped_in.glob("*.h5")) if "_heldout" not in f.stem and "_drive" not in f.stem
    }
    if name not in shipped:
        allowed = f"a file, or a shipped model: {', '.join(shipped)}{ending(folder / name, '.h5')}"
        raise InputError(source, key, name, allowed)
    return shipped[name]


def _chosen_fields(unit: Variator, laws: ReducedModel) -> tuple[ReducedField, ...]:
    """The fields that come out, their cells merged by means to those of the outputs."""
    known = {field.name: field for field in laws.fields}
    chosen = []
    for name in unit.fields:
        if name not in known:
            raise InputError(unit.source, "fields", name, f"of {', '.join(known)}")
        modes = known[name].modes
        if modes.shape[1] % (layout.N_SECTIONS * unit.cells) != 0:
            raise InputError(unit.source, "cells", unit.cells, f"a divisor of {modes.shape[1] // layout.N_SECTIONS}")
        merged = modes.reshape(len(modes), layout.N_SECTIONS * unit.cells, -1).mean(axis=2)
        chosen.append(replace(known[name], modes=merged))
    return tuple(chosen)


def _peaks(laws: ReducedModel) -> dict[str, str]:
    """Units by name of the fields that have a peak."""
    units = {field.name: field.unit for field in laws.fields}
    return {name: units[name] for peak in laws.peaks if (name := peak.name.removeprefix("peak.")) in units}


def radii(phi: float, data: Constants) -> tuple[float, float]:
    """Radii r_I, r_O of the neutral fibre [m] at an angle [rad]."""
    w = np.zeros(layout.N_Q)
    kernels.geometry(phi, data.array(), w)
    return float(w[Q.R_I]), float(w[Q.R_O])


def _angle(unit: Variator, data: Constants, end: str) -> float:
    """Angle phi [rad] of an end stop; the ratio grows with it."""
    ratio = getattr(unit.ratio, end)
    w, numbers = np.zeros(layout.N_Q), data.array()
    found = {}
    for phi in np.linspace(0.01 * math.pi, 0.99 * math.pi, 197):
        kernels.geometry(phi, numbers, w)
        if min(w[Q.RP_I], w[Q.RP_O]) > 0.0:
            found[float(phi)] = float(w[Q.I_G])
    numbers[D.PHI_MIN], numbers[D.PHI_MAX] = min(found), max(found)
    low, high = min(found.values()), max(found.values())
    if not low < ratio < high:
        allowed = f"a ratio that this belt can have: {low:.3g} to {high:.3g}"
        raise InputError(unit.source, f"ratio.{end}", ratio, allowed)
    return float(kernels.angle_of(ratio, numbers, w))


def _parameters(table: Table, data: Constants, unit: Variator, values: dict[str, float]) -> None:
    """Write the parameters; those of the couplings are variables only where a speed is given."""
    places = [place for place in P if place < P.C_I]
    require_keys(unit.source, values, {place.row.name: place.row for place in places})
    for place in places:
        row, value = place.row, values[place.row.name]
        if place == P.I_START:
            row = row._replace(minimum=unit.ratio.min, maximum=unit.ratio.max)
        table.add("parameter", row, value)
    for name, inertia in _least_inertias(table, data, unit).items():
        for place, value in zip(COUPLINGS[name], coupling(inertia, unit.solver.step), strict=True):
            if name in unit.flanges.speeds():
                table.add("parameter", place, value)
            else:
                table.hide(place, value)


def _clamped(table: Table, data: Constants, ratio: float) -> dict[U, float]:
    """Start values of clamping forces and pressures [N, Pa] that hold `HELD` with `RESERVE` at a ratio.

    tau = 2 mu F r'/cos(delta_0) at the primary, whose rocking edges run at r'.
    """
    w = np.zeros(layout.N_Q)
    edge = radii(float(kernels.angle_of(ratio, data.array(), w)), data)[0] - data[D.H_OFF]
    force = RESERVE * HELD * data[D.COS_D] / (2.0 * data[D.MU] * edge)
    force = 1e3 * math.ceil(1e-3 * force)
    found = {U.F_I: force, U.F_O: force}
    for row, area, spring in ((U.P_I, P.A_I, P.F_SPRING_I), (U.P_O, P.A_O, P.F_SPRING_O)):
        pressed = max(force - table.p[spring], 0.0)
        found[row] = pressed / table.p[area] if table.p[area] > 0.0 else 0.0
    return found


def _least_inertias(table: Table, data: Constants, unit: Variator) -> dict[str, float]:
    """Least inertia [kg.m2] of the rigid model at each flange."""
    p = table.p
    ends = [radii(data[k], data) for k in (D.PHI_MIN, D.PHI_MAX)]
    ratios = [unit.ratio.min, unit.ratio.max]
    primary = [
        p[P.J_I] + data[D.M_B] * (r_I - data[D.H_OFF]) ** 2 + p[P.J_O] / i**2
        for (r_I, _), i in zip(ends, ratios, strict=True)
    ]
    return {"primary": min(primary), "secondary": min(J * i**2 for J, i in zip(primary, ratios, strict=True))}


def _outputs(table: Table, unit: Variator, peaks: dict[str, str], fields: tuple[ReducedField, ...]) -> None:
    for row in Y:
        flange = row.row.name.removesuffix(".w") if row in (Y.I, Y.O) else ""
        if flange in unit.flanges.speeds():
            table.add("output", layout.TORQUE_OUT, fields={"flange": flange})
        else:
            table.add("output", row)
    for name, unit_of in peaks.items():
        fields_of: dict[str, object] = {"name": name, "about": name.replace("_", " ")}
        table.add("output", layout.PEAK._replace(unit=unit_of), fields=fields_of)
    for field in fields:
        shown = layout.FIELD._replace(unit=field.unit)
        for k in range(layout.N_SECTIONS * unit.cells):
            section, cell = divmod(k, unit.cells)
            fields_of = {"name": field.name, "about": field.name.replace("_", " "), "k": k + 1}
            fields_of |= {"section": layout.SECTIONS[section], "cell": cell + 1, "cells": unit.cells}
            table.add("output", shown, fields=fields_of)
