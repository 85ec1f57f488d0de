"""HDF5 files that are checked before anything interprets them.

Seal. A mark names the kind of file, the number of its sealed bytes, and their digest (BLAKE2b). In HDF5 the mark is in
the user block, which other programs skip. A file that was cut, zeroed or changed anywhere is refused by its mark alone.

Bounds. An undamaged file may still declare more than the memory can hold, or point to other files. All declarations are
checked before anything is read: bytes of all datasets; bytes of each dataset against the most that deflate can pack
into its stored bytes; bytes and number of chunks; numbers of groups, objects and texts. Links, external and virtual
datasets, types other than numbers and text, and filters that HDF5 would load are refused.
"""

import hashlib
import itertools
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from rtcvt import __version__
from rtcvt.errors import AsInputError, InputError
from rtcvt.files import opened

BLOCK = 512  # [bytes] of the user block
LARGEST = 4 * 2**30  # [bytes] of all datasets together
CHUNK, PIECES = 64 * 2**20, 2**20  # [bytes] of a chunk, number of them in a dataset
UNPACKED = 1100  # times as large as it is stored; deflate packs no better than 1032 to 1
TEXT, TEXTS = 64 * 2**20, 2**14  # [bytes] of all texts together, number of them in a dataset
ATTRIBUTE = 512  # values of an attribute
GROUPS, OBJECTS = 10_000, 400_000  # attributes are objects, too
FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)
MARK = struct.Struct("<16sQ40s")  # kind, number of sealed bytes, digest
PACKED = 8192  # values of a packed chunk; 7 of their bytes fit into a stored block of deflate
_PIECE = 1 << 20
SCALES = (b"DIMENSION_LIST", b"REFERENCE_LIST")  # attributes of netCDF-4 for others, which are never read here
_DIGITS = b" 0123456789"
Array = NDArray[np.float64]


def hashed(data: bytes = b"") -> Any:
    """A BLAKE2b digest, updated with `data`."""
    return hashlib.blake2b(data, digest_size=40)


def digest_of(file: BinaryIO, start: int, stop: int) -> Any:
    """Digest of the bytes of a file from `start` to `stop`; None if there are fewer."""
    found, left = hashed(), stop - start
    file.seek(start)
    while left > 0:
        piece = file.read(min(left, _PIECE))
        if not piece:
            return None
        found.update(piece)
        left -= len(piece)
    return found


def checked(path: Path, file: BinaryIO, kind: bytes | None, start: int, what: str) -> tuple[int, Any]:
    """Check the mark of a file; returns the number of sealed bytes and their digest.

    Raises
    ------
    InputError
        The mark does not match, or the file has no mark of this kind (None: any kind); `what` names the allowed file.
    """
    file.seek(0)
    head = file.read(MARK.size)
    if len(head) == MARK.size:
        magic, length, digest = MARK.unpack(head)
        if kind in (magic, None) and start <= length <= os.fstat(file.fileno()).st_size:
            found = digest_of(file, start, length)
            if found is not None and found.digest() == digest:
                return length, found
    raise InputError(path, "", None, f"an undamaged file of a {what}; this one is another file, or was cut or changed")


def seal(path: Path, kind: bytes) -> None:
    """Mark an HDF5 file with a user block as finished, and have it on the disk."""
    with path.open("r+b") as file:
        length = os.fstat(file.fileno()).st_size
        mark = MARK.pack(kind, length, digest_of(file, BLOCK, length).digest())
        file.seek(0)
        file.write(mark)
        file.flush()
        os.fsync(file.fileno())


