"""The bound on the odds: by hand, and against every value a table could have."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.maths.guarantees.odds import epsilon_of, gamma_for, largest_odds


def test_by_hand() -> None:
    """Two values, half of the rows take a coin: three quarters stay, so the odds change by 3."""
    assert epsilon_of(0.5, 2) == pytest.approx(math.log(3))
    # Random groups of 2: the own value with 1/2, else that of the table: q = 1/4.
    assert largest_odds(0.5, 2, 2, different=False) == pytest.approx(1 + 0.5 * 0.5 / 0.25)
    assert largest_odds(1.0, 7, 3) == pytest.approx(1)
    assert largest_odds(0.0, 7, 3) == math.inf


@given(
    st.floats(1.05, 1e6),
    st.integers(2, 5_000),
    st.integers(2, 50),
    st.booleans(),
)
def test_gamma_is_the_least_that_holds(odds: float, values: int, ell: int, different: bool) -> None:
    gamma = gamma_for(odds, values, ell, different=different)
    assert 0 < gamma <= 1
    assert largest_odds(gamma, values, ell, different=different) <= odds
    less = gamma - 2.0**-24
    if less > 0:
        assert largest_odds(less, values, ell, different=different) > odds
    # A linked row tells no more than the whole release could.
    assert largest_odds(gamma, values, ell, different=different) <= math.exp(
        epsilon_of(gamma, values)
    ) * (1 + 1e-9)


@given(st.floats(0.001, 1), st.integers(2, 40), st.integers(2, 9), st.floats(0, 0.9))
def test_a_value_that_more_rows_have_is_told_less(
    gamma: float, values: int, ell: int, share: float
) -> None:
    """Random groups: the factor of a value that a share of the others have, against the bound."""
    q, a = gamma / values, 1 / ell
    noised = (1 - gamma) * share + q
    has = (1 - gamma + q) * a + (1 - a) * noised
    lacks = q * a + (1 - a) * noised
    assert has / lacks <= largest_odds(gamma, values, ell, different=False) * (1 + 1e-9)


@pytest.mark.parametrize("odds", [1, 0.5, -3, math.nan, math.inf])
def test_bounds_that_make_no_sense(odds: Any) -> None:
    with pytest.raises(ValueError, match="above 1"):
        gamma_for(odds, 10, 5)


def test_the_largest_factor_by_hand() -> None:
    """Half of the rows take one of four values, ell 2: q = 1/8, and b = (1/2)(1/8)/(7/8) = 1/14.

    A row with a value publishes it with (5/8)(1/2) + (3/8)(1/14) = 19/56, another one with
    (1/8)(1/2) + (7/8)(1/14) = 1/8. Random groups: b = (1/2)(1/8), and the factor 1 + (1/2)(1/2) 8.
    """
    assert largest_odds(0.5, 4, 2) == pytest.approx(19 / 56 * 8), "the factor of another value"
    assert largest_odds(0.5, 4, 2, different=False) == pytest.approx(3.0)
    assert epsilon_of(0.5, 4) == pytest.approx(math.log(5)), "1 + (1/2) 4 / (1/2)"
