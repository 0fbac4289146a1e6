"""Calls that wait for a database, made so that Ctrl-C ends them.

Enters: calls that block, and how to cut one short. Leaves: their results. Must not know: whom they
ask. Python hears of a signal only between two of its own steps; so the calls are made in a thread,
and the caller waits where it can be interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

_PATIENCE_SECONDS = 3.0
_TICK_SECONDS = 0.1


class Waiting(Generic[Result]):
    """A call that has begun. Its thread does not keep a process that ends from ending."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._done = threading.Event()
        self._found: list[Result] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="countveil-waiting", daemon=True).start()

    def result(self) -> Result:
        """What the call gave, or raised."""
        # Another thread may be the one that gets the signal, and would not wake this one.
        while not self._done.wait(_TICK_SECONDS):
            pass
        if self._error is not None:
            raise self._error
        return self._found[0]

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether it came to its end, within so many seconds from now."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._error = error
        finally:
            self._done.set()


class Conversation:
    """Calls to one connection, one after the other, each of which can be cut short."""

    def __init__(self, cut_short: Callable[[], object]) -> None:
        self._cut_short = cut_short
        self._begun: Waiting[Any] | None = None

    def wait(self, call: Callable[[], Result]) -> Result:
        """What the call gives."""
        return self._begin(call).result()

    def each(self, fetch: Callable[[], Result]) -> Iterator[Result]:
        """What `fetch` gives until it raises StopIteration; the next is fetched meanwhile."""
        begun = self._begin(fetch)
        while True:
            try:
                found = begun.result()
            except StopIteration:
                return
            begun = self._begin(fetch)
            yield found

    def end(self) -> bool:
        """Cut short what still runs. False if it goes on: what it uses cannot be closed then."""
        if self._begun is None or self._begun.is_over():
            return True
        self._cut_short()
        return self._begun.is_over(_PATIENCE_SECONDS)

    def _begin(self, call: Callable[[], Result]) -> Waiting[Result]:
        begun = Waiting(call)
        self._begun = begun
        return begun
