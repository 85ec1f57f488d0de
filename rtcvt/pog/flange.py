"""Either causality of a flange: torque in and speed out, or speed in and torque out.

A gear is an inertia: its input is a torque. A flange with a prescribed speed turns it through the coupling of
`rtcvt.model.coupling`, with the least inertia of the gear in the rigid model, ``1/J = max(Q L1^-1 Q')`` over
the moving variable with ``Q`` the gear's row of Q1.
"""

from collections.abc import Mapping

from rtcvt.errors import InputError
from rtcvt.pog.unit import GearSystem


def with_flanges(unit: GearSystem, choice: Mapping[str, str], source: str = "flanges") -> GearSystem:
    """The unit with other causalities of its flanges, and the scenarios that still fit.

    Parameters
    ----------
    unit : GearSystem
        The gear system.
    choice : mapping of str to str
        Input by the port's name, ``"torque"`` or ``"speed"``; the others are unchanged.
    source : str
        Source of the choice, for messages.

    Raises
    ------
    InputError
        The port does not exist, or cannot have this causality.
    """
    ports = dict(unit.ports)
    for name, given in choice.items():
        if name not in ports:
            raise InputError(source, name, given, f"one of the flanges: {', '.join(ports)}")
        allowed = ["speed"] if ports[name].spring is not None else ["speed", "torque"]
        if given not in allowed:
            about = " (the port has a spring)" if len(allowed) == 1 else ""
            raise InputError(source, name, given, f"the input of this flange: {' or '.join(allowed)}{about}")
        ports[name] = ports[name].model_copy(update={"flange": given})
    gone = {f"{name}.{'tau' if port.speed_in else 'w'}" for name, port in ports.items()}
    fitting = tuple(s for s in unit.scenario if not gone & set(s.inputs))
    return unit.model_copy(update={"ports": ports, "scenario": fitting})
