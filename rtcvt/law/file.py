"""Unit files of laws, and the table ``law`` of a component: names, units and equations in TOML::

    kind = "law"
    name = "slip_control"
    sample = "10 ms"

    [inputs]
    slip = { unit = "1", description = "slip of the belt" }
    tau = "N.m"
    [parameters]
    slip_des = { value = 0.02, description = "desired slip" }
    k = { value = "200 kN", unit = "N" }
    S = 1.3
    [tables.least]
    axes = [["0 N.m", "200 N.m"]]
    values = ["5 kN", "30 kN"]
    units = ["N.m", "N"]
    [blocks]
    more = { block = "integral", input = "k*(slip - slip_des)", low = "0", high = "k" }
    [equations]
    needed = "S*lookup(least, abs(tau))"
    [outputs]
    F = { value = "needed + more", unit = "N", description = "clamping force" }

Equations are in SI units, over the names of inputs, parameters, states, blocks, equations and outputs in any order, the
time ``t`` and the interval ``h`` between two samples [s]. Terms of a sum have the same unit. Blocks, with e for
`input`, x for their state, all at a sample::

    block       value                                         x at the next sample
    lag         x                                             x + (e - x) h/(T + h)
    integral    x                                             clip(x + h e, low, high)
    pi          clip(K_p e + x, low, high)                    x + h K_i e, or x if K_p e + x is beyond a limit and
                                                              K_i e leads further
    rate_limit  x                                             x + clip(e - x, -fall h, rise h)
    hysteresis  1 if e > high, 0 if e < low, else x           its value
    delay       x                                             e

A state of ``[states]`` gives ``next``, its value at the next sample. Start values follow from parameters.

Instead of its equations a law may name a file with a kernel in Python (`rtcvt.law.code`) or C (`rtcvt.law.in_c`).
"""

import graphlib
from collections.abc import Collection, Mapping
from keyword import kwlist as KEYWORDS
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from rtcvt import quantity
from rtcvt.engine.grid import read_grid
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import expression
from rtcvt.files.expression import Expression, below, clip, number, parse_law, where
from rtcvt.kind import Unit
from rtcvt.law import kernels
from rtcvt.law.code import kernels_of
from rtcvt.law.kernels import D
from rtcvt.law.program import Dimension, Program, dimension, written
from rtcvt.model import Model, model_of
from rtcvt.scenario import Scenario
from rtcvt.table import Constants, Row, Table
from rtcvt.unitfile import Duration, Name, Record, Solver, UnitFile, own_file, parse_table

Formula = Annotated[str, Field(max_length=500)] | float
RESERVED = {*KEYWORDS, "t", "h", "pi", "min", "max", "clip", "abs", "sin", "cos", "tan", "sqrt", "exp", "log", "lookup"}
MOST_OPERATIONS = 20_000


class Signal(Record):
    """An input or output."""

    unit: str = "1"  # SI, or one of a kind that is known, which is then shown
    description: str = ""  # in a few words
    boolean: bool = False  # 1 or 0, to be connected to Boolean signals


class Input(Signal):
    """An input."""

    start: float | str = 0.0  # until it is given


class Output(Signal):
    """An output."""

    value: Formula | None = None  # equation


class Parameter(Record):
    """A parameter; it may change while the unit runs."""

    value: float | str  # a number in SI units, or with its unit
    unit: str = "1"  # SI, or one of a kind that is known, which is then shown
    description: str = ""  # in a few words
    minimum: float | str | None = None  # least value
    maximum: float | str | None = None  # greatest value


class State(Record):
    """A value that is kept from sample to sample."""

    next: Formula | None = None  # value at the next sample
    start: Formula = 0.0  # from parameters
    unit: str = "1"  # SI, or one of a kind that is known, which is then shown
    description: str = ""  # in a few words


class _Block(Record):
    input: Formula  # e
    start: Formula = 0.0  # of its state, from parameters


class Lag(_Block):
    """First-order lag."""

    T: Formula  # time constant [s]

    def equations(self, f: "_Reader", x: Expression, e: Expression) -> tuple[Expression, Expression]:
        """Value, and state at the next sample."""
        return x, x + (e - x) * _h() / (f(self.T, "T") + _h())


