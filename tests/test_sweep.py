"""Sweeps: the bits of single runs, whatever the order; files that go on; points that fail; other readers."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster
from refusals import refused
from rows import DATA, mistakes

import rtcvt
from rtcvt.fmu.parts import places_of
from rtcvt.interface import load
from rtcvt.kind import load_unit
from rtcvt.network.layout import D, Part
from rtcvt.scenario import Scenario
from rtcvt.sweep_picture import picture
from rtcvt.sweeping import Sweep, chosen_signals, design, read_dataset

UNIT = "driver"
GAINS = {"driver.K_p": "500, 2000, 4000", "driver.v_des": "5 m/s:20 m/s:4"}
INPUTS = {"driver.v": "10*sin(t)"}


def swept(**options):
    return load(UNIT).sweep(GAINS, inputs=INPUTS, duration=3.0, **options)


def test_each_point_is_the_run_by_itself():
    found = swept(threads=3)
    assert found.sizes == {"driver.K_p": 3, "driver.v_des": 4, "statistic": 5}
    assert found["drive.tau"].attrs["units"] == "N.m"
    for K_p in (500.0, 2000.0, 4000.0):
        for v_des in (5.0, 10.0, 15.0, 20.0):
            one = load(UNIT).simulate(
                inputs={**INPUTS, "driver.v_des": v_des}, duration=3.0, parameters={"driver.K_p": K_p}
            )
            for name in ("drive.tau", "brake.tau"):
                at = found[name].sel({"driver.K_p": K_p, "driver.v_des": v_des})
                values = one[name]
                assert at[:3].values.tolist() == [values[-1], values.min(), values.max()]
                np.testing.assert_allclose(at[3:], [values.mean(), np.sqrt(np.mean(values**2))], rtol=1e-12)
    series = swept(signals=["drive.*"], rate="0.25 s")
    assert list(series.data_vars) == ["drive.tau", "status"]
    assert series.sizes["time"] == 13
    one = load(UNIT).simulate(inputs={**INPUTS, "driver.v_des": 10.0}, duration=3.0, parameters={"driver.K_p": 500.0})
    np.testing.assert_array_equal(series["drive.tau"][0, 1], one["drive.tau"][::250])


@pytest.mark.needs("zig")
def test_a_sweep_of_many_instances_at_once_goes_on(tmp_path, monkeypatch):
    """With other groups of instances; the bits are the same."""
    path, run_some, ended = tmp_path / "sweep.nc", Sweep._some, []
    whole = swept()

    def stops(self, points, shared):
        if ended:
            raise KeyboardInterrupt
        ended.extend(points[:5])
        run_some(self, points[:5], shared)

    monkeypatch.setattr("rtcvt.sweeping.NATIVE_STEPS", 0)
    monkeypatch.setattr(Sweep, "_some", stops)
    with pytest.raises(KeyboardInterrupt):
        swept(path=path, threads=1)
    assert int((read_dataset(path)["status"] >= 0).sum()) == len(ended) == 5
    monkeypatch.setattr(Sweep, "_some", run_some)
    monkeypatch.setattr(Sweep, "_one", None)
    assert swept(path=path).equals(whole)


def test_a_sweep_goes_on_where_it_ended(tmp_path, monkeypatch):
    path = tmp_path / "sweep.nc"
    whole = swept()
    run_one, ended = Sweep._one, []

    def stops(self, k, shared):
        if len(ended) == 5:
            raise KeyboardInterrupt
        ended.append(k)
        run_one(self, k, shared)

    monkeypatch.setattr(Sweep, "_one", stops)
    with pytest.raises(KeyboardInterrupt):
        swept(path=path, threads=1)
    assert int((read_dataset(path)["status"] >= 0).sum()) == 5
    monkeypatch.setattr(Sweep, "_one", lambda self, k, shared: ended.append(k) or run_one(self, k, shared))
    assert swept(path=path).equals(whole)
    assert sorted(ended) == list(range(12))
    assert read_dataset(path).equals(whole)
    before = path.read_bytes()
    refused("another name: this one is of another sweep", swept, path=path, seed=0, rate="0.5 s")
    assert path.read_bytes() == before
    path.write_bytes(before[:-20])
    refused("a file of a sweep", swept, path=path)


@pytest.fixture(scope="module")
def scheduler():
    with LocalCluster(n_workers=2, processes=False, protocol="tcp", dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("least", [np.inf, pytest.param(0, marks=pytest.mark.needs("zig"))])
def test_workers_of_a_cluster_give_the_same_bits(tmp_path, monkeypatch, scheduler, least):
    """The sweep goes on after Ctrl-C, and repeats the points of workers that died."""
    path, whole, told = tmp_path / "sweep.nc", swept(), []
    options = {"path": path, "scheduler": scheduler}

    def interrupted(what, done, of):
        told.append(done)
        raise KeyboardInterrupt

    monkeypatch.setattr("rtcvt.sweeping.NATIVE_STEPS", least)
    with pytest.raises(KeyboardInterrupt):
        swept(progress=interrupted, **options)
    kept = read_dataset(path)["status"] >= 0
    assert int(kept.sum()) == told[0] in ((4, 8) if least == 0 else (1,))
    with monkeypatch.context() as patch:
        patch.setattr("rtcvt.sweeping._far", _dies)
        found = swept(**options)
    assert found["status"].where(~kept, -1).equals(whole["status"].where(kept, -1) - kept)
    assert set(json.loads(found.attrs["failures"]).values()) == {"OSError: no more memory"}
    monkeypatch.setattr(Sweep, "_in_threads", None)
    assert swept(**options).equals(whole)
    assert read_dataset(path).attrs["failures"] == "{}"


def _dies(*_):
    raise OSError("no more memory")


def test_a_sweep_without_a_cluster_leaves_no_file(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, _, told = command("sweep", "toroidal_kers", "--set", "gear.d.J=0.1, 0.2", "--scheduler", "nosuch://1:2")
    assert code == 2
    assert "--scheduler = 'nosuch://1:2': address of a dask scheduler" in told.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_other_tools_read_it(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    path = tmp_path / "sweep.nc"
    whole = swept(path=path)
    with xarray.open_dataset(path) as found:
        assert found.sizes == whole.sizes
        np.testing.assert_array_equal(found["drive.tau"], whole["drive.tau"])
        np.testing.assert_array_equal(found["driver.v_des"], [5.0, 10.0, 15.0, 20.0])
        assert found["driver.v_des"].attrs["units"] == "m/s"


@pytest.mark.parametrize(("least", "far"), [(0, False), (np.inf, False), (np.inf, True)])
def test_points_that_fail_are_named(monkeypatch, scheduler, least, far):
    monkeypatch.setattr("rtcvt.sweeping.NATIVE_STEPS", least)
    law = DATA / "units" / "law.toml"
    found = load(law).sweep(
        {"T": "0.1 s, 0.2 s", "S": [1.0, 1e300]},
        duration=0.1,
        inputs={"slip": 0.01, "tau": 100.0, "n": 100.0},
        scheduler=scheduler if far else None,
    )
    np.testing.assert_array_equal(found["status"], [[0, 2], [0, 2]])
    assert np.isnan(found["F"][:, 1]).all()
    assert np.isfinite(found["F"][:, 0]).all()
    assert sorted(failures := json.loads(found.attrs["failures"])) == ["1", "3"]
    assert "no finite" in failures["3"]


def test_samples_are_in_their_box():
    model = load_unit(UNIT).build()
    for method in ("latin", "sobol", "halton"):
        found = design(model, {"driver.K_p": "1000:2000", "driver.v_des": "36 km/h:72 km/h"}, method, 16, seed=3)
        points = np.array([list(found.point(k).values()) for k in range(found.points)])
        assert points.shape == (16, 2)
        assert (points >= [1000.0, 10.0]).all()
        assert (points <= [2000.0, 20.0]).all()
        sixteenths = np.floor((points[:, 0] - 1000.0) / 1000.0 * 16.0)
        if method != "halton":
            assert len(set(sixteenths)) == 16  # one in each
    assert design(model, {"driver.K_p": "1:100:3:log"}).axes[0].values.tolist() == pytest.approx([1.0, 10.0, 100.0])


@pytest.mark.parametrize(("method", "samples"), [("morris", 10), ("saltelli", 1024)])
def test_what_results_depend_on(tmp_path, monkeypatch, method, samples, command):
    """A law y = a + 2 b c of its inputs, whose indices are known."""
    pytest.importorskip("SALib")
    monkeypatch.chdir(tmp_path)
    Path("law.toml").write_text("""kind = "law"
