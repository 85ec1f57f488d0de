"""Variables survive the bus within their quantum, bad messages do not, and the fall-back holds in every fault."""

import errno
import itertools
import json
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import can
import numpy as np
import pytest
from can.interfaces.udp_multicast.utils import pack_message
from controller_on_a_bus import compare, demonstrate
from instances import started
from kers_ecu import law_of
from marks import slow
from refusals import refused
from rows import cases, mistakes, tables, text_of

from rtcvt.errors import InputError
from rtcvt.hil.bus import Node, crc8, open_bus, reach, require_usable
from rtcvt.hil.can_attachment import OWN, _chosen, can_attachment, plan_of, read_database
from rtcvt.hil.dbc import FROM_RIG, WATCHDOG, cycle_time, generate, parse, signal_names
from rtcvt.hil.importer import open_fmu
from rtcvt.hil.multicast import _is_own, free_group
from rtcvt.hil.pacing import BUS_PRIORITY, take_fifo
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import Rig, run_rig
from rtcvt.kind import load_unit
from rtcvt.model import Variable
from rtcvt.quantity import known_unit
from rtcvt.scenario import Fault, Scenario

TAU = Variable("shaft.tau", "output", 0, "N.m", 'torque "into" it', minimum=-100.0, maximum=100.0)
ON = Variable("on", "output", 1, "1", "", boolean=True)
FORCE = Variable("1.F", "output", 2, "N", "no range")
DEMAND = Variable("tau_des", "input", 0, "N.m", "", minimum=-50.0, maximum=50.0)
NAMES = {signal: name for name, signal in signal_names((TAU, ON, FORCE, DEMAND)).items()}
channels = (f"virtual:test{i}" for i in itertools.count())


def database(step=1e-3):
    return parse(generate("unit", [DEMAND], [TAU, ON, FORCE], step))


@pytest.fixture
def pair():
    """Two nodes on one bus and what makes them with faults."""
    channel, opened = next(channels), []

    def make(faults=(), acting=lambda _: True):
        buses = [open_bus(channel), open_bus(channel)]
        opened.extend(buses)
        out = [m for m in database().messages if m.frame_id >= FROM_RIG]
        into = [m for m in database().messages if m.frame_id < WATCHDOG]
        return Node(buses[0], out, into, NAMES, faults, acting), Node(buses[1], into, out, NAMES)

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
    into, watchdog, out, other = sorted(made.messages, key=lambda m: m.frame_id)
    assert {s.name for s in watchdog.signals} == {"CRC", "Alive", "rig_heartbeat", "rig_state"}
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
    for _ in range(10):
        given = {"shaft.tau": random.uniform(-100, 100), "on": float(random.random() < 0.5), "1.F": random.normal()}
        rig.send(given)
        got = everything(ecu)
        assert abs(got["shaft.tau"] - given["shaft.tau"]) <= 0.5 * 200.0 / 65535 + 1e-9
        assert got["on"] == given["on"]
        assert got["1.F"] == np.float32(given["1.F"])
    assert ecu.counts["taken"] == 20
    assert set(ecu.counts) == {"received", "taken", "missing"}
    rig.send({"shaft.tau": 1e9, "on": 0.0, "1.F": 0.0})
    assert everything(ecu)["shaft.tau"] == pytest.approx(100.0)


def test_a_clock_that_is_put_back_holds_nobody_up(pair, monkeypatch):
    """python-can's own wait would go on for the hour."""
    _, ecu = pair()
    hours = itertools.count(0.0, -3600.0)
    monkeypatch.setattr("can.bus.time", lambda: next(hours))
    monkeypatch.setattr("time.time", lambda: next(hours))
    waiting = threading.Thread(target=ecu.receive, args=(0.05,), daemon=True)
    waiting.start()
    waiting.join(5.0)
    assert not waiting.is_alive()


def test_what_is_not_finite_is_not_sent(pair):
    rig, ecu = pair()
    rig.send({"shaft.tau": np.nan, "on": 0.0, "1.F": 1.0})
    assert everything(ecu) == {"1.F": 1.0}


def test_the_echo_measures_the_round_trip(pair):
    rig, ecu = pair()
    for _ in range(5):
        rig.send({"shaft.tau": 1.0, "on": 0.0, "1.F": 1.0})
        everything(ecu)
        ecu.send({"tau_des": 2.0})
        everything(rig)
    assert len(rig.trips) == 5
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


@cases
def test_faults_of_messages(pair, kind, value, counted):
    acts = [False]
    fault = Fault(name="f", kind=kind, start=1.0, duration=1.0, value=value, message="unit_out_0")
    rig, ecu = pair([fault], lambda _: acts[0])
    good = {"shaft.tau": 5.0, "on": 0.0, "1.F": 1.0}
    rig.send(good)
    assert len(everything(ecu)) == 3
    acts[0] = True
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
    acts[0] = False
    rig.send(good | {"shaft.tau": 7.0})
    assert everything(ecu)["shaft.tau"] == pytest.approx(7.0, abs=2e-3)  # taken again at once
    assert counted == "" or ecu.counts[counted] == 1
    assert rig.counts["fault f"] == 1


def test_frames_that_are_no_messages_are_left_alone(pair):
    """An error frame's identifier holds its class, and may be that of a message."""
    rig, _ = pair()
    identifier = rig.received[0].frame_id
    for kind in ({"is_error_frame": True}, {"is_remote_frame": True}, {"is_extended_id": True}):
        frame = can.Message(**{"arbitration_id": identifier, "is_extended_id": False, "dlc": 8, **kind})
        frames = iter([frame])
        rig.bus.recv = lambda _timeout, frames=frames: next(frames, None)
        assert rig.receive(0.01) == {}
    assert rig.counts["received"] == 0


