"""Observer files: the unit observed, what is measured, what may drift and what is estimated."""

import hashlib
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError, near
from rtcvt.kind import Unit, load_unit
from rtcvt.model import STATE_OF_FMU, Model, Variable
from rtcvt.network.generate import module_of, text_without
from rtcvt.observer import kernels
from rtcvt.observer.layout import DEVIATION, ESTIMATE, FACTOR, MEASURED, SPREAD, D, Scale, Window, Y
from rtcvt.scenario import Scenario
from rtcvt.table import Constants, Row, Table
from rtcvt.unitfile import Duration, Record, Solver, UnitFile, own_file, shipped_units

Quantity = float | str
UNBOUNDED = 1e11  # of an input
LEAST = 1e-12  # of a deviation that divides
WIDEST = 100.0  # largest deviation, divided by that at the start


class Unknown(Record):
    """What is not known of a state, and of a parameter or an input that walks at random."""

    deviation: Quantity  # standard deviation at the start; of a drifting quantity also without measurements
    rate: Quantity = 0.0  # of the random walk: deviation after 1 s
    model: Quantity = 0.0  # the model's own standard deviation in it, which no measurement reduces
    share: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0  # of each correction that is made


class Drift(Unknown):
    """A parameter or an input that walks at random."""

    start: Quantity | None = None  # of an input, instead of the unit's own


class Observer(Unit):
    """An observer file."""

    kind: Literal["observer"]
    of: Annotated[str, Field(min_length=1)]  # a shipped unit, or a file in this folder
    model: Literal["rigid", "hybrid", "full"] | None = None  # of the unit; by default its first
    flanges: dict[str, str] = {}  # other inputs at its flanges, "torque" or "speed"
    parameters: dict[str, Quantity] = {}  # other values of its parameters
    measured: dict[str, Quantity] = Field(min_length=1)  # outputs with their standard deviations
    noise: dict[str, Quantity] = {}  # inputs with their standard deviations in each step
    drift: dict[str, Drift] = {}  # parameters and inputs
    states: dict[str, Unknown] = {}  # by default 10 % of a state's typical value at the start, and no walk
    estimated: dict[str, str] = {}  # outputs, with "[FACTOR ]OUTPUT", the model's own deviation, or ""
    neglected: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0  # share of deviations below which a column stands still
    window: Duration = 1.0  # of the innovation test
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()


def read_observer(file: UnitFile) -> Observer:
    """Validate an observer file.

    Raises
    ------
    InputError
        Not a valid observer.
    """
    observer: Observer = file.parse(Observer)
    if observer.solver.method != "rosenbrock" or observer.solver.substeps != 1:
        raise InputError(file.source, "solver", None, "only 'step': the unit's own method advances it")
    return observer


