"""The power-split unit as a system of two: its variator, which moves, and its gears, whose teeth lose.

Closed form of the losses: Mueller, *Die Umlaufgetriebe* (1998): seen from the carrier, the basic efficiency
eta_0 holds in the direction of the power there, whatever circulates.
"""

import re

import numpy as np
import pytest
from rows import text_of

from rtcvt.kind import load_unit
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file, shipped_units

ETA = {"bd": 0.99, "de": 0.985, "ap": 0.98, "pr": 0.97}
SYSTEM = text_of("units/split.toml")


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """Folder of the two: the lines of the shipped unit that are not of the other one."""
    folder = tmp_path_factory.mktemp("halves")
    text = shipped_units()["power_split_ivt"].read_text().partition("[[scenario]]")[0]
    text = re.sub(r"friction = \S+( N.m/rpm\")?,", "friction = 0.0,", text).replace("stepped = true, ", "")
    for name, lines, independent in (("variator", "d|e|p|r|bd|de|ap|pr|engine|output", "b"),
                                     ("set", "c|bc|ac|theta|acts_on|time_constant", 'b", "a')):  # fmt: skip
        made = re.sub(rf"^({lines}) += .*\n", "", text, flags=re.MULTILINE)
        made = re.sub("independent = .*", f'independent = ["{independent}"]', made)
        made = made.replace("[ports]", '[ports]\ndisc = { gear = "b" }\nsun = { gear = "a" }').replace(
            "_split_ivt", name
        )
        if name == "set":
            made = made.replace("[variables]", "").replace("[controller.position]", "")
            for contact, eta in ETA.items():
                made = re.sub(rf"^({contact} .*) }}$", rf"\1, efficiency = {eta} }}", made, flags=re.MULTILINE)
            made = made.replace("r_c + 10e-3", "0.0375").replace("r_c ", "# ").replace("r_b1 ", "# ")
        (folder / f"{name}.toml").write_text(made)
    return folder


def lost(eta, power):
    """Power that must come where `power` leaves, or that arrives of a negative one."""
    return power / eta if power > 0.0 else power * eta


@pytest.mark.slow
@pytest.mark.parametrize("theta", [0.2, -0.2])  # forward and reverse
@pytest.mark.parametrize("drives", ["engine", "output"])
def test_losses_of_teeth_where_power_circulates(halves, theta, drives):
    """Steady, against a friction at the other end; and all energy over the run from rest."""
    friction = ("r", 4.0) if drives == "engine" else ("b", 0.2)
    torque = -20.0 if drives == "output" and theta > 0.0 else 20.0  # the ring turns backwards there
    text = SYSTEM % (theta, drives, torque, *friction)
    unit = load_unit(parse_unit_file(text, "split.toml", halves))
    run = simulate(unit.build(), unit.scenario[0])
    w = {g: run[f"set.gear.{g}.w"][-1] for g in "aber"}
    assert (w["r"] > 0.0) == (theta < 0.0)
    assert w["b"] > 0.0
    tau_r = torque if drives == "output" else -friction[1] * w["r"]  # into the ring
    basic = ETA["ap"] * ETA["pr"]
    tau_a = 0.5 * tau_r * (basic if tau_r * (w["r"] - w["e"]) > 0.0 else 1.0 / basic)  # into the sun, half the ring
    tau_e = -(tau_a + tau_r)
    needed = tau_a * w["a"] + lost(ETA["bd"] * ETA["de"], tau_e * w["e"])
    tau_b = torque if drives == "engine" else -friction[1] * w["b"]
    assert tau_b * w["b"] == pytest.approx(needed, rel=1e-6)
    assert abs(tau_a * w["a"]) > 1.2 * abs(needed) or abs(tau_e * w["e"]) > 1.2 * abs(needed)  # power circulates
    speed = run["set.gear.b.w"] if drives == "engine" else run["set.gear.r.w"]
    given = np.trapezoid(torque * speed, run.time)
    stored = sum(run[f"{part}.storage.E"][-1] for part in ("set", "variator"))
    heat = sum(run[f"set.mesh.{name}.Q"][-1] for name in ETA)
    assert heat > 0.01 * given
    rest = given - stored - heat - np.trapezoid(run["set.loss.friction"] + run["variator.loss.friction"], run.time)
    assert abs(rest) < 1e-6 * given
