"""Check of belt drives: errors, ripple, capstan on made-up runs; a small drive from its file to its report."""

import json
import tomllib

import numpy as np
import pytest
from refusals import refused
from rows import mistakes, text_of

from rtcvt.belt.model import build_belt
from rtcvt.belt.reading import read_belt_unit
from rtcvt.errors import InputError
from rtcvt.kind import load_unit
from rtcvt.offline.belt import rosenbrock, tasks, verification
from rtcvt.offline.belt.report import report_page
from rtcvt.offline.belt.results import Case, Result
from rtcvt.offline.belt.runs import estimated
from rtcvt.offline.belt.verification import capstan_curve, compare, load_cases, passage_mean, verify
from rtcvt.recording import read_recording
from rtcvt.simulate import simulate
from rtcvt.unitfile import UnitFile

SMALL = text_of("units/small_belt.toml")


def small(**scenario):
    data = tomllib.loads(SMALL)
    data["scenario"][0] |= scenario
    return read_belt_unit(UnitFile(data, SMALL, "small.toml"))


def test_contact_constants_are_estimated_where_a_file_has_none():
    """They are printed as a table that the file takes; a belt without a width, which goes into them, is refused."""
    data = tomllib.loads(SMALL)
    del data["elements"]
    with pytest.raises(InputError, match=r"small\.toml: belt\.width: the belt's width"):
        estimated(read_belt_unit(UnitFile(data, "", "small.toml")))
    data["belt"] |= {"width": "20 mm", "height": "4 mm", "type": "flat"}
    unit = read_belt_unit(UnitFile(data, "", "small.toml"))
    full, table = estimated(unit)
    again = read_belt_unit(UnitFile(data | tomllib.loads(table), "", "small.toml"))
    for key, value in full.ancf.model_dump().items():
        assert getattr(again.ancf, key) == (pytest.approx(value, rel=5e-3) if isinstance(value, float) else value)
    assert estimated(full) == (full, "")
    assert next(c.name for c in load_cases(full)) == "nominal"


def as_full(case, factor=1.0):
    """The real-time model's own run in the place of a full one, speeds by a factor."""
    fast = simulate(build_belt(case.unit, "hybrid"), case.scenario, case.unit.step)
    names = list(case.unit.pulleys)
    spans = [f"{a}_{b}.F" for a, b in zip(names, names[1:] + names[:1], strict=True)]
    series = {s: fast[s] for s in spans} | {f"{n}.w": factor * fast[f"{n}.w"] for n in names}
    return Result(case, fast.time, series, {}, 1.0)


def test_errors_of_a_model_beside_itself():
    case = load_cases(small())[0]
    assert {e.name: e.nrms for e in compare(case, as_full(case), "same").errors} == dict.fromkeys(
        ["driving.w", "driving.M", "driven.w", "driven.M", "driving_driven.F", "driven_driving.F"], 0.0
    )
    off = compare(case, as_full(case, 1.02), "faster")
    w = off.full.series["driven.w"]
    expected = 0.02 / 1.02 * np.sqrt(np.mean(w[1:] ** 2)) / np.max(w)
    found = {e.name: e for e in off.errors}
    assert found["driven.w"].nrms == pytest.approx(expected, rel=1e-9)
    assert (found["driven.w"].limit, found["driven.M"].limit) == (0.01, 0.03)
    assert found["driven_driving.F"].nrms == 0.0


def test_mean_over_a_passage():
    """A wave of the elements' passage goes, a ramp stays; the first and the last half of a passage have no mean."""
    case = load_cases(small())[0]
    unit = case.unit
    length, speed = unit.path().length / unit.elements.elements, 2.0
    t = 1e-4 * np.arange(4001)
    full = Result(case, t, {"driving.w": np.full(t.size, speed / 0.08125)}, {}, 0.0)
    wave, ramp = 5.0 * np.sin(2.0 * np.pi * speed * t / length), 300.0 + 10.0 * t
    inside = (t * speed > 0.51 * length) & ((t[-1] - t) * speed > 0.51 * length)
    np.testing.assert_allclose(passage_mean(case, full, ramp + wave)[inside], ramp[inside], atol=0.02)
    assert np.isnan(passage_mean(case, full, ramp)[t * speed < 0.49 * length]).all()
    with pytest.raises(InputError, match=r"scenario 'start': duration = 0\.1: time in which the belt travels"):
        passage_mean(case, Result(case, t, {"driving.w": 1e-3 * np.ones(t.size)}, {}, 0.0), ramp)
    ancf = load_cases(load_unit("two_pulley_belt"))[0]
    np.testing.assert_array_equal(passage_mean(ancf, full, wave), wave)


