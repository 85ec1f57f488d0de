"""Expressions in unit and scenario files: parsed through a whitelist, never evaluated as code.

Numbers, names, ``pi``, ``+ - * /``, integer powers up to 8, and ``sin``, ``cos``, ``tan``, ``sqrt``; signals over time
have ``min``, ``max`` and ``clip(x, low, high)``, too, which geometry has not, because it needs derivatives; speeds over
time have ``engine_order(speed, order, share)``, see `rtcvt.numerics.engine_order`. Laws have bounds, too, ``abs``,
``exp``, ``log``, ``a if b < c else d`` with ``and``, ``or``, ``not``, and ``lookup(table, x)`` or ``lookup(table, x,
y)``; a condition is a number, 1 or 0. An `Expression` is an immutable tree that folds constants while it is built. It
evaluates over anything that has arithmetic: floats, arrays, symbols.
"""

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from rtcvt.numerics.engine_order import pulsating

_FUNCTIONS = ("sin", "cos", "tan", "sqrt")
_LARGEST = 2000  # numbers, names and operations, powers and tan written out
_BOUNDS = {"min": 2, "max": 2, "clip": 3}  # numbers of arguments
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: "<", ast.GtE: "<="}  # the latter two with their sides exchanged
_ALLOWED = "numbers, names, pi, + - * /, integer powers up to 8, and sin, cos, tan, sqrt"
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "neg": operator.neg,
    "min": np.minimum, "max": np.maximum, "<": lambda a, b: np.where(a < b, 1.0, 0.0),
    "<=": lambda a, b: np.where(a <= b, 1.0, 0.0), "if": lambda test, a, b: np.where(test > 0.5, a, b),
}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """A node: ``number`` and ``name`` are leaves, the rest has one to three arguments."""

    op: str  # number, name, + - * /, neg, sin, cos, sqrt, min, max, engine_order, < <= if lookup
    args: tuple["Expression", ...] = ()
    leaf: float | str = 0.0  # number, name, or the table of a lookup
    size: int = field(init=False, compare=False, repr=False)  # nodes of the tree

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(a.size for a in self.args))

    @property
    def value(self) -> float | None:
        """The number, or None if it is not one."""
        return float(self.leaf) if self.op == "number" else None

    @property
    def names(self) -> frozenset[str]:
        """Every name that occurs."""
        if self.op == "name":
            return frozenset((str(self.leaf),))
        return frozenset().union(*(a.names for a in self.args))

    def has(self, op: str) -> bool:
        """Whether an operation occurs."""
        return self.op == op or any(a.has(op) for a in self.args)

    def __add__(self, other: "Expression") -> "Expression":
        if self.value == 0.0:
            return other
        return self if other.value == 0.0 else _binary("+", self, other)

    def __sub__(self, other: "Expression") -> "Expression":
        if self.value == 0.0:
            return -other
        return self if other.value == 0.0 else _binary("-", self, other)

    def __mul__(self, other: "Expression") -> "Expression":
        for a, b in ((self, other), (other, self)):
            if a.value == 0.0:
                return number(0.0)
            if a.value == 1.0:
                return b
            if a.value == -1.0:
                return -b
        return _binary("*", self, other)

    def __truediv__(self, other: "Expression") -> "Expression":
        if self.value == 0.0 or other.value == 1.0:
            return self
        return _binary("/", self, other)

    def __neg__(self) -> "Expression":
        if self.value is not None:
            return number(-self.value if self.value else 0.0)
        return self.args[0] if self.op == "neg" else Expression("neg", (self,))

    def apply(self, function: str) -> "Expression":
        """``function(self)`` for sin, cos, tan or sqrt; NaN where it is not real."""
        if function == "tan":
            return self.apply("sin") / self.apply("cos")
        if self.value is not None:
            return number(getattr(math, function)(self.value) if function != "sqrt" or self.value >= 0 else math.nan)
        return Expression(function, (self,))

    def evaluate(self, values: Mapping[str, Any], functions: Any = math) -> Any:
        """Value with `values` for the names and sin, cos, sqrt from `functions` (math, numpy or sympy)."""
        if self.op == "number":
            return self.leaf
        if self.op == "name":
            return values[str(self.leaf)]
        if self.op == "engine_order":
            speed, order, share = self.args
            return pulsating(speed, float(order.leaf), float(share.leaf), values["t"])
        a = [arg.evaluate(values, functions) for arg in self.args]
        if self.op == "lookup":
            return values[str(self.leaf)](*a)
        return (_OPERATIONS.get(self.op) or getattr(functions, self.op))(*a)

    def __str__(self) -> str:
        match self.op:
            case "number":
                return f"{self.leaf:.12g}"
            case "name":
                return str(self.leaf)
            case "neg":
                return f"-{_bracketed(self.args[0], '+-')}"
            case "<" | "<=":
                return f"({self.args[0]} {self.op} {self.args[1]})"
            case "if":
                return f"({self.args[1]} if {self.args[0]} else {self.args[2]})"
            case "lookup":
                return f"lookup({', '.join(map(str, (self.leaf, *self.args)))})"
            case "+" | "-" | "*" | "/":
                tight = self.op in "*/"
                left = _bracketed(self.args[0], "+-" if tight else "")
                right = _bracketed(self.args[1], "+-*/" if self.op == "/" else "+-" if self.op in "*-" else "")
                return f"{left}{self.op}{right}" if tight else f"{left} {self.op} {right}"
        return f"{self.op}({', '.join(map(str, self.args))})"


