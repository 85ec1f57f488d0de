"""Tables of the parts of a vehicle: constants, and of each kind its parameters, inputs, outputs and states."""

from typing import NamedTuple

from rtcvt.table import Places, Row, Rows

TINY = 1e-9  # least value of what must be above zero


class Kind(Places):
    """Kinds of parts."""

    VEHICLE = "vehicle"
    DRIVELINE = "driveline"
    DRIVER = "driver"
    CYCLE = "cycle"


class D(Places):
    """Header of the constants."""

    KIND = "one of `Kind`"
    N_X = "states"
    N_U = "inputs"
    N_Y = "outputs"
    INTERNAL_STEP = "largest internal step [s]"
    POINTS = "points of a cycle"
    TIMES = "table: their times [s]"
    SPEEDS = "table: their speeds [m/s]"
    WAYS = "table: the way to each [m]"
    W_F = "right-hand side", lambda d: d.N_X
    W_STAGE = "state of a stage", lambda d: d.N_X
    W_K = "derivatives of the four stages", lambda d: 4 * d.N_X
    W_B = "right-hand side of the linear system", lambda d: d.N_X
    W_PIVOT = "pivots", lambda d: d.N_X
    W_MATRIX = "matrix", lambda d: d.N_X * d.N_X
    W_JAC = "Jacobian", lambda d: d.N_X * d.N_X
    W_SAVED = "state before a communication step", lambda d: d.N_X
    W_Y = "new outputs", lambda d: d.N_Y


class CarP(Rows):
    """Parameters of a vehicle."""

    M = Row("vehicle.m", "kg", "mass of the vehicle", TINY)
    J_W = Row("vehicle.J_w", "kg.m2", "moment of inertia of all wheels and what turns with them", 0.0)
    R_W = Row("vehicle.r_w", "m", "rolling radius", TINY)
    RHO_CW_A = Row(
        "vehicle.rho_cw_A", "kg/m", "density of air times drag coefficient times frontal area", 0.0, tunable=True
    )
    F_R = Row("vehicle.f_R", "1", "coefficient of rolling resistance", 0.0, tunable=True)
    G = Row("vehicle.g", "m/s2", "acceleration of gravity", 0.0)
    V_0 = Row("vehicle.v_0", "m/s", "speed at which brakes and tyres that stick damp with the weight", 1e-4)
    V_START = Row("vehicle.v_start", "m/s", "speed at the start", nominal=30.0, display="km/h")


class CarU(Rows):
    """Inputs of a vehicle."""

    LOAD = Row("axle.load", "N.m", "torque that the driveline takes at the axle", nominal=1e3)
    DRIVE = Row("drive.tau", "N.m", "torque of the drive at the wheels", nominal=1e3)
    BRAKE = Row("brake.tau", "N.m", "torque of the brakes at the wheels, not negative", 0.0, nominal=1e3)
    SLOPE = Row("road.slope", "1", "slope of the road, tan(alpha), uphill positive", nominal=0.1)


class CarY(Rows):
    """Outputs of a vehicle."""

    W = Row("axle.w", "rad/s", "speed of the wheels", nominal=100.0, display="rpm")
    V = Row("vehicle.v", "m/s", "speed", nominal=30.0, display="km/h")
    S = Row("vehicle.s", "m", "distance", nominal=1e3, display="km")
    A = Row("vehicle.a", "m/s2", "acceleration", nominal=1.0)
    E = Row("storage.E", "J", "kinetic energy", 0.0, nominal=1e5, display="kJ")
    F_AERO = Row("force.aero", "N", "aerodynamic drag", nominal=1e3)
    F_ROLL = Row("force.roll", "N", "rolling resistance", nominal=1e3)
    F_GRADE = Row("force.grade", "N", "downhill force", nominal=1e3)
    F_BRAKE = Row("force.brake", "N", "braking force", nominal=1e3)
    LOSS_BRAKE = Row("loss.brake", "W", "power lost in the brakes", 0.0, nominal=1e4, display="kW")
    LOSS_ROLL = Row("loss.roll", "W", "power lost by rolling resistance", 0.0, nominal=1e3, display="kW")


class CarX(Rows):
    """States of a vehicle."""

    V = Row("vehicle.v", "m/s", "speed", nominal=30.0)
    S = Row("vehicle.s", "m", "distance", nominal=1e3)
    F = Row("vehicle.f", "N", "force of brakes and tyres that stick, in their spring", nominal=1e3)


class LineP(Rows):
    """Parameters of a driveline."""

    RATIO = Row("driveline.i", "1", "gear ratio, speed of the shaft divided by speed of the axle", TINY)
    K = Row("driveline.K", "N.m/rad", "torsional stiffness of the half-shafts, at the axle", TINY)
    D = Row("driveline.d", "N.m.s/rad", "damping of the half-shafts, at the axle", 0.0, tunable=True)
    J = Row("driveline.J", "kg.m2", "moment of inertia of final drive and shaft, at the shaft", TINY)
    B = Row("driveline.b", "N.m.s/rad", "viscous friction, at the shaft", 0.0, tunable=True)
    MU = Row("driveline.mu", "1", "fraction of the torque that is lost in the teeth", 0.0, tunable=True)
    W_0 = Row(
        "driveline.w_0", "rad/s", "regularisation speed of that loss: 71 % of its full value there", 1e-4, tunable=True
    )
    W_START = Row("driveline.w_start", "rad/s", "speed of the shaft at the start", nominal=100.0, display="rpm")


