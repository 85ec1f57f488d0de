"""Systems: their description as SSP, their co-simulation here and in FMPy, what the exchange costs in accuracy."""

import zipfile
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import fmpy
import numpy as np
import pytest
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd
from fmpy.validation import validate_fmu
from held_inputs import simulate_held
from lxml import etree
from marks import slow
from refusals import refused
from rows import cases, tables
from test_fmi3_events import Host

from rtcvt import load
from rtcvt.errors import InputError
from rtcvt.fmu.ssp import export_ssp, system_description
from rtcvt.kind import load_unit
from rtcvt.model import Variable
from rtcvt.network.held import Parts, parts_of, stable_step
from rtcvt.unitfile import shipped_units

pytestmark = pytest.mark.needs("cc")
STEP, LAP_STEP = 1e-3, 2e-3


@pytest.fixture(scope="module", params=["vehicle_wltc", slow("vehicle_kers")])
def coupled(request):
    return parts_of(load_unit(request.param))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return cache(lambda name: export_ssp(parts_of(load_unit(name)), tmp_path_factory.mktemp("ssp") / "system.ssp"))


@pytest.fixture(scope="module")
def archive(coupled, written):
    return written(coupled.system.name)


@pytest.fixture(scope="module")
def with_kers():
    return parts_of(load_unit("vehicle_kers"))


@pytest.fixture(scope="module")
def lap(with_kers):
    return simulate_held(with_kers, step=LAP_STEP)


def energies(lap):
    """Energy into and out of the KERS, given by the drive, and taken by the brakes [J]."""
    power = lap["kers.shaft.tau"] * lap["kers.shaft.w"]
    w, v = lap["vehicle.axle.w"], lap["vehicle.vehicle.v"]
    rates = (np.maximum(power, 0), np.maximum(-power, 0), lap["vehicle.drive.tau"] * w, lap["vehicle.force.brake"] * v)
    return [np.trapezoid(rate, lap.time) for rate in rates]


# --- archive ----------------------------------------------------------------------------------------------------------


def test_description_is_valid_and_complete(coupled, archive):
    """FMPy checks it against the schema of SSP 1.0."""
    found = read_ssd(str(archive), validate=True)
    assert found.version == "1.0"
    assert [c.name for c in found.system.elements] == list(coupled.models)
    assert not found.system.connectors  # some importers want them on components only
    for component in found.system.elements:
        model = coupled.models[component.name]
        connected = {c.input.name for c in coupled.connections if c.end == component.name}
        ports = {(c.name, c.kind) for c in component.connectors}
        assert ports == {(v.name, "output") for v in model.select("output")} | {(n, "input") for n in connected}
        sets = [s for b in component.parameterBindings for s in b.parameterValues]
        given = {p.name: float(p.value) for s in sets for p in s.parameters}
        free = [v for v in model.select("input") if v.name not in connected]
        assert given == {v.name: v.start for v in [*model.select("parameter"), *free]}
    ends = {(c.startElement, c.startConnector, c.endElement, c.endConnector) for c in found.system.connections}
    assert ends == {(c.start, c.output.name, c.end, c.input.name) for c in coupled.connections}
    units = {u.name: (u.kg, u.m, u.s, u.rad, u.factor, u.offset) for u in found.units}
    assert units["N.m"] == (1, 2, -2, 0, 1.0, 0.0)
    assert units["rad/s"] == (0, 0, -1, 1, 1.0, 0.0)


# SSP 1.0, 5.3.3: owner and kind of the connectors at both ends; an element is named, the system is not
ALLOWED = {*map(tuple, tables("fmi/ssp.toml")["allowed"])}


