"""Kernels around a law in C with the four functions of `rtcvt.law.in_c`, which a copy of this module has instead of the
names here; the others are those of `rtcvt.law.kernels`."""

from typing import Any

from rtcvt.kernel import kernel
from rtcvt.law.in_c import FOUR
from rtcvt.law.kernels import D
from rtcvt.model.places import entry

named: dict[str, Any] = {**FOUR}
c_initialise, c_derivative, c_output, c_step = named.values()


@kernel
def begin(p, data, u, x, r):
    """Start state; returns the status."""
    return c_initialise(p, u, x[0 : entry(D.N_S, data)])


@kernel
def values(t, h, x, u, p, data, y, r):
    """Outputs at a sample."""
    c_output(t, x[0 : entry(D.N_S, data)], u, p, y)


@kernel
def following(t, h, x, u, p, data, y, new, r):
    """Outputs, and states at the next sample; returns the status."""
    n = entry(D.N_S, data)
    status = c_step(t, h, x[0:n], u, p, new, y)
    c_output(t, x[0:n], u, p, y)
    return status


@kernel
def derivative(t, x, u, p, data, dx, work):
    """x' of the states, 0 of held outputs."""
    n = entry(D.N_S, data)
    for i in range(entry(D.N_X, data)):
        dx[i] = 0.0
    c_derivative(t, x[0:n], u, p, dx[0:n])
