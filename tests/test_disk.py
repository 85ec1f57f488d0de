"""What the system says against writing: one message, exit code 2, nothing left; files have the rights of the umask."""

import errno
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from refusals import refused
from rows import mistakes

import rtcvt
from rtcvt.errors import InputError
from rtcvt.hil.plot import PICTURES, draw
from rtcvt.hil.recorder import Channel, open_recorder, read
from rtcvt.hil.rig import _Kept
from rtcvt.offline.pushbelt.run.runfile import Journal
from rtcvt.offline.variator.calibration.calibrate import _Journal as CalibrationJournal
from rtcvt.recording import Recording, Signal, new_hdf5, replaced_on_success

RTCVT = [sys.executable, "-m", "rtcvt"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES])
def test_what_the_system_says_is_an_error_of_input(tmp_path, code):
    with pytest.raises(InputError, match=os.strerror(code)), replaced_on_success(tmp_path / "x.fmu") as temporary:
        raise OSError(code, os.strerror(code), str(temporary))
    assert not list(tmp_path.iterdir())


@contextmanager
def small(limit):
    """Files of this process end too early."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_an_output_that_is_full():
    with open("/dev/full", "w") as out:
        done = subprocess.run([*RTCVT, "--version"], stdout=out, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@mistakes
def test_a_command_whose_files_find_no_room(tmp_path, monkeypatch, words, message, command):
    monkeypatch.chdir(tmp_path)
    rtcvt.load("differential").simulate(duration=0.01)  # machine code is there
    with small(resource.RLIM_INFINITY if "/dev/full" in words else 2048):
        code, _, err = command(*words.split())
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def extend(path):
    with Journal(path, write=True) as journal:
        for k in range(1, 9):
            journal.add({"q": np.full(500, float(k))})


def test_a_run_of_the_full_pushbelt_keeps_what_it_wrote(tmp_path):
    path = tmp_path / "run.h5.partial"
    with small(20_000):
        refused(r"'.*run\.h5\.partial'.*File too large$", Journal.create, path, {"head": np.zeros(3000)})
        assert not list(tmp_path.iterdir())
        Journal.create(path, {"head": np.zeros(10)})
        refused(r"run\.h5\.partial.*File too large; --resume", extend, path)
    with Journal(path, write=True) as journal:
        journal.add({"q": np.full(500, 9.0)})
        assert [record["q"][0] for record in journal.blocks()] == [1, 2, 3, 4, 9]


def test_what_a_calibration_found_outlives_a_full_disk(tmp_path):
    journal = CalibrationJournal(tmp_path / "runs.jsonl", "key")
    for k in range(9):
        journal.add((0, k, "OD"), {"torque": 1.0})
    with small(100):
        for again in (lambda: CalibrationJournal(journal.path, "key"), lambda: journal.add((0, 9, "OD"), None)):
            refused(r"'.*runs\.jsonl': a file that can be written: File too large", again)
    assert len(CalibrationJournal(journal.path, "key").found) == 9


@pytest.mark.parametrize("suffix", PICTURES)
def test_a_picture_that_finds_no_room(tmp_path, suffix):
    t = np.linspace(0.0, 1.0, 5)
    with small(1000), pytest.raises(InputError, match="File too large"):
        draw(Recording(t, {"x": Signal(t, "m")}, {}, ""), tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("earlier", [0, 1])
def test_a_recording_tells_whether_anything_is_left_of_it(tmp_path, earlier):
    with small(200_000):  # the process that writes keeps this limit
        made = open_recorder(tmp_path / "run.h5", [Channel("x", "1")], "run", {}, "")
    kept = _Kept(made, lambda reason: None)
    for rows in (*[np.zeros((9, 2))] * earlier, np.zeros((40_000, 2))):
        kept.append([rows])
    kept.finish({})
    left = "its rows can be read" if earlier else "it is lost"
    assert kept.failure == f"recording: File too large; {left}"
    assert [len(read(path).time) for path in tmp_path.iterdir()] == [9] * earlier


def test_a_reader_that_has_had_enough(tmp_path):
    with subprocess.Popen([*RTCVT, "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (1, -signal.SIGPIPE)


@pytest.mark.parametrize("umask", [0o077, 0o022, 0o002])
def test_files_have_the_rights_that_the_umask_leaves(tmp_path, umask):
    before = os.umask(umask)
    try:
        with replaced_on_success(tmp_path / "a.txt") as temporary:
            temporary.write_text("a")
        with new_hdf5(tmp_path / "b.h5", b"kind"):
            pass
    finally:
        os.umask(before)
    assert {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()} == dict.fromkeys(
        ("a.txt", "b.h5"), 0o666 & ~umask
    )
