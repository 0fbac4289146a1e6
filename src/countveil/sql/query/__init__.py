"""From SQL text to what must be tallied. No text that an analyst wrote is ever executed.

Enters: SQL text and the release's columns. Leaves: a `Question` and a `TallyPlan` made of plain
values, from which an engine builds its statement. Must not know: any engine, any data, any
estimator.

    parse -> translate (formulas, measures) -> scalars (expressions)      text to a `Question`
    plan                                                                  a `Question` to a tally
"""

from countveil.sql.query.expressions import as_condition, split_conjunction
from countveil.sql.query.parse import parse_question, parse_where
from countveil.sql.query.plan import Tally, TallyPlan, TallyResult, plan_question
from countveil.sql.query.question import Question
from countveil.sql.query.release_columns import ReleaseColumns

__all__ = [
    "Question",
    "ReleaseColumns",
    "Tally",
    "TallyPlan",
    "TallyResult",
    "as_condition",
    "parse_question",
    "parse_where",
    "plan_question",
    "split_conjunction",
]
