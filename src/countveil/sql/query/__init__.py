"""From SQL text to what must be tallied. Nothing the analyst wrote is ever executed.

Enters: SQL text and the release's columns. Leaves: a `Question` and a `Plan` made of our own values
only, from which an engine builds its own statement. Must not know: any engine, any data, any
estimator.
"""

from countveil.sql.query.conditions import ConditionReader
from countveil.sql.query.formulas import as_condition, split
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.sql.query.parse import parse_question, parse_where
from countveil.sql.query.plan import Plan, Tally, plan_question
from countveil.sql.query.question import Question

__all__ = [
    "ConditionReader",
    "Plan",
    "Question",
    "ReleaseColumns",
    "Tally",
    "as_condition",
    "parse_question",
    "parse_where",
    "plan_question",
    "split",
]
