"""A release that was opened in the app, and what is known of it without a question.

Enters: the folder of a release. Leaves: answers, one question at a time, and what verifying found.
Must not know: pages. Two tabs may ask at once: the second waits for the first. A question that is
given up leaves the release to a fresh one, so that nobody waits for it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countveil.asking.opening import open as open_release
from countveil.asking.release import Release
from countveil.asking.result import Answer
from countveil.errors import CountveilError, ReleaseError
from countveil.randomness import fresh_key
from countveil.release import MANIFEST_NAME, Manifest
from countveil.release.manifest import SIGNATURE_NAME, file_sha256
from countveil.release.verify import Discrepancy, verify_release

# How long what nobody waits for gives way to questions, in seconds.
_PATIENCE = 30.0


def fresh_id() -> str:
    """What a page may carry in its address: it says nothing."""
    return fresh_key().hex()[:16]


def typed_place(path: Path) -> str:
    """A path as one would type it where the app was started."""
    here = Path.cwd()
    inside = path.is_relative_to(here) and path != here
    return os.fspath(path.relative_to(here) if inside else path)


@dataclass(slots=True)
class Verification:
    """Whether the files are what was published; `key` is the public key that was picked for it."""

    key: Path | None = None
    running: bool = True
    done: int = 0
    total: int = 0
    discrepancies: list[Discrepancy] = field(default_factory=list)
    error: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def sound(self) -> bool:
        """Every file matches the manifest, and the signature if a key was given."""
        return not (self.running or self.discrepancies or self.error)


@dataclass(frozen=True, slots=True)
class _Session:
    """A release and who may ask it now."""

    release: Release
    lock: threading.Lock = field(default_factory=threading.Lock)
    idle: threading.Event = field(default_factory=threading.Event)
    _asking: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Nobody asks yet."""
        self.idle.set()

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """While somebody asks, nothing else begins."""
        self.idle.clear()
        self._asking.add(threading.get_ident())
        try:
            yield
        finally:
            self._asking.discard(threading.get_ident())
            if not self._asking:
                self.idle.set()


class OpenRelease:
    """One release. `checksum` is the SHA-256 of its manifest, which has those of all files."""

    def __init__(self, path: Path, shown: str) -> None:
        self.id, self.path, self.shown = fresh_id(), path, shown
        self._session = _Session(open_release(path))
        self._computed: dict[str, _Session] = {}
        self._state = self._manifest_state()
        self.checksum = file_sha256(path / MANIFEST_NAME)
        self.verification: Verification | None = None
        # The id of the same folder opened anew, after it became another release.
        self.replaced_by = ""

    @property
    def release(self) -> Release:
        """The release itself, to be read without asking: columns, manifest."""
        return self._session.release

    @property
    def manifest(self) -> Manifest:
        """What the publisher wrote about it."""
        return self.release.manifest

    @property
    def title(self) -> str:
        """What the publisher calls it, else the name of its folder."""
        about = self.manifest.about
        return (about.title if about else "") or self.path.name

    @property
    def is_signed(self) -> bool:
        """Whether there is a signature; only a public key says whose."""
        return (self.path / SIGNATURE_NAME).exists()

    @property
    def typed(self) -> str:
        """Its place, as one would type it where the app was started."""
        return typed_place(self.path)

    def sql(
        self, query: str, options: Mapping[str, Any], known: str, wanted: Callable[[], bool]
    ) -> Answer:
        """The answer to the question with an id, from the release as it was opened.

        One that is not wanted any more when its turn comes raises KeyboardInterrupt.
        """
        session = self._session
        with session.asking(), session.lock:
            if not wanted():
                raise KeyboardInterrupt
            self._computed[known] = session
            try:
                self.check()
                return session.release.sql(query, **options)
            finally:
                del self._computed[known]

    def sql_later(self, query: str) -> Answer:
        """The same for what nobody waits for: questions of people come first."""
        session = self._session
        session.idle.wait(_PATIENCE)
        with session.lock:
            self.check()
            return session.release.sql(query)

    def plain_sql(self, query: str, dialect: str, *, weighted: bool) -> str:
        """The question as SQL for a database."""
        session = self._session
        with session.lock:
            self.check()
            return session.release.plain_sql(query, dialect=dialect, weighted=weighted)

    def counts(self, conditions: list[str]) -> Answer:
        """How many rows meet each of some conditions."""
        session = self._session
        with session.lock:
            self.check()
            return session.release.counts(conditions)

    def is_unchanged(self) -> bool:
        """Whether its folder still has the manifest that was opened."""
        try:
            return self._manifest_state() == self._state
        except ReleaseError:
            return False

    def check(self) -> None:
        """Refuse to answer from memory what is no longer there, or has become another release."""
        if self._manifest_state() != self._state:
            raise ReleaseError(
                f"The release in {self.shown} was replaced or changed since it was opened. Open it "
                f"again: its answers may be others now."
            )

    def abandon(self, known: str) -> None:
        """Interrupt a question. What cannot be interrupted ends by itself, and nobody waits for it.

        One whose turn has not come does not disturb the one that is being computed.
        """
        session = self._computed.get(known)
        if session is None:
            return
        if session is self._session:
            with contextlib.suppress(CountveilError):
                self._session = _Session(open_release(self.path))
        session.release.interrupt()

    def verify(self, key: Path | None) -> Verification:
        """Begin to compare every file with the manifest."""
        begun = Verification(key)
        self.verification = begun
        threading.Thread(target=self._verify, args=(begun,), daemon=True).start()
        return begun

    def _verify(self, begun: Verification) -> None:
        def progress(done: int, total: int) -> None:
            begun.done, begun.total = done, total

        try:
            begun.discrepancies = verify_release(self.path, progress, begun.key)
        except CountveilError as error:
            begun.error = str(error)
        except Exception as error:  # noqa: BLE001 - its text may quote data
            begun.error = f"Verifying failed in a way it should not ({type(error).__name__})."
        finally:
            begun.running = False
            begun.over.set()

    def _manifest_state(self) -> tuple[int, int, int]:
        try:
            status = (self.path / MANIFEST_NAME).stat()
        except OSError:
            raise ReleaseError(
                f"The release in {self.shown} is no longer there. Its answers so far are kept."
            ) from None
        return status.st_mtime_ns, status.st_size, status.st_ino
