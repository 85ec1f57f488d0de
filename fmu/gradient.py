"""Exact derivatives of a run by its parameters: forward accumulation through every step.

A step is a program; its derivative is that of the program (`rtcvt.fmu.native.tangent`) with all refinements of internal
steps, and of the executed branch where a regime changes. For parameters and held inputs q

    d(x+, y)/dq = d(x+, y)/dx dx/dq + d(x+, y)/d(u, p) d(u, p)/dq

is carried along with the run, for up to 16 parameters at once (`LANES`) in vector registers (Griewank and Walther,
*Evaluating Derivatives*, 2008, ch. 3). The values have the bits of `rtcvt.simulate`. A C compiler makes the machine
code, which is kept in the user's cache.
"""

import ctypes
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numpy.typing import NDArray

from rtcvt import quantity
from rtcvt.compiling.machine_code import tell
from rtcvt.environment import home
from rtcvt.errors import AsInputError, InputError, near
from rtcvt.files import temporary_folder
from rtcvt.fmu.native.compiler import PLATFORMS, compile_unit, own_platform, write_part
from rtcvt.fmu.native.tangent import add_tangents
from rtcvt.fmu.translate import ARRAY, CONSTANTS, FLOAT, External, lower, print_c
from rtcvt.kernel import FAILED
from rtcvt.model import Instance, Model
from rtcvt.recording import replaced_on_success
from rtcvt.scenario import Scenario
from rtcvt.simulate import no_solution, number_of_steps, prepared
from rtcvt.sweeping import MOST_VALUES, chosen_signals

Array = NDArray[np.float64]
Parameters = Mapping[str, float | str] | Sequence[str]
Cost = Callable[[Mapping[str, Array]], float]

LANES = (2, 8, 16)  # directions that are carried at once
BLOCK = 1_000  # steps in one call
CHANGE = 1e-5  # of the signals, relative to their largest value, in a difference of a cost


class Gradient(NamedTuple):
    """A cost and its derivatives (N,) by the parameters [SI]: what `scipy.optimize.minimize(jac=True)` takes."""

    cost: float
    gradient: Array


@dataclass(frozen=True)
class Sensitivities:
    """Signals of a run, and their derivatives by parameters.

    Attributes
    ----------
    time : array (n,)
        Communication points [s].
    parameters : tuple of str
        Names of the N parameters or inputs.
    values : dict of str to array (n,)
        Signals by name [SI].
    derivatives : dict of str to array (n, N)
        Of the signals by the parameters [SI]; of truth values 0.
    """

    time: Array
    parameters: tuple[str, ...]
    values: dict[str, Array]
    derivatives: dict[str, Array]

    def gradient(self, cost: Cost) -> Gradient:
        """Gradient of a cost, a function of `values`.

        Each derivative is a central difference of the cost along the exact derivatives of the signals, so it is exact
        for sums, means and squares, and the run is made once.

        Raises
        ------
        InputError
            The cost is no finite number, or asks for a signal that is not there.
        """

        def cost_of(signals: Mapping[str, Array]) -> float:
            try:
                value = np.asarray(cost(signals))
            except KeyError as error:
                key = str(error.args[0])
                raise InputError("gradient", name, key, f"a cost of its signals{near(key, signals)}") from None
            if value.ndim or value.dtype.kind not in "biuf" or not np.isfinite(value):
                raise InputError("gradient", name, str(value), "a cost that is one finite number")
            return float(value)

        name = f"cost {getattr(cost, '__name__', type(cost).__name__)}"
        found = np.empty(len(self.parameters))
        size = {name: np.abs(s).max() or 1.0 for name, s in self.values.items()}
        for k in range(len(found)):
            along = {name: d[:, k] for name, d in self.derivatives.items()}
            most = max(np.abs(d).max() / size[name] for name, d in along.items())
            step = CHANGE / most if most > 0.0 else 0.0
            above, below = (cost_of({n: s + side * along[n] for n, s in self.values.items()}) for side in (step, -step))
            found[k] = (above - below) / (2.0 * step) if step else 0.0
        return Gradient(cost_of(self.values), found)


