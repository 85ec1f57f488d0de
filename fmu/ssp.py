"""Export of a system (`rtcvt.network`) as an SSP archive: native units, connections and parameters in one file.

Archives of SSP 1.0 contain units of FMI 2.0, those of SSP 2.0 units of FMI 3.0, whose belt fields are connectors with a
dimension. SSP 2.0 has no terminals: a flange is connected by its speed and its torque in both. FMUs of a
system are in the archive as they are: with their names, units and version of FMI; tools convert values by the
definitions of the units.

``SystemStructure.ssd`` describes the system, ``resources/COMPONENT.fmu`` are its units. Features that several importers
read differently, or not at all, is avoided:

- Only components have connectors: all their outputs, and the inputs that are connected.
- The parameters are the start values of the units as well as a parameter set in the description. In SSP 1.0 an
  enumeration is its item's number there: ecos and libcosim refuse ``ssv:Enumeration``, OMSimulator skips it.
- Connections carry no factors. Signs are right without factors, see `rtcvt.vehicle`.
- SSP has no place for the step size. It is in the annotation of the Open Simulation Platform, which its importer reads,
  and in the description, with the step up to which flanges are stable with constant inputs.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from rtcvt import __version__, quantity
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files import temporary_folder
from rtcvt.fmu.description import write_xml
from rtcvt.fmu.export import pack
from rtcvt.fmu.native.compiler import PLATFORMS
from rtcvt.fmu.native.export import Version, unit_variables, write_unit
from rtcvt.fmu.native.fmi3 import array_lengths
from rtcvt.lazily import lazily
from rtcvt.model import Model, Variable
from rtcvt.network.foreign import ForeignModel
from rtcvt.network.held import Parts, stable_step
from rtcvt.recording import replaced_on_success

_integer_type = lazily("rtcvt.hil.importer:integer_type")
_SSP = "http://ssp-standard.org/SSP1/SystemStructure"
_SPACES = {
    "ssd": f"{_SSP}Description",
    "ssc": f"{_SSP}Common",
    "ssv": f"{_SSP}ParameterValues",
    "osp": "http://opensimulationplatform.com/SSP/OSPAnnotations",
}


def require_ssp_name(path: Path) -> None:
    """Refuse a file that is not to be called ``.ssp``.

    Raises
    ------
    InputError
        Another suffix.
    """
    if path.suffix != ".ssp":
        raise InputError("output", "", str(path), "a file name that ends in .ssp")


def export_ssp(parts: Parts, path: Path, platforms: Sequence[str] = ("linux64",), ssp: Literal[1, 2] = 1) -> Path:
    """Write a system as an SSP archive.

    Parameters
    ----------
    parts : Parts
        The system.
    path : Path
        The file to write; it is replaced only by a complete one.
    platforms : sequence of str
        For which the units are compiled, see `rtcvt.fmu.native.compiler.PLATFORMS`.
    ssp : {1, 2}
        Version of SSP: 1.0, with units of FMI 2.0, or 2.0, with units of FMI 3.0.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        There is no compiler for a platform, an element of an array is connected in SSP 2.0, or the file cannot be
        written.
    """
    require_ssp_name(path)
    for name in platforms:
        if name not in PLATFORMS:
            raise InputError("SSP export", "platform", name, f"one of {', '.join(PLATFORMS)}")
    with replaced_on_success(path) as temporary, temporary_folder() as root:
        description = system_description(parts, ssp)
        fmi: Version = 2 if ssp == 1 else 3
        write_xml(description, root / "SystemStructure.ssd")
        (root / "extra").mkdir()
        (root / "extra" / "system.toml").write_text(parts.system.text, encoding="utf-8")
        (root / "resources").mkdir()
        for name, model in parts.models.items():
            packed = root / "resources" / f"{name}.fmu"
            if isinstance(model, ForeignModel) and model.unit is not None:
                shutil.copyfile(model.unit.path, packed)
            else:
                write_unit(model, packed, platforms, _duration(parts), fmi=fmi)
        pack(root, temporary)
    return path


# --- description ------------------------------------------------------------------------------------------------------


def _name(prefixed: str) -> str:
    prefix, _, name = prefixed.partition(":")
    return f"{{{_SPACES[prefix]}}}{name}"


def system_description(parts: Parts, ssp: Literal[1, 2] = 1) -> Element:
    """The ``SystemStructureDescription`` element of a system, of SSP 1.0 or 2.0."""
    for prefix, space in _SPACES.items():
        ElementTree.register_namespace(prefix, space)
    system = parts.system
    models = {name: _own_units(model, ssp) for name, model in parts.models.items()}
    lengths = {name: _lengths(model, ssp) for name, model in models.items()}
    for c in parts.connections:
        for name, v in ((c.start, c.output), (c.end, c.input)):
            if lengths[name][v.name] != 1:
                raise InputError(system.name, f"{name}.{v.name}", None, "no element of an array in SSP 2.0, which does "
                                 "not define where its indices begin; choose SSP 1.0")  # fmt: skip
    step, stable = system.solver.step, stable_step(parts)
    about = f"; stable with held inputs up to {1e3 * stable:.2g} ms" if stable < float("inf") else ""
    about = f"{system.description or system.name}; communication step {step:g} s{about}"
    root = Element(
        _name("ssd:SystemStructureDescription"), version=f"{ssp}.0", name=system.name, description=about,
        generationTool=f"rtcvt {__version__}", generationDateAndTime=now().strftime("%Y-%m-%dT%H:%M:%SZ"),
    )  # fmt: skip
    whole = SubElement(root, _name("ssd:System"), name=system.name)
    elements = SubElement(whole, _name("ssd:Elements"))
    used: dict[str, Variable] = {}
    for name, model in models.items():
        connected = {c.input.name for c in parts.connections if c.end == name}
        ports = [v for v in model.variables if v.causality == "output" or v.name in connected]
        component = SubElement(
            elements, _name("ssd:Component"), name=name, type="application/x-fmu-sharedlibrary",
            source=f"resources/{name}.fmu", description=model.description,
        )  # fmt: skip
        connectors = SubElement(component, _name("ssd:Connectors"))
        for v in ports:
            if length := lengths[name][v.name]:
                label = v.name if length == 1 else v.name.rpartition("[")[0]
                connector = SubElement(connectors, _name("ssd:Connector"), name=label, kind=v.causality)
                _type(connector, "ssc", v, ssp)
                if length > 1:
                    SubElement(connector, _name("ssc:Dimension"), size=str(length))
        given = [v for v in model.variables if v.causality == "parameter"]
        given += [v for v in model.select("input") if v.name not in connected]
        texts = model.unit.texts if isinstance(model, ForeignModel) and model.unit is not None else {}
        if given or texts:
            _parameter_set(component, name, given, texts, ssp)
        used |= {v.unit: v for v in [*ports, *given] if not v.boolean and v.whole is None}
    connections = SubElement(whole, _name("ssd:Connections")) if parts.connections else whole  # the list is not empty
    for c in parts.connections:
        SubElement(
            connections, _name("ssd:Connection"), startElement=c.start, startConnector=c.output.name,
            endElement=c.end, endConnector=c.input.name,
        )  # fmt: skip
    units = SubElement(root, _name("ssd:Units"))
    for unit, v in used.items():
        entry = SubElement(units, _name("ssc:Unit"), name=unit)
        SubElement(entry, _name("ssc:BaseUnit"), quantity.base_unit(v.measured))
    experiment = SubElement(root, _name("ssd:DefaultExperiment"), startTime="0.0", stopTime=repr(_duration(parts)))
    annotations = SubElement(experiment, _name("ssd:Annotations"))
    annotation = SubElement(annotations, _name("ssc:Annotation"), type="com.opensimulationplatform")
    algorithm = SubElement(annotation, _name("osp:Algorithm"))
    SubElement(algorithm, _name("osp:FixedStepAlgorithm"), baseStepSize=repr(step))
    return root


def _own_units(model: Model, ssp: int) -> Model:
    """The model; that of an FMU with the FMU's own variables, which have their start values in the system.

    Raises
    ------
    InputError
        An FMU of FMI 3.0 in SSP 1.0.
    """
    if not isinstance(model, ForeignModel) or model.unit is None:
        return model
    of = model.unit
    if of.fmi > ssp + 1:
        raise of.error("an FMU of FMI 2.0 in SSP 1.0; choose SSP 2.0")
    starts = {"parameter": model.p[: len(of.of("parameter"))], "input": model.instantiate().u}
    raw = {c: iter(of.unscaled(c, values).tolist()) for c, values in starts.items()}
    rows = (replace(v, start=next(raw[v.causality])) if v.causality in raw else v for v in of.own.values())
    return replace(model, variables=tuple(rows), states=())


def _duration(parts: Parts) -> float:
    """Of the system's first scenario [s], or 1."""
    return parts.system.scenario[0].duration if parts.system.scenario else 1.0


