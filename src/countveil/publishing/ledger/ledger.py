"""The public class `Ledger`: make one, look at it, compare it with a release.

Enters: a file and its key. Leaves: what it holds, in numbers; what is wrong with it. Must not know:
tables, draws.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countveil.display import Table, html_of, text_table, visible
from countveil.errors import ReleaseError
from countveil.publishing.ledger.agreement import in_place
from countveil.publishing.ledger.book import Book, KnownRelease, create_ledger, open_book
from countveil.publishing.ledger.keys import default_key
from countveil.publishing.ledger.store import PREPARED
from countveil.release.manifest import MANIFEST_NAME, Manifest
from countveil.release.opening import read_manifest
from countveil.release.places import LocalPlaces
from countveil.release.verify import Discrepancies, Discrepancy, verify_release

LEDGER = "the ledger"


@dataclass(frozen=True, slots=True)
class LedgerBatch:
    """A batch: cases that were drawn for the same release.

    Attributes:
        columns: The columns that were drawn.
        batch: Its number.
        cases: How many cases it has.
        groups: How groups were formed.
        ell: The ell of the columns.
        release: The number of the release it was drawn for.
        day: The day of that release.
    """

    columns: tuple[str, ...]
    batch: int
    cases: int
    groups: str
    ell: int
    release: int
    day: str


@dataclass(frozen=True, slots=True)
class LedgerSummary:
    """What a ledger holds; print it.

    Attributes:
        id: The number that releases of this ledger bear.
        created: The day on which it was made.
        releases: Its releases.
        batches: The batches in which cases were drawn.
    """

    id: str
    created: str
    releases: Sequence[KnownRelease]
    batches: Sequence[LedgerBatch]

    @property
    def cases(self) -> int:
        """How many cases it knows."""
        return sum(batch.cases for batch in self.batches)

    def _parts(self) -> tuple[str, Table, Table]:
        head = (
            f"Ledger {self.id}, made on {self.created}: {len(self.releases)} releases, "
            f"{self.cases:,} cases in {len(self.batches)} batches."
        )
        releases = [(each.number, each.day, each.rows, each.state) for each in self.releases]
        batches = [
            (", ".join(b.columns), b.batch, b.cases, b.groups, b.ell, b.release, b.day)
            for b in self.batches
        ]
        return (
            head,
            (("release", "day", "rows", "state"), releases),
            (("columns", "batch", "cases", "groups", "ell", "release", "day"), batches),
        )

    def __str__(self) -> str:
        head, *parts = self._parts()
        tables = [text_table(*part) for part in parts]
        return "\n\n".join([visible(head), *(table.rstrip() for table in tables)])

    def _repr_html_(self) -> str:
        return html_of(self._parts())


class Ledger:
    """A private ledger: what was published about whom, under a key.

    `publish(..., ledger=...)` lets known cases publish what they did, and draws only new ones.

    Args:
        path: The file of the ledger.
        key: The file with its key; beside the ledger if None.

    Attributes:
        path (Path): The file of the ledger.
        key (Path): The file with its key.

    Example:
        >>> ledger = cv.Ledger.init("hospital.ledger")
        >>> ledger.show().cases
        0
        >>> ledger.verify()
        hospital.ledger is sound: every file matches the manifest.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None
    ) -> None:
        self.path = Path(path)
        self.key = default_key(self.path) if key is None else Path(key)

    @classmethod
    def init(
        cls, path: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None
    ) -> Ledger:
        """Make an empty ledger and its key, both new files that their owner alone can read.

        Args:
            path: The file of the ledger.
            key: The file for its key; beside the ledger if None.

        Returns:
            The ledger.

        Raises:
            LedgerError: One of the files exists already, or cannot be written.
        """
        ledger = cls(path, key=key)
        create_ledger(ledger.path, ledger.key)
        return ledger

    def show(self) -> LedgerSummary:
        """Releases, batches, cases, days. No person and no value is shown.

        Returns:
            What the ledger holds. Print it.

        Raises:
            LedgerError: The ledger or its key is missing or damaged.
        """
        with open_book(self.path, self.key, write=False) as book:
            return _summary(book)

    def verify(self, release: str | os.PathLike[str] | None = None) -> Discrepancies:
        """What is wrong with the ledger, and with a release of it.

        Args:
            release: The folder of a release; the ledger alone if None.

        Returns:
            What is wrong; empty, and so false, when all is sound. Print it.

        Raises:
            LedgerError: The ledger or its key is missing or damaged.
        """
        place = self.path if release is None else Path(release)
        with open_book(self.path, self.key, write=False) as book:
            wrong = [Discrepancy(LEDGER, problem) for problem in book.problems()]
            wrong += [
                Discrepancy(LEDGER, f"release {each.number} was not finished; the next publish is")
                for each in book.releases
                if each.state == PREPARED
            ]
            if release is not None:
                wrong += _differences(book, place)
        return Discrepancies(place, wrong)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


def _summary(book: Book) -> LedgerSummary:
    releases = book.releases
    day_of = {each.number: each.day for each in releases}
    batches = [
        LedgerBatch(
            columns.columns, batch.number, batch.cases, batch.groups, columns.ell,
            batch.release, day_of[batch.release],
        )
        for columns in book.sets
        for batch in book.batches(columns)
    ]  # fmt: skip
    return LedgerSummary(book.id, book.created, releases, batches)


def _differences(book: Book, folder: Path) -> list[Discrepancy]:
    """In which a release is not what the ledger says."""
    try:
        manifest = read_manifest(folder)
    except ReleaseError as error:
        return [Discrepancy(MANIFEST_NAME, str(error))]
    wrong = _foreign(book, manifest)
    if wrong:
        return [Discrepancy(MANIFEST_NAME, wrong)]
    assert manifest.ledger is not None  # noqa: S101 - it is not foreign
    known = next(each for each in book.releases if each.number == manifest.ledger.release)
    differences = list(verify_release(folder))
    if not in_place(LocalPlaces(), str(folder), known.manifest):
        differences.append(
            Discrepancy(
                MANIFEST_NAME, f"not the manifest that the ledger knows of release {known.number}"
            )
        )
    numbers = {(c.columns, b.number) for c in book.sets for b in book.batches(c)}
    differences += [
        Discrepancy(LEDGER, f"has no batch {batch.number} of {', '.join(entry.columns)}")
        for entry in manifest.batches
        for batch in entry.drawn
        if (entry.columns, batch.number) not in numbers
    ]
    return differences


def _foreign(book: Book, manifest: Manifest) -> str:
    """Why a release does not belong to the ledger; empty if it does."""
    mark = manifest.ledger
    if mark is None:
        return "made without a ledger: everybody in it was drawn by themselves"
    if mark.id != book.id:
        return f"a release of another ledger ({mark.id})"
    if all(each.number != mark.release for each in book.releases):
        newest = max((each.number for each in book.releases), default=0)
        return (
            f"release {mark.release} of the ledger, which knows of {newest}: the ledger is an old "
            f"copy. Restore the newest one"
        )
    return ""
