"""Systems: units connected port by port, described in TOML, and their co-simulation with held inputs.

``components`` are units with their parameters, ``connections`` read ``"car.axle.w -> gear.axle.w"`` (from an output to
an input), ``experiment`` gives duration and communication step. At each communication point all outputs are passed on,
then all components step at once with their inputs held (Jacobi)::

    u_i(t) = y_j(t_k),  t_k <= t < t_k+1 = t_k + H

which is of order 1 in H where two flanges meet. What the one flange gives and the other takes then differs by ::

    integral of (tau w_a - tau_b w) = sum_k H/2 (tau_k w_k+1 - w_k tau_k+1) = O(H)

(tau_k and w_k are the values at t_k of torque and speed, held by the part that receives them), the energy that the
coupling makes (Benedikt, Watzenig and Hofer, *Modelling and analysis of the non-iterative coupling process for
co-simulation*, 2013).
"""

import graphlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from rtcvt import quantity
from rtcvt.errors import InputError, near
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import parameter_value
from rtcvt.simulate import number_of_steps
from rtcvt.unitfile import Duration, Name, is_file, located, parse_table, read_toml

__all__ = [
    "Connection",
    "CoupledResult",
    "CoupledSystem",
    "Flange",
    "System",
    "build_system",
    "direct_loop",
    "find_system",
    "load_system",
    "shipped_systems",
    "simulate_system",
]

Array = NDArray[np.float64]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Component(_Record):
    """A unit in a system."""

    unit: str
    model: Fidelity | None = None  # by default the first of the unit's
    substeps: Annotated[int, Field(ge=1, le=10000)] | None = None  # instead of the unit's own
    flanges: dict[str, Literal["torque", "speed"]] = {}  # what goes in, see `rtcvt.pog.flange`
    parameters: dict[str, float | str] = {}
    inputs: dict[str, float | str] = {}  # values of inputs that are not connected


class Experiment(_Record):
    """What an importer runs if nothing else is asked of it."""

    duration: Duration
    step: Duration


class System(_Record):
    """A system file."""

    name: Name
    description: str = ""
    connections: tuple[str, ...] = ()
    components: dict[Name, Component] = Field(min_length=1)
    experiment: Experiment

    source: Annotated[str, Field(exclude=True)] = ""  # where it was read from, for messages
    text: Annotated[str, Field(exclude=True)] = ""  # the file as it was read
    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which unit files are looked for


class Connection(NamedTuple):
    """From an output to an input."""

    start: str  # component
    output: Variable
    end: str  # component
    input: Variable


class Flange(NamedTuple):
    """Two flanges that meet: `a` gives its speed and receives a torque, `b` the other way round."""

    a: str  # COMPONENT.FLANGE
    b: str


@dataclass(frozen=True)
class CoupledSystem:
    """A system with the models of its components, whose start values are those of the system."""

    system: System
    models: dict[str, Model]
    connections: tuple[Connection, ...]

    @property
    def flanges(self) -> tuple[Flange, ...]:
        """Pairs of connections that exchange speed and torque."""
        pairs = {(f"{c.start}.{c.output.name}", f"{c.end}.{c.input.name}") for c in self.connections}
        return tuple(
            Flange(a.removesuffix(".w"), b.removesuffix(".w"))
            for a, b in sorted(pairs)
            if a.endswith(".w") and (f"{b[:-2]}.tau", f"{a[:-2]}.load") in pairs
        )


def shipped_systems() -> dict[str, Path]:
    """Names and files of the systems that come with the package."""
    folder = Path(str(resources.files("rtcvt"))) / "systems"
    return {f.stem: f for f in sorted(folder.glob("*.toml"))}


def find_system(name: str | Path) -> Path | None:
    """File of a system: a path, or the name of a shipped one; None if it is another file or there is none."""
    path = Path(name)
    if not is_file(path):
        return shipped_systems().get(str(name))
    if path.suffix != ".toml":
        return None
    data = read_toml(path)[0]
    return path if "components" in data and "kind" not in data else None


def load_system(name: str | Path) -> System:
    """Read a system file, or a shipped system.

    Raises
    ------
    InputError
        The file is missing, not TOML, or not a valid system.
    """
    path = Path(name)
    if not is_file(path):
        shipped = shipped_systems()
        if str(name) not in shipped:
            allowed = f"a TOML file, or one of the shipped systems{near(name, shipped)}"
            raise InputError("SYSTEM", "", str(name), allowed)
        path = shipped[str(name)]
    data, text = read_toml(path)
    try:
        return parse_table(System, {**data, "source": path.name, "text": text, "folder": path.parent}, path.name)
    except InputError as error:
        raise located(error, text, path.name) from None


