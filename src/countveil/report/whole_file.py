"""A page or a picture put into a file: whole, or not at all.

Enters: a path and a text. Leaves: the file. Must not know: what the text says.

The text is written beside its place and synced to disk before it is renamed: whatever happens, the
path holds the old content or the whole new text. A private file is readable by its owner only, from
the first byte on.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from countveil.errors import TargetError, option


def check_file(path: Path, what: str, *, replace: bool, outside: Path | None = None) -> None:
    """Refuse a path that cannot be written, before the work for the file begins.

    `outside` is a folder that will be published: the file must not lie in it.
    """
    try:
        path.lstat()
        there = True
    except FileNotFoundError:
        there = False
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not valid"
        raise TargetError(f"{path} cannot be used for {what}: {why}.") from error
    if path.is_dir():
        raise TargetError(f"{path} is a folder. Name a file for {what}.")
    if not path.parent.is_dir():
        raise TargetError(f"There is no folder {path.parent} to write {what} to.")
    inside = outside is not None and Path(os.path.realpath(path)).is_relative_to(
        os.path.realpath(outside)
    )
    if inside:
        raise TargetError(
            f"{path} lies in the release {outside}, and would be published with it. Name a file "
            f"elsewhere for {what}."
        )
    if there and not replace:
        raise TargetError(
            f"{path} exists. Name another file for {what}, or replace it with "
            f"{option('force', True)}."
        )


def write_file(path: Path, text: str, what: str, *, private: bool = False) -> None:
    """Write the text to the file."""
    with pending_file(path, text, what, private=private) as pending:
        pending.put_in_place()


class PendingFile:
    """A file that is written, but not yet in its place."""

    def __init__(self, written: str, path: Path, what: str) -> None:
        self._written, self._path, self._what = written, path, what

    def put_in_place(self) -> None:
        """Rename it to its path."""
        try:
            Path(self._written).replace(self._path)
        except OSError as error:
            raise _cannot(self._path, self._what, error) from error


@contextlib.contextmanager
def pending_file(
    path: Path, text: str, what: str, *, private: bool = False
) -> Iterator[PendingFile]:
    """Write the text beside its path; it is removed at the end unless it was put in place."""
    # A symbolic link stays; the file that it points to is written.
    place = Path(os.path.realpath(path))
    written = ""
    try:
        try:
            # mkstemp makes it readable by its owner only.
            handle, written = tempfile.mkstemp(prefix=f".{place.name[:60]}.", dir=place.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                if not private:
                    os.fchmod(file.fileno(), 0o666 & ~_umask())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _cannot(path, what, error) from error
        yield PendingFile(written, place, what)
    finally:
        if written:
            with contextlib.suppress(OSError):
                Path(written).unlink()


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _cannot(path: Path, what: str, error: OSError) -> TargetError:
    text = f"{what[0].upper()}{what[1:]} cannot be written to {path}: {error.strerror or error}."
    return TargetError(text)
