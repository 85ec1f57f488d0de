"""Traction of rolling contacts: Hertz, small creep, spin, energy, a measured curve, the table, no slip."""

import math
from pathlib import Path

import numpy as np
import pytest
from refusals import refused
from rows import cases

from rtcvt.kind import load_unit
from rtcvt.offline.toroidal.calibration import Rig, calibrated
from rtcvt.offline.toroidal.ellipse import shear, traction
from rtcvt.offline.toroidal.variator import full_contacts, operating_point
from rtcvt.pog.spin import traction_contacts
from rtcvt.pog.system import build_model, matrices
from rtcvt.traction import hertz
from rtcvt.traction.contact import LAMBDA_DEVIATION, SANTOTRAC_50, Drawing, Fluid
from rtcvt.traction.law import P_0, M, contact_law, law_numbers
from rtcvt.traction.size import LAW_SIZE
from rtcvt.traction.table import from_table, read_table

CURVE = Path(__file__).parents[2] / "data/toroidal/santotrac50_traction_curve.csv"
DRAWING = Drawing(R_C=0.0343, r_0=0.0275, r_crown=0.014)


def test_a_circle_has_hertz_radius():
    a, b, p_0 = hertz.ellipse(20.0, 20.0, 1000.0)
    R = (0.75 * 1000.0 / (20.0 * hertz.E_STAR)) ** (1.0 / 3.0)
    np.testing.assert_allclose((a, b, p_0), (R, R, 1500.0 / (math.pi * R * R)), rtol=1e-12)


@pytest.mark.parametrize("curvatures", [(20.0, 20.001), (20.0, 55.0), (90.0, 4.0)])
def test_displacement_of_the_ellipse_is_the_gap(curvatures):
    """Boussinesq: w = 1/(pi E*) int p/rho dA; along a ray from an inner point p is p_0 sqrt of a parabola."""
    a, b, p_0 = hertz.ellipse(*curvatures, 3000.0)

    def displacement(x, y):
        phi = np.linspace(0.0, math.pi, 401)[:-1]  # a chord each way; periodic, so the rule converges fast
        c, s = np.cos(phi) / a, np.sin(phi) / b
        A, B, C = c * c + s * s, c * x / a + s * y / b, (x / a) ** 2 + (y / b) ** 2 - 1.0
        chord = p_0 * (B * B - A * C) / A**1.5 * math.pi / 2.0  # both directions
        return chord.mean() * math.pi / (math.pi * hertz.E_STAR)

    for x, y, kappa in ((0.4 * a, 0.0, curvatures[0]), (0.0, 0.7 * b, curvatures[1])):
        gap = 0.5 * kappa * (x * x + y * y)
        assert displacement(0.0, 0.0) - displacement(x, y) == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize("r", [0.015, 0.05])
def test_small_creep_without_a_film_is_kalkers(r):
    N, small = 3000.0, 1e-7
    a, b, _ = DRAWING.ellipse(r, N)
    c_11, c_22, c_23 = hertz.kalker(a / b)
    dry = Fluid(1.0, 0.0, 0.0)
    assert traction(DRAWING, dry, r, N, 1.0, small, 0.0).F[0] == pytest.approx(
        hertz.G_STEEL * a * b * c_11 * small, rel=2e-3
    )
    assert traction(DRAWING, dry, r, N, 1.0, 0.0, 0.0, small).F_y[0] == pytest.approx(
        hertz.G_STEEL * a * b * c_22 * small, rel=2e-3
    )
    side = traction(DRAWING, dry, r, N, 1.0, 0.0, 1e-4)
    assert abs(side.F_y[0]) == pytest.approx(hertz.G_STEEL * (a * b) ** 1.5 * c_23 * 1e-4, rel=5e-3)
    assert abs(side.F[0]) < 1e-12 * abs(side.F_y[0])


def test_pure_spin_has_no_force_and_the_moment_of_a_plastic_disc():
    found = shear(0.0, 0.0, np.array([3.0, 50.0, 1e4]), 1.0)
    assert np.abs(found.F_x).max() < 1e-14
    assert np.all(np.diff(np.abs(found.F_y)) < 0.0)  # the side force of elastic bodies, gone where all slides
    assert found.M[2] == pytest.approx(3.0 * math.pi / 16.0, rel=2e-3)
    assert shear(1e3, 0.0, 0.0, 0.5).F_x[0] == pytest.approx(1.0, rel=1e-3)


def test_symmetry_and_power():
    J = np.array([0.02, 0.7, 4.0])
    one = shear(J, 0.3, 2.0, 0.6)
    for signs in ((-1.0, -1.0, -1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, 1.0)):
        other = shear(signs[0] * J, signs[1] * 0.3, signs[2] * 2.0, 0.6)
        for name, sign in zip(("F_x", "F_y", "M"), signs, strict=True):
            np.testing.assert_allclose(getattr(other, name), sign * getattr(one, name), atol=1e-13)
    residual = []
    for cells in (64, 128, 256):
        found = shear(J, 0.3, 2.0, 0.6, cells=cells)
        put_in = J * found.F_x + 0.3 * found.F_y + 2.0 * found.M
        residual.append(np.abs(found.slip + found.elastic - put_in).max() / put_in.max())
        assert np.all(found.slip >= 0.0)
    assert residual[2] < 0.3 * residual[0] < 1e-2


