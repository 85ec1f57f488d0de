"""Linear elasticity of a body of revolution, harmonic by harmonic around its axis.

The displacement of harmonic k is (U cos k theta, V sin k theta, W cos k theta) along (r, theta, z), with strains

    e_rr = U,r                e_tt = (U + k V)/r           e_zz = W,z
    g_rz = U,z + W,r          g_rt = V,r - (V + k U)/r     g_zt = V,z - k W/r

(all times cos k theta but the last two, sin k theta), so that harmonics do not mix: Zienkiewicz and Taylor, *The
Finite Element Method*, vol. 2, "semi-analytical processes". Integrals over theta give 2 pi for k = 0 and pi else; with
U, W of k = 0 alone there is no torsion. A unit point force at theta = 0 has the harmonics (1, 2, 2, ...)/(2 pi), so
that the deflection at angle theta under it is

    w(theta) = sum_k C_k cos k theta,   C_k = f' K_k^-1 f' / (2 pi, pi, pi, ...).

Elements are those of scikit-fem: quadratic quadrilaterals, in a library that needs numpy and scipy alone.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix
from scipy.sparse.linalg import splu
from skfem import Basis, BilinearForm, ElementQuad2, ElementVector, FacetBasis

from rtcvt.offline.sheave.mesh import BODY, Mesh
from rtcvt.offline.sheave.profile import Profile, Support

Array = NDArray[np.float64]


class Body(NamedTuple):
    """A meshed sheave: basis of its displacements, and its elasticity with stresses around the axis or without."""

    profile: Profile
    mesh: Mesh
    tan_d: float
    basis: Basis

    @property
    def rigid(self) -> Array:
        """Rigid motions with harmonics 0 and 1: axial shift; shift across, tilt about the apex; shape (3, dofs)."""
        x, y = self.basis.doflocs
        part = self.part
        across = np.choose(part, [np.ones_like(x), -np.ones_like(x), np.zeros_like(x)])
        return np.array([np.where(part == 2, 1.0, 0.0), across, np.choose(part, [-y, y, x])])

    @property
    def part(self) -> NDArray[np.intp]:
        """Component (U, V, W: 0, 1, 2) of each degree of freedom."""
        part = np.zeros(self.basis.N, dtype=np.intp)
        for c in range(3):
            for dofs in (self.basis.nodal_dofs, self.basis.facet_dofs, self.basis.interior_dofs):
                part[dofs[c]] = c
        return part


def body(profile: Profile, mesh: Mesh, tan_d: float) -> Body:
    """The finite elements of a meshed sheave."""
    return Body(profile, mesh, tan_d, Basis(mesh.quads, ElementVector(ElementQuad2(), 3), intorder=4))


def _strain(u, x, k):
    """Strains rr, tt, zz, rz, rt, zt of a displacement of harmonic `k`."""
    r = x[0]
    U, V, W = u
    (U_r, U_z), (V_r, V_z), (W_r, W_z) = u.grad
    return U_r, (U + k * V) / r, W_z, U_z + W_r, V_r - (V + k * U) / r, V_z - k * W / r


@BilinearForm
def _work(u, v, w):
    """Stress of u on the strain of v. Body: isotropic; ribs: a share of plane stress in (r, z), and of the shear."""
    a, b = _strain(u, w.x, w.k), _strain(v, w.x, w.k)
    G = w.E / (2.0 * (1.0 + w.nu))
    lame = w.E * w.nu / ((1.0 + w.nu) * (1.0 - 2.0 * w.nu))
    shear = G * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
    solid = lame * (a[0] + a[1] + a[2]) * (b[0] + b[1] + b[2]) + 2.0 * G * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    plane = w.E / (1.0 - w.nu**2) * (a[0] * b[0] + a[2] * b[2] + w.nu * (a[0] * b[2] + a[2] * b[0]))
    return (np.where(w.ribs > 0.0, w.ribs * (plane + shear), solid + shear)) * w.x[0]


def stiffness(body: Body, k: int) -> csr_matrix:
    """Stiffness K_k of a harmonic, without supports and without the integral over theta; shape (dofs, dofs)."""
    share = body.profile.ribs.share if body.profile.ribs else 0.0
    ribs = np.where(body.mesh.kind == BODY, 0.0, share)[:, None]
    ribs = np.broadcast_to(ribs, body.basis.dx.shape)
    return _work.assemble(body.basis, k=k, E=body.profile.E, nu=body.profile.nu, ribs=ribs).tocsr()


def inertia(body: Body) -> tuple[float, float]:
    """Mass [kg] and moment of inertia about the shaft [kg m2]; ribs count by their share."""
    share = body.profile.ribs.share if body.profile.ribs else 0.0
    full = np.where(body.mesh.kind == BODY, 1.0, share)[:, None]
    r = np.asarray(body.basis.global_coordinates())[0]
    ring = 2.0 * np.pi * body.profile.density * full * r * body.basis.dx
    return float(ring.sum()), float((ring * r**2).sum())


@BilinearForm
def _spring(u, v, w):
    return (u[0] * v[0] + u[1] * v[1]) * w.x[0]


def _facets(body: Body, on: str, span: tuple[float, float]) -> NDArray[np.intp]:
    """Facets of a surface: of the first ring over z (bore, shaft), or of the disc's back over r."""
    first = body.profile.rings[0]

    def inside(x: Array) -> Array:
        if on == "back":
            back = x[0] * body.tan_d + body.profile.thickness(x[0])
            return (np.abs(x[1] - back) < 1e-8) & (x[0] > span[0]) & (x[0] < span[1])
        return (np.abs(x[0] - first.r[on == "shaft"]) < 1e-8) & (x[1] > span[0]) & (x[1] < span[1])

    return body.mesh.quads.facets_satisfying(inside)


