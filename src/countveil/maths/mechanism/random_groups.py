"""How many rows with true value u publish v when groups are formed at random: the table Y.

Enters: counts per value, ell, a key. Leaves: Y, sparse. Must not know: rows, files.

All rows, in uniformly random order, are cut into groups of ell: N // ell groups, the last of them
larger by one until no row is left over. Every row publishes the value of a member of its group,
each with the same probability, itself included. No value is too frequent for that.

Which row is where does not matter for the totals: only the order of the values does. They are never
ordered all at once. The places are cut into blocks of whole groups; how many rows of each value a
block has is drawn without replacement (`split`), and each block is shuffled and drawn on its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism.deal import in_random_order, narrow_type
from countveil.maths.mechanism.draw import PublishedTable, Tally
from countveil.maths.mechanism.split import share_out
from countveil.randomness import Stream, TaskKey

Counts = NDArray[np.int64]

BLOCK_ROWS = 1 << 19
_THREADS = min(4, os.cpu_count() or 1)


def draw_random_groups(
    counts: Counts,
    ell: int,
    key: TaskKey,
    progress: Callable[[float], None] = lambda _share: None,
) -> PublishedTable:
    """Draw Y for random groups of at least `ell` rows."""
    rows = int(counts.sum())
    if rows < ell:
        raise ValueError("fewer rows than a group has")
    sizes = list(_blocks(rows, ell))
    # One owner: all values are dealt to blocks from one heap.
    everything = PublishedTable(np.array([0, counts.size]), np.arange(counts.size), counts)
    wanted = np.array([[groups * size] for groups, size in sizes])
    codes = np.arange(counts.size).astype(narrow_type(counts.size))
    tally, done = Tally(counts.size), 0
    shares = share_out(everything, wanted, len(sizes), key)

    def drawn(block: tuple[int, tuple[tuple[int, int], PublishedTable]]) -> Counts:
        number, ((groups, size), share) = block
        return _pairs(share.counts, codes, groups, size, key.stream("block", str(number)))

    blocks = enumerate(zip(sizes, shares, strict=True))
    # Blocks have streams of their own, so that threads do not change what is drawn; few wait.
    with ThreadPoolExecutor(_THREADS) as pool:
        while some := list(islice(blocks, _THREADS)):
            for (_, ((groups, size), _)), pairs in zip(some, pool.map(drawn, some), strict=True):
                tally.add(pairs)
                done += groups * size
                progress(done / rows)
    return tally.table()


def _blocks(rows: int, ell: int) -> Iterator[tuple[int, int]]:
    """The number of groups and their size, block by block."""
    groups = rows // ell
    size, larger = divmod(rows, groups)
    for number, places in ((groups - larger, size), (larger, size + 1)):
        most = max(1, BLOCK_ROWS // places)
        for first in range(0, number, most):
            yield min(most, number - first), places


def _pairs(
    counts: Counts, codes: NDArray[np.unsignedinteger], groups: int, size: int, stream: Stream
) -> Counts:
    """The true and the published value of every row of a block, as one number."""
    present = np.flatnonzero(counts)
    members = in_random_order(
        counts[present], np.zeros(present.size, np.int64), codes[present], 1, stream
    )
    places = stream.below(size, groups * size)
    places += _firsts(groups, size)
    pairs = members.astype(np.int64)
    pairs *= counts.size
    pairs += members.take(places)
    return pairs


@lru_cache(maxsize=2)
def _firsts(groups: int, size: int) -> Counts:
    """The first place of every row's group; most blocks are alike."""
    first = np.repeat(np.arange(0, groups * size, size), size)
    first.flags.writeable = False
    return first
