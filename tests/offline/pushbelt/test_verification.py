"""Chapter 7: steady state, quantities, verdicts, the report; and what holds for every run of the hybrid model."""

import re
from pathlib import Path

import numpy as np
import pytest
from marks import slow
from rows import cases
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.checks import chapter7 as ch
from rtcvt.offline.pushbelt.checks import chapter7 as verification
from rtcvt.offline.pushbelt.checks.chapter7_report import report_page
from rtcvt.offline.pushbelt.checks.kept import sources
from rtcvt.offline.pushbelt.checks.signatures import PRIMARY, PUSH, QUANTITIES, SECONDARY
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import prepare
from rtcvt.offline.pushbelt.run.profiles import BINS, FIELDS, Steady, Window, belt_coordinate
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import KICK
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.windows import counted, measure, passing
from rtcvt.offline.pushbelt.unit.initial import start_state
from rtcvt.offline.pushbelt.unit.kinematics import belt_path, closure, evaluate
from rtcvt.offline.pushbelt.unit.parameters import Boundary, Parameters, belt, boundary_at, load_parameters, sheaves

UNIT = load_parameters("pushbelt_24mm")


def window(thrust: float = 1.4, **fields: np.ndarray) -> Window:
    profile = np.ones((len(FIELDS), 4 * BINS))
    for name, values in fields.items():
        profile[list(FIELDS).index(name)] = values
    return Window(t0=0.1, t1=0.2, thrust=thrust, torque=0.0, omega=np.array([100.0, 200.0]), slip=0.01,
        endplay=np.array([1e-3, 2e-3]), profile=profile, ripple=np.ones_like(profile),
        energy=np.array([1e-4, 1.0, 2.0]), losses=np.ones(len(hybrid.LOSSES)), balance=np.zeros((2, 4)))  # fmt: skip


def a_run(thrust: float = 1.4, change: float = 0.0) -> Steady:
    n = 50
    element = np.column_stack([np.linspace(0.0, 4.0, n), np.ones((n, len(FIELDS)))])
    return Steady(window(thrust + change), window(thrust), np.array([3.6, 2.7]), element, 30.0)


# --- steady state


@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.25])
def test_belt_coordinate_counts_along_the_path(ratio: float) -> None:
    geometry = closure(0.66, 0.155, ratio)
    path = belt_path(geometry, 0.155)
    s = np.linspace(0.0, path.length, 400, endpoint=False)
    p = evaluate(path, s)
    c = belt_coordinate(p.x, p.y, geometry, 0.155)
    # the path begins in the slack span and runs over the primary pulley first
    section = np.array([3, 0, 1, 2])[p.section]
    inside = np.abs(c - np.round(c)) > 1e-3
    assert np.array_equal(np.floor(c[inside]), section[inside])
    steps = np.mod(np.diff(c), 4.0)
    assert np.all(steps > 0.0)
    for k in range(4):
        same = (np.diff(section) == 0) & (section[1:] == k)
        assert np.ptp(steps[same]) < 1e-9


def test_passages_count_elements_of_a_belt_with_uneven_gaps() -> None:
    n = 40
    place = np.sort(np.random.default_rng(2).uniform(0.0, 4.0, n))
    travel = np.linspace(0.0, 9.0, 1000)  # 9/4 revolutions
    count = counted(passing(np.mod(place + travel[:, None], 4.0)), n)
    assert np.all(np.diff(count) > 0.0)
    after = np.interp(4.0, travel, count), np.interp(8.0, travel, count)
    assert after == pytest.approx((n, 2 * n), abs=1e-6)


