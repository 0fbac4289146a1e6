"""Correlation: the adversary learns from the release how values go with the other columns.

Enters: a target, a stream. Leaves: findings and a reliability diagram. Must not know: files.

Knows: the release, whose row is whose. He trains a classifier on the published values, corrected
for the channel, and asks it about a person. Its answer comes from large counts and is open by
design: it would be the same if the person were not in the table. So it is trained on the rows of
*other* people, and what the person's row adds is counted separately: exact Bayes with the person's
published value on top. The claim, which is tested, is that this adds what the channel gives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from countveil.auditing.attacks.linkage import informed_findings, reliability
from countveil.auditing.beliefs import attacked_rows, beliefs_after
from countveil.auditing.chance import interval
from countveil.auditing.findings import BY_DESIGN, Finding, Outcome, not_run, tried_text
from countveil.auditing.target import AttackedColumn, Target
from countveil.maths.adversary import cross_fitted
from countveil.randomness import Stream

NAME = "correlation"
_KNOWS = "the release of everybody else, the person's other columns"
_AND_ROW = "the release, whose row is whose"
_MOST_VALUES = 1_000


def attack(target: Target, stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    for column in target.sensitive:
        if column.n_values > _MOST_VALUES:
            outcome.findings.append(
                not_run(NAME, "train a classifier", column.name, column.n_values, _MOST_VALUES)
            )
        elif target.plain:
            outcome.add(_infer(target, column, stream))
    return outcome


def _infer(target: Target, column: AttackedColumn, stream: Stream) -> Outcome:
    most = attacked_rows(column, target.n_linked)
    asked = np.linspace(0, target.n_linked - 1, most).astype(np.int64)
    prior, folds = cross_fitted(
        list(target.plain), column.shares, column.released, column.channel, stream, asked=asked
    )
    persons = column.rows_at(asked)
    right = int((prior.argmax(axis=1) == persons.truth).sum())
    flat = float(column.counts.max() / column.counts.sum())
    low, high = interval(right, persons.truth.size)
    by_others = Finding(
        NAME, "infer from everybody else", _KNOWS, "classifier corrected for the channel",
        "nothing: large counts are open", right / persons.truth.size, "share right", low, high,
        verdict=BY_DESIGN, column=column.name,
        note=f"the most frequent value alone is right for {flat:.4f}",
        tried=tried_text(most, target.n_linked),
    )  # fmt: skip
    beliefs = beliefs_after(prior, column)
    added = [
        replace(finding, attack=f"{finding.attack}, own row added")
        for finding in informed_findings(
            NAME, _AND_ROW, beliefs, prior, persons, folds, linked=target.n_linked
        )
    ]
    title = f"Is a classifier of {column.name} right as often as it believes?"
    return Outcome([by_others, *added], [reliability(title, beliefs, persons)])
