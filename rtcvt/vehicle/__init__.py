"""Parts of a vehicle around a variator: the vehicle itself, a driveline, a driver and driving cycles.

Each is a part: a small ODE with fixed equations (`kernels`), with its parameters in a unit file (`parts`). Parts and
gear systems are connected flange by flange in a system file (`rtcvt.network`).
"""
