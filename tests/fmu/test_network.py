"""Units as nodes of a CAN network by FMI-LS-BUS 1.0.0.

Operations are read and written here from the standard's tables. What they carry is compared with the rig's bus.
"""

import os
import random
import shutil
import struct
import subprocess
from ctypes import c_double, c_int, c_uint32
from dataclasses import replace
from pathlib import Path

import can
import fmpy
import numpy as np
import pytest
import tools
import xmlschema
from c_programs import ADDRESS, build, figures
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu
from lxml import etree
from rows import cases, text_of
from test_fmi3_events import Host
from typer.testing import CliRunner

from rtcvt import Unit
from rtcvt.cli import app
from rtcvt.errors import InputError
from rtcvt.fmu.native.export import write_sources
from rtcvt.hil.bus import Node, crc8
from rtcvt.hil.can_attachment import plan_of, read_database
from rtcvt.hil.dbc import signal_names
from rtcvt.hil.network import network_of
from rtcvt.kind import load_unit

pytestmark = [pytest.mark.needs("cc"), pytest.mark.interpreted]
DATA = Path(__file__).parents[1] / "data"
DBC = DATA / "network.dbc"
FMI3 = Path(fmpy.__file__).parent / "schema" / "fmi3"
TICK = 0.002
TRANSMIT, FD_TRANSMIT, CONFIRM, ARBITRATION_LOST, BUS_ERROR, STATUS = 0x10, 0x11, 0x20, 0x30, 0x31, 0x41


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("network")
    path = Unit(load_unit("cvt_control")).export(made / "unit.fmu", fmi=3, dbc=DBC, errors=False)
    assert not list(validate_fmu(str(path)))
    return Path(fmpy.extract(str(path), str(made / "unit")))


class Ecu(Host):
    """The unit on a network: one tick after another."""

    def __init__(self, folder, notifications=False):
        super().__init__(folder, eventModeUsed=True)
        self.at = {name: self.variables[f"network.{name}"].valueReference
                   for name in ("Rx_Clock", "Rx_Data", "Tx_Clock", "Tx_Data", "BusNotifications")}  # fmt: skip
        self.setBoolean([self.at["BusNotifications"]], [notifications])
        self.enterInitializationMode()
        self.exitInitializationMode()
        self.t, self.in_event = 0.0, True

    def event(self, received=None, ticks=True):
        """Operations that are sent in an event; a step follows at its end."""
        if not self.in_event:
            self.enterEventMode()
        if received is not None:
            self.setClock([self.at["Rx_Clock"]], [True])
            self.setBinary([self.at["Rx_Data"]], [received])
        sent = b""
        if ticks:
            self.setClock([self.at["Tx_Clock"]], [True])
            (sent,) = self.getBinary([self.at["Tx_Data"]])
        self.updateDiscreteStates()
        self.in_event = True
        return operations(sent)

    def step(self, h=TICK):
        self.enterStepMode()
        if h > 0.0:
            self.doStep(self.t, h)
        self.t, self.in_event = self.t + h, False

    def values(self, names):
        getters = {"Enumeration": self.getInt64, "Boolean": self.getBoolean, "Float64": self.getFloat64}
        found = [self.variables[n] for n in names]
        return {v.name: float(getters[v.type]([v.valueReference])[0]) for v in found}


def operations(data):
    """Code and arguments of each operation in a binary."""
    found = []
    while data:
        code, length = struct.unpack_from("<II", data)
        found.append((code, data[8:length]))
        data = data[length:]
    return found


def op(code, form="", *arguments):
    body = struct.pack("<" + form, *arguments)
    return struct.pack("<II", code, 8 + len(body)) + body


def transmit(identifier, data, extended=False, remote=False):
    return op(TRANSMIT, f"IBBH{len(data)}s", identifier, extended, remote, len(data), data)


def frames(found):
    """Identifier, format and data of the frames among operations."""
    told = []
    for code, body in found:
        if code in (TRANSMIT, FD_TRANSMIT):
            head = "<IBBH" if code == TRANSMIT else "<IBBBH"
            identifier, extended, *flags, length = struct.unpack_from(head, body)
            data = body[struct.calcsize(head) :]
            assert (len(data), any(flags)) == (length, False)
            told.append((identifier, bool(extended), code == FD_TRANSMIT, data))
    return told