def test_santotrac_50_between_what_it_was_calibrated_with():
    creep, coefficient = np.loadtxt(CURVE, delimiter=",", skiprows=3).T
    creep, rig = 0.01 * creep, Rig(radius=0.07, crown=0.01, p_0=1.36e9, u=20.9)
    kept = (creep < 0.0081) | (creep > 0.0189)
    fluid, deviation = calibrated(rig, creep[kept], coefficient[kept], SANTOTRAC_50)
    np.testing.assert_allclose(fluid[:3], SANTOTRAC_50[:3], rtol=5e-3)
    assert deviation[0] == pytest.approx(LAMBDA_DEVIATION, rel=0.02)
    misses = np.abs(rig.curve(fluid, creep) - coefficient) / coefficient.max()
    assert misses[~kept].max() < 0.05  # left out: 0.85 to 1.88 % of creep
    assert misses.max() < 0.14  # its sharp corner at 0.5 %, beyond the 10 % of the points


def test_table_has_what_the_ellipse_has():
    data, rng = np.array(read_table()), np.random.default_rng(0)
    J_1, J_3, k = 10.0 ** rng.uniform((-2, -2, -1), (1.5, 1.5, 0.3), (150, 3)).T
    arm = np.sqrt((1.0 + k * k) / 5.0)
    full = shear(J_1, 0.0, J_3 / arm, k, 96, 160)
    out, work = np.zeros(8), np.zeros(18)
    found = []
    for point in zip(J_1, J_3, np.log(k), strict=True):
        from_table(0, *point, 0, data, out, work)
        found.append((out[0], out[4]))
    misses = np.array(found) - np.stack([full.F_x, full.M / arm], axis=1)
    assert np.abs(misses).max() < 0.01
    assert np.sqrt(np.mean(misses**2)) < 2e-3


@cases
def test_law_has_its_derivatives_and_the_full_models_forces(point):
    data, out = np.array(law_numbers(DRAWING, SANTOTRAC_50, 0.0128, 0.0558)), np.zeros(LAW_SIZE)

    def law(q):
        contact_law(1, *q, SANTOTRAC_50.Lambda, 0, data, out)
        return out[:P_0].copy()

    q, exact = np.array(point), law(point)
    for i in range(5):
        h = 1e-5 * np.array([0.01, 10.0, 1.0, 0.03, 1000.0])[i] * np.eye(5)[i]
        slope = (law(q + h) - law(q - h)) / (2.0 * h[i])
        np.testing.assert_allclose(exact[[1 + i, M + 1 + i, 13 + i]], slope[[0, M, 12]], rtol=1e-5, atol=1e-6)
    if point[2]:
        v, sigma, u, r, N = point
        full = traction(DRAWING, SANTOTRAC_50, r, N, abs(u), v / abs(u), sigma)
        assert exact[0] == pytest.approx(full.F[0], abs=0.02 * full.Lambda[0] * N)
        assert exact[M] == pytest.approx(full.M[0], abs=0.02 * full.Lambda[0] * N * full.b[0])


def test_without_slip_the_speeds_are_those_of_the_rigid_model(monkeypatch):
    monkeypatch.setattr(hertz, "G_STEEL", 1e18)
    unit = load_unit("toroidal_kers")
    stiff = unit.traction.fluid.model_copy(update={"limit": 1e12, "compliance": 1e-22, "softening": 0.0})
    unit = unit.model_copy(
        update={"traction": unit.traction.model_copy(update={"fluid": stiff, "churning": 0.0, "bearing_friction": 0.0})}
    )
    theta = 0.37
    m = matrices(build_model(unit, "rigid").instantiate(), theta)
    for spin in traction_contacts(unit):
        row = list(unit.contacts).index(spin.contact)
        r, r_c, S, S_c = spin.at(unit, theta)
        np.testing.assert_allclose(
            (r, r_c), m.R[row][[list(unit.gears).index(g) for g in (spin.disc, spin.roller)]], rtol=1e-14
        )
        np.testing.assert_allclose((S, S_c), (math.cos(theta), 0.0), atol=1e-14)
    law = full_contacts(unit)
    # a contact that cannot yield would not spin either
    found = operating_point(unit, theta, 2e4, 35.0, 20.0, lambda *a: law(*a[:-1], 0.0 * a[-1]))
    assert found.speed_out == pytest.approx(35.0 * float(m.Q1[0, 0] / m.Q1[1, 0]), rel=1e-9)
    assert np.abs(found.creep).max() < 1e-9


def test_an_operating_point_loses_what_its_parts_lose_and_ends_where_traction_does():
    unit = load_unit("toroidal_kers")
    found = operating_point(unit, 0.2, 2e4, 35.0, 30.0)
    lost = found.creep_loss + found.spin_loss + found.bearing_loss + found.churning_loss
    assert found.torque_in * 35.0 - found.torque_out * found.speed_out == pytest.approx(lost, rel=1e-9)
    assert 0.85 < found.efficiency < 0.97
    refused("less than traction carries", operating_point, unit, 0.2, 2e4, 35.0, 300.0)
