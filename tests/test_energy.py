"""No machine makes energy under hostile inputs: parts, gear systems, belt drives and variators; no step is refused.

The work of an input that is held over a step is the input times the integral of what its flange gives. Between the ends
of a step only the method itself knows that: its integral is what RODAS3 gives for it as a further state. Work by the
trapezoidal rule is wrong by up to ``(omega h)^2/12`` of what a stiff spring carries, and may seem to make energy. Where
a step was made in parts that are not known here, the larger of its ends counts. A flange whose share of the speeds
follows a moving geometry gives the mean of that share times the integral of the speeds, and how both change together.
Of variators the work is by the trapezoidal rule; these, and machines with clutches, keep the balance from their start
on, with what they lose.
"""

import math

import numpy as np
import pytest
from hostile_inputs import KINDS, hostile_inputs
from instances import started
from machines import flanges, outer_springs
from marks import slow

from rtcvt.belt.layout import D as BeltD
from rtcvt.control.limits import FREE
from rtcvt.kernel import FAILED
from rtcvt.kind import load_unit
from rtcvt.model.stepping import MIN_PART, REFINEMENT, rough
from rtcvt.numerics.integrators import rosenbrock_integral
from rtcvt.pog import element_steps, steps
from rtcvt.pog.equations import torques
from rtcvt.pog.implicit_step import implicit_step
from rtcvt.pog.layout import D
from rtcvt.pog.secant_step import limited_secant_step
from rtcvt.unitfile import shipped_units

TAN = 2.0 * math.tan(math.radians(11.0))  # way of the two sheaves over that of the radius
OTHERS = (("force.grade", "vehicle.v", -1.0), *((f"thrust.{p}", f"radius.{p}", TAN) for p in ("primary", "secondary")))
WITHIN, ROUNDING = 1e-6, 1e-12  # of the work, and of the stored energy
ROUND_OFF = 1e-15  # [J]: a spike on a shaft that a geared neutral keeps at rest does no more work than that


class Meter:
    """Energy of a machine, and the most that its inputs can have done, step by step.

    Attributes
    ----------
    made : float
        Energy [J] beyond stored energy and work, of the step that made most; of a machine with clutches or a
        belt of variable radii since its start.
    through : float
        Amounts of all works [J].
    """

    def __init__(self, unit, model, **given):
        self.one, self.h, self.data, n = started(model, **given), model.step_size, model.data, len(model.states)
        self.flanges = [f for f in (*flanges(model), *OTHERS) if f[1] in model.by_name]
        self.places = [model.variable(given, "output").index for _, given, _ in self.flanges]
        self.ways = [given.startswith("radius.") for _, given, _ in self.flanges]
        self.speeds = np.array([v.unit == "rad/s" for v in model.states])
        self.moves = self.slips = False
        at = model.step.py_func.__globals__.get("W_K")  # of a part
        if unit.kind == "gear_system":
            self.moves, self.slips = bool(self.data[D.MOVING]), bool(unit.elements)
        if unit.kind in ("gear_system", "belt"):
            start = int(self.data[D.W_STEP if unit.kind == "gear_system" else BeltD.W_STEP])
            self.before, at = self.one.work[start : start + n], start + 3 * n
        self.k = None if at is None else self.one.work[at : at + 4 * n]
        self.made = self.net = self.through = 0.0
        x = self.one.x.copy()
        self.rows, others = self.gradients(x), self.gradients(x + 0.1)
        self.rows[np.abs(self.rows - others).max(axis=1) > 1e-9] = np.nan  # of geometry that moves
        self.from_start = self.slips or self.k is None or (np.isnan(self.rows).any() and not self.moves)
        self.given(x)

    def given(self, x):
        """What flanges give at the states `x`."""
        self.one.x[:] = x
        return self.one.outputs()[self.places].copy()

    def gradients(self, x):
        """Of that by the states, in which it is linear unless geometry moves, shape (flanges, states)."""
        return np.transpose([self.given(x + e) - self.given(x) for e in np.eye(len(x))])

    def by_speeds(self, x):
        """Of that by the speeds alone, of which a flange gives a share that the geometry sets."""
        rows = self.gradients(x) * self.speeds
        self.given(x)
        return rows

    def energy(self):
        """Stored energy [J]."""
        return self.one.get("storage.E") + outer_springs(self.one)

    def integrals(self, x, h):
        """Of the states over a step from `x` by the method."""
        n = len(x)
        return np.array([rosenbrock_integral(i, n, h, x, self.k) for i in range(n)])

    def in_parts(self):
        """Integrals of the states over the next step, if it may be made in parts; None if not."""
        x = self.one.x.copy()
        rest = x, self.one.u, self.one.p, self.data, self.one.work
        return self.while_it_moves(*rest) if self.moves else self.with_clutches(*rest) if self.slips else None

    def while_it_moves(self, x, *rest):
        n, found, part, left = len(x), 0.0, 1.0, 1.0
        size = self.data[int(self.data[D.SIZES]) :][:n]
        while left > 0.0:
            self.before[:] = x
            steps.moving_step(self.h * part, x, *rest)
            coarse = rough(steps.ERROR_RTOL, n, self.k[3 * n :], size, self.before)
            if coarse and part > MIN_PART:
                x[:], part = self.before, REFINEMENT * part
                continue
            if coarse and self.data[D.N_TRACTION] and steps.must_be_secant(self.h * part, x, *rest):
                x[:] = self.before
                limited_secant_step(self.h * part, x, *rest)
                found += self.h * part * x
            else:
                found += self.integrals(self.before, self.h * part)
            left -= part
        return found

    def with_clutches(self, x, *rest):
        found, left = 0.0, self.h

        def part(length, smooth):
            nonlocal found, left
            if smooth and not element_steps.smooth_step(length, x, *rest):
                return False
            if not smooth:
                implicit_step(length, x, *rest)
            found, left = found + (self.integrals(self.before, length) if smooth else length * x), left - length
            return True

        if not part(left, True):
            for _ in range(element_steps.MAX_STICKS):
                share = element_steps.next_stick(left, x, *rest)
                near = element_steps.APPROACH * share * left
                if share < 1.0 and not (near > element_steps.MIN_PART * self.h and part(near, True)):
                    part(min(2.0 * near + element_steps.MIN_PART * self.h, left), False)
                    torques(FREE, 0.0, x, *rest)
            if left > 0.0 and not part(left, True):
                part(left, False)
        return found

    def moved(self, x, before, after, integrals):
        """Integrals of what flanges give over the step from the states `x`; rows of the least and the greatest."""
        n, ends = len(x), self.h * np.array([before, after])
        middle = 0.5 * ends.sum(axis=0)
        if self.k is None:
            return [np.where(self.ways, after - before, middle)]
        if integrals is None:
            new = x + 2.0 * self.k[:n] + self.k[2 * n : 3 * n] + self.k[3 * n :]
            if not np.allclose(new, self.one.x, rtol=1e-12, atol=1e-13):
                return ends
            integrals = self.integrals(x, self.h)
        by_method = self.rows @ integrals + self.h * (before - self.rows @ x)
        if self.moves:
            new = self.one.x.copy()
            first, last = self.by_speeds(x), self.by_speeds(new)
            middle = 0.5 * (first + last) @ integrals + self.h / 12.0 * (last - first) @ (new - x)
        return [np.where(np.isnan(by_method), middle, by_method)]

    def step(self):
        x, stored = self.one.x.copy(), self.energy()
        before, integrals = self.given(x), self.in_parts()
        assert self.one.step(self.h) != FAILED
        held = np.array([sign * self.one.get(name) for name, _, sign in self.flanges])
        works = np.max(held * self.moved(x, before, self.one.y[self.places], integrals), axis=0)
        through = np.abs(works).sum()
        self.through += through
        self.net = self.energy() - stored - works.sum() + self.from_start * self.net
        self.made = max(self.made, self.net - ROUNDING * stored - (0.0 if self.from_start else WITHIN * through))

    def within(self):
        """Whether no step has made energy, but for rounding."""
        return self.made <= ROUND_OFF + self.from_start * WITHIN * self.through


