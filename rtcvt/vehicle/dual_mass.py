"""Dual-mass flywheel as real-time kernels: two inertias with arc springs of two stages and their friction.

Of the twist ``phi' = v = w_1 - w_2`` the springs have the stiffness K_1 up to phi_1, K_2 beyond; grease is a damper d.
Friction of the arc springs in their channel grows with the centrifugal force. It is elastic below its capacity C and
slides there, which gives the closed loops of Masing's rules (Schaper, Sawodny, Mahl and Blessing, *Modeling and torque
estimation of an automotive dual mass flywheel*, ACC 2009)::

    J_1 w_1' = tau_1 - T,    J_2 w_2' = tau_2 + T,    T = K_1 phi + (K_2 - K_1)(phi - clip(phi, +-phi_1)) + d v + F
    F = min(max(e, -C), C),    e = f + K_r T_r v,    C = C_0 + c w_1^2
    f' = K_r v where |e| < C,  (F - f)/T_r where they slide

Sticking and sliding are those of a clutch (`rtcvt.clutch.kernels`). Power is balanced, with r = v or, where the springs
slide, ``(F - f)/(K_r T_r)``::

    tau_1 w_1 + tau_2 w_2 = d/dt (J_1 w_1^2/2 + J_2 w_2^2/2 + E_s + f^2/(2 K_r)) + d v^2 + F v - f r
"""

from rtcvt.kernel import kernel
from rtcvt.model.frame import Shaft, framed
from rtcvt.numerics.elementary import clip
from rtcvt.table import LOSS, STORED, TINY, Row, Rows


class P(Rows):
    """Parameters."""

    J_1 = Row("flywheel.J_1", "kg.m2", "moment of inertia of the primary mass", TINY)
    J_2 = Row("flywheel.J_2", "kg.m2", "moment of inertia of the secondary mass", TINY)
    K_1 = Row("flywheel.K_1", "N.m/rad", "stiffness of the first stage", 0.0)
    K_2 = Row("flywheel.K_2", "N.m/rad", "stiffness beyond it", 0.0)
    PHI_1 = Row("flywheel.phi_1", "rad", "twist at the end of the first stage", 0.0, display="deg")
    D = Row("flywheel.d", "N.m.s/rad", "damping by grease", 0.0, tunable=True)
    C_0 = Row("flywheel.C_0", "N.m", "friction at rest", 0.0, tunable=True)
    C_W = Row("flywheel.c", "N.m.s2/rad2", "growth of friction with the square of speed", 0.0, nominal=1e-4,
              tunable=True)  # fmt: skip
    K_R = Row("flywheel.K_r", "N.m/rad", "stiffness of friction before it slides", TINY)
    T_R = Row("flywheel.T_r", "s", "time constant with which friction reaches its capacity", 1e-5, nominal=1e-3)
    W_START = Row.speed("flywheel.w_start", "speed at the start")


class U(Rows):
    """Inputs."""

    TAU_1 = Row("primary.tau", "N.m", "torque into the primary mass", nominal=100.0)
    TAU_2 = Row("secondary.tau", "N.m", "torque into the secondary mass", nominal=100.0)


class X(Rows):
    """States."""

    W_1 = Row("flywheel.w_1", "rad/s", "speed of the primary mass", nominal=100.0)
    W_2 = Row("flywheel.w_2", "rad/s", "speed of the secondary mass", nominal=100.0)
    PHI = Row("flywheel.phi", "rad", "twist", nominal=0.1)
    F = Row("flywheel.f", "N.m", "elastic friction", nominal=10.0)


class Y(Rows):
    """Outputs."""

    W_1 = Row.speed("primary.w", "speed of the primary mass")
    W_2 = Row.speed("secondary.w", "speed of the secondary mass")
    PHI = Row("flywheel.phi", "rad", "twist", nominal=0.1, display="deg")
    TAU = Row("flywheel.tau", "N.m", "torque of springs, friction and grease", nominal=100.0)
    FRICTION = Row("flywheel.F", "N.m", "friction", nominal=10.0)
    E = Row("storage.E", "J", "kinetic and elastic energy", 0.0, nominal=1e3, display="kJ", books=STORED)
    LOST = Row("loss.flywheel", "W", "power lost by friction and in the grease", 0.0, nominal=100.0, books=LOSS)


N_X = len(X)


@kernel
def capacity(x, p):
    """C [N.m]."""
    return p[P.C_0] + p[P.C_W] * x[X.W_1] * x[X.W_1]


@kernel
def sticking_torque(x, p):
    """e [N.m]."""
    return x[X.F] + p[P.K_R] * p[P.T_R] * (x[X.W_1] - x[X.W_2])


