"""Both formats give back what was put in, at every moment: also after SIGKILL and on a full disk."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from refusals import refused
from rows import script

import rtcvt.hil.recorder
from rtcvt.errors import InputError
from rtcvt.files.hdf5 import BLOCK, seal
from rtcvt.hil.growing import part_name
from rtcvt.hil.recorder import Channel, open_recorder, read, write
from rtcvt.recording import SEAL, Recording, Signal, is_special, read_recording, write_recording

CHANNELS = (Channel("shaft.tau", "N.m", "torque <into> it"), Channel("shaft.w", "rad/s", "speed"))
SUFFIXES = ("h5", "mf4")


def rows(first, last):
    k = np.arange(first, last, dtype=float)
    return np.column_stack([1e-3 * k, k**2, -k])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_recording_is_read_as_it_was_written(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    made = open_recorder(path, CHANNELS, "real-time run", {"step": 1e-3, "completed": True}, 'name = "kers"\n')
    for k in range(0, 10_000, 1000):
        made.append(rows(k, k + 1000))
        if k in (0, 4000):  # a growing file of HDF5 takes a process to be read
            np.testing.assert_array_equal(read(part_name(path)).signals["shaft.w"].values, -np.arange(k + 1000.0))
    assert not read(part_name(path)).attributes["completed"]
    made.finish({"completed": True, "message": "", "misses": 3})
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    found = read(path)
    expected = rows(0, 10_000)
    np.testing.assert_array_equal(found.time, expected[:, 0])
    for column, channel in enumerate(CHANNELS, start=1):
        np.testing.assert_array_equal(found.signals[channel.name].values, expected[:, column])
        assert (found.signals[channel.name].unit, found.signals[channel.name].description) == (
            channel.unit,
            channel.description,
        )
    assert found.unit_file == 'name = "kers"\n'
    assert found.attributes["completed"]
    assert (found.attributes["kind"], found.attributes["misses"], found.attributes["step"]) == (
        "real-time run",
        3,
        1e-3,
    )
    if suffix == "h5":
        np.testing.assert_array_equal(read_recording(path).time, expected[:, 0])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_whole_recording_in_one_go(tmp_path, suffix):
    given = Recording(np.arange(3.0), {"x": Signal(np.array([1.0, np.nan, 3.0]), "1", "")}, {"completed": True}, "")
    write(tmp_path / f"a.{suffix}", given, "unpaced run")
    np.testing.assert_array_equal(read(tmp_path / f"a.{suffix}").signals["x"].values, given.signals["x"].values)


WRITER = script("recorder", "writer")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_was_appended_survives_sigkill(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    said = 0
    for line in writer.stdout:
        if line.strip() == "40":
            writer.send_signal(signal.SIGKILL)
        said = line.strip()
    assert writer.wait() == -signal.SIGKILL
    found = read(part_name(path))
    assert len(found.time) >= 10 * (int(said) + 1)
    np.testing.assert_array_equal(found.time, np.arange(len(found.time)))
    np.testing.assert_array_equal(found.signals["x"].values, found.time)
    assert not path.exists()
    assert "not finished" in found.attributes["message"]


def test_files_in_the_folder_of_the_user_are_not_imported(tmp_path, monkeypatch):
    """The recording was called damaged: the process that reads it first imported what lay there."""
    made = open_recorder(tmp_path / "run.h5", CHANNELS, "real-time run", {}, "")
    made.append(np.zeros((10, 1 + len(CHANNELS))))
    made.abandon()
    (tmp_path / "numpy.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert len(read(tmp_path / "run.part.h5").time) == 10


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_that_is_not_there_is_refused(tmp_path, suffix):
    (tmp_path / "file").touch()
    for folder in ("none", "file"):
        with pytest.raises(InputError, match="existing, writable folder"):
            open_recorder(tmp_path / folder / f"run.{suffix}", CHANNELS, "real-time run", {}, "")


def test_files_that_are_no_recordings_are_refused(tmp_path):
    for name in ("a.h5", "a.mf4"):
        (tmp_path / name).write_bytes(b"nothing of the kind" * 20)
        refused("recording", read, tmp_path / name)
    refused("cannot be read", read, tmp_path / "none.h5")


def test_a_disk_that_stands_still_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(rtcvt.hil.recorder, "PATIENCE", 0.5)
    made = open_recorder(tmp_path / "run.h5", CHANNELS, "real-time run", {}, "")
    made.append(rows(0, 1000))
    os.kill(made._pid, signal.SIGSTOP)
    made.append(rows(1000, 2000))
    time.sleep(0.5)
    with pytest.raises(OSError, match=r"took nothing for 0\.5 s"):
        made.append(rows(2000, 3000))
    made.abandon()
    assert len(read(part_name(tmp_path / "run.h5")).time) == 1000


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_writer_that_is_killed_is_told(tmp_path, suffix):
    made = open_recorder(tmp_path / f"run.{suffix}", CHANNELS, "real-time run", {}, "")
    made.append(rows(0, 1000))
    os.kill(made._pid, signal.SIGKILL)
    os.waitid(os.P_PID, made._pid, os.WEXITED | os.WNOWAIT)  # it may take a row until it is dead
    with pytest.raises(OSError, match="its process ended by SIGKILL"):
        made.append(rows(1000, 2000))
    made.abandon()
    assert len(read(part_name(tmp_path / f"run.{suffix}")).time) == 1000


def forged(path, damage):
    """A sealed file with something in it that no recording has."""
    with h5py.File(path, "w", userblock_size=BLOCK) as file:
        file.attrs["schema_version"] = 1
        file["unit_file"] = ""
        file["time"] = np.arange(3.0)
        file.create_group("signals")
        damage(file)
    seal(path, SEAL)
    return path


@pytest.mark.parametrize(("damage", "message"),
    [(lambda f: f.create_dataset("signals/x", (2**40,), "f4", chunks=(1024,)), "at most 4 GiB"),
    (lambda f: f.__setitem__("signals/x", h5py.ExternalLink("/etc/passwd", "/")), "no link"),
    (lambda f: f.__setitem__("signals/x", h5py.SoftLink("/time")), "no link"),
    (lambda f: f.create_dataset("signals/x", (8,), "u1", external=[("/etc/passwd", 0, 8)]), "of this file"),
    (lambda f: f.create_dataset("signals/x", (2,), h5py.ref_dtype), "numbers or text"),
    (lambda f: f["signals"].__setitem__("loop", f["signals"]), "recording"),
    (lambda f: f.__delitem__("unit_file"), "unit_file: a text"),
    (lambda f: f.__setitem__("signals/x", np.arange(3.0)), "recording")])  # fmt: skip
def test_what_a_file_declares_is_checked_before_it_is_read(tmp_path, damage, message):
    refused(message, lambda: read(forged(tmp_path / "a.h5", damage)))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_being_written_is_refused(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    first = open_recorder(path, CHANNELS, "real-time run", {}, "")
    first.append(rows(0, 1000))
    other = [sys.executable, "-c", script("recorder", "second"), str(path)]
    said = subprocess.run(other, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "no other run writes" in said
    first.append(rows(1000, 2000))
    first.finish({"completed": True})
    assert len(read(path).time) == 2000
    open_recorder(path, CHANNELS, "real-time run", {}, "").finish({"completed": True})
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_a_run_left_is_kept(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    for k in range(2):
        made = open_recorder(path, CHANNELS, "real-time run", {}, "")
        made.append(rows(0, 10 + k))
        made.abandon()
    assert [len(read(p).time) for p in (tmp_path / f"run.part-1.{suffix}", part_name(path))] == [10, 11]


def test_a_device_or_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    given = Recording(np.arange(3.0), {"x": Signal(np.arange(3.0), "1", "")}, {}, "")
    for make in (write_recording, write):
        copy = tmp_path / "copy.h5"
        with copy.open("wb") as file:
            reader = subprocess.Popen(["cat", str(pipe)], stdout=file)
            make(pipe, given, "simulation")
            assert reader.wait(10) == 0
        assert pipe.is_fifo()
        np.testing.assert_array_equal(read_recording(copy).time, given.time)
    assert is_special(Path(os.devnull))  # not tried: a fault would replace it


def test_a_name_that_is_too_long_is_refused(tmp_path):
    given = Recording(np.arange(3.0), {}, {}, "")
    for make in (write_recording, write):
        refused("at most 200 bytes", make, tmp_path / ("x" * 300 + ".h5"), given, "simulation")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_recording_may_be_given_up_twice_after_its_lock_is_gone(tmp_path, suffix):
    made = open_recorder(tmp_path / f"run.{suffix}", CHANNELS, "real-time run", {}, "")
    made.abandon()
    made.abandon()


def test_an_append_takes_no_longer_for_each_signal_where_there_are_many(tmp_path):
    """HDF5's own flush takes the square of what has changed: 3 times as long here, 12 times with 20 000 signals."""
    recorder = rtcvt.hil.recorder
    began = time.process_time()
    channels = [Channel(f"x{k}", "1") for k in range(3000)]
    made = recorder.Hdf5Writer(recorder.claimed(tmp_path / "run.h5"), channels, recorder._about("run", {}), "", 16)
    there = time.process_time()
    made.append(np.zeros((16, 1 + len(channels))))
    appended = time.process_time()
    made.abandon()
    assert appended - there < 0.6 * (there - began)
