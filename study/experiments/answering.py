"""How long an answer takes, and how many rounds the iteration needs: two sensitive attributes.

As in the paper: SQLite counts each of the eight components of y (in the predicate or not, with the
one value or not, with the other or not), then the iteration runs until nothing moves by more than
1%; it is timed for all questions together, since one by one Python would be timed. With ours:
`Release.count` one by one, after a first question that opens the files, and `Release.counts` with
all questions at once. Both on the same questions about the same people.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import countveil as cv
from countveil.comparing.baselines import DecoyGroups
from countveil.maths.paper.iteration import PAPER_TOLERANCE, bayes_step
from countveil.randomness import Stream
from study.data import StudyTable
from study.experiments.common import DEFAULT_ELL, Parameters, Row, Scale, randomness_of
from study.experiments.two_columns import ASKED, published_pair

Question = tuple[dict[str, int], int, int]
_NAMES = (*ASKED, "Occupation", "AgeClass")
# As in `bayes_counts`.
_STILL, _MOST_ROUNDS = 1e-7, 20_000


def cells(scale: Scale) -> list[Parameters]:
    """One cell each."""
    return [
        {"rows": scale.rows, "method": method, "asked": scale.asked}
        for method in ("paper", "ours", "ours-together")
    ]


def measure(table: StudyTable, rows: int, method: str, asked: int) -> list[Row]:
    """One row per question."""
    table = table.first(rows)
    questions = _questions(table, asked, randomness_of("answering", rows).stream("questions"))
    return _ANSWERED[method](table, questions)


def _questions(table: StudyTable, asked: int, stream: Stream) -> list[Question]:
    """Predicates as in the pools, with the values of one person and of two others."""
    found = []
    for _ in range(asked):
        many = 1 + int(stream.below(3, 1)[0])
        chosen = [ASKED[place] for place in stream.choose(many, len(ASKED)).tolist()]
        person, one, other = stream.below(table.rows, 3).tolist()
        where = {name: int(table.columns[name][person]) for name in chosen}
        found.append((where, int(table.occupation[one]), int(table.age_class[other])))
    return found


def _as_in_the_paper(table: StudyTable, questions: list[Question]) -> list[Row]:
    shape = table.size("Occupation"), table.size("AgeClass")
    choices = DecoyGroups.as_in_the_paper(DEFAULT_ELL)
    columns = table.occupation, table.age_class
    published, views = published_pair(choices, columns, shape, ("answering", table.rows))
    plain = [table.columns[name] for name in ASKED]
    components, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(Path(folder) / "release.db")
        _fill(base, [*plain, *published])
        for question in questions:
            start = time.perf_counter()
            components.append(_eight_counts(base, question).ravel())
            seconds.append(time.perf_counter() - start)
        base.close()
    start = time.perf_counter()
    rounds = _rounds(np.array(components).T, float(table.rows), [view.keep for view in views])
    each = (time.perf_counter() - start) / len(questions)
    return [
        _row("paper", number, tally, each, int(needed))
        for number, (tally, needed) in enumerate(zip(seconds, rounds, strict=True))
    ]


def _rounds(y: NDArray[np.float64], rows: float, keeps: list[float]) -> NDArray[np.int64]:
    """Iterate all questions (columns) side by side; how many rounds each took to rest at 1%.

    One by one, most of the time would be Python's; side by side, it is that of the arithmetic.
    """
    x, needed = y.copy(), np.zeros(y.shape[1], np.int64)
    moving = np.arange(y.shape[1])
    while moving.size and needed.max() < _MOST_ROUNDS:
        before = x[:, moving]
        after = bayes_step(before, y[:, moving], rows, keeps, "printed")
        x[:, moving] = after
        needed[moving] += 1
        moved = np.abs(after - before) > np.maximum(PAPER_TOLERANCE * before, _STILL)
        moving = moving[moved.any(axis=0)]
    return needed


def _fill(base: sqlite3.Connection, columns: list[NDArray[np.int64]]) -> None:
    base.execute(f"CREATE TABLE release ({', '.join(f'{name} INTEGER' for name in _NAMES)})")
    marks = ", ".join("?" for _ in _NAMES)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    base.executemany(f"INSERT INTO release VALUES ({marks})", rows)
    base.commit()


def _eight_counts(base: sqlite3.Connection, question: Question) -> NDArray[np.float64]:
    """By predicate, first and second value: not (0) or met (1)."""
    where, one, other = question
    predicate = " AND ".join(f"{name} = {value}" for name, value in where.items())
    met = np.empty((2, 2, 2))
    for inside, first, second in product((0, 1), repeat=3):
        conditions = (
            predicate if inside else f"NOT ({predicate})",
            f"Occupation {'=' if first else '<>'} {one}",
            f"AgeClass {'=' if second else '<>'} {other}",
        )
        text = f"SELECT count(*) FROM release WHERE {' AND '.join(conditions)}"
        met[inside, first, second] = base.execute(text).fetchone()[0]
    return met


def _ours(table: StudyTable, questions: list[Question]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        release = _release(table, Path(folder))
        release.count(_where(questions[0]), Occupation=questions[0][1], AgeClass=questions[0][2])
        found = []
        for number, (where, one, other) in enumerate(questions):
            start = time.perf_counter()
            release.count(_where((where, one, other)), Occupation=one, AgeClass=other)
            found.append(_row("ours", number, time.perf_counter() - start, None, None))
    return found


def _together(table: StudyTable, questions: list[Question]) -> list[Row]:
    asked = [
        f"{_where(question)} AND Occupation = {question[1]} AND AgeClass = {question[2]}"
        for question in questions
    ]
    with tempfile.TemporaryDirectory() as folder:
        release = _release(table, Path(folder))
        release.counts(asked[:1])
        start = time.perf_counter()
        release.counts(asked)
        each = (time.perf_counter() - start) / len(asked)
    return [_row("ours-together", 0, each, None, None)]


def _release(table: StudyTable, folder: Path) -> cv.Release:
    people = pa.table({name: table.columns[name] for name in _NAMES})
    sensitive = {"Occupation": DEFAULT_ELL, "AgeClass": DEFAULT_ELL}
    return cv.publish(people, sensitive, folder / "release", seed=1, keep=list(ASKED))


def _where(question: Question) -> str:
    return " AND ".join(f"{name} = {value}" for name, value in question[0].items())


def _row(method: str, number: int, tally: float, iterate: float | None, rounds: int | None) -> Row:
    return {
        "method": method,
        "question": number,
        "tally_seconds": round(tally, 6),
        "iterate_seconds": None if iterate is None else round(iterate, 6),
        "rounds": rounds,
    }


_ANSWERED = {"paper": _as_in_the_paper, "ours": _ours, "ours-together": _together}
