"""System files: components and their connections, described in TOML.

``components`` are units with their parameters and constant inputs. ``connect`` joins flanges, ``"box.output -
driveline.shaft"``, any number at a node, and carries signals, ``"cycle.cycle.v -> driver.driver.v_des"``. ``ground``
does not move. A shaft of ``shafts`` is a spring with a damper between two flanges or nodes::

    connect = ["engine.crank - box.input", "box.sun - ground", "vehicle.vehicle.v -> driver.driver.v"]
    [shafts.half]
    between = ["box.output", "vehicle.axle"]
    K = "10 kN.m/rad"
    d = "100 N.m.s/rad"

A component may be a law with its equations here, in its table ``law`` (`rtcvt.law.file`), or an FMU
(`rtcvt.network.foreign`). A signal may begin with an
expression of outputs in SI units, ``"0.5*(left.w + right.w) -> control.w"``: it becomes such a law.

This module converts a file to a `Graph`: the flanges of each node, and the output of each connected input.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from rtcvt import quantity
from rtcvt.errors import AsInputError, InputError, near
from rtcvt.kind import Unit
from rtcvt.law.file import Equations, Input, Law, Output, law_of
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.network.foreign import ForeignModel
from rtcvt.scenario import Scenario, parameter_value
from rtcvt.unitfile import MAX_SUBSTEPS, Duration, Name, Record, Solver, UnitFile, quantity_in

GROUND = "ground"


class Component(Record):
    """A unit in a system."""

    unit: str = ""  # a shipped unit, or a file in this folder
    law: Equations | None = None  # instead of a unit
    fmu: str = ""  # instead of a unit: a file in this folder
    step: Duration | None = None  # communication step of an FMU; by default that of the system
    units: dict[str, str] = {}  # of variables of an FMU, instead of those in its description
    model: Fidelity | None = None  # by default the unit's first
    substeps: Annotated[int, Field(ge=1, le=MAX_SUBSTEPS)] | None = None  # instead of the unit's own
    parameters: dict[str, float | str] = {}  # other values of its parameters; those of another model count there
    inputs: dict[str, float | str] = {}  # start values of inputs that are not connected

    @model_validator(mode="after")
    def _one(self) -> "Component":
        if bool(self.unit) + (self.law is not None) + bool(self.fmu) != 1:
            raise ValueError("'unit', 'fmu', or a table 'law'")
        if (self.model or self.substeps) if self.fmu else (self.step or self.units):
            raise ValueError("'step' and 'units' of an FMU, 'model' and 'substeps' of a unit")
        return self


class Shaft(Record):
    """A massless shaft."""

    between: tuple[str, str]  # two flanges; the twist is that of the first against the second
    K: Annotated[float, quantity_in("N.m/rad", above=0.0)]  # stiffness
    d: Annotated[float, quantity_in("N.m.s/rad", at_least=0.0)] = 0.0  # damping


class System(Unit):
    """A system file."""

    kind: Literal["system"]
    connect: tuple[str, ...] = ()  # flanges, "A.F - B.G", and signals, "A.Y -> B.U"
    components: dict[Name, Component] = Field(min_length=1)  # units by the names that they have here
    shafts: dict[Name, Shaft] = {}  # springs with dampers between flanges
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()


def read_system(file: UnitFile) -> System:
    """Validate a system file.

    Raises
    ------
    InputError
        Not a valid system.
    """
    system = file.parse(System)
    both = set(system.components) & set(system.shafts)
    if both:
        raise InputError(file.source, f"shafts.{min(both)}", None, "a name that no component has")
    if GROUND in system.components:
        raise InputError(file.source, f"components.{GROUND}", None, "another name: 'ground' is the fixed node")
    if system.solver.method != "rosenbrock":
        raise InputError(file.source, "solver.method", system.solver.method, "'rosenbrock'")
    for name, component in system.components.items():
        if component.law is not None:
            own_law(system, name, component.law)
        if component.step is not None:
            n = component.step / system.solver.step
            if not (round(n) >= 1 and abs(n - round(n)) <= 1e-9 * n):
                allowed = f"a multiple of the step of the system, {system.solver.step:g} s"
                raise InputError(file.source, f"components.{name}.step", component.step, allowed)
    return system


def own_law(system: System, name: str, given: Equations) -> Law:
    """The unit of a component with its law in the system file.

    Raises
    ------
    InputError
        Not a valid law.
    """
    about = {"name": name, "text": system.text, "solver": system.solver, "source": system.source}
    return law_of(given, folder=system.folder, key=f"components.{name}.law.", **about)


# --- flanges ----------------------------------------------------------------------------------------------------------


class Flange(NamedTuple):
    """A flange of a component's model."""

    component: str
    name: str
    input: Variable
    output: Variable

    @property
    def path(self) -> str:
        """COMPONENT.FLANGE."""
        return f"{self.component}.{self.name}"

    @property
    def sign(self) -> float:
        """Torque into the component by the input, 0 where this is a speed."""
        return {"tau": 1.0, "load": -1.0, "w": 0.0}[self.input.name.rpartition(".")[2]]


