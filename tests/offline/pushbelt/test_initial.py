"""Start state: ring tension, gaps of the elements, flanks against the static law, velocities of a flow."""

import numpy as np
import pytest
from influence import influence_matrix

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact.elements import Elements
from rtcvt.offline.pushbelt.contact.flank import contact_points, flanks
from rtcvt.offline.pushbelt.planar import model as planar
from rtcvt.offline.pushbelt.ring.ring import N_LOAD, N_RATE, N_SHAPE, forces, rate_of, ring, shape_of
from rtcvt.offline.pushbelt.run.other_mesh import line_of, on_other_mesh
from rtcvt.offline.pushbelt.unit.initial import elements_on, ring_on, sheaves_at, start_state
from rtcvt.offline.pushbelt.unit.kinematics import LOWER, PRIMARY, SECONDARY, UPPER, belt_path, closure, evaluate
from rtcvt.offline.pushbelt.unit.parameters import (
    Boundary,
    belt,
    boundary_at,
    endplay,
    influence_numbers,
    load_parameters,
    sheaves,
)

PARAMETERS = load_parameters("pushbelt_24mm")
SHEAVES = sheaves(PARAMETERS)
BELT = belt(PARAMETERS)
CASES = ["OD", "MED", "LOW"]


def start(name, row=0, depth=0.0, **options):
    case = PARAMETERS.get_case(name)
    b = belt(PARAMETERS, **{"N_E0": case.N_E0, **options})
    return b, start_state(b, SHEAVES, Boundary(*boundary_at(case, np.array([0.0]), row)[0]), case.i_r, depth)


def joint_gaps(b, q):
    """Distance of each element's rocking arc from the rear plane of the element in front [m]."""
    c, s = np.cos(q[:, 2]), np.sin(q[:, 2])

    def at(x, y):
        return q[:, :2] + np.column_stack([c * x - s * y, s * x + c * y])

    arc, rear = at(b.t_R - b.t_S - b.r_R, b.h_R - b.h_S), np.roll(at(-b.t_S, 0.0), -1, axis=0)
    front = np.roll(np.column_stack([c, s]), -1, axis=0)
    return np.sum((rear - arc) * front, axis=1) - b.r_R


