"""Cost of a step of the full pushbelt models, planar and spatial: schemes, variants and number of elements, in one run.

One thread, processor time, in turn: each figure is the least of seven rounds of ten plot steps, since on a shared
machine the others measure the neighbours too; case MED at 74.58 N m, output included. Printed are costs, ratios, the
exponents of the cost over the number of elements and the largest memory that the process has held; they also stand in
``extra_info`` of ``--benchmark-json``.
"""

import resource

import numpy as np

from rtcvt.offline.pushbelt.checks.kept import step_times
from rtcvt.offline.pushbelt.run.schedule import Case, Run, Settings
from rtcvt.offline.pushbelt.unit.parameters import load_parameters

PLANAR, SPATIAL, EXTENDED = {}, {"model": "spatial", "flank_points": 2}, {"flank_points": 2}
VARIANTS = {
    "planar": PLANAR,
    "planar, multirate": {"scheme": "multirate"},
    "planar, bilateral": {"contact": "bilateral"},
    "planar, decoupled": {"law": "decoupled"},
    "planar, extended": EXTENDED,
    "planar, extended, multirate": EXTENDED | {"scheme": "multirate"},
    "planar, 110": {"N_E": 110},
    "planar, 432": {"N_E": 432, "step": 5e-7},
    "spatial": SPATIAL,
    "spatial, multirate": SPATIAL | {"scheme": "multirate"},
    "spatial, 110": SPATIAL | {"N_E": 110},
    "spatial, 432": SPATIAL | {"N_E": 432, "step": 5e-7},
}
RATIOS = (
    ("planar, bilateral", "planar"),
    ("planar", "planar, decoupled"),
    ("planar, extended", "planar"),
    ("spatial", "planar, extended"),
    ("spatial, multirate", "planar, extended, multirate"),
)


def test_step(benchmark):
    runs = {
        name: Run(name, Case("MED", 3), Settings(**given), settle=0.5, plot_step=1e-4)
        for name, given in VARIANTS.items()
    }
    cost = {name: min(us) for name, us in step_times(load_parameters("pushbelt_24mm"), runs, 10).items()}
    found = {f"{name} [us]": us for name, us in cost.items()}
    found |= {f"{a} over {b}": cost[a] / cost[b] for a, b in RATIOS}
    for model in ("planar", "spatial"):
        counts = {110: f"{model}, 110", 220: model, 432: f"{model}, 432"}
        slope = np.polyfit(np.log(list(counts)), np.log([cost[name] for name in counts.values()]), 1)[0]
        found[f"{model}, exponent in N_E"] = slope
    found["peak memory [GiB]"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    benchmark.extra_info.update(found)
    benchmark(lambda: None)
    print("\n" + "\n".join(f"{name}: {value:.2f}" for name, value in found.items()))
