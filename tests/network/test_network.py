"""Connected flanges: closed forms, orders of the step, power at nodes, totality; and what must not be connected.

Discs are gear systems of one gear. The step runs in Python here (`interpret`), so that nothing is compiled for it; that
it is the compiled one is told by `test_random_systems`.
"""

import re

import numpy as np
import pytest
from discs import discs, interpreted
from hostile_inputs import harsh_inputs
from instances import started, stepped
from refusals import refused
from rows import text_of
from scipy.linalg import expm

from rtcvt.errors import InputError
from rtcvt.kernel import FAILED, OK
from rtcvt.kind import load_unit
from rtcvt.network.model import components_of
from rtcvt.numerics.linearisation import linearise
from rtcvt.offline.systems import check
from rtcvt.unitfile import parse_unit_file, shipped_units


@pytest.fixture
def folder(tmp_path):
    return discs(tmp_path)


def system(folder, text, step=1e-3):
    """A system whose parts make internal steps of `step` at most."""
    head = 'name = "system"\nkind = "system"\n'
    tail = f"\n[solver]\nstep = {step!r}\n"
    return load_unit(parse_unit_file(head + text + tail, "system.toml", folder))


def built(folder, text, step=1e-3, change=None):
    """Its model, whose step is interpreted; `change` makes a mutant of the text of the kernels."""
    with interpreted(change):
        return system(folder, text, step).build()


def run(model, duration, step, inputs=(), parameters=()):
    """Outputs over time by name."""
    instance = started(model, dict((*inputs, *parameters)))
    rows = [instance.y.copy()]
    for _ in range(round(duration / step)):
        assert instance.step(step) != FAILED
        rows.append(instance.y.copy())
    table = np.array(rows)
    return {v.name: table[:, v.index] for v in model.select("output")}


TWO = text_of("units/two_discs.toml")


def errors_of_two(folder, change=None):
    """Errors of speeds, and of the twist by the shaft's energy, after 0.1 s; internal steps of 1, 1/2 and 1/4 ms."""
    J_1, J_2, K, d = 0.1, 0.3, 500.0, 0.5
    A = np.array([[-d / J_1, d / J_1, -K / J_1], [d / J_2, -d / J_2, K / J_2], [1.0, -1.0, 0.0]])
    exact = expm(0.1 * A) @ [10.0, 0.0, 0.0]
    found = []
    for parts in (1, 2, 4):
        r = run(built(folder, TWO % (parts, parts), change=change), 0.1, 1e-3)
        state = r["one.f.w"][-1], r["two.f.w"][-1], np.copysign(np.sqrt(2.0 * r["s.E"][-1] / K), exact[2])
        found.append(np.linalg.norm(state - exact))
    return found


def test_two_discs_on_a_shaft_follow_their_closed_form_at_order_three(folder):
    errors = errors_of_two(folder)
    assert errors[0] < 0.02
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 2.8)


def test_a_held_input_fails_the_order(folder):
    def hold(text):
        text, n = re.subn(
            r'(parts with connected flanges, and residuals at the nodes."""\n)    close\(x', r"\1    held(x", text
        )
        assert n == 1
        return text + "\n\ndef held(x, data, work):\n    close(work[places.w_start(data) :], data, work)\n"

    errors = errors_of_two(folder, hold)
    assert np.log2(errors[1] / errors[2]) < 1.5


NODE = text_of("units/node.toml")


def test_two_discs_at_a_node_are_one(folder):
    r = run(built(folder, NODE), 0.2, 1e-3)
    assert r["one.f.w"][0] == pytest.approx(0.2 * 6.0 / 0.3, rel=1e-8)  # they start with the momentum that they have
    t = 1e-3 * np.arange(201)
    w = 4.0 * np.exp(-0.5 / 0.3 * t)
    assert np.allclose(r["one.f.w"], w, rtol=1e-6)
    assert np.allclose(r["one.f.w"], r["rough.f.w"], rtol=0, atol=1e-13)
    assert np.allclose(r["one.f.tau"], -0.1 * 0.5 / 0.3 * w, rtol=1e-7)  # the multiplier is what turns the other disc
    assert np.allclose(r["one.f.tau"] + r["rough.f.tau"], 0.0, atol=1e-13)


