"""Units of FMI 3.0: valid, with the bits of FMI 2.0, terminals, adjoint derivatives, and sources that compile."""

import math
from pathlib import Path
from types import SimpleNamespace

import fmpy
import numpy as np
import pytest
from fmpy.build import build_platform_binary
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave
from fmpy.validation import validate_fmu
from lxml import etree
from marks import slow
from native_host import hosted
from rows import mistakes

from rtcvt.errors import InputError
from rtcvt.fmu.native.export import export_native
from rtcvt.fmu.native.fmi3 import terminals
from rtcvt.interface import load
from rtcvt.kind import load_unit

pytestmark = pytest.mark.needs("cc")

H = 1e-3
UNITS = ["toroidal_kers", "clutch", "half_toroidal_variator hybrid", "differential", "accessory_5pk", "pushbelt_cvt"]
SCHEMAS = Path(fmpy.__file__).parent / "schema" / "fmi3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fmi3")


@pytest.fixture(scope="module", params=[*UNITS[:2], *map(slow, UNITS[2:])])
def pair(request, folder, unpacked_native):
    """One unit in both versions of FMI: its model, and the extracted units by version."""
    name, *fidelity = request.param.split()
    unit, found, paths = load_unit(name), {}, []
    model = unit.build(*fidelity)
    for fmi in (2, 3):
        if (name, fmi) == ("toroidal_kers", 2):  # is there
            found[fmi] = unpacked_native["kers"]
            continue
        paths.append(export_native(unit, model.fidelity, folder / f"{name}_{fmi}.fmu", fmi=fmi))
        found[fmi] = Path(fmpy.extract(str(paths[-1]), str(folder / f"{name}_{fmi}")))
    return SimpleNamespace(model=model, folders=found, paths=paths)


def moving(model, k):
    """Inputs that move all the time."""
    return [v.start + 0.1 * (v.nominal or 1.0) * math.sin((3.0 + 2.0 * i) * k * H)
            for i, v in enumerate(model.select("input"))]  # fmt: skip


def references(variables, rows):
    return [variables[v.name].valueReference for v in rows]


@pytest.fixture(params=UNITS[:1])
def kers(request, folder):
    path = folder / "toroidal_kers_3.fmu"
    if not path.exists():
        export_native(load_unit("toroidal_kers"), "rigid", path, fmi=3)
    extracted = Path(fmpy.extract(str(path), str(folder / "kers")))
    slave, variables = hosted(extracted, FMU3Slave)
    yield slave, variables
    slave.freeInstance()


# --- descriptions -----------------------------------------------------------------------------------------------------


def test_a_unit_is_valid(pair):
    assert [validate_fmu(str(path)) for path in pair.paths] == [[]] * len(pair.paths)
    for name, file in (("fmi3TerminalsAndIcons", "terminalsAndIcons/terminalsAndIcons.xml"),
                       ("fmi3BuildDescription", "sources/buildDescription.xml"),
                       ("fmi3ModelDescription", "modelDescription.xml")):  # fmt: skip
        written = pair.folders[3] / file
        if written.exists() or name != "fmi3BuildDescription":
            etree.XMLSchema(file=str(SCHEMAS / f"{name}.xsd")).assertValid(etree.parse(str(written)))
    assert [p.parent.name for p in pair.folders[3].glob("binaries/*/*")] == ["x86_64-linux"]


def test_value_references_are_those_of_fmi_2_and_then_the_time(pair):
    _, two = hosted(pair.folders[2], FMU2Slave)
    _, three = hosted(pair.folders[3], FMU3Slave)
    assert {n: v.valueReference for n, v in two.items()} == {
        n: v.valueReference for n, v in three.items() if n != "time"
    }
    assert three["time"].valueReference == len(two)


@pytest.mark.parametrize("name", ["clutch b", "driveline shaft", "vehicle axle"])
def test_a_torque_that_the_neighbour_takes_flows_out_of_a_terminal(name):
    unit, flange = name.split()
    (found,) = terminals(load_unit(unit).build()).iterfind(f".//Terminal[@name='{flange}']")
    members = [(m.get("variableName"), m.get("memberName"), m.get("variableKind")) for m in found[:2]]
    assert members == [(f"{flange}.load", "tau", "outflow"), (f"{flange}.w", "w", "signal")]
    assert found.get("matchingRule") == "plug"
    assert found.get("terminalKind") == "org.modelica.Mechanics.Rotational.Interfaces.Flange_b"


