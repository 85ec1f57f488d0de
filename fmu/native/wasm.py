"""A unit in a page: WebAssembly, with sliders for its inputs and live charts of its outputs, without a server.

A draft: no standard for units in WebAssembly is final, so the page alone runs it. Its results are those of the native
unit but for the functions of the C library.
"""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

from rtcvt.errors import InputError
from rtcvt.files import temporary_folder
from rtcvt.fmu.export import ONE_UNIT
from rtcvt.fmu.native.compiler import WASM, compile_unit
from rtcvt.fmu.native.export import unit_variables, write_sources
from rtcvt.html import render
from rtcvt.model import Model, Variable
from rtcvt.recording import replaced_on_success

SHOWN = 3  # outputs with a chart from the beginning


def compile_wasm(model: Model) -> bytes:
    """The unit as WebAssembly with the functions of ``page.c``; it calls those of WASI, which may do nothing.

    Raises
    ------
    InputError
        There is no compiler for it, or it fails.
    """
    model.require_own(ONE_UNIT)
    with temporary_folder() as folder:
        write_sources(model, model.name, folder / "sources")
        shutil.copyfile(Path(__file__).with_name("page.c"), folder / "sources" / "page.c")
        compile_unit(folder / "sources", folder / "unit.wasm", WASM)
        return (folder / "unit.wasm").read_bytes()


def variables_of(model: Model) -> list[dict[str, Any]]:
    """Inputs, outputs and parameters as the page reads them; `k` is the value reference."""
    found = []
    for k, (_, v) in enumerate(unit_variables(model)):
        if v.causality not in ("input", "output", "parameter"):
            continue
        start = float(model.p[v.index]) if v.causality == "parameter" else float(v.start or 0.0)
        low, high = _range(v, start)
        told = {"name": v.name, "unit": "" if v.unit == "1" else v.unit, "about": v.description, "kind": v.causality}
        found.append(told | {"k": k, "start": start, "low": low, "high": high, "items": list(v.items.items())})
    return found


def _range(v: Variable, start: float) -> tuple[float, float]:
    """Ends of a slider: of the variable's range if it is narrow, else twice its usual values."""
    reach = 2.0 * max(abs(start), abs(v.nominal or 0.0), 1.0)
    if v.boolean:
        return 0.0, 1.0
    low, high = (-reach if v.minimum is None else v.minimum), (reach if v.maximum is None else v.maximum)
    return max(low, -1e3 * reach), min(high, 1e3 * reach)


def export_page(model: Model, path: Path) -> Path:
    """Write the page of a unit that runs in a browser.

    Raises
    ------
    InputError
        Not a name of a page, no compiler, or the file cannot be written.
    """
    if path.suffix != ".html":
        raise InputError("--output", "", str(path), "a name that ends in .html for --platform wasm")
    about = {"step": model.step_size, "shown": SHOWN, "variables": variables_of(model)}
    data = json.dumps(about).replace("<", "\\u003c").replace("&", "\\u0026").replace(">", "\\u003e")
    with replaced_on_success(path) as temporary:
        code = base64.b64encode(compile_wasm(model)).decode()
        values = {"charts": True, "script": "rtcvt.html:unit_wasm.js", "model": model, "data": data, "code": code}
        temporary.write_text(render("rtcvt.html:unit_wasm.html", **values), encoding="utf-8")
    return path
