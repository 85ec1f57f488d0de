"""Unit file, mass properties, scaling with the number of elements, endplay, input tables."""

import re

import numpy as np
import pytest
from rows import cases, mistakes

from rtcvt.errors import InputError, ask
from rtcvt.offline.pushbelt.checks.chapter7 import Verification, chapter7
from rtcvt.offline.pushbelt.unit import parameters
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.unitfile import find_unit, shipped_units

PARAMETERS = parameters.load_parameters("pushbelt_24mm")


def changed(tmp_path, old, new):
    text = find_unit("pushbelt_24mm").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_the_unit_is_shipped_beside_the_gear_systems():
    assert "pushbelt_24mm" in shipped_units("pushbelt")
    assert "pushbelt_24mm" not in shipped_units("gear_system")


@mistakes
def test_what_was_hardly_meant_is_asked(tmp_path, caplog, old, new, question):
    ask.cache_clear()
    parameters.load_parameters(changed(tmp_path, old, new))
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == (question is not None)
    assert question is None or re.search(question, said[0])


def test_a_changed_copy_is_not_the_shipped_belt(tmp_path):
    """The check does not compare it with numbers printed for the other, and its page does not speak of that."""
    longer = parameters.load_parameters(changed(tmp_path, 'l_R = "660.92 mm"', 'l_R = "661.5 mm"'))
    for p, shipped in ((PARAMETERS, True), (longer, False)):
        assert parameters.is_belt_of(p.name, parameters.belt(p)._asdict()) == shipped
        assert Verification(p, chapter7(), {}, {}, {}).of_source == shipped
    assert not parameters.is_belt_of("mine", parameters.belt(PARAMETERS)._asdict())


def test_the_ring_that_fits_is_one_wherever_one_comes_from(tmp_path):
    fits = set()
    for l_R in ("640 mm", "660.5 mm", "700 mm"):
        with pytest.raises(InputError, match=r"leaves 432 elements .* mm of endplay; 0 to 2 mm are allowed") as refused:
            parameters.load_parameters(changed(tmp_path, 'l_R = "660.92 mm"', f'l_R = "{l_R}"'))
        fits |= set(re.findall(r'l_R = "(\S+ mm)" fits', str(refused.value)))
    (l_R,) = fits
    p = parameters.load_parameters(changed(tmp_path, 'l_R = "660.92 mm"', f'l_R = "{l_R}"'))
    b, r = parameters.belt(p), (p.ring.l_R - 2.0 * p.pulleys.d_A) / (2.0 * np.pi)
    assert parameters.endplay(b, np.pi, np.pi, r, r) == pytest.approx(
        parameters.PLAY, abs=5.1e-6
    )  # two digits of a millimetre


def test_mass_properties_of_a_plate():
    a, b, t, rho = 0.02, 0.012, 0.0015, 7850.0  # width, height, thickness
    m = parameters.mass_properties(np.array([(0.0, a / 2), (b, a / 2)]), np.array([(0.0, t), (b, t)]), rho)
    mass = rho * a * b * t
    assert (m.m, m.t_S, m.h_S) == pytest.approx((mass, t / 2, b / 2), rel=1e-13)
    expected = (mass * (a**2 + b**2) / 12, mass * (a**2 + t**2) / 12, mass * (b**2 + t**2) / 12)
    assert m.Theta == pytest.approx(expected, rel=1e-12)


def test_mass_properties_of_a_wedge_and_of_a_triangle():
    # thickness 0 at the bottom: a right triangle in the side view, height h, base t at the top
    a, h, t = 0.01, 0.009, 0.002
    m = parameters.mass_properties(np.array([(0.0, a / 2), (h, a / 2)]), np.array([(0.0, 0.0), (h, t)]), 1.0)
    mass = 0.5 * a * h * t
    assert (m.m, m.h_S, m.t_S) == pytest.approx((mass, 2 * h / 3, t / 3), rel=1e-13)
    assert m.Theta[2] == pytest.approx(mass * (h**2 + t**2) / 18, rel=1e-12)
    # isosceles triangle as outline, apex at the top
    m = parameters.mass_properties(np.array([(0.0, a / 2), (h, 0.0)]), np.array([(0.0, t), (h, t)]), 1.0)
    mass = 0.5 * a * h * t
    assert m.h_S == pytest.approx(h / 3, rel=1e-13)
    assert m.Theta[0] == pytest.approx(mass * (h**2 / 18 + a**2 / 24), rel=1e-12)


