"""Many conditions as text -> formulas, without parsing the same piece again and again.

Enters: texts of conditions and the release's columns. Leaves: what `parse_where` gives for each.
Must not know: engines, estimators.

Analysts ask in series: the same few comparisons, put together with AND in many ways. A text that is
nothing but such a chain, `age >= 30 AND gender = 'F' AND ...`, is cut at its ANDs and every
piece is parsed once. Any other text is parsed as a whole.
"""

from __future__ import annotations

import re
import string
from collections import OrderedDict

from countveil.errors import QueryError
from countveil.sql.query.expressions import AllOf, Formula
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.sql.query.parse import LONGEST_QUERY, parse_where

_REMEMBERED = 4096
_NAME = r'(?:[A-Za-z_][A-Za-z0-9_]*|"[^"]+")'
_LITERAL = r"(?:-?[0-9]+(?:\.[0-9]+)?|'(?:[^']|'')*')"
_PIECE = (
    rf"{_NAME}(?:\s*(?:=|<>|!=|<=|>=|<|>)\s*{_LITERAL}"
    rf"|\s+BETWEEN\s+{_LITERAL}\s+AND\s+{_LITERAL}"
    rf"|\s+IN\s*\(\s*{_LITERAL}(?:\s*,\s*{_LITERAL})*\s*\))"
)
_FIRST = re.compile(rf"\s*({_PIECE})(?=\s|$)", re.ASCII | re.IGNORECASE)
_NEXT = re.compile(rf"\s+AND\s+({_PIECE})(?=\s|$)", re.ASCII | re.IGNORECASE)


class ConditionReader:
    """Reads conditions about one release, and remembers their pieces."""

    def __init__(self, columns: ReleaseColumns) -> None:
        self._columns = columns
        self._known: OrderedDict[str, Formula] = OrderedDict()

    def formula(self, text: str) -> Formula:
        """The formula of a condition; an empty text is always true."""
        pieces = comparisons(text)
        if len(pieces) < 2:
            return self._parsed(text)
        try:
            return AllOf(tuple(self._parsed(piece) for piece in pieces))
        except QueryError:
            # The message is about the text as it was written.
            return parse_where(text, self._columns)

    def _parsed(self, text: str) -> Formula:
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        found = parse_where(text, self._columns)
        self._known[text] = found
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found


def comparisons(text: str) -> list[str]:
    """The pieces of a chain of simple comparisons; nothing if the text is anything else."""
    found = _FIRST.match(text) if len(text) <= LONGEST_QUERY // 2 else None
    if found is None:
        return []
    pieces = [found[1]]
    end = len(text.rstrip(string.whitespace))
    while found.end() < end:
        found = _NEXT.match(text, found.end())
        if found is None:
            return []
        pieces.append(found[1])
    return pieces
