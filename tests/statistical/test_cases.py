"""Cases: what they publish follows the law of the textbook, and intervals of rows hold the truth.

False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from countveil.maths.channel.case_view import view_of_cases
from countveil.maths.estimate.unbiased import unbiased_counts
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees.binomial import binomial_lower
from countveil.maths.mechanism.cases import PublishedCases, draw_cases
from countveil.randomness import Randomness
from tests.statistical import textbook
from tests.statistical.bounds import FALSE_ALARM, binomial_two_sided, bonferroni
from tests.statistical.runs import as_array, vectors_follow
from tests.statistical.test_random_groups import exact_law


def drawn(
    values: list[int] | np.ndarray, persons: list[int] | np.ndarray, ell: int, groups: str, run: int
) -> PublishedCases:
    codes, randomness = np.asarray(values), Randomness(run)
    streams = randomness.stream("groups"), randomness.stream("draw")
    size = int(codes.max()) + 1
    settings = ColumnSettings(ell, groups=groups)
    return draw_cases(codes, np.asarray(persons), size, settings, streams)


@pytest.mark.slow
@pytest.mark.parametrize(("values", "ell"), [((0, 1, 0, 1, 2), 2), ((0, 0, 1, 1, 2, 2), 3)])
def test_cases_of_different_persons_follow_the_law_of_greedy_groups(
    values: tuple[int, ...], ell: int, seed: int
) -> None:
    runs = np.array([
        drawn(list(values), list(range(len(values))), ell, "anatomy", seed * 900 + run).values
        for run in range(900)
    ])  # fmt: skip
    law = as_array(textbook.exact_law(values, ell), max(values) + 1)
    assert vectors_follow(runs, law) > FALSE_ALARM


@pytest.mark.slow
def test_cases_of_different_persons_follow_the_law_of_random_groups(seed: int) -> None:
    values = (0, 1, 0, 0, 2)
    runs = np.array([
        drawn(list(values), list(range(5)), 2, "random", seed * 900 + run).values
        for run in range(900)
    ])  # fmt: skip
    assert vectors_follow(runs, as_array(exact_law(values, 2), 3)) > FALSE_ALARM


def test_two_cases_of_a_person_never_share_a_group_if_that_can_be(seed: int) -> None:
    """Values 0, 1, 2, 3, two persons with 0 and 1, 2 and 3: groups of two are {0, 2} ... {1, 3}."""
    apart = 0
    for run in range(200):
        cases = drawn([0, 1, 2, 3], [7, 7, 9, 9], 2, "random", seed * 200 + run)
        assert cases.crowded == 0
        # Whoever publishes another value publishes one of the other person.
        assert not {(0, 1), (1, 0), (2, 3), (3, 2)} & set(enumerate(cases.values.tolist()))
        apart += int((cases.values != np.arange(4)).sum())
    assert binomial_two_sided(apart, 800, 0.5) > FALSE_ALARM


def test_persons_who_are_too_few_share_groups(seed: int) -> None:
    cases = drawn(np.tile(np.arange(20), 4), np.repeat(np.arange(4), 20), 5, "mixed", seed)
    # Each of the 16 groups has five members of four persons.
    assert cases.crowded >= 16


@pytest.mark.slow
def test_a_person_with_a_rare_value_leaves_by_another_one(seed: int) -> None:
    """Person 0 has the only 3 and one of many 1s: if they meet, the 1 has to change places."""
    for run in range(100):
        values = np.array([3, 1] + [1] * 9 + [2] * 10 + [0])
        cases = drawn(values, np.array([0, 0, *range(1, 21)]), 2, "mixed", seed * 100 + run)
        assert cases.crowded == 0


def test_a_case_publishes_its_own_value_as_often_as_promised(seed: int) -> None:
    rng = np.random.default_rng(5)
    keys = np.unique(rng.integers(0, 2_000, 9_000) * 12 + rng.integers(0, 12, 9_000))
    persons, values = keys // 12, keys % 12
    cases = drawn(values[: values.size // 4 * 4], persons[: values.size // 4 * 4], 4, "mixed", seed)
    assert cases.crowded == 0
    # Given the groups, all of four different values, every case draws by itself.
    same = int((cases.values == values[: cases.values.size]).sum())
    assert binomial_two_sided(same, cases.values.size, 1 / 4) > FALSE_ALARM


@dataclass(frozen=True)
class Figures:
    rows_per_case: float
    design_effect: float
    by_value: tuple[float, ...]


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["mixed", "random"])
def test_intervals_of_rows_hold_the_truth(groups: str, seed: int) -> None:
    """Persons with 1 to 20 rows; a predicate about persons. Promised 0.95, tested against 0.92."""
    rng = np.random.default_rng(8)
    keys = np.unique(rng.integers(0, 1_500, 4_500) * 12 + rng.integers(0, 12, 4_500))
    persons, values = keys // 12, keys % 12
    rows = rng.integers(1, 21, keys.size)
    # Some values have persons with many rows.
    rows = np.where(values < 3, np.minimum(20, rows * 2), rows)
    inside = (persons % 3 == 0) * rows
    truth = np.bincount(values, inside, 12)
    effect = float((rows**2).sum() / rows.sum())
    held, trials = np.zeros(12, np.int64), 40
    for run in range(trials):
        published = drawn(values, persons, 4, groups, seed * trials + run).values
        in_rows = np.bincount(published, rows, 12)
        each = in_rows / np.bincount(published, minlength=12)
        figures = Figures(float(rows.mean()), effect, tuple(each.tolist()))
        view = view_of_cases(in_rows.astype(np.int64), int(rows.sum()), (4, groups, ()), figures)
        y = np.bincount(published, inside, 12).astype(np.float64)[None]
        estimates = unbiased_counts(y, y.sum(axis=1), view, 0.95)
        held += (estimates.low[0] <= truth) & (truth <= estimates.high[0])
    assert bonferroni(binomial_lower(int(n), trials, 0.92) for n in held) > FALSE_ALARM
