"""Kinds of machines. One package per kind declares itself by one record; everything else asks the record.

The record of a kind is ``KIND`` in the module ``kind`` of its package. It defines how a unit file is read, which models
there are, and the tasks of the commands for its units. Command line, exporters and documentation know no kind by name.
Kinds of other distributions are found by their entry points in the group ``rtcvt.kinds``.

Records are small: functions that they name are imported when called (`lazily`), since full models and checks need more
packages than a real-time model does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from rtcvt.errors import AsInputError, InputError, near
from rtcvt.lazily import by_option, help_texts, lazily
from rtcvt.unitfile import MAX_SUBSTEPS, Name, Record, UnitFile, located, read_unit_file

if TYPE_CHECKING:
    from rtcvt.model import Fidelity, Model
    from rtcvt.scenario import Scenario

__all__ = [
    "DURATION", "ELEMENTS", "RESUME", "RUNS", "Campaigned", "Checked", "Kind", "Option", "Progress", "Run", "Shown",
    "Task", "Unit", "by_option", "cell", "help_texts", "kind_named", "kind_of_file", "kinds", "lacking", "lazily",
    "load_unit", "names_of",
    "register",
]  # fmt: skip

PACKAGES = (  # in the order of lists
    "rtcvt.pog", "rtcvt.belt", "rtcvt.variator", "rtcvt.vehicle", "rtcvt.engine", "rtcvt.clutch", "rtcvt.law",
    "rtcvt.offline.pushbelt", "rtcvt.observer", "rtcvt.network",
)  # fmt: skip
GROUP = "rtcvt.kinds"
TASKS = {
    "full": "a full model of its own",
    "check": "models to compare",
    "map": "a map",
    "campaign": "a full model that has campaigns",
    "reduce": "a full model that can be reduced",
    "calibrate": "a full model that can be calibrated",
    "own": "a full model from which a unit can be made",
}  # what a kind with this task has, for messages

Progress = Callable[[str, int, int], None]  # name of the work, steps done, steps in all


class Unit(Record):
    """A unit of any kind: the base of the records of unit files, with the functions of its kind."""

    name: Name
    kind: str
    description: str = ""

    source: Annotated[str, Field(exclude=True)] = ""  # name of its file in messages
    text: Annotated[str, Field(exclude=True)] = ""  # the file as it was read
    folder: Annotated[Path, Field(exclude=True)] = Path()  # in which files that it names are looked for

    if TYPE_CHECKING:
        scenario: "tuple[Scenario, ...]"  # of kinds with a real-time model

    @property
    def kind_record(self) -> "Kind":
        """The record of its kind."""
        return kind_named(self.kind)

    @property
    def models(self) -> "tuple[Fidelity, ...]":
        """Its real-time models, the default one first; none if its kind has none."""
        kind = self.kind_record
        return tuple(f for f in kind.fidelities if kind.has(self, f))

    @property
    def clutched(self) -> bool:
        """Whether its clutches and brakes set which inertia a flange turns: no stiff coupling is made for that."""
        return False

    def build(
        self,
        fidelity: "Fidelity | None" = None,
        substeps: int | None = None,
        parameters: Mapping[str, float | str] | None = None,
        source: str = "parameters",
    ) -> "Model":
        """A real-time model, by default the first that its kind names.

        Parameters
        ----------
        fidelity : {"rigid", "hybrid", "full"}, optional
            Which of `models`.
        substeps : int, optional
            Steps of the integrator for each step of the unit, instead of the unit's own.
        parameters : mapping, optional
            Start values by name, in SI units or with a unit; `source` names them in messages.

        Raises
        ------
        InputError
            The unit has no such model, or it cannot be built; a parameter is not one of the model's, or out of range.
        """
        kind = self.kind_record
        if kind.build is None:
            raise lacking(self.source, self.kind, "a real-time model", lambda k: k.build)
        chosen = fidelity or next(iter(kind.fidelities))
        if chosen not in kind.fidelities:
            raise InputError(self.source, "model", chosen, " or ".join(kind.fidelities))
        if substeps is not None and not (isinstance(substeps, int) and 1 <= substeps <= MAX_SUBSTEPS):
            raise InputError(self.source, "substeps", substeps, f"an integer from 1 to {MAX_SUBSTEPS}")
        numbers = (ArithmeticError, ValueError)  # a singular matrix is a ValueError
        allowed = lambda e: f"a machine that can be computed ({e})"  # noqa: E731
        with AsInputError(numbers, self.source, "", None, allowed, passing=InputError):
            model: Model = kind.build(self, chosen, substeps)
        model = with_start_values(model, parameters, source) if parameters else model
        model.require_order(model.p, self.source)
        return model

    def task(self, command: str) -> "Task":
        """The task of a command for this unit: ``full``, ``check``, ``map``, ``campaign`` or ``calibrate``.

        Raises
        ------
        InputError
            The kind has no such task; the message names the kinds that have it.
        """
        task: Task | None = getattr(self.kind_record, command)
        if task is None:
            raise lacking(self.source, self.kind, TASKS[command], lambda kind: getattr(kind, command))
        return task

    def with_flanges(self, choice: Mapping[str, str], source: str = "flanges") -> "Unit":
        """The unit with other causalities of its flanges: ``"torque"`` or ``"speed"`` by name.

        Raises
        ------
        InputError
            There is no such flange, or no choice; `source` names the choice.
        """
        chosen: Unit = self.kind_record.choose_flanges(self, choice, source) if choice else self
        return chosen

    @property
    def speed_flanges(self) -> dict[str, str]:
        """Flanges whose input is a speed, as a choice for `with_flanges`."""
        return self.kind_record.speed_flanges(self)

    @property
    def files_beside(self) -> list[Path]:
        """Files of its own folder that it needs: a reduced model, a driving cycle."""
        signals = [signal for s in getattr(self, "scenario", ()) for signal in getattr(s, "inputs", {}).values()]
        cycles = {self.folder / cycle for signal in signals if (cycle := getattr(signal, "cycle", ""))}
        return [*self.kind_record.files_beside(self), *filter(Path.is_file, sorted(cycles))]


def load_unit(unit: str | Path | UnitFile) -> Unit:
    """A unit of any kind: a shipped one by name, a unit file by its path, or one that has been read.

    Raises
    ------
    InputError
        The file is missing, not TOML, or not a valid unit of a kind that there is.
    """
    file = unit if isinstance(unit, UnitFile) else read_unit_file(unit)
    loaded: Unit = kind_of_file(file).read(file)
    return loaded


def with_start_values(model: "Model", parameters: Mapping[str, float | str], source: str) -> "Model":
    """The model with other start values of parameters, see `Unit.build`."""
    from rtcvt.scenario import apply_parameters

    instance = model.instantiate()
    apply_parameters(instance, parameters, source)
    variables = (replace(v, start=instance.get(v.name)) if v.causality == "parameter" else v for v in model.variables)
    return replace(model, p=instance.p, variables=tuple(variables))


# --- tasks of the commands for units of a kind ------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of a command for units of some kinds. Kinds that share an option declare it equally."""

    name: str
    help: str
    type: Any = str
    default: Any = None
    metavar: str | None = None
    minimum: int | None = None
    unit: str = ""  # of a quantity: the task receives it in SI units
    pairs: bool = False  # KEY=VALUE, repeatable: the task receives a dict


