"""sqlglot's nodes -> formulas, with the tests of sensitive columns taken out.

Enters: parsed boolean nodes. Leaves: formulas. Must not know: engines. What does not touch a
sensitive column is an expression, and read by `ScalarReader`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, NUMBER
from countveil.sql.query.classes import matching_classes
from countveil.sql.query.expressions import (
    AllOf,
    AnyOf,
    Constant,
    Formula,
    Not,
    Plain,
    SensitiveTest,
)
from countveil.sql.query.release_columns import as_kind
from countveil.sql.query.scalars import COMPARISONS, MISSING, ScalarReader, chain, refuse, shown

if TYPE_CHECKING:
    from sqlglot import exp

SWAPPED = {
    "less": "greater", "at_most": "at_least", "greater": "less", "at_least": "at_most",
}  # fmt: skip
_DEEPEST = 60


class Translator(ScalarReader):
    """Reads expressions and formulas of one query."""

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
        test = self._sensitive_test(inner)
        if test is not None:
            return test
        condition = self.expression(inner, depth + 1)
        if condition.kind not in (BOOLEAN, MISSING):
            refuse(f"{shown(inner)} stands where a condition is expected.")
        return Plain(condition)

    def _sensitive_test(self, node: exp.Expr) -> Formula | None:
        """The test of a sensitive column that a node is; None if it does not touch one."""
        from sqlglot import exp

        word = COMPARISONS.get(type(node).__name__)
        if word is not None:
            return self._sensitive_comparison(word, node)
        if not isinstance(node, exp.Is | exp.In | exp.Between):
            return None
        column = self.sensitive_column(node.this)
        if column is None:
            return None
        if isinstance(node, exp.In):
            self.only_parts(node, {"this", "expressions"})
            values = tuple(self._constant(column, value) for value in node.expressions)
            return SensitiveTest(column.name, "in", values)
        if isinstance(node, exp.Between):
            ends = (node.args["low"], node.args["high"])
            return self._test(column, "between", ends)
        if not isinstance(node.expression, exp.Null):
            refuse(f"{shown(node)} is not supported; IS NULL is.")
        return SensitiveTest(column.name, "is_null")

    def _sensitive_comparison(self, word: str, node: exp.Expr) -> Formula | None:
        left, right = self.sensitive_column(node.this), self.sensitive_column(node.expression)
        if left and right:
            refuse("Two sensitive columns cannot be compared with each other.")
        column = left or right
        if column is None:
            return None
        other = node.expression if left else node.this
        return self._test(column, word if left else SWAPPED.get(word, word), (other,))

    def _test(self, column: PublishedColumn, word: str, nodes: Sequence[exp.Expr]) -> Formula:
        classes = self.columns.classes(column)
        numbers = [self._number(node) for node in nodes] if classes else [None]
        if classes and all(number is not None for number in numbers):
            labels = self.columns.ordered_domain(column) or ()
            asked = [float(number) for number in numbers if number is not None]
            found = matching_classes(column.name, classes, labels, word, asked)
            return SensitiveTest(column.name, "in", found)
        values = tuple(self._constant(column, node) for node in nodes)
        if word in ("equal", "unequal"):
            return SensitiveTest(column.name, "in" if word == "equal" else "not_in", values)
        return self._ordered(column, word, values)

    def _number(self, node: exp.Expr) -> float | None:
        """The number that a node is; None if it is something else."""
        found = self.expression(node)
        return found.value if isinstance(found, Constant) and found.kind == NUMBER else None

    def _ordered(self, column: PublishedColumn, word: str, values: tuple[Any, ...]) -> Formula:
        domain = self.columns.ordered_domain(column)
        if domain is None:
            refuse(
                f"Column {column.name!r} is sensitive and its values have no order.",
                "On it, supported are =, <>, IN, NOT IN, IS NULL and GROUP BY.",
            )
        if isinstance(values[0], str):
            for value in values:
                if value not in domain:
                    listed = ", ".join(repr(known) for known in domain[:12])
                    refuse(f"{value!r} is not a class of {column.name!r}.", f"There are: {listed}.")
        return SensitiveTest(column.name, word, values)

    def _constant(self, column: PublishedColumn, node: exp.Expr) -> Any:
        found = self.expression(node)
        if not isinstance(found, Constant):
            refuse(
                f"Column {column.name!r} is sensitive and can be compared with constants only, "
                f"not with {shown(node)}."
            )
        if found.value is None:
            refuse("Comparing with NULL is never true; write IS NULL.", "")
        return as_kind(found.value, self.columns.kind(column), f"Column {column.name!r}")
