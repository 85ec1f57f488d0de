"""Inner forces of a ring set in space, by its kind: beam with lateral columns, or spatial Cosserat rod.

The beam is `ring` in the plane and `lateral` across it. The rod is that of Cebulla 2014, section 6.2, with the strains
and energies of `rods.spatial`: vertices r = (x, y, z), between them sections A = Rx(alpha) Ry(beta) Rz(gamma). It has
the same coordinates as the beam, x, y, gamma of `cosserat` and z, alpha, beta, since b = A e_z = (sin beta,
-sin alpha cos beta, ..) makes alpha and beta the tilt Theta of `lateral` for small angles: so contacts, files and
starts are the same. beta stays far below the singular 90 degrees, and the mean of Cardan angles is indifferent to
rotations about z.

Differences from the beam with columns. Chords instead of cubics in the plane (`cosserat`); strains of any angle; the
tension gives no torsional stiffness (r_w^2 tau^2/2 in the stretch of `lateral`), as (6.24) has one extension for the
section.

Inertia is m on x, y, z, J of `lateral` on alpha and beta, that of `cosserat` on gamma. With the layer's own
inertia about z sections vibrate against shear as in the planar rod; `rotatory_factor` raises it, which (6.36) with
omega would couple to the tilt by its spin. The spin is left out, as in `lateral`.
"""

from typing import Any

import numpy as np

from rtcvt.offline.pushbelt.compiled import Contract, by_law, compiled, inlined
from rtcvt.offline.pushbelt.ring import cosserat, ring
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.ring import DX, DY, HX, HY, WX, WY, Ring
from rtcvt.offline.pushbelt.spatial import lateral
from rtcvt.offline.pushbelt.spatial.lateral import Lateral


@by_law
def forces(R: Any, L: Any, x: Any, w: Any) -> Any:
    """Generalised forces of strain, bending, torsion, damping and loads on one ring set.

    Parameters
    ----------
    R, L : Ring or Cosserat, Lateral : of one ring set
    x, w : Half, Work of `model`; `load` of `w.ring` is read and set to zero, its `F` and `tension` are written, `w.F_L`
        is added to

    Returns
    -------
    float, float : power [W] of the damping of extension (and of the rod's shear in the plane), of all other damping
    """


@by_law
def energy(R: Any, L: Any, x: Any, w: Any) -> Any:
    """Energy [J] in extension (and the rod's shear in the plane), and in all other strains."""


@forces.of(Ring)
@inlined
def _forces_beam(R: Ring, L: Lateral, x: Any, w: Any) -> Any:
    r = w.ring
    lateral.stretches(L, x.q_L, x.u_L, x.u_R, r.cs, r.sn, w.twist, w.bow)
    p_axial, p_bend = ring.forces(R, r.shape, r.rate, r.load, r.F, r.tension, w.bow)
    p_across = lateral.forces(L, x.q_L, x.u_L, r.shape, r.rate, r.cs, r.sn, w.twist, r.tension, w.F_L, r.F)
    return p_axial, p_bend + p_across


@energy.of(Ring)
@inlined
def _energy_beam(R: Ring, L: Lateral, x: Any, w: Any) -> Any:
    r = w.ring
    # the lateral beam's books are those of the velocities after the step
    lateral.stretches(L, x.q_L, x.u_L, x.u_R, r.cs, r.sn, w.twist, w.bow)
    axial, bending = ring.elastic_energy(R, r.shape, w.bow)
    shear, torsion, across = lateral.elastic_energy(L, x.q_L, r.shape, w.twist)
    return axial, bending + shear + torsion + across


@forces.of(Cosserat)
@inlined
def _forces_rod(R: Cosserat, L: Lateral, x: Any, w: Any) -> Any:
    r = w.ring
    at, angle = (x.q_R, x.u_R, x.q_L, x.u_L), (r.cs, r.sn)
    p_strain, p_shear = strained(R, L, at, angle, r.shape, r.rate, r.load, r.F, w.F_L, r.tension)
    p_bend = bent(R, L, at, angle, r.F, w.F_L)
    cosserat.vertices(R, r.shape, r.load, r.F)
    return p_strain, p_shear + p_bend


