"""Event mode, early return and intermediate updates of FMI 3.0 units in co-simulation.

What is right is known from the kernels: an internal step at a time, as the model itself makes them in Python, tells
when each discrete output changes and what all outputs are there.
"""

from pathlib import Path
from types import SimpleNamespace

import fmpy
import numpy as np
import pytest
from c_programs import ADDRESS, build, figures
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu
from lxml import etree
from marks import slow

from rtcvt.fmu.native.export import export_native, write_sources
from rtcvt.kind import load_unit
from rtcvt.scenario import get_scenario, sample_inputs

pytestmark = pytest.mark.needs("cc")

COARSE = "status.step_too_coarse"  # true until a communication step ends
H = 0.01  # of communication steps, ten or more internal ones [s]
CASES = {  # unit: scenario, how much of it [s], steps in one of the unit's, what changes, factor of the first input
    "toroidal_kers": ("flywheel at its speed limit", 0.7, 2, "control.saturated", 1.0),
    "clutch": ("launch and overload", 2.4, 1, "clutch.stuck", 1.0),
    "pushbelt_cvt": ("macro-slip", 0.6, 1, "status.macro_slip", 2.0),
}


class Host(FMU3Slave):
    """A unit with its variables by name."""

    def __init__(self, folder, **options):
        description = fmpy.read_model_description(str(folder))
        super().__init__(
            guid=description.guid,
            modelIdentifier=description.coSimulation.modelIdentifier,
            unzipDirectory=str(folder),
            instanceName="unit",
        )
        self.description = description
        self.variables = {v.name: v for v in description.modelVariables}
        self.events = options.get("eventModeUsed", False)
        self.messages = []
        self.instantiate(logMessage=lambda _e, _s, _c, text: self.messages.append(text.decode()), **options)

    def references(self, rows):
        return [self.variables[v.name].valueReference for v in rows]

    def start(self, model, u):
        self.u = self.references(model.select("input"))
        self.y = self.references([v for v in model.select("output") if not v.boolean])
        self.flags = self.references([v for v in model.select("output") if v.boolean])
        self.x = [v.valueReference for v in self.variables.values() if v.causality == "local"]
        self.enterInitializationMode()
        self.setFloat64(self.u, list(u))
        self.exitInitializationMode()
        if self.events:
            self.updateDiscreteStates()
            self.enterStepMode()
        return self

    def row(self):
        """All that can be read: outputs, states and their derivatives, flags."""
        return self.getFloat64(self.y) + self.getFloat64(self.x) + self.getBoolean(self.flags)

    def handle_event(self):
        """Values of the flags before and after."""
        before = self.getBoolean(self.flags)
        self.enterEventMode()
        assert self.updateDiscreteStates() == (False, False, False, False, False, 0.0)
        after = self.getBoolean(self.flags)
        self.enterStepMode()
        assert self.getBoolean(self.flags) == after
        return before, after

    def go_on_to(self, t, end, seen=None):
        """Steps from `t` until `end`, with all events; appends (time, flags before, flags after) to `seen`."""
        while t < end:
            event, terminated, early, last = self.doStep(t, end - t)
            assert not terminated
            assert early == (last < end)
            assert event or not early
            assert self.events or not event
            t = last
            if event:
                ([] if seen is None else seen).append((t, *self.handle_event()))
        return t


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module", params=["clutch", *map(slow, ("toroidal_kers", "pushbelt_cvt"))])
def case(request, folder):
    """A unit, its inputs at communication points, and what its kernels make of them one internal step at a time."""
    scenario, duration, substeps, flag, factor = CASES[request.param]
    unit = load_unit(request.param)
    model = unit.build(None, substeps)
    path = export_native(unit, model.fidelity, folder / f"{request.param}.fmu", substeps=substeps, fmi=3)
    extracted = Path(fmpy.extract(str(path), str(folder / request.param)))
    n = round(duration / H)
    u = sample_inputs(model, get_scenario(unit, scenario), H * np.arange(n + 1))
    u[:, 0] *= factor
    fine = by_internal_steps(model, u, n)
    return SimpleNamespace(model=model, folder=extracted, path=path, u=u, n=n, flag=flag, fine=fine)


