"""The spatial rod against its own energy, the planar one, and theories of rings, twist and large bending in space."""

import numpy as np
import pytest
from differences import derivative, order
from refusals import refused
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation

from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import spatial as sp
from rtcvt.offline.rods.statics import frequencies

pytestmark = pytest.mark.interpreted

SOFT = dict(strain=(5e3, 2e3, 1.5e3), bend=(0.7, 1.4, 1.0), rhoA=0.3, rhoI=(5e-4, 3e-4, 2e-4))


def ring(N: int, **change: object) -> tuple[sp.SpatialRod, np.ndarray]:
    """Stress-free circle of radius one."""
    rod = sp.spatial_rod(N, 2 * np.pi, closed=True, kappa_0=(0.0, 0.0, 1.0), **(SOFT | change))
    flat = pl.planar_rod(N, 2 * np.pi, closed=True, EA=1.0, GA=1.0, EI=1.0, rhoA=1.0)
    return rod, sp.embedded(pl.circle(flat))


def straight(rod: sp.SpatialRod) -> np.ndarray:
    q = np.zeros(sp.size(rod))
    q[0::6] = rod.ds * np.arange(rod.N + 1)
    return q


def force(rod: sp.SpatialRod, q: np.ndarray, u: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    F = np.zeros(q.size)
    return F, sp.forces(rod, q, np.zeros(q.size) if u is None else u, F)


@pytest.mark.parametrize("rod", [ring(8)[0], sp.spatial_rod(5, 1.0, kappa_0=(0.3, 0.2, -1.0), **SOFT),
    sp.spatial_rod(5, 1.0, held=((0.1, -0.2, 0.3), (0.3, 0.2, 0.5)), **SOFT)])  # fmt: skip
def test_forces_and_stiffness_are_derivatives_of_the_energy(rod: sp.SpatialRod) -> None:
    rng = np.random.default_rng(1)
    q = (ring(rod.N)[1] if rod.closed else straight(rod)) + 0.1 * rng.standard_normal(sp.size(rod))
    F, _ = force(rod, q)
    K = sp.stiffness(rod, q).toarray()
    slope = derivative(lambda q: sum(sp.energies(rod, q, np.zeros(q.size))), q, 1e-6)
    assert pytest.approx(-slope, abs=1e-7 * np.abs(F).max()) == F
    np.testing.assert_allclose(K, -derivative(lambda q: force(rod, q)[0], q, 1e-6).T, atol=1e-6 * K.max())


def test_in_the_plane_it_is_the_planar_rod() -> None:
    rng = np.random.default_rng(2)
    for closed in (True, False):
        flat = pl.planar_rod(9, 1.0, closed=closed, EA=5e3, GA=2e3, EI=1.0, rhoA=0.3, rhoI=2e-4, damping=(0.3, 0.2))
        rod = sp.spatial_rod(9, 1.0, closed=closed, damping=(0.3, 0.2, 0.1), **SOFT)
        q = (pl.circle(flat) if closed else pl.line(flat)) + 0.05 * rng.standard_normal(pl.size(flat))
        u = rng.standard_normal(q.size)
        F, wide = np.zeros(q.size), np.zeros(sp.size(rod))
        wide[0::6], wide[1::6], wide[5::6] = u[0::3], u[1::3], u[2::3]
        power = pl.forces(flat, q, u, F)
        G, wide_power = force(rod, sp.embedded(q), wide)
        assert wide_power == pytest.approx(power, rel=1e-12)
        for k, m in ((0, 0), (1, 1), (5, 2)):
            np.testing.assert_allclose(G[k::6], F[m::3], rtol=1e-9, atol=1e-9 * np.abs(F).max())
        np.testing.assert_allclose(sp.mass(rod)[5::6], pl.mass(flat)[2::3])
        np.testing.assert_allclose(sp.mass(rod)[0::6], pl.mass(flat)[0::3])


def test_damping_takes_power_but_none_from_a_turn() -> None:
    rod, q = ring(8)
    rng = np.random.default_rng(3)
    q = q + 0.1 * rng.standard_normal(q.size)
    damped = rod._replace(c=(2.0, 0.7, 0.4))
    u = rng.standard_normal(q.size)
    _, power = force(damped, q, u)
    assert power > 0.0
    omega, spin = np.array([3.0, -2.0, 5.0]), np.zeros(q.size)
    for n in range(rod.N):
        i = 6 * n
        spin[i : i + 3] = np.cross(omega, q[i : i + 3])
        spin[i + 3 : i + 6] = Rotation.from_euler("XYZ", q[i + 3 : i + 6]).inv().apply(omega)
    assert force(damped, q, spin)[1] < 1e-20 * power


def test_a_free_rod_keeps_its_momenta_and_loses_what_the_damping_takes() -> None:
    """Along a short step. It bends freely: moments of bending keep the angular momentum up to second order in ds."""
    rod = sp.spatial_rod(5, 1.0, damping=(0.3, 0.2, 0.1), **SOFT | {"bend": (1e-12, 1e-12, 1e-12)})
    rng, m = np.random.default_rng(4), sp.mass(rod)
    q = straight(rod) + 0.03 * rng.standard_normal(sp.size(rod))
    u = 20.0 * rng.standard_normal(q.size)

    def kept(t: np.ndarray) -> np.ndarray:
        """Energy, momentum and angular momentum at the time t."""
        x, v = q.copy(), u.copy()
        sp.march(rod, x, v, 1.0 / m, np.zeros(q.size), t[0], 1)
        (r, angles), (P, S) = (np.append(a, np.zeros(3)).reshape(-1, 2, 3).swapaxes(0, 1) for a in (x, m * v))
        L = np.cross(r, P) + Rotation.from_euler("XYZ", angles).apply(S)
        return np.array([sum(sp.energies(rod, x, v)), *P.sum(axis=0), *L.sum(axis=0)])

    rates = derivative(kept, np.zeros(1), 1e-7)[:, 0]
    assert rates[0] == pytest.approx(-force(rod, q, u)[1], rel=1e-4)
    np.testing.assert_allclose(rates[1:], 0.0, atol=1e-5)


def test_torsion_of_a_bar_is_exact() -> None:
    rod = sp.spatial_rod(10, 1.0, held=((0.0, 0.0, 0.0), None), **SOFT)
    load = np.zeros(sp.size(rod))
    load[-6] = 1.4  # about t at the last edge
    q = sp.equilibrium(rod, straight(rod), load, fixed=(0, 1, 2))
    np.testing.assert_allclose(q[3::6], 2.0 * (np.arange(10) + 0.5) / 10, atol=1e-9)
    np.testing.assert_allclose(q[-3:], [1.0, 0.0, 0.0], atol=1e-9)


def out_of_plane(rod: sp.SpatialRod, n: int) -> np.ndarray:
    """Three frequencies with n waves of the stress-free circle of radius 1, displaced along b and turned about t, n."""
    shear, twist, bend = np.array([-n, 0, 1]), np.array([0, -n, -1]), np.array([0, 1, n])
    K = rod.strain[2] * np.outer(shear, shear)
    K = K + rod.bend[0] * np.outer(twist, twist) + rod.bend[1] * np.outer(bend, bend)
    root = np.array([rod.rhoA, rod.rhoI[0], rod.rhoI[1]]) ** -0.5
    return np.sqrt(np.linalg.eigvalsh(root[:, None] * K * root))


def in_plane(rod: sp.SpatialRod, n: int) -> np.ndarray:
    along, shear, bend = np.array([n, -1, 0]), np.array([1, -n, -1]), np.array([0, 0, n])
    K = rod.strain[0] * np.outer(along, along)
    K = K + rod.strain[1] * np.outer(shear, shear) + rod.bend[2] * np.outer(bend, bend)
    root = np.array([rod.rhoA, rod.rhoA, rod.rhoI[2]]) ** -0.5
    return np.sqrt(np.linalg.eigvalsh(root[:, None] * K * root))


@pytest.mark.parametrize("n", [2, 3])
def test_ring_frequencies_in_and_out_of_the_plane(n: int) -> None:
    """All six branches, with order two, and six rigid motions."""
    change = dict(strain=(100.0, 40.0, 35.0), bend=(0.2, 0.5, 0.3), rhoA=1.0, rhoI=(8e-3, 5e-3, 3e-3))
    errors = []
    for N in (30, 60):
        rod, q = ring(N, **change)
        found = frequencies(sp.stiffness(rod, q), sp.mass_matrix(rod, q))
        assert np.sum(np.abs(found) < 1e-2) == 6
        exact = np.concatenate([in_plane(rod, n), out_of_plane(rod, n)])
        errors.append(max(np.sort(np.abs(found - w))[1] / w for w in exact))  # pairs
    assert errors[-1] < (2 * np.pi * n / 60) ** 2 / 10
    assert order(errors) == pytest.approx(2.0, abs=0.15)


@pytest.mark.slow
def test_curved_cantilever_of_bathe_and_bolourchi() -> None:
    """45 degrees of radius 100, 600 across the plane; published tips: Bathe and Bolourchi (1979) (-13.4, -23.5, 53.4),
    Wang et al. (2015) (-13.5, -23.7, 53.4), with nu = 0 and GI_0 = EI as there."""
    N, EI = 60, 8.333e5
    shear = 0.5e7 * 5.0 / 6.0
    rod = sp.spatial_rod(N, 25.0 * np.pi, strain=(1e7, shear, shear), bend=(EI, EI, EI), rhoA=1.0, rhoI=(1.0, 1.0, 1.0),
        kappa_0=(0.0, 0.0, -0.01), held=((0.0, 0.0, 0.5 * np.pi), None))  # fmt: skip
    q = np.zeros(sp.size(rod))
    q[5::6] = 0.5 * np.pi - 0.25 * np.pi * (np.arange(N) + 0.5) / N
    q[6::6], q[7::6] = np.cumsum(np.cos(q[5::6])) * rod.ds, np.cumsum(np.sin(q[5::6])) * rod.ds
    start = q[-3:].copy()
    np.testing.assert_allclose(start, [29.29, 70.71, 0.0], atol=0.01)
    for part in (0.2, 0.4, 0.6, 0.8, 1.0):
        load = np.zeros(q.size)
        load[-1] = 600.0 * part
        q = sp.equilibrium(rod, q, load, fixed=(0, 1, 2))
    np.testing.assert_allclose(q[-3:] - start, [-13.5, -23.6, 53.4], atol=0.15)


PRINCETON = dict(L=0.508, h=12.377e-3, t=3.2024e-3, E=71.7e9, nu=0.31)  # Bauchau et al. 2016


def princeton(N: int, P: float, theta: float) -> np.ndarray:
    """Tip of the Princeton beam (Dowell and Traybar 1975); load at angle theta to the stiff direction."""
    L, h, t, E = (PRINCETON[k] for k in ("L", "h", "t", "E"))
    G = E / 2.0 / (1.0 + PRINCETON["nu"])
    A, J = h * t, h * t**3 / 3.0 * (1.0 - 0.63 * t / h)
    stiff = E * t * h**3 / 12.0
    weak = E * h * t**3 / 12.0
    strain, bend = (E * A, 5 / 6 * G * A, 5 / 6 * G * A), (G * J, weak, stiff)
    F = P * np.array([0.0, np.cos(theta), np.sin(theta)])
    if N == 0:  # the continuous rod, (6.21) and (6.28), as a boundary value problem

        def rates(s: np.ndarray, y: np.ndarray) -> np.ndarray:
            out = np.empty_like(y)
            frame = Rotation.from_quat(y[3:7].T)
            force, moment = frame.inv().apply(F), frame.inv().apply(y[7:].T)
            slope = frame.apply(force / strain + [1.0, 0.0, 0.0])
            kappa = moment / bend
            x, v = y[6], y[3:6].T
            out[:3] = slope.T
            out[3:6] = 0.5 * (x[:, None] * kappa + np.cross(v, kappa)).T
            out[6] = -0.5 * np.sum(v * kappa, axis=1)
            out[7:] = -np.cross(slope, F).T
            return out

        def ends(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.concatenate([a[:3], a[3:6], [a[6] - 1.0], b[7:]])

        s = np.linspace(0.0, L, 41)
        y = np.zeros((10, s.size))
        y[0], y[6] = s, 1.0
        found = solve_bvp(rates, ends, s, y, tol=1e-8)
        assert found.success
        return found.y[:3, -1]
    rod = sp.spatial_rod(N, L, strain=strain, bend=bend, rhoA=1.0, rhoI=(1.0, 1.0, 1.0), held=((0.0, 0.0, 0.0), None))
    q = straight(rod)
    for part in np.linspace(0.125, 1.0, 8):
        load = np.zeros(q.size)
        load[-3:] = part * F
        q = sp.equilibrium(rod, q, load, fixed=(0, 1, 2))
    return q[-3:]


@pytest.mark.slow
@pytest.mark.parametrize("theta", [30.0, 60.0])
def test_princeton_beam(theta: float) -> None:
    """Largest load, 13.345 N: the solution of the continuous rod, with order two."""
    angle = np.radians(theta)
    exact = princeton(0, 13.345, angle)
    assert np.abs(exact[1:]).min() > 5e-3  # both directions bend
    errors = [float(np.abs(princeton(N, 13.345, angle) - exact).max()) for N in (8, 16, 32)]
    assert errors[-1] < 1e-3 * np.abs(exact[1:]).max()
    assert order(errors) == pytest.approx(2.0, abs=0.15)


def turned(q: np.ndarray, R: Rotation) -> np.ndarray:
    out = q.copy()
    for i in range(0, q.size, 6):
        out[i : i + 3] = R.apply(q[i : i + 3])
        if i + 3 < q.size:
            out[i + 3 : i + 6] = (R * Rotation.from_euler("XYZ", q[i + 3 : i + 6])).as_euler("XYZ")
    return out


@pytest.mark.slow
def test_free_flight_keeps_energy_and_linear_momentum() -> None:
    """A tumbling, twisted bar: Runge-Kutta, order four or better in the step."""
    rod = sp.spatial_rod(8, 1.0, **SOFT)
    q_0, u_0 = straight(rod), np.zeros(sp.size(rod))
    q_0[3::6] = 0.3 * (np.arange(8) + 0.5) / 8
    u_0[1::6] = 4.0 * (q_0[0::6] - 0.5)
    u_0[5::6] = 4.0
    u_0[2::6] = 2.0 + 3.0 * np.cos(np.pi * q_0[0::6])
    m, none = sp.mass(rod), np.zeros(q_0.size)
    before, drift = sum(sp.energies(rod, q_0, u_0)), []
    for dt in (2e-5, 1e-5):
        q, u = q_0.copy(), u_0.copy()
        sp.march(rod, q, u, 1.0 / m, none, dt, round(0.1 / dt))
        drift.append(abs(sum(sp.energies(rod, q, u)) / before - 1.0))
        for k in range(3):
            assert (m * u)[k::6].sum() == pytest.approx((m * u_0)[k::6].sum(), abs=1e-9)
    assert np.abs(q[4::6]).max() > 0.1  # it does turn out of the plane
    assert drift[-1] < 1e-6
    assert order(drift) > 3.5


def test_bad_rods_are_refused() -> None:
    for change, key in (({"strain": (1.0, 0.0, 1.0)}, "strain"), ({"rhoI": (1.0, -1.0, 1.0)}, "rhoI")):
        refused(key, sp.spatial_rod, 8, 1.0, **SOFT | change)
    refused("N", sp.spatial_rod, 2, 1.0, **SOFT)
    refused("held", sp.spatial_rod, 8, 1.0, closed=True, held=((0.0, 0.0, 0.0), None), **SOFT)
