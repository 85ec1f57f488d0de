"""Three models of a toroidal variator over time: traction that is integrated, by table (hybrid), and gears (rigid).

Hybrid and rigid model run over the whole scenario. The integrated traction, F^ and M^ in each contact, runs over a
short window of largest forces in which no limit acts. There the hybrid model's rates f, with the forces F and M of the
table, get what is missing,

    x' = f(x, u) - J^-1 n (R' (F^ - F) + S' (M^ - M)) - J_r^-1 n mu_B r_B (|F^| - |F|) sgn(omega_r),

by an implicit integrator with control of its error (Radau), from the state of the hybrid model at the window's start.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from rtcvt.limits import ErrorRow
from rtcvt.model import Instance
from rtcvt.offline.toroidal.variator import full_contacts
from rtcvt.pog.spin import traction_contacts
from rtcvt.pog.toroid import Contacts, table_contacts
from rtcvt.pog.unit import GearSystem
from rtcvt.simulate import Result

Array = NDArray[np.float64]

WINDOW, POINTS = 0.4, 41  # duration [s] and points of the integrated traction
SETTLE = 0.05  # of the window that does not count: the integrated model leaves the state of the other one [s]
LIMITS = {"w": 0.01, "tau": 0.02, "creep": 0.05, "friction": 0.05}  # by the last part of a signal's name


@dataclass(frozen=True)
class Drive:
    """A scenario by all three models."""

    hybrid: Result
    rigid: Result
    time: Array  # of the window [s], shape (n,)
    full: dict[str, Array]  # signals there, by integration

    def at(self, run: Result, name: str) -> Array:
        """A signal of another run at the window's points."""
        return np.interp(self.time, run.time, run[name])

    def errors(self, model: str = "hybrid") -> tuple[ErrorRow, ...]:
        """Of the hybrid or the rigid model, in signals that it has; the limits are the hybrid model's."""
        run: Result = getattr(self, model)
        rows, counted = [], self.time >= self.time[0] + SETTLE
        for name, values in self.full.items():
            if name in run.model.by_name:
                scale = max(float(np.abs(values).max()), 1e-12)
                error = np.abs(self.at(run, name) - values)[counted]
                value, unit = float(np.sqrt(np.mean(error**2)) / scale), run.model.by_name[name].unit
                limit = LIMITS[name.rpartition(".")[2]]
                peak = float(error.max())
                rows.append(ErrorRow(run.scenario.name, name, unit, value, limit, peak=peak, scale=scale))
        return tuple(rows)

    @property
    def discs(self) -> list[str]:
        """Names of the discs' speeds."""
        return [name for name in self.full if name.endswith(".w")]


def drive(unit: GearSystem, hybrid: Result, rigid: Result, law: Contacts | None = None) -> Drive | None:
    """Run the integrated traction, or another `law`, where the hybrid model's run transmits most and no limit acts.

    None if there is no such window, or the run is shorter.
    """
    spins = traction_contacts(unit)
    steps = round(WINDOW / hybrid.step)
    if len(hybrid.time) <= 2 * steps:
        return None
    effort = np.sum([np.abs(hybrid[f"contact.{s.contact}.F"]) for s in spins], axis=0)[steps // 2 :][: 1 - steps]
    limited = np.convolve(hybrid.status != 0, np.ones(steps), "valid") > 0.0
    start = int(np.argmax(np.where(limited[: len(effort)], -1.0, effort)))
    if limited[start]:
        return None
    one = hybrid.model.instantiate()
    one.p[:] = hybrid.p
    one.u[:] = hybrid.u[0]
    one.initialise()
    for k in range(start):
        one.u[:] = hybrid.u[k]
        one.step(hybrid.step)
    time = np.linspace(hybrid.time[start], hybrid.time[start + steps], POINTS)
    return Drive(hybrid, rigid, time, _integrated(unit, one, hybrid, time, law or full_contacts(unit)))


def _integrated(unit: GearSystem, one: Instance, run: Result, time: Array, law: Contacts) -> dict[str, Array]:
    settings = unit.traction
    assert settings is not None
    spins, table, gears = traction_contacts(unit), table_contacts(unit), list(unit.gears)
    names = [s.name for s in one.model.states]
    discs, rollers = (np.array([gears.index(getattr(s, end)) for s in spins]) for end in ("disc", "roller"))
    inertia = np.array([one.get(f"gear.{g}.J") for g in gears])
    n = settings.rollers * settings.cavities
    moving = names.index(f"control.{unit.moving}") if unit.moving else None
    drag = n * settings.bearing_friction * settings.bearing_radius

    def enter(t: float, x: Array) -> None:
        one.x[:] = x
        one.u[:] = [np.interp(t, run.time, u) for u in run.u.T]

    def missing(x: Array) -> tuple[Array, float]:
        """Torques [N.m] on the gears, and lost power [W], that the table does not have."""
        theta = 0.0 if moving is None else float(x[moving])
        r, r_c, S, S_c = np.array([s.at(unit, theta) for s in spins]).T
        disc, roller = x[discs], x[rollers]
        v, sigma, u = r * disc + r_c * roller, S * disc + S_c * roller, 0.5 * (r * disc - r_c * roller)
        N = x[names.index("traction.F_e")] / (settings.rollers * np.abs(S))
        values = (spins, np.abs(r), N, u, v, sigma)
        (F, M, _), (F_0, M_0, _) = law(*values), table(*values)
        bearing = drag * (np.abs(F) - np.abs(F_0)) * np.sign(roller)
        torque = np.zeros(len(gears))
        np.add.at(torque, discs, -n * (r * (F - F_0) + S * (M - M_0)))
        np.add.at(torque, rollers, -n * (r_c * (F - F_0) + S_c * (M - M_0)) - bearing)
        return torque, float(np.sum(n * ((F - F_0) * v + (M - M_0) * sigma) + bearing * roller))

    def rates(t: float, x: Array) -> Array:
        enter(t, x)
        dx = np.array(one.derivative())
        dx[: len(gears)] += missing(x)[0] / inertia
        return dx

    def jacobian(t: float, x: Array) -> Array:
        enter(t, x)
        return np.array(one.jacobian())

    sizes = np.array([s.nominal or 1.0 for s in one.model.states])
    found = solve_ivp(rates, time[[0, -1]], one.x.copy(), "Radau", time, jac=jacobian, rtol=1e-3, atol=1e-4 * sizes)
    signals = [f"gear.{g}.w" for g in dict.fromkeys(s.disc for s in spins)]
    signals += [f"{name}.tau" for name, port in unit.ports.items() if port.speed_in]
    signals += [f"contact.{s.contact}.creep" for s in spins] + ["loss.friction"]
    values: dict[str, Array] = {name: np.empty(len(time)) for name in signals}
    for k, t in enumerate(time):
        enter(float(t), found.y[:, k])
        one.outputs()
        for name in signals:
            values[name][k] = one.get(name)
        values["loss.friction"][k] += missing(found.y[:, k])[1]
    return values
