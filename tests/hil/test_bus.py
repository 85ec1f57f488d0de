"""Variables survive the bus within their quantum, bad messages do not, and the fall-back holds in every fault."""

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path

import can
import numpy as np
import pytest

from hil.bus import Node, crc8, open_bus
from hil.can_attachment import can_attachment
from hil.dbc import cycle_time, generate, parse, signal_name
from hil.ecu import law_of
from hil.native.build import available
from hil.recorder import read
from hil.rig import Rig, run_rig
from rtcvt.errors import InputError
from rtcvt.model import Variable
from rtcvt.scenario import Fault
from rtcvt.unitfile import Scenario, load_unit, read_unit

TAU = Variable("shaft.tau", "output", 0, "N.m", 'torque "into" it', minimum=-100.0, maximum=100.0)
ON = Variable("on", "output", 1, "1", "", boolean=True)
FORCE = Variable("1.F", "output", 2, "N", "no range")
DEMAND = Variable("tau_des", "input", 0, "N.m", "", minimum=-50.0, maximum=50.0)
NAMES = {signal_name(v.name): v.name for v in (TAU, ON, FORCE, DEMAND)}
channels = (f"virtual:test{i}" for i in itertools.count())


def database(step=1e-3):
    return parse(generate("unit", [DEMAND], [TAU, ON, FORCE], step))


@pytest.fixture
def pair():
    """Two nodes on one bus and what makes them with faults."""
    channel, opened = next(channels), []

    def make(faults=(), present=lambda: 0.0):
        buses = [open_bus(channel), open_bus(channel)]
        opened.extend(buses)
        out = [m for m in database().messages if m.frame_id >= 0x200]
        into = [m for m in database().messages if m.frame_id < 0x200]
        return Node(buses[0], out, into, NAMES, faults, present), Node(buses[1], into, out, NAMES)

    yield make
    for bus in opened:
        bus.shutdown()


def everything(node):
    found = {}
    while values := node.receive(0.05):
        found |= values
    return found


def test_crc_is_that_of_j1850():
    """Check value of CRC-8/SAE-J1850 for the digits 1 to 9 is 0x4B (catalogue of parametrised CRC algorithms)."""
    digits = b"123456789"
    assert crc8(digits[0] | digits[1] << 8, digits[2:]) == 0x4B


def test_the_database_says_how_variables_travel():
    made = database(5e-3)
    into, out, other = sorted(made.messages, key=lambda m: m.frame_id)
    assert {s.name for s in out.signals} == {"CRC", "Alive", "Echo", "shaft_tau", "on"}
    assert {s.name for s in other.signals} == {"CRC", "Alive", "Echo", "v_1_F"}
    tau = out.get_signal_by_name("shaft_tau")
    assert (tau.minimum, tau.maximum, tau.unit) == (-100.0, 100.0, "N.m")
    assert tau.conversion.scale == 200.0 / 65535
    assert tau.comment.startswith("shaft.tau: torque  into  it")
    assert other.get_signal_by_name("v_1_F").is_float
    assert {m.cycle_time for m in (out, other, into)} == {5}
    assert {m.length for m in made.messages} == {8}
    assert [cycle_time(h) for h in (5e-5, 1e-3, 3e-4, 0.02)] == [20, 1, 4, 1]


def test_values_arrive_within_half_a_quantum(pair):
    rig, ecu = pair()
    random = np.random.default_rng(0)
    for _ in range(40):
        given = {"shaft.tau": random.uniform(-100, 100), "on": float(random.random() < 0.5), "1.F": random.normal()}
        rig.send(given)
        got = everything(ecu)
        assert abs(got["shaft.tau"] - given["shaft.tau"]) <= 0.5 * 200.0 / 65535 + 1e-9
        assert got["on"] == given["on"]
        assert got["1.F"] == np.float32(given["1.F"])
    assert ecu.counts["taken"] == 80
    assert set(ecu.counts) == {"received", "taken", "missing"}
    rig.send({"shaft.tau": 1e9, "on": 0.0, "1.F": 0.0})
    assert everything(ecu)["shaft.tau"] == pytest.approx(100.0)


