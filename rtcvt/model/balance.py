"""Energy balance of a car's run: sources, losses and stored energies, from the outputs of its units.

Each output has its role in `rtcvt.model.Books`. The heating value of fuel is the parameter ``fuel.H`` of its unit.
Powers are integrated by the trapezoidal rule over the communication points. Forces that follow an input (brakes and
slope), which is constant over a step, are multiplied by the way: work is the force at the start of the step times the
way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rtcvt.model import Books
from rtcvt.simulate import Result

KWH = 3.6e6  # [J]


class Balance(NamedTuple):
    """Energies [J] by name, over a run that burns fuel or empties a battery.

    Attributes
    ----------
    sources, losses, stored : dict
        Energy supplied, energy lost, and increase of the stored energy.
    litres, kwh : float or None
        Fuel [l] and energy out of the battery [kWh] per 100 km, of a car with an engine or a battery; NaN if nothing
        moved.
    delivered : float
        Work of the engine, or the battery [J]: the energy supplied less the losses of the unit that has the fuel.
    starter, battery : float
        Electric work of the engine's starter, and of the battery of a car with an engine [J].
    """

    sources: dict[str, float]
    losses: dict[str, float]
    stored: float
    litres: float | None
    kwh: float | None
    delivered: float
    starter: float = 0.0
    battery: float = 0.0

    @property
    def corrected(self) -> tuple[float | None, float | None]:
        """Fuel and energy per 100 km, corrected for the increase of the stored energy and for the work of a starter at
        the mean efficiency of the engine in this run. With an engine, the energy of a battery is stored energy.
        """
        share = 1.0 - (self.stored - self.starter - self.battery) / self.delivered if self.delivered > 0.0 else np.nan
        if self.litres is not None:
            return self.litres * share, self.kwh
        return None, None if self.kwh is None else self.kwh * share

    @property
    def residual(self) -> float:
        """Energy that is not accounted for, as a share of the energy supplied."""
        into = sum(self.sources.values())
        return (into - sum(self.losses.values()) - self.stored) / into if into else 0.0

    @property
    def title(self) -> str:
        """Fuel and energy for 100 km, with the corrected ones in brackets where they differ."""
        parts = []
        for value, corrected, unit in zip((self.litres, self.kwh), self.corrected, ("l", "kWh"), strict=True):
            if value is not None:
                more = f" ({corrected:.2f} corrected for stored energy)" if f"{corrected:.2f}" != f"{value:.2f}" else ""
                parts.append(f"{value:.2f} {unit}/100 km{more}")
        return ", ".join(parts)

    def figures(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "fuel_l_per_100km": _finite(self.litres), "battery_kWh_per_100km": _finite(self.kwh),
            "corrected_fuel_l_per_100km": _finite(self.corrected[0]),
            "corrected_battery_kWh_per_100km": _finite(self.corrected[1]), "source_J": self.sources,
            "loss_J": self.losses, "stored_J": self.stored, "residual_share": self.residual,
        }  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def balance(result: Result) -> Balance | None:
    """The balance of a run of a system with a vehicle and an engine or a battery; None for other models."""
    outputs = [v for v in result.model.select("output") if v.books]

    def names(books: Books, unit: str) -> list[str]:
        return [v.name for v in outputs if (v.books, v.unit) == (books, unit)]

    def gain(name: str) -> float:
        return float(result[name][-1] - result[name][0])

    def work(power: Any) -> float:
        return float(np.trapezoid(power, result.time))

    fuels, batteries = names(Books.SUPPLY, "kg"), names(Books.SUPPLY, "J")
    ways, speeds = names(Books.MOTION, "m"), names(Books.MOTION, "m/s")
    if len(fuels) > 1 or not (fuels or batteries) or len(ways) != 1:
        return None
    way, speed = result[ways[0]], result[speeds[0]]
    tanks = [name.removesuffix(".m") for name in fuels]
    sources = {tank: gain(name) * result.parameter(f"{tank}.H") for tank, name in zip(tanks, fuels, strict=True)}
    sources |= {name.removesuffix(".E"): -gain(name) for name in batteries}
    powers = {name: work(result[name]) for name in names(Books.POWER, "W")}
    sources |= powers
    measures: dict[tuple[Books | None, str], Callable[[str], float]] = {
        (Books.LOSS, "W"): lambda name: work(result[name]),
        (Books.LOSS, "J"): gain,
        (Books.LOSS, "N"): lambda name: work(result[name] * speed),
        (Books.HELD_LOSS, "N"): lambda name: float(result[name][:-1] @ np.diff(way)),
    }
    losses = {v.name: measures[v.books, v.unit](v.name) for v in outputs if (v.books, v.unit) in measures}
    stored = sum(gain(name) for name in names(Books.STORED, "J"))
    per = 100.0 / (1e-3 * gain(ways[0])) if gain(ways[0]) > 0.0 else np.nan
    litres = [gain(name) / result.parameter(f"{tank}.rho") * 1e3 * per for tank, name in zip(tanks, fuels, strict=True)]
    kwh = -sum(gain(name) for name in batteries) / KWH * per if batteries else None
    own = tuple(f"{tank.partition('.')[0]}." for tank in tanks)
    delivered = sum(sources.values()) - sum(loss for name, loss in losses.items() if name.startswith(own))
    starter = sum(energy for name, energy in powers.items() if name.startswith(own))
    battery = -sum(gain(name) for name in batteries) if tanks else 0.0
    return Balance(sources, losses, stored, litres[0] if litres else None, kwh, delivered - battery, starter, battery)