def _lengths(model: Model, ssp: int) -> dict[str, int]:
    """Number of elements that begin at each variable, see `array_lengths`; SSP 1.0 has no arrays."""
    rows = unit_variables(model)
    lengths = array_lengths(rows) if ssp == 2 else [1] * len(rows)
    return {v.name: length for (_, v), length in zip(rows, lengths, strict=True)}


def _type(parent: Element, prefix: str, v: Variable, ssp: int, value: float | None = None) -> None:
    """The type of a connector or the value of a parameter."""
    if v.boolean:
        attributes = {} if value is None else {"value": "true" if value else "false"}
        SubElement(parent, _name(f"{prefix}:Boolean"), attributes)
    elif v.whole is not None and not v.choices:
        attributes = {} if value is None else {"value": str(round(value))}
        SubElement(parent, _name(f"{prefix}:{'Integer' if ssp == 1 else _integer_type(v)}"), attributes)
    elif v.choices and value is not None:
        item = {number: name for name, number in v.items.items()}[int(value)]
        known = {"Integer": repr(int(value))} if ssp == 1 else {"Enumeration": item}
        ((kind, given),) = known.items()
        SubElement(parent, _name(f"{prefix}:{kind}"), value=given)
    else:
        attributes = {"unit": v.unit} if value is None else {"value": repr(float(value)), "unit": v.unit}
        SubElement(parent, _name(f"{prefix}:{'Real' if ssp == 1 else 'Float64'}"), attributes)


def _parameter_set(
    component: Element, name: str, given: Sequence[Variable], texts: Mapping[str, str], ssp: int
) -> None:
    binding = SubElement(SubElement(component, _name("ssd:ParameterBindings")), _name("ssd:ParameterBinding"))
    values = SubElement(binding, _name("ssd:ParameterValues"))
    whole = SubElement(values, _name("ssv:ParameterSet"), version=f"{ssp}.0", name=f"{name} as exported")
    parameters = SubElement(whole, _name("ssv:Parameters"))
    for v in given:
        _type(SubElement(parameters, _name("ssv:Parameter"), name=v.name), "ssv", v, ssp, v.start or 0.0)
    for key, text in texts.items():
        SubElement(SubElement(parameters, _name("ssv:Parameter"), name=key), _name("ssv:String"), value=text)
