"""The belt drive: a free ring, rest, and the two-pulley drive against another code and theory."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from marks import slow
from refusals import refused

from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.belt.ancf import axial_force, cable, elastic_energy, elastic_forces
from rtcvt.offline.belt.drive import build, simulate, spans
from rtcvt.offline.belt.friction import sliding
from rtcvt.offline.belt.motion import Numerics, Sheaves, march, motion, work
from rtcvt.offline.belt.results import Case, condense
from rtcvt.offline.belt.runs import changed, simulate_full
from rtcvt.offline.belt.shafts import Shafts
from rtcvt.offline.belt.sheave import Contact, standing
from rtcvt.offline.belt.studies import cases, figures, run_study
from rtcvt.offline.belt.tensioner import Arms
from rtcvt.scenario import Scenario, Table

DATA = Path(__file__).parents[2] / "data" / "belt"


def free_ring(h, end, d_eps=0.0):
    """A stretched, bent and moving ring far from any sheave: state, energy and both momenta at the end."""
    n, L = 12, 0.1
    c = cable(L, 200.0, 0.2, 0.8, d_eps=d_eps, eps_ref=-0.02)
    a = 2 * np.pi * np.arange(n) / n
    r = n * L / (2 * np.pi)
    q = np.stack([r * np.cos(a), 1.1 * r * np.sin(a), -np.sin(a), 1.1 * np.cos(a)], axis=1)
    x = motion(q, 1, 1)
    x.v[:] = np.stack([1.0 - 2.0 * q[:, 1], 2.0 * q[:, 0], -2.0 * q[:, 3], 2.0 * q[:, 2]], axis=1)
    M = np.zeros((4 * n, 4 * n))
    for e in range(n):
        dof = np.append(4 * e + np.arange(4), 4 * ((e + 1) % n) + np.arange(4))
        M[np.ix_(dof, dof)] += np.kron(c.mass, np.eye(2))
    f = np.zeros_like(q)
    elastic_forces(c, q, x.v, n, f)
    x.a[:] = -np.linalg.solve(M, f.ravel()).reshape(n, 4)

    shapes = np.zeros((2, 4))
    mu, law = sliding([0.0])
    place = np.array([[50.0, 0.0]]), np.ones(1), np.zeros(1)
    far = Contact(*place, shapes, shapes, L, 1.0, 0.0, 0.0, mu, 0.0, 0.0, False, law, *standing(1))
    none = np.zeros((1, 2))
    still = np.zeros(1, dtype=np.int64)
    no, index, pairs = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    arms = Arms(index, pairs, pairs, *5 * (no,), no, pairs, no, no)
    s = Sheaves(np.ones(1), np.zeros(1), still, none, none, still, arms, Shafts(index, *5 * (no,)))
    steps = round(end / h)
    given, count = np.zeros((steps, 1)), np.zeros(6, dtype=np.int64)
    out = (np.zeros((1, n, 4)), np.zeros((1, n, 4)), np.zeros((1, 1, 4)), np.zeros((1, 0, 4)),
        np.zeros((1, 1, n, 1, 4)), np.zeros((1, 17)))  # fmt: skip
    done = march(c, far, s, x, Numerics(h, newton=1e-10), given, given, steps, *out, work(n, 1, 1, 1), count)
    assert done == steps
    p = (M @ x.v.ravel()).reshape(n, 4)
    energy = 0.5 * x.v.ravel() @ p.ravel() + elastic_energy(c, x.q, x.v, n)[0]
    moment = np.sum(x.q[:, 0] * p[:, 1] - x.q[:, 1] * p[:, 0] + x.q[:, 2] * p[:, 3] - x.q[:, 3] * p[:, 2])
    return x, energy, np.array([p[:, 0].sum(), p[:, 1].sum()]), moment


@pytest.mark.parametrize("end", [slow(0.2), pytest.param(0.02, marks=pytest.mark.interpreted)])
def test_a_free_ring_keeps_energy_and_momentum(end):
    _, e_0, p_0, l_0 = free_ring(1e-5, 1e-5)
    drift = []
    for h in (4e-4, 2e-4):
        _, energy, p, moment = free_ring(h, end)
        np.testing.assert_allclose(p, p_0, rtol=1e-8, atol=1e-8 * np.abs(p_0).max())
        drift.append(max(abs(energy / e_0 - 1.0), abs(moment / l_0 - 1.0)))
    assert drift[0] < 2e-3
    assert drift[1] < 0.5 * drift[0]
    assert free_ring(4e-4, 0.25 * end, d_eps=0.5)[1] < free_ring(4e-4, 0.1 * end, d_eps=0.5)[1] < e_0


@pytest.fixture(scope="module")
def unit():
    return load_unit("two_pulley_belt")


@pytest.mark.interpreted
def test_rest_is_in_balance(unit):
    """Pretension, sag rho A g l^2/(8 T) of the spans, of which bending stiffness takes some, and pressure T/(r b)."""
    drive = build(unit, elements=120)
    assert drive.rest_residual < 1e-8
    N, _, r = axial_force(drive.cable, drive.rest.q[None], drive.rest.v[None], 0.0)
    assert np.mean(N) == pytest.approx(400.0, rel=5e-3)
    assert 0.1 - r[0, 15, 1] == pytest.approx(0.8288 * 9.81 * (0.1 * np.pi) ** 2 / (8 * 400.0), rel=0.1)
    gap = drive.rest.contact[..., 0]
    pressure = np.mean(gap[1, 33:57][gap[1, 33:57] < 0.0]) * unit.ancf.k_c
    assert pressure == pytest.approx(-400.0 / (0.1 * 0.08), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"scheme": "a"}, {"scheme": "b"}, {"point_normals": True}, {"hysteresis": 1e9}])
def test_other_rules_give_the_same_drive(unit, change):
    """Schemes, normals and the hysteretic law are ways to the same run-up."""
    scenario = unit.scenario[0].model_copy(update={"duration": 0.15})
    other = unit.model_copy(update={"ancf": unit.ancf.model_copy(update=change)})
    runs = [simulate(build(u, elements=60, step=1e-4), scenario, sample=5e-3) for u in (unit, other)]
    w = [run.turning[-1, 1, 1] for run in runs]
    assert w[0] > 1.5
    assert w[1] == pytest.approx(w[0], rel=0.02)


def check_against_reference(run, name):
    """All times: 0.03 rad/s, 1.5 N and 0.3 N m, belt and contact along the arc at the end."""
    reference = np.genfromtxt(DATA / f"{name}_timeseries.csv", delimiter=",", names=True)
    values = spans(run)
    every = slice(None, None, 10)
    np.testing.assert_allclose(run.time[every], reference["t"], atol=1e-9)
    np.testing.assert_allclose(run.turning[every, 1, 1], reference["omega_P2"], atol=0.03)
    np.testing.assert_allclose(run.turning[every, 0, 2][1:], reference["tau_P1"][1:], atol=0.3)
    np.testing.assert_allclose(values.tension[every, 0], reference["T_tight"], atol=1.5)
    np.testing.assert_allclose(values.tension[every, 1], reference["T_slack"], atol=1.5)
    np.testing.assert_allclose(-values.velocity[every, 0], reference["v_tight"], atol=0.01)
    np.testing.assert_allclose(-values.velocity[every, 1], reference["v_slack"], atol=0.01)

    c, last = run.drive.cable, slice(-1, None)
    start, middle = (axial_force(c, run.q[last], run.v[last], xi) for xi in (0.0, 0.5))
    N = np.stack([start[0][0], middle[0][0]], axis=1).ravel()
    r = np.stack([start[2][0], middle[2][0]], axis=1).reshape(-1, 2)
    belt = np.genfromtxt(DATA / f"{name}_belt.csv", delimiter=",", names=True)
    belt = belt[belt["t"] == 2.45]
    nearest = np.argmin(np.hypot(r[:, :1] - belt["x"], r[:, 1:] - belt["y"]), axis=0)
    assert np.max(np.hypot(r[nearest, 0] - belt["x"], r[nearest, 1] - belt["y"])) < 0.1 * c.L
    np.testing.assert_allclose(N[nearest], belt["N"], atol=3.0)

    contact = np.genfromtxt(DATA / f"{name}_contact.csv", delimiter=",", names=True)
    contact = contact[contact["t"] == 2.45]
    touching = run.stress[-1][run.stress[-1, :, :, 1] < 0.0]
    assert touching.shape[0] == pytest.approx(contact.size, abs=2)
    assert touching[:, 0].sum() == pytest.approx(contact["q_t"].sum(), abs=0.01 * np.abs(contact["q_t"]).sum())
    assert touching[:, 1].sum() == pytest.approx(contact["q_n"].sum(), rel=2e-3)


def check_theory(run, capstan_error):
    """Table 4: torque from tensions, creep from speeds and from strains, Euler-Eytelwein on the driving pulley."""
    unit, c = run.drive.unit, run.drive.cable
    tight, slack = spans(run).tension[-1]
    tau, w_2 = run.turning[-1, 0, 2], run.turning[-1, 1, 1]
    r = unit.line_radius[0]
    assert tau == pytest.approx(r * (tight - slack), rel=0.02)
    assert tau == pytest.approx(25.0 + 2.0 * w_2, rel=0.02)
    v_tight, v_slack = -spans(run).velocity[-1]
    from_speed = (v_tight - v_slack) / v_tight
    from_strain = (tight - slack) / c.EA / (tight / c.EA + 1.0 + c.eps_ref)
    assert from_speed == pytest.approx(from_strain, rel=0.12)

    N, _, p = axial_force(c, run.q[-1:], run.v[-1:], 0.5)
    N, p = N[0], p[0]
    angle = np.mod(np.arctan2(p[:, 1], p[:, 0]) - 0.5 * np.pi, 2 * np.pi)  # from the top, against the belt's order
    wrap = (angle < np.pi) & (np.hypot(*p.T) < 1.01 * r)
    slip = np.log(tight / slack) / unit.ancf.mu
    # the belt runs onto P1 at the top: it sticks at first and slips over the last part of the wrap
    theory = slack * np.exp(unit.ancf.mu * np.minimum(np.pi - angle[wrap], slip))
    assert slip < np.pi
    assert np.max(np.abs(N[wrap] - theory) / theory) < capstan_error


@pytest.fixture(scope="module")
def coarse(unit):
    return simulate(build(unit, elements=60, step=1e-4), unit.scenario[0])


@pytest.mark.slow
def test_drive_of_60_elements_against_another_code(coarse):
    assert coarse.complete
    assert coarse.counts["steps"] == 24500
    check_against_reference(coarse, "coarse_ne60_h1e-4")


@pytest.mark.slow
def test_drive_of_240_elements_against_another_code_and_theory(unit):
    run = simulate(build(unit), unit.scenario[0])
    check_against_reference(run, "nominal_ne240_h5e-5")
    check_theory(run, 0.045)


@pytest.mark.slow
def test_studies_run_their_cases_once(unit, tmp_path):
    """Study of the normals on a short run; what is there is not run again, what was begun goes on."""
    short = unit.scenario[0].model_copy(update={"duration": 0.12})
    small = unit.model_copy(
        update={"scenario": (short,), "ancf": unit.ancf.model_copy(update={"elements": 60, "step": 1e-4})}
    )

    def stop(name, done, last):
        if name != "nominal" and done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(small, "normals", tmp_path, stop)
    assert sorted(f.name.split("-")[1] for f in tmp_path.iterdir()) == ["nominal", "point_normals_True"]
    found = run_study(small, "normals", tmp_path)
    files = sorted(tmp_path.iterdir())
    assert [f.name.endswith(".run.h5") for f in files] == [False, False]
    before = [f.stat().st_mtime_ns for f in files]
    again = run_study(small, "normals", tmp_path)
    assert [f.stat().st_mtime_ns for f in files] == before
    for label, r in found.items():
        np.testing.assert_array_equal(again[label].series["P2.w"], r.series["P2.w"])
        assert figures(r)["creep"] == pytest.approx(figures(r)["from strain"], abs=0.05)
    speeds = [r.series["P2.w"][-1] for r in found.values()]
    assert 0.0 < abs(speeds[1] / speeds[0] - 1.0) < 0.02
    refused("study = 'colour': one of elements", cases, unit, "colour")


@pytest.mark.slow
def test_fields_of_a_result_stand_over_the_arc_length(unit):
    """At rest: pretension all along, pressure on the wraps only."""
    still = unit.scenario[0].model_copy(update={"duration": 1e-3, "inputs": {}})
    run = simulate(build(unit, elements=120), still)
    path = unit.path()
    _, fields = condense(Case("rest", unit, still, instants=(0.0,)), run)
    s, F = fields["belt.s"].values[0], fields["belt.F"].values[0]
    assert s.size == 240
    assert np.all(np.diff(s) > 0.0)
    np.testing.assert_allclose(F, 400.0, rtol=0.05)
    touches = fields["contact.s"].values[0][fields["contact.q_n"].values[0] < 0.0]
    off = (touches - path.arc(1)[0]) % path.length  # from the arrival at P2
    on_a_wrap = (
        (off < 0.1 * np.pi + 0.005) | (abs(off - 0.25 * np.pi) < 0.05 * np.pi + 0.005) | (off > 0.4 * np.pi - 0.005)
    )
    assert np.all(on_a_wrap)
    assert touches.size == pytest.approx(240, rel=0.05)  # half of all segments


@pytest.mark.slow
def test_interrupted_run_goes_on_to_the_same_bits(unit, tmp_path):
    small = changed(unit, elements=60, step=1e-4)
    scenario = unit.scenario[0].model_copy(update={"duration": 0.15})
    whole = simulate_full(small, scenario, tmp_path / "whole.h5")

    def stop(t, end):
        if t > 0.11:
            raise KeyboardInterrupt

    file = tmp_path / "part.h5"
    part = simulate_full(small, scenario, file, progress=stop)
    assert not part.run.complete
    with h5py.File(file) as f:
        assert not f.attrs["complete"]
    rest = simulate_full(small, scenario, file, resume=True)
    assert rest.computed == pytest.approx(0.15 - part.run.time[-1])
    assert rest.run.complete
    for key in ("q", "v", "turning", "stress"):
        np.testing.assert_array_equal(getattr(rest.run, key), getattr(whole.run, key))
    assert simulate_full(small, scenario, file, resume=True).computed == 0.0
    other = scenario.model_copy(update={"inputs": {"P1.w": 1.0}})
    with pytest.raises(InputError, match=r"part\.h5: scenario: a run of two_pulley_belt with the same"):
        simulate_full(small, other, file, resume=True)
    refused(r"two_pulley_belt\.toml: ancf\.tolerance = 0\.1: not with the model of table", changed, unit, tolerance=0.1)
    refused(r"ancf: elements = 4: .*equal to 8", changed, unit, elements=4)


@pytest.mark.interpreted
def test_bad_settings(unit):
    drive = build(unit, elements=60, step=1e-4)
    refused(r"sample = 0\.00025: a multiple of the step", simulate, drive, unit.scenario[0], sample=2.5e-4)
    refused(r"two_pulley_5pk\.toml: ancf: a table", lambda: build(load_unit("two_pulley_5pk")))


@pytest.mark.slow
def test_a_step_that_newton_cannot_make_is_made_in_parts():
    """A torque that spins up one pulley through its friction: steps that are too long for it and short ones."""
    unit = load_unit(DATA / "serpentine.toml")
    inputs = {
        "crank.w": Table(time=(0.0, 0.02), value=(0.0, -150.0)),
        "alternator.tau": Table(time=(0.02, 0.022), value=(0.0, -60.0)),
    }
    scenario = Scenario(name="overload", duration=0.04, inputs=inputs)
    coarse, fine = (simulate(build(unit, elements=90, step=h), scenario, sample=1e-3) for h in (1e-3, 5e-5))
    assert coarse.complete
    assert coarse.counts["in parts"] > 0
    assert fine.counts["in parts"] < coarse.counts["in parts"]
    spun = [run.turning[-1, 2, 1] for run in (coarse, fine)]
    assert spun[0] == pytest.approx(spun[1], rel=0.05)
