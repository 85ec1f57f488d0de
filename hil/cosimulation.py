"""A co-simulation FMU of FMI 2.0 or 3.0 as a function of the step's number.

Inputs are sampled beforehand and outputs kept, in tables with one row per communication point, or in tables of fewer
rows that are used in turn. The FMU reads and
writes the rows in place: a step allocates no arrays and calls the setters, ``fmi2DoStep`` and the getters of the
library directly, once per type of variable, with arguments made beforehand. That costs 1.3 us per step in all for an
FMU in C with one input and one output; FMPy's own methods cost 3.9 us. (Measured with FMI 2.0.)

Of FMI 3.0, event mode is used if a unit needs it: one that has clocks, or that refuses to be without. Inputs, which
jump from step to step, and parameters are then set in it, and each step is made in as many parts as it has events.
Other units handle their events, and a step of theirs that ends early fails. Constant clocks tick between steps, and
inputs that belong to them are set then; other clocks that the importer would have to tick are refused.
"""

import ctypes
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from ctypes import byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, unquote_to_bytes

import numpy as np
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, defaultCallbacks, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from fmpy.fmi3 import FMU3Slave, fmi3LogMessageCallback
from numpy.typing import NDArray

from rtcvt.errors import AsInputError, InputError
from rtcvt.hil.importer import NUMBERS, Fmu, Ticks
from rtcvt.hil.loop import Loop, Messages, Transfer
from rtcvt.hil.native.build import available

Array = NDArray[np.float64]
Call = tuple[str, Callable[[int], int]]  # name, and function of the step's number that returns the status

STATUS = ("OK", "Warning", "Discard", "Error", "Fatal", "Pending")
OK, WARNING, DISCARD, ERROR, FATAL = range(5)
EARLY, NO_STEP, ENDLESS = 100, 101, 102  # results by the flags of fmi3DoStep, see ``native/loop.c``
IN_EVENT_MODE = 200  # added to the status of a call in event mode
MOST_EVENTS = 1000  # in a step, and iterations of an event
PYTHON = "finalizePythonInterpreter"  # exported by a library of pythonfmu
STATUS_CALLS = ("fmi2GetBooleanStatus", "fmi2GetRealStatus")
SAID = {
    EARLY: "early, which was not allowed",
    NO_STEP: "without a step, to end the simulation",
    ENDLESS: f"with more than {MOST_EVENTS} events in a step",
}
LAST_SUCCESSFUL_TIME, TERMINATED = 2, 3  # of fmi2StatusKind
LOG_LENGTH = 40  # last messages that are kept
SHOWN = 8  # parameters or names in a message


@dataclass(frozen=True)
class _Group:
    """Variables of one causality that the same functions set or get, and their values."""

    kind: str  # a key of `NUMBERS`
    columns: list[int]  # places in the table of all inputs or outputs
    references: NDArray[np.uint32]
    values: NDArray[Any]  # one row per communication point, contiguous
    ticks: Ticks | None = None  # of the clock that inputs belong to


