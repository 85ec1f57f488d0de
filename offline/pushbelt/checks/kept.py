"""Results of checks in a folder: a file for each run, named after its dependencies, and figures of short runs."""

import ast
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from rtcvt.errors import InputError
from rtcvt.files import goes_on_with, read_json
from rtcvt.offline.pushbelt.planar import model as hybrid
from rtcvt.offline.pushbelt.run.prepare import prepare, ring_steps
from rtcvt.offline.pushbelt.run.profiles import Steady, steady_of
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.schedule import LEFT, Run
from rtcvt.offline.pushbelt.run.simulate import simulate
from rtcvt.offline.pushbelt.spatial import model as spatial
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.processes import pool
from rtcvt.recording import write_text

Progress = Callable[[str, int, int], None]


class Job(NamedTuple):
    """A run to be made: its name, its description, its file, its cost, and the arguments that make it."""

    name: str
    about: str
    file: Path
    weight: float
    arguments: tuple[Any, ...]


def make_missing(
    jobs: Sequence[Job], make: Callable[..., str], processes: int, progress: Progress | None
) -> dict[str, str]:
    """Make the missing files; returns names of the runs without a result, and the reasons.

    Parameters
    ----------
    jobs : sequence of Job
    make : callable
        Function of a job's arguments; returns the reason for a missing result, else None. Importable, for other
        processes.
    processes : int
        Runs at a time; 1: in this process.
    progress : callable, optional
        Called with (name of the run, work done, work in all).
    """
    failed: dict[str, str] = {}
    total, done = sum(job.weight for job in jobs), 0.0

    def told(job: Job, why: str = "") -> None:
        nonlocal done
        done += job.weight
        if why:
            failed[job.name] = why
        if progress is not None:
            progress(job.about, round(done), round(total))

    missing = [job for job in jobs if not job.file.exists()]
    for job in jobs:
        if job not in missing:
            told(job)
    here = missing if processes == 1 else missing[:1]  # the first compiles, for all
    for job in here:
        told(job, make(*job.arguments))
    if missing[len(here) :]:
        with pool(processes) as others:
            running = {others.submit(make, *job.arguments): job for job in missing[len(here) :]}
            for future in as_completed(running):
                told(running[future], future.result())
    return failed


def made(parameters: Parameters, run: Run, file: Path) -> str:
    """Do a run; why there is no result, if so."""
    try:
        outcome = simulate(parameters, run, file, "", resume=True)
    except InputError as error:
        return str(error)
    if not outcome.done:
        raise KeyboardInterrupt
    if outcome.ended == LEFT:
        file.unlink()
        return f"the belt left its place in frame {outcome.frames + 1}"
    return ""


def read_steady(file: Path) -> Steady:
    """Read the results of a run.

    Raises
    ------
    InputError
        Damaged, or no run with profiles.
    """
    with open_run(file) as found:
        return steady_of(found)


def kept(file: Path, about: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Contents of a JSON file, or the result of `make`, which is stored there; `about` describes it."""
    if goes_on_with(file).exists():
        return read_json(file, f"{about}, or none")
    found = make()
    write_text(file, json.dumps(found))
    return found


def step_times(parameters: Parameters, runs: Mapping[str, Run], frames: int) -> dict[str, list[float]]:
    """Processor times of a step [us], seven of each run, in turn in one process, over so many frames."""
    prepared = {name: prepare(parameters, run) for name, run in runs.items()}
    found: dict[str, list[float]] = {name: [] for name in prepared}
    for turn in range(8):
        for name, m in prepared.items():
            s, ticks, begin = m.run.settings, m.clock, time.thread_time()
            go: Callable[..., tuple[Any, int]] = hybrid.run if m.wide is None else spatial.run
            rest = (m.inputs[: frames + 1], ticks.steps, ticks.step, s.flank_points)
            _, done = go(m.wide or m.model, m.state, *rest, ring_steps(s.scheme, m.model.ring, ticks.step))
            if turn and done:  # the first warms up
                found[name].append(1e6 * (time.thread_time() - begin) / (done * ticks.steps))
    return found


def key(*what: object) -> str:
    """Digest of the dependencies of a result, eight digits: the arguments, and the sources of the model."""
    found = hashlib.sha256(" ".join(map(str, what)).encode())
    for file in sources():
        found.update(file.read_bytes())
    return found.hexdigest()[:8]


@cache
def sources() -> tuple[Path, ...]:
    """Files of all modules of rtcvt that `run.simulate` imports when it is loaded, directly or not."""
    found: dict[str, Path] = {}
    todo = ["rtcvt.offline.pushbelt.run.simulate"]
    while todo:
        name = todo.pop()
        spec = find_spec(name) if name not in found else None
        if spec is None or spec.origin is None:
            continue
        found[name] = Path(spec.origin)
        for node in ast.parse(found[name].read_bytes()).body:
            if isinstance(node, ast.Import):
                todo += [a.name for a in node.names if a.name.startswith("rtcvt.")]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rtcvt":
                todo += [f"{node.module}", *_modules(f"{node.module}", [a.name for a in node.names])]
    return tuple(found[name] for name in sorted(found))


def _modules(package: str, names: Sequence[str]) -> list[str]:
    """Which names are modules of the package."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [f"{package}.{name}" for name in names if find_spec(f"{package}.{name}") is not None]
