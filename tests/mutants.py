"""Mutants of the equations: each must make a test fail. ``python tests/mutants.py [PART OF A FILE'S NAME ...]``

``tests/data/mutants.toml`` lists them. One mutant at a time replaces the text in the checkout while its tests run as
Python; the file is restored after that. ``--compiled`` runs machine code, ``--list`` only looks for the texts.
"""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def caught(file: Path, old: str, new: str, tests: str, compiled: bool) -> bool:
    """Whether one of `tests` fails with the mutant in the place of `file`."""
    text = file.read_bytes()
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-m", "not slow and not interop",
        *tests.split()]  # fmt: skip
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"} | ({} if compiled else {"NUMBA_DISABLE_JIT": "1"})
    try:
        file.write_bytes(text.replace(old.encode(), new.encode()))
        return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL).returncode == 1
    finally:
        file.write_bytes(text)


def main(words: list[str]) -> int:
    mutants = tomllib.loads((ROOT / "tests/data/mutants.toml").read_text(encoding="utf-8"))["mutant"]
    parts, missed = [w for w in words if not w.startswith("--")], 0
    for name, old, new, tests in mutants:
        if parts and not any(part in name for part in parts):
            continue
        began, count = time.monotonic(), (ROOT / name).read_text(encoding="utf-8").count(old)
        if count != 1 or old == new:
            result, missed = f"{count} such texts", missed + 1
        elif "--list" in words:
            result = "once"
        else:
            found = caught(ROOT / name, old, new, tests, "--compiled" in words)
            result, missed = (
                f"{'caught' if found else 'MISSED'} in {time.monotonic() - began:.0f} s",
                missed + (not found),
            )
        print(f"{result}  {name}: {new}", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the file is restored
    sys.exit(main(sys.argv[1:]))
