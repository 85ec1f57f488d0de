"""Units of other exporters on the rig: pythonfmu's (Python in a library) and fmucontainer's (a library in C)."""

import shutil
import subprocess

import numpy as np
import pytest
from tools import CONTAINER

from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.scenario import Scenario

pytestmark = pytest.mark.needs("loop")


@pytest.mark.slow
@pytest.mark.needs("fmucontainer")
def test_a_unit_of_fmucontainer(tmp_path):
    """Two native differentials in a container made and compiled by others."""
    from rtcvt.fmu.native.export import export_native
    from rtcvt.kind import load_unit

    export_native(load_unit("differential"), "rigid", tmp_path / "one.fmu")
    shutil.copy(tmp_path / "one.fmu", tmp_path / "two.fmu")
    lines = ["rule;from_fmu;from_port;to_fmu;to_port", "FMU;one.fmu;;;", "FMU;two.fmu;;;"]
    lines += [f"INPUT;;{n}.tau;{n}.fmu;left.tau" for n in ("one", "two")]
    lines += [f"OUTPUT;{n}.fmu;left.w;;{n}.w" for n in ("one", "two")]
    (tmp_path / "both.csv").write_text("\n".join(lines) + "\n")
    words = ["-fmu-directory", str(tmp_path), "-container", "both.csv:0.001"]
    done = subprocess.run([str(CONTAINER), *words, "-no-auto-link", "-no-auto-input", "-no-auto-output"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout
    inputs = {"one.tau": "2*sin(20*t)", "two.tau": 1.0}
    scenario = Scenario(name="both", duration=0.2, inputs=inputs)
    report = run_rig(tmp_path / "both.fmu", 1e-3, None, scenario, output=tmp_path / "both.h5")
    assert report.completed, report.message
    both = read(tmp_path / "both.h5").signals
    for name, key in (("one", "one.tau"), ("two", "two.tau")):
        alone = Scenario(name=name, duration=0.2, inputs={"left.tau": inputs[key]})
        run_rig(tmp_path / "one.fmu", 1e-3, None, alone, output=tmp_path / "alone.h5")
        speed = read(tmp_path / "alone.h5").signals["left.w"].values
        assert speed[-1] != 0.0
        np.testing.assert_allclose(both[f"{name}.w"].values[1:], speed[1:], rtol=1e-9, atol=1e-12)
