"""ANCF belt drive of 60, 240 and 480 elements: this package and Exudyn, same model, mesh, step, tolerance, one thread.

Run-up of the two-pulley drive from rest, 0.7 s. Both run in turn, `ROUNDS` times, with 480 elements once; compared is
the median of CPU time, which a busy machine disturbs least. The residual that ends Newton's method is 1e-8 of the
predictor's in both (Exudyn's default), its matrix is kept as long as it serves, the discontinuous iteration ends at
1e-3 N or after five. Exudyn runs in its build without range checks, without sensors and files; rtcvt books its energy.
Both must end with the same speed of P2 within 1e-2 rad/s.
"""

import sys
import time

import numpy as np
import pytest

from rtcvt.kind import load_unit
from rtcvt.offline.belt import rigid_elements
from rtcvt.offline.belt.drive import build, simulate
from rtcvt.offline.belt.motion import Numerics

CASES = {60: 1e-4, 240: 5e-5, 480: 5e-5}  # elements: step [s]
END = 0.7
ROUNDS = 3
TOLERANCE = 1e-8  # of Newton's method, by the residual of the predictor


def exudyn_drive(elements, h):
    """The drive as Exudyn's items, in static equilibrium; a function that runs it and returns the speed of P2."""
    sys.exudynFast = True
    exu = pytest.importorskip("exudyn")
    import exudyn.itemInterface as item  # noqa: N813
    from exudyn import beams

    unit = load_unit("two_pulley_belt")
    belt, model = unit.belt, unit.ancf
    lam = 1.0 + belt.pretension / belt.EA
    mbs = exu.SystemContainer().AddSystem()
    r = unit.pulleys["P1"].radius
    curve = beams.CreateReevingCurve(
        [[list(p.center), p.radius, "L"] for p in unit.pulleys.values()],
        radialOffset=0.5 * belt.height,
        closedCurve=True,
        numberOfANCFnodes=elements,
    )
    template = item.Cable2D(
        massPerLength=belt.mass / lam,
        bendingStiffness=lam * belt.EI,
        axialStiffness=lam * belt.EA,
        axialDamping=lam * belt.damping,
        referenceAxialStrain=1.0 / lam - 1.0,
        useReducedOrderIntegration=2,
        strainIsRelativeToReference=False,
    )
    cables = beams.PointsAndSlopes2ANCFCable2D(
        mbs,
        curve["ancfPointsSlopes"],
        curve["elementLengths"],
        template,
        massProportionalLoad=[0, -model.gravity, 0],
        fixedConstraintsNode0=[1, 0, 0, 0],
        firstNodeIsLastNode=True,
    )
    area = belt.width * curve["totalLength"] / (elements * model.segments)
    ground = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(item.NodePointGround()), coordinate=0))
    contacts, locks, nodes = [], [], []
    for i, p in enumerate(unit.pulleys.values()):
        node = mbs.AddNode(item.NodeRigidBody2D(referenceCoordinates=[*p.center, 0.0]))
        body = mbs.AddObject(item.ObjectRigidBody2D(mass=50.0, inertia=p.inertia, nodeNumber=node))
        x, y, turn = (mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=k)) for k in range(3))
        for marker in (x, y):
            mbs.AddObject(item.CoordinateConstraint(markerNumbers=[ground, marker]))
        if i == 0:

            def speed(mbs, t, number, offset):
                return float(np.interp(t, [0.05, 0.6], [0.0, 12.0]))

            drive = mbs.AddObject(
                item.CoordinateConstraint(
                    markerNumbers=[ground, turn], velocityLevel=True, offsetUserFunction_t=speed, activeConnector=False
                )
            )
        else:
            mbs.AddObject(item.CoordinateSpringDamper(markerNumbers=[ground, turn], damping=p.friction))
        locks.append(mbs.AddObject(item.CoordinateConstraint(markerNumbers=[ground, turn])))
        circle = mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=body))
        for cable in cables[1]:
            shape = mbs.AddMarker(
                item.MarkerBodyCable2DShape(
                    bodyNumber=cable, numberOfSegments=model.segments, verticalOffset=-0.5 * belt.height
                )
            )
            n = model.segments
            data = mbs.AddNode(
                item.NodeGenericData(initialCoordinates=[0.1] * n + [-2] * n + [0] * n, numberOfDataCoordinates=3 * n)
            )
            contacts.append(
                mbs.AddObject(
                    item.ObjectContactFrictionCircleCable2D(
                        markerNumbers=[circle, shape],
                        nodeNumber=data,
                        numberOfContactSegments=n,
                        contactStiffness=model.k_c * area,
                        contactDamping=model.d_c * area,
                        frictionVelocityPenalty=model.mu_v * area,
                        frictionStiffness=1e-8,
                        frictionCoefficient=0.0,
                        circleRadius=r,
                    )
                )
            )
        nodes.append(node)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    settings.solution.file.write = False
    settings.timeIntegration.numberOfSteps = round(END / h)
    settings.timeIntegration.endTime = END
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = TOLERANCE
    settings.timeIntegration.discontinuous.iterationTolerance = 1e-3
    settings.timeIntegration.discontinuous.maxIterations = 5
    static = settings.staticSolver
    static.verboseMode, static.adaptiveStep = 0, False
    static.loadStepGeometric, static.loadStepGeometricRange, static.numberOfLoadSteps = True, 1e4, 10
    static.stabilizerODE2term = 1e5
    static.newton.relativeTolerance = static.newton.absoluteTolerance = 1e-6
    mbs.SolveStatic(settings, updateInitialValues=True)
    for number in contacts:
        mbs.SetObjectParameter(number, "frictionCoefficient", model.mu)
        mbs.SetObjectParameter(number, "frictionStiffness", model.mu_k * area)
    for number in (*cables[4], *locks):
        mbs.SetObjectParameter(number, "activeConnector", False)
    mbs.SetObjectParameter(drive, "activeConnector", True)

    def run():
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
        return mbs.GetNodeOutput(nodes[1], exu.OutputVariableType.AngularVelocity)[2]

    return run


