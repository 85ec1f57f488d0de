"""The swinging rubber rod (Lang, Linn and Arnold 2011) against Exudyn's geometrically exact beam."""

from itertools import pairwise

import numpy as np
import pytest

from rtcvt.offline.rods import planar as pl

pytestmark = pytest.mark.slow

pytestmark = pytest.mark.slow
L, G = 1.0, 9.81
RUBBER = dict(EA=5e6 * np.pi * 2.5e-5, GA=5e6 / 3.0 * 0.9 * np.pi * 2.5e-5, EI=5e6 * np.pi / 4.0 * 6.25e-10)
RHO_A = 1100.0 * np.pi * 2.5e-5


def staggered(N: int, times: np.ndarray) -> np.ndarray:
    """Tip (n, 2) of a rod pinned at its left end, level at the start."""
    rod = pl.planar_rod(N, L, rhoA=RHO_A, **RUBBER)
    q, u = pl.line(rod), np.zeros(pl.size(rod))
    inverse, load = pl.inverse_mass(rod, (0, 1)), pl.weight(rod, (0.0, -G))
    out, before = [], 0.0
    for t in times:
        steps = int(np.ceil((t - before) / 2e-5))
        pl.march(rod, q, u, inverse, load, (t - before) / steps, steps)
        out.append(q[-2:].copy())
        before = t
    return np.array(out)


def exudyn(N: int, times: np.ndarray) -> np.ndarray:
    exu = pytest.importorskip("exudyn")
    eii = pytest.importorskip("exudyn.itemInterface")

    system = exu.SystemContainer()
    mbs = system.AddSystem()
    nodes = [mbs.AddNode(eii.NodeRigidBody2D(referenceCoordinates=[L * k / N, 0.0, 0.0])) for k in range(N + 1)]
    for a, b in pairwise(nodes):
        beam = mbs.AddObject(
            eii.ObjectBeamGeometricallyExact2D(
                nodeNumbers=[a, b],
                length=L / N,
                massPerLength=RHO_A,
                crossSectionInertia=RHO_A * RUBBER["EI"] / RUBBER["EA"],
                bendingStiffness=RUBBER["EI"],
                axialStiffness=RUBBER["EA"],
                shearStiffness=RUBBER["GA"],
            )
        )
        marker = mbs.AddMarker(eii.MarkerBodyMass(bodyNumber=beam))
        mbs.AddLoad(eii.LoadMassProportional(markerNumber=marker, loadVector=[0.0, -G, 0.0]))
    ground = mbs.AddNode(eii.NodePointGround())
    zero = mbs.AddMarker(eii.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    for k in range(2):
        pin = mbs.AddMarker(eii.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        mbs.AddObject(eii.CoordinateConstraint(markerNumbers=[zero, pin]))
    variable = exu.OutputVariableType.Position
    sensor = mbs.AddSensor(eii.SensorNode(nodeNumber=nodes[-1], storeInternal=True, outputVariableType=variable))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = 10000
    settings.timeIntegration.endTime = float(times[-1])
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.98
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.verboseMode = 0
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.solution.sensors.writePeriod = float(times[0])
    settings.solution.file.write = False
    mbs.SolveDynamic(settings)
    data = mbs.GetSensorStoredData(sensor)
    return np.column_stack([np.interp(times, data[:, 0], data[:, k]) for k in (1, 2)])


def test_swinging_rubber_rod() -> None:
    """Until the tip snaps over, 0.9 s: both codes converge to one motion, here to 0.2 % of the length."""
    times = np.linspace(0.02, 0.9, 45)
    other = exudyn(128, times)
    coarse, fine = (np.abs(staggered(N, times) - other).max() for N in (32, 64))
    assert fine < 2e-3 * L
    assert fine < 0.4 * coarse
