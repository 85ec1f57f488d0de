"""Variator models: geometry, balance, limits and the relation of rigid and hybrid model."""

import math
from dataclasses import replace

import numpy as np
import pytest
from instances import stepped
from machines import variator_state
from refusals import refused
from variator_laws import CONSTANTS, constant_laws, corrected, instance, laws, unit

from rtcvt.errors import InputError
from rtcvt.kernel import OK, SATURATED
from rtcvt.kind import load_unit
from rtcvt.offline.pushbelt.unit.kinematics import closure, misalignment, radius_at_one
from rtcvt.unitfile import parse_unit_file
from rtcvt.variator import kernels
from rtcvt.variator.build import build_variator
from rtcvt.variator.layout import W_STEP, D, P, Q, RigidX, U, X, Y
from rtcvt.variator.reduced.model import BANDS, UNCERTAIN
from rtcvt.variator.unit import read_variator, with_flange_inputs

SPEED = {"primary": "speed"}
BOTH = {"primary": "speed", "secondary": "speed"}
FIDELITIES = ["hybrid", "rigid"]
TAN = math.tan(CONSTANTS["delta_0"])


def geometry(one, phi):
    w = np.zeros(W_STEP)
    kernels.geometry(phi, one.model.data, w)
    return w


def angle(one):
    return one.x[X.ANGLE if one.model.fidelity == "hybrid" else RigidX.ANGLE]


def run(one, seconds, h=1e-3, **values):
    for name, value in values.items():
        one.set(name.replace("__", "."), value)
    stepped(one, round(seconds / h), h)
    return one


# --- geometry ---------------------------------------------------------------------------------------------------------


def test_radii_close_the_belt():
    one, d, eps = instance(), CONSTANTS["d_A"], 1e-6
    for phi in np.linspace(0.3 * math.pi, 0.7 * math.pi, 41):
        w, above, below = (geometry(one, a) for a in (phi, phi + eps, phi - eps))
        length = 2.0 * (d * math.sin(phi) + (math.pi - phi) * w[Q.R_I] + phi * w[Q.R_O])
        assert length == pytest.approx(CONSTANTS["length"], rel=1e-14)
        assert w[Q.R_I] - w[Q.R_O] == pytest.approx(d * math.cos(phi), abs=1e-16)
        for value, slope in ((Q.R_I, Q.DR_I), (Q.R_O, Q.DR_O), (Q.I_G, Q.DI_G)):
            assert w[slope] == pytest.approx((above[value] - below[value]) / (2.0 * eps), rel=1e-7)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.3])
def test_misalignment_and_pull_are_those_of_the_pulleys_geometry(ratio):
    one = instance(ratio__start=ratio, belt__offset=-0.4e-3, belt__yield=2e-9)
    one.step(1e-3)
    c = CONSTANTS
    found = closure(c["length"], c["d_A"], one.get("ratio.i"), c["h_off"])
    expected = misalignment(found.r_I, found.r_O, radius_at_one(c["length"], c["d_A"]), TAN, -0.4e-3)
    expected -= 2e-9 * (one.get("thrust.primary") + one.get("thrust.secondary"))
    assert one.get("belt.misalignment") == pytest.approx(expected, abs=1e-12)
    half = math.acos((one.get("radius.primary") - one.get("radius.secondary")) / c["d_A"])  # wrap of the secondary
    pull = 2.0 * TAN * one.get("thrust.secondary") * math.sin(half) / half  # two cones press outwards all along it
    assert one.get("belt.pull") == pytest.approx(pull, rel=1e-12)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("ratio", [0.42, 0.7, 1.0, 2.4])
def test_start_is_at_the_start_ratio(fidelity, ratio):
    one = instance(fidelity, ratio__start=ratio)
    assert one.get("ratio.i") == pytest.approx(ratio, rel=1e-9)
    v = 200.0 * (one.get("radius.primary") - CONSTANTS["h_off"])
    assert one.get("secondary.w") * (one.get("radius.secondary") - CONSTANTS["h_off"]) == pytest.approx(v)


