"""Laws of one's own: the list of operations against Python, blocks against their formulas, samples, bits, systems."""

import math
import re
from functools import partial
from pathlib import Path
from textwrap import dedent

import fmpy
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from instances import started as initialised
from native_host import H, Hosted, inputs, reference, run
from refusals import refused
from rows import DATA, mistakes, text_of

from rtcvt.engine.grid import lookup
from rtcvt.environment import ALLOW
from rtcvt.errors import InputError
from rtcvt.fmu.export import export_python
from rtcvt.fmu.gradient import sensitivities
from rtcvt.fmu.native.export import export_native
from rtcvt.kernel import FAILED, OK, SATURATED
from rtcvt.kind import load_unit
from rtcvt.law import code as page
from rtcvt.law.file import _Writer
from rtcvt.law.kernels import D
from rtcvt.numerics.linearisation import linearise
from rtcvt.simulate import simulate
from rtcvt.unitfile import parse_unit_file

LAW = DATA / "units" / "law.toml"
NAMES = {"x": 0.7, "y": -1.3, "z": 0.0}
PYTHON = {"min": min, "max": max, "abs": abs, "sin": math.sin, "exp": math.exp, "log": math.log,
          "clip": lambda v, a, b: min(max(v, a), b),
          "lookup": lambda m, v: float(np.interp(v, [-1.0, 0.5, 2.0], [3.0, -1.0, 4.0])), "m": None}  # fmt: skip

FUNCTIONS = ["abs({})", "-({})", "sin({})", "exp(-abs({}))", "log(1 + abs({}))", "lookup(m, {})"]
leaf = st.one_of(
    st.sampled_from(sorted(NAMES)), st.integers(-3, 3).map(str), st.floats(-2, 2).map(lambda v: f"({v!r})")
)
tree = st.recursive(
    leaf,
    lambda e: st.one_of(
        st.tuples(e, st.sampled_from("+-*"), e).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), e, e).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(st.sampled_from(FUNCTIONS), e).map(lambda t: t[0].format(t[1])),
        st.tuples(e, e, e).map(lambda t: f"clip({t[0]}, {t[1]}, {t[2]})"),
        st.tuples(e, st.sampled_from(["<", "<=", ">", ">="]), e, st.sampled_from(["and", "or"]), e, e, e).map(
            lambda t: f"({t[5]} if {t[0]} {t[1]} {t[2]} {t[3]} not {t[4]} < {t[0]} else {t[6]})"
        ),
    ),
    max_leaves=14,
)


def law(text):
    """The model of a law from its text."""
    return load_unit(parse_unit_file(f'kind = "law"\nname = "mine"\n{text}', "mine.toml")).build()


def started(text, **inputs):
    """An instance of a law with these inputs."""
    return initialised(law(text), inputs)


@settings(max_examples=150)
@given(tree)
def test_operations_are_those_of_python(text):
    assume(len(text) <= 500)
    table = '[tables.m]\naxes = [[-1, 0.5, 2]]\nvalues = [3, -1, 4]\nunits = ["1", "1"]\n'
    one = started(f'inputs = {{ x = "1", y = "1", z = "1" }}\noutputs.v = {{ value = "{text}" }}\n{table}', **NAMES)
    assert one.get("v") == pytest.approx(eval(text, {"__builtins__": {}}, NAMES | PYTHON), rel=1e-12, abs=1e-12)


def stepped(block, inputs, h=1e-3, more=""):
    """Values of a block at samples with these inputs."""
    one = started(f'inputs = {{ e = "1" }}\nblocks.b = {block}\noutputs.v = {{ value = "b" }}\n{more}')
    found = []
    for e in inputs:
        one.set("e", e)
        found.append(float(one.outputs()[0]))
        assert one.step(h) == OK
    return np.array(found)


