"""A variator's real-time models under the boundary values of the full model, and its laws alone, for the check.

Pulleys have the full model's inertia and no bearings, seals or oil; a damper on the shaft of the secondary
(`schedule.Settings`) is theirs too. The primary's speed is given, as in the full model, through a coupling that is
stiffer than the unit's own by `STIFFNESS_FACTOR`: it follows within a fraction of a millisecond. Inputs are held over a
step, at their means over it. The primary's torque is the mean since the time before, as the full model's is.
"""

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.kernel import FAILED
from rtcvt.model import Fidelity, Instance
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.run.snapshots import CELLS
from rtcvt.offline.pushbelt.run.windows import STEADY
from rtcvt.offline.variator.heldout import HeldRun, Series
from rtcvt.variator.build import build_variator
from rtcvt.variator.capacity import capacity
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.unit import FLANGES, Ratio, Variator, belt_alone, with_flange_inputs

Array = NDArray[np.float64]

STEP = 5e-4  # [s]
SETTLE = 0.5  # [s]
STIFFNESS_FACTOR = 100.0
FIELD = "flank_normal"
WIDE = Ratio(min=0.4, max=2.7)  # no end stop in the way of the full model's


class Player:
    """One of the models; its state is that at the end of the last run."""

    def __init__(self, unit: Variator, fidelity: Fidelity, reduced: ReducedModel, J: float) -> None:
        """`J`: moment of inertia of a pulley of the full model [kg m2]."""
        self._J = J
        given = with_flange_inputs(unit, {"primary": "speed", "secondary": "torque"})
        wide = belt_alone(given).model_copy(update={"ratio": WIDE, "fields": (FIELD,), "cells": CELLS})
        self.model = build_variator(wide, fidelity, reduced=reduced)
        self._at = {v.name: v.index for v in self.model.select("output")}
        self._u = {v.name: v.index for v in self.model.select("input")}
        places = [v.index for v in self.model.select("output") if v.name.startswith(f"field.{FIELD}")]
        self._cells = slice(places[0], places[-1] + 1)
        self._settled: Instance | None = None
        self._load = Load()
        self._turning = 0.0, 0.0  # twist of the load's shaft [rad], speed after it [rad/s]
        self._rest = np.empty(0)
        self._time = np.empty(0)
        self._fields = np.empty((0, 4 * CELLS))
        self._peaks = np.empty(0)

    def settle(self, run: HeldRun) -> dict[str, float]:
        """See `check.Driven`."""
        s = {k: float(v[STEADY]) for k, v in run.summary.items()}
        load = run.run.settings.load or Load()
        self._load = (
            Load() if load.K > 0.0 else load
        )  # a shaft changes no steady state, and would have to stop swinging
        self._turning = 0.0, s["omega_O"]
        x = self._instance(2.0, s["ratio"], s["omega_I"])
        x.u[self._u["primary.w"]] = s["omega_I"]
        x.u[self._u["clamp.secondary.F"]] = s["F_O"]
        x.u[self._u["ratio.des"]] = s["ratio"]
        x.initialise()
        for _ in range(round(SETTLE / STEP)):
            self._step(x, -s["M_O"], run.run.name)
        self._settled, self._rest = x, x.y.copy()
        if load.K > 0.0:
            self._load, self._turning = load, (load.far * s["M_O"] / load.K, float(x.y[self._at["secondary.w"]]))
        self._begin = self._turning
        y = {name: float(x.y[k]) for name, k in self._at.items()}
        known = {name: value for name, value in y.items() if name.startswith("uncertainty.")}
        return known | {
            "thrust_ratio": y["thrust.ratio"], "slip": y["belt.slip"], "tau_I": y["primary.tau"],
            "omega_O": y["secondary.w"], "P_I": y["primary.tau"] * s["omega_I"], "P_O": -s["M_O"] * y["secondary.w"],
            "macro_slip": y["status.macro_slip"], "outside": y["status.extrapolating"],
        }  # fmt: skip

    def play(self, series: Series, factor: float = 1.0) -> dict[str, Array]:
        """See `check.Driven`."""
        if self._settled is None:
            raise RuntimeError("settle first")
        time = series["time"]
        x = self._instance(0.0, float(series["ratio"][0]), float(series["omega_I"][0]))
        n = max(1, int(np.ceil(time[-1] / STEP - 1e-9)))
        grid: Array = np.arange(n + 1.0) * STEP
        u = np.tile(self._settled.u, (n, 1))
        for name, key, by in (
            ("primary.w", "omega_I", 1.0),
            ("clamp.primary.F", "F_I", factor),
            ("clamp.secondary.F", "F_O", 1.0),
        ):
            u[:, self._u[name]] = by * _held(grid, time, series[key])
        tau_O = -_held(grid, time, series["tau_O"])
        self._turning = self._begin
        x.u[:] = u[0]
        x.initialise()
        x.x[:] = self._settled.x
        y = np.empty((n + 1, len(x.y)))
        y[0] = self._rest
        for k in range(n):
            x.u[:] = u[k]
            self._step(x, float(tau_O[k]), f"F_I = {u[k, self._u['clamp.primary.F']]:.4g} N")
            y[k + 1] = x.y
        self._time, self._fields, self._peaks = grid, y[:, self._cells], y[:, self._at[f"peak.{FIELD}"]]

        def at(name: str) -> Array:
            return np.asarray(np.interp(time, grid, y[:, self._at[name]]))

        names = {"omega_O": "secondary.w", "ratio": "ratio.i", "outside": "status.extrapolating"}
        tau_I = y[:, self._at["primary.tau"]]
        return {"tau_I": np.append(tau_I[0], _held(time, grid, tau_I))} | {key: at(name) for key, name in names.items()}

    def flank_normal(self, start: float, stop: float) -> Array:
        """See `check.Driven`."""
        if stop <= 0.0:
            return self._rest[self._cells].copy()
        rows = (self._time > start) & (self._time <= stop)
        return np.asarray(self._fields[rows].mean(axis=0))

    def peak(self, start: float, stop: float) -> float:
        """See `check.Driven`."""
        if stop <= 0.0:
            return float(self._rest[self._at[f"peak.{FIELD}"]])
        return float(self._peaks[(self._time > start) & (self._time <= stop)].mean())

    def _instance(self, control: float, ratio: float, omega_I: float) -> Instance:
        x = self.model.instantiate()
        v = self.model.by_name
        given = {"clamp.control": control, "ratio.start": ratio, "primary.w_start": omega_I, "clamp.F_max": 1e6}
        given |= {f"{name}.J": self._J for name in FLANGES}
        given |= {"primary.b": 0.0, "secondary.b": self._load.d}
        given |= {"primary.c": STIFFNESS_FACTOR * x.p[v["primary.c"].index]}
        given |= {"primary.d": np.sqrt(STIFFNESS_FACTOR) * x.p[v["primary.d"].index]}
        for name, value in given.items():
            x.set(name, value)
        return x

    def _step(self, x: Instance, tau_O: float, about: str) -> None:
        """A step under the external torque `tau_O`; the load keeps turning as before."""
        load, (twist, omega) = self._load, self._turning
        x.u[self._u["secondary.tau"]] = (1.0 - load.far) * tau_O + load.d * omega - load.K * twist
        if x.step(STEP) == FAILED:
            raise InputError(self.model.name, f"step at t = {x.t:g} s", about, "inputs that have a finite solution")
        w = float(x.y[self._at["secondary.w"]])
        omega -= float(np.expm1(-STEP * load.d / load.J)) * (w - omega)
        omega += STEP / load.J * (load.K * twist + load.far * tau_O)
        self._turning = twist + STEP * (w - omega), omega


