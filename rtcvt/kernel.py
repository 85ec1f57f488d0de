"""The decorator of every real-time kernel, and the subset of Python that a kernel keeps to.

A kernel works on 1-D float64 arrays that its caller owns. It uses float64 and int64 scalars, loops with integer
bounds, indexing, views ``a[i:j]`` as arguments, and calls to other kernels, by name or as ``module.name``. It never
allocates, raises, recurses, assigns to a slice or calls a library, so that the same text is compiled by numba here and
can be compiled by any C compiler elsewhere. Division by zero gives Inf or NaN as in C; ``step`` functions turn those
into a status.

Every kernel is compiled by one policy (`compiler`), the full models' with options of their own.

- Machine code on disk is stamped with everything frozen in it (`rtcvt.compiling.stamp`): an edit recompiles the kernels
  that depend on it.
- Real-time kernels do without numba's memory management (``_nrt=False``): counting references to each array that is
  passed on costs as much as a small model itself, and a kernel that allocates does not compile.
"""

import logging
from collections.abc import Callable
from typing import Any

from numba.core import config, event

from rtcvt.compiling.dispatcher import Dispatcher, KernelCompiler, RealTimeCompiler

OK = 0  # the step is valid
SATURATED = 1  # valid, but a limit is active or a table is extrapolated
FAILED = 2  # not valid; the state is as it was before


class _Notice(event.Listener):
    """Prints once in a process that numba compiles: this may last a minute or two, silently."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            logging.getLogger("rtcvt").info("compiling for this machine; the machine code is kept for the next time")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())


def compiler(pipeline_class: type[KernelCompiler] = KernelCompiler, **options: Any) -> Callable[[Any], Any]:
    """The decorator of kernels with `options` of `numba.njit`: no object mode, machine code on disk and stamped."""
    options = {"nopython": True, "boundscheck": None, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def decorate(function: Any) -> Any:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]  # the kernel is its own Python, from which C is made
            function.py_func = function
            return function
        made = Dispatcher(function, targetoptions=options, pipeline_class=pipeline_class)
        made.enable_caching()
        return made

    return decorate


_compile = compiler(RealTimeCompiler, fastmath=False, _nrt=False)
_released = compiler(RealTimeCompiler, fastmath=False, _nrt=False, nogil=True)
_inline = compiler(RealTimeCompiler, fastmath=False, _nrt=False, inline="always")


def kernel(function: Any) -> Any:
    """Compile `function` on first call, without object mode, and keep the machine code on disk."""
    return _compile(function)


def released(function: Any) -> Any:
    """A kernel during which other threads of Python go on: many steps in one call."""
    return _released(function)


def inlined(function: Any) -> Any:
    """A kernel that is inlined in its callers: for a function with one caller, which would else be compiled twice."""
    return _inline(function)


def kernel_of_rows(function: Any) -> Any:
    """A kernel that spends its time in loops over neighbouring numbers that are independent of each other.

    C compilers make it once more for the wide vectors that some processors have, see `rtcvt.fmu.translate`.
    """
    function.of_rows = True
    return _compile(function)