def by_internal_steps(model, u, n):
    """Times and outputs after each internal step; a communication step has `parts` of them."""
    parts = round(H / model.internal_step)
    instance = model.instantiate()
    instance.u[:] = u[0]
    instance.initialise()
    times, rows, start, t = [], [], instance.y.copy(), 0.0
    latched = [v.index for v in model.select("output") if v.name.endswith(COARSE)]
    for k in range(n):
        instance.u[:] = u[k]
        begin, end = k * H, (k + 1) * H
        for i in range(1, parts + 1):
            instance.t = t
            assert instance.step((end - begin) / parts) != 2
            t = end if i == parts else begin + i * ((end - begin) / parts)
            times.append(t)
            rows.append(instance.y.copy())
            rows[-1][latched] = np.max([row[latched] for row in rows[-min(i, 2) :]], axis=0)
    return SimpleNamespace(parts=parts, times=times, y=np.array(rows), start=start)


def run(case, seen=None, **options):
    """Rows at communication points."""
    host = Host(case.folder, **options).start(case.model, case.u[0])
    rows = [host.row()]
    for k in range(case.n):
        host.setFloat64(host.u, list(case.u[k]))
        assert host.go_on_to(k * H, (k + 1) * H, seen) == (k + 1) * H
        rows.append(host.row())
    host.terminate()
    host.freeInstance()
    return rows


@pytest.fixture(scope="module")
def plain(case):
    """Rows of a run without event mode."""
    return run(case)


def changes(case, points=None):
    """(time, flags before, flags after) where discrete outputs change from one of these points to the next."""
    flags = [v.index for v in case.model.select("output") if v.boolean]
    found, last = [], case.fine.start[flags].astype(bool).tolist()
    for t, y in zip(case.fine.times, case.fine.y, strict=True):
        now = y[flags].astype(bool).tolist()
        if (points is None or t in points) and now != last:
            found.append((t, last, now))
            last = now
    return found


# --- what units say ---------------------------------------------------------------------------------------------------

ABILITIES = {"clutch": (True, True), "driver": (False, True), "kers_lap": (False, False)}  # events, updates


@pytest.mark.parametrize("name", ABILITIES)
def test_a_unit_offers_what_it_has(name, folder):
    unit = load_unit(name)
    path = export_native(unit, unit.build().fidelity, folder / f"abilities_{name}.fmu", fmi=3)
    assert validate_fmu(str(path)) == []
    extracted = fmpy.extract(str(path), str(folder / f"abilities_{name}"))
    has_events, cut = ABILITIES[name]
    description = fmpy.read_model_description(extracted)
    cosimulation = description.coSimulation
    assert cosimulation.hasEventMode == has_events
    assert (cosimulation.providesIntermediateUpdate, cosimulation.mightReturnEarlyFromDoStep) == (cut, cut)
    outputs = [v for v in description.modelVariables if v.causality == "output"]
    assert has_events == any(v.type == "Boolean" for v in outputs)
    tree = etree.parse(str(Path(extracted) / "modelDescription.xml"))
    shown = {v.get("name") for v in tree.iter() if v.get("intermediateUpdate") == "true"}
    ports = [v for v in description.modelVariables if v.causality in ("input", "output")]
    assert shown == {v.name for v in ports if cut and v.type == "Float64"}
    called = []
    asked = {"eventModeUsed": has_events, "earlyReturnAllowed": True,
             "intermediateUpdate": lambda *given: called.append(given[1])}  # fmt: skip
    host = Host(extracted, **asked)
    host.enterInitializationMode()
    host.exitInitializationMode()
    if has_events:
        host.enterStepMode()
    host.doStep(0.0, 0.002)
    host.freeInstance()
    assert called == ([0.001, 0.002] if cut else [])
    first = next(v.valueReference for v in outputs if v.type == "Float64")
    state = next(v.valueReference for v in description.modelVariables if v.causality == "local")
    for wrong in ({"eventModeUsed": True} if not has_events else {"requiredIntermediateVariables": [state]},
                  {"requiredIntermediateVariables": [9999]},
                  {} if cut else {"requiredIntermediateVariables": [first]}):  # fmt: skip
        if wrong:
            with pytest.raises(Exception, match="Failed to instantiate"):
                Host(extracted, **wrong)


# --- events -----------------------------------------------------------------------------------------------------------


