"""Mechanism A': every tuple publishes one value of its group, uniformly and independently.

Shown: a tuple keeps its own value with probability exactly 1/size; pairs (true, published) follow
the channel matrix of the real groups; rows of one group and of different groups are independent, as
are two sensitive columns of one publication; published counts are binomial with mean f and variance
f (1 - 1/ell). False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import Templates, channel_matrix, greedy_templates
from countveil.maths.mechanism import Dealer, PublishedTable, draw_published
from countveil.randomness import Randomness
from tests.statistical.bounds import (
    FALSE_ALARM,
    bernstein,
    binomial_two_sided,
    bonferroni,
    follows,
)
from tests.statistical.runs import publish_copies, side_by_side

Counts = NDArray[np.int64]

# Skewed on purpose: greedy groups pair similar frequencies, so W is far from a product.
SKEWED = np.array([900, 870, 500, 420, 300, 300, 150, 90, 40, 20, 7, 3], np.int64) * 60


def _pairs(table: PublishedTable) -> Counts:
    """Y as a square table."""
    square = np.zeros((table.n_values, table.n_values), np.int64)
    square[np.repeat(np.arange(table.n_values), np.diff(table.indptr)), table.values] = table.counts
    return square


def _together(groups: Templates) -> Counts:
    """C[u, v]: the number of groups that contain both values, counted group by group."""
    together = np.zeros((groups.n_values, groups.n_values), np.int64)
    bounds = itertools.pairwise(groups.indptr.tolist())
    for (start, end), times in zip(bounds, groups.multiplicity.tolist(), strict=True):
        for one, other in itertools.product(groups.members[start:end].tolist(), repeat=2):
            together[one, other] += times
    return together


def _cut_to_multiple(counts: Counts, ell: int) -> Counts:
    """Equal sizes for all groups: take what is over from the most frequent value."""
    counts = counts.copy()
    counts[0] -= counts.sum() % ell
    return counts


@pytest.mark.parametrize("ell", [2, 3, 4])
def test_pairs_follow_the_channel_of_the_real_groups(ell: int, seed: int) -> None:
    """C[u, v] tuples with u may publish v, each with probability 1/ell: exactly binomial."""
    counts = _cut_to_multiple(SKEWED, ell)
    groups = greedy_templates(counts, ell)
    pairs = _pairs(draw_published(groups, Randomness(seed).stream("draw", "column")))
    together = _together(groups)
    assert np.allclose(channel_matrix(groups), together / (ell * counts[:, None]))
    cells = zip(pairs.ravel().tolist(), together.ravel().tolist(), strict=True)
    p_value = bonferroni(binomial_two_sided(found, most, 1 / ell) for found, most in cells)
    assert p_value > FALSE_ALARM
    # The check has power: another channel, every decoy as likely as its frequency, is refused.
    mixed = counts / counts.sum() * np.ones((counts.size, 1))
    cells = zip(pairs.ravel().tolist(), np.repeat(counts, counts.size).tolist(), strict=True)
    blind = (binomial_two_sided(y, f, p) for (y, f), p in zip(cells, mixed.ravel(), strict=True))
    assert bonferroni(blind) < FALSE_ALARM


@pytest.mark.parametrize(("chunk", "dense_cells"), [(997, 1 << 22), (1 << 22, 0), (997, 0)])
def test_pairs_follow_the_channel_however_the_work_is_cut(
    chunk: int, dense_cells: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tuples in chunks, pairs in a square table or in sorted keys: the law stays the same."""
    monkeypatch.setattr("countveil.maths.mechanism.draw.CHUNK", chunk)
    monkeypatch.setattr("countveil.maths.mechanism.draw.DENSE_CELLS", dense_cells)
    groups = greedy_templates(SKEWED, 3)
    pairs = _pairs(draw_published(groups, Randomness(seed).stream("draw", "column")))
    assert np.array_equal(pairs.sum(axis=1), SKEWED)
    cells = zip(pairs.ravel().tolist(), _together(groups).ravel().tolist(), strict=True)
    p_value = bonferroni(binomial_two_sided(found, most, 1 / 3) for found, most in cells)
    assert p_value > FALSE_ALARM


@pytest.mark.parametrize("ell", [2, 3, 5, 7, 10])
def test_a_tuple_keeps_its_value_with_probability_one_over_ell(ell: int, seed: int) -> None:
    """Overall, and for each value by itself, wherever it stands in its template."""
    counts = np.full(2 * ell, 60_000, np.int64)
    table = draw_published(greedy_templates(counts, ell), Randomness(seed).stream("draw"))
    kept = np.diag(_pairs(table))
    rows = int(counts.sum())
    each = [binomial_two_sided(int(k), 60_000, 1 / ell) for k in kept]
    assert bonferroni([binomial_two_sided(int(kept.sum()), rows, 1 / ell), *each]) > FALSE_ALARM


def test_a_slightly_too_honest_draw_is_noticed(seed: int) -> None:
    """p = 0.205 instead of 1/5 with a million tuples: refused by the test above."""
    kept = int(np.count_nonzero(np.random.default_rng(seed).random(1_000_000) < 0.205))
    assert binomial_two_sided(kept, 1_000_000, 1 / 5) < FALSE_ALARM


