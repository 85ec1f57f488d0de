"""Which bits a change has changed: every shipped unit, and short runs of the full models.

    python benchmarks/bits.py write FILE        outputs of the present code (HDF5)
    python benchmarks/bits.py compare FILE      those in a file against the present code
    ... --only NAME                             entries whose name contains NAME; may be given more than once

An entry is one run. Its signals are kept by name, so the order of buffers does not matter::

    rt UNIT MODEL: SCENARIO           kernels compiled by numba
    native UNIT MODEL: SCENARIO       the first second of that run by the exported unit, through FMPy
    full UNIT OPTIONS                 what ``rtcvt simulate`` writes of a full model

`compare` says of each entry that its bits are identical, or the largest difference of a signal, over the largest value
of that signal. It exits with 1 if a bit of a real-time entry has changed, a number of a full model by more than its
limit, if a signal is missing or a run fails.

Limits of full models. Another order of all sums changes positions by up to 7e-13; these may change by `TIGHT`. Rates
and forces are differences of large numbers: the same order changes those of pushbelts by up to 4e-10, of belts of rigid
elements by 3e-9 and of the ANCF belt by 4e-7 (measured without numba's reassoc, contract and arcp); `LIMITS` lie above.
"""

import argparse
import hashlib
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import fmpy
import h5py
import numpy as np
from fmpy.fmi2 import FMU2Slave
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit
from rtcvt.model import Model
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units

UNITS: list[tuple[str, tuple[str, ...], dict[str, str], tuple[str, ...]]]
UNITS = [(name, load_unit(name).models, {}, ()) for name in shipped_units()]  # models, flanges given, belt fields
UNITS += [
    ("differential", ("rigid", "full"), {"pinion": "speed"}, ()),
    ("pushbelt_cvt", ("hybrid", "rigid"), {"primary": "speed"}, ("push", "flank_normal")),
    ("pushbelt_cvt", ("hybrid", "rigid"), {"secondary": "speed"}, ()),
    ("pushbelt_cvt", ("hybrid", "rigid"), {"primary": "speed", "secondary": "speed"}, ()),
]
LONGEST, NATIVE = 60.0, 1.0  # of a scenario [s]
ROWS = 400  # kept of a run, in addition to the digest of all of it
UNCOMPARED = ("checkpoint", "signals/state.")  # what a run needs to go on
LIMITS = {"pushbelt_24mm": 1e-9, "accessory_5pk": 1e-8, "two_pulley_5pk": 1e-8, "two_pulley_belt": 1e-6}
TIGHT = 1e-12
EXACT = ("elements.position", "elements.place", "ring.position", "sheaves.rotation", "belt.q", "belt.x", "belt.y")

PUSHBELT = [f"--case {case} --scheme {s}" for case in ("OD", "MED", "LOW") for s in ("explicit", "multirate")]
PUSHBELT += [
    "--case MED --law decoupled",
    "--case LOW --law decoupled --scheme multirate",
    "--case MED --contact bilateral",
    "--case OD --contact bilateral --law decoupled --scheme multirate",
    "--case MED --flank-points 2",
    "--case LOW --flank-points 2 --law decoupled --contact bilateral",
    "--case OD --taper 5e-6",
    "--case MED --belt spatial",
    "--case MED --scheme set-valued",
]
FULL = [("pushbelt_24mm", f"{options} --duration 2e-4") for options in PUSHBELT]
FULL += [
    ("accessory_5pk", "--model full --scenario 'pulsating torque' --duration 0.1"),
    ("two_pulley_5pk", "--model full --duration 0.1"),
    ("two_pulley_belt", "--model full --duration 0.08"),
    ("two_pulley_belt", "--model full --scenario overrun --duration 0.06"),
]

Signals = dict[str, np.ndarray]