@pytest.fixture(scope="module")
def two_passages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a coarse belt, two passages long."""
    path = tmp_path_factory.mktemp("run") / "run.h5"
    run = ch.ChapterRun(name="MED", case="MED", row=3, N_E=110, N_B=52)
    assert simulate(UNIT, run.run(2.15), path, "").done
    return path


def test_windows_are_the_last_two_passages_of_the_belt(two_passages: Path) -> None:
    found = ch.read_steady(two_passages)
    with open_run(two_passages) as file:
        rows = [slice(*(int(file[f"window/{k}"][w]) for k in ("first", "behind"))) for w in (0, 1)]
        count = file["crossings"][()]
        assert rows[0].stop == rows[1].start
        assert rows[1].stop == len(count)
        for w, r in zip((found.before, found.last), rows, strict=True):
            assert count[r.stop - 1] - count[r.start - 1] == pytest.approx(110, abs=1.1 * np.diff(count).max())
            means = measure(file, r)
            assert (w.thrust, w.slip, w.torque) == (means["thrust_ratio"], means["slip"], means["M_O"])
            through = max(abs(means[k]) for k in ("P_I", "P_O", "P_axial_I", "P_axial_O"))
            energy = means["duration"] * np.array([means["unaccounted"], means["loss"], through])
            assert w.energy == pytest.approx(energy, rel=1e-12)
            assert w.losses.sum() == pytest.approx(w.energy[1], rel=1e-12)
            assert np.abs(w.balance[:, :2]).max() < 1e-6
        assert "elements/position" not in file
        normal = found.last.profile[list(FIELDS).index("normal")]
        # every element is in a bin: the profile's mean force over the arcs holds the sheaves' axial force
        held = file["pulleys/contact_force"][rows[1]].mean(axis=0).sum()
    b = belt(UNIT, N_E=110, N_B=52, N_E0=UNIT.get_case("MED").N_E0)
    c = found.element[:, 0]
    share = np.array([np.mean(np.floor(c) == k) for k in range(4)])
    assert np.nansum(normal.reshape(4, BINS).mean(axis=1) * share) * 110 * b.cos_d == pytest.approx(held, rel=0.05)


# --- quantities and verdicts


def test_peaks_sagging_and_trend_of_a_known_profile() -> None:
    u = (np.arange(BINS) + 0.5) / BINS
    n = 100.0 + 20.0 * (u - 0.5)
    n[2], n[-3] = 250.0, 300.0
    w = window(normal=np.tile(n, 4), longitudinal=np.tile(-0.1 * n, 4))
    value = {name: function(w) for name, (function, _) in QUANTITIES.items()}
    assert value["entry peak, primary"] == pytest.approx(1.5, rel=1e-3)
    assert value["exit peak, secondary"] == pytest.approx(2.0, rel=1e-3)
    assert value["sagging, primary"] == pytest.approx(93.0 / 250.0 - 1.0, rel=5e-3)
    assert value["increase, secondary"] == pytest.approx(0.2, rel=1e-6)
    assert value["traction at exit, secondary"] == pytest.approx(0.1)
    assert value["share of negative traction, secondary"] == 0.0
    assert value["traction change, primary"] == pytest.approx(0.0, abs=1e-12)


def test_push_force_quantities() -> None:
    push = np.zeros((4, BINS))
    push[PRIMARY, BINS // 2 :] = 100.0
    push[PUSH] = 100.0
    push[SECONDARY] = 150.0
    zero = np.zeros(4 * BINS)
    w = window(rocking=push.ravel(), top=zero, bottom=zero)
    value = {name: QUANTITIES[name][0](w) for name in QUANTITIES if "push" in name}
    assert value["push force"] == pytest.approx(100.0)
    assert value["push force starts"] == pytest.approx(0.5 + 0.5 / BINS)
    assert value["rise of push force in the secondary"] == pytest.approx(0.5)
    assert value["rise of push force after the primary"] == pytest.approx(0.0)


@cases
def test_a_verdict_is_firm_if_all_within_u_gives_it(
    expected: dict, value: float, u: float, verdict: str, firm: bool
) -> None:
    s = ch.Signature(section="7", about="test", quantity="thrust ratio", runs=("OD",), **expected)
    found = ch.judge(s, value, u, "1")
    assert (found.verdict, found.firm) == (verdict, firm)


def test_u_is_what_the_mean_of_other_starts_differs_by() -> None:
    """In 95 of 100 pairs of samples: 5000 pairs leave 0.6 % of scatter."""
    ours, theirs = np.random.default_rng(5).normal(1.4, 0.03, (2, 5000, 8))
    within = [abs(a.mean() - b.mean()) <= ch.band(a) for a, b in zip(ours, theirs, strict=True)]
    assert np.mean(within) == pytest.approx(0.95, abs=6e-3)


def test_one_start_resolves_nothing() -> None:
    assert ch.band(np.array([1.4])) == np.inf
    s = ch.Signature(section="7", about="test", quantity="thrust ratio", runs=("OD",), sign="positive")
    found = ch.judge(s, 1.4, np.inf, "1")
    assert found.verdict == "not resolved"
    assert not found.firm


@cases
def test_of_several_runs_the_least_counts(of: str, sign: str, least: float, verdict: str) -> None:
    """Thrust ratios 1.0, 2.0, 1.5 in every start."""
    starts = {name: (a_run(x), a_run(x)) for name, x in (("a", 1.0), ("b", 2.0), ("c", 1.5))}
    chapter = small("a", "b", "c")
    s = ch.Signature(section="7", about="test", quantity="thrust ratio", runs=("a", "b", "c"), of=of, sign=sign)
    v = ch.Verification(UNIT, chapter.model_copy(update={"signature": (s,)}), starts, {}, {})
    assert (v.findings[0].value, v.findings[0].u, v.findings[0].verdict) == (least, 0.0, verdict)


def test_a_result_depends_on_all_modules_of_the_model() -> None:
    """Those of the kernels by what they import, and nothing that only shows results."""
    names = {file.name for file in sources() if "pushbelt" in file.parts}
    kernels = {
        file.name
        for file in Path(hybrid.__file__).parents[1].rglob("*.py")
        if re.search(r"^@(compiled|inlined|spliced)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"friction.py", "layers.py", "ledger.py", "cosserat.py", "ring_set.py"} < names
    assert kernels - {"scene.py", "projected.py", "steady.py"} <= names  # the ring is trained; the theory runs nothing
    assert not names & {"chapter7_report.py", "spatial_report.py", "tasks.py", "kind.py", "picture.py", "scene.py"}


def test_a_disturbed_start_is_another_one_and_the_same_again() -> None:
    run = ch.ChapterRun(name="a", case="OD")
    none, one, again, two = (prepare(UNIT, run.run(2.3, seed)).state for seed in (0, 1, 1, 2))
    np.testing.assert_array_equal(one.u, again.u)
    for state in (one, two):
        np.testing.assert_array_equal(none.q, state.q)
        assert (state.u - none.u)[:, :2].std() == pytest.approx(KICK, rel=0.15)
        np.testing.assert_array_equal(none.u[:, 2], state.u[:, 2])
    assert np.abs(one.u - two.u).max() > KICK


def test_each_statement_counts_once() -> None:
    about = [(s.about, s.quantity) for s in ch.chapter7().signature]
    assert len(about) == len(set(about))
    pairs = [(s.quantity, s.runs, s.of) for s in ch.chapter7().signature if s.value is None]
    assert len(pairs) == len(set(pairs))


def test_a_verdict_says_by_how_much() -> None:
    about = {"section": "7", "about": "", "quantity": "thrust ratio", "runs": ("OD",)}
    cases = (({"value": 1.5}, 1.4, "-6.7 %"), ({"range": (1.7, 2.2)}, 1.05, "-38.2 %"),
        ({"range": (1.7, 2.2)}, 2.42, "+10.0 %"), ({"range": (0.0, 1.0)}, -0.2, "-0.2 1"))  # fmt: skip
    for expected, value, by in cases:
        assert ch.judge(ch.Signature.model_validate(about | expected), value, 0.0, "1").text == f"differs by {by}"


def test_runs_of_chapter_7_exist_in_the_unit() -> None:
    chapter = ch.chapter7()
    for run in chapter.run:
        case = UNIT.get_case(run.case)
        assert run.row == 0 or run.row < len(case.M_O), run.name
    used = {name for s in chapter.signature for name in s.runs}
    assert len(used) > 20
    printed = {s.value for s in chapter.signature if s.value is not None}
    tables = {1.4854, 1.4828, 1.4722, 1.1797, 1.2014, 1.2122, 1.2174, 1.3009, 1.2929, 1.4172, 0.77436, 31.85}
    assert printed == tables  # Tables 7.4 to 7.6 and section 7.5


def test_a_load_that_rises_acts_on_the_stop_of_the_belt_without_load() -> None:
    case = UNIT.get_case("OD-SpiRun")
    without = prepare(UNIT, ch.ChapterRun(name="a", case="OD-SpiRun").run(2.3))
    rising = prepare(UNIT, ch.ChapterRun(name="a", case="OD-SpiRun", row=2, rise=2.0).run(2.3))
    np.testing.assert_array_equal(rising.state.s, without.state.s)
    np.testing.assert_array_equal(rising.state.q, without.state.q)
    M_O, n = rising.inputs[:, 6], len(without.inputs) - 1
    assert len(M_O) - 1 == pytest.approx(4.3 / 2.3 * n, abs=1)
    risen = round(2.0 / 2.3 * n)
    assert M_O[0] == 0.0
    np.testing.assert_allclose(M_O[risen + 1 :], case.M_O[2])
    assert M_O[risen // 2] == pytest.approx(0.5 * case.M_O[2], rel=2.0 / risen)
    np.testing.assert_array_equal(rising.inputs[:, :6], np.tile(without.inputs[0, :6], (len(M_O), 1)))
    with pytest.raises(InputError, match=r"rise = 2\.0: .*no load rises where speed is given"):
        prepare(UNIT, ch.ChapterRun(name="a", case="OD-speed", rise=2.0).run(2.3))


# --- all runs


def small(*names: str) -> ch.Chapter:
    run = tuple(ch.ChapterRun(name=name, case="OD") for name in names)
    s = ch.Signature(section="7.2.3, Table 7.4", about="OD", quantity="thrust ratio", runs=(names[0],), value=1.4854)
    return ch.Chapter(source="test", revolutions=2.3, starts=2, run=run, signature=(s,))


class Made:
    """Stands for the full model: notes what is run, and leaves a file for each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, why: str = "") -> None:
        self.names: list[str] = []
        self.why = why
        monkeypatch.setattr(verification, "_make", self)
        monkeypatch.setattr(verification, "read_steady", lambda file: a_run())
        monkeypatch.setattr(verification, "TIMED", ())

    def __call__(self, parameters: Parameters, run: ch.ChapterRun, revolutions: float, file: Path, seed: int) -> str:
        self.names.append(f"{run.name}{seed}")
        file.write_text("run")
        return self.why


