"""Windows of a run: how many there are, their operating points, laws and dimensionless fields, and what is left out."""

import json

import numpy as np
import pytest
import variator_runs as vr
from numpy.testing import assert_allclose
from refusals import refused

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, LEFT, LIMIT
from rtcvt.offline.pushbelt.run.snapshots import FIELDS
from rtcvt.offline.pushbelt.run.windows import F_REF
from rtcvt.offline.variator.alignment import VALUES, dimensionless, load_samples

EDGE = np.array(vr.RADIUS) - vr.BELT["h_off"]


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return load_samples(
        [vr.write_run(folder / "b.h5", "b", scale=2.0, created="2025-01-01"), vr.write_run(folder / "a.h5", "a")]
    )


def test_a_long_branch_gives_a_window_for_each_revolution(samples):
    of_one = [0, 1, 2, 2, 2]  # settled, the short branch, three of three and a half revolutions behind half of one
    assert samples.names == ("a", "b")
    assert samples.run.tolist() == [0] * 5 + [1] * 5
    assert samples.phase.tolist() == of_one * 2
    assert samples.unsettled == ()
    assert not samples.slipping.any()
    assert samples.texts == {"unit_file": "unit", "plan": "plan of b", "revision": "abc"}  # the plan is the latest one


def test_operating_points_are_those_of_the_frames(samples):
    settled = samples.of(samples.phase == 0)
    xi = vr.M_O * vr.BELT["cos_d"] / (2.0 * vr.BELT["mu"] * vr.F_O * EDGE[1])
    for point in settled.point:
        assert_allclose(
            point, [EDGE[1] / EDGE[0], xi, vr.BELT["m_star"] * vr.V**2 / vr.F_O, vr.F_O / F_REF], rtol=1e-12
        )
    assert_allclose(settled.length, np.tile(vr.LENGTH, (2, 1)))


def test_values_are_those_of_the_frames(samples):
    v = {k: a[:5] for k, a in samples.values.items()}
    assert set(v) == set(VALUES)
    unit = vr.F_O * vr.V
    assert_allclose(v["thrust"], vr.F_I / vr.F_O * np.array([1.0, vr.SHORT.y_I, *[vr.LONG.y_I] * 3]), rtol=1e-12)
    assert_allclose(v["slip"][0], 1.0 - EDGE[1] / EDGE[0] * vr.OMEGA[1] / vr.OMEGA[0], rtol=1e-12)
    assert_allclose(v["loss"], 150.0 / unit, rtol=1e-12)
    assert_allclose(v["sliding"], 120.0 / unit, rtol=1e-12)
    assert_allclose(v["transmitted"], vr.M_O * vr.OMEGA[1] / unit, rtol=1e-12)
    assert_allclose(v["received"], 56.0 * vr.OMEGA[0] / unit, rtol=1e-12)
    assert_allclose(v["loop"], vr.LENGTH.sum(), rtol=1e-12)
    assert_allclose(v["elastic"], np.arange(9.0)[3:].sum() / vr.F_O, rtol=1e-12)
    assert_allclose(v["radius"][0], vr.RADIUS[0] / EDGE[0], rtol=1e-12)
    assert_allclose(v["x"][0], 0.0, atol=1e-12)
    assert_allclose(v["x"][1:], 1e-6 / vr.DT / (vr.OMEGA[0] * vr.RADIUS[0]), rtol=2e-3)


def test_fields_are_means_over_the_windows_without_dimension(samples):
    """A wave over a revolution is in no mean over one; the window behind the lead of the short branch is one."""
    assert vr.frames_in(vr.SHORT) - round(vr.SHORT.lead * vr.FRAMES) == vr.FRAMES
    for name, (unit, _) in FIELDS.items():
        for row in range(10):
            values = (1.0 + samples.run[row]) * (1.0 + samples.phase[row]) * vr.SHAPE[name]
            expected = dimensionless(unit, values, vr.LENGTH, vr.F_O, vr.V, vr.BELT)
            assert_allclose(samples.fields[name][row], expected, rtol=1e-6)
    before, fields = samples.before
    assert len(before["thrust"]) == 2
    assert_allclose(fields["push"][0], samples.fields["push"][0], rtol=1e-6)


def test_rows_of_samples_keep_what_belongs_to_runs(samples):
    some = samples.of(samples.phase == 1)
    assert some.run.tolist() == [0, 1]
    assert all(len(a) == 2 for a in (*some.values.values(), *some.fields.values(), some.point, some.length))
    assert some.names == samples.names
    assert len(some.before[0]["thrust"]) == 2


def test_what_does_not_settle_or_leaves_has_no_part(tmp_path):
    files = [
        vr.write_run(tmp_path / "a.h5", "a", ended=[COMPLETE, LEFT, COMPLETE]),
        vr.write_run(tmp_path / "b.h5", "b", ended=[LEFT, LEFT, LEFT]),
        vr.write_run(tmp_path / "c.h5", "c", ended=[COMPLETE, LIMIT, LIMIT]),
        vr.write_run(tmp_path / "d.h5", "d", branches=(), slip=0.2),
    ]
    samples = load_samples(files)
    assert samples.names == ("a", "c", "d")
    assert samples.unsettled == ("b",)
    assert samples.run.tolist() == [0] * 4 + [1] * 5 + [2]
    assert samples.slipping.tolist() == [False] * 9 + [True]
    assert not load_samples(files, slip=0.5).slipping.any()


def test_a_run_of_an_older_release_may_have_more_numbers_of_its_belt(tmp_path):
    more = json.dumps({"belt": vr.BELT | {"mu_L": 0.0}})
    samples = load_samples([vr.write_run(tmp_path / "a.h5"), vr.write_run(tmp_path / "b.h5", parameters=more)])
    assert len(samples.names) == 2
    assert "mu_L" not in samples.belt


@pytest.mark.parametrize(
    "other",
    [
        {"belt": vr.BELT, "friction": {"mu": 0.09, "rise": 0.1, "v_S": 0.3, "v_mu": 0.01}},
        {"belt": vr.BELT, "layers": {"c": 1e-3, "omega_0": 5.0, "I": 0.0, "n": 9}},
        {"belt": vr.BELT | {"rise": 0.1, "v_S": 0.3}},
        {"belt": vr.BELT | {"mu_L": 0.1, "v_muL": 0.01}},
    ],
)
def test_runs_with_other_friction_laws_do_not_mix(tmp_path, other):
    files = [vr.write_run(tmp_path / "a.h5"), vr.write_run(tmp_path / "b.h5", parameters=json.dumps(other))]
    refused(r"parameters: the belt of a.h5", load_samples, files)


def test_progress_names_every_run(tmp_path):
    seen = []
    load_samples([vr.write_run(tmp_path / "a.h5"), vr.write_run(tmp_path / "b.h5")], lambda *a: seen.append(a))
    assert seen == [("reading runs", 0, 2), ("reading runs", 1, 2)]


def test_what_makes_no_samples_is_refused(tmp_path):
    refused("at least one file", load_samples, [])
    with pytest.raises(InputError, match="at least one run that settles"):
        load_samples([vr.write_run(tmp_path / "a.h5", ended=[LEFT, LEFT, LEFT])])
    other = vr.write_run(tmp_path / "b.h5", parameters='{"belt": {"mu": 0.2}}')
    refused("the belt of", lambda: load_samples([vr.write_run(tmp_path / "a.h5"), other]))
