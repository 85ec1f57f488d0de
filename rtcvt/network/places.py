"""Places of the data of a network: sizes, and the places of parts, flanges, shafts and nodes in the buffers.

Parts, connected flanges, shafts and nodes with speed inputs only are counted from 0, see `rtcvt.network.layout`.
Functions that read many numbers of one get its place: `i` is the place of a `Part`, `f` that of an `End`.
"""

from rtcvt.kernel import kernel
from rtcvt.network.layout import N_END, N_PART, N_SHAFT, D, End, Part, Shaft

# --- sizes ------------------------------------------------------------------------------------------------------------


@kernel
def ends(data):
    """Number of connected flanges."""
    return int(data[D.ENDS])


@kernel
def shafts(data):
    """Number of shafts."""
    return int(data[D.SHAFTS])


@kernel
def coupled_parts(data):
    """Number of parts with connected flanges; they come first."""
    return int(data[D.COUPLED])


@kernel
def block_size(data):
    """Number of states of the coupled parts and shafts and of unknowns of the nodes."""
    return int(data[D.N_Z])


@kernel
def block_states(data):
    """Number of states of the coupled parts and shafts."""
    return int(data[D.N_D])


@kernel
def border_size(data):
    """Number of twists of the shafts and of unknowns of the nodes."""
    return int(data[D.N_B])


@kernel
def border_start(data):
    """Place in x of the first twist of a shaft, followed by the unknowns of the nodes."""
    return int(data[D.N_D] - data[D.SHAFTS])


# --- parts ------------------------------------------------------------------------------------------------------------


@kernel
def part(c, data):
    """Place of `Part` of part c in data."""
    return int(data[D.PART]) + N_PART * c


@kernel
def part_states(i, data):
    """Number of states of the part at i."""
    return int(data[i + Part.N_X])


@kernel
def part_x(i, data):
    """Place of the first state of the part at i in x."""
    return int(data[i + Part.X])


@kernel
def jacobian(i, data):
    """Place of df/dx of the part at i in work."""
    return int(data[i + Part.JAC])


@kernel
def factors(i, data):
    """Place of the factored matrix of the part at i in work."""
    return int(data[i + Part.FACTORS])


# --- connected flanges ------------------------------------------------------------------------------------------------


@kernel
def end(e, data):
    """Place of `End` of flange e in data."""
    return int(data[D.END]) + N_END * e


@kernel
def end_part(f, data):
    """Place of `Part` of the part of the flange at f."""
    return part(int(data[f + End.PART]), data)


@kernel
def end_number(f, data):
    """Which input of its part the flange at f is."""
    return int(data[f + End.K])


@kernel
def end_input(f, data):
    """Place of the input of the flange at f in work."""
    return int(data[end_part(f, data) + Part.IN] + data[f + End.K])


@kernel
def torque_sign(f, data):
    """Torque into the part by the input of the flange at f [-]; 0 if the input is a speed."""
    return data[f + End.SIGN]


@kernel
def x_torque(f, data):
    """Place in x of the torque into the flange at f, whose input is a torque."""
    return int(data[f + End.Z])


@kernel
def x_speed(f, data):
    """Place in x of the speed of the node of the flange at f, or -1 at ground."""
    return int(data[f + End.W])


@kernel
def x_input(f, data):
    """Place in x of the torque or speed that is the input of the flange at f, or -1 at ground."""
    return int(data[f + End.Z] if data[f + End.SIGN] != 0.0 else data[f + End.W])


@kernel
def unknown(f, data):
    """Place in the border of the unknown that is the input of the flange at f, below zero for none."""
    return x_input(f, data) - border_start(data)


@kernel
def end_row(f, data):
    """Place in work: how the flange's output depends on its part's states; then how these depend on its input."""
    return int(data[f + End.ROW])


# --- shafts, nodes, signals ------------------------------------------------------------------------------------------


@kernel
def x_twist(s, data):
    """Place of the twist of shaft s in x."""
    return int(data[int(data[D.SHAFT]) + N_SHAFT * s + Shaft.X])


@kernel
def x_shaft_end(side, s, data):
    """Place in x of the speed at the first (0) or second end (1) of shaft s, or -1 at ground."""
    return int(data[int(data[D.SHAFT]) + N_SHAFT * s + Shaft.A + side])


@kernel
def p_shaft(s, data):
    """Place of `ShaftP` of shaft s in p."""
    return int(data[int(data[D.SHAFT]) + N_SHAFT * s + Shaft.P])


@kernel
def x_massless(k, data):
    """Place in x of the speed of the k-th node with speed inputs only."""
    return int(data[int(data[D.MASSLESS]) + k])


@kernel
def operation(o, data):
    """Place in data of the o-th operation that carries signals: an `Op` and its two places."""
    return int(data[D.OP]) + 3 * o


# --- scratch memory ---------------------------------------------------------------------------------------------------


@kernel
def w_rates(data):
    """Place of the rates, and of the residuals at the nodes."""
    return int(data[D.W_DX])


@kernel
def w_start(data):
    """Place of the block's states before an internal step."""
    return int(data[D.W_START])


@kernel
def w_stages(data):
    """Place of the three stages of a step."""
    return int(data[D.W_K])


@kernel
def w_border(data):
    """Place of the derivative of the border."""
    return int(data[D.W_BORDER])


@kernel
def w_pivots(data):
    """Place of the pivots of the border."""
    return int(data[D.W_PIVOT])


@kernel
def w_outputs(data):
    """Place of the new outputs."""
    return int(data[D.W_Y])
