"""From SQL text to what must be tallied. Nothing the analyst wrote is ever executed.

Enters: SQL text and the release's columns. Leaves: a `CountQuery` made of our own values only, from
which an engine builds its own statement. Must not know: any engine, any data, any estimator.
"""

from countveil.query.conditions import AllOf, Between, Compare, Condition, InList, IsNull
from countveil.query.names import ReleaseColumns
from countveil.query.parse import parse_count, parse_where
from countveil.query.plan import CountQuery, Tally, plan_count

__all__ = [
    "AllOf",
    "Between",
    "Compare",
    "Condition",
    "CountQuery",
    "InList",
    "IsNull",
    "ReleaseColumns",
    "Tally",
    "parse_count",
    "parse_where",
    "plan_count",
]
