"""Where guarantees begin and end: found by going through every count, and by the searches."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import SettingsError
from countveil.maths.guarantees import Guarantee, chance_failing, chance_off
from countveil.maths.guarantees.binomial import (
    MOST_COUNT,
    chance_far,
    hidden_up_to,
    largest_error,
    smallest_count,
    smallest_error,
    worst_failure,
)
from countveil.maths.guarantees.guarantee import (
    chebyshev_count,
    chebyshev_error,
    chebyshev_probability,
)
from tests.strategies import examples

ells = st.integers(2, 30)
# Errors with many digits: blocks of counts of uneven length.
errors = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7]),
    st.floats(0.1, 0.95).map(lambda e: round(e, 5)),
)
chances = st.one_of(st.sampled_from([0.001, 0.02, 0.05, 0.5, 0.9]), st.floats(1e-6, 0.95))


@pytest.mark.slow
@examples(40)
@given(ells, errors, chances)
def test_the_smallest_count_is_found_as_by_going_through_all(
    ell: int, error: float, probability: float
) -> None:
    enough = math.ceil(2 * (1 + error / 3) * math.log(2 / probability) / error**2)
    failing = [
        f for f in range(1, enough + 1) if chance_failing(f, ell, error) > probability * (1 + 1e-12)
    ]
    assert smallest_count(ell, error, probability) == max(failing, default=0) + 1


@pytest.mark.slow
@examples(40)
@given(ells, errors, st.integers(1, 500))
def test_the_worst_of_larger_counts_is_found(ell: int, error: float, count: int) -> None:
    far = count + math.ceil(3 / error**2) + 50
    worst = max(chance_failing(f, ell, error) for f in range(count, far))
    assert worst_failure(count, ell, error) == pytest.approx(worst, rel=1e-11)


@examples(40)
@given(ells, st.integers(1, 2_000), chances)
def test_the_smallest_error_holds_and_no_smaller_one_does(
    ell: int, count: int, probability: float
) -> None:
    error = smallest_error(count, ell, probability)
    if not 1e-3 < error < 1:
        return
    assert smallest_count(ell, error, probability) <= count
    assert smallest_count(ell, error * (1 - 1e-9), probability) > count


@examples(40)
@given(ells, errors, chances)
def test_the_hidden_counts_are_found_as_by_going_through_all(
    ell: int, error: float, probability: float
) -> None:
    found = hidden_up_to(ell, error, probability)
    wished = probability * (1 - 1e-12)
    assert all(chance_off(f, ell, error) >= wished for f in range(1, min(found, 3_000) + 1))
    assert chance_off(found + 1, ell, error) < wished


@given(ells, st.integers(1, 2_000), chances)
def test_the_largest_error_is_exceeded_likely_enough(
    ell: int, count: int, probability: float
) -> None:
    error = largest_error(count, ell, probability)
    wished = probability * (1 - 1e-12)
    if error == 0:
        assert chance_far(count, ell, 1) < wished
        return
    assert chance_off(count, ell, error) >= wished
    assert chance_off(count, ell, error * (1 + 1e-9)) < wished


@given(ells, st.integers(1, 200), st.integers(1, 60))
def test_one_more_count_spreads_further(ell: int, count: int, distance: int) -> None:
    """What the searches rest on."""
    more = chance_far(count + 1, ell, distance)
    assert chance_far(count, ell, distance) <= more * (1 + 1e-11)


@pytest.mark.slow
@given(ells, errors, chances)
def test_the_exact_answer_is_never_worse_than_chebyshevs(
    ell: int, error: float, probability: float
) -> None:
    bound = math.ceil(chebyshev_count(ell, error, probability))
    count = smallest_count(ell, error, probability)
    assert count <= bound
    assert worst_failure(count, ell, error) <= chebyshev_probability(ell, count, error) + 1e-12
    assert (
        smallest_error(count, ell, probability) <= chebyshev_error(ell, count, probability) + 1e-12
    )


@given(st.integers(1, 300), st.integers(1, 100), st.integers(2, 40))
def test_a_larger_ell_never_brings_a_count_nearer(count: int, distance: int, ell: int) -> None:
    """The variance f (1 - 1/ell) grows with ell, and so does what lies a deviation or more away."""
    if distance > math.sqrt(count):
        assert chance_far(count, ell, distance) <= chance_far(count, ell + 1, distance) * (
            1 + 1e-11
        )


@given(st.floats(0.05, 0.6), st.floats(1e-4, 0.2), st.integers(2, 30))
def test_a_larger_ell_never_needs_fewer(error: float, probability: float, ell: int) -> None:
    now, next_ = (smallest_count(each, error, probability) for each in (ell, ell + 1))
    assert now <= next_


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("ell", "error", "probability"),
    [(10, 1e-3, 0.02), (1_000, 2e-4, 0.02), (5, 0.001, 1e-300), (1_000, 0.9, 1e-300)],
)
def test_large_counts_and_small_tails(ell: int, error: float, probability: float) -> None:
    """The answers hold, and the count before fails: the last of a block has a whole e f."""
    count = smallest_count(ell, error, probability)
    assert chance_failing(count - 1, ell, error) > probability
    assert worst_failure(count, ell, error) <= probability
    assert smallest_error(count, ell, probability) <= error
    assert smallest_error(count - 1, ell, probability) >= error
    assert hidden_up_to(ell, error, probability) < count


def test_the_papers_first_example() -> None:
    """T_E = 0.02, ell = 10: printed 11 and 49 (its formula gives 112); truly 126 and 12,201."""
    found = Guarantee(10).utility(error=0.2, probability=0.02)
    assert found == found.exact == 126
    assert (found.chebyshev, found.printed) == (1125, 11)
    truly = {way.way: way.truly for way in found.ways}
    assert truly["printed"] == pytest.approx(0.4267, abs=5e-5)
    assert repr(found) == "126"
    found = Guarantee(10).utility(error=0.02, probability=0.02)
    assert (found.exact, found.chebyshev, found.printed) == (12_201, 112_500, 112)
    at_49 = Guarantee(10).utility(count=49, error=0.02).ways[-1]
    assert at_49.probability == pytest.approx(1 / (10 * 0.02**2 * 49**2))
    exactly_49 = Fraction(math.comb(490, 49) * 9**441, 10**490)
    assert at_49.truly == pytest.approx(float(1 - exactly_49), rel=1e-12)


def test_the_papers_second_example() -> None:
    """0.48, as the text says once; the other time it says 0.52, which is being within."""
    found = Guarantee(10).privacy(count=5, error=0.3)
    near = sum(Fraction(math.comb(50, x) * 9 ** (50 - x), 10**50) for x in range(4, 7))
    assert isinstance(found, float)
    assert found == pytest.approx(float(1 - near), rel=1e-12)
    assert f"{found:.4f}" == "0.4801"
    assert f"{float(near):.2f}" == "0.52"
    assert found.chebyshev == 1
    assert found.printed == pytest.approx(1 / (10 * 0.09 * 25))


@pytest.mark.slow
@pytest.mark.parametrize("ell", [2, 7, 1_000])
@pytest.mark.parametrize("probability", [1e-300, 1e-9, 0.999])
def test_every_third_number_is_found_soon_at_the_ends(ell: int, probability: float) -> None:
    """Bounds beyond what is computed have no true probability; none takes long."""
    started = time.process_time()
    guarantee = Guarantee(ell)
    for count in (1, 3, 10**9):
        error = guarantee.utility(count=count, probability=probability)
        assert all(way.truly is None or 0 <= way.truly <= 1 for way in error.ways)
        guarantee.privacy(count=count, probability=probability)
    for error_wished in (0.001, 0.9):
        found = guarantee.utility(error=error_wished, probability=probability)
        assert found.exact is not None
        for way in found.ways:
            assert (way.truly is None) == (way.count is not None and way.count > MOST_COUNT)
    assert time.process_time() - started < 60


def test_an_error_that_cannot_be_has_no_probability() -> None:
    """With ell = 3 a count of f is published as 0 to 3 f: off by at most twice itself."""
    assert worst_failure(1, 3, 2.5) == 0
    assert worst_failure(1, 3, 7e149) == 0
    assert worst_failure(1, 3, 2.0) == pytest.approx(3**-3)
    each = [chance_failing(count, 3, 1.4) for count in range(2, 60)]
    assert worst_failure(2, 3, 1.4) == max(each)


def test_what_is_too_small_to_be_computed_is_refused() -> None:
    guarantee = Guarantee(5)
    for ask in (guarantee.utility, guarantee.privacy):
        with pytest.raises(SettingsError, match="error must be at least 1e-10"):
            ask(count=7, error=1e-300)
        with pytest.raises(SettingsError, match="probability must be at least 1e-300"):
            ask(count=7, probability=1e-310)
        assert 0.8 < ask(count=7, error=1e-10) <= 1
