"""Lateral ring: exact derivative, rigid motion, cantilevers, torsion, waves, a load at and below the critical speed."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from pushbelt_starts import begun

from rtcvt.offline.pushbelt.ring import ring as planar
from rtcvt.offline.pushbelt.spatial import lateral as lat
from rtcvt.offline.pushbelt.unit.initial import ring_on
from rtcvt.offline.pushbelt.vectors import accelerate

STEEL = {"layers": 10, "layer_height": 1.85e-4, "E": 1.86e11, "density": 8050.0, "time": 0.0}


def strip(n: int, l: float, width: float = 8.7e-3, **more: Any) -> lat.Lateral:  # noqa: E741
    return lat.lateral(N_B=n, length=n * l, width=width, **{**STEEL, **more})


class Curve(NamedTuple):
    """Planar state of a ring that the lateral beam sits on."""

    shape: np.ndarray
    rate: np.ndarray
    u_R: np.ndarray
    cs: np.ndarray
    sn: np.ndarray


def on_curve(l: float, q_R: np.ndarray, u_R: np.ndarray | None = None) -> Curve:  # noqa: E741
    n = len(q_R)
    u_R = np.zeros((n, 5)) if u_R is None else u_R
    R = planar.Ring(n, l, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1e-3)
    cs, sn = np.cos(q_R[:, 2]), np.sin(q_R[:, 2])
    shape, rate = np.zeros((n, planar.N_SHAPE)), np.zeros((n, planar.N_RATE))
    planar.shape_of(R, q_R, cs, sn, shape)
    planar.rate_of(R, u_R, shape, rate)
    return Curve(shape, rate, u_R, cs, sn)


def line(n: int, l: float) -> Curve:  # noqa: E741
    """A straight strip; its last finite element leads back to the start and is for no use."""
    q = np.zeros((n, 5))
    q[:, 0] = l * np.arange(n)
    return on_curve(l, q)


def evaluate(
    L: lat.Lateral, c: Curve, q: np.ndarray, u: np.ndarray, S: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, float, float]:
    """Forces, planar forces, power of damping, energy with that of tensions held at S, and its stretches' power."""
    n = L.N_B
    twist, bow, F, F_R = np.zeros((n, 4)), np.zeros((n, 2)), np.zeros((n, 3)), np.zeros((n, 5))
    lat.stretches(L, q, u, c.u_R, c.cs, c.sn, twist, bow)
    lost = lat.forces(L, q, u, c.shape, c.rate, c.cs, c.sn, twist, S, F, F_R)
    energy = sum(lat.elastic_energy(L, q, c.shape, twist)) + L.l * float(S @ bow[:, 0])
    return F, F_R, lost, energy, L.l * float(S @ bow[:, 1])


def stiffness(L: lat.Lateral, c: Curve, S: float, free: np.ndarray) -> np.ndarray:
    n = L.N_B
    K = np.empty((len(free), len(free)))
    for a, dof in enumerate(free):
        q = np.zeros((n, 3))
        q.flat[dof] = 1.0
        K[:, a] = -evaluate(L, c, q, np.zeros((n, 3)), np.full(n, S))[0].flat[free]
    return K


def belt_ring(rng: np.random.Generator) -> tuple[lat.Lateral, np.ndarray, np.ndarray]:
    """A ring of the unit on its pulleys, disturbed, and its velocities."""
    b, _, _, start = begun("OD", 0)
    q_R, u_R = ring_on(start.path, b.N_B, 10.0)
    q_R += 1e-5 * rng.standard_normal(q_R.shape) * [1, 1, 30, 0.1, 0.1]
    u_R += rng.standard_normal(u_R.shape) * [1, 1, 100, 0.1, 0.1]
    return strip(b.N_B, b.l_R / b.N_B, time=1e-7, camber=0.1), q_R, u_R


