"""Lateral motion of a ring set: deflection, yaw and torsion in addition to the planar columns of `ring`.

Cebulla 2014, (3.1), gives a finite element two lateral deflections c_L1, c_R1 and no shear. An Euler-Bernoulli beam
whose finite element is shorter than the ring is wide (6.4 mm, 8.7 mm) has frequencies of 1.4e7 rad/s. Here the lateral
beam is flexible in shear, and staggered: z [m] at the nodes, the rotation vector Theta = (Theta_x, Theta_y) [rad] at
the finite elements, in inertial components. t and n are tangent and normal, b is the z axis:

    torsion  alpha = Theta.t,    yaw  psi = -Theta.n   (the slope dz/ds of a ring without shear)

A small rotation about axes in the plane is a vector, and its derivative along the planar curve holds both couplings by
the curvature kappa, (Theta').t = alpha' + kappa psi and -(Theta').n = psi' - kappa alpha. With chords d, Delta the
difference of neighbours, and the section's frame t_k, n_k at a node:

    gamma = Delta z/|d| + Theta.n_d            shear of a finite element
    tau = Delta Theta.t_k/l                    torsion at a node
    nu = Delta Theta.n_k/l - nu_0              lateral bending at a node; nu_0: camber of the relaxed ring
    beta = ((Delta z/l)^2 + r_w^2 tau^2)/2     part of the mean stretch, r_w^2 = w^2/12

    V = sum l/2 (GA gamma^2 + GJ tau^2 + EI_w nu^2)

and the stretch of (6.1) grows by beta, so that the tension carries lateral load and, by the slope of the outer fibres,
torque. Forces are the exact derivative of V, in the planar coordinates too. Tilting a ring as a whole costs nothing.
Damping is proportional to the rates of gamma, tau and nu, which are zero in rigid motion.

Ten layers bend edgewise as one, EI_w = E A w^2/12, and twist one by one: GJ = G layers w h_l^3/3.

Inertia. m = rhoA l on z; on both components of Theta J = rhoA l (w^2 + 2 l^2)/12. About t and n a section has
rhoA (w^2 + h^2)/12 and rhoA w^2/12; with equal ones the mass matrix is constant in inertial components, and centrifugal
and Coriolis terms are all included. Neglected is the spin of the tilted section, rhoA h^2/12 Omega, a precession
of 18 rad/s at 400 rad/s. Nodes move with the material, so transport is in the motion of the nodes. The term
with l^2 slows waves down by (k l)^2/12, as the mesh does, and limits the largest frequency, of alternating z and yaw,
at 1.42e6 rad/s with 104 finite elements; the planar ring has 1.51e6. (Without it: 1.9e6, with l^2: 1.6e6.)
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, vstack
from scipy.sparse.linalg import spsolve

from rtcvt.offline.pushbelt.compiled import compiled, inlined
from rtcvt.offline.pushbelt.ring.ring import INV, NX, NY

NL = 3  # coordinates: z of a node, Theta_x, Theta_y of the finite element in front of it


class Lateral(NamedTuple):
    """One ring set across its plane; SI units.

    N_B finite elements of relaxed length l; stiffness in shear GA [N], torsion GJ and bending EI [N m^2]; camber nu_0
    [1/m]; r_w2 = w^2/12 [m^2]; masses m [kg], J [kg m^2]; damping over stiffness [s].
    """

    N_B: int
    l: float  # noqa: E741
    GA: float
    GJ: float
    EI: float
    camber: float
    r_w2: float
    m: float
    J: float
    time: float


def lateral(
    *, N_B: int, length: float, width: float, layers: int, layer_height: float, E: float, density: float,
    time: float, camber: float = 0.0, nu: float = 0.3,
) -> Lateral:  # fmt: skip
    """The lateral part of one ring set.

    Parameters
    ----------
    N_B : int
        Finite elements.
    length, width, layer_height : float
        Relaxed length of the ring, width and height of one of its `layers` [m].
    E, density, nu : float
        Young's modulus [Pa], density [kg/m3], Poisson's number.
    time : float
        Damping over stiffness [s]; at most critical at the highest frequency.
    camber : float
        Edgewise curvature of the relaxed ring [1/m], positive: concave towards +z where Theta.n grows along the ring.
    """
    l = length / N_B  # noqa: E741
    area, G = width * layers * layer_height, E / (2.0 + 2.0 * nu)
    found = Lateral(
        N_B=N_B,
        l=l,
        GA=5.0 / 6.0 * G * area,
        GJ=G * layers * width * layer_height**3 / 3.0,
        EI=E * area * width**2 / 12.0,
        camber=camber,
        r_w2=width**2 / 12.0,
        m=density * area * l,
        J=density * area * l * (width**2 + 2.0 * l**2) / 12.0,
        time=time,
    )
    return found._replace(time=min(time, 2.0 / highest_frequency(found)))


@inlined
def masses(L: Lateral) -> Any:
    """Of the coordinates of a piece [kg, kg m^2]."""
    return L.m, L.J, L.J


def highest_frequency(L: Lateral) -> float:
    """Largest angular frequency [rad/s] of the straight ring without tension: z and yaw alternate along it."""
    shift = 4.0 * L.GA / (L.l * L.m)
    turn = (L.GA * L.l + 4.0 * L.EI / L.l) / L.J
    mixed = 2.0 * L.GA / np.sqrt(L.m * L.J)
    return float(np.sqrt(0.5 * (shift + turn) + np.hypot(0.5 * (shift - turn), mixed)))


def resting(
    L: Lateral, shape: Any, cs_R: Any, sn_R: Any, S: Any, hold: Any, place: Any
) -> NDArray[np.float64]:  # fmt: skip
    """Rest coordinates (N_B, 3) of a ring under its tension, each node supported at its `place`.

    V and the work of the tension on beta are quadratic: one linear system.

    Parameters
    ----------
    shape : (N_B, 11) of `ring`; cs_R, sn_R : (N_B) as in `stretches`; S : (N_B) tension [N]
    hold, place : (N_B) stiffness [N/m] and place z [m] of the support of a node
    """
    n = L.N_B
    k = np.arange(n)
    ahead, behind = np.roll(k, -1), np.roll(k, 1)
    inv, nx, ny = shape[:, INV], shape[:, NX], shape[:, NY]

    def rows(*entries: Any) -> Any:
        """n rows from pairs of columns and values."""
        columns = np.concatenate([np.broadcast_to(c, n) for c, _ in entries])
        values = np.concatenate([np.broadcast_to(v, n) for _, v in entries])
        return csr_array((values, (np.tile(k, len(entries)), columns)), shape=(n, 3 * n))

    x, y = n + k, 2 * n + k
    x_b, y_b = n + behind, 2 * n + behind
    c, s = cs_R / L.l, sn_R / L.l
    gamma = rows((ahead, inv), (k, -inv), (x, nx), (y, ny))
    tau = rows((x, c), (x_b, -c), (y, s), (y_b, -s))
    nu = rows((x, -s), (x_b, s), (y, c), (y_b, -c))
    slope = rows((ahead, 1.0 / L.l), (k, -1.0 / L.l))
    held = rows((k, 1.0))
    stiff = [
        np.full(n, L.l * L.GA),
        L.l * (L.GJ + 0.5 * L.r_w2 * (S[behind] + S)),
        np.full(n, L.l * L.EI),
        L.l * np.asarray(S),
        np.asarray(hold, dtype=float),
    ]
    goal = [np.zeros(n), np.zeros(n), np.full(n, L.camber), np.zeros(n), np.asarray(place, dtype=float)]
    B, K = vstack([gamma, tau, nu, slope, held]), diags_array(np.concatenate(stiff))
    found = spsolve((B.T @ K @ B).tocsc(), B.T @ K @ np.concatenate(goal))
    return np.ascontiguousarray(found.reshape(3, n).T)


@compiled
def stretches(L: Lateral, q_L: Any, u_L: Any, u_R: Any, cs_R: Any, sn_R: Any, twist: Any, bow: Any) -> None:
    """Part beta of the mean stretch and its rate, columns of `bow` (N_B, 2).

    Parameters
    ----------
    q_L, u_L : (N_B, 3) lateral coordinates and rates; u_R : (N_B, 5) rates of the planar ones
    cs_R, sn_R : (N_B) cosine and sine of the section's angle at the nodes
    twist : (N_B, 4), written: tau, nu and their rates at the nodes
    """
    li = 1.0 / L.l
    for k in range(L.N_B):
        j = k - 1 if k > 0 else L.N_B - 1
        c = cs_R[k]
        s = sn_R[k]
        dx = (q_L[k, 1] - q_L[j, 1]) * li
        dy = (q_L[k, 2] - q_L[j, 2]) * li
        wx = (u_L[k, 1] - u_L[j, 1]) * li
        wy = (u_L[k, 2] - u_L[j, 2]) * li
        t = c * dx + s * dy
        n = c * dy - s * dx
        twist[k, 0] = t
        twist[k, 1] = n - L.camber
        twist[k, 2] = c * wx + s * wy + u_R[k, 2] * n
        twist[k, 3] = c * wy - s * wx - u_R[k, 2] * t
    for k in range(L.N_B):
        j = k + 1 if k + 1 < L.N_B else 0
        slope = (q_L[j, 0] - q_L[k, 0]) * li
        slope_d = (u_L[j, 0] - u_L[k, 0]) * li
        bow[k, 0] = 0.5 * slope * slope + 0.25 * L.r_w2 * (twist[k, 0] ** 2 + twist[j, 0] ** 2)
        bow[k, 1] = slope * slope_d + 0.5 * L.r_w2 * (twist[k, 0] * twist[k, 2] + twist[j, 0] * twist[j, 2])


@compiled
def forces(
    L: Lateral, q_L: Any, u_L: Any, shape: Any, rate: Any, cs_R: Any, sn_R: Any, twist: Any, S: Any, F_L: Any, F_R: Any
) -> float:
    """Add the lateral beam's forces to `F_L` and, where they act on the planar coordinates, to `F_R`.

    Parameters
    ----------
    q_L, u_L : (N_B, 3); shape, rate : (N_B, 11), (N_B, 9) of `ring`; cs_R, sn_R : (N_B)
    twist : (N_B, 4) of `stretches`; S : (N_B) tension [N]
    F_L, F_R : (N_B, 3), (N_B, 5) forces [N, N m, N m] and those of `ring`; added to

    Returns
    -------
    float : power of the damping [W]
    """
    N_B = L.N_B
    l = L.l  # noqa: E741
    li = 1.0 / l
    lost = 0.0
    for k in range(N_B):
        j = k + 1 if k + 1 < N_B else 0
        inv = shape[k, INV]
        nx = shape[k, NX]
        ny = shape[k, NY]
        dz = q_L[j, 0] - q_L[k, 0]
        alpha = q_L[k, 1] * ny - q_L[k, 2] * nx
        gamma = dz * inv + q_L[k, 1] * nx + q_L[k, 2] * ny
        # derivative with respect to the chord
        along = -dz * inv * inv
        across = -alpha * inv
        gx = along * ny + across * nx
        gy = across * ny - along * nx
        gamma_d = (u_L[j, 0] - u_L[k, 0]) * inv + u_L[k, 1] * nx + u_L[k, 2] * ny + gx * rate[k, 2] + gy * rate[k, 3]
        damped = L.GA * L.time * gamma_d
        lost += l * damped * gamma_d
        Q = l * (L.GA * gamma + damped)
        F = Q * inv + S[k] * dz * li
        F_L[k, 0] += F
        F_L[j, 0] -= F
        F_L[k, 1] -= Q * nx
        F_L[k, 2] -= Q * ny
        F_R[k, 0] += Q * gx
        F_R[k, 1] += Q * gy
        F_R[j, 0] -= Q * gx
        F_R[j, 1] -= Q * gy
    for k in range(N_B):
        j = k - 1 if k > 0 else N_B - 1
        c = cs_R[k]
        s = sn_R[k]
        tau = twist[k, 0]
        nu = twist[k, 1]
        d_t = L.GJ * L.time * twist[k, 2]
        d_n = L.EI * L.time * twist[k, 3]
        lost += l * (d_t * twist[k, 2] + d_n * twist[k, 3])
        M_t = (L.GJ + 0.5 * L.r_w2 * (S[j] + S[k])) * tau + d_t
        M_n = L.EI * nu + d_n
        M_x = M_t * c - M_n * s
        M_y = M_t * s + M_n * c
        F_L[j, 1] += M_x
        F_L[j, 2] += M_y
        F_L[k, 1] -= M_x
        F_L[k, 2] -= M_y
        F_R[k, 2] -= l * (M_t * (nu + L.camber) - M_n * tau)
    return lost


@compiled
def elastic_energy(L: Lateral, q_L: Any, shape: Any, twist: Any) -> Any:
    """Energy of shear, torsion and lateral bending [J], with `twist` of `stretches`; tension's is the planar ring's."""
    shear = 0.0
    torsion = 0.0
    bending = 0.0
    for k in range(L.N_B):
        j = k + 1 if k + 1 < L.N_B else 0
        gamma = (q_L[j, 0] - q_L[k, 0]) * shape[k, INV] + q_L[k, 1] * shape[k, NX] + q_L[k, 2] * shape[k, NY]
        shear += gamma * gamma
        torsion += twist[k, 0] ** 2
        bending += twist[k, 1] ** 2
    return 0.5 * L.l * L.GA * shear, 0.5 * L.l * L.GJ * torsion, 0.5 * L.l * L.EI * bending
