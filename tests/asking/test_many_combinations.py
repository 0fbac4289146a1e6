"""Columns together with more combinations than can be cells: what is asked is counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.local import release_table
from countveil.errors import QueryError
from countveil.sql.query import plan

# Values that nobody publishes are asked for on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The release has no row with:UserWarning")

ROWS = 6_000


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    a = rng.choice(30, ROWS, p=np.arange(30, 0, -1) / 465)
    b = np.where(rng.random(ROWS) < 0.5, a, rng.integers(0, 30, ROWS))
    c = np.where(rng.random(ROWS) < 0.5, b, rng.integers(0, 30, ROWS))
    return pa.table({
        "town": np.where(rng.random(ROWS) < 0.4, "x", "y").tolist(),
        "years": rng.integers(1, 9, ROWS).tolist(),
        "a": [f"a{n}" for n in a],
        "b": [f"b{n}" for n in b],
        "c": c.tolist(),
        "colour": rng.choice(["red", "green", "blue", "white"], ROWS).tolist(),
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    to = tmp_path_factory.mktemp("many") / "release"
    ells = {"a": 3, "b": 3, "c": 3, "colour": 2}
    return cv.publish(people(), ells, to, together=["a", "b", "c"], seed=1)


@pytest.fixture
def few_cells(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on 27,000 combinations are too many."""

    def limit() -> None:
        monkeypatch.setattr(plan, "MOST_CELLS", 1_000)

    return limit


QUERIES = [
    "SELECT count(*) FROM release WHERE a = 'a2' AND b = 'b2' AND c = 2",
    "SELECT count(*) FROM release WHERE town = 'x' AND a = 'a2' AND b = 'b2' AND c = 2",
    "SELECT town, count(*) FROM release WHERE a IN ('a1', 'a2') AND (b = 'b2' OR c > 9) GROUP BY 1",
    "SELECT a, count(*) FROM release WHERE town = 'x' AND b = 'b2' AND c < 9 GROUP BY a",
    "SELECT c, a, count(*) FROM release WHERE town = 'x' AND b IN ('b2', 'b3') GROUP BY ALL",
    "SELECT a, b, c, count(*) FROM release WHERE town = 'x' GROUP BY ALL",
    "SELECT town, c, b, a, count(*) FROM release GROUP BY ALL",
    "SELECT avg(years) FROM release WHERE a = 'a2' AND b = 'b2' AND c = 2",
    "SELECT a, sum(years) FROM release WHERE town = 'x' AND b = 'b2' AND c = 2 GROUP BY a",
    "SELECT avg(c) FROM release WHERE a = 'a2' AND b = 'b2'",
    "SELECT count(*) FILTER (WHERE c = 2) / count(*) FROM release WHERE a = 'a2' AND b = 'b2'",
    "SELECT a, count(*) FROM release WHERE b = 'b2' AND c <> 2 GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
    "SELECT count(*) FROM release WHERE a = 'nobody' AND b = 'b2' AND c = 2",
    "SELECT colour, count(*) FROM release WHERE a = 'a2' AND b = 'b2' AND c = 2 GROUP BY colour",
    "SELECT count(*) FROM release WHERE a = 'a2' AND b = 'b2' AND (c = 2 OR colour = 'red')",
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.slow
def test_the_unbiased_answer_does_not_depend_on_it(
    query: str, release: cv.Release, few_cells: Callable[[], None]
) -> None:
    whole = release.sql(query, method="unbiased")
    few_cells()
    asked = cv.open(release.folder).sql(query, method="unbiased")
    rows, others = (dict(_rows(answer)) for answer in (whole, asked))
    assert rows.keys() == others.keys()
    # Colours that nobody asks about are one value then, which is nearly as good for errors.
    nearly = 1e-3 if "colour =" in query else 1e-7
    for key, cell in rows.items():
        pairs = list(zip(_numbers(cell), _numbers(others[key]), strict=True))
        # The interval of a sum is taken from shrunk counts too, which learn from what is asked.
        for one, two in pairs[: 2 if "sum(" in query else 4]:
            assert one == pytest.approx(two, rel=nearly, abs=1e-5)


def _rows(answer: Any) -> Any:
    return zip(map(tuple, answer.groups), answer.estimates, strict=True)


def _numbers(cell: cv.Estimate) -> list[float | None]:
    return [cell.estimate, cell.std_error, cell.low, cell.high]


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["shrunk", "unbiased", "bayes"])
def test_every_combination_that_occurs_is_listed_once(
    method: str, release: cv.Release, few_cells: Callable[[], None]
) -> None:
    few_cells()
    query = "SELECT a, b, c, count(*) FROM release WHERE town = 'x' GROUP BY ALL"
    answer = cv.open(release.folder).sql(query, method=method)
    data = pq.read_table(release.folder / "data").to_pylist()
    assert len(answer.groups) == len(set(map(tuple, answer.groups)))
    assert set(map(tuple, answer.groups)) == {(r["a"], r["b"], r["c"]) for r in data}
    rows = sum(row["town"] == "x" for row in data)
    if method != "bayes":
        total = sum(cell.estimate or 0.0 for cell in answer.estimates)
        assert total == pytest.approx(rows, rel=0.02 if method == "shrunk" else 1e-9)


