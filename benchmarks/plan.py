"""What the driver of a cluster does between the passes, for a table of any size, without its rows.

    python -m benchmarks.plan [--rows 1000000000 10000000000] [--partitions 8000] [--values 50]
    python -m benchmarks.plan --rows 1000000000000 --partitions 200000 --sizes

The driver knows counts and nothing else: groups are formed, Y is drawn, split over the partitions
and encrypted by the code that does it for Spark and Dask, and a task finds its share. What it takes
is printed beside what `on_paper` says. With `--sizes` nothing is drawn: how many coins a draw
tosses grows with the rows, but the sizes of what is sent do not depend on how they fall, so shares
of the right spread are made up and go through the same encryption.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from countveil.engines.partitions import task_inputs
from countveil.engines.partitions.counts import MOST_COUNTS
from countveil.engines.partitions.task_inputs import TaskInputs, seal_plan
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.mechanism import PublishedTable, draw_published
from countveil.maths.mechanism.split import Shares
from countveil.randomness import Randomness, TaskKey
from countveil.tables.encoded.survey import Survey

_ELL = 5
_FILE_ROWS = 1 << 20
_KEY_BYTES = 8
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OnPaper:
    """What a plan needs, from the number of rows, partitions, values and cells of Y.

    `inputs` are the bytes for all tasks before they are compressed; `counts` those that the driver
    keeps of what tasks counted; `fits` is whether so many partitions are counted at all.
    """

    runs: int
    inputs: int
    counts: int
    fits: bool
    files: int


def on_paper(rows: int, partitions: int, values: int, cells: int) -> OnPaper:
    """The formulas of docs/guides/scale.md, for one column whose rows are spread evenly."""
    most = task_inputs.MOST_CELLS // max(1, cells)
    runs = min(partitions, task_inputs.MOST_RUNS, max(1, most))
    inputs = input_bytes(runs, cells, rows // runs, partitions, values, rows // partitions)
    fits = partitions * values <= MOST_COUNTS
    return OnPaper(runs, inputs, 8 * partitions * values, fits, -(-rows // _FILE_ROWS))


def input_bytes(
    runs: int, cells: int, most_in_run: int, partitions: int, values: int, most_in_partition: int
) -> int:
    """Counts of cells by run and of values by partition, each in the narrowest type."""
    by_run = runs * cells * _width(most_in_run)
    return by_run + partitions * values * _width(most_in_partition)


def exchanged(rows: int, row_bytes: float) -> float:
    """Bytes that move: a row, and its key."""
    return rows * (row_bytes + _KEY_BYTES)


def _width(most: int) -> int:
    """Bytes of a count of at most so many rows."""
    return int(np.min_scalar_type(most).itemsize)


def census_counts(rows: int, values: int) -> Counts:
    """Frequencies like 1 / rank."""
    shares = 1 / np.arange(values / 4, values / 4 + values)
    counts: Counts = np.floor(rows * shares / shares.sum()).astype(np.int64)
    return counts


def by_partition(counts: Counts, partitions: int) -> Counts:
    """The rows of each value in each partition, of a table in no order."""
    rng = np.random.default_rng(1)
    mean = counts / partitions
    rows = np.rint(rng.normal(mean, np.sqrt(mean), (partitions, counts.size))).astype(np.int64)
    rows = np.maximum(rows, 0)
    # Whatever is missing or too much is made up for by a few partitions each.
    for value, total in enumerate((counts - rows.sum(axis=0)).tolist()):
        step = np.full(partitions, total // partitions)
        step[: total - int(step.sum())] += 1
        rows[:, value] += step
    if np.any(rows < 0):
        raise ValueError("too few rows for so many partitions and values")
    return rows


def made_up_shares(
    table: PublishedTable, rows: Counts, most: int, _key: TaskKey
) -> Iterator[Shares]:
    """Like `share_out`, with the spread that a draw has, and without a single coin."""
    rng = np.random.default_rng(2)
    edges = np.linspace(0, len(rows), min(most, len(rows)) + 1).astype(np.int64)
    owners = np.repeat(np.arange(table.n_values), np.diff(table.indptr))
    totals = rows.sum(axis=0)
    for first, last in itertools.pairwise(edges):
        some = rows[first:last]
        share = (some.sum(axis=0) / np.maximum(1, totals))[owners]
        mean = table.counts * share
        counts = np.rint(rng.normal(mean, np.sqrt(mean * (1 - share)))).astype(np.int64)
        yield Shares(np.maximum(0, counts), some)


def expected_table(counts: Counts) -> PublishedTable:
    """Y in proportion: what `draw_published` gives of so many rows, but for the draw."""
    small = census_counts(10_000_000, counts.size)
    randomness = Randomness(1)
    groups = form_groups(small, ColumnSettings(_ELL), randomness.stream("groups"))
    drawn = draw_published(groups, randomness.stream("draw"))
    larger = counts.sum() / small.sum()
    return PublishedTable(
        drawn.indptr, drawn.values, np.rint(drawn.counts * larger).astype(np.int64)
    )


class _Laps:
    """CPU seconds between two calls, and the memory so far."""

    def __init__(self) -> None:
        self._clock = time.process_time()

    def done(self, what: str) -> None:
        now = time.process_time()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {what} | {now - self._clock:.2f} | {peak:,.0f} |", flush=True)
        self._clock = time.process_time()


def sealed(table: PublishedTable, rows: Counts, key: TaskKey, *, made_up: bool) -> dict[str, bytes]:
    """The inputs of all tasks."""
    survey = Survey("column", None, coded=True)

    def seal() -> dict[str, bytes]:
        return seal_plan(
            ["column"], {"column": survey}, {"column": table}, {"column": rows}, {}, key
        )

    if not made_up:
        return seal()
    with mock.patch.object(task_inputs, "share_out", made_up_shares):
        return seal()


def measure(rows: int, partitions: int, values: int, *, sizes: bool) -> None:
    """Print what the steps of a plan take."""
    counts = census_counts(rows, values)
    spread = by_partition(counts, partitions)
    randomness = Randomness()
    key = randomness.task_key("deal")
    print(f"\n{rows:,} rows, {partitions:,} partitions, {values:,} values")
    print("| step | CPU seconds | MB of memory, at most |\n|---|---|---|")
    laps = _Laps()
    if sizes:
        table = expected_table(counts)
    else:
        groups = form_groups(counts, ColumnSettings(_ELL), randomness.stream("groups"))
        laps.done("groups")
        table = draw_published(groups, randomness.stream("draw"))
        laps.done("draw")
    entries = sealed(table, spread, key, made_up=sizes)
    laps.done("encrypt made-up shares" if sizes else "split and encrypt")
    if not sizes:
        inputs = TaskInputs(SimpleNamespace(value=entries))
        for partition in (0, partitions // 2, partitions - 1):
            inputs.plan(key, partition)
        laps.done("three tasks find their shares")
    _print_sizes(entries, on_paper(rows, partitions, values, table.counts.size), table)


def _print_sizes(entries: dict[str, Any], paper: OnPaper, table: PublishedTable) -> None:
    sent = sum(map(len, entries.values()))
    print(
        f"Inputs of tasks: {sent / 1e6:.1f} MB in {len(entries):,} entries, "
        f"{max(map(len, entries.values())) / 1e3:.0f} kB the largest. On paper, before they are "
        f"compressed: {paper.inputs / 1e6:.1f} MB in {paper.runs} runs of {table.counts.size:,} "
        f"cells. Counts at the driver: {paper.counts / 1e6:.1f} MB. Files: {paper.files:,}."
    )


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**9, 10**10])
    parser.add_argument("--partitions", type=int, nargs="+", default=[8_000])
    parser.add_argument("--values", type=int, nargs="+", default=[50])
    parser.add_argument("--sizes", action="store_true")
    asked = parser.parse_args()
    for rows in asked.rows:
        for partitions in asked.partitions:
            for values in asked.values:
                measure(rows, partitions, values, sizes=asked.sizes)


if __name__ == "__main__":
    main()
