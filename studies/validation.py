"""The full pushbelt model against published measurements: studies/validation.py [-o FOLDER]

Reads the windows of the campaign (docs/campaign/pushbelt_24mm.csv), prints the figures of `docs/validation.md`, draws
its pictures and writes figures.json, the source of its tables.

shifting     ds/dt = omega_I Delta K g(s) (ln S - ln S_eq), K = (1 + cos^2 beta)/sin(2 beta): Carbone, Mangialardi,
             Bonsen, Tursi and Veenhuizen, Mechanism and Machine Theory 42 (2007) 409-428. s = r_I/r_O, S = F_CI/F_CO
equilibrium  ln S_eq over ln s without load, one curve for all speeds and forces: same source
efficiency   falls towards overdrive and at low load: Narita and Priest, Proc. IMechE J 221 (2007)
traction     mu_eff = T cos(delta_0)/(2 F_CO) over slip
losses       of the real-time unit `pushbelt_cvt`, each by itself, at ten points and over speed
"""

import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from rtcvt.kind import load_unit
from rtcvt.model import Instance
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import belt, load_parameters
from rtcvt.variator.build import build_variator
from rtcvt.variator.layout import SECTIONS
from rtcvt.variator.unit import with_flange_inputs

Array = NDArray[np.float64]
TABLE = Path(__file__).parents[1] / "docs/campaign/pushbelt_24mm.csv"
BELT = belt(load_parameters("pushbelt_24mm"))
K = (1.0 + BELT.cos_d**2) / (2.0 * BELT.sin_d * BELT.cos_d)
RPM = np.pi / 30.0  # [rad/s]
FIGURES: dict[str, Any] = {}  # data of the page's tables
SAFETY, LEAST = 1.5, 8e3  # safety of the clamping force against slip; its least value [N]
POINTS = (  # ratio, speed [rpm] and torque [N.m] of the primary
    (2.2, 1500, 60), (2.2, 3000, 60), (1.6, 2000, 100), (1.6, 4000, 50), (1.0, 1500, 60),
    (1.0, 3000, 100), (0.7, 2000, 40), (0.7, 3000, 80), (0.5, 1500, 30), (0.5, 3000, 60),
)  # fmt: skip


def closed(ratio: Array) -> tuple[Array, Array, Array]:
    """Angle phi of the taut belt and radii r_I, r_O of the neutral fibre [m] for ratios at the rocking edges."""
    phi, r_I, r_O = np.array(
        [(c.phi, c.r_I, c.r_O) for c in (closure(BELT.l_R, BELT.d_A, i, BELT.h_off) for i in ratio)]
    ).T
    return phi, r_I, r_O


def windows() -> dict[str, list[dict[str, float]]]:
    """Windows of each run that do not slip as a whole, steady one first; numbers by name without unit."""
    runs: dict[str, list[dict[str, float]]] = defaultdict(list)
    with TABLE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["slipping"] == "no":
                numbers = {key.split(" [")[0]: float(value) for key, value in row.items() if key.endswith("]")}
                runs[row["run"]].append({**numbers, "steady": float(row["window"] == "steady")})
    return {name: found for name, found in runs.items() if found[0]["steady"]}


def column(rows: list[dict[str, float]], name: str) -> Array:
    return np.array([row[name] for row in rows])