def build_observer(observer: Observer, fidelity: str = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of an observer.

    Raises
    ------
    InputError
        The unit has no kernels of its own, or a name or quantity is not one of the unit's.
    """
    del fidelity
    unit = unit_of(observer).with_flanges(observer.flanges, f"{observer.source}: flanges")
    try:
        part = unit.build(observer.model, substeps, observer.parameters)
    except InputError as error:  # the key is one of this file, where it is its choice
        _, key_of, value, allowed = error.parts
        given = {"model": observer.model} | {f"parameters.{name}": v for name, v in observer.parameters.items()}
        mine = next((k for k in given if k in (key_of, f"parameters.{key_of}")), None)
        if mine is None:
            raise
        raise InputError(observer.source, mine, value, allowed) from None
    if part.foreign:
        raise InputError(observer.source, "of", observer.of, STATE_OF_FMU)
    return _Writer(observer, part).model()


def unit_of(observer: Observer) -> Unit:
    """The unit that is observed.

    Raises
    ------
    InputError
        There is no such unit, or it has no real-time model that can be observed.
    """
    key = own_file(observer.folder, observer.of, f"{observer.source}: of")
    if key is None and observer.of not in shipped_units():
        guess = near(observer.of, shipped_units())
        allowed = f"a unit file in this folder, or one of the shipped units{guess}"
        raise InputError(observer.source, "of", observer.of, allowed)
    unit = load_unit(key or shipped_units()[observer.of])
    if unit.kind == "observer" or not unit.models:
        raise InputError(observer.source, "of", observer.of, "a unit with a real-time model that is no observer")
    return unit


class _Writer:
    """Tables of an observer while they are written."""

    def __init__(self, observer: Observer, part: Model) -> None:
        self.observer, self.part = observer, part
        self.table, self.data = Table(), Constants(D)
        self.rest = part.instantiate()
        with AsInputError(InputError, observer.source, "of", observer.of, str):
            self.rest.initialise()
        known = {name: self.variable("drift", name, "parameter", "input") for name in observer.drift}
        self.drifting = sorted(known.values(), key=lambda v: v.causality != "parameter")
        for v in self.drifting:
            if v.choices or v.boolean:
                raise InputError(observer.source, f"drift.{v.name}", None, "a number: a choice does not drift")
        named = {"measured": list(observer.measured), "estimated": list(observer.estimated)}
        self.outputs = [self.variable(key, name, "output") for key, names in named.items() for name in names]
        names = {s.name for s in part.states} | {v.name for v in self.drifting}
        for v in self.outputs[len(observer.measured) :]:
            if v.boolean or v.name in names:
                raise InputError(observer.source, f"estimated.{v.name}", None, "a number that is estimated once")
        if unknown := sorted(observer.states.keys() - {s.name for s in part.states}):
            allowed = ", ".join(s.name for s in part.states)
            raise InputError(observer.source, f"states.{unknown[0]}", None, f"one of {allowed}")

    def variable(self, key: str, name: str, *causalities: str) -> Variable:
        """A variable of the unit that the table `key` of the file names."""
        with AsInputError(InputError, self.observer.source, f"{key}.{name}", None, lambda e: e.parts[3]):
            return self.part.variable(name, *causalities)

    def quantity(
        self, key: str, v: Variable, value: Quantity, least: float = 0.0, what: str = "a standard deviation"
    ) -> float:
        """A number [SI]; `key` names it in the file."""
        with AsInputError(ValueError, self.observer.source, key, value, str):
            found = quantity.to_si(value, v.unit)
        if not least <= found < UNBOUNDED:
            allowed = f"{what} of {v.unit}, from {least:g} and below {UNBOUNDED:g}"
            raise InputError(self.observer.source, key, value, allowed)
        return found

    def own(self, name: str, given: str) -> tuple[float, float]:
        """Numbers of `Own`, of ``"OUTPUT"``, ``"FACTOR OUTPUT"`` or ``""``."""
        factor, _, output = given.rpartition(" ")
        if not given:
            return -1, 0.0
        try:
            place = self.part.variable(output, "output").index
        except InputError as error:
            allowed = f"'OUTPUT', 'FACTOR OUTPUT' or ''; {output!r} is {error.parts[3]}"
            raise InputError(self.observer.source, f"estimated.{name}", given, allowed) from None
        dimensionless = replace(self.part.variable(output, "output"), unit="1")
        known = float(factor or 1.0) if factor.replace(".", "", 1).isdecimal() or not factor else factor
        return place, self.quantity(f"estimated.{name}", dimensionless, known, what="a factor")

    def drift(self, key: str, v: Variable, given: Unknown, widest: float) -> list[float]:
        """Numbers of `Scale`."""
        of = f"{key}.{v.name}"
        start = self.quantity(f"{of}.deviation", v, given.deviation, LEAST)
        rate, own = self.quantity(f"{of}.rate", v, given.rate), self.quantity(f"{of}.model", v, given.model)
        return [start, rate, widest * start, own, given.share]

    def model(self) -> Model:
        """The model."""
        o, part, data, table = self.observer, self.part, self.data, self.table
        inputs, n_q = part.select("input"), len(self.drifting)
        drifting = {v.name for v in self.drifting}
        free = [v for v in inputs if v.name not in drifting]
        noisy = [(self.variable("noise", name, "input"), value) for name, value in o.noise.items()]
        estimated = self.outputs[len(o.measured) :]
        data[D.STEP] = part.internal_step or part.step_size
        data[D.PREPARES] = part.prepares
        data[D.DRIFTING], data[D.PARAMETERS] = n_q, sum(v.causality == "parameter" for v in self.drifting)
        drift: list[float] = []
        scales: list[float] = []
        for v in self.drifting:
            low, high = (-UNBOUNDED if v.minimum is None else v.minimum, UNBOUNDED if v.maximum is None else v.maximum)
            start = o.drift[v.name].start
            if start is not None and v.causality == "parameter":
                raise InputError(o.source, f"drift.{v.name}.start", start, "none: the start is in [parameters]")
            own = v.start or 0.0
            begin = own if start is None else self.quantity(f"drift.{v.name}.start", v, start, low, "a value")
            drift += [v.index, low, high, begin]
            scales += self.drift("drift", v, o.drift[v.name], WIDEST)
        for s in part.states:
            given = o.states.get(s.name, Unknown(deviation=0.1 * (s.nominal or 1.0)))
            scales += self.drift("states", s, given, WIDEST)
        data[D.N_Z] = n_z = n_q + len(part.states)
        data[D.NOISY], data[D.N_FREE], data[D.N_MEASURED] = len(noisy), len(free), len(o.measured)
        data[D.N_ROWS], data[D.N_ESTIMATES] = n_z + len(self.outputs), n_z + len(estimated)
        data[D.N_ALL] = data[D.N_ROWS] + len(noisy)
        data[D.NEGLECTED] = o.neglected
        walks = sum(rate > 0.0 for rate in scales[Scale.RATE :: len(Scale)])
        data[D.N_COLUMNS] = n_z + len(noisy) + len(o.measured) + walks
        data[D.SAMPLES] = max(1, round(o.window / o.solver.step))
        data[D.N_P], data[D.N_U], data[D.N_X], data[D.N_START] = (
            len(part.p), len(inputs), len(part.states), len(part.states))  # fmt: skip
        data[D.N_Y], data[D.N_PART] = len(part.select("output")), part.n_work
        self._variables(free, estimated, [v for v, _ in noisy])
        data[D.N_OWN_X], data[D.N_OWN_Y] = table.size("state"), table.size("output")
        n_work = data.place_blocks()
        data.table(D.DRIFT, drift)
        data.table(D.SCALES, scales)
        for v, _ in noisy:
            if v.name in drifting:
                raise InputError(o.source, f"noise.{v.name}", None, "an input that does not drift")
        data.table(D.NOISE, [n for v, value in noisy for n in (v.index, self.quantity(f"noise.{v.name}", v, value))])
        data.table(D.FREE, [v.index for v in free])
        data.table(D.OUTPUTS, [v.index for v in self.outputs])
        pairs = zip(self.outputs, o.measured.values(), strict=False)
        data.table(D.DEVIATIONS, [self.quantity(f"measured.{v.name}", v, value, LEAST) for v, value in pairs])
        data.table(D.OWN, [n for name, own in o.estimated.items() for n in self.own(name, own)])
        data.table(D.DATA, part.data.tolist())
        data[D.N_DATA] = len(part.data)
        return Model(
            name=o.name, description=o.description, fidelity="rigid",
            variables=(*part.select("parameter"), *table.variables), states=table.states, p=part.p.copy(),
            data=data.array(), n_work=n_work, step_size=o.solver.step, discrete=True, source=o.text, **_kernels(part),
        )  # fmt: skip

    def _variables(self, free: list[Variable], estimated: list[Variable], noisy: list[Variable]) -> None:
        table, part, n_m = self.table, self.part, len(self.observer.measured)
        for v in free:
            table.take(v, set_point=False)
        for v in self.outputs[:n_m]:
            table.take(replace(v, causality="input", books=None), name=MEASURED + v.name, start=self.rest.get(v.name),
                       minimum=None, maximum=None, description=f"measured at step end: {v.description}")  # fmt: skip
        rows = [*self.drifting, *part.states, *estimated]
        about = {"causality": "output", "start": None, "minimum": None, "maximum": None, "books": None,
                 "tunable": False, "set_point": False}  # fmt: skip
        for v in rows:
            told = replace(v, **about)  # type: ignore[arg-type]
            table.take(told, name=ESTIMATE + v.name, description=f"estimate: {v.description}")
        for v in rows:
            told = replace(v, **about, display_unit=None)  # type: ignore[arg-type]
            table.take(told, name=DEVIATION + v.name, description=f"standard deviation: {v.description}")
        table.each("output", Y)
        for v in rows[: -len(estimated) or None]:
            table.add("state", Row(ESTIMATE + v.name, v.unit, v.description, nominal=v.nominal))
        n_z = table.size("state")
        for i in range(n_z):
            for j in range(i + 1):
                table.add("state", FACTOR, fields={"i": i + 1, "j": j + 1, "name": rows[i].name})
        table.each("state", [SPREAD], [{"name": v.name} for v in rows])
        for v in noisy:
            table.add("state", Row(f"noise.{v.name}", v.unit, f"estimated noise: {v.description}", nominal=v.nominal))
        table.each("state", Window)


def _kernels(part: Model) -> dict[str, Any]:
    """Kernels of the observer of a unit, from those of the unit."""
    kernels_of_part = {what: getattr(part, what) for what in ("initialise", "output", "step")}
    given = {f"part_{what}": getattr(k, "compiled", k) for what, k in kernels_of_part.items()}  # of a system, too
    text = text_without(kernels, "unit", "filter")
    named = "\n".join(f"{name} {k.py_func.__module__}.{k.py_func.__qualname__}" for name, k in given.items())
    name = f"observer_{hashlib.sha256((text + named).encode()).hexdigest()[:16]}"
    found = module_of(name, text, given, "Kernels of observers of a unit: " + named)
    return {what: found[what] for what in ("initialise", "derivative", "output", "step")}
