"""Layers of the ring set: bands over two pulleys, band by band, and the loss in the full model."""

from types import SimpleNamespace

import numpy as np
import pytest
from pushbelt_starts import UNIT, begun
from pushbelt_steps import stepping

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact import layers as ly
from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.contact.element_ring import Band
from rtcvt.offline.pushbelt.planar import model as hy
from rtcvt.offline.pushbelt.unit.parameters import belt, read_parameters
from rtcvt.unitfile import parse_unit_file

PLOT = 1e-4


BELT, MU = belt(UNIT), 0.05


def turned_round(p: ly.Sliding, N: np.ndarray, omega: np.ndarray) -> float:
    """Omega_L once it rests."""
    Omega = 0.0
    for _ in range(200):
        Omega = ly.balanced(p, N, omega, 0.0, Omega, 1e-4)
    return Omega


def test_bands_over_two_pulleys_slide_on_the_smaller_one() -> None:
    """v_rel of neighbours is t_L v (1/r - 1/r_L), and the loss the sum of mu_L N v_rel over joints and saddles."""
    b = BELT
    p, n, t = ly.sliding(b, MU, 1e-6), b.layers, b.h_ring / b.layers
    v, r_small, r_large = 15.0, 0.035, 0.075
    N = np.r_[np.full(40, 120.0), np.full(90, 110.0)]  # of the saddles: the larger arc presses more as a whole
    omega = v / np.r_[np.full(40, r_small), np.full(90, r_large)]
    Omega = turned_round(p, N, omega)
    v_rel = t * (omega - Omega)
    assert v_rel[:40] == pytest.approx(t * v * (1.0 / r_small - 1.0 / r_large), rel=1e-4)
    assert np.abs(v_rel[40:]).max() < 1e-5
    by_joint = sum(MU * (n - j) / n * N[:40].sum() * v_rel[0] for j in range(1, n))
    s = Omega - omega
    assert np.sum(p.c * N * s**2 / np.hypot(s, p.omega_0)) == pytest.approx(by_joint, rel=1e-3)


def test_each_joint_alone_is_in_balance_at_the_same_round_run() -> None:
    rng = np.random.default_rng(5)
    N, omega = rng.uniform(0.0, 200.0, 160), -rng.uniform(150.0, 500.0, 160)
    b = BELT
    p, n, t = ly.sliding(b, MU, 0.01), b.layers, b.h_ring / b.layers
    Omega = turned_round(p, N, omega)
    for j in range(1, n):
        v_rel = t * (Omega - omega)
        friction = MU * (n - j) / n * N * v_rel / np.hypot(v_rel, 0.01)
        assert abs(friction.sum()) < 1e-6 * np.abs(friction).sum()


def test_energy_of_the_round_run_is_that_of_the_bands() -> None:
    b = BELT
    n, t, Omega = b.layers, b.h_ring / b.layers, 300.0
    speeds = 15.0 - t * (np.arange(n) - 0.5 * (n - 1)) * Omega
    m = b.rhoA * b.l_R
    kinetic = 0.5 * m / n * np.sum(speeds**2)
    assert 0.5 * ly.sliding(b, MU, 0.01).I * Omega**2 == pytest.approx(kinetic - 0.5 * m * 15.0**2, rel=1e-9)


@pytest.mark.interpreted
def test_works_on_the_round_run_are_its_energy_and_the_loss() -> None:
    """Steps in Python: of the two pulleys together; the loss is that of all saddles at the speeds of the step's end."""
    one, dt = begun("LOW", 0, 1, 1e-6), 1e-6
    p = ly.sliding(one.belt, MU, 0.01)
    m, x = hy.model(one.belt, one.sheaves, layers=p), one.state
    w, booked = hy.scratch(m, x, 1), 0.0
    turn = x.turn[0] = -250.0
    for book in stepping(m, x, w, one.inputs, 4, dt):
        band, touch, lost = Band(m.ring, w.ring.shape, w.ring.rate, w.ring.load), w.saddles.touch, SimpleNamespace()
        lost.layer_friction = 0.0
        own = ly.layer_work(p, m.saddle, band, w.saddles.N, x.memory, touch, x.turn, dt, (0.0, 0.0), lost)
        stored = 0.5 * p.I * (x.turn[0] ** 2 - turn**2)
        assert sum(own) == pytest.approx(stored + lost.layer_friction, rel=1e-5)
        assert book.layer_friction - booked == pytest.approx(lost.layer_friction, rel=1e-9)
        turn, booked = x.turn[0], book.layer_friction
    s = turn - touch.omega
    power = np.sum(p.c * touch.pressed * s**2 / np.hypot(s, p.omega_0))
    assert lost.layer_friction == pytest.approx(dt * power, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "row"), [("LOW", 0), ("OD-KpKs", 4)])
def test_the_full_model_loses_what_bands_on_two_pulleys_do(case: str, row: int) -> None:
    """Two arcs by their means over 10 ms: force of the saddles, speed of the elements, radius of the ring."""
    one = begun(case, row, 200, PLOT)
    b = one.belt
    p = ly.sliding(b, MU, 0.01)
    out, done = hy.run(hy.model(b, one.sheaves, layers=p), one.state, one.inputs, 40, 2.5e-6, n_R=2)
    assert done == 200
    out = hy.Frames(*[a[100:] for a in out])
    rest, losses, _ = hy.residual(out)
    assert abs(rest) < 3e-3 * losses
    primary = out.q[:, :, 0] > 0.5 * b.d_A
    r = np.hypot(out.q[:, :, 0] - np.where(primary, b.d_A, 0.0), out.q[:, :, 1])
    N = np.maximum(out.saddle[:, :, 0], 0.0)
    speed = np.hypot(out.u[:, :, 0], out.u[:, :, 1]).mean()
    pressed = np.array([np.sum(N * on, axis=1).mean() for on in (primary, ~primary)])
    radii = np.array([np.sum(N * r * on) / np.sum(N * on) for on in (primary, ~primary)])
    omega = speed / (radii + b.h_P - b.h_S + 0.5 * b.h_ring)
    s = turned_round(p, pressed, omega) - omega
    lost = dict(zip(hy.LOSSES, ledger.losses_of(out.work).mean(axis=0) / PLOT, strict=True))["ring layer friction"]
    assert lost == pytest.approx(np.sum(p.c * pressed * s**2 / np.hypot(s, p.omega_0)), rel=0.05)


def test_frictionless_layers_are_no_unit() -> None:
    text = UNIT.text.replace("mu_R = 0.05", "mu_L = 0.0\nmu_R = 0.05")
    with pytest.raises(InputError, match="mu_L"):
        read_parameters(parse_unit_file(text, "belt.toml"))