def test_a_step_returns_at_the_end_of_the_internal_step_in_which_a_flag_changed(case, plain):
    seen = []
    rows = run(case, seen, eventModeUsed=True, earlyReturnAllowed=True)
    assert seen == changes(case)
    place = [v.name for v in case.model.select("output") if v.boolean].index(case.flag)
    of_it = [t for t, before, after in seen if before[place] != after[place]]
    assert any(not np.isclose(t / H, round(t / H)) for t in of_it), "none within a step"
    assert rows == plain


def test_without_early_return_an_event_waits_for_the_end_of_the_step(case, plain):
    seen = []
    rows = run(case, seen, eventModeUsed=True)
    assert seen == changes(case, [(k + 1) * H for k in range(case.n)])
    assert rows == plain


def test_an_event_has_to_be_handled_before_the_next_step(case):
    host = Host(case.folder, eventModeUsed=True, earlyReturnAllowed=True).start(case.model, case.u[0])
    t, event, k = 0.0, False, 0
    while not event:
        host.setFloat64(host.u, list(case.u[k]))
        event, _, _, t = host.doStep(t, (k + 1) * H - t)
        k += t == (k + 1) * H
    kept = host.row()
    with pytest.raises(FMICallException):
        host.doStep(t, H)
    assert "event mode comes first" in host.messages[-1]
    assert host.row() == kept
    host.handle_event()
    host.doStep(t, H)
    host.freeInstance()


@pytest.mark.parametrize("at", ["before", "in", "after"])
def test_a_state_saved_at_an_event_goes_on_with_the_same_bits(case, plain, at):
    """Saved behind a step that returned early and restored into a new instance, it ends the step on the same grid."""
    options = {"eventModeUsed": True, "earlyReturnAllowed": True}
    one = Host(case.folder, **options).start(case.model, case.u[0])
    early = t = 0.0
    k = 0
    while not early:
        one.setFloat64(one.u, list(case.u[k]))
        event, _, early, t = one.doStep(t, (k + 1) * H - t)
        if at == "before" and early:
            break
        if event:
            one.enterEventMode()
            if at == "in" and early:
                break
            one.updateDiscreteStates()
            one.enterStepMode()
        k += t == (k + 1) * H
    state = one.getFMUState()
    text = one.serializeFMUState(state)
    one.freeFMUState(state)
    other, bare = Host(case.folder, **options).start(case.model, case.u[0]), Host(case.folder)
    for host in (other, bare):
        host.state = host.deserializeFMUState(text) if host is other or at == "after" else None
    if at == "after":
        bare.setFMUState(bare.state)
    else:
        with pytest.raises(FMICallException):
            bare.deserializeFMUState(text)
        assert "no event mode" in bare.messages[-1]
    other.setFMUState(other.state)
    for host in (one, other):
        if at == "before":
            host.handle_event()
        elif at == "in":
            host.updateDiscreteStates()
            host.enterStepMode()
        assert host.go_on_to(t, (k + 1) * H) == (k + 1) * H
        assert host.row() == plain[k + 1]
    for host in (one, other, bare):
        host.freeInstance()


def test_in_event_mode_outputs_follow_inputs_and_flags_do_not(case):
    """f_event of the standard: reading after setting gives the outputs there, in step mode those of the last step."""
    host = Host(case.folder, eventModeUsed=True, earlyReturnAllowed=True).start(case.model, case.u[0])
    instance = case.model.instantiate()
    instance.u[:] = case.u[0]
    instance.initialise()
    host.setFloat64(host.u, list(case.u[0]))
    host.go_on_to(0.0, H)
    kept, flags = host.getFloat64(host.y), host.getBoolean(host.flags)
    moved = [1.01 * value + 1e-3 for value in case.u[0]]
    host.setFloat64(host.u, moved)
    assert host.getFloat64(host.y) == kept
    host.setFloat64(host.u, list(case.u[0]))
    host.enterEventMode()
    assert host.getFloat64(host.y) == kept
    host.setFloat64(host.u, moved)
    for i in range(1, case.fine.parts + 1):
        instance.t = (i - 1) * H / case.fine.parts
        instance.step(H / case.fine.parts)
    instance.u[:] = moved
    expected = instance.outputs()
    rows = [v for v in case.model.select("output") if not v.boolean]
    assert host.getFloat64(host.y) == [expected[v.index] for v in rows]
    assert host.getBoolean(host.flags) == flags
    host.setFloat64(host.u, [float("nan")] * len(moved))
    with pytest.raises(FMICallException):
        host.getFloat64(host.y)
    host.setFloat64(host.u, moved)
    host.updateDiscreteStates()
    host.enterStepMode()
    assert host.getFloat64(host.y) == [expected[v.index] for v in rows]
    host.freeInstance()


