"""Bayes' rule for known rows: against the rule written out, and against the promise's formula."""

from __future__ import annotations

import numpy as np
import pytest

from countveil.maths.adversary import beliefs_after, guess_after, log_evidence, published_chances
from countveil.maths.channel import view_of_release
from countveil.maths.guarantees import belief, odds_factor
from countveil.randomness import Randomness

COUNTS = np.array([400, 300, 250, 200, 100, 60, 40, 20, 10, 620], np.int64)


def chances_for(ell: int) -> np.ndarray:
    view = view_of_release(COUNTS, int(COUNTS.sum()), ell, "mixed")
    return published_chances(view, COUNTS)


def test_one_release_is_the_rule_written_out() -> None:
    chances, prior = chances_for(2), COUNTS / COUNTS.sum()
    published = np.arange(COUNTS.size)
    after = beliefs_after(prior, [(chances, published)])
    for row, value in enumerate(published.tolist()):
        joint = [prior[true] * chances[true, value] for true in range(COUNTS.size)]
        assert after[row] == pytest.approx(np.array(joint) / sum(joint))


def test_independent_releases_multiply_in_any_order() -> None:
    stream = Randomness(3).stream("rows")
    releases = [(chances_for(3), stream.below(COUNTS.size, 50)) for _ in range(4)]
    prior = np.tile(COUNTS / COUNTS.sum(), (50, 1))
    at_once = beliefs_after(prior, releases)
    step_by_step = prior
    for release in reversed(releases):
        step_by_step = beliefs_after(step_by_step, [release])
    assert at_once == pytest.approx(step_by_step)
    assert at_once.sum(axis=1) == pytest.approx(1.0)


def test_what_was_impossible_before_stays_impossible() -> None:
    prior = np.where(np.arange(COUNTS.size) == 4, 0.0, COUNTS.astype(float))
    after = beliefs_after(prior, [(chances_for(2), np.array([4, 4, 1]))])
    assert np.all(after[:, 4] == 0)
    assert np.isfinite(after).all()


def test_evidence_of_the_impossible_is_finite() -> None:
    evidence = log_evidence(np.eye(3), np.array([0, 2]))
    assert evidence.shape == (2, 3)
    assert np.isfinite(evidence).all()
    assert evidence.argmax(axis=1).tolist() == [0, 2]


@pytest.mark.parametrize("ell", [2, 3])
@pytest.mark.parametrize("value", [0, 5, 8])
def test_a_guess_becomes_what_the_promise_says(ell: int, value: int) -> None:
    rows = int(COUNTS.sum())
    assert rows % 2 == 0
    # 2,000 rows are no multiple of 3, so only there are groups of two sizes.
    near = 1e-9 if rows % ell == 0 else 2e-3
    guesses = np.array([0.01, 0.2, 0.5, 0.95])
    shown, _ = guess_after(guesses, value, COUNTS / rows, chances_for(ell))
    factor = odds_factor(COUNTS[value] / rows, ell)
    assert shown == pytest.approx([belief(guess, factor) for guess in guesses], rel=near)


def test_a_guess_is_right_on_average_over_what_is_shown() -> None:
    chances, shares = chances_for(2), COUNTS / COUNTS.sum()
    guess, value = np.array([0.3]), 2
    shown, not_shown = guess_after(guess, value, shares, chances)
    others = np.delete(shares, value) / (1 - shares[value])
    met = float(others @ np.delete(chances[:, value], value))
    showing = 0.3 * chances[value, value] + 0.7 * met
    assert showing * shown + (1 - showing) * not_shown == pytest.approx(guess)


def test_a_value_with_a_share_of_one_in_ell_tells_nothing() -> None:
    counts = np.array([500, 200, 150, 100, 50], np.int64)
    chances = published_chances(view_of_release(counts, 1_000, 2, "mixed"), counts)
    shown, not_shown = guess_after(np.array([0.4]), 0, counts / 1_000, chances)
    assert shown == pytest.approx(0.4)
    assert not_shown == pytest.approx(0.4)
