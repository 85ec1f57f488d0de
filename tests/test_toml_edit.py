"""Values of a TOML text replaced in place."""

import tomllib

import pytest
from refusals import refused
from rows import text_of

from rtcvt.files.toml_edit import edited
from rtcvt.unitfile import read_unit_file, shipped_units

TEXT = text_of("units/edited.toml")


def test_values_are_replaced_and_comments_stay():
    values = {"name": "mine", "contacts.mu": "0.1", "contacts.friction.law": '"stribeck"',
        "contacts.friction.v_S": "30 mm/s", "parameters.primary.J": "2e-2", "list": "[3]", "seed": "4"}  # fmt: skip
    text = edited(TEXT, values, "file")
    assert tomllib.loads(text) == {
        "name": "mine",
        "seed": 4,
        "list": [3],
        "contacts": {"mu": 0.1, "path": "x", "friction": {"law": "stribeck", "v_S": "30 mm/s"}},
        "parameters": {"primary": {"J": 2e-2}},
        "case": [{"mu": 5}],
    }
    for comment in ("# A machine", "# its name", "# of the belt", "0.1  # C", "2e-2  # A"):
        assert comment in text


@pytest.mark.parametrize("key", ["contact.mu", "case.mu", "parameters.x.y.z"])
def test_key_of_no_table_or_a_new_key(key):
    if key.startswith("parameters"):
        assert tomllib.loads(edited(TEXT, {key: "1"}, "file"))["parameters"]["x"] == {"y": {"z": 1}}
    else:
        refused(f"file: {key}: a key of one of its tables", edited, TEXT, {key: "1"}, "file")


def test_value_over_lines_is_refused():
    refused("list: a value on one line", edited, "list = [\n1,\n]\n", {"list": "[2]"}, "file")


def test_every_plain_value_of_every_shipped_unit_can_be_replaced():
    for name in shipped_units():
        file = read_unit_file(name)
        tables = {f"{table}.": rows for table, rows in file.data.items() if isinstance(rows, dict)} | {"": file.data}
        numbers = {t + k: "0.5" for t, rows in tables.items() for k, v in rows.items() if isinstance(v, float | int)}
        text = edited(file.text, numbers, name)
        changed = tomllib.loads(text)
        for key in numbers:
            table, dot, last = key.partition(".")
            assert (changed[table][last] if dot else changed[table]) == 0.5, (name, key)