@pytest.mark.parametrize(
    ("values", "outcomes"), [((0, 1), 4), ((0, 1, 2), 27), ((0, 1, 2, 3), 256)]
)
def test_rows_of_one_group_publish_independently(
    values: tuple[int, ...], outcomes: int, seed: int
) -> None:
    """One group: all ell^ell vectors of published values are equally likely."""
    size = len(values)
    runs = publish_copies(values, size, [1] * size, 60_000, seed)
    code = runs @ size ** np.arange(size)
    counts = np.bincount(code, minlength=outcomes)
    assert follows(counts, np.full(outcomes, 1 / outcomes)) > FALSE_ALARM


def test_rows_that_share_a_group_without_sharing_values_would_be_noticed(seed: int) -> None:
    """The mistake of dealing out a group's values without replacement: each row alone looks
    right, the rows together do not."""
    shuffled = np.argsort(np.random.default_rng(seed).random((60_000, 3)), axis=1)
    alone = np.bincount(shuffled[:, 0], minlength=3)
    assert follows(alone, np.full(3, 1 / 3)) > FALSE_ALARM
    together = np.bincount(shuffled @ 3 ** np.arange(3), minlength=27)
    assert follows(together, np.full(27, 1 / 27)) < FALSE_ALARM


def test_rows_of_different_groups_publish_independently(seed: int) -> None:
    """Three groups of the same two values: all 64 vectors are equally likely."""
    runs = publish_copies((0, 1, 0, 1, 0, 1), 2, [4, 2], 60_000, seed)
    counts = np.bincount(runs @ 2 ** np.arange(6), minlength=64)
    assert follows(counts, np.full(64, 1 / 64)) > FALSE_ALARM


def _column(randomness: Randomness, name: str, codes: Counts, blocks: int) -> Counts:
    """One sensitive column of a publication, with the streams that a publication uses."""
    groups = greedy_templates(np.bincount(codes), 5)
    table = draw_published(groups, randomness.stream("draw", name))
    dealer = Dealer(table, randomness.stream("deal", name))
    return np.concatenate([dealer.deal(part) for part in np.array_split(codes, blocks)])


def test_two_sensitive_columns_publish_independently(seed: int) -> None:
    """Two columns with the same true values and the same groups, the worst case: given the true
    value, all 25 pairs of published values are equally likely for every row."""
    codes = np.tile(np.arange(5), 40_000)
    randomness = Randomness(seed)
    one, other = (_column(randomness, name, codes, 7) for name in ("job", "pay"))
    cells = np.bincount(25 * codes + 5 * one + other, minlength=125).reshape(5, 25)
    # Groups are all alike here, so rows are independent and 40,000 of them have each true value.
    assert bonferroni(follows(row, np.full(25, 1 / 25)) for row in cells) > FALSE_ALARM
    # One stream for both columns would publish the same twice, and the check would refuse it.
    same = np.bincount(25 * codes + 6 * one, minlength=125).reshape(5, 25)
    assert bonferroni(follows(row, np.full(25, 1 / 25)) for row in same) < FALSE_ALARM


def _binomial_law(trials: int, ell: int) -> NDArray[np.float64]:
    """Every probability from whole numbers."""
    ways = (math.comb(trials, x) * (ell - 1) ** (trials - x) for x in range(trials + 1))
    return np.array([way / ell**trials for way in ways])


@pytest.mark.parametrize(
    ("histogram", "ell"), [((6, 5, 4, 2, 1), 3), ((9, 5, 2, 1, 1), 2), ((1, 1, 1, 1), 4)]
)
def test_published_counts_are_binomial(histogram: tuple[int, ...], ell: int, seed: int) -> None:
    """g is binomial with f ell trials of chance 1/ell: its law, its mean and its variance."""
    copies = 20_000
    groups = side_by_side(greedy_templates(np.array(histogram), ell), copies)
    table = draw_published(groups, Randomness(seed).stream("draw"))
    published = table.published().reshape(copies, -1)
    p_values = []
    for f, g in zip(histogram, published.T, strict=True):
        trials = f * ell
        law = _binomial_law(trials, ell)
        p_values.append(follows(np.bincount(g, minlength=trials + 1), law))
        # E[g] = f: the sum over all copies is binomial as well.
        p_values.append(binomial_two_sided(int(g.sum()), trials * copies, 1 / ell))
        # Var[g] = f (1 - 1/ell): Bernstein, with the exact variance of (g - f)^2.
        square = (np.arange(trials + 1) - f) ** 2
        variance = f * (1 - 1 / ell)
        assert law @ square == pytest.approx(variance)
        spread = float(law @ square.astype(np.float64) ** 2) - variance**2
        deviation = float(((g - f) ** 2).sum()) - copies * variance
        largest = float(square.max())
        p_values.append(bernstein(deviation, copies * spread, largest))
        # With 1/ell left out, Var = f, the same bound refuses.
        wrong = float(((g - f) ** 2).sum()) - copies * f
        assert bernstein(wrong, copies * spread, largest) < FALSE_ALARM
    assert bonferroni(p_values) > FALSE_ALARM


def test_counts_of_a_large_table_are_right_and_hidden_as_promised(seed: int) -> None:
    """Totals over a table of 216,000 rows: every g lies within its exact binomial band."""
    ell = 4
    counts = _cut_to_multiple(SKEWED, ell)
    table = draw_published(greedy_templates(counts, ell), Randomness(seed).stream("draw"))
    published = table.published()
    assert published.sum() == counts.sum()
    pairs = zip(published.tolist(), counts.tolist(), strict=True)
    p_values = [binomial_two_sided(g, f * ell, 1 / ell) for g, f in pairs]
    assert bonferroni(p_values) > FALSE_ALARM