def _bracketed(node: Expression, loose: str) -> str:
    return f"({node})" if node.op in tuple(loose) or (loose and node.op == "neg") else str(node)


def _binary(op: str, a: Expression, b: Expression) -> Expression:
    node = Expression(op, (a, b))
    if a.value is not None and b.value is not None and not (op == "/" and b.value == 0.0):
        return number(float(node.evaluate({})))
    return node


def number(value: float) -> Expression:
    """A constant."""
    return Expression("number", leaf=float(value))


def name(text: str) -> Expression:
    """A parameter or variable."""
    return Expression("name", leaf=text)


def dimension(e: Expression, of: Mapping[str, float]) -> float:
    """Power of length, by those of the names, of which NaN and that of a plain sum of numbers may be any.

    Raises
    ------
    ValueError
        Terms of a sum have different ones, or a sine is of a length.
    """
    if not e.names:
        return math.nan
    if e.op == "name":
        return of[str(e.leaf)]
    if e.op in "*/":
        a, b = (dimension(arg, of) if arg.names else 0.0 for arg in e.args)
        return a + b if e.op == "*" else a - b
    found = [dimension(arg, of) for arg in e.args]
    known = [n for n in found if not math.isnan(n)]
    if e.op in ("sin", "cos"):
        if any(known):
            raise ValueError(f"an angle, not a length, in '{e}'")
        return 0.0
    if len(set(known)) > 1:
        raise ValueError(f"terms of one kind, not a length and a number or an area, in '{e}'")
    return math.nan if not known else known[0] / 2.0 if e.op == "sqrt" else known[0]


def parse(text: str, names: Collection[str]) -> Expression:
    """Parse the expression `text`, which may contain the variables `names` only.

    Raises
    ------
    ValueError
        Not an expression; the message names what is allowed.
    """
    return _parse(text, frozenset(names), {}, _ALLOWED)


def parse_signal(text: str, unit: str = "") -> Expression:
    """Parse an expression of the time ``t`` [s], which may contain ``min``, ``max`` and ``clip(x, low, high)``.

    With the `unit` rad/s it may also contain ``engine_order(speed, order, share)``.

    Raises
    ------
    ValueError
        Not an expression; the message names what is allowed.
    """
    functions = {**_BOUNDS, "engine_order": 3} if unit == "rad/s" else _BOUNDS
    allowed = f"{_ALLOWED}, min, max, clip, and for speeds engine_order(speed, order, share)"
    return _parse(text, frozenset({"t"}), functions, allowed)


def parse_law(text: str, names: Collection[str], tables: Mapping[str, int]) -> Expression:
    """Parse an equation of a law, which may contain the variables `names` and the `tables` with their number of axes.

    Raises
    ------
    ValueError
        Not an expression; the message names what is allowed.
    """
    allowed = f"{_ALLOWED}, min, max, clip, abs, exp, log, a if b < c else d, and, or, not, lookup(table, x)"
    return _parse(text, frozenset(names), {**_BOUNDS, "abs": 1, "exp": 1, "log": 1}, allowed, tables)


def clip(value: Expression, low: Expression, high: Expression) -> Expression:
    """`value` within its limits."""
    return _binary("min", _binary("max", value, low), high)


def where(condition: Expression, then: Expression, other: Expression) -> Expression:
    """One of two expressions, by a condition that is 1 or 0."""
    if condition.value is not None:
        return then if condition.value > 0.5 else other
    return Expression("if", (condition, then, other))


def below(a: Expression, b: Expression, op: str = "<") -> Expression:
    """1 where ``a < b``, else 0; or ``a <= b``."""
    return _binary(op, a, b)