class Integral(_Block):
    """Integral between limits."""

    low: Formula | None = None
    high: Formula | None = None

    def equations(self, f: "_Reader", x: Expression, e: Expression) -> tuple[Expression, Expression]:
        """Value, and state at the next sample."""
        return x, f.limited(x + _h() * e, self.low, self.high)


class PI(_Block):
    """Proportional and integral control between limits, which stops the integral."""

    K_p: Formula  # gain
    K_i: Formula  # gain of the integral
    low: Formula | None = None
    high: Formula | None = None

    def equations(self, f: "_Reader", x: Expression, e: Expression) -> tuple[Expression, Expression]:
        """Value, and state at the next sample."""
        free = f(self.K_p, "K_p") * e + x
        more = _h() * f(self.K_i, "K_i") * e
        following = x + more
        if self.high is not None:
            beyond = below(f(self.high, "high"), free)
            following = where(below(number(0.0), more), where(beyond, x, following), following)
        if self.low is not None:
            beyond = below(free, f(self.low, "low"))
            following = where(below(more, number(0.0)), where(beyond, x, following), following)
        return f.limited(free, self.low, self.high), following


class RateLimit(_Block):
    """Limit of the rate of change."""

    rise: Formula  # largest rate [unit of the input/s]
    fall: Formula | None = None  # the same downwards, by default as upwards

    def equations(self, f: "_Reader", x: Expression, e: Expression) -> tuple[Expression, Expression]:
        """Value, and state at the next sample."""
        rise = f(self.rise, "rise") * _h()
        fall = rise if self.fall is None else f(self.fall, "fall") * _h()
        return x, x + clip(e - x, -fall, rise)


class Hysteresis(_Block):
    """Switch between two thresholds."""

    low: Formula  # below it the value is 0
    high: Formula  # above it the value is 1

    def equations(self, f: "_Reader", x: Expression, e: Expression) -> tuple[Expression, Expression]:
        """Value, and state at the next sample."""
        on, off = below(f(self.high, "high"), e), below(e, f(self.low, "low"))
        value = where(on, number(1.0), where(off, number(0.0), x))
        return value, value


class Delay(_Block):
    """The input at the sample before."""

    def equations(self, f: "_Reader", x: Expression, e: Expression) -> tuple[Expression, Expression]:
        """Value, and state at the next sample."""
        return x, e


Block = Lag | Integral | PI | RateLimit | Hysteresis | Delay
BLOCKS: dict[str, type[Block]] = {"lag": Lag, "integral": Integral, "pi": PI, "rate_limit": RateLimit,
                                  "hysteresis": Hysteresis, "delay": Delay}  # fmt: skip


class Lookup(Record):
    """A table over one or two axes: linear in between, at its ends beyond."""

    units: tuple[str, ...]  # of the axes and, last, of the values
    axes: tuple[tuple[float | str, ...], ...] = ()  # rising
    values: tuple[float | str | tuple[float | str, ...], ...] = ()  # for each point of the first axis one or a row
    file: str | None = None  # instead of axes and values a CSV file of a full grid over two axes
    columns: tuple[str, ...] = ()  # names of its columns


class Equations(Record):
    """Equations of a law."""

    sample: Duration | None = None  # time between samples; by default each internal step is a sample
    inputs: dict[Name, Input | str] = {}  # short form: the unit
    parameters: dict[Name, Parameter | float] = {}  # short form: a number without unit
    states: dict[Name, State] = {}  # values stored from sample to sample
    blocks: dict[Name, dict[str, Formula]] = {}  # lag, integral, pi, rate_limit, hysteresis, delay: see rtcvt.law.file
    tables: dict[Name, Lookup] = {}  # for lookup(table, x) and lookup(table, x, y)
    equations: dict[Name, Formula] = {}  # names for parts of other equations
    python: str = ""  # instead of equations a file of this folder, see rtcvt.law.code
    c: str = ""  # or one in C, see rtcvt.law.in_c
    outputs: dict[Name, Output] = Field(min_length=1)  # outputs of the unit

    @property
    def files(self) -> list[str]:
        """Names of the files that it needs."""
        return [name for name in (self.python, self.c, *(t.file for t in self.tables.values())) if name]


