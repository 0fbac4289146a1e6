"""What this process has of its machine: cores, with work in threads on them, and memory.

Enters: a function and its arguments, one after the other. Leaves: the results, in that order;
bytes of memory that are free. Must not know: what is done. Arguments are taken, results handed over
and progress reported in the caller's thread, so that what must happen in order does.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from countveil.system import offers

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_WORKERS = 8
_TICK_SECONDS = 0.1
_UNKNOWN = 4 * 10**9


def worker_count() -> int:
    """How many threads are worth having."""
    # Not every system can say which cores this process may use.
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed is not None else os.cpu_count() or 1
    return max(1, min(_MOST_WORKERS, cores))


def available_memory() -> int:
    """Free memory of the machine, or of the container if it has less; in bytes."""
    limits = [limit for find in (_linux_memory, _container_memory) if (limit := find()) is not None]
    if not limits:
        limits = [limit for find in (_windows_memory, _half_of_all) if (limit := find())][:1]
    return min(limits, default=_UNKNOWN)


def _linux_memory() -> int | None:
    try:
        line = re.search(
            r"MemAvailable:\s+(\d+) kB", offers.MEMORY_FILE.read_text(encoding="ascii")
        )
    except (OSError, ValueError):
        return None
    return None if line is None else int(line[1]) * 1024


def _container_memory() -> int | None:
    try:
        limit, used = (
            (offers.CONTAINER_FOLDER / name).read_text(encoding="ascii").strip()
            for name in ("memory.max", "memory.current")
        )
        return int(limit) - int(used) if limit.isdigit() else None
    except (OSError, ValueError):
        return None


def _windows_memory() -> int | None:
    """What `GlobalMemoryStatusEx` says is free: the second of seven numbers after the load."""
    try:
        import ctypes

        class Status(ctypes.Structure):
            _fields_ = (
                ("length", ctypes.c_uint32),
                ("load", ctypes.c_uint32),
                ("all", ctypes.c_uint64),
                ("free", ctypes.c_uint64),
                ("others", ctypes.c_uint64 * 5),
            )

        library: Any = getattr(ctypes, "windll", None)
        status = Status(length=ctypes.sizeof(Status))
        if library is None or not library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return None
    except (ImportError, OSError):
        return None
    return int(status.free)


def _half_of_all() -> int | None:
    """Where nothing says what is free (macOS): half of what the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return None


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    tick: Callable[[], None] | None = None,
    at_end: Callable[[], None] | None = None,
    workers: int | None = None,
) -> Iterator[Result]:
    """Do the work for every item in threads; `tick` is called about ten times a second.

    There are as many threads as cores, or `workers`: one does item after item, ahead of the caller.

    `at_end` is called as soon as everything is done, or given up: long work can then stop early.

    Few items are begun ahead of the results handed over, so that memory stays bounded. When the
    caller stops early, or is interrupted, nothing new begins and running work is waited for.
    """
    pending: deque[Future[Result]] = deque()
    workers = workers or worker_count()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="countveil")
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > workers:
                yield _first(pending, tick)
        while pending:
            yield _first(pending, tick)
    finally:
        if at_end is not None:
            at_end()
        pool.shutdown(wait=True, cancel_futures=True)


def _first(pending: deque[Future[Result]], tick: Callable[[], None] | None) -> Result:
    first = pending.popleft()
    while not wait([first], _TICK_SECONDS).done:
        if tick is not None:
            tick()
    if tick is not None:
        tick()
    return first.result()


def interrupt_this_process() -> None:
    """What Ctrl-C does, from a thread of this process."""
    if offers.SENDS_SIGNALS:
        os.kill(os.getpid(), signal.SIGINT)
        return
    import _thread

    _thread.interrupt_main()


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer Ctrl-C and termination during the few system calls that must stay together.

    Masking signals is not enough: a thread of Arrow or NumPy still receives them, and Python then
    runs the handler in the main thread. So the handlers only record them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred: list[int] = []
    before = {number: signal.getsignal(number) for number in offers.STOP_SIGNALS}
    try:
        for number in before:
            signal.signal(number, lambda received, _frame: deferred.append(received))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if deferred:
            signal.raise_signal(deferred[0])


class Turns:
    """Lets threads do one step of their work one by one, in the order of their numbers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0
        self._error: BaseException | None = None

    @contextlib.contextmanager
    def turn(self, number: int) -> Iterator[None]:
        """The step itself, once all with smaller numbers have done it."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number or self._error is not None)
            if self._error is not None:
                raise self._error
        yield
        with self._changed:
            self._next += 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Work with such a step in it: if it fails, so does every thread that waits for it."""
        try:
            yield
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
                self._changed.notify_all()
            raise
