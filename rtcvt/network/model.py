"""From a system file to one real-time model."""

import graphlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rtcvt.errors import InputError
from rtcvt.kind import Unit, load_unit
from rtcvt.model import Model, Variable
from rtcvt.model.stepping import MAX_INTERNAL_STEPS
from rtcvt.network.file import (
    Flange,
    Graph,
    System,
    flanges_of,
    follows,
    graph_of,
    own_law,
    with_expressions,
    with_values,
)
from rtcvt.network.foreign import Foreign, ForeignModel, ForeignUnit
from rtcvt.network.generate import KernelSet, kernel_set, kernels_of
from rtcvt.network.layout import D, Op, Part, ShaftP, ShaftX, ShaftY
from rtcvt.numerics.linalg import core_memory
from rtcvt.table import TOO_COARSE, Constants, Table
from rtcvt.unitfile import find_unit, own_file

Output = tuple[str, str]  # of a component, by name
TIED = 1e-6  # share from which on a number is not zero


def components_of(system: System) -> Graph:
    """Models of the components and the graph that connects them.

    Raises
    ------
    InputError
        An unknown unit, parameter or input, or connections that cannot be.
    """
    models = {name: component_model(system, name) for name in system.components}
    system = with_expressions(system, models)
    models |= {name: component_model(system, name) for name in system.components if name not in models}
    return graph_of(system, models)


def unit_of(system: System, name: str) -> Unit:
    """The unit of a component: a law, an FMU, a file in the folder of the system's, or a shipped one."""
    component = system.components[name]
    if component.law is not None:
        return own_law(system, name, component.law)
    if component.fmu:
        key = f"components.{name}"
        path = own_file(system.folder, component.fmu, f"{system.source}: {key}.fmu")
        if path is None:
            raise InputError(system.source, f"{key}.fmu", component.fmu, "an FMU in the folder of the system file")
        whole = system.solver.step
        return ForeignUnit(name=name, source=system.source, key=key, path=path, component=component,
                           step=component.step or whole, whole=whole)  # fmt: skip
    return load_unit(find_unit(component.unit, system.folder, f"{system.source}: components.{name}.unit"))


def component_model(system: System, name: str, speeds: Mapping[str, str] | None = None) -> Model:
    """The model of a component; its flanges have torques as inputs where possible, except those in `speeds`.

    Raises
    ------
    InputError
        An unknown unit, parameter or input, or a flange that cannot have a speed as input.
    """
    key, component = f"components.{name}", system.components[name]
    try:
        unit = unit_of(system, name)
        if unit.kind == "system":
            raise InputError(system.source, f"{key}.unit", component.unit, "a unit, not a system")
        model = unit.build(component.model, component.substeps)
        others = (unit.build(m) for m in unit.models if m != component.model)
        if speeds:
            model = unit.with_flanges(speeds, key).build(component.model, component.substeps)
            return with_values(system, name, model, others)
        for flange in [f for f in flanges_of(name, model).values() if f.sign == 0.0]:
            try:
                unit = unit.with_flanges({flange.name: "torque"}, key)
            except InputError:
                continue  # it has a shaft of its own
            model = unit.build(component.model, component.substeps)
    except InputError as error:
        if error.parts[0] == system.source:
            raise
        of, value = ("fmu", component.fmu) if component.fmu else ("unit", component.unit)
        raise InputError(system.source, f"{key}.{of}", value, str(error)) from None
    return with_values(system, name, model, others)


