"""Sets of values over the whole table, where no part of it can be estimated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from countveil.maths.channel import view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Tallies, make_estimator
from countveil.maths.groups import ColumnSettings
from tests.repeated_releases import releases

ELL, ROWS = 5, 1_000
TRUE = np.repeat(np.arange(ELL), ROWS // ELL)
SOME = np.arange(ROWS) % 3 == 0


def counted(codes: np.ndarray, wanted: list[int], method: str) -> np.ndarray:
    """Estimate, error and interval of a set: of the whole table, and of some of its rows."""
    whole, some = (np.bincount(each, minlength=ELL) for each in (codes, codes[SOME]))
    view = view_of_release(whole, ROWS, ELL, "mixed")
    y = np.array([whole, some], np.float64)
    truths = np.zeros((1, 0), bool)
    tallies = Tallies(truths, y[None, :, None], np.zeros(0), [view], [False])
    total = tallies.total(np.where(np.isin(np.arange(ELL), wanted), ALWAYS, NEVER), None)
    estimates = make_estimator(method, "exact", 0.95).total(tallies, total, is_count=True)
    return np.array([array[:, 0] for array in estimates.arrays()])


@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
@pytest.mark.parametrize("wanted", [[0, 1], [0, 1, 2], [0, 1, 2, 4]])
def test_the_published_counts_answer_for_the_whole_table(wanted: list[int], method: str) -> None:
    """By hand: as many as publish the set, with the error of its smaller side at 4/5 a row."""
    (codes,) = releases(TRUE, ColumnSettings(ELL, "mixed"), 1, 3)
    (estimate, error, low, high), nothing = counted(codes, wanted, method).T
    publish = np.isin(codes, wanted).sum()
    assert estimate == pytest.approx(publish)
    assert error == pytest.approx(math.sqrt(0.8 * min(publish, ROWS - publish)))
    assert low < publish < high
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.05)
    # Of some rows nothing is known, for all values have the same chance to be published.
    assert np.isnan(nothing[1])
    assert nothing[2:].tolist() == [0, SOME.sum()]


def test_the_error_of_a_set_is_no_smaller_than_what_draws_show() -> None:
    """k = 2 of 5 values in 200 groups: variance 200 k (1 - k / 5) = 240, stated as 320.

    Of 600 draws the sample variance of 240 exceeds 320 once in 10^7, and their mean leaves its 4.9
    standard errors once in 10^6. Were values drawn together, at twice the variance, it fails, but
    once in 10^10.
    """
    publish = [
        np.isin(codes, [0, 1]).sum() for codes in releases(TRUE, ColumnSettings(ELL, "mixed"), 600)
    ]
    assert np.var(publish, ddof=1) < 0.8 * 400
    assert abs(np.mean(publish) - 400) < 4.9 * math.sqrt(240 / 600)
