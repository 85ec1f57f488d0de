"""Driveline as real-time kernels.

A half-shaft (spring and damper) and a final drive, with ``w = i w_axle`` without twist::

    phi' = w_axle - w/i,   tau_axle = K phi + d phi'
    J w' = tau_axle/i - (mu |tau_axle|/i + tau_0) sigma(w) - b w - tau_load

The loss of the teeth is proportional to their torque, and is positive in both directions of power. Seals and preloaded
bearings have the drag tau_0, zero by default.

Torques count into the part, except those named ``load``: a load is the torque into the neighbour, its ``NAME.tau``. Two
flanges can then be connected without a change of sign.
"""

import math

from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.table import LOSS, STORED, TINY, Row, Rows


class P(Rows):
    """Parameters."""

    RATIO = Row("driveline.i", "1", "gear ratio, speed of the shaft divided by speed of the axle", TINY)
    K = Row("driveline.K", "N.m/rad", "torsional stiffness of the half-shafts, at the axle", TINY)
    D = Row("driveline.d", "N.m.s/rad", "damping of the half-shafts, at the axle", 0.0, tunable=True)
    J = Row("driveline.J", "kg.m2", "moment of inertia of final drive and shaft, at the shaft", TINY)
    B = Row("driveline.b", "N.m.s/rad", "viscous friction, at the shaft", 0.0, tunable=True)
    MU = Row("driveline.mu", "1", "fraction of the torque that is lost in the teeth", 0.0, tunable=True)
    TAU_0 = Row("driveline.tau_0", "N.m", "drag at any speed, at the shaft", 0.0, nominal=1.0, tunable=True)
    W_0 = Row("driveline.w_0", "rad/s", "regularisation speed of the two: 71 % of the full value there", 1e-4,
              tunable=True)  # fmt: skip
    W_START = Row.speed("driveline.w_start", "speed of the shaft at the start")


class U(Rows):
    """Inputs."""

    AXLE_W = Row.speed("axle.w", "speed of the axle")
    LOAD = Row("shaft.load", "N.m", "torque into the unit at the shaft", nominal=100.0)


class X(Rows):
    """States."""

    PHI = Row("driveline.phi", "rad", "twist of the half-shafts, at the axle", nominal=0.1)
    W = Row("driveline.w", "rad/s", "speed of the shaft", nominal=100.0)


class Y(Rows):
    """Outputs."""

    AXLE_TAU = Row("axle.tau", "N.m", "torque into the driveline at the axle", nominal=1e3)
    W = Row.speed("shaft.w", "speed of the shaft")
    E = Row("storage.E", "J", "energy stored in half-shafts and final drive", 0.0, nominal=1e3, display="kJ",
            books=STORED)  # fmt: skip
    LOST = Row("driveline.P_loss", "W", "lost power", 0.0, nominal=1e3, display="kW", books=LOSS)


N_X = len(X)


@kernel
def smooth_sign(v, v_0):
    """sigma(v)."""
    return v / math.sqrt(v * v + v_0 * v_0)


@kernel
def smooth_sign_slope(v, v_0):
    """``d sigma/dv``."""
    s = v * v + v_0 * v_0
    return v_0 * v_0 / (s * math.sqrt(s))


@kernel
def axle_torque(x, u, p):
    """Torque of the half-shaft [N.m]."""
    return p[P.K] * x[X.PHI] + p[P.D] * (u[U.AXLE_W] - x[X.W] / p[P.RATIO])


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of phi and w."""
    tau = axle_torque(x, u, p)
    carried = (tau - p[P.MU] * abs(tau) * smooth_sign(x[X.W], p[P.W_0])) / p[P.RATIO]
    dx[X.PHI] = u[U.AXLE_W] - x[X.W] / p[P.RATIO]
    dx[X.W] = (carried - p[P.TAU_0] * smooth_sign(x[X.W], p[P.W_0]) - p[P.B] * x[X.W] - u[U.LOAD]) / p[P.J]


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    tau = axle_torque(x, u, p)
    sign = 1.0 if tau > 0.0 else -1.0
    carried = (1.0 - p[P.MU] * sign * smooth_sign(x[X.W], p[P.W_0])) / p[P.RATIO]  # per N.m at the axle
    jac[1] = -1.0 / p[P.RATIO]
    jac[2] = carried * p[P.K] / p[P.J]
    drag = p[P.MU] * abs(tau) / p[P.RATIO] + p[P.TAU_0]
    jac[3] = -carried * p[P.D] / p[P.RATIO] - drag * smooth_sign_slope(x[X.W], p[P.W_0]) - p[P.B]
    jac[3] /= p[P.J]


@kernel
def output(t, x, u, p, data, y, work):
    """Torque at the axle, speed of the shaft, stored energy and lost power."""
    tau = axle_torque(x, u, p)
    twist = u[U.AXLE_W] - x[X.W] / p[P.RATIO]
    w = x[X.W]
    y[Y.AXLE_TAU] = tau
    y[Y.W] = w
    y[Y.E] = 0.5 * p[P.K] * x[X.PHI] * x[X.PHI] + 0.5 * p[P.J] * w * w
    drag = p[P.MU] * abs(tau) / p[P.RATIO] + p[P.TAU_0]
    y[Y.LOST] = p[P.D] * twist * twist + (drag * smooth_sign(w, p[P.W_0]) + p[P.B] * w) * w


@kernel
def start(p, data, u, x):
    """Start at the start speed, nothing twisted."""
    x[X.PHI] = 0.0
    x[X.W] = p[P.W_START]
    return True


@kernel
def flange(k, x, u, p, data, work):
    """Speed of the shaft, torque at the axle."""
    if k == U.LOAD:
        return x[X.W]
    return axle_torque(x, u, p)


@kernel
def port(k, x, u, p, data, row, column, work):
    """See `rtcvt.model.Coupling`."""
    for i in range(N_X):
        row[i] = 0.0
        column[i] = 0.0
    if k == U.LOAD:
        row[X.W] = 1.0
        column[X.W] = -1.0 / p[P.J]
        return 0.0
    row[X.PHI] = p[P.K]
    row[X.W] = -p[P.D] / p[P.RATIO]
    column[X.PHI] = 1.0
    sign = 1.0 if axle_torque(x, u, p) > 0.0 else -1.0
    carried = 1.0 - p[P.MU] * sign * smooth_sign(x[X.W], p[P.W_0])
    column[X.W] = carried / p[P.RATIO] * p[P.D] / p[P.J]
    return p[P.D]


@kernel
def piece(x, u, p, data, work):
    """The way in which torque is carried, on which the loss depends."""
    return 1.0 if axle_torque(x, u, p) > 0.0 else -1.0


framed(vars())
