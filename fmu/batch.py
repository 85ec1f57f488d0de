"""Steps of many instances of a model at once, in machine code that is made for this model and this processor.

The unit's constants are part of the code, which compilers then unroll and simplify. Eight instances step together, a
place of a vector register each (`rtcvt.fmu.native.lanes`); where a model spends its time in loops over rows of tables,
which use the vectors already, it is one. The bits are those of `rtcvt.simulate`. zig, of the extra ``native``, compiles
it; the code is kept as that of `rtcvt.fmu.gradient`.
"""

import ctypes
import hashlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba.core import config
from numpy.typing import NDArray

from rtcvt.fmu.gradient import library
from rtcvt.fmu.native.lanes import HEAD, print_lanes
from rtcvt.fmu.parts import Rows, placed, places_of
from rtcvt.fmu.translate import ARRAY, CONSTANTS, FLOAT, INT, lower
from rtcvt.model import Instance, Model
from rtcvt.model.march import tally

Array = NDArray[np.float64]

LANES = 8
BUFFERS = ("p", "u", "x", "y", "work", "prepared", "x_before", "y_before", "kept")
FLAGS = (
    *("-x", "c++", "-std=gnu++17", "-nostdlib++", "-fno-exceptions", "-fno-rtti", "-w", "-mprefer-vector-width=512"),
    *("-mllvm", "-inline-threshold=5000", "-mllvm", "-unroll-threshold=1000"),
)


