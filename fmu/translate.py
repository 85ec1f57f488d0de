"""Kernels as C99: the text of a numba kernel, read once, becomes a readable C function with the same bits.

The kernels keep to a subset of Python (see `rtcvt.kernel`) in which every statement has one meaning in C. `lower` reads
a kernel's syntax tree, checks it against the subset below and gives every expression a type; the result is a small
typed tree (`Function`), which `print_c` writes as C. Called kernels follow, callees first. Nothing is inferred from
values, nothing is reordered, so a C compiler that neither contracts nor reassociates floating-point operations
(``-ffp-contract=off``, no ``-ffast-math``) computes the same as numba.

The subset
----------
Types
    float64, int64, bool and 1-D float64 arrays, some of which are constant: their elements are only read. Constants may
    be packed in single precision, two in the place of a double: ``a[i:].view(np.float32)``, with its own places from 0.
    A variable has one type for good, a kernel one type of each parameter and of its result; an integer becomes a float
    only in arithmetic, comparisons and when stored in an array.
Statements
    assignment to one name or array element, ``+= -= *= /=``, ``if``/``elif``/``else``,
    ``for NAME in range(...)`` with a literal step, ``break``, ``continue``, ``pass``, ``return``, calls. A loop's
    variable is neither assigned in the loop nor used after it.
Expressions
    numbers and numeric globals, those of modules and enumerations included (``math.pi``, ``Y.V``); ``+ - *``, ``/``
    (of floats), ``&`` of integers, negation; a single comparison; ``and``, ``or``, ``not`` of conditions;
    ``a if c else b``; elements ``a[i]`` with ``0 <= i`` and views ``a[i:j]``; ``int``, ``float``, ``abs``,
    ``math.sqrt``, ``math.floor`` and ``math.ceil``; calls of other kernels with positional arguments.
Not in it, among others
    ``//``, ``%`` and ``**``, whose meaning differs between Python and C or between C libraries; ``min`` and ``max``
    (their result with NaN depends on the order); chained comparisons; ``while``; recursion; assignment to a slice;
    tuples; every function of the C library that is not exact.

Anything outside raises `TranslationError` with file and line.
"""

import ast
import inspect
import math
import re
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import EnumType
from pathlib import Path
from types import ModuleType
from typing import Any

from rtcvt.law.in_c import Form, is_number

INT, FLOAT, BOOL, ARRAY, CONSTANTS, NOTHING = "int64", "float64", "bool", "array", "constants", "nothing"
SINGLES = "singles"
DOT, DOTS = "dot", "dots"  # derivatives in `rtcvt.fmu.native.tangent`
_ARRAYS = (ARRAY, CONSTANTS, SINGLES)
_C_TYPES = {
    INT: "int64_t ", FLOAT: "double ", BOOL: "bool ", ARRAY: "double *", CONSTANTS: "const double *",
    SINGLES: "const single *", NOTHING: "void ", DOT: "dot ", DOTS: "dot *",
}  # fmt: skip
_WIDTH = 120
_MOST_INT = 2**63 - 1


class TranslationError(ValueError):
    """A kernel that is outside the subset; the message begins with file and line."""


# --- the typed tree ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """A number or truth value as written in the kernel."""

    value: float | int | bool
    type: str


@dataclass(frozen=True)
class Global:
    """A named constant."""

    name: str
    type: str


@dataclass(frozen=True)
class Local:
    """A parameter, a variable or a loop's variable."""

    name: str
    type: str
    loop: bool = False


@dataclass(frozen=True)
class Address:
    """Where a derivative lives, as an array of one element."""

    name: str
    type: str = DOTS


@dataclass(frozen=True)
class Unary:
    """``-a`` or ``!a``."""

    op: str
    a: "Expression"
    type: str


@dataclass(frozen=True)
class Binary:
    """Arithmetic, comparisons, ``&&`` and ``||``, in C's spelling."""

    op: str
    a: "Expression"
    b: "Expression"
    type: str


@dataclass(frozen=True)
class Choice:
    """``test ? a : b``."""

    test: "Expression"
    a: "Expression"
    b: "Expression"
    type: str


@dataclass(frozen=True)
class Item:
    """``array[index]``."""

    array: "Expression"
    index: "Expression"
    type: str = FLOAT


@dataclass(frozen=True)
class View:
    """``array + offset``."""

    array: "Expression"
    offset: "Expression"
    type: str = ARRAY


@dataclass(frozen=True)
class Cast:
    """Conversion to the type."""

    a: "Expression"
    type: str


@dataclass(frozen=True)
class Call:
    """A kernel (its C name) or an exact function of the C library."""

    function: str
    arguments: tuple["Expression", ...]
    type: str


Expression = Literal | Global | Local | Address | Unary | Binary | Choice | Item | View | Cast | Call


@dataclass(frozen=True)
class Assign:
    """``target op value`` with ``=``, ``+=`` and so on."""

    target: Local | Item
    op: str
    value: Expression


@dataclass(frozen=True)
class Evaluate:
    """A call for its effect, or an unused result of a call that was moved before the statement."""

    call: Expression


@dataclass(frozen=True)
class Return:
    """Leave the function."""

    value: Expression | None


@dataclass(frozen=True)
class Jump:
    """``break`` or ``continue``."""

    word: str


