"""The picture of a full run shows the forces that the file holds, whatever the run observed."""

import h5py
import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from rtcvt.cli import app
from rtcvt.offline.pushbelt.kind import KIND
from rtcvt.offline.pushbelt.picture import _drawn, picture
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import Branch, Case, Point, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.run.windows import STEADY, belt_of, frames_of
from rtcvt.offline.pushbelt.unit.parameters import load_parameters
from rtcvt.recording import Recording, Signal, write_recording

FAST = Settings(N_E=110, N_B=52, scheme="multirate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs with elements and fields, with fields and branches, with neither."""
    parameters, path = load_parameters("pushbelt_24mm"), tmp_path_factory.mktemp("runs")
    case = Run("MED", Case("MED", 3), FAST, duration=8e-3, plot_step=2e-4, observe=("elements", "fields"))
    at = Point(ratio=1.0, omega_I=200.0, xi=0.4, F_O=12e3)
    point = Run("point", at, FAST, settle=0.5, mean=0.2, frames=24, observe=("fields",),
                branches=tuple(Branch(y, 1.0, 0.4, 0.0, 0.2, 0.5) for y in (1.2, 0.8)))  # fmt: skip
    for name, run in (
        ("case", case),
        ("point", point),
        ("bare", Run("MED", Case("MED", 0), FAST, duration=2e-3, plot_step=1e-4, observe=())),
    ):
        simulate(parameters, run, path / f"{name}.h5", parameters.text)
    return path


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines if not line.get_label().startswith("_")}


def test_forces_are_those_of_the_file(folder):
    grid = picture(folder / "case.h5").axes
    titles = [ax.get_title(loc="left") for ax in grid[:6]]
    assert titles[0] == "element-pulley, normal"
    with open_run(folder / "case.h5") as file:
        last, t_R = frames_of(file, STEADY), belt_of(file)["t_R"]
        whole = file["elements/flank"][last, :, 0].sum(axis=1).mean()
        lengths = file["grid/length"][last].mean(axis=0)
        push = file["fields/push"][last].mean(axis=0)
        longitudinal = file["fields/flank_longitudinal"][last].mean(axis=0)
    drawn = [lines(ax) for ax in grid[:6]]
    elements = np.repeat(lengths / 64, 64) / t_R  # in each cell
    assert drawn[0]["mean"] @ elements == pytest.approx(whole, rel=0.01)  # their forces add up
    assert drawn[1]["mean"] == pytest.approx(push, rel=1e-5)
    assert np.sign(drawn[2]["mean"] @ longitudinal) == -1.0  # that on the pulley
    assert all("one element" in d for d in drawn)


def test_a_spatial_belt_is_drawn_out_of_its_plane(folder, tmp_path):
    with h5py.File(tmp_path / "spatial.h5", "w") as file, open_run(folder / "case.h5") as planar:
        for name in planar:
            planar.copy(name, file)
        file.attrs.update(planar.attrs)
        sigma = file["elements/sigma"][()]
        file["spatial/angle"] = 1e-3 * np.stack([sigma, -sigma], axis=-1)
        file["spatial/position"] = 2e-3 * sigma
        angles, place = _drawn(file).axes[10:12]
    for ax, factor in ((angles, 1.0), (place, 2.0)):
        x, y = ax.lines[-2 if ax is angles else -1].get_data()
        assert (np.diff(x) >= 0.0).all()
        np.testing.assert_allclose(y, factor * x)
    assert [t.get_text() for t in angles.get_legend().get_texts()] == ["roll", "yaw"]


def test_windows_of_a_run_with_branches(folder):
    grid = picture(folder / "point.h5").axes
    assert list(lines(grid[0])) == ["settled", "y = 1.2", "y = 0.8"]
    assert len(next(ax for ax in grid if ax.get_ylabel() == "ratio").lines) == 3  # and where the branches begin


def test_command(folder, tmp_path):
    for name, more, least, most in (
        ("point", [], 1400, 9000),
        ("bare", [], 400, 1400),
        ("case", ["--signal", "pulleys.clamping_force.primary"], 1, 400),
    ):
        out = tmp_path / f"{name}.png"
        found = CliRunner().invoke(app, ["plot", str(folder / f"{name}.h5"), *more, "-o", str(out)])
        assert found.exit_code == 0, found.output
        assert least < imread(out).shape[0] < most
    write_recording(tmp_path / "r.h5", Recording(np.arange(3.0), {"a": Signal(np.zeros(3), "N")}, {}, ""), "simulation")
    assert KIND.picture(tmp_path / "r.h5") is None
