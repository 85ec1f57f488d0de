"""Algorithm 2: signs of the relative friction matrix ``B_delta_omega``. Tebaldi and Zanasi 2022, Appendix A.

A friction ``b_ij`` between gears ``i`` and ``j`` adds ``b_ij`` to both diagonal entries and ``S_ij b_ij`` to the
two entries off the diagonal, where ``S_ij`` is -1 if the positive directions of the two speeds agree and +1 if
they are opposite.
"""

from rtcvt.errors import InputError
from rtcvt.pog.radii import axis_sign
from rtcvt.pog.unit import GearSystem


def friction_signs(unit: GearSystem) -> dict[str, float]:
    """``S_ij`` of each relative friction.

    Raises
    ------
    InputError
        The axes of the two gears are not parallel.
    """
    signs = {}
    for name, friction in unit.frictions.items():
        signs[name] = -float(axis_sign(unit, *friction.between))
        if signs[name] == 0.0:
            key = f"frictions.{name}.between"
            raise InputError(unit.source, key, list(friction.between), "two gears on parallel axes")
    return signs
