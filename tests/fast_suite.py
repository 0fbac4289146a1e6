"""Which tests are in the fast suite, and how much work one of them may do there.

Enters: the tests that were collected. Leaves: marks, and a failure for a test that does too much.
It must not know a clock: on a busy machine everything takes long. What makes a suite slow can be
counted instead: processes that are started, releases that are published, their rows.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countveil.release.draft import Draft
from countveil.release.manifest import Manifest

HERE = Path(__file__).parent
# Files with fast tests of what only a process shows: exit codes, signals, streams, imports.
WITH_PROCESSES = frozenset(HERE.joinpath("with_processes.txt").read_text().split())
MOST_PROCESSES, MOST_RELEASES, MOST_ROWS = 8, 40, 60_000
# What is marked so is in no fast suite anyway.
APART = ("slow", "long")
_STARTS = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"}


@dataclass(eq=False)
class Work:
    """What a test has done so far."""

    processes: int = 0
    releases: int = 0
    rows: int = 0


def too_much(work: Work, path: str) -> str:
    """What is said of the work of a fast test in this file; nothing if it is little enough."""
    allowed = MOST_PROCESSES if path in WITH_PROCESSES else 0
    said = []
    if work.processes > allowed:
        said.append(f"starts {work.processes} processes, of {allowed} that are allowed in {path}")
    if work.releases > MOST_RELEASES:
        said.append(f"publishes {work.releases} releases, of {MOST_RELEASES} at most")
    if work.rows > MOST_ROWS:
        said.append(f"publishes {work.rows:,} rows, of {MOST_ROWS:,} at most")
    return " and ".join(said)


_COUNTING: list[Work] = []


def _noticed(event: str, _: tuple[Any, ...]) -> None:
    if event not in _STARTS:
        return
    # From Python 3.13 on subprocess.Popen, which is counted, goes on to os.posix_spawn.
    again = event == "os.posix_spawn" and sys._getframe(1).f_globals["__name__"] == "subprocess"
    if not again:
        for work in _COUNTING:
            work.processes += 1


sys.addaudithook(_noticed)


@contextlib.contextmanager
def counting() -> Iterator[Work]:
    """What is started and published inside, in this process."""
    work, commit = Work(), Draft.commit

    @functools.wraps(commit)
    def counted(self: Draft, manifest: Manifest, *more: Any, **options: Any) -> None:
        commit(self, manifest, *more, **options)
        if work in _COUNTING:
            work.releases += 1
            work.rows += manifest.rows

    _COUNTING.append(work)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draft, "commit", counted)
        try:
            yield work
        finally:
            _COUNTING.remove(work)


@contextlib.contextmanager
def nobody_s() -> Iterator[None]:
    """What happens inside is not counted, whoever counts."""
    kept = _COUNTING[:]
    _COUNTING.clear()
    try:
        yield
    finally:
        _COUNTING[:] = kept


class Limits:
    """Fails a fast test that does too much itself; what fixtures set up is shared."""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """A test may ask for a server or a release in its midst."""
        if fixturedef.scope == "function":
            return (yield)
        with nobody_s():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        if any(map(pyfuncitem.get_closest_marker, (*APART, "browser", "faults"))):
            return (yield)
        with counting() as work:
            result = yield
        said = too_much(work, pyfuncitem.path.relative_to(HERE).as_posix())
        if said:
            pytest.fail(f"A fast test {said}. CONTRIBUTING.md says what to do.", pytrace=False)
        return result


def leave_few(items: Iterable[pytest.Item]) -> None:
    """Of tests marked `few`, mark all cases but a few as slow: the same ones in every process.

    If the mark says how many are slow, the others are long.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") and not any(map(item.get_closest_marker, APART)):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        kept = few_of(cases)
        others = [case for case in in_any_order(cases) if case not in kept]
        marker = cases[0].get_closest_marker("few")
        most = len(others) if marker is None else marker.kwargs.get("slow", len(others))
        for place, case in enumerate(others):
            case.add_marker("slow" if place < most else "long")


def few_of(cases: list[pytest.Item]) -> list[pytest.Item]:
    """So many as the mark says, or else as many as have every value of every parameter once.

    They are chosen by their names, so a new case leaves the choice of the others as it is.
    """
    cases = in_any_order(cases)
    marker = cases[0].get_closest_marker("few")
    if marker is not None and marker.args:
        return cases[: marker.args[0]]
    kept, covered = [], set[tuple[str, str]]()
    for case in cases:
        values = {(name, repr(value)) for name, value in _parameters(case).items()}
        if not values <= covered:
            kept.append(case)
            covered |= values
    return kept


def in_any_order(cases: list[pytest.Item]) -> list[pytest.Item]:
    """By their names, and yet mixed: the same order everywhere."""
    return sorted(cases, key=lambda case: zlib.crc32(case.name.encode()))


def _parameters(case: pytest.Item) -> dict[str, object]:
    callspec = getattr(case, "callspec", None)
    return {} if callspec is None else dict(callspec.params)
