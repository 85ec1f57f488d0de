"""Export of a model as an FMI unit in machine code: co-simulation and model exchange, no Python on its target.

The kernels are translated to C (`rtcvt.fmu.translate`), differentiated (`rtcvt.fmu.native.tangent`) and compiled
together with one core for every unit (``core.c``) and the functions of FMI 2.0 or 3.0 (``fmi2.c``,
``fmi3.c``). All that differs between units is data in ``model.c``,
written from the variable table: parameters, inputs and outputs in its order, then the states, then their derivatives;
the place of a variable is its value reference, as in `rtcvt.fmu.description`. `rtcvt.fmu.native.fmi3` has the
descriptions that differ in FMI 3.0.

The unit contains its sources, so that targets without a binary compile their own: ``sources/all.c`` is the only file to
compile. Large tables would be included again, as text; a unit with such tables has sources only if they are requested
as one of the platforms. zig, as the PyPI package ``ziglang``, compiles for every platform from any other; without it
the C compiler of a 64-bit Linux compiles ``linux64``. Floating-point contraction is off, so all platforms give
the same bits.

The unit also contains results that it must reproduce (`rtcvt.fmu.native.reference`) and its diagram: ``model.png``,
which tools show as its icon (in FMI 3.0 ``terminalsAndIcons/icon.png``), and the same in ``documentation/diagram.svg``.

The headers of FMI come from the ``fmpy`` package; ``resvg-py``, one wheel without dependencies, makes the picture.
"""

import hashlib
import importlib.util
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal
from xml.etree.ElementTree import Element, SubElement

from rtcvt import __version__
from rtcvt.errors import InputError
from rtcvt.files import temporary_folder
from rtcvt.fmu.a2l import write_access
from rtcvt.fmu.description import boolean, model_description, write_xml
from rtcvt.fmu.export import pack, require_fmu_name
from rtcvt.fmu.native.bus import Bus, bus_tables, write_manifest
from rtcvt.fmu.native.compiler import (
    PLATFORMS,
    SOURCES,
    WASM,
    compile_unit,
    compiler,
    copy_headers,
    header_folder,
    missing_package,
    own_platform,
    source_files,
    write_part,
)
from rtcvt.fmu.native.fmi3 import TERMINAL_ICONS, array_lengths, box, build_description, fmi3_description, terminals
from rtcvt.fmu.native.guests import GUEST_FILES, copy_resources, write_guests
from rtcvt.fmu.native.reference import FOLDER as REFERENCE
from rtcvt.fmu.native.reference import write_reference
from rtcvt.fmu.native.sheet import write_sheet
from rtcvt.fmu.native.tangent import add_tangents
from rtcvt.fmu.parts import Rows, placed, places_of
from rtcvt.fmu.slave import UNIT_FILE
from rtcvt.fmu.traceability import Evidence, evidence, write_metadata
from rtcvt.fmu.translate import ARRAY, CONSTANTS, FLOAT, External, lower, print_c
from rtcvt.html import ErrorRow
from rtcvt.kernel import FAILED
from rtcvt.kind import Unit
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.recording import replaced_on_success
from rtcvt.scenario import Scenario
from rtcvt.table import TOO_COARSE

ELF = ("linux64", "aarch64-linux")  # of 64 bits
OPAQUE = "#define OPAQUE /* no derivatives */\n\n"
LARGE = 100_000  # numbers in the constants from which a unit leaves them out
FMI3_FOLDERS = {  # others as above
    "linux64": "x86_64-linux",
    "win64": "x86_64-windows",
    "darwin64": "x86_64-darwin",
    "linux32": "x86-linux",
    "win32": "x86-windows",
}
FALLBACKS = {"aarch64-linux": "linux64", "aarch64-darwin": "darwin64"}  # where some look on ARM, as FMPy
LOG_CATEGORIES = {
    "logStatusDiscard": "Steps and results that are not finite; the state is as it was.",
    "logStatusError": "Values and calls that are not allowed; they change nothing.",
    "logAll": "All messages.",
}
Version = Literal[2, 3]
TYPES = {"clock": "TICK", "rx_clock": "TICK", "tx_clock": "TICK", "rx_data": "BINARY", "tx_data": "BINARY",
         "notifications": "BOOLEAN"}  # in model.c, by kind of row  # fmt: skip


