"""Mixed groups: valid for every eligible histogram, and balanced at every size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView, Templates, channel_matrix, design_channel
from countveil.maths.groups import mixed_groups
from countveil.maths.groups.bulk import pool_counts
from countveil.maths.groups.trades import mixed_rows, wrap_around
from countveil.randomness import Randomness, Stream
from countveil.synthetic.occupations import OCCUPATIONS
from tests.strategies import eligible, examples

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def a_stream(seed: int = 1) -> Stream:
    return Randomness(seed).stream("groups", "column")


def assert_valid(groups: Templates, counts: Counts, ell: int) -> None:
    total = int(counts.sum())
    n_groups = total // ell
    assert np.array_equal(groups.counts, counts)
    assert int(groups.multiplicity.sum()) == n_groups
    assert int(groups.multiplicity.min()) >= 1
    assert set(groups.sizes.tolist()) <= {total // n_groups, -(-total // n_groups)}
    owner = np.repeat(np.arange(groups.sizes.size), groups.sizes)
    places = owner * counts.size + groups.members
    assert np.unique(places).size == places.size, "a group holds a value twice"


def occupations(rows: int) -> Counts:
    """The made-up census's fifty occupations, as a histogram of exactly so many rows."""
    shares = np.array([occupation.weight for occupation in OCCUPATIONS], np.float64)
    ends = np.floor(np.cumsum(shares) / shares.sum() * rows + 0.5).astype(np.int64)
    counts: Counts = np.diff(ends, prepend=0)
    return counts


def meetings_off(counts: Counts, ell: int) -> Floats:
    """How often pairs meet beyond the design."""
    groups = mixed_groups(counts, ell, a_stream())
    off: Floats = ell * counts[:, None] * (channel_matrix(groups) - design_channel(counts, ell))
    np.fill_diagonal(off, 0.0)
    return off


def worst_shift(counts: Counts, ell: int, groups: Templates) -> float:
    """The largest shift of an estimate by the mismatch of composition and design, in its errors.

    Predicates: 100 made-up ones, from 1% to 50% of the rows, each with its own strong association:
    the share of a value's people that meets it varies by a factor of four or so. Values with fewer
    than 300 rows are left out: whole groups cannot follow a design that asks for fractions of one.
    """
    rng = np.random.default_rng(5)
    off = counts[:, None] * (channel_matrix(groups) - design_channel(counts, ell))
    np.fill_diagonal(off, 0.0)
    worst = 0.0
    for _ in range(100):
        share = np.exp(rng.uniform(np.log(0.01), np.log(0.5)))
        met = np.minimum(share * np.exp(rng.normal(0, 0.7, counts.size)), 1.0)
        x = met * counts
        n, rows, a = x.sum(), float(counts.sum()), 1 / ell
        b = counts * (1 - a) / (rows - counts)
        view = ChannelView(int(rows), a, counts.astype(np.float64), None, two_state_holds=True)
        variance = view.variance(np.maximum(x, 1.0), n)
        shift = np.abs(met @ off / (a - b) / np.sqrt(variance))
        worst = max(worst, float(shift[counts >= 300].max()))
    return worst


@examples(100)
@given(eligible(), st.integers(0, 2**32))
def test_groups_partition_the_histogram(case: tuple[Counts, int], seed: int) -> None:
    counts, ell = case
    assert_valid(mixed_groups(counts, ell, a_stream(seed)), counts, ell)


@examples(60)
@given(eligible(), st.integers(1, 10**7), st.integers(0, 3), st.integers(0, 2**32))
def test_large_histograms_too(
    case: tuple[Counts, int], factor: int, singles: int, seed: int
) -> None:
    counts = np.append(case[0] * factor, np.ones(singles, np.int64))
    ell = case[1]
    assert_valid(mixed_groups(counts, ell, a_stream(seed)), counts, ell)


