"""FMUs as components of a system: FMI 2.0 or 3.0 for co-simulation, with signals and without flanges::

    [components.tcu]
    fmu = "tcu.fmu"  # in the folder of the system file
    step = "10 ms"  # its communication step, a multiple of the system's
    units = { F = "N" }  # of variables to which its description gives none, or another one
    parameters = { k = "500 kN/s" }

An FMU is machine code of others: it runs in a process of its own (`rtcvt.hil.stepped`), at the same time as the system.
At its communication point T_k it gets the outputs of the other components there and makes its step; its outputs at
T_(k+1) are those of this step, and constant up to T_(k+2). So an output follows an input one communication step later,
also where the FMU itself has no delay. At the start the FMU is initialised with the inputs that follow from its start
values, and the system then starts with its outputs. Its state is in its process: instances are not copied.

An exported native unit has the FMU's sources (SourceFiles in FMI 2.0, buildDescription.xml in FMI 3.0) and runs it in
its own process, by the same rules: a communication step of the unit is made in pieces that end at those of the FMU.
This needs the permission that code in a law's file needs (`rtcvt.law.code`). A step in which the FMU fails ends the
run, and the unit's state can be copied if that of the FMU can, but is no row of bytes.

In the network it is a part whose states are its outputs. They are in SI units, and converted by the definitions in the
FMU's description or by the names of the units.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError
from rtcvt.kernel import OK, kernel
from rtcvt.kind import Unit, lazily
from rtcvt.model import Instance, Model, Variable
from rtcvt.model.places import entry
from rtcvt.scenario import Scenario

Array = NDArray[np.float64]
open_fmu = lazily("rtcvt.hil.importer:open_fmu")
_stepped = lazily("rtcvt.hil.stepped:Stepped")

# --- the part of the network: data has the number of outputs and the place of their start values in p -----------------


@kernel
def initialise(p, data, u, x, work):
    """The held outputs at the start."""
    for i in range(entry(0, data)):
        x[i] = p[entry(1, data) + i]
    return OK


@kernel
def derivative(t, x, u, p, data, dx, work):
    """Outputs are held."""
    for i in range(entry(0, data)):
        dx[i] = 0.0


@kernel
def output(t, x, u, p, data, y, work):
    """The held outputs."""
    for i in range(entry(0, data)):
        y[i] = x[i]


@kernel
def step(t, h, x, u, p, data, y, work):
    """Nothing: the FMU makes its steps outside."""
    return OK


# --- the component ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Foreign:
    """An FMU of a system, and the places of its variables there.

    Attributes
    ----------
    path : Path
        The FMU.
    source, key : str
        System file and key of the component.
    fmi : {2, 3}
        Version of FMI.
    step : float
        Communication step [s].
    texts : dict
        Values of parameters that are texts.
    own : dict
        Variables of the FMU in its units, by name.
    scale : dict
        Factor and offset of each parameter, input and output: value in SI units = factor * value + offset.
    keeps_state, alone : bool
        Whether its state can be copied, and whether a process may have one instance only.
    inputs : array (n_u,)
        Places of the inputs among the outputs and inputs of the network.
    x, y, p : int
        Places of the first output among the states and outputs, and of the first parameter.
    """

    path: Path
    source: str
    key: str
    fmi: int
    step: float
    texts: dict[str, str]
    own: dict[str, Variable]
    scale: dict[str, Array]
    keeps_state: bool
    alone: bool
    inputs: NDArray[np.int64]
    x: int = 0
    y: int = 0
    p: int = 0

    def of(self, causality: str) -> list[Variable]:
        """Its variables of one causality."""
        return [v for v in self.own.values() if v.causality == causality]

    def unscaled(self, causality: str, values: Array) -> Array:
        """Values in the FMU's units."""
        factor, offset = self.scale[causality]
        return np.asarray((values - offset) / factor)

    def reset(self, instance: Instance) -> None:
        """Put its start values into an instance of the network."""
        first = self.p + len(self.of("parameter"))
        instance.p[first : first + len(self.of("output"))] = self.start

    @property
    def start(self) -> Array:
        """Outputs before the FMU is initialised."""
        factor, offset = self.scale["output"]
        return factor * np.array([v.start or 0.0 for v in self.of("output")]) + offset

    def started(self, instance: Instance) -> "Guest":
        """Start the FMU in its process.

        Raises
        ------
        InputError
            It cannot run here, or refuses; the message names the component.
        """
        return Guest(self, instance)

    def error(self, about: object, key: str = "fmu") -> InputError:
        """A fault of the component."""
        value = self.path.name if key == "fmu" else self.step
        return InputError(self.source, f"{self.key}.{key}", value, str(about))