def flanges_of(component: str, model: Model) -> dict[str, Flange]:
    """Flanges by name: with a torque as input (`tau`; `load`: the neighbour's) and a speed as output, or vice versa."""
    found = {}
    for v in model.select("input"):
        name, _, quantity_ = v.name.rpartition(".")
        other = {"tau": "w", "load": "w", "w": "tau"}.get(quantity_)
        output = model.by_name.get(f"{name}.{other}")
        if output is not None and output.causality == "output":
            found[name] = Flange(component, name, v, output)
    return found


# --- the graph --------------------------------------------------------------------------------------------------------


class Signal(NamedTuple):
    """From an output to an input."""

    start: str  # component
    output: Variable
    end: str
    input: Variable
    key: str  # key of the file


@dataclass
class Graph:
    """Components with their models, and their connections; expressions of signals are components, too."""

    system: System
    models: dict[str, Model]
    nodes: list[list[Flange]] = field(default_factory=list)  # each with its flanges
    grounded: list[bool] = field(default_factory=list)
    shafts: dict[str, tuple[int, int]] = field(default_factory=dict)  # nodes at the ends, -1 for ground
    signals: list[Signal] = field(default_factory=list)

    def joined(self, component: str) -> bool:
        """Whether a component has connected flanges."""
        return any(f.component == component for node in self.nodes for f in node)


def graph_of(system: System, models: Mapping[str, Model]) -> Graph:
    """Nodes and signals of a system, checked.

    Raises
    ------
    InputError
        A name that is unknown, ends of different kind or unit, an input that is driven twice, a free flange, a node
        that does not hold together, a loop of signals without memory.
    """
    flanges = {f.path: f for name, model in models.items() for f in flanges_of(name, model).values()}
    graph = Graph(system, dict(models))
    groups = Groups()
    keys: dict[str, str] = {}
    for k, text in enumerate(system.connect):
        key = f"connect[{k}]"
        if "->" in text:
            graph.signals.append(_signal(system, models, key, text))
            continue
        ends = [end.strip() for end in text.split(" - ")]
        if len(ends) < 2:
            allowed = "flanges, COMPONENT.FLANGE - COMPONENT.FLANGE, or a signal, COMPONENT.OUTPUT -> COMPONENT.INPUT"
            raise InputError(system.source, key, text, allowed)
        for end in ends:
            _require_flange(system, models, flanges, key, end)
            keys.setdefault(end, key)
        if len(set(ends)) < len(ends):
            raise InputError(system.source, key, text, "flanges that are not the same")
        groups.join(ends)
    for name, shaft in system.shafts.items():
        for end in shaft.between:
            _require_flange(system, models, flanges, f"shafts.{name}.between", end)
            keys.setdefault(end, f"shafts.{name}.between")
            groups.join([end])
    _number_nodes(system, graph, groups, flanges, keys)
    _require_driven_once(system, graph, flanges)
    return graph


_PLAIN = re.compile(r"[^\s*/()+]*")  # a name alone
_OUTPUT = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z_]\w*(?:\[[\d,]+\])*)+")


