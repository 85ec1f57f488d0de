"""Attacks on recordings, disks, units and the command, as often as asked, and what came of them.

    make attack

runs all of them, for an hour at most, and ends with a table of counts; the tests run each a few times.
``python tests/attacks.py 0.1 signals disks`` makes a tenth of those whose names begin so, in a tenth of the time.
An attack returns how often it was made and a text for each time that something was lost or crashed.
"""

import errno
import json
import logging
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import h5py
import numpy as np
from damages import damaged
from rows import script, tables, text_of

from rtcvt import __main__
from rtcvt.errors import InputError
from rtcvt.files.hdf5 import seal
from rtcvt.files.names import mapped
from rtcvt.fmu.native.compiler import compile_unit
from rtcvt.fmu.native.export import write_sources
from rtcvt.hil.bus import Node
from rtcvt.hil.can_attachment import plan_of, read_database
from rtcvt.hil.dbc import generate, signal_names
from rtcvt.hil.growing import part_name
from rtcvt.hil.importer import inputs_from, open_fmu
from rtcvt.hil.plot import draw
from rtcvt.hil.recorder import Channel, open_recorder, read
from rtcvt.kernel import FAILED
from rtcvt.kind import kinds, load_unit
from rtcvt.look import as_text
from rtcvt.model import Model, Variable
from rtcvt.model.march import march
from rtcvt.recording import Recording, Signal
from rtcvt.scenario import load_faults
from rtcvt.table import TOO_COARSE
from rtcvt.unitfile import parse_unit_file, shipped_units
from rtcvt.variator.build import reduced_path
from rtcvt.variator.reduced.file import SEAL, read_reduced
from rtcvt.variator.reduced.tables import law_table

sys.path += [str(Path(__file__).parent / folder) for folder in ("hil", "fmu")]
import faults
import hostile
from hostile_inputs import KINDS, harsh_inputs, hostile_inputs
from instances import started
from overwriting import READ, build, link, state
from steps_host import NativeUnit

__all__ = [
    "ATTACKS", "clocks", "coarse_steps", "disks", "harsh_run", "hostile_run", "hostile_runs", "kills", "misdeeds",
    "modules", "mutations", "overwriting", "recordings", "reduced_models", "signals", "starts", "texts", "workers"
]  # fmt: skip

Outcome = tuple[int, list[str]]
until = [float("inf")]  # [s] of the clock: an attack makes no more rounds then


class Rounds:
    """Numbers from 0 to `count`, as long as there is time; `made` tells how many there were."""

    def __init__(self, count: int) -> None:
        self.count, self.made = count, 0

    def __iter__(self) -> Iterator[int]:
        while self.made < self.count and time.monotonic() < until[0]:
            self.made += 1
            yield self.made - 1


COMMANDS, KEYS = tables("attacks.toml"), ("readers", "writers")
CHANNELS = (Channel("shaft.tau", "N.m", "torque"), Channel("shaft.w", "rad/s", "speed"))


def same(one: Recording, other: Recording) -> bool:
    """Whether two recordings hold the same."""
    if one.unit_file != other.unit_file or one.signals.keys() != other.signals.keys():
        return False
    pairs = [(one.signals[k], other.signals[k]) for k in one.signals]
    return np.array_equal(one.time, other.time) and all(
        np.array_equal(a.values, b.values) and (a.unit, a.description) == (b.unit, b.description) for a, b in pairs
    )


def grown(path: Path, ended: bool) -> Path:
    """A recording of 10 000 rows, finished or as a kill leaves it."""
    made = open_recorder(path, CHANNELS, "real-time run", {"step": 1e-3}, 'name = "kers"\n')
    for first in range(0, 10_000, 1000):
        k = np.arange(first, first + 1000.0)
        made.append(np.column_stack([1e-3 * k, k**2, -k]))
    if ended:
        made.finish({"completed": True})
        return path
    made.abandon()
    return part_name(path)


def recordings(count: int, folder: Path, suffix: str = "h5", ended: bool = True) -> Outcome:
    """Recordings that are cut, zeroed in part or have a bit flipped are refused, or read as they were."""
    path, rng, bad = grown(folder / f"run.{suffix}", ended), np.random.default_rng(7), []
    good, whole = path.read_bytes(), read(path)
    for k in (rounds := Rounds(count)):
        path.write_bytes(damaged(good, k, rng))
        with suppress(InputError):
            if not same(read(path), whole):
                bad.append(f"damage {k} of {path.name} was read")
    return rounds.made, bad


def reduced_models(count: int, folder: Path) -> Outcome:
    """The same of a reduced model."""
    good = reduced_path(load_unit("pushbelt_cvt")).read_bytes()
    path, rng, bad = folder / "model.h5", np.random.default_rng(5), []
    for k in (rounds := Rounds(count)):
        changed = damaged(good, k, rng)
        path.write_bytes(changed)
        with suppress(InputError):
            read_reduced(path)
            if (changed[:64], changed[512:]) != (good[:64], good[512:]):
                bad.append(f"damage {k} of a reduced model was read")
    return rounds.made, bad


VALUES = (np.nan, np.inf, -1.0, 0.0, 1e300, "text", np.zeros(0), np.zeros((3, 1)), np.arange(7), True, 1j, b"\xff\xfe",
          np.array(["a", "b"], "S1"), 2**63, [[1.0], [2.0]])  # fmt: skip


