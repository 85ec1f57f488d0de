"""Space-fixed fields: geometry of the taut path, conservation, order of the interpolation, slip of known motions."""

import json

import numpy as np
import pytest
from pushbelt_starts import begun

from rtcvt.offline.pushbelt.bearings import bearing_forces, passing_orders
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.snapshots import (
    CELLS,
    FIELDS,
    flank_slip,
    interpolated,
    line_density,
    revolutions,
    snapshots,
)
from rtcvt.offline.pushbelt.unit import kinematics
from rtcvt.offline.pushbelt.unit.taut_path import TautPath, place_on, taut_path

D_A = 0.155
LENGTH = 0.66


def path_points(ratio, n, offset=0.0):
    """Points along a taut belt, `offset` outside of it, with the section and fraction that belong to them."""
    c = kinematics.closure(LENGTH, D_A, ratio)
    path = kinematics.belt_path(c, D_A)
    s = (np.arange(n) + 0.5) * path.length / n
    p = kinematics.evaluate(path, s)
    points = np.column_stack([p.x - offset * np.sin(p.psi), p.y + offset * np.cos(p.psi)])
    start = path.s[p.section]
    fraction = (s - start) / np.diff(path.s)[p.section]
    return c, points, (p.section - kinematics.PRIMARY) % 4 + fraction


@pytest.mark.parametrize("ratio", [0.45, 1.0, 2.4])
def test_taut_path_finds_radii_of_a_taut_belt(ratio):
    c, points, _ = path_points(ratio, 400)
    path = taut_path(np.stack([points, 1.01 * points]), D_A)
    assert (path.r_I[0], path.r_O[0]) == pytest.approx((c.r_I, c.r_O), abs=2e-6)
    assert path.lengths[0] == pytest.approx([c.r_I * c.wrap_I, c.t_L, c.r_O * c.wrap_O, c.t_L], abs=2e-5)
    assert path.r_O[1] == pytest.approx(1.01 * c.r_O, abs=1e-4)


@pytest.mark.parametrize("ratio", [0.45, 1.0, 2.4])
@pytest.mark.parametrize("offset", [0.0, 1e-3, -1e-3])
def test_place_of_points_beside_the_path(ratio, offset):
    c, _, _ = path_points(ratio, 10)
    _, points, expected = path_points(ratio, 999, offset)
    path = TautPath(*(np.array([a]) for a in (c.r_I, c.r_O, c.phi)), D_A)
    sigma, distance = place_on(path, points[None])
    assert sigma[0] == pytest.approx(expected, abs=1e-12)
    assert distance[0] == pytest.approx(offset, abs=1e-14)


def uneven(n, seed=0):
    s = np.sort((np.arange(n) + np.random.default_rng(seed).uniform(-0.3, 0.3, n)) / n % 1.0) * LENGTH
    return s


def test_line_density_conserves_the_sum_at_any_spacing():
    f = np.random.default_rng(1).normal(size=(220, 3))
    edges = np.concatenate([[0.0], np.sort(np.random.default_rng(2).uniform(0.0, LENGTH, 99)), [LENGTH]])
    for n in (1, 3):
        s = np.stack([uneven(220, k) for k in range(n)])
        g = line_density(s, np.tile(f, (n, 1, 1)), np.tile(edges, (n, 1)), np.full(n, LENGTH))
        for one in g:
            assert np.diff(edges) @ one == pytest.approx(f.sum(axis=0), rel=1e-11)


