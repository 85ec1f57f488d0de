"""Tension ratio of a bent belt on a pulley: python -m studies.wrap_ends sliding|sticking.

sliding   the ANCF belt that slides over a fixed pulley, compared with the beam and the formula of
`rtcvt.belt.friction`:
          three radii, tensions and meshes
sticking  the ANCF belt that drives a pulley whose load grows until it slips

A beam (tension T, shear Q, moment M = EI kappa, angle theta) slides on a pulley that presses on its surface, at the
distance o from its line, with p per length, and drags by tau = -mu p::

    T' = kappa Q - tau,    Q' = p - kappa T,    M' = o tau - Q
"""

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from rtcvt.belt.friction import held_ratio
from rtcvt.belt.unit import AncfModel, Belt, BeltUnit, HybridModel, Pulley
from rtcvt.offline.belt.drive import Run, build, simulate, spans
from rtcvt.scenario import Scenario, Table

Array = NDArray[np.float64]

EA, EI, MASS, WIDTH = 1.2e5, 0.03, 0.105, 21e-3  # of the serpentine drive's belt
DRIVER = 60e-3  # radius of the pulley that drives [m]
SPEED = 0.5  # of the belt [m/s]


class Wrap(NamedTuple):
    """A pulley and the belt on it."""

    r: float  # of the belt's line [m]
    beta: float  # wrap [rad]
    mu: float = 0.9
    o: float = 2e-3  # distance of the surface from the line [m]
    ribs: float = 4e9 * WIDTH  # stiffness by length [N/m2]
    EI: float = EI


