"""Units in tools that we did not write: what checkers say of them, and the same trajectories in every importer.

``make test-interop`` runs this with the packages of the extra ``interop``; with ``RTCVT_INTEROP_TABLE`` set to a file
it also writes the measured differences there, between the two marks of the table.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from fmpy import read_model_description, simulate_fmu
from fmpy.validation import validate_fmu
from held_inputs import simulate_held
from lxml import etree
from refusals import refused
from rows import text_of

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.export import export_native
from rtcvt.fmu.ssp import export_ssp, system_description
from rtcvt.hil import runner
from rtcvt.hil.cosimulation import start
from rtcvt.hil.importer import open_fmu
from rtcvt.kind import load_unit
from rtcvt.network.held import parts_of
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.system import build_model
from rtcvt.pog.unit import GearSystem
from rtcvt.scenario import get_scenario, sample_inputs
from rtcvt.unitfile import parse_unit_file

H = 1e-3
STEPS = 1000
IMPORTERS_FILE = Path(__file__).with_name("interop_importers.py")
OTHERS = "String", "Binary", "Clock"  # types of outputs that are not recorded
MARKS = "<!-- measured -->", "<!-- end of what is measured -->"

# The unit at the other end of the KERS's shaft. Its equal gears turn against each other, so the torque that the KERS
# takes from the shaft of b acts with its own sign on a: no importer has to change a sign, which some cannot.
LOAD = text_of("units/load.toml")

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(sys.platform != "linux", reason="the importers are used as on Linux"),
]


def _units() -> dict[str, tuple[GearSystem, dict[str, float]]]:
    kers = load_unit("toroidal_kers")
    w = next(v.start for v in build_model(kers, "rigid").variables if v.name == "shaft.w")
    return {"kers": (kers, {}), "differential": (load_unit("differential"), {}),
            "load": (read_gear_system(parse_unit_file(LOAD, "load")), {"gear.a.w_start": -w})}  # fmt: skip


BACKENDS = {"native": export_native, "native3": partial(export_native, fmi=3), "python": export_python}


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> dict[tuple[str, str, str], Path]:
    """Files by unit, fidelity and backend."""
    folder = tmp_path_factory.mktemp("units")
    return {
        (name, fidelity, backend): export(unit, fidelity, folder / f"{name}_{fidelity}_{backend}.fmu", parameters=start)
        for name, (unit, start) in _units().items()
        for fidelity in ("rigid", "full")
        for backend, export in BACKENDS.items()
    }


# --- checkers ---------------------------------------------------------------------------------------------------------

KINDS = [(unit, fidelity, backend) for unit in ("kers", "differential") for fidelity in ("rigid", "full")
         for backend in BACKENDS]  # fmt: skip


@pytest.fixture(params=KINDS, ids="-".join)
def unit_file(request, exported) -> Path:
    return exported[request.param]


def test_fmpy_validates_it(unit_file):
    assert validate_fmu(str(unit_file)) == []


def version_of(unit_file: Path) -> str:
    return str(read_model_description(str(unit_file)).fmiVersion)


def test_fmutool_finds_no_error(unit_file):
    pytest.importorskip("fmu_manipulation_toolbox")
    tool = Path(sys.executable).with_name("fmutool")
    done = subprocess.run([str(tool), "-input", str(unit_file), "-check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert f"compliant with FMI-{version_of(unit_file)}" in done.stdout
    assert "No semantic error" in done.stdout


CHECKERS = {"RTCVT_VDMCHECK": ("2.0", []), "RTCVT_VDMCHECK3": ("3.0", []),
            "RTCVT_FMUCHECK": ("2.0", ["-h", str(H), "-s", "0.1", "-o", os.devnull])}  # fmt: skip


@pytest.mark.parametrize("variable", CHECKERS)
def test_a_checker_that_the_environment_names_finds_no_error(unit_file, variable):
    tool, (version, options) = os.environ.get(variable), CHECKERS[variable]
    if not tool:
        pytest.skip(f"{variable} names no checker")
    if version_of(unit_file) != version:
        pytest.skip(f"a checker of FMI {version}")
    if options and unit_file.stem.endswith("python"):
        pytest.skip("runs units, those in Python only within a process of Python")
    done = subprocess.run([tool, *options, str(unit_file)], capture_output=True, text=True)
    report = done.stdout + done.stderr
    assert done.returncode == 0, report
    assert "rror:" not in report
    assert "[FATAL]" not in report


@pytest.mark.parametrize("name", ["vehicle_kers", "vehicle_wltc", "car_cvt"])
@pytest.mark.parametrize("ssp", [1, 2])
def test_a_system_is_valid_by_the_schemas_that_the_environment_names(name, ssp):
    folder = os.environ.get("RTCVT_SSP_SCHEMAS")
    if not folder:
        pytest.skip("RTCVT_SSP_SCHEMAS names no schemas of SSP")
    root = etree.fromstring(ElementTree.tostring(system_description(parts_of(load_unit(name)), ssp)))
    etree.XMLSchema(file=str(Path(folder) / "SystemStructureDescription.xsd")).assertValid(root)
    values = etree.XMLSchema(file=str(Path(folder) / "SystemStructureParameterValues.xsd"))
    sets = list(root.iter("{http://ssp-standard.org/SSP1/SystemStructureParameterValues}ParameterSet"))
    assert sets
    for element in sets:  # of no type in a description
        values.assertValid(etree.fromstring(etree.tostring(element)))


# --- units of others --------------------------------------------------------------------------------------------------


def _reference_units() -> list[Path]:
    """FMUs below the folder that the environment variable names, for example of Reference-FMUs as it builds them."""
    folder = os.environ.get("RTCVT_REFERENCE_FMUS")
    return sorted(Path(folder).rglob("*.fmu")) if folder else []


@pytest.mark.parametrize("path", _reference_units(), ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_a_reference_unit_runs_here_as_in_fmpy(path):
    description = read_model_description(str(path))
    if description.coSimulation is None:
        refused("export the unit for co-simulation", runner.run, path, H)
        return
    end = min(float(description.defaultExperiment.stopTime), 3.0)
    step = float(description.defaultExperiment.stepSize or 0.01)
    ours = runner.run(path, step, end, fast=True).recording().signals
    outputs = [v.name for v in description.modelVariables if v.causality == "output" and v.type not in OTHERS]
    theirs = simulate_fmu(str(path), stop_time=end, output_interval=step, fmi_type="CoSimulation", output=outputs)
    assert outputs
    for name in outputs:
        mine = np.column_stack([s.values for n, s in ours.items() if n == name or n.startswith(f"{name}[")])
        same = theirs[name].reshape(len(theirs), -1).astype(float)
        # the last bits of times, which differ, decide on how many steps Roberts makes within one of ours
        np.testing.assert_allclose(mine[: len(same)], same, rtol=0, atol=1e-5 * np.abs(same).max(), err_msg=name)


@pytest.mark.parametrize("path", _reference_units(), ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_a_reference_unit_has_the_events_of_fmpy_in_event_mode(path):
    """Also where it does not need it; at each communication point what FMPy has there last."""
    cosimulation = read_model_description(str(path)).coSimulation
    if cosimulation is None or not getattr(cosimulation, "hasEventMode", False):
        pytest.skip("no event mode")
    if path.stem == "Roberts":
        pytest.skip("it says that it has event mode, and refuses it")
    with open_fmu(path) as fmu:
        step, end = fmu.default("stepSize") or 0.01, min(fmu.default("stopTime") or 1.0, 3.0)
        n = round(end / step)
        u = np.tile([v.start or 0.0 for v in fmu.interface.select("input")], (n + 1, 1))
        with start(fmu, {}, u, step, events=True) as slave:
            assert all(slave.step(k) for k in range(n)), slave.failure
            mine = slave.y
        outputs = [v for v in fmu.description.modelVariables if v.causality == "output" and v.type not in OTHERS]
    theirs = simulate_fmu(
        str(path), stop_time=n * step, output_interval=step, fmi_type="CoSimulation", output=[v.name for v in outputs],
        use_event_mode=True, early_return_allowed=True,
    )  # fmt: skip
    last = [np.flatnonzero(np.isclose(theirs["time"], k * step, atol=1e-6))[-1] for k in range(n + 1)]
    same = np.column_stack([theirs[v.name][last].reshape(n + 1, -1).astype(float) for v in outputs])
    assert (np.abs(mine - same) <= 1e-5 * np.abs(same).max(axis=0)).all()


# --- the runner of Reference-FMUs -------------------------------------------------------------------------------------


def test_fmusim_has_the_same_bits_with_events_and_without(tmp_path):
    """Its runner before 2026, in C: with event mode, early return and intermediate updates, at communication points."""
    tool = os.environ.get("RTCVT_FMUSIM")
    if not tool:
        pytest.skip("RTCVT_FMUSIM names no fmusim")
    unit = load_unit("clutch")
    model = unit.build()
    step, n, names = 0.01, 240, [v.name for v in model.select("input")]
    closing = sample_inputs(model, get_scenario(unit, "launch and overload"), np.array([0.6]))[0]
    inputs = tmp_path / "in.csv"
    rows = [["time", *names], *([repr(t), *map(repr, closing.tolist())] for t in (0.0, n * step))]
    inputs.write_text("".join(",".join(row) + "\n" for row in rows))
    outputs = [v.name for v in model.select("output") if not v.boolean]
    found = {}
    options = {"plain 2": [], "plain": [], "events": ["--event-mode-used", "--early-return-allowed"],
               "updates": ["--record-intermediate-values"]}  # fmt: skip
    options["both"] = [*options["events"], *options["updates"]]
    for name, given in options.items():
        path = export_native(unit, model.fidelity, tmp_path / f"{name}.fmu", fmi=2 if "2" in name else 3)
        command = [tool, "--interface-type", "cs", "--stop-time", repr(n * step), "--output-interval", repr(step)]
        command += ["--input-file", str(inputs), "--output-file", str(tmp_path / "out.csv"), *given]
        command += [text for output in outputs for text in ("--output-variable", output)]
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        table = np.genfromtxt(tmp_path / "out.csv", delimiter=",", skip_header=1)
        found[name] = {round(row[0] / step, 9): row[1:].tolist() for row in table}
    points = found["plain 2"]
    assert len(points) == n + 1
    for name, rows in found.items():
        assert {k: rows[k] for k in points} == points, name
    assert len(found["updates"]) == 10 * n + 1
    assert len(found["events"]) > n + 1


# --- importers --------------------------------------------------------------------------------------------------------


Clock = dict[str, list[float]]  # times and lengths of steps


def added_up(n: int) -> Clock:
    """Times are sums of the step length."""
    return {"times": [0.0, *accumulate([H] * (n - 1))], "lengths": [H] * n}


def multiplied(n: int) -> Clock:
    """Times are multiples of the step length."""
    return {"times": [k * H for k in range(n)], "lengths": [H] * n}


def differences(n: int) -> Clock:
    """Step lengths are differences of these multiples."""
    times = [k * H for k in range(n + 1)]
    return {"times": times[:-1], "lengths": [b - a for a, b in pairwise(times)]}


def nanoseconds(n: int) -> Clock:
    """Step lengths are differences of times that are whole nanoseconds."""
    times = [k * round(H * 1e9) / 1e9 for k in range(n + 1)]
    return {"times": times[:-1], "lengths": [b - a for a, b in pairwise(times)]}


@dataclass(frozen=True)
class Importer:
    """A tool, and what has to be known of it to compare bits."""

    package: str  # on PyPI
    module: str
    label: str
    systems: tuple[str, ...] = ("kers", "differential", "kers + load")
    program: str = ""  # in IMPORTERS_FILE, where not named as the key
    order: str = "together"
    clock: Callable[[int], Clock] = added_up
    first_inputs_zero: bool = False  # initialises units in a loop with zeros on their inputs
    fmi3: bool = True  # takes units of FMI 3.0
    event_mode: bool = False  # uses that of FMI 3.0: outputs after an event are those for the inputs set in it


IMPORTERS = {
    "fmpy_simulation": Importer("fmpy", "fmpy", "FMPy, `simulate_fmu`", systems=("kers", "differential"),
                                clock=differences),
    "ecospy": Importer("ecospy", "ecospy", "ecospy"),
    "libcosimpy": Importer("libcosimpy", "libcosimpy", "libcosimpy", clock=nanoseconds, fmi3=False),
    "fmucontainer": Importer("fmu-manipulation-toolbox", "fmu_manipulation_toolbox", "fmucontainer in FMPy",
                             clock=multiplied, first_inputs_zero=True, event_mode=True),
    "fmucontainer_in_turn": Importer("fmu-manipulation-toolbox", "fmu_manipulation_toolbox",
                                     "fmucontainer `-sequential` in FMPy", ("kers + load",), "fmucontainer", "in turn",
                                     clock=multiplied, first_inputs_zero=True, event_mode=True),
}  # fmt: skip
DRIVEN = {"kers": "control.tau_des", "differential": "left.tau"}


def demand(k: int) -> float:
    return 20.0 * np.sin(2.0 * k * H)


def system_of(names: list[str], fidelity: str, backend: str, exported, order: str = "together") -> dict:
    """A unit alone, or the KERS on its load, driven by the host."""
    units = {name: str(exported[name, fidelity, backend]) for name in names}
    models = {name: build_model(_units()[name][0], fidelity) for name in names}
    outputs = [[name, v.name] for name, m in models.items() for v in m.select("output") if not v.boolean]
    links = [["load", "gear.b.w", "kers", "shaft.w"], ["kers", "shaft.tau", "load", "load.tau"]]
    return {
        "units": units, "links": links if len(names) > 1 else [], "inputs": [names[0], DRIVEN[names[0]]],
        "values": [demand(k) for k in range(STEPS)], "outputs": outputs, "step": H, **added_up(STEPS),
        "order": order,
    }  # fmt: skip


def run(importer: str, system: dict, folder: Path) -> np.ndarray:
    """Rows of outputs, shape (steps + 1, outputs)."""
    task, result = folder / f"{importer}.json", folder / f"{importer}.npy"
    task.write_text(json.dumps(system))
    command = [sys.executable, str(IMPORTERS_FILE), importer, str(task), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(result)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference of any output at any time, by the output's largest value; NaN rows do not count."""
    scale = np.maximum(np.abs(expected).max(axis=0), np.finfo(float).tiny)
    return float(np.nanmax(np.abs(found - expected) / scale))


