"""A built question -> SQL.

Enters: a `Built`, and the kinds of columns. Leaves: SQL, or what is not filled in yet. Must not
know: forms, pages, how it is answered.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping

from countveil.errors import QueryError
from countveil.release.values import BOOLEAN, DATE, NUMBER, TIMESTAMP
from countveil.sql.dialects.literals import name_text
from countveil.web.analyst.builder.built import (
    NONE,
    NUMBERS,
    PERIODS,
    SEVERAL,
    SHARE,
    TWO,
    Built,
    Condition,
    Group,
)

Kinds = Mapping[str, str]
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
# Words that stand for something else where a name could be.
_RESERVED = frozenset(
    [
        "all",
        "and",
        "any",
        "as",
        "asc",
        "between",
        "by",
        "case",
        "cast",
        "cross",
        "cube",
        "current_date",
        "current_time",
        "date",
        "desc",
        "distinct",
        "else",
        "end",
        "except",
        "exists",
        "extract",
        "false",
        "filter",
        "for",
        "from",
        "full",
        "group",
        "grouping",
        "having",
        "if",
        "in",
        "inner",
        "intersect",
        "interval",
        "into",
        "is",
        "join",
        "lateral",
        "left",
        "like",
        "limit",
        "natural",
        "not",
        "null",
        "offset",
        "on",
        "or",
        "order",
        "outer",
        "over",
        "partition",
        "pivot",
        "qualify",
        "release",
        "right",
        "rollup",
        "row",
        "rows",
        "select",
        "sets",
        "table",
        "then",
        "time",
        "timestamp",
        "true",
        "union",
        "unpivot",
        "using",
        "values",
        "when",
        "where",
        "window",
        "with",
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "median",
    ]
)


def sql_of(built: Built, kinds: Kinds) -> str:
    """The question as SQL; QueryError says what is missing."""
    keys = [_key(group, kinds) for group in built.groups]
    selected = [f"{text} AS {alias}" if alias else text for text, alias in keys]
    lines = ["SELECT " + ", ".join([*selected, _measure(built, kinds)]), "FROM release"]
    if built.conditions:
        lines.append("WHERE " + where_sql(built, kinds, "\n  AND "))
    if keys:
        lines.append("GROUP BY " + ", ".join(alias or text for text, alias in keys))
    return "\n".join(lines)


def where_sql(built: Built, kinds: Kinds, joined: str = " AND ") -> str:
    """All conditions as one; empty if there is none."""
    return joined.join(condition_sql(condition, kinds) for condition in built.conditions)


def axes_sql(built: Built, kinds: Kinds) -> list[str]:
    """What is grouped by, without names of its own."""
    return [_key(group, kinds)[0] for group in built.groups]


def name_sql(name: str) -> str:
    """A column's name, quoted only if it has to be."""
    plain = _PLAIN_NAME.fullmatch(name) and name not in _RESERVED
    return name if plain else name_text(name)


def condition_sql(condition: Condition, kinds: Kinds) -> str:
    """One condition."""
    name = name_sql(condition.column)
    if not condition.complete:
        raise QueryError(f"The condition on {condition.column!r} has no value yet.")
    if condition.comparison in NONE:
        return f"{name} {condition.comparison.upper()}"
    kind = kinds.get(condition.column, "")
    given = [text for text in condition.values if text != ""]
    values = [literal(text, kind, condition.column) for text in given]
    if condition.comparison in TWO:
        return f"{name} BETWEEN {values[0]} AND {values[1]}"
    if condition.comparison in SEVERAL:
        return f"{name} {condition.comparison.upper()} ({', '.join(values)})"
    return f"{name} {condition.comparison} {values[0]}"


def literal(text: str, kind: str, column: str) -> str:
    """A typed value as a literal of the kind of its column."""
    if kind == NUMBER:
        return _number(text, column)
    if kind == BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise QueryError(f"{column!r} is true or false, and {text[:40]!r} is neither.")
        return text.upper()
    if kind in (DATE, TIMESTAMP):
        read = dt.date.fromisoformat if kind == DATE else dt.datetime.fromisoformat
        try:
            read(text)
        except ValueError:
            example = "2024-12-31" if kind == DATE else "2024-12-31 18:30:00"
            raise QueryError(
                f"{column!r} has {kind}s, and {text[:40]!r} is none. Write it like {example}."
            ) from None
    return "'" + text.replace("'", "''") + "'"


def _number(text: str, column: str) -> str:
    plain = text.strip().replace("\u2212", "-")
    try:
        finite = math.isfinite(float(plain))
    except ValueError:
        finite = False
    if not finite or "_" in plain:
        raise QueryError(f"{column!r} has numbers, and {text[:40]!r} is none. Write it like 42.5.")
    return plain.lstrip("+")


def class_name(group: Group, kinds: Kinds) -> str:
    """What classes of a column are called; nothing if a column has that name already."""
    column, step = group.column, group.step
    called = f"{step}_of_{column}" if step in PERIODS else f"{column}_from"
    return "" if called.lower() in {name.lower() for name in kinds} else called


def _key(group: Group, kinds: Kinds) -> tuple[str, str]:
    """What is grouped by, and what it is called if that is not its own name."""
    name, called = name_sql(group.column), class_name(group, kinds)
    alias = name_sql(called) if called else ""
    if not group.step:
        return name, ""
    if group.step == "year":
        return f"year({name})", alias
    if group.step in PERIODS:
        return f"date_trunc('{group.step}', {name})", alias
    width = _number(group.step, group.column)
    return f"{name} // {width} * {width}", alias


def _measure(built: Built, kinds: Kinds) -> str:
    if built.measure in NUMBERS:
        if not built.of:
            raise QueryError("Choose the column of numbers.")
        return f"{NUMBERS[built.measure]}({name_sql(built.of)})"
    if built.measure == SHARE:
        if built.part is None or not built.part.column:
            raise QueryError("Choose what the share is the share of.")
        inside = condition_sql(built.part, kinds)
        return f"count(*) FILTER (WHERE {inside}) / count(*) AS share"
    return "count(*)"
