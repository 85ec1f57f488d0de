"""Reference results inside a unit, with which an importer can check that it runs correctly.

One experiment: the first scenario of the unit. Its inputs are sampled at a few hundred times and linear between them,
the unit runs at its own step, and its outputs at the same times are those of the kernels compiled by numba. The files
are in ``extra/org.fmi-standard.fmi-ls-ref/`` in the layout of the layered standard FMI-LS-REF 1.0.0-beta.1 (Modelica
Association, 2026)::

    fmi-ls-manifest.xml    the files and their roles
    experiment.exp         the experiment, in the Modelica Association's experiments format (ma-hs-experiments)
    inputs.csv             time [s] and inputs; a jump has two rows
    outputs.csv            time [s] and outputs
    parameters.ssv         parameters that the scenario changes, if there are any (SSP 1.0)

The manifest also names the unit's metadata (`rtcvt.fmu.traceability`).

The same experiment, with the unit's own parameters, can also be written to the unit's folder in the form of the FMI
Cross-Check::

    UNIT_ref.opt    StartTime, StopTime, StepSize [s] and RelTol [-]
    UNIT_in.csv     time [s] and inputs, linear between the times; if there are inputs
    UNIT_ref.csv    time [s] and outputs
"""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.fmu.description import write_xml
from rtcvt.fmu.traceability import FILE as METADATA
from rtcvt.model import Model, Variable
from rtcvt.quantity import base_unit
from rtcvt.recording import replaced_on_success, write_text
from rtcvt.scenario import Scenario, Table, parameter_value, sample_inputs
from rtcvt.simulate import number_of_steps, simulate

FOLDER = "extra/org.fmi-standard.fmi-ls-ref"
MOST_INTERVALS = 200
_MANIFEST = "http://fmi-standard.org/fmi-ls-manifest"
Array = NDArray[np.float64]

_PARAMETERS = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"


def write_reference(model: Model, scenario: Scenario, folder: Path) -> None:
    """Simulate a scenario and write it as a reference.

    Parameters
    ----------
    model : Model
        Its start values are those of the unit.
    scenario : Scenario
        One that fits it.
    folder : Path
        Where the files go; it is made.

    Raises
    ------
    InputError
        The scenario does not fit the model, or a step of it fails.
    """
    folder.mkdir(parents=True)
    time, y, times_of_u, u = _results(model, scenario)
    inputs = model.select("input")
    files = [("outputs.csv", "text/csv", "result", "Outputs of the experiment")]
    _write_table(folder / "outputs.csv", model.select("output"), time, y)
    if inputs:
        files.append(("inputs.csv", "text/csv", "other", "Inputs of the experiment, linear between the times"))
        _write_table(folder / "inputs.csv", inputs, times_of_u, u)
    if scenario.parameters:
        kind = "application/x-ssp-parameter-set"
        files.append(("parameters.ssv", kind, "parameter", "Parameters that the experiment changes"))
        values = dict(parameter_value(model, k, v, scenario.name) for k, v in scenario.parameters.items())
        write_xml(_parameter_set(model, scenario, values), folder / "parameters.ssv")
    present = {name for name, *_ in files}
    write_xml(_experiment(model, scenario, float(time[-1]), present), folder / "experiment.exp")
    kind = "application/x-ma-hs-experiments"
    files.insert(0, ("experiment.exp", kind, "experiment/smoke-test", f"Scenario: {scenario.name}"))
    files.append((f"../../{METADATA}", "application/x-srmd-meta-data", "meta-data", "Origin, range and accuracy"))
    write_xml(_manifest(files), folder / "fmi-ls-manifest.xml")


def cross_check_files(path: Path) -> list[Path]:
    """Paths of options, outputs and inputs of a unit's Cross-Check, in the folder of the unit."""
    return [path.with_name(f"{path.stem}_{end}") for end in ("ref.opt", "ref.csv", "in.csv")]


def write_cross_check(model: Model, scenario: Scenario, path: Path) -> list[Path]:
    """Simulate a scenario and write the files of the FMI Cross-Check to the folder of the unit; returns the files.

    Parameters
    ----------
    model : Model
        Its start values are those of the unit.
    scenario : Scenario
        A scenario of the model; parameters that it changes keep the values of the unit.
    path : Path
        The unit.

    Raises
    ------
    InputError
        The scenario does not fit the model, or a step of it fails.
    """
    time, y, times_of_u, u = _results(model, scenario.model_copy(update={"parameters": {}}))
    files = cross_check_files(path)
    options = {"StartTime": 0.0, "StopTime": float(time[-1]), "StepSize": model.step_size, "RelTol": 1e-4}
    write_text(files[0], "".join(f"{key}, {value!r}\n" for key, value in options.items()))
    _write_table(files[1], model.select("output"), time, y)
    inputs = model.select("input")
    if inputs:
        _write_table(files[2], inputs, times_of_u, u)
    return files if inputs else files[:2]


