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


def _entry_peak(w: Window, where: int) -> float:
    n = section(w, "normal", where)
    return float(np.nanmax(_part(n, 0.0, 0.15)) / np.nanmean(_part(n, 0.3, 0.7)) - 1.0)


def _exit_peak(w: Window, where: int) -> float:
    n = section(w, "normal", where)
    return float(np.nanmax(_part(n, 0.85, 1.0)) / np.nanmean(_part(n, 0.3, 0.7)) - 1.0)


def _sagging(w: Window, where: int) -> float:
    n = section(w, "normal", where)
    ends = min(np.nanmax(_part(n, 0.0, 0.15)), np.nanmax(_part(n, 0.85, 1.0)))
    return float(np.nanmin(_part(n, 0.15, 0.85)) / ends - 1.0)


def _slope(values: Array) -> float:
    return float(np.polyfit(_part(_U, 0.2, 0.8), _part(values, 0.2, 0.8), 1)[0])


def _normal_slope(w: Window, where: int) -> float:
    n = section(w, "normal", where)
    return _slope(n) / float(np.mean(_part(n, 0.2, 0.8)))


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


def _push_rise_secondary(w: Window) -> float:
    before = np.nanmean(_part(push_force(w, PUSH), 0.5, 1.0))
    return float(np.nanmax(_part(push_force(w, SECONDARY), 0.05, 0.6)) / before - 1.0)


def _push_rise_primary(w: Window) -> float:
    """Rise of the push force at the end of the primary from its value before."""
    p = push_force(w, PRIMARY)
    return float(np.nanmean(_part(p, 0.9, 1.0)) / np.nanmean(_part(p, 0.6, 0.8)) - 1.0)


def _push_rise_span(w: Window) -> float:
    """From the end of the primary to the middle of the push span."""
    end = np.nanmean(_part(push_force(w, PRIMARY), 0.9, 1.0))
    return float(np.nanmean(_part(push_force(w, PUSH), 0.3, 0.7)) / end - 1.0)


def _top_share(w: Window) -> float:
    """Share of the top contacts' force that acts in the push span; equal bins weigh as the elements in a section."""
    sums = np.array([np.nanmean(section(w, "top", k)) for k in range(4)])
    return float(sums[PUSH] / sums.sum()) if sums.sum() > 0.0 else 0.0


def _ear_share(w: Window) -> float:
    sums = np.array([np.nanmean(section(w, "ear", k)) for k in range(4)])
    return float((sums[PUSH] + sums[SLACK]) / sums.sum()) if sums.sum() > 0.0 else 1.0


def _strand_ripple(w: Window) -> float:
    both = [w.ripple[_ROW["saddle"], k * BINS : (k + 1) * BINS] for k in (PUSH, SLACK)]
    return float(np.nanmean(np.concatenate([_part(v, 0.1, 0.9) for v in both])))


def _ring_friction(w: Window, where: int, a: float, b: float) -> float:
    return float(np.nanmean(_part(section(w, "ring_friction", where), a, b)))


def _spiral(w: Window, where: int) -> float:
    h = section(w, "ring_height", where)
    return float(np.nanmean(_part(h, 0.85, 0.95)) - np.nanmean(_part(h, 0.05, 0.15)))


def _height(w: Window, where: int) -> float:
    return float(np.nanmean(_part(section(w, "ring_height", where), 0.1, 0.9)))


def _on(function: Callable[[Window, int], float], where: int) -> Callable[[Window], float]:
    return lambda w: function(w, where)


def _ring_friction_product(where: int) -> Callable[[Window], float]:
    """Product of the means of first and last fifth: negative if the sign changes along the arc."""
    return lambda w: _ring_friction(w, where, 0.0, 0.2) * _ring_friction(w, where, 0.8, 1.0)


QUANTITIES: dict[str, tuple[Callable[[Window], float], str]] = {
    "thrust ratio": (lambda w: w.thrust, "1"),
    "secondary torque": (lambda w: w.torque, "N.m"),
    "endplay at the top": (lambda w: float(w.endplay[1]), "m"),
    "push force": (_push_level, "N"),
    "push force starts": (_push_onset, "1"),
    "rise of push force in the secondary": (_push_rise_secondary, "1"),
    "rise of push force at the end of the primary": (_push_rise_primary, "1"),
    "rise of push force after the primary": (_push_rise_span, "1"),
    "share of top force in the push span": (_top_share, "1"),
    "share of ear force in the straights": (_ear_share, "1"),
    "oscillation in the straights": (_strand_ripple, "N"),
}
for _name, _where in (("primary", PRIMARY), ("secondary", SECONDARY)):
    QUANTITIES |= {
        f"entry peak, {_name}": (_on(_entry_peak, _where), "1"),
        f"exit peak, {_name}": (_on(_exit_peak, _where), "1"),
        f"sagging, {_name}": (_on(_sagging, _where), "1"),
        f"increase, {_name}": (_on(_normal_slope, _where), "1"),
        f"share of negative traction, {_name}": (_on(_negative_share, _where), "1"),
        f"radial friction over normal force, {_name}": (_on(_support, _where), "1"),
        f"traction at entry, {_name}": (_on(lambda w, k: _traction(w, k, 0.02, 0.2), _where), "1"),
        f"traction at exit, {_name}": (_on(lambda w, k: _traction(w, k, 0.8, 0.98), _where), "1"),
        f"traction change, {_name}": (
            _on(lambda w, k: _traction(w, k, 0.8, 0.98) - _traction(w, k, 0.02, 0.2), _where),
            "1",
        ),
        f"ring friction, entry times exit, {_name}": (_ring_friction_product(_where), "N2"),
        f"spiral running, {_name}": (_on(_spiral, _where), "m"),
        f"running radius, {_name}": (_on(_height, _where), "m"),
    }