@kernel
def friction(x, p):
    """F [N.m]."""
    C = capacity(x, p)
    return clip(sticking_torque(x, p), -C, C)


@kernel
def piece(x, u, p, data, work):
    """0 where friction is elastic, else its sign."""
    e = sticking_torque(x, p)
    if abs(e) < capacity(x, p):
        return 0.0
    return 1.0 if e > 0.0 else -1.0


@kernel
def beyond(x, p):
    """Twist beyond the first stage [rad]."""
    return x[X.PHI] - clip(x[X.PHI], -p[P.PHI_1], p[P.PHI_1])


@kernel
def torque(x, p):
    """T [N.m]."""
    springs = p[P.K_1] * x[X.PHI] + (p[P.K_2] - p[P.K_1]) * beyond(x, p)
    return springs + p[P.D] * (x[X.W_1] - x[X.W_2]) + friction(x, p)


@kernel
def stretching(x, p):
    """r: rate of the elastic twist of friction [rad/s]."""
    if abs(sticking_torque(x, p)) < capacity(x, p):
        return x[X.W_1] - x[X.W_2]
    return (friction(x, p) - x[X.F]) / (p[P.K_R] * p[P.T_R])


@kernel
def start(p, data, u, x):
    """Start at the start speed, not twisted."""
    x[X.W_1] = p[P.W_START]
    x[X.W_2] = p[P.W_START]
    x[X.PHI] = 0.0
    x[X.F] = 0.0
    return True


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of the states."""
    T = torque(x, p)
    dx[X.W_1] = (u[U.TAU_1] - T) / p[P.J_1]
    dx[X.W_2] = (u[U.TAU_2] + T) / p[P.J_2]
    dx[X.PHI] = x[X.W_1] - x[X.W_2]
    dx[X.F] = p[P.K_R] * stretching(x, p)


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    e = sticking_torque(x, p)
    elastic = 1.0 if abs(e) < capacity(x, p) else 0.0
    by_1 = p[P.D] + elastic * p[P.K_R] * p[P.T_R]
    by_2 = -by_1
    growth = 0.0 if elastic == 1.0 else 2.0 * p[P.C_W] * x[X.W_1] * (1.0 if e > 0.0 else -1.0)  # of F with w_1
    by_1 += growth
    by_phi = p[P.K_2] if beyond(x, p) != 0.0 else p[P.K_1]
    jac[X.W_1 * N_X + X.W_1] = -by_1 / p[P.J_1]
    jac[X.W_1 * N_X + X.W_2] = -by_2 / p[P.J_1]
    jac[X.W_1 * N_X + X.PHI] = -by_phi / p[P.J_1]
    jac[X.W_1 * N_X + X.F] = -elastic / p[P.J_1]
    jac[X.W_2 * N_X + X.W_1] = by_1 / p[P.J_2]
    jac[X.W_2 * N_X + X.W_2] = by_2 / p[P.J_2]
    jac[X.W_2 * N_X + X.PHI] = by_phi / p[P.J_2]
    jac[X.W_2 * N_X + X.F] = elastic / p[P.J_2]
    jac[X.PHI * N_X + X.W_1] = 1.0
    jac[X.PHI * N_X + X.W_2] = -1.0
    jac[X.F * N_X + X.W_1] = elastic * p[P.K_R] + growth / p[P.T_R]
    jac[X.F * N_X + X.W_2] = -elastic * p[P.K_R]
    jac[X.F * N_X + X.F] = (elastic - 1.0) / p[P.T_R]


@kernel
def output(t, x, u, p, data, y, work):
    """Speeds, twist, torques, energy and loss."""
    v = x[X.W_1] - x[X.W_2]
    F = friction(x, p)
    more = beyond(x, p)
    springs = p[P.K_1] * x[X.PHI] * x[X.PHI] + (p[P.K_2] - p[P.K_1]) * more * more
    y[Y.W_1] = x[X.W_1]
    y[Y.W_2] = x[X.W_2]
    y[Y.PHI] = x[X.PHI]
    y[Y.TAU] = torque(x, p)
    y[Y.FRICTION] = F
    y[Y.E] = 0.5 * (p[P.J_1] * x[X.W_1] * x[X.W_1] + p[P.J_2] * x[X.W_2] * x[X.W_2] + springs)
    y[Y.E] += 0.5 * x[X.F] * x[X.F] / p[P.K_R]
    y[Y.LOST] = p[P.D] * v * v + F * v - x[X.F] * stretching(x, p)


framed(vars(), flanges={U.TAU_1: Shaft(X.W_1, P.J_1), U.TAU_2: Shaft(X.W_2, P.J_2)})
