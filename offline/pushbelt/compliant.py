"""Larger-step scheme of the hybrid pushbelt model: flexible contacts and the ring linearly implicit, 1e-5 s.

The laws are those of `hybrid`. What bounds the explicit step there, the springs of joints, saddles and of the ring, is
here taken at the end of the step, linearised at its start (a Moreau step with compliant contacts):

    M (u+ - u) = h f(q) + G' L,    q+ = q + h u+
    L = -h (k g + (theta k h + d) G u+) at closed contacts,  0 at open ones        joints, saddles, ears
    A u_R+ = M u_R + h F_R(q_R) + ...,  A = M + h D + h^2 K     ring, K of stretch and theta times that of bending

with the friction factors kappa and the directions of the start of the step. Flanks and sheaves are those of the
explicit scheme: elements swing on their flanks at 7 kHz, a fifth of what 1e-5 s would bear, and springs at the end of
the step would damp that six times as much as the flanks' dampers do, which is felt in the push force.

Joints have theta = max(0, 1 - 2/z), z = 2 h^2 k G M^-1 G', the square of a chain's highest frequency times the step,
which an explicit step bears up to 4. What theta adds damps the elements' impacts: with theta = 1 a belt at 45 m/s has,
even with h = 2.2e-6 s, a thrust ratio 2.7 % too high. Saddles and ears have theta = 1. Both damp vibrations above
3 kHz, which costs some belts up to a third of a slip of half a percent; the thrust ratios of slow belts are off by up
to 8 % (`docs/pushbelt.md`, "Larger-step scheme").

Bending of the ring and tension against bending have theta = max(0, 1 - 0.75/z), where an explicit step bears z < 1, by
the ring's dampers z = h EI/(2 d), by its masses z = 8 h^2 T/(rhoA l^2). With 104 nodes bending has none, tension none
below 9.7 kN. What theta adds is damping: with theta = 1 the ring is damped 2.5 times as much as by its own dampers, and
slow belts next to macro-slip slip half as much as they should; with theta = 0.15 a tenth less. A theta just large
enough for stability, (1 - 0.9/z)/2, lets a finer ring rattle: 208 nodes lose a fifth of all that is lost in LOW.

Friction. A factor of the start misses what the law asks for at the end of the step, where an element that has just met
a pulley already sticks. What it missed is a force in the next step,

    T = -kappa v_T+ + missed,    missed+ = a (kappa - mu N/sqrt(|v_T+|^2 + v_mu^2)) v_T+,    N of the step

with a = 1 at saddles and ears, whose slip lasts: over two steps the impulse is that of the law. At the flanks slip
often ends within a step, and all of what was missed would drive the element back by as much as it had slid: a = 1/2.

The three families are solved one after the other, each pair of bodies with one and the same impulse.

1. Elements alone: with the flanks a 3x3 matrix D_i each, u_f = D^-1 (M u + h f), joint forces h f as at the start.
2. Ring and saddles: the element answers a saddle with its own D_i, which turns law and element into a 2x2 matrix of
   normal and tangential impulse on the ring, S = (diag(1/(k h + d), 1/kappa)/h + G D^-1 G')^-1. Each finite element
   has the deflections c_L, c_R to itself: they are condensed; a 3x3 block cyclic tridiagonal system in x, y, phi is
   left (`cyclic`).
3. Joints: their impulses solve (diag(1/d)/h + G D^-1 G') L = -(k g/d + G u_f) on the closed contacts, d: theta k h + d.
   Contacts meet only those of the same and of the next joint: a block tridiagonal matrix with a block for each joint,
   seldom larger than 2x2. The chain is opened at the joint with the fewest closed contacts; as a rule it has none,
   else it is kept to the end. Contacts that would pull are opened, contacts that would penetrate are closed, and the
   system is solved a second time, from the first joint that has changed up to the next that is open.

A saddle that is closed at the start of the step has its force in this step, even if that pulls while it opens: to
drop it by a look at the old velocities makes it chatter, which feeds energy in.

Rotation. A force that turns with the belt must not be taken at the end of the step: all others act in the frame of its
start, half-way between the old and the new velocities, and one that is turned further by omega h has a component along
the belt, a drag of T dphi omega h on each node of a ring under tension T. K leaves the turning of the chords out; the
string's own frequencies, 5e4 rad/s, are slow enough. The other implicit forces see relative motion only. Since the
velocities of a step are chords of the path, `flank` takes the sheave's velocity as a chord too.

Energy as in `hybrid`, with forces at the end of the step: what a spring gives less than the trapezoidal rule of its
potential is damping of the scheme, and counts as a loss of its family (dampers of the contacts, of the ring).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offline.pushbelt import hybrid, sheave
from offline.pushbelt.compiled import compiled, inlined
from offline.pushbelt.cyclic import solve_cyclic
from offline.pushbelt.element_element import Joint, gaps, switching
from offline.pushbelt.element_ring import Saddle, project
from offline.pushbelt.flank import Flanks, axis, contact_points, impulse, normal_forces, point_force, released
from offline.pushbelt.hybrid import Frames, Model, Scratch, State
from offline.pushbelt.maxwell import newton
from offline.pushbelt.parameters import Belt
from offline.pushbelt.ring import INV, NX, NY, TL, TR, A, B, Ring, forces, rate_of, shape_of

__all__ = ["run"]

Array = NDArray[np.float64]

_NEAR = 5.0e-5  # [m]; a joint contact that is open by more is not reached within a step
_STRING = 32.24  # largest square of the frequencies of a string of finite elements, over T/(rhoA l^2)
_EXPLICIT = 0.75  # of the stiffness that the ring's dampers or masses bear in an explicit step
_LEAST = 1.0e-7  # [N s/m]; friction factor of a contact without normal force


class Bodies(NamedTuple):
    """Elements with their flanks: b (N_E, 3) momentum after the step without contacts, D^-1 (N_E, 6), u_f (N_E, 3)."""

    b: Array
    inverse: Array
    free: Array


class Saddles(NamedTuple):
    """Contacts of the ring, the saddle of element i in row 2 i and its ear in row 2 i + 1.

    k (n,) finite element or -1; side (n,); gap (n,) [m]; element, ring (n, 2, 3), (n, 2, 8) directions, normal and
    tangential; kappa (n,) friction factor [N s/m]; S (n, 3): S_nn, S_nt, S_tt; c (n, 2) impulse at rest; L (n, 2)
    impulse on the element [N s]; switched (n,) energy taken by closing or opening on the way here [J].
    """

    k: NDArray[np.int64]
    side: Array
    gap: Array
    element: Array
    ring: Array
    kappa: Array
    S: Array
    c: Array
    L: Array
    switched: Array


class Segments(NamedTuple):
    """Finite elements of the ring in y = (x_L, y_L, phi_L, x_R, y_R, phi_R, w_a, w_b), rates of nodes and deflection.

    Per finite element: H (N_B, 8, 8) lower triangle and r (N_B, 8) of the system, X (N_B, 2, 6) and z (N_B, 2) what
    the condensed deflections need, y (N_B, 8) the rates after the step, old (8,) those of one before; Dn, U, C, W, V
    of `cyclic.solve_cyclic` and its right-hand side x.
    """

    H: Array
    r: Array
    X: Array
    z: Array
    y: Array
    old: Array
    Dn: Array
    U: Array
    x: Array
    C: Array
    W: Array
    V: Array


class Joints(NamedTuple):
    """Contacts of the joints that may be closed, in the order of the joints.

    n (1,) their number; joint, kind (6 N_E,); row (6 N_E + 1, 6) direction on element i and on i + 1; gap, k, L
    (6 N_E + 1,); d (6 N_E + 1,) damper with theta k h; closed (6 N_E,); start (N_E + 1,) first contact of each joint; z
    (6 N_E + 1, 6) D^-1 row; diagonal, b (6 N_E + 1,) of the system; the last entry is a contact that does nothing.
    Per joint i: size (N_E,) and slot (6, N_E) closed contacts, renewed (N_E,) whether these are others than before;
    P (6, 6, N_E) inverse of the eliminated block, W (6, 6, N_E) coupling to the joint before times its P, F (6, 6, N_E)
    to the joint at which the chain is opened, y, x (6, N_E) right-hand side and solution.
    """

    n: NDArray[np.int64]
    joint: NDArray[np.int64]
    kind: NDArray[np.int64]
    row: Array
    gap: Array
    k: Array
    d: Array
    L: Array
    closed: NDArray[np.bool_]
    start: NDArray[np.int64]
    z: Array
    diagonal: Array
    b: Array
    size: NDArray[np.int64]
    slot: NDArray[np.int64]
    renewed: NDArray[np.bool_]
    P: Array
    W: Array
    F: Array
    y: Array
    x: Array


class Work(NamedTuple):
    """Working arrays of the scheme; u_E (N_E, 3) velocities before the step, rest (N_B, 9) ring rates of zero."""

    bodies: Bodies
    saddles: Saddles
    segments: Segments
    joints: Joints
    u_E: Array
    rest: Array


def _work(m: Model) -> Work:
    N_E, N_B = m.belt.N_E, m.belt.N_B
    n = 6 * N_E
    return Work(
        bodies=Bodies(np.zeros((N_E, 3)), np.zeros((N_E, 6)), np.zeros((N_E, 3))),
        saddles=Saddles(
            k=np.full(2 * N_E, -1),
            side=np.zeros(2 * N_E),
            gap=np.zeros(2 * N_E),
            element=np.zeros((2 * N_E, 2, 3)),
            ring=np.zeros((2 * N_E, 2, 8)),
            kappa=np.zeros(2 * N_E),
            S=np.zeros((2 * N_E, 3)),
            c=np.zeros((2 * N_E, 2)),
            L=np.zeros((2 * N_E, 2)),
            switched=np.zeros(2 * N_E),
        ),
        segments=Segments(
            H=np.zeros((N_B, 8, 8)),
            r=np.zeros((N_B, 8)),
            X=np.zeros((N_B, 2, 6)),
            z=np.zeros((N_B, 2)),
            y=np.zeros((N_B, 8)),
            old=np.zeros(8),
            Dn=np.zeros((N_B, 3, 3)),
            U=np.zeros((N_B, 3, 3)),
            x=np.zeros((N_B, 3)),
            C=np.zeros((3, 3)),
            W=np.zeros((N_B, 3, 3)),
            V=np.zeros((N_B, 3, 3)),
        ),
        joints=Joints(
            n=np.zeros(1, dtype=np.int64),
            joint=np.zeros(n, dtype=np.int64),
            kind=np.zeros(n, dtype=np.int64),
            row=np.zeros((n + 1, 6)),
            gap=np.zeros(n + 1),
            k=np.zeros(n + 1),
            d=np.zeros(n + 1),
            L=np.zeros(n + 1),
            closed=np.zeros(n, dtype=np.bool_),
            start=np.zeros(N_E + 1, dtype=np.int64),
            z=np.zeros((n + 1, 6)),
            diagonal=np.ones(n + 1),
            b=np.zeros(n + 1),
            size=np.zeros(N_E, dtype=np.int64),
            slot=np.full((6, N_E), n),
            renewed=np.zeros(N_E, dtype=np.bool_),
            P=np.zeros((6, 6, N_E)),
            W=np.zeros((6, 6, N_E)),
            F=np.zeros((6, 6, N_E)),
            y=np.zeros((6, N_E)),
            x=np.zeros((6, N_E)),
        ),
        u_E=np.zeros((N_E, 3)),
        rest=np.zeros((N_B, 9)),
    )


def run(m: Model, x: State, inputs: Array, steps: int, dt: float = 1e-5, n_p: int = 1) -> tuple[Frames, int]:
    """Run the larger-step scheme over plot steps; arguments and results as `hybrid.run`.

    What the explicit scheme keeps of the last step in `State` (damper, memory) is not used and cleared.
    """
    inputs = np.ascontiguousarray(inputs, dtype=float)
    out, w = hybrid.frames(m, len(inputs) - 1), hybrid.scratch(m, x, n_p)
    if m.coupled and not x.r.any():  # a new state: the deflections that belong to it
        hybrid.directions(x.q, w.cs, w.sn)
        contact_points(m.belt, m.sheaves, x.q, w.cs, w.sn, x.s, w.fl)
        newton(m.belt, m.sheaves, w.fl, w.mx, 20)
    x.damper[:] = 0.0
    x.memory[:] = 0.0
    done = _run(m, x, w, _work(m), inputs, steps, dt, out)
    return out, int(done)


@compiled
def _run(m: Model, x: State, w: Scratch, k: Work, inputs: Any, steps: int, dt: float, out: Frames) -> int:
    b = np.zeros(7)
    for n in range(inputs.shape[0] - 1):
        hybrid.directions(x.q, w.cs, w.sn)
        hybrid.directions(x.q_R, w.cs_R, w.sn_R)
        for i in range(steps):
            part = (i + 1.0) / steps
            for a in range(7):
                b[a] = inputs[n, a] + part * (inputs[n + 1, a] - inputs[n, a])
            step(m, x, w, k, b, dt, out.work[n])
            for p in range(2):
                for a in range(6):
                    out.pulley[n, p, a] += w.pulley[p, a] / steps
        if not hybrid.frame(m, x, w, n, out):
            return n
    return inputs.shape[0] - 1


@compiled
def step(m: Model, x: State, w: Scratch, k: Work, b: Any, dt: float, work: Any) -> None:
    """One step of the larger-step scheme.

    Parameters
    ----------
    m, x, w, k : Model, State (updated), Scratch, Work
    b : (7) boundary values; dt : step [s]
    work : (14) works of `hybrid.INPUTS` and `hybrid.LOSSES` [J]; added to
    """
    hybrid.move_elements(x.q, x.u, w.cs, w.sn, dt)
    hybrid.move_ring(x.q_R, x.u_R, w.cs_R, w.sn_R, dt)
    for p in range(2):
        for a in range(4):
            x.s[p, a] += dt * x.sd[p, a]
    shape_of(m.ring, x.q_R, w.cs_R, w.sn_R, w.shape)
    rate_of(m.ring, x.u_R, w.shape, w.rate)
    forces(m.ring, w.shape, k.rest, w.load, w.F_R, w.tension)
    contact_points(m.belt, m.sheaves, x.q, w.cs, w.sn, x.s, w.fl)
    if m.coupled:
        newton(m.belt, m.sheaves, w.fl, w.mx, 1)
    normal_forces(m.belt, dt, x.u, x.s, x.sd, w.fl)
    for i in range(m.belt.N_E):
        for a in range(3):
            k.u_E[i, a] = x.u[i, a]
            w.f[i, a] = 0.0
    work[4] += joint_contacts(m.belt, m.joint, dt, x.q, x.u, w.cs, w.sn, k.joints, w.f)
    free_elements(m.belt, dt, x.u, w.f, w.fl, k.bodies)
    saddle_contacts(m, dt, x, w, k.bodies, k.saddles, k.segments)
    solve_ring(m.ring, dt, x.u_R, w, k.segments)
    saddle_impulses(k)
    solve_joints(dt, k.bodies, k.joints, x.u)
    lost_axial, lost_bending = ring_losses(m.ring, dt, w, k.segments)
    work[10] += lost_axial
    work[11] += lost_bending
    lost_d, lost_t = saddle_losses(m.saddle, m.ring.l, dt, x, k, w)
    work[5] += lost_d
    work[6] += lost_t
    work[4] += joint_losses(dt, x.u, k, w)
    flank_forces(m.belt, dt, x, w, k.u_E)
    sheave.advance(m.sheaves, m.damper, b, dt, x.s, x.sd, x.ring, w.reaction, w.pulley, w.sheave_power)
    work[0] += dt * w.sheave_power[0, 0]
    work[1] += dt * w.sheave_power[1, 0]
    work[2] += dt * w.sheave_power[0, 1]
    work[3] += dt * w.sheave_power[1, 1]
    for a in range(3):
        work[7 + a] += dt * (w.flank_power[0, a] + w.flank_power[1, a])
    work[12] += dt * (w.sheave_power[0, 2] + w.sheave_power[1, 2])
    work[13] += dt * (w.sheave_power[0, 3] + w.sheave_power[1, 3])


@compiled
def joint_contacts(belt: Belt, J: Joint, dt: float, q: Any, u: Any, cs: Any, sn: Any, c: Joints, f: Any) -> float:
    """List the contacts of all joints that are closed or near; add their elastic forces now to `f` (N_E, 3).

    Returns
    -------
    float : energy that closing and opening on the way here took [J]
    """
    N_E = J.N_E
    n = 0
    lost = 0.0
    for i in range(N_E):
        j = i + 1 if i + 1 < N_E else 0
        c.start[i] = n
        ci = cs[i]
        si = sn[i]
        cj = cs[j]
        sj = sn[j]
        co = ci * cj + si * sj
        so = si * cj - ci * sj
        rx = q[i, 0] - q[j, 0]
        ry = q[i, 1] - q[j, 1]
        dx = cj * rx + sj * ry
        dy = cj * ry - sj * rx
        g_R, g_T, g_B, g_1, g_2, g_3, y_R, y_T, y_B, x_1, y_1, x_2, y_2 = gaps(J, dx, dy, co, so)
        for kind in range(6):
            Fx = -1.0
            Fy = 0.0
            k = J.k_PH
            d = J.d_PH
            if kind == 0:
                g = g_R
                M = y_R
                k = J.k_R
                d = J.d_R
            elif kind == 1:
                g = g_T
                M = y_T
                k = J.k_T
                d = J.d_T
            elif kind == 2:
                g = g_B
                M = y_B
                k = J.k_B
                d = J.d_B
            elif kind == 3:
                g = g_1
                Fx = -J.sin_a
                Fy = -J.cos_a
                M = J.sin_a * y_1 - J.cos_a * x_1
            elif kind == 4:
                g = g_2
                Fx = -J.sin_a
                Fy = J.cos_a
                M = J.sin_a * y_2 + J.cos_a * x_2
            else:
                g = g_3
                Fx = -(co * J.sin_b + so * J.cos_b)
                Fy = -(so * J.sin_b - co * J.cos_b)
                M = Fy * J.x_rear - Fx * J.y_H2
            if not g < _NEAR:
                continue
            gx = cj * Fx - sj * Fy
            gy = sj * Fx + cj * Fy
            m_i = M - dx * Fy + dy * Fx
            row = c.row[n]
            row[0] = gx
            row[1] = gy
            row[2] = m_i
            row[3] = -gx
            row[4] = -gy
            row[5] = -M
            rate = gx * (u[i, 0] - u[j, 0]) + gy * (u[i, 1] - u[j, 1]) + m_i * u[i, 2] - M * u[j, 2]
            c.joint[n] = i
            c.kind[n] = kind
            c.gap[n] = g
            c.k[n] = k
            z = 2.0 * dt * dt * k * (2.0 / belt.m_E + (m_i * m_i + M * M) / belt.J_E)
            c.d[n] = d + max(0.0, 1.0 - 2.0 / z) * k * dt
            c.closed[n] = g + dt * rate < 0.0
            n += 1
            lost += switching(k, g, rate, dt)
            if g < 0.0:
                e = -k * g
                f[i, 0] += e * gx
                f[i, 1] += e * gy
                f[i, 2] += e * m_i
                f[j, 0] -= e * gx
                f[j, 1] -= e * gy
                f[j, 2] -= e * M
    c.start[N_E] = n
    c.n[0] = n
    return lost


@compiled
def free_elements(belt: Belt, dt: float, u: Any, f: Any, fl: Flanks, e: Bodies) -> None:
    """Elements with their flanks: b, D^-1, and the velocity u_f under the forces `f` (N_E, 3)."""
    n_p = fl.pen.shape[1]
    for i in range(belt.N_E):
        A_00 = belt.m_E
        A_11 = belt.m_E
        A_22 = belt.J_E
        A_01 = 0.0
        A_02 = 0.0
        A_12 = 0.0
        b_0 = belt.m_E * u[i, 0]
        b_1 = belt.m_E * u[i, 1]
        b_2 = belt.J_E * u[i, 2]
        if fl.pulley[i] >= 0:
            for p in range(n_p):
                if not fl.N[i, p] > 0.0:
                    continue
                a, b, g, d, h, o, x, y, z = impulse(dt, fl, i, p)
                A_00 += a
                A_01 += b
                A_02 += g
                A_11 += d
                A_12 += h
                A_22 += o
                b_0 += x
                b_1 += y
                b_2 += z
        C_00 = A_11 * A_22 - A_12 * A_12
        C_01 = A_02 * A_12 - A_01 * A_22
        C_02 = A_01 * A_12 - A_02 * A_11
        r = 1.0 / (A_00 * C_00 + A_01 * C_01 + A_02 * C_02)
        v = e.inverse[i]
        v[0] = C_00 * r
        v[1] = C_01 * r
        v[2] = C_02 * r
        v[3] = (A_00 * A_22 - A_02 * A_02) * r
        v[4] = (A_01 * A_02 - A_00 * A_12) * r
        v[5] = (A_00 * A_11 - A_01 * A_01) * r
        e.b[i, 0] = b_0
        e.b[i, 1] = b_1
        e.b[i, 2] = b_2
        b_0 += dt * f[i, 0]
        b_1 += dt * f[i, 1]
        b_2 += dt * f[i, 2]
        e.free[i, 0] = v[0] * b_0 + v[1] * b_1 + v[2] * b_2
        e.free[i, 1] = v[1] * b_0 + v[3] * b_1 + v[4] * b_2
        e.free[i, 2] = v[2] * b_0 + v[4] * b_1 + v[5] * b_2


@compiled
def saddle_contacts(m: Model, dt: float, x: State, w: Scratch, e: Bodies, c: Saddles, g: Segments) -> None:
    """Find the closed saddles and ears and put them into the ring's system."""
    R = m.ring
    p = m.saddle
    for k in range(R.N_B):
        for i in range(8):
            g.r[k, i] = 0.0
            for j in range(i + 1):
                g.H[k, i, j] = 0.0
    half = 0.5 * (p.y_E - p.y_S) - R.h2
    for i in range(p.N_E):
        q_x = x.q[i, 0]
        q_y = x.q[i, 1]
        s_x = q_x + w.cs[i] * p.x
        s_y = q_y + w.sn[i] * p.x
        for o in range(2 * i, 2 * i + 2):
            c.k[o] = -1
            c.switched[o] = 0.0
        x.s_R[i], e_n, _, k, xi, wd, r_x, r_y, t_x, t_y = project(
            R, w.shape, x.s_R[i], s_x - w.sn[i] * p.y_S, s_y + w.cs[i] * p.y_S
        )
        gap = -e_n - R.h2
        if gap < _NEAR or not m.unilateral:
            saddle_contact(m, dt, x, w, e, c, g, i, -1.0, gap, k, xi, wd, r_x, r_y, t_x, t_y)
        if m.unilateral and gap > half:
            s_x -= w.sn[i] * p.y_E
            s_y += w.cs[i] * p.y_E
            s_E, _, _, _, _, _, _, _, _, _ = project(R, w.shape, x.s_R[i], s_x, s_y)
            _, e_n, _, k, xi, wd, r_x, r_y, t_x, t_y = project(R, w.shape, s_E, s_x, s_y)
            gap = e_n - R.h2
            if gap < _NEAR:
                saddle_contact(m, dt, x, w, e, c, g, i, 1.0, gap, k, xi, wd, r_x, r_y, t_x, t_y)


