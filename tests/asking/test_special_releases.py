"""Columns together and noised releases through every way of asking, here and in databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app
from countveil.errors import QueryError

ROWS = 4_000
JOBS = [f"job {n}" for n in range(8)]
GRADES = list(range(6))


def workers() -> pa.Table:
    rng = np.random.default_rng(2)
    job = rng.choice(8, ROWS, p=np.arange(8, 0, -1) / 36)
    grade = np.where(rng.random(ROWS) < 0.5, job % 6, rng.integers(0, 6, ROWS))
    return pa.table({
        "town": np.where(rng.random(ROWS) < 0.3 + 0.05 * job, "here", "there").tolist(),
        "years": rng.integers(1, 9, ROWS).tolist(),
        "job": [JOBS[n] for n in job],
        "grade": grade.tolist(),
    })  # fmt: skip


WAYS: dict[str, dict[str, Any]] = {
    "together": {"together": True},
    "noised": {"odds": 30, "domain": {"job": JOBS, "grade": GRADES}},
    "noised, random": {
        "odds": 30, "domain": {"job": JOBS, "grade": GRADES}, "groups": "random",
    },
}  # fmt: skip
QUERIES = [
    "SELECT job, count(*) FROM release WHERE town = 'here' GROUP BY job",
    "SELECT job, grade, count(*) FROM release WHERE town = 'here' GROUP BY ALL",
    "SELECT town, count(*) FROM release WHERE job = 'job 1' OR grade > 3 GROUP BY town",
    "SELECT town, sum(years) AS a, avg(grade) AS b FROM release WHERE job = 'job 0' GROUP BY 1",
    "SELECT count(*) FROM release WHERE job = 'job 1' AND grade = 1",
]  # fmt: skip
CONDITIONS = [
    "town = 'here' AND job = 'job 1'", "job = 'job 1' AND grade = 1", "grade IN (1, 2)",
    "town = 'there' AND (job = 'job 2' OR grade = 3)", "town = 'here' OR grade = 3", "years > 3",
]  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    to = tmp_path_factory.mktemp("special") / "release"
    return cv.publish(workers(), {"job": 3, "grade": 3}, to, seed=1, **WAYS[request.param])


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb", "postgresql"])
def test_a_database_gives_the_answers_of_the_folder(
    place: str, release: cv.Release, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = f"duckdb:{tmp_path}/r.duckdb#release"
    if place == "postgresql":
        address = f"{request.getfixturevalue('postgres')}#special {tmp_path.name}"
    cv.export(release.folder, address)
    inside = cv.open(address)
    assert inside.manifest == release.manifest
    for query in QUERIES:
        for method in ("shrunk", "unbiased"):
            ours, theirs = (r.sql(query, method=method) for r in (release, inside))
            one, two = (sorted(map(tuple, a.rows()), key=repr) for a in (ours, theirs))
            assert len(one) == len(two) > 0
            for row, other in zip(one, two, strict=True):
                assert list(other) == [
                    pytest.approx(v, rel=1e-9) if isinstance(v, float) else v for v in row
                ]


@pytest.mark.few(1)
def test_many_counts_at_once_are_those_of_each(release: cv.Release) -> None:
    for method in ("shrunk", "unbiased"):
        together = release.counts(CONDITIONS, method=method).estimates
        for cell, condition in zip(together, CONDITIONS, strict=True):
            alone = release.count(condition, method=method)
            assert cell.estimate == pytest.approx(alone.estimate)
            assert cell.std_error == pytest.approx(alone.std_error)


@pytest.mark.few(2)
@pytest.mark.parametrize("columns", [("job", "grade"), ("town", "job"), ("years // 4", "grade")])
def test_a_crosstab_has_the_cells_of_its_query(
    columns: tuple[str, str], release: cv.Release
) -> None:
    matrix = release.crosstab(*columns, where="town = 'here'", method="unbiased")
    listed = ", ".join(columns)
    query = f"SELECT {listed}, count(*) FROM release WHERE town = 'here' GROUP BY 1, 2"
    answer = release.sql(query, method="unbiased")
    for group, cell in zip(answer.groups, answer.estimates, strict=True):
        assert matrix.cell(*group) == cell
    assert str(matrix)
    assert matrix.plot()


@pytest.mark.few(9)
@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"query": "SELECT job, count(*) FROM release WHERE grade = 'x' GROUP BY job"}, "number"),
        ({"query": "SELECT count(*) FROM release WHERE job = grade"}, "compared with each other"),
        ({"query": "SELECT count(*) FROM release WHERE jobb = 'job 1'"}, "There is no column"),
        ({"query": "SELECT sum(job) FROM release"}, "job"),
        (
            {"query": "SELECT sum(grade) FROM release WHERE job = 'job 1'", "method": "bayes"},
            "counts of single values",
        ),
        (
            {
                "query": "SELECT count(*) FROM release WHERE job = 'job 1' AND grade = 1",
                "method": "bayes",
                "channel": "printed",
            },
            "use channel 'exact'",
        ),
    ],
)
def test_wrong_questions_get_a_sentence(
    ask: dict[str, Any], message: str, release: cv.Release
) -> None:
    with pytest.raises(QueryError, match=message):
        release.sql(**ask)


def test_a_value_that_no_row_publishes_is_noted(release: cv.Release) -> None:
    with pytest.warns(UserWarning, match="Did you mean 'job 1'"):
        answer = release.sql("SELECT count(*) FROM release WHERE job = 'job 11' AND grade = 1")
    assert "Did you mean 'job 1'" in " ".join(answer.warnings)
    cell = answer.estimates[0]
    assert cell.verdict == "hidden"
    assert float(cell.low or 0) == 0 < float(cell.high or 0)


@pytest.mark.slow
def test_the_commands_answer(release: cv.Release, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(app, [*words])
        assert done.exit_code == 0, done.output
        return done.stdout

    place = str(release.folder)
    for query in QUERIES:
        rows = json.loads(run("query", place, query, "--format", "json"))
        assert len(rows) == len(release.sql(query).groups)
    single = "SELECT job, count(*) FROM release WHERE town = 'here' GROUP BY job"
    run("query", place, single, "--method", "bayes")
    assert "WITH tally" in run("sql", place, single, "--dialect", "sqlite")
    run("export", place, "--to", f"sqlite:{tmp_path}/r.sqlite#release")
