"""The documentation page inside the FMU of a part."""

from rtcvt.diagram import xml_text as text
from rtcvt.documentation import page, prose, quantity, variable_tables
from rtcvt.model import Model
from rtcvt.vehicle import kernels
from rtcvt.vehicle.parts import Part

__all__ = ["part_page"]


def part_page(model: Model, part: Part) -> str:
    """A self-contained HTML page: how to use the part, its variables and equations, and its unit file."""
    step = quantity(model.step_size, "s", "ms")
    return page(
        part.name,
        f"<h1>{text(part.name)}</h1>\n"
        f'<p class="lead">{text(part.description)}</p>\n'
        "<h2>How to use it</h2>\n"
        f"<p>The unit runs at a fixed step of {step} inside; a longer communication step is divided into equal ones. "
        "Inputs are held over a communication step. Parameters are set before initialisation. A step is refused, and "
        "the state left as it was, if an input is not finite or no finite state follows.</p>\n"
        "<h2>Variables</h2>\n"
        f"{variable_tables(model)}"
        "<h2>Equations</h2>\n"
        f"{prose(kernels.__doc__ or '')}"
        f"<h2>Unit file</h2>\n<pre><code>{text(part.text)}</code></pre>\n",
    )
