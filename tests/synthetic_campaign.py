"""Windows of a campaign as its runs would give them if the laws were these closed forms."""

import numpy as np
from scipy.stats import qmc

from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.offline.pushbelt.run.windows import F_REF
from rtcvt.offline.variator.alignment import VALUES, Samples
from rtcvt.offline.variator.laws import SHIFT
from rtcvt.variator.reduced.coordinates import counted

BELT = {
    "mu": 0.105, "cos_d": np.cos(0.19), "tan_d": np.tan(0.19), "delta_0": 0.19, "d_A": 0.155, "h_off": 2e-3,
    "m_star": 1.7, "l_R": 0.66, "EA": 6e6,
}  # fmt: skip
CARRIED = 2.0 * BELT["mu"] / BELT["cos_d"]


def laws_at(z):
    """Smooth laws of known signs over (i, xi, kappa, f, y), xi counted from where the push force changes strands."""
    i, xi, kappa, f, y = counted(SHIFT, z).T
    q, u = (i - 1.0) / (i + 1.0), np.log(y)
    zeta = np.exp(-0.4 * q + 0.35 * np.tanh(2.5 * xi) * (1.0 + 0.3 * q) + 0.05 * np.log(f) * q - 0.3 * kappa)
    k = 3e-3 * np.exp(0.4 * xi * np.tanh(3.0 * u) + 0.3 * q - 0.5 * u)
    c = 4e-3 * np.exp(1.1 * xi**2 - 0.4 * q + 0.2 * u)
    e = -1e-3 * q + 5e-4 * xi * u
    rest = 1e-3 * np.exp(0.8 * q**2 + 0.4 * xi + 0.2 * np.log(f))
    return zeta, k, e, c, rest


def synthetic(n=80, seed=1, noise=0.0):
    """Samples as a campaign of `n` runs with four branches each would give them if the laws were these."""
    rng = np.random.default_rng(seed)
    t = qmc.Sobol(4, seed=seed).random(128)[:n]
    low, high = np.array([np.log(0.5), -0.85, 1e-3, np.log(0.7)]), np.array([np.log(2.2), 0.85, 0.2, np.log(3.0)])
    point = low + (high - low) * t
    point[:, 0], point[:, 3] = np.exp(point[:, 0]), np.exp(point[:, 3])
    run, phase = np.repeat(np.arange(n), 5), np.tile(np.arange(5), n)
    point = np.repeat(point, 5, axis=0)
    y = np.exp(rng.uniform(*np.log([[0.6, 0.8, 1.05, 1.3], [0.8, 0.95, 1.3, 1.7]]), (n, 4)))
    y = np.column_stack([np.ones(n), y]).ravel()
    moved = point.copy()
    moved[:, 0] *= np.where(phase > 0, np.exp(rng.normal(0.0, 0.01, 5 * n)), 1.0)
    zeta, k, e, c, rest = laws_at(np.column_stack([moved, y]))
    xi, f = moved[:, 1], moved[:, 3]
    x = k * f * (y - 1.0)
    radius = np.full(5 * n, 1.035)
    shifting = 2.0 * BELT["tan_d"] * zeta * (y - 1.0) * x * radius
    sliding = CARRIED * c * (xi**2 + 0.09)
    loss = rest + CARRIED * c * xi**2 + shifting
    scatter = 1.0 + noise * rng.normal(size=5 * n)
    values = {
        "thrust": zeta * y * scatter, "x": x, "slip": e + c * xi, "loss": loss, "sliding": sliding,
        "transmitted": CARRIED * xi, "received": CARRIED * xi + loss, "loop": np.full(5 * n, 0.661),
        "elastic": 1e-4 * f + (CARRIED * xi) ** 2 * f * F_REF / (2.0 * 1.5e6), "radius": radius,
        "vibration": np.full(5 * n, 1e-4), "turns": np.full(5 * n, 2.0),
        "xi_I": np.full(5 * n, np.nan),  # these laws are not those of pulleys that are alike
    }  # fmt: skip
    place = np.linspace(0.0, 1.0, 4 * CELLS)
    shape = np.stack([1.0 + 0.2 * np.sin(np.pi * place), place, np.cos(7.0 * place)])
    amount = np.stack([1.0 + 0.2 * xi, 0.3 * np.log(moved[:, 0]), 0.2 * np.log(y)], axis=1)
    fields = {name: amount @ shape for name in FIELDS}
    settled = phase == 0
    before = ({a: b[settled] for a, b in values.items()}, {a: b[settled] for a, b in fields.items()})
    return Samples(
        run, phase, moved, values, np.full((5 * n, 4), 0.661 / 4.0), fields, tuple(f"p{k}" for k in range(n)), (),
        before, np.zeros(5 * n, dtype=bool), BELT, {"unit_file": "unit", "plan": "plan", "revision": "r"},
    ), np.column_stack([moved, y])  # fmt: skip


assert set(VALUES) == set(synthetic(2)[0].values)
