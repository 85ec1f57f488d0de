"""Systems: their description as SSP, their co-simulation here and in FMPy, what the exchange costs in accuracy."""

import zipfile
from dataclasses import replace
from functools import partial
from itertools import pairwise

import fmpy
import numpy as np
import pytest
from commands import command_line
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import read_ssd
from fmpy.validation import validate_fmu
from lxml import etree
from test_fmi3_events import Host

from rtcvt.errors import InputError
from rtcvt.fmu.ssp import export_ssp, system_description
from rtcvt.model import Variable
from rtcvt.system import CoupledSystem, build_system, direct_loop, load_system, shipped_systems, simulate_system

pytestmark = pytest.mark.needs("cc")
STEP, LAP_STEP = 1e-3, 2e-3


@pytest.fixture(scope="module")
def coupled():
    return build_system(load_system("vehicle_kers"))


@pytest.fixture(scope="module")
def archive(coupled, tmp_path_factory):
    return export_ssp(coupled, tmp_path_factory.mktemp("ssp") / "vehicle_kers.ssp")


@pytest.fixture(scope="module")
def lap(coupled):
    return simulate_system(coupled, step=LAP_STEP)


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
    assert coupled.models["kers"].by_name["gear.a.J"].start == 0.716


def test_failure_leaves_nothing(coupled, tmp_path):
    file = tmp_path / "system.ssp"
    with pytest.raises(InputError, match="platform = 'amiga'"):
        export_ssp(coupled, file, ["amiga"])
    with pytest.raises(InputError, match=r"a file name that ends in \.ssp"):
        export_ssp(coupled, tmp_path / "system.zip")
    assert list(tmp_path.iterdir()) == []


