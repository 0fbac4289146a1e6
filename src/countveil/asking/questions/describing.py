"""What a release holds, without a count: DESCRIBE, and the values of a column.

Enters: a release. Leaves: a table, or a list of values. Must not know: estimators, SQL beyond the
word DESCRIBE.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from countveil.asking.result import Answer
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, kind_of
from countveil.sql.query import Tally
from countveil.sql.query.expressions import ColumnReference, Constant

if TYPE_CHECKING:
    from countveil.asking.release import Release

_DESCRIBES = re.compile(
    r"\s*(DESCRIBE|DESC|SHOW\s+COLUMNS\s+FROM|SHOW)\s+(TABLE\s+)?\"?release\"?\s*;?\s*",
    re.IGNORECASE,
)


def describes(query: str) -> bool:
    """Whether a query asks for the columns of the release."""
    return _DESCRIBES.fullmatch(query) is not None


def described(release: Release) -> Answer:
    """One row per column."""
    rows = []
    for column in release.columns:
        entry = release.manifest.sensitive.get(column.name)
        listed = None if entry is None else len(entry.domain)
        rows.append((column.name, column.type, column.role, release.ell.get(column.name), listed))
    return Answer(["column", "type", "role", "ell", "listed_values"], rows, [])


def values_of(release: Release, column: PublishedColumn) -> list[Any]:
    """The values of a column: those that occur, or of a sensitive one those that are listed."""
    if column.role == "sensitive":
        return list(release.manifest.sensitive[column.name].domain)
    every = Constant(value=True, kind=BOOLEAN)
    key = ColumnReference(column.name, kind_of(column.type))
    tallied = release.table.tally(Tally(every, (key,), (), (), ()), ())
    known = sorted(value for (value,) in tallied.keys if value is not None)
    missing = any(value is None for (value,) in tallied.keys)
    return [*known, None] if missing else known
