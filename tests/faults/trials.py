"""One fault in one command: what is left, does the exit code say so, does the next run work?

Enters: a scenario, a point, a fault. Leaves: sentences about what is wrong. Must not know: why
these points were chosen.

    exit code 0      all that the command writes is new, and nothing else is there
    1                all is as it was before
    3                what the command is for is there and new, and the message says so
    130, 143         interrupted: as 1, or the message says that it is in place
    a signal         each thing is old or new; hidden things may be left

What could not be removed is named in the message. Whatever happened, the same command then ends
with exit code 0, and leaves nothing but what it is for.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.faults.injected import PRINTED, Ended, Fault, Run
from tests.faults.scenarios import Scenario
from tests.faults.system_calls import FILE_CALLS
from tests.faults.things import BROKEN, RECORD
from tests.robustness.tools import BUG, ROOT

__all__ = ["IN_PLACE", "PRINTED", "UNCONFIRMED", "Server", "Trials", "alike", "running_server"]
IN_PLACE = "in place"
# Only what happens while the result is printed may be told so.
DONE = "the command was done"
# What a database keeps beside its file until somebody opens it again is part of it.
_OF_DATABASES = (".wal", "-journal")
UNCONFIRMED = 3
_INTERRUPTED = {128 + signal.SIGINT, 128 + signal.SIGTERM}


class Server:
    """The process that runs commands with faults (`tests/faults/injected.py`)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """The first thing it says is why it cannot work, or nothing."""
        self._process = process
        assert process.stdout is not None
        self.why: str = json.loads(process.stdout.readline())

    def __call__(self, run: Run) -> Ended:
        """Run a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(run)) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Ended(**{**answer, "calls": [(name, label) for name, label in answer["calls"]]})


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """A server that ends with this."""
    words = [sys.executable, "-m", "tests.faults.injected"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


@dataclass(frozen=True, slots=True)
class State:
    """Everything in a place: names at its top, and what is to be said of each thing."""

    names: frozenset[str]
    things: tuple[str, ...]


class Trials:
    """A scenario that is tried again and again, each time from its beginning."""

    def __init__(self, scenario: Scenario, server: Server, given: Path, folder: Path) -> None:
        self._scenario, self._server, self._given = scenario, server, given
        self._folder, self._place = folder, folder / "place"
        self._begin()
        self.before = self._state()
        first = self._run()
        assert first.code == 0, first
        self.after = self._state()
        assert not any(text.startswith(BROKEN) for text in self.after.things), self.after
        self.calls = first.calls

    def wrong_with(self, point: int, fault: Fault) -> tuple[str, list[str]]:
        """Which call it was, and what is wrong; the call is empty if it was never reached."""
        self._begin()
        ended = self._run(point, fault)
        if not ended.hit:
            return "", []
        self._place.mkdir(exist_ok=True)
        wrong = self._wrong_after(ended, fault)
        wrong += self._wrong_next()
        said = ended.err.strip().replace(str(self._folder), "")
        where = f"{ended.hit}, {_in_words(fault)}: exit code {ended.code}, {said!r}"
        return ended.hit, [f"{where}: {text}" for text in wrong]

    def _begin(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._place.mkdir(parents=True)
        for name, given in self._scenario.given.items():
            source = self._given / given
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, self._place / name)

    def _run(self, point: int = 0, fault: Fault | None = None, *more: str) -> Ended:
        words = [
            *self._scenario.words,
            *(word for word in more if word not in self._scenario.words),
        ]
        spelled = [word.format(place=self._place, given=self._given) for word in words]
        names = FILE_CALLS | {"pread64"} if self._scenario.spills else FILE_CALLS
        return self._server(
            Run(
                spelled,
                str(self._given),
                str(self._place),
                point,
                fault or Fault(),
                sorted(names),
                self._scenario.spills,
            )
        )

    def _state(self) -> State:
        """Looked at in a copy: opening a database may change it."""
        names = frozenset(
            path.name
            for path in self._place.iterdir()
            if path.name != RECORD and not path.name.endswith(_OF_DATABASES)
        )
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(self._place, Path(folder) / "copy"))
            return State(names, tuple(look(copy) for look in self._scenario.things))

    def _wrong_after(self, ended: Ended, fault: Fault) -> list[str]:
        now = self._state()
        wrong = [text for text in now.things if text.startswith(BROKEN)]
        if ended.code is None:
            wrong.append("it hangs")
        if BUG in ended.err or "Traceback" in ended.err:
            wrong.append("it fails in a way it should not")
        new, old = now.things[0] == self.after.things[0], now.things == self.before.things
        # A disk that stays full may end printing too, after a command that was done all the same.
        printing = ended.hit.endswith(PRINTED) or (fault.lasting and new)
        if DONE in ended.err and not printing:
            wrong.append("it says that the command was done")
        killed = fault.signal > 0 and ended.code == -fault.signal
        if killed:
            each = zip(now.things, self.before.things, self.after.things, strict=True)
            return wrong + [f"half done: {now}" for text, *both in each if text not in both][:1]
        if fault.remove:
            return wrong + ["nothing is there"] * (ended.code == 0 and now != self.after)
        says = IN_PLACE in ended.err
        expected = {0: now.things == self.after.things, 1: old, UNCONFIRMED: new and says}
        expected |= dict.fromkeys(_INTERRUPTED, old if not says else new)
        if not expected.get(ended.code or 0, False):
            wrong.append(f"the exit code does not fit {now.things}")
        if old and not new and "Nothing was left behind" in ended.err and now != self.before:
            wrong.append(f"something was left behind: {set(now.names - self.before.names)}")
        left = now.names - (self.after.names if new else self.before.names)
        return wrong + [f"{name} is left" for name in left if name not in ended.err]

    def _wrong_next(self) -> list[str]:
        scenario = self._scenario
        if scenario.once and self._state().things == self.after.things:
            return []
        again = scenario.again if self._state().things[0] == self.after.things[0] else ()
        following = self._run(0, None, *again)
        if following.code != 0:
            return [f"the next run fails: {following.err.strip()}"]
        now = self._state()
        if now.things[0] != self.after.things[0]:
            return [f"the next run leaves {now.things}"]
        return [f"{name} stays for ever" for name in now.names - self.after.names]


def _in_words(fault: Fault) -> str:
    if fault.signal:
        return signal.Signals(fault.signal).name
    return f"error {fault.error}{' that lasts' * fault.lasting}" if fault.error else "place removed"


def alike(name: str, label: str) -> tuple[str, str]:
    """A call without what chance put into the name of its file."""
    return name, re.sub(r"(draft|pending)-[a-z0-9_]+|#[0-9]+", r"\1", label)
