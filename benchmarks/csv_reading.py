"""What reading a CSV costs: our chunks beside Arrow's readers and DuckDB's.

`python -m benchmarks.csv_reading [--rows 500000] [--times 6]`. All read the made-up census to its
last cell; we and Arrow into codes, DuckDB into the smallest value of every column. Every reader is
a process of its own that reads the file once before it is measured. The least CPU time of some
turns is shown, and that of the busiest thread: at least as long does reading take on an idle
machine, whatever runs beside it now. Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.speed import describe_machine, installed_command, run

HEAD = """
import csv, os, sys, threading, time
from pathlib import Path
path, times = sys.argv[1], int(sys.argv[2])
header = tuple(next(csv.reader(open(path))))
ended = {}
def arrow(**options):
    import pyarrow as pa
    from pyarrow import csv as reader
    kinds = dict.fromkeys(header, pa.dictionary(pa.int32(), pa.string()))
    return reader.read_csv(
        path, reader.ReadOptions(use_threads=options["threads"], block_size=1 << 21),
        reader.ParseOptions(newlines_in_values=options["newlines"]),
        reader.ConvertOptions(column_types=kinds, strings_can_be_null=True, null_values=[""]))
"""
OURS = """
from countveil.tables.readers.csv import chunks
def note(*words, make=chunks._chunk, **more):
    made = make(*words, **more)
    if threading.current_thread() is not threading.main_thread():
        ended[threading.get_ident()] = time.thread_time() * 1e9
    return made
chunks._chunk = note
def read():
    for chunk in chunks.CsvFile(Path(path), header, ",", ()).{}():
        pass
"""
DUCKDB = """
import duckdb
def read():
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    least = ", ".join(f"min({name})" for name in header)
    connection.execute(f"SELECT {least} FROM '{path}'").fetchall()
"""
# Threads that ended are not listed any more; ours say themselves what they took.
TAIL = """
def spent():
    tasks = Path("/proc/self/task").iterdir()
    return {task.name: int((task / "schedstat").read_text().split()[0]) for task in tasks}
read()
costs = []
for _ in range(times):
    ended.clear()
    before, begun = spent(), time.process_time()
    read()
    whole, after = time.process_time() - begun, spent()
    busiest = max([*ended.values(), *(after[task] - before.get(task, 0) for task in after)])
    costs.append((whole, busiest / 1e9))
print(*map(min, zip(*costs)))
"""
READERS = {
    "our chunks, in threads": OURS.replace("{}()", "chunks()"),
    "our way for odd files: Arrow's stream, in order": OURS.replace("{}()", "chunks_in_order()"),
    "pyarrow.csv, the whole file, in threads": "read = lambda: arrow(threads=True, newlines=True)",
    "the same without line ends inside of quotes": "read = lambda: arrow(threads=True, newlines=0)",
    "pyarrow.csv, the whole file, one thread": "read = lambda: arrow(threads=False, newlines=True)",
    "DuckDB": DUCKDB,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--times", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="countveil-bench-") as temporary:
        path = Path(temporary) / "census.csv"
        run([installed_command(), "generate", "--rows", str(options.rows), "--to", path])
        lines = [
            describe_machine(),
            "",
            "| reader | CPU ms | busiest thread, ms |",
            "|---|---|---|",
        ]
        for name, reader in READERS.items():
            words = [sys.executable, "-c", HEAD + reader + TAIL, str(path), str(options.times)]
            done = subprocess.run(words, capture_output=True, check=True, text=True)  # noqa: S603
            whole, busiest = map(float, done.stdout.split())
            lines.append(f"| {name} | {whole * 1e3:.0f} | {busiest * 1e3:.0f} |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
