"""A unit whose memory tools may access: its manifest is valid, and at the addresses that it tells are its variables."""

import ctypes
import re
from pathlib import Path

import fmpy
import pytest
import xmlschema
from native_host import Hosted

from rtcvt.errors import InputError
from rtcvt.fmu.native.export import export_native
from rtcvt.kind import load_unit

pytestmark = pytest.mark.needs("cc")
SCHEMA = Path(__file__).parents[1] / "data" / "schemas" / "fmi3LayeredStandardXcpManifest.xsd"
EXTRA = "extra/org.fmi-standard.fmi-ls-xcp"
H = 1e-3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("access")
    path = export_native(load_unit("differential"), "rigid", made / "unit.fmu", ("linux64",), access=True)
    return Path(fmpy.extract(str(path), str(made / "unit")))


def test_the_manifest_is_valid_and_names_the_description(folder):
    found = {"http://fmi-standard.org/fmi-ls-manifest":
             str(Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3LayeredStandardManifest.xsd")}  # fmt: skip
    manifest = folder / EXTRA / "fmi-ls-manifest.xml"
    xmlschema.XMLSchema(str(SCHEMA), locations=found).validate(str(manifest))
    (interface,) = xmlschema.XMLResource(str(manifest)).root
    assert (folder / EXTRA / "linux64" / interface.get("definition")).is_file()
    assert interface.get("supportsDirectMemoryAccess") == "true"


def test_variables_are_read_and_parameters_written_in_memory(folder):
    """What is written counts in the next step; what is no value of the parameter is refused, and is gone after it."""
    host = Hosted(folder).start()
    (text,) = (p.read_text() for p in (folder / EXTRA / "linux64").iterdir())
    pattern = r"(0x[0-9A-F]+).* DISPLAY_IDENTIFIER (\S+) /end (CHARACTERISTIC|MEASUREMENT)"
    told = {name: (int(at, 16), kind) for at, name, kind in re.findall(pattern, text)}
    library = next(line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line)
    base = int(library.partition("-")[0], 16)

    def memory(name):
        return ctypes.c_double.from_address(base + told[name][0])

    outputs = [n for n, v in host.variables.items() if v.causality == "output"]
    gain = next(n for n, (_, kind) in told.items() if kind == "CHARACTERISTIC")
    torque = next(n for n, v in host.variables.items() if v.causality == "input")
    before = host.get(gain)
    host.set(torque, 5.0)
    host.step()
    assert memory(torque).value == 5.0
    assert {n: memory(n).value for n in outputs} == {n: host.get(n) for n in outputs}
    assert any(memory(n).value for n in outputs)
    memory(gain).value = before + 0.01
    host.step()
    assert host.get(gain) == memory(gain).value == before + 0.01
    for wrong in (-1.0, float("nan"), float("inf")):
        memory(gain).value = wrong
        host.step()
        assert host.get(gain) == memory(gain).value == before + 0.01
    assert any(gain in message for _, _, message in host.log)
    host.set(gain, before)
    host.step()
    assert memory(gain).value == before
    host.fmi.freeInstance()


def test_other_platforms_are_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"win64.*with access to its memory linux64 or aarch64-linux"):
        export_native(load_unit("differential"), "rigid", tmp_path / "x.fmu", ("linux64", "win64"), access=True)