def test_a_bus_that_nobody_acknowledges_takes_what_fits(pair):
    """Linux says ENOBUFS when the interface's queue is full; the queue empties again once there is another node."""
    rig, ecu = pair()
    send, calls = rig.bus.send, itertools.count()

    def full(frame):
        if next(calls) < 4:
            raise can.CanOperationError("Failed to transmit: No buffer space available", errno.ENOBUFS)
        send(frame)

    rig.bus.send = full
    good = {"shaft.tau": 5.0, "on": 0.0, "1.F": 1.0}
    for _ in range(3):
        rig.send(good)
    assert len(everything(ecu)) == 3
    assert (rig.counts["no room"], rig.counts["sent"]) == (4, 2)


GIVEN = text_of("dbc/given.dbc")


def test_a_database_of_others_is_used_as_it_is(pair):
    """Extended identifiers, Motorola byte order, signals that are no variables, messages without guard."""
    rig, ecu = pair()
    messages = parse(GIVEN).messages
    for message in messages:
        require_usable(message)
    rig, ecu = Node(rig.bus, messages, [], NAMES), Node(ecu.bus, [], messages, NAMES)
    rig.send({"shaft.tau": -12.34, "1.F": 1.5})
    assert everything(ecu) == {"shaft.tau": pytest.approx(-12.34), "1.F": 1.5}
    assert messages[0].is_extended_frame
    ecu._alive[messages[0].frame_id] = 9  # a gap
    rig.send({"shaft.tau": 1.0, "1.F": 2.5})
    assert everything(ecu) == {"1.F": 2.5}
    assert ecu.counts["wrong counter"] == 1


@mistakes
def test_messages_that_cannot_be_guarded_are_refused(old, new, key):
    text = GIVEN.replace(old, new).replace("Alive :", "Alive M :" if "m1" in new else "Alive :")
    if "9 A" in new:
        text += J1939_FORMAT
    drive = parse(text).get_message_by_name("drive")
    refused(f"--dbc: {key}", require_usable, drive)


J1939_FORMAT = text_of("dbc/j1939_format.dbc")


NARROW = text_of("dbc/narrow.dbc")


def test_values_that_a_signal_cannot_hold_are_clamped_and_counted(pair):
    """What the bits hold counts, whatever range the database gives."""
    rig, ecu = pair()
    messages = parse(NARROW).messages
    rig, ecu = Node(rig.bus, messages, [], NAMES), Node(ecu.bus, [], messages, NAMES)
    for tau, force, on, expected in (
        (-50.0, 1e6, 1e30, (-5.0, 1.0 + 16384.0, 2.0**64 - 2048)),
        (1e9, -1e6, -1.0, (650.35, 1.0 - 0.5 * 32767, 0.0)),
        (7.0, 3.0, 5.0, (7.0, 3.0, 5.0)),
    ):
        rig.send({"shaft.tau": tau, "1.F": force, "on": on})
        got = everything(ecu)
        assert (got["shaft.tau"], got["1.F"], got["on"]) == pytest.approx(expected, rel=1e-12)
    rig.send({"shaft.tau": np.inf, "1.F": 0.0, "on": np.nan})
    assert everything(ecu) == {}
    assert rig.clamped == {"shaft_tau": 2, "v_1_F": 2, "on": 2}
    assert rig.not_finite == {"shaft_tau": 1, "on": 1}
    assert rig.figures()["clamped"] == rig.clamped


J1939 = text_of("dbc/j1939.dbc")
COMING = [
    Variable("n", "input", 0, "rad/s", "", minimum=0.0, maximum=400.0),
    Variable("on", "input", 1, "1", "", minimum=0.0, maximum=1.0, boolean=True),
    Variable("pos", "input", 2, "1", "", minimum=0.0, maximum=1.0),
    Variable("mode", "input", 3, "1", "", choices=("off", "go"), numbers=(1, 4)),
    Variable("T", "input", 4, "K", ""),
]


def planned(text, inputs=(), outputs=(), nodes=(), send=None, step=1e-3):
    called = signal_names((*inputs, *outputs))
    return plan_of(parse(text), called, inputs, outputs, (), step, nodes, send=send)


def test_received_values_are_converted_limited_held_and_counted():
    plan = planned(J1939, COMING)
    node = Node(None, [], plan.taken, plan.names, wires=plan.wires)

    def take(*raw):
        n, on, pos, mode, temperature = raw
        data = n.to_bytes(2, "little") + bytes((on, pos, mode, temperature, 0, 0, 0, 0)[:6])
        return node._take(can.Message(arbitration_id=256, data=data[:8], is_extended_id=False), 0.0)

    assert take(0xFFFF, 3, 0xFF, 2, 0x80) == {}
    rpm = np.pi / 30
    good = {"n": pytest.approx(3000 * rpm), "on": 1.0, "pos": 1.0, "mode": 4.0, "T": pytest.approx(273.15)}
    node.held.clear()
    assert take(24000, 1, 3, 4, 0) == good
    assert node.clamped == {"pos": 1}
    assert take(0xFE00, 2, 0xFE, 9, 0x81) == {}  # so that the time-out goes on
    assert take(0xFFFF, 3, 0xFF, 0, 0x80) == {}
    assert node.held == {
        f"{name} {what}": 1 for name in ("n", "on", "pos", "T") for what in ("error", "not available")
    } | {"mode no item": 2}
    assert take(40000, 0, 0, 1, 5)["n"] == 400.0
    assert node.clamped == {"pos": 1, "n": 1}
    assert any("pos [%" in note for note in plan.notes)


