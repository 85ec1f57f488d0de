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

from rtcvt.fmu.translate import (
    ARRAY,
    BOOL,
    DOT,
    DOTS,
    FLOAT,
    INT,
    NOTHING,
    Address,
    Assign,
    Binary,
    Call,
    Cast,
    Choice,
    Evaluate,
    Expression,
    For,
    Function,
    If,
    Item,
    Literal,
    Local,
    Program,
    Return,
    Statement,
    TranslationError,
    Unary,
    View,
    walk,
)

_SUFFIX = "_tangent"  # of functions
_DOT = "_dot"  # of variables
_COMPANION = {ARRAY: DOTS, FLOAT: DOT}
_RESULT = Local("result" + _DOT, DOTS)
_ZERO = Literal(0.0, DOT)
_SNAPPED = "rt_snapped"  # the kernel `rtcvt.numerics.elementary.snapped`
_LIBRARY = {"sqrt", "fabs", "floor", "ceil", _SNAPPED}


def add_tangents(program: Program, entries: Sequence[str]) -> Program:
    """The program with a function ``NAME_tangent`` for each kernel in `entries` and for the kernels that these call.

    Parameters
    ----------
    program : Program
        Translated kernels.
    entries : sequence of str
        C names of the kernels to differentiate. In the new functions each array and each float is followed by its
        companion; a float result's companion is written to a last array.
    """
    added: dict[str, Function] = {}
    result = Program(dict(program.functions), program.constants)
    for name in entries:
        _differentiate(program, name, added)
    result.functions.update(added)
    return result


def _differentiate(program: Program, name: str, added: dict[str, Function]) -> Function:
    """The tangent of one kernel."""
    if name + _SUFFIX not in added:
        function = _Tangent(program, name, added).function()
        added[function.name] = function  # after the functions that it calls
    return added[name + _SUFFIX]


