"""A refusal says where in the text it is about, however the query was rewritten meanwhile."""

from __future__ import annotations

import pytest

import countveil as cv
from countveil.errors import QueryError


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    place = tmp_path_factory.mktemp("places") / "release"
    return cv.publish(cv.generate(400, seed=1), {"occupation": 2}, place, seed=1)


def marked(release: cv.Release, query: str) -> str | None:
    """What a refusal marks in the text."""
    with pytest.raises(QueryError) as caught:
        release.sql(query)
    place = caught.value.place
    return None if place is None else query[place[0] : place[1]]


@pytest.mark.few(10)
@pytest.mark.parametrize(
    ("query", "word"),
    [
        # Misspelt columns, in every clause.
        ("SELECT count(*) FROM release WHERE ocupation = 'nurse'", "ocupation"),
        ("SELECT gendr, count(*) FROM release GROUP BY 1", "gendr"),
        ("SELECT gender, count(*) FROM release GROUP BY gendr", "gendr"),
        ("SELECT gender, count(*) AS n FROM release GROUP BY 1 ORDER BY m", "m"),
        ("SELECT avg(agge) FROM release", "agge"),
        ('SELECT count(*) FROM release WHERE "no such" = 1', '"no such"'),
        ("SELECT x.gender, count(*) FROM release GROUP BY 1", "x.gender"),
        # The second of two equal names is not blamed for the first.
        ("SELECT count(*) FROM release WHERE age > 3 AND agee > 3", "agee"),
        # Rewritten first: subqueries, WITH, conditions in aggregates, medians.
        ("WITH t AS (SELECT * FROM release WHERE agge > 3) SELECT count(*) FROM t", "agge"),
        ("SELECT sum(CASE WHEN agge > 3 THEN 1 ELSE 0 END) AS n FROM release", "agge"),
        ("SELECT median(age) AS m FROM release WHERE age > 1 AND ocupation = 'x'", "ocupation"),
        # What is not supported.
        ("SELECT count(*) FROM release WHERE soundex(gender) = 'x'", "soundex"),
        ("SELECT foo(age) FROM release", "foo"),
        ("SELECT sum(gender) FROM release", "sum"),
        ("SELECT count(*) FROM releas", "releas"),
        ("SELECT gender, marital, count(*) FROM release GROUP BY gender", "marital"),
        ("SELECT count(*) FROM release WHERE age = 'x'", "age = 'x'"),
        (
            "SELECT count(*) FROM release WHERE age = 1 HAVING count(*) > gender",
            "count(*) > gender",
        ),
        # Text that is not SQL.
        ("SELECT count(* FROM release", "FROM"),
        ("SELECT count(*)\nFROM release\nWHERE (age = = 3)", "="),
        ("SELECT count(*) FROM release WHERE gender = 'abc", "'abc"),
        # Characters outside of the first plane, and lines, before the place.
        (
            "SELECT count(*) -- \U0001d4b3\nFROM release\nWHERE ocupation = '\U0001d4b3'",
            "ocupation",
        ),
    ],
)
def test_the_place_of_a_refusal_is_marked(release: cv.Release, query: str, word: str) -> None:
    assert marked(release, query) == word


@pytest.mark.parametrize(
    "query",
    ["SELECT gender FROM release UNION SELECT gender FROM release", "SELECT * FROM release", ""],
)
def test_a_refusal_of_the_whole_text_marks_nothing(release: cv.Release, query: str) -> None:
    assert marked(release, query) is None


def test_a_place_that_does_not_fit_the_text_is_not_given() -> None:
    """Where a query is rewritten, a place could be that of another text."""
    from countveil.sql.query.places import located

    error = QueryError("There is no column 'agge'.")
    error.place, error.word = (90, 94), "agge"
    assert located(error, "SELECT avg(agge) FROM release").place == (11, 15)
    error.place = (90, 94)
    assert located(error, "SELECT 1").place is None
