"""Columns together: what the values of several columns, published as one vector, tell.

Enters: a target. Leaves: findings. Must not know: files, values.

Knows: whose row is whose, the share of each combination of values. The attacks on single columns
are all run on the vectors too, as if they were the values of one column. Here is what only vectors
have.

**Real combinations.** A row publishes the values of one row of its group. Claim: no combination is
published that no row has. If columns were drawn apart, there would be many.

**Pairs.** Of three columns or more, each pair is a vector of its own. Claim: a row publishes its
own pair with probability 1/ell + (1 - 1/ell) p for a pair of share p.

**One column known.** If he knows a person's value in one of the columns, and the row publishes just
this value, the row most likely publishes its own vector: the others of a group seldom have the same
value. What he then believes of the other columns is far above 1/ell, and nothing is claimed against
it: what holds exactly is said of the vectors, not of a single column of them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from countveil.auditing.chance import interval
from countveil.auditing.findings import KNOWN_LIMIT, Finding, Outcome, none_expected
from countveil.auditing.promised import kept_chances, kept_p_value, kept_text
from countveil.auditing.target import AttackedColumn, Target
from countveil.randomness import Stream

NAME = "linkage"
_KNOWS = "whose row is whose, all other columns, the share of each combination"
_FEWEST = 3


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack every set of columns that are published together."""
    outcome = Outcome()
    for column in target.vectors:
        outcome.findings.append(_real(column))
        if len(column.vector_of) >= _FEWEST:
            outcome.findings += [
                _pair(part_of(column, pair))
                for pair in itertools.combinations(range(len(column.vector_of)), 2)
            ]
        outcome.findings += [_one_known(column, place) for place in range(len(column.vector_of))]
    return outcome


def part_of(column: AttackedColumn, numbers: tuple[int, ...]) -> AttackedColumn:
    """Some of the columns of a vector, as vectors of their own."""
    assert column.places is not None  # noqa: S101 - every vector has them
    chosen = column.places[list(numbers)]
    parts, number = np.unique(chosen, axis=1, return_inverse=True)
    number = number.ravel()
    names = tuple(column.vector_of[place] for place in numbers)
    size = parts.shape[1]
    return replace(
        column, name=", ".join(names), vector_of=names, places=parts,
        counts=np.bincount(number, column.counts, size).astype(np.int64),
        published=np.bincount(number, column.published, size).astype(np.int64),
        truth=number[column.truth], released=number[column.released],
    )  # fmt: skip


def _real(column: AttackedColumn) -> Finding:
    strange = int(column.published[column.counts == 0].sum())
    finding = none_expected(
        NAME, "find a published combination that no row has", "the release; for scoring, the table",
        "look each of them up", strange, "rows",
        f"{int((column.counts > 0).sum()):,} combinations occur, "
        f"{int((column.counts == 1).sum()):,} of them once",
    )  # fmt: skip
    return replace(finding, column=column.name)


def _pair(pair: AttackedColumn) -> Finding:
    kept, rows = int(pair.kept.sum()), pair.truth.size
    low, high = interval(kept, rows)
    return Finding(
        NAME, "believe a published pair of values", _KNOWS, "prior odds x a/b, prior = share",
        kept_text(pair), kept / max(1, rows), "share right", low, high, kept_p_value(pair),
        column=pair.name,
        note=f"{rows:,} linked rows, {pair.n_values:,} pairs; tested for halves of the pairs",
    )  # fmt: skip


def _one_known(column: AttackedColumn, place: int) -> Finding:
    known = part_of(column, (place,))
    shows = known.kept
    right, believed = int(column.kept[shows].sum()), int(shows.sum())
    whole = float(kept_chances(column)[column.truth].sum())
    alone = float(kept_chances(known)[known.truth].sum())
    low, high = interval(right, believed)
    return Finding(
        NAME, f"believe all of a combination, {known.name} known",
        f"{_KNOWS}, and the person's {known.name}", "the published one, if it agrees",
        f"nothing; random groups give {whole / max(1e-9, alone):.4f}", right / max(1, believed),
        "share right", low, high, verdict=KNOWN_LIMIT, column=column.name,
        note=f"{believed:,} linked rows publish their own {known.name}",
    )  # fmt: skip
