"""Tangents of translated kernels: the chain rule on every construct of the subset, values to the same bits."""

import ctypes
import math
import subprocess

import numpy as np
import pytest

from rtcvt.fmu.native.tangent import add_tangents
from rtcvt.fmu.translate import lower, print_c
from rtcvt.kernel import kernel
from rtcvt.numerics.elementary import cos, sin
from rtcvt.numerics.linalg import lu, lu_solve

F, I, A, C = "float64", "int64", "array", "constants"  # noqa: E741

pytestmark = pytest.mark.needs("cc")


@kernel
def square(a):
    return a * a


@kernel
def scale(n, factor, o):
    for i in range(n):
        o[i] *= factor
    return n


@kernel
def everything(a, b, p, o, w):
    o[0] = a + b - 2.0 * a
    o[1] = a * b * b
    o[2] = a / b
    o[3] = 3.0 / b
    o[4] = -a / 4.0
    o[5] = math.sqrt(a * b)
    o[6] = abs(a - b) + abs(b - a)
    o[7] = a if a > b else b * b
    o[8] = math.floor(a) * b + int(b)
    o[9] = sin(a) * cos(2.0 * b)
    o[10] = square(a) - square(a + b) * p[0]
    o[11] = a
    o[11] += b * b
    o[11] -= a * b
    o[11] *= b
    o[11] /= a
    s = a
    s *= s
    s /= b
    o[12] = s
    k = scale(2, b, o[11:13])
    o[13] = k * a
    for i in range(3):
        w[i] = p[i] * a
        o[14] += w[i]
    if p[0] > 0.0:
        o[14] = o[14] * o[14]
    o[15] = p[1]
    t = p[2]
    if a > 0.0:
        t = square(b)
    o[16] = t


@kernel
def solve(a, w):
    w[0] = a
    w[1] = 1.0
    w[2] = 2.0
    w[3] = a * a
    w[6] = 1.0
    w[7] = a
    lu(2, w, 0, 4)
    lu_solve(2, w, 0, 4, 6)


@kernel
def lazily(a, o):
    """Skip the work if `a` is as it was."""
    if o[0] == a:
        return
    o[0] = a
    o[1] = a * a


@kernel
def largest(n, w, o):
    best = 0
    most = abs(w[0])
    for i in range(1, n):
        size = abs(w[i])
        if size > most:
            best = i
            most = size
    o[0] = w[best]


def compiled(folder, name, function, types):
    program = add_tangents(lower({name: (function, types)}), [name])
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(print_c(program, "Test.", [name, name + "_tangent"], static=False), encoding="utf-8")
    command = ["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off", "-shared",
        "-fPIC"]  # fmt: skip
    done = subprocess.run([*command, str(source), "-o", str(library), "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return getattr(ctypes.CDLL(str(library)), name + "_tangent")


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize(("a", "b"), [(1.3, 0.7), (0.4, 2.6), (2.1, 2.2)])
def test_the_chain_rule_on_every_construct(tmp_path, a, b):
    tangent = compiled(tmp_path, "everything", everything, [F, F, C, A, A])
    p = np.array([0.5, -2.0, 3.0])

    def values(a, b):
        o = np.zeros(17)
        everything(a, b, p, o, np.zeros(3))
        return o

    for da, db in ((1.0, 0.0), (0.0, 1.0), (0.3, -2.0)):
        o, o_dot, w, w_dot = np.zeros(17), np.zeros(17), np.zeros(3), np.zeros(3)
        args = [ctypes.c_double(v) for v in (a, da, b, db)]
        tangent(*args, pointer(p), pointer(o), pointer(o_dot), pointer(w), pointer(w_dot))
        assert o.tobytes() == values(a, b).tobytes()
        h = 1e-5
        quotient = (values(a + h * da, b + h * db) - values(a - h * da, b - h * db)) / (2 * h)
        np.testing.assert_allclose(o_dot, quotient, rtol=1e-7, atol=1e-8)


def test_through_a_linear_system(tmp_path):
    tangent = compiled(tmp_path, "solve", solve, [F, A])
    w, w_dot = np.zeros(8), np.zeros(8)
    a = 1.9
    tangent(ctypes.c_double(a), ctypes.c_double(1.0), pointer(w), pointer(w_dot))
    matrix, d_matrix = np.array([[a, 1.0], [2.0, a * a]]), np.array([[1.0, 0.0], [0.0, 2 * a]])
    x = np.linalg.solve(matrix, [1.0, a])
    np.testing.assert_allclose(w[6:], x, rtol=1e-14)
    np.testing.assert_allclose(w_dot[6:], np.linalg.solve(matrix, np.array([0.0, 1.0]) - d_matrix @ x), rtol=1e-13)


def test_work_is_skipped_only_if_the_direction_is_the_same_too(tmp_path):
    tangent = compiled(tmp_path, "lazily", lazily, [F, A])
    o, o_dot = np.zeros(2), np.zeros(2)
    for seed in (0.0, 1.0, -3.0):
        tangent(ctypes.c_double(2.0), ctypes.c_double(seed), pointer(o), pointer(o_dot))
        assert (o.tolist(), o_dot.tolist()) == ([2.0, 4.0], [seed, 4.0 * seed])


def test_what_is_only_compared_has_no_companion(tmp_path):
    """The C compiler would warn of one that is set and never read, which is an error here."""
    tangent = compiled(tmp_path, "largest", largest, [I, A, A])
    assert "size_dot" not in (tmp_path / "largest.c").read_text()
    w, w_dot, o, o_dot = np.array([1.0, -5.0, 3.0]), np.array([7.0, 8.0, 9.0]), np.zeros(1), np.zeros(1)
    tangent(ctypes.c_int64(3), pointer(w), pointer(w_dot), pointer(o), pointer(o_dot))
    assert (o[0], o_dot[0]) == (-5.0, 8.0)


@kernel
def in_branches(a, b, o):
    o[0] = square(a) if a > b else 3.0 * square(b) if b < 2.0 else b
    o[1] = 0.0
    if (a > b and square(b) < 1.0) or not (a < 0.5 and square(a) > 0.01):
        o[1] = a * b


@pytest.mark.parametrize(("a", "b"), [(1.3, 0.7), (0.4, 2.6), (0.4, 1.1), (1.3, 1.2)])
def test_calls_in_branches_are_made_only_there(tmp_path, a, b):
    tangent = compiled(tmp_path, "in_branches", in_branches, [F, F, A])
    o, o_dot = np.zeros(2), np.zeros(2)
    tangent(*(ctypes.c_double(v) for v in (a, 1.0, b, -2.0)), pointer(o), pointer(o_dot))
    by_b = (2.0 * a) if a > b else -12.0 * b if b < 2.0 else -2.0
    assert o_dot.tolist() == pytest.approx([by_b, b - 2.0 * a if a != 0.4 else 0.0])
