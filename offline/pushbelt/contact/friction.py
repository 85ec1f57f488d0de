"""Friction laws: the force against a slip velocity v_T under the normal force N.

    T = -kappa v_T,   kappa = N mu(|v_T|) / sqrt(|v_T|^2 + v_mu^2)

regularised below the speed v_mu, so that |T| stays below mu N and grows in proportion to small slip: Cebulla 2014,
section 6.1.2.

    Coulomb      mu(v) = mu
    Stribeck     mu(v) = mu (1 + rise/(1 + (v/v_S)^2))        falls from (1 + rise) mu to mu around the speed v_S

A law gives kappa/N (`secant`) and its slope (`tangent`) as functions of v^2, without an exponential, so that loops over
contacts are vectorised. The flank solver reads its v_mu, too: it starts from a smoother law and stops smoothing there.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import Contract, by_law, inlined
from rtcvt.offline.pushbelt.unit.parameters import Belt


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


def flank_friction(belt: Belt) -> Coulomb | Stribeck:
    """The law of a belt's flanks: Stribeck's if its friction rises at low slip."""
    if belt.rise == 0.0:
        return Coulomb(belt.mu, belt.v_mu)
    return Stribeck(belt.mu, belt.rise, belt.v_S, belt.v_mu)
