"""Steady pushbelt as a continuum on two arcs: thrust ratio, slip, losses and fields in a second, without time steps.

Per pulley, along theta in the direction of travel, r the radius of the rocking edges, all per radian and flank:

    radial        2 n (sin d + rho cos d) = T - P - K             n normal force, rho n friction of a flank, outwards
    along         P' = 2 f + q (1 + h_s/r) + (T - P - K) r'/r     f friction of a flank, q that of the ring, forwards,
                  T' = q r_s/r_n                                  and the flanks' radial force along a path that climbs
    groove        n cos d = c_el (r/t) ((R_0 - r) tan d - w),   w = sum_k a_k int cos k(theta - theta') n cos d dtheta'
    friction      (f, rho n) = -mu n (s, u)/sqrt(s^2 + u^2 + v_mu^2),   s = v - omega r,   u = v r'/r cos d
    ring          q = -mu_R (T - K_R) s_R/sqrt(s_R^2 + v_muR^2),  s_R = v (1 + h_s/r) - v_R (1 + (T - T_0)/EA) r_s/r_n
    elements      v = nu (t + (r_R/2 - t/12) (t/r)^2 - P/k_R)     where they push; where they do not, f balances q

with K = m v^2, r_s = r + h_s (saddle), r_n = r_s + h/2 (neutral fibre). These are the equilibrium of a continuous belt
(Eytelwein; Sattler 1999; Carbone, Mangialardi and Mantriota 2005) with the push force, the ring and the sheaves' law of
Cebulla 2014, eqs. (5.49) to (5.54). F = int (n cos d - rho n sin d) dtheta is the clamping force of a sheave.

On the driving pulley (the secondary in overrun) P = 0 at the entry of a chain with endplay; the driven one is closed,
and P = 0 at its end. The ring drags elements over the slack strand, at most to its own speed. They queue before the
driving pulley and push into it with the force of this drag, m v (v_R - nu t): all gaps are in the strand, and both arcs
are closed. Where this needs a pulling chain, gaps are on the driving arc, which is open up to theta_*; if it is too
short for the endplay, the others are in the strands and nothing pushes. Without endplay the chain pushes in both
strands. Given are omega_I, F_O, the torque M_O and the ratio of the mean radii; the two tensions, speeds,
theta_* or the gap in the strand, the grooves R_0 and the Fourier coefficients of the deflections are found by
Newton's method, on a path of falling v_mu. It shares nothing with the multibody model but the parameters of the belt.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import krogh_interpolate
from scipy.optimize import root

from rtcvt.offline.pushbelt.compiled import compiled
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.parameters import Belt, Sheaves, influence_numbers

Array = NDArray[np.float64]

COLUMNS = ("theta", "r", "n", "rho", "f", "P", "T", "q", "v", "u", "s", "s_R", "h")
_TH, _R, _N, _RHO, _F, _P, _T, _Q, _V, _U, _S, _SR, _H = range(13)
_GLOBALS = 7  # unknowns besides the deflections
_COARSE_STEPS = 250  # number of steps of an arc on the path to the given v_mu
_STARTS = (0.1, 0.3, 0.02, 5e-3)  # [m/s]
RESIDUAL_TOLERANCE = 1e-5  # residual of a solution
REPLACED_SPEED = 5e-3  # [m/s] a state at this v_mu or below replaces one at a smaller v_mu that is not reached


class NoSteadyStateError(ArithmeticError):
    """No steady state was found: the belt slips, or Newton's method does not reach it."""


@dataclass(frozen=True)
class Point:
    """Operating point.

    Attributes
    ----------
    omega_I : float
        Speed of the primary [rad/s].
    F_O : float
        Clamping force of the secondary [N].
    ratio : float
        Mean radius on the secondary over that on the primary, of the rocking edges.
    M_O : float
        Torque that the secondary gives off [N m]; negative in overrun.
    """

    omega_I: float
    F_O: float
    ratio: float
    M_O: float