def test_a_stopped_verification_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(monkeypatch)
    seen: list[tuple[str, int, int]] = []
    first = ch.verify(UNIT, tmp_path, small("a"), processes=1, progress=lambda *about: seen.append(about))
    again = ch.verify(UNIT, tmp_path, small("a", "b"), processes=1, progress=lambda *about: seen.append(about))
    assert made.names == ["a0", "a1", "b0", "b1"]
    assert [f.verdict for f in first.findings] == [f.verdict for f in again.findings] == ["differs"]
    assert ("b, start 2", 400, 400) in seen
    softer = UNIT.model_copy(update={"contacts": UNIT.contacts.model_copy(update={"k_R": 4e8})})
    ch.verify(softer, tmp_path, small("a"), processes=1)
    assert made.names[4:] == ["a0", "a1"]
    three = small("a").model_copy(update={"starts": 3})
    assert len(ch.verify(UNIT, tmp_path, three, processes=1).starts["a"]) == 3
    assert made.names[6:] == ["a2"]


def test_a_failed_run_is_reported_and_its_signatures_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Made(monkeypatch, why="the belt left its place")
    v = ch.verify(UNIT, tmp_path, small("a"), processes=1)
    assert v.failures == ("a: the belt left its place",)
    assert not v.findings
    assert "left its place" in report_page(v)


