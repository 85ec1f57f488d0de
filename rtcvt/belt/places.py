"""Places of the data of a belt drive: neighbours on the ring, and the places of each record in the buffers.

Cells, faces, pulleys and spans are numbered as in `rtcvt.belt.layout`. A record's place plus a member of its
enumeration is an index, as in ``work[cell(c, data) + Cell.T]``.
"""

from rtcvt.belt import layout
from rtcvt.belt.layout import N_GIVEN, N_PATCH, N_RIM, Arc, ArmD, D, DecouplerD, Flange, FlangeD, SpanD
from rtcvt.kernel import kernel
from rtcvt.model.accessors import block, listed, member, row, whole
from rtcvt.model.places import entry
from rtcvt.model.stepping import Block

# --- sizes ------------------------------------------------------------------------------------------------------------

pulleys = whole("pulleys", D.N)  # number of pulleys, and of spans
faces = whole("faces", D.FACES)  # number of faces on a wrap, that is of cells from one span to the next


@kernel
def cell_count(data):
    """Number of cells, and of faces of the whole belt."""
    return entry(D.N, data) * entry(D.FACES, data)


modes = whole("modes", D.MODES)  # number of lateral modes of a span
lateral = row("lateral", D.LATERAL, layout.Lateral)  # what moves the ends of span j; run-out of pulley j
states = whole("states", D.N_X)  # number of states
moving_states = whole("moving_states", D.X_GIVEN)  # states that change within an internal step come first
arms = whole("arms", D.ARMS)  # number of tensioner arms
decouplers = whole("decouplers", D.DECOUPLERS)  # number of decouplers


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

arc = row("arc", D.GEOMETRY, layout.Arc)  # place of `Arc` of pulley i in data
across = row("across", D.ACROSS, layout.Across)  # place of `Across` of span j in data


@kernel
def load_points(i, data):
    """Place in data of the first point (speed, torque) of the load of pulley i."""
    return entry(entry(D.LOAD, data) + 2 * i, data)


@kernel
def load_size(i, data):
    """Number of points of the load of pulley i; 0 if it has none."""
    return entry(entry(D.LOAD, data) + 2 * i + 1, data)


flange_row = row("flange_row", D.FLANGE, layout.FlangeD)  # place of `FlangeD` of pulley i in data
flange_kind = member("flange_kind", flange_row, FlangeD.KIND)  # a member of `Flange`
flange_input = member("flange_input", flange_row, FlangeD.INPUT)  # place in u of its torque or speed
given_number = member("given_number", flange_row, FlangeD.GIVEN)  # number of pulley i among those whose speed is given


@kernel
def rim_radius(i, data):
    """``sigma r`` of pulley i [m]."""
    row = arc(i, data)
    return data[row + Arc.SIGMA] * data[row + Arc.RADIUS]


patches = whole("patches", D.PATCHES)
patch_pulley = listed("patch_pulley", D.PATCH_OF)  # pulley of patch k; -1: on the belt


@kernel
def patch(k, i, data):
    """Place of `PatchD` of patch k and pulley i in data."""
    return entry(D.PATCH, data) + N_PATCH * (pulleys(data) * k + i)


arm_row = row("arm_row", D.ARM, layout.ArmD)  # place of `ArmD` of arm m in data
arm_pulley = member("arm_pulley", arm_row, ArmD.PULLEY)  # the pulley that arm m carries


@kernel
def arm_of_pulley(i, data):
    """The arm that carries pulley i, or -1."""
    for m in range(arms(data)):
        if arm_pulley(m, data) == i:
            return m
    return -1


span_row = row("span_row", D.SPAN_ARM, layout.SpanD)  # place of `SpanD` of span j in data
span_arm = member("span_arm", span_row, SpanD.ARM)  # the arm that moves an end of span j, if there are arms


@kernel
def arm_of_span(j, data):
    """The arm that moves an end of span j, or -1."""
    if data[D.ARMS] == 0.0:
        return -1
    return span_arm(j, data)


arm_table = member("arm_table", span_row, SpanD.TABLE)  # place in data of the table of span j over its arm's angle
decoupler_row = row("decoupler_row", D.DECOUPLER, layout.DecouplerD)  # place of `DecouplerD` of decoupler m in data
decoupler_pulley = member("decoupler_pulley", decoupler_row, DecouplerD.PULLEY)  # the pulley of decoupler m


