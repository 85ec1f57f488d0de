from functools import cache
from typing import Any

import numpy as np
import pytest

from offline.pushbelt import compliant, hybrid
from offline.pushbelt import ring as ring_model
from offline.pushbelt.initial import start_state
from offline.pushbelt.parameters import Boundary, belt, boundary_at, load_parameters, sheaves
from offline.pushbelt.runs import STEPPED

UNIT = load_parameters("pushbelt_24mm")


@cache
def start(case: str, row: int, N_E: int = 220, N_B: int | None = None) -> Any:
    c = UNIT.get_case(case)
    b = belt(UNIT, N_E=N_E, N_E0=c.N_E0, N_B=N_B)
    sh = sheaves(UNIT)
    values = boundary_at(c, np.array([0.0, 1.0]), row)[0]
    return hybrid.model(b, sh), start_state(b, sh, Boundary(*values), c.i_r)


def fresh(case: str, row: int) -> Any:
    m, st = start(case, row)
    return m, hybrid.state(st.q, st.u, st.q_R, st.u_R, st.s_R, st.s, st.sd, len(m.sheaves.A) - 1)


def inputs(case: str, row: int, duration: float, n: int) -> Any:
    return boundary_at(UNIT.get_case(case), np.linspace(0.0, duration, n + 1), row)


