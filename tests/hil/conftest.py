"""An FMU to run, made with pythonfmu from a script that does what its parameters say."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pythonfmu.builder import FmuBuilder
from rows import script

from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.hil.runner import run

PROBE = script("probe", "probe")


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
