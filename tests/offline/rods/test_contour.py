"""The contour against curves it must repeat, its order, virtual power; the start against the printed equations."""

import numpy as np
import pytest
from refusals import refused

from rtcvt.offline.pushbelt.unit.kinematics import belt_path, closure
from rtcvt.offline.rods import contour as ct
from rtcvt.offline.rods import planar as pl
from studies.rod_start import planar_start


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


@pytest.mark.interpreted
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


@pytest.mark.interpreted
def test_unknown_contour() -> None:
    refused("contour", lambda: ct.contour(rod(8), "quintic"))


@pytest.mark.interpreted
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