def export_native(
    unit: Unit,
    fidelity: Fidelity,
    path: Path,
    platforms: Sequence[str] = ("linux64",),
    substeps: int | None = None,
    parameters: Mapping[str, float | str] | None = None,
    documentation: str | None = None,
    fmi: Version = 2,
    clock: float | None = None,
    measured: bool = False,
    errors: Sequence[ErrorRow] | None = None,
    access: bool = False,
    bus: Bus | None = None,
) -> Path:
    """Write a unit as an FMU in machine code, with its sources.

    Parameters
    ----------
    unit : Unit
        The machine, of any kind.
    fidelity : {"rigid", "hybrid", "full"}
        Its model.
    path : Path
        The file to write; it is replaced only by a complete one.
    platforms : sequence of str
        Of `PLATFORMS`, and "sources" for those of a unit with large tables too; empty for sources alone. The binary of
        an ARM platform is also stored for the platform in `FALLBACKS`, unless this is among them.
    substeps : int, optional
        Instead of the unit's own.
    parameters : mapping, optional
        Start values by name, in SI units or with a unit, instead of the unit's own.
    documentation : str, optional
        ``documentation/index.html``.
    fmi : {2, 3}
        Version of FMI: 2.0 or 3.0.
    clock : float, optional
        Interval of a clock [s], at whose ticks the unit reads the set point of its controller; in FMI 3.0.
    measured : bool
        Whether its data sheet has the cost of a run of its first scenario on this machine.
    errors : sequence of ErrorRow, optional
        Results of a check, for its metadata.
    access : bool
        Whether tools may measure and calibrate in its memory, see `rtcvt.fmu.a2l`; then it has one instance at a time.
    bus : Bus, optional
        The network of which it is a node; in FMI 3.0.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        The unit cannot be built, a parameter is not one of the model's or out of range, it can have no clock, there is
        no compiler for a platform, or the file cannot be written.
    """
    require_fmu_name(path)
    model = unit.build(fidelity, substeps, parameters)
    if clock is not None:
        model = with_clock(model, clock, fmi)
    if bus is not None and (fmi != 3 or clock is not None):
        raise InputError("network", bus.name, "FMI 2.0" if fmi != 3 else "clock", "FMI 3.0 without another clock")
    model = replace(model, bus=bus)
    _require_renderer()
    draw = unit.kind_record.diagram
    values = {v.name: float(model.p[v.index]) for v in model.select("parameter")}
    diagram = draw(unit, values) if draw is not None else None
    scenario = unit.scenario[0] if unit.scenario else None
    found = evidence(unit, errors)
    with replaced_on_success(path) as temporary:
        write_unit(model, temporary, platforms, 1.0, scenario, documentation, diagram, fmi, measured, found, access)
    return path


def with_clock(model: Model, interval: float, fmi: Version = 3) -> Model:
    """The model with a clock: its unit of FMI 3.0 reads its set points at the ticks.

    Raises
    ------
    InputError
        The interval [s] is not a finite time above 0, the unit has no controller, or FMI has no clocks.
    """
    if fmi != 3:
        raise InputError("clock", model.name, interval, "only in a unit of FMI 3.0")
    if not (interval > 0.0 and math.isfinite(interval)):
        raise InputError("clock", model.name, interval, "a finite time above 0 s")
    if not any(v.set_point for v in model.select("input")):
        raise InputError("clock", model.name, interval, "only in a unit with a controller that follows an input")
    return replace(model, clock=interval)


