"""The description files of FMI 3.0 units: of the model, of its build and of its terminals.

``modelDescription.xml`` has the variables of `rtcvt.fmu.native.export.unit_variables`, whose places are their value
references as in FMI 2.0, and the time after them. Inputs, outputs and parameters with names ``NAME[k]`` that follow
each other become one array; its value reference is that of its first element. Their number is fixed: it is a size of
the kernels' buffers, so there is no structural parameter for it.

``buildDescription.xml`` describes how to compile the sources.

``terminalsAndIcons.xml`` has a terminal for each flange, with the torque ``tau``, counted into the unit, as inflow, or
``load``, the torque into the neighbour, as the outflow ``tau``, and the speed ``w``; one of them is an input, the other
an output. Its kind is Modelica's ``Flange_a``, for ``load`` ``Flange_b``, in reverse domain notation; Modelica's have
an angle in place of the speed. Other inputs with a common prefix, as force and pressure of a clamping cylinder, are a
bus of that name.
"""

import re
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement
from xml.sax.saxutils import escape

from rtcvt.fmu.dependencies import Sets, dependencies
from rtcvt.fmu.description import boolean, define_types, root_element
from rtcvt.fmu.native.bus import add_terminal, describe
from rtcvt.model import Model, Variable

Rows = Sequence[tuple[str, Variable]]

FLANGES = (["tau", "w"], ["load", "w"])  # names of the two variables of a flange
MECHANICS = "org.modelica.Mechanics.Rotational.Interfaces"
VALUES = ("parameter", "input", "carried", "output", "state", "derivative", "independent")  # kinds of rows with a value
FLOWS = {"tau": "inflow", "load": "outflow"}  # `load` is the torque into the neighbour

TERMINAL_ICONS = {  # SVG by base name
    "flange": '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
    '<circle cx="20" cy="20" r="18" fill="#c0c0c0" stroke="#303030" stroke-width="3"/></svg>',
    "bus": '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
    '<path d="M3 3L37 20L3 37Z" fill="#2a4d8f"/></svg>',
}


def array_lengths(rows: Rows) -> list[int]:
    """Number of elements that begin at each row: 1, that of the array at its first element, 0 at its others."""
    lengths: list[int] = []
    base, first = "", 0
    for k, (kind, v) in enumerate(rows):
        match = re.fullmatch(r"(.*)\[(\d+)\]", v.name) if kind in ("parameter", "input", "output") else None
        joins = match is not None and match[1] == base
        if joins:
            before = rows[k - 1][1]
            joins = (kind, v.unit, v.index) == (rows[k - 1][0], before.unit, before.index + 1)
        if joins:
            lengths[first] += 1
            lengths.append(0)
        else:
            base, first = match[1] if match else "", k
            lengths.append(1)
    return lengths


def fmi3_description(
    model: Model, rows: Rows, identifier: str, token: str, categories: Mapping[str, str], stop_time: float = 1.0
) -> Element:
    """The ``fmiModelDescription`` element of a native unit.

    Parameters
    ----------
    model : Model
        Its start values become those of the unit.
    rows : sequence of (str, Variable)
        Kind and row of each variable, by value reference; the last is the time.
    identifier : str
        ``modelIdentifier``, a C identifier: the name of the binaries.
    token : str
        ``instantiationToken``: identifies the unit uniquely.
    categories : mapping of str to str
        Categories of messages and their descriptions.
    stop_time : float
        End of the default experiment [s].
    """
    root = root_element(model, "3.0", instantiationToken=token)
    abilities = {"modelIdentifier": identifier} | dict.fromkeys(
        ("providesDirectionalDerivatives", "providesAdjointDerivatives"), boolean(not model.opaque)
    )
    abilities["canSerializeFMUState"] = boolean(not model.foreign)
    abilities["canGetAndSetFMUState"] = boolean(all(g.keeps_state for g in model.foreign))
    abilities["canBeInstantiatedOnlyOncePerProcess"] = boolean(any(g.alone for g in model.foreign))
    discrete = any(v.boolean for v in model.select("output"))  # a completed step may find an event due
    clock = next((k for k, (kind, _) in enumerate(rows) if kind == "clock"), None)
    has_clock = clock is not None or model.bus is not None
    if model.exchangeable and model.bus is None:  # the standard of networks is for co-simulation
        SubElement(root, "ModelExchange", abilities, needsCompletedIntegratorStep=boolean(discrete))
    cut, has_events = boolean(model.internal_step is not None), boolean(discrete or has_clock)
    SubElement(root, "CoSimulation", abilities, canHandleVariableCommunicationStepSize="true",
               maxOutputDerivativeOrder="1", providesIntermediateUpdate=cut, mightReturnEarlyFromDoStep=cut,
               canReturnEarlyAfterIntermediateUpdate=cut, hasEventMode=has_events)  # fmt: skip
    define_types(root, model, rows, categories, stop_time)
    variables = SubElement(root, "ModelVariables")
    lengths = array_lengths(rows)
    states = {v.index: k for k, (kind, v) in enumerate(rows) if kind == "state"}
    for reference, (kind, v) in enumerate(rows):
        if lengths[reference]:
            elements = [v for _, v in rows[reference : reference + lengths[reference]]]
            if kind == "clock":
                variables.append(_clock(v, reference, model.clock or 0.0))
                continue
            if kind not in VALUES:
                continue
            variable = _variable(elements, reference, kind)
            if kind == "input" and v.set_point and clock is not None:
                variable.set("variability", "discrete")
                variable.set("clocks", str(clock))
            elif kind in ("input", "output") and variable.tag == "Float64" and model.internal_step is not None:
                variable.set("intermediateUpdate", "true")
            if kind == "derivative":
                variable.set("derivative", str(states[v.index]))
            variables.append(variable)
    if model.bus is not None:
        describe(variables, model.bus, {kind: k for k, (kind, _) in enumerate(rows)})
    _write_structure(SubElement(root, "ModelStructure"), model, rows, lengths)
    return root


