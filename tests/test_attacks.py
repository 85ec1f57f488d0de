"""Attacks of ``make attack``, a few of each."""

import attacks
import pytest
from marks import slow

pytestmark = [pytest.mark.needs("loop", "cc")]

SHORT = {
    "damaged HDF5 recordings that grow": 3, "mutated reduced models": 20, "disks that fail": 4, "signals": 4,
    "SIGKILL": 2, "misdeeds of units": 3, "hostile inputs": 7,
    "what is no file": 4, "mutated machines": 12,
}  # fmt: skip
SLOW = {"mutated machines"}  # compiles all of them; `mutated texts` changes them, too
ALONE = {"signals", "SIGKILL", "misdeeds of units"}


@pytest.mark.parametrize(
    "name",
    [slow(n) if n in SLOW else pytest.param(n, marks=pytest.mark.alone if n in ALONE else ()) for n in attacks.ATTACKS],
)
def test_nothing_is_lost(tmp_path, name):
    count, attack = attacks.ATTACKS[name]
    made, bad = attack(SHORT.get(name, min(count, 60)), tmp_path)
    assert made > 0
    assert bad == []
