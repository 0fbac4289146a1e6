"""Dealing block by block is the mechanism of the paper, not merely something like it.

On small tables the whole vector of published values is one category, and its exact law is known
(`textbook.exact_law`: every order of ids, every choice). The textbook's own runs must follow it,
and so must the project's, for one block, tiny blocks, uneven blocks, and however the dealer splits
its values into batches. Larger tables are compared through a few rows and through totals.
False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from countveil.maths.channel import greedy_templates
from countveil.maths.mechanism import draw_published
from countveil.randomness import Randomness
from tests.statistical import textbook
from tests.statistical.bounds import (
    FALSE_ALARM,
    bonferroni,
    hypergeometric_two_sided,
    same_law,
)
from tests.statistical.runs import (
    Law,
    as_array,
    deal_in_blocks,
    publish_copies,
    tally,
    vectors_follow,
)

Values = tuple[int, ...]

# Rows in no particular order: the rows of a value are spread over blocks.
SIX: Values = (0, 1, 0, 2, 0, 1)
SIX_OF_FOUR: Values = (0, 1, 2, 0, 3, 1)
FIVE_UNEVEN: Values = (0, 1, 2, 0, 1)
EIGHT: Values = (0, 1, 0, 2, 0, 1, 2, 0)

BLOCKS = [
    (SIX, 2, [6]),
    (SIX, 2, [1, 1, 1, 1, 1, 1]),
    (SIX, 2, [2, 3, 1]),
    (SIX_OF_FOUR, 3, [6]),
    (SIX_OF_FOUR, 3, [5, 1]),
    (FIVE_UNEVEN, 2, [5]),
    (FIVE_UNEVEN, 2, [1, 3, 1]),
    (EIGHT, 2, [8]),
    (EIGHT, 2, [1] * 8),
    (EIGHT, 2, [3, 4, 1]),
]


@cache
def _law(values: Values, ell: int) -> Law:
    return as_array(textbook.exact_law(values, ell), max(values) + 1)


@pytest.fixture(params=[None, (20_000, 1), (1_000, 10**9)], ids=["as shipped", "batches", "ranges"])
def dealer_s_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the dealer shuffles: all true values in a few common batches, or in many ranges."""
    if request.param is not None:
        monkeypatch.setattr("countveil.maths.mechanism.deal.BATCH_SIZE", request.param[0])
        monkeypatch.setattr("countveil.maths.mechanism.deal.VALUES_IN_USE", request.param[1])


@pytest.mark.slow
@pytest.mark.parametrize("values", [SIX, FIVE_UNEVEN])
def test_the_textbook_follows_its_exact_law(values: Values, seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = np.array([textbook.publish(values, 2, rng) for _ in range(8_000)])
    assert vectors_follow(runs, _law(values, 2)) > FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize(("values", "ell", "blocks"), BLOCKS)
@pytest.mark.usefixtures("dealer_s_way")
def test_vectors_follow_the_exact_law(
    values: Values, ell: int, blocks: list[int], seed: int
) -> None:
    runs = publish_copies(values, ell, blocks, 25_000, seed)
    assert vectors_follow(runs, _law(values, ell)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [[6], [2, 3, 1]])
def test_vectors_have_the_law_of_the_textbook(blocks: list[int], seed: int) -> None:
    """Two samples, no formula between them: the project's runs and the textbook's."""
    law = _law(SIX, 2)
    rng = np.random.default_rng(seed)
    theirs = np.array([textbook.publish(SIX, 2, rng) for _ in range(8_000)])
    ours = publish_copies(SIX, 2, blocks, 30_000, seed)
    assert same_law(tally(ours, law), tally(theirs, law)) > FALSE_ALARM


@pytest.mark.slow
def test_one_run_at_a_time_follows_the_exact_law(seed: int) -> None:
    """Not copies side by side, but publications of their own, each with its own key."""
    runs = np.array(
        [publish_copies(SIX, 2, [2, 3, 1], 1, seed * 10_000 + i)[0] for i in range(1_500)]
    )
    assert vectors_follow(runs, _law(SIX, 2)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [[16], [9, 7], [2, 3, 4, 7], [1] * 16])
@pytest.mark.usefixtures("dealer_s_way")
def test_rows_that_clash_follow_the_exact_law(blocks: list[int], seed: int) -> None:
    """The first eight rows have one value, so that rows of a block do compete for the same value.

    Any three of them hold three of eight slots, drawn without replacement, four beside a 1 and
    four beside a 2; then each says 0 or what its neighbour is, with equal chance.
    """
    values = (0,) * 8 + (1,) * 4 + (2,) * 4
    assert sorted(map(sorted, textbook.greedy_groups([8, 4, 4], 2))) == [[0, 1]] * 4 + [[0, 2]] * 4
    law = np.zeros((3, 3, 3))
    for beside in itertools.permutations([1, 1, 1, 1, 2, 2, 2, 2], 3):
        for said in itertools.product(*((0, other) for other in beside)):
            law[said] += 1 / (8 * 7 * 6 * 2**3)
    runs = publish_copies(values, 2, blocks, 20_000, seed)
    rows = ((0, 1, 2), (0, 3, 7), (5, 6, 7))
    assert bonferroni(vectors_follow(runs[:, three], law) for three in rows) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [[9], [2, 2, 2, 3], [1] * 9])