class Slave:
    """One instance of an FMU with its tables.

    Attributes
    ----------
    warnings : int
        Calls in steps that returned fmi2Warning or fmi3Warning.
    failure : str
        Cause of a failed step; empty if none failed.
    terminated_at : float or None
        When the unit ended the simulation [s], which is no failure.
    next_event : float
        Time of the next event that the FMU has announced [s], if event mode is used.
    """

    def __init__(
        self, fmu: Fmu, instance: FMU2Slave | FMU3Slave, u: Array, step: float, log: "_Log", events: bool = False
    ):
        self._log = log
        self._given: dict[str, float | str] = {}  # parameters that were set
        self._refused = ""  # variable that could not be set
        self.next_event = np.inf
        self._events = events
        self.warnings = 0
        self.failure = ""
        self.terminated_at: float | None = None
        self._fmu = fmu
        self._instance = instance
        self._status = OK
        self._step, self._start = step, fmu.start_time
        self._local = {v.index for v in fmu.interface.select("output") if v.local}
        self._component = c_void_p(instance.component)
        self._shape = len(u), len(fmu.interface.select("output"))
        self._ticks = fmu.ticks(step) if fmu.fmi == 3 else []
        self._inputs = self._groups("input", u)
        self._outputs = self._groups("output", np.zeros(self._shape))
        setters = [self._tick(ticks) for ticks in self._ticks]
        setters += [self._transfer("Set", group) for group in self._inputs]
        getters = [self._transfer("Get", group, following=1) for group in self._outputs]
        advance = self._step_of_fmi2() if fmu.fmi == 2 else self._step_of_fmi3()
        self._calls = [*setters, (f"fmi{fmu.fmi}DoStep", advance), *getters]
        if events:
            self._calls.insert(0, ("fmi3DoStep", lambda k: self._begin_event()))

    @property
    def log(self) -> list[str]:
        """The last messages of the FMU."""
        return self._log.texts()

    @property
    def y(self) -> Array:
        """Outputs, shape (n + 1, n_y); row 0 after initialisation, row k + 1 after step k."""
        y = np.empty(self._shape)
        for group in self._outputs:
            y[:, group.columns] = group.values
        return y

    def exchange(self, k: int, u: Array) -> Array | None:
        """`step` k with inputs `u` (n_u,) in place of the table's; outputs (n_y,) after it, None if it failed."""
        for group in self._inputs:
            group.values[k % len(group.values)] = u[group.columns]
        return self.y[(k + 1) % self._shape[0]] if self.step(k) else None

    def initialise(self, starts: Mapping[str, float | str]) -> None:
        """Set start values and the first inputs, initialise and get the first outputs.

        Raises
        ------
        InputError
            The FMU refused.
        """
        fmu, self._given = self._instance, dict(starts)
        try:
            self._set(starts)
            if self._fmu.fmi == 2:
                fmu.setupExperiment(startTime=self._start)
                fmu.enterInitializationMode()
            else:
                fmu.enterInitializationMode(startTime=self._start)
            self._call_once([self._transfer("Set", replace(group, ticks=None)) for group in self._inputs])
            fmu.exitInitializationMode()
            if self._events:
                self._call_once(self._first_ticks())
                status, ends = self._end_event()
                if ends or status not in (OK, WARNING):
                    raise FMICallException("fmi3UpdateDiscreteStates", NO_STEP if ends else status)
            self._call_once([self._transfer("Get", group) for group in self._outputs])
        except FMICallException as error:
            self._status = error.status
            message = f"the FMU returned {status_name(error.status, self._fmu.fmi)}{quoted(self.log, starts, True)}"
            raise InputError(self._fmu.file, error.function, None, message) from None

    def transfers(self, verb: str) -> list[Transfer]:
        """Calls that set all inputs (``"Set"``) or get all outputs (``"Get"``), for a loop in C."""
        groups, fmi = self._inputs if verb == "Set" else self._outputs, self._fmu.fmi
        calls = [
            Transfer(n := f"fmi{fmi}{verb}{g.kind}", g.kind, self._address(n), g.references, g.columns, g.ticks)
            for g in groups
        ]
        if verb == "Get":
            return calls
        set_clock = self._address("fmi3SetClock") if self._ticks else 0
        ticks = [
            Transfer("fmi3SetClock", "Clock", set_clock, np.array([t.reference], np.uint32), [], t) for t in self._ticks
        ]
        return ticks + calls

    def tunes(self, names: Iterable[str]) -> list[Transfer]:
        """Calls that set one parameter each, for a loop in C."""
        found = []
        for place, name in enumerate(names):
            kind, reference = self._fmu.kind(name), self._references([name])
            call = f"fmi{self._fmu.fmi}Set{kind}"
            found.append(Transfer(f"{call} of {name}", kind, self._address(call), reference, [place]))
        return found

    def schedule(self, changes: Iterable[tuple[int, str, float]]) -> None:
        """Have parameters change before steps: (step, name, value), in the order of steps; more may come in a deque."""
        due = changes if isinstance(changes, deque) else deque(changes)

        def tune(k: int) -> int:
            while due and due[0][0] <= k:
                _, name, value = due.popleft()
                try:
                    self._set({name: value})
                except FMICallException as error:
                    self._refused = error.function
                    return int(error.status)
                self._given[name] = value
            return OK

        self._calls.insert(1 if self._events else 0, (f"fmi{self._fmu.fmi}Set of a parameter", tune))

    @property
    def addresses(self) -> tuple[int, list[int]]:
        """Addresses of the instance and of its functions, for `Loop.attach`."""
        names = ["fmi3DoStep", "", ""]
        if self._fmu.fmi == 2:
            names = ["fmi2DoStep", *(n if n in self._instance.there else "" for n in STATUS_CALLS)]
        elif self._events:
            names += ["fmi3EnterEventMode", "fmi3UpdateDiscreteStates", "fmi3EnterStepMode"]
        return cast(int, self._component.value), [self._address(name) if name else 0 for name in names]

    def failed(self, status: int) -> None:
        """Note the status of a call that others made and that failed; it decides how the instance is freed."""
        self._status = status % IN_EVENT_MODE

    def step(self, k: int) -> bool:
        """Hand over the inputs of row k, step to point k + 1 and fetch the outputs there; False if that failed."""
        for name, call in self._calls:
            status = call(k)
            if status != OK and not self._terminated(status, k):
                if status != WARNING:
                    self.failed(status)
                    what = status_name(status, self._fmu.fmi)
                    told = f"{what} at t = {k * self._step:g} s{quoted(self.log, self._given)}"
                    self.failure = f"{self._refused or name} returned {told}"
                    return False
                self.warnings += 1
        for group in self._outputs:
            found = group.values[(k + 1) % self._shape[0]]
            if not np.isfinite(found).all():
                columns = np.array(group.columns)[~np.isfinite(found)].tolist()
                lost = next((c for c in columns if c not in self._local), None)
                if lost is None:
                    continue
                name = self._fmu.interface.select("output")[lost].name
                told = f"at t = {k * self._step:g} s{quoted(self.log, self._given)}"
                self.failure = f"output {name} was not finite {told}"
                return False
        return True

    def _set(self, given: Mapping[str, float | str]) -> None:
        """Set parameters and texts; an array is set whole, its other elements to their start values."""
        fmu, done = self._fmu, set[str]()
        for name in given:
            if name in done:
                continue
            kind, names = fmu.kind(name), fmu.elements(name)
            done.update(names)
            values: Any
            if kind == "String":
                values = (c_char_p * 1)(str(given[name]).encode())
                address = ctypes.addressof(values)
            else:
                number = NUMBERS[fmu.fmi][kind]
                starts = {n: fmu.interface.variable(n, "parameter").start or 0.0 for n in names}
                values = np.array([given.get(n, starts[n]) for n in names]).astype(number)
                address = values.ctypes.data
            references = self._references(names)
            call, n = f"fmi{fmu.fmi}Set{kind}", len(names)
            sizes = [c_size_t(n)] if fmu.fmi == 3 else []
            status = self._function(call)(
                self._component, c_void_p(references.ctypes.data), c_size_t(len(references)), c_void_p(address), *sizes
            )
            if status not in (OK, WARNING):
                raise FMICallException(f"{call} of {_given({n: given[n] for n in names if n in given})}", status)

    def _step_of_fmi2(self) -> Callable[[int], int]:
        do_step = self._function("fmi2DoStep")
        time, length, never_back = c_double(), c_double(self._step), c_int(1)

        def advance(k: int) -> int:
            time.value = self._start + k * self._step
            return cast(int, do_step(self._component, time, length, never_back))

        return advance

    def _step_of_fmi3(self) -> Callable[[int], int]:
        """Function that makes a step and returns its status; its end may be the simulation's.

        With event mode it begins there, and the step is made in parts that end at events.
        """
        do_step = self._function("fmi3DoStep")
        time, length, never_back = c_double(), c_double(self._step), c_bool(True)
        event, terminated, early, end = c_bool(), c_bool(), c_bool(), c_double()
        results = byref(event), byref(terminated), byref(early), byref(end)

        def part(begin: float, h: float) -> int:
            time.value = end.value = begin
            length.value = h
            event.value = terminated.value = early.value = False
            return cast(int, do_step(self._component, time, length, never_back, *results))

        def last(begin: float, status: int) -> int:
            if end.value <= begin:
                return NO_STEP
            self.terminated_at = min(end.value, begin + self._step) - self._start
            return status

        def advance(k: int) -> int:
            begin = self._start + k * self._step
            status = part(begin, self._step)
            if status not in (OK, WARNING):
                return status
            return last(begin, status) if terminated.value else EARLY if early.value else status

        def advance_with_events(k: int) -> int:
            begin, slack = self._start + k * self._step, 1e-9 * self._step
            t, stop = begin, begin + self._step
            worst, ends = self._end_event()
            if ends or worst > WARNING:
                return NO_STEP if ends else worst
            for _ in range(MOST_EVENTS):
                until = self.next_event if self.next_event < stop - slack else stop
                status = part(t, self._step if t == begin and until == stop else until - t)
                if status > WARNING:
                    return status
                worst = max(worst, status)
                if not terminated.value and (event.value or self.next_event <= end.value + slack):
                    status = self._begin_event()
                    if status <= WARNING:
                        status, terminated.value = self._end_event()
                    if status > WARNING:
                        return status
                if terminated.value:
                    return last(begin, worst)
                if end.value >= stop - slack or (not early.value and until == stop):
                    return worst
                t = end.value
            return ENDLESS

        return advance_with_events if self._events else advance

    def _begin_event(self) -> int:
        status = cast(int, self._instance.dll["fmi3EnterEventMode"](self._component))
        return status + IN_EVENT_MODE if status > WARNING else status

    def _end_event(self) -> tuple[int, bool]:
        """Update until nothing changes any more and leave event mode; status, and whether the unit ends."""
        again, ends, nominals, values, defined, at = c_bool(True), *(c_bool() for _ in range(4)), c_double()
        dll, status = self._instance.dll, OK
        results = [byref(value) for value in (again, ends, nominals, values, defined, at)]
        for _ in range(MOST_EVENTS):
            status = cast(int, dll["fmi3UpdateDiscreteStates"](self._component, *results))
            if status > WARNING:
                return status + IN_EVENT_MODE, False
            if ends.value or not again.value:
                break
        else:
            return ENDLESS, False
        self.next_event = at.value if defined.value else np.inf
        if not ends.value:
            status = cast(int, dll["fmi3EnterStepMode"](self._component))
        return (status + IN_EVENT_MODE if status > WARNING else status), ends.value

    def _function(self, name: str) -> Any:
        """A function of the library that is to be called.

        Raises
        ------
        InputError
            It has none of that name.
        """
        if name not in self._instance.there:
            raise InputError(self._fmu.file, self._fmu.library.name, None, f"{name}, which this run calls")
        return self._instance.dll[name]

    def _address(self, name: str) -> int:
        return cast(int, ctypes.cast(self._function(name), c_void_p).value)

    def _references(self, names: Iterable[str]) -> NDArray[np.uint32]:
        """Value references; in FMI 3.0 the elements of an array have one."""
        owners = dict.fromkeys(self._fmu.owner(name) for name in names)
        return np.array([reference for _, reference in owners], dtype=np.uint32)

    def _terminated(self, status: int, k: int) -> bool:
        """Whether a discarded step is the end of the simulation: the unit requested it, after it had advanced.

        A unit of pythonfmu reports termination whenever it refuses a step.
        """
        if status != DISCARD or self._fmu.fmi != 2 or not self._instance.there.issuperset(STATUS_CALLS):
            return False
        terminated, begin = c_int(), self._start + k * self._step
        end, dll = c_double(begin), self._instance.dll
        if dll["fmi2GetBooleanStatus"](self._component, TERMINATED, byref(terminated)) != OK or not terminated.value:
            return False
        dll["fmi2GetRealStatus"](self._component, LAST_SUCCESSFUL_TIME, byref(end))
        if end.value > begin:
            self.terminated_at = min(end.value, begin + self._step) - self._start
        return self.terminated_at is not None

    def free(self) -> None:
        """Terminate and free the instance, as far as the standard allows it after a failure."""
        if self._status not in (ERROR, FATAL):
            with suppress(FMICallException, InputError):
                self._instance.terminate()
        if self._status != FATAL and f"fmi{self._fmu.fmi}FreeInstance" in self._instance.there:
            getattr(self._instance, f"fmi{self._fmu.fmi}FreeInstance")(self._instance.component)
        _release(self._instance, unload=self._status != FATAL)

    def _groups(self, causality: str, values: Array) -> list[_Group]:
        groups, fmu = [], self._fmu
        for kind, number in NUMBERS[fmu.fmi].items():
            of_kind = [v for v in fmu.interface.select(causality) if fmu.kind(v.name) == kind]
            for ticks in (None, *self._ticks):
                clock = None if ticks is None else ticks.reference
                rows = [v for v in of_kind if fmu.clock(v.name) == clock]
                if rows:
                    columns, references = [v.index for v in rows], self._references(v.name for v in rows)
                    held = np.array(values[:, columns], dtype=number, order="C")
                    groups.append(_Group(kind, columns, references, held, ticks))
        return groups

    def _first_ticks(self) -> list[Call]:
        """Calls in the event mode after the initialisation: ticks at the start, and inputs that belong to them."""
        now = [ticks for ticks in self._ticks if ticks.first == 0]
        of_them = [replace(group, ticks=None) for group in self._inputs if group.ticks in now]
        return [self._tick(ticks, at_start=True) for ticks in now] + [self._transfer("Set", g) for g in of_them]

    def _tick(self, ticks: Ticks, at_start: bool = False) -> Call:
        """Function that activates a clock before step k, if it ticks there; its name."""
        function, component = self._function("fmi3SetClock"), self._component
        reference, active = np.array([ticks.reference], dtype=np.uint32), c_bool(True)

        def tick(k: int) -> int:
            return cast(int, function(component, c_void_p(reference.ctypes.data), c_size_t(1), byref(active)))

        return "fmi3SetClock", tick if at_start else _at_ticks(ticks, tick)

    def _transfer(self, verb: str, group: _Group, following: int = 0) -> Call:
        """Function that sets or gets row k (+ `following`) of a group in place and returns the status; its name."""
        name = f"fmi{self._fmu.fmi}{verb}{group.kind}"
        function, component = self._function(name), self._component
        references, count = c_void_p(group.references.ctypes.data), c_size_t(len(group.references))
        stride = group.values.strides[0]
        sizes = (c_size_t(group.values.shape[1]),) if self._fmu.fmi == 3 else ()
        address, first, rows = c_void_p(), group.values.ctypes.data, len(group.values)

        def transfer(k: int) -> int:
            address.value = first + (k + following) % rows * stride
            return function(component, references, count, address, *sizes)

        return name, transfer if group.ticks is None else _at_ticks(group.ticks, transfer)

    def _call_once(self, calls: list[Call]) -> None:
        for name, call in calls:
            if (status := call(0)) not in (OK, WARNING):
                raise FMICallException(name, status)


