"""Friction laws of the flanks: the force against a slip velocity v_T under the normal force N.

    T = -kappa v_T,   kappa = N mu(|v_T|) / sqrt(|v_T|^2 + v_mu^2)

regularised below the speed v_mu, so that |T| stays below mu N and grows in proportion to small slip: Cebulla 2014,
section 6.1.2.

    Coulomb      mu(v) = mu
    Stribeck     mu(v) = mu (1 + rise/(1 + (v/v_S)^2))        falls from (1 + rise) mu to mu around the speed v_S

A law has kappa/N (`secant`) and its slope (`tangent`) as functions of v^2, without an exponential, so that loops over
contacts are vectorised. The flank solver also reads v_mu: it starts from a smoother law and stops smoothing there.

A unit file has the law and its parameters, ``friction = { law = "coulomb", mu = 0.1, v_mu = "1 mm/s" }``. Each
law has a record of this table, whose `made` returns the law for the kernels. All records have mu, the coefficient at
high slip from which the capacity of the belt follows, and v_mu.
"""

from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, Tag, model_validator

from rtcvt.offline.pushbelt.compiled import Contract, by_law, inlined
from rtcvt.unitfile import Record, chosen_by, quantity_in

V_MU = (2e-4, 0.1)  # [m/s] slip at which friction of a lubricated flank is assumed to be full, lower and upper bound
Coefficient = Annotated[float, Field(ge=0.0, lt=1.0)]
Velocity = Annotated[float, quantity_in("m/s", above=0.0)]


class Coulomb(NamedTuple):
    """Coefficient of friction and the speed [m/s] below which it is regularised."""

    mu: float
    v_mu: float


class Stribeck(NamedTuple):
    """Coefficient at high slip, its relative rise at low slip, the speeds [m/s] of the fall and the regularisation."""

    mu: float
    rise: float
    v_S: float
    v_mu: float


@by_law
def secant(law: Any, v2: float) -> Any:
    """kappa/N [s/m] at the slip speed sqrt(`v2`) [m/s]; positive and finite, at 0 too."""


@by_law
def tangent(law: Any, v2: float) -> Any:
    """`secant` S [s/m] and e = 2 dS/d(v^2) [s^3/m^3], both finite at 0: d(kappa v)/dv = N (S + e v^2)."""


@secant.of(Coulomb)
@inlined
def _coulomb(law: Coulomb, v2: float) -> Any:
    return law.mu / np.sqrt(v2 + law.v_mu * law.v_mu)


@tangent.of(Coulomb)
@inlined
def _coulomb_tangent(law: Coulomb, v2: float) -> Any:
    root = 1.0 / np.sqrt(v2 + law.v_mu * law.v_mu)
    S = law.mu * root
    return S, -S * root * root


@secant.of(Stribeck)
@inlined
def _stribeck(law: Stribeck, v2: float) -> Any:
    rise = law.rise / (1.0 + v2 / (law.v_S * law.v_S))
    return law.mu * (1.0 + rise) / np.sqrt(v2 + law.v_mu * law.v_mu)


@tangent.of(Stribeck)
@inlined
def _stribeck_tangent(law: Stribeck, v2: float) -> Any:
    root = 1.0 / np.sqrt(v2 + law.v_mu * law.v_mu)
    fall = 1.0 / (law.v_S * law.v_S + v2)
    rise = law.rise * law.v_S * law.v_S * fall
    return law.mu * (1.0 + rise) * root, -law.mu * ((1.0 + rise) * root * root + 2.0 * rise * fall) * root


FLANK_FRICTION = Contract(secant, tangent, fields=("v_mu",))
FLANK_FRICTION.register(Coulomb, Stribeck)


# --- tables of a unit file


class CoulombTable(Record):
    """Coulomb's law of the flanks."""

    law: Literal["coulomb"]  # of friction
    mu: Coefficient  # at high slip
    v_mu: Velocity  # slip over which friction grows to mu, 0.2 mm/s to 0.1 m/s

    @model_validator(mode="after")
    def _in_bounds(self) -> "CoulombTable":
        if not V_MU[0] <= self.v_mu <= V_MU[1]:
            raise ValueError(f"v_mu: {1e3 * V_MU[0]:g} mm/s to {V_MU[1]:g} m/s; it is {self.v_mu:g} m/s")
        return self

    def made(self) -> Coulomb:
        """The law."""
        return Coulomb(self.mu, self.v_mu)


class StribeckTable(CoulombTable):
    """Stribeck's law of the flanks, for oils whose friction falls with the slip."""

    law: Literal["stribeck"]  # type: ignore[assignment]  # of friction
    mu_0: Coefficient  # at low slip
    v_S: Velocity  # slip around which friction falls from mu_0 to mu

    @model_validator(mode="after")
    def _falls(self) -> "StribeckTable":
        if not 0.0 < self.mu <= self.mu_0:
            raise ValueError("0 < mu <= mu_0: friction falls with the slip")
        return self

    def made(self) -> Stribeck:  # type: ignore[override]
        """The law."""
        return Stribeck(self.mu, self.mu_0 / self.mu - 1.0, self.v_S, self.v_mu)


FlankFriction = Annotated[
    Annotated[CoulombTable, Tag("CoulombTable")] | Annotated[StribeckTable, Tag("StribeckTable")],
    chosen_by("law", CoulombTable, StribeckTable),
]
