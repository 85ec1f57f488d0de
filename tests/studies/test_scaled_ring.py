"""Selective mass scaling of the ring: its inertia against dense matrices, momentum, and the step that it bears."""

from typing import Any

import numpy as np
import pytest

from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.offline.rods import planar as pl
from studies import scaled_ring as sc

pytestmark = pytest.mark.slow
BELT = belt(load_parameters("pushbelt_24mm"), N_E0=432)._replace(N_B=26)
Array = np.ndarray


def ready(P: sc.Scaled) -> tuple[Array, Any]:
    """Coordinates on a circle, slightly stretched, whose directions the ring has; forces over q and u."""
    q = pl.circle(co.planar(P.rod), 1.0005).reshape(-1, 3)
    shape, rate = np.zeros((P.N_B, rg.N_SHAPE)), np.zeros((P.N_B, rg.N_RATE))

    def force(q: Array, u: Array) -> Array:
        cs, sn, F = np.cos(q[:, 2]), np.sin(q[:, 2]), np.zeros_like(q)
        ring_set.shape_of(P, q, cs, sn, shape)
        ring_set.rate_of(P, u, shape, rate)
        ring_set.forces(P, q, u, cs, sn, shape, rate, np.zeros((P.N_B, rg.N_LOAD)), F, np.zeros(P.N_B))
        return F

    force(q, 0.0 * q)
    return q, force


def inertia(P: sc.Scaled, F: Array) -> Array:
    """W_s F by the ring."""
    u = np.zeros_like(F)
    ring_set.advance(P, F, u, 1.0)
    return u


def dense(P: sc.Scaled) -> tuple[Array, Array]:
    """W_s as the module writes it, and the inertia whose energy is booked."""
    N, M = P.N_B, np.diag(np.tile(ring_set.mass(P), P.N_B))
    B, b = np.zeros((N, 3 * N)), np.zeros((N, 3 * N))
    for k in range(N):
        j, (x, y) = (k + 1) % N, P.t[k]
        B[k, 3 * j : 3 * j + 2], B[k, 3 * k : 3 * k + 2] = (x, y), (-x, -y)
        b[k, 3 * j : 3 * j + 2], b[k, 3 * k : 3 * k + 3] = (-y, x), (y, -x, -P.l)
    W = np.linalg.inv(M + P.extension * B.T @ B)
    inner = np.eye(N) / P.shear + b @ np.linalg.inv(M) @ b.T
    return W - W @ b.T @ np.linalg.solve(inner, b @ W), M + P.extension * B.T @ B + P.shear * b.T @ b


def test_inertia_is_that_of_the_dense_matrices() -> None:
    """Symmetric, positive, momentum is kept; what is booked is its inverse but for the angles between chords."""
    P, rng = sc.scaled(BELT, 2.5e-6), np.random.default_rng(1)
    ready(P)
    W, M = dense(P)
    root = np.sqrt(np.tile(ring_set.mass(P), P.N_B))
    F = rng.standard_normal((P.N_B, 3)) * [1.0, 1.0, 1e-3]
    u = inertia(P, F)
    np.testing.assert_allclose(u.ravel() * root, (W @ F.ravel()) * root, atol=1e-9 * np.abs(u.ravel() * root).max())
    scaled = root[:, None] * W * root
    np.testing.assert_allclose(scaled, scaled.T, atol=1e-9)
    assert np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0] > 0.0
    assert ring_set.kinetic_energy(P, u) == pytest.approx(0.5 * u.ravel() @ M @ u.ravel(), rel=1e-9)
    assert ring_set.kinetic_energy(P, u) == pytest.approx(0.5 * np.sum(F * u), rel=0.02)
    change = u * ring_set.mass(P)
    np.testing.assert_allclose(change[:, :2].sum(axis=0), F[:, :2].sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("dt", [2.5e-6, 1e-5])
def test_it_bears_its_step(dt: float) -> None:
    """Below and above: the largest step is `dt`, that of the rod itself is a tenth or less; slow modes keep theirs."""
    P = sc.scaled(BELT, dt)
    q, force = ready(P)
    h, none, flat = 1e-7, 0.0 * q, q.ravel()
    K = np.array([(force((flat - h * e).reshape(-1, 3),
        none) - force((flat + h * e).reshape(-1, 3), none)).ravel() / 2.0 / h for e in np.eye(flat.size)])  # fmt: skip
    ready(P)
    K, plain = 0.5 * (K + K.T), np.tile(ring_set.mass(P), P.N_B)
    W = 0.5 * (dense(P)[0] + dense(P)[0].T)
    root = np.linalg.cholesky(W)
    omega = np.sqrt(np.abs(np.linalg.eigvalsh(root.T @ K @ root)))
    own = np.sqrt(np.abs(np.linalg.eigvalsh(K / np.sqrt(np.outer(plain, plain)))))
    assert 0.95 * dt < 2.0 / omega[-1] < 1.1 * dt
    assert 2.0 / own[-1] < 0.1 * dt
    np.testing.assert_allclose(omega[3:12], own[3:12], rtol=0.02 if dt < 5e-6 else 0.1)
    for part, stable in ((0.94, True), (1.12, False)):
        x, u = q.copy(), 1e-6 * np.random.default_rng(4).standard_normal(q.shape)
        rest = force(q, none)
        with np.errstate(all="ignore"):
            for _ in range(600):
                ring_set.advance(P, force(x, none) - rest, u, part * dt)
                x += part * dt * u
        assert (np.abs(u).max() < 1.0) == stable