def test_blocks_by_their_formulas():
    h, T = 1e-3, 0.02
    one = np.ones(60)
    second = '[parameters]\nT = { value = 0.02, unit = "s" }\ns = { value = 1, unit = "s" }\n'
    lag = stepped('{ block = "lag", input = "e", T = "T" }', one, more=second)
    np.testing.assert_allclose(lag, 1.0 - (T / (T + h)) ** np.arange(60), rtol=1e-12)
    integral = stepped('{ block = "integral", input = "e/s", high = 0.02 }', one, more=second)
    np.testing.assert_allclose(integral, np.minimum(h * np.arange(60), 0.02), rtol=1e-12, atol=1e-15)
    ramp = stepped('{ block = "rate_limit", input = "e", rise = "1/T", fall = "2/T" }', np.repeat([1.0, 0.0], 30),
                   more=second)  # fmt: skip
    up = np.minimum(np.arange(31) * h / T, 1.0)
    np.testing.assert_allclose(ramp, np.r_[up[:30], np.maximum(up[30] - np.arange(30) * 2 * h / T, 0.0)], atol=1e-12)
    delayed = stepped('{ block = "delay", input = "e", start = 7 }', np.arange(5.0))
    np.testing.assert_array_equal(delayed, [7, 0, 1, 2, 3])
    switch = stepped('{ block = "hysteresis", input = "e", low = 1, high = 2 }', [0, 1.5, 2.5, 1.5, 2, 0.5, 1.5])
    np.testing.assert_array_equal(switch, [0, 0, 1, 1, 1, 0, 0])


def test_control_at_a_limit_does_not_wind_up():
    """Behind two seconds at the upper limit the value leaves it at once when the error changes its sign."""
    more = '[parameters]\nK = { value = 4, unit = "1/s" }\n'
    error = np.r_[np.ones(2000), -0.1 * np.ones(500)]
    v = stepped('{ block = "pi", input = "e", K_p = 0.5, K_i = "K", low = 0, high = 1 }', error, more=more)
    reached = round(0.5 / 4 / 1e-3)
    np.testing.assert_allclose(v[:reached], 0.5 + 4e-3 * np.arange(reached), rtol=1e-9)
    assert v[1999] == 1.0
    np.testing.assert_allclose(v[2000:2100], 0.5 - 0.05 - 4e-4 * np.arange(100), atol=5e-3)


def test_a_law_beside_its_expressions():
    """All of the law of the tests, sampled: expressions evaluated as trees, states by hand."""
    unit = load_unit(LAW)
    writer, one = _Writer(unit), unit.build().instantiate()
    tables = {name: partial(lookup, np.array(table), 0) for name, (table, _) in writer.tables.items()}
    p = {name: one.get(name) for name in writer.parameters}
    x = {name: float(e.evaluate(p, np)) for name, e in writer.start.items()}
    one.initialise()

    def value(name):
        if name not in known:
            known[name] = float(of(writer.definitions[name]))
        return known[name]

    def of(e):
        for name in e.names:
            value(name)
        return e.evaluate(known, np)

    random = np.random.default_rng(1)
    for k in range(600):
        u = {"slip": random.uniform(-0.05, 0.1), "tau": random.uniform(-200.0, 350.0), "n": random.uniform(0, 700)}
        for name in u:
            one.set(name, u[name])
        if k % 10 == 0:
            known = {**p, **u, **x, **tables, "t": k * 1e-3, "h": 0.01}
            held = [value(name) for name in unit.outputs]
            assert one.outputs().tolist() == held
            x = {name: float(of(e)) for name, e in writer.next.items()}
        assert one.step(1e-3) == OK
        if (k + 1) % 10:
            assert one.y.tolist() == held
    assert one.x[: len(x)].tolist() == list(x.values())


