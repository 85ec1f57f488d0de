"""Bad input is refused: by an error with a message, and by models whose steps, inputs and states are no numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from rtcvt.errors import InputError
from rtcvt.kernel import FAILED, OK


def refused(said: str, call: Callable[..., Any], /, *given: Any, **named: Any) -> None:
    """A call raises an `InputError` whose message matches `said`."""
    with pytest.raises(InputError, match=said):
        call(*given, **named)


def refuses_and_keeps_its_state(one, bad):
    """Steps of length 0, -1 and `bad`, then each input and state set to `bad` in turn."""
    for h in (0.0, -1.0, bad):
        before = one.get_state()
        assert one.step(h) == FAILED
        assert one.get_state() == before
    for buffer in (one.u, one.x):
        for k in range(len(buffer)):
            was, buffer[k] = buffer[k], bad
            before = one.get_state()
            assert one.step(1e-3) == FAILED
            assert str(one.get_state()) == str(before)
            buffer[k] = was
    assert one.step(1e-3) == OK
