"""Real-time models of belt drives: energy, friction, creep theory, the limit of a stiff belt, and robustness."""

import math
import tomllib
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from belt_states import SERPENTINE, decoupled, started, tensioned, violent
from instances import stepped
from marks import slow
from refusals import refused

from rtcvt.belt.layout import Arc, BeltP, Cell, D, Wrap
from rtcvt.belt.places import wrap
from rtcvt.belt.reading import read_belt_unit
from rtcvt.belt.span_ends import spans
from rtcvt.errors import InputError
from rtcvt.kernel import FAILED, OK, SATURATED
from rtcvt.kind import load_unit
from rtcvt.offline.belt.drawn import layouts
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import UnitFile

UNITS = ("accessory_5pk", "two_pulley_5pk", "two_pulley_belt")


def plain(name):
    """A unit whose belt does not resist bending and whose ribs do not yield."""
    unit = load_unit(name)
    belt = unit.belt.model_copy(update={"EI": 0.0})
    return unit.model_copy(update={"belt": belt, "ancf": None, "elements": None})


def model(name, fidelity="hybrid", substeps=None, cells=None, **belt):
    unit = load_unit(name) if isinstance(name, (str, Path)) else name
    if cells is not None:
        unit = unit.model_copy(update={"hybrid": unit.hybrid.model_copy(update={"cells": cells})})
    if belt:
        unit = unit.model_copy(update={"belt": unit.belt.model_copy(update=belt)})
    return unit.build(fidelity, substeps)


# --- the equations ----------------------------------------------------------------------------------------------------


def test_a_span_has_the_tension_at_which_its_belt_fills_its_way():
    """Slack, loose, tight: l (1 + T/EA) = L + R(T), R zero with its slope at rest; T falls as l grows."""
    instance = started(model(load_unit(SERPENTINE)), belt__v_start=1e-9)
    d, p = instance.model.data, instance.p
    T_0, EA, row = p[BeltP.T_0], p[BeltP.EA], int(d[D.GEOMETRY])
    length, a, b = instance.work[int(d[D.W_CELL]) + Cell.LENGTH], d[row + Arc.WAY_3], d[row + Arc.WAY_1]
    assert instance.get("crank_idler.F") == pytest.approx(T_0, rel=1e-12)
    last = 0.0
    for x in (0.03, 0.1, 0.5, 1.0, 2.0, 4.0):
        way = length + a * (x**-1.5 - 2.5 + 1.5 * x) + b * (x**-0.5 - 1.5 + 0.5 * x)
        instance.x[0] = way / (1.0 + x * T_0 / EA)
        instance.outputs()
        assert last < instance.get("crank_idler.F") == pytest.approx(x * T_0, rel=1e-9)
        last = instance.get("crank_idler.F")
    instance.x[0] = 2.0 * length
    instance.outputs()
    assert instance.get("crank_idler.F") == 0.0


def test_a_belt_that_rested_has_the_tension_of_one_that_runs_once_it_has_gone_round():
    """Spans begin alike and tighter by 5 %; friction holds what wraps have less, and nothing moves by itself."""
    built = model(load_unit(SERPENTINE))
    instance = started(built)
    names = [v.name for v in built.variables if v.name.endswith(".F") and "_" in v.name]
    content = [k for k, s in enumerate(built.states) if ".l" in s.name]
    T_0, held, first = instance.p[BeltP.T_0], instance.x[content].sum(), instance.get(names[0])
    assert held == pytest.approx(started(built, belt__v_start=1e-9).x[content].sum(), rel=1e-13)
    assert first > 1.05 * T_0
    assert instance.get("loss.creep") == 0.0
    stepped(instance, 100, status=OK)
    assert [instance.get(name) for name in names] == pytest.approx([first] * len(names), rel=1e-9)
    for k in range(1500):
        instance.set("crank.w", -20.0 * min(k / 300, 1.0))
        assert instance.step(1e-3) == OK
    assert np.mean([instance.get(name) for name in names]) == pytest.approx(T_0, rel=5e-3)
    assert instance.x[content].sum() == pytest.approx(held, rel=1e-12)