@dataclass(frozen=True)
class If:
    """Two blocks."""

    test: Expression
    body: tuple["Statement", ...]
    orelse: tuple["Statement", ...]


@dataclass(frozen=True)
class For:
    """``for NAME in range(start, stop, step)``."""

    name: str
    start: Expression
    stop: Expression
    step: int
    body: tuple["Statement", ...]


Statement = Assign | Evaluate | Return | Jump | If | For


@dataclass(frozen=True)
class External:
    """A function in C of a law (`rtcvt.law.in_c`), of which all that is known is its form; `prefix` is the beginning of
    names for all that the text of its file defines for other files."""

    prefix: str
    text: str
    name: str
    form: Form
    sizes: tuple[tuple[str, int], ...]  # of u, p, x and y
    dots: bool  # there are its derivatives

    def function(self, types: Sequence[str]) -> "Function":
        """As a kernel whose results depend on all that it gets."""
        kinds = dict(zip((*self.form.read, *self.form.written), types, strict=True))
        total: Expression = Literal(0.0, FLOAT)
        for name in self.form.read:
            given = Local(name, kinds[name])
            parts = [given] if kinds[name] == FLOAT else [Item(given, Literal(i, INT)) for i in range(self.size(name))]
            for part in parts:
                total = Binary("+", total, part, FLOAT)
        body: list[Statement] = [Assign(Item(Local(name, ARRAY), Literal(i, INT)), "=", total)
                                 for name in self.form.written for i in range(self.size(name))]  # fmt: skip
        if self.form.status:
            body.append(Return(Literal(0, INT)))
        result = INT if self.form.status else NOTHING
        return Function(
            self.prefix + self.name, "A law in C.", tuple(kinds.items()), result, tuple(body), external=self
        )

    def size(self, name: str) -> int:
        """Length of an array."""
        return dict(self.sizes)[{"new": "x", "dx": "x"}.get(name, name)]

    def declaration(self) -> str:
        """Of the function and of its derivatives."""
        names = [(self.name, self.form), *([(f"{self.name}_dot", self.form.dot)] if self.dots else [])]
        return "".join(f"{form.head(self.prefix + name)}\n" for name, form in names)

    def tangent(self, function: "Function") -> str:
        """C of the tangent `function`: derivatives along each direction, then the values."""
        known, (read, written) = {name for name, _ in function.parameters}, self.form[:2]
        lines = [f"double {a}_k[{self.size(a) + 1}];" for a in (*read, *written) if not is_number(a)]
        lines.append("for (int k = 0; k < LANES; k++) {")
        for a in (a for a in read if not is_number(a)):
            value = f"LANE({a}_dot[i], k)" if f"{a}_dot" in known else "0.0"
            lines.append(f"    for (int i = 0; i < {self.size(a)}; i++) {a}_k[i] = {value};")
        dots = [f"LANE({a}_dot, k)" if is_number(a) else f"{a}_k" for a in (*read, *written)]
        lines.append(f"    {self.prefix}{self.name}_dot({', '.join((*read, *dots))});")
        lines += [f"    for (int i = 0; i < {self.size(a)}; i++) LANE({a}_dot[i], k) = {a}_k[i];" for a in written]
        call = f"{self.prefix}{self.name}({', '.join((*read, *written))});"
        return "\n    ".join(["{", *lines, "}", f"{'return ' * self.form.status}{call}"]) + "\n}\n"


@dataclass(frozen=True)
class Function:
    """One kernel."""

    name: str  # in C
    comment: str
    parameters: tuple[tuple[str, str], ...]  # name and type
    result: str
    body: tuple[Statement, ...]
    of_rows: bool = False  # see `rtcvt.kernel.kernel_of_rows`
    external: External | None = None


@dataclass
class Program:
    """Kernels, callees first, and the constants that they read."""

    functions: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, float | int] = field(default_factory=dict)

    @property
    def laws(self) -> list[External]:
        """A function of each law in C that is called."""
        return list({f.external.prefix: f.external for f in self.functions.values() if f.external}.values())


def children(node: Any) -> Iterator[Any]:
    """Expressions and statements directly in an expression or statement."""
    for value in vars(node).values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Expression | Statement):
                yield part


def rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with `change` of each expression directly in it."""

    def new(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(new, value))
        return change(value) if isinstance(value, Expression) else value

    return type(node)(*map(new, vars(node).values()))


def walk(node: Any) -> Iterator[Any]:
    """The node and all that is in it."""
    yield node
    for part in children(node):
        yield from walk(part)


# --- reading Python ---------------------------------------------------------------------------------------------------

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_REJECTED = {
    ast.FloorDiv: "'//': write int(a / b) or a loop",
    ast.Mod: "'%' has another sign in C",
    ast.Pow: "'**' is not exact in every C library: write the products",
    ast.While: "'while': loops need an integer bound",
    ast.Raise: "'raise': return a status",
    ast.Tuple: "a tuple: write results to an array",
    ast.Try: "'try'",
}
_EXACT = {"sqrt": ("sqrt", FLOAT), "floor": ("floor", INT), "ceil": ("ceil", INT), "fabs": ("fabs", FLOAT)}
_WORDS = frozenset(  # that a variable cannot be called in C
    re.findall(
        r"\w+",
        """auto break case char const continue default do double else enum extern float for goto if inline int long
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
        bool true false int64_t sqrt floor ceil fabs asm typeof NAN INFINITY""",
    )
)


def as_float(e: Expression) -> Expression:
    """The expression in arithmetic with floats."""
    if e.type == FLOAT:
        return e
    return Literal(float(e.value), FLOAT) if isinstance(e, Literal) else Cast(e, FLOAT)


_one_at_a_time = threading.RLock()  # the parser of CPython 3.11 counts its depth for all threads together


def lower(entries: Mapping[str, tuple[Any, Sequence[str]]], prefix: str = "rt_") -> Program:
    """Read kernels and all that they call.

    Parameters
    ----------
    entries : mapping of str to (kernel, types)
        Name in C and types of the parameters of each kernel to start from: ``"float64"``, ``"int64"``, ``"array"`` or
        ``"constants"``, an array that is only read.
    prefix : str
        Of the C names of the kernels that these call, and in capitals of the constants.

    Raises
    ------
    TranslationError
        A kernel is outside the subset.
    """
    reader = _Reader(prefix)
    with _one_at_a_time:
        for name, (kernel, _) in entries.items():
            reader.names[name] = getattr(kernel, "py_func", kernel)
        for name, (kernel, types) in entries.items():
            reader.function(kernel, tuple(types), name, "the entry points")
    called = set(entries)
    for name, function in reversed(list(reader.program.functions.items())):
        if name in called:
            called.update(part.function for s in function.body for part in walk(s) if isinstance(part, Call))
        else:  # in the end of a view, which C does not have
            del reader.program.functions[name]
    return reader.program


def require_subset(kernel: Any, types: Sequence[str]) -> None:
    """Refuse a kernel outside the subset, with these types of its parameters.

    Raises
    ------
    TranslationError
        It is outside; the message begins with file and line.
    """
    lower({"rt_kernel": (kernel, types)})


def _home(python: Any) -> str:
    """The module of a kernel, as the beginning of a name."""
    return "_".join(python.__module__.split(".")[1:]) + "_"


class _Reader:
    """Shared by all kernels during the translation: names, signatures, constants."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.program = Program()
        self.signatures: dict[Any, dict[tuple[str, ...], tuple[str, str]]] = {}  # by types: C name, first call
        self.names: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.reading: list[Any] = []

    def function(self, kernel: Any, types: tuple[str, ...], name: str | None, place: str) -> Function:
        """The kernel for these types of arguments; `place` is where it is called.

        One that is called with arrays and with constants is a function for each.
        """
        python = kernel.py_func if hasattr(kernel, "py_func") else kernel
        if external := getattr(python, "external", None):
            return self.program.functions.setdefault(external.prefix + external.name, external.function(types))
        if python in self.reading:
            raise TranslationError(f"{place}: {python.__name__} calls itself; kernels do not recurse")
        known = self.signatures.setdefault(python, {})
        if types in known and name in (None, known[types][0]):
            return self.program.functions[known[types][0]]
        for others, (_, first) in known.items():
            if any(t != k and not {t, k} <= {*_ARRAYS} for t, k in zip(types, others, strict=True)):
                named = zip(inspect.signature(python).parameters, types, others, strict=True)
                differ = ", ".join(f"{p} is {t}, not {k}" for p, t, k in named if t != k)
                raise TranslationError(f"{place}: {differ} as in the call of {python.__name__} at {first}")
        if name is None:
            name = self.prefix + python.__name__.lstrip("_")
            if self.names.get(name, python) is not python:  # kernels of different kinds have the same names
                name = self.prefix + _home(python) + python.__name__.lstrip("_")
            if known:
                name = f"{name}_{len(known) + 1}"
        if self.names.setdefault(name, python) is not python:
            other = self.names[name]
            raise TranslationError(f"{place}: two kernels are called {name} in C, of {python.__module__} and "
                                   f"{other.__module__}: rename one")  # fmt: skip
        self.reading.append(python)
        function = _KernelReader(self, python, types).read(name)
        self.reading.pop()
        known[types] = name, place
        self.program.functions[name] = function
        return function

    def constant(self, python_name: str, value: float | int, place: str) -> Global:
        name = (self.prefix + python_name.lstrip("_")).upper()
        if self.values.get(name, value) != value:
            name = (self.prefix + _home(self.reading[-1]) + python_name.lstrip("_")).upper()
        if self.values.setdefault(name, value) != value:
            raise TranslationError(f"{place}: {python_name} = {value} here, but {self.values[name]} in another kernel")
        self.program.constants[name] = value
        return Global(name, INT if isinstance(value, int) else FLOAT)


