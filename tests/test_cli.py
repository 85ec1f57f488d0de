"""The command line as a user meets it: output, JSON, messages, exit codes, files."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from marks import slow
from overwriting import READ, build, link, state
from refusals import refused
from rich.text import Text
from rows import cases, mistakes, script
from typer import Option, Typer
from typer.main import get_command
from typer.testing import CliRunner

from rtcvt import load, read
from rtcvt.cli import app
from rtcvt.cli.console import _Command, _in_lines
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.recording import read_recording
from rtcvt.unitfile import shipped_units


@pytest.fixture
def rtcvt(monkeypatch, command, tmp_path):
    """Run a command in an empty folder; returns exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    return command


def test_help_of_every_command(rtcvt):
    """No unit in brackets is taken for markup, which would not be shown."""
    commands = get_command(app).commands
    assert len(commands) > 10
    for name, command in commands.items():
        for text in (command.help, *(getattr(p, "help", "") for p in command.params)):
            assert {str(span.style) for span in Text.from_markup(text or "").spans} <= {"bold"}, name
    for given in ([], ["simulate"]):
        code, text, _ = rtcvt(*given, "--help")
        assert code == 0
        assert "Usage" in text
    assert rtcvt("--version")[1].startswith("rtcvt ")


@pytest.mark.parametrize("shipped", ["pushbelt_cvt", "wltc", "car_cvt", "toroidal_kers", "pushbelt_24mm"])
def test_new_unit_begins_as_a_shipped_one(rtcvt, tmp_path, shipped):
    """Equal but for its name, built from any folder; nothing is overwritten, and an invalid name leaves no file."""
    assert rtcvt("new", shipped, "-o", "mine.toml")[0] == 0
    mine, theirs = load_unit("mine.toml"), load_unit(shipped)
    assert mine.name == "mine"
    assert mine.model_dump(exclude={"folder"}) == theirs.model_dump(exclude={"folder"}) | {"name": "mine"}
    if mine.models and shipped != "car_cvt":
        assert len(mine.build().variables) == len(theirs.build().variables)
    before = (tmp_path / "mine.toml").read_text()
    for name in ("mine.toml", "1.toml", "mine.txt"):
        code, _, err = rtcvt("new", shipped, "-o", name)
        assert code == 2
        assert name in err
    assert (tmp_path / "mine.toml").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.toml"]


def test_progress_into_a_file_is_a_line_in_thirty_seconds(capsys):
    time = iter([0.0, 10.0, 31.0, 31.0, 40.0, 61.5, 61.5])
    tell = _in_lines(lambda: next(time))
    for done in range(1, 5):
        tell(f"quick: {done} of 34 runs", done, 34)
    assert capsys.readouterr().err == "quick: 2 of 34 runs, 5 %\nquick: 4 of 34 runs, 11 %\n"


def test_show_json(rtcvt):
    code, text, _ = rtcvt("show", "toroidal_kers", "--set", "r_c=30 mm", "--at", "theta=0.1", "--json")
    data = json.loads(text)
    assert code == 0
    assert {"gears", "springs", "frictions", "R", "Q1", "B_delta_omega", "L1", "A1", "B1"} <= set(data)
    assert data["gears"] == ["a", "b", "c", "d"]
    assert data["springs"] == ["bc", "ac", "db"]
    assert np.array(data["R"])[0] == pytest.approx([0.0, 34.3e-3 + 30e-3 * np.sin(0.1), -30e-3, 0.0])
    assert np.shape(data["B1"]) == (1, 4)


def test_show_lists_units_and_prints_matrices(rtcvt):
    assert "ravigneaux" in rtcvt("show")[1]
    _, text, _ = rtcvt("show", "automatic_6")
    assert "0.52113" in text
    assert "…" not in text  # numbers are not cut off
    _, text, _ = rtcvt("show", "differential")
    for word in ("R", "Q1", "B_delta_omega", "L1", "N1", "A1", "B1", "-0.135", "frictions N_B = {eb, ed}"):
        assert word in text