@compiled
def _place(above, n_of, pull, K, sin_d, cos_d, mu, v_mu, open_force, s, drift, r):
    """Radius [m] at which the friction of a flank agrees with its slip; the residual grows with the radius.

    n = n_of (above - r), rho = ((pull - K)/2n - sin d)/cos d, u = drift (r_new - r): safeguarded Newton's method.
    """
    low, high = above - 4e-3, above
    new = min(max(r, low), above - 1e-9)
    for _ in range(60):
        n = n_of * (above - new)
        rho = ((pull - K) / (2.0 * n) - sin_d) / cos_d
        u = drift * (new - r)
        d_rho = (pull - K) / (2.0 * n * n) * n_of / cos_d
        if open_force >= 0.0:  # the flank carries this force along the belt: s follows
            x = min(open_force / (mu * n), 0.999)
            slack = np.sqrt(1.0 - x * x)
            root = np.sqrt(u * u + v_mu * v_mu)
            g = rho + mu * slack * u / root
            slope = d_rho + mu * slack * v_mu * v_mu / root**3 * drift - mu * u / root * x * x / slack * n_of / n
        else:
            root = np.sqrt(s * s + u * u + v_mu * v_mu)
            g = rho + mu * u / root
            slope = d_rho + mu * (root * root - u * u) / root**3 * drift
        if g > 0.0:
            high = new
        else:
            low = new
        step = -g / slope if slope > 0.0 else 0.0
        if abs(step) < 1e-16 or high - low < 1e-16:
            break
        ahead = new + step
        new = ahead if low < ahead < high else 0.5 * (low + high)
    return new


@compiled
def march(belt, cot, v_mu, wrap, R_0, z, omega, nu, v_R, T_0, P_0, T_in, open_to, out):
    """Integrate one arc from its entry, open up to angle `open_to` [rad]; write the fields into `out` (steps, columns).

    Half of the steps lie on either side of `open_to`, so that the result is a smooth function of it. Returns P and T at
    the end [N], and lengths of gaps and of compression [m].
    """
    t, sin_d, cos_d = belt.t_R, belt.sin_d, belt.cos_d
    tan_d = sin_d / cos_d
    h_s = belt.h_off - 0.5 * belt.h_ring
    n_k = (z.size - 1) // 2
    steps = out.shape[0]
    before = steps // 2 if open_to > 0.0 else 0
    if open_to >= wrap:
        before = steps
    v_nominal = nu * t
    K, K_R = belt.m_star * v_nominal**2, belt.rhoA * v_nominal**2
    P, T, gaps, pressed = P_0, T_in, 0.0, 0.0
    w = z[0]
    for k in range(1, n_k + 1):
        w += z[2 * k - 1]
    r = R_0 - w * cot
    v = omega * r
    slope = 0.0  # r'/r: where the flanks carry no push force, that of the step before
    for j in range(steps):
        is_open = j < before
        if is_open:
            h = open_to / before
            theta = (j + 0.5) * h
        else:
            h = (wrap - open_to) / (steps - before)
            theta = open_to + (j - before + 0.5) * h
        w = z[0]
        for k in range(1, n_k + 1):
            w += z[2 * k - 1] * np.cos(k * theta) + z[2 * k] * np.sin(k * theta)
        pitch = t + (0.5 * belt.r_R - t / 12.0) * (t / r) ** 2 - P / belt.k_R
        if not is_open:
            v = nu * pitch
        r_s = r + h_s
        r_n = r_s + 0.5 * belt.h_ring
        s_R = v * (1.0 + h_s / r) - v_R * (1.0 + (T - T_0) / belt.EA) * r_s / r_n
        q = -belt.mu_R * (T - K_R) * s_R / np.sqrt(s_R * s_R + belt.v_muR**2)
        bears = -0.5 * (q * (1.0 + h_s / r) + (T - P - K) * slope)
        s = v - omega * r
        above = R_0 - w * cot
        n_of = belt.c_el * r / t * tan_d / cos_d
        drift = cos_d * v / r / h
        force = abs(bears) if is_open else -1.0
        new = _place(above, n_of, T - P, K, sin_d, cos_d, belt.mu, v_mu, force, s, drift, r)
        n = n_of * (above - new)
        u = drift * (new - r)
        if is_open:
            x = min(force / (belt.mu * n), 0.999)
            s = np.sqrt((u * u + v_mu * v_mu) / (1.0 - x * x)) * (-x if bears > 0.0 else x)
        slope = (new - r) / (r * h)
        r = new
        root = np.sqrt(s * s + u * u + v_mu * v_mu)
        rho, f = -belt.mu * u / root, -belt.mu * n * s / root
        if is_open:
            v = omega * r + s
            gaps += r * h * (1.0 - nu * pitch / v)
        else:
            P += h * (2.0 * f + q * (1.0 + h_s / r) + (T - P - K) * slope)
            pressed += r * h / pitch * P / belt.k_R
        T += h * q * r_s / r_n
        row = out[j]
        row[0], row[1], row[2], row[3], row[4], row[5] = theta, r, n, rho, f, P
        row[6], row[7], row[8], row[9], row[10], row[11], row[12] = T, q, v, u, s, s_R, h
    return P, T, gaps, pressed


