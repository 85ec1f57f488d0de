"""A model: its variables, its state and the kernels that advance it. The contract of all models.

The kernels work on 1-D float64 arrays, in the order of the model's tables::

    initialise(p, data, u, x, work) -> status      start state from parameters and inputs; prepares `work`
    derivative(t, x, u, p, data, dx, work)         right-hand side of x' = f(x, u), with constant inputs
    output(t, x, u, p, data, y, work)              outputs, contact forces included
    step(t, h, x, u, p, data, y, work) -> status   one fixed step: 0 ok, 1 saturated or extrapolating, 2 failed

and, where a step needs the exact Jacobian, ``jacobian(t, x, u, p, data, jac, work)``, which writes df/dx, row-major.

``step`` is total: any input, NaN and Inf included, gives a status, and a failed step leaves the state as it was.
`p` has the parameters of an instance; no kernel writes them. `data` is the same in all instances: sizes,
places, tables. It is read only, and a constant of the machine code. `work` is scratch of one instance whose first part
`initialise` derives from `p`; it never carries state from step to step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import AsInputError, InputError, near
from rtcvt.kernel import FAILED
from rtcvt.quantity import Unit, shown

Vector = NDArray[np.float64]
Fidelity = Literal["rigid", "hybrid", "full", "system"]  # gears: rigid or full; belts and variators: rigid or hybrid
Causality = Literal["parameter", "input", "output", "state"]


STATE_OF_FMU = "no FMU where states are copied: its own is in its process"


class Books(Enum):
    """Role of an output in the energy balance (`rtcvt.model.balance`)."""

    STORED = "stored"  # energy [J]
    SUPPLY = "supply"  # energy left in a battery [J], or burnt fuel [kg]
    POWER = "power in"  # [W], by other ways than flanges
    LOSS = "loss"  # power [W], heat [J], or force [N] along the way of the vehicle
    HELD_LOSS = "loss of a held force"  # [N], which follows an input
    MOTION = "motion"  # way [m] and speed [m/s] of the vehicle


@dataclass(frozen=True)
class Variable:
    """One row of the variable table, the single source of buffers, FMI description, documentation and tests.

    `index` is the place in the buffer of its causality: ``p``, ``u``, ``y`` or ``x``.
    """

    name: str
    causality: Causality
    index: int
    unit: str  # SI, "1" if dimensionless
    description: str
    start: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    display_unit: str | None = None
    boolean: bool = False
    tunable: bool = False  # a parameter that may change between steps
    choices: tuple[str, ...] = ()  # names of the items of an enumeration
    numbers: tuple[int, ...] = ()  # values of the items, unless they are 0, 1, ...
    set_point: bool = False  # an input that a controller follows
    whole: tuple[int, int] | None = None  # smallest and largest value of an integer's type
    defined: Unit | None = None  # unit of the quantity as a foreign unit defines it
    local: bool = False  # a local variable of a foreign unit, which is only recorded
    books: Books | None = None  # role of an output in the energy balance
    floor: str = ""  # parameter that this one is not below

    @property
    def measured(self) -> "str | Unit":
        """The unit that values are converted to."""
        return self.defined or self.unit

    @property
    def items(self) -> dict[str, int]:
        """Items of an enumeration: value by name."""
        return dict(zip(self.choices, self.numbers or range(len(self.choices)), strict=True))

    def choice(self, value: float | str) -> float:
        """Value of an enumeration, by name or number.

        Raises
        ------
        ValueError
            It is none of the choices.
        """
        if isinstance(value, str) and value in self.choices:
            return float(self.items[value])
        for number in self.items.values():
            if str(value) == str(number) or value == number:
                return float(number)
        raise ValueError(f"one of {', '.join(f'{name} ({k})' for name, k in self.items.items())}")

    def checked(self, value: float, source: str, given: object = None) -> float:
        """A value of a parameter, if it may have it; `given` is how it was written.

        Raises
        ------
        InputError
            It is not finite, out of range, or none of the choices.
        """
        low = -np.inf if self.minimum is None else self.minimum
        high = np.inf if self.maximum is None else self.maximum
        if not low <= value <= high or not abs(value) < np.inf:
            raise InputError(source, self.name, given or value, f"a number from {low:g} to {shown(high, self.unit)}")
        with AsInputError(ValueError, source, self.name, given or value, str):
            return self.choice(value) if self.choices else value


@dataclass(frozen=True)
class VariableTable:
    """Parameters, inputs and outputs of a model or of an imported unit."""

    name: str
    variables: tuple[Variable, ...]

    def select(self, causality: str) -> tuple[Variable, ...]:
        """Variables of one causality, in the table's order."""
        return tuple(v for v in self.variables if v.causality == causality)

    @cached_property
    def by_name(self) -> dict[str, Variable]:
        """Variables by name."""
        return {v.name: v for v in self.variables}

    def require_order(self, p: Vector, source: str = "") -> None:
        """Refuse parameters that are below another one, their `floor`; `source` names the file in messages.

        Raises
        ------
        InputError
            One is.
        """
        for v in self.variables:
            least = p[self.by_name[v.floor].index] if v.floor else -np.inf
            if v.causality == "parameter" and p[v.index] < least:
                allowed = f"at least {v.floor}, {shown(least, v.unit)}"
                raise InputError(source or self.name, v.name, shown(p[v.index], v.unit), allowed)

    def variable(self, name: str, *causalities: str) -> Variable:
        """The variable of that name.

        Raises
        ------
        InputError
            There is none of these causalities.
        """
        found = self.by_name.get(name)
        if found is None or (causalities and found.causality not in causalities):
            kinds = causalities or ("parameter", "input", "output")
            known = near(name, (v.name for v in self.variables if v.causality in kinds))
            raise InputError(self.name, name, None, f"not one of its {' or '.join(kinds)}s{known}")
        return found