def shifting(runs: dict[str, list[dict[str, float]]], axes: plt.Axes) -> None:
    """Shift rate over ln S, and the exponents of its slope in speed and force."""
    found = []
    for rows in runs.values():
        if len(rows) < 4:
            continue
        ln_S, x = np.log(column(rows, "thrust_ratio")), column(rows, "x")
        slope, at_0 = np.polyfit(ln_S, x, 1)
        rest = x - slope * ln_S - at_0
        phi, r_I, r_O = (float(a[0]) for a in closed(np.array([rows[0]["ratio"]])))
        s = r_I / r_O
        rate = s * (1.0 + s * (np.pi - phi) / phi)  # ds/dt over (dr_I/dt)/r_I, as r_O' = -(pi - phi)/phi r_I'
        Delta = 1e-3 * (1.0 + 0.02 * (rows[0]["F_O"] / 1e3 - 20.0))
        R2 = 1.0 - float(rest @ rest) / float((x - x.mean()) @ (x - x.mean()))
        found.append((s, rows[0]["omega_I"], rows[0]["F_O"], rows[0]["xi"], slope, R2, rate * slope / (Delta * K)))
    s, omega, F, xi, slope, R2, g = np.array(found).T
    print(f"shifting: {len(s)} belts with three or more forces; R2 of x over ln S: 5, 25, 50 %", end=" ")
    print(np.round(np.quantile(R2, (0.05, 0.25, 0.5)), 3))
    said = FIGURES["shifting"] = {"belts": len(s), "R2": [float(np.quantile(R2, q)) for q in (0.05, 0.5)]}
    for name, use in (("all", slope > 0.0), ("|xi| < 0.1", (slope > 0.0) & (abs(xi) < 0.1))):
        basis = [np.ones(use.sum()), np.log(omega[use]), np.log(F[use]), xi[use], xi[use] ** 2]
        basis += [np.log(s[use]) ** k for k in (1, 2, 3)]
        A = np.stack(basis, axis=1)
        c, *_ = np.linalg.lstsq(A, np.log(slope[use]), rcond=None)
        left = np.log(slope[use]) - A @ c
        error = np.sqrt(np.diag(np.linalg.inv(A.T @ A))) * left.std(ddof=A.shape[1])
        said[name] = {"speed": (1.0 + c[1], 2 * error[1]), "force": (c[2], 2 * error[2])}
        print(
            f"  {name} ({use.sum()}): dr_I/dt grows with omega_I^({1.0 + c[1]:.2f} +- {2 * error[1]:.2f}) and "
            f"F_O^({c[2]:.2f} +- {2 * error[2]:.2f}); left over {left.std():.2f} of ln"
        )
    inside = (F > 2e4) & (F < 3e4) & (abs(xi) < 0.1)
    said["g"] = np.quantile(g[inside], (0.1, 0.5, 0.9)).tolist()
    print(f"  g(s) at 20 to 30 kN, |xi| < 0.1: 10, 50, 90 % {np.round(said['g'], 2)}")
    points = axes.scatter(s, g, c=F / 1e3, s=6, cmap="viridis")
    axes.set(xlabel="s = r_I/r_O [1]", ylabel="g = (ds/dt)/(omega_I Delta K d ln S) [1]", xscale="log", ylim=(0.0, 4.0))
    axes.figure.colorbar(points, label="F_CO [kN]")


def equilibrium(runs: dict[str, list[dict[str, float]]], axes: plt.Axes) -> None:
    """ln S_eq over ln s of belts that carry next to nothing."""
    steady = [rows[0] for rows in runs.values() if abs(rows[0]["xi"]) < 0.03]
    phi, r_I, r_O = closed(column(steady, "ratio"))
    ln_s, ln_S, kappa = np.log(r_I / r_O), np.log(column(steady, "thrust_ratio")), column(steady, "kappa")
    c = np.polyfit(ln_s, ln_S, 3)
    left = ln_S - np.polyval(c, ln_s)
    wraps = np.log((np.pi - phi) / phi)
    FIGURES["equilibrium"] = {"belts": len(steady), "RMS": float(left.std()), "largest": float(abs(left).max())}
    print(
        f"equilibrium: {len(steady)} belts with |xi| < 0.03; ln S_eq = {c[2]:.3f} ln s + {c[3]:.3f} near s = 1,",
        end=" ",
    )
    print(f"left over of a cubic {left.std():.3f} (RMS), {abs(left).max():.3f} at most")
    print(f"  with kappa < 0.01: {left[kappa < 0.01].std():.3f}; ratio of the wraps alone is off by", end=" ")
    print(f"{np.sqrt(np.mean((ln_S - wraps) ** 2)):.3f} (RMS)")
    order = np.argsort(ln_s)
    points = axes.scatter(ln_s, ln_S, c=kappa, s=8, cmap="viridis", label="full model, |xi| < 0.03")
    axes.plot(ln_s[order], wraps[order], "k--", lw=1, label="ratio of the wraps")
    axes.set(xlabel="ln s [1]", ylabel="ln S_eq [1]")
    axes.legend(fontsize=8)
    axes.figure.colorbar(points, label="kappa [1]")


