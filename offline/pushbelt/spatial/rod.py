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
from rtcvt.offline.pushbelt.vectors import cross, image, minus, plus, scaled, seen, times
from rtcvt.offline.rods.spatial import axes, turns


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
    stiff, damping = (R.EA, R.GA, L.GA), (R.d_axial, R.d_shear, L.GA * L.time)
    p_strain = 0.0
    p_other = 0.0
    for k in range(R.N_B):
        j = k + 1 if k + 1 < R.N_B else 0
        A, T = _section(q_L, angle, k)
        d = seen(A, (shape[k, DX], shape[k, DY], q_L[j, 0] - q_L[k, 0]))
        omega = seen(T, (u_L[k, 1], u_L[k, 2], u[k, 2]))
        v = minus(seen(A, (rate[k, WX], rate[k, WY], u_L[j, 0] - u_L[k, 0])), cross(omega, d))
        N = times(li, plus(scaled(stiff, minus(d, (R.l, 0.0, 0.0))), scaled(damping, v)))
        tension[k] = N[0]
        lost = scaled(damping, scaled(v, v))
        p_strain += li * (lost[0] + lost[1])
        p_other += li * lost[2]
        f = image(A, N)
        load[k, HX] -= f[0]
        load[k, HY] -= f[1]
        F_L[k, 0] += f[2]
        F_L[j, 0] -= f[2]
        M = cross(d, N)
        F[k, 2] = M[2]
        M = image(T, M)
        F_L[k, 1] += M[0]
        F_L[k, 2] += M[1]
    return p_strain, p_other


@inlined
def _section(q_L: Any, angle: Any, k: int) -> Any:
    """Axes t, n, b of the section of edge k, and rows of T of its Cardan angles: `rods.spatial.axes` and `turns`."""
    sa, sb = np.sin(q_L[k, 1]), np.sin(q_L[k, 2])
    ca, cb = np.sqrt(1.0 - sa * sa), np.sqrt(1.0 - sb * sb)
    return axes(ca, sa, cb, sb, angle[0][k], angle[1][k]), turns(cb, sb, angle[0][k], angle[1][k])


@compiled
def bent(R: Cosserat, L: Lateral, at: Any, angle: Any, F: Any, F_L: Any) -> float:
    """Add the moments of torsion and bending, (6.28) and (6.30), to F (N_B, 5) and F_L (N_B, 3); returns the power [W]
    of their damping. Parameters as for `strained`."""
    q, u, q_L, u_L = at
    li = 1.0 / R.l
    power = 0.0
    for k in range(R.N_B):
        i, cb, sb, cg, sg, d_a, (kt, kn, kb) = _curvature(R, q, q_L, angle, k)
        T = turns(cb, sb, cg, sg)
        v = times(li, seen(T, (u_L[k, 1] - u_L[i, 1], u_L[k, 2] - u_L[i, 2], u[k, 2] - u[i, 2])))
        turn = 0.5 * (u[k, 2] + u[i, 2])
        tilt = 0.5 * li * (u_L[k, 2] + u_L[i, 2]) * d_a
        rt, rn, rb = plus(v, (turn * kn - tilt * sb * cg, tilt * sb * sg - turn * kt, tilt * cb))
        power += R.l * (L.time * (L.GJ * rt * rt + L.EI * rn * rn) + R.d_bend * rb * rb)
        M = (L.GJ * (kt + L.time * rt), L.EI * (kn - L.camber + L.time * rn), R.EI * kb + R.d_bend * rb)
        to_a, to_b, to_g = image(T, M)
        by_b = 0.5 * d_a * (cb * M[2] - sb * (cg * M[0] - sg * M[1]))
        by_g = 0.5 * R.l * (kn * M[0] - kt * M[1])
        F_L[k, 1] -= to_a
        F_L[i, 1] += to_a
        F_L[k, 2] -= to_b + by_b
        F_L[i, 2] += to_b - by_b
        F[k, 2] -= to_g + by_g
        F[i, 2] += to_g - by_g
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
    return i, cb, sb, cg, sg, d_a, times(1.0 / R.l, seen(turns(cb, sb, cg, sg), (d_a, d_b, d_g)))


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
        A, _ = _section(q_L, angle, k)
        a, b, c = seen(A, (shape[k, DX], shape[k, DY], q_L[j, 0] - q_L[k, 0]))
        strain += R.EA * (a - R.l) ** 2 + R.GA * b * b
        _, _, _, _, _, _, (kt, kn, kb) = _curvature(R, q, q_L, angle, k)
        other += L.GA * c * c + R.l * R.l * (L.GJ * kt * kt + L.EI * (kn - L.camber) ** 2 + R.EI * kb * kb)
    return 0.5 * strain / R.l, 0.5 * other / R.l


INNER = Contract(forces, energy)
INNER.register(Ring, Cosserat)