@pytest.mark.parametrize("driving", [True, False])
def test_capstan_on_the_first_pulley(driving):
    """The belt slips where it leaves the pulley; two_pulley_belt runs against the order of its pulleys."""
    unit = load_unit("two_pulley_belt")
    path, mu = unit.path(), 0.5
    low, high = path.arc(0)
    tight, slack = 660.0, 180.0
    slip = np.log(tight / slack) / mu
    s = np.linspace(0.0, path.length, 2000, endpoint=False)
    turn = (s - low if driving else high - s) / path.radius[0]
    F = np.where((s >= low) & (s <= high), slack * np.exp(mu * np.clip(turn, 0.0, slip)), 0.0)
    after, before = (tight, slack) if driving else (slack, tight)
    series = {"P1_P2.F": np.array([after]), "P2_P1.F": np.array([before])}
    r = Result(
        Case("made up", unit, unit.scenario[0]), np.zeros(1), series, {"belt.s": s[None], "belt.F": F[None]}, 0.0
    )
    where, ours, theory = capstan_curve(r, mu)
    assert (where.min(), where.max()) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
    np.testing.assert_allclose(ours, theory, rtol=1e-12)


def test_load_cases_change_both_models():
    unit = load_unit("accessory_5pk")
    cases = {c.name: c for c in load_cases(unit)}
    assert [*cases][: len(unit.scenario)] == [s.name for s in unit.scenario]
    rough, tight = cases["twice the friction"].unit, cases["five quarters of the pretension"].unit
    assert rough.elements.mu == 2.0 * unit.elements.mu
    assert rough.hybrid.mu == 2.0 * unit.hybrid.mu
    assert tight.belt.pretension == 1.25 * unit.belt.pretension
    assert {c.unit.elements.elements for c in cases.values()} == {2 * unit.elements.elements}
    assert {c.unit.elements.c_2 for c in cases.values()} == {0.5 * unit.elements.c_2}
    assert len({c.key for c in cases.values()}) == len(cases)
    with pytest.raises(InputError, match=r"accessory_5pk\.toml: scenario: at least one"):
        load_cases(unit.model_copy(update={"scenario": ()}))
    refused(r"accessory_5pk\.toml: hybrid: a table", lambda: load_cases(unit.model_copy(update={"hybrid": None})))