def own_drive(elements, h):
    unit = load_unit("two_pulley_belt")
    scenario = unit.scenario[0].model_copy(update={"duration": END})
    drive = build(unit, elements=elements, step=h)
    simulate(drive, scenario.model_copy(update={"duration": h}), sample=h, numerics=Numerics(h))  # compiled

    def run():
        return simulate(drive, scenario, sample=0.01, numerics=Numerics(h, newton=TOLERANCE)).turning[-1, 1, 1]

    return run


@pytest.mark.parametrize("elements", CASES)
def test_run_up_beside_exudyn(benchmark, elements):
    h = CASES[elements]
    runs = {"rtcvt": own_drive(elements, h), "exudyn": exudyn_drive(elements, h)}
    cpu, speed = {name: [] for name in runs}, {}

    def round_of_both():
        for name, run in runs.items():
            start = time.process_time()
            speed[name] = run()
            cpu[name].append(time.process_time() - start)

    benchmark.pedantic(round_of_both, rounds=ROUNDS if elements < 480 else 1)
    own, other = (float(np.median(cpu[name])) for name in runs)
    benchmark.extra_info.update(cpu=cpu, per_step={"rtcvt": own * h / END, "exudyn": other * h / END}, speed=speed)
    benchmark.extra_info["times_faster"] = other / own
    assert speed["rtcvt"] == pytest.approx(speed["exudyn"], abs=1e-2)


def test_rigid_elements(benchmark):
    """First 10 ms of the accessory drive."""
    unit = load_unit("accessory_5pk")
    scenario = unit.scenario[0].model_copy(update={"duration": 0.01})
    rigid_elements.simulate(unit, scenario.model_copy(update={"duration": 1e-3}))  # compiled
    cpu = []

    def timed():
        start = time.process_time()
        run = rigid_elements.simulate(unit, scenario)
        cpu.append(time.process_time() - start)
        return run

    run = benchmark.pedantic(timed, rounds=1)
    benchmark.extra_info.update(cpu=cpu[0], steps=run.accepted, rejected=run.rejected)
    assert run.complete