class Law(Unit, Equations):
    """A unit file of a law."""

    kind: Literal["law"]
    solver: Solver = Solver()
    scenario: tuple[Scenario, ...] = ()

    key: Annotated[str, Field(exclude=True)] = ""  # of its table in the file of a system


def read_law(file: UnitFile) -> Law:
    """Validate the unit file of a law.

    Raises
    ------
    InputError
        Not a valid law.
    """
    law = file.parse(Law)
    _Writer(law)
    return law


def law_of(given: Equations, **about: Any) -> Law:
    """The law in a system file, as a unit with the fields `about`.

    Raises
    ------
    InputError
        Not a valid law.
    """
    law = Law.model_construct(kind="law", **{k: getattr(given, k) for k in Equations.model_fields}, **about)
    _Writer(law)
    return law


def files_beside(law: Law) -> list[Path]:
    """Files of its own folder."""
    return [law.folder / name for name in law.files if (law.folder / name).is_file()]


def build(law: Law, fidelity: str = "rigid", substeps: int | None = None) -> Model:
    """The real-time model of a law.

    Raises
    ------
    InputError
        A name that is unknown or defined twice, terms of different units, or equations that need their own result.
    """
    del fidelity
    return _Writer(law).model(substeps)


# --- from the file to the program -------------------------------------------------------------------------------------


class _Unit(NamedTuple):
    """A unit of the file."""

    si: str
    display: str | None  # as the file has it, if that is not SI
    dimension: Dimension


def _h() -> Expression:
    return expression.name("h")


class _Reader(NamedTuple):
    """Reads the formulas of a block: ``reader(formula, key)``."""

    writer: "_Writer"
    key: str

    def __call__(self, given: Formula, key: str) -> Expression:
        """A formula."""
        return self.writer.formula(f"{self.key}.{key}", given)

    def limited(self, e: Expression, low: Formula | None, high: Formula | None) -> Expression:
        """An expression between limits, of which one or both may be left out."""
        if low is not None:
            e = Expression("max", (e, self(low, "low")))
        return e if high is None else Expression("min", (e, self(high, "high")))


