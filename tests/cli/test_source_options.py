"""How a table is read, said on the command line: the same for every command that reads one."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import pytest

import countveil as cv
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture


@pytest.fixture
def said(tmp_path: Path) -> list[str]:
    """A table that needs many options, and these."""
    draw = random.Random(5)
    rows = [(draw.randrange(90), draw.choice("12"), draw.choice("abcde")) for _ in range(600)]
    text = "\n".join(";".join(map(str, row)) for row in [("age", "sex", "disease"), *rows])
    (tmp_path / "in.txt").write_bytes(f"{text}\n".encode("utf-16-le"))
    (tmp_path / "sex.csv").write_text("code,label\n1,woman\n2,man\n")
    words = ["--delimiter", ";", "--encoding", "utf-16", "--where", "age >= 18"]
    return [*words, "--columns", "age,sex", "--labels", f"sex={tmp_path / 'sex.csv'}"]


def test_the_line_to_copy_reads_the_table_as_it_was_read(
    quick: Quick,  # noqa: F811
    said: list[str],
    tmp_path: Path,
) -> None:
    outcome = quick("inspect", tmp_path / "in.txt", "-s", "disease", *said)
    assert (outcome.code, outcome.err) == (0, "")
    words = shlex.split(outcome.out.splitlines()[-1].strip())
    words[-1] = str(tmp_path / "release")
    outcome = quick(*words[1:])
    assert (outcome.code, outcome.err) == (0, "")
    release = cv.open(tmp_path / "release")
    assert [column.name for column in release.columns] == ["age", "sex", "disease"]
    assert 400 < release.rows < 600
    groups = release.sql("SELECT sex, count(*) FROM release GROUP BY sex").to_arrow()
    assert groups["sex"].to_pylist() == ["man", "woman"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["advise", "audit", "compare"])
def test_every_command_takes_the_same_options(
    quick: Quick,  # noqa: F811
    said: list[str],
    tmp_path: Path,
    command: str,
) -> None:
    more = [] if command == "advise" else ["--ell", "2"]
    more += ["--attacks", "elimination"] if command == "audit" else []
    outcome = quick(command, tmp_path / "in.txt", "-s", "disease", *more, *said)
    assert outcome.code == 0, outcome.err
    refused = quick(command, tmp_path / "in.txt", "-s", "disease", *more, *said[:4], "--where", "x")
    assert refused.code == 1
    assert "no column 'x' in the table" in refused.err