class Coupling(NamedTuple):
    """Kernels of a model whose flanges can be connected, see `rtcvt.network`; all evaluate at ``x, u``.

    `k` identifies a flange: the place of its torque or speed among the inputs.

    Attributes
    ----------
    linearise : callable
        ``linearise(t, x, u, p, data, f, jac, work)``: x' and df/dx, row-major. Where x' has kinks, the derivative is
        that of the smooth piece at `x`. Slow effects may be left out of df/dx.
    port : callable
        ``port(k, x, u, p, data, row, column, work) -> d``: derivatives at flange `k`: of its output by x (``row``), of
        x' by its input (``column``), and of its output by its input (d). Called after `derivative` or `linearise` at
        the same point.
    flange : callable
        ``flange(k, x, u, p, data, work) -> y``: the output of flange `k`; called after `derivative` or `linearise`.
    piece : callable
        ``piece(x, u, p, data, work) -> number``: the smooth piece of x' at `x`; called after `derivative`, `linearise`
        or `output`.
    limits : tuple of str
        Boolean outputs that are true while a limit is active.
    cheap_output : callable, optional
        `output` without the outputs in `costly`, where computing these needs much of its time.
    again : callable, optional
        `linearise` for fewer computations, where `output` was called last, at the same point.
    """

    linearise: Callable[..., None]
    port: Callable[..., float]
    flange: Callable[..., float]
    piece: Callable[..., float]
    limits: tuple[str, ...] = ()
    cheap_output: Callable[..., None] | None = None
    costly: tuple[str, ...] = ()
    again: Callable[..., None] | None = None


