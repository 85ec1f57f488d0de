"""Runs of a plan on the processors at hand or on a cluster (dask.distributed), and the index of the existing runs.

The folder of a campaign has NAME.h5 for each finished run, NAME.h5.partial for each interrupted one, NAME.failed with
the reason for each failed one, and index.csv. The files are the only state: missing runs are made or continued,
existing ones are kept if they are runs of this plan and unit, and the index is written again from the files. A failed
run is repeated at the next start.

Workers write their files themselves; those of a cluster need the folder under the same name.
"""

import csv
import io
import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rtcvt.errors import AsInputError, InputError
from rtcvt.files import goes_on_with, read_text
from rtcvt.offline.pushbelt.run.prepare import prepare, steps_of
from rtcvt.offline.pushbelt.run.reading import open_run, run_of
from rtcvt.offline.pushbelt.run.schedule import COMPLETE, ENDS, LEFT, RUNAWAY, Run
from rtcvt.offline.pushbelt.run.simulate import compile_steps, simulate
from rtcvt.offline.pushbelt.run.windows import BEFORE, SLIPPING, STEADY, SUMMARY, drifts
from rtcvt.offline.pushbelt.run.windows import summary as summary_of
from rtcvt.offline.pushbelt.unit.parameters import Parameters
from rtcvt.offline.variator.plan import Plan, names_of, runs_of
from rtcvt.processes import computed
from rtcvt.recording import require_writable, write_text

_log = logging.getLogger("rtcvt")

INDEX = "index.csv"
WINDOWS = ("before", "steady")  # names of `BEFORE` and `STEADY`; then come the branches
# columns of a table for documents
SHORT = ["y", "ratio", "omega_I", "F_O", "xi", "kappa", "thrust_ratio", "slip", "x", "loss"]


class Row(NamedTuple):
    """A window of a run in the index: name of the run, window, how the phase ended, slipping, `SUMMARY`."""

    run: str
    window: str
    ended: str
    slipping: bool
    values: dict[str, float]


class Campaign(NamedTuple):
    """State of a campaign: names of the runs that ended, failed (and why), and are missing."""

    done: tuple[str, ...]
    failed: dict[str, str]
    missing: tuple[str, ...]


def run_campaign(
    parameters: Parameters,
    text: str,
    plan: Plan,
    plan_text: str,
    folder: Path,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    runs: Sequence[Run] | None = None,
) -> Campaign:
    """Make the missing runs of a plan, and write the index.

    Ctrl-C keeps every finished run; the next call continues.

    Parameters
    ----------
    parameters, text : Parameters, str
        The unit and the text of its file.
    plan, plan_text : Plan, str
        The plan and the text of its file.
    folder : Path
        Folder of the campaign; created if missing.
    scheduler : str, optional
        Address of a dask scheduler; by default `workers` processes are started here.
    workers : int, optional
        Number of local processes; default: one for each processor.
    progress : callable, optional
        Called with a text, steps done and steps in all.
    runs : sequence of Run, optional
        Only these runs; default: those of the plan.

    Raises
    ------
    InputError
        An impossible plan or unit, or a folder with runs of another one. Nothing is run then.
    KeyboardInterrupt
        After Ctrl-C, when the index is written.
    """

    def show(what: str, done: int, of: int) -> None:
        if progress is not None:
            progress(f"{plan.name}: {what}", done, of)

    names = names_of(plan) if runs is None else [run.name for run in runs]
    pending, cost = [], {}
    for done, run in enumerate(runs_of(plan, parameters) if runs is None else runs, 1):
        if not _is_there(folder / f"{run.name}.h5", run, parameters, text):
            pending.append(run)
            cost[run.name] = steps_of(prepare(parameters, run))
        show("drawing operating points", done, len(names))
    folder = _folder(folder)
    require_writable(folder / INDEX, *(folder / f"{run.name}.failed" for run in pending))
    to_do = sum(cost.values())
    computed, ended = 0, len(names) - len(pending)

    def report() -> None:
        show(f"{ended} of {len(names)} runs", computed, to_do)

    held = _hold(folder)
    try:
        for run in pending:
            (folder / f"{run.name}.failed").unlink(missing_ok=True)
            for half in folder.glob(f".{run.name}.*"):
                if _HALF.fullmatch(half.name.removeprefix(f".{run.name}.")):  # a worker was killed while it wrote
                    half.unlink()
        report()
        if pending:
            if scheduler is None:
                processes = min(workers or os.cpu_count() or 1, len(pending))
                _log.info(_expected(plan.name, len(pending), to_do, compile_steps(parameters, pending[0]), processes))
            for name, failure in _computed(parameters, text, plan_text, folder, pending, scheduler, workers):
                computed, ended = computed + cost[name], ended + 1
                if failure is not None:
                    write_text(folder / f"{name}.failed", failure + "\n")
                report()
    finally:
        write_index(folder)
        if held is not None:
            os.close(held)
    return state_of(folder, names)


