"""Long work in processes: followed, stopped, and ended with the app."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from countveil.web.jobs import Jobs
from countveil.web.jobs.job import Job, JobState

# Only ends what hangs; nothing is measured by it.
LONG = 120.0


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    started = Jobs()
    yield started
    started.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_reports_and_gives_its_result(jobs: Jobs) -> None:
    job = jobs.start("Doubling", "tests.web.tasks:double", number=21)
    assert jobs.get(job.id) is job
    assert job.wait(LONG)
    assert (job.state, job.result, job.parts) == (JobState.DONE, 42, [21])
    assert job.warnings == ["a word of caution"]
    assert [name for name, _ in job.timed_stages] == ["doubling", "ending"]


def test_a_refusal_comes_in_its_own_words(jobs: Jobs) -> None:
    job = jobs.start("Refusing", "tests.web.tasks:refuse")
    assert job.wait(LONG)
    assert (job.state, job.error, job.ways) == (JobState.FAILED, "No ell works.", [{"ell": 2}])


def test_a_fault_does_not_quote_data(jobs: Jobs) -> None:
    job = jobs.start("Failing", "tests.web.tasks:fail")
    assert job.wait(LONG)
    assert job.state is JobState.FAILED
    assert "ValueError" in job.error
    assert "Lovelace" not in job.error


@pytest.mark.few(1)
@pytest.mark.parametrize("task", ["leave", "stubborn"])
def test_a_stopped_job_cleans_up(jobs: Jobs, tmp_path: Path, task: str) -> None:
    job = jobs.start("Working", f"tests.web.tasks:{task}", folder=str(tmp_path))
    until(lambda: job.stage == "working")
    assert (tmp_path / "draft").exists()
    job.stop()
    assert job.wait(LONG)
    assert job.state is JobState.STOPPED
    assert not (tmp_path / "draft").exists()


def test_jobs_end_with_their_session(tmp_path: Path) -> None:
    jobs = Jobs()
    job = jobs.start("Working", "tests.web.tasks:leave", folder=str(tmp_path))
    until(lambda: job.stage == "working")
    jobs.close()
    assert job.state is JobState.STOPPED
    assert not (tmp_path / "draft").exists()


@pytest.mark.slow
def test_a_killed_app_takes_its_jobs_with_it(tmp_path: Path) -> None:
    """Nothing can be done by whoever is killed; the job notices that it is alone."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\n"
        "from countveil.web.jobs import Jobs\n"
        "if __name__ == '__main__':\n"
        "    job = Jobs().start('Working', 'tests.web.tasks:leave', folder=sys.argv[1])\n"
        "    while job.stage != 'working': time.sleep(0.01)\n"
        "    print(job._process.pid, flush=True)\n"
        "    time.sleep(600)\n",
        encoding="utf-8",
    )
    here = str(Path(__file__).parents[2])
    app = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, cwd=here,
        env={"PYTHONPATH": here}, text=True,
    )  # fmt: skip
    assert app.stdout is not None
    assert app.stdout.readline().strip().isdigit()
    assert (tmp_path / "draft").exists()
    app.kill()
    app.wait()
    app.stdout.close()
    until(lambda: not (tmp_path / "draft").exists())


def test_an_unknown_job_is_none(jobs: Jobs) -> None:
    assert jobs.get("0" * 16) is None


def test_the_time_left_is_guessed_from_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter took 30 seconds, so three more quarters take 90; at first nobody knows."""
    job = Job("Publishing", stages=[("reading", 80.0), ("writing", 100.0)], done=250, total=1_000)
    clock = SimpleNamespace(monotonic=lambda: 130.0)
    monkeypatch.setattr("countveil.web.jobs.job.time", clock)
    assert (job.stage, job.share, job.seconds_left) == ("writing", 0.25, 90.0)
    assert job.timed_stages == [("reading", 20.0)]
    clock.monotonic = lambda: 100.01
    assert job.seconds_left is None
    job.total = 0
    assert (job.share, job.seconds_left) == (None, None)
