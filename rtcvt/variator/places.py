"""Places of the data of a variator in the buffers, and those of its flywheel and controller."""

from rtcvt.kernel import kernel
from rtcvt.variator.layout import N_HYBRID, N_RIGID, D, KersD, RigidX, U, X


@kernel
def states(data):
    """Number of states of the variator."""
    return int(data[D.N_X])


@kernel
def outputs_of_variator(data):
    """Number of outputs of the variator."""
    return int(data[D.N_Y])


@kernel
def angle(x, data):
    """The angle phi that is the coordinate of the ratio [rad]."""
    return x[X.ANGLE] if data[D.HYBRID] != 0.0 else x[RigidX.ANGLE]


@kernel
def x_coupling(flange, data):
    """Place in x of the coupling at a flange (`U.I` or `U.O`) whose speed is given."""
    first = N_HYBRID if data[D.HYBRID] != 0.0 else N_RIGID
    return first + 2 * int(data[D.SPEED_I]) if flange == U.O else first


@kernel
def w_kers(data):
    """Place in work of the controller's data."""
    return int(data[int(data[D.KERS]) + KersD.AT_WORK])


@kernel
def kers_states(data):
    """Number of states of variator and controller."""
    return int(data[int(data[D.KERS]) + KersD.N_ALL])


@kernel
def kers_entry(member, data):
    """Whole number in `KersD`."""
    return int(data[int(data[D.KERS]) + member])
