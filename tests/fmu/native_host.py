"""Native units hosted by FMPy, and the runs that tests compare: of a unit, and of the model itself."""

import math
from ctypes import c_void_p
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Model,
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from instances import started

H = 1e-3
DISCARD, ERROR = 2, 3
UNITS = {"kers": ("toroidal_kers", "rigid"), "kers_full": ("toroidal_kers", "full"),
    "differential": ("differential", "rigid")}  # fmt: skip


class Hosted:
    """One instance of a unit in FMPy, its variables by name, and what it logged."""

    def __init__(self, folder: Path, slave=True, logging=True):
        self.description = fmpy.read_model_description(str(folder))
        self.variables = {v.name: v for v in self.description.modelVariables}
        self.in_python = self.description.coSimulation.needsExecutionTool
        kind = FMU2Slave if slave else FMU2Model
        self.fmi = kind(guid=self.description.guid, unzipDirectory=str(folder),
            modelIdentifier=self.description.coSimulation.modelIdentifier, instanceName="unit")  # fmt: skip
        self.log: list[tuple[int, str, str]] = []

        def note(_, __, status, category, text):
            self.log.append((status, (category or b"").decode(), text.decode()))  # units in Python name none

        self.allocated: list[int] = []  # bytes

        def allocate(n, size):
            self.allocated.append(n * size)
            return fmpy.calloc(n, size)

        self.callbacks = fmi2CallbackFunctions(logger=fmi2CallbackLoggerTYPE(note),
            allocateMemory=fmi2CallbackAllocateMemoryTYPE(allocate), freeMemory=fmi2CallbackFreeMemoryTYPE(fmpy.free),
            componentEnvironment=c_void_p())  # fmt: skip
        self.fmi.instantiate(callbacks=self.callbacks, loggingOn=logging)
        self.t = 0.0

    def start(self, t=0.0, **values):
        """Initialise with these values; ``__`` in a name stands for a dot."""
        self.fmi.setupExperiment(startTime=t)
        for name, value in values.items():
            self.set(name.replace("__", "."), value)
        self.fmi.enterInitializationMode()
        self.fmi.exitInitializationMode()
        self.t = t
        return self

    def reference(self, name):
        return self.variables[name].valueReference

    def set(self, name, value):
        if self.variables[name].type == "Enumeration":
            self.fmi.setInteger([self.reference(name)], [int(value)])
        elif self.variables[name].type == "Boolean":
            self.fmi.setBoolean([self.reference(name)], [bool(value)])
        else:
            self.fmi.setReal([self.reference(name)], [value])

    def get(self, name):
        return self.fmi.getReal([self.reference(name)])[0]

    def values(self, causality="output"):
        """All values of one causality, in the order of the table."""
        return [
            float((self.fmi.getBoolean if v.type == "Boolean" else self.fmi.getReal)([v.valueReference])[0])
            for v in self.description.modelVariables
            if v.causality == causality
        ]

    def step(self, u=None, h=H):
        for name, value in (u or {}).items():
            self.set(name, value)
        self.fmi.doStep(self.t, h)
        self.t += h

    def refused(self, call, *arguments, status=ERROR):
        """The message of a call that must be refused."""
        before = len(self.log)
        with pytest.raises(FMICallException) as error:
            call(*arguments)
        assert error.value.status == status
        assert len(self.log) == before + 1
        assert self.log[-1][0] == status
        assert self.log[-1][1] == ("logStatusError" if status == ERROR else "logStatusDiscard") or self.in_python
        return self.log[-1][2]


def hosted(folder, kind):
    """An instance of a unit in FMPy, and its variables by name."""
    description = fmpy.read_model_description(str(folder))
    unit = kind(guid=description.guid, unzipDirectory=str(folder), instanceName="unit",
                modelIdentifier=description.coSimulation.modelIdentifier)  # fmt: skip
    unit.instantiate()
    return unit, {v.name: v for v in description.modelVariables}


def inputs(model, k):
    """Inputs that move all the time."""
    return {v.name: v.start + 0.1 * (v.nominal or 1.0) * math.sin((3.0 + 2.0 * i) * k * H)
            for i, v in enumerate(model.select("input"))}  # fmt: skip


def run(unit, model, first, last):
    """Outputs, and states and rates if the unit tells them, after each step."""
    found = []
    for k in range(first, last):
        unit.step(inputs(model, k))
        found.append(unit.values() + unit.values("local"))
    return found


def reference(model, steps, told=None, **parameters):
    """Outputs, states and rates of the model itself after each step; the first `told` of them."""
    instance, found = started(model, **parameters), []
    for k in range(steps):
        for name, value in inputs(model, k).items():
            instance.set(name, value)
        instance.step(H)
        found.append((instance.y.tolist() + instance.x.tolist() + instance.derivative().tolist())[:told])
    return found


def same_bits(model, folder, steps, inputs, **parameters):
    """Outputs and statuses of a run of the kernels; outputs, states and rates of the unit in `folder` have the bits."""
    one, unit, rows, statuses = started(model, **parameters), Hosted(folder).start(**parameters), [], set()
    for k in range(steps):
        for name, value in inputs(k).items():
            one.set(name, value)
        statuses.add(one.step(H))
        unit.step(inputs(k))
        rows.append(one.y.copy())
        assert unit.values() + unit.values("local") == [*one.y, *one.x, *one.derivative()]
    unit.fmi.freeInstance()
    return np.array(rows), statuses
