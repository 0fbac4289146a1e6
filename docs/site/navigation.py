"""The order of the pages, and where each section begins.

Enters: nothing. Leaves: a table of contents for every page that opens a section. Must not know:
what is on a page.

Pages are plain Markdown, so that they read well in a repository too: the contents are added when
the site is built. A pattern takes the pages that no line before it named, so a new page has a place
as soon as it exists.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
ENDINGS = ("md", "rst", "ipynb")

CONTENTS = """

```{{toctree}}
:hidden:
:maxdepth: 2
{caption}

{entries}
```
"""

# The sections of the site, in order: their headings and pages.
SECTIONS: dict[str, list[str]] = {
    "Start": ["start/publish", "start/ask", "guides/installing*", "tutorials/*"],
    "Guides": [
        "guides/promise",
        "guides/choosing-ell",
        "guides/publishing-safely",
        "guides/preparing",
        "guides/recipes",
        "guides/sources",
        "guides/skewed-columns",
        "guides/columns-together",
        "guides/publishing-again",
        "guides/audit",
        "guides/comparing",
        "guides/asking-questions",
        "guides/exporting",
        "guides/scale",
        "guides/spark",
        "guides/dask",
        "guides/*",
    ],
    "Concepts": [
        "concepts/ell",
        "concepts/decoy-group",
        "concepts/channel",
        "concepts/belief",
        "concepts/verdict",
        "concepts/*",
    ],
    "Theory": [
        "theory/channel",
        "theory/estimates",
        "theory/frontier",
        "theory/odds",
        "theory/cases",
        "theory/covariance",
        "theory/models",
        "theory/*",
    ],
    "Study": ["study", "../benchmarks/RESULTS"],
    "Reference": [
        "reference/python",
        "reference/command-line",
        "reference/sql",
        "reference/release-format",
        "reference/glossary",
        "reference/faq",
        "reference/*",
    ],
    "Project": [
        "../ARCHITECTURE",
        "../CONTRIBUTING",
        "contributing/*",
        "releasing*",
        "../CHANGELOG",
        "../SECURITY",
        "../README",
    ],
}

# Pages with pages below them.
BELOW: dict[str, list[str]] = {
    "docs/guides/asking-questions": [
        "asking/count",
        "asking/compare",
        "asking/model",
        "asking/pitfalls",
        "asking/*",
    ],
    "docs/reference/python": [
        "python/publishing",
        "python/asking",
        "python/results",
        "python/checking",
        "python/errors",
        "python/*",
    ],
}


def contents_of(page: str) -> str:
    """What is added to the text of a page: its part of the table of contents, or nothing."""
    folder, listed = ROOT / Path(page).parent, set[str]()
    if page == "docs/index":
        return "".join(
            _contents(folder, entries, listed, f":caption: {caption}")
            for caption, entries in SECTIONS.items()
        )
    return _contents(folder, BELOW[page], listed) if page in BELOW else ""


def _contents(folder: Path, entries: list[str], listed: set[str], caption: str = "") -> str:
    """A table of contents; a page that is listed already is not listed again."""
    every = [page for entry in entries for page in _pages(folder, entry)]
    pages = [page for page in dict.fromkeys(every) if page not in listed]
    listed.update(pages)
    return CONTENTS.format(caption=caption, entries="\n".join(pages))


def _pages(folder: Path, entry: str) -> list[str]:
    """The pages of an entry: itself, or those that a pattern fits, if there are any."""
    if "*" not in entry:
        return [entry]
    found = [path for ending in ENDINGS for path in folder.glob(f"{entry}.{ending}")]
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in found)
