"""The page in a browser: values come at 20 Hz or more, the slider and the fault buttons reach the unit."""

import base64
import http.client
import json
import os
import queue
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hil.bus import Node, open_bus
from hil.can_attachment import can_attachment, read_database
from hil.live import live_page
from hil.native.build import available
from hil.recorder import read
from hil.rig import Attachment, run_rig
from rtcvt.errors import InputError
from rtcvt.unitfile import Scenario, load_unit

pytestmark = pytest.mark.skipif(not available(), reason="needs Linux and a C compiler")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--window-size=1400,1100"]  # fmt: skip


@pytest.fixture(scope="module")
def kers(tmp_path_factory):
    from fmu.native.export import export_native

    return export_native(load_unit("toroidal_kers"), "rigid", tmp_path_factory.mktemp("export") / "kers.fmu")


class Run:
    """A run with its page, in the background."""

    def __init__(self, fmu: Path, duration: float, output: Path, scenario=None, step=1e-3, bus=()):
        addresses: queue.Queue[str] = queue.Queue()
        self.reports: list = []
        attach = [*bus, live_page(0, addresses.put), lambda *_: Attachment("stop", {}, False, self.kept, dict)]
        scenario = scenario or load_unit("toroidal_kers").scenario[0]

        def work():
            self.reports.append(run_rig(fmu, step, duration, scenario, output=output, attach=attach))

        self.thread = threading.Thread(target=work)
        self.thread.start()
        self.address = addresses.get(timeout=60)
        self.host = self.address.removeprefix("http://").rstrip("/")

    @contextmanager
    def kept(self, running):
        self.running = running
        yield

    def stop(self):
        self.running.stop("enough")

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=10)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read() if path != "/events" else answer

    def command(self, **body):
        return self.ask("POST", "/command", json.dumps(body), **{"Content-Type": "application/json"})[0]

    def report(self):
        self.thread.join()
        return self.reports[0]


def test_commands_reach_the_unit_and_nobody_else_may_give_them(kers, tmp_path):
    run = Run(kers, 3.0, tmp_path / "run.h5")
    assert b"<title>rtcvt run</title>" in run.ask("GET", "/")[1]
    assert run.ask("GET", "/etc/passwd")[0] == 404
    assert run.ask("GET", "/", Host="evil.example:80")[0] == 403
    plain = {"Content-Type": "text/plain"}
    assert run.ask("POST", "/command", '{"set": "control.tau_des", "value": 1}', **plain)[0] == 404
    assert run.command(set="control.tau_des", value=1.0, Host="x") == 204
    for body in ({"set": "nothing", "value": 1.0}, {"set": "control.tau_des", "value": "1"}, {"fault": "x", "on": True},
                 {"set": "control.tau_des", "value": float("nan")}, {}):  # fmt: skip
        assert run.command(**body) == 400
    assert run.ask("POST", "/command", "[" * 900, **{"Content-Type": "application/json"})[0] == 400
    assert run.ask("POST", "/command", "[" * 2000, **{"Content-Type": "application/json"})[0] == 413
    time.sleep(0.2)
    assert run.command(fault="unit error", on=True) == 204
    time.sleep(0.2)
    assert run.command(fault="unit error", on=False) == 204
    assert run.command(release="control.tau_des") == 204
    report = run.report()
    kept = read(tmp_path / "run.h5").signals
    demand, flags = kept["control.tau_des"].values, kept["flags"].values.astype(int)
    assert set(demand) == {0.45, 1.0}
    assert demand[0] == demand[-1] == 0.45
    without = (flags & 8) > 0
    assert 50 < without.sum() < 1500
    assert (kept["shaft.tau"].values[1:][without[:-1]] == 0.0).all()
    assert report.completed
    assert report.figures["live"]["commands"] == 4


def test_a_port_that_is_taken_is_refused(kers):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="--live"):
        run_rig(kers, 1e-3, 0.5, attach=[live_page(taken.getsockname()[1], lambda _: None)])


