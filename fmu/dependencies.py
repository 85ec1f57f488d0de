"""Dependencies of outputs and state derivatives on inputs, states and parameters, proved by the kernels' text.

The kernels' typed trees (`rtcvt.fmu.translate`) are run with sets in place of numbers. Every number carries the set of
variables that it may depend on, and its value if that follows from the unit's constants alone. A test on a known value
selects its branch. For any other test both branches are run: what either writes may be the result, and depends on the
test too. So nothing ever depends on a variable that its set does not contain, for any values; sets may contain too
many. Zero times anything is zero. Paths on which a kernel fails are left out.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

from rtcvt.fmu import translate as ir
from rtcvt.model import Model

Known = float | int | frozenset[float | int] | None  # the value, or one of few values, if it follows from the constants
Number = tuple[int, Known]  # a bit for each variable on which it may depend
Sets = tuple[frozenset[int], ...]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "&": operator.and_,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_MAX_KNOWN_VALUES = 24  # values that a number may have and still be known


@dataclass(frozen=True)
class Dependencies:
    """By place of the unknown: places of the states, then of the inputs (+ n_x), of the parameters (+ n_x + n_u) and of
    the time (+ n_x + n_u + n_p).

    `outputs` and `derivatives` are those at any time. `start_states`, `start_outputs` and
    `start_derivatives` are those after initialisation, which no states enter.
    """

    outputs: Sets
    derivatives: Sets
    start_states: Sets
    start_outputs: Sets
    start_derivatives: Sets


def dependencies(model: Model) -> Dependencies:
    """Dependencies of all outputs and state derivatives of a model, at any time and at its start.

    Parameters
    ----------
    model : Model
        Its constants decide; states, inputs and parameters may have any value.

    Raises
    ------
    TranslationError
        A kernel is outside the subset that becomes C, or gives one name to two arrays by such a value.
    """
    n_x, n_u, n_y = len(model.states), len(model.select("input")), len(model.select("output"))
    arrays = [ir.ARRAY] * 3
    kernels: dict[str, Any] = {"output": (model.output, [ir.FLOAT, *arrays, ir.CONSTANTS, ir.ARRAY, ir.ARRAY])}
    if not model.algebraic:
        kernels |= {
            "initialise": (model.initialise, [ir.ARRAY, ir.CONSTANTS, *arrays]),
            "derivative": (model.derivative, [ir.FLOAT, *arrays, ir.CONSTANTS, ir.ARRAY, ir.ARRAY]),
        }
    program = ir.lower(kernels)
    data = tuple(model.data.tolist())

    def numbers(n: int, first: int | None = None) -> list[Number]:
        return [(0 if first is None else 1 << (first + i), None) for i in range(n)]

    def started(p: list[Number], u: list[Number]) -> tuple[list[Number], list[Number]]:
        x: list[Number] = [(0, 0.0)] * n_x
        work: list[Number] = [(0, 0.0)] * model.n_work
        _Run(program).call("initialise", [(a, 0) for a in (p, data, u, x, work)])
        return x, work

    def evaluated(x: list[Number], u: list[Number], p: list[Number], work: list[Number]) -> list[Sets]:
        found = []
        for name, n in (("output", n_y), ("derivative", n_x)):
            if name not in kernels:
                continue
            result: list[Number] = [(0, 0.0)] * n
            arrays = [(a, 0) for a in (x, u, p, data, result, list(work))]
            _Run(program).call(name, [(1 << (n_x + n_u + len(model.p)), None), *arrays])
            found.append(_sets(result))
        return found

    x, u, p = numbers(n_x, 0), numbers(n_u, n_x), numbers(len(model.p), n_x + n_u)
    if model.algebraic:  # start states and rates are solved for at once
        (outputs,) = evaluated(x, u, p, [(sum(mask for mask, _ in p), None)] * model.n_work)
        now, start = (frozenset(range(first, n_x + n_u + len(model.p))) for first in (0, n_x))
        return Dependencies(outputs, (now,) * n_x, *((start,) * n for n in (n_x, n_y, n_x)))
    _, work = started(p, numbers(n_u))
    outputs, derivatives = evaluated(x, u, p, work)
    x, work = started(p, u)
    if model.foreign:  # FMUs start with what others give them
        x = [(sum(mask for mask, _ in (*p, *u)), None) for _ in x]
    return Dependencies(outputs, derivatives, _sets(x), *evaluated(x, u, p, work))


def _sets(values: Sequence[Number]) -> Sets:
    return tuple(frozenset(i for i in range(mask.bit_length()) if mask >> i & 1) for mask, _ in values)


def _either(a: Any, b: Any) -> Any:
    if isinstance(a[0], int) and isinstance(b[0], int):
        if a[1] is None or b[1] is None:
            return a[0] | b[0], None
        return a[0] | b[0], a[1] if a[1] == b[1] else _known(_values(a[1]) | _values(b[1]))
    if a[0] is b[0] and a[1] == b[1]:
        return a
    raise ir.TranslationError("an array that is one or another by a test that is not on constants: name its elements")


def _values(known: float | int | frozenset[float | int]) -> frozenset[float | int]:
    return known if isinstance(known, frozenset) else frozenset([known])


def _known(values: frozenset[float | int]) -> Known:
    return next(iter(values)) if len(values) == 1 else values if len(values) <= _MAX_KNOWN_VALUES else None


def _each(operation: Callable[..., Any], *known: Known) -> Known:
    """Result of an operation on known numbers."""
    if any(k is None for k in known):
        return None
    try:
        if not any(isinstance(k, frozenset) for k in known):
            return operation(*known)
        return _known(frozenset(operation(*v) for v in product(*(_values(k) for k in known if k is not None))))
    except (ArithmeticError, ValueError):
        return None


class _Run:
    """Runs kernels with sets.

    A place is an element of an array or a variable of a call: its home, a list or dict, and its key there. A view is
    an array and the place where it begins. A block ends in one or several of the ways "end", "return", "break",
    "continue"; in none if it fails.
    """

    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.logs: list[dict[tuple[int, Any], tuple[Any, Any, Any]]] = []  # former contents of places, by branch
        self.left: dict[str, list[list[tuple[Any, Any, Any]]]] = {}  # contents of places where a block is left early
        self.loose = 0  # above 0 the block may have been left before: places keep former contents, too
        self.test = 0  # variables that decide whether a statement is run
        self.variables: dict[str, Any] = {}
        self.result: Number | None = None

    def call(self, name: str, arguments: Sequence[Any]) -> Number:
        """Run a kernel; returns its result."""
        function = self.program.functions[name]
        kept = self.variables, self.result, self.left, self.test, self.loose
        self.variables = dict(zip((n for n, _ in function.parameters), arguments, strict=True))
        self.result, self.left = None, {}
        self.block(function.body)
        self.rejoin("return")
        result = self.result
        self.variables, self.result, self.left, self.test, self.loose = kept
        return (0, None) if result is None else result

    # places

    def write(self, home: Any, key: Any, value: Any) -> None:
        """Store at a place."""
        old = home.get(key) if isinstance(home, dict) else home[key]
        if isinstance(value[0], int):
            value = value[0] | self.test, value[1]
        if self.loose and old is not None:
            value = _either(old, value)
        self.put(home, key, old, value)

    def put(self, home: Any, key: Any, old: Any, value: Any) -> None:
        if value != old:
            if self.logs:
                self.logs[-1].setdefault((id(home), key), (home, key, old))
            home[key] = value

    def join(self, changes: Sequence[tuple[Any, Any, Any]]) -> None:
        """Places may hold these values instead."""
        for home, key, value in changes:
            old = home.get(key) if isinstance(home, dict) else home[key]
            self.put(home, key, old, value if old is None else _either(old, value))

    def rejoin(self, way: str) -> None:
        """Continue here from all places that were left this way."""
        for changes in self.left.pop(way, []):
            self.join(changes)

    # statements

    def block(self, body: Sequence[ir.Statement]) -> set[str]:
        """Run statements; returns the ways in which they end."""
        found: set[str] = set()
        loosened = 0
        for s in body:
            ways = self.statement(s)
            found |= ways - {"end"}
            if "end" not in ways:
                break
            if len(ways) > 1:
                loosened += 1
                self.loose += 1
        else:
            found.add("end")
        self.loose -= loosened
        return found

    def statement(self, s: ir.Statement) -> set[str]:
        if isinstance(s, ir.Assign):
            value = self.value(s.value)
            if s.op != "=":
                value = self.binary(s.op[0], self.value(s.target), value)
            self.assign(s.target, value)
        elif isinstance(s, ir.Evaluate):
            self.value(s.call)
        elif isinstance(s, ir.If):
            return self.branches(s)
        elif isinstance(s, ir.For):
            return self.loop(s)
        elif isinstance(s, ir.Jump):
            return {s.word}
        elif isinstance(s, ir.Return):
            if isinstance(s.value, ir.Global) and s.value.name.endswith("FAILED"):
                return set()
            if s.value is not None:
                depends, value = self.value(s.value)
                new = depends | self.test, value
                self.result = new if self.result is None else _either(self.result, new)
            return {"return"}
        return {"end"}

    def assign(self, target: ir.Local | ir.Item, value: Any) -> None:
        if isinstance(target, ir.Local):
            self.write(self.variables, target.name, value)
            return
        array, first = self.value(target.array)
        depends, at = self.value(target.index)
        places = _places(array, first, at)
        self.loose += len(places) > 1
        for k in places:
            self.write(array, k, (value[0] | depends, value[1]))
        self.loose -= len(places) > 1

    def branches(self, s: ir.If) -> set[str]:
        depends, known = self.value(s.test)
        if isinstance(known, bool):
            return self.block(s.body if known else s.orelse)
        before = self.test
        self.test |= depends
        ended, found, reached = [], set[str](), self.test
        for block in (s.body, s.orelse):
            ways, changes = self.tried(block)
            reached |= self.test
            found |= ways
            if "end" in ways:
                ended.append(changes)
            else:
                for way in ways:
                    self.left.setdefault(way, []).append(list(changes.values()))
        self.test = reached if found - {"end"} else before
        for place in dict.fromkeys(p for changes in ended for p in changes):
            home, key, _ = next(changes[place] for changes in ended if place in changes)
            old = home.get(key) if isinstance(home, dict) else home[key]
            values = [changes[place][2] if place in changes else old for changes in ended]
            values = [v for v in values if v is not None]  # a variable that only one branch has
            self.put(home, key, old, values[0] if len(values) == 1 else _either(*values))
        return found

    def tried(self, body: Sequence[ir.Statement]) -> tuple[set[str], dict[tuple[int, Any], tuple[Any, Any, Any]]]:
        """Run a block and undo its changes; returns the ways in which it ends and the changes."""
        self.logs.append({})
        ways = self.block(body)
        changes = {}
        for place, (home, key, old) in self.logs.pop().items():
            changes[place] = home, key, home[key]
            if old is None and isinstance(home, dict):
                del home[key]
            else:
                home[key] = old
        return ways, changes

    def loop(self, s: ir.For) -> set[str]:
        (a, start), (b, stop) = self.value(s.start), self.value(s.stop)
        found: set[str] = set()
        loose, test = self.loose, self.test
        if isinstance(start, int) and isinstance(stop, int):
            for i in range(start, stop, s.step):
                self.variables[s.name] = (a | b, i)
                ways = self.turn(s.body)
                found |= ways
                if not ways & {"end", "continue"}:
                    break
                if ways & {"break", "return"}:
                    self.loose += 1
        else:
            self.test |= a | b
            self.loose += 1
            changed = True
            while changed:  # sets only grow
                self.variables[s.name] = (a | b, None)
                self.logs.append({})
                found |= self.turn(s.body)
                log = self.logs.pop()
                changed = any(home[key] != old for home, key, old in log.values())
                for place, change in log.items():
                    if self.logs:
                        self.logs[-1].setdefault(place, change)
        self.loose = loose
        if "return" not in found:
            self.test = test
        self.rejoin("break")
        return {"end"} | (found & {"return"})

    def turn(self, body: Sequence[ir.Statement]) -> set[str]:
        ways = self.block(body)
        self.rejoin("continue")
        return ways

    # expressions

    def value(self, e: ir.Expression) -> Any:
        if isinstance(e, ir.Local):
            return self.variables[e.name]
        if isinstance(e, ir.Item):
            return self.item(*self.value(e.array), *self.value(e.index))
        if isinstance(e, ir.Binary):
            return self.binary(e.op, self.value(e.a), self.value(e.b))
        if isinstance(e, ir.Literal):
            return 0, e.value
        if isinstance(e, ir.Global):
            return 0, self.program.constants[e.name]
        if isinstance(e, ir.Unary):
            depends, a = self.value(e.a)
            return depends, _each(operator.neg if e.op == "-" else operator.not_, a)
        if isinstance(e, ir.Cast):
            depends, a = self.value(e.a)
            if e.type == ir.SINGLES:  # their values are not known here
                return depends, None
            return depends, _each(float if e.type == ir.FLOAT else int, a)
        if isinstance(e, ir.View):
            (array, first), (_, offset) = self.value(e.array), self.value(e.offset)
            return array, first + offset if isinstance(first, int) and isinstance(offset, int) else None
        if isinstance(e, ir.Choice):
            depends, test = self.value(e.test)
            if isinstance(test, bool):
                return self.value(e.a if test else e.b)
            found = _either(self.value(e.a), self.value(e.b))
            return (depends | found[0], found[1]) if isinstance(found[0], int) else found
        assert isinstance(e, ir.Call)
        arguments = [self.value(a) for a in e.arguments]
        if e.function in self.program.functions:
            return self.call(e.function, arguments)
        depends, a = arguments[0]
        return depends, _each(getattr(math, e.function), a)

    def item(self, array: Any, first: int | None, depends: int, index: Known) -> Number:
        if isinstance(array, tuple):
            if first is None or index is None:
                return depends, None
            return depends, _each(lambda i: array[first + i], index)
        found = [array[k] for k in _places(array, first, index)]
        return reduce(_either, found, (depends | found[0][0], found[0][1]))

    def binary(self, op: str, a: Number, b: Number) -> Number:
        depends = a[0] | b[0]
        if op in ("&&", "||"):
            decides = op == "||"
            for v in (a, b):
                if v[1] is decides:
                    return v
            return depends, not decides if a[1] is b[1] is (not decides) else None
        zero = a[1] == 0 and op in "*/", b[1] == 0 and op == "*"
        if any(zero):
            return 0, a[1] if zero[0] else b[1]
        return depends, _each(_OPERATORS[op], a[1], b[1])


def _places(array: list[Number], first: int | None, index: Known) -> Sequence[int]:
    """Elements that an element of a view may be."""
    if first is None or index is None:
        return range(first or 0, len(array))
    return [first + int(i) for i in _values(index)]
