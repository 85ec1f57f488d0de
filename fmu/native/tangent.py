"""Exact derivatives of translated kernels: forward differentiation of their typed trees.

Each number ``v`` gets a companion ``v_dot``, its derivative along one direction in the space of the active arguments,
and each statement is preceded by the statement of the chain rule for the companions (Griewank and Walther,
*Evaluating Derivatives*, 2008, ch. 3). Values are computed as before, to the same bits. Branches follow the values, so
at a kink the derivative is that of the executed branch. Where both values of ``a if c < d else b`` are equal, with
``c = d``, it is that of the branch which is taken along the direction, along the first one on which c - d depends if
there are several: an element of the generalised derivative (Khan and Barton, *Optim. Methods Softw.* 30, 2015).

In C a companion has the type ``dot``: `LANES` numbers, one for each of so many directions, or else one number.

Two numbers are equal only if their companions are equal too. With this rule a kernel that skips work because a number
is zero, or unchanged since the last call, stays right: it skips only if nothing along the direction depends on it.

Constants, arrays that are only read, have no companions.
"""

from collections.abc import Iterator, Sequence
from typing import cast

from rtcvt.fmu import translate as ir

_SUFFIX = "_tangent"  # of functions
_DOT = "_dot"  # of variables
_COMPANION = {ir.ARRAY: ir.DOTS, ir.FLOAT: ir.DOT}
_RESULT = ir.Local("result" + _DOT, ir.DOTS)
_ZERO = ir.Literal(0.0, ir.DOT)
_SNAPPED = "rt_snapped"  # the kernel `rtcvt.numerics.elementary.snapped`
_LIBRARY = {"sqrt", "fabs", "floor", "ceil", _SNAPPED}


def add_tangents(program: ir.Program, entries: Sequence[str]) -> ir.Program:
    """The program with a function ``NAME_tangent`` for each kernel in `entries` and for the kernels that these call.

    Parameters
    ----------
    program : Program
        Translated kernels.
    entries : sequence of str
        C names of the kernels to differentiate. In the new functions each array and each float is followed by its
        companion; a float result's companion is written to a last array.
    """
    added: dict[str, ir.Function] = {}
    result = ir.Program(dict(program.functions), program.constants)
    for name in entries:
        _differentiate(program, name, added)
    result.functions.update(added)
    return result


def _differentiate(program: ir.Program, name: str, added: dict[str, ir.Function]) -> ir.Function:
    """The tangent of one kernel."""
    if name + _SUFFIX not in added:
        function = _Tangent(program, name, added).function()
        added[function.name] = function  # after the functions that it calls
    return added[name + _SUFFIX]


