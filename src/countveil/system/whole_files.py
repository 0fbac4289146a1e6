"""Files that are whole or not there: written beside their place, synced, renamed.

Enters: a path, and a text or whoever writes the file. Leaves: the file in its place, or nothing.
Must not know: what is in a file.

What is in the making is locked while its process lives; the next one to write there removes what a
dead one left. From the renaming on, an error says that the file is in its place.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from countveil.errors import TargetError, UnconfirmedError
from countveil.system import offers, outcome
from countveil.system.files import (
    PENDING,
    Lock,
    locked_leftover,
    new_folder_beside,
    remove,
    remove_dead_files,
    rename_new,
    replace,
    sync_file,
    sync_folder,
)
from countveil.system.process import signals_deferred


class PendingFile:
    """A file in the making: `path` is where it is written, beside its place."""

    def __init__(
        self,
        path: Path,
        place: Path,
        held: tuple[Path, Lock],
        names: tuple[str, Path],
        *,
        noted: bool,
    ) -> None:
        """`held` is locked: the file, or a folder of its own.

        `names` say what it is, and where in the words of whoever asked for it.
        """
        self.path = path
        self._place, self._names, self._noted = place, names, noted
        self._held, self._lock = held
        self._done = False

    def put_in_place(self, *, new: bool = False) -> None:
        """Rename it to its place, from where nothing takes it back.

        FileExistsError if it is to be `new` and there is one.
        """
        with signals_deferred():
            try:
                (rename_new if new else replace)(self.path, self._place)
            except FileExistsError:
                raise
            except OSError as error:
                raise _cannot(*self._names, error) from error
            self._done = True
            named = " ".join(map(str, self._names))
            if self._noted:
                outcome.put_in_place(named, self._place)
            try:
                sync_folder(self._place.parent)
            except OSError as error:
                raise UnconfirmedError(unconfirmed(named, error)) from error

    def close(self) -> None:
        """Remove it, unless it was put in place."""
        with signals_deferred():
            if not self._done or self._held != self.path:
                remove(self._held)
            self._lock.close()


def unconfirmed(what: str, error: OSError) -> str:
    """That something is there, but perhaps not after a power failure."""
    why = error.strerror or error
    return (
        f"{what[0].upper()}{what[1:]} is in place and complete, but this could not be confirmed "
        f"({why}): whether it would outlast a power failure is not known."
    )


@contextlib.contextmanager
def pending_place(
    path: Path, what: str, *, private: bool = False, noted: bool = True, apart: bool = False
) -> Iterator[PendingFile]:
    """An empty file beside a path, to be written and then put in place; else it is removed.

    With `noted`, errors that come later say that it is in its place. `apart`, there is no file yet,
    but a hidden folder for it, where a library may put others beside it.
    """
    # A symbolic link stays; the file that it points to is written.
    place = Path(os.path.realpath(path))
    pending = None
    try:
        try:
            with signals_deferred():
                remove_dead_files(place.parent)
                make = new_folder_beside if apart else _empty_file_beside
                held = locked_leftover(lambda: make(place))
                written = held[0] / place.name if apart else held[0]
                pending = PendingFile(written, place, held, (what, path), noted=noted)
            if not private and not apart:
                allow_others(written)
        except OSError as error:
            raise _cannot(what, path, error) from error
        yield pending
    finally:
        if pending is not None:
            pending.close()


@contextlib.contextmanager
def folder_for_a_while(place: Path) -> Iterator[Path]:
    """A private folder beside a place, gone at the end; that of a killed process is removed.

    OSError if there can be none.
    """
    with pending_place(place, "what is tried out", private=True, noted=False, apart=True) as aside:
        aside.path.mkdir()
        yield aside.path


@contextlib.contextmanager
def pending_file(
    path: Path, text: str, what: str, *, private: bool = False, noted: bool = True
) -> Iterator[PendingFile]:
    """Write the text beside its path; it is removed at the end unless it was put in place."""
    with pending_place(path, what, private=private, noted=noted) as pending:
        try:
            # The same bytes on every system: no line ends with anything but a newline.
            with pending.path.open("wb") as file:
                file.write(text.encode())
                file.flush()
                sync_file(file.fileno())
        except OSError as error:
            raise _cannot(what, path, error) from error
        yield pending


def write_file(
    path: Path, text: str, what: str, *, private: bool = False, noted: bool = True
) -> None:
    """Write the text to the file."""
    with pending_file(path, text, what, private=private, noted=noted) as pending:
        pending.put_in_place()


def sync_path(path: Path) -> None:
    """Wait until a file that somebody wrote is on the disk itself."""
    with path.open("r+b") as file:
        sync_file(file.fileno())


def allow_others(path: Path) -> None:
    """Give a file the permissions that any new file has."""
    if offers.PERMISSIONS:
        umask = os.umask(0o077)
        os.umask(umask)
        path.chmod(0o666 & ~umask)


def _empty_file_beside(place: Path) -> str:
    """A new file that only its owner can read."""
    handle, name = tempfile.mkstemp(prefix=f".{place.name[:60]}{PENDING}", dir=place.parent)
    with contextlib.suppress(OSError):
        os.close(handle)
    return name


def _cannot(what: str, path: Path, error: OSError) -> TargetError:
    text = f"{what[0].upper()}{what[1:]} cannot be written to {path}: {error.strerror or error}."
    return TargetError(text)
