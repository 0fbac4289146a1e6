"""Parameters of a query -> constants in their places, and values as nodes of sqlglot.

Enters: a parsed query, and the values that its `?`, `$1` and `$name` stand for. Leaves: the same
query with constants. Must not know: columns, engines. Values become constants of the parse, so
none of them can become anything else.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError, option

if TYPE_CHECKING:
    from sqlglot import exp

Parameters = Sequence[Any] | Mapping[str, Any]


def put_parameters(query: exp.Expr, values: Parameters) -> None:
    """Put a constant in the place of every parameter."""
    from sqlglot import exp

    named = isinstance(values, Mapping)
    used: set[Any] = set()
    position = 0
    for place in list(query.find_all(exp.Placeholder, exp.Parameter, bfs=False)):
        name = place.this.name if isinstance(place.this, exp.Expr) else str(place.this or "")
        key: Any = name
        if not name:
            key, position = position, position + 1
        elif name.isdecimal() and len(name) < 10 and not named:
            key = int(name) - 1
        used.add(key)
        place.replace(constant_node(_value(values, key, name)))
    expected = set(values) if isinstance(values, Mapping) else set(range(len(values)))
    unused = expected - used
    if unused:
        listed = ", ".join(sorted(str(k if isinstance(k, str) else k + 1) for k in unused))
        raise QueryError(
            f"The query has no place for the parameter {listed} of {option('params')}."
        )


def constant_node(value: Any) -> exp.Expr:
    """A value as a constant of a query."""
    from sqlglot import exp

    value = _plain(value)
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float):
        number = exp.Literal.number(repr(abs(value)))
        return exp.Neg(this=number) if value < 0 else number
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, dt.date):
        kind = "TIMESTAMP" if isinstance(value, dt.datetime) else "DATE"
        text = exp.Literal.string(value.isoformat(*([" "] if kind == "TIMESTAMP" else [])))
        return exp.Cast(this=text, to=exp.DataType.build(kind))
    if isinstance(value, list | tuple | set | frozenset):
        return exp.Tuple(expressions=[constant_node(part) for part in value])
    raise QueryError(
        f"A {type(value).__name__} cannot be a value of a query. Numbers, texts, dates, true and "
        f"false, and missing can."
    )


def _plain(value: Any) -> Any:
    """A number of NumPy or a decimal one as Python's; what is not a number is missing."""
    if hasattr(value, "item") and not isinstance(value, dt.date):
        value = value.item()
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _value(values: Parameters, key: Any, name: str) -> Any:
    try:
        return values[key]
    except (KeyError, IndexError, TypeError):
        what = f"${name}" if name else f"the {key + 1}. ?"
        raise QueryError(
            f"The query has the parameter {what}, but {option('params')} gives no value for it."
        ) from None