class _KernelReader:
    """Reads one kernel, top to bottom."""

    def __init__(self, shared: _Reader, python: Callable[..., Any], types: tuple[str, ...]) -> None:
        self.shared = shared
        self.python = python
        lines, self.first = inspect.getsourcelines(python)
        self.file = inspect.getsourcefile(python) or "?"
        self.tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        assert isinstance(self.tree, ast.FunctionDef)
        a = self.tree.args
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults or python.__closure__:
            raise self.error(self.tree, "parameters without defaults, and no variables of an outer function")
        if len(a.args) != len(types):
            raise self.error(self.tree, f"{len(a.args)} parameters, called with {len(types)}")
        self.types = {self.name(x, x.arg): t for x, t in zip(a.args, types, strict=True)}
        self.parameters = tuple(self.types.items())
        self.loops: list[str] = []
        self.loop_names: set[str] = set()
        self.result: str | None = None

    def error(self, node: Any, text: str) -> TranslationError:
        return TranslationError(f"{self.place(node)}: {text}")

    def place(self, node: Any) -> str:
        return f"{self.file}:{self.first + getattr(node, 'lineno', 1) - 1}"

    def name(self, node: Any, name: str) -> str:
        if not name.isascii():
            raise self.error(node, f"'{name}': names in ASCII")
        return name + "_" if name in _WORDS else name

    def read(self, name: str) -> Function:
        assert isinstance(self.tree, ast.FunctionDef)
        body = self.block(self.tree.body)
        if self.result not in (None, NOTHING) and not _returns(body):
            raise self.error(self.tree, f"{self.tree.name} may end without a result")
        module = self.python.__module__.removeprefix("rtcvt.")
        text = inspect.getdoc(self.python) or ""
        comment = f"{module}.{self.python.__name__}{': ' + text if text else ''}"
        of_rows = getattr(self.python, "of_rows", False)
        function = Function(name, comment, self.parameters, self.result or NOTHING, body, of_rows)
        self.check_loop_names(function)
        return function

    def check_loop_names(self, function: Function) -> None:
        """No loop's variable may hide a variable of the same name."""
        homes = _homes(function)
        for name, block in homes.items():
            for statement in block:
                for part in walk(statement):
                    if isinstance(part, For) and part.name == name:
                        raise self.error(self.tree, f"'{name}' is the variable of a loop and another one around it")

    # statements

    def block(self, body: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        return tuple(s for statement in body for s in self.statement(statement))

    def statement(self, node: ast.stmt) -> Iterator[Statement]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        if isinstance(node, ast.Pass):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = self.expression(node.value)
            if not isinstance(call, Call) or call.function not in self.shared.program.functions:
                raise self.error(node, "a statement without effect")
            yield Evaluate(call)
        elif isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                raise self.error(node, "one target per assignment")
            value = self.expression(node.value)
            yield Assign(self.target(node.targets[0], value.type), "=", self.stored(node, node.targets[0], value))
        elif isinstance(node, ast.AugAssign):
            yield self.augmented(node)
        elif isinstance(node, ast.If):
            yield If(self.condition(node.test), self.block(node.body), self.block(node.orelse))
        elif isinstance(node, ast.For):
            yield self.loop(node)
        elif isinstance(node, ast.Return):
            yield self.returned(node)
        elif isinstance(node, ast.Break | ast.Continue):
            yield Jump("break" if isinstance(node, ast.Break) else "continue")
        else:
            raise self.error(node, self.outside(node))

    def outside(self, node: Any) -> str:
        text = _REJECTED.get(type(node))
        return f"{text or ast.unparse(node).splitlines()[0]} is not in the subset of kernels"

    def target(self, node: ast.expr, kind: str) -> Local | Item:
        if isinstance(node, ast.Name):
            name = self.name(node, node.id)
            if name in self.loops:
                raise self.error(node, f"'{node.id}' is the variable of a loop around it")
            if kind == NOTHING:
                raise self.error(node, "the kernel called has no result")
            if self.types.setdefault(name, kind) != kind:
                raise self.error(node, f"'{node.id}' is {kind} here and {self.types[name]} before")
            return Local(name, kind)
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            item = self.expression(node)
            assert isinstance(item, Item)
            if item.array.type != ARRAY:
                raise self.error(node, f"'{ast.unparse(node.value)}' is constant")
            return item
        if isinstance(node, ast.Subscript):
            raise self.error(node, "assignment to a slice is not in the subset of kernels")
        raise self.error(node, self.outside(node))

    def stored(self, node: ast.stmt, target: ast.expr, value: Expression) -> Expression:
        if not isinstance(target, ast.Subscript):
            return value
        if value.type not in (INT, FLOAT):
            raise self.error(node, f"an array of numbers, not {value.type}")
        return as_float(value)

    def augmented(self, node: ast.AugAssign) -> Assign:
        if type(node.op) not in _ARITHMETIC:
            raise self.error(node, self.outside(node.op))
        value = self.expression(node.value)
        if isinstance(node.target, ast.Name):
            self.expression(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))  # it has a value
            kind = self.types[self.name(node.target, node.target.id)]
        else:
            kind = FLOAT
        op = _ARITHMETIC[type(node.op)]
        if value.type not in (INT, FLOAT) or kind not in (INT, FLOAT):
            raise self.error(node, f"{kind} {op}= {value.type}")
        if kind == INT and (value.type == FLOAT or op == "/"):
            raise self.error(node, f"'{ast.unparse(node.target)}' is {INT} and would become {FLOAT}")
        return Assign(self.target(node.target, kind), f"{op}=", as_float(value) if kind == FLOAT else value)

    def loop(self, node: ast.For) -> For:
        call = node.iter
        if node.orelse or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call) or call.keywords:
            raise self.error(node, "loops have the form 'for NAME in range(...)'")
        if not isinstance(call.func, ast.Name) or call.func.id != "range" or not 1 <= len(call.args) <= 3:
            raise self.error(node, "loops have the form 'for NAME in range(...)'")
        bounds = [self.expression(x) for x in call.args]
        if any(b.type != INT for b in bounds):
            raise self.error(node, "the bounds of a loop are integers")
        step = 1
        if len(bounds) == 3:
            text = ast.unparse(call.args[2])
            if not re.fullmatch(r"-?[1-9]\d*", text):
                raise self.error(node, f"the step of a loop is a literal other than 0, not {text}")
            step = int(text)
        start, stop = (Literal(0, INT), bounds[0]) if len(bounds) == 1 else bounds[:2]
        name = self.name(node, node.target.id)
        if name in self.loops or name in dict(self.parameters):
            raise self.error(node, f"'{node.target.id}' is in use around the loop")
        self.loops.append(name)
        self.loop_names.add(name)
        body = self.block(node.body)
        self.loops.pop()
        return For(name, start, stop, step, body)

    def returned(self, node: ast.Return) -> Return:
        value = None if node.value is None else self.expression(node.value)
        kind = NOTHING if value is None else value.type
        if kind in _ARRAYS or (self.result is not None and self.result != kind):
            raise self.error(node, f"a result of type {kind}" + (f" and {self.result} before" if self.result else ""))
        self.result = kind
        return Return(value)

    # expressions

    def condition(self, node: ast.expr) -> Expression:
        e = self.expression(node)
        if e.type != BOOL:
            raise self.error(node, f"'{ast.unparse(node)}' is {e.type}, not a condition: compare it")
        return e

    def number(self, node: ast.expr) -> Expression:
        e = self.expression(node)
        if e.type not in (INT, FLOAT):
            raise self.error(node, f"'{ast.unparse(node)}' is {e.type}, not a number")
        return e

    def integer(self, node: ast.expr) -> Expression:
        e = self.expression(node)
        if e.type != INT:
            raise self.error(node, f"'{ast.unparse(node)}' is {e.type}, not {INT}: write int(...)")
        return e

    def expression(self, node: ast.expr) -> Expression:
        method: Any = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            raise self.error(node, self.outside(node))
        return method(node)

    def literal(self, node: Any, value: Any) -> Expression:
        if isinstance(value, bool):
            return Literal(value, BOOL)
        if isinstance(value, int):
            if abs(value) > _MOST_INT:
                raise self.error(node, f"{value} is beyond {INT}")
            return Literal(value, INT)
        if isinstance(value, float):
            return Literal(float(value), FLOAT)
        raise self.error(node, f"{value!r} is not a number")

    def on_Constant(self, node: ast.Constant) -> Expression:
        return self.literal(node, node.value)

    def on_Name(self, node: ast.Name) -> Expression:
        name = self.name(node, node.id)
        if name in self.loops:
            return Local(name, INT, loop=True)
        if name in self.types:
            return Local(name, self.types[name])
        if name in self.loop_names:
            raise self.error(node, f"'{node.id}' is the variable of a loop and used after it")
        if node.id in self.python.__code__.co_varnames:
            raise self.error(node, f"'{node.id}' is used before it has a value")
        value = self.python.__globals__.get(node.id)
        if isinstance(value, bool):
            return Literal(value, BOOL)
        if not isinstance(value, int | float):
            raise self.error(node, f"'{node.id}' is not a number")
        self.literal(node, value)
        if isinstance(value, float) and not math.isfinite(value):
            return Literal(float(value), FLOAT)
        own = self.python.__name__  # of a copy, see `rtcvt.model.accessors`
        return self.shared.constant(
            node.id if own == self.python.__code__.co_name else f"{own}_{node.id}", value, self.place(node)
        )

    def on_Attribute(self, node: ast.Attribute) -> Expression:
        if isinstance(node.value, ast.Name):
            home = self.python.__globals__.get(node.value.id)
            value = getattr(home, node.attr, None)
            if isinstance(home, EnumType) and isinstance(value, int):
                return self.shared.constant(f"{home.__name__}_{node.attr}", int(value), self.place(node))
            if isinstance(home, ModuleType) and isinstance(value, int | float):
                literal = self.literal(node, value)
                if isinstance(value, bool) or home is math or not math.isfinite(value):
                    return literal
                return self.shared.constant(node.attr, value, self.place(node))
        raise self.error(node, self.outside(node))

    def on_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not):
            return Unary("!", self.condition(node.operand), BOOL)
        if isinstance(node.op, ast.USub):
            a = self.number(node.operand)
            return Unary("-", a, a.type)
        raise self.error(node, self.outside(node))

    def on_BinOp(self, node: ast.BinOp) -> Expression:
        if isinstance(node.op, ast.BitAnd):
            return Binary("&", self.integer(node.left), self.integer(node.right), INT)
        if type(node.op) not in _ARITHMETIC:
            raise self.error(node, self.outside(node.op if type(node.op) in _REJECTED else node))
        a, b = self.number(node.left), self.number(node.right)
        op = _ARITHMETIC[type(node.op)]
        if a.type == b.type == INT and op != "/":
            return Binary(op, a, b, INT)
        return Binary(op, as_float(a), as_float(b), FLOAT)

    def on_Compare(self, node: ast.Compare) -> Expression:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
            raise self.error(node, f"'{ast.unparse(node)}': one of < <= > >= == != between two numbers")
        a, b = self.number(node.left), self.number(node.comparators[0])
        if FLOAT in (a.type, b.type):
            a, b = as_float(a), as_float(b)
        return Binary(_COMPARISONS[type(node.ops[0])], a, b, BOOL)

    def on_BoolOp(self, node: ast.BoolOp) -> Expression:
        first, *others = (self.condition(v) for v in node.values)
        for other in others:
            first = Binary("&&" if isinstance(node.op, ast.And) else "||", first, other, BOOL)
        return first

    def on_IfExp(self, node: ast.IfExp) -> Expression:
        a, b = self.expression(node.body), self.expression(node.orelse)
        if a.type != b.type or a.type == NOTHING:
            raise self.error(node, f"'{ast.unparse(node)}' is {a.type} or {b.type}")
        return Choice(self.condition(node.test), a, b, a.type)

    def on_Subscript(self, node: ast.Subscript) -> Expression:
        array = self.expression(node.value)
        if array.type not in _ARRAYS:
            raise self.error(node, f"'{ast.unparse(node.value)}' is {array.type}, not an array")
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise self.error(node, "a view has no step")
            if node.slice.upper is not None:
                self.integer(node.slice.upper)
            return array if node.slice.lower is None else View(array, self.index(node.slice.lower), array.type)
        return Item(array, self.index(node.slice))

    def index(self, node: ast.expr) -> Expression:
        e = self.integer(node)
        if isinstance(e, Unary):
            raise self.error(node, f"index {ast.unparse(node)}: counted from the start only")
        return e

    def on_Call(self, node: ast.Call) -> Expression:
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.error(node, "arguments by place only")
        if not isinstance(node.func, ast.Name | ast.Attribute):
            raise self.error(node, self.outside(node))
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            array = self.expression(node.func.value)
            if array.type != CONSTANTS or [ast.unparse(a) for a in node.args] != ["np.float32"]:
                raise self.error(node, f"'{ast.unparse(node)}': constants as np.float32")
            return Cast(array, SINGLES)
        if isinstance(node.func, ast.Name):
            called = self.python.__globals__.get(name)
        else:
            home = self.python.__globals__.get(ast.unparse(node.func.value))
            if home is math and node.func.attr in _EXACT:
                return self.exact(node, node.func.attr)
            called = getattr(home, node.func.attr, None) if isinstance(home, ModuleType) else None
            if not hasattr(called, "py_func"):
                raise self.error(node, f"'{name}' is not in the subset: sqrt, floor, ceil, fabs of math; kernels")
        if called is None and name in ("int", "float", "abs"):
            return self.converted(node, name)
        if not hasattr(called, "py_func") and not hasattr(called, "external"):
            raise self.error(node, f"'{name}' is not a kernel")
        arguments = tuple(self.expression(a) for a in node.args)
        function = self.shared.function(called, tuple(a.type for a in arguments), None, self.place(node))
        return Call(function.name, arguments, function.result)

    def converted(self, node: ast.Call, name: str) -> Expression:
        if len(node.args) != 1:
            raise self.error(node, f"{name} of one number")
        a = self.number(node.args[0])
        if name == "abs":
            return self.exact(node, "fabs")
        if name == "float":
            return as_float(a)
        return a if a.type == INT else Cast(a, INT)

    def exact(self, node: ast.Call, name: str) -> Expression:
        if len(node.args) != 1:
            raise self.error(node, f"{name} of one number")
        a = self.number(node.args[0])
        if a.type != FLOAT:
            raise self.error(node, f"{ast.unparse(node.func)} of {a.type}: write a float")
        function, kind = _EXACT[name]
        call = Call(function, (a,), FLOAT)
        return Cast(call, INT) if kind == INT else call


