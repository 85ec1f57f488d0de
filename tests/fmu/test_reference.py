"""Reference results that a native unit carries: complete, by the rules, and what importers get."""

import math
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.util import read_csv
from lxml import etree
from marks import slow
from refusals import refused

from rtcvt.fmu.native.compiler import own_platform
from rtcvt.fmu.native.export import export_native
from rtcvt.fmu.native.reference import FOLDER, MOST_INTERVALS, write_cross_check, write_reference
from rtcvt.fmu.traceability import FILE as METADATA
from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model
from rtcvt.scenario import Scenario, sample_inputs
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units

LAYERED = "{http://fmi-standard.org/fmi-ls-manifest}"


def experiment(folder):
    """The experiment, its settings, and the files that it names."""
    (found,) = ElementTree.parse(folder / "experiment.exp").getroot()
    settings = {k: float(v) for k, v in found.find("TransientSimulation").attrib.items()}
    files = {child.tag: child.get("source") for child in found if child.tag != "TransientSimulation"}
    return found.get("name"), settings, files


@pytest.mark.parametrize("key", ["differential", *map(slow, ("kers", "kers_full"))])
def test_an_importer_gets_the_reference_results(unpacked_native, key):
    folder = unpacked_native[key]
    _, settings, files = experiment(folder / FOLDER)
    stimuli, expected = (read_csv(folder / FOLDER / files[name]) for name in ("Stimuli", "References"))
    names = [n for n in expected.dtype.names if n != "time"]
    found = fmpy.simulate_fmu(str(folder), fmi_type="CoSimulation", start_time=settings["startTime"],
                              stop_time=settings["stopTime"], output_interval=settings["stepSize"], input=stimuli,
                              output=names)  # fmt: skip
    at = np.rint(expected["time"] / settings["stepSize"]).astype(int)
    np.testing.assert_allclose(found["time"][at], expected["time"], rtol=1e-9, atol=1e-9)
    for name in names:
        size = np.abs(expected[name]).max()
        np.testing.assert_allclose(found[name][at], expected[name], rtol=0.0, atol=1e-8 * size, err_msg=name)
    assert any(np.ptp(expected[name]) > 0.1 * np.abs(expected[name]).max() > 0.0 for name in names)


def test_the_manifest_lists_every_file_with_its_role(unpacked_native):
    folder = unpacked_native["kers"] / FOLDER
    root = ElementTree.parse(folder / "fmi-ls-manifest.xml").getroot()
    assert root.tag == "fmiReferences"
    assert root.get(f"{LAYERED}fmi-ls-name") == "org.fmi-standard.fmi-ls-ref"
    assert root.get(f"{LAYERED}fmi-ls-version") == "1.0.0-beta.1"
    related = {r.get("source"): r for r in root.iter("Related")}
    metadata = related.pop(f"../../{METADATA}")
    assert (metadata.get("role"), metadata.get("type")) == ("meta-data", "application/x-srmd-meta-data")
    assert (unpacked_native["kers"] / METADATA).is_file()
    assert set(related) == {p.name for p in folder.iterdir()} - {"fmi-ls-manifest.xml"}
    assert related["experiment.exp"].get("role") == "experiment/smoke-test"
    assert related["outputs.csv"].get("role") == "result"
    for entry in related.values():
        assert set(entry.attrib) == {"type", "source", "role", "description"}  # the schema knows no others


@pytest.mark.parametrize("name", ["differential", "power_split_ivt", *map(slow, shipped_units("gear_system"))])
def test_inputs_are_those_of_the_first_scenario(tmp_path, name):
    unit = load_unit(name)
    model, scenario = build_model(unit, "rigid"), unit.scenario[0]
    write_reference(model, scenario, tmp_path / "reference")
    title, settings, files = experiment(tmp_path / "reference")
    assert title == scenario.name
    stimuli, outputs = (read_csv(tmp_path / "reference" / files[kind]) for kind in ("Stimuli", "References"))
    assert list(stimuli.dtype.names) == ["time", *(v.name for v in model.select("input"))]
    assert list(outputs.dtype.names) == ["time", *(v.name for v in model.select("output"))]
    assert len(outputs) <= MOST_INTERVALS + 1
    assert outputs["time"][-1] == settings["stopTime"] == pytest.approx(scenario.duration)
    u = sample_inputs(model, scenario, stimuli["time"])
    for v in model.select("input"):
        np.testing.assert_array_equal(stimuli[v.name], u[:, v.index])
    assert ("Parameters" in files) == bool(scenario.parameters)


