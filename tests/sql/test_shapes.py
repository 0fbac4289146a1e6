"""A query that differs from an earlier one in its constants alone is not parsed again."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import QueryError
from countveil.release import PublishedColumn
from countveil.sql.query import ReleaseColumns, parse_question
from countveil.sql.query.forms.shapes import tree_of_shape
from countveil.sql.query.parse import Inputs, QuestionReader, parse_text
from countveil.sql.query.places import located

COLUMNS = ReleaseColumns(
    [
        PublishedColumn("age", "int64", "plain"),
        PublishedColumn("gender", "string", "plain"),
        PublishedColumn("job", "string", "sensitive"),
    ],
    {"job": ("cook", "nurse")},
)
CONSTANTS = st.one_of(
    st.integers(0, 10**12).map(str),
    st.decimals(0, 1000, places=2).map(str),
    st.text("ab =<>()'\"-#0é\n", max_size=8).map(lambda t: "'{}'".format(t.replace("'", "''"))),
    st.sampled_from(["-3", "1e5", "DATE '2024-01-31'", "NULL", "TRUE", "age", "'it''s'", "$1"]),
)
QUERIES = st.sampled_from(
    [
        "SELECT count(*) FROM release WHERE age = {} AND job = {}",
        "SELECT avg(age) FROM release WHERE (job = {}) OR age >= {} GROUP BY gender",
        'SELECT count(*) AS "= 5" FROM release WHERE age BETWEEN {} AND {}',
        "SELECT sum(age) FILTER (WHERE age<{}) AS n FROM release WHERE gender <>{}\n",
        "SELECT count(*) FROM release WHERE gender IN ('= 3', {}) AND age != {} LIMIT 3",
        "SELECT count(*) FROM release WHERE age = {} -- AND job = {}",
        "SELECT count(*) FROM release WHERE age = {} years AND 'a' > {}",
        "SELECT CASE WHEN age > {} THEN 1 END, count(*) FROM release WHERE age > {} GROUP BY 1",
        "SELECT job, count(*) FROM release GROUP BY 1 HAVING count(*) > {} ORDER BY count(*) > {}",
    ]
)


@given(QUERIES, CONSTANTS, CONSTANTS)
def test_the_tree_is_the_one_that_parsing_gives(query: str, one: str, two: str) -> None:
    text = query.format(one, two)
    try:
        parsed = parse_text(text)
    except QueryError:
        return
    tree = tree_of_shape(text, parse_text)
    assert tree is None or (tree == parsed and tree.sql("duckdb") == parsed.sql("duckdb"))


@given(QUERIES, CONSTANTS, CONSTANTS)
def test_a_query_of_a_series_means_what_it_means_alone(query: str, one: str, two: str) -> None:
    text = query.format(one, two)
    assert _read(text, in_series=True) == _read(text, in_series=False)


def _read(text: str, *, in_series: bool) -> tuple[object, ...]:
    """The question, or what is said instead and about which words."""
    try:
        return (parse_question(text, COLUMNS, in_series=in_series),)
    except QueryError as error:
        return str(error), located(error, text).place


def test_one_shape_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = sqlglot.parse

    def counted(text: str, read: str) -> list[sqlglot.exp.Expr | None]:
        parsed.append(text)
        return parse(text, read=read)

    monkeypatch.setattr(sqlglot, "parse", counted)
    reader = QuestionReader(COLUMNS)
    texts = [
        f"SELECT avg(age) FROM release WHERE job = '{job}' AND age > {age} AND gender = 'once'"
        for job in ("cook", "nurse")
        for age in range(20, 40)
    ]
    questions = [reader.question(text, Inputs()) for text in texts]
    assert len(set(questions)) == len(texts)
    # The first one as it is; the second one's shape serves all others.
    assert len(parsed) == 2


def test_a_refusal_is_about_the_text_as_it_was_written() -> None:
    reader = QuestionReader(COLUMNS)
    query = "SELECT count(*) FROM release WHERE age > {} AND gendr = 'F'"
    reader.question("SELECT count(*) FROM release WHERE age > 1", Inputs())
    for age in ("2", "1000000", "3"):
        text = query.format(age)
        with pytest.raises(QueryError) as refused:
            reader.question(text, Inputs())
        place = located(refused.value, text).place
        assert place is not None
        assert text[slice(*place)] == "gendr"
