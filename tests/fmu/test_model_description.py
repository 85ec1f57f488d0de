"""The description is complete and says what the variable table says."""

import re
import zipfile
from xml.etree import ElementTree

import fmpy
import pytest

from rtcvt.fmu.description import model_description
from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model

GEARS, PINS = "abcd", ("bc", "ac", "db")

KERS = {
    "input": {"shaft.w", "control.tau_des"},
    "output": {"shaft.tau", "control.tau_est", "control.theta", "control.saturated", "storage.E", "loss.friction"}
    | {"status.step_too_coarse"}
    | {f"gear.{g}.w" for g in GEARS}
    | {f"contact.{c}.F" for c in PINS},
    "parameter": {f"gear.{g}.{k}" for g in GEARS for k in "Jb"}
    | {f"geometry.{r}" for r in ("r_b1", "r_b2", "r_c", "r_d")}
    | {"shaft.K", "shaft.w_start"}
    | {f"control.{k}" for k in ("K_theta", "K_w", "tau_filter", "theta_start")},
}


@pytest.fixture(scope="module")
def model():
    return build_model(load_unit("toroidal_kers"), "rigid")


@pytest.fixture(scope="module")
def root(model):
    return model_description(model, "unit", "guid", needs_execution_tool=True, stop_time=2.0)


def test_the_kers_unit_has_exactly_its_documented_variables(exported):
    description = fmpy.read_model_description(str(exported["kers"]))
    for causality, names in KERS.items():
        assert {v.name for v in description.modelVariables if v.causality == causality} == names
    assert len(description.modelVariables) == sum(map(len, KERS.values()))


def test_every_variable_says_what_the_table_says(root, model):
    for reference, (v, scalar) in enumerate(zip(model.variables, root.iter("ScalarVariable"), strict=True)):
        assert scalar.get("name") == v.name
        assert scalar.get("valueReference") == str(reference)
        assert scalar.get("causality") == v.causality
        assert scalar.get("description") == v.description
        kind = scalar[0]
        if v.boolean:
            assert (kind.tag, scalar.get("variability")) == ("Boolean", "discrete")
            continue
        expected = "continuous"
        if v.causality == "parameter":
            expected = "tunable" if v.tunable else "fixed"
        assert (kind.tag, scalar.get("variability")) == ("Real", expected)
        assert kind.get("unit") == v.unit
        assert kind.get("displayUnit") == v.display_unit
        for key, value in (("min", v.minimum), ("max", v.maximum), ("nominal", v.nominal), ("start", v.start)):
            written = kind.get(key)
            assert (None if written is None else float(written)) == value


def test_every_output_is_an_output_and_an_initial_unknown(root, model):
    outputs = [str(k + 1) for k, v in enumerate(model.variables) if v.causality == "output"]
    for group in ("Outputs", "InitialUnknowns"):
        assert [u.get("index") for u in root.find(f"ModelStructure/{group}")] == outputs


def test_outputs_say_on_what_they_depend(root, model):
    names = [v.name for v in model.variables]
    told = {
        names[int(u.get("index")) - 1]: {names[int(k) - 1] for k in u.get("dependencies").split()}
        for u in root.find("ModelStructure/Outputs")
    }
    inputs = {v.name for v in model.select("input")}
    assert set().union(*told.values()) <= inputs
    assert told["storage.E"] == set()


def test_units_are_defined_by_si_base_units_and_factors(root):
    units = {u.get("name"): u for u in root.iter("Unit")}
    base = {name: {k: int(n) for k, n in u.find("BaseUnit").items()} for name, u in units.items()}
    assert base["N.m"] == base["J"] == {"kg": 1, "m": 2, "s": -2}
    assert base["kg.m2"] == {"kg": 1, "m": 2}
    assert base["N.m.s/rad"] == {"kg": 1, "m": 2, "s": -1, "rad": -1}
    assert base["rad/s"] == {"rad": 1, "s": -1}
    factors = {d.get("name"): float(d.get("factor")) for u in units.values() for d in u.iter("DisplayUnit")}
    assert factors == pytest.approx(
        {"rpm": 9.549296585513721, "deg": 57.29577951308232, "mm": 1e3, "kN": 1e-3, "kJ": 1e-3}
    )


def test_the_head_says_what_and_when(root, model):
    assert root.get("fmiVersion") == "2.0"
    assert root.get("generationTool").startswith("rtcvt ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", root.get("generationDateAndTime"))
    assert root.find("DefaultExperiment").attrib == {"startTime": "0.0", "stopTime": "2.0",
                                                     "stepSize": repr(model.step_size)}  # fmt: skip


def test_what_is_in_the_archive(exported):
    with zipfile.ZipFile(exported["kers"]) as archive:
        names = archive.namelist()
        assert archive.read("documentation/index.html") == b"<p>About</p>"
        assert b"MIT License" in archive.read("documentation/licenses/pythonfmu.txt")
        assert archive.read("resources/unit.toml").decode() == load_unit("toroidal_kers").text
        identifier = ElementTree.fromstring(archive.read("modelDescription.xml"))[0].get("modelIdentifier")
    assert f"binaries/linux64/{identifier}.so" in names
    assert f"binaries/win64/{identifier}.dll" in names