@compiled
def strained(
    R: Cosserat, L: Lateral, at: Any, angle: Any, shape: Any, rate: Any, load: Any, F: Any, F_L: Any, tension: Any
) -> Any:
    """Forces of extension and shear of the edges, (6.21) and (6.24).

    Parameters
    ----------
    at : q_R, u_R (N_B, 5), q_L, u_L (N_B, 3) of `model.Half`; angle: cosine and sine (N_B,) of gamma
    shape, rate, load : rows of the chords; forces are added to HX, HY of `load`
    F : (N_B, 5), moment on gamma written; F_L (N_B, 3): added to; tension (N_B,): written [N]

    Returns
    -------
    float, float : power [W] of the damping in the plane of t and n, and across
    """
    _, u, q_L, u_L = at
    li = 1.0 / R.l
    d_across = L.GA * L.time
    p_strain = 0.0
    p_other = 0.0
    for k in range(R.N_B):
        j = k + 1 if k + 1 < R.N_B else 0
        sa = np.sin(q_L[k, 1])
        sb = np.sin(q_L[k, 2])
        ca = np.sqrt(1.0 - sa * sa)
        cb = np.sqrt(1.0 - sb * sb)
        cg = angle[0][k]
        sg = angle[1][k]
        # t, n, b of (6.16), the chord and its rate in them, angular velocity of the section (6.34)
        tx, ty, tz = cb * cg, ca * sg + sa * sb * cg, sa * sg - ca * sb * cg
        nx, ny, nz = -cb * sg, ca * cg - sa * sb * sg, sa * cg + ca * sb * sg
        bx, by, bz = sb, -sa * cb, ca * cb
        dz = q_L[j, 0] - q_L[k, 0]
        wz = u_L[j, 0] - u_L[k, 0]
        along = tx * shape[k, DX] + ty * shape[k, DY] + tz * dz
        side = nx * shape[k, DX] + ny * shape[k, DY] + nz * dz
        up = bx * shape[k, DX] + by * shape[k, DY] + bz * dz
        o_t = cb * cg * u_L[k, 1] + sg * u_L[k, 2]
        o_n = -cb * sg * u_L[k, 1] + cg * u_L[k, 2]
        o_b = sb * u_L[k, 1] + u[k, 2]
        a = tx * rate[k, WX] + ty * rate[k, WY] + tz * wz - o_n * up + o_b * side
        b = nx * rate[k, WX] + ny * rate[k, WY] + nz * wz - o_b * along + o_t * up
        c = bx * rate[k, WX] + by * rate[k, WY] + bz * wz - o_t * side + o_n * along
        T = li * (R.EA * (along - R.l) + R.d_axial * a)
        Q = li * (R.GA * side + R.d_shear * b)
        P = li * (L.GA * up + d_across * c)
        tension[k] = T
        p_strain += li * (R.d_axial * a * a + R.d_shear * b * b)
        p_other += li * d_across * c * c
        load[k, HX] -= T * tx + Q * nx + P * bx
        load[k, HY] -= T * ty + Q * ny + P * by
        f_z = T * tz + Q * nz + P * bz
        F_L[k, 0] += f_z
        F_L[j, 0] -= f_z
        M_t = side * P - up * Q
        M_n = up * T - along * P
        F[k, 2] = along * Q - side * T
        F_L[k, 1] += cb * cg * M_t - cb * sg * M_n + sb * F[k, 2]
        F_L[k, 2] += sg * M_t + cg * M_n
    return p_strain, p_other