@dataclass(frozen=True)
class Model(VariableTable):
    """A real-time model: kernels, tables and default parameters. See the module for the kernels' contract."""

    description: str
    fidelity: Fidelity
    states: tuple[Variable, ...]
    p: Vector  # default parameters
    data: Vector  # sizes, places and tables, which all instances share
    n_work: int
    step_size: float  # [s]
    initialise: Callable[..., int]
    derivative: Callable[..., None]
    output: Callable[..., None]
    step: Callable[..., int]
    jacobian: Callable[..., None] | None = None
    coupling: Coupling | None = None
    source: str = ""  # text of the unit file
    internal_step: float | None = None  # [s] longest internal step; None if a step has other parts than internal steps
    algebraic: tuple[int, ...] = ()  # unknowns of constraints: `derivative` gives their residuals
    discrete: bool = False  # some states belong to a law in discrete time, which only `step` advances
    prepares: bool = True  # whether `initialise` leaves in `work` what other kernels need
    clock: float | None = None  # [s] interval at which a unit of FMI 3.0 reads its set points; None: at any time
    bus: Any = None  # network of a unit of FMI 3.0 (`rtcvt.fmu.native.bus`)
    foreign: tuple[Any, ...] = ()  # FMUs that run in processes of their own (`rtcvt.network.foreign`)

    opaque: bool = False  # code of others in it has no derivatives
    needs: str = "inertias of the reduced state, stiffnesses, radii and inputs that fit"  # for a finite start
    parts: Mapping[str, "Model"] = field(default_factory=dict)  # of a system, which has their parameters as NAME.KEY

    def __post_init__(self) -> None:
        self.data.flags.writeable = False

    def require_own(self, what: str) -> None:
        """Refuse a model with FMUs.

        Raises
        ------
        InputError
            It has one; the message names it, and `what` is not possible with it.
        """
        for guest in self.foreign:
            raise guest.error(what)

    @property
    def exchangeable(self) -> bool:
        """Whether a foreign integrator can advance the states by `derivative`: model exchange."""
        return not (self.algebraic or self.discrete)

    def instantiate(self) -> "Instance":
        """Fresh buffers with the start values."""
        return Instance(self)


def model_of(unit: Any, fidelity: Fidelity, table: Any, kernels: Any, **more: Any) -> Model:
    """The model of a unit with a table of its variables (`rtcvt.table.Table`) and a module of kernels.

    `more` are the other fields of `Model`; ``jacobian`` is the module's, if it has one.
    """
    named = {name: getattr(kernels, name) for name in ("initialise", "derivative", "output", "step")}
    if needs := getattr(kernels, "needs", ""):
        more["needs"] = needs
    return Model(
        name=unit.name, description=unit.description, fidelity=fidelity, variables=table.variables, states=table.states,
        p=table.p, jacobian=getattr(kernels, "jacobian", None), source=unit.text, **named, **more,
    )  # fmt: skip


