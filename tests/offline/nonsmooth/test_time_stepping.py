"""Motions with impacts and friction whose solution is known."""

from functools import partial

import numpy as np
import pytest
from refusals import refused

from rtcvt.offline.nonsmooth.impact import Restitution, newton_law, poisson_law
from rtcvt.offline.nonsmooth.lcp import ConvergenceError
from rtcvt.offline.nonsmooth.time_stepping import Contacts, System, integrate, integrate_controlled

g = 9.81
LAWS = [newton_law, poisson_law]


def restitution(contacts, mu=0.0, e_N=0.0, bilateral=False):
    return Restitution(np.full(contacts, mu), np.full(contacts, e_N), np.zeros(contacts), np.full(contacts, bilateral))


def system(M, force, contacts, law):
    """Constant mass and u = q_dot."""
    return System(lambda q: M, force, lambda q, u: u, contacts, law)


def without_contact(n):
    return lambda t, q: Contacts(np.zeros(0), np.zeros((n, 0)), np.zeros((n, 0, 1)), np.zeros((0, 2)))


def flat(t, q, W_N, W_T, gap, w=None):
    """Contacts with constant directions."""
    return Contacts(gap(q), W_N, W_T, np.zeros((W_N.shape[1], 1 + W_T.shape[2])) if w is None else w)


def observed_order(sizes, errors):
    """Slope of log error over log size."""
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


# --- bouncing ball ---------------------------------------------------------------------------------------------------


def ball(e):
    contacts = partial(flat, W_N=np.eye(1), W_T=np.zeros((1, 1, 0)), gap=np.copy)
    return system(np.eye(1), lambda t, q, u: np.array([-g]), contacts, restitution(1, e_N=e))


def bounce(t, height, e):
    """Height of the ball: parabolas between impacts, whose times add up to sqrt(2 h / g) (1 + e) / (1 - e)."""
    fall = np.sqrt(2.0 * height / g)
    if t < fall:
        return height - 0.5 * g * t**2
    start, v = fall, e * g * fall
    while v > 1e-9:
        if t < start + 2.0 * v / g:
            return v * (t - start) - 0.5 * g * (t - start) ** 2
        start, v = start + 2.0 * v / g, e * v
    return 0.0


@pytest.mark.parametrize("law", LAWS)
def test_bouncing_ball_converges_to_its_parabolas_with_order_one(law):
    sizes = (500, 1000, 2000, 4000)
    errors = []
    for steps in sizes:
        run = integrate(ball(0.6), 0.0, [1.0], [0.0], 1.5, steps, law)
        errors.append(np.mean([abs(q[0] - bounce(t, 1.0, 0.6)) for t, q in zip(run.t, run.q, strict=True)]))
    assert observed_order(sizes, errors) == pytest.approx(-1.0, abs=0.15)
    assert errors[-1] < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_ball_passes_the_accumulation_of_impacts_and_rests(law):
    """Infinitely many impacts before t = 1.806 s; after it the ball lies still and the floor carries its weight."""
    accumulation = np.sqrt(2.0 / g) * 1.6 / 0.4
    dt = 2.5 / 10_000
    run = integrate(ball(0.6), 0.0, [1.0], [0.0], 2.5, 10_000, law)
    hits = run.t[np.flatnonzero(run.impulse[:, 0, 0] > 10.0 * g * dt)]
    assert hits[0] == pytest.approx(np.sqrt(2.0 / g), abs=2.0 * dt)
    assert accumulation - 0.1 < hits[-1] < accumulation
    rest = run.t > accumulation + 0.05
    assert np.abs(run.u[rest]).max() < 1e-6
    assert np.abs(run.q[rest]).max() < 1e-4
    np.testing.assert_allclose(run.impulse[rest, 0, 0], g * dt, rtol=1e-6)


# --- sliding and sticking block --------------------------------------------------------------------------------------


def block_on_slope(angle, mu, d=1):
    """Unit mass; coordinates along the slope, across it if d = 2, and normal to it."""
    n = 1 + d
    W_N = np.zeros((n, 1))
    W_N[-1] = 1.0
    W_T = np.zeros((n, 1, d))
    W_T[:d, 0] = np.eye(d)
    load = np.zeros(n)
    load[0], load[-1] = g * np.sin(angle), -g * np.cos(angle)
    contacts = partial(flat, W_N=W_N, W_T=W_T, gap=lambda q: q[-1:].copy())
    return system(np.eye(n), lambda t, q, u: load, contacts, restitution(1, mu))


