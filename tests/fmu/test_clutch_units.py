"""Clutch, engine and their controllers as units: native code gives the model's bits, the Python unit its numbers."""

import math
from pathlib import Path

import fmpy
import pytest
from fmpy.validation import validate_fmu
from marks import slow
from native_host import H, Hosted

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.simulate import simulate

SCALE = {
    "clutch.u": 0.7,
    "control.theta": 0.3,
    "a.w": 20.0,
    "b.w": 20.0,
    "control.v": 15.0,
    "engine.pedal": 1.1,
    "control.r": 0.05,
}
SWITCH = {"clutch": 4, "clutch_control": 2, "engine": 1, "cvt_control": 0, "torque_converter": 2, "shift_control": 0}
# outputs that are zero or less now and then


def inputs(model, k):
    """Beyond every limit, now and then."""
    return {v.name: SCALE.get(v.name, 200.0) * math.sin((3.0 + 2.0 * i) * k * H)
            for i, v in enumerate(model.select("input"))}  # fmt: skip


@pytest.mark.parametrize("name", [n if n in ("clutch", "shift_control") else slow(n) for n in SWITCH])
@pytest.mark.needs("cc")
def test_a_native_unit_gives_the_same_bits_as_its_model(tmp_path, name):
    unit = load_unit(name)
    model = unit.build()
    path = export_native(unit, "rigid", tmp_path / "unit.fmu", documentation=unit.kind_record.page(model, unit))
    assert not validate_fmu(str(path))
    one, hosted = model.instantiate(), Hosted(Path(fmpy.extract(str(path), str(tmp_path / "unit")))).start()
    one.initialise()
    outputs, statuses = set(), set()
    for k in range(2000):
        for key, value in inputs(model, k).items():
            one.set(key, value)
        statuses.add(one.step(H))
        hosted.step(inputs(model, k))
        found = hosted.values() + hosted.values("local")
        assert found == one.y.tolist() + one.x.tolist() + one.derivative().tolist()
        outputs.add(one.y[SWITCH[name]] > 0.0)
    hosted.fmi.freeInstance()
    assert outputs == {False, True}
    assert statuses == ({0, 1} if name in ("clutch", "engine") else {0})


def test_the_python_unit_gives_the_same_numbers(tmp_path):
    unit = load_unit("clutch")
    path = export_python(unit, "rigid", tmp_path / "unit.fmu", documentation="<p>About</p>")
    start = {"a.w": 50.0, "clutch.u": 0.5}
    result = fmpy.simulate_fmu(str(path), stop_time=0.05, output_interval=H, start_values=start, output=["clutch.Q"])
    scenario = unit.scenario[0].model_copy(update={"duration": 0.05, "inputs": start})
    expected = simulate(unit.build(), scenario, H)["clutch.Q"]
    assert expected[-1] > 100.0
    assert result["clutch.Q"] == pytest.approx(expected, rel=1e-9)
