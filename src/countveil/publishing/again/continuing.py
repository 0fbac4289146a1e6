"""A publication that continues earlier ones: known cases publish what they did, new ones are drawn.

Enters: an open ledger, the prepared table, settings. Leaves: what is counted and drawn, as for any
publication, and for every case its batch. Must not know: how groups are formed, where the release
goes, SQL. Theory: docs/theory/cases.md.

The new cases of a set of columns are a batch: groups are formed of them alone. If they are too few
or not eligible, all of them can be put on hold: their rows are left out, and come with a later
release. Single rows are never left out, which would tell something of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.engines.drawn import Drawn, DrawnCases
from countveil.errors import IneligibleError, InputError, SettingsError, option
from countveil.maths.mechanism import PublishedTable
from countveil.publishing.cases import Cases, rows_published
from countveil.publishing.counting import Counted, checked_common
from countveil.publishing.ledger.book import Book, ColumnSet
from countveil.publishing.ledger.keys import Words, identity
from countveil.publishing.prepare import PreparedTable, check_number_of_values
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.release.values import decode_value
from countveil.tables.encoded.survey import Histogram
from countveil.tables.progress import Progress

Numbers = NDArray[np.int64]
Unfit = IneligibleError | SettingsError


@dataclass(frozen=True, slots=True)
class ContinuedCases:
    """The cases of a set of columns, of which some are known.

    `batches` has the batch of every case, 0 if it is new; `published` the place of what it
    publishes in each of the columns, which for new cases means nothing yet.
    """

    columns: ColumnSet
    cases: Cases
    marks: Words
    batches: Numbers
    published: tuple[Numbers, ...]

    @property
    def new(self) -> NDArray[np.bool_]:
        """Which cases are new."""
        new: NDArray[np.bool_] = self.batches == 0
        return new


@dataclass(frozen=True, slots=True)
class DrawnSet:
    """The cases of a set, what all of them publish, and the number of the batch of new ones."""

    before: ContinuedCases
    drawn: DrawnCases
    batch: int


class Continuing:
    """One publication of a ledger. `values` has what cases of each set published, by code."""

    def __init__(
        self,
        book: Book,
        prepared: PreparedTable[SourceTable],
        protecting: Protecting,
        sets: Sequence[ColumnSet],
    ) -> None:
        self.book, self.prepared, self.protecting, self.sets = book, prepared, protecting, sets
        self.values = {columns.number: self._known_values(columns) for columns in sets}
        self.on_hold: list[ColumnSet] = []
        self.cases: list[ContinuedCases] = []
        self.common: dict[str, tuple[int, ...]] = {}

    def _known_values(self, columns: ColumnSet) -> list[tuple[Any, ...]]:
        """What was published in a set before; from now on the table has these values too."""
        types = {column.name: column.type for column in self.prepared.roles.published}
        values = [
            tuple(
                decode_value(each, types[name])
                for each, name in zip(vector, columns.columns, strict=True)
            )
            for vector in self.book.values(columns)
        ]
        for number, name in enumerate(columns.columns if values else ()):
            published = dict.fromkeys(vector[number] for vector in values)
            self.prepared.source.declare(name, list(published))
        return values

    def count(self, *, hold: bool) -> Counted:
        """The cases to draw; an error, or with `hold` rows that wait, if groups do not exist."""
        source, left_out = self.prepared.source, np.zeros(0, np.int64)
        while True:
            self.cases = [self._continued(columns, left_out) for columns in self.sets]
            self.common, unfit = self._checked(hold=hold)
            if not unfit:
                break
            self.on_hold += [each.columns for each in unfit]
            left_out = np.union1d(left_out, np.concatenate([*map(self._new_rows, unfit)]))
            if left_out.size == source.facts.rows:
                raise InputError(
                    "Nothing was published: every row has a new case, and all new cases wait until "
                    "there are more of them."
                )
        histograms = {name: source.histogram(name, left_out) for name in self.protecting.columns}
        return Counted(
            source.facts.rows - left_out.size, histograms, left_out, self.common,
            cases={each.columns.columns[0]: each.cases for each in self.cases},
        )  # fmt: skip

    def _continued(self, columns: ColumnSet, left_out: Numbers) -> ContinuedCases:
        source, person = self.prepared.source, self.prepared.person
        assert person is not None  # noqa: S101 - a ledger needs persons
        cases = Cases.of(source, person, columns.columns, left_out)
        values = [source.histogram(name).values for name in (person, *columns.columns)]
        parts = [
            list(map([identity(each) for each in known].__getitem__, places.tolist()))
            for known, places in zip(values, cases.vectors.columns, strict=True)
        ]
        marks = self.book.key.marks("\0".join(columns.columns), parts)
        batches, codes = self.book.known(columns, marks)
        published = []
        for number, known in enumerate(values[1:]):
            place_of = {value: place for place, value in enumerate(known)}
            by_code = [place_of[vector[number]] for vector in self.values[columns.number]]
            published.append(np.array([*by_code, 0])[np.where(batches > 0, codes, -1)])
        return ContinuedCases(columns, cases, marks, batches, tuple(published))

    def _checked(self, *, hold: bool) -> tuple[dict[str, tuple[int, ...]], list[ContinuedCases]]:
        """The common values of the batches, by column; and the sets whose batch has no groups."""
        common: dict[str, tuple[int, ...]] = {}
        unfit = []
        for each in self.cases:
            try:
                common |= self._common(each)
            except (IneligibleError, SettingsError) as error:
                if not hold:
                    raise self._with_ways(error, each) from error
                unfit.append(each)
        return common, unfit

    def _common(self, each: ContinuedCases) -> dict[str, tuple[int, ...]]:
        common: dict[str, tuple[int, ...]] = {}
        if not each.new.any():
            return common
        new = each.cases.only(each.new)
        for number, name in enumerate(each.columns.columns):
            histogram = Histogram(
                self.prepared.source.histogram(name).values, new.counts_of(number)
            )
            check_number_of_values(name, histogram)
            settings = self.protecting.columns[name]
            places = checked_common(name, histogram, settings, None, "among new cases ")
            common |= {name: places} if places else {}
        return common

    def _with_ways(self, error: Unfit, each: ContinuedCases) -> Unfit:
        """What can be done about new cases that are too few, or too much alike."""
        new = int(each.new.sum())
        known, names = each.new.size - new, each.columns.columns
        if not known:
            return error
        enough = new >= each.columns.ell and self.protecting.columns[names[0]].groups != "random"
        random = f", or form random groups of them with {option('groups', 'random')}"
        told = type(error)(
            f"The new cases of {', '.join(names)} are too few, or too much alike, for groups of "
            f"{each.columns.ell} different values: there are {new:,} ({known:,} others are known, "
            f"and publish what they did). Publish without the rows of the new ones, which then "
            f"wait for more, with {option('hold', True)}{random if enough else ''}. Leaving out "
            f"single rows would tell something of their values."
        )
        told.ways = [{"hold": True}, *([{"groups": "random"}] if enough else [])]
        return told

    def _new_rows(self, each: ContinuedCases) -> Numbers:
        """The numbers of the rows whose case is new."""
        names = (str(self.prepared.person), *each.columns.columns)
        return self.prepared.source.rows_of(names, each.cases.vectors, each.new)

    def draw(
        self, counted: Counted, randomness: Randomness, progress: Progress
    ) -> tuple[dict[str, PublishedTable], Drawn, list[DrawnSet]]:
        """How many rows of a true value publish which one, what is dealt, and what was drawn."""
        sets = [self._drawn(each, counted, randomness, progress) for each in self.cases]
        tables = {
            name: rows_published(each.drawn, number)
            for each in sets
            for number, name in enumerate(each.drawn.columns)
        }
        drawn = Drawn({}, cases=tuple(each.drawn for each in sets), without=counted.left_out)
        return tables, drawn, sets

    def _drawn(
        self, each: ContinuedCases, counted: Counted, randomness: Randomness, progress: Progress
    ) -> DrawnSet:
        columns, new = each.columns, each.new
        published, batches = [places.copy() for places in each.published], each.batches.copy()
        known = self.book.batches(columns) if columns in self.book.sets else []
        number = max((batch.number for batch in known), default=0) + 1
        crowded = 0
        if new.any():
            name = columns.columns[0]
            settings, common = self.protecting.columns[name], counted.common.get(name, ())
            drawn = each.cases.only(new).draw(settings, common, randomness, progress)
            crowded, batches[new] = drawn.crowded, number
            for places, of_new in zip(published, drawn.published, strict=True):
                places[new] = of_new
        cases = DrawnCases(
            each.cases.person, columns.columns, each.cases.vectors, published, crowded,
            batch=columns.batch_column, batches=batches,
        )  # fmt: skip
        return DrawnSet(each, cases, number)
