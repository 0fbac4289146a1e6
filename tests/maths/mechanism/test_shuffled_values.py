"""Published values in random order, also where their random bits tie."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.mechanism.deal import ShuffledBatch
from countveil.randomness import Randomness, Stream, Word
from tests.statistical.bounds import FALSE_ALARM, follows


class FewBits(Stream):
    """A stream whose half words have few random bits above the codes."""

    __slots__ = ("kept",)
    kept: int

    def words(self, count: int, dtype: type[Word] = np.uint64) -> NDArray[Any]:
        words = super().words(count, dtype)
        return words & np.uint32(self.kept) if dtype is np.uint32 else words


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 1 << 20, 3 << 20, 0xFFFFFFFF])
def test_every_order_is_as_likely_however_many_tie(kept: int) -> None:
    """Two owners, with three values and with two: 3 x 2 arrangements. False alarms: 1e-6."""
    counts, owners = np.array([2, 1, 1, 1]), np.array([0, 0, 1, 1])
    codes = np.array([0, 1, 2, 0], np.uint8)
    subkeys = Randomness(7).stream("subkeys")
    orders = sorted(set(itertools.permutations((0, 0, 1))))
    places = {(*one, *two): None for one in orders for two in ((2, 0), (0, 2))}
    tallies = dict.fromkeys(places, 0)
    for _ in range(6_000):
        stream = FewBits(subkeys.words(4).tobytes())
        stream.kept = kept
        tallies[tuple(ShuffledBatch(counts, owners, codes, 2, stream).values().tolist())] += 1
    assert follows(np.array(list(tallies.values())), np.full(6, 1 / 6)) > FALSE_ALARM
