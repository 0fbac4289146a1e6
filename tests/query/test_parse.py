"""SQL in, our own values out; what is not understood is refused with what is."""

from __future__ import annotations

import datetime as dt

import pytest

from countveil.errors import QueryError
from countveil.query import (
    AllOf,
    Between,
    Compare,
    Condition,
    InList,
    IsNull,
    ReleaseColumns,
    parse_count,
    parse_where,
    plan_count,
)
from countveil.query.plan import Only
from countveil.release import PublishedColumn

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
        PublishedColumn("illness", "string", "sensitive"),
    ]
)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("age = 60", Compare("age", "=", 60)),
        ("AGE >= 60", Compare("age", ">=", 60)),
        ("60 <= age", Compare("age", ">=", 60)),
        ("release.age < 1", Compare("age", "<", 1)),
        ("age <> -5", Compare("age", "<>", -5)),
        ("age != 5", Compare("age", "<>", 5)),
        ("pay > 1.5e3", Compare("pay", ">", 1500.0)),
        ("(gender = 'F')", Compare("gender", "=", "F")),
        ("gender = 'O''Brien'", Compare("gender", "=", "O'Brien")),
        ("gender IN ('F', 'M')", InList("gender", ("F", "M"))),
        ("gender NOT IN ('F')", InList("gender", ("F",), negated=True)),
        ("age BETWEEN 20 AND 30", Between("age", 20, 30)),
        ("age NOT BETWEEN 20 AND 30", Between("age", 20, 30, negated=True)),
        ("gender IS NULL", IsNull("gender")),
        ("gender IS NOT NULL", IsNull("gender", negated=True)),
        ("born >= '1990-05-01'", Compare("born", ">=", dt.date(1990, 5, 1))),
        ("born >= DATE '1990-05-01'", Compare("born", ">=", dt.date(1990, 5, 1))),
        ("seen = '2024-01-02 03:04:05'", Compare("seen", "=", dt.datetime(2024, 1, 2, 3, 4, 5))),  # noqa: DTZ001
        ("insured = TRUE", Compare("insured", "=", True)),
        ("\"group\" = 'a'", Compare("group", "=", "a")),
        ("\"Zip\" = 'a'", Compare("Zip", "=", "a")),
    ],
)
def test_conditions(text: str, condition: Condition) -> None:
    assert parse_where(text, COLUMNS) == AllOf((condition,))


def test_conditions_joined_by_and_keep_their_order() -> None:
    found = parse_where("age > 1 AND (gender = 'F' AND pay < 2) AND job = 'x'", COLUMNS)
    assert [getattr(part, "column", None) for part in found.parts] == [
        "age",
        "gender",
        "pay",
        "job",
    ]


def test_an_empty_condition_is_always_true() -> None:
    assert parse_where("  ", COLUMNS) == AllOf(())


def test_a_long_chain_of_and_is_read() -> None:
    text = " AND ".join(["age > 1"] * 800)
    assert len(parse_where(text, COLUMNS).parts) == 800


def test_sensitive_conditions_are_taken_out_of_the_tally() -> None:
    outline = parse_count(
        "SELECT gender, count(*) FROM release WHERE age >= 60 AND job = 'nurse' GROUP BY gender",
        COLUMNS,
    )
    plan = plan_count(outline, COLUMNS)
    assert plan.tally.where == AllOf((Compare("age", ">=", 60),))
    assert plan.tally.group_by == ("gender",)
    assert plan.tally.sensitive == "job"
    assert plan.only == Only("nurse")


@pytest.mark.parametrize("clause", ["GROUP BY ALL", "GROUP BY 1, 2", "GROUP BY job, gender"])
def test_ways_to_group(clause: str) -> None:
    outline = parse_count(f"SELECT gender, job, count(*) AS n FROM release {clause}", COLUMNS)
    plan = plan_count(outline, COLUMNS)
    assert plan.selected == ("gender", "job")
    assert plan.tally.group_by == ("gender",)
    assert plan.tally.sensitive == "job"
    assert plan.only is None


def test_missing_is_a_value_of_a_sensitive_column() -> None:
    plan = plan_count(
        parse_count("SELECT count(*) FROM release WHERE job IS NULL", COLUMNS), COLUMNS
    )
    assert plan.only == Only(None)


