"""Chromium without a window, driven over its debugging pipe."""

import base64
import json
import os
import subprocess
from pathlib import Path

from tools import BROWSER

FLAGS = ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--mute-audio",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--window-size=1400,1100"]  # fmt: skip
FLAT = "--disable-gpu"
DRAWING = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")  # WebGL on the processor


class Browser:
    """Chromium over its debugging pipe: it reads commands from file 3 and writes answers to file 4."""

    def __init__(self, folder: Path, *flags: str):
        (read_in, self.into), (self.out, write_out) = os.pipe(), os.pipe()

        def join():
            first, second = os.dup(read_in), os.dup(write_out)  # above 4, should the pipes themselves be 3 or 4
            os.dup2(first, 3)
            os.dup2(second, 4)

        assert BROWSER is not None
        words = [BROWSER, *FLAGS, *flags, "--remote-debugging-pipe", f"--user-data-dir={folder}"]
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


def keep(browser, path):
    path.write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))
