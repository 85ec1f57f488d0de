"""The rig as XCP slave: its description is read, steps are measured without a gap, a gain is calibrated in a run."""

import logging
import re
import socket
import struct
import threading
import time

import numpy as np
import pytest

from rtcvt.fmu.a2l import a2l
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import run_rig
from rtcvt.hil.xcp import BASE, xcp_attachment
from rtcvt.model import Variable
from rtcvt.scenario import Scenario

pytestmark = pytest.mark.needs("loop")
SCENARIO = {"shaft.w": "1000 rpm", "control.tau_des": "1 + sin(10*t)"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Master:
    """A master that speaks the protocol byte by byte: answers, and samples by packet identifier."""

    def __init__(self, port):
        for _ in range(500):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port), timeout=5.0)
                break
            except OSError:
                time.sleep(0.02)
        self.file, self.count, self.samples = self.socket.makefile("rb"), 0, []

    def packet(self):
        head = self.file.read(4)
        return self.file.read(struct.unpack("<HH", head)[0]) if len(head) == 4 else b""

    def ask(self, *parts):
        packet = b"".join(bytes([p]) if isinstance(p, int) else p for p in parts)
        self.socket.sendall(struct.pack("<HH", len(packet), self.count) + packet)
        self.count += 1
        while (got := self.packet())[:1] not in (b"\xff", b"\xfe"):
            self.samples.append(got)
        return got


@pytest.fixture
def running(kers, tmp_path):
    """A run in another thread: port, folder, what begins it and what waits for its report."""
    port, done = free_port(), {}
    attach = [xcp_attachment(port, tmp_path / "rig.a2l")]

    def run():
        given = Scenario(name="t", duration=1.5, inputs=SCENARIO)
        done["report"] = run_rig(kers, 1e-3, None, given, output=tmp_path / "run.h5", attach=attach)

    thread = threading.Thread(target=run)
    yield port, tmp_path, thread.start, lambda: (thread.join(), done["report"])[1]
    if thread.ident is not None:  # begun
        thread.join()


def addresses(text):
    """Addresses by name, as the description says them."""
    found = re.findall(r"(0x[0-9A-F]+).* DISPLAY_IDENTIFIER (\S+) /end (CHARACTERISTIC|MEASUREMENT)", text)
    return {name: int(at, 16) for at, name, _ in found}


def test_every_step_is_measured_and_a_gain_is_calibrated(running):
    """Samples are the recording's bits at 1 ms; the gain is in force when the answer comes, and in the recording."""
    port, folder, start, finish = running
    start()
    master = Master(port)
    assert master.ask(0xFF, 0)[:3] == b"\xff\x05\x80"
    at = addresses((folder / "rig.a2l").read_text())
    tau, gain = at["shaft.tau"], at["control.K_theta"]
    assert master.ask(0xD6)[0] == 0xFF
    for command in (
        (0xD5, 0, struct.pack("<H", 1)), (0xD4, 0, struct.pack("<HB", 0, 1)), (0xD3, 0, struct.pack("<HBB", 0, 0, 2)),
        (0xE2, 0, struct.pack("<HBB", 0, 0, 0)), (0xE1, 0xFF, 8, 0, struct.pack("<I", tau)),
        (0xE1, 0xFF, 8, 0, struct.pack("<I", gain)), (0xE0, 0x10, struct.pack("<HHBB", 0, 0, 1, 0)),
        (0xDE, 2, struct.pack("<H", 0)), (0xDD, 1),
    ):  # fmt: skip
        assert master.ask(*command)[0] == 0xFF
    time.sleep(0.2)
    before = struct.unpack("<d", master.ask(0xF4, 8, 0, 0, struct.pack("<I", gain))[1:])[0]
    master.ask(0xF6, 0, 0, 0, struct.pack("<I", gain))
    assert master.ask(0xF0, 8, struct.pack("<d", 1.5 * before)) == b"\xff"
    assert struct.unpack("<d", master.ask(0xF4, 8, 0, 0, struct.pack("<I", gain))[1:])[0] == 1.5 * before
    for where, value, code in ((gain, -1.0, 0x22), (gain, np.nan, 0x22), (tau, 1.0, 0x23), (BASE - 8, 1.0, 0x22)):
        master.ask(0xF6, 0, 0, 0, struct.pack("<I", where))
        assert master.ask(0xF0, 8, struct.pack("<d", value)) == bytes([0xFE, code])
    assert master.ask(0x99) == b"\xfe\x20"
    time.sleep(0.3)
    assert master.ask(0xDD, 0)[0] == 0xFF
    report = finish()
    kept = read(folder / "run.h5").signals
    k = np.array([struct.unpack_from("<I", s, 1)[0] for s in master.samples]) // 1000
    values = np.array([struct.unpack_from("<dd", s, 5) for s in master.samples])
    assert len(k) > 400
    np.testing.assert_array_equal(np.diff(k), 1)
    np.testing.assert_array_equal(values[:, 0], kept["shaft.tau"].values[k])
    np.testing.assert_array_equal(values[:, 1], kept["control.K_theta"].values[k])
    assert set(values[:, 1]) == {before, 1.5 * before}
    assert report.completed
    assert report.figures["xcp"]["written"] == 1
    assert report.figures["xcp"]["refused"] == 5
    assert "lost" not in report.figures["xcp"]


