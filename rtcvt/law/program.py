"""From the equations of a law to its list of operations, and the check of their units.

Equal subexpressions are computed once, those of parameters and constants alone when the unit is initialised.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rtcvt.files.expression import Expression
from rtcvt.law.kernels import D, Op
from rtcvt.table import Constants

Dimension = tuple[tuple[str, float], ...] | None  # powers of the base units without rad; None: any, as of 0

OPERATIONS = {
    "+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE, "min": Op.SMALLER, "max": Op.LARGER,
    "<": Op.BELOW, "<=": Op.AT_MOST, "if": Op.CHOOSE, "lookup": Op.LOOKUP, "neg": Op.NEGATE, "sqrt": Op.ROOT,
    "sin": Op.SINE, "cos": Op.COSINE, "exp": Op.EXPONENTIAL, "log": Op.LOGARITHM,
}  # fmt: skip


def dimension(e: Expression, of: Mapping[str, Dimension], tables: Mapping[str, tuple[Dimension, ...]]) -> Dimension:
    """Dimension of an expression.

    Parameters
    ----------
    e : Expression
        In SI units.
    of : mapping
        Dimensions of the names in it.
    tables : mapping
        Dimensions of the axes of each table, then of its values.

    Raises
    ------
    ValueError
        Terms have different dimensions; the message names the expression.
    """
    if e.op == "number":
        return None if e.value == 0.0 else ()
    if e.op == "name":
        return of[str(e.leaf)]
    found = [dimension(arg, of, tables) for arg in e.args]
    if e.op in "*/":
        return _product(found[0], found[1], 1.0 if e.op == "*" else -1.0)
    if e.op == "sqrt":
        return found[0] and tuple((base, 0.5 * n) for base, n in found[0])
    if e.op == "lookup":
        axes = tables[str(e.leaf)]
        for own, axis in zip(found, axes, strict=False):
            _same([own, axis], e)
        return axes[-1]
    if e.op in ("sin", "cos", "exp", "log"):
        _same([*found, ()], e)
        return ()
    if e.op in ("<", "<="):
        _same(found, e)
        return ()
    if e.op == "if":
        _same([found.pop(0), ()], e.args[0])
    return _same(found, e)


def _same(found: list[Dimension], e: Expression) -> Dimension:
    known = [d for d in found if d is not None]
    if len(set(known)) > 1:
        raise ValueError(f"terms of the same unit in '{e}', not {' and '.join(map(written, known))}")
    return known[0] if known else None


def _product(a: Dimension, b: Dimension, sign: float) -> Dimension:
    if a is None or b is None:
        return a if b is None else None
    powers = dict(a)
    for base, n in b:
        powers[base] = powers.get(base, 0.0) + sign * n
    return tuple(sorted((base, n) for base, n in powers.items() if n))


def written(found: Dimension) -> str:
    """A dimension in base units, ``kg.m2.s-2``."""
    return ".".join(base + ("" if n == 1.0 else f"{n:g}") for base, n in found or ()) or "a number"


@dataclass
class Program:
    """Collects operations; a register is a space and a place in it.

    Parameters
    ----------
    definitions : mapping
        Expressions of the equations by name, without loops.
    registers : mapping
        Registers of the other names: time, interval, parameters, inputs, states.
    tables : mapping
        Numbers of each table for `rtcvt.engine.grid.lookup`.
    """

    definitions: Mapping[str, Expression]
    registers: Mapping[str, tuple[D, int]]
    tables: Mapping[str, list[float]]
    _constants: dict[float, tuple[D, int]] = field(default_factory=dict)
    _found: dict[Expression, tuple[D, int]] = field(default_factory=dict)
    _code: list[tuple[Op, list[tuple[D, int]], str]] = field(default_factory=list)
    _of_parameters: dict[str, bool] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of operations so far."""
        return len(self._code)

    def name(self, name: str) -> tuple[D, int]:
        """Register of a name."""
        return self.registers.get(name) or self.expression(self.definitions[name])

    def expression(self, e: Expression) -> tuple[D, int]:
        """Register of an expression, whose operations are added if they are new."""
        if e.value is not None:
            return self._constants.setdefault(e.value, (D.NUMBERS, len(self._constants)))
        if e.op == "name":
            return self.name(str(e.leaf))
        if e not in self._found:
            operands = [self.expression(arg) for arg in e.args]
            self._found[e] = (D.RESULTS, len(self._code))
            self._code.append((OPERATIONS[e.op], operands, str(e.leaf)))
        return self._found[e]

    def of_parameters(self, e: Expression) -> bool:
        """Whether an expression follows from parameters alone."""
        return all(map(self._fixed, e.names))

    def _fixed(self, name: str) -> bool:
        if name in self.registers:
            return self.registers[name][0] == D.PARAMETERS
        if name not in self._of_parameters:
            self._of_parameters[name] = self.of_parameters(self.definitions[name])
        return self._of_parameters[name]

    def hoist(self, e: Expression) -> None:
        """Add the operations of the largest parts of an expression that follow from parameters alone."""
        if e.args and self.of_parameters(e):
            self.expression(e)
        else:
            for arg in e.args:
                self.hoist(arg)

    def write(self, data: Constants, sizes: Mapping[D, int]) -> Callable[[tuple[D, int]], int]:
        """Write operations, constants and tables; returns the function that numbers registers.

        `sizes` are the numbers of parameters, inputs and states by their first register.
        """
        data[D.TIME], place = 0, 2
        for space in (D.PARAMETERS, D.INPUTS, D.STATES):
            data[space], place = place, place + sizes[space]
        data[D.NUMBERS] = place
        data[D.RESULTS] = place + max(len(self._constants), 1)
        data[D.N_CONSTANTS] = len(self._constants)
        data.table(D.CONSTANTS, self._constants)
        places = {}
        for name, numbers in self.tables.items():
            places[name] = len(data.numbers)
            data.numbers += numbers

        def number(register: tuple[D, int]) -> int:
            return int(data[register[0]]) + register[1]

        code: list[float] = []
        for op, operands, leaf in self._code:
            a, b, c = (number(operands[i]) if i < len(operands) else 0 for i in range(3))
            code += [op, a, b, places[leaf] if op == Op.LOOKUP else c]
        data[D.N_CODE] = len(self._code)
        data.table(D.CODE, code)
        return number
