"""How many rows with true value u publish v when groups are formed at random: the table Y.

Enters: counts per value, ell, a key. Leaves: Y, sparse. Must not know: rows, files.

All rows, in uniformly random order, are cut into groups of ell: N // ell groups, the last of them
larger by one until no row is left over. Every row publishes the value of a member of its group,
each with the same probability, itself included. No value is too frequent for that.

Rows are never ordered all at once. Fair coins send every row to a block; a block is put in random
order and cut into groups, and what it has left over is grouped with the last block. Nothing in this
depends on what a row holds, so any two partitions into groups of these sizes are equally likely.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism.deal import in_random_order, narrow_type
from countveil.maths.mechanism.draw import PublishedTable, Tally
from countveil.randomness import Stream, TaskKey

Counts = NDArray[np.int64]
Codes = NDArray[Any]
# The codes of some values, and how many rows have each.
Cells = tuple[Codes, Counts]

BLOCK_ROWS = 1 << 17
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
    size, larger = divmod(rows, rows // ell)
    codes = np.arange(counts.size).astype(narrow_type(counts.size))
    blocks = _blocks(_present(codes, counts), key.stream("blocks"))
    last = [next(blocks)]
    while sum(int(cells[1].sum()) for cells in last) < larger * (size + 1):
        last.append(next(blocks))
    tally, done = Tally(counts.size), 0

    def drawn(block: tuple[int, Cells]) -> tuple[Counts, Codes]:
        number, cells = block
        stream = key.stream("block", str(number))
        members = _in_random_order(cells, stream)
        grouped = members.size - members.size % size
        return _pairs(members[:grouped], size, counts.size, stream), members[grouped:]

    numbered = enumerate(blocks)
    # Blocks have streams of their own, so that threads do not change what is drawn; few wait.
    with ThreadPoolExecutor(_THREADS) as pool:
        while some := list(islice(numbered, _THREADS)):
            for pairs, left in pool.map(drawn, some):
                tally.add(pairs)
                last.append((left, np.ones(left.size, np.int64)))
                done += pairs.size
                progress(done / rows)
    stream = key.stream("last block")
    members = _in_random_order(_joined(last), stream)
    smaller = members.size - larger * (size + 1)
    tally.add(_pairs(members[:smaller], size, counts.size, stream))
    tally.add(_pairs(members[smaller:], size + 1, counts.size, stream))
    progress(1.0)
    return tally.table()


def _blocks(cells: Cells, stream: Stream) -> Iterator[Cells]:
    """All rows, halved by fair coins until no block is too large."""
    waiting = [cells]
    while waiting:
        codes, counts = waiting.pop()
        if counts.sum() <= BLOCK_ROWS:
            yield codes, counts
            continue
        heads = stream.heads(counts)
        waiting += [_present(codes, heads), _present(codes, counts - heads)]


def _present(codes: Codes, counts: Counts) -> Cells:
    """Without the values that no row has: of very many values a block has few."""
    return codes[counts > 0], counts[counts > 0]


def _joined(several: list[Cells]) -> Cells:
    codes, place = np.unique(np.concatenate([codes for codes, _ in several]), return_inverse=True)
    counts = np.zeros(codes.size, np.int64)
    np.add.at(counts, place, np.concatenate([counts for _, counts in several]))
    return codes, counts


def _in_random_order(cells: Cells, stream: Stream) -> Codes:
    codes, counts = cells
    return in_random_order(counts, np.zeros(counts.size, np.int64), codes, 1, stream)


def _pairs(members: Codes, size: int, n_values: int, stream: Stream) -> Counts:
    """The true and the published value of every row of these groups, as one number."""
    places = stream.below(size, members.size)
    # Blocks differ a little in size: the same array serves all.
    most = max(members.size, BLOCK_ROWS)
    places += _firsts(most - most % size, size)[: members.size]
    pairs = members.astype(np.int64)
    pairs *= n_values
    pairs += members.take(places)
    return pairs


@lru_cache(maxsize=2)
def _firsts(rows: int, size: int) -> Counts:
    """The first place of every row's group."""
    first = np.repeat(np.arange(0, rows, size), size)
    first.flags.writeable = False
    return first
