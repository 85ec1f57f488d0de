"""The documentation page inside the FMU of a belt drive."""

import math

from rtcvt.belt import kernels
from rtcvt.belt.unit import BeltUnit
from rtcvt.diagram import xml_text as text
from rtcvt.documentation import number, page, prose, quantity, table, variable_tables
from rtcvt.model import Model

__all__ = ["belt_page"]


def belt_page(model: Model, unit: BeltUnit) -> str:
    """A self-contained HTML page: how to use the drive, its geometry, variables and equations, and its unit file."""
    path = unit.path()
    kind = "Hybrid model: every span has its own tension, the belt creeps and slips on the pulleys"
    if model.fidelity == "rigid":
        kind = "Rigid model: all rims have the speed of the belt"
    step = quantity(model.step_size, "s", "ms")
    rows = [
        (f"<b>{text(name)}</b>", text(pulley.description), pulley.side, quantity(float(path.radius[i]), "m", "mm"),
         f"{number(math.degrees(path.wrap[i]))} °", quantity(float(path.span[i]), "m", "mm"))
        for i, (name, pulley) in enumerate(unit.pulleys.items())
    ]  # fmt: skip
    head = ("pulley", "", "side of the belt", "radius of the belt's line", "wrap", "span to the next pulley")
    points = [
        f"The unit runs at a fixed step of {step} inside; a longer communication step is divided into equal ones. "
        "Inputs are held over a communication step.",
        "Units are SI. Angles, speeds and torques count anticlockwise. A torque is counted into the drive: power in is "
        "positive. Belt speed and slip count in the order of the pulleys.",
        "Parameters are set before initialisation; the drive then starts with one belt speed and its pretension.",
        "While a pulley slips (<code>NAME.use</code> is 1 or more) the hybrid model goes on. The rigid model does not "
        "slip: its results are extrapolated then.",
        "A step is refused, and the state left as it was, if an input is not finite or no finite state follows.",
    ]
    return page(
        unit.name,
        f"<h1>{text(unit.name)}</h1>\n"
        f'<p class="lead">{text(unit.description)}</p>\n'
        f"<p>{kind}; {len(model.states)} states.</p>\n"
        "<h2>How to use it</h2>\n<ul>\n" + "".join(f"<li>{p}</li>\n" for p in points) + "</ul>\n"
        "<h2>Drive</h2>\n"
        f"<p>Belt of {quantity(path.length, 'm')}, {quantity(unit.rest_length(), 'm')} without load, "
        f"{unit.winding}.</p>\n{table(head, rows, (3, 4, 5))}"
        "<h2>Variables</h2>\n"
        f"{variable_tables(model)}"
        "<h2>Equations</h2>\n"
        f"{prose(kernels.__doc__ or '')}"
        f"<h2>Unit file</h2>\n<pre><code>{text(unit.text)}</code></pre>\n",
    )