# --- from records to models -------------------------------------------------------------------------------------------


def build_system(system: System) -> CoupledSystem:
    """The models of a system, connected.

    Raises
    ------
    InputError
        An unknown unit, parameter or port, different units at the ends of a connection, an input that is connected
        twice or both connected and given.
    """
    models = {name: _model(system, name, component) for name, component in system.components.items()}
    connections: list[Connection] = []
    for k, text in enumerate(system.connections):
        connection = _connection(system, models, f"connections[{k}]", text)
        for other in connections:
            if (other.end, other.input.name) == (connection.end, connection.input.name):
                allowed = f"an input that is connected once; {other.start}.{other.output.name} is connected to it"
                raise InputError(system.source, f"connections[{k}]", text, allowed)
        if connection.input.name in system.components[connection.end].inputs:
            key = f"components.{connection.end}.inputs.{connection.input.name}"
            raise InputError(system.source, key, None, f"an input that is not connected, see connections[{k}]")
        connections.append(connection)
    return CoupledSystem(system, models, tuple(connections))


def _model(system: System, name: str, component: Component) -> Model:
    key = f"components.{name}"
    own = system.folder / component.unit
    try:
        unit = load_unit(own if own.is_file() else component.unit)
    except InputError as error:
        raise _located(system, f"{key}.unit", component.unit, error) from None
    unit = unit.with_flanges(component.flanges, f"{system.source}: {key}.flanges")
    try:
        model = unit.build(component.model, component.substeps)
    except InputError as error:
        raise _located(system, key, None, error) from None
    instance = model.instantiate()
    for parameter, value in component.parameters.items():
        try:
            instance.set(*parameter_value(model, parameter, value, system.source))
        except InputError as error:
            raise _located(system, f"{key}.parameters.{parameter}", value, error) from None
    for given, value in component.inputs.items():
        at = f"{key}.inputs.{given}"
        try:
            variable = model.variable(given, "input")
            instance.u[variable.index] = quantity.to_si(value, variable.unit)
        except InputError as error:
            raise _located(system, at, value, error) from None
        except ValueError as error:
            raise InputError(system.source, at, value, str(error)) from None
    variables = (v if v.causality == "output" else replace(v, start=instance.get(v.name)) for v in model.variables)
    return replace(model, p=instance.p, variables=tuple(variables))


def _located(system: System, key: str, value: object, error: InputError) -> InputError:
    """The error of a unit, told where in the system file it comes from."""
    return InputError(system.source, key, value, str(error))


def _connection(system: System, models: Mapping[str, Model], key: str, text: str) -> Connection:
    ends = [end.strip() for end in text.split("->")]
    if len(ends) != 2:
        raise InputError(system.source, key, text, "COMPONENT.OUTPUT -> COMPONENT.INPUT")
    start, output = _port(system, models, key, ends[0], "output")
    end, target = _port(system, models, key, ends[1], "input")
    units = [quantity.known_unit(v.unit)._replace(name="") for v in (output, target)]
    if output.boolean != target.boolean or units[0] != units[1]:
        kinds = [f"{v.name} {'Boolean' if v.boolean else f'[{v.unit}]'}" for v in (output, target)]
        raise InputError(system.source, key, text, f"two ports of the same unit, not {kinds[0]} and {kinds[1]}")
    if _is_flange(models[start], output) and _is_flange(models[end], target):
        allowed = "a torque counts into its unit at both ends, so one of them has to be a load (see rtcvt.vehicle)"
        raise InputError(system.source, key, text, allowed)
    return Connection(start, output, end, target)


def _port(system: System, models: Mapping[str, Model], key: str, text: str, causality: str) -> tuple[str, Variable]:
    name, _, port = text.partition(".")
    if name not in models:
        raise InputError(system.source, key, name, f"one of the components: {', '.join(models)}")
    try:
        return name, models[name].variable(port, causality)
    except InputError as error:
        raise _located(system, key, text, error) from None


def _is_flange(model: Model, v: Variable) -> bool:
    """Whether a variable is the torque of a flange, which has a speed too."""
    return v.name.endswith(".tau") and f"{v.name[:-4]}.w" in model.by_name


