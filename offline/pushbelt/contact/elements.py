"""Elements as the flanks see them: in the plane, or from one side of a spatial belt (`spatial.element.Side`).

A side is seen in its view, with z outwards. Velocities of an element and the forces on it are found in its frame of
solution: that of the belt in the plane, the element's own in space.
"""

from typing import Any, NamedTuple

from rtcvt.offline.pushbelt.compiled import by_law, inlined
from rtcvt.offline.pushbelt.vectors import columns, plus, set_columns, store, times


class Elements(NamedTuple):
    """Planar elements: positions q, velocities u (N_E, 3), cosine and sine of phi (N_E)."""

    q: Any
    u: Any
    cs: Any
    sn: Any


@by_law
def frame_of(el: Any, i: int) -> Any:
    """Centre of gravity of element i and its three axes, in the view."""


@by_law
def arm_of(el: Any, own: Any, out: Any) -> Any:
    """Place of a point from the centre of gravity as the other functions take it: `own` in the element's frame, `out`
    in the view."""


@by_law
def velocity_at(el: Any, u: Any, i: int, arm: Any) -> Any:
    """Velocity of a point of element i, mean of that with the velocities `el.u` and that with u, in the view."""


@by_law
def lever(el: Any, arm: Any) -> Any:
    """`arm` in the frame of solution."""


@by_law
def keep(el: Any, fl: Any, i: int, p: int, c: Any) -> Any:
    """Write to `fl` in the frame of solution the normal of a point, as m, and the velocity c of the sheave there."""


@by_law
def shown(el: Any, i: int, a: Any) -> Any:
    """The vector `a` of the frame of solution in the view."""


@by_law
def add_rub(el: Any, i: int, F: Any, M: Any, rub: Any) -> Any:
    """Add force and moment of the friction on a flank, in the frame of solution, to those on the element."""


@inlined
def carried(w: Any, arm: Any) -> Any:
    """Velocity at `arm` of a planar element with the velocity w: x, y, turn."""
    return w[0] - w[2] * arm[1], w[1] + w[2] * arm[0], 0.0


@inlined
def wrench(arm: Any, F: Any) -> Any:
    """Force and moment on a planar element, x, y, turn, of the force F at `arm`."""
    return F[0], F[1], arm[0] * F[1] - arm[1] * F[0]


@frame_of.of(Elements)
@inlined
def _frame(el: Elements, i: int) -> Any:
    c, s = el.cs[i], el.sn[i]
    return (el.q[i, 0], el.q[i, 1], 0.0), (c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)


@arm_of.of(Elements)
@inlined
def _arm(el: Elements, own: Any, out: Any) -> Any:
    return out


@velocity_at.of(Elements)
@inlined
def _velocity(el: Elements, u: Any, i: int, arm: Any) -> Any:
    return carried(times(0.5, plus(columns(u, i, 0), columns(el.u, i, 0))), arm)


@lever.of(Elements)
@inlined
def _lever(el: Elements, arm: Any) -> Any:
    return arm


@keep.of(Elements)
@inlined
def _keep(el: Elements, fl: Any, i: int, p: int, c: Any) -> None:
    store(c, fl.c, i, p)  # the normal is `fl.n`


@shown.of(Elements)
@inlined
def _shown(el: Elements, i: int, a: Any) -> Any:
    return a


@add_rub.of(Elements)
@inlined
def _rub_both(el: Elements, i: int, F: Any, M: Any, rub: Any) -> None:
    set_columns(times(2.0, (F[0], F[1], M[2])), rub, i, 0)