@pytest.mark.parametrize("dt", [1e-5, 4e-5])  # bending and tension explicit, implicit by three quarters
def test_ring_step_equals_the_dense_linearly_implicit_one(dt):
    rng = np.random.default_rng(1)
    m, x = fresh("MED", 2)
    R = m.ring
    N_B = R.N_B
    w, k = hybrid.scratch(m, x, 1), compliant._work(m)
    hybrid.directions(x.q_R, w.cs_R, w.sn_R)
    x.u_R[:] += rng.normal(size=x.u_R.shape) * (0.1, 0.1, 20, 0.01, 0.01)
    ring_model.shape_of(R, x.q_R, w.cs_R, w.sn_R, w.shape)
    ring_model.rate_of(R, x.u_R, w.shape, w.rate)
    ring_model.forces(R, w.shape, k.rest, w.load, w.F_R, w.tension)
    g = k.segments
    contacts = rng.normal(size=(N_B, 2, 8)) * (1, 1, 1, 1, 1, 1, 0.1, 0.1)
    strength = rng.uniform(0, 1e-3, size=(N_B, 2))
    for e in range(N_B):
        for r, s in zip(contacts[e], strength[e], strict=True):
            g.H[e] += s * np.outer(r, r)
            g.r[e] += s * r

    # dense: y = Y u for each finite element, A = M + Y' K Y in all nodal velocities
    l = R.l  # noqa: E741
    n = 5 * N_B
    A = np.diag(np.tile([R.m, R.m, R.J, R.m_c, R.m_c], N_B))
    b = A @ x.u_R.ravel() + dt * w.F_R.ravel()
    B4 = np.diag([4, 4, 0.8, 4 / 7]) + 2 * np.eye(4)[[1, 0, 2, 3]] * np.array([1, 1, 0, 0])
    G4 = np.array([[2 / 15, -1 / 30, 1 / 30, 1 / 70], [-1 / 30, 2 / 15, -1 / 30, 1 / 70],
                   [1 / 30, -1 / 30, 2 / 105, 0], [1 / 70, 1 / 70, 0, 2 / 315]])  # fmt: skip
    maps = []
    for e in range(N_B):
        j = (e + 1) % N_B
        s = w.shape[e]
        t, nrm, inv = np.array([s[5], -s[4]]), s[4:6], s[6]
        Y = np.zeros((8, n))
        Y[0, 5 * e : 5 * e + 2] = t
        Y[1, 5 * e : 5 * e + 2] = nrm
        Y[2, 5 * j : 5 * j + 2], Y[2, 5 * e : 5 * e + 2] = t, -t
        Y[3, 5 * j : 5 * j + 2], Y[3, 5 * e : 5 * e + 2] = nrm, -nrm
        Y[4], Y[5] = -l * inv * Y[3], -l * inv * Y[3]
        Y[4, 5 * e + 2] += l
        Y[5, 5 * j + 2] += l
        Y[6, 5 * e + 3 : 5 * e + 5] = 128 / 9
        Y[7, 5 * e + 3 : 5 * e + 5] = 256 / 9, -256 / 9
        stretch = Y[2] + (G4 @ (s[7:11] / l)) @ Y[4:]
        A += dt * (R.EA * dt + R.d_axial) / l * np.outer(stretch, stretch)
        bending = max(0.0, 1.0 - 1.5 * R.d_bend / (R.EI * dt))
        tension = max(0.0, 1.0 - 3.0 * R.m * l / (32.24 * w.tension[e] * dt**2))
        assert (0.7 < bending < 0.8 and 0.7 < tension < 0.8) if dt > 1e-5 else bending == tension == 0.0
        A += dt * (bending * R.EI * dt + R.d_bend) / l**3 * Y[4:].T @ B4 @ Y[4:]
        A += tension * dt * dt * w.tension[e] / l * Y[4:].T @ G4 @ Y[4:]
        Z = np.zeros((8, n))  # contacts: in the rates of the nodes
        Z[:3, 5 * e : 5 * e + 3] = Z[3:6, 5 * j : 5 * j + 3] = np.eye(3)
        Z[6:] = Y[6:]
        for r, c in zip(contacts[e], strength[e], strict=True):
            A += c * np.outer(r @ Z, r @ Z)
            b += c * (r @ Z)
        maps.append(Z)
    expected = np.linalg.solve(A, b)
    compliant.solve_ring(R, dt, x.u_R, w, g)
    np.testing.assert_allclose(x.u_R.ravel(), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(g.y[7], maps[7] @ expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("N_B", [52, 104, 208])
def test_ring_is_implicit_only_where_an_explicit_step_would_not_be_stable(N_B):
    """A u+ = M u - h K (q + h u), A = M + h D, is stable if 4 M + 2 h D - h^2 K has no negative eigenvalue."""
    m, st = start("MED", 2, N_B=N_B)
    R, n = m.ring, 5 * N_B
    x = hybrid.state(st.q, st.u, st.q_R, st.u_R, st.s_R, st.s, st.sd, len(m.sheaves.A) - 1)
    w, k = hybrid.scratch(m, x, 1), compliant._work(m)

    def force(q):
        cs, sn = np.cos(q[:, 2]), np.sin(q[:, 2])
        ring_model.shape_of(R, q, cs, sn, w.shape)
        ring_model.forces(R, w.shape, k.rest, w.load, w.F_R, w.tension)
        return w.F_R.ravel().copy()

    M = np.tile([R.m, R.m, R.J, R.m_c, R.m_c], N_B)
    scale = 1.0 / np.sqrt(np.outer(M, M))
    for stretch in (0.0, 0.002):  # a tension of MED, 2 kN, and 14 kN
        q = x.q_R.copy()
        q[:, :2] *= 1.0 + stretch
        K = np.empty((n, n))
        for a, step in enumerate(np.tile([1e-9, 1e-9, 1e-7, 1e-9, 1e-9], N_B)):
            ahead, behind = q.copy(), q.copy()
            ahead.flat[a] += step
            behind.flat[a] -= step
            K[a] = (force(behind) - force(ahead)) / (2.0 * step)
        force(q)
        for dt in (1e-6, 1e-5):
            columns = np.empty((n, n))
            for a in range(n):
                for part in (k.segments.H, k.segments.r, x.u_R, w.F_R):
                    part[:] = 0.0
                w.F_R.flat[a] = 1.0 / dt
                compliant.solve_ring(R, dt, x.u_R, w, k.segments)
                columns[a] = x.u_R.ravel()
            rest = np.diag(2.0 * M) + 2.0 * np.linalg.inv(columns) - dt**2 * K
            assert np.linalg.eigvalsh(rest * scale)[0] > 0.0, (dt, stretch)
            assert dt > 1e-6 or compliant.stiff(R, dt, w.tension[0])[1:] == (dt * R.d_bend / R.l**3, 0.0)


@pytest.mark.parametrize("closed_chain", [True, False])
def test_joint_impulses_obey_the_law_and_conserve_momentum(closed_chain):
    rng = np.random.default_rng(2)
    m, x = fresh("MED", 2)
    N_E, dt = m.belt.N_E, 1e-5
    w, k = hybrid.scratch(m, x, 1), compliant._work(m)
    hybrid.directions(x.q, w.cs, w.sn)
    c, e = k.joints, k.bodies
    f = np.zeros((N_E, 3))
    compliant.joint_contacts(m.belt, m.joint, dt, x.q, x.u, w.cs, w.sn, c, f)
    n = int(c.n[0])
    rocking = np.flatnonzero(c.kind[:n] == 0)
    c.gap[rocking] -= 2e-5
    c.closed[rocking] = True
    if not closed_chain:
        c.gap[rocking[40:60]] += 1e-3
        c.closed[rocking[40:60]] = False
    M = []
    for i in range(N_E):
        r = rng.normal(size=(2, 3)) * (0.3, 0.3, 1e-3)
        D = np.diag([m.belt.m_E, m.belt.m_E, m.belt.J_E]) + r.T @ r
        M.append(D)
        e.inverse[i] = np.linalg.inv(D)[np.triu_indices(3)]
        e.b[i] = D @ (x.u[i] + rng.normal(size=3) * (0.1, 0.1, 10))
    u = np.zeros((N_E, 3))
    compliant.solve_joints(dt, e, c, u)
    assert rocking.size == N_E
    assert np.all(c.L[rocking] > 0.0) == closed_chain
    assert np.mean(c.L[:n] > 0.0) > 0.2
    momentum = np.array([M[i] @ u[i] - e.b[i] for i in range(N_E)])
    applied = np.zeros((N_E, 3))
    for a in range(n):
        i, j = c.joint[a], (c.joint[a] + 1) % N_E
        applied[i] += c.row[a, :3] * c.L[a]
        applied[j] += c.row[a, 3:] * c.L[a]
        rate = c.row[a, :3] @ u[i] + c.row[a, 3:] @ u[j]
        law = -dt * (c.k[a] * c.gap[a] + c.d[a] * rate)
        assert c.L[a] == 0.0 or c.L[a] == pytest.approx(law, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(momentum, applied, atol=1e-9)
    np.testing.assert_allclose(applied[:, :2].sum(0), 0.0, atol=1e-9)
    turn = x.q[:, 0] * applied[:, 1] - x.q[:, 1] * applied[:, 0] + applied[:, 2]
    assert abs(turn.sum()) < 1e-9 * np.abs(turn).sum() + 1e-12


def test_joints_are_implicit_only_where_an_explicit_step_would_not_be_stable():
    m, x = fresh("MED", 2)
    b, J = m.belt, m.joint
    w, k = hybrid.scratch(m, x, 1), compliant._work(m)
    hybrid.directions(x.q, w.cs, w.sn)
    c = k.joints
    for dt in (5e-7, 2e-6, 1e-5):
        compliant.joint_contacts(b, J, dt, x.q, x.u, w.cs, w.sn, c, np.zeros((b.N_E, 3)))
        n = int(c.n[0])
        rocking = np.flatnonzero(c.kind[:n] == 0)
        assert rocking.size == b.N_E
        # a chain of N_E such contacts: highest frequency by the inverse masses of the two elements that each one meets
        M = np.array([1 / b.m_E, 1 / b.m_E, 1 / b.J_E] * 2)
        z = [2.0 * dt**2 * J.k_R * row @ (M * row) for row in c.row[rocking]]
        theta = (c.d[rocking] - J.d_R) / (J.k_R * dt)
        np.testing.assert_allclose(theta, np.maximum(0.0, 1.0 - 2.0 / np.array(z)), atol=1e-9)
        assert np.all(np.array(z) * (1.0 - 2.0 * theta) < 4.0)  # stable
        assert (dt > 3e-6) == np.any(theta > 0.0)


def test_scheme_converges_to_the_explicit_one():
    duration = 2e-4
    b = inputs("MED", 2, duration, 2)
    m, x = fresh("MED", 2)
    hybrid.run(m, x, b, 400, 2.5e-7)
    error = []
    for steps in (25, 50, 100):
        _, y = fresh("MED", 2)
        _, done = compliant.run(m, y, b, steps, 1e-4 / steps)
        assert done == 2
        error.append(np.abs(y.u[:, :2] - x.u[:, :2]).mean())
    assert error[2] < error[1] < error[0]
    assert error[0] / error[2] > 2.5  # first order, with contacts that close and open at other times
    assert error[2] < 2e-2  # of 11 m/s, while the start still swings


def test_friction_that_a_step_missed_is_what_the_law_asks_for_at_its_end():
    m, x = fresh("MED", 2)
    b, dt = m.belt, 1e-5
    values = inputs("MED", 2, 1e-3, 10)
    compliant.run(m, x, values, 10)
    w, k = hybrid.scratch(m, x, 1), compliant._work(m)
    hybrid.directions(x.q, w.cs, w.sn)
    hybrid.directions(x.q_R, w.cs_R, w.sn_R)
    before = x.missed.copy()
    compliant.step(m, x, w, k, values[0], dt, np.zeros(14))

    fl = w.fl
    pressed = fl.N[:, 0] > 0.0
    assert 60 < pressed.sum() < 160
    u, arm, n, v = (a[pressed] for a in (x.u, fl.arm[:, 0], fl.n[:, 0], fl.v[:, 0]))
    slip = np.stack([u[:, 0] - u[:, 2] * arm[:, 1], u[:, 1] + u[:, 2] * arm[:, 0], np.zeros(len(u))], axis=1)
    slip -= v[:, :3] + 0.5 * dt * v[:, 3:]
    slip -= np.sum(n * slip, axis=1, keepdims=True) * n
    law = -b.mu * fl.N[pressed] * slip / np.sqrt(np.sum(slip**2, axis=1, keepdims=True) + b.v_mu**2)
    np.testing.assert_allclose(x.missed[pressed, :3], 0.5 * (law + fl.kappa[pressed] * slip), rtol=1e-6, atol=1e-8)
    assert not x.missed[~pressed, :6].any()

    c = k.saddles
    closed = np.flatnonzero(c.k >= 0)
    slip = np.sum(c.element[closed, 1] * x.u[closed // 2], axis=1)
    slip -= np.sum(c.ring[closed, 1] * k.segments.y[c.k[closed]], axis=1)
    law = -m.saddle.mu * np.abs(c.L[closed, 0]) / dt * slip / np.sqrt(slip**2 + m.saddle.v_mu**2)
    missed = x.missed[:, 6:].ravel()
    np.testing.assert_allclose(missed[closed], law + c.kappa[closed] * slip, rtol=1e-6, atol=1e-8)
    # friction of the step is -kappa v_t and what the one before missed, but for what the joints change in v_t
    applied = c.L[closed, 1] / dt - before[:, 6:].ravel()[closed]
    assert np.median(np.abs(applied + c.kappa[closed] * slip)) < 0.1 * np.median(np.abs(law))


def test_runs_repeat_bit_by_bit_and_continue():
    b = inputs("OD", 0, 4e-4, 4)
    m, x = fresh("OD", 0)
    _, y = fresh("OD", 0)
    out, done = compliant.run(m, x, b, 10)
    assert done == 4
    compliant.run(m, y, b[:3], 10)
    compliant.run(m, y, b[2:], 10)
    for one, other in zip(x, y, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.isfinite(out.work).all()


def test_a_finer_ring_does_not_rattle():
    b = inputs("LOW", 0, 0.02, 200)
    m, st = start("LOW", 0, N_B=208)
    x = hybrid.state(st.q, st.u, st.q_R, st.u_R, st.s_R, st.s, st.sd, len(m.sheaves.A) - 1)
    out, done = compliant.run(m, x, b, 10)
    assert done == 200
    lost = out.work[100:, len(hybrid.INPUTS) :].sum(axis=0)
    ring = lost[hybrid.LOSSES.index("ring axial damping")] + lost[hybrid.LOSSES.index("ring bending damping")]
    assert 0.0 < ring < 0.03 * lost.sum()


def test_energy_balance_and_axial_momentum():
    b = inputs("MED", 2, 5e-3, 50)
    m, x = fresh("MED", 2)
    out, done = compliant.run(m, x, b, 10)
    assert done == 50
    out = hybrid.Frames(*[a[25:] for a in out])  # the start swings
    error, losses, throughput = hybrid.residual(out)
    assert abs(error) < 1e-3 * throughput
    assert abs(error) < 0.05 * losses
    lost = dict(zip(hybrid.LOSSES, out.work[:, len(hybrid.INPUTS) :].sum(axis=0), strict=True))
    assert min(lost.values()) >= 0.0
    assert lost["ring bending damping"] > lost["ring axial damping"]  # it bends with every element that passes
    # axial: m z'' = contact - clamping - d_z z', over the frames
    change = m.sheaves.m * (out.sd[-1, 1, 0] - out.sd[0, 1, 0])
    impulse = np.sum(out.pulley[1:, 1, 0] - out.pulley[1:, 1, 1]) * 1e-4
    drift = m.sheaves.d_z * (out.s[-1, 1, 0] - out.s[0, 1, 0])
    assert change + drift == pytest.approx(impulse, abs=1e-4 * np.sum(np.abs(out.pulley[1:, 1, 0])) * 1e-4)


def mean_peaks(m: Any, out: Any, field: Any) -> Any:
    """Peak over the azimuth of the time mean of `field` (n, N_E), per pulley."""
    peaks = []
    for x_p in (m.belt.d_A, 0.0):
        x, y = out.q[..., 0] - x_p, out.q[..., 1]
        on = (np.abs(x) < 0.5 * m.belt.d_A) & (np.hypot(x, y) < m.sheaves.r_max + m.belt.h_S)
        angle = np.digitize(np.arctan2(y, x * (1.0 if x_p else -1.0))[on], np.radians(np.arange(-130, 131, 5)))
        total, count = np.bincount(angle, field[on], 54), np.bincount(angle, minlength=54)
        peaks.append((total[count > 200] / count[count > 200]).max())
    return np.array(peaks)


def figures(m: Any, out: Any) -> dict[str, Any]:
    """Means and peaks of a run, without its first 8 ms."""
    out = hybrid.Frames(*[a[80:] for a in out])
    force, speed = out.pulley[:, :, 1].mean(axis=0), out.sd[:, :, 3].mean(axis=0)
    return {
        "thrust ratio": force[0] / force[1],
        "speed ratio": speed[0] / speed[1],
        "tension": out.tension.mean(),
        "flank peaks": mean_peaks(m, out, out.flank[..., 0]),
        "push peaks": mean_peaks(m, out, out.joint[..., :3].sum(axis=-1)),
    }


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "steps"), [("compliant", 10), ("multirate", 40)])
@pytest.mark.parametrize(
    ("case", "row", "settling", "revolution"), [("OD", 0, 900, 870), ("MED", 2, 1100, 570), ("LOW", 0, 1000, 980)]
)
def test_larger_steps_agree_with_the_explicit_scheme_within_three_percent(
    case, row, settling, revolution, scheme, steps
):
    """A revolution from one settled state; from the start, runs also differ by what the belt did while it settled.

    The explicit scheme at 1e-6 s is itself off by up to 3.5 %: it is taken there and at 5e-7 s. What the larger steps
    give must lie within 3 % of the two or between them.
    """
    n = settling + revolution
    b = inputs(case, row, 1e-4 * n, n)
    m, x = fresh(case, row)
    _, done = hybrid.run(m, x, b[: settling + 1], 100)
    assert done == settling
    found = []
    for name, number in (("explicit", 100), ("explicit", 200), (scheme, steps)):
        y = hybrid.State(*[a.copy() for a in x])
        out, done = STEPPED[name](m, y, b[settling:], number, 1e-4 / number)
        assert done == revolution
        found.append(figures(m, out))
    for name, value in found[2].items():
        if name == "push peaks" and case == "OD":  # carries no torque: its push force moves with the gaps of the chain
            continue
        both = np.stack([found[0][name], found[1][name]])
        share = 0.003 if name == "speed ratio" else 0.03
        assert np.all(value > (1.0 - share) * both.min(axis=0)), name
        assert np.all(value < (1.0 + share) * both.max(axis=0)), name
    error, losses, throughput = hybrid.residual(out)
    assert abs(error) < 0.05 * losses
    assert case == "OD" or abs(error) < 1e-3 * throughput  # OD carries no torque