class _Tangent:
    """Differentiates one kernel."""

    def __init__(self, program: Program, name: str, added: dict[str, Function]) -> None:
        self.program, self.added = program, added
        self.original = program.functions[name]
        self.arrays = {p for p, kind in self.original.parameters if kind == ARRAY}
        self.floats = {p for p, kind in self.original.parameters if kind == FLOAT}
        self.ahead: list[Statement] = []  # calls whose results the present statement needs
        self.calls = 0

    def function(self) -> Function:
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
        if self.original.result == FLOAT:
            parameters.append((_RESULT.name, DOTS))
        name = self.original.name + _SUFFIX
        if (external := self.original.external) and external.dots:
            return Function(name, "Its tangent.", tuple(parameters), self.original.result, (), external=external)
        body = _without_unread(tuple(self.block(self.original.body)), {name for name, _ in parameters})
        used = {part.name for s in self.original.body for part in walk(s) if isinstance(part, Local)}
        if any(n + _DOT in used for n in used):
            raise TranslationError(f"{self.original.name}: a variable ends in {_DOT}")
        comment = f"Tangent of {self.original.name}."
        return Function(name, comment, tuple(parameters), self.original.result, body)

    # which variables depend on active ones

    def spread(self, body: Sequence[Statement]) -> None:
        for s in body:
            if isinstance(s, Assign) and isinstance(s.target, Local):
                if s.target.type == ARRAY and self.is_active(s.value):
                    self.arrays.add(s.target.name)
                elif s.target.type == FLOAT and self.is_active(s.value):
                    self.floats.add(s.target.name)
            elif isinstance(s, If):
                self.spread(s.body)
                self.spread(s.orelse)
            elif isinstance(s, For):
                self.spread(s.body)

    def is_active(self, e: Expression) -> bool:
        if isinstance(e, Local):
            return e.name in self.arrays or e.name in self.floats
        if e.type in (INT, BOOL):
            return False
        if isinstance(e, Item | View):
            return self.is_active(e.array)
        if isinstance(e, Choice):
            return self.is_active(e.a) or self.is_active(e.b)
        return any(self.is_active(part) for part in vars_of(e))

    # statements

    def block(self, body: Sequence[Statement]) -> Iterator[Statement]:
        for s in body:
            outer, self.ahead = self.ahead, []
            new = tuple(self.statement(s))
            yield from self.ahead
            self.ahead = outer
            yield from new

    def statement(self, s: Statement) -> Iterator[Statement]:
        if isinstance(s, Assign):
            yield from self.assignment(s)
        elif isinstance(s, Evaluate):
            yield Evaluate(self.value(s.call))
        elif isinstance(s, Return):
            value = None if s.value is None else self.value(s.value)
            if s.value is not None and s.value.type == FLOAT:
                yield Assign(Item(_RESULT, Literal(0, INT), DOT), "=", self.dot(value) or _ZERO)
            yield Return(value)
        elif isinstance(s, If):
            test = self.value(s.test)
            yield If(test, tuple(self.block(s.body)), tuple(self.block(s.orelse)))
        elif isinstance(s, For):
            yield For(s.name, self.value(s.start), self.value(s.stop), s.step, tuple(self.block(s.body)))
        else:
            yield s

    def assignment(self, s: Assign) -> Iterator[Statement]:
        if (
            isinstance(s.target, Local)
            and isinstance(s.value, Call)
            and s.value.function not in _LIBRARY
            and s.op == "="
        ):
            call = self.call(s.value, s.target.name)
            if s.target.name in self.floats and isinstance(call, Call) and not call.function.endswith(_SUFFIX):
                yield Assign(Local(s.target.name + _DOT, DOT), "=", _ZERO)
            yield Assign(s.target, "=", call)
            return
        value, target = self.value(s.value), self.value(s.target)
        assert isinstance(target, Local | Item)
        if self.is_active(target):
            if target.type == ARRAY:
                yield Assign(self.companion(target), "=", self.array_dot(value))
            else:
                yield from self.chain_rule(target, s.op, value)
        yield Assign(target, s.op, value)

    def chain_rule(self, target: Local | Item, op: str, value: Expression) -> Iterator[Statement]:
        own, dot = self.companion(target), self.dot(value)
        if op == "=":
            yield Assign(own, "=", dot or _ZERO)
        elif op in ("+=", "-="):
            if dot is not None:
                yield Assign(own, op, dot)
        else:
            yield Assign(own, "=", self.dot(Binary(op[0], target, value, FLOAT)) or _ZERO)

    def companion(self, target: Local | Item) -> Local | Item:
        if isinstance(target, Local):
            return Local(target.name + _DOT, _COMPANION[target.type])
        return Item(self.array_dot(target.array), target.index, DOT)

    def array_dot(self, e: Expression) -> Expression:
        if isinstance(e, Local):
            return Local(e.name + _DOT, DOTS)
        assert isinstance(e, View)
        return View(self.array_dot(e.array), e.offset, DOTS)

    # expressions

    def value(self, e: Expression) -> Expression:
        """The expression with calls replaced by their tangents."""
        if isinstance(e, Call) and e.function not in _LIBRARY:
            return self.call(e)
        if isinstance(e, Binary):
            a = self.value(e.a)
            if e.op in ("&&", "||"):
                return Binary(e.op, *self.guarded(a, e.b, e.op == "&&"), e.type)
            b = self.value(e.b)
            return self.equality(e.op, a, b) if e.op in ("==", "!=") else Binary(e.op, a, b, e.type)
        if isinstance(e, Choice):
            test, a = self.guarded(self.value(e.test), e.a, True)
            test, b = self.guarded(test, e.b, False)
            return Choice(test, a, b, e.type)
        if isinstance(e, Item):
            return Item(self.value(e.array), self.value(e.index))
        if isinstance(e, View):
            return View(self.value(e.array), self.value(e.offset), e.type)
        if isinstance(e, Call):
            return Call(e.function, tuple(self.value(a) for a in e.arguments), e.type)
        if isinstance(e, Unary):
            return Unary(e.op, self.value(e.a), e.type)
        if isinstance(e, Cast):
            return Cast(self.value(e.a), e.type)
        return e

    def guarded(self, test: Expression, e: Expression, wanted: bool) -> tuple[Expression, Expression]:
        """The test and the value of an expression whose calls are made only if the test has the `wanted` result."""
        outer, self.ahead = self.ahead, []
        value = self.value(e)
        inner, self.ahead = tuple(self.ahead), outer
        if inner:
            self.calls += 1
            kept = Local(f"call_{self.calls}", BOOL)
            starts = {s.target.name for s in inner if isinstance(s, Assign) and isinstance(s.target, Local)}
            for name in sorted(starts & self.floats):
                self.ahead += [Assign(Local(name, FLOAT), "=", Literal(0.0, FLOAT)),
                               Assign(Local(name + _DOT, DOT), "=", _ZERO)]  # fmt: skip
            self.ahead += [Assign(kept, "=", test), If(kept if wanted else Unary("!", kept, BOOL), inner, ())]
            test = kept
        return test, value

    def equality(self, op: str, a: Expression, b: Expression) -> Expression:
        da, db = self.dot(a), self.dot(b)
        if da is None and db is None:
            return Binary(op, a, b, BOOL)
        same = Binary("&&", Binary("==", a, b, BOOL), Call("dots_equal", (da or _ZERO, db or _ZERO), BOOL), BOOL)
        return same if op == "==" else Unary("!", same, BOOL)

    def call(self, e: Call, into: str | None = None) -> Expression:
        """The call with companions; a float result is assigned to a variable before the statement, unless it is stored
        to `into`."""
        values = tuple(self.value(a) for a in e.arguments)
        called = self.program.functions[e.function]
        dots = [self.dot(a) if a.type == FLOAT else None for a in values]
        if all(d is None for d in dots) and not any(kind == ARRAY for _, kind in called.parameters):
            return Call(e.function, values, e.type)
        tangent = _differentiate(self.program, e.function, self.added)
        arguments: list[Expression] = []
        for (_, kind), a, d in zip(called.parameters, values, dots, strict=True):
            arguments.append(a)
            if kind == ARRAY:
                arguments.append(self.array_dot(a))
            elif kind == FLOAT:
                arguments.append(d or _ZERO)
        if e.type in (NOTHING, INT, BOOL):
            return Call(tangent.name, tuple(arguments), e.type)
        if into is not None:
            return Call(tangent.name, (*arguments, Address(into + _DOT)), FLOAT)
        self.calls += 1
        result = Local(f"call_{self.calls}", FLOAT)
        self.floats.add(result.name)
        arguments.append(Address(result.name + _DOT))
        self.ahead.append(Assign(result, "=", Call(tangent.name, tuple(arguments), FLOAT)))
        return result

    def dot(self, e: Expression | None) -> Expression | None:
        """Derivative of an expression whose calls are replaced; None is zero."""
        if e is None or not self.is_active(e):
            return None
        if isinstance(e, Local):
            return Local(e.name + _DOT, DOT)
        if isinstance(e, Item):
            return Item(self.array_dot(e.array), e.index, DOT)
        if isinstance(e, Unary):
            return _minus(self.dot(e.a))
        if isinstance(e, Choice):
            return Choice(self.along(e), self.dot(e.a) or _ZERO, self.dot(e.b) or _ZERO, DOT)
        if isinstance(e, Call):
            a = e.arguments[0]
            da = self.dot(a)
            if e.function == _SNAPPED or da is None:
                return da
            if e.function == "sqrt":
                slope = Binary("/", Binary("*", Literal(0.5, FLOAT), da, DOT), e, DOT)
                return Choice(Binary(">", a, Literal(0.0, FLOAT), BOOL), slope, _ZERO, DOT)  # at 0 no 0/0
            if e.function == "fabs":
                return self.dot(Choice(Binary("<", a, Literal(0.0, FLOAT), BOOL), Unary("-", a, FLOAT), a, FLOAT))
            return None  # floor and ceil
        assert isinstance(e, Binary)
        return self.binary(e)

    def along(self, e: Choice) -> Expression:
        """Which of two values is taken along the direction, where they are equal."""
        c, d = (e.test.a, e.test.b) if isinstance(e.test, Binary) else (e.test, e.test)
        if not isinstance(e.test, Binary) or e.test.op not in ("<", "<=", ">", ">=") or c.type != FLOAT:
            return e.test
        if e.test.op in (">", ">="):
            c, d = d, c
        dots = self.dot(c), self.dot(d)
        if dots == (None, None):
            return e.test
        tie = Binary("&&", Binary("==", c, d, BOOL), Binary("==", e.a, e.b, BOOL), BOOL)
        below = Call("dots_below", (e.test, dots[0] or _ZERO, dots[1] or _ZERO), BOOL)
        return Choice(tie, below, e.test, BOOL)

    def binary(self, e: Binary) -> Expression | None:
        da, db = self.dot(e.a), self.dot(e.b)
        if e.op == "+":
            return _sum("+", da, db)
        if e.op == "-":
            return _sum("-", da, db)
        if e.op == "*":
            left = None if da is None else Binary("*", da, e.b, FLOAT)
            right = None if db is None else Binary("*", e.a, db, FLOAT)
            return _sum("+", left, right)
        change = None if db is None else Binary("*", e, db, FLOAT)
        numerator = _sum("-", da, change)
        return None if numerator is None else Binary("/", numerator, e.b, FLOAT)


