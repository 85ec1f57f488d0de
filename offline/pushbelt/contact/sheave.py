"""Sheaves of the pulleys, with axial, tilt and rotation freedoms.

Cebulla 2014, sections 3.2.1 (Fig. 3.6), 6.1.1 (Fig. 6.2) and "Pulley - Environment" of section 6.1.3. The flanks exert
the axial force R_z, the moments M_x, M_y about the apex and the torque tau about the shaft (`flank`):

    m z'' + d_z z' = R_z - F_C
    Theta_t alpha'' + d_t alpha' + c_t alpha - J/2 omega beta' = M_x
    Theta_t beta''  + d_t beta'  + c_t beta  + J/2 omega alpha' = M_y
    J omega' = sum of tau + M_ext

A pulley has two sheaves, by side (0: z > 0, 1: z < 0, each in its view, `elements`):

    mirrored    all four sheaves are loose; in the hybrid model one side represents both
    crosswise   the loose sheave of the primary is on side 0, that of the secondary on side 1; the others are fixed

A loose sheave moves along the shaft and tilts on its guide; both turn with the shaft. A fixed sheave is at the place
where the belt is aligned at ratio 1, but for an assembly offset on the primary: with the apex of the cones at z_P -
r_1P tan(delta_0) on the secondary and the offset less on the primary, the belt's mid plane on the primary is at z =
offset + tan(delta_0) (2 r_1 - r_I - r_O), `kinematics.misalignment`, from that on the secondary.

z, alpha, beta: position of the apex along the shaft (grows when the groove opens) and tilts about x and y, in the
inertial frame; omega > 0 in the direction of travel, i.e. clockwise, whence the signs of the gyroscopic terms.

Boundary. The clamping force F_C of the machine acts in full on each loose sheave. An end stop prescribes the rate
at which the whole groove opens; a mirrored sheave moves with half of it, a crosswise one with all of it, and F_C is the
force that the stop exerts. The
primary's speed is prescribed, and the secondary has a load torque M_O or a prescribed speed; or a torque M_I drives the
primary, and the secondary's speed is prescribed.

Load. With a load torque the secondary drives a second mass through a shaft of stiffness K and damping d,

    M_ext = -T - (1 - far) M_O,    J_L omega_L' = T - far M_O,    T = K phi + d phi',    phi' = omega - omega_L

far = 1: M_O acts on the mass after the shaft, as on a bench or in a car; far = 0: on the pulley, which with K = 0 has
a viscous damper, a ring in a housing with oil between them. K = d = 0: M_O alone.

Step: the forces are those at the end of the step (semi-implicit Euler); dampers, gyroscopic terms and the load's shaft
use the mean of old and new values. The change of kinetic energy is then the sum of the powers at mean rates, to
round-off, and the load's shaft is balanced.
"""

from typing import NamedTuple

from rtcvt.offline.pushbelt.compiled import compiled, inlined


class Load(NamedTuple):
    """Load of the secondary: K [N m/rad], d [N m s/rad] of a shaft, J [kg m2] after it, share of M_O there."""

    K: float = 0.0
    d: float = 0.0
    J: float = 1.0
    far: float = 0.0


@inlined
def shaft(sheaves, load, dt, b, pulley, omega_old, torque, turning):
    """New speed of a pulley [rad/s] under the torque of its belt, the external torque on its shaft [N m], and the
    power into the shaft and the loss of its load [W].

    Parameters as for `advance`; the load's state `turning` is replaced.
    """
    if pulley == 1 and b[5] == 0.0:
        near = (1.0 - load.far) * b[6]
        far = load.far * b[6]
        half = 0.5 * dt
        twist = turning[0]
        e = omega_old - turning[1] + half * ((torque - near) / sheaves.J + far / load.J)
        each = half * (1.0 / sheaves.J + 1.0 / load.J)
        rate = (e - each * load.K * twist) / (1.0 + each * (load.d + half * load.K))  # mean of the step
        T = load.K * (twist + half * rate) + load.d * rate
        external = -near - T
        omega_new = omega_old + dt * (torque + external) / sheaves.J
        mean = turning[1] + half * (T - far) / load.J
        turning[0] = twist + dt * rate
        turning[1] = 2.0 * mean - turning[1]
        given = -0.5 * near * (omega_old + omega_new) - far * mean
        lost = load.d * rate * rate
    elif pulley == 0 and b[5] == 2.0:
        external = b[4]
        omega_new = omega_old + dt * (torque + external) / sheaves.J
        given = 0.5 * external * (omega_old + omega_new)
        lost = 0.0
    else:
        omega_new = b[4] if pulley == 0 else b[6]
        external = sheaves.J * (omega_new - omega_old) / dt - torque
        given = 0.5 * external * (omega_old + omega_new)
        lost = 0.0
    return omega_new, external, given, lost