def test_samples_do_not_depend_on_the_step():
    model = load_unit(LAW).build()
    assert model.internal_step == 1e-3
    runs = []
    for h in (1e-3, 2e-3, 1e-2):
        one = initialised(model, slip=0.05, tau=100.0)
        found = []
        for k in range(round(0.2 / h)):
            if k % round(1e-2 / h) == 0:
                found.append(one.outputs().copy())
            assert one.step(h) == OK
        runs.append(found)
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_a_step_is_total():
    one = started('inputs = { a = "1" }\nstates.s = { next = "1/a" }\noutputs.v = { value = "s/a" }', a=1.0)
    for bad in (math.nan, math.inf, 0.0):
        before = one.x.copy()
        one.set("a", bad)
        assert one.step(1e-3) == FAILED
        np.testing.assert_array_equal(one.x, before)
    one.set("a", 2.0)
    assert one.step(1e-3) == OK


def test_what_follows_from_parameters_is_computed_once():
    model = law('parameters = { a = 2 }\ninputs = { u = "1" }\noutputs.v = { value = "u*sqrt(a)*(3 + a) + (3 + a)" }')
    counts = [int(model.data[d]) for d in (D.N_START, D.N_VALUES, D.N_CODE)]
    assert counts == [2, 5, 5]
    one = initialised(model, u=2.0)
    one.tune("a", 9.0)
    assert one.outputs()[0] == 2.0 * 3.0 * 12.0 + 12.0


@pytest.mark.needs("cc")
def test_a_unit_has_the_same_bits(tmp_path):
    unit = load_unit(LAW)
    path = export_native(unit, "rigid", tmp_path / "law.fmu")
    one = Hosted(Path(fmpy.extract(str(path), str(tmp_path / "unit"))))
    assert one.description.modelExchange is None  # no other integrator can advance it
    model = unit.build()
    assert run(one.start(), model, 0, 100) == reference(model, 100, len(one.values() + one.values("local")))


# --- a law in Python --------------------------------------------------------------------------------------------------

EQUATIONS = text_of("units/foreign_law.toml")
CODE, C_CODE = text_of("units/my_law.py"), text_of("units/my_law.c")
HEAD = EQUATIONS[: EQUATIONS.index("blocks.")]
IN_FILE = f'{HEAD}python = "my_law.py"\nstates.slow_ = {{ unit = "m/s" }}\noutputs.slow = {{ unit = "m/s" }}\n'
IN_C = IN_FILE.replace('python = "my_law.py"', 'c = "my_law.c"')


def in_python(folder, code=CODE, text=IN_FILE, name="my_law.py"):
    (folder / name).write_text(code)
    return load_unit(parse_unit_file(text, "mine.toml", folder))


