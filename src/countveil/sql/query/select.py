"""Whether a text is one SELECT.

Enters: SQL text of the publisher, and its dialect. Leaves: nothing, or an error. Must not know: the
database, which runs the text later in a read-only transaction. This check makes sure that it is a
single statement.
"""

from __future__ import annotations

import logging

from countveil.errors import QueryError, option


def check_select(text: str, dialect: str) -> None:
    """Refuse what is not exactly one SELECT (or a UNION of them, or a WITH)."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        logging.getLogger("sqlglot").disabled = True
        statements = [s for s in sqlglot.parse(text, read=dialect) if s is not None]
    except (SqlglotError, RecursionError):
        raise QueryError(f"{option('query')} is not readable SQL; one SELECT is needed.") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError(f"{option('query')} must be one SELECT.")
    writes = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Into)
    if any(statements[0].find_all(*writes)):
        raise QueryError(f"{option('query')} must be one SELECT; it may only read.")
