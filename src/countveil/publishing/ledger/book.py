"""An open ledger: sets of columns, their values and batches, what known cases published.

Enters: the file, its key; the cases of a table. Leaves: what known cases published and in which
batch, and a written record of new ones. Must not know: how groups are formed, engines, manifests.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import LedgerError, TargetError, UnconfirmedError
from countveil.publishing.ledger.keys import LedgerKey, Words
from countveil.publishing.ledger.store import DONE, LOST, PREPARED, Store, StoredCases
from countveil.randomness import fresh_key
from countveil.system.files import dead_leftovers, remove
from countveil.system.process import signals_deferred
from countveil.system.whole_files import PendingFile, pending_file, pending_place

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns that have one draw. `rules` are what must stay as it is from release to release."""

    number: int
    columns: tuple[str, ...]
    batch_column: str
    ell: int
    rules: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DrawnBatch:
    """Cases that were drawn at one time; values are known by their codes in the ledger.

    `counts` is how many cases published each value, as the first release with them told it.
    """

    number: int
    release: int
    cases: int
    groups: str
    common: tuple[int, ...]
    counts: Mapping[int, int]
    seeded: bool
    digest: str = ""


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """A release of the ledger, and where it was put.

    Attributes:
        number: Its number in the ledger.
        state: `prepared`, `done` or `lost`.
        day: The day of publication.
        rows: How many rows it has.
        target: Where it was put.
        draft: The folder in which it was made.
        manifest: The hash of its manifest.
    """

    number: int
    state: str
    day: str
    rows: int
    target: str
    draft: str
    manifest: str

    @property
    def place(self) -> tuple[str, str, str]:
        """The target, the draft that is renamed to it, and the hash of its manifest."""
        return self.target, self.draft, self.manifest


@dataclass(frozen=True, slots=True)
class Addition:
    """What a release adds to a set: new values, and at most one batch of new cases.

    `published` are the codes of what the new cases, by their `marks`, publish.
    """

    columns: ColumnSet
    values: Sequence[tuple[Any, ...]] = ()
    batch: DrawnBatch | None = None
    marks: Words = field(default_factory=lambda: np.zeros((0, 2), np.uint64))
    published: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))


class Book:
    """A ledger that is open."""

    def __init__(self, path: Path, store: Store, key: LedgerKey) -> None:
        if (key.ledger, key.check) != (store.id, store.key_check):
            raise LedgerError(
                f"The key does not belong to the ledger {path}. Name the key that was made with "
                f"it: with another one, nobody in the ledger would be recognised, and everybody "
                f"would be drawn a second time."
            )
        self.path, self._store, self._key = path, store, key
        self.id: str = store.id
        self.created: str = store.created

    @property
    def key(self) -> LedgerKey:
        """The key, for marks."""
        return self._key

    @property
    def releases(self) -> list[KnownRelease]:
        """All releases, in order."""
        return [
            KnownRelease(row.number, row.state, row.day, row.rows, *self._place(row))
            for row in self._store.releases()
        ]

    @property
    def next_release(self) -> int:
        """The number of the release to come."""
        return max((row.number for row in self._store.releases()), default=0) + 1

    @cached_property
    def sets(self) -> list[ColumnSet]:
        """The sets of columns that were drawn so far."""
        sets = []
        for number, sealed in self._store.sets():
            content = json.loads(self._key.unseal(sealed, f"set {number}"))
            columns = tuple(content.pop("columns"))
            sets.append(ColumnSet(number=number, columns=columns, **content))
        return sets

    def values(self, columns: ColumnSet) -> list[tuple[Any, ...]]:
        """The values that cases of a set published so far, by code, as JSON has them."""
        what = f"values {columns.number}"
        sealed = self._store.vectors(columns.number)
        return [tuple(json.loads(self._key.unseal(each, what))) for each in sealed]

    def batches(self, columns: ColumnSet) -> list[DrawnBatch]:
        """The batches of a set, in order."""
        batches = []
        for number, release, cases, sealed in self._store.batches(columns.number):
            content = json.loads(self._key.unseal(sealed, f"batch {columns.number} {number}"))
            counts = {int(code): count for code, count in content.pop("counts").items()}
            common = tuple(content.pop("common"))
            batches.append(
                DrawnBatch(number, release, cases, common=common, counts=counts, **content)
            )
        return batches

    def known(self, columns: ColumnSet, marks: Words) -> tuple[Numbers, Numbers]:
        """For each mark its batch, 0 if it is new, and the code of what it published."""
        stored = self._store.cases(columns.number)
        batches, codes = np.zeros((2, marks.shape[0]), np.int64)
        if not stored.batches.size:
            return batches, codes
        order = np.lexsort((stored.marks[:, 1], stored.marks[:, 0]))
        first = stored.marks[order, 0]
        place = np.minimum(np.searchsorted(first, marks[:, 0]), first.size - 1)
        # Different marks with the same first word are as likely as a guessed key.
        same = np.flatnonzero((stored.marks[order[place]] == marks).all(axis=1))
        rows = order[place[same]]
        batches[same] = stored.batches[rows]
        codes[same] = (stored.published[rows] ^ self._key.pads(marks[same])).astype(np.int64)
        return batches, codes

    def prepare(
        self,
        additions: Sequence[Addition],
        rows: int,
        place: tuple[str, str, str],
    ) -> int:
        """Write down what a release adds, before it is put in its place; its number.

        `place` is the target, the draft that is renamed to it, and the hash of its manifest.
        """
        number = self.next_release
        target, draft, manifest = place
        content = {"target": target, "draft": draft, "manifest": manifest}
        sealed = self._key.seal(json.dumps(content).encode(), f"release {number}")
        day = dt.datetime.now(dt.UTC).date().isoformat()
        with self._store.transaction() as store:
            store.add("releases", [(number, PREPARED, day, rows, sealed)])
            for addition in additions:
                self._add(store, number, addition)
        return number

    def _add(self, store: Store, release: int, addition: Addition) -> None:
        columns = addition.columns
        if all(columns.number != known.number for known in self.sets):
            content = {
                "columns": columns.columns, "batch_column": columns.batch_column,
                "ell": columns.ell, "rules": columns.rules,
            }  # fmt: skip
            sealed = self._key.seal(json.dumps(content).encode(), f"set {columns.number}")
            store.add("sets", [(columns.number, release, sealed)])
        first = len(store.vectors(columns.number))
        seal = self._key.seal
        what = f"values {columns.number}"
        rows = [
            (columns.number, first + place, release, seal(json.dumps(value).encode(), what))
            for place, value in enumerate(addition.values)
        ]
        store.add("vectors", rows)
        batch = addition.batch
        if batch is None:
            return
        hidden = addition.published.astype(np.uint64) ^ self._key.pads(addition.marks)
        order = np.lexsort((addition.marks[:, 1], addition.marks[:, 0]))
        cases = StoredCases(addition.marks[order], np.full(order.size, batch.number), hidden[order])
        content = {
            "groups": batch.groups, "common": batch.common, "counts": batch.counts,
            "seeded": batch.seeded, "digest": self._digest(cases),
        }  # fmt: skip
        sealed = seal(json.dumps(content).encode(), f"batch {columns.number} {batch.number}")
        store.add("batches", [(columns.number, batch.number, release, order.size, sealed)])
        store.add_cases(columns.number, release, cases)

    def _digest(self, cases: StoredCases) -> str:
        """Shows whether the cases of a batch were changed; they are in the order of marks."""
        return self._key.digest(
            cases.marks.astype("<u8").tobytes() + cases.published.astype("<u8").tobytes()
        )

    def finish(self, release: int) -> None:
        """The release is in its place."""
        self._store.set_state(release, DONE)

    def take_back(self, release: int) -> None:
        """The release never came to its place."""
        self._store.take_back(release)
        self.__dict__.pop("sets", None)

    def lose(self, release: int) -> None:
        """The release is not in its place, and may have been there: its draws stay."""
        self._store.set_state(release, LOST)

    def problems(self) -> list[str]:
        """What is wrong with the ledger itself: damage, or cases that were changed."""
        problems = self._store.problems()
        for columns in self.sets:
            stored = self._store.cases(columns.number)
            order = np.lexsort((stored.marks[:, 1], stored.marks[:, 0]))
            for batch in self.batches(columns):
                rows = order[stored.batches[order] == batch.number]
                cases = StoredCases(
                    stored.marks[rows], stored.batches[rows], stored.published[rows]
                )
                if rows.size != batch.cases or self._digest(cases) != batch.digest:
                    listed = ", ".join(columns.columns)
                    problems.append(f"cases of batch {batch.number} of {listed} were changed")
        return problems

    def _place(self, row: Any) -> tuple[str, str, str]:
        content = json.loads(self._key.unseal(row.sealed, f"release {row.number}"))
        return content["target"], content["draft"], content["manifest"]


