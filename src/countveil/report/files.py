"""A page or a picture put into a file: whole, or not at all.

Enters: a path and a text. Leaves: the file. Must not know: what the text says.

It is written beside its place, on disk before it is renamed: whatever happens, the place holds what
it held or the whole new text. What is private is readable by its owner only, from the first byte.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from countveil.errors import TargetError


def check_file(path: Path, what: str, *, replace: bool, outside: Path | None = None) -> None:
    """Refuse a place where the file cannot be, before anybody works for it.

    `outside` is a folder that will be published, and in which it must not lie.
    """
    try:
        path.lstat()
        there = True
    except FileNotFoundError:
        there = False
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not a possible one"
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
            f"{path} exists. Name another file for {what}, or replace it with --force."
        )


def write_file(path: Path, text: str, what: str, *, private: bool = False) -> None:
    """Write the text to the file."""
    with held_file(path, text, what, private=private) as put:
        put()


class Held:
    """A written file that waits to be put in its place."""

    def __init__(self, waiting: str, path: Path, what: str) -> None:
        self._waiting, self._path, self._what = waiting, path, what

    def __call__(self) -> None:
        """Put it there."""
        try:
            Path(self._waiting).replace(self._path)
        except OSError as error:
            raise _cannot(self._path, self._what, error) from error


@contextlib.contextmanager
def held_file(path: Path, text: str, what: str, *, private: bool = False) -> Iterator[Held]:
    """Write the text beside its place; it is gone at the end unless it was put there."""
    # What lies behind a symbolic link is what gets written, not the link.
    place = Path(os.path.realpath(path))
    waiting = ""
    try:
        try:
            # Made for its owner only.
            handle, waiting = tempfile.mkstemp(prefix=f".{place.name[:60]}.", dir=place.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                if not private:
                    os.fchmod(file.fileno(), 0o666 & ~_umask())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _cannot(path, what, error) from error
        yield Held(waiting, place, what)
    finally:
        if waiting:
            with contextlib.suppress(OSError):
                Path(waiting).unlink()


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def _cannot(path: Path, what: str, error: OSError) -> TargetError:
    text = f"{what[0].upper()}{what[1:]} cannot be written to {path}: {error.strerror or error}."
    return TargetError(text)
