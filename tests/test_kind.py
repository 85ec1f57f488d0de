"""A kind declares itself: a train of masses and springs, all of it in this file, goes through every command.

With masses m_i on a line, springs k and dampers d between neighbours and a force F on the first::

    x_i' = v_i,    m_i v_i' = T_i-1 - T_i + F [i = 1],    T_i = k (x_i - x_i+1) + d (v_i - v_i+1)

Its check holds the real-time model against the exact solution from rest, without damping and under a constant force: in
the modes of M^-1/2 K M^-1/2 with frequencies w, q(t) = f (1 - cos(w t))/w^2, and f t^2/2 for the rigid motion.
"""

import json
import zipfile
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Literal
from xml.etree import ElementTree

import flywheel
import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from instances import started
from pydantic import Field
from rows import mistakes, text_of

from rtcvt import kind as registry
from rtcvt.html import ErrorRow, error_table, page, variable_tables
from rtcvt.kernel import FAILED, OK, kernel
from rtcvt.kind import Checked, Kind, Task, Unit, kind_named, kinds, load_unit, register
from rtcvt.model import Model
from rtcvt.model.frame import framed
from rtcvt.model.stepping import enter, leave, start_status
from rtcvt.numerics.integrators import STAGES, rk4_new, rk4_stage
from rtcvt.recording import read_recording, write_recording
from rtcvt.scenario import Scenario
from rtcvt.simulate import simulate
from rtcvt.table import Constants, Places, Row, Rows, Table
from rtcvt.unitfile import quantity_in

# --- schema


class Train(Unit):
    """A unit file of this kind."""

    kind: Literal["spring_mass"]
    masses: tuple[Annotated[float, quantity_in("kg", above=0.0)], ...] = Field(min_length=2)
    stiffness: Annotated[float, quantity_in("N/m", above=0.0)]
    damping: Annotated[float, quantity_in("N.s/m", at_least=0.0)] = 0.0
    step: Annotated[float, quantity_in("s", above=0.0)] = 1e-3
    scenario: tuple[Scenario, ...] = ()


# --- tables


class P(Rows):
    """Parameters; the masses follow."""

    K = Row("train.k", "N/m", "stiffness of a spring", 0.0)
    D = Row("train.d", "N.s/m", "damping", 0.0)


class D(Places):
    """Constants."""

    N = "masses"
    STEP = "largest internal step [s]"


M = len(P)
MASS = Row("mass_{i}.m", "kg", "mass {i}", 0.0)
FORCE = Row("mass_1.F", "N", "force on the first mass")
POSITION = Row("mass_{i}.x", "m", "position of mass {i}", nominal=0.1)
SPEED = Row("mass_{i}.v", "m/s", "speed of mass {i}", nominal=1.0)
SPRING = Row("spring_{i}.T", "N", "force in spring {i}")


# --- kernels


@kernel
def train_derivative(t, x, u, p, data, dx, work):
    n = int(data[D.N])
    for i in range(n):
        dx[i] = x[n + i]
        force = u[0] if i == 0 else 0.0
        if i > 0:
            force += p[P.K] * (x[i - 1] - x[i]) + p[P.D] * (x[n + i - 1] - x[n + i])
        if i < n - 1:
            force -= p[P.K] * (x[i] - x[i + 1]) + p[P.D] * (x[n + i] - x[n + i + 1])
        dx[n + i] = force / p[M + i]


@kernel
def train_initialise(p, data, u, x, work):
    n = 2 * int(data[D.N])
    for i in range(n):
        x[i] = 0.0
    dx = work[0:n]
    train_derivative(0.0, x, u, p, data, dx, work)
    return start_status(n, x, dx)


@kernel
def train_output(t, x, u, p, data, y, work):
    n = int(data[D.N])
    for i in range(n):
        y[i] = x[i]
    for i in range(n - 1):
        y[n + i] = p[P.K] * (x[i] - x[i + 1]) + p[P.D] * (x[n + i] - x[n + i + 1])


