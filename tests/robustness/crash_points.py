"""Stops the command at its file operations, one after the other, and prints what is left.

    python -m tests.robustness.crash_points SIGNAL INPUT COL:ELL TARGET STEP [--force]
    COUNTVEIL_TEST_SYSTEM=windows python -m ...         on another system, simulated

Python announces each file operation to an audit hook before it happens. A forked child runs the
real entry point of the command and, at the n-th announcement after the draft was begun, gets the
signal; n grows by STEP until the command is done before its turn comes. A second thread lives in
the child: like those of Arrow and NumPy, it takes signals that the main thread holds back. One JSON
object per line: which operation it was, how the child ended, what lies in the target's parent
folder, and whether the target is a sound release and of how many rows.

The target's parent folder is emptied again and again; it has to be called `place`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
import countveil.cli.entry
from tests.robustness.warm_command import warm_up
from tests.system.other_systems import SYSTEMS

_WATCHED = ("os.", "shutil.", "fcntl.", "ctypes.", "tempfile.", "open")


def main() -> None:
    """Try every point."""
    name, source, sensitive, place, step, *options = sys.argv[1:]
    target = Path(place)
    if not target.is_absolute() or target.parent.name != "place":
        sys.exit("The target must be /.../place/NAME: whatever lies in that folder is deleted.")
    warm_up()
    old = target.parent.parent / "old"
    point, reached = 1, True
    while reached:
        shutil.rmtree(target.parent)
        target.parent.mkdir()
        if "--force" in options:
            shutil.copytree(old, target)
        words = ["countveil", "publish", source, "-s", sensitive, "--keep", "row", "--to", place]
        words += options
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _run(words, point, signal.Signals[name], writing, target.parent)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            operation = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        reached = bool(operation)
        end = {"operation": operation, "code": code, **_left(target)}
        sys.stdout.write(json.dumps(end) + "\n")
        sys.stdout.flush()
        point += int(step)


def _run(words: list[str], point: int, number: int, pipe: int, place: Path) -> None:
    sys.argv = words
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    seen = 0
    begun = False
    system = os.environ.get("COUNTVEIL_TEST_SYSTEM")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen, begun
        begun = begun or (event == "tempfile.mkdtemp" if system is None else event == "os.mkdir")
        if not begun or not event.startswith(_WATCHED):
            return
        if event == "open" and not str(arguments[0]).startswith(str(place)):
            return
        if system is not None and str(arguments[:1]).startswith("('/proc/self/fd"):
            # The simulation itself looks at what is open.
            return
        seen += 1
        if seen == point:
            os.write(pipe, f"{event} {arguments[:1]}".encode())
            os.kill(os.getpid(), number)
            # Until the other thread has been told.
            time.sleep(0.02)

    if system is not None:
        SYSTEMS[system](pytest.MonkeyPatch())
    sys.addaudithook(hook)
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        os.dup2(nowhere.fileno(), 2)
        try:
            countveil.cli.entry.main()
        except SystemExit as end:
            # Without the interpreter's own clean-up: the parent's objects are not the child's.
            os._exit(end.code if isinstance(end.code, int) else 0)
        except BaseException:  # noqa: BLE001 - the parent wants to hear of it
            os._exit(99)


def _left(target: Path) -> dict[str, Any]:
    names = sorted(entry.name for entry in target.parent.iterdir())
    if not target.exists():
        return {"names": names, "sound": None, "rows": None}
    try:
        return {"names": names, "sound": cv.verify(target) == [], "rows": cv.open(target).rows}
    except cv.CountveilError as error:
        return {"names": names, "sound": False, "rows": str(error)}


if __name__ == "__main__":
    main()
    # A process that has forked while Arrow's threads ran may stumble over them at its end.
    os._exit(0)
