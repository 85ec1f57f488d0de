"""Four sheaves: mirrored ones are the hybrid model's; crosswise ones, the fixed stand; the energy of a step."""

import numpy as np
import pytest

from rtcvt.offline.pushbelt.contact import sheave as planar
from rtcvt.offline.pushbelt.spatial import sheave
from rtcvt.offline.pushbelt.unit.parameters import load_parameters, sheaves

pytestmark = pytest.mark.interpreted

SHEAVES = sheaves(load_parameters("pushbelt_24mm"))
LOAD = planar.Load(2e4, 0.5, 0.02, 1.0)
DT = 1e-6
FORCES = np.array([0, 9e3, 0, 8e3, 200.0, 0, 50.0])
STOP = np.array([1, 2e-3, 0, 8e3, 200.0, 1, 150.0])


def random(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rates and reactions of one side, (2, 4) each."""
    rng = np.random.default_rng(seed)
    s, sd = rng.standard_normal((2, 4)) * 1e-4, rng.standard_normal((2, 4)) * [1e-2, 1, 1, 0]
    sd[:, 3] = 200.0, 180.0
    return s, sd, rng.standard_normal((2, 4)) * [100, 50, 50, 20] + [8e3, 0, 0, 0]


@pytest.mark.parametrize("b", [FORCES, STOP])
def test_mirrored_sheaves_are_the_hybrid_ones(b: np.ndarray) -> None:
    s, sd, reaction = random(1)
    ours, flat, turning, turning_flat = np.tile(sd, (2, 1, 1)), sd.copy(), *np.tile([2e-3, 170.0], (2, 1))
    out, power, out_flat, power_flat = np.zeros((2, 7)), np.zeros((2, 5)), np.zeros((2, 6)), np.zeros((2, 5))
    both = np.tile(s, (2, 1, 1))
    sheave.advance(SHEAVES, LOAD, True, b, DT, both, ours, turning, np.tile(reaction, (2, 1, 1)), out, power)
    planar.advance(SHEAVES, LOAD, b, DT, s, flat, turning_flat, reaction, out_flat, power_flat)
    for side in range(2):
        np.testing.assert_allclose(ours[side], flat, rtol=1e-13)
    np.testing.assert_allclose(out[:, :6], out_flat, rtol=1e-12)
    np.testing.assert_allclose(power, power_flat, rtol=1e-12)
    assert turning == pytest.approx(turning_flat, rel=1e-14)
    assert sheave.energy(SHEAVES, True, both, ours) == pytest.approx(planar.energy(SHEAVES, s, flat), rel=1e-12)


@pytest.mark.parametrize("mirrored", [True, False])
def test_kinetic_energy_changes_by_the_powers(mirrored: bool) -> None:
    s, sd, _ = random(2)
    s, sd = np.tile(s, (2, 1, 1)), np.tile(sd, (2, 1, 1))
    if not mirrored:
        for pulley in range(2):  # the fixed ones
            s[1 - pulley, pulley, 1:3] = sd[1 - pulley, pulley, :3] = 0.0
    reaction = np.stack([random(3)[2], random(4)[2]])
    before, old = sheave.energy(SHEAVES, mirrored, s, sd), sd.copy()
    out, power, turning = np.zeros((2, 7)), np.zeros((2, 5)), np.array([2e-3, 180.0])
    before += planar.load_energy(LOAD, turning)
    sheave.advance(SHEAVES, LOAD, mirrored, FORCES, DT, s, sd, turning, reaction, out, power)
    mean = 0.5 * (old + sd)
    for pulley in range(2):
        fixed = sd[1 - pulley, pulley, :3]
        assert mirrored or not fixed.any()
        assert sd[0, pulley, 3] == sd[1, pulley, 3]
    contact = np.sum(reaction * mean)
    springs = -SHEAVES.c_t * np.sum(s[:, :, 1:3] * mean[:, :, 1:3])
    change = sheave.energy(SHEAVES, mirrored, s, sd) + planar.load_energy(LOAD, turning) - before
    balance = contact + springs + power[:, :2].sum() - power[:, 2:].sum()
    assert change == pytest.approx(DT * balance, rel=1e-6, abs=1e-12 * before)


def test_an_end_stop_opens_the_whole_groove_by_its_rate() -> None:
    s, sd, reaction = random(5)
    for mirrored in (True, False):
        rates = np.tile(sd, (2, 1, 1))
        rates[1, 0, 0] = 0.0
        args = np.tile(s, (2, 1, 1)), rates, np.zeros(2), np.tile(reaction, (2, 1, 1))
        sheave.advance(SHEAVES, planar.Load(), mirrored, STOP, DT, *args, np.zeros((2, 7)), np.zeros((2, 5)))
        assert rates[0, 0, 0] + rates[1, 0, 0] == pytest.approx(2e-3)
