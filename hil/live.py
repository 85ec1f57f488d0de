"""A run as a local web page: live signals and histograms, pinned gauges, inputs to set, faults to switch.

A small HTTP server on the loopback interface, in threads besides the loop: ``/`` is the page, ``/events`` a stream of
server-sent events, `RATE` a second, ``/command`` accepts JSON: ``{"set": input, "value": number}``,
``{"release": input}``, ``{"tune": parameter, "value": number}``, ``{"fault": name, "on": bool}``. The page reads the
loop's newest values and its histograms; commands take effect at the next step. A value beyond its variable's range is
refused.

Requests under any other name than the loopback's are refused, so no other web page reaches it; none may show it in a
frame. A stream that is not read is closed, and the oldest of too many, so no client is kept out. Commands need the
run's token, which is part of the address printed at the start: other users of the machine can only watch.
"""

import json
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import numpy as np

from rtcvt.errors import AsInputError
from rtcvt.hil.importer import Fmu
from rtcvt.hil.loop import Command, Ending, bin_edges
from rtcvt.hil.rig import NEVER, Attachment, Running
from rtcvt.look import css
from rtcvt.model import Variable
from rtcvt.quantity import to_si
from rtcvt.scenario import MESSAGE_FAULTS, Fault, Scenario

PAGE = Path(__file__).with_name("live.html")
RATE = 25.0  # [1/s]
MAX_COMMAND = 1000  # [bytes]
REQUEST_TIMEOUT = 10.0  # [s] after which an incomplete request is dropped
STREAM_TIMEOUT = 1.0  # [s] after which a stream that accepts no event is closed
STREAM_BUFFER = 65536  # [bytes] of events that wait in a stream
MOST_STREAMS = 8  # at a time; the oldest makes room for a new one
SHOP = {"rad/s": "rpm", "Pa": "bar", "rad": "deg"}  # units of workshops, which the page shows in place of those of SI
PINNED = 3  # signals that have a gauge from the beginning
LOCAL = ("127.0.0.1", "localhost")
HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
POLICY = (
    "default-src 'none'; connect-src 'self'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)


def live_page(port: int, opened: Callable[[str], None]) -> Callable[[Fmu, Scenario | None, float], Attachment]:
    """Return the function that makes the page for a run.

    Parameters
    ----------
    port : int
        Port of the server; 0 for any free one.
    opened : callable
        Called with the page's address and token before the first step.
    """

    def make(fmu: Fmu, scenario: Scenario | None, step: float) -> Attachment:
        del scenario
        faults = _faults(fmu, step)
        served = {"events": 0, "commands": 0, "refused": 0}

        @contextmanager
        def prepare(running: Running) -> Iterator[None]:
            ended = threading.Event()
            token = secrets.token_urlsafe(16)
            with AsInputError(OSError, "--live", "", port, lambda e: f"a port that is free: {e.strerror}"):
                server = _Server((LOCAL[0], port), _Page(running, fmu.file, token, ended, served))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            opened(f"http://{LOCAL[0]}:{server.server_address[1]}/?token={token}")
            try:
                yield
            finally:
                ended.set()
                server.shutdown()
                thread.join()
                server.server_close()

        tunable = frozenset(v.name for v in fmu.interface.select("parameter") if v.tunable)
        return Attachment("live", {}, False, prepare, lambda: dict(served), faults, tunable)

    return make


def _faults(fmu: Fmu, step: float) -> tuple[Fault, ...]:
    """Faults that the page can switch on: of the unit, and of the first torque input and output."""
    made: list[dict[str, Any]] = [
        {"name": "unit error", "kind": "unit_error"},
        {"name": "overload", "kind": "overload", "value": 2.0 * step},
    ]
    for causality, kinds in (("input", ("nan", "stuck")), ("output", ("stuck", "nan"))):
        found = fmu.interface.select(causality)
        torques = [v for v in found if v.unit == "N.m"] or list(found)
        made += [{"name": f"{kind} {v.name}", "kind": kind, "signal": v.name} for v in torques[:1] for kind in kinds]
    return tuple(Fault(start=NEVER, duration=step, **f) for f in made)


class _Page:
    """Contents of the page, and its commands to the run."""

    def __init__(self, running: Running, name: str, token: str, ended: threading.Event, served: dict[str, int]):
        self.running, self.name, self.token, self.ended, self.served = running, name, token, ended, served
        self.text = PAGE.read_text(encoding="utf-8").replace("/*look*/", css())
        self._streams: list[socket.socket] = []  # the oldest first
        self._lock = threading.Lock()
        self._inputs = {v.name: v for v in running.inputs}
        self._places = {f.name: k for k, f in enumerate(running.faults)}
        self._tunable = {v.name: k for k, v in enumerate(running.parameters)}

    @contextmanager
    def stream(self, connection: socket.socket) -> Iterator[None]:
        """Reserve a place among the streams: a client that keeps one open cannot keep others out."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, STREAM_BUFFER)
        connection.settimeout(STREAM_TIMEOUT)
        with self._lock:
            while len(self._streams) >= MOST_STREAMS:
                with suppress(OSError):
                    self._streams.pop(0).shutdown(socket.SHUT_RDWR)  # its next event fails
            self._streams.append(connection)
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._streams.remove(connection)

    def obey(self, text: bytes) -> bool:
        """Execute a command, if it is valid."""
        running = self.running
        try:
            asked = json.loads(text)
        except (ValueError, RecursionError):
            return False
        match asked:
            case {"set": str(key), "value": int() | float() as value} if key in self._inputs and _within(
                value, self._inputs[key]
            ):
                return running.loop.command(Command.SET_LIVE, self._inputs[key].index, float(value))
            case {"release": str(key)} if key in self._inputs:
                return running.loop.command(Command.RELEASE_LIVE, self._inputs[key].index)
            case {"tune": str(key), "value": int() | float() as value} if key in self._tunable:
                return not isinstance(value, bool) and running.tune(self._tunable[key], _finite(value))
            case {"fault": str(key), "on": bool(on)}:
                return self._switch(key, on)
        return False

    def _switch(self, name: str, on: bool) -> bool:
        running = self.running
        command = Command.FAULT_ON if on else Command.FAULT_OFF
        if name not in self._places or not running.loop.command(command, self._places[name]):
            return False
        t = float(running.loop.latest()[0]) * running.step
        lasting = [f for f in running.switched if f["name"] == name and f["to_s"] is None]
        for fault in lasting:
            fault["to_s"] = t
        if on:
            running.switched.append({"name": name, "from_s": t, "to_s": None})
        return True

    def present(self) -> dict[str, Any]:
        """Present contents of the page."""
        running = self.running
        row = running.loop.latest()
        t, counters = float(row[0]) * running.step, running.loop.counters()
        acting = [name for name, on in zip(self._places, running.loop.faults_on, strict=True) if on]
        return {
            "t": t,
            "values": [float(v) if np.isfinite(v) else None for v in row[1:]],  # parameters last
            "faults": acting,
            "histogram": _octaves(running),
            "troubles": {name: count for counts in running.troubles for name, count in counts().items()},
            **{key: counters[key] for key in ("misses", "late", "skipped", "lost", "fallbacks")},
        }


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_TIMEOUT

    @property
    def page(self) -> "_Page":
        return cast(_Server, self.server).page

    def do_GET(self) -> None:
        if not self._local():
            return
        if self.path.partition("?")[0] == "/":
            nonce = secrets.token_urlsafe(16)
            text = self.page.text.replace("<style>", f'<style nonce="{nonce}">').replace(
                "<script>", f'<script nonce="{nonce}">'
            )
            self._answer(200, text.encode(), "text/html; charset=utf-8", POLICY.format(nonce))
        elif self.path == "/events":
            self._stream()
        else:
            self._answer(404)

    def do_POST(self) -> None:
        if not self._local():
            return
        length = self.headers.get("Content-Length", "")
        if self.path != "/command" or self.headers.get("Content-Type") != "application/json":
            self._answer(404)
        elif not (length.isascii() and length.isdigit()) or int(length[:9]) > MAX_COMMAND:
            self._answer(413)
        elif not secrets.compare_digest(self.headers.get("X-Token", "").encode(), self.page.token.encode()):
            self.page.served["refused"] += 1
            self._answer(403)
        else:
            well = self.page.obey(self.rfile.read(int(length)))
            self.page.served["commands" if well else "refused"] += 1
            self._answer(204 if well else 400)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the run."""

    def _local(self) -> bool:
        """Whether the request names this machine: a page from elsewhere cannot make a browser do that."""
        if self.headers.get("Host", "").rpartition(":")[0] in LOCAL:
            return True
        self._answer(403)
        return False

    def _begin(self, status: int, kind: str, policy: str, **more: str) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": kind, "Content-Security-Policy": policy, **HEADERS, **more}.items():
            self.send_header(key, value)
        self.end_headers()

    def _answer(
        self, status: int, body: bytes = b"", kind: str = "text/plain", policy: str = "default-src 'none'"
    ) -> None:
        self._begin(status, kind, policy, **{"Content-Length": str(len(body))})
        self.wfile.write(body)

    def _stream(self) -> None:
        with suppress(OSError), self.page.stream(self.connection):  # closed, not read, or the oldest of too many
            self._begin(200, "text/event-stream", "default-src 'none'")
            self._event(_about(self.page.running, self.page.name), "about")
            while not self.page.ended.wait(1.0 / RATE) and self.page.running.loop.state is Ending.RUNNING:
                self._event(self.page.present())
                self.page.served["events"] += 1
            self._event({}, "ended")

    def _event(self, data: dict[str, Any], kind: str = "message") -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode())
        self.wfile.flush()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], page: _Page):
        super().__init__(address, _Handler)
        self.page = page

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a request that fails is the client's affair, and the terminal belongs to the run."""


