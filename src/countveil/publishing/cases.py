"""Persons with several rows: their cases, and what each case publishes.

Enters: the prepared table, the column that identifies persons, settings. Leaves: the cases of each
set of columns that has one draw; what they publish, by case and as counts of rows; the figures that
an analyst needs. Must not know: how groups are formed, where the release goes. Theory:
docs/theory/cases.md.

A case is a person with one value (with one vector of values, if columns are published together).
It is drawn once, and all rows of the person with this value publish what was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.engines.drawn import Drawn, DrawnCases
from countveil.errors import SettingsError, option
from countveil.maths.groups import ColumnSettings
from countveil.maths.mechanism import PublishedTable
from countveil.maths.mechanism.cases import draw_cases
from countveil.maths.mechanism.draw import Tally
from countveil.publishing.counting import Counted
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.tables.encoded.vectors import Vectors
from countveil.tables.progress import Progress

Numbers = NDArray[np.int64]

# Values with fewer cases share one figure: of very few, it could be that of a single person.
_FEWEST_CASES = 20


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of some columns: the vectors of `person` and the columns that occur.

    `values` has the value of every case, by number; for several columns, that of their vector.
    """

    person: str
    columns: tuple[str, ...]
    vectors: Vectors
    values: Numbers
    n_values: int

    @classmethod
    def of(cls, source: SourceTable, person: str, columns: tuple[str, ...]) -> Cases:
        """Find them."""
        vectors = source.vectors((person, *columns))
        _, *places = vectors.columns
        return cls(person, columns, vectors, places[0], vectors.sizes[1])

    @property
    def counts(self) -> Numbers:
        """How many cases have each value."""
        return np.bincount(self.values, minlength=self.n_values).astype(np.int64)

    def draw(
        self,
        settings: ColumnSettings,
        common: Sequence[int],
        randomness: Randomness,
        progress: Progress,
    ) -> DrawnCases:
        """What every case publishes."""
        stage = f"grouping {', '.join(self.columns)}"
        progress(stage, 0, 0)
        rows = int(self.vectors.counts.sum())
        streams = (
            randomness.stream("groups", *self.columns),
            randomness.stream("draw", *self.columns),
        )
        drawn = draw_cases(
            self.values,
            self.vectors.columns[0],
            self.n_values,
            settings,
            streams,
            common,
            lambda share: progress(stage, int(share * rows), rows),
        )
        return DrawnCases(self.person, self.columns, self.vectors, [drawn.values])


def find_cases(source: SourceTable, person: str, protecting: Protecting) -> Mapping[str, Cases]:
    """The cases of every sensitive column."""
    for name, choice in protecting.columns.items():
        _check(name, choice, protecting)
    return {name: Cases.of(source, person, (name,)) for name in protecting.columns}


def _check(name: str, choice: ColumnSettings, protecting: Protecting) -> None:
    if protecting.together:
        raise SettingsError(
            f"Persons have several rows, and columns are to be published together: this is not "
            f"possible so far. Leave {option('together')} out, or keep one row of each person."
        )
    if choice.odds is not None:
        raise SettingsError(
            f"A bound on the odds of {name!r} is said of one row, and persons have several. Leave "
            f"{option('odds')} out, or keep one row of each person."
        )
    if choice.residue == "drop":
        raise SettingsError(
            f"Persons have several rows, so that no single rows can be left out. Leave "
            f"{option('residue', 'drop')} out: nothing is lost then."
        )


def draw_all(
    counted: Counted, protecting: Protecting, randomness: Randomness, progress: Progress
) -> tuple[dict[str, PublishedTable], Drawn]:
    """What the cases of every column publish, and how many rows that is."""
    drawn = {
        name: cases.draw(
            protecting.columns[name], counted.common.get(name, ()), randomness, progress
        )
        for name, cases in counted.cases.items()
    }
    tables = {name: rows_published(one) for name, one in drawn.items()}
    return tables, Drawn({}, cases=tuple(drawn.values()))


def rows_published(drawn: DrawnCases) -> PublishedTable:
    """How many rows with each true value publish which one."""
    size = drawn.vectors.sizes[1]
    tally = Tally(size)
    true, published = drawn.vectors.columns[1], drawn.published[0]
    tally.add_counts(true * size + published, drawn.vectors.counts)
    return tally.table()


def rows_per_case(drawn: DrawnCases, values: Sequence[Any]) -> Mapping[Any, float]:
    """For each published value, the mean number of rows of the cases that publish it.

    It is rounded so far that the number of cases is uncertain by up to half its square root, as the
    draw makes it uncertain anyway. Values with few cases share one number.
    """
    rows, published = drawn.vectors.counts, drawn.published[0]
    cases = np.bincount(published, minlength=len(values))
    in_rows = np.bincount(published, rows, len(values))
    few = cases < _FEWEST_CASES
    rare = mean_rows(drawn)
    if cases[few].sum() >= _FEWEST_CASES:
        rare = _rounded(in_rows[few].sum(), cases[few].sum())
    return {
        values[place]: rare if few[place] else _rounded(in_rows[place], cases[place])
        for place in np.flatnonzero(cases).tolist()
    }


def mean_rows(drawn: DrawnCases) -> float:
    """The mean number of rows of all cases, rounded likewise."""
    return _rounded(float(drawn.vectors.counts.sum()), drawn.vectors.counts.size)


def design_effect(drawn: DrawnCases) -> float:
    """By how much rows of a case that publish alike raise the variance of a count of rows.

    Rounded up, so that no interval becomes too short.
    """
    rows = drawn.vectors.counts.astype(np.float64)
    return math.ceil(float((rows**2).sum() / rows.sum()) * 10) / 10


def _rounded(rows: float, cases: float) -> float:
    mean = float(rows) / float(cases)
    unit = 2.0 ** math.floor(math.log2(mean / (2 * math.sqrt(cases))))
    return max(1.0, round(mean / unit) * unit)
