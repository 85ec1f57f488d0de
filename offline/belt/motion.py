"""Equations of motion of a belt drive and their time steps (Ntarladima, Pieber and Gerstmayr 2023, sections 2.4 and 4).

    M q_tt + f_el(q, q_t) + f_con(q, q_t, phi, w, state) = weight
    I_i phi_i_tt + d_i w_i - T_i(w_i) - r_i sum f_t = tau_i            sheaves that a torque moves
    w_i = w_i(t), tau_i the multiplier of that constraint              sheaves of given speed
    coefficients of friction                                           see `friction`
    arms that carry sheaves                                            see `tensioner`
    shafts after decouplers                                            see `shafts`

Trapezoidal rule with index 2, that is with the constraint at velocity level:

    q_1 = q_0 + h q_t0 + h^2/4 (q_tt0 + q_tt1),   q_t1 = q_t0 + h/2 (q_tt0 + q_tt1)

Newton's method corrects q by dq, q_t by 2/h dq and q_tt by 4/h^2 dq; its matrix is the ring of `ring_solver` bordered
by the free sheaves and the arms. It is kept as long as the residual falls fast enough. A speed's constraint is solved
beforehand, phi_tt1 = 2 (w_1 - w_0)/h - phi_tt0: after a kink of w(t) the multiplier alternates from step to step about
its mean, by the inertia times the jump of the slope, for the rule has no damping.

Discontinuous iteration: Newton's method, then the post-Newton step of all segments; repeated until the sum of its
switching errors is below a tolerance, or the largest number of iterations is reached, from where the step is accepted.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.belt.ancf import Cable, elastic_forces, elastic_tangent
from rtcvt.offline.belt.audit import STORED, WORKS, Ledger, book, ledger
from rtcvt.offline.belt.compiled import compiled
from rtcvt.offline.belt.friction import place_friction
from rtcvt.offline.belt.ring_solver import factorise, solve
from rtcvt.offline.belt.shafts import Shafts, load_torque, shaft_of, shaft_torque, start_shafts
from rtcvt.offline.belt.sheave import (
    UNDEFINED,
    Contact,
    contact_forces,
    contact_tangent,
    follow_sliding,
    post_newton,
    scratch,
    segment_forces,
    touching,
)
from rtcvt.offline.belt.tensioner import Arms, arm_moment, arm_slope, carrier, place_arms, start_dry

Array = NDArray[np.float64]

N_COUNT = 6  # steps, discontinuous iterations, Newton iterations, matrices, steps not switched out, steps in parts


class Sheaves(NamedTuple):
    """Sheaves, arms and shafts."""

    I: Array  # (m,) [kg m^2]  # noqa: E741
    d: Array  # (m,) [N m s]
    free: NDArray[np.int64]  # (m,) place in the border, or -1 where the speed is given
    load_w: Array  # (m, k) speeds [rad/s] of the load's points
    load_tau: Array  # (m, k) torques [N m] there
    loads: NDArray[np.int64]  # (m,) number of points; 0 for none
    arms: Arms
    shafts: Shafts


class Motion(NamedTuple):
    """State of belt and sheaves; arrays that the steps overwrite."""

    q: Array  # (n, 4)
    v: Array  # (n, 4)
    a: Array  # (n, 4)
    phi: Array  # (m,)
    w: Array  # (m,)
    alpha: Array  # (m,)
    tau: Array  # (m,) external torque, or that of the constraint
    contact: Array  # (m, n, n_s, 3) see sheave.contact_forces
    arms: Array  # (k, 4) angle, speed, acceleration and dry friction of each arm
    shafts: Array  # (k, 4) speed and acceleration of each shaft after a decoupler, twist of its spring and its rate
    sliding: Array  # (m, 1 or more) sliding speeds [m/s] on which friction depends, see `friction`


class Numerics(NamedTuple):
    """Step and tolerances of `march`."""

    h: float  # [s]
    newton: float = 1e-6  # residual that ends Newton's method, by that of the predictor
    contraction: float = 0.05  # of the residual in an iteration, above which the matrix is renewed
    switching: float = 1e-3  # sum of switching errors [N] that ends the discontinuous iteration
    most: int = 5  # discontinuous iterations


class Work(NamedTuple):
    """Scratch."""

    D: Array
    G: Array
    N: Array
    F: Array
    S: Array
    c: Array
    res: Array
    res_w: Array
    res_arm: Array
    pull: Array
    dry: Array
    hung: Array
    start: Array
    before: Motion
    given: Array
    pairs: NDArray[np.int64]
    contact: tuple[Array, Array, Array, Array]
    account: Ledger
    booked: Array
    slides: Array


def motion(q: Array, sheaves: int, segments: int, arms: int = 0, shafts: int = 0, directions: int = 1) -> Motion:
    """State of rest at `q` (n, 4), without contact; friction depends on the sliding speed at `directions`
    directions."""
    n = q.shape[0]
    contact = np.zeros((sheaves, n, segments, 3))
    contact[..., 0], contact[..., 1] = 1.0, UNDEFINED
    phi, w, alpha, tau = np.zeros((4, sheaves))
    none, own = np.zeros((arms, 4)), np.zeros((shafts, 4))
    slides = np.zeros((sheaves, directions))
    return Motion(q.copy(), np.zeros((n, 4)), np.zeros((n, 4)), phi, w, alpha, tau, contact, none, own, slides)


def work(n: int, sheaves: int, free: int, segments: int, arms: int = 0, shafts: int = 0, directions: int = 1) -> Work:
    """Scratch for n elements."""
    border = free + arms
    S = np.zeros((6 + border, 4 + border))
    return Work(
        D=np.zeros((n, 4, 4)), G=np.zeros((n, 4, 8 + border)), N=np.zeros((n, 4, 4)), F=np.zeros((n, 4 + border, 4)),
        S=S, c=S[-1], res=np.zeros((n, 4)), res_w=np.zeros(sheaves), res_arm=np.zeros(arms),
        pull=np.zeros((sheaves, 2)), dry=np.zeros((arms, 2)), hung=np.zeros((shafts, 3)),
        start=np.zeros((sheaves, n, segments, 3)),
        before=motion(np.zeros((n, 4)), sheaves, segments, arms, shafts, directions), given=np.zeros(sheaves),
        pairs=np.zeros((sheaves * n, 2), dtype=np.int64), contact=scratch(segments),
        account=ledger(sheaves, n, segments), booked=np.zeros(len(WORKS)), slides=np.zeros((sheaves, directions, 2)),
    )  # fmt: skip


@compiled
def _hung(s: Any, x: Any, k: int, W: Any) -> tuple[float, float]:
    """`shaft_torque` of shaft k with its bearing, load and external torque."""
    i = s.shafts.sheave[k]
    load, slope = load_torque(s, i, x.shafts[k, 0])
    torque = load - slope * x.shafts[k, 0] + x.tau[i]
    return shaft_torque(s.shafts, x.shafts, W.hung, k, x.w[i], torque, slope - s.d[i])


@compiled
def _residual(cable: Any, contact: Any, s: Any, x: Any, count: int, W: Any) -> float:
    """Fill W.res and W.res_w; returns the root mean square of the residuals of Newton's method."""
    n = x.q.shape[0]
    res = W.res
    m = cable.mass
    res[:] = 0.0
    for e in range(n):
        k = e + 1 if e + 1 < n else 0
        for b in range(2):
            a0 = x.a[e, b]
            a1 = x.a[e, 2 + b]
            a2 = x.a[k, b]
            a3 = x.a[k, 2 + b]
            res[e, b] += m[0, 0] * a0 + m[0, 1] * a1 + m[0, 2] * a2 + m[0, 3] * a3
            res[e, 2 + b] += m[1, 0] * a0 + m[1, 1] * a1 + m[1, 2] * a2 + m[1, 3] * a3
            res[k, b] += m[2, 0] * a0 + m[2, 1] * a1 + m[2, 2] * a2 + m[2, 3] * a3
            res[k, 2 + b] += m[3, 0] * a0 + m[3, 1] * a1 + m[3, 2] * a2 + m[3, 3] * a3
        res[e, 1] += cable.weight[0]
        res[e, 3] += cable.weight[1]
        res[k, 1] += cable.weight[2]
        res[k, 3] += cable.weight[3]
    elastic_forces(cable, x.q, x.v, n, res)
    W.res_w[:] = 0.0
    W.pull[:] = 0.0
    place_arms(s.arms, x.arms, contact)
    contact_forces(contact, x, W.pairs, count, W.contact[0], res, W.res_w, W.pull)
    total = 0.0
    for i in range(x.phi.shape[0]):
        j = shaft_of(s.shafts, i)
        if j >= 0:
            W.res_w[i] = s.I[i] * x.alpha[i] + _hung(s, x, j, W)[0] - W.res_w[i]
        else:
            W.res_w[i] = s.I[i] * x.alpha[i] + s.d[i] * x.w[i] - load_torque(s, i, x.w[i])[0] - W.res_w[i]
    for k in range(x.arms.shape[0]):
        i = s.arms.sheave[k]
        bearing = s.d[i] * x.arms[k, 1]
        W.res_w[i] -= bearing
        W.res_arm[k] = arm_moment(s.arms, x.arms, W.dry, k, W.pull, contact) + bearing - s.d[i] * x.w[i]
        total += W.res_arm[k] * W.res_arm[k]
    for i in range(x.phi.shape[0]):
        if s.free[i] >= 0:
            if shaft_of(s.shafts, i) < 0:
                W.res_w[i] -= x.tau[i]
            total += W.res_w[i] * W.res_w[i]
        else:
            x.tau[i] = W.res_w[i]
    for e in range(n):
        for b in range(4):
            total += res[e, b] * res[e, b]
    return np.sqrt(total / (4.0 * n))


