"""The page in a browser: values come at 20 Hz or more, the slider and the fault buttons reach the unit."""

import http.client
import json
import os
import queue
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from browser import FLAT, Browser, keep

from rtcvt.errors import InputError
from rtcvt.hil.bus import Node, open_bus
from rtcvt.hil.can_attachment import can_attachment, read_database
from rtcvt.hil.live import MOST_STREAMS, _Page, live_page
from rtcvt.hil.recorder import read
from rtcvt.hil.rig import Attachment, run_rig
from rtcvt.kind import load_unit
from rtcvt.scenario import Scenario

pytestmark = pytest.mark.needs("loop")


def until(condition, limit=60.0):
    """Wait for a condition, however loaded the machine is."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Run:
    """A run with its page, in the background, after its first step."""

    def __init__(self, fmu: Path, duration: float, output: Path, scenario=None, step=1e-3, bus=()):
        addresses: queue.Queue[str] = queue.Queue()
        self.reports: list = []
        attach = [*bus, live_page(0, addresses.put), lambda *_: Attachment("stop", {}, False, self.kept, dict)]
        scenario = scenario or load_unit("toroidal_kers").scenario[0]

        def work():
            self.reports.append(run_rig(fmu, step, duration, scenario, output=output, attach=attach))

        self.running = None
        self.thread = threading.Thread(target=work)
        self.thread.start()
        self.address = addresses.get(timeout=60)
        self.host, _, self.token = self.address.removeprefix("http://").partition("/?token=")
        until(lambda: self.running is not None and self.running.loop.latest()[0] > 1)

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
        return self.tell(json.dumps(body), self.token)

    def tell(self, text, token):
        return self.ask("POST", "/command", text, **{"Content-Type": "application/json", "X-Token": token})[0]

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
    assert run.tell("[" * 900, run.token) == 400
    assert run.tell("[" * 2000, run.token) == 413
    time.sleep(0.2)
    assert run.command(fault="unit error", on=True) == 204
    time.sleep(0.2)
    assert run.command(fault="unit error", on=False) == 204
    assert run.command(release="control.tau_des") == 204
    assert run.command(tune="control.K_theta", value=0.03) == 204
    for value in (-1.0, True, float("nan"), 10**400, "1"):
        assert run.command(tune="control.K_theta", value=value) == 400
    assert run.command(tune="gear.a.J", value=1.0) == 400
    report = run.report()
    kept = read(tmp_path / "run.h5").signals
    demand, flags = kept["control.tau_des"].values, kept["flags"].values.astype(int)
    assert set(demand) == {0.45, 1.0}
    assert demand[0] == demand[-1] == 0.45
    without = (flags & 8) > 0
    assert 50 < without.sum() < 1500
    assert (kept["shaft.tau"].values[1:][without[:-1]] == 0.0).all()
    assert report.completed
    assert kept["control.K_theta"].values[-1] == 0.03
    assert report.figures["live"]["commands"] == 5


def test_no_page_from_elsewhere_can_show_or_command_the_run(kers, tmp_path, capfd):
    """Headers against frames and foreign scripts; a token that only the address holds; values in their range."""
    run = Run(kers, 60.0, tmp_path / "run.h5")
    try:
        for path in ("/", "/nothing", f"/?token={run.token}"):
            connection = http.client.HTTPConnection(run.host, timeout=10)
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert run.token not in answer.read().decode()
        order = json.dumps({"set": "control.tau_des", "value": 1.0})
        assert [run.tell(order, token) for token in ("", "x", run.token[:-1], "\xe9", run.token)] == [403] * 4 + [204]
        for value in ("100.5", "-1e9", "1e999", "1" + "0" * 400, "true", "[1]", "null"):
            assert run.tell(f'{{"set": "control.tau_des", "value": {value}}}', run.token) == 400
        for headers in ({"Content-Length": "\xb2"}, {"Content-Length": "-1"}, {"Content-Length": "9" * 5000}):
            asked = {"Content-Type": "application/json", "X-Token": run.token, **headers}
            assert run.ask("POST", "/command", "{}", **asked)[0] in (400, 413)
    finally:
        run.stop()
        run.report()
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_port_that_is_taken_is_refused(kers):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="--live"):
        run_rig(kers, 1e-3, 0.5, attach=[live_page(taken.getsockname()[1], lambda _: None)])


def test_streams_that_nobody_reads_keep_no_viewer_out(kers, tmp_path):
    """They are ended, where one does not read and where a new one comes; all viewers get in."""
    run = Run(kers, 60.0, tmp_path / "run.h5")
    host, port = run.host.split(":")
    unread = []
    try:
        for _ in range(3 * MOST_STREAMS):
            connection = socket.create_connection((host, int(port)))
            connection.sendall(f"GET /events HTTP/1.1\r\nHost: {run.host}\r\n\r\n".encode())
            unread.append(connection)
        viewers = [run.ask("GET", "/events") for _ in range(MOST_STREAMS)]
        assert [status for status, _ in viewers] == [200] * MOST_STREAMS
        for _, answer in viewers:
            assert sum(answer.readline().startswith(b"data: {") for _ in range(30)) == 10
    finally:
        for connection in unread:
            connection.close()
        run.stop()
        run.report()


def test_a_stream_that_is_not_read_is_dropped(monkeypatch):
    """While one is read, events go on; 64 kB and what the other side holds is all that waits."""
    monkeypatch.setattr("rtcvt.hil.live.STREAM_TIMEOUT", 0.05)
    page = object.__new__(_Page)
    page._streams, page._lock = [], threading.Lock()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(TimeoutError), page.stream(ours):
            ours.sendall(bytes(4_000_000))
        assert page._streams == []


def frames_of(browser):
    return int(browser.evaluate("document.body?.dataset.frames || 0") or 0)


def press(browser, name):
    browser.evaluate(f"document.querySelector('button[name=\"{name}\"]').click()")


@pytest.mark.slow
@pytest.mark.needs("chromium")
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
    browser = Browser(tmp_path / "profile", FLAT)
    try:
        browser.open(run.address)
        until(lambda: frames_of(browser) > 20)
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


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_fault_is_switched_off_before_the_loop_says_that_it_is_on(kers, tmp_path):
    run = Run(kers, 60.0, tmp_path / "run.h5", step=1.0)
    browser = Browser(tmp_path / "profile", FLAT)
    try:
        browser.open(run.address)
        until(lambda: frames_of(browser) > 5)
        for _ in range(2):
            press(browser, "unit error")
            time.sleep(0.2)
        until(lambda: run.running.switched and run.running.switched[0]["to_s"] is not None)
    finally:
        browser.close()
        run.stop()
    report = run.report()
    assert report.figures["live"]["commands"] == 2
    assert [f["name"] for f in report.figures["switched"]] == ["unit error"]


@pytest.mark.needs("chromium")
def test_the_page_in_a_browser(kers, tmp_path):
    run = Run(kers, 60.0, tmp_path / "run.h5")
    kept_picture = Path(os.environ.get("RTCVT_SCREENSHOT", tmp_path / "live.png"))
    browser = Browser(tmp_path / "profile", FLAT)
    try:
        browser.open(run.address)
        until(lambda: frames_of(browser) > 20)
        first = frames_of(browser)
        began = time.monotonic()
        slide = "const s = document.querySelector('input[name=\"control.tau_des\"]');"
        browser.evaluate(f"{{ {slide} s.value = 5; s.dispatchEvent(new Event('input')); }}")
        time.sleep(0.8)
        press(browser, "unit error")
        time.sleep(0.3)
        press(browser, "unit error")
        time.sleep(0.8)
        rate = (frames_of(browser) - first) / (time.monotonic() - began)
        keep(browser, kept_picture)
        status = browser.evaluate("document.getElementById('status').textContent")
        rows = browser.evaluate("document.querySelectorAll('.row, .parameter').length")
        browser.evaluate("{ const u = document.getElementById('units'); u.value = 'shop'; }")
        browser.evaluate(
            "{ const s = document.getElementById('search'); s.value = 'A.w gear'; s.oninput({target: s}); }"
        )
        time.sleep(0.5)
        every = "[...document.querySelectorAll('{}')].map(e => e.textContent).join()".format
        gauges, found = browser.evaluate(every(".gauge b")), browser.evaluate(every(".row:not([hidden]) b"))
        badge = browser.evaluate(f"document.getElementById('badge').className + {every('#badge')}")
        browser.evaluate(
            "{ const f = document.querySelector('[name=\"control.K_theta\"]'); f.value = 0.02; f.onchange(); }"
        )
        time.sleep(0.8)
        lit = browser.evaluate("document.querySelector('button[name=\"unit error\"]').className")
        browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        time.sleep(0.5)
        wide = browser.evaluate("document.documentElement.scrollWidth")
        keep(browser, kept_picture.with_stem("live-phone"))
    finally:
        browser.close()
        run.stop()
    report = run.report()
    kept = read(tmp_path / "run.h5").signals
    print(f"\n{rate:.1f} frames a second; {status}; {kept_picture}")
    assert rate > 10.0  # 25 a second are sent; the rest is the browser's on a busy machine
    assert rows == len(report.figures["signals"])
    assert status.startswith("t = ")
    assert [told.rpartition(" ")[2] for told in gauges.split(",")] == ["N.m", "N.m", "rpm"]
    assert found == "gear.a.w"
    assert badge.startswith("bad") == ("on time" not in badge)
    demand = kept["control.tau_des"].values
    assert np.abs(demand - 5.0).min() < 0.1
    assert ((kept["flags"].values.astype(int) & 8) > 0).sum() > 20
    assert report.figures["live"]["commands"] == 4
    assert kept["control.K_theta"].values[-1] == 0.02
    (fault,) = report.figures["switched"]
    assert fault["name"] == "unit error"
    assert 0.0 < fault["from_s"] < fault["to_s"]
    assert json.loads(read(tmp_path / "run.h5").attributes["faults"]) == [fault]
    assert lit == ""
    assert wide <= 390
    assert report.message.startswith("enough")
