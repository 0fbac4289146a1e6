"""A data file that is not what was written never becomes part of a release."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.local.output_formats import rewrite
from countveil.errors import TargetError, UnconfirmedError
from countveil.release import draft
from countveil.release.draft import WrittenFile
from countveil.release.formats import stata_spss
from countveil.release.formats.data_files import OUTPUT_FORMATS, STATISTICAL
from countveil.release.formats.read_back import check_dataset, check_rows
from countveil.release.formats.stata_spss import StoredLabels
from countveil.system import files

ROWS = 200
TABLE = pa.table({"n": list(range(ROWS)), "job": ["abcdefgh"[n % 8] for n in range(ROWS)]})


@pytest.mark.parametrize("name", OUTPUT_FORMATS)
def test_rows_that_are_missing_are_noticed(tmp_path: Path, name: str) -> None:
    pq.write_table(TABLE, tmp_path / "part-00000.parquet")
    given = [WrittenFile(tmp_path / "part-00000.parquet", ROWS)]
    (file,) = rewrite(given, name, None)
    content = file.path.read_bytes()

    def check(table: Any) -> None:
        program = STATISTICAL.get(file.path.suffix[1:])
        if program is None:
            check_rows(file.path, table.num_rows, TABLE.schema)
        else:
            check_dataset(file.path, table, program, StoredLabels())

    check(TABLE)
    with pytest.raises(OSError, match="cannot be read back"):
        check(TABLE.slice(1))
    # The end is lost, as by a write that failed without a word.
    file.path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(OSError, match="cannot be read back"):
        check(TABLE)


@pytest.mark.parametrize("name", ["stata", "spss"])
def test_a_write_that_a_library_loses_is_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    written = stata_spss._blank_time

    def cut(path: Path, program: str) -> None:
        written(path, program)
        path.write_bytes(path.read_bytes()[:-20])

    monkeypatch.setattr(stata_spss, "_blank_time", cut)
    with pytest.raises(TargetError, match="cannot be read back"):
        publish(tmp_path / "release", output_format=name)
    assert list(tmp_path.iterdir()) == []


def publish(target: Path, **options: Any) -> None:
    cv.publish(TABLE, {"job": 2}, target, keep="n", record=False, **options)


def refuse(*_: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_a_release_is_in_place_although_its_folder_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = files.sync_folder
    monkeypatch.setattr(draft, "sync_folder", lambda f: refuse() if f == tmp_path else whole(f))
    with pytest.raises(UnconfirmedError, match=r"is in place and complete, but .*Input/output"):
        publish(tmp_path / "release")
    assert cv.verify(tmp_path / "release") == []


def test_a_release_that_was_taken_away_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take_away(folder: Path) -> None:
        if folder == tmp_path:
            shutil.rmtree(folder)

    monkeypatch.setattr(draft, "sync_folder", take_away)
    with pytest.raises(TargetError, match=r"not at .* any more"):
        publish(tmp_path / "release")


def test_data_are_on_the_disk_before_the_release_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(draft, "sync_path", lambda path: synced.append(path.name))
    publish(tmp_path / "release", rows_per_file=150)
    assert synced == ["part-00000.parquet", "part-00001.parquet"]
