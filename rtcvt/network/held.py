"""A system for hosts that keep inputs constant over a step: connections from outputs to inputs, and the stable step.

Tools that import SSP exchange outputs at communication points and let all units step at once, with constant inputs. A
node is then a pair of connections: one flange has its speed as output and a torque as input, ``load``, with the sign of
the neighbour; the other has the speed as input, through a stiff coupling if it is an inertia itself. With constant
inputs that is of order 1, and stable only up to some step H. Linearised, each part is advanced exactly, and inputs are
one step late::

    x_i(t + H) = exp(A_i H) x_i + integral of exp(A_i s) ds B_i u_i,    y_i = C_i x_i + D_i u_i,    u_i = y_j

`stable_step` returns the largest H at which no mode grows that is stable without the delay. It is sought at a few
points of the system's first scenario, solved as a whole.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.kind import Unit
from rtcvt.model import Instance, Model, Variable
from rtcvt.network.file import Flange, System, flanges_of
from rtcvt.network.model import build_system, component_model, components_of
from rtcvt.scenario import apply_parameters, sample_inputs

STEPS = np.geomspace(1e-4, 0.1, 61)  # [s] range of the search for the limit
POINTS, MAX_DURATION = 8, 30.0  # number of points and longest duration [s]
UNSTABLE_GROWTH = 1.0  # [1/s] growth of an unstable mode, or more than twice the growth without delay


class Connection(NamedTuple):
    """From an output to an input."""

    start: str  # component
    output: Variable
    end: str  # component
    input: Variable


@dataclass(frozen=True)
class Parts:
    """Components with their models, whose start values are those of the system."""

    system: System
    models: dict[str, Model]
    connections: tuple[Connection, ...]


def parts_of(system: Unit) -> Parts:
    """The parts of a system and pairs of connections in place of its nodes.

    A signal from the speed of a flange that now has this speed as input begins at the source of the speed.

    Raises
    ------
    InputError
        Not a system, or a node is no pair: ground, a shaft, more than two flanges, or none with a load.
    """
    if not isinstance(system, System):
        raise InputError(system.source, "kind", system.kind, "system; one unit becomes an FMU: rtcvt export")
    graph = components_of(system)
    system = graph.system
    if system.shafts:
        raise _no_pair(system, f"shafts.{next(iter(system.shafts))}", None, "no shaft between parts that are units")
    models = dict(graph.models)
    links = [((s.start, s.output.name), (s.end, s.input.name)) for s in graph.signals]
    speeds: dict[tuple[str, str], tuple[str, str]] = {}  # source of the speed of a flange
    for node, grounded in zip(graph.nodes, graph.grounded, strict=True):
        named = " - ".join([*(f.path for f in node), *(["ground"] if grounded else [])])
        loads = [f for f in node if f.sign < 0.0]
        if grounded or len(node) != 2 or not loads:
            pair = "a pair of flanges: importers pass one output to one input and add no torques"
            load = "a pair of which one flange has an input 'load' for the torque of the other"
            raise _no_pair(system, "connect", named, pair if grounded or len(node) != 2 else load)
        a = loads[0]
        b = next(f for f in node if f is not a)
        if b.sign != 0.0:
            b = _with_speed(system, models, b, named)
        speeds[b.component, b.input.name] = a.component, a.output.name
        links.append(((b.component, b.output.name), (a.component, a.input.name)))
    links = [(speeds.get(start, start), end) for start, end in links] + [(start, end) for end, start in speeds.items()]
    ports = {(name, v.name): v for name, model in models.items() for v in model.variables}
    return Parts(system, models, tuple(Connection(a[0], ports[a], b[0], ports[b]) for a, b in links))


def _no_pair(system: System, key: str, value: str | None, allowed: str) -> InputError:
    """A system cannot be parts whose outputs are passed to inputs."""
    return InputError(system.source, key, value, f"{allowed}; rtcvt export makes one FMU of the whole system")


def _with_speed(system: System, models: dict[str, Model], flange: Flange, named: str) -> Flange:
    """The flange with a speed as input; the model of its component is replaced."""
    name = flange.component
    taken = {f.name: "speed" for f in flanges_of(name, models[name]).values() if f.sign == 0.0}
    try:
        models[name] = component_model(system, name, {**taken, flange.name: "speed"})
    except InputError:
        allowed = f"a flange with a speed as input; an inertia is at {flange.path}, with no coupling between"
        raise _no_pair(system, "connect", named, allowed) from None
    return flanges_of(name, models[name])[flange.name]


class _Linear(NamedTuple):
    """A part at a point, with the flanges that are connected."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    D: NDArray[np.float64]