def write_unit(
    model: Model,
    path: Path,
    platforms: Sequence[str],
    stop_time: float,
    scenario: Scenario | None = None,
    documentation: str | None = None,
    diagram: str | None = None,
    fmi: Version = 2,
    measured: bool = False,
    found: Evidence | None = None,
    access: bool = False,
) -> None:
    """Write a model as an FMU, see `export_native`.

    Parameters
    ----------
    model : Model
        Its start values are those of the unit.
    path : Path
        The file to write.
    platforms : sequence of str
        As of `export_native`.
    stop_time : float
        Of the default experiment [s], if there is no scenario.
    scenario : Scenario, optional
        Of the reference results and the default experiment.
    documentation, diagram : str, optional
        ``documentation/index.html``, and the unit's picture (SVG); its name and terminals in a box by default.
    fmi : {2, 3}
        Version of FMI.
    measured : bool
        Whether the scenario is run for the data sheet, see `rtcvt.fmu.native.sheet`.
    found : mapping, optional
        Evidence of its accuracy, see `rtcvt.fmu.traceability`.
    access : bool
        As of `export_native`.

    Raises
    ------
    InputError
        There is no compiler for a platform, or it fails.
    """
    targets = [name for name in dict.fromkeys(platforms) if name != SOURCES]
    if WASM in targets:
        raise InputError("native export", "platform", WASM, "alone, for a page, without other platforms")
    for name in targets:
        compiler(name)  # this and the next before any work
    header_folder()
    if access and (wrong := [name for name in platforms if name not in ELF]):
        raise InputError("native export", "platform", wrong[0], f"with access to its memory {' or '.join(ELF)}")
    identifier = f"{model.name}_{model.fidelity}"
    with temporary_folder() as root:
        guid = write_sources(model, identifier, root / SOURCES, model.source, fmi, access)
        open_source = (len(model.data) < LARGE or not targets or SOURCES in platforms) and not access
        if scenario is not None:
            stop_time = scenario.duration
        rows = unit_variables(model, fmi)
        if fmi == 2:
            files = source_files(root / SOURCES) if open_source else []
            description = native_description(model, identifier, guid, stop_time, files)
        else:
            description = fmi3_description(model, rows, identifier, guid, LOG_CATEGORIES, stop_time)
        write_xml(description, root / "modelDescription.xml")
        copy_resources(model, root / "resources")
        (root / "resources" / UNIT_FILE).write_text(model.source, encoding="utf-8")
        (root / "documentation").mkdir()
        if documentation is not None:
            (root / "documentation" / "index.html").write_text(documentation, encoding="utf-8")
        diagram = diagram or box(model)
        (root / "documentation" / "diagram.svg").write_text(diagram, encoding="utf-8")
        if fmi == 2:
            (root / "model.png").write_bytes(_picture(diagram))
        else:
            _write_terminals(model, root / "terminalsAndIcons", diagram)
        if scenario is not None and model.bus is None:  # inputs of a network cannot be set
            write_reference(model, scenario, root / REFERENCE)
        write_binaries(root, identifier, targets, fmi)
        about = {"identifier": identifier, "guid": guid, "fmi": fmi, "clocked": model.clock is not None}
        lengths = array_lengths(rows) if fmi == 3 else [1] * len(rows)
        same = "SOURCE_DATE_EPOCH" in os.environ  # reproducible builds have no measured values
        run = scenario if measured and not same and not model.bus and own_platform() in targets else None
        write_sheet(root, model, about, rows, lengths, run)
        write_metadata(root, model, found)
        if model.bus is not None:
            write_manifest(root, model.bus)
        if access:
            write_access(root, model, identifier, sorted((root / "binaries").glob("*/*.so")))
        if not open_source:
            shutil.rmtree(root / SOURCES)
        pack(root, path)


