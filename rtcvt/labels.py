"""Names in pictures are text: by default Matplotlib reads them as TeX, and leaves labels that begin with an underscore
out of legends."""

import re
from collections.abc import Sequence
from typing import Any

AS_TEXT: dict[Any, Any] = {"text.parse_math": False, "text.usetex": False, "axes.formatter.use_mathtext": False}


def as_text(name: str) -> str:
    """A name for fonts and files: control characters and bytes that are not UTF-8 are shown as �."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


def legend(ax: Any, drawn: Sequence[Any] | None = None, **look: Any) -> None:
    """A legend with the label of each artist as it is; by default of all in the axes that were given a label."""
    if drawn is None:
        every = (*ax.lines, *ax.patches, *ax.collections, *ax.containers)
        drawn = [a for a in every if not re.fullmatch(r"_(child|container)\d+|_nolegend_|", a.get_label() or "")]
    made = ax.legend(drawn, [" "] * len(drawn), **look)
    for text, artist in zip(made.get_texts(), drawn, strict=True):
        text.set_text(as_text(artist.get_label()))
