"""Files of runs: what they hold, and that neither a kill nor Ctrl-C nor a second start changes a bit of it."""

import json
import multiprocessing
import os
import signal

import h5py
import numpy as np
import pytest

from offline.pushbelt import hybrid, runs
from offline.pushbelt.initial import start_state
from offline.pushbelt.parameters import Boundary, belt, boundary_at, load_parameters, sheaves
from offline.pushbelt.runs import Settings, element_history, figures, frames_in, open_run, partial_path, read_frames
from rtcvt import cli
from rtcvt.errors import InputError
from rtcvt.unitfile import find_unit

SHORT = Settings("OD", duration=2e-3, plot_step=1e-5)  # 200 frames in 4 blocks
FRAMES, BLOCK = 200, 50


@pytest.fixture(scope="module")
def parameters():
    return load_parameters("pushbelt_24mm")


@pytest.fixture(scope="module")
def text():
    return find_unit("pushbelt_24mm").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def whole(parameters, text, tmp_path_factory):
    """A run that nothing disturbed."""
    path = tmp_path_factory.mktemp("whole") / "run.h5"
    outcome = runs.simulate(parameters, SHORT, path, text)
    assert (outcome.status, outcome.frames, outcome.computed) == (runs.COMPLETE, FRAMES, FRAMES)
    assert [p.name for p in path.parent.iterdir()] == ["run.h5"]
    return path


def datasets(file):
    found = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def assert_same_run(a, b):
    """The same frames and the same state at the end, bit by bit."""
    with open_run(a) as one, open_run(b) as other:
        n = frames_in(one)
        assert frames_in(other) == n
        ends = [int(f["checkpoint/frames"][()].argmax()) for f in (one, other)]
        for name, data in datasets(one).items():
            values = data[()], other[name][()]
            if name.startswith("checkpoint/"):
                values = data[ends[0]], other[name][ends[1]]
            assert np.array_equal(*values), name


def test_file_describes_itself(whole, text, parameters):
    with open_run(whole) as file:
        assert file.attrs["schema_version"] == 1
        assert {"revision", "created", "rtcvt_version", "unit", "case", "law", "M_O"} <= set(file.attrs)
        assert file["unit_file"].asstr()[()] == text
        scaled = belt(parameters, N_E0=432)
        assert json.loads(file.attrs["parameters"])["belt"] == scaled._asdict()
        assert file["status"][()] == runs.COMPLETE
        for name, data in datasets(file).items():
            assert data.attrs["units"], name
            assert data.attrs["description"], name
            if "columns" in data.attrs and name != "grid/section":
                assert len(data.attrs["columns"]) == data.shape[-1], name
        assert file["time"][()] == pytest.approx(np.arange(1, FRAMES + 1) * 1e-5, rel=1e-12)
        assert file["grid/section"].shape == file["fields/push"].shape[1:]


def test_frames_are_those_of_the_scheme(whole, parameters):
    case = parameters.get_case("OD")
    b, stiff = belt(parameters, N_E0=case.N_E0), sheaves(parameters)
    inputs = boundary_at(case, np.arange(31.0) * 1e-5)
    start = start_state(b, stiff, Boundary(*inputs[0].tolist()), case.i_r)
    state = hybrid.state(*start[:7], n_k=len(stiff.A) - 1)
    expected, _ = hybrid.run(hybrid.model(b, stiff), state, inputs, 10, 1e-5 / 10)
    with open_run(whole) as file:
        found = read_frames(file, 10, 30)
        summary = figures(file)
    for name, value in found._asdict().items():
        exact = getattr(expected, name)[10:30]
        assert value.shape == exact.shape
        assert np.array_equal(value.astype(np.float32), exact.astype(np.float32)), name
    assert np.array_equal(found.q, expected.q[10:30])
    assert summary["clamping_force_N"][1] == pytest.approx(6128.0)
    assert abs(summary["residual_of_throughput"]) < 1e-2