@kernel
def train_step(t, h, x, u, p, data, y, work):
    n = 2 * int(data[D.N])
    saved = work[0:n]
    steps = enter(t, h, data[D.STEP], 1, u, n, x, saved)
    if steps == 0:
        return FAILED
    stage = work[n : 2 * n]
    k = work[2 * n : 6 * n]
    for _ in range(steps):
        for s in range(STAGES):
            rk4_stage(s, n, h / steps, x, k, stage)
            train_derivative(t, stage, u, p, data, k[s * n : s * n + n], work)
        rk4_new(n, h / steps, x, k)
    y_new = work[6 * n : 7 * n]
    train_output(t + h, x, u, p, data, y_new, work)
    return leave(True, n, x, saved, n - 1, y_new, y)


# --- model, page, check


def build_train(unit, fidelity, substeps=None):
    n = len(unit.masses)
    table, data, masses = Table(), Constants(D), [{"i": i + 1} for i in range(n)]
    table.add("parameter", P.K, unit.stiffness)
    table.add("parameter", P.D, unit.damping)
    table.parameters(MASS, unit.masses, masses)
    table.add("input", FORCE, 0.0)
    table.each("output", [POSITION], masses)
    table.each("output", [SPRING], masses[:-1])
    table.each("state", [POSITION], masses)
    table.each("state", [SPEED], masses)
    data[D.N], data[D.STEP] = n, unit.step / (substeps or 1)
    return Model(name=unit.name, description=unit.description, fidelity=fidelity, variables=table.variables,
        states=table.states, p=table.p, data=data.array(), n_work=14 * n, step_size=unit.step,
        initialise=train_initialise, derivative=train_derivative, output=train_output, step=train_step,
        source=unit.text)  # fmt: skip


def train_page(model, unit, errors=None):
    table = "" if errors is None else error_table(errors)
    return page(unit.name, f"<h1>{unit.name}</h1>\n{variable_tables(model)}<h2>Accuracy</h2>\n{table}")


def exact(masses, k, force, time):
    """Positions [m] under a constant force, shape (n, len(time))."""
    n = len(masses)
    stiffness = k * (2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    stiffness[0, 0] = stiffness[-1, -1] = k
    scale = np.diag(1.0 / np.sqrt(masses))
    squares, modes = np.linalg.eigh(scale @ stiffness @ scale)
    f = modes.T @ scale[:, 0] * force
    q = [f[0] * time**2 / 2.0]
    q += [f[j] * (1.0 - np.cos(np.sqrt(squares[j]) * time)) / squares[j] for j in range(1, n)]
    return scale @ modes @ np.array(q)


def train_figures(unit, settings, progress):
    scenario = unit.scenario[0]
    result = simulate(unit.build(), scenario, parameters=settings)
    names = [f"mass_{i}" for i in range(1, len(unit.masses) + 1)]
    masses, k = [result.parameter(f"{name}.m") for name in names], result.parameter("train.k")
    errors = {}
    for name, x in zip(names, exact(masses, k, scenario.inputs["mass_1.F"], result.time), strict=True):
        difference = result[f"{name}.x"] - x
        errors[f"{name}.x"] = float(np.sqrt(np.mean(difference**2)) / np.abs(x).max())
    return {"unit": unit.name, "limit": 1e-8, "errors": errors}


def train_check(unit, given, progress):
    found = train_figures(unit, given["settings"], progress)
    failures = [f"{name} is off by {e:.1e}" for name, e in found["errors"].items() if e > found["limit"]]
    return Checked(page(unit.name, error_table(train_errors(unit, "rigid", {}, found))), found, ["exact"], failures)


def train_errors(unit, fidelity, settings, found):
    return [ErrorRow("", name, "m", e, found["limit"], e) for name, e in found["errors"].items()]


TRAIN = Kind(
    names=("spring_mass",), title="trains of masses and springs", read=lambda file: file.parse(Train),
    fidelities={"rigid": ""}, build=build_train, page=train_page, check=Task(train_check, takes=("settings",)),
    figures=train_figures, errors=train_errors,
)  # fmt: skip

TEXT = text_of("units/train.toml")


@pytest.fixture
def train(tmp_path, monkeypatch):
    """The kind is known, and its unit file is in the working folder."""
    known = dict(registry._registry())
    register(TRAIN)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.toml").write_text(TEXT, encoding="utf-8")
    yield load_unit("train.toml")
    registry._registry().clear()
    registry._registry().update(known)


def test_records_are_complete():
    """What a record names is there: each of its functions can be imported."""
    for kind in kinds():
        assert kind.names
        assert (kind.build is None) == (not kind.fidelities)
        assert kind.errors is not None or kind.figures is None
        whole = (kind.show, kind.full, kind.check, kind.campaign, kind.reduce, kind.calibrate)
        tasks = [task for task in whole if task is not None]
        for part in [*vars(kind).values(), *(task.run for task in tasks)]:
            function = part.args[0] if isinstance(part, partial) else part
            if callable(function) and function.__qualname__.startswith("lazily"):
                module, name = (cell.cell_contents for cell in function.__closure__)
                assert callable(getattr(__import__(module, fromlist=[name]), name))


def test_two_kinds_of_one_name_are_refused(train):
    with pytest.raises(ValueError, match="two kinds are called 'belt'"):
        register(Kind(("belt",), "belts", read=lambda file: file))
    assert kind_named("belt") is not TRAIN


def test_kinds_of_other_distributions_are_found(monkeypatch):
    entry = SimpleNamespace(load=lambda: TRAIN)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry] if group == "rtcvt.kinds" else [])
    assert registry._registry.__wrapped__()["spring_mass"] is TRAIN


