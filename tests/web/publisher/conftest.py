"""A publisher at work on a small table, with jobs done at once, in this process."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countveil.web.jobs import Job, Jobs
from countveil.web.jobs.worker import Reporter, _outcome
from countveil.web.publisher.state import PublisherState
from countveil.web.sessions import Mode
from tests.web.client import Client, Reply

JOBS = ("nurse", "clerk", "baker", "pilot", "cook", "judge", "smith", "actor")


class _Direct:
    """A connection whose other end is here."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def send(self, message: tuple[str, Any]) -> None:
        self._job._take(*message)


class JobsAtOnce(Jobs):
    """The same tasks with the same reporter, without a process of their own."""

    def start(
        self, title: str, task: str, *, secrets: Mapping[str, str] | None = None, **arguments: Any
    ) -> Job:
        assert not secrets, "they are for the environment of a process"
        job = Job(title)
        reporter = Reporter(_Direct(job))  # type: ignore[arg-type]
        job._take(*_outcome(task, arguments, reporter))
        job._ended.set()
        self._jobs[job.id] = job
        return job


@dataclass
class Desk:
    """A publisher's browser, what the app knows, and the folder of the app."""

    client: Client
    state: PublisherState
    root: Path

    def get(self, screen: str) -> str:
        reply = self.client.get(f"/publish/{screen}")
        assert reply.status == 200, reply.text
        return reply.text

    def post(self, action: str, fields: Mapping[str, str] | None = None, **how: Any) -> Reply:
        return self.client.post(f"/publish/{action}", fields or {}, **how)

    def done(self, action: str, fields: Mapping[str, str] | None = None) -> str:
        """A form that is taken, and the page after it."""
        return self.client.followed(self.post(action, fields)).text

    def pick(self, name: str) -> str:
        """Click on a file."""
        page = self.get("table")
        button = re.search(rf'value="([0-9a-f]+)"><span>{re.escape(name)}<', page)
        assert button is not None, page
        return self.done("table/pick", {"file": button[1]})

    def role(self, place: int, role: str) -> str:
        return self.done("columns/role", {"subject": str(place), "role": role})

    def protect_job(self) -> None:
        """As far as *How much*: the job is protected, the address and the code are left out."""
        self.pick("people.csv")
        self.get("columns")
        for place, role in ((0, "drop"), (1, "drop"), (4, "protect")):
            self.role(place, role)
        self.get("dangers")

    def rehearsed(self, ell: str = "3") -> None:
        """As far as *Publish*."""
        self.protect_job()
        self.done("amount/typed", {"subject": "0", "ell": ell, "method": "mixed"})
        assert "Everything was done but publishing" in self.get("rehearsal")

    def published(self, to: str = "release") -> None:
        self.rehearsed()
        page = self.done("publish/start", {"to": to})
        assert "Published 600 rows" in page, page


def write_people(path: Path, rows: int = 600, seed: int = 4) -> None:
    """Made-up people: an address, a code that gives the job away, and the rest."""
    draw = random.Random(seed)
    lines = ["email,code,age,region,job"]
    for number in range(rows):
        job = draw.choice(JOBS)
        age, region = draw.randint(18, 80), draw.choice("NSEW")
        lines.append(f"p{number}@mail.test,{JOBS.index(job)}x,{age},{region},{job}")
    path.write_text("\n".join(lines) + "\n")


def write_visits(path: Path, rows: int = 700, seed: int = 6) -> None:
    """Made-up people with several visits each, on different days."""
    draw = random.Random(seed)
    lines = ["patient,admitted,region,job"]
    days = [f"2024-{1 + n // 28:02}-{1 + n % 28:02}" for n in range(12 * 28)]
    for number in range(rows):
        who = number % 400
        day = days[(number * 7) % len(days)]
        lines.append(f"p{who},{day},{'NSEW'[who % 4]},{draw.choice(JOBS)}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def desk(start_app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The app started in the folder of the table."""
    write_people(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    client, sessions = start_app(tmp_path)
    assert client.enter(sessions.token).status == 200
    assert client.post("/enter-mode/publisher").status == 303
    state = sessions.state(Mode.PUBLISHER)
    state.jobs = JobsAtOnce()
    return Desk(client, state, tmp_path)
