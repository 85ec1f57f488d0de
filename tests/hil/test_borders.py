"""What a foreign unit brings: units of its own, odd names, versions, messages with arguments, functions it lacks."""

import csv
import re
import zipfile

import h5py
import numpy as np
import pytest
from archives import library
from refusals import refused
from rows import cases, mistakes

from rtcvt.errors import InputError
from rtcvt.hil.importer import inputs_from, open_fmu
from rtcvt.hil.recorder import read, write
from rtcvt.hil.rig import Rig, run_rig
from rtcvt.hil.runner import run
from rtcvt.kind import load_unit
from rtcvt.quantity import conversion
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import Scenario, Table
from rtcvt.simulate import simulate

pytestmark = pytest.mark.needs("loop")

START = ' start="0"'
ROWS = (("w", "input", 'unit="1/min"'), ("T", "input", 'unit="Temp"'), ("flags", "output", 'unit="1/min"'),
    ("a/b", "output", 'unit="Temp"'), ("step_time", "output", ""), ("hidden.x", "local", ""),
    ("hidden.nan", "local", ""))  # fmt: skip
VARIABLES = "".join(
    f'<ScalarVariable name="{name}" valueReference="{k}" causality="{causality}" variability="continuous">'
    f"<Real {unit}{START if causality == 'input' else ''}/></ScalarVariable>"
    for k, (name, causality, unit) in enumerate(ROWS)
)
UNITS = """<UnitDefinitions><Unit name="1/min"><BaseUnit s="-1" factor="0.016666666666666666"/></Unit>
<Unit name="Temp"><BaseUnit K="1" factor="2" offset="100"/></Unit></UnitDefinitions>"""


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    return library(tmp_path_factory.mktemp("border"), "border").read_bytes()


@pytest.fixture
def unit(binary, tmp_path):
    """The unit, with another version of FMI or another experiment."""

    def make(version="2.0", experiment='startTime="0"', units=UNITS, change=("", "")):
        with zipfile.ZipFile(tmp_path / "unit.fmu", "w") as archive:
            archive.writestr("binaries/linux64/f.so", binary)
            archive.writestr(
                "modelDescription.xml",
                f'<?xml version="1.0"?><fmiModelDescription fmiVersion="{version}" modelName="Odd" guid="g">'
                f'<CoSimulation modelIdentifier="f"/>{units}<DefaultExperiment {experiment}/>'
                f"<ModelVariables>{VARIABLES.replace(*change)}</ModelVariables><ModelStructure/></fmiModelDescription>",
            )
        return tmp_path / "unit.fmu"

    return make


def scenario(**inputs):
    return Scenario(name="s", duration=0.01, inputs=inputs)


@cases
def test_a_unit_that_the_fmu_defines_is_the_unit(unit, name, given, output, value):
    assert run(unit(), 5e-3, scenario=scenario(**{name: given}), fast=True)[output][-1] == pytest.approx(value)


SHOWN = """<UnitDefinitions><Unit name="Temp"><BaseUnit K="1"/><DisplayUnit name="C_" offset="-273.15"/></Unit>
<Unit name="rad/s"><BaseUnit s="-1"/><DisplayUnit name="Tr" factor="9.549296585513721"/></Unit>
<Unit name="kT"><BaseUnit K="1" factor="1000"/></Unit></UnitDefinitions>"""
SPEED, DIFFERENCE = ('unit="1/min"', 'unit="rad/s"'), ('unit="Temp"', 'unit="Temp" relativeQuantity="true"')


@cases
def test_other_units_of_the_description_are_read_and_differences_have_no_offset(unit, change, name, given, value):
    found = run(unit(units=SHOWN, change=change), 5e-3, scenario=scenario(**{name: given}), fast=True)
    assert found[name][-1] == pytest.approx(value)


@cases
def test_a_name_that_means_another_unit_here_is_refused(unit, name, base):
    """A number is in the unit of the description."""
    units = f'<UnitDefinitions><Unit name="{name}"><BaseUnit {base}/></Unit></UnitDefinitions>'
    path = unit(units=units, change=(SPEED[0], f'unit="{name}"'))
    assert run(path, 5e-3, scenario=scenario(w=3), fast=True)["w"][-1] == 3.0
    for given in (f"3 {name}", Table(time=(0.0, 1.0), value=(3.0, 3.0), unit=name)):
        with pytest.raises(InputError, match=f"another {name}"):
            run(path, 5e-3, scenario=scenario(w=given), fast=True)
    with open_fmu(path) as fmu, pytest.raises(ValueError, match=f"another {name}"):
        conversion(name, fmu.interface.variable("w", "input").measured)  # as of a signal on the bus