def mutated(file: h5py.File, rng: np.random.Generator) -> None:
    """Change one thing in a file that keeps its form."""
    found: list[str] = []
    file.visit(found.append)
    name = found[rng.integers(len(found))]
    item, kind = file[name], rng.integers(5)
    value = VALUES[rng.integers(len(VALUES))]
    if kind == 0 and len(item.attrs):
        key = list(item.attrs)[rng.integers(len(item.attrs))]
        del item.attrs[key]
        if rng.integers(2):
            item.attrs[key] = value
    elif kind == 1:
        key = list(file.attrs)[rng.integers(len(file.attrs))]
        file.attrs[key] = value
    elif kind == 2 and isinstance(item, h5py.Dataset) and item.ndim and item.dtype.kind == "f":
        data = item[()]
        data.flat[rng.integers(data.size)] = [np.nan, np.inf, -1.0, 1e30, 0.0][rng.integers(5)]
        item[...] = data
    elif kind == 3 and isinstance(item, h5py.Dataset) and item.ndim:
        data = item[()]
        del file[name]
        file[name] = data[:-1] if rng.integers(2) else data.reshape(-1)[: rng.integers(1, 9)]
    else:
        del file[name]
        if rng.integers(3):
            file[name] = value
        elif rng.integers(2):
            file.create_group(name)


def mutations(count: int, folder: Path) -> Outcome:
    """Reduced models with wrong contents are refused by name, or make a unit; no other exception."""
    good = reduced_path(load_unit("pushbelt_cvt")).read_bytes()
    path, rng, bad = folder / "model.h5", np.random.default_rng(11), []
    for k in (rounds := Rounds(count)):
        path.write_bytes(good)
        with h5py.File(path, "r+") as file, suppress(TypeError, ValueError, OSError, KeyError):  # what HDF5 has not
            mutated(file, rng)
        seal(path, SEAL)
        try:
            law_table(read_reduced(path))
        except InputError:
            pass
        except Exception as error:
            bad.append(f"mutation {k}: {type(error).__name__}: {error}")
    return rounds.made, bad


TOKEN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\"[^\"\n]*\"|\w+")
WORDS = (
    "0", "-1", "1", "3", "1e-30", "1e30", "5e-324", "nan", "inf", "17", "65536", "9223372036854775808", "0.5", '""',
    "true", "[]", "{}", "[1, 2]", '"1e308 m"', '"x"', '"5 1/min"', "M", "m0", "٣", "é", "\0", "[" * 60 + "]" * 60,
)  # fmt: skip


