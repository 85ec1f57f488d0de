"""Kernels as C: the same meaning as in numba, to the last bit, or a message that names file and line."""

import ctypes
import importlib.util
import itertools
import math
import subprocess
import types
from enum import IntEnum
from pathlib import Path

import numba
import numpy as np
import pytest
import tools
from marks import slow
from rows import mistakes, script

from rtcvt.fmu.translate import TranslationError, lower, print_c, translate
from rtcvt.kernel import FAILED, OK, kernel
from rtcvt.kind import load_unit
from rtcvt.numerics import elementary
from rtcvt.numerics.elementary import cos, exp, log, sin
from rtcvt.numerics.linalg import lu, lu_solve
from rtcvt.pog import kernels
from rtcvt.pog.system import build_model
from rtcvt.unitfile import shipped_units
from rtcvt.variator.regression import add_rows

F, I, A, C = "float64", "int64", "array", "constants"  # noqa: E741
MODEL = {"rt_initialise": (kernels.initialise, [A, C, A, A, A]),
    "rt_derivative": (kernels.derivative, [F, A, A, A, C, A, A]),
    "rt_jacobian": (kernels.jacobian, [F, A, A, A, C, A, A]), "rt_output": (kernels.output, [F, A, A, A, C, A, A]),
    "rt_step": (kernels.step, [F, F, A, A, A, C, A, A])}  # fmt: skip
STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-ffp-contract=off"]

compiles = pytest.mark.needs("cc")


