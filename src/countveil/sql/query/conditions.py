"""Conditions: many about one release, each comparison parsed only once, or one about plain columns.

Enters: texts of conditions and the columns. Leaves: formulas, or an expression. Must not know: any
engine, any estimator.
"""

from __future__ import annotations

import re
import string
from collections import OrderedDict
from typing import Any

from countveil.errors import QueryError
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN
from countveil.sql.query.expressions import (
    AllOf,
    ColumnReference,
    Constant,
    Expression,
    Formula,
    Operation,
    Plain,
    SensitiveTest,
)
from countveil.sql.query.functions import FUNCTIONS, SUPPORTED
from countveil.sql.query.parse import parse_text, parse_where
from countveil.sql.query.release_columns import ReleaseColumns, as_kind
from countveil.sql.query.scalars import ScalarReader, refuse
from countveil.sql.query.select import LONGEST_QUERY

_CONDITION = {"expressions", "from_", "from", "where", "kind"}
CONDITIONS = (
    "A condition compares columns with values, such as \"age >= 18 AND country IN ('CA', 'NO')\"; "
    f"functions: {FUNCTIONS}."
)
_MOST_CACHED = 4096
_NAME = r'(?:[A-Za-z_][A-Za-z0-9_]*|"[^"]+")'
_LITERAL = r"(?:-?[0-9]+(?:\.[0-9]+)?|'(?:[^']|'')*')"
_COMPARISON = (
    rf"{_NAME}(?:\s*(?:=|<>|!=|<=|>=|<|>)\s*{_LITERAL}"
    rf"|\s+BETWEEN\s+{_LITERAL}\s+AND\s+{_LITERAL}"
    rf"|\s+IN\s*\(\s*{_LITERAL}(?:\s*,\s*{_LITERAL})*\s*\))"
)
_FIRST = re.compile(rf"\s*({_COMPARISON})(?=\s|$)", re.ASCII | re.IGNORECASE)
_NEXT = re.compile(rf"\s+AND\s+({_COMPARISON})(?=\s|$)", re.ASCII | re.IGNORECASE)


class ConditionReader:
    """Reads many conditions about one release, and parses each comparison in them only once.

    Analysts ask in series: the same few comparisons, combined with AND in many ways. A text that is
    nothing but such a chain, `age >= 30 AND gender = 'F' AND ...`, is cut at its ANDs and every
    comparison is parsed once. Any other text is parsed as a whole.
    """

    def __init__(self, columns: ReleaseColumns) -> None:
        self._columns = columns
        self._known: OrderedDict[str, Formula] = OrderedDict()

    def formula(self, text: str) -> Formula:
        """The formula of a condition; an empty text is always true."""
        chain = comparisons(text)
        if len(chain) < 2:
            return self._parsed(text)
        try:
            return AllOf(tuple(self._parsed(comparison) for comparison in chain))
        except QueryError:
            # Parsed as a whole, so that the message is about the text as it was written.
            return parse_where(text, self._columns)

    def equals(self, name: str, value: Any) -> Formula:
        """The formula of `name = value`, or of `name IS NULL` for None."""
        column = self._columns.find(name)
        self._columns.check_asked(column, "equal", value)
        return self.equals_unchecked(column, value)

    def equals_unchecked(self, column: PublishedColumn, value: Any) -> Formula:
        """The same, whatever became of the value before publishing."""
        kind = self._columns.kind(column)
        if value is not None:
            value = as_kind(value, kind, f"Column {column.name!r}")
        if column.role == "sensitive":
            if value is None:
                return SensitiveTest(column.name, "is_null")
            return SensitiveTest(column.name, "in", (value,))
        plain = ColumnReference(column.name, kind)
        if value is None:
            return Plain(Operation("is_null", (plain,), BOOLEAN))
        return Plain(Operation("equal", (plain, Constant(value, kind)), BOOLEAN))

    def _parsed(self, text: str) -> Formula:
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        formula = parse_where(text, self._columns, in_series=bool(self._known))
        self._known[text] = formula
        if len(self._known) > _MOST_CACHED:
            self._known.popitem(last=False)
        return formula


def comparisons(text: str) -> list[str]:
    """The comparisons of a chain of them joined by AND; empty if the text is anything else."""
    match = _FIRST.match(text) if len(text) <= LONGEST_QUERY // 2 else None
    if match is None:
        return []
    chain = [match[1]]
    end = len(text.rstrip(string.whitespace))
    while match.end() < end:
        match = _NEXT.match(text, match.end())
        if match is None:
            return []
        chain.append(match[1])
    return chain


def parse_condition(text: str, columns: ReleaseColumns) -> Expression:
    """A condition on plain columns only, as one expression."""
    from sqlglot import exp

    try:
        select = parse_text(f"SELECT count(*) FROM release WHERE ({text}\n)")
        where = select.args.get("where") if isinstance(select, exp.Select) else None
        extra = [part for part, value in select.args.items() if value and part not in _CONDITION]
        if where is None or extra:
            refuse("The text is not one condition.")
        condition = ScalarReader(columns, None).expression(where.this)
    except RecursionError as error:
        raise QueryError(f"The condition is nested too deeply. {CONDITIONS}") from error
    except QueryError as error:
        raise QueryError(str(error).replace(SUPPORTED, CONDITIONS)) from error
    if condition.kind != BOOLEAN:
        raise QueryError(f"The text is a {condition.kind} and not a condition. {CONDITIONS}")
    return condition
