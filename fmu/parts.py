"""Places of a system's parts as numbers in C: what the kernels of a part read of its constants is then known to a
compiler, which leaves out what other units of this kind have."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rtcvt.fmu import translate as c
from rtcvt.model import Model
from rtcvt.network.generate import SLICES
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
        if f.body and getattr(f.body[0], "target", None) == c.Local("kernels", c.INT):
            body: list[Any] = [_placed(s, of) for s in f.body]
            used = {p.name for s in body if isinstance(s, c.If) for p in c.walk(s) if isinstance(p, c.Local)}
            kept = tuple(s for s in body if not hasattr(s, "target") or s.target.name in used)
            functions[name] = replace(f, body=kept)
    return c.Program(functions, program.constants)


def _placed(s: Any, of: Mapping[int, tuple[int, ...]]) -> Any:
    """A statement; the call of a part that has its place in `of`, at this."""
    test, given = getattr(s, "test", None), list[Any]()
    if test is None or test.b.value not in of:
        return s
    key = "value" if isinstance(s.body[0], c.Return) else "call"
    call = getattr(s.body[0], key)
    for a in call.arguments:
        buffer, place = SLICES.get(a.name.removeprefix("own_"), ("", ""))
        offset = c.Literal(of[test.b.value][Part[place]], c.INT) if a.name.startswith("own_") else None
        given.append(c.View(c.Local(buffer, a.type), offset, a.type) if offset else a)
    return replace(s, body=(replace(s.body[0], **{key: replace(call, arguments=tuple(given))}),))
