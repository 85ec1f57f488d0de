"""Cost of one 1 ms step of the shipped variator: both models, given forces or given ratio, with and without fields.

The aim is less than 10 us without fields and less than 30 us with them. The KERS unit is measured without fields.
"""

import pytest

from rtcvt.build import build_any, load_any
from rtcvt.variator.build import build_variator, reduced_path
from rtcvt.variator.reduced_model import read_reduced
from rtcvt.variator.unit import load_variator

UNIT = load_variator("pushbelt_cvt")


@pytest.mark.parametrize("control", [0, 2], ids=["forces", "ratio"])
@pytest.mark.parametrize("cells", [0, 16, 64])
@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_step(benchmark, fidelity, cells, control):
    laws = read_reduced(reduced_path(UNIT))
    fields = tuple(f.name for f in laws.fields) if cells else ()
    unit = UNIT.model_copy(update={"fields": fields, "cells": cells or 16})
    model = build_variator(unit, fidelity, reduced=laws)
    one = model.instantiate()
    start = {"clamp.control": control, "clamp.primary.F": 15e3, "clamp.secondary.F": 12e3, "primary.tau": 40.0,
             "secondary.tau": -39.0}  # fmt: skip
    for name, value in start.items():
        one.set(name, value)
    one.initialise()
    benchmark(model.step, 0.0, 1e-3, one.x, one.u, one.p, one.y, one.work)


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_step_of_the_kers(benchmark, fidelity):
    model = build_any(load_any("pushbelt_kers"), fidelity)
    one = model.instantiate()
    for name, value in {"shaft.w": 260.0, "shaft.w_start": 260.0, "control.tau_des": 40.0}.items():
        one.set(name, value)
    one.initialise()
    benchmark(model.step, 0.0, 1e-3, one.x, one.u, one.p, one.y, one.work)
