"""Either causality of a flange: torque in and speed out, or speed in and torque out.

A gear is an inertia: it takes torques. A flange whose speed is prescribed turns it through the coupling of
`rtcvt.model.coupling`, whose inertia is the least that the gear has in the rigid model, ``1/J = max(Q L1^-1 Q')`` over
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
            raise InputError(source, name, given, f"the input of this flange: {' or '.join(allowed)}{about}")
        ports[name] = ports[name].model_copy(update={"flange": given})
    gone = {f"{name}.{'tau' if port.speed_in else 'w'}" for name, port in ports.items()}
    fitting = tuple(s for s in unit.scenario if not gone & set(s.inputs))
    return unit.model_copy(update={"ports": ports, "scenario": fitting})