def test_terminals_of_flanges_have_a_torque_and_a_speed(pair):
    tree = etree.parse(str(pair.folders[3] / "terminalsAndIcons" / "terminalsAndIcons.xml"))
    causality = {v.name: v.causality for v in pair.model.variables}
    flanges = {n.removesuffix(".tau") for n in causality
               if {causality[n], causality.get(n.removesuffix(".tau") + ".w")} == {"input", "output"}}  # fmt: skip
    found = {}
    for terminal in tree.iter("Terminal"):
        members = {m.get("memberName"): (m.get("variableName"), m.get("variableKind")) for m in terminal
                   if m.tag == "TerminalMemberVariable"}  # fmt: skip
        assert all(name in causality for name, _ in members.values())
        icon = terminal.find("TerminalGraphicalRepresentation").get("iconBaseName")
        assert (pair.folders[3] / "terminalsAndIcons" / f"{icon}.png").is_file()
        if terminal.get("matchingRule") == "plug" and members["tau"][1] == "inflow":
            found[terminal.get("name")] = members
            assert terminal.get("terminalKind").endswith(".Rotational.Interfaces.Flange_a")
    assert set(found) == flanges
    for name, members in found.items():
        assert members == {"tau": (f"{name}.tau", "inflow"), "w": (f"{name}.w", "signal")}


def test_clamping_ports_are_terminals():
    unit = load_unit("pushbelt_cvt")
    names = {t.get("name"): [m.get("memberName") for m in t.iter("TerminalMemberVariable")]
             for t in terminals(unit.build()).iter("Terminal") if t.get("matchingRule") == "bus"}  # fmt: skip
    assert names == {"clamp.primary": ["F", "p"], "clamp.secondary": ["F", "p"]}


def test_a_unit_whose_kind_draws_nothing_is_a_box_with_its_terminals(folder):
    path = export_native(load_unit("driveline"), None, folder / "driveline.fmu", ["sources"], fmi=3)
    extracted = Path(fmpy.extract(str(path))) / "terminalsAndIcons"
    listed = etree.parse(str(extracted / "terminalsAndIcons.xml"))
    assert listed.find(".//GraphicalRepresentation/Icon") is not None
    drawn = etree.parse(str(extracted / "icon.svg"))
    texts = [t.text for t in drawn.iter("{*}text")]
    assert texts == ["driveline", *(t.get("name") for t in listed.iter("Terminal"))]
    assert (extracted / "icon.png").is_file()


def test_a_belt_is_drawn_to_scale():
    drive = load_unit("accessory_6pk")
    drawn = etree.fromstring(drive.kind_record.diagram(drive, {}).encode())
    circles = [float(c.get("r")) for c in drawn.iter("{*}circle")][::2]
    scale = circles[0] / drive.path().radius[0]
    np.testing.assert_allclose(circles, scale * drive.path().radius, atol=0.2)
    points = np.array([p.split(",") for p in drawn.find("{*}polyline").get("points").split()], dtype=float)
    assert np.hypot(*np.diff(points, axis=0).T).sum() == pytest.approx(scale * drive.path().length, rel=2e-3)


# --- the same bits ----------------------------------------------------------------------------------------------------


def test_co_simulation_has_the_bits_of_fmi_2(pair):
    model, found = pair.model, {}
    outputs = [v for v in model.select("output") if not v.boolean]
    for fmi, kind in ((2, FMU2Slave), (3, FMU3Slave)):
        unit, variables = hosted(pair.folders[fmi], kind)
        put, get, truth = ((unit.setReal, unit.getReal, unit.getBoolean) if fmi == 2 else
                           (unit.setFloat64, unit.getFloat64, unit.getBoolean))  # fmt: skip
        u, y = references(variables, model.select("input")), references(variables, outputs)
        x = [v.valueReference for v in variables.values() if v.causality == "local"]
        b = references(variables, [v for v in model.select("output") if v.boolean])
        if fmi == 2:
            unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
        put(u, moving(model, 0))
        unit.exitInitializationMode()
        rows = [get(y) + get(x)]
        for k in range(300):
            put(u, moving(model, k))
            unit.doStep(k * H, H)
            rows.append(get(y) + get(x) + [float(f) for f in (truth(b) if b else [])])
        slopes = unit.getRealOutputDerivatives(y, [1] * len(y)) if fmi == 2 else unit.getOutputDerivatives(
            y, [1] * len(y))  # fmt: skip
        unit.terminate()
        unit.freeInstance()
        found[fmi] = [*rows, list(slopes)]
    assert found[2] == found[3]


