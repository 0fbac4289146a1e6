"""The quick way to `countveil publish` reads what the long way reads, or leaves it alone."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil import errors
from countveil.cli import quick_publish
from countveil.cli.app import app, parser
from countveil.cli.commands import publish
from countveil.cli.publishing import Asked
from countveil.cli.quick_publish import plain_publication, published_quickly
from countveil.errors import CountveilError
from countveil.publishing.settings import Protecting, Writing

TABLE = ["publish", "people.csv"]
PLAIN = [*TABLE, "-s", "a:5", "--to", "r"]


@pytest.fixture
def _collecting_afterwards() -> Iterator[None]:
    """The quick way is for a process that ends after it, and these tests are not."""
    yield
    gc.unfreeze()


def asked_by(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the long way would do."""
    asked: list[Asked] = []
    monkeypatch.setattr(publish, "publish_and_print", asked.append)
    parser()(words, standalone_mode=False)
    return asked[0]


def settings(asked: Asked) -> Any:
    """All that a publication depends on."""
    reading, shaping = asked.table_options(_progress)
    writing = Writing.of(**asked.writing, reasons=asked.reasons(shaping.keep))
    others = (asked.engine, asked.master, asked.k, asked.style)
    return asked.table, Protecting.of(**asked.protecting), writing, reading, shaping, others


def _progress(_stage: str, _done: int, _rows: int) -> None:
    """Nobody looks."""


@pytest.mark.parametrize(
    "words",
    [
        PLAIN,
        [*TABLE, "--sensitive=a:5", "--to=r", "--force", "--again"],
        [*TABLE, "-s", "a", "-s", "b:3", "--ell", "4", "--to", "r", "--no-record"],
        [*TABLE, "-s", "a:b", "--ell", "4", "--to", "r", "--record", "--seed=12"],
        ["publish", "--to", "a folder/r", "-s", "x:y:7", "sqlite:f.db#t", "--memory", "1GB"],
        [*PLAIN, "--spill", "aside", "--private-report=mine.html", "--title", "A = B"],
        [*PLAIN, "--keep", "x,y", "--keep=z", "--drop", "name", "--contact", "me"],
        [*PLAIN, "--where", "age >= 60 AND sex = 'F'"],
    ],
)
def test_both_ways_ask_for_the_same(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = plain_publication(words)
    assert plain is not None
    assert settings(quick_publish._asked(plain)) == settings(asked_by(words, monkeypatch))


@pytest.mark.parametrize(
    "words",
    [
        [], ["query"], ["publish"], ["publish", "--help"], TABLE, [*TABLE, "-s", "a:5"],
        [*TABLE, "--to", "r"], ["publish", "-s", "a:5", "--to", "r"], [*PLAIN, "more"],
        [*PLAIN, "--help"], [*PLAIN, "--"], [*PLAIN, "--to", "s"], [*PLAIN, "--to="],
        [*PLAIN, "--force", "--force"], [*PLAIN, "--record", "--no-record"], [*PLAIN, "-f"],
        [*PLAIN, "-s", "a:4"], [*PLAIN, "-s"], [*PLAIN, "-s", "b"], [*PLAIN, "-s", "--force"],
        [*PLAIN, "-s", "b:1.5", "--ell", "3"], [*PLAIN, "-s", "b:-.5", "--ell", "3"],
        [*PLAIN, "-s", "b:1234567890", "--ell", "3"], [*PLAIN, "--ell", "many"],
        [*PLAIN, "--ell", "-1"], [*PLAIN, "--seed", "1e3"], [*PLAIN, "--forced"],
        [*PLAIN, "--dry-run"], [*PLAIN, "--engine", "spark"], [*PLAIN, "--format", "json"],
        [*PLAIN, "--together"], [*PLAIN, "--recipe", "x.toml"], [*PLAIN, "--force=1"],
        ["publish", "", "-s", "a:5", "--to", "r"], [*PLAIN, "-s=b:3"], [*PLAIN, "-sb:3"],
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_alone(words: list[str]) -> None:
    assert plain_publication(words) is None


@pytest.mark.usefixtures("_collecting_afterwards")
def test_a_plain_command_publishes_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, release = tmp_path / "t.csv", tmp_path / "r"
    table.write_text("sex,job\n" + "".join(f"F,j{n % 6}\n" for n in range(600)))
    assert published_quickly(["publish", str(table), "-s", "job:3", "--to", str(release)])
    said = capsys.readouterr().out
    assert said.startswith(f"Published 600 rows to {release} in ")
    assert "Protected: job (ell 3).\n" in said
    assert json.loads((release / "manifest.json").read_text())["rows"] == 600


@pytest.mark.usefixtures("_collecting_afterwards")
def test_an_error_names_the_same_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "reader", "command line")
    monkeypatch.chdir(tmp_path)
    # Half of the rows have one value, so that groups of five different ones are impossible.
    jobs = ["one", *(f"j{n}" for n in range(9))]
    rows = "".join(f"F,{jobs[0] if n % 2 else jobs[n // 2 % 10]}\n" for n in range(600))
    Path("people.csv").write_text(f"sex,job\n{rows}")
    words = ["publish", "people.csv", "-s", "job:5", "--to", "r", "--title", "It", "--keep", "sex"]
    with pytest.raises(CountveilError) as quick:
        published_quickly(words)
    long = CliRunner().invoke(app, words).exception
    assert "Commands that publish it:" in str(quick.value)
    assert str(quick.value) == str(long)


@pytest.mark.slow
def test_a_plain_command_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    table = tmp_path / "t.parquet"
    cv.generate(2_000, seed=1, to=table)
    words = ["publish", str(table), "-s", "occupation:5", "--to", str(tmp_path / "r")]
    program = (
        "import sys\n"
        "from countveil.cli.quick_publish import published_quickly\n"
        f"assert published_quickly({words!r})\n"
        "heavy = {'typer', 'click', 'pydantic', 'rich', 'duckdb', 'sqlglot', 'pandas', 'polars',\n"
        "         'email', 'http', 'countveil.asking', 'countveil.sql', 'countveil.cli.options'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