@dataclass(frozen=True)
class Steady:
    """A steady state.

    Attributes
    ----------
    arcs : tuple of ndarray, each (steps, 13)
        Fields over primary and secondary arc; columns are `COLUMNS`: angle [rad], radius [m], per radian normal
        force and friction of a flank, push force, tension, ring friction [N], speeds [m/s].
    F, M : tuple of float
        By pulley: clamping force [N] and torque of the belt on it [N m].
    omega : tuple of float
        Speeds of primary and secondary [rad/s].
    thrust_ratio, slip, loss : float
        F_I/F_O; 1 - omega_O r_O/(omega_I r_I); power of the two shafts into the belt [W].
    losses : dict
        Parts of the loss [W]: friction of the flanks along the belt and across it, that of the ring, and the
        compression with which elements leave the grooves.
    radii : tuple of float
        Mean radii of the rocking edges on primary and secondary [m].
    open_to : float
        Share of the driving pulley's arc without push force; 0 where all gaps lie in the slack strand.
    v_mu : float
        Slip speed of the friction of the solution [m/s]: that of the belt, or up to `REPLACED_SPEED` above a
        smaller one.
    residual : float
        Largest of the scaled residuals.
    """

    arcs: tuple[Array, Array]
    F: tuple[float, float]
    M: tuple[float, float]
    omega: tuple[float, float]
    thrust_ratio: float
    slip: float
    loss: float
    losses: dict[str, float]
    radii: tuple[float, float]
    open_to: float
    v_mu: float
    residual: float


def mean(arc: Array, column: str) -> float:
    """Mean of a column of `COLUMNS` over an arc (steps, 13), weighted by angle."""
    return float(arc[:, COLUMNS.index(column)] @ arc[:, _H] / arc[:, _H].sum())


