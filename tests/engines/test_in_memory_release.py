"""Codes in memory tell what the files tell: the same tallies, for any table and any condition."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.engines.local import release_table
from countveil.engines.local.in_memory import NotInMemoryError, boxes, many
from countveil.engines.local.in_memory import release as in_memory
from countveil.engines.local.in_memory.columns import batches_of
from countveil.engines.local.in_memory.release import InMemoryRelease
from countveil.engines.local.release_table import LocalRelease
from countveil.release import PublishedColumn
from countveil.sql.query import (
    ReleaseColumns,
    Tally,
    TallyResult,
    as_condition,
    parse_question,
    parse_where,
)
from countveil.sql.query.expressions import Expression
from tests.robustness.tools import PATIENCE
from tests.strategies import examples

NOON = dt.datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001 - the release's times have no zone
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int32(), [-7, 0, 3, 40, 2**31 - 1]),
    "large": (pa.uint64(), [0, 5, 2**64 - 1]),
    "ratio": (pa.float64(), [-1.5, 0.0, 0.25, 1e300, float("inf")]),
    "odd": (pa.float64(), [-0.0, 0.0, float("nan"), 1.0]),
    "text": (pa.string(), ["", "a", "B", "b", "é", "it's", "a%", "10"]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [dt.date(1999, 12, 31), dt.date(2024, 2, 29)]),
    "time": (pa.timestamp("us"), [NOON, NOON + dt.timedelta(microseconds=1)]),
    "fine": (pa.timestamp("ns"), [NOON, NOON + dt.timedelta(days=1)]),
    "money": (pa.decimal128(10, 2), [Decimal("-0.50"), Decimal("3.00"), Decimal("12.34")]),
    "job": (pa.string(), ["cook", "nurse", "judge"]),
    "grade": (pa.int64(), [1, 2, 3]),
}
DOMAINS = {"job": ("judge", None, "nurse", "nobody", "cook"), "grade": (3, 2, 1, None)}
COLUMNS = ReleaseColumns(
    [PublishedColumn(name, str(kind), "plain") for name, (kind, _) in TYPES.items()]
)
CONDITIONS = [
    "whole = 3", "whole <> 3", "whole > 2.5", "whole <= 40", "whole IN (3, 40, 99)", "3 < whole",
    "whole BETWEEN 0 AND 40", "NOT whole BETWEEN 0 AND 40", "whole * 2 = 6", "whole // 2 = 1",
    "whole IS NULL", "whole = 99999999999", "whole * 9000000000000000000 > 0", "whole > ratio",
    "large > 5", "large = 18446744073709551615", "large >= 0", "ratio = 0", "ratio < 0.3",
    "ratio > 1e308", "odd = 0", "odd > 1", "CAST(odd AS VARCHAR) = '-0.0'", "text = 'a'",
    "text <> 'b'", "text = 'A'", "text IN ('a', 'zz', '')", "text > 'a'", "text LIKE 'a%'",
    "text ILIKE 'b'", "lower(text) = 'b'", "length(text) = 1", "text IS NOT NULL",
    "text BETWEEN 'B' AND 'b'", "CAST(text AS INTEGER) = 10", "flag", "NOT flag", "flag = TRUE",
    "coalesce(flag, TRUE)", "day = '2024-02-29'", "day > '2000-01-01'", "year(day) = 1999",
    "CAST(day AS TIMESTAMP) < time", "time = '2024-02-29 12:30:00'",
    "time <= '2024-02-29 12:30:00'", "CAST(day AS TIMESTAMP) = '2024-02-29 00:00:00'",
    "fine > '2024-02-29 12:30:00'", "money = 3", "money > 0.25", "money IN (3, 12.34)",
    "CASE WHEN whole > 3 THEN flag ELSE text = 'a' END", "1 = 1", "1 = 2", "nullif(1, 1) = 2",
]  # fmt: skip
SUMMED = [
    "whole",
    "whole * 2 + 1",
    "-whole",
    "large",
    "money",
    "coalesce(ratio, 1)",
    "whole * money",
]
KEYS = ["whole", "text", "flag", "day", "money", "ratio", "odd", "fine", "time", "whole // 10"]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    missing = draw(st.sampled_from([0.0, 0.2]))
    columns = {}
    for name, (kind, values) in TYPES.items():
        picked = rng.integers(0, len(values), rows)
        gone = rng.random(rows) < missing
        listed = [None if g else values[i] for i, g in zip(picked, gone, strict=True)]
        columns[name] = pa.array(listed, kind)
    return pa.table(columns)


def conditions() -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(CONDITIONS),
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("(NOT {})".format, inner),
        ),
        max_leaves=4,
    )


def opened(table: pa.Table, folder: str) -> LocalRelease:
    """The table in two files of several row groups."""
    half = table.num_rows // 2
    pq.write_table(table.slice(0, half), f"{folder}/a.parquet", row_group_size=64)
    pq.write_table(table.slice(half), f"{folder}/b.parquet", row_group_size=64)
    return LocalRelease(Path(folder), ["a.parquet", "b.parquet"], table.column_names)


def loaded(files: LocalRelease, sensitive: list[str], *, by_arrow: bool = True) -> InMemoryRelease:
    """In memory, read from the files directly or through DuckDB."""
    batches = files._batches() if by_arrow else partial(batches_of, files._connection)
    assert batches is not None
    return InMemoryRelease(files._connection, files._internal, sensitive, batches)


def argument_of(text: str) -> Expression:
    question = parse_question(f"SELECT sum({text}) FROM release", COLUMNS)
    argument = question.measures[0].numerator.argument
    assert argument is not None
    return argument


def lines(counted: TallyResult) -> dict[Any, float]:
    """Every count that is not zero, under its key, pattern and place."""
    return {
        (repr(counted.keys[g]), *counted.truths[p].tolist(), *cell): count
        for g, p, *cell in np.argwhere(counted.moments[0]).tolist()
        for count in [float(counted.moments[(0, g, p, *cell)])]
    }


@pytest.mark.slow
@examples(120)
@given(
    table=tables(),
    where=conditions(),
    tests=st.lists(conditions(), max_size=2, unique=True),
    keys=st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
    sensitive=st.sampled_from([(), ("job",), ("grade",), ("job", "grade"), ("grade", "job")]),
    summed=st.lists(st.sampled_from(SUMMED), max_size=2, unique=True),
    by_arrow=st.booleans(),
)
def test_memory_and_files_tell_the_same(
    table: pa.Table,
    where: str,
    tests: list[str],
    keys: list[str],
    sensitive: tuple[str, ...],
    summed: list[str],
    by_arrow: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = opened(table, folder)
        memory = loaded(files, ["job", "grade"], by_arrow=by_arrow)
        grouped = ", ".join(keys)
        question = parse_question(
            f"SELECT {grouped + ',' if keys else ''} count(*) FROM release "
            f"{'GROUP BY ' + grouped if keys else ''}",
            COLUMNS,
        )
        tally = Tally(
            as_condition(parse_where(where, COLUMNS)),
            tuple(key.expression for key in question.keys if key.expression is not None),
            tuple(as_condition(parse_where(test, COLUMNS)) for test in tests),
            sensitive,
            tuple(map(argument_of, summed)),
        )
        domains = [DOMAINS[name] for name in sensitive]
        try:
            found = memory.tally(tally, domains)
        except NotInMemoryError:
            return
        expected = files._tally_files(tally, domains)
        assert lines(found) == lines(expected)
        assert [repr(key) for key in found.keys] == [repr(key) for key in expected.keys]
        assert found.moments.ndim == expected.moments.ndim
        if found.truths.tolist() == expected.truths.tolist():
            np.testing.assert_allclose(found.moments, expected.moments, rtol=1e-12)
            np.testing.assert_array_equal(found.ranges, expected.ranges)


def count_all_by_boxes(patched: pytest.MonkeyPatch) -> None:
    """However few conditions share their columns, and in short pieces."""
    patched.setattr(boxes, "_CUBE_ROW", 0.0)
    patched.setattr(boxes, "_CUBE_STRETCH", 0.0)
    patched.setattr(boxes, "_ROWS_PER_CELL", 1 / 1000)
    patched.setattr(many, "_ROWS_AT_ONCE", 100)


@pytest.mark.slow
@examples(60)
@given(
    table=tables(),
    asked=st.lists(conditions(), min_size=1, max_size=12),
    words=st.sampled_from([1, 2, 4096]),
    leaves=st.sampled_from([1, 1000]),
    by_boxes=st.booleans(),
)
def test_many_conditions_are_tallied_as_each_alone(
    table: pa.Table, asked: list[str], words: int, leaves: int, by_boxes: bool
) -> None:
    """Also those that codes cannot decide, in blocks of any length, and errors are the same."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(many, "_BLOCK", words)
        patched.setattr(many, "_MOST_LEAVES", leaves)
        if by_boxes:
            count_all_by_boxes(patched)
        files = opened(table, folder)
        files._tried_memory = True
        files._coded = loaded(files, ["job", "grade"])
        expressions = [as_condition(parse_where(text, COLUMNS)) for text in asked]
        domains = [DOMAINS["job"]]
        try:
            alone = [
                files._tally_files(Tally(e, (), (), ("job",), ()), domains).moments[0, 0, 0]
                for e in expressions
            ]
        except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
            with pytest.raises(type(error)):
                files.tally_each(expressions, ["job"], domains)
            return
        found = files.tally_each(expressions, ["job"], domains)
        np.testing.assert_array_equal(found, np.stack(alone))


