"""Units in machine code: no floating-point exception in normal operation, which a host may trap; no step refused.

Hostile inputs are those of `hostile_inputs`. There the torque controllers of the KERS may raise flags; the variator
may not, nor where its speed turns over within a step.
"""

import platform

import numpy as np
import pytest
from hostile_inputs import KINDS, hostile_inputs
from marks import slow
from steps_host import NativeUnit

from rtcvt.kind import kinds, load_unit
from rtcvt.scenario import apply_parameters, sample_inputs
from rtcvt.unitfile import shipped_units

pytestmark = [
    pytest.mark.needs("cc"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86_64, whose flags are these"),
]

LONGEST = 60.0  # of a scenario [s]
QUIET = {("pushbelt_cvt", "hybrid"), ("pushbelt_cvt", "rigid")}  # in any case
NAMES = [name for kind in kinds() if kind.build is not None for name in shipped_units(*kind.names)]


@pytest.mark.parametrize(("name", "fidelities"), [("toroidal_kers", ["rigid"]), *(slow(name, None) for name in NAMES)])
def test_no_exception_in_any_scenario_and_no_hostile_step_refused(tmp_path, name, fidelities):
    for fidelity in fidelities or load_unit(name).models:
        folder = tmp_path / fidelity
        folder.mkdir()
        check(folder, name, fidelity)


def check(tmp_path, name, fidelity):
    unit = load_unit(name)
    model = unit.build(fidelity)
    native, h = NativeUnit(model, tmp_path), model.step_size
    for scenario in unit.scenario:
        instance = model.instantiate()
        apply_parameters(instance, scenario.parameters, scenario.name)
        changed = {v.name: instance.p[v.index] for v in model.select("parameter")
                   if instance.p[v.index] != model.p[v.index]}  # fmt: skip
        time = h * np.arange(1 + round(min(scenario.duration, LONGEST) / h))
        u = sample_inputs(model, scenario, time)
        native.start(u[0], changed).run(u, h)
        assert (native.raised, native.refused) == ("", 0), scenario.name
    start = np.array([v.start for v in model.select("input")], dtype=float)
    quiet = (name, fidelity) in QUIET
    for kind in KINDS:
        for step in (1e-3, 20e-3):
            u = hostile_inputs(model, kind, 0, 3000 if quiet else 300, np.random.default_rng(3))
            native.start(start).run(u, step)
            assert native.refused == 0, kind
            assert not (quiet and native.raised), kind
    native.close()
