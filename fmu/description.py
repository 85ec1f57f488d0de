"""``modelDescription.xml`` of FMI 2.0 for co-simulation, from a model's variable table.

The value reference of a variable is its place in the table. Parameters are fixed, real inputs and outputs continuous,
booleans discrete; every output depends on everything, which is what a missing ``dependencies`` means. A unit is
defined once by its exponents of the SI base units; a display unit by ``displayed = factor * value``.
"""

from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement

from rtcvt import __version__, quantity
from rtcvt.model import Model, Variable

__all__ = ["LOG_CATEGORIES", "model_description"]

LOG_CATEGORIES = {
    "logStatusDiscard": "Steps that were refused; the state is as it was.",
    "logStatusFatal": "Values and calls that are not allowed.",
    "logAll": "All messages.",
}


def model_description(
    model: Model, identifier: str, guid: str, needs_execution_tool: bool, stop_time: float = 1.0
) -> Element:
    """The ``fmiModelDescription`` element of a model.

    Parameters
    ----------
    model : Model
        Its start values become those of the unit.
    identifier : str
        ``modelIdentifier``, a C identifier: the name of the binaries.
    guid : str
        What tells this unit from any other.
    needs_execution_tool : bool
        Whether the unit needs a Python with rtcvt where it runs.
    stop_time : float
        End of the default experiment [s].
    """
    root = Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=model.name,
        guid=guid,
        description=f"{model.description or model.name} ({model.fidelity})",
        version=__version__,
        generationTool=f"rtcvt {__version__}",
        generationDateAndTime=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        variableNamingConvention="structured",
    )
    SubElement(
        root,
        "CoSimulation",
        modelIdentifier=identifier,
        needsExecutionTool=_boolean(needs_execution_tool),
        canHandleVariableCommunicationStepSize="true",
        canInterpolateInputs="false",
        canRunAsynchronuously="false",  # the standard's spelling
        canBeInstantiatedOnlyOncePerProcess="false",
        canNotUseMemoryManagementFunctions="true",
        canGetAndSetFMUstate="true",
        canSerializeFMUstate="true",
        providesDirectionalDerivative="false",
    )
    _define_units(SubElement(root, "UnitDefinitions"), model)
    categories = SubElement(root, "LogCategories")
    for name, text in LOG_CATEGORIES.items():
        SubElement(categories, "Category", name=name, description=text)
    SubElement(root, "DefaultExperiment", startTime="0.0", stopTime=repr(stop_time), stepSize=repr(model.step_size))
    variables = SubElement(root, "ModelVariables")
    for reference, variable in enumerate(model.variables):
        variables.append(_scalar_variable(variable, reference))
    structure = SubElement(root, "ModelStructure")
    outputs = [str(k) for k, v in enumerate(model.variables, start=1) if v.causality == "output"]
    for group in ("Outputs", "InitialUnknowns"):
        unknowns = SubElement(structure, group)
        for index in outputs:
            SubElement(unknowns, "Unknown", index=index)
    return root


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _define_units(definitions: Element, model: Model) -> None:
    units: dict[str, set[str]] = {}
    for v in model.variables:
        if v.unit != "1":
            units.setdefault(v.unit, set()).update([v.display_unit] if v.display_unit else [])
    for name, display_units in units.items():
        unit = SubElement(definitions, "Unit", name=name)
        SubElement(unit, "BaseUnit", {base: str(n) for base, n in quantity.base_exponents(name).items()})
        for display in sorted(display_units):
            SubElement(unit, "DisplayUnit", name=display, factor=repr(1.0 / quantity.to_si(f"1 {display}", name)))


def _scalar_variable(v: Variable, reference: int) -> Element:
    variability = {"parameter": "fixed"}.get(v.causality, "discrete" if v.boolean else "continuous")
    scalar = Element("ScalarVariable", name=v.name, valueReference=str(reference), causality=v.causality,
                     variability=variability, description=v.description)  # fmt: skip
    if v.causality != "input":
        scalar.set("initial", "exact" if v.causality == "parameter" else "calculated")
    kind = SubElement(scalar, "Boolean" if v.boolean else "Real")
    if v.boolean:
        if v.start is not None:
            kind.set("start", _boolean(bool(v.start)))
        return scalar
    if v.unit != "1":
        kind.set("unit", v.unit)
        if v.display_unit:
            kind.set("displayUnit", v.display_unit)
    for key, value in (("min", v.minimum), ("max", v.maximum), ("nominal", v.nominal), ("start", v.start)):
        if value is not None:
            kind.set(key, repr(float(value)))
    return scalar
