"""Quantities of Cebulla 2014, chapter 7, as functions of one window of a run.

Arcs and spans are those of the belt coordinate of `profiles`, u = 0 to 1 within each. A signature of two runs
compares: it is the quantity of the first less that of the second.

Words of the source and their definitions here:

    peak at the beginning, end    largest normal force in the first, last 15 % over the mean of 30 to 70 %, less 1
    increase, decrease            slope of the line through 20 to 80 %, over the mean there
    sagging                       smallest in 15 to 85 % over the lower of the two peaks, less 1
    push force                    rocking edge + top + bottom
    push force starts             u on the primary at which it first exceeds a fifth of its mean in the push span
    oscillation in the straights  standard deviation of saddle less ear about its profile, mean over the two spans
    spiral running                height of the ring at u = 0.9 less that at u = 0.1, each a mean over 0.1

The field "longitudinal" is the friction on the element in the direction of travel. Traction is that on the pulley, over
the normal force: the source prints no sign convention, but has its longitudinal friction positive on the driven pulley
(section 7.5, 31.85 N m at the secondary), where the elements are braked.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.run.profiles import BINS, FIELDS, Window

Array = NDArray[np.float64]

PRIMARY, PUSH, SECONDARY, SLACK = range(4)
_ROW = {name: k for k, name in enumerate(FIELDS)}
_U = (np.arange(BINS) + 0.5) / BINS


def section(w: Window, field: str, where: int) -> Array:
    """Profile (BINS,) of a field in one section."""
    return w.profile[_ROW[field], where * BINS : (where + 1) * BINS]


def push_force(w: Window, where: int) -> Array:
    """Force between neighbouring elements (BINS,) [N]."""
    return section(w, "rocking", where) + section(w, "top", where) + section(w, "bottom", where)


def _part(values: Array, a: float, b: float) -> Array:
    return values[(a < _U) & (b > _U)]


def _peak(w: Window, where: int, a: float, b: float) -> float:
    """Largest normal force from a to b over the mean of the middle, less 1."""
    n = section(w, "normal", where)
    return float(np.nanmax(_part(n, a, b)) / np.nanmean(_part(n, 0.3, 0.7)) - 1.0)


def _sagging(w: Window, where: int) -> float:
    n = section(w, "normal", where)
    ends = min(np.nanmax(_part(n, 0.0, 0.15)), np.nanmax(_part(n, 0.85, 1.0)))
    return float(np.nanmin(_part(n, 0.15, 0.85)) / ends - 1.0)


def _normal_slope(w: Window, where: int) -> float:
    n = _part(section(w, "normal", where), 0.2, 0.8)
    return float(np.polyfit(_part(_U, 0.2, 0.8), n, 1)[0]) / float(np.mean(n))


def _traction(w: Window, where: int, a: float = 0.0, b: float = 1.0) -> float:
    """Longitudinal friction on the pulley over normal force."""
    longitudinal, n = section(w, "longitudinal", where), section(w, "normal", where)
    return float(-np.nansum(_part(longitudinal, a, b)) / np.nansum(_part(n, a, b)))


def _negative_share(w: Window, where: int) -> float:
    """Share of the arc on which friction drags the pulley back."""
    return float(np.mean(section(w, "longitudinal", where) > 0.0))


def _support(w: Window, where: int) -> float:
    """Radial friction, positive outwards on the element, over normal force."""
    return float(np.nansum(section(w, "radial", where)) / np.nansum(section(w, "normal", where)))


def _push_level(w: Window) -> float:
    return float(np.nanmean(push_force(w, PUSH)))


def _push_onset(w: Window) -> float:
    p = push_force(w, PRIMARY)
    above = np.flatnonzero(p > 0.2 * _push_level(w))
    return float(_U[above[0]]) if len(above) else 1.0


def _push_rise(
    after: tuple[int, float, float], before: tuple[int, float, float], of: Callable[[Array], Any] = np.nanmean
) -> Callable[[Window], float]:
    """Push force, by `of`, in one part of a section, from a to b, over the mean in another part before it, less 1."""

    def rise(w: Window) -> float:
        (k, a, b), (j, c, d) = after, before
        return float(of(_part(push_force(w, k), a, b)) / np.nanmean(_part(push_force(w, j), c, d)) - 1.0)

    return rise


def _share(field: str, spans: tuple[int, ...], empty: float) -> Callable[[Window], float]:
    """Share of the force of a contact that acts in some sections; equal bins weigh as the elements in a section."""

    def share(w: Window) -> float:
        sums = np.array([np.nanmean(section(w, field, k)) for k in range(4)])
        return float(sum(sums[k] for k in spans) / sums.sum()) if sums.sum() > 0.0 else empty

    return share


def _strand_ripple(w: Window) -> float:
    both = [w.ripple[_ROW["saddle"], k * BINS : (k + 1) * BINS] for k in (PUSH, SLACK)]
    return float(np.nanmean(np.concatenate([_part(v, 0.1, 0.9) for v in both])))


def _mean(w: Window, field: str, where: int, a: float, b: float) -> float:
    return float(np.nanmean(_part(section(w, field, where), a, b)))


def _of_arc(where: int) -> dict[str, tuple[Callable[[Window], float], str]]:
    """Quantities of one pulley's arc; a product of friction at entry and exit is negative if the sign changes."""
    return {
        "entry peak": (lambda w: _peak(w, where, 0.0, 0.15), "1"),
        "exit peak": (lambda w: _peak(w, where, 0.85, 1.0), "1"),
        "sagging": (lambda w: _sagging(w, where), "1"),
        "increase": (lambda w: _normal_slope(w, where), "1"),
        "share of negative traction": (lambda w: _negative_share(w, where), "1"),
        "radial friction over normal force": (lambda w: _support(w, where), "1"),
        "traction at entry": (lambda w: _traction(w, where, 0.02, 0.2), "1"),
        "traction at exit": (lambda w: _traction(w, where, 0.8, 0.98), "1"),
        "traction change": (lambda w: _traction(w, where, 0.8, 0.98) - _traction(w, where, 0.02, 0.2), "1"),
        "ring friction, entry times exit": (
            lambda w: _mean(w, "ring_friction", where, 0.0, 0.2) * _mean(w, "ring_friction", where, 0.8, 1.0),
            "N2",
        ),
        "spiral running": (
            lambda w: _mean(w, "ring_height", where, 0.85, 0.95) - _mean(w, "ring_height", where, 0.05, 0.15),
            "m",
        ),
        "running radius": (lambda w: _mean(w, "ring_height", where, 0.1, 0.9), "m"),
    }