class _Problem:
    """Unknowns and residuals of a point; `queues`: all gaps lie in the slack strand. `driver` 0 is the primary."""

    def __init__(self, belt: Belt, sheaves: Sheaves | None, point: Point, queues: bool, steps: int) -> None:
        self.belt, self.point, self.driver, self.queues = belt, point, int(point.M_O < 0.0), queues
        self.v_mu = belt.v_mu
        self.law = sheaves
        self.grid(steps)
        self.A = np.array(sheaves.A) if sheaves else np.zeros(0)
        self.n_z = 2 * len(self.A) - 1 if sheaves else 0
        self.cot = 1.0 / belt.tan_d

    def grid(self, steps: int) -> None:
        self.out = tuple(np.zeros((steps, len(COLUMNS))) for _ in range(2))

    def geometry(self, T: float) -> tuple[tuple[float, float], tuple[float, float], float]:
        """Radii of the rocking edges and wraps under a tension [N], and the length of a strand."""
        b = self.belt
        at = closure(b.l_R * (1.0 + T / b.EA), b.d_A, self.point.ratio, b.h_off)
        return (at.r_I - b.h_off, at.r_O - b.h_off), (at.wrap_I, at.wrap_O), at.t_L

    def read(self, x: Array) -> tuple[Any, ...]:
        """Tension, radii, speeds and deflections from the unknowns."""
        b, p = self.belt, self.point
        T = 1e3 * x[0]
        radii, wraps, strand = self.geometry(T)
        v = p.omega_I * radii[0]
        omega = (p.omega_I, v * (1.0 - 1e-2 * x[2]) / radii[1])
        nu, v_R = v * (1.0 - 1e-2 * x[1]) / b.t_R, v * (1.0 + 1e-2 * x[3])
        R_0 = (radii[0] + 1e-3 * x[5], radii[1] + 1e-3 * x[6])
        n = self.n_z
        z = (1e-4 * x[_GLOBALS : _GLOBALS + n], 1e-4 * x[_GLOBALS + n :]) if n else (np.zeros(1), np.zeros(1))
        return T, radii, wraps, strand, omega, nu, v_R, R_0, z

    def residual(self, x: Array) -> Array:
        """Residuals of Newton's method; large and meaningless far from any belt."""
        if not (0.01 < x[0] < 100.0 and np.abs(x[1:4]).max() < 50.0):
            return np.full(len(x), 1e2 * (1.0 + min(1e3, float(np.abs(np.nan_to_num(x)).max()))))
        b, p = self.belt, self.point
        T, radii, wraps, strand, omega, nu, v_R, R_0, z = self.read(x)
        d, e = self.driver, 1 - self.driver
        P_0, open_to, spare, drag = 0.0, 0.0, 1e-2 * x[4], 0.0
        if self.queues:
            P_0 = drag = b.m_star * nu * b.t_R * max(0.0, v_R - nu * b.t_R)
        else:
            P_0, open_to, spare = (
                1e3 * max(0.0, -x[4]),
                min(max(x[4], 0.0), 1.0) * wraps[d],
                1e-2 * max(0.0, x[4] - 1.0),
            )
        P, T_1, gaps, pressed = march(
            b, self.cot, self.v_mu, wraps[d], R_0[d], z[d], omega[d], nu, v_R, T, P_0, T, open_to, self.out[d]
        )
        rolls = [1.0 + (0.5 * b.r_R - b.t_R / 12.0) * b.t_R / r**2 for r in radii]  # a bent chain over a straight one
        P *= rolls[d]  # in the strand: bending and straightening the chain needs no power
        P_2, T_2, _, pressed_2 = march(
            b, self.cot, self.v_mu, wraps[e], R_0[e], z[e], omega[e], nu, v_R, T, P / rolls[e], T_1, 0.0, self.out[e]
        )
        self.F, self.M, own = [], [], []
        for k in range(2):
            o = self.out[k]
            h = o[:, _H]
            axial = o[:, _N] * b.cos_d * h
            self.F.append(float(axial.sum() - (o[:, _RHO] * o[:, _N]) @ h * b.sin_d))
            self.M.append(-2.0 * float((o[:, _F] * o[:, _R]) @ h))
            if self.law:
                a = influence_numbers(self.law, float(o[:, _R] @ h / wraps[k]))
                k_theta = np.arange(1, len(a))[:, None] * o[:, _TH]
                sums = np.array([np.cos(k_theta) @ axial, np.sin(k_theta) @ axial]).T * a[1:, None]
                own.append(np.concatenate([[a[0] * axial.sum()], sums.ravel()]))
        mean = [float(o[:, _R] @ o[:, _H]) / wrap for o, wrap in zip(self.out, wraps, strict=True)]
        rolling = (0.5 * b.r_R - b.t_R / 12.0) * b.t_R * (wraps[0] / radii[0] + wraps[1] / radii[1])
        room = b.l_R * (1.0 + 0.5 * (T + T_1) / b.EA) - 2.0 * np.pi * b.h_off - b.N_E * b.t_R - rolling
        room += pressed + pressed_2 + strand / b.t_R * P / b.k_R
        found = [
            (self.F[1] - p.F_O) / p.F_O,
            (T_2 + drag - T) / 1e3,
            (P_2 + drag - P_0) / 1e3,
            (self.M[1] - p.M_O) / 100.0,
            (mean[0] - radii[0]) * 1e4,
            (mean[1] - radii[1]) * 1e4,
            (gaps + spare - room) * 1e3,
        ]
        self.push, self.open_to, self.dragged = P, open_to / wraps[d], drag * (v_R - nu * b.t_R)
        self.holds = not self.queues or (spare > 0.0 and float(self.out[d][:, _P].min()) > 0.0)
        return np.concatenate([found, *(1e4 * (z_k - own_k) for z_k, own_k in zip(z, own, strict=False))])

    def guess(self) -> Array:
        """Evenly pressed arcs, a tension that carries them, slip of a belt under half its torque."""
        b, p = self.belt, self.point
        radii, wraps, _ = self.geometry(0.0)
        x = np.zeros(_GLOBALS + 2 * self.n_z)
        K = b.m_star * (p.omega_I * radii[0]) ** 2
        x[0] = 1e-3 * (2.0 * p.F_O / (wraps[1] * self.cot) + 0.5 * abs(p.M_O) / radii[1] + K)
        x[1], x[2], x[4] = (0.7, 0.9, 0.6) if self.driver == 0 else (-0.2, -0.9, 0.6)  # the driving pulley slips more
        x[3] = 100.0 * (1.0 + b.h_off / max(radii)) * (1.0 - 1e-2 * x[1]) - 100.0  # the ring sticks on the larger arc
        for k in range(2):
            w = np.zeros(1)
            if self.law:
                harmonic = np.arange(len(self.A))
                z = influence_numbers(self.law, radii[k]) * p.F_O * np.sinc(harmonic * wraps[k] / (2.0 * np.pi))
                middle = harmonic * wraps[k] / 2.0
                z_k = np.concatenate([z[:1], np.array([z * np.cos(middle), z * np.sin(middle)]).T[1:].ravel()])
                x[_GLOBALS + k * self.n_z : _GLOBALS + (k + 1) * self.n_z] = 1e4 * z_k
                angle = harmonic[:, None] * (np.linspace(0.0, wraps[k], 50) - wraps[k] / 2.0)
                w = z @ np.cos(angle)
            pressed = p.F_O / wraps[k] / (b.c_el * radii[k] / b.t_R)
            x[5 + k] = 1e3 * (float(w.mean()) + pressed) * self.cot
        return x

    def newton(self, x: Array, most: int = 40) -> tuple[Array, float]:
        """Damped Newton's method; returns the unknowns and the largest residual that is left."""
        bound = np.full(len(x), 1.0)
        bound[0], bound[1:4], bound[4] = 0.5, 0.3, 1.0 if self.queues else 0.1
        r = self.residual(x)
        for _ in range(most):
            if np.abs(r).max() < 1e-7:
                break
            J = np.empty((len(r), len(x)))
            for k in range(len(x)):
                d = 1e-4 if k == 4 and not self.queues else 1e-6 * max(1.0, abs(x[k]))
                J[:, k] = (self.residual(x + d * (np.arange(len(x)) == k)) - r) / d
            dx = np.linalg.lstsq(J, -r, rcond=None)[0]
            share = min(1.0, float(np.min(bound / np.maximum(np.abs(dx), 1e-12))))
            best = (np.inf, x, r)
            for _ in range(8):
                ahead = x + share * dx
                there = self.residual(ahead)
                size = float(np.linalg.norm(there))
                if size < best[0]:
                    best = (size, ahead, there)
                if size < np.linalg.norm(r) * (1.0 - 0.1 * share):
                    break
                share *= 0.5
            if not np.isfinite(best[0]):
                break
            stalls = best[0] > 0.999 * np.linalg.norm(r)
            x, r = best[1], best[2]
            if stalls:
                break
        self.residual(x)
        return x, float(np.abs(r).max())