def in_child(function):
    """Run in a forked process, where the kernels are compiled already; returns its exit code."""
    child = multiprocessing.get_context("fork").Process(target=function)
    child.start()
    child.join()
    return child.exitcode


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("flush", [1, 2, 3])
def test_killed_run_goes_on_as_if_nothing_had_happened(whole, parameters, text, tmp_path, flush):
    """SIGKILL when a flush is due; there are two for each block: frames with state, and that they are there."""
    path = tmp_path / "run.h5"
    kept = flush // 2 * BLOCK

    def run():
        count = iter(range(100))
        proper = h5py.File.flush

        def killed(file):
            if next(count) == flush:
                os.kill(os.getpid(), signal.SIGKILL)
            proper(file)

        h5py.File.flush = killed
        runs.simulate(parameters, SHORT, path, text)

    assert in_child(run) == -signal.SIGKILL
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5.partial"]
    with open_run(partial_path(path)) as file:
        assert frames_in(file) == kept
        assert file["status"][()] == runs.RUNNING
        assert len(read_frames(file).q) == kept
    with pytest.raises(InputError, match="resume"):
        runs.simulate(parameters, SHORT, path, text)
    outcome = runs.simulate(parameters, SHORT, path, text, resume=True)
    assert (outcome.status, outcome.computed) == (runs.COMPLETE, FRAMES - kept)
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
    assert_same_run(whole, path)


def test_interrupted_run_is_kept_and_goes_on(whole, parameters, text, tmp_path):
    path = tmp_path / "run.h5"

    def press(case, done, total):
        if done == BLOCK:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    outcome = runs.simulate(parameters, SHORT, path, text, progress=press)
    assert (outcome.status, outcome.frames) == (runs.INTERRUPTED, 2 * BLOCK)
    assert signal.getsignal(signal.SIGINT) is handler
    with open_run(path) as file:
        assert figures(file)["status"] == "interrupted"
    assert runs.simulate(parameters, SHORT, path, text, resume=True).computed == 2 * BLOCK
    assert_same_run(whole, path)
    before = path.stat().st_mtime_ns
    again = runs.simulate(parameters, SHORT, path, text, resume=True)
    assert (again.status, again.computed, path.stat().st_mtime_ns) == (runs.COMPLETE, 0, before)


def test_run_is_extended(whole, parameters, text, tmp_path):
    path = tmp_path / "run.h5"
    runs.simulate(parameters, Settings("OD", duration=3e-4, plot_step=1e-5), path, text)
    assert runs.simulate(parameters, SHORT, path, text, resume=True).computed == FRAMES - 30
    assert_same_run(whole, path)
    with pytest.raises(InputError, match="at least what is there"):
        runs.simulate(parameters, Settings("OD", duration=3e-4, plot_step=1e-5), path, text, resume=True)


def test_run_of_the_multirate_scheme_goes_on_with_the_same_bits(parameters, text, tmp_path):
    settings = Settings("OD", duration=2e-3, plot_step=2e-5, scheme="multirate")  # 100 frames in 2 blocks
    assert runs.simulate(parameters, settings, tmp_path / "whole.h5", text).status == runs.COMPLETE

    def press(case, done, total):
        signal.raise_signal(signal.SIGINT)

    path = tmp_path / "run.h5"
    assert runs.simulate(parameters, settings, path, text, progress=press).frames == BLOCK
    outcome = runs.simulate(parameters, settings, path, text, resume=True)
    assert (outcome.status, outcome.computed) == (runs.COMPLETE, 50)
    assert_same_run(tmp_path / "whole.h5", path)