def beam(wrap: Wrap, T: float, moment: bool = True, elements: int = 600) -> tuple[float, Array, Array]:
    """A wrap that slides everywhere, with 10 sqrt(EI/T) of the spans, from the slack side T [N]; box scheme, Newton.

    Returns
    -------
    float
        ln(T_1/T_2).
    (n,) array
        Arc length from the first point of tangency [m].
    (n,) array
        Pressure [N/m].
    """
    r, beta, _, o, ribs, EI = wrap
    Ls = 10.0 * np.sqrt(EI / T)
    ends = [(np.array([np.cos(a), np.sin(a)]), r * np.array([np.sin(a), -np.cos(a)])) for a in (-beta / 2, beta / 2)]
    first, last = (p - side * Ls * t for side, (t, p) in zip((1.0, -1.0), ends, strict=True))
    whole = 2.0 * Ls + r * beta
    fine = np.linspace(0.0, whole, 20001)
    dense = 1.0 / (
        0.35 * (4.0 * EI / ribs) ** 0.25 + 0.12 * np.minimum(abs(fine - Ls), abs(fine - Ls - r * beta))
    )  # fmt: skip
    share = np.concatenate([[0.0], np.cumsum(0.5 * (dense[1:] + dense[:-1]))])
    at = np.interp(np.linspace(0.0, 1.0, elements + 1), share / share[-1], fine) / whole
    h = np.diff(at)

    def contact(y: NDArray[np.complex128] | Array) -> tuple:
        px, py = r * y[0] - o * np.sin(y[2]), r * y[1] + o * np.cos(y[2])
        d = np.sqrt(px * px + py * py)
        depth = r - o - d
        return px / d, py / d, ribs * np.where(depth.real > 0.0, depth, 0.0)

    def rates(y, length: float, mu: float):
        """Of x/r, y/r, theta, kappa r and the force by T."""
        c, s = np.cos(y[2]), np.sin(y[2])
        ex, ey, p = contact(y)
        qx, qy = p * (ex + mu * ey), p * (ey - mu * ex)
        turning = -T * (c * y[5] - s * y[4]) + (o * (s * qy + c * qx) if moment else 0.0)
        return length * np.stack([c / r, s / r, y[3] / r, r * turning / EI, -qx / T, -qy / T])

    def missing(y: Array, length: float, mu: float) -> Array:
        box = y[:, 1:] - y[:, :-1] - h * rates(0.5 * (y[:, 1:] + y[:, :-1]), length, mu)
        a, b = y[:, 0], y[:, -1]
        edge = [*(a[:2] - first / r), a[3], a[4] ** 2 + a[5] ** 2 - 1.0, *(b[:2] - last / r), b[3]]
        return np.concatenate([box.T.ravel(), edge])

    def tangent(y: Array, length: float, mu: float) -> csc_matrix:
        n, k = elements, np.arange(elements)
        middle = 0.5 * (y[:, 1:] + y[:, :-1])
        entries = []
        for j in range(6):
            moved = middle.astype(complex)
            moved[j] += 1e-30j
            by = h * rates(moved, length, mu).imag / 1e-30
            for i in range(6):
                entries += [(6 * k + i, 6 * (k + e) + j, (2 * e - 1.0) * (i == j) - 0.5 * by[i]) for e in (0, 1)]
        by = -h * rates(middle, 1.0, mu)
        entries += [(6 * k + i, np.full(n, 6 * n + 6), by[i]) for i in range(6)]
        edge = [(0, 0, 1.0), (1, 1, 1.0), (2, 3, 1.0), (3, 4, 2.0 * y[4, 0]), (3, 5, 2.0 * y[5, 0])]
        edge += [(4, 6 * n, 1.0), (5, 6 * n + 1, 1.0), (6, 6 * n + 3, 1.0)]
        entries += [(np.array([6 * n + i]), np.array([j]), np.array([v])) for i, j, v in edge]
        rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
        return csc_matrix((values, (rows, columns)))

    s = whole * at
    on = (s > Ls) & (s < Ls + r * beta)
    theta = np.clip((s - Ls) / r, 0.0, beta) - 0.5 * beta
    line = r * np.array([np.sin(theta), -np.cos(theta)]) * np.where(on, 1.0 - T / (r * r * ribs), 1.0)
    line = np.where(s < Ls, first[:, None] + s * ends[0][0][:, None], line)
    line = np.where(s > Ls + r * beta, last[:, None] + (s - whole) * ends[1][0][:, None], line)
    y, length = np.stack([*line / r, theta, 1.0 * on, np.cos(theta), np.sin(theta)]), whole
    for mu in np.linspace(0.0, wrap.mu, 6):
        for iteration in range(60):
            left = missing(y, length, mu)
            if abs(left).max() < 1e-11:
                break
            step = spsolve(tangent(y, length, mu), -left)
            part = min(1.0, 0.3 / max(abs(step[:-1]).max(), 1e-9))
            for _ in range(8):
                new = y + part * step[:-1].reshape(-1, 6).T, length + part * step[-1]
                if iteration < 2 or abs(missing(*new, mu)).max() < abs(left).max():
                    break
                part *= 0.5
            y, length = new
        else:
            raise ArithmeticError(f"no equilibrium at mu = {mu:g}")
    return 0.5 * float(np.log(y[4, -1] ** 2 + y[5, -1] ** 2)), length * at - Ls, contact(y)[2].real


def unit(wrap: Wrap, pretension: float, flange: str, step: float) -> BeltUnit:
    """A big pulley that never slips, and the examined one."""
    belt = Belt(EA=EA, EI=wrap.EI, mass=MASS, damping=15.0, height=2.0 * wrap.o, width=WIDTH, pretension=pretension)
    pulleys = {
        "driver": Pulley(center=(0.0, 0.0), radius=DRIVER, inertia=0.02, flange="speed", mu=3.0),
        "pulley": Pulley(center=(0.2, 0.0), radius=wrap.r - wrap.o, inertia=2e-3, flange=flange),
    }
    ancf = AncfModel(k_c=wrap.ribs / WIDTH, d_c=8e4, mu=wrap.mu, mu_k=5e9, mu_v=3e5, gravity=0.0, step=step)
    return BeltUnit(
        name="wrap", kind="belt", belt=belt, pulleys=pulleys, ancf=ancf, hybrid=HybridModel(mu=wrap.mu), description=""
    )