@pytest.mark.slow
def test_shrunk_estimates_of_all_combinations_are_those_of_the_grid(
    release: cv.Release, few_cells: Callable[[], None]
) -> None:
    query = "SELECT a, b, c, count(*) FROM release WHERE town = 'x' GROUP BY ALL"
    grid = dict(_rows(release.sql(query)))
    few_cells()
    listed = dict(_rows(cv.open(release.folder).sql(query)))
    assert grid.keys() == listed.keys()
    for key, cell in listed.items():
        assert cell.estimate == pytest.approx(grid[key].estimate, rel=1e-6, abs=1e-6)


def test_shrunk_counts_of_one_combination_are_near_the_truth(
    release: cv.Release, few_cells: Callable[[], None]
) -> None:
    """Six standard errors: a false alarm with probability below 1e-8."""
    few_cells()
    truth = sum(
        (r["town"], r["a"], r["b"], r["c"]) == ("x", "a2", "b2", 2) for r in people().to_pylist()
    )
    cell = cv.open(release.folder).count("town = 'x' AND a = 'a2'", b="b2", c=2)
    assert abs(float(cell.estimate or 0) - truth) < 6 * float(cell.std_error or 0)
    assert float(cell.low or 0) <= float(cell.estimate or 0) <= float(cell.high or 0)


@pytest.mark.slow
def test_many_counts_in_memory_are_those_of_the_files(
    release: cv.Release, few_cells: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    few_cells()
    conditions = [
        f"town = 'x' AND a = 'a{n}' AND b IN ('b{n}', 'b2') AND c >= {n}" for n in range(9)
    ]
    in_memory = cv.open(release.folder).counts(conditions, method="unbiased").estimates
    monkeypatch.setattr(release_table, "FROM_FILES", 10**9)
    for condition, cell in zip(conditions, in_memory, strict=True):
        alone = cv.open(release.folder).count(condition, method="unbiased")
        assert _numbers(cell) == pytest.approx(_numbers(alone))


def test_what_is_still_too_much_is_refused(
    release: cv.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plan, "MOST_CELLS", 20)
    monkeypatch.setattr(plan, "MOST_OCCURRING", 50)
    with pytest.raises(QueryError, match=r"30 \(a\) x 30 \(b\) x 30 \(c\).*of which .* at most 50"):
        release.sql("SELECT a, b, c, count(*) FROM release GROUP BY ALL")
    with pytest.raises(QueryError, match="at most 20 are evaluated"):
        release.sql("SELECT a, count(*) FROM release WHERE b = 'b2' AND c = 2 GROUP BY a")
    apart = cv.publish(people(), {"a": 3, "b": 3}, tmp_path / "apart", seed=1)
    with pytest.raises(QueryError, match="900 are asked about; at most 20"):
        apart.sql("SELECT a, b, count(*) FROM release GROUP BY ALL")
