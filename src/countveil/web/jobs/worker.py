"""The process of one job.

Enters: the name of a task, its arguments, a connection to the app. Leaves: messages on it:
progress, parts of the result as they come to be, and the result or what went wrong. Must not
know: any task.

When the app asks for it, or is gone, the task is interrupted as Ctrl-C would, and cleans up.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections.abc import Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, NoReturn

from countveil.system.offers import STOP_SIGNALS
from countveil.system.process import interrupt_this_process

STOP = "stop"
# Kinds of messages.
PROGRESS, PART, RESULT, ERROR, STOPPED = "progress", "part", "result", "error", "stopped"


class Reporter:
    """How a task reports to the page that waits for it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.stopping = threading.Event()

    def progress(self, stage: str, done: int, total: int) -> None:
        """A stage, the rows done and the rows in all; here a task ends that must stop."""
        if self.stopping.is_set():
            raise KeyboardInterrupt
        self.send(PROGRESS, (stage, done, total))

    def part(self, value: Any) -> None:
        """A part of the result that can be shown already."""
        self.send(PART, value)

    def send(self, kind: str, content: Any) -> None:
        """A message to the app; if that is gone, nobody is told."""
        with self._lock, contextlib.suppress(OSError):
            self._connection.send((kind, content))


def run(
    connection: Connection,
    task: str,
    arguments: Mapping[str, Any],
    secrets: Mapping[str, str] | None = None,
) -> None:
    """Do one task: `module:function`, called with its arguments and `reporter`."""
    from countveil import errors

    os.environ.update(secrets or {})
    # The app's own Ctrl-C reaches this process too, which is the same as being stopped.
    for number in STOP_SIGNALS:
        signal.signal(number, _interrupt)
    errors.reader = "command line"
    reporter = Reporter(connection)
    threading.Thread(target=_listen, args=(connection, reporter), daemon=True).start()
    kind, content = _outcome(task, arguments, reporter)
    reporter.send(kind, content)
    # As with the command: all that was to be done is done, so nothing is unloaded. The connection
    # is left open: closing it would look like the end of the app to the thread that listens.
    os._exit(0)


def _outcome(task: str, arguments: Mapping[str, Any], reporter: Reporter) -> tuple[str, Any]:
    from countveil.errors import CountveilError

    module, _, name = task.partition(":")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            result = getattr(import_module(module), name)(reporter=reporter, **arguments)
        said = [str(each.message) for each in caught if each.category is UserWarning]
    except BaseException as error:  # noqa: BLE001 - libraries turn an interrupt into other errors
        if reporter.stopping.is_set() or isinstance(error, KeyboardInterrupt):
            return STOPPED, None
        if isinstance(error, CountveilError):
            return ERROR, (str(error), list(error.ways))
        # The text of a foreign error may quote values of the table.
        return ERROR, (f"This failed in a way it should not ({type(error).__name__}).", [])
    return RESULT, (result, said)


def _listen(connection: Connection, reporter: Reporter) -> None:
    """Stop the task when the app says so, or ends."""
    with contextlib.suppress(EOFError, OSError):
        connection.recv()
    reporter.stopping.set()
    interrupt_this_process()


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    # A second one must not disturb the clean-up after the first.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