def _write_terminals(model: Model, folder: Path, diagram: str) -> None:
    """``terminalsAndIcons.xml`` of FMI 3.0 and its pictures."""
    folder.mkdir()
    write_xml(terminals(model), folder / "terminalsAndIcons.xml")
    for name, svg in {**TERMINAL_ICONS, "icon": diagram}.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        (folder / f"{name}.png").write_bytes(_picture(svg))


def _require_renderer() -> None:
    if importlib.util.find_spec("resvg_py") is None:
        raise missing_package("picture of the unit", "resvg-py")


def _picture(svg: str) -> bytes:
    """A diagram as PNG. Without fonts on the machine those of matplotlib serve, if that is installed."""
    import resvg_py

    matplotlib = importlib.util.find_spec("matplotlib")
    fonts = []
    if matplotlib is not None and matplotlib.origin is not None:
        fonts.append(str(Path(matplotlib.origin).parent / "mpl-data" / "fonts" / "ttf"))
    return resvg_py.svg_to_bytes(svg_string=svg, background="#ffffff", font_dirs=fonts, sans_serif_family="DejaVu Sans")


# --- sources ----------------------------------------------------------------------------------------------------------


def write_sources(
    model: Model, identifier: str, folder: Path, seed: str = "", fmi: Version = 2, access: bool = False
) -> str:
    """Write the unit's C sources, the FMI headers among them; returns the guid, a hash of these and of `seed`."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("all.c", "core.c", f"fmi{fmi}.c", "model.h", *(("bus.c", "bus.h") if model.bus else ()))
    own = {name: (Path(__file__).parent / name).read_text(encoding="utf-8") for name in names}
    if model.foreign:
        own |= {name: (Path(__file__).parent / name).read_text(encoding="utf-8") for name in GUEST_FILES}
    guests = write_guests(model, identifier, folder)
    kernels, laws = _kernels(model.initialise, model.derivative, model.output, model.step, places_of(model))
    for law in laws:
        prefix = f"{identifier}_{law.prefix}"
        kernels = kernels.replace(law.prefix, prefix)
        write_part(partial(InputError, model.name, "c", None), law.text, prefix, folder)
    body = ("#define MEMORY_ACCESS\n\n" if access else "") + OPAQUE * model.opaque + _model_body(model, fmi) + guests
    settings = json.dumps([__version__, identifier, own, kernels, body, seed], sort_keys=True)
    guid = hashlib.sha256(settings.encode()).hexdigest()[:32]
    model_c = _MODEL_HEAD.format(identifier=identifier, version=__version__, guid=guid, fmi=fmi) + body
    for name, text in {**own, "kernels.c": kernels, "model.c": model_c}.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    if fmi == 3:
        write_xml(build_description(identifier, source_files(folder)), folder / "buildDescription.xml")
    copy_headers(fmi, folder)
    return guid


@lru_cache(maxsize=16)
def _kernels(initialise: Any, derivative: Any, output: Any, step: Any, places: Rows) -> tuple[str, list[External]]:
    """A model's kernels and their tangents as C, and the laws in C that they call."""
    entries = {
        "rt_initialise": (initialise, [ARRAY, CONSTANTS] + [ARRAY] * 3),
        "rt_derivative": (derivative, [FLOAT] + [ARRAY] * 3 + [CONSTANTS] + [ARRAY] * 2),
        "rt_output": (output, [FLOAT] + [ARRAY] * 3 + [CONSTANTS] + [ARRAY] * 2),
        "rt_step": (step, [FLOAT] * 2 + [ARRAY] * 3 + [CONSTANTS] + [ARRAY] * 2),
    }
    program = placed(lower(entries), places)
    title = f"""The equations: kernels of rtcvt {__version__}, translated line by line, and their derivatives.

The contents of the arrays are data of the unit, so this text is the same for all units of a kind, except systems.
A function NAME_tangent computes the same as NAME and, in the companions NAME_dot of its arguments, the derivative
along the direction that these give."""
    return print_c(add_tangents(program, ["rt_initialise", "rt_derivative", "rt_output"]), title), program.laws


