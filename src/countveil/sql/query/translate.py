"""sqlglot's nodes -> formulas, with the tests of sensitive columns taken out, and measures.

Enters: parsed nodes. Leaves: formulas; measures, each once, by number; conditions on their
estimates. Must not know: engines, estimators. `ScalarReader` reads what does not touch a sensitive
column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, NUMBER, TEXT
from countveil.sql.query.expressions import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Constant,
    Formula,
    IsTrue,
    Not,
    Operation,
    Plain,
    SensitiveTest,
)
from countveil.sql.query.forms.arithmetic import (
    arithmetic_of,
    as_operand,
    is_arithmetic,
    measure_of,
)
from countveil.sql.query.functions import COMPARISONS, MISSING, SWAPPED
from countveil.sql.query.question import (
    Aggregate,
    Arithmetic,
    GroupKey,
    Having,
    HavingAll,
    HavingAny,
    HavingNot,
    Measure,
    MeasureTest,
)
from countveil.sql.query.release_columns import as_kind, matching_classes
from countveil.sql.query.scalars import (
    ScalarReader,
    chain,
    excerpt,
    reads_node,
    refuse,
)

if TYPE_CHECKING:
    from sqlglot import exp

_DEEPEST = 60
_AGGREGATES = (
    "Supported aggregates: count(*), count(x), sum(x) and avg(x), each with FILTER; and of plain "
    "columns count(DISTINCT x), min(x) and max(x)."
)


class Translator(ScalarReader):
    """Reads expressions and formulas of one query."""

    @reads_node
    def formula(self, node: exp.Expr, depth: int = 0) -> Formula:
        """A boolean node, with tests of sensitive columns taken out."""
        from sqlglot import exp

        if depth > _DEEPEST:
            refuse(f"The query is nested more than {_DEEPEST} levels deep.")
        inner = node.unnest()
        if isinstance(inner, exp.And | exp.Or):
            kind = type(inner)
            parts = tuple(self.formula(part, depth + 1) for part in chain(inner, kind))
            return AllOf(parts) if kind is exp.And else AnyOf(parts)
        if isinstance(inner, exp.Not):
            return Not(self.formula(inner.this, depth + 1))
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Boolean):
            condition = self.formula(inner.this, depth + 1)
            return IsTrue(condition if inner.expression.this else Not(condition))
        test = self._sensitive_test(inner)
        if test is not None:
            return test
        if self.columns_in(inner)[0]:
            from countveil.sql.query.forms.sensitive_sets import formula_of

            return formula_of(self, inner, depth)
        plain = self.expression(inner, depth + 1)
        if plain.kind not in (BOOLEAN, MISSING):
            refuse(f"{excerpt(inner)} is used where a condition is expected.")
        return Plain(plain)

    def _sensitive_test(self, node: exp.Expr) -> Formula | None:
        """The test of a sensitive column that a node is; None if it does not touch one."""
        from sqlglot import exp

        comparison = COMPARISONS.get(type(node).__name__)
        if comparison is not None:
            return self._sensitive_comparison(comparison, node)
        is_test = isinstance(node, exp.Is | exp.In | exp.Between)
        column = self.sensitive_column(node.this) if is_test else None
        if column is None:
            return None
        if isinstance(node, exp.Between):
            return self._test(column, "between", (node.args["low"], node.args["high"]))
        if isinstance(node, exp.Is):
            is_null = isinstance(node.expression, exp.Null)
            return SensitiveTest(column.name, "is_null") if is_null else None
        self.only_arguments(node, {"this", "expressions"})
        if not _constants(node.expressions):
            return None
        values = tuple(self._constant(column, value, "in") for value in node.expressions)
        return SensitiveTest(column.name, "in", values)

    def _sensitive_comparison(self, comparison: str, node: exp.Expr) -> Formula | None:
        left, right = self.sensitive_column(node.this), self.sensitive_column(node.expression)
        if left and right:
            refuse("Two sensitive columns cannot be compared with each other.")
        column = left or right
        if column is None:
            return None
        other = node.expression if left else node.this
        if not _constants([other]) and not any(self.columns_in(other)):
            return None
        swapped = SWAPPED.get(comparison, comparison)
        return self._test(column, comparison if left else swapped, (other,))

    def _alphabetical(self, column: PublishedColumn) -> bool:
        """Whether the values are texts without an order of their own."""
        return self.columns.kind(column) == TEXT and self.columns.ordered_domain(column) is None

    def _test(
        self, column: PublishedColumn, comparison: str, nodes: Sequence[exp.Expr]
    ) -> Formula | None:
        classes = self.columns.classes(column)
        numbers = [self._number(node) for node in nodes] if classes else [None]
        if classes and all(number is not None for number in numbers):
            labels = self.columns.ordered_domain(column) or ()
            asked = [float(number) for number in numbers if number is not None]
            matching = matching_classes(column.name, classes, labels, comparison, asked)
            return SensitiveTest(column.name, "in", matching)
        if comparison not in ("equal", "unequal") and self._alphabetical(column):
            return None
        values = tuple(self._constant(column, node, comparison) for node in nodes)
        if comparison in ("equal", "unequal"):
            return SensitiveTest(column.name, "in" if comparison == "equal" else "not_in", values)
        return self._ordered(column, comparison, values)

    def _number(self, node: exp.Expr) -> float | None:
        """The number that a node is; None if it is something else."""
        number = self.expression(node)
        return number.value if isinstance(number, Constant) and number.kind == NUMBER else None

    def _ordered(
        self, column: PublishedColumn, comparison: str, values: tuple[Any, ...]
    ) -> Formula:
        domain = self.columns.ordered_domain(column)
        if domain is None:
            refuse(
                f"Column {column.name!r} is sensitive and its values have no order.",
                "It supports =, <>, IN, NOT IN, IS NULL and GROUP BY.",
            )
        if isinstance(values[0], str):
            for value in values:
                if value not in domain:
                    listed = ", ".join(repr(known) for known in domain[:12])
                    refuse(f"{value!r} is not a class of {column.name!r}.", f"Available: {listed}.")
        return SensitiveTest(column.name, comparison, values)

    def _constant(self, column: PublishedColumn, node: exp.Expr, comparison: str) -> Any:
        constant = self.expression(node)
        if not isinstance(constant, Constant):
            refuse(
                f"Column {column.name!r} is sensitive and can be compared with constants only, "
                f"not with {excerpt(node)}."
            )
        if constant.value is None:
            refuse("Comparing with NULL is never true; write IS NULL.", "")
        self.columns.check_asked(column, comparison, constant.value)
        return as_kind(constant.value, self.columns.kind(column), f"Column {column.name!r}")


def _constants(nodes: Sequence[exp.Expr]) -> bool:
    """Whether all of these are written as constants."""
    from sqlglot import exp

    plain = (exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Cast)
    return all(isinstance(node.unnest(), plain) for node in nodes)


class MeasureReader:
    """Reads the aggregates in SELECT, HAVING and ORDER BY as measures, and numbers them.

    A measure is a count, a sum, an average, or a ratio of two of them times a constant: shares
    within a group are ratios. Anything else that joins aggregates is `arithmetic`.
    """

    def __init__(self, translator: Translator, where: Formula) -> None:
        self._translator = translator
        self._where = where
        self._measures: list[Measure] = []
        # Reads what sums over groups are partitioned by.
        self.key: Callable[[exp.Expr], GroupKey] = _no_key

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All measures so far."""
        return tuple(self._measures)

    def is_measure(self, node: exp.Expr) -> bool:
        """Whether the node contains an aggregate."""
        from sqlglot import exp

        return node.find(exp.AggFunc) is not None

    def number(self, node: exp.Expr) -> int:
        """The number of this measure."""
        measure = self.measure(node)
        if measure not in self._measures:
            self._measures.append(measure)
        return self._measures.index(measure)

    @reads_node
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
        comparison = COMPARISONS.get(type(inner).__name__)
        if comparison is not None:
            left, right = resolved(inner.this), resolved(inner.expression)
            if self.is_measure(left) and not self.is_measure(right):
                return MeasureTest(self.number(left), comparison, self.constant(right))
            if self.is_measure(right) and not self.is_measure(left):
                swapped = SWAPPED.get(comparison, comparison)
                return MeasureTest(self.number(right), swapped, self.constant(left))
        return refuse(
            f"HAVING {excerpt(inner)} is not supported.",
            "HAVING compares aggregates with constants; conditions on columns go into WHERE.",
        )

    def constant(self, node: exp.Expr) -> float:
        """A number."""
        constant = self._translator.expression(node)
        if not isinstance(constant, Constant) or constant.kind != NUMBER:
            refuse(f"{excerpt(node)} is used where a number is expected.", "")
        return float(constant.value)

    @reads_node
    def measure(self, node: exp.Expr) -> Measure:
        """What a node with aggregates measures."""
        from sqlglot import exp

        inner = node.unnest()
        if isinstance(inner, exp.Cast) and inner.to.this.name in ("DOUBLE", "FLOAT", "DECIMAL"):
            return self.measure(inner.this)
        plain = isinstance(inner, exp.AggFunc | exp.Filter)
        if not plain and is_arithmetic(inner, self):
            return arithmetic_of(inner, self)
        if isinstance(inner, exp.Mul | exp.Div):
            return self._product(inner)
        if isinstance(inner, exp.Filter):
            condition = self._translator.formula(inner.expression.this)
            return self._aggregate(inner.this, AllOf((self._where, condition)))
        return self._aggregate(inner, self._where)

    def _product(self, node: exp.Expr) -> Measure:
        from sqlglot import exp

        left, right = node.this, node.expression
        times = isinstance(node, exp.Mul)
        if not self.is_measure(left):
            return _scaled(self.measure(right), self.constant(left))
        if self.is_measure(right):
            return self._ratio(left, right, node)
        number = self.constant(right)
        if not times and number == 0:
            refuse("Division by zero.", "")
        return _scaled(self.measure(left), number if times else 1 / number)

    def _ratio(self, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> Measure:
        top, bottom = self.measure(left), self.measure(right)
        if top.listing is not None or bottom.listing is not None:
            refuse(f"{excerpt(node)} is not supported.", _AGGREGATES)
        both = (top, bottom)
        if any(m.denominator is not None or m.arithmetic is not None for m in both):
            operands = (as_operand(top), as_operand(bottom))
            return measure_of(Arithmetic("divide", operands), node)
        return Measure(top.numerator, bottom.numerator, top.factor / bottom.factor)

    def _aggregate(self, node: exp.Expr, condition: Formula) -> Measure:
        from sqlglot import exp

        if node.this is None:
            refuse(f"{excerpt(node)} has no argument; count(*) counts rows.", _AGGREGATES)
        if isinstance(node, exp.Min | exp.Max) or isinstance(node.this, exp.Distinct):
            from countveil.sql.query.forms.listings import listing_of

            return Measure(
                Aggregate(None, condition), listing=listing_of(self._translator, node, condition)
            )
        if not isinstance(node, exp.Count | exp.Sum | exp.Avg):
            window = "ORDER BY and LIMIT rank groups." if isinstance(node, exp.Window) else ""
            refuse(f"{excerpt(node)} is not supported.", window or _AGGREGATES)
        if isinstance(node, exp.Count):
            if node.expressions:
                refuse(f"{excerpt(node)} is not supported.", _AGGREGATES)
            if isinstance(node.this, exp.Star):
                if any(node.this.args.values()):
                    refuse(f"{excerpt(node)} is not supported.", _AGGREGATES)
                return Measure(Aggregate(None, condition))
            return Measure(Aggregate(None, AllOf((condition, self._known(node.this)))))
        measured = self._translator.sensitive_column(node.this)
        if measured is not None and self._translator.columns.has_numbers(measured):
            known = AllOf((condition, self._known(node.this)))
            total = Aggregate(None, known, measured.name)
            return Measure(total, Aggregate(None, known) if isinstance(node, exp.Avg) else None)
        argument = self._translator.expression(node.this)
        if argument.kind != NUMBER:
            refuse(
                f"{excerpt(node)} needs numbers, but {excerpt(node.this)} is {argument.kind}.", ""
            )
        known = AllOf((condition, self._known(node.this)))
        total = Aggregate(argument, known)
        return Measure(total, Aggregate(None, known) if isinstance(node, exp.Avg) else None)

    def _known(self, node: exp.Expr) -> Formula:
        """The condition that the argument is not missing."""
        sensitive = self._translator.sensitive_column(node)
        if sensitive is not None:
            return Not(SensitiveTest(sensitive.name, "is_null"))
        argument = self._translator.expression(node)
        if isinstance(argument, Constant):
            return FALSE if argument.value is None else TRUE
        return Plain(Operation("not", (Operation("is_null", (argument,), BOOLEAN),), BOOLEAN))


def _no_key(node: exp.Expr) -> GroupKey:
    return refuse(f"{excerpt(node)} is not grouped by.", "")


def _scaled(measure: Measure, factor: float) -> Measure:
    return replace(measure, factor=measure.factor * factor)
