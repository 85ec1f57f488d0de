"""Play of contacts in the elastic model: closed forms, an independent solution with events, energy at any step."""

import numpy as np
import pytest
from instances import started
from refusals import refused
from rows import independent, text_of

from rtcvt.kind import load_unit
from rtcvt.pog.reading import read_gear_system
from rtcvt.unitfile import parse_unit_file

J_A, J_B, R_A, R_B = 1e-3, 4e-3, 0.02, 0.04
M = 1.0 / (R_A**2 / J_A + R_B**2 / J_B)  # of the teeth
PAIR = text_of("units/pair_with_play.toml")


def pair(K=1e6, d=0.0, play='"0.2 mm"', h=1, n=1):
    text = PAIR.format(K=K, d=d, play=play, h=h, n=n)
    return started(read_gear_system(parse_unit_file(text, "pair.toml")).build("full"))


@pytest.mark.parametrize("play", ['"0.2 mm"', '"0.01 rad"'])
def test_an_oscillator_with_play_keeps_its_period_and_energy(play):
    """Twice through the gap, and half a period of the spring at each side."""
    box, v = pair(play=play, n=50), 0.3
    box.x[0] = v / R_A
    box.step(1e-9)
    period = 2.0 * 0.2e-3 / v + 2.0 * np.pi * np.sqrt(M / 1e6)
    E, s = box.get("storage.E"), [box.get("contact.ab.s")]
    t = np.arange(round(4.0 * period / 1e-3) + 1) * 1e-3
    for _ in t[1:]:
        assert box.step(1e-3) == 0
        assert box.get("storage.E") + box.get("contact.ab.Q") == pytest.approx(E, rel=1e-12)
        s.append(box.get("contact.ab.s"))
    up = [k for k in range(1, len(s) - 1) if s[k] < 0.0 <= s[k + 1]]  # within the gap s is linear in time
    crossed = [t[k] - s[k] / v for k in up]
    assert crossed[2] == pytest.approx(3.0 * period, rel=1e-4)


def test_a_drive_that_reverses_against_an_independent_solution():
    table = independent("play")
    torques, want, wrong = table[:-1, 0], table[:, 1:5], table[:, 5:]
    errors = []
    for n in (20, 40):
        box, got = pair(1e6, 300.0, n=n), [np.zeros(4)]
        box.set("two.tau", -4.0)
        for tau in torques:
            box.set("one.tau", tau)
            assert box.step(1e-3) == 0
            got.append([box.get(name) for name in ("one.w", "two.w", "contact.ab.s", "contact.ab.Q")])
        errors.append(np.abs(np.array(got) - want).max(axis=0) / np.abs(want).max(axis=0))
    assert np.all(errors[1] < 1e-4)
    assert np.all(errors[1] < 0.5 * errors[0])
    assert np.abs(wrong - want).max() > 1.0
    assert (np.diff(np.sign(want[:, 2])) != 0).sum() >= 6


@pytest.mark.parametrize("h", [0.5, 2, 10])
def test_energy_of_any_step(h):
    """A pair that rattles: nothing but the heat of the teeth is lost, whatever the step; then under torque, stable."""
    for K, d in ((5e7, 5e3), (5e7, 0.0), (1e6, 300.0)):
        box = pair(K, d, h=h)
        box.x[:2] = 100.0, -20.0
        box.step(1e-9)
        E = box.get("storage.E")
        for _ in range(100):
            assert box.step(1e-3 * h) == 0
            assert box.get("storage.E") + box.get("contact.ab.Q") == pytest.approx(E, rel=1e-12)
        for k in range(200):
            box.set("one.tau", 30.0 * (-1) ** (k // 5))
            assert box.step(1e-3 * h) == 0
            assert abs(box.get("one.w")) < 1e4
        assert box.get("contact.ab.Q") > 0.0


def test_two_meshes_that_rattle_at_once():
    """The sides at which teeth meet follow from each other: every step finds them."""
    text = load_unit("planetary").text.replace("damping = 5e3 }", 'damping = 5e3, efficiency = 0.97, play = "0.1 mm" }')
    box, rng = read_gear_system(parse_unit_file(text, "set.toml")).build("full").instantiate(), np.random.default_rng(1)
    box.initialise()
    for k in range(300):
        if k % 5 == 0:
            for v in box.model.select("input"):
                box.set(v.name, rng.uniform(-40.0, 40.0))
        assert box.step(2e-3) == 0


@pytest.mark.parametrize("play", ["-0.1", "0", '"1 N"', '"0.1 rad/s"'])
def test_wrong_plays_are_refused(play):
    refused(r"contacts\.ab\.play", pair, play=play)
