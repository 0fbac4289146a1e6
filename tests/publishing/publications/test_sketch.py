"""Sketches: what two tables have in common is estimated, whatever the types and the order."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.publishing.prepare import open_table
from countveil.publishing.publications import sketch
from countveil.publishing.publications.overlap import Overlap, overlap
from countveil.publishing.publications.sketch import COMPARED, STORED, Sketch, sketch_of
from countveil.randomness import TaskKey
from countveil.tables import Reading, Shaping
from tests.strategies import examples

KEY = bytes(range(32))


def sketched(table: pa.Table, person: str | None = None, key: bytes = KEY) -> Sketch:
    made = sketch_of(open_table(table, Reading(), Shaping(), []), person, key)
    assert made is not None
    return made


@given(
    st.lists(st.integers(0, 3_000), unique=True, min_size=1),
    st.lists(st.integers(0, 3_000), unique=True, min_size=1),
)
@examples(40)
def test_small_tables_are_compared_exactly(one: list[int], other: list[int]) -> None:
    first = sketched(pa.table({"id": [f"person {number}" for number in one]}), "id")
    second = sketched(pa.table({"id": [f"person {number}" for number in other]}), "id")
    shared = overlap(first, second)
    assert (shared.both, shared.earlier, shared.new) == (
        len({*one} & {*other}), len(one), len(other),
    )  # fmt: skip


def test_the_share_of_large_tables_is_estimated() -> None:
    def table(first: int, last: int) -> pa.Table:
        return pa.table({"id": np.arange(first, last)})

    earlier = sketched(table(0, 60_000), "id").stored()
    assert earlier.hashes.size == STORED
    for shift, share in ((0, 1.0), (30_000, 0.5), (60_000, 0.0)):
        new = sketched(table(shift, shift + 60_000), "id")
        assert new.hashes.size == COMPARED
        shared = overlap(earlier, new)
        # About 512 hashes of each are compared: 0.12 is more than five standard errors.
        assert abs(shared.share - share) <= 0.12
        assert shared.beyond_chance == (share > 0)


def test_rows_are_the_same_in_any_order_and_type() -> None:
    rng = np.random.default_rng(1)
    numbers = rng.choice(10**9, 500, replace=False)
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=int(n % 20_000)) for n in numbers]
    table = pa.table(
        {
            "number": numbers,
            "part": numbers / 8,
            "day": pa.array(days),
            "name": [f"name {'x' * int(n % 40)} {n}" for n in numbers],
            "yes": numbers % 2 == 0,
            "gap": pa.array([None if n % 3 else int(n) for n in numbers], pa.int64()),
        }
    )
    first = sketched(table)
    wider = table.take(pa.array(rng.permutation(500)))
    for name, kind in (
        ("number", pa.float64()),
        ("day", pa.timestamp("us")),
        ("gap", pa.float64()),
        ("name", pa.dictionary(pa.int32(), pa.string())),
        ("yes", pa.int8()),
    ):
        place = wider.column_names.index(name)
        wider = wider.set_column(place, name, wider[name].cast(kind))
    assert np.array_equal(sketched(wider).hashes, first.hashes)
    assert not np.intersect1d(sketched(table, key=bytes(32)).hashes, first.hashes).size


@pytest.mark.parametrize("column", ["a", "b"])
def test_every_cell_counts(column: str) -> None:
    numbers = range(400)
    table: dict[str, list[Any]] = {"a": [*map(str, numbers)], "b": [n / 3 for n in numbers]}
    first = sketched(pa.table(table))
    changed = {**table, column: [*table[column][1:], table[column][0]]}
    assert not np.intersect1d(sketched(pa.table(changed)).hashes, first.hashes).size
    # The same values in each other's column are other rows.
    turned = pa.table({"a": table["b"], "b": table["a"]})
    assert not np.intersect1d(sketched(turned).hashes, first.hashes).size


@given(st.lists(st.text(max_size=40), unique=True, min_size=2, max_size=40))
@examples(60)
def test_different_texts_have_different_hashes(texts: list[str]) -> None:
    # A missing byte is a zero byte there: the end of a text is not marked.
    plain = sorted({text.rstrip("\0") for text in texts})
    array = pa.array(plain, pa.string())
    factors = sketch._Hashing(TaskKey(KEY), persons=False).factors
    blocks = sketch._blocks(array, factors, as_text=False)
    assert len({tuple(block) for block in blocks.tolist()}) == len(plain)
    sliced = sketch._blocks(array.slice(1), factors, as_text=False)
    assert np.array_equal(sliced, blocks[1:])


def test_odd_types_do_not_stop() -> None:
    values: dict[str, Any] = {
        "decimal": pa.array(range(60), pa.decimal128(10, 2)),
        "binary": pa.array([bytes([200, n]) for n in range(60)], pa.binary()),
        "fixed": pa.array([bytes([200, n]) for n in range(60)], pa.binary(2)),
        "nothing": pa.nulls(60),
        "empty": pa.array([""] * 60),
        "time": pa.array(range(60), pa.time64("us")),
        "list": pa.array([[n] for n in range(60)]),
        "float": pa.array([np.nan, np.inf, -np.inf, 1e300, -0.0, *range(55)], pa.float64()),
    }
    assert sketched(pa.table(values)).hashes.size == 60
    for name in ("decimal", "binary", "fixed", "time"):
        assert sketched(pa.table({name: values[name]}), name).hashes.size == 60


def test_rows_with_copies_have_no_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(copies: int) -> Sketch | None:
        rows = [*range(1_000), *range(copies)]
        return sketch_of(open_table(pa.table({"a": rows}), Reading(), Shaping(), []), None, KEY)

    assert made(20) is not None
    assert made(30) is None
    assert made(1_000) is None
    monkeypatch.setattr(sketch, "MOST_ROWS", 1_000)
    assert made(20) is None


def test_large_parts_and_their_merged_hashes_are_those_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 5_000, 40_000)
    table = pa.table({"id": rows})
    all_of_them = sketched(table, "id")
    assert all_of_them.whole
    assert all_of_them.hashes.size == np.unique(rows).size
    monkeypatch.setattr(sketch, "COMPARED", 64)
    few = sketched(table, "id")
    assert np.array_equal(few.hashes, all_of_them.hashes[:64])
    assert not few.whole
    assert few.bound == int(few.hashes[-1])


@pytest.mark.parametrize(
    ("counts", "noticed"),
    [
        ((0, 0, 0), False),
        ((5, 5, 500), True),
        ((4, 4, 4), False),
        ((2, 10, 10), False),
        ((512, 512, 512), True),
        ((102, 512, 512), False),
        ((110, 512, 512), True),
        ((60, 300, 2_000), True),
    ],
)
def test_a_warning_needs_more_than_chance(counts: tuple[int, int, int], noticed: bool) -> None:
    assert Overlap(*counts).beyond_chance is noticed


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_bytes_that_are_no_text(kind: Any) -> None:
    """Whatever a table holds, looking at it does not stop its publication."""
    values = [bytes([first, 0x80]) for first in range(200, 256)]
    assert sketched(pa.table({"blob": pa.array(values, kind)})).hashes.size == len(values)


@pytest.mark.parametrize("different", [COMPARED // 2, 3 * COMPARED])
def test_the_smallest_hashes_are_those_of_all_rows_together(different: int) -> None:
    rng = np.random.default_rng(different)
    values = rng.integers(0, 2**64, different, np.uint64)
    hashes = rng.choice(values, 5 * COMPARED)
    smallest = sketch._Smallest()
    for some in np.array_split(hashes, 23):
        small = some[some <= smallest.bound]
        first, counts, whole = sketch._smallest(small)
        smallest.add(first, counts, whole=whole and small.size == some.size)
    smallest.merge()
    expected, times = np.unique(hashes, return_counts=True)
    assert np.array_equal(smallest.hashes, expected[:COMPARED])
    assert np.array_equal(smallest.counts, times[:COMPARED])
    assert smallest.whole == (expected.size <= COMPARED)
