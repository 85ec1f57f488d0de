"""Units of FMI 3.0 that take what their controllers are to follow at the ticks of a clock.

What is right is known from the kernels, stepped in Python with inputs that change at ticks only: all bits are the same.
"""

from ctypes import c_double, c_int, c_uint32
from pathlib import Path

import fmpy
import numpy as np
import pytest
from c_programs import ADDRESS, build, figures
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Model
from fmpy.validation import validate_fmu
from instances import started
from lxml import etree
from test_fmi3_events import Host

from rtcvt.errors import InputError
from rtcvt.fmu.native.export import export_native, with_clock, write_sources
from rtcvt.kind import load_unit
from rtcvt.scenario import sample_inputs

pytestmark = pytest.mark.needs("cc")

H = 1e-3  # [s]
INTERVAL = 4  # steps between two ticks
CASES = {  # unit: its clock, and what has it
    "toroidal_kers": ("control.clock", "control.tau_des"),
    "pushbelt_cvt": ("ratio.clock", "ratio.des"),
    "pushbelt_kers": ("control.clock", "control.tau_des"),
}
SCHEMA = Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3ModelDescription.xsd"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """``exported(unit)``: the file, the folder it is extracted to, and the model."""
    folder = tmp_path_factory.mktemp("clock")
    made = {}

    def export(name):
        if name not in made:
            unit = load_unit(name)
            model = unit.build()
            path = export_native(unit, model.fidelity, folder / f"{name}.fmu", fmi=3, clock=INTERVAL * H)
            made[name] = path, Path(fmpy.extract(str(path), str(folder / name))), model
        return made[name]

    return export


class Clocked(Host):
    """A unit with a clock; a tick sets its input."""

    def __init__(self, name, folder):
        super().__init__(folder, eventModeUsed=True)
        clock, follows = CASES[name]
        self.clock, self.follows = self.variables[clock].valueReference, self.variables[follows].valueReference

    def tick(self, value):
        self.setClock([self.clock], [True])
        assert self.getClock([self.clock])[0]
        self.setFloat64([self.follows], [value])

    def end_event(self):
        assert self.updateDiscreteStates() == (False, False, False, False, False, 0.0)
        assert not self.getClock([self.clock])[0]
        self.enterStepMode()


def run(name, folder, model, u, interval):
    """Outputs after each step; the clock ticks with every `interval` of them."""
    host = Clocked(name, folder)
    place = model.variable(CASES[name][1]).index
    free = [v for v in model.select("input") if v.index != place]
    outputs = [v for v in model.select("output") if not v.boolean]
    host.enterInitializationMode()
    host.setFloat64(host.references(model.select("input")), list(u[0]))
    host.exitInitializationMode()
    rows = []
    for k in range(len(u)):
        if k:
            host.enterEventMode()
        host.setFloat64(host.references(free), [u[k, v.index] for v in free])
        if k % interval == 0:
            host.tick(u[k, place])
        host.end_event()
        host.doStep(k * H, H)
        rows.append(host.getFloat64(host.references(outputs)))
    host.terminate()
    host.freeInstance()
    return rows


@pytest.mark.parametrize(
    "name", ["toroidal_kers", *(pytest.param(n, marks=pytest.mark.slow) for n in CASES if "push" in n)]
)
@pytest.mark.parametrize("interval", [1, INTERVAL])
def test_the_unit_follows_what_was_there_at_the_last_tick(name, interval, exported):
    """With a tick in every step these are the numbers of a unit without a clock."""
    _, folder, model = exported(name)
    u = sample_inputs(model, load_unit(name).scenario[0], H * np.arange(300))
    place = model.variable(CASES[name][1]).index
    moving = u[:, place] + (u[:, place].max() + 1.0) * 0.1 * np.sin(0.05 * np.arange(len(u)))
    u[:, place] = moving
    instance = model.instantiate()
    instance.u[:] = u[0]
    instance.initialise()
    expected = []
    for k in range(len(u)):
        instance.u[:] = u[k]
        instance.u[place] = moving[k - k % interval]
        instance.t = k * H
        instance.step(H)
        expected.append([instance.y[v.index] for v in model.select("output") if not v.boolean])
    assert run(name, folder, model, u, interval) == expected


def test_the_description_has_a_clock_and_inputs_that_belong_to_it(exported):
    path, folder, _ = exported("toroidal_kers")
    assert validate_fmu(str(path)) == []
    tree = etree.parse(str(folder / "modelDescription.xml"))
    etree.XMLSchema(file=str(SCHEMA)).assertValid(tree)
    (clock,) = tree.iter("Clock")
    assert dict(clock.attrib) | {"description": ""} == {
        "name": "control.clock", "valueReference": clock.get("valueReference"), "description": "",
        "causality": "input", "intervalVariability": "constant", "intervalDecimal": "0.004",
    }  # fmt: skip
    members = {v.get("name"): v for v in tree.iter() if v.get("clocks")}
    assert set(members) == {"control.tau_des"}
    demand = members["control.tau_des"]
    assert (demand.get("clocks"), demand.get("variability")) == (clock.get("valueReference"), "discrete")
    assert demand.get("intermediateUpdate") is None
    assert fmpy.read_model_description(str(path)).coSimulation.hasEventMode


def test_interval_and_shift_can_be_asked_for(exported):
    host = Clocked("toroidal_kers", exported("toroidal_kers")[1])
    host.enterInitializationMode()
    interval, shift, qualifier = (c_double * 1)(), (c_double * 1)(1.0), (c_int * 1)()
    clocks = (c_uint32 * 1)(host.clock)
    host.fmi3GetIntervalDecimal(host.component, clocks, 1, interval, qualifier)
    host.fmi3GetShiftDecimal(host.component, clocks, 1, shift)
    assert (interval[0], shift[0], qualifier[0]) == (INTERVAL * H, 0.0, 1)  # fmi3IntervalUnchanged
    host.freeInstance()


def test_what_a_clock_does_not_allow_is_refused(exported):
    folder = exported("toroidal_kers")[1]
    with pytest.raises(Exception, match="Failed to instantiate"):
        Host(folder)  # without event mode
    host = Clocked("toroidal_kers", folder)

    def refused(call, *given, text):
        with pytest.raises(FMICallException):
            call(*given)
        assert text in host.messages[-1]

    host.enterInitializationMode()
    refused(host.setClock, [host.clock], [True], text="in initialisation mode")
    host.exitInitializationMode()
    refused(host.setFloat64, [host.follows], [1.0], text="is not active")
    refused(host.getFloat64, [host.follows], text="is not active")
    refused(host.setClock, [host.follows], [True], text="none of a variable of this type")
    host.tick(3.0)
    refused(host.setClock, [host.clock], [False], text="cannot be deactivated")
    clocks, interval = (c_uint32 * 1)(host.clock), (c_double * 1)(1e-3)
    refused(host.fmi3SetIntervalDecimal, host.component, clocks, 1, interval, text="constant")
    host.updateDiscreteStates()
    refused(host.setClock, [host.clock], [True], text="has ticked")
    host.enterStepMode()
    for call in (host.setClock, host.setFloat64):
        refused(call, [host.clock], [True], text="between steps" if call == host.setClock else "of this type")
    refused(host.setFloat64, [host.follows], [1.0], text="is not active")
    host.freeInstance()


def test_in_model_exchange_the_derivatives_follow_a_tick(exported):
    _, folder, model = exported("toroidal_kers")
    description = fmpy.read_model_description(str(folder))
    variables = {v.name: v.valueReference for v in description.modelVariables}
    unit = FMU3Model(guid=description.guid, modelIdentifier=description.modelExchange.modelIdentifier,
                     unzipDirectory=str(folder), instanceName="unit")  # fmt: skip
    unit.instantiate()
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    n = len(model.states)
    dx = (c_double * n)()
    instance = started(model)
    unit.getContinuousStateDerivatives(dx, n)
    assert list(dx) == instance.derivative().tolist()
    unit.setClock([variables["control.clock"]], [True])
    unit.setFloat64([variables["control.tau_des"]], [20.0])
    unit.updateDiscreteStates()
    unit.enterContinuousTimeMode()
    with pytest.raises(FMICallException):
        unit.setFloat64([variables["control.tau_des"]], [40.0])
    instance.set("control.tau_des", 20.0)
    unit.getContinuousStateDerivatives(dx, n)
    assert list(dx) == instance.derivative().tolist()
    unit.terminate()
    unit.freeInstance()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toroidal_kers", "pushbelt_cvt"])
def test_random_calls_do_no_harm(name, tmp_path):
    """The steps have the bits of the kernels, and every call at a wrong moment is refused, under sanitizers."""
    write_sources(with_clock(load_unit(name).build(), INTERVAL * H), name, tmp_path / "sources", fmi=3)
    program = build(tmp_path / "sources", "clock_sequences.c", tmp_path / "sequences", *ADDRESS)
    for seed in (1, 2, 3):
        found = figures(program, seed, 3000)
        assert found["made"] > 2900
        assert min(found["ticks"], found["refused"], found["restored"]) > 500


WRONG = {
    "of FMI 2.0": ("toroidal_kers", {"clock": 1e-3}, "only in a unit of FMI 3.0"),
    "without a controller": ("planetary", {"clock": 1e-3, "fmi": 3}, "only in a unit with a controller"),
    "of no length": ("toroidal_kers", {"clock": 0.0, "fmi": 3}, "a finite time above 0 s"),
    "of no number": ("toroidal_kers", {"clock": float("nan"), "fmi": 3}, "a finite time above 0 s"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_clock_that_cannot_be_is_refused(name, tmp_path):
    unit, options, text = WRONG[name]
    record = load_unit(unit)
    with pytest.raises(InputError, match=text):
        export_native(record, record.build().fidelity, tmp_path / "unit.fmu", **options)
    assert not list(tmp_path.iterdir())
