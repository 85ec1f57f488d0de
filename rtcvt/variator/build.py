"""A variator's unit file as a real-time model: parameters, tables of the laws, variables."""

import math
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.pog.flange import coupling
from rtcvt.variator import kernels, layout
from rtcvt.variator.reduced_model import ReducedField, ReducedModel, read_reduced
from rtcvt.variator.unit import FLANGES, PARAMETERS, TINY, Row, Variator

__all__ = ["build_variator", "reduced_path"]

STATES = {
    "hybrid": (
        ("primary.w", "rad/s"),
        ("belt.v", "m/s"),
        ("secondary.w", "rad/s"),
        ("belt.S_I", "N"),
        ("belt.S_O", "N"),
        ("ratio.phi", "rad"),
        ("belt.T_f", "N"),
        ("belt.y_f", "1"),
    ),
    "rigid": (("primary.w", "rad/s"), ("ratio.phi", "rad"), ("belt.T_f", "N"), ("belt.y_f", "1")),
}
TERMS = {"N/m": layout.PER_LENGTH, "N": layout.WHOLE, "m": layout.OFFSET}  # of a field by its unit
_INPUTS = (
    Row("clamp.primary.F", "N", "clamping force of the primary, if clamp.control is 0", None, None, 1e4, "kN"),
    Row("clamp.secondary.F", "N", "clamping force of the secondary, if clamp.control is 0 or 2", None, None, 1e4, "kN"),
    Row("clamp.primary.p", "Pa", "pressure in the primary's cylinder, if clamp.control is 1", None, None, 1e6, "bar"),
    Row("clamp.secondary.p", "Pa", "pressure in the secondary's cylinder, if it is 1", None, None, 1e6, "bar"),
    Row("ratio.des", "1", "ratio that is wanted, if clamp.control is 2", None, None, 1.0),
)
SECTIONS = ("primary arc", "push span", "secondary arc", "slack span")
_OUTPUTS = (
    Row("ratio.i", "1", "geometric ratio r'_O/r'_I of the rocking edges' radii", 0.0, None, 1.0),
    Row("ratio.rate", "1/s", "rate of ratio.i", None, None, 1.0),
    Row("radius.primary", "m", "running radius of the neutral fibre on the primary", 0.0, None, 0.05, "mm"),
    Row("radius.secondary", "m", "running radius of the neutral fibre on the secondary", 0.0, None, 0.05, "mm"),
    Row("belt.slip", "1", "speed loss, 1 - r'_O w_O/(r'_I w_I)", None, None, 0.01, "%"),
    Row("belt.v", "m/s", "speed of the belt", None, None, 10.0),
    Row("belt.T_I", "N", "traction from the primary to the belt", None, None, 1e3),
    Row("belt.T_O", "N", "traction from the belt to the secondary", None, None, 1e3),
    Row("variator.efficiency", "1", "power out by power in, at the pulleys", 0.0, 1.0, 1.0, "%"),
    Row("thrust.primary", "N", "clamping force on the primary", 0.0, None, 1e4, "kN"),
    Row("thrust.secondary", "N", "clamping force on the secondary", 0.0, None, 1e4, "kN"),
    Row("thrust.ratio", "1", "clamping force of the primary by that of the secondary", 0.0, None, 1.0),
    Row("thrust.balance", "1", "thrust ratio at which the variator does not shift", 0.0, None, 1.0),
    Row(
        "belt.margin", "1", "least of 1 - traction by a pulley's capacity, 1 - speed loss by 5 %", None, None, 1.0, "%"
    ),
    Row("storage.E", "J", "energy of pulleys, belt and couplings", 0.0, None, 1e3, "kJ"),
    Row("clamp.P", "W", "power of the clamping forces into the variator", None, None, 100.0),
    Row("loss.sliding", "W", "lost by creep and macro-slip", 0.0, None, 100.0),
    Row("loss.damping", "W", "lost in the belt's damping", 0.0, None, 1.0),
    Row("loss.belt", "W", "lost otherwise while the belt runs", 0.0, None, 100.0),
    Row("loss.shift", "W", "lost by shifting", 0.0, None, 10.0),
    Row("loss.stop", "W", "lost in the end stops", 0.0, None, 10.0),
    Row("loss.bearing", "W", "lost in the bearings", 0.0, None, 10.0),
    Row("loss.coupling", "W", "lost in the couplings of flanges with given speed", 0.0, None, 1.0),
)
_STATUS = (
    ("status.macro_slip", "the belt slides as a whole: at the capacity of a pulley, or by over 5 % of its speed"),
    ("status.extrapolating", "the operating point is outside the data of the laws"),
    ("status.limited", "an end stop, or a limit of the clamping force, is active"),
)


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
    if fidelity not in STATES:
        raise InputError(unit.source, "model", fidelity, "'rigid' or 'hybrid'")
    if unit.solver.method != "rosenbrock":
        raise InputError(unit.source, "solver.method", unit.solver.method, "'rosenbrock'")
    laws = reduced or read_reduced(reduced_path(unit))
    p = np.zeros(layout.TABLES)
    p[layout.HYBRID] = fidelity == "hybrid"
    p[layout.SPEED_I], p[layout.SPEED_O] = (name in unit.flanges.speeds() for name in FLANGES)
    p[layout.INTERNAL_STEP] = unit.solver.step / (substeps or unit.solver.substeps)
    c = laws.constants
    p[layout.D_A], p[layout.LENGTH], p[layout.H_OFF] = c["d_A"], c["length"], c["h_off"]
    p[layout.TAN_D], p[layout.COS_D] = math.tan(c["delta_0"]), math.cos(c["delta_0"])
    p[layout.MU], p[layout.M_STAR], p[layout.M_B] = c["mu"], c["m_star"], c["m_belt"]
    p[layout.F_REF], p[layout.XI_MAX], p[layout.STRETCH] = c["F_ref"], c["xi_max"], c["ring_stretch"]
    p[layout.PHI_MIN], p[layout.PHI_MAX] = (_angle(unit, p, name) for name in ("min", "max"))
    values = {"belt.K": 2.0 * c["K_belt"], "belt.d": 2.0 * c["d_belt"]} | unit.values()
    start = values.get("ratio.start", 1.0)
    if not unit.ratio.min <= start <= unit.ratio.max:
        raise InputError(unit.source, "parameters.ratio.start", start, "a ratio between ratio.min and ratio.max")
    variables = list(_parameters(unit, values, p))
    variables += _couplings(unit, p)
    peaks, fields = _peaks(laws), _chosen_fields(unit, laws)
    blocks = {
        layout.PEAK_LIST: np.array([TERMS[unit_of] for unit_of in peaks.values()]),
        layout.FIELD_LIST: np.array([TERMS[field.unit] for field in fields]),
        layout.LAWS: laws.table(),
        layout.FIELD_TABLE: replace(laws, fields=fields).field_table() if fields else np.zeros(0),
    }
    at = layout.TABLES
    for place, block in blocks.items():
        p[place] = at
        at += len(block)
    p[layout.N_PEAKS], p[layout.N_FIELDS] = len(peaks), len(fields)
    p = np.concatenate([p, *blocks.values()])
    states = [*STATES[fidelity]]
    for name in FLANGES:
        if name in unit.flanges.speeds():
            states += [(f"{name}.coupling", "N.m"), (f"{name}.coupling.d", "N.m")]
    variables += _inputs(unit, start)
    variables += _outputs(unit, laws)
    n_y = sum(v.causality == "output" for v in variables)
    p[layout.N_X], p[layout.N_Y] = len(states), n_y
    p[layout.PHI], p[layout.N_SCRATCH] = layout.W_Y + n_y, laws.scratch
    return Model(
        name=unit.name,
        description=unit.description,
        fidelity=fidelity,
        variables=tuple(variables),
        states=tuple(states),
        p=p,
        n_work=layout.W_Y + n_y + laws.scratch,
        step_size=unit.solver.step,
        initialise=kernels.initialise,
        derivative=kernels.derivative,
        jacobian=kernels.jacobian,
        output=kernels.output,
        step=kernels.step,
        source=unit.text,
    )


