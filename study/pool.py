"""The pool of count queries: random predicates, each combined with every sensitive value.

Enters: a table, which columns may be asked about, a stream. Leaves: the rows of each predicate, and
true counts. Must not know: how anything is published.

The paper's pool has 5,000 queries "A1 = v1 and ... and Ad = vd and SA = vs", made from random
predicates and all values of SA; with 50 values that is 100 predicates. Here a predicate is made
from one to three columns, all choices as likely, and the values that a random person has in them:
so nobody is asked about combinations that do not occur, and frequent ones are asked more often. Two
other ways are there to see how much that matters (`KINDS`): every predicate at most once, and each
value drawn from the column's domain.

Every repetition of an experiment draws a pool of its own; the bars of its figures include that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream
from study.data import StudyTable

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

QUERIES = 5_000
MOST_COLUMNS = 3
KINDS = ("people", "distinct", "domain")


@dataclass(frozen=True)
class Pool:
    """Predicates, each as the numbers of the rows that meet it."""

    predicates: Sequence[Codes]

    def tallies(self, codes: Codes, size: int) -> Floats:
        """Rows of each predicate (lines) by code (columns)."""
        found = [np.bincount(codes[rows], minlength=size) for rows in self.predicates]
        return np.array(found, np.float64).reshape(len(found), size)


def draw_pool(
    table: StudyTable,
    columns: Sequence[str],
    predicates: int,
    stream: Stream,
    kind: str = "people",
) -> Pool:
    """So many random predicates over these columns; none of them is empty."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    seen: dict[tuple[tuple[str, int], ...], Codes] = {}
    found: list[Codes] = []
    while len(found) < predicates:
        predicate = _draw(table, columns, stream, kind)
        if predicate in seen and kind != "people":
            continue
        if predicate not in seen:
            met = np.all([table.columns[name] == value for name, value in predicate], axis=0)
            seen[predicate] = np.flatnonzero(met)
        if seen[predicate].size:
            found.append(seen[predicate])
    return Pool(found)


def _draw(
    table: StudyTable, columns: Sequence[str], stream: Stream, kind: str
) -> tuple[tuple[str, int], ...]:
    many = 1 + int(stream.below(min(MOST_COLUMNS, len(columns)), 1)[0])
    chosen = [columns[place] for place in stream.choose(many, len(columns)).tolist()]
    if kind == "domain":
        return tuple((name, int(stream.below(table.size(name), 1)[0])) for name in chosen)
    person = int(stream.below(table.rows, 1)[0])
    return tuple((name, int(table.columns[name][person])) for name in chosen)
