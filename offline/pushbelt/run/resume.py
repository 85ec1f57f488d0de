"""Continuation of a run: attributes that its file or journal must have, and the existing frames."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.contact.friction import Coulomb
from rtcvt.offline.pushbelt.contact.layers import Plane
from rtcvt.offline.pushbelt.contact.sheave import Load
from rtcvt.offline.pushbelt.ring.cosserat import Cosserat
from rtcvt.offline.pushbelt.run.prepare import Prepared
from rtcvt.offline.pushbelt.run.progress import Progress
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.runfile import KIND, SCHEMA, SCHEMA_VERSION, Arrays, Journal, arrays_in
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, ENDS, LEFT, Case, as_json, from_json
from rtcvt.offline.pushbelt.unit.parameters import TORQUE, Parameters


def attributes_of(parameters: Parameters, made: Prepared, F_I: float | None) -> dict[str, Any]:
    """Attributes of a run, which a continuation must share."""
    case = parameters.get_case(made.run.start.case).model_dump_json() if isinstance(made.run.start, Case) else ""
    torque, modes = made.inputs[0, 5] == TORQUE, made.model.ring
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": KIND,
        "unit": parameters.name,
        "run": as_json(made.run),
        "case": case,
        "parameters": json.dumps(
            {"belt": made.model.belt._asdict(), "sheaves": made.model.sheaves._asdict()}
            | ({"rod": ring._asdict()} if isinstance(ring := getattr(modes, "rod", modes), Cosserat) else {})
            | ({"modes": [modes.a.size, float(np.abs(modes.R.V).sum())]} if modes is not ring else {})
            | ({"load": made.model.load._asdict()} if made.model.load != Load() else {})
            | {
                name: law._asdict()
                for name, law in (("friction", made.model.friction), ("layers", made.model.layers))
                if not isinstance(law, Coulomb | Plane)
            }
        ),
        "scheme": made.run.settings.scheme,
        "N_E": made.model.belt.N_E,
        "M_O": made.M_O if torque else np.nan,
        "F_I": np.nan if F_I is None else F_I,
        "step": made.clock.step,
        "plot_step": made.clock.plot_step,
        "revolution": made.clock.revolution,
    }


def _require_same(path: Path, found: Any, wanted: dict[str, Any]) -> None:
    """Refuse a file of another run; the length of the settling may differ."""
    SCHEMA.require(found, path)
    whole = {"settle": 0.0, "settle_at_most": 0.0, "duration": None}
    one, other = (asdict(replace(from_json(str(a["run"])), **whole)) for a in (found, wanted))  # type: ignore[arg-type]
    for key, value in other.items():
        if one[key] != value:
            raise InputError(path, key, None, f"that of the run to be resumed, {one[key]}")
    for key, value in wanted.items():
        if key != "run" and found[key] != value and not (value != value and np.isnan(found[key])):
            shown = key if key in ("case", "parameters") else f"{found[key]}"
            raise InputError(path, key, value if shown != key else None, f"that of the run to be resumed, {shown}")


def extended(path: Path, made: Prepared, head: dict[str, Any]) -> list[Arrays] | None:
    """The record that continues a finished run, None if there is nothing to add."""
    with open_run(path) as file:
        _require_same(path, file.attrs, head["attributes"])
        if file["ended"][0] == LEFT:
            raise InputError(path, "ended", ENDS[LEFT], "a run whose belt has not left its place")
        done, n = int(np.sum(file["phase"][()] == 0)), len(made.inputs) - 1
        if done > n:
            raise InputError(path, "duration", made.run.duration, f"at least the existing {file['time'][done - 1]} s")
        if done == n:
            return None
        if made.run.branches or "profiles" in made.run.observe:
            raise InputError(path, "duration", None, "that of the run: one with branches or profiles is not extended")
        head["attributes"]["created"] = str(file.attrs["created"])
        record = arrays_in(file)
        return [record | {"phase": np.array(0), "ended": np.array(-1)}]


def replayed(journal: Journal, path: Path, made: Prepared, wanted: dict[str, Any]) -> Progress:
    """Progress of a run in a journal."""
    there = Progress()
    _require_same(path, journal.head()["attributes"], wanted)
    for record in journal.blocks():
        there.take(record)
    if there.here > (n := len(made.inputs) - 1) and not there.ended:
        raise InputError(path, "duration", made.run.duration, f"at least the existing {there.here} frames of {n}")
    for name, value in made.arrays.items():
        if there.state and (name not in there.state or there.state[name].shape != value.shape):
            raise InputError(path, f"checkpoint/{name}", None, "a run begun by this release; begin it again")
    whole = made.run.settle_at_most == 0.0 and not made.run.branches
    if there.ended and whole and there.frames < len(made.inputs) - 1 and there.ended[0] == COMPLETE:
        there.ended, there.here = [], there.frames
    return there