@pytest.mark.parametrize("v", [10.0, 30.0])
def test_inertia_lifts_the_belt_off_its_ribs(v):
    """Two pulleys, ribs f' = 5e7 N/m2, no bending: l (1 + T/EA) = L - sum beta (T - m v^2)/(r f'), l as at rest.

    At 30 m/s the tension is 6 % above that at rest.
    """
    unit = load_unit("two_pulley_5pk")
    slope, T_0, EA, m = 5e7, unit.belt.pretension, unit.belt.EA, unit.belt.mass
    per = unit.elements.elements / unit.rest_length()
    elements = unit.elements.model_copy(update={"c_1": 0.0, "c_2": slope / per})
    unit = unit.model_copy(update={"belt": unit.belt.model_copy(update={"EI": 0.0}), "elements": elements})
    free = {"load": None, "friction": 0.0}
    unit = unit.model_copy(update={"pulleys": {k: q.model_copy(update=free) for k, q in unit.pulleys.items()}})
    instance = started(model(unit), belt__v_start=v)
    stepped(instance, 300)
    path = unit.path()
    gives = float(np.sum(path.wrap / path.radius)) / slope
    rest = (path.length - gives * T_0) / (1.0 + T_0 / EA)
    flow = m * (instance.get("belt.v") / (1.0 + T_0 / EA)) ** 2
    expected = (path.length - rest + gives * flow * (1.0 + T_0 / EA)) / (rest / EA + gives)
    for span in ("driving_driven.F", "driven_driving.F"):
        assert instance.get(span) == pytest.approx(expected, abs=0.02 * (expected - T_0))


# --- friction ---------------------------------------------------------------------------------------------------------


def slipping_drive(cells, mu=0.2, v=0.0):
    """two_pulley_belt with a held pulley P1 that the belt slips on, or a fast belt that cannot carry P2's torque."""
    instance = started(model(plain("two_pulley_belt"), cells=cells), P1__mu=mu, P2__mu=mu, belt__v_start=v)
    instance.set("P1.w", instance.get("P1.w_pulley"))
    return instance


@pytest.mark.parametrize("cells", [1, 3, 8])
@pytest.mark.parametrize("v", [0.0, 20.0])
def test_a_slipping_wrap_is_at_the_limit_of_euler_and_eytelwein(cells, v):
    """(T_1 - G v_1)/(T_2 - G v_2) = exp(mu beta) with the inertia term G v = m q^2 lambda, half a turn, mu = 0.2."""
    instance = slipping_drive(cells, v=v)
    instance.set("P2.tau", 60.0)  # more than the wrap holds
    statuses = {instance.step(1e-3) for _ in range(400)}
    assert SATURATED in statuses
    m, EA = instance.p[instance.model.variable("belt.m").index], instance.p[instance.model.variable("belt.EA").index]
    q = instance.x[next(k for k, name in enumerate(s.name for s in instance.model.states) if name == "belt.q")]
    hat = [T - m * q * q * (1.0 + T / EA) for T in (instance.get("P1_P2.F"), instance.get("P2_P1.F"))]
    sliding = abs(instance.get("P1.slip")) + abs(instance.get("P2.slip"))
    assert sliding > 0.5
    found = math.log(max(hat) / min(hat))
    assert found == pytest.approx(0.2 * math.pi, rel=0.02 + sliding / 500.0)
    assert max(instance.get("P1.use"), instance.get("P2.use")) == pytest.approx(1.0, abs=0.05)


