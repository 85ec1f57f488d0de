"""The FMI slave that runs a model in the Python of the importing tool, through pythonfmu.

A unit contains its unit file, its settings and a script of a few lines that derives a class from `UnitSlave`. Kernels
and everything else come from the installed package, because the machine code of numba cannot be embedded.

The shared library of pythonfmu 0.7.0 maps results here to FMI as follows.

- `do_step` returns False: fmi2Discard. A step that is not valid is refused in this way; the state is as it was, and
  the tool may continue with other inputs or a smaller step.
- An exception: fmi2Fatal, its text in the log. There is no way to fmi2Error.
- The tool sees messages only if it has turned logging on; those of exceptions are written to stderr as well.

Three of its faults are corrected here and in the script (see `rtcvt.fmu.export`).

- After an exception it releases its references to the slave, and again when the instance is freed: `UnitSlave` acquires
  them once more before it raises.
- If it is not unloaded before the process ends, which is the rule on Linux, it destroys its record of the interpreter
  twice, and the process aborts in some runs, on some systems in all. Its own function ``finalizePythonInterpreter``
  destroys the record and clears it; registered with the C library to run first at exit, it leaves nothing to destroy.
  In a host that is not Python the interpreter ends there, while LLVM and all other libraries are still loaded.
- At each instantiation it releases a reference to the script's globals that it never acquired.

A host that is not Python would get a new Python thread state at each call; the first `do_step` attaches one for good,
which makes the calls two to four times faster.
"""

import ctypes
import hashlib
import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from xml.etree.ElementTree import Element

from pythonfmu.enums import Fmi2Status
from pythonfmu.fmi2slave import Fmi2Slave

from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.fmu.description import model_description
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.quantity import shown

UNIT_FILE = "unit.toml"
SETTINGS = "unit.json"


@cache
def _finalize_at_exit(library: Path) -> None:
    """Have the library destroy its record of the interpreter once, before anything else at exit."""
    try:
        loaded = ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:  # not loaded from here
        return
    finalize = ctypes.cast(loaded.finalizePythonInterpreter, ctypes.c_void_p)
    ctypes.CDLL(None).__cxa_atexit(finalize, None, None)