@compiled
def newton_matrix(cable: Any, contact: Any, s: Any, x: Any, count: int, cv: float, ca: float, W: Any) -> None:
    """Newton's matrix, rates weighted by `cv` and accelerations by `ca`, into W.D, G, N, F, S."""
    n = x.q.shape[0]
    W.D[:] = 0.0
    W.G[:, :, 8:] = 0.0
    W.F[:, 4:] = 0.0
    elastic_tangent(cable, x.q, x.v, n, cv, W.contact[2], W.D, W.G, W.N)
    for e in range(n):
        k = e + 1 if e + 1 < n else 0
        for a in range(2):
            for b in range(2):
                for i in range(2):
                    W.D[e, 2 * a + i, 2 * b + i] += ca * cable.mass[a, b]
                    W.D[k, 2 * a + i, 2 * b + i] += ca * cable.mass[2 + a, 2 + b]
                    W.G[e, 2 * a + i, 2 * b + i] += ca * cable.mass[a, 2 + b]
                    W.N[e, 2 * a + i, 2 * b + i] += ca * cable.mass[2 + a, b]
    for i in range(x.phi.shape[0]):
        j = s.free[i]
        if j >= 0:
            W.S[4 + j, 4:] = 0.0
            k = shaft_of(s.shafts, i)
            if k >= 0:
                W.S[4 + j, 4 + j] = s.I[i] * ca + _hung(s, x, k, W)[1] * cv
            else:
                W.S[4 + j, 4 + j] = s.I[i] * ca + (s.d[i] - load_torque(s, i, x.w[i])[1]) * cv
    for k in range(x.arms.shape[0]):
        i = s.arms.sheave[k]
        j = contact.arm[i]
        W.S[4 + j, 4:] = 0.0
        W.S[4 + j, 4 + j] = arm_slope(s.arms, x.arms, W.dry, k, cv, ca, W.pull, contact) + s.d[i] * cv
        if s.free[i] >= 0:
            W.S[4 + s.free[i], 4 + j] -= s.d[i] * cv
            W.S[4 + j, 4 + s.free[i]] -= s.d[i] * cv
    contact_tangent(contact, x, cv, W.pairs, count, s.free, W.contact, W.D, W.G, W.N, W.F, W.S)


