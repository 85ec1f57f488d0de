"""Contact of elements with sheaves: geometry, tangent, virtual work, friction states, LuGre."""

import numpy as np
import pytest

from rtcvt.offline.belt import sheave
from rtcvt.offline.belt.ancf import shape
from rtcvt.offline.belt.friction import sliding

pytestmark = pytest.mark.interpreted

L, N_S = 0.2, 4


def contact(**changed):
    S, dS, _ = shape(np.linspace(0.0, L, N_S + 1), L)
    mu, law = sliding([0.3])
    base = sheave.Contact(center=np.array([[0.05, -0.97]]), radius=np.array([1.0]), offset=np.array([-0.02]), S=S,
        dS=dS, L_seg=L / N_S, k_c=400.0, d_c=3.0, d_h=0.0, mu=mu, mu_k=700.0, mu_v=2.0, at_points=False, sliding=law,
        speed=np.zeros((1, 2)), lever=np.zeros((1, 2)), arm=np.array([-1]))  # fmt: skip
    return base._replace(**changed)


def line(seed=0):
    """Two elements that lie on a sheave of radius 1, with rates."""
    rng = np.random.default_rng(seed)
    a = 0.5 * np.pi - L * np.arange(-1, 2)
    q = np.stack([np.cos(a), np.sin(a) - 1.0, np.sin(a), -np.cos(a)], axis=1)
    return q + 0.004 * rng.normal(size=(3, 4)), rng.normal(size=(3, 4))


def states(c, q, v, phi, w, slip=None):
    state = np.zeros((1, 2, N_S, 3))
    state[..., 0], state[..., 1] = 1.0, sheave.UNDEFINED
    sheave.post_newton(c, L, sheave.Pose(q, v, phi, w, state), state.copy(), sheave.scratch(N_S)[0])
    if slip is not None:
        state[..., 1] = slip
        state[..., 2] += 0.003
    return state


def loads(c, q, v, phi, w, state):
    pairs, f, torque = np.zeros((2, 2), dtype=np.int64), np.zeros((3, 4)), np.zeros(1)
    count = sheave.touching(state, pairs)
    sheave.contact_forces(
        c, sheave.Pose(q, v, phi, w, state), pairs, count, sheave.scratch(N_S)[0], f, torque, np.zeros((1, 2))
    )
    return f, torque[0]


@pytest.mark.parametrize("seed", range(3))
def test_gap_is_that_of_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    rho = np.linspace(0.0, 1.0, 20001)[:, None]
    for _ in range(50):
        p0, p1, center = rng.normal(size=(3, 2))
        nearest = np.min(np.linalg.norm(p0 + rho * (p1 - p0) - center, axis=1))
        assert sheave._locate(np.array([p0, p1]), 0, *center)[1] == pytest.approx(nearest, abs=1e-7)


@pytest.mark.parametrize("offset", [0.0, -0.02])
@pytest.mark.parametrize("slip", [sheave.STICK, 1.0, -1.0, sheave.UNDEFINED])
@pytest.mark.parametrize("changed", [{}, {"at_points": True}, {"d_h": 50.0, "d_c": 0.0}, {"mu_k": 0.0}],
    ids=["plain", "points", "LN", "no k"])  # fmt: skip
