"""Drawn states of real-time belt drives, and what holds in each: the Jacobian is that of the rates, power balances."""

import numpy as np

from rtcvt.belt.layout import BeltP, D


def random_belt(instance, rng, place):
    """Slack and tight cells, pulleys of either sense, any inputs; returns where the states at `place` begin."""
    p, data, n = instance.p, instance.model.data, int(instance.model.data[D.N])
    count, at = n * int(data[D.FACES]), int(data[place])
    instance.u[:] = rng.normal(scale=20.0, size=instance.u.size)
    tension = p[BeltP.T_0] * rng.uniform(-0.3, 3.0, size=count)
    instance.x[:count] = instance.work[int(data[D.W_LENGTH]) :][:count] / (1.0 + tension / p[BeltP.EA])
    instance.x[count : count + n] = rng.normal(scale=30.0, size=n)
    instance.x[count + n] = rng.normal(scale=10.0)
    instance.x[count + n + 1 : at] = rng.normal(scale=20.0, size=at - count - n - 1)
    return at


def assert_jacobian(instance):
    """The Jacobian is that of central differences of the rates."""
    exact, x = instance.jacobian(), instance.x.copy()
    for j in range(x.size):
        h = 1e-7 * max(abs(x[j]), 0.01)
        rates = []
        for sign in (1.0, -1.0):
            instance.x[:] = x
            instance.x[j] += sign * h
            rates.append(instance.derivative())
        instance.x[:] = x
        scale = np.abs(exact).max(axis=1) + 1.0
        np.testing.assert_allclose(exact[:, j] / scale, (rates[0] - rates[1]) / (2.0 * h) / scale, atol=2e-5)


def assert_power(instance, losses):
    """Power that enters is stored or lost, and no loss is negative."""
    x, dx = instance.x.copy(), instance.derivative()
    step = 1e-6 / np.max(np.abs(dx) / (np.abs(x) + 1e-3))
    energy = []
    for sign in (1.0, -1.0):
        instance.x[:] = x + sign * step * dx
        instance.outputs()
        energy.append(instance.get("storage.E"))
    instance.x[:] = x
    instance.outputs()
    rate = (energy[0] - energy[1]) / (2.0 * step)
    power = instance.get("crank.w_pulley") * instance.get("crank.tau")
    power += sum(instance.u[v.index] * instance.get(f"{v.name.removesuffix('.tau')}.w")
                 for v in instance.model.select("input") if v.name.endswith(".tau"))  # fmt: skip
    lost = [instance.get(k) for k in losses]
    assert min(lost) >= 0.0
    assert abs(power - rate - sum(lost)) < 2e-6 * (abs(power) + abs(rate) + sum(lost))
