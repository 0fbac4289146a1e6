"""What an answer costs beside the bare count, and beside the paper's way of counting.

`make bench`. A release of the made-up census, with occupation at ell 5. The references run in the
same process, question by question, so that a busy machine hits all alike:

- DuckDB: the same count (or GROUP BY) of what is published, on a table in its memory; no estimate.
- The paper's way: the table in SQLite without an index, and for each query one count per state, (P
  and s), (P and not s), (not P and s), (neither), before its iteration, which is not measured. For
  the batch it is extrapolated from --paper queries.

The batch is the paper's pool: random conjunctions of equalities and ranges over the plain columns,
each with every occupation. Ratios carry over to other machines, times do not. Prints Markdown, as
kept in RESULTS.md, and writes it to --to.
"""

from __future__ import annotations

import argparse
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import countveil as cv
from countveil.asking.questions.counting import DEFAULT_METHOD
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import Tallies, Total, make_estimator
from countveil.maths.estimate.totals import ALWAYS
from countveil.randomness import Randomness, Stream

PLAIN = ("age", "gender", "education", "marital", "race", "workclass", "country", "salary")
IMPORTS = "import duckdb, pyarrow"


class Draw:
    """Random questions about a table."""

    def __init__(self, table: pa.Table, seed: int) -> None:
        self._stream: Stream = Randomness(seed).stream("questions")
        values: dict[str, list[Any]] = {
            name: table[name].unique().to_pylist() for name in (*PLAIN, "occupation")
        }
        self._values = {name: sorted(values[name]) for name in PLAIN}
        self.occupations: list[str] = sorted(values["occupation"])

    def one_of(self, values: Sequence[Any]) -> Any:
        """Any of these."""
        return values[int(self._stream.choose(1, len(values))[0])]

    def predicate(self) -> str:
        """A conjunction of one to three plain columns."""
        columns = self._stream.choose(self.one_of((1, 2, 3)), len(PLAIN)).tolist()
        return " AND ".join(self._comparison(PLAIN[column]) for column in columns)

    def different(self, most: int) -> list[str]:
        """So many predicates, or as many different ones as come up."""
        found: dict[str, None] = {}
        for _ in range(20 * most):
            found[self.predicate()] = None
            if len(found) == most:
                break
        return list(found)

    def _comparison(self, name: str) -> str:
        value = self.one_of(self._values[name])
        if not isinstance(value, int):
            return f"{name} = '{value}'"
        if self.one_of((True, False)):
            return f"{name} = {value}"
        return f"{name} BETWEEN {value} AND {value + self.one_of((4, 9, 19))}"