def test_pyxcp_measures_and_calibrates(running):
    pytest.importorskip("pyxcp")
    from pyxcp.config import create_application_from_config, set_application
    from pyxcp.daq_stim import DaqList, DaqOnlinePolicy
    from pyxcp.master import Master as PyXcp

    port, folder, start, finish = running
    start()
    Master(port).socket.close()  # it is there
    at = addresses((folder / "rig.a2l").read_text())
    config = {"Transport": {"layer": "ETH", "Eth": {"host": "127.0.0.1", "port": port, "protocol": "TCP"}}}
    app = create_application_from_config(config, logging.ERROR)
    set_application(app)

    class Kept(DaqOnlinePolicy):
        """Keeps what is measured."""

        def initialize(self):
            self.found = []
            return super().initialize()

        def on_daq_list(self, daq_list, timestamp0, timestamp1, payload):
            self.found.append((timestamp1, *payload))

    measured = [("tau", at["shaft.tau"], 0, "F64"), ("K", at["control.K_theta"], 0, "F64")]
    lists = [DaqList("step", 0, False, True, measured, priority=0, prescaler=1)]
    policy = Kept(lists)
    with PyXcp("eth", config=app, policy=policy) as master:
        master.connect()
        policy.setup()
        policy.start()
        time.sleep(0.2)
        gain = struct.unpack("<d", master.shortUpload(8, at["control.K_theta"]))[0]
        master.setMta(at["control.K_theta"])
        master.download(struct.pack("<d", 2.0 * gain))
        time.sleep(0.2)
        policy.stop()
        master.disconnect()
    assert finish().completed
    stamps, tau, gains = np.array(policy.found).T
    assert len(stamps) > 200
    np.testing.assert_allclose(np.diff(stamps), 1e6, atol=1.0)  # [ns]
    assert set(gains) == {gain, 2.0 * gain}
    assert np.ptp(tau) > 0.01


def test_the_description_is_read_by_another_program():
    pya2l = pytest.importorskip("pya2l")
    del pya2l
    from pya2l.parser import A2lParser

    rows = [Variable("shaft.w", "input", 0, "rad/s", "speed", minimum=-10.0, maximum=10.0),
            Variable("1.F", "output", 0, "N", 'a "force"'),
            Variable("control.K", "parameter", 0, "1", "gain", minimum=0.0, maximum=2.0, tunable=True)]  # fmt: skip
    from rtcvt.hil.xcp import interface

    text = a2l("unit", rows, {v.name: BASE + 8 * k for k, v in enumerate(rows)}, interface(5555, 1e-3))
    with A2lParser() as parser:
        (module,) = parser.tree_from_a2l(text.encode()).PROJECT.MODULE
    measured = {m.Name.Value: (m.ECU_ADDRESS.Address.Value, m.UpperLimit.Value) for m in module.MEASUREMENT}
    assert measured["shaft_w"] == (BASE, 10.0)
    assert measured["v_1_F"][0] == BASE + 8
    (gain,) = module.CHARACTERISTIC
    assert (gain.Name.Value, gain.Address.Value, gain.LowerLimit.Value) == ("control_K", BASE + 16, 0.0)
    assert len(module.IF_DATA) == 1
