"""A run gives what the FMU computes, paced or not, keeps what it has when it ends early, and leaves nothing behind."""

import json
import os
import re
import signal
import tempfile
import zipfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from rows import mistakes

from rtcvt.errors import InputError
from rtcvt.hil.runner import describe, run
from rtcvt.model import Model
from rtcvt.recording import read_recording, write_recording
from rtcvt.scenario import Scenario, load_scenario

H = 1e-3


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(tmp_path, monkeypatch):
    """Every test: the temporary folder is empty afterwards, working directory and SIGINT are as before."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = Path.cwd(), signal.getsignal(signal.SIGINT)
    yield
    assert list(folder.iterdir()) == []
    assert (Path.cwd(), signal.getsignal(signal.SIGINT)) == before


def scenario(inputs=None, parameters=None, duration=0.01):
    return Scenario(name="trial", duration=duration, inputs=inputs or {}, parameters=parameters or {})


def test_the_fmu_gets_what_the_scenario_says(probe):
    result = run(probe, H, scenario=scenario({"tau": "2 + 1000*t"}, {"length": 0.5, "gear": 3}), fast=True)
    np.testing.assert_array_equal(result.time, H * np.arange(11))
    np.testing.assert_allclose(result["tau"], 2 + 1000 * result.time)
    np.testing.assert_allclose(np.diff(result["impulse"]), H * 0.5 * 3 * result["tau"][:-1], rtol=1e-12)
    assert result["impulse"][0] == 0.0


@pytest.mark.parametrize("name", ["a b", "%d", "ü", "日本", "'", '"', "a%20b"])
def test_any_folder_holds_a_unit_in_python(probe, tmp_path, monkeypatch, name):
    """The library of pythonfmu ends the process where it finds no folder of that name."""
    (tmp_path / name).mkdir()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(tempfile, "tempdir", str(tmp_path / name))
        with pytest.raises(InputError, match="without %20") if "%20" in name else nullcontext():
            assert run(probe, H, scenario=scenario(), fast=True).completed
        assert not list((tmp_path / name).iterdir())


def test_paced_and_unpaced_runs_give_the_same_bits(probe):
    same = scenario({"tau": "sin(700*t)", "on": {"time": [0, 0.004], "value": [0, 1], "interpolation": "previous"}})
    paced, fast = run(probe, H, scenario=same), run(probe, H, scenario=same, fast=True)
    for name in ("tau", "on", "impulse", "off"):
        np.testing.assert_array_equal(paced[name], fast[name])
    assert (paced.kind, fast.kind) == ("real-time run", "unpaced run")
    assert paced.completed
    assert fast.completed


def test_quantities_are_converted_to_the_units_of_the_fmu(probe):
    result = run(probe, H, scenario=scenario({"tau": "0.3 kN.cm"}, {"length": "250 mm"}), fast=True)
    assert result["tau"][0] == pytest.approx(3.0)
    assert result["impulse"][-1] == pytest.approx(0.01 * 3.0 * 0.25)
    assert [v.unit for v in result.outputs] == ["kg.m2", "1", "1", "1"]


def test_booleans_and_integers_go_in_and_out(probe, tmp_path):
    file = tmp_path / "switching.toml"
    file.write_text(
        'duration = "6 ms"\n[parameters]\nenabled = false\n[inputs]\ntau = 1\ncount = "1000*t"\n'
        'on = { time = [0, "3 ms"], value = [true, false], interpolation = "previous" }\n'
    )
    result = run(probe, H, scenario=load_scenario(file), fast=True)
    assert result["on"].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert result["off"].tolist() == [1, 0, 0, 0, 1, 1, 1]
    assert result["count"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert result["next_count"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert result["impulse"][-1] == 0.0  # not enabled


def test_step_and_duration_come_from_the_fmu_unless_given(probe, variant):
    assert run(probe, fast=True).figures()["steps"] == 20
    assert run(probe, duration=0.005, fast=True).figures()["steps"] == 5
    assert run(probe, scenario=scenario(), fast=True).figures()["steps"] == 10
    assert run(probe, 2e-3, 0.01, scenario(duration=1.0), fast=True).figures()["steps"] == 5
    bare = variant(step=('stepSize="0.001"', ""), stop=('stopTime="0.02"', ""))
    refused(r"variant\.fmu: step: .*give a step", run, bare, duration=1.0)
    refused(r"variant\.fmu: duration: .*give a duration", run, bare, H)


@pytest.fixture
def modes(variant):
    """The probe with ``count`` and ``gear`` as enumerations whose items are 2 and 5."""
    items = '<Item name="low" value="2"/><Item name="high" value="5"/>'
    types = f'<SimpleType name="Mode"><Enumeration>{items}</Enumeration></SimpleType>'
    return variant(
        types=("<ModelVariables>", f"<TypeDefinitions>{types}</TypeDefinitions><ModelVariables>"),
        count=('<Integer start="0"/>', '<Enumeration declaredType="Mode" start="5"/>'),
        gear=('<Integer start="1"/>', '<Enumeration declaredType="Mode" start="2"/>'),
    )


def test_enumerations_take_their_items_by_name_or_value(modes):
    changing = {"time": [0, 0.003, 0.006], "value": ["low", 5, "2"], "interpolation": "previous"}
    result = run(modes, H, scenario=scenario({"count": changing, "tau": 1.0}, {"gear": "high"}), fast=True)
    assert result["count"].tolist() == [2, 2, 2, 5, 5, 5, 2, 2, 2, 2, 2]
    assert result["next_count"].tolist() == [0, 3, 3, 3, 6, 6, 6, 3, 3, 3, 3]
    np.testing.assert_allclose(result["impulse"][-1], 10 * H * 5, rtol=1e-12)
    assert run(modes, H, scenario=scenario({"count": "low"}), fast=True)["count"].tolist() == [2] * 11
    assert run(modes, H, scenario=scenario(), fast=True)["count"].tolist() == [5] * 11


@mistakes
def test_what_is_no_item_of_an_enumeration_is_refused(modes, inputs, parameters, message):
    refused(message, lambda: run(modes, H, scenario=scenario(inputs, parameters)))


@pytest.mark.filterwarnings("ignore:invalid value")
@mistakes
def test_a_scenario_that_does_not_fit_is_refused(probe, inputs, parameters, message):
    refused(message, lambda: run(probe, H, scenario=scenario(inputs, parameters)))


@pytest.mark.parametrize(("step", "duration"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1e-9, 1.0), (1e-8, 0.9)])
def test_a_step_that_does_not_fit_is_refused(probe, step, duration):
    refused("step", run, probe, step, duration)


def test_a_step_that_fails_ends_the_run_which_is_kept(probe, tmp_path):
    result = run(probe, H, scenario=scenario({"tau": 1.0}, {"discard_at": 0.0045}), fast=True)
    assert not result.completed
    assert result.message == "fmi2DoStep returned fmi2Discard at t = 0.005 s; its messages: fmi2OK: cannot go on"
    assert len(result.time) == len(result["impulse"]) == 6
    path = tmp_path / "run.h5"
    write_recording(path, result.recording(), result.kind)
    kept = read_recording(path)
    np.testing.assert_array_equal(kept.signals["impulse"].values, result["impulse"])
    assert not kept.attributes["completed"]
    assert kept.attributes["message"] == result.message


def test_an_exception_in_the_fmu_ends_the_run_which_is_kept(probe):
    result = run(probe, H, scenario=scenario({"tau": 1.0}, {"raise_at": 0.0045}))
    assert "fmi2Fatal at t = 0.005 s" in result.message
    # pythonfmu passes the text as the format, without arguments: a text that lies where one would be may stand for %s
    assert re.search("lost 100.* of it", result.message)
    assert result["impulse"][-1] == pytest.approx(0.005)


@pytest.mark.parametrize("fast", [True, False])
def test_an_output_that_is_not_finite_ends_the_run(probe, fast):
    result = run(probe, H, scenario=scenario({"tau": 1.0}, {"nan_at": 0.0045}), fast=fast)
    assert result.message == "output strange was not finite at t = 0.005 s; it gave no message"
    assert len(result.time) == 6
    assert np.isfinite(result["strange"]).all()


def test_a_first_step_that_fails_leaves_the_start(probe):
    result = run(probe, H, scenario=scenario(parameters={"discard_at": -1.0}))
    assert len(result.time) == 1
    figures = result.figures()
    assert figures["steps"] == figures["misses"] == 0
    assert figures["lateness_us"] == {"median": None, "p99": None, "p99_9": None, "max": None}
    json.dumps(figures, allow_nan=False)


@pytest.mark.parametrize("fast", [True, False])
def test_an_interrupted_run_is_kept(probe, tmp_path, fast):
    result = run(probe, H, scenario=scenario({"tau": 1.0}, {"interrupt_at": 0.0035}), fast=fast)
    assert result.message == "SIGINT at t = 0.005 s"  # after the step that it came in
    assert result["impulse"][-1] == pytest.approx(0.005)
    write_recording(tmp_path / "run.h5", result.recording(), result.kind)
    assert len(read_recording(tmp_path / "run.h5").time) == 6


def test_initialisation_that_fails_is_said(probe):
    with pytest.raises(InputError, match=r"Probe\.fmu: fmi2ExitInitializationMode: .*fmi2Fatal.*\s.*no start state"):
        run(probe, H, scenario=scenario(parameters={"start_state": 0}))


def test_the_recording_holds_signals_timing_and_circumstances(variant, tmp_path):
    fmu = variant({"resources/unit.toml": b'name = "probe"\n'})
    result = run(fmu, H, scenario=scenario({"tau": 2.0}))
    path = tmp_path / "run.h5"
    write_recording(path, result.recording(), result.kind)
    kept = read_recording(path)
    names = {"tau", "count", "on", "impulse", "next_count", "off", "strange", "step_time", "lateness"}
    assert set(kept.signals) == names
    assert kept.signals["tau"].unit == "N.m"
    assert kept.signals["lateness"].unit == "s"
    assert np.isfinite(kept.signals["step_time"].values).tolist() == [True] * 10 + [False]
    assert kept.unit_file == 'name = "probe"\n'
    assert kept.attributes["kind"] == "real-time run"
    assert kept.attributes["fmu"] == "Probe"
    assert kept.attributes["guid"] == result.guid
    assert kept.attributes["step"] == H
    assert kept.attributes["scenario"] == "trial"
    assert kept.attributes["scheduler"]
    unpaced = run(fmu, H, fast=True).recording()
    assert set(unpaced.signals) == names - {"lateness"}
    assert unpaced.attributes["scenario"] == ""


def test_figures_are_plain_finite_numbers_or_null(probe):
    result = run(probe, H, scenario=scenario({"tau": 2.0}))
    figures = json.loads(json.dumps(result.figures(), allow_nan=False))
    assert figures["signals"]["strange"] == {"unit": "1", "final": 1e200, "min": 0.0, "max": 1e200, "rms": None}
    assert figures["signals"]["tau"] == {"unit": "N.m", "final": 2.0, "min": 2.0, "max": 2.0, "rms": 2.0}
    for key in ("step_time_us", "lateness_us"):
        q = figures[key]
        assert 0 <= q["median"] <= q["p99"] <= q["p99_9"] <= q["max"]
    assert 0 <= figures["misses"] <= figures["steps"] == 10
    assert figures["environment"].keys() >= {"scheduler", "memory", "garbage_collector", "system", "governor"}
    unpaced = run(probe, H, fast=True).figures()
    assert (unpaced["lateness_us"], unpaced["misses"], unpaced["scenario"]) == (None, None, None)
    assert result.environment["scheduler"] in describe(result.environment)


def test_files_that_are_no_fmu_are_refused(tmp_path):
    refused(r"missing\.fmu': an existing FMU file", run, tmp_path / "missing.fmu")
    refused("an existing FMU file", run, tmp_path)
    text = tmp_path / "text.fmu"
    text.write_text("not a zip archive")
    refused(r"text\.fmu: not an FMU, which is a zip archive", run, text)
    with zipfile.ZipFile(tmp_path / "empty.fmu", "w") as archive:
        archive.writestr("README", "")
    refused(r"empty\.fmu: .*no modelDescription\.xml", run, tmp_path / "empty.fmu")


def test_fmus_that_cannot_run_here_are_refused_with_the_reason(variant):
    with pytest.raises(InputError, match=r"fmiVersion = '1\.0': 2\.0"):
        run(variant(v=('fmiVersion="2.0"', 'fmiVersion="1.0" modelIdentifier="x" numberOfContinuousStates="0"')))
    refused(r"fmiVersion = '4\.0': 2\.0 or 3\.0", lambda: run(variant(v=('fmiVersion="2.0"', 'fmiVersion="4.0"'))))
    refused("model exchange only", lambda: run(variant(v=("<CoSimulation", "<ModelExchange"))))
    refused(r"modelDescription\.xml: cannot be read", lambda: run(variant(v=("</ModelVariables>", ""))))
    refused(r"modelDescription\.xml: cannot be read", lambda: run(variant(v=('min="0"', 'min="none"'))))
    binaries = {
        f"binaries/{p}/Probe{e}": None for p in ("linux64", "win64", "darwin64") for e in (".so", ".dll", ".dylib")
    }
    with pytest.raises(InputError, match=r"binaries = 'other': no .*Probe\..* for this platform"):
        run(variant({**binaries, "binaries/other/Probe.so": b""}))
    refused("the library cannot be used here", lambda: run(variant(dict.fromkeys(binaries, b"not a library"))))


def test_a_python_fmu_whose_package_is_missing_is_refused_with_the_reason(variant):
    fmu = variant({"resources/slavemodule.txt": b"needy_slave", "resources/needy_slave.py": b"import not_installed\n"})
    refused(r"variant\.fmu: instantiation: .*\s.*not_installed", run, fmu)


@pytest.fixture(scope="session")
def kers(tmp_path_factory) -> tuple[Path, Model]:
    from rtcvt.fmu.export import export_python
    from rtcvt.kind import load_unit
    from rtcvt.pog.system import build_model

    unit = load_unit("toroidal_kers")
    path = tmp_path_factory.mktemp("export") / "toroidal_kers.fmu"
    export_python(unit, "rigid", path)
    return path, build_model(unit, "rigid")


@pytest.mark.parametrize("fast", [True, False])
def test_an_exported_unit_runs_like_its_model(kers, fast):
    from rtcvt.kind import load_unit
    from rtcvt.simulate import simulate

    path, model = kers
    trial = load_unit("toroidal_kers").scenario[0].model_copy(update={"duration": 0.05})
    result, expected = run(path, scenario=trial, fast=fast), simulate(model, trial)
    for v in model.select("input") + model.select("output"):
        np.testing.assert_array_equal(result[v.name], expected[v.name], err_msg=v.name)
    assert load_unit("toroidal_kers").text == result.unit_file


def test_memory_is_not_promised_that_is_not_there(probe):
    refused("fewer steps", run, probe, 1e-6, 50.0)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("parameters", [{}, {"discard_at": 0.0}])
def test_the_library_and_its_threads_are_gone_afterwards(probe, parameters, tmp_path):
    with pytest.MonkeyPatch.context() as elsewhere:  # the first library of a process stays: its C++ symbols are unique
        elsewhere.setattr(tempfile, "tempdir", str(tmp_path))
        run(probe, H, scenario=scenario(), fast=True)
    threads = set(os.listdir("/proc/self/task"))
    run(probe, H, scenario=scenario(parameters=parameters), fast=True)
    assert set(os.listdir("/proc/self/task")) <= threads  # others' may have ended
    assert str(tempfile.tempdir) not in Path("/proc/self/maps").read_text()
