"""Four sheaves, two of each pulley (Cebulla 2014, section 3.2.1, Fig. 3.6).

By side (0: z > 0, 1: z < 0, in the mirrored view of `element`) and pulley (0: primary, 1: secondary):

    crosswise   the loose sheave of the primary is on side 0, that of the secondary on side 1; the others are fixed
    mirrored    all four are loose: the hybrid model's pulleys

A loose sheave moves along the shaft and tilts on its guide, with the equations of `sheave`; the two sheaves of a pulley
turn with its shaft. The clamping force acts on loose sheaves. An end stop that opens the groove at a rate moves a
crosswise loose sheave by all of it, mirrored ones by half each.

A fixed sheave is at the place where the belt is aligned at ratio 1, but for an assembly offset on the primary: with the
apex of the cones at z_P - r_1P tan(delta_0) on the secondary and the offset less on the primary, the belt's mid plane
on the primary is at z = offset + tan(delta_0) (2 r_1 - r_I - r_O), `kinematics.misalignment`, from that on the
secondary."""

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.contact.sheave import shaft, slide


@compiled
def advance(sheaves, load, mirrored, b, dt, s, sd, turning, reaction, out, power):
    """Replace the rates `sd` by those after the step `dt`.

    Parameters
    ----------
    sheaves, load, b, dt, turning : as for `sheave.advance`
    mirrored : bool
        All four sheaves are loose.
    s, sd : (2, 2, 4)
        By side and pulley: z [m], alpha, beta, rotation [rad] at the end of the step, and their rates, replaced.
    reaction : (2, 2, 4)
        From `flank.velocities`.
    out : (2, 7)
        Written per pulley: axial contact force on the loose sheave (mirrored: on one) [N], clamping force or force of
        the end stop [N], torque of the belt on the pulley [N m], external torque on the shaft [N m], contact moments
        about x and y on the loose sheave [N m], axial contact force on the fixed sheave (mirrored: on the other) [N].
    power : (2, 5)
        As of `sheave.advance`.
    """
    for pulley in range(2):
        loose = 0 if mirrored else pulley
        omega_old = sd[0, pulley, 3]
        torque = reaction[0, pulley, 3] + reaction[1, pulley, 3]
        omega_new, external, given, lost = shaft(sheaves, load, dt, b, pulley, omega_old, torque, turning)
        spin = 0.25 * sheaves.J * (omega_old + omega_new)
        for a in range(4):
            power[pulley, a] = 0.0
        power[pulley, 1] = given
        power[pulley, 4] = lost
        for side in range(2):
            sd[side, pulley, 3] = omega_new
            if not mirrored and side != loose:
                continue
            opening = 0.5 if mirrored else 1.0
            F_C, clamping, axial, tilting = slide(
                sheaves, dt, b, pulley, opening, spin, reaction[side], s[side], sd[side]
            )
            power[pulley, 0] += clamping
            power[pulley, 2] += axial
            power[pulley, 3] += tilting
            if side == loose:
                out[pulley, 0] = reaction[side, pulley, 0]
                out[pulley, 1] = F_C
                out[pulley, 4] = reaction[side, pulley, 1]
                out[pulley, 5] = reaction[side, pulley, 2]
        out[pulley, 2] = torque
        out[pulley, 3] = external
        out[pulley, 6] = reaction[1 - loose, pulley, 0]


@compiled
def energy(sheaves, mirrored, s, sd):
    """Kinetic energy of the two pulleys and energy of the tilt bearings of their loose sheaves [J]."""
    total = 0.0
    for pulley in range(2):
        total += 0.5 * sheaves.J * sd[0, pulley, 3] ** 2
        for side in range(2):
            if mirrored or side == pulley:
                total += 0.5 * sheaves.m * sd[side, pulley, 0] ** 2
                total += 0.5 * sheaves.Theta_t * (sd[side, pulley, 1] ** 2 + sd[side, pulley, 2] ** 2)
                total += 0.5 * sheaves.c_t * (s[side, pulley, 1] ** 2 + s[side, pulley, 2] ** 2)
    return total
