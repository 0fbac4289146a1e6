"""What is handed in with a query, forms that are others in disguise, and what is remembered."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import CountveilError, QueryError
from countveil.sql.query import parse
from tests.strategies import examples

SECTORS = {"job": ["nurse", "doctor", "cook", "pilot"], "sector": ["care", "care", "food", "air"]}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    rng = np.random.default_rng(4)
    rows = 4_000
    table = pa.table(
        {
            "age": pa.array(rng.integers(20, 60, rows)),
            "town": rng.choice(["a", "b", "c"], rows),
            "day": pa.array(
                [dt.date(2024, 1, 1) + dt.timedelta(int(n)) for n in rng.integers(0, 366, rows)]
            ),
            "job": rng.choice(["nurse", "doctor", "cook", "clerk", "driver", "judge"], rows),
        }
    )
    return cv.publish(table, {"job": 3}, tmp_path_factory.mktemp("forms") / "r", seed=1)


def same(one: cv.Release, query: str, other: str, **given_with_it: Any) -> None:
    answers = [one.sql(query, **given_with_it), one.sql(other)]
    ours, theirs = (sorted(answer.rows(), key=repr) for answer in answers)
    assert ours == theirs


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("SELECT count(*) FROM release WHERE job = ? AND age > ?", ["nurse", 40]),
        ("SELECT count(*) FROM release WHERE job = $2 AND age > $1", [40, "nurse"]),
        ("SELECT count(*) FROM release WHERE job = $j AND age > $a", {"j": "nurse", "a": 40}),
        ("SELECT count(*) FROM release WHERE job = :j AND age > :a", {"j": "nurse", "a": 40}),
        ("SELECT count(*) FROM release WHERE job IN (?) AND age > ?", [["nurse"], np.int64(40)]),
    ],
)
def test_parameters_are_constants(release: cv.Release, query: str, params: Any) -> None:
    same(
        release,
        query,
        "SELECT count(*) FROM release WHERE job = 'nurse' AND age > 40",
        params=params,
    )


@pytest.mark.parametrize(
    ("query", "params", "says"),
    [
        ("SELECT count(*) FROM release WHERE age > ?", [], "no value"),
        ("SELECT count(*) FROM release WHERE age > $a", {"b": 3}, "no value"),
        ("SELECT count(*) FROM release WHERE age > ?", [3, 4], "no place"),
        ("SELECT count(*) FROM release WHERE age > ?", [object()], "object"),
        ("SELECT count(*) FROM release WHERE town = ?", ["a' OR 'b' = 'b"], ""),
    ],
)
def test_parameters_that_do_not_fit(
    release: cv.Release, query: str, params: Any, says: str
) -> None:
    if says:
        with pytest.raises(QueryError, match=says):
            release.sql(query, params=params)
    else:
        # A text stays a text.
        assert release.sql(query, params=params).estimates[0].estimate == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", [dict, pa.table, pd.DataFrame, pl.DataFrame], ids=["dict", "arrow", "pandas", "polars"]
)
def test_lookups_come_in_any_kind_of_table(release: cv.Release, kind: Callable[[Any], Any]) -> None:
    case = "CASE WHEN job IN ('nurse', 'doctor') THEN 'care' WHEN job IN ('cook') THEN 'food' END"
    tables = {"sectors": kind(SECTORS)}
    same(
        release,
        "SELECT s.sector, count(*) FROM release r JOIN sectors s ON r.job = s.job GROUP BY 1",
        f"SELECT {case} AS s, count(*) FROM release WHERE job IN ('nurse', 'doctor', 'cook') "
        "GROUP BY 1",
        tables=tables,
    )
    same(
        release,
        "SELECT sector, count(*) FROM release LEFT JOIN sectors USING (job) GROUP BY sector",
        f"SELECT {case} AS s, count(*) FROM release GROUP BY 1",
        tables=tables,
    )
    same(
        release,
        "SELECT count(*) FROM sectors, release WHERE release.job = sectors.job AND sector = 'care'",
        "SELECT count(*) FROM release WHERE job IN ('nurse', 'doctor')",
        tables=tables,
    )
    same(
        release,
        "SELECT count(*) FROM release WHERE job IN (SELECT job FROM sectors WHERE sector = 'food')",
        "SELECT count(*) FROM release WHERE job IN ('cook')",
        tables=tables,
    )


def test_a_lookup_with_two_keys(release: cv.Release) -> None:
    pairs = {"job": ["nurse", "cook"], "town": ["a", "b"], "kind": ["x", "y"]}
    same(
        release,
        "SELECT kind, count(*) FROM release NATURAL JOIN pairs GROUP BY kind",
        "SELECT CASE WHEN job = 'nurse' AND town = 'a' THEN 'x' WHEN job = 'cook' AND town = 'b' "
        "THEN 'y' END AS kind, count(*) FROM release WHERE job = 'nurse' AND town = 'a' OR "
        "job = 'cook' AND town = 'b' GROUP BY 1",
        tables={"pairs": pairs},
    )


@pytest.mark.parametrize(
    ("query", "table", "says"),
    [
        ("FROM release JOIN t ON release.job = t.job", {"job": ["a", "a"]}, "several rows"),
        ("FROM release JOIN t ON release.age > t.age", {"age": [3]}, "by ="),
        ("FROM release JOIN t USING (town)", {"job": ["a"]}, "no column"),
        ("FROM release JOIN other USING (job)", {"job": ["a"]}, "no lookup table"),
        ("FROM release RIGHT JOIN t USING (job)", {"job": ["a"]}, "RIGHT"),
        ("FROM release JOIN t USING (job)", {"job": ["a"], "x": [1, 2]}, "equally long"),
        ("FROM release JOIN t USING (job)", 7, "dictionary of columns"),
        ("FROM release JOIN t USING (age)", {"age": ["old"]}, "number"),
    ],
)
def test_lookups_that_do_not_fit(release: cv.Release, query: str, table: Any, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        release.sql(f"SELECT count(*) {query}", tables={"t": table})


def test_a_lookup_from_a_file(release: cv.Release, tmp_path: Path) -> None:
    path = tmp_path / "sectors.csv"
    path.write_text("job,sector\nnurse,care\ncook,food\n")
    same(
        release,
        "SELECT count(*) FROM release JOIN s USING (job) WHERE sector = 'food'",
        "SELECT count(*) FROM release WHERE job IN ('cook')",
        tables={"s": path},
    )
    with pytest.raises(QueryError, match="CSV"):
        release.sql("SELECT count(*) FROM release", tables={"s": tmp_path / "nothing.csv"})


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ("job LIKE ANY ('c%', 'n%')", "job IN ('cook', 'clerk', 'nurse')"),
        ("town NOT LIKE ANY ('a%', 'b%')", "town = 'c'"),
        ("day < DATE '2024-01-31' + INTERVAL 1 MONTH", "day < '2024-02-29'"),
        ("day >= '2024-03-01'::DATE - 1", "day >= '2024-02-29'"),
        ("job ~ '^n'", "job IN ('nurse')"),
    ],
)
def test_other_ways_to_write_a_condition(release: cv.Release, query: str, other: str) -> None:
    same(
        release,
        f"SELECT count(*) FROM release WHERE {query}",
        f"SELECT count(*) FROM release WHERE {other}",
    )


def test_values_and_columns_are_listed(release: cv.Release) -> None:
    assert release.values("town") == ["a", "b", "c"]
    assert release.values("JOB") == list(release.manifest.sensitive["job"].domain)
    listed = release.sql("SELECT DISTINCT job FROM release ORDER BY job")
    assert [row[0] for row in listed.rows()] == sorted(release.values("job"))
    assert "nurse" in str(listed)
    described = release.sql("DESCRIBE release")
    assert [row[0] for row in described.rows()] == [column.name for column in release.columns]
    assert described.to_arrow().column("role").to_pylist() == ["plain"] * 3 + ["sensitive"]
    assert list(described.rows()) == list(release.sql("show columns from release;").rows())
    with pytest.raises(CountveilError, match="There is no column"):
        release.values("nothing")


def test_a_question_that_comes_again_is_not_parsed_again(
    release: cv.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT count(*) FROM release WHERE job = ? AND age > 21"
    first = [release.sql(query, params=[job]) for job in ("nurse", "cook")]

    def refuse(_: str) -> None:
        raise AssertionError

    monkeypatch.setattr(parse, "parse_text", refuse)
    again = [release.sql(query, params=[job]) for job in ("nurse", "cook")]
    assert [list(a.rows()) for a in again] == [list(a.rows()) for a in first]
    with pytest.raises(AssertionError):
        release.sql(query, params=["judge"])


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "release",
        "WHERE",
        "GROUP",
        "BY",
        "count(*)",
        "sum(age)",
        "(",
        ")",
        ",",
        "job",
        "age",
        "town",
        "=",
        "'nurse'",
        "3",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "AS",
        "x",
        "WITH",
        "JOIN",
        "ON",
        "USING",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "BETWEEN",
        "IS",
        "NULL",
        "DISTINCT",
        "ROLLUP",
        "CUBE",
        "HAVING",
        "ORDER",
        "LIMIT",
        "INTERVAL",
        "DAY",
        "date_trunc('month',",
        "day)",
        "left(job,",
        "1)",
        "min(age)",
        "?",
        "$a",
        "*",
        ".",
        ";",
        "UNION",
        "EXISTS",
        "OVER",
        "FILTER",
        "(SELECT",
        "avg(age)",
        "FROM",
        "release)",
    ]
)


@examples(300)
@given(words=st.lists(WORDS, min_size=3, max_size=25))
def test_whatever_is_written_is_answered_or_refused(release: cv.Release, words: list[str]) -> None:
    texts = [" ".join(words), f"SELECT count(*) FROM release WHERE {' '.join(words)}"]
    for text in texts:
        with contextlib.suppress(QueryError):
            assert release.sql(text).columns
