"""Real-time models of belt drives: energy, friction, creep theory, the limit of a stiff belt, and robustness."""

import math
import tomllib
from itertools import pairwise

import numpy as np
import pytest

from rtcvt.belt import layout
from rtcvt.belt.unit import read_belt_unit
from rtcvt.build import build_any, load_any
from rtcvt.errors import InputError
from rtcvt.kernel import FAILED, OK, SATURATED
from rtcvt.simulate import simulate
from rtcvt.unitfile import Scenario, Table

UNITS = ("accessory_5pk", "two_pulley_5pk", "two_pulley_belt")
LOSSES = ("loss.creep", "loss.span", "loss.friction")


def model(name, fidelity="hybrid", substeps=None, cells=None, **belt):
    unit = load_any(name)
    if cells is not None:
        unit = unit.model_copy(update={"hybrid": unit.hybrid.model_copy(update={"cells": cells})})
    if belt:
        unit = unit.model_copy(update={"belt": unit.belt.model_copy(update=belt)})
    return build_any(unit, fidelity, substeps)


def started(built, **parameters):
    instance = built.instantiate()
    for key, value in parameters.items():
        instance.set(key.replace("__", "."), value)
    instance.initialise()
    return instance


def random_state(instance, rng):
    """Speeds of either sign, tensions from slack to three times the pretension, any inputs."""
    p, n = instance.p, int(instance.p[layout.N])
    instance.u[:] = rng.normal(scale=20.0, size=instance.u.size)
    if p[layout.RIGID]:
        instance.x[0] = rng.normal(scale=10.0)
        couplings = 1
    else:
        count = n * int(p[layout.FACES])
        belt = int(p[layout.P_BELT])
        tension = p[belt + layout.T_0] * rng.uniform(-0.3, 3.0, size=count)
        length = instance.work[int(p[layout.W_LENGTH]) :][:count]
        instance.x[:count] = length / (1.0 + tension / p[belt + layout.EA])
        instance.x[count : count + n] = rng.normal(scale=30.0, size=n)
        instance.x[n + count] = rng.normal(scale=10.0)
        couplings = n + count + 1
    instance.x[couplings:] = rng.normal(scale=20.0, size=instance.x.size - couplings)


# --- the equations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
@pytest.mark.parametrize("name", UNITS)
def test_the_jacobian_is_that_of_the_rates(name, fidelity):
    rng = np.random.default_rng(7)
    instance = started(model(name, fidelity))
    for _ in range(10):
        random_state(instance, rng)
        exact = instance.jacobian()
        x = instance.x.copy()
        for j in range(x.size):
            h = 1e-7 * max(abs(x[j]), 0.01)
            rates = []
            for sign in (1.0, -1.0):
                instance.x[:] = x
                instance.x[j] += sign * h
                rates.append(instance.derivative())
            instance.x[:] = x
            column = (rates[0] - rates[1]) / (2.0 * h)
            scale = np.abs(exact).max(axis=1) + 1.0
            np.testing.assert_allclose(exact[:, j] / scale, column / scale, atol=2e-5)


def power_balance(instance):
    """Power in, less what is stored per time and what is lost [W], and the size of the terms."""
    built = instance.model
    dx = instance.derivative()

    def stored(x):
        keep = instance.x.copy()
        instance.x[:] = x
        y = instance.outputs()
        names = [v.name for v in built.select("output")]
        energy = sum(y[k] for k, name in enumerate(names) if name.endswith(".E"))
        instance.x[:] = keep
        return energy

    share = 1e-3 if built.fidelity == "rigid" else 1e-6  # the rigid model's energy is quadratic
    step = share / np.max(np.abs(dx) / (np.abs(instance.x) + 1e-3))
    rate = (stored(instance.x + step * dx) - stored(instance.x - step * dx)) / (2.0 * step)
    instance.outputs()
    power = 0.0
    for v in built.select("input"):
        name, _, kind = v.name.partition(".")
        if kind == "tau":
            power += instance.u[v.index] * instance.get(f"{name}.w")
        else:
            power += instance.u[v.index] * instance.get(f"{name}.tau")
    losses = [instance.get(k) for k in LOSSES]
    losses += [instance.get(v.name) for v in built.select("output") if v.name.endswith(".loss")]
    assert min(losses) >= 0.0
    taken = sum(losses) + instance.get("loss.load")
    return power - rate - taken, abs(power) + abs(rate) + sum(map(abs, losses))


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
@pytest.mark.parametrize("name", UNITS)
def test_power_is_stored_or_lost_and_no_loss_is_negative(name, fidelity):
    """At any state: slack cells, sliding faces, pulleys that turn against each other."""
    rng = np.random.default_rng(11)
    instance = started(model(name, fidelity))
    for _ in range(300):
        random_state(instance, rng)
        rest, size = power_balance(instance)
        assert abs(rest) < 2e-5 * size


