"""Pushbelts declare themselves: they have a full model only, which the reduced models of variators are made from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rtcvt.kind import DURATION, ELEMENTS, RESUME, Kind, Option, Task, lazily
from rtcvt.offline.pushbelt.run.marks import is_run

_SHOW = """Of a pushbelt its numbers and cases are printed. With --model theory and a --case, clamping forces, speeds,
torques, slip and losses of the steady theory (JSON keys as of simulate). With --modes also the modes of the ring set,
linearised about its start in a case: the fastest ones, the largest step that is stable for all, and the mode that
limits it. [bold]JSON key ring_modes:[/] case, rod; by mode, slowest first: omega_rad_s (negative: unstable),
damping_ratio, shares of the kinetic energy; largest_step_s, bounding (number of the mode)."""

_SIMULATE = """A pushbelt runs its full model on one of its cases, by default for 0.1 s. The file grows as FILE.partial
during the run. Ctrl-C ends the run and keeps this file; --resume continues it, also after a kill, and extends a run to
a longer duration.

[bold]JSON keys of a pushbelt:[/] unit, case, row and the other settings (s, m); M_O [N.m], frames, time_s, status;
means over mean_over_s, the last passage of the belt, or the last fifth of a run without two of them: ratio,
torque_ratio, kappa, slip, belt_speed_m_s, thrust_ratio, speed_ratio; for the primary and the secondary pulley
clamping_force_N, speed_rad_s, shaft_torque_Nm (driving +), radius_m (of the ring); tension_N (smallest, largest along
the belt), push_N (largest); bearing_N, mean force of the belt on each pulley's shaft, x and y, and bearing_orders_N,
its amplitude by order of element passing, as far as --plot-step resolves it; residual_of_losses and
residual_of_throughput of the energy balance; computed_frames, wall_s of this call and step_cost_us, the median of its
steps without start and files. With --belt spatial also misalignment_m of the belt on the primary against the
secondary, ring_to_pillar_m and ring_to_sheave_m, the least room of the rings, fixed_sheave_N, the axial forces on the
fixed sheaves, and exit_force_N, the mean axial force of both sheaves on an element in the last 8 % of its arc; other
figures are means of both sides.

--model theory computes the steady state of a continuous belt in seconds and writes its fields over both arcs as a page:
a first estimate for your own belt, and an independent check of the full model. JSON keys: thrust_ratio, slip, loss_W,
losses_W and fields by pulley."""

_CHECK = """The full model of a pushbelt is compared with chapter 7 of Cebulla 2014: some sixty runs, most of them from
four disturbed starts, half an hour of processor time. They are kept in a folder next to the report, so an interrupted
check continues. Exits with code 1 if energy or momentum of a run do not balance; differences from the source are in the
report.

[bold]--belt spatial[/] compares the spatial belt with the hybrid one: some forty runs, about half an hour on two
processors; an aligned belt, planar phenomena, misalignment at three ratios, rings with and without tracking, cost.
[bold]JSON keys:[/] unit, failures; claims: about, value, limit, unit, needed, holds; phenomena: group, quantity,
unit, hybrid, spatial, scatter, verdict; profiles: by run and force, difference and scatter; across: by operating
point; energy: residual over throughput; growth of a disturbance; step_us.

[bold]JSON keys of a pushbelt:[/] unit, source, failures, unsteady (runs), discretisation (of the thrust ratio, by
case), counts (of verdicts, all and firm, by kind: number, sign, cost), signatures: section, about, quantity, runs,
kind, expected, value (mean of the starts), u (difference of the mean of as many other starts), unit, verdict, firm
(the same for all values within u); runs: starts, thrust_ratio (of each), drift (from the revolution before), and of the
first start torque_N_m, slip, endplay_m (rocking edge, top), energy_J (unaccounted, lost, throughput), balance (of each
pulley: force, torque, moments), step_us; step_us (smallest, spread)."""

_CAMPAIGN = """Shipped plans for pushbelts: [bold]quick[/], a first reduced model of your own belt in minutes
(docs/own_belt.md); [bold]small[/], a dozen runs to look at, too few to reduce; [bold]pushbelt_24mm[/], the runs for a
reduced model, an hour on two processors; [bold]heldout[/] and [bold]heldout_spatial[/], runs of another seed to
measure the errors of a reduced model; [bold]chosen_24mm[/], the spatial belt at chosen points, to correct the laws;
[bold]spatial_24mm[/], the spatial belt and two hybrid ones with a comparison in DIR/twins.json. The expected time and
the number of processors are printed before the runs start.

A plan of a pushbelt gives ranges of ratio, speed, torque ratio and clamping force, and the numbers of operating points
and transients drawn from them. Points that the belt cannot reach are replaced. At each operating point the belt settles
at a fixed ratio, which gives thrust ratio, slip, losses and all contact forces; then several clamping forces act on the
free sheave, which gives the shift rate. Transients are ratio sweeps, torque steps and clamping steps. A run whose belt
leaves its place has failed.

[bold]--until[/] adds operating points where the law of the thrust ratio, or of the slip, is most uncertain, until its
expected error over the plan's space is small enough."""

