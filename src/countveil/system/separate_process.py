"""Work that may abort, in a process of its own: whatever happens to it, ours goes on.

Enters: the name of a function that takes bytes and gives bytes, what it is given, the memory that
it may use. Leaves: what it gives; `WorkAbortedError` if its process ended in any other way. Must
not know: what the work is. Nothing is written to a disk: both ways go through pipes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

from countveil.system import offers

_CODE = (
    "import os, sys; sys.path[:] = os.environ.pop('COUNTVEIL_PATHS').split(os.pathsep); "
    "from countveil.system.separate_process import serve; serve()"
)


class WorkAbortedError(Exception):
    """The process ended without a result."""


def in_separate_process(function: str, given: bytes, most_bytes: int) -> bytes:
    """What `module:function` gives for these bytes, computed within so much memory."""
    environment = {**os.environ, "COUNTVEIL_PATHS": os.pathsep.join(sys.path)}
    done = subprocess.run(  # noqa: S603 - our own interpreter, and a function of ours
        [sys.executable, "-c", _CODE, function, str(most_bytes)],
        input=given,
        stdout=subprocess.PIPE,
        # A library that panics says so, with paths and perhaps values.
        stderr=subprocess.DEVNULL,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise WorkAbortedError
    return done.stdout


def serve() -> None:
    """What the new process does."""
    name, most_bytes = sys.argv[1:3]
    module, _, function = name.partition(":")
    work = cast("Callable[[bytes], bytes]", getattr(importlib.import_module(module), function))
    _limit_memory(int(most_bytes))
    result = work(sys.stdin.buffer.read())
    sys.stdout.buffer.write(result)
    sys.stdout.buffer.flush()


def _limit_memory(most_bytes: int) -> None:
    """Not more than so many bytes beside what is loaded already, where the system can do that."""
    resource: Any = offers.RESOURCE
    if resource is None:
        return
    with contextlib.suppress(OSError, ValueError):
        pages = int(offers.OWN_MEMORY_FILE.read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + most_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