name = "product"
sample = "10 ms"
inputs = { a = "1", b = "1", c = "1", d = "1" }
[equations]
z = "a + 2*b*c + 0*d"
[outputs]
y = { value = "z" }
""")
    model = load_unit("law.toml").build()
    drawn = design(model, dict.fromkeys("abcd", "-1:1"), method, samples)
    sweep = Sweep(model, Scenario(name="x", duration=0.01), drawn, chosen_signals(model, ["y"]), 0.01)
    refused("no failed point", sweep.sensitivity)
    sweep.run(Path("s.nc"))
    found = sweep.sensitivity()["y"]
    if method == "saltelli":  # variances: a 1/3, 2 b c 4/9
        np.testing.assert_allclose(found["S1"], [3 / 7, 0, 0, 0], atol=0.05)
        np.testing.assert_allclose(found["ST"], [3 / 7, 4 / 7, 4 / 7, 0], atol=0.05)
    else:  # effects: 2, 4 c, 4 b, 0
        np.testing.assert_allclose([found["mu_star"][k] for k in (0, 3)], [2, 0], atol=1e-12)
        np.testing.assert_allclose([found["sigma"][k] for k in (0, 3)], [0, 0], atol=1e-12)
        assert min(found["sigma"][1:3]) > 1.0
    assert len(picture(Path("s.nc")).axes) == 1
    given = [word for name in "abcd" for word in ("--set", f"{name}=-1:1")]
    Path("x.toml").write_text('name = "x"\nduration = "10 ms"\n')
    kind = {"saltelli": "sobol"}.get(method, method)
    code, told, failed = command("sweep", "law.toml", *given, "--sensitivity", kind, "--samples", "4", "-s", "x.toml")
    assert (code, failed) == (0, "")
    assert "depends on" in told
    assert command("sweep", "law.toml", *given, "--sensitivity", "sobol", "--samples", "3", "-s", "x.toml")[0] == 2
    for option in (("--method", "latin"), ("--rate", "10 ms")):
        code, _, failed = command("sweep", "law.toml", *given, "--sensitivity", kind, "--samples", "4", *option)
        assert (code, f"{option[0]} = '{option[1]}': nothing with --sensitivity" in failed) == (2, True), failed


@mistakes
def test_mistakes(given, options, message):
    refused(message, lambda: design(load_unit(UNIT).build(), given, **options))
    refused("signals = 'drvie", lambda: chosen_signals(load_unit(UNIT).build(), ["drvie.tau"]))


@pytest.mark.parametrize("sizes", [(3,), (3, 2), (2, 2, 2)])
def test_the_command_and_its_pictures(tmp_path, monkeypatch, command, sizes):
    monkeypatch.chdir(tmp_path)
    names = ("gear.d.J=0.1 kg.m2:0.2 kg.m2", "control.K_theta=0.5:2", "shaft.w=50 rad/s:60 rad/s")
    given = [word for name, n in zip(names, sizes, strict=False) for word in ("--set", f"{name}:{n}")]
    scenario = tmp_path / "short.toml"
    scenario.write_text('name = "short"\nduration = "0.2 s"\n')
    words = ["sweep", "toroidal_kers", *given, "--signal", "storage.*", "-s", "short.toml", "--json", "f.json"]
    code, told, failed = command(*words)
    assert (code, failed) == (0, "")
    assert f"{np.prod(sizes)} points" in told
    assert "million steps a second" in told
    assert command("plot", "sweep.nc")[0] == 0
    assert Path("sweep.png").stat().st_size > 5000
    assert len(picture(Path("sweep.nc")).axes) == {1: 1, 2: 2, 3: 1}[len(sizes)]
    assert rtcvt.sweep is not None


def test_a_simulation_keeps_what_is_asked_for(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    whole = load("toroidal_kers").simulate()
    words = ("simulate", "toroidal_kers", "-o", "kept.h5", "--signal", "storage.*", "--rate", "50 ms")
    assert command(*words)[0] == 0
    kept = rtcvt.read("kept.h5")
    assert list(kept.names) == ["storage.E"]
    np.testing.assert_array_equal(kept["storage.E"], whole["storage.E"][::50])
    assert "did you mean" in command(*words[:-3], "storage.F")[2]


TUNED = Scenario(name="tuned", duration=3.0, inputs=INPUTS,
                 tune={"driver.K_i": {"time": [0.1, 1.3], "value": [0.0, 900.0]}})  # fmt: skip
MANY = {
    "driver": (GAINS, {"scenario": TUNED}),
    "toroidal_kers": ({"control.K_theta": "0.5, 1, 2, 4", "shaft.w": "-20 rad/s:60 rad/s:5"}, {}),
    "engine": ({"engine.K_p": "0.5:2:10"}, {}),
    "pushbelt_cvt": ({"primary.J": "0.01:0.05:3"}, {}),
    "vehicle_wltc": ({"vehicle.vehicle.m": "1000 kg:2000 kg:3"}, {}),
}


@pytest.mark.needs("zig")
@pytest.mark.parametrize("name", MANY)
def test_machine_code_for_many_instances_has_the_bits_of_one(monkeypatch, name):
    parameters, options = MANY[name]
    each = [{"duration": 3.0}, {"duration": 0.3, "rate": "10 ms"}]
    one = [load(name).sweep(parameters, **options, **more) for more in each]
    monkeypatch.setattr("rtcvt.sweeping.NATIVE_STEPS", 0)
    monkeypatch.setattr(Sweep, "_one", None)
    for alone, more in zip(one, each, strict=True):
        assert load(name).sweep(parameters, **options, **more).equals(alone)


def test_places_are_numbers_for_parts_with_kernels_of_their_own():
    model = load_unit("vehicle_wltc").build()
    rows, first = places_of(model), int(model.data[D.PART]) + Part.KERNELS
    assert [row[Part.DATA] for row in rows] == [int(model.data[first + Part.DATA + k * len(Part)]) for k in range(3)]
    data = model.data.copy()
    data[first] = data[first + len(Part)]
    assert places_of(replace(model, data=data)) == rows[2:]
    assert places_of(load_unit(UNIT).build()) == ()