@pytest.mark.parametrize(("when", "order"), [("last and n > 0", 2.0), ("False", 1.0)])
def test_torques_at_nodes_have_the_order_of_the_states(folder, when, order):
    """With nothing in df/dx the step has order 2, and so have torques, unless they are left as the step finds them."""

    def change(text):
        text, n = re.subn(r"if last and n > 0:(\n +find_torques)", rf"if {when}:\1", text)
        assert n == 1
        none = "work[places.jacobian(i, data) :][: places.part_states(i, data) ** 2] = 0.0"
        for name in ("part_linearise", "part_again"):
            given = "(i, t, x, p, data, dx, work)"
            text += f"\n\n{name}_exact = {name}\n\n\ndef {name}{given}:\n    {name}_exact{given}\n    {none}\n"
        return text

    found, start = [], [(f"{name}.gear.a.w_start", 4.0) for name in ("one", "rough")]
    for step in (1e-3, 5e-4, 2.5e-4):
        r = run(built(folder, NODE, step, change), 0.05, step, parameters=start)
        found.append([r["one.f.w"][-1] - 4.0 * np.exp(-1 / 12), r["one.f.tau"][-1] + 2 / 3 * np.exp(-1 / 12)])
    speed, torque = np.log2(np.abs(np.array(found[:-1]) / found[1:])).T
    assert np.allclose(speed, 2.0, atol=0.1)
    assert np.allclose(torque, order, atol=0.1)


REDUCTION = text_of("units/reduction.toml")


def test_a_planetary_set_with_its_ring_on_ground(folder):
    model = built(folder, REDUCTION)
    r = run(model, 0.05, 1e-3, inputs=[("box.sun.tau", 10.0)])
    r_s, r_p = 0.030, 0.024
    i = 2.0 * (r_s + r_p) / r_s  # sun over carrier
    assert np.allclose(r["box.ring.w"], 0.0, atol=1e-12)
    assert np.allclose(r["box.sun.w"], i * r["two.f.w"], rtol=1e-9, atol=1e-12)
    balance = 10.0 + r["box.ring.tau"][1:] + r["box.carrier.tau"][1:]  # what is left turns gears and friction
    assert np.all(np.abs(balance) < 1.0)
    assert r["two.f.tau"][-1] == pytest.approx(-r["box.carrier.tau"][-1], rel=1e-12)
    assert r["two.f.tau"][-1] == pytest.approx(10.0 * i, rel=0.15)


def test_check_compares_rigid_components_with_elastic_ones(folder):
    text = REDUCTION + text_of("units/reduction_pull.toml")
    with interpreted():
        given = {"scenario": None, "settings": {}}
        made = check(system(folder, text % 0.2), given, lambda *told: None)
        assert made.passed
        assert made.figures["against"] == {"box": "full", "two": "full"}
        assert {e["signal"] for e in made.figures["errors"]} >= {"box.ring.tau", "box.carrier.tau", "box.carrier.w"}
        made = check(system(folder, text % 1e-9), given, lambda *told: None)
        assert made.failures
        with pytest.raises(InputError, match="a rigid and another model"):
            check(system(folder, '[components.cycle]\nunit = "wltc"\n'), given, lambda *told: None)


def test_a_parameter_of_another_model_of_a_unit_counts_in_that_model(folder):
    """The teeth of a gear system are elastic in its full model alone."""
    text = REDUCTION.replace('"planetary"', '"planetary"\nparameters = { "contact.sp.K" = "%s", "gear.s.J" = 0.1 }\n%s')
    for model, K in (("rigid", None), ("full", 8e7)):
        made = components_of(system(folder, text % ("80 MN/m", f'model = "{model}"'))).models["box"]
        assert made.by_name["gear.s.J"].start == 0.1
        assert ("contact.sp.K" in made.by_name) == (K is not None)
        assert K is None or made.by_name["contact.sp.K"].start == made.p[made.by_name["contact.sp.K"].index] == K
        with pytest.raises(InputError, match=r"components.box.parameters.contact.sp.K = '80 kg'"):
            components_of(system(folder, text % ("80 kg", f'model = "{model}"')))


