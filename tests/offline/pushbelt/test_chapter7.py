"""The verdicts on chapter 7 of Cebulla 2014 are those that docs/pushbelt.md counts, on real runs of the full model."""

from collections import Counter

import numpy as np
import pytest
from recorded_checks import recorded_verdicts, verdict_key

from rtcvt.offline.pushbelt.parameters import load_parameters
from rtcvt.offline.pushbelt.verification import Verification, chapter7, verify

UNIT = load_parameters("pushbelt_24mm")
RECORDED = recorded_verdicts()


def verdicts(v: Verification) -> dict[str, str]:
    return {verdict_key(f.signature.section, f.signature.about, f.signature.quantity): f.verdict for f in v.findings}


def assert_balanced(v: Verification) -> None:
    """Energy: a thousandth of throughput and loss."""
    assert v.failures == ()
    for s in v.steady.values():
        rest, lost, throughput = s.last.energy
        assert abs(rest) <= 1e-3 * throughput
        assert abs(rest) <= 1.1e-3 * lost


@pytest.mark.parametrize("name", ["LOW-Honda-bilateral", "MED-bilateral"])
def test_verdicts_of_a_run(tmp_path, name):
    """Those that need this run only."""
    chapter = chapter7()
    own = tuple(s for s in chapter.signature if set(s.runs) == {name})
    run = tuple(r for r in chapter.run if r.name == name)
    v = verify(UNIT, tmp_path, chapter.model_copy(update={"run": run, "signature": own}), processes=1)
    assert_balanced(v)
    found = verdicts(v)
    assert len(found) == len(own)
    assert found == {key: RECORDED[key] for key in found}


@pytest.mark.slow
def test_all_verdicts(tmp_path):
    """Runs of OD depend on rounding: three binaries gave 67 to 69 that agree and 10 or 11 that are opposite."""
    v = verify(UNIT, tmp_path)
    assert_balanced(v)
    found = verdicts(v)
    assert found.keys() == RECORDED.keys()
    changed = {key: (RECORDED[key], verdict) for key, verdict in found.items() if verdict != RECORDED[key]}
    assert len(changed) <= 4, changed
    assert not [key for key, pair in changed.items() if set(pair) == {"agrees", "opposite"}]
    count = Counter(found.values())
    assert count["agrees"] >= 67
    assert count["opposite"] <= 12
    assert np.median([s.drift for s in v.steady.values()]) < 0.02