def test_simulate_writes_recording_and_figures_and_cuts_no_names_off(rtcvt, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    code, text, _ = rtcvt("simulate", "planetary", "-o", "run.h5", "--json", "run.json", "--set", "gear.s.J=1e-3")
    assert code == 0
    assert "times real time" in text
    recording = read_recording(tmp_path / "run.h5")
    figures = json.loads((tmp_path / "run.json").read_text())
    assert recording.signals["sun.w"].values[-1] == figures["signals"]["sun.w"]["final"]
    assert all(name in text for name in figures["signals"])
    assert recording.signals["sun.w"].unit == "rad/s"
    assert 'name = "planetary"' in recording.unit_file
    assert json.loads(recording.attributes["parameters"])["gear.s.J"] == 1e-3


@cases
def test_completion(tmp_path, line, expected):
    (tmp_path / "my_gears.toml").touch()
    load("planetary").simulate("sun drives the carrier, ring braked", duration=1.0).save(tmp_path / "run.h5")
    shell = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_RTCVT_COMPLETE": "complete_bash"}
    command = Path(sys.executable).with_name("rtcvt")
    done = subprocess.run([command], cwd=tmp_path, env=os.environ | shell, capture_output=True, text=True)
    assert set(done.stdout.split("\n")) - {""} == {*expected}


@mistakes
def test_messages_guess_what_was_meant(rtcvt, tmp_path, words, message):
    (tmp_path / "typo.toml").write_text('name = "x"\nkind = "gear_system"\ngears.a = { inertai = 1 }\n')
    (tmp_path / "kind.toml").write_text('kind = "gear_sytem"\n')
    (tmp_path / "system.toml").write_text('name = "s"\nkind = "system"\ncomponents.c.unit = "kind"\nconnect = []\n')
    code, _, err = rtcvt(*words)
    assert code == 2
    assert re.search(re.escape(message).replace(r"\.\*", ".*"), err)


def test_show_prints_all_keys_of_a_kind(rtcvt, tmp_path):
    """With unit, range, default and meaning; of a kind, or of a unit that is not complete."""
    (tmp_path / "mine.toml").write_text('kind = "vehicle"\n')
    code, text, _ = rtcvt("show", "mine.toml", "--keys")
    assert code == 0
    assert re.search(r"\n m +kg +1400 +1e-09 +mass of the vehicle", text)
    found = json.loads(rtcvt("show", "pushbelt", "--keys", "--json")[1])
    assert found["tables"]["contacts"]["mu_R"]["meaning"] == "element-ring"
    assert found["tables"]["ring"]["layers"]["value"] == "whole number, at least 1, at most 20"
    assert found["tables"]["element"]["t_R"]["default"] == "required"
    assert rtcvt("show", "vehicle", "--keys", "--set", "a=1")[0] == 2


def test_show_of_belts(rtcvt):
    code, text, _ = rtcvt("show", "two_pulley_5pk")
    assert code == 0
    assert "belt of 1.19965 m" in text
    assert json.loads(rtcvt("show", "two_pulley_5pk", "--json")[1])["pulleys"][1]["pulley"] == "driven"
    code, text, _ = rtcvt("show", "pushbelt_24mm")
    assert code == 0
    assert "scaled to 220 elements" in text
    assert json.loads(rtcvt("show", "pushbelt_24mm", "--json")[1])["cases"]["MED"]["M_O"][3] == 74.58
    assert "pushbelt_24mm" in rtcvt("show")[1]


@cases
def test_show_modes_of_a_ring(rtcvt, tmp_path, name, rod, step, motion):
    """What bounds the step, by name; the mode that bounds it has the smallest step of all."""
    unit = shipped_units("pushbelt")["pushbelt_24mm"].read_text()
    (tmp_path / "rod.toml").write_text(unit.replace("[ring]", '[ring]\nrod = "cosserat"'))
    code, text, _ = rtcvt("show", name, "--modes", "MED", "--json")
    found = json.loads(text)["ring_modes"]
    assert code == 0
    assert found["rod"] == rod
    assert found["largest_step_s"] == pytest.approx(step, rel=0.02)
    k = found["bounding"]
    assert found["shares"][motion][k] > 0.95
    omega, zeta = found["omega_rad_s"], found["damping_ratio"]
    assert omega == sorted(omega)
    steps = [2 / w * ((1 + z * z) ** 0.5 - z) for w, z in zip(omega, zeta, strict=True) if w > 1]
    assert min(steps) == pytest.approx(found["largest_step_s"], rel=1e-12)
    text = rtcvt("show", "pushbelt_24mm", "--modes", "MED")[1]
    assert "the fastest of 520 modes" in text
    assert "bounded by" in text


def test_check_passes_and_fails(rtcvt, tmp_path):
    code, text, _ = rtcvt("check", "planetary", "-o", "r.html", "--json", "c.json")
    assert code == 0
    assert "contact.sp.F" in text
    figures = json.loads((tmp_path / "c.json").read_text())
    assert figures["passed"] is True
    assert figures["scenarios"][0]["errors"][0].keys() >= {"signal", "unit", "nrms", "limit", "peak"}
    assert "<html" in (tmp_path / "r.html").read_text(encoding="utf-8")
    strict = tmp_path / "strict.toml"
    strict.write_text('name = "hard"\nduration = "1 s"\ninputs = { "sun.tau" = "30 N.m" }\n'
                      "limits = { speed = 1e-9, force = 1e-9 }\n")  # fmt: skip
    code, _, err = rtcvt("check", "planetary", "--scenario", str(strict), "-o", "s.html")
    assert code == 1
    assert "is off by" in err


@mistakes
def test_mistakes_end_with_2_and_write_nothing(rtcvt, tmp_path, words, message):
    code, _, err = rtcvt(*words)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", READ)
def test_what_is_read_is_not_written_over(rtcvt, tmp_path, words):
    """Also what is read through another file, under other names, and before any work."""
    output, _, by = READ[words]
    build(tmp_path)
    link(tmp_path, words, os.link if "hard" in output else os.symlink)
    before = state(tmp_path)
    code, _, err = rtcvt(*words.split())
    assert code == 2, err
    assert re.search(rf"[-a-z]+ = '[^']*{output}': another file than [^ ]+, which is read{by and f' for {by}'}\n", err)
    assert state(tmp_path) == before


def test_the_interface_does_not_write_over_what_it_read(tmp_path, monkeypatch):
    """What it wrote itself, and recordings that it read to look at them, it does."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(files("rtcvt") / "cycles" / "nedc.csv", "cycle.csv")
    Path("cycle.toml").write_text(shipped_units()["nedc"].read_text().replace('"nedc"\n\n', '"cycle.csv"\n\n'))
    os.link("cycle.toml", "hard.fmu")
    unit = load("cycle.toml")
    run = unit.simulate(duration=0.01)
    refused(r"cycle\.csv, which is read for cycle\.toml: cycle", run.save, "cycle.csv")
    refused(r"another file than cycle\.toml, which is read", unit.export, "hard.fmu")
    run.save("run.h5")
    shutil.copy("run.h5", "other.h5")
    for name in ("run.h5", "other.h5"):
        read(name).save(name)
    Path("cycle.csv").unlink()
    run.save("new.csv")  # which may have the inode of the one that is gone
    run.save("new.csv")


@pytest.mark.parametrize(("closed", "words", "code"), [("<&- >&-", "--version", 0), ("<&- >&- 2>&-", "show none", 2)])
def test_streams_that_are_closed(tmp_path, closed, words, code):
    told = tmp_path / "told"
    line = f"{sys.executable} -X faulthandler -m rtcvt {words} {closed}; echo $? > {told}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (told.read_text(), done.stdout, done.stderr) == (f"{code}\n", "", "")


def test_brackets_are_text(rtcvt, tmp_path):
    """Names and units in brackets are no markup."""
    assert "[kg.m2]" in rtcvt("show", "--help")[1]
    (tmp_path / "s.toml").write_text('name = "[/red] up [fast]"\nduration = "0.1 s"\nsettle = 0')
    code, text, _ = rtcvt("simulate", "planetary", "--scenario", "s.toml")
    assert code == 0
    assert "[/red] up [fast]" in text


@mistakes
def test_a_missing_extra_is_named(rtcvt, monkeypatch, tmp_path, package, extra, words):
    for name in [m for m in sys.modules if f"{m}.".startswith((f"{package}.", "rtcvt.hil.", "rtcvt.offline."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = rtcvt(*words)
    assert code == 2
    assert f"this command needs {package}: pip install rtcvt[{extra}]" in err
    assert not list(tmp_path.iterdir())


def test_native_unit_from_the_command_line(rtcvt, tmp_path):
    code, text, _ = rtcvt("export", "planetary", "--backend", "native", "--no-check", "-o", "p.fmu")
    assert code == 0
    assert "model exchange" in text
    words = ["--scenario", "sun drives the carrier, ring braked", "--fast", "--json", "run.json", "-o", "run.h5"]
    code, text, _ = rtcvt("run", "p.fmu", *words)
    assert code == 0
    assert "step time" in text
    assert json.loads((tmp_path / "run.json").read_text())["misses"] is None
    assert rtcvt("simulate", "planetary", "-o", "sim.h5")[0] == 0
    ran, simulated = (read_recording(tmp_path / name).signals for name in ("run.h5", "sim.h5"))
    for name in ("sun.w", "ring.w", "contact.pr.F"):
        assert np.array_equal(ran[name].values, simulated[name].values)


ENDED = script("cli", "ended")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 1), slow("SIGHUP", 1)])
def test_a_signal_that_a_library_swallows_comes_again(name, code):
    """It comes until something is being cleaned up, and does not disturb that."""
    done = subprocess.run([sys.executable, "-c", ENDED, name], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (code, "cleaned\n")
    assert "Traceback" not in done.stderr


CODE = script("cli", "permitted")


@cases
def test_permitted_code_that_never_returns_is_ended(does, signals, code, said):
    words = [sys.executable, "-c", CODE, "--allow-code", does]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "runs\n"
        for name in signals:
            process.send_signal(signal.Signals[name])
            time.sleep(0.3)
        assert said in process.communicate(timeout=60)[1]
    assert process.returncode == code


CAUGHT = script("cli", "caught")


def test_an_interrupt_that_was_caught_does_not_come_again():
    done = subprocess.run([sys.executable, "-c", CAUGHT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "summary\n"), done.stderr


def test_two_inputs_may_be_one_file_but_no_output(tmp_path):
    def command(
        a: Path, inputs: Annotated[Path, Option("--inputs")], output: Annotated[Path, Option("--output")]
    ) -> None:
        pass

    app = Typer()
    app.command(cls=_Command)(command)
    one = tmp_path / "one.toml"
    one.write_text("", encoding="utf-8")
    words = [str(one), "--inputs", str(one), "--output"]
    assert CliRunner().invoke(app, [*words, str(tmp_path / "other")]).exit_code == 0
    assert isinstance(CliRunner().invoke(app, [*words, str(one)]).exception, InputError)
