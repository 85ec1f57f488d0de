"""Fixtures that several tests share."""

import faulthandler
import gc
import importlib
import os
import signal
from pathlib import Path

import pytest
import tools
from hypothesis import settings
from numba.core import config as numba_config
from xdist.scheduler import LoadFileScheduling

from rtcvt import cli
from rtcvt.kind import load_unit
from rtcvt.pog.system import build_model
from rtcvt.unitfile import shipped_units

settings.register_profile("jit", deadline=None, max_examples=60)  # the first call compiles
settings.register_profile("ci", settings.get_profile("jit"), derandomize=True, database=None)  # the same each time
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "jit"))

UNITS = tuple(shipped_units("gear_system"))
PUSHBELT = ("offline/pushbelt/", "offline/variator/test_campaign.py", "test_examples.py", "test_view.py")
BELT = ("belt/", "offline/belt/", "offline/test_speed_map.py")
# The rig's tests come first: a rig is forked and locks its memory, which takes seconds in a process that has compiled
# much. Then long files come before short ones, so that two workers end together.
FIRST = [
    "test_contract.py", "offline/pushbelt/test_runs.py", "fmu/test_native.py",
    "variator/test_variator.py", "offline/variator/test_reduction.py",
    "offline/belt/test_belt_check.py", "belt/test_belt_model.py",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    folder = Path(__file__).parent
    rank = {folder / name: k for k, name in enumerate(FIRST)}
    items.sort(key=lambda item: -1 if item.path.parent == folder / "hil" else rank.get(item.path, len(rank)))


class _ByFile(LoadFileScheduling):
    """Each file has one worker. All of the rig have the same, since they take turns; so have all of units, which are
    exported once, all that compile the pushbelt, and all that compile belt drives: none finds in the cache what the
    other is still compiling."""

    def _split_scope(self, nodeid):
        file = nodeid.split("::")[0].removeprefix("tests/")
        for folders in () if numba_config.DISABLE_JIT else (("hil/",), ("fmu/",), PUSHBELT, BELT):
            if file.startswith(folders):
                return folders[0]
        return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return _ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_configure(config):
    gc.disable()
    config.addinivalue_line("markers", "alone: occupies a processor with real-time priority, so no rig may run")
    # ignored by who started the tests, nohup or a shell's &, they would be ignored by all commands that tests start
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)
    if tools.unknown():
        raise pytest.UsageError(f"RTCVT_REQUIRE: no tool: {', '.join(sorted(tools.unknown()))}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Tools first. Slow tests may take as long as they need; others have the limit of pyproject.toml."""
    for mark in item.iter_markers("needs"):
        tools.require(mark.args)
    if item.get_closest_marker("slow"):
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish():
    """Imports leave hundreds of thousands of objects and compiling millions, at which a collection would look for
    seconds again and again. So there is one after each test only (`pytest_configure`), of what is new."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _turn(request):
    """Who holds a processor with real-time priority takes turns with all others that keep time, of any suite on this
    machine: what these found would be true, but of a machine that stood still."""
    alone = request.node.get_closest_marker("alone") is not None
    if not alone and not any("loop" in mark.args for mark in request.node.iter_markers("needs")):
        yield
        return
    fcntl = importlib.import_module("fcntl")  # not on Windows, where no loop is
    handle = os.open("/", os.O_RDONLY)  # what all suites have
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # processes that were forked off have it, too
        os.close(handle)


@pytest.fixture(params=UNITS)
def unit(request):
    return load_unit(request.param)


@pytest.fixture(params=["rigid", "full"])
def model(request, unit):
    return build_model(unit, request.param)


@pytest.fixture
def command(monkeypatch, capsys):
    """A function that runs a command within this process: its exit code, standard output and standard error."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["rtcvt", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