QUANTITIES: dict[str, tuple[Callable[[Window], float], str]] = {
    "thrust ratio": (lambda w: w.thrust, "1"),
    "secondary torque": (lambda w: w.torque, "N.m"),
    "endplay at the top": (lambda w: float(w.endplay[1]), "m"),
    "push force": (_push_level, "N"),
    "push force starts": (_push_onset, "1"),
    "rise of push force in the secondary": (_push_rise((SECONDARY, 0.05, 0.6), (PUSH, 0.5, 1.0), np.nanmax), "1"),
    "rise of push force at the end of the primary": (_push_rise((PRIMARY, 0.9, 1.0), (PRIMARY, 0.6, 0.8)), "1"),
    "rise of push force after the primary": (_push_rise((PUSH, 0.3, 0.7), (PRIMARY, 0.9, 1.0)), "1"),
    "share of top force in the push span": (_share("top", (PUSH,), 0.0), "1"),
    "share of ear force in the straights": (_share("ear", (PUSH, SLACK), 1.0), "1"),
    "oscillation in the straights": (_strand_ripple, "N"),
}
for _name, _where in (("primary", PRIMARY), ("secondary", SECONDARY)):
    QUANTITIES |= {f"{about}, {_name}": quantity for about, quantity in _of_arc(_where).items()}