def _results(model: Model, scenario: Scenario) -> tuple[Array, Array, Array, Array]:
    """Times of an experiment, shape (n,), and its outputs, (n, n_y); times (m,) of the inputs, that of a jump twice,
    and inputs (m, n_u), linear in between."""
    h = model.step_size
    steps = number_of_steps(scenario.duration, h, f"scenario '{scenario.name}'")
    least = math.ceil(steps / MOST_INTERVALS)
    stride = next((s for s in range(least, 2 * least) if steps % s == 0), least)
    n = steps // stride
    time = np.linspace(0.0, n * stride * h, n + 1)
    jumps = {t for s in scenario.inputs.values() if isinstance(s, Table) for t in s.jumps if 0.0 < t < time[-1]}
    at = np.sort([*(t for t in time if not np.isclose(t, list(jumps), rtol=1e-9).any()), *jumps, *jumps])
    u = sample_inputs(model, scenario, at)
    tables = {v.name: Table(time=tuple(at), value=tuple(u[:, v.index])) for v in model.select("input")}
    sampled = scenario.model_copy(update={"duration": float(time[-1]), "inputs": tables, "tune": {}})  # it has no place
    return time, simulate(model, sampled).y[::stride], at, u


def _write_table(path: Path, variables: Sequence[Variable], time: Array, values: Array) -> None:
    with replaced_on_success(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["time", *(v.name for v in variables)])
        for t, row in zip(time, values, strict=True):
            cells = (int(row[v.index]) if v.boolean else repr(float(row[v.index])) for v in variables)
            writer.writerow([repr(float(t)), *cells])


def _experiment(model: Model, scenario: Scenario, stop: float, present: set[str]) -> Element:
    root = Element("Experiments", name=f"{model.name}, {model.fidelity} model")
    experiment = SubElement(root, "Experiment", name=scenario.name)
    if scenario.description:
        experiment.set("description", scenario.description)
    SubElement(experiment, "TransientSimulation", startTime="0.0", stopTime=repr(stop), stepSize=repr(model.step_size))
    sources = (("Parameters", "parameters.ssv"), ("Stimuli", "inputs.csv"), ("References", "outputs.csv"))
    for element, name in sources:
        if name in present:
            SubElement(experiment, element, source=name)
    return root


def _parameter_set(model: Model, scenario: Scenario, values: Mapping[str, float]) -> Element:
    root = Element(
        "ssv:ParameterSet",
        {"xmlns:ssv": _PARAMETERS, "version": "1.0", "name": scenario.name, "generationTool": f"rtcvt {__version__}"},
    )
    listed = SubElement(root, "ssv:Parameters")
    for name, value in values.items():
        parameter = SubElement(listed, "ssv:Parameter", name=name)
        if model.by_name[name].choices:
            SubElement(parameter, "ssv:Integer", value=str(int(value)))
            continue
        real = SubElement(parameter, "ssv:Real", value=repr(value))
        unit = model.by_name[name].unit
        if unit != "1":
            real.set("unit", unit)
    units = sorted({model.by_name[name].unit for name in values} - {"1"})
    if units:
        listed = SubElement(root, "ssv:Units")
        for unit in units:
            SubElement(SubElement(listed, "ssc:Unit", name=unit), "ssc:BaseUnit", base_unit(unit))
        root.set("xmlns:ssc", "http://ssp-standard.org/SSP1/SystemStructureCommon")
    return root


def _manifest(files: Sequence[tuple[str, str, str, str]]) -> Element:
    root = Element(
        "fmiReferences",
        {
            "xmlns:fmi-ls": _MANIFEST,
            "fmi-ls:fmi-ls-name": "org.fmi-standard.fmi-ls-ref",
            "fmi-ls:fmi-ls-version": "1.0.0-beta.1",
            "fmi-ls:fmi-ls-description": "Layered Standard providing information on related files included in an FMU.",
        },
    )
    for name, kind, role, description in files:
        SubElement(root, "Related", type=kind, source=name, role=role, description=description)
    return root