def efficiency(runs: dict[str, list[dict[str, float]]], axes: plt.Axes) -> None:
    """Efficiency over load, and the part of the lost torque that grows with speed."""
    steady = [rows[0] for rows in runs.values()]
    ratio, omega, F, xi, loss = (column(steady, n) for n in ("ratio", "omega_I", "F_O", "xi", "loss"))
    v = np.sqrt(column(steady, "kappa") * F / BELT.m_star)
    power = 2.0 * BELT.mu * F * abs(xi) / BELT.cos_d * v  # that the belt carries
    eta = power / (power + loss)
    shown = xi > 0.02
    print("efficiency of the belt and its contacts, driving: median by ratio and xi")
    loads = ((0.05, 0.15), (0.15, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9))
    print("  i \\ xi      " + "  ".join(f"{a:g}-{b:g}" for a, b in loads))
    FIGURES["efficiency"] = {}
    for low, high in ((0.45, 0.6), (0.6, 0.85), (0.85, 1.2), (1.2, 1.7), (1.7, 2.4)):
        cells = [(ratio >= low) & (ratio < high) & (xi >= a) & (xi < b) for a, b in loads]
        found = FIGURES["efficiency"][f"{low:g}-{high:g}"] = {
            f"{a:g}-{b:g}": float(np.median(eta[c])) for (a, b), c in zip(loads, cells, strict=True)
        }
        print(f"  {low:g}-{high:<5g}  " + "  ".join(f"{100 * e:6.2f}" for e in found.values()))
    drag = loss / omega  # [N.m] at the input
    print("lost torque at the input, |xi| < 0.1, per 10 kN of F_CO: a + b omega_I; growth b for 1000 rpm")
    FIGURES["drag"] = []
    for low, high in ((0.45, 0.7), (0.7, 1.1), (1.1, 1.7), (1.7, 2.4)):
        use = (ratio >= low) & (ratio < high) & (abs(xi) < 0.1)
        A = np.stack([F[use] / 1e4, omega[use] / (1000.0 * RPM)], axis=1)
        (a, b), *_ = np.linalg.lstsq(A, drag[use], rcond=None)
        FIGURES["drag"].append({"i": (low, high), "for 10 kN": a, "for 1000 rpm": b})
        print(f"  i {low:g}-{high:g} ({use.sum()}): {a:.2f} N.m for 10 kN, {b:+.3f} N.m for 1000 rpm")
    points = axes.scatter(xi[shown], 100.0 * eta[shown], c=np.log10(ratio[shown]), s=5, cmap="coolwarm")
    axes.set(xlabel="xi [1]", ylabel="efficiency [%]", ylim=(90.0, 100.0))
    axes.figure.colorbar(points, label="lg i (red: underdrive)")


def traction(axes: plt.Axes) -> None:
    """Traction over slip, belts that slip as a whole included."""
    with TABLE.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["window"] == "steady" and float(row["xi [1]"]) > 0.0]
    slip = np.array([float(row["slip [1]"]) for row in rows])
    mu = BELT.mu * np.array([float(row["xi [1]"]) for row in rows])
    ratio = np.array([float(row["ratio [1]"]) for row in rows])
    held = slip < 0.05
    top = np.argsort(mu[held])[-20:]
    slips = [float(100 * edge) for edge in (slip[held][top].min(), slip[held][top].max())]
    FIGURES["traction"] = {"mu_eff": [float(edge) for edge in (mu[held][top].min(), mu[held].max())], "slip": slips}
    print(f"traction: mu = {BELT.mu:g}; largest mu_eff of a belt that slips below 5 %: {mu[held].max():.4f};", end=" ")
    print(f"the 20 largest at slips of {100 * slip[held][top].min():.2f} to {100 * slip[held][top].max():.2f} %")
    for low, high in ((0.0, 0.0025), (0.0025, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05)):
        use = (slip >= low) & (slip < high)
        print(f"  slip {100 * low:g} to {100 * high:g} %: {use.sum()} belts, mu_eff up to {mu[use].max():.4f}")
    points = axes.scatter(100.0 * slip, mu, c=np.log10(ratio), s=5, cmap="coolwarm")
    axes.set(xlabel="slip [%]", ylabel="mu_eff [1]", xlim=(-0.5, 10.0))
    axes.figure.colorbar(points, label="lg i (red: underdrive)")


def layers_lose(one: Instance, cells: int) -> float:
    """Friction loss between the layers of the ring set [W], part of ``loss.belt``, for mu_L = mu_R.

    mu_L (n - 1)/2 N t_L v (1/r - 1/r_L), N the force of the set on the saddles of the smaller arc, from the fields.
    """
    radii = np.array([one.get("radius.primary"), one.get("radius.secondary")])
    phi = float(closed(np.array([one.get("ratio.i")]))[0][0])
    small = int(radii[1] < radii[0])
    arc = 2.0 * (phi if small else np.pi - phi) * radii[small]
    first = SECTIONS.index("secondary arc" if small else "primary arc") * cells
    N = arc * np.mean([one.get(f"field.ring_normal[{first + k + 1}]") for k in range(cells)])
    ring = load_parameters("pushbelt_24mm").ring
    v_rel = ring.layer_height * one.get("belt.v") * abs(1.0 / radii[0] - 1.0 / radii[1])
    return float(BELT.mu_R * 0.5 * (ring.layers - 1) * N * v_rel)


