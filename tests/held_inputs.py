"""Co-simulation of the parts of a system with held inputs, as hosts of SSP do it, in a few lines.

At each communication point all outputs are passed on, then all parts step at once. Where two flanges meet, what the one
gives and the other takes differs by the sum of ``H/2 (tau_k w_k+1 - w_k tau_k+1)``, which is O(H).
"""

from dataclasses import dataclass

import numpy as np

from rtcvt.errors import InputError
from rtcvt.kernel import FAILED


@dataclass(frozen=True)
class Held:
    """Values of all inputs and outputs at the communication points; inputs are those held from there on."""

    parts: object
    time: np.ndarray
    values: dict
    saturated: dict

    def __getitem__(self, port):
        return self.values[port]

    def flange_energy(self, a, b):
        """Energy through flange `a`, which gives its speed, to `b`, and what holding inputs added to it [J]."""
        tau, w, H = self.values[f"{b}.tau"], self.values[f"{a}.w"], np.diff(self.time)
        given = float(np.sum(0.5 * H * tau[:-1] * (w[:-1] + w[1:])))
        return given, float(np.sum(0.5 * H * w[:-1] * (tau[:-1] + tau[1:]))) - given


def simulate_held(parts, duration=None, step=None):
    """Run the parts over the first scenario's duration at the system's step, or others."""
    H = parts.system.solver.step if step is None else step
    n = round((parts.system.scenario[0].duration if duration is None else duration) / H)
    instances = {name: model.instantiate() for name, model in parts.models.items()}
    wires = [(instances[c.start].y, c.output.index, instances[c.end].u, c.input.index) for c in parts.connections]

    def exchange():
        for y, i, u, j in wires:
            u[j] = y[i]

    for _ in range(len(instances) + 1):  # a start value may pass through all parts
        for instance in instances.values():
            instance.initialise()
        exchange()
    rows = {name: np.empty((n + 1, len(i.u) + len(i.y))) for name, i in instances.items()}
    saturated = {name: np.zeros(n + 1, dtype=bool) for name in instances}
    for k in range(n + 1):
        for name, i in instances.items():
            rows[name][k] = np.concatenate([i.u, i.y])
        if k == n:
            break
        for name, instance in instances.items():
            status = instance.step(H)
            if status == FAILED:
                raise InputError(
                    parts.system.source, f"step at t = {k * H:g} s", None, f"{name} has no finite solution"
                )
            saturated[name][k + 1] = status != 0
        exchange()
    values = {}
    for name, model in parts.models.items():
        for k, v in enumerate([*model.select("input"), *model.select("output")]):
            values[f"{name}.{v.name}"] = rows[name][:, k]
    return Held(parts, np.linspace(0.0, n * H, n + 1), values, saturated)
