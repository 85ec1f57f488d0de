"""Export of a model as an FMI 2.0 co-simulation unit that runs in Python (pythonfmu).

The unit contains its unit file, its settings and a script; the Python of the importing tool needs the same version of
rtcvt. The name of the script contains a hash of the whole unit, since the scripts of all units of a process share one
namespace. The same inputs give the same guid.

The script calls ``Py_IncRef(globals())``, since pythonfmu's library evaluates the script at each instantiation
and afterwards releases a reference to its globals that it never acquired. Without the call they are freed while the
module is still in use, and the process crashes at the second instantiation or at its end.
"""

import hashlib
import importlib
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path

from pythonfmu.builder import FmuBuilder

from rtcvt import __version__
from rtcvt.environment import now
from rtcvt.errors import InputError
from rtcvt.files import temporary_folder
from rtcvt.fmu.slave import SETTINGS, UNIT_FILE
from rtcvt.fmu.traceability import evidence, write_metadata
from rtcvt.html import ErrorRow
from rtcvt.kind import Unit
from rtcvt.model import Fidelity
from rtcvt.recording import replaced_on_success, require_writable
from rtcvt.scenario import parameter_value

_SCRIPT = '''"""{unit}, {fidelity}: written by rtcvt {version}."""

import ctypes
import sys

ctypes.pythonapi.Py_IncRef(ctypes.py_object(globals()))  # pythonfmu gives back one reference too many

try:
    from rtcvt.fmu.slave import UnitSlave
except ImportError as error:
    message = f"this unit needs rtcvt in the Python in {{sys.prefix}} ({{error}}): pip install rtcvt=={version}"
    print(message, file=sys.stderr)
    raise ImportError(message) from error


class {name}(UnitSlave):
    pass
'''


ONE_UNIT = "no FMU within the one unit of a system, but as C sources in a native unit; rtcvt ssp packs it as it is"


def require_fmu_name(path: Path) -> None:
    """Refuse a file that is not to be called ``.fmu``, or cannot be written.

    Raises
    ------
    InputError
        Another suffix, or see `rtcvt.recording.require_writable`.
    """
    if path.suffix != ".fmu":
        raise InputError("output", "", str(path), "a file name that ends in .fmu")
    require_writable(path)


def export_python(
    unit: Unit,
    fidelity: Fidelity,
    path: Path,
    substeps: int | None = None,
    parameters: Mapping[str, float | str] | None = None,
    documentation: str | None = None,
    errors: Sequence[ErrorRow] | None = None,
) -> Path:
    """Write a unit as an FMU that runs in Python.

    Parameters
    ----------
    unit : Unit
        The machine, of any kind.
    fidelity : {"rigid", "hybrid", "full"}
        Its model.
    path : Path
        The file to write; it is replaced only by a complete one.
    substeps : int, optional
        Instead of the unit's own.
    parameters : mapping, optional
        Start values by name, in SI units or with a unit, instead of the unit's own.
    documentation : str, optional
        ``documentation/index.html``.
    errors : sequence of ErrorRow, optional
        Results of a check, for its metadata.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        The unit cannot be built, a parameter is not one of the model's or out of range, or the file cannot be written.
    """
    require_fmu_name(path)
    model = unit.build(fidelity, substeps, parameters)  # before anything is written
    model.require_own(ONE_UNIT)
    if code := [file for file in unit.files_beside if file.suffix in (".py", ".c")]:
        allowed = "no code of yours in a Python unit; use the native backend"
        raise InputError(unit.source, "python", code[0].name, allowed)
    values = dict(parameter_value(model, name, value, "parameters") for name, value in (parameters or {}).items())
    identifier = f"{unit.name}_{fidelity}"
    settings = {"rtcvt": __version__, "identifier": identifier, "fidelity": fidelity, "substeps": substeps,
                "parameters": values,
                "flanges": unit.speed_flanges}  # fmt: skip
    guid = hashlib.sha256(json.dumps([settings, unit.text], sort_keys=True).encode()).hexdigest()[:32]
    name = f"{identifier}_{guid[:8]}"
    with replaced_on_success(path) as temporary, temporary_folder() as work, _imports_restored(name):
        script, unit_file, settings_file = work / f"{name}.py", work / UNIT_FILE, work / SETTINGS
        script.write_text(_SCRIPT.format(unit=unit.name, fidelity=fidelity, version=__version__, name=name))
        unit_file.write_text(unit.text, encoding="utf-8")
        settings_file.write_text(json.dumps({**settings, "guid": guid}, indent=1), encoding="utf-8")
        licences = work / "documentation" / "licenses"
        licences.mkdir(parents=True)
        (licences / "pythonfmu.txt").write_text(_licence("pythonfmu"), encoding="utf-8")  # its library is in the unit
        if documentation is not None:
            (work / "documentation" / "index.html").write_text(documentation, encoding="utf-8")
        files = [unit_file, settings_file, *unit.files_beside]
        FmuBuilder.build_FMU(script, work / "built.fmu", files, work / "documentation")
        with zipfile.ZipFile(work / "built.fmu") as archive:
            archive.extractall(work / "unit")
        write_metadata(work / "unit", model, evidence(unit, errors))
        pack(work / "unit", temporary)
    return path


def pack(folder: Path, path: Path) -> None:
    """Write a folder as an archive that depends on nothing but its files and the time (`rtcvt.environment.now`)."""
    date = min(max(now().timetuple()[:6], (1980, 1, 1, 0, 0, 0)), (2107, 12, 31, 23, 59, 58))  # that a zip can hold
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(f for f in folder.rglob("*") if f.is_file()):
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix(), date)
            member.create_system, member.external_attr = 3, 0o100644 << 16  # of Unix, everywhere
            archive.writestr(member, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def _licence(package: str) -> str:
    """Text of an installed package's licence."""
    found = distribution(package)
    return "\n".join(found.read_text(str(f.relative_to(f.parents[-2]))) or "" for f in found.files or ()
                     if f.name.startswith("LICENSE") and "dist-info" in str(f.parents[-2]))  # fmt: skip


@contextmanager
def _imports_restored(name: str) -> Iterator[None]:
    """Undo the builder's changes in ``sys``; it imports the script `name`."""
    search_path, loaded = sys.path.copy(), sys.modules.pop(name, None)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = search_path
        sys.modules.pop(name, None)
        if loaded is not None:  # a unit of this process
            sys.modules[name] = loaded