@contextmanager
def start(
    fmu: Fmu,
    starts: Mapping[str, float | str],
    u: Array,
    step: float,
    loop: Loop | None = None,
    events: bool | None = None,
    logging: bool = True,
) -> Iterator[Slave]:
    """An initialised instance, freed on leaving.

    Parameters
    ----------
    fmu : Fmu
        The extracted FMU.
    starts : mapping
        Values of parameters and texts that are set before initialisation, see `Fmu.starts`.
    u : array, shape (n + 1, n_u)
        Inputs; row k is constant during step k.
    step : float
        Communication step [s].
    loop : Loop, optional
        Loop with the logger for the FMU's messages.
    events : bool, optional
        Whether event mode is used (FMI 3.0); by default if the FMU needs it.
    logging : bool
        Whether messages are logged; a `loop` has its own setting.

    Raises
    ------
    InputError
        The library cannot be loaded, or the FMU refuses instantiation or initialisation; with its log.
    """
    log = _Log(fmu, loop, logging)
    if fmu.fmi == 3:
        fmu.ticks(step)  # refused before the library is loaded
    instance = _load(fmu)
    used = False
    try:
        if fmu.fmi == 2:
            instance.instantiate(
                callbacks=log.callbacks(), loggingOn=log.on
            )  # some log the cause of a failure only then
        else:
            used = _instantiate_fmi3(instance, log, _event_modes(fmu) if events is None else [events])
    except InputError:
        _release(instance)
        raise
    except Exception:  # FMPy raises nothing more specific
        _release(instance)
        raise InputError(fmu.file, "instantiation", None, f"the FMU refused{quoted(log.texts())}") from None
    try:
        slave = Slave(fmu, instance, u, step, log, used)
    except BaseException:
        _release(instance)
        raise
    try:
        slave.initialise(starts)
        yield slave
    finally:
        slave.free()


