"""Pump and line pressure of a variator, next to an independent solution."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rtcvt import load

D, ETA, B, J, Q_0, LEAK, T = 19e-6 / (2.0 * np.pi), 0.88, 1.5e-3, 2e-4, 8e-5, 2.5e-11, 0.02
DP, P_MIN, P_MAX, W_R = 3e5, 6e5, 50e5, 100.0 * np.pi / 30.0


def rates(t, state, tau, demand):
    w, p = state
    carried = max(D * w - Q_0, 0.0) / LEAK
    wanted = min(max(demand(t) + DP, P_MIN), P_MAX)
    torque = D * p / ETA * min(max(w / W_R, 0.0), 1.0) + B * w
    return [(tau(t) - torque) / J, (min(wanted, carried) - p) / T]


def test_speed_and_pressure_next_to_scipy():
    """Where the flow carries the pressure, where it does not, and where the relief valve opens."""

    def tau(t):
        return 15.5 + 3.0 * np.sin(8.0 * t)

    def demand(t):
        return 41e5 + 20e5 * np.sin(3.0 * t)

    inputs = {"shaft.tau": tau, "line.p_1": demand, "line.p_2": 5e5}
    run = load("cvt_pump").simulate(inputs=inputs, duration=2.0, step=1e-4)
    state = [run["shaft.w"][0], run["line.p"][0]]
    found = solve_ivp(rates, (0.0, run.time[-1]), state, t_eval=run.time, args=(tau, demand), rtol=1e-9, atol=1e-6,
                      max_step=1e-3)  # fmt: skip
    w, p = found.y
    carried = np.maximum(D * w - Q_0, 0.0) / LEAK
    assert 0.05 < np.mean(carried < demand(run.time) + DP) < 0.95
    assert p.max() > P_MAX - 1e4
    assert np.abs(run["shaft.w"] - w).max() < 2e-3 * np.abs(w).max()
    assert np.abs(run["line.p"] - p).max() < 2e-3 * p.max()


def test_power_is_lost_in_flow_and_pump():
    run = load("cvt_pump").simulate()
    lost = run["loss.flow"] + run["loss.pump"]
    assert lost == pytest.approx(run["pump.tau"] * run["shaft.w"], rel=1e-12)
    assert run["status.low_pressure"].max() == 1.0
    w = 2000.0 * np.pi / 30.0  # 19 cm3 at 2000 rpm and 33 bar, by hand: 9.979/0.88 + 0.314 N.m
    torque = D * 33e5 / ETA + B * w
    still = load("cvt_pump").simulate(
        inputs={"shaft.tau": torque, "line.p_1": 30e5, "line.p_2": 0.0}, parameters={"pump.w_start": w}, duration=1.0
    )
    assert still["shaft.w"] == pytest.approx(w, rel=1e-9)
    assert still["pump.tau"][-1] == pytest.approx(11.654, abs=0.002)