def mutant(text: str, rng: np.random.Generator) -> str:
    """A text with up to six words, lines or signs replaced, exchanged, repeated or gone."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 6]))):
        places, lines = [m.span() for m in TOKEN.finditer(text)] or [(0, 0)], text.split("\n")
        (a, b), (c, d) = (places[k] for k in np.sort(rng.integers(len(places), size=2)))
        i, j, kind = *map(int, rng.integers(len(lines), size=2)), rng.integers(6)
        if kind == 0:
            text = text[:a] + str(rng.choice(WORDS)) + text[b:]
        elif kind == 1 and b <= c:
            text = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        elif kind == 2:
            text = text[:a] + text[c:d] + text[b:]
        elif kind in (3, 4):
            text = "\n".join([*lines[:i], *([] if kind == 3 else lines[j : j + 5]), *lines[i + 1 :]])
        else:
            k = int(rng.integers(len(text) + 1))
            text = text[:k] + str(rng.choice(list('"[]{}=<>&|@:,.#-e9 \n\0'))) + text[k + int(rng.integers(2)) :]
    return text


INPUTS = "time [s],shaft.tau [N.m],shaft.w [rpm]\n0,1,2\n0.1,2,3\n0.2,5,-1e3\n"
SCENARIO = text_of("units/attacked_scenario.toml")


def texts(count: int, folder: Path) -> Outcome:
    """Unit files, scenarios, tables of inputs, databases and descriptions of units with changes at random are read, or
    refused by name; no other exception."""
    rng, bad, fmu = np.random.default_rng(23), [], hostile.build(folder)
    variables = [Variable("shaft.tau", "output", 0, "N.m", "", minimum=-9.0, maximum=9.0),
        Variable("on", "output", 1, "1", "", boolean=True), Variable("w", "input", 0, "rad/s", ""),
        Variable("k", "parameter", 0, "1", "", tunable=True)]  # fmt: skip
    called = signal_names(variables)
    outputs, inputs, tunable = variables[:2], [variables[2]], [variables[3]]
    with zipfile.ZipFile(fmu) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    description = members["modelDescription.xml"].decode()

    def unit(path: Path) -> None:
        found = load_unit(path)
        for fidelity in found.models if found.kind_record.build else ():
            found.build(fidelity)

    def database(path: Path) -> None:
        plan = plan_of(read_database(path), called, inputs, outputs, tunable, 1e-3, ())
        node = Node(SimpleNamespace(send=str), plan.given, [*plan.taken, *plan.rare], plan.names, wires=plan.wires)
        node.send(dict.fromkeys(plan.names.values(), 3.7))

    def foreign(path: Path) -> None:
        changed = path.with_suffix(".fmu")
        with zipfile.ZipFile(changed, "w") as archive:
            for name, data in (members | {"modelDescription.xml": path.read_bytes()}).items():
                archive.writestr(name, data)
        with open_fmu(changed, ("*",)):
            pass

    units = list(shipped_units().values())
    tables = [(generate("unit", inputs, outputs, 1e-3, tunable), ".dbc", database), (description, ".xml", foreign),
              (INPUTS, ".csv", inputs_from), (SCENARIO, ".toml", load_faults)]  # fmt: skip
    for k in (rounds := Rounds(count)):
        source = units[int(rng.integers(len(units)))]
        text, suffix, reader = [*tables, (source.read_text(encoding="utf-8"), ".toml", unit)][k % 5]
        home = source.parent if reader is unit else folder
        changed = mutant(text, rng)
        path = folder / f"mutant{suffix}"
        path.write_text(changed, encoding="utf-8")
        if reader is unit:
            for beside in home.iterdir():
                if beside.suffix != ".toml" and not (folder / beside.name).exists():
                    (folder / beside.name).symlink_to(beside)
        try:
            reader(path)
        except InputError:
            pass
        except Exception as error:
            bad.append(f"text {k}, {source.stem if reader is unit else suffix}: {type(error).__name__}: {error}")
            if "KEEP" in os.environ:
                Path(os.environ["KEEP"], f"{k}{suffix}").write_text(changed, encoding="utf-8")
    return rounds.made, bad


NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
PATIENCE = 300.0  # [s] for one machine, whose kernels may have to be compiled


def other_machine(text: str, rng: np.random.Generator) -> str:
    """A unit file, some of whose numbers are others: a tenth, tenfold, far away, whole, zero or of the other sign."""
    for _ in range(int(rng.choice([1, 1, 2, 3, 6]))):
        places = [m.span() for m in NUMBER.finditer(text)]
        if not places:
            return text
        a, b = places[rng.integers(len(places))]
        old, kind = float(text[a:b]), rng.integers(8)
        new = (
            old * 10 ** rng.uniform(-1, 1),
            old * 10 ** rng.uniform(-1, 1),
            old * 10 ** rng.uniform(-9, 9),
            -old,
            0.0,
            10.0 ** rng.integers(-15, 15),
            float(rng.choice([1, 2, 3, 7, 17, 255, 65_536, 2**31, 2**53])),
            old + 1,
        )[kind]
        text = text[:a] + (str(int(new)) if new == round(new) else repr(new)) + text[b:]
    return text


def machine(name: str, rng: np.random.Generator, folder: Path) -> str:
    """What is wrong with a changed unit: neither refused by key nor computed."""
    source = shipped_units()[name]
    text = (other_machine if rng.random() < 0.7 else mutant)(source.read_text(encoding="utf-8"), rng)
    (folder / "machine.toml").write_text(text, encoding="utf-8")
    try:
        unit = load_unit(parse_unit_file(text, "machine.toml", source.parent))
        for fidelity in unit.models if unit.kind_record.build else ():
            model = unit.build(fidelity)
            instance = started(model)
            if all(instance.step(model.step_size) == FAILED for _ in range(20)):
                return f"{fidelity}: every step is refused"
            for kind in ("jumps", "reversals"):
                for row in hostile_inputs(model, kind, 0, 25, rng):
                    instance.u[:] = row
                    if instance.step(model.step_size) != FAILED and not np.isfinite(instance.y).all():
                        return f"{fidelity}: not finite, and no step is refused"
    except InputError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def machines(count: int, folder: Path, first: int = 0) -> Outcome:
    """Units with other numbers and texts are refused by key, or computed: no crash, no hang, nothing that is not finite
    without a refused step. Each lot of them in a process of its own."""
    names, bad, done = list(shipped_units()), [], first

    def lot(done: int, end: int, told: Path) -> None:
        with open(told, "w", encoding="utf-8", buffering=1) as file:
            for k in Rounds(end - done):
                k += done
                print(k, file=file)
                name = names[k % len(names)]
                if wrong := machine(name, np.random.default_rng([29, k]), folder):
                    print(f"{k} {name}: {wrong!r}", file=file)

    while done < first + count and time.monotonic() < until[0]:
        told = folder / "told"
        child = multiprocessing.get_context("fork").Process(target=lot, args=(done, first + count, told))
        child.start()
        while child.is_alive():
            size = told.stat().st_size if told.exists() else 0
            child.join(PATIENCE)
            if child.is_alive() and told.exists() and told.stat().st_size == size:
                child.kill()
        rows = told.read_text(encoding="utf-8").splitlines()
        at = int(rows[-1].split()[0]) if rows else done
        bad += [row for row in rows if " " in row]
        if child.exitcode:
            bad.append(f"{at} {names[at % len(names)]}: ended by {child.exitcode}")
        done = at + 1
    return done - first, bad


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "a.h5").mkdir()


PLACES: dict[str, tuple[str, Callable[[Path], object] | None, bool, bool]] = {
    # what it is: its name, how it is made, attacks of readers, of writers
    "a pipe": ("x", os.mkfifo, True, False), "zeros": ("x", lambda p: p.symlink_to("/dev/zero"), True, False),
    "a folder": ("x", _folder, True, True), "a loop": ("x", lambda p: p.symlink_to(p.name), True, False),
    "nowhere": ("x", lambda p: p.symlink_to(p.parent / "nothing" / "x"), True, False),
    "empty": ("x", Path.touch, True, False), "none": ("x", None, True, False),
    "noise": ("x", lambda p: p.write_bytes(np.random.default_rng(1).bytes(5000)), True, False),
    "long": ("y" * 300, None, True, True), "in a file": ("run.h5/x", None, True, True),
    "in proc": ("/proc/self/x", None, True, True), "in sys": ("/sys/x", None, False, True),
    "full": ("x", lambda p: p.symlink_to("/dev/full"), False, True), "no room": ("x", None, False, True),
    "missing": ("missing/x", None, True, True), "null": ("a\0b", None, True, True),
}  # fmt: skip


def _command(words: list[str], folder: Path, said: Path, room: int) -> None:
    """The command line in this process, which is another's child and writes files of so many bytes at most."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    for number in (1, 2):
        os.dup2(os.open(said, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), number)
    sys.argv = ["rtcvt", *words]
    __main__.main()


