"""What publishing a table of a PostgreSQL server costs beside bare reading and writing.

    python -m benchmarks.database [--rows 500000] [--times 7] [--large-rows 2000000]

A server is started for it and thrown away. The reference is what one would write by hand: read the
table through ADBC as Arrow and write Parquet, once through its usual interface (`bare`), which
imports pandas and Polars if they are there, and once through its plain one, which does not
(`barest`). Every measurement is a process of its own, and they take turns, so that a busy machine
hits all alike; of the turns the best is taken. The CPU time is that of the process, without the
server's. `--memory` and the larger table show that memory is bounded; at last both are done in one
process, without its start. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.speed import Cost, best, describe_machine, installed_command, run
from tests.servers import running_server

BARE = """
import sys
import pyarrow.parquet as pq
from adbc_driver_postgresql import dbapi
address, table, target = sys.argv[1:]
with dbapi.connect(address) as connection, connection.cursor() as cursor:
    cursor.execute(f"SELECT * FROM {table}")
    pq.write_table(cursor.fetch_arrow_table(), target, compression="zstd")
"""
BAREST = """
import sys
import adbc_driver_manager, adbc_driver_postgresql
import pyarrow as pa
import pyarrow.parquet as pq
address, table, target = sys.argv[1:]
with (
    adbc_driver_postgresql.connect(address) as database,
    adbc_driver_manager.AdbcConnection(database) as connection,
    adbc_driver_manager.AdbcStatement(connection) as statement,
):
    statement.set_sql_query(f"SELECT * FROM {table}")
    stream, _ = statement.execute_query()
    rows = pa.RecordBatchReader.from_stream(stream).read_all()
    pq.write_table(rows, target, compression="zstd")
"""
# Both in one process that has imported everything: what the work itself costs. The second turn on
# each side counts as well as any other; the best is taken.
INSIDE = """
import sys, time
import adbc_driver_manager, adbc_driver_postgresql
import pyarrow as pa
import pyarrow.parquet as pq
import countveil as cv
address, table, place, times = sys.argv[1:]

def bare():
    with (
        adbc_driver_postgresql.connect(address) as database,
        adbc_driver_manager.AdbcConnection(database) as connection,
        adbc_driver_manager.AdbcStatement(connection) as statement,
    ):
        statement.set_sql_query(f"SELECT * FROM {table}")
        stream, _ = statement.execute_query()
        rows = pa.RecordBatchReader.from_stream(stream).read_all()
        pq.write_table(rows, f"{place}/copy.parquet", compression="zstd")

def published():
    cv.publish(f"{address}#{table}", {"occupation": 5}, f"{place}/release", force=True, again=True)

found = {bare: [], published: []}
for _ in range(int(times) + 1):
    for work, costs in found.items():
        begun, spent = time.perf_counter(), time.process_time()
        work()
        costs.append((time.perf_counter() - begun, time.process_time() - spent))
for costs in found.values():
    print(*min(costs[1:]))
"""
# Elsewhere, as the peak of a child begins with that of the process that starts it.
FILL = """
import sys
import countveil as cv
from adbc_driver_postgresql import dbapi
address, table, rows = sys.argv[1:]
with dbapi.connect(address) as connection, connection.cursor() as cursor:
    cursor.adbc_ingest(table, cv.generate(int(rows), seed=1))
    connection.commit()
    cursor.execute(f"ANALYZE {table}")
    connection.commit()
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--large-rows", type=int, default=2_000_000, help="0: leave it out")
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--memory", default="300MB")
    options = parser.parse_args()
    print(describe_machine(), "\n")
    print("| what | seconds | CPU seconds | MB | over bare (by CPU) | over barest |")
    print("|---|---|---|---|---|---|")
    with (
        running_server() as address,
        tempfile.TemporaryDirectory(prefix="countveil-bench-") as place,
    ):
        for rows, times in ((options.rows, options.times), (options.large_rows, 3)):
            if rows:
                measure(address, rows, times, options.memory, Path(place))
        if options.rows:
            inside(address, options.rows, options.times, Path(place))


def inside(address: str, rows: int, times: int, place: Path) -> None:
    """The same without the start of a process."""
    words = [sys.executable, "-c", INSIDE, address, f"people{rows}", str(place), str(times)]
    answer = subprocess.run(words, capture_output=True, check=True, text=True).stdout  # noqa: S603
    figures = [list(map(float, line.split())) for line in answer.splitlines()]
    bare, published = (Cost(seconds, cpu, 0.0) for seconds, cpu in figures)
    for name, cost in (("ADBC to Parquet, barest", bare), ("cv.publish", published)):
        print(
            f"| {name}, {rows:,} rows, inside a process | {cost.seconds:.2f} | {cost.cpu:.2f} | - "
            f"| - | {cost.over(bare)} |"
        )


def measure(address: str, rows: int, times: int, memory: str, place: Path) -> None:
    """The references and publishing, in turns."""
    table = f"people{rows}"
    run([sys.executable, "-c", FILL, address, table, str(rows)])

    def script(text: str) -> Callable[[int], Cost]:
        target = place / "copy.parquet"
        return lambda _turn: run([sys.executable, "-c", text, address, table, target])

    def publish(*more: str) -> Callable[[int], Cost]:
        words = ("publish", f"{address}#{table}", "-s", "occupation:5", "--force", "--again")
        return lambda _turn: run([installed_command(), *words, "--to", place / "release", *more])

    works = {
        "ADBC to Parquet, bare": script(BARE),
        "ADBC to Parquet, barest": script(BAREST),
        "countveil publish": publish(),
        f"countveil publish --memory {memory}": publish("--memory", memory),
        f"countveil publish --memory {memory} --where ...": publish(
            "--memory", memory, "--where", "age BETWEEN 20 AND 50"
        ),
    }
    costs = best(times, *works.values())
    for name, cost in zip(works, costs, strict=True):
        print(
            f"| {name}, {rows:,} rows | {cost.seconds:.2f} | {cost.cpu:.2f} | "
            f"{cost.megabytes:,.0f} | {cost.over(costs[0])} | {cost.over(costs[1])} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
