"""Exact probabilities, and a statement that says what it must."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.guarantees import chance_off, chance_within, guarantee_table, statement
from countveil.guarantees.binomial import binomial_pmf


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
    text = " ".join(statement(1_000, {"job": 5, "illness": 3}))
    for words in (
        "job (ell = 5)",
        "illness (ell = 3)",
        "exactly the same probability",
        "1/3",
        "multiplies the odds",
        "not differential privacy",
        "second, independent release",
        "gives the protected value away",
    ):
        assert words in text
