"""Tensioner arms in the real-time model: equilibrium, frequencies, energy, friction, end stops, and what is refused."""

import tomllib

import numpy as np
import pytest
from belt_modes import hybrid_modes
from belt_states import TENSIONED, started, tensioned
from instances import stepped
from refusals import refused
from scipy.optimize import brentq

from rtcvt.belt import places
from rtcvt.belt.arm_geometry import bending, lever, nodes, over_angle
from rtcvt.belt.forces import arm_torque
from rtcvt.belt.layout import ArmX, BeltP
from rtcvt.belt.reading import read_belt_unit
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario, Table
from rtcvt.simulate import simulate
from rtcvt.unitfile import UnitFile

IDLER = 1
LOSSES = ("loss.creep", "loss.span", "loss.friction", "loss.arm")


# --- geometry ---------------------------------------------------------------------------------------------------------


def test_levers_are_the_derivatives_of_the_belts_length():
    unit, e = load_unit(TENSIONED), 1e-4
    length = [unit.path({IDLER: a}).length for a in (-e, 0.0, e)]
    by_angle, bend = lever(unit, IDLER)
    assert by_angle == pytest.approx((length[2] - length[0]) / (2.0 * e), rel=1e-6)
    assert bend == pytest.approx((length[2] - 2.0 * length[1] + length[0]) / e**2, rel=1e-4)
    both = over_angle(unit, IDLER)
    whole = [unit.path({IDLER: float(a)}).length - unit.path().length for a in nodes(unit, IDLER)]
    np.testing.assert_allclose(sum(s.way for s in both), whole, atol=1e-12)


def test_the_belts_bending_turns_the_arm():
    """By the derivative of EI beta/(2 r) of all wraps."""
    unit, e = tensioned(), 1e-5
    stored = [
        np.sum(unit.belt.EI * path.wrap / (2.0 * path.radius)) for path in map(unit.path, ({IDLER: -e}, {IDLER: e}))
    ]
    assert bending(unit, IDLER) == pytest.approx(-(stored[1] - stored[0]) / (2.0 * e), rel=1e-6)
    assert bending(tensioned(plain=True), IDLER) == 0.0


# --- equations --------------------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_the_bearing_of_the_idler_turns_with_its_arm():
    """Its torque on the arm is its damping times the speed of the idler over the arm."""
    one = started(load_unit(TENSIONED))
    torques, b = [], one.p[places.p_bearing(IDLER, one.model.data)]
    for speed in (0.0, 1.0):
        one.x[places.x_arm(0, one.model.data) + ArmX.W] = speed
        torques.append(arm_torque(0, one.x, one.p, one.model.data, one.work))
    assert b > 0.0
    assert torques[1] - torques[0] == pytest.approx(-b, rel=1e-3)


def test_the_arm_stands_where_spring_and_belt_are_in_balance():
    """Without bending: M_0 - K theta = T dL/dtheta, T = EA (L/l - 1), solved by the belt's geometry alone.

    The belt runs slowly, as wraps at rest would hold their tension.
    """
    unit = tensioned(plain=True, friction=0.0, damping=1.0)
    for name, pulley in unit.pulleys.items():
        unit.pulleys[name] = pulley.model_copy(update={"friction": 0.0})
    instance = started(unit)
    T_0, EA, K = unit.belt.pretension, unit.belt.EA, unit.pulleys["idler"].arm.stiffness
    assert instance.get("idler.theta") == pytest.approx(0.0, abs=1e-9)
    M_0 = T_0 * lever(unit, IDLER)[0]
    more = M_0 + 6.0

    def tension(angle):
        return EA * (unit.path({IDLER: angle}).length / unit.rest_length() - 1.0)

    def missing(angle):
        e = 1e-6
        by_angle = (unit.path({IDLER: angle + e}).length - unit.path({IDLER: angle - e}).length) / (2.0 * e)
        return more - K * angle - tension(angle) * by_angle

    angle = brentq(missing, -0.1, 0.1)
    instance.p[instance.model.variable("idler.arm.M_0").index] = more
    instance.set("crank.w", -10.0)
    stepped(instance, 4000)
    assert angle > 5e-3
    assert instance.get("idler.theta") == pytest.approx(angle, abs=1e-5)
    for span in ("crank_idler", "ac_crank", "pump_ac"):
        assert instance.get(f"{span}.F") == pytest.approx(tension(angle), rel=2e-3)


