"""Ledger and release in agreement, however a publication ends.

Enters: an open ledger, the places of releases. Leaves: a ledger that lists a release exactly if it
came to its place. Must not know: what is published.

    write down what the release adds -> rename the release into its place -> say that it is there

A publication that dies before the second step leaves its draft, and is taken back; after it, its
release is in its place, and only the third step is made up for. If neither the draft nor the
release is there, somebody may have moved the release, so its draws are kept: a draw that nobody has
seen does no harm, a second one for the same case would.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from countveil.publishing.ledger.book import Addition, Book
from countveil.publishing.ledger.store import PREPARED
from countveil.release.manifest import MANIFEST_NAME


def resolve(book: Book) -> list[str]:
    """Bring the ledger into agreement with what a publication left that was ended; sentences."""
    said = []
    for release in book.releases:
        if release.state != PREPARED:
            continue
        if in_place(release.target, release.manifest):
            book.finish(release.number)
            said.append(
                f"Release {release.number} of the ledger was complete when its publication was "
                f"ended: {release.target}."
            )
        elif release.draft.exists():
            book.take_back(release.number)
        else:
            book.lose(release.number)
            said.append(
                f"Release {release.number} of the ledger is not at {release.target}, and whether "
                f"it ever was is not known. What was drawn for it is kept: its new cases publish "
                f"that from now on."
            )
    return said


@contextlib.contextmanager
def one_step(
    book: Book, additions: Sequence[Addition], rows: int, target: Path
) -> Iterator[Writer]:
    """Commit a release inside, by the writer's `prepare`: ledger and release change, or neither."""
    writer = Writer(book, additions, rows, target)
    try:
        yield writer
    except BaseException:
        writer.end()
        raise
    writer.end()


class Writer:
    """Writes down a release before it is put in its place, and what became of it."""

    def __init__(self, book: Book, additions: Sequence[Addition], rows: int, target: Path) -> None:
        self._book, self._additions, self._rows, self._target = book, additions, rows, target
        self._number: int | None = None
        self._manifest = ""

    def prepare(self, draft: Path) -> None:
        """The draft is complete, and is renamed next."""
        self._manifest = _hash(draft)
        place = (self._target, draft, self._manifest)
        self._number = self._book.prepare(self._additions, self._rows, place)

    def end(self) -> None:
        """The draft was renamed, or that failed."""
        if self._number is None:
            return
        if in_place(self._target, self._manifest):
            self._book.finish(self._number)
        else:
            # In the process that would have renamed it, there is no doubt.
            self._book.take_back(self._number)


def in_place(target: Path, manifest: str) -> bool:
    """Whether the release at a place is the one with this manifest."""
    try:
        return _hash(target) == manifest
    except OSError:
        return False


def _hash(folder: Path) -> str:
    return hashlib.sha256((folder / MANIFEST_NAME).read_bytes()).hexdigest()