SIGNS = (*"$_\\^{}%&#=+-@'\"<>;,.[]| \t\n0ax\u00e9\u6f22\u202e", r"\frac{", "$x^2$", "_child0", "]]>", "-->", "&amp;")


def names(count: int, folder: Path) -> Outcome:
    """Signals, units and titles named as markup of any kind: pictures say the names, and files have them again."""
    rng, bad, t = np.random.default_rng(47), [], np.arange(20.0)
    for k in (rounds := Rounds(count)):
        made = ["".join(rng.choice(SIGNS, rng.integers(1, 9))) for _ in range(12)]
        given = [n for n in dict.fromkeys(made) if n.strip()]
        unit = ("1", "N.m", "rad/s")[k % 3]
        run = Recording(t, {n: Signal(t + j, unit) for j, n in enumerate(given)}, {}, "")
        try:
            draw(run, folder / "names.svg", title=f"{given[0]}\udce9")
            said = (folder / "names.svg").read_text(encoding="utf-8")
            ElementTree.fromstring(said)
            bad += [
                f"names {k}: no {n!r}" for n in given if "--" not in n and f"<!-- {escape(as_text(n))} -->" not in said
            ]
            found = inputs_from(run.save(folder / "names.csv"))
            if list(found) != list(mapped(given, "csv", ("time", "t")).values()):
                bad.append(f"names {k}: {given} are read as {list(found)}")
            if not same(read(run.save(folder / "names.h5")), run):
                bad.append(f"names {k}: {given} are not the same in HDF5")
        except Exception as error:
            bad.append(f"names {k}, {given}: {type(error).__name__}: {error}")
    return rounds.made, bad


def files(count: int, folder: Path) -> Outcome:
    """What is no file, or cannot be one, for every option of every command that takes one: exit code 2 with a message,
    within three minutes, and nothing is left."""
    hostile.build(folder).rename(folder / "unit.fmu")
    grown(folder / "run.h5", True)
    tries = [(words, what) for what, (_, _, *asked) in PLACES.items() for key, ask in zip(KEYS, asked, strict=True)
             for words in (COMMANDS[key] if ask else ())]  # fmt: skip
    tries = [tries[k] for k in np.random.default_rng(37).permutation(len(tries))[:count]]
    bad, before = [], sorted(p.name for p in folder.iterdir())
    rounds = Rounds(len(tries))
    for _, (words, what) in zip(rounds, tries, strict=False):
        name, made, _, _ = PLACES[what]
        given = [word.format(name) for word in words.split()]
        path = folder / next(g for g, word in zip(given, words.split(), strict=True) if "{}" in word)
        if made is not None:
            made(path)
        code, text = _in_child(given, folder, 4000 if what == "no room" else resource.RLIM_INFINITY)
        if made is _folder:
            shutil.rmtree(path, ignore_errors=True)
        elif made is not None:
            path.unlink(missing_ok=True)
        left = sorted(p.name for p in folder.iterdir() if p.name not in before)
        if code != 2 or "Traceback" in text or left:
            bad.append(f"{words.format(name)[:90]}, {what}: {code}, left {left}: {text[-300:]}")
            for p in left:
                shutil.rmtree(folder / p) if (folder / p).is_dir() else (folder / p).unlink()
    return rounds.made, bad


def _in_child(words: list[str], folder: Path, room: int = resource.RLIM_INFINITY) -> tuple[int | None, str]:
    """Exit code of a command, within three minutes, and what it said."""
    with tempfile.TemporaryDirectory() as home:
        said = Path(home) / "said"
        child = multiprocessing.get_context("fork").Process(target=_command, args=(words, folder, said, room))
        child.start()
        child.join(180.0)
        if child.is_alive():
            child.kill()
            child.join()
        return child.exitcode, said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""


LINKS: tuple[Callable[[Path, Path], object], ...] = (
    os.link, os.symlink, lambda source, path: path.symlink_to(os.path.relpath(source, path.parent)),
)  # fmt: skip


def overwriting(count: int, folder: Path) -> Outcome:
    """Outputs that are files which the command reads, also through others and under other names: exit code 2, and all
    files are as they were."""
    tries = [(words, how) for words in READ for how in LINKS]
    tries = [tries[k] for k in np.random.default_rng(43).permutation(len(tries))[:count]]
    bad, rounds = [], Rounds(len(tries))
    for k, (words, how) in zip(rounds, tries, strict=False):
        place = folder / str(k)
        place.mkdir()
        build(place)
        link(place, words, how)
        before = state(place)
        code, text = _in_child(words.split(), place)
        if code != 2 or "Traceback" in text or state(place) != before:
            bad.append(f"{words}: {code} {text[-300:]}")
    return rounds.made, bad


