"""Places of the data of a network: sizes, and the places of parts, flanges, shafts and nodes in the buffers.

Parts, connected flanges, shafts and nodes with speed inputs only are counted from 0, see `rtcvt.network.layout`.
Functions that read many numbers of one get its place: `i` is the place of a `Part`, `f` that of an `End`.
"""

from rtcvt.kernel import kernel
from rtcvt.model.accessors import field, listed, member, row, whole
from rtcvt.model.places import entry
from rtcvt.network import layout
from rtcvt.network.layout import D, End, Part, Shaft

# --- sizes ------------------------------------------------------------------------------------------------------------

ends = whole("ends", D.ENDS)  # number of connected flanges
shafts = whole("shafts", D.SHAFTS)  # number of shafts
coupled_parts = whole("coupled_parts", D.COUPLED)  # number of parts with connected flanges; they come first
block_size = whole("block_size", D.N_Z)  # number of states of the coupled parts and shafts and of unknowns of the nodes
block_states = whole("block_states", D.N_D)  # number of states of the coupled parts and shafts
border_size = whole("border_size", D.N_B)  # number of twists of the shafts and of unknowns of the nodes


@kernel
def border_start(data):
    """Place in x of the first twist of a shaft, followed by the unknowns of the nodes."""
    return int(data[D.N_D] - data[D.SHAFTS])


# --- parts ------------------------------------------------------------------------------------------------------------

part = row("part", D.PART, layout.Part)  # place of `Part` of part c in data
part_states = field("part_states", Part.N_X)  # number of states of the part at i
part_x = field("part_x", Part.X)  # place of the first state of the part at i in x
jacobian = field("jacobian", Part.JAC)  # place of df/dx of the part at i in work
factors = field("factors", Part.FACTORS)  # place of the factored matrix of the part at i in work


# --- connected flanges ------------------------------------------------------------------------------------------------

end = row("end", D.END, layout.End)  # place of `End` of flange e in data


@kernel
def end_part(f, data):
    """Place of `Part` of the part of the flange at f."""
    return part(entry(f + End.PART, data), data)


end_number = field("end_number", End.K)  # which input of its part the flange at f is


@kernel
def end_input(f, data):
    """Place of the input of the flange at f in work."""
    return int(data[end_part(f, data) + Part.IN] + data[f + End.K])


@kernel
def torque_sign(f, data):
    """Torque into the part by the input of the flange at f [-]; 0 if the input is a speed."""
    return data[f + End.SIGN]


x_torque = field("x_torque", End.Z)  # place in x of the torque into the flange at f, whose input is a torque
x_speed = field("x_speed", End.W)  # place in x of the speed of the node of the flange at f, or -1 at ground


@kernel
def x_input(f, data):
    """Place in x of the torque or speed that is the input of the flange at f, or -1 at ground."""
    return int(data[f + End.Z] if data[f + End.SIGN] != 0.0 else data[f + End.W])


@kernel
def unknown(f, data):
    """Place in the border of the unknown that is the input of the flange at f, below zero for none."""
    return x_input(f, data) - border_start(data)


end_row = field("end_row", End.ROW)  # how its output depends on its part's states; then these on its input


# --- shafts, nodes, signals ------------------------------------------------------------------------------------------

shaft = row("shaft", D.SHAFT, layout.Shaft)  # place of `Shaft` of shaft s in data
x_twist = member("x_twist", shaft, Shaft.X)  # place of the twist of shaft s in x
p_shaft = member("p_shaft", shaft, Shaft.P)  # place of `ShaftP` of shaft s in p


@kernel
def x_shaft_end(side, s, data):
    """Place in x of the speed at the first (0) or second end (1) of shaft s, or -1 at ground."""
    return entry(shaft(s, data) + Shaft.A + side, data)


x_massless = listed("x_massless", D.MASSLESS)  # place in x of the speed of the k-th node with speed inputs only
operation = row("operation", D.OP, 3)  # place in data of the o-th operation on signals: `Op`, its two places


# --- scratch memory ---------------------------------------------------------------------------------------------------

w_rates = whole("w_rates", D.W_DX)  # place of the rates, and of the residuals at the nodes
w_start = whole("w_start", D.W_START)  # place of the block's states before an internal step
w_stages = whole("w_stages", D.W_K)  # place of the three stages of a step
w_border = whole("w_border", D.W_BORDER)  # place of the derivative of the border
w_pivots = whole("w_pivots", D.W_PIVOT)  # place of the pivots of the border
w_outputs = whole("w_outputs", D.W_Y)  # place of the new outputs
