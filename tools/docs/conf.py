"""Configuration of Sphinx; tools/docs/build.py runs it."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from names import setup as setup_names  # noqa: E402

project = "lazyxla"
author = "the authors of lazyxla"
project_copyright = author
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = "lazyxla"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = ["diagrams.js"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1a56a8", "color-brand-content": "#1a56a8"},
    "dark_css_variables": {"color-brand-primary": "#7fb4ff", "color-brand-content": "#7fb4ff"},
}
pygments_style = "tango"
pygments_dark_style = "github-dark"
highlight_language = "text"
smartquotes = False
c_maximum_signature_line_length = 90
cpp_maximum_signature_line_length = 90
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
toc_object_entries = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 6
myst_fence_as_directive = ["mermaid"]
copybutton_exclude = ".linenos, .gp, .go"
# Excerpts of code and such with an ellipsis are not programs: Sphinx warns, and highlights them as far as it can.
suppress_warnings = ["misc.highlighting_failure"]


def setup(app):
    setup_names(app)