# shared by full models that run offline
DURATION = Option("duration", "Machine time; default: the scenario's, if there is one.", unit="s")
ELEMENTS = Option("elements", "Modelled elements; default: the unit's.", int, minimum=1)
RUNS = Option("runs", "Against the runs of this folder, or those that match 'runs/sweep-*.h5'.", metavar="DIR")
RESUME = Option("resume", "Continue the run in the file, if there is one.", bool, False)


@dataclass(frozen=True)
class Task:
    """The task of one command for units of a kind.

    `run` receives the unit (for ``reduce`` the files of its runs), the values of the options by name, and, but for
    ``show``, a `Progress` to call. It returns a `Shown` for ``show``, ``reduce`` and ``calibrate``, a `Run` for
    ``simulate``, a `Checked` for ``check`` and ``map``, a `Campaigned` for ``campaign``.
    """

    run: Callable[..., Any]
    takes: tuple[str, ...] = ()  # of the options that the command has for all kinds
    options: tuple[Option, ...] = ()  # for this kind
    help: str = ""  # paragraphs for the help of the command
    models: tuple[str, ...] = ("full",)  # values of --model with which ``simulate`` runs it next to a real-time model


@dataclass(frozen=True)
class Shown:
    """A unit, or the result of a command: for JSON, and as lines of text in rich's markup and rich's tables."""

    data: dict[str, Any]
    lines: Sequence[Any]