def test_the_balance_holds_over_a_run():
    """Energy at the flanges of the accessory drive, integrated over its run-up."""
    unit = load_any("accessory_5pk")
    run = simulate(model("accessory_5pk", substeps=4), unit.scenario[0])
    into = sum(0.5 * run.step * np.sum(run[f"{n}.tau"][:-1] * (run[f"{n}.w"][1:] + run[f"{n}.w"][:-1]))
               for n in ("crankshaft", "alternator", "pump"))  # fmt: skip
    lost = sum(np.trapezoid(run[k], dx=run.step) for k in LOSSES)
    stored = run["storage.E"][-1] - run["storage.E"][0]
    assert into > 100.0
    assert into == pytest.approx(stored + lost, rel=1e-5)


def test_the_belt_keeps_its_length():
    unit = load_any("two_pulley_5pk")
    built = model("two_pulley_5pk")
    instance = started(built)
    cells = [k for k, (name, _) in enumerate(built.states) if ".l" in name]
    before = instance.x[cells].sum()
    assert before == pytest.approx(unit.rest_length(), rel=1e-14)
    instance.set("driving.tau", -15.0)
    for _ in range(1000):
        assert instance.step(1e-3) == OK
    assert instance.x[cells].sum() == pytest.approx(before, rel=1e-13)


# --- friction ---------------------------------------------------------------------------------------------------------


def slipping_drive(cells, mu=0.2, v=0.0):
    """two_pulley_belt with a held pulley P1 that the belt slips on, or a fast belt that cannot carry P2's torque."""
    instance = started(model("two_pulley_belt", cells=cells), P1__mu=mu, P2__mu=mu, belt__v_start=v)
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
    q = instance.x[next(k for k, (name, _) in enumerate(instance.model.states) if name == "belt.q")]
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
@pytest.mark.parametrize("cells", [2, 3, 4, 8, 16])
def test_tensions_and_creep_are_those_of_creep_theory(cells, v):
    """At 8 m/s G v is a fifth of the slack tension. The force on a wrap is taken as that of the tensions here, too.

    The distribution along a wrap is a sum in place of an integral: errors of the order 1/cells.
    """
    m, EA, torque = 0.872421052631579, 7600.0, 25.0
    instance = started(model("two_pulley_belt", cells=cells), belt__v_start=v, belt__D=50.0, P2__b=0.0)
    instance.set("P1.w", -v / 0.1)
    instance.set("P2.tau", torque)
    for _ in range(3000):
        assert instance.step(1e-3) == OK
    tight, slack = creep_theory(0.5, torque / 0.1, 0.1, math.pi / 10.0, 400.0, EA, m, v)
    assert instance.get("P2_P1.F") == pytest.approx(tight, abs=4.0 / cells)
    assert instance.get("P1_P2.F") == pytest.approx(slack, abs=4.0 / cells)
    creep = 1.0 - instance.get("P2.w") / instance.get("P1.w_pulley")
    assert creep == pytest.approx((tight - slack) / (EA + tight), rel=2e-3)


def test_a_standing_drive_holds_a_torque():
    """Friction is dry: below the limit nothing creeps, however long."""
    instance = started(model("two_pulley_belt"), belt__D=50.0)
    instance.set("P2.tau", 30.0)
    for _ in range(4000):
        instance.step(1e-3)
    tension = instance.get("P1_P2.F")
    for _ in range(2000):
        assert instance.step(1e-3) == OK
    assert abs(instance.get("P2.w")) < 1e-9
    assert instance.get("P1_P2.F") == pytest.approx(tension, rel=1e-9)
    assert abs(instance.get("P1_P2.F") - instance.get("P2_P1.F")) == pytest.approx(300.0, rel=1e-6)


def test_a_seized_pulley_is_dragged_over_at_a_steady_torque():
    """The alternator is braked to a stand at speed: the wrap slips, at its limit, and the rest runs on."""
    unit = load_any("accessory_5pk")
    instance = started(model("accessory_5pk"), belt__v_start=20.0, alternator__mu=0.3)
    for k in range(1500):
        w = instance.get("alternator.w")
        instance.set("alternator.tau", -max(-30.0, min(2.0 * w, 30.0)))
        instance.set("crankshaft.tau", -60.0)
        assert instance.step(1e-3) in (OK, SATURATED), k
    assert abs(instance.get("alternator.w")) < 8.0
    assert instance.get("belt.v") > 5.0
    assert instance.get("alternator.slip") == pytest.approx(instance.get("belt.v"), rel=0.05)
    assert instance.get("alternator.use") == pytest.approx(1.0, abs=0.15)
    assert unit.pulleys["tensioner"].flange == "none"


# --- limits and symmetry ----------------------------------------------------------------------------------------------


def test_a_stiff_belt_moves_as_the_rigid_model():
    """EA times 100: same accelerations, and tensions as of the balances, once settled."""
    unit = load_any("accessory_5pk")
    scenario = unit.scenario[0]
    stiff = simulate(model("accessory_5pk", EA=unit.belt.EA * 100.0, damping=unit.belt.damping * 100.0), scenario)
    rigid = simulate(model("accessory_5pk", "rigid"), scenario)
    for name in unit.pulleys:
        np.testing.assert_allclose(stiff[f"{name}.w"], rigid[f"{name}.w"], atol=2e-3 * abs(rigid[f"{name}.w"][-1]))
    spans = [v.name for v in rigid.model.select("output") if v.name.endswith(".F")]
    for a, b in pairwise(spans):
        np.testing.assert_allclose(stiff[a][-1] - stiff[b][-1], rigid[a][-1] - rigid[b][-1], atol=0.5)


