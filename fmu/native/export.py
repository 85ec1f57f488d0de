"""Export of a model as an FMI 2.0 unit in machine code: co-simulation and model exchange, no Python on its target.

The kernels are translated to C (`fmu.translate`), differentiated (`fmu.native.tangent`) and compiled together with one
FMI core that serves every unit (``core.c``). All that differs between units is data in ``model.c``, written from the
variable table: parameters, inputs and outputs in its order, then the states, then their derivatives; the place of a
variable is its value reference, as in `fmu.description`.

The unit carries its sources, so that targets without a binary compile their own: ``sources/all.c`` is the only file to
compile. zig, as the PyPI package ``ziglang``, compiles for every platform from any other; without it the C compiler of
a 64-bit Linux serves ``linux64``. Floating-point contraction is off, so all platforms give the same bits.

The unit also carries results that it must reproduce (`fmu.native.reference`) and its diagram: ``model.png``, which
tools show as its icon, and the same in ``documentation/diagram.svg``.

The headers of FMI come from the ``fmpy`` package; ``resvg-py``, one wheel without dependencies, makes the picture.
"""

import hashlib
import importlib.util
import json
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from fmu.description import model_description
from fmu.export import require_fmu_name
from fmu.native.reference import FOLDER as REFERENCE
from fmu.native.reference import write_reference
from fmu.native.tangent import add_tangents
from fmu.slave import UNIT_FILE, with_start_values
from fmu.translate import lower, print_c
from rtcvt import __version__
from rtcvt.build import AnyUnit, build_any
from rtcvt.diagram import unit_diagram
from rtcvt.errors import InputError
from rtcvt.kernel import FAILED
from rtcvt.model import Fidelity, Model, Variable
from rtcvt.recording import replaced_on_success
from rtcvt.unitfile import Scenario, Unit

__all__ = [
    "LOG_CATEGORIES",
    "PLATFORMS",
    "compile_unit",
    "export_native",
    "native_description",
    "own_platform",
    "write_binaries",
    "write_sources",
    "write_unit",
]

PLATFORMS = {  # folder of the binary: zig's name of the target, suffix of a shared library
    "linux64": ("x86_64-linux-gnu.2.17", ".so"),
    "win64": ("x86_64-windows-gnu", ".dll"),
    "darwin64": ("x86_64-macos.11.0", ".dylib"),
    "aarch64-linux": ("aarch64-linux-gnu.2.17", ".so"),
    "aarch64-darwin": ("aarch64-macos.11.0", ".dylib"),
}
FALLBACKS = {"aarch64-linux": "linux64", "aarch64-darwin": "darwin64"}  # where some importers look on ARM, as FMPy
_MACHINES = {
    ("Linux", "x86_64"): "linux64",
    ("Linux", "aarch64"): "aarch64-linux",
    ("Windows", "AMD64"): "win64",
    ("Darwin", "x86_64"): "darwin64",
    ("Darwin", "arm64"): "aarch64-darwin",
}
LOG_CATEGORIES = {
    "logStatusDiscard": "Steps and results that are not finite; the state is as it was.",
    "logStatusError": "Values and calls that are not allowed; they change nothing.",
    "logAll": "All messages.",
}
HEADERS = ("fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h")
FLAGS = [
    "-std=c99",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-s",
    "-fno-unroll-loops",
    "-fno-tree-slp-vectorize",
]  # most loops have three or four turns
_ARRAY, _FLOAT = "array", "float64"


def export_native(
    unit: AnyUnit,
    fidelity: Fidelity,
    path: Path,
    platforms: Sequence[str] = ("linux64",),
    substeps: int | None = None,
    parameters: Mapping[str, float] | None = None,
    documentation: str | None = None,
) -> Path:
    """Write a unit as an FMU in machine code, with its sources.

    Parameters
    ----------
    unit : Unit or Part
        The machine.
    fidelity : {"rigid", "hybrid", "full"}
        Which model of it.
    path : Path
        The file to write; it is replaced only by a complete one.
    platforms : sequence of str
        Of `PLATFORMS`; empty for sources alone. The binary of an ARM platform is also put where `FALLBACKS` says,
        unless that platform is among them.
    substeps : int, optional
        Instead of the unit's own.
    parameters : mapping of str to float, optional
        Start values in SI units instead of the unit's own.
    documentation : str, optional
        ``documentation/index.html``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        The unit cannot be built, a parameter is not one of the model's or out of range, there is no compiler for a
        platform, or the file cannot be written.
    """
    require_fmu_name(path)
    model = with_start_values(build_any(unit, fidelity, substeps), parameters or {})
    diagram = None
    if isinstance(unit, Unit):
        _require_renderer()
        diagram = unit_diagram(unit, values={v.name: float(model.p[v.index]) for v in model.select("parameter")})
    scenario = unit.scenario[0] if unit.scenario else None
    with replaced_on_success(path) as temporary:
        write_unit(model, temporary, platforms, 1.0, scenario, documentation, diagram)
    return path


