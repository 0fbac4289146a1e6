"""Associated columns: two sensitive columns of one person give evidence twice.

Enters: a target with two sensitive columns or more. Leaves: findings. Must not know: files, values.

Knows: whose row is whose, and how the two columns go together in the population. Claims: beliefs
multiply as exact Bayes says, no further; and the draws of the two columns are independent. The
second is tested exactly: given who publishes the truth in one column, those who do in the other
are, among the rows of each true value, a random choice. Columns that are published together have
one draw, and are attacked as vectors instead.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from countveil.auditing.beliefs import Score, score
from countveil.auditing.chance import hypergeometric_tail, interval
from countveil.auditing.findings import Finding, Outcome, left_out, not_run, tried_text
from countveil.auditing.promised import kept_share
from countveil.auditing.target import AttackedColumn, Target
from countveil.randomness import Stream

NAME = "linkage"
_KNOWS = "whose row is whose, how the two columns go together"
_NUMBERS = 300_000_000
_MOST_ROWS = 100_000
_SURE = 0.5


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack every pair of sensitive columns."""
    outcome = Outcome()
    for one, two in itertools.permutations(target.sample(_MOST_ROWS).columns, 2):
        if _one_draw(target, one, two):
            continue
        if one.n_values**2 * two.n_values <= _NUMBERS:
            tried = tried_text(one.truth.size, target.n_linked)
            outcome.findings += [
                replace(finding, tried=tried) for finding in _joint_guess(one, two)
            ]
        else:
            most = int((_NUMBERS / two.n_values) ** 0.5)
            names = f"{one.name}, {two.name}"
            outcome.findings.append(
                not_run(NAME, f"both columns to guess {one.name}", names, one.n_values, most)
            )
    for one, two in itertools.combinations(target.columns, 2):
        if _one_draw(target, one, two):
            outcome.findings.append(
                left_out(
                    NAME, "both columns, as if drawn apart", f"{one.name}, {two.name}",
                    (2, "columns that are published together"), "attacked as vectors instead",
                )
            )  # fmt: skip
        else:
            outcome.findings.append(_same_rows(one, two))
    return outcome


def _one_draw(target: Target, one: AttackedColumn, two: AttackedColumn) -> bool:
    return any(one.name in names and two.name in names for names in target.together)


def _joint_guess(one: AttackedColumn, two: AttackedColumn) -> list[Finding]:
    """Guess the value of `one` from both published values."""
    pairs = np.bincount(
        one.truth * two.n_values + two.truth, minlength=one.n_values * two.n_values
    ).reshape(one.n_values, two.n_values)
    # Belief in u and in seeing v2, for every u and v2; then what was seen of `one` itself.
    with_second = pairs @ two.channel
    joint = [with_second * like[:, None] for like in one.channel.T]
    guess = np.stack([table.argmax(axis=0) for table in joint])
    # Values that no row can publish get no belief.
    belief = np.stack(
        [table.max(axis=0) / np.maximum(table.sum(axis=0), 1e-300) for table in joint]
    )
    right = guess[one.released] == one.truth[:, None]
    sure = belief[one.released] >= _SURE
    shown = int(sure[np.arange(two.truth.size), two.released].sum())
    attack = f"both columns, where his belief is {_SURE} or more,"
    return [
        _finding(one, two, "both columns", score(right, two), one.truth.size),
        _finding(one, two, attack, score(right & sure, two), shown),
    ]


def _finding(
    one: AttackedColumn, two: AttackedColumn, attack: str, result: Score, rows: int
) -> Finding:
    low, high = interval(result.successes, rows)
    return Finding(
        NAME, f"{attack} to guess {one.name}", _KNOWS, "exact Bayes, evidence multiplied",
        f"{result.expected:,.1f} rows right (exact Bayes)", result.successes / max(1, rows),
        "share right", low, high, result.p_value, column=f"{one.name}, {two.name}",
        note=f"right in {result.successes:,} of {rows:,} rows; the published value of one "
        f"column alone: {kept_share(one):.4f}",
    )  # fmt: skip


def _same_rows(one: AttackedColumn, two: AttackedColumn) -> Finding:
    """Do the same rows publish the truth in both columns more, or less, often than by chance?"""
    has = np.bincount(two.truth, minlength=two.n_values)
    kept = np.bincount(two.truth[two.kept], minlength=two.n_values)
    marked = np.bincount(two.truth[one.kept], minlength=two.n_values).astype(np.float64)
    chances = kept / np.maximum(has, 1)
    both = int((one.kept & two.kept).sum())
    p_value = float(hypergeometric_tail(np.array([float(both)]), marked[None], chances)[0])
    rows = max(1, one.truth.size)
    low, high = interval(both, rows)
    return Finding(
        NAME, "rows that publish the truth in both columns", _KNOWS, "count them",
        f"{float(marked @ chances) / rows:.4f} (independent draws)", both / rows, "share of rows",
        low, high, p_value, column=f"{one.name}, {two.name}",
    )  # fmt: skip