class _Missing:
    """A function that a library lacks, which matters if it is called."""

    def __init__(self, file: str, library: str, name: str):
        self._said = file, library, None, f"{name}, which this run calls"

    def __call__(self, *_: Any) -> int:
        raise InputError(*self._said)


def _lenient(base: Any, fmu: Fmu) -> Any:
    """FMPy's class, which does without functions that nobody calls; `there` are those that the library has."""

    def load_functions(self: Any) -> None:
        names = [n for n in dir(base) if n.startswith(f"fmi{fmu.fmi}") and callable(getattr(base, n))]
        self.there = {name for name in (*names, PYTHON) if hasattr(self.dll, name)}
        for name in set(names) - self.there:
            setattr(self.dll, name, _Missing(fmu.file, fmu.library.name, name))
        base._loadFunctions(self)

    def call(self: Any, name: str, *given: Any) -> Any:
        if name == "fmi2Instantiate" and PYTHON in self.there:
            folder = unquote_to_bytes(given[3])  # it decodes %20 alone, and ends the process if a folder is missing
            if b"%20" in folder:
                raise InputError(fmu.file, "TMPDIR", unquote(given[3]), "a folder without %20 for a unit of pythonfmu")
            given = (*given[:3], folder, *given[4:])
        return base._call(self, name, *given)

    return type(base.__name__, (base,), {"_loadFunctions": load_functions, "_call": call})