def test_the_rigid_models_tensions_balance_every_pulley():
    instance = started(model("accessory_5pk", "rigid"), belt__v_start=3.0)
    instance.set("crankshaft.tau", -12.0)
    instance.set("pump.tau", 2.0)
    instance.step(1e-3)
    rate = instance.derivative()[0]
    unit = load_any("accessory_5pk")
    names = list(unit.pulleys)
    path = unit.path()
    spans = [instance.get(f"{a}_{b}.F") for a, b in zip(names, names[1:] + names[:1], strict=True)]
    for i, name in enumerate(names):
        R = path.sigma[i] * path.radius[i]
        tau = instance.get(f"{name}.tau") if unit.pulleys[name].flange == "torque" else 0.0
        J = instance.work[int(instance.p[layout.W_INERTIA]) + i]
        moment = R * (spans[i] - spans[i - 1])
        assert J * rate / R == pytest.approx(tau - 0.041 * instance.get(f"{name}.w") + moment, abs=1e-9)
    arcs = path.radius * path.wrap
    weight = path.span + 0.5 * (arcs + np.roll(arcs, -1))
    assert np.average(spans, weights=weight) == pytest.approx(550.0, rel=1e-12)


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
        scenario = load_any(name).scenario[0].model_copy(update={"duration": 0.8})
        coarse, fine = (simulate(model(name, substeps=n), scenario) for n in (1, 50))
        for key in [v.name for v in coarse.model.select("output") if v.name.endswith((".w", ".F"))]:
            scale = np.abs(fine[key]).max()
            assert np.abs(coarse[key] - fine[key]).max() < 2e-3 * scale, (name, signal, key)


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


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_bad_input_or_state_fails_and_changes_nothing(fidelity, bad):
    instance = started(model("accessory_5pk", fidelity))
    instance.set("crankshaft.tau", -5.0)
    assert instance.step(1e-3) == OK
    x, y = instance.x.copy(), instance.y.copy()
    instance.u[1] = bad
    assert instance.step(1e-3) == FAILED
    assert (instance.x == x).all()
    assert (instance.y == y).all()
    instance.u[1] = 0.0
    for i in range(x.size):
        instance.x[i] = bad
        assert instance.step(1e-3) == FAILED
        instance.x[i] = x[i]
    for h in (bad, 0.0, -1e-3):
        assert instance.step(h) == FAILED
    assert instance.step(1e-3) == OK


def test_violent_inputs_leave_a_finite_state():
    rng = np.random.default_rng(3)
    for name in UNITS:
        instance = started(model(name))
        for _ in range(2000):
            scale = 10.0 ** rng.uniform(0.0, 5.0)
            instance.u[:] = scale * rng.normal(size=instance.u.size)
            instance.step(1e-3)
            assert np.isfinite(instance.x).all()
            assert np.isfinite(instance.y).all()


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
    unit = load_any("accessory_5pk")
    assert build_any(unit).fidelity == "hybrid"
    with pytest.raises(InputError, match="model = 'full': hybrid or rigid"):
        build_any(unit, "full")


def test_a_unit_without_friction_has_no_real_time_model():
    unit = load_any("two_pulley_5pk").model_copy(update={"hybrid": None})
    with pytest.raises(InputError, match="hybrid: a table with the friction coefficient"):
        build_any(unit)


def test_a_pulley_is_not_called_as_a_group_of_variables():
    text = load_any("two_pulley_5pk").text.replace("pulleys.driven", "pulleys.belt")
    with pytest.raises(InputError, match=r"pulleys.belt: a name that is not a group"):
        read_belt_unit(tomllib.loads(text), text, "drive.toml")


def test_speed_and_torque_flange_agree():
    """The two-pulley drive turned by a torque, and by the speed that this torque gave."""
    unit = load_any("two_pulley_5pk")
    driven = simulate(build_any(unit), unit.scenario[0].model_copy(update={"duration": 0.6}))
    pulleys = dict(unit.pulleys)
    pulleys["driving"] = pulleys["driving"].model_copy(update={"flange": "speed"})
    turned = unit.model_copy(update={"pulleys": pulleys})
    table = Table(time=tuple(driven.time.tolist()), value=tuple(driven["driving.w"].tolist()))
    scenario = Scenario(name="turned", duration=0.6, inputs={"driving.w": table})
    run = simulate(build_any(turned), scenario)
    late = run.time > 0.1
    scale = np.abs(driven["driven.w"]).max()
    assert np.abs(run["driven.w"] - driven["driven.w"])[late].max() < 0.01 * scale
    assert np.abs(run["driving.tau"] - driven["driving.tau"])[late].mean() < 0.5
