"""The shipped drives are as near to their full models as they were: each signal of each load case of their check."""

from dataclasses import replace

import pytest
from recorded_checks import BELTS, compare_belt, full_runs, of_belt, recorded, worse

from rtcvt.kind import load_unit
from rtcvt.offline.belt.results import result
from rtcvt.offline.belt.verification import load_cases


@pytest.fixture(scope="module", params=BELTS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def runs(name):
    return full_runs(name)


def assert_as_near(name, comparisons):
    assert worse(of_belt(comparisons), recorded(name)) == []
    assert [e.name for c in comparisons for e in c.errors if not e.smooth <= e.limit] == []


def test_no_signal_is_worse_than_it_was_and_all_limits_are_kept(name, runs):
    comparisons = compare_belt(runs)
    assert of_belt(comparisons).keys() == recorded(name).keys()
    assert_as_near(name, comparisons)


def test_a_tighter_belt_is_seen(name, runs):
    """A twentieth more pretension in the real-time model, on the first load case."""
    unit = runs[0].case.unit
    belt = unit.belt.model_copy(update={"pretension": 1.05 * unit.belt.pretension})
    tighter = replace(runs[0].case, unit=unit.model_copy(update={"belt": belt}))
    found = of_belt(compare_belt([replace(runs[0], case=tighter)]))
    spans = {key: value for key, value in recorded(name).items() if key in found and key.endswith(".F")}
    assert len(worse(found, spans)) == len(spans)


@pytest.mark.slow
def test_the_full_models_still_say_so(name, tmp_path):
    assert_as_near(name, compare_belt(result(case, tmp_path) for case in load_cases(load_unit(name))))
