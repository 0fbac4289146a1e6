"""SQL in, our own values out; what is not understood is refused with what is."""

from __future__ import annotations

import datetime as dt
import random
import string
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from countveil.errors import QueryError
from countveil.release import ClassEdges, PublishedColumn
from countveil.sql.query import ReleaseColumns, parse_question, parse_where, plan_question
from countveil.sql.query.expressions import (
    FALSE,
    OPERATIONS,
    TRUE,
    AllOf,
    AnyOf,
    ColumnReference,
    Constant,
    Expression,
    Formula,
    Not,
    Operation,
    Plain,
    SensitiveTest,
    as_condition,
    reduce,
)
from countveil.sql.query.plan import MOST_CELLS
from tests.strategies import examples

JOBS = ("clerk", "cook", "nurse")
COLUMNS = ReleaseColumns(
    [
        PublishedColumn("age", "int64", "plain"),
        PublishedColumn("gender", "string", "plain"),
        PublishedColumn("born", "date32[day]", "plain"),
        PublishedColumn("seen", "timestamp[us]", "plain"),
        PublishedColumn("insured", "bool", "plain"),
        PublishedColumn("pay", "double", "plain"),
        PublishedColumn("group", "string", "plain"),
        PublishedColumn("Zip", "string", "plain"),
        PublishedColumn("zip", "string", "plain"),
        PublishedColumn("job", "string", "sensitive"),
        PublishedColumn("grade", "int64", "sensitive"),
        PublishedColumn("band", "string", "sensitive"),
    ],
    {"job": (None, *JOBS), "grade": (1, 2, 3), "band": ("<18", "18-64", "65+")},
    {"band": ClassEdges((18, 65), whole=True)},
)
AGE, GENDER = ColumnReference("age", "number"), ColumnReference("gender", "text")


def plain(name: str, *operands: Any) -> Plain:
    return Plain(Operation(name, operands, "true/false"))


def number(value: float) -> Constant:
    return Constant(value, "number")


def text(value: str) -> Constant:
    return Constant(value, "text")


@pytest.mark.parametrize(
    ("sql", "formula"),
    [
        ("age = 60", plain("equal", AGE, number(60))),
        ("AGE >= 60", plain("at_least", AGE, number(60))),
        ("release.age < 1", plain("less", AGE, number(1))),
        ("age <> -5", plain("unequal", AGE, number(-5))),
        ("(gender = 'F')", plain("equal", GENDER, text("F"))),
        ("gender = 'O''Brien'", plain("equal", GENDER, text("O'Brien"))),
        ("gender IN ('F', 'M')", plain("in", GENDER, text("F"), text("M"))),
        ("gender NOT IN ('F')", Not(plain("in", GENDER, text("F")))),
        ("gender IS NULL", plain("is_null", GENDER)),
        ("gender IS NOT NULL", Not(plain("is_null", GENDER))),
        ("gender LIKE 'F%'", plain("like", GENDER, text("F%"))),
        (
            "born >= '1990-05-01'",
            plain(
                "at_least", ColumnReference("born", "date"), Constant(dt.date(1990, 5, 1), "date")
            ),
        ),
        (
            "born >= DATE '1990-05-01'",
            plain(
                "at_least", ColumnReference("born", "date"), Constant(dt.date(1990, 5, 1), "date")
            ),
        ),
        ("insured", Plain(ColumnReference("insured", "true/false"))),
        ("\"group\" = 'a'", plain("equal", ColumnReference("group", "text"), text("a"))),
        ("\"Zip\" = 'a'", plain("equal", ColumnReference("Zip", "text"), text("a"))),
        ("job = 'nurse'", SensitiveTest("job", "in", ("nurse",))),
        ("'nurse' <> job", SensitiveTest("job", "not_in", ("nurse",))),
        ("job IS NULL", SensitiveTest("job", "is_null")),
        ("grade > 2", SensitiveTest("grade", "greater", (2,))),
        ("2 > grade", SensitiveTest("grade", "less", (2,))),
        ("band >= '18-64'", SensitiveTest("band", "at_least", ("18-64",))),
        (
            "job = 'cook' OR NOT age = 1",
            AnyOf((SensitiveTest("job", "in", ("cook",)), Not(plain("equal", AGE, number(1))))),
        ),
    ],
)
def test_formulas(sql: str, formula: Formula) -> None:
    parsed = parse_where(sql, COLUMNS)
    assert parsed == formula


def test_an_empty_condition_is_always_true() -> None:
    assert parse_where("  ", COLUMNS) == AllOf(())


