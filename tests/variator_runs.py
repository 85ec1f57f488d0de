"""Files of campaign runs with numbers in closed form, for tests: what `run.simulate` writes, without a full model."""

import json

import numpy as np

from rtcvt.offline.pushbelt.planar.model import INPUTS, LOSSES
from rtcvt.offline.pushbelt.run.marks import FILE
from rtcvt.offline.pushbelt.run.runfile import KIND, SCHEMA_VERSION
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, Branch, Point, Run, Settings, as_json
from rtcvt.offline.pushbelt.run.snapshots import CELLS, FIELDS
from rtcvt.offline.pushbelt.run.windows import SUMMARY
from rtcvt.recording import new_hdf5

BELT = {
    "mu": 0.1, "cos_d": np.cos(0.19), "tan_d": np.tan(0.19), "delta_0": 0.19, "d_A": 0.155, "h_off": 2e-3,
    "m_star": 1.6, "l_R": 0.66, "EA": 6e6, "t_R": 3e-3, "N_E": 220,
}  # fmt: skip
FRAMES = 12  # per revolution
DT = 2e-3  # of a frame [s]
V, F_I, F_O, M_O, OMEGA = 15.0, 14e3, 10e3, 60.0, (300.0, 275.0)
RADIUS = (0.048, 0.052)
LENGTH = np.array([0.19, 0.14, 0.18, 0.14])
SHAPE = {name: 1.0 + k + np.linspace(0.0, 1.0, 4 * CELLS) ** (k + 1) for k, name in enumerate(FIELDS)}
SHORT, LONG = Branch(1.2, 1.0, 1.0, 0.0, 0.25, 1.25), Branch(0.8, 1.0, 1.0, 0.0, 0.5, 3.5)


def frames_in(branch):
    """Frames of a branch."""
    return round(branch.duration * FRAMES)


def write_run(path, name="point-000", branches=(SHORT, LONG), ended=None, scale=1.0, slip=0.0, elements=False, **attrs):
    """A run of two revolutions of settling and `branches`.

    Fields are `SHAPE` times `scale` times 1 + number of the phase, and what averages out over a revolution. In the
    branches F_I is y_I times as large and the radius of the primary grows by 1 um in a frame.
    """
    observe = ("elements", "fields") if elements else ("fields",)
    run = Run(name, Point(1.0, OMEGA[0], 0.5, F_O), Settings(scheme="multirate", step=1e-5), 2.0, mean=1.0,
              branches=tuple(branches), limits=(0.4, 2.5), frames=FRAMES, observe=observe)  # fmt: skip
    n = [2 * FRAMES, *(frames_in(b) for b in branches)]
    phase = np.repeat(np.arange(len(n)), n)
    first = np.cumsum([0, *n])
    windows = [(0, 0, FRAMES), (0, FRAMES, 2 * FRAMES)]
    windows += [(1 + k, first[1 + k] + round(b.lead * FRAMES), first[2 + k]) for k, b in enumerate(branches)]
    within = np.concatenate([np.arange(k) for k in n])
    wave = np.cos(2.0 * np.pi * within / FRAMES)
    total = len(phase)
    with new_hdf5(path, FILE) as file:
        file.attrs.update(
            {
                "kind": KIND, "schema_version": SCHEMA_VERSION, "run": as_json(run),
                "plot_step": DT, "revolution": FRAMES * DT, "slipping": False, "unit": "u",
                "parameters": json.dumps({"belt": BELT}), "revision": "abc", "created": "2024-01-01", **attrs,
            }
        )  # fmt: skip
        file["unit_file"], file["plan"] = "unit", f"plan of {name}"
        file["phase"], file["crossings"] = phase, within * DT * V / BELT["t_R"]
        file["ended"] = [COMPLETE] * len(n) if ended is None else ended
        radius = np.tile(RADIUS, (total, 1))
        radius[:, 0] += np.where(phase > 0, 1e-6 * within, 0.0)
        file["grid/radius"], file["grid/length"] = radius, np.tile(LENGTH, (total, 1))
        force = np.array([1.0, *(b.y_I for b in branches)])[phase] * F_I
        file["pulleys/clamping_force"] = np.column_stack([force, np.full(total, F_O)])
        file["pulleys/belt_torque"] = np.tile([-56.0, M_O], (total, 1))
        file["sheaves/apex"] = np.zeros((total, 2))
        file["sheaves/speed"] = np.tile([OMEGA[0], OMEGA[1] * (1.0 - slip)], (total, 1))
        work = np.zeros((total, len(INPUTS) + len(LOSSES)))
        work[:, len(INPUTS) + LOSSES.index("flank longitudinal friction")] = 120.0 * DT
        work[:, len(INPUTS) + LOSSES.index("flank damping")] = 30.0 * DT
        file["energy/work"] = work
        file["energy/stored"] = np.tile(np.arange(9.0), (total, 1))
        for field, shape in SHAPE.items():
            values = scale * (1.0 + phase + 0.1 * wave)[:, None] * shape
            file[f"fields/{field}"] = values.astype(np.float32)
            file[f"mean/{field}"] = np.array([values[a:b].mean(axis=0) for _, a, b in windows])
        file["window/first"], file["window/behind"] = ([w[k] for w in windows] for k in (1, 2))
        table = np.zeros((len(windows), len(SUMMARY)))
        table[:, list(SUMMARY).index("slip")] = slip
        table[:, list(SUMMARY).index("F_O")] = F_O
        file["summary"] = table
        file["summary"].attrs["columns"] = list(SUMMARY)
        if elements:
            _write_elements(file, total, within)
    return path


def _write_elements(file, total, within):
    """A wave that stands in space and that the elements pass: one mode there, as many as it has places to them."""
    at = 2.0 * np.pi * (np.arange(FRAMES)[None, :] + within[:, None]) / FRAMES
    file["elements/flank"] = np.stack([1.0 + np.cos(at) ** 8] * 3, axis=-1)
    joint = np.zeros((total, FRAMES, 6))
    joint[..., :3] = (1.0 + np.cos(at) ** 8)[..., None]
    joint[..., 3:] = 1e3  # pins and holes, which are no push force
    file["elements/joint"] = joint
    file["ring/position"] = np.stack([np.cos(at), np.sin(at)], axis=-1)
    file["ring/tension"] = np.full((total, FRAMES), 1e3)
