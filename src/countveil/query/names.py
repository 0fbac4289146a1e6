"""Names and kinds of the release's columns, as a query may use them.

Enters: the manifest's columns. Leaves: a column for a name, a value for a literal.
Must not know: SQL syntax.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from countveil.errors import QueryError, nearest
from countveil.release import PublishedColumn, kind_of
from countveil.release.domain import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP


class ReleaseColumns:
    """Looks up columns; like SQL, upper and lower case matter only when they must."""

    def __init__(self, columns: Sequence[PublishedColumn]) -> None:
        self._by_name = {column.name: column for column in columns}

    def find(self, name: str) -> PublishedColumn:
        """The column of this name, or the only one that differs in case alone."""
        if name in self._by_name:
            return self._by_name[name]
        same = [known for known in self._by_name if known.lower() == name.lower()]
        if len(same) == 1:
            return self._by_name[same[0]]
        if same:
            listed = " and ".join(f'"{known}"' for known in same)
            raise QueryError(f"{name!r} could be {listed}. Write the exact name in double quotes.")
        hint = nearest(name, self._by_name)
        raise QueryError(f"There is no column {name!r} in the release. {hint}")


def literal_for(column: PublishedColumn, value: Any) -> Any:
    """The literal as a value of the column's kind; refuse what the column can never hold."""
    kind = kind_of(column.type)
    if isinstance(value, str) and kind in (DATE, TIMESTAMP):
        try:
            return (dt.date if kind == DATE else dt.datetime).fromisoformat(value.strip())
        except ValueError as error:
            example = "2024-12-31" if kind == DATE else "2024-12-31 18:30:00"
            raise QueryError(
                f"Column {column.name!r} holds {kind}s; {value!r} is not one. Write it like "
                f"'{example}'."
            ) from error
    fits = {
        NUMBER: isinstance(value, int | float | Decimal) and not isinstance(value, bool),
        TEXT: isinstance(value, str),
        BOOLEAN: isinstance(value, bool),
    }.get(kind, False)
    if not fits:
        raise QueryError(
            f"Column {column.name!r} holds {kind} values, but is compared with {_shown(value)}."
            + (" Put text in single quotes." if kind == TEXT else "")
        )
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"the truth value {str(value).upper()}"
    if isinstance(value, str):
        return f"the text {value!r}"
    return f"the number {value}"
