"""The notebooks under examples/ run from the first cell to the last; what they claim they assert."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


def test_there_are_notebooks():
    assert {p.stem for p in NOTEBOOKS} == {
        "gear_train",
        "ratio_control",
        "supplied_tcu",
        "full_model",
        "slider_on_a_rod",
        "reduced_rod",
        "electric_car",
        "toroidal_variator",
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs(path, tmp_path):
    book = nbformat.read(path, as_version=4)
    assert path.stat().st_size < 120e3  # most are kept without outputs
    NotebookClient(book, timeout=500, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [o for cell in book.cells for o in cell.get("outputs", ()) if "image/png" in o.get("data", {})]
    assert pictures