# --- balance ----------------------------------------------------------------------------------------------------------


def follow(fidelity, h, seconds=0.1):
    """A shift under load: change of stored energy, work in, and losses by the trapezoidal rule, and the last state."""
    one = instance(fidelity, clamp__primary__F=16e3, primary__tau=40.0, secondary__tau=-40.0)
    run(one, 0.05, h=1e-4)
    E = one.get("storage.E")
    total = 0.0
    for _ in range(round(seconds / h)):
        net = []
        for _ in range(2):
            y = one.y
            shafts = one.u[U.I] * y[Y.I] + one.u[U.O] * y[Y.O]
            net.append(shafts + y[Y.AXIAL] - y[Y.SLIDING : Y.COUPLING + 1].sum())
            if len(net) == 1:
                one.step(h)
        total += 0.5 * h * sum(net)
    return one.get("storage.E") - E - total, one.x.copy()


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_integration_is_of_second_order_and_keeps_the_balance(fidelity):
    steps = (1e-3, 5e-4, 2.5e-4)
    found = [follow(fidelity, h) for h in steps]
    fine = follow(fidelity, 2.5e-5)[1]
    errors = np.array([np.abs((x - fine) / (1e-3 + np.abs(fine))).max() for _, x in found])
    assert np.all(np.log2(errors[:-1] / errors[1:]) > 1.7)
    residuals = np.abs([r for r, _ in found])
    assert np.all(np.log2(residuals[:-1] / residuals[1:]) > 1.7)


# --- rigid model ------------------------------------------------------------------------------------------------------


def test_rigid_model_is_that_of_the_graph():
    """L1, N1, A1, B1 of eq. (10) and contact forces of eq. (11), from R, J and B_J as matrices."""
    one = instance("rigid")
    rng = np.random.default_rng(3)
    for _ in range(50):
        variator_state(one, rng)
        dx, p, data, w = one.derivative(), one.p, one.model.data, one.work
        omega, rate = one.x[0], w[Q.PHI_RATE]
        a, b, da, db = w[Q.RP_I], w[Q.RP_O], w[Q.DR_I] * rate, w[Q.DR_O] * rate
        J, B_J = np.diag([p[P.J_I], data[D.M_B], p[P.J_O]]), np.diag([p[P.B_I], 0.0, p[P.B_O]])
        R = np.array([[a, -1.0, 0.0], [0.0, 1.0, -b]])
        Q1, dQ1 = np.array([1.0, a, a / b]), np.array([0.0, da, (da * b - a * db) / b**2])
        assert np.abs(R @ Q1).max() < 1e-15
        tau = np.array([one.u[0] + w[Q.TAU_REV], -w[Q.DRAG], one.u[1]])
        L1, N1, A1 = Q1 @ J @ Q1, Q1 @ J @ dQ1, -Q1 @ B_J @ Q1
        assert L1 * dx[0] + N1 * omega == pytest.approx(A1 * omega + Q1 @ tau, rel=1e-9, abs=1e-9)
        inverse = np.linalg.inv(J)
        F = np.linalg.solve(R @ inverse @ R.T, R @ inverse @ (tau - (B_J @ Q1 + J @ dQ1) * omega))
        assert [w[Q.T_I], w[Q.T_O]] == pytest.approx(F, rel=1e-9, abs=1e-6)


def test_hybrid_without_creep_is_rigid():
    """The limit of a stiff belt that does not creep: the same shift under changing torques."""
    stiff = laws(e=0.0, c=1e-12, K_belt=1e10, d_belt=1e5)
    one, other = (instance(f, stiff, belt__l_point=1e-3) for f in FIDELITIES)
    for k in range(3000):
        t = k * 1e-4
        for model in (one, other):
            model.set("primary.tau", 40.0 * math.sin(8.0 * t) ** 2)
            model.set("secondary.tau", -30.0 * math.sin(8.0 * t) ** 2)
            model.set("clamp.primary.F", 13e3 + 5e3 * math.sin(6.0 * t) ** 2)
            model.step(1e-4)
    for name in ("primary.w", "secondary.w", "ratio.i", "belt.v", "storage.E"):
        assert one.get(name) == pytest.approx(other.get(name), rel=2e-4)
    assert abs(one.get("ratio.i") - 1.0) > 0.02
    for name in ("belt.T_I", "belt.T_O"):
        assert one.get(name) == pytest.approx(other.get(name), rel=2e-2)