def reduced_path(unit: Variator) -> Path:
    """File of the reduced model that a unit names: one beside it, or a shipped one.

    Raises
    ------
    InputError
        There is no such file.
    """
    own = unit.folder / unit.reduced
    if own.is_file():
        return own
    folder = Path(str(resources.files("rtcvt"))) / "reduced"
    shipped = {f.stem: f for f in sorted(folder.glob("*.h5")) if not f.stem.endswith("_heldout")}
    if unit.reduced not in shipped:
        raise InputError(unit.source, "reduced", unit.reduced, f"a file, or a shipped model: {', '.join(shipped)}")
    return shipped[unit.reduced]


def _chosen_fields(unit: Variator, laws: ReducedModel) -> tuple[ReducedField, ...]:
    """The fields that come out, their cells merged by means to those of the outputs."""
    known = {field.name: field for field in laws.fields}
    chosen = []
    for name in unit.fields:
        if name not in known:
            raise InputError(unit.source, "fields", name, f"of {', '.join(known)}")
        modes = known[name].modes
        if modes.shape[1] % (layout.SECTIONS * unit.cells) != 0:
            raise InputError(unit.source, "cells", unit.cells, f"a divisor of {modes.shape[1] // layout.SECTIONS}")
        merged = modes.reshape(len(modes), layout.SECTIONS * unit.cells, -1).mean(axis=2)
        chosen.append(replace(known[name], modes=merged))
    return tuple(chosen)