SYSTEMS = {"kers": ["kers"], "differential": ["differential"], "kers + load": ["kers", "load"]}
CASES = [(importer, system, fidelity) for importer, known in IMPORTERS.items() for system in known.systems
         for fidelity in ("rigid", "full")]  # fmt: skip


@pytest.fixture(scope="module")
def expected(exported, tmp_path_factory):
    """``expected(system, fidelity)``: the trajectory of the native units, exchanged as written in the reference."""
    found: dict[tuple, np.ndarray] = {}

    def trajectory(system: str, fidelity: str, order: str = "together", clock=added_up) -> np.ndarray:
        key = system, fidelity, order, clock
        if key not in found:
            task = system_of(SYSTEMS[system], fidelity, "native", exported, order)
            task |= clock(STEPS)
            found[key] = run("reference", task, tmp_path_factory.mktemp("reference"))
        return found[key]

    return trajectory


@pytest.fixture(scope="module")
def measured() -> Iterator[list[tuple[str, ...]]]:
    """Rows of the table in the documentation, written at the end if a file is named."""
    rows: list[tuple[str, ...]] = []
    yield rows
    target = os.environ.get("RTCVT_INTEROP_TABLE")
    if target:
        write_table(Path(target), rows)


def write_table(path: Path, rows: list[tuple[str, ...]]) -> None:
    """Put the rows between the marks of a file, models of a system in one; of equal numbers one is written."""
    columns = ("importer", "version", "system", "model", "native, FMI 2.0", "native, FMI 3.0", "Python, FMI 2.0")
    systems: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in rows:
        systems.setdefault(row[:3], []).append(row[3:])
    merged = [(*about, *(", ".join(dict.fromkeys(cells)) for cells in zip(*models, strict=True)))
              for about, models in systems.items()]  # fmt: skip
    head = [columns, ("---",) * len(columns)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [*head, *merged])
    before, _, rest = path.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{MARKS[0]}\n\n{table}\n\n{MARKS[1]}{after}", encoding="utf-8")