def test_what_means_not_available_is_not_sent_as_a_number():
    text = 'BO_ 256 M: 8 RIG\n SG_ F : 0|8@1+ (1,-100) [-100|155] "N" ECU\n SG_ T : 8|8@1- (2,0) [0|0] "N" ECU\n'
    message = parse(f'{text}VAL_ 256 F 255 "SNA" 254 "Signal_Not_Valid" 3 "n/a" ;\nVAL_ 256 T -128 "SNA" ;\n').messages[
        0
    ]
    assert [reach(s) for s in message.signals] == [(-100.0, 153.0), (-254.0, 254.0)]


def test_what_a_value_table_says_is_told_in_many_words():
    """A name beyond the range is none in any language."""
    said = {"error": "Sensorfehler|défaut|Erreur|inválido|guasto|Störung|ошибка|故障|INVALID",
            "not available": "SNA|n.a.|Signal_Not_Valid|nicht verfügbar|Ungueltig|non disponible|不可用|Initialwert",
            "": "No Error|NoFault|Fehlerfrei|kein Fehler|Error free|Default|Interrupt|Ferry mode|valid"}  # fmt: skip
    for what, words in said.items():
        for word in words.split("|"):
            plan = planned(J1939.replace("Sensorfehler", word), COMING)
            node = Node(None, [], plan.taken, plan.names, wires=plan.wires)
            node._take(can.Message(arbitration_id=256, data=b"\0\0\0\0\0\x81\0\0", is_extended_id=False), 0.0)
            assert [key for key in node.held if key.startswith("T")] == [f"T {what}"] * bool(what), word
    plan = planned(J1939.replace("[0|0]", "[-40|80]").replace("Sensorfehler", "niedostępny"), COMING)
    node = Node(None, [], plan.taken, plan.names, wires=plan.wires)
    node._take(can.Message(arbitration_id=256, data=b"\0\0\0\0\0\x81\0\0", is_extended_id=False), 0.0)
    assert node.held["T niedostępny"] == 1


@pytest.mark.parametrize("conversion", ["(0,0)", "(1e400,0)", "(1,-1e400)"])
def test_a_conversion_that_gives_no_numbers_is_refused(conversion):
    with pytest.raises(InputError, match=r"M\.x = .*a finite scale that is not 0"):
        planned(f'BO_ 256 M: 8 ECU\n SG_ x : 0|8@1+ {conversion} [0|0] "" RIG\n', [Variable("x", "input", 0, "1", "")])


def test_a_received_number_beyond_all_numbers_is_none():
    given = Variable("x", "input", 0, "1", "")
    plan = planned('BO_ 256 M: 8 ECU\n SG_ x : 0|8@1+ (1e308,0) [0|0] "" RIG\n', [given])
    node = Node(None, [], plan.taken, plan.names, wires=plan.wires)
    assert node._take(can.Message(arbitration_id=256, data=b"\5" * 8, is_extended_id=False), 0.0) == {}
    assert node.held == {"x not finite": 1}


PAGED = text_of("dbc/paged.dbc")
LEAVING = [Variable("F", "output", 0, "N", ""), Variable("w", "output", 1, "rad/s", ""),
           Variable("on", "output", 2, "1", "", boolean=True), Variable("last", "output", 3, "rad/s", "")]  # fmt: skip


@pytest.mark.parametrize("interface", ["virtual", "udp_multicast"])
def test_pages_of_a_message_and_messages_of_can_fd_arrive(interface):
    """Each page that has a variable is sent, nested ones too; a page that the database has not is counted."""
    plan = planned(PAGED, (), LEAVING)
    channel = next(channels) if interface == "virtual" else f"udp_multicast:{free_group()}"
    with open_bus(channel, fd=True) as one, open_bus(channel, fd=True) as two:
        rig, ecu = Node(one, plan.given, [], plan.names, wires=plan.wires), Node(two, [], plan.given, plan.names)
        rig.send({"F": -7000.0, "w": 12.5, "on": 1.0, "last": 9.0})
        assert everything(ecu) == {"F": -7.0, "w": 12.5, "on": 1.0, "last": 9.0}
        assert ecu.counts == {"received": 3, "taken": 3, "missing": 0}
        rig.send({"F": np.nan, "w": 2.5, "on": 0.0, "last": 9.0})
        assert everything(ecu) == {"w": 2.5, "on": 0.0, "last": 9.0}
        body = bytes([0x0F, 0, 0, 0, 0, 0, 0])
        one.send(can.Message(arbitration_id=256, data=body[:1] + bytes([crc8(256, body)]) + body[1:],
                             is_extended_id=False))  # fmt: skip
        assert everything(ecu) == {}
        assert ecu.counts["unknown multiplexer"] == 1
    classic, long = 34 + 64 + 24 + 13, 22 + 160 + 45 + 25 + 7 + 13
    assert plan.load == pytest.approx((2 * classic + long) / 1e-3 / 500e3)


def test_a_multiplexer_that_is_an_output_is_refused():
    with pytest.raises(InputError, match=r"out\.which.*no multiplexer"):
        planned(PAGED, (), [*LEAVING, Variable("which", "output", 4, "1", "")])


def test_a_range_beyond_its_bits_is_refused_and_one_that_is_none_is_told():
    text, leaving = 'BO_ 256 m: 8 RIG\n SG_ x : 0|8@1+ (1,0) [{}] "" ECU\n', [Variable("x", "output", 0, "1", "")]
    refused(r"m\.x = '\[300\|400\]': a range that its 8 bits reach", planned, text.format("300|400"), (), leaving)
    assert planned(text.format("5|-5"), (), leaving).notes == ["the range of m.x, 5 to -5, is empty and not used"]