def _returns(body: Sequence[Statement]) -> bool:
    """Whether a block always ends in a return."""
    if not body:
        return False
    last = body[-1]
    return isinstance(last, Return) or (isinstance(last, If) and _returns(last.body) and _returns(last.orelse))


def _homes(function: Function) -> dict[str, tuple[Statement, ...]]:
    """Innermost block that contains every use of each variable."""
    paths: dict[str, list[tuple[Statement, ...]]] = {}
    parameters = dict(function.parameters)

    def note(node: Any, path: list[tuple[Statement, ...]]) -> None:
        name = node.name if isinstance(node, Local | Address) else None
        if name is not None and name not in parameters and not getattr(node, "loop", False):
            known = paths.get(name)
            same = path if known is None else [a for a, b in zip(known, path, strict=False) if a is b]
            paths[name] = list(same)
        for part in children(node):
            if not isinstance(part, Statement):
                note(part, path)
        for block in _blocks(node):
            visit(block, path)

    def visit(block: tuple[Statement, ...], path: list[tuple[Statement, ...]]) -> None:
        for statement in block:
            note(statement, [*path, block])

    visit(function.body, [])
    return {name: path[-1] for name, path in paths.items()}


def _blocks(node: Any) -> tuple[tuple[Statement, ...], ...]:
    """Blocks of a statement."""
    if isinstance(node, If):
        return (node.body, node.orelse)
    return (node.body,) if isinstance(node, For) else ()


