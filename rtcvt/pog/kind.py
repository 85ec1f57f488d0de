"""Gear systems declare themselves."""

from rtcvt.kind import Kind, Option, Task, lazily

_SHOW = """R is the radii matrix of Algorithm 1, Q1 gives all speeds from the independent ones, L1, N1, A1 and B1 are
the matrices of the rigid model L1 x1' + N1 x1 = A1 x1 + B1 tau; N1 is per rad/s of the moving variable.

[bold]JSON keys of a gear system:[/] unit, gears, springs, frictions, independent; R [m], Q1, B_delta_omega
[N.m.s/rad], L1 [kg.m2], N1, A1, B1: matrices as lists of rows in the unit's order; at: where the moving variable
is; with a shift table also shift: gear, elements, ratio, step, efficiency, coast_efficiency, torques
(for 1 N.m at the input), speeds (for 1 rad/s); with traction also traction: end_load, piston_pressure (with its area),
contacts: theta, contact, speed, radius, a, b, pressure, spin, torque, reaction, held [SI]."""

_CHECK = """The rigid model of a gear system is compared with the elastic one on the unit's scenarios. Exits with code 1
if an error exceeds the limit of the scenario. With traction the hybrid model is compared with traction that is
integrated over the ellipses, in single contacts and in a window of each scenario.

[bold]JSON keys of a gear system:[/] unit, revision, parameters (as set), passed, failures, modes (frequency_Hz,
damping_ratio of the full model), scenarios: name, duration_s, step_s, settled_share (of the samples that count),
discretisation (change of the full model from a quarter of the step to the step), energy_residual (rigid, full),
step_cost_us (rigid, full), errors: signal, unit, nrms (RMS error over the largest value), limit (of nrms), peak,
transient, scale [in the signal's unit]; traction: scenario, signal, unit, nrms, peak, limit of the hybrid model;
drives: scenario, start_s, end_s, rigid: errors of the rigid model in this window."""

_MAP = """A toroidal variator: efficiency and creep of its discs and rollers over tilt and torque, by the table of the
hybrid model, and the shear in its contacts at one point, integrated.

[bold]JSON keys of a gear system:[/] unit, speed_rad_s, tilt_rad, torque_Nm; efficiency, creep, pressure [Pa] and
end_load [N]: rows by torque, null where the contacts slip; theta, and of the point integrated and by_table: lists by
contact, losses [W]."""

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
        help=_SHOW,
    ),
    check=Task(lazily("rtcvt.offline.pog.tasks:check"), takes=("settings", "scenario"), help=_CHECK),
    map=Task(
        lazily("rtcvt.offline.toroidal.charts:map_tilts"),
        options=(
            Option("tilt", "Of the contacts that are drawn; default: where it starts.", unit="rad"),
            Option("torque", "Of the last disc in this picture; default: a quarter of the map's.", unit="N.m"),
            Option("speed", "Of the first disc; default: as the unit starts.", unit="rad/s"),
        ),
        help=_MAP,
    ),
    figures=lazily("rtcvt.offline.pog.tasks:figures"),
    figures_of={"hybrid": lazily("rtcvt.offline.pog.tasks:hybrid_figures")},
    errors=lazily("rtcvt.pog.tasks:errors"),
)
