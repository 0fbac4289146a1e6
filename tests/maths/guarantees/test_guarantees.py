"""Exact probabilities, and a statement that says what it must."""

from __future__ import annotations

import re
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.guarantees import (
    Guarantee,
    chance_failing,
    chance_off,
    chance_within,
    guarantee_table,
    statement,
)
from countveil.maths.guarantees.binomial import binomial_pmf


@given(st.integers(0, 60), st.integers(1, 60), st.integers(2, 12))
def test_the_binomial_is_the_binomial(successes: int, trials: int, ell: int) -> None:
    p = Fraction(1, ell)
    exact = comb(trials, successes) * p**successes * (1 - p) ** max(trials - successes, 0)
    expected = float(exact) if successes <= trials else 0.0
    assert binomial_pmf(successes, trials, ell) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_the_papers_second_example() -> None:
    assert chance_within(5, 10, 0.3) == pytest.approx(0.5199, abs=5e-5)
    assert chance_off(5, 10, 0.3) == pytest.approx(0.4801, abs=5e-5)


def test_ends_of_the_range_are_exact() -> None:
    """0.7 * 10 is 7, so a published 7 is not off by more than 30%."""
    pmf = [binomial_pmf(x, 50, 5) for x in range(7, 14)]
    assert chance_within(10, 5, 0.3) == pytest.approx(sum(pmf))


def test_the_table_of_a_release_falls_with_the_count_from_two_on() -> None:
    chances = [row["chance_off"] for row in guarantee_table(5)][1:]
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < 1e-6


def test_the_statement_says_the_promise_and_its_limits() -> None:
    published = {"job": [10, 90, 400, 500], "illness": [1, 300, 699]}
    told = statement(1_000, {"job": 5, "illness": 3}, published)
    heads = [paragraph.split(". ")[0] for paragraph in told]
    assert heads == [
        "What was done",
        "Who is protected, against whom",
        "What holds exactly",
        "What the published value of one person tells",
        "What is open by design",
        "What breaks it",
    ]
    for paragraph, words in (
        (0, ("1,000 rows", "job (ell = 5)", "illness (ell = 3)")),
        (1, ("unit of protection is one row", "whose row is whose", "does not know the groups")),
        (2, ("fixed, secret grouping", "exactly the same probability")),
        (3, ("1/5 for job, 1/3 for illness", "multiplies the odds", "(N - f) / ((ell - 1) f)",
             "not differential privacy")),
        (4, ("the published count of a value that 5 rows have", "not of every guess",
             f"with probability {1 - chance_off(5, 3, 0.3):.2f}")),
        (5, ("drawn independently", "the key, the seed, the groups", "closely associated",
             "gives the protected value away", "several rows of one person")),
    ):  # fmt: skip
        for text in words:
            assert text in told[paragraph], text


def test_the_statement_has_the_odds_of_the_release() -> None:
    """(1,000 - f) / (4 f) for f = 10, 400, 500; (1,000 - f) / (2 f) for f = 1, 300, 699."""
    published = {"job": [500, 10, 400, 90], "illness": [300, 1, 699]}
    text = " ".join(statement(1_000, {"job": 5, "illness": 3}, published))
    assert (
        "that factor is for job 25 (f = 10) at the rarest published value, 0.4 (f = 400) at the "
        "median one and 0.2 (f = 500) at the most frequent one"
    ) in text
    assert "for illness 500 (f = 1) at the rarest published value, 1.2 (f = 300)" in text


def test_the_count_in_the_statement_is_the_first_that_is_right_enough() -> None:
    text = " ".join(statement(1_000, {"job": 5}, {"job": [1_000]}))
    (said,) = re.findall(r"from (\d+) rows on it is within 10% with probability 95%", text)
    first = int(said)
    assert chance_failing(first - 1, 5, 0.1) > 0.05
    assert all(chance_failing(count, 5, 0.1) <= 0.05 for count in range(first, first + 200))


def test_chebyshev_by_hand() -> None:
    """Variance of a count c at ell 5: 0.8 c. Off by a tenth: 0.8 c / (0.1 c)^2 = 80 / c."""
    promise = Guarantee(5)
    assert promise.utility(count=1_000, error=0.1).chebyshev == pytest.approx(0.08), (
        "the chance of being wrong is not the bound of Chebyshev"
    )
    assert promise.utility(error=0.1, probability=0.08).chebyshev == 1_000
    # 80 / 0.07 = 1142.86: from 1,143 on, and hidden up to 1,142.
    assert promise.utility(error=0.1, probability=0.07).chebyshev == 1_143
    assert promise.privacy(error=0.1, probability=0.07).chebyshev == 1_142


def test_what_is_hidden_is_not_what_is_right() -> None:
    """Small counts are hidden, large ones right, and between them is neither."""
    promise = Guarantee(5)
    hidden = promise.privacy(error=0.3, probability=0.4)
    right = promise.utility(error=0.3, probability=0.05)
    assert float(hidden) == 6
    assert hidden < right, "counts are promised to be hidden that are not"