def build_system(
    system: System, fidelity: str = "system", substeps: int | None = None, graph: Graph | None = None
) -> Model:
    """The real-time model of a system, or of a part of it with its own `graph`.

    Raises
    ------
    InputError
        See `components_of`; or a loop of signals without memory, one of rigid parts that ties speeds twice, or a step
        of a million internal ones.
    """
    del fidelity
    graph = graph or components_of(system)
    system = graph.system
    order = sorted(graph.models, key=lambda name: not graph.joined(name))  # those with connected flanges first
    data = Constants(D)
    writer = _Writer(system, graph, order, data, substeps)
    kernels = writer.write()
    model = Model(
        name=system.name, description=system.description, fidelity="system", variables=tuple(writer.variables),
        states=tuple(writer.states), p=np.concatenate([*(graph.models[name].p for name in order), writer.shafts.p]),
        n_work=writer.n_work, data=data.array(), step_size=system.solver.step, internal_step=None,
        discrete=any(m.discrete for m in graph.models.values()), foreign=(foreign := tuple(writer.foreign())),
        opaque=bool(foreign) or any(m.opaque for m in graph.models.values()),
        algebraic=tuple(range(int(data[D.N_D]), int(data[D.N_Z]))), **kernels, source=system.text,
        parts={name: graph.models[name] for name in order},
    )  # fmt: skip
    if _has_loop(graph):
        _require_independent(system, model, [f for node in graph.nodes for f in node if f.sign != 0.0])
    return model


def _has_loop(graph: Graph) -> bool:
    """Whether components and nodes, of which ground is one, are joined in a loop."""
    root: dict[str | int, str | int] = {}

    def top(name: str | int) -> str | int:
        while name in root:
            name = root[name]
        return name

    for k, (node, grounded) in enumerate(zip(graph.nodes, graph.grounded, strict=True)):
        for f in node:
            ends = top(f.component), top(-1 if grounded else k)
            if ends[0] == ends[1]:
                return True
            root[ends[0]] = ends[1]
    return False


def _require_independent(system: System, model: Model, givers: list[Flange]) -> None:
    """Refuse speeds that are tied together twice: the torques of such a loop are not determined.

    Raises
    ------
    InputError
        Some of the constraints ``y(x) - w = 0`` of the flanges that give a speed follow from others.
    """
    one = model.instantiate()
    model.initialise(one.p, model.data, one.u, one.x, one.work)
    one.x[:] = np.random.default_rng(1).uniform(0.1, 0.3, len(one.x))
    rows = list(model.algebraic[: len(givers)])
    left, sizes, _ = np.linalg.svd(one.jacobian()[rows], full_matrices=True)
    rank = int(np.sum(sizes > TIED * sizes[0]))
    if rank < len(givers):
        tied = [f.path for f, share in zip(givers, np.abs(left[:, rank:]).max(axis=1), strict=True) if share > TIED]
        allowed = "flanges whose speeds are tied together once; a shaft or an elastic model opens a rigid loop"
        raise InputError(system.source, "connect", ", ".join(tied), allowed)


def _in_order(before: Mapping[Output, set[Output]], read: set[Output]) -> list[Output]:
    """Sort outputs, each after those `before` it; those in `read` part by part where possible.

    Raises
    ------
    graphlib.CycleError
        The dependencies have a loop.
    """
    sorter = graphlib.TopologicalSorter(before)
    sorter.prepare()
    left = set(read)
    ready: set[Output] = set()
    order: list[Output] = []
    while sorter.is_active():
        ready |= set(sorter.get_ready())
        later = Counter(name for name, output in left - ready)
        name = min(ready, key=lambda o: (o in read, later[o[0]], o))[0]
        chosen = sorted(o for o in ready if o[0] == name)
        sorter.done(*chosen)
        ready -= set(chosen)
        left -= set(chosen)
        order += chosen
    return order


def _names(chosen: KernelSet) -> list[str]:
    """Names of kernels, by which sets are ordered, so that the same kinds give the same network."""
    return [f"{what} {kernel.py_func.__module__}.{kernel.py_func.__qualname__}" for what, kernel in chosen]


