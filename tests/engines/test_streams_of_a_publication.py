"""What one publication draws: columns, spans and buckets have streams of their own.

Rows are known by a number that is published too. False-alarm rate of every test: at most 1e-6.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import countveil as cv
from countveil.engines.local import publish_rows
from countveil.tables.readers import blocks
from tests.statistical.bounds import FALSE_ALARM, binomial_two_sided, bonferroni, follows

Codes = NDArray[np.int64]

ROWS, ELL = 8_000, 4
TRUE = np.arange(ROWS) % ELL


def published(folder: Path, *columns: str) -> tuple[pa.Table, Codes]:
    """The rows in the order of the table, and in which bucket each is: a row group is a bucket."""
    names = [f"value {code}" for code in range(ELL)]
    column = pa.array([names[code] for code in TRUE])
    table = pa.table({"row": range(ROWS), **dict.fromkeys(columns, column)})
    cv.publish(
        table, dict.fromkeys(columns, ELL), folder, keep=["row", *columns], record=False
    )  # fmt: skip
    parts, bucket = [], []
    for path in sorted((folder / "data").iterdir()):
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            parts.append(file.read_row_group(group))
            bucket += [len(parts) - 1] * parts[-1].num_rows
    together = pa.concat_tables(parts)
    order = np.argsort(together["row"].to_numpy())
    return together.take(pa.array(order)), np.array(bucket)[order]


def codes_of(table: pa.Table, name: str) -> Codes:
    return np.array([int(str(text).removeprefix("value ")) for text in table[name].to_pylist()])


@pytest.fixture
def small_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four spans of 2,000 rows, and sixteen buckets."""
    monkeypatch.setattr(blocks, "LEAST_SPAN", 2_000)
    monkeypatch.setattr(blocks, "SPANS", 4)
    monkeypatch.setattr(publish_rows, "BUCKET_ROWS", 500)
    monkeypatch.setattr(publish_rows, "_LEAST_BUCKET_ROWS", 500)


def test_columns_with_the_same_values_are_drawn_apart(tmp_path: Path) -> None:
    """Four values that fill all groups: each of 16 pairs has a chance of 1/16.

    If both columns drew from one stream, the two would be equal in every row, and a fourth of the
    people would publish the truth twice in place of a sixteenth.
    """
    table, _ = published(tmp_path / "release", "one", "two")
    one, two = codes_of(table, "one"), codes_of(table, "two")
    cells = [np.bincount((ELL * one + two)[value == TRUE], minlength=16) for value in range(ELL)]
    chance = bonferroni(follows(cell, np.full(16, 1 / 16)) for cell in cells)
    assert chance > FALSE_ALARM, "what one column publishes tells about the other"


@pytest.mark.usefixtures("small_spans")
def test_spans_are_spread_apart(tmp_path: Path) -> None:
    """Two rows at the same place of two spans meet in a bucket once in sixteen times.

    If spans drew from one stream, they always would: who finds one of them finds the others.
    """
    _, bucket = published(tmp_path / "release", "one")
    by_span = bucket.reshape(4, 2_000)
    assert len(set(bucket.tolist())) == 16
    same = int((by_span[0] == by_span[1]).sum() + (by_span[2] == by_span[3]).sum())
    chance = binomial_two_sided(same, 4_000, 1 / 16)
    assert chance > FALSE_ALARM, "two spans are shuffled by the same numbers"


@pytest.mark.usefixtures("small_spans")
def test_a_bucket_has_rows_of_every_part_of_the_table(tmp_path: Path) -> None:
    """Each of sixteen buckets has about a sixteenth of every span."""
    _, bucket = published(tmp_path / "release", "one")
    counts = [np.bincount(some, minlength=16) for some in bucket.reshape(4, 2_000)]
    chance = bonferroni(follows(each, np.full(16, 1 / 16)) for each in counts)
    assert chance > FALSE_ALARM, "rows stay near their place in the table"


def test_rows_are_not_in_the_order_of_the_table(tmp_path: Path) -> None:
    """In a random order every second neighbour has a larger number."""
    folder = tmp_path / "release"
    published(folder, "one")
    numbers = pq.read_table(folder / "data")["row"].to_numpy()
    rising = int((np.diff(numbers) == 1).sum())
    # Of 8,000 rows about one is followed by the next of the table.
    assert rising < 15, f"{rising} rows are followed by their neighbour in the table"
    assert np.abs(np.corrcoef(np.arange(ROWS), numbers)[0, 1]) < 5 / np.sqrt(ROWS)


@pytest.mark.usefixtures("small_spans")
def test_a_seed_gives_the_same_files_on_one_core_and_on_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a core is free, a bucket is put in order while the one before it is written."""
    table = pa.table({"row": range(ROWS), "a": [f"value {code}" for code in TRUE]})
    files = []
    for cores in (1, 4):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, n=cores: range(n), raising=False)
        folder = tmp_path / str(cores)
        cv.publish(table, {"a": ELL}, folder, keep=["row"], seed=1, record=False)
        (path,) = (folder / "data").iterdir()
        assert pq.ParquetFile(path).num_row_groups > 10
        files.append(path.read_bytes())
    assert files[0] == files[1]