class _Tangent:
    """Differentiates one kernel."""

    def __init__(self, program: ir.Program, name: str, added: dict[str, ir.Function]) -> None:
        self.program, self.added = program, added
        self.original = program.functions[name]
        self.arrays = {p for p, kind in self.original.parameters if kind == ir.ARRAY}
        self.floats = {p for p, kind in self.original.parameters if kind == ir.FLOAT}
        self.ahead: list[ir.Statement] = []  # calls whose results the present statement needs
        self.calls = 0

    def function(self) -> ir.Function:
        before = -1
        while before < len(self.arrays) + len(self.floats):  # until no further variable depends on an active one
            before = len(self.arrays) + len(self.floats)
            self.spread(self.original.body)
        self.calls = 0
        parameters: list[tuple[str, str]] = []
        for name, kind in self.original.parameters:
            parameters.append((name, kind))
            if name in self.arrays or name in self.floats:
                parameters.append((name + _DOT, _COMPANION[kind]))
        if self.original.result == ir.FLOAT:
            parameters.append((_RESULT.name, ir.DOTS))
        name = self.original.name + _SUFFIX
        if (external := self.original.external) and external.dots:
            return ir.Function(name, "Its tangent.", tuple(parameters), self.original.result, (), external=external)
        body = _without_unread(tuple(self.block(self.original.body)), {name for name, _ in parameters})
        used = {part.name for s in self.original.body for part in ir.walk(s) if isinstance(part, ir.Local)}
        if any(n + _DOT in used for n in used):
            raise ir.TranslationError(f"{self.original.name}: a variable ends in {_DOT}")
        comment = f"Tangent of {self.original.name}."
        return ir.Function(name, comment, tuple(parameters), self.original.result, body)

    # which variables depend on active ones

    def spread(self, body: Sequence[ir.Statement]) -> None:
        for s in body:
            if isinstance(s, ir.Assign) and isinstance(s.target, ir.Local):
                if s.target.type == ir.ARRAY and self.is_active(s.value):
                    self.arrays.add(s.target.name)
                elif s.target.type == ir.FLOAT and self.is_active(s.value):
                    self.floats.add(s.target.name)
            elif isinstance(s, ir.If):
                self.spread(s.body)
                self.spread(s.orelse)
            elif isinstance(s, ir.For):
                self.spread(s.body)

    def is_active(self, e: ir.Expression) -> bool:
        if isinstance(e, ir.Local):
            return e.name in self.arrays or e.name in self.floats
        return e.type not in (ir.INT, ir.BOOL) and any(map(self.is_active, ir.children(e)))

    # statements

    def block(self, body: Sequence[ir.Statement]) -> Iterator[ir.Statement]:
        for s in body:
            outer, self.ahead = self.ahead, []
            new = tuple(self.statement(s))
            yield from self.ahead
            self.ahead = outer
            yield from new

    def statement(self, s: ir.Statement) -> Iterator[ir.Statement]:
        if isinstance(s, ir.Assign):
            yield from self.assignment(s)
        elif isinstance(s, ir.Evaluate):
            yield ir.Evaluate(self.value(s.call))
        elif isinstance(s, ir.Return):
            value = None if s.value is None else self.value(s.value)
            if s.value is not None and s.value.type == ir.FLOAT:
                yield ir.Assign(ir.Item(_RESULT, ir.Literal(0, ir.INT), ir.DOT), "=", self.dot(value) or _ZERO)
            yield ir.Return(value)
        elif isinstance(s, ir.If):
            test = self.value(s.test)
            yield ir.If(test, tuple(self.block(s.body)), tuple(self.block(s.orelse)))
        elif isinstance(s, ir.For):
            yield ir.For(s.name, self.value(s.start), self.value(s.stop), s.step, tuple(self.block(s.body)))
        else:
            yield s

    def assignment(self, s: ir.Assign) -> Iterator[ir.Statement]:
        into, of = s.target, s.value
        if s.op == "=" and isinstance(into, ir.Local) and isinstance(of, ir.Call) and of.function not in _LIBRARY:
            call = self.call(of, into.name)
            if into.name in self.floats and isinstance(call, ir.Call) and not call.function.endswith(_SUFFIX):
                yield ir.Assign(ir.Local(into.name + _DOT, ir.DOT), "=", _ZERO)
            yield ir.Assign(into, "=", call)
            return
        value, target = self.value(s.value), self.value(s.target)
        assert isinstance(target, ir.Local | ir.Item)
        if self.is_active(target):
            if target.type == ir.ARRAY:
                yield ir.Assign(self.companion(target), "=", self.array_dot(value))
            else:
                yield from self.chain_rule(target, s.op, value)
        yield ir.Assign(target, s.op, value)

    def chain_rule(self, target: ir.Local | ir.Item, op: str, value: ir.Expression) -> Iterator[ir.Statement]:
        own, dot = self.companion(target), self.dot(value)
        if op == "=":
            yield ir.Assign(own, "=", dot or _ZERO)
        elif op in ("+=", "-="):
            if dot is not None:
                yield ir.Assign(own, op, dot)
        else:
            yield ir.Assign(own, "=", self.dot(ir.Binary(op[0], target, value, ir.FLOAT)) or _ZERO)

    def companion(self, target: ir.Local | ir.Item) -> ir.Local | ir.Item:
        if isinstance(target, ir.Local):
            return ir.Local(target.name + _DOT, _COMPANION[target.type])
        return ir.Item(self.array_dot(target.array), target.index, ir.DOT)

    def array_dot(self, e: ir.Expression) -> ir.Expression:
        if isinstance(e, ir.Local):
            return ir.Local(e.name + _DOT, ir.DOTS)
        assert isinstance(e, ir.View)
        return ir.View(self.array_dot(e.array), e.offset, ir.DOTS)

    # expressions

    def value(self, e: ir.Expression) -> ir.Expression:
        """The expression with calls replaced by their tangents."""
        if isinstance(e, ir.Call) and e.function not in _LIBRARY:
            return self.call(e)
        if isinstance(e, ir.Binary):
            a = self.value(e.a)
            if e.op in ("&&", "||"):
                return ir.Binary(e.op, *self.guarded(a, e.b, e.op == "&&"), e.type)
            b = self.value(e.b)
            return self.equality(e.op, a, b) if e.op in ("==", "!=") else ir.Binary(e.op, a, b, e.type)
        if isinstance(e, ir.Choice):
            test, a = self.guarded(self.value(e.test), e.a, True)
            test, b = self.guarded(test, e.b, False)
            return ir.Choice(test, a, b, e.type)
        return cast(ir.Expression, ir.rebuilt(e, self.value))

    def guarded(self, test: ir.Expression, e: ir.Expression, wanted: bool) -> tuple[ir.Expression, ir.Expression]:
        """The test and the value of an expression whose calls are made only if the test has the `wanted` result."""
        outer, self.ahead = self.ahead, []
        value = self.value(e)
        inner, self.ahead = tuple(self.ahead), outer
        if inner:
            self.calls += 1
            kept = ir.Local(f"call_{self.calls}", ir.BOOL)
            starts = {s.target.name for s in inner if isinstance(s, ir.Assign) and isinstance(s.target, ir.Local)}
            for name in sorted(starts & self.floats):
                self.ahead += [ir.Assign(ir.Local(name, ir.FLOAT), "=", ir.Literal(0.0, ir.FLOAT)),
                               ir.Assign(ir.Local(name + _DOT, ir.DOT), "=", _ZERO)]  # fmt: skip
            self.ahead += [
                ir.Assign(kept, "=", test),
                ir.If(kept if wanted else ir.Unary("!", kept, ir.BOOL), inner, ()),
            ]
            test = kept
        return test, value

    def equality(self, op: str, a: ir.Expression, b: ir.Expression) -> ir.Expression:
        da, db = self.dot(a), self.dot(b)
        if da is None and db is None:
            return ir.Binary(op, a, b, ir.BOOL)
        same = ir.Binary(
            "&&", ir.Binary("==", a, b, ir.BOOL), ir.Call("dots_equal", (da or _ZERO, db or _ZERO), ir.BOOL), ir.BOOL
        )
        return same if op == "==" else ir.Unary("!", same, ir.BOOL)

    def call(self, e: ir.Call, into: str | None = None) -> ir.Expression:
        """The call with companions; a float result is assigned to a variable before the statement, unless it is stored
        to `into`."""
        values = tuple(self.value(a) for a in e.arguments)
        called = self.program.functions[e.function]
        dots = [self.dot(a) if a.type == ir.FLOAT else None for a in values]
        if all(d is None for d in dots) and not any(kind == ir.ARRAY for _, kind in called.parameters):
            return ir.Call(e.function, values, e.type)
        tangent = _differentiate(self.program, e.function, self.added)
        arguments: list[ir.Expression] = []
        for (_, kind), a, d in zip(called.parameters, values, dots, strict=True):
            arguments.append(a)
            if kind == ir.ARRAY:
                arguments.append(self.array_dot(a))
            elif kind == ir.FLOAT:
                arguments.append(d or _ZERO)
        if e.type in (ir.NOTHING, ir.INT, ir.BOOL):
            return ir.Call(tangent.name, tuple(arguments), e.type)
        if into is not None:
            return ir.Call(tangent.name, (*arguments, ir.Address(into + _DOT)), ir.FLOAT)
        self.calls += 1
        result = ir.Local(f"call_{self.calls}", ir.FLOAT)
        self.floats.add(result.name)
        arguments.append(ir.Address(result.name + _DOT))
        self.ahead.append(ir.Assign(result, "=", ir.Call(tangent.name, tuple(arguments), ir.FLOAT)))
        return result

    def dot(self, e: ir.Expression | None) -> ir.Expression | None:
        """Derivative of an expression whose calls are replaced; None is zero."""
        if e is None or not self.is_active(e):
            return None
        if isinstance(e, ir.Local):
            return ir.Local(e.name + _DOT, ir.DOT)
        if isinstance(e, ir.Item):
            return ir.Item(self.array_dot(e.array), e.index, ir.DOT)
        if isinstance(e, ir.Unary):
            return _minus(self.dot(e.a))
        if isinstance(e, ir.Choice):
            return ir.Choice(self.along(e), self.dot(e.a) or _ZERO, self.dot(e.b) or _ZERO, ir.DOT)
        if isinstance(e, ir.Call):
            a = e.arguments[0]
            da = self.dot(a)
            if e.function == _SNAPPED or da is None:
                return da
            nothing = ir.Literal(0.0, ir.FLOAT)
            if e.function == "sqrt":
                slope = ir.Binary("/", ir.Binary("*", ir.Literal(0.5, ir.FLOAT), da, ir.DOT), e, ir.DOT)
                return ir.Choice(ir.Binary(">", a, nothing, ir.BOOL), slope, _ZERO, ir.DOT)  # at 0 no 0/0
            if e.function == "fabs":
                below = ir.Binary("<", a, nothing, ir.BOOL)
                return self.dot(ir.Choice(below, ir.Unary("-", a, ir.FLOAT), a, ir.FLOAT))
            return None  # floor and ceil
        assert isinstance(e, ir.Binary)
        return self.binary(e)

    def along(self, e: ir.Choice) -> ir.Expression:
        """Which of two values is taken along the direction, where they are equal."""
        c, d = (e.test.a, e.test.b) if isinstance(e.test, ir.Binary) else (e.test, e.test)
        if not isinstance(e.test, ir.Binary) or e.test.op not in ("<", "<=", ">", ">=") or c.type != ir.FLOAT:
            return e.test
        if e.test.op in (">", ">="):
            c, d = d, c
        dots = self.dot(c), self.dot(d)
        if dots == (None, None):
            return e.test
        tie = ir.Binary("&&", ir.Binary("==", c, d, ir.BOOL), ir.Binary("==", e.a, e.b, ir.BOOL), ir.BOOL)
        below = ir.Call("dots_below", (e.test, dots[0] or _ZERO, dots[1] or _ZERO), ir.BOOL)
        return ir.Choice(tie, below, e.test, ir.BOOL)

    def binary(self, e: ir.Binary) -> ir.Expression | None:
        da, db = self.dot(e.a), self.dot(e.b)
        if e.op in ("+", "-"):
            return _sum(e.op, da, db)
        if e.op == "*":
            left = None if da is None else ir.Binary("*", da, e.b, ir.FLOAT)
            right = None if db is None else ir.Binary("*", e.a, db, ir.FLOAT)
            return _sum("+", left, right)
        change = None if db is None else ir.Binary("*", e, db, ir.FLOAT)
        numerator = _sum("-", da, change)
        return None if numerator is None else ir.Binary("/", numerator, e.b, ir.FLOAT)


