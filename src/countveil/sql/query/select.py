"""Whether a text is one SELECT, and can be read at all.

Enters: SQL text, that of the publisher with its dialect. Leaves: nothing, or an error. Must not
know: the database, which runs the publisher's text later in a read-only transaction. `check_select`
makes sure that it is a single statement.
"""

from __future__ import annotations

import logging
import re

from countveil.errors import QueryError, option
from countveil.sql.query.functions import SUPPORTED

LONGEST_QUERY = 20_000
MOST_BRACKETS = 40
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def check_readable(text: str) -> None:
    """Refuse what sqlglot would read for minutes: its time rises with the square of brackets."""
    if len(text) > LONGEST_QUERY:
        raise QueryError(
            f"The query has {len(text):,} characters; at most {LONGEST_QUERY:,} are read."
        )
    if text.count("[") > MOST_BRACKETS and _QUOTED.sub("", text).count("[") > MOST_BRACKETS:
        raise QueryError(f"The query has more than {MOST_BRACKETS} square brackets. {SUPPORTED}")


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