@pytest.mark.parametrize("time", [0.0, 0.2, 0.7])
def test_travelling_wave_is_met_with_second_order(time):
    """Elements that move through a wave that itself moves: the grid, fixed in space, sees the wave."""
    edges = np.linspace(0.0, LENGTH, 257)
    middle = 0.5 * (edges[1:] + edges[:-1])

    def wave(s):
        return 2.0 + np.cos(2.0 * np.pi * (5.0 * s / LENGTH - time))

    def errors(n):
        s = np.sort((np.arange(n) / n + 0.37 * time) % 1.0) * LENGTH
        length = np.array([LENGTH])
        force = wave(s)[None, :, None] * LENGTH / n
        exact = np.diff(2.0 * edges + LENGTH / (10.0 * np.pi) * np.sin(2 * np.pi * (5 * edges / LENGTH - time)))
        density = line_density(s[None], force, edges[None], length)[0, :, 0] - exact / np.diff(edges)
        values = interpolated(s[None], wave(s)[None, :, None], middle[None], length)[0, :, 0] - wave(middle)
        return np.array([np.sqrt(np.mean(density**2)), np.sqrt(np.mean(values**2))])

    order = np.log2(errors(150) / errors(600)) / 2.0
    assert np.all(np.abs(order - 2.0) < 0.2)


@pytest.fixture(scope="module")
def started():
    """Model and the frames of a short run of the OD case."""
    one = begun("OD", 0, 8)
    model = hybrid.model(one.belt, one.sheaves)
    frames, valid = hybrid.run(model, one.state, one.inputs, 100)
    assert valid == 8
    return model, frames, one.start


def test_slip_of_rigid_motions(started):
    model, frames, _ = started
    b, dt = model.belt, 1e-6
    omega = np.array([300.0, 150.0])
    q, u = frames.q[-1].copy(), np.zeros_like(frames.u[-1])
    s, sd = np.zeros((2, 4)), np.zeros((2, 4))
    sd[:, 3] = omega
    p = np.where(q[:, 0] > 0.5 * b.d_A, 0, 1)
    c = np.where(p == 0, b.d_A, 0.0)
    turn = -omega[p] * dt  # clockwise; u is the chord of the coming step
    x, y = q[:, 0] - c, q[:, 1]
    u[:, 0] = (x * np.cos(turn) - y * np.sin(turn) - x) / dt
    u[:, 1] = (x * np.sin(turn) + y * np.cos(turn) - y) / dt
    u[:, 2] = -omega[p]
    along, outwards = flank_slip(b, q, u, s, sd, dt)
    assert np.abs(along).max() < 1e-5
    assert np.abs(outwards).max() < 1e-4  # element arms turn on chords, too: omega^2 h dt/2
    sd[:, 3] = 0.0
    along, _ = flank_slip(b, q, u, s, sd, dt)
    cos, sin, x_E, y_E = np.cos(q[:, 2]), np.sin(q[:, 2]), 0.5 * b.t_R - b.t_S, b.y_P - b.h_S
    r_P = np.hypot(x + cos * x_E - sin * y_E, y + sin * x_E + cos * y_E)
    assert along == pytest.approx(omega[p] * r_P, rel=1e-6)
    sd[:, 0] = 0.1  # opening: the contact moves along the cone, outwards
    _, out = flank_slip(b, q, np.zeros_like(u), s, sd, dt)
    assert out == pytest.approx(-0.1 * b.sin_d * b.cos_d, rel=1e-9)


def test_slip_is_what_flank_friction_acts_against(started):
    model, x, _ = started
    along, outwards = flank_slip(model.belt, x.q, x.u, x.s, x.sd, 1e-6)
    closed = x.flank[..., 0] > 5.0
    slip, friction = np.stack([along, outwards], axis=-1)[closed], x.flank[..., 1:][closed]
    size = np.linalg.norm(slip, axis=-1) * np.linalg.norm(friction, axis=-1)
    assert closed.sum() > 500
    assert np.median(-np.sum(slip * friction, axis=-1) / size) > 0.999