def sensitivities(
    model: Model,
    scenario: Scenario,
    h: float,
    parameters: Parameters,
    signals: Sequence[str] = (),
    inputs: Mapping[str, Any] | None = None,
) -> Sensitivities:
    """Run a scenario with the derivatives of its signals by parameters or held inputs; see `rtcvt.Unit.sensitivities`.

    Parameters
    ----------
    model : Model
        The model.
    scenario : Scenario
        Its inputs and its other parameters.
    h : float
        Communication step [s].
    parameters : mapping or sequence of str
        By which, with their values, SI or quantities, or at those that they have.
    signals : sequence of str
        Patterns of outputs; all by default.
    inputs : mapping, optional
        As of `rtcvt.simulate.simulate`.

    Raises
    ------
    InputError
        An unknown name, a choice, which has no derivative, a step that fails, or no C compiler.
    """
    model.require_own("no FMU in a run with derivatives: they do not pass through it")
    if model.opaque:
        allowed = "a law in C with its derivatives, law_dot or step_dot and so on, in a run with derivatives"
        raise InputError(model.name, "c", None, allowed)
    given: dict[str, Any] = dict(parameters) if isinstance(parameters, Mapping) else dict.fromkeys(parameters)
    rows = [model.variable(name, "parameter", "input") for name in given]
    for v in rows:
        if v.choices or v.boolean:
            raise InputError(model.name, v.name, None, "a number: a choice has no derivative")
    if not rows:
        raise InputError(model.name, "parameters", None, "at least one parameter or input")
    own = {name: value for name, value in given.items() if value is not None}
    held: dict[str, Any] = {}
    for v in rows:
        if v.causality == "input" and v.name in own:
            with AsInputError(ValueError, model.name, v.name, own[v.name], str):
                held[v.name] = np.full(
                    number_of_steps(scenario.duration, h, scenario.name) + 1, quantity.to_si(own[v.name], v.unit)
                )
            del own[v.name]
    instance, time, u, changes = prepared(model, scenario, h, own, {**(inputs or {}), **held})
    kept = chosen_signals(model, signals)
    if len(time) * len(kept) * len(rows) > MOST_VALUES:
        allowed = "fewer signals or parameters: the derivatives fill the memory"
        raise InputError(model.name, "signals", len(kept), allowed)
    places = np.array([v.index for v in kept], dtype=np.int64)
    y = np.empty((len(time), len(kept)))
    y_dot = np.empty((len(kept), len(time), len(rows)))
    for first in range(0, len(rows), LANES[-1]):
        some = rows[first : first + LANES[-1]]
        run = Run(instance.copy(), len(some), places)
        for k, v in enumerate(some):
            (run.p_dot if v.causality == "parameter" else run.u_dot)[v.index, k] = 1.0
        where = f"scenario '{scenario.name}'"
        run.instance.u[:] = u[0]
        run.initialise()
        y[0], left, k = run.instance.y[places], list(changes), 0
        y_dot[:, 0, first : first + len(some)] = run.y_dot[places, : len(some)]
        while k < len(time) - 1:
            while left and left[0][0] <= k:
                _, v, value = left.pop(0)
                run.tune(v.index, value)
            end = min(k + BLOCK, len(time) - 1, left[0][0] if left else len(time))
            done = run.steps(h, u[k:end])
            if done < end - k:
                raise no_solution(model, where, time[k + done], u[k + done])
            y[k + 1 : end + 1] = run.rows[:done]
            y_dot[:, k + 1 : end + 1, first : first + len(some)] = run.rows_dot[:done, :, : len(some)].swapaxes(0, 1)
            k = end
    if not np.isfinite(y_dot).all():
        raise InputError(model.name, "derivatives", None, "a run whose derivatives are finite: they grow without bound")
    names = [v.name for v in kept]
    return Sensitivities(
        time, tuple(v.name for v in rows), dict(zip(names, y.T, strict=True)), dict(zip(names, y_dot, strict=True))
    )