def test_model_exchange_has_the_bits_of_fmi_2(pair):
    model, found = pair.model, {}
    n = len(model.states)
    for fmi, kind in ((2, FMU2Model), (3, FMU3Model)):
        unit, variables = hosted(pair.folders[fmi], kind)
        put, get = (unit.setReal, unit.getReal) if fmi == 2 else (unit.setFloat64, unit.getFloat64)
        u = references(variables, model.select("input"))
        y = references(variables, [v for v in model.select("output") if not v.boolean])
        if fmi == 2:
            unit.setupExperiment(startTime=0.0)
        unit.enterInitializationMode()
        put(u, moving(model, 0))
        unit.exitInitializationMode()
        unit.enterContinuousTimeMode()
        x, dx = np.zeros(n), np.zeros(n)
        pointers = [a.ctypes.data_as(fmpy.fmi2.POINTER(fmpy.fmi2.c_double)) for a in (x, dx)]
        slope = unit.getDerivatives if fmi == 2 else unit.getContinuousStateDerivatives
        unit.getContinuousStates(pointers[0], n)
        rows = []
        for k in range(100):
            unit.setTime(k * H)
            put(u, moving(model, k))
            unit.setContinuousStates(pointers[0], n)
            slope(pointers[1], n)
            rows.append(get(y) + dx.tolist())
            x += 1e-6 * dx
        unit.freeInstance()
        found[fmi] = rows
    assert found[2] == found[3]


# --- derivatives ------------------------------------------------------------------------------------------------------


def test_adjoint_derivatives_are_the_transposed_jacobian(pair):
    """By inputs, states, parameters and time, and zero where the description lists no dependency."""
    model = pair.model
    unit, variables = hosted(pair.folders[3], FMU3Slave)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    for k in range(20):
        unit.setFloat64(references(variables, model.select("input")), moving(model, k))
        unit.doStep(k * H, H)
    z = references(variables, [v for v in model.select("output") if not v.boolean])
    z += [v.valueReference for v in variables.values() if v.derivative is not None]
    v = references(variables, model.select("input"))
    v += [variables[f"state.{s.name}"].valueReference for s in model.states]
    v += [
        p.valueReference
        for p in variables.values()
        if p.causality in ("parameter", "independent") and p.type == "Float64"
    ]
    jacobian = np.array([unit.getDirectionalDerivative(z, [known], [1.0], len(z)) for known in v]).T
    rng = np.random.default_rng(3)
    for _ in range(5):
        seed = rng.normal(size=len(z))
        adjoint = np.array(unit.getAdjointDerivative(z, v, seed.tolist(), len(v)))
        np.testing.assert_allclose(adjoint, jacobian.T @ seed, rtol=1e-9, atol=1e-9 * np.abs(adjoint).max())
    description = fmpy.read_model_description(str(pair.folders[3]))
    listed = {(k.variable.valueReference, d.valueReference)
              for k in (*description.outputs, *description.derivatives) for d in k.dependencies}  # fmt: skip
    unlisted = [[(row, column) not in listed for column in v] for row in z]
    assert not jacobian[np.array(unlisted)].any()
    assert np.abs(jacobian).max(axis=0)[-len(model.p) :].any()
    unit.freeInstance()


# --- states, wrong calls ----------------------------------------------------------------------------------------------


@mistakes
def test_wrong_calls_are_refused_and_change_nothing(kers, name, call, of, given, before, running):
    unit, variables = kers
    y = [v.valueReference for v in variables.values() if v.causality == "output" and v.type == "Float64"]
    called = [[variables[n].valueReference if n in variables else n for n in names] for names in of]
    if before:
        with pytest.raises(FMICallException):
            getattr(unit, call)(*called, *given)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    kept = unit.getFloat64(y)
    if running:
        with pytest.raises(FMICallException):
            getattr(unit, call)(*called, *given)
    assert unit.getFloat64(y) == kept
    if name not in ("step", "terminate"):
        unit.doStep(0.0, H)


# --- sources ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_importer_compiles_the_sources(folder, tmp_path):
    path = export_native(load_unit("differential"), "rigid", tmp_path / "unit.fmu", platforms=(), fmi=3)
    extracted = Path(fmpy.extract(str(path), str(tmp_path / "unit")))
    assert not (extracted / "binaries").exists()
    build_platform_binary(extracted)
    result = fmpy.simulate_fmu(str(extracted), stop_time=0.01, step_size=H, output_interval=H)
    assert len(result) > 1


def test_python_units_are_of_fmi_2(tmp_path):
    with pytest.raises(InputError, match="2 with the python backend"):
        load("toroidal_kers").export(tmp_path / "unit.fmu", backend="python", fmi=3, errors=False)
    assert not list(tmp_path.iterdir())