class Unit:
    """One model of a unit, built and exported when that is first asked for."""

    def __init__(self, name: str, fidelity: str, flanges: dict[str, str], fields: tuple[str, ...], folder: Path):
        self.title = " ".join([name, *(f"{flange}={given}" for flange, given in flanges.items()), fidelity])
        self.fidelity = fidelity
        self.unit = load_unit(name).with_flanges(flanges, name)
        if fields:
            self.unit = self.unit.model_copy(update={"fields": fields})
        self.scenarios = [s.model_copy(update={"duration": min(s.duration, LONGEST)}) for s in self.unit.scenario]
        self.folder = folder / self.title

    @cached_property
    def model(self) -> Model:
        return self.unit.build(self.fidelity)

    @cached_property
    def exported(self) -> Path:
        """The folder of the exported unit, without reference results, which take as long as its first scenario."""
        path = self.folder.with_suffix(".fmu")
        export_native(self.unit.model_copy(update={"scenario": ()}), self.fidelity, path)
        return Path(fmpy.extract(str(path), str(self.folder)))

    def moving(self) -> Scenario:
        """Every input moves by a tenth of its nominal value."""
        inputs = {v.name: f"{v.start or 0.0!r} + {0.1 * (v.nominal or 1.0)!r}*sin({3 + 2 * k}*t)"
                  for k, v in enumerate(self.model.select("input"))}  # fmt: skip
        return Scenario(name="moving inputs", duration=1.0, inputs=inputs)

    def run(self, scenario: Scenario | None) -> Signals:
        """A scenario, or moving inputs, by numba."""
        found = simulate(self.model, scenario or self.moving())
        return {v.name: found[v.name] for v in self.model.select("output")} | {"status": found.status}

    def replay(self, scenario: Scenario | None) -> Signals:
        """The first second of it by the exported unit."""
        scenario = scenario or self.moving()
        found = simulate(self.model, scenario.model_copy(update={"duration": min(scenario.duration, NATIVE)}))
        about = fmpy.read_model_description(str(self.exported))
        unit = FMU2Slave(guid=about.guid, unzipDirectory=str(self.exported), instanceName="unit",
                         modelIdentifier=about.coSimulation.modelIdentifier)  # fmt: skip
        place = {v.name: v.valueReference for v in about.modelVariables}
        shown = [v for v in about.modelVariables if v.causality == "output"]
        readers = [unit.getBoolean if v.type == "Boolean" else unit.getReal for v in shown]
        inputs = [v.name for v in self.model.select("input")]
        rows = []

        def feed(k: int) -> None:
            unit.setReal([place[name] for name in inputs], [found[name][k] for name in inputs])

        def read() -> None:
            rows.append([get([v.valueReference])[0] for get, v in zip(readers, shown, strict=True)])

        unit.instantiate()
        unit.setupExperiment(startTime=0.0)
        for v in self.model.select("parameter"):
            if v.choices:
                unit.setInteger([place[v.name]], [int(found.parameter(v.name))])
            else:
                unit.setReal([place[v.name]], [found.parameter(v.name)])
        feed(0)
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        read()
        for k in range(len(found.time) - 1):
            feed(k)
            unit.doStep(found.time[k], found.step)
            read()
        unit.freeInstance()
        return {v.name: np.array(column, float) for v, column in zip(shown, zip(*rows, strict=True), strict=True)}


def full(name: str, options: str, folder: Path) -> Signals:
    """What ``rtcvt simulate`` writes, by dataset and column; checkpoints are left out."""
    path = folder / "run.h5"
    done = CliRunner().invoke(app, ["simulate", name, *shlex.split(options), "-o", str(path)])
    if done.exit_code != 0:
        raise RuntimeError(done.output) from done.exception
    found: Signals = {}

    def collect(key: str, data: h5py.Dataset | h5py.Group) -> None:
        if not isinstance(data, h5py.Dataset) or data.dtype.kind not in "fi" or key.startswith(UNCOMPARED):
            return
        key = key.replace("/", ".")
        columns = data.attrs.get("columns", ())
        if data.shape[-1:] == (len(columns),):
            found.update({f"{key}.{c}": data[..., k] for k, c in enumerate(columns)})
        else:
            found[key] = data[()]

    with h5py.File(path) as file:
        file.visititems(collect)
    path.unlink()
    return found