@compiled
def _correct(s: Any, x: Any, cv: float, ca: float, W: Any) -> None:
    """Solve for the correction and apply it."""
    for i in range(x.phi.shape[0]):
        if s.free[i] >= 0:
            W.c[4 + s.free[i]] = W.res_w[i]
    first = W.S.shape[1] - x.arms.shape[0]
    W.c[first:] = W.res_arm
    solve(W.D, W.G, W.N, W.F, W.S, W.res)
    for e in range(x.q.shape[0]):
        for b in range(4):
            d = W.res[e, b]
            x.q[e, b] -= d
            x.v[e, b] -= cv * d
            x.a[e, b] -= ca * d
    for i in range(x.phi.shape[0]):
        if s.free[i] >= 0:
            d = W.c[4 + s.free[i]]
            x.phi[i] -= d
            x.w[i] -= cv * d
            x.alpha[i] -= ca * d
    for k in range(x.arms.shape[0]):
        d = W.c[first + k]
        x.arms[k, 0] -= d
        x.arms[k, 1] -= cv * d
        x.arms[k, 2] -= ca * d


@compiled
def _newton(
    cable: Any, contact: Any, s: Any, x: Any, h: float, fresh: bool, size: float, goal: float, shrink: float, W: Any,
    count: Any,
) -> tuple[bool, bool]:  # fmt: skip
    """Modified Newton's method from a residual of `size`, below zero if not yet known.

    Whether it converged, and whether its matrix may be used again.
    """
    cv, ca = 2.0 / h, 4.0 / (h * h)
    pairs = touching(x.contact, W.pairs)
    if size < 0.0:
        size = _residual(cable, contact, s, x, pairs, W)
    for _ in range(MAX_NEWTON_ITERATIONS):
        if not size > goal:
            return size <= goal, fresh
        if not fresh:
            newton_matrix(cable, contact, s, x, pairs, cv, ca, W)
            factorise(W.D, W.G, W.N, W.F, W.S)
            count[3] += 1
            fresh = True
        _correct(s, x, cv, ca, W)
        count[2] += 1
        last = size
        size = _residual(cable, contact, s, x, pairs, W)
        fresh = size < shrink * last
    return size <= goal, fresh


