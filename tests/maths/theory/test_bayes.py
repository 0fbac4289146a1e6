"""The iterative Bayes estimate of sections 7.1 and 7.2, step by step on paper.

States 0 to 3 are (not P, not s), (not P, s), (P, not s), (P, s). One round of the exact and of the
printed channel is done with the arithmetic written out, more rounds with fractions. Run to the end
with the exact channel, the estimate is the unbiased one as long as no state is pushed below zero;
the paper's stop at 1% leaves it on the way, and at ell = 10 at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from countveil.maths.paper.iteration import PAPER_TOLERANCE, bayes_counts, bayes_step

Matrix = list[list[Fraction]]

# 40 rows, 16 of them in P; s is published 10 times, 7 of these in P. ell = 2.
N, ELL = 40, 2
Y: tuple[Fraction, ...] = (Fraction(21), Fraction(3), Fraction(9), Fraction(7))


def step(
    x: tuple[Fraction, ...], y: tuple[Fraction, ...], rows: int, ell: int, channel: str
) -> tuple[Fraction, ...]:
    """The update of section 7.1 with all sixteen transition probabilities, in fractions."""
    a, f = Fraction(1, ell), x[1] + x[3]
    b = f / rows if channel == "printed" else f * (1 - a) / (rows - f)
    zero = Fraction(0)
    move = [
        [1 - b, b, zero, zero],
        [1 - a, a, zero, zero],
        [zero, zero, 1 - b, b],
        [zero, zero, 1 - a, a],
    ]
    reach = [sum((move[r][j] * x[r] for r in range(4)), zero) for j in range(4)]
    return tuple(
        sum((y[j] * move[i][j] * x[i] / reach[j] for j in range(4) if reach[j]), zero)
        for i in range(4)
    )


def project_step(x: Sequence[float | Fraction], channel: str) -> list[float]:
    """The same round by the project."""
    states, published = (np.array([[float(v)] for v in part]) for part in (x, Y))
    after = bayes_step(states, published, N, [1 / ELL], channel)
    return [float(v) for v in after[:, 0]]


def test_one_round_with_the_exact_channel() -> None:
    # a = 1/2. f = 3 + 7 = 10, so b = 10 (1 - 1/2) / (40 - 10) = 1/6.
    # Expected to be published, from x = y:
    #   (not P, not s)  21 * 5/6 + 3 * 1/2 = 35/2 + 3/2 = 19        seen 21
    #   (not P, s)      21 * 1/6 + 3 * 1/2 =  7/2 + 3/2 =  5        seen  3
    #   (P, not s)       9 * 5/6 + 7 * 1/2 = 15/2 + 7/2 = 11        seen  9
    #   (P, s)           9 * 1/6 + 7 * 1/2 =  3/2 + 7/2 =  5        seen  7
    by_hand = (
        Fraction(21) * (Fraction(5, 6) * Fraction(21, 19) + Fraction(1, 6) * Fraction(3, 5)),
        Fraction(3) * (Fraction(1, 2) * Fraction(21, 19) + Fraction(1, 2) * Fraction(3, 5)),
        Fraction(9) * (Fraction(5, 6) * Fraction(9, 11) + Fraction(1, 6) * Fraction(7, 5)),
        Fraction(7) * (Fraction(1, 2) * Fraction(9, 11) + Fraction(1, 2) * Fraction(7, 5)),
    )
    assert by_hand == (
        Fraction(4074, 190),  # 21 * (105/114 + 1/10)   = 21 * 97/95 = 2037/95 = 21.44
        Fraction(486, 190),  #   3 * (21/38 + 3/10)     =  3 * 81/95 =  243/95 =  2.56
        Fraction(906, 110),  #   9 * (15/22 + 7/30)     =  9 * 151/165         =  8.24
        Fraction(854, 110),  #   7 * (9/22 + 7/10)      =  7 * 61/55 =  427/55 =  7.76
    )
    assert step(Y, Y, N, ELL, "exact") == by_hand
    assert project_step(Y, "exact") == pytest.approx([float(v) for v in by_hand], rel=1e-14)
    # Rows do not change sides: 24 outside P, 16 inside.
    assert by_hand[0] + by_hand[1] == 24
    assert by_hand[2] + by_hand[3] == 16


def test_one_round_with_the_printed_channel() -> None:
    # b = f/N = 10/40 = 1/4 where 1/6 would be right.
    # Expected to be published, from x = y:
    #   outside P  21 * 3/4 + 3/2 = 69/4 (seen 21 = 84/4)   21 * 1/4 + 3/2 = 27/4 (seen 3 = 12/4)
    #   inside P    9 * 3/4 + 7/2 = 41/4 (seen 9 = 36/4)     9 * 1/4 + 7/2 = 23/4 (seen 7 = 28/4)
    by_hand = (
        Fraction(21) * (Fraction(3, 4) * Fraction(84, 69) + Fraction(1, 4) * Fraction(12, 27)),
        Fraction(3) * (Fraction(1, 2) * Fraction(84, 69) + Fraction(1, 2) * Fraction(12, 27)),
        Fraction(9) * (Fraction(3, 4) * Fraction(36, 41) + Fraction(1, 4) * Fraction(28, 23)),
        Fraction(7) * (Fraction(1, 2) * Fraction(36, 41) + Fraction(1, 2) * Fraction(28, 23)),
    )
    assert by_hand[3] == Fraction(6916, 943)  # 7 * (18/41 + 14/23) = 7 * 988/943 = 7.33
    assert step(Y, Y, N, ELL, "printed") == by_hand
    assert project_step(Y, "printed") == pytest.approx([float(v) for v in by_hand], rel=1e-14)


@pytest.mark.parametrize("channel", ["exact", "printed"])
def test_five_rounds_in_fractions(channel: str) -> None:
    """b moves with x from round to round."""
    x, project = Y, [float(v) for v in Y]
    for _ in range(5):
        x, project = step(x, Y, N, ELL, channel), project_step(project, channel)
        assert project == pytest.approx([float(v) for v in x], rel=1e-12)
    assert x[1] + x[3] != 10


def test_a_state_without_tuples_stays_empty() -> None:
    """Nothing published and nothing believed: no division by zero, and no new tuples."""
    states = np.array([[30.0], [0.0], [10.0], [0.0]])
    assert bayes_step(states, states, N, [1 / ELL], "exact")[:, 0].tolist() == [30, 0, 10, 0]


def _bayes(
    y: float, n: int, f: float, rows: int, ell: int, *, tolerance: float = 1e-8
) -> tuple[float, int]:
    result = bayes_counts(
        np.array([[y, n - y]]),
        np.array([f, rows - f]),
        [1 / ell],
        tolerance=tolerance,
    )
    assert result.rounds.converged[0, 0]
    return float(result.estimate[0, 0]), int(result.rounds.iterations[0, 0])


def unbiased(y: float, n: float, f: float, rows: int, ell: int) -> float:
    a, b = 1 / ell, f * (1 - 1 / ell) / (rows - f)
    return (y - n * b) / (a - b)


@pytest.mark.few(3)
@pytest.mark.parametrize("ell", [2, 5])
@pytest.mark.parametrize("y", [20, 35, 45, 60])
def test_converged_it_is_the_unbiased_estimate(y: int, ell: int) -> None:
    """10,000 rows, 1,000 of them in P, 300 published with s, y of these in P."""
    expected = unbiased(y, 1000, 300, 10_000, ell)
    assert -100 < expected < 300
    estimate, _ = _bayes(y, 1000, 300, 10_000, ell)
    assert estimate == pytest.approx(max(expected, 0), abs=1e-3)


@pytest.mark.parametrize(("y", "n", "ell"), [(10, 1000, 5), (22, 1000, 5), (200, 9000, 5)])
def test_converged_it_is_clipped_at_zero(y: int, n: int, ell: int) -> None:
    assert unbiased(y, n, 300, 10_000, ell) < 0
    assert _bayes(y, n, 300, 10_000, ell)[0] == pytest.approx(0, abs=1e-3)


def test_converged_it_is_clipped_at_the_rows_of_the_predicate() -> None:
    """40 of 50 rows of P say s at ell = 2: more than P can hold."""
    assert unbiased(40, 50, 300, 10_000, 2) > 50
    assert _bayes(40, 50, 300, 10_000, 2)[0] == pytest.approx(50, abs=1e-3)


@pytest.mark.slow
def test_where_it_is_not_the_clipped_unbiased_estimate() -> None:
    """More of s inside P than there is altogether: the rows outside P are clipped at zero, which
    changes the total and with it b. The estimate inside then obeys its own equation.

    80 of the 300 published s lie in P: unbiased 315.3 inside, -15.3 outside.
    """
    rows, n, f, y, ell = 10_000, 1000, 300, 80, 5
    clipped = unbiased(y, n, f, rows, ell)
    assert 300 < clipped < n
    estimate, _ = _bayes(y, n, f, rows, ell)
    assert estimate < clipped - 3
    # With nobody outside, f is the estimate x itself: y = a x + b(x) (n - x).
    b = estimate * (1 - 1 / ell) / (rows - estimate)
    assert estimate / ell + b * (n - estimate) == pytest.approx(y, abs=1e-4)


def _way_gone(ell: int, share: float, lift: float) -> float:
    """How much of the way from the published to the converged count the 1% stop goes.

    100,000 rows, 5,000 in P; s has this share of all rows and `lift` times that of P's.
    """
    rows, n = 100_000, 5_000
    f, x = share * rows, lift * share * n
    y = x / ell + (n - x) * f * (1 - 1 / ell) / (rows - f)
    converged, rounds = _bayes(y, n, f, rows, ell)
    stopped, few = _bayes(y, n, f, rows, ell, tolerance=PAPER_TOLERANCE)
    assert converged == pytest.approx(x, abs=1e-2)
    assert few < rounds
    return (stopped - y) / (x - y)


@pytest.mark.slow
def test_the_paper_s_stop_at_one_percent_leaves_it_half_way() -> None:
    """At ell = 5, for values of 0.2% to 4%, off independence by a factor of two either way."""
    for share in (0.002, 0.01, 0.02):
        assert 0.3 < _way_gone(5, share, 0.5) < 0.5
        assert 0.55 < _way_gone(5, share, 2.0) < 0.7
    assert _way_gone(5, 0.04, 0.5) < 0.25


def test_the_paper_s_stop_at_one_percent_hardly_matters_at_ell_two() -> None:
    for share in (0.002, 0.01, 0.04):
        assert _way_gone(2, share, 0.5) > 0.85
        assert _way_gone(2, share, 2.0) > 0.85


@pytest.mark.slow
def test_the_paper_s_stop_at_one_percent_does_not_even_start_at_ell_ten() -> None:
    """The first round moves every number by less than 1%: the answer is the published count."""
    for share in (0.002, 0.01, 0.02):
        assert _way_gone(10, share, 0.5) < 0.02
        assert _way_gone(10, share, 2.0) < 0.02


def tensor(first: Matrix, second: Matrix) -> Matrix:
    """The tensor product of two matrices, row by row."""
    return [[a * b for a in left for b in right] for left in first for right in second]


def step_of_two(x: list[Fraction], y: list[Fraction], ells: tuple[int, int], channel: str) -> Any:
    """The update of section 7.2 for two columns, with all 64 transition probabilities."""
    rows = sum(x, Fraction(0))
    matrix: Matrix = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    for digit, ell in zip((2, 1), ells, strict=True):
        a = Fraction(1, ell)
        f = sum((part for state, part in enumerate(x) if state & digit), Fraction(0))
        b = f / rows if channel == "printed" else f * (1 - a) / (rows - f)
        matrix = tensor(matrix, [[1 - b, b], [1 - a, a]])
    reach = [sum((matrix[r][j] * x[r] for r in range(8)), Fraction(0)) for j in range(8)]
    return [
        sum((y[j] * matrix[i][j] * x[i] / reach[j] for j in range(8)), Fraction(0))
        for i in range(8)
    ]


@pytest.mark.parametrize("channel", ["exact", "printed"])
def test_three_rounds_with_two_columns_in_fractions(channel: str) -> None:
    """States count in binary: P, then the first value, then the second."""
    y = [Fraction(n) for n in (50, 12, 9, 4, 20, 7, 6, 5)]
    x, project = y, np.array([[float(v)] for v in y])
    for _ in range(3):
        x = step_of_two(x, y, (2, 3), channel)
        project = bayes_step(
            project, np.array([[float(v)] for v in y]), 113, [1 / 2, 1 / 3], channel
        )
        assert project[:, 0].tolist() == pytest.approx([float(v) for v in x], rel=1e-12)


def test_the_states_of_two_columns_are_counted_from_the_tallies() -> None:
    """One round from the tallies by value is one round from the eight states."""
    rng = np.random.default_rng(3)
    everybody = rng.integers(5, 60, (4, 3)).astype(np.float64)
    inside = np.floor(everybody * 0.4)[None]
    result = bayes_counts(inside, everybody, [1 / 2, 1 / 3], max_iterations=1)
    states = []
    for part in (everybody - inside[0], inside[0]):
        n, row, column, cell = part.sum(), part[2].sum(), part[:, 1].sum(), part[2, 1]
        states += [n - row - column + cell, column - cell, row - cell, cell]
    y = np.array(states)[:, None]
    by_hand = bayes_step(y, y, float(everybody.sum()), [1 / 2, 1 / 3], "exact")
    assert result.estimate[0, 2, 1] == pytest.approx(by_hand[7, 0])
    assert result.rounds.iterations.tolist() == np.ones((1, 4, 3)).tolist()
