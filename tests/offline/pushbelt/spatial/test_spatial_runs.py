"""Runs of the spatial model through files: what they hold, that they go on with the same bits, what is refused."""

import signal

import numpy as np
import pytest
from pushbelt_starts import UNIT, changed

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.run.reading import figures, open_run, partial_path, recording
from rtcvt.offline.pushbelt.run.runfile import ACROSS
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.scene import scene
from rtcvt.offline.pushbelt.unit.parameters import Parameters


def a_run(duration: float = 1.5e-3, **settings: object) -> Run:
    chosen = Settings(**{"model": "spatial", "before": 0.02, "flank_points": 2, **settings})  # type: ignore[arg-type]
    return Run("MED", Case("MED", 3), chosen, duration=duration, plot_step=1e-5, observe=("elements", "fields"))


@pytest.mark.slow
def test_file_holds_both_sides_and_goes_on_with_the_same_bits(tmp_path) -> None:
    whole, other = tmp_path / "whole.h5", tmp_path / "other.h5"
    simulate(UNIT, a_run(), whole, UNIT.text)
    stopped = simulate(UNIT, a_run(), other, UNIT.text, progress=lambda *_: signal.raise_signal(signal.SIGINT))
    assert not stopped.done
    growing = recording(partial_path(other))
    assert growing is not None
    assert growing.signals["spatial.margin.right.to_pillar"].values.min() > 0.0
    assert growing.signals["spatial.tilt.left.primary.x"].values.any()
    simulate(UNIT, a_run(), other, UNIT.text, resume=True)
    with open_run(whole) as one, open_run(other) as two:
        for name, source in ACROSS.items():
            assert np.array_equal(one[name][()], two[name][()]), name
            assert one[name].attrs["units"] == source.unit
            assert one[name].attrs["description"]
        flank = one["spatial/flank"][()]
        assert np.allclose(flank[..., :3].mean(axis=1), one["elements/flank"][()], rtol=1e-5, atol=1e-3)
        assert np.array_equal(one["checkpoint/right_q_L"][()], two["checkpoint/right_q_L"][()])
        sigma, axial = one["elements/sigma"][-1], flank[-1, 0, :, 3] - flank[-1, 1, :, 3]
        ends = [axial[(sigma > arc - 0.08) & (sigma < arc)].mean() for arc in (1, 3)]
        assert np.abs(ends).max() > 0.1
        assert one["spatial/exit_force"][-1] == pytest.approx(ends, abs=1e-3)
        assert np.array_equal(one["spatial/exit_force"][()], two["spatial/exit_force"][()])
        assert len(one["elements/position"]) == 150
        found = figures(one)
    shown = scene(whole, None, None, 20)
    assert shown is not None
    by = {c.name: c for c in shown.channels}
    both = 0.5 * (by["flank_normal_left"].values + by["flank_normal_right"].values)
    assert np.allclose(both, by["flank_normal"].values, rtol=1e-5, atol=1e-3)
    assert np.allclose(by["rocking_left"].values + by["rocking_right"].values, by["rocking"].values, atol=1e-2)
    assert np.abs(by["z"].values).max() > 1e-4
    assert ("out of line", f"{1e3 * found['misalignment_m']:.2f} mm") in shown.facts
    made = prepare(UNIT, a_run())
    placed = made.state.q[:, 3]
    assert found["misalignment_m"] == pytest.approx(placed.min() - placed.max(), abs=5e-5)
    assert found["ring_to_pillar_m"] > 1e-4
    assert np.abs(found["exit_force_N"]).max() < 30
    assert found["fixed_sheave_N"][1] == pytest.approx(found["clamping_force_N"][1], rel=0.05)
    assert abs(found["residual_of_throughput"]) < 1e-3


def test_what_the_spatial_model_does_not_do_is_refused_and_leaves_nothing(tmp_path) -> None:
    refused: list[tuple[Parameters, Run, str]] = [
        (changed(spatial={"crown": 0.5}), a_run(contact="bilateral"), r"spatial\.crown.*bilateral"),
        (UNIT.model_copy(update={"spatial": None}), a_run(), "spatial"),
        (changed(pulleys={"alignment_offset": 8e-3}), a_run(), "alignment_offset"),
        (changed(ring={"width": 9.4e-3}), a_run(), r"ring\.width"),
    ]
    damped = changed(contacts={"flank_damping": 0.2})
    refused.append((damped, a_run(scheme="multirate", step=2.5e-6), r"step = 2\.5e-06.*1\.95e-06.*flank_damping"))
    assert prepare(damped, a_run(scheme="multirate")).clock.step == pytest.approx(1e-5 / 6)
    for unit, run, message in refused:
        with pytest.raises(InputError, match=message):
            simulate(unit, run, tmp_path / "run.h5", UNIT.text)
    assert list(tmp_path.iterdir()) == []