FAST = ("differential", "toroidal_kers")  # gears alone, a controlled contact
ROWS = ((1000, 1), (60, 20))
PARTS = [(name, "rigid", *rows) for name in ("vehicle", "driveline") for rows in ((2000, 1), (100, 20))]
GEARS = [(name, fidelity, *rows) if name in FAST and rows[1] > 1 else slow(name, fidelity, *rows)
         for name in shipped_units("gear_system") for fidelity in load_unit(name).models for rows in ROWS]  # fmt: skip
BELTS = [("two_pulley_5pk", "hybrid", 300, 1), ("two_pulley_5pk", "hybrid", 20, 20),
         slow("two_pulley_5pk", "hybrid", 20_000, 1), slow("two_pulley_5pk", "hybrid", 1000, 20),
         slow("accessory_5pk", "hybrid", 2000, 1), slow("accessory_5pk", "hybrid", 200, 20)]  # fmt: skip
VARIATORS = [("pushbelt_cvt", fidelity, *rows) for fidelity in ("hybrid", "rigid") for rows in ((1000, 1), (50, 20))]


@pytest.mark.parametrize(("name", "fidelity", "rows", "held"), [*PARTS, *GEARS, *BELTS, *VARIATORS])
def test_no_step_is_refused_and_none_makes_energy(name, fidelity, rows, held):
    """Inputs are held for so many steps. The torque controller of the KERS made 11 MJ in one step, at speeds that had
    been linearised too far."""
    unit = load_unit(name)
    model, through = unit.build(fidelity), 0.0
    for kind in KINDS:
        meter = Meter(unit, model)
        for u in hostile_inputs(model, kind, 0, rows, np.random.default_rng(3)):
            meter.one.u[:] = u
            for _ in range(held):
                meter.step()
        assert meter.within(), (kind, meter.made)
        through += meter.through
    assert through > 0.0


@pytest.mark.parametrize("sign", [1.0, slow(-1.0)])
@pytest.mark.parametrize("forces", [(15e3, 15e3), (0.0, 0.0), (500.0, 40e3)])
@pytest.mark.parametrize(("inner", "period"), [(1, 1), slow(1, 3000), slow(20, 7), (20, 100), slow(20, 3000)])
def test_reversals_at_any_speed_make_no_energy(inner, period, forces, sign):
    """A variator whose torques turn over after `period` times `inner` steps. It made 1e19 J where 1e15 J went through,
    before the balance of a step was kept."""
    unit = load_unit("pushbelt_cvt")
    meter = Meter(unit, unit.build("rigid"), clamp__primary__F=forces[0], clamp__secondary__F=forces[1])
    for k in range(3000 if inner == 1 else max(600, 2 * period)):
        torque = 400.0 if k // period % 2 else -400.0
        meter.one.set("primary.tau", torque)
        meter.one.set("secondary.tau", sign * torque)
        for _ in range(inner):
            meter.step()
    assert np.isfinite(meter.one.y).all()
    assert meter.within()