@dataclass
class Instance:
    """Buffers of one running model. Sizes never change, so nothing is allocated while it steps."""

    model: Model
    p: Vector = field(init=False)
    u: Vector = field(init=False)
    x: Vector = field(init=False)
    y: Vector = field(init=False)
    work: Vector = field(init=False)
    t: float = field(init=False, default=0.0)  # [s]
    guests: list[Any] = field(init=False, default_factory=list)  # running FMUs

    def __post_init__(self) -> None:
        m = self.model
        self.p = m.p.copy()
        self.u = np.array([v.start for v in m.select("input")], dtype=float)
        self.x = np.zeros(len(m.states))
        self.y = np.zeros(len(m.select("output")))
        self.work = np.zeros(m.n_work)

    def copy(self) -> "Instance":
        """An independent copy, which continues from here with the same bits."""
        self.model.require_own(STATE_OF_FMU)
        other = Instance(self.model)
        other.t = self.t
        for k in ("p", "u", "x", "y", "work"):
            getattr(other, k)[:] = getattr(self, k)
        return other

    def __copy__(self) -> "Instance":
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Instance":
        return self.copy()

    def buffer(self, variable: Variable) -> Vector:
        """Buffer of a variable."""
        return {"parameter": self.p, "input": self.u, "output": self.y}[variable.causality]

    def set(self, name: str, value: float) -> None:
        """Set a parameter (before `initialise`) or an input, in SI units.

        Raises
        ------
        InputError
            No such parameter or input, or a parameter outside its range.
        """
        v = self.model.variable(name, "parameter", "input")
        self.buffer(v)[v.index] = v.checked(value, self.model.name) if v.causality == "parameter" else value

    def tune(self, name: str, value: float) -> None:
        """Change a tunable parameter between steps, in SI units; states stay as they are.

        Raises
        ------
        InputError
            No such parameter, one that is fixed, a value outside its range, or one with which there is no finite
            start state; nothing is changed then.
        """
        v = self.model.variable(name, "parameter")
        if not v.tunable:
            raise InputError(self.model.name, name, value, "a parameter is fixed when initialisation is over")
        kept = float(self.p[v.index])
        self.set(name, value)
        scratch = np.empty_like(self.x)
        if self.model.initialise(self.p, self.model.data, self.u, scratch, self.work) == FAILED:
            self.p[v.index] = kept
            self.model.initialise(self.p, self.model.data, self.u, scratch, self.work)
            raise InputError(self.model.name, name, value, "one with which there is a finite start state")

    def get(self, name: str) -> float:
        """Value of a variable in SI units."""
        v = self.model.variable(name)
        return float(self.buffer(v)[v.index])

    def initialise(self, t: float = 0.0) -> None:
        """Compute the start state and the outputs there.

        Raises
        ------
        InputError
            The parameters admit no start state.
        """
        self.t, self.guests = t, []
        for foreign in self.model.foreign:
            foreign.reset(self)
        self._start()
        for foreign in self.model.foreign:
            self.guests.append(foreign.started(self))
            self._start()

    def _start(self) -> None:
        t = self.t
        failed = self.model.initialise(self.p, self.model.data, self.u, self.x, self.work) == FAILED
        if not failed:
            self.model.output(t, self.x, self.u, self.p, self.model.data, self.y, self.work)
        if failed or not np.isfinite(self.y).all():
            self.model.require_order(self.p)
            of, needs = self._failing()
            raise InputError(self.model.name, f"initialise{of}", None, f"{needs}: these values give no finite start")

    def _failing(self) -> tuple[str, str]:
        """The part of a system that does not start by itself, and what it needs; what the model needs otherwise."""
        for name, part in self.model.parts.items():
            one = part.instantiate()
            for v in part.select("parameter"):
                one.p[v.index] = self.get(f"{name}.{v.name}")
            if not part.foreign and part.initialise(one.p, part.data, one.u, one.x, one.work) == FAILED:
                return f" of {name}", part.needs
        return "", self.model.needs

    def step(self, h: float) -> int:
        """Advance by `h` [s]; time moves on unless the step failed."""
        for guest in self.guests:
            guest.begin(self)
        status = self.model.step(self.t, h, self.x, self.u, self.p, self.model.data, self.y, self.work)
        if status != FAILED:
            self.t += h
            for guest in self.guests:
                guest.end(self, h)
        return status

    def derivative(self) -> Vector:
        """``x'`` at the present state; residuals of constraints in the rows of `Model.algebraic`."""
        dx = np.empty_like(self.x)
        self.model.derivative(self.t, self.x, self.u, self.p, self.model.data, dx, self.work)
        return dx

    def jacobian(self) -> NDArray[np.float64]:
        """``df/dx`` at the present state, shape (n, n); by central differences if the model has none of its own."""
        n = len(self.x)
        if self.model.jacobian is None:
            return self._differences()
        jac = np.empty(n * n)
        self.model.jacobian(self.t, self.x, self.u, self.p, self.model.data, jac, self.work)
        return jac.reshape(n, n)

    def _differences(self) -> NDArray[np.float64]:
        x, columns = self.x.copy(), []
        for j, d in enumerate(1e-6 * (1.0 + np.abs(x))):
            self.x[j] = x[j] + d
            above = self.derivative()
            self.x[j] = x[j] - d
            columns.append((above - self.derivative()) / (2.0 * d))
            self.x[j] = x[j]
        return np.column_stack(columns)

    def outputs(self) -> Vector:
        """The outputs at the present state, as the buffer itself."""
        self.model.output(self.t, self.x, self.u, self.p, self.model.data, self.y, self.work)
        return self.y

    def get_state(self) -> dict[str, Any]:
        """Everything that `set_state` needs to go on from here with the same bits."""
        self.model.require_own(STATE_OF_FMU)
        return {"t": self.t} | {k: getattr(self, k).tolist() for k in ("p", "u", "x", "y")}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to a state of this model."""
        self.t = state["t"]
        for k in ("p", "u"):
            getattr(self, k)[:] = state[k]
        self.model.initialise(self.p, self.model.data, self.u, self.x, self.work)
        for k in ("x", "y"):
            getattr(self, k)[:] = state[k]
