"""FMUs of a system as C within its one unit: their sources, with names of their own, and the calls of their functions.

A component NAME becomes the folder ``sources/NAME``, a file ``part_NAME_K.c`` for each of its files, which includes it
and renames all that it defines for other files, and ``part_NAME.c``: the calls by which ``guests.c`` runs the FMU as
`rtcvt.network.foreign` does, with conversions of units. Their code runs in the process of the importing tool, which
needs the same permission as code in a law's file (`rtcvt.law.code`).
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rtcvt.environment import ALLOW
from rtcvt.fmu.native.compiler import copy_headers, renamed
from rtcvt.model import Model, Variable
from rtcvt.network.foreign import Foreign, open_fmu

GUEST_FILES = ("guest.h", "guest.c", "guests.c")
_FUNCTIONS = {
    2: ["Instantiate", "FreeInstance", "SetupExperiment", "EnterInitializationMode", "ExitInitializationMode",
        "Terminate", "DoStep"],
    3: ["InstantiateCoSimulation", "FreeInstance", "EnterInitializationMode", "ExitInitializationMode", "Terminate",
        "DoStep"],
}  # fmt: skip
_STATE = {2: ["GetFMUstate", "SetFMUstate", "FreeFMUstate"], 3: ["GetFMUState", "SetFMUState", "FreeFMUState"]}
_HEAD = {  # before a file of others: standard names get a prefix, and are not exported
    2: """#undef FMI2_OVERRIDE_FUNCTION_PREFIX
#define FMI2_FUNCTION_PREFIX {prefix}
#define FMI2_Export
#include "fmi2Functions.h"
#undef fmi2FullName
#define fmi2FullName(name) {prefix}##name
""",
    3: """#undef FMI3_OVERRIDE_FUNCTION_PREFIX
#define FMI3_FUNCTION_PREFIX {prefix}
""",
}


def name_of(guest: Foreign) -> str:
    """Name of the component."""
    return guest.key.rpartition(".")[2]


def copy_resources(model: Model, folder: Path) -> None:
    """Make the folder of a unit's resources, with those of its FMUs."""
    folder.mkdir()
    for guest in model.foreign:
        with open_fmu(guest.path, runs=False) as fmu:
            if (fmu.folder / "resources").is_dir():
                shutil.copytree(fmu.folder / "resources", folder / name_of(guest))


def write_guests(model: Model, identifier: str, folder: Path) -> str:
    """Write the sources of a model's FMUs and their calls; returns the table of FMUs for ``model.c``.

    Raises
    ------
    InputError
        There is no permission; an FMU has no sources, they need more than a C compiler, do not compile, or lack a
        function.
    """
    made = [f"{identifier}_{name_of(guest)}_" for guest in model.foreign]
    for guest, prefix in zip(model.foreign, made, strict=True):
        if os.environ.get(ALLOW) != "1":
            raise guest.error(f"permission to compile its C code into the unit: rtcvt --allow-code export ..., "
                              f"or {ALLOW}=1")  # fmt: skip
        copy_headers(guest.fmi, folder)
        with open_fmu(guest.path, runs=False) as fmu:
            functions = _rename(guest, _wrapped(guest, fmu, prefix, folder), prefix, folder)
            text = _calls(guest, fmu, prefix, functions)
        (folder / f"part_{name_of(guest)}.c").write_text(text, encoding="utf-8", newline="\n")
    if not made:
        return ""
    table = ", ".join(f"&{prefix}guest" for prefix in made)
    lines = ['\n#include "guest.h"', f"#define N_GUESTS {len(made)}"]
    lines += [f"extern const Guest {prefix}guest;" for prefix in made]
    return "\n".join([*lines, f"static const Guest *const GUESTS[N_GUESTS] = {{{table}}};", ""])


# --- sources ----------------------------------------------------------------------------------------------------------


def _listed(guest: Foreign, fmu: Any) -> tuple[list[str], dict[str, str], list[str]]:
    """Files of an FMU to be compiled, its macros, and its folders of headers, within ``sources``."""
    if guest.fmi == 2:
        root = ElementTree.parse(fmu.folder / "modelDescription.xml")
        return [f.get("name", "") for f in root.iterfind("CoSimulation/SourceFiles/File")], {}, []
    path = fmu.folder / "buildDescription.xml"
    if not path.is_file():
        return [], {}, []
    found = ElementTree.parse(path).iterfind("BuildConfiguration")
    identifier = fmu.description.coSimulation.modelIdentifier
    chosen = next((c for c in found if c.get("modelIdentifier") == identifier and not c.get("platform")), None)
    files: list[str] = []
    macros: dict[str, str] = {}
    headers: list[str] = []
    for sources in [] if chosen is None else chosen.iterfind("SourceFileSet"):
        if not (sources.get("language") or "C99").upper().startswith("C") or "+" in (sources.get("language") or ""):
            raise guest.error(f"sources in C, not in {sources.get('language')}, within the one unit")
        files += [f.get("name", "") for f in sources.iterfind("SourceFile")]
        headers += [f.get("name", "") for f in sources.iterfind("IncludeDirectory")]
        macros |= {d.get("name", ""): d.get("value", "") for d in sources.iterfind("PreprocessorDefinition")}
    if chosen is not None and (needed := chosen.find("Library")) is not None:
        raise guest.error(f"sources that need no library within the one unit, but {needed.get('name')}")
    return files, {name: value for name, value in macros.items() if name != "FMI3_OVERRIDE_FUNCTION_PREFIX"}, headers


