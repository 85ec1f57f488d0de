"""Velocities of elements between the sheaves of the two sides (Cebulla 2014, sections 3.2.2, 5.2.6).

Contact points, normal forces and works of a side are those of `contact.flank`. Each side has its own sheaves and its
own deflection.

New velocities. N follows from penetration and approach as in `flank`; friction and the resulting velocity u+ are
solved together. In the frame of an element, with arms a and normals n of its closed points (both sides, one or two
each),

    M (u+ - u) = dt f + dt sum G' (N n + T),    T = -kappa(|v_T|) v_T,    v_T = (1 - n n')(G u+ - v_sheave)

six equations, G = (1, -[a] x), with the mean step's velocity of the sheave; Theta is diagonal in this frame, m the same
in all. As in `flank` they are the minimum of a convex function for friction that does not fall with the slip. Newton's
steps solve a symmetric positive definite system each, by L D L'; T is within mu N and exact (`FRICTION_RTOL`).
Forces and
moments on the sheaves are the opposite of those on the flanks, about all axes.

A side without a sheave has N = 0. The Newton steps process whole vectors (`flank.whole`). Where many elements are not
exact after them, as in large steps, all make three more; the remaining ones are solved one by one.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.contact.flank import FRICTION_RTOL, MAX_NEWTON_STEPS, VELOCITY_ATOL, add_works, slope, whole
from rtcvt.offline.pushbelt.contact.flank import energy as of_both_flanks
from rtcvt.offline.pushbelt.contact.friction import secant
from rtcvt.offline.pushbelt.spatial.element import Side
from rtcvt.offline.pushbelt.vectors import (
    across,
    applied,
    copy,
    cross,
    dot,
    inverse_of,
    load,
    minus,
    mirrored,
    moved,
    plus,
    scaled,
    store,
    store_motion,
    straight,
    summed,
    times,
    to_body,
    to_inertial,
    turned,
    turning,
    zero,
)

_MAX_SINGLE_ELEMENTS = 6  # elements to be done one by one; for more the Newton steps of all are cheaper
_NONE = (0.0, 0.0, 0.0)


class Step(NamedTuple):
    """A step of the elements: body, law of friction (`friction`), dt [s], the side sigma = 1 with velocities before it,
    forces f (N_E, 6) of all other contacts, moments in the element's frame, flanks of sigma = 1 and -1."""

    body: Any
    law: Any
    dt: float
    el: Side
    f: Any
    left: Any
    right: Any


@inlined
def _slip(sigma, fl, i, p, w):
    """Slip velocity v_T at a point if the step ends with the velocity w of the element, both in its frame."""
    v = plus(w[0], cross(w[1], mirrored(sigma, load(fl.arm, i, p))))
    return across(minus(v, load(fl.c, i, p)), load(fl.m, i, p))


@inlined
def _add(law, dt, sigma, fl, i, p, w, S):
    """Sums S with one point at the velocity w: blocks K, C, J of the matrix and force and moment of the residual.

    The matrix has K (symmetric) for the velocity and J for the angular velocity; C has the columns between them.
    """
    K, C, J, F, M = S
    v = _slip(sigma, fl, i, p, w)
    arm = mirrored(sigma, load(fl.arm, i, p))
    x, y, z = arm
    n = load(fl.m, i, p)
    N = dt * fl.N[i, p]
    k, T = slope(law, N, 0.0, 1.0, v, n)
    T_x, T_y, T_z = (T[0], T[1], T[2]), (T[1], T[3], T[4]), (T[2], T[4], T[5])
    # T times the point's velocity by a rotation about each axis, (0, -z, y), (z, 0, -x), (-y, x, 0), and its moment
    c_x = minus(times(y, T_z), times(z, T_y))
    c_y = minus(times(z, T_x), times(x, T_z))
    c_z = minus(times(x, T_y), times(y, T_x))
    m_x, m_y, m_z = cross(arm, c_x), cross(arm, c_y), cross(arm, c_z)
    h = moved(times(N, n), -k, v)
    return (
        summed(K, T),
        (plus(C[0], c_x), plus(C[1], c_y), plus(C[2], c_z)),
        summed(J, (m_x[0], m_y[0], m_z[0], m_y[1], m_z[1], m_z[2])),
        minus(F, h),
        minus(M, cross(arm, h)),
    )


@inlined
def _solve(S):
    """Velocity and angular velocity from the sums of `_add`: the velocity is eliminated."""
    K, C, J, F, M = S
    K = inverse_of(K)
    x, y, z, f = applied(K, C[0]), applied(K, C[1]), applied(K, C[2]), applied(K, F)
    less = (dot(C[0], x), dot(C[0], y), dot(C[0], z), dot(C[1], y), dot(C[1], z), dot(C[2], z))
    J = summed(J, (-less[0], -less[1], -less[2], -less[3], -less[4], -less[5]))
    o = applied(inverse_of(J), minus(M, (dot(C[0], f), dot(C[1], f), dot(C[2], f))))
    return minus(f, plus(plus(times(o[0], x), times(o[1], y)), times(o[2], z))), o