def slid(wrap: Wrap, pretension: float, elements: int, duration: float = 0.1) -> tuple[float, float, float, Run]:
    """Slack and tight tension [N] and wrap [rad] where the ANCF belt slides over the standing pulley."""
    drive = build(unit(wrap, pretension, "speed", 1e-4), elements=elements)
    turn = Table(time=(0.0, 0.02), value=(0.0, SPEED / (DRIVER + wrap.o)), interpolation="smooth")
    run = simulate(drive, Scenario(name="sliding", duration=duration, inputs={"driver.w": turn}))
    T = spans(run).tension[run.time > 0.6 * duration].mean(axis=0)
    return float(T.min()), float(T.max()), float(drive.path.wrap[1]), run


def slipped(wrap: Wrap, pretension: float, elements: int, rise: float = 0.4) -> tuple[float, float, float]:
    """Slack tension [N] and ln(T_1/T_2) where the latter is largest, less m v^2, as a load grows; and its value while
    it slips.

    The load grows within `rise` [s] beyond the capacity of the wrap: the pulley sticks until it is pulled back.
    """
    drive = build(unit(wrap, pretension, "torque", 1e-4), elements=elements)
    inputs = {
        "driver.w": Table(time=(0.0, 0.03), value=(0.0, SPEED / (DRIVER + wrap.o)), interpolation="smooth"),
        "pulley.tau": Table(time=(0.05, 0.05 + rise), value=(0.0, -4.0 * pretension * wrap.r)),
    }
    run = simulate(drive, Scenario(name="sticking", duration=0.05 + rise, inputs=inputs))
    T = np.sort(spans(run).tension - MASS * SPEED**2, axis=1)
    held = np.log(T[:, 1] / T[:, 0])
    k = int(np.argmax(held))
    return float(T[k, 0]), float(held[k]), float(held[-20:].mean())


def print_sliding() -> None:
    cases = [(Wrap(radius + 2e-3, 0.0), T, n) for radius in (20e-3, 28e-3, 55e-3) for T in (200.0, 400.0, 800.0)
             for n in (320, 640)]  # fmt: skip
    some = Wrap(30e-3, 0.0)
    cases += [(some, 400.0, 160), (some, 400.0, 1280)]
    cases += [(some._replace(mu=0.5), T, 640) for T in (200.0, 800.0)]
    cases += [(some._replace(ribs=10.0 * some.ribs), 400.0, 1280), (some._replace(r=28e-3 + 1e-5, o=1e-5), 400.0, 640)]
    for wrap, T, n in cases:
        slack, tight, beta, run = slid(wrap, T, n)
        wrap = wrap._replace(beta=beta)
        ratio, _, p = beam(wrap, slack)
        without = beam(wrap, slack, moment=False)[0]
        formula = held_ratio(wrap.mu, beta, wrap.o / wrap.r, wrap.r, wrap.EI, slack)
        a = np.sqrt(wrap.EI / tight)
        peak = -1.0 * run.stress[-1, :, :, 1].min() * WIDTH
        print(
            f"r {1e3 * wrap.r:.0f} mm, mu {wrap.mu}, o {1e3 * wrap.o:g} mm, ribs {wrap.ribs:.3g}: "
            f"element by sqrt(EI/T_1) {run.drive.cable.L / a:.2f}; {slack:.1f} and {tight:.1f} N; ANCF "
            f"{np.log(tight / slack):.4f}, beam {ratio:.4f}, formula {formula:.4f}, "
            f"without moment {without:.4f}, Euler {wrap.mu * beta:.4f}; "
            f"largest pressure {peak:.4g} and {p.max():.4g} N/m",
            flush=True,
        )


def print_sticking() -> None:
    cases = [(radius, T, 320) for radius in (20e-3, 28e-3, 55e-3) for T in (200.0, 400.0, 800.0)]
    for radius, T, n in [*cases, (28e-3, 400.0, 640)]:
        wrap = Wrap(radius + 2e-3, 0.0)
        wrap = wrap._replace(beta=float(unit(wrap, T, "torque", 1e-4).path().wrap[1]))
        slack, held, late = slipped(wrap, T, n)
        print(f"r {1e3 * wrap.r:.0f} mm, {T:g} N, {n} elements: slips at {slack:.1f} N and ln {held:.4f}, then "
              f"{late:.4f}, beam {beam(wrap, slack)[0]:.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    {"sliding": print_sliding, "sticking": print_sticking}[sys.argv[1]]()
