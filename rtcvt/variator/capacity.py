"""Capacity of clamping forces: the scale of every torque ratio xi.

A pulley's two sheaves, pressed with the force F each, press on the belt with the normal force F/cos(delta_0) each and
thus carry the traction 2 mu F/cos(delta_0). The torque ratio xi of a traction T is its share of the capacity by the
secondary's force. The real-time kernels have the same expression with their parameters (`kernels`).
"""

from typing import Any


def capacity(mu: float, cos_d: float, F: Any = 1.0) -> Any:
    """Largest traction [N] between belt and pulley under the clamping force `F` [N], float or array."""
    return 2.0 * mu / cos_d * F
