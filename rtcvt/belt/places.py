"""Places of the data of a belt drive: neighbours on the ring, and the places of each record in the buffers.

Cells, faces, pulleys and spans are numbered as in `rtcvt.belt.layout`. A record's place plus a member of its
enumeration is an index, as in ``work[cell(c, data) + Cell.T]``.
"""

from rtcvt.belt.layout import (
    N_ACROSS,
    N_ARC,
    N_ARM_D,
    N_ARM_P,
    N_ARM_X,
    N_CELL,
    N_DECOUPLER_D,
    N_DECOUPLER_P,
    N_DECOUPLER_X,
    N_FACE,
    N_FLANGE_D,
    N_GIVEN,
    N_LATERAL,
    N_PATCH,
    N_PULLEY,
    N_RIM,
    N_SPAN,
    N_SPAN_D,
    N_WRAP,
    Arc,
    ArmD,
    D,
    DecouplerD,
    Flange,
    FlangeD,
    SpanD,
)
from rtcvt.kernel import kernel
from rtcvt.model.stepping import Block

# --- sizes ------------------------------------------------------------------------------------------------------------


@kernel
def pulleys(data):
    """Number of pulleys, and of spans."""
    return int(data[D.N])


@kernel
def faces(data):
    """Number of faces on a wrap, that is of cells from one span to the next."""
    return int(data[D.FACES])


@kernel
def cell_count(data):
    """Number of cells, and of faces of the whole belt."""
    return int(data[D.N]) * int(data[D.FACES])


@kernel
def modes(data):
    """Number of lateral modes of a span."""
    return int(data[D.MODES])


@kernel
def lateral(j, data):
    """Place in the data of what moves the ends of span j, and of the run-out of pulley j."""
    return int(data[D.LATERAL]) + N_LATERAL * j


@kernel
def states(data):
    """Number of states."""
    return int(data[D.N_X])


@kernel
def moving_states(data):
    """Number of states that change within an internal step; they come first."""
    return int(data[D.X_GIVEN])


@kernel
def arms(data):
    """Number of tensioner arms."""
    return int(data[D.ARMS])


@kernel
def decouplers(data):
    """Number of decouplers."""
    return int(data[D.DECOUPLERS])


# --- neighbours on the ring -------------------------------------------------------------------------------------------


@kernel
def after(i, data):
    """The pulley (or span) after the i-th."""
    return i + 1 if i + 1 < pulleys(data) else 0


@kernel
def before(i, data):
    """The pulley (or span) before the i-th; it is also the span that comes to pulley i."""
    return i - 1 if i > 0 else pulleys(data) - 1


@kernel
def cell_after(c, data):
    """The cell after cell c, across face c."""
    return c + 1 if c + 1 < cell_count(data) else 0


@kernel
def cell_before(c, data):
    """The cell before cell c."""
    return c - 1 if c > 0 else cell_count(data) - 1


@kernel
def span_of(c, data):
    """The span that cell c is, or the span before the wrap that cell c is a part of."""
    return int(c / faces(data))


@kernel
def span_cell(j, data):
    """Span j as a cell."""
    return j * faces(data)


# --- constants --------------------------------------------------------------------------------------------------------


@kernel
def arc(i, data):
    """Place of `Arc` of pulley i in data."""
    return int(data[D.GEOMETRY]) + N_ARC * i


@kernel
def across(j, data):
    """Place of `Across` of span j in data."""
    return int(data[D.ACROSS]) + N_ACROSS * j


@kernel
def load_points(i, data):
    """Place in data of the first point (speed, torque) of the load of pulley i."""
    return int(data[int(data[D.LOAD]) + 2 * i])


@kernel
def load_size(i, data):
    """Number of points of the load of pulley i; 0 if it has none."""
    return int(data[int(data[D.LOAD]) + 2 * i + 1])


@kernel
def flange_row(i, data):
    """Place of `FlangeD` of pulley i in data."""
    return int(data[D.FLANGE]) + N_FLANGE_D * i


@kernel
def flange_kind(i, data):
    """A member of `Flange`."""
    return int(data[flange_row(i, data) + FlangeD.KIND])


@kernel
def flange_input(i, data):
    """Place in u of the torque or speed that is given for pulley i."""
    return int(data[flange_row(i, data) + FlangeD.INPUT])


@kernel
def given_number(i, data):
    """Number of pulley i among those whose speed is given."""
    return int(data[flange_row(i, data) + FlangeD.GIVEN])


@kernel
def rim_radius(i, data):
    """``sigma r`` of pulley i [m]."""
    row = arc(i, data)
    return data[row + Arc.SIGMA] * data[row + Arc.RADIUS]


@kernel
def patch(k, i, data):
    """Place of `PatchD` of patch k and pulley i in data."""
    return int(data[D.PATCH]) + N_PATCH * (pulleys(data) * k + i)


@kernel
def arm_row(m, data):
    """Place of `ArmD` of arm m in data."""
    return int(data[D.ARM]) + N_ARM_D * m


@kernel
def arm_pulley(m, data):
    """The pulley that arm m carries."""
    return int(data[arm_row(m, data) + ArmD.PULLEY])


@kernel
def arm_of_pulley(i, data):
    """The arm that carries pulley i, or -1."""
    for m in range(arms(data)):
        if arm_pulley(m, data) == i:
            return m
    return -1


@kernel
def arm_of_span(j, data):
    """The arm that moves an end of span j, or -1."""
    if data[D.ARMS] == 0.0:
        return -1
    return int(data[int(data[D.SPAN_ARM]) + N_SPAN_D * j + SpanD.ARM])


