"""The persons of a table, where a column identifies them.

Enters: an opened table, the column that identifies persons. Leaves: whether persons have several
rows, or the error that says why they may not; how many persons have each value. Must not know:
groups, draws. It is loaded only where persons are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.errors import InputError, SettingsError, UnsafeError, option
from countveil.tables import Shaping
from countveil.tables.encoded.survey import Repeats


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
