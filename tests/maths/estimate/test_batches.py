"""Batches on plain arrays: known answers, and that all ways to add them up agree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.batch_views import BatchView, BatchViews, view_of_batch
from countveil.maths.channel.skewed_views import joint_view
from countveil.maths.estimate import batches
from countveil.maths.estimate.batches import (
    pooled_likelihood,
    pooled_shrunk,
    pooled_shrunk_sums,
    pooled_sum_likelihood,
    shrunk_in_batches,
)
from countveil.maths.estimate.pooled import Parts, PooledTallies
from countveil.maths.estimate.shrunk import likelihood_and_centre, shrunk_counts
from countveil.maths.estimate.sums import PublishedSums, shrunk_sums, sum_likelihood
from countveil.maths.estimate.totals import ALWAYS, NEVER
from countveil.maths.estimate.unbiased import unbiased_likelihood

ELL = 3
COUNTS = 10 * np.array([[60, 90, 110, 40, 100], [30, 60, 40, 20, 60], [300, 200, 250, 150, 180]])
WAYS = ("mixed", "random", "common")


def view(way: str, counts: NDArray[np.int64], left: int = 0, effect: float = 1.0) -> ChannelView:
    published = counts.copy()
    published[0] -= left
    common = (0,) if way == "common" else ()
    groups = "random" if way == "random" else "mixed"
    return view_of_batch(counts, published, (ELL, groups, common, None), effect)


def views(*ways: str, left: int = 0) -> BatchViews:
    each = zip(ways, COUNTS, strict=False)
    return BatchViews(tuple(view(way, counts, left) for way, counts in each))


def published(n_batches: int, seed: int = 1) -> NDArray[np.float64]:
    """Rows of four predicates that publish each value; the last has all rows of every batch."""
    rng = np.random.default_rng(seed)
    y = rng.poisson(COUNTS[:n_batches, None] * np.array([0.1, 0.3, 0.0, 0.0])[:, None])
    y = np.minimum(y, COUNTS[:n_batches, None])
    y[:, 3] = COUNTS[:n_batches]
    counts: NDArray[np.float64] = y.astype(np.float64)
    return counts


@pytest.mark.parametrize("way", WAYS)
def test_one_batch_is_one_release(way: str) -> None:
    one, y = views(way), published(1)
    likelihood, centre = pooled_likelihood(y, [one])
    expected, at = likelihood_and_centre(y[0], [one.views[0]])
    np.testing.assert_allclose(centre, at)
    for got, wanted in zip(likelihood.estimates(0.95).arrays(), expected.estimates(0.95).arrays(),
                           strict=True):  # fmt: skip
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    shrunk = pooled_shrunk(likelihood, centre, y, [one])
    np.testing.assert_allclose(shrunk, shrunk_counts(y[0], [one.views[0]]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("ways", [("mixed",) * 3, ("random",) * 3, ("mixed", "random", "common")])
@pytest.mark.parametrize("left", [0, 250])
def test_side_by_side_is_one_by_one(ways: tuple[str, ...], left: int) -> None:
    several, y = views(*ways, left=left), published(3)
    one = batches._side_by_side(y, several)
    other = batches._one_by_one(y, several)
    known = y.sum(axis=(0, 2)) > 0
    for got, wanted in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_allclose(got[known], wanted[known], rtol=1e-6, atol=1e-6)
    means = y.sum(axis=0) + 1
    np.testing.assert_allclose(
        batches._consistent_side_by_side(means, y, [several]),
        batches._consistent(means, y, [several]),
    )


def test_estimates_and_variances_add_up() -> None:
    several, y = views("mixed", "mixed", "random"), published(3)
    pooled, _ = pooled_likelihood(y, [several])
    parts = [
        unbiased_likelihood(counts, counts.sum(axis=1), one)
        for counts, one in zip(y, several.views, strict=True)
    ]
    np.testing.assert_allclose(pooled.estimate, sum(part.estimate for part in parts))
    # At the expected count the split is what each batch expects.
    expected = [
        counts.sum(axis=1, keepdims=True) * shares
        for counts, shares in zip(y, several.expected, strict=True)
    ]
    variances = [part.variance(at) for part, at in zip(parts, expected, strict=True)]
    variance = np.sum(variances, axis=0)
    np.testing.assert_allclose(pooled.variance(sum(expected))[:2], variance[:2], rtol=1e-6)
    np.testing.assert_allclose(pooled.size, sum(part.size for part in parts))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("effect", [1.0, 2.5])
def test_coefficients_give_the_variance(way: str, effect: float) -> None:
    one = view(way, COUNTS[0], left=5, effect=effect)
    assert isinstance(one, BatchView)
    stacked = BatchViews((one,))
    by_x, by_n, by_xx, by_xn, by_nn = (c[0] for c in stacked.coefficients)
    for x, n in ((3.0, 50.0), (20.0, 210.0), (0.0, 17.0)):
        polynomial = by_x * x + by_n * n + by_xx * x**2 + by_xn * x * n + by_nn * n**2
        at = np.full(5, x), np.full(5, n)
        np.testing.assert_allclose(polynomial, one.variance(*at), rtol=1e-9)


def test_a_complete_batch_has_the_plain_view_and_any_other_that_of_its_cases() -> None:
    plain = view("mixed", COUNTS[0])
    assert plain.complete
    assert not isinstance(plain, BatchView)
    fewer = view("mixed", COUNTS[0], left=400)
    assert isinstance(fewer, BatchView)
    assert not fewer.complete
    # The channel is still that of the draw, the shares are those of the rows.
    np.testing.assert_array_equal(fewer.b, plain.b)
    assert fewer.shares[0] < plain.shares[0] / 2
    few_rows = view_of_batch(COUNTS[0], COUNTS[0] // 10, (ELL, "mixed", (), None))
    np.testing.assert_allclose(few_rows.shares, plain.shares)


def test_more_rows_than_the_draw_do_not_count_as_the_whole_batch() -> None:
    """As many rows as cases, but of others: there is no reason to trust their counts."""
    moved = COUNTS[0] + np.array([50, -50, 0, 0, 0])
    one = view_of_batch(COUNTS[0], moved, (ELL, "mixed", (), None))
    likelihood, _ = pooled_likelihood(moved[None, None].astype(float), [BatchViews((one,))])
    plain, _ = pooled_likelihood(COUNTS[:1, None].astype(float), [views("mixed")])
    assert likelihood.estimate[0, 0] > moved[0] + 10
    assert plain.estimate[0, 0] == COUNTS[0, 0]


def test_what_one_batch_cannot_tell_is_expected() -> None:
    """In the second batch, value 0 has a third of the rows: it is in every group."""
    counts = 10 * np.array([[60, 90, 110, 40, 100], [20, 10, 10, 10, 10]])
    several = BatchViews(tuple(view("mixed", one) for one in counts))
    assert several.identifiable.tolist() == [[True] * 5, [False, True, True, True, True]]
    y = np.array([[[10.0, 20, 30, 10, 20]], [[4.0, 2, 2, 2, 2]]])
    likelihood, _ = pooled_likelihood(y, [several])
    alone, _ = pooled_likelihood(y[:1], [BatchViews(several.views[:1])])
    assert likelihood.estimate[0, 0] == pytest.approx(alone.estimate[0, 0] + 12 / 3)
    # Its possible error is three tenths, or as far as the first batch departs.
    ratio = max(0.0, alone.estimate[0, 0] / (90 * 0.15))
    spread = 4 * max(0.3, abs(ratio - 1))
    assert likelihood.constant[0, 0] == pytest.approx(alone.constant[0, 0] + spread**2)
    # Where all of it would be a guess, nothing is said.
    guess, _ = pooled_likelihood(y * np.array([0, 1])[:, None, None], [several])
    assert np.isnan(guess.estimate[0, 0])
    assert np.isfinite(guess.estimate[0, 1:]).all()
    interval = guess.estimates(0.95)
    assert (interval.low[0, 0], interval.high[0, 0]) == (0, 12)


def test_the_same_in_totals() -> None:
    counts = 10 * np.array([[60, 90, 110, 40, 100], [20, 10, 10, 10, 10]])
    several = BatchViews(tuple(view("mixed", one) for one in counts))
    y = np.array([[[10.0, 20, 30, 10, 20]], [[4.0, 2, 2, 2, 2]]])
    moments = y[:, None, :, None]
    parts = Parts(moments, (several,))
    tallies = PooledTallies.of(np.zeros((1, 0), bool), np.zeros(0), [False], parts)
    condition = np.array([ALWAYS, NEVER, NEVER, NEVER, NEVER])
    total = tallies.total(condition, None)
    likelihood, _ = pooled_likelihood(y, [several])
    assert total.estimate[0, 0] == pytest.approx(likelihood.estimate[0, 0])
    assert total.misfit[0, 0] > 0.3 * 4 - 1e-9
    assert total.rows[0, 0] == 102
    # All values but it are estimated through it.
    others = tallies.total(np.array([NEVER, *[ALWAYS] * 4]), None)
    assert others.estimate[0, 0] == pytest.approx(102 - total.estimate[0, 0])


@pytest.mark.parametrize("ways", [("mixed",), ("mixed", "random")])
def test_sums_of_one_batch_are_those_of_one_release(ways: tuple[str, ...]) -> None:
    """A second batch without rows changes nothing."""
    several = views(*ways)
    y = published(len(ways))[:, :2]
    y[1:] = 0
    rng = np.random.default_rng(3)
    first = y * rng.uniform(1, 3, y.shape)
    second = first * rng.uniform(3, 4, y.shape)
    sums = PublishedSums(y, first, second)
    here = PublishedSums(y[0], first[0], second[0])
    counts = shrunk_in_batches(y, [several])
    got, unit = pooled_sum_likelihood(sums, [several], counts)
    wanted, scale = sum_likelihood(here, [several.views[0]], counts)
    np.testing.assert_allclose(unit, scale)
    for one, other in zip(got.arrays(), wanted.arrays(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    likelihood = pooled_likelihood(y, [several])[0]
    np.testing.assert_allclose(
        pooled_shrunk_sums(sums, [several], counts, likelihood),
        shrunk_sums(here, [several.views[0]], counts, likelihood),
    )


def test_two_columns_of_one_batch_are_those_of_one_release() -> None:
    rng = np.random.default_rng(5)
    columns = [views("mixed"), BatchViews((view("random", COUNTS[0][::-1]),))]
    y = rng.poisson(3.0, (1, 2, 5, 5)).astype(float)
    likelihood, centre = pooled_likelihood(y, columns)
    wanted, at = likelihood_and_centre(y[0], [column.views[0] for column in columns])
    np.testing.assert_allclose(centre, at, rtol=1e-6)
    for one, other in zip(likelihood.arrays(), wanted.arrays(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_columns_together_of_one_batch_are_those_of_one_release() -> None:
    rng = np.random.default_rng(6)
    one = joint_view(rng.integers(5, 40, (4, 3)).astype(float), 300, ELL)
    y = rng.poisson(4.0, (1, 3, 12)).astype(float)
    np.testing.assert_allclose(
        shrunk_in_batches(y, [BatchViews((one,))]), shrunk_counts(y[0], [one]), rtol=1e-6
    )


def test_parts_that_differ_in_what_is_left_out_become_one() -> None:
    one, two = views("mixed", "mixed"), views("random", "random")
    first = BatchViews((one.views[0], one.views[0], one.views[1]))
    second = BatchViews((two.views[0], two.views[1], two.views[1]))
    moments = np.random.default_rng(1).random((3, 1, 2, 1, 5, 5))
    parts = Parts(moments, (first, second)).along([0])
    assert parts.columns[0].views == one.views
    summed = moments.sum(axis=-1)
    np.testing.assert_allclose(parts.moments, [summed[0] + summed[1], summed[2]])


def test_many_batches_lose_next_to_nothing() -> None:
    """Of twelve equal batches, the pooled estimate has the centre and interval of one draw."""
    counts = COUNTS[2] // 10 * 12
    whole = view("mixed", counts)
    twelve = BatchViews(tuple(view("mixed", counts // 12) for _ in range(12)))
    y = np.array([40.0, 20, 60, 12, 24])
    pooled, centre = pooled_likelihood(np.tile(y / 12, (12, 1, 1)), [twelve])
    single, at = likelihood_and_centre(y[None], [whole])
    np.testing.assert_allclose(centre, at, rtol=1e-9)
    np.testing.assert_allclose(pooled.estimate, single.estimate, rtol=0.02)
    error = pooled.estimates(0.95).std_error, single.estimates(0.95).std_error
    np.testing.assert_allclose(*error, rtol=0.02)
