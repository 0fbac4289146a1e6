"""What a release promises about the value of a row, and how likely chance departs from it.

Enters: a column under attack. Leaves: chances, beliefs, p-values. Must not know: what an adversary
does with them.

    groups of different values    a row publishes its own value with chance 1/size, independently of
                                  all others: exact binomials
    common values                 the same for all others; for a common one, what the design says of
                                  the groups that should have been formed, within what is conceded
    random groups                 a row may meet its own value: `random_chance`. Rows of one group
                                  depend on each other, so sets of values are tested, not sums over
                                  all of them: halves of the values, in several ways
    noise before the groups       the same of noised values; true ones by the composed channel:
                                  `noised_chance`, `random_chance`

What is conceded: whole groups follow the design up to a few meetings of two values. Where a common
value stands for several copies, or several values are taken together, departures have either sign,
and grow with the square root of the number of pairs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import bounded_tail
from countveil.auditing.noised_chance import (
    NoisedChances,
    all_kept_p_value,
    each_kept_p_values,
    noised_chances,
    published_p_values,
)
from countveil.auditing.random_chance import RandomGroups
from countveil.auditing.target import AttackedColumn, Codes, Floats
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.common import (
    COPIES,
    beliefs_without_common,
    common_belief,
    random_belief,
)
from countveil.maths.guarantees.binomial import binomial_lower, binomial_upper

# Whole groups follow the design up to this many meetings of a pair, and this share of them.
MEETINGS, MEETINGS_PART = 3.0, 0.005


def claimed_view(column: AttackedColumn) -> ChannelView:
    """The channel by the table's own counts, or, after noise, by those to be expected."""
    counts = column.grouped.astype(np.int64)
    return _claimed(counts.tobytes(), column.ell, column.groups, column.common, column.noise)


@lru_cache(maxsize=8)
def _claimed(
    counts: bytes, ell: int, groups: str, common: tuple[int, ...], noise: tuple[float, int] | None
) -> ChannelView:
    """Kept, since every attack asks for the same one, of other rows."""
    table = np.frombuffer(counts, np.int64)
    return view_of_release(table, int(table.sum()), ell, groups, common, noise)


def kept_chances(column: AttackedColumn) -> Floats:
    """For each value, the chance that a row which has it publishes it."""
    return claimed_view(column).a


def noised_mixed(column: AttackedColumn) -> NoisedChances:
    """The chances of mixed groups through the noise before them, with their bounds."""
    view, _ = claimed_view(column).grouped
    if view.whole is None:
        return noised_chances(column, None, view.b, None)
    grouped = np.maximum(column.grouped, 1)[:, None]
    unsure = conceded_meetings(column, view.whole * column.ell * grouped) + slack(column)
    return noised_chances(column, view.whole, view.b, unsure / (column.ell * grouped))


def kept_share(column: AttackedColumn) -> float:
    """The share of the linked rows that should publish their true value."""
    return float(kept_chances(column)[column.truth].mean()) if column.truth.size else 0.0


def kept_text(column: AttackedColumn) -> str:
    """The same for people, with how it comes about."""
    how = {"random": "1/ell + (1 - 1/ell) x share"}.get(
        column.groups, "1/ell, common values more" if column.common else "1/ell"
    )
    if column.odds is not None:
        how = "groups of noised values"
    same = column.odds is None and not column.repeats
    share = 1 / column.ell if same else kept_share(column)
    return f"{share:.4f} ({how})"


def kept_p_value(column: AttackedColumn) -> float:
    """Two-sided: do the linked rows publish their true value as often as promised?"""
    kept, rows = int(column.kept.sum()), column.truth.size
    if rows == 0:
        return 1.0
    if column.groups == "random":
        return staying_p_value(column, halves(np.unique(column.truth), column.n_values))
    if column.odds is not None and column.common:
        each = kept_p_values(column)
        there: list[int] = np.unique(column.truth).tolist()
        return min(1.0, len(there) * min(each[value] for value in there))
    if column.odds is not None:
        return all_kept_p_value(column, noised_mixed(column))
    if column.common:
        has = np.bincount(column.truth, minlength=column.n_values).astype(np.float64)
        return bounded_tail(kept, has, *kept_between(column))
    return _binomial(kept, rows, column)


def kept_p_values(column: AttackedColumn) -> list[float]:
    """The same for every value by itself."""
    has = np.bincount(column.truth, minlength=column.n_values)
    kept = np.bincount(column.truth[column.kept], minlength=column.n_values)
    if column.groups == "random":
        tails: list[float] = groups_of(column).staying_p_values(kept, has, column.counts).tolist()
        return tails
    if column.odds is not None:
        return each_kept_p_values(kept, has, noised_mixed(column))
    p_values = [_binomial(k, h, column) for k, h in zip(kept.tolist(), has.tolist(), strict=True)]
    if column.common:
        least, most = kept_between(column)
        for value in column.common:
            rows = np.array([float(has[value])])
            between = least[value : value + 1], most[value : value + 1]
            p_values[value] = bounded_tail(int(kept[value]), rows, *between)
    return p_values


def count_p_values(column: AttackedColumn) -> list[float]:
    """Two-sided, for every value: how many rows of the release publish it."""
    if column.groups == "random":
        tails = groups_of(column).published_p_values(column.published, column.counts)
        listed: list[float] = tails.tolist()
        return listed
    if column.odds is not None:
        return published_p_values(column)
    pairs = zip(column.counts.tolist(), column.published.tolist(), strict=True)
    p_values = [_count_p_value(f, g, column) for f, g in pairs]
    for value in column.common:
        # Independent rows of several chances: no farther from the mean than equal ones (Hoeffding
        # 1956).
        f, g, rows = int(column.counts[value]), int(column.published[value]), column.rows
        least, most = max(0, f - column.dropped) / rows, min(f, rows) / rows
        tails_of = binomial_upper(g, rows, most), binomial_lower(g, rows, least)
        p_values[value] = min(1.0, 2 * min(tails_of))
    return p_values


