"""What is done to every cell: numbers stay numbers, dates become periods, codes become prefixes."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError, SettingsError
from countveil.release.steps import PERIODS
from countveil.tables.cells import CellChange, number_of
from tests.strategies import examples

STEPS = st.sampled_from([1, 2, 5, 10, 1000, 0.5, 0.25, 0.1, 0.01, 3, 7])


def applied(values: list[Any], kind: Any = None, **change: Any) -> list[Any]:
    array = pa.array(values, kind)
    result: list[Any] = CellChange.of("x", **change).applied("x", array).to_pylist()
    return result


def test_known_answers() -> None:
    assert applied([1, 4, 5, 6, None, -7], step=5) == [0, 5, 5, 5, None, -5]
    # Of two multiples that are as near, the even one.
    assert applied([5, 15, 25, -5], step=10) == [0, 20, 20, 0]
    assert applied([0.26, 0.34, None], step=0.1) == [0.3, 0.3, None]
    assert applied([10, 50, 900], bottom=20, top=500) == [20, 50, 500]
    assert applied([149.0, 151.0], step=100, top=120) == [100.0, 120.0]
    assert applied(["250.13", "25", "V57", None], prefix=4) == ["250", "25", "V57", None]
    assert applied([12345, 7], prefix=2) == ["12", "7"]
    assert applied(["SW1A 1AA"], prefix=5) == ["SW1A"]


@pytest.mark.parametrize(
    ("period", "label"),
    [
        ("day", "2024-12-30"), ("week", "2025-W01"), ("month", "2024-12"), ("quarter", "2024-Q4"),
        ("year", "2024"), ("decade", "2020s"),
    ],
)  # fmt: skip
def test_a_day_in_each_period(period: str, label: str) -> None:
    day = dt.date(2024, 12, 30)
    late = dt.datetime(2024, 12, 30, 23, 59, 59)  # noqa: DTZ001 - columns have no zone
    assert applied([day, None], period=period) == [label, None]
    assert applied([late], pa.timestamp("ms"), period=period) == [label]
    assert applied(["2024-12-30", "2024-12-30T23:59"], period=period) == [label, label]


@examples(200)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=1), STEPS)
def test_rounded_numbers_are_near_multiples_and_stay(values: list[int], step: float) -> None:
    once = applied(values, step=step)
    assert applied(once, step=step) == once
    for before, after in zip(values, once, strict=True):
        assert abs(before - after) <= step / 2 + 1e-6
        assert abs(after / step - round(after / step)) < 1e-6


@examples(200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1), STEPS, st.floats(-10, 10))
def test_no_number_is_beyond_a_limit(values: list[float], step: float, top: float) -> None:
    once = applied(values, pa.float64(), step=step, bottom=-20, top=top)
    assert all(-20 <= number <= top for number in once)
    assert applied(once, pa.float64(), bottom=-20, top=top) == once


def test_large_whole_numbers_are_rounded_exactly() -> None:
    large = (1 << 53) + 1
    assert applied([large], pa.int64(), step=1) == [large]
    with pytest.raises(InputError, match="too large"):
        applied([(1 << 63) + 5], pa.uint64(), step=2)


@examples(200)
@given(st.lists(st.dates(), min_size=2), st.sampled_from(sorted(PERIODS)))
def test_periods_sort_as_their_days_do(days: list[dt.date], period: str) -> None:
    labels = applied(sorted(days), pa.date32(), period=period)
    assert labels == sorted(labels)


@examples(200)
@given(st.lists(st.text("ABC019. -", max_size=8)), st.integers(1, 6))
def test_a_prefix_of_a_prefix_is_the_prefix(texts: list[str], length: int) -> None:
    once = applied(texts, pa.string(), prefix=length)
    assert applied(once, pa.string(), prefix=length) == once
    assert all(len(short) <= length for short in once)


@pytest.mark.parametrize(
    ("values", "change"),
    [
        (["31.12.2024"], {"period": "month"}),
        (["2024-02-30"], {"period": "month"}),
        (["2024-01-01", ""], {"period": "year"}),
    ],
)
def test_text_that_is_no_date_is_refused_and_not_quoted(
    values: list[str], change: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="'x' is text, and not all of it is dates") as caught:
        applied(values, **change)
    assert "02-30" not in str(caught.value)
    assert "31.12" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [{"step": 0}, {"step": -1}, {"bottom": 5, "top": 4}, {"step": 5, "period": "month"}],
)
def test_what_cannot_be_meant(change: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        CellChange.of("x", **change)


@pytest.mark.parametrize("text", ["", "ten", "nan", "inf", "1,5", True])
def test_a_limit_is_a_number(text: object) -> None:
    with pytest.raises(SettingsError, match="needs a number"):
        number_of(text, "--top", "x")


def test_numbers_stay_as_whole_as_they_are_written() -> None:
    assert [type(number_of(text, "", "x")) for text in ("5", "5.0", 5.0, "0.5")] == [
        int,
        int,
        int,
        float,
    ]
