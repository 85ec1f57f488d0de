"""Elasticity of bodies of revolution: exact solutions, thick plates, a three-dimensional mesh, rigid motions."""

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve
from scipy.special import iv, ive, kve
from skfem import (
    Basis,
    BilinearForm,
    ElementHex2,
    ElementVector,
    FacetBasis,
    LinearForm,
    MeshHex,
    MeshHex2,
    condense,
    solve,
)
from skfem.helpers import ddot, eye, sym_grad, trace

from rtcvt.offline.sheave.elasticity import body, point_rows, springs, stiffness
from rtcvt.offline.sheave.mesh import mesh
from rtcvt.offline.sheave.profile import Profile

E, NU = 2.1e11, 0.3


def a_profile(disc, inner=20e-3, **more):
    """A disc on a thin ring, with springs in its bore."""
    root, foot = disc[0][0], more.pop("foot", 0.0)
    return Profile.model_validate(
        {
            "E": E,
            "nu": NU,
            "rings": [{"r": [inner, root], "z": [foot, foot + disc[0][1]]}],
            "disc": disc,
            "supports": [{"on": "bore", "z": [foot, foot + disc[0][1]], "lateral": 1e9}],
            "reaction": {"on": "bore", "span": [foot, foot + disc[0][1]]},
        }
        | more
    )


def clamped(b, k, radius, load):
    """Displacements under rows `load` of a body that is held within a radius, with the integral over theta."""
    held = b.basis.doflocs[0] < radius + 1e-9
    if k == 0:
        held |= b.part == 1
    free = ~held
    u = np.zeros_like(load)
    factor = 2.0 * np.pi if k == 0 else np.pi
    u[:, free] = spsolve(stiffness(b, k)[free][:, free].tocsc() * factor, load[:, free].T).reshape(-1, len(load)).T
    return u