def _held(grid: Array, time: Array, values: Array) -> Array:
    """Means over the intervals of `grid` of values that are linear between their times; the last one is extended."""
    t = np.union1d(grid, time[time <= grid[-1]])
    v = np.interp(t, time, values)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))])
    return np.asarray(np.diff(np.interp(grid, t, total)) / np.diff(grid))


class RecordedLaws:
    """The laws of a reduced model, evaluated with numpy, and the geometry of its belt."""

    def __init__(self, reduced: ReducedModel) -> None:
        self._reduced = reduced
        c = reduced.constants
        self._force = capacity(c["mu"], np.cos(c["delta_0"]))
        phi = np.linspace(np.pi - 0.4, 0.4, 4001)  # the taut path: Cebulla 2014, section 4.2
        r_O = (c["length"] - 2.0 * c["d_A"] * (np.sin(phi) + (np.pi - phi) * np.cos(phi))) / (2.0 * np.pi)
        r_I = r_O + c["d_A"] * np.cos(phi)
        good = np.minimum(r_I, r_O) > 2.0 * c["h_off"]
        self._r_I, self._ratio = r_I[good], ((r_O - c["h_off"]) / (r_I - c["h_off"]))[good]
        span = c["d_A"] * np.sin(phi)
        self._length = np.stack([2.0 * (np.pi - phi) * r_I, span, 2.0 * phi * r_O, span], axis=1)[good]

    def steady(self, ratio: Array, xi: Array, kappa: Array, F_O: Array) -> dict[str, Array]:
        """See `check.Laws`."""
        found = self._reduced.evaluate(self._points(ratio, xi, kappa, F_O, np.ones(np.shape(ratio))))
        creep = found["c"] * np.ravel(xi)
        values = {
            "thrust_ratio": found["zeta"],
            "slip": found["e"] + creep,
            "loss": found["lambda"] + self._force * creep * np.ravel(xi),
        }
        return {k: v.reshape(np.shape(ratio)) for k, v in values.items()}

    def k(self, ratio: Array, xi: Array, kappa: Array, F_O: Array, y: Array) -> Array:
        """See `check.Laws`."""
        found = self._reduced.evaluate(self._points(ratio, xi, kappa, F_O, y))["k"]
        return np.asarray(found.reshape(np.shape(ratio)) / self._reduced.constants["F_ref"])

    def flank_normal(self, ratio: float, xi: float, kappa: float, F_O: float, y: float) -> Array:
        """See `check.Laws`."""
        z = self._points(*(np.array([a]) for a in (ratio, xi, kappa, F_O, y)))
        return np.asarray(self._reduced.field(FIELD, z)[0] / self._unit(ratio, F_O))

    def projected(self, flank_normal: Array, ratio: float, F_O: float) -> Array:
        """See `check.Laws`."""
        modes = next(f for f in self._reduced.fields if f.name == FIELD).modes
        unit = self._unit(ratio, F_O)
        a = np.linalg.lstsq(modes.T, flank_normal * unit, rcond=None)[0]
        return np.asarray(a @ modes / unit)

    def ratio_at(self, r_I: Array) -> Array:
        """See `check.Laws`."""
        return np.interp(r_I, self._r_I, self._ratio)

    def _points(self, ratio: Array, xi: Array, kappa: Array, F_O: Array, y: Array) -> Array:
        f = np.asarray(F_O) / self._reduced.constants["F_ref"]
        return np.column_stack([np.ravel(a) for a in (ratio, xi, kappa, f, y)])

    def _unit(self, ratio: float, F_O: float) -> Array:
        """Factor that makes a force per length of cells dimensionless [m/N]."""
        lengths = np.array([np.interp(ratio, self._ratio[::-1], a[::-1]) for a in self._length.T])
        return np.repeat(lengths, CELLS) / F_O