@dataclass(frozen=True)
class Run:
    """A run of a full model that has ended; `figures` are those of ``--json``."""

    path: Path  # of its file
    figures: dict[str, Any]
    lines: Sequence[Any]  # as of `Shown`
    failure: str = ""  # why it ended early
    interrupted: bool = False


@dataclass(frozen=True)
class Checked:
    """Outcome of a check; `figures` are those of ``--json``."""

    page: str  # the report, HTML
    figures: dict[str, Any]
    lines: Sequence[Any]  # as of `Shown`
    failures: Sequence[str] = ()
    verdict: str = "failed"  # word of the message about each failure

    @property
    def passed(self) -> bool:
        """Whether no limit is exceeded."""
        return not self.failures


@dataclass(frozen=True)
class Campaigned:
    """State of a campaign; `missing` runs have not been made yet."""

    lines: Sequence[Any]  # as of `Shown`
    failures: Sequence[str] = ()
    missing: int = 0
    interrupted: bool = False


def cell(value: float) -> str:
    """A number in a table."""
    return "0" if value == 0 else f"{value:.5g}"


# --- the record -------------------------------------------------------------------------------------------------------


_plain_page = lazily("rtcvt.html:unit_page")


def _no_choice(unit: Unit, choice: Mapping[str, str], source: str) -> Any:
    name, given = next(iter(choice.items()))
    raise InputError(source, name, given, f"no choice in a unit of kind '{unit.kind}'")


