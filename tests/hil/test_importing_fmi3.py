"""Units of FMI 3.0 run as those of FMI 2.0 do; one in C has arrays, all types, and flags that a step sets."""

import zipfile

import numpy as np
import pytest
from archives import described, unit_of
from marks import slow
from refusals import refused
from rows import cases, text_of

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario, get_scenario

pytestmark = pytest.mark.needs("cc")

H = 5e-3
NUMBERS = {"Float64": "double", "Float32": "float", "Int8": "int8_t", "UInt8": "uint8_t", "Int16": "int16_t",
           "UInt16": "uint16_t", "Int32": "int32_t", "UInt32": "uint32_t", "Int64": "int64_t",
           "UInt64": "uint64_t", "Boolean": "bool"}  # fmt: skip

# the types but Float64, of which `foreign.c` has more than one variable
SCALARS = "".join(
    f"""
static {c} value_of_{name};
int fmi3Set{name}(void *c, const uint32_t *r, size_t n, const {c} *v, size_t m)
{{ value_of_{name} = v[0]; return n == 1 && m == 1 ? 0 : 3; }}
int fmi3Get{name}(void *c, const uint32_t *r, size_t n, {c} *v, size_t m)
{{ v[0] = value_of_{name}; return n == 1 && m == 1 ? 0 : 3; }}
"""
    for name, c in NUMBERS.items()
    if name != "Float64"
)
DESCRIPTION = text_of("fmi/foreign.xml").replace("@SCALARS@", "".join(
    f'<{name} name="{name}" valueReference="{2 * i}" causality="input" variability="discrete" '
    f'start="{"false" if name == "Boolean" else 0}"/>\n'
    f'<{name} name="{name}_out" valueReference="{2 * i + 1}" causality="output" variability="discrete"/>\n'
    for i, name in enumerate(NUMBERS)
    if name != "Float64"
))  # fmt: skip
MODES = ("nothing", "early", "early_end", "ends", "stuck", "error", "event")
EXTREMES = {
    "Float32": 0.25, "Int8": -128.0, "UInt8": 255.0, "Int16": -32768.0, "UInt16": 65535.0, "Int32": -(2.0**31),
    "UInt32": 2.0**32 - 1.0, "Int64": -(2.0**53), "UInt64": 2.0**53, "Boolean": 1.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    return unit_of(tmp_path_factory.mktemp("foreign"), "foreign", DESCRIPTION, SCALARS)


def scenario(mode="nothing", inputs=None, **parameters):
    return Scenario(name="t", duration=0.1, inputs=inputs or {}, parameters={"mode": MODES.index(mode), **parameters})


def test_a_unit_has_the_bits_of_fmi2(kers, kers3, recorded):
    unit = load_unit("toroidal_kers")
    ours = get_scenario(unit, "infeasible demand").model_copy(update={"duration": 0.5})
    (said, _, time, first), (said_3, _, time_3, second) = (recorded(fmu, ours, 1e-3) for fmu in (kers, kers3))
    assert (said, said_3) == ("", "")
    assert np.array_equal(time, time_3)
    assert list(first) == list(second)
    compared = [name for name in first if name not in ("step_time", "lateness", "flags")]
    assert any(np.ptp(first[name]) > 0.0 for name in compared)
    for name in compared:
        assert first[name].tobytes() == second[name].tobytes(), name


def test_arrays_have_a_column_for_each_element(foreign, recorded):
    """y = p u by rows; what is not given keeps its start value; a string of three adds 3."""
    given = scenario(inputs={"u[2,1]": "10*t"}, text="abc", **{"p[2]": 5.0})
    said, _, time, signals = recorded(foreign, given)
    assert said == ""
    places = [f"[{i},{k}]" for i in (1, 2) for k in (1, 2)]
    assert [n for n in signals if "[" in n] == [f"{n}{place}" for n in "uy" for place in places]
    for name, values in {"y[1,1]": 4.0, "y[1,2]": 5.0, "y[2,1]": 50.0 * time[:-1] + 3.0, "y[2,2]": 23.0}.items():
        np.testing.assert_allclose(signals[name][1:], values, rtol=1e-14)
    assert not {"blob", "tick", "sampled"} & signals.keys()


def test_of_aliases_outputs_are_read_and_inputs_are_left_alone(foreign, recorded, tmp_path):
    array = '<Dimension valueReference="99"/><Dimension start="2"/>'
    aliased = described(foreign, tmp_path / "alias.fmu", (array, f'{array}<Alias name="other"/>'))  # one of u, one of y
    said, _, _, signals = recorded(aliased, scenario(inputs={"u[1,1]": 7.0}))
    assert said == ""
    for place in ("[1,1]", "[1,2]", "[2,1]", "[2,2]"):
        assert signals[f"other{place}"].tobytes() == signals[f"y{place}"].tobytes()
    assert signals["y[1,1]"][-1] == 7.0


def test_all_types_pass_through(foreign, recorded):
    said, _, _, signals = recorded(foreign, scenario(inputs=dict(EXTREMES)))
    assert said == ""
    assert {name: signals[f"{name}_out"][-1] for name in EXTREMES} == EXTREMES


@pytest.mark.parametrize(("name", "value"), [("Int8", 128.0), ("UInt8", -1.0), ("UInt16", 65536.0), ("Int64", 1e16)])
def test_what_a_type_does_not_hold_is_refused(foreign, recorded, name, value):
    refused(rf"{name} = .*an integer of \d+ bits", lambda: recorded(foreign, scenario(inputs={name: value})))


@pytest.mark.parametrize(("mode", "end"), [("early_end", 0.052), slow("ends", 0.055)])
def test_a_unit_may_end_the_simulation(foreign, recorded, mode, end):
    said, terminated, time, _ = recorded(foreign, scenario(mode))
    assert said == ""
    assert terminated == pytest.approx(end)
    np.testing.assert_allclose(time, [*(H * np.arange(11)), end])


@cases
def test_a_step_that_fails_is_told(foreign, recorded, mode, message):
    said, terminated, _, _ = recorded(foreign, scenario(mode))
    assert terminated is None
    assert said.startswith(message)


def test_the_unit_handles_its_events(foreign, recorded):
    assert recorded(foreign, scenario("event"))[0] == ""


def test_parameters_change_during_a_run_but_arrays_do_not(foreign, recorded):
    for name, values, outcome in (("mode", [MODES.index("ends")], None), ("p[1]", [2.0], "fixed during a run")):
        tuned = Scenario(name="t", duration=0.1, tune={name: {"time": [0.03], "value": values}})
        if outcome is None:
            assert recorded(foreign, tuned)[1] == pytest.approx(0.055)
        else:
            refused(outcome, recorded, foreign, tuned)


def test_a_wrong_token_is_refused(foreign, kers3, recorded, tmp_path):
    wrong = described(foreign, tmp_path / "wrong.fmu", ("{right}", "{wrong}"))
    refused(r"the FMU refused; its messages: fmi3Error: 100%s wrong", lambda: recorded(wrong, scenario()))
    with zipfile.ZipFile(kers3) as archive:
        token = archive.read("modelDescription.xml").decode().partition('instantiationToken="')[2].partition('"')[0]
    ours = described(kers3, tmp_path / "ours.fmu", (token, "{wrong}"))
    refused(r"the FMU refused; its messages: fmi3Error: .*instantiationToken", recorded, ours, None)


@pytest.mark.parametrize("kind", ["ModelExchange", "ScheduledExecution"])
def test_what_is_no_unit_for_co_simulation_is_refused(foreign, recorded, tmp_path, kind):
    name = {"ModelExchange": "model exchange", "ScheduledExecution": "scheduled execution"}[kind]
    with pytest.raises(InputError, match=rf"FMI 3\.0 for {name} only"):
        recorded(described(foreign, tmp_path / "me.fmu", ("<CoSimulation", f"<{kind}")), scenario())


def test_an_array_without_end_is_refused(foreign, recorded, tmp_path):
    longer = ('start="1">\n<Dimension start="2"', 'start="1">\n<Dimension start="99999999"')
    huge = described(foreign, tmp_path / "huge.fmu", longer)
    refused("p = 99999999: at most 100000 elements", lambda: recorded(huge, scenario()))