def write_unit(
    model: Model,
    path: Path,
    platforms: Sequence[str],
    stop_time: float,
    scenario: Scenario | None = None,
    documentation: str | None = None,
    diagram: str | None = None,
) -> None:
    """Write a model as an FMU, see `export_native`.

    Parameters
    ----------
    model : Model
        Its start values are those of the unit.
    path : Path
        The file to write.
    platforms : sequence of str
        Of `PLATFORMS`; empty for sources alone.
    stop_time : float
        Of the default experiment [s], if there is no scenario.
    scenario : Scenario, optional
        Of the reference results and the default experiment.
    documentation, diagram : str, optional
        ``documentation/index.html``, and the unit's picture (SVG).

    Raises
    ------
    InputError
        There is no compiler for a platform, or it fails.
    """
    for name in platforms:
        _compiler(name)  # this and the next before any work
    _header_folder()
    identifier = f"{model.name}_{model.fidelity}"
    with TemporaryDirectory(prefix="rtcvt-") as folder:
        root = Path(folder)
        guid = write_sources(model, identifier, root / "sources", model.source)
        if scenario is not None:
            stop_time = scenario.duration
        description = native_description(model, identifier, guid, stop_time)
        ElementTree.indent(description)
        ElementTree.ElementTree(description).write(root / "modelDescription.xml", "UTF-8", xml_declaration=True)
        (root / "resources").mkdir()
        (root / "resources" / UNIT_FILE).write_text(model.source, encoding="utf-8")
        (root / "documentation").mkdir()
        if documentation is not None:
            (root / "documentation" / "index.html").write_text(documentation, encoding="utf-8")
        if diagram is not None:
            (root / "documentation" / "diagram.svg").write_text(diagram, encoding="utf-8")
            (root / "model.png").write_bytes(_picture(diagram))
        if scenario is not None:
            write_reference(model, scenario, root / REFERENCE)
        write_binaries(root, identifier, platforms)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(f for f in root.rglob("*") if f.is_file()):
                archive.write(file, file.relative_to(root).as_posix())


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


def _missing(what: str, package: str) -> InputError:
    """The error for a package of the extra ``native`` that is not installed."""
    return InputError("native export", what, None, f"{package} gives it: pip install rtcvt[native]; "
                      "or choose the python backend")  # fmt: skip


def _require_renderer() -> None:
    if importlib.util.find_spec("resvg_py") is None:
        raise _missing("picture of the unit", "resvg-py")


def _picture(svg: str) -> bytes:
    """A diagram as PNG. Without fonts on the machine those of matplotlib serve, if that is installed."""
    import resvg_py

    matplotlib = importlib.util.find_spec("matplotlib")
    fonts = []
    if matplotlib is not None and matplotlib.origin is not None:
        fonts.append(str(Path(matplotlib.origin).parent / "mpl-data" / "fonts" / "ttf"))
    return resvg_py.svg_to_bytes(svg_string=svg, background="#ffffff", font_dirs=fonts, sans_serif_family="DejaVu Sans")


# --- sources ----------------------------------------------------------------------------------------------------------