@pytest.mark.needs("cc")
@pytest.mark.parametrize(("name", "code", "in_file"), [("my_law.py", CODE, IN_FILE), ("my_law.c", C_CODE, IN_C)])
def test_a_law_in_a_file_has_the_bits_of_equations_and_of_its_unit(name, code, in_file, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    unit = in_python(tmp_path, code, in_file.replace(", boolean = true", ""), name)
    models = unit.build(), load_unit(parse_unit_file(EQUATIONS, "mine.toml")).build()
    random, ones = np.random.default_rng(1), [m.instantiate() for m in models]
    for one in ones:
        one.initialise()
    for k in range(300):
        u = random.uniform(-5.0, 30.0), float(k % 70 > 20)
        for one in ones:
            one.u[:] = u
            assert one.step(1e-3) == OK
        assert ones[0].y.tolist() == ones[1].y.tolist()
        assert ones[0].x.tolist() == ones[1].x.tolist()
    path = export_native(unit, "rigid", tmp_path / "law.fmu")
    hosted = Hosted(Path(fmpy.extract(str(path), str(tmp_path / "unit"))))
    found = run(hosted.start(), models[0], 0, 100)
    assert found == reference(models[0], 100, len(found[0]))
    refused("no code of yours in a Python unit", export_python, unit, "rigid", tmp_path / "python.fmu")
    assert hosted.description.coSimulation.providesDirectionalDerivative == (name == "my_law.py")
    table = in_file[in_file.index("sample") :]
    lawful = re.sub(r"fmu = .*\n.*\n", "", text_of("units/foreign_system.toml"))
    lawful = lawful.replace("[[scenario", f"[components.tcu.law]\n{table}[[scenario")
    whole = load_unit(parse_unit_file(lawful, "mine.toml", tmp_path))
    assert tmp_path / name in whole.files_beside
    one = (model := whole.build()).instantiate()
    one.initialise()
    one.t = 15.0
    one.outputs()
    assert one.get("tcu.slow") == 2.0 * one.get("cycle.cycle.v") > 2.0
    if name == "my_law.c":
        assert model.opaque
        refused("a law in C with its derivatives", sensitivities, model, whole.scenario[0], 1e-3, ["tcu.k"])


def test_code_runs_with_permission_alone(tmp_path, monkeypatch, command):
    """Not even its first line runs without; the option of the command gives permission."""
    (tmp_path / "mine.toml").write_text(IN_FILE)
    (tmp_path / "my_law.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n{CODE}")
    monkeypatch.setenv(ALLOW, "0")
    words = "show", str(tmp_path / "mine.toml")
    code, _, err = command(*words)
    assert code == 2
    assert "mine.toml: python = 'my_law.py': permission to run" in " ".join(err.split())
    assert not (tmp_path / "ran").exists()
    assert command("--allow-code", *words)[0] == 0
    assert (tmp_path / "ran").exists()
    fmu = str(tmp_path / "mine.fmu")
    assert command("--allow-code", "export", words[1], "-o", fmu, "--platform", "linux64", "--no-check")[0] == 0


def test_states_of_code_have_room_without_operations(tmp_path, monkeypatch):
    """The example of the page, whose start values are parameters."""
    monkeypatch.setenv(ALLOW, "1")
    blocks = [dedent(part) for part in re.findall(r"(?:^    .*\n|^\n)+", page.__doc__, re.MULTILINE)]
    table = blocks[0].replace("[components.tcu.law]\n", "").strip()
    one = in_python(tmp_path, blocks[1], f'kind = "law"\nname = "tcu"\n{table}\n').build().instantiate()
    one.initialise()
    assert one.get("F") == 15e3
    assert one.step(1e-3) == OK
    assert one.x[0] == 5e3 - 0.01 * 500e3 * 0.02


@mistakes
def test_mistakes_in_code(old, new, message, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    assert (old in CODE) != (old in IN_FILE)
    refused(message, lambda: in_python(tmp_path, CODE.replace(old, new, 1), IN_FILE.replace(old, new, 1)).build())


@pytest.mark.parametrize(
    "endless",
    [
        f"while True:\n    pass\n{CODE}",
        CODE.replace("):\n", "):\n    for k in range(1000000000000):\n        y[0] = k\n"),
    ],
)
def test_code_that_does_not_return_is_refused(endless, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    monkeypatch.setattr("rtcvt.law.code.TRIAL_TIME", 0.2)
    with pytest.raises(InputError, match=r"a law: TimeoutError: it does not return in 0\.2 s"):
        in_python(tmp_path, endless, IN_FILE).build()


@pytest.mark.needs("cc")
@mistakes
def test_mistakes_in_c(old, new, message, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    assert (old in C_CODE) != (old in IN_C)
    with pytest.raises(InputError, match=message):
        in_python(tmp_path, C_CODE.replace(old, new, 1), IN_C.replace(old, new, 1), "my_law.c").build()


FOUR, IN_FOUR = text_of("units/four.c"), text_of("units/four.toml")


def four(folder, code=FOUR, text=IN_FOUR):
    return in_python(folder, code, text, "four.c")


@pytest.mark.needs("cc")
def test_four_functions_in_c(tmp_path, monkeypatch):
    """Bits in both versions of FMI, and derivatives of the unit, of its start and of a run against differences."""
    monkeypatch.setenv(ALLOW, "1")
    unit = four(tmp_path)
    model, scenario = unit.build(), unit.scenario[0]
    one = initialised(model)
    paths = [export_native(unit, "rigid", tmp_path / f"{fmi}.fmu", fmi=fmi) for fmi in (2, 3)]
    runs = [fmpy.simulate_fmu(str(path), stop_time=0.05, step_size=H, output_interval=H)["y"] for path in paths]
    assert runs[0].tolist() == runs[1].tolist()
    assert np.ptp(runs[0]) > 0.5
    hosted = Hosted(Path(fmpy.extract(str(tmp_path / "2.fmu"), str(tmp_path / "unit"))))
    assert hosted.description.modelExchange is not None
    assert run(hosted.start(), model, 0, 50) == reference(model, 50)
    for k in range(50):
        one.u[0] = inputs(model, k)["v"]
        one.step(H)
    by = linearise(one)
    of, known = (["y", "der(state.slow)", "der(state.whole)"], ["v", "state.slow", "state.whole"])
    columns = [hosted.fmi.getDirectionalDerivative([*map(hosted.reference, of)], [hosted.reference(n)], [1.0])
               for n in known]  # fmt: skip
    np.testing.assert_allclose(np.transpose(columns), np.block([[by.D, by.C], [by.B, by.A]]), rtol=1e-7, atol=1e-8)
    d = 1e-6
    found = sensitivities(model, scenario, H, ["T", "k"])
    for k, (name, value) in enumerate({"T": 0.5, "k": 2.0}.items()):
        sides = [simulate(model, scenario, parameters={name: value + side})["y"] for side in (d, -d)]
        np.testing.assert_allclose(
            found.derivatives["y"][:, k], (sides[0] - sides[1]) / (2.0 * d), rtol=1e-6, atol=1e-8
        )


@pytest.mark.needs("cc")
def test_statuses_and_samples_of_four_functions(tmp_path, monkeypatch):
    """A limit, a step that fails and a start that fails; with a sample time the states are constant between samples."""
    monkeypatch.setenv(ALLOW, "1")
    one = four(tmp_path).build().instantiate()
    one.initialise()
    for v, status in ((6.0, SATURATED), (10.0, FAILED), (1.0, OK)):
        before = one.x.copy()
        one.set("v", v)
        assert one.step(H) == status
        assert (status == FAILED) == (one.x.tolist() == before.tolist())
    one.set("T", -1.0)
    refused(r"finite states and outputs of four\.c, and no status 2: .* no finite start", one.initialise)
    one = four(tmp_path, text=f'sample = "10 ms"\n{IN_FOUR}').build().instantiate()
    assert one.model.discrete
    one.initialise()
    rows = [[*one.x, one.step(H)] for _ in range(20)]
    assert [k for k in range(19) if rows[k][0] != rows[k + 1][0]] == [0, 10]
    assert rows[1][0] == (0.25 * 1.5 + 0.02 * 1.5**2) / 1.02  # one implicit step of 10 ms


@pytest.mark.needs("cc")
@mistakes
def test_mistakes_in_four_functions(old, new, message, tmp_path, monkeypatch):
    monkeypatch.setenv(ALLOW, "1")
    assert (old in FOUR) != (old in IN_FOUR)
    refused(message, lambda: four(tmp_path, FOUR.replace(old, new), IN_FOUR.replace(old, new, 1)).build())


SYSTEM = text_of("units/lawful_system.toml")


def system(old="", new=""):
    assert old in SYSTEM
    return load_unit(parse_unit_file(SYSTEM.replace(old, new, 1), "mine.toml"))


def test_a_law_and_an_expression_in_a_system():
    run = simulate(system().build(), system().scenario[0])
    v, slow = run["cycle.cycle.v"], np.zeros(len(run.time))
    for k in range(len(v) - 1):
        slow[k + 1] = slow[k] + (v[k] - slow[k]) * 1e-3 / 0.201
    assert np.ptp(v) > 5.0
    np.testing.assert_allclose(run["tcu.slow"], slow, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run["signal_1.value"], 1.5 * v - 0.25 * slow, rtol=1e-9, atol=1e-12)


@mistakes
def test_mistakes_in_systems(old, new, message):
    refused(message, lambda: system(old, new).build())
