"""Our conditions as DuckDB text with parameters.

Enters: conditions and internal column names. Leaves: a text that holds no literal and no name from
outside, and the parameters for it. Must not know: where conditions come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countveil.query import AllOf, Between, Compare, Condition, InList, IsNull
from countveil.query.conditions import OPERATORS


def condition_sql(condition: Condition, names: Mapping[str, str]) -> tuple[str, list[Any]]:
    """The text of a condition and its parameters."""
    match condition:
        case AllOf(parts):
            texts, parameters = ["true"], []
            for part in parts:
                text, values = condition_sql(part, names)
                texts.append(text)
                parameters += values
            return " AND ".join(texts), parameters
        case Compare(column, operator, value):
            if operator not in OPERATORS:
                raise ValueError(f"unknown operator {operator!r}")
            return f"({names[column]} {operator} ?)", [value]
        case InList(column, values, negated):
            marks = ", ".join("?" * len(values))
            return f"({names[column]} {'NOT ' * negated}IN ({marks}))", list(values)
        case Between(column, low, high, negated):
            return f"({names[column]} {'NOT ' * negated}BETWEEN ? AND ?)", [low, high]
        case IsNull(column, negated):
            return f"({names[column]} IS {'NOT ' * negated}NULL)", []