def write_sources(model: Model, identifier: str, folder: Path, seed: str = "") -> str:
    """Write the unit's C sources, the FMI headers among them; returns the guid, a hash of these and of `seed`."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {name: (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("all.c", "core.c", "model.h")}
    kernels, body = _kernels(model), _model_body(model, identifier)
    settings = json.dumps([__version__, identifier, own, kernels, body, seed], sort_keys=True)
    guid = hashlib.sha256(settings.encode()).hexdigest()[:32]
    model_c = _MODEL_HEAD.format(identifier=identifier, version=__version__, guid=guid) + body
    for name, text in {**own, "kernels.c": kernels, "model.c": model_c}.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for name in HEADERS:
        shutil.copyfile(_header_folder() / name, folder / name)
    return guid


def _header_folder() -> Path:
    found = importlib.util.find_spec("fmpy")
    if found is None or found.origin is None:
        raise _missing("headers of FMI", "fmpy")
    return Path(found.origin).parent / "c-code"


def _kernels(model: Model) -> str:
    """The model's kernels and their tangents as C."""
    entries = {
        "rt_initialise": (model.initialise, [_ARRAY] * 4),
        "rt_derivative": (model.derivative, [_FLOAT] + [_ARRAY] * 5),
        "rt_output": (model.output, [_FLOAT] + [_ARRAY] * 5),
        "rt_step": (model.step, [_FLOAT] * 2 + [_ARRAY] * 5),
    }
    program = lower(entries)
    fixed = {name: ["p"] for name in ("rt_initialise", "rt_derivative", "rt_output")}
    title = f"""The equations: kernels of rtcvt {__version__}, translated line by line, and their derivatives.

What stands in the buffers p, x, u, y and work is data of the unit, so this text is the same for all units of a kind.
A function NAME_tangent computes what NAME computes and, in the companions NAME_dot of its arguments, the derivative
along the direction that these give."""
    return print_c(add_tangents(program, fixed), title)


_MODEL_HEAD = """\
/* Sizes, start values and variables of the unit {identifier}; written by rtcvt {version}. */

#include <stddef.h>

#include "model.h"

#define MODEL_GUID "{guid}"

"""


def _model_body(model: Model, identifier: str) -> str:
    table = unit_variables(model)
    sizes = {
        "N_P": len(model.p),
        "N_U": len(model.select("input")),
        "N_X": len(model.states),
        "N_Y": len(model.select("output")),
        "N_WORK": model.n_work,
        "N_VARIABLES": len(table),
        "N_PARAMETERS": len(model.select("parameter")),
        "STATUS_FAILED": FAILED,
    }
    lines = ["enum {", ",\n".join(f"    {name} = {value}" for name, value in sizes.items()), "};", ""]
    lines += [f"static const double STEP_SIZE = {_number(model.step_size)}; /* [s] */", ""]
    lines.append("static const double P_START[N_P + 1] = {")
    numbers = [_number(v) for v in model.p]
    lines += [f"    {', '.join(numbers[i : i + 8])}," for i in range(0, len(numbers), 8)]
    lines += ["};", "", "static const Variable VARIABLES[N_VARIABLES] = {"]
    for kind, v in table:
        low = -float("inf") if v.minimum is None else v.minimum
        high = float("inf") if v.maximum is None else v.maximum
        fields = [_string(v.name), _string(v.unit), kind.upper(), "BOOLEAN" if v.boolean else "REAL", str(v.index)]
        lines.append(f"    {{{', '.join([*fields, *map(_number, (v.start or 0.0, low, high))])}}},")
    return "\n".join([*lines, "};", ""])


def unit_variables(model: Model) -> list[tuple[str, Variable]]:
    """Kind and row of every variable of the unit, states and their derivatives included, by value reference."""
    table = [(v.causality, v) for v in model.variables]
    rows: list[tuple[str, Variable]] = [*table]
    for i, (name, unit) in enumerate(model.states):
        rows.append(("state", Variable(f"state.{name}", "output", i, unit, f"state {name}")))
    for i, (name, unit) in enumerate(model.states):
        rate = f"{unit}2" if unit.endswith("/s") else f"{unit}/s"
        rows.append(("derivative", Variable(f"der(state.{name})", "output", i, rate, f"rate of state {name}")))
    return rows


def _number(value: float) -> str:
    return repr(float(value)).replace("inf", "INFINITY")


def _string(text: str) -> str:
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(plain)}"'


# --- description ------------------------------------------------------------------------------------------------------


