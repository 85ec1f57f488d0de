"""Compilers of units: zig, as the PyPI package ``ziglang``, for every platform from any other; without it the C
compiler of a 64-bit Linux for ``linux64``. Floating-point contraction is off, so all platforms give the same bits.
"""

import hashlib
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rtcvt import processes
from rtcvt.environment import home
from rtcvt.errors import InputError
from rtcvt.files import temporary_folder
from rtcvt.fmu.a2l import SHT_SYMTAB, symbols
from rtcvt.recording import replaced_on_success

PLATFORMS = {  # folder of the binary in FMI 2.0: zig's name of the target, suffix of a shared library
    "linux64": ("x86_64-linux-gnu.2.17", ".so"),
    "win64": ("x86_64-windows-gnu", ".dll"),
    "darwin64": ("x86_64-macos.11.0", ".dylib"),
    "aarch64-linux": ("aarch64-linux-gnu.2.17", ".so"),
    "aarch64-darwin": ("aarch64-macos.11.0", ".dylib"),
    "linux32": ("x86-linux-gnu.2.17", ".so"),
    "win32": ("x86-windows-gnu", ".dll"),
}
SOURCES = "sources"  # asked for like a platform
WASM = "wasm"  # a page, see `rtcvt.fmu.native.wasm`
_MACHINES = {
    ("Linux", "x86_64"): "linux64",
    ("Linux", "aarch64"): "aarch64-linux",
    ("Windows", "AMD64"): "win64",
    ("Darwin", "x86_64"): "darwin64",
    ("Darwin", "arm64"): "aarch64-darwin",
}
HEADERS = {2: ("fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h"),
           3: ("fmi3Functions.h", "fmi3FunctionTypes.h", "fmi3PlatformTypes.h")}  # fmt: skip
FLAGS = [
    "-std=c99", "-O2", "-fPIC", "-shared", "-DFMI2_OVERRIDE_FUNCTION_PREFIX", "-DFMI3_OVERRIDE_FUNCTION_PREFIX",
    "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno", "-s",
]  # fmt: skip
FLAGS_32 = ["-msse2", "-mfpmath=sse", "-mstackrealign"]  # doubles of 64 bits, from hosts whose stack is not aligned too


def own_platform() -> str:
    """The platform of this machine.

    Raises
    ------
    InputError
        It is none of `PLATFORMS`.
    """
    machine = (platform.system(), platform.machine())
    if machine not in _MACHINES:
        raise InputError("native export", "platform", " ".join(machine), f"one of {', '.join(PLATFORMS)}; choose one")
    return _MACHINES[machine]


def missing_package(what: str, package: str) -> InputError:
    """The error for a package of the extra ``native`` that is not installed."""
    return InputError("native export", what, None, f"{package} gives it: pip install rtcvt[native]; "
                      "or choose the python backend")  # fmt: skip


def header_folder() -> Path:
    """Folder of the headers of FMI."""
    found = importlib.util.find_spec("fmpy")
    if found is None or found.origin is None:
        raise missing_package("headers of FMI", "fmpy")
    return Path(found.origin).parent / "c-code"


def copy_headers(fmi: int, folder: Path) -> None:
    """Copy the headers of a version of FMI to a folder."""
    for name in HEADERS[fmi]:
        shutil.copyfile(header_folder() / name, folder / name)


def source_files(folder: Path) -> list[str]:
    """Files of a unit's sources to be compiled: its own, and those that compile code of others."""
    return ["all.c", *sorted(path.name for path in folder.glob("part_*.c"))]


def compiler(name: str) -> list[str]:
    """Command that compiles for a platform."""
    if name not in (*PLATFORMS, WASM):
        raise InputError("native export", "platform", name, f"one of {', '.join((*PLATFORMS, SOURCES))}")
    if importlib.util.find_spec("ziglang") is not None:
        target = ["-target", "wasm32-wasi" if name == WASM else PLATFORMS[name][0], "-fno-sanitize=undefined", "-g0"]
        return [sys.executable, "-P", "-m", "ziglang", "cc", *target, *(FLAGS_32 if name.endswith("32") else [])]
    own = shutil.which("cc") if (platform.system(), platform.machine()) == ("Linux", "x86_64") else None
    if name == "linux64" and own is not None:
        return [own]
    raise missing_package(f"compiler for platform {name}", "ziglang")


