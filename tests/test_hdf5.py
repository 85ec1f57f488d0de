"""Files of others: what HDF5 declares is bounded before it is read, and what is no regular file is refused."""

import os
import resource
import time
import zlib

import h5py
import numpy as np
import pytest

from rtcvt.errors import InputError
from rtcvt.files.hdf5 import new_series, require_bounded, seal
from rtcvt.hil.importer import open_fmu
from rtcvt.hil.recorder import read
from rtcvt.offline.pushbelt.run.marks import FILE, JOURNAL, is_run
from rtcvt.offline.pushbelt.run.reading import open_run
from rtcvt.offline.pushbelt.run.runfile import Journal
from rtcvt.offline.variator.heldout import read_heldout
from rtcvt.recording import SEAL, Recording, Signal, new_hdf5, write_recording
from rtcvt.variator.reduced.file import read_reduced


def _chunk(file):
    data = file.create_dataset("a", (10,), "f8", chunks=(20_000_000,), maxshape=(None,), compression="gzip")
    packed = zlib.compressobj(1)
    data.id.write_direct_chunk((0,), b"".join([*(packed.compress(bytes(1 << 24)) for _ in range(10)), packed.flush()]))


def _texts(file):
    file["text"] = "x" * 1_000_000
    for k in range(100):
        file[f"t{k}"] = file["text"]


def _references(file):
    """Many texts of a dataset that are one and the same long text."""
    data = file.create_dataset("a", (2000,), h5py.string_dtype())
    data[:] = ""
    data[0] = "x" * 100_000
    file.flush()
    with open(file.filename, "r+b") as raw:
        raw.seek(data.id.get_offset())
        first = raw.read(16)
        raw.seek(data.id.get_offset())
        raw.write(2000 * first)


