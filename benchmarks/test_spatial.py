"""Cost of a step of the spatial pushbelt model beside the hybrid one, in one run.

Both with the extended flank contact. One thread, processor time, the fastest of rounds of ten plot steps, output
included; case MED at 74.58 N m, the start settled for 20 frames. The last test prints the ratios, the exponent of the
cost over the number of elements, seconds for 0.1 s of machine time and the largest memory that the process has held.
"""

import resource
import time

import numpy as np
import pytest

from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.spatial.start import lift
from rtcvt.offline.pushbelt.unit.initial import start_state
from rtcvt.offline.pushbelt.unit.parameters import Boundary, belt, boundary_at, load_parameters, sheaves

ROUNDS, FRAMES, PLOT = 20, 10, 1e-4
VARIANTS = {
    "hybrid, 220 elements": {"wide": False},
    "spatial, 220 elements": {},
    "spatial, 110 elements": {"N_E": 110},
    "spatial, 432 elements": {"N_E": 432, "dt": 5e-7},
    "hybrid, multirate": {"wide": False, "dt": 2.5e-6, "n_R": 2},
    "spatial, multirate": {"dt": 2.5e-6, "n_R": 2},
}
_cost: dict[str, float] = {}


def settled(N_E=220, dt=1e-6, wide=True, n_p=2, n_R=1):
    """The run and its arguments."""
    parameters = load_parameters("pushbelt_24mm")
    case = parameters.get_case("MED")
    b, sh = belt(parameters, N_E0=case.N_E0, N_E=N_E), sheaves(parameters)
    inputs, steps = boundary_at(case, PLOT * np.arange(FRAMES + 1), 3), round(PLOT / dt)
    start = start_state(b, sh, Boundary(*inputs[0]), case.i_r)
    m, x = hybrid.model(b, sh), hybrid.state(*start[:7], n_k=len(sh.A) - 1)
    for _ in range(2):
        hybrid.run(m, x, inputs, steps, dt, n_p, n_R)
    if not wide:
        return hybrid.run, (m, x, inputs, steps, dt, n_p, n_R)
    m = spatial.model(parameters, b, sh)
    return spatial.run, (m, lift(m, x), inputs, steps, dt, n_p, n_R)


@pytest.mark.benchmark(timer=time.thread_time)
@pytest.mark.parametrize("name", VARIANTS)
def test_step(benchmark, name):
    run, arguments = settled(**VARIANTS[name])
    _, done = benchmark.pedantic(run, arguments, rounds=ROUNDS, warmup_rounds=1)
    assert done == FRAMES
    _cost[name] = benchmark.stats.stats.min / (FRAMES * arguments[3]) * 1e6
    benchmark.extra_info.update(step_us=_cost[name])
    print(f"\n{name}: {_cost[name]:.1f} us per step")


def test_ratios(benchmark):
    if len(_cost) < len(VARIANTS):
        pytest.skip("needs the cost of all variants")
    base = _cost["spatial, 220 elements"]
    counts = np.array([110, 220, 432])
    exponent = np.polyfit(np.log(counts), np.log([_cost[f"spatial, {n} elements"] for n in counts]), 1)[0]
    ratios = {
        "spatial over hybrid": base / _cost["hybrid, 220 elements"],
        "exponent in N_E": exponent,
        "seconds per 0.1 s": base * 0.1,
        "seconds per 0.1 s, multirate": _cost["spatial, multirate"] * 0.04,
        "spatial over hybrid, multirate": _cost["spatial, multirate"] / _cost["hybrid, multirate"],
        "peak memory [GiB]": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    benchmark.extra_info.update(ratios)
    benchmark(lambda: None)
    print("\n" + "\n".join(f"{k}: {v:.2f}" for k, v in ratios.items()))