@pytest.mark.interpreted
def test_forces_are_the_gradient_of_the_energy_in_lateral_and_planar_coordinates() -> None:
    rng = np.random.default_rng(1)
    L, q_R, _ = belt_ring(rng)
    L = L._replace(time=0.0)
    S = rng.uniform(500, 3000, L.N_B)
    q, rest = rng.standard_normal((L.N_B, 3)) * [1e-4, 1e-2, 1e-2], np.zeros((L.N_B, 3))
    F, F_R, _, _, _ = evaluate(L, on_curve(L.l, q_R), q, rest, S)

    def energy(dq: np.ndarray, dq_R: np.ndarray) -> float:
        return evaluate(L, on_curve(L.l, q_R + dq_R), q + dq, rest, S)[3]

    for _ in range(20):
        dq = rng.standard_normal(q.shape) * [1e-7, 1e-5, 1e-5]
        dq_R = rng.standard_normal(q_R.shape) * [1e-7, 1e-7, 1e-5, 0, 0]
        change = energy(dq, 0 * dq_R) - energy(-dq, 0 * dq_R)
        assert -2 * np.sum(F * dq) == pytest.approx(change, rel=1e-6, abs=1e-9)
        change = energy(0 * dq, dq_R) - energy(0 * dq, -dq_R)
        assert -2 * np.sum(F_R * dq_R) == pytest.approx(change, rel=1e-5, abs=1e-9)


@pytest.mark.interpreted
def test_power_of_forces_is_change_of_energy_and_damping() -> None:
    """Also while the ring runs round: the strain rates do not see rigid motion."""
    rng = np.random.default_rng(2)
    L, q_R, u_R = belt_ring(rng)
    S = rng.uniform(500, 3000, L.N_B)
    q = rng.standard_normal((L.N_B, 3)) * [1e-4, 1e-2, 1e-2]
    u = rng.standard_normal((L.N_B, 3)) * [0.1, 10, 10]
    F, F_R, lost, _, tension = evaluate(L, on_curve(L.l, q_R, u_R), q, u, S)
    h = 1e-9
    ahead = evaluate(L, on_curve(L.l, q_R + h * u_R), q + h * u, u, S)[3]
    behind = evaluate(L, on_curve(L.l, q_R - h * u_R), q - h * u, u, S)[3]
    power = np.sum(F * u) + np.sum(F_R * u_R)
    assert lost > 0
    assert -(ahead - behind) / (2 * h) - lost == pytest.approx(power, rel=1e-6)
    bent = [
        evaluate(L._replace(GA=0, GJ=0, EI=0), on_curve(L.l, q_R + s * h * u_R), q + s * h * u, u, S)[3]
        for s in (1, -1)
    ]
    assert (bent[0] - bent[1]) / (2 * h) == pytest.approx(tension, rel=1e-6)


@pytest.mark.interpreted
def test_tilting_the_ring_as_a_whole_costs_nothing() -> None:
    L, q_R, _ = belt_ring(np.random.default_rng(3))
    L = L._replace(camber=0.0)
    tilt = np.array([3e-3, -2e-3])
    q = np.column_stack([q_R[:, 1] * tilt[0] - q_R[:, 0] * tilt[1] + 1e-3, *np.tile(tilt, (L.N_B, 1)).T])
    F, F_R, _, energy, _ = evaluate(L, on_curve(L.l, q_R), q, 0 * q, np.zeros(L.N_B))
    assert energy < 1e-20
    assert np.abs(F).max() < 1e-9
    assert np.abs(F_R).max() < 1e-9


@pytest.mark.interpreted
@pytest.mark.parametrize("width", [8.7e-3, 1e-3])
def test_cantilever_bends_as_timoshenko_says_with_second_order(width: float) -> None:
    """Both halves of a beam on two supports are cantilevers with half the load."""
    length, error = 0.12, []
    for n in (8, 16, 32):
        L, c = strip(2 * n + 2, length / n, width), line(2 * n + 2, length / n)
        dofs = np.arange(3 * (2 * n + 2)).reshape(-1, 3)
        # no moments at the supports, nodes 1 and 2 n + 1
        free = np.concatenate([dofs[2 : 2 * n + 1, 0], dofs[1 : 2 * n + 1, 2]])
        K = stiffness(L, c, 0.0, free)
        hinge = L.EI / L.l
        K[2 * n - 1, 2 * n - 1] -= hinge
        K[-1, -1] -= hinge
        load = np.zeros(len(free))
        load[n - 1] = 2.0
        tip = np.linalg.solve(K, load)[n - 1]
        error.append(tip / (length**3 / (3 * L.EI) + length / L.GA) - 1)
    assert abs(error[-1]) < 1e-3
    assert np.log2(error[1] / error[2]) == pytest.approx(2, abs=0.05)