class LineU(Rows):
    """Inputs of a driveline."""

    AXLE_W = Row("axle.w", "rad/s", "speed of the axle", nominal=100.0, display="rpm")
    LOAD = Row("shaft.load", "N.m", "torque that the unit at the shaft takes", nominal=100.0)


class LineY(Rows):
    """Outputs of a driveline."""

    AXLE_TAU = Row("axle.tau", "N.m", "torque into the driveline at the axle", nominal=1e3)
    W = Row("shaft.w", "rad/s", "speed of the shaft", nominal=100.0, display="rpm")
    E = Row("storage.E", "J", "energy stored in half-shafts and final drive", 0.0, nominal=1e3, display="kJ")
    LOSS = Row("driveline.P_loss", "W", "lost power", 0.0, nominal=1e3, display="kW")


class LineX(Rows):
    """States of a driveline."""

    PHI = Row("driveline.phi", "rad", "twist of the half-shafts, at the axle", nominal=0.1)
    W = Row("driveline.w", "rad/s", "speed of the shaft", nominal=100.0)


class DriverP(Rows):
    """Parameters of a driver."""

    K_P = Row("driver.K_p", "N.s", "proportional gain from speed to torque at the wheels", 0.0, tunable=True)
    K_I = Row("driver.K_i", "N", "integral gain from speed to torque at the wheels", 0.0, tunable=True)
    T_T = Row("driver.T_t", "s", "time constant of the anti-windup", 1e-3, tunable=True)
    T_F = Row("driver.T_f", "s", "time constant of the filter of the measured torque", 1e-3, tunable=True)
    TAU_DRIVE = Row("driver.tau_drive", "N.m", "largest torque of the drive at the wheels", 0.0, tunable=True)
    TAU_BRAKE = Row("driver.tau_brake", "N.m", "largest torque of the brakes at the wheels", 0.0, tunable=True)
    TAU_KERS = Row(
        "driver.tau_kers", "N.m", "largest torque that is demanded of the KERS, at the wheels", 0.0, tunable=True
    )
    RATIO = Row("driver.i", "1", "ratio between KERS and wheels", TINY)
    V_H = Row("driver.v_h", "m/s", "speed below which the vehicle counts as standing", 1e-4, tunable=True)
    T_H = Row("driver.T_h", "s", "time constant of the integrator's decay at standstill", 1e-3, tunable=True)
    TAU_HOLD = Row(
        "driver.tau_hold", "N.m", "torque of the brakes at standstill, at most driver.tau_brake", 0.0, tunable=True
    )
    THETA_LOW = Row("driver.theta_low", "rad", "tilt of the KERS at which it counts as empty", tunable=True)
    THETA_HIGH = Row("driver.theta_high", "rad", "tilt of the KERS at which it counts as full", tunable=True)
    THETA_BAND = Row(
        "driver.theta_band", "rad", "tilt before either end over which the demand fades out", 1e-3, tunable=True
    )
    E_FULL = Row("driver.E_full", "J", "energy at which the KERS counts as full", 0.0, tunable=True)
    E_BAND = Row("driver.E_band", "J", "energy below driver.E_full over which the demand fades out", 1e-3, tunable=True)


class DriverU(Rows):
    """Inputs of a driver."""

    V_DES = Row("driver.v_des", "m/s", "desired speed", nominal=30.0, display="km/h")
    V = Row("driver.v", "m/s", "speed of the vehicle", nominal=30.0, display="km/h")
    AXLE_TAU = Row("driver.tau_axle", "N.m", "torque that the driveline takes at the axle, as measured", nominal=1e3)
    THETA = Row("driver.theta", "rad", "tilt of the KERS", nominal=1.0, display="deg")
    E = Row("driver.E", "J", "energy stored in the KERS", nominal=1e4, display="kJ")


class DriverY(Rows):
    """Outputs of a driver."""

    DRIVE = Row("drive.tau", "N.m", "torque of the drive at the wheels", 0.0, nominal=1e3)
    BRAKE = Row("brake.tau", "N.m", "torque of the brakes at the wheels", 0.0, nominal=1e3)
    KERS = Row("kers.tau_des", "N.m", "demanded torque into the KERS", nominal=100.0)


class DriverX(Rows):
    """States of a driver."""

    Z = Row("driver.z", "N.m", "integral part of the torque at the wheels", nominal=1e3)
    A = Row("driver.a", "N.m", "measured torque of the KERS at the wheels, filtered", nominal=1e3)


class CycleY(Rows):
    """Outputs of a cycle."""

    V = Row("cycle.v", "m/s", "speed", 0.0, nominal=30.0, display="km/h")
    S = Row("cycle.s", "m", "distance", 0.0, nominal=1e3, display="km")


class CycleX(Rows):
    """States of a cycle."""

    S = Row("cycle.s", "m", "distance", nominal=1e3)


class Tables(NamedTuple):
    """Rows of a kind."""

    parameters: tuple[Rows, ...]
    inputs: tuple[Rows, ...]
    outputs: tuple[Rows, ...]
    states: tuple[Rows, ...]


TABLES = {
    Kind.VEHICLE: Tables(tuple(CarP), tuple(CarU), tuple(CarY), tuple(CarX)),
    Kind.DRIVELINE: Tables(tuple(LineP), tuple(LineU), tuple(LineY), tuple(LineX)),
    Kind.DRIVER: Tables(tuple(DriverP), tuple(DriverU), tuple(DriverY), tuple(DriverX)),
    Kind.CYCLE: Tables((), (), tuple(CycleY), tuple(CycleX)),
}
