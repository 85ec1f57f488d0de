"""What the pages promise of one extra, alone in an environment: ``make installed`` calls it with the name of the extra.

Without more: `show`, `simulate`, `export --backend python --no-check`; recordings are saved and read. `offline`:
checks, drawn sheaves. `hil`: the runner, MDF 4. `native`: units in machine code. `data`: tables, pictures and sweeps.
What another extra brings is refused with one message that names it.
"""

import subprocess
import sys
from pathlib import Path

PYTHON = """import rtcvt
unit = rtcvt.load("clutch")
unit.simulate().save("saved.h5")
assert rtcvt.read("saved.h5").names == rtcvt.read("run.h5").names"""
TABLES = """import rtcvt
run = rtcvt.read("run.h5")
assert len(run.to_dataframe()) == len(run.to_xarray().time) == len(run.time)"""
PLOT = """import rtcvt
assert len(rtcvt.read("run.h5").plot("a.tau")) == 1"""
CORE = [
    "show", "show clutch", "simulate clutch -o run.h5", "simulate clutch -o run.csv",
    "export clutch --backend python --no-check -o python.fmu",
]  # fmt: skip
SWEEPS = ["sweep clutch --set clutch.mu=0.1:0.2:2 -o sweep.nc", "plot sweep.nc"]
PLOTS = ["plot run.h5 -o run.png", "plot run.h5 -o run.svg"]
CHECKS = ["check planetary -o planetary.html", "sheave pushbelt_24mm -o sheave.html"]
NATIVE = ["export clutch --no-check -o native.fmu", "export clutch --fmi 3 --no-check -o native3.fmu"]
RUNS = ["run python.fmu --fast --duration 0.1 -o hil.h5", "run python.fmu --fast --duration 0.1 -o hil.mf4"]
WORKS = {"core": [PYTHON], "offline": [*CHECKS, *PLOTS, PLOT], "hil": [*RUNS, *PLOTS, PLOT], "native": NATIVE,
    "data": [*PLOTS, PLOT, TABLES, *SWEEPS]}  # fmt: skip
LACKS = {  # a command, and the extra that it asks for
    "core": {CHECKS[1]: "offline", NATIVE[0]: "native", RUNS[0]: "hil", PLOTS[0]: "data", SWEEPS[0]: "data"},
    "offline": {NATIVE[0]: "native", RUNS[0]: "hil"},
    "hil": {CHECKS[1]: "offline", NATIVE[0]: "native"},
    "native": {CHECKS[1]: "offline", PLOTS[0]: "data"},
    "data": {CHECKS[1]: "offline", RUNS[0]: "hil", NATIVE[0]: "native"},
}


def said(what: str) -> tuple[int, str]:
    """Exit code and messages of a command, or of a program in Python."""
    words = ["-c", what] if what.startswith("import") else ["-m", "rtcvt", *what.split()]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    return done.returncode, done.stderr


def main(extra: str) -> None:
    """Try all in the current folder; exit code 1 if anything is not as promised."""
    bad = []
    for what in [*CORE, *WORKS[extra]]:
        code, errors = said(what)
        if code != 0:
            bad.append(f"{what}: {code} {errors[-300:]}")
    for what, other in LACKS[extra].items():
        code, errors = said(what)
        if code != 2 or f"rtcvt[{other}]" not in errors or "Traceback" in errors:
            bad.append(f"{what}: {code} {errors[-300:]}, not a message with rtcvt[{other}]")
    print(f"{extra}: {len(CORE) + len(WORKS[extra])} promises, {len(LACKS[extra])} refusals", *bad, sep="\n  ")
    sys.exit(bool(bad) or not Path("python.fmu").exists())


main(sys.argv[1])
