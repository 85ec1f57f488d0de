"""The spatial Cosserat rod as ring of a side: forces and energy of the library's rod, damping, no damping of a turn."""

from typing import Any

import numpy as np
import pytest

from rtcvt.offline.pushbelt.compiled import columns
from rtcvt.offline.pushbelt.ring import cosserat as co
from rtcvt.offline.pushbelt.ring import ring as rg
from rtcvt.offline.pushbelt.spatial import lateral, rod
from rtcvt.offline.rods import spatial as library

N = 24
L = lateral.lateral(
    N_B=N, length=0.67, width=8.7e-3, layers=10, layer_height=1.85e-4, E=2e11, density=7800.0, time=1e-6, camber=0.3
)
R = co.Cosserat(N, 0.67 / N, 3e6, 1e6, 0.02, d_axial=0.3, d_shear=0.1, d_bend=0.01, m=L.m, J=1e-6, turn=-2.0 * np.pi,
                h2=1e-3)  # fmt: skip


def state(tilt: float, u: Any = None) -> tuple[Any, ...]:
    """q_R, u_R, q_L, u_L of a ring far out of its plane; rates `u` or none."""
    rng, phi, r = np.random.default_rng(0), -2.0 * np.pi * np.arange(N) / N, 0.5 * 0.67 / np.pi
    q, q_L, rates = columns(N, 5), columns(N, 3), (columns(N, 5), columns(N, 3))
    q[:, :2] = np.column_stack([r * np.cos(phi), r * np.sin(phi)]) + 1e-3 * rng.standard_normal((N, 2))
    q[:, 2] = phi - np.pi / 2.0 - np.pi / N + 0.05 * rng.standard_normal(N)
    q_L[:] = rng.standard_normal((N, 3)) * [1e-3, tilt, tilt]
    if u is not None:
        rates[0][:, :3], rates[1][:] = u(q, q_L)
    return q, rates[0], q_L, rates[1]


def forces(at: tuple[Any, ...], L: lateral.Lateral = L) -> tuple[Any, float, float]:
    """Forces (6 N,) in the library's order, power of damping, energy."""
    q, u, q_L, _ = at
    angle = np.cos(q[:, 2]), np.sin(q[:, 2])
    shape, rate, load, F, F_L, S = (columns(N, n) for n in (rg.N_SHAPE, rg.N_RATE, rg.N_LOAD, 5, 3, 1))
    co.shape_of(R, q, *angle, shape)
    co.rate_of(R, u, shape, rate)
    power = sum(rod.strained(R, L, at, angle, shape, rate, load, F, F_L, S[:, 0])) + rod.bent(R, L, at, angle, F, F_L)
    co.vertices(R, shape, load, F)
    return packed(F, F_L), power, sum(rod.stored(R, L, q, q_L, angle, shape))


def packed(a: Any, b: Any) -> Any:
    return np.column_stack([a[:, :2], b, a[:, 2]]).ravel()


@pytest.mark.interpreted
def test_forces_and_energy_are_those_of_the_librarys_rod() -> None:
    at = state(0.2)
    of = library.spatial_rod(
        N, N * R.l, strain=(R.EA, R.GA, L.GA), bend=(L.GJ, L.EI, R.EI), rhoA=1.0, rhoI=(1.0, 1.0, 1.0), closed=True,
        turn=R.turn, kappa_0=(0.0, L.camber, 0.0),
    )  # fmt: skip
    F, none = np.zeros(6 * N), np.zeros(6 * N)
    library.forces(of, packed(at[0], at[2]), none, F)
    found, power, energy = forces(at)
    np.testing.assert_allclose(found, F, atol=1e-12 * np.abs(F).max())
    assert power == 0.0
    assert energy == pytest.approx(sum(library.energies(of, packed(at[0], at[2]), none)), rel=1e-12)


@pytest.mark.interpreted
def test_damping_takes_the_power_that_it_books_and_none_of_a_ring_that_turns() -> None:
    def any_rates(q: Any, q_L: Any) -> Any:
        rng = np.random.default_rng(1)
        return rng.standard_normal((N, 3)) * [1.0, 1.0, 30.0], rng.standard_normal((N, 3)) * [1.0, 30.0, 30.0]

    def turning(q: Any, q_L: Any) -> Any:
        """About z, with small angles: Theta turns with the ring."""
        return np.column_stack([-q[:, 1], q[:, 0], np.ones(N)]), np.column_stack(
            [0.0 * q_L[:, 0], -q_L[:, 2], q_L[:, 1]]
        )

    at = state(0.2, any_rates)
    found, power, _ = forces(at)
    still, _, _ = forces((at[0], 0.0 * at[1], at[2], 0.0 * at[3]))
    u = packed(at[1], at[3])
    assert -(found - still) @ u == pytest.approx(power, rel=1e-10)
    lost = [forces(state(tilt, turning))[1] / forces(state(tilt, any_rates))[1] for tilt in (1e-2, 1e-3)]
    assert lost[0] < 1e-9
    assert lost[1] < 1e-2 * lost[0]
