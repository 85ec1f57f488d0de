"""Do threads within a step pay for a belt of rigid elements, as Kubas 2017, section 6, has in mind?

    python benchmarks/belt_threads.py

Prints the parts of a step of `two_pulley_5pk`, and its contact loop on one thread and on two, also of longer belts;
least time of many calls [us].
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit, prange, set_num_threads

from rtcvt.kind import load_unit
from rtcvt.offline.belt import element_forces, rigid_elements, rosenbrock
from rtcvt.offline.belt.ring_solver import factorise


def least(f: Callable[[], Any], calls: int = 3000) -> float:
    """Least wall-clock time of a call [us]."""
    found = np.inf
    for _ in range(calls):
        begun = time.perf_counter()
        f()
        found = min(found, time.perf_counter() - begun)
    return 1e6 * float(found)


def contacts(x, z, vx, vz, P, r_k, w_k, c_1, c_2, b, p_max, mu, dv, ax, ay):  # type: ignore[no-untyped-def]
    """Normal force and friction of all elements on all pulleys, as in `element_forces.rates`."""
    for i in prange(x.size):
        fx, fy = 0.0, 0.0
        for j in range(r_k.size):
            rx, ry = x[i] - P[j, 0], z[i] - P[j, 1]
            r = np.sqrt(rx * rx + ry * ry)
            if r < r_k[j]:
                nx, ny, p = rx / r, ry / r, r_k[j] - r
                u = min(p / p_max, 1.0)
                N = max((c_1 * p + c_2) * p - u * u * (3.0 - 2.0 * u) * b * (vx[i] * nx + vz[i] * ny), 0.0)
                s = min(max((w_k[j] * r - vz[i] * nx + vx[i] * ny) / dv, -1.0), 1.0)
                T = 0.5 * mu * s * (3.0 - s * s) * N
                fx += N * nx - T * ny
                fy += N * ny + T * nx
        ax[i], ay[i] = fx, fy


def main() -> None:
    """Measure and print."""
    d, y = rigid_elements.at_rest(load_unit("two_pulley_5pk"))
    n, k = d.n, len(d.r_k)
    o = 3 * n + k
    w, W, memory, trial = element_forces.scratch(d), rosenbrock.matrices(n, k), np.zeros((8, y.size)), np.empty_like(y)
    feed = element_forces.Feed(0.0, np.zeros(k), np.zeros(k))
    element_forces.rates(0.0, y, memory[6], d, feed, w)
    parts = {
        "forces": lambda: element_forces.rates(0.0, y, memory[7], d, feed, w),
        "tangent": lambda: rosenbrock.tangent(y, d, 1e6, W),
        "tangent, factored": lambda: (rosenbrock.tangent(y, d, 1e6, W), factorise(W.D, W.G, W.N, W.F, W.S)),
        "step": lambda: rosenbrock.step(0.0, 1e-6, y, memory[6], memory, trial, d, feed, w, W),
    }
    for name, f in parts.items():
        f()
        print(f"{name}: {least(f):.1f} us")
    set_num_threads(2)
    for belts in (1, 8, 64):
        at = [np.tile(y[a : a + n], belts) for a in (0, n, o, o + n)]
        given = (*at, d.P_k, d.r_k, np.zeros(k), d.c_1, d.c_2, d.b, d.p_max, 1.0, d.dv, *np.zeros((2, n * belts)))
        for threads, parallel in ((1, False), (2, True)):
            loop = partial(njit(parallel=parallel, fastmath=True)(contacts), *given)
            loop()
            print(f"contacts of {n * belts} elements, {threads} threads: {least(loop):.2f} us")


if __name__ == "__main__":
    main()
