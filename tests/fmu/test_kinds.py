"""Units of belts, clutches, engines and their controllers: native code has the bits of the kernels, to every output.

Kernels run as Python here (`interpreted`); that compiled ones have the same bits is told by test_native.py.
"""

import math
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from machines import machines
from marks import slow
from native_host import H, same_bits
from rows import cases

from rtcvt.belt.unit import Lateral
from rtcvt.fmu.export import export_python
from rtcvt.fmu.native.compiler import own_platform
from rtcvt.fmu.native.export import write_unit
from rtcvt.kind import kinds, load_unit
from rtcvt.simulate import simulate
from rtcvt.unitfile import shipped_units

pytestmark = [pytest.mark.needs("cc"), pytest.mark.interpreted]

SCALE = {"clutch.u": 0.7, "control.theta": 0.3, "a.w": 20.0, "b.w": 20.0, "control.v": 15.0, "engine.pedal": 1.1,
         "control.r": 0.05}  # fmt: skip
OTHERS = {"gear_system", "belt", "variator", "law", "observer", "system"}
PARTS = {"clutch": 4, "clutch_control": 2, "engine": 1, "cvt_control": 0, "torque_converter": 2, "shift_control": 0}
# shipped parts, and variants with more equations; other kinds have their own files
UNITS = {name: load_unit(name).build for kind in kinds() if kind.build
         for name in shipped_units(*kind.names) if {*kind.names}.isdisjoint(OTHERS)}  # fmt: skip
FLANGED = {"differential", "planetary", "power_split_ivt", "toroidal_kers"}  # with speeds given, or with play
UNITS |= {name: machine.model for name, machine in machines() if name == "warm_clutch" or "pulsating" in name
          or (name.partition(" ")[0] in FLANGED and name.count(" ") == 2)}  # fmt: skip
FAST = ["clutch", "shift_control", "warm_clutch", "engine pulsating slow", "hybrid_drive", "vehicle_tyres", "cvt_pump"]
# with an output that is zero or less now and then
BELTS = {"two_pulley_belt hybrid": {"P2__mu": 0.2}, "two_pulley_belt hybrid swings": {"P2__mu": 0.2},
    "accessory_5pk hybrid": {"alternator__mu": 0.15, "belt__v_start": 12.0}, "accessory_5pk rigid": {},
    "accessory_6pk hybrid": {}}  # fmt: skip


def compared(model, folder, steps, inputs, parameters):
    """Outputs and statuses of a run of the kernels, of which the unit's outputs, states and rates have the bits."""
    path = folder / "unit.fmu"
    write_unit(model, path, [own_platform()], 1.0)
    assert validate_fmu(str(path)) == []
    return same_bits(model, Path(fmpy.extract(str(path), str(folder / "unit"))), steps, inputs, **parameters)


@pytest.mark.parametrize("name", [n if n in FAST else slow(n) for n in UNITS])
def test_a_part_of_a_drive(tmp_path, name):
    """With inputs beyond every limit, now and then."""
    model = UNITS[name]()

    def inputs(k):
        waves = [(v, math.sin((3.0 + 2.0 * i) * 4 * k * H)) for i, v in enumerate(model.select("input"))]
        return {v.name: float(wave > 0.0) if v.boolean else SCALE.get(v.name, 200.0) * wave for v, wave in waves}

    rows, statuses = compared(model, tmp_path, 500 if name in PARTS else 100, inputs, {})
    assert np.ptp(rows, axis=0).any() or not model.select("input")
    if name in PARTS:
        assert {row[PARTS[name]] > 0.0 for row in rows} == {False, True}
        assert statuses == ({0, 1} if name in ("clutch", "engine") else {0})


@pytest.mark.parametrize("name", [n if "swings" in n else slow(n) for n in BELTS])
def test_a_belt_drive(tmp_path, name):
    """With torques at which wraps slip, now and then."""
    unit, fidelity, *swings = name.split()
    drive = load_unit(unit)
    if swings:
        drive = drive.model_copy(update={"lateral": Lateral(modes=2)})
    model = drive.build(fidelity)

    def inputs(k):
        return {v.name: 3.0 * (v.nominal or 1.0) * math.sin((3.0 + 2.0 * i) * 6 * k * H)
                for i, v in enumerate(model.select("input"))}  # fmt: skip

    _, statuses = compared(model, tmp_path, 100, inputs, BELTS[name])
    assert fidelity == "rigid" or statuses == {0, 1}


def test_flanges_and_outputs_of_the_accessory_drive():
    variables = load_unit("accessory_5pk").build().by_name
    for flange in ("crankshaft", "alternator", "pump"):
        assert variables[f"{flange}.tau"].causality == "input"
        assert variables[f"{flange}.w"].causality == "output"
    for name in ("tensioner.w", "crankshaft_alternator.F", "alternator.slip", "tensioner.F_x", "crankshaft.N"):
        assert variables[name].causality == "output"


@cases
def test_the_python_unit_gives_the_same_numbers(tmp_path, name, given, output):
    unit = load_unit(name)
    path = export_python(unit, unit.models[0], tmp_path / "unit.fmu", documentation="<p>About</p>")
    result = fmpy.simulate_fmu(str(path), stop_time=0.05, output_interval=H, start_values=given, output=[output])
    scenario = unit.scenario[0].model_copy(update={"duration": 0.05, "inputs": given})
    expected = simulate(unit.build(), scenario, H)[output]
    assert abs(expected[-1]) > 100.0
    assert result[output] == pytest.approx(expected, rel=1e-9)
