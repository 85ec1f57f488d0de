"""Run a system of units in one importer: ``python interop_importers.py IMPORTER SYSTEM.json RESULT.npy``.

Each importer runs in a process of its own, since some of them end the process when they fail. The system is

    units    {name: file}                       components
    ssp      file                               the same system, for importers that read SSP; or nothing
    links    [[unit, output, unit, input], ...] connections
    inputs   [unit, input]                      what the host sets before each step, or nothing
    values   [number, ...]                      to these values
    outputs  [[unit, output], ...]              what is read after each step
    step     number                             communication step [s]
    times    [number, ...]                      when steps begin [s], for the reference only
    lengths  [number, ...]                      of the steps [s], for the reference only
    order    "together" or "in turn"            exchange before all units step, or before each of them steps

and the result has one row at the start and one after each step. Where an importer does not tell the start, that row
is NaN.

To exchange is to read all connected outputs and then to set all connected inputs. The reference does so until all
values have arrived while initialising, and then at each communication point before all units step (Jacobi), or, in
turn, before each of them steps (Gauss-Seidel).
"""

import ctypes
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from fmpy.ssp.simulation import simulate_ssp

HEAD = "rule;from_fmu;from_port;to_fmu;to_port"


class Unit:
    """One instance, its variables by name."""

    def __init__(self, name, path, folder):
        description = fmpy.read_model_description(str(path))
        fmpy.extract(str(path), str(folder))
        self.reference = {v.name: v.valueReference for v in description.modelVariables}
        self.fmi = FMU2Slave(guid=description.guid, modelIdentifier=description.coSimulation.modelIdentifier,
            unzipDirectory=str(folder), instanceName=name)  # fmt: skip
        self.fmi.instantiate()

    def get(self, name):
        return self.fmi.getReal([self.reference[name]])[0]

    def set(self, name, value):
        self.fmi.setReal([self.reference[name]], [value])


def reference(system, folder):
    """The exchange written out, on the functions of the units themselves."""
    units = {name: Unit(name, path, folder / name) for name, path in system["units"].items()}

    def exchange():
        found = [units[unit].get(name) for unit, name, _, _ in system["links"]]
        for (_, _, unit, name), value in zip(system["links"], found, strict=True):
            units[unit].set(name, value)

    for unit in units.values():
        unit.fmi.setupExperiment(startTime=0.0)
        unit.fmi.enterInitializationMode()
    for _ in units:
        exchange()
    for unit in units.values():
        unit.fmi.exitInitializationMode()

    def row():
        return [units[unit].get(name) for unit, name in system["outputs"]]

    rows = [row()]
    for value, t, h in zip(system["values"], system["times"], system["lengths"], strict=True):
        exchange()
        if system["inputs"]:
            units[system["inputs"][0]].set(system["inputs"][1], value)
        for unit in units.values():
            if system["order"] == "in turn":
                exchange()
            unit.fmi.doStep(t, h)
        rows.append(row())
    for unit in units.values():
        unit.fmi.terminate()
        unit.fmi.freeInstance()
    return rows


def fmpy_simulation(system, folder):
    """``fmpy.simulate_fmu``, for one unit."""
    (path,) = system["units"].values()
    n, h = len(system["values"]), system["step"]
    signals = np.zeros(n + 1, dtype=[("time", float), (system["inputs"][1], float)])
    signals["time"] = np.arange(n + 1) * h
    signals[system["inputs"][1]][:n] = system["values"]
    names = [output for _, output in system["outputs"]]
    found = fmpy.simulate_fmu(
        path, stop_time=n * h, output_interval=h, step_size=h, input=signals, output=names, fmi_type="CoSimulation"
    )
    return np.stack([found[name] for name in names], axis=1)


def fmpy_ssp(system, folder):
    """``fmpy.ssp.simulation.simulate_ssp``, for an SSP file."""
    n, h = len(system["values"]), system["step"]
    found = simulate_ssp(system["ssp"], stop_time=(n - 0.5) * h, step_size=h)
    after = np.stack([found[f"{unit}.{name}"] for unit, name in system["outputs"]], axis=1)
    return np.vstack([np.full((1, after.shape[1]), np.nan), after])


