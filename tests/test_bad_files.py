"""Every mistake in a file is named with file, key, value and what is allowed.

A file of ``tests/data/bad`` names a good file, a shipped unit or one of ``tests/data``, and lists mistakes. A mistake
replaces a text (``old``, ``new``), appends ``more``, is another ``text``, or sets the ``value`` at the key ``at``;
without a value it removes the key. ``message`` is the expression that the error must match; the error begins with the
file's name, or with ``says``. With ``table`` the mistakes are in the table that the unit reads under this name.
"""

import re
import tomllib
from importlib.resources import files

import pytest
from discs import interpreted
from rows import DATA

from rtcvt.errors import InputError
from rtcvt.kind import kind_of_file
from rtcvt.offline.variator.plan import load_plan
from rtcvt.scenario import load_scenario
from rtcvt.unitfile import UnitFile, find_unit, parse_unit_file

MISTAKES = [
    pytest.param(head | mistake, id=f"{path.stem}-{k}")
    for path in sorted(DATA.glob("bad/*.toml"))
    for head in [tomllib.loads(path.read_text(encoding="utf-8"))]
    for k, mistake in enumerate(head.pop("case"))
]
READERS = {"scenario": load_scenario, "plan": load_plan}


def changed_text(given, text):
    """The text with a mistake."""
    assert given.get("old", "") in text
    replaced = text.replace(given["old"], given["new"]) if "old" in given else text
    return given.get("text", replaced) + given.get("more", "")


def changed_data(given, data):
    """The data with another value at a key, or without the key."""
    place, (*path, last) = data, given["at"].split("/")
    for key in path:
        place = place[key]
    if "value" in given:
        place[last] = given["value"]
    else:
        del place[last]
    return data


def opened(given, folder):
    """Read the file with its mistake, and build what it describes."""
    path = DATA / given["good"] if given["good"].endswith(".toml") else find_unit(given["good"])
    text = path.read_text(encoding="utf-8")
    if "at" in given:
        file = UnitFile(changed_data(given, tomllib.loads(text)), "", "bad.toml", path.parent)
    elif "table" in given:
        table = files("rtcvt").joinpath(given["of"]).read_text(encoding="utf-8") if "of" in given else ""
        (folder / given["table"]).write_text(changed_text(given, table), encoding="utf-8")
        assert given["replace"][0] in text
        file = parse_unit_file(text.replace(*given["replace"]), "bad.toml", folder)
    elif "reader" in given:
        (folder / "bad.toml").write_text(changed_text(given, text), encoding="utf-8")
        return READERS[given["reader"]](folder / "bad.toml")
    else:
        (folder / "mine.csv").write_text(given.get("file", ""), encoding="utf-8")
        file = parse_unit_file(changed_text(given, text), "bad.toml", folder if "file" in given else path.parent)
    kind = kind_of_file(UnitFile({"kind": given.get("read_as", file.kind)}, "", "bad.toml"))
    return kind.read(file).build().instantiate().initialise()


@pytest.mark.parametrize("given", MISTAKES)
def test_a_mistake_is_named(tmp_path, given):
    with interpreted(), pytest.raises(InputError) as refused:
        opened(given, tmp_path)
    assert str(refused.value).startswith((given.get("says", "bad.toml: "), given.get("table", "bad.toml: ")))
    assert re.search(given["message"], str(refused.value), re.DOTALL)
