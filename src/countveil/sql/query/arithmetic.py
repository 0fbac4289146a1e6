"""Measures with other aggregates, also where arithmetic joins several.

Enters: measures. Leaves: the same measures of changed aggregates. Must not know: SQL text,
estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from countveil.sql.query.question import Aggregate, Arithmetic, Measure, Operand, OverGroups

# add, subtract, multiply, divide, power and nullif have two operands, coalesce two or more, round
# one and perhaps a number of digits, all others one.
OPERATIONS = (
    "add", "subtract", "multiply", "divide", "power", "nullif", "coalesce", "round", "negate",
    "abs", "sqrt", "ln", "exp",
)  # fmt: skip


def with_aggregates(measure: Measure, changed: Callable[[Aggregate], Aggregate]) -> Measure:
    """The same of changed aggregates."""

    def walk(operand: Operand) -> Operand:
        if isinstance(operand, Arithmetic):
            return Arithmetic(operand.operation, tuple(walk(part) for part in operand.operands))
        if isinstance(operand, OverGroups):
            return replace(operand, aggregate=changed(operand.aggregate))
        return changed(operand) if isinstance(operand, Aggregate) else operand

    arithmetic = None if measure.arithmetic is None else walk(measure.arithmetic)
    assert arithmetic is None or isinstance(arithmetic, Arithmetic)  # noqa: S101 - walk keeps kinds
    return replace(
        measure,
        numerator=changed(measure.numerator),
        denominator=None if measure.denominator is None else changed(measure.denominator),
        arithmetic=arithmetic,
    )
