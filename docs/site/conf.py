"""How Sphinx builds the site: `make site` runs it over the repository, with all warnings as errors.

Enters: the pages in docs/ and the few beside it that they link to, and the package's docstrings.
Leaves: a folder of HTML that needs no server and loads nothing from any other host.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from countveil import __version__  # noqa: E402 - the path comes first
from docs.site.hosted_types import OTHERS_TYPES, resolve_guarded_imports  # noqa: E402
from docs.site.navigation import contents_of  # noqa: E402
from docs.site.notebooks import notebook_page  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "countveil"
author = "the countveil contributors"
project_copyright = "the countveil contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
# Links between pages are relative, so that they work in a repository as well. Some lead out of
# docs/: the source is the whole repository, and these are its pages.
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".ipynb": "markdown"}
include_patterns = ["docs/*.md", "docs/**/*.md", "*.md", "benchmarks/*.md"]
include_patterns += ["docs/**/*.rst", "docs/**/*.ipynb"]
exclude_patterns = [".*", "build", "dist", "src", "tests", "study", "requirements"]

myst_heading_anchors = 4
myst_links_external_new_tab = False
nitpicky = True
# Dashes alone: quotes in pages are those of code, more often than not.
smartquotes_action = "D"
# A block that names no language is what a command prints.
highlight_language = "none"
nitpick_ignore_regex = OTHERS_TYPES

# Docstrings name code in single quotes of this kind.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"countveil {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

REDIRECT = (
    '<!doctype html><meta charset="utf-8"><title>countveil</title>'
    '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    '<a href="docs/index.html">countveil</a>\n'
)


def prepare_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Read a notebook as a page, and give a page its part of the table of contents."""
    if app.env.doc2path(page).suffix == ".ipynb":
        source[0] = notebook_page(source[0])
    source[0] += contents_of(page)


def link_pages(*event: Any) -> None:
    """Let the pages that a docstring names be links, which are checked too."""
    lines: list[str] = event[-1]
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`/docs/\1`", line) for line in lines]


def write_first_page(app: Sphinx, failure: Exception | None) -> None:
    """Let the folder itself be opened."""
    if failure is None:
        Path(app.outdir, "index.html").write_text(REDIRECT, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    resolve_guarded_imports()
    app.connect("source-read", prepare_page)
    app.connect("autodoc-process-docstring", link_pages)
    app.connect("build-finished", write_first_page)
