"""Instances of models as tests start them, and steps that they make."""

from collections.abc import Mapping

from rtcvt.kernel import FAILED
from rtcvt.model import Instance, Model

__all__ = ["started", "stepped"]


def started(model: Model, values: Mapping[str, float] | None = None, /, **more: float) -> Instance:
    """An instance that is initialised with these parameters and inputs; ``__`` in a keyword stands for a dot."""
    one = model.instantiate()
    for name, value in [*(values or {}).items(), *((name.replace("__", "."), value) for name, value in more.items())]:
        one.set(name, value)
    one.initialise()
    return one


def stepped(one: Instance, count: int, h: float = 1e-3, status: int | None = None) -> Instance:
    """The instance after `count` steps of `h` [s]: none fails, and each has this status if it is given."""
    for _ in range(count):
        found = one.step(h)
        assert found != FAILED if status is None else found == status
    return one
