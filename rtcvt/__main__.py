"""The command ``rtcvt``, which signals end in order.

Until this module is imported, signals end the process at once: a library that waits for ever at its start would not let
Python handle them. Then SIGINT, SIGTERM and SIGHUP become exceptions, so that temporary files, extracted units and
processes are cleaned up. The loop of a rig handles signals itself, see `rtcvt.hil.rig`. A second signal has its usual
effect. With permission to run code of files another process handles them, see `rtcvt.processes.watched`.
"""

import os
import signal
import sys
from types import FrameType

from rtcvt.environment import ALLOW, library_that_fails, prepare
from rtcvt.errors import InputError
from rtcvt.module_path import leave_current_folder
from rtcvt.processes import watched

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


SIGNAL_INTERVAL = 0.02  # [s]

_came: list[int] = []


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    _all(signal.SIG_DFL)
    _came.append(number)
    if number != signal.SIGINT:
        sys.stderr.write(f"error: {signal.Signals(number).name}\n")
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _again)
        signal.setitimer(signal.ITIMER_REAL, SIGNAL_INTERVAL, SIGNAL_INTERVAL)
    _raise()


def _raise() -> None:
    raise KeyboardInterrupt if _came[0] == signal.SIGINT else SystemExit(1)


def _again(number: int, frame: FrameType | None) -> None:
    """Raise the exception again if it was lost: Python cannot raise everywhere, as at a fork, and libraries lose
    errors."""
    del number, frame
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return
        error = error.__context__
    _raise()


def _not_raised(what: "sys.UnraisableHookArgs") -> None:
    if not (_came and isinstance(what.exc_value, KeyboardInterrupt | SystemExit)):
        sys.__unraisablehook__(what)


def _all(handler: signal.Handlers) -> None:
    for number in _SIGNALS:
        signal.signal(number, handler)


def _refused(why: object) -> SystemExit:
    sys.stderr.write(f"error: {why}\n")
    return SystemExit(2)


def _opened() -> None:
    """Connect closed standard streams to the null device, or the next opened files would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def main() -> None:
    """Entry point of the command ``rtcvt``."""
    leave_current_folder()
    _opened()
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # as nohup has it
    for number in heard:
        signal.signal(number, signal.SIG_DFL)
    if "--allow-code" in sys.argv or os.environ.get(ALLOW) == "1":
        watched(heard)
    sys.unraisablehook = _not_raised
    try:
        prepare()
        from rtcvt.cli import main as command

        for number in heard:
            signal.signal(number, _end)
        command()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
    except InputError as error:
        raise _refused(error) from None
    except Exception as error:
        if library := library_that_fails(error):
            raise _refused(f"{library} does not start: {str(error).splitlines()[0]}") from None
        raise
    finally:
        _all(signal.SIG_IGN)  # it has ended
        if _came and hasattr(signal, "SIGALRM"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)


if __name__ == "__main__":
    main()
