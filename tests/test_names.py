"""Names at the border are kept, or told apart, and come back."""

import pytest

from rtcvt.files.names import free, mapped

NAMES = ("a.b", "a_b", "a b", "a/b", "x[1]", "1", "", ".", "..", "é", "CRC", "s" * 50, "s" * 49 + "t", "d." * 20 + "e",
    "\n")  # fmt: skip


@pytest.mark.parametrize("target", ["identifier", "dbc", "hdf5", "mdf", "csv"])
def test_no_two_names_become_one(target):
    found = mapped(NAMES, target, ["CRC"])
    assert list(found) == list(NAMES)
    assert len(set(found.values())) == len(NAMES)
    assert found == mapped(NAMES, target, ["CRC"])
    assert found["a_b"] == "a_b"
    assert found["CRC"] == "CRC_2"
    assert all("\n" not in text and text.strip(".") for text in found.values())
    assert target in ("mdf", "csv") or all("/" not in text for text in found.values())
    if target in ("identifier", "dbc"):
        assert all(text.isascii() and text.isidentifier() for text in found.values())
    if target == "dbc":
        assert max(map(len, found.values())) <= 32


def test_an_own_name_gives_way():
    assert free("flags", {"flags", "rig.flags"}) == "rig.rig.flags"
    assert free("flags", {"x"}) == "flags"
