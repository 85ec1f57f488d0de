"""The KERS with a pushbelt as a unit: native code has the bits of the kernels, its page is inside, Python runs it."""

import math
from pathlib import Path

import fmpy
import numpy as np
import pytest
import variator_laws as analytic
from fmpy.validation import validate_fmu
from native_host import H, Hosted

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import own_platform, write_unit
from rtcvt.kind import load_unit
from rtcvt.variator.page import variator_page
from rtcvt.variator.reduced_model import write_reduced

pytestmark = pytest.mark.needs("cc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kers")
    text = load_unit("pushbelt_kers").text.replace('reduced = "pushbelt_24mm"', 'reduced = "laws.h5"')
    write_reduced(analytic.laws(), folder / "laws.h5")
    (folder / "kers.toml").write_text(text, encoding="utf-8")
    return folder


def signals(k):
    """Drives over the limits, through standstill and back."""
    t = k * H
    return {"shaft.w": 300.0 * math.cos(2.5 * t), "control.tau_des": 250.0 * math.sin(9.0 * t)}


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_native_code_has_the_bits_of_the_kernels(folder, fidelity):
    unit = load_unit(folder / "kers.toml")
    model = unit.build(fidelity)
    path = folder / f"{fidelity}.fmu"
    write_unit(model, path, [own_platform()], 1.0, documentation=variator_page(model, unit))
    assert validate_fmu(str(path)) == []
    unpacked = Path(fmpy.extract(str(path), str(folder / fidelity)))
    page = (unpacked / "documentation" / "index.html").read_text(encoding="utf-8")
    for part in (
        "Torque estimate",
        "bounds on its rate",
        "shaft.w_start</code>: give it",
        "No loss is ever negative",
        "control.saturated",
        "thrust ratio",
    ):
        assert part in page
    one = model.instantiate()
    one.set("flywheel.J", 5e-3)  # light enough for these signals
    for name, value in signals(0).items():
        one.set(name, value)
    one.initialise()
    hosted = Hosted(unpacked)
    hosted.start(flywheel__J=5e-3, **{name.replace(".", "__"): value for name, value in signals(0).items()})
    limited = []
    for k in range(1000):
        for name, value in signals(k).items():
            one.set(name, value)
        one.step(H)
        hosted.step(signals(k))
        assert hosted.values() + hosted.values("local") == [
            *one.y.tolist(),
            *one.x.tolist(),
            *one.derivative().tolist(),
        ]
        limited.append(one.get("control.saturated"))
    hosted.fmi.freeInstance()
    assert 0.0 < np.mean(limited) < 1.0


def test_a_unit_in_python_runs(folder, tmp_path):
    path = export_python(load_unit(folder / "kers.toml"), "rigid", tmp_path / "unit.fmu")
    result = fmpy.simulate_fmu(
        str(path), stop_time=0.5, step_size=H, output_interval=H,
        start_values={"shaft.w": 260.0, "shaft.w_start": 260.0, "control.tau_des": 30.0}, output=["shaft.tau"],
    )  # fmt: skip
    assert result["shaft.tau"][-1] == pytest.approx(30.0, abs=1.5)