def test_in_fmpy_flags_change_in_event_mode_only(case):
    """It records before and after each event. Within a step that has returned early it moves inputs on."""
    names = [v.name for v in case.model.select("output") if v.boolean]
    signals = np.zeros(case.n + 1, dtype=[("time", float), *((v.name, float) for v in case.model.select("input"))])
    signals["time"] = H * np.arange(case.n + 1)
    for v in case.model.select("input"):
        signals[v.name] = case.u[:, v.index]
    found = fmpy.simulate_fmu(
        str(case.folder), stop_time=case.n * H, output_interval=H, input=signals, output=names,
        use_event_mode=True, early_return_allowed=True, fmi_type="CoSimulation",
    )  # fmt: skip
    time = found["time"]
    assert np.ptp(found[case.flag].astype(int)) == 1
    switches = sorted({int(k) for name in names for k in np.flatnonzero(np.diff(found[name].astype(int)))})
    assert all(time[k] == time[k + 1] for k in switches)
    assert any(not np.isclose(t / H, round(t / H)) for t in time[switches])
    grid = np.unique(np.round(time[np.isclose(time / H, np.round(time / H))] / H))
    assert grid.tolist() == list(range(case.n + 1))


# --- intermediate updates ---------------------------------------------------------------------------------------------


class Watched:
    """A unit that is watched from within its steps: what it gives there, by time."""

    def __init__(self, case, names, decide=None, **options):
        self.case, self.seen, self.decide, self.errors, self.takes_inputs = case, [], decide, [], False
        self.host = Host.__new__(Host)
        variables = {v.name: v.valueReference for v in fmpy.read_model_description(str(case.folder)).modelVariables}
        self.required = [variables[name] for name in names]
        self.host.__init__(case.folder, intermediateUpdate=self.update, requiredIntermediateVariables=self.required,
                           **options)  # fmt: skip

    def update(self, _environment, t, set_requested, get_allowed, finished, can_return, requested, until):
        try:
            at_end = bool(np.isclose(t / H, round(t / H)))
            assert (set_requested, get_allowed, finished) == (self.takes_inputs and not at_end, True, True)
            values = self.host.getFloat64(self.required)
            slopes = (
                [] if self.takes_inputs else self.host.getOutputDerivatives(self.required, [1] * len(self.required))
            )
            self.seen.append((t, can_return, values, slopes))
            if self.decide is not None:
                wanted = self.decide(t, self.host)
                if wanted is not None:
                    requested[0], until[0] = True, wanted
        except BaseException as error:  # ctypes would swallow it
            self.errors.append(error)


def smooth(case):
    return [v for v in case.model.select("output") if not v.boolean]