class _Batch(ctypes.Structure):
    """``Batch`` in ``batch.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in (*BUFFERS, "chosen", "moving")),
        *((name, ctypes.c_int64) for name in ("n_x", "n_y", "n_work", "n_chosen", "n_moving", "n_inputs", "redone")),
    ]


class Code(NamedTuple):
    """Machine code of a model.

    Attributes
    ----------
    lanes : int
        How many instances step at once.
    steps : callable
        ``batch_steps`` of ``batch.h``.
    """

    lanes: int
    steps: Any


def code_of(model: Model, most: int = LANES) -> Code | None:
    """Machine code of a model for at most so many instances at once; None without zig, and of a model with FMUs or laws
    in C.

    Raises
    ------
    InputError
        The compiler fails.
    """
    if model.foreign or config.DISABLE_JIT or importlib.util.find_spec("ziglang") is None:  # type: ignore[attr-defined]
        return None
    lanes, kernels = _kernels(model.step, places_of(model), most)
    if not lanes:
        return None
    folder = Path(__file__).parent / "native"
    start, end = ((folder / name).read_text(encoding="utf-8") for name in ("lanes.h", "batch.h"))
    parts = [f"#define LANES {lanes}\n", start, "static const double DATA[] = {", "};\n", kernels, end]

    def text() -> str:
        numbers = ", ".join(map(repr, model.data.tolist())).replace("inf", "INFINITY") or "0.0"
        return "".join([*parts[:3], numbers, *parts[3:]])

    steps = library([*parts, hashlib.sha256(model.data.tobytes()).hexdigest()], text, FLAGS).batch_steps
    steps.restype = ctypes.c_int64
    return Code(lanes, steps)


@lru_cache(maxsize=16)
def _kernels(step: Any, places: Rows, most: int) -> tuple[int, str]:
    """Lanes of a step and its kernels in C; none with a law in C, which works on one instance."""
    entries = {
        "rt_step": (step, [FLOAT] * 2 + [ARRAY] * 3 + [CONSTANTS] + [ARRAY] * 2),
        "rt_tally": (tally, [ARRAY, CONSTANTS, INT, ARRAY]),
    }
    program = placed(lower(entries), places)
    if program.laws:
        return 0, ""
    lanes = 1 if any(f.of_rows for f in program.functions.values()) else most
    return lanes, HEAD + print_lanes(program, lanes)


class Batch:
    """Instances that step together, whose start states are computed.

    Parameters
    ----------
    code : Code
        Of their model.
    instances : sequence of Instance
        At most as many as there are lanes; the last one fills the others.
    moving : sequence of int
        Inputs that change in the run; others stay.
    chosen : sequence of int
        Outputs that are kept.
    kept : array (instances, 5, chosen)
        What `rtcvt.model.march.tally` finds, so far.

    Attributes
    ----------
    t : float
        Time [s].
    worst : array (lanes,)
        Status of all steps.
    """

    def __init__(
        self, code: Code, instances: Sequence[Instance], moving: Sequence[int], chosen: Sequence[int], kept: Array
    ) -> None:
        self.lanes, self.code = code
        self.t = 0.0
        self.instances = [*instances, *[instances[-1]] * (self.lanes - len(instances))]
        self.chosen, self.moving = np.array(chosen, dtype=float), np.array(moving, dtype=np.int64)
        self.worst = np.zeros(self.lanes, dtype=np.int8)
        self.buffers = _Batch()
        self._arrays = {name: self._rows(name) for name in ("p", "u", "x", "y", "work")}
        for name, of in (("prepared", "work"), ("x_before", "x"), ("y_before", "y")):
            self._arrays[name] = _aligned(self._arrays[of])
        filled = np.concatenate([kept, *[kept[-1:]] * (self.lanes - len(kept))])
        self._arrays["kept"] = _aligned(filled.reshape(self.lanes, -1).T)
        for name, array in (*self._arrays.items(), ("chosen", self.chosen), ("moving", self.moving)):
            setattr(self.buffers, name, array.ctypes.data)
        for name, of in (("n_x", "x"), ("n_y", "y"), ("n_work", "work"), ("n_inputs", "u")):
            setattr(self.buffers, name, len(getattr(instances[0], of)))
        self.buffers.n_chosen, self.buffers.n_moving = len(chosen), len(moving)

    def _rows(self, name: str) -> Array:
        return _aligned(np.stack([getattr(i, name) for i in self.instances], axis=1))

    @property
    def redone(self) -> int:
        """Steps that were made again, lane by lane."""
        return int(self.buffers.redone)

    def kept(self, k: int) -> Array:
        """What was found in instance `k` (5, chosen)."""
        found: Array = self._arrays["kept"][:, k].reshape(5, -1).copy()
        return found

    def tune(self, name: str, value: float, u: Array) -> None:
        """Change a parameter in all instances, at inputs `u`, see `Instance.tune`."""
        for i in set(map(id, self.instances)):
            own = next(each for each in self.instances if id(each) == i)
            own.u[self.moving] = u[self.moving]
            own.tune(name, value)
        for name_of, of in (("p", "p"), ("work", "work"), ("prepared", "work")):
            self._arrays[name_of][:] = self._rows(of)

    def steps(self, first: int, h: float, inputs: Array, every: int) -> Array | None:
        """Steps of `h` [s], a row of inputs each; None if one fails in a lane.

        With `every`, the result has the chosen outputs (times, chosen, lanes) whenever the number of steps, counted
        from `first`, is a multiple; with 0 it is empty, and they are tallied.
        """
        inputs, n = np.ascontiguousarray(inputs), len(inputs)
        times = (first + n) // every - first // every if every else 0
        series = _aligned(np.zeros((times, len(self.chosen), self.lanes)))
        numbers = ctypes.c_int64(first), ctypes.c_int64(n), ctypes.c_double(self.t), ctypes.c_double(h)
        rows = ctypes.c_void_p(inputs.ctypes.data), ctypes.c_void_p(self.worst.ctypes.data)
        done = self.code(
            ctypes.byref(self.buffers), *numbers, *rows, ctypes.c_int64(every), ctypes.c_void_p(series.ctypes.data)
        )
        for _ in range(n):
            self.t += h
        return series if done == n else None


def _aligned(array: Array) -> Array:
    """A copy that begins with a cache line, one number longer, since a buffer may be empty."""
    raw = np.zeros(array.size + 9)
    start = -(raw.ctypes.data // 8) % 8
    found: Array = raw[start : start + array.size].reshape(array.shape)
    found[:] = array
    return found