# --- shifting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_ratio_stays_where_the_forces_balance_and_moves_by_the_law(fidelity):
    k, zeta, F_O = 3e-7, 1.3, 10e3
    one = instance(fidelity, constant_laws(zeta, k=k), flanges=SPEED, clamp__primary__F=zeta * F_O)
    run(one, 0.5, primary__w=200.0, secondary__tau=-30.0)
    assert one.get("ratio.i") == pytest.approx(1.0, abs=2e-5)  # clamp.F_smooth counts a little
    for y in (0.8, 1.25):
        run(one, 0.05, clamp__primary__F=y * zeta * F_O)
        r = one.get("radius.primary")
        run(one, 0.1)
        mean = 0.5 * (r + one.get("radius.primary"))
        rate = (one.get("radius.primary") - r) / 0.1
        assert rate == pytest.approx(200.0 * mean * k * F_O * (y - 1.0), rel=1e-3)


def limits(one):
    """Whether an end stop, and whether a limit of the clamping force is active."""
    return one.get("status.end_stop"), one.get("status.force_limited")


def test_the_ratio_runs_into_its_stop_and_leaves_it():
    one = instance(flanges=SPEED, reduced=constant_laws())
    run(one, 2.0, primary__w=200.0, secondary__tau=-30.0, clamp__primary__F=30e3)
    assert one.get("ratio.i") == pytest.approx(0.42, abs=1e-6)
    assert limits(one) == (1.0, 0.0)
    assert one.step(1e-3) == SATURATED
    run(one, 0.02, clamp__primary__F=10e3)
    assert one.get("ratio.i") > 0.421
    assert limits(one) == (0.0, 0.0)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_a_given_ratio_is_reached(fidelity):
    one = instance(fidelity, flanges=SPEED, clamp__control=2.0)
    run(one, 3.0, primary__w=300.0, secondary__tau=-30.0, ratio__des=1.4)
    assert one.get("ratio.i") == pytest.approx(1.4, rel=1e-4)
    assert one.get("thrust.ratio") == pytest.approx(one.get("thrust.balance"), rel=1e-4)
    assert limits(one) == (0.0, 0.0)
    run(one, 0.01, ratio__des=0.6)
    assert one.get("thrust.primary") == pytest.approx(1.6 * one.get("thrust.balance") * one.get("thrust.secondary"))
    assert limits(one) == (0.0, 1.0)


def test_pressures_act_on_pistons_with_spring_and_centrifugal_force():
    one = instance(clamp__control=1.0, clamp__primary__p=1e6, clamp__secondary__p=1.5e6, ratio__start=2.0)
    omega_I, omega_O = one.get("primary.w"), one.get("secondary.w")
    r_1 = geometry(one, 0.5 * math.pi)[Q.R_I]
    way_I, way_O = (2.0 * TAN * (one.get(f"radius.{name}") - r_1) for name in ("primary", "secondary"))
    F_I = 0.01 * 1e6 + 0.02 * omega_I**2 + 1e3 - 20e3 * way_I
    F_O = 0.006 * 1.5e6 + 0.01 * omega_O**2 + 2e3 - 30e3 * way_O
    assert one.get("thrust.primary") == pytest.approx(F_I, rel=1e-3)
    assert one.get("thrust.secondary") == pytest.approx(F_O, rel=1e-3)


# --- traction ---------------------------------------------------------------------------------------------------------