class _Buffers(ctypes.Structure):
    """``Run`` in ``gradient.c``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("p", "u", "x", "y", "work")),
        *((name, ctypes.c_void_p) for name in ("p_dot", "u_dot", "x_dot", "y_dot", "work_dot", "data")),
        ("n_u", ctypes.c_int64),
        ("n_chosen", ctypes.c_int64),
        ("chosen", ctypes.c_void_p),
    ]


class Run:
    """An instance with the derivatives of its buffers along `directions`, rows of numbers for each entry."""

    def __init__(self, instance: Instance, directions: int, places: NDArray[np.int64]) -> None:
        self.instance, self.places = instance, places
        self.lanes = next(n for n in LANES if n >= directions)
        self.code = _library(instance.model, self.lanes)
        self.buffers = _Buffers(n_u=len(instance.u), n_chosen=len(places), chosen=places.ctypes.data)
        for name in ("p", "u", "x", "y", "work"):
            own = getattr(instance, name)
            setattr(self, name + "_dot", np.zeros((len(own) + 1, self.lanes)))
            setattr(self.buffers, name, own.ctypes.data)
            setattr(self.buffers, name + "_dot", getattr(self, name + "_dot").ctypes.data)
        self.buffers.data = instance.model.data.ctypes.data
        self.rows = np.empty((BLOCK, len(places)))
        self.rows_dot = np.empty((BLOCK, len(places), self.lanes))

    p_dot: Array
    u_dot: Array
    x_dot: Array
    y_dot: Array

    def initialise(self) -> None:
        """Start state and outputs, with their derivatives."""
        i = self.instance
        failed = self.code.run_initialise(ctypes.byref(self.buffers), _at(i.x), _at(self.x_dot)) == FAILED
        self.code.run_output(ctypes.byref(self.buffers), ctypes.c_double(i.t))
        if failed or not np.isfinite(i.y).all():
            raise InputError(i.model.name, "initialise", None, "parameters and inputs with a finite start")

    def tune(self, place: int, value: float) -> None:
        """Set a parameter during the run; from here on nothing depends on its value before."""
        self.instance.p[place], self.p_dot[place] = value, 0.0
        self.prepare()

    def prepare(self) -> None:
        """Bring what is derived from parameters up to date; states stay as they are."""
        x, x_dot = np.empty_like(self.instance.x), np.empty_like(self.x_dot)
        self.code.run_initialise(ctypes.byref(self.buffers), _at(x), _at(x_dot))

    def steps(self, h: float, u: Array) -> int:
        """Steps of `h` [s] with rows of inputs; returns how many did not fail."""
        u = np.ascontiguousarray(u)
        status = np.empty(len(u), dtype=np.int8)
        t = self.instance.t
        times = ctypes.c_int64(len(u)), ctypes.c_double(t), ctypes.c_double(h)
        rows = (_at(array) for array in (u, self.rows, self.rows_dot, status))
        done = int(self.code.run_steps(ctypes.byref(self.buffers), *times, *rows))
        for _ in range(done):
            self.instance.t += h
        return done


def _at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _library(model: Model, lanes: int) -> Any:
    """Machine code of a model's steps and their derivatives along so many directions."""
    return _compiled(model.initialise, model.output, model.step, lanes)


@lru_cache(maxsize=16)
def _compiled(initialise: Any, output: Any, step: Any, lanes: int) -> Any:
    kernels, laws = _kernels(initialise, output, step)
    text = f"#define LANES {lanes}\n" + kernels
    text += (Path(__file__).parent / "native" / "gradient.c").read_text(encoding="utf-8")
    found = library([text], lambda: text, laws=laws)
    found.run_initialise.restype = found.run_steps.restype = ctypes.c_int64
    return found


def library(
    made_of: Sequence[str], text: Callable[[], str], flags: Sequence[str] = (), laws: Sequence[External] = ()
) -> Any:
    """The shared library of a C text and of `laws`, for this processor; kept under a digest of what it is made of.

    Raises
    ------
    InputError
        There is no compiler, or it fails.
    """
    platform = own_platform()
    processor = [platform, get_host_cpu_name(), get_host_cpu_features().flatten()]
    name = hashlib.sha256(json.dumps([*processor, *made_of, *flags]).encode()).hexdigest()[:32]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache") / "rtcvt"
    path = cache / f"{name}{PLATFORMS[platform][1]}"
    if not path.exists():
        tell("compiling for this machine; the machine code is kept for the next time")
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        with temporary_folder() as folder:
            (folder / "all.c").write_text(text(), encoding="utf-8")
            for law in laws:
                write_part(partial(InputError, law.name, "c", None), law.text, law.prefix, folder)
            compile_unit(folder, folder / "made", platform, ["-march=native", *flags])
            with replaced_on_success(path) as temporary:
                temporary.write_bytes((folder / "made").read_bytes())
    return ctypes.CDLL(str(path))


@lru_cache(maxsize=16)
def _kernels(initialise: Any, output: Any, step: Any) -> tuple[str, list[External]]:
    """The kernels and their tangents as C, with the laws in C that they call; parameters are active."""
    entries = {
        "rt_initialise": (initialise, [ARRAY, CONSTANTS] + [ARRAY] * 3),
        "rt_output": (output, [FLOAT] + [ARRAY] * 3 + [CONSTANTS] + [ARRAY] * 2),
        "rt_step": (step, [FLOAT] * 2 + [ARRAY] * 3 + [CONSTANTS] + [ARRAY] * 2),
    }
    program = lower(entries)
    return print_c(add_tangents(program, list(entries)), "Kernels and their derivatives."), program.laws
