"""State that a belt reaches, by its load and its start: `states.md`.

runs FOLDER [PART...]   the runs missing in FOLDER, each a JSON file with the means of its revolutions; PART: beginnings
        of the runs' names, in this order. An interrupted run is started again
table FOLDER            writes states.csv and states.svg to the folder of this file
measured                meaning of the slip in Table 7.1 of the source by the radii of i_r; theory by elements

A run: an operating point, a load of the secondary (`pushbelt.unit.load`), a start, and 30 revolutions. Starts:

    simulate   as `rtcvt simulate` and a campaign without approach begin: velocity model under the load
    above      a torque ratio larger by 0.2, at most 0.95, for two revolutions, down to that of the point in the third
    below      a torque ratio smaller by 0.3
    theory     simulate's, with the speeds of belt and secondary that the steady theory finds

Points: cases of the unit file with their own number of elements (LOW once more with 432), and twelve drawn as by a
campaign (scrambled Halton sequence, seed 61): i 1.6 to 2.4, xi 0.3 to 0.9, F_O 8 to 35 kN, 1000 to 3000 rpm.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from rtcvt.html import COLOURS
from rtcvt.look import GREY
from rtcvt.offline.pictures import drawing
from rtcvt.offline.pushbelt.run.prepare import Prepared, prepare, start_of, started
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, Point, Run, Settings
from rtcvt.offline.pushbelt.run.simulate import _advance
from rtcvt.offline.pushbelt.run.windows import edge_ratio
from rtcvt.offline.pushbelt.steady import NoSteadyStateError, mean, steady
from rtcvt.offline.pushbelt.steady import Point as TheoryPoint
from rtcvt.offline.pushbelt.unit.kinematics import closure
from rtcvt.offline.pushbelt.unit.load import Loads
from rtcvt.offline.pushbelt.unit.parameters import Parameters, belt, boundary_at, endplay, load_parameters, sheaves
from rtcvt.offline.variator.plan import Plan, runs_of
from rtcvt.recording import write_text
from rtcvt.unitfile import parse_table

BELT = "pushbelt_24mm_belief"
TURNS, FRAMES, LAST = 30, 96, 10
MEANS = ("slip", "thrust", "swing", "torque_swing")
CASES = {"LOW": ("LOW", 0, None), "LOW432": ("LOW", 0, 432), "Honda": ("LOW-Honda", 0, None), "MED": ("MED", 3, None),
         "OD": ("OD", 0, None), "KpKs": ("OD-KpKs", 3, None)}  # fmt: skip
SPACE = {"ratio": [1.6, 2.4], "speed": ["1000 rpm", "3000 rpm"], "torque_ratio": [0.3, 0.9],
         "clamping_force": ["8 kN", "35 kN"]}  # fmt: skip
LOADS = ("torque", "damper", "bench", "car")
VARIANTS: dict[str, dict[str, Any]] = {  # of the loads, for LOW with 432 elements
    "weak": {"kind": "damper", "slip": 0.5}, "weaker": {"kind": "damper", "slip": 5.0},
    "soft": {"kind": "bench", "stiffness": 5e3}, "stiff": {"kind": "bench", "stiffness": 1e5},
    "lossy": {"kind": "bench", "damping": 0.1}, "heavy": {"kind": "torque"},
}  # fmt: skip
STARTS = ("simulate", "below", "above", "theory")
SPATIAL = ("LOW432", "LOW", "MED", "P06", "P03")


def points(p: Parameters) -> dict[str, tuple[Point, int]]:
    """Operating points and numbers of elements by name."""
    found = {}
    for name, (of, row, number) in CASES.items():
        case = p.get_case(of)
        N = number or case.N_E0 or p.element.N_E0
        b = belt(p, N_E0=N)
        at = boundary_at(case, np.array([0.0]), row)[0]
        geometry = closure(b.l_R, b.d_A, float(case.i_r or 1.0))
        point = Point((geometry.r_O - b.h_off) / (geometry.r_I - b.h_off), float(at[4]), 1e-3, float(at[3]))
        xi = 1e-3 * float(at[6]) / start_of(b, sheaves(p), point)[1]
        found[name] = replace(point, xi=xi or 1e-6), N
    plan = {"name": "states", "seed": 61, "space": SPACE, "points": {"number": 12}}
    for k, run in enumerate(runs_of(parse_table(Plan, {**plan, "source": "states"}, "states"), p)):
        assert isinstance(run.start, Point)
        found[f"P{k:02}"] = run.start, p.element.N_E0
    return found


def trials(p: Parameters) -> Iterator[Run]:
    """All runs, the most informative first."""
    at = points(p)
    for start in STARTS:
        for name in at:
            yield from (trial(p, at, name, load, start) for load in LOADS)
    yield from (trial(p, at, "LOW432", kind, "simulate") for kind in VARIANTS)
    for other, names in (("explicit", ("LOW432", "LOW", "P06")), ("spatial", SPATIAL)):
        for name in names:
            yield from (trial(p, at, name, load, "simulate", other) for load in LOADS)


def trial(p: Parameters, at: Any, name: str, kind: str, start: str, *other: str) -> Run:
    point, N = at[name]
    b, s, spatial = belt(p, N_E0=N), sheaves(p), "spatial" in other
    if start in ("above", "below"):
        point = replace(point, begin=min(point.xi + 0.2, 0.95) if start == "above" else point.xi - 0.3)
    capacity = start_of(b, s, replace(point, begin=0.0))[1] / point.xi
    given = TypeAdapter(Loads).validate_python(VARIANTS.get(kind, {"kind": kind}))
    settings = Settings(
        N_E0=N, scheme="explicit" if "explicit" in other else "multirate", model="spatial" if spatial else "hybrid",
        before=4.0 * spatial, flank_points=1 + spatial, load=given.at(s.J, capacity, point.omega_I / point.ratio),
    )  # fmt: skip
    label = "-".join((name, kind, start, *other))
    return Run(label, point, settings, settle=TURNS, mean=5.0, frames=FRAMES, observe=())


def begun(p: Parameters, run: Run) -> Prepared:
    """The run at its start."""
    made, N = started(prepare(p, run)), run.settings.N_E0
    if "-theory" in run.name:
        point = run.start
        assert isinstance(point, Point)
        found = steady(belt(p, N_E=N, N_E0=N), sheaves(p), TheoryPoint(point.omega_I, point.F_O, point.ratio, made.M_O))
        x: Any = made.state
        v = float(np.mean(np.hypot(x.u[:, 0], x.u[:, 1])))
        share = mean(found.arcs[1], "v") / v
        x.u[...] *= share
        x.u_R[...] *= share
        x.sd[1, 3] = x.load[1] = found.omega[1]
    return made


def result(p: Parameters, run: Run) -> dict[str, Any]:
    """Means of the revolutions."""
    made = begun(p, run)
    b, n, done, ended, cost = made.model.belt._asdict(), len(made.inputs) - 1, 0, -1, []
    kept: dict[str, list[Any]] = {"grid/radius": [], "sheaves/speed": [], "pulleys/clamping_force": [],
                                  "pulleys/shaft_torque": [], "energy/work": [], "energy/stored": []}  # fmt: skip
    while done < n and ended < 0:
        record, ended, spent = _advance(made, made.inputs, done)
        done += len(record["grid/radius"])
        cost.append(spent)
        for key, parts in kept.items():
            parts.append(record[key])
    x = {key: np.concatenate(parts) for key, parts in kept.items()}
    whole = len(x["grid/radius"]) // FRAMES

    def turns(a: Any) -> Any:
        return a[: whole * FRAMES].reshape(whole, FRAMES, *a.shape[1:])

    omega, F, i = turns(x["sheaves/speed"]), turns(x["pulleys/clamping_force"]), turns(edge_ratio(x["grid/radius"], b))
    M = turns(x["pulleys/shaft_torque"])[..., 1]
    late = omega[-LAST:, :, 1].ravel()
    power = np.abs(np.fft.rfft(late - late.mean())) ** 2
    found = {
        "ratio": i.mean(1), "slip": 1.0 - i.mean(1) * omega[..., 1].mean(1) / omega[..., 0].mean(1),
        "thrust": F[..., 0].mean(1) / F[..., 1].mean(1), "swing": omega[..., 1].std(1) / omega[..., 1].mean(1),
        "torque_swing": M.std(1) / max(abs(made.M_O), 1.0),
    }  # fmt: skip
    work, stored = x["energy/work"], x["energy/stored"].sum(1)
    lost = work[1:, 4:].sum()
    return {k: np.round(v, 6).tolist() for k, v in found.items()} | {
        "ended": int(ended), "complete": ended == COMPLETE, "M_O": made.M_O, "revolution": made.clock.revolution,
        "hertz": float(np.argmax(power) / (len(late) * made.clock.plot_step)), "step": float(np.median(cost)),
        "unaccounted": float((work[1:, :4].sum() - lost - (stored[-1] - stored[0])) / lost),
        "lost_in_load": float(work[1:, -1].sum() / lost), "point": vars(run.start),
    }  # fmt: skip


def runs(folder: str, *parts: str) -> None:
    p, at = load_parameters(BELT), Path(folder)
    heavy = p.model_copy(update={"pulleys": p.pulleys.model_copy(update={"J": 1.5 * p.pulleys.J})})
    at.mkdir(parents=True, exist_ok=True)
    every = list(trials(p))
    for run in (run for part in parts or ("",) for run in every if run.name.startswith(part)):
        path = at / f"{run.name}.json"
        if path.exists():
            continue
        try:
            found = result(heavy if "-heavy-" in run.name else p, run)
        except NoSteadyStateError as error:
            found = {"failed": str(error)}
        write_text(path, json.dumps(found) + "\n")
        if "slip" in found:
            print(
                run.name, {k: np.round(np.mean(found[k][-LAST:]), 5) for k in ("slip", "thrust", "swing")}, flush=True
            )


def settled(found: dict[str, Any]) -> int:
    """After how many revolutions slip over five is within 5 % or 0.1 points, thrust ratio within 2 %, of the last."""
    slip, thrust = (np.convolve(found[k], np.full(5, 0.2), "valid") for k in ("slip", "thrust"))
    s, t = slip[-LAST:].mean(), thrust[-LAST:].mean()
    off = (np.abs(slip - s) > max(0.05 * abs(s), 1e-3)) | (np.abs(thrust - t) > 0.02 * t)
    return int(np.flatnonzero(off)[-1]) + 1 if off.any() else 0


def table(folder: str) -> None:
    here, found = Path(__file__).parent, {}
    for run in trials(load_parameters(BELT)):
        path = Path(folder) / f"{run.name}.json"
        if path.exists() and "slip" in (one := json.loads(path.read_text(encoding="utf-8"))):
            found[run.name] = one
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = "point,load,start,other,i,xi,F_O [N],omega_I [rad/s],revolutions,slip [%],thrust ratio,swing of omega_O [%],"
    head += "its frequency [Hz],swing of the shaft's torque [%],settled after [revolutions],unaccounted [% of the loss]"
    writer.writerow(head.split(","))
    late = {name: {k: float(np.mean(one[k][-LAST:])) for k in MEANS} for name, one in found.items()}
    for name, one in sorted(found.items()):
        point, load, start, *other = name.split("-")
        values = [one["point"][k] for k in ("ratio", "xi", "F_O", "omega_I")] + [len(one["slip"])]
        slip, thrust, swing, of_torque = late[name].values()
        values += [
            100 * slip,
            thrust,
            100 * swing,
            one["hertz"],
            100 * of_torque,
            settled(one),
            100 * one["unaccounted"],
        ]
        writer.writerow([point, load, start, *(other or [""]), *(f"{v:.4g}" for v in values)])
    write_text(here / "states.csv", text.getvalue())
    with drawing(1, 2, 3.2, "states", shared=False) as (axes, shown):
        runs, over = axes[0]
        for load, colour in zip(LOADS, COLOURS, strict=False):
            for name, one in found.items():
                point, kind, start, *other = name.split("-")
                if kind == load and point.startswith("LOW") and not other:
                    label = load if (point, start) == ("LOW432", "simulate") else None
                    style = "-" if point == "LOW432" else "--"
                    runs.plot(100.0 * np.array(one["slip"]), style, color=colour, lw=1.0, label=label)
                calm = late.get(name.replace(f"-{load}-", "-damper-"))
                if kind == load != "damper" and calm and start == "simulate" and not other:
                    over.plot(100.0 * calm["slip"], 100.0 * late[name]["slip"], "o", color=colour, ms=4)
        runs.set_title("LOW: slip [%] over revolutions; dashed with 433 elements")
        runs.set_ylim(0.0, 7.0)
        runs.legend()
        over.plot([-0.5, 8.0], [-0.5, 8.0], color=GREY, lw=0.8)
        over.set(xlim=(-0.5, 8.0), ylim=(-0.5, 8.0))
        over.set_title("slip [%] with the other loads over that with the damper")
    write_text(here / "states.svg", shown())


def measured() -> None:
    p = load_parameters(BELT)
    for name, row in (("OD", 0), ("MED", 3), ("LOW-Honda", 0), ("LOW", 0)):
        case = p.get_case(name)
        at, i_r, i_s = boundary_at(case, np.array([0.0]), row)[0], float(case.i_r or 1.0), float(case.i_s or 1.0)
        for N, depth in product((432, 433, 434), (0.0, belt(p).h_off)):
            b = belt(p, N_E=N, N_E0=N)
            g = closure(b.l_R, b.d_A, i_r, depth)
            edge = (g.r_O - b.h_off) / (g.r_I - b.h_off)
            play = endplay(b, g.wrap_I, g.wrap_O, g.r_I, g.r_O)
            found = steady(b, sheaves(p), TheoryPoint(float(at[4]), float(at[3]), edge, float(at[6])))
            print(f"{name}, {N} elements, i_r of the {'rocking edge' if depth else 'neutral fibre'}: i' = {edge:.3f}; "
                  f"i_s = {i_s} means a slip of {1.0 - edge / i_s:.2%}; endplay without load {1e3 * play:.2f} mm; "
                  "theory: "
                  f"slip {found.slip:.2%}, i_s {edge / (1.0 - found.slip):.3f}, thrust ratio {found.thrust_ratio:.3f}, "
                  f"push force {mean(found.arcs[1], 'P'):.0f} N", flush=True)  # fmt: skip


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