def test_what_is_not_finite_is_not_sent(pair):
    rig, ecu = pair()
    rig.send({"shaft.tau": np.nan, "on": 0.0, "1.F": 1.0})
    assert everything(ecu) == {"1.F": 1.0}


def test_the_echo_measures_the_round_trip(pair):
    rig, ecu = pair()
    for _ in range(20):
        rig.send({"shaft.tau": 1.0, "on": 0.0, "1.F": 1.0})
        everything(ecu)
        ecu.send({"tau_des": 2.0})
        everything(rig)
    assert len(rig.trips) == 20
    assert min(rig.trips) > 0.05
    assert rig.figures()["round_trip_ms"]["median"] > 50.0


@pytest.mark.parametrize("bit", range(0, 64, 7))
def test_every_flipped_bit_is_found(pair, bit):
    rig, ecu = pair()
    into = rig.received[0]
    sniffer = Node(rig.bus, [into], [], NAMES)
    frames = []
    sniffer.bus = type("Tap", (), {"send": lambda _, frame: frames.append(frame)})()
    sniffer.send({"tau_des": 3.0})
    data = bytearray(frames[0].data)
    data[bit // 8] ^= 1 << bit % 8
    ecu.bus.send(can.Message(arbitration_id=into.frame_id, data=data, is_extended_id=False))
    assert everything(rig) == {}
    assert rig.counts["wrong CRC"] == 1


@pytest.mark.parametrize(
    ("kind", "value", "counted"),
    [("drop", None, "missing"), ("duplicate", None, "repeated"), ("corrupt", None, "wrong CRC"), ("delay", 0.03, "")],
)
def test_faults_of_messages(pair, kind, value, counted):
    now = [0.0]
    fault = Fault(name="f", kind=kind, start=1.0, duration=1.0, value=value, message="unit_out_0")
    rig, ecu = pair([fault], lambda: now[0])
    good = {"shaft.tau": 5.0, "on": 0.0, "1.F": 1.0}
    rig.send(good)
    assert len(everything(ecu)) == 3
    now[0] = 1.5
    before = time.monotonic()
    rig.send(good | {"shaft.tau": 6.0})
    late = []
    while time.monotonic() < before + 0.2:
        rig.flush()
        if values := ecu.receive(0.005):
            late.append((time.monotonic() - before, values))
    arrived = [(t, v["shaft.tau"]) for t, v in late if "shaft.tau" in v]
    assert len(arrived) == (1 if kind in ("delay", "duplicate") else 0)
    if kind == "delay":
        assert arrived[0][0] >= 0.03
    now[0] = 3.0
    rig.send(good | {"shaft.tau": 7.0})
    assert everything(ecu)["shaft.tau"] == pytest.approx(7.0, abs=2e-3)  # taken again at once
    assert counted == "" or ecu.counts[counted] == 1
    assert rig.counts["fault f"] == 1


def test_after_a_long_gap_one_message_is_refused(pair):
    rig, ecu = pair()
    good = {"shaft.tau": 5.0, "on": 0.0, "1.F": 1.0}
    rig.send(good)
    everything(ecu)
    rig._next = dict.fromkeys(rig._next, 9)
    rig.send(good)
    assert everything(ecu) == {}
    rig.send(good)
    assert len(everything(ecu)) == 3


@pytest.mark.parametrize("channel", ["", "serial:x", "socketcan:", "socketcan:nowhere7"])
def test_channels_that_cannot_be_opened_are_refused(channel):
    with pytest.raises(InputError, match="--can"):
        open_bus(channel)


# --- on the rig -------------------------------------------------------------------------------------------------------

needs_loop = pytest.mark.skipif(not available(), reason="needs Linux and a C compiler")


@pytest.fixture(scope="module")
def kers(tmp_path_factory):
    from fmu.native.export import export_native

    return export_native(load_unit("toroidal_kers"), "rigid", tmp_path_factory.mktemp("export") / "kers.fmu")


class Demander:
    """A control unit that sends a torque demand every 5 ms."""

    def __init__(self, channel: str, dbc: Path, demand: float):
        import cantools

        made = cantools.database.load_file(dbc)
        names = {"control_tau_des": "control.tau_des", "shaft_tau": "shaft.tau"}
        sent = [m for m in made.messages if "control_tau_des" in m.signal_tree]
        received = [m for m in made.messages if "shaft_tau" in m.signal_tree]
        self.bus = open_bus(channel)
        self.node, self.demand, self.last = Node(self.bus, sent, received, names), demand, {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            self.node.send({"control.tau_des": self.demand})
            self.last |= self.node.receive(0.005)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.1)
        self.ended.set()
        self.thread.join()
        self.bus.shutdown()


def run_with_demand(kers, tmp_path, faults=(), duration=1.2, **more):
    channel, dbc = next(channels), tmp_path / "bus.dbc"
    scenario = Scenario(name="t", duration=duration, inputs={"shaft.w": "1000 rpm"})
    make = can_attachment(channel, timeout=0.1, save=dbc)
    rig = Rig(faults=tuple(faults), fallback={"control.tau_des": 0.45})
    run_rig(kers, 5e-3, 0.01, scenario, rig, attach=[make])  # makes the database
    with Demander(channel, dbc, 2.0) as ecu:
        report = run_rig(kers, 5e-3, None, scenario, rig, tmp_path / "run.h5", attach=[make], **more)
    return report, read(tmp_path / "run.h5").signals, ecu


@needs_loop
@pytest.mark.parametrize("kind", ["drop", "corrupt", "delay", "duplicate"])
def test_the_fall_back_holds_in_every_fault_of_messages(kers, tmp_path, kind):
    value = 0.3 if kind == "delay" else None
    faults = [Fault(name="f", kind=kind, start=0.4, duration=0.3, value=value, message="toroidal_kers_in_0")]
    report, kept, ecu = run_with_demand(kers, tmp_path, faults)
    demand, flags = kept["control.tau_des"].values, kept["flags"].values.astype(int)
    quantum = report.figures["can"]["quanta"]["control.tau_des"]
    good, fallen = np.abs(demand - 2.0) <= 0.51 * quantum, demand == 0.45
    assert (good | fallen).all()
    np.testing.assert_array_equal(fallen[:-1], (flags[:-1] & 2) > 0)
    assert good[40:80].any()
    assert good[-20:].any()
    if kind == "duplicate":
        assert report.figures["can"]["counts"]["repeated"] > 10
    else:
        assert fallen[110:130].all()
    assert report.completed
    assert report.figures["can"]["counts"]["taken"] > 50
    assert ecu.last["shaft.tau"] == pytest.approx(0.0, abs=2e-3)  # at the end the outputs fall back


@needs_loop
def test_a_bus_that_vanishes_ends_the_run(kers, tmp_path, monkeypatch):
    calls = itertools.count()
    before = Node.send

    def fails(self, values):
        if "shaft.tau" in values and next(calls) > 40:
            raise can.CanOperationError("Network is down")
        before(self, values)

    monkeypatch.setattr(Node, "send", fails)
    report, kept, _ = run_with_demand(kers, tmp_path, duration=5.0)
    assert "is gone: Network is down" in report.message
    assert len(kept["shaft.tau"].values) > 30


@needs_loop
def test_a_database_without_the_units_variables_is_refused(kers, tmp_path):
    other = tmp_path / "other.dbc"
    other.write_text(generate("other", [DEMAND], [TAU], 1e-3).replace("shaft_tau", "axle_tau"))
    with pytest.raises(InputError, match="none is called like a variable"):
        run_rig(kers, duration=0.1, attach=[can_attachment("virtual:x", other)])
    other.write_text("nothing")
    with pytest.raises(InputError, match="--dbc"):
        run_rig(kers, duration=0.1, attach=[can_attachment("virtual:x", other)])


def plant_text() -> str:
    """The toroidal KERS with a position actuator in the place of its controller."""
    text = load_unit("toroidal_kers").text
    actuator = '[controller.position]\nacts_on = "theta"\ntime_constant = "100 ms"\nlimit_time = "50 ms"\n'
    return text[: text.index("[controller.kers]")] + actuator


@pytest.mark.parametrize(("delay", "limit"), [(0, 5e-3), (1, 5e-3), (2, 1e-2), (4, 2e-2)])
def test_the_law_in_lock_step_is_that_of_the_whole_unit(delay, limit):
    """Without jitter and quanta: the law solved for the rate, some steps late, against the law inside the unit."""
    from rtcvt.pog.system import build_model
    from rtcvt.simulate import simulate

    h, n, demand = 5e-3, 800, "0.45 + 1.5*(1 - cos(2*pi*t/4))"
    scenario = Scenario(name="w", duration=n * h, inputs={"control.tau_des": demand})
    whole = simulate(build_model(load_unit("toroidal_kers"), "rigid"), scenario, h)
    plant = build_model(read_unit(plant_text(), "plant"), "rigid").instantiate()
    plant.set("shaft.w", 1000 * np.pi / 30)
    plant.initialise()
    law, line = law_of(load_unit("toroidal_kers"), 0.1), [0.0] * delay
    theta, tau = np.empty(n + 1), np.empty(n + 1)
    for k in range(n + 1):
        theta[k], tau[k] = plant.get("control.theta"), plant.get("shaft.tau")
        desired = 0.45 + 1.5 * (1 - np.cos(0.5 * np.pi * k * h))
        line.append(law.update(k * h, h, theta[k], plant.get("gear.d.w"), desired))
        plant.set("control.theta_des", line.pop(0))
        plant.step(h)
    rate = np.max(np.abs(np.gradient(whole["control.theta"], h)))
    assert np.max(np.abs(theta - whole["control.theta"])) <= (delay + 1) * h * rate
    scale = np.max(np.abs(whole["shaft.tau"]))
    assert np.sqrt(np.mean((tau - whole["shaft.tau"])[100:] ** 2)) < limit * scale


def multicast() -> bool:
    try:
        open_bus("udp_multicast:239.74.163.2").shutdown()
    except InputError:
        return False
    return True


@needs_loop
@pytest.mark.skipif(not multicast(), reason="needs multicast on this machine")
def test_the_controller_as_a_process_on_the_bus_equals_the_whole_unit(tmp_path):
    """Within delay and quanta: the tilt differs by no more than it moves in the longest delay that was measured."""
    from fmu.native.export import export_native
    from rtcvt.pog.system import build_model
    from rtcvt.simulate import simulate

    duration, demand, h = 4.0, "0.45 + 1.5*(1 - cos(2*pi*t/4))", 5e-3
    whole = simulate(build_model(load_unit("toroidal_kers"), "rigid"),
                     Scenario(name="w", duration=duration, inputs={"control.tau_des": demand}), h)  # fmt: skip
    plant = export_native(read_unit(plant_text(), "plant"), "rigid", tmp_path / "plant.fmu")
    channel, dbc = "udp_multicast:239.74.163.7", tmp_path / "bus.dbc"
    scenario = Scenario(name="p", duration=duration, inputs={"shaft.w": "1000 rpm"})
    make = can_attachment(channel, timeout=0.5, save=dbc)
    run_rig(plant, h, 0.01, scenario, attach=[make])
    words = ["toroidal_kers", "--can", channel, "--dbc", str(dbc), "--demand", demand]
    ecu = subprocess.Popen([sys.executable, "-m", "hil.ecu", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert ecu.stdout is not None
        assert ecu.stdout.readline().strip() == "ready"
        report = run_rig(plant, h, None, scenario, output=tmp_path / "run.h5", attach=[make])
    finally:
        ecu.terminate()
        assert ecu.wait(timeout=30) == 0
    bus = report.figures["can"]
    assert report.completed
    kept = read(tmp_path / "run.h5").signals
    theta, tau = kept["control.theta"].values, kept["shaft.tau"].values
    delay = 1e-3 * (bus["round_trip_ms"]["max"] + bus["gap_ms"]["max"]) + 2 * h
    rate = np.max(np.abs(np.gradient(whole["control.theta"], h)))
    error = np.max(np.abs(theta - whole["control.theta"]))
    print(f"\ndelay at most {delay * 1e3:.1f} ms, tilt error {error:.2e} rad, allowed {delay * rate:.2e} rad; {bus}")
    assert error <= delay * rate + 10 * bus["quanta"]["control.theta"]
    scale = np.max(np.abs(whole["shaft.tau"]))
    nrms = np.sqrt(np.mean((tau - whole["shaft.tau"])[100:] ** 2)) / scale
    print(f"torque: {nrms:.2%} of {scale:.2f} N.m")
    assert nrms < 0.02 + delay / 0.1
