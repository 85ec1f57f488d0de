"""Systems in tests: discs on bearings, gear systems of one gear, as their parts; and steps in Python.

Discs are what closed forms are known of. What is built within `interpreted` runs without being compiled.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rows import text_of

from rtcvt.network import generate
from rtcvt.network import model as network_model

__all__ = ["discs", "interpreted"]

KERNELS = ("initialise", "derivative", "output", "step")


@contextmanager
def interpreted(change: Callable[[str], str] | None = None) -> Iterator[None]:
    """Steps of systems are interpreted; `change` makes a mutant of the text of the kernels."""

    def kernels(sets):
        whole = generate.text_of(sets)
        found = generate.interpret(sets, change(whole) if change else whole)
        return {name: generate.Interpreted(found[name], None) for name in KERNELS}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_model, "kernels_of", kernels)
        yield


DISC = text_of("units/disc.toml")


def discs(folder: Path) -> Path:
    """The folder, with the files of three discs with the flange ``f``; one of them has friction."""
    for name, J, b in (("one", 0.1, 0.0), ("two", 0.3, 0.0), ("rough", 0.2, 0.5)):
        (folder / f"{name}.toml").write_text(DISC.format(name=name, J=J, b=b))
    return folder
