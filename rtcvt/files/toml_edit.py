"""Values of a TOML text replaced, with its comments and order kept."""

import re
import tomllib
from collections.abc import Mapping

from rtcvt.errors import InputError

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?$")
_LINE = re.compile(r"""\s*("?)([A-Za-z0-9_.\-]+)\1\s*=\s*""")


def edited(text: str, values: Mapping[str, str], source: str) -> str:
    """The text with other values.

    Parameters
    ----------
    text : str
        A TOML text.
    values : mapping
        By dotted key, e.g. ``contacts.mu``; TOML, or a text without its quotes. A key that the text does not have is
        added to the table whose header it begins with, or to the top of the file if it has no dot.
    source : str
        Name of the text in messages.

    Raises
    ------
    InputError
        No table of the text has this key, or its value does not stand on one line.
    """
    lines = text.splitlines()
    for key, value in values.items():
        _edit(lines, key, _toml(value), source)
    return "\n".join(lines) + "\n"


def _toml(value: str) -> str:
    """The value itself if it is TOML, else quoted."""
    try:
        tomllib.loads(f"v = {value}")
    except tomllib.TOMLDecodeError:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return value


def _edit(lines: list[str], key: str, value: str, source: str) -> None:
    table, place = "", -1  # where a missing key goes
    longest = -1  # header that the key begins with
    inside = key  # the key within the current table
    for number, line in enumerate(lines):
        if line.lstrip().startswith("["):
            header = _HEADER.match(line)
            table = header[1].strip() if header else "\n"  # tables of a list have no name for a key
            inside = key[len(table) + 1 :] if key.startswith(f"{table}.") else "" if table else key
            if inside and len(table) > longest:
                place, longest = number + 1, len(table)
        elif not table and place < 0 and "." not in key:
            place, longest = number, 0
        found = _LINE.match(line)
        if inside and found and found[2] == inside:
            lines[number] = line[: found.end()] + value + _after_value(line[found.end() :], key, source)
            return
    if place < 0:
        raise InputError(source, key, None, f"a key of one of its tables; there is no table {key.rpartition('.')[0]}")
    name = key[longest + 1 :] if longest > 0 else key
    lines.insert(place, f"{name} = {value}")


def _after_value(rest: str, key: str, source: str) -> str:
    """What follows the value on its line: nothing, or a comment."""
    for end in [*(m.start() for m in re.finditer(r"\s*#", rest)), len(rest)]:
        try:
            tomllib.loads(f"v = {rest[:end]}")
        except tomllib.TOMLDecodeError:
            continue
        return rest[end:]
    raise InputError(source, key, None, "a value on one line of the file, to be replaced")
