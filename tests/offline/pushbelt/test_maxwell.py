from typing import Any

import numpy as np
import pytest
from influence import influence_matrix

from rtcvt.offline.nonsmooth import lcp
from rtcvt.offline.nonsmooth.lemke import lemke
from rtcvt.offline.pushbelt.contact import flank, maxwell
from rtcvt.offline.pushbelt.unit.parameters import belt, influence_numbers, load_parameters, sheaves

pytestmark = pytest.mark.interpreted

UNIT = load_parameters("pushbelt_24mm")
BELT = belt(UNIT)
SHEAVES = sheaves(UNIT)
RIGID_HUB = SHEAVES._replace(c_t=1e30)


def contacts(phi: Any, pen: Any, r: Any = 0.055) -> flank.Flanks:
    """Flanks at angles and penetrations (n,), or of rear and front points (n, 2)."""
    phi, pen = (np.asarray(a, float).reshape(len(phi), -1) for a in (phi, pen))
    fl = flank.flanks(*phi.shape)
    fl.pulley[:] = 0
    flank.find_stretches(fl)
    fl.pen[:] = pen
    fl.r[:] = r
    fl.phi[..., 0], fl.phi[..., 1] = np.cos(phi), np.sin(phi)
    return fl


def solved(phi: Any, pen: Any, sh: Any = SHEAVES, r: Any = 0.055) -> Any:
    """Forces in the shape of `phi`, flanks, memory of the law."""
    fl = contacts(phi, pen, r)
    mx = maxwell.maxwell(len(sh.A) - 1, fl.w.size)
    assert maxwell.newton(maxwell.Coupled(sh), BELT, fl, mx, 30) == 0
    return (BELT.c_el / fl.w.shape[1] * np.maximum(0.0, fl.pen - fl.w)).reshape(np.shape(phi)), fl, mx


def test_influence_numbers_are_reciprocal_and_with_the_elements_positive_definite():
    rng = np.random.default_rng(1)
    phi = rng.uniform(0, 2 * np.pi, 60)
    a = 3.4e-9 * np.array(SHEAVES.A)
    C = influence_matrix(phi, a)
    assert np.array_equal(C, C.T)
    assert C[3, 5] == pytest.approx(np.sum(a * np.cos(np.arange(5) * (phi[3] - phi[5]))))
    eigenvalues = np.linalg.eigvalsh(C)
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()
    assert np.sum(eigenvalues > 1e-10 * eigenvalues.max()) == 9  # 2 n_k + 1
    assert np.linalg.eigvalsh(C + np.eye(60) / BELT.c_el).min() > 0.999 / BELT.c_el


@pytest.mark.parametrize("seed", range(12))
def test_fourier_newton_equals_lemke_and_prox_newton(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 90))
    phi = np.sort(rng.uniform(-1.9, 1.9, n))
    pen = rng.uniform(-2e-5, 6e-5, n) * rng.choice([0.3, 1.0, 3.0])
    force, fl, mx = solved(phi, pen)
    C = influence_matrix(phi, mx.a[0]) + np.eye(n) / BELT.c_el
    exact = lemke(C, -pen).z
    scale = max(1.0, exact.max())
    np.testing.assert_allclose(force, exact, atol=1e-9 * scale)
    np.testing.assert_allclose(force, lcp.newton(C, -pen).z, atol=1e-9 * scale)
    np.testing.assert_allclose(fl.w[:, 0], influence_matrix(phi, mx.a[0]) @ exact, atol=1e-16)


def test_random_problems_need_few_newton_steps():
    rng = np.random.default_rng(3)
    steps = []
    for _ in range(200):
        n = int(rng.integers(2, 120))
        fl = contacts(rng.uniform(0, 2 * np.pi, n), rng.normal(0, 5e-5, n))
        mx = maxwell.maxwell(4, n)
        sh = SHEAVES._replace(multiplier=float(10 ** rng.uniform(-2, 2)))
        count = 0
        while maxwell.newton(maxwell.Coupled(sh), BELT, fl, mx, 1) or not count:
            count += 1
            assert count < 20
            mx.r[:] = 0.055
        steps.append(count)
    assert max(steps) <= 12


def test_one_warm_started_step_follows_a_moving_belt():
    spacing = 0.054
    r = 0.055
    mx = maxwell.maxwell(4, 60)
    fl = contacts(np.zeros(60), np.zeros(60))
    worst = 0.0
    for step in range(400):
        phi = -1.6 + (np.arange(60) + 0.02 * step) * spacing
        pen = 4e-5 * (1.0 + 0.3 * np.sin(phi)) - 2e-4 * np.maximum(0.0, np.abs(phi) - 1.5)
        fl.pen[:, 0] = pen
        fl.r[:] = r
        fl.phi[:, 0, 0], fl.phi[:, 0, 1] = np.cos(phi), np.sin(phi)
        maxwell.newton(maxwell.Coupled(SHEAVES), BELT, fl, mx, 30 if step == 0 else 1)
        if step % 40 == 0:
            force = BELT.c_el * np.maximum(0.0, pen - fl.w[:, 0])
            C = influence_matrix(phi, mx.a[0]) + np.eye(60) / BELT.c_el
            worst = max(worst, np.abs(force - lemke(C, -pen).z).max() / force.max())
    assert worst < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_rear_and_front_points_are_coupled_through_the_sheave_as_lemke_has_it(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 45))
    phi = np.sort(rng.uniform(-1.9, 1.9, n))[:, None] + np.array([-0.014, 0.014])
    pen = rng.uniform(-2e-5, 6e-5, (n, 2))
    force, _, mx = solved(phi, pen)
    C = influence_matrix(phi.ravel(), mx.a[0]) + 2.0 * np.eye(2 * n) / BELT.c_el
    exact = lemke(C, -pen.ravel()).z
    np.testing.assert_allclose(force.ravel(), exact, atol=1e-9 * max(1.0, exact.max()))