@pytest.mark.few(6)
@pytest.mark.parametrize("rows", [40, 400, 4 * 10**5, 4 * 10**8 + 3])
@pytest.mark.parametrize("ell", [2, 4, 7])
def test_the_very_edge(rows: int, ell: int) -> None:
    """The most frequent value fills every group, others come close, many occur once."""
    groups = rows // ell
    top = [groups, max(groups - 1, 1)] if ell > 2 else [groups]
    rest = rows - sum(top)
    ones = min(20, rest // 4)
    parts = 3 * ell
    middle = [(rest - ones) // parts] * (parts - 1)
    counts = np.array([*top, *middle, rest - ones - sum(middle), *[1] * ones], np.int64)
    assert counts.max() == counts.sum() // ell
    assert_valid(mixed_groups(counts, ell, a_stream()), counts, ell)


@pytest.mark.parametrize(
    ("counts", "ell"),
    [
        ([1, 1], 2),
        ([10**9, 10**9], 2),
        ([7] * 7, 7),
        ([5, 5, 1], 2),
        ([10**8, 10**8 - 1, 1], 2),
        ([10**8, 6 * 10**7, 4 * 10**7], 2),
        ([3, 3, 2, 2, 2], 4),
        ([10**6] * 5 + [1], 5),
        ([10**6] * 19 + [5] * 3, 19),
        ([1] * 501, 500),
        pytest.param([20_000] * 60, 50, marks=pytest.mark.slow),
        ([2_000] * 30, 25),
    ],
)
def test_awkward_histograms(counts: list[int], ell: int) -> None:
    array = np.array(counts, np.int64)
    assert_valid(mixed_groups(array, ell, a_stream()), array, ell)


@pytest.mark.slow
def test_a_hundred_thousand_values() -> None:
    shares = 1 / np.arange(1, 100_001) ** 0.7
    counts = np.maximum((600_000 * shares / shares.sum()).astype(np.int64), 1)
    assert_valid(mixed_groups(counts, 5, a_stream()), counts, 5)
    ones = np.ones(100_000, np.int64)
    assert_valid(mixed_groups(ones, 7, a_stream()), ones, 7)


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [10_001, 100_800, 10**6, 10**7 + 4, 10**9])
@pytest.mark.parametrize("ell", [2, 5, 10])
def test_the_design_describes_the_groups_at_every_size(rows: int, ell: int) -> None:
    """No estimate moves by more than 0.2 of its standard error (random groups: up to 0.6, and a
    small random composition repeated: without bound)."""
    counts = occupations(rows)
    assert worst_shift(counts, ell, mixed_groups(counts, ell, a_stream())) < 0.2


def test_a_composition_that_is_not_balanced_would_be_noticed() -> None:
    counts = occupations(100_000)
    random = mixed_rows(counts, 20_000, a_stream())
    once = np.ones(20_000, np.int64)
    unbalanced = Templates.from_rows(50, [(random, once)])
    repeated = Templates.from_rows(50, [(random, once * 100)])
    assert worst_shift(counts, 5, unbalanced) > 0.2
    assert worst_shift(counts * 100, 5, repeated) > 2


def test_pairs_meet_as_often_as_the_design_says_to_within_a_few() -> None:
    counts = occupations(10**5)
    assert np.abs(meetings_off(counts, 5)).max() < 8


def test_where_errors_are_large_pairs_may_be_off_by_a_small_part_of_them() -> None:
    """A billion rows: the root of some million meetings is a thousand."""
    counts = occupations(10**9)
    assert np.abs(meetings_off(counts, 5)).max() < 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_values", "ell", "rows"),
    [(529, 5, 10**7), (200, 100, 10**7), (400, 10, 10**9), (600, 5, 10**9)],
)
def test_many_values_and_wide_groups_in_large_tables(n_values: int, ell: int, rows: int) -> None:
    shares = 1 / np.arange(1, n_values + 1) ** (0.1 if ell == 100 else 0.7)
    counts = (rows * shares / shares.sum()).astype(np.int64)
    counts = np.minimum(counts, counts.sum() // (ell + 1))
    groups = mixed_groups(counts, ell, a_stream())
    assert_valid(groups, counts, ell)
    assert worst_shift(counts, ell, groups) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_values", "ell", "rows", "spread"),
    [(62, 2, 587_160_683, 1.7), (66, 3, 48_249_449, 2.0), (80, 6, 939_582_350, 2.3)],
)
def test_counts_that_differ_by_powers_of_ten(
    n_values: int, ell: int, rows: int, spread: float
) -> None:
    """Skewed, and no multiple of ell: a few larger groups among millions of others."""
    shares = np.exp(np.random.default_rng(3).normal(0, spread, n_values))
    counts = (rows * shares / shares.sum()).astype(np.int64)
    for _ in range(60):
        counts = np.minimum(counts, counts.sum() // ell)
    counts[np.argmin(counts)] += (1 - counts.sum()) % ell
    groups = mixed_groups(counts, ell, a_stream())
    assert_valid(groups, counts, ell)
    assert groups.multiplicity[groups.sizes > ell].sum() == 1
    assert worst_shift(counts, ell, groups) < 0.2


@pytest.mark.slow
def test_the_same_stream_gives_the_same_groups_and_another_does_not() -> None:
    counts = occupations(20_000)
    one, two, three = (mixed_groups(counts, 5, a_stream(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one.members, two.members)
    assert np.array_equal(one.multiplicity, two.multiplicity)
    assert not np.array_equal(one.members, three.members)


def test_the_order_of_the_values_does_not_matter_for_how_they_meet() -> None:
    """Renaming values renames the design: nothing depends on which value comes first."""
    counts = occupations(100_000)
    order = np.random.default_rng(3).permutation(50)
    renamed = mixed_groups(counts[order], 5, a_stream())
    assert worst_shift(counts[order], 5, renamed) < 0.2


@pytest.mark.parametrize(
    ("rows", "n_values"),
    [
        pytest.param(5_000, 20, id="all"),
        pytest.param(10**7, 20, id="pool"),
        pytest.param(10**6, 3_000, id="levels", marks=pytest.mark.slow),
    ],
)
def test_who_waits_is_told_how_far_it_is(rows: int, n_values: int) -> None:
    shares = 1 / np.arange(1, n_values + 1) ** 0.5
    counts = np.minimum((rows * shares / shares.sum()).astype(np.int64) + 1, rows // 10)
    told: list[float] = []
    groups = mixed_groups(counts, 4, a_stream(), told.append)
    assert len(told) > 5
    assert told == sorted(told)
    assert 0 <= told[0] < 0.1
    assert 0.5 < told[-1] <= 1
    assert np.array_equal(groups.members, mixed_groups(counts, 4, a_stream()).members)


def test_ineligible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="not eligible"):
        mixed_groups(np.array([5, 1, 1], np.int64), 2, a_stream())


@given(eligible())
def test_wrapping_around_gives_groups_of_different_values(case: tuple[Counts, int]) -> None:
    counts, ell = case
    groups = int(counts.sum()) // ell
    counts = counts.copy()
    while counts.sum() % groups:
        counts[np.argmax(counts)] -= 1
    rows, times = wrap_around(counts, groups)
    assert times.sum() == groups
    assert times.min() >= 1
    found = np.zeros(counts.size, np.int64)
    np.add.at(found, rows, times[:, None])
    assert np.array_equal(found, counts)
    ordered = np.sort(rows, axis=1)
    assert np.all(ordered[:, 1:] > ordered[:, :-1])


@given(eligible(most_values=20), st.integers(1, 10**6), st.integers(200, 3_000))
def test_the_pool_has_room_for_every_value(
    case: tuple[Counts, int], factor: int, pool: int
) -> None:
    counts = case[0] * factor
    groups = int(counts.sum()) // case[1]
    # A pool stands for more groups than it has.
    assume(groups >= pool)
    while counts.sum() % groups:
        counts[np.argmax(counts)] -= 1
    share = pool_counts(counts, groups, pool)
    assert share.sum() == pool * (counts.sum() // groups)
    assert share.min() >= 0
    assert share.max() <= pool
    assert not share[counts == 0].any()
    assert np.all(share[counts == groups] == pool)