def test_each_internal_step_is_shown_with_its_outputs(case, plain):
    rows = smooth(case)
    watched = Watched(case, [v.name for v in rows])
    host = watched.host.start(case.model, case.u[0])
    for k in range(case.n):
        host.setFloat64(host.u, list(case.u[k]))
        host.go_on_to(k * H, (k + 1) * H)
        assert host.row() == plain[k + 1]
    host.freeInstance()
    assert watched.errors == []
    y = case.fine.y[:, [v.index for v in rows]]
    assert [t for t, *_ in watched.seen] == case.fine.times
    assert [values for _, _, values, _ in watched.seen] == y.tolist()
    assert not any(can for _, can, _, _ in watched.seen)
    parts = case.fine.parts
    for k in range(1, case.n):  # slopes since the step began
        t, _, values, slopes = watched.seen[parts * k + parts // 2]
        past = y[parts * k - 1]
        np.testing.assert_allclose(slopes, (np.array(values) - past) / (t - k * H), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("ahead", [0.0, 2.6, -1.0, np.nan])
def test_the_host_may_end_a_step(case, plain, ahead):
    """At once, or when a time is reached: the last internal step that does not go beyond it. The grid stays."""
    part = H / case.fine.parts
    asks = {}

    def decide(t, host):
        place = round((t % H) / part) % case.fine.parts
        if place == 2 and t not in asks:
            asks[t] = t + ahead * part
            return asks[t]
        return None

    watched = Watched(case, [case.model.select("output")[0].name], decide, earlyReturnAllowed=True)
    host = watched.host.start(case.model, case.u[0])
    ends = []
    for k in range(case.n):
        host.setFloat64(host.u, list(case.u[k]))
        t = k * H
        while t < (k + 1) * H:
            event, _, early, t = host.doStep(t, (k + 1) * H - t)
            assert not event
            assert early == (t < (k + 1) * H)
            if early:
                ends.append(t)
        assert host.row() == plain[k + 1]
    host.freeInstance()
    assert watched.errors == []
    assert len(ends) == case.n
    whole = 2 if ahead == 2.6 else 0
    np.testing.assert_allclose(ends, [t + whole * part for t in asks], rtol=1e-12)
    assert sorted({t for t, *_ in watched.seen}) == case.fine.times
    last = [can for t, can, *_ in watched.seen if round(t / H, 9) == round(t / H)]
    assert not any(last)
    assert all(can for t, can, *_ in watched.seen if not np.isclose(t / H, round(t / H)))


def test_inputs_set_within_a_step_give_the_bits_of_internal_steps(case):
    """A host that moves inputs on within steps, and one whose communication steps are the internal ones."""
    rows, inputs = smooth(case), case.model.select("input")

    def moved(t):
        k = min(int(t / H), case.n - 1)
        share = t / H - k
        return ((1.0 - share) * case.u[k] + share * case.u[k + 1]).tolist()

    fine = Host(case.folder).start(case.model, case.u[0])
    expected, part = [], H / case.fine.parts
    watched = Watched(case, [v.name for v in (*rows, *inputs)], None)
    references = watched.required[len(rows) :]

    def decide(t, host):
        if not np.isclose(t / H, round(t / H)):
            host.setFloat64(references, moved(t))
        else:
            with pytest.raises(FMICallException):  # it is the end of the step
                host.setFloat64(references, moved(t))

    watched.decide, watched.takes_inputs = decide, True
    host = watched.host.start(case.model, case.u[0])
    kept = [v for v in case.model.select("output") if v.boolean and not v.name.endswith(COARSE)]
    host.flags = fine.flags = host.references(kept)
    for k in range(30):
        host.setFloat64(host.u, moved(k * H))
        host.doStep(k * H, part * case.fine.parts)
        assert host.getFloat64(host.u) == moved(k * H + (case.fine.parts - 1) * part)
        for i in range(case.fine.parts):
            fine.setFloat64(fine.u, moved(k * H + i * part))
            fine.doStep(k * H + i * part, part)
            expected.append(fine.getFloat64(fine.y))
        assert host.row() == fine.row()
    assert watched.errors == []
    assert [values[: len(rows)] for _, _, values, _ in watched.seen] == expected
    host.setFloat64(host.u, moved(30 * H))
    watched.decide = lambda t, host: host.setFloat64(references, [float("nan")] * len(references))
    time, ones = [host.variables["time"].valueReference], [1] * len(host.y)
    kept = host.row(), host.getFloat64(time), host.getOutputDerivatives(host.y, ones)
    with pytest.raises(FMICallException):
        host.doStep(30 * H, H)
    assert (host.row(), host.getFloat64(time), host.getOutputDerivatives(host.y, ones)) == kept
    assert host.getFloat64(host.u) == moved(30 * H)
    host.freeInstance()
    fine.freeInstance()


# --- any sequence -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clutch", *map(slow, ("toroidal_kers", "pushbelt_cvt"))])
def test_random_steps_have_the_bits_of_a_twin_without_events(name, tmp_path):
    """And no call at a wrong moment, none within a step, and no forged state does harm."""
    write_sources(load_unit(name).build(None, 2), name, tmp_path / "sources", fmi=3)
    program = build(tmp_path / "sources", "event_sequences.c", tmp_path / "sequences", *ADDRESS)
    for seed in (1, 2):
        found = figures(program, seed, 4000)
        assert found["made"] > 3500
        assert min(found["events"], found["returns"], found["updates"], found["refused"]) > 50
        assert found["accepted"] > 20
