"""What the command takes before it does anything: beside the bare imports of what it needs.

    python -m benchmarks.starts [--times 15]

`countveil --version` beside Python itself with the modules of the standard library that the command
imports; a first `countveil query` beside Python with DuckDB, NumPy, pyarrow and sqlglot. CPU
seconds of whole processes, the least of some turns, taken in turns. Prints Markdown, as kept in
RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import countveil as cv
from benchmarks.speed import describe_machine, installed_command, run

_STANDARD = "import atexit, contextlib, enum, io, os, pathlib, re, signal, typing"
_LIBRARIES = f"{_STANDARD}, dataclasses, json, duckdb, numpy, pyarrow, sqlglot"
_QUERY = "SELECT count(*) FROM release WHERE occupation = 'nurse' AND age > 40"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="countveil-starts-") as folder:
        release = Path(folder) / "release"
        table = Path(folder) / "census.parquet"
        cv.generate(20_000, table, seed=1)
        cv.publish(table, {"occupation": 5}, release, seed=1, record=False)
        works: dict[str, list[str | Path]] = {
            "Python with the standard library's": [sys.executable, "-c", _STANDARD],
            "countveil --version": [installed_command(), "--version"],
            "Python with DuckDB, NumPy, pyarrow, sqlglot": [sys.executable, "-c", _LIBRARIES],
            "countveil query": [installed_command(), "query", release, _QUERY],
        }
        turns = [
            {name: run(words).cpu for name, words in works.items()} for _ in range(options.times)
        ]
    least = {name: min(turn[name] for turn in turns) for name in works}
    print(describe_machine())
    print("\n| what | CPU seconds | over the line before |\n|---|---|---|")
    names = list(works)
    for number, name in enumerate(names):
        ratio = f"{least[name] / least[names[number - 1]]:.2f}" if number % 2 else "-"
        print(f"| {name} | {least[name]:.3f} | {ratio} |")


if __name__ == "__main__":
    main()