def creep_theory(mu, difference, radius, span, T_0, EA, m, v_1):
    """Two equal pulleys: tight and slack tension of a steady state by integration along the wraps.

    Adhesion at the entry, then T_hat changes by exp(mu phi); the belt's length without load is that at rest.
    """
    length = 2.0 * span + 2.0 * math.pi * radius
    rest = length / (1.0 + T_0 / EA)
    low, high = 1.0, T_0

    def unloaded(slack):
        tight = slack + difference
        flux = m * (v_1 / (1.0 + tight / EA)) ** 2
        hats = [T - flux * (1.0 + T / EA) for T in (slack, tight)]
        creep = math.log(hats[1] / hats[0]) / mu
        assert creep < math.pi
        phi = np.linspace(0.0, creep, 20001)
        hat = hats[0] * np.exp(mu * phi)
        along = (hat + flux) / (1.0 - flux / EA)
        slide = 2.0 * radius * np.trapezoid(1.0 / (1.0 + along / EA), phi)
        stick = radius * (math.pi - creep) * sum(1.0 / (1.0 + T / EA) for T in (slack, tight))
        return slide + stick + span * sum(1.0 / (1.0 + T / EA) for T in (slack, tight)), tight

    for _ in range(100):
        slack = 0.5 * (low + high)
        found, tight = unloaded(slack)
        low, high = (low, slack) if found < rest else (slack, high)
    return tight, slack


@pytest.mark.parametrize("v", [1.0, 8.0])
@pytest.mark.parametrize("cells", [2, 8, slow(3), slow(4), slow(16)])
def test_tensions_and_creep_are_those_of_creep_theory(cells, v):
    """At 8 m/s G v is a fifth of the slack tension. The force on a wrap is taken as that of the tensions here, too.

    The distribution along a wrap is a sum in place of an integral: errors of the order 1/cells.
    """
    m, EA, torque = 0.872421052631579, 7600.0, 25.0
    unit = plain("two_pulley_belt")  # and its friction acts at the belt's line
    instance = started(model(unit, cells=cells, height=0.0), belt__v_start=v, belt__D=50.0, P2__b=0.0)
    instance.set("P1.w", -v / 0.1)
    instance.set("P2.tau", torque)
    stepped(instance, 3000, status=OK)
    tight, slack = creep_theory(0.5, torque / 0.1, 0.1, math.pi / 10.0, 400.0, EA, m, v)
    assert instance.get("P2_P1.F") == pytest.approx(tight, abs=4.0 / cells)
    assert instance.get("P1_P2.F") == pytest.approx(slack, abs=4.0 / cells)
    creep = 1.0 - instance.get("P2.w") / instance.get("P1.w_pulley")
    assert creep == pytest.approx((tight - slack) / (EA + tight), rel=2e-3)


def test_a_standing_drive_holds_a_torque():
    """Friction is dry: below the limit nothing creeps, however long."""
    instance = started(model(plain("two_pulley_belt")), belt__D=50.0)
    instance.set("P2.tau", 30.0)
    stepped(instance, 4000)
    tension = instance.get("P1_P2.F")
    stepped(instance, 2000, status=OK)
    assert abs(instance.get("P2.w")) < 1e-9
    assert instance.get("P1_P2.F") == pytest.approx(tension, rel=1e-9)
    assert abs(instance.get("P1_P2.F") - instance.get("P2_P1.F")) == pytest.approx(300.0, rel=1e-6)


# --- limits and symmetry ----------------------------------------------------------------------------------------------


def test_a_stiff_belt_moves_as_the_rigid_model():
    """EA times 100, without ribs: same accelerations, and tensions as of the balances, once settled."""
    unit = load_unit("accessory_5pk").model_copy(update={"elements": None})
    scenario = unit.scenario[0]
    stiff = simulate(model(unit, EA=unit.belt.EA * 100.0, damping=unit.belt.damping * 100.0), scenario)
    rigid = simulate(model(unit, "rigid"), scenario)
    for name in unit.pulleys:
        np.testing.assert_allclose(stiff[f"{name}.w"], rigid[f"{name}.w"], atol=1e-3 * abs(rigid[f"{name}.w"][-1]))
    spans = [v.name for v in rigid.model.select("output") if v.name.endswith(".F")]
    for a, b in pairwise(spans):
        np.testing.assert_allclose(stiff[a][-1] - stiff[b][-1], rigid[a][-1] - rigid[b][-1], atol=0.01)


