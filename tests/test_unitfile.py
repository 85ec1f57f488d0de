"""Every mistake in a unit file is named with file, key, value and what is allowed."""

import copy
import re
import tomllib
from dataclasses import replace

import numpy as np
import pytest
from instances import started, stepped
from refusals import refused
from rows import cases, mistakes, text_of

from rtcvt.errors import InputError, ask
from rtcvt.kind import kind_of_file, load_unit
from rtcvt.pog.radii import radii_at
from rtcvt.pog.system import build_model
from rtcvt.scenario import load_scenario
from rtcvt.unitfile import find_unit, line_of, parse_unit_file


def raw(name="differential"):
    return tomllib.loads(find_unit(name).read_text(encoding="utf-8"))


def as_toml(value):
    """Enough of TOML to write a changed unit back: nested tables inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{k}" = {as_toml(v)}' for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(as_toml(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def write(tmp_path, data):
    path = tmp_path / "broken.toml"
    path.write_text("\n".join(f'"{k}" = {as_toml(v)}' for k, v in data.items()), encoding="utf-8")
    return path


def changed(name, *path, value=None, remove=False):
    data = copy.deepcopy(raw(name))
    place = data
    for step in path[:-1]:
        place = place[step]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


@cases
def test_expressions_with_the_units_of_their_names(tmp_path, parameters, point):
    data = changed("differential", "contacts", "cd", "point", value=["r_c", point])
    data["parameters"] |= parameters
    same = radii_at(load_unit("differential"))
    assert radii_at(load_unit(write(tmp_path, data))) == pytest.approx(same, abs=1e-15)


def test_missing_key(tmp_path):
    with pytest.raises(InputError, match=r"broken\.toml: gears\.a\.inertia: this key is required"):
        load_unit(write(tmp_path, changed("differential", "gears", "a", "inertia", remove=True)))
    with pytest.raises(InputError, match=r"hue: unknown key.*; missing too: gears\.a\.inertia, gears\.a\.axis \(line"):
        load_unit(write(tmp_path, changed("differential", "gears", "a", value={"hue": 1})))


@mistakes
def test_what_was_hardly_meant_is_asked_once(tmp_path, caplog, unit, old, new, question):
    """Frictions that no such contact has, numbers that were copied from the unit of another belt."""
    ask.cache_clear()
    text = find_unit(unit).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "u.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    for _ in range(2):
        load_unit(tmp_path / "u.toml").build()
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == (question is not None)
    assert question is None or re.search(question, said[0])


@cases
def test_an_angle_without_its_unit_is_at_most_a_turn(tmp_path, value, taken):
    file = write(tmp_path, changed("toroidal_kers", "variables", "theta", "max", value=value))
    try:
        load_unit(file)
        message = ""
    except InputError as error:
        message = str(error)
    assert ("variables.theta.max" in message and "deg'; no unit, taken as rad" in message) == taken


def test_not_toml_not_text_not_there(tmp_path):
    file = tmp_path / "unit.toml"
    file.write_text("gears = [", encoding="utf-8")
    refused(r"unit\.toml: not valid TOML: ", load_unit, file)
    file.write_bytes(b"\xff\xfe\x00")
    refused(r"unit\.toml: not a text file", load_unit, file)
    refused(r"UNIT = 'nothing': a TOML file, or one of the shipped units: .*differential", load_unit, "nothing")


def test_angle_and_direction_agree(tmp_path):
    data = changed("toroidal_kers", "gears", "c", "axis", value={"through": [0, "r_b1"], "angle": "theta - pi/2"})
    a, b = (build_model(load_unit(write(tmp_path, data)), "rigid"), build_model(load_unit("toroidal_kers"), "rigid"))
    for model in (a, b):
        i = started(model)
        i.set("control.tau_des", 3.0)
        stepped(i, 100)
        if model is a:
            x = i.x.copy()
    assert x == pytest.approx(i.x, rel=1e-9)


@pytest.mark.parametrize(("text", "message"),
    [("duration = 1" + 400 * "0", r"s\.toml: duration = 1000.*\.\.\.: a time in s, finite"),
    ("duration = 1" + 5000 * "0", r"s\.toml: not valid TOML: a number with thousands of digits"),
    ("a = " + 5000 * "[", r"s\.toml: not valid TOML")])  # fmt: skip
def test_scenario_files(tmp_path, text, message):
    file = tmp_path / "s.toml"
    file.write_text(text, encoding="utf-8")
    refused(message, load_scenario, file)


FILE = text_of("units/any_values.toml")


@cases
def test_line_of_a_key(key, line):
    assert line_of(FILE, key) == line


def test_interpolation_lists_what_is_allowed():
    text = find_unit("planetary").read_text().replace('interpolation = "smooth"', 'interpolation = "cubic"', 1)
    with pytest.raises(InputError, match=r"scenario 'sun.*'.inputs.sun.tau.interpolation = 'cubic': .*'linear'"):
        load_unit(parse_unit_file(text, "x.toml"))


@pytest.mark.parametrize("name", ["planetary", "two_pulley_belt", "pushbelt_cvt"])
def test_scenario_names_are_used_once(name):
    text = find_unit(name).read_text()
    scenario = text[text.index("[[scenario]]") :]
    with pytest.raises(InputError, match=r"scenario.name = .*: a name that is used once"):
        load_unit(parse_unit_file(f"{text}\n{scenario}", "x.toml"))


def test_a_machine_that_cannot_be_computed_is_refused(monkeypatch):
    unit = load_unit("differential")
    broken = replace(unit.kind_record, build=lambda *_: np.linalg.solve(np.zeros((2, 2)), np.ones(2)))
    monkeypatch.setattr(type(unit), "kind_record", broken)
    refused("a machine that can be computed", unit.build)


@pytest.mark.parametrize("name", ["differential", "clutch", "car_cvt"])
@pytest.mark.parametrize("key", ["source", "text", "folder"])
def test_what_a_record_notes_about_its_file_is_no_key(name, key):
    path = find_unit(name)
    text = f'{key} = "x"\n{path.read_text(encoding="utf-8")}'
    with pytest.raises(InputError, match=rf"^x\.toml: {key}: .*unknown key"):
        kind_of_file(parse_unit_file(text, "x.toml", path.parent)).read(parse_unit_file(text, "x.toml", path.parent))


@pytest.mark.parametrize("substeps", [0, -1, 10_001, 1.5])
def test_substeps_are_from_one_on(substeps):
    refused(r"substeps.*an integer from 1 to 10000", lambda: load_unit("clutch").build(substeps=substeps))