def test_frequencies_are_those_of_pulleys_and_arm_on_springs():
    """M q'' + K q = 0 with the pulleys' angles and the arm's: springs EA/L, arm K + T d2L/dtheta2; undamped."""
    unit = tensioned(plain=True, friction=0.0, damping=0.0)
    for name in ("idler", "alternator", "pump", "ac"):
        unit.pulleys[name] = unit.pulleys[name].model_copy(update={"friction": 0.0})
    path, T, EA, m = unit.path(), unit.belt.pretension, unit.belt.EA, unit.belt.mass
    n, R = len(unit.pulleys), path.sigma * path.radius
    stretch = np.zeros((n, n + 1))  # of the spans by the turns and the angle
    for j in range(n):
        i = (j + 1) % n
        stretch[j, i] += R[i]
        stretch[j, j] -= R[j]
    for span in over_angle(unit, IDLER):
        stretch[span.span, n] = np.interp(0.0, nodes(unit, IDLER), span.lever)
    K = stretch.T @ np.diag(EA / path.span) @ stretch
    K[n, n] += unit.pulleys["idler"].arm.stiffness + T * lever(unit, IDLER)[1]
    share = path.radius * path.wrap + 0.5 * (path.span + np.roll(path.span, 1))
    arm = np.hypot(*np.subtract(unit.pulleys["idler"].center, unit.pulleys["idler"].arm.pivot))
    across = [np.interp(0.0, nodes(unit, IDLER), s.by_angle) * path.span[s.span] for s in over_angle(unit, IDLER)]
    belt = arm**2 * path.radius[IDLER] * path.wrap[IDLER]
    belt += sum(a**2 * path.span[s.span] / 3.0 for a, s in zip(across, over_angle(unit, IDLER), strict=True))
    M = [p.inertia + m * path.radius[i] ** 2 * share[i] for i, p in enumerate(unit.pulleys.values())]
    M = np.append(M, unit.pulleys["idler"].arm.inertia + m * belt)
    free = np.arange(1, n + 1)  # the crank's speed is given
    values = np.linalg.eigvals(K[np.ix_(free, free)] / M[free][:, None]).real
    expected = np.sqrt(np.sort(values)) / (2.0 * np.pi)
    found = [mode.frequency for mode in hybrid_modes(unit)]
    np.testing.assert_allclose(found, expected, rtol=3e-3)


# --- friction and stops -----------------------------------------------------------------------------------------------


def test_dry_friction_holds_the_arm_and_does_not_creep():
    """The same load, come to from either side, leaves the arm at two places, and at neither does it move on."""
    instance = started(tensioned(plain=True, friction=4.0, damping=0.5))
    place = instance.model.variable("idler.arm.M_0").index
    start, angles = instance.p[place], []
    for more in (1.0, 12.0, 1.0):
        instance.p[place] = start + more
        stepped(instance, 2000)
        angles.append(instance.get("idler.theta"))
        stepped(instance, 2000)
        assert instance.get("idler.theta") == pytest.approx(angles[-1], abs=1e-7)
        assert abs(instance.get("idler.M_friction")) <= 4.0
    assert 0.0 < 1.3 * angles[0] < angles[2] < 0.5 * angles[1]


def test_an_end_stop_holds_the_arm_and_energy_is_balanced():
    """The belt goes slack as the spring is let go; the arm strikes its stop, bounces and lies there."""
    unit = tensioned(torque_driven=True, friction=0.5, damping=0.02)
    instance = started(unit)
    place = instance.model.variable("idler.arm.M_0").index
    instance.p[place] = -30.0
    instance.outputs()
    first, lost, lowest = instance.get("storage.E"), 0.0, 0.0
    for _ in range(10000):
        before = sum(instance.get(k) for k in LOSSES)
        instance.step(2e-6)
        lost += 0.5 * 2e-6 * (before + sum(instance.get(k) for k in LOSSES))
        lowest = min(lowest, instance.get("idler.theta"))
    left = instance.get("storage.E")
    stepped(instance, 300)
    low = unit.pulleys["idler"].arm.stops[0]
    assert low - 0.02 < lowest < low
    assert instance.get("idler.theta") == pytest.approx(low, abs=0.003)
    assert instance.get("idler.M_stop") > 5.0
    assert lost > 5.0
    assert lost == pytest.approx(first - left, rel=3e-3)