_MODEL_HEAD = """\
/* Sizes, start values and variables of the unit {identifier}; written by rtcvt {version}. */

#include <stddef.h>

#include "model.h"

#define MODEL_GUID "{guid}"
#define FMI_FACE "fmi{fmi}.c"

/* The name of each FMI function begins with this, unless FMI{fmi}_OVERRIDE_FUNCTION_PREFIX declares the unit to be a
   shared library; CMake defines {identifier}_EXPORTS for such a library. */
#if !defined(FMI{fmi}_FUNCTION_PREFIX) && !defined({identifier}_EXPORTS)
#define FMI{fmi}_FUNCTION_PREFIX {identifier}_
#endif

"""


def _model_body(model: Model, fmi: Version) -> str:
    table = unit_variables(model, fmi)
    lengths = array_lengths(table) if fmi == 3 else [1] * len(table)
    sizes = {
        "N_P": len(model.p), "N_DATA": len(model.data), "N_U": len(model.select("input")), "N_X": len(model.states),
        "N_Y": len(model.select("output")), "N_WORK": model.n_work, "N_VARIABLES": len(table),
        "N_PARAMETERS": len(model.select("parameter")), "STATUS_FAILED": FAILED,
    }  # fmt: skip
    lines = ["enum {", ",\n".join(f"    {name} = {value}" for name, value in sizes.items()), "};", ""]
    inner = math.inf if model.internal_step is None else model.internal_step
    lines += [f"static const double STEP_SIZE = {_number(model.step_size)}; /* [s] */"]
    lines += [f"static const double INTERNAL_STEP = {_number(inner)}; /* [s] */"]
    has_clock = any(kind == "clock" for kind, _ in table)
    interval = model.clock if has_clock and model.clock else 0.0
    lines += [f"static const double CLOCK_INTERVAL = {_number(interval)}; /* [s] */", ""]
    for name, size, values in (("P_START", "N_P", model.p), ("DATA", "N_DATA", model.data)):
        numbers = [_shortest(v) for v in values.tolist()] or ["0.0"]  # C has no empty arrays
        lines.append(f"static const double {name}[{size} + 1] ALIGNED = {{")
        lines += [f"    {', '.join(numbers[i : i + 8])}," for i in range(0, len(numbers), 8)]
        lines += ["};", ""]
    if model.bus is not None:
        lines += ["#define BUS", bus_tables(model.bus, table)]
    lines.append("static const Variable VARIABLES[N_VARIABLES] = {")
    for (kind, v), length in zip(table, lengths, strict=True):
        low = -float("inf") if v.minimum is None else v.minimum
        high = float("inf") if v.maximum is None else v.maximum
        type_of = "BOOLEAN" if v.boolean else "INTEGER" if v.choices else TYPES.get(kind, "REAL")
        clocked = has_clock and kind == "input" and v.set_point
        called = "INPUT" if kind == "carried" else kind.upper()
        fields = [_string(v.name), _string(v.unit), called, type_of, str(v.index), str(length)]
        of_row = map(_number, (v.start or 0.0, low, high, v.nominal or 1.0))
        latched = kind == "output" and v.name.endswith(TOO_COARSE.name)
        flags = ("true" if flag else "false" for flag in (v.tunable, clocked, kind == "carried", latched))
        lines.append(f"    {{{', '.join([*fields, *of_row, *flags])}}},")
    return "\n".join([*lines, "};", ""])


