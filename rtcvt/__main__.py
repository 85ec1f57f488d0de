"""The command ``rtcvt``: signals end it in order from the first line on.

SIGINT, SIGTERM and SIGHUP become exceptions, so that what was begun is cleaned up: temporary files, extracted units,
processes. Once the loop of a rig runs it takes them itself, see `rtcvt.hil.rig`. A second one acts as usual.
"""

import os
import signal
import sys
from types import FrameType

from rtcvt.module_path import leave_current_folder

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


AGAIN = 0.02  # [s]

_came: list[int] = []


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    _all(signal.SIG_DFL)
    _came.append(number)
    if number != signal.SIGINT:
        sys.stderr.write(f"error: {signal.Signals(number).name}\n")
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _again)
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
    _raise()


def _raise() -> None:
    raise KeyboardInterrupt if _came[0] == signal.SIGINT else SystemExit(1)


def _again(number: int, frame: FrameType | None) -> None:
    """Raise anew if nothing is being ended: Python cannot raise everywhere, as at a fork, and libraries lose errors."""
    del number, frame
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return
        error = error.__context__
    _raise()


def caught() -> None:
    """To be called where an interrupt was caught and a summary or the like follows: it is not raised anew."""
    if hasattr(signal, "SIGALRM") and getattr(signal.getsignal(signal.SIGALRM), "__name__", "") == "_again":
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _not_raised(what: "sys.UnraisableHookArgs") -> None:
    if not (_came and isinstance(what.exc_value, KeyboardInterrupt | SystemExit)):
        sys.__unraisablehook__(what)


def _all(handler: signal.Handlers) -> None:
    for number in _SIGNALS:
        signal.signal(number, handler)


def _opened() -> None:
    """Standard streams that were closed become the null device, or the next files would take their places."""
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
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _end)
    sys.unraisablehook = _not_raised
    try:
        from rtcvt.cli import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
    finally:
        _all(signal.SIG_IGN)  # it has ended
        if _came and hasattr(signal, "SIGALRM"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)


if __name__ == "__main__":
    main()
