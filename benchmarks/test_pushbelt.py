"""Cost of a step of the hybrid pushbelt model: schemes, variants and number of elements, all in one run.

One thread, processor time. Each figure is the fastest of rounds of ten plot steps, since on a shared machine the others
measure the neighbours too; case MED at 74.58 N m, plot step 1e-4 s (5e-5 s with 432 elements), output included. The
last test prints the ratios, the exponent of the cost over the number of elements and the largest memory that the
process has held; they also stand in ``extra_info`` of ``--benchmark-json``.
"""

import resource
import time

import numpy as np
import pytest

from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import stepped
from rtcvt.offline.pushbelt.unit.initial import start_state
from rtcvt.offline.pushbelt.unit.parameters import Boundary, belt, boundary_at, load_parameters, sheaves

ROUNDS, FRAMES, STEPS, DT = 20, 10, 100, 1e-6
VARIANTS = {
    "220 elements": {},
    "220 elements, multirate": {"scheme": "multirate", "dt": 2.5e-6, "steps": 40},
    "220 elements, bilateral": {"unilateral": False},
    "220 elements, decoupled": {"coupled": False},
    "220 elements, extended flank contact": {"n_p": 2},
    "110 elements": {"N_E": 110},
    "432 elements": {"N_E": 432, "dt": 5e-7},
}
_cost: dict[str, float] = {}


def settled(N_E=None, unilateral=True, coupled=True, n_p=1, dt=DT, steps=STEPS, scheme="explicit"):
    """The scheme's run and its arguments: model, state after 20 frames, inputs, steps, step, contact points."""
    parameters = load_parameters("pushbelt_24mm")
    case = parameters.get_case("MED")
    b, sh = belt(parameters, N_E0=case.N_E0, N_E=N_E), sheaves(parameters)
    inputs = boundary_at(case, steps * dt * np.arange(FRAMES + 1), 3)
    start = start_state(b, sh if coupled else sh._replace(multiplier=0.0), Boundary(*inputs[0]), case.i_r)
    m = hybrid.model(b, sh, unilateral=unilateral, coupled=coupled)
    x = hybrid.state(start.q, start.u, start.q_R, start.u_R, start.s_R, start.s, start.sd, len(sh.A) - 1)
    go = stepped(scheme, m.ring, dt)
    for _ in range(2):
        go(m, x, inputs, steps, dt, n_p)
    return go, (m, x, inputs, steps, dt, n_p)


@pytest.mark.benchmark(timer=time.thread_time)
@pytest.mark.parametrize("name", VARIANTS)
def test_step(benchmark, name):
    run, arguments = settled(**VARIANTS[name])
    out, done = benchmark.pedantic(run, arguments, rounds=ROUNDS, warmup_rounds=1)
    assert done == FRAMES
    _cost[name] = benchmark.stats.stats.min / (FRAMES * arguments[3]) * 1e6
    active = out.active.mean(axis=0).round().astype(int).tolist()
    benchmark.extra_info.update(step_us=_cost[name], active_contacts=active)
    print(f"\n{name}: {_cost[name]:.1f} us per step; active joint, ring, flank contacts {active}")


def test_ratios(benchmark):
    if len(_cost) < len(VARIANTS):
        pytest.skip("needs the cost of all variants")
    base = _cost["220 elements"]
    counts = np.array([110, 220, 432])
    exponent = np.polyfit(np.log(counts), np.log([_cost[f"{n} elements"] for n in counts]), 1)[0]
    ratios = {
        "bilateral over unilateral": _cost["220 elements, bilateral"] / base,
        "coupled over decoupled": base / _cost["220 elements, decoupled"],
        "extended over simplified": _cost["220 elements, extended flank contact"] / base,
        "exponent in N_E": exponent,
        "seconds per 0.1 s": base * 0.1,
        "seconds per 0.1 s, multirate": _cost["220 elements, multirate"] * 0.04,
        "peak memory [GiB]": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    benchmark.extra_info.update(ratios)
    benchmark(lambda: None)
    print("\n" + "\n".join(f"{k}: {v:.2f}" for k, v in ratios.items()))
