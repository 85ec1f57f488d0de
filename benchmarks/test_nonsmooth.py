"""Lemke, fixed point and Newton side by side on one complementarity problem (Cebulla 2014, section 5.2.5).

Problems: the Maxwell contact of n elements on half a turn of a sheave, influence matrix of eqs. (5.54) and (5.56) with
axial gaps as from a tilted sheave; and a random positive definite matrix of condition 1e4. On a busy machine Newton
is measured best with OPENBLAS_NUM_THREADS=1.
"""

import statistics
import time

import numpy as np
import pytest

from rtcvt.offline.nonsmooth import contact
from rtcvt.offline.nonsmooth.lcp import fixed_point, newton
from rtcvt.offline.nonsmooth.lemke import lemke
from rtcvt.offline.pushbelt.contact import flank
from rtcvt.offline.pushbelt.contact import maxwell as maxwell_law
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters, sheaves

SIZES = (10, 30, 100, 220)
WEIGHTS = (0.25, 0.59, 0.09, 0.04, 0.03)
C_RAD, C_EL = 2.9e-9, 1.0e8  # m/N at a radius of 50 mm, N/m


def maxwell(n):
    """Half the contacts or so are closed: the sheave tilts and the gaps carry the scatter of the elements."""
    phi = np.linspace(0.0, np.pi, n)
    C = sum(C_RAD * A_k * np.cos(k * (phi[:, None] - phi[None, :])) for k, A_k in enumerate(WEIGHTS))
    C = C + np.eye(n) / C_EL
    rng = np.random.default_rng(1)
    return C, -20e-6 * np.cos(phi - 0.4) - 5e-6 + 2e-6 * rng.normal(size=n)


def ill_conditioned(n):
    rng = np.random.default_rng(2)
    Q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return Q @ np.diag(np.geomspace(1.0, 1e-4, n)) @ Q.T, rng.normal(size=n)


PROBLEMS = {"maxwell": maxwell, "condition 1e4": ill_conditioned}
SOLVERS = {"lemke": lemke, "fixed point": fixed_point, "newton": newton}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", SIZES)
def test_maxwell_contact(benchmark, n, solver):
    C, gaps = maxwell(n)
    SOLVERS[solver](C, gaps)
    solution = benchmark.pedantic(SOLVERS[solver], (C, gaps), rounds=20, warmup_rounds=1)
    benchmark.extra_info.update(iterations=solution.iterations, residual=solution.residual)


@pytest.mark.parametrize("n", SIZES)
def test_maxwell_contact_of_the_belt(benchmark, n):
    """Newton's method in Fourier space (`pushbelt.contact.maxwell`) on the same problem, from nothing."""
    _, gaps = maxwell(n)
    unit = load_parameters("pushbelt_24mm")
    s = sheaves(unit)._replace(a=((C_RAD,),) * len(WEIGHTS), A=WEIGHTS, multiplier=1.0, c_t=1e30)
    law, b, fl = maxwell_law.Coupled(s), belt(unit)._replace(c_el=C_EL), flank.flanks(n, 1)
    phi = np.linspace(0.0, np.pi, n)
    fl.pulley[:], fl.pen[:, 0], fl.r[:] = 0, -gaps, 0.05
    flank.find_stretches(fl)
    fl.phi[:, 0, 0], fl.phi[:, 0, 1] = np.cos(phi), np.sin(phi)
    mx = maxwell_law.maxwell(len(WEIGHTS) - 1, n)

    def solve():
        mx.z[:], fl.w[:] = 0.0, 0.0
        return maxwell_law.newton(law, b, fl, mx, 30)

    assert solve() == 0
    assert b.c_el * np.maximum(0.0, fl.pen - fl.w)[:, 0] == pytest.approx(lemke(*maxwell(n)).z, abs=1e-6)
    benchmark.pedantic(solve, rounds=20, warmup_rounds=1)


@pytest.mark.parametrize("contacts", [4, 16, 64])
@pytest.mark.parametrize("solve", [contact.fixed_point, contact.newton], ids=["fixed point", "newton"])
def test_spatial_friction(benchmark, contacts, solve):
    rng = np.random.default_rng(3)
    m = 3 * contacts
    W = rng.normal(size=(m + 10, m))
    p = contact.contact_problem(W.T @ W / m, rng.normal(size=m), np.full(contacts, 0.3), np.zeros(contacts))
    solve(p)
    solution = benchmark.pedantic(solve, (p,), rounds=20, warmup_rounds=1)
    benchmark.extra_info.update(iterations=solution.iterations, residual=solution.residual)


def median_ms(solve, repetitions=3):
    solve()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        solve()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def test_table(benchmark):
    """Iterations and milliseconds of all solvers, cold and from the solution of a close problem."""
    rows = []
    for name, problem in PROBLEMS.items():
        for n in SIZES:
            A, b = problem(n)
            near = newton(A, b * (1.0 + 1e-2 * np.cos(np.arange(n)))).z
            cells = []
            for solve in (
                lambda A=A, b=b: lemke(A, b),
                lambda A=A, b=b: fixed_point(A, b),
                lambda A=A, b=b, near=near: fixed_point(A, b, start=near),
                lambda A=A, b=b: newton(A, b),
                lambda A=A, b=b, near=near: newton(A, b, start=near),
            ):
                cells.append(f"{solve().iterations:7d} {median_ms(solve):9.3f}")
            rows.append(f"{name:14s}{n:5d}{np.count_nonzero(near):7d} |" + " |".join(cells))
    head = "".join(f"{s:>18s} |" for s in ("lemke", "fixed point", "the same, warm", "newton", "the same, warm"))
    print(f"\n{'problem':14s}{'n':>5s}{'closed':>7s} |{head}   each: iterations, ms")
    print("\n".join(rows))
    A, b = maxwell(220)
    benchmark.pedantic(newton, (A, b), rounds=5)