@pytest.mark.interpreted
def test_quarter_circle_under_a_load_across_its_plane() -> None:
    """F r^3 (pi/(4 EI) + (3 pi - 8)/(4 GJ)) + F r pi/(2 GA): bending and torsion are coupled by the curvature."""
    r, error = 0.04, []
    for n in (16, 32, 64):
        step = 0.5 * np.pi / n
        angle = step * (np.arange(2 * n + 1) - n)
        q = np.zeros((2 * n + 1, 5))
        q[:, 0], q[:, 1], q[:, 2] = r * np.sin(angle), r * np.cos(angle), -angle
        L = strip(2 * n + 1, 2 * r * np.sin(0.5 * step), layers=2, layer_height=1e-3)
        dofs = np.arange(3 * (2 * n + 1)).reshape(-1, 3)
        # half circle, loaded at its free ends, held in the middle
        free = np.concatenate([np.delete(dofs[:, 0], n), dofs[:-1, 1], dofs[:-1, 2]])
        every = stiffness(L, on_curve(L.l, q), 0.0, free)
        K = every.copy()
        m = 2 * n
        at = {int(d): a for a, d in enumerate(free)}
        first, last = at[int(dofs[0, 0])], at[int(dofs[m, 0])]
        # without the way back: its shear and both hinges at its ends
        back = on_curve(L.l, q).shape[m]
        column = {first: back[6], last: -back[6]}
        for a, ka in column.items():
            for b, kb in column.items():
                K[a, b] -= L.l * L.GA * ka * kb
        for k, node in ((0, 0), (m - 1, m)):
            c, s = np.cos(q[node, 2]), np.sin(q[node, 2])
            t, o = np.array([c, s]), np.array([-s, c])
            H = (L.GJ * np.outer(t, t) + L.EI * np.outer(o, o)) / L.l
            rows = [at[int(dofs[k, 1])], at[int(dofs[k, 2])]]
            K[np.ix_(rows, rows)] -= H
        load = np.zeros(len(free))
        load[[first, last]] = 1.0
        rows = [at[int(dofs[n - 1, 1])], at[int(dofs[n, 1])]]  # of the tangent, x, half an element each
        K[np.ix_(rows, rows)] += L.GJ / L.l
        z = np.linalg.solve(K, load)
        z0 = 0.5 * (z[first] + z[last])
        theory = r**3 * (np.pi / (4 * L.EI) + (3 * np.pi - 8) / (4 * L.GJ)) + 0.5 * np.pi * r / L.GA
        error.append(z0 / theory - 1)
    assert abs(error[-1]) < 2e-3
    assert np.log2(error[1] / error[2]) == pytest.approx(2, abs=0.2)


@pytest.mark.interpreted
def test_strip_twists_by_its_layers_and_its_tension() -> None:
    n, l, S, torque = 20, 5e-3, 3000.0, 0.01  # noqa: E741
    L = strip(n, l)
    dofs = np.arange(3 * n).reshape(-1, 3)
    K = stiffness(L, line(n, l), S, dofs[1 : n - 1, 1])  # elements 0 and n - 1 are held
    load = np.zeros(n - 2)
    load[8] = torque
    turn = np.linalg.solve(K, load)
    GJ = L.GJ + S * L.r_w2
    assert turn[8] == pytest.approx(torque / GJ * l / (1 / 9 + 1 / 10), rel=1e-9)


def dispersion(L: lat.Lateral, S: float, k: np.ndarray) -> np.ndarray:
    """Angular frequencies (len(k), 2) of z and yaw in an endless straight strip."""
    n = L.N_B
    c, mid, found = line(n, L.l), n // 2, []
    for wave in k:
        x, h = L.l * (np.arange(n) - mid), 0.5 * L.l
        zc, ts = np.zeros((n, 3)), np.zeros((n, 3))
        zc[:, 0], ts[:, 2] = np.cos(wave * x), np.sin(wave * (x + h))
        rest, tension = np.zeros((n, 3)), np.full(n, S)
        from_z = evaluate(L, c, zc, rest, tension)[0]
        from_t = evaluate(L, c, ts, rest, tension)[0]
        half = np.sin(wave * h)
        K = -np.array([[from_z[mid, 0], from_t[mid, 0]], [from_z[mid, 2] / half, from_t[mid, 2] / half]])
        found.append(np.sort(np.linalg.eigvals(K / [[L.m], [L.J]]).real))
    return np.sqrt(np.array(found))


