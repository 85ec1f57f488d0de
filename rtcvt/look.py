"""The look of all that rtcvt draws: colours in light and dark, fonts, names as plain text.

Pictures are drawn in the light colours. `css` gives pages each colour as a variable, ``--ink`` and others, with a
second value for readers who prefer dark screens, and rules that replace the light colours of pictures on these;
`standalone` gives the rules to an SVG file. Printers, and programs that do not know such rules, draw in light colours.

Names in pictures are text: by default Matplotlib reads them as TeX, and leaves labels that begin with an underscore
out of legends.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

SCHEME = {  # name: light, dark
    "paper": ("#ffffff", "#12181f"),
    "panel": ("#f5f7fa", "#1a222b"),
    "shade": ("#eceff3", "#212a34"),
    "line": ("#e4e7eb", "#2d3843"),
    "edge": ("#cbd2d9", "#3d4955"),
    "metal": ("#c3cad2", "#55616d"),
    "faint": ("#b8c0c8", "#5d6a77"),
    "grey": ("#7b8794", "#8796a4"),
    "soft": ("#52606d", "#a3b0bc"),
    "lead": ("#3e4c59", "#bcc7d1"),
    "ink": ("#1f2933", "#dde5ec"),
    "link": ("#1d4ed8", "#82a8ff"),
    "good": ("#276749", "#6cc799"),
    "well": ("#f1f8f4", "#15261e"),
    "bad": ("#c81e1e", "#ff7f76"),
    "ill": ("#fdf1f1", "#301b1d"),
    "red": ("#d11f2a", "#ff6b6b"),
    "amber": ("#e0a100", "#f0bd45"),
    "haze": ("#f6c177", "#8a6420"),
    "blue": ("#2b6cb0", "#6aaaf0"),
    "orange": ("#c05d00", "#f0994a"),
    "green": ("#2f855a", "#5cc08d"),
    "violet": ("#7b4ab5", "#b48cf0"),
    "teal": ("#0f8595", "#45c3d3"),
    "brown": ("#8a5a2b", "#cf9c68"),
    "pink": ("#b83280", "#f07fbf"),
    "olive": ("#6b7a12", "#b4c447"),
    "slate": ("#4a5568", "#99a7ba"),
    "gold": ("#d9a400", "#ecc54c"),
}
NAMES = {light: name for name, (light, _) in SCHEME.items()}
PAPER, SHADE, LINE, METAL, FAINT, GREY, SOFT, INK = (
    SCHEME[name][0] for name in ("paper", "shade", "line", "metal", "faint", "grey", "soft", "ink")
)
BAD, RIGID, AMBER, HAZE = (SCHEME[name][0] for name in ("bad", "red", "amber", "haze"))
COLOURS = tuple(NAMES)[list(SCHEME).index("blue") :]  # of curves, in this order
AS_TEXT: dict[Any, Any] = {"text.parse_math": False, "text.usetex": False, "axes.formatter.use_mathtext": False}
RC: dict[Any, Any] = AS_TEXT | {
    "font.family": "sans-serif", "font.sans-serif": ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
    "font.size": 9.0, "text.color": INK, "lines.linewidth": 1.3, "axes.titlesize": 9.5, "axes.titlelocation": "left",
    "axes.titlepad": 3.0, "axes.titleweight": "bold", "axes.titlecolor": INK, "axes.formatter.useoffset": False,
    "legend.frameon": False, "legend.fontsize": 8.0, "axes.edgecolor": GREY, "axes.labelcolor": SCHEME["lead"][0],
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": LINE, "grid.linewidth": 0.7, "xtick.color": SOFT, "ytick.color": SOFT,
    "xtick.major.size": 3.0, "ytick.major.size": 3.0, "path.simplify": True, "path.simplify_threshold": 0.2,
    "svg.fonttype": "none", "svg.hashsalt": "rtcvt",
}  # fmt: skip


def css() -> str:
    """The colours as variables of CSS, and the rules for dark screens."""
    light = ";".join(f"--{name}:{pair[0]}" for name, pair in SCHEME.items())
    return f":root{{color-scheme:light dark;{light}}}\n{_dark(SCHEME)}"


def _dark(names: Iterable[str]) -> str:
    """Dark colours of variables, and of what is drawn in the light ones."""
    rules = [dark_variables(names)]
    for key, name in product(("fill", "stroke"), names):
        light, dark = SCHEME[name]
        rules.append(f'[{key}="{light}"]{{{key}:{dark}}} [style*="{key}: {light}"]{{{key}:{dark}!important}}')
    return "@media screen and (prefers-color-scheme:dark){\n" + "\n".join(rules) + "}\n"


def dark_variables(names: Iterable[str] = tuple(SCHEME)) -> str:
    """The dark colours as variables of CSS."""
    return f":root{{{';'.join(f'--{name}:{SCHEME[name][1]}' for name in names)}}}"


def standalone(svg: str) -> str:
    """An SVG document that has dark colours on dark screens; programs that do not know these draw the light ones."""
    used = [name for name, (light, _) in SCHEME.items() if light in svg]
    return re.sub(r"<svg\b[^>]*>", lambda tag: f"{tag[0]}\n<style>{_dark(used)}</style>", svg, count=1)


def variable(colour: str) -> str:
    """A colour of the scheme as a value in CSS, dark on dark screens."""
    return f"var(--{NAMES[colour]})" if colour in NAMES else colour


def as_text(name: str) -> str:
    """A name for fonts and files: control characters and bytes that are not UTF-8 are shown as �."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)


def legend(ax: Any, drawn: Sequence[Any] | None = None, **look: Any) -> Any:
    """A legend with the label of each artist as it is; by default of all in the axes that were given a label."""
    if drawn is None:
        every = (*ax.lines, *ax.patches, *ax.collections, *ax.containers)
        drawn = [a for a in every if not re.fullmatch(r"_(child|container)\d+|_nolegend_|", a.get_label() or "")]
    made = ax.legend(drawn, [" "] * len(drawn), **look)
    for text, artist in zip(made.get_texts(), drawn, strict=True):
        text.set_text(as_text(artist.get_label()))
    return made