def springs(body: Body, support: Support) -> csr_matrix:
    """Stiffness of a support against U and V, as `stiffness`: its force across the shaft by displacement is `lateral`.

    A displacement of 1 across the shaft, U = 1 and V = -1, costs pi s r l (1 + 1)/2 = lateral/2.
    """
    basis = FacetBasis(body.mesh.quads, body.basis.elem, facets=_facets(body, support.on, support.z), intorder=4)
    matrix = _spring.assemble(basis).tocsr()
    across = body.rigid[1]
    return matrix * (support.lateral / (np.pi * float(across @ (matrix @ across))))


def line(body: Body, on: str, span: tuple[float, float]) -> Array:
    """Mean axial displacement of a surface, by its area: a row over the degrees of freedom."""
    basis = FacetBasis(body.mesh.quads, body.basis.elem, facets=_facets(body, on, span), intorder=4)

    @BilinearForm
    def product(u, v, w):
        return u[2] * v[2] * w.x[0]

    row = product.assemble(basis) @ body.rigid[0]
    return row / float(row @ body.rigid[0])


def point_rows(body: Body, r: Array, height: float) -> tuple[Array, Array]:
    """Mean radial and axial displacement of the flank over `height` around radii `r`: two (len(r), dofs) rows.

    An element's flank moves by the mean; a line on the surface of a solid has no finite deflection of its own.
    """
    p, facets = body.mesh.quads.p, body.mesh.quads.facets
    corner = body.mesh.flank
    edge = {tuple(sorted(pair)): number for number, pair in enumerate(facets.T)}
    middle = np.array([edge[tuple(sorted(pair))] for pair in pairwise(corner)])
    radius = p[0, corner]
    x, weight = np.polynomial.legendre.leggauss(32)
    radial, axial = (np.zeros((len(r), body.basis.N)) for _ in range(2))
    for i, place in enumerate(r):
        at = np.clip(place + 0.5 * height * x, radius[0], radius[-1])
        e = np.clip(np.searchsorted(radius, at, side="right") - 1, 0, len(middle) - 1)
        s = (at - radius[e]) / (radius[e + 1] - radius[e])
        shapes = ((1.0 - s) * (1.0 - 2.0 * s), s * (2.0 * s - 1.0), 4.0 * s * (1.0 - s))
        for row, c in ((radial, 0), (axial, 2)):
            nodal, mid = body.basis.nodal_dofs[c], body.basis.facet_dofs[c]
            for dofs, shape in zip((nodal[corner[e]], nodal[corner[e + 1]], mid[middle[e]]), shapes, strict=True):
                np.add.at(row[i], dofs, 0.5 * weight * shape)
    return radial, axial


def solver(body: Body, k: int, held: Array) -> Callable[[Array], Array]:
    """Solution of K_k with the supports, the axial shift held at `held` (`line`); a function of right-hand sides."""
    K = stiffness(body, k)
    free = np.ones(body.basis.N, dtype=bool)
    if k == 0:
        free[body.part == 1] = False  # no torsion
        row = csc_matrix(held)
        K = K + row.T @ row * (body.profile.E * body.profile.rings[0].r[1])
    elif k == 1:
        for support in body.profile.supports:
            K = K + springs(body, support)
    factors = splu(K[free][:, free].tocsc())

    def solve(rows: Array) -> Array:
        found = np.zeros_like(rows)
        found[:, free] = factors.solve(np.ascontiguousarray(rows[:, free].T)).T
        return found

    return solve
