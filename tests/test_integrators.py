"""Order, stability and exactness of the fixed-step methods, on a nonlinear stiff model and on the test equation."""

import itertools

import numpy as np
import pytest
from instances import started, stepped
from rows import cases

from rtcvt.kind import load_unit
from rtcvt.numerics import integrators
from rtcvt.pog.system import build_model
from rtcvt.pog.unit import GearSystem
from rtcvt.unitfile import parse_table


def advance(method, f, jacobian, x, h):
    """One step of either method for Python functions."""
    n = len(x)
    x, k, stage_x = np.array(x, float), np.zeros(integrators.STAGES * n), np.zeros(n)
    work = np.zeros(n * n + 2 * n)
    if method == integrators.RK4:
        for s in range(integrators.STAGES):
            integrators.rk4_stage(s, n, h, x, k, stage_x)
            k[s * n : (s + 1) * n] = f(stage_x)
        integrators.rk4_new(n, h, x, k)
        return x
    integrators.rosenbrock_matrix(n, h, np.ascontiguousarray(jacobian(x)).ravel(), work, 0, n * n)
    value = f(x)
    for s in range(integrators.STAGES):
        if s >= 2:
            integrators.rosenbrock_stage(s, n, x, k, stage_x)
            value = f(stage_x)
        integrators.rosenbrock_solve(s, n, h, value, k, work, 0, n * n, n * n + n)
    integrators.rosenbrock_new(n, x, k)
    return x


def pendulum(x):
    return np.array([x[1], -np.sin(x[0]) - 0.1 * x[1] ** 3])


def pendulum_jacobian(x):
    return np.array([[0.0, 1.0], [-np.cos(x[0]), -0.3 * x[1] ** 2]])


def orders(errors, factor=2.0):
    return [float(np.log(a / b) / np.log(factor)) for a, b in itertools.pairwise(errors)]


@pytest.mark.parametrize(("method", "order"), [(integrators.RK4, 4), (integrators.ROSENBROCK, 3)])
def test_order_on_a_pendulum(method, order):
    def solve(n):
        x = np.array([1.0, 0.8])
        for _ in range(n):
            x = advance(method, pendulum, pendulum_jacobian, x, 1.0 / n)
        return x

    exact = solve(2048) if method == integrators.RK4 else solve(4096)
    measured = orders([np.abs(solve(n) - exact).max() for n in (8, 16, 32, 64)])
    assert all(abs(m - order) < 0.25 for m in measured), measured


def test_rosenbrock_is_l_stable():
    """Its stability function 1/(1 - z/2)^4 times a polynomial of degree 3 vanishes at infinity."""

    def growth(z):
        return advance(integrators.ROSENBROCK, lambda x: z * x, lambda x: np.array([[z]]), [1.0], 1.0)[0]

    assert abs(growth(-1e8)) < 1e-6
    assert all(abs(growth(-z)) <= 1.0 for z in np.logspace(-3, 8, 200))
    assert all(abs(advance_complex(1j * y)) <= 1.0 + 1e-12 for y in np.logspace(-2, 3, 200))


def advance_complex(z):
    """Growth on x' = z x as a real system of two."""
    A = np.array([[z.real, -z.imag], [z.imag, z.real]])
    x = advance(integrators.ROSENBROCK, lambda x: A @ x, lambda x: A, [1.0, 0.0], 1.0)
    return complex(*x)


def kers(method, step):
    unit = load_unit("toroidal_kers")
    data = unit.model_dump(exclude_unset=True) | {"source": unit.source, "solver": {"method": method, "step": step}}
    return build_model(parse_table(GearSystem, data, "kers"), "full")


@cases
def test_order_on_the_full_unit_in_closed_loop(method, order, steps):
    """Ten states, poles to 3e5 rad/s, tilt, sine and cosine, controller: a smooth 2 ms with no limit active."""

    def solve(h):
        instance = started(kers(method, h), control__tau_des=0.6)
        assert instance.step(2e-3) == 0
        return instance.x.copy()

    exact = solve(2.5e-7)
    scale = np.abs(exact) + 1e-3
    errors = [float((np.abs(solve(h) - exact) / scale).max()) for h in steps]
    measured = orders(errors)
    assert all(m > order - 0.5 for m in measured), (errors, measured)


def test_communication_steps_are_cut_into_internal_steps():
    """10 ms in one call are the same bits as ten calls of 1 ms: inputs are held either way."""
    a, b = (build_model(load_unit("toroidal_kers"), "rigid").instantiate() for _ in range(2))
    for i in (a, b):
        i.initialise()
        i.set("control.tau_des", 2.0)
    a.step(10e-3)
    stepped(b, 10)
    assert np.allclose(a.x, b.x, rtol=1e-13)