class _Writer:
    """A law while it is checked and written. The state of block B has the name ``B.x``."""

    def __init__(self, law: Law) -> None:
        self.law = law
        self.inputs = {k: Input(unit=v) if isinstance(v, str) else v for k, v in law.inputs.items()}
        self.parameters = {k: v if isinstance(v, Parameter) else Parameter(value=v) for k, v in law.parameters.items()}
        self.blocks = {name: self._block(f"blocks.{name}", given) for name, given in law.blocks.items()}
        self.keys: dict[str, str] = {}  # of each name
        for what in ("inputs", "parameters", "states", "blocks", "tables", "equations", "outputs"):
            for name in getattr(law, what):
                if name in RESERVED:
                    raise self.error(f"{what}.{name}", None, f"another name than {', '.join(sorted(RESERVED))}")
                if name in self.keys:
                    raise self.error(f"{what}.{name}", None, f"a name that is used once; there is {self.keys[name]}")
                self.keys[name] = f"{what}.{name}"
        self._require_formulas()
        records: dict[str, Any] = {**self.inputs, **self.parameters, **law.states, **law.outputs}
        self.units = {name: self._unit(f"{self.keys[name]}.unit", record.unit) for name, record in records.items()}
        self.tables = {name: self._table(f"tables.{name}", table) for name, table in law.tables.items()}
        self.definitions: dict[str, Expression] = {}
        self.next: dict[str, Expression] = {}  # of each state
        self.start: dict[str, Expression] = {}
        self._define()
        self._require_order()
        self._check_units()

    def error(self, key: str, value: Any, allowed: str) -> InputError:
        """A fault of the file."""
        shown = value if isinstance(value, str | int | float | None) else None
        return InputError(self.law.source, f"{self.law.key}{key}", shown, allowed)

    def valid(self, key: str, value: float | str) -> AsInputError:
        """Within it a `ValueError` is one of the value of this key."""
        return AsInputError(ValueError, self.law.source, f"{self.law.key}{key}", value, str)

    def _require_formulas(self) -> None:
        """Equations for all, or, with the law in a file, for none."""
        law, own = self.law, self.law.python or self.law.c
        if law.python and law.c:
            raise self.error("c", law.c, "nothing, as there is the key python")
        formulas = {f"states.{name}.next": x.next for name, x in law.states.items()}
        formulas |= {f"outputs.{name}.value": y.value for name, y in law.outputs.items()}
        for key, given in formulas.items():
            if (given is None) != bool(own):
                raise self.error(key, given, "nothing: the file has it" if own else "this key is required")
        for what in ("blocks", "tables", "equations"):
            if own and getattr(law, what):
                raise self.error(what, None, "nothing, as the law is in a file")

    def _block(self, key: str, given: Mapping[str, Formula]) -> Block:
        found = BLOCKS.get(str(given.get("block")))
        if found is None:
            raise self.error(f"{key}.block", given.get("block"), f"one of {', '.join(BLOCKS)}")
        try:
            return parse_table(found, {k: v for k, v in given.items() if k != "block"}, self.law.source)
        except InputError as error:
            _, at, value, allowed = error.parts
            raise self.error(f"{key}.{at}", value, allowed) from None

    def _unit(self, key: str, text: str) -> _Unit:
        with self.valid(key, text):
            found = quantity.known_unit(text)
        power = tuple((base, n) for base, n in found.exponents if base != "rad")
        si = quantity.si_of(text)
        return _Unit(si, None if si == found.name else text, power)

    def si(self, key: str, value: float | str, unit: str) -> float:
        """A quantity in an SI unit."""
        with self.valid(key, value):
            return quantity.to_si(value, unit)

    def _table(self, key: str, table: Lookup) -> tuple[list[float], tuple[Dimension, ...]]:
        """Numbers of a table for `rtcvt.engine.grid.lookup`, and its dimensions."""
        units = [self._unit(f"{key}.units", text) for text in table.units]
        dimensions = tuple(u.dimension for u in units)
        if table.file is not None:
            if len(units) != 3 or len(table.columns) != 3 or table.axes or table.values:
                raise self.error(f"{key}.file", table.file, "three units, three names of columns, no axes or values")
            columns = [(column, u.si) for column, u in zip(table.columns, units, strict=True)]
            return read_grid(self.law.source, f"{key}.file", self.law.folder, table.file, columns).numbers(), dimensions
        if len(table.axes) not in (1, 2) or len(units) != len(table.axes) + 1:
            raise self.error(f"{key}.axes", None, "one or two axes, and a unit for each of them and for the values")
        pairs = zip(table.axes, units, strict=False)
        axes = [[self.si(f"{key}.axes", value, u.si) for value in axis] for axis, u in pairs]
        rows = [row if isinstance(row, tuple) else (row,) for row in table.values]
        values = [[self.si(f"{key}.values", value, units[-1].si) for value in row] for row in rows]
        if min(map(len, axes)) < 2 or any(not (np.diff(axis) > 0.0).all() for axis in axes):
            raise self.error(f"{key}.axes", None, "at least two numbers on each axis, in rising order")
        n = len(axes[1]) if len(axes) == 2 else 1
        if len(values) != len(axes[0]) or any(len(row) != n for row in values):
            raise self.error(f"{key}.values", None, f"{len(axes[0])} rows of {n}, one for each point of the first axis")
        if len(axes) == 1:
            axes, values = [axes[0], [0.0, 1.0]], [row * 2 for row in values]
        return [len(axes[0]), len(axes[1]), *axes[0], *axes[1], *(v for row in values for v in row)], dimensions

    def formula(self, key: str, given: Formula) -> Expression:
        """Parse a formula of the file.

        Raises
        ------
        InputError
            Not a formula; the message names what is allowed.
        """
        if not isinstance(given, str):
            return number(given)
        names = {"t", "h", *self.keys} - set(self.law.tables)
        with self.valid(key, given):
            return _with_places(parse_law(given, names, {name: len(of) - 1 for name, (_, of) in self.tables.items()}))

    def _define(self) -> None:
        """Expressions of all equations, states and start values."""
        law = self.law
        formulas = law.equations | {name: y.value for name, y in law.outputs.items() if y.value is not None}
        for name, given in formulas.items():
            self.definitions[name] = self.formula(self._key(name), given)
        for name, state in law.states.items():
            self.next[name] = self.formula(f"states.{name}.next", name if state.next is None else state.next)
            self.start[name] = self.formula(f"states.{name}.start", state.start)
        for name, block in self.blocks.items():
            reader, x = _Reader(self, f"blocks.{name}"), f"{name}.x"
            e = reader(block.input, "input")
            self.definitions[name], self.next[x] = block.equations(reader, expression.name(x), e)
            self.start[x] = reader(block.start, "start")
        for name, e in self.start.items():
            if others := e.names - set(law.parameters):
                key = f"{self.keys[name.removesuffix('.x')]}.start"
                raise self.error(key, str(e), f"a formula of parameters, not of {', '.join(sorted(others))}")

    def _key(self, name: str) -> str:
        """Key of the formula of a name."""
        key = self.keys[name.removesuffix(".x")]
        return key + {"outputs": ".value", "states": ".next"}.get(key.partition(".")[0], "")

    def _require_order(self) -> None:
        """Refuse equations that need their own result."""
        needs = {name: e.names & self.definitions.keys() for name, e in self.definitions.items()}
        try:
            graphlib.TopologicalSorter(needs).prepare()
        except graphlib.CycleError as error:
            loop = error.args[1][::-1]
            allowed = f"no loop of equations without a state; here {' -> '.join(loop)}"
            raise self.error(self._key(loop[0]), None, allowed) from None

    def _check_units(self) -> None:
        """Find the dimensions of equations and blocks, and compare those of outputs and states with their units."""
        of = {name: unit.dimension for name, unit in self.units.items()}
        of |= {"t": (("s", 1.0),), "h": (("s", 1.0),)}
        tables = {name: dimensions for name, (_, dimensions) in self.tables.items()}

        def measure(key: str, e: Expression) -> Dimension:
            for name in sorted(e.names - of.keys()):
                own = self._state(name) if name.endswith(".x") else self.definitions[name]
                of[name] = measure(self._key(name), own)
            with self.valid(key, str(e)):
                return dimension(e, of, tables)

        formulas = [(self._key(name), name, e) for name, e in [*self.definitions.items(), *self.next.items()]]
        formulas += [(f"{self.keys[name.removesuffix('.x')]}.start", name, e) for name, e in self.start.items()]
        for key, name, e in formulas:
            found = measure(key, e)
            wanted = of.setdefault(name, found)
            if None not in (found, wanted) and found != wanted:
                raise self.error(key, str(e), f"a formula in {written(wanted)}, not in {written(found)}")

    def _state(self, name: str) -> Expression:
        """An expression with the dimension of a block's state."""
        block = self.blocks[name.removesuffix(".x")]
        reader = _Reader(self, f"blocks.{name.removesuffix('.x')}")
        e = reader(block.input, "input")
        if isinstance(block, Hysteresis):
            return number(1.0)
        if isinstance(block, PI):
            return reader(block.K_p, "K_p") * e
        return _h() * e if isinstance(block, Integral) else e

    # --- the model ----------------------------------------------------------------------------------------------------

    def model(self, substeps: int | None) -> Model:
        """The real-time model."""
        law, data = self.law, Constants(D)
        table = self._variables()
        data[D.INTERNAL_STEP] = min(law.solver.step / (substeps or law.solver.substeps), law.sample or np.inf)
        data[D.SAMPLE] = law.sample or 0.0
        data[D.N_P], data[D.N_U], data[D.N_Y] = len(self.parameters), len(self.inputs), len(law.outputs)
        data[D.N_S], data[D.N_X] = len(self.next), len(table.states)
        self._write(data)
        of: Any = self._code() if law.python or law.c else kernels
        return model_of(
            law, "rigid", table, of, n_work=data.place_blocks(), data=data.array(), step_size=law.solver.step,
            needs=f"finite states and outputs{f' of {own}, and no status 2' if (own := law.python or law.c) else ''}",
            internal_step=data[D.INTERNAL_STEP], opaque=getattr(of, "opaque", False),
            discrete=bool(table.states) and (law.sample is not None or not getattr(of, "contract", False)),
        )  # fmt: skip

    def _write(self, data: Constants) -> None:
        """Write the operations: those of parameters alone, of the outputs, of the next states."""
        registers = {"t": (D.TIME, 0), "h": (D.TIME, 1)}
        spaces: dict[D, Collection[str]] = {D.PARAMETERS: self.parameters, D.INPUTS: self.inputs, D.STATES: self.next}
        for space, names in spaces.items():
            registers |= {name: (space, k) for k, name in enumerate(names)}
        program = Program(self.definitions, registers, {name: numbers for name, (numbers, _) in self.tables.items()})
        start = [program.expression(e) for e in self.start.values()]
        for e in [*self.definitions.values(), *self.next.values()]:
            program.hoist(e)
        data[D.N_START] = program.size
        outputs = [program.name(name) for name in self.law.outputs if name in self.definitions]
        data[D.N_VALUES] = program.size
        following = [program.expression(e) for e in self.next.values()]
        if program.size > MOST_OPERATIONS:
            raise self.error("equations", None, f"equations of at most {MOST_OPERATIONS} operations")
        place = program.write(data, {space: len(names) for space, names in spaces.items()})
        for entry, found in ((D.START, start), (D.OUTPUT, outputs), (D.NEXT, following)):
            data.table(entry, map(place, found))

    def _code(self) -> Any:
        """Kernels of the law in a file."""
        law = self.law
        key, name = ("c", law.c) if law.c else ("python", law.python)
        found = own_file(law.folder, name, f"{law.source}: {law.key}{key}")
        if found is None:
            raise self.error(key, name, "a file in the folder of this one")
        sizes = {"u": len(self.inputs), "p": len(self.parameters), "x": len(self.next), "y": len(law.outputs)}
        kernels = kernels_of(found, bool(law.c), sizes, lambda allowed: self.error(key, name, allowed))
        for state, x in law.states.items():
            if kernels.contract and "start" in x.model_fields_set:
                raise self.error(f"states.{state}.start", x.start, "nothing: the function initialise has it")
        return kernels

    def _variables(self) -> Table:
        law, table = self.law, Table()
        for name, p in self.parameters.items():
            key, unit = self.keys[name], self.units[name]
            value = self.si(f"{key}.value", p.value, unit.si)
            low = None if p.minimum is None else self.si(f"{key}.minimum", p.minimum, unit.si)
            high = None if p.maximum is None else self.si(f"{key}.maximum", p.maximum, unit.si)
            if (low is not None and value < low) or (high is not None and value > high):
                raise self.error(f"{key}.value", p.value, "a number from minimum to maximum")
            row = Row(name, unit.si, p.description or name, low, high, display=unit.display, tunable=True)
            table.add("parameter", row, value)
        for name, u in self.inputs.items():
            table.add("input", self._row(name, u), self.si(f"{self.keys[name]}.start", u.start, self.units[name].si))
        for name, y in law.outputs.items():
            table.add("output", self._row(name, y))
        for name, state in law.states.items():
            table.add("state", self._row(name, state))
        for name in law.blocks:
            table.add("state", Row(f"{name}.x", "1", f"state of block {name}", nominal=1.0))
        if law.sample is not None:
            for name, y in law.outputs.items():
                table.add("state", self._row(name, y)._replace(name=f"{name}.held", boolean=False))
            table.add("state", Row("sample.due", "s", "time to the next sample", nominal=law.sample))
        return table

    def _row(self, name: str, given: Any) -> Row:
        unit = self.units[name]
        boolean = getattr(given, "boolean", False)
        return Row(name, unit.si, given.description or name, nominal=1.0, display=unit.display, boolean=boolean)


def _with_places(e: Expression) -> Expression:
    """A lookup in a table with one axis gets 0 for the second."""
    args = tuple(map(_with_places, e.args))
    if e.op == "lookup" and len(args) == 1:
        args = (*args, number(0.0))
    return Expression(e.op, args, e.leaf) if args != e.args else e
