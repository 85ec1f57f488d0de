"""The site: `make docs` builds it into build/site, from a copy of this folder. Much of it is made from the sources."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402
import tables  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

import rtcvt  # noqa: E402

project = "rtcvt"
version = release = rtcvt.__version__
project_copyright = ""
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_title = f"rtcvt {release}"
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["site"]
html_css_files = ["site.css"]
html_theme_options = {"source_repository": "", "sidebar_hide_name": False}
exclude_patterns = ["campaign/*.csv"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]
default_role = "code"
html_math_renderer = "mathml"
smartquotes = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def setup(app):
    """Make the pages that come from the sources, and read docstrings as they are written."""
    stale = tables.stale()
    if stale:
        raise ExtensionError(
            f"tables are not what the record says, run python docs/tables.py: {', '.join(map(str, stale))}"
        )
    generate.write_all(HERE, HERE.parents[1])
    app.connect("source-read", generate.in_site)
    app.connect("autodoc-process-docstring", generate.as_rst, priority=100)
    app.add_html_math_renderer("mathml", (generate.inline_math, None), (generate.display_math, None))
    app.connect("autodoc-skip-member", generate.skipped)
