"""Asking a release: the answers' shape, their truth, and what is known exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import countveil as cv
from countveil.asking.result import ESTIMATE_FIELDS
from countveil.asking.unlisted import UnlistedValueWarning
from countveil.errors import QueryError, ReleaseError, SettingsError


@pytest.fixture(scope="module")
def census() -> pa.Table:
    table = cv.generate(20_000, seed=11)
    assert table is not None
    return table


@pytest.fixture(scope="module")
def release(census: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("analyst") / "release"
    return cv.publish(census, {"occupation": 5, "salary": 3}, folder, seed=12)


def test_what_involves_no_sensitive_column_is_exact(release: cv.Release, census: pa.Table) -> None:
    answer = release.sql("SELECT gender, marital, count(*) FROM release GROUP BY ALL")
    truth = Counter(zip(census["gender"].to_pylist(), census["marital"].to_pylist(), strict=True))
    assert {row[:2]: row[2] for row in answer.rows()} == truth
    assert {row[-1] for row in answer.rows()} == {"reliable"}
    assert {row[3] for row in answer.rows()} == {0.0}


def test_the_sensitive_column_alone_is_the_published_count(release: cv.Release) -> None:
    answer = release.sql("SELECT occupation, count(*) FROM release GROUP BY occupation")
    estimates = {row[0]: row[1] for row in answer.rows()}
    assert sum(estimates.values()) == release.rows
    assert set(estimates) == set(release.manifest.sensitive["occupation"].domain)


def test_estimates_add_up_over_the_values(release: cv.Release) -> None:
    """Summed over everything a person can be, the unbiased estimates give the group's size."""
    answer = release.sql(
        "SELECT gender, occupation, count(*) FROM release WHERE age < 40 GROUP BY ALL"
    )
    sizes = {
        row[0]: row[1]
        for row in release.sql(
            "SELECT gender, count(*) FROM release WHERE age < 40 GROUP BY gender"
        ).rows()
    }
    for gender, size in sizes.items():
        total = sum(row[2] for row in answer.rows() if row[0] == gender)
        assert total == pytest.approx(size, rel=0.25)


def test_groups_of_a_grouped_query_are_the_counts_of_single_ones(release: cv.Release) -> None:
    grouped = release.sql(
        "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"
    )
    for gender, *numbers in grouped.rows():
        single = release.count(f"gender = '{gender}'", occupation="nurse")
        *expected, word = (getattr(single, name) for name in ESTIMATE_FIELDS)
        assert numbers[:-1] == pytest.approx(expected)
        assert numbers[-1] == word


def test_ways_to_ask_the_same(release: cv.Release) -> None:
    one = release.count("gender = 'F' AND occupation = 'nurse'")
    two = release.count("gender = 'F'", occupation="nurse")
    three = release.sql("SELECT count(*) AS n FROM release WHERE occupation='nurse' AND gender='F'")
    assert one == two == three.estimates[0]


@pytest.mark.few(3)
@pytest.mark.parametrize("what", ["count(*)", "sum(age)", "avg(age)"])
@pytest.mark.parametrize("value", ["= 'nurse'", "IN ('nurse', 'lawyer', 'driver')"])
def test_shrunk_and_unbiased_answers_have_the_same_interval(
    release: cv.Release, what: str, value: str
) -> None:
    query = f"SELECT gender, {what} FROM release WHERE occupation {value} GROUP BY gender"
    shrunk, plain = release.sql(query), release.sql(query, method="unbiased")
    for one, other in zip(shrunk.estimates, plain.estimates, strict=True):
        assert (one.low, one.high) == pytest.approx((other.low, other.high))
        assert one.estimate != other.estimate
        if what == "count(*)":
            assert one.std_error == pytest.approx(other.std_error)


def test_no_rows_are_exactly_no_rows(release: cv.Release) -> None:
    estimate = release.count("age > 200", occupation="nurse")
    assert (estimate.estimate, estimate.std_error, estimate.low, estimate.high) == (0, 0, 0, 0)
    assert estimate.verdict == "reliable"


NURS = "SELECT count(*) FROM release WHERE occupation = 'nurs'"


def test_a_value_that_is_nowhere_is_hidden_and_noted(release: cv.Release) -> None:
    with pytest.warns(UnlistedValueWarning, match="Did you mean 'nurse'") as warned:
        answer = release.sql(NURS)
    assert answer.estimates[0].estimate == 0
    assert answer.estimates[0].verdict == "hidden"
    assert [str(warning.message) for warning in warned] == list(answer.warnings)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "ask",
    [
        lambda release: release.count(occupation="nurs"),
        lambda release: release.count("occupation <> 'nurs'", salary="00-10k"),
        lambda release: release.count("age > 30 OR occupation IN ('nurs', 'nurse')"),
        lambda release: release.counts(["occupation = 'nurs'", "age > 30 AND occupation = 'nurs'"]),
        lambda release: release.crosstab("gender", "salary", "occupation = 'nurs'"),
        lambda release: release.sql(NURS, method="unbiased"),
        lambda release: release.plain_sql(NURS),
    ],
)
def test_python_warns_once_of_a_misspelt_value_at_the_line_that_has_it(
    release: cv.Release, ask: Callable[[cv.Release], object]
) -> None:
    with pytest.warns(UnlistedValueWarning) as warned:
        ask(release)
    expected = "The release has no row with occupation = 'nurs'. Did you mean 'nurse'?"
    assert [str(warning.message) for warning in warned] == [expected]
    assert warned[0].filename == __file__


