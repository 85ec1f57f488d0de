"""Means of a run over windows of whole frames, and the resulting operating point.

Speed of the belt. The elements that have crossed the middle of the push span are counted as a real number, the place of
the middle between the two elements around it. v is the growth rate of this number over the window, times the thickness
t_R at the rocking edge. With the radii r' at the rocking edges and M_O that of the belt on the secondary,

    i = mean r'_O/r'_I,    xi = M_O cos(delta_0)/(2 mu F_O r'_O),    kappa = m* v^2/F_O,    f = F_O/F_REF,
    y = F_I/F_I,eq

A belt whose speed loss 1 - i omega_O/omega_I exceeds `SLIPPING` slips macroscopically.

Forces and works of a frame are those since the frame before it: forces are means, works are sums. A window of the
frames a to b therefore lasts from the time of frame a - 1 to that of frame b. In it works are summed, forces and
torques are averaged. Rates of radii and of the apex are slopes by least squares.

Windows of a run. `before` and `steady` are the last two of the settling. Each lasts `Run.mean` revolutions; if that is
None, one passage of the belt, counted, in whole frames. Where the settling has fewer than two passages, they are its
last two fifths. Then each branch has a window: the branch without its lead.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt.offline.pushbelt.contact import ledger
from rtcvt.offline.pushbelt.run.schedule import RUNAWAY, Clock, Run
from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.variator.capacity import capacity

Array = NDArray[np.float64]

BEFORE, STEADY = 0, 1  # rows of the windows; branch k has row 2 + k
F_REF = 10e3  # N
SLIPPING = 0.05  # speed loss: macroscopic slip
DRIFTING = 0.015  # of the thrust ratio between the last two windows: not settled
LOAD = ledger.LOSSES["load"]
LOSS_COLUMNS = {f"loss_{name}": about for name, about in ledger.LOSSES.items()}
SUMMARY: dict[str, tuple[str, str]] = {  # unit and description; means over a window
    "duration": ("s", "of the window"),
    "y": ("1", "clamping force of the primary as a multiple of F_I,eq"),
    "ratio": ("1", "i, of the radii at the rocking edges"),
    "r_I": ("m", "radius of the neutral fibre, primary"),
    "r_O": ("m", "radius of the neutral fibre, secondary"),
    "v": ("m/s", "speed of the elements: crossings of the push span times thickness at the rocking edge"),
    "omega_I": ("rad/s", "speed of the primary"),
    "omega_O": ("rad/s", "speed of the secondary"),
    "F_I": ("N", "clamping force of the primary, or force of its end stop"),
    "F_O": ("N", "clamping force of the secondary"),
    "M_I": ("N.m", "belt on the primary"),
    "M_O": ("N.m", "belt on the secondary"),
    "thrust_ratio": ("1", "F_I/F_O"),
    "xi": ("1", "torque ratio, of the belt's torque on the secondary and F_O"),
    "xi_I": ("1", "torque ratio of the primary: belt's torque there, driving +, and F_I"),
    "kappa": ("1", "m* v^2/F_O"),
    "slip": ("1", "speed loss 1 - i omega_O/omega_I"),
    "x": ("1", "shift rate (dr_I/dt)/(omega_I r_I), of the neutral fibre"),
    "x_apex": ("1", "shift rate of the primary's sheaves, -(dz_I/dt)/(tan(delta_0) omega_I r_I)"),
    "x_O": ("1", "(dr_O/dt)/(omega_I r_I), of the neutral fibre"),
    "P_I": ("W", "power into the primary shaft"),
    "P_O": ("W", "power into the secondary shaft, in the mean"),
    "P_axial_I": ("W", "power of the primary's clamping force or end stop"),
    "P_axial_O": ("W", "power of the secondary's clamping force"),
    "P_stored": ("W", "growth of the stored energies"),
    "loss": ("W", "all losses of the machine, without those of its load"),
    **{name: ("W", kind) for name, kind in LOSS_COLUMNS.items()},
    "unaccounted": ("W", "inputs - losses - growth of the stored energies: error of the scheme"),
}


# --- the belt's speed


def passing(sigma: Array) -> Array:
    """Place (n,) of the middle of the push span between the elements at `sigma` (n, N_E): falls by one per crossing."""
    n, N_E = sigma.shape
    ahead = np.mod(sigma - 1.5, 4.0)  # after the middle in time: small values have just crossed
    first = np.argmin(ahead, axis=1)  # crossed last
    rows = np.arange(n)
    before = np.mod(1.5 - sigma[rows, (first - 1) % N_E], 4.0)  # the next one's way to go
    past = ahead[rows, first]
    return np.asarray(first - past / (past + before))


def counted(places: Array, N_E: int) -> Array:
    """Elements that have crossed since the first frame, of `passing` (n,); between frames less than half the belt."""
    return np.asarray(-np.unwrap(places - places[:1], period=float(N_E)))


def belt_speed(file: h5py.File, rows: slice) -> float:
    """Mean speed [m/s] of the elements over frames; a phase's first frame has none before, the second begins there."""
    begin = rows.start - (rows.start > 0 and file["phase"][rows.start - 1] == file["phase"][rows.start])
    count = float(file["crossings"][rows.stop - 1] - file["crossings"][begin])
    return count * belt_of(file)["t_R"] / ((rows.stop - 1 - begin) * float(file.attrs["plot_step"]))


