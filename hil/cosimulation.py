"""An FMI 2.0 co-simulation FMU as a function of the step's number.

Inputs are sampled beforehand and outputs kept, in tables with one row per communication point. The FMU reads and
writes the rows in place: a step allocates no arrays and calls ``fmi2SetXXX``, ``fmi2DoStep`` and ``fmi2GetXXX`` of the
library directly, once per type of variable, with arguments made beforehand. That costs 1.3 us per step in all for an
FMU in C with one input and one output; FMPy's own methods cost 3.9 us.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from ctypes import c_double, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, defaultCallbacks, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from numpy.typing import NDArray

from hil.importer import FUNCTIONS, Fmu
from hil.loop import Loop, Transfer
from rtcvt.errors import InputError

__all__ = ["Slave", "fetch_messages", "quoted", "start", "status_name"]

Array = NDArray[np.float64]
Call = tuple[str, Callable[[int], int]]  # name, and function of the step's number that returns the fmi2Status

STATUS = ("fmi2OK", "fmi2Warning", "fmi2Discard", "fmi2Error", "fmi2Fatal", "fmi2Pending")
OK, WARNING, ERROR, FATAL = 0, 1, 3, 4
LOG_LENGTH = 20  # last messages that are kept


@dataclass(frozen=True)
class _Group:
    """Variables of one causality that the same functions set or get, and their values."""

    kind: str  # "Real", "Integer" or "Boolean"
    columns: list[int]  # places in the table of all inputs or outputs
    references: NDArray[np.uint32]
    values: NDArray[Any]  # one row per communication point, contiguous, double or int


class Slave:
    """One instance of an FMU with its tables.

    Attributes
    ----------
    warnings : int
        Calls in steps that returned fmi2Warning.
    failure : str
        Why a step failed; empty if none did.
    log : deque of str
        The last messages of the FMU.
    """

    def __init__(self, fmu: Fmu, instance: FMU2Slave, u: Array, step: float, log: deque[str]):
        self.log = log
        self.warnings = 0
        self.failure = ""
        self._fmu = fmu
        self._instance = instance
        self._status = OK
        self._step = step
        self._component = c_void_p(instance.component)
        self._shape = len(u), len(fmu.interface.select("output"))
        self._inputs = self._groups("input", u)
        self._outputs = self._groups("output", np.zeros(self._shape))
        do_step = instance.dll["fmi2DoStep"]
        time, length, never_back = c_double(), c_double(step), c_int(1)

        def advance(k: int) -> int:
            time.value = k * step
            return do_step(self._component, time, length, never_back)

        setters = [self._transfer("Set", group) for group in self._inputs]
        getters = [self._transfer("Get", group, following=1) for group in self._outputs]
        self._calls = [*setters, ("fmi2DoStep", advance), *getters]

    @property
    def y(self) -> Array:
        """Outputs, shape (n + 1, n_y); row 0 holds those after initialisation, row k + 1 those after step k."""
        y = np.empty(self._shape)
        for group in self._outputs:
            y[:, group.columns] = group.values
        return y

    def initialise(self, parameters: Mapping[str, float], loop: Loop | None = None) -> None:
        """Set parameters and the first inputs, initialise and get the first outputs; `loop` may hold messages.

        Raises
        ------
        InputError
            The FMU refused.
        """
        fmu = self._instance
        try:
            for name, value in parameters.items():
                scalar = self._fmu.scalars[name]
                kind = FUNCTIONS[scalar.type]
                getattr(fmu, f"set{kind}")([scalar.valueReference], [value if kind == "Real" else int(value)])
            fmu.setupExperiment(startTime=0.0)
            fmu.enterInitializationMode()
            self._call_once([self._transfer("Set", group) for group in self._inputs])
            fmu.exitInitializationMode()
            self._call_once([self._transfer("Get", group) for group in self._outputs])
        except FMICallException as error:
            self._status = error.status
            fetch_messages(self.log, loop)
            message = f"the FMU returned {status_name(error.status)}{quoted(self.log)}"
            raise InputError(self._fmu.file, error.function, None, message) from None

    def transfers(self, verb: str) -> list[Transfer]:
        """Calls that set all inputs (``"Set"``) or get all outputs (``"Get"``), for a loop in C."""
        dll, groups = self._instance.dll, self._inputs if verb == "Set" else self._outputs
        return [Transfer(n := f"fmi2{verb}{g.kind}", g.kind, _address(dll[n]), g.references, g.columns) for g in groups]

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of the instance and of its ``fmi2DoStep``."""
        return cast(int, self._component.value), _address(self._instance.dll["fmi2DoStep"])

    def failed(self, status: int) -> None:
        """Note the fmi2Status of a call that others made and that failed; it decides how the instance is freed."""
        self._status = status

    def step(self, k: int) -> bool:
        """Hand over the inputs of row k, step to point k + 1 and fetch the outputs there; False if that failed."""
        for name, call in self._calls:
            status = call(k)
            if status != OK:
                if status != WARNING:
                    self._status = status
                    self.failure = (
                        f"{name} returned {status_name(status)} at t = {k * self._step:g} s{quoted(self.log)}"
                    )
                    return False
                self.warnings += 1
        return True

    def free(self) -> None:
        """Terminate and free the instance, as far as the standard allows it after a failure."""
        if self._status not in (ERROR, FATAL):
            with suppress(FMICallException):
                self._instance.terminate()
        if self._status != FATAL:
            self._instance.fmi2FreeInstance(self._instance.component)
        _release(self._instance, unload=self._status != FATAL)

    def _groups(self, causality: str, values: Array) -> list[_Group]:
        groups = []
        for kind, number in (("Real", np.float64), ("Integer", np.int32), ("Boolean", np.int32)):
            rows = self._fmu.interface.select(causality)
            scalars = [(v.index, s) for v in rows if FUNCTIONS[(s := self._fmu.scalars[v.name]).type] == kind]
            if scalars:
                columns = [index for index, _ in scalars]
                references = np.array([s.valueReference for _, s in scalars], dtype=np.uint32)
                groups.append(_Group(kind, columns, references, np.array(values[:, columns], dtype=number, order="C")))
        return groups

    def _transfer(self, verb: str, group: _Group, following: int = 0) -> Call:
        """Function that sets or gets row k (+ `following`) of a group in place and returns the fmi2Status; its name."""
        name = f"fmi2{verb}{group.kind}"
        function, component = self._instance.dll[name], self._component
        references, count = c_void_p(group.references.ctypes.data), c_size_t(len(group.references))
        stride = group.values.strides[0]
        address, first = c_void_p(), group.values.ctypes.data + following * stride

        def transfer(k: int) -> int:
            address.value = first + k * stride
            return function(component, references, count, address)

        return name, transfer

    def _call_once(self, calls: list[Call]) -> None:
        for name, call in calls:
            if (status := call(0)) > WARNING:
                raise FMICallException(name, status)


