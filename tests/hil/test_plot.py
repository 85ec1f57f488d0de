"""A picture shows what is asked for and loses no spike."""

import numpy as np
import pytest
import typer
from matplotlib.figure import Figure
from refusals import refused
from rows import mistakes

from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.hil.plot import MAX_COLUMNS, MAX_LINES, _thinned, draw, draw_on, panels
from rtcvt.hil.recorder import FLAGS, write
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


def test_panels_are_by_unit_and_kind_and_what_has_no_unit_stands_alone():
    t = np.arange(50) * 1e-3
    signals = {f"w{k}": Signal(t + k, "rad/s") for k in range(23)} | {
        "slip": Signal(t, "1"),
        "ratio": Signal(1.0 + t, "1"),
        "status.end_stop": Signal((t > 0.02).astype(float), "1"),
        "status.outside": Signal(0.0 * t, "1"),
    }
    order = np.random.default_rng(0).permutation(16) + 1
    signals |= {f"field.push[{k}]": Signal(np.full(50, float(k)), "N") for k in order}
    found = panels(Recording(t, signals, {}, ""))
    assert [len(p.names) for p in found] == [MAX_LINES, MAX_LINES, MAX_LINES, 5, 1, 1, 1, 16]
    assert [p.kind for p in found] == ["lines"] * 6 + ["bars", "map"]
    axes = draw_on(Figure, Recording(t, signals, {}, ""))
    assert len({line.get_color() for line in axes[0].lines}) == MAX_LINES
    image = axes[-1].images[0].get_array()
    assert (image[:, 0] == np.arange(1.0, 17.0)).all()  # cells in the order of their numbers


def test_parts_and_kinds_have_panels_and_constants_are_left_out():
    t = np.arange(50) * 0.02
    names = [f"{p}.{n}" for p in ("crank", "pump", "fan") for n in ("F_x", "F_y")] + ["crank_pump.F", "pump_fan.F", "N"]
    made = Recording(
        t, {n: Signal(t, "N") for n in names} | {f"k{n}": Signal(0.0 * t, "Pa") for n in range(20)}, {}, ""
    )
    assert [p.names for p in panels(made)] == [names[:2], names[2:4], names[4:6], names[6:8], ["N"]]
    assert draw_on(Figure, made)[0].get_title(loc="right") == "20 signals that do not change are left out"


def test_a_page_has_charts(tmp_path):
    draw(recording(), tmp_path / "a.html", title="<a>")
    found = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<h1>&lt;a&gt;</h1>" in found
    assert 'class="chart"' in found


MARKUP = (r"y$\frac{$", "_y", "a$b$c", "_child0", r"\frac", "%d", "{x}", "caf\udce9", "a_b^c", "漢")


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_names_of_signals_units_and_files_are_text(tmp_path, suffix, recwarn):
    t, path = np.arange(50) * 0.02, tmp_path / f"a.{suffix}"
    signals = {name: Signal(np.sin(t), "1") for name in MARKUP}
    signals |= {f"status.{name}": Signal(0.0 * t, "1") for name in MARKUP}
    signals |= {f"_$f{{[{k}]": Signal(t, "_$u{$") for k in range(1, 9)} | {"w": Signal(t, "_$v{$")}
    draw(Recording(t, signals, {}, ""), path, list(signals), title="_$t{$\udce9.h5")
    assert not len(recwarn)
    if suffix == "svg":
        found = path.read_text()
        for name in (*MARKUP, *(f"status.{name}" for name in MARKUP), "_$f{", "_$u{$", "_$v{$", "_$t{$\udce9.h5"):
            assert f"<!-- {name} -->".replace("\udce9", "\ufffd") in found, name


def test_many_signals_without_a_unit_share_panels_by_their_size_and_too_many_are_refused(tmp_path):
    t = np.arange(50) * 0.02
    signals = {f"s{k}": Signal(t + 10.0 ** (k % 3), "1") for k in range(300)} | {"zero": Signal(0.0 * t, "1")}
    found = panels(Recording(t, signals, {}, ""))
    assert sorted({len(p.names) for p in found}) == [4, MAX_LINES]
    assert len(found) == 51
    assert all(len({int(name[1:]) % 3 for name in p.names}) == 1 for p in found if len(p.names) == MAX_LINES)
    many = Recording(t, {f"s{k}": Signal(t, "N") for k in range(3000)}, {}, "")
    refused(r"3000 signals in 500 panels.*--signal", draw, many, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_faults_are_shaded_where_they_were_injected():
    t = np.arange(100) * 0.01
    flags = np.zeros(100)
    flags[20:30] = 4.0 + 1.0
    flags[50:55] = 8.0  # no result, but no fault
    made = Recording(t, {"a": Signal(t, "N"), "flags": Signal(flags, "1", FLAGS)}, {}, "")
    axes = draw_on(Figure, made)
    for ax in axes:
        (patch,) = (p for p in ax.patches if p.get_alpha() == 0.35)
        assert patch.get_x() == pytest.approx(0.2)
        assert patch.get_x() + patch.get_width() == pytest.approx(0.3)
    assert "fault" in axes[0].get_title(loc="right")
    assert not [p for ax in draw_on(Figure, recording()) for p in ax.patches]


def test_thinning_keeps_extremes():
    values = np.zeros(100_000)
    values[54_321] = 7.0
    values[99_999] = -3.0
    time, thinned = _thinned(np.arange(100_000.0), values)
    assert len(time) == len(thinned) < 3 * MAX_COLUMNS
    assert (thinned.max(), thinned.min()) == (7.0, -3.0)
    assert (np.diff(time) >= 0).all()


def test_what_cannot_be_drawn_is_refused(tmp_path):
    refused(r"--signal = 'x': one of the signals: a\.w", lambda: draw(recording(), tmp_path / "a.png", ["x"]))
    refused(r"ends in \.png", lambda: draw(recording(), tmp_path / "a.txt"))
    refused("samples", lambda: draw(recording(0), tmp_path / "a.png"))


@pytest.mark.parametrize("suffix", ["h5", "mf4"])
def test_the_command_draws_either_format(tmp_path, suffix, command):
    write(tmp_path / f"run.{suffix}", recording(), "real-time run")
    assert command("plot", str(tmp_path / f"run.{suffix}"))[0] == 0
    assert (tmp_path / "run.png").read_bytes()[1:4] == b"PNG"


@mistakes
def test_what_needs_the_native_loop_is_refused_without_it(probe, words):
    with pytest.raises(InputError, match="only with --pacing native"):
        typer.main.get_command(app)(["run", str(probe), "--fast", *words], standalone_mode=False)