MAX_NEWTON_ITERATIONS = 40
MAX_PARTS = 64  # of a step in which Newton's method fails
ROUNDING_RTOL = 1e-12  # of the residual, by EA


@compiled
def _copy(a: Any, b: Any) -> None:
    """Set state `b` to `a`."""
    b.q[:] = a.q
    b.v[:] = a.v
    b.a[:] = a.a
    b.phi[:] = a.phi
    b.w[:] = a.w
    b.alpha[:] = a.alpha
    b.tau[:] = a.tau
    b.contact[:] = a.contact
    b.arms[:] = a.arms
    b.shafts[:] = a.shafts
    b.sliding[:] = a.sliding


@compiled
def _advance(
    cable: Any, contact: Any, s: Any, x: Any, numerics: Any, h: float, fresh: bool, W: Any, count: Any
) -> tuple[bool, bool, bool]:
    """One step to the speeds and torques in W.given.

    Whether Newton's method converged, whether all segments switched out, and whether its matrix may be used again.
    """
    n, m = x.q.shape[0], x.phi.shape[0]
    W.start[:] = x.contact
    for e in range(n):
        for b in range(4):
            # predictor: no new acceleration
            x.q[e, b] += h * x.v[e, b] + 0.25 * h * h * x.a[e, b]
            x.v[e, b] += 0.5 * h * x.a[e, b]
            x.a[e, b] = 0.0
    for i in range(m):
        if s.free[i] >= 0:
            x.phi[i] += h * x.w[i] + 0.25 * h * h * x.alpha[i]
            x.w[i] += 0.5 * h * x.alpha[i]
            x.alpha[i] = 0.0
            x.tau[i] = W.given[i]
        else:
            w = W.given[i]
            x.phi[i] += 0.5 * h * (x.w[i] + w)
            x.alpha[i] = 2.0 / h * (w - x.w[i]) - x.alpha[i]
            x.w[i] = w
    start_dry(s.arms, x.arms, h, W.dry)
    start_shafts(x.shafts, h, W.hung)
    for k in range(x.arms.shape[0]):
        x.arms[k, 0] += h * x.arms[k, 1] + 0.25 * h * h * x.arms[k, 2]
        x.arms[k, 1] += 0.5 * h * x.arms[k, 2]
        x.arms[k, 2] = 0.0
    size = _residual(cable, contact, s, x, touching(x.contact, W.pairs), W)
    goal = numerics.newton * size + ROUNDING_RTOL * cable.EA
    error = 0.0
    for _ in range(numerics.most):
        done, fresh = _newton(cable, contact, s, x, h, fresh, size, goal, numerics.contraction, W, count)
        if not done:
            return False, False, False
        count[1] += 1
        size = -1.0
        error = post_newton(contact, cable.L, x, W.start, W.contact[0])
        if error <= numerics.switching:
            break
    return True, error <= numerics.switching, fresh