def _solve(problem: _Problem, x: Array) -> tuple[Array, float]:
    """Unknowns near `x`: Newton's method, or Powell's where it stalls; and the residual that is left."""
    found, left = problem.newton(x)
    if left > RESIDUAL_TOLERANCE:
        powell = root(problem.residual, x, method="hybr", options={"maxfev": 40 * len(x), "factor": 1.0})
        other, still = problem.newton(powell.x, most=10)
        if still < left:
            return other, still
    return found, left


def _follow(problem: _Problem) -> tuple[Array, float, bool]:
    """Solve at a large v_mu, then on a path to the given one.

    Returns the unknowns and the residual of the last solution, which leaves its v_mu in the problem, and whether the
    places of the gaps are those of the problem on the whole path.
    """
    target = problem.belt.v_mu
    for start in _STARTS:
        v = problem.v_mu = max(start, target)
        x, left = _solve(problem, problem.guess())
        if left < RESIDUAL_TOLERANCE:
            break
    else:
        return x, left, False
    factor, holds, path = 2.5, problem.holds, [(v, x)]
    while v > target and factor > 1.005 and holds:
        problem.v_mu = max(target, v / factor)
        at, states = zip(*path[-3:], strict=True)  # the parabola through these, over ln v_mu, is the next guess
        guess = krogh_interpolate(np.log(at), np.array(states), np.log(problem.v_mu))
        ahead, there = _solve(problem, guess)
        if there < RESIDUAL_TOLERANCE:
            x, left, v, factor, holds = ahead, there, problem.v_mu, min(2.5, factor**1.5), problem.holds
            path.append((v, x))
        else:
            factor = factor**0.5
    problem.v_mu = v
    problem.residual(x)
    return x, left, holds


