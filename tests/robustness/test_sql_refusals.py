"""SQL that is hostile, or merely unsupported: one sentence, exit code 1, at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused, names_in, run, unchanged

WHERE = "SELECT count(*) FROM release WHERE "
HUGE = "9" * 60

REFUSED: dict[str, str] = {
    # not one SELECT
    "nothing": "",
    "a blank": "   ",
    "a semicolon": ";",
    "a comment": "/* SELECT count(*) FROM release */",
    "an open comment": "/* SELECT count(*) FROM release",
    "prose": "how many nurses are there",
    "two statements": "SELECT count(*) FROM release; SELECT count(*) FROM release",
    "a hidden second statement": "SELECT count(*) FROM release;/**/DROP TABLE release",
    "a null character": "SELECT\x00count(*) FROM release",
    "full-width letters": "\uff33\uff25LECT count(*) FROM release",
    "a template": "{% raw %} SELECT {{ x }}",
    # other statements
    "attach": "ATTACH '/etc/passwd' AS x",
    "copy": "COPY release TO '/tmp/stolen.csv'",
    "export": "EXPORT DATABASE '/tmp/stolen'",
    "pragma": "PRAGMA database_list",
    "set": "SET enable_external_access = true",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "call": "CALL pragma_version()",
    "explain": "EXPLAIN SELECT count(*) FROM release",
    "execute": "EXECUTE x",
    "prepare": "PREPARE x AS SELECT 1",
    "drop": "DROP TABLE release",
    "delete": "DELETE FROM release",
    "insert": "INSERT INTO release VALUES (1)",
    "update": "UPDATE release SET row = 1",
    "create": "CREATE TABLE x AS SELECT * FROM release",
    "describe": "DESCRIBE people",
    "describe a file": "DESCRIBE '/etc/passwd'",
    "pivot": "PIVOT release ON sex",
    "values": "VALUES (1)",
    # other tables
    "no table": "SELECT count(*)",
    "unknown table": "SELECT count(*) FROM people",
    "schema": "SELECT count(*) FROM main.release",
    "system table": "SELECT count(*) FROM information_schema.tables",
    "a file as a table": "SELECT count(*) FROM '/etc/passwd'",
    "a function as a table": "SELECT count(*) FROM read_csv('/etc/passwd')",
    "subquery as a table": "SELECT count(*) FROM (SELECT * FROM people)",
    "cte": "WITH x AS (SELECT * FROM people) SELECT count(*) FROM x",
    "recursion": "WITH RECURSIVE x AS (SELECT 1 UNION ALL FROM x) SELECT count(*) FROM x",
    "union": "SELECT count(*) FROM release UNION ALL SELECT count(*) FROM release",
    "join": "SELECT count(*) FROM release JOIN release AS r USING (row)",
    "comma join": "SELECT count(*) FROM release, release AS r",
    "sample": "SELECT count(*) FROM release TABLESAMPLE 10%",
    # other selections
    "star": "SELECT * FROM release",
    "table star": "SELECT release.* FROM release",
    "column": "SELECT row FROM release",
    "column without group by": "SELECT sex, count(*) FROM release",
    "two counts": "SELECT count(*), count(*) FROM release",
    "count distinct": "SELECT count(DISTINCT job) FROM release",
    "count with an exclusion": "SELECT count(* EXCLUDE (row)) FROM release",
    "arithmetic": "SELECT count(*) % 3 FROM release",
    "arithmetic on text": "SELECT count(*) + sex FROM release GROUP BY sex",
    "division by zero": "SELECT count(*) / 0 FROM release",
    "window": "SELECT count(*) OVER () FROM release",
    "environment": "SELECT getenv('HOME'), count(*) FROM release GROUP BY 1",
    "group by position outside": "SELECT sex, count(*) FROM release GROUP BY 7",
    "minimum": "SELECT min(row) FROM release WHERE job = 'nurse'",
    "count of nothing": "SELECT count() FROM release",
    "minimum of nothing": "SELECT min() FROM release",
    "floor of nothing": WHERE + "floor() = 1",
    "indexed brackets": WHERE + "row" + "[1]" * 300 + " = 1",
    "a cube": "SELECT count(*) FROM release GROUP BY CUBE (" + "row, " * 39 + "sex)",
    "sum of counts": "SELECT sum(count(*)) FROM release",
    "count of a sum": "SELECT count(sum(row)) FROM release",
    "group by a count": "SELECT count(*) FROM release GROUP BY count(*)",
    "order by chance": "SELECT sex, count(*) FROM release GROUP BY sex ORDER BY random()",
    "negative limit": "SELECT count(*) FROM release LIMIT -1",
    "limit as a share": "SELECT count(*) FROM release LIMIT 10%",
    "limit by a subquery": "SELECT count(*) FROM release LIMIT (SELECT 1)",
    "distinct": "SELECT DISTINCT ON (sex) count(*) FROM release",
    "distinct combinations": "SELECT DISTINCT job, row FROM release",
    "cube": "SELECT sex, count(*) FROM release GROUP BY CUBE ("
    + ", ".join(f"row + {n}" for n in range(20)) + ")",
    # other conditions
    "null comparison": WHERE + "sex = NULL",
    "null in a list": WHERE + "sex IN ('F', NULL)",
    "regular expression": WHERE + "regexp_matches(sex, '(')",
    "large regular expression": WHERE + "regexp_matches(sex, '(a{1000}){1000}')",
    "regular expression on the protected column": WHERE + "regexp_matches(job, '(')",
    "subquery as a value": WHERE + "row = (SELECT max(row) FROM people)",
    "subquery about the protected column": WHERE
    + "row = (SELECT count(*) FROM release WHERE job = 'nurse')",
    "in a subquery": WHERE + "row IN (SELECT 1)",
    "exists": WHERE + "EXISTS (SELECT 1)",
    "count in a condition": WHERE + "count(*) > 1",
    "very long text": WHERE + "repeat(sex, 1000000000) = 'x'",
    "a number as a condition": WHERE + "1",
    "two columns": WHERE + "row = sex",
    "a parameter": WHERE + "row = ?",
    "a named parameter": WHERE + "row = $x",
    "a table that nobody handed in": "SELECT count(*) FROM release JOIN t USING (sex)",
    "unknown column": WHERE + "ssex = 'F'",
    "column of another table": WHERE + "people.row = 1",
    "text in double quotes": WHERE + 'sex = "F"',
    "text for a number": WHERE + "row = 'one'",
    "number for a text": WHERE + "sex = 1",
    "truth for a number": WHERE + "row = true",
    "a quote left open": WHERE + "sex = 'F",
    "too many quotes": WHERE + "sex = ''F''",
    "a name left open": WHERE + '"sex = 1',
    "half a character": WHERE + "sex = '\udcff'",
    # on the protected column
    "protected larger": WHERE + "job > 5",
    "protected as a number": WHERE + "job = 5",
    # large and deep
    "very long": "SELECT count(*) FROM release WHERE sex = '" + "x" * 30_000 + "'",
    "many parentheses": WHERE + "(" * 2_000 + "row = 1" + ")" * 2_000,
    "many nots": WHERE + "NOT " * 3_000 + "row = 1",
    "many signs": WHERE + "row = " + "- " * 3_000 + "1",
    "many sums": WHERE + "row = " + "+".join("1" * 4_000),
    "many dots": WHERE + ".".join("a" * 3_000) + " = 1",
    "many casts": WHERE + "row" + "::int" * 3_000 + " = 1",
    "many brackets": WHERE + "row" + "[1]" * 3_000 + " = 1",
    "many cases": WHERE + "CASE WHEN " * 500 + "true" + " THEN 1 END" * 500,
    "many functions": "SELECT " + "f(" * 2_000 + "row" + ")" * 2_000 + ", count(*) FROM release",
    "many subqueries": "SELECT count(*) FROM " + "(SELECT * FROM " * 400 + "release" + ")" * 400,
}  # fmt: skip


@pytest.mark.few(30)
@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_one_sentence(quick: Quick, published: Path, sql: str) -> None:
    outcome = quick("query", published, sql)
    assert_refused(outcome)
    assert "verify" not in outcome.err, "the release is blamed for the question"
    assert len(outcome.err) < 500
    assert outcome.seconds < 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copy", "explain", "many sums"])
def test_refused_by_the_real_command(published: Path, tmp_path: Path, name: str) -> None:
    with unchanged(published.parent):
        outcome = run("query", published, REFUSED[name], cwd=tmp_path)
    assert_refused(outcome, "supported" if name in ("copy", "explain") else "")
    assert names_in(tmp_path) == []


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (f"row = {HUGE}", 0.0),
        (f"row > -{HUGE}", 80.0),
        (f"row IN (1, {HUGE})", 1.0),
        (f"row BETWEEN -{HUGE} AND {HUGE}", 80.0),
        ("row % 0 = 1", 0.0),
        ("row / 0 = 1", 0.0),
        (f"substr(sex, {HUGE}, 1) = 'F'", 0.0),
        ("round(row, 99999999999) = 1", 1.0),
    ],
)
def test_numbers_beyond_what_can_be_computed(
    quick: Quick, published: Path, condition: str, rows: float
) -> None:
    outcome = quick("query", published, WHERE + condition, "--format", "csv")
    assert outcome.code == 0, outcome
    assert outcome.out.splitlines()[1].startswith(f"{rows},")


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        (f"row < {'9' * 5000}", "not readable"),
        ("row < 1e400", "not readable"),
        ("row * 9223372036854775807 > 1", "too large"),
    ],
)
def test_numbers_that_are_too_large_are_refused(
    quick: Quick, published: Path, condition: str, says: str
) -> None:
    outcome = quick("query", published, WHERE + condition)
    assert_refused(outcome, says)
    assert "verify" not in outcome.err, "the release is blamed for the question"


@pytest.mark.parametrize(
    "option",
    [("--level", "0"), ("--level", "1"), ("--level", "nan"), ("--within", "0"), ("--within", "-1"),
     ("--within", "nan"), ("--channel", "printed")],
)  # fmt: skip
def test_impossible_options(quick: Quick, published: Path, option: tuple[str, str]) -> None:
    words = ("query", published, "SELECT job, count(*) FROM release GROUP BY job")
    assert_refused(quick(*words, *option), option[0].strip("-"))


@pytest.mark.parametrize("option", [("--level", "x"), ("--format", "xml"), ("--method", "magic")])
def test_wrong_usage(quick: Quick, published: Path, option: tuple[str, str]) -> None:
    outcome = quick("query", published, "SELECT count(*) FROM release", *option)
    assert outcome.code == 2
    assert option[0] in outcome.err


ALLOWED: dict[str, str] = {
    "a semicolon at the end": "SELECT count(*) FROM release;",
    "a comment at the end": "SELECT count(*) FROM release -- all of them",
    "lower case": "select COUNT( * ) from RELEASE",
    "an alias": "SELECT count(*) AS n FROM release AS r WHERE r.row >= 0",
    "parentheses": "SELECT count(*) FROM release WHERE ((((row >= 0))))",
    "many ors": "SELECT count(*) FROM release WHERE " + " OR ".join(["row >= 0"] * 1_000),
    "many ands": "SELECT count(*) FROM release WHERE " + " AND ".join(["row >= 0"] * 1_000),
    "a long list": "SELECT count(*) FROM release WHERE row IN (" + ",".join(
        map(str, range(3_000))) + ")",
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("sql", ALLOWED.values(), ids=ALLOWED.keys())
def test_harmless_variations_are_answered(quick: Quick, published: Path, sql: str) -> None:
    outcome = quick("query", published, sql, "--format", "csv")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[1] == "80.0,0.0,80.0,80.0,reliable"
