"""The mechanism on mixed groups: the law of the paper's algorithm for that composition.

Shown: whole vectors of published values follow the exact law of the textbook run on the same
groups, so which tuple of a value sits in which group is as likely for all (only the templates
matter); pairs (true, published) follow the channel of the real groups; intervals cover at 5 * 10^7
rows, where the two-state answer alone would not. False-alarm rate of every test: at most 1e-6, for
any seed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel import Templates, channel_matrix, view_of_release
from countveil.maths.estimate import unbiased_counts
from countveil.maths.groups import mixed_groups
from countveil.maths.guarantees.binomial import binomial_upper
from countveil.maths.mechanism import draw_published
from countveil.randomness import Randomness
from tests.statistical import textbook
from tests.statistical.bounds import FALSE_ALARM, binomial_two_sided, bonferroni
from tests.statistical.runs import as_array, publish_copies, vectors_follow

Counts = NDArray[np.int64]

SKEWED = np.array([900, 870, 500, 420, 300, 300, 150, 90, 40, 20, 7, 3], np.int64) * 60
TRIALS = 120


def _as_lists(groups: Templates) -> list[list[int]]:
    bounds = itertools.pairwise(groups.indptr.tolist())
    pairs = zip(bounds, groups.multiplicity.tolist(), strict=True)
    return [groups.members[a:b].tolist() for (a, b), times in pairs for _ in range(times)]


@pytest.mark.few(2)
@pytest.mark.parametrize("values", [(0, 1, 0, 2, 0, 1), (0, 1, 2, 0, 1), (0, 1, 2, 0, 3, 1)])
@pytest.mark.parametrize("in_blocks", [True, False])
def test_vectors_follow_the_exact_law(values: tuple[int, ...], in_blocks: bool, seed: int) -> None:
    groups = mixed_groups(np.bincount(values), 2, Randomness(seed).stream("groups"))
    law = as_array(textbook.exact_law(values, 2, groups=_as_lists(groups)), max(values) + 1)
    blocks = [1, 3, len(values) - 4] if in_blocks else [len(values)]
    runs = publish_copies(values, 2, blocks, 25_000, seed, groups)
    assert vectors_follow(runs, law) > FALSE_ALARM


@pytest.mark.parametrize("ell", [2, 3, 4])
def test_pairs_follow_the_channel_of_the_real_groups(ell: int, seed: int) -> None:
    """C[u, v] tuples with u may publish v, each with probability 1/ell: exactly binomial."""
    counts = SKEWED.copy()
    counts[0] -= counts.sum() % ell
    randomness = Randomness(seed)
    groups = mixed_groups(counts, ell, randomness.stream("groups", "column"))
    table = draw_published(groups, randomness.stream("draw", "column"))
    pairs = np.zeros((counts.size, counts.size), np.int64)
    pairs[np.repeat(np.arange(counts.size), np.diff(table.indptr)), table.values] = table.counts
    together = np.rint(channel_matrix(groups) * ell * counts[:, None]).astype(np.int64)
    cells = zip(pairs.ravel().tolist(), together.ravel().tolist(), strict=True)
    p_value = bonferroni(binomial_two_sided(found, most, 1 / ell) for found, most in cells)
    assert p_value > FALSE_ALARM


def _publish_tallies(
    groups: Templates, inside: Counts, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Published counts of the rows of a predicate and of all rows, without any row.

    `inside` holds the true counts in the predicate. They fall into the places of their value
    without replacement; then every place publishes a value of its group.
    """
    size = int(groups.sizes[0])
    members = groups.members.reshape(-1, size)
    met, every = np.zeros(groups.n_values, np.int64), np.zeros(groups.n_values, np.int64)
    for value, count in enumerate(inside.tolist()):
        rows = np.flatnonzero((members == value).any(axis=1))
        times = groups.multiplicity[rows]
        taken = rng.multivariate_hypergeometric(times, count, method="marginals")
        here = rng.multinomial(taken, [1 / size] * size)
        other = rng.multinomial(times - taken, [1 / size] * size)
        np.add.at(met, members[rows], here)
        np.add.at(every, members[rows], here + other)
    return met, every


def _covered(seed: int, trials: int) -> int:
    """How many 95% intervals hold the truth, each from a release of its own of 5 * 10^7 rows."""
    rng = np.random.default_rng(seed)
    counts = SKEWED * 231
    groups = mixed_groups(counts, 3, Randomness(seed).stream("groups"))
    covered = 0
    for trial in range(trials):
        # Strongly associated with how frequent the values are: what misleads two states most.
        shares = 0.3 * (counts / counts.max()) ** rng.uniform(0.5, 1.5)
        inside = np.floor(shares * counts).astype(np.int64)
        met, every = _publish_tallies(groups, inside, rng)
        view = view_of_release(every, int(counts.sum()), 3, "mixed")
        sizes = np.array([float(inside.sum())])
        found = unbiased_counts(met[None, :].astype(np.float64), sizes, view, 0.95)
        value = 2 + trial % 6
        covered += bool(found.low[0, value] <= inside[value] <= found.high[0, value])
    return covered


@pytest.mark.slow
def test_intervals_cover_at_fifty_million_rows(seed: int) -> None:
    """Fewer than this would happen once in a million times if 94% were covered."""
    covered = _covered(seed, TRIALS)
    assert binomial_upper(TRIALS - covered, TRIALS, 0.06) > FALSE_ALARM


@pytest.mark.slow
def test_two_states_alone_would_not_cover(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("countveil.maths.channel.view.CORRECTION_STEPS", 0)
    covered = _covered(seed, TRIALS)
    assert binomial_upper(TRIALS - covered, TRIALS, 0.06) < FALSE_ALARM