@cases
def test_a_cycle_time_that_is_none_counts_as_that_of_the_rig(cycle):
    text = 'BO_ 256 m: 8 ECU\n SG_ x : 0|8@1+ (1,0) [0|0] "" RIG\n'
    attribute = f'BA_DEF_ BO_ "GenMsgCycleTime" {cycle};\n'
    arriving = [Variable("x", "input", 0, "1", "")]
    assert planned(text + attribute, arriving).load == planned(text, arriving).load


def test_a_unit_of_another_kind_or_unknown_is_refused_by_name():
    for unit in ("bar", "Umin", "Nm"):
        refused(rf"in\.n = '{unit}'.*rad/s", planned, J1939.replace('"rpm"', f'"{unit}"'), COMING)


def test_a_number_without_unit_is_one_if_its_description_says_so():
    share = replace(COMING[2], defined=known_unit("1"))
    plan = planned(J1939, [share])
    assert (plan.wires[256, "pos"].factor, plan.notes) == (0.01, [])
    refused(r"in\.pos = 'rpm'", planned, J1939.replace('"%"', '"rpm"'), [share])
    told = planned(J1939.replace('"%"', '"gears"'), [replace(share, maximum=None, whole=(-128, 127))])
    assert told.wires[256, "pos"].high == 127
    assert any("pos [gears" in note for note in told.notes)


def test_sent_values_are_in_the_signals_unit(pair):
    text = J1939.replace("256 in: 8 ECU", "256 out: 8 RIG")
    plan = planned(text, (), [Variable("n", "output", 0, "rad/s", ""), Variable("T", "output", 1, "K", "")])
    rig, ecu = pair()
    Node(rig.bus, plan.given, [], plan.names, wires=plan.wires).send({"n": 3000 * np.pi / 30, "T": 300.15})
    got = everything(Node(ecu.bus, [], plan.given, {"n": "n", "T": "T"}))
    assert got == {"n": pytest.approx(3000.0), "T": pytest.approx(27.0)}


def test_only_messages_of_the_rigs_node_are_sent():
    text = text_of("dbc/nodes.dbc")
    refused("CVT or GATEWAY", planned, text, (), [TAU])
    refused("a node of the database", planned, text, (), [TAU], ["ABS"])
    plan = planned(text, (), [TAU], ["CVT"])
    assert [m.name for m in plan.given] == ["a"]
    assert any("b is not sent" in note for note in plan.notes)
    assert any("odd" in note for note in plan.notes)


def test_names_that_would_be_one_are_told_apart():
    long = "a.long.name." * 4
    names = ("wheel.fl", "wheel_fl", "CRC", "rig.heartbeat", "SG_", f"{long}p", f"{long}q")
    rows = [Variable(name, "output", k, "1", "") for k, name in enumerate(names)]
    text = generate("a unit of a name that is longer than thirty-two", [], rows, 1e-3)
    assert max(len(word) for line in text.splitlines() if "_ " in line[:5] for word in line.split()[1:3]) <= 32
    plan = planned(text, (), rows)
    assert sorted(set(plan.names.values()) - {"\0rig_heartbeat", "\0rig_state"}) == sorted(v.name for v in rows)
    sent = {s.name for m in plan.given for s in m.signals}
    assert {signal for signal, name in plan.names.items()} <= sent
    assert plan.names["wheel_fl"] == "wheel_fl"
    assert "wheel.fl is wheel_fl_2 on the bus, where wheel_fl is wheel_fl" in plan.notes
    assert "SG_ is SG__2 on the bus, where SG_ means more" in plan.notes


@pytest.mark.parametrize(
    ("whole", "bounds", "value"),
    [((-(2**31), 2**31 - 1), (None, None), 20000001), ((0, 2**32 - 1), (None, None), 2**32 - 1),
     ((0, 255), (None, None), 255), ((-(2**53), 2**53), (None, None), -(2**46)),
     ((-(2**31), 2**31 - 1), (0, 1e5), 99999),
     *((None, absurd, 12.5) for absurd in ((-1e60, 1e60), (-1.7e308, 1.7e308), (-np.inf, np.inf), (np.nan, 100.0)))],
)  # fmt: skip
def test_integers_and_numbers_of_absurd_bounds_arrive_as_they_are(pair, whole, bounds, value):
    row = Variable("i", "output", 0, "1", "", minimum=bounds[0], maximum=bounds[1], whole=whole)
    plan = planned(generate("u", [], [row], 1e-3), (), [row])
    rig, ecu = pair()
    Node(rig.bus, plan.given, [], plan.names, wires=plan.wires).send({"i": value} | {v: 0.0 for v in OWN.values()})
    assert everything(Node(ecu.bus, [], plan.given, plan.names))["i"] == value


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_databases_of_any_code_page_are_read(tmp_path, encoding):
    path = tmp_path / "x.dbc"
    path.write_bytes(J1939.replace('"degC"', '"°C"').encode(encoding))
    assert read_database(path).get_message_by_name("in").get_signal_by_name("T").unit == "°C"


def test_statements_that_cannot_be_read_are_left_out(tmp_path, caplog):
    path = tmp_path / "x.dbc"
    odd = 'BO_ 3 9x: 8 ECU\n SG_ z : 0|8@1+ (1,0) [0|0] "" RIG\n\nBO_ 4 q: 8 ECU\n SG_ z : 0|8@1+ (1,0) [0|0] "a RIG\n'
    path.write_text(J1939.replace("VAL_ 256", odd + "EV_ what is this;\nVAL_ 256"))
    assert [m.name for m in read_database(path).messages] == ["in"]
    assert "9x" in caplog.text
    assert "BO_ 4 q" in caplog.text


