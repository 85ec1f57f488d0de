"""The Python interface as its user meets it."""

import subprocess
import sys

import numpy as np
import pytest

import rtcvt
from rtcvt.kind import load_unit
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import chosen_scenario
from rtcvt.simulate import simulate


@pytest.fixture(scope="module")
def gears():
    return rtcvt.load("planetary")


def test_importing_is_fast_and_brings_nothing_along():
    code = (
        "import sys, time; t = time.perf_counter(); import rtcvt; t = time.perf_counter() - t;"
        "heavy = {'numpy', 'numba', 'pydantic', 'h5py', 'typer', 'pint'} & set(sys.modules);"
        "print(len(heavy)); print(t); print(sorted(dir(rtcvt)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, _, names = done.stdout.splitlines()
    assert heavy == "0"
    assert set(rtcvt.__all__) < set(eval(names))


def test_every_name_is_there_and_documented():
    for name in rtcvt.__all__:
        assert getattr(rtcvt, name).__doc__
    for kind in (rtcvt.Unit, rtcvt.Instance, rtcvt.FullRun, rtcvt.Recording):
        for name, member in vars(kind).items():
            assert name.startswith("_") or not callable(member) or member.__doc__, f"{kind.__name__}.{name}"
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        rtcvt.laod  # noqa: B018


def test_units_are_found_by_name():
    assert "toroidal_kers" in rtcvt.units()
    assert set(rtcvt.units("variator")) == {"pushbelt_cvt", "pushbelt_fields", "pushbelt_kers"}
    assert {"vehicle_kers", "vehicle_wltc", "car_cvt"} <= set(rtcvt.units("system"))
    unit = rtcvt.load("toroidal_kers")
    assert (unit.kind, unit.models[0]) == ("gear_system", "rigid")
    assert "infeasible demand" in unit.scenarios
    assert unit.variables()["shaft.w"].unit == "rad/s"


def test_scenario_by_name_is_that_of_the_command(gears):
    unit = load_unit("planetary")
    expected = simulate(unit.build(), chosen_scenario(unit, None))
    result = gears.simulate()
    assert np.array_equal(result["sun.w"], expected["sun.w"])
    assert result.unit("sun.w") == "rad/s"
    assert result.converted("sun.w", "rpm") == pytest.approx(result["sun.w"] * 30.0 / np.pi, rel=1e-15)
    assert np.array_equal(gears.simulate(gears.scenarios[0])["sun.w"], expected["sun.w"])


def test_inputs_of_all_kinds_are_the_same_signal(gears):
    t = np.linspace(0.0, 0.5, 501)
    forms = ("10*t", lambda time: 10.0 * time, 10.0 * t, 10.0 * t[:-1], ([0.0, 0.5], [0.0, 5.0]),
        {"time": [0.0, 0.5], "value": ["0 N.m", "5 N.m"]})  # fmt: skip
    results = [gears.simulate(inputs={"sun.tau": form}, duration="500 ms") for form in forms]
    for result in results:
        assert result.time == pytest.approx(t)
        assert result["sun.tau"][:-1] == pytest.approx(10.0 * t[:-1], abs=1e-12)
        assert result["carrier.w"] == pytest.approx(results[0]["carrier.w"], rel=1e-9, abs=1e-12)
    assert len(gears.simulate(inputs={"sun.tau": ([0.0, 0.2], [0.0, 5.0])}).time) == 201  # as long as they are given


def test_inputs_take_the_place_of_a_scenarios(gears):
    changed = gears.simulate(gears.scenarios[0], inputs={"sun.tau": 0.0}, duration=0.1)
    assert not changed["sun.tau"].any()
    assert len(changed.time) == 101


def test_models_and_parameters(gears):
    rigid = gears.simulate(parameters={"gear.s.J": "1e-3 kg.m2"})
    full = gears.simulate(parameters={"gear.s.J": 1e-3}, model="full")
    assert full["sun.w"][-1] == pytest.approx(rigid["sun.w"][-1], rel=1e-3)
    assert rigid.attributes["model"] == "rigid"
    assert full.attributes["model"] == "full"


def test_instance_steps_like_a_simulation():
    unit = rtcvt.load("toroidal_kers")
    inputs = {"shaft.w": lambda t: 100.0 + 5.0 * t, "control.tau_des": lambda t: 20.0 if t > 0.05 else 0.0}
    expected = unit.simulate(inputs=inputs, duration=0.2)
    one = unit.instance(inputs={k: f(0.0) for k, f in inputs.items()}, record=True)
    for t in expected.time[:-1].tolist():
        for name, law in inputs.items():
            one[name] = law(t)
        one.step()
    result = one.result()
    for name in ("shaft.tau", "control.theta", "control.tau_des", "status"):
        assert np.array_equal(result[name][:-1], expected[name][:-1])
    assert result["shaft.tau"][-1] == expected["shaft.tau"][-1]
    assert one.limited == bool(expected["status"][-1])
    one.reset()
    assert one.t == 0.0
    assert len(one.result().time) == 1


def test_instance_goes_back_to_a_state(gears):
    one = gears.instance(inputs={"sun.tau": "3 N.m"}, record=True)
    for _ in range(10):
        one.step()
    kept = one.state()
    speeds = []
    for _ in range(2):
        for _ in range(10):
            one.step("1 ms")
        speeds.append(one.get("sun.w"))
        one.restore(kept)
    assert speeds[0] == speeds[1]
    assert len(one.result().time) == 11


def test_an_instance_takes_and_gives_arrays_and_tunable_parameters(gears):
    one = gears.instance(record=True)
    one.set_many(["ring.tau", "sun.tau"], np.array([2.0, 3.0]))
    assert one.get_many(["sun.tau", "ring.tau"]).tolist() == [3.0, 2.0]
    for values, names in (
        (np.ones(3), ["ring.tau", "sun.tau"]),
        ([1.0], ["sun.w"]),
        (["a"], ["sun.tau"]),
        ([np.nan], ["sun.tau"]),
    ):
        with pytest.raises(rtcvt.InputError):
            one.set_many(names, values)
    one.step()
    other = one.copy()
    free, held = ([], [])
    other["gear.s.b"] = "20 N.m.s/rad"
    for _ in range(50):
        other.step()
        one.step()
        free.append(one["sun.w"])
        held.append(other["sun.w"])
    assert abs(held[-1]) < 0.5 * abs(free[-1])
    assert len(one.result().time) == 52
    assert other.result()["gear.s.b"][[0, -1]].tolist() == [one["gear.s.b"], 20.0]
    with pytest.raises(rtcvt.InputError, match="fixed when initialisation is over"):
        one["gear.s.J"] = 1.0


def test_recording_in_other_packages(gears, tmp_path):
    result = gears.simulate()
    frame = result.to_dataframe()
    assert frame.index.name == "time"
    assert np.array_equal(frame["sun.w"], result["sun.w"])
    assert frame.attrs["units"]["sun.w"] == "rad/s"
    data = result.to_xarray()
    assert data["sun.w"].attrs["units"] == "rad/s"
    assert np.array_equal(data.time, result.time)
    again = rtcvt.read(result.save(tmp_path / "run.h5"))
    assert np.array_equal(again["sun.w"], result["sun.w"])
    assert rtcvt.read(again.save(tmp_path / "copy.h5")).unit("sun.w") == "rad/s"
    assert len(result.plot("sun.w", "sun.tau")) == 2
    table = np.genfromtxt(result.save(tmp_path / "run.csv"), delimiter=",", names=True, deletechars="")
    assert np.array_equal(table["sun.w_[rad/s]"], result["sun.w"])
    with pytest.raises(rtcvt.InputError, match=r"run.csv: recording = '.csv': HDF5 or MDF 4"):
        rtcvt.read(tmp_path / "run.csv")
    with pytest.raises(rtcvt.InputError, match=r"run.txt.*ends in .h5, .hdf5, .csv"):
        result.save(tmp_path / "run.txt")


def test_check_and_export(gears, tmp_path):
    checked = rtcvt.check(gears, tmp_path / "report.html")
    assert checked.passed
    assert checked.figures["unit"] == "planetary"
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
    path = gears.export(tmp_path / "unit.fmu", backend="python", parameters={"gear.s.J": "2e-3 kg.m2"})
    import fmpy

    description = fmpy.read_model_description(str(path))
    (inertia,) = (v for v in description.modelVariables if v.name == "gear.s.J")
    assert float(inertia.start) == 2e-3


def test_full_model_of_a_belt_drive(tmp_path):
    drive = rtcvt.load("two_pulley_5pk")
    run = drive.simulate_full(tmp_path / "run.h5", model="full", duration="2 ms")
    assert run.figures["time_s"] == pytest.approx(2e-3)
    assert len(run.recording().time)
    assert run.fields() == {}


def test_flanges():
    unit = rtcvt.load("differential").with_flanges({"pinion": "speed"})
    assert unit.variables()["pinion.w"].causality == "input"
    with pytest.raises(rtcvt.InputError, match="pinon"):
        rtcvt.load("differential").with_flanges({"pinon": "speed"})


MISTAKES = [
    (lambda u: u.simulate("sun drive"), "scenario = .sun drive.: .*sun drives the carrier"),
    (lambda u: u.simulate(inputs={"sun.ta": 1.0}, duration=1.0), "sun.ta: not one of its inputs.*sun.tau"),
    (lambda u: u.simulate(inputs={"sun.tau": 1.0}), "duration: a time above 0 s: these inputs have no end"),
    (lambda u: u.simulate(inputs={"sun.tau": "1 kg"}, duration=1.0), "inputs.sun.tau = '1 kg': .*N.m"),
    (lambda u: u.simulate(inputs={"sun.tau": np.ones(7)}, duration=1.0), "a value for each of the 1001"),
    (lambda u: u.simulate(step="soon"), "step = 'soon'"),
    (lambda u: u.simulate(step=-1.0), "step = -1.0: a time above 0 s"),
    (lambda u: u.instance().set("sun.w", 1.0), r"sun.w: not one of its .*sun.tau"),
    (lambda u: u.instance().result(), "made with record=True"),
    (lambda u: u.simulate()["sun.q"], "sun.q: not one of its signals.*; did you mean sun"),
    (lambda u: u.simulate().converted("sun.w", "kg"), "a unit of the same kind as rad/s"),
    (lambda u: u.simulate_full(), "a kind with a full model of its own: belt, pushbelt"),
    (lambda u: u.export("unit.zip"), "ends in .fmu"),
    (lambda u: rtcvt.check(u, fresh=True), "fresh: not one of the options: scenario, settings"),
    (lambda u: rtcvt.campaign(u, "small", "runs"), "kind = 'gear_system': pushbelt"),
    (lambda u: rtcvt.load("vehicle_wltp"), "did you mean vehicle_wltc"),
    (lambda u: rtcvt.load("planetari"), "did you mean planetary"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(gears, call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rtcvt.InputError, match=message):
        call(gears)
    assert not list(tmp_path.iterdir())


def test_a_field_has_its_cells_as_coordinates():
    pytest.importorskip("xarray")
    t, about = np.arange(3.0), "flank normal force: {}, cell {} of 2"
    cells = [(section, k) for section in ("primary arc", "push span") for k in (1, 2)]
    signals = {f"field.f[{k + 1}]": Signal(t + k, "N/m", about.format(*c)) for k, c in enumerate(cells)}
    found = Recording(t, signals | {"odd[7]": Signal(t, "1")}, {}, "").to_xarray()
    field = found["field.f"]
    assert field.dims == ("time", "cell_4")
    assert field.attrs == {"units": "N/m", "long_name": "flank normal force"}
    np.testing.assert_array_equal(field.values, t[:, None] + np.arange(4))
    assert list(found["place_4"].values) == [0.25, 0.75, 1.25, 1.75]
    assert list(found["section_4"].values) == [c[0] for c in cells]
    assert "odd" not in found
