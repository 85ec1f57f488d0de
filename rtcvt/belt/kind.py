"""Belt drives declare themselves."""

from rtcvt.kind import DURATION, ELEMENTS, RESUME, Kind, Option, Task, lazily

_SHOW = "Of a belt drive its taut belt is printed."

_SIMULATE = """A unit of kind belt with --model full runs the model of its table: the ANCF belt or the belt of rigid
elements. The file is written every minute, at Ctrl-C and at the end; --resume continues. --step and --elements change
the mesh. With --model moving the belt has lateral motion and one tension (Lorenz and others 2014; table moving); its
JSON keys: speed_rad_s, belt_torque_Nm and normal_N by pulley, amplitude_m by span, tension_N, v_m_s, functions.

[bold]JSON keys of a belt's full model:[/] unit, model (ancf or elements), scenario, status, time_s, frames; means
over the last fifth: by pulley speed_rad_s and belt_torque_Nm (of the belt on the pulley), by span tension_N;
elements, steps; of rigid elements rejected, input_J and unaccounted_J (energy); computed_s and wall_s of this call."""

_CHECK = """The real-time model of a belt drive is compared with its full model, of which one second needs about half a
minute of processor time, on its scenarios and with two modified belts. For shipped drives the report also shows figures
and numbers of the source; two_pulley_belt adds its parameter studies. For a unit with an ANCF model, --seed draws three
layouts with four load cases each: engine order, load step, overload, reversal. Runs are kept in a folder next to the
report, so an interrupted check continues. Exits with code 1 if the error of a speed exceeds 1 %, of a tension or torque
3 %; of drawn cases 1, 3 and 5 % (speed, tension, torque), in overload 2, 5 and 10 %.

[bold]JSON keys of a belt:[/] unit, revision, full_model, passed, failures, load_cases: name, duration_s,
full_wall_s, step_us (real-time), errors: signal, kind, nrms, smooth (of means over the passage of an element, compared
with the limit), ripple (of the full model), scale, limit; seed; drawn_cases: the same; studies: by the changed value
the values at the end; source: section, about, printed, ours, agrees."""

_MAP = """A belt drive: slip, use of friction, hub loads and losses of the hybrid model over the speed of the driving
shaft, and transverse vibration of its spans: first frequencies, engine orders that excite them, amplitudes due to the
motion of their ends by arms and tensions. The loads of scenarios are left out. The orders are those of the unit's table
resonance, or 2.

[bold]JSON keys of a belt:[/] unit, driver, orders; speed_rad_s of the windows; by pulley slip, use, hub_N; loss_W by
kind; by span tension_N, f_1_Hz, swing_m (orders by windows); meetings: span, order, speed, frequency."""

KIND = Kind(
    names=("belt",),
    title="belt drives",
    read=lazily("rtcvt.belt.reading:read_belt_unit"),
    fidelities={"hybrid": "", "rigid": ""},
    build=lazily("rtcvt.belt.model:build_belt"),
    diagram=lazily("rtcvt.belt.diagram:belt_diagram"),
    page=lazily("rtcvt.belt.page:belt_page"),
    show=Task(lazily("rtcvt.belt.tasks:show"), help=_SHOW),
    full=Task(
        lazily("rtcvt.offline.belt.tasks:simulate"),
        takes=("model", "scenario", "step", "output", "figures"),
        options=(DURATION, ELEMENTS, RESUME),
        help=_SIMULATE,
        models=("full", "moving"),
    ),
    check=Task(
        lazily("rtcvt.offline.belt.tasks:check"),
        options=(
            Option("elements", "Mesh of the full model; default: the unit's.", int, minimum=1),
            Option("step", "Of the ANCF model; default: the unit's.", unit="s"),
            Option("seed", "Of layouts and load cases drawn around a unit with an ANCF model.", int, 1, minimum=0),
        ),
        help=_CHECK,
    ),
    map=Task(
        lazily("rtcvt.offline.belt.tasks:map_speeds"),
        options=(
            Option("low", "Lowest speed; default: 700 rpm.", unit="rad/s"),
            Option("high", "Highest speed; default: 6000 rpm.", unit="rad/s"),
            Option("time", "Of the run between them; default: 20 s.", unit="s"),
            Option("share", "By which the speed pulsates with the first order; default: 0.02.", float),
        ),
        help=_MAP,
    ),
    errors=lazily("rtcvt.belt.tasks:errors"),
    view=lazily("rtcvt.offline.belt.scene:scene"),
)