def _parse(
    text: str,
    names: frozenset[str],
    functions: Mapping[str, int],
    allowed: str,
    tables: Mapping[str, int] | None = None,
) -> Expression:
    if len(text) > 500:
        raise ValueError("an expression of at most 500 characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _Reader(names, functions, allowed, tables).convert(tree.body)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"an expression of {allowed}") from None


@dataclass(frozen=True)
class _Reader:
    """Parser of an expression: allowed names, functions of signals with their numbers of arguments, and texts of
    messages."""

    names: frozenset[str]
    functions: Mapping[str, int]
    allowed: str
    tables: Mapping[str, int] | None = None  # of laws, which have conditions, too: numbers of their axes

    def convert(self, node: ast.expr) -> Expression:
        """The expression of a node of Python's syntax."""
        found = self._node(node)
        if found.size > _LARGEST:
            raise ValueError(f"an expression of at most {_LARGEST} terms, powers and tan written out")
        return found

    def _node(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) < 1e300:
                return number(float(value))
            case ast.Name(id="pi"):
                return number(math.pi)
            case ast.Name(id=text) if text in self.names:
                return name(text)
            case ast.Name(id=text):
                known = ", ".join(sorted(self.names)) or "none"
                raise ValueError(f"name '{text}' is not known here; allowed names: {known}")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.convert(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.convert(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return _power(self.convert(left), self.convert(right).value)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self.convert(left), self.convert(right))
            case ast.Call(func=ast.Name(id=function), args=[argument], keywords=[]) if function in _FUNCTIONS:
                return self.convert(argument).apply(function)
            case ast.Call(func=ast.Name(id=f), args=given, keywords=[]) if self.functions.get(f) == len(given):
                return _of_signals(f, [self.convert(a) for a in given])
        found = None if self.tables is None else self._of_laws(node, self.tables)
        if found is not None:
            return found
        raise ValueError(f"'{ast.unparse(node)}' is not allowed; an expression has {self.allowed}")

    def _of_laws(self, node: ast.expr, tables: Mapping[str, int]) -> Expression | None:
        """Conditions and tables, which laws have."""
        match node:
            case ast.IfExp(test=test, body=then, orelse=other):
                return where(self.convert(test), self.convert(then), self.convert(other))
            case ast.BoolOp(op=op, values=values):
                return reduce(partial(_binary, "min" if isinstance(op, ast.And) else "max"), map(self.convert, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return number(1.0) - self.convert(operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                a, b = self.convert(left), self.convert(right)
                return below(*((a, b) if isinstance(op, ast.Lt | ast.LtE) else (b, a)), _COMPARISONS[type(op)])
            case ast.Call(func=ast.Name(id="lookup"), args=[ast.Name(id=table), *given], keywords=[]):
                if tables.get(table) == len(given):
                    return Expression("lookup", tuple(map(self.convert, given)), table)
                known = ", ".join(f"{name} ({n})" for name, n in sorted(tables.items())) or "none"
                raise ValueError(f"lookup of a table at its number of places; tables: {known}")
        return None


def _product(a: Expression, b: Expression) -> Expression:
    """The product as written: 0 times a value that may be NaN is not simplified to 0."""
    partial = any(e.has(op) for e in (a, b) for op in ("/", "sqrt"))
    return _binary("*", a, b) if 0.0 in (a.value, b.value) and partial else a * b


def _quotient(a: Expression, b: Expression) -> Expression:
    """The quotient as written: 0 over a value that may be 0 is not simplified to 0."""
    if b.value == 0.0:
        raise ValueError("no division by zero")
    return _binary("/", a, b) if a.value == 0.0 and b.value is None else a / b


_OPERATORS: dict[type[ast.operator], Callable[[Expression, Expression], Expression]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: _product, ast.Div: _quotient
}  # fmt: skip


def _of_signals(function: str, args: list[Expression]) -> Expression:
    match function:
        case "clip":
            return clip(*args)
        case "abs":
            return _binary("max", args[0], -args[0])
        case "exp" | "log":
            return Expression(function, (args[0],))
        case "engine_order":
            speed, order, share = args
            if speed.has("engine_order"):
                raise ValueError("engine_order of a mean speed, which has no engine_order itself")
            if order.value is None or share.value is None or not (order.value > 0.0 and 0.0 <= share.value <= 1.0):
                raise ValueError("engine_order with two numbers: an order above 0, a share from 0 to 1")
            return Expression("engine_order", (speed, order, share))
    return _binary(function, args[0], args[1])


def _power(base: Expression, exponent: float | None) -> Expression:
    if exponent is None or not math.isfinite(exponent) or exponent != int(exponent) or abs(exponent) > 8:
        raise ValueError("a power must be an integer from -8 to 8; use sqrt for a root")
    result = number(1.0)
    for _ in range(abs(int(exponent))):
        result = result * base
    return result if exponent >= 0 else _quotient(number(1.0), result)
