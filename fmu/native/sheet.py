"""A data sheet of a native unit: its cost on the target, as a page and as JSON inside the unit.

From the binaries: flash (bytes of their segments in the file) and static RAM (the writable part). From runs of the
unit's first scenario on this machine: memory of an instance and time of each step. By regime (a set of values of the
Boolean outputs): a typical and the longest step, with the instructions from the call of ``fmi2DoStep`` or
``fmi3DoStep`` to its return, counted one by one (``count.c``), the divisions and square roots among them, the largest
frame and the deepest stack. Kernels have no recursion and bounded loops; the longest path is a measured one, not a
proven bound.
"""

import ctypes
import json
import platform
import shutil
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__, html, processes
from rtcvt.errors import InputError
from rtcvt.files import temporary_folder
from rtcvt.model import Model, Variable
from rtcvt.scenario import Scenario, sample_inputs
from rtcvt.simulate import number_of_steps, simulate

Array = NDArray[np.float64]
Rows = Sequence[tuple[str, Variable]]
NAME = "data_sheet"
BINARY = "flash_bytes", "static_ram_bytes", "file_bytes"
MOST_STEPS = 20_000  # of the run
PASSES = 3
MOST_REGIMES, COUNT_SECONDS = 6, 5.0  # [s] in which steps are counted
COUNTS = "instructions", "divisions", "square_roots", "frame_bytes", "stack_bytes"
WARNING = 1  # of fmi2Status and fmi3Status
SCHEDULED = "not offered: all equations of a step form one task with one period, nothing could be scheduled apart"


