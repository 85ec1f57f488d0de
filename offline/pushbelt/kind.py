"""The kind of pushbelts. It has a full model only, from which the reduced models of variators are made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rtcvt.kind import DURATION, ELEMENTS, RESUME, Kind, Option, Task, by_option, help_texts, lazily
from rtcvt.offline.pushbelt.run.marks import is_run

_AT = (
    Option("case", "Operating point of the unit file.", metavar="NAME"),
    Option("row", "Number of the load torque in the case's row.", int, 0, minimum=0),
)


def _of_a_run(place: str) -> Callable[..., Any]:
    """The function at a place (`lazily`), called for files of runs; for any other file the result is None."""
    call = lazily(place)
    return lambda path, *values: call(path, *values) if is_run(Path(path)) else None


HELP = help_texts(__file__)
_full = lazily("rtcvt.offline.pushbelt.tasks:simulate")
KIND = Kind(
    names=("pushbelt",),
    title="pushbelts",
    read=lazily("rtcvt.offline.pushbelt.unit.parameters:read_parameters"),
    show=Task(
        by_option(
            "model",
            {None: lazily("rtcvt.offline.pushbelt.tasks:show"), "theory": lazily("rtcvt.offline.pushbelt.theory:show")},
        ),
        options=(
            Option("modes", "Print the modes of the ring at the start of this case.", metavar="CASE"),
            Option("model", "theory: the steady state of a case, in a second."),
            *_AT,
        ),
        help=HELP["show"],
    ),
    full=Task(
        by_option("model", {None: _full, "full": _full, "theory": lazily("rtcvt.offline.pushbelt.theory:simulate")}),
        takes=("model", "step", "output", "figures"),
        options=(
            *_AT,
            Option("nodes", "Nodes of the ring; default: the unit's.", int, minimum=1),
            Option(
                "belt",
                "hybrid: planar; spatial: six degrees of freedom, two ring sets; mirrored: spatial, aligned.",
                default="hybrid",
            ),
            Option("before", "Revolutions of the hybrid model that a run starts from.", float, 0.0),
            Option("before_elements", "Its elements; default: those of the run.", int, minimum=1),
            Option("before_nodes", "Its nodes; default: those of the run.", int, minimum=1),
            Option("law", "Sheaves: deflected by all elements together (coupled), or decoupled.", default="coupled"),
            Option("contact", "Of elements and ring: unilateral or bilateral.", default="unilateral"),
            Option(
                "flank_points",
                "Contact points of a flank: 1 (simplified; default of hybrid) or 2 (extended; spatial).",
                int,
            ),
            Option("taper", 'Of an element, e.g. "5 um".', metavar="LENGTH", unit="m"),
            Option(
                "scheme",
                "explicit (step 1 us), multirate (2.5 us), set-valued (rigid saddles and ears; 1 us, slow).",
                default="explicit",
            ),
            Option("plot_step", "Time from one recorded frame to the next.", default="0.1 ms", unit="s"),
            DURATION,
            ELEMENTS,
            RESUME,
        ),
        help=HELP["simulate"],
    ),
    check=Task(
        by_option(
            "belt",
            {
                "hybrid": lazily("rtcvt.offline.pushbelt.checks.chapter7_report:check"),
                "spatial": lazily("rtcvt.offline.pushbelt.checks.spatial_report:check"),
            },
        ),
        options=(Option("belt", "hybrid: against chapter 7; spatial: against the hybrid belt.", default="hybrid"),),
        help=HELP["check"],
    ),
    campaign=Task(
        lazily("rtcvt.offline.variator.tasks:campaign"),
        options=(
            Option("until", "Then choose more runs until this error is expected: 'thrust ratio 2 %'.", metavar="ERROR"),
            Option("use", "With --until: the error at the operating points of this recording.", metavar="FILE.h5"),
        ),
        help=HELP["campaign"],
    ),
    reduce=Task(lazily("rtcvt.offline.variator.tasks:reduce"), help=HELP["reduce"]),
    calibrate=Task(lazily("rtcvt.offline.variator.calibration.task:calibrate"), help=HELP["calibrate"]),
    own=Task(
        lazily("rtcvt.offline.variator.own:own"),
        takes=("plan", "spatial", "held_out", "prior", "output", "scheduler", "workers"),
        help=HELP["own"],
    ),
    sheave=Task(lazily("rtcvt.offline.pushbelt.tasks:sheave"), help=HELP["sheave"]),
    recording=_of_a_run("rtcvt.offline.pushbelt.run.reading:recording"),
    picture=_of_a_run("rtcvt.offline.pushbelt.picture:picture"),
    view=_of_a_run("rtcvt.offline.pushbelt.scene:scene"),
)