def test_conjunctions_are_counted_in_boxes_as_by_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of values, several runs, all values, none, a column twice; and no conjunction."""
    rng = np.random.default_rng(4)
    rows = 4_000
    table = pa.table(
        {
            name: pa.array([values[i] for i in rng.integers(0, len(values), rows)], kind)
            for name, (kind, values) in TYPES.items()
        }
    )
    files = opened(table, str(tmp_path))
    asked = [
        "whole = 3", "whole BETWEEN 0 AND 40 AND text = 'a'", "flag AND text <> 'b' AND whole > 0",
        "text IN ('', 'b', '10') AND flag", "whole > 5 AND whole < 2 AND flag", "text IS NOT NULL",
        "whole > 0 AND flag AND whole < 41", "day > '2000-01-01' AND money > 0.25 AND flag",
        "text = 'nobody' AND flag", "flag OR whole = 3", "NOT flag AND NOT whole = 3",
    ]  # fmt: skip
    conditions = [as_condition(parse_where(text, COLUMNS)) for text in asked]
    by_bits = loaded(files, ["job"]).tally_each(conditions, ["job"], [DOMAINS["job"]])
    count_all_by_boxes(monkeypatch)
    in_boxes: list[int] = []
    count = boxes.Cube.count

    def counted_in(cube: boxes.Cube, columns: list[Any]) -> Any:
        in_boxes.extend(cube.numbers.tolist())
        return count(cube, columns)

    monkeypatch.setattr(boxes.Cube, "count", counted_in)
    by_boxes = loaded(files, ["job"]).tally_each(conditions, ["job"], [DOMAINS["job"]])
    assert set(in_boxes) == set(range(len(asked))) - {asked.index("flag OR whole = 3")}
    for condition, counted, expected in zip(conditions, by_boxes, by_bits, strict=True):
        assert counted is not None
        assert expected is not None
        np.testing.assert_array_equal(counted, expected)
        alone = files._tally_files(Tally(condition, (), (), ("job",), ()), [DOMAINS["job"]])
        np.testing.assert_array_equal(counted, alone.moments[0, 0, 0])


def test_a_cube_of_one_column() -> None:
    """A run, all but one value, and nothing."""
    wanted = np.array([[0, 1, 1, 0, 0], [1, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    asked = {number: {"a": wanted[number % 3]} for number in range(1_000)}
    (cube,) = boxes.choose_cubes(asked, {"a": 5}, 10**6, 50)
    codes = np.repeat(np.arange(5, dtype=np.uint8), [1, 10, 100, 1_000, 10_000])
    expected = [[110, 11_011, 0][number % 3] for number in cube.numbers.tolist()]
    assert cube.count([codes]).tolist() == expected


def test_few_conditions_are_not_worth_a_cube() -> None:
    wanted = {"a": np.array([True, False]), "b": np.array([False, True, True])}
    lengths = {"a": 2, "b": 3}
    asked_ten, asked_often = (dict.fromkeys(range(size), wanted) for size in (10, 1_000))
    assert boxes.choose_cubes(asked_ten, lengths, 10**6, 50) == []
    (cube,) = boxes.choose_cubes(asked_often, lengths, 10**6, 50)
    assert (sorted(cube.names), cube.numbers.size) == (["a", "b"], 1_000)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("condition", "is_decided"),
    [("whole = 3 AND text LIKE 'a%'", True), ("NOT (flag OR day > '2000-01-01')", True),
     ("whole > ratio", False), ("odd = 0", False), ("fine > '2024-01-01'", False)],
)  # fmt: skip
def test_what_is_decided_in_memory(condition: str, is_decided: bool, tmp_path: Path) -> None:
    table = pa.table(
        {name: pa.array((values * 8)[:16], kind) for name, (kind, values) in TYPES.items()}
    )
    files = opened(table, str(tmp_path))
    memory = loaded(files, ["job"])
    expression = as_condition(parse_where(condition, COLUMNS))
    (found,) = memory.tally_each([expression], ["job"], [DOMAINS["job"]])
    assert (found is not None) == is_decided


def test_stretches_of_one_and_of_two_sensitive_columns(tmp_path: Path) -> None:
    """With rows enough both columns order the rows; the counts stay what the files say."""
    rng = np.random.default_rng(3)
    rows = 4_000
    table = pa.table(
        {
            name: pa.array([values[i] for i in rng.integers(0, len(values), rows)], kind)
            for name, (kind, values) in TYPES.items()
        }
    )
    files = opened(table, str(tmp_path))
    memory = loaded(files, ["job", "grade"])
    assert memory._rows.columns == ["job", "grade"]
    expression = as_condition(parse_where("whole = 3 OR text = 'a'", COLUMNS))
    for names in (("job",), ("grade",), ("grade", "job"), ()):
        tally = Tally(expression, (), (), names, ())
        domains = [DOMAINS[name] for name in names]
        found, expected = memory.tally(tally, domains), files._tally_files(tally, domains)
        np.testing.assert_array_equal(found.moments.ravel(), expected.moments.ravel())


def test_a_large_release_stays_in_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory, "MOST_ROWS", 10)
    pq.write_table(pa.table({"job": ["cook", "nurse"] * 10}), tmp_path / "a.parquet")
    table = LocalRelease(tmp_path, ["a.parquet"], ["job"], ["job"])
    expression = as_condition(parse_where("1 = 1", COLUMNS))
    found = table.tally_each([expression] * 9, ["job"], [("cook", "nurse")])
    assert table._coded is None
    assert found.tolist() == [[10, 10]] * 9


def jobs(tmp_path: Path) -> LocalRelease:
    pq.write_table(pa.table({"job": ["cook", "nurse"] * 10}), tmp_path / "a.parquet")
    return LocalRelease(tmp_path, ["a.parquet"], ["job"], ["job"])


def test_no_question_waits_while_a_large_release_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read in the background, and questions go to the files until it is there."""
    monkeypatch.setattr(release_table, "WAITED_FOR", 10)
    table, may_read = jobs(tmp_path), threading.Event()
    batches = table._batches()
    assert batches is not None

    def late(name: str) -> Iterator[pa.Array[Any]]:
        may_read.wait()
        yield from batches(name)

    monkeypatch.setattr(table, "_batches", lambda: late)
    tally = Tally(as_condition(parse_where("job <> 'x'", COLUMNS)), (), (), ("job",), ())
    expected = table._tally_files(tally, [("cook", "nurse")]).moments.tolist()
    for _ in range(6):
        assert table.tally(tally, [("cook", "nurse")]).moments.tolist() == expected
    assert (table._coded, table._loading is None) == (None, False)
    may_read.set()
    # Many questions at once wait: they are answered sooner so.
    found = table.tally_each([tally.where] * 9, ["job"], [("cook", "nurse")])
    assert found.tolist() == [[10, 10]] * 9
    monkeypatch.setattr(table, "_tally_files", None)
    assert table.tally(tally, [("cook", "nurse")]).moments.tolist() == expected


@pytest.mark.slow
def test_python_ends_while_a_release_is_read(tmp_path: Path) -> None:
    """The thread stops at the next batch: nothing hangs, nothing is printed."""
    jobs(tmp_path)
    code = """
import itertools, sys, threading
from pathlib import Path
from countveil.engines.local import release_table
release_table.WAITED_FOR = 1
table = release_table.LocalRelease(Path(sys.argv[1]), ["a.parquet"], ["job"], ["job"])
batch, begun = next(table._batches()("c0")), threading.Event()
def endless(name):
    for _ in itertools.count():
        begun.set()
        yield batch
table._batches = lambda: endless
for _ in range(4):
    table._in_memory(1)
assert begun.wait(900) and table._loading is not None
print("asked")
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "asked\n", "")
