"""The largest ell of an inspection is the largest that `publish` accepts."""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from tests.strategies import examples


def accepts(table: pa.Table, ell: int, bins: str) -> bool:
    """Whether publishing with this ell is possible."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            cv.publish(
                table, {"x": ell}, Path(folder) / "r", keep=["x", "y"], dry_run=True,
                bins={"x": bins} if bins else None,
            )  # fmt: skip
        except cv.CountveilError:
            return False
    return True


def assert_agrees(values: pa.Array[Any]) -> None:
    table = pa.table({"x": values, "y": [row % 2 for row in range(len(values))]})
    column = next(c for c in cv.inspect(table, sensitive="x").columns if c.name == "x")
    if column.largest_ell > 1:
        assert accepts(table, column.largest_ell, column.bins)
    assert not accepts(table, max(2, column.largest_ell + 1), column.bins)


NUMBERS = 100
COLUMNS = {
    "as many numbers as may be": pa.array([*range(NUMBERS)] * 3),
    "one number more": pa.array([*range(NUMBERS + 1)] * 3),
    "as many, and missing ones": pa.array([*range(NUMBERS), None] * 3),
    "floating point": pa.array([0.5, 1.5, 2.5, 3.5] * 30),
    "floating point with NaN and missing": pa.array([0.5, 1.5, float("nan"), None] * 30),
    "one number in floating point, or none": pa.array([0.5, None] * 60),
    "decimals": pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("3.50")] * 40),
    "times of the day": pa.array([dt.time(8), dt.time(9), dt.time(10)] * 40),
    "nothing at all": pa.nulls(60),
    "nothing but missing numbers": pa.array([None] * 60, pa.int64()),
}


@pytest.mark.few(4)
@pytest.mark.filterwarnings("ignore:Beware")
@pytest.mark.parametrize("name", COLUMNS)
def test_publish_accepts_what_inspect_says(name: str) -> None:
    assert_agrees(COLUMNS[name])


@pytest.mark.filterwarnings("ignore:Beware")
@given(
    st.one_of(
        st.lists(st.integers(0, 150) | st.none(), min_size=30, max_size=200).map(
            lambda values: pa.array(values, pa.int64())
        ),
        st.lists(st.floats(0, 5) | st.none(), min_size=30, max_size=100).map(
            lambda values: pa.array(values, pa.float64())
        ),
        st.lists(st.sampled_from("abcde") | st.none(), min_size=30, max_size=100).map(
            lambda values: pa.array(values, pa.string())
        ),
    )
)
@examples(40)
def test_publish_accepts_what_inspect_says_of_any_column(values: pa.Array[Any]) -> None:
    assert_agrees(values)
