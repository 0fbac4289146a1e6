"""Every format keeps every type exactly, or refuses it; a release works alike in all of them."""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.engines.contract import WrittenFile
from countveil.engines.embedded.output import rewrite
from countveil.engines.embedded.released import released_rows
from countveil.errors import ReleaseError, SettingsError
from countveil.release import PublishedColumn
from countveil.release.data_files import OUTPUT_FORMATS, check_kept, read_rows
from tests.strategies import examples

FORMATS = [name for name in OUTPUT_FORMATS if name != "parquet"]
QUESTION = "SELECT gender, occupation, count(*) FROM release WHERE age > 30 GROUP BY ALL"


def whole(kind: Any) -> st.SearchStrategy[int]:
    bits, signed = kind.bit_width, str(kind).startswith("int")
    return st.integers(-(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1)


INTEGERS = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(),
    pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
]  # fmt: skip
TIMES = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001 - zoneless
VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    *((kind, whole(kind)) for kind in INTEGERS),
    (pa.bool_(), st.booleans()),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.string(), st.text(st.characters(codec="utf-8"), max_size=12)),
    (pa.string(), st.sampled_from(["", "NULL", "NA", '"', 'a"b', "a,b", "a\nb", "a\r\nb", " x "])),
    (pa.large_string(), st.sampled_from(["", "true", "1", "2020-01-01", "nan"])),
    (pa.date32(), st.dates()),
    (pa.timestamp("s"), TIMES.map(lambda t: t.replace(microsecond=0))),
    (pa.timestamp("ms"), TIMES.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
    (pa.timestamp("us"), TIMES),
    (pa.timestamp("ns"), TIMES),
]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 12))
    columns = {}
    for place in range(draw(st.integers(1, 4))):
        kind, values = draw(st.sampled_from(VALUES))
        listed = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        columns[draw(st.sampled_from(["a", 'b"', "c,d", "é\n"])) + str(place)] = pa.array(
            listed, kind
        )
    return pa.table(columns)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


@examples(120)
@given(table=tables(), wished=st.sampled_from(OUTPUT_FORMATS), size=st.none() | st.integers(1, 5))
def test_every_type_comes_back_exactly(table: pa.Table, wished: str, size: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part-00000.parquet"
        pq.write_table(table, path)
        # Parquet itself has no times in whole seconds.
        table = pq.read_table(path)
        columns = [PublishedColumn(f.name, str(f.type), "plain") for f in table.schema]
        check_kept([(column.name, column.type) for column in columns], wished)
        done = rewrite([WrittenFile(path, table.num_rows)], wished, size)
        parts = [
            pq.read_table(file.path) if wished == "parquet" else read_rows(file.path, columns)
            for file in done
        ]
        assert {p.name for p in Path(folder).iterdir()} == {file.path.name for file in done}
    assert [file.rows for file in done] == [part.num_rows for part in parts]
    assert all(file.rows == size for file in done[:-1]) or size is None
    found = pa.concat_tables(parts)
    assert [(f.name, f.type) for f in found.schema] == [(f.name, f.type) for f in table.schema]
    for name in table.column_names:
        pairs = zip(table[name].to_pylist(), found[name].to_pylist(), strict=True)
        assert all(same(*pair) for pair in pairs), name


@pytest.mark.parametrize("wished", OUTPUT_FORMATS)
def test_a_release_works_in_every_format(wished: str, tmp_path: Path) -> None:
    table = cv.generate(3_000, seed=1)
    plain = cv.publish(table, {"occupation": 5}, tmp_path / "plain", seed=1)
    other = cv.publish(
        table, {"occupation": 5}, tmp_path / "other", seed=1, output_format=wished,
        rows_per_file=1_100, private_report=tmp_path / "own.html",
    )  # fmt: skip
    assert [file.rows for file in other.manifest.files] == [1_100, 1_100, 800]
    assert all(file.path.endswith(f".{wished}") for file in other.manifest.files)
    assert cv.verify(other.folder) == []
    stored = [
        pa.concat_tables(released_rows(release.folder, release.manifest)).to_pylist()
        for release in (plain, other)
    ]
    assert stored[0] == stored[1]
    for _ in range(6):
        # From the files, and later from memory.
        assert list(other.sql(QUESTION).rows()) == list(plain.sql(QUESTION).rows())
    cv.export(other.folder, f"duckdb:{tmp_path}/own.duckdb#own")
    assert cv.open(f"duckdb:{tmp_path}/own.duckdb#own").rows == 3_000


@pytest.mark.parametrize("wished", FORMATS)
def test_nothing_but_rows_is_told(wished: str, tmp_path: Path) -> None:
    table = cv.generate(500, seed=1)
    names = [tmp_path / name for name in ("one", "two")]
    for folder in names:
        cv.publish(table, {"occupation": 5}, folder, seed=1, output_format=wished)
    one, two = ((folder / "data" / f"part-00000.{wished}").read_bytes() for folder in names)
    assert one == two, "a time or a place is in the file"
    if wished == "csv.gz":
        # Flags: no name; then a time of zero.
        assert one[3:8] == bytes(5)
    if wished == "arrow":
        with pa.ipc.open_file(names[0] / "data" / "part-00000.arrow") as reader:
            assert reader.schema.metadata is None
            assert all(field.metadata is None for field in reader.schema)


@pytest.mark.parametrize("wished", FORMATS)
def test_damage_is_found(wished: str, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    release = cv.publish(
        cv.generate(500, seed=1), {"occupation": 5}, folder, seed=1, output_format=wished
    )
    file = folder / release.manifest.files[0].path
    file.write_bytes(file.read_bytes()[:-100])
    assert "truncated" in cv.verify(folder)[0].problem
    file.write_bytes(b"no such thing")
    with pytest.raises(ReleaseError, match="cannot be read"):
        cv.open(folder).count("age > 30", occupation="nurse")


def test_what_a_csv_would_change_is_refused(tmp_path: Path) -> None:
    rows = {
        "price": pa.array([Decimal("1.10")] * 60, pa.decimal128(9, 2)),
        "s": list("abcdef") * 10,
    }
    for wished in ("csv", "csv.gz"):
        with pytest.raises(SettingsError, match="would not keep exactly"):
            cv.publish(pa.table(rows), {"s": 2}, tmp_path / "r", keep="price", output_format=wished)
    assert not (tmp_path / "r").exists()
    cv.publish(pa.table(rows), {"s": 2}, tmp_path / "r", keep="price", output_format="arrow")
    assert cv.verify(tmp_path / "r") == []
    with pytest.raises(SettingsError, match="no output format 'xls'"):
        cv.publish(pa.table(rows), {"s": 2}, tmp_path / "x", keep="price", output_format="xls")
    with pytest.raises(SettingsError, match="at least one row"):
        cv.publish(pa.table(rows), {"s": 2}, tmp_path / "x", keep="price", rows_per_file=0)
