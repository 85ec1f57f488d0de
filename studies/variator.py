"""Studies that `docs/variator.md` and `studies/driving_event.md` quote: studies/variator.py NAME

modes   least damping ratios of `pushbelt_cvt` after the start, at random operating points, over belt.l_point
kers    those of the loop of `pushbelt_kers` after a step of torque, over control.K_theta
slides  windows of the full model with over 5 % slip, those that the laws predict (`status.macro_slip`), and the slip
repeats how far the full model is from itself: the held-out runs again, with a load that comes from a fifth nearer and
        farther, in the errors of `rtcvt check pushbelt_cvt`. A quarter of an hour on two processors, goes on where it
        was stopped. repeats FOLDER [TABLE]: where to keep the runs; another table of held-out runs
schemes how far the multirate scheme is from the explicit one. schemes FOLDER [TABLE]: runs of the plan `heldout` with
        scheme = "explicit", by rtcvt campaign; table of those with the multirate scheme.
        Only settled states and their fields: branches and transients have forces of their own in both
memory  whether errors of the law of the thrust ratio in held-out transients depend on the history
curves  how fast the error of the thrust ratio falls with runs that a campaign chooses, compared with evenly drawn ones,
with
        the shipped law and 0.4 % of scatter in place of full runs: four seeds. curves [RUN.h5]: over the operating
        points of a recording, chosen for the plan's space and for these, else over the space
campaign windows of a campaign: how many, how settled, by torque ratio, laws of the shift rate. campaign
        FOLDER: that of the runs, with its index.csv
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from rtcvt.kind import load_unit
from rtcvt.model import Instance
from rtcvt.offline.pushbelt.run.schedule import Point
from rtcvt.offline.pushbelt.run.simulate import compile_steps, simulate
from rtcvt.offline.pushbelt.run.windows import STEADY
from rtcvt.offline.pushbelt.unit.parameters import Parameters, load_parameters
from rtcvt.offline.variator import choice
from rtcvt.offline.variator.alignment import MAX_SPEED_LOSS
from rtcvt.offline.variator.check import check_heldout
from rtcvt.offline.variator.driven import RecordedLaws
from rtcvt.offline.variator.heldout import HeldRun, Passage, Series, condense, read_heldout
from rtcvt.offline.variator.laws import places_of, ranges_of
from rtcvt.offline.variator.plan import load_plan, runs_of
from rtcvt.offline.variator.process import fit
from rtcvt.offline.variator.spread import spread
from rtcvt.unitfile import parse_table, parse_toml
from rtcvt.variator.build import build_variator, reduced_path
from rtcvt.variator.kernels import MACRO_SLIP_LOSS
from rtcvt.variator.reduced.file import read_reduced
from rtcvt.variator.reduced.model import ReducedModel
from rtcvt.variator.unit import with_flange_inputs

Array = NDArray[np.float64]
STEP = 1e-3  # [s]
POINTS = 1500
BELT = "pushbelt_24mm_belief"
RUNS = (40, 64, 88, 112, 136, 160, 184, 208)  # of a learning curve


def least_damping(one: Instance) -> tuple[float, float]:
    """Least damping ratio of the modes that swing, and its frequency [Hz]."""
    modes = np.linalg.eigvals(one.jacobian())
    modes = modes[np.abs(modes.imag) > 1.0]
    if len(modes) == 0:
        return 1.0, 0.0
    ratios = -modes.real / np.abs(modes)
    least = int(np.argmin(ratios))
    return float(ratios[least]), float(abs(modes[least].imag) / (2.0 * np.pi))


def stepped(one: Instance, name: str, steps: int) -> NDArray[np.float64]:
    """An output after each of `steps` steps."""
    values = np.empty(steps)
    for k in range(steps):
        one.step(STEP)
        values[k] = one.get(name)
    return values


def swing(values: NDArray[np.float64]) -> float:
    """Range of a signal about its parabola."""
    t = np.arange(float(len(values)))
    return float(np.ptp(values - np.polyval(np.polyfit(t, values, 2), t)))


def modes() -> None:
    unit = load_unit("pushbelt_cvt")
    reduced = read_reduced(reduced_path(unit))
    laws, c = RecordedLaws(reduced), reduced.constants
    model = build_variator(with_flange_inputs(unit, {"primary": "speed"}), "hybrid", reduced=reduced)
    rng = np.random.default_rng(5)
    points = rng.uniform([0.5, 80.0, 6e3, -0.3, 0.5], [2.3, 600.0, 3e4, 0.3, 1.8], (POINTS, 5))
    print(
        "l_point [m]: growing, below 0.06, median; the four least damped: ratio, Hz, i, omega_I, F_CO, xi, y; and swing"
    )
    for l_point in (0.1, 0.05, 0.02, 0.01):
        found = []
        for i, omega_I, F_O, xi, y in points:
            one = model.instantiate()
            start = {"belt.l_point": l_point, "ratio.start": i, "primary.w_start": omega_I, "primary.w": omega_I}
            for name, value in start.items():
                one.set(name, value)
            one.initialise()
            r_I = one.get("radius.primary") - c["h_off"]
            kappa = c["m_star"] * (omega_I * r_I) ** 2 / F_O
            at = (np.array([a]) for a in (i, xi, kappa, F_O))
            one.set("clamp.secondary.F", F_O)
            one.set("clamp.primary.F", y * F_O * float(laws.steady(*at)["thrust_ratio"][0]))
            one.set("secondary.tau", -xi * 2.0 * c["mu"] * F_O / np.cos(c["delta_0"]) * i * r_I)
            one.initialise()
            stepped(one, "secondary.w", 60)
            found.append((*least_damping(one), one))
        order = sorted(range(POINTS), key=lambda k: found[k][0])
        ratios = np.array([f[0] for f in found])
        print(f"{l_point:g}: {(ratios < 0.0).sum()}, {(ratios < 0.06).sum()}, {np.median(ratios):.2f}")
        for k in order[:4]:
            later = stepped(found[k][2], "secondary.w", 3300)
            point = ", ".join(f"{a:.4g}" for a in (*found[k][:2], *points[k]))
            print(f"    {point}; {swing(later[-300:]) / abs(later[-1]):.1e} of omega_O")


def kers() -> None:
    unit = load_unit("pushbelt_kers")
    model = unit.build("hybrid")
    fastest = unit.values()["flywheel.w_max"] / (unit.values()["shaft.i"] * unit.values()["flywheel.i"])
    print("K_theta: least damped: ratio, Hz, rpm, i, N.m; and swing of the torque [N.m] 3 s later")
    for K_theta in (1e-3, 7e-4, 5e-4):
        found = []
        for rpm in (800, 1500, 2500, 4000):
            for i in (0.64, 0.8, 1.0, 1.4, 1.9, 2.36):
                for step in (40.0, -40.0):
                    omega = rpm * np.pi / 30.0
                    if omega / i > 0.95 * fastest:
                        continue
                    one = model.instantiate()
                    start = {"control.K_theta": K_theta, "ratio.start": i, "shaft.w_start": omega, "shaft.w": omega}
                    for name, value in start.items():
                        one.set(name, value)
                    one.initialise()
                    stepped(one, "shaft.tau", 500)
                    one.set("control.tau_des", step)
                    stepped(one, "shaft.tau", 300)
                    ratio, hertz = least_damping(one)
                    found.append((ratio, hertz, rpm, i, step, swing(stepped(one, "shaft.tau", 3000)[-500:])))
        found.sort()
        print(f"{K_theta:g}, {len(found)} points:")
        for point in found[:6]:
            print("    " + ", ".join(f"{a:.3g}" for a in point))


def slides() -> None:
    laws = read_reduced(reduced_path(load_unit("pushbelt_cvt")))
    columns = ("ratio [1]", "xi [1]", "kappa [1]", "F_O [N]", "y [1]", "thrust_ratio [1]", "slip [1]", "x [1]")
    for name in ("pushbelt_24mm", "heldout"):
        with open(Path(__file__).parents[1] / "docs" / "campaign" / f"{name}.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        data = np.array([[float(row[c] or "nan") for c in columns] for row in rows])
        steady = np.array([row["window"] == "steady" for row in rows])
        known = np.isfinite(data).all(axis=1)
        data, steady = data[known], steady[known]
        z = data[:, :5] / [1.0, 1.0, 1.0, laws.constants["F_ref"], 1.0]
        z[steady, 4] = 1.0
        found, xi, full = laws.evaluate(z), data[:, 1], np.abs(data[:, 6]) > MACRO_SLIP_LOSS
        at_capacity = np.maximum(np.abs(xi), np.abs(xi) / data[:, 5]) > laws.constants["xi_max"]
        loss = np.abs(found["e"] + found["c"] * xi)
        said = at_capacity | (loss > MACRO_SLIP_LOSS)
        for label, of in (("settled", steady), ("others", ~steady)):
            print(
                f"{name}, {label}: {np.sum(full & said & of)} of {np.sum(full & of)} that slide are found, "
                f"{np.sum(at_capacity & full & of)} by the capacity alone; {np.sum(said & ~full & of)} of "
                f"{np.sum(~full & of)} others are said to"
            )
            slip = np.abs(data[:, 6])
            for least, most in ((MACRO_SLIP_LOSS, MAX_SPEED_LOSS), (MAX_SPEED_LOSS, 1.0)):
                has = of & (slip > least) & (slip <= most)
                if has.any():
                    medians = [f"{np.median(v[has]):.1%}" for v in (slip, loss, np.abs(loss - slip))]
                    print(
                        f"  {np.sum(has)} with a speed loss of {least:.0%} to {most:.0%}: "
                        "median {}, of the laws {}, error {}".format(*medians)
                    )
        short = [row["run"].rstrip("0123456789-") not in _TRANSIENTS for row in rows]
        _sliding_shift(laws, data[np.array(short)[known] & ~steady & full])


def _sliding_shift(laws: ReducedModel, data: Array) -> None:
    """Share of the shift rate of sliding belts that the laws explain, alone and with the term of sliding."""
    z, thrust, x = data[:, :5] / [1.0, 1.0, 1.0, laws.constants["F_ref"], 1.0], data[:, 5], data[:, 7]
    z[:, 4] = 1.0
    z[:, 4] = thrust / laws.planar.evaluate(z)["zeta"]
    found = laws.planar.evaluate(z)
    beyond = np.maximum(np.abs(data[:, 6]) - np.abs(found["e"] + found["c"] * z[:, 1]), 0.0)
    drives = (z[:, 1] < 0.0) & (thrust < 1.0)
    alone = found["k"] * z[:, 3] * (z[:, 4] - 1.0)
    more = alone + np.where(drives, laws.slide * beyond / (1.0 + beyond) * (z[:, 4] - 1.0), 0.0)
    for label, of in (("all", np.ones(len(x), dtype=bool)), ("of belts that drive the primary", drives)):
        shares = [1.0 - np.sum((p - x)[of] ** 2) / np.sum(x[of] ** 2) for p in (alone, more)]
        print(f"  shift rates of {np.sum(of)} that slide, {label}: " + "{:.1%}, with sliding {:.1%}".format(*shares))


class Again:
    """Runs of the full model in place of a reduced model: `check.Driven`."""

    def __init__(self, runs: Iterable[HeldRun]) -> None:
        self._runs = {held.run.name: held for held in runs}
        self._phase = 0

    def settle(self, run: HeldRun) -> dict[str, float]:
        self._first, self._own, self._phase = run, self._runs[run.run.name], 0
        s = {k: float(v[STEADY]) for k, v in self._own.summary.items()}
        lost = s["P_I"] + s["P_O"] + s["P_axial_I"] + s["P_axial_O"] - s["P_stored"]
        kept = {k: s[k] for k in ("thrust_ratio", "slip", "omega_O", "P_O")}
        return kept | {"tau_I": s["P_I"] / s["omega_I"], "P_I": lost - s["P_O"], "macro_slip": 0.0, "outside": 0.0}

    def play(self, series: Series, factor: float = 1.0) -> dict[str, NDArray[np.float64]]:
        branch = next(k for k, s in enumerate(self._first.branches) if s is series)
        own, self._phase = self._own.branches[branch], 1 + branch
        return {k: np.interp(series["time"], own["time"], own[k]) for k in ("tau_I", "omega_O", "ratio")}

    def flank_normal(self, start: float, stop: float) -> NDArray[np.float64]:
        return self._passage(stop).fields["flank_normal"]

    def peak(self, start: float, stop: float) -> float:
        return float(self._passage(stop).fields["flank_normal"].max())

    def _passage(self, stop: float) -> Passage:
        passages: Iterator[Passage] = (p for p in self._own.passages if p.phase == self._phase)
        return min(passages, key=lambda p: abs(p.stop - max(stop, 0.0)))


def repeats(folder: str, table: str | None = None) -> None:
    unit = load_unit("pushbelt_cvt")
    path = reduced_path(unit)
    held = read_heldout(path.with_name(f"{path.stem}_heldout.h5") if table is None else Path(table))
    parameters = parse_table(Parameters, {**parse_toml(held.unit_file, held.unit), "source": held.unit}, held.unit)
    wanted = []
    for name, share in (("nearer", 0.8), ("farther", 1.2)):
        (Path(folder) / name).mkdir(parents=True, exist_ok=True)
        for one in held.runs:
            run, at = one.run, one.run.start
            assert isinstance(at, Point)
            begin = None if at.begin is None else at.xi + share * (at.begin - at.xi)
            file = Path(folder) / name / f"{run.name}.h5"
            wanted.append((file, replace(run, start=replace(at, begin=begin)), float(one.summary["F_I"][STEADY])))
    compile_steps(parameters, wanted[0][1])
    with ProcessPoolExecutor() as pool:
        pending = {
            pool.submit(simulate, parameters, run, file, held.unit_file, plan=held.plan, F_I=F_I, resume=True): file
            for file, run, F_I in wanted
            if not file.is_file()
        }
        for n, done in enumerate(as_completed(pending), 1):
            done.result()
            print(f"{n} of {len(pending)}: {pending[done]}", flush=True)
    again = {m: Again(condense(f for f, *_ in wanted if f.parent.name == n)["hybrid"].runs) for m, n in _PLACES.items()}
    found = check_heldout(held, again, RecordedLaws(read_reduced(path)), STEP)
    print("of the full model from itself, the load comes from: nearer, farther; allowed; worst")
    for f in found.figures:
        worst = ", ".join(run for run, _ in f.worst.values())
        both = ", ".join(f.show(f.value[m]) for m in _PLACES)
        print(f"{f.name}, {f.statistic}: {both}; {'' if f.limit is None else f.show(f.limit)}; {worst}")
    states = [s for s in found.settled if abs(s.values["full"]["slip"]) <= MACRO_SLIP_LOSS]
    for key, unit_of in (("thrust_ratio", "relative"), ("slip", "points"), ("efficiency", "points")):
        print(f"{key}, {unit_of}, states by size of the larger difference:")
        rows = []
        for s in states:
            full, *others = (s.values[m][key] for m in ("full", *_PLACES))
            off = [a / full - 1.0 if unit_of == "relative" else a - full for a in others]
            rows.append((max(map(abs, off)), s.held.run.name, full, *others))
        for _, of, *values in sorted(rows, reverse=True)[:8]:
            print(f"    {of}: " + ", ".join(f"{v:.4g}" for v in values))


def schemes(folder: str, table: str | None = None) -> None:
    path = reduced_path(load_unit("pushbelt_cvt"))
    multirate = read_heldout(path.with_name(f"{path.stem}_heldout.h5") if table is None else Path(table)).runs
    explicit = condense(Path(folder).glob("[!.]*.h5"))["hybrid"]
    found = check_heldout(explicit, dict.fromkeys(_PLACES, Again(multirate)), RecordedLaws(read_reduced(path)), STEP)
    for f in found.figures:
        if f.name in ("thrust ratio", "slip", "efficiency") or f.name.endswith("settled"):
            print(f"{f.name}, {f.statistic}: {f.show(f.value['hybrid'])}; {f.worst['hybrid'][0]}")
    own = {held.run.name: {k: float(v[STEADY]) for k, v in held.summary.items()} for held in multirate}
    print("kappa, thrust ratio: multirate, explicit, difference; slip: multirate, explicit")
    rows = []
    for held in explicit.runs:
        a, b = own[held.run.name], {k: float(v[STEADY]) for k, v in held.summary.items()}
        off = a["thrust_ratio"] / b["thrust_ratio"] - 1.0
        thrust = f"{a['thrust_ratio']:.3f}, {b['thrust_ratio']:.3f}, {off:+.1%}"
        rows.append((abs(off), f"{held.run.name}: {a['kappa']:.3f}; {thrust}; {a['slip']:.2%}, {b['slip']:.2%}"))
    for _, row in sorted(rows, reverse=True):
        print(f"    {row}")


def memory() -> None:
    path = reduced_path(load_unit("pushbelt_cvt"))
    held = read_heldout(path.with_name(f"{path.stem}_heldout.h5"))
    laws, way = read_reduced(path).planar, 0.02  # [m] of belt from one sample to the next
    turn, runs = int(laws.constants["length"] / way), []
    for one in held.runs:
        b = one.branches[0]
        if one.slipping or not one.transient or len(b["time"]) < 2:
            continue
        v = np.sqrt(b["kappa"] * b["F_O"] / laws.constants["m_star"])
        s = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(b["time"]))])
        grid = np.arange(0.0, s[-1], way)
        padded = {k: np.pad(np.interp(grid, s, b[k]), (turn // 2, turn - 1 - turn // 2), "edge") for k in b.columns}
        q = {k: np.convolve(a, np.full(turn, 1.0 / turn), "valid") for k, a in padded.items()}  # means of a revolution
        x = np.gradient(np.log(q["r_I"]), np.interp(grid, s, b["time"])) / q["omega_I"]
        z = np.column_stack([q["ratio"], q["xi"], q["kappa"], q["F_O"] / laws.constants["F_ref"], np.ones(len(grid))])
        zeta, thrust = laws.evaluate(z)["zeta"], q["F_I"] / q["F_O"]
        z[:, 4] = thrust / zeta
        found = laws.evaluate(z)
        missed = np.log(thrust / zeta) - np.log(np.maximum(1.0 + x / (found["k"] * z[:, 3]), 0.2))
        inside = np.abs(found["e"] + found["c"] * z[:, 1]) < MACRO_SLIP_LOSS
        inside[:turn] = inside[-turn:] = False
        if np.sum(inside) > turn:
            signals = {"ln zeta": np.log(zeta), "xi": z[:, 1], "|xi|": np.abs(z[:, 1]), "ln i": np.log(z[:, 0])}
            runs.append((missed, signals, inside))
    swing = [np.std(missed[inside]) for missed, _, inside in runs]
    off = [np.mean(missed[inside]) for missed, _, inside in runs]
    print(f"{len(runs)} transients: the law misses {_rms(off):.2%}, and about its mean of a run {_rms(swing):.2%}")
    for name in runs[0][1]:
        shares = []
        for L in (0.02, 0.1, 0.3, 0.66, 2.0, 6.0):
            pairs = []
            for missed, signals, inside in runs:
                a, share = signals[name], 1.0 - np.exp(-way / L)
                late = np.array(list(accumulate(a, lambda o, new, share=share: o + share * (new - o))))
                past, left = (a - late)[inside], missed[inside]
                pairs.append((past - past.mean(), left - left.mean()))
            slopes = np.array([[p @ r / len(p), p @ p / len(p), r @ r / len(p)] for p, r in pairs])
            others = slopes.sum(axis=0) - slopes
            g = others[:, 0] / others[:, 1]
            rest = slopes[:, 2] - 2.0 * g * slopes[:, 0] + g**2 * slopes[:, 1]
            shares.append(f"{1.0 - rest.sum() / slopes[:, 2].sum():.1%}")
        print(f"    {name} less itself 2, 10, 30, 66 cm, 2, 6 m of belt before explains " + ", ".join(shares))


def _rms(values: Iterable[float]) -> float:
    return float(np.sqrt(np.mean(np.square(list(values)))))


def curves(recording: str | None = None) -> None:
    laws, parameters = read_reduced(reduced_path(load_unit("pushbelt_cvt"))).planar, load_parameters(BELT)
    plan = load_plan("pushbelt_24mm")[0]

    def drawn(seed: int) -> tuple[Array, Array]:
        """Points of the plan's first group, and candidates."""
        runs = list(runs_of(choice.with_candidates(plan.model_copy(update={"seed": seed})), parameters))
        groups = np.array([run.name.rpartition("-")[0] for run in runs])
        points = choice.operating_points(runs, parameters)
        return points[groups == plan.points.name], points[groups == choice.NAME]

    wanted = drawn(999)[1] if recording is None else choice.points_of(Path(recording), parameters, plan.space)
    found: dict[str, list[list[float]]] = {}
    for seed in range(201, 205):
        points, candidates = drawn(seed)
        z = np.vstack([points, candidates, wanted])
        truth = laws.evaluate(np.column_stack([z, np.ones(len(z))]))
        holds = np.abs(truth["e"] + truth["c"] * z[:, 1]) < MAX_SPEED_LOSS
        places, model = places_of(ranges_of(z), z, laws.constants["length"], laws.constants)
        exact = np.log(truth["zeta"]) - model
        data = exact + 0.004 * np.random.default_rng(seed).standard_normal(len(z))
        use = np.arange(len(z) - len(wanted), len(z))
        use = use[np.abs((truth["e"] + truth["c"] * z[:, 1])[use]) < MACRO_SLIP_LOSS]
        pool = np.flatnonzero(holds[: len(z) - len(wanted)])
        others = pool[pool >= len(points)]
        for way in ("even", "space") if recording is None else ("even", "space", "use"):
            got, errors = list(pool[: RUNS[0]]), []
            for n, following in zip(RUNS, (*RUNS[1:], RUNS[-1]), strict=True):
                group = np.arange(n) % 10
                process, crossed = fit(places[got], data[got], group)
                errors.append(float(np.sqrt(np.mean((process.mean(places[use]) - exact[use]) ** 2))))
                left = np.setdiff1d(pool if way == "even" else others, got)
                more = following - n
                lined = more if way == "even" else more // choice.EVEN
                got += left[:lined].tolist()
                if way != "even" and more:
                    size = spread(places[got[:n]], crossed - data[got[:n]], group)[0]
                    rest = left[lined:]
                    of = (places[use], size.at(places[use])) if way == "use" else None
                    told = choice.choose(process, (places[rest], size.at(places[rest])), of, more - lined)
                    got += rest[told].tolist()
            found.setdefault(way, []).append(errors)
    print("thrust ratio, quadratic mean over four seeds, after " + ", ".join(map(str, RUNS)) + " runs")
    for way, rows in found.items():
        print(f"    {way}: " + ", ".join(f"{e:.2%}" for e in np.sqrt(np.mean(np.square(rows), axis=0))))