def test_parameters_of_the_scenario_are_a_parameter_set(tmp_path):
    unit = load_unit("power_split_ivt")
    write_reference(build_model(unit, "rigid"), unit.scenario[0], tmp_path / "reference")
    ssv = "{http://ssp-standard.org/SSP1/SystemStructureParameterValues}"
    root = ElementTree.parse(tmp_path / "reference" / "parameters.ssv").getroot()
    assert (root.tag, root.get("version")) == (f"{ssv}ParameterSet", "1.0")
    (parameter,) = root.iter(f"{ssv}Parameter")
    (real,) = parameter
    assert (parameter.get("name"), real.tag, real.get("unit")) == ("gear.b.w_start", f"{ssv}Real", "rad/s")
    assert float(real.get("value")) == pytest.approx(1500.0 * math.pi / 30.0)
    schema = Path(fmpy.__file__).parent / "ssp" / "schema" / "SystemStructureParameterValues.xsd"
    etree.XMLSchema(etree.parse(str(schema))).assertValid(etree.parse(str(tmp_path / "reference" / "parameters.ssv")))


@pytest.mark.slow
def test_a_cross_check_package_is_what_an_importer_gets(tmp_path):
    unit = load_unit("power_split_ivt")
    path = export_native(unit, "rigid", tmp_path / "ivt.fmu", platforms=[own_platform()])
    files = write_cross_check(build_model(unit, "rigid"), unit.scenario[0], path)
    assert [f.name for f in files] == ["ivt_ref.opt", "ivt_ref.csv", "ivt_in.csv"]
    words = [line.split(", ") for line in files[0].read_text().splitlines()]
    options = {key: float(value) for key, value in words}
    assert list(options) == ["StartTime", "StopTime", "StepSize", "RelTol"]
    expected = read_csv(files[1])
    found = fmpy.simulate_fmu(str(path), fmi_type="CoSimulation", stop_time=options["StopTime"],
                              output_interval=options["StepSize"], input=read_csv(files[2]),
                              output=list(expected.dtype.names[1:]))  # fmt: skip
    at = np.rint(expected["time"] / options["StepSize"]).astype(int)
    for name in expected.dtype.names[1:]:
        np.testing.assert_allclose(found[name][at], expected[name], rtol=0.0, atol=1e-8 * np.abs(expected[name]).max())


def test_start_values_of_the_export_count(tmp_path):
    unit = load_unit("differential")
    found = {}
    for name, parameters in (("plain", {}), ("heavy", {f"gear.{next(iter(unit.gears))}.J": 1.0})):
        path = export_native(unit, "rigid", tmp_path / f"{name}.fmu", platforms=(), parameters=parameters)
        folder = fmpy.extract(str(path), str(tmp_path / name))
        found[name] = read_csv(f"{folder}/{FOLDER}/outputs.csv")
    assert any(not np.allclose(found["plain"][n], found["heavy"][n], rtol=1e-3) for n in found["plain"].dtype.names)


def test_a_scenario_that_cannot_be_run_is_refused(tmp_path):
    model = build_model(load_unit("toroidal_kers"), "rigid")
    scenario = Scenario(name="wrong", duration=1.0, inputs={"gear.q.w": 1.0})
    refused(r"gear\.q\.w", write_reference, model, scenario, tmp_path / "reference")


@pytest.mark.parametrize("at", [0.25, 0.1234567])
def test_a_jump_of_the_scenario_is_one_of_the_reference(tmp_path, at):
    model = build_model(load_unit("differential"), "rigid")
    table = {"time": [0.0, at, at, 1.0], "value": [5.0, 5.0, -20.0, -20.0]}
    scenario = Scenario.model_validate({"name": "jump", "duration": 1.0, "inputs": {"left.tau": table}})
    write_reference(model, scenario, tmp_path / "reference")
    _, _, files = experiment(tmp_path / "reference")
    stimuli, outputs = (read_csv(tmp_path / "reference" / files[k]) for k in ("Stimuli", "References"))
    assert set(stimuli["lefttau" if "lefttau" in stimuli.dtype.names else "left.tau"]) == {5.0, -20.0}
    assert stimuli["time"][np.diff(stimuli["time"], append=2.0) == 0.0] == [at]
    result = simulate(model, scenario)
    np.testing.assert_allclose(outputs["left.w"], np.interp(outputs["time"], result.time, result["left.w"]), rtol=1e-9)


def test_a_duration_that_is_no_multiple_of_the_step(tmp_path):
    model = build_model(load_unit("differential"), "rigid")
    write_reference(model, Scenario(name="odd", duration=1.0007), tmp_path / "reference")
    _, settings, files = experiment(tmp_path / "reference")
    outputs = read_csv(tmp_path / "reference" / files["References"])
    assert settings["stopTime"] == outputs["time"][-1]
    assert 0.99 < settings["stopTime"] < 1.001 + 1e-12
