"""Trades: groups stay groups, and every way to form them comes up equally often."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.groups import trades
from countveil.maths.groups.trades import mixed_rows, trade
from countveil.randomness import Randomness
from tests.strategies import eligible, examples

Counts = NDArray[np.int64]


@examples(100)
@given(eligible(most_values=40), st.integers(0, 2**32), st.booleans())
def test_a_trade_keeps_counts_and_different_values(
    case: tuple[Counts, int], seed: int, looked_up: bool
) -> None:
    counts = case[0].copy()
    groups = int(counts.sum()) // case[1]
    while counts.sum() % groups:
        counts[np.argmax(counts)] -= 1
    with pytest.MonkeyPatch.context() as patch:
        if looked_up:
            patch.setattr(trades, "NARROW", 0)
            patch.setattr(trades, "TABLE_CELLS", 3 * counts.size)
        members = mixed_rows(counts, groups, Randomness(seed).stream("trades"))
    assert np.array_equal(np.bincount(members.ravel(), minlength=counts.size), counts)
    ordered = np.sort(members, axis=1)
    assert np.all(ordered[:, 1:] > ordered[:, :-1])


def test_both_ways_to_see_what_is_shared_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.arange(1, 31, dtype=np.int64) * 3
    groups = int(counts.sum()) // 9
    drawn = []
    for narrow in (12, 0):
        monkeypatch.setattr(trades, "NARROW", narrow)
        drawn.append(mixed_rows(counts, groups, Randomness(4).stream("trades")))
    assert np.array_equal(drawn[0], drawn[1])


@pytest.mark.slow
def test_all_ways_to_form_groups_are_equally_likely() -> None:
    """Six values once each in three groups of two: fifteen ways.

    Each share is off by more than 5.5 standard errors with probability 4e-8; fifteen of them: 6e-7.
    """
    start = np.array([[0, 1], [2, 3], [4, 5]], np.int64)
    stream = Randomness(11).stream("trades")
    seen: dict[tuple[tuple[int, ...], ...], int] = {}
    members = start.copy()
    runs = 1_500
    for _ in range(runs):
        for _ in range(12):
            trade(members, 6, stream)
        key = tuple(sorted(tuple(sorted(row)) for row in members.tolist()))
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 15
    error = np.sqrt(1 / 15 * 14 / 15 / runs)
    assert max(abs(count / runs - 1 / 15) for count in seen.values()) < 5.5 * error
