"""Jobs as the app sees them: started, followed, stopped.

Enters: the name of a task and its arguments. Leaves: a `Job`, which always says how far it is. Must
not know: any task. Each job is a process, so that no page waits for it; it ends with the app.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

from countveil.randomness import fresh_key
from countveil.web.jobs.worker import ERROR, PART, PROGRESS, RESULT, STOP, STOPPED, run

# How long a job may take to clean up before it is killed, in seconds.
_PATIENCE = 20.0
_ENOUGH_TO_GUESS = 2.0


class JobState(StrEnum):
    """How a job stands."""

    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"


@dataclass(slots=True)
class Job:
    """Long work. `parts` come while it runs, `result` and `warnings` when it is done."""

    title: str
    id: str = field(default_factory=lambda: fresh_key().hex()[:16])
    state: JobState = JobState.RUNNING
    stages: list[tuple[str, float]] = field(default_factory=list)
    done: int = 0
    total: int = 0
    parts: list[Any] = field(default_factory=list)
    result: Any = None
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    ways: list[Mapping[str, Any]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    _connection: Connection | None = None
    _process: Any = None
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def running(self) -> bool:
        """Whether there is more to come."""
        return self.state in (JobState.RUNNING, JobState.STOPPING)

    @property
    def stage(self) -> str:
        """What it is doing."""
        return self.stages[-1][0] if self.stages else "starting"

    @property
    def share(self) -> float | None:
        """How much of this stage is done."""
        return min(1.0, self.done / self.total) if self.total else None

    @property
    def seconds_left(self) -> float | None:
        """A guess for this stage, when there is enough to guess from."""
        if not self.share or not self.stages:
            return None
        spent = time.monotonic() - self.stages[-1][1]
        return spent * (1 - self.share) / self.share if spent > _ENOUGH_TO_GUESS else None

    @property
    def timed_stages(self) -> list[tuple[str, float]]:
        """The stages that are over, with their seconds."""
        return [(name, after - start) for (name, start), (_, after) in pairwise(self.stages)]

    def stop(self) -> None:
        """Ask it to stop and clean up."""
        if self.state is JobState.RUNNING and self._connection is not None:
            self.state = JobState.STOPPING
            with contextlib.suppress(OSError):
                self._connection.send(STOP)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is."""
        return self._ended.wait(seconds)

    def _follow(self) -> None:
        """Take what the process says, until it says no more."""
        assert self._connection is not None  # noqa: S101 - set before this runs
        with contextlib.suppress(EOFError, OSError):
            while self.running:
                self._take(*self._connection.recv())
        if self.running:
            stopped = self.state is JobState.STOPPING
            self.error = "" if stopped else "The process ended before its work was done."
            self.state = JobState.STOPPED if stopped else JobState.FAILED
        self._process.join(_PATIENCE)
        self._ended.set()

    def _take(self, kind: str, content: Any) -> None:
        if kind == PROGRESS:
            stage, self.done, self.total = content
            if stage != self.stage or not self.stages:
                self.stages.append((stage, time.monotonic()))
        elif kind == PART:
            self.parts.append(content)
        elif kind == RESULT:
            self.result, self.warnings = content
            self.stages.append(("done", time.monotonic()))
            self.state = JobState.DONE
        elif kind == ERROR:
            self.error, self.ways = content
            self.state = JobState.FAILED
        elif kind == STOPPED:
            self.state = JobState.STOPPED


class Jobs:
    """All jobs of one session."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        # Spawned, so that nothing of this process, its sockets least of all, is inherited.
        self._context = multiprocessing.get_context("spawn")

    def start(
        self, title: str, task: str, *, secrets: Mapping[str, str] | None = None, **arguments: Any
    ) -> Job:
        """Begin a task: `module:function`, which is called with these arguments and `reporter`.

        `secrets` are for the environment of its process alone, and reach it through a pipe.
        """
        here, there = self._context.Pipe()
        process = self._context.Process(
            target=run, args=(there, task, arguments, dict(secrets or {})), daemon=True
        )
        job = Job(title, _connection=here, _process=process)
        process.start()
        there.close()
        self._jobs[job.id] = job
        threading.Thread(target=job._follow, daemon=True).start()  # noqa: SLF001 - its own module
        return job

    def get(self, known: str) -> Job | None:
        """The job with this id."""
        return self._jobs.get(known)

    def close(self) -> None:
        """Stop all of them, and wait until they have cleaned up."""
        for job in self._jobs.values():
            job.stop()
        deadline = time.monotonic() + _PATIENCE
        for job in self._jobs.values():
            if not job.wait(max(0.0, deadline - time.monotonic())):
                job._process.kill()  # noqa: SLF001 - its own module
