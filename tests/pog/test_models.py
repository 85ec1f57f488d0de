"""Energy, Lagrange, limits and derivatives of the full and rigid models."""

import numpy as np
import pytest
import sympy as sp
from instances import started as initialised
from instances import stepped
from machines import gear_state, state
from refusals import refused

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model, matrices
from rtcvt.pog.unit import GearSystem
from rtcvt.scenario import get_scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_table


def variant(name, **changes):
    """A shipped unit with some of its data replaced."""
    unit = load_unit(name)
    data = unit.model_dump(exclude_unset=True) | {"source": unit.source, "text": unit.text}
    for key, value in changes.items():
        place = data
        *path, last = key.split("__")
        for step in path:
            place = place[step]
        place[last] = value
    return parse_table(GearSystem, data, unit.source)


def started(model, seed=0, **values):
    """An instance at a random state and random inputs, away from every limit."""
    rng = np.random.default_rng(seed)
    instance = initialised(model, values)
    gear_state(instance, rng)
    return instance


def rate(instance):
    """Rate of the moving variable [rad/s]."""
    names = [s.name for s in instance.model.states]
    return next((instance.derivative()[k] for k, n in enumerate(names) if n == "control.theta"), 0.0)


def matrices_of(instance):
    work = instance.work.copy()
    m = matrices(instance, state(instance, "control.theta"))
    instance.work[:] = work
    return m


def gear_torques(unit, instance):
    """Torques on the gears from inputs, spring ports and clutches."""
    tau = np.zeros(len(unit.gears))
    if unit.elements:
        instance.outputs()
    for name, (_, (one, other)) in unit.elements.items():
        tau[list(unit.gears).index(one)] -= instance.get(f"{name}.tau")
        if other is not None:
            tau[list(unit.gears).index(other)] += instance.get(f"{name}.tau")
    names = [s.name for s in instance.model.states]
    for port, data in unit.ports.items():
        k = list(unit.gears).index(data.gear)
        tau[k] += instance.get(f"{port}.tau") if data.spring is None else instance.x[names.index(f"{port}.tau")]
    return tau


def test_constraint_and_its_rate(unit):
    """R Q1 = 0 and dR/dt Q1 + R dQ1/dt = 0 at every tilt."""
    instance = build_model(unit, "rigid").instantiate()
    for theta in np.linspace(-0.5, 0.5, 5):
        m = matrices(instance, theta)
        assert np.abs(m.R @ m.Q1).max() < 1e-15
        assert np.abs(m.dR @ m.Q1 + m.R @ m.dQ1).max() < 1e-14


def test_reduced_matrices_are_those_of_eq_10(unit):
    instance = build_model(unit, "rigid").instantiate()
    m = matrices(instance, 0.3)
    scale = np.abs(m.L1).max()
    assert np.allclose(m.L1, m.Q1.T @ m.J @ m.Q1, rtol=0, atol=1e-14 * scale)
    assert np.allclose(m.N1, m.Q1.T @ m.J @ m.dQ1, rtol=0, atol=1e-13 * scale)
    assert np.allclose(m.A1, -m.Q1.T @ m.B_J @ m.Q1, rtol=0, atol=1e-14 * max(np.abs(m.A1).max(), 1e-9))
    assert np.array_equal(m.B1, m.Q1.T)


@pytest.mark.parametrize("seed", [1, 2])
def test_contact_forces_are_those_of_eq_11(unit, seed):
    """The kernel solves the dependent rows of eq. (B.1); the paper prints M_p [tau - (B_J Q1 + J dQ1/dt) x1]."""
    model = build_model(unit, "rigid")
    instance = started(model, seed)
    m = matrices_of(instance)
    inverse = np.linalg.inv(m.J)
    M_p = np.linalg.solve(m.R @ inverse @ m.R.T, m.R @ inverse)
    x1 = instance.x[: len(unit.rigid.independent)]
    F = M_p @ (gear_torques(unit, instance) - (m.B_J @ m.Q1 + m.J @ m.dQ1 * rate(instance)) @ x1)
    instance.outputs()
    kernel = np.array([instance.get(f"contact.{c}.F") for c in unit.contacts])
    assert np.allclose(kernel, F, rtol=0, atol=1e-9 * np.abs(F).max())


def test_rigid_toroidal_model_is_the_extended_lagrange_equation():
    """Eqs. (24) and (25): d/dt(J omega_d) = Q - J' omega_d/2, with J and Q written out from the ratios of eq. (21)."""
    unit = load_unit("toroidal_kers")
    instance = started(build_model(unit, "rigid"), 5)
    omega_d, tau_d, theta, _z = instance.x
    t = sp.Symbol("t")
    angle = theta + sp.Float(rate(instance), 30) * t
    r = {k: p.value for k, p in unit.parameters.items()}
    r_b, r_a = r["r_b1"] + r["r_c"] * sp.sin(angle), r["r_b1"] - r["r_c"] * sp.sin(angle)
    ratios = {"a": r["r_d"] * r_b / (r["r_b2"] * r_a), "b": sp.Float(r["r_d"] / r["r_b2"], 30),
              "c": r["r_d"] * r_b / (r["r_b2"] * r["r_c"]), "d": sp.Integer(1)}  # fmt: skip
    J = sum(unit.gears[g].inertia * R**2 for g, R in ratios.items())
    Q = tau_d - sum(unit.gears[g].friction * R**2 for g, R in ratios.items()) * omega_d
    dJ = sp.diff(J, t)
    expected = ((Q - dJ * omega_d / 2) / J).subs(t, 0)
    assert instance.derivative()[0] == pytest.approx(float(expected), rel=1e-10)


