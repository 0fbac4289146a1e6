"""A question about rows -> the same question about what the rows stand for: survey weights.

Enters: a question, the weight column. Leaves: a question in which every row counts with its weight.
Must not know: SQL text, engines, estimators.

A count becomes a sum of weights, a sum a sum of weight times argument, an average the ratio of the
two; so shares and averages are weighted too, and every engine answers them as any other sum.
"""

from __future__ import annotations

from dataclasses import replace

from countveil.errors import SettingsError
from countveil.release.values import NUMBER
from countveil.sql.query.arithmetic import with_aggregates
from countveil.sql.query.expressions import ColumnReference, Expression, Operation
from countveil.sql.query.question import Aggregate, Question


def weighted(question: Question, column: str | None) -> Question:
    """Every row counts with its value in this column."""
    if column is None:
        raise SettingsError(
            "This release has no survey weights: its publisher named no weight column. Ask "
            "without weights; sum(COLUMN) sums a column of your choice."
        )
    # As a number with a fraction: products of whole numbers could become too large.
    weight = Operation("to_number", (ColumnReference(column, NUMBER),), NUMBER)
    measures = tuple(
        with_aggregates(measure, lambda aggregate: _weighted(aggregate, weight))
        for measure in question.measures
    )
    return replace(question, measures=measures)


def _weighted(aggregate: Aggregate, weight: Expression) -> Aggregate:
    if aggregate.argument is None:
        return replace(aggregate, argument=weight)
    product = Operation("multiply", (aggregate.argument, weight), NUMBER)
    return replace(aggregate, argument=product)


def unweighted(top: Expression | None, bottom: Expression) -> Expression | None:
    """What is averaged with a weight, if top over bottom is that."""
    if isinstance(top, Operation) and top.name == "multiply" and top.operands[1] == bottom:
        return top.operands[0]
    return None