def _binomial(kept: int, rows: int, column: AttackedColumn) -> float:
    least, largest = column.chances
    tails = binomial_upper(kept, rows, largest), binomial_lower(kept, rows, least)
    return min(1.0, 2 * min(tails))


def _count_p_value(count: int, published: int, column: AttackedColumn) -> float:
    groups = column.rows // column.ell
    size, larger = divmod(column.rows, groups)
    least = max(0, count - column.dropped - larger) * size
    most = count * size + min(count, larger)
    tails = binomial_upper(published, most, 1 / size), binomial_lower(published, least, 1 / size)
    return min(1.0, 2 * min(tails))


def kept_between(column: AttackedColumn) -> tuple[Floats, Floats]:
    """The least and the most chance of each value to be published by a row that has it."""
    chances, (smallest, largest) = kept_chances(column), column.chances
    least, most = np.full(chances.size, smallest), np.full(chances.size, largest)
    for value in column.common:
        count = max(1, int(column.counts[value]))
        met = float(chances[value]) * column.ell * count
        unsure = conceded(met, copies_of(column) ** 2) / column.ell + slack(column)
        least[value] = chances[value] - unsure / count
        most[value] = chances[value] + unsure / count
    return least, most


def slack(column: AttackedColumn) -> float:
    """Rows whose chances the design does not know: dropped ones, and those of larger groups."""
    return column.dropped + column.rows % (column.rows // column.ell)


def conceded(met: float, pairs: float) -> float:
    """How many meetings whole groups may have more or fewer than the design, over these pairs."""
    return MEETINGS * math.sqrt(pairs) + MEETINGS_PART * met


def conceded_meetings(column: AttackedColumn, met: Floats) -> Floats:
    """The same for each pair of values that should meet so often."""
    copies = np.ones(column.n_values)
    copies[list(column.common)] = copies_of(column)
    unsure: Floats = MEETINGS * np.sqrt(np.outer(copies, copies)) + MEETINGS_PART * met
    return unsure


def copies_of(column: AttackedColumn) -> float:
    """How many copies a common value has."""
    return float(COPIES * column.ell)


def groups_of(column: AttackedColumn) -> RandomGroups:
    """The random groups of a column."""
    return RandomGroups(
        column.rows, column.ell, column.dropped, gamma=column.gamma, declared=column.n_values
    )


def halves(values: Codes, n_values: int) -> list[NDArray[np.bool_]]:
    """All these values as one set, and sets that split them in half by each digit of their place.

    Any two of the values are in different halves at least once.
    """
    sets = [np.ones(values.size, bool)]
    for digit in range(max(0, values.size - 1).bit_length()):
        one = (np.arange(values.size) >> digit) % 2 == 1
        sets += [one, ~one]
    masks = []
    for chosen in sets:
        mask = np.zeros(n_values, bool)
        mask[values[chosen]] = True
        masks.append(mask)
    return masks


def staying_p_value(column: AttackedColumn, sets: list[NDArray[np.bool_]]) -> float:
    """Two-sided, random groups: do rows publish a value of their own set as often as promised?"""
    masks = np.array(sets)
    if column.small_domain:
        pairs = column.pairs().astype(np.float64)
        counted = masks @ pairs.sum(axis=1).astype(np.int64)
        stayed = ((masks @ pairs) * masks).sum(axis=1).astype(np.int64)
    else:
        counted = np.array([mask[column.truth].sum() for mask in sets])
        stayed = np.array([(mask[column.truth] & mask[column.released]).sum() for mask in sets])
    tails = groups_of(column).staying_p_values(
        stayed, counted, masks @ column.counts, masks.sum(axis=1)
    )
    return min(1.0, len(sets) * float(tails.min()))


def promised_beliefs(column: AttackedColumn) -> dict[str, Any]:
    """What the release says about belief in a published value, by its published counts."""
    if column.odds is not None:
        bound = column.odds
        return {
            "odds_at_most": bound.at_most, "epsilon": bound.epsilon, "gamma": bound.gamma,
            "published_value_by_frequency": _by_rank(column, _noised_belief(column)),
        }  # fmt: skip
    if column.groups == "random":
        shares = column.published / max(1, column.rows)
        beliefs = np.array([random_belief(share, column.ell) for share in shares.tolist()])
        return {"published_value_by_frequency": _by_rank(column, beliefs)}
    if not column.common:
        return {"published_value": 1 / column.ell}
    common = np.array(column.common, np.int64)
    average, most = beliefs_without_common(column.published, column.ell, common)
    shares = column.published[common] / max(1, column.rows)
    return {
        "published_value": 1 / column.ell,
        "published_common_values": [common_belief(s, column.ell) for s in shares.tolist()],
        "published_value_common_ones_ruled_out": {"average": average, "most": most},
    }


def _noised_belief(column: AttackedColumn) -> Floats:
    """In the published value being the true one, of whoever expected no more than its share."""
    prior, view = column.shares, column.view
    belief: Floats = prior * view.a / (prior * view.a + (1 - prior) * view.b)
    return belief


def _by_rank(column: AttackedColumn, beliefs: Floats) -> dict[str, float]:
    """At the rarest, the median and the most frequent published value."""
    there = np.flatnonzero(column.published)
    order = there[np.argsort(column.published[there], kind="stable")]
    places = {"rarest": 0, "median": order.size // 2, "most_frequent": -1}
    return {rank: float(beliefs[order[place]]) for rank, place in places.items()}
