"""The one error that a user can cause and correct."""

import difflib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any


class InputError(ValueError):
    """Wrong input; the command line prints the message and exits with code 2.

    Parameters
    ----------
    source : str
        File, option or unit that contains the value.
    key : str
        Place in it: a dotted path, or ``""`` for the whole file.
    value : object
        Value that was found; ``None`` if there is none to quote.
    allowed : str
        Allowed values.

    Attributes
    ----------
    parts : tuple
        The arguments.
    made : object
        Result of a run up to where it failed, if there is one.
    """

    made: Any = None

    def __init__(self, source: object, key: str, value: object, allowed: str):
        where = f"{source}: {key}" if key else f"{source}"
        shown = repr(float(f"{value:.15g}") if isinstance(value, float) else value)  # 1.14, not 1.1400000000000001
        shown = shown.lower() if isinstance(value, bool) else shown  # as in TOML
        found = "" if value is None else f" = {shown if len(shown) <= 120 else shown[:117] + '...'}"
        self.parts = str(source), key, value, allowed
        super().__init__(f"{where}{found}: {allowed}")

    def __reduce__(self) -> tuple[Any, ...]:
        """As it comes from another process."""
        return type(self), self.parts


@dataclass(slots=True)
class AsInputError:
    """Context manager: an error of these kinds within it becomes an `InputError`.

    The arguments are those of `InputError` and are computed before; `allowed` may be a function of the error. Errors of
    the kind `passing` leave it as they are.
    """

    kinds: type[Exception] | tuple[type[Exception], ...]
    source: object
    key: str
    value: object
    allowed: str | Callable[[Any], str]
    passing: type[Exception] | tuple[()] = ()

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the `InputError` in place of an error of these kinds."""
        if isinstance(error, self.kinds) and not isinstance(error, self.passing):
            allowed = self.allowed if isinstance(self.allowed, str) else self.allowed(error)
            raise InputError(self.source, self.key, self.value, allowed) from None


@cache
def ask(source: str, key: str, value: float, question: str) -> None:
    """Warn, once, of a value that is allowed and hardly meant."""
    logging.getLogger("rtcvt").warning("%s: %s = %.6g: %s", source, key, value, question)


def ask_about_friction(source: str, key: str, value: float, usual: float, effect: str = "") -> None:
    """Ask about a coefficient of friction above the largest that is known of such a contact."""
    if value > usual:
        meant = f"did you mean {value / 10.0:.3g}?"
        ask(source, key, value, f"contacts of this kind have at most {usual:g}{effect}; {meant}")


def too(what: str, more: Iterable[str]) -> str:
    """Further keys with the same fault, as the end of a message: ``; missing too: a, b``."""
    keys = list(dict.fromkeys(more))
    return f"; {what} too: {', '.join(keys)}" if keys else ""


SHORT, LONG = 15, 40  # numbers of names that a message lists with a guess, and without one


def near(name: object, known: Iterable[str]) -> str:
    """End of a message about an unknown name: the known names, and those that may have been meant.

    Names are compared without regard to case, and by the part after their last dot.
    """
    names = [str(k) for k in known]
    folded = {k.lower(): k for k in reversed(names)}
    found = difflib.get_close_matches(str(name).lower(), folded, n=3, cutoff=0.7)
    if not found:
        last = str(name).lower().rpartition(".")[2]
        found = [k for k in folded if k.rpartition(".")[2] == last][:3]
    guess = f"; did you mean {' or '.join(folded[k] for k in found)}?" if found else ""
    if not names or (guess and len(names) > SHORT):
        return guess
    more = f" and {len(names) - LONG} more" if len(names) > LONG else ""
    return f": {', '.join(names[:LONG])}{more}{guess}"