def test_padded_frames_are_taken_and_short_ones_are_not(pair):
    text = J1939.replace("in: 8 ECU", "in: 6 ECU")
    message = parse(text).messages[0]
    node = Node(pair()[0].bus, [], [message], {"n": "n"})
    for length, taken in ((6, 1), (8, 2), (5, 2)):
        node._take(can.Message(arbitration_id=256, data=bytes(length), is_extended_id=False), 0.0)
        assert node.counts["taken"] == taken
    assert node.counts["wrong length"] == 1


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with SocketCAN and two interfaces, one of which is up; ``eth0`` is none of CAN."""
    for name, kind, flags in (("can0", "280", "0x40c1"), ("can1", "280", "0x40c0"), ("eth0", "1", "0x1003")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(f"{kind}\n")
        (tmp_path / name / "flags").write_text(f"{flags}\n")
    monkeypatch.setattr("rtcvt.hil.bus.INTERFACES_OF_SYSTEM", tmp_path)
    monkeypatch.setattr("rtcvt.hil.bus.socket.socket", lambda *_: type("Socket", (), {"close": lambda _: None})())


@mistakes
def test_an_interface_that_is_not_there_or_down_is_said(machine, name, message):
    refused(f"--can = 'socketcan:{name}': {message}", open_bus, f"socketcan:{name}")


def test_a_system_without_socketcan_says_so(monkeypatch):
    def refuse(*_):
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr("rtcvt.hil.bus.socket.socket", refuse)
    refused(r"this system has no SocketCAN .*Address family", open_bus, "socketcan:can0")


@mistakes
def test_channels_that_cannot_be_opened_are_refused(channel, message):
    refused(message, open_bus, channel)


# --- on the rig -------------------------------------------------------------------------------------------------------

needs_loop = pytest.mark.needs("loop")


class Demander:
    """A control unit that sends a torque demand every 5 ms and keeps what it hears: time [s], torque [N.m]."""

    def __init__(self, channel: str, dbc: Path, demand: float):
        import cantools

        made = cantools.database.load_file(dbc)
        names = {"control_tau_des": "control.tau_des", "shaft_tau": "shaft.tau"}
        sent = [m for m in made.messages if "control_tau_des" in m.signal_tree]
        received = [m for m in made.messages if "shaft_tau" in m.signal_tree]
        self.bus = open_bus(channel)
        self.node, self.demand, self.last = Node(self.bus, sent, received, names), demand, {}
        self.heard: list[tuple[float, float]] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        take_fifo(BUS_PRIORITY)  # where permitted: a control unit has its processor
        while not self.ended.is_set():
            self.node.send({"control.tau_des": self.demand})
            got = self.node.receive(0.005)
            self.last |= got
            if "shaft.tau" in got:
                self.heard.append((time.monotonic(), got["shaft.tau"]))

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
def test_the_fall_back_holds_while_messages_are_lost(kers, tmp_path):
    """Of other faults: `test_a_report_tells_the_recovery_from_every_fault`."""
    faults = [Fault(name="f", kind="drop", start=0.4, duration=0.3, message="toroidal_kers_in_0")]
    report, kept, ecu = run_with_demand(kers, tmp_path, faults)
    demand, flags = kept["control.tau_des"].values, kept["flags"].values.astype(int)
    quantum = report.figures["can"]["quanta"]["control.tau_des"]
    good, fallen = np.abs(demand - 2.0) <= 0.51 * quantum, demand == 0.45
    assert (good | fallen).all()
    np.testing.assert_array_equal(fallen[:-1], (flags[:-1] & 2) > 0)
    assert good[40:80].any()
    assert good[-20:].any()
    assert fallen[110:130].all()
    assert report.completed
    assert report.figures["can"]["counts"]["taken"] > 50
    assert ecu.last["shaft.tau"] == pytest.approx(0.0, abs=2e-3)  # at the end the outputs fall back


TIMEOUT = 0.1  # [s] of either side


def seen(ecu, quantum):
    """What the other side sees: whether each torque is the fall-back, and the longest time that a value stood alone."""
    when, torque = np.array(ecu.heard).T
    return when - when[0], np.abs(torque) <= 0.51 * quantum, np.max(np.diff(when))


@needs_loop
def test_the_fall_back_reaches_the_bus_during_a_unit_error(kers, tmp_path):
    fault = Fault(name="dead", kind="unit_error", start=0.5, duration=0.3)
    report, kept, ecu = run_with_demand(kers, tmp_path, [fault])
    quantum = report.figures["can"]["quanta"]["shaft.tau"]
    when, fallen, alone = seen(ecu, quantum)
    assert fallen[(when > 0.55) & (when < 0.75)].all()
    assert not fallen[(when > 0.2) & (when < 0.45)].any()
    assert not fallen[(when > 0.85) & (when < 1.1)].any()
    assert fallen[-3:].all()  # the end of the run
    assert alone < 2 * TIMEOUT
    (said,) = report.figures["faults"]
    assert said["no_result"] == 60
    assert said["recovered_after_s"] < 0.1
    assert (kept["shaft.tau"].values[101:160] == 0.0).all()


@needs_loop
@pytest.mark.alone
def test_the_fall_back_reaches_the_bus_during_an_overload(kers, tmp_path):
    """A step that takes three time-outs: the other side gets the fall-back, not silence, and then the unit again."""
    fault = Fault(name="slow", kind="overload", value=3 * TIMEOUT, start=0.5, duration=5e-3)
    report, _, ecu = run_with_demand(kers, tmp_path, [fault], duration=1.5)
    bus = report.figures["can"]
    when, fallen, alone = seen(ecu, bus["quanta"]["shaft.tau"])
    first, last = np.flatnonzero(~fallen)[[0, -1]]
    overdue = first + np.flatnonzero(fallen[first:last])
    assert bus["overdue"] >= 3
    assert 3 <= len(overdue) <= bus["overdue"]
    assert (np.diff(overdue) == 1).all()  # in one piece, and the unit's again after it
    assert TIMEOUT - 0.02 < when[overdue[0]] - when[overdue[0] - 1] < 2 * TIMEOUT
    assert alone < 2 * TIMEOUT
    assert report.completed
    (said,) = report.figures["faults"]
    assert said["misses"] == 1
    assert said["recovered_after_s"] > 0.2  # the time lost is made up for at one step after the other
    assert report.figures["misses"] - report.figures["late"] >= 50


EVERY_FAULT = tables("cases/bus.toml")["every_fault"]


@pytest.mark.slow
@needs_loop
@pytest.mark.alone
def test_a_report_tells_the_recovery_from_every_fault(kers, tmp_path):
    """In turn, with a pause of 0.5 s after each: the demand is the bus's or its fall-back, whatever happens."""
    faults = [Fault(name=f["kind"], start=0.5 + 0.7 * k, duration=0.2, **f) for k, f in enumerate(EVERY_FAULT)]
    report, kept, ecu = run_with_demand(kers, tmp_path, faults, duration=7.0)
    quantum, counts = report.figures["can"]["quanta"]["control.tau_des"], report.figures["can"]["counts"]
    demand = kept["control.tau_des"].values
    assert ((np.abs(demand - 2.0) <= 0.51 * quantum) | (demand == 0.45)).all()
    assert all(np.isfinite(s.values).all() for name, s in kept.items() if name not in ("step_time", "lateness"))
    found = {f["name"]: f for f in report.figures["faults"]}
    assert set(found) == {f["kind"] for f in EVERY_FAULT}
    for name, fault in found.items():
        print(f"\n{name}: {fault}", end="")
        assert fault["steps"] == 40
        assert fault["recovered_after_s"] is not None
        end = round(200 * (fault["start"] + fault["duration"]))
        behind = np.nanmax(kept["lateness"].values[end : end + 1 + round(200 * fault["recovered_after_s"])])
        assert fault["recovered_after_s"] < 0.5 + behind  # made up for at once, at no time by the clock
    assert found["nan"]["fallbacks"] == found["unit_error"]["no_result"] == 40
    assert found["overload"]["misses"] == 40
    assert all(counts[f"fault {kind}"] > 30 for kind in ("drop", "delay", "duplicate", "corrupt"))
    assert min(found[kind]["fallbacks"] for kind in ("drop", "delay", "corrupt")) > 5
    assert np.abs(demand[-20:] - 2.0).max() <= 0.51 * quantum
    assert np.abs(ecu.heard[-1][1]) < 2e-3
    assert report.completed


