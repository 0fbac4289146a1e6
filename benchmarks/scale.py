"""What a row costs as tables grow, up to a billion rows on one machine.

    python -m benchmarks.scale [--rows 10000000 50000000 250000000 1000000000] [--folder DIR]

The made-up census, `-s occupation:5 --memory 1GB`, Parquet to Parquet. The largest tables are the
same files several times over: publishing does not care, and the disk need not hold them. Every
publication is a process of its own, with DuckDB's straight copy of the same files beside it. Then a
count, an average and a GROUP BY are asked of each release, first in a process that has just opened
it and then again with other constants, beside DuckDB's own answer over the published values. Prints
Markdown; time, memory and disk per row should stay level from line to line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed import Cost, describe_machine, installed_command, run

# No single table is generated with more rows.
_MOST_GENERATED = 250_000_000
_MEMORY = "1GB"
_ROWS = (10_000_000, 50_000_000, _MOST_GENERATED, 1_000_000_000)
_COPY = """
import duckdb, sys
connection = duckdb.connect()
connection.execute("SET preserve_insertion_order = false")
connection.execute(f"COPY (SELECT * FROM '{sys.argv[1]}/*.parquet') TO '{sys.argv[2]}' "
                   "(FORMAT parquet, COMPRESSION zstd)")
"""
_ASK = """
import json, resource, sys, time
import duckdb
import countveil as cv
folder = sys.argv[1]
files = f"'{folder}/data/*.parquet'"
database = duckdb.connect()
pairs = [("one count", "SELECT count(*) FROM release WHERE age = {} AND occupation = 'nurse'"),
         ("GROUP BY", "SELECT occupation, count(*) FROM release WHERE age > {} GROUP BY 1"),
         ("average", "SELECT avg(age) FROM release WHERE age > {} AND occupation = 'nurse'")]
def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
release = cv.open(folder)
for label, query in pairs:
    bare = [seconds(lambda: database.sql(query.format(age).replace("release", files)).fetchall())
            for age in (30, 31, 32)]
    ours = [seconds(lambda: release.sql(query.format(age))) for age in (30, 31, 32)]
    print(json.dumps([label, min(bare), ours[0], min(ours[1:])]), flush=True)
print(json.dumps(["memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0, 0]))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=_ROWS)
    parser.add_argument("--folder", type=Path, help="where the tables are kept between runs")
    options = parser.parse_args()
    print(describe_machine(), flush=True)
    print(
        "\n| rows | seconds | CPU seconds | over copy (by CPU) | ns a row | CPU ns a row "
        "| MB of memory | bytes a row, released | bytes a row, written meanwhile |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    answers = []
    with tempfile.TemporaryDirectory(prefix="countveil-scale-") as temporary:
        place = options.folder or Path(temporary)
        place.mkdir(exist_ok=True)
        for rows in options.rows:
            release = Path(temporary) / "release"
            print(_published(_tables(place, rows), release, rows), flush=True)
            answers += _asked(release, rows)
            shutil.rmtree(release)
    print("\n| rows | question | DuckDB over the published values, s | first, s | again, s |")
    print("|---|---|---|---|---|")
    print("\n".join(answers))


def _tables(place: Path, rows: int) -> Path:
    """A folder of files with so many rows; those of a large table are one file, linked."""
    folder = place / f"rows-{rows}"
    times = max(1, -(-rows // _MOST_GENERATED))
    if not folder.exists():
        table = place / f"census-{rows // times}.parquet"
        if not table.exists():
            words = ["generate", "--rows", str(rows // times), "--seed", "1", "--to", str(table)]
            run([installed_command(), *words])
        folder.mkdir()
        for number in range(times):
            os.link(table, folder / f"part-{number}.parquet")
    return folder


def _published(source: Path, release: Path, rows: int) -> str:
    copied = run([sys.executable, "-c", _COPY, source, release.with_name("copy.parquet")])
    release.with_name("copy.parquet").unlink()
    words = ("publish", source, "-s", "occupation:5", "--memory", _MEMORY, "--no-record")
    cost: Cost = run([installed_command(), *words, "--to", release])
    stored = sum(path.stat().st_size for path in release.rglob("*") if path.is_file())
    return (
        f"| {rows:,} | {cost.seconds:.1f} | {cost.cpu:.1f} | {cost.over(copied)} "
        f"| {cost.seconds / rows * 1e9:.0f} | {cost.cpu / rows * 1e9:.0f} "
        f"| {cost.megabytes:,.0f} | {stored / rows:.2f} | {cost.written * 2**20 / rows:.1f} |"
    )


def _asked(release: Path, rows: int) -> list[str]:
    words = [sys.executable, "-c", _ASK, str(release)]
    printed = subprocess.run(words, capture_output=True, check=True, text=True).stdout  # noqa: S603
    lines = []
    for label, *numbers in map(json.loads, printed.splitlines()):
        if label == "memory":
            lines.append(f"| {rows:,} | memory of that process: {numbers[0]:,.0f} MB | | | |")
        else:
            cells = " | ".join(f"{number:.3f}" for number in numbers)
            lines.append(f"| {rows:,} | {label} | {cells} |")
    return lines


if __name__ == "__main__":
    main()
