"""Bearings, seals and oil of the shafts: the published formulas in their own units, slope, signs, efficiency."""

import math

import numpy as np
import pytest
from instances import stepped
from variator_laws import CONSTANTS, SHAFTS, constant_laws, instance

from rtcvt.model import Books
from rtcvt.variator import shafts
from rtcvt.variator.layout import N_SHAFT_LOSSES, SHAFT_LOSSES, W_SHAFTS, W_STEP, Q, Y

NU, RHO, PULL, W_0 = 1e-5, 850.0, 5e3, 0.5
SLOPE = "slope"


def torques(omega, side=0, b=1e-3, one=None):
    """Torques by the rows of their powers, and their slope under `SLOPE`."""
    one = one or instance(**SHAFTS)
    w = np.zeros(W_STEP)
    w[Q.PULL] = PULL
    shafts.shaft_friction(side, omega, b, W_0, one.p, w)
    at = W_SHAFTS + side * N_SHAFT_LOSSES
    found = dict(zip(SHAFT_LOSSES, w[at : at + N_SHAFT_LOSSES].tolist(), strict=True))
    assert shafts.shaft_torque(side, w) == pytest.approx(sum(found.values()))
    return found | {SLOPE: float(w[(Q.DM_I, Q.DM_O)[side]])}


@pytest.mark.parametrize("rpm", [50.0, 150.0, 2000.0, 6000.0])
def test_bearings_are_palmgrens_in_millimetres_and_rpm(rpm):
    M = torques(rpm * math.pi / 30.0)[Y.BEARING]
    M_0 = 1e-7 * 2.0 * max(1e6 * NU * rpm, 2000.0) ** (2.0 / 3.0) * 60.0**3  # N.mm
    M_1 = 3e-4 * 0.5 * PULL * 60.0
    sigma = 1.0 / math.hypot(1.0, W_0 / (rpm * math.pi / 30.0))
    assert pytest.approx(2e-3 * (M_0 + M_1) * sigma + 1e-3 * rpm * math.pi / 30.0, rel=1e-12) == M


def test_a_bearing_of_a_handbook_example():
    """f_0 = 2, d_m = 60 mm, 10 mm2/s at 2000 rpm: M_0 = 1e-7*2*20000^(2/3)*60^3 = 31.8 N.mm; 2500 N: M_1 = 45 N.mm."""
    assert torques(2000.0 * math.pi / 30.0, b=0.0)[Y.BEARING] == pytest.approx(2.0 * (0.0318 + 0.045), rel=1e-3)


def test_a_seal_takes_what_iso_tr_14179_1_says():
    assert torques(200.0)[Y.SEAL] == pytest.approx(3.737e-3 * 40.0, rel=1e-5)
    assert torques(-200.0, side=1)[Y.SEAL] == pytest.approx(-3.737e-3 * 30.0, rel=1e-5)


@pytest.mark.parametrize(("omega", "C"), [(10.0, lambda Re: 3.87 * Re**-0.5), (600.0, lambda Re: 0.146 * Re**-0.2)])
def test_sheaves_are_discs(omega, C):
    Re = omega * 0.07**2 / NU
    one_disc = 0.5 * C(Re) * RHO * omega**2 * 0.07**5  # both faces
    assert torques(omega)[Y.OIL] == pytest.approx(0.1 * 2.0 * one_disc, rel=1e-12)


def test_the_laminar_disc_is_von_karmans():
    """The flow above a rotating plane has a similarity solution; both faces take C_M = -2 pi G'(0) Re^-1/2."""
    from scipy.integrate import solve_bvp

    def flow(z, y):  # H = r component, G = azimuthal, F = axial, of z = height sqrt(omega/nu)
        H, dH, G, dG, F = y
        return np.array([dH, H * H - G * G + F * dH, dG, 2.0 * H * G + F * dG, -2.0 * H])

    def ends(a, b):
        return np.array([a[0], a[2] - 1.0, a[4], b[0], b[2]])

    z = np.linspace(0.0, 15.0, 200)
    guess = np.array([0.2 * z * np.exp(-z), 0.5 * np.exp(-z), np.exp(-z), -np.exp(-z), -0.9 * (1.0 - np.exp(-z))])
    found = solve_bvp(flow, ends, z, guess, tol=1e-8)
    assert found.success
    assert -2.0 * math.pi * found.sol(0.0)[3] == pytest.approx(3.87, rel=1e-3)