@pytest.mark.parametrize(("run", "revolutions", "why"), [
    (ch.ChapterRun(name="wild", case="OD", N_E=110, N_B=52, steps=10), 0.1, "the belt left its place in frame"),
    (ch.ChapterRun(name="short", case="OD", N_E=110, N_B=52), 0.1, "0.1. revolutions, two are needed")])  # fmt: skip
def test_why_a_run_has_no_result(tmp_path: Path, run: ch.ChapterRun, revolutions: float, why: str) -> None:
    assert re.match(why, verification._make(UNIT, run, revolutions, tmp_path / "run.h5"))


def complete() -> ch.Verification:
    chapter = ch.chapter7()
    results = {
        run.name: tuple(a_run(1.4 + 0.01 * k + 0.001 * j) for j in range(run.starts or chapter.starts))
        for k, run in enumerate(chapter.run)
    }
    return ch.Verification(UNIT, chapter, results, dict.fromkeys(verification.TIMED, (30.0, 0.5)), {})


@cases
def test_a_run_that_loses_energy_fails(energy: tuple[float, float, float], failed: str) -> None:
    """A hundredth of the loss, a thousandth of the throughput; in any start."""
    good = a_run()
    bad = good._replace(last=good.last._replace(energy=np.array(energy)))
    found = ch.Verification(UNIT, small("a"), {"a": (good, bad)}, {}, {}).failures
    assert len(found) == bool(failed)
    assert not failed or re.match(rf"a: energy of .* is unaccounted for, {failed}", found[0])