@inlined
def saddle_contact(
    m: Model, dt: float, x: State, w: Scratch, e: Bodies, c: Saddles, g: Segments,
    i: int, side: float, gap: float, k: int, xi: float, wd: float, r_x: float, r_y: float, t_x: float, t_y: float,
) -> None:  # fmt: skip
    """Directions, law and condensed matrix of one contact; `side` -1: saddle, 1: ear; `wd`: the ring deflection."""
    p = m.saddle
    shape = w.shape[k]
    rate = w.rate[k]
    h = side * m.ring.h2
    n_x = -t_y
    n_y = t_x
    a_x = r_x + h * n_x - x.q[i, 0]
    a_y = r_y + h * n_y - x.q[i, 1]
    o = 2 * i if side < 0.0 else 2 * i + 1
    l_n = a_x * n_y - a_y * n_x
    l_t = a_x * t_y - a_y * t_x
    inv = shape[INV]
    l = m.ring.l  # noqa: E741
    # the directions in the variables of the finite element
    rows = c.ring[o]
    one = 1.0 - xi
    eta = xi * one
    z = one - xi
    for d in range(2):
        x_d = n_x if d == 0 else t_x
        y_d = n_y if d == 0 else t_y
        mu = 0.0 if d == 0 else -h * inv
        along = x_d * shape[NY] - y_d * shape[NX]
        across = x_d * shape[NX] + y_d * shape[NY]
        left = across * eta * one + mu * one * (1.0 - 3.0 * xi)
        right = -across * eta * xi - mu * xi * (2.0 - 3.0 * xi)
        turn = across * xi + mu - along * wd * inv - l * inv * (left + right)
        rows[d, 3] = xi * along * shape[NY] + turn * shape[NX]
        rows[d, 4] = turn * shape[NY] - xi * along * shape[NX]
        rows[d, 0] = x_d - rows[d, 3]
        rows[d, 1] = y_d - rows[d, 4]
        rows[d, 2] = l * left
        rows[d, 5] = l * right
        rows[d, 6] = across * eta * eta + mu * 2.0 * eta * z
        rows[d, 7] = across * eta * eta * z + mu * 2.0 * eta * (1.0 - 5.0 * eta)
    y = g.y[k]
    nodal(rate, l, y)
    v_n = n_x * x.u[i, 0] + n_y * x.u[i, 1] + l_n * x.u[i, 2]
    v_t = t_x * x.u[i, 0] + t_y * x.u[i, 1] + l_t * x.u[i, 2]
    for a in range(8):
        v_n -= rows[0, a] * y[a]
        v_t -= rows[1, a] * y[a]
    c.switched[o] = switching(p.k, gap, side * v_n, dt) if m.unilateral else 0.0
    if m.unilateral and not (gap < 0.0 or gap + dt * side * v_n < 0.0):
        return
    k_h = p.k * dt + p.d
    f_n = -p.k * gap - k_h * side * v_n
    kappa = max(p.mu * abs(f_n) / np.sqrt(v_t * v_t + p.v_mu * p.v_mu), _LEAST)
    A_nn = 1.0 / (dt * k_h)
    A_tt = 1.0 / (dt * kappa)
    v = e.inverse[i]
    n_0 = v[0] * n_x + v[1] * n_y + v[2] * l_n
    n_1 = v[1] * n_x + v[3] * n_y + v[4] * l_n
    n_2 = v[2] * n_x + v[4] * n_y + v[5] * l_n
    A_nn += n_0 * n_x + n_1 * n_y + n_2 * l_n
    A_nt = n_0 * t_x + n_1 * t_y + n_2 * l_t
    A_tt += (
        (v[0] * t_x + v[1] * t_y + v[2] * l_t) * t_x
        + (v[1] * t_x + v[3] * t_y + v[4] * l_t) * t_y
        + (v[2] * t_x + v[4] * t_y + v[5] * l_t) * l_t
    )
    det = 1.0 / (A_nn * A_tt - A_nt * A_nt)
    S_nn = A_tt * det
    S_nt = -A_nt * det
    S_tt = A_nn * det
    c_n = -side * p.k * gap / k_h - (n_x * e.free[i, 0] + n_y * e.free[i, 1] + l_n * e.free[i, 2])
    c_t = x.missed[i, 6 + o - 2 * i] / kappa - (t_x * e.free[i, 0] + t_y * e.free[i, 1] + l_t * e.free[i, 2])
    c.kappa[o] = kappa
    c.k[o] = k
    c.side[o] = side
    c.gap[o] = gap
    c.element[o, 0, 0] = n_x
    c.element[o, 0, 1] = n_y
    c.element[o, 0, 2] = l_n
    c.element[o, 1, 0] = t_x
    c.element[o, 1, 1] = t_y
    c.element[o, 1, 2] = l_t
    c.S[o, 0] = S_nn
    c.S[o, 1] = S_nt
    c.S[o, 2] = S_tt
    c.c[o, 0] = c_n
    c.c[o, 1] = c_t
    L_n = S_nn * c_n + S_nt * c_t
    L_t = S_nt * c_n + S_tt * c_t
    H = g.H[k]
    r = g.r[k]
    for a in range(8):
        z_n = S_nn * rows[0, a] + S_nt * rows[1, a]
        z_t = S_nt * rows[0, a] + S_tt * rows[1, a]
        r[a] -= L_n * rows[0, a] + L_t * rows[1, a]
        for b in range(a + 1):
            H[a, b] += z_n * rows[0, b] + z_t * rows[1, b]


