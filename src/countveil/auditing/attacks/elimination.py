"""Elimination: the adversary rules out values of a person; and slices by other columns.

Enters: a target. Leaves: findings and the curve. Must not know: files, values.

Knows: whose row is whose, the share of each value, and k values that the person does not have:
those in which he would otherwise believe most. With published groups (Anatomy, ell-diversity) one
has one of ell values, all equally likely, and ell - 1 eliminations leave the true one: success
1/(ell - k). Here all values of the domain stay possible; he succeeds if at most k wrong values are
more credible than the true one.

Slices: a minimality attack presupposes that groups depend on the other columns. Then some slices by
these columns would publish the truth more often than 1/ell. Given how many rows of each value
publish the truth, which ones do is a random choice: exact tests, slice by slice. And decoys would
come from similar people: `minimality`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.attacks.minimality import decoys_from_alike
from countveil.auditing.attacks.reconstruction import (
    MOST_VALUES,
    beliefs_by_rule,
    design_of,
)
from countveil.auditing.chance import LEVEL, hypergeometric_tail, interval
from countveil.auditing.findings import Finding, Outcome, not_run, too_few
from countveil.auditing.noised_chance import UNLIKELY
from countveil.auditing.promised import (
    conceded_meetings,
    groups_of,
    kept_chances,
    noised_mixed,
)
from countveil.auditing.target import LEAST_LINKED, AttackedColumn, Codes, Floats, Target
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "elimination"
_KNOWS = "whose row is whose, the share of each value, and k values that the person does not have"


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    if target.n_linked < LEAST_LINKED:
        outcome.findings.append(too_few(NAME, target.n_linked, LEAST_LINKED))
        return outcome
    for place, column in enumerate(target.sensitive):
        if column.n_values <= MOST_VALUES:
            outcome.add(_eliminate(column))
        else:
            outcome.findings.append(
                not_run(NAME, "rule out values", column.name, column.n_values, MOST_VALUES)
            )
        if target.plain:
            outcome.findings.append(_slices(target, column))
            if column.small_domain:
                outcome.findings.append(decoys_from_alike(target, place))
    return outcome


def _eliminate(column: AttackedColumn) -> Outcome:
    # By the true shares: a ranking that does not depend on the draw can be tested exactly.
    beliefs = beliefs_by_rule(replace(column, published=column.grouped), column.groups)
    if beliefs is None:
        return Outcome()
    # How many values are more credible than u after v is published.
    ahead = np.argsort(np.argsort(-beliefs, axis=0, kind="stable"), axis=0, kind="stable")
    rank = ahead[column.truth, column.released]
    most = max(0, min(column.n_values - 1, max(2 * column.ell, 12)))
    steps = list(range(most + 1))
    ours = [int((rank <= k).sum()) for k in steps]
    bounds = [interval(count, rank.size) for count in ours]
    anatomy = [1 / (column.ell - k) for k in range(column.ell)] + [1.0] * most
    # Anatomy would need groups of different values.
    compared = [Line("Anatomy, groups published", steps, anatomy[: most + 1])]
    k = column.ell - 1
    chart = Chart(
        f"What is gained by ruling values of {column.name} out?", "values ruled out", "share right",
        [
            Line("this release", steps, [count / rank.size for count in ours],
                 [low for low, _ in bounds], [high for _, high in bounds]),
            *(compared if column.different else ()),
        ],
        f"ell = {column.ell}: with published groups of different values, {k} eliminations are "
        f"enough." if column.different else f"ell = {column.ell}; groups may hold a value several "
        f"times, so Anatomy could not publish this column.",
    )  # fmt: skip
    return Outcome([_enough(column, ahead, rank, k)], [chart])


def _enough(column: AttackedColumn, ahead: Codes, rank: Codes, k: int) -> Finding:
    """After ell - 1 eliminations: as the design says, not certainty."""
    claimed, conceded = _right_by_value(column, ahead <= k)
    has = np.bincount(column.truth, minlength=column.n_values).astype(np.float64)
    right, n = int((rank <= k).sum()), rank.size
    upper = np.clip(claimed + conceded, 0.0, 1.0)
    expected = float(has @ claimed)
    p_value = 1.0
    if column.groups == "random":
        p_value = _random_p_value(column, ahead <= k)
    elif column.odds is not None:
        p_value = _noised_p_value(column, ahead <= k, has, upper)
    elif right > float(has @ upper):
        p_value = float(hypergeometric_tail(np.array([float(right)]), has[None], upper)[0])
    low, high = interval(right, n)
    return Finding(
        NAME, f"rule out the {f'{k} likeliest wrong values' if k > 1 else 'likeliest wrong value'}",
        _KNOWS, "exact Bayes on what is left",
        f"{expected / n:.4f}{' (Anatomy: 1)' if column.different else ''}",
        right / n, "share right", low, high, p_value, column=column.name,
        note="the domain has at most ell values: eliminating the others gives the value anyway"
        if k >= column.n_values - 1
        else "tested value by value" if column.groups == "random" or column.odds is not None
        else "a few meetings per pair of values conceded",
    )  # fmt: skip


def _right_by_value(column: AttackedColumn, right: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """P(right | true u) by the groups that the publisher should have formed, and its tolerance."""
    counts, ell = column.counts, column.ell
    if column.odds is not None and column.groups != "random":
        chances = noised_mixed(column)
        if chances.whole is not None and chances.unsure is not None:
            return (chances.whole * right).sum(axis=1), (chances.unsure * right).sum(axis=1)
    if column.odds is not None:
        return (column.channel * right).sum(axis=1), np.zeros(counts.size)
    if not column.different and not column.repeats:
        # Rows were dropped; the histogram of those that stayed is known only roughly.
        return (column.channel * right).sum(axis=1), np.full(counts.size, 0.01)
    whole = design_of(column)
    met = whole * ell * counts[:, None]
    even = np.where(met >= 0.5, conceded_meetings(column, met), 0.0) * right
    rare = np.where(met < 0.5, met, 0.0) * right
    unsure = even.sum(axis=1) + 6 * np.sqrt(rare.sum(axis=1)) + 6 * (rare.sum(axis=1) > 0)
    return (whole * right).sum(axis=1), unsure / (ell * np.maximum(counts, 1))


def _random_p_value(column: AttackedColumn, right: NDArray[np.bool_]) -> float:
    """Random groups: rows of a value are right if they publish one of a set that has it."""
    # Their own value is one of the set: fewer than ell - 1 others are ever more credible.
    right = right | np.eye(column.n_values, dtype=bool)
    pairs = column.pairs()
    has = pairs.sum(axis=1)
    tails = groups_of(column).staying_p_values(
        (pairs * right).sum(axis=1), has, right @ column.counts, right.sum(axis=1)
    )
    return min(1.0, column.n_values * float(tails.min()))


def _noised_p_value(
    column: AttackedColumn, right: NDArray[np.bool_], has: Floats, upper: Floats
) -> float:
    """Noise before mixed groups: rows of one value are as good as independent, all are not."""
    hits = (column.pairs() * right).sum(axis=1)
    tails = [
        float(hypergeometric_tail(np.array([float(hit)]), np.array([[rows]]), np.array([most]))[0])
        for hit, rows, most in zip(hits.tolist(), has.tolist(), upper.tolist(), strict=True)
        if hit > rows * most
    ]
    return min(1.0, column.n_values * min(tails, default=1.0) + UNLIKELY)


def _slices(target: Target, column: AttackedColumn) -> Finding:
    n_values = column.n_values
    has = np.bincount(column.truth, minlength=n_values)
    promised = kept_chances(column)
    chances = np.bincount(column.truth[column.kept], minlength=n_values) / np.maximum(has, 1)
    right, sizes, tails, means = [], [], [], []
    for plain in target.plain:
        pairs = plain.codes * n_values + column.truth
        drawn = np.bincount(pairs, minlength=plain.n_levels * n_values).reshape(-1, n_values)
        right.append(np.bincount(plain.codes[column.kept], minlength=plain.n_levels))
        sizes.append(drawn.sum(axis=1))
        means.append(drawn @ promised)
        tails.append(hypergeometric_tail(right[-1].astype(float), drawn.astype(float), chances))
    rights, rows, p_values = (np.concatenate(slices) for slices in (right, sizes, tails))
    expected = np.concatenate(means)
    worst = int(((rights - expected) / np.sqrt(np.maximum(rows, 1))).argmax())
    kept, of = int(rights[worst]), int(rows[worst])
    claimed = f"{1 / column.ell:.4f} (1/ell) in each"
    if column.repeats or column.odds is not None:
        claimed = f"{expected[worst] / max(1, of):.4f} there (by the values of its rows)"
    return Finding(
        "minimality", "the most exposed slice by another column",
        "whose row is whose, the group creation", "share right in every slice",
        claimed, kept / max(1, of), "share right",
        # The worst of many: an interval that holds for all of them at once.
        *interval(kept, of, 1 - (1 - LEVEL) / rows.size),
        min(1.0, rows.size * float(p_values.min())), column=column.name,
        note=f"{rows.size:,} slices; the farthest above it has {of:,} rows. Groups do not "
        "depend on the other columns, so minimal distortion reveals nothing",
    )  # fmt: skip
