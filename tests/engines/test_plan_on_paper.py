"""docs/guides/scale.md says what a plan needs: its formulas, against plans that the code makes."""

from __future__ import annotations

import pickle
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.plan import (
    by_partition,
    census_counts,
    exchanged,
    expected_table,
    input_bytes,
    on_paper,
    sealed,
)
from countveil.engines.dask.exchange import FILE_ROWS, files_for
from countveil.engines.partitions import task_inputs
from countveil.engines.partitions.counts import MOST_COUNTS, MOST_VALUES
from countveil.maths.mechanism import PublishedTable
from countveil.maths.mechanism.split import Shares, owners_of
from countveil.randomness import Randomness, TaskKey

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guides/scale.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
TRILLION = 10**12
KEY = Randomness(1).task_key("deal")


def rows_of_true(table: PublishedTable) -> NDArray[np.int64]:
    """The rows of each true value in Y."""
    return np.bincount(owners_of(table), table.counts, table.n_values).astype(np.int64)


def shares_in(entries: dict[str, bytes], key: TaskKey) -> list[Shares]:
    """What the entries of all runs hold."""
    opened = []
    for name, content in entries.items():
        if name != "head":
            plain = key.seal(content, "seal", *name.split("/"))
            opened.append(pickle.loads(zlib.decompress(plain)))
    return opened


@pytest.mark.parametrize("made_up", [False, True])
@pytest.mark.parametrize(("rows", "partitions", "values"), [(10**6, 600, 20), (10**6, 40, 50)])
def test_inputs_take_as_many_bytes_as_the_formula_says(
    rows: int, partitions: int, values: int, made_up: bool
) -> None:
    counts = census_counts(rows, values)
    spread, table = by_partition(counts, partitions), expected_table(counts)
    if not made_up:
        # What a partition has is what was drawn for it.
        spread[0] += rows_of_true(table) - spread.sum(axis=0)
    shares = shares_in(sealed(table, spread, KEY, made_up=made_up), KEY)
    paper = on_paper(int(counts.sum()), partitions, values, table.counts.size)
    assert len(shares) == paper.runs == min(partitions, 512)
    taken = sum(each.counts.nbytes + each.rows.nbytes for each in shares)
    cell = max(int(each.counts.max()) for each in shares)
    value = max(int(each.rows.max()) for each in shares)
    exact = input_bytes(paper.runs, table.counts.size, cell, partitions, values, value)
    # A run whose counts are all small has narrower ones.
    assert exact / 2 <= taken <= exact <= paper.inputs


def test_made_up_shares_take_the_room_of_drawn_ones() -> None:
    """`--sizes` is for tables whose coins nobody wants to wait for."""
    counts = census_counts(2 * 10**7, 50)
    table = expected_table(counts)
    spread = by_partition(counts, 1_000)
    spread[0] += rows_of_true(table) - spread.sum(axis=0)
    drawn, made_up = (
        sum(map(len, sealed(table, spread, KEY, made_up=each).values())) for each in (False, True)
    )
    assert made_up == pytest.approx(drawn, rel=0.05)


def test_the_plan_of_a_trillion_rows_is_that_of_the_page() -> None:
    lines = re.findall(
        r"^\| ([\d,]+) \| (\d+) \| ([\d,]+) \| ([\d.]+) MB \| (\d+) \| "
        r"([\d.]+) MB \| ([\d.]+) MB \| (\d+) MB \|$",
        PAGE,
        re.MULTILINE,
    )
    assert len(lines) == 2
    for line in lines:
        partitions, values, cells = (int(text.replace(",", "")) for text in line[:3])
        paper = on_paper(TRILLION, partitions, values, cells)
        assert paper.fits
        assert line[3:6] == (
            f"{paper.counts / 1e6:.1f}", str(paper.runs), f"{paper.inputs / 1e6:.1f}",
        )  # fmt: skip
        assert float(line[6]) < paper.inputs / 1e6
        assert f"Inputs of tasks: {line[6]} MB" in RESULTS


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    assert f"P V is at most {MOST_COUNTS:,}" in PAGE
    assert f"read in at most {MOST_COUNTS // MOST_VALUES} partitions" in PAGE
    assert f"min(P, {task_inputs.MOST_RUNS}, {task_inputs.MOST_CELLS:,} / C)" in PAGE
    assert f"N / {FILE_ROWS:,}" in PAGE
    assert f"at most {MOST_COUNTS // 50:,} partitions are counted" in PAGE
    assert f"it is {MOST_COUNTS // 1_000:,}, of" in PAGE
    assert files_for(1 << 20, 32) == 1 < files_for(1 << 20, 33)
    assert not on_paper(TRILLION, MOST_COUNTS // 50 + 1, 50, 2_500).fits


def test_the_exchange_of_the_page_is_worked_out() -> None:
    files = on_paper(TRILLION, 200_000, 50, 2_500).files
    assert f"{exchanged(TRILLION, 62) / 1e12:.0f} TB, in {files:,} files" in PAGE
    ranges = 200_000 * files
    moved = exchanged(TRILLION, 62)
    assert f"{ranges:,} ranges of {moved / ranges:.0f} bytes" in PAGE
    smaller = 8_000 * on_paper(10**10, 8_000, 50, 2_500).files
    size = exchanged(10**10, 62) / smaller
    assert f"{smaller:,} ranges of {size / 1e3:.0f} kB" in PAGE


def test_what_was_measured_is_in_the_results() -> None:
    """A figure that is measured anew is changed on both pages."""
    section = PAGE[PAGE.index("## What was measured") : PAGE.index("## What a cluster needs")]
    for line in re.findall(r"^\| (?:embedded|spark|dask).*$", section, re.MULTILINE):
        rows, *figures = (cell.strip() for cell in line.split("|")[2:5])
        for figure in filter(None, figures):
            measured = [text for text in RESULTS.splitlines() if rows in text and figure in text]
            assert measured, f"{rows} rows, {figure} s"


def test_a_value_has_as_many_rows_as_all_partitions_together() -> None:
    counts = census_counts(10**7, 30)
    spread = by_partition(counts, 77)
    assert np.array_equal(spread.sum(axis=0), counts)
    assert spread.min() >= 0