def unit_losses(axes: plt.Axes) -> None:
    """Losses of the real-time unit, and the lost torque over speed."""
    unit = with_flange_inputs(load_unit("pushbelt_cvt"), {"primary": "speed"})
    unit = unit.model_copy(update={"fields": ("ring_normal",)})
    model = build_variator(unit, "hybrid")

    def settle(ratio: float, rpm: float, torque: float) -> Instance:
        one = model.instantiate()
        r_O = float(closed(np.array([ratio]))[2][0]) - BELT.h_off
        load = torque * ratio  # at the secondary, but for the losses
        force = max(SAFETY * load * BELT.cos_d / (2.0 * BELT.mu * r_O), LEAST)
        one.set("ratio.start", ratio)
        one.set("primary.w_start", rpm * RPM)
        for name, value in (("primary.w", rpm * RPM), ("ratio.des", ratio), ("clamp.secondary.F", force)):
            one.set(name, value)
        one.set("secondary.tau", -load)
        one.initialise()
        for _ in range(1500):
            one.step(1e-3)
        return one

    names = ("sliding", "belt", "bearing", "seal", "oil")
    print("losses of pushbelt_cvt [W] (of belt: among layers), efficiency with and without shafts")
    FIGURES["losses"], FIGURES["over speed"] = [], []
    for ratio, rpm, torque in POINTS:
        one = settle(ratio, rpm, torque)
        lost = {name: one.get(f"loss.{name}") for name in names}
        into = one.get("primary.tau") * rpm * RPM
        shafts = sum(lost[name] for name in names[2:])
        alone = sum(lost[name] for name in names[:2])
        point = {"i": ratio, "rpm": rpm, "torque": into / rpm / RPM, "F_O": one.get("thrust.secondary"), "power": into}
        found = {**point, **lost, "layers": layers_lose(one, unit.cells), "efficiency": one.get("variator.efficiency")}
        FIGURES["losses"].append({**found, "efficiency of the belt": 1.0 - alone / (into - shafts)})
        cells = "  ".join(f"{name} {value:5.1f}" for name, value in lost.items())
        print(
            f"  i {ratio} {rpm} rpm {into / rpm / RPM:5.1f} N.m {1e-3 * one.get('thrust.secondary'):4.1f} kN "
            f"{into:6.0f} W: {cells}  layers {layers_lose(one, unit.cells):5.1f}  "
            f"{100 * one.get('variator.efficiency'):.1f} % {100 * (1.0 - alone / (into - shafts)):.1f} %"
        )
    print("pushbelt_cvt over speed, 50 N.m: efficiency [%]; growth of the lost torque for 1000 rpm from 2000 rpm [N.m]")
    speeds = np.array([1000.0, 2000.0, 3000.0, 4000.0, 5000.0])
    for ratio in (2.2, 1.6, 1.0, 0.7, 0.5):
        ones = [settle(ratio, rpm, 50.0) for rpm in speeds]
        eta = np.array([one.get("variator.efficiency") for one in ones])
        whole = np.array([sum(one.get(f"loss.{name}") for name in names) for one in ones]) / (speeds * RPM)
        belts = np.array([sum(one.get(f"loss.{name}") for name in names[:2]) for one in ones]) / (speeds * RPM)
        growth, of_belt = (np.polyfit(speeds[1:] / 1e3, torque[1:], 1)[0] for torque in (whole, belts))
        print(f"  i {ratio}: {np.round(100 * eta, 1)}; {growth:.2f}, belt {of_belt:.2f}; lost {np.round(whole, 2)} N.m")
        torques = {"lost torque": whole.tolist(), "growth": float(growth), "growth of the belt": float(of_belt)}
        FIGURES["over speed"].append({"i": ratio, "rpm": speeds.tolist(), "efficiency": eta.tolist(), **torques})
        axes.plot(speeds, 100.0 * eta, "o-", label=f"i = {ratio}")
    axes.set(xlabel="speed of the primary [rpm]", ylabel="efficiency [%]", ylim=(80.0, 100.0))
    axes.legend()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="folder of the pictures")
    folder = parser.parse_args().output
    runs = windows()
    for name, draw in (
        ("shifting", lambda a: shifting(runs, a)),
        ("equilibrium", lambda a: equilibrium(runs, a)),
        ("efficiency", lambda a: efficiency(runs, a)),
        ("traction", traction),
        ("losses", unit_losses),
    ):
        figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        draw(axes)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(folder / f"{name}.png", dpi=100)
    if folder is not None:
        text = json.dumps({"command": "python -m studies.validation -o docs/validation", **FIGURES}, indent=1) + "\n"
        (folder / "figures.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