def _linear(part: Instance, inputs: list[Variable]) -> _Linear:
    model = part.model
    n, m = len(model.states), len(inputs)
    assert model.coupling is not None
    f, jac, row, column = np.zeros(n), np.zeros(n * n), np.zeros(n), np.zeros(n)
    at = part.x, part.u, part.p, model.data
    model.coupling.linearise(0.0, *at, f, jac, part.work)
    B, C, D = np.zeros((n, m)), np.zeros((m, n)), np.zeros((m, m))
    for k, v in enumerate(inputs):
        D[k, k] = model.coupling.port(v.index, *at, row, column, part.work)
        C[k], B[:, k] = row, column
    return _Linear(jac.reshape(n, n), B, C, D)


def _points(parts: Parts, names: list[str]) -> Iterator[dict[str, Instance]]:
    """These parts at points of the first scenario of their system, solved as one; without a scenario at the start."""
    whole = build_system(parts.system)
    scenario = parts.system.scenario[0] if parts.system.scenario else None
    steps = 0 if scenario is None else max(1, int(min(scenario.duration, MAX_DURATION) / POINTS / whole.step_size))
    running = whole.instantiate()
    time = np.array([whole.step_size * k for k in range(steps * POINTS + 1)], dtype=float)
    u = None if scenario is None else sample_inputs(whole, scenario, time)
    if scenario is not None:
        apply_parameters(running, scenario.parameters, parts.system.source)
    running.initialise()
    places = {s.name: s.index for s in whole.states}
    here = {name: parts.models[name].instantiate() for name in names}
    for part in here.values():
        part.initialise()
    for k in range(len(time)):
        if k % max(steps, 1) == 0:
            for name, part in here.items():
                for s in part.model.states:
                    part.x[s.index] = running.x[places[f"{name}.{s.name}"]] if f"{name}.{s.name}" in places else 0.0
            for c in parts.connections:
                if c.end in here:
                    here[c.end].u[c.input.index] = running.get(f"{c.start}.{c.output.name}")
            yield here
        if u is not None and k < steps * POINTS:
            running.u[:] = u[k]
            running.step(whole.step_size)


def stable_step(parts: Parts) -> float:
    """Largest communication step [s] at which the flanges are stable in a host with held inputs.

    The last of `STEPS` that is stable at all points; infinite if all are, or no flanges are connected.
    """
    flanges = {(name, f.input.name) for name, m in parts.models.items() for f in flanges_of(name, m).values()}
    outputs = {(name, f.output.name) for name, m in parts.models.items() for f in flanges_of(name, m).values()}
    pairs = [c for c in parts.connections if (c.end, c.input.name) in flanges and (c.start, c.output.name) in outputs]
    if not pairs:
        return float("inf")
    place = {(c.end, c.input.name): k for k, c in enumerate(pairs)}
    own = {name: [c.input for c in pairs if c.end == name] for name in dict.fromkeys(c.end for c in pairs)}
    source = np.zeros((len(pairs), len(pairs)))  # input of the flange that is the source of each input
    for k, c in enumerate(pairs):
        flange = next(f for f in flanges_of(c.start, parts.models[c.start]).values() if f.output.name == c.output.name)
        source[k, place[c.start, flange.input.name]] = 1.0
    limit = len(STEPS)
    for here in _points(parts, list(own)):
        linear = {name: _linear(part, own[name]) for name, part in here.items()}
        at = {name: [place[name, v.name] for v in own[name]] for name in linear}
        growth = UNSTABLE_GROWTH + 2.0 * max(0.0, _growth(linear, at, source))
        for k, H in enumerate(STEPS[:limit]):
            if np.abs(np.linalg.eigvals(_held_step(H, linear, at, source))).max() > np.exp(growth * H):
                limit = k
                break
    if limit == len(STEPS):
        return float("inf")
    return float(STEPS[limit - 1]) if limit > 0 else 0.0


def _growth(linear: Mapping[str, _Linear], at: Mapping[str, list[int]], source: NDArray[np.float64]) -> float:
    """Largest real part of the eigenvalues [1/s] if inputs follow at once."""
    from scipy.linalg import block_diag

    order = [j for name in linear for j in at[name]]
    A, B, C, D = (block_diag(*(getattr(part, k) for part in linear.values())) for k in "ABCD")
    S = source[np.ix_(order, order)]
    closed = A + B @ np.linalg.solve(np.eye(len(S)) - S @ D, S @ C)
    return float(np.linalg.eigvals(closed).real.max())


def _held_step(
    H: float, linear: Mapping[str, _Linear], at: Mapping[str, list[int]], source: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The map of states and inputs over a step."""
    from scipy.linalg import expm

    n, m = sum(len(p.A) for p in linear.values()), len(source)
    step = np.zeros((n + m, n + m))
    first = 0
    for name, part in linear.items():
        k, inputs = len(part.A), [n + j for j in at[name]]
        whole = expm(H * np.block([[part.A, part.B], [np.zeros((len(inputs), k + len(inputs)))]]))
        rows = slice(first, first + k)
        step[rows, rows] = whole[:k, :k]
        step[np.ix_(range(first, first + k), inputs)] = whole[:k, k:]
        step[inputs] += part.C @ step[rows]
        step[np.ix_(inputs, inputs)] += part.D
        first += k
    step[n:] = source @ step[n:]
    return step
