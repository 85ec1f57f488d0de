"""Fixtures that several tests share."""

import faulthandler
from pathlib import Path

import pytest
from hypothesis import settings

from rtcvt.pog.system import build_model
from rtcvt.unitfile import load_unit, shipped_units

settings.register_profile("jit", deadline=None, max_examples=60)  # the first call compiles
settings.load_profile("jit")

UNITS = tuple(shipped_units())
# Two workers begin with files whose kernels differ, for neither finds what the other is compiling in the cache; long
# files come before short ones, so that both end together.
FIRST = [
    "fmu/test_native.py", "offline/pushbelt/test_runs.py", "variator/test_variator.py",
    "offline/variator/test_campaign.py", "offline/variator/test_reduction.py", "fmu/test_misuse.py",
    "fmu/test_platforms.py", "hil/test_bus.py", "offline/beltdrive/test_ancf_drive.py",
    "offline/beltdrive/test_belt_check.py", "belt/test_belt_model.py",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    folder = Path(__file__).parent
    rank = {folder / name: k for k, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


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
