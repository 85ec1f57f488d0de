"""The one error that a user can cause and mend."""

__all__ = ["InputError"]


class InputError(ValueError):
    """Bad input from a file or the command line; the command line prints it and exits with code 2.

    Parameters
    ----------
    source : str
        The file, option or unit that holds the value.
    key : str
        Where in it: a dotted path, or ``""`` for the file as a whole.
    value : object
        What was found there; ``None`` if there is nothing to quote.
    allowed : str
        What is allowed instead.
    """

    def __init__(self, source: object, key: str, value: object, allowed: str):
        where = f"{source}: {key}" if key else f"{source}"
        shown = repr(value)
        found = "" if value is None else f" = {shown if len(shown) <= 120 else shown[:117] + '...'}"
        super().__init__(f"{where}{found}: {allowed}")
