"""Belt velocity: the thesis's equations in their original form, the six settings against each other, limits, signs."""

import csv
from pathlib import Path

import numpy as np
import pytest
from rows import tables
from scipy.integrate import quad

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import FORCE, RATE, SPEED, TORQUE, Boundary, belt, load_parameters
from rtcvt.offline.pushbelt.unit.velocity_model import belt_velocity, speed_of, unloaded_velocity

PARAMETERS = load_parameters("pushbelt_24mm")
BELT = belt(PARAMETERS)
ROWS = tables("cases/velocity_model.toml")["rows"]  # ratio, omega_I, F_CO, M_O


def geometry(ratio):
    return closure(BELT.l_R, BELT.d_A, ratio)


def solve(ratio, omega_I, F_CO, M_O, belt=BELT):
    result = belt_velocity(belt, Boundary(RATE, 0.0, FORCE, F_CO, omega_I, TORQUE, M_O), geometry(ratio))
    assert result.converged
    return result


@pytest.mark.parametrize("row", [r for r in ROWS if r[3] > 0.0])
def test_equations_in_their_first_form(row):
    r, g = solve(*row), geometry(row[0])
    EA, m, mu, v0 = BELT.EA, BELT.m_star, BELT.mu / BELT.sin_d, r.v0
    K = m * v0**2 * EA / (EA - m * v0**2)  # (4.3)
    assert pytest.approx(K) == r.K
    L_Oin = EA * g.r_O * r.omega_O / v0 - EA  # (4.12)
    assert r.L_lower == pytest.approx(L_Oin, rel=1e-8)
    Phi_O = np.log(r.M_O / (g.r_O * (L_Oin - K)) + 1.0) / mu  # (4.7)
    assert pytest.approx(Phi_O, rel=1e-8) == r.Phi
    # (4.5)
    assert g.r_I * r.omega_I == pytest.approx(v0 * (1 + ((L_Oin - K) * np.exp(mu * Phi_O) + K) / EA), rel=1e-13)
    # (4.6)
    bracket = 2 * L_Oin * g.phi + (L_Oin - K) * ((np.exp(mu * Phi_O) - 1) / mu - Phi_O)
    F_CO = (EA - m * v0**2) / (2 * BELT.tan_d * EA) * bracket - m * v0**2 * g.phi / BELT.tan_d
    assert pytest.approx(row[2], rel=1e-9) == F_CO
    # (4.13)
    assert g.r_I * r.omega_I == pytest.approx(v0 * r.M_O / (EA * g.r_O) + g.r_O * r.omega_O, rel=1e-13)
    assert pytest.approx(row[3], rel=1e-9) == r.M_O
    # (4.42): the belt sticks where it enters
    assert speed_of(r.L_upper, v0, EA) == pytest.approx(g.r_I * r.omega_I, rel=1e-14)
    assert speed_of(r.L_lower, v0, EA) == pytest.approx(g.r_O * r.omega_O, rel=1e-14)


REFERENCE = Path(__file__).parents[2] / "data/pushbelt/velocity_model_reference.csv"  # see README.md in its folder


@pytest.mark.parametrize("row", list(csv.DictReader(REFERENCE.open(encoding="utf-8"))))
def test_reference_case_of_the_institute(row):
    """A case printed by others, and 15 more of the same formulas; what is left is the file's ten digits."""
    v = {key: float(value) for key, value in row.items() if key not in ("row", "within")}
    l_R = 2 * np.pi * 55.8944561e-3 + 2 * 0.155  # of their radii at i = 1; m_star of their K
    theirs = BELT._replace(l_R=l_R, d_A=0.155, EA=185e9 * 9 * 0.185e-3 * 2 * 9.75e-3, m_star=1.46394665, mu=v["mu"])
    g = closure(theirs.l_R, theirs.d_A, v["i"])
    r = belt_velocity(theirs, Boundary(RATE, 0.0, FORCE, v["F_CO"], v["omega_I"], TORQUE, v["M_O"]), g)
    assert r.converged
    ours = {"r_I_mm": 1e3 * g.r_I, "r_O_mm": 1e3 * g.r_O, "wrap_I": np.degrees(g.wrap_I), "v0": r.v0, "F_CI": r.F_CI}
    ours |= {"omega_O": r.omega_O, "L_O_in": r.L_lower, "L_I_in": r.L_upper, "K": r.K, "Phi_deg": np.degrees(r.Phi)}
    assert ours == {key: pytest.approx(v[key], rel=2e-8) for key in ours}


