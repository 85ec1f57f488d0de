"""Attacks of ``make attack``, a few of each."""

import attacks
import pytest

pytestmark = [pytest.mark.needs("loop", "cc")]

SHORT = {
    "damaged HDF5 recordings that grow": 3, "jumps of the clock": 4, "deaths of workers": 2,
    "mutated reduced models": 20, "disks that fail": 4, "signals": 4,
    "SIGKILL": 2, "misdeeds of units": 3, "hostile inputs": 7, "coarse steps": 50,
    "what is no file": 8, "mutated machines": 12, "signals at a campaign's start": 3, "outputs that are inputs": 6,
    "names as markup": 2,
}  # fmt: skip
FAST = ("damaged HDF5 recordings", "damaged MDF recordings", "damaged reduced models", "mutated texts",
        "names as markup", "what is no file", "disks that fail")  # fmt: skip
# faults of disks, signals and units have tests of their own: test_disk, hil/test_recorder, hil/test_host, hil/test_rig
ALONE = {"signals", "SIGKILL", "misdeeds of units"}


@pytest.mark.parametrize(
    "name",
    [n if n in FAST else pytest.param(n, marks=[pytest.mark.slow, *([pytest.mark.alone] if n in ALONE else [])])
     for n in attacks.ATTACKS],
)  # fmt: skip
def test_nothing_is_lost(tmp_path, name):
    count, attack = attacks.ATTACKS[name]
    made, bad = attack(SHORT.get(name, min(count, 60)), tmp_path)
    assert made > 0
    assert bad == []
