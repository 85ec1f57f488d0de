"""Independent solutions that tests hold the models against: ``python -m studies.independent`` writes their tables.

SciPy integrates each from one change to the next, which an event finds. Tables are ``tests/data/independent/*.csv``:

box_shift
    a shift of a Lepelletier box whose brakes have Coulomb's set-valued law: each 10 ms the torque of the input, the
    actuations of brakes C and D in these 10 ms, then at their end the speeds of all gears [rad/s] and the heat [J]
play
    two gears with play whose drive reverses: each 1 ms the torque of the drive in the following 1 ms, the speeds of
    both [rad/s], the travel of the contact [m] and its heat [J], with play at both sides and at one alone
stop_start
    the shipped engine: it stops at once, and starts at 2.5 s; time [s] and speed of the crank [rad/s]
"""

import csv
from importlib import resources
from itertools import product
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

from rtcvt.kind import load_unit

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "independent"
RPM = np.pi / 30.0

# --- a box with clutches and brakes

GEARS = ("in", "s0", "p0", "c0", "s1", "s2", "p", "q", "c", "out")
J = np.array([0.02, 5e-4, 2e-4, 5e-3, 2e-3, 3e-3, 2e-4, 5e-4, 8e-3, 13.0])
B = np.array([1e-3, 0.0, 1e-4, 1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-3, 2e-3])
CAPACITY = {"C": 700.0, "D": 2400.0}


def row(**entries):
    return np.array([float(entries.get(g.replace("in", "in_"), 0.0)) for g in GEARS])


def mesh(one, z_1, other, z_2, carrier):
    """Willis: ``z_1 (w_1 - w_c) + z_2 (w_2 - w_c) = 0``, z_2 negative for a ring."""
    return z_1 * (row(**{one: 1}) - row(**{carrier: 1})) + z_2 * (row(**{other: 1}) - row(**{carrier: 1}))


# tooth numbers of the box; front sun and clutch A always hold
ALWAYS = [mesh("s0", 37, "p0", 17, "c0"), mesh("p0", 17, "in_", -71, "c0"), mesh("s1", 31, "p", 20, "c"),
          mesh("p", 20, "q", 23.5, "c"), mesh("s2", 38, "q", 23.5, "c"), mesh("q", 23.5, "out", -85, "c"),
          row(s0=1), row(c0=1, s1=-1)]  # fmt: skip
SLIP = {"C": row(s2=1), "D": row(c=1)}


class Ideal:
    """The box with Coulomb's set-valued law: multipliers of all constraints, events by a root finder."""

    def __init__(self):
        self.v, self.heat = np.zeros(len(GEARS)), 0.0

    def forces(self, v, mode, tau, capacity):
        """Accelerations, and the torques of brakes that hold."""
        held = [name for name in SLIP if mode[name] == 0]
        G = np.array(ALWAYS + [SLIP[name] for name in held])
        f = tau - B * v - sum(mode[name] * capacity[name] * SLIP[name] for name in SLIP)
        n = len(G)
        x = np.linalg.solve(np.block([[np.diag(J), G.T], [G, np.zeros((n, n))]]), np.append(f, np.zeros(n)))
        return x[: len(J)], dict(zip(held, x[len(x) - len(held) :], strict=True))

    def mode(self, v, tau, capacity):
        """The one mode of all brakes that is consistent."""
        free = {name: (-1, 0, 1) if abs(s @ v) < 1e-9 else (np.sign(s @ v),) for name, s in SLIP.items()}
        free |= {name: (1,) for name in SLIP if capacity[name] == 0.0}
        for choice in product(*free.values()):
            mode = dict(zip(SLIP, choice, strict=True))
            a, held = self.forces(v, mode, tau, capacity)
            slides = all(len(free[n]) == 1 or mode[n] == 0 or mode[n] * (SLIP[n] @ a) >= 0 for n in SLIP)
            if slides and all(abs(t) <= capacity[n] for n, t in held.items()):
                return mode
        raise AssertionError

    def hold(self, h, tau, capacity):
        """Go on for a time `h` in which torques and capacities are constant."""
        left = h
        for _ in range(20):
            mode = self.mode(self.v, tau, capacity)

            def rates(t, x, mode=mode):
                power = sum(mode[n] * capacity[n] * (SLIP[n] @ x[:-1]) for n in SLIP)
                return np.append(self.forces(x[:-1], mode, tau, capacity)[0], power)

            events = []
            for name in (n for n in SLIP if capacity[n] > 0.0):
                if mode[name] == 0:

                    def event(t, x, name=name, mode=mode):
                        return capacity[name] - abs(self.forces(x[:-1], mode, tau, capacity)[1][name])
                else:

                    def event(t, x, name=name, mode=mode):
                        return mode[name] * (SLIP[name] @ x[:-1]) + (1e-9 if t == 0.0 else 0.0)

                event.terminal, event.direction = True, -1
                events.append(event)
            x = np.append(self.v, self.heat)
            run = solve_ivp(rates, (0.0, left), x, "DOP853", rtol=1e-10, atol=1e-9, events=events)
            self.v, self.heat = run.y[:-1, -1], run.y[-1, -1]
            left -= run.t[-1]
            if run.status == 0:
                return
        raise AssertionError


