"""Whatever is asked of a unit, it answers: no crash, no leak, nothing that is not finite without saying so.

Calls at random, right and wrong, go to a process that holds the library (``misuse_host.py``); if it dies, that is the
failure, and hypothesis finds the shortest sequence that kills it.
"""

import json
import math
import random
import shutil
import subprocess
import sys
from pathlib import Path

import fmpy
import pytest
from archives import changed
from c_programs import ADDRESS, build, figures
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow
from rows import script, tables

from rtcvt.errors import InputError
from rtcvt.hil.importer import open_fmu

OK, DISCARD, ERROR = 0, 2, 3
MODEL_EXCHANGE, CO_SIMULATION = 0, 1
KEYS = ["kers", "kers_full"]
HERE = Path(__file__).parent
H = 1e-3

needs_cc = pytest.mark.needs("cc")


class Child:
    """A process that makes calls; it is started again when it has died."""

    def __init__(self, folder: Path):
        self.description = fmpy.read_model_description(str(folder))
        (library,) = (folder / "binaries" / "linux64").glob("*.so")
        resources = (folder / "resources").as_uri()
        host = str(HERE / "misuse_host.py")
        self.command = [sys.executable, host, str(library), self.description.guid, resources]
        self.process: subprocess.Popen | None = None

    def run(self, kind, calls):
        """Results of a sequence of calls to a new instance, which leaves no memory behind."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"kind": kind, "calls": calls}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            self.process = None
            pytest.fail(f"the unit ended the process with {code}")
        found = json.loads(answer)
        assert len(found["results"]) == len(calls)
        return found["results"], found["live"]

    def close(self):
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            assert self.process.wait(timeout=60) == 0


@pytest.fixture(scope="module")
def native(unpacked_native):
    children = {key: Child(unpacked_native[key]) for key in KEYS}
    yield children
    for child in children.values():
        child.close()


@pytest.fixture(scope="module")
def in_python(exported, tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    child = Child(Path(fmpy.extract(str(exported["kers"]), str(folder))))
    yield child
    child.close()


# --- sequences of calls -----------------------------------------------------------------------------------------------

STEPPED = {"step"}
EXCHANGED = {"event", "continuous"}
BEFORE = {"instantiated", "initialization"}
ALL = BEFORE | STEPPED | EXCHANGED | {"terminated"}
# Where FMI 2.0 (figures 6 and 11, and the tables that follow them) lets a call be made.
ALLOWED = {name: set(modes) for name, modes in tables("fmi/misuse.toml")["allowed"].items()}
MOVES = {"EnterInitializationMode": "initialization", "Terminate": "terminated", "Reset": "instantiated",
    "EnterEventMode": "event", "EnterContinuousTimeMode": "continuous"}  # fmt: skip

ODD = st.sampled_from([0.0, -1.0, 5e-324, 1e13, -1e300, math.nan, math.inf, -math.inf])
NUMBERS = st.one_of(st.floats(-200.0, 200.0), ODD, st.floats())
FACTORS = st.one_of(st.floats(0.5, 2.0), st.floats(0.5, 2.0), st.sampled_from([0.0, 1e-12, 1e-300, 1e12, 1e300]))
LENGTHS = st.sampled_from([H, 0.0, -H, 3.3e-3, 0.05, 1e9, 1e300, 1e-300, 5e-324, math.nan, math.inf])
PLACES = st.integers(0, 2)


START = [["SetupExperiment", 0.0, None], ["EnterInitializationMode"], ["ExitInitializationMode"]]


def calls_of(description):
    """Calls of a host that knows what it does, and others, as strategies by name."""
    variables = description.modelVariables
    real = [v.valueReference for v in variables if v.type == "Real"]
    flags = [v.valueReference for v in variables if v.type == "Boolean"]
    inputs = [v for v in variables if v.causality == "input" and v.type == "Real"]
    outputs = [v.valueReference for v in variables if v.causality == "output" and v.type == "Real"]
    rates = [v.valueReference for v in variables if v.derivative is not None]
    parameters = [v for v in variables if v.causality == "parameter"]
    n_x = description.numberOfContinuousStates
    reference = st.one_of(st.sampled_from(real + flags), st.integers(0, 2**32 - 1))
    one_input = st.sampled_from([[v.valueReference] for v in inputs])
    count = st.one_of(st.just(n_x), st.integers(0, n_x + 2))

    def just(value):
        return st.just(value)

    def one(strategy):
        return strategy.map(lambda x: [x])

    def scaled(chosen, factors):
        """References and values of variables, times a factor of their start values."""
        return st.lists(st.tuples(st.sampled_from(chosen), factors), min_size=1, max_size=2).map(
            lambda pairs: ([v.valueReference for v, _ in pairs], [f * (float(v.start) or 1.0) for v, f in pairs])
        )

    def paired(references, values):
        return st.lists(st.tuples(references, values), max_size=4).map(
            lambda pairs: ([r for r, _ in pairs], [x for _, x in pairs])
        )

    right = [("DoStep", just(None), st.sampled_from([H, H, 2e-3, 1.7e-3, 1e-4])), ("DoStep", just(None), just(H)),
        ("SetReal", scaled(inputs, st.floats(0.8, 1.2))), ("SetReal", scaled(inputs, ODD)),
        ("SetReal", scaled(parameters, FACTORS)), ("GetReal", just(outputs)),
        ("GetReal", just(real[len(parameters) :])), ("GetReal", just(rates)), ("GetBoolean", just(flags)),
        ("SetupExperiment", just(0.0), just(None)), ("EnterInitializationMode",), ("ExitInitializationMode",),
        ("NewDiscreteStates",), ("EnterContinuousTimeMode",), ("EnterEventMode",), ("CompletedIntegratorStep",),
        ("SetTime", st.floats(0.0, 1.0)),
        ("SetContinuousStates", st.lists(st.floats(-100.0, 100.0), min_size=n_x, max_size=n_x)),
        ("GetContinuousStates", just(n_x)), ("GetDerivatives", just(n_x)), ("GetFMUstate", PLACES),
        ("SetFMUstate", PLACES), ("CopyState", PLACES, PLACES, just(None)),
        ("SetRealInputDerivatives", one_input, just([1]), one(st.floats(-10.0, 10.0))),
        ("SetRealInputDerivatives", one_input, just([1]), one(ODD)),
        ("GetRealOutputDerivatives", just(outputs), just([1] * len(outputs))),
        ("GetDirectionalDerivative", just(outputs), one_input, just([1.0])),
        ("GetDirectionalDerivative", just(rates), one_input, just([1.0])), ("GetRealStatus",)]  # fmt: skip
    wrong = [("SetupExperiment", NUMBERS, st.one_of(st.none(), NUMBERS)), ("SetReal", paired(reference, NUMBERS)),
        ("SetReal", paired(st.sampled_from([v.valueReference for v in inputs]), NUMBERS)),
        ("SetReal", paired(st.sampled_from([v.valueReference for v in parameters]), NUMBERS)),
        ("SetBoolean", paired(reference, st.integers(-1, 2))), ("GetReal", st.lists(reference, max_size=4)),
        ("GetBoolean", st.lists(reference, max_size=4)), ("DoStep", just(None), LENGTHS), ("DoStep", NUMBERS, LENGTHS),
        ("FreeFMUstate", PLACES), ("CopyState", PLACES, PLACES, st.integers(0, 2**16)),
        ("GetDirectionalDerivative", st.lists(reference, max_size=4), just([]), just([])),
        ("GetDirectionalDerivative", just(outputs), one_input, one(NUMBERS)),
        ("SetRealInputDerivatives", one_input, one(st.integers(-1, 3)), one(NUMBERS)),
        ("GetRealOutputDerivatives", just(outputs[:1]), one(st.integers(-1, 3))), ("SetDebugLogging", st.integers(0, 1),
        st.lists(st.sampled_from(["logAll", "logStatusError", ""]), max_size=2)), ("SetTime", NUMBERS),
        ("SetContinuousStates", st.lists(NUMBERS, min_size=n_x, max_size=n_x)), ("GetContinuousStates", count),
        ("GetDerivatives", count), ("GetNominalsOfContinuousStates", count),
        *((name,) for name in ("Terminate", "Reset", "CancelStep", "GetBooleanStatus"))]  # fmt: skip

    def call(name, *arguments):
        return st.tuples(*arguments).map(lambda drawn: [name, *_flat(drawn)])

    return tuple([(name, call(name, *arguments)) for name, *arguments in calls] for calls in (right, wrong))


def _flat(arguments):
    for a in arguments:
        if isinstance(a, tuple):
            yield from a
        else:
            yield a


def sequences(description, kind):
    """Sequences of calls, three of four of them such as fit the moment."""
    right, wrong = calls_of(description)
    fitting = {mode: st.one_of([call for name, call in right if mode in ALLOWED[name]]) for mode in ALL}
    anything = st.one_of([call for _, call in right + wrong])

    @st.composite
    def sequence(draw):
        calls, mode, kept = [], "instantiated", {}
        if draw(st.booleans()):
            calls = START.copy()
            mode = following("ExitInitializationMode", [], "", kept, kind)
        for _ in range(draw(st.integers(1, 60))):
            name, *arguments = draw(anything if draw(st.integers(0, 3)) == 3 else fitting[mode])
            calls.append([name, *arguments])
            if mode in ALLOWED[name]:
                mode = following(name, arguments, mode, kept, kind)
        return calls

    return sequence()


def following(name, arguments, mode, kept, kind):
    """The mode after a call that was allowed; `kept` holds those of saved states."""
    if name == "GetFMUstate":
        kept[arguments[0]] = mode
    elif name == "CopyState" and arguments[0] in kept and arguments[2] is None:
        kept[arguments[1]] = kept[arguments[0]]
    elif name == "FreeFMUstate":
        kept.pop(arguments[0], None)
    elif name == "SetFMUstate":
        return kept.get(arguments[0], mode)
    elif name == "ExitInitializationMode":
        return "step" if kind == CO_SIMULATION else "event"
    return MOVES.get(name, mode)


def judge(description, kind, calls, results):
    """The answers are those that FMI asks for, and results are finite."""
    inputs = {v.valueReference for v in description.modelVariables if v.causality == "input"}
    mode, kept = "instantiated", {}
    for (name, *arguments), (status, values) in zip(calls, results, strict=True):
        assert status in (OK, DISCARD, ERROR), (name, status)
        if mode not in ALLOWED[name]:
            assert status == ERROR, f"{name} is not allowed in {mode}"
        if name in ("EnterInitializationMode", "Terminate", "Reset", "GetFMUstate") and mode in ALLOWED[name]:
            assert status == OK, f"{name} in {mode}"
        if name == "SetFMUstate" and arguments[0] not in kept:
            assert status == ERROR
        if status != OK:
            continue
        if name == "GetReal":  # an input is what it was set to
            assert all(math.isfinite(v) for r, v in zip(arguments[0], values, strict=True) if r not in inputs)
        else:
            assert all(math.isfinite(v) for v in values), name
        assert name != "CopyState" or arguments[2] is None, "a damaged state was accepted"
        mode = following(name, arguments, mode, kept, kind)


def same(one, other):
    """The same bits, NaN included."""
    return json.dumps(one) == json.dumps(other)


READS = {name for name in ALLOWED if name.startswith("Get") and name != "GetFMUstate"}


def check_sequence(child, kind, calls):
    """A refused call changes nothing, nor does reading: without one, all others give the same."""
    results, live = child.run(kind, calls)
    assert live == 0
    judge(child.description, kind, calls, results)
    answered = [k for k, (status, _) in enumerate(results) if status == OK]
    read_less = [k for n, k in enumerate(answered) if n % 2 or calls[k][0] not in READS]
    for kept in (answered, read_less):
        again, _ = child.run(kind, [calls[k] for k in kept])
        assert same(again, [results[k] for k in kept])


@pytest.mark.parametrize(("w", "status"), [(math.inf, DISCARD), (1e300, OK)], ids=["refused", "given"])
@pytest.mark.parametrize(("events", "limited"), [([], 0), ([["EnterEventMode"]], 1)], ids=["continuous", "event"])
def test_reading_leaves_discrete_outputs_to_events(native, w, status, events, limited):
    """A shaft speed beyond all limits, whose rates are read or not before the unit is terminated."""
    variables = native["kers"].description.modelVariables
    shaft, saturated = ([v.valueReference for v in variables if v.name == n] for n in ("shaft.w", "control.saturated"))
    rates = ["GetReal", [v.valueReference for v in variables if v.derivative is not None]]
    for reads in ([], [rates]):
        calls = [*START, ["EnterContinuousTimeMode"], ["SetReal", shaft, [w]], *reads, *events, ["Terminate"]]
        results, _ = native["kers"].run(MODEL_EXCHANGE, [*calls, ["GetBoolean", saturated]])
        assert [found for found, _ in results] == [OK] * 5 + [status] * len(reads) + [OK] * (len(events) + 2)
        assert results[-1][1] == [limited]


@pytest.mark.parametrize("kind", [CO_SIMULATION, MODEL_EXCHANGE], ids=["stepped", "exchanged"])
@pytest.mark.parametrize("key", ["kers", slow("kers_full")])
@settings(max_examples=30)
@given(data=st.data())
def test_any_sequence_of_calls(native, key, kind, data):
    check_sequence(native[key], kind, data.draw(sequences(native[key].description, kind)))


def stepping(description):
    """Steps of any length with any inputs that a unit can follow, each with its results."""
    inputs = [v for v in description.modelVariables if v.causality == "input" and v.type == "Real"]
    outputs = [v.valueReference for v in description.modelVariables if v.causality == "output" and v.type == "Real"]
    references = [v.valueReference for v in inputs]
    factors = st.tuples(*(st.floats(0.9, 1.1) for _ in inputs))
    values = factors.map(lambda found: [f * (float(v.start) or 1.0) for f, v in zip(found, inputs, strict=True)])
    lengths = st.one_of(st.just(H), st.floats(1e-5, 4e-3))
    one = st.tuples(values, lengths).map(
        lambda drawn: [["SetReal", references, drawn[0]], ["DoStep", None, drawn[1]], ["GetReal", outputs]]
    )
    return st.lists(one, min_size=1, max_size=20).map(lambda steps: [call for step in steps for call in step])


def test_a_start_whose_outputs_are_not_finite_is_refused(native):
    """The energy F^2/(2 K) of a contact without stiffness is 0/0."""
    child = native["kers_full"]
    (stiffness,) = (v for v in child.description.modelVariables if v.name == "contact.bc.K")
    outputs = [v.valueReference for v in child.description.modelVariables if v.causality == "output"]
    outputs = [r for r in outputs if child.description.modelVariables[r].type == "Real"]
    loose, right = ([["SetReal", [stiffness.valueReference], [k]]] for k in (0.0, float(stiffness.start)))
    read, leave = [["GetReal", outputs]], [["ExitInitializationMode"]]
    calls = [*START[:2], *loose, *read, *leave, *right, *read, *leave, *read]
    results, _ = child.run(CO_SIMULATION, calls)
    assert [status for status, _ in results] == [OK, OK, OK, ERROR, ERROR, OK, OK, OK, OK]


def check_restoring(child, before, after, restore):
    calls = [*START, *before, ["GetFMUstate", 0], *after, *restore, *after]
    results, _ = child.run(CO_SIMULATION, calls)
    assert all(status == OK for status, _ in results)
    assert same(results[-len(after) :], results[len(START) + len(before) + 1 :][: len(after)])


RESTORE = {
    "kept": [["SetFMUstate", 0]],
    "serialised": [["CopyState", 0, 1, None], ["FreeFMUstate", 0], ["SetFMUstate", 1]],
    "after a reset": [["Reset"], ["SetFMUstate", 0]],
}


@pytest.mark.parametrize("restore", RESTORE)
@pytest.mark.parametrize("key", [slow("kers"), "kers_full"])
@settings(max_examples=25)
@given(data=st.data())
def test_a_state_saved_at_any_time_goes_on_with_the_same_bits(native, key, restore, data):
    steps = stepping(native[key].description)
    rates = []
    inputs = [v.valueReference for v in native[key].description.modelVariables if v.causality == "input"]
    if data.draw(st.booleans()):
        rates = [["SetRealInputDerivatives", inputs[:1], [1], [data.draw(st.floats(-1.0, 1.0))]]]
    check_restoring(native[key], [*data.draw(steps), *rates], data.draw(steps), RESTORE[restore])


# --- the Python backend -----------------------------------------------------------------------------------------------


@settings(max_examples=4)
@given(data=st.data())
def test_a_state_of_a_python_unit_goes_on_with_the_same_bits(in_python, data):
    steps = stepping(in_python.description)
    check_restoring(in_python, data.draw(steps), data.draw(steps), RESTORE["serialised"])


@settings(max_examples=20)
@given(data=st.data())
def test_steps_and_inputs_of_any_size_in_python(in_python, data):
    """Its library has no way to refuse anything else: there an exception is fmi2Fatal."""
    description = in_python.description
    inputs = [v.valueReference for v in description.modelVariables if v.causality == "input"]
    outputs = [v.valueReference for v in description.modelVariables if v.causality == "output" and v.type == "Real"]
    wild = st.one_of(
        st.tuples(st.just("SetReal"), st.sampled_from([[r] for r in inputs]), NUMBERS.map(lambda x: [x])),
        st.tuples(st.just("DoStep"), st.none(), LENGTHS),
        st.just(("GetReal", outputs)),
        st.just(("GetFMUstate", 0)),
    )
    drawn = data.draw(st.lists(st.one_of(wild.map(lambda call: [list(call)]), stepping(description)), max_size=8))
    calls = [*START, *(call for part in drawn for call in part)]
    results, _ = in_python.run(CO_SIMULATION, calls)
    for (name, *_), (status, values) in zip(calls, results, strict=True):
        assert status == OK or (name == "DoStep" and status == DISCARD)
        assert all(map(math.isfinite, values))
    kept = [k for k, (status, _) in enumerate(results) if status == OK]
    again, _ = in_python.run(CO_SIMULATION, [calls[k] for k in kept])
    assert same(again, [results[k] for k in kept])


# --- in C, with sanitizers --------------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("key", KEYS)
def test_states_from_hostile_hands(unpacked_native, tmp_path, key):
    """None is accepted with a wrong bit; one with a right checksum gives finite results or none."""
    program = build(unpacked_native[key] / "sources", "misuse_states.c", tmp_path / "states", *ADDRESS)
    found = figures(program, 1, 20000)
    assert min(found["accepted"], found["refused"], found["withheld"]) > 1000
    assert found["results"] > 100_000


@needs_cc
@pytest.mark.parametrize("key", ["differential", *map(slow, KEYS)])
def test_a_thousand_instances_and_eight_threads_give_the_bits_of_one(unpacked_native, tmp_path, key):
    program = build(unpacked_native[key] / "sources", "misuse_instances.c", tmp_path / "instances", "-O2")
    assert figures(program, 50, 1000, 8)["taken"] == 8 + 1000 + 8


@pytest.mark.slow
@needs_cc
@pytest.mark.parametrize("key", KEYS)
def test_a_million_steps(unpacked_native, tmp_path, key):
    """All results are finite and no memory is taken; limits hold now and then."""
    program = build(unpacked_native[key] / "sources", "misuse_instances.c", tmp_path / "instances", "-O2")
    found = figures(program, 1_000_000, 0, 0)
    assert found["taken"] == 1
    assert 0 < found["limited"] < 1_000_000


# --- damaged files ----------------------------------------------------------------------------------------------------


def damaged(path: Path, target: Path, name: str, change) -> Path:
    """A copy of an archive in which one file is changed, or missing if `change` gives nothing."""
    return changed(path, target, lambda entry, data: change(data) if entry == name else data)


def opened(path: Path) -> bool:
    """Whether an archive is taken for an FMU; if not, it is refused as wrong input."""
    try:
        with open_fmu(path) as fmu:
            return bool(fmu.scalars)
    except InputError:
        return False


def test_a_damaged_archive_is_read_or_refused(exported_native, tmp_path):
    data = exported_native["kers"].read_bytes()
    rng = random.Random(1)
    path = tmp_path / "unit.fmu"
    taken = 0
    for _ in range(60):
        changed = bytearray(data)
        if rng.random() < 0.3:
            del changed[rng.randrange(len(changed)) :]
        for _ in range(rng.randrange(1, 20)):
            if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        taken += opened(path)
    assert taken < 60
    path.write_bytes(data)
    assert opened(path)


BINARY = "binaries/linux64/toroidal_kers_rigid.so"


@pytest.mark.parametrize("change", [lambda _: None, lambda _: b"", lambda _: b"text", lambda data: data[:100]])
def test_a_unit_with_a_damaged_binary_is_refused(exported_native, tmp_path, change, command):
    path = damaged(exported_native["kers"], tmp_path / "unit.fmu", BINARY, change)
    code, _, message = command("run", str(path), "--fast", "--duration", "0.01")
    assert code == 2, message
    assert "unit.fmu" in message


INSTANTIATE = script("misuse", "instantiate")


def instantiated(*folders) -> list[str]:
    """What becomes of units with damaged resources; the process ends well."""
    command = [sys.executable, "-c", INSTANTIATE, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line in ("taken", "refused")]


def half(data):
    return data[: len(data) // 2]


RESOURCES = [("unit.json", lambda _: None), ("unit.json", lambda _: b""), ("unit.json", lambda _: b"null"),
    ("unit.json", lambda _: b"[]"), ("unit.json", half), ("unit.toml", lambda _: None), ("unit.toml", lambda _: b""),
    ("unit.toml", lambda _: bytes(range(256))), ("unit.toml", lambda data: data.replace(b"[gears]", b"[geers]")),
    ("unit.toml", lambda data: data.replace(b"0.179", b"nan"))]  # fmt: skip


def test_a_unit_with_damaged_resources_is_refused(exported, tmp_path):
    folders = []
    for k, (name, change) in enumerate(RESOURCES):
        path = damaged(exported["kers"], tmp_path / f"{k}.fmu", f"resources/{name}", change)
        folders.append(fmpy.extract(str(path), str(tmp_path / str(k))))
    assert instantiated(*folders) == ["refused"] * len(RESOURCES)


def test_resources_of_a_native_unit_are_not_needed(unpacked_native, tmp_path):
    folder = shutil.copytree(unpacked_native["kers"], tmp_path / "unit")
    shutil.rmtree(folder / "resources")
    assert instantiated(folder) == ["taken"]