@pytest.mark.parametrize("name", [c.name for c in PARAMETERS.case])
def test_every_case_has_a_start(name):
    b, st = start(name)
    assert (b.N_E, b.N_B) == (220, 104)
    for a, shape in zip(st[:7], [(220, 3), (220, 3), (104, 5), (104, 5), (220,), (2, 4), (2, 4)], strict=True):
        assert a.shape == shape
        assert a.dtype == np.float64
        assert np.all(np.isfinite(a))
    assert np.all(np.diff(st.s_R) > 0.0)
    assert (st.s_R[0], st.s_R[-1] < b.N_B) == (0.0, True)
    ratio = st.steady.geometry.r_O / st.steady.geometry.r_I
    assert ratio == pytest.approx(PARAMETERS.get_case(name).i_r, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("taper", [0.0, 8e-6])
def test_ring_is_under_the_tension_of_the_slack_strand(name, taper):
    b, st = start(name, taper=taper)
    R = ring(b)
    shape, rate, load = np.zeros((R.N_B, N_SHAPE)), np.zeros((R.N_B, N_RATE)), np.zeros((R.N_B, N_LOAD))
    shape_of(R, st.q_R, np.cos(st.q_R[:, 2]), np.sin(st.q_R[:, 2]), shape)
    rate_of(R, st.u_R, shape, rate)
    F_R, S = np.zeros((R.N_B, 5)), np.zeros(R.N_B)
    forces(R, shape, rate, load, F_R, S)
    T = max(st.steady.L_upper, st.steady.L_lower)
    # a finite element that spans the end of an arc is no cubic any more
    assert np.median(S) == pytest.approx(T, abs=12.0)
    assert S.mean() == pytest.approx(T, rel=0.06)
    # along the strands and around the discs no node is pulled in the direction of travel
    along = F_R[:, 0] * np.cos(st.q_R[:, 2]) + F_R[:, 1] * np.sin(st.q_R[:, 2])
    assert np.median(np.abs(along)) < 0.01 * T


def test_deflections_of_a_finite_element_on_an_arc():
    """Rise of the circle over its chord at a quarter of its length, less that of the cubic with the same end slopes."""
    c = closure(0.66092, 0.155, 1.0)
    path = belt_path(c, 0.155)
    q_R, u_R = ring_on(path, 104, 3.0)
    k = int(np.argmax(path.s[2] > np.arange(104) * path.length / 104 + 2 * path.length / 104)) + 30
    p = evaluate(path, np.array([k, k + 1]) * path.length / 104)
    assert set(p.section) == {PRIMARY}
    half = 0.5 * (p.psi[0] - p.psi[1])
    chord = 2 * c.r_I * np.sin(half)
    rise = c.r_I * (np.cos(0.5 * half) - np.cos(half))  # outwards, at a quarter of the arc
    cubic = 3.0 / 16.0 * path.length / 104 * half
    assert q_R[k, 3] == pytest.approx(rise - cubic, abs=1e-15)
    assert q_R[k, 4] == pytest.approx(rise - cubic, abs=1e-15)
    assert chord < path.length / 104
    assert np.hypot(u_R[:, 0], u_R[:, 1]) == pytest.approx(3.0, rel=1e-14)
    assert u_R[k, 2] == pytest.approx(-3.0 / c.r_I, rel=1e-14)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("N_E", [110, 220, 432])
@pytest.mark.parametrize("push", [0.0, 1500.0, -1500.0])
def test_gaps_add_up_to_the_endplay(name, N_E, push):
    b, st = start(name, N_E=N_E)
    g = st.steady.geometry
    q, _, s_R = elements_on(b, st.path, 1.0, push)
    gaps = joint_gaps(b, q)
    play = endplay(b, g.wrap_I, g.wrap_O, g.r_I, g.r_O) + st.path.length - b.l_R
    assert gaps.sum() == pytest.approx(play, abs=1.2e-5)
    # closed and compressed but in the slack strand; joints at the ends of the arcs are between two states
    section = evaluate(st.path, s_R * st.path.length / b.N_B).section
    inside = np.all([np.roll(section, k) == section for k in (-2, -1, 1, 2)], axis=0)
    push_strand, slack_strand = (LOWER, UPPER) if push > 0.0 else (UPPER, LOWER)
    sunk = abs(push) / b.k_R
    if push == 0.0:
        assert gaps[inside & (section == PRIMARY)] == pytest.approx(gaps[inside].mean(), abs=1e-6 * 220 / N_E)
    else:
        assert gaps[inside & (section == push_strand)] == pytest.approx(-sunk, abs=1e-12)
        for arc in (PRIMARY, SECONDARY):
            assert gaps[inside & (section == arc)] == pytest.approx(-0.5 * sunk, abs=2e-7 * (220 / N_E) ** 2)
        assert gaps[inside & (section == slack_strand)].min() > 0.0
        assert np.ptp(gaps[inside & (section == slack_strand)]) < 1e-12


def test_push_of_the_velocity_model_is_in_the_joints():
    b, st = start("MED", row=3)
    section = evaluate(st.path, st.s_R * st.path.length / b.N_B).section
    inside = np.all([np.roll(section, k) == section for k in (-2, -1, 1, 2)], axis=0)
    force = -b.k_R * joint_gaps(b, st.q)[inside & (section == LOWER)]
    assert force == pytest.approx(74.58 / st.steady.geometry.r_O, rel=1e-6)


def test_tapered_elements_touch_along_the_cats_back():
    b, st = start("OD", taper=8e-6)
    section = evaluate(st.path, st.s_R * st.path.length / b.N_B).section
    c, s = np.cos(st.q[:, 2]), np.sin(st.q[:, 2])
    x, y = b.t_T - b.t_S, b.h_T - b.h_S
    top = st.q[:, :2] + np.column_stack([c * x - s * y, s * x + c * y])
    rear = np.roll(st.q[:, :2] + np.column_stack([-c, -s]) * b.t_S, -1, axis=0)
    gap_T = np.sum((rear - top) * np.roll(np.column_stack([c, s]), -1, axis=0), axis=1)
    gap_R = joint_gaps(b, st.q)
    middle = np.flatnonzero((section == UPPER) & (np.roll(section, 8) == UPPER) & (np.roll(section, -8) == UPPER))
    assert gap_T[middle] - gap_R[middle] == pytest.approx(0.0, abs=2e-8)  # wedges: top and rocking edge together
    arc = np.flatnonzero((section == SECONDARY) & (np.roll(section, -1) == SECONDARY))
    assert np.all(gap_T[arc] > gap_R[arc] + 1e-4)  # open on the arcs, Fig. 4.4


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("multiplier", [1.0, 0.0])
def test_flanks_carry_the_clamping_forces(name, multiplier):
    """The static coupled law with the start's geometry: penetration = influence matrix times forces."""
    case = PARAMETERS.get_case(name)
    b = belt(PARAMETERS)
    stiff = SHEAVES._replace(multiplier=multiplier)
    st = start_state(b, stiff, Boundary(*boundary_at(case, np.array([0.0]), 0)[0]), case.i_r)
    fl = flanks(b.N_E, 1)
    contact_points(b, stiff, Elements(st.q, st.u, np.cos(st.q[:, 2]), np.sin(st.q[:, 2])), st.s, fl)
    p = evaluate(st.path, st.s_R * st.path.length / b.N_B)
    for pulley, section, F in ((0, PRIMARY, st.steady.F_CI), (1, SECONDARY, st.steady.F_CO)):
        k = np.flatnonzero((p.section == section) & (fl.pulley == pulley))
        r = fl.r[k, 0].mean()
        a = influence_numbers(stiff, r)
        a[1] = max(0.0, a[1] - r**2 / (stiff.c_t * b.cos_d**4))
        angle = np.arctan2(fl.phi[k, 0, 1], fl.phi[k, 0, 0])
        C = influence_matrix(angle, a) + np.eye(len(k)) / b.c_el
        # the mean over the evenly loaded arc is the law's own
        even = np.full(len(k), F / len(k))
        tilted = abs(st.s[pulley, 2]) * r
        assert fl.pen[k, 0].mean() == pytest.approx((C @ even).mean(), rel=0.03, abs=0.03 * tilted)
        # moment of that load and the tilt it gives
        x = fl.r[k, 0] * fl.phi[k, 0, 0]
        assert st.s[pulley, 2] == pytest.approx(-np.sum(even * x) / (stiff.c_t * b.cos_d**2), rel=0.03)
        assert st.s[pulley, 1] == 0.0


def test_stiff_sheaves_are_sunk_into_by_the_flanks_alone():
    b = belt(PARAMETERS)
    hard = SHEAVES._replace(multiplier=0.0, c_t=1e15)
    g = closure(b.l_R, b.d_A, 1.0, b.h_off)
    s, _ = sheaves_at(b, hard, g, 8000.0, 8000.0)
    n = np.pi * (g.r_I - b.h_off) / b.t_R
    r_P = g.r_I - (b.h_P + 0.5 * b.h_ring - b.y_P)
    assert b.z_P - s[:, 0] - r_P * b.tan_d == pytest.approx(8000.0 / n / b.c_el, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_velocities_carry_elements_along_the_path(name):
    b, st = start(name)
    v = 5.0
    q, u, s_R = elements_on(b, st.path, v)
    p = evaluate(st.path, s_R * st.path.length / b.N_B)
    # rocking edges at v, along the tangent
    c, s = np.cos(q[:, 2]), np.sin(q[:, 2])
    x, y = 0.5 * b.t_R - b.t_S, b.h_R - b.h_S
    vx, vy = u[:, 0] - u[:, 2] * (s * x + c * y), u[:, 1] + u[:, 2] * (c * x - s * y)
    assert vx * c + vy * s == pytest.approx(v, rel=1e-12)
    assert -vx * s + vy * c == pytest.approx(0.0, abs=1e-12)
    assert u[:, 2] == pytest.approx(v * p.kappa / (1.0 + p.kappa * b.h_off), rel=1e-12)
    # an element a moment later: the same as one placed there
    h = 1e-5
    moved, _, _ = elements_on(b, st.path, v)
    inside = np.minimum.reduce([np.abs(s_R * st.path.length / b.N_B - bound) for bound in st.path.s]) > 2 * v * h
    later = evaluate(st.path, s_R * st.path.length / b.N_B + v * h / (1.0 + p.kappa * b.h_off))
    assert (moved[:, 2] + h * u[:, 2])[inside] == pytest.approx(later.psi[inside], abs=1e-12)


def test_ratio_of_the_speeds_where_the_ratio_of_the_thesis_is_given():
    """Section 7 takes i_r = 2.25 and 1.9 for speed ratios of 2.36 and 2.0: the rocking edges are at 2.33 and 1.95."""
    for name, expected in (("LOW", 2.33), ("LOW-Honda", 1.947), ("OD", 0.487)):
        _, st = start(name)
        assert st.sd[0, 3] / st.sd[1, 3] == pytest.approx(expected, rel=2e-3)
        i_s = PARAMETERS.get_case(name).i_s
        assert abs(st.sd[0, 3] / st.sd[1, 3] - i_s) < 0.03 * i_s


def test_a_ratio_that_is_not_given_is_that_of_both_speeds():
    b = belt(PARAMETERS)
    st = start_state(b, SHEAVES, Boundary(1, 0.0, 0, 6128.0, 100.0, 1, 200.0), None)
    r = np.array([st.steady.geometry.r_I, st.steady.geometry.r_O]) - b.h_off
    assert r[1] / r[0] == pytest.approx(0.5, rel=1e-9)
    assert abs(st.steady.M_O) < 0.1  # section 4.1.4: then (4.17) has no load
    with pytest.raises(InputError, match="i_r: a ratio, unless both shafts turn"):
        start_state(b, SHEAVES, Boundary(1, 0.0, 0, 6128.0, 100.0, 1, 0.0), None)


def test_end_stop_that_moves_and_a_ratio_off_the_sheaves():
    b = belt(PARAMETERS)
    st = start_state(b, SHEAVES, Boundary(1, 2e-3, 0, 1e4, 100.0, 0, 10.0), 1.0)
    assert list(st.sd[:, 0]) == [1e-3, 0.0]
    with pytest.raises(InputError, match=r"i_r = 4.0: a ratio that keeps flanks between .*primary"):
        start_state(b, SHEAVES, Boundary(1, 0.0, 0, 1e4, 100.0, 0, 10.0), 4.0)


def test_a_belt_that_slips_has_a_start():
    st = start_state(belt(PARAMETERS), SHEAVES, Boundary(1, 0.0, 0, 6128.0, 100.0, 0, 60.0), 0.5)
    assert not st.steady.converged
    assert st.steady.slips
    assert all(np.all(np.isfinite(a)) for a in st[:7])
    # speeds that are not in the given ratio
    st = start_state(belt(PARAMETERS), SHEAVES, Boundary(1, 0.0, 0, 6128.0, 100.0, 1, 205.0), 0.5)
    assert not st.steady.converged
    assert st.path.length == pytest.approx(BELT.l_R, rel=1e-3)


def test_both_clamping_forces_set_the_ratio():
    b = belt(PARAMETERS)
    one = start_state(b, SHEAVES, Boundary(1, 0.0, 0, 1e4, 100.0, 0, 10.0), 1.5)
    both = start_state(b, SHEAVES, Boundary(0, one.steady.F_CI, 0, 1e4, 100.0, 0, 10.0), 1.3)
    assert both.steady.geometry == pytest.approx(one.steady.geometry, rel=1e-6, abs=1e-12)
    assert both.q == pytest.approx(one.q, abs=1e-7)


def test_a_state_on_its_own_mesh_is_itself_and_on_another_keeps_tension_and_room():
    """A bent, uneven belt: the same mesh to rounding; twice or two thirds of it with the ring's tension."""
    (b, at), rng = start("MED", 3), np.random.default_rng(1)

    def model(b):
        return planar.model(b, SHEAVES, unilateral=True, coupled=True)

    m, x = model(b), planar.state(*at[:7], n_k=len(SHEAVES.A) - 1)
    x.q_R[:, :2] += 1e-6 * rng.standard_normal((b.N_B, 2))
    x.q[:] += 1e-5 * rng.standard_normal((b.N_E, 3))
    x.u[:, 2] += rng.standard_normal(b.N_E)
    x.z[:], x.r[:], x.load[:] = 1e-5, 0.03, 0.1
    own = on_other_mesh(m, x, m, at)
    for name in ("q", "u", "s_R", "s", "sd", "z", "r", "load"):
        np.testing.assert_allclose(getattr(own, name), getattr(x, name), rtol=1e-7, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(own.q_R, x.q_R, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(own.u_R[:, :3], x.u_R[:, :3], rtol=1e-9, atol=1e-9)
    stretch = np.diff(line_of(b.l_R / b.N_B, x.q_R)[1]).sum() / b.l_R - 1.0
    for share in (2.0, 2.0 / 3.0):
        other, there = start("MED", 3, N_E=round(share * b.N_E), N_B=round(share * b.N_B))
        y = on_other_mesh(m, x, model(other), there)
        found = np.diff(line_of(b.l_R / other.N_B, y.q_R)[1]).sum() / b.l_R - 1.0
        assert found == pytest.approx(stretch, rel=0.02)
        assert np.hypot(*y.u[:, :2].T).mean() == pytest.approx(np.hypot(*x.u[:, :2].T).mean(), rel=1e-3)
        ahead = np.mod(np.roll(y.s_R, -1) - y.s_R, other.N_B)
        assert ahead.min() > 0.8 * other.N_B / other.N_E
        assert ahead.max() < 1.3 * other.N_B / other.N_E
