"""Make any calls, right or wrong, of a unit's shared library: ``python misuse_host.py LIBRARY GUID RESOURCES``.

A process of its own, so that a crash is a result and not the end of the tests. Each line of the standard input is a
sequence in JSON, ``{"kind": fmi2Type, "calls": [[name, argument, ...], ...]}``, for a new instance that is freed at its
end; the answer is one line, ``{"results": [[status, [value, ...]], ...], "live": blocks of memory left}``.

Where a time is null it is that of the last step; states are kept in numbered places that are empty at first.
"""

import ctypes
import json
import sys
from ctypes import byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from functools import partialmethod
from math import isnan

from fmpy.fmi2 import (
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)

LAST_TIME, TERMINATED = 2, 3  # fmi2StatusKind
libc = ctypes.CDLL(None)
libc.calloc.restype, libc.calloc.argtypes = c_void_p, [c_size_t, c_size_t]
libc.free.argtypes = [c_void_p]


class Component:
    """An instance and its saved states."""

    live = 0

    def __init__(self, library, guid, resources, kind):
        self.library = library

        def take(n, size):
            Component.live += 1
            return libc.calloc(n, size)

        def give(block):
            Component.live -= block is not None
            libc.free(block)

        self.callbacks = fmi2CallbackFunctions(
            logger=fmi2CallbackLoggerTYPE(lambda *_: None),
            allocateMemory=fmi2CallbackAllocateMemoryTYPE(take),
            freeMemory=fmi2CallbackFreeMemoryTYPE(give),
            componentEnvironment=c_void_p(),
        )
        library.fmi2Instantiate.restype = c_void_p
        made = library.fmi2Instantiate(b"unit", kind, guid, resources, byref(self.callbacks), 0, 1)
        self.component = c_void_p(made)
        if not made:
            raise RuntimeError("not instantiated")
        self.states = [c_void_p() for _ in range(3)]

    def call(self, name, *arguments):
        """Status of a call and what it gave."""
        special = getattr(self, f"_{name}", None)
        return special(*arguments) if special else (self._plain(name), [])

    def free(self):
        for state in filter(None, self.states):
            self._plain("FreeFMUstate", byref(state))
        self.library.fmi2FreeInstance(self.component)

    def _plain(self, name, *arguments):
        return getattr(self.library, f"fmi2{name}")(self.component, *arguments)

    def _time(self):
        """Of the unit; 0 if it does not tell, as units by pythonfmu, which give NaN."""
        t = c_double(0.0)
        self._plain("GetRealStatus", LAST_TIME, byref(t))
        return 0.0 if isnan(t.value) else t.value

    def _SetupExperiment(self, start, stop):
        return self._plain(
            "SetupExperiment", 0, c_double(0.0), c_double(start), stop is not None, c_double(stop or 0)
        ), []

    def _DoStep(self, t, h):
        return self._plain("DoStep", c_double(self._time() if t is None else t), c_double(h), 1), []

    def _transfer(self, name, kind, references, values=None):
        n = len(references)
        buffer = (kind * n)(*(values or [0] * n))
        status = self._plain(name, (c_uint * n)(*references), c_size_t(n), buffer)
        return status, list(buffer) if values is None and status == 0 else []

    _GetReal = partialmethod(_transfer, "GetReal", c_double)
    _SetReal = partialmethod(_transfer, "SetReal", c_double)
    _GetBoolean = partialmethod(_transfer, "GetBoolean", c_int)
    _SetBoolean = partialmethod(_transfer, "SetBoolean", c_int)

    def _slopes(self, name, references, orders, values=None):
        n = len(references)
        buffer = (c_double * n)(*(values or [0.0] * n))
        status = self._plain(name, (c_uint * n)(*references), c_size_t(n), (c_int * n)(*orders), buffer)
        return status, list(buffer) if values is None and status == 0 else []

    _SetRealInputDerivatives = partialmethod(_slopes, "SetRealInputDerivatives")
    _GetRealOutputDerivatives = partialmethod(_slopes, "GetRealOutputDerivatives")

    def _GetDirectionalDerivative(self, unknowns, knowns, direction):
        n, m = len(unknowns), len(knowns)
        buffer = (c_double * n)()
        arguments = (c_uint * n)(*unknowns), c_size_t(n), (c_uint * m)(*knowns), c_size_t(m), (c_double * m)(*direction)
        status = self._plain("GetDirectionalDerivative", *arguments, buffer)
        return status, list(buffer) if status == 0 else []

    def _GetFMUstate(self, place):
        return self._plain("GetFMUstate", byref(self.states[place])), []

    def _SetFMUstate(self, place):
        return self._plain("SetFMUstate", self.states[place]), []

    def _FreeFMUstate(self, place):
        status = self._plain("FreeFMUstate", byref(self.states[place]))
        if status == 0:
            self.states[place] = c_void_p()  # some libraries leave the address there
        return status, []

    def _CopyState(self, source, target, damage):
        """Serialise a state, damage a byte if one is named, and make a state of that."""
        size = c_size_t(0)
        status = self._plain("SerializedFMUstateSize", self.states[source], byref(size))
        if status != 0:
            return status, []
        data = (ctypes.c_char * size.value)()
        status = self._plain("SerializeFMUstate", self.states[source], data, size)
        if status != 0:
            return status, []
        if damage is not None:
            place = damage % size.value
            data[place] = bytes([data[place][0] ^ 0x10])
        return self._plain("DeSerializeFMUstate", data, size, byref(self.states[target])), []

    def _SetDebugLogging(self, on, categories):
        n = len(categories)
        return self._plain("SetDebugLogging", on, c_size_t(n), (c_char_p * n)(*(c.encode() for c in categories))), []

    def _vector(self, name, n):
        buffer = (c_double * max(n, 1))()
        status = self._plain(name, buffer, c_size_t(n))
        return status, list(buffer)[:n] if status == 0 else []

    _GetContinuousStates = partialmethod(_vector, "GetContinuousStates")
    _GetDerivatives = partialmethod(_vector, "GetDerivatives")
    _GetNominalsOfContinuousStates = partialmethod(_vector, "GetNominalsOfContinuousStates")

    def _SetContinuousStates(self, values):
        n = len(values)
        return self._plain("SetContinuousStates", (c_double * max(n, 1))(*values), c_size_t(n)), []

    def _SetTime(self, t):
        return self._plain("SetTime", c_double(t)), []

    def _NewDiscreteStates(self):
        info = (c_int * 16)()
        return self._plain("NewDiscreteStates", info), []

    def _CompletedIntegratorStep(self):
        flags = c_int(0), c_int(0)
        return self._plain("CompletedIntegratorStep", 1, byref(flags[0]), byref(flags[1])), []

    def _GetRealStatus(self):
        t = c_double(0.0)
        status = self._plain("GetRealStatus", LAST_TIME, byref(t))
        return status, [t.value] if status == 0 else []

    def _GetBooleanStatus(self):
        flag = c_int(0)
        return self._plain("GetBooleanStatus", TERMINATED, byref(flag)), []


def main(path, guid, resources):
    library = ctypes.CDLL(path)
    for line in sys.stdin:
        task = json.loads(line)
        one = Component(library, guid.encode(), resources.encode(), task["kind"])
        results = [one.call(*call) for call in task["calls"]]
        one.free()
        print(json.dumps({"results": results, "live": Component.live}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
