"""Tables and wishes that cannot be served: one paragraph, exit code 1, nothing written."""

from __future__ import annotations

import gzip
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import (
    BUG,
    CANARY,
    JOBS,
    assert_refused,
    repeated,
    run,
    small_columns,
    small_csv,
    unchanged,
)

GOOD = small_csv().encode()
BAD_LINE = GOOD.count(b"\n") + 1
# Arrow's class takes one sequence; the stubs want three numbers.
INTERVAL = pa.MonthDayNano([1, 2, 3])  # type: ignore[call-arg, arg-type]


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


def parquet(columns: dict[str, Any] | pa.Table) -> bytes:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def feather(columns: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pf.write_feather(pa.table(columns), sink)
    return bytes(sink.getvalue())


def with_canary() -> dict[str, Any]:
    return {**small_columns(), "note": repeated([CANARY])}


def twice_named() -> pa.Table:
    columns = [repeated([1, 2]), repeated(JOBS), repeated(JOBS)]
    return pa.Table.from_arrays([pa.array(c) for c in columns], ["row", "job", "job"])


def damaged(content: bytes, at: float) -> bytes:
    place = int(len(content) * at)
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


# name -> the file's name, its bytes, what the message must name
BAD_INPUTS: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "csv with a header only": ("in.csv", b"row,sex,job\n", ("no rows",)),
    "empty csv": ("in.csv", b"", ("in.csv", "empty", "header")),
    "csv of blank lines": ("in.csv", b"\n \n\n", ("in.csv", "empty", "header")),
    "too few cells": (
        "in.csv",
        GOOD + f"{CANARY}\n".encode(),
        (f"line {BAD_LINE}", "1 cell", "header 3"),
    ),
    "too many cells": (
        "in.csv",
        GOOD + f"1,F,{CANARY},{CANARY}\n".encode(),
        (f"line {BAD_LINE}", "4 cells", "header 3"),
    ),
    "ragged in the middle": (
        "in.csv",
        GOOD + f"{CANARY},F\n".encode() + GOOD.partition(b"\n")[2],
        (f"line {BAD_LINE}", "2 cells", "header 3"),
    ),
    "not UTF-8": ("in.csv", GOOD + f"1,F,{CANARY}".encode() + b"\xff\n", ("in.csv", "UTF-8")),
    "header not UTF-8": ("in.csv", f"{CANARY}".encode() + b"\xff,job\n1,2\n", ("in.csv", "UTF-8")),
    "quote left open": ("in.csv", GOOD + f'1,F,"{CANARY}\n'.encode(), ("in.csv", "clos")),
    "quote left open in the header of a large file": (
        "in.csv",
        b'row,sex,"job\n' + f"1,F,{CANARY}\n".encode() * 20_000,
        ("in.csv",),
    ),
    "column name twice in csv": ("in.csv", b"row,job,job\n1,2,3\n", ("'job'", "more than once")),
    "column without a name": ("in.csv", b"row,,job\n1,2,3\n", ("without a name",)),
    "gz cut off": ("in.csv.gz", gzip.compress(GOOD * 50)[:-200], ("in.csv.gz", "cut off")),
    "gz cut off in its header": ("in.csv.gz", gzip.compress(GOOD)[:8], ("in.csv.gz",)),
    "gz damaged": ("in.csv.gz", damaged(gzip.compress(GOOD * 50), 0.1), ("in.csv.gz", "damaged")),
    "gz that is none": ("in.csv.gz", GOOD, ("in.csv.gz", "damaged")),
    "zst cut off": ("in.csv.zst", zstd(GOOD * 50)[:-30], ("in.csv.zst", "cut off")),
    "zst that is none": ("in.csv.zst", GOOD, ("in.csv.zst", "damaged")),
    "parquet without rows": (
        "in.parquet",
        parquet(pa.table(small_columns()).slice(0, 0)),
        ("no rows",),
    ),
    "parquet cut off": ("in.parquet", parquet(with_canary())[:-40], ("in.parquet", "cut off")),
    "parquet cut in half": (
        "in.parquet",
        parquet(with_canary())[: len(parquet(with_canary())) // 2],
        ("in.parquet", "damaged"),
    ),
    "parquet with damaged footer": (
        "in.parquet",
        damaged(parquet(with_canary()), 0.9),
        ("in.parquet", "damaged"),
    ),
    "empty parquet": ("in.parquet", b"", ("in.parquet",)),
    "csv called parquet": ("in.parquet", GOOD, ("in.parquet",)),
    "column name twice in parquet": ("in.parquet", parquet(twice_named()), ("'job'",)),
    "nested column": (
        "in.parquet",
        parquet({**small_columns(), "visits": repeated([[1, 2], [3]])}),
        ("'visits'", "nested", "--drop"),
    ),
    "feather cut off": ("in.feather", feather(with_canary())[:-40], ("in.feather", "cut off")),
    "arrow that is none": ("in.arrow", GOOD, ("in.arrow", "damaged")),
    "unknown ending": ("in.pdf", GOOD, ("in.pdf", ".csv", ".parquet")),
    "float to protect": (
        "in.parquet",
        parquet({"row": repeated([1]), "job": repeated([1.5, 2.5, 3.5, None])}),
        ("'job'", "double", "classes"),
    ),
}


@pytest.mark.few(15)
@pytest.mark.parametrize(("name", "content", "told"), BAD_INPUTS.values(), ids=BAD_INPUTS.keys())
def test_bad_input_is_refused(
    quick: Quick, tmp_path: Path, name: str, content: bytes, told: tuple[str, ...]
) -> None:
    source = tmp_path / name
    source.write_bytes(content)
    with unchanged(tmp_path):
        outcome = quick("publish", source, "-s", "job:2", "--to", tmp_path / "release")
    assert_refused(outcome, *told)
    assert CANARY not in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("case", ["too many cells", "gz cut off", "parquet cut off"])
def test_bad_input_is_refused_by_the_real_command(tmp_path: Path, case: str) -> None:
    name, content, told = BAD_INPUTS[case]
    (tmp_path / name).write_bytes(content)
    with unchanged(tmp_path):
        outcome = run("publish", name, "-s", "job:2", "--to", "release", cwd=tmp_path)
    assert_refused(outcome, *told)
    assert CANARY not in outcome.err


MANY = 420_000
LINE = 12  # bytes; MANY lines are more than is read to find the header


def lines_of_one_length() -> bytes:
    """More than five megabytes in which every compressed block ends with a line."""
    names = (f"{row:06d},{JOBS[row % len(JOBS)][:4]}\n" for row in range(1, MANY))
    return b"num_id,jobs\n" + "".join(names).encode()


@pytest.mark.slow
def test_zst_cut_off_between_two_lines_is_refused(quick: Quick, tmp_path: Path) -> None:
    # Frames of whole lines: what is left of the file is a well-formed shorter table.
    content = lines_of_one_length()
    half = MANY // 2 * LINE
    source = tmp_path / "in.csv.zst"
    block = zstd(content[half:])
    source.write_bytes(zstd(content[:4_800_000]) + zstd(content[4_800_000:half]) + block[:-2])
    with unchanged(tmp_path):
        outcome = quick("publish", source, "-s", "jobs:2", "--to", tmp_path / "release")
    assert_refused(outcome, "in.csv.zst", "cut off")


@pytest.mark.slow
def test_gz_with_a_wrong_checksum_is_refused(quick: Quick, tmp_path: Path) -> None:
    # Stored, not deflated: a changed digit stays a well-formed line, only the checksum tells.
    content = bytearray(gzip.compress(lines_of_one_length(), compresslevel=0))
    place = content.index(f"\n{MANY - 1_000},".encode()) + 1
    content[place] ^= 1
    source = tmp_path / "in.csv.gz"
    source.write_bytes(content)
    with unchanged(tmp_path):
        outcome = quick("publish", source, "-s", "jobs:2", "--to", tmp_path / "release")
    assert_refused(outcome, "in.csv.gz", "damaged")


@pytest.mark.slow
def test_bytes_that_are_not_utf8_far_down_are_refused(quick: Quick, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(lines_of_one_length() + f"1,{CANARY}".encode() + b"\xff\n")
    with unchanged(tmp_path):
        outcome = quick("publish", source, "-s", "jobs:2", "--to", tmp_path / "release")
    assert_refused(outcome, "in.csv", f"line {MANY + 1}", "UTF-8")
    assert CANARY not in outcome.err


@pytest.mark.slow
def test_ineligible_data_name_the_value_its_count_and_what_works(tmp_path: Path) -> None:
    jobs = ["clerk"] * 40 + ["nurse"] * 20 + ["baker"] * 20 + ["tailor"] * 20
    source = tmp_path / "in.csv"
    source.write_text("job,note\n" + "".join(f"{job},{CANARY}\n" for job in jobs))
    with unchanged(tmp_path):
        outcome = run("publish", source, "-s", "job:3", "--to", tmp_path / "release")
    assert_refused(outcome, "'job'", "'clerk'", "40 times", "100 rows", "works", "is 2.")
    assert CANARY not in outcome.err
    works = run("publish", source, "-s", "job:2", "--to", tmp_path / "release")
    assert works.code == 0


WISHES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "ell of one": (["-s", "job:1"], ("ell", "at least 2", "got 1")),
    "ell of zero": (["-s", "job", "--ell", "0"], ("ell", "at least 2", "got 0")),
    "negative ell": (["-s", "job:-3"], ("ell", "at least 2", "got -3")),
    "more than the values": (["-s", "job:9"], ("ell = 9", "'job'", "only 8", "works", "is 8")),
    "more than the rows": (["-s", "job:1000000"], ("'job'", "only 8", "is 8")),
    "no ell works": (["-s", "row:2", "-s", "sex:3", "--keep", "job"], ("'sex'", "only 2", "is 2")),
    "mistyped column": (["-s", "jbo:2"], ("'jbo'", "did you mean 'job'")),
    "column in another case": (["-s", "JOB:2"], ("'JOB'", "did you mean 'job'")),
    "column that is nothing like": (["-s", "zzzz:2"], ("'zzzz'", "'row', 'sex', 'job'")),
    "unknown column to drop": (["-s", "job:2", "--drop", "sexx"], ("'sexx'", "mean 'sex'")),
    "protected and dropped": (["-s", "job:2", "--drop", "job"], ("'job'", "choose one")),
}


@pytest.mark.few(6)
@pytest.mark.parametrize(("wish", "told"), WISHES.values(), ids=WISHES.keys())
def test_wish_that_cannot_be_served(
    quick: Quick, small: Path, tmp_path: Path, wish: list[str], told: tuple[str, ...]
) -> None:
    with unchanged(tmp_path):
        outcome = quick("publish", small, *wish, "--keep", "row", "--to", tmp_path / "release")
    assert_refused(outcome, *told)


USAGE: dict[str, tuple[list[str], str]] = {
    "unknown option": (["-s", "job:2", "--to", "release", "--fast"], "--fast"),
    "no target": (["-s", "job:2"], "--to"),
    "no sensitive column": (["--to", "release"], "-s"),
    "no ell": (["-s", "job", "--to", "release"], "--ell 5"),
    "ell in letters": (["-s", "job", "--ell", "five", "--to", "release"], "--ell"),
    "ell with two signs": (["-s", "job:--5", "--to", "release"], "job:--5"),
    "ell with too many digits": (["-s", f"job:{'9' * 5000}", "--to", "release"], ""),
    "column twice": (["-s", "job:2", "-s", "job:3", "--to", "release"], "'job'"),
    "unknown group method": (["-s", "job:2", "--to", "release", "--groups", "x"], "anatomy"),
}


@pytest.mark.few(5)
@pytest.mark.parametrize(("words", "told"), USAGE.values(), ids=USAGE.keys())
def test_wrong_usage(
    quick: Quick, small: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    with unchanged(tmp_path):
        outcome = quick("publish", small, *words, cwd=tmp_path)
    expected = (1, 2) if "9999" in words[1] else (2,)
    assert outcome.code in expected
    assert told in outcome.err
    assert "Traceback" not in outcome.err
    assert BUG not in outcome.err


def test_wrong_usage_of_the_real_command(small: Path, tmp_path: Path) -> None:
    with unchanged(tmp_path):
        outcome = run("publish", small, "-s", "job", "--to", "release", cwd=tmp_path)
    assert outcome.code == 2
    assert "--ell" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("people.csv", ("people.csv", "did you mean 'people.tsv'")),
        ("nothing-like-it.csv", ("there is no file",)),
        ("gone/people.csv", ("gone",)),
        ("", ("empty", ".csv")),
        (".", ("different formats", "*.parquet")),
        ("*.parquet", ("no file matches", "*.parquet")),
        ("*", ("different formats", "arrow", "csv")),
        ("part-*.csv", ("part-2.csv", "other columns")),
    ],
)
def test_file_that_is_not_there(
    quick: Quick, tmp_path: Path, asked: str, told: tuple[str, ...]
) -> None:
    (tmp_path / "people.tsv").write_text(small_csv().replace(",", "\t"))
    (tmp_path / "people.arrow").write_bytes(feather(small_columns()))
    (tmp_path / "part-1.csv").write_text(small_csv())
    (tmp_path / "part-2.csv").write_text(small_csv().replace("sex", "gender", 1))
    with unchanged(tmp_path):
        outcome = quick("publish", asked, "-s", "job:2", "--to", "release", cwd=tmp_path)
    assert_refused(outcome, *told)