def test_the_rigid_models_tensions_balance_every_pulley():
    instance = started(model("accessory_5pk", "rigid"), belt__v_start=3.0)
    instance.set("crankshaft.tau", -12.0)
    instance.set("pump.tau", 2.0)
    instance.step(1e-3)
    rate = instance.derivative()[0]
    unit = load_unit("accessory_5pk")
    names = list(unit.pulleys)
    path = unit.path()
    tension = [instance.get(f"{a}_{b}.F") for a, b in zip(names, names[1:] + names[:1], strict=True)]
    for i, name in enumerate(names):
        R = path.sigma[i] * spans(unit).radius[i]
        tau = instance.get(f"{name}.tau") if unit.pulleys[name].flange == "torque" else 0.0
        J = instance.work[wrap(i, instance.model.data) + Wrap.INERTIA]
        moment = R * (tension[i] - tension[i - 1])
        assert J * rate / R == pytest.approx(tau - 0.041 * instance.get(f"{name}.w") + moment, abs=1e-9)
    arcs = spans(unit).radius * path.wrap
    weight = path.span + 0.5 * (arcs + np.roll(arcs, -1))
    assert np.average(tension, weights=weight) == pytest.approx(550.0, rel=1e-12)


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_a_mirrored_drive_mirrors_its_motion(fidelity):
    """Driven the other way round, equal pulleys exchange their spans and keep all else."""
    forward, backward = (started(model("two_pulley_5pk", fidelity)) for _ in range(2))
    for k in range(1000):
        tau = 15.0 * min(k / 300.0, 1.0)
        forward.set("driving.tau", tau)
        backward.set("driving.tau", -tau)
        forward.step(1e-3)
        backward.step(1e-3)
    for name in ("driving.w", "driven.w", "driving.slip", "driven.slip", "belt.v"):
        assert forward.get(name) == pytest.approx(-backward.get(name), rel=1e-9)
    assert forward.get("driving_driven.F") == pytest.approx(backward.get("driven_driving.F"), rel=1e-9)
    for name in ("loss.creep", "storage.E", "driving.use", "driving.N"):
        assert forward.get(name) == pytest.approx(backward.get(name), rel=1e-9)


def test_forces_on_a_pulley_are_those_of_its_spans():
    """Two equal pulleys at rest: 2 T_0 along the line of centres, and T_0 beta as the sum of normal forces."""
    instance = started(model("two_pulley_5pk"))
    assert instance.get("driving.F_x") == pytest.approx(1100.0, rel=1e-12)
    assert instance.get("driven.F_x") == pytest.approx(-1100.0, rel=1e-12)
    assert instance.get("driving.F_y") == pytest.approx(0.0, abs=1e-9)
    assert instance.get("driving.N") == pytest.approx(550.0 * math.pi, rel=1e-12)


# --- time -------------------------------------------------------------------------------------------------------------


def test_one_millisecond_is_a_small_step():
    """The run-up of the drives at the unit's step against fifty steps in its place."""
    for name, signal in (("accessory_5pk", "alternator"), ("two_pulley_5pk", "driven")):
        scenario = load_unit(name).scenario[0].model_copy(update={"duration": 0.8})
        coarse, fine = (simulate(model(name, substeps=n), scenario) for n in (1, 50))
        for key in [v.name for v in coarse.model.select("output") if v.name.endswith((".w", ".F"))]:
            scale = np.abs(fine[key]).max()
            assert np.abs(coarse[key] - fine[key]).max() < 2e-3 * scale, (name, signal, key)


