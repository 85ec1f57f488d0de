"""Units exported once by each backend, and hosts that run them through FMPy."""

import gc
from pathlib import Path

import fmpy
import pytest
from native_host import UNITS, Hosted

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model


def _exported(export, folder: Path) -> dict[str, Path]:
    return {key: export(load_unit(unit), fidelity, folder / f"{key}.fmu", documentation="<p>About</p>")
            for key, (unit, fidelity) in UNITS.items()}  # fmt: skip


def _unpacked(exported: dict[str, Path], folder: Path) -> dict[str, Path]:
    return {key: Path(fmpy.extract(str(path), str(folder / key))) for key, path in exported.items()}


@pytest.fixture(scope="session")
def exported(tmp_path_factory) -> dict[str, Path]:
    """By the Python backend."""
    return _exported(export_python, tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="session")
def unpacked(exported, tmp_path_factory) -> dict[str, Path]:
    return _unpacked(exported, tmp_path_factory.mktemp("unpacked_python"))


@pytest.fixture(scope="session")
def exported_native(tmp_path_factory) -> dict[str, Path]:
    return _exported(export_native, tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="session")
def unpacked_native(exported_native, tmp_path_factory) -> dict[str, Path]:
    return _unpacked(exported_native, tmp_path_factory.mktemp("unpacked"))


@pytest.fixture(scope="session")
def models():
    """The model of each unit."""
    return {key: build_model(load_unit(unit), fidelity) for key, (unit, fidelity) in UNITS.items()}


@pytest.fixture
def native_host(request):
    """``native_host("kers")`` instantiates a native unit, with ``backend="python"`` one of that; all are freed."""
    hosts: list[Hosted] = []

    def instantiate(key, backend="native", **options):
        folders = request.getfixturevalue("unpacked_native" if backend == "native" else "unpacked")
        hosts.append(Hosted(folders[key], **options))
        return hosts[-1]

    yield instantiate
    for one in hosts:
        one.fmi.freeInstance()
    gc.collect()