class Schema(NamedTuple):
    """Schema of a file of this release, and the command that makes a file of another release again."""

    kind: str  # attribute `kind`; for messages alone if it is empty in files
    version: int  # attribute `schema_version`
    command: str  # that makes one

    def require(self, attributes: Mapping[str, Any], path: Path, kind: bool = True) -> None:
        """Refuse a file of another schema, or of another `kind`; the message names its release and the remedy.

        Raises
        ------
        InputError
            The schema or the kind differs.
        """
        if kind and attributes.get("kind") != self.kind:
            raise InputError(path, "kind", str(attributes.get("kind")), f"a {self.kind}")
        found = attributes.get("schema_version")
        if found == self.version:
            return
        maker, made, created = (
            str(attributes.get(k, "unknown"))[:40] for k in ("rtcvt_version", "revision", "created")
        )
        newer = isinstance(found, int | np.integer) and found > self.version
        raise InputError(
            path, "schema_version", str(found), f"a {self.kind} of schema version {self.version}, which rtcvt "
            f"{__version__} reads; this one was made by rtcvt {maker} (revision {made}, {created}): "
            + ("use that release or a newer one" if newer else f"{self.command} makes it again"),
        )  # fmt: skip


@contextmanager
def open_sealed(path: Path, kind: bytes | None, what: str, schema: Schema | None = None) -> Iterator[h5py.File]:
    """A sealed file, open for reading.

    Parameters
    ----------
    path : Path
        The file.
    kind : bytes, optional
        Mark of the file; any by default.
    what : str
        Name of the file's kind in messages.
    schema : Schema, optional
        Required schema. A mark that differs from `kind` in its number alone belongs to another schema.

    Raises
    ------
    InputError
        Another kind or schema, damaged, beyond the bounds, or an error while reading.
    """
    with refused(path, f"an HDF5 file of a {what}"):
        with opened(path, None) as raw:
            mark = raw.read(len(kind or b""))
            numbered = schema and kind and mark.rstrip(_DIGITS) == kind.rstrip(_DIGITS)
            checked(path, raw, mark if numbered else kind, BLOCK, what)
        with h5py.File(path, "r") as file:
            require_bounded(file, path)
            if schema is not None:
                schema.require(file.attrs, path)
            yield file


_DOUBLE = np.dtype("<f8")
_TEXT, _LINK = h5py.string_dtype(), h5py.h5p.create(h5py.h5p.LINK_CREATE)
_LINK.set_char_encoding(h5py.h5t.CSET_UTF8)
_HELD = h5py.h5t.py_create(_TEXT)  # in memory


