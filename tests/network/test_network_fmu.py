"""A system as one FMU: it is valid, and its steps are those of Python, in another tool and on the rig."""

import fmpy
import numpy as np
import pytest
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu
from marks import slow
from rows import text_of

import rtcvt
from rtcvt.fmu.native.export import write_sources
from rtcvt.kind import load_unit

pytestmark = [pytest.mark.needs("cc"), pytest.mark.interpreted]

TEXT = text_of("units/signals.toml")


@pytest.mark.parametrize("fmi", [2, slow(3)])
def test_a_system_is_one_unit_of_fmi(tmp_path, fmi, command):
    file = tmp_path / "launch.toml"
    file.write_text(TEXT)
    unit = rtcvt.load(file)
    path = unit.export(tmp_path / "launch.fmu", fmi=fmi, errors=False)
    assert validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    assert description.coSimulation is not None
    assert description.modelExchange is None
    own = unit.simulate()
    signals = np.array([(t, u) for t, u in zip(own.time, own["clutch.clutch.u"], strict=True)],
                       dtype=[("time", float), ("clutch.clutch.u", float)])  # fmt: skip
    outputs = ["vehicle.vehicle.v", "driveline.axle.tau", "clutch.b.tau", "clutch.clutch.Q", "driver.brake.tau"]
    found = simulate_fmu(str(path), stop_time=0.3, step_size=1e-3, output_interval=1e-3, input=signals, output=outputs)
    for name in outputs:
        assert np.isfinite(found[name]).all()
        same = np.abs(found[name][:300] - own[name][:300]).max()
        assert same <= 1e-9 * np.abs(own[name]).max(), name
    code, _, error = command("run", str(path), "-s", "launch", "-o", str(tmp_path / "run.h5"))
    assert code == 0, error
    on_rig = rtcvt.read(tmp_path / "run.h5")
    for name in outputs:
        assert np.abs(on_rig[name][:300] - own[name][:300]).max() <= 1e-9 * np.abs(own[name]).max(), name


@pytest.mark.parametrize(
    "name", ["car_automatic", "car_electric", *map(slow, ["car_cvt", "car_cvt_kers", "car_hybrid"])]
)
def test_a_shipped_car_is_translated(tmp_path, name):
    model = load_unit(name).build()
    assert len({s.name for s in model.states}) == len(model.states)
    write_sources(model, name, tmp_path)
    assert "rt_derivative_tangent(" in (tmp_path / "kernels.c").read_text()
