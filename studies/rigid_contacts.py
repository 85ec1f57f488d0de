"""Rigid saddles and ears with set-valued friction (`pushbelt.rigid`) against springs with regularised friction.

python -m studies.rigid_contacts NAME FILE: both print means of the thrust ratio and of losses; FILE has a line for each
run; the same command continues from it. v_mu of the flanks is that of chapter 7, 0.2 mm/s.

short        over 2 to 6 ms, from one start
revolution   over the last of 2.3 revolutions, three disturbed starts; +-: possible difference of another such mean
"""

import json
import sys
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.checks.chapter7 import band
from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Scheme, Settings
from rtcvt.offline.pushbelt.unit.parameters import load_parameters

PLOT = 1e-4
UNIT = load_parameters("pushbelt_24mm")
assert UNIT.contacts.friction.v_mu == 2e-4


class Law(NamedTuple):
    """Scheme, factors of k_S and v_muR, steps of a plot step, and of the ring in each."""

    scheme: Scheme
    k: float = 1.0
    v: float = 1.0
    steps: int = 100
    n_R: int = 1


LAWS = {
    "set-valued": Law("set-valued"),
    "set-valued, half the step": Law("set-valued", steps=200),
    "explicit": Law("explicit"),
    "multirate": Law("multirate", steps=40, n_R=2),
    "v_muR/10": Law("explicit", v=0.1),
    "v_muR/100": Law("explicit", v=0.01),
    "4 k_S, v_muR/10": Law("explicit", 4.0, 0.1, 200),
    "16 k_S, v_muR/100": Law("explicit", 16.0, 0.01, 400),
    "64 k_S, v_muR/100": Law("explicit", 64.0, 0.01, 1000),
}
REVOLUTION = ("set-valued", "explicit", "multirate", "16 k_S, v_muR/100")
BELTS = {  # case, row, taper
    "OD": ("OD", 0, None),
    "LOW": ("LOW", 0, None),
    "OD, 8 um": ("OD", 0, 8e-6),
    "LOW, 8 um": ("LOW", 0, 8e-6),
    "MED, 74.58 N m": ("MED", 3, None),
    "OD, 5 um": ("OD", 0, 5e-6),
    "LOW, 5 um": ("LOW", 0, 5e-6),
}


def means(belt: str, law: Law, seed: int, span: tuple[float, float] | None) -> list[float]:
    """Thrust ratio, losses [W], of them friction of the ring and dampers or impacts of the saddles, unaccounted energy
    relative to the losses, and processor time of a step [us]; over times `span` [s], or the last of 2.3 revolutions."""
    case, row, taper = BELTS[belt]
    settings = Settings(scheme=law.scheme, taper=taper)
    made = prepare(UNIT, Run(belt, Case(case, row, seed=seed), settings, duration=PLOT, plot_step=PLOT))
    p = made.model.saddle
    stiff = p._replace(k=law.k * p.k, d=np.sqrt(law.k) * p.d, v_mu=law.v * p.v_mu)
    turn = made.clock.revolution
    first, last = (round(t / PLOT) for t in span or (1.3 * turn, 2.3 * turn))
    began, x = time.process_time(), made.state
    inputs = made.inputs[1:].repeat(last + 1, axis=0)
    found, done = hybrid.run(made.model._replace(saddle=stiff), x, inputs, law.steps, PLOT / law.steps, n_R=law.n_R)  # type: ignore[arg-type]
    assert done == last, (belt, law, seed, done)
    cost = 1e6 * (time.process_time() - began) / (last * law.steps)
    seen = hybrid.Frames(*(a[first:] for a in found))
    force = seen.pulley[:, :, 1].mean(axis=0)
    lost = dict(zip(hybrid.LOSSES, ledger.losses_of(seen.work).sum(axis=0) / ((last - first) * PLOT), strict=True))
    rest, losses, _ = hybrid.residual(seen)
    ring = lost["element-ring friction"], lost["element-ring damping"]
    return [*map(float, (force[0] / force[1], sum(lost.values()), *ring, rest / losses, cost))]


def study(file: str, laws: tuple[str, ...], starts: int, span: tuple[float, float] | None) -> None:
    path = Path(file)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: dict[str, list[float]] = dict(json.loads(line) for line in lines)
    for seed, belt, name in product(range(starts), BELTS, laws):
        key = f"{belt} | {name} | {seed}"
        if key not in found:
            found[key] = means(belt, LAWS[name], seed, span)
            with path.open("a", encoding="utf-8") as out:
                out.write(json.dumps([key, found[key]]) + "\n")
    for belt in BELTS:
        for name in laws:
            rows = np.array([found[f"{belt} | {name} | {seed}"] for seed in range(starts)])
            u = band(rows[:, 0]) if starts > 1 else 0.0
            ratio, loss, rubbed, struck, rest, _ = rows.mean(axis=0)
            print(
                f"{belt} | {name} | {ratio:.4f} +- {u:.4f} | {loss:.1f} W, ring {rubbed:.1f}, saddles {struck:.2f} | "
                f"unaccounted {rest:.1e} | {rows[:, 5].min():.0f} us",
                flush=True,
            )


def short(file: str) -> None:
    study(file, tuple(LAWS), 1, (2e-3, 6e-3))


def revolution(file: str) -> None:
    study(file, REVOLUTION, 3, None)


if __name__ == "__main__":
    {"short": short, "revolution": revolution}[sys.argv[1]](sys.argv[2])