def new_series(
    group: h5py.Group, name: str, values: Array, texts: Mapping[str, str], chunk: int = 0, packed: bool = False
) -> h5py.h5d.DatasetID:
    """Create a dataset of doubles (n, ...) with texts as attributes. It calls HDF5's own functions: those of h5py need
    three times as long, which matters for a unit with 20 000 outputs.

    Parameters
    ----------
    group : h5py.Group
        Group of the dataset.
    name : str
        Name in the group.
    values : array (n, ...)
        Values; with one `chunk` (n,).
    texts : mapping of str to str
        Attributes.
    chunk : int
        Number of values of a chunk; a dataset with chunks may `grow`.
    packed : bool
        Whether values are shuffled and deflated, with its checksum of each chunk; in one chunk by default.
    """
    made, others = h5py.h5p.create(h5py.h5p.DATASET_CREATE), values.shape[1:]
    made.set_obj_track_times(False)
    if chunk or packed:
        made.set_chunk((chunk or max(1, min(len(values), PACKED // math.prod(others))), *others))
    if packed:
        made.set_shuffle()
        made.set_deflate(1)
    space = h5py.h5s.create_simple(values.shape, (h5py.h5s.UNLIMITED,) if chunk else None)
    data = h5py.h5d.create(group.id, None, h5py.h5t.IEEE_F64LE, space, made)
    values = np.ascontiguousarray(values, dtype=_DOUBLE)
    if packed:
        rows = made.get_chunk()[0]
        for k in range(0, len(values), rows):
            piece = values[k : k + rows]
            if len(piece) < rows:
                piece = np.concatenate([piece, np.zeros((rows - len(piece), *others))])
            data.write_direct_chunk((k, *[0] * len(others)), deflated(piece))
    elif len(values):
        data.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    one = h5py.h5s.create(h5py.h5s.SCALAR)
    kind = h5py.h5t.py_create(_TEXT, logical=True)
    for key, text in texts.items():
        h5py.h5a.create(data, key.encode(), kind, one).write(np.array(text, dtype=_TEXT), mtype=_HELD)
    h5py.h5o.link(data, group.id, name.encode(), lcpl=_LINK)
    return data


def deflated(values: Array) -> bytes:
    """Doubles as HDF5's filters shuffle and deflate them: a plane for each of their 8 bytes, packed.

    Planes below the first in which neighbours are often equal are stored, since they cannot be packed; the others are
    packed as runs. The result is as small as that of zlib's first level, in a third of the time.
    """
    planes = np.ascontiguousarray(values.reshape(-1).view(np.uint8).reshape(-1, 8).T)
    same = (planes[:, 8::8] == planes[:, 7:-1:8]).sum(axis=1) * 32 > planes.shape[1]
    same[0 if planes.shape[1] > PACKED else 7] = True
    stored = int(same.argmax())
    n = stored * planes.shape[1]
    packer = zlib.compressobj(1, zlib.DEFLATED, -15, 9, zlib.Z_RLE)
    head, end = struct.pack("<HBHH", 0x0178, 0, n, n ^ 0xFFFF), struct.pack(">I", zlib.adler32(planes.data))
    return b"".join([head, planes[:stored].tobytes(), packer.compress(planes[stored:].data), packer.flush(), end])


def grow(data: h5py.h5d.DatasetID, first: int, values: Array) -> None:
    """Append values (n,) to a dataset, from place `first` on."""
    data.set_extent((first + len(values),))
    space = data.get_space()
    space.select_hyperslab((first,), values.shape)
    data.write(h5py.h5s.create_simple(values.shape), space, np.ascontiguousarray(values, dtype=np.float64))


def texts_of(data: h5py.h5d.DatasetID, *names: str) -> list[str | None]:
    """Attributes of a dataset that are texts, None of each that there is not. As fast as `new_series`.

    Raises
    ------
    TypeError, UnicodeDecodeError
        One is no text.
    """
    found: list[str | None] = []
    for name in names:
        held: Any = np.array(None, dtype=_TEXT)
        if h5py.h5a.exists(data, name.encode()):
            h5py.h5a.open(data, name.encode()).read(held, mtype=_HELD)
        found.append(None if held[()] is None else held[()].decode())
    return found


def text_in(file: h5py.File, name: str) -> str:
    """A text of a file.

    Raises
    ------
    InputError
        The file has no text of this name.
    """
    data = file.get(name)
    if not isinstance(data, h5py.Dataset) or data.shape != () or data.dtype.kind not in "SO":
        raise InputError(file.filename, name, None, "a text")
    found = data[()]
    if not isinstance(found, bytes):  # an empty one
        return ""
    with AsInputError(UnicodeDecodeError, file.filename, name, None, "a text in UTF-8"):
        return found.decode()


UNREADABLE = (OSError, LookupError, TypeError, AttributeError, ValueError, RuntimeError, zipfile.BadZipFile,
              struct.error, EOFError, MemoryError)  # fmt: skip


def refused(path: Path, what: str) -> AsInputError:
    """Raise errors of reading as `InputError`: the file is not `what` it should be."""
    allowed = lambda e: f"{what} ({e or type(e).__name__})"  # noqa: E731
    return AsInputError(UNREADABLE, path, "", None, allowed, passing=InputError)


def require_bounded(file: h5py.File, path: Path) -> None:
    """Refuse a file that declares too much, or whose contents are of no plain type or lie elsewhere.

    Raises
    ------
    InputError
        Such a file.
    """
    found = _Bounds(path)
    groups = [("", h5py.h5g.open(file.id, b"/"))]
    seen = {h5py.h5o.get_info(groups[0][1]).addr}
    found.attributes("/", groups[0][1])
    for parent, group in groups:  # grows
        for name in group:
            key = f"{parent}/{name.decode(errors='replace')}"
            found.count(key)
            if group.links.get_info(name).type != h5py.h5l.TYPE_HARD:
                raise InputError(path, key, None, "a dataset or group of this file, no link")
            item = h5py.h5o.open(group, name)
            if isinstance(item, h5py.h5g.GroupID):
                address = h5py.h5o.get_info(item).addr
                if address in seen:
                    continue
                seen.add(address)
                groups.append((key, item))
                if len(groups) > GROUPS:
                    raise InputError(path, key, None, f"at most {GROUPS} groups")
            elif isinstance(item, h5py.h5d.DatasetID):
                found.dataset(key, item)
            else:
                raise InputError(path, key, None, "a dataset or group of this file")
            found.attributes(key, item)


class _Bounds:
    """Totals that a file has declared so far."""

    def __init__(self, path: Path) -> None:
        self.path, self.objects, self.total, self.text = path, 0, 0, 0

    def count(self, key: str) -> None:
        self.objects += 1
        if self.objects > OBJECTS:
            raise InputError(self.path, key, None, f"at most {OBJECTS} datasets, groups and attributes")

    def dataset(self, key: str, data: Any) -> None:
        made = data.get_create_plist()
        layout = made.get_layout()
        if layout == h5py.h5d.VIRTUAL or made.get_external_count():
            raise InputError(self.path, key, None, "a dataset of this file")
        kind = self._type(key, data)
        for k in range(made.get_nfilters()):
            if (number := made.get_filter(k)[0]) not in FILTERS:
                raise InputError(self.path, key, number, "the filters deflate, shuffle and fletcher32")
        shape, width = data.shape or (), kind.itemsize
        size = math.prod(shape) * width
        self.total += size
        if self.total > LARGEST:
            raise InputError(self.path, "", f"{self.total} bytes", f"datasets of at most {LARGEST >> 30} GiB together")
        if layout == h5py.h5d.CHUNKED:
            chunk = math.prod(made.get_chunk()) * width
            pieces = math.prod(-(-n // m) for n, m in zip(shape, made.get_chunk(), strict=True))
            if chunk > CHUNK or pieces > PIECES:
                found = f"{pieces} chunks of {chunk} bytes"
                raise InputError(self.path, key, found, f"at most {PIECES} chunks of at most {CHUNK >> 20} MiB")
        stored = data.get_storage_size()
        if size > UNPACKED * stored + CHUNK:
            raise InputError(self.path, key, f"{size} bytes", f"as much as is stored, here {stored} bytes")
        if kind.kind == "O" and data.shape is not None:
            self._texts(key, shape, h5py.Dataset(data))

    def _texts(self, key: str, shape: tuple[int, ...], data: Any) -> None:
        """Texts of any length may all be the same long one: they are read one by one."""
        if math.prod(shape) > TEXTS:
            raise InputError(self.path, key, f"{math.prod(shape)} texts", f"at most {TEXTS}")
        for place in itertools.product(*map(range, shape)):
            self._take(key, len(data[place]))

    def _take(self, key: str, length: int) -> None:
        self.text += length
        if self.text > TEXT:
            raise InputError(self.path, key, None, f"texts of at most {TEXT >> 20} MiB together")

    def attributes(self, key: str, item: Any) -> None:
        names: list[bytes] = []
        h5py.h5a.iterate(item, names.append)  # opening them by number needs twice as long
        for each in names:
            found = h5py.h5a.open(item, each)
            name = f"{key}: {each.decode(errors='replace')}"
            self.count(name)
            if each in SCALES:
                continue
            kind, size = self._type(name, found), math.prod(found.shape or ())
            if size > (most := ATTRIBUTE // 8 if kind.kind == "O" else ATTRIBUTE):  # texts are read all at once
                raise InputError(self.path, name, f"{size} values", f"at most {most}")
            if kind.kind == "O" and found.shape is not None:
                values = np.empty(found.shape, dtype=kind)
                found.read(values, mtype=_HELD)
                for value in values.flat:
                    self._take(name, len(value or b""))

    def _type(self, key: str, item: Any) -> Any:
        """The numpy type of a dataset or attribute."""
        stored = item.get_type()
        if stored == h5py.h5t.IEEE_F64LE:
            return _DOUBLE
        if isinstance(stored, h5py.h5t.TypeStringID) and stored.is_variable_str():
            return _TEXT
        try:
            kind = stored.dtype
        except (TypeError, ValueError):
            kind = np.dtype("V1")
        if kind.kind not in "biufS" and h5py.check_string_dtype(kind) is None:
            raise InputError(self.path, key, str(kind), "numbers or text")
        return kind
