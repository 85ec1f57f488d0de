"""Check of belt drives: errors, ripple, capstan on made-up runs; a small drive from its file to its report."""

import tomllib

import numpy as np
import pytest

from offline.beltdrive import verification
from offline.beltdrive.report import report_page
from offline.beltdrive.results import Case, Result
from offline.beltdrive.verification import capstan_curve, compare, load_cases, ripple, verify
from rtcvt.belt.model import build_belt
from rtcvt.belt.unit import load_belt_unit, read_belt_unit
from rtcvt.errors import InputError
from rtcvt.simulate import simulate

SMALL = """
name = "small"
kind = "belt"
[belt]
EA = "1e4 N"
EI = "0.0208 N.m2"
mass = "1.036 kg/m"
damping = "0.5 N.s"
pretension = "200 N"
[pulleys.driving]
center = ["0 m", "0 m"]
radius = "81.25 mm"
inertia = "0.02 kg.m2"
[pulleys.driven]
center = ["300 mm", "0 m"]
radius = "81.25 mm"
inertia = "0.02 kg.m2"
friction = "0.1 N.m.s/rad"
[hybrid]
mu = 1.0
[elements]
c_1 = 0.0
c_2 = "5e6 N/m"
b = "300 N.s/m"
p_max = "1 mm"
mu = 1.0
dv = "0.01 m/s"
elements = 40
tolerance = 1e-4
[[scenario]]
name = "start"
duration = "0.12 s"
inputs = { "driving.tau" = { time = [0.0, 0.05], value = ["0 N.m", "8 N.m"] } }
"""


def small(**scenario):
    data = tomllib.loads(SMALL)
    data["scenario"][0] |= scenario
    return read_belt_unit(data, SMALL, "small.toml")


def as_full(case, factor=1.0):
    """The real-time model's own run in the place of a full one, speeds by a factor."""
    fast = simulate(build_belt(case.unit, "hybrid"), case.scenario, case.unit.step)
    path, names = case.unit.path(), list(case.unit.pulleys)
    spans = [f"{a}_{b}.F" for a, b in zip(names, names[1:] + names[:1], strict=True)]
    series = {s: fast[s] for s in spans} | {f"{n}.w": factor * fast[f"{n}.w"] for n in names}
    for i, n in enumerate(names):
        series[f"{n}.M"] = path.sigma[i] * path.radius[i] * (fast[spans[i]] - fast[spans[i - 1]])
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


def test_ripple_is_what_one_passage_takes_away():
    """A sine of the elements' passage is all ripple, a ramp none."""
    case = load_cases(small())[0]
    unit = case.unit
    length, speed = unit.path().length / unit.elements.elements, 2.0
    t = 1e-4 * np.arange(4001)
    full = Result(case, t, {"driving.w": np.full(t.size, speed / 0.08125)}, {}, 0.0)
    wave = 5.0 * np.sin(2.0 * np.pi * speed * t / length)
    inner = slice(200, -200)
    np.testing.assert_allclose(ripple(case, full, 300.0 + 10.0 * t + wave)[inner], wave[inner], atol=0.02)
    np.testing.assert_allclose(ripple(case, full, 300.0 + 10.0 * t)[inner], 0.0, atol=1e-6)
    ancf = load_cases(load_belt_unit("two_pulley_belt"))[0]
    np.testing.assert_array_equal(ripple(ancf, full, wave), 0.0)


@pytest.mark.parametrize("driving", [True, False])
def test_capstan_on_the_first_pulley(driving):
    """The belt slips where it leaves the pulley; two_pulley_belt runs against the order of its pulleys."""
    unit = load_belt_unit("two_pulley_belt")
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
    unit = load_belt_unit("accessory_5pk")
    cases = {c.name: c for c in load_cases(unit)}
    assert [*cases][:3] == [s.name for s in unit.scenario]
    rough, tight = cases["twice the friction"].unit, cases["five quarters of the pretension"].unit
    assert rough.elements.mu == 2.0 * unit.elements.mu
    assert rough.hybrid.mu == 2.0 * unit.hybrid.mu
    assert tight.belt.pretension == 1.25 * unit.belt.pretension
    assert len({c.key for c in cases.values()}) == len(cases)
    with pytest.raises(InputError, match=r"accessory_5pk\.toml: scenario: at least one"):
        load_cases(unit.model_copy(update={"scenario": ()}))
    with pytest.raises(InputError, match=r"accessory_5pk\.toml: hybrid: a table"):
        load_cases(unit.model_copy(update={"hybrid": None}))


def test_check_of_a_small_drive(tmp_path):
    """Interrupted and taken up again; every figure and number stands in the report."""
    unit = small()

    def stop(name, done, last):
        if name == "twice the friction" and done > 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(unit, tmp_path, stop)
    assert sorted(f.name.endswith(".run.h5") for f in tmp_path.iterdir()) == [False, True]
    v = verify(unit, tmp_path)
    assert sorted(f.name.endswith(".run.h5") for f in tmp_path.iterdir()) == [False] * 3
    assert [c.title for c in v.comparisons] == ["start", "twice the friction", "five quarters of the pretension"]
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