def test_finer_models_agree_where_wraps_slip_at_every_swing():
    """An engine order near the first natural frequency: tensions by smaller steps and by more cells of the wraps."""
    w = "engine_order(-120*min(t/0.2, 1), 2, 0.035)"
    scenario = Scenario(name="order", duration=0.35, inputs={"crank.w": w})
    fine = simulate(model(SERPENTINE, substeps=8), scenario)
    spans_ = [v.name for v in fine.model.select("output") if v.name.endswith(".F") and v.name.count("_") == 1]
    assert np.mean(fine.status == SATURATED) > 0.2
    for substeps, cells in ((1, 4), (8, 12)):
        run = simulate(model(SERPENTINE, substeps=substeps, cells=cells), scenario)
        off = [np.sqrt(np.mean((run[key] - fine[key]) ** 2)) / fine[key].max() for key in spans_]
        assert max(off) < 0.025, (substeps, cells, off)


def test_steps_converge_in_third_order_while_nothing_switches():
    built = [model("accessory_5pk", substeps=n) for n in (1, 2, 4, 32)]
    ends = []
    for m in built:
        instance = started(m)
        for k in range(50):
            instance.set("crankshaft.tau", -0.3 * k)
            instance.step(1e-3)
        ends.append(instance.x[-5:-1].copy())
    errors = [np.abs(e - ends[-1]).max() for e in ends[:-1]]
    assert all(a / b > 5.0 for a, b in pairwise(errors))


def drives():
    """Shipped drives, the serpentine one, and drives drawn around them; with few and with many cells."""
    for name in (*UNITS, SERPENTINE, SERPENTINE.with_name("three_pulley.toml")):
        unit = load_unit(name)
        for drawn in (unit, *islice(layouts(unit, 5), 2)):
            for cells in (None, 8):
                hybrid = drawn.hybrid.model_copy(update={"cells": cells or drawn.hybrid.cells})
                yield drawn.model_copy(update={"hybrid": hybrid})


def furnished(torque_driven):
    """Drives with an arm, and with a decoupler whose spring is soft and stiff."""
    given = {"damping": 1e-3, "drag": 0.2}
    return tensioned(torque_driven), *(decoupled(torque_driven, stiffness=k, **given) for k in (20.0, 2e4))


