"""Expressions in unit and scenario files: parsed through a whitelist, never evaluated as code.

Numbers, names, ``pi``, ``+ - * /``, integer powers up to 8, and ``sin``, ``cos``, ``tan``, ``sqrt``. An
`Expression` is an immutable tree that folds constants while it is built. It evaluates over anything that has
arithmetic: floats, arrays, symbols.
"""

import ast
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Expression", "name", "number", "parse"]

_FUNCTIONS = ("sin", "cos", "tan", "sqrt")
_ALLOWED = "numbers, names, pi, + - * /, integer powers up to 8, and sin, cos, tan, sqrt"
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


@dataclass(frozen=True)
class Expression:
    """A node: ``number`` and ``name`` are leaves, the rest has one or two arguments."""

    op: str  # number, name, + - * /, neg, sin, cos, sqrt
    args: tuple["Expression", ...] = ()
    leaf: float | str = 0.0

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
        a = [arg.evaluate(values, functions) for arg in self.args]
        match self.op:
            case "+":
                return a[0] + a[1]
            case "-":
                return a[0] - a[1]
            case "*":
                return a[0] * a[1]
            case "/":
                return a[0] / a[1]
            case "neg":
                return -a[0]
        return getattr(functions, self.op)(a[0])

    def __str__(self) -> str:
        match self.op:
            case "number":
                return f"{self.leaf:.12g}"
            case "name":
                return str(self.leaf)
            case "neg":
                return f"-{_bracketed(self.args[0], '+-')}"
            case "+" | "-" | "*" | "/":
                tight = self.op in "*/"
                left = _bracketed(self.args[0], "+-" if tight else "")
                right = _bracketed(self.args[1], "+-*/" if self.op == "/" else "+-" if self.op in "*-" else "")
                return f"{left}{self.op}{right}" if tight else f"{left} {self.op} {right}"
        return f"{self.op}({self.args[0]})"


def _bracketed(node: Expression, loose: str) -> str:
    return f"({node})" if node.op in tuple(loose) or (loose and node.op == "neg") else str(node)


def _binary(op: str, a: Expression, b: Expression) -> Expression:
    node = Expression(op, (a, b))
    if a.value is not None and b.value is not None and not (op == "/" and b.value == 0.0):
        return number(node.evaluate({}))
    return node


def number(value: float) -> Expression:
    """A constant."""
    return Expression("number", leaf=float(value))


def name(text: str) -> Expression:
    """A parameter or variable."""
    return Expression("name", leaf=text)


def parse(text: str, names: Collection[str]) -> Expression:
    """Read `text`, in which only `names` may occur.

    Raises
    ------
    ValueError
        With what is allowed.
    """
    if len(text) > 500:
        raise ValueError("an expression of at most 500 characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _convert(tree.body, frozenset(names))
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"an expression of {_ALLOWED}") from None


def _convert(node: ast.expr, names: frozenset[str]) -> Expression:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) < 1e300:
            return number(float(value))
        case ast.Name(id="pi"):
            return number(math.pi)
        case ast.Name(id=text) if text in names:
            return name(text)
        case ast.Name(id=text):
            known = ", ".join(sorted(names)) or "none"
            raise ValueError(f"name '{text}' is not known here; allowed names: {known}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_convert(operand, names)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _convert(operand, names)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_convert(left, names), _convert(right, names).value)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _convert(left, names), _convert(right, names)
            match _OPERATORS[type(op)]:
                case "+":
                    return a + b
                case "-":
                    return a - b
                case "*":
                    return a * b
            return a / b
        case ast.Call(func=ast.Name(id=function), args=[argument], keywords=[]) if function in _FUNCTIONS:
            return _convert(argument, names).apply(function)
    raise ValueError(f"'{ast.unparse(node)}' is not allowed; an expression has {_ALLOWED}")


def _power(base: Expression, exponent: float | None) -> Expression:
    if exponent is None or not math.isfinite(exponent) or exponent != int(exponent) or abs(exponent) > 8:
        raise ValueError("a power must be an integer from -8 to 8; use sqrt for a root")
    result = number(1.0)
    for _ in range(abs(int(exponent))):
        result = result * base
    return result if exponent >= 0 else number(1.0) / result
