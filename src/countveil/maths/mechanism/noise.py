"""Noise before groups: some rows take a value of the declared domain at random.

Enters: counts per value of the whole declared domain, gamma, a stream. Leaves: how many rows with
true value u take v, and, after the groups of the noised table were drawn, how many publish v. Must
not know: rows, how groups are formed. Theory: docs/theory/odds.md.

Every row keeps its value with probability 1 - gamma, and otherwise takes one of the V values of
the domain, its own included, each as likely. gamma is a multiple of 2^-24, so that it is exact:
a row compares random bits with those of gamma, and the bits are only counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism.deal import Dealer
from countveil.maths.mechanism.draw import CHUNK, PublishedTable, Tally
from countveil.randomness import Stream

Counts = NDArray[np.int64]

GAMMA_BITS = 24


def draw_noise(counts: Counts, gamma: float, stream: Stream) -> PublishedTable:
    """How many rows with each true value take each value; gamma is rounded up to 24 bits."""
    n_values = counts.size
    taking = _chosen(counts, int(np.ceil(gamma * (1 << GAMMA_BITS))), stream)
    tally = Tally(n_values)
    diagonal = np.arange(n_values) * (n_values + 1)
    tally.add_counts(diagonal, counts - taking)
    step = max(1, CHUNK // n_values)
    for first in range(0, n_values, step):
        here = slice(first, first + step)
        taken = stream.tallies(n_values, taking[here])
        keys = np.arange(first * n_values, first * n_values + taken.size)
        tally.add_counts(keys, taken.ravel())
    return tally.table()


def after_noise(noise: PublishedTable, drawn: PublishedTable, stream: Stream) -> PublishedTable:
    """True and published values, from true and noised, and noised and published ones.

    Which of the rows with a noised value had which true value does not matter to the groups: what
    they publish is dealt to them in random order.
    """
    dealer, tally = Dealer(drawn, stream), Tally(noise.n_values)
    owners = np.repeat(np.arange(noise.n_values), np.diff(noise.indptr))
    for cells, counts in _chunks(noise.counts):
        published = dealer.deal(np.repeat(noise.values[cells], counts))
        tally.add(np.repeat(owners[cells], counts) * noise.n_values + published)
    return tally.table()


def _chosen(counts: Counts, bits: int, stream: Stream) -> Counts:
    """How many of these rows draw a number below gamma, bit by bit from the highest."""
    if bits >= 1 << GAMMA_BITS:
        return counts.copy()
    undecided, chosen = counts.copy(), np.zeros_like(counts)
    for place in reversed(range(GAMMA_BITS)):
        ones = stream.heads(undecided)
        if bits >> place & 1:
            chosen += undecided - ones
            undecided = ones
        else:
            undecided = undecided - ones
    return chosen


def _chunks(counts: Counts) -> Iterator[tuple[slice, Counts]]:
    """Neighbouring cells with about `CHUNK` rows; a larger cell is cut."""
    ends = np.cumsum(counts)
    first, before = 0, 0
    while before < int(ends[-1]):
        last = int(np.searchsorted(ends, before + CHUNK, side="right")) + 1
        last = min(last, counts.size)
        starts = ends[first:last] - counts[first:last]
        upto = min(before + CHUNK, int(ends[last - 1]))
        part = np.minimum(ends[first:last], upto) - np.maximum(starts, before)
        yield slice(first, last), part
        before = upto
        first = int(np.searchsorted(ends, before, side="right"))
