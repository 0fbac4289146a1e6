"""Ledger and release in agreement, however a publication ends.

Enters: an open ledger, the places of releases. Leaves: a ledger that lists a release exactly if it
came to its place. Must not know: what is published, on which file system.

    write down what the release adds -> rename the release into its place -> say that it is there

A publication that dies before the second step leaves its draft, and is taken back; after it, its
release is in its place, and only the third step is made up for. If neither the draft nor the
release is there, somebody may have moved the release, so its draws are kept: a draw that nobody has
seen does no harm, a second one for the same case would. They are kept too where a release does not
come to its place in one step: a draft does not show there that nobody has seen it.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence

from countveil.errors import LedgerError
from countveil.publishing.ledger.book import Addition, Book
from countveil.publishing.ledger.store import DONE, LOST, PREPARED
from countveil.release.places import Places


def resolve(book: Book, places: Places) -> list[str]:
    """Bring the ledger into agreement with what a publication left that was ended; sentences."""
    said = []
    for release in book.releases:
        if release.state != PREPARED:
            continue
        settled = _settle(book, release.number, places, release.place)
        if settled == DONE:
            said.append(
                f"Release {release.number} of the ledger was complete when its publication was "
                f"ended: {release.target}."
            )
        elif settled == LOST:
            said.append(
                f"Release {release.number} of the ledger is not at {release.target}, and whether "
                f"it ever was is not known. What was drawn for it is kept: its new cases publish "
                f"that from now on."
            )
    return said


def _settle(book: Book, number: int, places: Places, place: tuple[str, str, str]) -> str | None:
    """Say what became of a release that was written down; None if it was taken back."""
    target, draft, manifest = place
    try:
        done = in_place(places, target, manifest)
        waits = not done and places.in_one_step(target) and places.exists(draft)
    except OSError as error:
        raise LedgerError(
            f"Whether release {number} of the ledger {book.path} came to {target} cannot be told "
            f"now ({error}), so nothing else is published with this ledger. Try again when that "
            f"place can be reached, with the engine that published it."
        ) from error
    if done:
        book.finish(number)
        return DONE
    if waits:
        book.take_back(number)
        return None
    book.lose(number)
    return LOST


@contextlib.contextmanager
def one_step(
    book: Book, additions: Sequence[Addition], rows: int, target: str, places: Places
) -> Iterator[Writer]:
    """Commit a release inside, by the writer's `prepare`: ledger and release change, or neither."""
    writer = Writer(book, additions, rows, target, places)
    try:
        yield writer
    except BaseException:
        # If it cannot be told now what became of the release, the next publication asks again.
        with contextlib.suppress(LedgerError):
            writer.end()
        raise
    writer.end()


class Writer:
    """Writes down a release before it is put in its place, and what became of it."""

    def __init__(
        self, book: Book, additions: Sequence[Addition], rows: int, target: str, places: Places
    ) -> None:
        self._book, self._additions, self._rows, self._target = book, additions, rows, target
        self._places = places
        self._prepared: tuple[int, tuple[str, str, str]] | None = None

    def prepare(self, draft: str) -> None:
        """The draft is complete, and is renamed next."""
        draft = self._places.full(draft)
        manifest = self._places.manifest(draft)
        if manifest is None:
            raise LedgerError("The release was not complete, so nothing was published.")
        place = (self._target, draft, _hash(manifest))
        self._prepared = self._book.prepare(self._additions, self._rows, place), place

    def end(self) -> None:
        """The draft was renamed, or that failed."""
        if self._prepared is not None:
            number, place = self._prepared
            _settle(self._book, number, self._places, place)


def in_place(places: Places, target: str, manifest: str) -> bool:
    """Whether the release at a place is the one with this manifest."""
    content = places.manifest(target)
    return content is not None and _hash(content) == manifest


def _hash(manifest: bytes) -> str:
    return hashlib.sha256(manifest).hexdigest()
