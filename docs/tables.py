"""Tables of the pages that hold results, made from what the project has on record.

    python docs/tables.py            write them into the pages
    python docs/tables.py --check    list those that differ from the record; exit code 1

A page or study has a table between ``<!-- table NAME -->`` and ``<!-- end -->``; NAME is a function here, marked
`in_pages`.
`make docs` and ``tests/test_docs.py`` fail where a page differs. On record are

    tests/data/checks.json                         `rtcvt check`, step times (see tests/recorded_checks.py)
    rtcvt/reduced/pushbelt_24mm_belief.h5                 errors of the reduction (`rtcvt reduce`)
    rtcvt/reduced/pushbelt_observer_errors.json    `rtcvt check pushbelt_observer --json`
    docs/identification/*.json                     `rtcvt calibrate`
    docs/campaign/*.csv                            windows of the campaign (`rtcvt campaign`)
    docs/validation/figures.json                   comparison with measurements
"""

import csv
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rtcvt.look import INK

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "rtcvt").is_dir():  # the copy that the site is built from
    ROOT = ROOT.parent
BLOCK = re.compile(r"<!-- table ([a-z0-9_]+) -->\n(?:(?!<!-- ).)*<!-- end -->", re.S)
FORCES = ("flank_normal", "flank_longitudinal", "flank_radial", "push", "ring_normal", "ring_friction")
FIELDS = (*FORCES, "tension", "element_offset")


TABLES: dict[str, Callable[[], str]] = {}


def in_pages(made: Callable[[], str]) -> Callable[[], str]:
    """A table that pages may have, by the name of its function."""
    TABLES[made.__name__] = made
    return made


def pages() -> list[Path]:
    """README and the pages of the site."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written() -> list[Path]:
    """All pages that may have tables: `pages`, and those of the studies."""
    return [*pages(), *sorted((ROOT / "studies").glob("*.md"))]


def fill(text: str) -> str:
    """A page with its tables as the record has them."""
    return BLOCK.sub(lambda found: f"<!-- table {found[1]} -->\n\n{TABLES[found[1]]()}\n<!-- end -->", text)


def stale() -> list[Path]:
    """The pages that say something else."""
    return [page for page in written() if fill(text := page.read_text(encoding="utf-8")) != text]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lines of a table."""
    first, *others = ("| " + " | ".join(cells) + " |\n" for cells in (head, *rows))
    return first + "|---" * len(head) + "|\n" + "".join(others)


@cache
def record(section: str) -> Any:
    """A part of ``tests/data/checks.json``."""
    return json.loads((ROOT / "tests/data/checks.json").read_text(encoding="utf-8"))[section]


@cache
def calibration(path: str) -> Any:
    """What a calibration found."""
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


@cache
def reduction() -> dict[str, Any]:
    """Errors of the reduced model by name, and of each field the kept modes and the singular values."""
    with h5py.File(ROOT / "rtcvt/reduced/pushbelt_24mm_belief.h5") as file:
        errors = {name: float(value[()]) for name, value in file["errors"].items()}
        fields = {name: (len(file[f"fields/{name}/modes"]), file[f"fields/{name}/sigma"][()]) for name in FIELDS}
        return {**errors, **{f"fields.{name}": value for name, value in fields.items()}}


