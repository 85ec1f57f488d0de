"""Units of other exporters on the rig: pythonfmu's (Python in a library) and fmucontainer's (a library in C)."""

import shutil
import subprocess

import numpy as np
import pytest
from pythonfmu.builder import FmuBuilder
from tools import CONTAINER

from rtcvt.errors import InputError
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.scenario import Scenario

pytestmark = pytest.mark.needs("loop")


PENDULUM = '''
import ctypes
import math

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

ctypes.pythonapi.Py_IncRef(ctypes.py_object(globals()))


class Pendulum(Fmi2Slave):
    """phi'' = -g/l sin(phi) + tau, by semi-implicit Euler."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tau, self.phi, self.w, self.l = 0.0, 0.1, 0.0, 1.0
        self.register_variable(Real("tau", causality=Fmi2Causality.input))
        self.register_variable(Real("l", causality=Fmi2Causality.parameter, variability=Fmi2Variability.fixed))
        self.register_variable(Real("phi", causality=Fmi2Causality.output))

    def do_step(self, t, h):
        self.w += h * (self.tau - 9.81 / self.l * math.sin(self.phi))
        self.phi += h * self.w
        return True
'''


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pendulum")
    (folder / "pendulum.py").write_text(PENDULUM)
    FmuBuilder.build_FMU(folder / "pendulum.py", dest=folder)
    return folder / "Pendulum.fmu"


def expected(n, h=1e-3, w=0.0, phi=0.1):
    found = [phi]
    for _ in range(n):
        w += h * -9.81 * np.sin(phi)
        phi += h * w
        found.append(phi)
    return found


def test_a_unit_of_pythonfmu(pendulum, tmp_path):
    scenario = Scenario(name="free", duration=0.3, inputs={"tau": 0.0}, parameters={"l": 1.0})
    report = run_rig(pendulum, 1e-3, None, scenario, output=tmp_path / "run.h5")
    assert report.completed
    assert report.figures["lost"] == 0
    np.testing.assert_allclose(read(tmp_path / "run.h5").signals["phi"].values, expected(300), rtol=1e-12)


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


def test_why_a_unit_cannot_run_is_said(variant):
    with pytest.raises(InputError, match="model exchange only"):
        run_rig(variant(v=("<CoSimulation", "<ModelExchange")), 1e-3, 0.1)
    with pytest.raises(InputError, match=r"fmiVersion = '4\.0': 2\.0 or 3\.0"):
        run_rig(variant(v=('fmiVersion="2.0"', 'fmiVersion="4.0"')), 1e-3, 0.1)
    libraries = {
        f"binaries/{p}/Probe{e}": b"nothing"
        for p in ("linux64", "win64", "darwin64")
        for e in (".so", ".dll", ".dylib")
    }
    with pytest.raises(InputError, match="the library cannot be used here"):
        run_rig(variant(libraries), 1e-3, 0.1)
