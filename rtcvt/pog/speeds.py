"""Speeds: of all gears, eq. (8), of contacts, and across elements, as real-time kernels::

    omega = Q1 x1,    v = R omega

An element acts on ``dw``, the speed of its first gear less that of its second one; a contact with play on its v.
"""

from rtcvt.kernel import kernel
from rtcvt.pog import places
from rtcvt.pog.layout import D, Element


@kernel
def gear_speed(d, gear, x, data, work):
    """Speed of a gear [rad/s] (d = 0), or its derivative to theta (d = 1)."""
    if data[D.FULL] != 0.0:
        return x[gear] if d == 0 else 0.0
    Q = places.gear_row(d, gear, data)
    s = 0.0
    for c in range(places.independents(data)):
        s += work[Q + c] * x[c]
    return s


@kernel
def gear_speeds(x, data, work, omega):
    """Speeds of all gears [rad/s] into ``work[omega:]``."""
    for i in range(places.gears(data)):
        work[omega + i] = gear_speed(0, i, x, data, work)


@kernel
def contact_speed(d, k, x, data, work):
    """``R omega`` (d = 0) or ``R' omega`` (d = 1) of a contact of the full model [m/s]."""
    R = places.contact_row(d, k, data)
    v = 0.0
    for i in range(places.gears(data)):
        v += work[R + i] * x[i]
    return v


@kernel
def contact_speeds(d, x, data, work, v):
    """`contact_speed` of all contacts into ``work[v:]``."""
    for k in range(places.contacts(data)):
        work[v + k] = contact_speed(d, k, x, data, work)


@kernel
def across(e, x, data, work):
    """dw: by how much the first gear turns faster than the second [rad/s]; v of a contact with play [m/s]."""
    if places.is_play(e, data):
        return contact_speed(0, places.contact_of(e, data), x, data, work)
    dw = gear_speed(0, places.first_gear(e, data), x, data, work)
    sign = data[places.element(e, data) + Element.SIGN]
    if sign != 0.0:
        dw -= sign * gear_speed(0, places.second_gear(e, data), x, data, work)
    return dw


@kernel
def across_by(e, c, data, work):
    """Derivative of dw to an independent speed, of an element that is not a play."""
    by_first = work[places.gear_row(0, places.first_gear(e, data), data) + c]
    by_second = work[places.gear_row(0, places.second_gear(e, data), data) + c]
    return by_first - data[places.element(e, data) + Element.SIGN] * by_second


@kernel
def add_gradient(at, by, e, all_gears, data, to, work):
    """Add `by` times the gradient of dw at ``to[at:]``: to the speeds of all gears, or to those that are states."""
    if places.is_play(e, data):
        R = places.contact_row(0, places.contact_of(e, data), data)
        for i in range(places.gears(data)):
            to[at + i] += by * work[R + i]
    else:
        for end in range(2):
            share = by if end == 0 else -by * data[places.element(e, data) + Element.SIGN]
            gear = places.first_gear(e, data) if end == 0 else places.second_gear(e, data)
            if all_gears or data[D.FULL] != 0.0:
                to[at + gear] += share
            else:
                for c in range(places.independents(data)):
                    to[at + c] += share * work[places.gear_row(0, gear, data) + c]