@inlined
def nodal(rate: Any, l: float, y: Any) -> None:  # noqa: E741
    """Rates of one finite element, (9,) of `ring.rate_of`, in the variables y (8,) of `Segments`."""
    y[0] = rate[0]
    y[1] = rate[1]
    y[2] = rate[4] + rate[5] / l
    y[3] = rate[0] + rate[2]
    y[4] = rate[1] + rate[3]
    y[5] = rate[4] + rate[6] / l
    y[6] = rate[7]
    y[7] = rate[8]


@inlined
def slopes(shape: Any, l: float) -> Any:  # noqa: E741
    """Derivatives of the stretch times l with respect to w_L, w_R, w_a, w_b, see `ring.forces`."""
    tl = shape[TL]
    tr = shape[TR]
    a = shape[A]
    b = shape[B]
    return (
        (2.0 / 15.0 * tl - tr / 30.0 + a / 30.0 + b / 70.0) / l,
        (2.0 / 15.0 * tr - tl / 30.0 - a / 30.0 + b / 70.0) / l,
        ((tl - tr) / 30.0 + 2.0 / 105.0 * a) / l,
        ((tl + tr) / 70.0 + 2.0 / 315.0 * b) / l,
    )


@inlined
def stiff(R: Ring, dt: float, T: float) -> Any:
    """Implicit factors of one finite element: of the stretch rate, of the bending form, of the tension forms."""
    W = max(T, 1.0)
    # the implicit shares theta of bending and tension
    bending = max(0.0, 1.0 - _EXPLICIT * 2.0 * R.d_bend / (R.EI * dt))
    tension = max(0.0, 1.0 - _EXPLICIT * 4.0 * R.m * R.l / (_STRING * W * dt**2))
    return (
        dt * (R.EA * dt + R.d_axial) / R.l,
        dt * (bending * R.EI * dt + R.d_bend) / R.l**3,
        tension * dt * dt * W,
    )


