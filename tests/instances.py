"""Instances of models as tests start them."""

from rtcvt.model import Instance, Model

__all__ = ["started"]


def started(model: Model, **values: float) -> Instance:
    """An instance that is initialised with these parameters and inputs; ``__`` in a name stands for a dot."""
    one = model.instantiate()
    for name, value in values.items():
        one.set(name.replace("__", "."), value)
    one.initialise()
    return one