OWN_MESSAGES = text_of("dbc/own.dbc")


@needs_loop
def test_the_rigs_own_messages_hold_what_the_unit_has_at_their_cycle(kers, tmp_path):
    """Driven inputs, a gain, a fixed parameter and a start value of the database, every 20 ms."""
    dbc, channel = tmp_path / "own.dbc", next(channels)
    dbc.write_text(OWN_MESSAGES)
    inputs = {"shaft.w": "1000 rpm", "control.tau_des": 1.25}
    scenario = Scenario(name="t", duration=0.4, inputs=inputs, parameters={"control.K_theta": 0.03})
    out = read_database(dbc).messages
    names = {s.name: s.name for m in out for s in m.signals}
    with open_bus(channel) as heard:
        ecu = Node(heard, [], out, names)
        attach = [can_attachment(channel, dbc, send={"out": None, "numbers": 0.05})]
        report = run_rig(kers, 5e-3, None, scenario, attach=attach)
        got = everything(ecu)
    fixed = next(v.start for v in open_interface(kers) if v.name == "gear.a.J")
    expected = {"shaft_w": 1000.0, "control_tau_des": 1.25, "Oil_Temp": 90.0, "spare": -40.0,
                "control_K_theta": pytest.approx(0.03), "gear_a_J": pytest.approx(fixed)}  # fmt: skip
    assert {name: got[name] for name in expected} == expected
    assert 34 <= ecu.counts["received"] <= 1 + 20 + 1 + 8 + 2 * 4  # at once, in each cycle, and at the end
    assert any("out.Oil_Temp = 90, out.spare = -40" in note for note in report.figures["notes"])


def open_interface(path):
    with open_fmu(path) as fmu:
        return fmu.interface.variables


def test_messages_keep_their_cycle_and_are_chosen_by_name_or_by_what_they_hold():
    """In whole steps, never faster than asked for; of two patterns that fit the last one counts."""
    leaving = [Variable("shaft.tau", "output", 0, "N.m", ""), Variable("shaft.w", "output", 1, "rad/s", "")]
    other = OWN_MESSAGES.replace("control_K_theta", "x").replace("gear_a_J", "y").replace("shaft_w", "z")
    other = other.replace(
        "BO_ 513 numbers: 8 RIG\n", 'BO_ 513 numbers: 8 RIG\n SG_ shaft_w : 0|1@1+ (1,0) [0|0] "" ECU\n'
    )
    other = other.replace("x : 0|32", "x : 1|31").replace("SIG_VALTYPE_ 513 x : 1;\n", "")
    plan = planned(other, (), leaving, step=3e-3)
    assert plan.every == {512: 7, 513: 1}
    assert any("out is sent every 21 ms, in whole steps, not every 20 ms" in note for note in plan.notes)
    assert planned(other, (), leaving, send={"*": 0.012, "numbers": 0.1}, step=2e-3).every == {512: 6, 513: 6}
    assert planned(other, (), leaving, send={"shaft.w": 0.1}).every == {513: 100}
    refused(r"--send = 'shaft\.x': a name or pattern", planned, other, (), leaving, send={"shaft.x": None})