def _expected(name: str, runs: int, steps: int, cost: float, processes: int) -> str:
    """Expected duration of a campaign; `cost` is the processor time of a step [s]."""
    total = steps * cost
    long = f"{total / 3600:.1f} h" if total > 7200 else f"{total / 60:.0f} min" if total > 120 else f"{total:.0f} s"
    each = total / processes
    wall = f"{each / 3600:.1f} h" if each > 7200 else f"{max(1, round(each / 60))} min"
    where = f"{processes} of {os.cpu_count()} processors"
    return (
        f"{name}: {runs} runs, {steps / 1e6:.3g} million steps of {1e6 * cost:.0f} us, {long} of processor time: about "
        f"{wall} on {where}"
    )


def state_of(folder: Path, names: Iterable[str]) -> Campaign:
    """Which of these runs are done, failed and missing."""
    names = list(names)
    failed = {p.stem: read_text(goes_on_with(p)).strip() for p in sorted(folder.glob("*.failed"))}
    done = tuple(n for n in names if (folder / f"{n}.h5").exists())
    return Campaign(done, failed, tuple(n for n in names if n not in failed and n not in done))


_HALF = re.compile(r"(h5|h5\.partial|failed)\.[a-z0-9_]{8}\.(h5|partial|failed)")  # suffix of a temporary file


def _hold(folder: Path) -> int | None:
    """Keep other campaigns from a folder until the handle is closed; None where the system cannot.

    Raises
    ------
    InputError
        Another one is at it.
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise InputError("output", "", str(folder), "a folder that no other campaign writes to") from None
    return handle


def _folder(folder: Path) -> Path:
    folder = folder.resolve()
    with AsInputError(OSError, "output", "", str(folder), lambda e: f"a folder: {e.strerror}"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _is_there(path: Path, run: Run, parameters: Parameters, text: str) -> bool:
    """Whether this run exists, at least as long as required (a run without branches is continued) and settled if it may
    settle longer; another run under its name is an error."""
    if not path.exists():
        return False
    with open_run(path) as file:
        there = run_of(file)
        shorter = there.settle < run.settle and not run.branches
        settle = run.settle if shorter else there.settle
        if replace(there, settle=settle, settle_at_most=run.settle_at_most) != run:
            raise InputError(path, "run", None, "a run of this plan and seed, or another folder")
        if file.attrs["unit"] != parameters.name or tomllib.loads(file["unit_file"].asstr()[()]) != tomllib.loads(text):
            raise InputError(path, "unit_file", file.attrs["unit"], "the same unit, or another folder")
        means = summary_of(file)["thrust_ratio"]
        longer = there.settle_at_most < run.settle_at_most and file["ended"][0] == COMPLETE
        unsettled = longer and drifts(means[BEFORE], means[STEADY])
    return not shorter and not unsettled


def _compute(parameters: Parameters, run: Run, path: str, text: str, plan: str) -> str | None:
    """Run in a worker; returns the reason if it failed."""
    try:
        outcome = simulate(parameters, run, Path(path), text, plan=plan, resume=True)
    except InputError as error:
        return str(error)
    if outcome.ended == LEFT:
        outcome.path.unlink()
        return f"the belt left its place in frame {outcome.frames + 1} of the settling"
    return None


def _computed(
    parameters: Parameters,
    text: str,
    plan: str,
    folder: Path,
    runs: list[Run],
    scheduler: str | None,
    workers: int | None,
) -> Iterator[tuple[str, str | None]]:
    """Names of runs as they end, and why they failed."""
    calls = {r.name: (_compute, parameters, r, str(folder / f"{r.name}.h5"), text, plan) for r in runs}
    for name, failure, error in computed(calls, scheduler, workers):
        yield name, failure if error is None else f"{type(error).__name__}: {error}"


def write_index(folder: Path) -> list[Row]:
    """Write index.csv from the files of a folder: a row for each window of each run, columns with their units."""
    rows = list(index(folder))
    _write_table(folder / INDEX, rows, list(SUMMARY), ".7g")
    return rows


def write_short(path: Path, rows: Iterable[Row]) -> None:
    """Write a table of the settled states and branches with the columns `SHORT`, small enough for a repository."""
    _write_table(path, [row for row in rows if row.window != WINDOWS[BEFORE]], SHORT, ".4g")


def _write_table(path: Path, rows: Iterable[Row], columns: list[str], form: str) -> None:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["run", "window", "ended", "slipping", *(f"{k} [{SUMMARY[k][0]}]" for k in columns)])
    for row in rows:
        values = (format(row.values[k], form) for k in columns)
        writer.writerow([row.run, row.window, row.ended, "yes" if row.slipping else "no", *values])
    write_text(path, table.getvalue())


def index(folder: Path) -> Iterator[Row]:
    """The windows of all runs in a folder.

    Raises
    ------
    InputError
        A file is not a run of a campaign.
    """
    for path in sorted(folder.glob("[!.]*.h5")):
        with open_run(path) as file:
            name, values, ended = run_of(file).name, summary_of(file), file["ended"][()]
            phases = file["window/phase"][()]
        for k, phase in enumerate(phases):
            window = WINDOWS[k] if k <= STEADY else f"branch {phase}"
            row = {key: float(v[k]) for key, v in values.items()}
            slips = abs(row["slip"]) > SLIPPING or ended[phase] == RUNAWAY
            yield Row(name, window, ENDS[ended[phase]], slips, row)
