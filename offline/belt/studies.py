"""Parameter studies of the ANCF belt drive (Ntarladima, Pieber and Gerstmayr 2023, section 4, Figs. 14-23).

`rtcvt check two_pulley_belt` runs them over the unit's first scenario. Results are stored in its folder, so that an
interrupted study continues there. A study changes one key of the unit's table [ancf]; contact damping is proportional
to k_c and bristle viscosity to the root of mu_k, as in the paper.
"""

from pathlib import Path
from typing import Any

import numpy as np

from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.offline.belt.results import Case, Progress, Result, result
from rtcvt.offline.belt.runs import changed

STUDIES = ("elements", "step", "segments", "mu", "k_c", "mu_k", "scheme", "normals")
INSTANTS = (1.0, 2.45)  # of Fig. 22, and of the steady state [s]


def cases(unit: BeltUnit, study: str) -> dict[str, Case]:
    """The cases of a study by the changed value.

    Raises
    ------
    InputError
        There is no such study, or the unit has no ``ancf`` table or no scenario.
    """
    m = unit.ancf
    if m is None:
        raise InputError(unit.source, "ancf", None, "a table with contact and mesh of the ANCF belt")
    if not unit.scenario:
        raise InputError(unit.source, "scenario", None, "at least one scenario")
    values: dict[str, list[dict[str, Any]]] = {
        "elements": [{"elements": n} for n in (m.elements // 4, m.elements // 2, m.elements, 2 * m.elements)],
        "step": [{"step": f * m.step} for f in (0.5, 1.0, 2.0)],
        "segments": [{"segments": n} for n in (2, 4, 8)],
        "mu": [{"mu": f * m.mu} for f in (1.0, 2.0)],
        "k_c": [{"k_c": f * m.k_c, "d_c": f * m.d_c} for f in (0.1, 1.0)],
        "mu_k": [{"mu_k": f * m.mu_k, "mu_v": f**0.5 * m.mu_v} for f in (0.1, 1.0)],
        "scheme": [{"scheme": s, "elements": m.elements // 2} for s in "abc"],  # finer, schemes hardly differ
        "normals": [{"point_normals": p} for p in (False, True)],
    }
    if study not in values:
        raise InputError("study", "", study, f"one of {', '.join(STUDIES)}")
    found = {}
    for change in values[study]:
        key, value = next(iter(change.items()))
        label = f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        same = all(getattr(m, k) == v for k, v in change.items())
        name = "nominal" if same else label
        instants = tuple(t for t in INSTANTS if t <= unit.scenario[0].duration)
        found[label] = Case(name, unit if same else changed(unit, **change), unit.scenario[0], instants)
    return found


def run_study(unit: BeltUnit, study: str, folder: Path, progress: Progress | None = None) -> dict[str, Result]:
    """Results of all cases of a study, by the changed value."""
    return {label: result(case, folder, progress) for label, case in cases(unit, study).items()}


def figures(r: Result) -> dict[str, float]:
    """Speeds, torques, tensions and creep, means over the last 4 % of the run, which waves in the spans do not change.

    Creep is (v_max - v_min)/v_max over the spans. ``from strain`` uses the stretches instead of the speeds; ``from
    tension`` is (T_max - T_min)/EA with the paper's EA, that of the taut belt, which neglects that the tight
    span is longer.
    """
    unit, late = r.case.unit, r.time >= 0.96 * r.time[-1]
    values = {}

    def mean(name: str) -> float:
        return float(np.mean(r.series[name][late]))

    for name in unit.pulleys:
        values[f"{name}.w [rad/s]"] = mean(f"{name}.w")
        values[f"{name}.M [N.m]"] = mean(f"{name}.M")
    T, v = [mean(f"{s}.F") for s in unit.spans], [abs(mean(f"{s}.v")) for s in unit.spans]
    for s, force in zip(unit.spans, T, strict=True):
        values[f"{s}.F [N]"] = force
    values["creep"] = (max(v) - min(v)) / max(v)
    values["from strain"] = (max(T) - min(T)) / (max(T) + unit.belt.EA)
    values["from tension"] = (max(T) - min(T)) / (unit.belt.EA * unit.path().length / unit.rest_length())
    return values