def compile_unit(sources: Path, binary: Path, name: str, more: Sequence[str] = ()) -> None:
    """Compile the sources of a unit into its shared library for a platform, with `more` flags.

    Raises
    ------
    InputError
        There is no compiler for the platform, or it fails.
    """
    flags, files = [*FLAGS, *more], source_files(sources)
    if name == WASM:  # a library that a script starts
        flags = [*(flag for flag in flags if flag not in ("-fPIC", "-shared")), "-mexec-model=reactor"]
        files[0] = "page.c"
    if "linux" in name:
        files += ["-lm", "-Wl,-z,now,-z,relro"]
    if "darwin" in name:
        files += [f"-Wl,-install_name,@rpath/{binary.name}"]  # not the folder of the build
    if said := compile_c(sources, [*flags, *files], binary, name):
        raise InputError("native export", "platform", name, f"the compiler failed:\n{said}")


def compile_c(folder: Path, words: Sequence[str], made: Path, name: str) -> str:
    """Compile in a folder for a platform; returns the messages of the compiler if it fails."""
    target = os.path.relpath(made, folder)  # zig's linker does not accept every name of a folder, such as one with %
    here = {"TMPDIR": ".", "HOME": str(home())}  # clang builds a C library and needs a folder for its own files
    cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or here["HOME"]
    with ExitStack() as stack:
        if "%" in cache:
            own = stack.enter_context(TemporaryDirectory(dir=folder))
            here["ZIG_GLOBAL_CACHE_DIR"] = os.path.relpath(own, folder)
        done = processes.run([*compiler(name), "-I", ".", *words, "-o", target], here, cwd=folder)
    return done.stderr.strip()[-2000:] or "no message" if done.returncode else ""


def renamed(error: Callable[[str], InputError], files: Sequence[Path], prefix: str, folder: Path) -> list[str]:
    """Let all that C files in a folder define for others begin with `prefix`; returns the new names.

    Raises
    ------
    InputError
        The compiler refuses a file.
    """
    found = sorted({name for file in files for name in defined(error, file, folder)})
    lines = "".join(f"#define {name} {prefix}{name}\n" for name in found if not name.startswith(prefix))
    for file in files:
        file.write_text(lines + file.read_text(encoding="utf-8"), encoding="utf-8", newline="\n")
    return [name if name.startswith(prefix) else prefix + name for name in found]


def write_part(error: Callable[[str], InputError], text: str, prefix: str, folder: Path) -> None:
    """Write C code of others to a folder of sources; all that it defines for others begins with `prefix`.

    Raises
    ------
    InputError
        The compiler refuses it.
    """
    part = folder / f"part_{prefix}.c"
    part.write_text(text, encoding="utf-8", newline="\n")
    renamed(error, [part], prefix, folder)


def defined(error: Callable[[str], InputError], file: Path, folder: Path) -> list[str]:
    """What a C file in a folder defines for others, compiled for a 64-bit Linux.

    Raises
    ------
    InputError
        The compiler refuses it, with file and line.
    """
    made = folder / "part.o"
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-s")]
    if said := compile_c(folder, [*flags, "-w", "-c", file.name], made, "linux64"):
        raise error(f"C code that compiles:\n{said}")
    data = made.read_bytes()
    made.unlink()
    return [name for name, binding, section, _ in symbols(data, SHT_SYMTAB) if name and binding and section]


def shared_library(text: str, functions: Sequence[str], error: Callable[[str], InputError]) -> Path:
    """A library of a C file for this machine that has these functions; it is compiled once.

    Raises
    ------
    InputError
        There is no compiler, it refuses the file, or a function is missing.
    """
    platform = own_platform()
    words = [*FLAGS, "-fvisibility=default", "-w", "part.c", "-lm"]
    digest = hashlib.sha256("\n".join([text, *words, *compiler(platform)]).encode()).hexdigest()[:16]
    library = home() / ".cache" / "rtcvt" / f"c_{digest}{PLATFORMS[platform][1]}"
    if not library.is_file():
        library.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder() as folder, replaced_on_success(library) as made:
            file = folder / "part.c"
            file.write_text(text, encoding="utf-8", newline="\n")
            if missing := [name for name in functions if name not in defined(error, file, folder)]:
                needed = f"the function{'s' * (len(functions) > 1)} {', '.join(functions)}"
                raise error(f"a file with {needed}{f'; there is no {missing[0]}' * (len(functions) > 1)}")
            if said := compile_c(folder, words, made, platform):
                raise error(f"C code that compiles:\n{said}")
    return library
