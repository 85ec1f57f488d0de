"""Frames of a page of `rtcvt.view` as pictures: a browser without a window opens it and writes them into the page."""

import base64
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from rtcvt import processes
from rtcvt.errors import InputError
from rtcvt.files import temporary_folder

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
AT_ONCE = 20  # frames of one start of the browser, whose memory holds them
LARGEST = 7680  # [px] of a picture
FLAGS = ("--headless", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
         "--virtual-time-budget=60000", "--dump-dom")  # fmt: skip


def parse_size(text: str) -> tuple[int, int]:
    """Width and height [px] of a text such as "1280x720".

    Raises
    ------
    InputError
        The text has another form, or the size is too large.
    """
    found = re.fullmatch(r"(\d{2,4})x(\d{2,4})", text)
    if found is None or max(size := (int(found[1]), int(found[2]))) > LARGEST:
        raise InputError("--size", "", text, f"a width and a height from 10 to {LARGEST}, such as 1280x720")
    return size


def write_pictures(
    page: Path, frames: int, folder: Path, size: tuple[int, int], progress: Callable[[str, int, int], None]
) -> None:
    """Write the frames of a page as ``frame_00000.png``, ``frame_00001.png`` and so on.

    Parameters
    ----------
    page : Path
        The page.
    frames : int
        How many it has.
    folder : Path
        For the pictures; it is made.
    size : (int, int)
        Of a picture [px].
    progress : callable
        Called with a text, frames done and frames in all.

    Raises
    ------
    InputError
        There is no browser, or it draws nothing.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise InputError("--pictures", "", str(folder), f"a browser on the path: {', '.join(BROWSERS)}")
    folder.mkdir(parents=True, exist_ok=True)
    sandbox = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    with temporary_folder() as profile:
        for first in range(0, frames, AT_ONCE):
            address = f"{page.resolve().as_uri()}#frames={size[0]}x{size[1]},{first},{first + AT_ONCE}"
            command = [browser, *FLAGS, *sandbox, f"--user-data-dir={profile}", address]
            done = processes.run(command, {})
            found = re.search(r'<pre id="pictures">([A-Za-z0-9+/=\s]+)</pre>', done.stdout)
            if found is None:
                raise InputError("--pictures", "", browser, f"a browser that draws with WebGL 2: {done.stderr[-300:]}")
            for k, line in enumerate(found[1].split()):
                (folder / f"frame_{first + k:05d}.png").write_bytes(base64.b64decode(line))
            progress("pictures", min(first + AT_ONCE, frames), frames)