def _load(fmu: Fmu) -> FMU2Slave | FMU3Slave:
    usable = AsInputError(
        Exception, fmu.file, fmu.library.name, None, lambda e: f"the library cannot be used here: {e}"
    )
    with usable, chdir("."):  # FMPy raises Exception, and stays in the library's folder if loading fails
        return _lenient(FMU2Slave if fmu.fmi == 2 else FMU3Slave, fmu)(
            guid=fmu.description.guid,
            modelIdentifier=fmu.description.coSimulation.modelIdentifier,
            unzipDirectory=fmu.folder,
            libraryPath=str(fmu.library),
        )


def _release(instance: FMU2Slave | FMU3Slave, unload: bool = True) -> None:
    """Unload the library; that of pythonfmu has to end a thread before, or frees memory twice when the process ends."""
    with suppress(AttributeError):
        instance.dll[PYTHON]()
    if unload:
        instance.freeLibrary()


def _messages(fmi: int, logging: bool) -> Messages | None:
    """Memory for messages, where the logger in C can be had."""
    with suppress(InputError):
        return Messages(fmi, logging) if available() else None
    return None


class _Log:
    """Logger of a unit's messages: the logger in C, or one in Python where there is none.

    The one in Python keeps the format of a message: it cannot read its arguments.
    """

    def __init__(self, fmu: Fmu, loop: Loop | None, logging: bool):
        self._fmu, self._texts = fmu, deque[str](maxlen=LOG_LENGTH)
        self._memory = loop.log if loop is not None else _messages(fmu.fmi, logging)
        self.on = logging if self._memory is None else self._memory.logging

    def texts(self) -> list[str]:
        """The last messages."""
        if self._memory is not None:
            fetch_messages(self._texts, self._memory, self._fmu)
        return list(self._texts)

    def callbacks(self) -> fmi2CallbackFunctions:
        """Callbacks of FMI 2.0."""
        found = fmi2CallbackFunctions()
        found.logger, found.componentEnvironment = self.logger(fmi2CallbackLoggerTYPE)
        found.allocateMemory = defaultCallbacks.allocateMemory
        found.freeMemory = defaultCallbacks.freeMemory
        return found

    def logger(self, kind: Any) -> tuple[Any, int]:
        """A callback and its environment."""
        if self._memory is not None:
            address, environment = self._memory.logger
            return ctypes.cast(address, kind), environment
        fmi = self._fmu.fmi
        at = 2 if fmi == 2 else 1  # of the status

        def note(*given: Any) -> None:
            if self.on:
                text = (given[at + 2] or b"").decode(errors="replace").strip()
                self._texts.append(f"{status_name(given[at], fmi)}: {self._fmu.spelled(text)}")

        return kind(note), 0


