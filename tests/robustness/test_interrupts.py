"""Ctrl-C, termination and sudden death: a complete release or none, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as pf
import pytest

import countveil as cv
from tests.robustness.processes import (
    is_over,
    needs_proc,
    seconds_of_children,
    standing_still,
    wait_for,
    wait_until_computed,
    wait_until_read,
    wait_until_taken,
)
from tests.robustness.tools import (
    LARGE_ROWS,
    PATIENCE,
    ROOT,
    SMALL_ROWS,
    Outcome,
    names_in,
    released,
    run,
    small_columns,
    start,
)

TOLD = "Interrupted. Nothing was left behind.\n"


@pytest.fixture(scope="session")
def cost(large: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    """The processor time that publishing the large table takes."""
    target = tmp_path_factory.mktemp("timing") / "release"
    before = seconds_of_children()
    assert run("publish", large, "-s", "occupation:5", "--to", target).code == 0
    return seconds_of_children() - before


def signalled(large: Path, target: Path, numbers: Sequence[int], after: float) -> Outcome:
    """Publish the large table; once it has computed so long, send signals one after the other."""
    process = start("publish", large, "-s", "occupation:5", "--to", target)
    wait_until_computed(process, after)
    for number in numbers:
        process.send_signal(number)
        wait_until_taken(process)
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, out.decode(), err.decode())


def assert_all_or_nothing(outcome: Outcome, target: Path, number: signal.Signals) -> None:
    if outcome.code == 0:
        assert names_in(target.parent) == released(target.name)
        assert cv.verify(target) == []
        assert cv.open(target).rows == LARGE_ROWS
        assert outcome.err == ""
        return
    assert names_in(target.parent) == [], outcome
    if outcome.code == -number or "Fatal Python error: init" in outcome.err:
        return  # before Python had come to our first line
    assert outcome.code == 128 + number, outcome
    assert (outcome.out, outcome.err) == ("", TOLD)


SHARES = [0.0, 0.2, 0.5, 0.7, 0.9, 1.02]


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("share", SHARES)
def test_ctrl_c_at_any_moment(large: Path, tmp_path: Path, cost: float, share: float) -> None:
    target = tmp_path / "release"
    outcome = signalled(large, target, [signal.SIGINT], share * cost)
    assert_all_or_nothing(outcome, target, signal.SIGINT)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_termination_at_any_moment(large: Path, tmp_path: Path, cost: float, share: float) -> None:
    target = tmp_path / "release"
    outcome = signalled(large, target, [signal.SIGTERM], share * cost)
    assert_all_or_nothing(outcome, target, signal.SIGTERM)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("share", [0.4, 0.9])
def test_impatient_ctrl_c(large: Path, tmp_path: Path, cost: float, share: float) -> None:
    target = tmp_path / "release"
    outcome = signalled(large, target, [signal.SIGINT, signal.SIGINT], share * cost)
    assert_all_or_nothing(outcome, target, signal.SIGINT)


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_many_moments(large: Path, tmp_path: Path, cost: float, number: signal.Signals) -> None:
    for step in range(25):
        target = tmp_path / str(step) / "release"
        target.parent.mkdir()
        outcome = signalled(large, target, [number] * (1 + step % 2), step / 24 * cost)
        assert_all_or_nothing(outcome, target, number)
        shutil.rmtree(target.parent)


def stopped_in_draft(large: Path, target: Path, number: signal.Signals, event: str) -> Outcome:
    """Send a signal while the process stands still just after an event in its draft."""
    drafts = f".{target.name}.*"
    events = {
        "begun": lambda: any(target.parent.glob(drafts)),
        "rows": lambda: any(target.parent.glob(f"{drafts}/data/*")),
        "done": target.exists,
    }
    process = start("publish", large, "-s", "occupation:5", "--to", target)
    wait_for(lambda: is_over(process) or events[event](), every=0.002)
    with standing_still(process):
        process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, out.decode(), err.decode())


@pytest.mark.few(1)
@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("event", ["begun", "rows", "done"])
def test_a_signal_at_a_step(
    large: Path, tmp_path: Path, event: str, number: signal.Signals
) -> None:
    target = tmp_path / "release"
    outcome = stopped_in_draft(large, target, number, event)
    assert_all_or_nothing(outcome, target, number)
    if event == "done":
        # What is complete stays.
        assert outcome.code == 0


@pytest.mark.slow
@needs_proc
def test_ctrl_c_while_the_table_is_read(large: Path, tmp_path: Path) -> None:
    process = start("publish", large, "-s", "occupation:5", "--to", tmp_path / "release")
    wait_until_read(process, large)
    with standing_still(process):
        assert not (tmp_path / "release").exists()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err.decode()) == (130, b"", TOLD)
    assert names_in(tmp_path) == []


SENDS_ONE_CTRL_C = """
import os, pathlib, signal
sent = pathlib.Path(__file__).with_name("sent")
if not sent.exists():
    sent.touch()
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100): pass
raise ImportError
"""


@pytest.mark.slow
def test_ctrl_c_that_a_library_swallows(large: Path, tmp_path: Path) -> None:
    # Arrow tries to import pandas and goes on when it cannot, whatever the reason was.
    trap = tmp_path / "path" / "pandas"
    trap.mkdir(parents=True)
    (trap / "__init__.py").write_text(SENDS_ONE_CTRL_C)
    place = tmp_path / "place"
    place.mkdir()
    words = ("publish", large, "-s", "occupation:5", "--to", place / "release")
    path = os.pathsep.join([str(trap.parent), os.environ.get("PYTHONPATH", "")])
    outcome = run(*words, env={"PYTHONPATH": path})
    assert_all_or_nothing(outcome, place / "release", signal.SIGINT)


def ends_at_operations(
    tmp_path: Path, step: int, name: str, sensitive: str, *options: str
) -> list[dict[str, Any]]:
    """What is left when the command is stopped at every `step`-th of its file operations."""
    table = pa.table(small_columns())
    source = tmp_path / "in.arrow"
    pf.write_feather(table, source)
    cv.publish(table.slice(0, SMALL_ROWS // 2), {"job": 2}, tmp_path / "old", keep="row")
    target = tmp_path / "place" / "release"
    target.parent.mkdir()
    script = (sys.executable, "-m", "tests.robustness.crash_points")
    done = subprocess.run(
        [*script, name, source, sensitive, target, str(step), *options],
        capture_output=True,
        check=True,
        cwd=ROOT,
        timeout=PATIENCE,
    )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ends) > 8 // step
    return ends


SOME_AND_ALL = pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])


class TestAtFileOperations:
    @pytest.mark.slow
    def test_sudden_death(self, tmp_path: Path) -> None:
        ends = ends_at_operations(tmp_path, 1, "SIGKILL", "job:2")
        for end in ends:
            # A draft may be left; it is hidden, and nothing at the target but a whole release.
            assert all(name == "release" or name.startswith(".") for name in end["names"]), end
            assert (end["sound"], end["rows"]) in ((None, None), (True, SMALL_ROWS)), end
        assert (ends[-1]["code"], ends[-1]["names"]) == (0, released("release"))

    @pytest.mark.slow
    @SOME_AND_ALL
    def test_sudden_death_while_replacing(self, tmp_path: Path, step: int) -> None:
        ends = ends_at_operations(tmp_path, step, "SIGKILL", "job:2", "--force", "--again")
        for end in ends:
            assert end["sound"], end
            assert end["rows"] in (SMALL_ROWS // 2, SMALL_ROWS), end
        assert (ends[-1]["code"], ends[-1]["names"]) == (0, released("release"))
        assert {end["rows"] for end in ends} == {SMALL_ROWS // 2, SMALL_ROWS}

    @pytest.mark.slow
    def test_sudden_death_on_windows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTVEIL_TEST_SYSTEM", "windows")
        ends = ends_at_operations(tmp_path, 1, "SIGKILL", "job:2", "--force", "--again")
        assert (ends[-1]["code"], ends[-1]["names"]) == (0, released("release"))
        for end in ends:
            if end["sound"] is None:
                # Between the two steps: the next publication puts the old release back.
                drafts = [name.partition(".previous")[0] for name in end["names"]]
                assert any(end["names"].count(f"{name}.previous") for name in drafts), end
            else:
                assert end["sound"], end
                assert end["rows"] in (SMALL_ROWS // 2, SMALL_ROWS), end
        assert {end["rows"] for end in ends} == {None, SMALL_ROWS // 2, SMALL_ROWS}

    @pytest.mark.slow
    def test_interrupt_on_windows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COUNTVEIL_TEST_SYSTEM", "windows")
        for end in ends_at_operations(tmp_path, 2, "SIGINT", "job:2", "--force", "--again"):
            names = released("release") if end["code"] == 0 else ["release"]
            assert (end["names"], end["sound"]) == (names, True), end
            assert (end["code"], end["rows"]) in ((0, SMALL_ROWS), (130, SMALL_ROWS // 2)), end

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "code"),
        [("SIGINT", 130), pytest.param("SIGTERM", 143, marks=pytest.mark.slow)],
    )
    @SOME_AND_ALL
    def test_interrupt(self, tmp_path: Path, step: int, name: str, code: int) -> None:
        for end in ends_at_operations(tmp_path, step, name, "job:2"):
            if end["code"] == 0:
                assert (end["names"], end["sound"]) == (released("release"), True), end
            else:
                assert (end["code"], end["names"]) == (code, []), end

    @pytest.mark.slow
    @SOME_AND_ALL
    def test_interrupt_while_replacing(self, tmp_path: Path, step: int) -> None:
        for end in ends_at_operations(tmp_path, step, "SIGINT", "job:2", "--force", "--again"):
            names = released("release") if end["code"] == 0 else ["release"]
            assert (end["names"], end["sound"]) == (names, True), end
            assert (end["code"], end["rows"]) in ((0, SMALL_ROWS), (130, SMALL_ROWS // 2)), end

    @pytest.mark.slow
    def test_interrupt_while_refusing(self, tmp_path: Path) -> None:
        for end in ends_at_operations(tmp_path, 1, "SIGINT", "job:100"):
            assert end["names"] == [], end
            assert end["code"] in (1, 130), end


def assert_survives_kills(large: Path, old: Path, place: Path, cost: float, part: int) -> None:
    """Kill a first publication and a replacement, in turns, at random moments."""
    moments = random.Random(part)
    rounds = 13 if part else 1
    fresh, replaced = place / "fresh", place / "replaced"
    shutil.copytree(old, replaced)
    for target in [fresh, replaced] * rounds:
        process = start(
            "publish", large, "-s", "occupation:5", "--to", target, "--force", "--again"
        )
        wait_until_computed(process, moments.uniform(0.3, 1.1) * cost)
        process.kill()
        process.communicate()
        if target == replaced or target.exists():
            assert cv.verify(target) == []
            assert cv.open(target).rows in (SMALL_ROWS, LARGE_ROWS)
        if target == fresh:
            shutil.rmtree(fresh, ignore_errors=True)
    # The next publication to the same place clears what the killed ones left.
    for target in (fresh, replaced):
        assert (
            run("publish", large, "-s", "occupation:5", "--to", target, "--force", "--again").code
            == 0
        )
    assert names_in(place) == released("fresh", "replaced")


@needs_proc
@pytest.mark.slow
def test_killed_twice(large: Path, published: Path, tmp_path: Path, cost: float) -> None:
    assert_survives_kills(large, published, tmp_path, cost, 0)


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("part", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3, 4))])
def test_killed_a_hundred_times(
    large: Path, published: Path, tmp_path: Path, cost: float, part: int
) -> None:
    assert_survives_kills(large, published, tmp_path, cost, part)


@pytest.mark.slow
def test_the_next_publication_removes_what_a_killed_one_left(small: Path, tmp_path: Path) -> None:
    for target in ("release", "other"):
        left = tmp_path / f".{target}.draft-x1y2z3_4"
        (left / "data").mkdir(parents=True)
        (left / "data" / "part-00000.parquet").write_bytes(b"half")
    words = ("publish", small, "-s", "job:2", "--keep", "row")
    assert run(*words, "--to", tmp_path / "release").code == 0
    assert names_in(tmp_path) == released("release")


def test_a_draft_in_the_making_is_private(tmp_path: Path) -> None:
    seen: list[int] = []

    def look(stage: str, _done: int, _total: int) -> None:
        if stage == "writing":
            seen.extend(entry.stat().st_mode & 0o777 for entry in tmp_path.iterdir())

    table = pa.table(small_columns())
    cv.publish(table, {"job": 2}, tmp_path / "release", progress=look, keep="row")
    assert seen == [0o700]


@pytest.mark.slow
def test_nothing_is_written_outside_the_target_folder(small: Path, tmp_path: Path) -> None:
    temporary, home, place = (tmp_path / name for name in ("temporary", "home", "place"))
    for folder in (temporary, home, place):
        folder.mkdir()
    words = ("publish", small, "-s", "job:2", "--keep", "row", "--to", tmp_path / "release")
    env = {"TMPDIR": str(temporary), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(*words, cwd=place, env=env).code == 0
    assert [names_in(folder) for folder in (temporary, home, place)] == [[], [], []]
