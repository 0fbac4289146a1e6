"""Calls that wait for a database, made so that Ctrl-C ends them.

Enters: calls that block, and how to cut one short. Leaves: their results. Must not know: what they
ask for. Python handles a signal only between two of its own steps; so the calls are made in a
thread, and the caller waits where it can be interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

_PATIENCE_SECONDS = 3.0
_TICK_SECONDS = 0.1


class BackgroundCall(Generic[Result]):
    """A call that has begun, in a thread that does not keep the process alive."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._done = threading.Event()
        self._results: list[Result] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="countveil-call", daemon=True).start()

    def result(self, tick: Callable[[], object] | None = None) -> Result:
        """What the call gave, or raised; `tick` is called meanwhile, and may raise."""
        # Another thread may be the one that gets the signal, and would not wake this one.
        while not self._done.wait(_TICK_SECONDS):
            if tick is not None:
                tick()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def is_over(self, seconds: float = 0.0) -> bool:
        """Whether the call ends within this many seconds."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._error = error
        finally:
            self._done.set()


class InterruptibleCalls:
    """Calls to one connection, one after the other, each of which `cancel` ends early."""

    def __init__(
        self, cancel: Callable[[], object], tick: Callable[[], object] | None = None
    ) -> None:
        """`tick` is called while a call is waited for; if it raises, the wait is over."""
        self._cancel, self._tick = cancel, tick
        self._begun: BackgroundCall[Any] | None = None

    def run(self, call: Callable[[], Result]) -> Result:
        """What the call gives."""
        return self._begin(call).result(self._tick)

    def each(self, fetch: Callable[[], Result]) -> Iterator[Result]:
        """What `fetch` gives until it raises StopIteration; the next is fetched meanwhile."""
        begun = self._begin(fetch)
        while True:
            try:
                result = begun.result(self._tick)
            except StopIteration:
                return
            begun = self._begin(fetch)
            yield result

    def end(self) -> bool:
        """Cancel what still runs. False if it keeps running: what it uses cannot be closed then."""
        if self._begun is None or self._begun.is_over():
            return True
        self._cancel()
        return self._begun.is_over(_PATIENCE_SECONDS)

    def _begin(self, call: Callable[[], Result]) -> BackgroundCall[Result]:
        begun = BackgroundCall(call)
        self._begun = begun
        return begun
