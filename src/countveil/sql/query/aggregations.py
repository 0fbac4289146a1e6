"""Aggregates in SELECT, HAVING and ORDER BY -> measures.

Enters: parsed nodes. Leaves: measures, each once, by number; conditions on their estimates. Must
not know: engines, estimators. A measure is a count, a sum, an average, or a ratio of two of them
times a constant: shares within a group are ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from countveil.release.values import BOOLEAN, NUMBER
from countveil.sql.query.expressions import (
    FALSE,
    TRUE,
    AllOf,
    Constant,
    Formula,
    Not,
    Operation,
    Plain,
    SensitiveTest,
)
from countveil.sql.query.question import (
    Aggregate,
    Having,
    HavingAll,
    HavingAny,
    HavingNot,
    Measure,
    MeasureTest,
)
from countveil.sql.query.scalars import COMPARISONS, refuse, shown
from countveil.sql.query.translate import SWAPPED, Translator

if TYPE_CHECKING:
    from sqlglot import exp

_AGGREGATES = "Supported aggregates are count(*), count(x), sum(x) and avg(x), each with FILTER."


class MeasureReader:
    """Reads measures and numbers them."""

    def __init__(self, translator: Translator, where: Formula) -> None:
        self._translator = translator
        self._where = where
        self._found: list[Measure] = []

    @property
    def found(self) -> tuple[Measure, ...]:
        """All measures so far."""
        return tuple(self._found)

    def is_measure(self, node: exp.Expr) -> bool:
        """Whether the node holds an aggregate."""
        from sqlglot import exp

        return node.find(exp.AggFunc) is not None

    def number(self, node: exp.Expr) -> int:
        """The number of this measure."""
        measure = self._measure(node)
        if measure not in self._found:
            self._found.append(measure)
        return self._found.index(measure)

    def having(self, node: exp.Expr, resolved: Callable[[exp.Expr], exp.Expr]) -> Having:
        """A condition on estimates."""
        from sqlglot import exp

        inner = node.unnest()
        if isinstance(inner, exp.And | exp.Or):
            both = (self.having(inner.this, resolved), self.having(inner.expression, resolved))
            return HavingAll(both) if isinstance(inner, exp.And) else HavingAny(both)
        if isinstance(inner, exp.Not):
            return HavingNot(self.having(inner.this, resolved))
        if isinstance(inner, exp.Between):
            subject = inner.this
            low = exp.GTE(this=subject, expression=inner.args["low"])
            high = exp.LTE(this=subject.copy(), expression=inner.args["high"])
            return HavingAll((self.having(low, resolved), self.having(high, resolved)))
        word = COMPARISONS.get(type(inner).__name__)
        if word is not None:
            left, right = resolved(inner.this), resolved(inner.expression)
            if self.is_measure(left) and not self.is_measure(right):
                return MeasureTest(self.number(left), word, self._constant(right))
            if self.is_measure(right) and not self.is_measure(left):
                return MeasureTest(
                    self.number(right), SWAPPED.get(word, word), self._constant(left)
                )
        return refuse(
            f"HAVING {shown(inner)} is not supported.",
            "HAVING compares aggregates with constants; conditions on columns go into WHERE.",
        )

    def _constant(self, node: exp.Expr) -> float:
        found = self._translator.expression(node)
        if not isinstance(found, Constant) or found.kind != NUMBER:
            refuse(f"{shown(node)} stands where a number is expected.", "")
        return float(found.value)

    def _measure(self, node: exp.Expr) -> Measure:
        from sqlglot import exp

        inner = node.unnest()
        if isinstance(inner, exp.Cast) and inner.to.this.name in ("DOUBLE", "FLOAT", "DECIMAL"):
            return self._measure(inner.this)
        if isinstance(inner, exp.Mul | exp.Div):
            left, right = inner.this, inner.expression
            times = isinstance(inner, exp.Mul)
            if self.is_measure(left) and self.is_measure(right):
                if times:
                    refuse("A product of aggregates is not supported.", _AGGREGATES)
                return self._ratio(left, right, inner)
            if self.is_measure(left):
                number = self._constant(right)
                if not times and number == 0:
                    refuse("Division by zero.", "")
                return _scaled(self._measure(left), number if times else 1 / number)
            if times:
                return _scaled(self._measure(right), self._constant(left))
        if isinstance(inner, exp.Filter):
            condition = self._translator.formula(inner.expression.this)
            return self._aggregate(inner.this, AllOf((self._where, condition)))
        return self._aggregate(inner, self._where)

    def _ratio(self, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> Measure:
        top, bottom = self._measure(left), self._measure(right)
        if top.denominator is not None or bottom.denominator is not None:
            refuse(f"{shown(node)} is a ratio of ratios, which is not supported.", _AGGREGATES)
        return Measure(top.numerator, bottom.numerator, top.factor / bottom.factor)

    def _aggregate(self, node: exp.Expr, condition: Formula) -> Measure:
        from sqlglot import exp

        if not isinstance(node, exp.Count | exp.Sum | exp.Avg):
            refuse(f"{shown(node)} is not supported.", _AGGREGATES)
        if isinstance(node.this, exp.Distinct) or node.args.get("distinct"):
            refuse("DISTINCT inside an aggregate is not supported.", _AGGREGATES)
        if isinstance(node, exp.Count):
            if node.expressions:
                refuse(f"{shown(node)} is not supported.", _AGGREGATES)
            if isinstance(node.this, exp.Star):
                if any(node.this.args.values()):
                    refuse(f"{shown(node)} is not supported.", _AGGREGATES)
                return Measure(Aggregate(None, condition))
            return Measure(Aggregate(None, AllOf((condition, self._known(node.this)))))
        argument = self._translator.expression(node.this)
        if argument.kind != NUMBER:
            refuse(f"{shown(node)} needs numbers, but {shown(node.this)} is {argument.kind}.", "")
        known = AllOf((condition, self._known(node.this)))
        total = Aggregate(argument, known)
        return Measure(total, Aggregate(None, known) if isinstance(node, exp.Avg) else None)

    def _known(self, node: exp.Expr) -> Formula:
        """That the argument is not missing."""
        sensitive = self._translator.sensitive_column(node)
        if sensitive is not None:
            return Not(SensitiveTest(sensitive.name, "is_null"))
        argument = self._translator.expression(node)
        if isinstance(argument, Constant):
            return FALSE if argument.value is None else TRUE
        return Plain(Operation("not", (Operation("is_null", (argument,), BOOLEAN),), BOOLEAN))


def _scaled(measure: Measure, factor: float) -> Measure:
    return Measure(measure.numerator, measure.denominator, measure.factor * factor)