NOT_CHECKED = {"car_electric", "vehicle_wltc"}  # no component with a rigid and another model
SLIDES = pytest.param("vehicle_kers", marks=pytest.mark.xfail(reason="its variator slides", strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(shipped_units("system").keys() - NOT_CHECKED - {"vehicle_kers"}), SLIDES])
def test_every_shipped_system_is_within_its_limits(name):
    """On its first scenario."""
    unit = load_unit(name)
    made = check(unit, {"scenario": unit.scenario[0].name, "settings": {}}, lambda *told: None)
    assert made.passed, made.failures


STAGE = text_of("units/stage.toml")
STAGES = text_of("units/stages.toml")


@pytest.mark.parametrize("model", ["rigid", "full"])
def test_losses_of_two_gear_trains(folder, model):
    """A heavy wheel driven and coasting: both efficiencies in its torque, and their heat in the balance."""
    for name, eta in (("first", 0.98), ("second", 0.95)):
        (folder / f"{name}.toml").write_text(STAGE.format(eta=eta))
    box = started(built(folder, STAGES.format(model=model)), first__fast__tau=40.0)
    for tau in (40.0, -10.0):
        box.set("first.fast.tau", tau)
        books = []
        for steps in (200, 20):
            stepped(box, steps)
            heat = [
                box.get(f"{part}.{q}.Q")
                for part in ("first", "second")
                for q in ("mesh.ab", "contact.ab")[: 1 + (model == "full")]
            ]
            stored = box.get("first.storage.E") + box.get("second.storage.E")
            books.append(np.array([sum(heat), stored, box.get("first.fast.w"), box.get("second.slow.w")]))
        heat, stored, _, slow = books[1] - books[0]
        assert 50.0 * slow / 0.02 == pytest.approx(4.0 * tau * (0.98 * 0.95) ** np.sign(tau), rel=2e-3)
        supplied = 0.02 * tau * 0.5 * (books[0] + books[1])[2]
        assert supplied - stored == pytest.approx(heat, abs=1e-9 * abs(supplied))


CLUTCHED = text_of("units/clutched.toml")


def test_a_clutch_between_two_discs_slips_as_it_should_and_sticks(folder):
    r = run(built(folder, CLUTCHED), 0.2, 1e-3)
    C = r["clutch.clutch.C"][-1]
    J_1, J_2 = 0.1, 0.4  # the hub is with the second disc
    t = 1e-3 * np.arange(201)
    slipping = t < 50.0 / (C / J_1 + C / J_2) - 2e-3
    assert 30 < slipping.sum() < 180
    assert np.allclose(r["one.f.w"][slipping], 50.0 - C / J_1 * t[slipping], atol=0.02)
    assert np.allclose(r["two.f.w"][slipping], C / J_2 * t[slipping], atol=0.02)
    assert np.all(r["clutch.clutch.w_slip"][-5:] == 0.0)
    momentum = J_1 * r["one.f.w"] + J_2 * r["two.f.w"]
    assert np.allclose(momentum, momentum[0], rtol=1e-9)
    heat = 0.5 * J_1 * 50.0**2 - 0.5 * (J_1 + J_2) * (momentum[0] / (J_1 + J_2)) ** 2
    assert r["clutch.clutch.Q"][-1] == pytest.approx(heat, rel=0.02)
    through = np.abs(r["one.f.tau"] * r["one.f.w"]).max()
    for a, b in (("one.f", "clutch.a"), ("two.f", "clutch.b")):  # no power is made at a node
        made = r[f"{a}.tau"] * r[f"{a}.w"] + r[f"{b}.tau"] * r[f"{b}.w"]
        assert np.abs(made).max() <= 1e-9 * through