class Paper:
    """Counts in SQLite, state by state."""

    def __init__(self, table: pa.Table) -> None:
        self._connection = sqlite3.connect(":memory:")
        names = ", ".join(table.column_names)
        self._connection.execute(f"CREATE TABLE t ({names})")
        marks = ", ".join("?" for _ in table.column_names)
        rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
        self._connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)

    def states(self, predicate: str, occupation: str) -> list[int]:
        """The published counts of the four states."""
        p, s = f"({predicate})", f"(occupation = '{occupation}')"
        states = [f"{p} AND {s}", f"{p} AND NOT {s}", f"NOT {p} AND {s}", f"NOT {p} AND NOT {s}"]
        text = "SELECT count(*) FROM t WHERE "
        return [self._connection.execute(text + state).fetchone()[0] for state in states]


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def medians(works: Sequence[Callable[[], Any]], times: int) -> list[float]:
    """The works take turns."""
    rounds = [[timed(work) for work in works] for _ in range(times)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def single_counts(
    release: cv.Release, database: duckdb.DuckDBPyConnection, paper: Paper, draw: Draw, n: int
) -> Iterator[str]:
    """One count at a time, every one different."""
    asked = [(predicate, draw.one_of(draw.occupations)) for predicate in draw.different(n)]
    ours: list[float] = []
    as_sql: list[float] = []
    bare: list[float] = []
    states: list[float] = []
    for number, (p, s) in enumerate(asked):
        text = f"SELECT count(*) FROM {{}} WHERE {p} AND occupation = '{s}'"
        ours.append(timed(lambda p=p, s=s: release.count(p, occupation=s)))  # type: ignore[misc]
        as_sql.append(timed(lambda t=text: release.sql(t.format("release"))))  # type: ignore[misc]
        bare.append(timed(lambda t=text: database.execute(t.format("t")).fetchall()))  # type: ignore[misc]
        if number % max(1, n // 50) == 0:
            states.append(timed(lambda p=p, s=s: paper.states(p, s)))  # type: ignore[misc]
    duck, sqlite = statistics.median(bare), statistics.median(states)
    yield f"| the paper's way, one query | {sqlite * 1e3:,.2f} ms | {sqlite / duck:,.2f} | 1.0 |"
    yield f"| DuckDB, bare count | {duck * 1e3:.2f} ms | 1.00 | {sqlite / duck:,.1f} |"
    for name, times in (("release.count", ours), ("release.sql", as_sql)):
        took = statistics.median(times)
        ratios = f"{took / duck:.2f} | {sqlite / took:,.1f}"
        yield f"| {name}, median of {len(asked):,} different | {took * 1e3:.2f} ms | {ratios} |"


def batches(
    folder: Path, paper: Paper, draw: Draw, n: int, measured: int, method: str
) -> Iterator[str]:
    """Many counts at once, from a release that was just opened."""
    values = draw.occupations
    pool = [(p, s) for p in draw.different(max(1, n // len(values))) for s in values][:n]
    sampled = [draw.one_of(pool) for _ in range(measured)]
    sqlite = statistics.fmean(timed(lambda p=p, s=s: paper.states(p, s)) for p, s in sampled)  # type: ignore[misc]
    each = [(p, draw.one_of(values)) for p in draw.different(n)]
    yield f"| the paper's way, from {measured} queries | {sqlite * len(pool):,.0f} s | 1 |"
    for name, asked in (("every occupation", pool), ("all predicates different", each)):
        texts = [f"{p} AND occupation = '{s}'" for p, s in asked]
        release = cv.open(folder)
        for when in ("just opened", "again"):
            took = timed(lambda r=release, t=texts: r.counts(t, method=method).to_arrow())  # type: ignore[misc]
            label = f"release.counts, {len(asked):,}, {name}, {when}"
            yield f"| {label} | {took:.3f} s | {sqlite * len(asked) / took:,.0f} |"


def crosstabs(release: cv.Release, database: duckdb.DuckDBPyConnection, n: int) -> Iterator[str]:
    """Two columns against each other."""
    where = "age BETWEEN 20 AND 69"
    text = f"SELECT age, occupation, count(*) FROM t WHERE {where} GROUP BY 1, 2"
    bare, ours, table = medians(
        [
            lambda: database.sql(text).to_arrow_table(),
            lambda: release.crosstab("age", "occupation", where),
            lambda: release.crosstab("age", "occupation", where).to_arrow(),
        ],
        n,
    )
    cells = len(release.crosstab("age", "occupation", where).answer)
    yield f"| DuckDB, bare GROUP BY | {bare * 1e3:.1f} ms | 1.00 |"
    yield f"| release.crosstab, {cells:,} cells | {ours * 1e3:.1f} ms | {ours / bare:.2f} |"
    yield f"| the same, as an Arrow table | {table * 1e3:.1f} ms | {table / bare:.2f} |"


def commands(folder: Path, n: int) -> Iterator[str]:
    """`countveil query` as a process."""
    command = Path(sys.executable).with_name("countveil")
    sql = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"

    def run(*words: str | Path) -> Callable[[], Any]:
        return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603

    works = [run(sys.executable, "-c", IMPORTS), run(command, "query", folder, sql)]
    works.append(run(command, "query", folder, sql, "--format", "json"))
    start, table, json = medians(works, n)
    yield f"| python -c '{IMPORTS}' | {start:.3f} s | 1.00 |"
    yield f"| countveil query, a table | {table:.3f} s | {table / start:.2f} |"
    yield f"| countveil query --format json | {json:.3f} s | {json / start:.2f} |"


def estimation(n: int) -> Iterator[str]:
    """From tallies to estimates with intervals, one predicate at a time: no table is read."""
    rng = np.random.default_rng(1)

    def view(values: int, ell: int) -> ChannelView:
        shares = 1 / np.arange(5, values + 5)
        counts = np.floor(500_000 * shares / shares.sum()).astype(np.int64)
        counts[0] += 500_000 - counts.sum()
        return view_of_release(counts, 500_000, ell, "mixed")

    for name, views in (
        ("50 values", [view(50, 5)]),
        ("700 values", [view(700, 5)]),
        ("two columns, 50 x 10 values", [view(50, 5), view(10, 3)]),
    ):
        sizes = [v.published.size for v in views]
        y = rng.poisson(5_000 / np.prod(sizes), (1, *sizes)).astype(np.float64)
        tallies = Tallies(
            np.zeros((1, 0), bool), y[None, :, None], np.zeros(0), views, [True] * len(views)
        )
        total = Total(tallies, np.full(sizes, ALWAYS), None)

        def estimate(method: str, tallies: Tallies = tallies, total: Total = total) -> Any:
            estimator = make_estimator(method, "exact", 0.95)
            return estimator.total(tallies, total, is_count=True)

        unbiased, shrunk = medians([partial(estimate, "unbiased"), partial(estimate, "shrunk")], n)
        yield f"| {name} | {unbiased * 1e3:.2f} ms | {shrunk * 1e3:.2f} ms |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--paper", type=int, default=50, help="queries measured in SQLite")
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--method", default=DEFAULT_METHOD, help="of the batch")
    parser.add_argument("--to", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        lines = list(report(Path(place), options))
    if options.to:
        options.to.write_text("\n".join(lines) + "\n")


def report(place: Path, options: argparse.Namespace) -> Iterator[str]:
    """The tables, line by line, printed as they come."""
    census = cv.generate(options.rows, seed=1)
    assert census is not None
    release = cv.publish(census, {"occupation": 5}, place / "large", seed=1)
    few = cv.generate(2_000, seed=1)
    cv.publish(few, {"occupation": 5}, place / "small", seed=1)
    database = duckdb.connect()
    database.execute(f"CREATE TABLE t AS SELECT * FROM '{place}/large/data/*.parquet'")
    published = database.sql("SELECT * FROM t").to_arrow_table()
    paper, draw = Paper(published), Draw(published, 7)
    about = f"{options.rows:,} rows, Python {platform.python_version()}, NumPy {np.__version__}, "
    tables: list[tuple[str, Iterator[str]]] = [
        (
            "| one count | time | over DuckDB | times faster than the paper |\n|---|---|---|---|",
            single_counts(release, database, paper, draw, options.queries),
        ),
        (
            "| batch | time | times faster |\n|---|---|---|",
            batches(place / "large", paper, draw, options.batch, options.paper, options.method),
        ),
        (
            "| cross-tab | time | over DuckDB |\n|---|---|---|",
            crosstabs(release, database, options.times),
        ),
        (
            "| estimation alone, all values of a predicate | unbiased | shrunk |\n|---|---|---|",
            estimation(20 * options.times),
        ),
        (
            "| command, 2,000 rows | time | over the imports |\n|---|---|---|",
            commands(place / "small", options.times),
        ),
    ]
    yield shown(about + f"DuckDB {duckdb.__version__}, SQLite {sqlite3.sqlite_version}")
    for head, lines in tables:
        yield shown("\n" + head)
        for line in lines:
            yield shown(line)


def shown(line: str) -> str:
    """Printed at once, for the whole takes minutes."""
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()
