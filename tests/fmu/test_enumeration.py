"""Enumerations in the FMU: a type of their own, integers at the interface, and nothing between the choices."""

import fmpy
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave, fmi2Error

import rtcvt


@pytest.fixture(scope="module", params=["native", "python"])
def unit(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    path = rtcvt.load("pushbelt_cvt").export(folder / "cvt.fmu", backend=request.param, errors=False)
    return fmpy.read_model_description(str(path)), fmpy.extract(str(path), str(folder / "unit"))


def test_the_description_names_the_choices(unit):
    description, _ = unit
    (control,) = (v for v in description.modelVariables if v.name == "clamp.control")
    assert control.type == "Enumeration"
    assert [(item.name, int(item.value)) for item in control.declaredType.items] == [
        ("forces", 0),
        ("pressures", 1),
        ("ratio", 2),
    ]
    assert control.start == "2"


def test_choices_are_set_as_integers_and_others_refused(unit):
    description, folder = unit
    reference = {v.name: v.valueReference for v in description.modelVariables}
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=folder,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="one",
    )
    slave.instantiate()
    slave.setupExperiment()
    slave.enterInitializationMode()
    control = [reference["clamp.control"]]
    slave.setInteger(control, [0])
    assert slave.getInteger(control) == [0]
    slave.setReal([reference["clamp.primary.F"], reference["clamp.secondary.F"]], [17e3, 15e3])
    slave.exitInitializationMode()
    slave.doStep(0.0, 1e-3)
    assert slave.getReal([reference["thrust.primary"]])[0] == pytest.approx(17e3, rel=1e-3)  # forces are given
    slave.terminate()
    slave.freeInstance()


def test_what_is_no_choice_is_refused(unit):
    description, folder = unit
    if description.coSimulation.needsExecutionTool:
        pytest.skip("the library of the Python unit ends the process")
    reference = {v.name: v.valueReference for v in description.modelVariables}
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=folder,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="two",
    )
    slave.instantiate()
    slave.setupExperiment()
    slave.enterInitializationMode()
    control = reference["clamp.control"]
    for call, at, value in (
        (slave.setInteger, control, 3),
        (slave.setInteger, control, -1),
        (slave.setReal, control, 1.5),
        (slave.setInteger, reference["primary.J"], 1),
    ):
        with pytest.raises(FMICallException) as error:
            call([at], [value])
        assert error.value.status == fmi2Error
    assert slave.getInteger([control]) == [2]
    slave.freeInstance()