@inlined
def slide(sheaves, dt, b, pulley, opening, spin, reaction, s, sd):
    """Replace the rates of one loose sheave along its shaft and of its tilts.

    Parameters as for `advance`; opening: the share of the groove's opening by which it moves, spin: half its angular
    momentum [N m s].

    Returns
    -------
    clamping force or force of the end stop [N]; powers of one sheave [W]: input by this force, loss in the axial
    dampers, loss in the tilt dampers
    """
    R = reaction[pulley, 0]
    z_old = sd[pulley, 0]
    if b[2 * pulley] == 0.0:
        F_C = b[2 * pulley + 1]
        z_new = (sheaves.m * z_old + dt * (R - F_C - 0.5 * sheaves.d_z * z_old)) / (sheaves.m + 0.5 * dt * sheaves.d_z)
    else:
        z_new = opening * b[2 * pulley + 1]
        F_C = R - sheaves.m * (z_new - z_old) / dt - 0.5 * sheaves.d_z * (z_new + z_old)
    sd[pulley, 0] = z_new
    a_old, b_old = sd[pulley, 1], sd[pulley, 2]
    e = sheaves.Theta_t / dt + 0.5 * sheaves.d_t
    g = 0.5 * spin
    e_old = sheaves.Theta_t / dt - 0.5 * sheaves.d_t
    f_x = e_old * a_old + g * b_old + reaction[pulley, 1] - sheaves.c_t * s[pulley, 1]
    f_y = e_old * b_old - g * a_old + reaction[pulley, 2] - sheaves.c_t * s[pulley, 2]
    det = e * e + g * g
    a_new = (e * f_x + g * f_y) / det
    b_new = (e * f_y - g * f_x) / det
    sd[pulley, 1], sd[pulley, 2] = a_new, b_new
    z_mean = 0.5 * (z_old + z_new)
    tilting = 0.25 * sheaves.d_t * ((a_old + a_new) ** 2 + (b_old + b_new) ** 2)
    return F_C, -F_C * z_mean, sheaves.d_z * z_mean * z_mean, tilting


@compiled
def advance(sheaves, load, mirrored, b, dt, s, sd, turning, reaction, out, power):
    """Replace the rates `sd` by those after the step `dt`.

    Parameters
    ----------
    sheaves : Sheaves
        m, Theta_t, d_z, c_t, d_t of one sheave, J of the whole pulley.
    load : Load
        Of the secondary; acts only if the load torque is given.
    mirrored : bool
        All sheaves are loose.
    b : ndarray, shape (7,)
        Boundary values: axial mode and value of pulley I, the same of pulley O (mode 0: clamping force [N], 1: end
        stop, opening rate of the groove [m/s]); speed of I [rad/s]; mode and value of O's shaft (0: load torque
        [N m], 1: speed [rad/s], 2: speed, and the value of I is its torque [N m]).
    dt : float
        Step [s].
    s, sd : ndarrays, shape (2, 4), by side
        By pulley: z [m], alpha, beta, rotation [rad] at the end of the step, and their rates; `sd` is replaced. A
        single side stands for two mirrored ones.
    turning : ndarray, shape (2,)
        phi [rad], omega_L [rad/s] of the load; replaced.
    reaction : ndarrays, shape (2, 4), by side
        From `flank.add_works`.
    out : ndarray, shape (2, 7)
        Written per pulley: axial contact force on the loose sheave (mirrored: on one) [N], clamping force or force of
        the end stop [N], torque of the belt on the pulley [N m], external torque on the shaft [N m], contact moments
        about x and y on the loose sheave [N m], axial contact force on the fixed sheave (mirrored: on the other) [N].
    power : ndarray, shape (2, 5)
        Written per pulley [W], all its sheaves: input by the clamping force, input at the shaft and its load, loss in
        the axial dampers, loss in the tilt dampers, loss in the load's shaft.
    """
    alike = 2.0 / len(s)
    for pulley in range(2):
        loose = 0 if mirrored else pulley
        fixed = len(s) - 1 - loose
        omega_old = sd[0][pulley, 3]
        torque = reaction[loose][pulley, 3] + reaction[fixed][pulley, 3]
        omega_new, external, given, lost = shaft(sheaves, load, dt, b, pulley, omega_old, torque, turning)
        spin = 0.25 * sheaves.J * (omega_old + omega_new)
        power[pulley, :4] = 0.0
        power[pulley, 1] = given
        power[pulley, 4] = lost
        for side in range(len(s)):
            sd[side][pulley, 3] = omega_new
            if mirrored or side == loose:
                F_C, clamping, axial, tilting = slide(
                    sheaves, dt, b, pulley, 0.5 if mirrored else 1.0, spin, reaction[side], s[side], sd[side]
                )
                power[pulley, 0] += alike * clamping
                power[pulley, 2] += alike * axial
                power[pulley, 3] += alike * tilting
                if side == loose:
                    out[pulley, 1] = F_C
        on_loose = reaction[loose]
        out[pulley, 0], out[pulley, 4], out[pulley, 5] = on_loose[pulley, 0], on_loose[pulley, 1], on_loose[pulley, 2]
        out[pulley, 2], out[pulley, 3], out[pulley, 6] = torque, external, reaction[fixed][pulley, 0]


@compiled
def load_energy(load, turning):
    """Energy of the load's shaft and of the mass after it [J]."""
    return 0.5 * load.K * turning[0] ** 2 + 0.5 * load.J * turning[1] ** 2


@compiled
def energy(sheaves, mirrored, s, sd):
    """Kinetic energy of the two pulleys and energy of the tilt bearings of their loose sheaves [J]; parameters as for
    `advance`."""
    half = 1.0 / len(s)
    total = 0.0
    for pulley in range(2):
        total += 0.5 * sheaves.J * sd[0][pulley, 3] ** 2
        for side in range(len(s)):
            if mirrored or side == pulley:
                at, rate = s[side], sd[side]
                total += half * sheaves.m * rate[pulley, 0] ** 2
                total += half * sheaves.Theta_t * (rate[pulley, 1] ** 2 + rate[pulley, 2] ** 2)
                total += half * sheaves.c_t * (at[pulley, 1] ** 2 + at[pulley, 2] ** 2)
    return total
