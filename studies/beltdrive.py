"""Studies of belt drives: python -m studies.beltdrive NAME [FOLDER]; pictures go by default where a page shows them.

section_3  run-up of two pulleys with a given speed (Kubas 2017, section 3, Fig. 7)
fig_16     normal force on the element that each pulley of the accessory drive presses most, layout as shipped and
           mirrored (the same, Fig. 16)
readings   section 4 by readings of what the paper prints: tensions, speed and slip (the same, Figs. 10, 11)
slipping   errors of the hybrid model on the serpentine drive of the tests; runs of the ANCF belt are stored in FOLDER
meshes     effect of mesh and step of the ANCF belt on two of these runs
substitution  engine orders of this drive, without and with a tensioner: parts of the hybrid model as in the ANCF run
parameters figures of two_pulley_belt over one key of [ancf] (Ntarladima, section 4); runs are stored in FOLDER
"""

import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rtcvt.belt.layout import Arc, D
from rtcvt.belt.unit import BeltUnit
from rtcvt.errors import InputError
from rtcvt.html import COLOURS
from rtcvt.kind import load_unit
from rtcvt.look import RC
from rtcvt.offline.belt import rigid_elements
from rtcvt.offline.belt.results import Case, Result, result
from rtcvt.offline.belt.runs import changed
from rtcvt.offline.belt.studies import STUDIES, figures, run_study
from rtcvt.offline.belt.verification import compare
from rtcvt.offline.pictures import thin
from rtcvt.scenario import Scenario, Table, sample_inputs
from rtcvt.simulate import Result as Run

Array = NDArray[np.float64]

ROOT = Path(__file__).parents[1]
DRIVES = ROOT / "tests" / "data" / "belt"
LATE = 300  # [ms]


def keep(picture: Figure, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    picture.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})


def draw_section_3(folder: Path) -> None:
    unit = load_unit("verification_belt")
    unit = unit.model_copy(update={"belt": unit.belt.model_copy(update={"pretension": 200.0})})
    run = rigid_elements.simulate(unit, unit.scenario[0])
    found = rigid_elements.signals(run, unit)
    picture = Figure(figsize=(9.0, 4.6))
    axes = picture.subplots(2, 1)
    driving, driven = (found[f"{name}.w"].values for name in unit.pulleys)
    late = run.time > 1.0
    T = [found[key].values[late].mean() for key in ("driving_driven.F", "driven_driving.F")]
    creep = abs(T[0] - T[1]) / (unit.belt.EA + max(T))
    print(f"slip {1.0 - driven[late].mean() / 12.0:.4%}, (T_1 - T_2)/(EA + T_1) {creep:.4%}")
    for ax in axes:
        ax.plot(run.time, driving, color=COLOURS[1], lw=1.2, label="driving")
        ax.plot(run.time, driven, color=COLOURS[0], lw=1.2, label="driven")
        ax.set_ylabel("rad/s")
    axes[1].set_xlim(0.25, 0.8)
    axes[1].set_ylim(11.2, 12.6)
    axes[0].legend(frameon=False)
    axes[1].set_xlabel("time [s]")
    keep(picture, folder, "section_3")


def draw_fig_16(folder: Path) -> None:
    unit = load_unit("accessory_5pk")
    picture = Figure(figsize=(9.0, 4.6))
    axes = picture.subplots(2, 1, sharex=True)
    for ax, name in zip(axes, ("run-up", "mirrored layout"), strict=True):
        scenario = next(s for s in unit.scenario if s.name == name).model_copy(update={"duration": 0.5})
        found = rigid_elements.signals(run := rigid_elements.simulate(unit, scenario), unit)
        N = {pulley: found[f"contact.{pulley}.N"].values for pulley in unit.pulleys}
        peak = {pulley: float(values.max()) for pulley, values in N.items()}
        print(name, {k: round(v) for k, v in peak.items()}, f"ratio {peak['alternator'] / peak['tensioner']:.3f}")
        for k, (pulley, values) in enumerate(N.items()):
            one = values[:, int(values.max(axis=0).argmax())]
            ax.plot(*thin(run.time, np.where(one > 0.0, one, np.nan)), color=COLOURS[k], lw=1.2, label=pulley)
        ax.set_xlim(0.0, 0.5)
        ax.set_title(name, loc="left", fontweight="bold")
        ax.set_ylabel("N")
    axes[0].legend(frameon=False, loc="upper left")
    axes[1].set_xlabel("time [s]")
    keep(picture, folder, "fig_16")


