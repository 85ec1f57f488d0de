"""Real-time models of gear systems, belt drives and variators, derived from full models.

The names below are the Python interface and stay as they are from release to release; names in modules may change::

    unit = rtcvt.load("toroidal_kers")                 # a shipped unit, or a unit file
    result = unit.simulate(inputs={"shaft.tau": 20.0}, duration=5.0)
    result["shaft.w"]                                  # an array, in SI units
    unit.export("kers.fmu")

Importing rtcvt lasts a few milliseconds; numpy, numba and other libraries are imported when needed.
"""

from rtcvt import module_path

if module_path.is_command():  # before anything else is imported
    module_path.leave_current_folder()

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rtcvt.errors import InputError
    from rtcvt.interface import FullRun, Instance, Unit, campaign, check, load, read, reduce, sweep, units
    from rtcvt.recording import Recording

__version__ = "1.0.0rc1"

__all__ = [
    "FullRun", "InputError", "Instance", "Recording", "Unit", "campaign", "check", "load", "read", "reduce", "sweep",
    "units",
]  # fmt: skip

_ELSEWHERE = {"InputError": "rtcvt.errors", "Recording": "rtcvt.recording"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rtcvt' has no attribute '{name}'")
    return getattr(import_module(_ELSEWHERE.get(name, "rtcvt.interface")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
