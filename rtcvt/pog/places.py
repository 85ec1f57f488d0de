"""Places of the data of a gear system: sizes, tables of the constants, parameters, and the places of each record.

Gears, contacts, ports, springs, elements and losses are numbered as in `rtcvt.pog.layout`. A record's place plus a
member of its enumeration is an index, as in ``work[element_work(e, data) + ElementW.TAU]``.
"""

from rtcvt.kernel import kernel
from rtcvt.model.stepping import Block
from rtcvt.pog.layout import (
    N_ELEMENT,
    N_ELEMENT_D,
    N_ELEMENT_W,
    N_ENTRY,
    N_FRICTION_D,
    N_INSTRUCTION,
    N_LOSS_W,
    N_PLAY,
    N_PORT_D,
    N_SPRING_D,
    N_TRACTION,
    N_TRACTION_D,
    N_TRACTION_W,
    N_TRACTIONS,
    D,
    Element,
    PortD,
    SpringD,
    TractionD,
)
from rtcvt.traction.size import LAW_SIZE

# --- sizes ------------------------------------------------------------------------------------------------------------


@kernel
def gears(data):
    """Number of gears, n_J."""
    return int(data[D.N_J])


@kernel
def contacts(data):
    """Number of contacts, n_K."""
    return int(data[D.N_K])


@kernel
def independents(data):
    """Number of independent speeds, n_1."""
    return int(data[D.N_1])


@kernel
def speeds(data):
    """Number of speeds that are states: of all gears in the full model, the independent ones in the rigid one."""
    return gears(data) if data[D.FULL] != 0.0 else independents(data)


@kernel
def ports(data):
    """Number of ports."""
    return int(data[D.N_PORT])


@kernel
def springs(data):
    """Number of springs at the ports."""
    return int(data[D.N_S])


@kernel
def frictions(data):
    """Number of relative frictions."""
    return int(data[D.N_FRICTION])


@kernel
def elements(data):
    """Number of elements."""
    return int(data[D.N_E])


@kernel
def losses(data):
    """Number of meshes that lose, which follow the friction elements."""
    return int(data[D.N_LOSS])


@kernel
def first_play(data):
    """The first contact with play among the elements; these come last."""
    return elements(data) - int(data[D.N_PLAY])


@kernel
def friction_elements(data):
    """Number of clutches, brakes and dry bearings, which come first, and place of the first loss."""
    return first_play(data) - losses(data)


@kernel
def tractions(data):
    """Number of contacts that transmit by traction."""
    return int(data[D.N_TRACTION])


@kernel
def states(data):
    """Number of states."""
    return int(data[D.N_X])


# --- tables of the constants ------------------------------------------------------------------------------------------


@kernel
def number(place, data):
    """A whole number of a table: of a gear, a port or a contact, or a place."""
    return int(data[place])


@kernel
def instruction(k, data):
    """Place of `Instruction` k of the tape in data."""
    return int(data[D.TAPE]) + N_INSTRUCTION * k


@kernel
def entry(k, data):
    """Place of `Entry` k of R in data."""
    return int(data[D.ENTRY]) + N_ENTRY * k


@kernel
def ordered(k, data):
    """The k-th gear, dependent ones first."""
    return number(int(data[D.ORDER]) + k, data)


@kernel
def relative_friction(k, data):
    """Place of `FrictionD` k in data."""
    return int(data[D.FRICTION]) + N_FRICTION_D * k


@kernel
def port(k, data):
    """Place of `PortD` of port k in data."""
    return int(data[D.PORT]) + N_PORT_D * k


@kernel
def port_gear(k, data):
    """The gear of port k."""
    return number(port(k, data) + PortD.GEAR, data)


@kernel
def port_springs(k, data):
    """Number of springs at port k."""
    return number(port(k, data) + PortD.SPRINGS, data)


@kernel
def first_spring(k, data):
    """The first spring at port k."""
    return number(port(k, data) + PortD.FIRST, data)


@kernel
def spring(s, data):
    """Place of `SpringD` of spring s in data."""
    return int(data[D.SPRING]) + N_SPRING_D * s


@kernel
def spring_port(s, data):
    """The port of spring s."""
    return number(spring(s, data) + SpringD.PORT, data)


