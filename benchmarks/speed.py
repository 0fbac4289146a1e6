"""What publishing costs beside copying the same file.

`make bench` (5 million rows, and 500,000 from CSV) and `make bench-large` (50 million). Every
measurement is a process of its own, and the references run right beside it: DuckDB copying Parquet
to Parquet (`copy`), and DuckDB writing the rows in random order (`shuffle`). Ratios carry over to
other machines, seconds do not. Prints Markdown, as kept in RESULTS.md, and writes it to --to.

`--spill` adds a publication in as little memory as is allowed. From 17 million rows of this table
on, the packed rows exceed their share of it and go through the disk; the megabytes written, beside
those of an ordinary publication, show that they did.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

COPY = """
import duckdb, sys
source, target, order = sys.argv[1:]
connection = duckdb.connect()
connection.execute("SET preserve_insertion_order = false")
connection.execute(f"SET temp_directory = '{target}.tmp'")
connection.execute(f"COPY (SELECT * FROM '{source}' {order}) TO '{target}' "
                   "(FORMAT parquet, COMPRESSION zstd)")
"""
MECHANISM = """
import sys, time
import numpy as np, pyarrow.parquet as pq
from concurrent.futures import ThreadPoolExecutor
from countveil.maths.groups import mixed_groups
from countveil.maths.mechanism import Dealer, draw_published
from countveil.randomness import Randomness
file = pq.ParquetFile(sys.argv[1], read_dictionary=["occupation"])
column = file.read(columns=["occupation"], use_threads=False).unify_dictionaries()["occupation"]
codes = np.concatenate([c.indices.to_numpy().astype(np.uint8) for c in column.chunks])
blocks = np.array_split(codes, max(1, codes.size >> 20))
counts = np.bincount(codes)
begun, spent = time.perf_counter(), time.process_time()
groups = mixed_groups(counts, 5, Randomness().stream("groups"))
drawn = draw_published(groups, Randomness().stream("draw"))
dealer = Dealer(drawn, Randomness().stream("deal"))
with ThreadPoolExecutor(2) as pool:
    list(pool.map(lambda work: work[0].deal(work[1]),
                  ((dealer.reserve(dealer.count(block)), block) for block in blocks)))
print(time.perf_counter() - begun, time.process_time() - spent)
"""

_LEAST_MEMORY = "300MB"


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu: float
    megabytes: float
    written: float = 0.0

    def over(self, other: Cost) -> str:
        """Both ratios of time in words."""
        return f"{self.seconds / other.seconds:.2f} ({self.cpu / other.cpu:.2f})"


def run(words: Sequence[str | Path]) -> Cost:
    """Run a process to its end; its peak memory is the kernel's count."""
    # As installed packages are: modules are compiled once, in the first turn.
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        [str(word) for word in words], stdout=subprocess.DEVNULL, env=kept
    )
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, words[:3]
    seconds = time.perf_counter() - begun
    cpu, written = used.ru_utime + used.ru_stime, used.ru_oublock / 2048
    return Cost(seconds, cpu, used.ru_maxrss / 1024, written)


def best(times: int, *works: Callable[[int], Cost]) -> list[Cost]:
    """The fastest of some turns; the works take turns, so that a busy machine hits all alike."""
    rounds = [[work(turn) for work in works] for turn in range(times)]
    return [min(costs, key=lambda cost: cost.seconds) for costs in zip(*rounds, strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--csv-rows", type=int, default=500_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--spill", action="store_true", help="publish through the disk as well")
    parser.add_argument("--no-shuffle", action="store_true", help="leave DuckDB's shuffle out")
    parser.add_argument("--folder", type=Path, help="where the tables are kept between runs")
    parser.add_argument("--to", type=Path, help="a file for the result")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="countveil-bench-") as temporary:
        place = options.folder or Path(temporary)
        place.mkdir(exist_ok=True)
        lines = [describe_machine(), ""]
        lines.append("| what | seconds | CPU seconds | MB | over copy (by CPU) |")
        lines.append("|---|---|---|---|---|")
        lines += parquet(place, options)
        if options.csv_rows:
            lines += csv(place, options.csv_rows, options.times)
    print("\n".join(lines))
    if options.to:
        options.to.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _publishing(source: Path, place: Path) -> list[str | Path]:
    """The command, which replaces the release of the turn before."""
    words = ("publish", source, "-s", "occupation:5", "--force", "--again")
    return [installed_command(), *words, "--to", place / "release"]


def parquet(place: Path, options: argparse.Namespace) -> list[str]:
    """Parquet to Parquet."""
    rows, memory = options.rows, options.memory
    source = _table(place, rows, "parquet")
    name = f"{rows:,} rows"

    def publish(*more: str) -> Callable[[int], Cost]:
        return lambda _turn: run([*_publishing(source, place), *more])

    copied, published, bounded = best(
        options.times,
        lambda _turn: run([sys.executable, "-c", COPY, source, place / "copy.parquet", ""]),
        publish(),
        publish("--memory", memory),
    )
    words = [sys.executable, "-c", MECHANISM, str(source)]
    answer = subprocess.run(words, capture_output=True, check=True, text=True).stdout  # noqa: S603
    seconds, cpu = map(float, answer.split())
    mechanism = Cost(seconds, cpu, 0)
    lines = [
        _line(f"DuckDB copy, {name}", copied, copied),
        _line(f"countveil publish, {name}", published, copied),
        _line(f"countveil publish --memory {memory}, {name}", bounded, copied),
        _line(f"the mechanism alone, {name}", mechanism, copied),
    ]
    print(f"{published.seconds / rows * 1e9:.0f} ns a row")
    if options.spill:
        spilled = publish("--memory", _LEAST_MEMORY)(0)
        note = f"{spilled.written:,.0f} MB written, {published.written:,.0f} MB without spilling"
        what = f"countveil publish --memory {_LEAST_MEMORY}, {name} ({note})"
        lines.append(_line(what, spilled, copied))
    if not options.no_shuffle:
        order = "ORDER BY random()"
        shuffled = run([sys.executable, "-c", COPY, source, place / "shuffled.parquet", order])
        lines.insert(1, _line(f"DuckDB shuffle, {name}", shuffled, copied))
        print(
            f"publish over shuffle: {published.over(shuffled)} in time, "
            f"{published.megabytes / shuffled.megabytes:.2f} in memory"
        )
    return lines


def csv(place: Path, rows: int, times: int) -> list[str]:
    """CSV to Parquet, whole commands."""
    source = _table(place, rows, "csv")
    copied, published = best(
        times,
        lambda _turn: run([sys.executable, "-c", COPY, source, place / "copy.parquet", ""]),
        lambda _turn: run(_publishing(source, place)),
    )
    return [
        _line(f"DuckDB copy, {rows:,} rows of CSV", copied, copied),
        _line(f"countveil publish, {rows:,} rows of CSV", published, copied),
    ]


def _line(name: str, cost: Cost, copy: Cost) -> str:
    memory = f"{cost.megabytes:,.0f}" if cost.megabytes else "-"
    return f"| {name} | {cost.seconds:.2f} | {cost.cpu:.2f} | {memory} | {cost.over(copy)} |"


def _table(place: Path, rows: int, ending: str) -> Path:
    path = place / f"census-{rows}.{ending}"
    if not path.exists():
        run([installed_command(), "generate", "--rows", str(rows), "--seed", "1", "--to", path])
    return path


def installed_command() -> Path:
    """The command of this environment."""
    return Path(sys.executable).with_name("countveil")


def describe_machine() -> str:
    """What it was measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}; load when it began {load:.1f}"
    )


if __name__ == "__main__":
    main()
