"""Patches of the belt or of a pulley's rim with another friction, as under an oil film (Kubas 2017, section 6).

Where patch k covers the contact, mu is multiplied by its share; places are in turns of the belt or of the pulley. On
the wrap w of a pulley, of which the patch covers ``C_k = |w and patch|/|w|``, the hybrid model has ::

    mu -> mu prod (1 - (1 - share_k) C_k),    z_k' = q_m (1 + T_0/EA)/L or omega/(2 pi)

so that ``mu beta`` of one patch is the integral of mu over the wrap. The way z_k is constant over an internal step and
where an arm turns the wrap, the wrap remains as drawn. Full models use C_k of a segment in place of the wrap. The
rigid model has none; in a system of connected units they stay where they start.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt import places
from rtcvt.belt.geometry import BeltPath
from rtcvt.belt.layout import BeltP, D, PatchD
from rtcvt.belt.unit import BeltUnit
from rtcvt.kernel import kernel

Array = NDArray[np.float64]

TURN = 2.0 * math.pi


@kernel
def covered(first, length, width):
    """Share of a width from 0 on that a patch covers, `first` its start; in turns, each length at most 1."""
    at = first - int(first)
    if at < 0.0:
        at += 1.0
    over = (width if width < at + length else at + length) - at
    before = width if width < at - 1.0 + length else at - 1.0 + length
    return ((over if over > 0.0 else 0.0) + (before if before > 0.0 else 0.0)) / width


@kernel
def film(i, x, data):
    """Factor of the friction on pulley i, hybrid model."""
    found = 1.0
    for k in range(places.patches(data)):
        row = places.patch(k, i, data)
        if data[row + PatchD.WIDTH] > 0.0:
            first = data[row + PatchD.FIRST] + x[places.x_patch(k, data)]
            found *= 1.0 - data[row + PatchD.LESS] * covered(first, data[row + PatchD.LENGTH], data[row + PatchD.WIDTH])
    return found


@kernel
def move_patches(h, x, p, data):
    """Let all patches follow an internal step of h [s]."""
    for k in range(places.patches(data)):
        i = places.patch_pulley(k, data)
        turns = x[places.x_flow(data)] * (1.0 + p[BeltP.T_0] / p[BeltP.EA]) / data[D.BELT_LENGTH]
        if i >= 0:
            turns = places.speed(i, x, data) / TURN
        at = x[places.x_patch(k, data)] + (h * turns if abs(h * turns) < 1e6 else 0.0)
        x[places.x_patch(k, data)] = at - int(at)


def patch_rows(unit: BeltUnit) -> Array:
    """Pulley (-1: the belt), start and length [turns], and 1 - share of each patch, (k, 4)."""
    names, length = list(unit.pulleys), unit.path().length if unit.patch else 1.0
    rows = []
    for q in unit.patch:
        of = -1 if q.pulley is None else names.index(q.pulley)
        start, end = np.array(q.stretch or q.arc) / (length if of < 0 else TURN)
        rows.append((of, start, end - start, 1.0 - q.mu_share))
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def belt_shares(rows: Array, parts: int) -> Array:
    """Factor of the friction of each of the equal parts of the belt, from where it leaves the first pulley; (parts,).

    Without a patch of the belt, (0,).
    """
    own = rows[rows[:, 0] < 0.0]
    found = [np.prod([1.0 - q[3] * covered(q[1] - e / parts, q[2], 1.0 / parts) for q in own]) for e in range(parts)]
    return np.array(found if own.size else [], dtype=np.float64)


def wrap_rows(unit: BeltUnit, path: BeltPath) -> list[float]:
    """`PatchD` of each patch and pulley, one patch after the other."""
    found: list[float] = []
    for of, start, length, less in patch_rows(unit):
        for i in range(path.span.size):
            begin, end = np.array(path.arc(i)) / path.length
            if of >= 0.0:
                first = path.arriving(i) if path.sigma[i] > 0.0 else path.leaving(i)
                x, y = first - path.center[i]
                begin = np.arctan2(y, x) / TURN
                end = begin + path.wrap[i] / TURN
            found += [start - begin, end - begin if of in (-1.0, i) else 0.0, length, less]
    return found
