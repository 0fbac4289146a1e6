"""Text that would be numbers, or dates, but for a few cells.

Enters: some rows of a column as codes, with examples of its values. Leaves: how many cells are the
exceptions, and the first row that has one. Must not know: other columns. No cell is quoted.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from countveil.errors import option
from countveil.publishing.safety.identifiers import looks_missing
from countveil.release.values import TEXT, kind_of
from countveil.tables import Column
from countveil.tables.classes import NUMBER_TEXT
from countveil.tables.encoded.survey import CodedColumn

# So large a share of the cells, and so many of them, say what a column should hold.
_SHARE, _LEAST = 0.95, 20
# Among codes such as 250.1 there are some such as V57.
_CODE = re.compile(r"[A-Za-z]{1,3}[0-9][0-9.]*")


@dataclass(frozen=True, slots=True)
class OddCells:
    """Cells that are not what all others of a column are; rows are counted from 1."""

    column: str
    kind: str
    cells: int
    known: int
    first_row: int
    sampled: bool

    @property
    def sentence(self) -> str:
        """For the publisher."""
        are = "is not one" if self.cells == 1 else "are not"
        where = (
            f"{self.cells:,} of {self.known:,} cells that were looked at {are}"
            if self.sampled
            else f"{self.cells:,} of {self.known:,} cells {are} (the first in row "
            f"{self.first_row:,}, counted from 1 without a header)"
        )
        return (
            f"{self.column!r} would hold {self.kind}s, but {where}, so all of it is taken as text. "
            f"Correct the cells, or name what stands for a missing value with {option('missing')}."
        )


def find_odd_cells(
    columns: Sequence[Column], rows: int, sample: Mapping[str, CodedColumn]
) -> list[OddCells]:
    """The columns of text that would be numbers or dates but for a few cells."""
    texts = [c.name for c in columns if kind_of(c.type) == TEXT and c.name in sample]
    found = (_odd_cells(name, sample[name], rows) for name in texts)
    return [odd for odd in found if odd is not None]


def _odd_cells(name: str, coded: CodedColumn, rows: int) -> OddCells | None:
    if coded.distinct != len(coded.examples):
        # Only some of the values are known; without all of them cells cannot be counted.
        return None
    first = int(coded.missing > 0)
    counts = np.bincount(coded.codes, minlength=coded.distinct + first)[first:]
    known = int(counts.sum())
    for kind, is_one in (("number", _is_number), ("date", _is_date)):
        fits = np.array([is_one(str(value)) for value in coded.examples], bool)
        odd = int(counts[~fits].sum())
        if odd == 0 or known - odd < max(_LEAST, _SHARE * known):
            continue
        exceptions = [value for value, fit in zip(coded.examples, fits, strict=True) if not fit]
        marks = looks_missing(exceptions)
        if len(marks) == len(exceptions) or any(_CODE.fullmatch(str(v)) for v in exceptions):
            return None
        marked = np.concatenate([np.zeros(first, bool), ~fits])[coded.codes]
        sampled = coded.codes.size < rows
        return OddCells(name, kind, odd, known, int(np.argmax(marked)) + 1, sampled)
    return None


def mostly_alike(examples: Sequence[object]) -> bool:
    """Whether values are texts of which nearly all are numbers, or dates."""
    texts = [value for value in examples if isinstance(value, str)]
    most = max(sum(map(_is_number, texts)), sum(map(_is_date, texts)))
    return bool(texts) and most >= _SHARE * len(texts)


def _is_number(text: str) -> bool:
    return NUMBER_TEXT.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text.strip()[:10])
    except ValueError:
        return False
    return True