def _peaks(laws: ReducedModel) -> dict[str, str]:
    """Units by name of the fields that have a peak."""
    units = {field.name: field.unit for field in laws.fields}
    return {name: units[name] for peak in laws.peaks if (name := peak.name.removeprefix("peak.")) in units}


def radii(phi: float, p: NDArray[np.float64]) -> tuple[float, float]:
    """Radii r_I, r_O of the neutral fibre [m] at an angle [rad]."""
    w = np.zeros(layout.N_Q)
    kernels.geometry(phi, p, w)
    return float(w[layout.R_I]), float(w[layout.R_O])


def _angle(unit: Variator, p: NDArray[np.float64], end: str) -> float:
    """Angle phi [rad] of an end stop; the ratio grows with it."""
    ratio = getattr(unit.ratio, end)
    w, p = np.zeros(layout.N_Q), p.copy()
    found = {}
    for phi in np.linspace(0.01 * math.pi, 0.99 * math.pi, 197):
        kernels.geometry(phi, p, w)
        if min(w[layout.RP_I], w[layout.RP_O]) > 0.0:
            found[float(phi)] = float(w[layout.I_G])
    p[layout.PHI_MIN], p[layout.PHI_MAX] = min(found), max(found)
    low, high = min(found.values()), max(found.values())
    if not low < ratio < high:
        allowed = f"a ratio that this belt can have: {low:.3g} to {high:.3g}"
        raise InputError(unit.source, f"ratio.{end}", ratio, allowed)
    return float(kernels.angle_of(ratio, p, w))


def _parameters(unit: Variator, values: dict[str, float], p: NDArray[np.float64]) -> Iterator[Variable]:
    """Write the parameters into `p`."""
    for place, row in enumerate(PARAMETERS, layout.J_I):
        value = values.get(row.name)
        if value is None:
            text = f"this key is required: {row.text} [{row.unit}]"
            raise InputError(unit.source, f"parameters.{row.name}", None, text)
        p[place] = value
        low, high = row.minimum, row.maximum
        if row.name == "ratio.start":
            low, high = unit.ratio.min, unit.ratio.max
        nominal = row.nominal or abs(value) or None
        yield Variable(row.name, "parameter", place, row.unit, row.text, value, low, high, nominal, row.display)