def _finite(value: float) -> float:
    """A number as float; NaN if it is too large for one."""
    return float(value) if abs(value) <= float(np.finfo(float).max) else np.nan


def _within(value: float, v: Variable) -> bool:
    """Whether a value is a finite number in its variable's range, or an item of its enumeration."""
    if isinstance(value, bool):
        return False
    if v.choices:
        return value in v.items.values()
    low = -np.finfo(float).max if v.minimum is None else v.minimum
    high = np.finfo(float).max if v.maximum is None else v.maximum
    return bool(low <= value <= high)


def _about(running: Running, name: str) -> dict[str, Any]:
    def unit(v: Variable) -> str:
        return "" if v.unit == "1" else v.unit

    def shown(v: Variable) -> dict[str, Any]:
        """Name, unit and, if workshops use another, that and its factor."""
        other = SHOP.get(v.unit)
        return {"name": v.name, "unit": unit(v), "shop": other and (other, 1.0 / to_si(f"1 {other}", v.unit))}

    first = running.loop.latest()[1:]
    pinned = sorted(running.outputs, key=lambda v: v.unit not in ("N.m", "rad/s"))[:PINNED]
    inputs = []
    for v in sorted(running.inputs, key=lambda v: v.unit != "N.m"):  # torques first
        start = float(first[v.index])
        reach = max(abs(start), abs(v.nominal or 0.0), 1.0)
        low = -2.0 * reach if v.minimum is None or v.minimum < -1e9 else v.minimum
        high = 2.0 * reach if v.maximum is None or v.maximum > 1e9 else v.maximum
        inputs.append({**shown(v), "low": low, "high": high, "start": start})
    parameters = [{"name": v.name, "unit": unit(v), "text": v.description, "choices": list(v.items.items()),
                   "low": v.minimum, "high": v.maximum} for v in running.parameters]  # fmt: skip
    return {
        "name": name,
        "step": running.step,
        "signals": [{**shown(v), "first": v in pinned} for v in running.inputs + running.outputs],
        "inputs": inputs,
        "parameters": parameters,
        "faults": [{"name": f.name, "text": f.name} for f in running.faults if f.kind not in MESSAGE_FAULTS],
        "messages": [{"name": f.name, "text": f.name} for f in running.faults if f.kind in MESSAGE_FAULTS],
    }


def _octaves(running: Running) -> dict[str, list[float]]:
    """Histograms with one bin per octave from 16 ns to 16 ms; the first and last include values beyond."""
    count = 21
    edges = bin_edges()[16 : 16 * (count + 1) : 16]
    found: dict[str, list[float]] = {"from_us": [0.0, *(edges[1:] * 1e6).tolist()]}
    for key, histogram in zip(("step_time", "lateness"), running.loop.histograms, strict=True):
        octaves = histogram[16:].reshape(-1, 16).sum(axis=1)
        kept = np.append(octaves[: count - 1], octaves[count - 1 :].sum())
        kept[0] += histogram[:16].sum()
        found[key] = kept.tolist()
    return found