class UnitSlave(Fmi2Slave):
    """One instance of a unit. Value references are places in the model's variable table."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        resources = Path(self.resources)
        if sys.platform == "linux":  # first of all: a unit that is refused below needs it too
            for library in (resources.parent / "binaries" / "linux64").glob("*.so"):
                _finalize_at_exit(library)
        self.settings = json.loads((resources / SETTINGS).read_text(encoding="utf-8"))
        needed = self.settings["rtcvt"]
        if needed != __version__:
            message = f"this unit needs rtcvt {needed}, but the Python in {sys.prefix} has rtcvt {__version__}: "
            message += f"pip install rtcvt=={needed}, or export the unit again"
            print(message, file=sys.stderr)
            raise ImportError(message)
        unit = load_unit(resources / UNIT_FILE).with_flanges(self.settings["flanges"], UNIT_FILE)
        self.modelName = self.settings["identifier"]  # pythonfmu names the binaries so
        self.model = unit.build(*(self.settings[key] for key in ("fidelity", "substeps", "parameters")))
        self.stop_time = unit.scenario[0].duration if unit.scenario else 1.0
        self.instance = self.model.instantiate()
        self._attached = False  # the thread that steps keeps its Python thread state
        self._running = False  # initialisation is over
        self._stale = True  # the start state has to be computed
        self._inputs: dict[int, int] = {}
        self._reals: dict[int, tuple[Any, int]] = {}  # memoryview and place: much faster than indexing the array
        self._booleans: dict[int, tuple[Any, int]] = {}
        self._choices: dict[int, tuple[Any, int]] = {}  # enumerations, also among the reals
        self._u: Any = self.instance.u.data
        for reference, v in enumerate(self.model.variables):
            places = self._booleans if v.boolean else self._reals
            places[reference] = (self.instance.buffer(v).data, v.index)
            if v.choices:
                self._choices[reference] = places[reference]
            if v.causality == "input":
                self._inputs[reference] = v.index
        scratch = self.model.instantiate()  # the first calls of the kernels compile them or load them from disk
        scratch.initialise()
        scratch.step(self.model.step_size)

    def to_xml(self, model_options: Any = None) -> Element:
        """The model description."""
        return model_description(self.model, self.modelName, self.settings["guid"], True, self.stop_time)

    def setup_experiment(self, start_time: float, stop_time: float | None, tolerance: float | None) -> None:
        """Note the start time [s]."""
        self.instance.t = start_time

    def enter_initialization_mode(self) -> None:
        """Inputs and parameters may still be set; outputs follow them."""
        self._stale = True

    def exit_initialization_mode(self) -> None:
        """Compute the start state and the outputs there."""
        self._refresh()
        self._running = True

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance by `step_size` [s]; False if that is not possible, with the state as it was."""
        if not self._attached:
            ctypes.pythonapi.PyGILState_Ensure()
            self._attached = True
        instance = self.instance
        instance.t = current_time
        if instance.step(step_size) != FAILED:
            return True
        inputs = ", ".join(f"{v.name} = {shown(instance.u[v.index], v.unit)}" for v in self.model.select("input"))
        self.log(f"{self.model.name}: no finite step of {step_size:g} s from t = {current_time:g} s with {inputs}; "
                 "the state is as it was", Fmi2Status.discard)  # fmt: skip
        return False

    def get_real(self, vrs: list[int]) -> list[float]:
        """Values of real variables."""
        return self._get(self._reals, vrs)

    def get_boolean(self, vrs: list[int]) -> list[bool]:
        """Values of boolean variables."""
        return [bool(value) for value in self._get(self._booleans, vrs)]

    def get_integer(self, vrs: list[int]) -> list[int]:
        """Values of enumerations."""
        return [int(value) for value in self._get(self._choices, vrs)]

    def set_integer(self, vrs: list[int], values: list[int]) -> None:
        """Set enumerations until initialisation is over."""
        self.set_real(vrs, [float(value) for value in values])

    set_boolean = set_integer  # inputs

    def set_real(self, vrs: list[int], values: list[float]) -> None:
        """Set inputs, and parameters; once initialisation is over, tunable ones only."""
        inputs, u = self._inputs, self._u
        for reference, value in zip(vrs, values, strict=True):
            if reference in inputs:
                u[inputs[reference]] = value
            else:
                self._set_parameter(reference, value)
        self._stale = not self._running

    def _get(self, places: dict[int, tuple[Any, int]], vrs: list[int]) -> list[float]:
        if self._stale:
            self._refresh()
        try:
            return [buffer[index] for buffer, index in (places[reference] for reference in vrs)]
        except KeyError as error:
            self._fail(InputError(self.model.name, "value reference", error.args[0], "one of this type of variable"))

    def _set_parameter(self, reference: int, value: float) -> None:
        try:
            if reference not in self._reals or self.model.variables[reference].causality == "output":
                raise InputError(self.model.name, "value reference", reference, "one of a parameter or a real input")
            name = self.model.variables[reference].name
            if self._running:
                self.instance.tune(name, value)
            else:
                self.instance.set(name, value)
        except InputError as error:
            self._fail(error)

    def _refresh(self) -> None:
        try:
            self.instance.initialise(self.instance.t)
        except InputError as error:
            self._fail(error)
        self._stale = False

    def _fail(self, error: InputError) -> NoReturn:
        """Raise; the references are those that the library gives back once too often."""
        for held in (self, type(self), self.log_queue):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
        print(error, file=sys.stderr)
        raise error

    def _get_fmu_state(self) -> dict[str, Any]:
        return {"instance": self.instance.get_state(), "running": self._running, "stale": self._stale}

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        if not state:
            self._fail(InputError(self.model.name, "serialised state", None, "a complete state of this unit"))
        self.instance.set_state(state["instance"])
        self._running, self._stale = state["running"], state["stale"]

    @classmethod
    def _fmu_state_to_bytes(cls, state: dict[str, Any]) -> bytes:
        text = json.dumps(state).encode()
        return cls._seal(text) + text

    @classmethod
    def _fmu_state_from_bytes(cls, data: bytes) -> dict[str, Any]:
        """The state that this unit has written; of others and damaged ones nothing, which `_set_fmu_state` refuses.

        The library calls this on the class: here there is no slave whose references could be held, see `_fail`.
        """
        size = hashlib.sha256().digest_size
        whole = data[:size] == cls._seal(data[size:])
        state: dict[str, Any] = json.loads(data[size:]) if whole else {}
        return state

    @classmethod
    def _seal(cls, text: bytes) -> bytes:
        """Hash of a state and of the unit, whose guid is part of the name of its class."""
        return hashlib.sha256(cls.__name__.encode() + text).digest()