def test_chosen_outputs_of_a_unit_fit_a_bus_at_its_step():
    """All of the KERS with a pushbelt take many times what a bus has at 1 ms."""
    outputs = load_unit("pushbelt_kers").build().select("output")
    assert planned(generate("u", [], outputs, 1e-3), (), outputs).load > 5.0
    chosen = _chosen({"shaft.*": 1e-3, "control.*": 0.02, "status.*": 0.1}, [v.name for v in outputs])
    assert 5 < len(chosen) < len(outputs)
    some = [v for v in outputs if v.name in chosen]
    plan = planned(generate("u", [], some, 1e-3, cycles=chosen), (), some)
    assert set(plan.every.values()) == {1, 20, 100}
    assert plan.load < 0.7
    tau = next(m for m in plan.given if "shaft_tau" in {s.name for s in m.signals})
    assert plan.every[tau.frame_id] == 1


@needs_loop
def test_faults_of_messages_are_in_the_recording_and_one_that_lasts_has_no_recovery(kers, tmp_path):
    faults = [Fault(name="gone", kind="drop", start=0.1, duration=0.05, message="toroidal_kers_out_0"),
              Fault(name="for good", kind="drop", start=0.2, duration=0.1, message="toroidal_kers_in_0")]  # fmt: skip
    scenario = Scenario(name="t", duration=0.3, inputs={"shaft.w": "1000 rpm"})
    attach = [can_attachment(next(channels))]
    report = run_rig(kers, 5e-3, None, scenario, Rig(faults=tuple(faults)), tmp_path / "run.h5", attach=attach)
    flags = read(tmp_path / "run.h5").signals["flags"].values.astype(int)
    on = np.r_[20:30, 40:60]
    np.testing.assert_array_equal(np.flatnonzero(flags & 4), on)
    assert [f["recovered_after_s"] for f in report.figures["faults"]] == [None, None]
    assert [f["steps"] for f in report.figures["faults"]] == [10, 20]


@needs_loop
def test_a_bus_that_vanishes_ends_the_run(kers, tmp_path, monkeypatch):
    calls = itertools.count()
    before = Node.send

    def fails(self, values, *due):
        if "shaft.tau" in values and next(calls) > 40:
            raise can.CanOperationError("Network is down")
        before(self, values, *due)

    monkeypatch.setattr(Node, "send", fails)
    report, kept, _ = run_with_demand(kers, tmp_path, duration=5.0)
    assert "is gone: Network is down" in report.message
    assert len(kept["shaft.tau"].values) > 30


@needs_loop
def test_a_database_that_cannot_hold_the_torque_does_not_silence_the_bus(kers, tmp_path):
    """The torque of 2 N.m leaves a signal that holds -5 to -4.36 N.m at most: every message is sent, clamped."""
    dbc, channel = tmp_path / "narrow.dbc", next(channels)
    dbc.write_text(NARROW.replace("16@1+ (0.01,-5)", "16@1+ (0.00001,-5)"))
    scenario = Scenario(name="t", duration=0.5, inputs={"shaft.w": "1000 rpm", "control.tau_des": 2.0})
    report = run_rig(kers, 1e-3, None, scenario, attach=[can_attachment(channel, dbc)])
    bus = report.figures["can"]
    assert report.completed
    assert bus["counts"]["sent"] > 100
    assert bus["clamped"]["shaft_tau"] == bus["counts"]["sent"]


@needs_loop
@pytest.mark.parametrize("side", [slow("send"), "receive"])
def test_a_thread_of_the_bus_that_fails_in_any_way_ends_the_run(kers, tmp_path, monkeypatch, side):
    calls = itertools.count()
    before = getattr(Node, side)

    def fails(self, *given):
        if next(calls) > 20:
            raise KeyError("a mistake")
        return before(self, *given)

    monkeypatch.setattr(Node, side, fails)
    scenario = Scenario(name="t", duration=5.0, inputs={"shaft.w": "1000 rpm"})
    report = run_rig(kers, 5e-3, None, scenario, attach=[can_attachment(next(channels))])
    assert f"{side} failed: KeyError: 'a mistake'" in report.message
    assert report.figures["steps"] < 900


@needs_loop
def test_a_database_without_the_units_variables_is_refused(kers, tmp_path):
    other = tmp_path / "other.dbc"
    other.write_text(generate("other", [DEMAND], [TAU], 1e-3).replace("shaft_tau", "axle_tau"))
    with pytest.raises(
        InputError, match=r"other\.dbc: signals: a variable of the unit: .*; this database has: .*axle_tau"
    ):
        run_rig(kers, duration=0.1, attach=[can_attachment("virtual:x", other)])
    other.write_text("nothing")
    refused("--dbc", lambda: run_rig(kers, duration=0.1, attach=[can_attachment("virtual:x", other)]))


