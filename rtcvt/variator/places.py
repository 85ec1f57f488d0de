"""Places of the data of a variator in the buffers, and those of its flywheel and controller."""

from rtcvt.kernel import kernel
from rtcvt.model.accessors import listed, whole
from rtcvt.variator.layout import N_HYBRID, N_RIGID, D, KersD, RigidX, U, X

states = whole("states", D.N_X)  # number of states of the variator
outputs_of_variator = whole("outputs_of_variator", D.N_Y)  # number of outputs of the variator


@kernel
def angle(x, data):
    """The angle phi that is the coordinate of the ratio [rad]."""
    return x[X.ANGLE] if data[D.HYBRID] != 0.0 else x[RigidX.ANGLE]


@kernel
def x_coupling(flange, data):
    """Place in x of the coupling at a flange (`U.I` or `U.O`) whose speed is given."""
    first = N_HYBRID if data[D.HYBRID] != 0.0 else N_RIGID
    return first + 2 * int(data[D.SPEED_I]) if flange == U.O else first


kers_entry = listed("kers_entry", D.KERS)  # whole number in `KersD`


@kernel
def w_kers(data):
    """Place in work of the controller's data."""
    return kers_entry(KersD.AT_WORK, data)


@kernel
def kers_states(data):
    """Number of states of variator and controller."""
    return kers_entry(KersD.N_ALL, data)