class _Writer:
    """Tables of a network while they are written."""

    def __init__(self, system: System, graph: Graph, order: list[str], data: Constants, substeps: int | None) -> None:
        self.system, self.graph, self.order, self.data = system, graph, order, data
        self.models = [graph.models[name] for name in order]
        self.coupled = [graph.joined(name) for name in order]
        self.variables: list[Variable] = []
        self.states: list[Variable] = []
        self.n_work = 0
        steps = [m.internal_step or m.step_size for m in self.models]
        self.step = min([*steps, system.solver.step / (substeps or system.solver.substeps)])
        if not system.solver.step < MAX_INTERNAL_STEPS * self.step:
            limit = MAX_INTERNAL_STEPS * self.step
            most = f"less than {limit:g} s, {MAX_INTERNAL_STEPS:g} internal steps of {self.step:g} s"
            raise InputError(system.source, "solver.step", system.solver.step, most)
        self.rows: list[dict[Part, float]] = []
        self.shafts = Table()
        for name, shaft in system.shafts.items():
            self.shafts.parameters(ShaftP.K, [shaft.K], [{"shaft": name}])
            self.shafts.parameters(ShaftP.D, [shaft.d], [{"shaft": name}])
        names = [{"shaft": name} for name in system.shafts]
        self.shafts.each("output", ShaftY, names)
        self.shafts.each("state", ShaftX, names)

    def write(self) -> dict[str, Any]:
        """Fill the tables; returns the kernels."""
        data, models = self.data, self.models
        sets = [kernel_set(m, coupled) for m, coupled in zip(models, self.coupled, strict=True)]
        distinct = tuple(sorted(dict.fromkeys(sets), key=_names))
        data[D.PARTS], data[D.COUPLED] = len(models), sum(self.coupled)
        shafts = len(self.system.shafts)
        coupled = [len(m.states) for m, c in zip(models, self.coupled, strict=True) if c]
        data[D.N_D] = shafts + sum(coupled)
        ends = [f for node in self.graph.nodes for f in node]
        givers = [f for f in ends if f.sign != 0.0]
        speeds = [k for k, grounded in enumerate(self.graph.grounded) if not grounded]
        data[D.N_Z] = data[D.N_D] + len(givers) + len(speeds)
        data[D.N_X] = shafts + sum(len(m.states) for m in models) + len(givers) + len(speeds)
        data[D.N_B] = data[D.N_Z] - data[D.N_D] + shafts
        data[D.N_JAC] = sum(n * n for n in coupled)
        data[D.N_FACTORS] = sum(core_memory(n) for n in coupled)
        data[D.N_ENDS] = sum(2 * len(self.graph.models[f.component].states) for f in ends)
        data[D.N_IN] = sum(len(m.select("input")) for m in models)
        data[D.N_Y_PARTS] = sum(len(m.select("output")) for m in models)
        data[D.N_Y] = data[D.N_Y_PARTS] + shafts * len(ShaftY) + len(ends) + 1
        data[D.N_PARTS_WORK] = sum(m.n_work for m in models)
        massless = [k for k in speeds if all(f.sign == 0.0 for f in self.graph.nodes[k])]
        data[D.N_MASSLESS] = len(massless)
        data[D.INTERNAL_STEP] = self.step
        self.n_work = data.place_blocks()
        self._parts(sets, distinct)
        self._ends(ends, givers, speeds, massless)
        self._signals()
        self._variables(ends, givers, speeds)
        return kernels_of(distinct)

    def foreign(self) -> Iterator[Foreign]:
        """FMUs, with the places of their variables in the network."""
        row_of, n_y = dict(zip(self.order, self.rows, strict=True)), int(self.data[D.N_Y])
        free = {v.name: n_y + v.index for v in self.variables if v.causality == "input"}
        for name in self.system.components:
            m, row = self.graph.models[name], row_of[name]
            if isinstance(m, ForeignModel) and m.unit is not None:
                driven = {s.input.name: int(row_of[s.start][Part.Y]) + s.output.index
                          for s in self.graph.signals if s.end == name}  # fmt: skip
                inputs = [driven.get(v.name, free.get(f"{name}.{v.name}", 0)) for v in m.select("input")]
                x, y, p = (int(row[place]) for place in (Part.X, Part.Y, Part.P))
                yield replace(m.unit, inputs=np.array(inputs, dtype=np.int64), x=x, y=y, p=p)

    def _parts(self, sets: list[KernelSet], distinct: tuple[KernelSet, ...]) -> None:
        data, at = self.data, dict.fromkeys(("x", "in", "p", "data", "y", "work"), 0)
        at["data"] = len(data.numbers) + len(Part) * len(self.models)
        at["in"], at["work"] = int(data[D.W_IN]), int(data[D.W_PARTS])
        jac, factors = int(data[D.W_JAC]), int(data[D.W_FACTORS])
        for m, own in zip(self.models, sets, strict=True):
            if len(self.rows) == data[D.COUPLED]:
                at["x"] = int(data[D.N_Z])  # after the unknowns of the nodes
            sizes = {"x": len(m.states), "in": len(m.select("input")), "p": len(m.p), "data": len(m.data),
                     "y": len(m.select("output")), "work": m.n_work}  # fmt: skip
            row = [distinct.index(own)]
            for what in ("x", "in", "p", "data", "y", "work"):
                row += [at[what], sizes[what]]
                at[what] += sizes[what]
            self.rows.append(dict(zip(Part, [*row, jac, sizes["x"] ** 2, factors], strict=True)))
            jac += sizes["x"] ** 2
            factors += core_memory(sizes["x"])
        data.table(D.PART, [row[entry] for row in self.rows for entry in Part])
        for m in self.models:
            data.numbers += m.data.tolist()

    def _ends(self, ends: list[Flange], givers: list[Flange], speeds: list[int], massless: list[int]) -> None:
        data = self.data
        first = int(data[D.N_D])
        self.z = {f.path: first + k for k, f in enumerate(givers)}
        self.w = {k: first + len(givers) + n for n, k in enumerate(speeds)}
        node_of = {f.path: k for k, node in enumerate(self.graph.nodes) for f in node}
        table: list[float] = []
        row = int(data[D.W_ENDS])
        for f in ends:
            w = self.w.get(node_of[f.path], -1)
            part = self.order.index(f.component)
            table += [part, f.input.index, f.output.index, f.sign, self.z.get(f.path, 0), w, row]
            row += 2 * len(self.models[part].states)
        data[D.ENDS] = len(ends)
        data.table(D.MASSLESS, [self.w[k] for k in massless])
        data.table(D.END, table)
        shafts = self.graph.shafts.values()
        first_p = sum(len(m.p) for m in self.models)
        data[D.SHAFTS] = len(shafts)
        table = []
        for k, (a, b) in enumerate(shafts):
            table += [first - len(shafts) + k, self.w.get(a, -1), self.w.get(b, -1), first_p + k * len(ShaftP)]
        data.table(D.SHAFT, table)
        states = [s.nominal or 1.0 for m, c in zip(self.models, self.coupled, strict=True) if c for s in m.states]
        states += [0.1] * len(shafts)
        torques = [100.0] * len(givers)
        data.table(D.SCALE, [*states, *torques, *[100.0] * len(speeds), *states, *torques, *[100.0] * len(speeds)])

    def _signals(self) -> None:
        """Operations in an order in which each output is there before it is read."""
        data, graph = self.data, self.graph
        wired: dict[str, dict[str, Variable]] = {name: {} for name in self.order}
        for s in graph.signals:
            wired[s.end][s.input.name] = s.input
        through = {name: follows(graph.models[name], list(v.values())) for name, v in wired.items() if v}
        before: dict[Output, set[Output]] = {}
        for s in graph.signals:
            before.setdefault((s.start, s.output.name), set())
            for output in through[s.end][s.input.name]:
                before.setdefault((s.end, output), set()).add((s.start, s.output.name))
        try:
            order = _in_order(before, {(s.start, s.output.name) for s in graph.signals})
        except graphlib.CycleError as error:
            loop = " -> ".join(f"{name}.{output}" for name, output in error.args[1])
            allowed = "signals with a memory somewhere in a loop; here each follows the one before at once"
            raise InputError(self.system.source, "connect", loop, allowed) from None
        number = {name: k for k, name in enumerate(self.order)}
        ops: list[float] = []
        fresh: set[str] = set()
        for name, output in order:
            starting = [s for s in graph.signals if (s.start, s.output.name) == (name, output)]
            if starting and name not in fresh:
                ops += [self._needed(name), number[name], 0]
                fresh.add(name)
            for s in starting:
                source = self.rows[number[name]][Part.Y] + s.output.index
                ops += [Op.COPY, source, self.rows[number[s.end]][Part.IN] + s.input.index]
                fresh.discard(s.end)
        for name in self.order:
            if name not in fresh:
                ops += [Op.LAST, number[name], 0]
        last: set[float] = set()
        for at in range(len(ops) - 3, -1, -3):
            if ops[at] != Op.COPY:
                ops[at + 2] = float(ops[at] == Op.CHEAP_OUTPUT and ops[at + 1] in last)
                last.add(ops[at + 1])
        data[D.OPS] = len(ops) // 3
        data.table(D.OP, ops)

    def _needed(self, name: str) -> Op:
        """Computation of a part's outputs that its signals need."""
        coupling = self.graph.models[name].coupling if self.graph.joined(name) else None
        if coupling is None or coupling.cheap_output is None:
            return Op.OUTPUT
        costly = any(s.start == name and s.output.name in coupling.costly for s in self.graph.signals)
        return Op.OUTPUT if costly else Op.CHEAP_OUTPUT

    def _variables(self, ends: list[Flange], givers: list[Flange], speeds: list[int]) -> None:
        data = self.data
        driven = {(s.end, s.input.name) for s in self.graph.signals} | {(f.component, f.input.name) for f in ends}
        inputs: list[float] = []
        limits: list[float] = []
        coarse: list[float] = []
        kept: dict[str, list[Variable]] = {"parameter": [], "input": [], "output": []}
        for name, m, row in zip(self.order, self.models, self.rows, strict=True):
            for v in m.variables:
                named = replace(v, name=f"{name}.{v.name}", floor=v.floor and f"{name}.{v.floor}")
                if v.causality == "parameter":
                    kept["parameter"].append(replace(named, index=int(row[Part.P]) + v.index))
                elif v.causality == "output":
                    kept["output"].append(replace(named, index=int(row[Part.Y]) + v.index))
                    if m.coupling is not None and self.graph.joined(name):
                        limits += [row[Part.Y] + v.index] if v.name in m.coupling.limits else []
                        coarse += [row[Part.Y] + v.index] if v.name == TOO_COARSE.name else []
                elif (name, v.name) not in driven:
                    kept["input"].append(replace(named, index=len(inputs)))
                    inputs.append(row[Part.IN] + v.index)
        for v in self.shafts.variables:
            first = sum(len(m.p) for m in self.models) if v.causality == "parameter" else int(data[D.N_Y_PARTS])
            kept[v.causality].append(replace(v, index=first + v.index))
        for f in ends:
            known = f.input
            quantity = "tau" if f.sign != 0.0 else "w"
            text = "torque into the component" if f.sign != 0.0 else "speed of the flange"
            index = len(kept["output"])
            kept["output"].append(
                replace(known, name=f"{f.path}.{quantity}", causality="output", index=index, start=None, minimum=None,
                        maximum=None, set_point=False, description=f"{text} at flange {f.name}")
            )  # fmt: skip
        told = Table()
        told.add("output", TOO_COARSE)
        coarse.append(len(kept["output"]))
        kept["output"].append(replace(told.variables[0], index=len(kept["output"])))
        self.variables = [*kept["parameter"], *kept["input"], *kept["output"]]
        data[D.N_U] = len(inputs)
        data.table(D.INPUT, inputs)
        data[D.COARSES] = len(coarse)
        data.table(D.COARSE, coarse)
        data[D.LIMITS] = len(limits)
        data.table(D.LIMIT, limits)
        coupled: list[Variable] = []
        others: list[Variable] = []
        for name, m, is_coupled in zip(self.order, self.models, self.coupled, strict=True):
            (coupled if is_coupled else others).extend(replace(s, name=f"{name}.{s.name}") for s in m.states)
        unknowns = [replace(f.input, name=f"{f.path}.tau", causality="state") for f in givers]
        own = {s.name for s in [*coupled, *others]}
        for k in speeds:
            f = self.graph.nodes[k][0]
            name = f"{f.path}.w" if f"{f.path}.w" not in own else f"{f.path}.node.w"  # a part may have it as a state
            unknowns.append(replace(f.input, name=name, causality="state", unit="rad/s", nominal=100.0))
        states = [*coupled, *self.shafts.states, *unknowns, *others]
        self.states = [replace(s, index=k, start=None) for k, s in enumerate(states)]
