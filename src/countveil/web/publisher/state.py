"""The state of a publisher's session: a draft with its history, and the jobs about it.

Enters: changes of the draft, requests for results. Leaves: the draft, jobs and their results. Must
not know: pages. It is on the server, so that it outlives a reload and a restart of the browser; two
tabs share it, and a lock lets one in at a time.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countveil.web.jobs import Job, Jobs
from countveil.web.places import Places
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.lines import CommandWriter

_TASKS = "countveil.web.publisher.tasks"
_MOST_STEPS, _MOST_RESULTS = 200, 24
# The kinds of work, and what they are called while they go on.
TITLES = {
    "facts": "Reading the table",
    "before": "Counting values as they were",
    "one_row": "Counting the rows that are kept",
    "dangers": "Looking for dangers",
    "preview": "Reading a few rows",
    "values": "Counting the values of a column",
    "advise": "Measuring what every method and ell would do",
    "rehearse": "Rehearsing: everything but publishing",
    "publish": "Publishing",
    "audit": "Attacking the release",
    "verify": "Comparing the release with its manifest",
}


@dataclass(frozen=True, slots=True)
class Publication:
    """A release that was made here, or is being made, and the choices that it was made from."""

    draft: Draft
    job: Job


@dataclass(slots=True)
class PublisherState:
    """Everything about one publication. `change` is the only way to another draft."""

    places: Places
    write_command: CommandWriter
    jobs: Jobs = field(default_factory=Jobs)
    publication: Publication | None = None
    _released: Publication | None = None
    previewing: bool = False
    # The column whose values are listed.
    listed: str = ""
    # By server, for as long as the app runs; they are in no draft.
    _passwords: dict[str, str] = field(default_factory=dict, repr=False)
    force: bool = False
    again: bool = False
    _before: list[tuple[Draft, str]] = field(default_factory=list)
    _after: list[tuple[Draft, str]] = field(default_factory=list)
    _now: tuple[Draft, str] = field(default_factory=lambda: (Draft(), ""))
    _by_key: dict[tuple[str, str], Job] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def draft(self) -> Draft:
        """The choices as they are now."""
        return self._now[0]

    def change(self, to: Callable[[Draft], Draft], what: str, *, joins: bool = False) -> None:
        """Replace the draft; `what` was done, for whoever undoes it.

        A change that `joins` and does the same thing as the last one is one step with it.
        """
        with self.lock:
            changed = to(self.draft)
            if changed == self.draft:
                return
            if not (joins and self._now[1] == what):
                self._before = [*self._before, self._now][-_MOST_STEPS:]
            self._now, self._after = (changed, what), []

    def undo(self) -> None:
        """Take the last change back."""
        with self.lock:
            if self._before:
                self._after.append(self._now)
                self._now = self._before.pop()

    def redo(self) -> None:
        """Make the change again that was taken back."""
        with self.lock:
            if self._after:
                self._before.append(self._now)
                self._now = self._after.pop()

    @property
    def undoes(self) -> str:
        """What undoing would take back; empty if there is nothing."""
        return self._now[1] if self._before else ""

    @property
    def redoes(self) -> str:
        """What redoing would bring back; empty if there is nothing."""
        return self._after[-1][1] if self._after else ""

    def job(self, kind: str, **arguments: Any) -> Job | None:
        """The job that was begun with exactly these arguments."""
        return self._by_key.get((kind, self._key(arguments)))

    def begin(self, kind: str, **arguments: Any) -> Job:
        """The job with these arguments, begun unless it was before.

        Another one of its kind that still runs is about choices that are not made any more: it is
        stopped.
        """
        with self.lock:
            place = (kind, self._key(arguments))
            known = self._by_key.get(place)
            if known is not None:
                return known
            self.stop_others(kind, **arguments)
            job = self.jobs.start(
                TITLES[kind],
                f"{_TASKS}:{kind}",
                secrets=self._secrets(str(arguments.get("table", ""))),
                **arguments,
            )
            self._by_key[place] = job
            self._forget()
            return job

    def stop_others(self, kind: str, **arguments: Any) -> None:
        """Stop jobs of a kind that are about other choices; they can be begun again."""
        with self.lock:
            kept = (kind, self._key(arguments))
            for place, job in [*self._by_key.items()]:
                if place[0] == kind and place != kept and job.running:
                    job.stop()
                    del self._by_key[place]

    def forget(self, job: Job) -> None:
        """Let a job that failed or was stopped be begun again."""
        with self.lock:
            over = [place for place, each in self._by_key.items() if each is job]
            for place in over:
                if not job.running:
                    del self._by_key[place]

    def publish(self, arguments: Mapping[str, Any]) -> None:
        """Begin to publish; there is one publication at a time."""
        with self.lock:
            if self.publication is not None and self.publication.job.running:
                return
            self._released = self.released
            job = self.jobs.start(
                TITLES["publish"],
                f"{_TASKS}:publish",
                secrets=self._secrets(self.draft.table),
                table=self.draft.table,
                arguments=arguments,
            )
            self.publication = Publication(self.draft, job)

    @property
    def released(self) -> Publication | None:
        """The last publication that was completed, whatever was tried since."""
        last = self.publication
        return last if last is not None and last.job.state == "done" else self._released

    def close(self) -> None:
        """Stop what is going on."""
        self.jobs.close()

    def log_in(self, table: str, password: str) -> None:
        """Use a password for the server of a table, and for no other; without one, none."""
        with self.lock:
            server = table.partition("#")[0]
            self._passwords.pop(server, None)
            if password:
                self._passwords[server] = password
            for place, job in [*self._by_key.items()]:
                # What was refused before may be let in now.
                if job.state in ("failed", "stopped"):
                    del self._by_key[place]

    def _secrets(self, table: str) -> dict[str, str]:
        password = self._passwords.get(table.partition("#")[0])
        return {} if password is None else {"PGPASSWORD": password}

    def _forget(self) -> None:
        """Leave out the oldest results, so that a long session does not grow."""
        over = [place for place, job in self._by_key.items() if not job.running]
        for place in over[: max(0, len(self._by_key) - _MOST_RESULTS)]:
            del self._by_key[place]

    def _key(self, arguments: Mapping[str, Any]) -> str:
        """Equal for equal arguments about the same file, which may have changed since."""
        table = str(arguments.get("table", ""))
        return json.dumps([arguments, _stamp(table)], sort_keys=True, default=str)


def _stamp(table: str) -> list[int]:
    """When a file was written last; nothing for what is not one file."""
    for name in (table, table.partition(":")[2].rpartition("#")[0]):
        try:
            status = os.stat(name) if name else None  # noqa: PTH116 - a Path refuses some names
        except (OSError, ValueError):
            continue
        if status is not None:
            return [status.st_mtime_ns, status.st_size]
    return []


def shown_path(path: Path) -> str:
    """A path as a command in the folder of this process would name it."""
    text = os.path.relpath(path)
    if text.startswith(os.pardir):
        text = os.fspath(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text  # noqa: PTH118


def folder_of(state: PublisherState) -> str:
    """Where the release goes: as was chosen, or a name after that of the table."""
    draft = state.draft
    if draft.to:
        return draft.to
    name = Path(draft.table.rpartition("#")[0] or draft.table).name.partition(".")[0]
    stem = "".join(char if char.isalnum() or char in "-_" else "-" for char in name) or "table"
    return shown_path(state.places.root / f"{stem}-release")
