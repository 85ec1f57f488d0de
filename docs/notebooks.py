"""Run notebooks and store their outputs: ``python docs/notebooks.py [FILE...]``, by default all of ``examples/``.

Pictures have few colours, so that a notebook is small; what differs from machine to machine is left out.
"""

import base64
import io
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"
COLOURS = 64
KEPT = ("text/plain", "text/html", "image/png")


def small(data: str) -> str:
    """A picture (PNG in base64) with `COLOURS` colours."""
    made, picture = io.BytesIO(), Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return base64.b64encode(made.getvalue()).decode()


def run(path: Path) -> None:
    """Run a notebook in a folder of its own and store it with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=3000, resources={"metadata": {"path": folder}}).execute()
        for cell in notebook.cells:
            cell.metadata = {}
            if cell.cell_type != "code":
                continue
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
            for output in cell.outputs:
                if "text" in output:
                    output.text = output.text.replace(folder, ".")
                if "data" in output:
                    output.data = {kind: v for kind, v in output.data.items() if kind in KEPT}
                    if "image/png" in output.data:
                        output.data["image/png"] = small(output.data["image/png"])
                    output.metadata = {}
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    path.write_text(nbformat.writes(notebook, indent=1) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(EXAMPLES.glob("*.ipynb")):
        run(Path(name))