@kernel
def spring_gear(s, data):
    """The gear of spring s."""
    return port_gear(spring_port(s, data), data)


@kernel
def element(e, data):
    """Place of `Element` e in data."""
    return int(data[D.ELEMENT]) + N_ELEMENT_D * e


@kernel
def first_gear(e, data):
    """The first gear of an element."""
    return number(element(e, data) + Element.A, data)


@kernel
def second_gear(e, data):
    """The second gear of an element."""
    return number(element(e, data) + Element.B, data)


@kernel
def actuation(e, u, data):
    """Actuation of an element that has one [-]."""
    return u[number(element(e, data) + Element.U, data)]


@kernel
def contact_of(e, data):
    """The contact of a play or of a mesh that loses."""
    return number(element(e, data) + Element.CONTACT, data)


@kernel
def play_of(k, data):
    """The element that is the play of contact k, or -1."""
    return number(int(data[D.PLAY]) + k, data)


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
    return p[number(int(data[D.START]) + c, data)]


@kernel
def inertia(i, p, data):
    """Moment of inertia of gear i [kg.m2]."""
    return p[int(data[D.P_J]) + i]


@kernel
def bearing(i, p, data):
    """Viscous friction of gear i [N.m.s/rad]."""
    return p[int(data[D.P_B]) + i]


@kernel
def contact_stiffness(k, p, data):
    """K of contact k [N/m]."""
    return p[int(data[D.P_K]) + x_force(k, data) - gears(data)]


@kernel
def contact_damping(k, p, data):
    """Damping of contact k [N.s/m]."""
    return p[int(data[D.P_D]) + x_force(k, data) - gears(data)]


@kernel
def spring_stiffness(s, p, data):
    """Stiffness of spring s [N.m/rad]."""
    return p[number(spring(s, data) + SpringD.P_K, data)]


@kernel
def p_element(e, data):
    """Place of `ElementP` of an element in p."""
    return number(element(e, data) + Element.P, data)


# --- states and outputs -----------------------------------------------------------------------------------------------


@kernel
def own_port(data):
    """The controlled port."""
    return int(data[D.OWN_PORT])


@kernel
def x_force(k, data):
    """Place of the force of contact k in x, full model; below 0 if it transmits by traction."""
    return number(int(data[D.FORCE]) + k, data)


@kernel
def is_spring(k, data):
    """Whether contact k of the full model is a spring with a damper: without traction, without play."""
    return x_force(k, data) >= 0 and play_of(k, data) < 0


@kernel
def traction(t, data):
    """Place of `TractionD` t in data."""
    return int(data[D.TRACTION]) + N_TRACTION_D * t


@kernel
def traction_contact(t, data):
    """The contact of traction t."""
    return number(traction(t, data) + TractionD.CONTACT, data)


@kernel
def x_load(data):
    """Place of the end load in x."""
    return int(data[D.X_LOAD])


@kernel
def y_traction(t, data):
    """Place of `TractionY` of traction t in y."""
    return int(data[D.Y_TRACTION]) + N_TRACTIONS + N_TRACTION * t


@kernel
def x_spring(s, data):
    """Place of the torque of spring s in x."""
    return int(data[D.X_SPRING]) + s


@kernel
def x_theta(data):
    """Place of the moving variable in x."""
    return int(data[D.X_THETA])


@kernel
def x_power(data):
    """Place of the filtered power in x."""
    return int(data[D.X_POWER])


@kernel
def x_own(data):
    """Place in x of the speed of the controlled port's gear."""
    return int(data[D.X_OWN])


@kernel
def x_twist(e, data):
    """Place of the twist phi of an element in x, or of z of a contact with play."""
    return int(data[D.X_PHI]) + e


@kernel
def x_heat(e, data):
    """Place of the heat of an element in x."""
    return x_twist(elements(data) + e, data)


@kernel
def theta_of(x, data):
    """The moving variable theta [rad], 0 if nothing moves."""
    return x[x_theta(data)] if data[D.MOVING] != 0.0 else 0.0


@kernel
def y_limited(data):
    """Place in y of the Boolean for a limit that overrides the controller; the one for a step that is too coarse
    follows."""
    return int(data[D.Y_LIMITED])


