"""Numbers put into classes: what the publisher writes, what the labels say, what stays secret."""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError, SettingsError
from countveil.tables.classes import Bins, Classes, put_into_classes


def counted(values: list[Any]) -> tuple[list[Any], Any]:
    distinct = sorted(set(values) - {None})
    there = [None] * (None in values) + distinct
    return there, np.array([values.count(value) for value in there])


@pytest.mark.parametrize(
    ("text", "bins"),
    [
        ("10", Bins(10)),
        (" q4 ", Bins(4, equal_frequency=True)),
        ("Q4", Bins(4, equal_frequency=True)),
        ("18,30,45", Bins(edges=(18.0, 30.0, 45.0))),
        ("-5,2.5", Bins(edges=(-5.0, 2.5))),
        ("18,", Bins(edges=(18.0,))),
    ],
)
def test_what_can_be_written(text: str, bins: Bins) -> None:
    assert Bins.parse(text) == bins


@pytest.mark.parametrize(
    "text", ["", "1", "0", "-3", "q1", "q", "ten", "30,18", "18,18", "nan,3", "inf,", ",", "1" * 8]
)
def test_what_cannot_be_written(text: str) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        Bins.parse(text)


def test_what_python_may_say() -> None:
    assert Bins.of(10) == Bins.parse("10")
    assert Bins.of([18, 30]) == Bins.parse("18,30")
    assert Bins.of("q5") == Bins.parse("q5")
    assert Bins.of([18]) == Bins.parse("18,")


def test_labels_are_readable_and_in_order() -> None:
    assert Classes((18, 30, 31, 65), whole=True).labels == (
        "below 18", "18 to 29", "30", "31 to 64", "65 or more",
    )  # fmt: skip
    assert Classes((1.5, 2.0), whole=False).labels == (
        "below 1.5", "1.5 to below 2", "2 or more",
    )  # fmt: skip


def test_declared_edges_are_used_as_they_are() -> None:
    values, counts = counted([None, 17, 18, 29, 30, 99, 99])
    labels, classes = put_into_classes("age", values, counts, Bins.parse("18,30"))
    assert labels == [None, "below 18", "18 to 29", "18 to 29", "30 or more", "30 or more"]
    assert classes == Classes((18.0, 30.0), whole=True)


def test_rounded_edges_divide_the_bulk() -> None:
    values = list(range(1, 100))
    _, classes = put_into_classes("age", values, np.ones(99, np.int64), Bins.parse("10"))
    assert classes.edges == (10, 20, 30, 40, 50, 60, 70, 80, 90)


def test_equal_frequency_classes_have_about_equally_many_rows() -> None:
    values = list(range(1_000))
    weight = np.ones(1_000, np.int64)
    labels, classes = put_into_classes("x", values, weight, Bins.parse("q4"))
    sizes = [labels.count(label) for label in classes.labels]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) <= 20


def test_decimals_and_floats_can_be_binned_and_nan_is_missing() -> None:
    values = [decimal.Decimal("1.10"), decimal.Decimal("2.25"), decimal.Decimal("9.99")]
    labels, _ = put_into_classes("x", values, np.ones(3, np.int64), Bins.parse("2,5"))
    assert labels == ["below 2", "2 to below 5", "5 or more"]
    labels, _ = put_into_classes("x", [1.5, math.nan], np.ones(2, np.int64), Bins.parse("2,"))
    assert labels == ["below 2", None]


@pytest.mark.parametrize("values", [["a", "b"], [True, False], ["1", "2"]])
def test_only_numbers_have_classes(values: list[Any]) -> None:
    with pytest.raises(SettingsError, match="holds no numbers"):
        put_into_classes("x", values, np.ones(2, np.int64), Bins.parse("10"))


def test_values_that_are_too_much_alike() -> None:
    with pytest.raises(InputError, match="too much alike"):
        put_into_classes("x", [5], np.array([100]), Bins.parse("10"))
    with pytest.raises(InputError, match="no values"):
        put_into_classes("x", [None], np.array([100]), Bins.parse("10"))


numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@given(
    st.dictionaries(numbers, st.integers(1, 50), min_size=2, max_size=60),
    st.sampled_from(["2", "7", "q3", "q10", "0,", "-10,0,10.5"]),
)
def test_every_number_is_in_the_class_its_label_says(counts: dict[float, int], text: str) -> None:
    values = sorted(counts)
    weights = np.array([counts[value] for value in values])
    try:
        labels, classes = put_into_classes("x", values, weights, Bins.parse(text))
    except InputError:
        return
    edges = (-math.inf, *classes.edges, math.inf)
    assert len(set(classes.labels)) == len(classes.labels) == len(edges) - 1
    places = [classes.labels.index(str(label)) for label in labels]
    assert places == sorted(places)
    for value, place in zip(values, places, strict=True):
        assert edges[place] <= value < edges[place + 1]


@given(st.dictionaries(numbers, st.integers(1, 50), min_size=5, max_size=60))
def test_ends_are_open_and_hide_the_extremes(counts: dict[float, int]) -> None:
    values = sorted(counts)
    weights = np.array([counts[value] for value in values])
    try:
        _, classes = put_into_classes("x", values, weights, Bins.parse("q4"))
    except InputError:
        return
    assert classes.labels[0].startswith("below ")
    assert classes.labels[-1].endswith(" or more")
    assert values[0] < classes.edges[0]