def _read(read: Callable[[UnitFile], Any], file: UnitFile) -> Any:
    """Read the record of a unit file; errors name the line, and each name of a scenario may be used once."""
    try:
        unit = read(file)
        names: list[str] = []
        for scenario in getattr(unit, "scenario", ()):
            if scenario.name in names:
                raise InputError(file.source, "scenario.name", scenario.name, "a name that is used once")
            names.append(scenario.name)
    except InputError as error:
        raise located(error, file.text, file.source) from None
    return unit


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of machine.

    Parameters
    ----------
    names : tuple of str
        Names in unit files, ``kind = "..."``.
    title : str
        Name of its units in messages and help, in the plural.
    read : callable
        ``read(file: UnitFile) -> unit``: the validated record of a unit file.
    fidelities : mapping
        The real-time models, the default one first, with a word on each or ``""``.
    has : callable
        ``has(unit, fidelity) -> bool``: whether a unit has one of these models; all have the default one.
    build : callable, optional
        ``build(unit, fidelity, substeps) -> Model``; None if there is no real-time model.
    page : callable
        ``page(model, unit, errors) -> str``: the page inside the FMU; `errors` are rows of `rtcvt.html.ErrorRow`, or
        None.
    choose_flanges : callable
        ``choose_flanges(unit, choice, source) -> unit`` with other causalities of its flanges, ``"torque"`` or
        ``"speed"`` by name.
    speed_flanges : callable
        ``speed_flanges(unit) -> dict``: the flanges of the unit whose input is a speed, as a choice.
    files_beside : callable
        ``files_beside(unit) -> list[Path]``: files of its own folder that the unit needs.
    diagram : callable, optional
        ``diagram(unit, values) -> str``: its picture (SVG) with parameters by name [SI].
    show : Task, optional
        Of ``rtcvt show``, which else prints the variables.
    full : Task, optional
        Of ``rtcvt simulate``: a full model that is no real-time one.
    check : Task, optional
        Of ``rtcvt check``.
    campaign, reduce : Task, optional
        Of ``rtcvt campaign``, which runs the full model over a plan, and of ``rtcvt reduce``, which makes a reduced
        model from these runs.
    calibrate : Task, optional
        Of ``rtcvt calibrate``, which identifies parameters with the full model.
    own : Task, optional
        Of ``rtcvt own``: from a unit with a full model to a real-time unit and its errors.
    map : Task, optional
        Of ``rtcvt map``: results of the real-time model over its speeds, or tilts and torques.
    sheave : Task, optional
        Of ``rtcvt sheave``: deflection of the sheaves in a unit file under the belt.
    recording : callable, optional
        ``recording(path) -> Recording | None``: signals over time in a file of its full model; None: another file.
    picture : callable, optional
        ``picture(path) -> matplotlib Figure | None``: drawing of ``rtcvt plot`` of a file of its full model; None:
        another file.
    view : callable, optional
        ``view(path, start, stop, most) -> rtcvt.view.Scene | None``: scene of a file in three dimensions, from
        `start` to `stop` [s] or None with `most` frames; None: another file.
    figures : callable, optional
        ``figures(unit, settings, progress) -> dict | None``: a check with these parameters, short enough for every
        export; None if there is nothing to check against. Without it the errors come from a file alone.
    figures_of : mapping, optional
        In place of `figures`, by fidelity.
    errors : callable, optional
        ``errors(unit, fidelity, settings, figures) -> list[ErrorRow]``: errors of one model from the figures of a
        check.
    evidence : callable, optional
        ``evidence(unit) -> dict``: further evidence of its accuracy, for the FMU, see `rtcvt.fmu.traceability`.
    """

    names: tuple[str, ...]
    title: str
    read: Callable[[UnitFile], Any]
    fidelities: "Mapping[Fidelity, str]" = field(default_factory=dict)
    has: Callable[[Any, str], bool] = lambda unit, fidelity: True
    build: Callable[..., Any] | None = None
    page: Callable[..., str] = _plain_page
    choose_flanges: Callable[..., Any] = _no_choice
    speed_flanges: Callable[[Any], dict[str, str]] = lambda unit: {}
    files_beside: Callable[[Any], list[Path]] = lambda unit: []
    diagram: Callable[..., str] | None = None
    show: Task | None = None
    full: Task | None = None
    check: Task | None = None
    campaign: Task | None = None
    reduce: Task | None = None
    calibrate: Task | None = None
    own: Task | None = None
    map: Task | None = None
    sheave: Task | None = None
    recording: Callable[[Path], Any] | None = None
    picture: Callable[[Path], Any] | None = None
    view: Callable[..., Any] | None = None
    figures: Callable[..., dict[str, Any] | None] | None = None
    figures_of: Mapping[str, Callable[..., dict[str, Any] | None]] = field(default_factory=dict)
    errors: Callable[..., Any] | None = None
    evidence: Callable[[Any], dict[str, dict[str, Any]]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", partial(_read, self.read))


@cache
def _registry() -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for package in PACKAGES:
        _add(found, import_module(f"{package}.kind").KIND)
    for entry in entry_points(group=GROUP):
        _add(found, entry.load())
    return found


def _add(registry: dict[str, Kind], kind: Kind) -> None:
    for name in kind.names:
        if registry.setdefault(name, kind) is not kind:
            raise ValueError(f"two kinds are called '{name}'")


def register(kind: Kind) -> None:
    """Make a kind known to this process.

    Raises
    ------
    ValueError
        Another one has its name.
    """
    _add(_registry(), kind)


def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order of lists."""
    return tuple(dict.fromkeys(_registry().values()))


def names_of(some: Iterable[Kind]) -> str:
    """Names of these kinds in unit files, as text."""
    return ", ".join(name for kind in some for name in kind.names)


def lacking(source: str, kind: object, what: str, having: Callable[[Kind], Any]) -> InputError:
    """The error that a unit is of a kind without `what`; `having` gets it from the record of a kind that has it."""
    return InputError(source, "kind", kind, f"a kind with {what}: {names_of(k for k in kinds() if having(k))}")


def kind_named(name: str) -> Kind:
    """The kind that unit files call so.

    Raises
    ------
    KeyError
        There is none.
    """
    return _registry()[name]


def kind_of_file(file: UnitFile) -> Kind:
    """The kind of a unit file.

    Raises
    ------
    InputError
        It names none, or an unknown one.
    """
    kind = _registry().get(file.kind or "")
    if kind is None:
        allowed = f"one of the kinds{near(file.kind or '', _registry())}"
        raise located(InputError(file.source, "kind", file.data.get("kind"), allowed), file.text, file.source)
    return kind
