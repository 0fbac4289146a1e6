"""A release of several files, asked on Dask: the lines of all files become one answer."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil.engines.dask import release_table
from countveil.engines.local.release_table import LocalRelease
from countveil.errors import QueryError, ReleaseError
from tests.engines.conformance.people import people

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

QUESTIONS = [
    "SELECT count(*) FROM release",
    "SELECT job, avg(wage) AS mean, sum(age) AS years, count(*) AS n FROM release GROUP BY 1",
    "SELECT insured, count(*) FROM release WHERE age >= 40 AND job = 'nurse' GROUP BY insured",
    "SELECT insured, count(DISTINCT age) AS ages, min(age) AS low FROM release GROUP BY insured",
    "SELECT wage, born, count(*) FROM release WHERE job <> 'cook' GROUP BY ALL",
    "SELECT count(*) FROM release WHERE age > 1000 AND job = 'nurse'",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "release"
    cv.publish(people(), {"job": 3}, folder, keep="row", seed=3, rows_per_file=25)
    assert len(list((folder / "data").iterdir())) > release_table._JOINED
    return folder


def answer(release: cv.Release, question: str) -> list[tuple[Any, ...]]:
    return sorted(release.sql(question).rows(), key=repr)


@pytest.mark.parametrize("question", QUESTIONS)
def test_many_files_give_the_same_answer(folder: Path, question: str) -> None:
    ours = answer(cv.open(folder, engine="dask"), question)
    theirs = answer(cv.open(folder), question)
    assert len(ours) == len(theirs) > 0
    for one, two in zip(ours, theirs, strict=True):
        for mine, other in zip(one, two, strict=True):
            same = mine == other or math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9)
            assert same, (one, two)


def test_rows_of_all_files(folder: Path) -> None:
    rows = cv.open(folder, engine="dask").table.rows(["row"])
    assert sorted(rows.column(0).to_numpy().tolist()) == list(range(600))


def test_a_question_ends_when_its_time_is_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB counts slowly here: the first file takes a minute, unless it is interrupted."""
    slow = LocalRelease.lines

    def minute(self: LocalRelease, tally: Any) -> Any:
        self._run("SELECT count(*) FROM range(100000000000)", ())
        return slow(self, tally)

    monkeypatch.setattr(LocalRelease, "lines", minute)
    begun = time.monotonic()
    with pytest.raises(QueryError, match=r"more than 0\.5 seconds"):
        cv.open(folder, engine="dask", timeout=0.5).sql("SELECT count(*) FROM release")
    assert time.monotonic() - begun < 30


def test_other_formats_are_refused(tmp_path: Path) -> None:
    cv.publish(people(), {"job": 3}, tmp_path / "r", keep="row", seed=3, output_format="csv")
    with pytest.raises(ReleaseError, match="Dask queries Parquet files"):
        cv.open(tmp_path / "r", engine="dask")


def test_files_that_are_not_those_of_the_manifest_are_refused(tmp_path: Path) -> None:
    cv.publish(people(), {"job": 3}, tmp_path / "r", keep="row", seed=3)
    (file,) = (tmp_path / "r" / "data").iterdir()
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(ReleaseError):
        cv.open(tmp_path / "r", engine="dask").count(job="nurse")
