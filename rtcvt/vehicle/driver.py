"""Driver as real-time kernels.

A PI controller of speed demands a torque at the wheels; the KERS gives a share, and drive or brake the rest: the
measured torque of the KERS is filtered and subtracted::

    tau = K_p (v_des - v+) + z,    z' = K_i (v_des - v+) + (sat(tau) - tau)/T_t - h z/T_h,    v+ = max(v, 0)
    a'  = (tau_axle - a)/T_f,      tau_drive = max(tau_1, 0),    tau_1 = sat(tau) + a
    tau_brake = clip(max(h^2 tau_hold - tau_1, min(-v/v_h, 1) tau_brake_max), 0, tau_brake_max)
    tau_kers = -clip(tau, tau_kers_max) q (1 - h)/i,   h = v_h^2/(v_h^2 + v_des^2 + v+^2)

``T_t`` ends the wind-up of z at a limit, ``h`` is 1 while the vehicle stands still as demanded: the driver then resets
the integrator and applies the brake, until the drive is demanded again. Rolling backwards is stopped by the brakes
alone. The demand on the KERS fades out by q where it cannot be met: charging with the tilt between theta_high -
theta_band and theta_high and the energy between E_full - E_band and E_full, discharging with the tilt between theta_low
+ theta_band and theta_low. If the tilt exceeds theta_high, because the vehicle slows down while the flywheel is too
fast for the coming speeds, q is negative: the KERS returns energy, which the brakes absorb.
"""

from rtcvt.kernel import kernel
from rtcvt.model.frame import framed
from rtcvt.numerics.elementary import clip
from rtcvt.table import TINY, Row, Rows


class P(Rows):
    """Parameters."""

    K_P = Row("driver.K_p", "N.s", "proportional gain from speed to torque at the wheels", 0.0, tunable=True)
    K_I = Row("driver.K_i", "N", "integral gain from speed to torque at the wheels", 0.0, tunable=True)
    T_T = Row("driver.T_t", "s", "time constant of the anti-windup", 1e-3, tunable=True)
    T_F = Row("driver.T_f", "s", "time constant of the filter of the measured torque", 1e-3, tunable=True)
    TAU_DRIVE = Row("driver.tau_drive", "N.m", "largest torque of the drive at the wheels", 0.0, tunable=True)
    TAU_BRAKE = Row("driver.tau_brake", "N.m", "largest torque of the brakes at the wheels", 0.0, tunable=True)
    TAU_KERS = Row("driver.tau_kers", "N.m", "largest torque that is demanded of the KERS, at the wheels", 0.0,
                   tunable=True)  # fmt: skip
    RATIO = Row("driver.i", "1", "ratio between KERS and wheels", TINY)
    V_H = Row("driver.v_h", "m/s", "speed below which the vehicle counts as standing", 1e-4, tunable=True)
    T_H = Row("driver.T_h", "s", "time constant of the integrator's decay at standstill", 1e-3, tunable=True)
    TAU_HOLD = Row("driver.tau_hold", "N.m", "torque of the brakes at standstill, at most driver.tau_brake", 0.0,
                   tunable=True)  # fmt: skip
    THETA_LOW = Row("driver.theta_low", "rad", "tilt of the KERS at which it counts as empty", tunable=True)
    THETA_HIGH = Row("driver.theta_high", "rad", "tilt of the KERS at which it counts as full", tunable=True)
    THETA_BAND = Row("driver.theta_band", "rad", "tilt before either end over which the demand fades out", 1e-3,
                     tunable=True)  # fmt: skip
    E_FULL = Row("driver.E_full", "J", "energy at which the KERS counts as full", 0.0, tunable=True)
    E_BAND = Row("driver.E_band", "J", "energy below driver.E_full over which the demand fades out", 1e-3, tunable=True)


class U(Rows):
    """Inputs."""

    V_DES = Row("driver.v_des", "m/s", "desired speed", nominal=30.0, display="km/h")
    V = Row("driver.v", "m/s", "speed of the vehicle", nominal=30.0, display="km/h")
    AXLE_TAU = Row("driver.tau_axle", "N.m", "measured torque into the driveline at the axle", nominal=1e3)
    THETA = Row("driver.theta", "rad", "tilt of the KERS", nominal=1.0, display="deg")
    E = Row("driver.E", "J", "energy stored in the KERS", nominal=1e4, display="kJ")


