"""Runs the command with one fault in it: the n-th of its calls fails, or is its last.

    python -m tests.faults.injected

Reads one JSON object per line (see `Run`), answers each with one (see `Ended`). Every command runs
in a forked child, from the real entry point on, as in `tests/robustness/warm_command.py`; this
process, its parent, answers the child's system calls. Calls count if they are about a file in the
place of the command, or about what it prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import countveil.cli.entry
from tests.faults.system_calls import FILE_CALLS, Call, Watch, be_watched, received, supported
from tests.robustness.spilling import leave_no_memory_for_rows
from tests.robustness.warm_command import warm_up

# A command that says nothing for so long hangs.
_PATIENCE = 120.0
PRINTED = "<printed>"
_TAKE_SPACE = {"write", "pwrite64", "writev", "pwritev", "mkdir", "mkdirat", "fallocate"}
_MAKE_FILES = {"open", "openat", "creat"}


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a call: an error, which may last, a signal, or the place goes away."""

    error: int = 0
    lasting: bool = False
    signal: int = 0
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A command in a folder; `place` is the folder of what it writes, `point` counts from 1.

    With `spills`, no row fits into memory: all go through the encrypted file.
    """

    words: list[str]
    folder: str
    place: str
    point: int = 0
    fault: Fault = Fault()
    names: list[str] = field(default_factory=lambda: sorted(FILE_CALLS))
    spills: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; a negative code is a signal, None is a command that hung.

    `calls` are those that count, in order: a name and the file, relative to the place.
    """

    code: int | None
    out: str
    err: str
    calls: list[tuple[str, str]]
    hit: str


def main() -> None:
    """Say whether calls can be watched here, then serve until the input ends."""
    why = supported()
    if not why:
        warm_up()
        why = _tried()
    sys.stdout.write(json.dumps(why) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        given = json.loads(line)
        run = Run(**{**given, "fault": Fault(**given.get("fault", {}))})
        sys.stdout.write(json.dumps(asdict(ended(run))) + "\n")
        sys.stdout.flush()


def _tried() -> str:
    """Why a process cannot be watched after all; nothing if it can."""
    here, there = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        here.close()
        _without_return(lambda: be_watched(frozenset({"fsync"}), there))
    there.close()
    with here:
        message, _, _, _ = socket.recv_fds(here, 1, 1)
    os.waitpid(pid, 0)
    return "" if message else "this system does not let a process be watched (seccomp)"


def ended(run: Run) -> Ended:
    """Run the command with its fault."""
    here, there = socket.socketpair()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, here, there:
        pid = os.fork()
        if pid == 0:
            here.close()
            _be_the_command(run, out, err, there)
        there.close()
        listener = received(here)
        faults = _Faults(run, pid, Watch(listener))
        hangs = False
        try:
            faults.answer_all()
        except TimeoutError:
            hangs = True
            os.kill(pid, signal.SIGKILL)
        finally:
            os.close(listener)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(None if hangs else code, texts[0], texts[1], faults.calls, faults.hit)


class _Faults:
    """Answers the calls of a process."""

    def __init__(self, run: Run, pid: int, watch: Watch) -> None:
        self._run, self._pid, self._watch = run, pid, watch
        self.calls: list[tuple[str, str]] = []
        self.hit = ""

    def answer_all(self) -> None:
        """Until the process is over."""
        for call in self._watch.calls(_PATIENCE):
            label = self._label(call)
            if label is None:
                self._watch.go_on(call)
                continue
            self.calls.append((call.name, label))
            now = len(self.calls) == self._run.point
            if now:
                self.hit = f"{call.name} {label}"
            self._treat(call, now=now)

    def _label(self, call: Call) -> str | None:
        """The file of a call that counts, relative to the place."""
        if not call.path and call.name not in FILE_CALLS:
            return "-"
        path = call.path.removesuffix(" (deleted)")
        if call.handle == 1 and call.name != "close":
            return PRINTED
        if path == self._run.place:
            return "<place>" + " (read)" * call.reads
        if not path.startswith(self._run.place + "/"):
            return "<socket>" if call.name == "sendto" else None
        return path[len(self._run.place) + 1 :] + " (read)" * call.reads

    def _treat(self, call: Call, *, now: bool) -> None:
        fault = self._run.fault
        if now and fault.signal:
            os.kill(self._pid, fault.signal)
            if fault.signal == signal.SIGKILL:
                return
        if now and fault.remove:
            shutil.rmtree(self._run.place, ignore_errors=True)
        lasts = fault.lasting and bool(self.hit) and self._alike(call)
        if fault.error and (now or lasts):
            self._watch.refuse(call, fault.error)
        else:
            self._watch.go_on(call)

    def _alike(self, call: Call) -> bool:
        """Whether a fault that lasts hits this call too: of a full disk, all that takes space."""
        first = self.hit.split()[0]
        if first in _TAKE_SPACE:
            return call.name in _TAKE_SPACE or (call.name in _MAKE_FILES and not call.reads)
        return call.name == first


def _be_the_command(run: Run, out: BinaryIO, err: BinaryIO, to: socket.socket) -> None:
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.chdir(run.folder)
    sys.argv = ["countveil", *run.words]
    if run.spills:
        leave_no_memory_for_rows()
    be_watched(frozenset(run.names), to)
    _without_return(countveil.cli.entry.command)


def _without_return(command: Callable[[], Any]) -> None:
    """Whatever happens, the child does not go on as the server."""
    with contextlib.suppress(BaseException):
        command()
    os._exit(98)


if __name__ == "__main__":
    main()
    # A process that has forked while Arrow's threads ran may stumble over them at its end.
    os._exit(0)