def test_the_element_is_of_its_class():
    """Estimates made with another outline of the same main dimensions; the mass is within 4 %."""
    e = PARAMETERS.element
    m = parameters.mass_properties(
        np.array(e.outline), np.array([(0.0, e.t_B), (e.h_R, e.t_R), (e.outline[-1][0], e.t_R)]), e.density
    )
    assert m.m == pytest.approx(2.16e-3, rel=0.04)
    assert m.h_S == pytest.approx(6.19e-3, rel=0.05)
    assert m.t_S == pytest.approx(0.714e-3, rel=0.06)
    assert m.Theta == pytest.approx((1.085e-7, 8.43e-8, 2.49e-8), rel=0.05)
    half_width = np.interp(e.y_P, [e.y_F0, e.y_F1], [p[1] for p in e.outline[1:3]])
    assert e.z_P == pytest.approx(half_width, abs=1e-6)
    slope = (e.outline[2][1] - e.outline[1][1]) / (e.y_F1 - e.y_F0)
    assert slope == pytest.approx(np.tan(e.delta_0), abs=1e-4)


def test_ring_of_the_unit():
    b = parameters.belt(PARAMETERS)
    assert pytest.approx([5.99e6, 9.18e-14], rel=1e-3) == [b.EA, b.EI / PARAMETERS.ring.E]
    assert b.h_off == pytest.approx(1.925e-3, abs=1e-12)
    assert b.rhoA * b.l_R == pytest.approx(0.171, abs=5e-4)


@pytest.mark.parametrize("N_E", [110, 220, 432])
def test_scaling_keeps_what_does_not_depend_on_the_number_of_elements(N_E):
    a, b = parameters.belt(PARAMETERS, N_E=432, taper=8e-6), parameters.belt(PARAMETERS, N_E=N_E, taper=8e-6)
    assert b.N_E * b.t_R == pytest.approx(a.N_E * a.t_R, rel=1e-14)  # the row fits
    assert (b.t_T - b.t_R) / b.t_R == pytest.approx((a.t_T - a.t_R) / a.t_R, rel=1e-12)  # same cat's back
    assert (b.t_R - b.t_B) / b.t_R == pytest.approx((a.t_R - a.t_B) / a.t_R, rel=1e-12)
    assert b.N_E * b.m_E == pytest.approx(a.N_E * a.m_E, rel=1e-12)
    assert b.m_star == pytest.approx(a.m_star, rel=1e-12)
    assert b.h_S == pytest.approx(a.h_S, rel=1e-12)
    assert b.N_E / b.k_R == pytest.approx(a.N_E / a.k_R, rel=1e-12)  # compliance of the chain
    assert b.N_E * b.c_el == pytest.approx(a.N_E * a.c_el, rel=1e-12)  # stiffness of a wrapped arc
    assert b.d_R / np.sqrt(b.k_R * b.m_E) == pytest.approx(a.d_R / np.sqrt(a.k_R * a.m_E), rel=1e-12)
    assert b.d_el / np.sqrt(b.c_el * b.m_E) == pytest.approx(a.d_el / np.sqrt(a.c_el * a.m_E), rel=1e-12)


def test_endplay_of_the_unit_without_load():
    """0.246, 0.301, 0.211 mm from thickness and rolling alone; the chords of the elements give 0.02 mm more."""
    for ratio, expected in ((0.5, 0.246e-3), (1.0, 0.301e-3), (2.4, 0.211e-3)):
        c = closure(PARAMETERS.ring.l_R, PARAMETERS.pulleys.d_A, ratio)
        plays = []
        for N_E in (110, 220, 432):
            b = parameters.belt(PARAMETERS, N_E=N_E)
            plays.append(parameters.endplay(b, c.wrap_I, c.wrap_O, c.r_I, c.r_O))
        b = parameters.belt(PARAMETERS, N_E=432)
        chords = b.t_R**2 / 12 * (c.wrap_I / (c.r_I - b.h_off) + c.wrap_O / (c.r_O - b.h_off))
        assert plays[2] - chords == pytest.approx(expected, abs=1.5e-6)
        assert plays == pytest.approx([plays[2]] * 3, abs=1e-9)
    # 433 elements take one thickness more
    fuller = parameters.endplay(parameters.belt(PARAMETERS, N_E=220, N_E0=433), c.wrap_I, c.wrap_O, c.r_I, c.r_O)
    assert fuller - plays[2] == pytest.approx(-1.5e-3, abs=1e-6)


