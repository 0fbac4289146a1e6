"""The fast suite stays fast: what a test may do in it, counted and not timed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import countveil as cv
from tests.fast_suite import (
    HERE,
    MOST_PROCESSES,
    MOST_RELEASES,
    MOST_ROWS,
    WITH_PROCESSES,
    Work,
    counting,
    few_of,
    leave_few,
    nobody_s,
    too_much,
)

# More files with processes are more seconds in every run: first see whether `quick` would do.
MOST_FILES_WITH_PROCESSES = 45
LISTED = sorted(WITH_PROCESSES)


def test_processes_are_started_in_few_files_which_exist() -> None:
    assert len(WITH_PROCESSES) <= MOST_FILES_WITH_PROCESSES
    assert not [name for name in LISTED if not (HERE / name).is_file()]
    assert (HERE / "with_processes.txt").read_text().split() == LISTED


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (Work(processes=MOST_PROCESSES + 1), f"starts {MOST_PROCESSES + 1} processes"),
        (Work(releases=MOST_RELEASES + 1), f"publishes {MOST_RELEASES + 1} releases"),
        (Work(rows=MOST_ROWS + 1), f"publishes {MOST_ROWS + 1:,} rows"),
    ],
)
def test_a_test_that_does_too_much_is_told(work: Work, said: str) -> None:
    assert said in too_much(work, LISTED[0])
    assert not too_much(Work(MOST_PROCESSES, MOST_RELEASES, MOST_ROWS), LISTED[0])


def test_elsewhere_no_process_is_started() -> None:
    assert "starts 1 processes, of 0" in too_much(Work(processes=1), "maths/test_any.py")
    assert not too_much(Work(), "maths/test_any.py")


def test_processes_releases_and_rows_are_counted(tmp_path: Path) -> None:
    with counting() as outer, counting() as work:
        subprocess.run([sys.executable, "-S", "-c", ""], check=True)
        release = cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "release")
    assert (work.processes, work.releases, work.rows) == (1, 1, release.rows)
    assert vars(outer) == vars(work)


def test_what_fixtures_set_up_is_not_counted(tmp_path: Path) -> None:
    with counting() as work:
        with nobody_s():
            cv.publish(cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "shared")
        assert vars(work) == vars(Work())
        cv.publish(cv.generate(400, seed=2), {"occupation": 3}, tmp_path / "release")
    assert (work.releases, work.rows) == (1, 400)


def cases(names: list[tuple[str, int]], *few: int, **more: int) -> list[pytest.Item]:
    mark = pytest.mark.few(*few, **more).mark
    made = [
        SimpleNamespace(
            name=f"test[{letter}-{number}]",
            callspec=SimpleNamespace(params={"letter": letter, "number": number}),
            get_closest_marker=lambda name: mark if name == "few" else None,
        )
        for letter, number in names
    ]
    return cast("list[pytest.Item]", made)


ALL = [(letter, number) for letter in "abcde" for number in range(9)]


def test_few_cases_have_every_value_of_every_parameter() -> None:
    kept: list[Any] = few_of(cases(ALL))
    assert {case.callspec.params["letter"] for case in kept} == set("abcde")
    assert {case.callspec.params["number"] for case in kept} == set(range(9))
    assert len(kept) < len(ALL) / 2


def test_so_many_cases_are_kept_whatever_their_order_and_others() -> None:
    kept = [case.name for case in few_of(cases(ALL, 7))]
    assert len(kept) == 7
    assert [case.name for case in few_of(cases(ALL[::-1], 7))] == kept
    without = [name for name in ALL if f"test[{name[0]}-{name[1]}]" != kept[0]]
    assert [case.name for case in few_of(cases(without, 6))] == kept[1:]


def test_of_the_others_so_many_are_slow_as_the_mark_says() -> None:
    few: list[Any] = [*cases(ALL, 7, slow=12)]
    marked: list[tuple[str, str]] = []
    for case in few:
        case.nodeid = case.name
        case.add_marker = lambda mark, name=case.name: marked.append((mark, name))
    leave_few(few)
    marks = [mark for mark, _ in marked]
    assert (marks.count("slow"), marks.count("long")) == (12, len(ALL) - 7 - 12)
    names = {name for _, name in marked}
    assert len(names) == len(ALL) - 7
    assert not names & {case.name for case in few_of(few)}


def test_every_test_is_in_one_of_the_suites() -> None:
    recipes = (HERE.parent / "Makefile").read_text()
    assert '-m "not slow and not long and not browser and not faults" ' in recipes
    for rest in ("(slow or hypothesis) and not long", "long"):
        marked = f'-m "{rest} and not browser and not faults"'
        assert f"COUNTVEIL_THOROUGH=1 $(PYTEST) --dist loadgroup {marked}\n" in recipes
    assert "-m pytest -m browser tests/web/browser\n" in recipes
    assert "-m faults tests/faults\n" in recipes
    run = (HERE.parent / ".ci/run").read_text().splitlines()
    assert {"make test", "make test-slow", "make test-browser", "make test-faults"} <= set(run)
