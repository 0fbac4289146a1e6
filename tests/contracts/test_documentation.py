"""The examples in the documentation are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import countveil as cv

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_sql_examples_are_answered(tmp_path: Path) -> None:
    table = cv.generate(5_000, seed=1)
    release = cv.publish(table, {"occupation": 5}, tmp_path / "release", seed=1)
    queries = [
        line for block in blocks("docs/reference/sql.md", "sql") for line in block.split("\n")
    ]
    queries = [query for query in queries if query]
    assert len(queries) >= 6
    for query in queries:
        assert len(release.sql(query)) > 0


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    for block in blocks("README.md", "python"):
        exec(block, found)
    assert isinstance(found["release"], cv.Release)
    assert len(found["answer"].to_pandas()) > 50  # type: ignore[attr-defined]


def test_links_between_pages_lead_somewhere() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ]
    assert len(pages) > 8
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
