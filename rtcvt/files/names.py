"""Names at the border: a variable's name in the characters that a target allows, and back.

A name that the target allows is kept. Any other name is spelled with allowed characters; a second name with the same
spelling gets a number. All names of a unit are mapped together, in the order of its table: so the same names always
give the same result, and `mapped`, read backwards, finds the variable of a foreign name.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

Target = Literal["identifier", "dbc", "hdf5", "mdf", "csv"]


class _Rules(NamedTuple):
    bad: re.Pattern[str]  # characters that become an underscore
    longest: int  # [characters]
    identifier: bool  # begins with a letter


_CONTROL = r"\x00-\x1f\x7f\ud800-\udfff"
_RULES: Mapping[Target, _Rules] = {
    "identifier": _Rules(re.compile("[^A-Za-z0-9_]"), 1000, True),  # of C
    "dbc": _Rules(re.compile("[^A-Za-z0-9_]"), 32, True),  # of a DBC file, which also has the long-name attribute
    "hdf5": _Rules(re.compile(f"[/{_CONTROL}]"), 1000, False),
    "mdf": _Rules(re.compile(rf"[{_CONTROL}]|^\s|\s$"), 1000, False),  # whose readers cut blanks off
    "csv": _Rules(re.compile(rf"[{_CONTROL}]|^[\s#]|\s$"), 1000, False),  # the same
}


def mapped(names: Iterable[str], target: Target, reserved: Collection[str] = ()) -> dict[str, str]:
    """Names as the target spells them, by name; no two are the same, and none is reserved."""
    rules, given = _RULES[target], list(dict.fromkeys(names))
    spelled = {name: _spelled(name, rules) for name in given}
    taken = {name for name in given if spelled[name] == name} - set(reserved)
    found = {}
    for name in given:
        if name in taken:
            found[name] = name
            continue
        text, number = spelled[name], 1
        while text in taken or text in reserved:
            number += 1
            end = f"_{number}"
            text = spelled[name][: rules.longest - len(end)] + end
        taken.add(text)
        found[name] = text
    return found


_FORMULA = re.compile("'*[=+@-]")  # the start of a cell that a spreadsheet would evaluate


def quoted(name: str) -> str:
    """A name as the cell of a table: a quote precedes a text that a spreadsheet would read as a formula."""
    return f"'{name}" if _FORMULA.match(name) else name


def unquoted(cell: str) -> str:
    """The name that `quoted` made a cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def free(name: str, taken: Collection[str], prefix: str = "rig") -> str:
    """A name of one's own that no variable has."""
    while name in taken:
        name = f"{prefix}.{name}"
    return name


def changed(found: Mapping[str, str], where: str) -> list[str]:
    """One sentence for each name that got a number."""
    plain = {text: name for name, text in found.items() if name == text}
    said = []
    for name, text in found.items():
        stem = re.sub(r"_[0-9]+$", "", text)
        other = plain.get(stem) or next((n for n, t in found.items() if t == stem), None)
        if text != name and text != _spelled(name, _RULES["identifier"]):
            said.append(f"{name} is {text} {where}, where {f'{other} is {stem}' if other else f'{stem} means more'}")
    return said


def _spelled(name: str, rules: _Rules) -> str:
    text = rules.bad.sub("_", name)
    if len(text) > rules.longest:  # the end of a structured name is its most specific part
        text = text[-rules.longest :]
        text = text.partition("_")[2] or text
    if rules.identifier and not text[:1].isalpha():
        text = f"v_{text}"[: rules.longest]
    return text if text.strip(".") else f"v_{text}"  # a dot alone is a folder
