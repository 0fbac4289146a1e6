"""The command without the second it takes to start: for tests that run it many times.

Reads one JSON list per line, a folder to be in and then the arguments, and answers each with its
exit code, what it printed and the processor time it took. Every command runs in a forked child,
from the real entry point on, so nothing carries over from one to the next; only the imports are
already done.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import sys
import tempfile
from typing import BinaryIO

import countveil as cv
import countveil.cli.entry
from countveil.cli.app import parser


def main() -> None:
    """Serve until the input ends."""
    warm_up()
    for line in sys.stdin:
        folder, *words = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            pid = os.fork()
            if pid == 0:
                os.chdir(folder)
                _run(words, out, err)
            _, status, used = os.wait4(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        sys.stdout.write(json.dumps([code, *texts, used.ru_utime + used.ru_stime]) + "\n")
        sys.stdout.flush()


def warm_up() -> None:
    """Import whatever a command may want, and start no thread, so that a fork is safe."""
    for module in pkgutil.walk_packages(cv.__path__, "countveil."):
        importlib.import_module(module.name)
    for name in ("duckdb", "pandas", "pyarrow.feather", "pyarrow.parquet", "rich.console",
                 "rich.table", "sqlglot.dialects.duckdb", "sqlglot.generators.duckdb"):  # fmt: skip
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.suppress(cv.CountveilError):
        parser()(["show", os.devnull], standalone_mode=False)
    # What turns words into values is made when a command is first read: a third of a short one.
    group = parser()
    for name, command in getattr(group, "commands", {}).items():
        command.make_context(name, [], resilient_parsing=True)
    gc.freeze()


def _run(words: list[str], out: BinaryIO, err: BinaryIO) -> None:
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.argv = ["countveil", *words]
    code: object = 99
    try:
        countveil.cli.entry.main()
    except SystemExit as end:
        code = end.code
    finally:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        # Without the interpreter's own clean-up: the parent's objects are not the child's.
        os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
    # A process that has forked while Arrow's threads ran may stumble over them at its end.
    os._exit(0)
