"""PostgreSQL, SQLite and Spark: where each differs from what they have in common.

Enters: expressions over plain columns. Leaves: SQL text. Must not know: where the text is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from countveil.release.values import BOOLEAN, DATE, TEXT, TIMESTAMP
from countveil.sql.dialects.literals import name_text
from countveil.sql.dialects.translated import (
    COMMON_TEMPLATES,
    DATE_TEMPLATES,
    STARTS,
    TranslatedDialect,
)
from countveil.sql.query.expressions import Constant, Expression, Operation

# A pattern of LIKE as one of GLOB.
_GLOB_MARKS = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}

# LIKE of Spark always has an escape character; this one is in no pattern.
_ESCAPE = "\x01"

# Spark's floor and ceil return integers, into which a large double does not fit; but it is whole.
_SPARK_WHOLE = (
    "(CASE WHEN abs(CAST({{0}} AS DOUBLE)) >= 9e15 THEN CAST({{0}} AS DOUBLE) "
    "ELSE CAST({function}(CAST({{0}} AS DOUBLE)) AS DOUBLE) END)"
)


class Postgres(TranslatedDialect):
    """PostgreSQL."""

    name, title, double = "postgres", "PostgreSQL", "DOUBLE PRECISION"
    collation = ' COLLATE "C"'
    templates: ClassVar[Mapping[str, str]] = {
        **COMMON_TEMPLATES, **DATE_TEMPLATES,
        "lower": "lower({0})", "upper": "upper({0})", "ilike": "({0} ILIKE {1} ESCAPE '')",
        "weekday": "CAST(EXTRACT(DOW FROM {0}) AS BIGINT)",
        **{f"start_of_{unit}": f"date_trunc('{unit}', {{0}})" for unit in STARTS},
        "add_days": "({0} + {1})",
        "add_months": "CAST({0} + make_interval(months => {1}) AS DATE)",
        "days_between": "({0} - {1})", "position": "strpos({0}, {1})",
        "split_part": "split_part({0}, {1}, {2})",
    }  # fmt: skip

    def finite(self, text: str) -> str:
        """Otherwise it would be a decimal number."""
        return f"CAST({text} AS {self.double})"

    def render_like(self, expression: Operation) -> str:
        """Without an escape character."""
        subject, pattern = expression.operands
        return f"({self.text(subject)} LIKE {self.text(pattern)} ESCAPE '')"


class SQLite(TranslatedDialect):
    """SQLite, in which dates and timestamps are texts."""

    name, title, double = "sqlite", "SQLite", "REAL"
    no_limit, character = "-1", "char"
    wide_integer = ""
    templates: ClassVar[Mapping[str, str]] = {
        **COMMON_TEMPLATES,
        "year": "CAST(strftime('%Y', {0}) AS INTEGER)",
        "month": "CAST(strftime('%m', {0}) AS INTEGER)",
        "day": "CAST(strftime('%d', {0}) AS INTEGER)",
        "weekday": "CAST(strftime('%w', {0}) AS INTEGER)",
        "day_of_year": "CAST(strftime('%j', {0}) AS INTEGER)",
        "hour": "CAST(strftime('%H', {0}) AS INTEGER)",
        "minute": "CAST(strftime('%M', {0}) AS INTEGER)",
        "second": "CAST(strftime('%S', {0}) AS INTEGER)",
        "start_of_year": "strftime('%Y-01-01 00:00:00', {0})",
        "start_of_month": "strftime('%Y-%m-01 00:00:00', {0})",
        "start_of_day": "strftime('%Y-%m-%d 00:00:00', {0})",
        "start_of_hour": "strftime('%Y-%m-%d %H:00:00', {0})",
        "add_days": "date({0}, ({1}) || ' days')",
        "days_between": "CAST(julianday({0}) - julianday({1}) AS INTEGER)",
        "position": "instr({0}, {1})",
    }

    def null(self, _kind: str) -> str:
        """Without a type."""
        return "NULL"

    def time(self, text: str, _kind: str) -> str:
        """A text."""
        return f"'{text}'"

    def infinity(self) -> str:
        """Too large for a double, so it is read as infinity."""
        return "9e999"

    def render_like(self, expression: Operation) -> str:
        """By GLOB: LIKE of SQLite ignores case."""
        subject, pattern = expression.operands
        if not isinstance(pattern, Constant) or pattern.value is None:
            return self.refuse("like with a pattern that is not constant")
        glob = "".join(_GLOB_MARKS.get(char, char) for char in pattern.value)
        return f"({self.text(subject)} GLOB {self.literal(glob)})"

    def render_right(self, expression: Operation) -> str:
        """SQLite has no right()."""
        text, length = expression.operands
        return f"substr({self.text(text)}, -{self._position(length, 1, 'right')})"

    def render_greatest(self, expression: Operation) -> str:
        """By max() and min(), which are NULL as soon as one operand is."""
        function = "max" if expression.name == "greatest" else "min"
        result, *others = (self.text(part) for part in expression.operands)
        for other in others:
            result = f"coalesce({function}({result}, {other}), {result}, {other})"
        return result

    def date_of(self, timestamp: Expression) -> str:
        """The first ten characters."""
        return f"substr({self.text(timestamp)}, 1, 10)"

    def midnight_of(self, date: Expression) -> str:
        """With the time appended."""
        return f"({self.text(date)} || ' 00:00:00')"


class Spark(TranslatedDialect):
    """Spark SQL in ANSI mode, in which arithmetic fails rather than wraps around."""

    name, title = "spark", "Spark"
    text_type = "STRING"
    types: ClassVar[Mapping[str, str]] = {
        TEXT: "STRING", BOOLEAN: "BOOLEAN", DATE: "DATE", TIMESTAMP: "TIMESTAMP_NTZ",
    }  # fmt: skip
    templates: ClassVar[Mapping[str, str]] = {
        **COMMON_TEMPLATES, **DATE_TEMPLATES,
        "divide_whole": "(CASE WHEN {1} <> 0 THEN {0} DIV {1} END)",
        "sign": "CAST(sign({0}) AS BIGINT)",
        "floor": _SPARK_WHOLE.format(function="floor"),
        "ceil": _SPARK_WHOLE.format(function="ceil"),
        "weekday": "CAST(dayofweek({0}) - 1 AS BIGINT)",
        **{
            f"start_of_{unit}": f"CAST(date_trunc('{unit}', CAST({{0}} AS TIMESTAMP)) "
            "AS TIMESTAMP_NTZ)"
            for unit in STARTS
        },
        "add_days": "date_add({0}, {1})", "add_months": "add_months({0}, {1})",
        "days_between": "datediff({0}, {1})",
        "position": "instr({0}, {1})", "split_part": "split_part({0}, {1}, {2})",
    }  # fmt: skip

    def identifier(self, name: str) -> str:
        """In backticks."""
        return name_text(name, "`")

    def quoted(self, text: str) -> str:
        """A text as a literal, in which a backslash must be escaped."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def render_like(self, expression: Operation) -> str:
        """With an escape character that is not in the pattern."""
        subject, pattern = expression.operands
        if not isinstance(pattern, Constant) or pattern.value is None or _ESCAPE in pattern.value:
            return self.refuse("like with a pattern that is not constant")
        escape = self.quoted(_ESCAPE)
        return f"({self.text(subject)} LIKE {self.literal(pattern.value)} ESCAPE {escape})"

    def render_round(self, expression: Operation) -> str:
        """To whole numbers only."""
        self._need_no_digits(expression)
        return f"round(CAST({self.text(expression.operands[0])} AS DOUBLE), 0)"