def test_the_load_takes_what_a_catalogue_says_of_cylindrical_rollers():
    """Koyo's catalogue: coefficient of friction 0.0008 to 0.0012 on the bore, 40 mm of d_m = 60 mm."""
    loaded, free = instance(**SHAFTS), instance(**SHAFTS)
    w = np.zeros(W_STEP)
    torque = []
    for one, R in ((loaded, PULL), (free, 0.0)):
        w[Q.PULL] = R
        shafts.shaft_friction(0, 200.0, 0.0, W_0, one.p, w)
        torque.append(w[W_SHAFTS])
    assert 0.0008 < (torque[0] - torque[1]) / (PULL * 0.02) < 0.0012


def test_both_laws_of_a_disc_meet():
    border = shafts.TURBULENT * NU / 0.07**2
    below, above = (torques(border * (1.0 + d))[Y.OIL] for d in (-1e-9, 1e-9))
    assert above == pytest.approx(below, rel=1e-7)


@pytest.mark.parametrize("side", [0, 1])
def test_friction_opposes_and_its_slope_is_its_derivative(side):
    one = instance(**SHAFTS)
    assert {v for k, v in torques(0.0, side, one=one).items() if k != SLOPE} == {0.0}
    for omega in np.geomspace(1e-6, 2e3, 60):
        M = torques(omega, side, one=one)
        assert torques(-omega, side, one=one) == {k: v if k == SLOPE else -v for k, v in M.items()}
        assert min(M.values()) > 0.0
        d = 1e-6 * omega
        ends = [sum(torques(omega + s * d, side, one=one)[k] for k in SHAFT_LOSSES) for s in (1.0, -1.0)]
        assert M[SLOPE] == pytest.approx((ends[0] - ends[1]) / (2.0 * d), rel=1e-5)


def test_nothing_given_takes_nothing():
    assert set(torques(300.0, one=instance(), b=0.0).values()) == {0.0}


@pytest.mark.parametrize("phi", [1.1, 0.5 * math.pi, 2.0])
def test_the_pull_is_that_of_both_strands(phi):
    """A belt at rest: its force S along the path presses S dtheta = 2 tan(delta_0) dF_C, sum of 2 phi is F_CO."""
    one, w = instance(), np.zeros(W_STEP)
    w[Q.F_CO] = 2e4
    w[Q.SIN] = math.sin(phi)
    S = 2.0 * math.tan(CONSTANTS["delta_0"]) * w[Q.F_CO] / (2.0 * phi)
    assert shafts.belt_pull(phi, one.model.data, w) == pytest.approx(2.0 * S * math.sin(phi), rel=1e-12)


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_the_output_lacks_what_the_shafts_take(fidelity):
    """Steady, at given speed and torque: power in less losses is power out, and so the efficiency says."""
    flange, start = {"primary": "speed"}, {"primary__w_start": 300.0, "clamp__control": 2.0}
    one = instance(fidelity, constant_laws(), flange, **start, **SHAFTS)
    one.set("primary.w", 300.0)
    one.set("secondary.tau", -40.0)
    stepped(one, 2000)
    lost = sum(one.get(v.name) for v in one.model.select("output") if v.books is Books.LOSS)
    into, out = one.get("primary.tau") * 300.0, 40.0 * one.get("secondary.w")
    assert into == pytest.approx(out + lost, rel=1e-6)
    assert one.get("variator.efficiency") == pytest.approx(out / into, rel=1e-5)
    bare = instance(fidelity, constant_laws(), flange, **start)
    assert bare.get("loss.seal") == bare.get("loss.oil") == 0.0
    assert min(one.get(f"loss.{name}") for name in ("bearing", "seal", "oil")) > 5.0


@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_a_shaft_without_torque_runs_out_and_rests(fidelity):
    """Dry friction and v_0: no ringing around standstill at a step of 10 ms."""
    one = instance(fidelity, constant_laws(), primary__w_start=20.0, **SHAFTS)
    speeds = []
    for _ in range(2000):
        one.step(1e-2)
        speeds.append(one.get("primary.w"))
    assert np.all(np.diff(speeds) <= 1e-9)
    assert abs(speeds[-1]) < 1e-3