def _wrapped(guest: Foreign, fmu: Any, prefix: str, folder: Path) -> list[Path]:
    """Copy the sources of an FMU and write the files that include them."""
    name, own = name_of(guest), fmu.folder / "sources"
    files, macros, headers = _listed(guest, fmu)
    if not files or fmu.description.coSimulation.needsExecutionTool:
        raise guest.error("no FMU without C sources within the one unit of a system: rtcvt ssp packs it as it is")
    if any(v.type == "Clock" for v in fmu.description.modelVariables):
        raise guest.error("no FMU with clocks within the one unit of a system")
    if other := next((file for file in files if not file.endswith(".c")), None):
        raise guest.error(f"sources in C within the one unit, but {other} is not in C")
    for relative in (*files, *headers):
        if not (own / relative).resolve().is_relative_to(own.resolve()) or not (own / relative).exists():
            raise guest.error(f"files that are in its sources, but {relative} is not")
    shutil.copytree(own, folder / name)
    for place in {(folder / name / file).parent for file in files}:
        for relative in headers:
            shutil.copytree(own / relative, place, dirs_exist_ok=True)
    made = []
    for k, file in enumerate(files, start=1):
        head = _HEAD[guest.fmi].format(prefix=prefix) + "".join(f"#define {m} {v}\n" for m, v in macros.items())
        made.append(folder / f"part_{name}_{k}.c")
        made[-1].write_text(f'{head}#include "{name}/{file}"\n', encoding="utf-8", newline="\n")
    return made


def _rename(guest: Foreign, files: Sequence[Path], prefix: str, folder: Path) -> dict[str, str]:
    """Let all that these files define for others begin with `prefix`; returns the functions of FMI by standard name."""
    parts = (n.rpartition("fmi") for n in renamed(guest.error, files, prefix, folder))
    return {f"fmi{rest}": f"{first}fmi{rest}" for first, mark, rest in parts if mark}


# --- calls ------------------------------------------------------------------------------------------------------------


