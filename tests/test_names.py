"""Names at the border are kept, or told apart, and come back."""

import numpy as np
import pytest

from rtcvt.names import free, mapped
from rtcvt.recording import Recording, Signal, read_recording, write_recording

NAMES = (
    "a.b",
    "a_b",
    "a b",
    "a/b",
    "x[1]",
    "1",
    "",
    ".",
    "..",
    "é",
    "CRC",
    "s" * 50,
    "s" * 49 + "t",
    "d." * 20 + "e",
    "\n",
)


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


def test_a_recording_keeps_every_name(tmp_path):
    kept = {name: Signal(np.full(2, float(k)), "1") for k, name in enumerate(NAMES)}
    write_recording(tmp_path / "x.h5", Recording(np.arange(2.0), kept, {}, ""), "test")
    found = read_recording(tmp_path / "x.h5")
    assert {name: s.values[0] for name, s in found.signals.items()} == {n: float(k) for k, n in enumerate(NAMES)}


def test_an_own_name_gives_way():
    assert free("flags", {"flags", "rig.flags"}) == "rig.rig.flags"
    assert free("flags", {"x"}) == "flags"