@inlined
def _free(t, i):
    """Velocity and angular velocity of an element without flanks after the step, in its frame."""
    v = moved(straight(t.el.u, i), t.dt / t.body.m, straight(t.f, i))
    return to_body(t.el.R, i, v), turned(t.body, t.dt, turning(t.el.u, i), turning(t.f, i))


@inlined
def _newton(t, i, rest, w):
    """One Newton step of an element's velocity from w; `rest` that without flanks.

    Returns
    -------
    velocity, and the squared error of the impulse before the step [N^2 s^2]
    """
    m, Theta = t.body.m, (t.body.Theta_x, t.body.Theta_y, t.body.Theta_z)
    F, M = times(m, minus(w[0], rest[0])), scaled(Theta, minus(w[1], rest[1]))
    S = ((m, 0.0, 0.0, m, 0.0, m), (_NONE, _NONE, _NONE), (Theta[0], 0.0, 0.0, Theta[1], 0.0, Theta[2]), F, M)
    S = _add(t.law, t.dt, 1.0, t.left, i, 0, w, S)
    S = _add(t.law, t.dt, -1.0, t.right, i, 0, w, S)
    if len(t.left.points) == 2:
        S = _add(t.law, t.dt, 1.0, t.left, i, 1, w, S)
        S = _add(t.law, t.dt, -1.0, t.right, i, 1, w, S)
    v, o = _solve(S)
    F, M = S[3], S[4]
    error = dot(F, F) + m * (M[0] ** 2 / Theta[0] + M[1] ** 2 / Theta[1] + M[2] ** 2 / Theta[2])
    return (minus(w[0], v), minus(w[1], o)), error


@inlined
def _pulled(sigma, fl, i, p, force, F):
    """Force and moment F on element i, in its frame, with a force at one point."""
    return plus(F[0], force), plus(F[1], cross(mirrored(sigma, load(fl.arm, i, p)), force))


@inlined
def _rub(law, dt, sigma, fl, i, p, w, f, steepest, stiff):
    """Friction T of one point at the velocity w, added with the normal force to the impulses f, the largest secant, and
    the sum of kappa dt [kg]."""
    v = _slip(sigma, fl, i, p, w)
    N = fl.N[i, p]
    k = secant(law, dot(v, v))
    steepest = max(steepest, k)
    k *= N
    T = times(-k, v)
    store(v, fl.slip, i, p)
    store(T, fl.T, i, p)
    return _pulled(sigma, fl, i, p, times(dt, moved(T, N, load(fl.m, i, p))), f), steepest, stiff + dt * k


@inlined
def _conclude(t, find, i, rest, w):
    """Friction T of an element at the velocity w, and the velocity `find.u` that it leads to; 0 if both are one, else
    1."""
    body = t.body
    f, steepest, stiff = _rub(t.law, t.dt, 1.0, t.left, i, 0, w, (_NONE, _NONE), 0.0, 0.0)
    f, steepest, stiff = _rub(t.law, t.dt, -1.0, t.right, i, 0, w, f, steepest, stiff)
    if len(t.left.points) == 2:
        f, steepest, stiff = _rub(t.law, t.dt, 1.0, t.left, i, 1, w, f, steepest, stiff)
        f, steepest, stiff = _rub(t.law, t.dt, -1.0, t.right, i, 1, w, f, steepest, stiff)
    v = moved(rest[0], 1.0 / body.m, f[0])
    o = turned(body, 1.0, rest[1], f[1])
    store_motion(to_inertial(t.el.R, i, v), o, find.u, i)
    missed = minus(v, w[0])
    turn = minus(o, w[1])
    error = dot(missed, missed)
    error += (body.Theta_x * turn[0] ** 2 + body.Theta_y * turn[1] ** 2 + body.Theta_z * turn[2] ** 2) / body.m
    # u leads friction back with rounding of w, kappa dt W times as large; W of a point that turns the element about x
    z = t.left.arm[i, 0, 2]
    W = 1.0 / body.m + z * z / body.Theta_x
    limit = max(FRICTION_RTOL / steepest, VELOCITY_ATOL * (1.0 + 0.1 * stiff * W))
    return 0.0 if error < limit * limit else 1.0


@compiled
def _guess(t, find, first, behind):
    """First guess of the velocities of elements at a pulley, in their frames, in `find.trial`: those before the step,
    turned with the sheave."""
    v = t.left.v
    for i in range(first, behind):
        w = moved(straight(t.el.u, i), t.dt, (v[i, 0, 3], v[i, 0, 4], v[i, 0, 5]))
        store_motion(to_body(t.el.R, i, w), turning(t.el.u, i), find.trial, i)