def test_command(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    rtcvt = partial(command_line(monkeypatch, capsys), "ssp")

    code, text, _ = rtcvt("vehicle_wltc")
    assert code == 0
    assert "3 components, 4 connections: vehicle_wltc.ssp" in text
    assert [c.name for c in read_ssd("vehicle_wltc.ssp").system.elements] == ["cycle", "driver", "vehicle"]
    code, _, message = rtcvt("vehicle", "-o", "other.ssp")
    assert code == 2
    assert "one of the shipped systems: vehicle_kers, vehicle_wltc" in message
    assert [f.name for f in tmp_path.iterdir()] == ["vehicle_wltc.ssp"]


# --- SSP 2.0 ----------------------------------------------------------------------------------------------------------

SPACES = {k: f"http://ssp-standard.org/SSP1/SystemStructure{v}"
          for k, v in (("ssd", "Description"), ("ssc", "Common"), ("ssv", "ParameterValues"))}  # fmt: skip


@pytest.fixture(scope="module")
def second(coupled, tmp_path_factory):
    """An archive of SSP 2.0, extracted, and its description."""
    folder = tmp_path_factory.mktemp("ssp2")
    with zipfile.ZipFile(export_ssp(coupled, folder / "vehicle_kers.ssp", ssp=2)) as archive:
        archive.extractall(folder)
    return folder, etree.parse(str(folder / "SystemStructure.ssd")).getroot()


def test_units_of_ssp_2_are_of_fmi_3_and_have_the_connectors(coupled, second):
    folder, root = second
    assert root.get("version") == "2.0"
    assert {s.get("version") for s in root.iterfind(".//ssv:ParameterSet", SPACES)} == {"2.0"}
    kinds = {e.tag.rpartition("}")[2] for c in root.iterfind(".//ssd:Connector", SPACES) for e in c}
    assert kinds == {"Float64", "Boolean"}
    for component in root.iterfind(".//ssd:Component", SPACES):
        file = str(folder / component.get("source"))
        assert validate_fmu(file) == []
        description = fmpy.read_model_description(file)
        assert description.fmiVersion == "3.0"
        known = {(v.name, v.causality, v.type, v.unit) for v in description.modelVariables}
        for connector in component.iterfind("ssd:Connectors/ssd:Connector", SPACES):
            (kind,) = connector
            unit = None if kind.get("unit") == "1" else kind.get("unit")
            assert (connector.get("name"), connector.get("kind"), kind.tag.rpartition("}")[2], unit) in known
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
    duration = 12.0
    own = simulate_system(coupled, duration)
    exchange()
    t = 0.0
    for _ in range(round(duration / STEP)):
        for host in hosts.values():
            host.doStep(t, STEP)
        exchange()
        t += STEP
    assert own["kers.storage.E"].max() > 2e3
    for name, host in hosts.items():
        for v in coupled.models[name].select("output"):
            get = host.getBoolean if v.boolean else host.getFloat64
            assert get(host.references([v]))[0] == own[f"{name}.{v.name}"][-1], v.name
        host.freeInstance()


def test_fields_are_connectors_with_a_dimension(coupled):
    """And no element of one is connected, since the standard does not say where indices begin."""
    kers = coupled.models["kers"]
    field = tuple(Variable(f"belt.T[{k}]", "output", k, "N", f"tension: {k}") for k in range(3))
    models = {
        **coupled.models,
        "kers": replace(kers, variables=(*kers.select("parameter"), *kers.select("input"), *field)),
    }
    others = tuple(c for c in coupled.connections if c.start != "kers")
    root = system_description(CoupledSystem(coupled.system, models, others), 2)
    found = {c.get("name"): c.findall("ssc:Dimension", SPACES) for c in root.iterfind(".//ssd:Connector", SPACES)}
    assert [d.get("size") for d in found["belt.T"]] == ["3"]
    assert not any(name.startswith("belt.T[") for name in found)
    wrong = next(c for c in coupled.connections if c.start == "kers")._replace(output=field[1])
    with pytest.raises(InputError, match=r"kers\.belt\.T\[1\]: no element of an array in SSP 2.0"):
        system_description(CoupledSystem(coupled.system, models, (*others, wrong)), 2)
    first = system_description(CoupledSystem(coupled.system, models, (*others, wrong)))
    assert "belt.T[1]" in {c.get("name") for c in first.iterfind(".//ssd:Connector", SPACES)}


# --- co-simulation ----------------------------------------------------------------------------------------------------


def test_fmpy_gives_the_same_bits(coupled, archive):
    """Start, acceleration and the first braking zone; FMPy tells the outputs after each step."""
    duration = 20.0
    other = simulate_ssp(str(archive), stop_time=duration - STEP / 2, step_size=STEP)
    own = simulate_system(coupled, duration)
    assert own["kers.storage.E"].max() > 30e3
    for name in other.dtype.names[1:]:
        after = 1 if name.split(".", 1)[1] in coupled.models[name.split(".")[0]].by_name else 0
        assert np.array_equal(other[name], own[name][after:]), name


def test_exchange_is_of_first_order(coupled):
    """Halving the communication step halves the change, and the energy that the coupling makes."""
    steps = [1e-3, 5e-4, 2.5e-4]
    runs = [simulate_system(coupled, 20.0, step) for step in steps]
    for name in ("vehicle.vehicle.v", "driveline.shaft.w", "driveline.axle.tau"):
        common = [run[name][:: round(1e-3 / step)] for run, step in zip(runs, steps, strict=True)]
        changes = [np.sqrt(np.mean((a - b) ** 2)) for a, b in pairwise(common)]
        assert np.log2(changes[0] / changes[1]) == pytest.approx(1.0, abs=0.15), name
    shaft = coupled.flanges[0]
    assert shaft == ("driveline.shaft", "kers.shaft")
    made = [run.flange_energy(shaft)[1] for run in runs]
    assert np.log2(np.array(made[:-1]) / made[1:]) == pytest.approx(np.ones(2), abs=0.05)
    assert made[0] < 1e-4 * runs[0].flange_energy(shaft)[0]


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


def test_kers_gives_back_what_braking_gave(lap):
    into, out = energies(lap)[:2]
    assert 0.7 * into < out < 0.8 * into
    assert into > 10 * 34e3  # ten braking zones, and the flywheel is not quite at rest before each


@pytest.mark.slow
def test_kers_saves_work_of_drive_and_brakes(coupled, lap):
    """Against the same car with an idle KERS."""
    components = coupled.system.components
    idle = components["driver"].model_copy(update={"parameters": {"driver.tau_kers": 0.0}})
    system = coupled.system.model_copy(update={"components": {**components, "driver": idle}})
    without = energies(simulate_system(build_system(system), step=LAP_STEP))
    assert energies(lap)[2] < 0.97 * without[2]
    assert energies(lap)[3] < 0.95 * without[3]


def test_kers_is_as_full_after_a_lap_as_before(lap):
    """Full at the end of each braking zone, empty before the next, with the same energy one lap later."""
    s, stored = lap["vehicle.vehicle.s"], lap["kers.storage.E"]
    for full, empty in ((370.0, 600.0), (700.0, 780.0), (1000.0, 1180.0), (1500.0, 1600.0)):
        for place, low, high in ((full, 30e3, 34e3), (empty, 0.0, 6e3)):
            first, second = (np.interp(place + n * 1750.0, s, stored) for n in (0, 1))
            assert low < first < high
            assert second == pytest.approx(first, rel=0.005)


def test_ratings_hold_on_the_lap(coupled, lap):
    assert np.abs(lap["kers.shaft.tau"]).max() < 100.0
    assert lap["kers.shaft.w"].max() < 6000 * np.pi / 30
    assert lap["kers.gear.a.w"].max() < 3000 * np.pi / 30
    assert np.abs(lap["vehicle.vehicle.v"] - lap["driver.driver.v_des"]).max() < 2.0 / 3.6
    assert not any(lap.saturated[name].any() for name in coupled.models if name != "kers")


# --- system files -----------------------------------------------------------------------------------------------------


def test_shipped_systems_have_no_direct_loop():
    assert set(shipped_systems()) == {"vehicle_kers", "vehicle_wltc"}
    for name in shipped_systems():
        assert direct_loop(build_system(load_system(name))) == []


def test_direct_loop_is_found(coupled):
    """Two parts whose torque follows a speed at once, and whose speed follows a torque."""

    def follow(t, x, u, p, c, y, work):
        y[:] = u[0]

    driveline = replace(coupled.models["driveline"], output=follow)
    vehicle = replace(coupled.models["vehicle"], output=follow)
    models = {"driveline": driveline, "vehicle": vehicle}
    connections = tuple(c for c in coupled.connections if {c.start, c.end} == set(models))
    loop = direct_loop(CoupledSystem(coupled.system, models, connections))
    assert {"vehicle.axle.w", "driveline.axle.w", "driveline.axle.tau", "vehicle.axle.load"} == set(loop)


WIRE = '    "vehicle.axle.w -> driveline.axle.w",\n'
VEHICLE = 'vehicle = { unit = "vehicle", inputs = { "road.slope" = 0.0 } }'
MISTAKES = [
    ('unit = "driver"', 'unit = "drivers"', r"components\.driver\.unit = 'drivers': .*a TOML file, or one of the"),
    ("[experiment]", "[experiments]", r"experiments: unknown key; allowed: name, description, connections, "),
    ('step = "1 ms"', 'step = "1 m"', r"experiment\.step = '1 m': a time in s"),
    ('step = "1 ms"', "", r"experiment\.step: this key is required"),
    (WIRE, '"vehicle.axle.w",\n', r"connections\[\d+\] = 'vehicle\.axle\.w': COMPONENT\.OUTPUT -> COMPONENT\.INPUT"),
    (WIRE, '"car.axle.w -> driveline.axle.w",\n', r"connections\[\d+\] = 'car': one of the components: cycle, driver"),
    (WIRE, '"vehicle.axle.q -> driveline.axle.w",\n', r"'vehicle\.axle\.q': .*not one of its outputs: axle\.w"),
    (WIRE, '"vehicle.axle.w -> driveline.axle.q",\n', r"'driveline\.axle\.q': .*not one of its inputs: axle\.w, shaft"),
    (WIRE, '"vehicle.axle.load -> driveline.axle.w",\n', r"'vehicle\.axle\.load': .*not one of its outputs"),
    (
        WIRE,
        '"vehicle.vehicle.v -> driveline.axle.w",\n',
        r"same unit, not vehicle\.v \[m/s\] and axle",
    ),
    (WIRE, '"kers.control.saturated -> driveline.axle.w",\n', r"not control\.saturated Boolean and axle\.w \[rad/s\]"),
    (WIRE, 2 * WIRE, r"an input that is connected once; vehicle\.axle\.w is connected to it"),
    (VEHICLE, VEHICLE.replace("road.slope", "axle.load"), r"inputs\.axle\.load: an input that is not connected, see"),
    (
        VEHICLE,
        VEHICLE.replace("road.slope", "road.width"),
        r"vehicle\.inputs\.road\.width = 0\.0: .*inputs",
    ),
    (
        VEHICLE,
        VEHICLE.replace("0.0", '"1 m"'),
        r"components\.vehicle\.inputs\.road\.slope = '1 m': a number without unit",
    ),
    ('"shaft.w_start" = 0.0', '"shaft.w_begin" = 0.0', r"components\.kers\.parameters\.shaft\.w_begin = 0\.0: .*param"),
    ('"gear.a.J" = "0.716 kg.m2"', '"gear.a.J" = -1', r"components\.kers\.parameters\.gear\.a\.J = -1.*: .*from 0"),
    (
        'unit = "driveline"',
        'unit = "driveline", model = "full"',
        r"components\.driveline: .*model = 'full': rigid",
    ),
    ('unit = "vehicle"', 'unit = "differential"', r"inputs\.road\.slope = 0\.0: .*inputs: pinion\.tau"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_mistakes_are_named(tmp_path, old, new, message):
    text = load_system("vehicle_kers").text
    assert text.count(old) == 1
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=r"mine\.toml: .*" + message):
        build_system(load_system(file))


def test_torques_of_two_flanges_are_not_connected(tmp_path):
    """Both count into their unit, so that one would have the wrong sign."""
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nconnections = ["kers.shaft.tau -> gear.left.tau"]\n'
        'components = { kers = { unit = "toroidal_kers" }, gear = { unit = "differential" } }\n'
        'experiment = { duration = 1, step = "1 ms" }\n'
    )
    with pytest.raises(InputError, match=r"connections\[0\] = .*a torque counts into its unit at both ends"):
        build_system(load_system(file))


def test_gear_train_by_its_flange(tmp_path):
    """A speed goes into the pinion of a differential, and its torque is the load of the driveline."""
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\n'
        'connections = ["driveline.shaft.w -> gear.pinion.w", "gear.pinion.tau -> driveline.shaft.load"]\n'
        'experiment = { duration = "3 s", step = "1 ms" }\n[components]\n'
        'driveline = { unit = "driveline", inputs = { "axle.w" = 2.0 } }\n'
        'gear = { unit = "differential", flanges = { pinion = "speed" }, inputs = { "left.tau" = -40.0, '
        '"right.tau" = -40.0 } }\n'
    )
    run = simulate_system(build_system(load_system(file)))
    assert run["driveline.shaft.w"][-1] == pytest.approx(10.0, rel=1e-3)
    assert run["gear.gear.a.w"][-1] == pytest.approx(10.0, rel=1e-3)
    power = run["gear.left.tau"] * run["gear.left.w"] + run["gear.right.tau"] * run["gear.right.w"]
    assert 0.8 < -power[-1] / (run["gear.pinion.tau"] * run["gear.pinion.w"])[-1] < 1.0
    file.write_text(file.read_text().replace("pinion =", "gear ="))
    with pytest.raises(InputError, match=r"mine\.toml: components\.gear\.flanges: gear = 'speed': one of the flanges"):
        build_system(load_system(file))


def test_unit_file_beside_the_system_file(tmp_path):
    text = (shipped_systems()["vehicle_wltc"]).read_text()
    (tmp_path / "mine.toml").write_text(text.replace('unit = "vehicle"', 'unit = "car.toml"'))
    unit = build_system(load_system("vehicle_wltc")).models["vehicle"].source
    (tmp_path / "car.toml").write_text(unit.replace('m = "1400 kg"', 'm = "900 kg"'))
    assert build_system(load_system(tmp_path / "mine.toml")).models["vehicle"].by_name["vehicle.m"].start == 900.0


def test_failing_step_is_named(coupled):
    with pytest.raises(InputError, match=r"vehicle_kers\.toml: step at t = .* s: \w+ has no finite solution"):
        simulate_system(coupled, 30.0, 20e-3)