class X(Rows):
    """States."""

    Z = Row("driver.z", "N.m", "integral part of the torque at the wheels", nominal=1e3)
    A = Row("driver.a", "N.m", "measured torque of the KERS at the wheels, filtered", nominal=1e3)


class Y(Rows):
    """Outputs."""

    DRIVE = Row("drive.tau", "N.m", "torque of the drive at the wheels", 0.0, nominal=1e3)
    BRAKE = Row("brake.tau", "N.m", "torque of the brakes at the wheels", 0.0, nominal=1e3)
    KERS = Row("kers.tau_des", "N.m", "demanded torque into the KERS", nominal=100.0)


@kernel
def forward_speed(u):
    """v+: speed of the vehicle, 0 if it rolls backwards [m/s]."""
    return u[U.V] if u[U.V] > 0.0 else 0.0


@kernel
def standing(u, p):
    """h: 1 while standstill is demanded and the vehicle stands still or rolls backwards."""
    v = forward_speed(u)
    v_h2 = p[P.V_H] * p[P.V_H]
    return v_h2 / (v_h2 + u[U.V_DES] * u[U.V_DES] + v * v)


@kernel
def demand(x, u, p):
    """Torque that the driver demands at the wheels [N.m], without limits."""
    return p[P.K_P] * (u[U.V_DES] - forward_speed(u)) + x[X.Z]


@kernel
def rates(t, x, u, p, data, dx):
    """Rates of z and a."""
    tau = demand(x, u, p)
    dx[X.Z] = p[P.K_I] * (u[U.V_DES] - forward_speed(u)) + (clip(tau, -p[P.TAU_BRAKE], p[P.TAU_DRIVE]) - tau) / p[P.T_T]
    dx[X.Z] -= standing(u, p) * x[X.Z] / p[P.T_H]
    dx[X.A] = (u[U.AXLE_TAU] - x[X.A]) / p[P.T_F]


@kernel
def df_dx(x, u, p, data, jac):
    """Entries of ``df/dx``."""
    tau = demand(x, u, p)
    jac[0] = -standing(u, p) / p[P.T_H]
    if tau < -p[P.TAU_BRAKE] or tau > p[P.TAU_DRIVE]:
        jac[0] -= 1.0 / p[P.T_T]
    jac[3] = -1.0 / p[P.T_F]


@kernel
def availability(tau, u, p):
    """q: share of a demand `tau` [N.m] at the wheels that is passed on to the KERS."""
    if tau > 0.0:
        return clip((u[U.THETA] - p[P.THETA_LOW]) / p[P.THETA_BAND], 0.0, 1.0)
    by_tilt = clip((p[P.THETA_HIGH] - u[U.THETA]) / p[P.THETA_BAND], -1.0, 1.0)
    by_energy = clip((p[P.E_FULL] - u[U.E]) / p[P.E_BAND], 0.0, 1.0)
    return by_tilt if by_tilt < by_energy else by_energy


@kernel
def output(t, x, u, p, data, y, work):
    """Demands on drive, brake and KERS."""
    h = standing(u, p)
    tau = clip(demand(x, u, p), -p[P.TAU_BRAKE], p[P.TAU_DRIVE])
    rest = tau + x[X.A]
    y[Y.DRIVE] = clip(rest, 0.0, p[P.TAU_DRIVE])
    hold = h * h * p[P.TAU_HOLD] - rest  # more than -rest
    back = clip(-u[U.V] / p[P.V_H], 0.0, 1.0) * p[P.TAU_BRAKE]
    y[Y.BRAKE] = clip(hold if hold > back else back, 0.0, p[P.TAU_BRAKE])
    share = (1.0 - h) * availability(tau, u, p)
    y[Y.KERS] = -share * clip(tau, -p[P.TAU_KERS], p[P.TAU_KERS]) / p[P.RATIO]


@kernel
def start(p, data, u, x):
    """Start with nothing integrated or measured."""
    x[X.Z] = 0.0
    x[X.A] = 0.0
    return True


framed(vars())