def _without_unread(body: tuple[Statement, ...], parameters: set[str]) -> tuple[Statement, ...]:
    """The block without companions that nothing reads, such as those of numbers that are only compared."""
    while True:
        assigned: set[str] = set()
        read: set[str] = set()
        for part in (p for s in body for p in walk(s)):
            if isinstance(part, Assign) and isinstance(part.target, Local):
                own = part.target.name
                assigned.add(own)
                read |= {p.name for p in walk(part.value) if isinstance(p, Local | Address)} - {own}
            elif isinstance(part, Assign):
                read |= {p.name for e in (part.target, part.value) for p in walk(e) if isinstance(p, Local | Address)}
            elif isinstance(part, Evaluate | Return | If | For):
                heads = vars(part).values()
                expressions = (e for e in heads if isinstance(e, Expression))
                read |= {p.name for e in expressions for p in walk(e) if isinstance(p, Local | Address)}
        dead = {name for name in assigned - read - parameters if name.endswith(_DOT)}
        if not dead:
            return body
        body = tuple(_dropped(body, dead))


def _dropped(body: Sequence[Statement], dead: set[str]) -> Iterator[Statement]:
    for s in body:
        if isinstance(s, If):
            yield If(s.test, tuple(_dropped(s.body, dead)), tuple(_dropped(s.orelse, dead)))
        elif isinstance(s, For):
            yield For(s.name, s.start, s.stop, s.step, tuple(_dropped(s.body, dead)))
        elif not (isinstance(s, Assign) and isinstance(s.target, Local) and s.target.name in dead):
            yield s


def vars_of(e: Expression) -> Iterator[Expression]:
    """Expressions directly in an expression."""
    if isinstance(e, Call):
        yield from e.arguments
    elif isinstance(e, Binary):
        yield from (e.a, e.b)
    elif isinstance(e, Unary | Cast):
        yield e.a


def _minus(e: Expression | None) -> Expression | None:
    return None if e is None else Unary("-", e, FLOAT)


def _sum(op: str, a: Expression | None, b: Expression | None) -> Expression | None:
    if b is None:
        return a
    if a is None:
        return b if op == "+" else _minus(b)
    return Binary(op, a, b, FLOAT)