STARTERS = COMMANDS["starters"]
BEGUN = 40.0  # [s] after which all processes of a command have begun


def modules(count: int, folder: Path) -> Outcome:
    """Modules in the current folder, for every command that starts a process: none runs."""
    hostile.build(folder).rename(folder / "unit.fmu")
    grown(folder / "growing.h5", False)
    for name in COMMANDS["modules"]:
        (folder / f"{name}.py").write_text("open(f'{__name__}.ran', 'w').close()\nraise SystemExit(9)\n")
    bad, rounds = [], Rounds(min(count, len(STARTERS)))
    for _, words in zip(rounds, STARTERS, strict=False):
        line = [sys.executable, "-m", "rtcvt", *words.split()]
        process = subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=os.environ | {"PYTHONPATH": os.pathsep}, start_new_session=True)  # fmt: skip
        with suppress(subprocess.TimeoutExpired):
            process.wait(BEGUN)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        ran = list(folder.glob("*.ran"))
        if ran or process.returncode not in (0, -signal.SIGKILL):
            bad.append(f"{words}: {process.returncode}, {[p.stem for p in ran]}")
        for path in ran:
            path.unlink()
    return rounds.made, bad


def starts(count: int, folder: Path) -> Outcome:
    """SIGTERM or SIGHUP at any time of a campaign's start, to it or its group: it ends, no process or temporary file
    is left."""
    rng, bad = np.random.default_rng(47), []
    words = [sys.executable, "-m", "rtcvt", "campaign", "pushbelt_24mm", "-p", "quick", "--workers", "2", "-o", "runs"]
    for k in (rounds := Rounds(count)):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            home = Path(name) / "temporary"
            home.mkdir()
            process = subprocess.Popen(words, cwd=name, env=os.environ | {"TMPDIR": str(home)}, start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
            number = signal.SIGTERM if k % 4 else signal.SIGHUP
            time.sleep(float(rng.uniform(2.0, 12.0)))
            (os.killpg if k % 2 else os.kill)(process.pid, number)
            try:
                _, errors = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                _, errors = process.communicate()
                bad.append(f"start {k} ({number.name}) does not end: {errors[-500:]}")
                continue
            time.sleep(1.0)
            left = sorted(str(p.relative_to(home)) for p in home.rglob("*"))
            alive = subprocess.run(["pgrep", "-s", str(process.pid)], capture_output=True, text=True).stdout.split()
            if left or alive or "Traceback" in errors:
                bad.append(f"start {k} ({number.name}): left {left[:5]}, processes {alive} {errors[-300:]}")
    return rounds.made, bad


def leaks(count: int, folder: Path) -> Outcome:
    """So many instances of a unit in machine code, made, reset and freed one after another, take no more memory than a
    hundredth of them: 1 MB at most."""
    guid = write_sources(load_unit("toroidal_kers").build(), "unit", folder / "sources")
    compile_unit(folder / "sources", folder / "unit.so", "linux64")
    host = Path(__file__).parents[1] / "benchmarks" / "native_driver.c"
    program = [str(folder / "host"), str(folder / "unit.so"), guid, "1000", "1e-3", "0", "0", ""]
    subprocess.run(["cc", "-O2", "-I", str(folder / "sources"), str(host), "-o", program[0], "-ldl", "-lm"], check=True)

    def most(instances: int) -> int:  # [kB]
        process = subprocess.Popen([*program, str(instances)], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return used.ru_maxrss

    few, many = most(max(count // 100, 1)), most(count)
    kept = 8 * 2 * count // 1000  # [kB] that the host takes itself: two times for each instance
    return count, [f"{many - few - kept} kB for {count} instances"] if many - few - kept > 1000 else []


WRITER = script("attacks", "writer")


def disks(count: int, folder: Path) -> Outcome:
    """Disks that are full, over their quota, lost or too small from any byte on: what was written is read."""
    library, rng, bad = faults.build(folder), np.random.default_rng(13), []
    for k in (rounds := Rounds(count)):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            disk = Path(name)
            path = disk / ("run.h5" if k % 2 else "run.mf4")
            number = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)[k % 4]
            words = [sys.executable, "-c", WRITER, str(path)]
            environment = faults.environment(library, disk, int(10 ** rng.uniform(0.0, 7.0)), number)
            done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300)
            try:
                first, _, why = done.stdout.strip().partition(" ")
                written, files = int(first), list(disk.iterdir())
                if why and not why.endswith(os.strerror(number)):
                    bad.append(f"disk {k}: {why}")
                for file in files:
                    found = read(file)
                    rows = [np.random.default_rng(n).random((1000, 4))[:, 3] for n in range(0, len(found.time), 1000)]
                    same = np.array_equal(found.signals["x2"].values, np.concatenate([*rows, []]))
                    if not same or not written <= len(found.time) <= written + 1000:
                        bad.append(f"disk {k}: {len(found.time)} rows of {written}, or other ones")
                if (written > 0) != bool(files) or done.stderr:
                    bad.append(f"disk {k}: {len(files)} files of {written} rows {done.stderr[-200:]}")
            except (ValueError, InputError) as error:
                bad.append(f"disk {k}: {error} {done.returncode} {done.stderr[-200:]}")
    return rounds.made, bad


def command(
    fmu: Path, scenario: Path, path: Path, home: Path, *words: str, **environment: str
) -> subprocess.Popen[str]:
    """``rtcvt run`` with a folder of its own for temporary files, as the leader of its group."""
    environment = os.environ | {"TMPDIR": str(home), "PYTHONFAULTHANDLER": "1"} | environment
    return hostile.command(fmu, scenario, path, *words, env=environment, start_new_session=True)


SIGNALLED = (0.15, 5.0)  # [s] after the start of the command: before, Python has not begun


def signals(count: int, folder: Path) -> Outcome:
    """A signal at any time of the command, to it or its group, while the unit runs, hangs or is overloaded: it ends
    within a second and says so, its recording can be read and is finished, and no temporary file is left."""
    fmu, rng, bad = hostile.build(folder), np.random.default_rng(17), []
    for k in (rounds := Rounds(count)):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place, home = Path(name), Path(name) / "temporary"
            home.mkdir()
            state = ("nothing", "hang", "overload")[k % 3]
            fault = hostile.OVERLOAD * (state == "overload")
            file = hostile.scenario_file(place, state.replace("overload", "nothing"), 30, fault)
            path, figures = place / ("run.h5" if k % 2 else "run.mf4"), place / "run.json"
            process = command(fmu, file, path, home, "--patience", "50 s", "--json", str(figures))
            number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[int(rng.integers(3))]
            time.sleep(float(rng.uniform(*SIGNALLED)))
            (os.killpg if rng.integers(2) else os.kill)(process.pid, number)
            sent = time.monotonic()
            try:
                _, errors = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)
                _, errors = process.communicate(timeout=30)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                bad.append(f"signal {k} ({number.name}, {state}) was lost: {errors[:3000]}")
                continue
            took = time.monotonic() - sent
            wrong = []
            early = process.returncode == -number and "Traceback" not in errors
            if not path.exists() and (early or "import the site module" in errors):
                continue  # Python had not begun
            if process.returncode != (130 if number == signal.SIGINT else 1):
                wrong.append(f"code {process.returncode}")
            if "Traceback" in errors:
                wrong.append(errors[-600:])
            if took > 5.0:  # on a machine that others load, with the interpreter's end
                wrong.append(f"took {took:.1f} s")
            if left := sorted(str(p.relative_to(home)) for p in home.rglob("*")):
                wrong.append(f"temporary files are left: {left}")
            if part_name(path).exists():
                wrong.append("the recording was not finished")
            if path.exists() and not read(path).attributes["message"].startswith(number.name):
                wrong.append("the recording does not say so")
            if wrong:
                bad.append(f"signal {k} ({number.name}, {state}): {'; '.join(wrong)}")
    return rounds.made, bad


def _has_rows(path: Path) -> bool:
    """Whether a recording that grows has begun; the run has not before."""
    with suppress(InputError):
        return path.exists() and len(read(path).time) > 0
    return False


def kills(count: int, folder: Path) -> Outcome:
    """SIGKILL of the rig, or of all its processes, at any time after the first rows: what it wrote is read, without a
    gap."""
    fmu, rng, bad = hostile.build(folder), np.random.default_rng(19), []
    for k in (rounds := Rounds(count)):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place = Path(name)
            path = place / ("run.h5" if k % 2 else "run.mf4")
            process = command(fmu, hostile.scenario_file(place, "nothing", 30), path, place)
            while not _has_rows(part_name(path)) and process.poll() is None:
                time.sleep(0.02)
            time.sleep(float(rng.uniform(0.5, 2.5)))
            (os.killpg if k % 3 == 0 else os.kill)(process.pid, signal.SIGKILL)
            process.communicate()
            time.sleep(0.5)
            try:
                found = read(part_name(path))
                if len(found.time) < 20 or not np.allclose(np.diff(found.time), 5e-3):
                    bad.append(f"kill {k}: {len(found.time)} rows")
            except InputError as error:
                bad.append(f"kill {k}: {error}")
    return rounds.made, bad


def misdeeds(count: int, folder: Path) -> Outcome:
    """Units that crash, exit, hang or give nonsense: the rig says why, with figures and a finished recording."""
    fmu, bad = hostile.build(folder), []
    names = [*hostile.DEADLY, "hang", "sleep", "stopped", "not_a_number", "infinite", "status_7", "at_start", "at_end",
             "hang_at_end", "ones", "zeros", "threes", "random", "leaves"]  # fmt: skip
    names.remove("memory")  # takes all that a process may have
    for k in (rounds := Rounds(count)):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place, misdeed = Path(name), names[k % len(names)]
            path, figures = place / "run.h5", place / "run.json"
            file = hostile.scenario_file(place, misdeed, 0.6)
            process = command(fmu, file, path, place, "--patience", "0.5 s", "--json", str(figures))
            _, errors = process.communicate(timeout=120)
            refused = misdeed == "at_start"
            if process.returncode != (2 if refused else 1) or "Traceback" in errors:
                bad.append(f"{misdeed}: code {process.returncode} {errors[-300:]}")
            elif not refused and json.loads(figures.read_text())["message"] != read(path).attributes["message"]:
                bad.append(f"{misdeed}: figures and recording differ")
    return rounds.made, bad


def clocks(count: int, folder: Path) -> Outcome:
    """The wall clock is put on or back, by up to thirty years, at any time of a run with a bus on which nobody else is:
    it takes its time, and its recording has all steps."""
    fmu, library, rng, bad = hostile.build(folder), faults.build(folder, "jumping"), np.random.default_rng(31), []
    for k in (rounds := Rounds(count)):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            place, jump = Path(name), int(10 ** rng.uniform(2.0, 9.0)) * (-1 if k % 3 else 1)
            path, figures = place / ("run.h5" if k % 2 else "run.mf4"), place / "run.json"
            words = ["--can", "virtual:alone", "--json", str(figures)]
            now = place / "now"
            jumping = faults.jumping(library, now, jump)
            process = command(fmu, hostile.scenario_file(place, "nothing", 3), path, place, *words, **jumping)
            while not part_name(path).exists() and process.poll() is None:
                time.sleep(0.02)
            time.sleep(rng.uniform(0.0, 3.0))
            now.touch()
            try:
                _, errors = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                bad.append(f"clock {k}, {jump} s: the run does not end")
                continue
            if process.returncode or "Traceback" in errors:
                bad.append(f"clock {k}, {jump} s: code {process.returncode} {errors[-500:]}")
            elif not 2.99 < (wall := json.loads(figures.read_text())["wall_s"]) < 10.0 or len(read(path).time) != 601:
                bad.append(f"clock {k}, {jump} s: it took {wall:g} s, with {len(read(path).time)} rows")
    return rounds.made, bad


CAMPAIGN = script("attacks", "campaign")


def workers(count: int, folder: Path) -> Outcome:
    """SIGKILL of a worker of a campaign's local cluster, at any time: all runs end and none is lost, or none begins; no
    process is left."""
    rng, bad = np.random.default_rng(41), []
    for k in (rounds := Rounds(count)):
        words = [sys.executable, "-c", CAMPAIGN, str(rng.uniform(2.0, 8.0))]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=folder)
        if done.stdout not in ("8\n1\n", "not begun\n1\n") or done.returncode:  # multiprocessing keeps one
            bad.append(f"worker {k}: {done.stdout} {done.returncode} {done.stderr[-500:]}")
    return rounds.made, bad