class Guest:
    """An FMU that runs for an instance of the network."""

    def __init__(self, of: Foreign, instance: Instance) -> None:
        self._of, self._start, self._waits = of, instance.t, False
        p = self._parameters(instance)
        rows = of.of("parameter")
        starts = {v.name: value for v, value in zip(rows, p.tolist(), strict=True) if value != (v.start or 0.0)}
        self._tunable = [k for k, v in enumerate(rows) if v.tunable]
        names = [rows[k].name for k in self._tunable]
        try:
            given = self._inputs(instance), of.step, names, p[self._tunable]
            self._run = _stepped(of.path, {**starts, **of.texts}, *given)
        except InputError as error:
            raise of.error(error) from None
        factor, offset = of.scale["output"]
        instance.p[of.p + len(rows) : of.p + len(rows) + len(factor)] = factor * self._run.y + offset

    def begin(self, instance: Instance) -> None:
        """Begin a step if the FMU waits for one."""
        if not self._waits:
            self._run.begin(self._inputs(instance), self._parameters(instance)[self._tunable])
            self._waits = True

    def end(self, instance: Instance, h: float) -> None:
        """If the network has arrived at the communication point by a step `h` [s], take the outputs there.

        Raises
        ------
        InputError
            The FMU failed, or the network stepped over the point.
        """
        of = self._of
        late = instance.t - self._start - self._run.began * of.step
        if late < -0.1 * h:
            return
        if late > 0.1 * h:
            raise of.error(f"a multiple of the step of the run, {h:g} s", "step")
        try:
            y = self._run.end()
        except InputError as error:
            raise of.error(error) from None
        factor, offset = of.scale["output"]
        y = factor * y + offset
        instance.x[of.x : of.x + len(y)] = y
        instance.y[of.y : of.y + len(y)] = y
        self._waits = False

    def _inputs(self, instance: Instance) -> Array:
        return self._fitting("input", np.concatenate([instance.y, instance.u])[self._of.inputs])

    def _parameters(self, instance: Instance) -> Array:
        n = len(self._of.of("parameter"))
        return self._fitting("parameter", instance.p[self._of.p : self._of.p + n])

    def _fitting(self, causality: str, values: Array) -> Array:
        """Values for the FMU; those of Booleans and integers are rounded."""
        found = self._of.unscaled(causality, values)
        whole = [v.boolean or v.whole is not None for v in self._of.of(causality)]
        return np.where(whole, np.rint(found), found)


@dataclass(frozen=True)
class ForeignModel(Model):
    """The part of the network."""

    unit: Foreign | None = None


class ForeignUnit(Unit):
    """An FMU as the unit of a component."""

    kind: Literal["fmu"] = "fmu"
    path: Path
    key: str
    step: float
    whole: float  # step of the system [s]
    component: Annotated[Any, Field(exclude=True)]  # its table in the system file
    scenario: tuple[Scenario, ...] = ()

    @property
    def models(self) -> tuple[Any, ...]:
        """It has one."""
        return ("rigid",)

    def with_flanges(self, choice: Any, source: str = "flanges") -> Any:
        """It has no flanges.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(self.source, self.key, None, "no flanges in an FMU")

    def build(self, *_: Any, **__: Any) -> Model:
        """The part of the network that holds its outputs.

        Raises
        ------
        InputError
            Not an FMU for co-simulation, no outputs, a unit that is unknown, or a key that names no variable.
        """
        component = self.component
        valid = AsInputError(InputError, self.source, f"{self.key}.fmu", component.fmu, str)
        with valid, open_fmu(self.path, runs=False) as fmu:
            texts = {k: str(v) for k, v in component.parameters.items() if k in fmu.strings("parameter")}
            own = {v.name: v for v in fmu.interface.variables}
            fmi, about, run = fmu.fmi, fmu.description.description or "", fmu.description.coSimulation
        if unknown := next((name for name in component.units if name not in own), None):
            raise InputError(self.source, f"{self.key}.units.{unknown}", None, "a variable of the FMU that is a number")
        rows, scale = [], {}
        for causality in ("parameter", "input", "output"):
            found = [self._row(v, component.units.get(v.name)) for v in own.values() if v.causality == causality]
            rows += [row for row, *_ in found]
            scale[causality] = np.array([of[1:] for of in found], dtype=float).reshape(-1, 2).T
        foreign = Foreign(self.path, self.source, self.key, fmi, self.step, texts, own, scale,
                          bool(run.canGetAndSetFMUstate), bool(run.canBeInstantiatedOnlyOncePerProcess),
                          np.zeros(0, np.int64))  # fmt: skip
        outputs = [v for v in rows if v.causality == "output"]
        if not outputs:
            raise InputError(self.source, f"{self.key}.fmu", component.fmu, "an FMU with an output that is a number")
        starts = [v.start or 0.0 for v in rows if v.causality == "parameter"]
        return ForeignModel(
            name=self.name, description=about, fidelity="rigid", variables=tuple(rows),
            states=tuple(replace(v, causality="state", start=None) for v in outputs),
            p=np.array([*starts, *foreign.start]), data=np.array([len(outputs), len(starts)], dtype=float), n_work=1,
            step_size=self.whole, initialise=initialise, derivative=derivative, output=output, step=step,
            discrete=True, unit=foreign,
        )  # fmt: skip

    def _row(self, v: Variable, unit: str | None) -> tuple[Variable, float, float]:
        """A variable in SI units, factor and offset of its values."""
        given = unit or v.measured
        try:
            si = quantity.si_of(given)
            factor, offset = quantity.conversion(given, si)
        except ValueError as error:
            allowed = f"{error}: give one in {self.key}.units"
            raise InputError(self.source, f"{self.key}.fmu", f"{v.name} [{v.unit}]", allowed) from None

        def scaled(value: float | None) -> float | None:
            return None if value is None else factor * value + offset

        low, high = (scaled(v.minimum), scaled(v.maximum))[:: 1 if factor > 0.0 else -1]
        nominal = None if v.nominal is None else abs(factor * v.nominal)
        row = replace(v, unit=si, defined=None, start=None if v.causality == "output" else scaled(v.start or 0.0),
                      minimum=low, maximum=high, nominal=nominal)  # fmt: skip
        return row, factor, offset
