"""Drawing a bucket for every row and shuffling each bucket is a uniform shuffle, also on disk.

False-alarm rate of every test: at most 1e-6, for any seed.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from countveil.engines.local.publish_rows import Rows, Shuffle, draw_buckets
from countveil.randomness import Randomness, Stream
from countveil.tables.storage.spill import Spill
from tests.statistical.bounds import FALSE_ALARM, follows

ORDERS = {order: place for place, order in enumerate(itertools.permutations(range(4)))}


def shuffled(stream: Stream, spans: list[list[int]], n_buckets: int, spill: Spill | None) -> int:
    """Which order the rows of these spans come out in."""
    shuffle = Shuffle(len(spans), n_buckets, 1, None, spill)
    for number, span in enumerate(spans):
        shuffle.add(number, Rows(np.array([span], np.uint64), None), stream.spawn())
    order: list[int] = []
    for bucket in range(n_buckets):
        order += shuffle.bucket(bucket, stream).words[0].tolist()
    return ORDERS[tuple(order)]


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(("spans", "n_buckets"), [([[0, 1, 2], [3]], 3), ([[0, 1, 2, 3]], 1),
                                                  ([[0], [1], [2], [3]], 2)])  # fmt: skip
def test_every_order_is_as_likely(
    spans: list[list[int]], n_buckets: int, on_disk: bool, tmp_path: Path, seed: int
) -> None:
    stream = Randomness(seed).stream("shuffle")
    spill = Spill(tmp_path) if on_disk else None
    counts = np.zeros(len(ORDERS), np.int64)
    for _ in range(2_000):
        counts[shuffled(stream, spans, n_buckets, spill)] += 1
    if spill is not None:
        spill.close()
    assert follows(counts, np.full(24, 1 / math.factorial(4))) > FALSE_ALARM


def test_buckets_alone_are_noticed(seed: int) -> None:
    """Without the shuffle inside the buckets the same check refuses."""
    stream = Randomness(seed).stream("shuffle")
    counts = np.zeros(len(ORDERS), np.int64)
    for _ in range(6_000):
        buckets = draw_buckets(stream, 3, 4)
        counts[ORDERS[tuple(np.argsort(buckets, kind="stable").tolist())]] += 1
    assert follows(counts, np.full(24, 1 / 24)) < FALSE_ALARM