def run_readings(_: Path) -> None:
    """Each reading alone, then together, means of the last 0.2 s of 1 s."""
    shipped = changed(load_unit("two_pulley_5pk"), tolerance=1e-4)  # 1e-5 where it would be that of the speed dv
    scenario = shipped.scenario[0].model_copy(update={"duration": 1.0})
    length = shipped.path().length / 150

    def line_before_contact(unit: BeltUnit) -> BeltUnit:
        """The belt that has 550 N on rigid pulleys: as they yield, less."""
        d = rigid_elements._drive(unit, unit.rest_length() / 150)
        y = rigid_elements.at_rest(unit)[1]
        w = rigid_elements._settle(d, y, d.c_wzd)
        free = ~(w.N > 0.0).any(axis=0)
        return with_belt(pretension=float(np.mean(w.F[free & np.roll(free, 1)])))(unit)

    def with_belt(**values: float) -> Callable[[BeltUnit], BeltUnit]:
        return lambda unit: unit.model_copy(update={"belt": unit.belt.model_copy(update=values)})

    def with_elements(**values: float) -> Callable[[BeltUnit], BeltUnit]:
        return lambda unit: changed(unit, **values)

    def idle(unit: BeltUnit) -> BeltUnit:
        bare = {k: p.model_copy(update={"friction": 0.0}) for k, p in unit.pulleys.items()}
        return unit.model_copy(update={"pulleys": bare})

    cases: dict[str, tuple[Callable[[BeltUnit], BeltUnit], ...]] = {
        "as shipped": (),
        "no bearing friction": (idle,),
        "dv 1e-3 m/s": (with_elements(dv=1e-3),),
        "c_skr of a joint": (with_belt(EI=0.026 * length),),
        "b_wzd of a joint": (with_belt(damping=20.5 * length),),
        "b_wzd of the belt": (with_belt(damping=20.5 * 1.2),),
        "c_wzd of a joint": (with_belt(EA=1.52e5 * length, damping=20.5 * length, pretension=240.0),),
        "c_wzd of the belt": (with_belt(EA=1.52e5 * 1.2),),
        "550 N before the contact yields": (line_before_contact,),
        "mu 0.5": (with_elements(mu=0.5),),
        "e_wzd 1.5, same stretch at 550 N": (
            with_belt(EA=550.0 * (1.52e5 / 550.0) ** 1.5), with_elements(stretch_exponent=1.5)),
        "e_wzd 0.7, same stretch at 550 N": (
            with_belt(EA=550.0 * (1.52e5 / 550.0) ** 0.7), with_elements(stretch_exponent=0.7)),
        "dv 1e-4 m/s": (with_elements(dv=1e-4),),
        "dv 1e-5 m/s, as printed": (with_elements(dv=1e-5),),
        "joint c_skr, dv 1e-5, no friction": (with_belt(EI=0.026 * length), with_elements(dv=1e-5), idle),
        "all of a joint but c_wzd, dv 1e-5": (
            with_belt(EI=0.026 * length, damping=20.5 * length), with_elements(dv=1e-5)),
        "all of a joint but c_wzd, dv 1e-5, no friction": (
            with_belt(EI=0.026 * length, damping=20.5 * length), with_elements(dv=1e-5), idle),
        "the same, 550 N before the contact yields": (
            with_belt(EI=0.026 * length, damping=20.5 * length), with_elements(dv=1e-5), idle, line_before_contact),
    }  # fmt: skip
    print("printed: -22 rad/s, below 1.5 %, 780 and 250 N")
    for about, changes in cases.items():
        unit = shipped
        try:
            for change in changes:
                unit = change(unit)
            fine = unit.elements is not None and unit.elements.dv < 1e-3
            run = rigid_elements.simulate(changed(unit, tolerance=1e-5) if fine else unit, scenario)
        except (ArithmeticError, InputError) as e:
            print(about, "|", e, flush=True)
            continue
        found = rigid_elements.signals(run, unit)
        w, driven, tight, slack = (
            found[k].values[800:].mean() for k in ("driving.w", "driven.w", "driving_driven.F", "driven_driving.F")
        )
        print(f"| {about} | {w:.2f} | {1.0 - driven / w:.2%} | {tight:.0f}, {slack:.0f} | {tight - slack:.0f} | "
              f"{(tight + slack) / 2:.0f} | {run.accepted} |", flush=True)  # fmt: skip