def compiled(folder, entries, **results):
    """A shared library of kernels, without a single warning."""
    source, library = folder / "kernels.c", folder / "kernels.so"
    source.write_text(translate(entries, static=False), encoding="utf-8")
    done = subprocess.run(["cc", *STRICT, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    for name, (_, kinds) in entries.items():
        function = getattr(loaded, name)
        function.argtypes = [
            {F: ctypes.c_double, I: ctypes.c_int64, A: ctypes.c_void_p, C: ctypes.c_void_p}[t] for t in kinds
        ]
        function.restype = results.get(name)
    return loaded


def address(*arrays):
    return [a.ctypes.data for a in arrays]


# --- meaning ----------------------------------------------------------------------------------------------------------

LIMIT = 3
SCALE = -2.5e-3


@numba.njit(error_model="numpy")
def precedence(a, b, c, n, o):
    """All the places where Python and C might disagree; */ does not end this."""
    o[0] = a - (b - c)
    o[1] = a - b - c
    o[2] = a / b * c
    o[3] = a / (b * c)
    o[4] = -a * b + -(0.0 - -c)
    o[5] = -(a + b) * SCALE
    o[6] = n + 1 & 3
    o[7] = (n & 6) * 2 - (1 - (2 - n))
    o[8] = n / 2
    o[9] = 7 / 2
    o[10] = abs(-a) - math.sqrt(b * b)
    o[11] = 3 * n + a
    o[12] = n * n * 0.1
    o[13] = float(n) / 4
    o[14] = 1000000 * 1000000


@numba.njit(error_model="numpy")
def conditions(a, b, o):
    o[0] = 1.0 if a < b else 0.0
    o[1] = 1.0 if not a < b else 0.0
    o[2] = 1.0 if a != a else 0.0
    o[3] = 1.0 if a == b or (a > 0.0 and b > 0.0) else 0.0
    o[4] = 1.0 if (a == b or a > 0.0) and b > 0.0 else 0.0
    o[5] = 1.0 if not (a <= b and b <= a) else 2.0 if a >= b else 3.0
    o[6] = (a if a > b else b) - (b if a > b else a)
    good = True
    if not (abs(a) < 1e3 and abs(b) < 1e3):
        good = False
    o[7] = 1.0 if good else 0.0
    if a < -1.0:
        o[8] = 1.0
    elif a < 1.0:
        o[8] = 2.0
    else:
        o[8] = 3.0


@numba.njit(error_model="numpy")
def rounding(a, o):
    o[0] = int(a)
    o[1] = math.floor(a)
    o[2] = math.ceil(a)
    o[3] = -int(a) & 3
    o[4] = int(math.floor(a) * 0.5)


@numba.njit(error_model="numpy")
def helper(n, w):
    for i in range(n):
        w[i] += i
    return n + LIMIT


@numba.njit(error_model="numpy")
def nested(n, o):
    bound = n
    for i in range(bound):
        bound -= 1  # the bound of a loop is taken once
        for j in range(n - 1, i, -2):
            o[i] += 10 * j + i
    for i in range(1, n, 3):
        if i == 4:
            continue
        if i > 8:
            break
        o[i] -= 0.5
    double = n  # a word of C
    for register in range(double):
        o[register] *= 1.0 + register
    view = o[2:n]
    view[0] = helper(n - 3, view)
    for _ in range(2):
        k = helper(2, o[n - 2 : n])
        o[0] += k
    o[1] = np.nan if n > 1000 else math.pi


NUMBERS = [0.0, -0.0, 1.5, -1.5, 2.0, -7.25, 1e300, math.inf, -math.inf, math.nan, 5e-324]


@compiles
def test_arithmetic_binds_as_in_python(tmp_path):
    c = compiled(tmp_path, {"f": (precedence, [F, F, F, I, A])}).f
    for a, b, d in itertools.product(NUMBERS[2:6], repeat=3):
        for n in (-5, -1, 0, 3, 8):
            ours, theirs = np.zeros(15), np.zeros(15)
            c(a, b, d, n, *address(ours))
            precedence(a, b, d, n, theirs)
            assert ours.tobytes() == theirs.tobytes()


class Places(IntEnum):
    FIRST = 0
    LAST = 3


def enumerated(o):
    o[Places.LAST] = 2.0
    o[Places.LAST - 1] = o[Places.FIRST] + (Places.LAST * 2)


@compiles
def test_members_of_enumerations_are_integers(tmp_path):
    c = compiled(tmp_path, {"f": (enumerated, [A])}).f
    ours, theirs = np.zeros(4), np.zeros(4)
    c(*address(ours))
    enumerated(theirs)
    assert ours.tolist() == theirs.tolist() == [0.0, 0.0, 6.0, 2.0]


@compiles
def test_comparisons_treat_nan_and_zero_as_in_python(tmp_path):
    c = compiled(tmp_path, {"f": (conditions, [F, F, A])}).f
    for a, b in itertools.product(NUMBERS, repeat=2):
        ours, theirs = np.zeros(9), np.zeros(9)
        c(a, b, *address(ours))
        conditions(a, b, theirs)
        np.testing.assert_array_equal(ours, theirs)


@compiles
def test_rounding_of_either_sign(tmp_path):
    c = compiled(tmp_path, {"f": (rounding, [F, A])}).f
    for a in (0.0, 0.5, -0.5, 2.0, -2.0, 2.999, -2.999, 1e9 + 0.5, -1e9 - 0.5):
        ours, theirs = np.zeros(5), np.zeros(5)
        c(a, *address(ours))
        rounding(a, theirs)
        assert ours.tolist() == theirs.tolist()


@compiles
@pytest.mark.parametrize("n", [4, 5, 12])
def test_loops_and_views(tmp_path, n):
    c = compiled(tmp_path, {"f": (nested, [I, A])}).f
    ours = np.arange(float(n))
    theirs = ours.copy()
    c(n, *address(ours))
    nested(n, theirs)
    assert ours.tobytes() == theirs.tobytes()


@compiles
def test_own_elementary_functions_and_linear_algebra(tmp_path):
    entries = {"rt_sin": (sin, [F]), "rt_cos": (cos, [F]), "rt_exp": (exp, [F]), "rt_lu": (lu, [I, A, I, I]),
        "rt_solve": (lu_solve, [I, A, I, I, I])}  # fmt: skip
    c = compiled(tmp_path, entries, rt_sin=ctypes.c_double, rt_cos=ctypes.c_double, rt_exp=ctypes.c_double)
    rng = np.random.default_rng(1)
    for x in [*rng.normal(scale=30.0, size=2000), *NUMBERS[:6], 99999.9, 1e5]:
        for ours, theirs in ((c.rt_sin(x), sin(x)), (c.rt_cos(x), cos(x)), (c.rt_exp(x), exp(x))):
            assert np.float64(ours).tobytes() == np.float64(theirs).tobytes() or (ours != ours and theirs != theirs)
    for n in (1, 4, 7):
        ours = rng.normal(size=n * n + 2 * n)
        theirs = ours.copy()
        c.rt_lu(n, *address(ours), 0, n * n)
        c.rt_solve(n, *address(ours), 0, n * n, n * n + n)
        lu(n, theirs, 0, n * n)
        lu_solve(n, theirs, 0, n * n, n * n + n)
        assert ours.tobytes() == theirs.tobytes()


# --- what is refused --------------------------------------------------------------------------------------------------

HEAD = script("translate", "head")


@mistakes
def test_what_is_outside_the_subset_is_refused_with_file_and_line(tmp_path, about, text, message):
    file = tmp_path / "outside.py"
    file.write_text(HEAD + text + "\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("outside", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(TranslationError) as refused:
        lower({"f": (module.f, [F, I, A])})
    where, _, said = str(refused.value).partition(": ")
    name, _, line = where.rpartition(":")
    assert name == str(file)
    first, last = HEAD.count("\n") + 1, HEAD.count("\n") + 1 + text.count("\n")
    own_line = about in ("half a result", "variable and loop of one name")  # of the kernel as a whole
    assert own_line or first <= int(line) <= last
    assert message in said


def test_constants_of_one_name_that_differ_have_names_of_their_own():
    one, other = make_pair()
    program = lower({"one": (one, [A]), "other": (other, [A])})
    found = {name: value for name, value in program.constants.items() if name.endswith("LIMIT")}
    assert sorted(found.values()) == [3, 4]


@kernel
def cosine_of_first(o):
    o[0] = elementary.cos(o[0])


@compiles
def test_a_kernel_is_called_by_the_name_of_its_module(tmp_path):
    library = compiled(tmp_path, {"cosine": (cosine_of_first, [A])}, cosine=None)
    o = (ctypes.c_double * 1)(1.0)
    library.cosine(o)
    assert o[0] == cos(1.0)


@kernel
def add_first(o, p):
    o[0] += p[0]


@kernel
def add_both(o, p):
    add_first(o, p)
    add_first(o, o)


def test_a_kernel_of_arrays_and_of_constants_is_two_functions(tmp_path):
    functions = lower({"add_both": (add_both, [A, C])}).functions
    assert [kind for _, kind in functions["rt_add_first"].parameters] == [A, C]
    assert [kind for _, kind in functions["rt_add_first_2"].parameters] == [A, A]
    library = compiled(tmp_path, {"add_both": (add_both, [A, C])}, add_both=None)
    o, p = (ctypes.c_double * 1)(1.0), (ctypes.c_double * 1)(2.0)
    library.add_both(o, p)
    assert o[0] == 6.0


def make_pair():
    """Two kernels of one text that read constants of different modules."""

    def take_limit(o):
        o[0] = LIMIT

    other = types.FunctionType(take_limit.__code__, {**globals(), "LIMIT": 4})
    other.__module__ = __name__
    return take_limit, other


# --- the models -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    tools.require(["cc"])
    status = ctypes.c_int64
    return compiled(tmp_path_factory.mktemp("kernels"), MODEL, rt_initialise=status, rt_step=status)


def same(a, b):
    return a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("name", "fidelity"),
    [
        ("toroidal_kers", "full"),
        ("half_toroidal_variator", "hybrid"),
        *(slow(name, f) for name in shipped_units("gear_system") for f in load_unit(name).models),
    ],
)
def test_every_unit_gives_the_same_bits_in_c(library, name, fidelity):
    model = build_model(load_unit(name), fidelity)
    one, other = model.instantiate(), model.instantiate()
    nominal = np.array([v.nominal or 1.0 for v in model.select("input")])
    rng = np.random.default_rng(7)
    start = one.u.copy()
    one.initialise()
    assert library.rt_initialise(*address(other.p, model.data, other.u, other.x, other.work)) == OK
    library.rt_output(0.0, *address(other.x, other.u, other.p, model.data, other.y, other.work))
    assert same(one.x, other.x)
    assert same(one.y, other.y)
    n = len(one.x)
    wave = rng.uniform(0.5, 5.0, size=len(start))
    seen = set()
    for k in range(3000):
        u = start + 0.3 * nominal * np.sin(wave * k * 1e-2)
        if k % 500 == 250:
            u[rng.integers(len(u))] = rng.choice([np.nan, np.inf, 1e13])
        h = (1e-3, 5e-4, 1.7e-3)[k % 3]
        one.u[:] = other.u[:] = u
        status = one.step(h)
        seen.add(status)
        found = library.rt_step(0.0, h, *address(other.x, other.u, other.p, model.data, other.y, other.work))
        assert found == status
        assert same(one.x, other.x)
        assert same(one.y, other.y)
        if k % 100 == 0 and status != FAILED:
            dx, jac = np.zeros(n), np.zeros(n * n)
            library.rt_derivative(0.0, *address(other.x, other.u, other.p, model.data, dx, other.work))
            library.rt_jacobian(0.0, *address(other.x, other.u, other.p, model.data, jac, other.work))
            assert same(one.derivative(), dx)
            assert same(one.jacobian().ravel(), jac)
    assert {OK, FAILED} <= seen


# --- rows of numbers --------------------------------------------------------------------------------------------------

ROWS = Path(__file__).with_name("rows.c").read_text(encoding="utf-8")


@compiles
@pytest.mark.parametrize("flags", [["-O2"], ["-O3"], ["-O3", "-fsanitize=address"]])
def test_both_forms_of_a_kernel_of_rows_have_the_same_bits(flags, tmp_path):
    program = lower({"rt_add_rows": (add_rows, [I, I, A, C, A])})
    assert program.functions["rt_add_rows"].of_rows
    (tmp_path / "kernels.c").write_text(print_c(program, "Rows."))
    (tmp_path / "main.c").write_text(ROWS)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-ffp-contract=off", *flags]
    built = subprocess.run([*command, str(tmp_path / "main.c"), "-o", str(tmp_path / "rows"), "-lm"],
                           capture_output=True, text=True)  # fmt: skip
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "rows")], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["0"]), done.stderr


def test_logarithm_and_exponential_shift_by_whole_powers_of_two():
    """Whatever the number of their rounds: ln and exp of 2^k x differ from those of x by what k says, on both sides of
    where the rounds change."""
    for k in (-300, -17, -16, -15, -14, -2, -1, 0, 1, 14, 15, 16, 17, 300):
        for x in (1.0, 1.0 + 2**-52, 1.4142135623730951, 1.7, 2.0 - 2**-52):
            exact = math.log(x * 2.0**k)
            assert log(x * 2.0**k) == pytest.approx(exact, rel=1e-15, abs=1e-16)
    for x in np.linspace(-690.0, 690.0, 2001):
        assert exp(x) == pytest.approx(math.exp(x), rel=3e-16)