@pytest.mark.parametrize(("delay", "limit"), [(0, 5e-3), (1, 5e-3), (2, 1e-2), (4, 2e-2)])
def test_the_law_in_lock_step_is_that_of_the_whole_unit(delay, limit):
    """Without jitter and quanta: the law solved for the rate, some steps late, against the law inside the unit."""
    from rtcvt.pog.system import build_model
    from rtcvt.simulate import simulate

    h, n, demand = 5e-3, 800, "0.45 + 1.5*(1 - cos(2*pi*t/4))"
    scenario = Scenario(name="w", duration=n * h, inputs={"control.tau_des": demand})
    whole = simulate(build_model(load_unit("toroidal_kers"), "rigid"), scenario, h)
    plant = started(build_model(load_unit("toroidal_variator"), "rigid"), shaft__w=1000 * np.pi / 30)
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


def test_the_law_does_not_run_away_from_a_tilt_that_stands_still():
    """As of a unit that is not stepped: it leads by 50 ms of the rate at any time, so it moves on without a jump."""
    law, w = law_of(load_unit("toroidal_kers"), 0.1), 1000 * np.pi / 30
    for k in range(400):
        desired = law.update(5e-3 * k, 5e-3, 0.3, w, 3.0)
        assert law.command is not None
        rate = (desired - law.command) / 0.1
        assert abs(law.command - 0.3) <= 0.05 * abs(rate) + 1e-3 + 1e-12
    assert 0.1 < rate < 2.0


def multicast() -> bool:
    try:
        open_bus(f"udp_multicast:{free_group()}").shutdown()
    except InputError:
        return False
    return True


needs_multicast = pytest.mark.skipif(not multicast(), reason="needs multicast on this machine")


@pytest.fixture
def group():
    """A group, its bus, and a socket that sends to any group of this machine."""
    name = free_group()
    bus = open_bus(f"udp_multicast:{name}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        other.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        yield name, bus, other
    bus.shutdown()


FRAME = can.Message(arbitration_id=0x123, data=bytes(8), is_extended_id=False)


@needs_multicast
def test_a_group_hears_neither_other_groups_nor_other_interfaces(group):
    name, bus, other = group
    second = open_bus(f"udp_multicast:{free_group()}")
    local, port = bus._socket.getsockname()
    assert local == name
    second.send(FRAME)
    other.sendto(pack_message(FRAME), ("127.0.0.1", port))  # a plain datagram to the port
    assert bus.recv(0.1) is None
    other.sendto(pack_message(FRAME), (name, port))
    assert bus.recv(1.0).arbitration_id == 0x123
    second.shutdown()


@needs_multicast
def test_a_program_of_python_can_on_this_machine_takes_part(group):
    """It sends through the machine's first interface; what came from another machine would not count."""
    name, bus, other = group
    with can.Bus(interface="udp_multicast", channel=name) as plain:
        plain.send(FRAME)
        assert bus.recv(1.0).arbitration_id == 0x123
        bus.send(FRAME)
        while (got := plain.recv(1.0)).arbitration_id != 0x123:
            pass
    assert not _is_own("192.0.2.77")
    del other, got


@needs_multicast
def test_datagrams_that_are_no_messages_are_counted_and_left_alone(group):
    name, bus, other = group
    random = np.random.default_rng(0)
    good = pack_message(FRAME)
    bad = [b"", b"\x00", b"\xc1" * 9, b"\x81\xa1x\x01", b"\xdd\xff\xff\xff\xff", good[:-3], good + b"!", bytes(5000)]
    bad += [random.bytes(int(n)) for n in random.integers(1, 1400, 50)]
    for data in bad:
        other.sendto(data, (name, 43113))
    other.sendto(good, (name, 43113))
    assert bus.recv(2.0).arbitration_id == 0x123
    assert bus.unreadable == len(bad)
    assert Node(bus, [], [], {}).figures()["counts"]["unreadable"] == len(bad)


@pytest.mark.slow
@needs_loop
@needs_multicast
def test_the_controller_as_a_process_on_the_bus_equals_the_whole_unit(tmp_path):
    """Within delay and quanta: the tilt differs by no more than it moves in the longest delay that was measured."""
    figures = demonstrate(tmp_path, 4.0)
    found, bus = figures["comparison"], figures["rig"]["can"]
    tilt, torque, delay = found["tilt_rad"], found["torque_N_m"], 1e-3 * found["delay_ms"]["longest"]
    print(f"\n{json.dumps(found, indent=1)}")
    assert figures["rig"]["completed"]
    assert tilt["max"] <= tilt["in_delay"] + 10 * tilt["quantum"]
    assert torque["rms"] < (0.02 + delay / 0.1) * torque["largest"]
    assert figures["ecu"]["answered"] > 0.5 * bus["counts"]["received"]
    names = {"bus.dbc", "comparison.json", "comparison.png", "ecu.json", "run.mf4", "toroidal_variator.fmu"}
    assert {p.name for p in tmp_path.iterdir()} == names


def test_a_comparison_finds_what_differs():
    """A tilt that runs at 2 rad/s and comes 20 ms late is off by 0.04 rad, all the time."""
    h, t = 5e-3, 5e-3 * np.arange(401)
    bus = {"round_trip_ms": {"median": 3.0, "max": 8.0}, "gap_ms": {"median": 5.0, "max": 12.0},
           "quanta": {"control.theta": 1e-5, "shaft.tau": 1e-3}}  # fmt: skip
    found = compare(2.0 * (t - 0.02), np.sin(t) + 0.01, 2.0 * t, np.sin(t), h, bus)
    assert found["delay_ms"] == {"median": 3.0, "longest": pytest.approx(30.0)}
    assert found["tilt_rad"] == {"max": pytest.approx(0.04), "rms": pytest.approx(0.04), "largest": pytest.approx(4.0),
                                 "quantum": 1e-5, "in_delay": pytest.approx(0.06)}  # fmt: skip
    assert found["torque_N_m"]["rms"] == pytest.approx(0.01)