@kernel
def y_energy(data):
    """Place of the stored energy in y; the lost power follows."""
    return int(data[D.Y_E])


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


@kernel
def register(k, data):
    """Place in work of the value of register k; its first and second derivative to theta follow."""
    return int(data[D.W_REGISTER]) + 3 * k


@kernel
def contact_row(d, k, data):
    """Place in work of row k of R (d = 0) or R' (d = 1)."""
    return int(data[D.W_R]) + (d * (contacts(data) + tractions(data)) + k) * gears(data)


@kernel
def spin_row(d, t, data):
    """Place in work of the row of S of traction t (d = 0), or of S' (d = 1)."""
    return contact_row(d, contacts(data) + t, data)


@kernel
def traction_work(t, data):
    """Place of `TractionW` of traction t in work."""
    return int(data[D.W_TRACTION]) + (N_TRACTION_W + LAW_SIZE) * t


@kernel
def law_work(t, data):
    """Place in work of the outcome of the law of traction t."""
    return traction_work(t, data) + N_TRACTION_W


@kernel
def gear_row(d, i, data):
    """Place in work of row i of the d-th derivative of Q1 to theta."""
    return int(data[D.W_Q]) + (d * gears(data) + i) * independents(data)


@kernel
def dependent(data):
    """Place in work of the LU of R_D; its pivots follow."""
    return int(data[D.W_RD])


@kernel
def dependent_pivots(data):
    """Place in work of the pivots of R_D."""
    return dependent(data) + contacts(data) * contacts(data)


@kernel
def reduced(kind, data):
    """Place in work of a member of `Reduced`."""
    return int(data[D.W_REDUCED]) + kind * independents(data) * independents(data)


@kernel
def gear_vector(kind, data):
    """Place in work of a member of `GearVector`."""
    return int(data[D.W_GEAR]) + kind * gears(data)


@kernel
def controller(data):
    """Place in work of the controller's command, see `rtcvt.control.limits`."""
    return int(data[D.W_CONTROL])


@kernel
def law(data):
    """Place in work of the controller's numbers."""
    return int(data[D.W_LAW])


@kernel
def change_by(e, data):
    """Place in work of the change of the state by the torque of an element."""
    return int(data[D.W_Z]) + e * states(data)


@kernel
def response_of(e, data):
    """Place in work of the accelerations by the torque of an element."""
    return int(data[D.W_RESPONSE]) + e * gears(data)


@kernel
def element_work(e, data):
    """Place of `ElementW` of an element in work."""
    return int(data[D.W_ELEMENT]) + N_ELEMENT_W * e


@kernel
def w_load(k, data):
    """Place in work of the force of contact k that loads its loss."""
    return int(data[D.W_LOAD]) + k


@kernel
def loss_work(a, data):
    """Place of `LossW` of loss a in work."""
    return int(data[D.W_LOSS]) + N_LOSS_W * a


@kernel
def force_by_torques(a, data):
    """Place in work of the changes of the force of loss a by torques on the gears; those by x1 follow."""
    return int(data[D.W_BY_TORQUE]) + a * (gears(data) + independents(data))


@kernel
def force_by_elements(a, data):
    """Place in work of row a of G: changes of the force of loss a by the torques of elements."""
    return int(data[D.W_BY_ELEMENT]) + a * elements(data)


@kernel
def loss_matrix(data):
    """Place in work of the LU of ``1 - c G``."""
    return int(data[D.W_LOSSES])


@kernel
def loss_pivots(data):
    """Place in work of its pivots."""
    return loss_matrix(data) + losses(data) * losses(data)


@kernel
def loss_torques(data):
    """Place in work of the torques of losses."""
    return loss_pivots(data) + losses(data)


@kernel
def box(kind, data):
    """Place in work of a member of `Box`."""
    return int(data[D.W_BOX]) + kind * elements(data)


@kernel
def step_block(kind, data):
    """Place in work of a member of `rtcvt.model.stepping.Block`."""
    return int(data[D.W_STEP]) + kind * states(data)


@kernel
def step_pivots(data):
    """Place in work of the pivots of its matrix."""
    return step_block(Block.PIVOTS, data)


@kernel
def step_matrix(data):
    """Place in work of the factored matrix of a step."""
    return step_block(Block.JACOBIAN, data) + states(data) * states(data)