def steady(belt: Belt, sheaves: Sheaves | None, point: Point, steps: int = 800) -> Steady:
    """The steady state of a belt at an operating point.

    Parameters
    ----------
    belt : Belt
        Of real elements: N_E = N_E0.
    sheaves : Sheaves or None
        Compliance of the sheaves; None: the decoupled law, in which an element deflects only its own place.
    point : Point
        Operating point.
    steps : int
        Number of steps of each arc; the error falls with 1/steps.

    Raises
    ------
    NoSteadyStateError
        The belt slips, or no steady state was found.
    """
    return _state(*_solved(belt, sheaves, point, steps))


def family(belts: Sequence[tuple[Belt, Sheaves]], point: Point, steps: int = 800) -> Iterator[Steady | None]:
    """Steady states of similar belts, with gaps at the place of the first state; None: not found.

    Parameters and errors are those of `steady`. Newton's method starts from the first state, a tenth of the work.
    """
    first, x, left = _solved(*belts[0], point, steps)
    yield _state(first, x, left)
    for belt, sheaves in belts[1:]:
        problem = _Problem(belt, sheaves, point, first.queues, steps)
        there, left = problem.newton(x)
        fits = left < RESIDUAL_TOLERANCE and problem.holds and problem.push >= 0.0
        yield _state(problem, there, left) if fits else None


def _solved(belt: Belt, sheaves: Sheaves | None, point: Point, steps: int) -> tuple[_Problem, Array, float]:
    """Problem, unknowns and residual of a steady state."""
    problem = _Problem(belt, sheaves, point, True, steps)  # a change of steps can lose this state
    x, left, holds = _follow(problem)
    if not holds:
        problem = _Problem(belt, sheaves, point, False, _COARSE_STEPS)
        x, left, _ = _follow(problem)
        problem.grid(steps)
        x, left = problem.newton(x) if left < RESIDUAL_TOLERANCE else (x, left)
        if not left < RESIDUAL_TOLERANCE:  # lost by the change of steps, or before
            problem = _Problem(belt, sheaves, point, False, steps)
            x, left, _ = _follow(problem)
    if not left < RESIDUAL_TOLERANCE or problem.push < 0.0 or problem.v_mu > max(REPLACED_SPEED, belt.v_mu):
        raise NoSteadyStateError(f"no steady state found: {point}, residual {left:.1e}")
    return problem, x, left


def _state(problem: _Problem, x: Array, left: float) -> Steady:
    _, radii, _, _, omega, *_ = problem.read(x)
    p = problem.point
    b = problem.belt
    losses = {"flank friction along": 0.0, "flank friction across": 0.0, "ring friction": problem.dragged, "exits": 0.0}
    for o in problem.out:
        h = o[:, _H]
        losses["flank friction along"] -= 2.0 * float((o[:, _F] * o[:, _S]) @ h)
        losses["flank friction across"] -= 2.0 * float((o[:, _RHO] * o[:, _N] * o[:, _U]) @ h)
        losses["ring friction"] -= float((o[:, _Q] * o[:, _SR]) @ h)
        last = o[-1]  # elements leave the groove compressed
        losses["exits"] += (last[_N] * b.cos_d) ** 2 / (b.c_el * last[_R] / b.t_R) * last[_V] / last[_R]
    given, taken = -problem.M[0] * omega[0], problem.M[1] * omega[1]
    return Steady(
        arcs=(problem.out[0], problem.out[1]),
        F=(problem.F[0], problem.F[1]),
        M=(problem.M[0], problem.M[1]),
        omega=omega,
        thrust_ratio=problem.F[0] / problem.F[1],
        slip=1.0 - omega[1] * radii[1] / (p.omega_I * radii[0]),
        loss=given - taken,
        losses=losses,
        radii=radii,
        open_to=problem.open_to,
        v_mu=problem.v_mu,
        residual=left,
    )
