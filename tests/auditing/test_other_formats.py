"""Releases that are not Parquet are attacked like those that are."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

import countveil as cv
from countveil.engines.local.release_files import everything_in, file_notes
from countveil.release.formats.data_files import ENDINGS, OUTPUT_FORMATS, content_beside_rows
from countveil.release.formats.stata_spss import write_dataset

CANARY = "canary0123456789abcdef"
FORMATS = [name for name in OUTPUT_FORMATS if name != "parquet"]


@pytest.fixture(scope="module")
def census() -> pa.Table:
    table = cv.generate(1_500, seed=8)
    return table.append_column("person", [[f"{CANARY}-{row:05d}" for row in range(1_500)]])


@pytest.mark.slow
@pytest.mark.parametrize("wished", FORMATS)
def test_a_sound_release_passes(census: pa.Table, wished: str, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    release = cv.publish(
        census, {"occupation": 5}, folder, drop="person", output_format=wished, rows_per_file=900
    )
    found = cv.audit(
        census, {"occupation": 5}, drop="person", release=folder,
        attacks=["reconstruction", "implementation"],
    )  # fmt: skip
    # Fewer than 100 tests in all runs of this one: a false alarm once in 10^7 times.
    assert [f.attack for f in found.findings if f.p_value is not None and f.p_value < 1e-9] == []
    assert found.rows == release.rows
    names = {finding.attack for finding in found.findings}
    assert {"statistics and metadata of the files", "find planted canaries"} <= names
    sizes = [f for f in found.findings if f.attack == "size of the stored column"]
    whole = sum(file.bytes for file in release.manifest.files)
    assert [f.measured for f in sizes] == [8 * whole / release.rows]


@pytest.mark.few(1)
@pytest.mark.parametrize("wished", FORMATS)
def test_the_values_of_a_dropped_column_would_be_found(
    census: pa.Table, wished: str, tmp_path: Path
) -> None:
    folder = tmp_path / "release"
    cv.publish(census, {"occupation": 5}, folder, keep="person", output_format=wished)
    assert f"{CANARY}-00700".encode() in everything_in(folder)


def labelled(kind: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        frame = pl.DataFrame({"n": [1.0, 2.0]})
        options: dict[str, dict[str, Any]] = {
            "label of the file": {"file_label": "census of 1900"},
            "labels of columns": {"column_labels": {"n": "number"}},
            "labels of values": {"variable_value_labels": {"n": {1: "one"}}},
            "time of writing": {},
        }
        own: Any = pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav
        own(frame, path, **options[kind])

    return write


def arrow(path: Path, schema: Any) -> None:
    with pa.ipc.new_file(path, schema) as writer:
        writer.write_table(pa.table([pa.array([1, 2])], schema=schema))


@pytest.mark.few(2)
@pytest.mark.parametrize("ending", ["dta", "sav"])
@pytest.mark.parametrize(
    "kind", ["label of the file", "labels of columns", "labels of values", "time of writing"]
)
def test_what_statistical_files_tell_is_seen(ending: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"part-00000.{ending}"
    labelled(kind)(path)
    assert kind in content_beside_rows(path)
    write_dataset(pa.table({"n": [1, 2]}), path, {"dta": "stata", "sav": "spss"}[ending])
    assert content_beside_rows(path) == []


def test_what_other_files_tell_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.arrow"
    arrow(path, pa.schema([("n", pa.int64())]))
    assert content_beside_rows(path) == []
    arrow(path, pa.schema([pa.field("n", pa.int64(), metadata={"note": CANARY})]))
    assert content_beside_rows(path) == ["n: note"]
    arrow(path, pa.schema([("n", pa.int64())], metadata={"host": CANARY}))
    assert content_beside_rows(path) == ["host"]
    packed = tmp_path / "part-00000.csv.gz"
    packed.write_bytes(gzip.compress(b'"n"\n"1"\n', mtime=0))
    assert content_beside_rows(packed) == []
    packed.write_bytes(gzip.compress(b'"n"\n"1"\n', mtime=1_700_000_000))
    assert content_beside_rows(packed) == ["head of the gzip file"]
    named = tmp_path / "named.csv.gz"
    named.write_bytes(b"\x1f\x8b\x08\x08" + struct.pack("<IBB", 0, 0, 255) + CANARY.encode())
    assert content_beside_rows(named) == ["head of the gzip file"]


def test_metadata_of_other_formats_reach_the_findings(census: pa.Table, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    cv.publish(census, {"occupation": 5}, folder, drop="person", output_format="stata")
    file = f"data/part-00000.{ENDINGS['stata']}"
    assert file_notes(folder, [file], ["occupation"], ["occupation"]).metadata == []
    labelled("label of the file")(folder / file)
    notes = file_notes(folder, [file], ["occupation"], ["occupation"])
    assert notes.metadata == ["label of the file", "time of writing"]
