"""Cells done in parallel, each kept as soon as it is finished.

Enters: cells, a table, a folder. Leaves: the rows of every cell, from the folder or measured now.
Must not know: what is measured.

A finished cell is a small JSON file, written aside and renamed: whatever ends a run, the next one
finds whole cells and does the others. A cell's file is named after the cell, the data and the code
that measures, so results of other data or of an older estimator are never taken for new ones.
Cells that read the clock are done one at a time, when all others are finished.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TypedDict

import countveil
from study.data import StudyTable
from study.experiments import EXPERIMENTS, Parameters, Row
from study.grid import Cell

Progress = Callable[[int, int, Cell], None]


class Measured(TypedDict):
    """What is kept of a cell: its rows, and what they cost."""

    rows: list[Row]
    cpu_seconds: float


# What a result depends on; pictures, pages and commands are not among it.
_MEASURING = ("maths", "comparing")
_OTHERS = re.compile(r"^from study\.experiments\.(\w+) import", re.MULTILINE)
_table: StudyTable | None = None


class Runner:
    """Does the cells of one table, with so many processes."""

    def __init__(self, table: StudyTable, folder: Path, processes: int | None = None) -> None:
        self._table = table
        self._folder = folder
        self._processes = processes or os.cpu_count() or 1
        self._digest = table.digest
        self._code = {name: code_digest(name) for name in EXPERIMENTS}

    def forget(self, cells: Sequence[Cell]) -> None:
        """Measure these anew next time."""
        for cell in cells:
            self._path(cell).unlink(missing_ok=True)

    def run(self, cells: Sequence[Cell], progress: Progress | None = None) -> dict[Cell, Measured]:
        """What all cells found; those that are kept are not measured again."""
        self._folder.mkdir(parents=True, exist_ok=True)
        tell: Progress = progress or (lambda _done, _all, _cell: None)
        waiting = [cell for cell in cells if self._kept(cell) is None]
        done = len(cells) - len(waiting)
        for some, processes in (
            ([cell for cell in waiting if not cell.timed], self._processes),
            ([cell for cell in waiting if cell.timed], 1),
        ):
            with closing(self._measured(some, processes)) as measured:
                for cell, one in measured:
                    self._keep(cell, one)
                    done += 1
                    tell(done, len(cells), cell)
        return {cell: found for cell in cells if (found := self._kept(cell)) is not None}

    def _measured(
        self, cells: Sequence[Cell], processes: int
    ) -> Generator[tuple[Cell, Measured], None, None]:
        if not cells:
            return
        left = iter(cells)
        running: dict[Future[Measured], Cell] = {}
        with self._workers(processes) as pool:
            # Few are handed out at a time: whoever stops the run waits for those alone.
            while True:
                for cell in islice(left, processes + 1 - len(running)):
                    running[pool.submit(_measure, cell.experiment, cell.parameters)] = cell
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()

    @contextmanager
    def _workers(self, processes: int) -> Iterator[ProcessPoolExecutor]:
        """Processes that have the table."""
        codes = self._folder / f"table-{self._digest}.npz"
        if not codes.exists():
            aside = codes.with_name(f"{os.getpid()}-{codes.name}")
            self._table.save(aside)
            aside.replace(codes)
        # A process of its own for each core: its libraries should not start threads as well.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        start = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, start, _begin, (str(codes),)) as pool:
            yield pool

    def _path(self, cell: Cell) -> Path:
        text = f"{self._digest} {self._code[cell.experiment]} {cell.key}"
        name = hashlib.sha256(text.encode()).hexdigest()[:24]
        return self._folder / f"{cell.experiment}-{name}.json"

    def _kept(self, cell: Cell) -> Measured | None:
        try:
            found: Measured = json.loads(self._path(cell).read_text())
        except FileNotFoundError:
            return None
        return found

    def _keep(self, cell: Cell, found: Measured) -> None:
        path = self._path(cell)
        aside = path.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(found))
        aside.replace(path)


def code_digest(experiment: str) -> str:
    """A fingerprint of the code that decides what a cell of this experiment finds."""
    package, study = Path(countveil.__file__).parent, Path(__file__).parent
    files = [
        *sorted((package / "randomness").glob("*.py")),
        study / "pool.py",
        study / "measures.py",
    ]
    files += [path for room in _MEASURING for path in sorted((package / room).rglob("*.py"))]
    waiting = [experiment, "common"]
    while waiting:
        path = study / "experiments" / f"{waiting.pop()}.py"
        if path not in files:
            files.append(path)
            waiting += _OTHERS.findall(path.read_text())
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:16]


def _begin(codes: str) -> None:
    global _table  # noqa: PLW0603 - one table for each process
    _table = StudyTable.saved(Path(codes))
    # Ctrl-C reaches every process of a terminal: the cells at hand are finished, then all end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Whatever ends the run ends its processes: nobody waits for work that never comes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _measure(experiment: str, parameters: Parameters) -> Measured:
    assert _table is not None
    before = time.process_time()
    rows = EXPERIMENTS[experiment].measure(_table, **parameters)
    return {"rows": rows, "cpu_seconds": time.process_time() - before}


class Spoken:
    """Progress on a screen: one line that is written over, or now and then a line in a log."""

    def __init__(self, *, terminal: bool, write: Callable[[str], object]) -> None:
        self._terminal, self._write = terminal, write
        self._start = self._last = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: int, everything: int, cell: Cell) -> None:
        """Tell how far it is, and how long it may take."""
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        if not self._terminal and now - self._last < 20 and done < everything:
            return
        self._last = now
        here = done - self._first + 1
        left = (now - self._start) / here * (everything - done)
        text = f"{done} of {everything} cells, {now - self._start:.0f} s, about {left:.0f} s left"
        ends = "" if self._terminal and done < everything else "\n"
        self._write(f"\r{text} ({cell.experiment})\x1b[K{ends}" if self._terminal else text + "\n")