def test_sticking_block_does_not_drift():
    angle, mu = 0.3, 0.35  # tan 0.3 = 0.309
    run = integrate(block_on_slope(angle, mu), 0.0, [0.0, 0.0], [0.0, 0.0], 10.0, 2000)
    assert np.abs(run.q[:, 0]).max() < 1e-12
    dt = 10.0 / 2000
    np.testing.assert_allclose(run.impulse[5:, 0] / dt, np.full((1996, 2), [g * np.cos(angle), -g * np.sin(angle)]))


# --- rigid bodies in the plane ---------------------------------------------------------------------------------------


def rectangle(b, h, m, mu, e_N=0.0):
    """Block 2b wide and 2h high on a floor: centre x, y and angle; contacts at the lower corners, right and left."""
    s = np.array([1.0, -1.0])

    def contacts(t, q):
        c, n = np.cos(q[2]), np.sin(q[2])
        W_N = np.array([np.zeros(2), np.ones(2), s * b * c + h * n])
        W_T = np.array([np.ones(2), np.zeros(2), -s * b * n + h * c])
        return Contacts(q[1] + s * b * n - h * c, W_N, W_T[:, :, None], np.zeros((2, 2)))

    J = m * (b**2 + h**2) / 3.0
    return system(np.diag([m, m, J]), lambda t, q, u: np.array([0.0, -m * g, 0.0]), contacts, restitution(2, mu, e_N))


def tilted(b, h, theta):
    """Centre of a block that stands on its left corner at the origin, turned by theta > 0."""
    return np.array([b * np.cos(theta) - h * np.sin(theta), b * np.sin(theta) + h * np.cos(theta), theta])


B, H, THETA_0 = 0.1, 0.4, 0.1
ALPHA, RADIUS = np.arctan2(B, H), np.hypot(B, H)


@pytest.fixture(scope="module")
def rocking():
    return integrate(rectangle(B, H, 1.0, mu=2.0), 0.0, tilted(B, H, THETA_0), np.zeros(3), 1.2, 6000)


@pytest.mark.interpreted
def test_rocking_block_loses_housners_share_of_speed_at_each_impact(rocking):
    """Angular momentum about the new corner: ratio 1 - (3/2) sin^2 alpha, Housner 1963, eq. (12)."""
    changes = np.flatnonzero(np.diff(np.sign(rocking.q[:, 2])) != 0)
    assert len(changes) >= 3
    for i in changes[:3]:
        ratio = rocking.u[i + 4, 2] / rocking.u[i - 4, 2]
        assert ratio == pytest.approx(1.0 - 1.5 * np.sin(ALPHA) ** 2, rel=0.01)


@pytest.mark.interpreted
@pytest.mark.parametrize("phi", np.linspace(0.1, 1.5, 8))
@pytest.mark.parametrize("spin", [0.0, 1.5])
def test_painleve_rod_in_its_safe_range(phi, spin):
    """Rod that slides on its end against the dangerous side, mu = 1 < 4/3: one solution for every angle.

    lam_N = (g - l sin phi spin^2) / p,  p = 1/m + (l^2 / J) cos phi (cos phi - mu sin phi), J = m l^2 / 3.
    """
    m, length, mu, slip = 2.0, 0.5, 1.0, -3.0
    J = m * length**2 / 3.0
    M = np.diag([m, m, J])

    def contacts(t, q):
        c, s = np.cos(q[2]), np.sin(q[2])
        W_N, W_T = np.array([[0.0], [1.0], [-length * c]]), np.array([[[1.0]], [[0.0]], [[length * s]]])
        return Contacts(np.array([q[1] - length * s]), W_N, W_T, np.zeros((1, 2)))

    rod = system(M, lambda t, q, u: np.array([0.0, -m * g, 0.0]), contacts, restitution(1, mu))
    c, s = np.cos(phi), np.sin(phi)
    p = 1.0 / m + length**2 / J * c * (c - mu * s)
    lam = (g - length * s * spin**2) / p
    assert p > 0.0
    assert lam > 0.0
    acceleration = np.array([mu * lam / m, lam / m - g, (-length * c + mu * length * s) * lam / J])
    q = np.array([0.0, length * s - 1e-9, phi])  # a trace of penetration: the contact is closed
    u = np.array([slip - length * s * spin, length * c * spin, spin])
    dt = 1e-6
    run = integrate(rod, 0.0, q, u, dt, 1)
    np.testing.assert_allclose(run.impulse[1, 0] / dt, [lam, mu * lam], rtol=1e-4)
    np.testing.assert_allclose((run.u[1] - run.u[0]) / dt, acceleration, rtol=1e-4, atol=1e-3)


