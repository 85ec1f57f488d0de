"""Kernels of the spans' lateral vibration: first natural frequency, and amplification of an engine order.

A span of length L under the tension T, through which the belt (mass m' per stretched length) runs at v, is a travelling
beam (Lorenz, Offner, Sopouch and Ertl 2014, eq. (6); `studies/moving_belt.md`)::

    m' (w_tt + 2 v w_st + v^2 w_ss) - T w_ss + EI w_ssss = 0

Its ends are those of `rtcvt.belt.span_ends`: bending and ribs that yield make it longer by delta. With ``k = pi/(L +
delta)``, ``C^2 = (T + EI k^2)/m'``, ``nu = v/C``, ``e^2 = EI k^2/(T + EI k^2)`` its lowest frequency is ::

    omega_1 = k C sqrt((1 - nu^2) (1 - s nu^2)),    s = sum over m = 2, 4, ... of a_m/(1 + e^2 m^2)

with a_m as ``m^2/(m^2 - 1)^3``, 1 in sum. It is exact without bending (s = 1; Skutsch 1897), at rest, and at the
critical speed C, where it is zero. Between, s is that of perturbation theory to the second order in nu, by the sines
that the Coriolis force couples with the first one: within 0.3 % up to nu = 0.7 and 0.9 % up to 0.95.

The share of critical damping is that of the ribs (tau, the delay of the two ends), of bending (D_I), and zeta_0 of the
unit file for all else. Each of the two waves of a string is damped by its own wave number k (1 +- nu)::

    zeta = omega_1 tau/(L + delta) + D_I k^4 (1 + 10 nu^2 + 5 nu^4)/(2 m' omega_1) + zeta_0

An end that moves across by A cos(Omega t) makes the span swing by G A. With ``r = Omega/omega_1``, for the string ::

    w = A Re exp(i Omega (t + s v/(C^2 - v^2))) sin(pi r (1 - s/L))/sin(pi r),    r -> r (1 - i zeta)
    G = 1/sqrt(sin^2(pi r) + sinh^2(pi r zeta)),    and 1 below r = 1/2, where the largest swing is that of the end

An engine order excites the span where r is within a band about 1. In `swing` the two ends move, with their arms and
with the change of the span's tension.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rtcvt.belt import places
from rtcvt.belt.layout import N_RESONANCE, Across, Arc, BeltP, Cell, D, ResonanceY, Span
from rtcvt.kernel import kernel
from rtcvt.model.places import entry
from rtcvt.numerics.elementary import exp, sin

SUM = 4.0 / 27.0 + 16.0 / 3375.0 + 36.0 / 42875.0 + 64.0 / 250047.0  # of m^2/(m^2 - 1)^3, m = 2, 4, 6, 8
MAX_STIFFNESS = 50.0  # pi r zeta from where nothing swings


def swing(
    start: complex, end: complex, r: float, nu: float, zeta: float = 0.0, places: int = 401
) -> NDArray[np.complex128]:
    """Complex amplitudes of a span whose ends move across, ``Re(w exp(i Omega t))``, at equal steps along it.

    Parameters
    ----------
    start, end : complex
        Amplitudes of its ends [m], by the same normal.
    r : float
        ``Omega/omega_1``.
    nu : float
        Transport speed by that of waves in the belt.
    zeta : float
        Share of critical damping.
    places : int

    Returns
    -------
    (places,) array
        [m].
    """
    x = np.linspace(0.0, 1.0, places)
    k = np.pi * r * (1.0 - 1j * zeta)
    from_start, from_end = np.exp(1j * k.real * nu * x), np.exp(-1j * k.real * nu * (1.0 - x))
    found = start * from_start * np.sin(k * (1.0 - x)) + end * from_end * np.sin(k * x)
    return np.asarray(found / np.sin(k), dtype=np.complex128)


def bounded_swing(
    start: complex, end: complex, r: float, nu: float, zeta: float, hardening: float, length: float
) -> float:
    """Largest amplitude [m] of `swing` where the belt resists the stretch: the upper branch, that of a run-up.

    The stretch of an amplitude A raises the square of its first frequency by ``1 + hardening A^2``, with ``hardening =
    3 pi^2 EA/(16 (T - m v^2) L L_b)`` [1/m^2] (Kirchhoff's string, the belt of length L_b). No root above a third of
    the `length` is sought.
    """
    linear = float(np.abs(swing(start, end, r, nu, zeta)).max())
    if hardening * linear**2 < 1e-6:
        return linear

    def exceeded(A: float) -> bool:
        by = r / math.sqrt(1.0 + hardening * A * A)
        return bool(np.abs(swing(start, end, by, nu, zeta, 101)).max() >= A)

    tuned = math.sqrt(max((r / max(int(r), 1)) ** 2 - 1.0, 0.0) / hardening)  # that meets the order
    sizes = np.geomspace(length / 3.0, max(abs(start), abs(end), 1e-9), 60)
    high = float(sizes[0])
    for A in sizes.tolist():
        if exceeded(A):
            low = A
            for _ in range(20):
                low, high = (0.5 * (low + high), high) if exceeded(0.5 * (low + high)) else (low, 0.5 * (low + high))
            return low
        if tuned > A and exceeded(tuned):
            return tuned
        high = A
    return linear


@kernel
def span_length(j, data, work):
    """Length [m] of span j between its points of tangency, as arms have moved them."""
    length = data[places.arc(j, data) + Arc.SPAN]
    if data[D.ARMS] > 0.0:
        reach = data[places.arc(j, data) + Arc.REACH]
        turn = work[places.span(j, data) + Span.TURN]
        length += work[places.cell(places.span_cell(j, data), data) + Cell.LENGTH] - reach
        length += data[places.across(j, data) + Across.OFFSET] * turn
    return length


@kernel
def wave_number(j, data, work):
    """k of span j [1/m]."""
    return math.pi / (span_length(j, data, work) + data[places.across(j, data) + Across.LONGER])


@kernel
def coriolis_share(stiff):
    """s at e^2."""
    total = 0.0
    for half in range(1, 5):
        square = 4.0 * half * half
        one_less = square - 1.0
        total += square / (one_less * one_less * one_less * (1.0 + stiff * square))
    return total / SUM


@kernel
def span_frequency(j, q, T, p, data, work):
    """omega_1 [rad/s] of span j under the tension T as the belt flows by q (length without load); 0 from C on."""
    k = wave_number(j, data, work)
    stretch = 1.0 + T / p[BeltP.EA]
    bending = data[D.EI] * k * k
    force = T + bending
    if not force > 0.0 or not p[BeltP.M] > 0.0:
        return 0.0
    square = p[BeltP.M] * q * q * stretch / force
    if not square < 1.0:
        return 0.0
    share = (1.0 - square) * (1.0 - coriolis_share(bending / force) * square)
    return k * math.sqrt(force * stretch / p[BeltP.M] * share)


@kernel
def span_damping_ratio(j, q, T, omega, p, data, work):
    """zeta of span j, whose first frequency is `omega` [rad/s]."""
    k = wave_number(j, data, work)
    stretch = 1.0 + T / p[BeltP.EA]
    square = p[BeltP.M] * q * q * stretch / (T + data[D.EI] * k * k)
    ends = omega * data[places.across(j, data) + Across.DELAY] * k / math.pi
    waves = 1.0 + square * (10.0 + 5.0 * square)
    bending = 0.5 * data[D.D_I] * k * k * k * k * waves * stretch / (p[BeltP.M] * omega)
    return ends + bending + data[D.Z_0]


@kernel
def gain(r, zeta):
    """G at ``Omega/omega_1 = r``."""
    if r < 0.5:
        return 1.0
    loss = math.pi * r * zeta
    if loss > MAX_STIFFNESS:
        return 0.0
    grows = exp(loss)
    grows = 0.5 * (grows - 1.0 / grows)
    s = sin(math.pi * r)
    return 1.0 / math.sqrt(s * s + grows * grows)


@kernel
def span_outputs(q, turning, p, data, y, work):
    """First frequencies, and swings by engine orders of a shaft with the speed `turning` [rad/s].

    `q` is the flow of length without load. Write the tensions of the spans first.
    """
    at = entry(D.Y_RESONANCE, data)
    orders = entry(D.ORDERS, data)
    for j in range(places.pulleys(data)):
        T = work[places.span(j, data) + Span.TENSION]
        omega = span_frequency(j, q, T, p, data, work)
        y[entry(D.Y_FREQUENCY, data) + j] = omega / (2.0 * math.pi)
        if data[D.N_ORDERS] > 0.0:
            met = 0.0
            nearest = data[D.BAND]
            largest = 1.0
            if omega > 0.0:
                zeta = span_damping_ratio(j, q, T, omega, p, data, work)
                for m in range(entry(D.N_ORDERS, data)):
                    r = data[orders + m] * abs(turning) / omega
                    if abs(r - 1.0) <= nearest:
                        nearest = abs(r - 1.0)
                        met = data[orders + m]
                    swing = gain(r, zeta)
                    largest = swing if swing > largest else largest
            y[at + N_RESONANCE * j + ResonanceY.ORDER] = met
            y[at + N_RESONANCE * j + ResonanceY.GAIN] = largest
            if data[D.RUNOUT] > 0.0:
                y[entry(D.Y_SWING, data) + j] = data[D.RUNOUT] * largest
