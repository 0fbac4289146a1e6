"""Most groups of a large table at once: a pool of templates, and how often to use each.

Enters: counts per value, a number of groups, how often pairs should meet, a stream. Leaves:
templates with multiplicities that use up nearly all groups, such that what is left is a small and
ordinary task. Must not know: what the groups are for.

A small composition that is merely repeated repeats its own errors, and these do not shrink as the
errors of estimates do. So the multiplicities differ:

1. The pool is nearly balanced groups for a histogram of the same shape, except that rare values
   (and values that are nearly everywhere) get more places, or gaps, than their share, so that each
   meets all others; pairs that hardly do get templates of their own. Where few groups are possible
   at all, the pool holds every one of them.
2. A template's multiplicity starts at what the maximum-entropy design says: the product of its
   values' weights over their weights in the pool.
3. Conjugate gradients find the smallest relative change of the multiplicities that makes every pair
   meet as often as wished. There are far more templates than pairs.
4. The multiplicities are rounded down. The cut-off fractions are what is left: about half as many
   groups as templates in the pool, with non-negative counts and meetings, hence a task that can be
   solved with every template once, to within one or two meetings of each pair.

The error is thus one or two groups however many rows there are, or what is allowed if that is more,
at a cost that does not grow with them.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.design import Design, expected_pairs, fit_design
from countveil.maths.channel.templates import meetings, pair_keys
from countveil.maths.groups.balance import CHANCE_BELOW, Wished, balance
from countveil.maths.groups.multiplicities import Fit, cost, wide
from countveil.maths.groups.progress import Tell, nobody, part
from countveil.maths.groups.trades import mixed_rows
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Work of one pass over the pool, in looked-up pairs, and its size. Where groups hold a large part
# of all values, every pair meets often in each level: levels are as good for far less work.
_POOL_LOOKUPS, _WIDE_LOOKUPS, _POOL_PLACES = 250_000_000, 10_000_000, 60_000_000
# Templates per pair: with fewer, solving takes far longer; with more, each step does.
_PER_PAIR, _PLACES_PER_PAIR, _SMALLEST_POOL = 2, 10, 300
# All possible groups are the pool, if they are not more than this many, or not more than so many
# times the pool: nothing has to be solved for then.
_ALL, _ALL_TIMES = 50_000, 12
# Two rare values should share this many templates, as far as some of all places go.
_MEET, _EXTRA_SHARE = 8.0, 0.5
# The pool need not be quite random, nor quite balanced: sweeps of trades and of swaps.
_TRADES, _SWAPS = 4, 2.0
_MOST_OFF, _USED_IF_NOT_SOLVED = 5.0, 0.5


def pool_size(places: int, n_balanced: int, n_values: int) -> int:
    """How many templates make it easy to solve for all pairs; 0 if that is too much work.

    Where some values are left to chance, most are: levels do for the others.
    """
    per_pair = max(_PER_PAIR, _PLACES_PER_PAIR / places)
    pool = max(_SMALLEST_POOL, int(per_pair * n_balanced * (n_balanced - 1) / 2))
    if n_balanced < n_values or not affordable(pool, places, n_balanced):
        return 0
    possible = comb(n_values, places)
    return possible if possible <= max(_ALL, _ALL_TIMES * pool) else pool


def affordable(pool: int, places: int, n_balanced: int) -> bool:
    """Can so many templates be solved for?"""
    most = _WIDE_LOOKUPS if wide(places, n_balanced) else _POOL_LOOKUPS
    return pool * cost(places, n_balanced) <= most and pool * places <= _POOL_PLACES


def bulk(
    counts: Counts,
    groups: int,
    pool: int,
    balanced: Counts,
    wished: Wished,
    stream: Stream,
    tell: Tell = nobody,
) -> tuple[Counts, Counts, bool]:
    """Templates (rows), multiplicities, and whether all pairs meet as wished.

    Meetings are wished for the `balanced` values.
    """
    places = int(counts.sum()) // groups
    design = fit_design(counts, places)
    log_weights = design.log_weights
    some = (counts > 0) & (counts < groups)
    if some.all() and comb(counts.size, places) <= pool:
        members = np.array(list(combinations(range(counts.size), places)), np.int64)
    else:
        share = pool_counts(counts, groups, pool)
        members = mixed_rows(share, pool, stream, _TRADES, part(tell, 0.0, 0.15))
        ours = fit_design(share, places)
        pairs = _proportional(design, ours, balanced, wished)
        swaps = part(tell, 0.15, 0.45)
        members = _balanced(members, ours.counts[balanced], pairs, wished, stream, swaps)
        log_weights = log_weights - ours.log_weights
    members = _neighbours_together(members)
    log_times = log_weights[members].sum(axis=1)
    times = np.exp(log_times - log_times.max())
    times *= groups / times.sum()
    fixed = _nearly_always(counts, groups, pool)
    times, solved = Fit(members, counts, wished, fixed, part(tell, 0.45, 1.0)).solve(times)
    if not solved:
        # If it is used all the same, another pool makes good for it, and needs room to do so.
        times *= _USED_IF_NOT_SOLVED
    whole = _not_too_often(members, np.floor(times).astype(np.int64), wished)
    whole = _possible(members, whole, counts, groups)
    used = whole > 0
    return members[used], whole[used], solved


def _neighbours_together(members: Counts) -> Counts:
    """The same templates in an order in which their pairs lie close together in memory.

    Solving looks every pair up again and again; a table of two million pairs fits into no cache.
    """
    ordered = np.sort(members, axis=1)
    some = ordered[:, :2]
    together: Counts = ordered[np.argsort(some[:, 0] * (int(members.max()) + 1) + some[:, -1])]
    return together


def _proportional(design: Design, ours: Design, balanced: Counts, wished: Wished) -> Floats:
    """How often pairs should meet in the pool: off its own design as what is wished is."""
    usual, pool = (sum(expected_pairs(fitted, balanced)) for fitted in (design, ours))
    as_wished = wished.pairs[:-1, :-1] / np.maximum(usual, 1e-9)
    pairs: Floats = pool * np.clip(as_wished, 0.0, _MOST_OFF)
    return pairs


def _balanced(
    members: Counts, share: Counts, pairs: Floats, wished: Wished, stream: Stream, tell: Tell
) -> Counts:
    """The pool after some swaps, and with more templates for pairs that it lacks."""
    # Here errors in proportion count: as if the variance of a count were what is allowed.
    allowed = share.astype(np.float64) + 1.0
    aim = Wished.of(wished.place, np.maximum(pairs, _MEET), wished.pairs[:-1, :-1], allowed)
    balance(members, aim, stream, _SWAPS, tell)
    return np.concatenate([members, _for_missing(members, wished, stream)])


def _for_missing(members: Counts, wished: Wished, stream: Stream) -> Counts:
    """More templates, for pairs that should meet and that hardly any template holds.

    Some template that holds the one value gets the other in place of the rarest one beside it:
    beside frequent values, templates can be used as often as two rare ones need.
    """
    place, n = wished.place, wished.pairs.shape[0] - 1
    n_templates, places = members.shape
    held = place[members].ravel()
    found = meetings(place[members], None, n)
    one, two = np.nonzero((found < _MEET) & (wished.pairs[:-1, :-1] >= CHANCE_BELOW))
    order = np.argsort(held, kind="stable")
    ends = np.cumsum(np.bincount(held, minlength=n + 1))
    starts = np.concatenate([[0], ends])[:-1]
    lacking = np.flatnonzero((one != two) & (ends[one] > starts[one]))[: n_templates // 4]
    one, two = one[lacking], two[lacking]
    chosen = starts[one] + stream.below(n_templates, one.size) % (ends[one] - starts[one])
    templates, at = np.divmod(order[chosen], places)
    more: Counts = members[templates]
    value = np.zeros(n, np.int64)
    value[place[place < n]] = np.flatnonzero(place < n)
    frequency = np.diff(ends, prepend=0)[place[more]].astype(np.float64)
    frequency[np.arange(one.size), at] = np.inf
    at = np.argmin(frequency, axis=1)
    clean = ~(more == value[two][:, None]).any(axis=1)
    more[np.arange(one.size), at] = value[two]
    kept: Counts = more[clean]
    return kept


def _nearly_always(counts: Counts, groups: int, pool: int) -> NDArray[np.bool_]:
    """Values missing from so few groups that those left at the end can be the ones."""
    nearly: NDArray[np.bool_] = groups - counts <= pool // 100
    return nearly


def pool_counts(counts: Counts, groups: int, pool: int) -> Counts:
    """Counts of the same shape for `pool` groups, with more of what is rare."""
    places = int(counts.sum()) // groups
    always = _nearly_always(counts, groups, pool)
    free = places - int(np.count_nonzero(always))
    n_free = int(np.count_nonzero((counts > 0) & ~always))
    enough = np.sqrt(_MEET * pool)
    in_some = min(enough, _EXTRA_SHARE * pool * free / max(n_free, 1))
    out_of_some = min(enough, _EXTRA_SHARE * pool * (n_free - free) / max(n_free, 1))
    low = np.where(always, pool, np.minimum(counts, in_some))
    high = np.where(always, pool, pool - np.minimum(groups - counts, out_of_some))
    fair = counts * (pool / groups)
    # Scale what lies between the bounds until the sum is right: it grows with the scale.
    bottom, top = 0.0, 1.0
    while np.clip(fair * top, low, high).sum() < pool * places and top < 2.0**60:
        bottom, top = top, 2 * top
    for _ in range(80):
        middle = (bottom + top) / 2
        if np.clip(fair * middle, low, high).sum() < pool * places:
            bottom = middle
        else:
            top = middle
    ends = np.floor(np.cumsum(np.clip(fair * top, low, high)) + 0.5).astype(np.int64)
    ends[-1] = pool * places
    return np.diff(ends, prepend=0)


def _not_too_often(members: Counts, times: Counts, wished: Wished) -> Counts:
    """Lower multiplicities until no pair meets more often than wished: that could not be undone."""
    n = wished.allowed.size
    pairs = np.zeros((n + 1, n + 1))
    pairs[:n, :n] = meetings(wished.place[members], times.astype(np.float64), n)
    most = np.where(wished.weights > 0, np.maximum(wished.pairs, 0.0), np.inf)
    room = np.minimum(1.0, most / np.maximum(pairs, 1.0))
    scale = np.ones(times.size)
    for rows, keys in pair_keys(wished.place[members], n):
        scale[rows] = room.take(keys).min(axis=0)
    return np.where(scale < 1, np.floor(times * scale).astype(np.int64), times)


def _possible(members: Counts, times: Counts, counts: Counts, groups: int) -> Counts:
    """Lower multiplicities until what is left can still be grouped.

    No value may be used more often than it occurs, nor be left out more often than it may be.
    """
    used = np.zeros(counts.size, np.int64)
    np.add.at(used, members, times[:, None])
    left_out = int(times.sum()) - used
    room = np.minimum(1.0, counts / np.maximum(used, 1))
    scale = room[members].min(axis=1)
    share = (groups - counts) / np.maximum(left_out, 1)
    tightest = np.argsort(share, kind="stable")[: members.shape[1] + 1]
    # A template holds fewer values than these, so it lacks one: looser bounds do not matter.
    for value in tightest[share[tightest] < 1].tolist():
        without = ~(members == value).any(axis=1)
        scale[without] = np.minimum(scale[without], share[value])
    # A little less, so that rounding in the product cannot exceed an integer bound.
    lowered = np.floor(times * scale * (1 - 1e-12)).astype(np.int64)
    return np.where(scale < 1, lowered, times)
