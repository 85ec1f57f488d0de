"""`rtcvt.offline.belt.runs` under its former name."""

from rtcvt.offline.belt.runs import Outcome, changed, estimated, figures, full_model, signals, simulate_full

__all__ = ["Outcome", "changed", "estimated", "figures", "full_model", "signals", "simulate_full"]