def campaign(folder: str) -> None:
    with (Path(folder) / "index.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    value = {k.split(" [")[0]: np.array([float(r[k] or "nan") for r in rows]) for k in rows[0] if k.endswith("]")}
    window, ended = np.array([r["window"] for r in rows]), np.array([r["ended"] for r in rows])
    slides = np.abs(value["slip"]) > MACRO_SLIP_LOSS
    branch, steady = np.char.startswith(window, "branch"), window == "steady"
    transient = np.array([r["run"].rstrip("0123456789-") in _TRANSIENTS for r in rows])
    for label, of in (("settled", steady), ("branches", branch & ~transient), ("transients", branch & transient)):
        limit = np.sum(ended[of] == "limit of the ratio")
        print(f"{label}: {np.sum(of)}, {np.sum(slides[of])} slip as a whole, {limit} ended at a limit of the ratio")
    missing = np.abs(value["unaccounted"] / value["loss"])[steady]
    print(f"not accounted for: {np.median(missing):.2%} of the loss in the median, {np.max(missing):.2%} at most")

    settled = {r["run"]: k for k, r in enumerate(rows) if r["window"] == "steady" and not slides[k]}
    earlier = [k for k, r in enumerate(rows) if r["window"] == "before" and r["run"] in settled]
    later = [settled[rows[k]["run"]] for k in earlier]
    print("change from the window before: median, 90 %, RMS, largest")
    for name in ("thrust_ratio", "slip", "loss"):
        first, last = value[name][earlier], value[name][later]
        change = np.abs(last - first) / (1.0 if name == "slip" else np.abs(first))
        ranks = (*np.quantile(change, (0.5, 0.9)), np.sqrt(np.mean(change**2)), change.max())
        print(f"    {name}: " + ", ".join(f"{a:.3%}" for a in ranks))

    y, xi, F_O, x = (value[k] for k in ("y", "xi", "F_O", "x"))
    of = branch & ~transient & (np.abs(y - 1.0) > 0.08) & ~slides
    k = np.divide(x, F_O * (y - 1.0), out=np.full_like(x, np.nan), where=of)
    print("torque ratio: thrust ratio, least and largest; slip, loss over power; k [1e-7/N], i smaller; k, i larger")
    for least, most in ((-0.9, -0.5), (-0.5, -0.2), (-0.2, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 0.95)):
        at = steady & (xi >= least) & (xi < most) & ~slides
        thrust, slip = value["thrust_ratio"][at], np.median(value["slip"][at])
        share = np.median(value["loss"][at] / np.maximum(np.abs(value["P_I"][at]), np.abs(value["P_O"][at])))
        rates = []
        for side in (y > 1.0, y < 1.0):
            inside = k[of & side & (xi >= least) & (xi < most)] * 1e7
            rates.append("{1:.1f} ({0:.1f} to {2:.1f})".format(*np.quantile(inside, (0.1, 0.5, 0.9))))
        both = f"{thrust.min():.2f}, {thrust.max():.2f}"
        print(f"    {least:g} to {most:g}: {both}; {slip:.2%}, {share:.1%}; {'; '.join(rates)}")
    _shift_laws(y[of], xi[of], F_O[of], value["thrust_ratio"][of], x[of])


def _shift_laws(y: Array, xi: Array, F_O: Array, thrust: Array, x: Array) -> None:
    """Pooled laws of the shift rate: least sum of absolute deviations of x relative to x."""
    bent = xi * np.sign(y - 1.0)
    laws = {
        "c ln y": [np.log(y)],
        "c (F_I - F_I,eq)/F_O": [thrust / y * (y - 1.0)],
        "k F_O ln y": [F_O * np.log(y)],
        "k F_O (y - 1)": [F_O * (y - 1.0)],
        "k F_O (y - 1) (1 + a xi)": [F_O * (y - 1.0), F_O * (y - 1.0) * xi],
        "k F_O (y - 1) (1 + a xi^2 + b xi sign(y - 1))": [
            F_O * (y - 1.0), F_O * (y - 1.0) * xi**2, F_O * (y - 1.0) * bent],
    }  # fmt: skip
    print(f"laws of the shift rate over {len(x)} branches: median and 90 % of the error")
    for name, terms in laws.items():
        a = np.column_stack(terms) / x[:, None]
        scale = np.abs(a).mean(axis=0)
        a /= scale
        n, m = a.shape  # least absolute deviations as a linear program
        cost = np.concatenate([np.zeros(m), np.ones(2 * n)])
        found = linprog(cost, A_eq=np.hstack([a, np.eye(n), -np.eye(n)]), b_eq=np.ones(n),
                        bounds=[(None, None)] * m + [(0, None)] * (2 * n))  # fmt: skip
        error, coefficients = np.abs(a @ found.x[:m] - 1.0), found.x[:m] / scale
        others = ", ".join(f"{c / coefficients[0]:.2g}" for c in coefficients[1:])
        print(f"    x = {name}: {np.median(error):.0%}, {np.quantile(error, 0.9):.0%}; {coefficients[0]:.3g}; {others}")


_TRANSIENTS = {"sweep", "torque", "clamping"}
_PLACES = {"hybrid": "nearer", "rigid": "farther"}  # places of the models for `check_heldout`


if __name__ == "__main__":
    studies = {f.__name__: f for f in (modes, kers, slides, repeats, schemes, memory, curves, campaign)}
    needed = {"repeats": (1, 2), "schemes": (1, 2), "curves": (0, 1), "campaign": (1,)}
    if len(sys.argv) < 2 or sys.argv[1] not in studies or len(sys.argv) - 2 not in needed.get(sys.argv[1], (0,)):
        raise SystemExit(__doc__)
    studies[sys.argv[1]](*sys.argv[2:])