def pandas_frame(columns: dict[Any, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def pandas_with_a_name_twice() -> Any:
    frame = pandas_frame({"job": repeated(JOBS), "other": repeated(JOBS)})
    frame.columns = ["job", "job"]
    return frame


def polars_objects() -> Any:
    import polars as pl

    holders = pl.Series("note", [{CANARY} for _ in repeated(JOBS)], dtype=pl.Object)
    return pl.DataFrame({"job": repeated(JOBS)}).with_columns(holders)


FRAMES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "pandas name twice": (pandas_with_a_name_twice, ("more than once",)),
    "pandas number as a name": (
        lambda: pandas_frame({"job": repeated(JOBS), 7: repeated([1])}),
        ("must be text", "7"),
    ),
    "pandas mixed types": (
        lambda: pandas_frame({"job": repeated(JOBS), "note": repeated([CANARY, 1, 2.5])}),
        ("'note'", "mixes types"),
    ),
    "pandas mixed types to protect": (
        lambda: pandas_frame({"job": repeated([CANARY, 1])}),
        ("'job'", "mixes types"),
    ),
    "pandas objects": (
        lambda: pandas_frame({"job": repeated(JOBS), "note": repeated([{CANARY}])}),
        ("'note'",),
    ),
    "pandas huge numbers": (
        lambda: pandas_frame({"job": repeated(JOBS), "note": repeated([10**30, "x"])}),
        ("'note'",),
    ),
    "pandas numbers with gaps": (
        lambda: pandas_frame({"job": repeated([1, 2, 3, None])}),
        ("'job'", "double"),
    ),
    "polars objects": (polars_objects, ("note",)),
    "list": (lambda: [1, 2, 3], ("list", "pandas")),
    "none": (lambda: None, ("NoneType", "pandas")),
    "arrow nested": (
        lambda: pa.table({"job": repeated(JOBS), "x": repeated([{"a": 1}])}),
        ("'x'", "nested"),
    ),
    "arrow without columns": (lambda: pa.table({}), ("'job'",)),
    "arrow interval": (
        lambda: pa.table({"job": repeated(JOBS), "x": repeated([INTERVAL])}),
        ("'x'", "month_day_nano_interval"),
    ),
}


@pytest.mark.few(7)
@pytest.mark.parametrize(("make", "told"), FRAMES.values(), ids=FRAMES.keys())
def test_frame_that_cannot_be_published(
    tmp_path: Path, make: Callable[[], Any], told: tuple[str, ...]
) -> None:
    frame = make()
    with unchanged(tmp_path), pytest.raises(cv.CountveilError) as caught:
        cv.publish(frame, {"job": 2}, tmp_path / "release")
    for fragment in told:
        assert fragment.lower() in str(caught.value).lower()
    # Not even the full traceback quotes a cell.
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("sensitive", [{}, [], {"job": None}, ["job"], {"job": 2.0}, {"job": True}])
def test_settings_of_the_python_interface(tmp_path: Path, sensitive: Any) -> None:
    with unchanged(tmp_path), pytest.raises(cv.CountveilError, match=r"ell|sensitive column"):
        cv.publish(pa.table(small_columns()), sensitive, tmp_path / "release")