@pytest.mark.interpreted
def test_waves_of_a_band_under_tension_are_timoshenkos() -> None:
    """(GA k^2 + S k^2 - m w^2)(EI k^2 + GA - J w^2) = (GA k)^2 per length, for waves longer than ten elements."""
    L, S = strip(40, 6.355e-3), 2500.0
    m, J = L.m / L.l, L.J / L.l
    k = np.linspace(5.0, 2 * np.pi / (10 * L.l), 12)
    theory = []
    for a in k:
        K = np.array([[(L.GA + S) * a**2, -L.GA * a], [-L.GA * a, L.EI * a**2 + L.GA]])
        theory.append(np.sort(np.linalg.eigvals(K / [[m], [J]]).real))
    found = dispersion(L, S, k)
    np.testing.assert_allclose(found[:, 0], np.sqrt(theory)[:, 0], rtol=0.03)
    np.testing.assert_allclose(found[:3, 0], np.sqrt(theory)[:3, 0], rtol=3e-3)
    # the slowest phase, at which a band that moves past a fixed place becomes critical: long waves, sqrt(S/m)
    phase = found[:, 0] / k
    assert np.all(np.diff(phase) > 0)
    assert phase[0] == pytest.approx(np.sqrt((S + L.EI * k[0] ** 2) / m), rel=0.01)


@pytest.mark.interpreted
def test_largest_frequency_is_below_its_bound_and_that_of_the_planar_ring() -> None:
    b = begun().belt
    L = strip(b.N_B, b.l_R / b.N_B)
    found = dispersion(L, 0.0, np.linspace(1.0, 0.999 * np.pi / L.l, 60))
    assert found.max() == pytest.approx(lat.highest_frequency(L), rel=1e-3)
    assert lat.highest_frequency(L) < 2 / L.l * np.sqrt(b.EA / b.rhoA)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_a_load_that_runs_along_the_band_kinks_it_as_if_it_stiffened_to_the_critical_speed(share: float) -> None:
    """Ahead of it z = F (c + v)/(2 c (S - m v^2)) (c t - x), c = sqrt(S/m); nothing stays finite at v = c."""
    n, l, S, F = 600, 6.355e-3, 20000.0, 10.0  # noqa: E741
    L = strip(n, l, width=1.5e-3, layer_height=3e-4)
    m = L.m / l
    c_wave = np.sqrt(S / m)
    v, dt = share * c_wave, 1e-6
    T = 0.42 * n * l / c_wave
    c, q, u, tension = line(n, l), np.zeros((n, 3)), np.zeros((n, 3)), np.full(n, S)
    twist, bow, rest = np.zeros((n, 4)), np.zeros((n, 2)), np.zeros((n, 5))
    tension[-1] = 0.0
    for i in range(int(T / dt)):
        q += dt * u
        force = np.zeros((n, 3))
        lat.stretches(L, q, u, rest, c.cs, c.sn, twist, bow)
        twist[[0, n - 1]] = 0.0
        lat.forces(L, q, u, c.shape, c.rate, c.cs, c.sn, twist, tension, force, np.zeros((n, 5)))
        place = n // 2 + v * i * dt / l
        k = int(place)
        force[k, 0] += F * (k + 1 - place)
        force[k + 1, 0] += F * (place - k)
        force[[0, n - 1]] = 0.0
        accelerate(lat.masses(L), force, u, dt)
    x = l * (np.arange(n) - n // 2)
    ahead = (x > v * T + 0.2 * (c_wave - v) * T) & (x < v * T + 0.7 * (c_wave - v) * T)
    slope = np.polyfit(x[ahead], q[ahead, 0], 1)[0]
    assert -slope == pytest.approx(F * (c_wave + v) / (2 * c_wave * (S - m * v**2)), rel=0.03)
