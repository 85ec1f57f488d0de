"""Kernels for many instances at once: their text as C++ in which a number is a vector, one place (lane) an instance.

The bits are those of one instance, since each lane does what one instance does. All lanes take the same way through the
kernels; integers are therefore the same for all. Where they would differ

- a choice of numbers takes each lane's own (``PICK``), and so does an ``if`` that only sets numbers;
- a kernel that only reads arrays is called again, lane by lane, and so is always one that computes an integer from
  numbers (a cell of a table);
- a kernel that finds pivots is called lane by lane for a while once lanes have had different ones;
- a kernel that ends at once where its results are stored computes them again unless all lanes have them;
- elsewhere the step is ``diverged``, and the caller makes it again lane by lane (``batch.h``).

The kernels lane by lane are the same text with plain numbers, in the namespace ``one``, on the same buffers.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from rtcvt.fmu import translate as c

_WORDS = "new delete this template operator private public using virtual explicit mutable"  # of C++
HEAD = "".join(f"#define {word} {word}_in_kernel\n" for word in _WORDS.split())
_TYPES = {c.FLOAT: "RtNumber ", c.ARRAY: "RtNumber *"}
_ONE = {c.ARRAY: "RtLane "}


def print_lanes(program: c.Program, lanes: int) -> str:
    """A program in both forms: namespaces ``one``, and ``all`` for all lanes at once."""
    functions = {name: replace(f, of_rows=False) for name, f in program.functions.items()}
    known, one = Ways(functions), {} if lanes == 1 else _ONE
    parts = [c.print_constants(program)]
    parts += ["namespace one {", *(f"static {c.Printer(f, one).text()}" for f in functions.values()), "}"]
    if lanes == 1:
        return "\n".join([*parts, "namespace all = one;\n"])
    return "\n".join([*parts, "namespace all {", *(_all(f, known) for f in functions.values()), "}\n"])


class Ways:
    """What kernels do where lanes differ.

    Attributes
    ----------
    writing : set of str
        Kernels that write arrays.
    differing : set of str
        Kernels in which lanes may want different ways.
    alone : set of str
        Kernels that are called lane by lane: they write, after they have computed an integer from numbers.
    pivoting : set of str
        Kernels that write and keep an integer of a loop, or have one from an array: they are called lane by lane for a
        while after lanes differed.
    placing : set of str
        Kernels with an integer from numbers, which is that of the first lane: this lane must take part.
    """

    def __init__(self, functions: dict[str, c.Function]) -> None:
        self.writing: set[str] = set()
        self.differing: set[str] = set()
        self.alone: set[str] = set()
        self.pivoting: set[str] = set()
        self.placing: set[str] = set()
        self._same: dict[str, set[str]] = {}  # numbers among the parameters that are the same in all lanes
        for f in reversed(functions.values()):  # callers come first
            own = self._same.setdefault(f.name, {"t", "h"})  # of a step
            for call in (p for p in _parts(f.body) if isinstance(p, c.Call) and p.function in functions):
                pairs = zip(functions[call.function].parameters, call.arguments, strict=True)
                given = {name for (name, _), value in pairs if value.type == c.FLOAT and self.same(value, own)}
                self._same[call.function] = self._same.get(call.function, given) & given
        places: set[str] = set()
        for name, f in functions.items():  # callees come first
            parts, own = list(_parts(f.body)), self._same[name]
            called = {p.function for p in parts if isinstance(p, c.Call)}
            if called & self.writing or any(isinstance(p, c.Assign) and isinstance(p.target, c.Item) for p in parts):
                self.writing.add(name)
            cells = [p.a for p in parts if self._is_cell(p, own)]
            if cells or called & self.placing:
                self.placing.add(name)
            if cells or called & self.differing or any(self.compares(p, own) for p in parts):
                self.differing.add(name)
            stored = [a for a in cells if isinstance(a, c.Item)]
            if name in self.writing and (called & places or len(cells) > len(stored)):
                self.alone.add(name)
            elif any(map(_picks, parts)) or any(a.array != c.Local("p", c.ARRAY) for a in stored):
                self.pivoting |= {name} & self.writing
            results: list[Any] = [p.value for p in parts if isinstance(p, c.Return) and f.result == c.INT]
            results += [p.value for p in parts if isinstance(p, c.Assign) and p.target in results]
            if name in self.alone and any(self._is_cell(p, own) for value in results for p in c.walk(value)):
                places.add(name)

    def _is_cell(self, p: Any, own: Collection[str]) -> bool:
        """Whether an integer is made of a number that may differ."""
        return isinstance(p, c.Cast) and p.type == c.INT and p.a.type == c.FLOAT and not self.same(p.a, own)

    def compares(self, p: Any, own: Collection[str] = ()) -> bool:
        """Whether numbers are compared that may differ."""
        numbers = isinstance(p, c.Binary) and p.type == c.BOOL and c.FLOAT in (p.a.type, p.b.type)
        return numbers and not self.same(p, own)

    def same(self, e: c.Expression, own: Collection[str] = ()) -> bool:
        """Whether a number comes from constants, integers and these parameters alone."""
        if isinstance(e, c.Item):
            return e.array.type in (c.CONSTANTS, c.SINGLES)
        if isinstance(e, c.Local):
            return e.type == c.INT or e.name in own
        exact = not isinstance(e, c.Call) or e.function in ("ceil", "floor") or e.type == c.INT
        return exact and (e.type == c.INT or all(self.same(p, own) for p in c.children(e)))

    def plain(self, node: Any, own: Collection[str] = ()) -> bool:
        """Whether an expression writes nothing and works for any of the lanes without the first one."""
        calls = self.writing | self.placing
        return not any(self._is_cell(p, own) or (isinstance(p, c.Call) and p.function in calls) for p in c.walk(node))


def _parts(body: tuple[c.Statement, ...]) -> Iterator[Any]:
    for statement in body:
        yield from c.walk(statement)


def _picks(s: Any) -> bool:
    """Whether an ``if`` keeps the number of a turn of a loop: that of a pivot."""
    found = [p.value for p in c.walk(s) if isinstance(s, c.If) and isinstance(p, c.Assign)]
    return any(isinstance(value, c.Local) and value.loop for value in found)


def _all(f: c.Function, known: Ways) -> str:
    """A kernel for all lanes, and how it is called."""
    own = f"{f.name}_together"
    again = f.name in known.alone | known.pivoting | (known.differing - known.writing)
    text = "" if f.name in known.alone else f"static {_Together(replace(f, name=own) if again else f, known).text()}"
    if not again:
        return text
    given = ", ".join(name for name, _ in f.parameters)
    lanes = ", ".join(f"lane({name}, lane_)" for name, _ in f.parameters)
    give = {c.NOTHING: "ALONE", c.FLOAT: "ALONE_NUMBER"}.get(f.result, "ALONE_SAME")
    signature = c.Printer(f, _TYPES).signature()
    try_ = "PERHAPS" if f.name in known.pivoting else "TOGETHER"
    attempt = "" if f.name in known.alone else f"{try_}({own}({given}))"
    return f"{text}\nstatic {signature}\n{{\n    {attempt}\n    {give}(one::{f.name}({lanes}))\n}}\n"


class _Together(c.Printer):
    """Writes a kernel for all lanes."""

    def __init__(self, function: c.Function, known: Ways) -> None:
        super().__init__(function, _TYPES)
        self.known = known
        self.mask = ""
        self.own: tuple[c.Statement, ...] = ()
        self.masks = 0

    def choose(self, s: c.If, depth: int, before: str) -> None:
        """An ``if``: for the lanes that want it, if it only sets numbers."""
        if self.is_stored(s):
            self.line(depth, f"{before}if (!some(!{self.test(s.test)})) {{")
            self.line(depth + 1, "return;")
            self.line(depth, "}")
            return
        if not (self.mask or any(map(self.known.compares, c.walk(s.test)))) or not self.sets_numbers(s):
            super().choose(s, depth, before)
            return
        if before:
            self.line(depth, "} else {")
        outer, own = self.mask, self.own
        self.masks += 1
        test, other = f"mask_{self.masks}", f"other_{self.masks}"
        self.line(depth, f"{{ RtMask {test} = {self.test(s.test)};")
        self.line(depth, f"RtMask {other} = {f'{outer} & ' if outer else ''}!{test};")
        if outer:
            self.line(depth, f"{test} = {outer} & {test};")
        for mask, body in ((test, s.body), (other, s.orelse)):
            if body:
                self.mask, self.own = mask, body
                self.line(depth, f"if (some({mask})) {{")
                self.block(body, depth + 1)
                self.line(depth, "}")
        self.mask, self.own = outer, own
        self.line(depth, "}" if not before else "} }")

    def is_stored(self, s: c.If) -> bool:
        """Whether this ends a kernel whose results are stored: an array has the number that is an argument."""
        given = {name for name, kind in self.function.parameters if kind == c.FLOAT}
        keys = (p for p in c.walk(s.test) if isinstance(p, c.Binary) and p.op == "==" and isinstance(p.a, c.Item))
        stored = any(isinstance(p.b, c.Local) and p.b.name in given for p in keys) and s.body == (c.Return(None),)
        return stored and s is next((p for p in self.function.body if isinstance(p, c.If)), None)

    def sets_numbers(self, s: c.Statement, own: tuple[Any, ...] = ()) -> bool:
        """Whether a statement sets numbers only, and other variables of the same lanes: with homes in blocks `own`."""
        if isinstance(s, c.If):
            blocks = [(s.body, (s.body,)), (s.orelse, (s.orelse,))]
            return self.known.plain(s.test) and all(self.sets_numbers(t, inner) for body, inner in blocks for t in body)
        if isinstance(s, c.For):
            return all(self.sets_numbers(t, (*own, s.body)) for t in s.body)
        if not isinstance(s, c.Assign) or not self.known.plain(s):
            return False
        home = self.homes.get(s.target.name) if isinstance(s.target, c.Local) else None
        return s.target.type == c.FLOAT or any(home is b for b in own)

    def statement(self, s: c.Statement, depth: int, declare: str) -> None:
        """An assignment is that of the lanes that want it."""
        if not (self.mask and isinstance(s, c.Assign) and s.target.type == c.FLOAT):
            super().statement(s, depth, declare)
            return
        target = self.show(s.target)
        if declare or (isinstance(s.target, c.Local) and self.homes.get(s.target.name) is self.own):
            super().statement(s, depth, declare)
            return
        value = self.show(s.value) if s.op == "=" else f"{target} {s.op[0]} ({self.show(s.value)})"
        self.line(depth, f"{target} = choose({self.mask}, RtNumber({value}), {target});")

    def test(self, e: c.Expression) -> str:
        """A condition as a mask."""
        if isinstance(e, c.Binary) and e.op in ("&&", "||") and self.known.plain(e.b):
            return f"{'BOTH' if e.op == '&&' else 'EITHER'}({self.test(e.a)}, {self.test(e.b)})"
        return f"RtMask({self.show(e)})"

    def bound(self, e: c.Expression) -> tuple[str, int]:
        """Choices of numbers are those of each lane; other places as in C."""
        if isinstance(e, c.Choice):
            if e.type == c.FLOAT and self.known.plain(e) and any(map(self.known.compares, c.walk(e.test))):
                return f"PICK({self.test(e.test)}, {self.show(e.a)}, {self.show(e.b)})", 9
            kind = {c.FLOAT: "RtNumber", c.INT: "int64_t", c.BOOL: "bool"}[e.type]
            return f"(bool({self.show(e.test)}) ? {kind}({self.show(e.a)}) : {kind}({self.show(e.b)}))", 9
        if isinstance(e, c.Cast) and e.type == c.FLOAT and e.a.type == c.INT:
            if isinstance(e.a, c.Cast) and e.a.a.type == c.FLOAT:
                return f"whole(RtNumber({self.show(e.a.a)}))", 9
            return f"RtNumber({self.show(e.a)})", 9
        if isinstance(e, c.Cast) and e.type == c.INT:
            return f"same_int({self.show(e.a)})", 9
        return super().bound(e)
