"""Files of runs: what they hold, and that neither a kill nor Ctrl-C nor a second start changes a bit of it."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace

import h5py
import numpy as np
import pytest
from damages import damaged
from marks import slow
from pushbelt_starts import UNIT, begun
from rows import mistakes

from rtcvt.errors import InputError
from rtcvt.files.hdf5 import seal
from rtcvt.offline.pushbelt.contact import element_ring
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.marks import FILE
from rtcvt.offline.pushbelt.run.prepare import prepare, ring_steps
from rtcvt.offline.pushbelt.run.reading import (
    HISTORY,
    element_history,
    figures,
    open_run,
    partial_path,
    recording,
    run_of,
)
from rtcvt.offline.pushbelt.run.runfile import DATASETS, Journal
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, LEFT, Branch, Case, Point, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.windows import F_REF
from rtcvt.offline.pushbelt.unit.parameters import belt
from rtcvt.offline.variator.alignment import load_samples
from rtcvt.unitfile import find_unit


def a_case(case="OD", row=0, duration=2e-3, plot_step=1e-5, **settings):
    """A run of a case that observes everything but profiles."""
    start, see = Case(case, row), ("elements", "fields")
    return Run(case, start, Settings(**settings), duration=duration, plot_step=plot_step, observe=see)


SHORT = a_case()  # 200 frames in 4 blocks
FRAMES, BLOCK = 200, 50


def simulated(run, path, **options):
    """The outcome of a run of the shipped unit."""
    return simulate(UNIT, run, path, UNIT.text, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbed."""
    path = tmp_path_factory.mktemp("whole") / "run.h5"
    outcome = simulated(SHORT, path)
    assert (outcome.done, outcome.ended, outcome.frames, outcome.computed) == (True, COMPLETE, FRAMES, FRAMES)
    assert [p.name for p in path.parent.iterdir()] == ["run.h5"]
    return path


def datasets(file):
    found = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def assert_same_run(a, b):
    """The same frames, means and state at the end, bit by bit."""
    with open_run(a) as one, open_run(b) as other:
        assert set(datasets(one)) == set(datasets(other))
        for name, data in datasets(one).items():
            assert np.array_equal(data[()], other[name][()], equal_nan=data.dtype.kind == "f"), name


def test_file_describes_itself(whole):
    with open_run(whole) as file:
        assert file.attrs["schema_version"] == 2
        assert {"revision", "created", "rtcvt_version", "unit", "case", "run", "M_O"} <= set(file.attrs)
        assert run_of(file) == SHORT
        assert file["unit_file"].asstr()[()] == find_unit("pushbelt_24mm").read_text(encoding="utf-8")
        scaled = belt(UNIT, N_E0=432)
        assert json.loads(file.attrs["parameters"])["belt"] == scaled._asdict()
        assert file["ended"][()].tolist() == [COMPLETE]
        for name, data in datasets(file).items():
            assert data.attrs["units"], name
            assert data.attrs["description"], name
            if data.ndim and name.split("/")[0] in {"elements", "ring", "sheaves", "pulleys", "energy", "fields"}:
                assert data.fletcher32, name
            if "columns" in data.attrs and name != "grid/section":
                assert len(data.attrs["columns"]) == data.shape[-1], name
        assert file["time"][()] == pytest.approx(np.arange(1, FRAMES + 1) * 1e-5, rel=1e-12)
        assert file["grid/section"].shape == file["fields/push"].shape[1:]


def test_frames_are_those_of_the_scheme(whole):
    one = begun("OD", 0, 30, 1e-5)
    expected, _ = hybrid.run(hybrid.model(one.belt, one.sheaves), one.state, one.inputs, 10, 1e-5 / 10)
    with open_run(whole) as file:
        for name, source in DATASETS.items():
            exact = getattr(expected, source.field)[(slice(None), *source.part)]
            assert np.array_equal(file[name][:30], exact.astype(source.dtype)), name
        summary = figures(file)
    assert {source.field for source in DATASETS.values()} == set(expected._fields)
    assert summary["clamping_force_N"][1] == pytest.approx(6128.0)
    (pulled, _), (back, _) = summary["bearing_N"]  # the belt draws the two pulleys together
    assert pulled < -1000.0
    assert pulled + back == pytest.approx(0.0, abs=0.05 * back)
    assert abs(summary["residual_of_throughput"]) < 1e-2