@pytest.mark.parametrize("row", ROWS)
def test_sheave_forces_are_the_integrals_over_the_arcs(row):
    """(4.26), (4.27) with the sign in which the force presses the belt, by quadrature; driving and braking loads."""
    r, g = solve(*row), geometry(row[0])
    EA, m, mu = BELT.EA, BELT.m_star, BELT.mu / BELT.sin_d
    assert np.sign(r.L_upper - r.L_lower) == np.sign(row[3])

    for force, L_in, L_out, half in (
        (r.F_CI, r.L_upper, r.L_lower, np.pi - g.phi),
        (r.F_CO, r.L_lower, r.L_upper, g.phi),
    ):
        grow = np.sign(L_out - L_in) * mu

        def L(theta, L_in=L_in, grow=grow, half=half):
            active = max(0.0, theta - (half - r.Phi))
            return (L_in - r.K) * np.exp(grow * active) + r.K

        assert L(half) == pytest.approx(L_out, rel=1e-8)
        integral, _ = quad(lambda t: L(t) * (EA - m * r.v0**2) - m * r.v0**2 * EA, -half, half, points=[half - r.Phi])
        assert force == pytest.approx(integral / (2 * BELT.tan_d * EA), rel=1e-8)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("offset", [0.0, BELT.h_off])
def test_the_six_settings_agree(row, offset):
    ratio, omega_I, F_CO, M_O = row
    g = closure(BELT.l_R, BELT.d_A, ratio, offset)
    a = belt_velocity(BELT, Boundary(RATE, 0.0, FORCE, F_CO, omega_I, TORQUE, M_O), g, offset)
    assert a.converged
    assert not a.slips
    for axial in ((RATE, 0.0, FORCE, a.F_CO), (FORCE, a.F_CI, RATE, 0.0), (FORCE, a.F_CI, FORCE, a.F_CO)):
        for load in ((TORQUE, M_O), (SPEED, a.omega_O)):
            b = belt_velocity(BELT, Boundary(*axial, omega_I, *load), g, offset)
            assert b.converged
            assert b.v0 == pytest.approx(a.v0, rel=1e-11)
            assert b.omega_O == pytest.approx(a.omega_O, rel=1e-11)
            assert pytest.approx(M_O, rel=1e-7) == b.M_O
            assert b[4:6] == pytest.approx(a[4:6], rel=1e-7)
            assert b.geometry == pytest.approx(g, rel=1e-7, abs=1e-15)


def test_clamping_forces_find_the_ratio_from_afar():
    for ratio in (0.55, 1.3, 2.2):
        a = solve(ratio, 209.44, 20000.0, 5.0)
        b = belt_velocity(BELT, Boundary(FORCE, a.F_CI, FORCE, a.F_CO, 209.44, TORQUE, 5.0), geometry(1.0))
        assert b.converged
        assert b.geometry == pytest.approx(geometry(ratio), rel=1e-6, abs=1e-15)
        assert b.v0 == pytest.approx(a.v0, rel=1e-7)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.25])
def test_limit_of_no_load(ratio):
    g, omega = geometry(ratio), 209.44
    closed = solve(ratio, omega, 10520.0, 0.0)
    # (4.21)
    a, b = g.r_I * omega * g.phi, 10520.0 * BELT.tan_d + BELT.EA * g.phi
    assert a * BELT.m_star * closed.v0**2 + b * closed.v0 == pytest.approx(BELT.EA * a, rel=1e-13)
    assert closed.Phi == 0.0
    assert closed.L_upper == closed.L_lower
    assert closed.omega_O == pytest.approx(omega * g.r_I / g.r_O, rel=1e-15)
    # without load the forces are as the wrapped arcs
    assert pytest.approx((np.pi - g.phi) / g.phi, rel=1e-9) == closed.F_CI / closed.F_CO
    # (4.33) from the other side
    u = unloaded_velocity(BELT, closed.F_CI, np.pi - g.phi, g.r_O * closed.omega_O)
    assert u * g.r_O * closed.omega_O == pytest.approx(closed.v0, rel=1e-12)
    for M_O in (1e-6, -1e-6):
        near = solve(ratio, omega, 10520.0, M_O)
        assert near.v0 == pytest.approx(closed.v0, rel=1e-10)
        assert pytest.approx(closed.F_CI, rel=1e-7) == near.F_CI