@pytest.mark.slow
@pytest.mark.parametrize("word", ["AND", "OR"])
def test_a_long_chain_is_read(word: str) -> None:
    parsed = parse_where(f" {word} ".join(f"age > {i}" for i in range(700)), COLUMNS)
    assert isinstance(parsed, AllOf | AnyOf)
    assert len(parsed.parts) == 700


def test_order_of_classes_is_the_manifests() -> None:
    """'<18' comes first because the manifest says so, not because of its letters."""
    test = SensitiveTest("band", "at_most", ("18-64",))
    domain = ("<18", "18-64", "65+")
    assert [test.holds(value, domain) for value in domain] == [True, True, False]


def test_three_valued_reduction() -> None:
    cook = SensitiveTest("job", "in", ("cook",))
    one = plain("equal", AGE, number(1))
    assert reduce(AllOf((cook, one)), {cook: True}) == one
    assert reduce(AllOf((cook, one)), {cook: False}) == FALSE
    assert reduce(AnyOf((cook, one)), {cook: True}) == TRUE
    assert reduce(AnyOf((cook, one)), {cook: False}) == one
    unknown = reduce(AnyOf((cook, one)), {cook: None})
    assert isinstance(unknown, AnyOf)
    assert Constant(None, "true/false") in as_condition(unknown).operands  # type: ignore[union-attr]


def test_few_conditions_however_many_cells() -> None:
    question = parse_question(
        "SELECT count(*) FROM release WHERE (age > 60 AND job = 'cook') OR grade = 2", COLUMNS
    )
    plan = plan_question(question, COLUMNS)
    assert len(plan.tally.conditions) <= 2
    assert plan.tally.sensitive == ("job", "grade")
    assert plan.domains == ((None, *JOBS), (1, 2, 3))


def test_a_product_of_domains_that_is_too_large_is_refused_with_its_size() -> None:
    many = tuple(range(700))
    columns = ReleaseColumns(
        [PublishedColumn(name, "int64", "sensitive") for name in ("a", "b")], {"a": many, "b": many}
    )
    question = parse_question("SELECT a, b, count(*) FROM release GROUP BY ALL", columns)
    with pytest.raises(QueryError, match=f"490,000 .*{MOST_CELLS:,}"):
        plan_question(question, columns)


def test_every_operation_has_a_text_in_the_engine() -> None:
    from countveil.sql.dialects.dialect import DuckDB

    names = {"age": "c0"}
    for name, kind in OPERATIONS.items():
        three = name in ("case", "replace", "split_part")
        operands: tuple[Expression, ...] = (AGE, AGE, AGE) if three else (AGE, AGE)
        assert "c0" in DuckDB(names).text(Operation(name, operands, kind))


