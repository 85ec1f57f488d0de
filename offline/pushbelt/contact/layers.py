"""Friction between the layers of the ring set.

The n bands of a set lie on each other, each closed by itself. A band circulates with one speed along its whole length,
``v - y_j Omega_L`` for the band with its middle at the distance y_j from the neutral fibre: the speeds differ by the
same step, since all joints between them have the same balance (below). Where the set turns with omega neighbours slide
on each other::

    v_rel = t_L (omega - Omega_L)

the difference of the radii: ``t_L v (1/r - 1/r_L)`` on a pulley of radius r if the bands circulate as on one of radius
r_L. All bands share the tension, so the joint on top of band j carries (n - j)/n of the force N of the set on a saddle,
and all joints together (n - 1)/2 of it. Their friction acts on the rotation of the ring's section and on the
circulation of the bands::

    M  = C s/sqrt(s^2 + (v_muL/t_L)^2),    s = Omega_L - omega,    C = mu_L t_L (n - 1)/2 N        on the section
    I_L Omega_L' = sum of Q - M,           I_L = m_R t_L^2 (n^2 - 1)/12
    loss = M s >= 0

A band that circulates steadily is in balance with the friction below and above it, so ``sum of M = 0`` for each joint:
the set sticks on the pulley where it presses more, and slides on the other.

The saddle rubs on the innermost band, the ear on the outermost. Surfaces at h = -h_ring/2 and h_ring/2 move with
``v - h (omega/n + (1 - 1/n) Omega_L)``; Q is the torque of their friction on Omega_L. Without mu_L the section stays
plane, and all sliding of the set is at the saddle, ``v - h omega``. For mu_L = mu_R the losses are equal, since ``t_L/2
+ t_L (n - 1)/2 = h_ring/2``.

The law is chosen by its type: `Plane` without sliding layers, else `Sliding`.

Omega_L is that at the end of the step, from velocities that friction has moved already; works are those at the mean of
old and new velocities.
"""

from typing import Any, NamedTuple

import numpy as np

from rtcvt.offline.pushbelt.compiled import Contract, by_law, compiled
from rtcvt.offline.pushbelt.contact.element_ring import EAR, NORMAL, XI, Band, Saddle, Touch, W, shared
from rtcvt.offline.pushbelt.ring.ring import X, push, velocity
from rtcvt.offline.pushbelt.unit.parameters import Belt

_MAX_ITERATIONS = 60


class Plane(NamedTuple):
    """Layers that do not slide: the section of the set stays plane. I: of their round run [kg m2], 0."""

    I: float = 0.0  # noqa: E741


class Sliding(NamedTuple):
    """Layers that slide on each other. c: C/N [m]; omega_0: v_muL/t_L [rad/s]; I: of their round run [kg m2]; n: layers
    of a set."""

    c: float
    omega_0: float
    I: float  # noqa: E741
    n: int


def sliding(belt: Belt, mu_L: float, v_muL: float) -> Sliding:
    """The layers of a belt's ring set with the friction `mu_L`, which is full at the slip `v_muL` [m/s]."""
    n = belt.layers
    t = belt.h_ring / n
    I_L = belt.rhoA * belt.l_R * t**2 * (n**2 - 1.0) / 12.0
    return Sliding(0.5 * mu_L * t * (n - 1.0), v_muL / t, I_L, n)


@compiled
def balanced(p: Sliding, N: Any, omega: Any, Q: float, begin: float, dt: float) -> float:
    """Omega_L after a step of the implicit Euler method from `begin`: its balance grows with Omega_L, so there is one
    solution.

    Newton's method, bisection where that leaves the bracket of the solution.
    """
    whole = abs(Q)
    for i in range(N.size):
        whole += p.c * N[i]
    low = begin - whole * dt / p.I
    high = begin + whole * dt / p.I
    Omega = begin
    for _ in range(_MAX_ITERATIONS):
        value = p.I * (Omega - begin) / dt - Q
        slope = p.I / dt
        for i in range(N.size):
            s = Omega - omega[i]
            root = np.sqrt(s * s + p.omega_0 * p.omega_0)
            value += p.c * N[i] * s / root
            slope += p.c * N[i] * p.omega_0 * p.omega_0 / (root * root * root)
        if value > 0.0:
            high = Omega
        else:
            low = Omega
        new = Omega - value / slope
        if not low < new < high:
            new = 0.5 * (low + high)
        moved = abs(new - Omega)
        Omega = new
        if moved <= 1e-9 * p.omega_0:
            break
    return Omega


