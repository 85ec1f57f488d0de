"""Modes in material and space-fixed frame: of a pattern that stands in space while the elements pass it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from variator_runs import FRAMES, SHAPE, write_run

from studies.material_frame import compare_frames

pytestmark = pytest.mark.slow


def test_a_standing_pattern_has_one_mode_in_space_and_many_on_the_elements(tmp_path):
    found = compare_frames([write_run(tmp_path / "a.h5", "a", elements=True)])
    assert [c.name for c in found] == ["a", "all"]
    one, both = found
    assert one.snapshots == both.snapshots == FRAMES
    for name in ("flank_normal", "flank_longitudinal", "flank_radial", "push"):
        material, space = one.modes(name)
        assert space == 1
        assert material == 6  # sine and cosine of its harmonics 0, 2, 4, 6 on twelve elements
    assert one.modes("tension") == (1, 1)
    assert one.modes("ring_offset", 0.999999)[0] == 2  # a circle
    # forces on elements pass all places: their energy is that of the pattern, whatever the frame of reference
    pattern = 1.0 + np.cos(2.0 * np.pi * np.arange(FRAMES) / FRAMES) ** 8
    assert_allclose(np.sum(one.material["flank_normal"] ** 2), FRAMES * np.sum(pattern**2), rtol=1e-12)
    assert_allclose(np.sum(one.material["push"] ** 2), 9.0 * FRAMES * np.sum(pattern**2), rtol=1e-12)
    wave = 1.0 + 0.1 * np.cos(2.0 * np.pi * np.arange(FRAMES) / FRAMES)
    assert_allclose(one.space["push"][0] ** 2, np.sum(wave**2) * np.sum(SHAPE["push"] ** 2), rtol=1e-6)


def test_runs_without_elements_or_with_slip_have_no_part(tmp_path):
    files = [
        write_run(tmp_path / "a.h5", "a"),
        write_run(tmp_path / "b.h5", "b", elements=True, slip=0.2),
        write_run(tmp_path / "c.h5", "c", elements=True),
        write_run(tmp_path / "d.h5", "d", elements=True, scale=3.0),
    ]
    assert compare_frames(files[:2]) == []
    found = compare_frames(files)
    assert [c.name for c in found] == ["c", "d", "all"]
    assert found[-1].snapshots == 2 * FRAMES
    # put together forces are by F_O, offsets are not
    for key, by in (("push", 1e4), ("ring_offset", 1.0)):
        squares = [np.sum((c.space[key]) ** 2) for c in found]
        assert_allclose(squares[2], (squares[0] + squares[1]) / by**2, rtol=1e-6)
