"""The contour against curves it must repeat, its order, virtual power; the start against the printed equations."""

import numpy as np
import pytest

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.kinematics import belt_path, closure, evaluate
from rtcvt.offline.rods import contour as ct
from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import spatial as sp
from studies.rod_start import planar_start, spatial_start


def rod(N: int, closed: bool = True) -> pl.PlanarRod:
    return pl.planar_rod(N, 2 * np.pi, closed=closed, EA=1.0, GA=1.0, EI=1.0, rhoA=1.0)


@pytest.mark.parametrize(("kind", "order"), [("spline", 4.0), ("local", 3.0)])
def test_order_on_a_circle(kind: str, order: float) -> None:
    """Cubic splines are of order four; cubics with the slope of their neighbours of order three or better."""
    s, errors = np.linspace(-3.0, 9.0, 301), []
    for N in (16, 32, 64):
        R = rod(N)
        q = pl.circle(R)
        q[0::3] /= np.hypot(q[0], q[1])
        q[1::3] = np.sin(2 * np.pi * np.arange(N) / N)
        q[0::3] = np.cos(2 * np.pi * np.arange(N) / N)
        r, t, n = ct.place(ct.contour(R, kind), q, s)
        errors.append(np.abs(r - np.column_stack([np.cos(s), np.sin(s)])).max())
        np.testing.assert_allclose(np.sum(t * n, axis=1), 0.0, atol=1e-14)
        np.testing.assert_allclose(t, np.column_stack([-np.sin(s), np.cos(s)]), atol=2.0 / N**2)
    assert np.log2(errors[-2] / errors[-1]) > order - 0.1
    assert errors[-1] < (3e-6 if kind == "spline" else 2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spline", "local"])
@pytest.mark.parametrize("closed", [True, False])
def test_it_goes_through_the_vertices_and_adds_up_to_one(kind: str, closed: bool) -> None:
    R = rod(12, closed)
    c = ct.contour(R, kind)
    q = np.random.default_rng(1).standard_normal(pl.size(R))
    n = R.N if closed else R.N + 1
    r, _, _ = ct.place(c, q, R.ds * np.arange(n))
    np.testing.assert_allclose(r, np.column_stack([q[0::3][:n], q[1::3][:n]]), atol=1e-12)
    s = np.random.default_rng(2).uniform(0.0, 2 * np.pi, 50)
    W, W1, W2 = ct.weights(c, s)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(W1.sum(axis=1), 0.0, atol=1e-11)
    h = 1e-6
    up, down = ct.weights(c, s + h), ct.weights(c, s - h)
    np.testing.assert_allclose(W1, (up[0] - down[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(W2, (up[1] - down[1]) / (2 * h), atol=1e-6 / R.ds**2)
    np.testing.assert_allclose(ct.turn_weights(c, s).sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.slow
def test_the_spline_has_a_continuous_curvature_and_the_local_one_depends_on_four_vertices() -> None:
    R = rod(12)
    at = 3 * R.ds + np.array([-1e-9, 1e-9])
    W2 = ct.weights(ct.contour(R), at)[2]
    np.testing.assert_allclose(W2[0], W2[1], atol=1e-6)
    assert np.count_nonzero(ct.weights(ct.contour(R, "local"), np.array([1.1]))[0]) == 4
    assert np.count_nonzero(ct.weights(ct.contour(R), np.array([1.1]))[0]) == 12


@pytest.mark.parametrize("kind", ["spline", "local"])
@pytest.mark.parametrize("closed", [True, False])
def test_loads_have_the_power_of_the_contour(kind: str, closed: bool) -> None:
    """(6.98), (6.99): F.v + M omega at a place is that of the generalised forces, velocities by differences."""
    R = rod(10, closed)
    c = ct.contour(R, kind)
    rng = np.random.default_rng(3)
    q = (pl.circle(R) if closed else pl.line(R)) + 0.02 * rng.standard_normal(pl.size(R))
    u, h = rng.standard_normal(q.size), 1e-6
    for s in (0.05, 1.7, 6.2):
        at = np.array([s])
        v = (ct.place(c, q + h * u, at)[0][0] - ct.place(c, q - h * u, at)[0][0]) / (2 * h)
        omega = (ct.angle_at(c, R, q + h * u, at) - ct.angle_at(c, R, q - h * u, at))[0] / (2 * h)
        assert ct.push(c, q, s, (2.0, -3.0), 0.7) @ u == pytest.approx(2.0 * v[0] - 3.0 * v[1] + 0.7 * omega, abs=1e-8)


@pytest.mark.slow
def test_angles_and_band_of_a_circle() -> None:
    R = rod(40)
    c, q, s = ct.contour(R), pl.circle(R), np.linspace(-7.0, 7.0, 99)
    np.testing.assert_allclose(ct.angle_at(c, R, q, s), s + 0.5 * np.pi, atol=1e-12)
    surface = ct.band(c, q, s, 0.1)  # the normal points inwards
    np.testing.assert_allclose(np.hypot(surface[:, 0], surface[:, 1]), np.hypot(q[0], q[1]) - 0.1, atol=2e-5)


@pytest.mark.slow
def test_unknown_contour() -> None:
    with pytest.raises(InputError, match="contour"):
        ct.contour(rod(8), "quintic")


@pytest.mark.slow
def test_start_is_that_of_the_print() -> None:
    """(6.101), (6.105) on the upper strand, (6.107), (6.111) on the primary arc; (6.113), (6.119), (6.123)."""
    d_A, N, v = 0.155, 104, -12.0
    c = closure(0.66092, d_A, 0.5)
    path = belt_path(c, d_A)
    q, u = planar_start(path, N, v)
    l_0, phi, t_l = path.length / N, c.phi, path.s[1]
    for i in range(int((t_l + c.r_I * c.wrap_I) / l_0)):
        s, half = i * l_0, (i + 0.5) * l_0
        if s < t_l:
            place = s * np.array([np.sin(phi), np.cos(phi)]) + c.r_O * np.array([-np.cos(phi), np.sin(phi)])
            speed = -np.array([np.cos(0.5 * np.pi - phi), np.sin(0.5 * np.pi - phi)]) * -v
        else:
            a = phi + (s - t_l) / c.r_I
            place = np.array([d_A, 0.0]) + c.r_I * np.array([-np.cos(a), np.sin(a)])
            speed = np.array([-np.cos(0.5 * np.pi - a), -np.sin(0.5 * np.pi - a)]) * -v  # (6.119) with -sin
        np.testing.assert_allclose(q[3 * i : 3 * i + 2], place, atol=1e-12)
        np.testing.assert_allclose(u[3 * i : 3 * i + 2], speed, atol=1e-9)
        on_arc = t_l < half < t_l + c.r_I * c.wrap_I
        gamma = (
            0.5 * np.pi - phi - (max(0.0, half - t_l) / c.r_I if half < t_l + c.r_I * c.wrap_I else 2 * np.pi - 2 * phi)
        )
        assert q[3 * i + 2] == pytest.approx(gamma, abs=1e-12)
        assert u[3 * i + 2] == pytest.approx(-v / c.r_I if on_arc else 0.0, abs=1e-9)


@pytest.mark.slow
def test_spatial_start_is_free_of_shear_on_the_strands() -> None:
    """The section's tangent is the direction of its edge, and stretch is the climb's."""
    d_A, N, z = 0.155, 200, (3e-3, -2e-3)
    path = belt_path(closure(0.66092, d_A, 2.0), d_A)
    q, u = spatial_start(path, N, 10.0, z)
    flat, speed = planar_start(path, N, 10.0)
    np.testing.assert_allclose(u[0::6], speed[0::3])
    A, l_0 = np.empty((3, 3)), path.length / N
    edge, next_vertex = evaluate(path, l_0 * (np.arange(N) + 0.5)), np.roll(np.arange(N), -1)
    within = np.abs(path.s[:, None] - l_0 * (np.arange(N) + 0.5)).min(axis=0) > l_0
    climb = (z[0] - z[1]) / path.s[1]
    for i in np.flatnonzero(within):
        d = q[6 * next_vertex[i] : 6 * next_vertex[i] + 3] - q[6 * i : 6 * i + 3]
        sp._frame(q, 6 * i + 3, A)
        along = A.T @ d
        on_strand = edge.section[i] in (0, 2)
        assert np.abs(along[1:]).max() < 1e-12
        assert along[0] / l_0 == pytest.approx(np.hypot(1.0, climb) if on_strand else 1.0, abs=4e-4)
    assert {q[2::6].min(), q[2::6].max()} == {z[1], z[0]}
    assert np.abs(q[5::6] - flat[2::3]).max() < 5e-3