def _at_ticks(ticks: Ticks, call: Callable[[int], int]) -> Callable[[int], int]:
    """A call that is made before steps at which a clock ticks; its tick at the start follows the initialisation."""

    def call_if_due(k: int) -> int:
        return call(k) if k >= max(ticks.first, 1) and (k - ticks.first) % ticks.every == 0 else OK

    return call_if_due


def _event_modes(fmu: Fmu) -> list[bool]:
    """Whether to use event mode, in the order in which to try it."""
    if not fmu.description.coSimulation.hasEventMode:
        return [False]
    return [True] if any(v.type == "Clock" for v in fmu.description.modelVariables) else [False, True]


def _instantiate_fmi3(instance: Any, log: _Log, modes: Iterable[bool]) -> bool:
    """Make the instance, without intermediate variables; returns whether with event mode and early return."""
    instance.logMessage, environment = log.logger(fmi3LogMessageCallback)  # kept as long as the instance
    make = instance.dll["fmi3InstantiateCoSimulation"]
    make.restype = c_void_p
    resources = str(Path(instance.unzipDirectory) / "resources") + os.sep
    invisible, logging = c_bool(False), c_bool(log.on)
    name, token = c_char_p(instance.instanceName.encode()), c_char_p(instance.guid.encode())
    for events in modes:
        instance.component = make(
            name, token, c_char_p(resources.encode()), invisible, logging, c_bool(events), c_bool(events), c_void_p(),
            c_size_t(0), c_void_p(environment), instance.logMessage, c_void_p()
        )  # fmt: skip
        if instance.component:
            return events
    raise RuntimeError("no instance")


