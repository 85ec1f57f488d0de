"""Where each joule of a car's run went: sources, losses and what is stored, from the outputs of its units.

By their names: ``fuel.m`` brings the heating value of what has been burnt, ``battery.E`` [J] what a battery has less
than before, ``clamp.P`` [W] what moves the sheaves. ``loss.*``, ``P_loss`` and the ``loss`` of a shaft [W] are lost,
and the heat ``Q`` of elements of a gear system [J]; forces of a vehicle take power at its speed. ``storage.E`` and
``E`` of a shaft [J] are stored. Powers are integrated by the trapezoidal rule over the communication points; brakes and
slope, whose inputs are held over a step, take what they were at its start times the way.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.simulate import Result

KWH = 3.6e6  # [J]


class Balance(NamedTuple):
    """Energies [J] by name, over a run that burns fuel or empties a battery.

    Attributes
    ----------
    sources, losses, stored : dict
        What came in, was lost, and is stored more than at the start.
    litres, kwh : float or None
        Fuel [l] and energy out of the battery [kWh] for 100 km, of a car with an engine or a battery; NaN if nothing
        moved.
    """

    sources: dict[str, float]
    losses: dict[str, float]
    stored: float
    litres: float | None
    kwh: float | None

    @property
    def residual(self) -> float:
        """What is not accounted for, as a share of what came in."""
        into = sum(self.sources.values())
        return (into - sum(self.losses.values()) - self.stored) / into if into else 0.0

    @property
    def title(self) -> str:
        """What it takes for 100 km."""
        told = ((self.litres, "l"), (self.kwh, "kWh"))
        return ", ".join(f"{value:.2f} {unit}/100 km" for value, unit in told if value is not None)

    def figures(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "fuel_l_per_100km": _finite(self.litres),
            "battery_kWh_per_100km": _finite(self.kwh),
            "source_J": self.sources,
            "loss_J": self.losses,
            "stored_J": self.stored,
            "residual_share": self.residual,
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def balance(result: Result) -> Balance | None:
    """The balance of a run of a system with a vehicle and an engine or a battery; None if it is none."""
    names = {v.name: v.unit for v in result.model.select("output")}
    engines = [name.removesuffix(".fuel.m") for name in names if name.endswith(".fuel.m")]
    batteries = [name for name in names if name.endswith(".battery.E")]
    cars = [name.removesuffix(".vehicle.v") for name in names if name.endswith(".vehicle.v")]
    if len(engines) > 1 or not (engines or batteries) or len(cars) != 1:
        return None

    def work(power: Any) -> float:
        return float(np.trapezoid(power, result.time))

    def gain(name: str) -> float:
        return float(result[name][-1] - result[name][0])

    car = cars[0]
    sources = {f"{e}.fuel": gain(f"{e}.fuel.m") * result.parameter(f"{e}.fuel.H") for e in engines}
    sources |= {name.removesuffix(".E"): -gain(name) for name in batteries}
    losses, stored = {}, 0.0
    for name, unit in names.items():
        if unit == "W" and (".loss." in name or name.endswith((".P_loss", ".loss"))):
            losses[name] = work(result[name])
        elif name.endswith(".Q") and name.count(".") == 3:
            losses[name] = gain(name)
        elif name.endswith(".clamp.P"):
            sources[name] = work(result[name])
        elif name.endswith(".storage.E") or (unit == "J" and name.count(".") == 1 and name.endswith(".E")):
            stored += gain(name)
        elif name in (f"{car}.force.brake", f"{car}.force.grade"):
            losses[name] = float(result[name][:-1] @ np.diff(result[f"{car}.vehicle.s"]))
        elif name.startswith(f"{car}.force."):
            losses[name] = work(result[name] * result[f"{car}.vehicle.v"])
    per = 100.0 / (1e-3 * gain(f"{car}.vehicle.s")) if gain(f"{car}.vehicle.s") > 0.0 else np.nan
    litres = [gain(f"{e}.fuel.m") / result.parameter(f"{e}.fuel.rho") * 1e3 * per for e in engines]
    kwh = -sum(gain(name) for name in batteries) / KWH * per if batteries else None
    return Balance(sources, losses, stored, litres[0] if litres else None, kwh)
