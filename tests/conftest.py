"""Fixtures that several tests share."""

import faulthandler

import pytest
from hypothesis import settings

from rtcvt.pog.system import build_model
from rtcvt.unitfile import load_unit, shipped_units

settings.register_profile("jit", deadline=None, max_examples=60)  # the first call compiles
settings.load_profile("jit")

UNITS = tuple(shipped_units())


def pytest_runtest_setup(item):
    """Slow tests may take as long as they need; others have the limit of pyproject.toml."""
    if item.get_closest_marker("slow"):
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(params=UNITS)
def unit(request):
    return load_unit(request.param)


@pytest.fixture(params=["rigid", "full"])
def model(request, unit):
    return build_model(unit, request.param)
