"""Either causality of a flange: torque in and speed out, or speed in and torque out.

A gear is an inertia: it takes torques. A flange whose speed ``w`` is prescribed therefore turns it through a stiff
coupling, a spring ``c`` beside an equal one with a damper ``d`` in series (standard linear solid)::

    tau = tau_1 + tau_2,    tau_1' = c (w - omega),    tau_2' = c (w - omega) - (c/d) tau_2

``tau`` is the torque at the flange, counted into the unit, and the torque on the gear. Power is balanced exactly::

    tau w = tau omega + d/dt (tau_1^2 + tau_2^2)/(2 c) + tau_2^2/d

Inputs are held over a communication step ``h``, so ``w`` arrives as a staircase. A damper alone beside the spring would
answer its jumps: where outputs are read, at the end of a step, the torque would be wrong by ``zeta omega_c h`` of what
accelerates the inertia. In series with a spring its torque has no jumps, and the error is ``(omega_c h)^2/12`` for each
spring, 1 % in all. That the coupling yields costs ``(omega/omega_c)^2`` at a frequency ``omega``. Between the two lies

    omega_c = 1/(4 h),    c = J omega_c^2,    d = sqrt(3/8) J omega_c,

40 Hz at 1 ms, where ``J`` is the least inertia that the gear has in the rigid model, ``1/J = max(Q L1^-1 Q')`` over the
moving variable with ``Q`` the gear's row of Q1; this ``d`` damps most, 21 % of critical. Both are parameters.
"""

import math
from collections.abc import Mapping

from rtcvt.errors import InputError
from rtcvt.unitfile import Unit

__all__ = ["coupling", "with_flanges"]

_RATE = 0.25  # omega_c h


def coupling(inertia: float, step: float) -> tuple[float, float]:
    """Stiffness [N.m/rad] and damping [N.m.s/rad] for an inertia [kg.m2] and a communication step [s]."""
    omega_c = _RATE / step
    return inertia * omega_c * omega_c, math.sqrt(3.0 / 8.0) * inertia * omega_c


def with_flanges(unit: Unit, choice: Mapping[str, str], source: str = "flanges") -> Unit:
    """The unit with other causalities of its flanges, and the scenarios that still fit.

    Parameters
    ----------
    unit : Unit
        The gear system.
    choice : mapping of str to str
        ``"torque"`` or ``"speed"``, what goes in, by the port's name; the others stay as they are.
    source : str
        Where the choice was made, for messages.

    Raises
    ------
    InputError
        There is no such port, or it does not have this causality.
    """
    ports = dict(unit.ports)
    for name, given in choice.items():
        if name not in ports:
            raise InputError(source, name, given, f"one of the flanges: {', '.join(ports)}")
        allowed = ["speed"] if ports[name].spring is not None else ["speed", "torque"]
        if given not in allowed:
            about = " (the port has a spring)" if len(allowed) == 1 else ""
            raise InputError(source, name, given, f"what goes into this flange: {' or '.join(allowed)}{about}")
        ports[name] = ports[name].model_copy(update={"flange": given})
    gone = {f"{name}.{'tau' if port.speed_in else 'w'}" for name, port in ports.items()}
    fitting = tuple(s for s in unit.scenario if not gone & set(s.inputs))
    return unit.model_copy(update={"ports": ports, "scenario": fitting})