def test_asking_for_missing_values_is_no_mistake(release: cv.Release) -> None:
    # A warning would be an error here.
    assert release.count("occupation IS NOT NULL").estimate == release.rows
    assert release.count(occupation=None).estimate == 0


def test_answers_as_arrow_pandas_and_polars(release: cv.Release) -> None:
    answer = release.sql("SELECT gender, count(*) FROM release WHERE salary='00-10k' GROUP BY ALL")
    columns = ["gender", *ESTIMATE_FIELDS]
    assert answer.to_arrow().column_names == columns
    assert list(answer.to_pandas().columns) == columns
    assert answer.to_polars().columns == columns
    assert answer.to_polars().rows() == list(answer.rows())
    assert answer.to_dicts()[0]["gender"] == "F"
    assert len(answer) == 2


def test_an_answer_without_rows_keeps_its_columns(release: cv.Release) -> None:
    answer = release.sql("SELECT gender, count(*) FROM release WHERE age > 200 GROUP BY gender")
    assert len(answer) == 0
    assert answer.to_arrow().column_names == ["gender", *ESTIMATE_FIELDS]


def test_the_printed_channel_gives_no_errors(release: cv.Release) -> None:
    count = release.count("gender = 'F'", occupation="nurse", method="bayes", channel="printed")
    assert count.estimate is not None
    assert (count.std_error, count.low, count.high, count.verdict) == (None, None, None, None)


def test_within_decides_what_is_reliable(release: cv.Release) -> None:
    strict = release.count(occupation="nurse", within=0.0001)
    loose = release.count(occupation="nurse", within=0.4)
    assert (strict.verdict, loose.verdict) == ("indicative", "reliable")
    with pytest.raises(SettingsError, match="within"):
        release.count(occupation="nurse", within=0)


def test_unknown_names_are_answered_with_near_ones(release: cv.Release) -> None:
    with pytest.raises(QueryError, match="Did you mean 'occupation'"):
        release.count(ocupation="nurse")


def test_a_release_says_what_it_is(release: cv.Release) -> None:
    assert "20,000 rows" in repr(release)
    assert release.ell == {"occupation": 5, "salary": 3}


def test_opening_what_is_not_a_release(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="does not exist"):
        cv.open(tmp_path / "nothing")
    with pytest.raises(ReleaseError, match="not a release"):
        cv.open(tmp_path)


def test_missing_sensitive_values_are_counted(tmp_path: Path) -> None:
    table = pa.table({"p": [1, 2] * 300, "s": ["a", None, "b"] * 200})
    release = cv.publish(table, {"s": 2}, tmp_path / "release", seed=1)
    answer = release.sql("SELECT s, count(*) FROM release GROUP BY s")
    assert [row[0] for row in answer.rows()] == [None, "a", "b"]
    whole = release.count(s=None)
    assert whole.estimate == next(answer.rows())[1]
    assert release.count("s IS NULL") == whole


RATE = "count(*) FILTER (WHERE occupation = 'nurse') / count(*) AS rate"
HIDDEN_LAST = [
    f"SELECT education, {RATE} FROM release GROUP BY 1 ORDER BY rate {{}}",
    "SELECT country, count(*) n FROM release WHERE occupation = 'nurse' GROUP BY 1 ORDER BY n {}",
    "SELECT country, avg(age) a FROM release WHERE occupation = 'lawyer' GROUP BY 1 ORDER BY 2 {}",
]


@pytest.mark.few(1)
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("query", HIDDEN_LAST)
def test_hidden_groups_come_last_in_either_order(
    ordered: cv.Release, query: str, direction: str
) -> None:
    answer = ordered.sql(query.format(direction))
    verdicts = [cell.verdict for cell in answer.estimates]
    assert 0 < verdicts.count("hidden") < len(verdicts)
    shown = len(verdicts) - verdicts.count("hidden")
    assert "hidden" not in verdicts[:shown]
    numbers = [cell.estimate or 0.0 for cell in answer.estimates][:shown]
    assert numbers == sorted(numbers, reverse=direction == "DESC")
    first = ordered.sql(query.format(f"{direction} NULLS FIRST"))
    assert [cell.verdict for cell in first.estimates][-shown:] == verdicts[:shown]
    assert list(ordered.sql(query.format(f"{direction} LIMIT {shown}")).groups) == list(
        answer.groups[:shown]
    )


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("query", HIDDEN_LAST)
def test_plain_sql_puts_hidden_groups_last_too(
    ordered: cv.Release, query: str, direction: str
) -> None:
    asked = query.format(direction) + ", 1"
    text = ordered.plain_sql(asked, dialect="duckdb")
    connection = duckdb.connect()
    files = str(ordered.folder / "data" / "*.parquet")
    connection.execute(f"CREATE TABLE release AS SELECT * FROM '{files}'")
    theirs = [row[0] for row in connection.execute(text).fetchall()]
    assert theirs == [group[0] for group in ordered.sql(asked, method="unbiased").groups]


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("ordered") / "release"
    return cv.publish(cv.generate(10_000, seed=1), {"occupation": 3}, folder, seed=5)
