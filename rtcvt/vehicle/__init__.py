"""What is around a variator in a vehicle: the vehicle itself, a driveline, a driver and driving cycles.

Each is a part: a small ODE with fixed equations (`kernels`), whose numbers are in a unit file (`parts`). Parts and gear
systems are connected flange by flange in a system file (`rtcvt.network`).
"""
