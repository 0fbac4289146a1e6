"""Arithmetic on aggregates: differences, ratios of ratios, shares of a total, rounding.

Enters: sqlglot's nodes. Leaves: a `Measure` with `arithmetic`. Must not know: engines, estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from countveil.sql.query.plan import leaves
from countveil.sql.query.question import (
    Aggregate,
    Arithmetic,
    GroupKey,
    Measure,
    Operand,
    OverGroups,
)
from countveil.sql.query.scalars import excerpt, refuse

if TYPE_CHECKING:
    from sqlglot import exp

    from countveil.sql.query.translate import MeasureReader

_TWO = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Pow": "power",
    "Nullif": "nullif",
}  # fmt: skip
_ONE = {"Neg": "negate", "Abs": "abs", "Sqrt": "sqrt", "Ln": "ln", "Exp": "exp"}
_SUPPORTED = (
    "Aggregates can be joined by +, -, *, /, round, coalesce, nullif, abs, ln, exp, sqrt and power."
)
Key = Callable[["exp.Expr"], GroupKey]


def is_arithmetic(node: exp.Expr, reader: MeasureReader) -> bool:
    """Whether a node joins aggregates in a way that a plain ratio does not."""
    from sqlglot import exp

    name = type(node).__name__
    if isinstance(node, exp.Window | exp.Round | exp.Coalesce) or name in _ONE:
        return True
    if name not in _TWO:
        return False
    left, right = (reader.is_measure(side) for side in (node.this, node.expression))
    if isinstance(node, exp.Div):
        return not left or (right and node.find(exp.Window) is not None)
    return not isinstance(node, exp.Mul) or (left and right)


def arithmetic_of(node: exp.Expr, reader: MeasureReader) -> Measure:
    """The measure of a node that `is_arithmetic`."""
    return measure_of(_operand(node, reader), node)


def measure_of(operand: Operand, node: exp.Expr) -> Measure:
    """A measure of an operand that has aggregates."""
    if not isinstance(operand, Arithmetic):
        operand = Arithmetic("multiply", (1.0, operand))
    first = next(leaves(operand), None)
    if first is None:
        refuse(f"{excerpt(node)} has no aggregate.", _SUPPORTED)
    numerator = first.aggregate if isinstance(first, OverGroups) else first
    return Measure(numerator, arithmetic=operand)


def as_operand(measure: Measure) -> Operand:
    """A measure as part of another one."""
    operand: Operand = measure.numerator
    if measure.listing is not None:
        refuse("count(DISTINCT x), min and max cannot be joined with other aggregates.", "")
    if measure.arithmetic is not None:
        operand = measure.arithmetic
    elif measure.denominator is not None:
        operand = Arithmetic("divide", (measure.numerator, measure.denominator))
    if measure.factor != 1:
        operand = Arithmetic("multiply", (measure.factor, operand))
    return operand


def _operand(node: exp.Expr, reader: MeasureReader) -> Operand:
    from sqlglot import exp

    inner = node.unnest()
    if not reader.is_measure(inner):
        return reader.constant(inner)
    if isinstance(inner, exp.Window):
        return _over_groups(inner, reader)
    operation, nodes = _operation(inner)
    if operation is None:
        return as_operand(reader.measure(inner))
    parts = tuple(_operand(part, reader) for part in nodes)
    return Arithmetic(operation, (*parts, 0.0) if operation == "round" and not parts[1:] else parts)


def _operation(node: exp.Expr) -> tuple[str | None, list[exp.Expr]]:
    """The operation that a node is, and what it is applied to."""
    from sqlglot import exp

    name = type(node).__name__
    if name in _TWO:
        return _TWO[name], [node.this, node.expression]
    if name in _ONE:
        return _ONE[name], [node.this]
    if isinstance(node, exp.Round):
        digits = node.args.get("decimals")
        return "round", [node.this] if digits is None else [node.this, digits]
    if isinstance(node, exp.Coalesce):
        return "coalesce", [node.this, *node.expressions]
    return None, []


def _over_groups(node: exp.Expr, reader: MeasureReader) -> OverGroups:
    """sum(count(*)) OVER (PARTITION BY ...)."""
    from sqlglot import exp

    outer = node.this
    extra = [name for name in ("order", "spec", "alias") if node.args.get(name)]
    if not isinstance(outer, exp.Sum) or not reader.is_measure(outer.this) or extra:
        refuse(
            f"{excerpt(node)} is not supported.",
            "sum(count(*)) OVER () and OVER (PARTITION BY ...) sum over groups; ORDER BY and LIMIT "
            "rank groups.",
        )
    inner = reader.measure(outer.this)
    if inner.denominator is not None or inner.arithmetic is not None or inner.factor != 1:
        refuse(f"{excerpt(node)} is not supported: only counts and sums are summed.", "")
    assert isinstance(inner.numerator, Aggregate)  # noqa: S101 - for readers
    return OverGroups(
        inner.numerator, tuple(reader.key(part) for part in node.args.get("partition_by") or ())
    )
