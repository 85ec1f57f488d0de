"""Belt drives as units: native code gives the model's bits, and the Python unit the same numbers."""

import math
import subprocess
from pathlib import Path

import fmpy
import pytest
from fmpy.validation import validate_fmu
from marks import slow
from native_host import H, Hosted

from rtcvt.belt.page import belt_page
from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import export_native, write_sources
from rtcvt.kind import load_unit

CASES = {
    "accessory": ("accessory_5pk", "hybrid", {"alternator__mu": 0.15, "belt__v_start": 12.0}),
    "accessory_rigid": ("accessory_5pk", "rigid", {}),
    "decoupled": ("accessory_6pk", "hybrid", {}),
    "speed": ("two_pulley_belt", "hybrid", {"P2__mu": 0.2}),
}


def inputs(model, k):
    """Large enough for wraps to slip, now and then."""
    return {v.name: 3.0 * (v.nominal or 1.0) * math.sin((3.0 + 2.0 * i) * k * H)
            for i, v in enumerate(model.select("input"))}  # fmt: skip


def own_run(model, steps, parameters):
    instance = model.instantiate()
    for name, value in parameters.items():
        instance.set(name.replace("__", "."), value)
    instance.initialise()
    found, statuses = [], set()
    for k in range(steps):
        for name, value in inputs(model, k).items():
            instance.set(name, value)
        statuses.add(instance.step(H))
        found.append(instance.y.tolist() + instance.x.tolist() + instance.derivative().tolist())
    return found, statuses


@pytest.mark.parametrize("key", ["speed", *map(slow, ("accessory", "accessory_rigid", "decoupled"))])
def test_a_native_unit_gives_the_same_bits_as_its_model(tmp_path, key):
    name, fidelity, parameters = CASES[key]
    record = load_unit(name)
    model = record.build(fidelity)
    path = export_native(record, fidelity, tmp_path / "unit.fmu", documentation=belt_page(model, record))
    assert not validate_fmu(str(path))
    unit = Hosted(Path(fmpy.extract(str(path), str(tmp_path / key)))).start(**parameters)
    expected, statuses = own_run(model, 600, parameters)
    found = []
    for k in range(600):
        unit.step(inputs(model, k))
        found.append(unit.values() + unit.values("local"))
    unit.fmi.freeInstance()
    assert found == expected
    assert key == "accessory_rigid" or statuses == {0, 1}  # some wrap has slipped


@pytest.mark.needs("cc")
def test_the_sources_compile_without_a_warning(tmp_path):
    write_sources(load_unit("accessory_5pk").build(), "accessory", tmp_path)
    command = ["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only"]
    done = subprocess.run([*command, str(tmp_path / "all.c")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_flanges_and_outputs_of_the_accessory_drive():
    variables = load_unit("accessory_5pk").build().by_name
    for flange in ("crankshaft", "alternator", "pump"):
        assert variables[f"{flange}.tau"].causality == "input"
        assert variables[f"{flange}.w"].causality == "output"
    assert variables["tensioner.w"].causality == "output"
    for name in ("crankshaft_alternator.F", "alternator_pump.F", "alternator.slip", "tensioner.F_x", "crankshaft.N"):
        assert variables[name].causality == "output"


@pytest.mark.slow
def test_the_python_unit_gives_the_same_numbers(tmp_path):
    path = export_python(load_unit("accessory_5pk"), "hybrid", tmp_path / "unit.fmu", documentation="<p>About</p>")
    start = {"crankshaft.tau": -12.0, "pump.tau": 3.0}
    result = fmpy.simulate_fmu(str(path), stop_time=0.05, output_interval=H, start_values=start,
                               output=["alternator.w", "tensioner_crankshaft.F"])  # fmt: skip
    instance = load_unit("accessory_5pk").build().instantiate()
    for name, value in start.items():
        instance.set(name, value)
    instance.initialise()
    for _ in range(50):
        instance.step(H)
    for name in ("alternator.w", "tensioner_crankshaft.F"):
        assert result[name][-1] == pytest.approx(instance.get(name), rel=1e-10)  # FMPy's steps are rounded