def slipping() -> dict[str, Scenario]:
    def speed(times: tuple[float, ...], values: tuple[float, ...]) -> Table:
        return Table(time=times, value=values, interpolation="smooth")

    run_up = speed((0.0, 0.2), (0.0, -120.0))
    cases = {
        "run-up": (0.6, {
            "crank.w": run_up,
            "alternator.tau": Table(time=(0.3, 0.31, 0.45, 0.46), value=(0.0, 3.0, 3.0, 0.0)),
            "ac.tau": Table(time=(0.35, 0.36), value=(0.0, 8.0)),
        }),
        "reversal": (0.9, {"crank.w": speed((0.0, 0.2, 0.4, 0.6), (0.0, -120.0, -120.0, 120.0))}),
        "350 rad/s": (0.7, {"crank.w": speed((0.0, 0.4), (0.0, -350.0))}),
        "engine order": (0.6, {"crank.w": "-157*min(t/0.2, 1)*(1 + 0.05*sin(50*pi*t))"}),
        "overload": (0.6, {
            "crank.w": run_up,
            "alternator.tau": Table(time=(0.3, 0.31, 0.38, 0.39), value=(0.0, 25.0, 25.0, 0.0)),
        }),
    }  # fmt: skip
    return {name: Scenario(name=name, duration=end, inputs=inputs) for name, (end, inputs) in cases.items()}


def print_worst(about: str, errors: Iterable[tuple[str, float]]) -> None:
    worst: dict[str, float] = {}
    for kind, error in errors:
        worst[kind] = max(error, worst.get(kind, 0.0))
    print(about, ", ".join(f"{kind} {100.0 * e:.2f} %" for kind, e in worst.items()), flush=True)


def run_slipping(folder: Path) -> None:
    unit = changed(load_unit(DRIVES / "serpentine.toml"), step=1e-4)
    for name, scenario in slipping().items():
        case = Case(name, unit, scenario)
        print_worst(name, ((e.kind, e.nrms) for e in compare(case, result(case, folder), name).errors))


def run_meshes(folder: Path) -> None:
    unit = load_unit(DRIVES / "serpentine.toml")
    for name in ("engine order", "overload"):
        found = []
        for elements, step in ((240, 5e-5), (480, 5e-5), (240, 1e-4)):
            case = Case(name, changed(unit, elements=elements, step=step), slipping()[name])
            found.append(compare(case, result(case, folder), name))
        for about, other in zip(("480 elements", "0.1 ms"), found[1:], strict=True):
            by = {k: found[0].pairs[k][0] - values for k, (values, _) in other.pairs.items()}
            errors = [(e.kind, float(np.sqrt(np.mean(by[e.name][1:] ** 2))) / e.scale) for e in found[0].errors]
            print_worst(f"{name}: {about} against 240 elements, 50 us:", errors)


def cell_shares(unit: BeltUnit, full: Result) -> Array:
    """Shares of a wrap's belt that its cells hold, by tensions on the ANCF belt: (instants, pulleys, cells)."""
    assert unit.hybrid is not None
    model, path, cells = unit.build("hybrid"), unit.path(), unit.hybrid.cells
    table = model.data[int(model.data[D.GEOMETRY]) :][: len(Arc) * len(unit.pulleys)].reshape(-1, len(Arc))
    content = np.empty((full.fields["belt.s"].shape[0], len(unit.pulleys), cells))
    for k, (s, T) in enumerate(zip(full.fields["belt.s"], full.fields["belt.F"], strict=True)):
        for i, row in enumerate(table):
            fine = np.mean(path.arc(i)) + row[Arc.OWN] * ((np.arange(20 * cells) + 0.5) / (20 * cells) - 0.5)
            tension = np.interp(fine, s, T, period=path.length).reshape(cells, 20).mean(axis=1)
            over = np.minimum(tension - unit.belt.pretension, row[Arc.LAST])
            content[k, i] = (1.0 - (row[Arc.SINK] - row[Arc.LESS] * over) * over) / (1.0 + tension / unit.belt.EA)
    return content / content.sum(axis=2, keepdims=True)