def in_child(function):
    """Run in a forked process, where the kernels are compiled already; returns its exit code."""
    child = multiprocessing.get_context("fork").Process(target=function)
    child.start()
    child.join()
    return child.exitcode


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("flush", [slow(1), slow(2), 3])
def test_killed_run_goes_on_as_if_nothing_had_happened(whole, tmp_path, flush):
    """SIGKILL when something is to go to the disk, twice for each block: frames with state, and that they are there."""
    path = tmp_path / "run.h5"
    kept = (flush + 1) // 2 * BLOCK

    def run():
        count = iter(range(-2, 100))  # the head
        proper = Journal._sync

        def killed(journal):
            journal._file.flush()
            if next(count) == flush:
                os.kill(os.getpid(), signal.SIGKILL)
            proper(journal)

        Journal._sync = killed
        simulated(SHORT, path)

    assert in_child(run) == -signal.SIGKILL
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5.partial"]
    if kept:
        with open_run(partial_path(path)) as file:
            assert figures(file)["status"] == "unfinished"
            assert len(file["elements/position"]) == len(file["time"]) == kept
    with pytest.raises(InputError, match="resume"):
        simulated(SHORT, path)
    outcome = simulated(SHORT, path, resume=True)
    assert (outcome.done, outcome.computed) == (True, FRAMES - kept)
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
    assert_same_run(whole, path)


def test_interrupted_run_is_kept_and_goes_on(whole, tmp_path):
    path = tmp_path / "run.h5"

    def press(case, done, total):
        if done == BLOCK:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    outcome = simulated(SHORT, path, progress=press)
    assert (outcome.done, outcome.frames, outcome.path) == (False, 2 * BLOCK, partial_path(path))
    assert signal.getsignal(signal.SIGINT) is handler
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5.partial"]
    with open_run(outcome.path) as file:
        assert figures(file)["status"] == "unfinished"
    growing = recording(outcome.path)
    assert growing.time == pytest.approx(np.arange(1, 2 * BLOCK + 1) * 1e-5)
    assert growing.signals["pulleys.clamping_force.secondary"].values == pytest.approx(6128.0)
    assert growing.signals["pulleys.belt_torque.primary"].unit == "N.m"
    with outcome.path.open("ab") as file:
        file.write(b"half a block")  # of a kill
    assert simulated(SHORT, path, resume=True).computed == 2 * BLOCK
    assert_same_run(whole, path)
    before = path.stat().st_mtime_ns
    again = simulated(SHORT, path, resume=True)
    assert (again.done, again.computed, path.stat().st_mtime_ns) == (True, 0, before)


def test_run_is_extended(whole, tmp_path):
    path = tmp_path / "run.h5"
    simulated(a_case(duration=3e-4), path)
    assert simulated(SHORT, path, resume=True).computed == FRAMES - 30
    assert_same_run(whole, path)
    with pytest.raises(InputError, match="at least the existing"):
        simulated(a_case(duration=3e-4), path, resume=True)


def test_run_with_branches_goes_on_with_the_same_bits(tmp_path):
    """Stopped in the settling and before each branch."""
    branches = tuple(Branch(y, 1.0, 0.3, 0.0, 0.1, 0.3) for y in (1.2, 0.9))
    settings = Settings(N_E=110, N_B=52, scheme="multirate", load=Load(3e4, 1.0, 0.3, 1.0))
    run = Run("r", Point(1.0, 300.0, 0.3, 8e3), settings, 0.8, mean=0.3, branches=branches, frames=100)
    whole, path = tmp_path / "whole.h5", tmp_path / "run.h5"
    assert simulated(run, whole, plan="p").done
    stops = 0

    def press(name, done, total):
        signal.raise_signal(signal.SIGINT)

    while not simulated(run, path, plan="p", resume=True, progress=press).done:
        stops += 1
    assert stops == 3
    assert_same_run(whole, path)


