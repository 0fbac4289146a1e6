"""Most groups of a large table at once: a pool of templates, and how often to use each.

Enters: counts per value, a number of groups, how often pairs should meet, a stream. Leaves:
templates with multiplicities that use up nearly all groups, such that what is left is a small,
ordinary task. Must not know: what the groups are for.

Repeating a small composition repeats its errors, and these do not shrink as the errors of estimates
do. So the multiplicities differ:

1. The pool consists of nearly balanced groups for a histogram of the same shape. Rare values get
   more places than their share, and values that are nearly everywhere more gaps, so that each meets
   all others; pairs that hardly meet get extra templates. Where few groups are possible at all, the
   pool holds every one of them.
2. A template's multiplicity starts at what the maximum-entropy design says: the product of its
   values' weights over their weights in the pool.
3. Conjugate gradients find the smallest relative change of the multiplicities that makes every pair
   meet as often as it should. There are far more templates than pairs.
4. The multiplicities are rounded down. The fractions cut off are what is left: about half as many
   groups as templates in the pool, with non-negative counts and meetings, hence a task that can be
   solved with every template used once, to within one or two meetings of each pair.

The error is one or two groups however many rows there are, or the allowance if that is more. The
cost does not grow with the rows.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.design import Design, expected_pairs, fit_design
from countveil.maths.channel.templates import meetings, pair_keys
from countveil.maths.groups.balance import (
    CHANCE_BELOW,
    ShareDone,
    TargetMeetings,
    balance,
    section,
    unreported,
)
from countveil.maths.groups.multiplicities import Fit
from countveil.maths.groups.steady import steady, steady_meetings
from countveil.maths.groups.trades import mixed_rows
from countveil.randomness import Stream

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Two rare values should share this many templates, at the cost of at most this share of places.
_MEET, _EXTRA_SHARE = 8.0, 0.5
# The pool need not be fully random or balanced: sweeps of trades, and of swaps.
_TRADES, _SWAPS = 4, 2.0
_MOST_OFF, _USED_IF_NOT_SOLVED = 5.0, 0.5


def bulk(
    counts: Counts,
    groups: int,
    pool: int,
    balanced: Counts,
    target: TargetMeetings,
    stream: Stream,
    progress: ShareDone = unreported,
) -> tuple[Counts, Counts, bool]:
    """Templates (rows), multiplicities, and whether all pairs meet as often as they should.

    Only meetings among the `balanced` values count.
    """
    places = int(counts.sum()) // groups
    design = fit_design(counts, places)
    log_weights = design.log_weights
    some = (counts > 0) & (counts < groups)
    if some.all() and comb(counts.size, places) <= pool:
        members = np.array(list(combinations(range(counts.size), places)), np.int64)
    else:
        share = pool_counts(counts, groups, pool)
        members = mixed_rows(share, pool, stream, _TRADES, section(progress, 0.0, 0.15))
        pooled = fit_design(share, places)
        pairs = _proportional(design, pooled, balanced, target)
        swaps = section(progress, 0.15, 0.45)
        members = _balanced(members, pooled.counts[balanced], pairs, target, stream, swaps)
        log_weights = log_weights - pooled.log_weights
    members = _in_cache_order(members)
    log_times = log_weights[members].sum(axis=1)
    times = steady(np.exp(log_times - log_times.max()))
    times *= groups / times.sum()
    fixed = _nearly_always(counts, groups, pool)
    times, solved = Fit(members, counts, target, fixed, section(progress, 0.45, 1.0)).solve(times)
    if not solved:
        # If the caller uses it all the same, the next pool needs room to correct it.
        times *= _USED_IF_NOT_SOLVED
    whole = _not_too_often(members, np.floor(times).astype(np.int64), target)
    whole = _possible(members, whole, counts, groups)
    used = whole > 0
    return members[used], whole[used], solved


def _in_cache_order(members: Counts) -> Counts:
    """The same templates, in an order in which their pairs lie close together in memory.

    Solving looks up every pair again and again; a table of two million pairs fits no cache.
    """
    ordered = np.sort(members, axis=1)
    leading = ordered[:, :2]
    keys = leading[:, 0] * (int(members.max()) + 1) + leading[:, -1]
    order = np.argsort(keys, kind="stable")
    in_order: Counts = ordered[order]
    return in_order


def _proportional(
    design: Design, pooled: Design, balanced: Counts, target: TargetMeetings
) -> Floats:
    """How often pairs should meet in the pool: its design, scaled by target over design."""
    usual, pool = (sum(expected_pairs(fitted, balanced)) for fitted in (design, pooled))
    ratio = target.pairs[:-1, :-1] / np.maximum(usual, 1e-9)
    return steady_meetings(pool * np.clip(ratio, 0.0, _MOST_OFF))


def _balanced(
    members: Counts,
    share: Counts,
    pairs: Floats,
    target: TargetMeetings,
    stream: Stream,
    progress: ShareDone,
) -> Counts:
    """The pool after some swaps, with more templates for pairs that it lacks."""
    # Relative errors matter here: allow each value the variance of its count.
    allowed = share.astype(np.float64) + 1.0
    aim = TargetMeetings.of(target.place, np.maximum(pairs, _MEET), target.pairs[:-1, :-1], allowed)
    balance(members, aim, stream, _SWAPS, progress)
    return np.concatenate([members, _for_missing(members, target, stream)])


def _for_missing(members: Counts, target: TargetMeetings, stream: Stream) -> Counts:
    """More templates, for pairs that should meet and that hardly any template holds.

    A template that holds the one value gets the other in place of its rarest companion: templates
    of frequent values can be used as often as two rare ones need.
    """
    place, n = target.place, target.pairs.shape[0] - 1
    n_templates, places = members.shape
    flat = place[members].ravel()
    shared = meetings(place[members], None, n)
    one, two = np.nonzero((shared < _MEET) & (target.pairs[:-1, :-1] >= CHANCE_BELOW))
    order = np.argsort(flat, kind="stable")
    ends = np.cumsum(np.bincount(flat, minlength=n + 1))
    starts = np.concatenate([[0], ends])[:-1]
    lacking = np.flatnonzero((one != two) & (ends[one] > starts[one]))[: n_templates // 4]
    one, two = one[lacking], two[lacking]
    chosen = starts[one] + stream.below(n_templates, one.size) % (ends[one] - starts[one])
    templates, at = np.divmod(order[chosen], places)
    extra: Counts = members[templates]
    value = np.zeros(n, np.int64)
    value[place[place < n]] = np.flatnonzero(place < n)
    frequency = np.diff(ends, prepend=0)[place[extra]].astype(np.float64)
    frequency[np.arange(one.size), at] = np.inf
    at = np.argmin(frequency, axis=1)
    clean = ~(extra == value[two][:, None]).any(axis=1)
    extra[np.arange(one.size), at] = value[two]
    kept: Counts = extra[clean]
    return kept


def _nearly_always(counts: Counts, groups: int, pool: int) -> NDArray[np.bool_]:
    """Values missing from so few groups that the groups left at the end can be the ones."""
    nearly: NDArray[np.bool_] = groups - counts <= pool // 100
    return nearly


def pool_counts(counts: Counts, groups: int, pool: int) -> Counts:
    """Counts of the same shape for `pool` groups, with more of the rare values."""
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
    # Scale what lies between the bounds until the sum is right; the sum grows with the scale.
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


def _not_too_often(members: Counts, times: Counts, target: TargetMeetings) -> Counts:
    """Lower multiplicities until no pair meets too often, which later groups could not undo."""
    n = target.allowed.size
    pairs = np.zeros((n + 1, n + 1))
    pairs[:n, :n] = meetings(target.place[members], times.astype(np.float64), n)
    most = np.where(target.weights > 0, np.maximum(target.pairs, 0.0), np.inf)
    room = np.minimum(1.0, most / np.maximum(pairs, 1.0))
    scale = np.ones(times.size)
    for rows, keys in pair_keys(target.place[members], n):
        scale[rows] = room.take(keys).min(axis=0)
    return np.where(scale < 1, np.floor(times * scale).astype(np.int64), times)


def _possible(members: Counts, times: Counts, counts: Counts, groups: int) -> Counts:
    """Lower multiplicities until what is left can still be grouped.

    No value may be used more often than it occurs, or left out more often than its count allows.
    """
    used = np.zeros(counts.size, np.int64)
    np.add.at(used, members, times[:, None])
    left_out = int(times.sum()) - used
    room = np.minimum(1.0, counts / np.maximum(used, 1))
    scale = room[members].min(axis=1)
    share = (groups - counts) / np.maximum(left_out, 1)
    tightest = np.argsort(share, kind="stable")[: members.shape[1] + 1]
    # A template holds fewer values than these, so it lacks one of them: looser bounds never bind.
    for value in tightest[share[tightest] < 1].tolist():
        without = ~(members == value).any(axis=1)
        scale[without] = np.minimum(scale[without], share[value])
    # A little less, so that rounding in the product cannot exceed an integer bound.
    lowered = np.floor(times * scale * (1 - 1e-12)).astype(np.int64)
    return np.where(scale < 1, lowered, times)