def test_the_command_writes_a_complete_report_and_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    v = complete()
    monkeypatch.setattr("rtcvt.offline.pushbelt.checks.chapter7_report.verify", lambda *a, **k: v)
    report, figures = tmp_path / "r.html", tmp_path / "r.json"
    done = CliRunner().invoke(app, ["check", "pushbelt_24mm", "-o", str(report), "--json", str(figures)])
    assert done.exit_code == 0, done.output
    assert '"verdict"' in figures.read_text()
    found = report.read_text(encoding="utf-8")
    for f in v.findings:
        assert f.signature.section.partition(", ")[2] in found
    assert found.count("<svg") == 10
    assert not re.search(r'(src|href)="(?!#)', found)
    ids = re.findall(r'\bid="([^"]+)"', found)
    assert len(ids) == len(set(ids))
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", found, flags=re.DOTALL).lower().replace("nano", "")


# --- what holds for every run


def turned(q: np.ndarray, d_A: float) -> np.ndarray:
    """Positions after half a turn of everything about the middle between the pulleys."""
    out = q.copy()
    out[:, 0], out[:, 1], out[:, 2] = d_A - q[:, 0], -q[:, 1], q[:, 2] + np.pi
    return out


@pytest.mark.parametrize(("unilateral", "coupled"), [(True, True), slow(False, False)])
def test_half_a_turn_exchanges_the_pulleys_and_reverses_the_torque(unilateral: bool, coupled: bool) -> None:
    """Both pulleys are alike: driving through O is driving through I, seen from the other side."""
    b, sh = belt(UNIT, N_E0=432), sheaves(UNIT)
    n = 6
    row = np.array(Boundary(0, 1e4, 0, 1.05e4, 200.0, 1, 199.0), dtype=float)
    start = start_state(
        b, sh if coupled else sh._replace(multiplier=0.0), Boundary(0, 1e4, 0, 1e4, 200.0, 0, 20.0), 1.0
    )
    m = hybrid.model(b, sh, unilateral=unilateral, coupled=coupled)
    sd = start.sd.copy()
    sd[0, 3], sd[1, 3] = 200.0, 199.0
    one = hybrid.state(start.q, start.u, start.q_R, start.u_R, start.s_R, start.s, sd, len(sh.A) - 1)
    s, rates = start.s[::-1].copy(), sd[::-1].copy()
    s[:, 1:3] *= -1.0
    u, u_R = start.u.copy(), start.u_R.copy()
    u[:, :2] *= -1.0
    u_R[:, :2] *= -1.0
    other = hybrid.state(turned(start.q, b.d_A), u, turned(start.q_R, b.d_A), u_R, start.s_R, s, rates, len(sh.A) - 1)
    back = np.array([row[2], row[3], row[0], row[1], 199.0, 1, 200.0])
    a, _ = hybrid.run(m, one, np.tile(row, (n + 1, 1)), 50)
    c, _ = hybrid.run(m, other, np.tile(back, (n + 1, 1)), 50)
    # rounding differs: 3e-8 N after 50 steps, and grows tenfold every 80 steps, so the comparison ends after 300
    for name, scale in (("joint", 100.0), ("saddle", 100.0), ("flank", 100.0), ("tension", 1000.0)):
        assert getattr(a, name) == pytest.approx(getattr(c, name), abs=1e-6 * scale), name
    assert np.abs(turned(one.q, b.d_A)[:, :2] - other.q[:, :2]).max() < 1e-9
    assert a.pulley[:, ::-1, :4] == pytest.approx(c.pulley[:, :, :4], abs=1e-2)


