"""What questions cost on a release of many millions of rows.

`python -m benchmarks.large` (minutes). A release of the made-up census, with occupation at ell 5:
the first questions one after another, while the release is being read into memory; then averages,
and thousands of different conditions in one call. The reference is DuckDB's own GROUP BY of the
published values on the same Parquet files, in the same process. Times carry over to no other
machine; processor time is that of all threads. Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

import countveil as cv
from benchmarks.answers import Draw

AVERAGE = "SELECT avg(age) FROM release WHERE occupation = 'nurse' AND gender = 'F'"


def line(label: str, work: Callable[[], Any]) -> str:
    """How long it takes."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return f"| {label} | {wall:.3f} | {processor:.3f} |"


def questions(folder: Path, n: int) -> Iterator[str]:
    """The lines of the table."""
    database = duckdb.connect()
    files = f"'{folder}/data/*.parquet'"
    sampled = database.sql(f"SELECT * FROM {files} USING SAMPLE 1% (system, 1)").to_arrow_table()
    draw = Draw(sampled, 7)
    bare = f"SELECT occupation, count(*) FROM {files} WHERE gender = 'F' GROUP BY 1"
    database.execute(bare).fetchall()
    yield line("DuckDB, a bare GROUP BY", lambda: database.execute(bare).fetchall())
    release = cv.open(folder)
    for number, where in enumerate(draw.different(8), 1):
        label = f"release.count, question {number}"
        yield line(label, lambda w=where: release.count(w, occupation="nurse"))  # type: ignore[misc]
    texts = [f"{p} AND occupation = '{draw.one_of(draw.occupations)}'" for p in draw.different(n)]
    yield line(f"release.counts, {n:,} different", lambda: release.counts(texts))
    yield line("the same again", lambda: release.counts(texts))
    yield line("release.count afterwards", lambda: release.count("age = 40", occupation="nurse"))
    yield line("avg afterwards", lambda: release.sql(AVERAGE))
    yield line("the same again", lambda: release.sql(AVERAGE))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--conditions", type=int, default=5_000)
    parser.add_argument("--release", type=Path, help="one that is there already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.release or Path(place) / "release"
        if options.release is None:
            table = Path(place) / "census.parquet"
            cv.generate(options.rows, table, seed=1)
            cv.publish(table, {"occupation": 5}, folder, seed=1, record=False)
        print(f"{cv.open(folder).rows:,} rows\n")
        print("| question | seconds | processor seconds |\n|---|---|---|")
        for each in questions(folder, options.conditions):
            print(each, flush=True)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"\nPeak memory: {most:,} MB.")


if __name__ == "__main__":
    main()