@compiled
def _approach(t, find, first, behind):
    """Velocities `find.u` of elements at a pulley by a few Newton steps from `find.trial`; how many are not exact."""
    far = 0.0
    for i in range(first, behind):
        rest = _free(t, i)
        w = (straight(find.trial, i), turning(find.trial, i))
        # written out: a loop of this length within keeps the compiler from vectorising the outer one
        w, _ = _newton(t, i, rest, w)
        w, _ = _newton(t, i, rest, w)
        w, _ = _newton(t, i, rest, w)
        missed = _conclude(t, find, i, rest, w)
        store_motion(w[0], w[1], find.trial, i)
        find.far[i] = missed
        far += missed
    return far


@compiled
def _settle(t, find, i):
    """Velocity `find.u` of one element, from `find.trial`; Newton's step is halved until it lowers the error.
    `find.far[i]`: how many it took."""
    rest = _free(t, i)
    x = (straight(find.trial, i), turning(find.trial, i))
    w = x
    before = np.inf
    for n in range(MAX_NEWTON_STEPS):
        find.far[i] = n
        if _conclude(t, find, i, rest, x) == 0.0:
            return
        new, error = _newton(t, i, rest, x)
        if error < before:
            w, before = x, error
            x = new
        else:
            x = (times(0.5, plus(w[0], x[0])), times(0.5, plus(w[1], x[1])))


@inlined
def _pressed(sigma, fl, i, p, F):
    """Force and moment F on element i, in its frame, with the normal force of one point."""
    return _pulled(sigma, fl, i, p, times(fl.N[i, p], load(fl.m, i, p)), F)


@compiled
def ahead(body, dt, u, f, rub, R, left, right, end):
    """Velocities `end` (N_E, 6) after the step `dt` under the forces f, the flanks' normal forces and `rub`, the
    flanks' friction of the last step; all (N_E, 6)."""
    for i in range(np.uint64(body.N_E)):
        F = _pressed(1.0, left, i, 0, (_NONE, turning(f, i)))
        F = _pressed(-1.0, right, i, 0, F)
        if len(left.points) == 2:
            F = _pressed(1.0, left, i, 1, F)
            F = _pressed(-1.0, right, i, 1, F)
        force = plus(plus(straight(f, i), straight(rub, i)), to_inertial(R, i, F[0]))
        v = moved(straight(u, i), dt / body.m, force)
        store_motion(v, turned(body, dt, turning(u, i), plus(F[1], turning(rub, i))), end, i)


@compiled
def velocities(belt, t, s, find, rub, reaction, power):
    """Replace `t.el.u` by the velocities after the step, with all flank forces.

    Parameters
    ----------
    belt, t : Belt, Step
        Flanks after `normal_forces`; slip, T and force are written.
    s : (2, 2, 4)
        Sheave positions by side, pulley, in the view of the side.
    find : Search
        Written.
    rub : (N_E, 6)
        Written: friction of the two flanks on each element, moments in its frame.
    reaction, power : (2, 2, 4), (2, 3)
        Written: as `contact.flank.add_works` has them, reaction by side, in its view, power of the two sides.
    """
    body, _, dt, el, f, left, right = t
    n = np.uint64(body.N_E)
    first = np.uint64(0)
    while first < n:
        held = left.pulley[first] >= 0 or right.pulley[first] >= 0
        behind = first + np.uint64(1)
        while behind < n and (left.pulley[behind] >= 0 or right.pulley[behind] >= 0) == held:
            behind += np.uint64(1)
        if not held:
            for i in range(first, behind):
                v = moved(straight(el.u, i), dt / body.m, straight(f, i))
                store_motion(v, turned(body, dt, turning(el.u, i), turning(f, i)), find.u, i)
        else:
            end = whole(first, behind, n)
            _guess(t, find, first, end)
            far = _approach(t, find, first, end)
            if far > _MAX_SINGLE_ELEMENTS:
                far = _approach(t, find, first, end)
            if far > 0.0:
                for i in range(first, behind):
                    if find.far[i] > 0.0:
                        _settle(t, find, i)
        first = behind
    zero(rub)
    zero(reaction[0])
    zero(reaction[1])
    zero(power)
    add_works(belt, el, s[0], find.u, left, rub, reaction[0], power)
    add_works(belt, Side(-1.0, el.q, el.u, el.R), s[1], find.u, right, rub, reaction[1], power)
    copy(find.u, el.u)


@compiled
def energy(belt, fl):
    """Energy stored in the flanks of one side of all elements [J]."""
    return 0.5 * of_both_flanks(belt, fl)