@compiled
def solve_ring(R: Ring, dt: float, u_R: Any, w: Scratch, g: Segments) -> None:
    """Velocities of the ring after the step from its forces `w.F_R` and the contacts in `g`; renews u_R and g.y."""
    N_B = R.N_B
    l = R.l  # noqa: E741
    m_a = 0.5 * R.m_c * (9.0 / 128.0) ** 2
    m_b = 0.5 * R.m_c * (9.0 / 256.0) ** 2
    for k in range(N_B):
        for i in range(3):
            for j in range(i + 1):
                g.Dn[k, i, j] = 0.0
        g.Dn[k, 0, 0] = R.m
        g.Dn[k, 1, 1] = R.m
        g.Dn[k, 2, 2] = R.J
        g.x[k, 0] = R.m * u_R[k, 0] + dt * w.F_R[k, 0]
        g.x[k, 1] = R.m * u_R[k, 1] + dt * w.F_R[k, 1]
        g.x[k, 2] = R.J * u_R[k, 2] + dt * w.F_R[k, 2]
    for k in range(N_B):
        shape = w.shape[k]
        H = g.H[k]
        r = g.r[k]
        X = g.X[k]
        v = g.old
        ax, be, te = stiff(R, dt, w.tension[k])
        gl, gr, ga, gb = slopes(shape, l)
        h = l * shape[INV]
        # stretch
        turn = -h * (gl + gr)
        v[3] = shape[NY] + turn * shape[NX]
        v[4] = turn * shape[NY] - shape[NX]
        v[0] = -v[3]
        v[1] = -v[4]
        v[2] = l * gl
        v[5] = l * gr
        v[6] = ga
        v[7] = gb
        for i in range(8):
            for j in range(i + 1):
                H[i, j] += ax * v[i] * v[j]
        # bending and tension: forms in w_L, w_R, w_a, w_b with w_L = l (phi_L - phi_S), w_R alike
        te /= l
        K_LL = 4.0 * be + te * (2.0 / 15.0)
        K_LR = 2.0 * be - te / 30.0
        K_aL = l * te / 30.0
        K_bL = te / 70.0
        n_x = h * shape[NX]
        n_y = h * shape[NY]
        c = l * (K_LL + K_LR)
        s = 2.0 * (K_LL + K_LR)
        s_xx = s * n_x * n_x
        s_xy = s * n_x * n_y
        s_yy = s * n_y * n_y
        H[0, 0] += s_xx
        H[1, 0] += s_xy
        H[1, 1] += s_yy
        H[2, 0] += c * n_x
        H[2, 1] += c * n_y
        H[2, 2] += l * l * K_LL
        H[3, 0] -= s_xx
        H[3, 1] -= s_xy
        H[3, 2] -= c * n_x
        H[3, 3] += s_xx
        H[4, 0] -= s_xy
        H[4, 1] -= s_yy
        H[4, 2] -= c * n_y
        H[4, 3] += s_xy
        H[4, 4] += s_yy
        H[5, 0] += c * n_x
        H[5, 1] += c * n_y
        H[5, 2] += l * l * K_LR
        H[5, 3] -= c * n_x
        H[5, 4] -= c * n_y
        H[5, 5] += l * l * K_LL
        H[6, 2] += K_aL
        H[6, 5] -= K_aL
        H[6, 6] += 0.8 * be + te * (2.0 / 105.0) + m_a
        H[7, 0] += 2.0 * K_bL * n_x
        H[7, 1] += 2.0 * K_bL * n_y
        H[7, 2] += l * K_bL
        H[7, 3] -= 2.0 * K_bL * n_x
        H[7, 4] -= 2.0 * K_bL * n_y
        H[7, 5] += l * K_bL
        H[7, 7] += 4.0 / 7.0 * be + te * (2.0 / 315.0) + m_b
        r[6] += m_a * w.rate[k, 7] + dt * (9.0 / 256.0) * (w.F_R[k, 3] + w.F_R[k, 4])
        r[7] += m_b * w.rate[k, 8] + dt * (9.0 / 512.0) * (w.F_R[k, 3] - w.F_R[k, 4])
        # condense w_a, w_b
        det = 1.0 / (H[6, 6] * H[7, 7] - H[7, 6] * H[7, 6])
        c_aa = H[7, 7] * det
        c_ab = -H[7, 6] * det
        c_bb = H[6, 6] * det
        z_a = c_aa * r[6] + c_ab * r[7]
        z_b = c_ab * r[6] + c_bb * r[7]
        g.z[k, 0] = z_a
        g.z[k, 1] = z_b
        for i in range(6):
            X[0, i] = c_aa * H[6, i] + c_ab * H[7, i]
            X[1, i] = c_ab * H[6, i] + c_bb * H[7, i]
        j = k + 1 if k + 1 < N_B else 0
        D_L = g.Dn[k]
        D_R = g.Dn[j]
        U = g.U[k]
        for a in range(3):
            g.x[k, a] += r[a] - H[6, a] * z_a - H[7, a] * z_b
            g.x[j, a] += r[3 + a] - H[6, 3 + a] * z_a - H[7, 3 + a] * z_b
            for b in range(3):
                U[a, b] = H[3 + b, a] - H[6, a] * X[0, 3 + b] - H[7, a] * X[1, 3 + b]
                if b <= a:
                    D_L[a, b] += H[a, b] - H[6, a] * X[0, b] - H[7, a] * X[1, b]
                    D_R[a, b] += H[3 + a, 3 + b] - H[6, 3 + a] * X[0, 3 + b] - H[7, 3 + a] * X[1, 3 + b]
    solve_cyclic(g.Dn, g.U, g.x, g.C, g.W, g.V)
    for k in range(N_B):
        j = k + 1 if k + 1 < N_B else 0
        y = g.y[k]
        for a in range(3):
            y[a] = g.x[k, a]
            y[3 + a] = g.x[j, a]
        z_a = g.z[k, 0]
        z_b = g.z[k, 1]
        for i in range(6):
            z_a -= g.X[k, 0, i] * y[i]
            z_b -= g.X[k, 1, i] * y[i]
        y[6] = z_a
        y[7] = z_b
        u_R[k, 0] = g.x[k, 0]
        u_R[k, 1] = g.x[k, 1]
        u_R[k, 2] = g.x[k, 2]
        u_R[k, 3] = 9.0 / 256.0 * z_a + 9.0 / 512.0 * z_b
        u_R[k, 4] = 9.0 / 256.0 * z_a - 9.0 / 512.0 * z_b


