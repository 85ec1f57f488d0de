"""Cat's back: wedges laid out one by one, closed forms, continuous tangent, quadrature, limit of no taper."""

import numpy as np
import pytest

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.kinematics import LOWER, PRIMARY, SECONDARY, UPPER, belt_path, closure, evaluate
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.offline.pushbelt.unit.taper import cats_back_centre, cats_back_radius, rocking_angle, tapered_path

PARAMETERS = load_parameters("pushbelt_24mm")
D_A = PARAMETERS.pulleys.d_A
RATIOS = [0.5, 1.0, 2.4]


def geometry(ratio):
    return closure(PARAMETERS.ring.l_R, D_A, ratio)


@pytest.mark.parametrize(("taper", "radius", "sag"), [(5e-6, 1.86, 1.5e-3), (8e-6, 1.16, 2.4e-3)])
def test_radius_and_sag_of_the_unit(taper, radius, sag):
    b = belt(PARAMETERS, taper=taper)
    r_st = cats_back_radius(b)
    assert r_st == pytest.approx(radius, rel=5e-3)
    first_order = (b.h_T - b.h_R) * b.t_R / (b.t_T - b.t_R) + b.h_off
    assert r_st == pytest.approx(first_order, rel=2e-3)
    assert D_A**2 / (8 * r_st) == pytest.approx(sag, rel=0.1)
    assert cats_back_radius(belt(PARAMETERS, N_E=432, taper=taper)) == pytest.approx(r_st, rel=1e-4)


def test_no_taper_is_a_straight_strand():
    b = belt(PARAMETERS)
    assert cats_back_radius(b) == np.inf
    assert rocking_angle(b) == pytest.approx(0.0, abs=1e-15)


def test_wedges_laid_out_one_by_one_lie_on_the_circle():
    """Each rear side goes onto top and rocking arc of the element behind; the ring's points then are on a circle."""
    b = belt(PARAMETERS, taper=8e-6)
    top = np.array([b.t_T, b.h_T])  # from the rear plane and the bottom
    centre_R = np.array([b.t_R - b.r_R, b.h_R])
    ring = np.array([0.0, b.h_P + 0.5 * b.h_ring])
    # the tangent from the top to the arc, below it: rear side of the next element
    D = top - centre_R
    dist = np.hypot(*D)
    tangent = np.arctan2(D[1], D[0]) + np.pi + np.arcsin(b.r_R / dist)  # direction downwards
    turn = tangent + 0.5 * np.pi  # by which the next element is turned
    down = np.array([np.cos(tangent), np.sin(tangent)])
    assert (centre_R - top)[0] * down[1] - (centre_R - top)[1] * down[0] == pytest.approx(b.r_R, abs=1e-15)
    position, angle, points = np.zeros(2), 0.0, []
    for _ in range(40):
        A = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        points.append(position + A @ ring)
        position = position + A @ (top + down * b.h_T)  # the tops of rear and front touch at the same height
        angle += turn
    x, y = np.array(points).T
    # circle through three of them, then all
    A = np.array([[2 * x[k], 2 * y[k], 1.0] for k in (0, 20, 39)])
    c = np.linalg.solve(A, [x[k] ** 2 + y[k] ** 2 for k in (0, 20, 39)])
    radii = np.hypot(x - c[0], y - c[1])
    assert radii == pytest.approx(radii[0], rel=1e-9)
    assert radii[0] == pytest.approx(cats_back_radius(b), rel=1e-4)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("r_st", [0.5, 1.16, 1.86])
def test_path_closes_with_a_continuous_tangent(ratio, r_st):
    g = geometry(ratio)
    path = tapered_path(g, D_A, r_st)
    assert path.point[-1] == pytest.approx(path.point[0], abs=1e-14)
    assert path.psi[-1] == pytest.approx(path.psi[0] - 2 * np.pi, abs=1e-13)
    assert np.all(np.diff(path.s) > 0.0)
    assert list(path.section) == [UPPER] * 3 + [PRIMARY] + [LOWER] * 3 + [SECONDARY]
    s = np.concatenate([path.s[:-1] - 1e-9, path.s[:-1] + 1e-9])
    p = evaluate(path, s)
    jump = np.exp(1j * p.psi[8:]) / np.exp(1j * p.psi[:8]) - 1.0
    assert np.max(np.abs(jump)) < 1e-7
    # arcs lie on their circles
    upper = cats_back_centre(g, D_A, r_st)
    T_O = g.r_O * np.array([-np.cos(g.phi), np.sin(g.phi)])
    assert np.hypot(*(upper - T_O)) == pytest.approx(r_st, rel=1e-13)
    for k, centre, r in ((1, upper, r_st), (3, (D_A, 0), g.r_I), (5, upper * (1, -1), r_st), (7, (0, 0), g.r_O)):
        q = evaluate(path, np.linspace(path.s[k], path.s[k + 1], 7)[:-1])
        assert np.hypot(q.x - centre[0], q.y - centre[1]) == pytest.approx(r, abs=1e-13)


@pytest.mark.parametrize("ratio", RATIOS)
def test_the_path_tends_to_the_straight_one(ratio):
    g = geometry(ratio)
    straight = belt_path(g, D_A)
    s = np.linspace(0.0, straight.length, 301)[:-1]
    p = evaluate(straight, s)
    length, far = [], []
    for r_st in (2.0, 20.0, 200.0):
        path = tapered_path(g, D_A, r_st)
        length.append(path.length - straight.length)
        q = evaluate(path, np.linspace(0.0, path.length, 3001))
        far.append(max(np.min(np.hypot(q.x - x, q.y - y)) for x, y in zip(p.x, p.y, strict=True)))
    assert np.all(np.array(length) > 0.0)  # (4.77)
    assert np.array(length[:-1]) / length[1:] == pytest.approx(100.0, rel=0.5)
    assert far[2] < 2e-4  # the sampling of the other curve is 0.22 mm


def test_the_lower_strand_mirrors_the_upper_one():
    path = tapered_path(geometry(0.5), D_A, 1.16)
    a = evaluate(path, np.linspace(0.0, path.s[3], 11))
    b = evaluate(path, np.linspace(path.s[4], path.s[7], 11))
    assert b.x[::-1] == pytest.approx(a.x, abs=1e-14)
    assert b.y[::-1] == pytest.approx(-a.y, abs=1e-14)


def test_a_taper_that_is_too_large_is_refused():
    with pytest.raises(InputError, match=r"taper = 0.05"):
        tapered_path(geometry(1.0), D_A, 0.05)