@pytest.mark.parametrize(("steps", "step"), [(400, 5), slow(4000, 1)])
def test_no_step_is_refused_and_no_energy_is_made(steps, step):
    """1000 N.m and 400 rad/s at once, slack belts, pulleys that turn against each other."""
    loose = 0
    for k, unit in enumerate(islice(drives(), None, None, step)):
        statuses, made = violent(started(unit), steps, k)
        assert statuses[FAILED] == 0
        loads = any(p.load for p in unit.pulleys.values())
        loose += not loads
        assert loads or made < 1e-8
    assert loose > 1
    for k, unit in enumerate((*furnished(False), *furnished(True))):
        statuses, made = violent(started(unit), steps, k // 3)
        assert statuses[FAILED] == 0
        assert made < (1e-8 if k % 3 else 1e-3)


# --- a speed that is given -------------------------------------------------------------------------------------------


def followed(w, step=1e-3):
    """Speed and torque of P1 where its speed w(t) is given, and the time."""
    instance = started(model("two_pulley_belt"))
    time = step * np.arange(400)
    out = []
    for t in time:
        instance.set("P1.w", float(w(t)))
        instance.step(step)
        out.append((instance.get("P1.w_pulley"), instance.get("P1.tau")))
    return (time + step, *np.array(out).T)


def test_a_given_speed_arrives_without_delay():
    """A parabola exactly; a sine of 25 Hz about 20 rad/s by more than second order in the step."""

    def parabola(t):
        return 30.0 * t + 100.0 * t**2

    def sine(t):
        return 20.0 * np.minimum(t / 0.1, 1.0) + np.sin(50.0 * np.pi * t)

    time, speed, _ = followed(parabola)
    np.testing.assert_allclose(speed[5:], parabola(time)[5:], rtol=1e-12)
    errors = []
    for step in (1e-3, 5e-4):
        time, speed, _ = followed(sine, step)
        errors.append(np.sqrt(np.mean((speed - sine(time))[time > 0.15] ** 2)))
    assert errors[0] < 0.006
    assert errors[1] < 0.25 * errors[0]


def test_the_torque_of_a_given_speed_is_that_of_its_acceleration():
    """Pulley of 1 kg.m2 by far the heaviest: J times the acceleration of a sine of 25 Hz, within 5 % of its largest."""
    unit = load_unit("two_pulley_belt")
    pulleys = dict(unit.pulleys)
    pulleys["P1"] = pulleys["P1"].model_copy(update={"inertia": 100.0})
    instance = started(unit.model_copy(update={"pulleys": pulleys}).build())
    error, largest = [], 100.0 * 50.0 * np.pi
    for k in range(300):
        t = 1e-3 * k
        instance.set("P1.w", math.sin(50.0 * np.pi * t))
        instance.step(1e-3)
        if k > 50:
            error.append(instance.get("P1.tau") - largest * math.cos(50.0 * np.pi * (t + 1e-3)))
    assert np.sqrt(np.mean(np.square(error))) < 0.05 * largest


def test_a_jump_of_a_given_speed_is_met_without_overshoot():
    _, speed, _ = followed(lambda t: 10.0 if t > 0.1 else 0.0)
    assert speed.max() == pytest.approx(10.0, abs=1e-9)
    assert speed[103] == pytest.approx(10.0, abs=1e-9)


@pytest.mark.parametrize("w", [5e3, -7e3, 1e4])
def test_a_given_speed_that_jumps_beyond_the_belts_waves_is_followed(w):
    """Steps of the implicit Euler method empty cells there, and the budget ends: the belt is held, with new limits."""
    one = started(model("two_pulley_belt"))
    for speed in (0.0, w, 0.0):
        one.set("P1.w", speed)
        assert one.step(20e-3) != FAILED


def test_the_rigid_model_has_one_given_speed():
    unit = load_unit("two_pulley_belt")
    pulleys = {name: p.model_copy(update={"flange": "speed"}) for name, p in unit.pulleys.items()}
    with pytest.raises(InputError, match=r"pulleys.P2.flange.*one pulley at most"):
        unit.model_copy(update={"pulleys": pulleys}).build("rigid")
    instance = started(unit.build("rigid"))
    for k in range(100):
        instance.set("P1.w", 0.1 * k)
        assert instance.step(1e-3) == OK
    assert instance.get("P1.w_pulley") == pytest.approx(9.9 + 0.1)
    assert instance.get("P1.tau") == pytest.approx((0.25 + 0.25) * 100.0 + 2.0 * 10.0, rel=0.06)


# --- units ------------------------------------------------------------------------------------------------------------


def test_both_models_have_the_same_ports():
    for name in UNITS:
        hybrid, rigid = model(name), model(name, "rigid")
        assert [v.name for v in hybrid.variables] == [v.name for v in rigid.variables]
        assert [v.index for v in hybrid.variables] == [v.index for v in rigid.variables]
    names = [v.name for v in model("accessory_5pk").variables]
    for flange in ("crankshaft", "alternator", "pump"):
        assert {f"{flange}.tau", f"{flange}.w"} <= set(names)
    assert "tensioner.w" in names
    assert "tensioner.tau" not in names


def test_hybrid_is_the_default_and_full_is_refused():
    unit = load_unit("accessory_5pk")
    assert unit.build().fidelity == "hybrid"
    refused("model = 'full': hybrid or rigid", unit.build, "full")


def test_a_unit_without_friction_has_no_real_time_model():
    unit = load_unit("two_pulley_5pk").model_copy(update={"hybrid": None})
    refused("hybrid: a table with the friction coefficient", unit.build)


def test_a_pulley_is_not_called_as_a_group_of_variables():
    text = load_unit("two_pulley_5pk").text.replace("pulleys.driven", "pulleys.belt")
    with pytest.raises(InputError, match=r"pulleys.belt: a name that is not a group"):
        read_belt_unit(UnitFile(tomllib.loads(text), text, "drive.toml"))
