"""Discs on bearings: gear systems of one gear, as parts of systems in tests."""

from pathlib import Path

__all__ = ["discs"]

DISC = """
name = "{name}"
kind = "gear_system"
[gears]
a = {{ inertia = {J}, friction = {b}, axis = {{ through = [0, 0], direction = [1, 0] }} }}
[rigid]
independent = ["a"]
[ports]
f = {{ gear = "a", tau_max = 100.0 }}
"""


def discs(folder: Path) -> Path:
    """The folder, with the files of three discs with the flange ``f``; one of them has friction."""
    for name, J, b in (("one", 0.1, 0.0), ("two", 0.3, 0.0), ("rough", 0.2, 0.5)):
        (folder / f"{name}.toml").write_text(DISC.format(name=name, J=J, b=b))
    return folder
