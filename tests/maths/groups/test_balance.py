"""Balancing: what it adds up as it goes is what the groups say in the end."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.channel.design import expected_pairs, fit_design
from countveil.maths.channel.templates import meetings
from countveil.maths.groups import balance as room
from countveil.maths.groups.balance import TargetMeetings, balance
from countveil.maths.groups.trades import mixed_rows
from countveil.randomness import Randomness

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def a_case(
    n_values: int, places: int, groups: int, allowed: float
) -> tuple[Counts, Counts, TargetMeetings, Floats]:
    shares = 1 / np.arange(1, n_values + 1) ** (0.5 if places < 8 else 0.2)
    counts = np.floor(groups * places * shares / shares.sum()).astype(np.int64)
    counts = np.minimum(counts, groups)
    counts[np.argsort(counts)[: groups * places - int(counts.sum())]] += 1
    smaller, larger = expected_pairs(fit_design(counts, places), np.arange(n_values))
    pairs = smaller + larger
    target = TargetMeetings.of(np.arange(n_values), pairs, pairs, counts * allowed)
    members = mixed_rows(counts, groups, Randomness(2).stream("x"))
    return members, counts, target, pairs


def off(members: Counts, pairs: Floats) -> Floats:
    result: Floats = meetings(members, None, pairs.shape[0]) - pairs
    np.fill_diagonal(result, 0.0)
    return result


@pytest.mark.few(2)
@pytest.mark.parametrize(("n_values", "places"), [(30, 4), (40, 12)])
@pytest.mark.parametrize("dense", [0, 1 << 18])
def test_the_running_sum_is_that_of_the_groups(
    n_values: int, places: int, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "DENSE_PAIRS", dense)
    members, counts, target, pairs = a_case(n_values, places, 900, 0.01)
    running = room._Balance(members, target, Randomness(3).stream("x"))
    before = running.total
    for _ in range(60):
        running.round()
    weights = target.weights[:-1, :-1]
    assert running.total == pytest.approx((weights * off(members, pairs) ** 2).sum() / 2)
    assert running.total < 0.2 * before
    assert np.array_equal(np.bincount(members.ravel(), minlength=n_values), counts)
    ordered = np.sort(members, axis=1)
    assert np.all(ordered[:, 1:] > ordered[:, :-1])


def test_it_stops_as_soon_as_all_is_within_what_is_allowed() -> None:
    members, counts, target, pairs = a_case(30, 4, 2_000, 1.0)
    before = members.copy()
    balance(members, target, Randomness(3).stream("x"))
    missed = (off(members, pairs) ** 2 * (target.weights[:-1, :-1] > 0)).sum(axis=0)
    assert np.all(missed <= counts)
    again = members.copy()
    balance(again, target, Randomness(4).stream("x"))
    assert np.array_equal(again, members)
    assert not np.array_equal(before, members)