def stated(difference: float) -> str:
    return "0" if difference == 0.0 else f"{difference:.0e}"


@pytest.mark.parametrize(("importer", "system", "fidelity"), CASES)
def test_an_importer_gives_the_trajectory_of_the_reference(
    importer, system, fidelity, exported, expected, measured, tmp_path
):
    known = IMPORTERS[importer]
    if importlib.util.find_spec(known.module) is None:
        pytest.skip(f"needs {known.package}")
    reference = expected(system, fidelity)
    exact = expected(system, fidelity, known.order, known.clock)
    coupled = len(SYSTEMS[system]) > 1
    differences = []
    for backend in BACKENDS if known.fmi3 else ("native", "python"):
        first = 1 if known.first_inputs_zero and coupled else 0
        if backend == "native3" and known.event_mode and coupled:
            first = 2  # the first step has an event: the controller is no longer saturated
        task = system_of(SYSTEMS[system], fidelity, backend, exported, known.order)
        found = run(known.program or importer, task, tmp_path)
        assert len(found) == STEPS + 1
        told = ~np.isnan(found).any(axis=1)
        told[:first] = False
        assert told[max(first, 1) :].all()
        np.testing.assert_array_equal(found[told], exact[told])  # bits
        differences.append(relative(found[told], reference[told]))
    assert max(differences) < (1e-11 if known.order == "together" else 1e-2)
    columns = [stated(d) for d in differences]
    if not known.fmi3:
        columns.insert(1, "")
    measured.append((known.label, importlib.metadata.version(known.package), system, fidelity, *columns))


