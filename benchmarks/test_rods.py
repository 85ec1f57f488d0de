"""Cost of a step of the rods and of the pushbelt's ring, one thread; 104 edges, 0.66 m.

`extra_info` and the printed lines hold the cost of one step [us], the least of the rounds.
"""

import time

import numpy as np
import pytest
from numba import njit

from rtcvt.offline.pushbelt.ring import ring as rcm
from rtcvt.offline.pushbelt.unit.initial import ring_on
from rtcvt.offline.pushbelt.unit.kinematics import belt_path, closure
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.offline.rods import planar as pl
from rtcvt.offline.rods import reduction as rd
from rtcvt.offline.rods import spatial as sp
from studies.rod_start import planar_start, spatial_start

BELT = belt(load_parameters("pushbelt_24mm"), N_E0=432)
PATH = belt_path(closure(BELT.l_R, BELT.d_A, 1.0), BELT.d_A)
N, STEPS = BELT.N_B, 1000


def flat():
    section = dict(EA=BELT.EA, GA=0.32 * BELT.EA, EI=BELT.EI, rhoA=BELT.rhoA)
    return pl.planar_rod(N, BELT.l_R, closed=True, turn=-2 * np.pi, **section)


def planar():
    rod = flat()
    q, u = planar_start(PATH, N, 10.0)
    arguments = rod, q, u, pl.inverse_mass(rod), np.zeros(q.size), 1e-8, STEPS
    return lambda: pl.march(*arguments)


def spatial():
    GA, GI, inertia = 0.32 * BELT.EA, 0.4 * BELT.EI, BELT.rhoA * BELT.EI / BELT.EA
    rod = sp.spatial_rod(
        N,
        BELT.l_R,
        closed=True,
        turn=-2 * np.pi,
        strain=(BELT.EA, GA, GA),
        bend=(GI, BELT.EI, BELT.EI),
        rhoA=BELT.rhoA,
        rhoI=(2 * inertia, inertia, inertia),
    )
    q, u = spatial_start(PATH, N, 10.0, (1e-3, -1e-3))
    arguments = rod, q, u, 1.0 / sp.mass(rod), np.zeros(q.size), 1e-9, STEPS
    return lambda: sp.march(*arguments)


def reduced(modes):
    rod, (q, _) = flat(), planar_start(PATH, N, 10.0)
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((q.size, modes)))[0] / np.sqrt(pl.mass(rod))[:, None]
    R = rd.galerkin(rod, q, V, np.zeros(q.size))
    return lambda: rd.march(rod, R, np.zeros(modes), np.zeros(modes), 1e-9, STEPS)


@njit
def step_redundant(R, q, cs, sn, u, shape, rate, load, F, S):
    for _ in range(STEPS):
        rcm.shape_of(R, q, cs, sn, shape)
        rcm.rate_of(R, u, shape, rate)
        rcm.forces(R, shape, rate, load, F, S)
        rcm.advance(R, F, u, 0.0)


def redundant():
    """The ring of the pushbelt: map, rates, forces, velocities; its positions are left where they are."""
    R = rcm.ring(BELT)
    q, u = ring_on(PATH, N, 10.0)
    cs, sn = np.cos(q[:, 2]), np.sin(q[:, 2])
    shape, rate, load = (np.zeros((N, k)) for k in (rcm.N_SHAPE, rcm.N_RATE, rcm.N_LOAD))
    F, S = np.zeros((N, rcm.NQ)), np.zeros(N)

    return lambda: step_redundant(R, q, cs, sn, u, shape, rate, load, F, S)


CASES = {
    "pushbelt's ring": redundant,
    "planar": planar,
    "spatial, four stages": spatial,
    "POD, 20 modes": lambda: reduced(20),
    "POD, 60 modes": lambda: reduced(60),
}


@pytest.mark.benchmark(timer=time.thread_time)
@pytest.mark.parametrize("name", CASES)
def test_step(benchmark, name):
    benchmark.pedantic(CASES[name](), rounds=10, warmup_rounds=1)
    cost = benchmark.stats.stats.min / STEPS * 1e6
    benchmark.extra_info.update(step_us=cost)
    print(f"\n{name}: {cost:.2f} us a step")
