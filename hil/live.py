"""A run as a local web page: signals and histograms as they come, inputs to move, faults to switch.

A small HTTP server on the loopback interface, in threads beside the loop: ``/`` is the page, ``/events`` a stream of
server-sent events, `RATE` a second, ``/command`` takes JSON: ``{"set": input, "value": number}``,
``{"release": input}``, ``{"fault": name, "on": bool}``. The page reads the loop's newest values and its histograms;
commands take effect at the next step. Requests under any other name than the loopback's are refused, so no other web
page reaches it.
"""

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from hil.importer import Fmu
from hil.loop import Command, Ending, bin_edges
from hil.rig import LOOP_FAULTS, NEVER, Attachment, Running
from rtcvt.errors import InputError
from rtcvt.model import Variable
from rtcvt.scenario import Fault
from rtcvt.unitfile import Scenario

__all__ = ["live_page"]

PAGE = Path(__file__).with_name("live.html")
RATE = 25.0  # [1/s]
LONGEST_COMMAND = 1000  # [bytes]
LOCAL = ("127.0.0.1", "localhost")


def live_page(port: int, opened: Callable[[str], None]) -> Callable[[Fmu, Scenario | None, float], Attachment]:
    """What makes the page for a run.

    Parameters
    ----------
    port : int
        On which it is served; 0 for any that is free.
    opened : callable
        Gets the page's address before the first step.
    """

    def make(fmu: Fmu, scenario: Scenario | None, step: float) -> Attachment:
        del scenario
        faults = _faults(fmu, step)
        served = [0, 0]

        @contextmanager
        def prepare(running: Running) -> Iterator[None]:
            ended = threading.Event()
            try:
                server = ThreadingHTTPServer((LOCAL[0], port), _handler(running, fmu.file, ended, served))
            except OSError as error:
                raise InputError("--live", "", port, f"a port that is free: {error.strerror}") from None
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            opened(f"http://{LOCAL[0]}:{server.server_address[1]}/")
            try:
                yield
            finally:
                ended.set()
                server.shutdown()
                thread.join()
                server.server_close()

        return Attachment("live", {}, False, prepare, lambda: {"events": served[0], "commands": served[1]}, faults)

    return make


def _faults(fmu: Fmu, step: float) -> tuple[Fault, ...]:
    """Those that the page can switch on: of the unit, and of the first torque that goes in and comes out."""
    made: list[dict[str, Any]] = [
        {"name": "unit error", "kind": "unit_error"},
        {"name": "overload", "kind": "overload", "value": 2.0 * step},
    ]
    for causality, kinds in (("input", ("nan", "stuck")), ("output", ("stuck", "nan"))):
        found = fmu.interface.select(causality)
        torques = [v for v in found if v.unit == "N.m"] or list(found)
        made += [{"name": f"{kind} {v.name}", "kind": kind, "signal": v.name} for v in torques[:1] for kind in kinds]
    return tuple(Fault(start=NEVER, duration=step, **f) for f in made)


def _handler(running: Running, name: str, ended: threading.Event, served: list[int]) -> type[BaseHTTPRequestHandler]:
    page = PAGE.read_bytes()
    inputs = {v.name: v for v in running.inputs}
    in_loop = [f for f in running.faults if f.kind in LOOP_FAULTS]
    places = {f.name: k for k, f in enumerate(in_loop)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self._local():
                return
            if self.path == "/":
                self._answer(200, page, "text/html; charset=utf-8")
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
            elif not length.isdigit() or int(length) > LONGEST_COMMAND:
                self._answer(413)
            else:
                well = self._obey(self.rfile.read(int(length)))
                served[1] += well
                self._answer(204 if well else 400)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the terminal belongs to the run."""

        def _local(self) -> bool:
            """Whether the request names this machine: a page from elsewhere cannot make a browser do that."""
            if self.headers.get("Host", "").rpartition(":")[0] in LOCAL:
                return True
            self._answer(403)
            return False

        def _answer(self, status: int, body: bytes = b"", kind: str = "text/plain") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            try:
                self._event(_about(running, name), "about")
                while not ended.wait(1.0 / RATE) and running.loop.state is Ending.RUNNING:
                    self._event(_present(running))
                    served[0] += 1
                self._event({}, "ended")
            except OSError:  # the page was closed
                pass

        def _event(self, data: dict[str, Any], kind: str = "message") -> None:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n".encode())
            self.wfile.flush()

        def _obey(self, text: bytes) -> bool:
            try:
                asked = json.loads(text)
            except (ValueError, RecursionError):
                return False
            match asked:
                case {"set": str(key), "value": int() | float() as value} if key in inputs and math.isfinite(value):
                    return running.loop.command(Command.SET_LIVE, inputs[key].index, float(value))
                case {"release": str(key)} if key in inputs:
                    return running.loop.command(Command.RELEASE_LIVE, inputs[key].index)
                case {"fault": str(key), "on": bool(on)} if key in places:
                    return running.loop.command(Command.FAULT_ON if on else Command.FAULT_OFF, places[key])
                case {"fault": str(key), "on": bool(on)} if key in running.switches:
                    running.switches[key](on)
                    return True
            return False

    return Handler


def _about(running: Running, name: str) -> dict[str, Any]:
    def unit(v: Variable) -> str:
        return "" if v.unit == "1" else v.unit

    first = running.loop.latest()[1:]
    inputs = []
    for v in sorted(running.inputs, key=lambda v: v.unit != "N.m"):  # torques first
        start = float(first[v.index])
        reach = max(abs(start), abs(v.nominal or 0.0), 1.0)
        low = -2.0 * reach if v.minimum is None or v.minimum < -1e9 else v.minimum
        high = 2.0 * reach if v.maximum is None or v.maximum > 1e9 else v.maximum
        inputs.append({"name": v.name, "unit": unit(v), "low": low, "high": high, "start": start})
    return {
        "name": name,
        "step": running.step,
        "signals": [{"name": v.name, "unit": unit(v)} for v in running.inputs + running.outputs],
        "inputs": inputs,
        "faults": [{"name": f.name, "text": f.name} for f in running.faults if f.kind in LOOP_FAULTS],
        "messages": [{"name": name, "text": name} for name in running.switches],
    }


def _present(running: Running) -> dict[str, Any]:
    row = running.loop.latest()
    counters = running.loop.counters()
    return {
        "t": float(row[0]) * running.step,
        "values": [float(v) if np.isfinite(v) else None for v in row[1:]],
        "histogram": _octaves(running),
        **{key: counters[key] for key in ("misses", "late", "skipped", "lost", "fallbacks")},
    }


def _octaves(running: Running) -> dict[str, list[float]]:
    """Histograms with one bin per octave from 16 ns to 16 ms; the first and last hold what is beyond."""
    count = 21
    edges = bin_edges()[16 : 16 * (count + 1) : 16]
    found: dict[str, list[float]] = {"from_us": [0.0, *(edges[1:] * 1e6).tolist()]}
    for key, histogram in zip(("step_time", "lateness"), running.loop.histograms, strict=True):
        octaves = histogram[16:].reshape(-1, 16).sum(axis=1)
        kept = np.append(octaves[: count - 1], octaves[count - 1 :].sum())
        kept[0] += histogram[:16].sum()
        found[key] = kept.tolist()
    return found
