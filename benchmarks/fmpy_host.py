"""What a step of an FMU costs a host in Python, through FMPy."""

import time

import fmpy
from fmpy.fmi2 import FMU2Slave


def measure_do_step(benchmark, folder, step=1e-3, inputs=None):
    """Benchmark ``fmi2DoStep`` of the FMU extracted to `folder` at constant `inputs` by name.

    Returns how long instantiation took [s].
    """
    description = fmpy.read_model_description(str(folder))
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=str(folder),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="benchmark",
    )
    before = time.perf_counter()
    slave.instantiate()
    taken = time.perf_counter() - before
    slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    places = {v.name: v.valueReference for v in description.modelVariables}
    for name, value in (inputs or {}).items():
        slave.setReal([places[name]], [value])
    slave.exitInitializationMode()
    now = 0.0

    def advance():
        nonlocal now
        slave.doStep(now, step)
        now += step

    advance()
    benchmark(advance)
    slave.terminate()
    slave.freeInstance()
    return taken
