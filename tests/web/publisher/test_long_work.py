"""Jobs in processes of their own: stopped, outdated, and what is left of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil.web.jobs import Job
from countveil.web.publisher.state import PublisherState
from countveil.web.publisher.steps import Results
from countveil.web.sessions import Mode
from tests.web.publisher.conftest import Desk

pytestmark = pytest.mark.slow
PATIENCE = 120.0


@pytest.fixture
def busy(start_app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A publisher with a table that takes a while, and real jobs."""
    cv.generate(300_000, tmp_path / "large.parquet", seed=1)
    monkeypatch.chdir(tmp_path)
    client, sessions = start_app(tmp_path)
    client.enter(sessions.token)
    client.post("/enter-mode/publisher")
    return Desk(client, sessions.state(Mode.PUBLISHER), tmp_path)


def until(reached: Callable[[], bool]) -> None:
    """Wait for something that will happen."""
    end = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def over(job: Job | None) -> Job:
    assert job is not None
    assert job.wait(PATIENCE)
    return job


def ready(desk: Desk) -> PublisherState:
    """All that is needed to publish."""
    desk.pick("large.parquet")
    over(Results(desk.state).facts)
    desk.role(8, "protect")
    desk.get("dangers")
    over(Results(desk.state).dangers)
    desk.done("amount/typed", {"subject": "0", "ell": "5", "method": "mixed"})
    desk.get("rehearsal")
    assert over(Results(desk.state).rehearsal).state == "done"
    return desk.state


def test_a_publication_that_is_stopped_leaves_nothing(busy: Desk) -> None:
    state = ready(busy)
    before = sorted(path.name for path in busy.root.rglob("*"))
    busy.done("publish/start", {"to": "release"})
    assert state.publication is not None
    job = state.publication.job
    # The draft is there, and rows are on their way.
    until(lambda: not job.running or any(p.name.startswith(".") for p in busy.root.iterdir()))
    page = busy.done(f"job/{job.id}/stop", {"screen": "publish"})
    assert "Stopping" in page or "It was stopped" in page
    assert over(job).state == "stopped"
    assert sorted(path.name for path in busy.root.rglob("*")) == before
    assert "It was stopped. Nothing is left of it." in busy.get("publish")
    busy.done("publish/start", {"to": "release"})
    assert over(state.publication.job).state == "done"
    assert "Published 300,000 rows" in busy.get("publish")
    assert cv.verify(busy.root / "release") == []


def test_leaving_and_coming_back_finds_the_job(busy: Desk) -> None:
    busy.pick("large.parquet")
    job = Results(busy.state).facts
    assert "Reading the table" in busy.get("table") or not (job and job.running)
    busy.get("columns")
    assert Results(busy.state).facts is job
    over(job)
    assert "300,000 rows" in busy.get("columns")


def test_measuring_other_choices_is_stopped(busy: Desk) -> None:
    state = ready(busy)
    busy.done("amount/wishes", {"subject": "wishes", "share": "1", "error": "10", "hide": ""})
    old = Results(state).advice
    assert old is not None
    until(lambda: bool(old.parts) or not old.running)
    page = busy.get("amount")
    assert "All that was measured" in page
    busy.role(0, "drop")
    assert over(old).state in ("stopped", "done")
    assert Results(state).advice is None
    busy.done("undo", {"screen": "columns"})
    assert Results(state).advice in (None, old)


def test_killing_the_app_ends_its_jobs(busy: Desk) -> None:
    state = ready(busy)
    before = sorted(path.name for path in busy.root.rglob("*"))
    busy.done("publish/start", {"to": "release"})
    assert state.publication is not None
    state.close()
    assert not state.publication.job.running
    if state.publication.job.state == "stopped":
        assert sorted(path.name for path in busy.root.rglob("*")) == before