def column(masses, e_N):
    """Bodies on top of each other on a floor, vertical motion only."""
    n = len(masses)
    W_N = np.eye(n) - np.eye(n, k=1)
    contacts = partial(flat, W_N=W_N, W_T=np.zeros((n, n, 0)), gap=lambda q: W_N.T @ q)
    return system(np.diag(masses), lambda t, q, u: -g * np.asarray(masses), contacts, restitution(n, e_N=e_N))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("e", [0.0, 0.7])
def test_stack_at_rest_carries_the_weights_above(law, e):
    masses = np.array([1.0, 100.0, 0.01, 5.0, 20.0, 1.0, 1.0, 50.0])
    run = integrate(column(masses, e), 0.0, np.zeros(8), np.zeros(8), 0.1, 100, law)
    weights = g * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(run.impulse[1:, :, 0] / 1e-3, np.tile(weights, (100, 1)), rtol=1e-5)
    np.testing.assert_allclose(run.q, np.zeros((101, 8)), atol=1e-12)


@pytest.mark.slow
def test_pendulum_on_a_bilateral_joint():
    """Cartesian point mass held at distance 1 falls from level to its lowest point in a known time."""

    def contacts(t, q):
        r = np.hypot(*q)
        return Contacts(np.array([r - 1.0]), (q / r)[:, None], np.zeros((2, 1, 0)), np.zeros((1, 1)))

    law = restitution(1, bilateral=True)
    pendulum = system(np.eye(2), lambda t, q, u: np.array([0.0, -g]), contacts, law)
    sizes, errors = (200, 400, 800, 1600), []
    fall = 1.8540746773 / np.sqrt(g)  # from level to the lowest point: the elliptic integral K(1/2), times sqrt(l/g)
    for steps in sizes:
        errors.append(np.linalg.norm(integrate(pendulum, 0.0, [1.0, 0.0], [0.0, 0.0], fall, steps).q[-1] - [0.0, -1.0]))
    assert observed_order(sizes, errors) == pytest.approx(-1.0, abs=0.1)


# --- orders and control ----------------------------------------------------------------------------------------------


def oscillator():
    return system(np.eye(1), lambda t, q, u: -q, without_contact(1), restitution(0))


TOLERANCES = np.array([1e-4, 1e-5, 1e-6])


def test_error_follows_the_square_root_of_the_tolerance():
    """A step's error is of second order, the scheme of first: dt and the global error go with sqrt(tolerance)."""
    errors, lengths = [], []
    for tolerance in TOLERANCES:
        run = integrate_controlled(oscillator(), 0.0, [1.0], [0.0], 1.0, tolerance, 1e-9, 1.0)
        errors.append(abs(run.q[-1, 0] - np.cos(1.0)))
        lengths.append(len(run.t))
    assert observed_order(TOLERANCES, errors) == pytest.approx(0.5, abs=0.05)
    assert observed_order(TOLERANCES, lengths) == pytest.approx(-0.5, abs=0.05)


@pytest.mark.interpreted
@pytest.mark.parametrize("law", LAWS)
def test_control_keeps_its_order_through_impacts(law):
    errors = []
    for tolerance in TOLERANCES:
        run = integrate_controlled(ball(0.6), 0.0, [1.0], [0.0], 1.2, tolerance, 1e-10, 0.1, law)
        error = np.abs(run.q[:, 0] - [bounce(t, 1.0, 0.6) for t in run.t])
        errors.append(np.average(error[1:], weights=np.diff(run.t)))
    assert observed_order(TOLERANCES, errors) == pytest.approx(0.5, abs=0.1)


@pytest.mark.interpreted
@pytest.mark.parametrize("law", LAWS)
def test_gap_control_bounds_the_penetration_by_the_tolerance(law):
    """Fixed steps of the same mean size penetrate by |v| dt, tens of times more."""
    run = integrate_controlled(ball(0.6), 0.0, [1.0], [0.0], 1.2, 1e-5, 1e-10, 0.1, law)
    assert run.gap.min() >= -1e-5
    fixed = integrate(ball(0.6), 0.0, [1.0], [0.0], 1.2, len(run.t), law)
    assert fixed.gap.min() < -1e-4