def with_expressions(system: System, models: Mapping[str, Model]) -> System:
    """The system, with laws in place of the expressions in its signals.

    Raises
    ------
    InputError
        Not an expression of outputs, or its unit differs from that of the input.
    """
    connect: list[str] = []
    laws: dict[str, Component] = {}
    for k, text in enumerate(system.connect):
        start, arrow, end = (part.strip() for part in text.rpartition("->"))
        if not arrow or "->" in start or _PLAIN.fullmatch(start):
            connect.append(text)
            continue
        key, name = f"connect[{k}]", f"signal_{k}"
        if name in models:
            raise InputError(system.source, f"components.{name}", None, f"another name: {key} becomes this component")
        _, target = _variable(system, models, key, end, "input")
        found = {path: _variable(system, models, key, path, "output")[1] for path in _OUTPUT.findall(start)}
        names = {path: re.sub(r"\W+", "_", path).strip("_") for path in found}
        value = _OUTPUT.sub(lambda match: names[match[0]], start)  # noqa: B023
        inputs = {names[path]: Input(unit=v.unit, boolean=v.boolean) for path, v in found.items()}
        law = Equations(inputs=inputs, outputs={"value": Output(value=value, unit=target.unit, boolean=target.boolean)})
        with AsInputError(InputError, system.source, key, text, lambda e: e.parts[3]):
            own_law(system, name, law)
        laws[name] = Component(law=law)
        connect += [*(f"{path} -> {name}.{names[path]}" for path in found), f"{name}.value -> {end}"]
    return system.model_copy(update={"connect": tuple(connect), "components": {**system.components, **laws}})


class Groups:
    """Sets of names that are joined, such as the ends at a node."""

    def __init__(self) -> None:
        self.of: dict[str, list[str]] = {}

    def join(self, ends: Iterable[str]) -> None:
        """Make one of the sets of all these ends."""
        one: list[str] = []
        for end in ends:
            if self.of.get(end) is not one:
                one += [e for e in self.of.get(end, [end]) if e not in one]
        for end in one:
            self.of[end] = one

    def __iter__(self) -> Iterator[list[str]]:
        return iter({id(group): group for group in self.of.values()}.values())


def _require_flange(
    system: System, models: Mapping[str, Model], flanges: Mapping[str, Flange], key: str, end: str
) -> None:
    if end == GROUND:
        return
    component, _, name = end.partition(".")
    if component not in models:
        allowed = f"ground, or COMPONENT.FLANGE of the components{near(component, models)}"
        raise InputError(system.source, key, end, allowed)
    if end not in flanges:
        own = [f.name for f in flanges.values() if f.component == component]
        if name in models[component].by_name:
            raise InputError(system.source, key, end, "a flange; a signal is connected by an arrow: OUTPUT -> INPUT")
        allowed = f"one of the flanges of {component}{near(name, own) if own else ': it has none'}"
        raise InputError(system.source, key, end, allowed)
    if models[component].coupling is None:
        raise InputError(system.source, key, end, "a flange of a kind that gives the derivatives at its flanges")


def _number_nodes(
    system: System, graph: Graph, groups: Groups, flanges: Mapping[str, Flange], keys: Mapping[str, str]
) -> None:
    number: dict[str, int] = {}
    shafted = {end for shaft in system.shafts.values() for end in shaft.between}
    for group in groups:
        own = [flanges[end] for end in group if end != GROUND]
        grounded = GROUND in group
        if len(own) + grounded < 2 and not shafted & set(group):
            raise InputError(system.source, keys[group[0]], group[0], "flanges of two components, or ground")
        for end in group:
            number[end] = -1 if not own else len(graph.nodes)
        if own:
            graph.nodes.append(own)
            graph.grounded.append(grounded)
    for name, shaft in system.shafts.items():
        a, b = (number.get(end, -1) for end in shaft.between)
        if a == b:
            raise InputError(system.source, f"shafts.{name}.between", list(shaft.between), "two nodes, not one")
        graph.shafts[name] = (a, b)


def _signal(system: System, models: Mapping[str, Model], key: str, text: str) -> Signal:
    ends = [end.strip() for end in text.split("->")]
    if len(ends) != 2:
        raise InputError(system.source, key, text, "COMPONENT.OUTPUT -> COMPONENT.INPUT")
    start, output = _variable(system, models, key, ends[0], "output")
    end, target = _variable(system, models, key, ends[1], "input")
    units = [quantity.known_unit(v.unit)._replace(name="") for v in (output, target)]
    if output.boolean != target.boolean or units[0] != units[1]:
        kinds = [f"{v.name} {'Boolean' if v.boolean else f'[{v.unit}]'}" for v in (output, target)]
        raise InputError(system.source, key, text, f"two variables of the same unit, not {kinds[0]} and {kinds[1]}")
    return Signal(start, output, end, target, key)


