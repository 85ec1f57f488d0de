"""Algorithm 2: signs of the relative friction matrix ``B_delta_omega``. Tebaldi and Zanasi 2022, Appendix A.

A friction ``b_ij`` between gears ``i`` and ``j`` adds ``b_ij`` to both diagonal entries and ``S_ij b_ij`` to the
two entries off the diagonal, where ``S_ij`` is -1 if the positive directions of the two speeds agree and +1 if
they are opposite.
"""

import math

from rtcvt.errors import InputError
from rtcvt.pog.radii import direction
from rtcvt.pog.unit import GearSystem


def friction_signs(unit: GearSystem) -> dict[str, float]:
    """``S_ij`` of each relative friction.

    Raises
    ------
    InputError
        The axes of the two gears are not parallel.
    """
    values = {k: p.value for k, p in unit.parameters.items()}
    signs = {}
    for name, friction in unit.frictions.items():
        i, j = friction.between
        cosines = set()
        for moving in (
            (v for x in unit.variables.values() for v in (x.min, x.start, x.max)) if unit.variables else (0.0,)
        ):
            at = {**values, unit.moving or "": moving}
            a = [c.evaluate(at) for c in direction(unit, i)]
            b = [c.evaluate(at) for c in direction(unit, j)]
            cosines.add(round(a[0] * b[0] + a[1] * b[1], 9))
        if cosines not in ({1.0}, {-1.0}):
            angle = math.degrees(math.acos(max(-1.0, min(1.0, cosines.pop()))))
            raise InputError(
                unit.source,
                f"frictions.{name}.between",
                [i, j],
                f"two gears on parallel axes; these are at {angle:.1f} degrees",
            )
        signs[name] = -cosines.pop()
    return signs