def test_ranges_that_are_none_and_inputs_beyond_theirs_are_told(unit):
    path = unit(change=('unit="1/min" start', 'unit="1/min" min="5" max="1" start'))
    assert run(path, 5e-3, 0.01, fast=True).notes == ("the range of w, 5 to 1, is empty and not used",)
    path = unit(change=('unit="1/min" start', 'unit="1/min" max="1" start'))
    assert "beyond its range: w, 2 to 2 1/min" in run(path, 5e-3, scenario=scenario(w=2), fast=True).notes
    path = unit(change=('valueReference="2"', 'valueReference="-1"'))
    with pytest.raises(InputError, match="flags = -1: a value reference"), open_fmu(path):
        pass


def test_a_quantity_of_another_kind_is_refused(unit):
    again = '<Unit name="1/min"><BaseUnit s="-1" factor="1"/></Unit></UnitDefinitions>'
    with (
        pytest.raises(InputError, match=r"1/min = 1\.0: the same unit"),
        open_fmu(unit(units=UNITS.replace("</UnitDefinitions>", again))),
    ):
        pass
    refused(r"inputs\.T = '3 rpm'.*Temp", lambda: run(unit(), 5e-3, scenario=scenario(T="3 rpm"), fast=True))


@pytest.mark.parametrize(("version", "runs"), [("2.0.4", True), ("2.0.12", True), ("2.1", False), ("1.0", False)])
def test_patches_of_a_version_are_that_version(unit, version, runs):
    if runs:
        with open_fmu(unit(version)) as fmu:
            assert fmu.fmi == 2
    else:
        with pytest.raises(InputError, match="fmiVersion"), open_fmu(unit(version)):
            pass


@pytest.mark.parametrize("suffix", ["h5", "mf4"])
def test_names_come_back_and_locals_are_recorded(unit, tmp_path, suffix):
    """Also with an output that is called as a column of the rig, one with a slash, and a local one that is NaN."""
    path = tmp_path / f"run.{suffix}"
    report = run_rig(unit(), 5e-3, 0.02, output=path, record=["hidden.*"])
    assert report.completed
    found = read(path)
    own = {"rig.step_time", "lateness", "rig.flags"}
    assert set(found.signals) == own | {"w", "T", "flags", "a/b", "step_time", "hidden.x", "hidden.nan"}
    result = run(unit(), 5e-3, 0.02, fast=True, record=["hidden.x"])
    write(path, result.recording(), result.kind)
    assert set(read(path).signals) == {"rig.step_time", "w", "T", "flags", "a/b", "step_time", "hidden.x"}
    refused(r"--record hiden.*did you mean", lambda: run(unit(), 5e-3, 0.02, record=["hidenx"]))


@pytest.mark.parametrize("suffix", ["h5", "mf4"])
def test_odd_names_come_back(tmp_path, suffix):
    from rtcvt.hil.recorder import Channel, open_recorder

    names = ["", " ", "a", "a ", " a", ".", "..", "e\u0301", "\u00e9", "A", 'a,"b', "time", "a\tb", "a_b"]
    recorder = open_recorder(tmp_path / f"x.{suffix}", [Channel(name, "1") for name in names], "run", {}, "")
    recorder.append(np.arange(3.0 * (len(names) + 1)).reshape(3, -1))
    recorder.finish({})
    found = read(tmp_path / f"x.{suffix}")
    assert {name: s.values[0] for name, s in found.signals.items()} == {n: k + 1.0 for k, n in enumerate(names)}
    assert "names" not in found.attributes
    refused(r"ends in \.h5", open_recorder, tmp_path / "x.csv", [], "run", {}, "")
    assert not (tmp_path / "x.csv").exists()


def test_many_signals_take_the_room_of_their_numbers(tmp_path):
    from rtcvt.hil.recorder import Channel, open_recorder

    recorder = open_recorder(tmp_path / "x.h5", [Channel(f"x[{k}]", "1") for k in range(500)], "run", {}, "", 101)
    recorder.append(np.zeros((101, 501)))
    recorder.finish({})
    assert (tmp_path / "x.h5").stat().st_size < 5 * 101 * 501 * 8
    zero = np.zeros(101)
    write(tmp_path / "y.h5", Recording(zero, {f"x[{k}]": Signal(zero, "1") for k in range(500)}, {}, ""), "run")
    assert (tmp_path / "y.h5").stat().st_size < 3 * 101 * 501 * 8
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["time"].chunks == (101,)