# --- operating points


def belt_of(file: h5py.File) -> dict[str, float]:
    """The scaled belt of a run."""
    belt: dict[str, float] = json.loads(file.attrs["parameters"])["belt"]
    return belt


def edge_ratio(radius: Array, belt: Mapping[str, float]) -> Array:
    """i of radii (n, 2) of the neutral fibre."""
    return np.asarray((radius[:, 1] - belt["h_off"]) / (radius[:, 0] - belt["h_off"]))


def powers(file: h5py.File, rows: slice) -> dict[str, float]:
    """Mean powers [W] of `ledger.WORKS` over frames; 0 for a loss that is younger than the file."""
    work = file["energy/work"]
    names = work.attrs.get("columns", ledger.WORKS[: work.shape[1]])  # losses were added after the others
    span = (rows.stop - rows.start) * float(file.attrs["plot_step"])
    found = zip(names, (work[rows].sum(axis=0) / span).tolist(), strict=True)
    return dict.fromkeys(ledger.WORKS, 0.0) | dict(found)


def _torque_ratio(M: Any, F: Any, edge: Any, belt: Mapping[str, float]) -> Any:
    return M / (capacity(belt["mu"], belt["cos_d"], F) * edge)


def measure(file: h5py.File, rows: slice, F_I: float = np.nan) -> dict[str, float]:
    """`SUMMARY` over the frames `rows` of one phase; `F_I` [N]: reference of y.

    Raises
    ------
    ValueError
        Fewer than two frames.
    """
    n = rows.stop - rows.start
    if n < 2:
        raise ValueError(f"a window of {n} frames")
    b, dt = belt_of(file), float(file.attrs["plot_step"])
    time: Array = np.arange(n) * dt
    F, M, radii = (file[k][rows] for k in ("pulleys/clamping_force", "pulleys/belt_torque", "grid/radius"))
    (F_1, F_2), (M_1, M_2), radius = F.mean(axis=0), M.mean(axis=0), radii.mean(axis=0)
    omega = file["sheaves/speed"][rows].mean(axis=0)
    edge, i, v = radius - b["h_off"], float(edge_ratio(radii, b).mean()), belt_speed(file, rows)
    moving = np.column_stack([radii, file["sheaves/apex"][rows, 0]])
    rates = np.polyfit(time, moving, 1)[0] / (omega[0] * radius[0])
    power = powers(file, rows)
    given, losses = ({k: power[k] for k in names} for names in (ledger.INPUTS.values(), ledger.LOSSES.values()))
    given["shaft_O"] -= losses[LOAD]  # the mean loss of the load does not reach the pulley
    loss, inputs = sum(losses.values()) - losses[LOAD], sum(given.values())
    stored = np.nan
    if rows.start > 0:
        ends = file["energy/stored"][[rows.start - 1, rows.stop - 1]].sum(axis=1)
        stored = float(ends[1] - ends[0]) / (n * dt)
    values = {
        "duration": n * dt,
        "y": F_1 / F_I,
        "ratio": i,
        "r_I": radius[0],
        "r_O": radius[1],
        "v": v,
        "omega_I": omega[0],
        "omega_O": omega[1],
        "F_I": F_1,
        "F_O": F_2,
        "M_I": M_1,
        "M_O": M_2,
        "thrust_ratio": F_1 / F_2,
        "xi": _torque_ratio(M_2, F_2, edge[1], b),
        "xi_I": _torque_ratio(-M_1, F_1, edge[0], b),
        "kappa": b["m_star"] * v**2 / F_2,
        "slip": 1.0 - i * omega[1] / omega[0],
        "x": rates[0],
        "x_apex": -rates[2] / b["tan_d"],
        "x_O": rates[1],
        "P_I": given["shaft_I"],
        "P_O": given["shaft_O"],
        "P_axial_I": given["clamping_I"],
        "P_axial_O": given["clamping_O"],
        "P_stored": stored,
        "loss": loss,
        **{name: losses[kind] for name, kind in LOSS_COLUMNS.items()},
        "unaccounted": inputs - loss - stored,
    }
    return {name: float(values[name]) for name in SUMMARY}


def point_of(values: Mapping[str, float]) -> tuple[float, float, float, float]:
    """i, xi, kappa and f from measured `values`."""
    return values["ratio"], values["xi"], values["kappa"], values["F_O"] / F_REF