@kernel
def decoupler_of(i, data):
    """The decoupler of pulley i, or -1."""
    for m in range(decouplers(data)):
        if decoupler_pulley(m, data) == i:
            return m
    return -1


# --- parameters -------------------------------------------------------------------------------------------------------

p_inertia = row("p_inertia", D.P_J)  # place of the inertia of pulley i in p
p_bearing = row("p_bearing", D.P_B)  # place of the viscous friction of pulley i in p
p_friction = row("p_friction", D.P_MU)  # place of the friction coefficient of pulley i in p
p_arm = row("p_arm", D.P_ARM, layout.ArmP)  # place of `ArmP` of arm m in p
p_decoupler = row("p_decoupler", D.P_DECOUPLER, layout.DecouplerP)  # place of `DecouplerP` of decoupler m in p


# --- states -----------------------------------------------------------------------------------------------------------


@kernel
def x_speed(i, data):
    """Place of the speed of pulley i in x, hybrid model."""
    return cell_count(data) + i


@kernel
def x_flow(data):
    """Place of the mean flow q_m in x, hybrid model."""
    return cell_count(data) + pulleys(data)


x_arm = row("x_arm", D.X_ARM, layout.ArmX)  # place of `ArmX` of arm m in x
x_decoupler = row("x_decoupler", D.X_DECOUPLER, layout.DecouplerX)  # place of `DecouplerX` of decoupler m in x
x_patch = row("x_patch", D.X_PATCH)  # place in x of the way of patch k [turns]
x_sliding = row("x_sliding", D.X_SLIDING)  # place in x of the sliding speed that the friction of pulley i depends on


@kernel
def x_lateral(j, data):
    """Place in x of pulley j's angle, the last tension of span j and the modes of that span."""
    return entry(D.X_LATERAL, data) + (2 + 2 * entry(D.MODES, data)) * j


@kernel
def given_state(i, data):
    """Place of `GivenX` of pulley i in x, or -1 if its speed is not given."""
    if flange_kind(i, data) != Flange.SPEED:
        return -1
    return entry(D.X_GIVEN, data) + N_GIVEN * given_number(i, data)


@kernel
def speed(i, x, data):
    """Speed of pulley i in the hybrid model [rad/s]."""
    return x[x_speed(i, data)]


# --- outputs ----------------------------------------------------------------------------------------------------------

y_belt = whole("y_belt", D.Y_BELT)  # place of `Y` in y
y_tension = row("y_tension", D.Y_TENSION)  # place of the tension of span j in y
y_pulley = row("y_pulley", D.Y_PULLEY, layout.PulleyY)  # place of `PulleyY` of pulley i in y


@kernel
def y_given(i, data):
    """Place in y of the speed of pulley i, whose flange's speed is given."""
    return entry(D.Y_GIVEN, data) + given_number(i, data)


# --- scratch memory ---------------------------------------------------------------------------------------------------

cell = row("cell", D.W_CELL, layout.Cell)  # place of `Cell` of cell c in work
face = row("face", D.W_FACE, layout.Face)  # place of `Face` of face u in work


@kernel
def rim(end, j, data):
    """Place of `Rim` at the start (0) or the end (1) of span j in work."""
    return entry(D.W_RIM, data) + N_RIM * (2 * j + end)


wrap = row("wrap", D.W_WRAP, layout.Wrap)  # place of `Wrap` of pulley i in work
span = row("span", D.W_SPAN, layout.Span)  # place of `Span` of span j in work


@kernel
def slide_by_angle(m, u, data):
    """Place in work of ds/dtheta of face u, theta of arm m."""
    return entry(D.W_BY_ARM, data) + m * cell_count(data) + u


clutch = row("clutch", D.W_CLUTCH)  # place in work of the state of decoupler m's clutch: 1 locked, 0 free
step_block = block("step_block", D.W_STEP, states)  # place in work of a member of `rtcvt.model.stepping.Block`
w_slope = whole("w_slope", D.W_SLOPE)  # place in work of the slope of R where it was evaluated last


@kernel
def step_matrix(data):
    """Place in work of the factored matrix of a step."""
    return step_block(Block.JACOBIAN, data) + states(data) * states(data)