def test_few_rows_of_a_larger_table_follow_the_exact_law(blocks: list[int], seed: int) -> None:
    """Nine rows, uneven groups, 11,360 vectors: compared through every pair and some triples."""
    values = (0, 1, 0, 2, 0, 1, 2, 0, 1)
    runs = publish_copies(values, 2, blocks, 20_000, seed)
    law = _law(values, 2)
    p_values = []
    for rows in [*itertools.combinations(range(9), 2), (0, 2, 4), (1, 5, 8), (0, 1, 3)]:
        margin = law.sum(axis=tuple(row for row in range(9) if row not in rows))
        p_values.append(vectors_follow(runs[:, list(rows)], margin))
    assert bonferroni(p_values) > FALSE_ALARM


@pytest.mark.parametrize("careless", ["in order", "with replacement"])
def test_a_careless_dealer_is_noticed(careless: str, seed: int) -> None:
    """Dealing values in order, or putting them back, is refused by the same checks."""
    copies, law = 20_000, _law(SIX, 2)
    ours = publish_copies(SIX, 2, [6], copies, seed)
    rng = np.random.default_rng(seed)
    worse = ours.copy()
    for value in range(3):
        rows = np.flatnonzero(np.array(SIX) == value)
        own = ours[:, rows]
        if careless == "in order":
            worse[:, rows] = np.sort(own, axis=1)
        else:
            worse[:, rows] = np.take_along_axis(
                own, rng.integers(rows.size, size=own.shape), axis=1
            )
    assert vectors_follow(ours, law) > FALSE_ALARM
    assert vectors_follow(worse, law) < FALSE_ALARM


@pytest.mark.parametrize("blocks", [[1, 2999, 3000, 6000], [4000] * 3, [30] * 400])
def test_a_block_takes_its_fair_share_of_every_cell(blocks: list[int], seed: int) -> None:
    """12,000 rows. Given Y, what the rows of the first half publish is exactly hypergeometric,
    cell by cell: Y[u, v] marked values, as many drawn as rows of u in the first half."""
    histogram = np.array([4000, 3000, 2000, 1600, 1000, 300, 90, 10])
    randomness = Randomness(seed)
    table = draw_published(greedy_templates(histogram, 3), randomness.stream("draw", "column"))
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(8), histogram))
    published = deal_in_blocks(table, codes, blocks, randomness)
    half = codes[:6000], published[:6000]
    p_values = []
    for u, (start, end) in enumerate(itertools.pairwise(table.indptr.tolist())):
        drawn = int(np.count_nonzero(half[0] == u))
        for v, marked in zip(
            table.values[start:end].tolist(), table.counts[start:end].tolist(), strict=True
        ):
            found = int(np.count_nonzero((half[0] == u) & (half[1] == v)))
            p_values.append(hypergeometric_two_sided(found, int(histogram[u]), marked, drawn))
    assert bonferroni(p_values) > FALSE_ALARM
    assert np.array_equal(np.sort(published), np.sort(np.repeat(table.values, table.counts)))


@pytest.mark.slow
def test_totals_have_the_law_of_the_textbook(seed: int) -> None:
    """62 rows, groups of four and five: the published count of each value, both implementations."""
    values = tuple(np.repeat(np.arange(7), [14, 12, 10, 9, 8, 5, 4]).tolist())
    rng = np.random.default_rng(seed)
    theirs = np.array([textbook.publish(values, 4, rng) for _ in range(1_500)])
    ours = publish_copies(values, 4, [7, 13, 42], 20_000, seed)
    p_values = []
    for value in range(7):
        one, other = ((runs == value).sum(axis=1) for runs in (ours, theirs))
        p_values.append(same_law(*(np.bincount(g, minlength=63) for g in (one, other))))
    assert bonferroni(p_values) > FALSE_ALARM