def test_axisymmetric_load_deflects_the_mean_harmonic_only():
    n, p = 64, 5e-5
    force, _, mx = solved(2 * np.pi * np.arange(n) / n, np.full(n, p))
    a_0 = influence_numbers(SHEAVES, 0.055)[0]
    np.testing.assert_allclose(force, p / (1 / BELT.c_el + n * a_0), rtol=1e-12)
    np.testing.assert_allclose(mx.z[0, 1:], 0.0, atol=1e-12 * mx.z[0, 0])


def test_coupled_law_becomes_the_decoupled_one_with_vanishing_compliance():
    phi = np.linspace(-1.5, 1.5, 40)
    pen = 2e-5 * np.cos(3 * phi)
    decoupled = BELT.c_el * np.maximum(0.0, pen)
    difference = [
        np.abs(solved(phi, pen, SHEAVES._replace(multiplier=m))[0] - decoupled).max() for m in (1e-3, 1e-4, 0.0)
    ]
    assert difference[0] / difference[1] == pytest.approx(10.0, rel=0.15)
    assert difference[2] == 0.0


def test_law_is_the_derivative_of_its_stored_energy():
    rng = np.random.default_rng(5)
    phi = np.linspace(-1.5, 1.5, 30)
    pen = rng.uniform(-1e-5, 8e-5, 30)
    mx_r = solved(phi, pen)[2].r[0]

    def stored(p):
        force, fl, mx = solved(phi, p, r=mx_r)
        # maxwell.energy counts the two mirrored sheaves, as does the flank's
        return 0.5 * (maxwell.energy(maxwell.Coupled(SHEAVES), mx) + flank.energy(BELT, fl)), force

    force = stored(pen)[1]
    for i in (2, 11, 20):
        d = np.zeros(30)
        d[i] = 1e-9
        assert (stored(pen + d)[0] - stored(pen - d)[0]) / 2e-9 == pytest.approx(force[i], rel=1e-6, abs=1e-3)
    mx = solved(phi, pen, r=mx_r)[2]
    C = influence_matrix(phi, mx.a[0])
    assert maxwell.energy(maxwell.Coupled(SHEAVES), mx) == pytest.approx(force @ C @ force, rel=1e-10)


def test_forces_turn_with_the_belt_and_pulleys_are_independent():
    rng = np.random.default_rng(6)
    phi, pen = np.linspace(-1.4, 1.4, 50), rng.uniform(-2e-5, 6e-5, 50)
    force = solved(phi, pen)[0]
    np.testing.assert_allclose(solved(phi + 2.345, pen)[0], force, atol=1e-8)
    fl = contacts(np.tile(phi, 2), np.concatenate([pen, 2 * pen]))
    fl.pulley[50:] = 1
    flank.find_stretches(fl)
    mx = maxwell.maxwell(4, 100)
    assert maxwell.newton(maxwell.Coupled(SHEAVES), BELT, fl, mx, 30) == 0
    both = BELT.c_el * np.maximum(0.0, fl.pen[:, 0] - fl.w[:, 0])
    np.testing.assert_allclose(both[:50], force, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(both[50:], solved(phi, 2 * pen)[0], rtol=1e-9, atol=1e-8)


def test_uniform_load_opens_the_groove_as_its_numbers_say():
    # influence data of the unit file, hub tilt included: 20 kN uniform at i = 1 (radius of the neutral fibre) opens by
    # 18 to 43 um, amplitude over radius 4.6e-4 rad; Carbone et al. 2007 have Delta / 2 = 5e-4 rad
    n, r = 108, 0.05585
    arc = np.linspace(-np.pi / 2, np.pi / 2, n)
    round_ = np.linspace(-np.pi, np.pi, 361)
    a = influence_numbers(SHEAVES, r)
    w = influence_matrix(np.concatenate([arc, round_]), a)[:, :n] @ np.full(n, 20e3 / n)
    assert w[:n].min() == pytest.approx(18e-6, abs=1e-6)
    assert w[:n].max() == pytest.approx(43e-6, abs=1e-6)
    assert 2 * np.mean(w[n:-1] * np.cos(round_[:-1])) / r == pytest.approx(4.6e-4, rel=0.1)
    # the contact law returns this deflection when the rigid penetration contains it
    force, fl, _ = solved(arc, w[:n] + 20e3 / n / BELT.c_el, RIGID_HUB, r=r)
    np.testing.assert_allclose(force, 20e3 / n, rtol=1e-9)
    np.testing.assert_allclose(fl.w[:, 0], w[:n], rtol=1e-9)


def test_the_tilt_of_the_body_is_not_counted_twice():
    a = np.zeros(5)
    maxwell.compliances(0.06, SHEAVES, 1.0, 1.0, BELT.cos_d, a)
    c_rad = influence_numbers(SHEAVES, 0.06).sum()
    np.testing.assert_allclose(np.delete(a, 1), c_rad * np.delete(SHEAVES.A, 1))
    # a unit axial force at one azimuth tilts the body by r / (c_t cos^2), which opens r / cos^2 per radian
    assert a[1] + 0.06**2 / (SHEAVES.c_t * BELT.cos_d**4) == pytest.approx(c_rad * SHEAVES.A[1])


def test_nan_penetration_is_no_contact():
    fl = contacts([0.0, 0.1, 0.2], [1e-5, np.nan, 2e-5])
    mx = maxwell.maxwell(4, 3)
    maxwell.newton(maxwell.Coupled(SHEAVES), BELT, fl, mx, 5)
    assert np.isfinite(mx.z).all()
