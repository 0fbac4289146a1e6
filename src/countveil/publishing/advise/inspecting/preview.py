"""A few rows of a table as they are read, for a publisher who asks whether they are read right.

Enters: a table and how to read it. Leaves: rows of texts. Must not know: where they are shown.
These are real people; nothing else in this room shows a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from countveil.errors import InputError
from countveil.publishing.prepare import open_table
from countveil.tables import Reading, Shaping
from countveil.tables.encoded.survey import CodedColumn

MOST_PREVIEWED = 8


@dataclass(frozen=True, slots=True)
class Preview:
    """Some rows, spread evenly over the table.

    Attributes:
        rows: How many rows the table has.
        columns: The names and types of the columns that hold plain values.
        cells: The rows that are shown; None where a value is missing.
    """

    rows: int
    columns: Sequence[tuple[str, str]]
    cells: Sequence[Sequence[str | None]]


def run_preview(
    table: object, *, reading: Reading | None = None, shaping: Shaping | None = None
) -> Preview:
    """Read a table, and take a few of its rows."""
    source = open_table(table, reading or Reading(), shaping or Shaping(), ())
    facts = source.facts
    if facts.rows == 0:
        raise InputError("The table has no rows, so there is nothing to look at.")
    sample = source.sample(MOST_PREVIEWED, [column.name for column in facts.columns])
    named = [(c.name, c.type) for c in facts.columns if c.name in sample]
    texts = [_texts(sample[name]) for name, _ in named]
    return Preview(facts.rows, named, list(zip(*texts, strict=True)))


def _texts(coded: CodedColumn) -> list[str | None]:
    values = [*([None] if coded.missing else []), *coded.examples]
    # Times that Python cannot represent have no examples.
    return [
        (None if values[code] is None else str(values[code])) if code < len(values) else "?"
        for code in coded.codes.tolist()
    ]