def _couplings(unit: Variator, p: NDArray[np.float64]) -> Iterator[Variable]:
    """Stiffness and damping of the couplings at flanges whose speed is given, from the least inertia there."""
    ends = [radii(p[k], p) for k in (layout.PHI_MIN, layout.PHI_MAX)]
    ratios = [unit.ratio.min, unit.ratio.max]
    primary = [
        p[layout.J_I] + p[layout.M_B] * (r_I - p[layout.H_OFF]) ** 2 + p[layout.J_O] / i**2
        for (r_I, _), i in zip(ends, ratios, strict=True)
    ]
    least = {"primary": min(primary), "secondary": min(J * i**2 for J, i in zip(primary, ratios, strict=True))}
    for name, place in zip(FLANGES, (layout.C_I, layout.C_O), strict=True):
        c, d = coupling(least[name], unit.solver.step)
        p[place], p[place + 1] = c, d
        if name in unit.flanges.speeds():
            text = f"of the coupling between flange {name} and its pulley"
            yield Variable(f"{name}.c", "parameter", place, "N.m/rad", f"stiffness {text}", c, TINY, None, c)
            yield Variable(f"{name}.d", "parameter", place + 1, "N.m.s/rad", f"damping {text}", d, TINY, None, d)


def _inputs(unit: Variator, ratio: float) -> Iterator[Variable]:
    for k, name in enumerate(FLANGES):
        if name in unit.flanges.speeds():
            text = f"speed of flange {name}"
            yield Variable(f"{name}.w", "input", k, "rad/s", text, 0.0, nominal=100.0, display_unit="rpm")
        else:
            yield Variable(
                f"{name}.tau", "input", k, "N.m", f"torque into the variator at flange {name}", 0.0, nominal=100.0
            )
    for k, row in enumerate(_INPUTS, layout.U_F_I):
        start = ratio if row.name == "ratio.des" else 0.0
        yield Variable(row.name, "input", k, row.unit, row.text, start, nominal=row.nominal, display_unit=row.display)


def _outputs(unit: Variator, laws: ReducedModel) -> Iterator[Variable]:
    place = 0
    for name in FLANGES:
        if name in unit.flanges.speeds():
            text = f"torque into the variator at flange {name}: tau w is power in"
            yield Variable(f"{name}.tau", "output", place, "N.m", text, nominal=100.0)
        else:
            text = f"speed of flange {name}"
            yield Variable(f"{name}.w", "output", place, "rad/s", text, nominal=100.0, display_unit="rpm")
        place += 1
    for row in _OUTPUTS:
        yield Variable(
            row.name, "output", place, row.unit, row.text, None, row.minimum, row.maximum, row.nominal, row.display
        )
        place += 1
    for name, text in _STATUS:
        yield Variable(name, "output", place, "1", text, boolean=True)
        place += 1
    text = "distance of the operating point from the nearest one of the campaign, 1 is typical between these"
    yield Variable("status.distance", "output", place, "1", text, None, 0.0, nominal=1.0)
    place += 1
    for name, unit_of in _peaks(laws).items():
        text = f"greatest value around the belt: {name.replace('_', ' ')}"
        yield Variable(f"peak.{name}", "output", place, unit_of, text, nominal=1e3)
        place += 1
    units = {field.name: field.unit for field in laws.fields}
    for name in unit.fields:
        for k in range(layout.SECTIONS * unit.cells):
            section, cell = divmod(k, unit.cells)
            text = f"{name.replace('_', ' ')}: {SECTIONS[section]}, cell {cell + 1} of {unit.cells}"
            yield Variable(f"field.{name}[{k + 1}]", "output", place, units[name], text, nominal=1e3)
            place += 1