def _variable(system: System, models: Mapping[str, Model], key: str, text: str, causality: str) -> tuple[str, Variable]:
    name, _, port = text.partition(".")
    if name not in models:
        raise InputError(system.source, key, name, f"one of the components{near(name, models)}")
    try:
        return name, models[name].variable(port, causality)
    except InputError as error:
        flange = flanges_of(name, models[name]).get(port)
        about = "a signal; flanges are connected without an arrow: A.FLANGE - B.FLANGE" if flange else str(error)
        raise InputError(system.source, key, text, about) from None


def _require_driven_once(system: System, graph: Graph, flanges: Mapping[str, Flange]) -> None:
    driven: dict[str, str] = {}
    for node in graph.nodes:
        for f in node:
            driven[f"{f.component}.{f.input.name}"] = f"the node of {', '.join(other.path for other in node)}"
    for s in graph.signals:
        target = f"{s.end}.{s.input.name}"
        if target in driven:
            allowed = f"an input that is driven once; {driven[target]} drives it too"
            raise InputError(system.source, s.key, f"-> {target}", allowed)
        driven[target] = f"{s.start}.{s.output.name}"
    for name, component in system.components.items():
        for given in component.inputs:
            if f"{name}.{given}" in driven:
                allowed = f"an input that is not connected; {driven[f'{name}.{given}']} drives it"
                raise InputError(system.source, f"components.{name}.inputs.{given}", None, allowed)
    for path, f in flanges.items():
        free = f"{f.component}.{f.input.name}" not in driven
        if free and f.sign == 0.0 and f.input.name not in system.components[f.component].inputs:
            allowed = f"a connection, or its speed in components.{f.component}.inputs; the flange is free"
            raise InputError(system.source, "connect", path, allowed)


# --- components -------------------------------------------------------------------------------------------------------


def with_values(system: System, name: str, model: Model, others: Iterable[Model] = ()) -> Model:
    """The model of a component with the parameters and inputs that the file gives as start values.

    A parameter that only `others` have, which are models of the same unit, is checked there; this model ignores it.

    Raises
    ------
    InputError
        An unknown name, or a value that is not allowed.
    """
    key, component = f"components.{name}", system.components[name]
    instance = model.instantiate()
    others = others if component.parameters.keys() - model.by_name.keys() else ()
    candidates = [instance, *(m.instantiate() for m in others)]
    for parameter, value in component.parameters.items():
        if isinstance(model, ForeignModel) and model.unit and parameter in model.unit.texts:
            continue
        owner = next((c for c in candidates if parameter in c.model.by_name), instance)
        with AsInputError(InputError, system.source, f"{key}.parameters.{parameter}", value, str):
            owner.set(*parameter_value(owner.model, parameter, value, system.source))
    for given, value in component.inputs.items():
        with AsInputError(ValueError, system.source, f"{key}.inputs.{given}", value, str):
            variable = model.variable(given, "input")
            instance.u[variable.index] = quantity.to_si(value, variable.unit)
    variables = (v if v.causality == "output" else replace(v, start=instance.get(v.name)) for v in model.variables)
    return replace(model, p=instance.p, variables=tuple(variables))


def follows(model: Model, inputs: Iterable[Variable]) -> dict[str, set[str]]:
    """Outputs that follow each of these inputs at once, found by changing them at a few states near the start."""
    random = np.random.default_rng(1)
    found: dict[str, set[str]] = {v.name: set() for v in inputs}
    outputs = model.select("output")
    instance = model.instantiate()
    instance.initialise()
    x, u = instance.x.copy(), instance.u.copy()
    for k in range(6):
        instance.x[:] = x + (k > 0) * random.uniform(0.1, 0.3, len(x))
        instance.u[:] = u + (k > 0) * random.uniform(0.1, 0.3, len(u))
        y = instance.outputs().copy()
        for v in inputs:
            was = instance.u[v.index]
            for change in (0.1, -0.1):
                instance.u[v.index] = was + change
                found[v.name] |= {outputs[j].name for j in np.nonzero(instance.outputs() != y)[0]}
            instance.u[v.index] = was
    return found
