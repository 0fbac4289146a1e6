"""Every format keeps every type exactly, or refuses it; a release works alike in all of them."""

from __future__ import annotations

import datetime as dt
import math
import struct
import sys
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
from countveil.engines.local.output_formats import rewrite
from countveil.engines.local.release_rows import released_rows
from countveil.errors import MissingExtraError, ReleaseError, SettingsError
from countveil.release import PublishedColumn
from countveil.release.draft import WrittenFile
from countveil.release.formats.data_files import ENDINGS, OUTPUT_FORMATS, check_kept, read_rows
from countveil.release.formats.stata_spss import write_dataset
from tests.strategies import examples

FORMATS = [name for name in OUTPUT_FORMATS if name != "parquet"]
EXACT = ["parquet", "csv", "csv.gz", "arrow"]
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
@given(table=tables(), wished=st.sampled_from(EXACT), size=st.none() | st.integers(1, 5))
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


@pytest.mark.slow
@pytest.mark.parametrize("wished", OUTPUT_FORMATS)
def test_a_release_works_in_every_format(wished: str, tmp_path: Path) -> None:
    table = cv.generate(3_000, seed=1)
    plain = cv.publish(table, {"occupation": 5}, tmp_path / "plain", seed=1)
    other = cv.publish(
        table, {"occupation": 5}, tmp_path / "other", seed=1, output_format=wished,
        rows_per_file=1_100, private_report=tmp_path / "own.html",
    )  # fmt: skip
    assert [file.rows for file in other.manifest.files] == [1_100, 1_100, 800]
    assert all(file.path.endswith(f".{ENDINGS[wished]}") for file in other.manifest.files)
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


@pytest.mark.few(1)
@pytest.mark.parametrize("wished", FORMATS)
def test_nothing_but_rows_is_told(wished: str, tmp_path: Path) -> None:
    table = cv.generate(500, seed=1)
    names = [tmp_path / name for name in ("one", "two")]
    for folder in names:
        cv.publish(table, {"occupation": 5}, folder, seed=1, output_format=wished)
    one, two = (
        (folder / "data" / f"part-00000.{ENDINGS[wished]}").read_bytes() for folder in names
    )
    assert one == two, "a time or a place is in the file"
    if wished == "csv.gz":
        # Flags: no name; then a time of zero.
        assert one[3:8] == bytes(5)
    if wished == "stata":
        assert b"<timestamp>\x1101 Jan 1960 00:00</timestamp>" in one
    if wished == "spss":
        # A number that compressed files need; then a date and a time.
        assert one[84:109] == struct.pack("<d", 100.0) + b"01 Jan 7000:00:00"
    if wished in ("stata", "spss"):
        import pyreadstat

        read = pyreadstat.read_dta if wished == "stata" else pyreadstat.read_sav
        _, notes = read(names[0] / "data" / f"part-00000.{ENDINGS[wished]}")
        year = 1960 if wished == "stata" else 1970
        assert notes.creation_time == dt.datetime(year, 1, 1)  # noqa: DTZ001 - none there
        assert not notes.file_label
    if wished == "arrow":
        with pa.ipc.open_file(names[0] / "data" / "part-00000.arrow") as reader:
            assert reader.schema.metadata is None
            assert all(field.metadata is None for field in reader.schema)


@pytest.mark.few(1)
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
    with pytest.raises(ReleaseError, match="'countveil verify' says what is wrong"):
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


def counted(kind: Any, most: int) -> tuple[Any, st.SearchStrategy[Any]]:
    """A type that counts days or parts of seconds, up to so many of them."""
    return kind, st.integers(-most, most - 1)


# Half of them are such that Stata or SPSS can hold them; numbers stand for dates and times.
STATISTICAL: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.string(), st.sampled_from(["a", "b c", "é", "ü x ", "1", ".", " x", "\t", "x" * 300])),
    (pa.large_string(), st.text(st.characters(codec="utf-8"), min_size=1, max_size=3)),
    (pa.string(), st.integers(2_040, 2_050).map(lambda size: "é" + "x" * (size - 2))),
    (pa.int64(), st.integers(-(1 << 53), 1 << 53)),
    (pa.float64(), st.floats(-1e300, 1e300)),
    counted(pa.date32(), 1 << 31),
    counted(pa.date32(), 100_000),
    *(counted(pa.timestamp(unit), 1 << 63) for unit in ("s", "ms", "us", "ns")),
    counted(pa.timestamp("s"), 10**10),
    counted(pa.timestamp("ms"), 10**13),
    (pa.timestamp("us"), st.integers(-(10**13), 10**13).map(lambda ms: ms * 1_000)),
    (pa.timestamp("ns"), st.integers(-(10**12), 10**12).map(lambda ms: ms * 1_000_000)),
]
NAMES = ["c", "C", "longer_name_", "longer_name_0", "V", "x" * 31, "strL", "_x"]


@st.composite
def statistical(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 8))
    columns = {}
    for place in range(draw(st.integers(1, 4))):
        kind, values = draw(st.sampled_from(STATISTICAL) | st.sampled_from(VALUES))
        listed = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        numbered = pa.types.is_temporal(kind) and any(isinstance(value, int) for value in listed)
        start = (pa.int32() if pa.types.is_date32(kind) else pa.int64()) if numbered else kind
        name = draw(st.sampled_from(NAMES))
        columns[name if name not in columns else f"{name[:20]}{place}"] = pa.array(
            listed, start
        ).cast(kind)
    return pa.table(columns)


