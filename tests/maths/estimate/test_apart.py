"""Counts of sets in two columns apart: what is known of one column alone stays true."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Tallies, make_estimator
from countveil.maths.estimate.covariances.apart import variance_apart
from countveil.maths.groups import ColumnSettings
from tests.repeated_releases import releases

ROWS, SIZES, ELL = 6_000, (20, 16), 2


def published(seed: int) -> tuple[list[ChannelView], NDArray[np.float64], NDArray[np.int64]]:
    """Views of both columns, tallies of the whole table and of some rows, and the true values."""
    rng = np.random.default_rng(seed)
    true = [rng.integers(0, size, ROWS) for size in SIZES]
    settings = ColumnSettings(ELL, "mixed")
    columns = [
        next(iter(releases(codes, settings, 1, 10 * seed + number)))
        for number, codes in enumerate(true)
    ]
    views = [
        view_of_release(np.bincount(codes, minlength=size), ROWS, ELL, "mixed")
        for codes, size in zip(columns, SIZES, strict=True)
    ]
    cells = columns[0] * SIZES[1] + columns[1]
    size = SIZES[0] * SIZES[1]
    some = cells[: ROWS // 3]
    y = np.array([np.bincount(each, minlength=size) for each in (cells, some)], np.float64)
    return views, y.reshape(2, *SIZES), np.stack(true)


def tallied(y: NDArray[np.float64], *views: ChannelView) -> Tallies:
    by_value = [False] * len(views)
    return Tallies(np.zeros((1, 0), bool), y[None, :, None], np.zeros(0), views, by_value)


def first_values(size: int, some: int) -> NDArray[np.bool_]:
    return np.arange(size) < some


@pytest.mark.parametrize("axis", [0, 1])
def test_a_column_of_which_all_values_count_takes_no_part(axis: int) -> None:
    """Rows are then those of the other column alone, with its own error."""
    views, y, _ = published(1)
    sets = [first_values(size, size if k == axis else 3) for k, size in enumerate(SIZES)]
    inside = np.outer(*sets)
    apart = variance_apart(tallied(y, *views).total(np.where(inside, ALWAYS, NEVER), None))
    other = 1 - axis
    alone = tallied(y.sum(axis=1 + axis), views[other])
    expected = alone.total(np.where(sets[other], ALWAYS, NEVER), None).variance
    assert apart is not None
    np.testing.assert_allclose(apart, expected, rtol=0.1)


def test_the_rows_outside_are_as_uncertain_as_those_inside() -> None:
    views, y, _ = published(2)
    inside = np.outer(first_values(SIZES[0], 4), first_values(SIZES[1], 5))
    tallies = tallied(y, *views)
    one, two = (
        variance_apart(tallies.total(np.where(rows, ALWAYS, NEVER), None))
        for rows in (inside, ~inside)
    )
    assert one is not None
    assert two is not None
    np.testing.assert_allclose(one, two)


def test_other_counts_are_left_to_rows_by_themselves() -> None:
    """Neither a pair of sets nor its opposite: either of two single combinations."""
    views, y, _ = published(3)
    cells = np.zeros(SIZES, bool)
    cells[[0, 1], [0, 1]] = True
    assert variance_apart(tallied(y, *views).total(np.where(cells, ALWAYS, NEVER), None)) is None


@pytest.mark.slow
def test_printed_errors_are_those_of_repeated_releases() -> None:
    """Nearly all values and half of them, in the whole table.

    The ratio of 200 releases has a standard error of 5%; five of these are one in 10^6. Rows by
    themselves would have errors that are 1.6 times as large.
    """
    inside = np.outer(first_values(SIZES[0], SIZES[0] - 1), first_values(SIZES[1], SIZES[1] // 2))
    off, printed, by_rows = [], [], []
    for seed in range(200):
        views, y, true = published(seed)
        total = tallied(y, *views).total(np.where(inside, ALWAYS, NEVER), None)
        told = make_estimator("unbiased", "exact", 0.95).total(total.tallies, total, is_count=True)
        off.append(float(told.estimate.flat[0]) - inside[true[0], true[1]].sum())
        printed.append(float(told.std_error.flat[0]))
        by_rows.append(float(total.variance.flat[0]))
    mean_square = np.mean(np.square(off))
    assert abs(np.sqrt(np.mean(np.square(printed)) / mean_square) - 1) < 0.25
    assert np.sqrt(np.mean(by_rows) / mean_square) > 1.25
