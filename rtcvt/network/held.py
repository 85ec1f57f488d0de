"""A system for hosts that keep inputs constant over a step: connections from outputs to inputs, and the stable step.

Tools that import SSP exchange outputs at communication points and let all units step at once, with constant inputs. A
node is then a pair of connections: one flange has its speed as output and a torque as input, ``load``, with the sign of
the neighbour; the other has the speed as input, through a stiff coupling if it is an inertia itself. Components at any
other node are one unit, which is solved as a whole. So is a gear box with its neighbour where a coupling would be
needed: it is as stiff as the least inertia there allows, and too soft where clutches add another one. With constant
inputs that is of order 1, and stable only up to some step H. Linearised, each part is advanced exactly, and inputs are
one step late::

    x_i(t + H) = exp(A_i H) x_i + integral of exp(A_i s) ds B_i u_i,    y_i = C_i x_i + D_i u_i,    u_i = y_j

`stable_step` returns the largest H at which no mode grows that is stable without the delay. It is sought at a few
points of the system's first scenario, solved as a whole.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.kind import Unit
from rtcvt.model import Instance, Model, Variable
from rtcvt.network.file import Flange, Graph, Groups, System, flanges_of
from rtcvt.network.model import build_system, component_model, components_of, unit_of
from rtcvt.numerics.linearisation import linearise
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

    A node is such a pair if it has two flanges, of which one has an input ``load`` and the other can take a speed, by a
    coupling only if its unit has no clutches and brakes. The
    components at any other node, and at the ends of a shaft, are one part together, solved as a whole: importers pass
    one output to one input, so they add no torques, and speeds that are one admit no delay. A signal from the speed of
    a flange that now has this speed as input begins at the source of the speed.

    Raises
    ------
    InputError
        Not a system.
    """
    if not isinstance(system, System):
        raise InputError(system.source, "kind", system.kind, "system; one unit becomes an FMU: rtcvt export")
    graph = components_of(system)
    system, models, groups = graph.system, dict(graph.models), Groups()
    shafted = {k for ends in graph.shafts.values() for k in ends}
    pairs: dict[int, tuple[Flange, Flange]] = {}
    for k, (node, grounded) in enumerate(zip(graph.nodes, graph.grounded, strict=True)):
        pair = None if grounded or k in shafted or len(node) != 2 else _pair(system, models, node)
        if pair is None:
            groups.join([f.component for f in node])
        else:
            pairs[k] = pair
    for ends in graph.shafts.values():
        groups.join([f.component for k in ends if k >= 0 for f in graph.nodes[k]])
    links = [((s.start, s.output.name), (s.end, s.input.name)) for s in graph.signals]
    speeds: dict[tuple[str, str], tuple[str, str]] = {}  # source of the speed of a flange
    for k, (a, b) in list(pairs.items()):
        if groups.of.get(a.component, a) is groups.of.get(b.component, b):
            del pairs[k]
            continue
        if b.sign != 0.0:
            models[b.component] = _with_speed(system, models, b)
            b = flanges_of(b.component, models[b.component])[b.name]
        speeds[b.component, b.input.name] = a.component, a.output.name
        links.append(((b.component, b.output.name), (a.component, a.input.name)))
    links = [(speeds.get(start, start), end) for start, end in links] + [(start, end) for end, start in speeds.items()]
    parts, place = _grouped(graph, models, pairs, groups)
    connections = []
    for link in links:
        (start, y), (end, u) = ((place[n], f"{n}.{port}") if n in place else (n, port) for n, port in link)
        if start != end or start in models:  # else it is within a part
            connections.append(Connection(start, parts[start].by_name[y], end, parts[end].by_name[u]))
    return Parts(system, parts, tuple(connections))


def _pair(system: System, models: Mapping[str, Model], node: list[Flange]) -> tuple[Flange, Flange] | None:
    """The flange of a node that gives the speed, and the one that takes it, if there are such."""
    for a, b in (node, node[::-1]):
        if a.sign < 0.0:
            try:
                if b.sign != 0.0 and unit_of(system, b.component).clutched:
                    continue
                if b.sign != 0.0:
                    _with_speed(system, models, b)
            except InputError:
                continue
            return a, b
    return None


def _with_speed(system: System, models: Mapping[str, Model], flange: Flange) -> Model:
    """The model of a component whose flange has a speed as input."""
    name = flange.component
    taken = {f.name: "speed" for f in flanges_of(name, models[name]).values() if f.sign == 0.0}
    return component_model(system, name, {**taken, flange.name: "speed"})


def _grouped(
    graph: Graph, models: Mapping[str, Model], pairs: Collection[int], groups: Groups
) -> tuple[dict[str, Model], dict[str, str]]:
    """Models of the parts, and for each component in a part of several its name."""
    system, parts = graph.system, dict(models)
    place: dict[str, str] = {}
    for group in groups:
        own = {name: model for name, model in models.items() if name in group}
        flanges = {f.path: f for name, model in own.items() for f in flanges_of(name, model).values()}
        nodes = [k for k, node in enumerate(graph.nodes) if k not in pairs and node[0].component in own]
        number = {-1: -1} | {k: i for i, k in enumerate(nodes)}
        shafts = {n: (number[a], number[b]) for n, (a, b) in graph.shafts.items() if {a, b} & {*nodes}}
        name = "_".join(own)
        while name in parts:
            name += "_"
        update = {"name": name, "scenario": (), "description": f"{', '.join(own)} of {system.name}",
                  "components": {n: system.components[n] for n in own},
                  "shafts": {n: system.shafts[n] for n in shafts}}  # fmt: skip
        signals = [s._replace(output=own[s.start].by_name[s.output.name], input=own[s.end].by_name[s.input.name])
                   for s in graph.signals if s.start in own and s.end in own]  # fmt: skip
        inner = Graph(system.model_copy(update=update), own, [[flanges[f.path] for f in graph.nodes[k]] for k in nodes],
                      [graph.grounded[k] for k in nodes], shafts, signals)  # fmt: skip
        whole = name, build_system(inner.system, graph=inner)
        first = next(iter(own))
        parts = dict(whole if n == first else (n, m) for n, m in parts.items() if n == first or n not in own)
        place |= dict.fromkeys(own, name)
    return parts, place


class _Linear(NamedTuple):
    """A part at a point, with the flanges that are connected."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    D: NDArray[np.float64]


def _linear(part: Instance, inputs: list[Variable], outputs: list[str]) -> _Linear:
    found = linearise(part)
    u = [found.inputs.index(v.name) for v in inputs]
    y = [found.outputs.index(name) for name in outputs]
    return _Linear(found.A, found.B[:, u], found.C[y], found.D[np.ix_(y, u)])


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
                    at = places.get(f"{name}.{s.name}", places.get(s.name))  # the latter in a part of several
                    part.x[s.index] = 0.0 if at is None else running.x[at]
            for c in parts.connections:
                if c.end in here:
                    full = f"{c.start}.{c.output.name}"
                    here[c.end].u[c.input.index] = running.get(full if full in whole.by_name else c.output.name)
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
    given = {name: {f.input.name: f.output.name for f in flanges_of(name, parts.models[name]).values()} for name in own}
    for here in _points(parts, list(own)):
        linear = {
            name: _linear(part, own[name], [given[name][v.name] for v in own[name]]) for name, part in here.items()
        }
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
