"""The persons of a table, where a column identifies them.

Enters: an opened table, the column that identifies persons. Leaves: whether persons have several
rows, or the error that says why they may not; how many persons have each value, and one row of each
of their cases. Must not know: groups, draws. It is loaded only where persons are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.engines.local_table import LocalTable
from countveil.errors import InputError, SettingsError, UnsafeError, option
from countveil.tables import Shaping
from countveil.tables.encoded.survey import CodedColumn, Histogram, Repeats


def with_several_rows(source: SourceTable, shaping: Shaping, *, cases: bool) -> str | None:
    """The column of persons, if some of them have several rows; with `cases`, they may."""
    for person in shaping.persons:
        repeats = source.repeats(person)
        check_persons(repeats, person, cases=cases)
        if repeats.several and person in shaping.keep:
            raise SettingsError(
                f"Column {person!r} puts the rows of a person together, so it is not published "
                f"where persons have several rows. Leave {option('keep', person)} out."
            )
        if repeats.several:
            return person
    return None


def counts_of_persons(source: SourceTable, person: str, name: str) -> NDArray[np.int64]:
    """How many persons have each value of a column."""
    vectors = source.vectors((person, name))
    return np.bincount(vectors.columns[1], minlength=vectors.sizes[1]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class TriedCases:
    """What advice tries out where persons have several rows: cases, by the first row of each.

    Of counts of rows, relative errors are larger than of counts of cases, by the factor `larger`.
    """

    histogram: Histogram
    coded: CodedColumn
    plain: Mapping[str, NDArray[np.int64]]
    larger: float

    @classmethod
    def of(
        cls,
        source: LocalTable,
        person: str,
        name: str,
        sampled: CodedColumn,
        plain: Mapping[str, NDArray[np.int64]],
        most: int,
    ) -> TriedCases:
        """The cases of a column; `sampled` and `plain` are at most `most` rows of the table."""
        vectors = source.vectors((person, name))
        counts = np.bincount(vectors.columns[1], minlength=vectors.sizes[1]).astype(np.int64)
        rows = vectors.counts.astype(np.float64)
        # The same rows: samples are evenly spread.
        persons = source.sample(most, [person])[person].codes
        keys = persons * (int(sampled.codes.max(initial=0)) + 1) + sampled.codes
        first = np.sort(np.unique(keys, return_index=True)[1])
        return cls(
            Histogram(source.histogram(name).values, counts),
            replace(sampled, codes=sampled.codes[first]),
            {column: codes[first] for column, codes in plain.items()},
            float(np.sqrt((rows**2).mean()) / rows.mean()),
        )

    @property
    def note(self) -> str:
        """What has to be said of the figures."""
        return (
            f"Persons have several rows, and all figures are of cases: a person with one value "
            f"counts once. Relative errors of counts of rows are larger by a factor of about "
            f"{self.larger:.2f}."
        )


def check_advised(*, questions: bool, odds: bool, together: bool) -> None:
    """What is not tried out where persons have several rows."""
    given = {"questions": questions, "odds": odds, "together": together}
    why = {
        "questions": "your questions are about rows, and trials draw cases",
        "odds": "a bound on the odds is said of one row",
        "together": "columns have different cases apart and together, so they are not compared",
    }
    for name, wanted in given.items():
        if wanted:
            raise SettingsError(
                f"Persons have several rows, and {option(name)} is not tried out then: "
                f"{why[name]}. Leave it out, or keep one row of each person with "
                f"{option('one_per')}."
            )


def check_persons(repeats: Repeats, person: str, *, cases: bool) -> None:
    """Every row has a person; without cases, each person has one row."""
    if repeats.missing:
        raise InputError(
            f"Column {person!r} identifies persons, but {repeats.missing:,} rows have no "
            f"value in it. Complete it, or remove these rows first."
        )
    if repeats.several and not cases:
        raise UnsafeError(
            f"Each person must have one row here, and {repeats.several:,} persons in column "
            f"{person!r} have more, up to {repeats.most:,}. Every row reveals a little about its "
            f"person, and that adds up. What works: keep one row of each person, with "
            f"{option('one_per', {person: 'first by COLUMN'})} or "
            f"{option('one_per', {person: 'any'})}, or summarise the rows of each person first. If "
            f"rows are not about persons, leave {option('person')} out. 'countveil publish' lets "
            f"persons have several rows."
        )
