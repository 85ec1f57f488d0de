"""What tests need in addition to Python packages, each under one name: ``@pytest.mark.needs("cc")``.

A test whose tool is missing is skipped and says so. Tools that the environment variable ``RTCVT_REQUIRE`` names, with
commas between them, must be there: the test then fails. ``.ci/run`` names what it has installed.
"""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

from rtcvt.hil.native.build import available

SYSROOT = Path("/usr/aarch64-linux-gnu")  # of libc6-arm64-cross
ZIG = find_spec("ziglang") is not None
WINE = shutil.which("wine64") or shutil.which("wine")
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
CONTAINER = shutil.which(
    "fmucontainer", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
)


def _command(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


TOOLS: dict[str, tuple[str, Callable[[], bool]]] = {  # what it is, whether it is there
    "cc": ("a C compiler (cc)", _command("cc")),
    "clang": ("clang", _command("clang")),
    "sanitizers": ("a C compiler with sanitizers", _command("cc")),  # the tests try
    "nm": ("nm", _command("nm")),
    "cmake": ("cmake", _command("cmake")),
    "zig": ("the package ziglang", lambda: ZIG),
    "loop": ("Linux and a C compiler", available),
    "wine": ("a wine that starts", lambda: WINE is not None),
    "wine32": ("Debian's wine32:i386", Path("/usr/lib/wine/wine").is_file),
    "qemu": ("qemu-aarch64", lambda: QEMU is not None),
    "x86": ("Linux on a 64-bit x86", lambda: (platform.system(), platform.machine()) == ("Linux", "x86_64")),
    "i386": ("libc6:i386", Path("/lib/ld-linux.so.2").is_file),
    "arm": ("libc6-arm64-cross", (SYSROOT / "lib").is_dir),
    "fmucontainer": ("the package fmu-manipulation-toolbox", lambda: CONTAINER is not None),
    "ls_bus": ("the demos of FMI-LS-BUS in the folder RTCVT_LS_BUS", lambda: "RTCVT_LS_BUS" in os.environ),
    "chromium": ("Chromium", lambda: BROWSER is not None),
}
REQUIRED = {name for name in os.environ.get("RTCVT_REQUIRE", "").split(",") if name}


def have(name: str) -> bool:
    """Whether a tool is there."""
    return TOOLS[name][1]()


def absent(name: str, why: str = "") -> None:
    """Skip the test that lacks a tool, or fail it if the tool is required."""
    reason = f"needs {TOOLS[name][0]}{why and f': {why}'}"
    if name in REQUIRED:
        pytest.fail(f"{reason}; RTCVT_REQUIRE names {name}", pytrace=False)
    pytest.skip(reason)


def require(names: Iterable[str]) -> None:
    """`absent` for the first of `names` that is not there."""
    for name in names:
        if not have(name):
            absent(name)


def unknown() -> set[str]:
    """Names in ``RTCVT_REQUIRE`` that are no tool."""
    return REQUIRED - TOOLS.keys()
