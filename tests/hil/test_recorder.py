"""Both formats give back what was put in, at every moment: also after SIGKILL and on a full disk."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import hil.recorder
from hil.recorder import Channel, open_recorder, part_name, read, write
from rtcvt.errors import InputError
from rtcvt.recording import Recording, Signal, read_recording

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


WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from hil.recorder import Channel, open_recorder
made = open_recorder(Path(sys.argv[1]), [Channel("x", "1")], "real-time run", {}, "")
print("ready", flush=True)
for k in range(100_000):
    made.append(np.column_stack([np.arange(k * 10, k * 10 + 10.0)] * 2))
    print(k, flush=True)
"""


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


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_that_is_not_there_is_refused(tmp_path, suffix):
    with pytest.raises(InputError, match="existing, writable folder"):
        open_recorder(tmp_path / "none" / f"run.{suffix}", CHANNELS, "real-time run", {}, "")


def test_files_that_are_no_recordings_are_refused(tmp_path):
    for name in ("a.h5", "a.mf4"):
        (tmp_path / name).write_bytes(b"nothing of the kind" * 20)
        with pytest.raises(InputError, match="recording"):
            read(tmp_path / name)
    with pytest.raises(InputError, match="an existing file"):
        read(tmp_path / "none.h5")


FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from hil.recorder import Channel, open_recorder
made = open_recorder(Path(sys.argv[1]), [Channel("x", "1")], "real-time run", {}, "")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
count = 0
try:
    while True:
        made.append(np.random.default_rng(count).random((1000, 2)))
        count += 1000
except OSError:
    made.abandon()
    print(count)
"""


def test_an_mdf_that_cannot_grow_can_be_read(tmp_path):
    """A limit of the file's size stands for a full disk: both make write() fail half-way."""
    path = tmp_path / "run.mf4"
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-500:]
    count = int(done.stdout)
    assert count > 10_000
    found = read(part_name(path))
    assert len(found.time) >= count
    first = np.random.default_rng(0).random((1000, 2))
    np.testing.assert_array_equal(found.time[:1000], first[:, 0])


def test_hdf5_stops_before_the_disk_is_full(tmp_path, monkeypatch):
    """What is written before can be read: HDF5 would not survive a write that fails."""
    path = tmp_path / "run.h5"
    made = open_recorder(path, CHANNELS, "real-time run", {}, "")
    made.append(rows(0, 1000))
    monkeypatch.setattr(hil.recorder, "RESERVE", 2**62)
    with pytest.raises(OSError, match="No space left"):
        made.append(rows(1000, 2000))
    made.abandon()
    np.testing.assert_array_equal(read(part_name(path)).time, rows(0, 1000)[:, 0])
