"""Templates that are added for pairs which hardly any template holds."""

from __future__ import annotations

import numpy as np
import pytest

from countveil.maths.groups.balance import TargetMeetings
from countveil.maths.groups.bulk import _for_missing, _possible
from countveil.randomness import Randomness

PLACES, VALUES = 5, 30


def templates(stream: str) -> np.ndarray:
    """200 groups of five different values."""
    draw = Randomness().stream(stream)
    return np.array([draw.permutation(VALUES)[:PLACES] for _ in range(200)])


def test_no_template_that_is_added_holds_a_value_twice() -> None:
    """Every pair is lacking, so some are added to templates that hold both values already.

    A template that holds the one holds the other with probability 4/29, and fifty are made: that
    no such template is drawn has a chance below 10^-3, in ten tries below 10^-30.
    """
    added = 0
    for number in range(10):
        members = templates(str(number))
        place, pairs = np.arange(VALUES), np.full((VALUES, VALUES), 1e6)
        target = TargetMeetings.of(place, pairs, pairs, np.ones(VALUES))
        extra = _for_missing(members, target, Randomness().stream("lacking"))
        added += len(extra)
        ordered = np.sort(extra, axis=1)
        assert (ordered[:, 1:] != ordered[:, :-1]).all(), "a group would hold a value twice"
    assert added > 100


@pytest.mark.parametrize("times", [10, 1_000])
def test_no_value_is_used_more_often_than_it_occurs(times: int) -> None:
    members = templates("members")
    counts = np.arange(1, VALUES + 1) * 50
    whole = _possible(members, np.full(200, times), counts, 10**9)
    used = np.zeros(VALUES, np.int64)
    np.add.at(used, members, whole[:, None])
    assert (used <= counts).all(), "rows would publish a value that nobody has"
    assert whole.any()
