"""Three counts of the same release, one large, one of a hundredth, one of five people.

Enters: a seed, ell, how many rows. Leaves: the true counts beside what an analyst gets. Must not
know: pages, pictures.

10,000 people are made up, and a larger table has each of them several times. Occupations are
protected: groups, draw and deal are the mechanism's, estimates, intervals and verdicts those that
a release answers with by default. Nobody is looked at one by one: how many people of a part publish
what is dealt as it is to the partitions of a large table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import view_of_release
from countveil.maths.estimate import ALWAYS, NEVER, Estimate, Tallies, make_estimator, verdicts
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.mechanism import PublishedTable, draw_column
from countveil.maths.mechanism.split import owners_of, take_first
from countveil.randomness import Randomness
from countveil.synthetic import people

Counts = NDArray[np.int64]

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
STREET, FEW = 50, 5
LEVEL, WITHIN = 0.95, 0.10
_PEOPLE = 10_000
# Parts of the table, and the conditions of the questions as numbers of a tally.
IN_STREET, YOUNG = 0, 1
_YOUNGER_THAN = 35
_SHOP_OR_OFFICE = (
    "retail salesperson", "cashier", "office clerk", "secretary", "customer service agent",
    "accountant", "bookkeeper", "bank teller", "real estate agent",
)  # fmt: skip
_NURSE = "nurse"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its true answer, and what the release answers."""

    name: str
    truth: int
    answer: Estimate


@dataclass(frozen=True, slots=True)
class Answers:
    """All questions to one release; `ell` is the largest possible one, if that is smaller."""

    rows: int
    ell: int
    questions: tuple[Question, ...]


@lru_cache(maxsize=64)
def answers(seed: int, ell: int, rows: int) -> Answers:
    """Publish a table of so many rows and ask it."""
    parts, occupations = table_of(seed, rows)
    published, used = publish(seed, ell, rows)
    view = view_of_release(published.sum(axis=0), rows, used, "mixed")
    truths = np.eye(len(parts), dtype=bool)[:, :2]
    moments = published.astype(np.float64)[None, None]
    tallies = Tallies(truths, moments, np.zeros((2, 0, 1, len(parts))), [view], [False])
    many, nurses = np.isin(occupations, _SHOP_OR_OFFICE), np.isin(occupations, [_NURSE])
    asked = (
        ("work in a shop or an office", many, ALWAYS, parts[:, many]),
        (f"are nurses younger than {_YOUNGER_THAN}", nurses, YOUNG, parts[YOUNG, nurses]),
        (f"are nurses in a street of {STREET} people", nurses, IN_STREET,
         parts[IN_STREET, nurses]),
    )  # fmt: skip
    questions = tuple(
        Question(name, int(true.sum()), _answer(tallies, np.where(values, condition, NEVER)))
        for name, values, condition, true in asked
    )
    return Answers(rows, used, questions)


def publish(seed: int, ell: int, rows: int) -> tuple[Counts, int]:
    """How many rows of each part publish each value, and the ell that the table allows."""
    randomness, (parts, _) = Randomness(seed), table_of(seed, rows)
    counts = parts.sum(axis=0)
    used = min(ell, largest_ell(counts))
    label = ("play", "sizes", str(rows), str(used))
    streams = randomness.stream(*label, "groups"), randomness.stream(*label, "draw")
    drawn = draw_column(counts, ColumnSettings(used), streams)
    return _dealt(drawn, parts, randomness, label), used


def _answer(tallies: Tallies, condition_of: Counts) -> Estimate:
    estimator = make_estimator("shrunk", "exact", LEVEL)
    total = tallies.total(condition_of, None)
    cells = estimator.counts(estimator.evidence(tallies), total)
    (verdict,) = verdicts(cells.flat(), total.rows.ravel(), WITHIN)
    estimate, error, low, high = (float(array.ravel()[0]) for array in cells.arrays())
    return Estimate(estimate, error, low, high, verdict)


def _dealt(
    drawn: PublishedTable, parts: Counts, randomness: Randomness, label: tuple[str, ...]
) -> Counts:
    """How many rows of each part publish each value."""
    owners, left = owners_of(drawn), drawn.counts
    published = []
    for number, wanted in enumerate(parts[:-1]):
        taken = take_first(left, owners, wanted, randomness.stream(*label, "deal", str(number)))
        published.append(taken)
        left = left - taken
    published.append(left)
    return np.array(
        [np.bincount(drawn.values, cells, drawn.n_values).astype(np.int64) for cells in published]
    )


@lru_cache(maxsize=16)
def table_of(seed: int, rows: int) -> tuple[Counts, tuple[str, ...]]:
    """How many people of each part have each occupation: the street, the young, all others."""
    table = people(Randomness(seed).stream("play", "sizes"), _PEOPLE)
    occupation, names = table["occupation"]
    assert names is not None  # noqa: S101 - occupations have names
    here = min(rows, _PEOPLE)
    occupation, young = occupation[:here], table["age"][0][:here] < _YOUNGER_THAN
    nurse = occupation == names.index(_NURSE)
    street = np.zeros(here, bool)
    for chosen, size in ((nurse, FEW), (~nurse, STREET - FEW)):
        street[np.flatnonzero(chosen & ~young)[:size]] = True
    part = np.select([street, young], [IN_STREET, YOUNG], 2)
    once = np.zeros((3, len(names)), np.int64)
    np.add.at(once, (part, occupation), 1)
    every = once * (rows // here)
    # The street is one street, however large the table: its other copies live elsewhere.
    every[2] += every[IN_STREET] - once[IN_STREET]
    every[IN_STREET] = once[IN_STREET]
    return every, names