class ThickPlate:
    """Annular plate by Mindlin's theory, clamped at a, free at b, with a unit point force at c: harmonic k.

    psi = grad Phi + rot H, w = -Phi + D/(kappa G h) lap Phi, lap lap Phi = 0, lap H = 12 kappa/h^2 H; constants from
    the two edges and the jump of Q_r by (1, 2, 2, ...)/(2 pi c).
    """

    def __init__(self, a, b, c, h, k):
        self.k, self.h, self.c = k, h, c
        self.D = E * h**3 / (12.0 * (1.0 - NU**2))
        self.S = 5.0 / 6.0 * E / (2.0 * (1.0 + NU)) * h
        self.alpha = np.sqrt(10.0) / h
        self.scale = b
        n = 4 if k == 0 else 6
        w, p, q, M, T, Q = range(6)
        keep = [w, p, M, Q] if k == 0 else [w, p, q, M, T, Q]
        inside, outside = self.parts = (a, c), (c, b)
        inner, outer, before, behind = (
            self.rows(a, inside),
            self.rows(b, outside),
            self.rows(c, inside),
            self.rows(c, outside),
        )
        zero = np.zeros((n // 2, n))
        A = np.vstack(
            [
                np.hstack([inner[[w, p] if k == 0 else [w, p, q]], zero]),
                np.hstack([zero, outer[[M, Q] if k == 0 else [M, T, Q]]]),
                np.hstack([before[keep], -behind[keep]]),
            ]
        )
        rhs = np.zeros(2 * n)
        rhs[-1] = (1.0 if k == 0 else 2.0) / (2.0 * np.pi * c)
        size = np.abs(A).max(1)
        self.constants = np.linalg.lstsq(A / size[:, None], rhs / size, rcond=None)[0].reshape(2, n)

    def rows(self, r, part):
        """w, psi_r, psi_theta, M_rr, M_rt, Q_r of each solution at a radius of a part, shape (6, solutions)."""
        k, D, alpha = self.k, self.D, self.alpha
        x = r / self.scale
        powers = {0: [(0, 0), (2, 0), (0, 1), (2, 1)], 1: [(1, 0), (3, 0), (-1, 0), (1, 1)]}.get(
            k, [(k, 0), (-k, 0), (k + 2, 0), (2 - k, 0)]
        )
        out = []
        for p, log in powers:

            def d(n, p=p, log=log):  # n-th derivative of x^p (ln x)^log
                value, slope = np.poly1d([1.0]), 0.0  # x^(p - n) (value ln x + slope)
                value, slope = (1.0, 0.0) if log else (0.0, 1.0)
                for j in range(n):
                    value, slope = value * (p - j), slope * (p - j) + value
                return x ** (p - n) * (value * np.log(x) + slope) / self.scale**n

            F, F1, F2, F3 = (d(n) for n in range(4))
            lap = F2 + F1 / r - k * k * F / r**2
            lap1 = F3 + F2 / r - F1 / r**2 - k * k * F1 / r**2 + 2.0 * k * k * F / r**3
            psi_r, psi_t = F1, -k * F / r
            M = D * (F2 + NU * (F1 / r - k * k * F / r**2))
            T = D * (1.0 - NU) * (-k * F1 / r + k * F / r**2)
            out.append([-F + D / self.S * lap, psi_r, psi_t, M, T, D * lap1])
        if k:
            for scaled, sign, edge in ((ive, 1.0, part[1]), (kve, -1.0, part[0])):
                edge = np.exp(sign * alpha * (r - edge))  # 1 at the edge where it is largest
                H = edge * scaled(k, alpha * r)
                H1 = sign * edge * alpha * 0.5 * (scaled(k - 1, alpha * r) + scaled(k + 1, alpha * r))
                H2 = alpha**2 * H - H1 / r + k * k * H / r**2
                psi_r, psi_t = k * H / r, -H1
                M = D * (1.0 - NU) * k * (H1 / r - H / r**2)
                T = 0.5 * D * (1.0 - NU) * (-H2 - k * k * H / r**2 + H1 / r)
                out.append([0.0, psi_r, psi_t, M, T, self.S * psi_r])
        return np.array(out).T

    def w(self, r):
        side = (np.asarray(r) > self.c).astype(int)
        return np.array([self.rows(x, self.parts[i])[0] @ self.constants[i] for x, i in zip(r, side, strict=True)])


@pytest.mark.parametrize("k", [0, 1, 2, 5, 8])
def test_a_clamped_plate_under_a_point_load_is_that_of_thick_plate_theory(k):
    """Away from the load: under it, higher harmonics are pressed in locally, which a plate does not know."""
    a, b, h = 30e-3, 90e-3, 4e-3
    made = body((p := a_profile([(a, h), (b, h)])), mesh(p, 0.0, 2.5e-3), 0.0)
    r = np.array([45e-3, 55e-3, 85e-3, 89e-3])
    load = point_rows(made, np.array([70e-3]), 1e-3)[1]
    w = point_rows(made, r, 1e-3)[1] @ clamped(made, k, a, load)[0]
    exact = ThickPlate(a, b, 70e-3, h, k).w(r)
    assert w == pytest.approx(exact, abs=0.01 * np.abs(exact).max())


@pytest.mark.parametrize("k", [0, 1, 3])
def test_displacements_converge_with_the_third_order(k):
    """grad(I_k(beta r) cos(k theta) cos(beta z)) is a displacement without forces: divergence and Laplacian vanish."""
    beta = 40.0

    def exact(x):
        r, z = x
        J, J_1 = iv(k, beta * r), 0.5 * (iv(k - 1, beta * r) + iv(k + 1, beta * r))
        c, s = np.cos(beta * z), np.sin(beta * z)
        return np.array([beta * J_1 * c, -k * J / r * c, -beta * J * s])

    errors = []
    for size in (10e-3, 5e-3):
        tan_d = 0.2
        p = a_profile([(30e-3, 20e-3), (70e-3, 10e-3)], foot=6e-3)
        b = body(p, mesh(p, tan_d, size), tan_d)
        u = np.choose(b.part, exact(b.basis.doflocs))
        inner = b.basis.complement_dofs(b.basis.get_dofs())
        if k == 0:
            inner = inner[b.part[inner] != 1]
        K = stiffness(b, k)
        outer = np.setdiff1d(np.arange(b.basis.N), inner)
        found = u.copy()
        found[inner] = spsolve(K[inner][:, inner].tocsc(), -K[inner][:, outer] @ u[outer])
        x = b.basis.global_coordinates()
        off = b.basis.interpolate(found) - exact(x)
        errors.append(np.sqrt(np.sum(off**2 * x[0] * b.basis.dx)))
    assert 2.8 < np.log2(errors[0] / errors[1]) < 3.4


def test_rigid_motions_cost_nothing_without_supports_and_the_stated_force_with_them():
    tan_d = 0.2
    p = a_profile([(30e-3, 20e-3), (70e-3, 10e-3)], foot=6e-3, ribs={"r": [40e-3, 60e-3], "height": 5e-3, "share": 0.2})
    b = body(p, mesh(p, tan_d, 5e-3), tan_d)
    shift, across, tilt = b.rigid
    for k, motion in ((0, shift), (1, across), (1, tilt)):
        K = stiffness(b, k)
        assert np.abs(K @ motion).max() < 1e-12 * np.abs(K).max() * np.abs(motion).max()
    lateral = np.pi * across @ (springs(b, p.supports[0]) @ across)
    assert lateral == pytest.approx(1e9, rel=1e-12)


@BilinearForm
def _solid(u, v, w):
    G, lame = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
    e = sym_grad(u)
    return ddot(lame * eye(trace(e), 3) + 2.0 * G * e, sym_grad(v))


@pytest.mark.slow
def test_a_cone_is_that_of_a_mesh_in_three_dimensions():
    """A cone held at its bore, pressed along the shaft by g(r) (1 + cos theta): the work of the load."""
    tan_d, root, rim = 0.2, 30e-3, 70e-3
    p = a_profile([(root, 20e-3), (rim, 10e-3)], foot=root * tan_d)
    plane = mesh(p, tan_d, 5e-3)
    b = body(p, plane, tan_d)

    def g(r):
        return 1e6 * np.cos(np.pi * (r - 60e-3) / 20e-3) ** 2 * (abs(r - 60e-3) < 10e-3)

    @LinearForm
    def ring(v, w):
        return g(w.x[0]) * v[2] * w.x[0]

    flank = plane.quads.facets_satisfying(lambda x: (abs(x[1] - tan_d * x[0]) < 1e-9) & (x[0] > root))
    row = ring.assemble(FacetBasis(plane.quads, b.basis.elem, facets=flank, intorder=6))[None]
    work = sum(((2 if k == 0 else 1) * np.pi) ** 2 * float(row[0] @ clamped(b, k, root, row)[0]) for k in (0, 1))

    turns = 24
    t = plane.quads.t[:, plane.quads.p[0, plane.quads.t].min(0) > root - 1e-9]  # the disc alone: the ring is held
    used, t = np.unique(t, return_inverse=True)
    r, z = plane.quads.p[:, used]
    theta = np.linspace(0.0, 2.0 * np.pi, turns, endpoint=False)[:, None]
    points = np.array([r * np.cos(theta), r * np.sin(theta), z + 0.0 * theta]).reshape(3, -1)
    near = [t.reshape(4, -1) + len(r) * i for i in range(turns)]
    corners = [
        np.stack([n[0], n[1], n[3], f[0], n[2], f[1], f[3], f[2]])
        for n, f in zip(near, near[1:] + near[:1], strict=True)
    ]
    solid = MeshHex2.from_mesh(MeshHex(points, np.hstack(corners)))
    angle = np.arctan2(solid.doflocs[1], solid.doflocs[0])
    chord = np.cos((angle + np.pi / turns) % (2.0 * np.pi / turns) - np.pi / turns)  # 1 at corners
    off = np.where(np.abs(chord - np.cos(np.pi / turns)) < 1e-6, np.cos(np.pi / turns), 1.0)
    solid = MeshHex2(solid.doflocs / np.array([off, off, np.ones_like(off)]), solid.t)
    space = ElementVector(ElementHex2())
    basis = Basis(solid, space, intorder=4)

    @LinearForm
    def pressed(v, w):
        radius = np.hypot(w.x[0], w.x[1])
        return g(radius) * (1.0 + w.x[0] / radius) * v[2]

    def on_flank(x):
        return abs(x[2] - tan_d * np.hypot(x[0], x[1])) < 2e-4

    load = pressed.assemble(FacetBasis(solid, space, facets=solid.facets_satisfying(on_flank), intorder=6))
    held = np.flatnonzero(np.hypot(*basis.doflocs[:2]) < root + 1e-6)
    u = solve(*condense(_solid.assemble(basis), load, D=held))
    assert work / float(load @ u) == pytest.approx(1.0, rel=2e-3)
