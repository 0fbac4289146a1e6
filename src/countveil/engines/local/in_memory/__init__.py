"""A release that is queried often, kept in memory as codes. Start at `release`.

Enters: a connection with the view `release`; later, tallies. Leaves: counts. Must not know: SQL
that anybody wrote, estimators. `columns` reads a column as codes, `masks` evaluates conditions.
"""


class NotInMemoryError(Exception):
    """Codes do not decide this; the files do."""