# --- writing C --------------------------------------------------------------------------------------------------------

_PRECEDENCE = {
    op: k for k, ops in enumerate(("||", "&&", "&", "== !=", "< <= > >=", "+ -", "* /"), 1) for op in ops.split()
}
_UNARY, _PRIMARY = 8, 9
_HEAD, _DOTS, _ROWS = (
    (Path(__file__).parent / "native" / name).read_text(encoding="utf-8") for name in ("kernels.h", "dots.h", "rows.h")
)


def print_c(program: Program, title: str, entries: Sequence[str] = (), static: bool = True) -> str:
    """A program as one C99 file.

    Parameters
    ----------
    program : Program
        Kernels and constants.
    title : str
        Comment at the top.
    entries : sequence of str
        C names of the kernels to start from.
    static : bool
        Whether these are static too, for a file that another one includes.
    """
    parts = [_comment(title), _HEAD]
    parts.append(print_constants(program))
    if any(f.of_rows for f in program.functions.values()):
        parts.append(_ROWS)
    if any(kind in (DOT, DOTS) for f in program.functions.values() for _, kind in f.parameters):
        parts.append(_DOTS)
    for function in program.functions.values():
        own = static or function.name not in entries
        signature = Printer(function).signature()
        prototype = "" if own else signature + ";\n\n"
        if (law := function.external) and function.name == law.prefix + law.name:
            text = law.declaration()
        elif law:
            text = f"static {signature}\n{law.tangent(function)}"
        elif function.of_rows and own:
            text = _of_rows(function)
        else:
            text = f"{prototype}{'static ' if own else ''}{Printer(function).text()}"
        parts.append(f"{_comment(function.comment)}\n{text}")
    return "\n".join(parts)