@compiled
def march(
    cable: Any, contact: Any, s: Any, x: Any, numerics: Any, w_in: Any, tau_in: Any, every: int, q: Any, v: Any,
    turning: Any, carried: Any, stress: Any, energy: Any, W: Any, count: Any,
) -> int:  # fmt: skip
    """Make len(w_in) steps and store every `every`-th.

    Parameters
    ----------
    cable, contact, s, x, numerics : Cable, Contact, Sheaves, Motion, Numerics
    w_in, tau_in : (steps, m) arrays
        Given speeds [rad/s] and torques [N m] at the ends of the steps; each sheave reads one of the two.
    q, v : (samples, n, 4) arrays
    turning : (samples, m, 4) array
        Filled with phi, w, tau and the torque of the belt on each sheave.
    carried : (samples, k, 4) array
        Filled with angle, speed, acceleration and dry friction of each arm, then the shafts as in `Motion`.
    stress : (samples, m, n, n_s, 4) array
        See `sheave.segment_forces`.
    energy : (samples, 17) array
        Filled with `audit.STORED` and with `audit.WORKS`, which continue from W.account.work [J].
    count : (N_COUNT,) array of int64
        Added up: steps, discontinuous iterations, Newton iterations, matrices, steps accepted at the largest number,
        steps made in parts.

    Returns
    -------
    int
        Steps made; fewer than requested if Newton's method failed in the smallest parts of a step, too.
    """
    m = x.phi.shape[0]
    fresh = False
    _open_account(cable, contact, s, x, W)
    for step in range(w_in.shape[0]):
        _copy(x, W.before)
        W.booked[:] = W.account.work
        parts = 1
        settled = True
        while True:
            done = True
            settled = True
            for part in range(1, parts + 1):
                for i in range(m):
                    share = part / parts
                    W.given[i] = w_in[step, i] if s.free[i] < 0 else tau_in[step, i]
                    if part < parts:
                        last = W.before.w[i] if s.free[i] < 0 else W.before.tau[i]
                        W.given[i] = last + share * (W.given[i] - last)
                done, still, fresh = _advance(cable, contact, s, x, numerics, numerics.h / parts, fresh, W, count)
                if not done:
                    break
                book(cable, contact, s, x, numerics.h / parts, W.account, W.contact[0])
                follow_sliding(contact, x, numerics.h / parts, W.contact[0], W.slides)
                settled = settled and still
            if done or parts == MAX_PARTS:
                break
            _copy(W.before, x)
            W.account.work[:] = W.booked
            _open_account(cable, contact, s, x, W)
            parts *= 2
            fresh = False
        if not done:
            _copy(W.before, x)
            return step
        if parts > 1:
            count[5] += 1
            fresh = False
        if not settled:
            count[4] += 1
        count[0] += 1
        if (step + 1) % every == 0:
            o = (step + 1) // every - 1
            q[o] = x.q
            v[o] = x.v
            carried[o, : x.arms.shape[0]] = x.arms
            carried[o, x.arms.shape[0] :] = x.shafts
            for i in range(m):
                turning[o, i, 0] = x.phi[i]
                turning[o, i, 1] = x.w[i]
                turning[o, i, 2] = x.tau[i]
                friction = s.d[i] * (x.w[i] - carrier(s.arms, x.arms, i))
                turning[o, i, 3] = s.I[i] * x.alpha[i] + friction - load_torque(s, i, x.w[i])[0] - x.tau[i]
                j = shaft_of(s.shafts, i)
                if j >= 0:
                    spring = s.shafts.K[j] * x.shafts[j, 2] + s.shafts.C[j] * x.shafts[j, 3]
                    turning[o, i, 3] = s.I[i] * x.alpha[i] + s.shafts.sense[j] * spring
            segment_forces(contact, x, W.contact[0], stress[o])
            energy[o, : len(STORED)] = W.account.stored
            energy[o, len(STORED) :] = W.account.work
    return w_in.shape[0]