def _variable(elements: Sequence[Variable], reference: int, row: str) -> Element:
    v = elements[0]
    about = {"name": v.name, "valueReference": str(reference), "description": v.description}
    if len(elements) > 1:
        about["name"] = v.name.rpartition("[")[0]
        about["description"] = v.description.rpartition(":")[0]  # which element it is
    variability = "discrete" if v.boolean else "continuous"
    if row == "parameter":
        variability = "tunable" if v.tunable else "fixed"
    variability = "discrete" if row == "carried" else variability
    about["causality"] = "local" if row in ("state", "derivative", "carried") else row
    about["variability"] = variability
    if row not in ("input", "independent"):
        about["initial"] = "exact" if row in ("parameter", "carried") else "calculated"
    kind = "Enumeration" if v.choices else "Boolean" if v.boolean else "Float64"
    element = Element(kind, about)
    if kind == "Enumeration":
        element.set("declaredType", v.name)
    if kind == "Float64":
        element.set("unit", v.unit)
        if v.display_unit:
            element.set("displayUnit", v.display_unit)
        for key, value in (("min", v.minimum), ("max", v.maximum), ("nominal", v.nominal)):
            if value is not None:
                element.set(key, repr(float(value)))
    starts = [e.start for e in elements if e.start is not None]
    if starts:
        text = {"Boolean": lambda x: boolean(bool(x)), "Enumeration": lambda x: str(int(x))}.get(kind, _real)
        element.set("start", " ".join(map(text, starts)))
    if len(elements) > 1:
        SubElement(element, "Dimension", start=str(len(elements)))
    return element


def _clock(v: Variable, reference: int, interval: float) -> Element:
    return Element("Clock", name=v.name, valueReference=str(reference), description=v.description, causality="input",
                   intervalVariability="constant", intervalDecimal=_real(interval))  # fmt: skip


def _real(value: float) -> str:
    return repr(float(value))


def _write_structure(structure: Element, model: Model, rows: Rows, lengths: Sequence[int]) -> None:
    """The unknowns and their dependencies, by value reference."""
    found = dependencies(model)
    n_x, n_u = len(model.states), len(model.select("input"))
    firsts = {"state": 0, "input": n_x, "parameter": n_x + n_u, "independent": n_x + n_u + len(model.p)}
    places: dict[str, dict[int, int]] = {}
    first = 0
    for k, (kind, v) in enumerate(rows):
        first = k if lengths[k] else first
        places.setdefault(kind, {})[v.index] = first
    known = {begin + place: k for kind, begin in firsts.items() for place, k in places.get(kind, {}).items()}

    def write(name: str, *unknowns: tuple[str, Sets]) -> None:
        depends: dict[int, set[int]] = {}
        for kind, sets in unknowns:
            for i, s in enumerate(sets):
                depends.setdefault(places[kind][i], set()).update(known[j] for j in s if j in known)
        for unknown in sorted(depends):
            on = " ".join(map(str, sorted(depends[unknown])))
            SubElement(structure, name, valueReference=str(unknown), dependencies=on)

    write("Output", ("output", found.outputs))
    for k, (kind, _) in enumerate(rows):
        if kind == "tx_data":
            on = " ".join(str(j) for j, (of, _) in enumerate(rows) if of in ("input", "state") and lengths[j])
            SubElement(structure, "Output", valueReference=str(k), dependencies=on)
    write("ContinuousStateDerivative", ("derivative", found.derivatives))
    write("InitialUnknown", ("output", found.start_outputs), ("state", found.start_states),
          ("derivative", found.start_derivatives))  # fmt: skip


