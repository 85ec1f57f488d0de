"""Flywheel with a viscous bearing, a complete kind of part::

    J w' = tau - b w,    tau w = d/dt (J w^2/2) + b w^2

Its check compares the model with the exact solution under a constant torque,
``w(t) = tau/b + (w(0) - tau/b) exp(-b t/J)``.
"""

import sys
from typing import Literal

import numpy as np

from rtcvt.html import ErrorRow, error_table, page
from rtcvt.kernel import kernel
from rtcvt.kind import Checked, Kind, Task
from rtcvt.model.frame import Shaft, framed
from rtcvt.part import Part, built
from rtcvt.simulate import simulate
from rtcvt.table import LOSS, STORED, Row, Rows


class P(Rows):
    """Parameters."""

    J = Row("flywheel.J", "kg.m2", "moment of inertia", 1e-9)
    B = Row("flywheel.b", "N.m.s/rad", "viscous friction of the bearing", 1e-9, tunable=True)
    W_START = Row("flywheel.w_start", "rad/s", "speed at the start", nominal=100.0, display="rpm")


class U(Rows):
    """Inputs."""

    TAU = Row("shaft.tau", "N.m", "torque into the flywheel", nominal=100.0)


class X(Rows):
    """States."""

    W = Row("flywheel.w", "rad/s", "speed", nominal=100.0)


class Y(Rows):
    """Outputs."""

    W = Row("shaft.w", "rad/s", "speed", nominal=100.0, display="rpm")
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=1e3, display="kJ", books=STORED)
    LOST = Row("loss.bearing", "W", "power lost in the bearing", 0.0, nominal=10.0, books=LOSS)


@kernel
def start(p, data, u, x):
    """Start at the start speed."""
    x[X.W] = p[P.W_START]
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rate of the speed."""
    dx[X.W] = (u[U.TAU] - p[P.B] * x[X.W]) / p[P.J]


@kernel
def df_dx(x, u, p, data, jac):
    """Its derivative."""
    jac[X.W] = -p[P.B] / p[P.J]


@kernel
def output(t, x, u, p, data, y, work):
    """Speed, energy and loss."""
    y[Y.W] = x[X.W]
    y[Y.E] = 0.5 * p[P.J] * x[X.W] * x[X.W]
    y[Y.LOST] = p[P.B] * x[X.W] * x[X.W]


framed(vars(), flanges={U.TAU: Shaft(X.W, P.J)})


class Flywheel(Part):
    """A unit file of this kind."""

    kind: Literal["flywheel"]


def build(unit, fidelity="rigid", substeps=None):
    """Its real-time model."""
    return built(unit, sys.modules[__name__], substeps)


def check(unit, given, progress):
    """Compare the speed with the exact solution."""
    run = simulate(build(unit), unit.scenario[0])
    J, b, w_start = (run.parameter(f"flywheel.{name}") for name in ("J", "b", "w_start"))
    w_end = unit.scenario[0].inputs["shaft.tau"] / b
    off = np.abs(run["shaft.w"] - w_end - (w_start - w_end) * np.exp(-b / J * run.time)).max()
    error = ErrorRow("", "shaft.w", "rad/s", off / np.abs(run["shaft.w"]).max(), 1e-9, off)
    failures = [f"shaft.w is off by {off:.1e} rad/s"] if error.nrms > error.limit else []
    return Checked(page(unit.name, error_table([error])), {"shaft.w": error.nrms}, ["exact"], failures)


KIND = Kind(
    names=("flywheel",), title="flywheels", read=lambda file: file.parse(Flywheel), fidelities={"rigid": ""},
    build=build, check=Task(check),
)  # fmt: skip