@pytest.mark.parametrize("text", [CLUTCHED, TWO % (1, 1)], ids=["parts", "shaft"])
def test_what_is_tuned_in_a_run_counts_as_if_it_had_always_been_so(folder, text):
    model = built(folder, text)
    one = started(model)
    stepped(one, 20)
    tunable = [v.name for v in model.select("parameter") if v.tunable]
    assert {v.partition(".")[0] for v in tunable} >= ({"clutch", "one", "two"} if text == CLUTCHED else {"s"})
    for name in tunable:
        tuned, other = one.copy(), model.instantiate()
        other.set(name, 1.1 * one.get(name) + 1e-3)
        other.initialise()
        other.x[:] = one.x
        tuned.tune(name, other.get(name))
        assert np.array_equal(tuned.x, one.x)
        for _ in range(3):
            assert tuned.step(1e-3) == other.step(1e-3)
        assert np.array_equal(tuned.x, other.x), name
        assert np.array_equal(tuned.y, other.y), name


def test_a_step_whose_iteration_does_not_converge_goes_on(folder):
    def never(text):
        text, n = re.subn(r"(?m)^(MAX_NEWTON_ITERATIONS =) 30\b", r"\1 1", text)
        assert n == 1
        return text

    r, true = (run(built(folder, CLUTCHED, change=change), 0.2, 1e-3) for change in (never, None))
    for name in ("one.f.w", "two.f.w"):
        assert np.allclose(r[name], true[name], atol=0.02)
    assert r["clutch.clutch.Q"][-1] == pytest.approx(true["clutch.clutch.Q"][-1], rel=1e-3)


BACK_TO_BACK = text_of("units/back_to_back.toml")


def test_a_node_whose_flanges_all_slip(folder):
    """Two clutches back to back: the speed between them, where only clutches are, jumps to the one that holds."""
    one = started(built(folder, BACK_TO_BACK))
    get = one.get
    momentum = 0.2 * get("one.f.w") + 0.4 * get("two.f.w")  # hubs are with the discs
    through = 0.0
    for u_a, u_b in ((0.0, 0.0), (0.1, 0.1), (0.05, 0.1), (0.1, 0.05), (0.0, 0.1), (0.0, 0.0), (0.1, 0.3)):
        one.set("A.clutch.u", u_a)
        one.set("B.clutch.u", u_b)
        for _ in range(20):
            assert one.step(1e-3) == OK
            through = max(through, abs(get("A.a.tau") * get("A.a.w")))
            assert abs(get("A.a.tau") + get("B.a.tau")) <= 1e-10 * (1.0 + abs(get("A.a.tau")))
        if u_a != u_b:
            assert (get("A.clutch.stuck"), get("B.clutch.stuck")) == (u_a > u_b, u_b > u_a)
            assert get("A.a.w") == pytest.approx(get("one.f.w" if u_a > u_b else "two.f.w"), abs=0.3)
        assert 0.2 * get("one.f.w") + 0.4 * get("two.f.w") == pytest.approx(momentum, rel=1e-9)
    assert through > 100.0
    assert get("A.clutch.Q") > 5.0
    one.set("A.clutch.u", 0.0)
    one.set("B.clutch.u", 0.0)
    one.initialise()
    refused("a flange that does not slip", linearise, one)
    parts = [f"{name}.storage.E" for name in ("one", "two", "A", "B")] + ["A.clutch.Q", "B.clutch.Q"]
    assert sum(get(name) for name in parts) == pytest.approx(0.5 * 0.2 * 25.0**2, rel=0.02)


@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_the_step_is_total(folder, step):
    model = built(folder, CLUTCHED)
    instance = started(model)
    random = np.random.default_rng(2)
    for k in range(40):
        instance.u[:] = 10.0 ** random.uniform(-3, 11, len(instance.u)) * random.choice([-1.0, 0.0, 1.0])
        if k % 10 == 9:
            instance.u[0] = random.choice([np.nan, np.inf])
        before = instance.x.copy()
        status = instance.step(step)
        assert np.isfinite(instance.x).all()
        if status == FAILED:
            assert np.array_equal(before, instance.x)
    instance.u[:] = 0.0
    instance.initialise()
    assert instance.step(step) == OK


@pytest.mark.slow
def test_rollers_that_slip_make_no_energy(folder):
    """A linearly implicit step from a roller that slides took it to 2e5 rad/s; converged steps reach 10."""
    model = load_unit(parse_unit_file(text_of("units/slipping_kers.toml"), "system.toml", folder)).build()
    for seed in range(4):
        instance = started(model)
        for u in harsh_inputs(model, 2000, np.random.default_rng(seed)):
            instance.u[:] = u
            assert instance.step(1e-3) != FAILED
            assert abs(instance.get("kers.gear.c.w")) < 30.0


