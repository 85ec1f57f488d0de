"""Archives with other contents, and units made of a text in C."""

import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import fmpy
from fmpy.fmi3 import FMU3Slave

__all__ = ["changed", "described", "library", "unit_of"]


def changed(path: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """A copy of an archive, each file of which is what `change` makes of its name and data; without those of none."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return target


def described(path: Path, target: Path, *texts: tuple[str, str]) -> Path:
    """A copy of a unit with texts of its description replaced."""

    def change(name: str, data: bytes) -> bytes:
        for old, new in texts if name == "modelDescription.xml" else ():
            assert old.encode() in data
            data = data.replace(old.encode(), new.encode())
        return data

    return changed(path, target, change)


def library(folder: Path, name: str, more: str = "") -> Path:
    """A shared library of ``hil/NAME.c`` and `more` text in C, compiled with the machine's compiler."""
    text, made = folder / f"{name}.c", folder / f"{name}.so"
    text.write_text(Path(__file__).parent.joinpath("hil", text.name).read_text(encoding="utf-8") + more)
    words = ["-w", "-O0", "-shared", "-fPIC", str(text), "-o", str(made), "-ldl", "-lm"]
    subprocess.run([shutil.which("cc") or "cc", *words], check=True)
    return made


def unit_of(folder: Path, name: str, description: str, more: str = "") -> Path:
    """An FMU of ``hil/NAME.c`` for this machine; functions of FMI 3.0 that it lacks give an error."""
    fmi3 = 'fmiVersion="3.0"' in description
    if fmi3:
        known = Path(__file__).parent.joinpath("hil", f"{name}.c").read_text(encoding="utf-8") + more
        others = {n for kind in FMU3Slave.__mro__ for n in vars(kind) if re.fullmatch("fmi3[A-Z].*", n)}
        others |= {"fmi3EnterStepMode", "fmi3GetOutputDerivatives"}
        more += "".join(f"int {n}(void) {{ return 3; }}\n" for n in sorted(others) if f"{n}(" not in known)
    with zipfile.ZipFile(folder / f"{name}.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", description)
        place = fmpy.platform_tuple if fmi3 else "linux64"
        archive.write(library(folder, name, more), f"binaries/{place}/{name}.so")
        archive.writestr("resources/nothing", "")
    return folder / f"{name}.fmu"
