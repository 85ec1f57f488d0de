"""Belt drives declare themselves."""

from rtcvt.kind import DURATION, ELEMENTS, RESUME, Kind, Option, Task, by_option, help_texts, lazily

HELP = help_texts(__file__)
_full = lazily("rtcvt.offline.belt.tasks:simulate")
KIND = Kind(
    names=("belt",),
    title="belt drives",
    read=lazily("rtcvt.belt.reading:read_belt_unit"),
    fidelities={"hybrid": "", "rigid": ""},
    build=lazily("rtcvt.belt.model:build_belt"),
    diagram=lazily("rtcvt.belt.diagram:belt_diagram"),
    page=lazily("rtcvt.belt.page:belt_page"),
    show=Task(lazily("rtcvt.belt.tasks:show"), help=HELP["show"]),
    full=Task(
        by_option("model", {None: _full, "full": _full, "moving": lazily("rtcvt.offline.belt.tasks:simulate_moving")}),
        takes=("model", "scenario", "step", "output", "figures"),
        options=(DURATION, ELEMENTS, RESUME),
        help=HELP["simulate"],
        models=("full", "moving"),
    ),
    check=Task(
        lazily("rtcvt.offline.belt.tasks:check"),
        options=(
            Option("elements", "Mesh of the full model; default: the unit's.", int, minimum=1),
            Option("step", "Of the ANCF model; default: the unit's.", unit="s"),
            Option("seed", "Of layouts and load cases drawn around a unit with an ANCF model.", int, 1, minimum=0),
        ),
        help=HELP["check"],
    ),
    map=Task(
        lazily("rtcvt.offline.belt.tasks:map_speeds"),
        options=(
            Option("low", "Lowest speed; default: 700 rpm.", unit="rad/s"),
            Option("high", "Highest speed; default: 6000 rpm.", unit="rad/s"),
            Option("time", "Of the run between them; default: 20 s.", unit="s"),
            Option("share", "By which the speed pulsates with the first order; default: 0.02.", float),
        ),
        help=HELP["map"],
    ),
    errors=lazily("rtcvt.belt.tasks:errors"),
    view=lazily("rtcvt.offline.belt.scene:scene"),
)
