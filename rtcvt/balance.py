"""Where each joule of a run went: sources, losses and what is stored, from the outputs of its units.

By their names: ``loss.*``, ``P_loss`` [W] are lost, ``storage.E`` [J] is stored, ``fuel.m`` brings the heating value of
what has been burnt, ``clamp.P`` [W] what moves the sheaves, and the forces of a vehicle take power at its speed. Powers
are integrated by the trapezoidal rule over the communication points.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.simulate import Result

__all__ = ["Balance", "balance"]


class Balance(NamedTuple):
    """Energies [J] by name, over a run that burns fuel.

    Attributes
    ----------
    sources, losses, stored : dict
        What came in, was lost, and is stored more than at the start.
    litres : float
        Fuel for 100 km [l]; NaN if nothing moved.
    """

    sources: dict[str, float]
    losses: dict[str, float]
    stored: float
    litres: float

    @property
    def residual(self) -> float:
        """What is not accounted for, as a share of what came in."""
        into = sum(self.sources.values())
        return (into - sum(self.losses.values()) - self.stored) / into if into else 0.0

    def figures(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "fuel_l_per_100km": self.litres if np.isfinite(self.litres) else None,
            "source_J": self.sources,
            "loss_J": self.losses,
            "stored_J": self.stored,
            "residual_share": self.residual,
        }


def balance(result: Result) -> Balance | None:
    """The balance of a run of a system with an engine and a vehicle; None if it is none."""
    names = {v.name: v.unit for v in result.model.select("output")}
    engines = [name.removesuffix(".fuel.m") for name in names if name.endswith(".fuel.m")]
    cars = [name.removesuffix(".vehicle.v") for name in names if name.endswith(".vehicle.v")]
    if len(engines) != 1 or len(cars) != 1:
        return None

    def work(power: Any) -> float:
        return float(np.trapezoid(power, result.time))

    fuel, car = engines[0], cars[0]
    burnt = float(result[f"{fuel}.fuel.m"][-1] - result[f"{fuel}.fuel.m"][0])
    sources, losses, stored = {f"{fuel}.fuel": burnt * result.parameter(f"{fuel}.fuel.H")}, {}, 0.0
    for name, unit in names.items():
        if unit == "W" and (".loss." in name or name.endswith(".P_loss")):
            losses[name] = work(result[name])
        elif name.endswith(".clamp.P"):
            sources[name] = work(result[name])
        elif name.endswith(".storage.E"):
            stored += float(result[name][-1] - result[name][0])
        elif name.startswith(f"{car}.force."):
            losses[name] = work(result[name] * result[f"{car}.vehicle.v"])
    litres = burnt / result.parameter(f"{fuel}.fuel.rho") * 1e3
    distance = float(result[f"{car}.vehicle.s"][-1] - result[f"{car}.vehicle.s"][0]) * 1e-3  # [km]
    return Balance(sources, losses, stored, 100.0 * litres / distance if distance > 0.0 else np.nan)
