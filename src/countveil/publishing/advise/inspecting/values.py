"""The values of one column with their counts, for a publisher who merges or labels them.

Enters: a table, how to read it, a column. Leaves: its values. Must not know: where they are shown.
The values are those that merging and labels start from, so the column is prepared as far as the
caller says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countveil.errors import InputError
from countveil.publishing.prepare import open_table, recode
from countveil.release.steps import code_text
from countveil.tables import Reading, Shaping, check_named
from countveil.tables.columns import is_protectable
from countveil.tables.recode import value_text

MOST_VALUES = 300


@dataclass(frozen=True, slots=True)
class CountedValue:
    """A value as a list of labels names it (`code`) and as one of merges does, and its rows."""

    code: str
    text: str
    rows: int


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The most frequent values of a column; `more` others are not among them.

    `labelled`: they are labels already, which the source gave or the caller.
    """

    column: str
    values: Sequence[CountedValue]
    more: int
    missing: int
    labelled: bool


def run_values(
    table: object, column: str, *, reading: Reading | None = None, shaping: Shaping | None = None
) -> ColumnValues:
    """Read a table, and count the values of one of its columns."""
    shaping = shaping or Shaping()
    source = open_table(table, reading or Reading(), shaping, ())
    check_named(source.facts.columns, [column])
    chosen = next(each for each in source.facts.columns if each.name == column)
    if not is_protectable(chosen.type):
        raise InputError(f"Column {column!r} holds {chosen.type}: it has no values to list.")
    recoded = recode(source, shaping)
    histogram = source.histogram(column)
    order = np.argsort(-histogram.counts, kind="stable").tolist()
    counted = [(histogram.values[place], int(histogram.counts[place])) for place in order]
    known = [(value, rows) for value, rows in counted if value is not None and rows]
    return ColumnValues(
        column,
        [CountedValue(code_text(v), value_text(v), rows) for v, rows in known[:MOST_VALUES]],
        max(0, len(known) - MOST_VALUES),
        sum(rows for value, rows in counted if value is None),
        column in recoded.labels or column in shaping.labels,
    )
