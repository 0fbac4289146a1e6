"""Data files hold rows and nothing about them; their checksums cover every byte."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.release.manifest import file_sha256


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_checksum_covers_all_bytes(size: int, tmp_path: Path) -> None:
    path = tmp_path / "data"
    content = bytearray(size)
    path.write_bytes(content)
    before = file_sha256(path)
    assert before == hashlib.sha256(content).hexdigest()
    for place in {0, size // 2, size - 1} & set(range(size)):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert file_sha256(path) != before, f"a change of byte {place} goes unnoticed"


@pytest.mark.parametrize("rows_per_file", [None, 200])
def test_no_statistics_of_values_are_written(rows_per_file: int | None, tmp_path: Path) -> None:
    """The smallest and the largest value of a part of the rows are more than the rows say."""
    folder = tmp_path / "release"
    table = cv.generate(500, seed=2)
    cv.publish(table, {"occupation": 5}, folder, rows_per_file=rows_per_file, record=False)
    files = sorted((folder / "data").iterdir())
    assert len(files) == (1 if rows_per_file is None else 3)
    for path in files:
        metadata = pq.ParquetFile(path).metadata
        for group in range(metadata.num_row_groups):
            for place in range(metadata.num_columns):
                column = metadata.row_group(group).column(place)
                assert column.statistics is None, f"{column.path_in_schema} has statistics"
                assert not column.has_offset_index


def test_all_files_have_one_time(tmp_path: Path) -> None:
    """Their own times would reveal in which order they were written, and how long it took."""
    folder = tmp_path / "release"
    cv.publish(cv.generate(300, seed=2), {"occupation": 5}, folder, rows_per_file=100, record=False)
    times = {path.stat().st_mtime_ns for path in (folder, *folder.rglob("*"))}
    assert len(times) == 1, "the times of files reveal in which order they were written"
    assert times.pop() % 10**9 == 0
