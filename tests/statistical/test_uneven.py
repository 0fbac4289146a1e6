"""Uneven groups: when ell does not divide the rows, none is lost and the law stays as promised.

With k = N // ell groups the sizes are N // k and one more, and a tuple publishes each value of its
group with probability 1/size. The interesting case is N mod ell > N // ell, where every group takes
in more than one tuple. False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import channel_matrix, greedy_templates
from countveil.maths.mechanism import draw_published
from countveil.randomness import Randomness
from tests.statistical import textbook
from tests.statistical.bounds import FALSE_ALARM, bernstein, bonferroni, follows
from tests.statistical.runs import as_array, publish_copies, side_by_side, vectors_follow

Floats = NDArray[np.float64]

# (histogram, ell): N mod ell against N // ell is 2 > 1, 3 > 1, 3 > 2, 3 > 2, 1 < 4.
UNEVEN = [
    ((1, 1, 1, 1, 1), 3),
    ((1, 1, 1, 1, 1, 1, 1), 4),
    ((2, 2, 2, 2, 1, 1, 1), 4),
    ((2, 2, 2, 1, 1, 1, 1, 1), 4),
    ((4, 3, 1, 1), 2),
]


def _pair_law(histogram: tuple[int, ...], ell: int) -> tuple[Floats, Floats]:
    """Mean and variance of Y[u, v], group by group from the textbook's groups."""
    mean = np.zeros((len(histogram), len(histogram)))
    variance = np.zeros_like(mean)
    for group in textbook.greedy_groups(histogram, ell):
        chance = 1 / len(group)
        for u, v in itertools.product(group, repeat=2):
            mean[u, v] += chance
            variance[u, v] += chance * (1 - chance)
    return mean, variance


def _pair_totals(histogram: tuple[int, ...], ell: int, copies: int, seed: int) -> Floats:
    """Y summed over copies of the table."""
    n_values = len(histogram)
    groups = side_by_side(greedy_templates(np.array(histogram), ell), copies)
    table = draw_published(groups, Randomness(seed).stream("draw"))
    true = np.repeat(np.arange(table.n_values), np.diff(table.indptr)) % n_values
    totals = np.zeros((n_values, n_values))
    np.add.at(totals, (true, table.values % n_values), table.counts)
    return totals


@pytest.mark.parametrize(("histogram", "ell"), UNEVEN)
def test_pairs_follow_the_channel(histogram: tuple[int, ...], ell: int, seed: int) -> None:
    copies = 20_000
    mean, variance = _pair_law(histogram, ell)
    matrix = channel_matrix(greedy_templates(np.array(histogram), ell))
    assert np.allclose(matrix * np.array(histogram)[:, None], mean)
    off = _pair_totals(histogram, ell, copies, seed) - copies * mean
    assert np.all(off[mean == 0] == 0)
    cells = zip(off[mean > 0], variance[mean > 0], strict=True)
    assert bonferroni(bernstein(d, copies * var, 1.0) for d, var in cells) > FALSE_ALARM


@pytest.mark.parametrize(("histogram", "ell"), UNEVEN)
def test_kept_values_and_published_counts(histogram: tuple[int, ...], ell: int, seed: int) -> None:
    """A tuple keeps its value in one of its group's size cases, and E[g] = f for every value."""
    copies = 20_000
    mean, variance = _pair_law(histogram, ell)
    totals = _pair_totals(histogram, ell, copies, seed)
    kept = float(np.trace(totals) - copies * np.trace(mean))
    p_values = [bernstein(kept, copies * float(np.trace(variance)), 1.0)]
    assert np.allclose(mean.sum(axis=0), histogram)
    for f, g, spread in zip(histogram, totals.sum(axis=0), variance.sum(axis=0), strict=True):
        p_values.append(bernstein(g - copies * f, copies * spread, 1.0))
    assert bonferroni(p_values) > FALSE_ALARM
    # Exactly one tuple per group is kept on average; 1/ell of all tuples would be more.
    assert np.trace(mean) == pytest.approx(sum(histogram) // ell)
    too_many = float(np.trace(totals)) - copies * sum(histogram) / ell
    assert bernstein(too_many, copies * float(np.trace(variance)), 1.0) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [[5], [1, 1, 1, 1, 1], [3, 2]])
def test_a_single_group_of_more_than_ell(blocks: list[int], seed: int) -> None:
    """Five rows at ell = 3 are one group of five: all 3,125 vectors are equally likely."""
    runs = publish_copies((0, 1, 2, 3, 4), 3, blocks, 50_000, seed)
    counts = np.bincount(runs @ 5 ** np.arange(5), minlength=3125)
    assert follows(counts, np.full(3125, 1 / 3125)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [[11], [2, 9], [1] * 11])
def test_rows_of_two_groups_of_five_and_six(blocks: list[int], seed: int) -> None:
    """Eleven rows at ell = 4: every pair of rows follows its exact law."""
    values = (0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3)
    runs = publish_copies(values, 4, blocks, 20_000, seed)
    p_values = []
    for pair in itertools.combinations(range(11), 2):
        law = as_array(textbook.exact_law(values, 4, pair), 7)
        p_values.append(vectors_follow(runs[:, pair], law))
    assert bonferroni(p_values) > FALSE_ALARM