def native_description(model: Model, identifier: str, guid: str, stop_time: float = 1.0) -> Element:
    """The ``fmiModelDescription`` element: the common one, with states, their derivatives and model exchange."""
    table = unit_variables(model)
    extended = replace(model, variables=tuple(v for _, v in table))
    root = model_description(extended, identifier, guid, needs_execution_tool=False, stop_time=stop_time)
    root.set("numberOfEventIndicators", "0")
    cosimulation = root.find("CoSimulation")
    categories = root.find("LogCategories")
    variables = root.find("ModelVariables")
    structure = root.find("ModelStructure")
    assert cosimulation is not None
    assert categories is not None
    assert variables is not None
    assert structure is not None
    cosimulation.set("canNotUseMemoryManagementFunctions", "false")
    cosimulation.set("providesDirectionalDerivative", "true")
    cosimulation.set("canInterpolateInputs", "true")
    cosimulation.set("maxOutputDerivativeOrder", "1")
    exchange = Element("ModelExchange", modelIdentifier=identifier, completedIntegratorStepNotNeeded="true")
    for key in ("needsExecutionTool", "canBeInstantiatedOnlyOncePerProcess", "canNotUseMemoryManagementFunctions",
                "canGetAndSetFMUstate", "canSerializeFMUstate", "providesDirectionalDerivative"):  # fmt: skip
        exchange.set(key, cosimulation.get(key, "false"))
    root.insert(list(root).index(cosimulation), exchange)
    for element in (exchange, cosimulation):
        SubElement(SubElement(element, "SourceFiles"), "File", name="all.c")
    categories.clear()
    for name, text in LOG_CATEGORIES.items():
        SubElement(categories, "Category", name=name, description=text)
    places: dict[str, list[int]] = {kind: [] for kind in ("parameter", "input", "output", "state", "derivative")}
    for index, ((kind, _), scalar) in enumerate(zip(table, variables, strict=True), start=1):
        places[kind].append(index)
        if kind in ("state", "derivative"):
            scalar.set("causality", "local")
    for state, derivative in zip(places["state"], places["derivative"], strict=True):
        variables[derivative - 1][0].set("derivative", str(state))
    structure.clear()
    groups = {
        "Outputs": places["output"],
        "Derivatives": places["derivative"],
        "InitialUnknowns": sorted(places["output"] + places["state"] + places["derivative"]),
    }
    for group, indices in groups.items():
        unknowns = SubElement(structure, group)
        for index in indices:
            SubElement(unknowns, "Unknown", index=str(index))
    return root


# --- binaries ---------------------------------------------------------------------------------------------------------


def _compiler(name: str) -> list[str]:
    """Command that compiles for a platform."""
    if name not in PLATFORMS:
        raise InputError("native export", "platform", name, f"one of {', '.join(PLATFORMS)}")
    if importlib.util.find_spec("ziglang") is not None:
        target = ["-target", PLATFORMS[name][0], "-fno-sanitize=undefined", "-g0"]
        return [sys.executable, "-m", "ziglang", "cc", *target]
    own = shutil.which("cc") if (platform.system(), platform.machine()) == ("Linux", "x86_64") else None
    if name == "linux64" and own is not None:
        return [own]
    raise _missing(f"compiler for platform {name}", "ziglang")


def write_binaries(root: Path, identifier: str, platforms: Sequence[str]) -> None:
    """Compile the unit in a folder for each platform into ``binaries/``, see `compile_unit` and `FALLBACKS`."""
    for name in platforms:
        binary = root / "binaries" / name / f"{identifier}{PLATFORMS[name][1]}"
        binary.parent.mkdir(parents=True)
        compile_unit(root / "sources", binary, name)
        for other in set(binary.parent.iterdir()) - {binary}:  # zig leaves import libraries and symbols
            other.unlink()
        fallback = FALLBACKS.get(name)
        if fallback is not None and fallback not in platforms:
            shutil.copytree(binary.parent, root / "binaries" / fallback)


def compile_unit(sources: Path, binary: Path, name: str) -> None:
    """Compile the sources of a unit into its shared library for a platform.

    Raises
    ------
    InputError
        There is no compiler for the platform, or it fails.
    """
    command = [*_compiler(name), *FLAGS, "-I", str(sources), str(sources / "all.c"), "-o", str(binary)]
    if "linux" in name:
        command += ["-lm", "-Wl,-z,now,-z,relro"]
    if "darwin" in name:
        command += [f"-Wl,-install_name,@rpath/{binary.name}"]  # not the folder where it was made
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise InputError("native export", "platform", name, f"the compiler failed:\n{done.stderr.strip()[-2000:]}")