def test_fields_of_a_run(started):
    model, x, start = started
    found = snapshots(model, x, 1e-6)
    assert set(found.fields) == set(FIELDS)
    width = np.repeat(found.length / CELLS, CELLS, axis=1)
    forces = {"flank_normal": x.flank[..., 0], "flank_longitudinal": x.flank[..., 1], "flank_radial": x.flank[..., 2],
        "ring_normal": x.saddle[..., 0] - x.saddle[..., 1], "ring_friction": x.saddle[..., 2]}  # fmt: skip
    for name, f in forces.items():
        integral = np.sum(found.fields[name] * width, axis=1)
        assert integral == pytest.approx(f.sum(axis=1), abs=1e-10 * np.abs(f).sum())
    geometry = start.steady.geometry
    assert found.radius == pytest.approx(np.tile([geometry.r_I, geometry.r_O], (8, 1)), abs=3e-5)
    assert np.abs(found.fields["ring_offset"]).max() < 1e-3  # the slack span sags
    arcs = np.repeat([True, False, True, False], CELLS)
    assert np.all(found.fields["slip_radial"][:, ~arcs] == 0.0)
    assert found.fields["flank_normal"][:, arcs].mean() > 100.0 * found.fields["flank_normal"][:, ~arcs].mean()
    speed = x.sd[:, 0, 3] * geometry.r_I
    travelled = np.diff(np.unwrap(found.sigma[:, ::20], period=4.0, axis=0), axis=0)
    assert np.all(travelled > 0.0)
    assert travelled.mean() * found.length.mean() == pytest.approx(speed.mean() * 1e-4, rel=0.1)


def test_revolutions_are_whole():
    sigma = (2.9 + 0.03 * np.arange(400)) % 4.0
    whole = revolutions(sigma)
    assert len(whole) == 2
    for rows in whole:
        assert sigma[rows][0] < 0.03
        assert sigma[rows][-1] > 3.96
        assert np.all(np.diff(sigma[rows]) > 0.0)
    assert revolutions(sigma[:50]) == []


class Held(dict):
    """Datasets and attributes as of a run's file."""

    def __init__(self, attrs, data):
        super().__init__(data)
        self.attrs = attrs


def test_bearing_forces_and_their_orders():
    """Half a turn of elements under one normal force: ``-2 sum 2 N sin delta sin``; a ripple is found by its order."""
    n, r, d_A, delta = 101, 0.04, 0.17, 0.19
    frames, each = 400, 0.11
    phi = 0.5 * np.pi - np.pi * np.arange(n) / (n - 1)
    place = np.stack([d_A + r * np.cos(phi), r * np.sin(phi)], axis=-1)
    crossed = each * np.arange(frames)
    ripple = 1.0 + 0.1 * np.cos(2.0 * np.pi * 2.0 * crossed)
    flank = np.zeros((frames, n, 3))
    flank[..., 0], flank[..., 1], flank[..., 2] = 50.0 * ripple[:, None], 3.0, 2.0
    belt = {"belt": {"d_A": d_A, "delta_0": delta}}
    file = Held({"parameters": json.dumps(belt)}, {
        "elements/position": np.broadcast_to(place, (frames, n, 2)), "elements/flank": flank, "crossings": crossed,
    })  # fmt: skip
    force = bearing_forces(file)
    lever = 2.0 * np.cos(phi).sum()
    np.testing.assert_allclose(force[:, 0, 0], -lever * (50.0 * ripple * np.sin(delta) + 2.0), rtol=1e-12)
    np.testing.assert_allclose(force[:, 0, 1], lever * 3.0, rtol=1e-12)
    np.testing.assert_array_equal(force[:, 1], 0.0)
    orders = passing_orders(file)
    assert set(orders) == {1, 2, 3}
    assert orders[2][0] == pytest.approx(lever * 5.0 * np.sin(delta), rel=0.02)
    assert orders[1][0] < 1e-3 * orders[2][0]
    assert set(passing_orders(Held(file.attrs, file | {"crossings": 2.4 * crossed}))) == {1}
    assert passing_orders(Held(file.attrs, file | {"crossings": 1e-3 * crossed})) == {}
