"""Gear systems declare themselves."""

from rtcvt.kind import Kind, Option, Task, help_texts, lazily

HELP = help_texts(__file__)
KIND = Kind(
    names=("gear_system",),
    title="gear systems",
    read=lazily("rtcvt.pog.reading:read_gear_system"),
    fidelities={"rigid": "", "hybrid": "traction", "full": "elastic"},
    has=lambda unit, fidelity: fidelity != "hybrid" or unit.traction is not None,
    build=lazily("rtcvt.pog.system:build_model"),
    page=lazily("rtcvt.pog.page:gear_page"),
    choose_flanges=lazily("rtcvt.pog.flange:with_flanges"),
    speed_flanges=lambda unit: {name: "speed" for name, port in unit.ports.items() if port.coupled},
    diagram=lazily("rtcvt.pog.tasks:picture"),
    show=Task(
        lazily("rtcvt.pog.tasks:show"),
        takes=("settings",),
        options=(Option("at", "Where the moving variable is, e.g. theta=0.1.", metavar="KEY=VALUE", pairs=True),),
        help=HELP["show"],
    ),
    check=Task(lazily("rtcvt.offline.pog.tasks:check"), takes=("settings", "scenario"), help=HELP["check"]),
    map=Task(
        lazily("rtcvt.offline.toroidal.charts:map_tilts"),
        options=(
            Option("tilt", "Of the contacts that are drawn; default: where it starts.", unit="rad"),
            Option("torque", "Of the last disc in this picture; default: a quarter of the map's.", unit="N.m"),
            Option("speed", "Of the first disc; default: as the unit starts.", unit="rad/s"),
        ),
        help=HELP["map"],
    ),
    figures=lazily("rtcvt.offline.pog.tasks:figures"),
    figures_of={"hybrid": lazily("rtcvt.offline.pog.tasks:hybrid_figures")},
    errors=lazily("rtcvt.pog.tasks:errors"),
)
