"""Gear systems under hostile inputs: no step is refused, and none makes energy.

The work of an input that is held over a step is the input times the integral of its conjugate. Between the ends of a
step only the method itself knows the conjugate: its integral is what RODAS3 gives for it as a further state. Work by
the trapezoidal rule is wrong by up to ``(omega h)^2/12`` of what a stiff spring carries, and may seem to make energy.
"""

import numpy as np
import pytest
from hostile_inputs import KINDS, hostile_inputs
from marks import slow

from rtcvt.control.limits import FREE
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.model.stepping import MIN_PART, REFINEMENT, rough
from rtcvt.numerics.integrators import rosenbrock_integral
from rtcvt.pog import element_steps, steps
from rtcvt.pog.equations import torques
from rtcvt.pog.implicit_step import implicit_step
from rtcvt.pog.layout import D
from rtcvt.pog.system import build_model, matrices
from rtcvt.unitfile import shipped_units

FAST = ("automatic_6", "differential", "toroidal_kers")  # clutches, gears alone, a controlled contact
ROWS = {1: 1000, 20: 60}  # by steps in which the inputs are held
ROUND_OFF = 1e-15  # [J]: a spike on a shaft that a geared neutral keeps at rest does no more work than that


class Meter:
    """Energy and work of a gear system, step by step."""

    def __init__(self, model):
        self.one, n = model.instantiate(), len(model.states)
        self.one.initialise()
        start = int(model.data[int(D.W_STEP)])
        self.before, self.k = (self.one.work[start + a * n : start + b * n] for a, b in ((0, 1), (3, 7)))
        names = [v.name for v in model.states]
        self.springs, self.torques, self.speeds = [], [], []  # place of input, then of state or output
        for v in model.select("input"):
            port, _, quantity = v.name.rpartition(".")
            if quantity == "w":
                stiffness = model.p[model.by_name[f"{port}.K"].index]
                self.springs.append((v.index, names.index(f"{port}.tau"), stiffness))
            elif f"gear.{port}.w" in names:
                self.speeds.append((v.index, names.index(f"gear.{port}.w")))
            elif f"{port}.w" in model.by_name:
                self.torques.append((v.index, model.by_name[f"{port}.w"].index))
        if model.fidelity == "full":  # speeds of all gears are states
            ports = load_unit(model.name).ports
            self.speeds = [(model.by_name[f"{p}.tau"].index, names.index(f"gear.{port.gear}.w"))
                           for p, port in ports.items() if f"{p}.w" not in names and not port.spring
                           and model.by_name[f"{p}.tau"].causality == "input"]  # fmt: skip
            self.torques = []
        self.rows = []  # of a unit with clutches: place of input, speed of its gear by the states
        unit = load_unit(model.name)
        if unit.elements:
            self.torques = self.speeds = []
            Q = np.eye(n)[: len(unit.gears)] if model.fidelity == "full" else matrices(model.instantiate()).Q1
            for name, port in unit.ports.items():
                row = np.zeros(n)
                row[: Q.shape[1]] = Q[list(unit.gears).index(port.gear)]
                self.rows.append((model.by_name[f"{name}.tau"].index, row))
        self.start, self.work, self.through, self.made = self.energy(), 0.0, 0.0, 0.0

    def energy(self):
        return self.one.get("storage.E") + sum(self.one.x[s] ** 2 / (2.0 * K) for _, s, K in self.springs)

    def step(self, h):
        one, n = self.one, len(self.one.x)
        speeds = [one.y[y] for _, y in self.torques]
        integrals = self.integrals(h) if self.rows else self.moved(h) if one.model.data[D.MOVING] else None
        assert one.step(h) != FAILED
        if integrals is None:
            integrals = [rosenbrock_integral(s, n, h, self.before, self.k) for s in range(n)]
        parts = [one.u[u] * 0.5 * h * (w + one.y[y]) for w, (u, y) in zip(speeds, self.torques, strict=True)]
        parts += [one.u[u] * integrals[s] for u, s, *_ in (*self.springs, *self.speeds)]
        parts += [one.u[u] * float(row @ integrals) for u, row in self.rows]
        self.work += sum(parts)
        self.through += sum(map(abs, parts))
        self.made = max(self.made, self.energy() - self.start - self.work)

    def moved(self, h):
        """Integrals of the states over the next step of a unit that moves, in the parts that it is made in."""
        one, n, x, found = self.one, len(self.one.x), self.one.x.copy(), np.zeros(len(self.one.x))
        size, part, left = one.model.data[int(one.model.data[D.SIZES]) :][:n], 1.0, 1.0
        while left > 0.0:
            self.before[:] = x
            steps.moving_step(h * part, x, one.u, one.p, one.model.data, one.work)
            if part > MIN_PART and rough(steps.ERROR_RTOL, n, self.k[3 * n :], size, self.before):
                x[:], part = self.before, REFINEMENT * part
            else:
                found += [rosenbrock_integral(s, n, h * part, self.before, self.k) for s in range(n)]
                left -= part
        return found

    def integrals(self, h):
        """Of the states over the next step of a unit with clutches, in the parts that it is made in."""
        one, n, x, found, left = self.one, len(self.one.x), self.one.x.copy(), np.zeros(len(self.one.x)), h
        rest = x, one.u, one.p, one.model.data, one.work

        def part(length, smooth):
            nonlocal found, left
            if smooth and not element_steps.smooth_step(length, *rest):
                return False
            if not smooth:
                implicit_step(length, *rest)
            method = np.array([rosenbrock_integral(s, n, length, self.before, self.k) for s in range(n)])
            found, left = found + (method if smooth else length * x), left - length
            return True

        if not part(h, True):
            for _ in range(element_steps.MAX_STICKS):
                share = element_steps.next_stick(left, *rest)
                near = element_steps.APPROACH * share * left
                if share < 1.0 and not (near > element_steps.MIN_PART * h and part(near, True)):
                    part(min(2.0 * near + element_steps.MIN_PART * h, left), False)
                    torques(FREE, 0.0, *rest)
            if left > 0.0 and not part(left, True):
                part(left, False)
        return found


@pytest.mark.parametrize("held", [slow(1), 20])
@pytest.mark.parametrize("fidelity", ["rigid", "full"])
@pytest.mark.parametrize("name", [n if n in FAST else slow(n) for n in shipped_units("gear_system")])
def test_no_step_is_refused_and_none_makes_energy(name, fidelity, held):
    """The torque controller of the KERS made 11 MJ in one step, at speeds that had been linearised too far."""
    model = build_model(load_unit(name), fidelity)
    for kind in KINDS:
        meter, rng = Meter(model), np.random.default_rng(3)
        for u in hostile_inputs(model, kind, 0, ROWS[held], rng):
            meter.one.u[:] = u
            for _ in range(held):
                meter.step(model.step_size)
        assert meter.made <= 1e-6 * meter.through + ROUND_OFF, kind
