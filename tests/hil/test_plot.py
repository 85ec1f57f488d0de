"""A picture shows what is asked for and loses no spike."""

import subprocess
import sys

import numpy as np
import pytest
import typer

from hil.plot import POINTS, _thinned, draw
from hil.recorder import write
from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.recording import Recording, Signal


def recording(n=1000):
    t = np.arange(n) * 1e-3
    signals = {"a.w": Signal(np.sin(t), "rad/s"), "b.w": Signal(np.cos(t), "rad/s"), "a.tau": Signal(t, "N.m")}
    return Recording(t, signals, {}, "")


def test_a_picture_holds_all_signals_or_those_named(tmp_path):
    draw(recording(), tmp_path / "a.svg", title="run.h5")
    assert (tmp_path / "a.svg").read_text().count("<!-- a.w -->") == 1
    draw(recording(), tmp_path / "b.svg", ["a.tau"])
    assert "<!-- a.w -->" not in (tmp_path / "b.svg").read_text()


def test_thinning_keeps_extremes():
    values = np.zeros(100_000)
    values[54_321] = 7.0
    values[99_999] = -3.0
    time, thinned = _thinned(np.arange(100_000.0), values)
    assert len(time) == len(thinned) < 3 * POINTS
    assert (thinned.max(), thinned.min()) == (7.0, -3.0)
    assert (np.diff(time) >= 0).all()


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"--signal = 'x': one of a\.w"):
        draw(recording(), tmp_path / "a.png", ["x"])
    with pytest.raises(InputError, match=r"ends in \.png"):
        draw(recording(), tmp_path / "a.txt")
    with pytest.raises(InputError, match="samples"):
        draw(recording(0), tmp_path / "a.png")


def command(*words):
    return subprocess.run([sys.executable, "-m", "rtcvt.cli", *words], capture_output=True, text=True)


@pytest.mark.parametrize("suffix", ["h5", "mf4"])
def test_the_command_draws_either_format(tmp_path, suffix):
    write(tmp_path / f"run.{suffix}", recording(), "real-time run")
    done = command("plot", str(tmp_path / f"run.{suffix}"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    "words", [["--can", "virtual:x"], ["--overrun", "skip"], ["--cpu", "0"], ["--live", "0"], ["--fallback", "a=1"]]
)
def test_what_needs_the_native_loop_is_refused_without_it(probe, words):
    with pytest.raises(InputError, match="only with --pacing native"):
        typer.main.get_command(app)(["run", str(probe), "--fast", *words], standalone_mode=False)