PUSHED = text_of("units/pushed.toml")


def test_a_driveline_that_pushes_does_not_move_what_brakes_hold(folder):
    """Its spring rings out, by the way of the brakes' spring; then the car rests, until the push is too much."""
    instance = started(built(folder, PUSHED))
    v, lost = [], []
    for k in range(1600):
        instance.set("driveline.shaft.load", -200.0 * min(k / 100, 1.0))
        assert instance.step(1e-3) == OK
        v.append(instance.get("vehicle.vehicle.v"))
        lost.append(instance.get("vehicle.heat.brake"))
    assert np.abs(v).max() < 1e-3
    assert np.abs(v[1000:]).max() < 1e-9
    assert abs(instance.get("vehicle.vehicle.s")) < 1e-6
    assert min(lost) >= 0.0
    grade = 1400 * 9.81 * 0.12 / np.hypot(1.0, 0.12)
    carried = instance.get("vehicle.force.brake") + instance.get("vehicle.force.roll")
    assert carried == pytest.approx(200.0 * 5.0 / 0.3 - grade, rel=1e-4)
    instance.set("driveline.shaft.load", -700.0)
    stepped(instance, 300, status=OK)
    assert instance.get("vehicle.vehicle.v") > 0.05


# --- what cannot be connected -----------------------------------------------------------------------------------------

CAR = text_of("units/car.toml").partition('kind = "system"\n')[2]


def test_components_of_expressions_keep_the_order_of_the_file():
    """Two of them had the order of a set, which differed from process to process."""
    graph = components_of(load_unit("all_wheel_drive"))
    assert list(graph.models) == list(graph.system.components)


def test_a_loop_of_signals_without_memory_is_named(folder):
    refused(r"one\.control\.tau_des.*two\.control\.tau_des.*at once", built, folder, text_of("units/loop.toml"))


def test_signals_come_without_delay(folder):
    model = built(folder, CAR)
    instance = model.instantiate()
    instance.initialise(12.05)  # the cycle has begun to move
    instance.step(1e-3)
    v_des = instance.get("cycle.cycle.v")
    driver = load_unit("driver").build().instantiate()
    gain = driver.get("driver.K_p")
    z = instance.x[[s.name for s in model.states].index("driver.driver.z")]
    tau = gain * (v_des - instance.get("vehicle.vehicle.v")) + z
    assert instance.get("driver.drive.tau") == pytest.approx(tau, rel=1e-3)


def test_signals_are_carried_anew_where_something_changed(folder):
    model = built(folder, CAR)
    plain, asked, ten = (model.instantiate() for _ in range(3))
    for one in (plain, asked, ten):
        one.initialise(12.0)
    for k in range(30):
        for one in (plain, asked, ten):
            one.set("vehicle.road.slope", 0.02 * (k // 10))
        asked.outputs()  # which forgets what was carried
        for one in (plain, asked):
            one.step(1e-3)
        assert np.array_equal(plain.x, asked.x)
        assert np.array_equal(plain.y, asked.y)
        if k % 10 == 0:
            ten.step(1e-2)
    assert np.allclose(plain.y, ten.y, rtol=1e-9, atol=1e-12)


def test_speeds_that_are_tied_twice_are_named(folder):
    held = 'connect = ["box.sun - ground", "box.ring - ground", "box.carrier - ground"]\n[components.box]\n'
    with pytest.raises(InputError, match=r"box\.carrier, box\.ring, box\.sun.*tied together once"):
        built(folder, held + 'unit = "planetary"\nmodel = "rigid"\n')
    built(folder, held + 'unit = "planetary"\nmodel = "full"\n')


def test_a_step_of_a_million_internal_ones_is_refused(folder):
    text = 'connect = ["box.sun - ground"]\n[components.box]\nunit = "planetary"\nmodel = "rigid"\n'
    refused(r"solver\.step.*10000.*less than .* s, 1e\+06 internal steps of", built, folder, text, 1e4)