class Browser:
    """Chromium over its debugging pipe: it reads commands from file 3 and writes answers to file 4."""

    def __init__(self, folder: Path):
        (read_in, self.into), (self.out, write_out) = os.pipe(), os.pipe()

        def join():
            first, second = os.dup(read_in), os.dup(write_out)  # above 4, should the pipes themselves be 3 or 4
            os.dup2(first, 3)
            os.dup2(second, 4)

        assert BROWSER is not None
        words = [BROWSER, *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        self.process = subprocess.Popen(words, preexec_fn=join, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(read_in)
        os.close(write_out)
        self.number, self.buffer, self.session = 0, b"", None

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                more = os.read(self.out, 1 << 20)
                assert more, "the browser ended"
                self.buffer += more
            text, _, self.buffer = self.buffer.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self.number:
                assert "result" in answer, answer
                return answer["result"]

    def open(self, address):
        target = self.call("Target.createTarget", url=address)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(timeout=20)
        finally:
            self.process.kill()
            os.close(self.into)
            os.close(self.out)


def frames_of(browser):
    return int(browser.evaluate("document.body?.dataset.frames || 0") or 0)


def press(browser, name):
    browser.evaluate(f"document.querySelector('button[name=\"{name}\"]').click()")


def keep(browser, path):
    path.write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_faults_of_messages_in_a_browser(kers, tmp_path):
    """Dropped demands make the unit fall back, and messages that come again are taken."""
    dbc, channel = tmp_path / "bus.dbc", "virtual:live"
    scenario = Scenario(name="t", duration=60.0, inputs={"shaft.w": "1000 rpm"})
    run = Run(kers, 60.0, tmp_path / "run.h5", scenario, 5e-3, [can_attachment(channel, save=dbc)])
    made = read_database(dbc)
    sent = [m for m in made.messages if "control_tau_des" in m.signal_tree]
    bus, ended = open_bus(channel), threading.Event()
    partner = Node(bus, sent, [], {"control_tau_des": "control.tau_des"})

    def demand():
        while not ended.wait(5e-3):
            partner.send({"control.tau_des": 2.0})

    thread = threading.Thread(target=demand)
    thread.start()
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(run.address)
        for _ in range(200):
            if frames_of(browser) > 20:
                break
            time.sleep(0.1)
        buttons = browser.evaluate("[...document.querySelectorAll('#messages button')].map(b => b.name).join()")
        press(browser, "drop messages")
        time.sleep(1.0)
        keep(browser, Path(os.environ.get("RTCVT_SCREENSHOT", tmp_path / "live.png")).with_stem("live-bus"))
        press(browser, "drop messages")
        time.sleep(1.0)
        for name in ("corrupt messages", "duplicate messages", "delay messages"):
            press(browser, name)
            time.sleep(0.4)
            press(browser, name)
        time.sleep(0.5)
    finally:
        browser.close()
        run.stop()
        report = run.report()
        ended.set()
        thread.join()
        bus.shutdown()
    assert buttons == "drop messages,delay messages,duplicate messages,corrupt messages"
    demand_seen = read(tmp_path / "run.h5").signals["control.tau_des"].values
    fallen = np.abs(demand_seen) < 1e-9
    changes = np.flatnonzero(np.diff(fallen.astype(int)))
    assert len(changes) >= 4  # taken at first, then dropped, taken again, and so on
    assert fallen.sum() > 100
    counts = report.figures["can"]["counts"]
    assert all(counts[f"fault {kind} messages"] > 10 for kind in ("drop", "delay", "duplicate", "corrupt"))
    assert counts["wrong CRC"] > 10
    assert counts["repeated"] > 10
    assert report.figures["live"]["commands"] == 8
    assert report.message.startswith("enough")


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_the_page_in_a_browser(kers, tmp_path):
    run = Run(kers, 60.0, tmp_path / "run.h5")
    kept_picture = Path(os.environ.get("RTCVT_SCREENSHOT", tmp_path / "live.png"))
    browser = Browser(tmp_path / "profile")
    try:
        browser.open(run.address)
        for _ in range(200):
            if frames_of(browser) > 60:
                break
            time.sleep(0.1)
        first = frames_of(browser)
        began = time.monotonic()
        slide = "const s = document.querySelector('input[name=\"control.tau_des\"]');"
        browser.evaluate(f"{{ {slide} s.value = 5; s.dispatchEvent(new Event('input')); }}")
        time.sleep(1.5)
        press(browser, "unit error")
        time.sleep(0.3)
        press(browser, "unit error")
        time.sleep(1.5)
        rate = (frames_of(browser) - first) / (time.monotonic() - began)
        keep(browser, kept_picture)
        status = browser.evaluate("document.getElementById('status').textContent")
        rows = browser.evaluate("document.querySelectorAll('.row').length")
    finally:
        browser.close()
        run.stop()
    report = run.report()
    kept = read(tmp_path / "run.h5").signals
    print(f"\n{rate:.1f} frames a second; {status}; {kept_picture}")
    assert rate > 10.0  # 25 a second are sent; the rest is the browser's on a busy machine
    assert rows == len(report.figures["signals"])
    assert status.startswith("t = ")
    demand = kept["control.tau_des"].values
    assert np.abs(demand - 5.0).min() < 0.1
    assert ((kept["flags"].values.astype(int) & 8) > 0).sum() > 20
    assert report.figures["live"]["commands"] == 3
    assert report.message.startswith("enough")