def test_tangent_is_the_derivative(changed, slip, offset):
    c = contact(offset=np.array([offset]), radius=np.array([1.02 + offset]), **changed)
    q, v = line()
    if offset != 0.0:
        v[:] = 0.0  # left out is how the offset's own velocity changes with q
    phi, w, cv = np.array([0.1]), np.array([0.4]), 30.0
    state = states(c, q, v, phi, w, slip)
    assert np.sum(state[..., 0] <= 0.0) >= 5
    pairs = np.zeros((2, 2), dtype=np.int64)
    count = sheave.touching(state, pairs)
    D, G, N, F, S = np.zeros((3, 4, 4)), np.zeros((3, 4, 9)), np.zeros((3, 4, 4)), np.zeros((3, 5, 4)), np.zeros((6, 5))
    free = np.zeros(1, dtype=np.int64)
    sheave.contact_tangent(
        c, sheave.Pose(q, v, phi, w, state), cv, pairs, count, free, sheave.scratch(N_S), D, G, N, F, S
    )
    K = np.zeros((13, 13))
    for k in range(3):
        i = slice(4 * k, 4 * k + 4)
        K[i, i] += D[k]
        K[i, 12] = G[k, :, 8]
        K[12, i] = F[k, 4]
        if k < 2:
            j = slice(4 * k + 4, 4 * k + 8)
            K[i, j] += G[k, :, :4]
            K[j, i] += N[k]
    K[12, 12] = S[4, 4]
    for m in range(13):
        d, turn = np.zeros(12), np.zeros(1)
        if m < 12:
            d[m] = 1e-7
        else:
            turn[0] = 1e-7
        d = d.reshape(3, 4)
        high = loads(c, q + d, v + cv * d, phi + turn, w + cv * turn, state)
        low = loads(c, q - d, v - cv * d, phi - turn, w - cv * turn, state)
        column = np.append((high[0] - low[0]).ravel(), low[1] - high[1]) / 2e-7
        np.testing.assert_allclose(K[:, m], column, atol=1e-6 * np.abs(K).max())


@pytest.mark.parametrize("at_points", [False, True])
def test_forces_press_outwards_and_friction_follows_the_sheave(at_points):
    c = contact(at_points=at_points, d_c=0.0, mu_v=0.0)
    q, v = line()
    v[:] = 0.0
    f, torque = loads(c, q, v, np.zeros(1), np.zeros(1), states(c, q, v, np.zeros(1), np.zeros(1)))
    assert torque == 0.0
    assert f[:, 1].sum() < 0.0  # what resists points inwards: the belt is pushed up
    state = states(c, q, v, np.zeros(1), np.zeros(1))
    f, torque = loads(
        c, q, v, np.array([-1e-3]), np.zeros(1), state
    )  # the sheave turns clockwise: the belt follows in +x
    assert f[:, 0].sum() < 0.0 < torque


def test_sticking_belt_turns_with_the_sheave():
    """A rigid turn of line and sheave stretches no bristle."""
    c = contact()
    q, v = line()
    phi, w = np.zeros(1), np.zeros(1)
    state = states(c, q, 0 * v, phi, w)
    a = 0.2
    R = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    turned = np.hstack([(q[:, :2] - c.center[0]) @ R.T + c.center[0], q[:, 2:] @ R.T])
    _, torque = loads(c, turned, 0 * v, phi + a, w, state)
    assert torque == pytest.approx(0.0, abs=1e-10)


def test_switching_states_and_errors():
    most = 0.3 * 10.0
    slip, ref, excess = sheave.bristle(-10.0, 0.0, 0.5, sheave.UNDEFINED, 9.9, 0.3, 100.0, 0.0, 6.28)
    assert (slip, ref, excess) == (sheave.STICK, 0.5, -most)
    slip, ref, excess = sheave.bristle(-10.0, 0.0, 0.52, sheave.STICK, 0.5, 0.3, 100.0, 0.0, 6.28)
    assert (slip, ref) == (sheave.STICK, 0.5)
    assert excess == pytest.approx(2.0 - most)
    slip, ref, excess = sheave.bristle(-10.0, 0.0, 0.45, sheave.STICK, 0.5, 0.3, 100.0, 0.0, 6.28)
    assert slip == -1.0
    assert ref == pytest.approx(0.45 + most / 100.0)  # the bristle follows at the length that it can hold
    assert excess == pytest.approx(5.0 - most)
    slip, _, excess = sheave.bristle(-10.0, 0.0, 0.45 + 6.28, sheave.STICK, 0.45, 0.3, 100.0, 0.0, 6.28)
    assert (slip, excess) == (sheave.STICK, pytest.approx(-most))  # full turns do not count