def unit_variables(model: Model, fmi: Version = 2) -> list[tuple[str, Variable]]:
    """Kind and row of every variable of the unit, by value reference.

    States and their derivatives follow the variables of the model; in FMI 3.0 also time and the clock, if any.
    """
    carried = model.bus.inputs if model.bus else ()
    rows: list[tuple[str, Variable]] = [("carried" if v.name in carried else v.causality, v) for v in model.variables]
    rows += [("state", replace(v, name=f"state.{v.name}")) for v in model.states]
    for v in model.states:
        rate = f"{v.unit}2" if v.unit.endswith("/s") else f"{v.unit}/s"
        rows.append(("derivative", Variable(f"der(state.{v.name})", "state", v.index, rate, f"rate of state {v.name}")))
    if fmi == 3:
        rows.append(("independent", Variable("time", "state", 0, "s", "time")))
        if model.clock is not None:
            name = next(v.name for v in model.select("input") if v.set_point).rpartition(".")[0]
            about = "ticks when the controller reads its set point"
            rows.append(("clock", Variable(f"{name}.clock", "state", 0, "s", about, start=model.clock)))
        rows += model.bus.rows() if model.bus else []
    return rows


def _number(value: float) -> str:
    return repr(float(value)).replace("inf", "INFINITY")


def _shortest(value: float) -> str:
    """The shorter of the decimal and the hexadecimal text of a number; both are exact."""
    decimal, mantissa, exponent = _number(value), *value.hex().partition("p")[::2]
    hexadecimal = f"{mantissa.rstrip('0')}p{int(exponent)}" if exponent else decimal
    return min(decimal, hexadecimal, key=len)


def _string(text: str) -> str:
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(plain)}"'


# --- description ------------------------------------------------------------------------------------------------------


def native_description(
    model: Model, identifier: str, guid: str, stop_time: float = 1.0, files: Sequence[str] = ("all.c",)
) -> Element:
    """The ``fmiModelDescription`` element: the common one, with states, their derivatives and model exchange.

    `files` are those of its sources that are compiled, if it contains them.
    """
    shared = {
        "canBeInstantiatedOnlyOncePerProcess": boolean(any(g.alone for g in model.foreign)),
        "canNotUseMemoryManagementFunctions": "false",
        "canGetAndSetFMUstate": boolean(all(g.keeps_state for g in model.foreign)),
        "canSerializeFMUstate": boolean(not model.foreign), "providesDirectionalDerivative": boolean(not model.opaque),
    }  # fmt: skip
    abilities = {"canInterpolateInputs": "true", "maxOutputDerivativeOrder": "1", **shared}
    rows = unit_variables(model)
    root = model_description(model, identifier, guid, False, stop_time, rows, abilities, LOG_CATEGORIES)
    root.set("numberOfEventIndicators", "0")
    if model.exchangeable:
        discrete = any(v.boolean for v in model.select("output"))  # a completed step may find an event due
        exchange = {"modelIdentifier": identifier, "completedIntegratorStepNotNeeded": boolean(not discrete)}
        root.insert(0, Element("ModelExchange", exchange | {"needsExecutionTool": "false"} | shared))
    for element in [*root.iter("ModelExchange"), *root.iter("CoSimulation")] if files else ():
        listed = SubElement(element, "SourceFiles")
        for name in files:
            SubElement(listed, "File", name=name)
    return root


# --- binaries ---------------------------------------------------------------------------------------------------------


def write_binaries(root: Path, identifier: str, platforms: Sequence[str], fmi: Version = 2) -> None:
    """Compile the unit in a folder for each platform into ``binaries/``, see `compile_unit` and `FALLBACKS`."""
    for name in platforms:
        folder = FMI3_FOLDERS.get(name, name) if fmi == 3 else name
        binary = root / "binaries" / folder / f"{identifier}{PLATFORMS[name][1]}"
        binary.parent.mkdir(parents=True)
        compile_unit(root / "sources", binary, name)
        for other in set(binary.parent.iterdir()) - {binary}:  # zig leaves import libraries and symbols
            other.unlink()
        fallback = FALLBACKS.get(name)
        if fmi == 2 and fallback is not None and fallback not in platforms:
            shutil.copytree(binary.parent, root / "binaries" / fallback)