@cache
def windows(name: str) -> list[dict[str, Any]]:
    """Windows of a campaign: numbers by name without unit, `run`, `window`, `ended`, `slipping` as text."""
    with (ROOT / f"docs/campaign/{name}.csv").open(encoding="utf-8") as file:
        return [
            {key.split(" [")[0]: float(value) if key.endswith("]") else value for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


def percent(value: float, digits: int = 2) -> str:
    """In percent, to two digits."""
    if abs(value) < 1e-5:
        return "< 0.001 %"
    return f"{float(f'{100.0 * value:.{digits}g}'):g} %"


def points(value: float) -> str:
    """In percentage points."""
    return f"{100.0 * value:.2g} points"


# --- the real-time models and the full ones ---------------------------------------------------------------------------

GEARS = ("dct_6", "differential", "oblique_differential", "planetary", "power_split_ivt", "ravigneaux", "toroidal_kers")


def _worst(unit: str, kinds: str) -> float:
    """Largest error of the signals whose name ends like this."""
    return max(value for name, value in record("checks")[unit].items() if name.rpartition(".")[2] in kinds.split())


def _step(name: str) -> str:
    """Time of a step of 1 ms."""
    return f"{record('step_us')[name]:.1f} us"


@in_pages
def gears() -> str:
    """Gear systems: worst errors and steps."""
    return table(
        ("unit", "gears", "worst speed", "worst force", "rigid model, 1 ms step", "full model, 1 ms step"),
        [
            (
                f"`{unit}`",
                str(len({n.split(": ")[1] for n in record("checks")[unit] if n.endswith(".w")})),
                percent(_worst(unit, "w")),
                percent(_worst(unit, "F")),
                _step(f"{unit} rigid"),
                _step(f"{unit} full"),
            )
            for unit in GEARS
        ],
    )


@in_pages
def belt_drives() -> str:
    """Largest errors of each drive over its load cases; bold: above 1 % for speeds, 3 % for tensions and torques."""
    rows = []
    for unit, about in (
        ("accessory_6pk", "ANCF belt, 700 to 6000 rpm"),
        ("two_pulley_belt", "ANCF belt of 120 elements"),
        ("accessory_5pk", "300 rigid elements, means over the passage of one"),
    ):
        cases = {name.rpartition(": ")[0] for name in record("checks")[unit]}
        worst = ((_worst(unit, ends), limit) for ends, limit in (("w", 0.01), ("F", 0.03), ("M tau", 0.03)))
        cells = (percent(e) if e <= limit else f"**{percent(e)}**" for e, limit in worst)
        rows.append((f"`{unit}`", about, str(len(cases)), *cells))
    return table(("", "full model", "load cases", "speeds", "tensions", "torques"), rows)


VARIATOR = {  # figure: name in the pages, number of percentage points or percent
    "thrust ratio, quadratic mean": "thrust ratio",
    "thrust ratio, largest": "... largest",
    "slip, quadratic mean": "slip",
    "slip, largest": "... largest",
    "efficiency, quadratic mean": "efficiency",
    "efficiency, largest": "... largest",
    "primary torque, quadratic mean": "primary torque in transients",
    "primary torque, mean over a revolution, quadratic mean": "... its mean over a revolution",
    "primary torque, of the capacity, quadratic mean": "... by the torque that the clamping holds",
    "secondary speed, quadratic mean": "secondary speed in transients",
    "ratio, quadratic mean": "ratio in transients",
    "ratio, of its change, quadratic mean": "... by how far it moves",
    "flank normal force, quadratic mean": "flank normal force over the arcs",
    "peak of the flank normal force, quadratic mean": "its peak",
    "peak of the flank normal force, 95 %": "... in 95 % of passages",
    "peak of the flank normal force, largest": "... largest",
    "output peak.flank_normal, quadratic mean": "output `peak.flank_normal`",
}


@in_pages
def variator() -> str:
    """Errors of the variator's models on the held-out runs of the two belts."""
    rows = []
    for name, said in VARIATOR.items():
        show = points if name.startswith(("slip", "efficiency")) else percent
        found, limits = record("checks")["pushbelt_cvt"], record("limits")["pushbelt_cvt"]
        hybrid, rigid = (found[f"{name}, {model}"] for model in ("hybrid", "rigid"))
        planar = record("checks")["pushbelt_cvt planar"][f"{name}, hybrid"]
        limit, within, of = limits.get(name, (None, 0, 0))
        kept = limit is None or hybrid <= limit
        shown = [show(hybrid) if kept else f"**{show(hybrid)}**"]
        shown += ["", ""] if limit is None else [show(limit), f"{within} of {of}"]
        rows.append((said, *shown, show(rigid), show(planar)))
    head = ("error", "hybrid", "limit", "runs within", "rigid", "planar laws, planar belt")
    return table(head, rows)


@in_pages
def observer() -> str:
    """Errors of the pushbelt's observer."""
    found = json.loads((ROOT / "rtcvt/reduced/pushbelt_observer_errors.json").read_text(encoding="utf-8"))["figures"]
    rows = ((name, f"{v:.0f}" if name.endswith("us") else percent(v) if v is not None else "none is known")
            for name, v in found.items())  # fmt: skip
    return table(("", ""), rows)


@in_pages
def variator_cases() -> str:
    """The source's cases through the full models and the unit."""
    rows = []
    for name, case in record("cases").items():
        at = [case[model] for model in ("theory", "planar", "spatial", "unit")]
        rows.append((f"{name}: slip", "", *(f"{100.0 * m['slip']:.2f} %" for m in at)))
        if case["i_s"]:
            speeds = (f"{m['ratio'] / (1.0 - m['slip']):.3f}" for m in at)
            rows.append(("speed ratio", f"{case['i_s']}", *speeds))
        rows.append(("thrust ratio", f"{case['printed'] or ''}", *(f"{m['thrust_ratio']:.3f}" for m in at)))
    return table(("", "source", "theory", "planar", "spatial", "unit"), rows)


@in_pages
def kers_event() -> str:
    """A car that brakes and launches."""
    checks = record("checks")
    names = [f"{unit} {model}" for unit in ("pushbelt_kers", "toroidal_flywheel") for model in ("hybrid", "rigid")]
    events = [checks[name] for name in names]

    def energy(name: str) -> Callable[[dict[str, float]], str]:
        return lambda e: f"{1e-3 * e[name]:.1f} kJ"

    def share(name: str) -> Callable[[dict[str, float]], str]:
        return lambda e: f"{100.0 * e[name]:.1f} %"

    rows: dict[str, Callable[[dict[str, float]], str]] = {
        "taken at the shaft while braking": energy("taken at the shaft while braking"),
        "share of the car's energy": share("share recovered"),
        "more in the store after braking": energy("more in the store after braking"),
        "efficiency of charging": share("efficiency of charging"),
        "given back while launching": energy("given back at the shaft while launching"),
        "store at the end against the start": energy("store at the end against the start"),
        "round-trip efficiency": share("round-trip efficiency"),
        "clamping forces: energy taken": lambda e: (
            f"{1e-3 * e['actuation']:.2f} kJ" if e["actuation"] else "not modelled"
        ),
        "slip or creep, largest": lambda e: percent(e["creep, largest"]) if e.get("creep, largest") else "none",
        "traction's margin, least": lambda e: percent(e["margin, least"]) if "margin, least" in e else "not modelled",
        "heat of the clutch": lambda e: f"{e['heat of the clutch']:.2g} J",
        "torque error, RMS (99 % below)": lambda e: (
            f"{e['torque error, RMS']:.1f} ({e['torque error, 99 % below']:.1f}) N.m"
        ),
    }
    head = ("", *(name.replace("_kers", ",").replace("_flywheel", ",") for name in names))
    return table(head, [(said, *(show(e) for e in events)) for said, show in rows.items()])


@in_pages
def steps() -> str:
    """Time of a step of 1 ms of belt drives and variators."""
    rows = []
    for name in record("step_us"):
        unit, model, *cells = name.split()
        if unit in READ and model == "hybrid" and cells in ([], ["64"]):
            fields = ", eight belt fields of 64 cells on each section" if cells else ""
            rows.append((f"`{unit}`, {model}{fields}", _step(name)))
    return table(("unit, model", "one step of 1 ms"), rows)


@in_pages
def systems() -> str:
    """Order, energy and cost of steps of cars."""
    return table(
        ("car", "order: states", "torques at flanges", "energy not accounted for", "one step of 1 ms"),
        [
            (
                f"`{name}`",
                f"{f['states']:.1f}",
                f"{f['torques']:.1f}",
                f"{abs(f['residual']):.0e}" if "residual" in f else "",
                f"{f['cost']:.1f} us",
            )
            for name, f in record("systems").items()
        ],
    )


READ = ("accessory_5pk", "accessory_6pk", "two_pulley_5pk", "two_pulley_belt", "pushbelt_cvt", "pushbelt_kers")


@in_pages
def readme() -> str:
    """Errors and speed of README."""
    rows = []
    for unit in ("differential", "toroidal_kers", "power_split_ivt"):
        error = f"speeds {percent(_worst(unit, 'w'))}, forces {percent(_worst(unit, 'F'))}"
        rows.append((f"`{unit}`", error, _step(f"{unit} rigid")))
    for unit in ("accessory_5pk", "two_pulley_belt", "accessory_6pk"):
        kinds = {"speeds": "w", "tensions": "F", "torques": "M tau"}
        error = ", ".join(f"{kind} {percent(_worst(unit, ends))}" for kind, ends in kinds.items())
        rows.append((f"`{unit}`", error, _step(f"{unit} hybrid")))
    found = record("checks")["pushbelt_cvt"]
    error = ", ".join(
        f"{said} {percent(found[f'{name}, quadratic mean, hybrid'])}"
        for name, said in (("secondary speed", "speed"), ("ratio", "ratio"), ("flank normal force", "flank force"))
    )
    fields = f", with all belt fields {_step('pushbelt_cvt hybrid 64')}"
    rows.append(("`pushbelt_cvt`", error, _step("pushbelt_cvt hybrid") + fields))
    return table(("unit", "error to the full model", "one step of 1 ms"), rows)


MISSED = {  # figure: its statistics, what it means to a user
    "thrust ratio": (
        ("quadratic mean", "largest"),
        "clamping forces need a reserve of some 5 %, more at little torque, where the push force changes strands",
    ),
    "slip": (("quadratic mean", "largest"), "right trend for a slip controller; not its value next to macro-slip"),
    "efficiency": (("largest",), "variants that differ by less than a point are alike"),
    "primary torque, mean over a revolution": (("quadratic mean",), "size and time of a jerk, not its shape"),
    "flank normal force": (("quadratic mean",), "its peak is better than its shape"),
    "peak of the flank normal force": (("95 %", "largest"), "a quarter of reserve for durability"),
}


@in_pages
def readme_limits() -> str:
    """Limits of the check that the pushbelt misses, and what that means."""
    found, limits = record("checks")["pushbelt_cvt"], record("limits")["pushbelt_cvt"]
    rows = []
    for name, (statistics, means) in MISSED.items():
        show = points if name in ("slip", "efficiency") else percent
        values = [(found[f"{name}, {k}, hybrid"], limits[f"{name}, {k}"][0], k) for k in statistics]
        missed = [v for v in values if v[0] > v[1]]
        if missed:
            cells = (", ".join("at most " * (v[2] == "largest") + show(v[n]) for v in missed) for n in (0, 1))
            rows.append((name, *cells, means))
    return table(("", "error", "allowed", "what that means to you"), rows)


# --- the full pushbelt and its source ---------------------------------------------------------------------------------


CHAPTER7 = "pushbelt_24mm"


@cache
def _chapter7(unit: str = CHAPTER7) -> list[dict[str, Any]]:
    """Statements of the source with what was found of a unit; no costs."""
    stated = tomllib.loads((ROOT / "offline/pushbelt/checks/chapter7.toml").read_text(encoding="utf-8"))["signature"]
    verdicts = record("verdicts")[unit]
    found = []
    for s in stated:
        verdict = verdicts.get(f"{s['section']}: {s['about']}, {s['quantity']}")
        if verdict is not None:
            found.append({**({"printed": s["value"]} if "value" in s else {}), **s, **verdict})
    return found


def _short(s: dict[str, Any]) -> str:
    """What a printed number is of."""
    about = s["about"].split(" (")[0].replace(": thrust ratio", ",")
    return about.replace(",,", ",").rstrip(",")


@in_pages
def chapter7_numbers() -> str:
    """Printed numbers."""
    rows = []
    for of_units in zip(*map(_chapter7, record("verdicts")), strict=True):
        s = of_units[0]
        if "printed" in s:
            found = [f"{v['value']:.3f}, {100.0 * (v['value'] / s['printed'] - 1.0):+.1f} %" for v in of_units]
            rows.append((f"{s['section']}: {_short(s)}", f"{s['printed']:g}", f"{s['u']:.3f}", *found))
    return table(("", "source", "u", *record("verdicts")), rows)


def chapter7_picture(path: Path) -> None:
    """Draw the printed numbers and the model's."""
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "rtcvt"
    from matplotlib.figure import Figure

    found = [s for s in _chapter7() if "printed" in s and s["quantity"] == "thrust ratio"]
    figure = Figure(figsize=(7.0, 3.4), layout="constrained")
    ax = figure.subplots()
    place = np.arange(len(found))
    ax.plot(place, [s["printed"] for s in found], "_", color=INK, ms=18, mew=2, label="source")
    for unit, marker in zip(record("verdicts"), "osD", strict=False):
        of_unit = [s for s in _chapter7(unit) if "printed" in s and s["quantity"] == "thrust ratio"]
        value, u = ([s[key] for s in of_unit] for key in ("value", "u"))
        ax.errorbar(place, value, yerr=u, fmt=marker, ms=4, capsize=3, label=f"{unit}, with u")
    ax.set_xticks(place, [_short(s) for s in found], rotation=30, ha="right", fontsize=8)
    ax.set_ylabel("thrust ratio [1]")
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


@in_pages
def chapter7_verdicts() -> str:
    """How many statements hold and how many signs are opposite, by section of the source."""
    count: dict[str, list[list[str]]] = {}
    for of_units in zip(*map(_chapter7, record("verdicts")), strict=True):
        s = of_units[0]
        kind = "printed numbers" if "printed" in s else f"signs and ranges, section {s['section'][:3]}"
        count.setdefault(kind, []).append([v["verdict"] for v in of_units])
    count["signs and ranges"] = [v for kind, found in count.items() if kind != "printed numbers" for v in found]
    rows = []
    for kind, found in sorted(count.items()):
        each = (f"{v.count('agrees')}, {v.count('opposite')}" for v in zip(*found, strict=True))
        rows.append((kind, str(len(found)), *each))
    return table(("", "statements", *record("verdicts")), rows)


# --- reduction --------------------------------------------------------------------------------------------------------

LAWS = {
    "zeta": "thrust ratio",
    "k": "k",
    "e": "speed loss e + c xi (absolute)",
    "c": "c",
    "lambda": "loss but for shifting",
    **{f"peak.{name}": f"peak: {name.replace('_', ' ')}" for name in FORCES},
}


@in_pages
def reduction_laws() -> str:
    """Cross-validated errors of the laws."""
    e = reduction()
    digits = {"e": 4}
    rows = [
        (said, *(f"{e[f'crossed.{law}.{part}']:.{digits.get(law, 3)}f}" for part in ("rms", "median", "max")))
        for law, said in LAWS.items()
    ]
    return table(("law", "RMS", "median", "largest"), rows)


@in_pages
def reduction_fields() -> str:
    """Modes of the fields, and errors on the runs."""
    e = reduction()
    rows = []
    for name in FIELDS:
        kept, sigma = e[f"fields.{name}"]
        share = np.cumsum(sigma**2) / np.sum(sigma**2)
        need = " / ".join(str(int(np.searchsorted(share, level)) + 1) for level in (0.99, 0.999))
        rows.append((
            name.replace("_", " "),
            need,
            str(kept),
            f"{100 * np.sqrt(1.0 - share[kept - 1]):.1f} %",
            f"{100 * e[f'crossed.field.{name}.rms']:.1f} %",
            *(f"{100 * e[f'heldout.field.{name}.{part}']:.1f} %" for part in ("rms", "median", "max")),
            f"{100 * e[f'heldout.repeat.field.{name}.rms']:.1f} %",
        ))  # fmt: skip
    head = (
        "field",
        "modes for 99 / 99.9 %",
        "kept",
        "they miss",
        "error, crossed",
        "held out",
        "median",
        "largest",
        "full model itself",
    )
    return table(head, rows)


REDUCED = {  # error of the reduction: what pages call it
    "thrust": "thrust ratio (relative)",
    "slip": "speed loss (absolute)",
    "loss": "losses (relative)",
    "efficiency": "efficiency (absolute)",
    "shift": "shift rate (by the RMS of all)",
    "peak.flank_normal": "largest flank normal force (relative)",
    "field.flank_normal": "flank normal force over the belt (by its largest)",
}


@in_pages
def reduction_heldout() -> str:
    """Errors of the laws on the held-out runs."""
    e = reduction()
    rows = []
    for name in ("thrust", "slip", "efficiency", "shift", "peak.flank_normal"):
        itself = e.get(f"heldout.repeat.{name}.rms")
        cells = [f"{100 * e[f'heldout.{name}.{part}']:.2f} %" for part in ("rms", "median", "max")]
        rows.append((REDUCED[name], *cells, "" if itself is None else f"{100 * itself:.2f} %"))
    return table(("", "RMS", "median", "largest", "full model itself, RMS"), rows)


@in_pages
def reduction_spatial() -> str:
    """Errors of the laws at the points of spatial runs that are held out, with the correction and without."""
    e = reduction()
    rows = []
    for name in ("thrust", "slip", "loss", "efficiency", "shift", "peak.flank_normal", "field.flank_normal"):
        cells = (
            f"{100 * e[f'spatial.{name}{key}.{part}']:.2f} %" for key in (".planar", "") for part in ("rms", "max")
        )
        rows.append((REDUCED[name], *cells))
    return table(("", "planar laws", "largest", "corrected", "largest"), rows)


# --- calibration ------------------------------------------------------------------------------------------------------


def _band(values: Iterable[float], digits: str = ".3f", scale: float = 1.0) -> str:
    return ", ".join(f"{scale * v:{digits}}" for v in values)


def _parameters(name: str) -> str:
    """Prior, posterior, the shipped value, and what the data took away."""
    found = calibration(f"docs/identification/{name}.json")["parameters"]
    rows = [
        (
            f"`{n}`",
            *(_band(p[k], ".3g") for k in ("prior", "posterior")),
            f"{p['set']:.3g}",
            f"{100 * p['gained']:.0f} %",
        )
        for n, p in sorted(found.items(), key=lambda item: -item[1]["gained"])
    ]
    return table(("parameter", "prior", "posterior", "set", "variance gone"), rows)


def _results(name: str) -> str:
    """Results of the full model with the shipped set; what was fitted comes first."""
    found = calibration(f"docs/identification/{name}.json")
    rows = []
    for what in ("observables", "heldout"):
        for o in found[what]:
            value, printed = o["set"], o["printed"]
            if isinstance(printed, str):
                printed, off = printed, "right" if o["right"] > 0.5 else "**wrong**"
            else:
                printed, off = f"{printed:.4g}", f"{100 * (value / printed - 1):+.1f} %"
            band = _band(o["posterior"], ".3g") if "posterior" in o else ""
            rows.append((o["about"], "held out" if what == "heldout" else "", printed, f"{value:.4g}", off, band))
    return table(("", "", "given", "model", "", "posterior"), rows)


for _name in ("reproduction", "belief"):
    TABLES[f"{_name}_parameters"] = partial(_parameters, _name)
    TABLES[f"{_name}_results"] = partial(_results, _name)


@in_pages
def belief_points() -> str:
    """What the belief leaves open at operating points."""
    rows = []
    for p in calibration("docs/identification/belief.json")["points"].values():
        point = f"{p['ratio']:g}, {p['omega_I'] * 30.0 / np.pi:.0f} rpm, {p['xi']:g}, {p['F_O'] / 1e3:g} kN"
        rows.append(
            (point, _band(p["thrust ratio"]), _band(p["slip"], ".2f", 100.0), _band(p["efficiency"], ".1f", 100.0))
        )
    return table(("ratio, speed, torque ratio, clamping", "thrust ratio", "slip [%]", "efficiency [%]"), rows)


# --- campaign ---------------------------------------------------------------------------------------------------------

LOADS = ((-0.9, -0.5), (-0.5, -0.2), (-0.2, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 0.95))


@in_pages
def campaign_load() -> str:
    """Settled belts and force steps by torque ratio."""
    steady = {w["run"]: w for w in windows("pushbelt_24mm") if w["window"] == "steady"}
    held = [w for w in steady.values() if w["slipping"] == "no"]
    steps = []
    for w in windows("pushbelt_24mm"):
        transient = w["run"].startswith(("sweep", "torque", "clamping"))
        if w["window"].startswith("branch") and not transient and w["slipping"] == "no" and abs(w["y"] - 1.0) > 0.08:
            steps.append((w["xi"], w["y"], w["x"] / (w["F_O"] * (w["y"] - 1.0))))
    xi, y, k = np.array(steps).T

    def some(use: Any) -> str:
        return "{:.1f} ({:.1f} to {:.1f})".format(*(1e7 * np.quantile(k[use], (0.5, 0.1, 0.9))))

    rows = []
    for low, high in LOADS:
        here = [w for w in held if low <= w["xi"] < high]
        ratio = [w["thrust_ratio"] for w in here]
        slip = float(np.median([w["slip"] for w in here]))
        use = (xi >= low) & (xi < high)
        rows.append((
            f"{low:g} to {high:g}", str(len(here)), f"{min(ratio):.2f}, {max(ratio):.2f}", f"{100 * slip:.2f}",
            some(use & (y > 1.0)), some(use & (y < 1.0)),
        ))  # fmt: skip
    head = (
        "xi",
        "belts",
        "thrust ratio, least and largest",
        "slip [%], median",
        "k [1e-7/N], i getting smaller",
        "k, i getting larger",
    )
    return table(head, rows)


@in_pages
def campaign_counts() -> str:
    """Runs, belts that slip, and belts at the limits of the ratio."""
    rows = []
    for said, chosen in (
        ("settled states", lambda w, transient: w["window"] == "steady"),
        ("force steps", lambda w, transient: w["window"].startswith("branch") and not transient),
        ("transients", lambda w, transient: w["window"].startswith("branch") and transient),
    ):
        found = [w for w in windows("pushbelt_24mm") if chosen(w, w["run"].startswith(("sweep", "torque", "clamping")))]
        slipping, ended = (sum(map(test, found)) for test in (
            lambda w: w["slipping"] == "yes", lambda w: w["ended"] == "limit of the ratio"))  # fmt: skip
        rows.append((said, str(len(found)), str(slipping), str(ended)))
    return table(("", "number", "slip as a whole (above 5 %)", "ended at a limit of the ratio"), rows)


# --- comparison with measurements -------------------------------------------------------------------------------------


@cache
def validation() -> Any:
    """Figures of the study, compared with published measurements."""
    return json.loads((ROOT / "docs/validation/figures.json").read_text(encoding="utf-8"))


def _of(values: Iterable[float], digits: int = 2) -> str:
    """A value and its band, or both ends of a band."""
    return " +- ".join(f"{value:.{digits}f}" for value in values)


@in_pages
def validation_published() -> str:
    """Published laws, trends and numbers, and the model's."""
    v = validation()
    law, rest, drag = v["shifting"], v["equilibrium"], [d["for 1000 rpm"] for d in v["drag"]]
    unit = [p["growth"] for p in v["over speed"]]
    belt = [100 * e for by_load in v["efficiency"].values() for e in by_load.values()]
    whole = [100 * e for p in v["over speed"] for e in p["efficiency"]] + [100 * p["efficiency"] for p in v["losses"]]
    low, high = v["traction"]["mu_eff"]
    slips = " to ".join(f"{s:.1f}" for s in v["traction"]["slip"])
    rows = [
        ("shift rate over ln(F_CI/F_CO)", "linear [1]",
         f"R2 {law['R2'][1]:.2f} in the median of {law['belts']} belts, below {law['R2'][0]:.2f} for one in twenty",
         "agrees roughly"),
        ("shift rate over speed", "proportional to omega_I [1]",
         f"omega_I^({_of(law['all']['speed'])}); without load omega_I^({_of(law['|xi| < 0.1']['speed'])})",
         "a little weaker"),
        ("shift rate over force", "F^0.3 to F^0.5 at 20 to 30 kN [1]", f"F^({_of(law['all']['force'])})",
         "a little stronger"),
        ("its size g", "of order 1; no curve g(s) found",
         "{1:.1f} in the median without load ({0:.2f} to {2:.2f})".format(*law["g"]), "agrees in order"),
        ("equilibrium without load", "one curve ln S_eq(ln s) [1]",
         f"{rest['belts']} belts, {rest['RMS']:.2f} (RMS) around a cubic, {rest['largest']:.2f} at most",
         "a band, no curve"),
        ("efficiency", "falls towards overdrive and at low load [2]; peaks of about 97 % are usually quoted",
         f"both trends; at most {max(belt):.1f} %, of the unit with its shafts {max(whole):.1f} %",
         "trends agree, level too high"),
        ("growth of the lost torque with speed", "0.7 to 3.5 N.m per 1000 rpm, a variator less its final drive",
         f"belt {min(drag):.2f} to {max(drag):.2f} N.m without load; unit with its shafts {min(unit):.2f} to "
         f"{max(unit):.1f} N.m", "belt **far too small**, unit too small"),
        ("traction", "0.08 to 0.10 at 1 to 4 % of slip is usually quoted, **no source** was found",
         f"{low:.3f} to {high:.3f} at {slips} % of slip", "level agrees, slip often smaller"),
    ]  # fmt: skip
    return table(("", "published", "model", "verdict"), rows)


@in_pages
def validation_efficiency() -> str:
    """Median efficiency of belt and contacts."""
    found = validation()["efficiency"]
    rows = [(ratio, *(f"{100 * e:.1f}" for e in by_load.values())) for ratio, by_load in found.items()]
    return table(("i \\ xi", *next(iter(found.values()))), rows)


@in_pages
def validation_losses() -> str:
    """Losses of the real-time unit at ten points."""
    parts = ("sliding", "belt", "bearing", "seal", "oil")
    rows = []
    for p in validation()["losses"]:
        point = (f"{p['i']:g}", f"{p['rpm']:g} rpm", f"{p['torque']:.0f} N.m", f"{p['F_O'] / 1e3:.1f} kN")
        shares = [f"{100 * p[name]:.1f} %" for name in ("efficiency", "efficiency of the belt")]
        rows.append((*point, *(f"{p[part]:.0f} W" for part in parts), *shares))
    head = ("i", "speed", "torque in", "clamping", "sliding", "other belt", "bearings", "seals", "oil")
    return table((*head, "efficiency", "of the belt alone"), rows)


@in_pages
def validation_speed() -> str:
    """Efficiency and lost torque of the real-time unit over speed."""
    rows = []
    for p in validation()["over speed"]:
        eta = [f"{100 * e:.1f}" for e in p["efficiency"]]
        rows.append((f"{p['i']:g}", *eta, f"{p['growth']:.2g} N.m", f"{p['growth of the belt']:.2g} N.m"))
    head = [f"{rpm:g} rpm" for rpm in validation()["over speed"][0]["rpm"]]
    return table(("i", *head, "lost torque grows, per 1000 rpm", "of it belt"), rows)


def main(arguments: list[str]) -> int:
    """Write the tables, or list those that differ from the record."""
    old = stale()
    for page in old:
        if arguments != ["--check"]:
            page.write_text(fill(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page.relative_to(ROOT), "" if arguments == ["--check"] else "written")
    if arguments != ["--check"]:
        chapter7_picture(ROOT / "docs/pushbelt/chapter7.svg")
    return int(bool(old) and arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
