"""The KERS torque controller as a separate control unit: a process connected to the variator by the bus only.

It is the law of `rtcvt.control.kers`, Tebaldi and Zanasi 2022, section 6.2, for a bus. The law feeds the estimated
torque back with a gain of about ``K_theta N1 omega`` (some 50 for the toroidal KERS), which no sampled loop with a
delay of a step or more can do. With the rigid model ``J w' + N1 theta' w = A w + tau`` the estimate (23) is

    tau_est = J w' + N1 w theta' - A w,

so that ``theta' = s K_theta (tau_des - tau_est)`` can be solved for the rate, s being the sign of w:

    theta' = s K_theta (tau_des - J w' + A w) / (1 + s K_theta N1 w).

Only ``J``, ``N1`` and ``A`` at the measured tilt are fed back; they change slowly, so the delay matters little. ``K_w``
multiplies the twist rate of the shaft's spring, which the rigid model does not have: with slow demands it is
``tau'/c``, some 1e-3 rad/s. ``w'`` is the difference of measured speeds over `WINDOW`; over a shorter time it would
feed back the lightly damped oscillation of that spring. The rate and the tilt are within their limits. The actuator
in the unit (`rtcvt.control.position`) follows with the time constant T_a, so it gets

    theta_des = theta_cmd + T_a theta',    theta_cmd = integral of theta'.

After a gap theta_cmd does not jump, and it does not run away from a tilt that stands still, as on a rig whose unit
fails or is late: it leads the measured tilt by its motion in `MAX_STEP` at most.
Without messages for the time-out the tilt is constant: theta' = 0, and the torque falls to that of friction.

    python examples/kers_ecu.py UNIT --can CHANNEL --dbc FILE --demand EXPRESSION-OF-t --json FILE

At its end, by SIGINT or SIGTERM, it writes the state of the bus from its side: ``answered`` and ``held`` (sent
messages; the latter while nothing was received), and the counts, round trip and gaps of `rtcvt.hil.bus.Node.figures`.
"""

import argparse
import json
import math
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtcvt.errors import InputError
from rtcvt.files import expression
from rtcvt.files.names import mapped
from rtcvt.hil.bus import BUS_ERRORS, Node, open_bus, require_usable
from rtcvt.hil.can_attachment import TIMEOUT, read_database
from rtcvt.hil.pacing import BUS_PRIORITY, take_fifo
from rtcvt.pog.reading import read_gear_system
from rtcvt.pog.system import build_model, matrices
from rtcvt.pog.unit import GearSystem
from rtcvt.recording import require_writable, write_text
from rtcvt.unitfile import read_unit_file

GRID = 361  # points of the table over the tilt
WINDOW = 0.5  # [s]
MAX_STEP = 0.05  # [s] of one integration step, and of the lead over the measured tilt
LEAD_ATOL = 1e-3  # [rad] of this lead


@dataclass
class Law:
    """The controller and its state.

    Parameters
    ----------
    theta : array, shape (GRID,)
        Tilts [rad] at which the next three are given.
    J, N1, A : array, shape (GRID,)
        Inertia [kg.m2], its rate per rad/s of the tilt [kg.m2], damping [N.m.s/rad] of the rigid model.
    K_theta, rate_max, T_a : float
        Gain [rad/(s.N.m)], limit of the rate [rad/s], time constant of the actuator [s].
    """

    theta: NDArray[np.float64]
    J: NDArray[np.float64]
    N1: NDArray[np.float64]
    A: NDArray[np.float64]
    K_theta: float
    rate_max: float
    T_a: float
    command: float | None = None  # theta_cmd [rad]
    speeds: deque[tuple[float, float]] = field(default_factory=deque)

    def update(self, t: float, dt: float, theta: float, w: float, tau_des: float) -> float:
        """``theta_des`` [rad] from time and time step [s], measured tilt [rad] and speed [rad/s], demand [N.m]."""
        if self.command is None:
            self.command = theta
        self.speeds.append((t, w))
        while len(self.speeds) > 2 and t - self.speeds[1][0] >= WINDOW:
            self.speeds.popleft()
        t_0, w_0 = self.speeds[0]
        dw = (w - w_0) / (t - t_0) if t - t_0 >= WINDOW else 0.0
        J, N1, A = (float(np.interp(theta, self.theta, table)) for table in (self.J, self.N1, self.A))
        s = math.copysign(1.0, w)
        rate = s * self.K_theta * (tau_des - J * dw + A * w) / (1.0 + s * self.K_theta * N1 * w)
        rate = min(max(rate, -self.rate_max), self.rate_max)
        low, high = self.theta[0], self.theta[-1]
        lead = MAX_STEP * abs(rate) + LEAD_ATOL
        ahead = min(max(self.command + min(dt, MAX_STEP) * rate, theta - lead), theta + lead)
        self.command = float(min(max(ahead, low), high))
        return float(min(max(self.command + self.T_a * rate, low), high))

    def hold(self) -> float | None:
        """``theta_des`` that stops the tilt, once there was one."""
        return self.command


