"""``modelDescription.xml`` of FMI 2.0 for co-simulation, from a model's variable table.

The value reference of a variable is its place in the table. Parameters are fixed or tunable, real inputs and outputs
continuous, booleans discrete; dependencies are derived from the kernels (`rtcvt.fmu.dependencies`). A unit is
defined once by its exponents of the SI base units; a display unit by ``displayed = factor * value``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from rtcvt import __version__, quantity
from rtcvt.environment import now
from rtcvt.fmu.dependencies import Sets, dependencies
from rtcvt.model import Model, Variable

KINDS = ("parameter", "input", "output", "state", "derivative")

LOG_CATEGORIES = {
    "logStatusDiscard": "Steps that were refused; the state is as it was.",
    "logStatusFatal": "Values and calls that are not allowed.",
    "logAll": "All messages.",
}


def model_description(
    model: Model,
    identifier: str,
    guid: str,
    needs_execution_tool: bool,
    stop_time: float = 1.0,
    rows: Sequence[tuple[str, Variable]] | None = None,
    abilities: Mapping[str, str] | None = None,
    categories: Mapping[str, str] = LOG_CATEGORIES,
) -> Element:
    """The ``fmiModelDescription`` element of a model.

    Parameters
    ----------
    model : Model
        The model; its start values become those of the unit.
    identifier : str
        ``modelIdentifier``, a C identifier: the name of the binaries.
    guid : str
        Identifies the unit uniquely.
    needs_execution_tool : bool
        Whether the unit needs a Python with rtcvt where it runs.
    stop_time : float
        End of the default experiment [s].
    rows : sequence of (str, Variable), optional
        Kind and row of each variable of the unit, if states and derivatives are among them.
    abilities : mapping, optional
        Further attributes of ``CoSimulation``, and those that differ from those of a unit in Python.
    categories : mapping
        Categories of messages, with their descriptions.
    """
    if rows is None:
        rows = [(v.causality, v) for v in model.variables]
    root = root_element(model, "2.0", guid=guid)
    in_python = {
        "modelIdentifier": identifier, "needsExecutionTool": boolean(needs_execution_tool),
        "canHandleVariableCommunicationStepSize": "true", "canInterpolateInputs": "false",
        "canRunAsynchronuously": "false",  # the standard's spelling
        "canBeInstantiatedOnlyOncePerProcess": "false", "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true", "providesDirectionalDerivative": "false",
    }  # fmt: skip
    SubElement(root, "CoSimulation", in_python | dict(abilities or {}))
    define_types(root, model, rows, categories, stop_time)
    variables = SubElement(root, "ModelVariables")
    places: dict[str, dict[int, int]] = {kind: {} for kind in KINDS}
    for reference, (kind, variable) in enumerate(rows):
        variables.append(_scalar_variable(variable, reference, kind))
        places[kind][variable.index] = reference + 1
    for place, derivative in places["derivative"].items():
        variables[derivative - 1][0].set("derivative", str(places["state"][place]))
    _write_structure(SubElement(root, "ModelStructure"), model, places)
    return root


def _write_structure(structure: Element, model: Model, places: Mapping[str, Mapping[int, int]]) -> None:
    """The unknowns and their dependencies; `places` are indices from 1 by kind and place among those of the kind.
    Parameters are knowns of the start alone."""
    found = dependencies(model)
    n_x, n_u = len(model.states), len(model.select("input"))
    firsts = {"state": 0, "input": n_x, "parameter": n_x + n_u}
    index = {first + place: k for kind, first in firsts.items() for place, k in places[kind].items()}

    def group(name: str, knowns: int, *unknowns: tuple[str, Sets]) -> None:
        rows = {places[kind][i]: s for kind, sets in unknowns if places[kind] for i, s in enumerate(sets)}
        if not rows:
            return
        parent = SubElement(structure, name)
        for unknown, depends in sorted(rows.items()):
            on = " ".join(str(k) for k in sorted(index[i] for i in depends if i in index and i < knowns))
            SubElement(parent, "Unknown", index=str(unknown), dependencies=on)

    group("Outputs", n_x + n_u, ("output", found.outputs))
    group("Derivatives", n_x + n_u, ("derivative", found.derivatives))
    starting = [("output", found.start_outputs), ("state", found.start_states), ("derivative", found.start_derivatives)]
    group("InitialUnknowns", n_x + n_u + len(model.p), *starting)


def write_xml(root: Element, path: Path) -> None:
    """Write an indented XML file in UTF-8."""
    indent(root)
    ElementTree(root).write(path, "UTF-8", xml_declaration=True)


def boolean(value: bool) -> str:
    """A truth value as XML has it."""
    return "true" if value else "false"


def _define_units(definitions: Element, variables: Sequence[Variable]) -> None:
    """``UnitDefinitions``: the units of these variables, by their exponents of the SI base units."""
    units: dict[str, set[str]] = {}
    for v in variables:
        units.setdefault(v.unit, set()).update([v.display_unit] if v.display_unit else [])
    for name, display_units in units.items():
        unit = SubElement(definitions, "Unit", name=name)
        SubElement(unit, "BaseUnit", quantity.base_unit(name))
        for display in sorted(display_units):
            factor, offset = quantity.conversion(name, display)
            shown = {"name": display, "factor": repr(factor)} | ({"offset": repr(offset)} if offset else {})
            SubElement(unit, "DisplayUnit", shown)


def root_element(model: Model, version: str, **token: str) -> Element:
    """The ``fmiModelDescription`` element of a version of FMI, still empty; `token` identifies the unit uniquely."""
    given = {"fmiVersion": version, "modelName": model.name, **token}
    return Element(
        "fmiModelDescription", given, description=f"{model.description or model.name} ({model.fidelity})",
        version=__version__, generationTool=f"rtcvt {__version__}",
        generationDateAndTime=now().strftime("%Y-%m-%dT%H:%M:%SZ"), variableNamingConvention="structured",
    )  # fmt: skip


def define_types(
    root: Element, model: Model, rows: Sequence[tuple[str, Variable]], categories: Mapping[str, str], stop_time: float
) -> None:
    """Units, enumerations, called as their variables, categories of messages and the default experiment."""
    _define_units(SubElement(root, "UnitDefinitions"), [v for _, v in rows])
    choices = [v for v in model.variables if v.choices]
    definitions = SubElement(root, "TypeDefinitions") if choices else root
    for v in choices:
        if root.get("fmiVersion") == "2.0":
            kind = SubElement(SubElement(definitions, "SimpleType", name=v.name), "Enumeration")
        else:
            kind = SubElement(definitions, "EnumerationType", name=v.name)
        for value, name in enumerate(v.choices):
            SubElement(kind, "Item", name=name, value=str(value))
    listed = SubElement(root, "LogCategories")
    for name, text in categories.items():
        SubElement(listed, "Category", name=name, description=text)
    SubElement(root, "DefaultExperiment", startTime="0.0", stopTime=repr(stop_time), stepSize=repr(model.step_size))


def _scalar_variable(v: Variable, reference: int, row: str) -> Element:
    variability = "discrete" if v.boolean else "continuous"
    if v.causality == "parameter":
        variability = "tunable" if v.tunable else "fixed"
    causality = "local" if row in ("state", "derivative") else v.causality
    scalar = Element("ScalarVariable", name=v.name, valueReference=str(reference), causality=causality,
                     variability=variability, description=v.description)  # fmt: skip
    if v.causality != "input":
        scalar.set("initial", "exact" if v.causality == "parameter" else "calculated")
    if v.choices:
        kind = SubElement(scalar, "Enumeration", declaredType=v.name)
        if v.start is not None:
            kind.set("start", str(int(v.start)))
        return scalar
    kind = SubElement(scalar, "Boolean" if v.boolean else "Real")
    if v.boolean:
        if v.start is not None:
            kind.set("start", boolean(bool(v.start)))
        return scalar
    kind.set("unit", v.unit)
    if v.display_unit:
        kind.set("displayUnit", v.display_unit)
    for key, value in (("min", v.minimum), ("max", v.maximum), ("nominal", v.nominal), ("start", v.start)):
        if value is not None:
            kind.set(key, repr(float(value)))
    return scalar