@compiled
def bent(R: Cosserat, L: Lateral, at: Any, angle: Any, F: Any, F_L: Any) -> float:
    """Add the moments of torsion and bending, (6.28) and (6.30), to F (N_B, 5) and F_L (N_B, 3); returns the power [W]
    of their damping. Parameters as for `strained`."""
    q, u, q_L, u_L = at
    li = 1.0 / R.l
    power = 0.0
    for k in range(R.N_B):
        i, cb, sb, cg, sg, d_a, kt, kn, kb = _curvature(R, q, q_L, angle, k)
        v_a = u_L[k, 1] - u_L[i, 1]
        v_b = u_L[k, 2] - u_L[i, 2]
        turn = 0.5 * (u[k, 2] + u[i, 2])
        tilt = 0.5 * li * (u_L[k, 2] + u_L[i, 2]) * d_a
        rt = li * (cb * cg * v_a + sg * v_b) + turn * kn - tilt * sb * cg
        rn = li * (-cb * sg * v_a + cg * v_b) - turn * kt + tilt * sb * sg
        rb = li * (sb * v_a + u[k, 2] - u[i, 2]) + tilt * cb
        power += R.l * (L.time * (L.GJ * rt * rt + L.EI * rn * rn) + R.d_bend * rb * rb)
        M_t = L.GJ * (kt + L.time * rt)
        M_n = L.EI * (kn - L.camber + L.time * rn)
        M_b = R.EI * kb + R.d_bend * rb
        to_a = cb * cg * M_t - cb * sg * M_n + sb * M_b
        to_b = sg * M_t + cg * M_n
        by_b = 0.5 * d_a * (cb * M_b - sb * (cg * M_t - sg * M_n))
        by_g = 0.5 * R.l * (kn * M_t - kt * M_n)
        F_L[k, 1] -= to_a
        F_L[i, 1] += to_a
        F_L[k, 2] -= to_b + by_b
        F_L[i, 2] += to_b - by_b
        F[k, 2] -= M_b + by_g
        F[i, 2] += M_b - by_g
    return power


@inlined
def _curvature(R: Cosserat, q: Any, q_L: Any, angle: Any, k: int) -> Any:
    """The edge before vertex k; cosine and sine of the mean beta and gamma there; the step of alpha; torsion and
    curvatures about n and b [1/m], (6.28)."""
    cs, sn = angle
    i = k - 1 if k > 0 else R.N_B - 1
    d_a = q_L[k, 1] - q_L[i, 1]
    d_b = q_L[k, 2] - q_L[i, 2]
    d_g = q[k, 2] - q[i, 2] + (0.0 if k > 0 else R.turn)
    sb = np.sin(0.5 * (q_L[k, 2] + q_L[i, 2]))
    cb = np.sqrt(1.0 - sb * sb)
    inv = 1.0 / np.sqrt((cs[k] + cs[i]) ** 2 + (sn[k] + sn[i]) ** 2)
    cg = (cs[k] + cs[i]) * inv
    sg = (sn[k] + sn[i]) * inv
    li = 1.0 / R.l
    kt, kn, kb = li * (cb * cg * d_a + sg * d_b), li * (-cb * sg * d_a + cg * d_b), li * (sb * d_a + d_g)
    return i, cb, sb, cg, sg, d_a, kt, kn, kb


@energy.of(Cosserat)
@inlined
def _energy_rod(R: Cosserat, L: Lateral, x: Any, w: Any) -> Any:
    return stored(R, L, x.q_R, x.q_L, (w.ring.cs, w.ring.sn), w.ring.shape)


@compiled
def stored(R: Cosserat, L: Lateral, q: Any, q_L: Any, angle: Any, shape: Any) -> Any:
    """`energy` of the rod; parameters as for `strained`."""
    strain = 0.0
    other = 0.0
    for k in range(R.N_B):
        j = k + 1 if k + 1 < R.N_B else 0
        sa = np.sin(q_L[k, 1])
        sb = np.sin(q_L[k, 2])
        ca = np.sqrt(1.0 - sa * sa)
        dx = shape[k, DX]
        dy = ca * shape[k, DY] + sa * (q_L[j, 0] - q_L[k, 0])  # turned back by alpha, then by beta
        dz = ca * (q_L[j, 0] - q_L[k, 0]) - sa * shape[k, DY]
        cb = np.sqrt(1.0 - sb * sb)
        level = cb * dx - sb * dz
        a = angle[0][k] * level + angle[1][k] * dy - R.l
        b = angle[0][k] * dy - angle[1][k] * level
        c = sb * dx + cb * dz
        strain += R.EA * a * a + R.GA * b * b
        _, _, _, _, _, _, kt, kn, kb = _curvature(R, q, q_L, angle, k)
        other += L.GA * c * c + R.l * R.l * (L.GJ * kt * kt + L.EI * (kn - L.camber) ** 2 + R.EI * kb * kb)
    return 0.5 * strain / R.l, 0.5 * other / R.l


INNER = Contract(forces, energy)
INNER.register(Ring, Cosserat)