def test_slip_and_efficiency_in_steady_state_are_those_of_the_laws():
    e, c, lam, T = 0.002, 0.008, 1e-3, 900.0
    reduced = constant_laws(e=e, c=c, lam=lam)
    one = instance(flanges=SPEED, reduced=reduced, primary__b=0.0, secondary__b=0.0, clamp__control=2.0)
    r_O = one.get("radius.secondary") - CONSTANTS["h_off"]
    run(one, 1.5, primary__w=200.0, secondary__tau=-T * r_O)
    v, F = one.get("belt.v"), one.get("thrust.secondary")
    xi = T * math.cos(CONSTANTS["delta_0"]) / (2.0 * CONSTANTS["mu"] * F)
    kappa, f = CONSTANTS["m_star"] * v**2 / F, F / CONSTANTS["F_ref"]
    at = reduced.evaluate(np.array([one.get("ratio.i"), xi, kappa, f, 1.0]))
    assert at["e"][0] == pytest.approx(e, rel=0.1)  # splines
    assert one.get("belt.slip") == pytest.approx(at["e"][0] + c * xi, rel=5e-3)
    assert one.get("loss.sliding") == pytest.approx(c * xi * T * v, rel=2e-2)
    assert one.get("loss.belt") == pytest.approx(lam * F * v, rel=1e-5)
    into = one.get("primary.tau") * 200.0
    assert one.get("variator.efficiency") == pytest.approx(T * r_O * one.get("secondary.w") / into, rel=1e-4)
    assert one.get("variator.efficiency") == pytest.approx(1.0 - (c * xi * T + lam * F) * v / into, rel=1e-4)


def test_the_belt_slides_above_its_capacity_and_grips_again():
    one = instance(flanges=SPEED, reduced=constant_laws(), clamp__control=2.0)
    run(one, 0.3, primary__w=200.0, secondary__tau=-50.0)
    assert one.get("status.macro_slip") == 0.0
    assert 0.3 < one.get("belt.margin") < 0.7
    capacity = 0.95 * 2.0 * CONSTANTS["mu"] * one.get("thrust.secondary") / math.cos(CONSTANTS["delta_0"])
    run(one, 0.03, secondary__tau=-150.0)
    assert one.get("status.macro_slip") == 1.0
    assert one.get("belt.margin") == pytest.approx(0.0, abs=1e-12)
    assert one.get("belt.T_O") == pytest.approx(capacity, rel=1e-9)
    assert one.get("belt.slip") > 0.2
    run(one, 0.4, secondary__tau=-50.0)
    assert one.get("status.macro_slip") == 0.0
    assert one.get("belt.slip") < 0.01


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_belt_that_slides_on_the_primary_and_drives_it_shifts_faster(sign):
    k, e, c, slide, F_O, y = 1e-8, 0.002, 0.008, 0.3, 20e3, 0.6
    reduced = constant_laws(1.0, k=k, e=e, c=c, slide=slide)
    one = instance(reduced=reduced, flanges=SPEED, clamp__primary__F=y * F_O, clamp__secondary__F=F_O)
    r_O = one.get("radius.secondary") - CONSTANTS["h_off"]
    for seconds, T, slides in ((0.2, 1500.0, 0.0), (0.02, 3000.0, 1.0)):  # the primary holds 2.4 kN
        run(one, seconds, primary__w=200.0, secondary__tau=-sign * T * r_O)
        assert one.get("status.macro_slip") == slides
        x = one.work[Q.RR_I] / (200.0 * one.get("radius.primary"))
        beyond = slides * (abs(one.get("belt.slip")) - abs(e + c * one.work[Q.XI]))
        more = slide * beyond / (1.0 + beyond) if sign < 0.0 else 0.0
        assert x == pytest.approx((k * F_O + more) * (y - 1.0), rel=0.02)
    assert beyond > 0.05
    assert one.get("loss.shift") > 0.0