def test_resume_refuses_a_run_of_another_release(tmp_path):
    """Its checkpoint lacks what the state has got since."""
    path = tmp_path / "run.h5"
    simulated(a_case(duration=1e-3), path, progress=lambda *_: signal.raise_signal(signal.SIGINT))
    partial = partial_path(path)
    with Journal(partial, write=False) as journal:
        head, *blocks = journal._records()
    for block in blocks:
        del block["state/load"]
    partial.unlink()
    Journal.create(partial, head, *blocks)
    before = partial.read_bytes()
    with pytest.raises(InputError, match=r"run\.h5\.partial.*checkpoint/load.*this release"):
        simulated(a_case(duration=1e-3), path, resume=True)
    assert partial.read_bytes() == before
    assert list(tmp_path.iterdir()) == [partial]


@pytest.mark.parametrize("ended", [False, slow(True)])
def test_damaged_files_are_refused_by_name(tmp_path, ended):
    """Nothing is read from, and nothing done to, a file in which one bit is not as it was written."""
    path = tmp_path / "run.h5"
    run = a_case(duration=1e-3, N_E=110, N_B=52)
    stop = None if ended else lambda *_: signal.raise_signal(signal.SIGINT)
    outcome = simulated(run, path, progress=stop)
    assert outcome.done is ended
    good, rng, longer = outcome.path.read_bytes(), np.random.default_rng(3), replace(run, duration=2e-3)
    refused = 0
    for k in range(75):
        bad = damaged(good, k, rng)
        if bad == good:  # zeros that were zeros
            continue
        outcome.path.write_bytes(bad)
        try:
            with pytest.raises(InputError, match=r"run\.h5"), open_run(outcome.path):
                pass
            with pytest.raises(InputError, match=r"run\.h5"):
                simulated(longer, path, resume=True)
        except pytest.fail.Exception:
            assert ended  # within the user block, behind the mark, there is nothing to damage
            assert bad[512:] == good[512:]
            assert bad[:64] == good[:64]
            assert k % 3
            continue
        refused += 1
        assert outcome.path.read_bytes() == bad
        assert list(tmp_path.iterdir()) == [outcome.path]
    assert refused >= 50
    outcome.path.write_bytes(good)
    assert simulated(longer, path, resume=True).done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_do_not_write_one_run(tmp_path):
    path = tmp_path / "run.h5"
    simulated(SHORT, path, progress=lambda *_: signal.raise_signal(signal.SIGINT))
    with (
        Journal(partial_path(path), write=True),
        pytest.raises(InputError, match=r"run\.h5\.partial.*no other process"),
    ):
        simulated(SHORT, path, resume=True)


def test_resume_refuses_another_run(whole, tmp_path):
    before = whole.read_bytes()
    for other in ({"law": "decoupled"}, {"N_E": 200}, {"taper": 5e-6}, {"plot_step": 2e-5}):
        with pytest.raises(InputError, match=r"to be resumed|parameters"):
            simulated(a_case(**({"duration": 4e-3} | other)), whole, resume=True)
    stiffer = UNIT.model_copy(update={"contacts": UNIT.contacts.model_copy(update={"k_R": 4e8})})
    with pytest.raises(InputError, match="parameters"):
        simulate(stiffer, SHORT, whole, UNIT.text, resume=True)
    assert whole.read_bytes() == before
    assert not partial_path(whole).exists()
    foreign = tmp_path / "foreign.h5"
    foreign.write_text("no HDF5")
    with pytest.raises(InputError, match="pushbelt run"):
        simulated(SHORT, foreign, resume=True)


