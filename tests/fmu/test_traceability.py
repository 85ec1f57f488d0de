"""What a unit says of its origin and accuracy is valid by the schemas of SSP Traceability, and is what was found."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
import xmlschema

from rtcvt.fmu.export import export_python
from rtcvt.fmu.traceability import FILE, STC, evidence, write_metadata
from rtcvt.html import ErrorRow
from rtcvt.kind import load_unit

SCHEMAS = Path(__file__).parents[1] / "data" / "schemas"
XLINK = Path(xmlschema.__file__).parent / "schemas" / "XLINK" / "xlink.xsd"
ROWS = [ErrorRow("a", "shaft.w", "rad/s", 0.001, 0.01, 1.5), ErrorRow("b", "shaft.tau", "N.m", 0.03, 0.02, 4.0)]


@pytest.fixture(scope="module")
def schema():
    found = {"http://ssp-standard.org/SSP1/SystemStructureCommon": str(SCHEMAS / "SystemStructureCommon.xsd"),
             "http://www.w3.org/1999/xlink": str(XLINK)}  # fmt: skip
    return xmlschema.XMLSchema11(str(SCHEMAS / "SRMD.xsd"), locations=found)


def classified(path, schema):
    """Entries by classification, of a file that the schema takes."""
    schema.validate(str(path))
    found = {}
    for group in xmlschema.XMLResource(str(path)).root:
        entries = found[group.get("type")] = {}
        for entry in group:
            assert entry.tag == f"{{{STC}}}ClassificationEntry"
            is_json = entry.get("type") == "application/json"
            entries[entry.get("keyword")] = json.loads(entry.text) if is_json else entry.text
    return found


def test_a_check_is_told_row_by_row(schema, tmp_path):
    unit = load_unit("clutch")
    model = unit.build()
    write_metadata(tmp_path, model, evidence(unit, ROWS))
    found = classified(tmp_path / FILE, schema)
    assert found["rtcvt.origin"]["unit file, SHA-256"] == hashlib.sha256(unit.text.encode()).hexdigest()
    assert found["rtcvt.check"]["within"] == "1 of 2"
    assert found["rtcvt.check"]["b: shaft.tau"] == {"rms": 0.03, "allowed": 0.02, "largest": 4.0, "unit": "N.m"}
    bounded = next(v for v in model.select("parameter") if v.minimum is not None)
    assert found["rtcvt.range"][bounded.name] == [bounded.minimum, bounded.maximum]


def test_a_reduced_model_tells_its_data_its_errors_and_its_bands(schema, tmp_path):
    unit = load_unit("pushbelt_cvt")
    write_metadata(tmp_path, unit.build("hybrid"), evidence(unit, None))
    found = classified(tmp_path / FILE, schema)
    assert "rtcvt.check" not in found
    assert [name for name in found["rtcvt.range"] if name.startswith("data: ")]
    assert 0.0 < found["rtcvt.reduction"]["heldout.thrust.rms"] < 0.1
    low, middle, high = found["rtcvt.bands"]["underdrive"]["thrust ratio"]
    assert low < middle < high


def test_a_unit_in_python_carries_it_too(schema, tmp_path):
    path = export_python(load_unit("differential"), "rigid", tmp_path / "unit.fmu", errors=ROWS)
    with zipfile.ZipFile(path) as archive:
        archive.extract(FILE, tmp_path)
    assert set(classified(tmp_path / FILE, schema)) == {"rtcvt.check", "rtcvt.origin", "rtcvt.range"}