def test_a_kind_without_a_page_of_its_own(train):
    model = build_train(train, "rigid")
    html = Kind(("bare",), "bare ones", read=lambda file: file).page(
        model, train, train_errors(train, "rigid", {}, train_figures(train, {}, None))
    )
    ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    for word in ("spring_2.T", "three masses in a row", "share of the allowed error", "How to use it"):
        assert word in html


def test_show(train, command):
    code, text, _ = command("show", "train.toml")
    assert code == 0
    assert "train, a spring_mass: three masses in a row" in text
    variables = json.loads(command("show", "train.toml", "--json")[1])["variables"]
    assert variables["mass_3.m"] == {"causality": "parameter", "unit": "kg", "start": 0.5, "description": "mass 3"}


def test_simulate(train, command, tmp_path):
    code, text, _ = command("simulate", "train.toml", "-o", "run.h5", "--set", "train.d=0.1")
    assert code == 0
    assert "times real time" in text
    signals = read_recording(tmp_path / "run.h5").signals
    result = simulate(build_train(train, "rigid"), train.scenario[0], parameters={"train.d": 0.1})
    assert np.array_equal(signals["mass_3.x"].values, result["mass_3.x"])


def test_check(train, command, tmp_path):
    code, text, _ = command("check", "train.toml", "-o", "r.html", "--json", "c.json")
    assert code == 0
    assert "exact" in text
    figures = json.loads((tmp_path / "c.json").read_text())
    assert set(figures["errors"]) == {"mass_1.x", "mass_2.x", "mass_3.x"}
    assert "mass_2.x" in (tmp_path / "r.html").read_text(encoding="utf-8")
    code, _, err = command("check", "train.toml", "--set", "train.d=0.1")
    assert code == 1
    assert "failed: mass_1.x is off by" in err
    assert command("check", "train.toml", "--scenario", "pull")[0] == 2