HOSTILE_STEPS, ROWS = 100_000, 10_000  # steps of a run, and of those that are made at once
SLOW = {("accessory_5pk", "hybrid"), ("accessory_6pk", "hybrid")}  # a fifth of the steps: they take up to 2 ms each
REAL_TIME = [name for kind in kinds() if kind.build is not None for name in shipped_units(*kind.names)]
RUNS = 658  # of all shipped units; more of them are told


def hostile_run(native: NativeUnit, kind: str, step: float, count: int) -> str:
    """What is wrong with a run of a unit with hostile inputs: a step refused, an output not finite."""
    model, rng = native.model, np.random.default_rng(3)
    outputs = [v.name for v in model.select("output") if not (v.boolean or v.choices)]
    native.start(np.array([v.start for v in model.select("input")], dtype=float))
    for first in range(0, count, ROWS):
        y = native.run(hostile_inputs(model, kind, first, min(ROWS, count - first), rng), step, outputs)
        if native.refused or not np.isfinite(y).all():
            wrong = sorted({outputs[j] for j in np.flatnonzero(~np.isfinite(y).all(axis=0))})
            return f"from step {first}: {native.refused} refused, not finite: {wrong}"
    return ""


def hostile_runs(count: int, folder: Path) -> Outcome:
    """Runs of shipped units in machine code with hostile inputs: no step is refused, and all outputs are finite.

    Flags of the processor are printed; they are allowed here.
    """
    bad, flags, built, native = [], {}, None, None
    pairs = ((name, fidelity) for name in REAL_TIME for fidelity in load_unit(name).models)
    runs = ((pair, kind, step) for pair in pairs for kind in KINDS for step in (1e-3, 20e-3))
    chosen = list(islice(runs, count))
    rounds = Rounds(len(chosen))
    for _, (pair, kind, step) in zip(rounds, chosen, strict=False):
        if pair != built:
            place = folder / "_".join(pair)
            place.mkdir()
            built, native = pair, NativeUnit(load_unit(pair[0]).build(pair[1]), place)
        assert native is not None
        wrong = hostile_run(native, kind, step, HOSTILE_STEPS // 5 if pair in SLOW else HOSTILE_STEPS)
        if wrong:
            bad.append(f"{pair} {kind} {step} s, {wrong}")
        if native.raised:
            flags.setdefault(pair, {})[native.raised.split(" first")[0]] = None
    if native is not None:
        native.close()
    if count >= RUNS and next(runs, None):
        bad.append(f"more than {RUNS} runs: RUNS is too small")
    for (name, fidelity), raised in flags.items():
        print(f"    {name}, {fidelity}: {'; '.join(raised)}", flush=True)
    return rounds.made, bad


HARSH = 2000  # steps of a harsh run
APART, BELTS = 0.02, 0.05  # difference that a run may have without a word; of belt drives, which stick as they reverse
HARSH_RUNS = {("pushbelt_cvt", "hybrid"): 300}  # others: 20
SLIDING = (("pushbelt_cvt", "hybrid"), 67)  # in macro-slip at 2100 rad/s; 4.6 % off in steps below the bound


def harsh_run(model: Model, fine: Model, seed: int) -> tuple[float, str, bool]:
    """Difference of a run with harsh inputs to one with ten internal steps for one, in what, and if a step is told.

    It is the largest one of a speed, angle or energy at the end and in the mean, as a share of the largest value that
    the outputs of this unit of measure have.
    """
    u, found, told = harsh_inputs(model, HARSH, np.random.default_rng(seed)), [], False
    for each in (model, fine):
        instance = each.instantiate()
        instance.u[:] = u[0]
        instance.initialise()
        y, status = np.empty((HARSH, len(instance.y))), np.empty(HARSH, dtype=np.int8)
        march(instance, 0, model.step_size, u, y, status)
        assert FAILED not in status
        told = told or any(y[:, v.index].any() for v in model.select("output") if v.name == TOO_COARSE.name)
        found.append(y)
    off = np.maximum(abs(found[0][-1] - found[1][-1]), abs((found[0] - found[1]).mean(axis=0)))
    worst, which = 0.0, ""
    for unit in ("rad/s", "m/s", "rad", "J"):
        outputs = [v for v in model.select("output") if v.unit == unit]
        size = max((abs(found[1][:, v.index]).max() for v in outputs), default=0.0) + 1e-9
        for v in outputs:
            if off[v.index] > worst * size:
                worst, which = float(off[v.index] / size), v.name
    return worst, which, told


def coarse_steps(count: int, folder: Path) -> Outcome:
    """Runs at the unit's own step and at a tenth of it: they agree, or the outputs say that a step is too coarse."""
    bad, built = [], {}
    pairs = [(name, m) for name in REAL_TIME if load_unit(name).kind != "system" for m in load_unit(name).models]
    pairs.append(("car_cvt", "system"))
    runs = [(pair, seed) for seed in range(300) for pair in pairs if seed < HARSH_RUNS.get(pair, 20)]
    rounds = Rounds(min(count, len(runs)))
    for _, (pair, seed) in zip(rounds, runs, strict=False):
        unit = load_unit(pair[0])
        if pair not in built:
            built[pair] = unit.build(pair[1]), unit.build(pair[1], 10)
        off, which, told = harsh_run(*built[pair], seed)
        if off > (BELTS if unit.kind == "belt" or (pair, seed) == SLIDING else APART) and not told:
            bad.append(f"{pair}, {seed}: {which} differs by {off:.1%}")
    return rounds.made, bad


ATTACKS: dict[str, tuple[int, Callable[[int, Path], Outcome]]] = {  # by what is said of it: how often, and which
    "damaged HDF5 recordings": (200, recordings),
    "damaged HDF5 recordings that grow": (200, lambda n, f: recordings(n, f, "h5", False)),
    "damaged MDF recordings": (200, lambda n, f: recordings(n, f, "mf4")),
    "damaged MDF recordings that grow": (200, lambda n, f: recordings(n, f, "mf4", False)),
    "damaged reduced models": (200, reduced_models),
    "mutated reduced models": (545, mutations),
    "disks that fail": (200, disks),
    "signals": (200, signals),
    "SIGKILL": (50, kills),
    "misdeeds of units": (64, misdeeds),
    "jumps of the clock": (60, clocks),
    "deaths of workers": (40, workers),
    "signals at a campaign's start": (20, starts),
    "modules of the current folder": (len(STARTERS), modules),
    "outputs that are inputs": (len(READ) * len(LINKS), overwriting),
    "leaks of instances": (100_000, leaks),
    "what is no file": (445, files),
    "mutated texts": (2000, texts),
    "names as markup": (100, names),
    "hostile inputs": (RUNS, hostile_runs),
    "coarse steps": (1200, coarse_steps),
    "mutated machines": (3200, machines),  # the last one, since one of them may take minutes
}


HOUR = 3600.0  # [s] for all of them


def main() -> None:
    """Make all attacks within an hour, but for the last round of each; exit code 1 if anything was lost."""
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, by this process and those that it makes,
    signal.signal(signal.SIGINT, signal.default_int_handler)  # and a shell's & this one
    share, beginnings = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, tuple(sys.argv[2:]) or ("",)
    chosen = {name: attack for name, attack in ATTACKS.items() if name.startswith(beginnings)}
    if not chosen:
        sys.exit(f"no attack is called so: {', '.join(ATTACKS)}")
    end, rows = time.monotonic() + share * HOUR, []
    for k, (name, (count, attack)) in enumerate(chosen.items()):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            until[0] = began + (end - began) / (len(chosen) - k)  # what one leaves, the next ones have
            try:
                made, bad = attack(max(1, round(share * count)), Path(folder))
            except Exception as error:
                made, bad = 0, [f"the attack itself failed: {error!r}"]
            rows.append((name, made, len(bad), f"{time.monotonic() - began:.0f} s"))
            print(*rows[-1], *bad, sep="\n    ", flush=True)
    lost = sum(row[2] for row in rows)
    for row in (("attacks", "made", "lost", "took"), *rows, ("all", sum(row[1] for row in rows), lost, "")):
        print("{:36}{:>9}{:>6}{:>8}".format(*row))
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