@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("d", [500.0, 3000.0, 20e3])
def test_a_belt_below_its_capacity_grips_again_at_any_damping_and_step(d, h):
    """Random points at 99 % of the weaker pulley's capacity, behind 10 ms of overload."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        zeta, F, direction = rng.uniform(0.7, 1.6), rng.uniform(5e3, 30e3), rng.choice([-1.0, 1.0])
        start = {"ratio__start": rng.uniform(0.5, 2.2), "primary__w_start": rng.uniform(60.0, 500.0)}
        reduced = constant_laws(zeta, k=1e-13, c=10.0 ** rng.uniform(-3.0, -1.5), d_belt=0.5 * d)
        one = instance("hybrid", reduced, SPEED, clamp__primary__F=zeta * F, clamp__secondary__F=F, **start)
        one.set("secondary.b", 0.0)
        data = one.model.data.copy()
        data[D.INTERNAL_STEP] = h
        one.model = replace(one.model, data=data)
        w = one.work
        T = direction * 0.99 * min(w[Q.CAP_I] - w[Q.DRAG], w[Q.CAP_O])
        tau = -T * w[Q.RP_O]
        run(one, 0.1, h, primary__w=start["primary__w_start"], secondary__tau=0.5 * tau)
        assert one.get("status.macro_slip") == 0.0
        run(one, 0.01, h, secondary__tau=1.3 * tau)
        assert abs(one.get("belt.slip")) > 0.01
        run(one, 1.0, h, secondary__tau=tau)
        for _ in range(10):
            run(one, h, h)
            assert one.get("status.macro_slip") == 0.0
        assert one.get("belt.T_O") == pytest.approx(T, rel=1e-3)


def test_a_standing_variator_holds_its_load_and_turns_either_way():
    one = instance(primary__w_start=0.0, reduced=constant_laws(e=0.0), primary__tau=80.0, secondary__tau=-80.0)
    run(one, 1.0)
    assert abs(one.get("primary.w")) < 1e-3
    assert one.get("belt.T_O") == pytest.approx(80.0 / (one.get("radius.secondary") - CONSTANTS["h_off"]), rel=1e-3)
    for sign in (1.0, -1.0):
        run(one, 1.0, primary__tau=80.0 + sign * 20.0)
        assert sign * one.get("primary.w") > 20.0
        assert 0.9 < one.get("variator.efficiency") <= 1.0
    still = instance(primary__w_start=0.0)
    run(still, 0.1)
    assert np.all(still.x[:5] == 0.0)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_both_directions_are_mirror_images(fidelity):
    one = instance(fidelity, clamp__primary__F=16e3)
    other = instance(fidelity, clamp__primary__F=16e3, primary__w_start=-200.0)
    for k in range(200):
        for model, sign in ((one, 1.0), (other, -1.0)):
            model.set("primary.tau", sign * 60.0 * math.sin(0.1 * k))
            model.set("secondary.tau", sign * -50.0 * math.cos(0.07 * k))
            model.step(1e-3)
    assert angle(one) == angle(other)
    mirrored = -other.x
    even = [X.ANGLE, X.BALANCE_F] if fidelity == "hybrid" else [RigidX.ANGLE, RigidX.BALANCE_F]
    mirrored[even] *= -1.0
    assert np.array_equal(one.x, mirrored)


def test_the_stiff_part_is_that_of_the_held_laws():
    """Against differences of the rates with laws and radii held, at random states off the limits of traction."""
    one = instance(flanges=BOTH)
    rng = np.random.default_rng(5)
    p, data, w, n, checked = one.p, one.model.data, one.work, len(one.x), 0
    for _ in range(200):
        variator_state(one, rng)
        one.derivative()
        fast = np.zeros(n * n)
        kernels.fast_jacobian(one.x, p, data, w, fast)
        slides = w[Q.SLIP_I], w[Q.SLIP_O]
        expected, same = np.zeros((n, n)), True
        for j in range(n):
            d = 1e-5 * (1.0 + abs(one.x[j]))
            ends = []
            for side in (d, -d):
                x, dx = one.x.copy(), np.zeros(n)
                x[j] += side
                kernels.held_rates(x, one.u, p, data, dx, w)
                same &= (w[Q.SLIP_I], w[Q.SLIP_O]) == slides
                ends.append(dx)
            expected[:, j] = (ends[0] - ends[1]) / (2.0 * d)
        columns = [j for j in range(n) if j != X.ANGLE]  # the radii are held
        if same:
            found = fast.reshape(n, n)[:, columns]
            scale = np.abs(found).max(axis=1, keepdims=True)
            assert np.all(np.abs(found - expected[:, columns]) < 1e-5 * scale + 1e-9 * (1.0 + scale.max()))
            checked += 1
    assert checked > 100


# --- contact forces ---------------------------------------------------------------------------------------------------


def test_fields_have_their_units_and_sections():
    one = instance(extra='fields = ["push", "flank_normal", "element_offset"]\ncells = 4\n', clamp__secondary__F=20e3)
    F, phi, d = one.get("thrust.secondary"), angle(one), CONSTANTS["d_A"]
    r_I, r_O = one.get("radius.primary"), one.get("radius.secondary")
    lengths = [2.0 * (math.pi - phi) * r_I, d * math.sin(phi), 2.0 * phi * r_O, d * math.sin(phi)]
    assert sum(lengths) == pytest.approx(CONSTANTS["length"])
    for k in range(16):
        assert one.get(f"field.push[{k + 1}]") == pytest.approx(0.5 * F)
        assert one.get(f"field.flank_normal[{k + 1}]") == pytest.approx(0.5 * F / lengths[k // 4])
        assert one.get(f"field.element_offset[{k + 1}]") == pytest.approx(0.5 * F * CONSTANTS["ring_stretch"])
    one.x[X.BALANCE_F] = 0.8
    one.outputs()
    z = np.array([[one.get("ratio.i"), 0.0, 0.0, 2.0, 0.8]])
    z[0, 2] = CONSTANTS["m_star"] * one.get("belt.v") ** 2 / F
    found = laws().evaluate(z)
    assert one.get("peak.push") == pytest.approx(found["peak.push"][0] * F, rel=1e-6)
    assert one.get("peak.flank_normal") == pytest.approx(
        found["peak.flank_normal"][0] * F / CONSTANTS["length"], rel=1e-6
    )


def test_forces_across_and_uncertainty_come_out_if_the_laws_have_them():
    names = {"exit_force.primary", "exit_force.secondary", "ring.margin", "uncertainty.flank_peak", "uncertainty.slip"}
    assert not names & set(instance().model.by_name)
    one = instance(reduced=corrected(), extra='fields = ["push"]\n')
    run(one, 0.05, primary__tau=20.0, secondary__tau=-20.0)
    F = one.get("thrust.secondary")
    xi = one.x[X.T_F] * math.cos(CONSTANTS["delta_0"]) / (2.0 * CONSTANTS["mu"] * F)
    z = [[one.get("ratio.i"), xi, CONSTANTS["m_star"] * one.get("belt.v") ** 2 / F, F / 1e4, one.x[X.BALANCE_F]]]
    found = {name: float(value[0]) for name, value in corrected().evaluate(np.array(z)).items()}
    assert one.get("thrust.balance") == pytest.approx(found["zeta"], rel=1e-5)
    assert one.get("exit_force.secondary") == pytest.approx(found["exit_force.secondary"] * F, rel=1e-4)
    assert one.get("ring.margin") == pytest.approx(found["ring_to_pillar"], rel=1e-4)
    assert one.get("uncertainty.thrust_ratio") == pytest.approx(0.02 * found["zeta"], rel=1e-5)
    assert one.get("uncertainty.slip") == pytest.approx(1e-3)
    assert one.get("uncertainty.flank_peak") == pytest.approx(0.1 * one.get("peak.flank_normal"))
    of_laws, of_belt = (np.array([one.get(f"{band}.{name}") for name in UNCERTAIN]) for band in BANDS)
    assert of_belt == pytest.approx(3.0 * of_laws, rel=1e-6)
    laws_alone = instance(reduced=replace(corrected(), parametric=np.zeros((0, 0, 0, 0, 4)))).model.by_name
    assert "uncertainty.parameters.slip" not in laws_alone


def test_uncertainty_grows_where_the_belt_slides_as_a_whole():
    one = instance(reduced=corrected(), extra='fields = ["push"]\n')
    run(one, 0.3, primary__tau=400.0, secondary__tau=-400.0)
    assert one.get("status.macro_slip")
    assert one.get("belt.slip") > 0.1
    for name, size in (("slip", 1.0), ("efficiency", 1.0), ("flank_peak", one.get("peak.flank_normal"))):
        assert one.get(f"uncertainty.{name}") > (one.get("belt.slip") - 0.05) * size
        assert one.get(f"uncertainty.parameters.{name}") > (one.get("belt.slip") - 0.05) * size


def test_outside_of_the_data_is_said():
    one = instance(clamp__primary__F=13e3)
    assert one.get("status.extrapolating") == 0.0
    assert one.step(1e-3) == OK
    one.set("clamp.primary.F", 40e3)  # y above 2
    one.step(0.1)
    assert one.step(1e-3) == SATURATED
    assert one.get("status.extrapolating") == 1.0


def test_standstill_is_not_outside_of_the_shipped_data():
    one = load_unit("pushbelt_cvt").build("hybrid").instantiate()
    for force, speed, outside in ((12e3, 0.0, 0.0), (2e3, 0.0, 0.0), (2e3, 100.0, 1.0)):
        one.set("primary.w_start", speed)
        one.set("clamp.secondary.F", force)
        one.initialise()
        assert one.get("status.extrapolating") == outside


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_the_laws_follow_the_forces_as_the_belt_runs(fidelity):
    """Behind a force step y_f has gone 1 - 1/e of the way after l_point of the belt; the shift rate answers at once."""
    k, l_point = 3e-7, 0.1
    one = instance(fidelity, constant_laws(1.0, k=k), flanges=SPEED, clamp__primary__F=10e3)
    run(one, 0.5, primary__w=200.0, secondary__tau=0.0)
    at = X.BALANCE_F if fidelity == "hybrid" else RigidX.BALANCE_F
    assert one.x[at] == pytest.approx(1.0, abs=0.01)
    one.set("clamp.primary.F", 13e3)
    one.outputs()
    at_once = one.get("ratio.rate")
    run(one, l_point / one.get("belt.v"))
    assert one.x[at] == pytest.approx(1.3 - 0.3 * math.exp(-1.0), abs=0.01)
    assert one.get("ratio.rate") == pytest.approx(at_once, rel=0.02)


# --- robustness -------------------------------------------------------------------------------------------------------


# --- unit files -------------------------------------------------------------------------------------------------------


def test_what_cannot_be_built_is_named():
    refused(r"reduced = 'none': a file, or a shipped model: pushbelt_24mm_belief$", build_variator, unit(), "hybrid")
    refused("model = 'full': 'rigid' or 'hybrid'", lambda: build_variator(unit(), "full", reduced=laws()))
    with pytest.raises(InputError, match=r"ratio\.min = 0\.42: a ratio that this belt can have: 0\.51 to 1\.96"):
        build_variator(unit(), "hybrid", reduced=laws(length=2.0))
    short = read_variator(parse_unit_file(unit().text.replace("primary.b = 1e-3\n", ""), "v"))
    refused(r"parameters\.primary\.b: this key is required", lambda: build_variator(short, "hybrid", reduced=laws()))
    with pytest.raises(InputError, match="fields = 'tension': of flank_normal, push"):
        build_variator(unit(extra='fields = ["tension"]\n'), "hybrid", reduced=laws())
    refused("third = 'speed': one of the flanges", lambda: with_flange_inputs(unit(), {"third": "speed"}))
