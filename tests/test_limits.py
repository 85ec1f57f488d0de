"""The record of a number with its limit."""

import math

import pytest
from rows import cases

from rtcvt.limits import ErrorRow, Limited, failures


@cases
def test_a_value_is_held_to_its_limit(value, limit, holds, share):
    row = Limited("run", "force", "N", value, limit)
    assert row.holds is holds
    assert row.share == pytest.approx(share, nan_ok=True)


def test_only_needed_rows_fail_a_check():
    rows = [Limited("", "force", "N", 3.0, 2.0), Limited("run", "force", "N", 3.0, 2.0, needed=False),
        Limited("run", "force", "N", 3.0), ErrorRow("stop", "belt.F", "N", math.nan, 0.01, 5.0)]  # fmt: skip
    assert failures(rows) == ("force: 3 N, allowed 2", "scenario 'stop': belt.F is off by nan, allowed 0.01")
