"""Linearised models: closed forms, the same machine built otherwise, and small changes of a simulation."""

import copy
import re

import numpy as np
import pytest
from discs import discs
from scipy.signal import freqresp, lsim

import rtcvt
from rtcvt.kind import load_unit
from rtcvt.unitfile import parse_unit_file, shipped_units


def system(folder, text):
    return rtcvt.Unit(load_unit(parse_unit_file('name = "system"\nkind = "system"\n' + text, "s.toml", discs(folder))))


def test_two_discs_on_a_shaft_have_the_modes_of_their_closed_form(tmp_path):
    J_1, J_2, K, d = 0.1, 0.3, 500.0, 0.5
    unit = system(tmp_path, '[components]\none = { unit = "one.toml" }\ntwo = { unit = "two.toml" }\n'
                  f'[shafts.s]\nbetween = ["one.f", "two.f"]\nK = {K}\nd = {d}\n')  # fmt: skip
    still, swing = unit.linearise().modes()
    w = np.sqrt(K * (1.0 / J_1 + 1.0 / J_2))
    assert abs(still.eigenvalue) < 1e-6
    assert swing.frequency == pytest.approx(w / (2.0 * np.pi), rel=1e-7)
    assert swing.damping == pytest.approx(0.5 * d / K * w, rel=1e-6)
    assert next(iter(swing.shares)) == "s.phi"
    assert sum(swing.shares.values()) == pytest.approx(1.0)


def test_speeds_that_are_tied_together_are_one_state(tmp_path):
    discs = '[components]\none = { unit = "one.toml" }\nrough = { unit = "rough.toml" }\n'
    found = system(tmp_path, 'connect = ["one.f - rough.f"]\n' + discs).linearise()
    assert np.allclose(found.A, -0.5 / 0.3, rtol=1e-8)
    torque = found.C[found.outputs.index("one.f.tau")]
    assert torque @ [1.0] == pytest.approx(-0.1 * 0.5 / 0.3, rel=1e-8)  # into the smooth disc: what slows it down
    held = system(tmp_path, 'connect = ["one.f - rough.f - ground"]\n' + discs).linearise()
    assert held.A.shape == (0, 0)


def test_a_disc_on_a_planet_carrier_is_as_if_the_carrier_were_heavier(tmp_path):
    text = re.sub(r"\nefficiency = .*", "", shipped_units()["planetary"].read_text(encoding="utf-8"))
    (tmp_path / "set.toml").write_text(text, encoding="utf-8")  # teeth that lose hold at rest
    whole = system(tmp_path, 'connect = ["p.carrier - one.f"]\n[components]\np = { unit = "set.toml" }\n'
                   'one = { unit = "one.toml" }\n').linearise()  # fmt: skip
    unit = rtcvt.load(tmp_path / "set.toml")
    J = unit.variables()["gear.c.J"].start
    own = unit.linearise(parameters={"gear.c.J": J + 0.1})
    w = np.array([0.1, 3.0])
    expected = own.frequency_response("ring.w", "sun.tau", w)
    assert np.allclose(whole.frequency_response("p.ring.w", "p.sun.tau", w), expected, rtol=1e-7)


def test_small_changes_of_a_simulation_follow_the_linear_model():
    unit = rtcvt.load("driveline")
    one = unit.instance(inputs={"axle.w": 10.0, "shaft.load": 20.0}, substeps=10)
    for _ in range(4000):
        one.step()
    linear = unit.linearise(one)
    both = [copy.copy(one), copy.deepcopy(one)]
    both[1]["shaft.load"] = 20.01
    rows = []
    for _ in range(200):
        rows.append(both[1].get_many(linear.outputs) - both[0].get_many(linear.outputs))
        for other in both:
            other.step()
    assert both[0].t > one.t  # a copy is a copy
    u = np.zeros((200, len(linear.inputs)))
    u[:, linear.inputs.index("shaft.load")] = 0.01
    _, y, _ = lsim(linear.state_space(), u, np.arange(200) * 1e-3)
    for k, name in enumerate(linear.outputs):
        change = np.array(rows)[1:, k]
        assert np.abs(y[1:, k] - change).max() < 2e-3 * np.abs(change).max() + 1e-9, name
    w = np.geomspace(1.0, 1e3, 5)
    j, k = linear.inputs.index("shaft.load"), linear.outputs.index("axle.tau")
    one_way = (linear.A, linear.B[:, [j]], linear.C[[k]], linear.D[[k]][:, [j]])
    assert np.allclose(linear.frequency_response("axle.tau", "shaft.load", w), freqresp(one_way, w)[1])
    with pytest.raises(rtcvt.InputError, match=r"shaft\.laod.*shaft\.load"):
        linear.frequency_response("axle.tau", "shaft.laod", w)
    with pytest.raises(rtcvt.InputError, match="an instance of this unit"):
        rtcvt.load("planetary").linearise(one)