def _calls(guest: Foreign, fmu: Any, prefix: str, functions: dict[str, str]) -> str:
    """The file with the calls of an FMU."""
    fmi, name = guest.fmi, name_of(guest)
    kinds = {(verb, fmu.kind(v.name)) for verb, causality in (("Set", "parameter"), ("Set", "input"), ("Get", "output"))
             for v in guest.of(causality)}  # fmt: skip
    wanted = [*_FUNCTIONS[fmi], *(_STATE[fmi] if guest.keeps_state else []), *(v + k for v, k in sorted(kinds))]
    wanted += ["SetString"] if guest.texts else []
    for function in dict.fromkeys(wanted):
        if f"fmi{fmi}{function}" not in functions:
            raise guest.error(f"sources with the function fmi{fmi}{function}")
    first = functions[f"fmi{fmi}DoStep"].removesuffix(f"fmi{fmi}DoStep")
    token = _string(fmu.description.guid)
    lines = [f"/* Calls of the FMU of component {name}. */\n", "#include <math.h>", "#include <string.h>",
             f'#include "fmi{fmi}FunctionTypes.h"', '#include "guest.h"\n', f"#define FMI {fmi}",
             f"#define OF(name) {first}##name", f"#define NAME {_string(name)}", f"#define TOKEN {token}",
             f"#define START {fmu.start_time!r}", f"#define STEP {guest.step!r}",
             f"#define KEEPS_STATE {int(guest.keeps_state)}",
             f"typedef {'fmi2Component' if fmi == 2 else 'fmi3Instance'} Component;\n"]  # fmt: skip
    lines += [f"extern fmi{fmi}{f}TYPE OF(fmi{fmi}{f});" for f in dict.fromkeys(wanted)]
    places = ", ".join(map(str, guest.inputs.tolist())) or "0"
    starts = ", ".join(repr(float(v.start or 0.0)) for v in guest.of("parameter")) or "0.0"
    counts = [len(guest.of(c)) for c in ("input", "parameter", "output")]
    sizes = ", ".join(map(str, [*counts, guest.x, guest.y, guest.p]))
    lines += [
        "\nstatic bool set_texts(Component c)\n{\n    (void)c;", *_texts(guest, fmu), "    return true;\n}",
        "\nstatic bool tune(Component c, const double *p, double *held)\n{\n    (void)c, (void)p, (void)held;",
        *_tunes(guest, fmu), "    return true;\n}",
        "\nstatic bool set(Component c, const double *u)\n{\n    (void)c, (void)u;",
        *_transfers(guest, fmu, "input"), "    return true;\n}",
        "\nstatic bool get(Component c, double *y)\n{", *_transfers(guest, fmu, "output"), "    return true;\n}",
        '\n#include "guest.c"\n', f"static const size_t INPUTS[] = {{{places}}};",
        f"static const double HELD[] = {{{starts}}};",
        f"const Guest {prefix}guest = {{NAME, STEP, {sizes}, INPUTS, HELD,",
        "    make, tune_own, initialise, set_own, step_to, get_own, state, end};", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _string(text: str) -> str:
    return '"' + "".join(chr(b) if chr(b).isalnum() and b < 128 else f"\\{b:03o}" for b in text.encode()) + '"'


def _call(guest: Foreign, fmu: Any, verb: str, kind: str, names: Sequence[str], values: Sequence[str]) -> list[str]:
    """A call for variables of a type, as a block; `values` are those to set."""
    references = ", ".join(str(r) for r in dict.fromkeys(fmu.owner(name)[1] for name in names))
    n, size = len(set(map(fmu.owner, names))), f", {len(names)}" if guest.fmi == 3 else ""
    given = f"const fmi{guest.fmi}{kind} v[] = {{{', '.join(values)}}};" if values else (
        f"fmi{guest.fmi}{kind} v[{len(names)}];")  # fmt: skip
    return [f"        const fmi{guest.fmi}ValueReference r[] = {{{references}}};", f"        {given}",
            f"        if (OF(fmi{guest.fmi}{verb}{kind})(c, r, {n}, v{size}) > 1) {{", "            return false;",
            "        }"]  # fmt: skip


def _texts(guest: Foreign, fmu: Any) -> Iterator[str]:
    for name, text in guest.texts.items():
        yield from ["    {", *_call(guest, fmu, "Set", "String", [name], [_string(text)]), "    }"]


def _fitted(guest: Foreign, causality: str, place: int, variable: str) -> str:
    """A value in the FMU's unit, rounded where it is no real number; see `rtcvt.network.foreign`."""
    factor, offset = guest.scale[causality][:, place].tolist()
    v: Variable = guest.of(causality)[place]
    text = f"({variable}[{place}] - {offset!r}) / {factor!r}"
    return f"rint({text})" if v.boolean or v.whole is not None else text


def _tunes(guest: Foreign, fmu: Any) -> Iterator[str]:
    """Parameters that have changed are set, arrays as a whole."""
    rows = {v.name: k for k, v in enumerate(guest.of("parameter"))}
    for owner in dict.fromkeys(fmu.owner(name) for name in rows):
        names = [name for name in rows if fmu.owner(name) == owner]
        kind, places = fmu.kind(names[0]), [rows[name] for name in names]
        yield f"    const double now_{places[0]}[] = {{"
        yield from (f"        {_fitted(guest, 'parameter', k, 'p')}," for k in places)
        yield "    };"
        yield f"    if ({' || '.join(f'now_{places[0]}[{i}] != held[{k}]' for i, k in enumerate(places))}) {{"
        values = [f"(fmi{guest.fmi}{kind})now_{places[0]}[{i}]" for i in range(len(places))]
        yield from _call(guest, fmu, "Set", kind, names, values)
        yield from (f"        held[{k}] = now_{places[0]}[{i}];" for i, k in enumerate(places))
        yield "    }"


def _transfers(guest: Foreign, fmu: Any, causality: str) -> Iterator[str]:
    """All inputs are set or all outputs got, by one call for each type."""
    rows = {v.name: k for k, v in enumerate(guest.of(causality))}
    for kind in dict.fromkeys(map(fmu.kind, rows)):
        names = [name for name in rows if fmu.kind(name) == kind]
        yield "    {"
        if causality == "input":
            values = [f"(fmi{guest.fmi}{kind})({_fitted(guest, 'input', rows[name], 'u')})" for name in names]
            yield from _call(guest, fmu, "Set", kind, names, values)
        else:
            yield from _call(guest, fmu, "Get", kind, names, ())
            for i, name in enumerate(names):
                factor, offset = guest.scale["output"][:, rows[name]].tolist()
                yield f"        y[{rows[name]}] = {factor!r} * (double)v[{i}] + {offset!r};"
        yield "    }"
