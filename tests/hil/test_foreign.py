"""FMUs as components of a system: against the law that they were made from, units, faults, and what cannot be."""

import shutil
import tempfile
import zipfile

import numpy as np
import pytest
from archives import described
from hostile import MISDEEDS, build
from refusals import refused
from rows import DATA, mistakes, text_of

from rtcvt.errors import InputError
from rtcvt.fmu.export import export_python
from rtcvt.fmu.gradient import sensitivities
from rtcvt.fmu.native.export import export_native
from rtcvt.fmu.ssp import export_ssp
from rtcvt.hil import stepped
from rtcvt.hil.recorder import read
from rtcvt.kind import load_unit
from rtcvt.network.held import parts_of
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file

pytestmark = pytest.mark.needs("loop", "cc")

LAW, SYSTEM = text_of("units/foreign_law.toml"), text_of("units/foreign_system.toml")
COMPONENT = SYSTEM[SYSTEM.index("fmu =") : SYSTEM.index("inputs =")]


def write(folder, backend=2):
    law = load_unit(DATA / "units" / "foreign_law.toml")
    if backend == "python":
        return export_python(law, "rigid", folder / "tcu.fmu")
    return export_native(law, "rigid", folder / "tcu.fmu", fmi=backend)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("foreign")
    write(made)
    return made


@pytest.fixture(scope="module")
def as_law():
    """The run with the law itself, whose output follows the speed of the sample before."""
    equations = (
        LAW[LAW.index("sample") :]
        .replace("k*v", "k*d")
        .replace("outputs.", 'blocks.d = { block = "delay", input = "v" }\noutputs.')
    )
    return run(
        SYSTEM.replace(COMPONENT, 'parameters = { T = "0.2 s" }\n').replace(
            "[[scenario", f"[components.tcu.law]\n{equations}[[scenario"
        )
    )


def system(text, folder=DATA):
    return load_unit(parse_unit_file(text, "mine.toml", folder))


def run(text, folder=DATA, **options):
    loaded = system(text, folder)
    return simulate(loaded.build(), loaded.scenario[0], **options)


@pytest.mark.parametrize("backend", [2, 3, "python"])
def test_an_fmu_acts_as_the_law_that_it_was_made_from(backend, tmp_path, as_law):
    """The same bits at all points; what follows its output in the same instant does so in the step after, and a tuned
    parameter is there at the next communication point."""
    write(tmp_path, backend)
    one = run(SYSTEM, tmp_path)
    same = np.r_[:12001, 12010 : len(one.time)]
    np.testing.assert_array_equal(one["tcu.slow"][same], as_law["tcu.slow"][same])
    assert np.ptp(one["tcu.slow"]) > 5.0
    inside = same[same % 10 != 0]
    for name in ("driver.drive.tau", "driver.kers.tau_des"):
        np.testing.assert_array_equal(one[name][inside], as_law[name][inside])


def test_values_are_converted_to_the_units_of_the_fmu(folder, tmp_path, as_law):
    """A speed in km/h, defined by the description, and an output whose unit the system file names."""
    defined = '<Unit name="m/s">\n      <BaseUnit m="1" s="-1" />'
    kmh = '<Unit name="km/h">\n      <BaseUnit m="1" s="-1" factor="0.2777777777777778" />\n    </Unit>\n    '
    path = described(folder / "tcu.fmu", tmp_path / "tcu.fmu", (defined, kmh + defined), ('unit="m/s"', 'unit="km/h"'))
    one = run(SYSTEM, tmp_path)
    same = np.r_[:12001]
    np.testing.assert_allclose(one["tcu.slow"][same], as_law["tcu.slow"][same], rtol=1e-12)  # linear: km/h in, km/h out
    shutil.copy(folder / "tcu.fmu", path)
    other = run(SYSTEM.replace("inputs =", 'units = { slow = "km/h" }\ninputs ='), tmp_path)
    np.testing.assert_allclose(other["tcu.slow"][same], as_law["tcu.slow"][same] / 3.6, rtol=1e-12)


def test_a_run_is_repeated_with_the_same_bits_and_its_state_is_not_copied(folder):
    one = system(SYSTEM, folder).build().instantiate()
    runs = []
    for _ in range(2):
        one.initialise()
        runs.append([one.step(1e-3) for _ in range(25)] and one.y.copy())
    np.testing.assert_array_equal(*runs)
    for act in (one.copy, one.get_state):
        refused(r"tcu.fmu.*no FMU where states are copied", act)
    with pytest.raises(InputError, match=r"tcu.fmu.*no FMU in a run with derivatives"):
        sensitivities(one.model, system(SYSTEM, folder).scenario[0], 1e-3, ["tcu.k"])
    one.initialise()
    with pytest.raises(InputError, match=r"components.tcu.step = 0.01: a multiple of the step of the run, 0.004 s"):
        [one.step(4e-3) for _ in range(3)]


@mistakes
def test_mistakes_in_the_file(old, new, message, folder):
    assert old in SYSTEM
    refused(message, lambda: system(SYSTEM.replace(old, new, 1), folder).build())


# --- faults -----------------------------------------------------------------------------------------------------------

HOSTILE = text_of("units/hostile_system.toml")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return build(tmp_path_factory.mktemp("hostile")).parent


@mistakes
def test_a_fault_names_file_and_component_and_loses_nothing(misdeed, said, hostile, tmp_path, monkeypatch, command):
    monkeypatch.setattr(stepped, "PATIENCE", 1.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shutil.copy(hostile / "hostile.fmu", tmp_path)
    file, kept = tmp_path / "mine.toml", tmp_path / "run.h5"
    file.write_text(HOSTILE.replace("mode = 0", f"mode = {MISDEEDS[misdeed]}"))
    code, _, err = command("simulate", str(file), "-o", str(kept))
    assert (code == 0) == (said is None)
    if said:
        assert "mine.toml: components.bad.fmu = 'hostile.fmu': " in err
        assert said.replace("\\", "") in " ".join(err.split())
    rest = {f.name for f in tmp_path.iterdir()} - {"hostile.fmu", "mine.toml"}
    assert rest == (set() if misdeed == "at_start" else {"run.h5"})  # folders of FMUs are removed
    if rest:
        until = 0.1 if said is None else 0.054
        assert read(kept).time[-1] == pytest.approx(until)


# --- export -----------------------------------------------------------------------------------------------------------


def test_a_system_with_an_fmu_is_packed(folder, tmp_path):
    loaded = system(SYSTEM, folder)
    with pytest.raises(InputError, match=r"components.tcu.fmu = 'tcu.fmu': no FMU within the one unit"):
        export_python(loaded, "system", tmp_path / "whole.fmu")
    path = export_ssp(parts_of(loaded), tmp_path / "whole.ssp")
    with zipfile.ZipFile(path) as archive:
        assert archive.read("resources/tcu.fmu") == (folder / "tcu.fmu").read_bytes()
        text = archive.read("SystemStructure.ssd").decode()
    assert '<ssd:Connection startElement="tcu" startConnector="slow" endElement="driver"' in text
    assert '<ssv:Parameter name="T">\n                    <ssv:Real value="0.2" unit="s" />' in text
    write(tmp_path, 3)
    with pytest.raises(InputError, match=r"components.tcu.fmu = 'tcu.fmu': an FMU of FMI 2.0 in SSP 1.0"):
        export_ssp(parts_of(system(SYSTEM, tmp_path)), tmp_path / "other.ssp")