@kernel
def arm_table(j, data):
    """Place in data of the table of span j over the angle of its arm."""
    return int(data[int(data[D.SPAN_ARM]) + N_SPAN_D * j + SpanD.TABLE])


@kernel
def decoupler_row(m, data):
    """Place of `DecouplerD` of decoupler m in data."""
    return int(data[D.DECOUPLER]) + N_DECOUPLER_D * m


@kernel
def decoupler_pulley(m, data):
    """The pulley of decoupler m."""
    return int(data[decoupler_row(m, data) + DecouplerD.PULLEY])


@kernel
def decoupler_of(i, data):
    """The decoupler of pulley i, or -1."""
    for m in range(decouplers(data)):
        if decoupler_pulley(m, data) == i:
            return m
    return -1


# --- parameters -------------------------------------------------------------------------------------------------------


@kernel
def p_inertia(i, data):
    """Place of the inertia of pulley i in p."""
    return int(data[D.P_J]) + i


@kernel
def p_bearing(i, data):
    """Place of the viscous friction of pulley i in p."""
    return int(data[D.P_B]) + i


@kernel
def p_friction(i, data):
    """Place of the friction coefficient of pulley i in p."""
    return int(data[D.P_MU]) + i


@kernel
def p_arm(m, data):
    """Place of `ArmP` of arm m in p."""
    return int(data[D.P_ARM]) + N_ARM_P * m


@kernel
def p_decoupler(m, data):
    """Place of `DecouplerP` of decoupler m in p."""
    return int(data[D.P_DECOUPLER]) + N_DECOUPLER_P * m


# --- states -----------------------------------------------------------------------------------------------------------


@kernel
def x_speed(i, data):
    """Place of the speed of pulley i in x, hybrid model."""
    return cell_count(data) + i


@kernel
def x_flow(data):
    """Place of the mean flow q_m in x, hybrid model."""
    return cell_count(data) + pulleys(data)


@kernel
def x_arm(m, data):
    """Place of `ArmX` of arm m in x."""
    return int(data[D.X_ARM]) + N_ARM_X * m


@kernel
def x_decoupler(m, data):
    """Place of `DecouplerX` of decoupler m in x."""
    return int(data[D.X_DECOUPLER]) + N_DECOUPLER_X * m


@kernel
def x_sliding(i, data):
    """Place in x of the sliding speed that the friction of pulley i depends on."""
    return int(data[D.X_SLIDING]) + i


@kernel
def x_patch(k, data):
    """Place in x of the way of patch k [turns]."""
    return int(data[D.X_PATCH]) + k


@kernel
def x_lateral(j, data):
    """Place in x of pulley j's angle, the last tension of span j and the modes of that span."""
    return int(data[D.X_LATERAL]) + (2 + 2 * int(data[D.MODES])) * j


@kernel
def given_state(i, data):
    """Place of `GivenX` of pulley i in x, or -1 if its speed is not given."""
    if flange_kind(i, data) != Flange.SPEED:
        return -1
    return int(data[D.X_GIVEN]) + N_GIVEN * given_number(i, data)


@kernel
def speed(i, x, data):
    """Speed of pulley i in the hybrid model [rad/s]."""
    return x[x_speed(i, data)]


# --- outputs ----------------------------------------------------------------------------------------------------------


@kernel
def y_belt(data):
    """Place of `Y` in y."""
    return int(data[D.Y_BELT])


@kernel
def y_tension(j, data):
    """Place of the tension of span j in y."""
    return int(data[D.Y_TENSION]) + j


@kernel
def y_pulley(i, data):
    """Place of `PulleyY` of pulley i in y."""
    return int(data[D.Y_PULLEY]) + N_PULLEY * i


@kernel
def y_given(i, data):
    """Place in y of the speed of pulley i, whose flange's speed is given."""
    return int(data[D.Y_GIVEN]) + given_number(i, data)


# --- scratch memory ---------------------------------------------------------------------------------------------------


@kernel
def cell(c, data):
    """Place of `Cell` of cell c in work."""
    return int(data[D.W_CELL]) + N_CELL * c


@kernel
def face(u, data):
    """Place of `Face` of face u in work."""
    return int(data[D.W_FACE]) + N_FACE * u


@kernel
def rim(end, j, data):
    """Place of `Rim` at the start (0) or the end (1) of span j in work."""
    return int(data[D.W_RIM]) + N_RIM * (2 * j + end)


@kernel
def wrap(i, data):
    """Place of `Wrap` of pulley i in work."""
    return int(data[D.W_WRAP]) + N_WRAP * i


@kernel
def span(j, data):
    """Place of `Span` of span j in work."""
    return int(data[D.W_SPAN]) + N_SPAN * j


@kernel
def slide_by_angle(m, u, data):
    """Place in work of ds/dtheta of face u, theta of arm m."""
    return int(data[D.W_BY_ARM]) + m * cell_count(data) + u


@kernel
def clutch(m, data):
    """Place in work of the state of decoupler m's clutch: 1 locked, 0 free."""
    return int(data[D.W_CLUTCH]) + m


@kernel
def step_block(kind, data):
    """Place in work of a member of `rtcvt.model.stepping.Block`."""
    return int(data[D.W_STEP]) + kind * states(data)


@kernel
def step_matrix(data):
    """Place in work of the factored matrix of a step."""
    return step_block(Block.JACOBIAN, data) + states(data) * states(data)
