"""A publication that is killed at its n-th step, for every n: run by test_agreement.py.

    python killed.py FOLDER FIRST SECOND

FIRST and SECOND are Parquet files. For each n, a ledger publishes FIRST, and a process that is
killed at step n publishes SECOND. Prints one line of JSON for each: what was left.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb as duckdb  # noqa: PLC0414 - loaded once here, not by every child
from pyarrow import parquet  # noqa: F401

import countveil as cv
import countveil.publishing.again.session
import countveil.publishing.publish
import countveil.report.release_page
from countveil.publishing.ledger.book import open_book
from countveil.publishing.ledger.store import Store
from countveil.release.draft import Draft

OPTIONS: dict[str, Any] = {
    "sensitive": {"diagnosis": 3}, "person": "patient", "keep": ["number"], "force": True,
}  # fmt: skip


class Steps:
    """Counts steps, and kills the process at one of them."""

    def __init__(self, deadly: int) -> None:
        self._deadly, self._done = deadly, 0

    def step(self) -> None:
        """One more."""
        self._done += 1
        if self._done == self._deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: Any, name: str) -> None:
        """Let a function be two steps, before and after."""
        inner: Callable[..., Any] = getattr(owner, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.step()
            result = inner(*args, **kwargs)
            self.step()
            return result

        setattr(owner, name, counted)


def watched(steps: Steps) -> None:
    """Every write that others see, and every sync."""
    for owner, names in (
        (os, ("fsync",)),
        (Path, ("rename",)),
        (Store, ("add", "add_cases", "set_state", "take_back")),
        (Draft, ("_put_in_place", "discard")),
        (shutil, ("rmtree",)),
    ):
        for name in names:
            steps.around(owner, name)


def in_child(work: Callable[[], None]) -> int:
    """Do it in another process; its exit code, negative if it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the parent wants to know
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def publish(folder: Path, table: str) -> None:
    cv.publish(table, to=folder / "release", ledger=folder / "ledger", **OPTIONS)


def state(folder: Path) -> dict[str, Any]:
    """Release and ledger, as a stranger finds them."""
    with open_book(folder / "ledger", folder / "ledger.key", write=False) as book:
        states = [release.state for release in book.releases]
        batches = [batch.number for batch in book.batches(book.sets[0])]
    mark = cv.open(folder / "release").manifest.ledger
    return {"states": states, "batches": batches, "release": mark.release if mark else None}


def main(place: Path, first: str, second: str) -> None:
    start = place / "start"
    start.mkdir()
    cv.Ledger.init(start / "ledger")
    in_child(lambda: publish(start, first))
    for deadly in itertools.count(1):
        folder = place / str(deadly)
        shutil.copytree(start, folder)

        def work(folder: Path = folder, deadly: int = deadly) -> None:
            watched(Steps(deadly))
            publish(folder, second)

        code = in_child(work)
        line: dict[str, Any] = {"step": deadly, "code": code}

        def left(folder: Path = folder, line: dict[str, Any] = line) -> None:
            line["after"] = state(folder)
            publish(folder, second)
            line["again"] = state(folder)
            line["leftovers"] = [
                each.name for each in folder.iterdir() if each.name.startswith(".release")
            ]
            line["differences"] = len(cv.Ledger(folder / "ledger").verify(folder / "release"))
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

        if in_child(left) or code >= 0:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
