"""Whatever a table is made of comes out as it went in: types, values, missing ones."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import JOBS, names_in, repeated, run

ROWS = 120
HERE = dt.datetime(2024, 2, 28, 12, 30, 15, 250_000, tzinfo=dt.UTC)


def naive(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=None)


def over(values: Sequence[Any]) -> list[Any]:
    return repeated(values, ROWS)


EVERYDAY = pa.table(
    {
        "row": pa.array(range(ROWS), pa.int64()),
        "big": pa.array([2**53 + 1 + row for row in range(ROWS)], pa.int64()),
        "gaps": pa.array(over([1, -2, None]), pa.int64()),
        "zip": pa.array(over(["007", "010", "99999"]), pa.string()),
        "signed": pa.array(over(["+1", "1", "-1"]), pa.string()),
        "mixed": pa.array(over(["1", "a", "2.5", None]), pa.string()),
        "flag": pa.array(over([True, False, None]), pa.bool_()),
        "day": pa.array(over([dt.date(2024, 2, 29), dt.date(1899, 12, 31), None]), pa.date32()),
        "moment": pa.array(over([naive(HERE), naive(HERE).replace(year=1950), None])),
        "score": pa.array(over([0.1, -2.5, 1e300, None]), pa.float64()),
        "name": pa.array(over(["Ann", 'O\'Hara, "Bob"', "Zoë\nB.", None]), pa.string()),
        "job": pa.array(over([*JOBS, None]), pa.string()),
    }
)
SENSITIVE, ELL = "job", 4
KEPT = ("--keep", "row", "--keep", "big")


def csv_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return bytes(sink.getvalue())


def as_csv(place: Path) -> Path:
    path = place / "in.csv"
    path.write_bytes(csv_bytes(EVERYDAY))
    return path


def as_gz(place: Path) -> Path:
    path = place / "in.csv.gz"
    path.write_bytes(gzip.compress(csv_bytes(EVERYDAY)))
    return path


def as_zst(place: Path) -> Path:
    path = place / "in.csv.zst"
    path.write_bytes(pa.compress(csv_bytes(EVERYDAY), codec="zstd", asbytes=True))
    return path


def as_csv_glob(place: Path) -> Path:
    (place / "a.csv").write_bytes(csv_bytes(EVERYDAY.slice(0, 50)))
    (place / "b.csv").write_bytes(csv_bytes(EVERYDAY.slice(50)))
    return place / "*.csv"


def as_parquet(place: Path) -> Path:
    pq.write_table(EVERYDAY, place / "in.parquet")
    return place / "in.parquet"


def as_parquet_glob(place: Path) -> Path:
    pq.write_table(EVERYDAY.slice(0, 50), place / "a.parquet")
    pq.write_table(EVERYDAY.slice(50), place / "b.parquet")
    return place / "?.parquet"


def as_feather(place: Path) -> Path:
    pf.write_feather(EVERYDAY, place / "in.feather")
    return place / "in.feather"


def as_arrow_stream(place: Path) -> Path:
    with pa.ipc.new_stream(str(place / "in.arrow"), EVERYDAY.schema) as writer:
        writer.write_table(EVERYDAY, max_chunksize=7)
    return place / "in.arrow"


def as_arrow(_place: Path) -> Any:
    return EVERYDAY


def as_arrow_chunks(_place: Path) -> Any:
    return pa.concat_tables([EVERYDAY.slice(start, 11) for start in range(0, ROWS, 11)])


def as_pandas(_place: Path) -> Any:
    import pandas as pd

    return EVERYDAY.to_pandas(types_mapper=pd.ArrowDtype)


def as_polars(_place: Path) -> Any:
    import polars as pl

    return pl.from_arrow(EVERYDAY)


def as_duckdb(_place: Path) -> Any:
    import duckdb

    return duckdb.connect().from_arrow(EVERYDAY)


FILES = (as_csv, as_gz, as_zst, as_csv_glob, as_parquet, as_parquet_glob, as_feather,
         as_arrow_stream)  # fmt: skip
FRAMES = (as_arrow, as_arrow_chunks, as_pandas, as_polars, as_duckdb)


def rows_of(table: pa.Table, columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[column].to_pylist() for column in columns), strict=True))


def assert_faithful(published: pa.Table, source: pa.Table) -> None:
    assert published.schema.equals(source.schema, check_metadata=True)
    plain = [name for name in source.column_names if name != SENSITIVE]
    assert rows_of(published, plain) == rows_of(source, plain)
    assert set(published[SENSITIVE].to_pylist()) <= set(source[SENSITIVE].to_pylist())
    assert published[SENSITIVE].to_pylist() != source[SENSITIVE].to_pylist()


@pytest.mark.few(1)
@pytest.mark.parametrize("make", FILES)
def test_every_kind_of_file(quick: Quick, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    source = make(tmp_path)
    release = tmp_path / "release"
    outcome = quick("publish", source, "-s", f"{SENSITIVE}:{ELL}", *KEPT, "--to", release)
    assert (outcome.code, outcome.err) == (0, "")
    assert_faithful(pq.read_table(release / "data"), EVERYDAY)
    assert cv.verify(release) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("make", FRAMES)
def test_every_kind_of_frame(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    release = tmp_path / "release"
    cv.publish(make(tmp_path), {SENSITIVE: ELL}, release, keep=["row", "big"])
    assert_faithful(pq.read_table(release / "data"), EVERYDAY)
    assert cv.verify(release) == []


def test_publishing_twice_from_python(tmp_path: Path) -> None:
    for name in ("first", "second"):
        wishes: Any = {"keep": ["row", "big"], "again": True}
        cv.publish(EVERYDAY, {SENSITIVE: ELL}, tmp_path / name, **wishes)
        assert cv.verify(tmp_path / name) == []


MANY = 9_000


@pytest.mark.slow
def test_missing_sensitive_values_are_a_value(tmp_path: Path) -> None:
    rare = ["a"] * 1_000 + [None] * 2_000
    jobs = repeated(["b", "c", "d", "e", "f", "g"], MANY - len(rare)) + rare
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"half": repeated([0, 1], MANY), "job": jobs}), source)
    release = tmp_path / "release"
    assert run("publish", source, "-s", "job:3", "--to", release).code == 0
    published = pq.read_table(release / "data")["job"]
    assert published.type == pa.string()
    # Binomial with mean 2,000 and standard deviation 37.
    assert abs(published.null_count - 2_000) < 6 * 37
    opened = cv.open(release)
    assert opened.manifest.sensitive["job"].domain[0] is None
    assert opened.count("job IS NULL") == opened.count(job=None)
    # At six standard deviations an interval misses the truth twice in a thousand million times.
    found = opened.count("job IS NULL", level=1 - 2e-9)
    assert (found.low or 0) <= 2_000 <= (found.high or 0)
    words = ("query", release, "SELECT job, count(*) FROM release GROUP BY job")
    printed = run(*words, "--format", "csv")
    assert printed.code == 0
    assert printed.out.splitlines()[1].startswith(",")


# What is written in a CSV, and the type it deserves. Text keeps every character.
CELLS: dict[str, tuple[list[str], pa.DataType]] = {
    "whole numbers": (["1", "-2", ""], pa.int64()),
    "the largest whole numbers": (
        ["9223372036854775807", "-9223372036854775808"],
        pa.int64(),
    ),
    "leading zeros": (["007", "7"], pa.string()),
    "a plus": (["+1", "2"], pa.string()),
    "a space": ([" 1", "2"], pa.string()),
    "a decimal point": (["1.5", "-0.25", ""], pa.float64()),
    "an exponent": (["1e5", "2.5e-3"], pa.float64()),
    "a leading zero and a point": (["01.5", "2.5"], pa.string()),
    "a comma as the point": (['"1,5"', '"2,5"'], pa.string()),
    "not a number": (["nan", "1.5"], pa.string()),
    "infinite": (["inf", "1.5"], pa.string()),
    "hexadecimal": (["0x10", "0x11"], pa.string()),
    "underscores": (["1_000", "2_000"], pa.string()),
    "codes of twenty digits": (["12345678901234567890", "12345678901234567891"], pa.string()),
    "a number beyond all numbers": (["1e999", "1.5"], pa.string()),
    "true and false": (["true", "false", ""], pa.bool_()),
    "yes and no": (["yes", "no"], pa.string()),
    "zero and one": (["0", "1"], pa.int64()),
    "dates": (["2024-02-29", "1899-12-31", ""], pa.date32()),
    "an impossible date": (["2024-02-30", "2024-02-29"], pa.string()),
    "a short date": (["2024-2-9", "2024-02-29"], pa.string()),
    "the word infinity among dates": (["infinity", "2024-02-29"], pa.string()),
    "a date before Christ": (["0044-03-15 (BC)", "2024-02-29"], pa.string()),
    "a year of five digits": (["99999-01-01", "2024-02-29"], pa.string()),
    "timestamps": (["2024-02-29 12:30:15", "2024-02-29 12:30:15.25", ""], pa.timestamp("us")),
    "an hour that is none": (["2024-02-29 25:00:00", "2024-02-29 12:30:15"], pa.string()),
    "nanoseconds": (["2024-02-29 12:30:15.123456789", "2024-02-29 12:30:15"], pa.string()),
    "a time zone": (["2024-02-29 12:30:15+01", "2024-02-29 12:30:15+02"], pa.string()),
    "words for missing": (["NULL", "NA", "None", "-"], pa.string()),
    "quoted numbers": (['"1"', '"2"'], pa.int64()),
    "quotes in quotes": (['"a ""b"" c"', '"d, e"'], pa.string()),
    "two lines": (['"a\nb"', "c"], pa.string()),
    "nothing at all": (["", ""], pa.string()),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("cells", "kind"), CELLS.values(), ids=CELLS.keys())
def test_type_of_csv_cells(tmp_path: Path, cells: list[str], kind: pa.DataType) -> None:
    lines = [f"{cell},{job}\n" for cell, job in zip(over(cells), over(JOBS), strict=True)]
    (tmp_path / "in.csv").write_text("x,job\n" + "".join(lines))
    cv.publish(tmp_path / "in.csv", {"job": 4}, tmp_path / "release")
    published = pq.read_table(tmp_path / "release" / "data")["x"]
    assert published.type == kind
    if kind == pa.string():
        with (tmp_path / "in.csv").open(newline="") as file:
            texts = {record["x"] for record in csv.DictReader(file)}
        assert set(published.drop_null().to_pylist()) == texts - {""}
    assert (published.null_count > 0) == ("" in cells)


@pytest.mark.parametrize("cells", [["infinity", "2024-02-29"], ["0044-03-15 (BC)", "2024-02-29"]])
def test_odd_dates_can_be_protected(tmp_path: Path, cells: list[str]) -> None:
    (tmp_path / "in.csv").write_text("x\n" + "".join(f"{cell}\n" for cell in over(cells)))
    release = cv.publish(tmp_path / "in.csv", {"x": 2}, tmp_path / "release")
    assert set(release.manifest.sensitive["x"].domain) == set(cells)


BERLIN = pa.timestamp("us", tz="Europe/Berlin")
ARROW_COLUMNS: dict[str, pa.Array[Any]] = {
    "int8": pa.array(over([1, -2, None]), pa.int8()),
    "uint64": pa.array(over([0, 2**64 - 1, None]), pa.uint64()),
    "float16": pa.array(over([1.5, None]), pa.float16()),
    "float32": pa.array(over([0.1, float("inf"), None]), pa.float32()),
    "decimal": pa.array(over([Decimal("1.10"), Decimal("-9.99"), None]), pa.decimal128(10, 2)),
    "long decimal": pa.array(over([Decimal("1.10"), None]), pa.decimal256(60, 2)),
    "date32": pa.array(over([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]), pa.date32()),
    "date64": pa.array(over([dt.date(2024, 2, 29), None]), pa.date64()),
    "seconds": pa.array(over([naive(HERE).replace(microsecond=0), None]), pa.timestamp("s")),
    "milliseconds": pa.array(over([naive(HERE), None]), pa.timestamp("ms")),
    "microseconds": pa.array(over([naive(HERE), None]), pa.timestamp("us")),
    "nanoseconds": pa.array(over([1_709_209_815_123_456_000, None]), pa.timestamp("ns")),
    "time zone": pa.array(over([HERE, HERE.replace(month=7), None]), BERLIN),
    "time of day in seconds": pa.array(over([dt.time(1, 2, 3), None]), pa.time32("s")),
    "time of day": pa.array(over([dt.time(1, 2, 3, 4), None]), pa.time64("us")),
    "duration": pa.array(over([dt.timedelta(days=1, seconds=2), None]), pa.duration("us")),
    "bytes": pa.array(over([b"\x00\xff", b"", None]), pa.binary()),
    "two bytes": pa.array(over([b"ab", None]), pa.binary(2)),
    "a view of bytes": pa.array(over([b"ab", None]), pa.binary_view()),
    "truth": pa.array(over([True, False, None])),
    "empty and missing text": pa.array(over(["", "a", "\x00", None])),
    "nothing": pa.nulls(ROWS),
}  # fmt: skip


def as_stored(array: pa.Array[Any]) -> list[Any]:
    """Values to compare; nanoseconds as numbers, since Python has no such moments."""
    return list((array.cast(pa.int64()) if "[ns" in str(array.type) else array).to_pylist())


@pytest.mark.few(2)
@pytest.mark.parametrize("column", ARROW_COLUMNS.values(), ids=ARROW_COLUMNS.keys())
def test_every_arrow_type_passes_through(tmp_path: Path, column: pa.Array[Any]) -> None:
    table = pa.table({"x": column, "job": over(JOBS)})
    release = cv.publish(table, {"job": ELL}, tmp_path / "release")
    assert cv.verify(tmp_path / "release") == []
    published = pq.read_table(tmp_path / "release" / "data")["x"]
    assert Counter(as_stored(published)) == Counter(as_stored(column))
    listed = release.manifest.columns[0].type
    assert listed == str(published.type)
    counted = release.sql("SELECT x, count(*) FROM release GROUP BY x")
    assert len(counted) == len(set(as_stored(column)))
    assert sum(found.estimate or 0 for found in counted.estimates) == ROWS
    missing = release.count("x IS NULL")
    assert missing.estimate == column.null_count


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["uint64", "decimal", "time zone", "truth", "date32", "duration"])
def test_answers_in_arrow_and_pandas(tmp_path: Path, name: str) -> None:
    table = pa.table({"x": ARROW_COLUMNS[name], "job": over(JOBS)})
    release = cv.publish(table, {"job": ELL}, tmp_path / "release")
    answer = release.sql("SELECT x, count(*) FROM release GROUP BY x")
    assert answer.to_arrow().num_rows == len(answer.to_pandas()) == len(answer)


PROTECTED: dict[str, pa.Array[Any]] = {
    "whole numbers": pa.array(over([1, -2, 2**62, None])),
    "unsigned numbers": pa.array(over([0, 1, 2**64 - 1, None]), pa.uint64()),
    "small numbers": pa.array(over([1, 2, 3]), pa.int8()),
    "truth": pa.array(over([True, False, None])),
    "dates": pa.array(over([dt.date(2024, 2, day) for day in (1, 2, 29)])),
    "dates in milliseconds": pa.array(over([dt.date(2024, 2, d) for d in (1, 2, 3)]), pa.date64()),
    "seconds": pa.array(over([dt.datetime(2024, 2, d) for d in (1, 2, 3)]), pa.timestamp("s")),  # noqa: DTZ001
    "microseconds": pa.array(over([naive(HERE), naive(HERE).replace(day=1), None])),
    "nanoseconds of whole seconds": pa.array(over([0, 10**9, 2 * 10**9]), pa.timestamp("ns")),
    "time zone": pa.array(over([HERE, HERE.replace(month=7), HERE.replace(year=2000)]), BERLIN),
    "text": pa.array(over(["", " ", "a", "A", "\x00", "ü", None])),
    "long text": pa.array(over(["a", "b" * 10_000, "c"]), pa.large_string()),
    "categories": pa.array(over(["a", "b", None])).dictionary_encode(),
    "categories of numbers": pa.array(over([5, 6, None])).dictionary_encode(),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("column", PROTECTED.values(), ids=PROTECTED.keys())
def test_every_protectable_type(tmp_path: Path, column: pa.Array[Any]) -> None:
    target = tmp_path / "release"
    release = cv.publish(pa.table({"half": over([0, 1]), "x": column}), {"x": 2}, target)
    assert cv.verify(target) == []
    published = pq.read_table(target / "data")["x"]
    values = set(as_stored(published))
    assert values <= set(as_stored(column))
    counted = release.sql("SELECT x, count(*) FROM release GROUP BY x")
    assert len(counted) == len(values) == len(release.manifest.sensitive["x"].domain)


def test_single_nanoseconds_are_refused_or_kept_apart(tmp_path: Path) -> None:
    column = pa.array(over([0, 1, 2]), pa.timestamp("ns"))
    try:
        release = cv.publish(pa.table({"x": column}), {"x": 2}, tmp_path / "release")
    except cv.CountveilError:
        assert names_in(tmp_path) == []
    else:
        assert len(release.sql("SELECT x, count(*) FROM release GROUP BY x")) > 1


def test_pandas_categories_and_own_types(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "city": pd.Categorical(over(["Ulm", "Bonn"]), categories=["Bonn", "Köln", "Ulm"]),
            "count": pd.array(over([1, None, 3]), dtype="Int64"),
            "flag": pd.array(over([True, None]), dtype="boolean"),
            "when": pd.to_datetime(over(["2024-02-29", None])).astype("datetime64[ns]"),
            "day": over([dt.date(2024, 2, 29), None]),
            "level": over([0.5, None]),
            "job": pd.array(over([*JOBS, None]), dtype="string"),
        },
        index=range(1_000, 1_000 + ROWS),
    )
    cv.publish(frame, {"job": ELL}, tmp_path / "release")
    assert cv.verify(tmp_path / "release") == []
    published = pq.read_table(tmp_path / "release" / "data")
    assert [str(field.type) for field in published.schema] == [
        "string", "int64", "bool", "timestamp[ns]", "date32[day]", "double", "string",
    ]  # fmt: skip
    assert Counter(published["city"].to_pylist()) == {"Ulm": 60, "Bonn": 60}
    assert Counter(published["count"].to_pylist()) == {1: 40, None: 40, 3: 40}
    assert published["level"].null_count == published["day"].null_count == ROWS // 2


def test_pandas_dates_of_any_resolution(tmp_path: Path) -> None:
    import pandas as pd

    moments = pd.Series(pd.to_datetime(over(["2024-02-29", "2024-03-01"])))
    frame = pd.DataFrame({"when": moments.astype("datetime64[s]"), "job": over(JOBS)})
    cv.publish(frame, {"job": ELL}, tmp_path / "release")
    assert cv.verify(tmp_path / "release") == []


def test_polars_text_and_categories(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame(
        {
            "text": over(["a", "", None]),
            "category": pl.Series(over(["x", "y", None]), dtype=pl.Categorical),
            "choice": pl.Series(over(["n", "s"]), dtype=pl.Enum(["n", "e", "s", "w"])),
            "amount": pl.Series(over([Decimal("1.10"), None]), dtype=pl.Decimal(10, 2)),
            "when": pl.Series(over([naive(HERE), None]), dtype=pl.Datetime("ms")),
            "job": over([*JOBS, None]),
        }
    )
    cv.publish(frame, {"job": ELL}, tmp_path / "release")
    assert cv.verify(tmp_path / "release") == []
    published = pq.read_table(tmp_path / "release" / "data")
    kinds = {field.name: str(field.type) for field in published.schema}
    assert {kinds[name] for name in ("text", "category", "choice", "job")} == {"string"}
    assert (kinds["amount"], kinds["when"]) == ("decimal128(10, 2)", "timestamp[ms]")
    assert Counter(published["text"].to_pylist()) == {"a": 40, "": 40, None: 40}
    assert Counter(published["choice"].to_pylist()) == {"n": 60, "s": 60}
