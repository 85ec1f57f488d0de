"""Units in machine code, as they are exported, under a host in C (``steps_host.c``) that makes many steps at once."""

import ctypes
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from ctypes import Structure, byref, c_char_p, c_double, c_int, c_long, c_size_t, c_uint, c_void_p
from pathlib import Path

import fmpy
import numpy as np
from fmpy.fmi2 import fmi2CallbackFunctions

from rtcvt.fmu.native.compiler import compile_unit, own_platform
from rtcvt.fmu.native.export import write_sources
from rtcvt.model import Model

__all__ = ["NativeUnit"]

_LOG = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int, c_char_p, c_char_p)
_NAMES = ("SetReal", "SetBoolean", "GetReal", "DoStep", "EnterInitializationMode", "ExitInitializationMode")


class _Host(Structure):
    _fields_ = [*((name, c_void_p) for name in (*_NAMES, "unit")), ("boolean", c_char_p), ("t", c_double),
                ("refused", c_long), ("raised", c_long), ("made", c_long), ("flags", c_int)]  # fmt: skip


class NativeUnit:
    """A model in machine code. `start` makes a new instance, `run` goes on with it."""

    def __init__(self, model: Model, folder: Path):
        self.model = model
        self._guid = write_sources(model, "unit", folder / "sources")
        compile_unit(folder / "sources", folder / "unit.so", own_platform())
        headers, source = Path(fmpy.__file__).parent / "c-code", Path(__file__).with_suffix(".c")
        subprocess.run([shutil.which("cc") or "cc", "-O1", "-shared", "-fPIC", "-I", str(headers), str(source),
                        "-o", str(folder / "host.so"), "-lm"], check=True)  # fmt: skip
        self._unit, self._c = ctypes.CDLL(str(folder / "unit.so")), ctypes.CDLL(str(folder / "host.so"))
        self._unit.fmi2Instantiate.restype = c_void_p
        functions = fmi2CallbackFunctions()
        self._log = _LOG(lambda *_: None)
        functions.logger = ctypes.cast(self._log, type(functions.logger))
        functions.allocateMemory = ctypes.cast(ctypes.CDLL(None).calloc, type(functions.allocateMemory))
        functions.freeMemory = ctypes.cast(ctypes.CDLL(None).free, type(functions.freeMemory))
        self._functions, self._component = functions, None
        self._n_p, self._n_u = len(model.select("parameter")), len(model.select("input"))

    def start(self, u: np.ndarray, parameters: Mapping[str, float] | None = None) -> "NativeUnit":
        """Initialise a new instance with inputs of shape (n_u,)."""
        self.close()
        unit = self._unit
        self._component = c_void_p(
            unit.fmi2Instantiate(b"unit", 1, self._guid.encode(), None, byref(self._functions), 0, 0)
        )
        assert self._component.value
        for name, value in (parameters or {}).items():
            v = self.model.variable(name, "parameter")
            kind, call = (c_int, unit.fmi2SetInteger) if v.choices else (c_double, unit.fmi2SetReal)
            number = kind(int(value) if v.choices else value)
            assert call(self._component, byref(c_uint(v.index)), c_size_t(1), byref(number)) == 0, name
        unit.fmi2SetupExperiment(self._component, 0, c_double(0.0), c_double(0.0), 0, c_double(0.0))
        boolean = bytes(v.boolean for v in self.model.select("input"))
        self._host = _Host(raised=-1, unit=self._component, boolean=boolean)
        for name in _NAMES:
            setattr(self._host, name, ctypes.cast(getattr(unit, f"fmi2{name}"), c_void_p))
        u = np.ascontiguousarray(u, dtype=float)
        assert self._c.host_start(byref(self._host), self._n_p, c_long(self._n_u), u.ctypes.data_as(c_void_p)) == 0
        return self

    def run(self, u: np.ndarray, h: float, outputs: Sequence[str] = (), inner: int = 1) -> np.ndarray:
        """Steps of `h` [s], `inner` of them with each row of `u`, shape (n, n_u); `outputs`, shape (n inner, n_y)."""
        u = np.ascontiguousarray(u, dtype=float)
        y = np.empty((len(u) * inner, len(outputs)))
        places = (c_uint * len(outputs))(
            *(self._n_p + self._n_u + self.model.variable(name, "output").index for name in outputs)
        )
        rows = u.ctypes.data_as(c_void_p), c_long(len(outputs)), places, y.ctypes.data_as(c_void_p)
        steps = c_double(h), c_long(inner), c_long(len(u)), self._n_p, c_long(self._n_u)
        assert self._c.host_run(byref(self._host), *steps, *rows) == 0
        return y

    @property
    def refused(self) -> int:
        """Steps that were refused since the start."""
        return self._host.refused

    @property
    def raised(self) -> str:
        """Flags of the processor that any step or the start has raised, and the first step; empty if none."""
        names = {1: "invalid", 4: "divided by zero", 8: "overflow"}  # <fenv.h> of x86-64
        found = ", ".join(text for bit, text in names.items() if self._host.flags & bit)
        return f"{found} first in step {self._host.raised}" if found else ""

    def close(self) -> None:
        """Free the instance."""
        if self._component is not None:
            self._unit.fmi2FreeInstance(self._component)
            self._component = None
