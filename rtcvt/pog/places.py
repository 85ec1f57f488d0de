"""Places of the data of a gear system: sizes, tables of the constants, parameters, and the places of each record.

Gears, contacts, ports, springs, elements and losses are numbered as in `rtcvt.pog.layout`. A record's place plus a
member of its enumeration is an index, as in ``work[element_work(e, data) + ElementW.TAU]``.
"""

from rtcvt.kernel import kernel
from rtcvt.model.accessors import block, listed, member, row, value, whole
from rtcvt.model.places import entry as number
from rtcvt.model.stepping import Block
from rtcvt.pog import layout
from rtcvt.pog.layout import N_ELEMENT, N_PLAY, N_TRACTION, N_TRACTION_W, N_TRACTIONS, D, Element, SpringD
from rtcvt.traction.size import LAW_SIZE

# --- sizes ------------------------------------------------------------------------------------------------------------

gears = whole("gears", D.N_J)  # number of gears, n_J
contacts = whole("contacts", D.N_K)  # number of contacts, n_K
independents = whole("independents", D.N_1)  # number of independent speeds, n_1


@kernel
def speeds(data):
    """Number of speeds that are states: of all gears in the full model, the independent ones in the rigid one."""
    return gears(data) if data[D.FULL] != 0.0 else independents(data)


ports = whole("ports", D.N_PORT)  # number of ports
springs = whole("springs", D.N_S)  # number of springs at the ports
frictions = whole("frictions", D.N_FRICTION)  # number of relative frictions
elements = whole("elements", D.N_E)  # number of elements
losses = whole("losses", D.N_LOSS)  # number of meshes that lose, which follow the friction elements


@kernel
def first_play(data):
    """The first contact with play among the elements; these come last."""
    return elements(data) - number(D.N_PLAY, data)


@kernel
def friction_elements(data):
    """Number of clutches, brakes and dry bearings, which come first, and place of the first loss."""
    return first_play(data) - losses(data)


tractions = whole("tractions", D.N_TRACTION)  # number of contacts that transmit by traction
states = whole("states", D.N_X)  # number of states


# --- tables of the constants ------------------------------------------------------------------------------------------

instruction = row("instruction", D.TAPE, layout.Instruction)  # place of `Instruction` k of the tape in data
entry = row("entry", D.ENTRY, layout.Entry)  # place of `Entry` k of R in data
ordered = listed("ordered", D.ORDER)  # the k-th gear, dependent ones first
relative_friction = row("relative_friction", D.FRICTION, layout.FrictionD)  # place of `FrictionD` k in data
port = row("port", D.PORT, layout.PortD)  # place of `PortD` of port k in data
port_gear = member("port_gear", port, layout.PortD.GEAR)  # the gear of port k
port_springs = member("port_springs", port, layout.PortD.SPRINGS)  # number of springs at port k
first_spring = member("first_spring", port, layout.PortD.FIRST)  # the first spring at port k
spring = row("spring", D.SPRING, layout.SpringD)  # place of `SpringD` of spring s in data
spring_port = member("spring_port", spring, SpringD.PORT)  # the port of spring s


@kernel
def spring_gear(s, data):
    """The gear of spring s."""
    return port_gear(spring_port(s, data), data)


element = row("element", D.ELEMENT, layout.Element)  # place of `Element` e in data
first_gear = member("first_gear", element, Element.A)  # the first gear of an element
second_gear = member("second_gear", element, Element.B)  # the second gear of an element


@kernel
def actuation(e, u, data):
    """Actuation of an element that has one [-]."""
    return u[number(element(e, data) + Element.U, data)]


contact_of = member("contact_of", element, Element.CONTACT)  # the contact of a play or of a mesh that loses
play_of = listed("play_of", D.PLAY)  # the element that is the play of contact k, or -1


@kernel
def is_play(e, data):
    """Whether an element is a contact with play."""
    return e >= first_play(data)


@kernel
def lossy_contact(a, data):
    """The contact of loss a."""
    return contact_of(friction_elements(data) + a, data)


# --- parameters -------------------------------------------------------------------------------------------------------


@kernel
def start_speed(c, p, data):
    """Independent speed c at the start [rad/s]."""
    return p[number(number(D.START, data) + c, data)]


inertia = value("inertia", D.P_J)  # moment of inertia of gear i [kg.m2]
bearing = value("bearing", D.P_B)  # viscous friction of gear i [N.m.s/rad]


@kernel
def contact_stiffness(k, p, data):
    """K of contact k [N/m]."""
    return p[number(D.P_K, data) + x_force(k, data) - gears(data)]


@kernel
def contact_damping(k, p, data):
    """Damping of contact k [N.s/m]."""
    return p[number(D.P_D, data) + x_force(k, data) - gears(data)]


@kernel
def spring_stiffness(s, p, data):
    """Stiffness of spring s [N.m/rad]."""
    return p[number(spring(s, data) + SpringD.P_K, data)]


p_element = member("p_element", element, Element.P)  # place of `ElementP` of an element in p


# --- states and outputs -----------------------------------------------------------------------------------------------

own_port = whole("own_port", D.OWN_PORT)  # the controlled port
x_force = listed("x_force", D.FORCE)  # force of contact k in the full model; below 0 if by traction


@kernel
def is_spring(k, data):
    """Whether contact k of the full model is a spring with a damper: without traction, without play."""
    return x_force(k, data) >= 0 and play_of(k, data) < 0