@compiled
def _open_account(cable: Any, contact: Any, s: Any, x: Any, W: Any) -> None:
    """Write the data of a step's start for its entry in the account."""
    place_arms(s.arms, x.arms, contact)
    place_friction(contact.sliding, x.sliding, x.phi, contact.mu)
    book(cable, contact, s, x, 0.0, W.account, W.contact[0])


@compiled
def _relax(cable: Any, contact: Any, s: Any, x: Any, ca: float, W: Any, count: Any) -> tuple[float, float, float]:
    """One step of Newton's method at rest, x of node 0 and sheaves' turns held; residual, correction and switching."""
    pairs = touching(x.contact, W.pairs)
    _residual(cable, contact, s, x, pairs, W)
    W.res[0, 0] = 0.0
    W.res_w[:] = 0.0
    size = np.max(np.abs(W.res))
    newton_matrix(cable, contact, s, x, pairs, 0.0, ca, W)
    last = x.q.shape[0] - 1
    W.D[0, 0] = 0.0
    W.N[last, 0] = 0.0
    W.G[0, 0] = 0.0
    W.D[0, 0, 0] = 1.0
    for k in range(x.arms.shape[0]):
        size = max(size, abs(W.res_arm[k]))
    for j in range(W.S.shape[1] - 4 - x.arms.shape[0]):
        W.S[4 + j, 4:] = 0.0
        W.S[4 + j, 4 + j] = 1.0
        W.F[:, 4 + j] = 0.0
    factorise(W.D, W.G, W.N, W.F, W.S)
    _correct(s, x, 0.0, 0.0, W)
    move = np.max(np.abs(W.res))
    first = W.S.shape[1] - x.arms.shape[0]
    for k in range(x.arms.shape[0]):
        move = max(move, abs(W.c[first + k]))
    return size, move, post_newton(contact, cable.L, x, x.contact, W.contact[0])


def equilibrium(cable: Cable, contact: Contact, s: Sheaves, x: Motion, W: Work) -> float:
    """Bring `x` to rest without friction, with x of node 0 and turns of all sheaves fixed; returns the largest residual
    [N, N m].

    Afterwards touching segments stick.

    Raises
    ------
    ArithmeticError
        Newton's method did not converge.
    """
    smooth = contact._replace(mu=0.0 * contact.mu, mu_k=0.0, mu_v=0.0)
    s = s._replace(arms=s.arms._replace(M_F=0.0 * s.arms.M_F))
    count = np.zeros(N_COUNT, dtype=np.int64)
    post_newton(smooth, cable.L, x, x.contact, W.contact[0])
    scale = 1e-3 * cable.EA / (cable.L * cable.mass[0, 0])
    for k in range(200):
        size, move, switching = _relax(cable, smooth, s, x, scale if k < 100 else 0.0, W, count)
        scale *= 0.5
        if move < 1e-12 and switching == 0.0:
            break
    else:
        raise ArithmeticError(f"no static equilibrium of the belt: residual {size:g} N")
    x.contact[..., 1] = UNDEFINED
    post_newton(contact, cable.L, x, x.contact.copy(), W.contact[0])
    return float(size)
