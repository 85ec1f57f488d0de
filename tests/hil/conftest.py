"""An FMU to run, made with pythonfmu from a script that does what its parameters say."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pythonfmu.builder import FmuBuilder

from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.hil.runner import run

PROBE = '''
import ctypes
import signal

from pythonfmu import Boolean, DefaultExperiment, Fmi2Causality, Fmi2Slave, Fmi2Variability, Integer, Real

ctypes.pythonapi.Py_IncRef(ctypes.py_object(globals()))  # see rtcvt.fmu.export


class Probe(Fmi2Slave):
    """Adds up torque times length; fails or sends SIGINT in the step from a given time."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.default_experiment = DefaultExperiment(start_time=0.0, stop_time=0.02, step_size=1e-3)
        start = dict(length=1.0, gear=1, enabled=True, discard_at=9.0, raise_at=9.0, interrupt_at=9.0, start_state=True)
        start |= dict(tau=0.0, count=0, on=False, impulse=0.0, next_count=0, off=True, strange=0.0, nan_at=9.0)
        for name, value in start.items():
            setattr(self, name, value)
        for name in ("length", "discard_at", "raise_at", "interrupt_at", "nan_at"):
            self.parameter(Real, name)
        self.parameter(Integer, "gear")
        self.parameter(Boolean, "enabled")
        self.parameter(Boolean, "start_state")
        for kind, name in ((Real, "tau"), (Integer, "count"), (Boolean, "on")):
            self.register_variable(kind(name, causality=Fmi2Causality.input, variability=self.variability(kind)))
        for kind, name in ((Real, "impulse"), (Integer, "next_count"), (Boolean, "off"), (Real, "strange")):
            self.register_variable(kind(name, causality=Fmi2Causality.output, variability=self.variability(kind)))

    @staticmethod
    def variability(kind):
        return Fmi2Variability.continuous if kind is Real else Fmi2Variability.discrete

    def parameter(self, kind, name):
        self.register_variable(kind(name, causality=Fmi2Causality.parameter, variability=Fmi2Variability.fixed))

    def to_xml(self, *args, **kwargs):
        root = super().to_xml(*args, **kwargs)
        for name, attributes in {
            "tau": {"unit": "N.m"},
            "length": {"unit": "m", "min": "0", "max": "2"},
            "impulse": {"unit": "kg.m2"},
        }.items():
            root.find(f".//ScalarVariable[@name='{name}']")[0].attrib.update(attributes)
        return root

    def exit_initialization_mode(self):
        if not self.start_state:
            raise ValueError("no start state")

    def do_step(self, t, h):
        if t > self.raise_at:
            raise ValueError("lost 100%s of it")
        if t > self.discard_at:
            self.log("cannot go on")
            return False
        if t > self.interrupt_at:
            signal.raise_signal(signal.SIGINT)
        if self.enabled:
            self.impulse += h * self.tau * self.length * self.gear
        self.next_count = self.count + 1
        self.off = not self.on
        self.strange = float("nan") if t > self.nan_at else 1e200 if t > 0.0015 else 0.0
        return True
'''


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fmu")
    script = folder / "probe_slave.py"
    script.write_text(PROBE)
    return FmuBuilder.build_FMU(script, dest=folder) or folder / "Probe.fmu"


def _exported(folder: Path, fmi: int) -> Path:
    from rtcvt.fmu.native.export import export_native
    from rtcvt.kind import load_unit

    return export_native(load_unit("toroidal_kers"), "rigid", folder / "kers.fmu", fmi=fmi)


@pytest.fixture(scope="session")
def kers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shipped unit in machine code."""
    return _exported(tmp_path_factory.mktemp("kers"), 2)


@pytest.fixture(scope="session")
def kers3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same one in FMI 3.0."""
    return _exported(tmp_path_factory.mktemp("kers3"), 3)


@pytest.fixture
def variant(probe: Path, tmp_path: Path) -> Callable[..., Path]:
    """The same FMU with files replaced, removed (None) or added, and texts of its description replaced."""

    def make(files: dict[str, bytes | None] | None = None, **texts: tuple[str, str]) -> Path:
        path = tmp_path / "variant.fmu"
        with zipfile.ZipFile(probe) as source, zipfile.ZipFile(path, "w") as target:
            contents: dict[str, bytes | None] = {name: source.read(name) for name in source.namelist()}
            description = (contents["modelDescription.xml"] or b"").decode()
            for old, new in texts.values():
                assert old in description
                description = description.replace(old, new)
            contents |= {"modelDescription.xml": description.encode(), **(files or {})}
            for name, content in contents.items():
                if content is not None:
                    target.writestr(name, content)
        return path

    return make


@pytest.fixture(params=["python", pytest.param("native", marks=pytest.mark.needs("loop"))])
def recorded(request, tmp_path):
    """Function that runs a unit one way and gives its message, the end it asked for, its times and its signals."""

    def native(fmu, scenario, step=5e-3):
        report = run_rig(fmu, step, None, scenario, output=tmp_path / "run.h5")
        kept = read(tmp_path / "run.h5")
        return report.message, report.figures["terminated_s"], kept.time, {n: s.values for n, s in kept.signals.items()}

    def python(fmu, scenario, step=5e-3):
        result = run(fmu, step, scenario=scenario, fast=True)
        signals = {n: s.values for n, s in result.recording().signals.items()}
        return result.message, result.terminated_at, result.time, signals

    return native if request.param == "native" else python