@mistakes
def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        simulated(a_case(**settings), tmp_path / "run.h5")
    with pytest.raises(InputError, match="writable folder"):
        simulated(SHORT, tmp_path / "nowhere" / "run.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("model", "most"), [("hybrid", 2.23e-6), ("spatial", 1.76e-6)])
def test_stiff_joints_bound_the_step(model, most):
    """Above, the belt goes on, and slips by points more or less; below it slips as with half the step."""
    stiff = UNIT.model_copy(update={"contacts": UNIT.contacts.model_copy(update={"k_R": 1e9})})
    run = a_case("MED", 3, plot_step=1e-4, scheme="multirate", model=model, flank_points=1 + (model == "spatial"))
    assert prepare(stiff, run).clock.step <= most == pytest.approx(prepare(stiff, run).clock.step, rel=0.05)
    with pytest.raises(InputError, match="joints as stiff as"):
        prepare(stiff, replace(run, settings=replace(run.settings, step=1.1 * most)))


def test_stiff_tracking_bounds_the_multirate_step():
    """Held for a step, it would make rings swing on the spans: a bilateral pillar needs the explicit scheme."""
    pillar = UNIT.model_copy(update={"spatial": UNIT.spatial.model_copy(update={"tracking": (50.0, 100.0)})})
    run = a_case("OD", plot_step=1e-4, model="spatial", scheme="multirate", flank_points=2, step=1e-6)
    with pytest.raises(InputError, match=r"step = 1e-06: at most 2\.\d+e-07 s: the limit of tracking"):
        prepare(pillar, run)
    assert prepare(UNIT, run).clock.step == pytest.approx(1e-6)
    prepare(pillar, replace(run, settings=replace(run.settings, scheme="explicit")))


def test_belt_that_leaves_its_place_ends_the_run(tmp_path):
    path = tmp_path / "run.h5"
    wild = a_case(plot_step=1e-4, step=1e-5)  # ten times what the explicit scheme bears
    outcome = simulated(wild, path)
    assert outcome.ended == LEFT
    assert outcome.frames < 20
    with open_run(path) as file:
        assert figures(file)["status"] == "failed"
        position = file["elements/position"][()]
    assert np.all(np.isfinite(position))
    found = recording(path)
    assert np.array_equal(found["elements.position"], position)
    assert found.unit("elements.joint") == "N"
    with pytest.raises(InputError, match="left its place"):
        simulated(wild, path, resume=True)


def test_history_of_an_element(whole, tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(whole.read_bytes())
    sigma = (3.5 + 0.05 * np.arange(FRAMES)) % 4.0
    with h5py.File(path, "r+") as file:
        file["elements/sigma"][:, 7] = sigma
    seal(path, FILE)
    with open_run(path) as file:
        history = element_history(file, 7)
        rows = slice(90, 170)
        assert history.sigma == pytest.approx(sigma[rows])
        assert history.time == pytest.approx(file["time"][rows])
        assert np.array_equal(history.forces[:, :3], file["elements/flank"][rows, 7])
        assert np.array_equal(history.forces[:, 3], file["elements/joint"][rows, 7, :3].sum(axis=1))
        assert len(HISTORY) == history.forces.shape[1]
        for element, revolution in ((220, -1), (-1, -1), (7, 5), (8, -1)):
            with pytest.raises(InputError):
                element_history(file, element, revolution)


def test_command(monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    run = ("simulate", "pushbelt_24mm", "--plot-step", "10 us")
    code, shown, _ = command(*run, "--case", "MED", "--row", "2", "--duration", "0.5 ms", "--json", "run.json")
    assert code == 0
    assert "thrust ratio" in shown
    data = json.loads((tmp_path / "run.json").read_text())
    assert (data["M_O"], data["frames"], data["status"]) == (49.72, 50, "complete")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pushbelt_24mm_MED.h5", "run.json"]
    for words, message in (
        ([*run], "--case: one of OD, MED"),
        ([*run, "--case", "OD", "--model", "rigid"], "full or theory"),
        ([*run, "--case", "OD", "--taper", "5 s"], "--taper"),
        ([*run, "--case", "OD", "--flank-points", "3"], "flank_points"),
        (["simulate", "planetary", "--case", "OD"], "not with planetary"),
        (["simulate", "planetary", "--nodes", "52"], "not with planetary"),
    ):
        code, _, error = command(*words)
        assert code == 2
        assert message in " ".join(error.split())


def test_what_simulate_writes_the_other_commands_read(monkeypatch, tmp_path, command):
    """Also while it grows: plot."""

    def rtcvt(*words):
        code, _, error = command(*words)
        return code, " ".join(error.split())

    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    run = ("simulate", "pushbelt_24mm", "--case", "MED", "--row", "3", "--scheme", "multirate")
    assert rtcvt(*run, "--duration", "20 ms", "-o", "runs/a.h5", "--json", "a.json")[0] == 0
    assert rtcvt("plot", "runs/a.h5", "-o", "a.png", "--signal", "pulleys.clamping_force.primary")[0] == 0
    assert (tmp_path / "a.png").stat().st_size > 5000
    said = json.loads((tmp_path / "a.json").read_text())
    samples = load_samples([tmp_path / "runs" / "a.h5"])
    assert (samples.names, samples.phase.tolist()) == (("MED",), [0])
    point = [said[k] for k in ("ratio", "torque_ratio", "kappa")]
    assert samples.point[0] == pytest.approx([*point, said["clamping_force_N"][1] / F_REF], rel=1e-12)
    assert samples.values["thrust"] == pytest.approx([said["thrust_ratio"]], rel=1e-12)
    code, error = rtcvt("reduce", "runs", "-o", "r.h5")
    assert (code, error) == (2, "error: campaign: runs = 1: at least 20 that settle without slipping")
    code, _ = rtcvt("check", "pushbelt_cvt", "--runs", "runs/*.h5", "-o", "c.html", "--json", "c.json")
    checked = json.loads((tmp_path / "c.json").read_text())
    assert code in (0, 1)  # one run within its settling is none to judge by
    assert checked["settled"]["MED"]["full"]["thrust_ratio"] == pytest.approx(said["thrust_ratio"], rel=1e-12)
    (tmp_path / "runs" / "a.h5").write_bytes((tmp_path / "runs" / "a.h5").read_bytes()[:-1])
    check = ("check", "pushbelt_cvt", "--runs", "runs/*.h5")
    for words in (("reduce", "runs", "-o", "r.h5"), check, ("plot", "runs/a.h5")):
        code, error = rtcvt(*words)
        assert code == 2
        assert "a.h5: an undamaged file" in error


@pytest.mark.parametrize(("settings", "most"), [({"N_B": 208}, 1.68e-6), slow({"N_E": 110}, 1.68e-6)])
def test_multirate_steps_keep_the_energy_of_fine_rings_and_few_elements(settings, most):
    """Saddles bound the belt's step: below, the balance is kept; above, they would feed the bending of the pieces."""
    run = a_case("MED", 3, duration=6e-3, plot_step=1e-4, scheme="multirate", **settings)
    made = prepare(UNIT, run)
    bound = element_ring.largest_step(made.model.belt, made.model.ring)
    assert made.clock.step <= bound == pytest.approx(most, rel=0.01)
    with pytest.raises(InputError, match="saddles on"):
        prepare(UNIT, replace(run, settings=replace(run.settings, step=2.5e-6)))
    left = []
    for step in (1e-4 / 60, 2.5e-6):
        x = hybrid.State(*[a.copy("K") for a in made.state])
        steps = ring_steps("multirate", made.model.ring, step)
        out, done = hybrid.run(made.model, x, made.inputs, round(1e-4 / step), step, n_R=steps)
        assert done == 60
        rest, losses, _ = hybrid.residual(hybrid.Frames(*[a[20:] for a in out]))
        left.append(abs(rest) / losses)
    assert left[0] < 0.01
    assert left[1] > 0.5


def test_two_end_stops_and_the_torque_of_the_primary():
    """Speed of the primary and forces of the stops result; the start is that of the belt under the same load."""
    given = {"rate_I": 0.0, "rate_O": 0.0, "F_CO": 10520.0, "omega_O": 209.0, "M_I": 75.0}
    stops = UNIT.get_case("MED").model_copy(update={"name": "stops", "inputs": given, "M_O": (), "xi": ()})
    unit = UNIT.model_copy(update={"case": (stops,)})
    made = prepare(unit, a_case("stops", duration=6e-3, plot_step=1e-4))
    assert made.start.sd[1, 3] == pytest.approx(209.0, rel=1e-6)
    steady = made.start.steady
    assert float(steady.M_O) == pytest.approx(75.0, rel=1e-3)
    out, done = hybrid.run(made.model, made.state, made.inputs, made.clock.steps, made.clock.step)
    assert done == 60
    assert np.ptp(out.s[:, :, 0], axis=0) == pytest.approx([0.0, 0.0])
    assert out.pulley[:, 0, 3] == pytest.approx(75.0)
    assert out.sd[:, 1, 3] == pytest.approx(209.0)
    assert out.sd[-1, 0, 3] == pytest.approx(made.start.sd[0, 3], rel=0.005)
    # after a revolution 0.5 %
    assert out.pulley[20:, :, 1].mean(axis=0) == pytest.approx([steady.F_CI, 10520.0], rel=0.1)
    rest, losses, _ = hybrid.residual(out)
    assert abs(rest) < 0.01 * losses
