"""Chances through noise: bounds hold for the mechanism itself, and ratios are tested exactly."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.auditing import promised
from countveil.auditing.attacks.by_method.bounded_odds import factor_p_values
from countveil.auditing.chance import TILTS, ratio_p_value
from countveil.auditing.noised_chance import histogram_slack
from countveil.auditing.random_chance import RandomGroups
from countveil.auditing.target import AttackedColumn
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.guarantees.odds import epsilon_of, gamma_for
from countveil.maths.mechanism import Dealer, draw_column
from countveil.maths.mechanism.noise import after_noise, draw_noise
from countveil.randomness import Randomness
from countveil.release.manifest import OddsBound


def test_a_ratio_by_hand() -> None:
    """10 of 10 against 0 of 10, ratio 1: P(10 | r) = r^10 meets P(0 | r) = (1 - r)^10 at 1/2."""
    assert ratio_p_value(10, 0, 10, 1.0) == pytest.approx(2 * 0.5**10, rel=1e-6)
    assert ratio_p_value(5, 5, 10, 1.0) == 1.0
    # With a ratio of 2 they meet at r = 1/3: (2/3)^10 both.
    assert ratio_p_value(10, 0, 10, 2.0) == pytest.approx(2 * (2 / 3) ** 10, rel=1e-6)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(1, 50))
def test_a_larger_bound_is_contradicted_less(often: int, seldom: int, most: float) -> None:
    p_values = [ratio_p_value(often, seldom, 40, bound) for bound in (most, 1.5 * most)]
    assert p_values[0] <= p_values[1] + 1e-9
    assert 0 <= p_values[0] <= 1


@pytest.mark.slow
def test_no_ratio_test_raises_more_false_alarms_than_it_says() -> None:
    """All outcomes of two counts of 30, with chances at the bound: summed exactly."""
    trials, most = 30, 3.0
    for chance in (0.05, 0.2, 1 / 3):
        weights = [
            [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
            for p in (most * chance, chance)
        ]
        for level in (0.05, 0.01):
            alarms = sum(
                weights[0][x] * weights[1][y]
                for x in range(trials + 1)
                for y in range(trials + 1)
                if _kept_ratio(x, y, trials, most) <= level
            )
            assert alarms <= level


_kept_ratio = lru_cache(maxsize=None)(ratio_p_value)


def column_of(
    truth: np.ndarray, released: np.ndarray, n_values: int, groups: str, odds: float, ell: int
) -> AttackedColumn:
    gamma = gamma_for(odds, n_values, ell, different=groups == "mixed")
    return AttackedColumn(
        "x", ell, groups, np.bincount(truth, minlength=n_values),
        np.bincount(released, minlength=n_values), truth, released,
        odds=OddsBound(odds, gamma, epsilon_of(gamma, n_values)),
    )  # fmt: skip


def published(
    truth: np.ndarray, n_values: int, groups: str, odds: float, ell: int, seed: int
) -> AttackedColumn:
    randomness = Randomness(seed)
    gamma = gamma_for(odds, n_values, ell, different=groups == "mixed")
    counts = np.bincount(truth, minlength=n_values)
    noise = draw_noise(counts, gamma, randomness.stream("noise"))
    streams = randomness.stream("groups"), randomness.stream("draw")
    drawn = draw_column(noise.published(), ColumnSettings(ell, groups), streams)
    whole = after_noise(noise, drawn, randomness.stream("after"))
    return column_of(
        truth, Dealer(whole, randomness.stream("deal")).deal(truth), n_values, groups, odds, ell
    )


def people(rows: int = 240, n_values: int = 8) -> np.ndarray:
    return np.sort(np.random.default_rng(2).integers(0, n_values - 1, rows))


@pytest.mark.slow
@pytest.mark.parametrize("counted_part", [1.0, 0.4])
def test_moments_of_random_groups_are_bounded(counted_part: float) -> None:
    """The mean of exp(tilt x count) over 600 draws is not beyond the bound.

    Its own error is estimated from the draws; six of them are allowed.
    """
    truth = people()
    draws = [published(truth, 8, "random", 5.0, 3, seed) for seed in range(600)]
    groups = promised.groups_of(draws[0])
    assert groups.gamma > 0.1
    tilts = np.array([0.05, 0.3])
    mask = np.isin(np.arange(8), [0, 1, 2])
    rows = np.flatnonzero(mask[truth])
    rows = rows[: int(counted_part * rows.size)]
    inside, counted, values = (np.array([n]) for n in (mask[truth].sum(), rows.size, 3))
    for sign in (1, -1):
        stayed = np.array([mask[draw.released[rows]].sum() for draw in draws])
        shown = np.array([mask[draw.released].sum() for draw in draws])
        for sums, counts in ((stayed, counted), (shown, None)):
            bounds = groups.log_moments(sign * tilts, inside, counts, values)[:, 0]
            for tilt, bound in zip((sign * tilts).tolist(), bounds.tolist(), strict=True):
                raised = np.exp(tilt * sums - bound)
                assert raised.mean() <= 1 + 6 * raised.std() / math.sqrt(raised.size)
                # And not far below it, or it would find nothing.
                assert raised.mean() > 0.2


def test_without_noise_the_bounds_are_those_of_random_groups() -> None:
    plain, noised = RandomGroups(200, 4), RandomGroups(200, 4, gamma=1e-12, declared=5)
    up = TILTS[TILTS > 0][10:30]
    inside = np.array([3, 40])
    given_ = up, inside, inside, np.ones(2, np.int64)
    assert noised.log_moments(*given_) == pytest.approx(plain.log_moments(*given_), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["mixed", "random"])
def test_p_values_of_sound_releases_are_not_small(groups: str) -> None:
    """30 releases: a kind of test is below 1e-4 in 3 of them with probability below 1e-6.

    With chances of at most 1e-4 each, three of 30 have at most 4,060 x 1e-12. There are 4 kinds.
    """
    truth = people(600, 12)
    few = {"own": 0, "each": 0, "counts": 0, "factor": 0}
    for seed in range(30):
        column = published(truth, 12, groups, 4.0, 3, seed)
        found = {
            "own": promised.kept_p_value(column),
            "each": 12 * min(promised.kept_p_values(column)),
            "counts": 12 * min(promised.count_p_values(column)),
            "factor": 12 * float(factor_p_values(column, np.unique(truth), 4.0).min()),
        }
        for name, p_value in found.items():
            few[name] += p_value < 1e-4
    assert max(few.values()) < 3, few


@pytest.mark.slow
def test_groups_of_noised_values_stay_within_what_the_tests_concede() -> None:
    """Chances of the groups that were formed, through the noise, beside those that tests allow."""
    for number in range(12):
        rng = np.random.default_rng(number)
        ell, n_values = int(rng.integers(2, 6)), int(rng.integers(10, 30))
        shares = np.minimum(rng.dirichlet(np.full(n_values, 2.0)), 0.7 / ell)
        truth = np.sort(
            rng.choice(n_values, int(rng.integers(600, 6_000)), p=shares / shares.sum())
        )
        column = published(truth, n_values, "mixed", float(rng.uniform(3, 40)), ell, number)
        randomness = Randomness(number)
        noise = draw_noise(column.counts, column.gamma, randomness.stream("noise"))
        after = noise.published()
        assert (np.abs(after - column.grouped) <= histogram_slack(column) + 1).all()
        groups = form_groups(after, ColumnSettings(ell), randomness.stream("groups"))
        met = np.zeros((n_values, n_values))
        for start, end, times in zip(
            groups.indptr[:-1], groups.indptr[1:], groups.multiplicity, strict=True
        ):
            members = groups.members[start:end]
            np.add.at(met, (members[:, None], members[None, :]), times / members.size)
        design = met / np.maximum(after, 1)[:, None]
        q = column.gamma / n_values
        whole = (1 - column.gamma) * design + q * design.sum(axis=0)
        allowed = promised.noised_mixed(column)
        assert allowed.whole is not None
        assert allowed.unsure is not None
        assert (np.abs(whole - allowed.whole) <= allowed.unsure + 1e-9).all()
        own = np.diag(whole)
        assert (allowed.kept[0] - 1e-9 <= own).all()
        assert (own <= allowed.kept[1] + 1e-9).all()
        others = (design.sum(axis=0) - np.diag(design)) * ell
        assert (allowed.met[0] - 1e-9 <= others).all()
        assert (others <= allowed.met[1] + 1e-9).all()
