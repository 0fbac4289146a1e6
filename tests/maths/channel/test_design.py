"""The maximum-entropy design against enumeration, and where enumeration is out of reach."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from countveil.maths.channel import design_channel, expected_pairs, fit_design
from tests.strategies import eligible, examples

Floats = NDArray[np.float64]


def enumerated(counts: NDArray[np.int64], ell: int) -> tuple[Floats, Floats]:
    """Pairs of the smaller and larger groups: every set, weighed by the product of its weights."""
    design = fit_design(counts, ell)
    always = np.flatnonzero(counts == design.groups)
    between = np.flatnonzero((counts > 0) & (counts < design.groups))
    results = []
    for size, number in ((design.size, design.smaller), (design.size + 1, design.larger)):
        pairs, total = np.zeros((counts.size, counts.size)), 0.0
        for chosen in itertools.combinations(between.tolist(), size - always.size):
            weight = float(np.exp(design.log_weights[list(chosen)].sum()))
            members = np.concatenate([always, np.array(chosen, np.int64)])
            pairs[np.ix_(members, members)] += weight
            total += weight
        results.append(number * pairs / total if number else np.zeros_like(pairs))
    return results[0], results[1]


def all_pairs(counts: NDArray[np.int64], ell: int) -> Floats:
    smaller, larger = expected_pairs(fit_design(counts, ell), np.arange(counts.size))
    return smaller + larger


@examples(60)
@given(eligible(most_values=8, most=40))
def test_pairs_are_those_of_all_sets_weighed(case: tuple[NDArray[np.int64], int]) -> None:
    counts, ell = case
    smaller, larger = expected_pairs(fit_design(counts, ell), np.arange(counts.size))
    by_hand = enumerated(counts, ell)
    assert np.allclose(smaller, by_hand[0], rtol=1e-9, atol=1e-12)
    assert np.allclose(larger, by_hand[1], rtol=1e-9, atol=1e-12)
    assert np.allclose(np.diag(smaller + larger), counts, rtol=1e-8)


@examples(60)
@given(eligible(most_values=30, most=2000))
def test_published_counts_are_unbiased_under_the_design(
    case: tuple[NDArray[np.int64], int],
) -> None:
    counts, ell = case
    whole = design_channel(counts, ell)
    assert np.allclose(whole[counts > 0].sum(axis=1), 1)
    assert not whole[counts == 0].any()
    assert not whole[:, counts == 0].any()
    assert np.allclose(counts @ whole, counts, rtol=1e-8)


def test_pairs_at_ell_two_are_products() -> None:
    """Sets of two: the chance is a product of two weights, for all pairs."""
    counts = np.array([300, 250, 200, 150, 70, 30], np.int64)
    pairs = all_pairs(counts, 2)
    cross = pairs[0, 1] * pairs[2, 3] / (pairs[0, 2] * pairs[1, 3])
    other = pairs[1, 4] * pairs[3, 5] / (pairs[1, 3] * pairs[4, 5])
    assert (cross, other) == (pytest.approx(1.0), pytest.approx(1.0))


def test_equal_counts_meet_equally_often() -> None:
    counts = np.full(40, 1_000_000, np.int64)
    pairs = all_pairs(counts, 10)
    off_diagonal = pairs[~np.eye(40, dtype=bool)]
    # Of 39 others, 9 are in the same group.
    assert np.allclose(off_diagonal, 1_000_000 * 9 / 39, rtol=1e-9)


def test_values_at_the_edge_are_in_every_group() -> None:
    counts = np.array([10, 6, 4], np.int64)
    smaller, larger = expected_pairs(fit_design(counts, 2), np.arange(3))
    assert np.allclose(smaller, [[10, 6, 4], [6, 6, 0], [4, 0, 4]])
    assert not larger.any()


@pytest.mark.parametrize(
    ("n_values", "rows", "ell"),
    [(50, 10**9, 5), (50, 10**9, 13), (2_000, 10**7, 300), (100_000, 10**6, 5), (2, 10**9, 2)],
)
def test_the_fit_is_exact_at_any_size(n_values: int, rows: int, ell: int) -> None:
    shares = 1 / np.arange(1, n_values + 1) ** 0.7
    counts = np.maximum((rows * shares / shares.sum()).astype(np.int64), 1)
    counts = np.minimum(counts, rows // ell)
    while counts.max() > counts.sum() // ell:
        counts = np.minimum(counts, counts.sum() // ell)
    asked = np.argsort(-counts)[:300]
    design = fit_design(counts, ell)
    smaller, larger = expected_pairs(design, asked)
    assert np.allclose(np.diag(smaller + larger), counts[asked], rtol=1e-8)
    if n_values <= 300:
        # A value meets size - 1 others in every one of its groups.
        meetings = (smaller.sum(axis=1) + larger.sum(axis=1)) / counts[asked]
        assert np.all((meetings >= design.size - 1e-6) & (meetings <= design.size + 1 + 1e-6))


def test_a_value_one_short_of_every_group() -> None:
    """Its weight is enormous; the count that is left out comes out exactly."""
    counts = np.array([10**8 - 1, 5 * 10**7, 3 * 10**7, 2 * 10**7 + 1], np.int64)
    pairs = all_pairs(counts, 2)
    assert pairs[0].sum() - 2 * pairs[0, 0] == pytest.approx(0, abs=1e-3)
    assert pairs[1, 2] + pairs[1, 3] + pairs[2, 3] == pytest.approx(1, rel=1e-6)


def test_ineligible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="not eligible"):
        fit_design(np.array([5, 1, 1], np.int64), 2)