def _without_unread(body: tuple[ir.Statement, ...], parameters: set[str]) -> tuple[ir.Statement, ...]:
    """The block without companions that nothing reads, such as those of numbers that are only compared."""
    while True:
        assigned: set[str] = set()
        read: set[str] = set()
        for part in (p for s in body for p in ir.walk(s)):
            if isinstance(part, ir.Statement):
                target = part.target if isinstance(part, ir.Assign) else None
                own = {target.name} if isinstance(target, ir.Local) else set()
                assigned |= own
                heads = (e for e in vars(part).values() if isinstance(e, ir.Expression))
                read |= {p.name for e in heads for p in ir.walk(e) if isinstance(p, ir.Local | ir.Address)} - own
        dead = {name for name in assigned - read - parameters if name.endswith(_DOT)}
        if not dead:
            return body
        body = tuple(_dropped(body, dead))


def _dropped(body: Sequence[ir.Statement], dead: set[str]) -> Iterator[ir.Statement]:
    for s in body:
        if isinstance(s, ir.If):
            yield ir.If(s.test, tuple(_dropped(s.body, dead)), tuple(_dropped(s.orelse, dead)))
        elif isinstance(s, ir.For):
            yield ir.For(s.name, s.start, s.stop, s.step, tuple(_dropped(s.body, dead)))
        elif not (isinstance(s, ir.Assign) and isinstance(s.target, ir.Local) and s.target.name in dead):
            yield s


def _minus(e: ir.Expression | None) -> ir.Expression | None:
    return None if e is None else ir.Unary("-", e, ir.FLOAT)


def _sum(op: str, a: ir.Expression | None, b: ir.Expression | None) -> ir.Expression | None:
    if b is None:
        return a
    if a is None:
        return b if op == "+" else _minus(b)
    return ir.Binary(op, a, b, ir.FLOAT)