@compiled
def saddle_impulses(k: Work) -> None:
    """Impulses of saddles and ears from the ring's velocities; added to the momenta of the elements."""
    c = k.saddles
    b = k.bodies.b
    for o in range(c.k.size):
        if c.k[o] < 0:
            continue
        v_n = c.c[o, 0]
        v_t = c.c[o, 1]
        y = k.segments.y[c.k[o]]
        for a in range(8):
            v_n += c.ring[o, 0, a] * y[a]
            v_t += c.ring[o, 1, a] * y[a]
        L_n = c.S[o, 0] * v_n + c.S[o, 1] * v_t
        L_t = c.S[o, 1] * v_n + c.S[o, 2] * v_t
        c.L[o, 0] = L_n
        c.L[o, 1] = L_t
        for a in range(3):
            b[o // 2, a] += L_n * c.element[o, 0, a] + L_t * c.element[o, 1, a]


@compiled
def solve_joints(dt: float, e: Bodies, c: Joints, u: Any) -> None:
    """Impulses of the joints and velocities `u` (N_E, 3) after the step."""
    N_E = u.shape[0]
    n = c.n[0]
    for i in range(N_E):
        v = e.inverse[i]
        e.free[i, 0] = v[0] * e.b[i, 0] + v[1] * e.b[i, 1] + v[2] * e.b[i, 2]
        e.free[i, 1] = v[1] * e.b[i, 0] + v[3] * e.b[i, 1] + v[4] * e.b[i, 2]
        e.free[i, 2] = v[2] * e.b[i, 0] + v[4] * e.b[i, 1] + v[5] * e.b[i, 2]
        c.renewed[i] = True
    for a in range(n):
        law = 1.0 / c.d[a]
        c.diagonal[a] = law / dt
        c.b[a] = -law * c.k[a] * c.gap[a] - gap_rate(c, a, e.free, N_E)
    cut = -1
    for turn in range(2):
        for i in range(N_E):
            if c.renewed[i]:
                list_closed(e, c, i, N_E)
        if cut < 0 or c.size[cut] > 0:
            cut = int(np.argmin(c.size))
            c.renewed[:] = True
        eliminate(c, cut, N_E)
        if c.size[cut] > 0:
            close_chain(c, cut, N_E)
        substitute(e, c, cut, u)
        if turn == 1:
            break
        changed = 0
        for i in range(N_E):
            renewed = False
            for a in range(c.start[i], c.start[i + 1]):
                opening = c.gap[a] + dt * gap_rate(c, a, u, N_E)
                was = c.closed[a]
                now = (c.L[a] if was else -opening) > 0.0
                c.closed[a] = now
                renewed = renewed or now != was
            c.renewed[i] = renewed
            if renewed:
                changed += 1
        if changed == 0:
            break


@inlined
def gap_rate(c: Joints, a: int, u: Any, N_E: int) -> float:
    """Rate of the gap of joint contact `a` [m/s]."""
    i = c.joint[a]
    j = i + 1 if i + 1 < N_E else 0
    row = c.row[a]
    return float(
        row[0] * u[i, 0] + row[1] * u[i, 1] + row[2] * u[i, 2] + row[3] * u[j, 0] + row[4] * u[j, 1] + row[5] * u[j, 2]
    )


@inlined
def dot(one: Any, other: Any, o: int, p: int) -> float:
    """Product of three entries from `o` of one row and from `p` of another."""
    return float(one[o] * other[p] + one[o + 1] * other[p + 1] + one[o + 2] * other[p + 2])


@inlined
def list_closed(e: Bodies, c: Joints, i: int, N_E: int) -> None:
    """Closed contacts of joint `i` into `slot`, the first two of which are always filled, and their z."""
    count = 0
    c.slot[0, i] = c.joint.size
    c.slot[1, i] = c.joint.size
    for a in range(c.start[i], c.start[i + 1]):
        if c.closed[a]:
            c.slot[count, i] = a
            count += 1
            row = c.row[a]
            z = c.z[a]
            v = e.inverse[i]
            z[0] = v[0] * row[0] + v[1] * row[1] + v[2] * row[2]
            z[1] = v[1] * row[0] + v[3] * row[1] + v[4] * row[2]
            z[2] = v[2] * row[0] + v[4] * row[1] + v[5] * row[2]
            v = e.inverse[i + 1 if i + 1 < N_E else 0]
            z[3] = v[0] * row[3] + v[1] * row[4] + v[2] * row[5]
            z[4] = v[1] * row[3] + v[3] * row[4] + v[4] * row[5]
            z[5] = v[2] * row[3] + v[4] * row[4] + v[5] * row[5]
    c.size[i] = count


@compiled
def eliminate(c: Joints, cut: int, N_E: int) -> None:
    """Block elimination of all joints but `cut`, from behind it; where nothing is renewed what was found stays."""
    dirty = False
    for o in range(1, N_E):
        i = cut + o if cut + o < N_E else cut + o - N_E
        h = i - 1 if i > 0 else N_E - 1
        if c.renewed[i]:
            dirty = True
        elif c.size[i] == 0:
            dirty = False
        if not dirty:
            continue
        if c.size[i] > 2 or c.size[h] > 2:
            eliminate_many(c, i, h, o == 1)
            continue
        s = c.slot[0, i]
        t = c.slot[1, i]
        row_s = c.row[s]
        row_t = c.row[t]
        z_s = c.z[s]
        z_t = c.z[t]
        P_0 = c.diagonal[s] + dot(row_s, z_s, 0, 0) + dot(row_s, z_s, 3, 3)
        P_1 = dot(row_t, z_s, 0, 0) + dot(row_t, z_s, 3, 3)
        P_2 = c.diagonal[t] + dot(row_t, z_t, 0, 0) + dot(row_t, z_t, 3, 3)
        y_0 = c.b[s]
        y_1 = c.b[t]
        if o > 1:
            z_s = c.z[c.slot[0, h]]
            z_t = c.z[c.slot[1, h]]
            B_0 = dot(row_s, z_s, 0, 3)
            B_1 = dot(row_s, z_t, 0, 3)
            B_2 = dot(row_t, z_s, 0, 3)
            B_3 = dot(row_t, z_t, 0, 3)
            w_0 = B_0 * c.P[0, 0, h] + B_1 * c.P[1, 0, h]
            w_1 = B_0 * c.P[1, 0, h] + B_1 * c.P[1, 1, h]
            w_2 = B_2 * c.P[0, 0, h] + B_3 * c.P[1, 0, h]
            w_3 = B_2 * c.P[1, 0, h] + B_3 * c.P[1, 1, h]
            c.W[0, 0, i] = w_0
            c.W[0, 1, i] = w_1
            c.W[1, 0, i] = w_2
            c.W[1, 1, i] = w_3
            P_0 -= w_0 * B_0 + w_1 * B_1
            P_1 -= w_2 * B_0 + w_3 * B_1
            P_2 -= w_2 * B_2 + w_3 * B_3
            y_0 -= w_0 * c.y[0, h] + w_1 * c.y[1, h]
            y_1 -= w_2 * c.y[0, h] + w_3 * c.y[1, h]
        det = 1.0 / (P_0 * P_2 - P_1 * P_1)
        c.P[0, 0, i] = P_2 * det
        c.P[0, 1, i] = -P_1 * det
        c.P[1, 0, i] = -P_1 * det
        c.P[1, 1, i] = P_0 * det
        c.y[0, i] = y_0
        c.y[1, i] = y_1


@compiled
def eliminate_many(c: Joints, i: int, h: int, first: bool) -> None:
    """Block elimination of joint `i` behind joint `h`, with any number of closed contacts."""
    n = max(2, c.size[i])
    m = 0 if first else max(2, c.size[h])
    for a in range(n):
        s = c.slot[a, i]
        for b in range(n):
            z = c.z[c.slot[b, i]]
            c.P[a, b, i] = dot(c.row[s], z, 0, 0) + dot(c.row[s], z, 3, 3)
        c.P[a, a, i] += c.diagonal[s]
        c.y[a, i] = c.b[s]
        for d in range(m):
            w = 0.0
            for b in range(m):
                w += dot(c.row[s], c.z[c.slot[b, h]], 0, 3) * c.P[b, d, h]
            c.W[a, d, i] = w
            c.y[a, i] -= w * c.y[d, h]
            for b in range(a + 1):
                c.P[a, b, i] -= w * dot(c.row[c.slot[b, i]], c.z[c.slot[d, h]], 0, 3)
    for a in range(n):
        for b in range(a):
            c.P[b, a, i] = c.P[a, b, i]
    invert(c.P, n, i)


@compiled
def invert(P: Any, n: int, i: int) -> None:
    """Replace the first `n` rows and columns of the symmetric positive definite ``P[:, :, i]`` by their inverse."""
    for k in range(n):
        pivot = 1.0 / P[k, k, i]
        P[k, k, i] = 1.0
        for b in range(n):
            P[k, b, i] *= pivot
        for a in range(n):
            if a != k:
                factor = P[a, k, i]
                P[a, k, i] = 0.0
                for b in range(n):
                    P[a, b, i] -= factor * P[k, b, i]


@compiled
def close_chain(c: Joints, cut: int, N_E: int) -> None:
    """The joint `cut`, if it has closed contacts too: its impulses, and what they take from the others' y."""
    n = c.size[cut]
    P = c.P
    for a in range(n):
        s = c.slot[a, cut]
        for b in range(n):
            z = c.z[c.slot[b, cut]]
            P[a, b, cut] = dot(c.row[s], z, 0, 0) + dot(c.row[s], z, 3, 3)
        P[a, a, cut] += c.diagonal[s]
        c.y[a, cut] = c.b[s]
    for o in range(1, N_E):
        i = cut + o if cut + o < N_E else cut + o - N_E
        h = i - 1 if i > 0 else N_E - 1
        m = max(2, c.size[i])
        for a in range(m):
            row = c.row[c.slot[a, i]]
            for q in range(n):
                z = c.z[c.slot[q, cut]]
                F = dot(row, z, 0, 3) if o == 1 else 0.0
                if o == N_E - 1:
                    F += dot(row, z, 3, 0)
                if o > 1:
                    for d in range(max(2, c.size[h])):
                        F -= c.W[a, d, i] * c.F[d, q, h]
                c.F[a, q, i] = F
        for q in range(n):
            for a in range(m):
                w = 0.0
                for b in range(m):
                    w += c.F[b, q, i] * P[b, a, i]
                c.y[q, cut] -= w * c.y[a, i]
                for p in range(n):
                    P[q, p, cut] -= w * c.F[a, p, i]
    invert(P, n, cut)
    for q in range(n):
        c.x[q, cut] = 0.0
        for p in range(n):
            c.x[q, cut] += P[q, p, cut] * c.y[p, cut]
    for i in range(N_E):
        if i != cut:
            for a in range(max(2, c.size[i])):
                for q in range(n):
                    c.y[a, i] -= c.F[a, q, i] * c.x[q, cut]


@compiled
def substitute(e: Bodies, c: Joints, cut: int, u: Any) -> None:
    """Impulses of all joints by back substitution, and the velocities `u` (N_E, 3) that they leave."""
    N_E = u.shape[0]
    for a in range(c.n[0]):
        c.L[a] = 0.0
    for i in range(N_E):
        for a in range(3):
            u[i, a] = e.free[i, a]
    x_0 = 0.0
    x_1 = 0.0
    j = cut
    for o in range(N_E - 1, -1, -1):
        i = cut + o if cut + o < N_E else cut + o - N_E
        if o == 0:
            for a in range(c.size[i], 2):
                c.x[a, i] = 0.0
        elif c.size[i] > 2 or (o < N_E - 1 and c.size[j] > 2):
            n = max(2, c.size[i])
            for a in range(n):
                x = 0.0
                for b in range(n):
                    x += c.P[a, b, i] * c.y[b, i]
                if o < N_E - 1:
                    for b in range(max(2, c.size[j])):
                        x -= c.W[b, a, j] * c.x[b, j]
                c.x[a, i] = x
            x_0 = c.x[0, i]
            x_1 = c.x[1, i]
        else:
            y_0 = c.P[0, 0, i] * c.y[0, i] + c.P[0, 1, i] * c.y[1, i]
            y_1 = c.P[1, 0, i] * c.y[0, i] + c.P[1, 1, i] * c.y[1, i]
            if o < N_E - 1:
                x = c.W[0, 0, j] * x_0 + c.W[1, 0, j] * x_1
                y_1 -= c.W[0, 1, j] * x_0 + c.W[1, 1, j] * x_1
                y_0 -= x
            x_0 = y_0
            x_1 = y_1
            c.x[0, i] = x_0
            c.x[1, i] = x_1
        j = i
    h = N_E - 1
    for i in range(N_E):
        x_0 = c.x[0, i]
        x_1 = c.x[1, i]
        s = c.slot[0, i]
        t = c.slot[1, i]
        c.L[s] = x_0
        c.L[t] = x_1
        z_s = c.z[s]
        z_t = c.z[t]
        y_s = c.z[c.slot[0, h]]
        y_t = c.z[c.slot[1, h]]
        for d in range(3):
            u[i, d] += z_s[d] * x_0 + z_t[d] * x_1 + y_s[3 + d] * c.x[0, h] + y_t[3 + d] * c.x[1, h]
        if c.size[i] > 2:
            j = i + 1 if i + 1 < N_E else 0
            for a in range(2, c.size[i]):
                s = c.slot[a, i]
                c.L[s] = c.x[a, i]
                for d in range(3):
                    u[i, d] += c.z[s, d] * c.x[a, i]
                    u[j, d] += c.z[s, 3 + d] * c.x[a, i]
        h = i


@compiled
def ring_losses(R: Ring, dt: float, w: Scratch, g: Segments) -> Any:
    """Tension at the end of the step; works lost in the ring's stretch and in its bending [J]."""
    lost_axial = 0.0
    lost_bending = 0.0
    for k in range(R.N_B):
        shape = w.shape[k]
        rate = w.rate[k]
        ax, be, te = stiff(R, dt, w.tension[k])
        gl, gr, ga, gb = slopes(shape, R.l)
        y = g.y[k]
        d_x = y[3] - y[0]
        d_y = y[4] - y[1]
        turn = R.l * shape[INV] * (d_x * shape[NX] + d_y * shape[NY])
        # the rates of w_L, w_R, w_a, w_b and of the stretch after the step, and their means with those before
        w_l = R.l * y[2] - turn
        w_r = R.l * y[5] - turn
        w_a = y[6]
        w_b = y[7]
        s = d_x * shape[NY] - d_y * shape[NX] + gl * w_l + gr * w_r + ga * w_a + gb * w_b
        m_l = 0.5 * (w_l + rate[5])
        m_r = 0.5 * (w_r + rate[6])
        m_a = 0.5 * (w_a + rate[7])
        m_b = 0.5 * (w_b + rate[8])
        s_ = 0.5 * (d_x + rate[2]) * shape[NY] - 0.5 * (d_y + rate[3]) * shape[NX]
        s_ += gl * m_l + gr * m_r + ga * m_a + gb * m_b
        lost_axial += ax * s * s_
        lost_bending += be * (
            m_l * (4.0 * w_l + 2.0 * w_r) + m_r * (4.0 * w_r + 2.0 * w_l) + 0.8 * m_a * w_a + 4.0 / 7.0 * m_b * w_b
        )
        lost_bending += (te / R.l) * (
            m_l * (2.0 / 15.0 * w_l - w_r / 30.0 + w_a / 30.0 + w_b / 70.0)
            + m_r * (2.0 / 15.0 * w_r - w_l / 30.0 - w_a / 30.0 + w_b / 70.0)
            + m_a * ((w_l - w_r) / 30.0 + 2.0 / 105.0 * w_a)
            + m_b * ((w_l + w_r) / 70.0 + 2.0 / 315.0 * w_b)
        )
        w.tension[k] += (R.EA * dt + R.d_axial) / R.l * s
    return lost_axial, lost_bending


@compiled
def saddle_losses(p: Saddle, l: float, dt: float, x: State, k: Work, w: Scratch) -> Any:  # noqa: E741
    """Forces of saddles and ears to `w.N_saddle`, missed friction; works lost in their dampers and in friction [J]."""
    c = k.saddles
    lost_d = 0.0
    lost_t = 0.0
    y_ = k.segments.old
    for i in range(p.N_E):
        for a in range(3):
            w.N_saddle[i, a] = 0.0
        for o in range(2 * i, 2 * i + 2):
            lost_d += c.switched[o]
            f = c.k[o]
            x.missed[i, 6 + o - 2 * i] = 0.0
            if f < 0:
                continue
            nodal(w.rate[f], l, y_)
            v_n = 0.0
            v_t = 0.0
            slip = 0.0
            for a in range(3):
                mean = 0.5 * (k.u_E[i, a] + x.u[i, a])
                v_n += c.element[o, 0, a] * mean
                v_t += c.element[o, 1, a] * mean
                slip += c.element[o, 1, a] * x.u[i, a]
            for a in range(8):
                mean = 0.5 * (y_[a] + k.segments.y[f, a])
                v_n -= c.ring[o, 0, a] * mean
                v_t -= c.ring[o, 1, a] * mean
                slip -= c.ring[o, 1, a] * k.segments.y[f, a]
            kappa = p.mu * abs(c.L[o, 0]) / (dt * np.sqrt(slip * slip + p.v_mu * p.v_mu))
            x.missed[i, 6 + o - 2 * i] = (c.kappa[o] - kappa) * slip
            elastic = -p.k * c.gap[o]
            if c.gap[o] > 0.0:
                elastic = 0.0
            lost_d -= (c.L[o, 0] - dt * c.side[o] * elastic) * v_n
            lost_t -= c.L[o, 1] * v_t
            w.N_saddle[i, o - 2 * i] = c.side[o] * c.L[o, 0] / dt
            w.N_saddle[i, 2] += c.L[o, 1] / dt
    return lost_d, lost_t


@compiled
def joint_losses(dt: float, u: Any, k: Work, w: Scratch) -> float:
    """Forces of the joints to `w.N_joint`; work lost in their dampers [J]."""
    c = k.joints
    N_E = u.shape[0]
    lost = 0.0
    mean = k.bodies.free  # has served
    for i in range(N_E):
        for a in range(3):
            mean[i, a] = 0.5 * (k.u_E[i, a] + u[i, a])
        for a in range(6):
            w.N_joint[i, a] = 0.0
    for a in range(c.n[0]):
        elastic = max(0.0, -c.k[a] * c.gap[a])
        lost -= (c.L[a] - dt * elastic) * gap_rate(c, a, mean, N_E)
        w.N_joint[c.joint[a], c.kind[a]] = c.L[a] / dt
    return lost


@compiled
def flank_forces(belt: Belt, dt: float, x: State, w: Scratch, u_E: Any) -> None:
    """Reactions on the sheaves, powers and missed friction of the flanks after the step."""
    fl = w.fl
    n_p = fl.pen.shape[1]
    c = belt.c_el / n_p
    for p in range(2):
        for a in range(4):
            w.reaction[p, a] = 0.0
        for a in range(3):
            w.flank_power[p, a] = 0.0
    for i in range(belt.N_E):
        for a in range(3):
            fl.force[i, a] = 0.0
        pulley = fl.pulley[i]
        if pulley < 0:
            fl.missed[i, :6] = 0.0
            continue
        a_x, a_y, a_z = axis(x.s, pulley)
        u_0 = x.u[i, 0]
        u_1 = x.u[i, 1]
        u_2 = x.u[i, 2]
        m_0 = 0.5 * (u_E[i, 0] + u_0)
        m_1 = 0.5 * (u_E[i, 1] + u_1)
        m_2 = 0.5 * (u_E[i, 2] + u_2)
        for p in range(n_p):
            missed = fl.missed[i, 3 * p : 3 * p + 3]
            if not fl.N[i, p] > 0.0:
                w.flank_power[pulley, 2] += released(c, belt.cos_d, fl, i, p, m_0, m_1, m_2)
                missed[:] = 0.0
                continue
            point_force(
                c, belt.cos_d, 0.5 * dt, a_x, a_y, a_z, fl, i, p, u_0, u_1, u_2, m_0, m_1, m_2,
                w.reaction[pulley], w.flank_power[pulley],
            )  # fmt: skip
            n = fl.n[i, p]
            v = fl.v[i, p]
            v_x = u_0 - u_2 * fl.arm[i, p, 1] - v[0] - 0.5 * dt * v[3]
            v_y = u_1 + u_2 * fl.arm[i, p, 0] - v[1] - 0.5 * dt * v[4]
            v_z = -v[2] - 0.5 * dt * v[5]
            v_n = n[0] * v_x + n[1] * v_y + n[2] * v_z
            slip = max(v_x * v_x + v_y * v_y + v_z * v_z - v_n * v_n, 0.0)
            excess = 0.5 * (fl.kappa[i, p] - belt.mu * fl.N[i, p] / np.sqrt(slip + belt.v_mu * belt.v_mu))
            missed[0] = excess * (v_x - n[0] * v_n)
            missed[1] = excess * (v_y - n[1] * v_n)
            missed[2] = excess * (v_z - n[2] * v_n)
