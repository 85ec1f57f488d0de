"""The verdicts on chapter 7 of Cebulla 2014 are those that docs/pushbelt.md counts, on real runs of the full model."""

import math

import numpy as np
import pytest
from recorded_checks import recorded_verdicts, verdict_key

from rtcvt.offline.pushbelt.checks.chapter7 import Signature, Verification, chapter7, judge, verify
from rtcvt.offline.pushbelt.unit.parameters import load_parameters

UNIT = load_parameters("pushbelt_24mm")
RECORDED = recorded_verdicts()["pushbelt_24mm"]
CONTRADICTIONS = ({"agrees", "opposite"}, {"agrees", "differs"})


def key(s: Signature) -> str:
    return verdict_key(s.section, s.about, s.quantity)


def assert_balanced(v: Verification) -> None:
    """Energy: a thousandth of throughput and loss."""
    assert v.failures == ()
    for s in (s for of in v.starts.values() for s in of):
        rest, lost, throughput = s.last.energy
        assert abs(rest) <= 1e-3 * throughput
        assert abs(rest) <= 1.1e-3 * lost


@pytest.mark.parametrize("unit", recorded_verdicts())
def test_the_record_is_that_of_the_signatures(unit: str) -> None:
    record = recorded_verdicts()[unit]
    assert record.keys() == {key(s) for s in chapter7().signature if s.kind != "cost"}
    for s in chapter7().signature:
        if s.kind != "cost":
            was = record[key(s)]
            found = judge(s, was["value"], was["u"], "")
            assert (found.verdict, found.firm) == (was["verdict"], was["firm"]), s.about


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LOW-Honda-bilateral", "MED-bilateral"])
def test_verdicts_of_a_run(tmp_path, name):
    """Those that need this run only, from one start: a firm one is not contradicted, and no value is further from the
    mean of the four on record than one start in a thousand would be."""
    chapter = chapter7()
    own = tuple(s for s in chapter.signature if set(s.runs) == {name})
    run = tuple(r for r in chapter.run if r.name == name)
    one = chapter.model_copy(update={"run": run, "signature": own, "starts": 1})
    v = verify(UNIT, tmp_path, one, processes=1)
    assert_balanced(v)
    assert len(v.findings) == len(own) >= 6
    for f in v.findings:
        was = RECORDED[key(f.signature)]
        alone = was["u"] * math.sqrt(0.5 * (1 + chapter.starts))  # of one start and the mean of the others
        assert abs(f.value - was["value"]) <= 4.0 * alone, f.signature.about
        if was["firm"]:
            assert {judge(f.signature, f.value, 0.0, "").verdict, was["verdict"]} not in CONTRADICTIONS


@pytest.mark.slow
def test_all_verdicts(tmp_path):
    """Whatever machine this is: nothing contradicts what is on record, and firm verdicts are the same but for one in
    twenty."""
    v = verify(UNIT, tmp_path)
    assert_balanced(v)
    found = {key(f.signature): f for f in v.findings if f.signature.kind != "cost"}
    assert found.keys() == RECORDED.keys()
    changed = {k: (RECORDED[k]["verdict"], f.verdict) for k, f in found.items() if RECORDED[k]["verdict"] != f.verdict}
    assert not [k for k, pair in changed.items() if set(pair) in CONTRADICTIONS], changed
    firm = [k for k, was in RECORDED.items() if was["firm"]]
    assert len([k for k in firm if k in changed]) <= 0.05 * len(firm), changed
    assert np.median([s.drift for s in v.steady.values()]) < 0.02