def test_sheaves_of_the_unit():
    s = parameters.sheaves(PARAMETERS)
    assert sum(s.A) == pytest.approx(1.0, abs=1e-12)
    # influence function and tilt bearing describe the same tilt: the first harmonic keeps a share of its own
    assert s.c_t * s.a[1][2] * s.A[1] * np.cos(PARAMETERS.element.delta_0) ** 4 >= 1.0
    assert s.d_t == pytest.approx(2 * 0.1 * np.sqrt(s.c_t * s.Theta_t))


@cases
def test_cases_of_the_tables(name, rows, speed, force):
    case = PARAMETERS.get_case(name)
    assert len(case.M_O) == len(case.xi) == rows
    printed = np.array(case.xi)
    if name == "LOW-SpiRun":
        printed[2] = 0.8  # the table has 0.7 for 208 of 260 N m
    assert np.array(case.M_O) / case.M_O_max == pytest.approx(printed, abs=9e-3)
    b = parameters.boundary_at(case, np.array([0.0, 0.1]), rows - 1)
    expected = [parameters.RATE, 0.0, parameters.FORCE, force, speed * np.pi / 30, parameters.TORQUE, case.M_O[-1]]
    assert b == pytest.approx(np.array([expected, expected]))


def test_a_case_with_secondary_speed_and_unknown_ones():
    b = parameters.boundary_at(PARAMETERS.get_case("OD-speed"), np.array([0.0]))
    assert b[0, 5:] == pytest.approx([parameters.SPEED, 2000 * np.pi / 30])
    with pytest.raises(InputError, match=r"case = 'X': one of OD, MED"):
        PARAMETERS.get_case("X")
    with pytest.raises(InputError, match=r"case MED: row = 6: 0 to 5"):
        parameters.boundary_at(PARAMETERS.get_case("MED"), np.array([0.0]), 6)


def test_time_tables_of_inputs(tmp_path):
    table = (
        'omega_I = { time = [0.0, "20 ms"], value = ["1000 rpm", "2000 rpm"] }, '
        "rate_O = { time = [0.0, 0.01], value = [0.0, 1e-3], interpolation = 'previous' }, F_CI = '5 kN + 0'"
    )
    old = 'omega_I = "1000 rpm", rate_I = 0.0, F_CO = "6128 N"'
    time = np.array([0.0, 0.005, 0.01, 0.03])
    with pytest.raises(InputError, match=r"scenario 'OD': inputs.F_CI = '5 kN \+ 0'"):
        parameters.boundary_at(parameters.load_parameters(changed(tmp_path, old, table)).get_case("OD"), time)
    table = table.replace("'5 kN + 0'", "'5000*(1 + t)'")
    b = parameters.boundary_at(parameters.load_parameters(changed(tmp_path, old, table)).get_case("OD"), time)
    assert list(b[0, [0, 2, 5]]) == [parameters.FORCE, parameters.RATE, parameters.TORQUE]
    assert b[:, 1] == pytest.approx(5000 * (1 + time))
    assert b[:, 3] == pytest.approx([0.0, 0.0, 1e-3, 1e-3])
    assert b[:, 4] == pytest.approx(np.pi / 30 * np.array([1000, 1250, 1500, 2000]))
    assert np.all(b[:, 6] == 0.0)


def test_belt_of_the_institute_has_its_numbers():
    """Masses, EA and l_R of its code, and what follows from them; the endplay is that of the other unit."""
    unit = parameters.load_parameters("pushbelt_24mm_tum")
    b = parameters.belt(unit, N_E=unit.element.N_E0)
    assert b.m_E == pytest.approx(1.858e-3, rel=1e-3)
    assert pytest.approx(6.0065e6, rel=1e-4) == b.EA
    assert b.m_star == pytest.approx(1.46395, rel=1e-3)
    assert b.rhoA * b.l_R == pytest.approx(0.165, rel=5e-3)
    assert (b.mu, b.d_A, b.N_E0) == (0.11, 0.155, 432)
    assert b.l_R == pytest.approx(2.0 * np.pi * (104.4e-3 + 0.5 * b.h_ring), rel=1e-6)
    r = (b.l_R - 2.0 * b.d_A) / (2.0 * np.pi)
    assert parameters.endplay(b, np.pi, np.pi, r, r) == pytest.approx(0.3e-3, abs=5e-6)
    assert unit.spatial.w_P + 2.0 * unit.ring.width < unit.spatial.w_S
    assert unit.case == parameters.load_parameters("pushbelt_24mm").case
