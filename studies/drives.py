"""Ordinary driving for the full pushbelt, drawn from a seed, to check an observer (`docs/observer.md`).

    python -m studies.drives SEED [SECONDS]
    rtcvt simulate drive_SEED.toml --case drive --scheme multirate --plot-step 2ms --duration 10.4s -o drive_SEED.h5
    rtcvt check pushbelt_observer --runs drive_SEED.h5

The first writes drive_SEED.toml, the unit file of the shipped belt in a car with one case: half of the seeds follow a
part of the WLTC, half launch, lift off and tip in again. Friction is drawn within 10 % of the belt's, clamping forces
are 1.1 to 1.5 times those that the torque needs, and the primary's force is what the real-time unit needs to follow the
ratio; where this unit would come near to macro-slip the secondary gets more force.
The full model starts at rest under the first forces: a ratio that may be 1.5 times the planned one, and outside of the
unit's, which the check then leaves out.
"""

import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate

M, R_W, I_F, J_W = 1550.0, 0.316, 5.0, 4.0  # mass [kg], tyre [m], final drive, wheels [kg m2]
J = (M * R_W**2 + J_W) / I_F**2  # on the secondary
DT = 0.01
MU, COS_D = 0.105, 0.982  # that forces are chosen with
LEAST_MARGIN = 0.1
UNITS = resources.files("rtcvt")


def smooth(x: Any, seconds: float) -> Any:
    return gaussian_filter1d(x, seconds / DT, mode="nearest")


def speed(rng: np.random.Generator, seed: int, t: Any) -> tuple[Any, str]:
    """Of the car [m/s], and what it is."""
    length = t[-1]
    if seed % 4 < 2:
        lines = (UNITS / "cycles/wltc_class_3b.csv").read_text().splitlines()
        cycle = np.loadtxt([x for x in lines if not x.startswith("#")][1:], delimiter=",")
        while True:
            begin = rng.uniform(20, 1780 - length)
            v = np.interp(begin + t, cycle[:, 0], cycle[:, 1] / 3.6)
            if v.min() > 4.0 and v.max() < 33.0 and np.ptp(v) > 2.0:
                return smooth(v, 0.5), f"WLTC class 3b from {begin:.0f} s"
    v_0, a_0 = rng.uniform(2.5, 5.0), rng.uniform(1.5, 2.8)
    lift = length * rng.uniform(0.4, 0.6)
    off = lift + rng.uniform(0.8, 1.5)
    rng.uniform(0.5, 1.5)
    at = [0, 0.4, 1.2, lift, lift + 0.4, off, off + 0.4, length]
    a = [0.2, 0.2, a_0, 0.7 * a_0, -0.5, -0.5, rng.uniform(0.5, 1.5), rng.uniform(0.2, 1.0)]
    a = smooth(np.interp(t, at, a), 0.15)
    v = v_0 + np.concatenate([[0], np.cumsum(0.5 * (a[1:] + a[:-1]) * DT)])
    return v, f"launch from {v_0:.1f} m/s with {a_0:.1f} m/s2, lift-off, tip-in"


def unit_file(seed: int, length: float) -> str:
    """Text of the unit file."""
    rng = np.random.default_rng(seed)
    friction, safety = rng.uniform(0.9, 1.1), rng.uniform(1.1, 1.5)
    t = np.arange(0, length + 0.5 * DT, DT)
    v, what = speed(rng, seed, t)
    road = M * 9.81 * 0.011 + 0.5 * 1.2 * 0.66 * v * v
    power = np.maximum((road + M * np.gradient(v, t)) * v, 0) / 1e3
    w_O = v * I_F / R_W
    i = smooth(np.clip((110 + rng.uniform(2.5, 4.5) * power) / w_O, 0.5, 2.2), 0.35)
    w_I, M_O = i * w_O, road * R_W / I_F
    r_O = 0.0555 * 2 * i / (1 + i)  # roughly
    F_O = smooth(np.clip(safety * np.abs(M_O + J * np.gradient(w_O, t)) * COS_D / (2 * MU * r_O), 7e3, 35e3), 0.1)

    parameters = {"clamp.control": "ratio", "belt.friction": friction, "secondary.J": J + 1.26e-2,
                  "ratio.start": float(i[0]), "primary.w_start": float(w_I[0])}  # fmt: skip
    model = load_unit("pushbelt_cvt").with_flanges({"primary": "speed"}, "drives").build(parameters=parameters)
    time = np.arange(round(t[-1] / 1e-3) + 1) * 1e-3

    def followed() -> Any:
        given = {"primary.w": w_I, "secondary.tau": -M_O, "ratio.des": i, "clamp.secondary.F": F_O}
        inputs = {name: np.interp(time, t, x) for name, x in given.items()}
        return simulate(model, Scenario(name="drive", duration=float(t[-1])), inputs=inputs)

    run = followed()
    for n in range(5):
        if run["belt.margin"].min() > LEAST_MARGIN:
            break
        pull = np.maximum(np.abs(run["belt.T_I"]), np.abs(run["belt.T_O"]))
        held = np.minimum(run["thrust.primary"], run["thrust.secondary"])
        more = np.clip(safety * (1 + 0.1 * n) * pull * COS_D / (2 * MU) / held, 1.0, 2.0)
        more = np.array([more[max(0, k - 150) : k + 150].max() for k in range(len(more))])
        F_O = np.minimum(F_O * smooth(np.interp(t, time, more), 0.1), 35e3)
        run = followed()
    F_I = run["thrust.primary"].copy()
    F_I[:20] = F_I[20]  # at the start the unit finds its forces
    F_I = gaussian_filter1d(F_I, 30, mode="nearest")

    def table(x: Any, of: Any, digits: int) -> str:
        grid = np.arange(0, length + 1e-9, 0.05)
        values = ", ".join(f"{y:.{digits}f}" for y in np.interp(grid, of, x))
        return f"{{ time = [{', '.join(f'{g:.2f}' for g in grid)}], value = [{values}] }}"

    text = (UNITS / "units/pushbelt_24mm_belief.toml").read_text()
    text = text.replace('load = { kind = "bench" }', 'load = { kind = "car" }')
    text = text.replace("mu = 0.104937", f"mu = {0.104937 * friction:.6f}")
    return text[: text.index("[[case]]")] + (
        f'[[case]]\nname = "drive"\ndescription = "{what}, seed {seed}"\ni_r = {float(i[0]):.4f}\n\n[case.inputs]\n'
        f"omega_I = {table(w_I, t, 3)}\nF_CI = {table(F_I, time, 1)}\n"
        f"F_CO = {table(F_O, t, 1)}\nM_O = {table(M_O, t, 3)}\n"
    )


if __name__ == "__main__":
    chosen = int(sys.argv[1])
    Path(f"drive_{chosen}.toml").write_text(unit_file(chosen, float(sys.argv[2]) if len(sys.argv) > 2 else 10.5))