def create_ledger(path: Path, key_path: Path) -> str:
    """Make an empty ledger and its key, both or neither; the ledger's name."""
    name = fresh_key()[:16].hex()
    key, text = LedgerKey.new(name)
    _remove_unfinished(path, key_path)
    _check_new(path, key_path)
    try:
        with (
            pending_place(path, "the ledger", private=True, apart=True) as ledger,
            pending_file(key_path, text, "the key", private=True, noted=False) as key_file,
        ):
            Store.create(ledger.path, name, key.check, dt.datetime.now(dt.UTC).date().isoformat())
            _put_both_in_place(ledger, key_file, key_path)
    except UnconfirmedError:
        raise
    except FileExistsError:
        # Somebody else was faster.
        _check_new(path, key_path)
        raise
    except TargetError as error:
        raise LedgerError(str(error)) from error
    return name


def _put_both_in_place(ledger: PendingFile, key: PendingFile, key_path: Path) -> None:
    """First the key: if the ledger does not follow, it is not one of anything."""
    doubts = []
    with signals_deferred():
        try:
            key.put_in_place(new=True)
        except UnconfirmedError as error:
            doubts.append(error)
        try:
            ledger.put_in_place(new=True)
        except UnconfirmedError as error:
            doubts.append(error)
        except BaseException:
            remove(key_path)
            raise
    if doubts:
        raise doubts[-1]


def _check_new(path: Path, key_path: Path) -> None:
    if os.path.lexists(key_path):
        raise LedgerError(
            f"{key_path} exists already, and a key is never replaced: without it its ledger is "
            f"lost. Name another file."
        )
    if os.path.lexists(path):
        raise LedgerError(
            f"{path} exists already, and a ledger is never replaced. Name another file."
        )


def _remove_unfinished(path: Path, key_path: Path) -> None:
    """Remove a key whose ledger never came to its place, because the process was killed before."""
    place = Path(os.path.realpath(path))
    if os.path.lexists(path) or not key_path.is_file():
        return
    for leftover in dead_leftovers(place.parent):
        unfinished = leftover / place.name
        with contextlib.suppress(LedgerError, OSError):
            with Store.open(unfinished, write=False) as store:
                ours = store.id == LedgerKey.read(key_path).ledger
            if ours:
                remove(key_path)
                remove(leftover)


@contextlib.contextmanager
def open_book(path: Path, key_path: Path, *, write: bool) -> Iterator[Book]:
    """Open a ledger; to `write`, nobody else may have it open."""
    with Store.open(path, write=write) as store:
        yield Book(path, store, LedgerKey.read(key_path))