def print_constants(program: Program) -> str:
    """The named constants of a program as C."""
    parts_of = (part for f in program.functions.values() for s in f.body for part in walk(s))
    used = {part.name for part in parts_of if isinstance(part, Global)}  # the end of a view is not
    return "".join(f"static const {_C_TYPES[INT if isinstance(v, int) else FLOAT]}{k} = {_number(v)};\n"
                   for k, v in program.constants.items() if k in used)  # fmt: skip


def _of_rows(function: Function) -> str:
    """A function, and the macros that make two versions of it, one of which is called."""
    body = Printer(replace(function, name=f"{function.name}_any")).text()
    parameters = ", ".join(f"{_C_TYPES[t]}{name}" for name, t in function.parameters)
    arguments = ", ".join(name for name, _ in function.parameters)
    result = _C_TYPES[function.result].strip()
    give = "" if function.result == NOTHING else "return"
    made = f"OF_ROWS({result}, {function.name}, ({parameters}), ({arguments}), {give})"
    return "\n".join([f"static ROWS {body}", *_wrapped(made, 0), ""])


def translate(
    entries: Mapping[str, tuple[Any, Sequence[str]]], title: str = "Kernels.", static: bool = True, prefix: str = "rt_"
) -> str:
    """Kernels and all that they call as one C99 file; see `lower` and `print_c`."""
    return print_c(lower(entries, prefix), title, tuple(entries), static)


def _comment(text: str) -> str:
    lines = text.replace("*/", "* /").replace("/*", "/ *").strip().splitlines()
    return "/* " + "\n".join([lines[0], *(f" * {line}".rstrip() for line in lines[1:])]) + " */"


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**31 else f"INT64_C({value})"
    if math.isnan(value):
        return "NAN"
    return repr(value).replace("inf", "INFINITY")


