"""A record's arrays are declared once: zeros and documentation follow, for all records of the full models."""

import numpy as np
import pytest

from rtcvt.offline.pushbelt.contact.flank import Flanks, flanks
from rtcvt.offline.pushbelt.planar import state as planar
from rtcvt.offline.pushbelt.record import zeros
from rtcvt.offline.pushbelt.spatial import model as spatial

SIZES = {"N_E": 7, "N_B": 5, "n": 3, "n_z": 9}


def test_zeros_have_the_declared_shape_order_and_type() -> None:
    fl = flanks(7, 2)
    assert fl.points == (0, 0)
    assert fl.v.shape == (7, 2, 6)
    assert fl.v.flags.f_contiguous
    assert (fl.stretch.dtype, fl.at.dtype) == (np.uint64, np.int64)
    x = zeros(planar.State, SIZES, turn=np.ones(1))
    assert x.q_R.shape == (5, 3)
    assert x.z.flags.c_contiguous
    assert x.turn[0] == 1.0
    with pytest.raises(KeyError, match="N_B"):
        zeros(planar.State, {"N_E": 7})


RECORDS = (
    Flanks, planar.State, planar.Frames, planar.RingScratch, planar.Scratch, spatial.Half, spatial.Frames, spatial.Work,
)  # fmt: skip


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_is_documented(record: type) -> None:
    text = str(record.__doc__)
    assert all(f"\n    {name}" in text for name in record._fields)  # type: ignore[attr-defined]
    if record is planar.State:
        assert "q (N_E, 3): x, y, phi of the elements' centres of gravity [m, m, rad]" in text