def fetch_messages(log: deque[str], messages: Messages, fmu: Fmu) -> None:
    """Append the messages of the logger in C, with names in place of references."""
    log.extend(f"{status_name(status, messages.fmi)}: {fmu.spelled(text)}" for status, text in messages.take())


def warned(log: Sequence[str], warnings: int) -> list[str]:
    """A note on calls of a run that returned a warning, with the unit's messages that are none of its status OK."""
    said = [f"{text} ({n} times)" if (n := log.count(text)) > 1 else text for text in dict.fromkeys(log)
            if not re.match(r"fmi\dOK:", text)]  # fmt: skip
    counted = [f"calls of the unit that returned a warning: {warnings}"] if warnings else []
    return ["; its messages: ".join([*(counted or ["the unit warned"]), " | ".join(said)])] if said else counted


def status_name(status: int, fmi: int = 2) -> str:
    """The name of a status of FMI 2.0 or 3.0, or of the flags of ``fmi3DoStep``."""
    if fmi == 3 and status in SAID:
        return SAID[status]
    if IN_EVENT_MODE <= status < 2 * IN_EVENT_MODE:
        return f"{status_name(status - IN_EVENT_MODE, fmi)} in event mode"
    known = STATUS[: 6 if fmi == 2 else 5]
    return f"fmi{fmi}{known[status]}" if 0 <= status < len(known) else f"the illegal status {status}"


def quoted(log: Sequence[str], given: Mapping[str, float | str] | None = None, every: bool = False) -> str:
    """The FMU's messages, to follow another, and of the parameters that were set those that a message names, or all."""
    said = "; its messages: " + " | ".join(log) if log else "; it gave no message"
    named = {name: value for name, value in (given or {}).items() if every or _names(" | ".join(log), name)}
    return said + (f"; parameters that were set: {_given(named)}" if named else "")


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", text) is not None


def _given(given: Mapping[str, float | str]) -> str:
    return listed([f"{name} = {value!r}" if isinstance(value, str) else f"{name} = {value:g}"
                   for name, value in given.items()])  # fmt: skip


def listed(found: Sequence[str]) -> str:
    """The first of these texts, and how many more there are."""
    more = len(found) - SHOWN
    return ", ".join(found[:SHOWN]) + (f" and {more} more" if more > 0 else "")
