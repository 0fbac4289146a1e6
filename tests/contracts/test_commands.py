"""Every command has help, stands in the docs, and the reference page is what --help prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import countveil
from countveil.cli import options, quick_query
from countveil.cli.commands import publish, sql
from countveil.maths.channel import GROUP_METHODS, RESIDUES
from countveil.maths.estimate import CHANNELS, METHODS
from countveil.release.formats.data_files import OUTPUT_FORMATS
from countveil.sql.dialects import DIALECTS
from docs.reference_pages import COMMANDS, PAGES, help_text

ROOT = Path(__file__).parents[2]


def test_the_commands_are_pinned() -> None:
    assert COMMANDS == (
        "demo", "generate", "inspect", "advise", "publish", "show", "verify", "query", "sql",
        "export", "audit", "compare", "app",
        "recipe new", "ledger init", "ledger show", "ledger verify", "guarantee utility",
        "guarantee privacy",
    )  # fmt: skip


@pytest.mark.few(10)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_and_each_of_its_options(name: str) -> None:
    text = help_text(name)
    assert len(text.splitlines()) > 8
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        words = [word for word in line.split("  ") if word.strip()]
        if line.startswith("  --") and "--help" not in line:
            # A long option has its help in the next line.
            assert len(words) > 1 or after.startswith("      "), f"no help: {line}"


@pytest.mark.few(10)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stands_on_the_pages_to_start_with(name: str) -> None:
    pages = [page.read_text() for page in (ROOT / "docs/start").glob("*.md")]
    assert any(f"countveil {name}" in page for page in pages)


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_what_the_code_says(name: str) -> None:
    page = (ROOT / "docs" / "reference" / name).read_text()
    assert page == PAGES[name](), "run `make docs`"


def test_the_choices_on_the_command_line_are_the_ones_that_exist() -> None:
    assert tuple(options.Groups) == GROUP_METHODS
    assert tuple(options.Residue) == RESIDUES
    assert tuple(quick_query.MethodName) == tuple(METHODS)
    assert tuple(quick_query.ChannelName) == CHANNELS
    assert tuple(sql.DialectName) == DIALECTS
    assert tuple(publish.OutputFormat) == OUTPUT_FORMATS


def test_the_readme_installs_from_a_clone_and_from_no_index() -> None:
    for page in ("README.md", "docs/start/publish.md"):
        assert "make install              # or: pip install .\n" in (ROOT / page).read_text()
    assert "\ninstall:" in (ROOT / "Makefile").read_text()
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    for path in texts:
        # Nobody finds countveil on an index.
        assert not re.search(r"pip install '?countveil", path.read_text()), path


@pytest.mark.slow
def test_the_command_works_once_it_is_installed(tmp_path: Path) -> None:
    # Without --ignore-installed pip would remove the countveil that runs these tests.
    words = (
        "--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--ignore-installed",
        "--prefix", tmp_path,
    )  # fmt: skip
    subprocess.run([sys.executable, "-m", "pip", "install", *words, ROOT], check=True)
    (command,) = tmp_path.rglob("bin/countveil")
    (folder,) = tmp_path.rglob("site-packages")
    done = subprocess.run(
        [command, "--version"],
        env={**os.environ, "PYTHONPATH": f"{folder}"},
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"countveil {countveil.__version__}\n"
