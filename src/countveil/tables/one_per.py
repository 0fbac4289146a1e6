"""One row of each person.

Enters: what the publisher wrote (`first by admitted`, `last by admitted`, `any`), and the columns
that it names. Leaves: which rows are kept. Must not know: other columns, engines.

Of several rows at a person's first (or last) time, one is drawn. Rows without a time come after all
others: one of them is kept, drawn as well, if the person has no other. The draws are made from a
key of 256 random bits that is kept with the choice, so that a table that is read again gives the
same rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.errors import InputError, SettingsError, option
from countveil.randomness import Randomness, TaskKey
from countveil.release.values import DATE, NUMBER, TEXT, TIMESTAMP, kind_of
from countveil.tables.cells import ISO_DATE
from countveil.tables.encoded.encoding import is_text, to_numpy

_BY = re.compile(r"\s*(first|last)\s+by\s+(\S.*?)\s*", re.IGNORECASE | re.DOTALL)
FIRST, LAST, ANY = "first", "last", "any"


@dataclass(frozen=True, slots=True)
class OnePer:
    """Which row of each value of the column `person` is kept: the first or last `by`, or any."""

    person: str
    row: str
    by: str | None = None
    key: TaskKey = field(
        default_factory=lambda: Randomness().task_key("one per"), repr=False, compare=False
    )

    @classmethod
    def of(cls, person: str, given: object) -> OnePer:
        """From what a caller may write."""
        text = str(given)
        match = _BY.fullmatch(text)
        if match is not None:
            row, by = match[1].lower(), match[2]
            if by == person:
                raise SettingsError(
                    f"{option('one_per', {person: text})}: a person cannot be its own time."
                )
            return cls(person, row, by)
        if text.strip().lower() == ANY:
            return cls(person, ANY)
        raise SettingsError(
            f"Which row of each {person!r} is kept? Write 'first by COLUMN', 'last by COLUMN' or "
            f"'any'; got {text[:40]!r}."
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the choice reads."""
        return (self.person,) if self.by is None else (self.person, self.by)

    def seeded(self, seed: int | None) -> OnePer:
        """The same with draws that the seed decides, if there is one."""
        if seed is None:
            return self
        return OnePer(self.person, self.row, self.by, Randomness(seed).task_key("one per"))

    def kept(self, person: pa.ChunkedArray[Any], by: pa.ChunkedArray[Any] | None) -> Kept:
        """Which rows are kept; `by` is the column of that name."""
        check_persons(self.person, person.null_count)
        persons = to_numpy(_encoded(person).indices).astype(np.int64)
        times = np.zeros(persons.size, np.int64) if by is None else self._places(by)
        random = self.key.stream("rows").words(persons.size)
        order = np.lexsort((random, times, persons))
        same_person = persons[order[1:]] == persons[order[:-1]]
        first = np.append(True, ~same_person)[: order.size]
        kept = np.zeros(order.size, bool)
        kept[order[first]] = True
        same_time = times[order[1:]] == times[order[:-1]]
        tied = first[:-1] & same_person & same_time
        return Kept(kept, int(tied.sum()) if by is not None else 0)

    def _places(self, by: pa.ChunkedArray[Any]) -> NDArray[np.int64]:
        """The place of each time in the wanted order; rows without one come last."""
        check_time(str(self.by), str(by.type))
        encoded = _encoded(by)
        if is_text(by.type) and not _are_dates(encoded.dictionary):
            raise no_times(str(self.by))
        order = to_numpy(pc.sort_indices(encoded.dictionary)).astype(np.int64)
        rank = np.empty(order.size + 1, np.int64)
        rank[order] = np.arange(order.size) if self.row == FIRST else -np.arange(order.size)
        rank[-1] = order.size
        places: NDArray[np.int64] = rank[to_numpy(encoded.indices, order.size)]
        return places


@dataclass(frozen=True, slots=True)
class Kept:
    """A mark for each row that is kept; of how many persons the time alone did not decide."""

    rows: NDArray[np.bool_]
    tied: int


def check_persons(person: str, missing: int) -> None:
    """Every row must have a person."""
    if missing:
        raise InputError(
            f"Column {person!r} identifies persons, but {missing:,} rows have no value in it. "
            f"Complete it, or remove these rows first with {option('where')}."
        )


def check_time(by: str, type_name: str) -> None:
    """Only what has an order in time, or a number, says which row is the first."""
    if kind_of(type_name) not in (NUMBER, DATE, TIMESTAMP, TEXT):
        raise SettingsError(
            f"Column {by!r} holds {type_name[:40]} values, which say of no row that it is the "
            f"first or the last. Dates, times and numbers do."
        )


def no_times(by: str) -> InputError:
    """The error for a text that is sorted by the alphabet, and not by time."""
    return InputError(
        f"Column {by!r} is text, and not all of it is dates written as 2024-12-31, so it does not "
        f"say which row of a person is the first or the last. Name what stands for a missing value "
        f"with {option('missing')}, or correct the cells."
    )


def tied_sentence(one_per: OnePer, tied: int) -> str:
    """What the publisher should know about persons with several rows at the same time."""
    return (
        f"{tied:,} persons have several rows at their {one_per.row} {one_per.by!r}; one of these "
        f"was drawn."
    )


def _encoded(column: pa.ChunkedArray[Any]) -> Any:
    """All rows as codes into one dictionary."""
    together: Any = column.combine_chunks()
    if hasattr(together, "chunks"):
        together = pa.concat_arrays(together.chunks) if together.num_chunks else column.chunk(0)
    return together if isinstance(together, pa.DictionaryArray) else together.dictionary_encode()


def _are_dates(texts: pa.Array[Any]) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, ISO_DATE), min_count=0).as_py())