# --- SSP --------------------------------------------------------------------------------------------------------------

LAP_STEPS = 20_000  # start, acceleration and the first braking zone


@pytest.fixture(scope="module")
def vehicle():
    return parts_of(load_unit("vehicle_kers"))


@pytest.fixture(scope="module")
def lap_task(vehicle, tmp_path_factory) -> dict:
    """A car with KERS as one SSP file, and its units."""
    folder = tmp_path_factory.mktemp("ssp")
    archive = export_ssp(vehicle, folder / "vehicle_kers.ssp")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return {"ssp": str(archive), "units": {name: str(folder / "resources" / f"{name}.fmu") for name in vehicle.models},
        "links": [[c.start, c.output.name, c.end, c.input.name] for c in vehicle.connections], "inputs": [],
        "values": [0.0] * LAP_STEPS, "outputs": [[name, v.name] for name,
        m in vehicle.models.items() for v in m.select("output") if not v.boolean], "step": H, **added_up(LAP_STEPS),
        "order": "together"}  # fmt: skip


@pytest.fixture(scope="module")
def lap(lap_task, tmp_path_factory) -> np.ndarray:
    return run("reference", lap_task, tmp_path_factory.mktemp("lap"))


def test_the_reference_of_a_system_is_its_own_simulation(vehicle, lap_task, lap):
    found = simulate_held(vehicle, LAP_STEPS * H, H)
    for k, (unit, name) in enumerate(lap_task["outputs"]):
        np.testing.assert_array_equal(lap[:, k], found[f"{unit}.{name}"])