class Printer:
    """Writes one function, with `types` where these differ from those in C."""

    def __init__(self, function: Function, types: Mapping[str, str] | None = None) -> None:
        self.function = function
        self.types = _C_TYPES | dict(types or {})
        self.homes = _homes(function)
        self.names = {name for name, _ in function.parameters} | set(self.homes)
        self.lines: list[str] = []

    def signature(self) -> str:
        """Result, name and parameters."""
        parameters = ", ".join(f"{self.types[t]}{name}" for name, t in self.function.parameters)
        return f"{self.types[self.function.result]}{self.function.name}({parameters or 'void'})"

    def text(self) -> str:
        """The function."""
        used = {part.name for statement in self.function.body for part in walk(statement) if isinstance(part, Local)}
        self.lines = [*_wrapped(self.signature(), 0), "{"]
        for name, _ in self.function.parameters:
            if name not in used:
                self.line(1, f"(void){name};")
        self.block(self.function.body, 1)
        return "\n".join([*self.lines, "}", ""])

    def line(self, depth: int, text: str) -> None:
        """Write a statement."""
        self.lines += _wrapped(text, depth)

    def block(self, body: tuple[Statement, ...], depth: int) -> None:
        """Write statements, each variable declared where its home is."""
        pending = {name for name, home in self.homes.items() if home is body and body}
        for statement in body:
            found = {part.name: part for part in walk(statement) if isinstance(part, Local | Address)}
            fresh = [name for name in found if name in pending and not getattr(found[name], "loop", False)]
            pending -= set(fresh)
            declare = ""
            for name in fresh:
                kind = DOT if isinstance(found[name], Address) else found[name].type
                target = statement.target if isinstance(statement, Assign) else None
                read = statement.value if isinstance(statement, Assign) else None
                if isinstance(target, Local) and target.name == name and not _reads(read, name):
                    declare = self.types[kind]
                else:
                    self.line(depth, f"{self.types[kind]}{name};")
            self.statement(statement, depth, declare)

    def statement(self, s: Statement, depth: int, declare: str) -> None:
        """Write a statement; `declare`: type of its target, if it is new."""
        if isinstance(s, Assign):
            self.line(depth, f"{declare}{self.show(s.target)} {s.op} {self.show(s.value)};")
        elif isinstance(s, Evaluate):
            self.line(depth, f"{'' if isinstance(s.call, Call) else '(void)'}{self.show(s.call)};")
        elif isinstance(s, Return):
            self.line(depth, "return;" if s.value is None else f"return {self.show(s.value)};")
        elif isinstance(s, Jump):
            self.line(depth, f"{s.word};")
        elif isinstance(s, For):
            self.loop(s, depth)
        else:
            self.choose(s, depth, "")

    def choose(self, s: If, depth: int, before: str) -> None:
        """Write an ``if``; `before`: what ends the one before."""
        self.line(depth, f"{before}if ({self.show(s.test)}) {{")
        self.block(s.body, depth + 1)
        only = s.orelse[0] if len(s.orelse) == 1 else None
        if isinstance(only, If) and not any(home is s.orelse for home in self.homes.values()):
            self.choose(only, depth, "} else ")
            return
        if s.orelse:
            self.line(depth, "} else {")
            self.block(s.orelse, depth + 1)
        self.line(depth, "}")

    def loop(self, s: For, depth: int) -> None:
        """Write a loop."""
        i, start, stop = s.name, self.show(s.start), self.show(s.stop)
        declared = f"int64_t {i} = {start}"
        if not _constant_in(s.stop, s.body):
            end = f"{i}_end"
            while end in self.names:
                end += "_"
            declared += f", {end} = {stop}"
            stop = end
        advance = {1: f"{i}++", -1: f"{i}--"}.get(s.step, f"{i} += {s.step}")
        test = f"{i} {'<' if s.step > 0 else '>'} {stop}"
        self.line(depth, f"for ({declared}; {test}; {advance}) {{")
        self.block(s.body, depth + 1)
        self.line(depth, "}")

    def show(self, e: Expression, least: int = 0) -> str:
        """C text of an expression, in parentheses if it binds less than `least`."""
        text, binds = self.bound(e)
        return text if binds >= least else f"({text})"

    def bound(self, e: Expression) -> tuple[str, int]:
        """C text of an expression, and how strongly it binds."""
        if isinstance(e, Literal):
            text = f"(dot){{{e.value}}}" if e.type == DOT else _number(e.value)
            return text, _UNARY if text.startswith("-") else _PRIMARY
        if isinstance(e, Global | Local):
            return e.name, _PRIMARY
        if isinstance(e, Address):
            return f"&{e.name}", _UNARY
        if isinstance(e, Unary):
            inner = self.show(e.a, _UNARY)
            return f"{e.op}({inner})" if inner.startswith("-") else f"{e.op}{inner}", _UNARY
        if isinstance(e, Cast):
            return f"({self.types[e.type].strip()}){self.show(e.a, _UNARY)}", _UNARY
        if isinstance(e, Item):
            return f"{self.show(e.array, _PRIMARY)}[{self.show(e.index)}]", _PRIMARY
        if isinstance(e, View):
            return f"{self.show(e.array, _PRECEDENCE['+'])} + {self.show(e.offset, _PRECEDENCE['+'])}", _PRECEDENCE["+"]
        if isinstance(e, Call):
            return f"{e.function}({', '.join(self.show(a) for a in e.arguments)})", _PRIMARY
        if isinstance(e, Choice):
            return f"{self.show(e.test, 1)} ? {self.show(e.a, 1)} : {self.show(e.b, 1)}", 0
        return self.binary(e), _PRECEDENCE[e.op]

    def binary(self, e: Binary) -> str:
        """C text of an operation."""
        own = _PRECEDENCE[e.op]
        left, right = own, own + 1
        if e.op in ("||", "&&", "&"):  # spelled out wherever compilers warn
            left = right = _PRECEDENCE["=="] if e.op != "&" else _UNARY
            left = own if isinstance(e.a, Binary) and e.a.op == e.op else left
        elif e.type == BOOL:
            left = right = _PRECEDENCE["+"]
        a = self.show(e.a, left)
        if isinstance(e.a, Literal) and isinstance(e.b, Literal) and e.type == INT:
            a = f"(int64_t){a}"
        return f"{a} {e.op} {self.show(e.b, right)}"


def _reads(e: Any, name: str) -> bool:
    return e is not None and any(isinstance(part, Local | Address) and part.name == name for part in walk(e))


def _constant_in(e: Expression, body: tuple[Statement, ...]) -> bool:
    """Whether an expression surely keeps its value in a loop, and is cheap."""
    if isinstance(e, Literal | Global):
        return True
    if isinstance(e, Local):
        parts = [part for statement in body for part in walk(statement)]
        return not any(isinstance(p, Assign) and isinstance(p.target, Local) and p.target.name == e.name for p in parts)
    return isinstance(e, Unary | Binary) and all(_constant_in(part, body) for part in children(e))


def _wrapped(text: str, depth: int) -> list[str]:
    """Lines of a statement, none longer than the page; broken after commas where possible, else before operators."""
    lines: list[str] = []
    indent = "    " * depth
    while len(indent + text) > _WIDTH:
        room = _WIDTH - len(indent)
        at = text.rfind(", ", 0, room) + 1
        if at < room // 2:
            at = max(text.rfind(f" {op} ", 0, room) for op in (*_PRECEDENCE, "?", ":", "="))
        if at <= 0:
            break
        lines.append(indent + text[:at])
        text = text[at + 1 :]
        indent = "    " * (depth + 2)
    return [*lines, indent + text]
