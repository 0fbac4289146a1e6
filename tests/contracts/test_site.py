"""The site: it builds strictly, its search index is a file, and it loads nothing from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.site.build import STRICT
from docs.site.hosted_types import imported
from docs.site.navigation import BELOW, SECTIONS, contents_of
from docs.site.notebooks import notebook_page

ROOT = Path(__file__).parents[2]
# Where something is loaded from, by element; links to other sites are for readers to follow.
LOADED = {
    "script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src",
    "object": "data",
}  # fmt: skip


class Loaded(HTMLParser):
    """What a page loads, where its links lead, and which places it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.places.add(given.get("id", ""))


def test_sections_have_the_pages_that_exist_in_order() -> None:
    text = contents_of("docs/index")
    places = [text.index(f":caption: {name}\n") for name in SECTIONS]
    assert places == sorted(places)
    assert "\ntheory/channel\n" in text
    pages = re.findall(r"^[\w./-]+$", text, re.MULTILINE)
    assert len(pages) == len(set(pages)) > 40
    assert "*" not in text
    assert contents_of("docs/study") == ""
    assert all("{toctree}" in contents_of(page) for page in BELOW)


def test_modules_of_extras_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make site` installs no extra; a module of ours that is not there is a fault."""
    name = "countveil.engines.databases.postgres_server"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    assert imported(name) is None
    assert imported("countveil.report.page") is not None
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        imported("countveil.no_such_module")


def test_pages_are_plain_markdown() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert not re.search(r"^(```|:::)\{", page.read_text(), re.MULTILINE), page


def test_a_notebook_is_a_page() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
        {"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": []},
        {"cell_type": "code", "source": [], "outputs": []},
    ]
    page = notebook_page(json.dumps({"cells": cells}))
    assert page == "# Title\nText.\n\n```python\nx = 1\nx\n```"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does; a warning would fail it."""
    folder = tmp_path_factory.mktemp("site")
    program = (
        f"import sys; from pathlib import Path; from docs.site.build import build; "
        f"sys.exit(build(Path({str(folder)!r}, 'site')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Loaded]:
    return {path: Loaded(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


@pytest.mark.slow
def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[Path, Loaded]) -> None:
    seen = 0
    for path, page in pages.items():
        for address in page.loaded:
            parts = urlsplit(address)
            assert not parts.scheme or parts.scheme == "data", f"{path.name}: {address}"
            assert not parts.netloc
            if not parts.scheme and path.name != "404.html":
                assert (path.parent / unquote(parts.path)).exists(), f"{path.name}: {address}"
            seen += 1
    assert seen > 500
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), style.name


@pytest.mark.slow
def test_links_lead_to_pages_and_headings_that_exist(pages: dict[Path, Loaded]) -> None:
    found = {path.resolve(): page for path, page in pages.items()}
    checked = 0
    for path, page in found.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.name}: {link}"
            if parts.fragment and target in found:
                assert unquote(parts.fragment) in found[target].places, f"{path.name}: {link}"
                checked += 1
    assert checked > 500


@pytest.mark.slow
def test_search_needs_no_server_and_knows_names_and_words(
    site: Path, pages: dict[Path, Loaded]
) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    for word in ("publish", "goodness_of_fit", "ledger", "frontier"):
        assert word in index
    loaded = pages[site / "search.html"].loaded
    assert any("searchindex.js" in address for address in loaded)


@pytest.mark.slow
def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text(
        "extensions = ['myst_parser']\nroot_doc = 'index'\nmyst_heading_anchors = 4\n"
    )
    for text, code in (("[x](index.md#here)", 0), ("[x](index.md#gone)", 1), ("[x](gone.md)", 1)):
        (tmp_path / "index.md").write_text(f"# Here\n\n{text}\n")
        words = ["-b", "html", "-E", *STRICT, str(tmp_path), str(tmp_path / "out")]
        done = subprocess.run(
            [sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == code, f"{text}: {done.stderr}"
        assert ("myst.xref_missing" in done.stderr) == bool(code)