def test_resume_refuses_a_run_of_an_older_release(whole, parameters, text, tmp_path):
    """Its checkpoint lacks what the state has got since."""
    path = tmp_path / "old.h5"
    path.write_bytes(whole.read_bytes())
    with h5py.File(path, "r+") as file:
        del file["checkpoint/ring"]
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"old\.h5.*checkpoint/ring.*this release"):
        runs.simulate(parameters, SHORT, path, text, resume=True)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_resume_refuses_another_run(whole, parameters, text, tmp_path):
    before = whole.read_bytes()
    for other in ({"law": "decoupled"}, {"N_E": 200}, {"taper": 5e-6}, {"plot_step": 2e-5}):
        with pytest.raises(InputError, match=r"to be resumed|parameters"):
            runs.simulate(parameters, Settings(**({"case": "OD", "duration": 4e-3, "plot_step": 1e-5} | other)), whole,
                          text, resume=True)  # fmt: skip
    stiffer = parameters.model_copy(update={"contacts": parameters.contacts.model_copy(update={"mu": 0.09})})
    with pytest.raises(InputError, match="parameters"):
        runs.simulate(stiffer, SHORT, whole, text, resume=True)
    assert whole.read_bytes() == before
    assert not partial_path(whole).exists()
    foreign = tmp_path / "foreign.h5"
    foreign.write_text("no HDF5")
    with pytest.raises(InputError, match="pushbelt run"):
        runs.simulate(parameters, SHORT, foreign, text, resume=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"case": "XL"}, "one of OD, MED"),
        ({"row": 1}, "0 to 0"),
        ({"duration": -1.0}, "above 0 s"),
        ({"duration": 1.5e-5}, "multiple of"),
        ({"duration": float("nan")}, "above 0 s"),
        ({"duration": 1e9}, "at most"),
        ({"step": 3e-6}, "whole part of the plot step"),
        ({"N_E": 3}, "20 to 2000"),
        ({"N_B": 3}, "12 to 1000"),
        ({"flank_points": 3}, "1 or 2"),
        ({"taper": -1e-6}, "0 to 100 um"),
        ({"law": "loose"}, "coupled or decoupled"),
        ({"contact": "glued"}, "unilateral or bilateral"),
        ({"scheme": "magic"}, "explicit or multirate"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(parameters, text, tmp_path, settings, message):
    with pytest.raises(InputError, match=message):
        runs.simulate(parameters, Settings(**({"case": "OD", "plot_step": 1e-5} | settings)), tmp_path / "run.h5", text)
    with pytest.raises(InputError, match="writable folder"):
        runs.simulate(parameters, SHORT, tmp_path / "nowhere" / "run.h5", text)
    assert list(tmp_path.iterdir()) == []


def test_belt_that_leaves_its_place_ends_the_run(parameters, text, tmp_path):
    path = tmp_path / "run.h5"
    wild = Settings("OD", duration=2e-3, plot_step=1e-4, step=1e-5)  # ten times what the explicit scheme bears
    outcome = runs.simulate(parameters, wild, path, text)
    assert outcome.status == runs.FAILED
    assert outcome.frames < 20
    with open_run(path) as file:
        assert figures(file)["status"] == "failed"
        assert np.all(np.isfinite(file["elements/position"][()]))
    with pytest.raises(InputError, match="left its place"):
        runs.simulate(parameters, wild, path, text, resume=True)


def test_history_of_an_element(whole, tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(whole.read_bytes())
    sigma = (3.5 + 0.05 * np.arange(FRAMES)) % 4.0
    with h5py.File(path, "r+") as file:
        file["elements/sigma"][:, 7] = sigma
    with open_run(path) as file:
        history = element_history(file, 7)
        rows = slice(90, 170)
        assert history.sigma == pytest.approx(sigma[rows])
        assert history.time == pytest.approx(file["time"][rows])
        assert np.array_equal(history.forces[:, :3], file["elements/flank"][rows, 7])
        assert np.array_equal(history.forces[:, 3], file["elements/joint"][rows, 7, :3].sum(axis=1))
        assert len(runs.HISTORY) == history.forces.shape[1]
        for element, revolution in ((220, -1), (-1, -1), (7, 5), (8, -1)):
            with pytest.raises(InputError):
                element_history(file, element, revolution)


def test_command(monkeypatch, capsys, tmp_path):
    def rtcvt(*words):
        monkeypatch.setattr("sys.argv", ["rtcvt", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, " ".join(captured.err.split())

    monkeypatch.chdir(tmp_path)
    run = ("simulate", "pushbelt_24mm", "--plot-step", "10 us")
    code, shown, _ = rtcvt(*run, "--case", "MED", "--row", "2", "--duration", "0.5 ms", "--json", "run.json")
    assert code == 0
    assert "thrust ratio" in shown
    data = json.loads((tmp_path / "run.json").read_text())
    assert (data["M_O"], data["frames"], data["status"]) == (49.72, 50, "complete")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pushbelt_24mm_MED.h5", "run.json"]
    extended = ("--nodes", "52", "--flank-points", "2", "--duration", "0.1 ms", "-o", "extended.h5")
    code, _, _ = rtcvt(*run, "--case", "MED", *extended)
    assert code == 0
    with open_run(tmp_path / "extended.h5") as file:
        assert (file.attrs["N_B"], file.attrs["flank_points"]) == (52, 2)
        assert file["ring/tension"].shape[1] == 52
    for words, message in (
        ([*run], "--case: one of OD, MED"),
        ([*run, "--case", "OD", "--model", "full"], "not with pushbelt_24mm"),
        ([*run, "--case", "OD", "--taper", "5 s"], "--taper"),
        ([*run, "--case", "OD", "--flank-points", "3"], "flank_points"),
        (["simulate", "planetary", "--case", "OD"], "not with planetary"),
        (["simulate", "planetary", "--nodes", "52"], "not with planetary"),
    ):
        code, _, error = rtcvt(*words)
        assert code == 2
        assert message in error