def schedule(t):
    """Input torque, and actuations of C and D, in stairs of 10 ms."""
    t = np.floor(t / 0.01 + 1e-6) * 0.01
    return (150.0 if t >= 0.05 else 0.0, np.interp(t, [0.4, 0.5, 0.8, 0.85], [0.0, 0.25, 0.4, 1.0]),
            np.interp(t, [0.45, 0.52], [1.0, 0.0]))  # fmt: skip


def box_shift():
    """Rows of the table."""
    ideal, rows = Ideal(), []
    for k in range(100):
        tau, c, d = schedule(k * 0.01)
        load = -100.0 if tau else 0.0
        ideal.hold(0.01, tau * row(in_=1) + load * row(out=1), {"C": c * CAPACITY["C"], "D": d * CAPACITY["D"]})
        rows.append([tau, c, d, *ideal.v, ideal.heat])
    return ["tau", "C", "D", *GEARS, "heat"], rows


# --- two gears with play

J_A, J_B, R_A, R_B = 1e-3, 4e-3, 0.02, 0.04


def reversing(t):
    """Torque on the drive in stairs of 1 ms, and on the load."""
    return (20.0 if np.floor(t * 1e3 + 1e-6) % 12 < 5 else -15.0), -4.0


def independent(K, d, b, end, one_sided=False):
    """Speeds, travel and heat at whole milliseconds, with events where teeth touch and part."""
    K_2 = 10.0 * K

    def gap(s, z):
        """By how much the teeth are apart on either side, below zero where they are pressed."""
        q = K_2 / (K + K_2) * z
        return 0.5 * b - s + q, (np.inf if one_sided else 0.5 * b + s - q)

    def rates(t, x, tau, side):
        s, z = x[2:4]
        u = s - side * 0.5 * b if side else K_2 / (K + K_2) * z
        F = K * u + K_2 * (u - z) if side else 0.0
        slip = K_2 * (u - z) / d
        return [(tau[0] - R_A * F) / J_A, (tau[1] + R_B * F) / J_B, R_A * x[0] - R_B * x[1], slip, d * slip**2]

    x, rows = np.zeros(5), [np.zeros(5)]
    for k in range(end):
        t = k * 1e-3
        while t < (k + 1) * 1e-3:
            near = gap(*(x + 1e-9 * np.array(rates(t, x, reversing(k * 1e-3), 0)))[2:4])
            side = 1 if near[0] < 0.0 else -1 if near[1] < 0.0 else 0
            events = [lambda t, x, tau, side, e=e: gap(*x[2:4])[e] for e in range(2 - one_sided)]
            for event in events:
                event.terminal, event.direction = True, 1 if side else -1
            run = solve_ivp(rates, (t, (k + 1) * 1e-3), x, "DOP853", args=(reversing(k * 1e-3), side), rtol=1e-10,
                            atol=1e-13, events=events)  # fmt: skip
            t, x = run.t[-1], run.y[:, -1]
        rows.append(x)
    return np.array(rows)[:, [0, 1, 2, 4]]


