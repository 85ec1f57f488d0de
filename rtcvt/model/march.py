"""Many communication steps in one call from Python.

The step of a model is compiled once for its kernels. The loop here calls the step by its address, so that the loop is
compiled once for all models.
"""

from typing import Any

import numpy as np
from numba import typeof, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from rtcvt.kernel import FAILED, kernel, released
from rtcvt.model import Instance

Array = NDArray[np.float64]


def address_of(instance: Instance) -> int:
    """Where the machine code of a model's step is that has been called before; 0 if it runs in Python or with FMUs."""
    i = instance
    known = {} if i.model.foreign else getattr(i.model.step, "overloads", {})
    found = known.get(tuple(typeof(a) for a in (i.t, i.t, i.x, i.u, i.p, i.model.data, i.y, i.work)))
    return 0 if found is None else int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def march(instance: Instance, address: int, h: float, u: Array, y: Array, status: NDArray[np.int8]) -> None:
    """Step by `h` [s] for each row of inputs `u`, and write outputs `y` and `status`; a failed step is the last.

    `address` is that of `address_of`; with 0 Python makes the steps.
    """
    i = instance
    if address:
        i.t = _steps(address, i.t, h, i.x, i.u, i.p, i.model.data, i.y, i.work, u.ravel(), y.ravel(), status)
        return
    for k in range(len(status)):
        i.u[:] = u[k]
        status[k] = i.step(h)
        if status[k] == FAILED:
            return
        y[k] = i.y


def _calling(typing: Any, address: Any, t: Any, h: Any, x: Any, u: Any, p: Any, data: Any, y: Any, work: Any) -> Any:
    """The step at an address, see `rtcvt.model`."""
    kinds = (t, h, x, u, p, data, y, work)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        made = context.call_conv.get_function_type(types.int64, kinds)
        step = builder.inttoptr(args[0], made.as_pointer())
        return context.call_conv.call_function(builder, step, types.int64, kinds, args[1:])[1]

    return types.int64(address, *kinds), code


_call: Any = intrinsic(_calling)


@released
def _steps(address, t, h, x, u, p, data, y, work, inputs, outputs, status):
    """`march`; returns the time."""
    for k in range(len(status)):
        for i in range(len(u)):
            u[i] = inputs[k * len(u) + i]
        status[k] = _call(address, t, h, x, u, p, data, y, work)
        if status[k] == FAILED:
            return t
        t += h
        for i in range(len(y)):
            outputs[k * len(y) + i] = y[i]
    return t


@kernel
def tally(y, chosen, n, kept):
    """Take `n` chosen outputs into rows of last, least and greatest value, sum and sum of squares."""
    for i in range(n):
        value = y[int(chosen[i])]
        kept[i] = value
        if value < kept[n + i]:
            kept[n + i] = value
        if value > kept[2 * n + i]:
            kept[2 * n + i] = value
        kept[3 * n + i] += value
        kept[4 * n + i] += value * value


@released
def tally_rows(rows, n_y, chosen, kept):
    """`tally` of each row of outputs."""
    for k in range(len(rows) // n_y):
        tally(rows[k * n_y : (k + 1) * n_y], chosen, len(chosen), kept)
