"""Tasks of the commands for units of kind pushbelt."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from rtcvt.errors import InputError
from rtcvt.kind import Checked, Progress, Run, Shown, cell
from rtcvt.offline.pushbelt.unit.parameters import (
    Belt,
    Parameters,
    Sheaves,
    belt,
    drawn_sheaves,
    endplay,
    influence_numbers,
    sheaves,
)
from rtcvt.recording import HDF5, require_ending, require_writable


def show(parameters: Parameters, given: Mapping[str, Any]) -> Shown:
    """Numbers of a pushbelt as its kernels see them, and its cases."""
    for name in ("case", "row"):
        if given[name]:
            raise InputError(f"--{name}", "", given[name], "only with --model theory")
    b, s = belt(parameters), sheaves(parameters)
    groups = {"belt": b._asdict(), "sheaves": s._asdict()}
    fit = _fit(b, s, parameters.source)
    cases = {c.name: c.model_dump() for c in parameters.case}
    lines: list[Any] = [f"[bold]{parameters.name}[/], a pushbelt: {escape(parameters.description)}"]
    low, high = fit["ratio"]
    lines.append(f"\nendplay without load {1e3 * fit['endplay_m']:.2f} mm; ratio {low:.3g} to {high:.3g}")
    held = ", ".join(f"{ratio:.3g}: {torque:.0f} N.m" for ratio, torque in fit["torque_N_m"].items())
    lines.append(f"torque at the primary before the belt slips, 20 kN on the secondary, by ratio: {held}")
    for group, values in groups.items():
        lines.append(f"\n[bold]{group}[/], SI" + (f", scaled to {values['N_E']} elements" if group == "belt" else ""))
        text = [f"{k} = {_cells(v)}" for k, v in values.items()]
        table = Table(*[""] * 4, box=None, show_header=False)
        for i in range(0, len(text), 4):
            table.add_row(*text[i : i + 4])
        lines.append(table)
    table = Table("case", "i_r", "load torques [N.m]", "description", box=None)
    for case in parameters.case:
        table.add_row(
            case.name,
            "of the speeds" if case.i_r is None else cell(case.i_r),
            ", ".join(map(cell, case.M_O)),
            escape(case.description),
        )
    data = {"unit": parameters.name, **groups, **fit, "cases": cases}
    lines += ["", table]
    if given["modes"] is not None:
        data["ring_modes"], more = _ring_modes(parameters, given["modes"])
        lines += more
    return Shown(data, lines)


def _cells(value: Any) -> str:
    return ", ".join(map(_cells, dict.fromkeys(value))) if isinstance(value, tuple) else cell(float(value))


def sheave(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Checked:
    """Influence numbers of the sheaves that a unit file draws, and a page of them."""
    from rtcvt.offline.sheave.report import figures, report_page

    progress("finite elements", 0, 1)
    found = drawn_sheaves(parameters)
    progress("finite elements", 1, 1)
    b, s = belt(parameters), sheaves(parameters)
    numbers = [float(influence_numbers(s, r).sum()) for r in found.r]
    used = None if parameters.pulleys.a is None else (found.r, np.array(numbers))
    table = Table("", "loose", "fixed", box=None)
    table.add_row("mass \\[kg]", cell(found.loose.m), cell(found.fixed.m))
    table.add_row("J about the shaft \\[kg.m2]", cell(found.loose.J), cell(found.fixed.J))
    table.add_row("tilt stiffness on its supports [N.m/rad]", cell(found.loose.c_t), cell(found.fixed.c_t))
    table.add_row("compliance over the mean of the two", *map(cell, found.compliance))
    by_radius = Table("radius of the rocking edges \\[mm]", *(f"{1e3 * r:.1f}" for r in found.r), box=None)
    by_radius.add_row("drawn: c_rad \\[nm/N]", *(f"{1e9 * c:.2f}" for c in found.mean.sum(0)))
    if used is not None:
        by_radius.add_row("numbers of the file", *(f"{1e9 * c:.2f}" for c in numbers))
    form = found.separable
    lines = [
        f"[bold]{parameters.name}[/]: sheaves from their drawing",
        table,
        by_radius,
        f"separable form (5.50), which leaves {100 * form.left:.1f} % of C_k(r, r):",
        "a = [" + ", ".join(f"{x:.6g}" for x in form.a) + "]",
        "A = [" + ", ".join(f"{x:.4g}" for x in form.A) + "]",
    ]
    assert parameters.sheaves is not None  # `drawn_sheaves` has found it
    page = report_page(parameters.name, parameters.sheaves, found, b.tan_d, used)
    return Checked(page, {"unit": parameters.name, **figures(found), "c_rad_used": numbers if used else None}, lines)


_MAX_MODES = 12  # modes that are printed


def _ring_modes(parameters: Parameters, name: str) -> tuple[dict[str, Any], list[Any]]:
    """Modes of the ring set without contacts, linearised about the start of a case: for JSON, and as lines."""
    from rtcvt.offline.pushbelt.ring import ring_set
    from rtcvt.offline.pushbelt.run import schedule
    from rtcvt.offline.pushbelt.run.prepare import prepare

    run = schedule.Run(name, schedule.Case(name), schedule.Settings(), duration=1e-3, plot_step=1e-3)
    made = prepare(parameters, run)
    state: Any = made.state  # of the hybrid model
    found = ring_set.spectrum(made.model.ring, state.q_R)
    limits = ring_set.bounds(found.omega, found.zeta)
    words = ring_set.MOTIONS
    title = f"ring at the start of {name}: the fastest of {found.omega.size} modes, shares of the kinetic energy"
    table = Table("rad/s", "damping ratio", "largest step \\[us]", *words, box=None, title=escape(title))
    for k in reversed(range(max(found.omega.size - _MAX_MODES, 0), found.omega.size)):
        table.add_row(*(cell(float(v)) for v in (found.omega[k], found.zeta[k], 1e6 * limits[k], *found.share[k])))
    data = {
        "case": name,
        "rod": parameters.ring.rod,
        "omega_rad_s": found.omega.tolist(),
        "damping_ratio": found.zeta.tolist(),
        "shares": {word: found.share[:, i].tolist() for i, word in enumerate(words)},
        "largest_step_s": found.step,
        "bounding": found.bounding,
    }
    return data, ["", table, f"ring of kind {parameters.ring.rod}: {found}"]


def _fit(b: Belt, s: Sheaves, source: str) -> dict[str, Any]:
    """Endplay [m], range of the ratio, and by ratio the primary's torque [N m] at which the secondary slips at 20 kN.

    The flanks stay between shaft and rim; the capacity is 2 mu F r'/cos(delta_0) there (xi = 1).
    """
    from rtcvt.offline.pushbelt.run.prepare import load_torque
    from rtcvt.offline.pushbelt.unit.kinematics import Closure, closure

    def at(ratio: float) -> Closure | None:
        """The belt at this ratio, None if its flanks leave the sheaves or it does not close."""
        try:
            found = closure(b.l_R, b.d_A, ratio, b.h_off)
        except InputError:
            return None
        depth = b.h_P + 0.5 * b.h_ring - b.y_P
        return found if all(s.r_min < r - depth < s.r_max for r in (found.r_I, found.r_O)) else None

    def last(towards: float) -> float:
        """The ratio next to `towards` that the belt can have, from one that it can."""
        inside, outside = start, towards
        for _ in range(60):
            middle = (inside * outside) ** 0.5
            inside, outside = (middle, outside) if at(middle) else (inside, middle)
        return inside

    ratios = (1.0, *(k**sign for k in (1.1, 1.2, 1.5, 2.0) for sign in (1, -1)))
    start = next((ratio for ratio in ratios if at(ratio)), 0.0)
    if not start:
        allowed = f"sheaves on which the flanks of a belt of {1e3 * b.l_R:g} mm stay at a ratio of 0.5 to 2"
        raise InputError(source, "pulleys", [s.r_min, s.r_max], allowed)
    low, high = last(0.05), last(20.0)
    torque = {}
    for ratio in (low, 1.0, high):
        found = at(ratio)
        if found is not None:
            torque[ratio] = load_torque(b, 1.0, 20e3, found.r_O) / ratio
    one = closure(b.l_R, b.d_A, 1.0, b.h_off)
    play = endplay(b, one.wrap_I, one.wrap_O, one.r_I, one.r_O)
    return {"endplay_m": play, "ratio": (low, high), "torque_N_m": torque}


_SETTINGS = {  # by the names of the options
    "elements": "N_E", "nodes": "N_B", "law": "law", "contact": "contact", "flank_points": "flank_points",
    "scheme": "scheme", "step": "step", "taper": "taper", "belt": "model", "before": "before",
    "before_elements": "before_N_E", "before_nodes": "before_N_B",
}  # fmt: skip


def simulate(parameters: Parameters, given: Mapping[str, Any], progress: Progress) -> Run:
    """Full model of a pushbelt on one of its cases."""
    from rtcvt.offline.pushbelt.run import schedule
    from rtcvt.offline.pushbelt.run.reading import figures, open_run
    from rtcvt.offline.pushbelt.run.simulate import simulate

    for name in ("before_elements", "before_nodes"):
        if given[name] is not None and not given["before"] > 0.0:
            raise InputError(f"--{name.replace('_', '-')}", "", given[name], "only with --before above 0")
    case = parameters.get_case(given["case"]).name
    path = given["output"] or Path(f"{parameters.name}_{case}.h5")
    require_ending(path, HDF5)
    require_writable(path, given["figures"])
    points = given["flank_points"] or (1 if given["belt"] == "hybrid" else 2)
    chosen = {key: given[name] for name, key in _SETTINGS.items()} | {"flank_points": points}
    settings = schedule.Settings(**chosen)
    run = schedule.Run(
        name=case,
        start=schedule.Case(case, given["row"]),
        settings=settings,
        duration=0.1 if given["duration"] is None else given["duration"],
        plot_step=given["plot_step"],
        observe=("elements", "fields"),
    )
    resume = given["resume"]
    outcome = simulate(parameters, run, path, parameters.text, resume=resume, progress=progress)
    with open_run(outcome.path) as file:
        found = figures(file)
    steps = outcome.computed * round(found["plot_step"] / found["step"])
    cost = {"step_cost_us": 1e6 * outcome.step} if steps else {}
    found |= {"computed_frames": outcome.computed, "wall_s": outcome.wall} | cost
    span = f"mean of the last {found.get('mean_over_s', 0.0):.3g} of {found['time_s']:g} s"
    title = f"{found['unit']}, {found['case']}: {span}"
    table = Table("", "primary", "secondary", title=escape(title))
    for name, label in (
        ("clamping_force_N", "clamping force [N]"),
        ("speed_rad_s", "speed [rad/s]"),
        ("shaft_torque_Nm", "shaft torque [N.m]"),
        ("radius_m", "radius of the ring [m]"),
    ):
        table.add_row(escape(label), *(cell(v) for v in found.get(name, ())))
    lines: list[Any] = [table]
    if "thrust_ratio" in found:
        lines.append(f"thrust ratio {found['thrust_ratio']:.4f}, speed ratio {found['speed_ratio']:.4f}")
        residual = f"{found['residual_of_losses']:.1e} of the losses"
        lines.append(f"energy that the scheme does not account for: {residual}")
    if steps:
        lines.append(f"{steps} steps in {outcome.wall:.1f} s, {cost['step_cost_us']:.1f} us for each")
    what = "the belt left its place" + (", or its contacts were not solved," if settings.scheme == "set-valued" else "")
    left = f"{what} after {found['time_s']:g} s: a smaller --step, or larger clamping forces"
    failure = left if outcome.ended == schedule.LEFT else ""
    return Run(outcome.path, found, lines, failure, interrupted=not outcome.done)
