"""Units exported once by each backend, and hosts that run them through FMPy."""

import gc
from ctypes import c_void_p
from pathlib import Path

import fmpy
import pytest
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from native_host import UNITS, Hosted

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model


@pytest.fixture(scope="session")
def exported(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("exported")
    return {key: export_python(load_unit(unit), fidelity, folder / f"{key}.fmu", documentation="<p>About</p>")
            for key, (unit, fidelity) in UNITS.items()}  # fmt: skip


class FMU2Host(FMU2Slave):
    """One instance of a unit, its variables by name, and what it logged. FMPy wants the name to begin so."""

    def __init__(self, path: Path, folder: Path):
        self.description = fmpy.read_model_description(str(path))
        fmpy.extract(str(path), str(folder))
        super().__init__(
            guid=self.description.guid,
            modelIdentifier=self.description.coSimulation.modelIdentifier,
            unzipDirectory=str(folder),
            instanceName="unit",
        )
        self.reference = {v.name: v.valueReference for v in self.description.modelVariables}
        self.log: list[tuple[int, str]] = []
        self._callbacks = fmi2CallbackFunctions(
            logger=fmi2CallbackLoggerTYPE(lambda _, __, status, ___, text: self.log.append((status, text.decode()))),
            allocateMemory=fmi2CallbackAllocateMemoryTYPE(fmpy.calloc),
            freeMemory=fmi2CallbackFreeMemoryTYPE(fmpy.free),
            componentEnvironment=c_void_p(),
        )
        self.instantiate(callbacks=self._callbacks, loggingOn=True)

    def start(self, t: float = 0.0, **values: float) -> "FMU2Host":
        """Initialise with these values; ``__`` in a name stands for a dot."""
        self.setupExperiment(startTime=t)
        for name, value in values.items():
            self.set(name.replace("__", "."), value)
        self.enterInitializationMode()
        self.exitInitializationMode()
        return self

    def set(self, name: str, value: float) -> None:
        self.setReal([self.reference[name]], [value])

    def get(self, name: str) -> float:
        return self.getReal([self.reference[name]])[0]

    def outputs(self) -> list[float]:
        """All outputs, in the order of the table."""
        return [
            float((self.getBoolean if v.type == "Boolean" else self.getReal)([v.valueReference])[0])
            for v in self.description.modelVariables
            if v.causality == "output"
        ]


@pytest.fixture
def host(exported, tmp_path):
    """``host("kers")`` instantiates a unit; all are freed at the end."""
    hosts: list[FMU2Host] = []

    def instantiate(key: str) -> FMU2Host:
        hosts.append(FMU2Host(exported[key], tmp_path / str(len(hosts))))
        return hosts[-1]

    yield instantiate
    for one in hosts:
        one.freeInstance()
    gc.collect()


@pytest.fixture(scope="session")
def exported_native(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("native")
    return {key: export_native(load_unit(unit), fidelity, folder / f"{key}.fmu", documentation="<p>About</p>")
            for key, (unit, fidelity) in UNITS.items()}  # fmt: skip


@pytest.fixture(scope="session")
def unpacked_native(exported_native, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("unpacked")
    return {key: Path(fmpy.extract(str(path), str(folder / key))) for key, path in exported_native.items()}


@pytest.fixture(scope="session")
def models():
    """The model of each unit."""
    return {key: build_model(load_unit(unit), fidelity) for key, (unit, fidelity) in UNITS.items()}


@pytest.fixture
def native_host(unpacked_native):
    """``native_host("kers")`` instantiates a native unit; all are freed at the end."""
    hosts: list[Hosted] = []

    def instantiate(key, **options):
        hosts.append(Hosted(unpacked_native[key], **options))
        return hosts[-1]

    yield instantiate
    for one in hosts:
        one.fmi.freeInstance()