@contextmanager
def start(
    fmu: Fmu, parameters: Mapping[str, float], u: Array, step: float, loop: Loop | None = None
) -> Iterator[Slave]:
    """An initialised instance, freed on leaving.

    Parameters
    ----------
    fmu : Fmu
        The extracted FMU.
    parameters : mapping of str to float
        Set before initialisation.
    u : array, shape (n + 1, n_u)
        Inputs; row k is held during step k.
    step : float
        Communication step [s].
    loop : Loop, optional
        Whose logger, in C, takes the FMU's messages; by default one in Python does.

    Raises
    ------
    InputError
        The library cannot be loaded, or the FMU refuses instantiation or initialisation; with what it logged.
    """
    log: deque[str] = deque(maxlen=LOG_LENGTH)
    instance = _load(fmu)
    try:
        instance.instantiate(callbacks=_callbacks(log, loop), loggingOn=True)  # some say why they fail only then
    except Exception:  # FMPy raises nothing more specific
        _release(instance)
        fetch_messages(log, loop)
        raise InputError(fmu.file, "instantiation", None, f"the FMU refused{quoted(log)}") from None
    slave = Slave(fmu, instance, u, step, log)
    try:
        slave.initialise(parameters, loop)
        yield slave
    finally:
        slave.free()


def _load(fmu: Fmu) -> FMU2Slave:
    try:
        with chdir("."):  # FMPy stays in the library's folder if loading fails
            return FMU2Slave(
                guid=fmu.description.guid,
                modelIdentifier=fmu.description.coSimulation.modelIdentifier,
                unzipDirectory=fmu.folder,
                libraryPath=str(fmu.library),
            )
    except Exception as error:  # FMPy raises Exception, or AttributeError for a missing function
        raise InputError(fmu.file, fmu.library.name, None, f"the library cannot be used here: {error}") from None


def _release(instance: FMU2Slave, unload: bool = True) -> None:
    """Unload the library; that of pythonfmu has to end a thread before, or frees memory twice when the process ends."""
    with suppress(AttributeError):
        instance.dll["finalizePythonInterpreter"]()
    if unload:
        instance.freeLibrary()


def _callbacks(log: deque[str], loop: Loop | None) -> fmi2CallbackFunctions:
    """Callbacks whose logger appends to `log`.

    A message is taken as it is: by the standard it is a format for printf, but some FMUs pass plain text, in which a
    per cent sign would be fatal.
    """

    def note(_environment: Any, _instance: bytes, status: int, _category: bytes, message: bytes) -> None:
        log.append(f"{status_name(status)}: {(message or b'').decode(errors='replace').strip()}")

    callbacks = fmi2CallbackFunctions()
    if loop is None:
        callbacks.logger = fmi2CallbackLoggerTYPE(note)
    else:
        address, callbacks.componentEnvironment = loop.logger
        callbacks.logger = ctypes.cast(address, fmi2CallbackLoggerTYPE)
    callbacks.allocateMemory = defaultCallbacks.allocateMemory
    callbacks.freeMemory = defaultCallbacks.freeMemory
    return callbacks


def fetch_messages(log: deque[str], loop: Loop | None) -> None:
    """Append what the logger in C took, if there is one."""
    if loop is not None:
        log.extend(f"{status_name(status)}: {text}" for status, text in loop.messages)


def status_name(status: int) -> str:
    """The name of an fmi2Status."""
    return STATUS[status] if 0 <= status < len(STATUS) else f"the illegal status {status}"


def _address(function: Any) -> int:
    return cast(int, ctypes.cast(function, c_void_p).value)


def quoted(log: Sequence[str]) -> str:
    """The FMU's messages, to follow another."""
    return "; its messages: " + " | ".join(log) if log else "; it gave no message"