def test_the_belt_slips_at_the_known_torque():
    """With the whole arc active the forces reduce to M = 2 mu r F/(cos(delta_0) (1 - m* v_0^2/EA))."""
    g, F = geometry(0.5), 6128.0
    k = BELT.m_star * (g.r_I * 100.0) ** 2 / BELT.EA
    limit = 2 * BELT.mu * g.r_O * F / (BELT.cos_d * (1 - k))
    r = solve(0.5, 100.0, F, (1 - 1e-5) * limit)
    assert r.Phi == pytest.approx(g.wrap_O, rel=1e-3)
    # Eytelwein's law over the whole arc
    assert (r.L_upper - r.K) / (r.L_lower - r.K) == pytest.approx(np.exp(BELT.mu / BELT.sin_d * g.wrap_O), rel=2e-3)
    over = belt_velocity(BELT, Boundary(RATE, 0.0, FORCE, F, 100.0, TORQUE, (1 + 1e-4) * limit), g)
    assert not over.converged
    assert over.slips
    # section 4.1.4: the starting value (4.22) serves
    assert over.v0 == unloaded_velocity(BELT, F, g.phi, g.r_I * 100.0) * g.r_I * 100.0
    assert pytest.approx(limit, rel=2e-4) == over.M_O
    assert over[4:6] == pytest.approx((F * (np.pi - g.phi) / g.phi, F))


def test_the_primary_slips_first_where_it_has_the_shorter_arc():
    g = geometry(2.25)
    loads = np.linspace(0.5, 0.99, 20) * 2 * BELT.mu * g.r_O * 33420.0 / BELT.cos_d
    for M_O in loads:
        r = solve(2.25, 209.44, 33420.0, M_O)
        assert r.slips == (r.Phi > g.wrap_I)
    assert r.slips


def test_no_solution_for_forces_that_no_ratio_balances():
    r = belt_velocity(BELT, Boundary(FORCE, 1e5, FORCE, 10.0, 100.0, TORQUE, 50.0), geometry(1.0))
    assert not r.converged
    assert r.geometry == geometry(1.0)


@pytest.mark.parametrize("axial", [(RATE, 0.0, FORCE, 6128.0), (FORCE, 8000.0, RATE, 0.0)])
@pytest.mark.parametrize("factor", [0.9, 0.97, 1.03])
def test_speeds_that_are_no_ratio_of_this_belt_fall_back_on_an_unloaded_one(axial, factor):
    """3 % apart would be a strain of 3 %: the belt slips, and what it carries is not the model's to say."""
    g = geometry(0.5)
    r = belt_velocity(BELT, Boundary(*axial, 100.0, SPEED, factor * 100.0 * g.r_I / g.r_O), g)
    assert not r.converged
    assert r.omega_O == factor * 100.0 * g.r_I / g.r_O
    assert (r.M_O, r.L_upper) == (0.0, r.L_lower)
    assert 500.0 < r.L_upper < 2000.0


def test_standstill():
    r = belt_velocity(BELT, Boundary(RATE, 0.0, FORCE, 6128.0, 0.0, TORQUE, 20.0), geometry(0.5))
    slow = solve(0.5, 1e-3, 6128.0, 20.0)
    assert r.converged
    assert (r.v0, r.omega_O) == (0.0, 0.0)
    assert r.L_upper == pytest.approx(slow.L_upper, rel=1e-6)


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        (Boundary(RATE, 0.0, FORCE, 0.0, 100.0, TORQUE, 0.0), r"F_CO = 0.0: a clamping force above 0 N"),
        (Boundary(FORCE, -1.0, RATE, 0.0, 100.0, TORQUE, 0.0), r"F_CI = -1.0: a clamping force"),
        (Boundary(RATE, 0.0, RATE, 0.0, 100.0, TORQUE, 0.0), r"F_CO: an end stop on one pulley needs"),
        (Boundary(RATE, 0.0, FORCE, 1e3, -1.0, TORQUE, 0.0), r"omega_I = -1.0: not negative"),
        (Boundary(RATE, 0.0, FORCE, 1e3, 0.0, SPEED, 10.0), r"omega_I = 0.0: .*above 0 with a secondary speed"),
    ],
)
def test_refused_inputs(boundary, message):
    with pytest.raises(InputError, match=message):
        belt_velocity(BELT, boundary, geometry(1.0))