LAP_IMPORTERS = {
    "fmpy_ssp": replace(IMPORTERS["fmpy_simulation"], label="FMPy, `simulate_ssp`", clock=added_up),
    "ecospy": replace(IMPORTERS["ecospy"], label="ecospy, SSP"),
    "libcosimpy": replace(IMPORTERS["libcosimpy"], label="libcosimpy, SSP"),
    "fmucontainer": IMPORTERS["fmucontainer"],
}


@pytest.mark.parametrize("importer", LAP_IMPORTERS)
def test_an_importer_gives_the_lap_of_the_reference(importer, lap_task, lap, measured, tmp_path):
    known = LAP_IMPORTERS[importer]
    if importlib.util.find_spec(known.module) is None:
        pytest.skip(f"needs {known.package}")
    exact = lap if known.clock is added_up else run("reference", lap_task | known.clock(LAP_STEPS), tmp_path)
    found = run(importer, lap_task, tmp_path)
    np.testing.assert_array_equal(found[1:], exact[1:])
    difference = relative(found[1:], lap[1:])
    assert difference < 1e-6
    measured.append((known.label, importlib.metadata.version(known.package), "vehicle_kers", "rigid",
                     stated(difference), "", ""))  # fmt: skip


# --- what the comparisons are worth -----------------------------------------------------------------------------------


def test_the_coupled_trajectory_is_worth_comparing(expected):
    """The demand reaches the flywheel, and its energy comes from the load."""
    rigid = expected("kers + load", "rigid")
    assert np.isfinite(rigid).all()
    flywheel, load = rigid[:, 4], rigid[:, -2]
    assert flywheel[-1] > flywheel[0] + 20.0
    assert abs(load[-1]) < abs(load[0]) - 0.1
