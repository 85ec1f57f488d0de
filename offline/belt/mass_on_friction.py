"""A mass on friction, drawn by a spring: the LuGre model compared with the bristles of the ANCF belt's contact.

Example of Canudas de Wit, Olsson, Astrom and Lischinsky (1995), which Ntarladima, Pieber and Gerstmayr (2023, section
2.4, Figs. 6 and 7) repeat: 1 kg, a spring of 2 N/m whose tip moves with 0.1 m/s, Coulomb and static level 1 N and
1.5 N, Stribeck speed 1 mm/s. LuGre's bristle of stiffness sigma_0 has the state z::

    F = sigma_0 z + sigma_1 z',    z' = v - sigma_0 |v| z/g(v),    g = F_c + (F_s - F_c) exp(-(v/v_s)^2)

with sigma_1 = sqrt(sigma_0). The bristle of the contact has no state: `sheave.bristle` with mu |f_n| = g(v), mu_v =
sqrt(mu_k)."""

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from rtcvt.offline.belt.sheave import STICK, bristle

Array = NDArray[np.float64]

SPRING, TIP = 2.0, 0.1  # [N/m], [m/s]
F_C, F_S, V_S = 1.0, 1.5, 1e-3  # [N], [N], [m/s]


def _level(v: Array | float) -> Array | float:
    return F_C + (F_S - F_C) * np.exp(-((v / V_S) ** 2))


def lugre(sigma_0: float, times: Array) -> tuple[Array, Array, Array]:
    """Place [m], speed [m/s] and friction [N] of the mass at `times` (n,) [s], LuGre's bristle of `sigma_0` [N/m]."""
    sigma_1 = np.sqrt(sigma_0)

    def friction(v, z):
        rate = v - sigma_0 * abs(v) * z / _level(v)
        return rate, sigma_0 * z + sigma_1 * rate

    def f(t, y):
        rate, force = friction(y[1], y[2])
        return [y[1], SPRING * (TIP * t - y[0]) - force, rate]

    y = solve_ivp(
        f, (0.0, times[-1]), np.zeros(3), method="LSODA", t_eval=times, rtol=1e-7, atol=1e-10, max_step=5e-3
    ).y
    return y[0], y[1], friction(y[1], y[2])[1]


def bristles(mu_k: float, end: float, h: float) -> tuple[Array, Array, Array]:
    """The same at 0, h, ... `end` [s], bristle of `mu_k` [N/m], trapezoidal rule and discontinuous iteration."""
    mu_v, steps = np.sqrt(mu_k), round(end / h)
    x = v = a = ref = 0.0
    slip = STICK
    out = np.zeros((steps + 1, 3))
    for k in range(steps):
        t = (k + 1) * h
        slip0, ref0 = slip, ref
        level = float(_level(v))
        x0, v0 = x + h * v + h * h / 4 * a, v + h / 2 * a
        for _ in range(5):
            c, cv = 4.0 / h**2, 2.0 / h
            stick = slip == STICK
            K = c + SPRING + (mu_k + cv * mu_v if stick else 0.0)
            force = mu_k * (x0 - ref) + mu_v * v0 if stick else level * slip
            d = (SPRING * (TIP * t - x0) - force) / K
            x, v, a = x0 + d, v0 + cv * d, c * d
            old = slip
            slip, ref, excess = bristle(-1.0, v, x, slip0, ref0, level, mu_k, mu_v, 1e6)
            if slip == old or abs(excess) < 1e-6:
                break
        out[k + 1] = x, v, level * slip if slip != STICK else mu_k * (x - ref) + mu_v * v
    return out[:, 0], out[:, 1], out[:, 2]


def compared() -> tuple[Array, dict[str, tuple[Array, Array, Array]]]:
    """Figs. 6 and 7: times (n,) [s], and by model place [m], speed [m/s] and friction [N] of the mass, LuGre last."""
    times = np.linspace(0.0, 20.0, 20001)
    found = {"bristles, mu_k = 1e5 N/m": bristles(1e5, 20.0, 1e-3)}
    return times, found | {f"LuGre, sigma_0 = 1e{k} N/m": lugre(10.0**k, times) for k in (5, 6)}