traction = row("traction", D.TRACTION, layout.TractionD)  # place of `TractionD` t in data
traction_contact = member("traction_contact", traction, layout.TractionD.CONTACT)  # the contact of traction t
x_load = whole("x_load", D.X_LOAD)  # place of the end load in x


@kernel
def y_traction(t, data):
    """Place of `TractionY` of traction t in y."""
    return number(D.Y_TRACTION, data) + N_TRACTIONS + N_TRACTION * t


x_spring = row("x_spring", D.X_SPRING)  # place of the torque of spring s in x
x_theta = whole("x_theta", D.X_THETA)  # place of the moving variable in x
x_power = whole("x_power", D.X_POWER)  # place of the filtered power in x
x_own = whole("x_own", D.X_OWN)  # place in x of the speed of the controlled port's gear
x_twist = row("x_twist", D.X_PHI)  # place of the twist phi of an element in x, or of z of a contact with play


@kernel
def x_heat(e, data):
    """Place of the heat of an element in x."""
    return x_twist(elements(data) + e, data)


@kernel
def theta_of(x, data):
    """The moving variable theta [rad], 0 if nothing moves."""
    return x[x_theta(data)] if data[D.MOVING] != 0.0 else 0.0


y_limited = whole("y_limited", D.Y_LIMITED)  # place in y of the Boolean; the one for a step that is too coarse follows
y_energy = whole("y_energy", D.Y_E)  # place of the stored energy in y; the lost power follows


@kernel
def y_gear(i, data):
    """Place of the speed of gear i in y."""
    return y_energy(data) + 2 + i


@kernel
def y_contact(k, data):
    """Place of the force of contact k in y."""
    return y_gear(gears(data), data) + k


@kernel
def y_element(e, data):
    """Place of `ElementY` of an element in y."""
    return y_contact(contacts(data), data) + N_ELEMENT * e


@kernel
def y_play(e, data):
    """Place of `PlayY` of an element that is a contact with play in y."""
    return y_element(first_play(data), data) + N_PLAY * (e - first_play(data))


# --- scratch memory ---------------------------------------------------------------------------------------------------

register = row("register", D.W_REGISTER, 3)  # place in work of register k; its derivatives to theta follow


@kernel
def contact_row(d, k, data):
    """Place in work of row k of R (d = 0) or R' (d = 1)."""
    return number(D.W_R, data) + (d * (contacts(data) + tractions(data)) + k) * gears(data)


@kernel
def spin_row(d, t, data):
    """Place in work of the row of S of traction t (d = 0), or of S' (d = 1)."""
    return contact_row(d, contacts(data) + t, data)


traction_work = row("traction_work", D.W_TRACTION, N_TRACTION_W + LAW_SIZE)  # place of `TractionW`


@kernel
def law_work(t, data):
    """Place in work of the outcome of the law of traction t."""
    return traction_work(t, data) + N_TRACTION_W


@kernel
def gear_row(d, i, data):
    """Place in work of row i of the d-th derivative of Q1 to theta."""
    return number(D.W_Q, data) + (d * gears(data) + i) * independents(data)


dependent = whole("dependent", D.W_RD)  # place in work of the LU of R_D; its pivots follow


@kernel
def dependent_pivots(data):
    """Place in work of the pivots of R_D."""
    return dependent(data) + contacts(data) * contacts(data)


@kernel
def reduced(kind, data):
    """Place in work of a member of `Reduced`."""
    return number(D.W_REDUCED, data) + kind * independents(data) * independents(data)


gear_vector = block("gear_vector", D.W_GEAR, gears)  # place in work of a member of `GearVector`
controller = whole("controller", D.W_CONTROL)  # place in work of the controller's command, see `rtcvt.control.limits`
law = whole("law", D.W_LAW)  # place in work of the controller's numbers
change_by = block("change_by", D.W_Z, states)  # place in work of the change of the state by the torque of an element
response_of = block("response_of", D.W_RESPONSE, gears)  # accelerations by the torque of an element
element_work = row("element_work", D.W_ELEMENT, layout.ElementW)  # place of `ElementW` of an element in work
w_load = row("w_load", D.W_LOAD)  # place in work of the force of contact k that loads its loss
loss_work = row("loss_work", D.W_LOSS, layout.LossW)  # place of `LossW` of loss a in work


@kernel
def force_by_torques(a, data):
    """Place in work of the changes of the force of loss a by torques on the gears; those by x1 follow."""
    return number(D.W_BY_TORQUE, data) + a * (gears(data) + independents(data))


force_by_elements = block("force_by_elements", D.W_BY_ELEMENT, elements)  # row a of G: force by elements
loss_matrix = whole("loss_matrix", D.W_LOSSES)  # place in work of the LU of ``1 - c G``


@kernel
def loss_pivots(data):
    """Place in work of its pivots."""
    return loss_matrix(data) + losses(data) * losses(data)


@kernel
def loss_torques(data):
    """Place in work of the torques of losses."""
    return loss_pivots(data) + losses(data)


box = block("box", D.W_BOX, elements)  # place in work of a member of `Box`
step_block = block("step_block", D.W_STEP, states)  # place in work of a member of `rtcvt.model.stepping.Block`


@kernel
def step_pivots(data):
    """Place in work of the pivots of its matrix."""
    return step_block(Block.PIVOTS, data)


@kernel
def step_matrix(data):
    """Place in work of the factored matrix of a step."""
    return step_block(Block.JACOBIAN, data) + states(data) * states(data)