def test_export_native(train, command, tmp_path):
    """The FMU gives the kernel's bits, and its page is the kind's own with the errors of its own check."""
    code, text, _ = command("export", "train.toml", "--set", "mass_1.m=3")
    assert code == 0
    assert "model exchange" in text
    with zipfile.ZipFile(tmp_path / "train.fmu") as archive:
        html = archive.read("documentation/index.html").decode("utf-8")
        assert "documentation/diagram.svg" in archive.namelist()
    ElementTree.fromstring(html.removeprefix("<!DOCTYPE html>\n"))
    for word in ("mass_1.F", "spring_2.T", "Accuracy", "share of the allowed error"):
        assert word in html
    model = build_train(train, "rigid")
    expected = simulate(model, train.scenario[0], parameters={"mass_1.m": 3.0})
    description = fmpy.read_model_description("train.fmu")
    reference = {v.name: v.valueReference for v in description.modelVariables}
    fmu = FMU2Slave(guid=description.guid, modelIdentifier=description.coSimulation.modelIdentifier,
        unzipDirectory=fmpy.extract("train.fmu", str(tmp_path / "train")), instanceName="train")  # fmt: skip
    fmu.instantiate()
    fmu.setupExperiment()
    fmu.setReal([reference["mass_1.F"]], [10.0])
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    outputs = [reference[v.name] for v in model.select("output")]
    found = [fmu.getReal(outputs)]
    for k in range(1000):
        fmu.doStep(1e-3 * k, 1e-3)
        found.append(fmu.getReal(outputs))
    fmu.freeInstance()
    assert np.array_equal(found, expected.y)


@mistakes
def test_mistakes(train, command, tmp_path, words, message):
    (tmp_path / "other.toml").write_text('kind = "ship"', encoding="utf-8")
    (tmp_path / "bad.toml").write_text(TEXT.replace("2 kg", "1 m"), encoding="utf-8")
    (tmp_path / "folder").mkdir()
    recording = simulate(build_train(train, "rigid"), train.scenario[0]).recording()
    write_recording(tmp_path / "folder" / "run.h5", recording, "simulation")
    code, _, err = command(*words)
    assert code == 2
    assert message in err


FLYWHEEL = text_of("units/flywheel.toml")


@pytest.mark.interpreted
def test_a_part_is_its_equations(train, command, tmp_path):
    """One module of equations makes a kind with a check, an exact Jacobian and a flange that balances power."""
    register(flywheel.KIND)
    (tmp_path / "wheel.toml").write_text(FLYWHEEL, encoding="utf-8")
    code, text, _ = command("check", "wheel.toml", "-o", "r.html")
    assert code == 0
    assert "exact" in text
    one = started(load_unit("wheel.toml").build())
    one.set("shaft.tau", 3.0)
    work, lost, before, speeds = 0.0, 0.0, one.get("storage.E"), []
    for _ in range(200):
        start = one.get("shaft.w"), one.get("loss.bearing")
        assert one.step(1e-2) == OK
        speeds.append(one.get("shaft.w"))
        work += 3.0 * 0.5e-2 * (start[0] + speeds[-1])
        lost += 0.5e-2 * (start[1] + one.get("loss.bearing"))
    assert work == pytest.approx(one.get("storage.E") - before + lost, rel=1e-5)
    assert one.jacobian() == pytest.approx(one._differences(), rel=1e-6)
    coupling, row, column = one.model.coupling, np.ones(1), np.ones(1)
    arguments = one.x, one.u, one.p, one.model.data
    assert coupling.flange(0, *arguments, one.work) == speeds[-1]
    assert coupling.port(0, *arguments, row, column, one.work) == 0.0
    assert (row[0], column[0]) == (1.0, 0.5)


@pytest.mark.parametrize("lacking", ["X", "start", "df_dx"])
def test_a_part_that_lacks_something_is_refused(lacking):
    own = {"__name__", "X", "Y", "start", "rates", "df_dx", "output"} - {lacking}
    with pytest.raises(TypeError, match=f"flywheel: a part needs {lacking}, see"):
        framed({name: vars(flywheel)[name] for name in own})