# --- files ------------------------------------------------------------------------------------------------------------


def test_arms_that_no_model_knows_are_refused():
    data = tomllib.loads(TENSIONED.read_text())
    data["pulleys"]["pump"]["arm"] = {"pivot": ["0 m", "0.2 m"], "inertia": 1e-3, "stiffness": 30.0,
                                      "stops": [-0.1, 0.1]}  # fmt: skip
    refused(r"pulleys.pump.arm: an idler", lambda: read_belt_unit(UnitFile(data, "", "drive.toml")))
    data["pulleys"]["alternator"]["arm"] = data["pulleys"]["pump"].pop("arm")
    data["pulleys"]["alternator"]["flange"] = "none"
    with pytest.raises(InputError, match=r"pulleys.idler.arm: neighbours with fixed centres"):
        read_belt_unit(UnitFile(data, "", "drive.toml"))


def test_the_rigid_model_has_the_tensions_of_the_hybrid_one_at_rest():
    """Its arm stands: at a steady speed and load both have the same tensions within 3 %, and the arm's spring holds."""
    unit = load_unit(TENSIONED)
    idler = unit.pulleys["idler"]
    free = idler.model_copy(update={"arm": idler.arm.model_copy(update={"friction": 0.0})})
    unit = unit.model_copy(update={"pulleys": unit.pulleys | {"idler": free}})
    ramp = Table(time=(0.0, 0.3), value=(0.0, -100.0), interpolation="smooth")
    load = Table(time=(0.0, 1.0), value=(4.0, 4.0))
    scenario = Scenario(name="steady", duration=1.0, inputs={"crank.w": ramp, "ac.tau": load})
    hybrid, rigid = (simulate(unit.build(f), scenario) for f in ("hybrid", "rigid"))
    names = list(unit.pulleys)
    spans = [f"{a}_{b}.F" for a, b in zip(names, names[1:] + names[:1], strict=True)]
    np.testing.assert_allclose([rigid[s][-1] for s in spans], [hybrid[s][-50:].mean() for s in spans], rtol=0.03)
    flux = unit.belt.mass * rigid["belt.v"][-1] ** 2 / (1.0 + rigid.p[BeltP.T_0] / unit.belt.EA)
    i = names.index("idler")
    levers = [(s.span, float(np.interp(0.0, nodes(unit, i), s.lever))) for s in over_angle(unit, i)]
    assert sum((rigid[spans[j]][-1] - flux - rigid.p[BeltP.T_0]) * by for j, by in levers) == pytest.approx(
        0.0, abs=1e-9
    )


def test_an_arm_along_the_force_of_the_belt_is_refused():
    data, unit = tomllib.loads(TENSIONED.read_text()), load_unit(TENSIONED)
    path = unit.path()
    force = path.direction[IDLER] - path.direction[IDLER - 1]
    pivot = path.center[IDLER] + 0.07 * force / np.hypot(*force)
    data["pulleys"]["idler"]["arm"]["pivot"] = pivot.tolist()
    with pytest.raises(InputError, match=r"arm.pivot = .*a pivot about which the arm lengthens the belt's path"):
        read_belt_unit(UnitFile(data, "", "drive.toml"))


def test_the_preload_gives_the_pretension():
    data = tomllib.loads(TENSIONED.read_text())
    del data["belt"]["pretension"]
    data["pulleys"]["idler"]["arm"]["preload"] = "30 N.m"
    unit = read_belt_unit(UnitFile(data, "", "drive.toml"))
    assert unit.belt.pretension * abs(lever(unit, IDLER)[0]) == pytest.approx(30.0, rel=1e-12)
