"""Variators as units: native code has the bits of the kernels, both interfaces run, the page is inside."""

import math
from ctypes import c_double
from pathlib import Path

import fmpy
import numpy as np
import pytest
import variator_laws as analytic
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu
from instances import started
from marks import slow
from native_host import H, Hosted, hosted, same_bits
from refusals import refused

from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.compiler import own_platform
from rtcvt.fmu.native.export import write_unit
from rtcvt.kind import load_unit
from rtcvt.variator.build import build_variator
from rtcvt.variator.page import variator_page
from rtcvt.variator.reduced.file import write_reduced
from rtcvt.variator.unit import with_flange_inputs

pytestmark = [pytest.mark.needs("cc"), pytest.mark.interpreted]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A unit file with its reduced model in its folder."""
    folder = tmp_path_factory.mktemp("variator")
    write_reduced(analytic.corrected(), folder / "laws.h5")
    fields = 'fields = ["push", "flank_normal"]\ncells = 4\n'
    text = fields + analytic.TEXT.replace('reduced = "none"', 'reduced = "laws.h5"')
    (folder / "variator.toml").write_text(text, encoding="utf-8")
    text = load_unit("pushbelt_kers").text.replace('reduced = "pushbelt_24mm_belief"', 'reduced = "laws.h5"')
    (folder / "kers.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def unit(folder):
    return with_flange_inputs(load_unit(folder / "variator.toml"), {"primary": "speed"})


@pytest.fixture(scope="module")
def model(unit):
    return build_variator(unit, "hybrid")


@pytest.fixture(scope="module")
def unpacked(folder, unit, model):
    path = folder / "variator.fmu"
    write_unit(model, path, [own_platform()], 1.0, documentation=variator_page(model, unit))
    assert validate_fmu(str(path)) == []
    return Path(fmpy.extract(str(path), str(folder / "unpacked")))


def signals(k):
    """Inputs that shift, slip, turn back and stop."""
    t = 4 * k * H
    return {"primary.w": 200.0 * math.cos(2.0 * t), "secondary.tau": -60.0 - 120.0 * math.sin(5.0 * t),
        "clamp.primary.F": 13e3 + 8e3 * math.sin(7.0 * t), "clamp.secondary.F": 10e3 + 4e3 * math.cos(3.0 * t),
        "clamp.primary.p": 1e6, "clamp.secondary.p": 1.2e6, "ratio.des": 1.0 + 0.6 * math.sin(3.0 * t)}  # fmt: skip


def flywheel(k):
    """Drives the KERS over its limits, through standstill and back."""
    t = k * H
    return {"shaft.w": 300.0 * math.cos(2.5 * t), "control.tau_des": 250.0 * math.sin(9.0 * t)}


def shares(folder, model, inputs, told, steps=250, **parameters):
    """Share of the steps of a run of the kernels in which an output is on; the unit in `folder` has the same bits."""
    given = parameters | {name.replace(".", "__"): value for name, value in inputs(0).items()}
    rows, _ = same_bits(model, folder, steps, inputs, **given)
    return rows[:, model.variable(told).index].mean()


@pytest.mark.parametrize("control", [0.0, slow(1.0), slow(2.0)])
def test_native_code_has_the_bits_of_the_kernels(unpacked, model, control):
    assert 0.0 < shares(unpacked, model, signals, "status.macro_slip", clamp__control=control) < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("fidelity", ["hybrid", "rigid"])
def test_so_has_that_of_a_kers_and_its_page_is_inside(folder, fidelity):
    unit = load_unit(folder / "kers.toml")
    model, path = unit.build(fidelity), folder / f"{fidelity}.fmu"
    write_unit(model, path, [own_platform()], 1.0, documentation=variator_page(model, unit))
    assert validate_fmu(str(path)) == []
    unpacked = Path(fmpy.extract(str(path), str(folder / fidelity)))
    page = (unpacked / "documentation" / "index.html").read_text(encoding="utf-8")
    for part in ("Torque estimate", "bounds on its rate", "shaft.w_start</code>: give it", "control.saturated"):
        assert part in page
    light = {"flywheel__J": 5e-3}  # enough for these signals
    assert 0.0 < shares(unpacked, model, flywheel, "control.saturated", 1000, **light) < 1.0


def test_choices_are_an_enumeration_and_nothing_else_is_one(unpacked):
    hosted = Hosted(unpacked)
    control, at = hosted.variables["clamp.control"], hosted.reference("clamp.control")
    assert control.type == "Enumeration"
    items = [(item.name, int(item.value)) for item in control.declaredType.items]
    assert items == [("forces", 0), ("pressures", 1), ("ratio", 2)]
    fmi = hosted.fmi
    fmi.setupExperiment()
    fmi.enterInitializationMode()
    before = fmi.getInteger([at])
    for put, place, value in ((fmi.setInteger, at, 3), (fmi.setInteger, at, -1), (fmi.setReal, at, 1.5),
                              (fmi.setInteger, hosted.reference("primary.J"), 1)):  # fmt: skip
        hosted.refused(put, [place], [value])
    assert fmi.getInteger([at]) == before
    fmi.freeInstance()


def test_model_exchange_has_the_rates_of_the_kernels(unpacked, model):
    hosted = Hosted(unpacked, slave=False)
    first = {name.replace(".", "__"): value for name, value in signals(0).items()}
    hosted.start(**first)
    hosted.fmi.newDiscreteStates()
    hosted.fmi.enterContinuousTimeMode()
    one = started(model, signals(0))
    rng = np.random.default_rng(5)
    n = len(one.x)
    states = [hosted.reference(f"state.{s.name}") for s in model.states]
    rates = [hosted.reference(f"der(state.{s.name})") for s in model.states]
    for _ in range(20):
        one.x *= 1.0 + 0.05 * rng.normal(size=n)
        hosted.fmi.setContinuousStates((c_double * n)(*one.x), n)
        assert hosted.fmi.getReal(rates) == one.derivative().tolist()
        d = 1e-6 * (1.0 + np.abs(one.x))
        for j in range(n):
            exact = np.array(hosted.fmi.getDirectionalDerivative(rates, [states[j]], [1.0]))
            x = one.x.copy()
            one.x[j] = x[j] + d[j]
            above = one.derivative()
            one.x[j] = x[j] - d[j]
            below = one.derivative()
            one.x[:] = x
            scale = np.abs(exact).max()
            assert exact == pytest.approx((above - below) / (2.0 * d[j]), rel=1e-4, abs=1e-6 * scale + 1e-3)
    hosted.fmi.freeInstance()


def test_a_unit_in_python_carries_its_laws(folder, unit, tmp_path):
    path = export_python(unit, "rigid", tmp_path / "unit.fmu")
    types = {v.name: v.type for v in fmpy.read_model_description(str(path)).modelVariables}
    assert types["clamp.control"] == "Enumeration"
    result = fmpy.simulate_fmu(
        str(path), stop_time=0.01, step_size=H, output_interval=H,
        start_values={"clamp.control": 0, "primary.w": 200.0, "clamp.primary.F": 13e3, "clamp.secondary.F": 10e3},
        output=["ratio.i", "secondary.w", "peak.push"],
    )  # fmt: skip
    assert result["ratio.i"][-1] == pytest.approx(1.0, abs=0.01)
    assert result["peak.push"][-1] > 1e3


def test_a_unit_without_its_laws_is_refused(unit, tmp_path):
    lost = unit.model_copy(update={"folder": tmp_path})
    refused(r"reduced = 'laws\.h5'", export_python, lost, "rigid", tmp_path / "unit.fmu")
    assert not (tmp_path / "unit.fmu").exists()


def test_fields_are_arrays_in_fmi_3(folder, model, unpacked):
    """Each field one variable with its dimension, with the bits of the elements that FMI 2.0 names one by one."""
    path = folder / "variator3.fmu"
    write_unit(model, path, [own_platform()], 1.0, fmi=3)
    assert validate_fmu(str(path)) == []
    extracted = fmpy.extract(str(path), str(folder / "unpacked3"))
    unit, variables = hosted(extracted, FMU3Slave)
    elements = [v.name for v in model.select("output") if v.name.startswith("field.")]
    fields = {n: v for n, v in variables.items() if n.startswith("field.")}
    assert set(fields) == {n.partition("[")[0] for n in elements} == {"field.push", "field.flank_normal"}
    assert all([int(d.start) for d in v.dimensions] == [16] for v in fields.values())
    assert all(v.description and "cell" not in v.description for v in fields.values())

    two = Hosted(unpacked)
    two.start(**{name.replace(".", "__"): value for name, value in signals(0).items()})
    u = [variables[name].valueReference for name in signals(0)]
    y = [v.valueReference for v in fields.values()]
    unit.enterInitializationMode()
    unit.setFloat64(u, list(signals(0).values()))
    unit.exitInitializationMode()
    for k in range(200):
        unit.setFloat64(u, list(signals(k).values()))
        unit.doStep(k * H, H)
        two.step(signals(k))
        assert unit.getFloat64(y, 32) == [two.get(name) for name in elements]
    z, x = y, [v.valueReference for n, v in variables.items() if n.startswith("state.")]
    seed = np.arange(32.0)
    jacobian = np.array([unit.getDirectionalDerivative(z, [known], [1.0], 32) for known in x])
    np.testing.assert_allclose(unit.getAdjointDerivative(z, x, seed.tolist(), len(x)), jacobian @ seed, rtol=1e-12)
    unit.freeInstance()
    two.fmi.freeInstance()