_REDUCE = """Identifies a model for variators from runs of a pushbelt: thrust ratio, shift rate, slip, losses, largest
contact forces, and all belt fields on a basis from proper orthogonal decomposition, over ratio, torque ratio, speed,
clamping force and force balance. Windows that slip by more than 12 % are omitted and counted.

[bold]JSON keys of a pushbelt:[/] runs, windows, dropped; laws: by name data, rms, median, max of the cross-validated
error (of the logarithm, but for e), noise; fields: by name modes, kept, projection, error, error_median; heldout:
errors by their names in docs/reduction.md."""

_CALIBRATE = """Shipped plans for pushbelts: [bold]reproduction[/], the parameters of the program of Cebulla 2014, from
its printed thrust ratios; [bold]belief[/], the parameters of a real belt, from published levels of thrust ratio, slip
and losses, with sheaves as drawn. For results see docs/identification.md.

[bold]Keys of calibration.json:[/] plan, members (of the prior, run of the posterior), parameters: prior, posterior (5,
50, 95 %), set (of the least misfit), gained (share of the variance); directions of ln x by what the data identify:
gain, parameters; misfit by step; observables and heldout: about, printed, set, posterior, right (share with the printed
sign); points: by name the posterior's thrust ratio, slip and efficiency (5, 50, 95 %)."""

_OWN = """DIR gets the folders runs, spatial (with --spatial) and heldout, the reduced model BELT.h5, the unit
BELT_cvt.toml with its FMU, and the pages reduction.html and check.html. End stops, inertias and rims are those of the
belt and its runs; pistons, bearings and oil are a first guess to be edited in BELT_cvt.toml, which is written once.

The last table says for each output whether its errors at held-out points are as large as uncertainty.* states.
The limits in check.html are those of the shipped model, which has more runs.

[bold]JSON keys[/] of check.json: as of rtcvt check."""

_SHEAVE = """Linear elastic finite elements of the profiles in [sheaves.loose] and [sheaves.fixed] give the deflection
of a sheave under an element: C_k(r, r) by harmonic around the shaft, and the numbers a and A of the source's
separable form, which [pulleys] may have instead of the profiles. Profiles are used where pulleys.a is not given.

[bold]JSON keys:[/] unit; r_m; C_m_per_N, tilt_m_per_N (rigid on its supports), c_t_N_m, m_kg, J_kg_m2 by sheave; a, a
polynomial for each harmonic; separable: a, A, left; compliance of both over their mean; c_rad_used by the file."""


_AT = (
    Option("case", "Operating point of the unit file.", metavar="NAME"),
    Option("row", "Number of the load torque in the case's row.", int, 0, minimum=0),
)


def _of_a_run(place: str) -> Callable[..., Any]:
    """The function at a place, see `lazily`, of files of runs; None of others."""
    call = lazily(place)
    return lambda path, *values: call(path, *values) if is_run(Path(path)) else None


KIND = Kind(
    names=("pushbelt",),
    title="pushbelts",
    read=lazily("rtcvt.offline.pushbelt.unit.parameters:read_parameters"),
    show=Task(
        lazily("rtcvt.offline.pushbelt.tasks:show"),
        options=(
            Option("modes", "Print the modes of the ring at the start of this case.", metavar="CASE"),
            Option("model", "theory: the steady state of a case, in a second."),
            *_AT,
        ),
        help=_SHOW,
    ),
    full=Task(
        lazily("rtcvt.offline.pushbelt.tasks:simulate"),
        takes=("model", "step", "output", "figures"),
        options=(
            *_AT,
            Option("nodes", "Nodes of the ring; default: the unit's.", int, minimum=1),
            Option(
                "belt",
                "hybrid: planar; spatial: six freedoms, two ring sets; mirrored: spatial, aligned.",
                default="hybrid",
            ),
            Option("before", "Revolutions of the hybrid model that a spatial run starts from.", float, 0.0),
            Option("law", "Sheaves yield together under all elements (coupled), or decoupled.", default="coupled"),
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
        help=_SIMULATE,
    ),
    check=Task(
        lazily("rtcvt.offline.pushbelt.tasks:check"),
        options=(Option("belt", "hybrid: against chapter 7; spatial: against the hybrid belt.", default="hybrid"),),
        help=_CHECK,
    ),
    campaign=Task(
        lazily("rtcvt.offline.variator.tasks:campaign"),
        options=(
            Option("until", "Then choose runs until this error is expected: 'thrust ratio 2 %'.", metavar="ERROR"),
            Option("use", "With --until: the error at the operating points of this recording.", metavar="FILE.h5"),
        ),
        help=_CAMPAIGN,
    ),
    reduce=Task(lazily("rtcvt.offline.variator.tasks:reduce"), help=_REDUCE),
    calibrate=Task(lazily("rtcvt.offline.variator.calibration.task:calibrate"), help=_CALIBRATE),
    own=Task(
        lazily("rtcvt.offline.variator.own:own"),
        takes=("plan", "spatial", "held_out", "prior", "output", "scheduler", "workers"),
        help=_OWN,
    ),
    sheave=Task(lazily("rtcvt.offline.pushbelt.tasks:sheave"), help=_SHEAVE),
    recording=_of_a_run("rtcvt.offline.pushbelt.tasks:recording"),
    picture=_of_a_run("rtcvt.offline.pushbelt.picture:picture"),
    view=_of_a_run("rtcvt.offline.pushbelt.scene:scene"),
)