@pytest.mark.parametrize("ssp", [1, 2])
@pytest.mark.parametrize("name", shipped_units("system"))
def test_connections_are_of_kinds_that_the_standard_allows(name, ssp, monkeypatch):
    monkeypatch.setattr("rtcvt.fmu.ssp.stable_step", lambda parts: 1e-3)
    parts = parts_of(load_unit(name))
    root = system_description(parts, ssp)
    kinds = {("", c.get("name")): f"system {c.get('kind')}" for c in root.iterfind("*/ssd:Connectors/*", SPACES)}
    for component in root.iterfind(".//ssd:Component", SPACES):
        owner = component.get("name")
        for c in component.iterfind("ssd:Connectors/*", SPACES):
            assert c.get("kind") == parts.models[owner].by_name[c.get("name")].causality
            kinds[owner, c.get("name")] = f"element {c.get('kind')}"
    ends = [
        tuple((c.get(f"{end}Element", ""), c.get(f"{end}Connector")) for end in ("start", "end"))
        for c in root.iterfind(".//ssd:Connection", SPACES)
    ]
    assert [e for e in ends if (kinds[e[0]], kinds[e[1]]) not in ALLOWED] == []
    assert len({end for _, end in ends}) == len(ends)  # each is driven once
    types = {value.tag.rpartition("}")[2] for value in root.iterfind(".//ssv:Parameter/*", SPACES)}
    assert types <= ({"Real", "Integer"} if ssp == 1 else {"Float64", "Enumeration"})  # what importers of SSP 1.0 take


def test_units_inside_are_valid_and_start_as_the_system_says(coupled, archive, tmp_path):
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        assert sorted(names) == sorted(["SystemStructure.ssd", "extra/system.toml"]
                                       + [f"resources/{name}.fmu" for name in coupled.models])  # fmt: skip
        assert opened.read("extra/system.toml").decode() == coupled.system.text
        opened.extractall(tmp_path)
    for name, model in coupled.models.items():
        file = tmp_path / "resources" / f"{name}.fmu"
        assert validate_fmu(str(file)) == []
        description = fmpy.read_model_description(str(file))
        starts = {v.name: float(v.start) for v in description.modelVariables if v.start is not None}
        assert starts == {v.name: v.start for v in model.variables if v.causality != "output"}


def test_failure_leaves_nothing(coupled, tmp_path):
    file = tmp_path / "system.ssp"
    refused("platform = 'amiga'", export_ssp, coupled, file, ["amiga"])
    refused(r"a file name that ends in \.ssp", export_ssp, coupled, tmp_path / "system.zip")
    assert list(tmp_path.iterdir()) == []