def build_description(identifier: str, sources: Sequence[str]) -> Element:
    """The ``fmiBuildDescription`` element: how to compile the sources into a shared library."""
    root = Element("fmiBuildDescription", fmiVersion="3.0")
    files = SubElement(SubElement(root, "BuildConfiguration", modelIdentifier=identifier), "SourceFileSet")
    files.set("language", "C99")
    for name in sources:
        SubElement(files, "SourceFile", name=name)
    SubElement(files, "PreprocessorDefinition", name="FMI3_OVERRIDE_FUNCTION_PREFIX")
    return root


def box(model: Model) -> str:
    """Picture (SVG) of a unit whose kind draws none: its name in a box, and its terminals as of `terminals`."""
    ports = _ports(model)
    size = f"{min(22.0, 300.0 / len(model.name)):.3g}"
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="240" height="240" viewBox="-120 -120 240 240" '
             'font-family="sans-serif" text-anchor="middle" fill="#1f2933">'
             '<rect x="-120" y="-120" width="240" height="240" fill="#fff"/>'
             '<rect x="-100" y="-100" width="200" height="200" rx="8" fill="#eee" stroke="#1f2933" stroke-width="3"/>'
             f'<text y="-45" font-size="{size}">{escape(model.name)}</text>']  # fmt: skip
    for k, (name, members) in enumerate(ports.items()):
        x, y = _place(k, len(ports))
        parts.append(f'<circle cx="{x}" cy="{-y:g}" r="10" fill="{"#c0c0c0" if members in FLANGES else "#2a4d8f"}" '
                     f'stroke="#303030" stroke-width="2"/><text x="{0.86 * x:g}" y="{4 - y:g}" font-size="11" '
                     f'text-anchor="{"start" if x < 0 else "end"}">{escape(name)}</text>')  # fmt: skip
    return "".join([*parts, "</svg>"])


def _place(k: int, ports: int) -> tuple[int, float]:
    """Place of the k-th terminal: left and right alternately, from the top."""
    return (-100 if k % 2 == 0 else 100), 80 - 160 * (k // 2 + 0.5) / ((ports + 1) // 2)


def terminals(model: Model) -> Element:
    """The ``fmiTerminalsAndIcons`` element."""
    root = Element("fmiTerminalsAndIcons", fmiVersion="3.0")
    graphics = SubElement(root, "GraphicalRepresentation")
    corners = {"x1": "-100", "y1": "-100", "x2": "100", "y2": "100"}
    SubElement(graphics, "CoordinateSystem", corners, suggestedScalingFactorTo_mm="0.1")
    SubElement(graphics, "Icon", corners)
    ports = _ports(model)
    if not ports and model.bus is None:
        return root
    listed = SubElement(root, "Terminals")
    for k, (name, members) in enumerate(ports.items()):
        flange = members in FLANGES
        base, rule = ("flange", "plug") if flange else ("bus", "bus")
        terminal = SubElement(listed, "Terminal", name=name, matchingRule=rule)
        if flange:
            counted = "out of" if "load" in members else "into"
            terminal.set("description", f"flange {name}: the torque is counted {counted} the unit")
            terminal.set("terminalKind", f"{MECHANICS}.Flange_{'b' if 'load' in members else 'a'}")
        for member in members:
            SubElement(terminal, "TerminalMemberVariable", variableName=f"{name}.{member}",
                       memberName="tau" if flange and member == "load" else member,
                       variableKind=FLOWS.get(member, "signal") if flange else "signal")  # fmt: skip
        x, y = _place(k, len(ports))
        SubElement(terminal, "TerminalGraphicalRepresentation", iconBaseName=base, x1=f"{x - 10}", y1=f"{y - 10:g}",
                   x2=f"{x + 10}", y2=f"{y + 10:g}", defaultConnectionColor="48 48 48")  # fmt: skip
    if model.bus is not None:
        add_terminal(listed, model.bus)
    return root


def _ports(model: Model) -> dict[str, list[str]]:
    """Members of each terminal, flanges first."""
    causality = {v.name: v.causality for v in model.variables}
    groups: dict[str, list[str]] = {}
    for v in model.select("input"):
        if model.bus is not None and v.name in model.bus.inputs:
            continue
        base, _, member = v.name.rpartition(".")
        groups.setdefault(base, []).append(member)
    flanges, buses = {}, {}
    for base, members in groups.items():
        for pair in FLANGES:
            if {causality.get(f"{base}.{member}") for member in pair} == {"input", "output"}:
                flanges[base] = pair
        if base in flanges:
            continue
        if base and len(members) > 1:
            buses[base] = members
    return flanges | buses