@mistakes
def test_all_scenarios_are_read_before_the_first_runs(tmp_path, inputs, message):
    unit = small()
    late = unit.scenario[0].model_copy(update={"name": "late", "inputs": inputs})
    refused(message, lambda: verify(unit.model_copy(update={"scenario": (*unit.scenario, late)}), tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def rtcvt(monkeypatch, command, tmp_path):
    """Run a command in an empty folder that holds the small drive; exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return command


def test_check_of_a_small_drive(rtcvt, tmp_path):
    """Interrupted and taken up again; every figure and number stands in the report."""
    unit, runs = small(), tmp_path / "r_runs"

    def stop(name, done, last):
        if name == "twice the friction, run 2 of 3" and done > 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(unit, runs, stop)
    assert sorted(f.name.endswith(".run.h5") for f in runs.iterdir()) == [False, True]
    v = verify(unit, runs)
    assert sorted(f.name.endswith(".run.h5") for f in runs.iterdir()) == [False] * 4
    assert [c.title for c in v.comparisons] == ["start", "twice the friction", "five quarters of the pretension"]
    assert [c.full.case.unit.elements.elements for c in v.comparisons] == [64] * 3
    assert set(v.discretisation) == {e.name for e in v.comparisons[0].errors}
    assert max(v.discretisation.values()) < 0.05
    for c in v.comparisons:
        assert {e.name: e.nrms for e in c.errors if e.kind == "speed"} == pytest.approx(
            {"driving.w": 0.0, "driven.w": 0.0}, abs=0.02
        )
    html = report_page(v)
    assert html.count("<svg") == 1 + len(v.comparisons)
    assert "Figures" not in html  # of a source: only with shipped drives
    figures = v.figures()
    assert figures["passed"] == (not v.failures)
    assert (
        figures["load_cases"][1]["errors"][0]["limit"]
        == verification.LIMITS[figures["load_cases"][1]["errors"][0]["kind"]]
    )
    begun = {f.name: f.stat().st_mtime_ns for f in runs.iterdir()}
    code, text, error = rtcvt("check", "small.toml", "-o", "r.html", "--json", "r.json")
    assert code == (1 if v.failures else 0)
    assert "report: r.html" in text
    assert error.count("failed:") == len(v.failures)
    assert {f.name: f.stat().st_mtime_ns for f in runs.iterdir()} == begun
    assert json.loads((tmp_path / "r.json").read_text())["load_cases"][0]["name"] == "start"


def test_full_run_on_the_command_line(rtcvt, tmp_path):
    run = ("simulate", "small.toml", "-m", "full", "-o", "a.h5", "--duration")
    code, text, _ = rtcvt(*run, "20 ms", "--json", "a.json")
    assert code == 0
    assert "0.02 s computed" in text
    assert "run, complete: a.h5" in text
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["model"] == "elements"
    assert found["elements"] == 32
    assert found["tension_N"]["driving_driven"] == pytest.approx(200.0, rel=0.2)
    assert abs(found["unaccounted_J"]) < 1e-2 * found["input_J"]
    code, text, _ = rtcvt(*run, "50 ms", "--resume")
    assert code == 0
    assert "0.03 s computed" in text
    recording = read_recording(tmp_path / "a.h5")
    assert recording.time[-1] == pytest.approx(0.05)
    assert recording.attributes["complete"]


def test_interrupt_on_the_command_line(rtcvt, tmp_path, monkeypatch):
    step = rosenbrock.integrate

    def interrupted(t, *rest):
        if t > 0.025:
            raise KeyboardInterrupt
        return step(t, *rest)

    monkeypatch.setattr(rosenbrock, "integrate", interrupted)
    code, text, error = rtcvt("simulate", "small.toml", "-m", "full", "-o", "a.h5")
    assert code == 130
    assert "run, partial: a.h5" in text
    assert "--resume continues" in error
    assert not read_recording(tmp_path / "a.h5").attributes["complete"]


def test_a_full_model_that_fails_ends_the_check(rtcvt, tmp_path, monkeypatch):
    def fails(*given, **named):
        raise ArithmeticError("no step is small enough")

    monkeypatch.setattr(tasks, "verify", fails)
    code, _, error = rtcvt("check", "small.toml", "-o", "r.html")
    assert code == 1
    assert error.strip() == "error: no step is small enough"
    assert not (tmp_path / "r.html").exists()


@mistakes
def test_refusals_on_the_command_line(rtcvt, tmp_path, words, message):
    code, _, error = rtcvt(*words)
    assert code == 2
    assert message in error
    assert [f.name for f in tmp_path.iterdir()] == ["small.toml"]


@mistakes
def test_bad_units(rtcvt, tmp_path, key, value, message):
    text = SMALL
    if key == "center":
        text = text.replace('["300 mm", "0 m"]', f'["{value}", "0 m"]')
    elif key == "length":
        text = text.replace('pretension = "200 N"', f'length = "{value}"')
    elif value is None:
        head, _, tail = text.partition("[elements]")
        text = head + "[elements]" + tail.replace("mu = 1.0\n", "")
    else:
        old = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(old, f'{key} = "{value}"')
    (tmp_path / "small.toml").write_text(text)
    code, _, error = rtcvt("simulate", "small.toml", "-m", "full")
    assert code == 2
    assert f"small.toml: {message}" in error