def test_command(monkeypatch, tmp_path, command):
    """Without the units, which others compile."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rtcvt.fmu.ssp.write_unit", lambda model, path, *given, **more: path.touch())

    rtcvt = partial(command, "ssp")

    code, text, _ = rtcvt("vehicle_wltc")
    assert code == 0
    assert "3 components, 4 connections: vehicle_wltc.ssp" in text
    assert [c.name for c in read_ssd("vehicle_wltc.ssp").system.elements] == ["cycle", "driver", "vehicle"]
    code, _, message = rtcvt("vehicle", "-o", "other.ssp")
    assert code == 2
    assert "kind = 'vehicle': system" in message
    assert [f.name for f in tmp_path.iterdir()] == ["vehicle_wltc.ssp"]
    text = 'name = "mine"\nkind = "system"\nconnect = ["engine.crank - box.input"]\n[components]\n'
    (tmp_path / "mine.toml").write_text(f'{text}engine = {{ unit = "engine" }}\nbox = {{ unit = "dct_6" }}\n')
    assert rtcvt("mine.toml")[0] == 0
    assert read_ssd("mine.ssp", validate=True).system.connections == []  # one unit: the schema has no empty list


# --- SSP 2.0 ----------------------------------------------------------------------------------------------------------

SPACES = {k: f"http://ssp-standard.org/SSP1/SystemStructure{v}"
          for k, v in (("ssd", "Description"), ("ssc", "Common"), ("ssv", "ParameterValues"))}  # fmt: skip


@pytest.fixture(scope="module")
def second(coupled, tmp_path_factory):
    """An archive of SSP 2.0, extracted, and its description."""
    folder = tmp_path_factory.mktemp("ssp2")
    with zipfile.ZipFile(export_ssp(coupled, folder / "system.ssp", ssp=2)) as archive:
        archive.extractall(folder)
    return folder, etree.parse(str(folder / "SystemStructure.ssd")).getroot()


def test_units_of_ssp_2_are_of_fmi_3_and_have_the_connectors(coupled, second):
    folder, root = second
    assert root.get("version") == "2.0"
    assert {s.get("version") for s in root.iterfind(".//ssv:ParameterSet", SPACES)} == {"2.0"}
    kinds = {e.tag.rpartition("}")[2] for c in root.iterfind(".//ssd:Connector", SPACES) for e in c}
    assert kinds == {"Boolean" if v.boolean else "Float64" for m in coupled.models.values() for v in m.select("output")}
    for component in root.iterfind(".//ssd:Component", SPACES):
        file = str(folder / component.get("source"))
        assert validate_fmu(file) == []
        description = fmpy.read_model_description(file)
        assert description.fmiVersion == "3.0"
        known = {(v.name, v.causality, v.type, v.unit) for v in description.modelVariables}
        for connector in component.iterfind("ssd:Connectors/ssd:Connector", SPACES):
            (kind,) = connector
            assert (
                connector.get("name"),
                connector.get("kind"),
                kind.tag.rpartition("}")[2],
                kind.get("unit"),
            ) in known
    assert len(root.findall(".//ssd:Connection", SPACES)) == len(coupled.connections)


def test_what_ssp_2_says_gives_the_same_bits(coupled, second, tmp_path):
    """Units, start values and connections are those of its file; nothing else is known."""
    folder, root = second
    hosts = {}
    for component in root.iterfind(".//ssd:Component", SPACES):
        host = Host(fmpy.extract(str(folder / component.get("source")), str(tmp_path / component.get("name"))))
        for parameter in component.iterfind(".//ssv:Parameter", SPACES):
            reference, (value,) = host.variables[parameter.get("name")].valueReference, parameter
            assert value.tag.endswith("Float64")
            host.setFloat64([reference], [float(value.get("value"))])
        host.enterInitializationMode()
        hosts[component.get("name")] = host
    wires = [
        [(host := hosts[c.get(f"{end}Element")], host.variables[c.get(f"{end}Connector")].valueReference)
         for end in ("start", "end")]
        for c in root.iterfind(".//ssd:Connection", SPACES)
    ]  # fmt: skip

    def exchange():
        for (source, output), (target, given) in wires:
            target.setFloat64([given], source.getFloat64([output]))

    for _ in hosts:  # a start value may pass through all components
        exchange()
    for host in hosts.values():
        host.exitInitializationMode()
    duration = 15.0
    own = simulate_held(coupled, duration, STEP)
    exchange()
    t = 0.0
    for _ in range(round(duration / STEP)):
        for host in hosts.values():
            host.doStep(t, STEP)
        exchange()
        t += STEP
    assert own["vehicle.vehicle.v"].max() > 1.0
    for name, host in hosts.items():
        for v in coupled.models[name].select("output"):
            get = host.getBoolean if v.boolean else host.getFloat64
            assert get(host.references([v]))[0] == own[f"{name}.{v.name}"][-1], v.name
        host.freeInstance()


def test_fields_are_connectors_with_a_dimension(coupled, monkeypatch):
    """And no element of one is connected, since the standard does not say where indices begin."""
    monkeypatch.setattr("rtcvt.fmu.ssp.stable_step", lambda parts: 1e-3)  # of outputs that no kernel has
    driver = coupled.models["driver"]
    field = tuple(Variable(f"belt.T[{k}]", "output", k, "N", f"tension: {k}") for k in range(3))
    models = {
        **coupled.models,
        "driver": replace(driver, variables=(*driver.select("parameter"), *driver.select("input"), *field)),
    }
    others = tuple(c for c in coupled.connections if c.start != "driver")
    root = system_description(Parts(coupled.system, models, others), 2)
    found = {c.get("name"): c.findall("ssc:Dimension", SPACES) for c in root.iterfind(".//ssd:Connector", SPACES)}
    assert [d.get("size") for d in found["belt.T"]] == ["3"]
    assert not any(name.startswith("belt.T[") for name in found)
    wrong = next(c for c in coupled.connections if c.start == "driver")._replace(output=field[1])
    with pytest.raises(InputError, match=r"driver\.belt\.T\[1\]: no element of an array in SSP 2.0"):
        system_description(Parts(coupled.system, models, (*others, wrong)), 2)
    first = system_description(Parts(coupled.system, models, (*others, wrong)))
    assert "belt.T[1]" in {c.get("name") for c in first.iterfind(".//ssd:Connector", SPACES)}


# --- co-simulation ----------------------------------------------------------------------------------------------------


def test_fmpy_gives_the_same_bits(coupled, archive):
    """FMPy tells the outputs after each step."""
    duration = 15.0
    other = simulate_ssp(str(archive), stop_time=duration - STEP / 2, step_size=STEP)
    own = simulate_held(coupled, duration, STEP)
    assert own["vehicle.vehicle.v"].max() > 1.0
    for name in other.dtype.names[1:]:
        after = 1 if name.split(".", 1)[1] in coupled.models[name.split(".")[0]].by_name else 0
        assert np.array_equal(other[name], own[name][after:]), name


CARS = sorted(shipped_units("system").keys() - {"vehicle_wltc", "car_electric"})
BOUND = {"car_hybrid": 0.04}  # clutches close some steps later


@pytest.mark.parametrize("name", ["vehicle_wltc", "car_electric", *map(slow, CARS)])
def test_fmpy_at_the_stated_step_agrees_with_simulate(name, written, tmp_path):
    """Fuel within 0.5 % and speeds within 2 % of the largest, from the archive alone."""
    source = name
    if name == "all_wheel_drive":  # with a torque, since a scenario is not in the archive
        text = shipped_units("system")[name].read_text().partition('parameters = { "vehicle.road')[0]
        unit = 'centre = { unit = "differential", '
        (source := tmp_path / "mine.toml").write_text(text.replace(unit, f'{unit}inputs = {{ "pinion.tau" = 60 }}, '))
    archive = written(source)
    with zipfile.ZipFile(archive) as opened:
        root = etree.fromstring(opened.read("SystemStructure.ssd"))
    (stated,) = (e.get("baseStepSize") for e in root.iter() if e.tag.endswith("FixedStepAlgorithm"))
    step, duration = float(stated), 20.0
    other = simulate_ssp(str(archive), stop_time=duration - step / 2, step_size=step)
    own = load(source).simulate(duration=duration)
    names = {n: n if n in own.names else n.partition(".")[2] for n in other.dtype.names}  # within a part of several,
    speeds = [
        n
        for n in names
        if names[n] in own.names and n.endswith((".v", ".w", "fuel.m")) and (names[n] == n or ".gear." not in n)
    ]  # whose gears are shifted some steps later
    assert own["vehicle.vehicle.v"].max() > 1.0
    assert "engine.fuel.m" in {*names.values()} or "engine.fuel.m" not in own.names
    for signal in speeds:
        at_same_time = np.interp(other["time"], own.time, own[names[signal]])
        bounds = {"fuel.m": (5e-3, 0.0), "le.v": (0.02, 1.0)}  # of the largest, which is at least 1 rad/s or m/s
        share, least = next((b for end, b in bounds.items() if signal.endswith(end)), (BOUND.get(name, 0.02), 1.0))
        assert np.abs(other[signal] - at_same_time).max() < share * max(np.abs(own[names[signal]]).max(), least), signal


@pytest.mark.slow
def test_exchange_is_of_first_order(with_kers):
    """Halving the communication step halves the change, and the energy that the coupling makes."""
    steps = [1e-3, 5e-4, 2.5e-4]
    runs = [simulate_held(with_kers, 20.0, step) for step in steps]
    for name in ("vehicle.vehicle.v", "driveline.shaft.w", "driveline.axle.tau"):
        common = [run[name][:: round(1e-3 / step)] for run, step in zip(runs, steps, strict=True)]
        changes = [np.sqrt(np.mean((a - b) ** 2)) for a, b in pairwise(common)]
        assert np.log2(changes[0] / changes[1]) == pytest.approx(1.0, abs=0.15), name
    shaft = "driveline.shaft", "kers.shaft"
    made = [run.flange_energy(*shaft)[1] for run in runs]
    assert np.log2(np.array(made[:-1]) / made[1:]) == pytest.approx(np.ones(2), abs=0.05)
    assert made[0] < 1e-4 * runs[0].flange_energy(*shaft)[0]


@pytest.mark.slow
def test_whole_system_keeps_its_energy(lap):
    """Drive = resistances, brakes, losses of the driveline and of the KERS; all stand at both ends."""
    v, t = lap["vehicle.vehicle.v"], lap.time
    drive, brake = energies(lap)[2:]
    resistances = sum(np.trapezoid(lap[f"vehicle.force.{k}"] * v, t) for k in ("aero", "roll"))
    driveline = np.trapezoid(lap["driveline.driveline.P_loss"], t)
    friction = {"a": 0.325e-3, "b": 0.55e-3, "c": 0.475e-3, "d": 0.265e-3}  # N.m/rpm, Table 2 of the paper
    gears = sum(np.trapezoid(b * 30 / np.pi * lap[f"kers.gear.{k}.w"] ** 2, t) for k, b in friction.items())
    assert lap["vehicle.storage.E"][-1] + lap["kers.storage.E"][-1] < 1.0
    assert brake + resistances + driveline + gears == pytest.approx(drive, rel=1e-3)


@pytest.mark.slow
def test_kers_saves_work_of_drive_and_brakes(with_kers, lap):
    """Against the same car with an idle KERS."""
    components = with_kers.system.components
    idle = components["driver"].model_copy(update={"parameters": {"driver.tau_kers": 0.0}})
    system = with_kers.system.model_copy(update={"components": {**components, "driver": idle}})
    without = energies(simulate_held(parts_of(system), step=LAP_STEP))
    assert energies(lap)[2] < 0.97 * without[2]
    assert energies(lap)[3] < 0.95 * without[3]


@pytest.mark.slow
def test_ratings_hold_on_the_lap(with_kers, lap):
    assert np.abs(lap["kers.shaft.tau"]).max() < 100.0
    assert lap["kers.shaft.w"].max() < 6000 * np.pi / 30
    assert lap["kers.gear.a.w"].max() < 3000 * np.pi / 30
    assert np.abs(lap["vehicle.vehicle.v"] - lap["driver.driver.v_des"]).max() < 2.0 / 3.6
    assert not any(lap.saturated[name].any() for name in with_kers.models if name != "kers")


# --- what hosts need to know ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_stable_step_is_where_held_inputs_let_go(with_kers):
    """At twice that step the torque jumps to and fro from step to step; at half of it, it does not."""
    limit = stable_step(with_kers)
    assert 5e-4 < limit < 1e-2
    runs = [simulate_held(with_kers, 5.0, k * limit)["kers.shaft.tau"] for k in (0.5, 2.0)]
    smooth, jumping = (np.abs(np.diff(tau, 2)).max() for tau in runs)  # [N.m]
    assert smooth < 2e-3
    assert jumping > 50.0 * smooth


@cases
def test_components_at_a_node_that_is_no_pair_are_one_unit(connect, more, tmp_path):
    """Solved as a whole, so with the states of the whole system."""
    file = tmp_path / "mine.toml"
    file.write_text(f'name = "mine"\nkind = "system"\nconnect = ["{connect}"]\n[components]\n'
                    'driveline = { unit = "driveline", inputs = { "axle.w" = 1.0 } }\n'
                    f'clutch = {{ unit = "clutch", inputs = {{ "a.w" = 0.0 }} }}\n{more}')  # fmt: skip
    if "a - g" in connect or more:
        file.write_text(file.read_text().replace(', inputs = { "a.w" = 0.0 }', ""))
    parts, whole = parts_of(load_unit(file)), load_unit(file).build()
    assert {*parts.models} == {"driveline_clutch"}
    found = parts.models["driveline_clutch"]
    assert [v.name for v in found.variables] == [v.name for v in whole.variables]
    assert found.by_name["driveline.axle.w"].start == 1.0
    assert found.data.tolist() == whole.data.tolist()


def test_an_inertia_takes_a_speed_through_its_coupling(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nkind = "system"\nconnect = ["driveline.shaft - cvt.secondary"]\n[components]\n'
                    'driveline = { unit = "driveline", inputs = { "axle.w" = 0.0 } }\n'
                    'cvt = { unit = "pushbelt_cvt" }\n')  # fmt: skip
    parts = parts_of(load_unit(file))
    assert "secondary.w" in {v.name for v in parts.models["cvt"].select("input")}
    assert parts.models["cvt"].by_name["primary.tau"].causality == "input"


def test_unit_file_beside_the_system_file(tmp_path):
    text = shipped_units("system")["vehicle_wltc"].read_text()
    (tmp_path / "mine.toml").write_text(text.replace('unit = "vehicle"', 'unit = "car.toml"'))
    (tmp_path / "car.toml").write_text(shipped_units()["vehicle"].read_text().replace('m = "1400 kg"', 'm = "900 kg"'))
    assert load_unit(tmp_path / "mine.toml").build().by_name["vehicle.vehicle.m"].start == 900.0
    assert (tmp_path / "car.toml") in load_unit(tmp_path / "mine.toml").files_beside
