"""Deadlines are absolute, overruns are caught up at once, and the thread is left as it was found."""

import gc
import os
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtcvt.hil.pacing import interruptible, own_processor, pace, real_time

TICK = 100  # [ns] what a look at the fake clock costs
STEP = 1e-3  # [s]
H = 1_000_000  # [ns]


class FakeMachine:
    """A clock that moves when it is read, slept on or when a call works."""

    def __init__(self, costs=(), oversleep=0):
        self.now = 7_000_000_000
        self.costs = costs
        self.oversleep = oversleep
        self.slept = 0

    def clock(self):
        self.now += TICK
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.slept += 1
        self.now += round(seconds * 1e9) + self.oversleep

    def call(self, k):
        self.now += self.costs[k]
        return True

    def pace(self, n, step=STEP, **options):
        return pace(options.pop("call", self.call), n, step, clock=self.clock, sleep=self.sleep, **options)


@given(costs=st.lists(st.integers(0, 5 * H), min_size=1, max_size=30), oversleep=st.integers(0, 50_000))
def test_each_call_starts_at_its_deadline_or_when_the_one_before_has_ended(costs, oversleep):
    timing = FakeMachine(costs, oversleep).pace(len(costs))
    free = np.concatenate(([0], timing.ended[:-1]))
    earliest = np.maximum(timing.due[:-1], free)
    assert np.all(timing.began >= earliest)
    assert np.all(timing.began <= earliest + 4 * TICK)


@given(costs=st.lists(st.integers(0, 5 * H), min_size=2, max_size=30))
def test_deadlines_do_not_depend_on_the_calls(costs):
    timing = FakeMachine(costs).pace(len(costs))
    assert np.all(np.diff(timing.due) == H)


def test_deadlines_of_a_step_that_is_no_whole_number_of_nanoseconds_do_not_drift():
    timing = FakeMachine([0] * 3000).pace(3000, 1e-3 / 3)
    assert timing.due[-1] - timing.due[0] == 1_000_000_000


def test_an_overrun_is_caught_up_and_counted():
    timing = FakeMachine([0, 7 * H // 2, 0, 0, 0, 0]).pace(6)
    assert timing.misses == 3  # the long call, which ends at 4.5 h, and those due at 2 h and 3 h
    np.testing.assert_allclose(timing.lateness, [0, 0, 2.5e-3, 1.5e-3, 0.5e-3, 0], atol=2e-6)
    np.testing.assert_allclose(timing.step_time, [0, 3.5e-3, 0, 0, 0, 0], atol=1e-6)


def test_without_a_step_nothing_waits():
    machine = FakeMachine([10] * 5)
    timing = machine.pace(5, None)
    assert machine.slept == 0
    assert (timing.due, timing.lateness, timing.misses) == (None, None, None)
    assert len(timing.began) == 5


def test_a_call_that_fails_ends_the_run_and_is_not_counted():
    timing = FakeMachine().pace(5, call=lambda k: k < 3)
    assert len(timing.began) == len(timing.ended) == len(timing.due) - 1 == 3


def test_a_run_can_be_stopped_while_it_waits():
    machine = FakeMachine([0, 0])
    timing = machine.pace(2, step=100.0, stopped=lambda: machine.slept > 3)
    assert len(timing.began) == 0
    assert machine.slept == 4


def test_the_real_clock_is_kept():
    timing = pace(lambda k: True, 20, 1e-3)
    assert np.all(timing.lateness >= 0)
    assert timing.ended[-1] >= timing.due[0] + 19 * H
    assert time.perf_counter_ns() >= timing.ended[-1]


def scheduler():
    return os.sched_getscheduler(0), os.sched_getparam(0).sched_priority


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize("privileged", [True, False])
def test_garbage_collector_and_scheduler_are_restored(collecting, privileged):
    before = scheduler() if hasattr(os, "sched_getscheduler") else None
    (gc.enable if collecting else gc.disable)()
    try:
        with suppress(RuntimeError), real_time(privileged) as got:
            assert not gc.isenabled()
            assert set(got) == {"scheduler", "memory", "garbage_collector"}
            raise RuntimeError
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
    assert before is None or scheduler() == before


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="no real-time scheduler on this platform")
def test_a_refused_scheduler_is_said_and_does_not_matter(monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with real_time(True) as got:
        assert got["scheduler"].startswith("the default; no SCHED_FIFO: Operation not permitted")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processors have no names on this platform")
def test_rigs_of_one_machine_share_no_processor_until_all_are_taken(monkeypatch):
    # numbers that no machine has: the names of claims are the machine's, and its rigs may be running
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {900_000, 900_001, 900_002})  # the first is nobody's
    with own_processor(None, True) as a, own_processor(None, True) as b, own_processor(None, True) as c:
        assert (a, b, c) == ((900_002, False), (900_001, False), (900_002, True))
        with own_processor(900_001, True) as d:  # who asks for one gets it
            assert d == (900_001, True)
    with own_processor(None, True) as a:  # given back
        assert a == (900_002, False)
    with own_processor(None, False) as a:
        assert a == (-1, False)


def test_the_first_signal_is_noted_and_the_second_acts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start background jobs without
    try:
        with interruptible() as received:
            signal.raise_signal(signal.SIGINT)
            assert received == ["SIGINT"]
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_signals_are_left_alone():
    before = signal.getsignal(signal.SIGINT)
    during = []

    def work():
        with interruptible() as received:
            during.append((signal.getsignal(signal.SIGINT), list(received)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert during == [(before, [])]