@pytest.mark.parametrize("fast", [True, False])
def test_the_units_time_begins_where_its_experiment_does(unit, fast):
    path = unit(experiment='startTime="10" stopTime="10.02" stepSize="0.005"')
    found = run(path, fast=True).figures() if fast else run_rig(path).figures
    assert found["signals"]["step_time"]["final"] == pytest.approx(10.02)
    assert found["duration_s"] == pytest.approx(0.02)
    assert found["notes"] == ["the unit's time begins at 10 s"]


@pytest.mark.parametrize("start", ["1e9", "-1e9", "123456789.1"])
def test_times_are_rounded_and_no_step_more_is_made(unit, start):
    for steps in range(17, 25):
        path = unit(experiment=f'startTime="{start}" stopTime="{float(start) + 1e-3 * steps!r}" stepSize="0.001"')
        found = run(path, fast=True)
        assert (len(found.timing.began), len(found.notes)) == (steps, 1)


@cases
def test_an_experiment_without_an_end_is_refused(unit, experiment):
    refused(r"DefaultExperiment stopTime.*after the start", lambda: run(unit(experiment=experiment), 1e-3, fast=True))
    assert run(unit(experiment=experiment), 1e-3, 2e-3, fast=True).completed


@pytest.mark.parametrize("native", [False, True])
@cases
def test_a_step_of_the_unit_that_is_none_is_refused_and_another_may_be_given(unit, given, allowed, native):
    path = unit(experiment=f'stopTime="1" stepSize="{given}"')
    with pytest.raises(InputError, match=f"unit.fmu: DefaultExperiment stepSize = .*{allowed}"):
        run_rig(path, None, None, None, Rig()) if native else run(path, fast=True)
    assert run(path, 0.1, fast=True).completed


@pytest.mark.parametrize("logging", [True, False])
@pytest.mark.parametrize("way", ["fast", "rig", "inside"])
def test_messages_have_their_arguments_or_are_off(unit, way, logging):
    """A text that is not there, none of UTF-8 or wide stays a conversion; %n does nothing. Others keep their places."""
    given = scenario(T=9)
    if way == "fast":
        message = run(unit(), 5e-3, scenario=given, fast=True, logging=logging).message
    else:
        message = run_rig(unit(), 5e-3, None, given, Rig(isolated=way == "rig", logging=logging)).message
    expected = (
        "ab  | 3.14|007|%s|40 °|%s|%s|°|1234567890123%|%n|   5|%ls|c|2.5|0x1p+0|6|8|" if logging else "no message"
    )
    assert expected in message


PARAMETER = (
    '<ScalarVariable name="k" valueReference="9" causality="parameter" variability="tunable"><Real start="0"/>'
    '</ScalarVariable><ScalarVariable name="hidden.x"'
)


@pytest.mark.parametrize("way", ["fast", "rig", "inside"])
def test_messages_name_variables_and_what_was_set(unit, way):
    """FMI 2.0.5, 2.1.5: ``#r9#`` stands for the name of a variable, ``##`` for #. A warning's text reaches the user,
    whatever was logged after it."""
    path = unit(change=('<ScalarVariable name="hidden.x"', PARAMETER))

    def ran(k, tune=()):
        given = {"name": "s", "duration": 0.02, "parameters": {"k": k}, "tune": dict(tune)}
        scenario = Scenario.model_validate(given)
        if way == "fast":
            return run(path, 5e-3, scenario=scenario, fast=True).figures()
        return run_rig(path, 5e-3, None, scenario, Rig(isolated=way == "rig")).figures

    refused(r"fmi2SetReal of k = -2.5: .*fmi2Error: k below 0", ran, -2.5)
    refused(r"Mode: .*: #1: k = 200, #b9#, #1#; parameters that were set: k = 200", ran, 200.0)
    message = ran(1.5, {"k": {"time": [0.01], "value": [-3.5]}})["message"]
    assert re.search(
        r"fmi2SetReal of k = -3.5 returned fmi2Error at t = 0.01 s; .*: k below 0; .*set: k = 1.5", message
    )
    found = ran(7.0)
    assert found["completed"]
    assert found["warnings"] == 1
    assert found["notes"] == [
        "calls of the unit that returned a warning: 1; its messages: fmi2Warning: k near a limit of w"
    ]


