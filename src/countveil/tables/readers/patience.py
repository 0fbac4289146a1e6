"""Patience for a database: what is waited for, and for how long.

Enters: what is read, a number of seconds, where progress is shown. Leaves: a word to whoever looks,
or an `InputError` when the time is over. Must not know: any database. A view may compute for ever,
or never run out of rows; nothing in the file says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypeVar

from countveil.display import Progress
from countveil.errors import InputError, option
from countveil.tables import DatabaseSource
from countveil.tables.progress import WAITING

Batch = TypeVar("Batch")

_BETWEEN_WORDS = 0.2


class Patience:
    """Is asked now and then while a table of a database is read."""

    def __init__(
        self, source: DatabaseSource, timeout: float | None, progress: Progress | None
    ) -> None:
        self._what = _described(source)
        self._timeout, self._progress = timeout, progress
        self._start = self._said = time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether it took too long."""
        return self._timeout is not None and time.monotonic() - self._start > self._timeout

    def tick(self) -> None:
        """Say what is waited for; InputError if it took too long."""
        now = time.monotonic()
        if self._progress is not None and now - self._said > _BETWEEN_WORDS:
            self._said = now
            self._progress(f"{WAITING}{self._what}", 0, 0)
        self.check()

    def checked(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The same, as long as there is time."""
        for batch in batches:
            self.check()
            yield batch

    def check(self) -> None:
        """InputError if it took too long."""
        if self.is_over:
            raise InputError(
                f"Reading {self._what} took more than {self._timeout:g} seconds, the limit of "
                f"{option('timeout')}. A view may compute for ever, or have no last row. Allow "
                f"more seconds, or ask for less with {option('query')}."
            )


def _described(source: DatabaseSource) -> str:
    if source.query is not None:
        return f"a query on {source.place}"
    table = ".".join(source.table)
    return f"{table} of {source.place}" if table else f"the table of {source.place}"