def law_of(unit: GearSystem, T_a: float) -> Law:
    """The controller for a unit with ``[controller.kers]`` whose tilt a position actuator moves in T_a [s].

    Raises
    ------
    InputError
        The unit has no such controller.
    """
    kers = unit.controller.kers
    if kers is None or len(unit.rigid.independent) != 1:
        raise InputError(unit.source, "controller.kers", None, "a KERS controller and one independent speed")
    moving = unit.variables[kers.acts_on]
    theta = np.linspace(moving.min, moving.max, GRID)
    instance = build_model(unit, "rigid").instantiate()
    found = [matrices(instance, float(x)) for x in theta]
    J, N1, A = (np.array([m[0, 0] for m in group]) for group in zip(*((f.L1, f.N1, f.A1) for f in found), strict=True))
    return Law(theta, J, N1, A, kers.K_theta, moving.rate_max, T_a)


def serve(
    law: Law, node: Node, port: str, moving: str, demand: Callable[[float], float], ended: Callable[[], bool],
    timeout: float = TIMEOUT,
) -> dict[str, Any]:  # fmt: skip
    """Answer each message with the speed of `port` until `ended`; `demand` is a torque [N.m] over the time since then.

    The time of the demand begins with the first message. Returns the figures that the module's text names.
    """
    sent = {"answered": 0, "held": 0}
    start = before = heard = None
    theta: float | None = None
    while not ended():
        values = node.receive(0.02)
        now = time.monotonic()
        theta = values.get(f"control.{moving}", theta)
        w = values.get(f"{port}.w")
        if w is not None and theta is not None:
            if start is None or before is None:
                start = before = now
            desired = law.update(now - start, now - before, theta, w, demand(now - start))
            before = heard = now
            node.send({f"control.{moving}_des": desired})
            sent["answered"] += 1
        elif heard is not None and now - heard > timeout and (held := law.hold()) is not None:
            node.send({f"control.{moving}_des": held})
            sent["held"] += 1
            before = now
    return sent | node.figures()


def main() -> None:
    """The command line of the module."""
    parser = argparse.ArgumentParser(description="The KERS controller on a CAN bus.")
    parser.add_argument("unit", help="unit file or shipped unit with [controller.kers]")
    parser.add_argument("--can", required=True, metavar="CHANNEL")
    parser.add_argument("--dbc", required=True, type=Path, metavar="FILE")
    parser.add_argument("--demand", default="0", metavar="EXPRESSION", help="torque [N.m] over t [s]")
    parser.add_argument("--time-constant", type=float, default=0.1, metavar="T_A", help="of the actuator [s]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="how the bus did")
    given = parser.parse_args()
    ending: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: ending.append(number))
    try:
        unit = read_gear_system(read_unit_file(given.unit))
        law = law_of(unit, given.time_constant)
        database = read_database(given.dbc)
        require_writable(given.json)
        kers = unit.controller.kers
        assert kers is not None
        port, moving = kers.port, kers.acts_on
        gear = f"gear.{unit.ports[port].gear}"
        called = mapped((f"{gear}.w", f"control.{moving}", f"control.{moving}_des"), "identifier")
        variables = {signal: name for name, signal in called.items()}
        sent = [m for m in database.messages if called[f"control.{moving}_des"] in m.signal_tree]
        received = [m for m in database.messages if m not in sent and set(variables) & set(m.signal_tree)]
        for message in (*sent, *received):
            require_usable(message)
        parsed = expression.parse_signal(given.demand)
        bus = open_bus(given.can)
    except (InputError, ValueError) as error:
        sys.exit(f"error: {error}")
    take_fifo(BUS_PRIORITY)
    print("ready", flush=True)
    node = Node(bus, sent, received, variables)
    try:
        found = serve(law, node, gear, moving, lambda t: float(parsed.evaluate({"t": t}, np)), lambda: bool(ending))
    except BUS_ERRORS as error:
        sys.exit(f"error: the bus {given.can} is gone: {error}")
    finally:
        bus.shutdown()
    if given.json is not None:
        write_text(given.json, json.dumps(found, indent=1) + "\n")
    print(f"answered {found['answered']}, held {found['held']}")


if __name__ == "__main__":
    main()