def test_a_duration_is_covered_and_that_is_told(unit):
    found = run(unit(), 0.4, 1.0, fast=True).figures()
    assert found["duration_s"] == pytest.approx(1.2)
    assert found["notes"] == ["1 s is no multiple of the step, 0.4 s: the run ends at 1.2 s"]
    assert run(unit(), 1e-3, 0.3, fast=True).figures()["notes"] == []


def test_a_model_covers_a_duration_and_that_is_told(caplog):
    """In every command that simulates, once for each scenario."""
    built = load_unit("clutch").build("rigid")
    for _ in range(2):
        found = simulate(built, Scenario(name="uneven", duration=0.35), 0.1)
    assert found.time[-1] == pytest.approx(0.4)
    assert [r.message for r in caplog.records if "compiling" not in r.message] == [
        "scenario 'uneven': 0.35 s is no multiple of the step, 0.1 s: the run ends at 0.4 s"
    ]


def test_elements_of_arrays_in_a_csv_file_are_no_units(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("time [];x[1];x[2,3] [rpm];y [1]\n0;1;2;3\n", encoding="utf-8")
    assert {name: table.unit for name, table in inputs_from(path).items()} == {"x[1]": "", "x[2,3]": "rpm", "y": ""}


def test_a_table_that_was_written_is_read(tmp_path, caplog):
    names = ["a;b", "a,b", 'a"b', "x[1]", "a[rpm]", "time", "a\tb", " a", "#a"]
    Recording(np.arange(2.0), {n: Signal(np.zeros(2), "N.m") for n in names}, {}, "").save(tmp_path / "r.csv")
    found = inputs_from(tmp_path / "r.csv")
    assert list(found) == [*names[:5], "time_2", "a_b", "_a", "_a_2"]
    assert {table.unit for table in found.values()} == {"N.m"}
    assert "'time' is the column time_2" in caplog.text


def test_names_that_begin_as_a_formula_are_quoted_in_a_table_and_come_back(tmp_path):
    names = ["=cmd|' /C calc'!A0", "+x", "-y", "@z", "'=q", "''+q", "'q", "a=b", 'a;b;c"d', "e,f", "x[1]", "g [h]"]
    signals = {name: Signal(np.array([-1.0, k]), "rad/s") for k, name in enumerate(names)}
    path = Recording(np.arange(2.0), signals, {}, "").save(tmp_path / "r.csv")
    head = next(csv.reader([path.read_text().splitlines()[0]]))
    assert not [cell for cell in head if cell[0] in "=+-@\t\r"]
    assert [c for c in head if c[0] == "'"] == [f"'{n} [rad/s]" for n in names[:6]] + ["'q [rad/s]"]
    found = inputs_from(path)
    assert list(found) == names
    assert [t.value[1] for t in found.values()] == list(range(len(names)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_inputs_from_a_csv_file(unit, tmp_path, encoding):
    path = tmp_path / "in.csv"
    path.write_text(
        "# a bench of 20 °C\ntime [ms];w [rad/s];T\n0;0;1\n10;104.719755;2\n20;104.719755;3\n", encoding=encoding
    )
    result = run(unit(), 5e-3, scenario=Scenario(name="csv", duration=0.02, inputs=inputs_from(path)), fast=True)
    np.testing.assert_allclose(result["w"], [0, 500, 1000, 1000, 1000], rtol=1e-6)
    np.testing.assert_allclose(result["T"], [1, 1.5, 2, 2.5, 3])


@mistakes
def test_csv_files_that_are_no_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "in.csv"
    path.write_text(text.replace("LONG", "9" * 200_000), encoding="utf-8")
    refused(message, inputs_from, path)


@mistakes
def test_a_column_that_does_not_fit_is_named_with_its_file(unit, tmp_path, cell, message):
    path = tmp_path / "in.csv"
    path.write_text(f"# a bench\ntime,{cell}\n0,0\n1,1\n")
    scenario = Scenario(name="other", duration=0.02, inputs=inputs_from(path))
    with pytest.raises(InputError, match=rf"^in\.csv: line 2: column '{re.escape(cell)}': .*{message}"):
        run(unit(), 5e-3, scenario=scenario, fast=True)


def test_two_rows_of_one_time_are_a_jump(unit, tmp_path):
    (tmp_path / "in.csv").write_text("time,w\n0,10\n0.01,10\n0.01,40\n0.02,50\n")
    scenario = Scenario(name="csv", duration=0.02, inputs=inputs_from(tmp_path / "in.csv"))
    np.testing.assert_allclose(run(unit(), 5e-3, scenario=scenario, fast=True)["w"], [10, 10, 40, 45, 50], rtol=1e-12)