def entries(folder: Path) -> Iterator[tuple[str, Callable[[], Signals]]]:
    """All runs, by name."""
    for name, fidelities, *changes in UNITS:
        for fidelity in fidelities:
            unit = Unit(name, fidelity, *changes, folder)
            for scenario in (*unit.scenarios, None):
                title = f"{unit.title}: {scenario.name if scenario else 'moving inputs'}"
                yield f"rt {title}", partial(unit.run, scenario)
                yield f"native {title}", partial(unit.replay, scenario)
    for name, options in FULL:
        yield f"full {name} {options}", partial(full, name, options, folder)


def sample(values: np.ndarray) -> np.ndarray:
    """At most about `ROWS` rows, the last among them."""
    return values[:: -max(1, len(values) // ROWS)][::-1] if values.ndim else values


def digest(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def difference(old: np.ndarray, new: np.ndarray) -> float:
    """Largest difference over the largest value; infinite if shapes differ, or one has a number where the other has
    none."""
    if old.shape != new.shape or not np.array_equal(np.isfinite(old), np.isfinite(new)):
        return np.inf
    old, new = (np.asarray(x[np.isfinite(x)], float) for x in (old, new))
    largest = max(np.abs(old).max(initial=0.0), np.abs(new).max(initial=0.0))
    return float(np.abs(new - old).max(initial=0.0) / largest) if largest > 0.0 else 0.0


def limit(name: str, signal: str, kind: str) -> float:
    """Of the difference of a signal."""
    if not name.startswith("full"):
        return 0.0
    if kind == "f4":
        return 2.0 * float(np.finfo("f4").eps)  # two bits of the file
    return TIGHT if any(part in signal for part in EXACT) else LIMITS[name.split()[1]]


def verdict(name: str, old: h5py.Group, new: Signals) -> tuple[bool, str]:
    """Whether an entry may be so, and what there is to say of it."""
    missing = [f"{key} is missing" for key in old if key not in new]
    added = [f"{key} is new" for key in new if key not in old]
    changed = []
    for key, data in old.items():
        if key in new and data.attrs["digest"] != digest(new[key]):
            allowed, found = limit(name, key, data.dtype.str[1:]), difference(data[()], sample(new[key]))
            changed.append((found > allowed or allowed == 0.0, found, key))
    said = (
        [f"{len(changed)} of {len(old)} signals differ, {max(changed)[2]} by {max(changed)[1]:.1e}"] if changed else []
    )
    well = not missing and not any(beyond for beyond, _, _ in changed)
    return well, "; ".join(said + missing + added) or "identical bits"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", action="append", help="entries whose name contains this; may be given again")
    given = parser.parse_args()
    wrong, seen, began = 0, set(), time.perf_counter()

    def chosen(name: str) -> bool:
        return not given.only or any(part in name for part in given.only)

    with h5py.File(given.file, "w" if given.action == "write" else "r") as file, TemporaryDirectory() as folder:
        for name, run in entries(Path(folder)):
            if not chosen(name):
                continue
            seen.add(name)
            since = time.perf_counter()
            try:
                found = run()
            except Exception as error:
                well, said = False, f"fails: {error!r}"
            else:
                if given.action == "write":
                    group = file.create_group(name)
                    for key, values in found.items():
                        group[key] = sample(values)
                        group[key].attrs["digest"] = digest(values)
                    well, said = True, f"{len(found)} signals"
                elif name in file:
                    well, said = verdict(name, file[name], found)
                else:
                    well, said = True, "new"
            wrong += not well
            print(f"{'' if well else 'CHANGED: '}{name}: {said} ({time.perf_counter() - since:.1f} s)", flush=True)
        if given.action == "compare":
            gone = [name for name in file if chosen(name) and name not in seen]
            for name in gone:
                print(f"CHANGED: {name}: gone")
            wrong += len(gone)
    print(f"{len(seen)} entries, {wrong} changed or failed, {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