REFUSED = [
    ("SELECT * FROM release", "counts"),
    ("SELECT age FROM release", "GROUP BY"),
    ("SELECT job, age FROM release GROUP BY ALL", "Which combinations"),
    ("SELECT age FROM release WHERE job = 'nurse' GROUP BY age", "Which values"),
    ("SELECT age, count(*) FROM release", "GROUP BY"),
    ("SELECT age, gender, count(*) FROM release GROUP BY age", "gender"),
    ("SELECT count(*), count(*) FROM release", "name of its own"),
    ("SELECT count(*) AS n, sum(age) AS n FROM release", "name of its own"),
    ("SELECT count(DISTINCT job) FROM release", "values"),
    ("SELECT count(DISTINCT age) FROM release WHERE job = 'nurse'", "hides"),
    ("SELECT job, min(age) FROM release GROUP BY job", "hides"),
    ("SELECT sum(DISTINCT age) FROM release", "not supported"),
    ("SELECT median(age) FROM release", "Supported aggregates"),
    ("SELECT sum(gender) FROM release", "needs numbers"),
    ("SELECT sum(job) FROM release", "sensitive"),
    ("SELECT count(*) OVER () FROM release", "not supported"),
    ("SELECT count(*) FROM patients", "called release"),
    ("SELECT count(*) FROM other.release", "called release"),
    ("SELECT count(*)", "no table"),
    ("SELECT count(*) FROM release, release b", "table"),
    ("SELECT count(*) FROM release JOIN release b ON true", "table"),
    ("SELECT count(*) FROM (SELECT * FROM release LIMIT 5)", "LIMIT"),
    ("SELECT max(n) FROM (SELECT age, count(*) AS n FROM release GROUP BY 1)", "of aggregates"),
    ("SELECT count(*) FROM (SELECT age FROM release) WHERE job = 'nurse'", "no column 'job'"),
    ("SELECT count(*) FROM read_csv('/etc/passwd')", "Only the table|called release"),
    ("SELECT count(*) FROM '/etc/passwd'", "called release"),
    ("SELECT count(*) FROM information_schema.tables", "called release"),
    ("SELECT count(*) FROM duckdb_settings()", "Only the table|called release"),
    ("WITH RECURSIVE x AS (SELECT 1) SELECT count(*) FROM release", "RECURSIVE"),
    ("WITH x AS (SELECT 1) SELECT count(*) FROM x", "names no table"),
    ("SELECT count(*) FROM release UNION SELECT count(*) FROM release", "UNION"),
    ("SELECT count(*) FROM release; SELECT 1", "2 statements"),
    ("", "no statement"),
    ("SELECT job FROM release GROUP BY job HAVING count(*) > 5", "error"),
    ("SELECT count(*) FROM release WHERE EXISTS (SELECT 1 FROM release)", "EXISTS"),
    ("SELECT DISTINCT ON (age) count(*) FROM release", "DISTINCT ON"),
    ("SELECT count(*) FROM release TABLESAMPLE 10 PERCENT", "not supported"),
    ("SELECT count(*) FROM release QUALIFY true", "QUALIFY"),
    ("SELECT count(*) FROM release HAVING age > 1", "HAVING"),
    ("SELECT count(*) FROM release HAVING count(*) > 'x'", "number is expected"),
    ("SELECT count(*) FROM release ORDER BY age", "neither selected nor grouped"),
    ("SELECT count(*) FROM release LIMIT age", "whole number"),
    ("SELECT count(*) FROM release LIMIT -1", "whole number"),
    ("DROP TABLE release", "DROP"),
    ("INSERT INTO release VALUES (1)", "INSERT"),
    ("UPDATE release SET age = 1", "UPDATE"),
    ("ATTACH 'x.db'", "not supported|not readable"),
    ("INSTALL httpfs", "not supported|not readable"),
    ("LOAD httpfs", "not supported|not readable"),
    ("PRAGMA database_list", "not supported|not readable"),
    ("CALL pragma_version()", "not supported|not readable"),
    ("SET memory_limit = '1GB'", "not supported|not readable"),
    ("COPY release TO 'x'", "not supported|not readable"),
    ("EXPLAIN SELECT count(*) FROM release", "not supported|not readable"),
    ("SELECT count(*) FROM release WHERE age", "condition is expected"),
    ("SELECT count(*) FROM release WHERE age = pay || 'x'", "needs text"),
    ("SELECT count(*) FROM release WHERE gender + 1 = 2", "needs number"),
    ("SELECT count(*) FROM release WHERE read_text('/etc/passwd') = 'x'", "not supported"),
    ("SELECT count(*) FROM release WHERE getenv('HOME') = 'x'", "not supported"),
    ("SELECT count(*) FROM release WHERE random() < 0.5", "not supported"),
    ("SELECT count(*) FROM release WHERE md5(gender) = 'x'", "not supported"),
    ("SELECT count(*) FROM release WHERE regexp_matches(age, '(a+)+$')", "needs text"),
    ("SELECT count(*) FROM release WHERE age IN (SELECT 1)", "lookup"),
    ("SELECT count(*) FROM release WHERE age = (SELECT 1)", "names no table"),
    ("SELECT count(*) FROM release WHERE EXISTS (SELECT 1)", "not supported"),
    ("SELECT count(*) FROM release WHERE gender = NULL", "IS NULL"),
    ("SELECT count(*) FROM release WHERE gender IN ('a', NULL)", "NULL"),
    ("SELECT count(*) FROM release WHERE job = NULL", "IS NULL"),
    ("SELECT count(*) FROM release WHERE gender = female", "no column 'female'"),
    ("SELECT count(*) FROM release WHERE gender = 1", "different kinds"),
    ("SELECT count(*) FROM release WHERE age = 'x'", "number"),
    ("SELECT count(*) FROM release WHERE insured = 1", "different kinds"),
    ("SELECT count(*) FROM release WHERE born = 'yesterday'", "2024-12-31"),
    ("SELECT count(*) FROM release WHERE agee = 1", "Did you mean 'age'"),
    ("SELECT count(*) FROM release WHERE ZIP = 'a'", "double quotes"),
    ("SELECT count(*) FROM release WHERE x.age = 1", "no table 'x'"),
    ("SELECT count(*) FROM release GROUP BY 7", "points outside"),
    ("SELECT count(*) FROM release GROUP BY CUBE (a, b, c)", "no column"),
    ("SELECT count(*) FROM release GROUP BY count(*)", "aggregate"),
    ("SELECT count(*) FROM release WHERE job > 5", "compared"),
    ("SELECT count(*) FROM release WHERE band > 'nonsense'", "not a class"),
    ("SELECT count(*) FROM release WHERE job = gender", "constants only"),
    ("SELECT count(*) FROM release WHERE job = band", "Two sensitive"),
    ("SELECT count(*) FROM release WHERE lower(job) = 'nurse'", "sensitive"),
    ("SELECT count(*) FROM release WHERE job LIKE 'n%'", "sensitive"),
    ("SELECT CASE WHEN job = 'cook' THEN 1 END, count(*) FROM release GROUP BY 1", "sensitive"),
    ("SELECT count(*) FROM release WHERE CAST(age AS BLOB) = 'x'", "Casts go to"),
    ("SELECT count(* EXCLUDE age) FROM release", "not supported"),
    ("SELECT count(*) FROM release WHERE gender = '\ud800'", "not readable"),
    ("SELECT count(*) FROM release WHERE age = " + "(" * 9_000 + "1" + ")" * 9_000, "."),
    ("SELECT count(*) FROM release WHERE " + "NOT " * 200 + "insured", "deep"),
    ("SELECT count(*) FROM release WHERE gender = '" + "x" * 30_000 + "'", "20,000"),
    ("SELECT count(*) FROM release WHERE gender = 'open", "not readable"),
    ("SELECT count(*) FROM release WHERE age = 1 /* open", "."),
]


