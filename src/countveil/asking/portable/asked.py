"""A question -> its plain SQL, or why there is none.

Enters: a question, and the channels of its columns. Leaves: text. Must not know: rows, engines.
"""

from __future__ import annotations

from collections.abc import Callable

from countveil.asking.answer import Channels
from countveil.asking.portable.sql_text import portable_sql
from countveil.errors import QueryError, SettingsError
from countveil.sql.dialects import DIALECTS, dialect_for
from countveil.sql.dialects.literals import table_text
from countveil.sql.query import Question, ReleaseColumns, TallyPlan, plan_question
from countveil.sql.query.plan import is_composed


def plain_sql(
    question: Question,
    columns: ReleaseColumns,
    channels_of: Callable[[TallyPlan], Channels],
    note_unlisted: Callable[[TallyPlan], object],
    dialect: str,
    table: str,
) -> str:
    """One SELECT in a dialect, about a table with the release's rows."""
    if dialect not in DIALECTS:
        listed = ", ".join(DIALECTS)
        raise SettingsError(f"There is no dialect {dialect!r}. Available: {listed}.")
    if is_composed(question):
        raise QueryError(
            "There is no plain SQL for groups by an expression of a sensitive column, for grouping "
            "sets, count(DISTINCT x), min and max. 'countveil query' answers the question."
        )
    plan = plan_question(question, columns)
    note_unlisted(plan)
    channels = channels_of(plan)
    if channels.in_batches:
        raise QueryError(
            "Values of this release were drawn in several batches, each with weights of its "
            "own, and there is no plain SQL for them. 'countveil query' answers the question."
        )
    if channels.joined and any(view.design_effect > 1 for view in channels.views):
        raise QueryError(
            "Persons have several rows in this release, and there is no plain SQL for columns "
            "that were published together then. 'countveil query' answers the question."
        )
    if channels.joined and not plan.tally.axes:
        # Shorter, and equal: only what the question is about.
        plan = plan_question(question, columns, only_asked=True)
        channels = channels_of(plan)
    written = dialect_for(dialect, columns.published)
    return portable_sql(question, plan, channels, written, table_text(table))