def _external(file):
    layout = h5py.VirtualLayout((10,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "a", (10,))
    file.create_virtual_dataset("a", layout)


DECLARED = {"a chunk of 160 MB": _chunk, "nothing stored": lambda f: f.create_dataset("a", (400_000_000,), "f8"),
    "nothing stored, in chunks": lambda f: f.create_dataset("a", (400_000_000,), "f8", chunks=(100_000,)),
    "many chunks": lambda f: f.create_dataset("a", (3_000_000,), "f4", chunks=(1,)),
    "many groups": lambda f: [f.create_group(f"g{k}") for k in range(10_010)], "long texts": _texts,
    "many texts": lambda f: f.create_dataset("a", (20_000,), h5py.string_dtype()),
    "references to one text": _references, "a wide attribute": lambda f: f.attrs.create("a", np.zeros(1000)),
    "an attribute of many texts": lambda f: f.attrs.create("a", ["x"] * 65, dtype=h5py.string_dtype()),
    "an attribute that points": lambda f: f.attrs.create("a", f.ref, dtype=h5py.ref_dtype),
    "a record": lambda f: f.create_dataset("a", (2,), np.dtype([("x", "f8"), ("y", "i4")])),
    "numbers of any length": lambda f: f.create_dataset("a", (2,), h5py.vlen_dtype("f8")),
    "a type": lambda f: f.__setitem__("a", np.dtype("f8")),
    "a filter of others": lambda f: f.create_dataset("a", data=np.zeros(100), compression="lzf"),
    "a filter that adds": lambda f: f.create_dataset("a", data=np.zeros(100, int), scaleoffset=4),
    "a soft link": lambda f: f.__setitem__("a", h5py.SoftLink("/b")),
    "an external link": lambda f: f.__setitem__("a", h5py.ExternalLink("/etc/passwd", "/")),
    "a dataset elsewhere": lambda f: f.create_dataset("a", (4,), "u1", external=[("/etc/passwd", 0, 4)]),
    "a virtual dataset": _external}  # fmt: skip


@pytest.mark.parametrize("what", DECLARED)
def test_what_is_declared_is_bounded_before_it_is_read(tmp_path, what):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        DECLARED[what](file)
    assert path.stat().st_size < 40e6
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with h5py.File(path, "r") as file, pytest.raises(InputError, match=r"a\.h5"):
        require_bounded(file, path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    assert time.process_time() - began < 5.0


def test_plain_files_are_within_the_bounds(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["zeros"] = np.zeros(0)
        file.create_dataset("packed", data=np.zeros(9_000_000), compression="gzip", shuffle=True, fletcher32=True)
        file["flags"] = np.array([True, False])
        file["text"], file["fixed"] = "a text", np.bytes_(b"fixed")
        file.create_group("g")["again"] = file["zeros"]
        file["g/up"] = file["/"]  # a group within itself
        file.attrs["columns"] = ["one", "two"]
        file.attrs["nothing"] = h5py.Empty("f8")
    with h5py.File(path, "r") as file:
        require_bounded(file, path)


@pytest.mark.parametrize("columns", [(), (3,), (9000,)])
def test_hdf5_reads_what_is_packed_here(tmp_path, columns):
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((20_000 if len(columns) == 0 else 7_000 // columns[0] + 2, *columns))
    made = {"noise": noise, "steps": np.round(noise), "half": np.where(noise > 0.0, 0.0, -noise), "zero": 0.0 * noise}
    path = tmp_path / "packed.h5"
    with h5py.File(path, "w") as file:
        stored = {name: new_series(file, name, v, {}, packed=True).get_storage_size() for name, v in made.items()}
    with h5py.File(path) as file:
        assert all(file[name][()].tobytes() == v.tobytes() for name, v in made.items())
    assert stored["zero"] < stored["steps"] < 0.6 * noise.nbytes
    assert stored["noise"] < 1.2 * noise.nbytes


def _entered(path):
    with open_run(path):
        pass


def _opened(path):
    with open_fmu(path):
        pass


@pytest.mark.parametrize("reader", [read, read_reduced, read_heldout, is_run, _entered, _opened])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: p.symlink_to("/dev/zero"), lambda p: None])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, reader, make):
    make(tmp_path / "f")
    with pytest.raises(InputError):
        reader(tmp_path / "f")


SHAPES = {
    "a table of text": (np.arange(3.0), np.array([[b"a", b"b"]])),
    "a number": (np.arange(3.0), np.array(1.0)),
    "shorter": (np.arange(3.0), np.zeros(2)),
    "text": (np.arange(3.0), np.array([b"a", b"b", b"c"])),
    "time is a number": (np.array(1.0), np.array(1.0)),
    "time is a matrix": (np.zeros((3, 1)), np.zeros((3, 1))),
}


@pytest.mark.parametrize("what", SHAPES)
def test_a_sealed_recording_of_other_shapes_is_refused(tmp_path, what):
    time_, values = SHAPES[what]
    path = tmp_path / "r.h5"
    with new_hdf5(path, SEAL) as file:
        file.attrs["schema_version"] = 1
        for name, array in (("time", time_), ("signals/a", values)):
            file[name] = array
            file[name].attrs.update({"units": "s", "description": ""})
        file["unit_file"] = ""
    with pytest.raises(InputError, match=r"r\.h5"):
        read(path)


@pytest.mark.parametrize("text", [5.0, np.bytes_(b"\xff\xfe"), np.zeros(3), ["a", "b"], None])
def test_a_unit_file_that_is_no_text(tmp_path, text):
    from rtcvt.cli.reduce import _unit_of

    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        if text is None:
            file.create_group("unit_file")
        else:
            file["unit_file"] = text
    seal(path, FILE)
    with pytest.raises(InputError, match=r"a\.h5: unit_file"):
        _unit_of(path)


def test_no_other_file_is_shown(tmp_path):
    write_recording(tmp_path / "r.h5", Recording(np.arange(3.0), {"a": Signal(np.zeros(3), "1")}, {}, "secret"), "test")
    for path in (tmp_path / "a.h5", tmp_path / "b.h5"):
        with h5py.File(path, "w", userblock_size=512) as file:
            file["unit_file"] = h5py.ExternalLink(str(tmp_path / "r.h5"), "/unit_file")
            file.attrs.update(kind="pushbelt run", schema_version=2)
    seal(tmp_path / "a.h5", FILE)
    for path in (tmp_path / "a.h5", tmp_path / "b.h5"):
        with pytest.raises(InputError) as refused:
            _entered(path)
        assert "secret" not in str(refused.value)


def test_a_sealed_run_without_contents(tmp_path):
    path = tmp_path / "a.h5"
    with new_hdf5(path, FILE) as file:
        file.attrs.update(kind="pushbelt run", schema_version=2)
    with pytest.raises(InputError, match=r"a\.h5"), open_run(path) as found:
        found["time"]


@pytest.mark.parametrize("records", [[{}], [{"head": np.frombuffer(b"{}", np.uint8)}], [{"head": np.zeros(3)}], []])
def test_a_sealed_journal_without_contents(tmp_path, records):
    Journal.create(tmp_path / "a.partial", *records)
    with pytest.raises(InputError, match=r"a\.partial"):
        _entered(tmp_path / "a.partial")


def test_a_journal_that_grows_when_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(np, "savez", np.savez_compressed)
    Journal.create(tmp_path / "a.partial", {"head": np.frombuffer(b"{}", np.uint8)}, {"q": np.zeros(1_000_000)})
    monkeypatch.undo()
    assert (tmp_path / "a.partial").stat().st_size < 10_000
    assert (tmp_path / "a.partial").read_bytes().startswith(JOURNAL)
    with pytest.raises(InputError, match="undamaged"):
        _entered(tmp_path / "a.partial")


def test_a_recording_of_another_release_says_which(tmp_path):
    path = tmp_path / "r.h5"
    with new_hdf5(path, SEAL) as file:
        file.attrs.update(schema_version=0, rtcvt_version="0.0.1", revision="abc", created="2025-01-01")
    with pytest.raises(
        InputError, match=r"r\.h5: schema_version = '0': .*made by rtcvt 0\.0\.1 .*rtcvt run makes it again"
    ):
        read(path)