@pytest.mark.parametrize(("sql", "says"), REFUSED)
def test_what_is_refused(sql: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        plan_question(parse_question(sql, COLUMNS), COLUMNS)


@pytest.mark.parametrize("inject", ["1 = 1); DROP TABLE release; --", "1) --", "age = 1; --"])
def test_a_bare_condition_cannot_break_out(inject: str) -> None:
    with pytest.raises(QueryError, match="not readable"):
        parse_where(inject, COLUMNS)


def test_brackets_that_close_and_open_again_are_a_formula_of_ours() -> None:
    true, false = (Plain(Constant(value, "true/false")) for value in (True, False))
    assert parse_where("true) OR (false", COLUMNS) == AnyOf((true, false))


_TEXT = (
    "SELECT FROM WHERE GROUP BY ALL HAVING ORDER LIMIT count(*) sum( avg( FILTER ( ) , ; * + - / "
    "// % = <> < > <= >= AND OR NOT IN BETWEEN LIKE IS NULL CASE WHEN THEN ELSE END CAST AS DATE "
    "release age gender born job grade band \"group\" 'F' 'nurse' 1 2.5 -3 1e400 '2020-01-01' "
    "$1 ? :x {} [] || :: -> @ # \\ ` \u202e \x00 \U0001f600 read_csv( getvariable( lambda x: "
    "PIVOT UNPIVOT USING SAMPLE ATTACH COPY TO FROM FIRST STRUCT MAP INTERVAL 1 DAY EXCLUDE REPLACE"
)
_WORDS = _TEXT.split(" ")


@pytest.mark.slow
@examples(1_500)
@given(st.lists(st.sampled_from(_WORDS), max_size=25))
def test_random_words_are_answered_or_refused(words: list[str]) -> None:
    _never_breaks(" ".join(words))


@pytest.mark.slow
@examples(1_500)
@given(st.lists(st.sampled_from(_WORDS), max_size=12))
def test_random_conditions_are_read_or_refused(words: list[str]) -> None:
    _never_breaks("SELECT count(*) FROM release WHERE " + " ".join(words))


@examples(500)
@given(st.text(max_size=200))
@example("$²")
@example("SELECT count(*) FROM release WHERE age = $" + "9" * 5_000)
def test_any_text_is_refused_cleanly(anything: str) -> None:
    _never_breaks(anything)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(5, 11))
def test_mutated_queries_are_read_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    good = [
        "SELECT gender, count(*) FILTER (WHERE job = 'cook') AS n FROM release GROUP BY gender",
        "SELECT age // 10, job, avg(pay) FROM release WHERE born >= '1990-01-01' GROUP BY ALL",
        "SELECT count(*) n FROM release WHERE CASE WHEN age < 4 THEN insured END HAVING n > 5",
    ]
    for _ in range(250):
        query = list(rng.choice(good))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(query))
            query[place : place + rng.randint(0, 3)] = rng.choice(string.printable + "é'\"\x00")
        _never_breaks("".join(query))


def _never_breaks(sql: str) -> None:
    """A query is understood or refused with a sentence; any other exception fails the test."""
    refusal = "understood"
    try:
        plan_question(parse_question(sql, COLUMNS), COLUMNS)
    except QueryError as error:
        refusal = str(error)
    assert refusal
