"""Programs in C with the sources of a unit inside, for sanitizers; each prints its figures as JSON."""

import json
import subprocess
from pathlib import Path

import tools

__all__ = ["ADDRESS", "build", "figures"]

ADDRESS = ["-O1", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]


def build(sources: Path, source: str, program: Path, *flags: str, compiler: str = "cc") -> Path:
    """A program with the unit's sources inside; skips if the compiler lacks a sanitizer."""
    strict = ["-std=gnu99", "-g", "-Wall", "-Wextra", "-Wshadow", "-Werror", *flags]
    file = Path(__file__).with_name(source)
    command = [compiler, *strict, "-I", str(sources), str(file), "-o", str(program), "-lm", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and "sanitize" in " ".join(flags) and "cannot find" in done.stderr:
        tools.absent("sanitizers", f"{compiler} cannot link with {flags}")
    assert done.returncode == 0, done.stderr
    return program


def figures(*command) -> dict:
    """What a program prints; it ends well."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
