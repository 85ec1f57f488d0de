"""What the system says against writing: one message, exit code 2, nothing left; files have the rights of the umask."""

import errno
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from marks import slow

from rtcvt.errors import InputError
from rtcvt.offline.pushbelt.run.runfile import Journal
from rtcvt.recording import new_hdf5, replaced_on_success

RTCVT = [sys.executable, "-m", "rtcvt"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES])
def test_what_the_system_says_is_an_error_of_input(tmp_path, code):
    with pytest.raises(InputError, match=os.strerror(code)), replaced_on_success(tmp_path / "x.fmu") as temporary:
        raise OSError(code, os.strerror(code), str(temporary))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "words",
    [["--version"], ["simulate", "differential", "--json", "/dev/full"], slow(["show", "clutch"]), slow(["show"])],
)
def test_a_full_device(tmp_path, words):
    with open("/dev/full" if "/dev/full" not in words else os.devnull, "w") as out:
        done = subprocess.run([*RTCVT, *words], stdout=out, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def small():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


@pytest.mark.parametrize(
    "words",
    [
        "simulate differential -o x.h5",
        "export differential --backend python --no-check -o x.fmu",
        slow("simulate differential --json x.json"),
        slow("check differential -o x.html"),
        slow("ssp vehicle_wltc -o x.ssp"),
    ],
)
def test_files_end_too_early(tmp_path, words):
    done = subprocess.run([*RTCVT, *words.split()], capture_output=True, text=True, cwd=tmp_path, preexec_fn=small)
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def extend(path):
    with Journal(path, write=True) as journal:
        for k in range(1, 9):
            journal.add({"q": np.full(500, float(k))})


def test_a_run_of_the_full_pushbelt_keeps_what_it_wrote(tmp_path):
    path = tmp_path / "run.h5.partial"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(InputError, match=r"'.*run\.h5\.partial'.*File too large$"):
            Journal.create(path, {"head": np.zeros(3000)})
        assert not list(tmp_path.iterdir())
        Journal.create(path, {"head": np.zeros(10)})
        with pytest.raises(InputError, match=r"run\.h5\.partial.*File too large; --resume"):
            extend(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with Journal(path, write=True) as journal:
        journal.add({"q": np.full(500, 9.0)})
        assert [record["q"][0] for record in journal.blocks()] == [1, 2, 3, 4, 9]


def test_a_reader_that_has_had_enough(tmp_path):
    with subprocess.Popen([*RTCVT, "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode in (1, -signal.SIGPIPE)


@pytest.mark.parametrize("umask", [0o077, 0o022, 0o002])
def test_files_have_the_rights_that_the_umask_leaves(tmp_path, umask):
    before = os.umask(umask)
    try:
        with replaced_on_success(tmp_path / "a.txt") as temporary:
            temporary.write_text("a")
        with new_hdf5(tmp_path / "b.h5", b"kind"):
            pass
    finally:
        os.umask(before)
    assert {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()} == dict.fromkeys(
        ("a.txt", "b.h5"), 0o666 & ~umask
    )
