"""Places of a system's parts as numbers in C: what the kernels of a part read of its constants is then known to a
compiler, which leaves out what other units of this kind have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rtcvt.fmu import translate as c
from rtcvt.model import Model
from rtcvt.network.layout import D, Part

Rows = tuple[tuple[int, ...], ...]


def places_of(model: Model) -> Rows:
    """`Part` of each part of a system that is the only one with its kernels; of any other model none."""
    if not model.parts:
        return ()
    first, n = int(model.data[D.PART]), len(Part)
    rows = [tuple(map(int, model.data[first + k * n : first + (k + 1) * n])) for k in range(len(model.parts))]
    kernels = [row[Part.KERNELS] for row in rows]
    return tuple(row for row in rows if kernels.count(row[Part.KERNELS]) == 1)


def placed(program: c.Program, rows: Rows) -> c.Program:
    """The program with these places in the kernels that call those of the parts (`rtcvt.network.generate`)."""
    functions, of = dict(program.functions), {row[Part.KERNELS]: row for row in rows}
    for name, f in functions.items() if rows else ():
        if f.body and isinstance(f.body[0], c.Assign) and f.body[0].target == c.Local("kernels", c.INT):
            functions[name] = _placed(f, of, program.constants)
    return c.Program(functions, program.constants)


def _placed(f: c.Function, of: Mapping[int, tuple[int, ...]], constants: Mapping[str, float | int]) -> c.Function:
    views: dict[str, Any] = {s.target.name: s.value for s in f.body if isinstance(getattr(s, "value", None), c.View)}
    body: list[Any] = []
    for s in f.body:
        if isinstance(s, c.If) and (row := of.get(s.test.b.value)):
            (then,) = s.body
            call = then.value if isinstance(then, c.Return) else then.call
            given = list(call.arguments)
            for k, a in enumerate(given):
                if view := views.get(a.name):
                    place = row[constants[view.offset.arguments[0].b.name]]
                    given[k] = replace(view, offset=c.Literal(place, c.INT))
            call = replace(call, arguments=tuple(given))
            s = replace(s, body=(c.Return(call) if isinstance(then, c.Return) else c.Evaluate(call),))
        body.append(s)
    used = {p.name for s in body if isinstance(s, c.If) for p in c.walk(s) if isinstance(p, c.Local)}
    return replace(f, body=tuple(s for s in body if not isinstance(s, c.Assign) or s.target.name in used))