@pytest.mark.slow
def test_stick_and_slip_agree_between_the_integrators():
    """Mass on a spring, drawn by a belt of speed v: slips, sticks until k q = mu N, then swings v / omega further."""
    W_N, W_T = np.array([[0.0], [1.0]]), np.array([[[1.0]], [[0.0]]])
    contacts = partial(flat, W_N=W_N, W_T=W_T, gap=lambda q: q[-1:] - 1e-9, w=np.array([[0.0, -0.2]]))
    drawn = system(np.eye(2), lambda t, q, u: np.array([-40.0 * q[0], -g]), contacts, restitution(1, mu=0.3))
    fixed = integrate(drawn, 0.0, [0.0, 0.0], [0.0, 0.0], 2.0, 2000)
    controlled = integrate_controlled(drawn, 0.0, [0.0, 0.0], [0.0, 0.0], 2.0, 1e-6, 1e-9, 0.01)
    at = np.interp(fixed.t, controlled.t, controlled.q[:, 0])
    np.testing.assert_allclose(at, fixed.q[:, 0], atol=1e-3)
    sticking = np.abs(fixed.u[:, 0] - 0.2) < 1e-9
    assert not sticking[:50].any()
    assert sticking[100:150].all()
    assert fixed.q[:, 0].max() == pytest.approx(0.3 * g / 40.0 + 0.2 / np.sqrt(40.0), rel=1e-3)


# --- energy on arbitrary systems -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("d", [0, 1, 2])
def test_random_systems_without_load_never_gain_energy(e, d):
    """Constant directions and mass, e_T = e_N: impacts are all that happens, and none adds energy."""
    rng = np.random.default_rng(21 + d)
    impacts = 0
    for _ in range(8):
        n, k = 6, 5
        X = rng.normal(size=(n, n))
        M, W_N, W_T = X @ X.T + np.eye(n), rng.normal(size=(n, k)), rng.normal(size=(n, k, d))
        far = rng.uniform(0.0, 0.3, size=k)
        law = Restitution(np.full(k, 0.3), np.full(k, e), np.full(k, e), np.zeros(k, dtype=bool))
        contacts = partial(flat, W_N=W_N, W_T=W_T, gap=lambda q, W=W_N, far=far: far + W.T @ q)
        free = system(M, lambda t, q, u: np.zeros(6), contacts, law)
        run = integrate(free, 0.0, np.zeros(n), rng.normal(size=n), 4.0, 400)
        T = 0.5 * np.einsum("si,ij,sj->s", run.u, M, run.u)
        assert np.diff(T).max() <= 1e-8 * T[0]
        impacts += np.count_nonzero(run.impulse[:, :, 0])
    assert impacts >= 10


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.interpreted
def test_unreachable_tolerance_raises_and_says_what_to_do():
    with pytest.raises(ConvergenceError, match="lower dt_min or raise the tolerance"):
        integrate_controlled(oscillator(), 0.0, [1.0], [0.0], 1.0, 1e-10, 1e-2, 0.1)


@pytest.mark.interpreted
def test_runaway_is_an_error():
    """Explicit steps far beyond the stability limit end with a message, not with NaN."""
    with pytest.raises(ConvergenceError, match="shorter steps"), np.errstate(all="ignore"):
        integrate(
            system(np.eye(1), lambda t, q, u: -(q**3), without_contact(1), restitution(0)), 0, [9.0], [0.0], 99.0, 99
        )


def test_bad_systems_are_refused():
    refused("dt_min", lambda: integrate_controlled(oscillator(), 0.0, [1.0], [0.0], 1.0, 1e-6, 1.0, 0.1))
    refused("e_N", lambda: integrate(ball(1.5), 0.0, [1.0], [0.0], 1.0, 10))
    refused("at least one step", lambda: integrate(ball(0.5), 0.0, [1.0], [0.0], 1.0, 0))
    wrong = system(
        np.eye(1), lambda t, q, u: q, partial(flat, W_N=np.eye(2), W_T=np.zeros((1, 1, 0)), gap=np.copy), None
    )
    refused("W_N", integrate, wrong, 0.0, [1.0], [0.0], 1.0, 10)