def test_differential_without_case_inertia_is_the_ideal_open_differential():
    """J_c = J_e = b_c = b_e = 0 and no relative friction: tau on the axles splits evenly, J_b = J_d with the pinion."""
    unit = variant(
        "differential", gears__c__inertia=0.0, gears__e__inertia=0.0, gears__c__friction=0.0, gears__e__friction=0.0,
        frictions={},
    )  # fmt: skip
    model = build_model(unit, "rigid")
    instance = initialised(model, left__tau=100.0)
    stepped(instance, 2000)
    # the ideal open differential: omega_case = (omega_l + omega_r)/2, equal torques on both axles from the pinion
    n = unit.parameters["r_e"].value / unit.parameters["r_a"].value
    J_a, J_w = unit.gears["a"].inertia, unit.gears["b"].inertia
    b_a, b_w = unit.gears["a"].friction, unit.gears["b"].friction
    half = np.array([[1.0, 1.0], [1.0, 1.0]]) * n**2 / 4
    M, B = J_a * half + J_w * np.eye(2), b_a * half + b_w * np.eye(2)
    A = np.linalg.solve(M, -B)
    forced = np.linalg.solve(B, [100.0, 0.0])
    values, vectors = np.linalg.eig(A)
    transition = (vectors * np.exp(values * 2.0)) @ np.linalg.inv(vectors)
    expected = forced - transition @ forced
    assert [instance.get("left.w"), instance.get("right.w")] == pytest.approx(expected, rel=1e-9)
    assert instance.get("pinion.w") == pytest.approx(n / 2 * expected.sum(), rel=1e-9)


def test_the_shipped_scenario_reaches_the_speeds_of_fig_12():
    unit = load_unit("differential")
    found = simulate(build_model(unit, "rigid"), get_scenario(unit, "massless case and planet"))
    ends = [found[f"gear.{g}.w"][-1] for g in "abd"]
    assert ends == pytest.approx([122.24, 294.40, -229.20], abs=0.005)


def test_rates_and_jacobian_do_not_depend_on_what_was_computed_before(model):
    """Second derivatives to theta are computed only for a Jacobian: asking for one changes no other bit."""
    fresh, used = started(model, 4), started(model, 4)
    used.jacobian()
    assert np.array_equal(fresh.derivative(), used.derivative())
    x = used.x.copy()
    used.x[:] *= 1.01
    used.derivative()
    used.x[:] = x
    assert np.array_equal(fresh.outputs(), used.outputs())
    used.x[:] *= 0.99
    used.derivative()
    used.x[:] = x
    used.derivative()
    assert np.array_equal(fresh.jacobian(), used.jacobian())


def test_gears_without_inertia_have_no_full_model():
    unit = variant("differential", gears__c__inertia=0.0)
    build_model(unit, "rigid")
    refused(r"gears\.c\.inertia = 0\.0: above 0 in the full model", build_model, unit, "full")


def test_infeasible_choices_are_refused():
    with pytest.raises(InputError, match=r"rigid\.independent = \['b'\].*leave 2 independent"):
        build_model(variant("differential", rigid__independent=["b"]), "rigid")
    with pytest.raises(InputError, match=r"do not determine the others.*choose others"):
        build_model(variant("differential", rigid__independent=["a", "e"]), "rigid")
    with pytest.raises(InputError, match=r"do not determine the others at theta = .* rad"):  # still in geared neutral
        build_model(variant("power_split_ivt", rigid__independent=["r"]), "rigid")


def test_dependent_contacts_are_refused():
    """Two contacts between the same coaxial gears at the same radius: R has a rank too low."""
    unit = load_unit("differential")
    contacts = {k: c.model_dump() for k, c in unit.contacts.items()}
    contacts["ea"] = {**contacts["ae"], "point": (0.01, "r_e")}
    with pytest.raises(InputError, match=r"R has rank 3, not 4.*Remark 2"):
        build_model(variant("differential", contacts=contacts, rigid__independent=["b"]), "rigid")


def test_friction_between_oblique_axes_is_refused():
    frictions = {"ac": {"between": ("a", "c"), "coefficient": 0.1}}
    with pytest.raises(InputError, match=r"frictions\.ac\.between.*parallel axes"):
        build_model(variant("differential", frictions=frictions), "rigid")


def test_opposite_axes_turn_the_sign_of_relative_friction():
    """Algorithm 2: a (towards -x) and b (towards +x) rub with b (omega_a + omega_b)."""
    frictions = {"ab": {"between": ("a", "b"), "coefficient": 0.1}}
    instance = build_model(variant("differential", frictions=frictions), "rigid").instantiate()
    B = matrices(instance).B_delta_omega
    assert B[0, 1] == B[1, 0] == pytest.approx(0.1)
    assert B[0, 0] == B[1, 1] == pytest.approx(0.1)


def test_geometry_parameters_reach_the_kernel():
    instance = build_model(load_unit("toroidal_kers"), "rigid").instantiate()
    instance.set("geometry.r_c", 0.02)
    assert matrices(instance, 0.1).R[0, 2] == pytest.approx(-0.02)
