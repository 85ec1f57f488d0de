"""Cost of one 1 ms step of the shipped variator: both models, given forces or given ratio, with and without fields.

The aim is less than 10 us without fields and less than 30 us with them, from Python and as a native unit through FMPy.
The KERS unit is measured without fields. Every model is warm before it is measured: the first call of a kernel reads
its machine code, which would end a measurement after five calls.
"""

from pathlib import Path

import fmpy
import pytest
from fmpy_host import measure_do_step

from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.variator.build import build_variator, reduced_path
from rtcvt.variator.reduced.file import read_reduced

UNIT = load_unit("pushbelt_cvt")
FORCES = {"clamp.primary.F": 15e3, "clamp.secondary.F": 12e3, "primary.tau": 40.0, "secondary.tau": -39.0}


def with_fields(cells):
    """The unit with all fields of its reduced model on so many cells of a section, or without fields."""
    fields = tuple(f.name for f in read_reduced(reduced_path(UNIT)).fields) if cells else ()
    return UNIT.model_copy(update={"fields": fields, "cells": cells or 16})


def measure(benchmark, model, values):
    """Benchmark steps of 1 ms at constant inputs."""
    one = model.instantiate()
    for name, value in values.items():
        one.set(name, value)
    one.initialise()
    arguments = (0.0, 1e-3, one.x, one.u, one.p, model.data, one.y, one.work)
    for _ in range(1000):
        model.step(*arguments)
    benchmark(model.step, *arguments)


@pytest.mark.parametrize("control", [0, 2], ids=["forces", "ratio"])
@pytest.mark.parametrize("cells", [0, 16, 64])
@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_step(benchmark, fidelity, cells, control):
    measure(benchmark, build_variator(with_fields(cells), fidelity), {"clamp.control": control} | FORCES)


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_step_of_the_kers(benchmark, fidelity):
    model = load_unit("pushbelt_kers").build(fidelity)
    measure(benchmark, model, {"shaft.w": 260.0, "shaft.w_start": 260.0, "control.tau_des": 40.0})


@pytest.mark.parametrize("cells", [0, 64])
def test_step_of_a_native_unit(benchmark, tmp_path, cells):
    path = export_native(with_fields(cells), "hybrid", tmp_path / "unit.fmu")
    folder = Path(fmpy.extract(str(path), str(tmp_path / "unit")))
    measure_do_step(benchmark, folder, inputs=FORCES)
    print(f"\n{path.stat().st_size / 1e6:.1f} MB")


def test_observer_step(benchmark):
    measure(benchmark, load_unit("pushbelt_observer").build(), {})