@by_law
def layer_friction(law: Any, saddle: Saddle, band: Band, N: Any, memory: Any, at: Touch, turn: Any, dt: float) -> Any:
    """Moments of the layers' friction on the ring; call `element_ring.saddle_friction` first. Returns the torque of
    ears and saddles on Omega_L, Q [N m].

    Parameters
    ----------
    law, saddle, band : Plane or Sliding, Saddle, Band
    N, memory : (N_E, 3), (N_E, 11) of the saddles and ears
    at : Touch; its moments are written
    turn : (1) Omega_L [rad/s]; updated
    dt : step [s]
    """


@by_law
def layer_work(
    law: Any, saddle: Saddle, band: Band, N: Any, memory: Any, at: Touch, turn: Any, dt: float, own: Any, book: Any
) -> Any:
    """Record the loss of the layers' friction in a step [J], at the ring's mean `rate` and the mean of Omega_L before
    and after it, `turn` (1) [rad/s].

    Returns `own` [J], at the primary and at the secondary, with the energy of the bands' circulation and the loss.
    """


@layer_friction.of(Plane)
@compiled
def _plane(law, saddle, band, N, memory, at, turn, dt):
    return 0.0


@layer_work.of(Plane)
@compiled
def _plane_work(law, saddle, band, N, memory, at, turn, dt, own, book):
    return own


@layer_friction.of(Sliding)
@compiled
def _sliding(p, saddle, band, N, memory, at, turn, dt):
    lever = band.ring.h2 * (1.0 - saddle.plane)
    Q = 0.0
    for i in range(saddle.N_E):
        at.pressed[i] = 0.0
        at.omega[i] = 0.0
        Q -= lever * memory[i, 0]
        if N[i, 1] > 0.0:
            Q += lever * memory[i, EAR]
        if at.force[i, NORMAL] > 0.0:
            _, _, omega = velocity(band.shape, band.rate, at.k[i], at.force[i, XI], at.force[i, W])
            at.pressed[i] = at.force[i, NORMAL]
            at.omega[i] = omega
    turn[0] = balanced(p, at.pressed, at.omega, Q, turn[0], dt)
    for i in range(saddle.N_E):
        s = turn[0] - at.omega[i]
        at.moment[i] = p.c * at.pressed[i] * s / np.sqrt(s * s + p.omega_0 * p.omega_0)
        if at.moment[i] != 0.0:
            push(band.shape, band.load, at.k[i], at.force[i, XI], at.force[i, W], 0.0, 0.0, at.moment[i])
    return Q


@layer_work.of(Sliding)
@compiled
def _sliding_work(p, saddle, band, N, memory, at, turn, dt, own, book):
    Omega = 0.5 * (at.turn[0] + turn[0])
    lever = band.ring.h2 * (1.0 - saddle.plane)
    lost = 0.0
    sums = (0.0, 0.0)
    for i in range(saddle.N_E):
        given = -lever * memory[i, 0] * Omega
        if N[i, 1] > 0.0:
            given += lever * memory[i, EAR] * Omega
        if at.moment[i] != 0.0:
            _, _, omega = velocity(band.shape, band.rate, at.k[i], at.force[i, XI], at.force[i, W])
            lost += at.moment[i] * (Omega - omega)
            given -= at.moment[i] * omega
        sums = shared(sums, at.shape[i, X] > saddle.x_mid, given)
    book.layer_friction += dt * lost
    return own[0] + dt * sums[0], own[1] + dt * sums[1]


LAYERS = Contract(layer_friction, layer_work, fields=("I",))
LAYERS.register(Plane, Sliding)
