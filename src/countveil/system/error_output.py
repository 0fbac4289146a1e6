"""What libraries print by themselves, made harmless before a terminal gets it.

Enters: a function that makes text harmless. Leaves: the same lines, through it. Must not know:
which library prints, and what. A library of C writes to the error output of the process, past
Python: a server's remarks, for instance, with whatever characters it likes.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator

_ERROR_OUTPUT = 2


@contextlib.contextmanager
def harmless_error_output(harmless: Callable[[str], str]) -> Iterator[None]:
    """While it lasts, what is written past Python goes through `harmless`, line by line."""
    try:
        real = os.dup(_ERROR_OUTPUT)
    except OSError:
        # There is none.
        yield
        return
    reading, writing = os.pipe()
    before = sys.stderr
    ours = os.fdopen(os.dup(real), "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    passing = threading.Thread(
        target=_pass_on, args=(reading, ours, harmless), name="countveil-errors", daemon=True
    )
    try:
        os.dup2(writing, _ERROR_OUTPUT)
        os.close(writing)
        # What Python prints is harmless already, and may be a bar that moves.
        sys.stderr = ours
        passing.start()
        yield
    finally:
        # The last end of the pipe is closed, so the thread ends.
        os.dup2(real, _ERROR_OUTPUT)
        os.close(real)
        passing.join(1.0)
        sys.stderr = before
        with contextlib.suppress(OSError, ValueError):
            ours.close()


def _pass_on(reading: int, output: io.TextIOBase, harmless: Callable[[str], str]) -> None:
    with os.fdopen(reading, "r", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            with contextlib.suppress(OSError, ValueError):
                output.write(harmless(line))
