"""Start of the spatial model from a state of the hybrid model on the same mesh.

The state may be a new one or the end of a run of the hybrid model, the planar pre-integration of Cebulla 2014,
section 4.3. Since both models have the same planar coordinates nothing is interpolated.

Sheaves. Mirrored ones stay in place. Crosswise, the fixed ones are at their places (`sheave`) and do not tilt; the belt
is moved to the depth that it has in the hybrid model's sheaves, the loose ones to the same depth.

Belt. Between the pulleys it follows a cubic without slope at its ends, with the elements' yaw; the rings have the shape
of least energy under their tension (`lateral.resting`), softly supported on that line. All move along it. (4.74) is
linear in the arc length; its kinks at the pulleys would bend the rings.

Length. A strand out of line is longer than its projection, (4.75) and (4.76), the belt on a pulley is not: the rings
would start with a wave of tension. They slide along the belt until each of their finite elements has the same share of
the extra length of the strands; that share stays, as in the source.
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.compiled import columns
from rtcvt.offline.pushbelt.contact.element_ring import around
from rtcvt.offline.pushbelt.contact.maxwell import Coupled
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.ring import ring_set
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.ring.ring import N_LOAD, N_RATE, N_SHAPE, NQ
from rtcvt.offline.pushbelt.spatial import element_ring, lateral
from rtcvt.offline.pushbelt.spatial.model import SIDES, Half, Model, State
from rtcvt.offline.pushbelt.unit.kinematics import radius_at_one
from rtcvt.offline.pushbelt.unit.taut_path import TautPath, place_on, taut_path

Array = NDArray[np.float64]

SUPPORT_STIFFNESS = 1e5  # [N/m] support of a node of the ring, so soft that a bend is some ten elements long
MAX_SLOPE = 0.03  # slope of a strand; terms of second order in angles are left out


def lift(m: Model, x: hybrid.State) -> State:
    """The state of the spatial model that a state of the hybrid model is, on the same mesh.

    Raises
    ------
    InputError
        The pulleys hold the belt so far out of line that a strand
        is steeper than `MAX_SLOPE`.
    """
    b, N_E, N_B = m.belt, m.belt.N_E, m.belt.N_B
    s, sd = np.tile(x.s, (2, 1, 1)), np.tile(x.sd, (2, 1, 1))
    deflection = np.tile(x.z, (2, 1, 1))
    path = taut_path(x.q_R[None, :, :2], b.d_A)
    z_I, z_O = (0.0, 0.0) if m.mirrored else _crosswise(m, x, path, s, sd, deflection)
    span = float(path.d_A * np.sin(path.phi[0]))
    if not abs(z_I - z_O) <= MAX_SLOPE * span:
        most = f"one that leaves the belt within {MAX_SLOPE * span:g} m of its line at this ratio, {z_I - z_O:g} m"
        raise InputError("pushbelt", "pulleys.alignment_offset", b.d_align, most)

    def laid(points: Array) -> tuple[Array, Array, Array]:
        """z, its slope and curvature along the belt."""
        sigma, _ = place_on(path, points[None, :, :2])
        section, t = np.minimum(sigma[0].astype(int), 3), sigma[0] % 1.0
        ahead, behind = np.array([z_I, z_O, z_O, z_I])[section], np.array([z_I, z_I, z_O, z_O])[section]
        step = ahead - behind
        z = behind + step * t * t * (3.0 - 2.0 * t)
        return z, step * 6.0 * t * (1.0 - t) / span, step * (6.0 - 12.0 * t) / span**2

    z, slope, bend = laid(x.q)
    speed = np.hypot(x.u[:, 0], x.u[:, 1])
    q, u = columns(N_E, 6), columns(N_E, 6)
    q[:, :3], u[:, :3] = x.q, x.u
    q[:, 3], q[:, 5] = z, -slope
    u[:, 3], u[:, 5] = speed * slope, -speed * bend
    u[:, 4] = x.u[:, 2] * slope

    cs_R, sn_R, tension = np.cos(x.q_R[:, 2]), np.sin(x.q_R[:, 2]), np.zeros(N_B)
    shape, rate, load, *beam = (columns(N_B, n) for n in (N_SHAPE, N_RATE, N_LOAD, NQ, NQ))
    ring_set.shape_of(m.ring, x.q_R, cs_R, sn_R, shape)
    ring_set.rate_of(m.ring, x.u_R, shape, rate)
    ring_set.forces(m.ring, x.q_R, x.u_R, cs_R, sn_R, shape, rate, load, beam[0], tension)
    ring_set.nodes(m.ring, x.q_R, x.u_R, cs_R, sn_R, shape, rate, *beam)
    cs_R, sn_R = np.cos(beam[0][:, 2]), np.sin(beam[0][:, 2])
    ring = lateral.resting(m.lateral, shape, cs_R, sn_R, tension, np.full(N_B, SUPPORT_STIFFNESS), laid(x.q_R)[0])
    q_R, u_R, s_R = _evened(m, x._replace(q_R=beam[0], u_R=beam[1]), ring, cs_R, sn_R)
    if isinstance(m.ring, Cosserat):  # its sections turn with the chords
        q_R[:, 2] = x.q_R[:, 2] + np.angle(np.exp(1j * (_chords(q_R) - _chords(x.q_R))))
        u_R[:, 2] = x.u_R[:, 2]
    along = (np.hypot(x.u_R[:, 0], x.u_R[:, 1]) / m.lateral.l)[:, None]
    moved = 0.5 * along * (np.roll(ring, -1, axis=0) - np.roll(ring, 1, axis=0))

    memory = columns(N_E, element_ring.MEMORY)
    for of, column in ((0, 0), (6, 5)):  # saddle, ear: friction, slip, damper, rate of the gap
        memory[:, [of, of + 4]] = 0.5 * x.memory[:, [column, column + 3]]
        memory[:, [of + 2, of + 5]] = x.memory[:, [column + 1, column + 4]]
    rub = columns(N_E, 6)
    rub[:, :3] = x.rub
    halves = []
    for side, sigma in enumerate(SIDES):
        q_L, u_L = columns(N_B, lateral.NL), columns(N_B, lateral.NL)
        q_L[:], u_L[:] = sigma * ring, sigma * moved
        q_L[:, 0] += m.guides[0].z_S
        held, held_L = columns(N_B, N_LOAD), columns(N_B, lateral.NL)
        r = x.r.copy() if m.mirrored else np.zeros(2)
        arrays = (q_R.copy("F"), u_R.copy("F"), q_L, u_L, s_R.copy(), memory.copy("F"), held, held_L)
        halves.append(Half(*arrays, z=deflection[side].copy(), r=r))
    return State(q, u, s, sd, columns(N_E, 12), x.load.copy(), rub, *halves)


def _chords(q_R: Array) -> Array:
    """Angle (N_B,) [rad] of the pieces between the nodes of a ring."""
    ahead = np.roll(q_R[:, :2], -1, axis=0) - q_R[:, :2]
    return np.arctan2(ahead[:, 1], ahead[:, 0])


def _evened(m: Model, x: hybrid.State, ring: Array, cs_R: Array, sn_R: Array) -> tuple[Array, Array, Array]:
    """Planar coordinates, rates and saddles' places of a ring that slid along itself until its lateral coordinates
    `ring` (N_B, 3) stretch all its finite elements equally."""
    l, N_B = m.lateral.l, len(ring)  # noqa: E741
    twist, bow = columns(N_B, 4), columns(N_B, 2)
    lateral.stretches(m.lateral, ring.copy("F"), columns(N_B, lateral.NL), x.u_R, cs_R, sn_R, twist, bow)
    longer = l * (bow[:, 0] - bow[:, 0].mean())
    slid = -np.concatenate([[0.0], np.cumsum(longer)[:-1]])
    slid -= slid.mean()
    bend = np.angle(np.exp(1j * (np.roll(x.q_R[:, 2], -1) - np.roll(x.q_R[:, 2], 1)))) / (2.0 * l)
    turn, q_R, u_R = slid * bend, x.q_R.copy("F"), x.u_R.copy("F")
    q_R[:, :3] += np.column_stack([slid * cs_R, slid * sn_R, turn])
    u_R[:, :2] += np.column_stack([-turn * x.u_R[:, 1], turn * x.u_R[:, 0]])
    here = np.interp(x.s_R, np.arange(N_B + 1.0), np.append(slid, slid[0]))
    return q_R, u_R, around(x.s_R - here / l, N_B)


def _crosswise(
    m: Model, x: hybrid.State, path: TautPath, s: Array, sd: Array, deflection: Array
) -> tuple[float, float]:
    """Loose and fixed sheaves about a belt with the same forces; returns the place of the belt on primary and
    secondary.

    s, sd, deflection (2, 2, ...): by side and pulley, of mirrored sheaves; changed. The difference in deflection of the
    more or less compliant sheave is compensated by belt and loose sheave in the mean over the arc.
    """
    b, laws = m.belt, (m.left, m.right)
    depth = b.h_P + 0.5 * b.h_ring - b.y_P
    aligned = b.z_P - (radius_at_one(b.l_R, b.d_A, b.d_align) - depth) * b.tan_d
    half, k = (np.pi - path.phi[0], path.phi[0]), np.arange(len(m.sheaves.A))
    z = [0.0, 0.0]
    for pulley, apex in enumerate((aligned - b.d_align, aligned)):
        loose, fixed = pulley, 1 - pulley
        of_loose, of_fixed = (laws[a].share[pulley] if isinstance(laws[a], Coupled) else 1.0 for a in (loose, fixed))
        weight = np.sinc(k * half[pulley] / np.pi) * np.where(pulley == 0, 1.0, (-1.0) ** k)
        w = x.z[pulley, 0] + float(weight[1:] @ x.z[pulley, 1::2])
        z[pulley] = SIDES[fixed] * (apex - x.s[pulley, 0] - (1.0 - of_fixed) * w)
        s[loose, pulley, 0] = x.s[pulley, 0] + (1.0 - of_loose) * w - SIDES[fixed] * z[pulley]
        sd[loose, pulley, 0] = 2.0 * x.sd[pulley, 0]
        s[fixed, pulley, :3] = apex, 0.0, 0.0
        sd[fixed, pulley, :3] = 0.0
        # its deflection includes that by its tilt
        if deflection.shape[2] > 1:
            deflection[fixed, pulley, 1] -= x.s[pulley, 2] * x.r[pulley] / b.cos_d**2
            deflection[fixed, pulley, 2] += x.s[pulley, 1] * x.r[pulley] / b.cos_d**2
        deflection[loose, pulley] *= of_loose
        deflection[fixed, pulley] *= of_fixed
    return z[0], z[1]