def direct_loop(coupled: CoupledSystem) -> list[str]:
    """Ports of a loop in which every output follows its input at once, or an empty list.

    Such a loop is algebraic: with held inputs it is not solved but delayed by a communication step at each connection.
    Which inputs an output follows is found by changing them at a few states near the start.
    """
    before: dict[str, set[str]] = {}
    for c in coupled.connections:
        before.setdefault(f"{c.end}.{c.input.name}", set()).add(f"{c.start}.{c.output.name}")
    random = np.random.default_rng(1)
    for name, model in coupled.models.items():
        outputs, inputs = model.select("output"), model.select("input")
        instance = model.instantiate()
        instance.initialise()
        x, u = instance.x.copy(), instance.u.copy()
        for _ in range(5):
            instance.x[:] = x + random.uniform(0.1, 0.3, len(x))
            instance.u[:] = u + random.uniform(0.1, 0.3, len(u))
            y = instance.outputs().copy()
            for v in inputs:
                was = instance.u[v.index]
                instance.u[v.index] = was + 0.1
                for k in np.nonzero(instance.outputs() != y)[0]:
                    before.setdefault(f"{name}.{outputs[k].name}", set()).add(f"{name}.{v.name}")
                instance.u[v.index] = was
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


# --- co-simulation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CoupledResult:
    """Values of all ports at the communication points; inputs are those held from there on."""

    coupled: CoupledSystem
    time: Array  # (n,) [s]
    values: dict[str, Array]  # COMPONENT.PORT: (n,)
    saturated: dict[str, Array]  # COMPONENT: (n,), true where a limit was active in the step that led there

    def __getitem__(self, port: str) -> Array:
        return self.values[port]

    def recording(self) -> Recording:
        """The run as signals ``COMPONENT.PORT``; ``COMPONENT.status`` is 1 where a limit was active."""
        signals = {}
        for name, model in self.coupled.models.items():
            for v in model.select("input") + model.select("output"):
                port = f"{name}.{v.name}"
                signals[port] = Signal(self.values[port], v.unit, v.description)
            text = "of the step: 0 ok, 1 a limit is active"
            signals[f"{name}.status"] = Signal(self.saturated[name].astype(float), "1", text)
        about = {"unit": self.coupled.system.name, "step": float(self.time[1] - self.time[0])}
        return Recording(self.time, signals, about, self.coupled.system.text)

    def flange_energy(self, flange: Flange) -> tuple[float, float]:
        """Energy through a flange from `a` to `b`, and what the coupling added to it [J]."""
        tau, w = self.values[f"{flange.b}.tau"], self.values[f"{flange.a}.w"]
        H = np.diff(self.time)
        given = float(np.sum(0.5 * H * tau[:-1] * (w[:-1] + w[1:])))
        taken = float(np.sum(0.5 * H * w[:-1] * (tau[:-1] + tau[1:])))
        return given, taken - given


def simulate_system(
    coupled: CoupledSystem,
    duration: float | None = None,
    step: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CoupledResult:
    """Co-simulate a system at a fixed communication step.

    Parameters
    ----------
    coupled : CoupledSystem
        What to run.
    duration, step : float, optional
        Instead of those of its experiment [s].
    progress : callable, optional
        Called with (steps done, steps in all) about a hundred times.

    Raises
    ------
    InputError
        A step failed.
    """
    system = coupled.system
    H = system.experiment.step if step is None else step
    n = number_of_steps(system.experiment.duration if duration is None else duration, H, system.source)
    instances = {name: model.instantiate() for name, model in coupled.models.items()}
    wires = [(instances[c.start].y, c.output.index, instances[c.end].u, c.input.index) for c in coupled.connections]

    def exchange() -> None:
        for y, i, u, j in wires:
            u[j] = y[i]

    for instance in instances.values():
        instance.initialise()
    for _ in instances:  # a start value may pass through all components
        exchange()
        for instance in instances.values():
            instance.initialise()
    exchange()
    rows: list[tuple[Any, Array]] = []
    for instance in instances.values():
        for buffer in (instance.u, instance.y):
            rows.append((buffer, np.empty((n + 1, len(buffer)))))
            rows[-1][1][0] = buffer
    saturated = {name: np.zeros(n + 1, dtype=bool) for name in instances}
    stride = max(1, n // 100)
    for k in range(n):
        for name, instance in instances.items():
            status = instance.step(H)
            if status == FAILED:
                raise InputError(system.source, f"step at t = {k * H:g} s", None, f"{name} has no finite solution")
            saturated[name][k + 1] = status != 0
        exchange()
        for buffer, row in rows:
            row[k + 1] = buffer
        if progress is not None and (k + 1) % stride == 0:
            progress(k + 1, n)
    values = dict(_named(coupled, [v for _, v in rows]))
    return CoupledResult(coupled, np.linspace(0.0, n * H, n + 1), values, saturated)


def _named(coupled: CoupledSystem, tables: list[Array]) -> Iterator[tuple[str, Array]]:
    for k, (name, model) in enumerate(coupled.models.items()):
        for j, causality in enumerate(("input", "output")):
            for v in model.select(causality):
                yield f"{name}.{v.name}", tables[2 * k + j][:, v.index]