def substituted(case: Case, full: Result, parts: Collection[str]) -> Run:
    """The hybrid model's run with parts as the ANCF run has them: the arm's angle, the speed at the end of a step of
    1 ms of the pulley whose speed is given, from `LATE` on how a wrap's belt lies on it."""
    unit = case.unit
    model = unit.build("hybrid")
    instance, place = model.instantiate(), {v.name: k for k, v in enumerate(model.states)}
    u, back, on = (sample_inputs(model, case.scenario, full.time + dt) for dt in (0.0, -1e-5, 1e-5))
    w, slope = u[:, 0], (on - back)[:, 0] / 2e-5  # the crankshaft's
    shares = cell_shares(unit, full)
    wraps = [[place[f"{name}.l_{k + 1}"] for k in range(shares.shape[2])] for name in unit.pulleys]
    if "arm" in parts:
        instance.set("idler.arm.J", 1e6)  # so that it keeps its speed
    instance.initialise()
    y = np.tile(instance.y, (full.time.size, 1))
    for k in range(1, full.time.size):
        instance.u[:], x = u[k - 1], instance.x
        if "arm" in parts:
            theta = full.series["idler.theta"]
            x[place["idler.arm.theta"]] = theta[k - 1]
            x[place["idler.arm.w"]] = (theta[k] - theta[k - 1]) / unit.step
        if "speed" in parts:
            instance.u[0], x[place["crank.slope"]], x[place["crank.a"]] = w[k], 0.0, 0.0
        if "wraps" in parts and k > LATE:
            for cells, share in zip(wraps, shares[k - 1 - LATE], strict=True):
                x[cells] = x[cells].sum() * share
        instance.step(unit.step)
        if "speed" in parts:
            x[place["crank.a"]] = slope[k]
            instance.outputs()
        y[k] = instance.y
    none = np.zeros(full.time.size)
    return Run(model, case.scenario, unit.step, instance.p, full.time, u, y, none.astype(np.int8), none)


def run_substitution(folder: Path) -> None:
    arm = Scenario(name="arm", duration=0.6, inputs={"crank.w": "-120*min(t/0.2, 1)*(1 + 0.02*sin(50*pi*t))"})
    instants = tuple(np.round(1e-3 * np.arange(LATE, 601), 3).tolist())
    for drive, scenario in (("serpentine", slipping()["engine order"]), ("tensioned", arm)):
        unit = changed(load_unit(DRIVES / f"{drive}.toml"), step=1e-4)
        case = Case(scenario.name, unit, scenario, instants)
        full = result(case, folder)
        for parts in ((), *([("arm",)] if unit.arms else []), ("speed",), ("wraps",), ("speed", "wraps")):
            run = substituted(case, full, parts)
            about = f"{drive}, {' and '.join(parts) or 'nothing'} substituted:"
            found = compare(case, full, about, fast=run)
            off = {name: float(np.sqrt(np.mean((a - b)[LATE:] ** 2))) for name, (a, b) in found.pairs.items()}
            print_worst(about, ((e.kind, off[e.name] / e.scale) for e in found.errors))


def run_parameters(folder: Path) -> None:
    unit = load_unit("two_pulley_belt")
    for study in STUDIES:
        for label, r in run_study(unit, study, folder).items():
            print(study, label, ", ".join(f"{k} {v:.5g}" for k, v in figures(r).items()), sep=": ", flush=True)


def main() -> None:
    name, *rest = sys.argv[1:]
    of_docs = ROOT / "docs" / "beltdrive"
    run, folder = {
        "section_3": (draw_section_3, ROOT / "studies"),
        "fig_16": (draw_fig_16, of_docs),
        "readings": (run_readings, Path("runs")),
        "slipping": (run_slipping, Path("runs")),
        "meshes": (run_meshes, Path("runs")),
        "substitution": (run_substitution, Path("runs")),
        "parameters": (run_parameters, Path("runs")),
    }[name]
    with matplotlib.rc_context(RC | {"svg.hashsalt": "rtcvt"}):
        run(Path(rest[0]) if rest else folder)


if __name__ == "__main__":
    main()
