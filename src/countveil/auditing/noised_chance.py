"""How likely a figure is by chance where noise came before mixed groups: bounds for any sample.

Enters: a column under attack. Leaves: chances within bounds, p-values. Must not know: attacks.

A row with the value s was noised to s with chance k = 1 - gamma + gamma/V, and to each other value
with chance q = gamma/V. Groups are formed of noised values. A row publishes its noised value with
chance 1/size, and s, if it was noised to another value, with chance 1/size if its group holds s.

**One value.** Rows that were noised to w are dealt to the places of w in random order, so how many
of those with the true value s meet s is hypergeometric, with no larger exponential moments than a
binomial count (Hoeffding 1963). Then the moments of how many publish s are at most those of
independent rows.

**All values.** Rows of several true values share the places of w. A sum over a random order, of
numbers between 0 and 1 with mean m, has E exp(t sum) <= exp(m (t + t^2/(1 - t))) for 0 < t < 1, and
<= exp(m (t + t^2)) for t < 0 (Chatterjee 2007, theorem 1.5; several independent orders add up).

**A published count.** H rows were noised to s, a sum of independent events. In its group each gives
`size` rows a chance of 1/size, so given H the moments are at most those of H x size rows, whichever
way groups were formed.

What groups make of the noised histogram is the design of the histogram to be expected. Conceded is
what whole groups miss it by (`promised`), and what the noised histogram misses the expected one by,
which is exceeded with probability `UNLIKELY` at most; that is added to every p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from countveil.auditing.chance import TILTS, bounded_tail
from countveil.auditing.target import AttackedColumn, Codes, Floats

UNLIKELY = 1e-12


@dataclass(frozen=True, slots=True)
class NoisedChances:
    """P(published | true) for all values, and how far off it may be; the same for single values.

    `kept` are the chances of each value to be published by rows that have it; `met` is how often
    groups of rows that were noised to other values hold it, added up over these.
    """

    kept: tuple[Floats, Floats]
    met: tuple[Floats, Floats]
    whole: Floats | None
    unsure: Floats | None


def histogram_slack(column: AttackedColumn) -> Floats:
    """How far noised counts may be from the expected ones (Bernstein, all values at once)."""
    q = column.gamma / column.n_values
    kept, rows = 1 - column.gamma + q, float(column.counts.sum())
    variance = column.counts * kept * (1 - kept) + (rows - column.counts) * q * (1 - q)
    level = math.log(2 * column.n_values / UNLIKELY)
    slack: Floats = np.sqrt(2 * variance * level) + 2 * level / 3 + column.dropped
    return slack


def noised_chances(
    column: AttackedColumn, design: Floats | None, met_before: Floats, conceded: Floats | None
) -> NoisedChances:
    """The chances through the noise, from the design of groups of noised values.

    `design` is P(published | noised) of all values; without it, `met_before` is the chance of each
    value for rows that were noised to another one. `conceded` belongs to the design.
    """
    n, q = column.n_values, column.gamma / column.n_values
    least, most = column.chances
    relative = histogram_slack(column) / np.maximum(column.grouped, 1)
    if design is None or conceded is None:
        sums = met_before * (n - 1) * column.ell
        unsure = sums * np.minimum(1.0, 2 * relative) + 6.0
        met = np.maximum(sums - unsure, 0.0), np.minimum(sums + unsure, n - 1.0)
        noised = 1 - column.gamma + q
        kept = (noised + q * met[0]) * least, (noised + q * met[1]) * most
        return NoisedChances(kept, met, None, None)
    moved = design * (1.5 * relative[None, :] + 0.5 * relative[:, None])
    off = conceded + np.minimum(moved, 1.0)
    plain = np.setdiff1d(np.arange(n), column.common)
    off[plain, plain] = most - least
    sums, unsure = _off_diagonal(design) * column.ell, _off_diagonal(off) * column.ell
    met = np.maximum(sums - unsure, 0.0), np.minimum(sums + unsure, n - 1.0)
    whole = (1 - column.gamma) * design + q * design.sum(axis=0)
    wide = (1 - column.gamma) * off + q * off.sum(axis=0)
    diagonal = np.diag(whole), np.diag(wide)
    ends = diagonal[0] - diagonal[1], diagonal[0] + diagonal[1]
    kept = np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)
    return NoisedChances(kept, met, whole, wide)


def _off_diagonal(table: Floats) -> Floats:
    sums: Floats = table.sum(axis=0) - np.diag(table)
    return sums


def each_kept_p_values(kept: Codes, has: Codes, chances: NoisedChances) -> list[float]:
    """Two-sided, value by value: `kept` of `has` rows publish their own."""
    least, most = chances.kept
    return [
        _added(bounded_tail(k, np.array([float(n)]), least[v : v + 1], most[v : v + 1]))
        for v, (k, n) in enumerate(zip(kept.tolist(), has.tolist(), strict=True))
    ]


def all_kept_p_value(column: AttackedColumn, chances: NoisedChances) -> float:
    """Two-sided: all linked rows at once. Groups hold different values."""
    has = np.bincount(column.truth, minlength=column.n_values)
    kept, q = 1 - column.gamma + column.gamma / column.n_values, column.gamma / column.n_values
    successes, bound = int(column.kept.sum()), 0.0
    for tilt in TILTS.tolist():
        chance, met = (column.chances[tilt > 0], chances.met[tilt > 0])
        raised = math.expm1(tilt) * chance
        step = math.log1p(raised)
        if step >= 1:
            continue
        order = step + step**2 / (1 - step) if tilt > 0 else step + step**2
        each = np.log1p(kept * raised + q * met * math.expm1(order))
        bound = min(bound, float(has @ each) - tilt * successes)
    return _added(2 * math.exp(bound))


def count_moments(column: AttackedColumn, tilts: Floats, expected: Floats) -> Floats:
    """Bounds of log E exp(tilt x published count), by tilt, for these expected noised counts."""
    size = round(1 / column.chances[0])
    grown = np.expm1(size * np.log1p(np.expm1(tilts) / size))
    moments: Floats = grown[:, None] * expected
    return moments


def published_p_values(column: AttackedColumn) -> list[float]:
    """Two-sided, value by value: how many rows of the release publish it."""
    q, rows = column.gamma / column.n_values, column.rows
    bounds = np.zeros(column.n_values)
    for tilts, having in (
        (TILTS[TILTS > 0], np.minimum(column.counts, rows)),
        (TILTS[TILTS < 0], np.maximum(column.counts - column.dropped, 0)),
    ):
        grown = count_moments(column, tilts, np.ones(1))
        moments = having * np.log1p((1 - column.gamma + q) * grown)
        moments = moments + (rows - having) * np.log1p(q * grown)
        bounds = np.minimum(bounds, (moments - tilts[:, None] * column.published).min(axis=0))
    p_values: list[float] = np.minimum(1.0, 2 * np.exp(bounds)).tolist()
    return p_values


def _added(p_value: float) -> float:
    return min(1.0, p_value + UNLIKELY)