def write_sheet(
    root: Path, model: Model, about: Mapping[str, Any], rows: Rows, lengths: Sequence[int], scenario: Scenario | None
) -> None:
    """Write a unit's data sheet into its documentation.

    Parameters
    ----------
    root : Path
        The unpacked unit with its binaries.
    model : Model
        Its model.
    about : mapping
        ``identifier``, ``guid``, ``fmi`` and ``clocked``, whether it has a clock.
    rows, lengths : sequence
        Its variables by value reference, see `rtcvt.fmu.native.export.unit_variables`, and lengths of arrays.
    scenario : Scenario, optional
        The scenario to run, if there is a binary for this machine; without it nothing is measured.
    """
    found: dict[str, Any] = {
        "unit": model.name, "model": model.fidelity, "rtcvt": __version__, "guid": about["guid"],
        "numbers": "double precision (IEEE 754 binary64) throughout, tables included",
        "table_bytes": 8 * len(model.data), "tasks": 1, "period_s": model.step_size,
        "scheduled_execution": SCHEDULED, "profiles": _profiles(model) if about["fmi"] == 3 else [],
        "binaries": {p.parent.name: _sizes(p) for p in sorted((root / "binaries").glob("*/*"))}, "measured": None,
    }  # fmt: skip
    if scenario is not None:
        found["measured"] = _measured(root, model, about, rows, lengths, scenario)
    folder = root / "documentation"
    (folder / f"{NAME}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / f"{NAME}.html").write_text(_page(found), encoding="utf-8")


def _profiles(model: Model) -> list[str]:
    """Feature profiles of prostep ivip SmartSE (Modelica Association, FMI guides) whose required features it has."""
    tunable = any(v.tunable for v in model.select("parameter"))
    has = {"Basic CS": True, "Dynamics": tunable, "Optimization": tunable and model.internal_step is not None}
    return [name for name, met in has.items() if met]


def _sizes(path: Path) -> dict[str, int | None]:
    """Bytes of a binary: its file, and of an ELF file flash and static RAM, by the segments that are loaded."""
    data = path.read_bytes()
    flash = ram = None
    if data[:4] == b"\x7fELF":
        wide = data[4] == 2
        (offset,) = struct.unpack_from("<Q" if wide else "<I", data, 32 if wide else 28)
        size, count = struct.unpack_from("<HH", data, 54 if wide else 42)
        flash = ram = 0
        for at in range(offset, offset + size * count, size):
            (kind,) = struct.unpack_from("<I", data, at)
            (flags,) = struct.unpack_from("<I", data, at + (4 if wide else 24))
            filled, taken = struct.unpack_from("<QQ" if wide else "<II", data, at + (32 if wide else 16))
            if kind == 1:  # PT_LOAD
                flash += filled
                ram += taken if flags & 2 else 0  # PF_W
    return {"file_bytes": len(data), "flash_bytes": flash, "static_ram_bytes": ram}


# --- cost of a run ----------------------------------------------------------------------------------------------------


class _Host:
    """One instance of the unit at its start, as FMPy calls it."""

    def __init__(self, root: Path, about: Mapping[str, Any], rows: Rows, lengths: Sequence[int], u: Sequence[float]):
        from fmpy import fmi2, fmi3

        three = about["fmi"] == 3
        self._unit = (fmi3.FMU3Slave if three else fmi2.FMU2Slave)(
            guid=about["guid"], unzipDirectory=str(root), modelIdentifier=about["identifier"], instanceName="sheet"
        )
        real, whole = ("setFloat64", "setInt64") if three else ("setReal", "setInteger")
        self._groups = [
            ([v.index for _, v in rows[k : k + n]], [k],
             *((whole, int) if v.choices else ("setBoolean", bool) if v.boolean else (real, float)))
            for k, (n, (kind, v)) in enumerate(zip(lengths, rows, strict=True))
            if n and kind == "input" and not (v.set_point and about["clocked"])
        ]  # fmt: skip
        self._unit.instantiate()
        if not three:
            self._unit.setupExperiment(startTime=0.0)
        self._set(u)
        self._unit.enterInitializationMode()
        self._unit.exitInitializationMode()
        self._function = getattr(self._unit.dll, "fmi3DoStep" if three else "fmi2DoStep")
        double, flag = ctypes.c_double, ctypes.c_bool
        kinds = (flag, *[ctypes.c_void_p] * 4) if three else (ctypes.c_int,)
        self._function.argtypes = [ctypes.c_void_p, double, double, *kinds]
        self._more = (True, *(ctypes.byref(flag()) for _ in range(3)), ctypes.byref(double())) if three else (1,)

    @property
    def entry(self) -> int:
        """Address of the function that makes a step."""
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0

    @property
    def memory(self) -> int:
        """Bytes of the instance."""
        size = ctypes.CDLL(None).malloc_usable_size
        size.restype, size.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
        return int(size(self._unit.component))

    def _set(self, u: Sequence[float]) -> None:
        for places, reference, setter, kind in self._groups:
            getattr(self._unit, setter)(reference, [kind(u[i]) for i in places])

    def step(self, t: float, h: float, u: Sequence[float], by: Callable[..., int] | None = None) -> int:
        """Set the inputs and make a step, `by` another function; nanoseconds that it took."""
        self._set(u)
        component, function, more = self._unit.component, by or self._function, self._more
        began = time.perf_counter_ns()
        status = function(component, t, h, *more)
        took = time.perf_counter_ns() - began
        if status > WARNING:
            raise InputError("data sheet", "step", f"t = {t:g} s", "a step that the unit makes")
        return took

    def close(self) -> None:
        """Free the instance and its library."""
        self._unit.freeInstance()


def _measured(root: Path, model: Model, about: Mapping[str, Any], rows: Rows, lengths: Sequence[int],
              scenario: Scenario) -> dict[str, Any]:  # fmt: skip
    """Run the scenario in the unit, time all steps and count the instructions of some."""
    h = model.step_size
    n = min(number_of_steps(scenario.duration, h, scenario.name), MOST_STEPS)
    given = scenario.model_copy(update={"duration": n * h, "parameters": {}, "tune": {}})
    truths = [v for v in model.select("output") if v.boolean]
    on = simulate(model, given).y[1:, [v.index for v in truths]] > 0.0
    names = np.array([", ".join(v.name for v, is_on in zip(truths, r, strict=True) if is_on) for r in on.tolist()])
    u = sample_inputs(model, given, h * np.arange(n + 1, dtype=float)).tolist()
    times = np.full(n, np.inf)
    for _ in range(PASSES):  # disturbances differ from pass to pass
        host = _Host(root, about, rows, lengths, u[0])
        times = np.minimum(times, [host.step(k * h, h, u[k]) * 1e-3 for k in range(n)])
        memory = host.memory
        host.close()
    regimes, typical, longest = [], dict[int, int](), dict[int, int]()
    for place, (name, count) in enumerate(Counter(names.tolist()).most_common(MOST_REGIMES)):
        steps = np.flatnonzero(names == name)
        ordered = steps[np.argsort(times[steps])]
        typical[int(ordered[count // 2])], longest[int(ordered[-1])] = place, place
        us = {"median": float(times[ordered[count // 2]]), "longest": float(times[ordered[-1]])}
        regimes.append({"on": name, "share": count / n, "step_us": us, "typical": None, "longest": None})
    host = _Host(root, about, rows, lengths, u[0])
    counts, why = _counted(host, u, h, times, list(typical), list(longest))
    host.close()
    for key, chosen in (("typical", typical), ("longest", longest)):
        for k in chosen.keys() & counts.keys():
            regimes[chosen[k]][key] = counts[k]
    mhz = _processor("cpu MHz")
    return {
        "machine": _processor("model name") or platform.processor() or platform.machine(),
        "mhz": float(mhz) if mhz else None, "scenario": scenario.name, "steps": n, "instance_bytes": memory,
        "step_us": {"median": float(np.median(times)), "longest": float(times.max())}, "regimes": regimes,
        "not_counted": why,
    }  # fmt: skip


def _processor(key: str) -> str:
    """An entry of Linux about the first processor; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _counted(host: _Host, u: Sequence[Sequence[float]], h: float, times: Array, typical: Sequence[int],
             longest: Sequence[int]) -> tuple[dict[int, dict[str, int]], str]:  # fmt: skip
    """Counts of these steps by number, within `COUNT_SECONDS` by their `times` [us]; and the reason if some are
    missing."""
    counter = _counter() if (platform.system(), platform.machine()) == ("Linux", "x86_64") else None
    if counter is None:
        return {}, "Instructions are counted on Linux with x86-64 and a compiler only."
    counts: dict[int, dict[str, int]] = {}
    spent, per_us = 0.0, 0.0  # [s], [s/us of a step]
    found = (ctypes.c_int64 * len(COUNTS))()
    first = min(typical)
    for k in range(max((*typical, *longest)) + 1):
        reserved = per_us * sum(float(times[i]) for i in typical if i > k) if k not in typical else 0.0
        if k == first or (k in (*typical, *longest) and spent + reserved + per_us * times[k] <= COUNT_SECONDS):
            began = time.perf_counter()
            host.step(k * h, h, u[k], lambda *a: counter(host.entry, *a[:3], ctypes.byref(found)))
            took = time.perf_counter() - began
            spent, per_us = spent + took, max(per_us, took / float(times[k]))
            counts[k] = dict(zip(COUNTS, found, strict=True))
        else:
            host.step(k * h, h, u[k])
    left = {*typical, *longest} - counts.keys()
    return counts, f"Counting {len(left)} more steps would have lasted longer than {COUNT_SECONDS:g} s." if left else ""


@cache
def _counter() -> Any:
    """The function of ``count.c``; None without a compiler."""
    compiler = [sys.executable, "-P", "-m", "ziglang", "cc"] if find_spec("ziglang") else [shutil.which("cc") or ""]
    source = Path(__file__).with_name("count.c")
    with temporary_folder() as folder:
        made = folder / "count.so"
        flags = ["-std=c99", "-O2", "-mno-red-zone", "-fno-sanitize=undefined", "-fPIC", "-shared"]
        done = processes.run([*compiler, *flags, str(source), "-o", str(made)], {}) if compiler[0] else None
        if done is None or done.returncode:
            return None
        function = ctypes.CDLL(str(made)).counted
    double, pointer = ctypes.c_double, ctypes.c_void_p
    function.argtypes = [pointer, pointer, double, double, pointer]
    return function


# --- page -------------------------------------------------------------------------------------------------------------


def _page(found: Mapping[str, Any]) -> str:
    lines = [
        ("numbers", found["numbers"]),
        ("tables", f"{found['table_bytes']:,} bytes, shared by all instances"),
        ("tasks", f"{found['tasks']}, every {1e3 * found['period_s']:g} ms"),
        ("scheduled execution of FMI 3.0", found["scheduled_execution"]),
        ("feature profiles of FMI 3.0", ", ".join(found["profiles"]) or "none, this is a unit of FMI 2.0"),
    ]
    parts = [
        f"<h1>{html.text(found['unit'])}, {html.text(found['model'])} model: data sheet</h1>\n",
        html.table(("what", "value"), [(html.text(a), html.text(b)) for a, b in lines]),
        html.table(
            ("binary", "flash [bytes]", "static RAM [bytes]", "file [bytes]"),
            [(html.text(name), *(_cell(sizes[key]) for key in BINARY)) for name, sizes in found["binaries"].items()],
            (1, 2, 3),
        ),
    ]
    if (m := found["measured"]) is not None:
        took, pace = m["step_us"], f" at {m['mhz']:.0f} MHz" if m["mhz"] else ""
        parts.append(html.prose(
            f"Measured on {m['machine']}{pace}: {m['steps']:,} steps of scenario '{m['scenario']}', each as the "
            f"shortest of {PASSES} runs. An instance needs {m['instance_bytes']:,} bytes, a step "
            f"{took['median']:.2f} us (median), the longest {took['longest']:.2f} us. {m['not_counted']}"
        ))  # fmt: skip
        head = ("truth values that are on", "share of steps", "step", "us", "cycles", "instructions", "divisions",
                "square roots", "largest frame [bytes]", "stack [bytes]")  # fmt: skip
        rows = []
        for regime in m["regimes"]:
            for key, us in zip(("typical", "longest"), regime["step_us"].values(), strict=True):
                counts = regime[key] or {}
                first = key == "typical"
                rows.append((
                    html.text(regime["on"] or "none") if first else "",
                    html.percent(regime["share"]) if first else "",
                    key,
                    f"{us:.2f}",
                    _cell(round(us * m["mhz"]) if m["mhz"] else None),
                    *(_cell(counts.get(name)) for name in COUNTS),
                ))  # fmt: skip
        parts.append(html.table(head, rows, range(3, 10)))
    return html.page(f"{found['unit']}: data sheet", "".join(parts))


def _cell(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
