"""Reading a large release into memory while questions are answered from its files.

Enters: what reads it. Leaves: the release in memory, once it is there. Must not know: what is
asked.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from countveil.engines.local.in_memory import NotInMemoryError
from countveil.engines.local.in_memory.columns import Batches
from countveil.engines.local.in_memory.release import InMemoryRelease


class Loading:
    """A release that is being read; it stops soon when Python ends."""

    def __init__(self, read: Callable[[Batches], InMemoryRelease], batches: Batches) -> None:
        self._read, self._batches = read, batches
        self._stopped = threading.Event()
        self._release: InMemoryRelease | None = None
        self._thread = threading.Thread(target=self._run, name="countveil-loading", daemon=True)
        atexit.register(self._stop)
        self._thread.start()

    def finished(self, *, wait: bool) -> bool:
        """Whether it has come to an end."""
        if wait:
            self._thread.join()
        return not self._thread.is_alive()

    @property
    def release(self) -> InMemoryRelease | None:
        """The release in memory; None if it is not there yet, or does not fit."""
        return self._release

    def _run(self) -> None:
        # Whatever goes wrong here, a question to the files explains it.
        with contextlib.suppress(Exception):
            self._release = self._read(self._until_stopped)
        atexit.unregister(self._stop)

    def _until_stopped(self, name: str) -> Iterator[pa.Array[Any]]:
        for batch in self._batches(name):
            if self._stopped.is_set():
                raise NotInMemoryError
            yield batch

    def _stop(self) -> None:
        """No thread may be at work when the libraries under it are taken down."""
        self._stopped.set()
        self._thread.join()
