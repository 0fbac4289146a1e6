"""Why a column is kept: in the private report, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import countveil as cv
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused

REASON = 'The badge "shows" it = <everybody> knows.'


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    jobs = ("nurse", "clerk", "baker", "pilot", "cook", "judge")
    lines = [f"{n % 6}c,{n % 4},{jobs[n % 6]}" for n in range(300)]
    path.write_text("\n".join(["a=code,region,job", *lines]) + "\n")
    return path


def test_a_reason_stands_in_the_private_report_alone(table: Path, tmp_path: Path) -> None:
    release, report = tmp_path / "release", tmp_path / "private.html"
    cv.publish(
        table, {"job": 3}, release, keep="a=code", reasons={"a=code": REASON}, private_report=report
    )
    text = report.read_text()
    assert "Kept on purpose, and why" in text
    assert "&lt;everybody&gt; knows." in text
    for file in release.rglob("*"):
        assert file.is_dir() or b"badge" not in file.read_bytes()
    assert all(b"badge" not in file.read_bytes() for file in tmp_path.glob(".*"))


def test_a_name_may_hold_an_equals_sign(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    words = ["publish", table, "-s", "job:3", "--to", tmp_path / "r", "--keep", "a=code"]
    words += ["--reason", f"a=code={REASON}", "--private-report", tmp_path / "p.html"]
    recipe = tmp_path / "recipe.toml"
    done = quick(*words, "--write-recipe", recipe)
    assert done.code == 0, done.err
    assert "&lt;everybody&gt; knows." in (tmp_path / "p.html").read_text()


def test_a_recipe_keeps_the_reason(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    table.write_text(table.read_text().replace("a=code", "code", 1))
    words = ["publish", table, "-s", "job:3", "--to", tmp_path / "r", "--keep", "code"]
    words += ["--reason", f"code={REASON}", "--private-report", tmp_path / "p.html"]
    recipe = tmp_path / "recipe.toml"
    assert quick(*words, "--write-recipe", recipe).code == 0
    more = ["--to", tmp_path / "s", "--private-report", tmp_path / "q.html", "--again"]
    done = quick("publish", "--recipe", recipe, *more)
    assert done.code == 0, done.err
    assert "&lt;everybody&gt; knows." in (tmp_path / "q.html").read_text()


def test_a_reason_that_nobody_would_read_is_refused(
    quick: Quick,  # noqa: F811
    table: Path,
    tmp_path: Path,
) -> None:
    words = ["publish", table, "-s", "job:3", "--to", tmp_path / "r", "--keep", "a=code"]
    assert_refused(quick(*words, "--reason", "a=code=why"), "--private-report")
    more = ["--private-report", tmp_path / "p.html"]
    assert_refused(quick(*words, *more, "--reason", "region=why"), "not kept on purpose")
    assert quick(*words, *more, "--reason", "a=code=").code == 2
    with pytest.raises(cv.CountveilError, match="reasons"):
        cv.publish(table, {"job": 3}, tmp_path / "r", keep="a=code", reasons={"a=code": "x"})
    assert not (tmp_path / "r").exists()
