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
from dataclasses import dataclass, replace
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
from countveil.tables.encoded.vectors import Vectors, vector_keys
from countveil.tables.progress import Progress

Numbers = NDArray[np.int64]

# Values with fewer cases share one figure: of very few, it could be that of a single person.
FEWEST_CASES = 20


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of some columns: the vectors of `person` and the columns that occur.

    `values` has the value of every case, by number; for several columns, that of their vector.
    `places` has, for each of the columns, the place of every such value in it.
    """

    person: str
    columns: tuple[str, ...]
    vectors: Vectors
    values: Numbers
    places: tuple[Numbers, ...]

    @classmethod
    def of(
        cls,
        source: SourceTable,
        person: str,
        columns: tuple[str, ...],
        without: Numbers | None = None,
    ) -> Cases:
        """Find them, in all rows but those with the numbers `without`."""
        vectors = source.vectors((person, *columns), without)
        (_, *places), sizes = vectors.columns, vectors.sizes[1:]
        if len(columns) == 1:
            return cls(person, columns, vectors, places[0], (np.arange(sizes[0]),))
        keys, values = np.unique(vector_keys(places, sizes), return_inverse=True)
        known = tuple(place.astype(np.int64) for place in np.unravel_index(keys, sizes))
        return cls(person, columns, vectors, values, known)

    def only(self, chosen: NDArray[np.bool_]) -> Cases:
        """Some of the cases."""
        return replace(self, vectors=self.vectors.only(chosen), values=self.values[chosen])

    @property
    def n_values(self) -> int:
        """How many values there are, or vectors that occur."""
        return self.places[0].size

    def counts_of(self, column: int) -> Numbers:
        """How many cases have each value of one of the columns."""
        size = self.vectors.sizes[1 + column]
        return np.bincount(self.places[column][self.values], minlength=size).astype(np.int64)

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
        published = [places[drawn.values] for places in self.places]
        return DrawnCases(self.person, self.columns, self.vectors, published, drawn.crowded)


def find_cases(source: SourceTable, person: str, protecting: Protecting) -> Mapping[str, Cases]:
    """The cases of every set of columns that has one draw, by the first of its columns."""
    check_cases(protecting)
    return {names[0]: Cases.of(source, person, names) for names in protecting.draws}


def check_cases(protecting: Protecting) -> None:
    """Refuse what is not possible for cases."""
    for name, choice in protecting.columns.items():
        _check(name, choice)


def _check(name: str, choice: ColumnSettings) -> None:
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
    tables = {
        name: rows_published(one, column)
        for one in drawn.values()
        for column, name in enumerate(one.columns)
    }
    return tables, Drawn({}, cases=tuple(drawn.values()))


def rows_published(drawn: DrawnCases, column: int = 0) -> PublishedTable:
    """How many rows with each true value of one of the columns publish which one."""
    size = drawn.vectors.sizes[1 + column]
    tally = Tally(size)
    true, published = drawn.vectors.columns[1 + column], drawn.published[column]
    tally.add_counts(true * size + published, drawn.vectors.counts)
    return tally.table()


def about_crowded(cases: Sequence[DrawnCases]) -> list[str]:
    """For the publisher: cases of a person that share a group, if there are such."""
    return [_about_crowded(drawn) for drawn in cases if drawn.crowded]


def _about_crowded(drawn: DrawnCases) -> str:
    names = " and ".join(map(repr, drawn.columns))
    return (
        f"{drawn.crowded:,} of {drawn.vectors.keys.size:,} cases of {names} share a group with "
        f"another case of their person, and hide behind each other: a person of whom a group has k "
        f"cases publishes one of the person's own values with k times the probability, and has "
        f"k - 1 decoys less. This is so where a person has more cases than there are groups, or "
        f"too few others have the same values. A smaller ell, fewer different values, or one row "
        f"of each person ({option('one_per')}) avoid it."
    )


def rows_per_case(drawn: DrawnCases, values: Sequence[Any]) -> Mapping[Any, float]:
    """For each published value, the mean number of rows of the cases that publish it.

    It is rounded so far that the number of cases is uncertain by up to half its square root, as the
    draw makes it uncertain anyway. Values with few cases share one number.
    """
    rows, published = drawn.vectors.counts, drawn.published[0]
    cases = np.bincount(published, minlength=len(values))
    in_rows = np.bincount(published, rows, len(values))
    few = cases < FEWEST_CASES
    rare = _rare_mean(in_rows[few], cases[few], drawn)
    return {
        values[place]: rare if few[place] else _rounded(in_rows[place], cases[place])
        for place in np.flatnonzero(cases).tolist()
    }


def cases_per_vector(drawn: DrawnCases) -> tuple[list[Numbers], Numbers]:
    """The published vectors, by the places of their values, and about how many cases publish each.

    It follows from how many rows publish a vector, which anybody can count, and from mean numbers
    of rows that are rounded as those of `rows_per_case`. Every published vector has a case; of
    those with few cases, the other rows share the other cases.
    """
    sizes = drawn.vectors.sizes[1:]
    keys, number = np.unique(vector_keys(drawn.published, sizes), return_inverse=True)
    cases = np.bincount(number, minlength=keys.size)
    rows = np.bincount(number, drawn.vectors.counts, keys.size)
    told = np.ones(keys.size, np.int64)
    few = cases < FEWEST_CASES
    for place in np.flatnonzero(~few).tolist():
        told[place] = round(rows[place] / _rounded(rows[place], cases[place]))
    if few.any():
        mean, others = _rare_mean(rows[few], cases[few], drawn), rows[few] - 1
        share = (others.sum() + few.sum()) / mean - few.sum()
        spread = np.clip(share / max(1.0, others.sum()), 0.0, 1.0) * others
        # Rounded so that sums over neighbours are right.
        told[few] += np.diff(np.rint(np.cumsum(spread)), prepend=0.0).astype(np.int64)
    return [place.astype(np.int64) for place in np.unravel_index(keys, sizes)], told


def mean_rows(drawn: DrawnCases) -> float:
    """The mean number of rows of all cases, rounded likewise."""
    return _rounded(float(drawn.vectors.counts.sum()), drawn.vectors.counts.size)


def design_effect(drawn: DrawnCases) -> float:
    """By how much rows of a case that publish alike raise the variance of a count of rows.

    Rounded as the other figures are, but up, so that no interval becomes too short.
    """
    rows = drawn.vectors.counts.astype(np.float64)
    effect = float((rows**2).sum() / rows.sum())
    unit = _unit(effect, rows.size)
    return math.ceil(effect / unit) * unit


def _rare_mean(rows: NDArray[Any], cases: NDArray[Any], drawn: DrawnCases) -> float:
    """The one number for values with few cases."""
    if cases.sum() < FEWEST_CASES:
        return mean_rows(drawn)
    return _rounded(rows.sum(), cases.sum())


def _rounded(rows: float, cases: float) -> float:
    mean = float(rows) / float(cases)
    unit = _unit(mean, cases)
    return max(1.0, round(mean / unit) * unit)


def _unit(figure: float, cases: float) -> float:
    """In which steps a figure of so many cases is published, a power of two."""
    return 2.0 ** math.floor(math.log2(figure / (2 * math.sqrt(cases))))