@examples(120)
@given(table=statistical(), program=st.sampled_from(["stata", "spss"]))
def test_statistical_programs_keep_a_value_or_refuse_it(table: pa.Table, program: str) -> None:
    columns = [PublishedColumn(f.name, str(f.type), "plain") for f in table.schema]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"part-00000.{ENDINGS[program]}"
        try:
            check_kept([(column.name, column.type) for column in columns], program)
            write_dataset(table, path, program)
        except SettingsError:
            return
        found = read_rows(path, columns)
    assert found.schema == table.schema
    assert found.equals(table)
    for column in (c for c in table.column_names if pa.types.is_floating(table[c].type)):
        # A zero has a sign.
        pairs = zip(table[column].to_pylist(), found[column].to_pylist(), strict=True)
        assert all(same(*pair) for pair in pairs), column


@pytest.mark.few(10)
@pytest.mark.parametrize("program", ["stata", "spss"])
@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array(["a", ""]), "empty text"),
        (pa.array([(1 << 53) + 1]), "beyond 2"),
        (pa.array([(1 << 64) - 1], pa.uint64()), "beyond 2"),
        (pa.array([-math.inf, None]), "infinite or NaN"),
        (pa.array([1.0, math.nan]), "infinite or NaN"),
        (pa.array([-1e308]), "8.9e307"),
        (pa.array(["x" * 40_000]), "40,000 bytes, too many"),
        (pa.array(["a\0b"]), "zero byte"),
        (pa.array([1_001], pa.timestamp("us")), "finer than a millisecond"),
        (pa.array([1 << 60], pa.timestamp("s")), "too far from the present"),
    ],
)
def test_values_that_would_change_are_refused(
    values: pa.Array[Any], what: str, program: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=what):
        write_dataset(pa.table({"c": values}), tmp_path / f"x.{ENDINGS[program]}", program)


def test_spss_has_no_spaces_at_the_end_and_no_early_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.sav"
    first = dt.date(1582, 10, 15)
    for values, what in (
        (pa.array(["a", "b "]), "ends with a space"),
        (pa.array([first - dt.timedelta(days=1)]), "before 15 October 1582"),
        (pa.array([dt.datetime(1582, 10, 14, 23)]), "before 15 October 1582"),  # noqa: DTZ001
    ):
        with pytest.raises(SettingsError, match=what):
            write_dataset(pa.table({"c": values}), path, "spss")
        assert not path.exists()
    kept = pa.table({"c": pa.array([first, None])})
    write_dataset(kept, path, "spss")
    assert read_rows(path, [PublishedColumn("c", "date32[day]", "plain")]).equals(kept)


@pytest.mark.parametrize("program", ["stata", "spss"])
def test_other_readers_see_dates_times_and_whole_numbers(program: str, tmp_path: Path) -> None:
    """What our own reader makes of a file says little about the programs: another one reads it."""
    import pandas as pd
    import pyreadstat

    day, at = dt.date(1930, 2, 28), dt.datetime(2024, 2, 29, 12, 30, 1, 250_000)  # noqa: DTZ001
    table = pa.table(
        {"n": [7], "day": [day], "at": pa.array([at], pa.timestamp("us")), "b": [True]}
    )
    path = tmp_path / f"x.{ENDINGS[program]}"
    write_dataset(table, path, program)
    if program == "stata":
        found = pd.read_stata(path)
        assert found["day"][0] == pd.Timestamp(day)
        with pd.read_stata(path, iterator=True) as reader:
            assert reader.variable_labels() == dict.fromkeys(table.column_names, "")
    else:
        found, notes = pyreadstat.read_sav(path)
        assert found["day"][0] == day
        assert notes.original_variable_types["n"] == "F17.0"
        assert not notes.notes
    assert (found["n"][0], found["at"][0], found["b"][0]) == (7, pd.Timestamp(at), 1)


@pytest.mark.parametrize("name", ["a b", "é", "2x", "with", "x" * 33, ""])
def test_names_that_no_program_has_are_refused(name: str) -> None:
    for program in ("stata", "spss"):
        with pytest.raises(SettingsError, match="cannot name a column"):
            check_kept([(name, "int64")], program)


def test_names_are_those_of_the_program() -> None:
    columns = [("age", "int64"), ("Age", "int64")]
    check_kept(columns, "stata")
    with pytest.raises(SettingsError, match="upper and lower case"):
        check_kept(columns, "spss")
    check_kept([("str9", "int64"), ("long", "int64")], "spss")
    for name in ("str9", "strL", "long"):
        with pytest.raises(SettingsError, match="Stata cannot name"):
            check_kept([(name, "int64")], "stata")


@pytest.mark.few(1)
@pytest.mark.parametrize("library", ["pyreadstat", "polars"])
def test_without_the_library_the_extra_is_named(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = cv.generate(500, seed=1)
    release = cv.publish(table, {"occupation": 5}, tmp_path / "old", output_format="stata")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[stat\]'"):
        cv.publish(table, {"occupation": 5}, tmp_path / "r", output_format="stata", again=True)
    assert not (tmp_path / "r").exists()
    if library == "pyreadstat":
        with pytest.raises(MissingExtraError, match=r"pip install '\.\[stat\]'"):
            cv.open(release.folder).sql(QUESTION)
    else:
        assert list(cv.open(release.folder).sql(QUESTION).rows())
