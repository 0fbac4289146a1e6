"""A bound on the odds: does any published value change the odds of a linked row by more than K?

Enters: a target. Leaves: findings. Must not know: files, values, how noise is drawn.

Knows: whose row is whose, gamma, ell, the declared values; not the groups. Seeing the value s
multiplies the odds of s by a/b: a is the chance that a row with s publishes s, b that of any other
row. Claim: a <= K b for every value. It is tested on the pairs of true and published values that
the release shows, value by value, and assumes nothing about gamma.

Published counts are unbiased for noised ones, so N noised rows give (N - f) b = H - f a for a value
that f rows have and H are expected to have after the noise: the claim is a <= K H/(N - f + K f).
It is contradicted by a lower confidence bound of a, from those who publish their own s, that is
above K/(N - f + K f) times an upper one of H, from the published count. Both are Chernoff's bounds,
with moments that are proven for all ways to form groups (`noised_chance`, `random_chance`).
"""

from __future__ import annotations

import numpy as np

from countveil.auditing.chance import TILTS
from countveil.auditing.findings import Finding, Outcome, too_few
from countveil.auditing.noised_chance import count_moments
from countveil.auditing.promised import groups_of, kept_chances
from countveil.auditing.target import LEAST_LINKED, AttackedColumn, Floats, Target
from countveil.randomness import Stream

NAME = "bounded odds"
_KNOWS = "whose row is whose, gamma, ell, the declared values; not the groups"
_CHANCES = np.geomspace(1e-7, 1.0, 120)
_FACTORS = np.geomspace(1.0, 1e5, 60)
_SHOWN_OF, _LEVEL = 30, 0.05


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack every column that promises a bound."""
    outcome = Outcome()
    for column in target.columns:
        if column.odds is None:
            continue
        if target.n_linked < LEAST_LINKED:
            outcome.findings.append(too_few(NAME, target.n_linked, LEAST_LINKED))
            continue
        outcome.findings.append(_factors(column))
    return outcome


def _factors(column: AttackedColumn) -> Finding:
    assert column.odds is not None  # noqa: S101 - only such columns are attacked
    has = np.bincount(column.truth, minlength=column.n_values)
    there = np.flatnonzero(has)
    bound = column.odds.at_most
    # Finite tables, whose groups are not all of one size, may exceed it by next to nothing.
    p_values = factor_p_values(column, there, bound * (1 + column.ell / column.rows))
    shown = there[np.argsort(-_estimates(column, there), kind="stable")[:_SHOWN_OF]]
    proven = [
        factor
        for factor in _FACTORS.tolist()
        if there.size * float(factor_p_values(column, shown, factor).min()) <= _LEVEL
    ]
    return Finding(
        NAME, "multiply the odds of a published value", _KNOWS, "a/b of each value, counted",
        f"at most {bound:g}", max(proven, default=1.0), "times, or more, with 95% confidence",
        p_value=min(1.0, there.size * float(p_values.min())), column=column.name,
        note=f"{there.size:,} values tested one by one; the largest factor that their pairs of "
        f"true and published values prove",
    )  # fmt: skip


def _estimates(column: AttackedColumn, values: np.ndarray) -> Floats:
    has = np.bincount(column.truth, minlength=column.n_values)[values]
    kept = np.bincount(column.truth[column.kept], minlength=column.n_values)[values]
    estimates: Floats = kept / has / np.maximum(column.published[values], 1)
    return estimates


def factor_p_values(column: AttackedColumn, values: np.ndarray, most: float) -> Floats:
    """p-values of "this value multiplies its odds by `most` or less", for each of these values."""
    has = np.bincount(column.truth, minlength=column.n_values)[values]
    kept = np.bincount(column.truth[column.kept], minlength=column.n_values)[values]
    counts, published = column.counts[values], column.published[values]
    up, down = TILTS[TILTS > 0], TILTS[TILTS < 0]
    excess = np.zeros((up.size, values.size))
    if column.groups == "random":
        # Rows with the same value that meet publish it more often together.
        chances = kept_chances(column)[values]
        inside = np.maximum(np.minimum(counts, column.rows), has)
        moments = groups_of(column).log_moments(up, inside, has, np.ones(values.size, np.int64))
        excess = np.maximum(moments - has * np.log1p(np.expm1(up)[:, None] * chances), 0.0)
    others = np.maximum(column.rows - counts, 0) + most * np.maximum(counts - column.dropped, 0)
    gains = count_moments(column, down, np.ones(1))[:, 0]
    best = np.ones(values.size)
    for chance in _CHANCES.tolist():
        high = has * np.log1p(chance * np.expm1(up)[:, None]) + excess - up[:, None] * kept
        expected = chance * others / most
        low = gains[:, None] * expected - down[:, None] * published
        tails = np.maximum(high.min(axis=0), low.min(axis=0))
        best = np.minimum(best, 2 * np.exp(np.minimum(tails, 0.0)))
    return np.minimum(best, 1.0)