def fmucontainer(system, folder):
    """One FMU made of the units, stepped as the reference is."""
    lines = [HEAD]
    for name, path in system["units"].items():
        (folder / f"{name}.fmu").symlink_to(path)
        lines.append(f"FMU;{name}.fmu;;;")
    lines += [f"LINK;{a}.fmu;{output};{b}.fmu;{name}" for a, output, b, name in system["links"]]
    if system["inputs"]:
        unit, name = system["inputs"]
        lines.append(f"INPUT;;{name};{unit}.fmu;{name}")
    # a link takes the name `unit.output` for itself
    lines += [f"OUTPUT;{unit}.fmu;{name};;found.{unit}.{name}" for unit, name in system["outputs"]]
    (folder / "system.csv").write_text("\n".join(lines) + "\n")
    tool = str(Path(sys.executable).with_name("fmucontainer"))
    made = [tool, "-fmu-directory", str(folder), "-container", f"system.csv:{system['step']}"]
    options = ["-no-auto-link", "-no-auto-input", "-no-auto-output"]
    if system["order"] == "in turn":
        options.append("-sequential")
    done = subprocess.run([*made, *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout)
    whole = {**system, "units": {"system": str(folder / "system.fmu")}, "links": [],
        "inputs": system["inputs"] and ["system", system["inputs"][1]],
        "outputs": [["system", f"found.{unit}.{name}"] for unit, name in system["outputs"]]}  # fmt: skip
    return reference(whole, folder)


def ecospy(system, folder):
    """The units, or an SSP file, with the algorithm of fixed steps."""
    ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libtbb.so.12"), mode=ctypes.RTLD_GLOBAL)  # ecos does not find it
    from ecospy import EcosSimulation, EcosSimulationStructure

    if "ssp" in system:
        simulation = EcosSimulation(ssp_path=system["ssp"], step_size=system["step"])
    else:
        structure = EcosSimulationStructure()
        for name, path in system["units"].items():
            structure.add_model(name, path)
        for a, output, b, name in system["links"]:
            structure.make_real_connection(f"{a}::{output}", f"{b}::{name}")
        simulation = EcosSimulation(structure=structure, step_size=system["step"])
    simulation.init()

    def row():
        return [simulation.get_real(f"{unit}::{name}") for unit, name in system["outputs"]]

    rows = [row()]
    for value in system["values"]:
        if system["inputs"]:
            simulation.set_real("::".join(system["inputs"]), value)
        simulation.step()
        rows.append(row())
    return rows


def libcosimpy(system, folder):
    """The units, or an SSP file, with the algorithm of fixed steps."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    nanoseconds = round(system["step"] * 1e9)
    if "ssp" in system:
        with zipfile.ZipFile(system["ssp"]) as archive:  # it reads a folder
            archive.extractall(folder)
        execution = CosimExecution.from_ssp_file(str(folder), nanoseconds)
    else:
        execution = CosimExecution.from_step_size(nanoseconds)
        for name, path in system["units"].items():
            execution.add_local_slave(CosimLocalSlave(path, name))
    units = {unit for unit, _ in system["outputs"]} | set(system["units"])
    number = {unit: execution.slave_index_from_instance_name(unit) for unit in units}
    references = {
        unit: {v.name.decode(): v.reference for v in execution.slave_variables(index)} for unit, index in number.items()
    }
    for a, output, b, name in system["links"] if "ssp" not in system else ():
        execution.connect_real_variables(number[a], references[a][output], number[b], references[b][name])
    observer, manipulator = CosimObserver.create_last_value(), CosimManipulator.create_override()
    execution.add_observer(observer)
    execution.add_manipulator(manipulator)
    rows = [[np.nan] * len(system["outputs"])]
    for value in system["values"]:
        if system["inputs"]:
            unit, name = system["inputs"]
            manipulator.slave_real_values(number[unit], [references[unit][name]], [value])
        if not execution.step():
            raise RuntimeError(str(execution.status()))
        rows.append([observer.last_real_values(number[unit], [references[unit][name]])[0]
                     for unit, name in system["outputs"]])  # fmt: skip
    return rows


IMPORTERS = {f.__name__: f for f in (reference, fmpy_simulation, fmpy_ssp, fmucontainer, ecospy, libcosimpy)}


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        found = IMPORTERS[sys.argv[1]](json.loads(Path(sys.argv[2]).read_text()), Path(scratch))
        np.save(sys.argv[3], np.array(found, dtype=float))