def gross_slip(n_frames: int = 300) -> tuple[hybrid.Model, hybrid.Frames, float]:
    """Ratio 1 between end stops, with rigid sheaves and the secondary held 20 % too slow, so that the flanks
    use 99 % of their friction (95 % at 10 %); and the radius."""
    b = belt(UNIT, N_E0=432)._replace(mu_R=0.0)
    sh = sheaves(UNIT)._replace(c_t=1e8)
    stopped = Boundary(1, 0.0, 0, 1e4, 200.0, 0, 60.0)
    start = start_state(b, sh._replace(multiplier=0.0), stopped, 1.0)
    x = hybrid.state(start.q, start.u, start.q_R, start.u_R, start.s_R, start.s, start.sd, len(sh.A) - 1)
    m = hybrid.model(b, sh, unilateral=True, coupled=False)
    inputs = np.tile(np.array([1, 0.0, 1, 0.0, 200.0, 1, 160.0]), (n_frames + 1, 1))
    out, done = hybrid.run(m, x, inputs, 100)
    assert done == n_frames
    return m, out, start.steady.geometry.r_O


@pytest.mark.slow
def test_slipping_belt_is_that_of_euler_eytelwein_and_sattler() -> None:
    """Gross slip on one pulley: friction is longitudinal and full. Then (L_1 - K)/(L_2 - K) = exp(mu psi/sin delta_0)
    over the wrapped arc psi, and the pulley's torque is 2 mu r F/cos(delta_0)."""
    m, out, r = gross_slip()
    b = m.belt
    half = len(out.q) // 2
    slip = np.abs(out.flank[half:, :, 1]).sum(axis=1) / out.flank[half:, :, 0].sum(axis=1)
    assert slip.mean() > 0.5 * b.mu
    pulley = out.pulley[half:].mean(axis=0)
    r_P = r - (b.h_P + 0.5 * b.h_ring - b.y_P)
    capacity = 2.0 * b.mu * r_P * pulley[:, 0] / b.cos_d
    used = np.abs(pulley[:, 2]) / capacity
    assert used.max() == pytest.approx(1.0, abs=0.03)

    c = belt_coordinate(out.q[half:, :, 0], out.q[half:, :, 1], closure(b.l_R, b.d_A, 1.0), b.d_A)
    push = out.joint[half:, :, :3].sum(axis=2)
    e = np.minimum(out.s_R[half:].astype(int), b.N_B - 1)
    L = out.tension[half:][np.arange(len(e))[:, None], e] - push
    spans = [L[(np.floor(c) == k) & (np.abs(c - k - 0.5) < 0.4)].mean() for k in (1, 3)]
    v = np.hypot(out.u[half:, :, 0], out.u[half:, :, 1]).mean()
    K = b.m_star * v**2
    exponent = abs(np.log((spans[0] - K) / (spans[1] - K)))
    assert exponent == pytest.approx(b.mu * np.pi / b.sin_d, rel=0.05)


def test_inputs_of_a_run_are_those_of_its_case() -> None:
    case = prepare(UNIT, ch.ChapterRun(name="x", case="MED", row=3).run(0.1))
    assert np.array_equal(case.inputs[0], boundary_at(UNIT.get_case("MED"), np.zeros(1), 3)[0])
    assert len(case.inputs) * ch.PLOT == pytest.approx(0.1 * 0.66 / 11.2, rel=0.1)
