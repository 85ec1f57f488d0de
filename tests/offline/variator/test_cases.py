"""The source's own cases: what is measured, the theory, the full model on record, and the unit that ships."""

import pytest

from rtcvt.kind import load_unit
from rtcvt.offline.pushbelt.checks.cases import CASES, MEASURED, on_record, table
from rtcvt.offline.pushbelt.theory import at_case
from rtcvt.offline.pushbelt.unit.parameters import load_parameters
from rtcvt.offline.variator.cases import cases_of
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import read_reduced

BELT = load_parameters("pushbelt_24mm_belief")
RECORD = on_record(BELT.name)


def speed_ratio(of):
    return of["ratio"] / (1.0 - of["slip"])


def test_the_record_has_every_case_and_model():
    assert list(RECORD) == [name for name, _ in CASES]
    assert all({"theory", "planar", "spatial"} <= case.keys() for case in RECORD.values())
    assert on_record("pushbelt_24mm") == {}


@pytest.mark.parametrize(("name", "row"), CASES)
def test_theory_is_that_of_the_belt_that_ships(name, row):
    """Another belt has another theory: one more element takes 2.5 points off the slip in LOW."""
    _, found = at_case(BELT, name, row, coupled=True)
    on = RECORD[name]["theory"]
    assert found.slip == pytest.approx(on["slip"], abs=1e-5)
    assert found.thrust_ratio == pytest.approx(on["thrust_ratio"], rel=1e-4)


@pytest.mark.parametrize(("model", "within"), [("planar", 0.01), ("spatial", 0.015)])
@pytest.mark.parametrize("name", MEASURED)
def test_the_full_model_has_the_measured_speed_ratio(name, model, within):
    assert speed_ratio(RECORD[name][model]) == pytest.approx(RECORD[name]["i_s"], rel=within)


@pytest.mark.parametrize("name", RECORD)
def test_planar_and_spatial_belt_slip_alike(name):
    case = RECORD[name]
    assert case["planar"]["slip"] == pytest.approx(case["spatial"]["slip"], abs=0.003)
    assert case["planar"]["M_O"] == pytest.approx(case["spatial"]["M_O"], rel=0.01, abs=0.1)


MISSED = pytest.mark.xfail(reason="thrust ratio 3.2 % off: no spatial run without torque is as slow", strict=True)


@pytest.mark.parametrize("name", [pytest.param(name, marks=MISSED) if name == "OD" else name for name in RECORD])
def test_the_unit_is_the_spatial_belt(name):
    unit = load_unit("pushbelt_cvt")
    found = cases_of(unit, read_reduced(reduced_path(unit)), (name,))
    case = found[name]
    assert table(found).row_count == 3
    assert case["unit"]["slip"] == pytest.approx(case["spatial"]["slip"], abs=0.003)
    assert case["unit"]["thrust_ratio"] == pytest.approx(case["spatial"]["thrust_ratio"], rel=0.03)
    if name == "LOW":
        assert speed_ratio(case["unit"]) == pytest.approx(case["i_s"], rel=0.015)