def test_a_table_alias_is_understood() -> None:
    outline = parse_count("SELECT r.gender, count(*) FROM release r GROUP BY r.gender", COLUMNS)
    assert outline.group_by == ("gender",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SELECT * FROM release", "counts"),
        ("SELECT age FROM release", "count"),
        ("SELECT age, count(*) FROM release", "GROUP BY"),
        ("SELECT age, gender, count(*) FROM release GROUP BY age", "gender"),
        ("SELECT count(*), count(*) FROM release", "exactly one"),
        ("SELECT count(age) FROM release", r"count\(\*\)"),
        ("SELECT count(DISTINCT age) FROM release", r"count\(\*\)"),
        ("SELECT sum(age) FROM release", "column is expected"),
        ("SELECT count(*) FROM patients", "called release"),
        ("SELECT count(*) FROM other.release", "called release"),
        ("SELECT count(*)", "no table"),
        ("SELECT count(*) FROM release, release b", "second table|table"),
        ("SELECT count(*) FROM release JOIN release b ON true", "table"),
        ("SELECT count(*) FROM (SELECT * FROM release)", "Only the table"),
        ("SELECT count(*) FROM read_csv('/etc/passwd')", "Only the table|called release"),
        ("SELECT count(*) FROM '/etc/passwd'", "called release"),
        ("WITH x AS (SELECT 1) SELECT count(*) FROM release", "WITH"),
        ("SELECT count(*) FROM release UNION SELECT count(*) FROM release", "UNION"),
        ("SELECT count(*) FROM release; SELECT 1", "2 statements"),
        ("", "no statement"),
        ("SELECT count(*) FROM release ORDER BY 1", "ORDER BY"),
        ("SELECT count(*) FROM release LIMIT 1", "LIMIT"),
        ("SELECT DISTINCT count(*) FROM release", "DISTINCT"),
        ("SELECT count(*) FROM release HAVING count(*) > 1", "HAVING"),
        ("SELECT count(*) FROM release TABLESAMPLE 10 PERCENT", "not supported"),
        ("DROP TABLE release", "DROP"),
        ("ATTACH 'x.db'", "not supported|not readable"),
        ("COPY release TO 'x'", "not supported|not readable"),
        ("SELECT count(*) FROM release WHERE age > 1 OR age < 0", "not supported yet"),
        ("SELECT count(*) FROM release WHERE NOT age = 1", "not supported yet"),
        ("SELECT count(*) FROM release WHERE age + 1 = 2", "column is expected"),
        ("SELECT count(*) FROM release WHERE age = pay", "constant is expected"),
        ("SELECT count(*) FROM release WHERE lower(gender) = 'f'", "column is expected"),
        ("SELECT count(*) FROM release WHERE age IN (SELECT 1)", "not supported"),
        ("SELECT count(*) FROM release WHERE gender = NULL", "IS NULL"),
        ("SELECT count(*) FROM release WHERE gender = female", "single quotes"),
        ('SELECT count(*) FROM release WHERE gender = "F"', "single quotes"),
        ("SELECT count(*) FROM release WHERE gender = 1", "text values"),
        ("SELECT count(*) FROM release WHERE age = 'x'", "number values"),
        ("SELECT count(*) FROM release WHERE insured = 1", "true/false"),
        ("SELECT count(*) FROM release WHERE born = 'yesterday'", "2024-12-31"),
        ("SELECT count(*) FROM release WHERE agee = 1", "Did you mean 'age'"),
        ("SELECT count(*) FROM release WHERE ZIP = 'a'", "double quotes"),
        ("SELECT count(*) FROM release WHERE x.age = 1", "no table 'x'"),
        ("SELECT count(*) FROM release GROUP BY 7", "points outside"),
        ("SELECT count(*) FROM release GROUP BY age // 10", "column is expected"),
        ("SELECT count(*) FROM release WHERE job <> 'nurse'", "sensitive"),
        ("SELECT count(*) FROM release WHERE job IN ('a', 'b')", "sensitive"),
        ("SELECT count(*) FROM release WHERE job = 'a' AND job = 'b'", "two values"),
        ("SELECT count(*) FROM release WHERE job = 'a' AND illness = 'b'", "2 sensitive"),
        ("SELECT job, count(*) FROM release WHERE illness = 'b' GROUP BY job", "2 sensitive"),
        ("SELECT count(*) FROM release WHERE age = " + "(" * 9_000 + "1" + ")" * 9_000, "."),
        ("SELECT count(*) FROM release WHERE gender = '" + "x" * 30_000 + "'", "20,000"),
        ("SELECT count(*) FROM release WHERE gender = 'open", "not readable"),
    ],
)
def test_what_is_refused(text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        plan_count(parse_count(text, COLUMNS), COLUMNS)


@pytest.mark.parametrize("inject", ["1 = 1; DROP TABLE release", "true) OR (true", "age = 1 --"])
def test_a_bare_condition_cannot_break_out(inject: str) -> None:
    try:
        found = parse_where(inject, COLUMNS)
    except QueryError:
        return
    assert found == AllOf((Compare("age", "=", 1),))
