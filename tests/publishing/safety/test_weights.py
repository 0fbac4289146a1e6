"""Rounding of survey weights: whatever is suggested helps, and changes little."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from countveil.publishing.safety.weights import HARMLESS, suggested_rounding, unique_share
from tests.strategies import examples


@given(st.integers(0, 2**32), st.floats(0.1, 1.5), st.floats(-3, 8))
@examples(60)
def test_what_is_suggested_leaves_few_unique_weights(seed: int, spread: float, size: float) -> None:
    weights = np.random.default_rng(seed).lognormal(size, spread, 4_000)
    numbers, counts = np.unique(weights, return_counts=True)
    found = suggested_rounding(numbers, counts)
    if found is None:
        return
    rounded = np.rint(numbers / found.step) * found.step
    assert unique_share(rounded, counts) == found.unique <= HARMLESS
    assert abs(rounded @ counts / weights.sum() - 1) <= 0.2


def test_a_usual_survey_gets_a_suggestion() -> None:
    weights = np.random.default_rng(1).lognormal(4, 0.6, 20_000)
    found = suggested_rounding(weights, np.ones(weights.size, np.int64))
    assert found is not None
    assert found.step <= 10
    assert found.change < 0.01


def test_equal_numbers_are_one_weight() -> None:
    assert unique_share(np.array([1.0, 1.0, 2.0]), np.array([1, 1, 1])) == 1 / 3
    assert unique_share(np.array([5.0]), np.array([7])) == 0
