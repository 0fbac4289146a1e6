"""Answers without countveil: weighted sums in plain SQL.

Enters: a planned question and the channels of its sensitive columns. Leaves: one SELECT that any
database answers. Must not know: rows, engines.
"""

from countveil.asking.portable.asked import plain_sql

__all__ = ["plain_sql"]