def along(file: h5py.File, rows: slice) -> dict[str, Array]:
    """Ratio, xi and kappa at frames of one phase; v over a quarter of a revolution around each, less at the ends."""
    b, dt = belt_of(file), float(file.attrs["plot_step"])
    radius, count = file["grid/radius"][rows], file["crossings"][rows]
    F_O, M_O = file["pulleys/clamping_force"][rows, 1], file["pulleys/belt_torque"][rows, 1]
    frames: Array = np.arange(float(len(count)))
    reach = 0.125 * float(file.attrs["revolution"]) / dt
    a, z = np.maximum(frames - reach, 0.0), np.minimum(frames + reach, max(len(count) - 1.0, 0.0))
    known = (frames, count) if len(count) else (np.zeros(1), np.zeros(1))  # a branch may have no frame
    v = (np.interp(z, *known) - np.interp(a, *known)) * b["t_R"] / (np.maximum(z - a, 1e-9) * dt)
    return {
        "ratio": edge_ratio(radius, b),
        "xi": _torque_ratio(M_O, F_O, radius[:, 1] - b["h_off"], b),
        "kappa": b["m_star"] * v**2 / F_O,
    }


# --- the windows of a run


def drifts(before: Any, last: Any) -> Any:
    """Whether thrust ratios have not settled, by their means over the last two windows."""
    return ~(np.abs(last / before - 1.0) <= DRIFTING)


def windows_of(run: Run, clock: Clock, lengths: list[int], count: Array, N_E: int) -> list[tuple[int, slice]]:
    """Phase and frames within it of each window; `lengths` of the phases, `count` (n,) of crossings in the settling."""
    n = lengths[0]
    if run.mean is not None:
        mean = clock.frames(run.mean)
        marks = [max(0, n - 2 * mean), max(0, n - mean), n]
    elif n and count[-1] - count[0] >= 2.0 * N_E:
        frames: Array = np.arange(float(n))
        marks = [round(float(np.interp(count[-1] - k * N_E, count, frames))) + 1 for k in (2, 1, 0)]
    else:
        marks = [n - 2 * (n // 5), n - n // 5, n]
    found = [(0, slice(a, z)) for a, z in pairwise(marks)]
    for k, branch in enumerate(run.branches):
        start = clock.frames(branch.lead)
        found.append((1 + k, slice(start, max(start, lengths[1 + k]))))
    return found


def write_windows(file: h5py.File, write: Any, run: Run, clock: Clock, F_I: float) -> None:
    """Write means over the windows of a run; `F_I` [N]: force of a constant ratio, NaN: that of `steady`."""
    phase, ended = file["phase"][()], file["ended"][()]
    first = np.searchsorted(phase, np.arange(len(ended) + 1))
    parts = windows_of(run, clock, np.diff(first).tolist(), file["crossings"][: first[1]], int(belt_of(file)["N_E"]))
    rows = [slice(int(first[k]) + r.start, int(first[k]) + r.stop) for k, r in parts]
    if np.isnan(F_I) and rows[STEADY].stop > rows[STEADY].start:
        F_I = float(file["pulleys/clamping_force"][rows[STEADY], 0].mean())
    nothing = dict.fromkeys(SUMMARY, np.nan)
    usable = [r.stop - r.start > 4 and p.start > 0 for r, (_, p) in zip(rows, parts, strict=True)]
    table = [measure(file, r, F_I) if good else nothing for r, good in zip(rows, usable, strict=True)]
    slips = any(abs(row["slip"]) > SLIPPING for row in table) or bool(np.any(ended == RUNAWAY))
    file.attrs["slipping"] = slips
    write("window/phase", np.array([k for k, _ in parts]), "1", "phase of each window")
    write("window/first", np.array([r.start for r in rows]), "1", "first frame")
    write("window/behind", np.array([r.stop for r in rows]), "1", "first frame after the window")
    values = np.array([[row[name] for name in SUMMARY] for row in table])
    write("summary", values, "SI", "means over each window", tuple(SUMMARY))
    file["summary"].attrs["column_units"] = [unit for unit, _ in SUMMARY.values()]
    file["summary"].attrs["column_descriptions"] = [about for _, about in SUMMARY.values()]
    for name, (unit, about) in FIELDS.items() if "fields" in run.observe else ():
        means = np.full((len(rows), 4 * CELLS), np.nan, dtype=np.float32)
        for k, r in enumerate(rows):
            if r.stop > r.start:
                means[k] = file[f"fields/{name}"][r].mean(axis=0, dtype=np.float64)
        write(f"mean/{name}", means, unit, f"{about}; mean over each window")


def summary(file: h5py.File) -> dict[str, Array]:
    """The means over the windows by the names of `SUMMARY`; entries `BEFORE`, `STEADY`, then one for each branch.

    0 for a loss that is younger than the file.
    """
    table = file["summary"]
    found = dict(zip(table.attrs["columns"], table[()].T, strict=True))
    return dict.fromkeys(LOSS_COLUMNS, np.zeros(len(table))) | found


def frames_of(file: h5py.File, window: int) -> slice:
    """Frames of a window: `BEFORE`, `STEADY`, or 2 + number of the branch."""
    return slice(int(file["window/first"][window]), int(file["window/behind"][window]))