class Wire:
    """A bus in memory, for the node of the rig."""

    def __init__(self):
        self.sent, self.left = [], []

    def send(self, frame):
        self.sent.append((frame.arbitration_id, frame.is_extended_id, frame.is_fd, bytes(frame.data)))

    def _recv_internal(self, _timeout):
        return (self.left.pop() if self.left else None), False


def rig(unit, dbc):
    """The rig's node with the same database, its bus, and its plan."""
    model = load_unit(unit).build()
    called = signal_names(model.variables)
    tunable = [v for v in model.select("parameter") if v.tunable]
    plan = plan_of(read_database(dbc), called, model.select("input"), model.select("output"), tunable, 1e-3, (),
                   {called[v.name]: v for v in model.variables})  # fmt: skip
    received = [*plan.taken, *plan.rare]
    node = Node(Wire(), plan.given, received, plan.names, rare=frozenset(m.frame_id for m in plan.rare),
                wires=plan.wires, shown=plan.shown)  # fmt: skip
    return node, plan, model


def random_frame(rng, message):
    """A frame of a message, mostly with the right guards."""
    data = bytearray(rng.randbytes(message.length))
    names = {s.name for s in message.signals}
    if "choice" in names:
        data[0] = data[0] & 0x87 | rng.choice([0, 1, 4])
    if "Alive" in names and rng.random() < 0.9:
        start = message.get_signal_by_name("Alive").start
        random_frame.alive = (getattr(random_frame, "alive", 0) + rng.choice([1, 1, 1, 0, 2, 5])) % 15
        data[start // 8] = data[start // 8] & ~(15 << start % 8) | random_frame.alive << start % 8
    if "CRC" in names and rng.random() < 0.9:
        data[0] = crc8(message.frame_id, bytes(data[1:]))
    return bytes(data)


@pytest.mark.parametrize("unit", ["cvt_control", "clutch_control", "slip_control"])
def test_what_arrives_and_what_is_sent_is_that_of_the_rig(unit, folder, tmp_path):
    """Random frames, also with wrong guards and numbers that are none; frames that are due, with the rig's bits."""
    ours = unit != "cvt_control"
    dbc = tmp_path / "network.dbc" if ours else DBC
    if ours:
        command = ["export", unit, "--fmi", "3", "--save-dbc", str(dbc), "--no-check", "-o", str(tmp_path / "unit.fmu")]
        assert CliRunner().invoke(app, command).exit_code == 0
        folder = Path(fmpy.extract(str(tmp_path / "unit.fmu"), str(tmp_path / "unit")))
    (node, plan, model), ecu, rng = rig(unit, dbc), Ecu(folder), random.Random(3)
    named = sorted({*plan.arriving, *plan.tunable} & {v.name for v in model.variables})
    expected = ecu.values(named)
    limits = {v.name: (-np.inf if v.minimum is None else v.minimum, np.inf if v.maximum is None else v.maximum)
              for v in model.select("parameter")}  # fmt: skip
    changed, told = set(), 0
    shown = [v for v in model.variables if v.name in plan.shown.values()]
    for k in range(300):
        messages = rng.choices(plan.taken if ours else node.received, k=rng.randrange(3))
        sent = b""
        for m in messages:
            data = random_frame(rng, m)
            form = "IBBH" if m.length <= 8 else "IBBBH"
            flags = [0] * (len(form) - 3)
            sent += op(TRANSMIT if m.length <= 8 else FD_TRANSMIT, f"{form}{len(data)}s",
                       m.frame_id, m.is_extended_frame, *flags, len(data), data)  # fmt: skip
            node.bus.left = [can.Message(arbitration_id=m.frame_id, data=data, is_fd=m.length > 8,
                                         is_extended_id=m.is_extended_frame)]  # fmt: skip
            for name, value in node.receive(1e-3).items():
                low, high = limits.get(name, (-np.inf, np.inf))
                if name in named and low <= value <= high:
                    changed.add(name) if expected[name] != value else None
                    expected[name] = value
        ecu.event(sent, ticks=False)
        assert ecu.values(named) == expected
        given = ecu.values(v.name for v in shown) | {"\0rig_heartbeat": float(k), "\0rig_state": 1.0}
        found = ecu.event()
        node.bus.sent = []
        node.send(given, {i for i, every in plan.every.items() if 2 * k % every == 0})
        assert frames(found) == node.bus.sent
        told += len(node.bus.sent)
        ecu.step(0.0 if ours else TICK)  # the former's inputs may have any value
    assert changed >= set(plan.arriving) if ours else set(named)
    assert told == 300 * len(plan.given) if ours else 300 + 150 + 100


def test_the_network_is_configured_and_nothing_but_the_clock_sends(folder):
    ecu = Ecu(folder)
    first = ecu.event()
    assert first[:3] == [(0x40, struct.pack("<BI", 1, 250_000)), (0x40, struct.pack("<BI", 2, 500_000)),
                         (0x40, b"\x04\x01")]  # fmt: skip
    assert ecu.getBinary([ecu.at["Tx_Data"]]) == [b""]
    ecu.step()
    assert [code for code, _ in ecu.event()] == [FD_TRANSMIT]
    with pytest.raises(FMICallException):
        ecu.setBinary([ecu.at["Rx_Data"]], [b""])  # its clock does not tick
    with pytest.raises(FMICallException):
        ecu.setFloat64([ecu.variables["control.tau"].valueReference], [1.0])  # comes from the network
    with pytest.raises(FMICallException):
        ecu.setBoolean([ecu.at["BusNotifications"]], [True])


@pytest.mark.parametrize("wrong", [
    b"\x10", op(0x99, "I", 1), struct.pack("<II", TRANSMIT, 7), struct.pack("<II", TRANSMIT, 2**32 - 1),
    op(TRANSMIT, "IBBH9s", 1, 0, 0, 9, b"123456789"), op(TRANSMIT, "IBBH2s", 1, 0, 0, 3, b"12"),
    transmit(0x800, b""), transmit(1, b"", extended=2), op(BUS_ERROR, "IBBB", 1, 7, 1, 0), op(0x40, "BI", 4, 1),
    op(STATUS, "B", 0), op(CONFIRM, "H", 1),
])  # fmt: skip
def test_a_wrong_operation_is_answered_and_the_next_one_counts(folder, wrong):
    """Whole, as the standard wants it; one without an end takes the rest with it."""
    ecu = Ecu(folder)
    data = struct.pack("<H", 0x4200) + bytes(6)  # 132 N.m as a float of 16 bits: sign 0, exponent 16, mantissa 0x200
    good = transmit(257, b"\x09\0" + struct.pack("<e", 132.0) + data[4:])
    ends = len(wrong) >= 8 and struct.unpack_from("<I", wrong, 4)[0] == len(wrong)
    ecu.event(wrong + good, ticks=False)
    answers = [body for code, body in ecu.event() if code == 0x01]
    told = wrong if ends else wrong + good
    assert answers == [struct.pack("<H", len(told)) + told]
    assert ecu.values(["control.tau"])["control.tau"] == (132.0 if ends else 0.0)
    ecu.step()
    ecu.event(op(0x01, "H3s", 5, b"abc") + op(0x01, "H1s", 1, b"\x10"), ticks=False)  # nobody answers answers
    assert 0x01 not in [code for code, _ in ecu.event()]


def test_operations_for_others_change_nothing(folder):
    ecu = Ecu(folder)
    others = [op(0x42), op(0x40, "BI", 1, 1000), op(0x40, "BB", 4, 2), op(STATUS, "B", 3), transmit(1, b"12345678"),
              transmit(257, bytes(8), remote=True), transmit(257, bytes(7)), op(CONFIRM, "I", 512),
              op(0x12, "IBBBBIH2s", 1, 0, 0, 0, 0, 0, 2, b"ab"), op(BUS_ERROR, "IBBB", 512, 1, 1, 1) * 40]  # fmt: skip
    ecu.event(b"".join(others), ticks=False)
    assert {code for code, _ in ecu.event()} == {0x40, TRANSMIT, FD_TRANSMIT}


def test_errors_are_confined_and_lost_frames_sent_again(folder):
    """Bosch's rules: a sender counts 8 for an error; above 127 it is passive, above 255 off, and then silent for 128
    times 11 bits, 5.632 ms at 250 kbit/s."""
    ecu = Ecu(folder, notifications=True)
    ecu.event(op(BUS_ERROR, "IBBB", 512, 1, 1, 1) * 16, ticks=False)
    assert (STATUS, b"\x02") in ecu.event()
    ecu.step()
    ecu.event(op(CONFIRM, "I", 512), ticks=False)
    assert (STATUS, b"\x01") in ecu.event()
    ecu.step()
    ecu.event(op(ARBITRATION_LOST, "I", 512), ticks=False)
    assert [f[0] for f in frames(ecu.event())] == [512, 0x18FEF200, 511]
    ecu.step()
    ecu.event(op(BUS_ERROR, "IBBB", 512, 1, 1, 1) * 17, ticks=False)
    state, silent = ecu.getFMUState(), 0
    assert ecu.event() == [(STATUS, b"\x03")]
    while not frames(found := (ecu.step(), ecu.event())[1]):
        silent += 1
    assert (silent, (STATUS, b"\x01") in found) == (2, True)
    ecu.step()
    ecu.enterEventMode()
    ecu.setFMUState(state)
    assert ecu.event() == [(STATUS, b"\x03")]


def test_the_manifest_and_the_terminal_are_those_of_the_standard(folder):
    manifest = folder / "extra" / "org.fmi-standard.fmi-ls-bus" / "fmi-ls-manifest.xml"
    found = {"http://fmi-standard.org/fmi-ls-manifest": str(FMI3 / "fmi3LayeredStandardManifest.xsd")}
    schema = DATA / "schemas" / "fmi3LayeredStandardBusManifest.xsd"
    xmlschema.XMLSchema(str(schema), locations=found).validate(str(manifest))
    for file, schema in (("modelDescription.xml", "fmi3ModelDescription.xsd"),
                         ("terminalsAndIcons/terminalsAndIcons.xml", "fmi3TerminalsAndIcons.xsd")):  # fmt: skip
        etree.XMLSchema(etree.parse(str(FMI3 / schema))).assertValid(etree.parse(str(folder / file)))
    (terminal,) = [t for t in etree.parse(str(folder / "terminalsAndIcons" / "terminalsAndIcons.xml")).iter("Terminal")
                   if t.get("terminalKind") == "org.fmi-ls-bus.network-terminal"]  # fmt: skip
    assert [m.get("memberName") for m in terminal.iter("TerminalMemberVariable")] == [
        "Rx_Clock", "Rx_Data", "Tx_Clock", "Tx_Data", "BusNotifications"
    ]  # fmt: skip
    description = etree.parse(str(folder / "modelDescription.xml"))
    assert [m.tag for m in description.getroot() if m.tag in ("ModelExchange", "CoSimulation")] == ["CoSimulation"]
    assert "Inputs from the network network" in (folder / "documentation" / "index.html").read_text()
    assert (folder / "documentation" / "network.dbc").read_bytes() == DBC.read_bytes()


def test_random_buffers_do_no_harm(tmp_path):
    """Under sanitizers; all answers, whatever arrives, are whole operations."""
    model = load_unit("cvt_control").build()
    write_sources(replace(model, bus=network_of(model, DBC)), "unit", tmp_path / "sources", fmi=3)
    program = build(tmp_path / "sources", "bus_buffers.c", tmp_path / "buffers", *ADDRESS)
    found = figures(program, 1, 20_000)
    assert min(found["answers"], found["frames"], found["status"], found["off"]) > 100


@cases
def test_a_network_needs_fmi_3_and_a_node_of_its_database(tmp_path, given, allowed):
    with pytest.raises(InputError, match=allowed):
        Unit(load_unit("cvt_control")).export(tmp_path / "u.fmu", errors=False, dbc=DBC, **{"fmi": 3} | given)
    assert not list(tmp_path.iterdir())


DEMO_DBC = text_of("demo.dbc")
DEMOS = {"can-bus-simulation": "DemoCanBusSimulation", "can-node-triggered-output": "DemoCanNodeTriggeredOutput"}


@pytest.mark.interop
def test_the_unit_runs_on_the_network_of_the_standards_demos(tmp_path):
    """Bus simulation and node of modelica/fmi-ls-bus-examples; `RTCVT_LS_BUS` is a folder with it and fmi-ls-bus. At
    100 kbit/s its frames of n bytes take 44 + n bits; of two at 0.3 s the lower identifier goes first."""
    home = Path(os.environ.get("RTCVT_LS_BUS") or tools.absent("ls_bus"))
    headers = "-I", Path(fmpy.__file__).parent / "c-code", "-I", home / "fmi-ls-bus" / "headers"
    (tmp_path / "demo.dbc").write_text(DEMO_DBC)
    unit = Unit(load_unit("cvt_control")).export(tmp_path / "u.fmu", fmi=3, dbc=tmp_path / "demo.dbc", errors=False)
    hosts = [Host(Path(fmpy.extract(str(unit), str(tmp_path / "unit"))), eventModeUsed=True)]
    for demo, name in DEMOS.items():
        source, binary = home / "fmi-ls-bus-examples" / demo, tmp_path / demo / "binaries/x86_64-linux" / f"{name}.so"
        binary.parent.mkdir(parents=True)
        shutil.copy(source / "description" / "modelDescription.xml", tmp_path / demo)
        flags = "-shared", "-fPIC", "-D_GNU_SOURCE", "-D_strdup=strdup", "-DFMI3_OVERRIDE_FUNCTION_PREFIX"
        subprocess.run(["cc", *flags, *headers, *(source / "src").glob("*.c"), "-o", binary], check=True)
        hosts.append(Host(tmp_path / demo, eventModeUsed=True, loggingOn=True))
    ecu, bus, node = hosts

    def at(host, name):
        return [host.variables[name].valueReference]

    def carry(one, out, other, into):
        (data,) = one.getBinary(at(one, f"{out}.Tx_Data"))
        if data:
            other.setClock(at(other, f"{into}.Rx_Clock"), [True])
            other.setBinary(at(other, f"{into}.Rx_Data"), [data])
            arrived.extend((round(t, 6), into, code, struct.unpack("<I", body[:4])[0])
                           for code, body in operations(data) if code != 0x40)  # fmt: skip

    t, tick, due, arrived = 0.0, 0, np.inf, []
    interval, qualifier = (c_double * 1)(), (c_int * 1)()
    for host in hosts:
        host.enterInitializationMode()
        host.exitInitializationMode()
    while t < 0.35:
        for _ in range(2):
            if abs(t - 0.1 * tick) < 1e-9:
                ecu.setClock(at(ecu, "demo.Tx_Clock"), [True])
                carry(ecu, "demo", bus, "Node1")
                tick += 1
            if node.getClock(at(node, "CanChannel.Tx_Clock"))[0]:
                carry(node, "CanChannel", bus, "Node2")
            if abs(t - due) < 1e-9:
                bus.setClock(at(bus, "Node1.Tx_Clock") + at(bus, "Node2.Tx_Clock"), [True, True])
                carry(bus, "Node1", ecu, "demo")
                carry(bus, "Node2", node, "CanChannel")
                due = np.inf
            for host in hosts:
                host.updateDiscreteStates()
            for name in ("Node1.Tx_Clock", "Node2.Tx_Clock"):
                bus.fmi3GetIntervalDecimal(bus.component, (c_uint32 * 1)(*at(bus, name)), 1, interval, qualifier)
                due = t + interval[0] if qualifier[0] == 2 else due
        end = min(0.1 * tick, due, 0.3 * (int(t / 0.3 + 1e-9) + 1))
        for host in hosts:
            host.enterStepMode()
            host.doStep(t, end - t)
            host.enterEventMode()
        t = end
    ours = [(r, i, c, n) for r, i, c, n in arrived if i in ("demo", "CanChannel")]
    assert ours[:2] == [(0.00052, "demo", CONFIRM, 512), (0.00052, "CanChannel", TRANSMIT, 512)]
    assert ours[-4:] == [(0.30048, "demo", TRANSMIT, 1), (0.30048, "CanChannel", CONFIRM, 1),
                         (0.301, "demo", CONFIRM, 512), (0.301, "CanChannel", TRANSMIT, 512)]  # fmt: skip
    assert ecu.getFloat64(at(ecu, "control.tau_drive")) == [0x0201]
    assert sum("Received CAN frame with ID 512 and length 8" in m for m in node.messages) == 4