def play():
    """Rows of the table."""
    found = [independent(1e6, 300.0, 0.2e-3, 40, one_sided) for one_sided in (False, True)]
    rows = [[reversing(k * 1e-3)[0], *both, *one] for k, (both, one) in enumerate(zip(*found, strict=True))]
    names = ["one.w", "two.w", "contact.ab.s", "contact.ab.Q"]
    return ["tau", *names, *(f"{name} at one side" for name in names)], rows


# --- an engine that stops and starts


def points(name):
    """Rows of a shipped table: rpm and pedal and N.m, or rpm and N.m and g/s."""
    text = (resources.files("rtcvt") / "engine" / f"gasoline_80kw_{name}.csv").read_text()
    rows = [row for row in csv.reader(text.splitlines()) if not row[0].startswith("#")]
    return np.array(rows[1:], dtype=float)


def stop_start():
    """Rows of the table."""
    drag = np.array([(rpm * RPM, -tau) for rpm, pedal, tau in points("torque") if pedal == 0.0]).T
    full = np.array([(rpm * RPM, tau) for rpm, pedal, tau in points("torque") if pedal == 1.0]).T
    J, C, first, d, low = 0.15, 12.0, drag[0, 0], 12.0, 1e-9

    def table(of, w):
        return np.interp(abs(w), *of) * np.clip(w / first, -1.0, 1.0)

    def rates(t, x, stop, side):
        w, q, z, f, s = x
        e = f + d * w
        F = e if side == 0 else side * C
        D = table(drag, w)
        idle = 0.0 if stop else np.clip(800.0 * RPM - w + z, 0.0, 40.0)
        wanted = 0.0 if stop else np.clip(idle, 0.0, max(table(full, w) + D, 0.0) if w > 0.0 else 0.0)
        crank = 0.0 if stop else 60.0 * np.clip(1.0 - w / (400.0 * RPM), 0.0, 1.0)
        rate = d * d / (4.0 * J) * w if side == 0 else d / (4.0 * J) * (F - f)
        rest = D - C * np.clip(w / first, -1.0, 1.0)
        return [(q + s - rest - F) / J, (wanted - q) / 0.08, (idle - z) / 0.5, rate, (crank - s) / 0.05]

    def change(t, x, stop, side):
        return x[3] + d * x[0] - (side or 1.0) * C

    change.terminal = True
    one = load_unit("engine").build().instantiate()
    one.initialise()
    x, t, side, found = one.x[[0, 1, 2, 4, 5]], 0.0, 1, []
    for stop, end in ((1.0, 2.5), (0.0, 4.0)):
        while t < end - low:
            run = solve_ivp(rates, (t, end), x, "LSODA", events=change, args=(stop, side), rtol=1e-9, atol=1e-9,
                            dense_output=True)  # fmt: skip
            found.append(run.sol)
            t, x = run.t[-1], run.y[:, -1]
            if run.status == 1:
                x[0] += (low if side == 0 else -low) * (side or 1)
                side = 0 if side else 1
    assert len(found) >= 4
    times = 5e-3 * np.arange(801)
    return ["t", "w"], [[at, next(sol for sol in found if sol.t_max >= at - low)(at)[0]] for at in times]


def main():
    """Write all tables."""
    for of in (box_shift, play, stop_start):
        names, rows = of()
        FOLDER.mkdir(exist_ok=True)
        head = f"python -m studies.independent\n{','.join(names)}"
        np.savetxt(FOLDER / f"{of.__name__}.csv", rows, "%.12g", ",", header=head)


if __name__ == "__main__":
    main()
